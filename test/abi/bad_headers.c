/* SPDX-License-Identifier: Apache-2.0 */
/* Bad plugins: they were built with other headers. -DFAULT=1: other declarations; 2: another layout
 * of a struct; 3: no layout at all; 4: a layout of another length. */
#include <onnxsurg/plugin.h>

static surg_status init(const surg_api *api, surg_registry *registry) {
  (void)registry;
  surg_plugin_api = api;
  return SURG_OK;
}

SURG_PLUGIN_EXPORT const surg_plugin_info *surg_plugin(void);
SURG_PLUGIN_EXPORT const surg_plugin_info *surg_plugin(void) {
  static uint32_t layout[] = {SURG_ABI_LAYOUT};
  static surg_plugin_info info = {sizeof info,
                                  SURG_ABI_MAJOR,
                                  SURG_ABI_MINOR,
                                  "headers",
                                  "1",
                                  init,
                                  SURG_ABI_SOURCE,
                                  layout,
                                  sizeof layout / sizeof *layout};
  if (FAULT == 1) info.source ^= 1;
  if (FAULT == 2) layout[sizeof layout / sizeof *layout - 1] += 8;
  if (FAULT == 3) info.layout = NULL;
  if (FAULT == 4) info.layout_count--;
  return &info;
}
