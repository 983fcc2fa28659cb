/* SPDX-License-Identifier: Apache-2.0 */
/* Removes Identity nodes: what reads the output reads the input instead. Where the output is an
 * output of the graph, the value takes its name; where only an Identity can keep that name (the
 * value is an input, is defined outside, or is an output already), the node stays; so it does where
 * an annotation speaks of its output.
 *
 *   before: (x) => (y) { a = Abs (x)   b = Identity (a)   y = Relu (b) }
 *   after:  (x) => (y) { a = Abs (x)   y = Relu (a) }
 *
 * Needs sorted. Keeps sorted, types. Exact. */
#include "give.h"

static surg_pass_result run(surg_pass_ctx *p, surg_graph *g) {
  surg_pass_result result = SURG_PASS_UNCHANGED;
  for (surg_node *n = surg_graph_first_node(g), *next; n; n = next) {
    next = surg_node_next(n);
    if (surg_node_op(n) != SURG_OP_Identity) continue;
    surg_value *in = surg_node_input(n, 0);
    if (!in || !surg_node_output(n, 0)) continue;
    surg_pass_result one = give_result(p, n, in, "identities");
    if (one == SURG_PASS_FAILED) return one;
    if (one < result) result = one;
  }
  return result;
}

const surg_pass surg__pass_identity = {
    .size = sizeof(surg_pass),
    .scope = SURG_SCOPE_GRAPH,
    .name = "identity",
    .help = "remove Identity nodes",
    .needs = SURG_FACT_SORTED,
    .keeps = SURG_FACT_SORTED | SURG_FACT_TYPES,
    .exactness = SURG_EXACT,
    .run = run,
};
