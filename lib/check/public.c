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

surg_status surg_check_rule_at(size_t i, surg_check_rule *out) {
  const surg__rule_info *all;
  if (!out) return SURG_EUSAGE;
  if (i >= surg__check_rules(&all)) return SURG_ENOTFOUND;
  const surg_check_rule rule = {.size = sizeof rule,
                                .code = all[i].code,
                                .severity = (int32_t)surg__check_severity(all[i].code),
                                .finding = all[i].finding,
                                .hint = all[i].hint,
                                .pass = all[i].pass};
  surg__struct_out(out, &rule, sizeof rule);
  return SURG_OK;
}

surg_status surg_check_find_rule(const char *code, size_t *i, surg_check_rule *out) {
  const surg__rule_info *all;
  const size_t n = surg__check_rules(&all);
  if (!code || !out) return SURG_EUSAGE;
  size_t at = 0;
  while (at < n && strcmp(all[at].code, code) != 0) at++;
  if (i) *i = at;
  return surg_check_rule_at(at, out);
}
