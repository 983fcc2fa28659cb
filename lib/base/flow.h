/* SPDX-License-Identifier: Apache-2.0 */
/* Minimum cuts of directed networks. */
#ifndef SURG_FLOW_H
#define SURG_FLOW_H

#include "base/base.h"

#define SURG__FLOW_ENDLESS INT64_MAX /* the capacity of an edge that no cut may have */

typedef struct surg__flow_edge {
  uint32_t to;
  uint32_t next; /* of the same vertex, 0: none. Edge e ^ 1 is its reverse */
  int64_t left;  /* capacity that is not used */
} surg__flow_edge;

/* Vertex 0 is the source, vertex 1 the sink. Edges 0 and 1 are not used. */
typedef struct surg__flow {
  surg_context *ctx;
  SURG_VEC(surg__flow_edge) edges;
  uint32_t *first, *now, *queue, *path; /* by vertex, except `path` */
  uint32_t *level;                      /* 1 + distance from the source; 0: not reached */
  uint32_t n;
  uint64_t steps; /* edges looked at */
} surg__flow;

/* A network of n >= 2 vertices without edges. SURG_ENOMEM */
surg_status surg__flow_init(surg__flow *f, surg_context *ctx, uint32_t n);
void surg__flow_free(surg__flow *f);
/* Adds an edge; the sum of capacities that are not SURG__FLOW_ENDLESS must be below 2^62. */
bool surg__flow_edge_add(surg__flow *f, uint32_t from, uint32_t to, int64_t capacity);
/* Finds a minimum cut (Dinitz 1970). SURG_ELIMIT: it takes more than `most` steps. O(n^2 edges), on
 * graphs of models close to linear */
surg_status surg__flow_run(surg__flow *f, uint64_t most);
/* Whether the minimum cut leaves a vertex on the side of the source. */
bool surg__flow_with_source(const surg__flow *f, uint32_t vertex);

#endif
