/* SPDX-License-Identifier: Apache-2.0 */
/* A bad plugin: it is for another major version of the interface. */
#include <onnxsurg/plugin.h>

static surg_status init(const surg_api *api, surg_registry *registry) {
  (void)registry;
  surg_plugin_api = api;
  return SURG_OK;
}

SURG_PLUGIN_EXPORT const surg_plugin_info *surg_plugin(void);
SURG_PLUGIN_EXPORT const surg_plugin_info *surg_plugin(void) {
  static const surg_plugin_info info = {
      sizeof info, SURG_ABI_MAJOR + 1, SURG_ABI_MINOR, "major", "1", init};
  return &info;
}
