/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: bytes as a file of operator descriptions. What is read is used to infer types of a
 * model with a custom operator, and to check it. */
#include "check/check.h"
#include "fuzz.h"

static void finding(void *user, const surg__finding *f) {
  (void)user;
  require(f->code && f->where && f->text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  surg_context *ctx = fuzz_context();
  const surg_status s = surg_context_load_schemas(ctx, (const char *)data, size, "fuzz");
  require(s != SURG_EINTERNAL && (s == SURG_OK || surg_context_error(ctx)));
  /* A description may forbid the node of the sample: then it does not load. */
  surg_model *m = fuzz_model(ctx, fuzz_sample, sizeof fuzz_sample - 1);
  require(m != NULL || s == SURG_OK);
  if (m) {
    const surg_status inferred = surg_model_infer(m);
    require(inferred != SURG_EINTERNAL);
    const surg_status checked = surg__check_model(m, true, SIZE_MAX, finding, NULL);
    require(checked == SURG_OK || fuzz_resource(checked));
    require(surg_model_verify(m) == SURG_OK);
    surg_model_free(m);
  }
  surg_context_free(ctx);
  return 0;
}
