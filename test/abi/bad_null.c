/* SPDX-License-Identifier: Apache-2.0 */
/* A bad plugin: it describes nothing. */
#include <onnxsurg/plugin.h>

SURG_PLUGIN_EXPORT const surg_plugin_info *surg_plugin(void);
SURG_PLUGIN_EXPORT const surg_plugin_info *surg_plugin(void) {
  return NULL;
}
