/* SPDX-License-Identifier: Apache-2.0 */
/* A bad plugin: its pass makes a cycle. */
#include <onnxsurg/plugin.h>

static surg_pass_result run(surg_pass_ctx *p, surg_graph *g) {
  (void)p;
  surg_node *first = surg_graph_first_node(g);
  surg_node_set_input(first, 0, surg_node_output(surg_graph_last_node(g), 0));
  return SURG_PASS_CHANGED;
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
