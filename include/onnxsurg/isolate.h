/* SPDX-License-Identifier: Apache-2.0 */
/* One node as a model of its own, with the values that it has in a run. Since 0.2. */
#ifndef ONNXSURG_ISOLATE_H
#define ONNXSURG_ISOLATE_H

#include <onnxsurg/evaluate.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The node that a user means: by name, by place ("5", "graph.node[5].then_branch.node[2]", or as
 * messages spell it), or by the name of one of its outputs. SURG_EUSAGE, reported: there is none,
 * with the nearest name, or several have the name. *out is borrowed from the model. O(model) */
SURG_EXPORT surg_status surg_node_select(surg_model *model, const char *text, surg_node **out);

/* A node as a model. It belongs to the context of the node's model. */
typedef struct surg_isolated surg_isolated;

/* What was found about it. Texts last as long as it. */
typedef struct surg_isolated_summary {
  uint32_t size;          /* set by the caller: sizeof(surg_isolated_summary) */
  size_t inputs, outputs; /* of the isolated model */
  bool reached;           /* the run came to the node: its inputs have values */
  bool computed;          /* the node ran: its outputs have values */
  const char *why;        /* why not; "": it ran */
} surg_isolated_summary;

/* Runs the model on `in` (NULL: made up) with the built-in evaluator of `engine` (NULL: the
 * default one) until the node runs for the `turn`-th time (from 0), and builds a model of the node
 * alone, with its subgraphs, constants and the functions it calls; its inputs are the values that
 * are not constant. Infers types. SURG_OK where the run does not come to the node, too.
 * SURG_EUNSUPPORTED, SURG_EINVALID, SURG_ENOMEM, reported: the model cannot be built. Free *out
 * with surg_isolated_free. */
SURG_EXPORT surg_status surg_isolate(surg_node *n, const surg_engine *engine, surg_inputs *in,
                                     uint64_t turn, surg_isolated **out);
/* Fills in what was found. SURG_EUSAGE for NULL. */
SURG_EXPORT surg_status surg_isolated_get(const surg_isolated *x, surg_isolated_summary *out);
/* The isolated model, borrowed. */
SURG_EXPORT surg_model *surg_isolated_model(const surg_isolated *x);
/* Value i of an input (`outputs` false) or output, to free with surg_array_free. SURG_ENOTFOUND: it
 * has none. */
SURG_EXPORT surg_status surg_isolated_value(const surg_isolated *x, bool outputs, size_t i,
                                            surg_array **out);
/* Frees it with its model; NULL is allowed. */
SURG_EXPORT void surg_isolated_free(surg_isolated *x);

#ifdef __cplusplus
}
#endif
#endif
