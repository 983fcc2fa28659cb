/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: a model, whose last byte picks an opset that it is converted to, with all consent. A
 * model that is converted verifies, is saved, and loads again. */
#include "fuzz.h"

#define OPSETS 26u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size < 2) return 0;
  surg_context *ctx = fuzz_shared_context();
  surg_model *m = fuzz_model(ctx, data, size);
  if (m) {
    char pipeline[32];
    snprintf(pipeline, sizeof pipeline, "opset{to=%u}",
             1 + (data[size - 1] + (unsigned)size) % OPSETS);
    fuzz_run(ctx, m, pipeline);
  }
  return 0;
}
