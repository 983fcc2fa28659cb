/* SPDX-License-Identifier: Apache-2.0 */
/* A bad plugin: its pass fails and does not say why. */
#include <onnxsurg/plugin.h>

static surg_pass_result run(surg_pass_ctx *p, surg_graph *g) {
  (void)p;
  (void)g;
  return SURG_PASS_FAILED;
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
