/* SPDX-License-Identifier: Apache-2.0 */
/* A bad plugin: its init crashes. */
#include <onnxsurg/plugin.h>

static surg_status init(surg_registry *registry) {
  (void)registry;
  int *volatile nowhere = NULL;
  *nowhere = 1;
  return SURG_OK;
}
SURG_PLUGIN_ENTRY("bad", "1", init)
