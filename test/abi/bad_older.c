/* SPDX-License-Identifier: Apache-2.0 */
/* A bad plugin: it is for an older minor version of the interface, and 0.x promises nothing. */
#include <onnxsurg/plugin.h>

static surg_status init(const surg_api *api, surg_registry *registry) {
  (void)registry;
  surg_plugin_api = api;
  return SURG_OK;
}

SURG_PLUGIN_EXPORT const surg_plugin_info *surg_plugin(void);
SURG_PLUGIN_EXPORT const surg_plugin_info *surg_plugin(void) {
  static const surg_plugin_info info = {
      sizeof info, SURG_ABI_MAJOR, SURG_ABI_MINOR - 1, "older", "1", init};
  return &info;
}
