/* SPDX-License-Identifier: Apache-2.0 */
/* Findings in the public API (onnxsurg/check.h). */
#include <onnxsurg/check.h>
#include <onnxsurg/names.h>

#include "check/check.h"

typedef struct telling {
  surg_check_fn fn;
  void *user;
  surg_check_counts counts;
} telling;

static void tell(telling *t, surg_check_finding f) {
  t->counts.errors += f.severity == SURG_ERROR;
  t->counts.warnings += f.severity == SURG_WARNING;
  t->counts.notes += f.severity == SURG_NOTE;
  f.size = sizeof f;
  if (t->fn) t->fn(t->user, &f);
}

static void hear(void *user, const surg__finding *f) {
  tell(user, (surg_check_finding){.severity = f->severity,
                                  .code = f->code,
                                  .where = f->where,
                                  .text = f->text,
                                  .hint = surg__check_rule(f->code)->hint,
                                  .pass = f->pass});
}

/* Reports the open defects that only loading can detect. */
static void tell_loaded(telling *t, surg_model *m) {
  surg_finding f = {.size = sizeof f};
  for (size_t i = 0; surg_model_finding(m, i, &f); i++)
    if (!f.cured)
      tell(t, (surg_check_finding){.severity = f.severity,
                                   .code = f.code,
                                   .where = f.where,
                                   .text = f.text,
                                   .hint = f.cure ? f.cure : surg__check_rule(f.code)->hint,
                                   .pass = surg__check_rule(f.code)->pass,
                                   .loaded = true});
}

surg_status surg_check(surg_model *model, size_t most, surg_check_fn fn, void *user,
                       surg_check_counts *counts) {
  if (!model) return SURG_EUSAGE;
  telling t = {.fn = fn, .user = user};
  tell_loaded(&t, model);
  /* With open errors, parts of the model were not read, so nothing is certainly unused. */
  const bool whole = surg_model_open_findings(model) == 0;
  const surg_status s =
      surg__check_model(model, whole, most ? most : SURG_LIMIT_FINDINGS, hear, &t);
  if (s == SURG_OK) surg__struct_out(counts, &t.counts, sizeof t.counts);
  return s;
}

surg_status surg_type_text(surg_context *ctx, const surg_type *type, char **text) {
  if (!ctx || !text) return SURG_EUSAGE;
  surg__buf b;
  surg__buf_init(&b, ctx);
  surg__check_put_type(&b, type);
  return surg__buf_give(&b, text);
}
