/* SPDX-License-Identifier: Apache-2.0 */
/* Registers the built-in passes and presets. */
#include "pass/pass.h"

#define SURG_PASS(name) extern const surg_pass surg__pass_##name;
#include "passes.def"
#undef SURG_PASS

surg_status surg__register_builtins(surg_registry *r) {
  static const surg_pass *const passes[] = {
#define SURG_PASS(name) &surg__pass_##name,
#include "passes.def"
#undef SURG_PASS
  };
  static const surg__preset presets[] = {
#define SURG_PRESET(name, pipeline, help) {name, pipeline, help},
#include "presets.def"
#undef SURG_PRESET
  };
  static const surg__former former[] = {
#define SURG_PASS(name)
#define SURG_FORMER(former, name) {former, name},
#include "passes.def"
#undef SURG_PASS
  };
  surg__register_former(r, former, SURG_COUNT(former));
  surg_status s = SURG_OK;
  for (size_t i = 0; i < SURG_COUNT(passes) && !s; i++) s = surg_registry_add_pass(r, passes[i]);
  for (size_t i = 0; i < SURG_COUNT(presets) && !s; i++) s = surg__register_preset(r, &presets[i]);
  return s;
}
