/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: bytes as a model that may be invalid, loaded leniently and given to `mend` without
 * or with consent; its length and last byte choose how. What `mend` finishes verifies, and is saved
 * as a file that a strict load accepts. */
#include "fuzz.h"

static void mend(surg_context *ctx, surg_model *m, const char *text, surg_exactness allow) {
  surg__pipeline *p = NULL;
  const surg__run_options run = {.verify_each = true, .has_allow = true, .allow = allow};
  require(surg__pipeline_parse(ctx, text, "fuzz", &p) == SURG_OK);
  const surg_status s = surg__run(&m, p, &run, NULL);
  require(s != SURG_EINTERNAL && s != SURG_EERASED && s != SURG_EUSAGE);
  if (s == SURG_OK) {
    require(surg_model_open_findings(m) == 0);
    fuzz_saved(ctx, m);
  }
  surg_model_free(m);
  surg__pipeline_free(p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const char *const texts[] = {"mend", "mend{interface}"};
  surg_context *ctx = fuzz_shared_context();
  const surg_load_options options = {
      .size = sizeof options, .policy = SURG_LOAD_LENIENT, .no_external = true};
  const unsigned how = size ? data[size - 1] + (unsigned)size : 0;
  surg_model *m = NULL;
  if (surg_model_load_memory(ctx, data, size, "fuzz", &options, &m) == SURG_OK)
    mend(ctx, m, texts[how & 1], how & 2 ? SURG_LOSSY : SURG_EXACT);
  return 0;
}
