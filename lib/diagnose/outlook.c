/* SPDX-License-Identifier: Apache-2.0 */
/* Predicts what the pass `mend` fixes in an invalid model, by trying it on copies
 * (onnxsurg/doctor.h). */
#include <onnxsurg/doctor.h>

#include "base/diag.h"
#include "base/hush.h"
#include "check/check.h"
#include "diagnose/checked.h"
#include "repair/repair.h"

typedef struct tally {
  size_t errors, warnings;
} tally;

static void count_one(void *user, const surg__finding *f) {
  tally *t = user;
  const surg_severity s = surg__check_severity(f->code);
  t->errors += s == SURG_ERROR;
  t->warnings += s == SURG_WARNING;
}

/* Counts inputs and outputs without a type or rank, which only the loader reports. */
static void count_bare(const surg_type *t, tally *out) {
  const bool tensor = t && surg_type_get_kind(t) == SURG_TYPE_TENSOR;
  out->errors += !t || (tensor && !surg_type_has_rank(t));
}

static bool is_bare(const char *code) {
  return !strcmp(code, "E108") || !strcmp(code, "E130");
}

/* Counts the findings that the model has now: those of the checker, and those of the loader that
 * are not fixed. */
static surg_status count(surg_model *m, tally *t) {
  const surg_graph *g = surg_model_graph(m);
  *t = (tally){0};
  for (size_t i = 0; i < surg_model_finding_count(m); i++) {
    surg_finding f = {.size = sizeof f};
    if (surg_model_finding(m, i, &f) && !f.cured && !is_bare(f.code))
      count_one(t, &(surg__finding){.code = f.code});
  }
  for (size_t i = 0; i < surg_graph_input_count(g); i++)
    count_bare(surg_value_declared_type(surg_graph_input(g, i)), t);
  for (size_t i = 0; i < surg_graph_output_count(g); i++)
    count_bare(surg_graph_output_type(g, i), t);
  return surg__check_model(m, true, 0, count_one, t); /* counted only: without text */
}

static bool is_better(const tally *a, const tally *b) {
  return a->errors != b->errors ? a->errors < b->errors : a->warnings < b->warnings;
}

/* Runs `mend` on a copy. If fewer findings remain than in *best, updates *best and the outlook. */
static surg_status try_mend(surg_context *ctx, const surg_model *m, surg__consent most,
                            surg_outlook *o, tally *best) {
  surg__consent used = SURG__NO_CONSENT;
  tally now;
  surg_model *copy = surg_model_clone(m);
  if (!copy) return SURG_ENOMEM;
  const uint64_t epoch = surg_model_epoch(copy);
  surg_status s =
      surg__repair_run(ctx, &copy, most.interface ? "mend{interface}" : "mend", most, false, &used);
  if (s == SURG_OK && surg_model_epoch(copy) == epoch) s = SURG_EUNSUPPORTED;
  if (s == SURG_OK) s = count(copy, &now);
  if (copy) surg_model_free(copy);
  surg_context_clear_error(ctx);
  if (s != SURG_OK || !is_better(&now, best)) return s == SURG_ENOMEM ? s : SURG_OK;
  o->errors = now.errors;
  o->warnings += best->warnings - now.warnings;
  *best = now;
  o->allow = (int32_t)used.most;
  o->allow_interface = most.interface;
  o->mended = now.errors ? SURG_MENDED_SOME : SURG_MENDED_ALL;
  return SURG_OK;
}

static surg_status try_all(const surg_checked *c, surg_outlook *o) {
  static const surg__consent all[] = {
      {SURG_EXACT, false}, {SURG_APPROX, false}, {SURG_EXACT, true}, {SURG_APPROX, true}};
  const size_t errors = c->sum.errors;
  /* A partially loaded model is mostly unchecked: any result that can be written is better. */
  tally best = {c->sum.partial ? SIZE_MAX : errors, SIZE_MAX};
  surg_model *m = NULL;
  surg_status s = surg__checked_load(c, &m);
  if (s == SURG_OK && !errors) s = count(m, &best);
  for (size_t i = 0;
       s == SURG_OK && i < SURG_COUNT(all) && (errors ? best.errors : !all[i].interface); i++)
    s = try_mend(c->ctx, m, all[i], o, &best);
  if (!errors && o->mended == SURG_MENDED_ALL) o->mended = SURG_MENDED_SOME;
  surg_model_free(m);
  return s;
}

surg_status surg_checked_outlook(surg_checked *c, surg_outlook *out) {
  surg_outlook o = {.size = sizeof o};
  if (!c || !out) return SURG_EUSAGE;
  if (!surg_context_passes(c->ctx)) return surg__oom(c->ctx, NULL);
  const surg__hush h = surg__hush_begin(c->ctx);
  const surg_status s = try_all(c, &o);
  if (s == SURG_ENOMEM) return surg__hush_fail(c->ctx, h, s);
  surg__hush_end(c->ctx, h);
  surg__struct_out(out, &o, sizeof o);
  return SURG_OK;
}
