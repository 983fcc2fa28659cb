/* SPDX-License-Identifier: Apache-2.0 */
/* A bad plugin: its pass adds an output and does not declare that it may. */
#include <onnxsurg/plugin.h>

static surg_pass_result run(surg_pass_ctx *p, surg_graph *g) {
  (void)p;
  surg_value *v = surg_node_output(surg_graph_first_node(g), 0);
  const surg_type *t = surg_type_tensor_unranked(surg_graph_model(g), SURG_FLOAT);
  return surg_graph_add_output(g, v, t) ? SURG_PASS_FAILED : SURG_PASS_CHANGED;
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
