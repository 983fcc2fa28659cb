/* SPDX-License-Identifier: Apache-2.0 */
/* Iteration over the nodes of a graph. */
#ifndef SURG_PASSES_EACH_H
#define SURG_PASSES_EACH_H

#include <onnxsurg/onnxsurg.h>

typedef surg_pass_result (*each_visit)(surg_pass_ctx *p, surg_node *n);

/* Calls `visit` for every node of g in order. `visit` may erase its node, but not the next ones.
 * Nodes that it adds before the next one are not visited. Returns FAILED at the first failure,
 * else CHANGED if any call changed something. */
surg_pass_result each_node(surg_pass_ctx *p, surg_graph *g, each_visit visit);

/* Whether g has a node of one of n operators. */
bool each_has(surg_graph *g, const int *ops, size_t n);

#endif
