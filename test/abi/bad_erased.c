/* SPDX-License-Identifier: Apache-2.0 */
/* A bad plugin: its pass goes on with a node that it has erased. */
#include <onnxsurg/plugin.h>

static surg_pass_result run(surg_pass_ctx *p, surg_graph *g) {
  surg_node *n = surg_graph_first_node(g), *fresh = surg_graph_add_node(g, n, NULL, "Abs", 1);
  (void)p;
  surg_node_set_input(fresh, 0, surg_node_input(n, 0));
  if (surg_node_erase(fresh)) return SURG_PASS_FAILED;
  return surg_node_set_name(fresh, "ghost") ? SURG_PASS_FAILED : SURG_PASS_CHANGED;
}
static const surg_pass pass = {.size = sizeof pass,
                               .scope = SURG_SCOPE_GRAPH,
                               .name = "bad",
                               .help = "misbehaves",
                               .run = run};
static surg_status init(surg_registry *registry) {
  return surg_registry_add_pass(registry, &pass);
}
SURG_PLUGIN_ENTRY("bad", "1", init)
