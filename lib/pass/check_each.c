/* SPDX-License-Identifier: Apache-2.0 */
/* --check: runs a pipeline, then compares its result with the original model by computing both on
 * generated inputs. The tolerance of floats follows from the exactness classes that the passes
 * report: after exact passes only, every bit must be equal.
 *
 * A pass that changes inputs or outputs ends a segment: the model is compared with the start of the
 * segment, and later passes are compared with the model after that pass. If a segment differs, the
 * pipeline runs again with a comparison after every pass, to identify the pass, and then with
 * limits on the number of rewrites, to identify the rewrite by bisection. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/dtype.h"
#include "base/os/os.h"
#include "ir/ir.h" /* for surg__interned only */
#include "pass/internal.h"
#include "run/verify.h"
#include "sym/expr.h"

typedef enum looks { AT_ENDS, EACH, BLAME, NARROW } looks;

typedef struct prover {
  surg_context *ctx;
  const surg__proof_options *how;
  surg__proof *proof;
  surg_model *base;     /* the model to compare with; owned */
  surg_model *assuming; /* whose assumptions about symbols limit the generated inputs */
  surg_exactness worst; /* exactness class of the segment that differs */
  looks stage;
  bool differs;
  char what[320];    /* how outputs differ */
  char blamed[300];  /* title of the pass, or empty */
  uint64_t first;    /* rewrite after which the result differs, from 1 on; 0: not identified */
  char rule[128];    /* of this rewrite; empty: it was none of a rule */
  uint64_t deadline; /* of all runs together, in ns; 0: none */
} prover;

/* --- tolerances --- */

static double epsilon(int dtype) {
  switch (dtype) {
    case SURG_DOUBLE:
    case SURG_FLOAT:
      return 0x1p-23; /* our kernels compute in double, runtimes in float */
    case SURG_FLOAT16:
      return 0x1p-10;
    case SURG_BFLOAT16:
      return 0x1p-7;
    default:
      return surg__dtype_is_float(dtype) ? 0x1p-3 : 0;
  }
}

/* The epsilon of the coarsest float type among the model's values: results that are rounded to that
 * type at each step differ by as much. */
static double coarsest(const surg_model *m) {
  double most = 0x1p-23;
  for (const surg_graph *g = surg_model_next_graph(m, NULL); g; g = surg_model_next_graph(m, g))
    for (const surg_value *v = NULL; (v = surg_graph_next_value(g, v));) {
      const surg_type *t = surg_value_type(v);
      if (!t) t = surg_value_declared_type(v);
      if (surg_type_get_kind(t) == SURG_TYPE_TENSOR) most = fmax(most, epsilon(surg_type_dtype(t)));
    }
  return most;
}

/* The tolerances for random and for adversarial inputs. Adversarial inputs combine huge and tiny
 * numbers, where a difference in the last bit becomes total: unless results must be exact, only
 * finiteness is compared there. */
static void tolerances(const prover *p, surg_exactness e, surg__tolerance *random,
                       surg__tolerance *adversarial) {
  static const struct {
    double relative, steps; /* multiples of the coarsest epsilon */
  } of[] = {[SURG_EXACT] = {0, 0},
            [SURG_ULP] = {1e-4, 16},
            [SURG_ROUNDING] = {1e-3, 64},
            [SURG_APPROX] = {1e-3, 64},
            [SURG_LOSSY] = {1e-2, 256}};
  _Static_assert(SURG_COUNT(of) == SURG_LOSSY + 1, "a tolerance for each class");
  const size_t i = (unsigned)e < SURG_COUNT(of) ? e : SURG_COUNT(of) - 1;
  double rtol = p->how->rtol;
  if (rtol < 0) rtol = i ? fmin(0.25, fmax(of[i].relative, of[i].steps * coarsest(p->base))) : 0;
  *random = (surg__tolerance){rtol, rtol / 100, rtol == 0};
  *adversarial = (surg__tolerance){rtol, rtol > 0 ? INFINITY : 0, rtol == 0};
}

/* --- one comparison --- */

/* Callback for surg__dim_of: replaces the proposed size of a symbol by the nearest one that the
 * user's assumptions allow. */
static bool allowed(void *user, const char *symbol, int64_t *out) {
  prover *p = user;
  int64_t lo, hi, d;
  const char *name = surg__interned(p->assuming, symbol, strlen(symbol));
  if (!name) return false;
  surg__expr_assumed(p->assuming, name, &lo, &hi, &d);
  int64_t n = *out < lo ? lo : *out > hi ? hi : *out;
  n = n / d * d + (n % d ? d : 0);
  *out = n > hi ? hi / d * d : n;
  return true;
}

typedef struct verdict {
  bool same, checked;
  char what[320]; /* how they differ */
} verdict;

static void describe(const prover *p, const surg__verify_report *r, verdict *out) {
  for (size_t i = 0; i < r->n_outputs && !*r->failure; i++) {
    const surg__verify_output *o = &r->outputs[i];
    if (!o->differs) continue;
    const char *name = surg__q(p->ctx, surg_value_name(o->value));
    if (o->worst.other_shape)
      snprintf(out->what, sizeof out->what, "output %s has another type or shape than it had",
               name);
    else if (o->worst.max_abs > 0)
      snprintf(out->what, sizeof out->what, "output %s differs from what it was (by up to %.3g)",
               name, o->worst.max_abs);
    else /* no finite element differs */
      snprintf(out->what, sizeof out->what, "output %s differs from what it was: %s", name,
               o->worst.why);
    return;
  }
  snprintf(out->what, sizeof out->what, "the result %s", r->failure);
}

/* Counts outputs whose comparison proves nothing, and records the reason for the first. */
static void list_silent(prover *p, const surg__verify_report *r) {
  for (size_t i = 0; i < r->n_outputs; i++) {
    const surg__verify_output *o = &r->outputs[i];
    if (!o->amplified && (surg__verify_informs(o) || (!o->random && !o->compared))) continue;
    p->proof->silent++;
    if (*p->proof->silent_why) continue;
    const char *name = surg__q(p->ctx, surg_value_name(o->value));
    if (o->random)
      snprintf(p->proof->silent_why, sizeof p->proof->silent_why,
               "output %s depends on random numbers that the result does not draw", name);
    else if (o->amplified)
      snprintf(p->proof->silent_why, sizeof p->proof->silent_why,
               "rounding alone moves output %s as far as it differs", name);
    else if (!o->number)
      snprintf(
          p->proof->silent_why, sizeof p->proof->silent_why, "output %s %s", name,
          o->any ? "is NaN for all generated inputs" : "has no elements for all generated inputs");
    else
      snprintf(p->proof->silent_why, sizeof p->proof->silent_why,
               "output %s is %.6g for all generated inputs", name, o->first);
  }
}

static surg_status hold(prover *p, surg_model *a, surg_model *b, surg_exactness e,
                        surg__verify_report *r) {
  surg__tolerance adversarial;
  surg__verify_options o = {.runs = p->how->seeds,
                            .seed = 1,
                            .max_bytes = p->how->max_bytes,
                            .max_work = p->how->max_work,
                            .max_turns = p->how->max_turns,
                            .dim_of = allowed,
                            .user = p,
                            .adversarial = &adversarial,
                            .huge = e > SURG_EXACT ? SURG__VERIFY_TAME : 0,
                            .may_lose = true,
                            .rounds = e > SURG_EXACT && p->how->rtol < 0,
                            .reorders = e >= SURG_ROUNDING,
                            .cancel = p->how->cancel,
                            .cancel_user = p->how->cancel_user};
  tolerances(p, e, &o.tolerance, &adversarial);
  p->assuming = b;
  return surg__verify(a, b, &o, r);
}

static surg_status compare(prover *p, surg_model *a, surg_model *b, surg_exactness e,
                           verdict *out) {
  surg__verify_report r;
  *out = (verdict){0};
  if (p->how->progress) p->how->progress(p->how->progress_user, "checking");
  surg_status s = hold(p, a, b, e, &r);
  if (s == SURG_OK && p->how->cancel && p->how->cancel(p->how->cancel_user))
    s = surg__error(p->ctx, SURG_ECANCELLED, surg_model_path(b),
                    "cancelled while results are compared");
  bool differs = *r.failure != 0;
  for (size_t i = 0; i < r.n_outputs && r.outputs; i++) differs |= r.outputs[i].differs > 0;
  out->checked = r.checked > 0;
  out->same = !out->checked || !differs;
  if (s == SURG_OK && !out->same) describe(p, &r, out);
  if (r.informative || differs)
    p->proof->checked += r.checked;
  else
    p->proof->skipped += r.checked;
  p->proof->skipped += r.skipped;
  if (s == SURG_OK && r.checked > 0 && !differs) list_silent(p, &r);
  if (*r.skip_why && !*p->proof->why)
    snprintf(p->proof->why, sizeof p->proof->why, "%s", r.skip_why);
  surg__verify_free(&r);
  return s == SURG_ENOMEM ? surg__oom(p->ctx, surg_model_path(b)) : s;
}

/* --- the trials of a run --- */

static surg_status start(prover *p, surg_model *m) {
  surg_model *base = surg_model_clone(m);
  if (!base) return surg__oom(p->ctx, surg_model_path(m));
  surg_model_free(p->base);
  p->base = base;
  return SURG_OK;
}

/* Compares the current segment with its start. */
static surg_status stretch(prover *p, const surg__trial *t) {
  verdict v;
  if (!t->interface && p->stage != BLAME) return SURG_OK;
  /* A blamed pass or rewrite gets the tolerance with which the segment failed. */
  const surg_exactness e = p->stage == AT_ENDS ? t->worst : p->worst;
  const surg_status s = compare(p, p->base, t->after, e, &v);
  if (s != SURG_OK) return s;
  if (v.same) return t->interface ? start(p, t->after) : SURG_OK;
  p->worst = e;
  snprintf(p->what, sizeof p->what, "%s", v.what);
  if (p->stage == BLAME) snprintf(p->blamed, sizeof p->blamed, "%s", t->title);
  p->differs = true;
  return SURG_EINVALID;
}

static surg_status each(prover *p, const surg__trial *t, bool *keep) {
  verdict v;
  const surg_status s = compare(p, t->before, t->after, t->used, &v);
  if (s != SURG_OK) return s;
  if (v.same) return t->interface ? start(p, t->after) : SURG_OK;
  surg__warn(p->ctx, surg_model_path(t->before), "%s is left out: %s", t->title, v.what);
  p->proof->left_out++;
  *keep = false;
  return SURG_OK;
}

static surg_status on_trial(void *user, const surg__trial *t, bool *keep) {
  prover *p = user;
  return p->stage == EACH ? each(p, t, keep) : stretch(p, t);
}

/* --- a run --- */

static surg_status sort(surg_model *m) {
  for (surg_graph *g = surg_model_next_graph(m, NULL); g; g = surg_model_next_graph(m, g)) {
    const surg_status s = surg_graph_toposort(g, NULL);
    if (s) return s;
  }
  return SURG_OK;
}

static surg_status run(prover *p, surg_model **model, const surg__pipeline *pipeline,
                       const surg__run_options *options, looks stage, surg__run_report *report) {
  surg__run_options o = *options;
  o.trial = on_trial;
  o.trial_user = p;
  o.trial_all = stage == EACH || stage == BLAME;
  if (p->deadline) {
    const uint64_t now = surg__os_now_ns();
    /* A run without a limit is one of 0 ms: what is left is at least 1. */
    o.timeout_ms = now < p->deadline ? (p->deadline - now) / 1000000 + 1 : 1;
  }
  p->stage = stage;
  const surg_status s = start(p, *model);
  return s ? s : surg__run(model, pipeline, &o, report);
}

/* Compares the result with the start of the last segment. */
static surg_status last_stretch(prover *p, surg_model *m, surg_exactness e) {
  verdict v;
  const surg_status s = compare(p, p->base, m, e, &v);
  if (s != SURG_OK || v.same) return s;
  p->worst = e;
  p->differs = true;
  snprintf(p->what, sizeof p->what, "%s", v.what);
  return SURG_EINVALID;
}

/* --- which pass, which rewrite --- */

/* Runs the pipeline on a clone with at most `limit` rewrites; *differs: the result differs. */
static surg_status try_limit(prover *p, const surg_model *original, const surg__pipeline *pipeline,
                             const surg__run_options *options, uint64_t limit, bool *differs) {
  surg__run_options o = *options;
  o.has_rewrite_limit = true;
  o.rewrite_limit = limit;
  p->differs = false;
  p->ctx->last_rule = NULL;
  surg_model *m = surg_model_clone(original);
  if (!m) return SURG_ENOMEM;
  surg_status s = run(p, &m, pipeline, &o, NARROW, NULL);
  snprintf(p->rule, sizeof p->rule, "%s", p->ctx->last_rule ? p->ctx->last_rule : "");
  if (s == SURG_OK) s = last_stretch(p, m, p->worst);
  surg_model_free(m);
  *differs = p->differs;
  return *differs ? SURG_OK : s;
}

/* Sets p->first and p->rule. Runs repeat exactly, so the result without the rewrite is equal and
 * that with it differs. Any failure leaves the rewrite unidentified: the pass is known. */
static void narrow(prover *p, const surg_model *original, const surg__pipeline *pipeline,
                   const surg__run_options *options, uint64_t rewrites) {
  uint64_t low = 0, high = rewrites;
  bool differs = false;
  surg_status s = try_limit(p, original, pipeline, options, 0, &differs);
  if (s != SURG_OK || differs) return; /* it is no rewrite */
  while (s == SURG_OK && high - low > 1) {
    const uint64_t middle = low + (high - low) / 2;
    s = try_limit(p, original, pipeline, options, middle, &differs);
    if (s == SURG_OK) *(differs ? &high : &low) = middle;
  }
  if (s == SURG_OK) s = try_limit(p, original, pipeline, options, high, &differs);
  if (s == SURG_OK && differs) p->first = high;
}

/* Runs the pipeline again on clones of `original`; sets p->blamed, and if possible p->first. */
static surg_status blame(prover *p, const surg_model *original, const surg__pipeline *pipeline,
                         const surg__run_options *options, uint64_t rewrites) {
  const surg__proof found = *p->proof;
  char what[sizeof p->what];
  surg__run_options o = *options;
  o.print = NULL;
  o.log_path = o.map_path = NULL;
  surg__mute mute;
  surg__mute_begin(p->ctx, &mute);
  surg_model *m = surg_model_clone(original);
  surg_status s = m ? run(p, &m, pipeline, &o, BLAME, NULL) : SURG_ENOMEM;
  memcpy(what, p->what, sizeof what);
  if (s == SURG_EINVALID && *p->blamed) {
    s = SURG_OK;
    if (!o.has_rewrite_limit) narrow(p, original, pipeline, &o, rewrites);
  }
  surg_model_free(m);
  surg__mute_end(&mute);
  memcpy(p->what, what, sizeof what);
  *p->proof = found;
  return s == SURG_ENOMEM ? surg__oom(p->ctx, surg_model_path(p->base)) : s;
}

static surg_status refuse(const prover *p, const char *path) {
  char where[sizeof p->rule + 40] = "";
  if (p->first)
    snprintf(where, sizeof where, " (rewrite %llu%s%s)", (unsigned long long)p->first,
             *p->rule ? ", rule " : "", p->rule);
  return surg__error(
      p->ctx, SURG_EINVALID, path, "%s%s%s%s%s; nothing is written (`onnxsurg bisect` %s)",
      p->blamed, *p->blamed ? " changes what is computed" : "", where, *p->blamed ? ": " : "",
      p->what, p->first ? "writes the models before and after it" : "finds the rewrite");
}

surg_status surg__run_proven(surg_model **model, const surg__pipeline *pipeline,
                             const surg__run_options *options, const surg__proof_options *how,
                             surg__run_report *report, surg__proof *proof) {
  surg_context *ctx = surg_model_context(*model);
  prover p = {.ctx = ctx, .how = how, .proof = proof};
  uint64_t ns = 0;
  if (options->timeout_ms && surg__mul_u64(options->timeout_ms, 1000000, &ns) &&
      surg__add_u64(surg__os_now_ns(), ns, &ns))
    p.deadline = ns;
  *proof = (surg__proof){0};
  *report = (surg__run_report){.ctx = ctx};
  surg_model *original = surg_model_clone(*model);
  surg_status s = original ? sort(original) : surg__oom(ctx, surg_model_path(*model));
  if (s == SURG_OK) s = run(&p, model, pipeline, options, how->each ? EACH : AT_ENDS, report);
  if (s == SURG_OK) s = last_stretch(&p, *model, report->worst);
  if (s == SURG_EINVALID && p.differs) {
    s = blame(&p, original, pipeline, options, report->rewrites);
    if (s == SURG_OK) s = SURG_EINVALID;
    if (s == SURG_EINVALID) s = refuse(&p, surg_model_path(p.base));
  }
  surg_model_free(original);
  surg_model_free(p.base);
  if (s != SURG_OK) {
    surg_model_free(*model);
    *model = NULL;
  }
  return s;
}
