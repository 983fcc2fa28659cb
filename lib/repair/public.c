/* SPDX-License-Identifier: Apache-2.0 */
/* Repairs as public objects (onnxsurg/repair.h). */
#include <onnxsurg/info.h>
#include <onnxsurg/repair.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/diag.h"
#include "base/hush.h"
#include "pass/pass.h"
#include "repair/repair.h"
#include "repair/verdict.h"
#include "target/verdict.h"

#define MEND_TEXT 64
#define GAINS 5u              /* most consents that are weighed */
#define GAIN_NODES 1000000u   /* most nodes of models that the first search tried, for weighing */
#define WEIGHED_NODES 150000u /* nodes of models tried while weighing, after which it ends */

struct surg_repair {
  surg_context *ctx;
  surg__repair search;
  surg__repair_counts before, after;
  size_t misread;
  bool mended, then_done;
  surg__buf changes; /* of inputs and outputs: texts, NUL-terminated each */
  surg_repair_gain gains[GAINS];
  size_t n_gains;
  uint64_t weighed;     /* nodes of models tried for them */
  char mend[MEND_TEXT]; /* the pass that mends the model, with its options */
};

/* --- the consent and sizes of options --- */

static surg__consent consent_of(const surg_repair_options *o) {
  return (surg__consent){o->has_allow ? o->allow : SURG_ROUNDING, o->allow_interface};
}

static surg_status unknown_size(surg_context *ctx, const surg_model *m, const char *name) {
  return surg__error(ctx, SURG_EUSAGE, surg_model_path(m),
                     "no input has a dynamic dimension %s (--dim)", surg__q(ctx, name));
}

/* --- mending --- */

static const char *mend_text(surg__consent c) {
  return c.interface ? "mend{interface}" : "mend";
}

/* Spells the pass for a target: if the import of ONNX's own domain is missing, an opset that the
 * target supports is preferred. */
static void spell_mend(surg_repair *r, const surg_model *m, const surg__target *t,
                       surg__consent given) {
  int64_t high = 0;
  for (size_t i = 0; t && i < t->opsets.count; i++)
    if (!*t->opsets.items[i].name) high = t->opsets.items[i].high;
  snprintf(r->mend, sizeof r->mend, "%s", mend_text(given));
  if (high > 0 && high < surg_schema_newest("") && surg_model_opset(m, "") <= 0)
    snprintf(r->mend, sizeof r->mend, "mend{newest=%lld%s}", (long long)high,
             given.interface ? ",interface" : "");
}

/* Mends a copy of the model with this consent; *errors: what the checker still reports. */
static surg_status mend_with(surg_repair *r, const surg_model *m, surg__consent given,
                             bool verify_each, surg__consent *used, surg_model **out,
                             size_t *errors) {
  *errors = SIZE_MAX;
  *out = surg_model_clone(m);
  if (!*out) return SURG_ENOMEM;
  const surg_status s = surg__repair_run(r->ctx, out, r->mend, given, verify_each, used);
  if (s == SURG_OK) *errors = surg__repair_contradictions(*out);
  return s;
}

/* A copy of the model without its defects: cured exactly, and with the given consent if that leaves
 * fewer errors. SURG_EINVALID: defects remain. */
static surg_status mend(surg_repair *r, const surg_model *m, surg__consent given, bool verify_each,
                        surg__consent *used, surg_model **out) {
  const surg__consent exact = {SURG_EXACT, given.interface};
  surg__consent more = exact;
  surg_model *other = NULL;
  size_t left, fewer = SIZE_MAX;
  surg_status s = mend_with(r, m, exact, verify_each, used, out, &left);
  if ((s == SURG_OK ? left > 0 : s == SURG_EINVALID) && given.most > SURG_EXACT) {
    const surg_status second = mend_with(r, m, given, verify_each, &more, &other, &fewer);
    if (second == SURG_OK && (s != SURG_OK || fewer < left)) {
      surg_model_free(*out);
      *out = other;
      *used = more;
      s = second;
    } else {
      surg_model_free(other);
      if (s != SURG_OK) s = second;
    }
  }
  r->mended = s == SURG_OK && surg_model_epoch(*out) != surg_model_epoch(m);
  return s;
}

/* A copy of a model with defects that cannot be cured, if the target does not reject any of it:
 * such a model needs no repair. SURG_EINVALID: it is rejected. */
static surg_status keep_defects(const surg__target *t, const surg_model *m, surg_model **out) {
  surg__repair_counts left;
  surg_context_clear_error(surg_model_context(m));
  surg_model_free(*out);
  *out = surg_model_clone(m);
  if (!*out) return SURG_ENOMEM;
  const surg_status s = surg__repair_count(t, *out, &left, NULL);
  if (s == SURG_OK && !left.all) return s;
  surg_model_free(*out);
  *out = NULL;
  return s == SURG_OK ? SURG_EINVALID : s;
}

/* --- the search --- */

/* A failure of the pipeline is none of the model. */
static surg_status then(surg_repair *r, const char *pipeline) {
  const surg_status s = surg__repair_then(&r->search, pipeline, &r->after, &r->then_done);
  return s == SURG_EINVALID ? SURG_EUNSUPPORTED : s;
}

static surg_status search(surg_repair *r, const surg_model *model, const surg__target *t,
                          const surg_repair_options *o) {
  const surg__consent given = consent_of(o);
  const surg__sizes sizes = {o->sizes, o->n_sizes};
  surg__consent used = {SURG_EXACT, false};
  surg_model *m = NULL;
  spell_mend(r, model, t, given);
  surg_status s = mend(r, model, given, o->verify_each, &used, &m);
  if (s == SURG_EINVALID && t && !o->then && !o->n_sizes) s = keep_defects(t, model, &m);
  if (s != SURG_OK) return s;
  const char *none = surg__repair_no_size(m, &sizes);
  if (none) {
    surg_model_free(m);
    return unknown_size(r->ctx, model, none);
  }
  surg__repair_init(&r->search, r->ctx, t, m, given);
  surg__repair *x = &r->search;
  x->verify_each = o->verify_each;
  x->is_nearer = !o->keep_host_nodes;
  x->is_minimal = true;
  x->lacks = surg_model_require_weights(m, "repair") != SURG_OK;
  if (x->lacks) surg_context_clear_error(r->ctx);
  x->sizes = &sizes;
  if (r->mended) {
    /* The correction of a wrong declaration does not change the interface. */
    x->used = (surg__consent){used.most, used.interface && given.interface};
    surg__buf_puts(&x->pipeline, r->mend);
  }
  if (t) {
    s = surg__repair_find(x, &r->before, &r->after);
    x->sizes = NULL;
    if (s == SURG_OK && o->then) s = then(r, o->then);
    if (s != SURG_OK) return s;
    surg__repair_counts strict = r->after;
    if (x->t != t) s = surg__repair_count(t, x->m, &strict, NULL);
    r->misread = strict.misread;
    /* A version that is not known may reject what the known one before it misreads. */
    if (strict.unknown > r->after.unknown) r->after.unknown = strict.unknown;
    x->t = t;
    return s;
  }
  surg__buf_putc(&x->pipeline, 0);
  surg__buf_putc(&x->refused, 0);
  return x->pipeline.failed || x->refused.failed ? SURG_ENOMEM : SURG_OK;
}

void surg__repair_report_defects(const surg_model *model, surg__consent given) {
  surg_context *ctx = surg_model_context(model);
  surg_model *copy = surg_model_clone(model);
  surg__pipeline *p = NULL;
  const surg__run_options options = {.has_allow = true, .allow = given.most};
  if (copy && surg__pipeline_parse(ctx, mend_text(given), "repair", &p) == SURG_OK)
    surg__run(&copy, p, &options, NULL);
  surg__pipeline_free(p);
  surg_model_free(copy);
}

/* Lists what changed of the interface. */
static surg_status note_changes(surg_repair *r, const surg_model *model) {
  if (!r->search.used.interface) return SURG_OK;
  surg_model *before = surg_model_clone(model);
  const surg_status s =
      before ? surg__repair_put_changes(before, r->search.m, &r->changes) : SURG_ENOMEM;
  surg_model_free(before);
  return s;
}

surg_status surg_repair_find(const surg_model *model, const surg_target *target,
                             const surg_repair_options *options, surg_repair **out) {
  if (!model || !out) return SURG_EUSAGE;
  surg_context *ctx = surg_model_context(model);
  surg_repair_options o;
  surg__struct_in(&o, sizeof o, options);
  *out = NULL;
  surg_repair *r = surg__calloc(ctx, 1, sizeof *r);
  if (!r || !surg_context_passes(ctx)) {
    surg__free(ctx, r);
    return surg__oom(ctx, NULL);
  }
  r->ctx = ctx;
  surg__buf_init(&r->changes, ctx);
  const surg__hush hush = surg__hush_begin(ctx);
  surg_status s = search(r, model, target, &o);
  if (s == SURG_OK) s = note_changes(r, model);
  if (s == SURG_OK) {
    surg__hush_end(ctx, hush);
    *out = r;
    return s;
  }
  surg_repair_free(r);
  if (s != SURG_EINVALID) return surg__hush_fail(ctx, hush, s);
  surg__hush_end(ctx, hush);
  surg__repair_report_defects(model, consent_of(&o));
  return s;
}

surg_status surg_repair_get(const surg_repair *r, surg_repair_result *out) {
  if (!r || !out) return SURG_EUSAGE;
  const surg__repair *x = &r->search;
  const surg_repair_result all = {
      .size = sizeof all,
      .verdict = (surg_verdict)surg__verdict_of(r->after.all, r->after.unknown),
      .unsupported = r->after.all,
      .unknown = r->after.unknown,
      .misread = r->misread,
      .unsupported_before = r->before.all,
      .unknown_before = r->before.unknown,
      .pipeline = x->pipeline.n ? x->pipeline.p : "",
      .used = x->used.most,
      .used_interface = x->used.interface,
      .mended = r->mended,
      .refused = x->refused.n ? x->refused.p : "",
      .wanted = x->wanted.most,
      .wanted_interface = x->wanted.interface,
      .nodes = x->nodes,
      .on_host = x->elsewhere,
      .on_host_before = x->was,
      .data = r->after.data,
      .data_verdict = (surg_verdict)surg__verdict_of(r->after.data_illegal,
                                                     r->after.data - r->after.data_illegal),
      .then_done = r->then_done};
  surg__struct_out(out, &all, sizeof all);
  return SURG_OK;
}

surg_model *surg_repair_model(const surg_repair *r) {
  return r ? r->search.m : NULL;
}

surg_model *surg_repair_take(surg_repair *r) {
  surg_model *m = r ? r->search.m : NULL;
  if (r) r->search.m = NULL;
  return m;
}

void surg_repair_free(surg_repair *r) {
  if (!r) return;
  surg__repair_free(&r->search);
  surg__buf_free(&r->changes);
  surg__free(r->ctx, r);
}

const char *surg_repair_change(const surg_repair *r, size_t i) {
  for (size_t at = 0; r && at < r->changes.n; at += strlen(r->changes.p + at) + 1)
    if (!i--) return r->changes.p + at;
  return NULL;
}

/* --- what consent would gain --- */

/* Searches with the consent, and adds the result if fewer objections remain than without it, and
 * than with any lesser consent. */
static surg_status weigh(surg_repair *r, const surg_model *model, surg_repair_options *o,
                         surg__consent c, surg_repair_gain *out, bool *helps) {
  surg_repair *found = NULL;
  surg_repair_result x = {.size = sizeof x};
  o->allow = c.most;
  o->allow_interface = c.interface;
  const surg_status s = surg_repair_find(model, r->search.t, o, &found);
  *helps = false;
  /* Passes may fail with more consent; then it does not help. */
  if (s != SURG_OK) return s == SURG_ENOMEM ? s : SURG_OK;
  surg_repair_get(found, &x);
  r->weighed += found->search.worked[0] + found->search.worked[1];
  surg_repair_free(found);
  *out = (surg_repair_gain){sizeof *out, c.most, c.interface, x.verdict, x.unsupported};
  *helps = x.unsupported < r->after.all;
  for (size_t i = 0; i < r->n_gains && *helps; i++) {
    const surg__consent other = {(surg_exactness)r->gains[i].allow, r->gains[i].allow_interface};
    *helps = !surg__repair_covers(c, other) || x.unsupported < r->gains[i].unsupported;
  }
  return s;
}

surg_status surg_repair_weigh(surg_repair *r, const surg_model *model,
                              const surg_repair_options *options) {
  static const surg__consent tried[GAINS - 1] = {
      {SURG_APPROX, false}, {SURG_EXACT, true}, {SURG_LOSSY, false}, {SURG_APPROX, true}};
  surg_repair_options o;
  surg_repair_gain most, one;
  bool helps;
  if (!r || !model || !r->search.t) return SURG_EUSAGE;
  surg__struct_in(&o, sizeof o, options);
  const surg__consent given = consent_of(&o);
  r->n_gains = 0;
  r->weighed = 0;
  if (!r->after.all || surg__repair_covers(given, SURG__ALL_CONSENT)) return SURG_OK;
  if (r->search.worked[0] + r->search.worked[1] > GAIN_NODES) return SURG_ELIMIT;
  o.then = NULL;
  o.has_allow = true;
  const surg__hush hush = surg__hush_begin(r->ctx);
  surg_status s = weigh(r, model, &o, SURG__ALL_CONSENT, &most, &helps);
  const bool any = helps;
  for (size_t i = 0; i < GAINS - 1 && any && s == SURG_OK && r->weighed < WEIGHED_NODES; i++) {
    surg__consent c = tried[i];
    if (surg__repair_covers(given, c)) continue;
    if (given.most > c.most) c.most = given.most;
    c.interface |= given.interface;
    if (surg__repair_covers(c, SURG__ALL_CONSENT)) continue;
    s = weigh(r, model, &o, c, &one, &helps);
    if (s == SURG_OK && helps) r->gains[r->n_gains++] = one;
  }
  if (s == SURG_OK && any) {
    helps = true;
    for (size_t i = 0; i < r->n_gains; i++)
      helps = helps && most.unsupported < r->gains[i].unsupported;
    if (helps) r->gains[r->n_gains++] = most;
  }
  surg__hush_end(r->ctx, hush);
  return s;
}

surg_status surg_repair_gain_get(const surg_repair *r, size_t i, surg_repair_gain *out) {
  if (!r || !out) return SURG_EUSAGE;
  if (i >= r->n_gains) return SURG_ENOTFOUND;
  surg__struct_out(out, &r->gains[i], sizeof r->gains[i]);
  return SURG_OK;
}

/* --- assessment --- */

surg_status surg_repair_assess(const surg_model *model, const surg_target *target,
                               surg_assessment *out, surg_repair **found) {
  if (!model || !target || !out) return SURG_EUSAGE;
  surg_context *ctx = surg_model_context(model);
  if (found) *found = NULL;
  surg_repair *r = surg__calloc(ctx, 1, sizeof *r);
  if (!r || !surg_context_passes(ctx)) {
    surg__free(ctx, r);
    return surg__oom(ctx, NULL);
  }
  r->ctx = ctx;
  surg__buf_init(&r->changes, ctx);
  surg__verdict_search v = {0};
  const surg__hush hush = surg__hush_begin(ctx);
  const surg_status s = surg__verdict_find(&v, target, model);
  r->search = v.search;
  r->search.origin = NULL; /* it points into `v` */
  r->before = v.before;
  r->after = v.after;
  r->misread = v.after.misread;
  r->mended = v.mended;
  *out = v.kind;
  if (s != SURG_OK) {
    surg_repair_free(r);
    return surg__hush_fail(ctx, hush, s);
  }
  surg__hush_end(ctx, hush);
  if (found)
    *found = r;
  else
    surg_repair_free(r);
  return s;
}
