/* SPDX-License-Identifier: Apache-2.0 */
/* A plugin without passes. A bad one defines what is wrong with it, then includes this. */
#include <onnxsurg/plugin.h>

#ifndef BAD_SIZE
#define BAD_SIZE sizeof(surg_plugin_info)
#endif
#ifndef BAD_MAJOR
#define BAD_MAJOR SURG_ABI_MAJOR
#endif
#ifndef BAD_MINOR
#define BAD_MINOR SURG_ABI_MINOR
#endif

static surg_status init(const surg_api *api, surg_registry *registry) {
  (void)registry;
  surg_plugin_api = api;
  return SURG_OK;
}

SURG_PLUGIN_EXPORT const surg_plugin_info *surg_plugin(void);
SURG_PLUGIN_EXPORT const surg_plugin_info *surg_plugin(void) {
  static const uint32_t layout[] = {SURG_ABI_LAYOUT};
  static const surg_plugin_info info = {.size = BAD_SIZE,
                                        .abi_major = BAD_MAJOR,
                                        .abi_minor = BAD_MINOR,
                                        .name = BAD_NAME,
                                        .version = "1",
                                        .init = init,
                                        .source = SURG_ABI_SOURCE,
                                        .layout = layout,
                                        .layout_count = sizeof layout / sizeof *layout};
  return &info;
}
