/* SPDX-License-Identifier: Apache-2.0 */
/* Differences of values between the original model and its conversion, by runs of the built-in
 * evaluator on the same inputs. Values are compared by name: a converted value has its name in the
 * new type, or as the result of the Cast after it. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "precision.h"

typedef struct place {
  const char *name;
  size_t index; /* of an output */
} place;

static int by_name(const void *a, const void *b) {
  return strcmp(((const place *)a)->name, ((const place *)b)->name);
}

/* The outputs of a model with all values as outputs, sorted by name. NULL: out of memory. */
static place *places_of(prec *c, const samples_runs *r) {
  place *all = surg_pass_alloc(c->p, (r->n_out + 1) * sizeof *all);
  for (size_t i = 0; all && i < r->n_out; i++)
    all[i] = (place){surg_value_name(surg_graph_output(surg_model_graph(r->m), i)), i};
  if (all) qsort(all, r->n_out, sizeof *all, by_name);
  return all;
}

/* Whether a value has elements that differ by numbers. */
static bool has_numbers(const surg_array *a) {
  const int dtype = surg_array_dtype(a);
  return surg_array_kind(a) == SURG_TYPE_TENSOR && dtype != SURG_STRING &&
         dtype != SURG_COMPLEX64 && dtype != SURG_COMPLEX128;
}

static void compare(prec_difference *d, const surg_array *a, const surg_array *b) {
  const uint64_t n = surg_array_count(a);
  if (!has_numbers(a)) return;
  d->met = true;
  if (!has_numbers(b) || surg_array_count(b) != n) {
    d->wrong = true;
    return;
  }
  for (uint64_t i = 0; i < n; i++) {
    const double x = surg_array_real(a, i), y = surg_array_real(b, i);
    if (isfinite(x) && isfinite(y)) {
      d->signal += x * x;
      d->noise += (x - y) * (x - y);
    } else if (isnan(x) ? !isnan(y) : x < y || x > y || isnan(y)) {
      d->wrong = true;
    }
  }
}

double prec_error(const prec_difference *d) {
  if (d->wrong) return HUGE_VAL;
  if (!(d->noise > 0)) return 0;
  return d->signal > 0 ? sqrt(d->noise / d->signal) : HUGE_VAL;
}

double prec_worst_output(const prec *c) {
  double worst = 0;
  for (size_t i = 0; i < surg_graph_output_count(surg_model_graph(c->m)); i++)
    worst = fmax(worst, prec_error(&c->outputs[i]));
  return worst;
}

static const surg_array *array_of(const samples_runs *r, const place *places, const char *name) {
  const place key = {.name = name};
  const place *found = bsearch(&key, places, r->n_out, sizeof *places, by_name);
  return found ? r->out[found->index] : NULL;
}

/* Compares the results of one sample. `at`: the outputs of both models by name. */
static void compare_all(prec *c, const samples_runs *after, const place *old, const place *new) {
  surg_graph *g = surg_model_graph(c->m);
  for (size_t i = 0; i < c->before.n_out; i++) {
    const char *name = surg_value_name(surg_graph_output(surg_model_graph(c->original), i));
    prec_value *x = prec_find(c, surg_graph_find_value(g, name));
    const surg_array *b = x ? array_of(after, new, name) : NULL;
    if (b) compare(&x->error, c->before.out[i], b);
  }
  for (size_t i = 0; i < surg_graph_output_count(g); i++) {
    const char *name = surg_value_name(surg_graph_output(g, i));
    const surg_array *a = array_of(&c->before, old, name), *b = array_of(after, new, name);
    if (a && b) compare(&c->outputs[i], a, b);
  }
}

static void forget(prec *c) {
  const size_t outputs = surg_graph_output_count(surg_model_graph(c->m));
  for (uint32_t i = 0; i < c->n_values; i++) c->values[i].error = (prec_difference){0};
  memset(c->outputs, 0, outputs * sizeof *c->outputs);
  c->incomparable[0] = 0;
}

/* An output that is not compared could have any error. */
static void find_unmet(prec *c) {
  const surg_graph *g = surg_model_graph(c->m);
  for (size_t i = 0; i < surg_graph_output_count(g) && !c->incomparable[0]; i++)
    if (!c->outputs[i].met)
      snprintf(c->incomparable, sizeof c->incomparable,
               "output '%.80s' is not a tensor of numbers, or not computed",
               surg_value_name(surg_graph_output(g, i)));
}

/* Why runs end with a status. False: out of memory. */
static bool explain(prec *c, surg_status s, const samples_runs *r) {
  if (s == SURG_ENOMEM) return false;
  const char *why = surg_session_why(r->session);
  if (s != SURG_OK)
    snprintf(c->incomparable, sizeof c->incomparable, "%s",
             why[0] ? why : "the evaluator cannot run the converted model");
  return true;
}

bool prec_compare(prec *c, const surg_model *after) {
  const surg_engine_options how = prec_engine(c);
  const size_t outputs = surg_graph_output_count(surg_model_graph(c->m));
  surg_model *all = NULL;
  samples_runs r = {0};
  if (!c->outputs) c->outputs = surg_pass_alloc(c->p, (outputs + 1) * sizeof *c->outputs);
  if (!c->outputs) return false;
  forget(c);
  surg_status s = surg_model_all_outputs(after, &all);
  if (s == SURG_OK) s = samples_open(c->p, all, &how, &r);
  const place *old = s == SURG_OK ? places_of(c, &c->before) : NULL;
  const place *new = old ? places_of(c, &r) : NULL;
  if (s == SURG_OK && !new) s = SURG_ENOMEM;
  for (uint64_t i = 0; s == SURG_OK && i < c->samples; i++) {
    /* The results of a single sample are those of prec_measure. */
    if (c->samples > 1) s = samples_run(c->p, &c->before, i, NULL);
    if (s == SURG_OK) s = samples_run(c->p, &r, i, NULL);
    if (s == SURG_OK) compare_all(c, &r, old, new);
  }
  const bool ok = explain(c, s, &r);
  if (ok) find_unmet(c);
  samples_close(&r);
  surg_model_free(all);
  return ok;
}
