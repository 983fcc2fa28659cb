/* SPDX-License-Identifier: Apache-2.0 */
/* Bounds of values by runs of the built-in evaluator, where no range is proven: on inputs that the
 * user gives, else on drawn ones; of subgraphs and functions, over all iterations and calls. A
 * measured bound is no proof: a value stays if it comes within HEADROOM of the largest number of
 * the type, and if all of its elements are below the smallest number with all digits, or some, and
 * an operator magnifies their errors. */
#include <math.h>
#include <onnxsurg/ops.h>
#include <stdio.h>
#include <stdlib.h>

#include "../util/magnify.h"
#include "precision.h"

#define HEADROOM 4
#define PHASE_ERROR (1.0 / 256)          /* of angles and operands of remainders */
#define CANCELLED 64                     /* the least part of a result that errors may be */
#define RUN_WORK (UINT64_C(1) << 32)     /* operations of a run on drawn inputs */
#define RUN_BYTES (UINT64_C(1) << 28)    /* bytes of the results of a node */
#define RUN_TURNS (UINT64_C(1) << 16)    /* iterations of loops */
#define RUN_ELEMENTS (UINT64_C(1) << 26) /* elements of all values of known size */
#define RUN_WEIGHTS (UINT64_C(1) << 27)  /* bytes of weights */

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

/* The sizes of elements: the largest, and the smallest other than 0. */
typedef struct sizes {
  double most, least;
} sizes;

static void add_sizes(sizes *s, const surg_array *a) {
  for (uint64_t i = 0; i < surg_array_count(a); i++) {
    const double size = fabs(surg_array_real(a, i));
    if (size > s->most) s->most = size;
    if (size > 0 && !(s->least > 0 && size >= s->least)) s->least = size;
  }
}

/* Whether a measurement of x counts: what follows from a clamped constant would be measured as it
 * was before. */
static bool measurable(const prec *c, const prec_value *x) {
  return x && !x->clamped && !prec_holds(c, x);
}

static void merge(prec_value *x, const sizes *s) {
  if (s->least > 0 && !(x->least > 0 && s->least >= x->least)) x->least = s->least;
  if (s->most > x->most) x->most = s->most;
  if (x->bounded) return;
  if (!x->measured || s->most > x->bound) x->bound = s->most;
  x->measured = true;
}

static void meet(prec *c, const surg_value *v, const surg_array *a) {
  prec_value *x = prec_find(c, v);
  sizes s = {0};
  if (!measurable(c, x) || surg_array_kind(a) != SURG_TYPE_TENSOR) return;
  add_sizes(&s, a);
  merge(x, &s);
}

/* --- values of subgraphs and functions --- */

/* A value of the model that runs, which is a copy. */
typedef struct inner_value {
  const surg_value *v;
  prec_value *x;
  sizes size; /* in the present run */
  bool met;
} inner_value;

typedef struct inner_values {
  inner_value *of; /* sorted by handle */
  size_t n;
  const surg_session *session;
  uint64_t run; /* of the session, of which values were taken */
} inner_values;

static int by_handle(const void *a, const void *b) {
  const uintptr_t x = (uintptr_t)((const inner_value *)a)->v;
  const uintptr_t y = (uintptr_t)((const inner_value *)b)->v;
  return x < y ? -1 : x > y;
}

/* Pairs the values of all graphs but the main one with those of the copy. False: out of memory. */
static bool pair_inner(prec *c, inner_values *in) {
  surg_graph *g = surg_model_next_graph(c->m, NULL);
  surg_graph *copy = surg_model_next_graph(c->original, NULL);
  in->of = surg_pass_alloc(c->p, ((size_t)c->n_values + 1) * sizeof *in->of);
  if (!in->of) return false;
  while (g && copy) {
    g = surg_model_next_graph(c->m, g);
    copy = surg_model_next_graph(c->original, copy);
    for (surg_value *v = NULL; g && copy && (v = surg_graph_next_value(g, v));) {
      prec_value *x = prec_find(c, v);
      const surg_value *w =
          measurable(c, x) ? surg_graph_find_value(copy, surg_value_name(v)) : NULL;
      if (w && x->made != PREC_NONE) in->of[in->n++] = (inner_value){.v = w, .x = x};
    }
  }
  qsort(in->of, in->n, sizeof *in->of, by_handle);
  return true;
}

static void take(void *user, const surg_value *v, const surg_array *a) {
  inner_values *in = user;
  const inner_value key = {.v = v};
  inner_value *found = v && in->n ? bsearch(&key, in->of, in->n, sizeof key, by_handle) : NULL;
  const uint64_t run = surg_session_runs(in->session);
  /* Values of a run on drawn inputs that the model rejected do not count. */
  for (size_t i = 0; run != in->run && i < in->n; i++) {
    in->of[i].size = (sizes){0};
    in->of[i].met = false;
  }
  in->run = run;
  if (!found || surg_array_kind(a) != SURG_TYPE_TENSOR) return;
  add_sizes(&found->size, a);
  found->met = true;
}

static void collect_inner(inner_values *in) {
  for (size_t i = 0; i < in->n; i++) {
    if (in->of[i].met) merge(in->of[i].x, &in->of[i].size);
    in->of[i].met = false;
    in->of[i].size = (sizes){0};
  }
}

/* --- runs --- */

static void collect(prec *c, const samples_runs *r, const surg_inputs *in) {
  surg_graph *g = surg_model_graph(c->m), *all = surg_model_graph(r->m);
  for (size_t i = 0; i < surg_graph_input_count(g); i++) {
    surg_array *a = NULL;
    if (surg_inputs_get(in, i, &a) == SURG_OK) meet(c, surg_graph_input(g, i), a);
    surg_array_free(a);
  }
  for (size_t i = 0; i < r->n_out; i++) {
    const char *name = surg_value_name(surg_graph_output(all, i));
    meet(c, surg_graph_find_value(g, name), r->out[i]);
  }
}

surg_engine_options prec_engine(const prec *c) {
  surg_engine_options how = {.size = sizeof how};
  if (!c->given) {
    how.max_work = RUN_WORK;
    how.max_bytes = RUN_BYTES;
    how.max_turns = RUN_TURNS;
  }
  return how;
}

/* Runs all samples. The results of the last one stay in c->before. */
static void run_all(prec *c) {
  const surg_engine_options how = prec_engine(c);
  inner_values inner = {0};
  surg_status s = surg_model_all_outputs(c->m, &c->original);
  if (s == SURG_OK && !pair_inner(c, &inner)) s = SURG_ENOMEM;
  if (s == SURG_OK) s = samples_open(c->p, c->original, &how, &c->before);
  if (s != SURG_OK) {
    c->failed = s == SURG_ENOMEM;
    snprintf(c->unmeasured, sizeof c->unmeasured, "the evaluator cannot run the model");
    return;
  }
  inner.session = c->before.session;
  surg_session_observe(c->before.session, inner.n ? take : NULL, &inner);
  for (;; c->samples++) {
    surg_inputs *in = NULL;
    s = samples_run(c->p, &c->before, c->samples, &in);
    if (s == SURG_OK) {
      collect(c, &c->before, in);
      collect_inner(&inner);
    }
    surg_inputs_free(in);
    if (s != SURG_OK) break;
  }
  surg_session_observe(c->before.session, NULL, NULL);
  if (s == SURG_ENOTFOUND) return;
  if (surg_session_why(c->before.session)[0])
    snprintf(c->unmeasured, sizeof c->unmeasured, "%s", surg_session_why(c->before.session));
  else
    c->failed = true; /* reported */
}

void prec_measure(prec *c) {
  c->given = samples_given(c->p);
  if (!c->given && surg_pass_int(c->p, "draws") <= 0) {
    c->undrawn = true;
    return;
  }
  if (!c->given && too_large(c))
    snprintf(c->unmeasured, sizeof c->unmeasured, "the model is too large for drawn inputs");
  else
    run_all(c);
}

static bool is_fine(const prec *c, const prec_value *x) {
  return x && x->least > 0 && x->least < c->limits.normal;
}

/* Pins values with small elements from which the one at the top of the stack is computed, back to
 * products of matrices that have none: before these, errors are relative to sums. */
static void pin_fine(prec *c, prec_value **stack, bool *met) {
  for (size_t depth = 1; depth > 0;) {
    const prec_value *x = stack[--depth];
    const surg_node *by = prec_producer(c, x);
    const bool fine = is_fine(c, x);
    if (x->made != PREC_NONE && fine) prec_pin(c, x->made, PREC_FINE);
    if (by && surg_schema_narrow(surg_node_schema(by)) == SURG_NARROW_GAIN && !fine) continue;
    prec_step at = {0};
    for (prec_value *y; (y = prec_next_source(c, x, &at));) {
      if (met[y - c->values]) continue;
      met[y - c->values] = true; /* at most once a value: the stack has room */
      stack[depth++] = y;
    }
  }
}

/* Pins operands of logarithms and divisions that have elements without all digits in the type. */
static void pin_magnified(prec *c) {
  prec_value **stack = surg_pass_alloc(c->p, ((size_t)c->n_values + 1) * sizeof *stack);
  bool *met = surg_pass_alloc(c->p, (size_t)c->n_values + 1);
  if (!stack || !met) c->failed = true;
  for (uint32_t i = 0; i < c->n_values && !c->failed; i++) {
    prec_value *x = &c->values[i];
    bool any = false;
    for (uint32_t r = x->reads; r != PREC_NONE && !any; r = c->reads[r].next)
      any = c->reads[r].n && magnifies(c->reads[r].n, c->reads[r].index);
    if (!any || met[i] || !is_fine(c, x)) continue;
    met[i] = true;
    stack[0] = x;
    pin_fine(c, stack, met);
  }
}

/* --- phases --- */

/* Whether x has enough digits in the new type for a phase in which its error is `turns` times, by
 * proof, or measured; not where drawn inputs do not show it: sizes are small there, and positions.
 */
static bool is_turn(const prec *c, const phases *f, const prec_value *x, double turns) {
  if (!x->bounded && (!x->measured || table_has(&f->counted, x->v))) return false;
  return x->bound * c->limits.unit * turns <= PHASE_ERROR;
}

/* How often the error of input i of n is in the result: what it is multiplied by, if that is
 * constant. */
static double factor_of(const prec *c, const surg_node *n, size_t i) {
  const int op = surg_node_op(n);
  const prec_value *k = prec_find(c, surg_node_input(n, 1 - (i & 1)));
  if (op == SURG_OP_Mul && k && k->made == PREC_NONE && k->bounded && k->bound > 0) return k->bound;
  if (op == SURG_OP_Div && i == 0 && k && k->made == PREC_NONE && k->bounded && k->bound > 0 &&
      surg_tensor_count(surg_value_constant(k->v)) == 1)
    return 1 / k->bound;
  return 1;
}

/* Whether the products that make phases stay, too: of counts, or where large results are seen. */
static bool product_stays(const phases *f, const prec_value *x, const surg_node *by) {
  return x->bounded || x->measured || table_has(&f->products, by);
}

/* Pins x, whose error is `turns` times in a phase, and what it is computed from, back to products
 * of matrices, and through these to counts. */
static void pin_phase(prec *c, const phases *f, prec_value *x, double turns, prec_why why,
                      prec_value **stack) {
  size_t depth = 0;
  stack[depth++] = x;
  x->turns = turns;
  while (depth > 0) {
    x = stack[--depth];
    if (x->made == PREC_NONE) continue;
    const surg_node *by = prec_producer(c, x);
    const bool product = by && surg_schema_narrow(surg_node_schema(by)) == SURG_NARROW_GAIN;
    if (!product || product_stays(f, x, by)) prec_pin(c, x->made, why);
    prec_step at = {0};
    for (prec_value *y; (y = prec_next_source(c, x, &at));) {
      turns = y->made != PREC_NONE ? x->turns : 0;
      if (by) turns *= factor_of(c, by, at.index - 1);
      if (!(turns > 0) || y->turns > 0 || is_turn(c, f, y, turns)) continue;
      if (product && !table_has(&f->counted, y->v)) continue;
      y->turns = turns; /* at most once a value: the stack has room */
      stack[depth++] = y;
    }
  }
}

/* How large the error of a reading that needs digits that the type does not have becomes; 0: it
 * needs none. The period of a remainder may be of any size, that of an angle is known. */
static double turns_of(const prec *c, const phases *f, const prec_value *x, const prec_read *r) {
  const double turns = r->n ? phases_turns(r->n, r->index) : 0;
  if (turns >= HUGE_VAL) return 1;
  return turns > 0 && !is_turn(c, f, x, turns) ? turns : 0;
}

/* Pins a sum of measured values that are so much larger than it that their errors in the new type
 * are too large a part of it, with what they are computed from. */
static void pin_cancelled(prec *c, const phases *f, const prec_value *x, prec_value **stack) {
  surg_node *n = x->made != PREC_NONE && x->most > 0 ? surg_value_producer(x->v, NULL) : NULL;
  const int op = n && surg_node_schema(n) ? surg_node_op(n) : -1;
  if (op != SURG_OP_Add && op != SURG_OP_Sub) return;
  /* As often as it may be in a phase. */
  const double turns = PHASE_ERROR * CANCELLED / x->most;
  for (size_t i = 0; i < 2; i++) {
    prec_value *y = prec_find(c, surg_node_input(n, i));
    if (!y || !(y->most * c->limits.unit * turns > PHASE_ERROR)) continue;
    prec_pin(c, x->made, PREC_CANCEL);
    if (!(y->turns > 0)) pin_phase(c, f, y, turns, PREC_CANCEL, stack);
  }
}

/* Pins angles, positions and operands of remainders that have few digits in the type. */
static void pin_phases(prec *c) {
  phases f = {0};
  prec_value **stack = surg_pass_alloc(c->p, ((size_t)c->n_values + 1) * sizeof *stack);
  if (!stack || !phases_find(&f, c->p, c->m, PHASE_ERROR / c->limits.unit)) c->failed = true;
  for (uint32_t i = 0; i < c->n_values && !c->failed; i++) {
    prec_value *x = &c->values[i];
    pin_cancelled(c, &f, x, stack);
    for (uint32_t r = x->reads; r != PREC_NONE; r = c->reads[r].next) {
      const double turns = turns_of(c, &f, x, &c->reads[r]);
      const surg_node *n = c->reads[r].n;
      if (!(turns > 0)) continue;
      const prec_why why = phases_is_place(n) ? PREC_PLACE : PREC_PHASE;
      if (x->made != PREC_NONE || why == PREC_PLACE) prec_pin(c, c->reads[r].slot, why);
      if (!(x->turns > 0)) pin_phase(c, &f, x, turns, why, stack);
    }
  }
}

/* The largest number that x may be, which is a constant of another type or shape, or one that calls
 * of a function give by an attribute, which may become 0 if it is not measured. 0: it is none. */
static double given(const prec *c, const prec_value *x) {
  surg_extent e = {.size = sizeof e};
  const surg_value *from = x->made != PREC_NONE ? number_of(x->v) : NULL;
  if (!from) return 0;
  if (x->measured || x->bounded) return x->bound;
  const surg_tensor *t = surg_value_constant(from);
  if (!t) return c->limits.zero;
  return surg_tensor_count(t) == 1 && surg_tensor_extent(t, &e) == SURG_OK ? e.high : 0;
}

/* Pins what such numbers keep from 0, as constants do that are read as they are. */
static void pin_given(prec *c) {
  prec_value **stack = surg_pass_alloc(c->p, ((size_t)c->n_values + 1) * sizeof *stack);
  if (!stack) c->failed = true;
  for (uint32_t i = 0; i < c->n_values && stack; i++) {
    const double v = given(c, &c->values[i]);
    if (v > 0 && v < c->limits.normal) prec_pin_epsilon(c, &c->values[i], v, stack);
  }
}

void prec_pin_measured(prec *c) {
  if (c->kind->narrows && !c->failed) pin_given(c);
  for (uint32_t i = 0; i < c->n_values; i++) {
    prec_value *x = &c->values[i];
    if (x->measured && !(x->bound <= c->limits.top / HEADROOM)) prec_pin_value(c, x, PREC_MEASURED);
    if (x->measured && x->bound > 0 && x->bound < c->limits.normal) prec_pin_value(c, x, PREC_TINY);
  }
  if (!c->kind->small || c->aggressive) return;
  pin_magnified(c);
  if (!c->failed) pin_phases(c);
}
