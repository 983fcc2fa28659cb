/* SPDX-License-Identifier: Apache-2.0 */
/* See verify.h. An input set on which the first model fails proves nothing: whole numbers are drawn
 * from ever smaller ranges until it runs, and otherwise the set is counted as not checked. */
#include "run/verify.h"

#include <stdio.h>

#include "base/diag.h"
#include "base/limits.h"
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
  bool open; /* some input has a dim whose length is chosen here */
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

/* One set: how inputs are filled, and how long open dims are. */
typedef struct set {
  surg__fill fill;
  int64_t size;
  uint64_t seed;
} set;

static surg_value *twin_of(const side *b, const surg_value *x, bool counts_agree, size_t i) {
  const char *name = surg_value_name(x);
  for (size_t k = 0; k < b->n_in; k++)
    if (strcmp(surg_value_name(surg_graph_input(b->g, k)), name) == 0)
      return surg_graph_input(b->g, k);
  surg_value *v = surg_graph_find_value(b->g, name);
  return v ? v : counts_agree ? surg_graph_input(b->g, i) : NULL;
}

/* Input i of the first model: what the second made a constant of it, or made up. */
static surg_status make_input(verify *v, surg__maker *maker, size_t i) {
  side *a = &v->sides[0], *b = &v->sides[1];
  const surg_value *x = surg_graph_input(a->g, i);
  const surg_value *twin = twin_of(b, x, a->n_in == b->n_in, i);
  const surg_tensor *t = twin ? surg_value_initializer(twin) : NULL;
  if (twin && !t) t = surg_value_constant(twin);
  if (t && strcmp(surg_value_name(twin), surg_value_name(x)) == 0)
    return surg__array_read(v->ctx, t, &a->in[i]);
  maker->also = twin && surg_value_is_input(twin) ? surg_value_declared_type(twin) : NULL;
  return surg__input_make(v->ctx, maker, surg_value_declared_type(x), &a->in[i]);
}

static surg_status make_inputs(verify *v, const set *how, int64_t below, char *why, size_t n) {
  side *a = &v->sides[0];
  surg__maker maker = {.fill = how->fill,
                       .state = how->seed * 1000003 + (uint64_t)how->size,
                       .below = below,
                       .huge = v->o->huge,
                       .size = how->size,
                       .dim_of = v->o->dim_of,
                       .user = v->o->user,
                       .most = SURG_LIMIT_MADE_UP};
  for (size_t i = 0; i < a->n_in; i++) {
    const surg_value *x = surg_graph_input(a->g, i);
    surg__array_drop(&a->in[i]);
    if (surg_value_is_initializer(x)) continue;
    const surg_status s = make_input(v, &maker, i);
    v->open |= maker.open;
    if (s == SURG_OK) continue;
    snprintf(why, n, "input %s cannot be made up", surg__q(v->ctx, surg_value_name(x)));
    return s;
  }
  return SURG_OK;
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
  surg__session session = {.max_bytes = v->o->max_bytes, .max_work = v->o->max_work};
  if (!v->o->no_random) session.seed = &seed;
  drop(s->out, s->n_out);
  const surg_status status = surg__session_run(&session, v->models[k], s->in, s->out);
  if (status == SURG_OK) return status;
  snprintf(why, n, "%s%s%s", session.at ? surg__locate_node(session.at) : "",
           session.at ? ": " : "", session.why ? session.why : surg_status_name(status));
  return status;
}

/* Output i bears a new name: other values, that outputs were exchanged for, have theirs. */
static bool renamed(const verify *v, size_t i) {
  const side *a = &v->sides[0], *b = &v->sides[1];
  return !surg_graph_find_value(b->g, surg_value_name(surg_graph_output(a->g, i))) &&
         !surg_graph_find_value(a->g, surg_value_name(surg_graph_output(b->g, i)));
}

static void compare(verify *v, const surg__tolerance *tolerance, size_t i) {
  side *a = &v->sides[0], *b = &v->sides[1];
  surg__verify_output *o = &v->report->outputs[i];
  const char *name = surg_value_name(o->value);
  size_t k = 0;
  surg__distance d;
  while (k < b->n_out && strcmp(surg_value_name(surg_graph_output(b->g, k)), name) != 0) k++;
  if (k == b->n_out && a->n_out == b->n_out && (!v->o->may_lose || renamed(v, i))) k = i;
  if (k == b->n_out && v->o->may_lose) return;
  if (k == b->n_out) {
    snprintf(v->report->failure, sizeof v->report->failure, "output %s is gone",
             surg__q(v->ctx, name));
    return;
  }
  if (!surg__value_compare(&b->out[k], &a->out[i], tolerance, &d)) o->differs++;
  if (d.max_abs > o->worst.max_abs) o->worst.max_abs = d.max_abs;
  if (d.max_rel > o->worst.max_rel) o->worst.max_rel = d.max_rel;
  o->worst.other_shape |= d.other_shape;
  if (d.differing > o->worst.differing) {
    o->worst.differing = d.differing;
    o->worst.first = d.first;
  }
  if (d.elements > o->worst.elements) o->worst.elements = d.elements;
}

/* What the first model says of the set: SURG_OK when its outputs are there. */
static surg_status run_first(verify *v, const set *how, char *why, size_t n) {
  static const int64_t below[] = {5, 2, 1};
  surg_status s = SURG_EINVALID;
  for (size_t i = 0; i < SURG_COUNT(below) && s == SURG_EINVALID; i++) {
    s = make_inputs(v, how, below[i], why, n);
    if (s != SURG_OK) return s == SURG_ENOMEM ? s : SURG_EUNSUPPORTED;
    s = run_side(v, 0, why, n);
  }
  return s;
}

/* SURG_ENOMEM alone ends it all; *first is what the first model said. */
static surg_status one_set(verify *v, const set *how, surg_status *first) {
  const bool adversarial = how->fill == SURG__FILL_ADVERSARIAL && v->o->adversarial;
  char why[250] = "";
  *first = run_first(v, how, why, sizeof why);
  if (*first == SURG_ENOMEM) return *first;
  if (*first != SURG_OK) {
    v->report->skipped++;
    if (!*v->report->skip_why)
      snprintf(v->report->skip_why, sizeof v->report->skip_why, "%.*s",
               (int)sizeof v->report->skip_why - 1, why);
    return SURG_OK;
  }
  hand_inputs(v);
  v->report->checked++;
  const surg_status s = run_side(v, 1, why, sizeof why);
  if (s == SURG_ENOMEM) return s;
  if (s != SURG_OK) {
    snprintf(v->report->failure, sizeof v->report->failure, "does not run: %s", why);
    return SURG_OK;
  }
  for (size_t i = 0; i < v->sides[0].n_out; i++)
    compare(v, adversarial ? v->o->adversarial : &v->o->tolerance, i);
  return SURG_OK;
}

/* --- all --- */

/* All seeds and fills at one size. *ran: the first model ran on one at least; *hopeless: no other
 * size will do. */
static surg_status one_size(verify *v, int64_t size, bool *ran, bool *hopeless) {
  static const surg__fill fills[] = {SURG__FILL_RANDOM, SURG__FILL_ADVERSARIAL};
  const unsigned runs = v->o->runs ? v->o->runs : 1;
  for (unsigned k = 0; k < runs; k++)
    for (size_t f = 0; f < SURG_COUNT(fills); f++) {
      const set how = {fills[f], size, v->o->seed + k};
      surg_status first;
      const surg_status s = one_set(v, &how, &first);
      if (s != SURG_OK) return s;
      *ran |= first == SURG_OK;
      *hopeless |= first == SURG_EUNSUPPORTED || first == SURG_ELIMIT;
    }
  return SURG_OK;
}

/* Two sizes of open dims, the first that the model runs at: pictures have to be larger than the
 * windows over them. Where no dim is open, these are two seeds. */
static surg_status all_sets(verify *v) {
  static const int64_t sizes[] = {2, 3, 1, 4, 8, 16, 32, 64, 128, 256};
  unsigned held = 0;
  for (size_t i = 0; i < SURG_COUNT(sizes) && held < 2 && (i < 2 || v->open); i++) {
    bool ran = false, hopeless = false;
    const surg_status s = one_size(v, sizes[i], &ran, &hopeless);
    if (s != SURG_OK || (hopeless && !ran)) return s;
    held += ran;
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
