/* SPDX-License-Identifier: Apache-2.0 */
/* Runs both searches on copies: first without consent, then with all of it. */
#include "repair/verdict.h"

/* A copy of the model, mended if it has findings and `mend` succeeds within the consent; *used is
 * the consent required, *changed whether it was mended. NULL: out of memory. */
static surg_model *mended(const surg_model *m, surg__consent given, surg__consent *used,
                          bool *changed) {
  surg_model *copy = surg_model_clone(m);
  *changed = false;
  if (!copy || !surg_model_finding_count(copy)) return copy;
  const uint64_t epoch = surg_model_epoch(copy);
  const surg_status s = surg__repair_run(surg_model_context(m), &copy, "mend", given, false, used);
  if (s == SURG_OK) *changed = surg_model_epoch(copy) != epoch;
  return s == SURG_ENOMEM ? NULL : copy ? copy : surg_model_clone(m);
}

static surg_status search(surg__verdict_search *v, const surg__target *t, const surg_model *m,
                          surg__consent given) {
  const bool none = !given.interface && given.most == SURG__NO_CONSENT.most;
  const surg__consent certain = {SURG_EXACT, false};
  surg__consent used = SURG__NO_CONSENT;
  surg__repair_counts before;
  surg_model *whole = surg_model_clone(m);
  if (!whole) return SURG_ENOMEM;
  surg_status s = surg__repair_count(t, whole, &before, NULL);
  surg_model_free(whole);
  surg_model *copy = s == SURG_OK ? mended(m, none ? certain : given, &used, &v->mended) : NULL;
  if (!copy) return s ? s : SURG_ENOMEM;
  surg__repair_free(&v->search);
  surg__repair_init(&v->search, surg_model_context(m), t, copy, given);
  v->search.is_plain = none; /* the second search has all consents */
  if (v->mended) {
    /* The correction of a wrong declaration does not change the interface. */
    v->search.used = (surg__consent){used.most, used.interface && given.interface};
    surg__buf_puts(&v->search.pipeline, "mend");
  }
  s = surg__repair_find(&v->search, &v->before, &v->after);
  v->search.t = t;
  v->before = before;
  return s;
}

/* The assessment after a search that left nothing unsupported. */
static surg_assessment cured(const surg__verdict_search *v, surg_assessment kind) {
  return v->after.unknown ? SURG_ASSESS_UNCERTAIN : kind;
}

/* The assessment of a model of which nothing is unsupported, after a search that cured what
 * versions of the engine reject. */
static surg_assessment unsure(const surg__verdict_search *v) {
  return v->after.all || v->after.unknown ? SURG_ASSESS_UNKNOWN : SURG_ASSESS_REPAIR;
}

surg_status surg__verdict_find(surg__verdict_search *v, const surg__target *t,
                               const surg_model *m) {
  *v = (surg__verdict_search){0};
  surg_status s = search(v, t, m, SURG__NO_CONSENT);
  v->kind = v->before.all       ? cured(v, SURG_ASSESS_REPAIR)
            : v->before.unknown ? t->between ? unsure(v) : SURG_ASSESS_UNKNOWN
                                : SURG_ASSESS_SUPPORTED;
  if (s != SURG_OK || !v->after.all) return s;
  s = search(v, t, m, SURG__ALL_CONSENT);
  v->kind = v->after.all ? SURG_ASSESS_BLOCKED : cured(v, SURG_ASSESS_CONSENT);
  return s;
}
