/* SPDX-License-Identifier: Apache-2.0 */
/* See verify.h. An input set on which the first model fails proves nothing: whole numbers are drawn
 * from ever smaller ranges until it runs, and otherwise the set is counted as not checked. */
#include "run/verify.h"

#include <stdio.h>

#include "base/diag.h"
#include "eval/interpret.h"
#include "ir/ir.h"

typedef struct side {
  surg_graph *g;
  surg__array *in, *out;
  size_t n_in, n_out;
} side;

typedef struct verify {
  surg_context *ctx;
  const surg__verify_options *o;
  surg__verify_report *report;
  surg_model *models[2];
  side sides[2];
} verify;

static void drop(surg__array *a, size_t n) {
  for (size_t i = 0; a && i < n; i++) surg__array_drop(&a[i]);
}

static bool open_side(verify *v, int k) {
  side *s = &v->sides[k];
  s->g = surg_model_graph(v->models[k]);
  s->n_in = surg_graph_input_count(s->g);
  s->n_out = surg_graph_output_count(s->g);
  s->in = surg__calloc(v->ctx, s->n_in + 1, sizeof *s->in);
  s->out = surg__calloc(v->ctx, s->n_out + 1, sizeof *s->out);
  return s->in && s->out;
}

static void close_side(verify *v, int k) {
  side *s = &v->sides[k];
  drop(s->in, s->n_in);
  drop(s->out, s->n_out);
  surg__free(v->ctx, s->in);
  surg__free(v->ctx, s->out);
}

/* --- one set of inputs --- */

/* False: an input cannot be made up. */
static bool make_inputs(verify *v, surg__fill fill, int64_t size, uint64_t seed, int64_t below) {
  side *a = &v->sides[0];
  surg__maker maker = {.fill = fill, .state = seed, .below = below, .size = size,
                       .dim_of = v->o->dim_of, .user = v->o->user};
  for (size_t i = 0; i < a->n_in; i++) {
    const surg_value *x = surg_graph_input(a->g, i);
    surg__array_drop(&a->in[i]);
    if (surg_value_is_initializer(x)) continue;
    if (surg__input_make(v->ctx, &maker, surg_value_declared_type(x), &a->in[i]) == SURG_OK)
      continue;
    snprintf(v->report->skip_why, sizeof v->report->skip_why, "input %s cannot be made up",
             surg__q(v->ctx, surg_value_name(x)));
    return false;
  }
  return true;
}

/* The inputs of the second model, from those of the first: by name, else by place. */
static void hand_inputs(verify *v) {
  side *a = &v->sides[0], *b = &v->sides[1];
  drop(b->in, b->n_in);
  for (size_t i = 0; i < b->n_in; i++) {
    const char *name = surg_value_name(surg_graph_input(b->g, i));
    size_t k = 0;
    while (k < a->n_in && strcmp(surg_value_name(surg_graph_input(a->g, k)), name) != 0) k++;
    if (k == a->n_in && a->n_in == b->n_in) k = i;
    if (k < a->n_in && a->in[k].dtype != SURG_UNDEFINED) b->in[i] = surg__array_ref(&a->in[k]);
  }
}

static surg_status run_side(verify *v, int k, char *why, size_t n) {
  side *s = &v->sides[k];
  const uint64_t seed = v->o->seed;
  surg__session session = {.max_bytes = v->o->max_bytes, .max_work = v->o->max_work, .seed = &seed};
  drop(s->out, s->n_out);
  const surg_status status = surg__session_run(&session, v->models[k], s->in, s->out);
  if (status == SURG_OK) return status;
  snprintf(why, n, "%s%s%s", session.at ? surg__locate_node(session.at) : "",
           session.at ? ": " : "", session.why ? session.why : surg_status_name(status));
  return status;
}

static void compare(verify *v, size_t i) {
  side *a = &v->sides[0], *b = &v->sides[1];
  surg__verify_output *o = &v->report->outputs[i];
  const char *name = surg_value_name(o->value);
  size_t k = 0;
  surg__distance d;
  while (k < b->n_out && strcmp(surg_value_name(surg_graph_output(b->g, k)), name) != 0) k++;
  if (k == b->n_out && a->n_out == b->n_out) k = i;
  if (k == b->n_out) {
    snprintf(v->report->failure, sizeof v->report->failure, "output %s is gone",
             surg__q(v->ctx, name));
    return;
  }
  if (!surg__value_compare(&b->out[k], &a->out[i], &v->o->tolerance, &d)) o->differs++;
  if (d.max_abs > o->worst.max_abs) o->worst.max_abs = d.max_abs;
  if (d.max_rel > o->worst.max_rel) o->worst.max_rel = d.max_rel;
  o->worst.other_shape |= d.other_shape;
  if (d.differing > o->worst.differing) {
    o->worst.differing = d.differing;
    o->worst.first = d.first;
  }
  if (d.elements > o->worst.elements) o->worst.elements = d.elements;
}

static surg_status one_set(verify *v, surg__fill fill, int64_t size, uint64_t seed) {
  static const int64_t below[] = {5, 2, 1};
  surg_status s = SURG_EINVALID;
  for (size_t i = 0; i < SURG_COUNT(below) && s == SURG_EINVALID; i++) {
    if (!make_inputs(v, fill, size, seed, below[i])) break;
    s = run_side(v, 0, v->report->skip_why, sizeof v->report->skip_why);
  }
  if (s == SURG_ENOMEM) return s;
  if (s != SURG_OK) {
    v->report->skipped++;
    return SURG_OK;
  }
  hand_inputs(v);
  char why[250];
  v->report->checked++;
  s = run_side(v, 1, why, sizeof why);
  if (s == SURG_ENOMEM) return s;
  if (s != SURG_OK) {
    snprintf(v->report->failure, sizeof v->report->failure, "does not run: %s", why);
    return SURG_OK;
  }
  for (size_t i = 0; i < v->sides[0].n_out; i++) compare(v, i);
  return SURG_OK;
}

/* --- all --- */

static surg_status all_sets(verify *v) {
  static const surg__fill fills[] = {SURG__FILL_RANDOM, SURG__FILL_ADVERSARIAL};
  const unsigned runs = v->o->runs ? v->o->runs : 1;
  for (unsigned k = 0; k < runs; k++)
    for (int64_t size = 2; size <= 3; size++)
      for (size_t f = 0; f < SURG_COUNT(fills); f++) {
        const surg_status s = one_set(v, fills[f], size, v->o->seed + k);
        if (s != SURG_OK) return s;
      }
  return SURG_OK;
}

surg_status surg__verify(surg_model *a, surg_model *b, const surg__verify_options *options,
                         surg__verify_report *report) {
  verify v = {.ctx = surg_model_context(a), .o = options, .report = report, .models = {a, b}};
  *report = (surg__verify_report){.ctx = v.ctx};
  surg_status s = SURG_ENOMEM;
  if (open_side(&v, 0) && open_side(&v, 1)) {
    report->n_outputs = v.sides[0].n_out;
    report->outputs = surg__calloc(v.ctx, report->n_outputs + 1, sizeof *report->outputs);
    for (size_t i = 0; report->outputs && i < report->n_outputs; i++)
      report->outputs[i].value = surg_graph_output(v.sides[0].g, i);
    if (report->outputs) s = all_sets(&v);
  }
  close_side(&v, 0);
  close_side(&v, 1);
  report->same = s == SURG_OK && report->checked > 0 && !*report->failure;
  for (size_t i = 0; report->outputs && i < report->n_outputs; i++)
    report->same = report->same && !report->outputs[i].differs;
  return s;
}

void surg__verify_free(surg__verify_report *report) {
  if (report->ctx) surg__free(report->ctx, report->outputs);
  report->outputs = NULL;
}
