/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: bytes as a file of rewrite rules. Rules that are read are applied, all consent
 * given, to a model, which then verifies and is saved. */
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  surg_context *ctx = fuzz_context();
  const size_t before = surg_context_rule_count(ctx);
  const surg_status s = surg_context_load_rules(ctx, (const char *)data, size, "fuzz");
  require(s != SURG_EINTERNAL && (s == SURG_OK || surg_context_error(ctx)));
  if (s == SURG_OK) {
    require(surg_context_rule_count(ctx) >= before);
    for (size_t i = before; i < surg_context_rule_count(ctx); i++)
      require(surg_rule_name(surg_context_rule(ctx, i)) != NULL);
    surg_model *m = fuzz_model(ctx, fuzz_sample, sizeof fuzz_sample - 1);
    require(m != NULL);
    fuzz_run(ctx, m, "rewrite");
  }
  surg_context_free(ctx);
  return 0;
}
