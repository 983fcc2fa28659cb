/* SPDX-License-Identifier: Apache-2.0 */
/* Removes Identity nodes: their input replaces their output. If the output is an output of the
 * graph, the input gets its name. The node stays where only an Identity can keep that name (the
 * input is an input of the graph, is defined outside, or is an output already), or where an
 * annotation refers to its output.
 *
 *   before: (x) => (y) { a = Abs (x)   b = Identity (a)   y = Relu (b) }
 *   after:  (x) => (y) { a = Abs (x)   y = Relu (a) }
 *
 * Needs sorted. Keeps sorted, types. Exact. */
#include "../util/each.h"
#include "../util/give.h"

static surg_pass_result visit(surg_pass_ctx *p, surg_node *n) {
  surg_value *in = surg_node_input(n, 0);
  if (surg_node_op(n) != SURG_OP_Identity || !in || !surg_node_output(n, 0))
    return SURG_PASS_UNCHANGED;
  return give_result(p, n, in, "identities");
}

static surg_pass_result run(surg_pass_ctx *p, surg_graph *g) {
  return surg_graph_has_op(g, SURG_OP_Identity) ? each_node(p, g, visit) : SURG_PASS_UNCHANGED;
}

const surg_pass surg__pass_identity = {
    SURG_PASS_HEAD(GRAPH, "identity", "remove Identity nodes"),
    .needs = SURG_FACT_SORTED,
    .keeps = SURG_FACT_SORTED | SURG_FACT_TYPES,
    .exactness = SURG_EXACT,
    .run = run,
};
