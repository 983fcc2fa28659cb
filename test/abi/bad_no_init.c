/* SPDX-License-Identifier: Apache-2.0 */
/* A bad plugin: it has nothing to call. */
#include <onnxsurg/plugin.h>

SURG_PLUGIN_EXPORT const surg_plugin_info *surg_plugin(void);
SURG_PLUGIN_EXPORT const surg_plugin_info *surg_plugin(void) {
  static const uint32_t layout[] = {SURG_ABI_LAYOUT};
  static const surg_plugin_info info = {.size = sizeof info,
                                        .abi_major = SURG_ABI_MAJOR,
                                        .abi_minor = SURG_ABI_MINOR,
                                        .name = "no-init",
                                        .version = "1",
                                        .init = NULL,
                                        .source = SURG_ABI_SOURCE,
                                        .layout = layout,
                                        .layout_count = sizeof layout / sizeof *layout};
  return &info;
}
