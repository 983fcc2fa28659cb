/* SPDX-License-Identifier: Apache-2.0 */
/* Sorts the nodes of every graph so that producers are before consumers. A sorted graph does not
 * change; values that subgraphs capture count as inputs of the node with the subgraph.
 *
 *   before: (x) => (y) { y = Relu (t)   t = Abs (x) }
 *   after:  (x) => (y) { t = Abs (x)   y = Relu (t) }
 *
 * Needs nothing. Keeps sorted, types. Exact. */
#include <onnxsurg/onnxsurg.h>

static surg_pass_result run(surg_pass_ctx *p, surg_graph *g) {
  bool moved = false;
  if (surg_graph_toposort(g, &moved)) return SURG_PASS_FAILED;
  if (!moved) return SURG_PASS_UNCHANGED;
  surg_pass_count(p, "graphs sorted", 1);
  return SURG_PASS_CHANGED;
}

const surg_pass surg__pass_toposort = {
    SURG_PASS_HEAD(GRAPH, "toposort", "sort nodes topologically"),
    .keeps = SURG_FACT_SORTED | SURG_FACT_TYPES,
    .exactness = SURG_EXACT,
    .run = run,
};
