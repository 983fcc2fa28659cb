/* SPDX-License-Identifier: Apache-2.0 */
/* Bounds of values by runs of the built-in evaluator, where no range is proven: on inputs that the
 * user gives, else on drawn ones. Values of the main graph are measured. A measured bound is no
 * proof: a value stays if it comes within HEADROOM of the largest number of the type. */
#include <math.h>
#include <onnxsurg/evaluate.h>
#include <stdio.h>
#include <string.h>

#include "precision.h"

#define HEADROOM 4
#define RUN_WORK (UINT64_C(1) << 32)     /* operations of a run on drawn inputs */
#define RUN_BYTES (UINT64_C(1) << 28)    /* bytes of the results of a node */
#define RUN_TURNS (UINT64_C(1) << 16)    /* iterations of loops */
#define RUN_ELEMENTS (UINT64_C(1) << 26) /* elements of all values of known size */
#define RUN_WEIGHTS (UINT64_C(1) << 27)  /* bytes of weights */
#define SEEDS_MOST 16

typedef struct runs {
  surg_model *m;
  surg_engine *engine;
  surg_session *session;
  surg_inputs *inputs;
  surg_array **out;
  size_t n_out;
} runs;

static bool adds(uint64_t *total, uint64_t by, uint64_t most) {
  *total = by > most || *total > most - by ? most + 1 : *total + by;
  return *total <= most;
}

/* Whether a run on drawn inputs, which the user did not ask for, would be too expensive. */
static bool too_large(const prec *c) {
  const surg_graph *g = surg_model_graph(c->m);
  uint64_t elements = 0, weights = 0, count;
  for (surg_value *v = surg_graph_next_value(g, NULL); v; v = surg_graph_next_value(g, v)) {
    const surg_tensor *t = surg_value_initializer(v);
    if (t && !adds(&weights, surg_tensor_bytes(t), RUN_WEIGHTS)) return true;
    if (!t && surg_type_static(surg_value_type(v), &count) && !adds(&elements, count, RUN_ELEMENTS))
      return true;
  }
  return false;
}

static void release(runs *r) {
  for (size_t i = 0; r->out && i < r->n_out; i++) surg_array_free(r->out[i]);
  surg_session_free(r->session);
  surg_inputs_free(r->inputs);
  surg_engine_free(r->engine);
  surg_model_free(r->m);
}

static void meet(prec *c, const surg_value *v, const surg_array *a) {
  prec_value *x = prec_find(c, v);
  /* What follows from a clamped constant would be measured as it was before. */
  if (!x || x->bounded || x->clamped || x->dtype == c->kind->to ||
      surg_array_kind(a) != SURG_TYPE_TENSOR)
    return;
  double most = 0;
  for (uint64_t i = 0; i < surg_array_count(a); i++) {
    const double size = fabs(surg_array_real(a, i));
    if (size > most) most = size;
  }
  if (!x->measured || most > x->bound) x->bound = most;
  x->measured = true;
}

static void collect(prec *c, runs *r) {
  surg_graph *g = surg_model_graph(c->m), *all = surg_model_graph(r->m);
  for (size_t i = 0; i < surg_graph_input_count(g); i++) {
    surg_array *a = NULL;
    if (surg_inputs_get(r->inputs, i, &a) == SURG_OK) meet(c, surg_graph_input(g, i), a);
    surg_array_free(a);
  }
  for (size_t i = 0; i < r->n_out; i++) {
    const char *name = surg_value_name(surg_graph_output(all, i));
    meet(c, surg_graph_find_value(g, name), r->out[i]);
    surg_array_free(r->out[i]);
    r->out[i] = NULL;
  }
}

/* One run; false: it is not possible, and c->unmeasured is why. */
static bool run_once(prec *c, runs *r, const char *given, uint64_t seed) {
  const surg_inputs_options how = {.size = sizeof how, .fill = SURG_FILL_RANDOM, .seed = seed};
  surg_status s = surg_inputs_new(r->m, &how, &r->inputs);
  if (s == SURG_OK && given) s = surg_inputs_read_all(r->inputs, given);
  if (s != SURG_OK) {
    c->failed = true; /* reported */
    return false;
  }
  s = surg_session_run(r->session, r->inputs, r->out, r->n_out);
  if (s == SURG_OK)
    collect(c, r);
  else
    snprintf(c->unmeasured, sizeof c->unmeasured, "%s", surg_session_why(r->session));
  surg_inputs_free(r->inputs);
  r->inputs = NULL;
  return s == SURG_OK;
}

static surg_status prepare(prec *c, runs *r, bool given) {
  surg_engine_options how = {.size = sizeof how};
  if (!given) {
    how.max_work = RUN_WORK;
    how.max_bytes = RUN_BYTES;
    how.max_turns = RUN_TURNS;
  }
  surg_status s = surg_model_all_outputs(c->m, &r->m);
  if (s == SURG_OK) s = surg_engine_new(surg_pass_context(c->p), &how, &r->engine);
  if (s == SURG_OK) s = surg_session_new(r->engine, r->m, &r->session);
  if (s != SURG_OK) return s;
  r->n_out = surg_graph_output_count(surg_model_graph(r->m));
  r->out = surg_pass_alloc(c->p, (r->n_out + 1) * sizeof *r->out);
  return r->out ? SURG_OK : SURG_ENOMEM;
}

void prec_measure(prec *c) {
  const char *given = surg_pass_string(c->p, "inputs");
  int64_t draws = given ? 1 : surg_pass_int(c->p, "draws");
  runs r = {0};
  if (draws <= 0) return;
  if (draws > SEEDS_MOST) draws = SEEDS_MOST;
  if (!given && too_large(c)) {
    snprintf(c->unmeasured, sizeof c->unmeasured, "the model is too large for drawn inputs");
    return;
  }
  const surg_status s = prepare(c, &r, given != NULL);
  if (s == SURG_ENOMEM)
    c->failed = true;
  else if (s != SURG_OK)
    snprintf(c->unmeasured, sizeof c->unmeasured, "the evaluator cannot run the model");
  else
    for (int64_t i = 0; i < draws && run_once(c, &r, given, (uint64_t)i + 1); i++) {
    }
  release(&r);
  c->given = given != NULL;
}

void prec_pin_measured(prec *c) {
  for (uint32_t i = 0; i < c->n_values; i++) {
    prec_value *x = &c->values[i];
    if (x->measured && !(x->bound <= c->kind->top / HEADROOM)) prec_pin_value(c, x, PREC_MEASURED);
  }
}
