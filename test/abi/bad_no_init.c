/* SPDX-License-Identifier: Apache-2.0 */
/* A bad plugin: it has nothing to call. */
#include <onnxsurg/plugin.h>

SURG_PLUGIN_EXPORT const surg_plugin_info *surg_plugin(void);
SURG_PLUGIN_EXPORT const surg_plugin_info *surg_plugin(void) {
  static const surg_plugin_info info = {sizeof info, SURG_ABI_MAJOR, SURG_ABI_MINOR, "no-init", "1",
                                        NULL};
  return &info;
}
