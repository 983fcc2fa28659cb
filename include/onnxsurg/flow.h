/* SPDX-License-Identifier: Apache-2.0 */
/* Minimum cuts of directed networks: the cheapest way to divide a graph in two. Since 0.2. */
#ifndef ONNXSURG_FLOW_H
#define ONNXSURG_FLOW_H

#include <onnxsurg/types.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SURG_FLOW_ENDLESS 0x7fffffffffffffff /* the capacity of an edge that no cut may have */

/* A network. Vertex 0 is the source, vertex 1 the sink. It belongs to the context. */
typedef struct surg_flow surg_flow;

/* A network of n >= 2 vertices without edges. NULL: out of memory, or n < 2. Free with
 * surg_flow_free. O(n) */
SURG_EXPORT surg_flow *surg_flow_new(surg_context *ctx, uint32_t n);
/* Frees a network; NULL is allowed. */
SURG_EXPORT void surg_flow_free(surg_flow *f);
/* Adds an edge: `capacity` is what it costs to have `from` on the side of the source and `to` on
 * that of the sink, `back` what the reverse costs. The sum of all but SURG_FLOW_ENDLESS must be
 * below 2^62. SURG_EUSAGE: a vertex or a capacity below 0; SURG_ENOMEM. O(1) */
SURG_EXPORT surg_status surg_flow_add(surg_flow *f, uint32_t from, uint32_t to, int64_t capacity,
                                      int64_t back);
/* Finds a minimum cut; of several the one with the fewest vertices on the side of the source.
 * SURG_ELIMIT: it needs more than `most` steps. SURG_EINVALID: edges of SURG_FLOW_ENDLESS lead from
 * the source to the sink. Mostly linear; at worst O(n^2 edges) (Dinitz 1970). */
SURG_EXPORT surg_status surg_flow_run(surg_flow *f, uint64_t most);
/* Finds what edges of SURG_FLOW_ENDLESS alone reach from the source, for surg_flow_with_source.
 * O(n + edges) */
SURG_EXPORT void surg_flow_reach(surg_flow *f);
/* Whether a vertex is on the side of the source, after surg_flow_run or surg_flow_reach. */
SURG_EXPORT bool surg_flow_with_source(const surg_flow *f, uint32_t vertex);
/* The number of edges, each counted once. */
SURG_EXPORT uint64_t surg_flow_edges(const surg_flow *f);

#ifdef __cplusplus
}
#endif
#endif
