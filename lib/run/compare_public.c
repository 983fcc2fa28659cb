/* SPDX-License-Identifier: Apache-2.0 */
/* Comparisons as public objects (onnxsurg/compare.h). */
#include <onnxsurg/compare.h>
#include <stdio.h>

#include "base/diag.h"
#include "base/sizes.h"
#include "ir/ir.h"
#include "run/public.h"
#include "run/renames.h"
#include "run/verify.h"

#define COMPARE_RUNS 2 /* seeds for each kind of input, where the caller sets none */

struct surg_compare_report {
  surg_context *ctx;
  bool layers;
  surg__verify_report r;
};

surg__tolerance surg__tolerance_of(const surg_tolerance *t, surg__tolerance fallback) {
  surg_tolerance all;
  if (!t) return fallback;
  surg__struct_in(&all, sizeof all, t);
  return (surg__tolerance){
      .relative = all.relative, .absolute = all.absolute, .signs = all.signs, .ulp = all.ulp};
}

static surg_distance distance_of(const surg__distance *d, bool same) {
  surg_distance out = {.size = sizeof out,
                       .same = same,
                       .other_shape = d->other_shape,
                       .elements = d->elements,
                       .differing = d->differing,
                       .first = d->first,
                       .max_abs = d->max_abs,
                       .max_rel = d->max_rel,
                       .max_ulp = d->max_ulp,
                       .cosine = d->cosine};
  _Static_assert(sizeof out.why == sizeof d->why, "the whole reason fits");
  memcpy(out.why, d->why, sizeof out.why);
  return out;
}

surg_status surg_array_compare(const surg_array *got, const surg_array *want,
                               const surg_tolerance *tolerance, surg_distance *out) {
  if (!got || !want || !out) return SURG_EUSAGE;
  const surg__tolerance exact = {0}, t = surg__tolerance_of(tolerance, exact);
  surg__distance d;
  const bool same = surg__value_compare(&got->a, &want->a, &t, &d);
  const surg_distance all = distance_of(&d, same);
  surg__struct_out(out, &all, sizeof all);
  return SURG_OK;
}

/* --- models --- */

typedef struct sizes {
  const surg_size *items;
  size_t n;
} sizes;

static bool dim_of(void *user, const char *symbol, int64_t *out) {
  const sizes *s = user;
  return surg__size_of(s->items, s->n, symbol, out);
}

static bool is_valid(const surg_compare_options *o, surg_model *a) {
  for (size_t i = 0; i < o->n_sizes; i++) {
    const surg_size *s = o->sizes ? surg__size_at(o->sizes, i) : NULL;
    if (!s || !s->name || s->value < 0) return false;
  }
  for (int k = 0; k < 2; k++)
    if (o->engines[k] && o->engines[k]->ctx != surg_model_context(a)) return false;
  if (o->given && o->given->m != a) return false;
  return !o->has_fill || (o->fill >= SURG_FILL_RANDOM && o->fill <= SURG_FILL_ADVERSARIAL);
}

static surg_status compare(surg_model *a, surg_model *b, const surg_compare_options *o,
                           surg_compare_report *r, const surg__renames *renames) {
  const surg__tolerance usual = {.relative = 1e-3, .absolute = 1e-5};
  const surg__engine own = surg__engine_default();
  const surg__fill fill = (surg__fill)o->fill;
  sizes given = {o->sizes, o->n_sizes};
  surg__verify_options v = {.runs = o->runs ? o->runs : COMPARE_RUNS,
                            .seed = o->seed,
                            .tolerance = surg__tolerance_of(o->tolerance, usual),
                            .mixed = true,
                            .layers = o->layers,
                            .ties = o->ties,
                            .fill = &fill,
                            .fills = o->has_fill,
                            .dim_of = dim_of,
                            .user = &given,
                            .in = o->given ? o->given->in : NULL,
                            .given = o->given ? o->given->given : NULL,
                            .renamed = o->log ? surg__renamed : NULL,
                            .renames = renames};
  for (int k = 0; k < 2; k++) v.engines[k] = o->engines[k] ? &o->engines[k]->e : &own;
  return surg__verify(a, b, &v, &r->r);
}

surg_status surg_compare(surg_model *a, surg_model *b, const surg_compare_options *options,
                         surg_compare_report **out) {
  surg_compare_options o;
  if (out) *out = NULL;
  if (!a || !b || !out || surg_model_context(a) != surg_model_context(b)) return SURG_EUSAGE;
  surg__struct_in(&o, sizeof o, options);
  if (!is_valid(&o, a)) return SURG_EUSAGE;
  surg_context *ctx = surg_model_context(a);
  surg__renames renames = {0};
  surg_compare_report *r = surg__calloc(ctx, 1, sizeof *r);
  surg_status s = r ? SURG_OK : surg__oom(ctx, NULL);
  if (r) {
    r->ctx = ctx;
    r->layers = o.layers;
  }
  if (s == SURG_OK && o.log) s = surg__renames_load(ctx, o.log, &renames);
  if (s == SURG_OK) {
    s = compare(a, b, &o, r, &renames);
    if (s != SURG_OK && !surg_context_error(ctx))
      surg__error(ctx, s, NULL, "%s", surg_status_name(s));
  }
  surg__renames_free(&renames);
  if (s == SURG_OK)
    *out = r;
  else
    surg_compare_free(r);
  return s;
}

surg_status surg_compare_get(const surg_compare_report *r, surg_compare_summary *out) {
  if (!r || !out) return SURG_EUSAGE;
  const surg_compare_summary all = {.size = sizeof all,
                                    .same = r->r.same,
                                    .informative = r->r.informative,
                                    .redrawn = r->r.redrawn,
                                    .open_dims = r->r.open_dims,
                                    .checked = r->r.checked,
                                    .skipped = r->r.skipped,
                                    .outputs = r->r.n_outputs,
                                    .skip_why = r->r.skip_why,
                                    .failure = r->r.failure,
                                    .computed = r->r.computed
                                                    ? surg_value_name(r->r.computed)
                                                    : NULL};
  surg__struct_out(out, &all, sizeof all);
  return SURG_OK;
}

surg_status surg_compare_output(const surg_compare_report *r, size_t i, surg_compare_result *out) {
  if (!r || !out) return SURG_EUSAGE;
  if (i >= r->r.n_outputs) return SURG_ENOTFOUND;
  const surg__verify_output *o = &r->r.outputs[i];
  const surg_compare_result all = {.size = sizeof all,
                                   .name = surg_value_name(o->value),
                                   .differs = o->differs,
                                   .tied = o->tied,
                                   .comparable = !o->random,
                                   .compared = o->compared,
                                   .informative = surg__verify_informs(o),
                                   .any = o->any,
                                   .number = o->number,
                                   .first = o->first,
                                   .worst = distance_of(&o->worst, !o->differs)};
  surg__struct_out(out, &all, sizeof all);
  return SURG_OK;
}

surg_status surg_compare_first(const surg_compare_report *r, surg_compare_layer *out) {
  if (!r || !out) return SURG_EUSAGE;
  if (!r->layers || r->r.same || !r->r.checked || *r->r.failure) return SURG_ENOTFOUND;
  const surg__verify_layer *l = &r->r.layer;
  const surg_compare_layer all = {.size = sizeof all,
                                  .looked = l->looked,
                                  .found = l->found,
                                  .matched = l->matched,
                                  .equal = l->equal,
                                  .name = l->name,
                                  .at = {l->at[0], l->at[1]},
                                  .distance = distance_of(&l->distance, !l->found)};
  surg__struct_out(out, &all, sizeof all);
  return SURG_OK;
}

void surg_compare_free(surg_compare_report *r) {
  if (!r) return;
  surg__verify_free(&r->r);
  surg__free(r->ctx, r);
}
