/* SPDX-License-Identifier: Apache-2.0 */
/* A bad plugin: it registers nothing as a pass, and does not look at the result. */
#include <onnxsurg/plugin.h>

static surg_status init(surg_registry *registry) {
  surg_registry_add_pass(registry, NULL);
  return SURG_OK;
}
SURG_PLUGIN_ENTRY("null-pass", "1", init)
