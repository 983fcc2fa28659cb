/* SPDX-License-Identifier: Apache-2.0 */
/* Visiting the nodes of a graph. */
#ifndef SURG_PASSES_EACH_H
#define SURG_PASSES_EACH_H

#include <onnxsurg/onnxsurg.h>

typedef surg_pass_result (*each_visit)(surg_pass_ctx *p, surg_node *n);

/* Calls `visit` for every node of g in order; it may erase the node, none behind it. Nodes made
 * before it are not visited. The worst result there was: FAILED ends it. */
surg_pass_result each_node(surg_pass_ctx *p, surg_graph *g, each_visit visit);

/* Whether a node of g is of one of n operators. */
bool each_has(surg_graph *g, const int *ops, size_t n);

#endif
