/* SPDX-License-Identifier: Apache-2.0 */
/* Removes the named nodes, as remove-op does for all nodes of an operator. A node without a name,
 * or whose name is not unique, is given by its position, such as graph.node[5].
 *
 *   before: (x) => (y) { [a] t = Abs (x)   [r] y = Relu (t) }
 *   after:  (x) => (y) { [a] y = Abs (x) }                          remove-node{name=r}
 *
 * Needs sorted, types. Keeps sorted. Lossy: the computation of the node is removed. */
#include "../util/bypass.h"
#include "../util/select.h"

static surg_pass_result run(surg_pass_ctx *p, surg_graph *unused) {
  (void)unused;
  size_t n;
  surg_pass_result result = SURG_PASS_UNCHANGED;
  if (surg_pass_list_count(p, "name") == 0)
    return surg_pass_usage(p, "needs name=: the name of a node, or its place");
  if (bypass_check_map(p) == SURG_PASS_FAILED) return SURG_PASS_FAILED;
  /* All nodes first: removal shifts positions. */
  surg_node **nodes = select_node_list(p, "name", &n);
  if (!nodes) return SURG_PASS_FAILED;
  for (size_t i = 0; i < n; i++) {
    if (surg_node_erased(nodes[i])) continue; /* named twice, or inside a removed node */
    const char *domain = surg_node_domain(nodes[i]);
    surg_pass_result one = bypass_node(p, nodes[i]);
    if (one == SURG_PASS_CHANGED && bypass_drop_import(p, domain) == SURG_PASS_FAILED)
      one = SURG_PASS_FAILED;
    if (one < result) result = one;
    if (one == SURG_PASS_FAILED) break;
  }
  return result;
}

static const surg_option options[] = {
    SURG_OPTION(LIST, "name", NULL, "nodes (addresses): conv1+\"graph.node[5]\""),
    BYPASS_MAP,
};

const surg_pass surg__pass_remove_node = {
    SURG_PASS_HEAD(MODEL, "remove-node", "remove single nodes; an input replaces the output"),
    SURG_PASS_OPTIONS(options),
    .needs = SURG_FACT_SORTED | SURG_FACT_TYPES,
    .keeps = SURG_FACT_SORTED,
    .exactness = SURG_LOSSY,
    .edits = true,
    .run = run,
};
