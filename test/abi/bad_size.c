/* SPDX-License-Identifier: Apache-2.0 */
/* A bad plugin: its description ends before the functions. */
#include <onnxsurg/plugin.h>

static surg_status init(const surg_api *api, surg_registry *registry) {
  (void)registry;
  surg_plugin_api = api;
  return SURG_OK;
}

SURG_PLUGIN_EXPORT const surg_plugin_info *surg_plugin(void);
SURG_PLUGIN_EXPORT const surg_plugin_info *surg_plugin(void) {
  static const uint32_t layout[] = {SURG_ABI_LAYOUT};
  static const surg_plugin_info info = {.size = 8,
                                        .abi_major = SURG_ABI_MAJOR,
                                        .abi_minor = SURG_ABI_MINOR,
                                        .name = "size",
                                        .version = "1",
                                        .init = init,
                                        .source = SURG_ABI_SOURCE,
                                        .layout = layout,
                                        .layout_count = sizeof layout / sizeof *layout};
  return &info;
}
