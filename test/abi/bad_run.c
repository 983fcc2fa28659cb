/* SPDX-License-Identifier: Apache-2.0 */
/* A bad plugin: its pass cannot be run. */
#include <onnxsurg/plugin.h>

static const surg_pass pass = {.size = sizeof pass, .name = "bad", .help = "has no run function"};
static surg_status init(surg_registry *registry) {
  return surg_registry_add_pass(registry, &pass);
}
SURG_PLUGIN_ENTRY("bad", "1", init)
