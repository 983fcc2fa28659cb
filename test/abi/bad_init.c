/* SPDX-License-Identifier: Apache-2.0 */
/* A bad plugin: its init fails after it has registered a pass. */
#include <onnxsurg/plugin.h>

static surg_pass_result run(surg_pass_ctx *p, surg_graph *g) {
  (void)p;
  (void)g;
  return SURG_PASS_UNCHANGED;
}
static const surg_pass pass = {
    .size = sizeof pass, .name = "left-behind", .help = "must not be there", .run = run};
static surg_status init(surg_registry *registry) {
  surg_registry_add_pass(registry, &pass);
  return SURG_EUNSUPPORTED;
}
SURG_PLUGIN_ENTRY("init", "1", init)
