/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: bytes as a target file. A target that is read judges a model: its objections have
 * all their texts, and their counts agree with the verdict. */
#include <onnxsurg/target.h>

#include "fuzz.h"

typedef struct tally {
  size_t unsupported, unknown;
} tally;

static void objection(void *user, const surg_objection *o) {
  tally *t = user;
  require(o->where && o->text && o->code);
  t->unsupported += o->verdict == SURG_UNSUPPORTED;
  t->unknown += o->verdict == SURG_SUPPORT_UNKNOWN;
}

static void describe(const surg_target *t) {
  surg_target_summary all = {.size = sizeof all};
  require(surg_target_get(t, &all) == SURG_OK);
  require(surg_target_name(t) != NULL);
  for (size_t i = 0; i < all.domains; i++) require(surg_target_domain(t, i) != NULL);
  for (size_t i = 0; i < all.notes; i++) require(surg_target_note(t, i) != NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  surg_context *ctx = fuzz_context();
  surg_target *t = NULL;
  const surg_status s = surg_target_parse(ctx, (const char *)data, size, "fuzz", &t);
  require(s != SURG_EINTERNAL && (s == SURG_OK) == (t != NULL));
  require(s == SURG_OK || surg_context_error(ctx));
  if (t) {
    describe(t);
    surg_model *m = fuzz_model(ctx, fuzz_sample, sizeof fuzz_sample - 1);
    require(m != NULL);
    tally seen = {0};
    surg_judgement j = {.size = sizeof j};
    const surg_status judged = surg_target_judge(t, m, objection, &seen, &j);
    require(judged == SURG_OK || fuzz_resource(judged));
    if (judged == SURG_OK) {
      require(j.unsupported == seen.unsupported && j.unknown == seen.unknown);
      require((j.verdict == SURG_UNSUPPORTED) == (j.unsupported > 0));
      require(j.verdict != SURG_SUPPORTED || j.unknown == 0);
    }
    surg_model_free(m);
    surg_target_free(t);
  }
  surg_context_free(ctx);
  return 0;
}
