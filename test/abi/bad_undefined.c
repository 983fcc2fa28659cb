/* SPDX-License-Identifier: Apache-2.0 */
/* A bad plugin: it needs a function that does not exist. */
#include <onnxsurg/plugin.h>

void no_such_function_anywhere(void);
static surg_status init(surg_registry *registry) {
  (void)registry;
  no_such_function_anywhere();
  return SURG_OK;
}
SURG_PLUGIN_ENTRY("undefined", "1", init)
