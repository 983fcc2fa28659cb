/* SPDX-License-Identifier: Apache-2.0 */
/* The function table passed to plugins: every row of api.def, at its slot. */
#include "pass/pass.h"

const surg_api *surg__api(void) {
  static const surg_api api = {
      sizeof(surg_api),
      SURG_ABI_MAJOR,
      SURG_ABI_MINOR,
      {
#define SURG_FN(slot, ret, name, params, args) [slot] = (surg_function_ptr)name,
#define SURG_PROC(slot, name, params, args) [slot] = (surg_function_ptr)name,
#include <onnxsurg/api.def>
#undef SURG_FN
#undef SURG_PROC
      },
  };
  return &api;
}
