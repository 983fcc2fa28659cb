/* SPDX-License-Identifier: Apache-2.0 */
/* See each.h. */
#include "each.h"

bool each_has(surg_graph *g, const int *ops, size_t n) {
  for (size_t i = 0; i < n; i++)
    if (surg_graph_has_op(g, ops[i])) return true;
  return false;
}

surg_pass_result each_node(surg_pass_ctx *p, surg_graph *g, each_visit visit) {
  surg_pass_result result = SURG_PASS_UNCHANGED;
  for (surg_node *n = surg_graph_first_node(g), *next; n; n = next) {
    next = surg_node_next(n);
    const surg_pass_result one = visit(p, n);
    if (one == SURG_PASS_FAILED) return one;
    if (one < result) result = one;
  }
  return result;
}
