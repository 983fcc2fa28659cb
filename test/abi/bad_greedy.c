/* SPDX-License-Identifier: Apache-2.0 */
/* A bad plugin: its pass wants more memory than there is. */
#include <onnxsurg/plugin.h>

static surg_pass_result run(surg_pass_ctx *p, surg_graph *g) {
  (void)g;
  for (int i = 0; i < 1000; i++)
    if (!surg_pass_alloc(p, (size_t)1 << 28)) break;
  return SURG_PASS_UNCHANGED;
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
