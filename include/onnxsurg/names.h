/* SPDX-License-Identifier: Apache-2.0 */
/* Texts that messages and pipelines are made of. Since 0.2. */
#ifndef ONNXSURG_NAMES_H
#define ONNXSURG_NAMES_H

#include <onnxsurg/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The place of a node as messages spell it, escaped: `graph.node[3] "a" (Add)`. It belongs to the
 * context, and lasts for the next few calls. O(nodes before it in its graph) */
SURG_EXPORT const char *surg_node_where(const surg_node *n);
/* "exact", "ulp", "rounding", "approx" or "lossy"; NULL for other numbers. */
SURG_EXPORT const char *surg_exactness_name(surg_exactness e);
/* The class of that name; false: there is none. */
SURG_EXPORT bool surg_exactness_from_name(const char *name, surg_exactness *out);
/* A word (a name of a value, a path) as a pipeline spells it, quoted where it must be.
 * NUL-terminated, to free with surg_context_free_bytes. SURG_ENOMEM */
SURG_EXPORT surg_status surg_pipeline_word(surg_context *ctx, const char *word, char **text);

#ifdef __cplusplus
}
#endif
#endif
