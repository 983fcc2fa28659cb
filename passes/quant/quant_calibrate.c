/* SPDX-License-Identifier: Apache-2.0 */
/* Ranges of values, and errors of the quantized model, by runs of the built-in evaluator: on inputs
 * that the user gives, else on drawn ones. */
#include <float.h>
#include <math.h>
#include <onnxsurg/evaluate.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../util/links.h"
#include "../util/magnify.h"
#include "../util/samples.h"
#include "quant_static.h"

#define FAR_SIZE 1000                 /* of the least number that masks others */
#define MOST_ROUNDS 64                /* of what passes between graphs */
#define FIXED_STEPS 8                 /* nodes between a weight and its reader */
#define BINS_MOST (UINT64_C(1) << 26) /* bytes of the counts of all values */

/* --- options --- */

static bool usage(const quant_static_state *s, const char *text) {
  surg_pass_usage(s->c->p, text);
  return false;
}

/* Whether the target may support QuantizeLinear to a type with this zero point, of what it states.
 */
static bool target_takes(const quant_static_state *s, int dtype, uint8_t zero) {
  const quant *c = s->c;
  surg_context *ctx = surg_pass_context(c->p);
  const float one = 1;
  const surg_dim two = {.value = 2};
  surg_judgement j = {.size = sizeof j};
  if (!c->target) return true;
  surg_model *m = surg_model_new(ctx, surg_model_ir_version(c->m), surg_graph_opset(s->g, ""));
  surg_graph *g = m ? surg_model_graph(m) : NULL;
  const surg_type *t = surg_type_tensor(m, SURG_FLOAT, &two, 1);
  surg_value *x = surg_graph_add_input(g, "x", t);
  surg_node *q = surg_graph_add_node(g, NULL, "", "QuantizeLinear", 1);
  surg_node *d = surg_graph_add_node(g, NULL, "", "DequantizeLinear", 1);
  surg_value *in[] = {
      x,
      surg_graph_constant(g, q, "scale", surg_tensor_new_numbers(m, SURG_FLOAT, NULL, 0, &one, 1)),
      surg_graph_constant(g, q, "zero", surg_tensor_new_numbers(m, dtype, NULL, 0, &zero, 1))};
  bool ok = m != NULL;
  for (size_t i = 0; i < 3 && ok; i++)
    ok = surg_node_set_input(q, i, in[i]) == SURG_OK &&
         surg_node_set_input(d, i, i ? in[i] : surg_node_output(q, 0)) == SURG_OK;
  ok = ok && surg_graph_add_output(g, surg_node_output(d, 0), t) == SURG_OK &&
       surg_target_judge(c->target, m, NULL, NULL, &j) == SURG_OK && j.verdict != SURG_UNSUPPORTED;
  surg_model_free(m);
  return ok;
}

/* Whether weights of int8 may give wrong products for the target, and it supports uint8. */
static bool saturates(quant *c) {
  surg_target_summary t = {.size = sizeof t};
  if (!c->target || surg_target_get(c->target, &t) != SURG_OK || !t.saturates) return false;
  const surg_graph *g = surg_model_graph(c->m);
  return quant_target_types(c, g, "DequantizeLinear", false, 0) >> SURG_UINT8 & 1;
}

bool quant_static_options(quant_static_state *s) {
  static const char *const methods[] = {"minmax", "percentile", "entropy", "mse"};
  const surg_pass_ctx *p = s->c->p;
  const char *tolerance = surg_pass_string(p, "tolerance");
  char *end = NULL;
  const bool own = !s->c->borrowed;
  const char *type = own ? surg_pass_string(p, "activations") : NULL;
  const char *method = own ? surg_pass_string(p, "method") : NULL;
  /* Engines without zero points quantize operands of products. */
  const bool plain = !target_takes(s, SURG_UINT8, 1) && !target_takes(s, SURG_INT8, 1);
  s->activations = type                             ? surg_dtype_from_name(type)
                   : target_takes(s, SURG_UINT8, 1) ? SURG_UINT8
                                                    : SURG_INT8;
  if (!s->c->dtype && s->activations == SURG_UINT8 && saturates(s->c)) s->c->dtype = SURG_UINT8;
  s->symmetric = plain || (own && surg_pass_bool(p, "symmetric"));
  s->operands = plain || (own && surg_pass_bool(p, "operands"));
  s->percentile = 99.99;
  s->tolerance = -1;
  if (tolerance) {
    s->tolerance = strtod(tolerance, &end);
    if (*end || end == tolerance || !(s->tolerance >= 0))
      return usage(s, "option tolerance: expected a number of at least 0, such as 0.01");
  }
  while (method && s->method < 4 && strcmp(method, methods[s->method])) s->method++;
  if (s->method == 4) return usage(s, "option method: expected minmax, percentile, entropy or mse");
  if (s->activations == SURG_FLOAT8E4M3FN) {
    s->symmetric = true;
    if (!s->c->dtype) s->c->dtype = SURG_FLOAT8E4M3FN;
    if (surg_graph_opset(s->g, "") < 19 ||
        surg_model_ir_version(s->c->m) < surg_dtype_ir_version(s->activations))
      return usage(s, "float8e4m3fn requires opset 19 and IR version 9");
  } else if (s->activations != SURG_UINT8 && s->activations != SURG_INT8) {
    return usage(s, "activations is uint8, int8 or float8e4m3fn");
  }
  if (surg_graph_opset(s->g, "") >= 10 && !type && plain && !target_takes(s, SURG_INT8, 0) &&
      !target_takes(s, SURG_UINT8, 128)) {
    s->weights = true;
    return s->tolerance < 0 ||
           usage(s, "the target quantizes weights alone: tolerance is for values");
  }
  if (surg_graph_opset(s->g, "") >= 10 && !target_takes(s, s->activations,
                                                        !s->symmetric                  ? 1
                                                        : s->activations == SURG_UINT8 ? 128
                                                                                       : 0))
    return usage(s, "the target does not support QuantizeLinear to this type");
  return true;
}

/* --- ranges --- */

/* The bit of a number in `sizes`. */
static size_t size_of(float f) {
  uint32_t bits;
  memcpy(&bits, &f, sizeof bits);
  return (bits >> 23 & 255) / 2;
}

static void meet(quant_value *x, const float *f, uint64_t n) {
  double low = x->low, high = x->high;
  for (uint64_t i = 0; i < n; i++) {
    const float size = fabsf(f[i]);
    const size_t at = size_of(f[i]);
    if (!(size <= FLT_MAX)) x->broken = true;
    if (size > 0) x->sizes[at / 64] |= UINT64_C(1) << at % 64;
    low = f[i] < low ? f[i] : low;
    high = f[i] > high ? f[i] : high;
  }
  x->low = low;
  x->high = high;
  x->seen = true;
}

static void count(quant_value *x, const float *f, uint64_t n) {
  const double width = x->high - x->low;
  if (!x->bins || !(width > 0)) return;
  for (uint64_t i = 0; i < n; i++) {
    const size_t at = (size_t)(((double)f[i] - x->low) / width * QUANT_BINS);
    x->bins[at < QUANT_BINS ? at : QUANT_BINS - 1]++;
  }
}

/* What values do that are observed. */
typedef struct visitor {
  quant_static_state *s;
  void (*visit)(quant_value *x, const float *f, uint64_t n);
  quant_value *before; /* the values before the sample */
  uint64_t run;        /* of the session, of which values were taken; 0: none of this sample */
} visitor;

/* Values of a run on drawn inputs that the model rejected do not count. */
static void restart(visitor *o, uint64_t run) {
  if (o->run) {
    o->s->runs->redrawn = true;
    if (o->before) memcpy(o->s->values, o->before, o->s->n_values * sizeof *o->before);
  } else if (o->before) {
    memcpy(o->before, o->s->values, o->s->n_values * sizeof *o->before);
  }
  o->run = run;
}

static int by_handle(const void *a, const void *b) {
  const uintptr_t x = (uintptr_t)((const quant_twin *)a)->v;
  const uintptr_t y = (uintptr_t)((const quant_twin *)b)->v;
  return x < y ? -1 : x > y;
}

static void take(void *user, const surg_value *v, const surg_array *a) {
  visitor *o = user;
  const uint64_t run = surg_session_runs(o->s->runs->r.session);
  const quant_twin key = {.v = v};
  if (run != o->run) restart(o, run);
  if (!v || !o->s->n_twins || surg_array_dtype(a) != SURG_FLOAT) return;
  const quant_twin *found = bsearch(&key, o->s->twins, o->s->n_twins, sizeof key, by_handle);
  if (found && !found->x->broken) o->visit(found->x, surg_array_data(a), surg_array_count(a));
}

static bool failed(quant_static_state *s) {
  char line[QUANT_TEXT];
  snprintf(line, sizeof line, "the ranges of values cannot be measured: %.300s",
           surg_session_why(s->runs->r.session));
  surg_pass_fail(s->c->p, NULL, line);
  return false;
}

/* Runs sample i, and lets `o` take the values. Those of runs on drawn inputs that the model rejects
 * must not count: restart undoes them, or, since counts cannot be undone, a run before finds inputs
 * that the model accepts. */
static surg_status run_one(quant_static_state *s, uint64_t i, visitor *o) {
  samples_runs *r = &s->runs->r;
  surg_inputs *in = NULL;
  const surg_graph *g = surg_model_graph(r->m);
  const bool twice = !o->before && s->runs->redrawn;
  o->run = 0;
  surg_session_observe(r->session, twice ? NULL : take, o);
  surg_status st = samples_run(s->c->p, r, i, &in);
  for (size_t k = 0; st == SURG_OK && k < surg_graph_input_count(g); k++) {
    surg_array *a = NULL;
    if (surg_inputs_get(in, k, &a) == SURG_OK) take(o, surg_graph_input(g, k), a);
    surg_array_free(a);
  }
  if (st == SURG_OK && twice) {
    samples_clear(r);
    surg_session_observe(r->session, take, o);
    st = surg_session_run(r->session, in, r->out, r->n_out);
  }
  surg_session_observe(r->session, NULL, NULL);
  surg_inputs_free(in);
  return st;
}

/* Runs all samples and lets `visit` take the values. `before`: room for the values; NULL: what
 * `visit` does cannot be undone. The results of the last sample stay. */
static bool run_all(quant_static_state *s, quant_value *before,
                    void (*visit)(quant_value *x, const float *f, uint64_t n)) {
  visitor o = {s, visit, before, 0};
  uint64_t *samples = &s->runs->samples;
  for (*samples = 0;; ++*samples) {
    const surg_status st = run_one(s, *samples, &o);
    if (st == SURG_ENOTFOUND) return true;
    if (st != SURG_OK) return surg_session_why(s->runs->r.session)[0] && failed(s);
  }
}

/* Finds the values in the model that runs. False: out of memory. */
static bool pair(quant_static_state *s) {
  surg_graph *copy = NULL;
  s->twins = surg_pass_alloc(s->c->p, (s->n_values + 1) * sizeof *s->twins);
  if (!s->twins) return false;
  for (surg_graph *g = NULL; (g = surg_model_next_graph(s->c->m, g));) {
    if (!(copy = surg_model_next_graph(s->runs->m, copy))) break;
    for (surg_value *v = NULL; (v = surg_graph_next_value(g, v));) {
      quant_value *x = quant_value_of(s, v);
      const surg_value *twin = x ? surg_graph_find_value(copy, surg_value_name(v)) : NULL;
      if (twin) s->twins[s->n_twins++] = (quant_twin){twin, x};
    }
  }
  qsort(s->twins, s->n_twins, sizeof *s->twins, by_handle);
  return true;
}

/* Measures the ranges of all values. */
static bool measure(quant_static_state *s) {
  const size_t bytes = (s->n_values + 1) * sizeof *s->values;
  quant_value *before = surg_pass_alloc(s->c->p, bytes);
  quant_value *ranges = surg_pass_alloc(s->c->p, bytes);
  if (!before || !ranges || !pair(s) || !run_all(s, before, meet)) return false;
  memcpy(ranges, s->values, s->n_values * sizeof *ranges);
  s->runs->ranges = ranges;
  return true;
}

/* Sets the ranges that were measured for another copy of the model, whose values have the same
 * order. */
static void recall(quant_static_state *s) {
  for (size_t i = 0; i < s->n_values; i++) {
    const quant_value *from = &s->runs->ranges[i];
    quant_value *x = &s->values[i];
    x->seen = from->seen;
    x->broken = from->broken;
    x->low = from->low;
    x->high = from->high;
    memcpy(x->sizes, from->sizes, sizeof x->sizes);
  }
}

static bool make_bins(quant_static_state *s) {
  uint64_t bytes = 0;
  for (size_t i = 0; i < s->n_values; i++) {
    quant_value *x = &s->values[i];
    if (!x->marked || !x->seen || x->broken || x->like != QUANT_NONE) continue;
    bytes += QUANT_BINS * sizeof *x->bins;
    if (bytes > BINS_MOST) return true; /* the others have their least and largest element */
    x->bins = surg_pass_alloc(s->c->p, QUANT_BINS * sizeof *x->bins);
    if (!x->bins) return false;
  }
  return true;
}

static void scale_of(const quant_static_state *s, quant_value *x) {
  const bool is_signed = s->activations != SURG_UINT8;
  const double top = s->activations == SURG_FLOAT8E4M3FN ? 448 : 127;
  const double low = is_signed ? -128 : 0, high = low + 255;
  quant_choose_range(s, x);
  const double size = fmax(-x->cut_low, x->cut_high);
  x->scale = s->symmetric ? size / top : (x->cut_high - x->cut_low) / 255;
  if (!(x->scale > 0)) x->scale = 1;
  if (x->scale < (double)FLT_MIN) x->scale = (double)FLT_MIN;
  x->scale = (double)(float)x->scale;
  x->zero = s->symmetric ? (is_signed ? 0 : 128)
                         : (int64_t)fmin(fmax(nearbyint(low - x->cut_low / x->scale), low), high);
}

/* Whether x has elements of sizes between the bits `from` and `to`, which is excluded. */
static bool has_between(const quant_value *x, size_t from, size_t to) {
  for (size_t i = from; i < to; i++)
    if (x->sizes[i / 64] >> i % 64 & 1) return true;
  return false;
}

/* Whether a value has numbers that mask others, such as -10000, -1e9 or the lowest float: numbers
 * that are at least FAR_SIZE, others that become 0 by their scale, and none between. */
static bool is_far(const quant_value *x) {
  const double size = fmax(-x->cut_low, x->cut_high);
  const size_t zero = size_of((float)(size / 512)), large = size_of((float)(size / 8));
  return size >= FAR_SIZE && has_between(x, 0, zero) && !has_between(x, zero, large);
}

/* Whether x has elements that its scale makes 0. Those that share the scale of another value have
 * fewer elements, and the sizes of that one. */
static bool has_small(const quant_static_state *s, const quant_value *x) {
  if (x->like != QUANT_NONE) x = &s->values[x->like];
  const double size = fmax(-x->cut_low, x->cut_high);
  return x->seen && !x->broken && size > 0 && has_between(x, 0, size_of((float)(size / 512)));
}

/* Marks a value; false: it was marked before. Values with small elements stay floats. */
static bool mark_fine(const quant_static_state *s, quant_value *x) {
  if (x->met) return false;
  x->met = true;
  x->fine = has_small(s, x);
  return true;
}

/* Likewise what an integer, a phase or a remainder is computed from: sizes, positions and times, of
 * which 8 bits have too few digits. */
static bool mark_whole(const quant_static_state *s, quant_value *x) {
  (void)s;
  const bool first = !x->whole;
  x->whole = true;
  return first;
}

/* Marks of values from which others are computed. */
typedef struct marks {
  quant_static_state *s;
  links links;
  quant_value **stack;
  size_t depth;
  bool any; /* a value was kept from 0 in this round */
} marks;

typedef bool (*mark_fn)(const quant_static_state *s, quant_value *x);

static void mark_one(marks *w, const surg_value *v, mark_fn mark) {
  quant_value *x = quant_value_of(w->s, v);
  if (x && mark(w->s, x)) w->stack[w->depth++] = x; /* at most once a value: the stack has room */
}

/* Marks v and the values from which it is computed, also in other graphs, back to results of
 * products, unless these read counts. */
static void mark_back(marks *w, const surg_value *v, mark_fn mark) {
  const phases *f = &w->s->c->phases;
  mark_one(w, v, mark);
  while (w->depth > 0) {
    size_t at = 0;
    v = w->stack[--w->depth]->v;
    for (const surg_value *x; (x = links_next(&w->links, v, &at));) mark_one(w, x, mark);
    surg_node *n = surg_value_producer(v, NULL);
    if (!n || !surg_node_schema(n) || surg_node_subgraph(n, 0)) continue;
    const bool product = surg_schema_narrow(surg_node_schema(n)) == SURG_NARROW_GAIN;
    if (product && !table_has(&f->products, n)) continue;
    for (size_t i = 0; i < surg_node_input_count(n); i++) {
      const surg_value *x = surg_node_input(n, i);
      if (x && (!product || table_has(&f->counted, x))) mark_one(w, x, mark);
    }
  }
}

/* The number that input i of n is in all runs; 0: it is none, or not positive. */
static double number_read(quant_static_state *s, const surg_node *n, size_t i) {
  const surg_value *v = surg_node_input(n, i);
  const surg_tensor *t = v ? surg_value_constant(v) : NULL;
  surg_extent e = {.size = sizeof e};
  if (t) return surg_tensor_count(t) == 1 && surg_tensor_extent(t, &e) == SURG_OK ? e.high : 0;
  const quant_value *x = number_of(v) ? quant_value_of(s, v) : NULL;
  return x && x->seen && !x->broken ? x->high : 0;
}

/* Whether an operand of n, which the scale of the result y makes 0, keeps it from 0. */
static bool is_kept_from_zero(quant_static_state *s, const quant_value *y, const surg_node *n) {
  const double size = fmax(-y->cut_low, y->cut_high);
  for (size_t i = 0; i < surg_node_input_count(n); i++) {
    const double v = guards(n, i) ? number_read(s, n, i) : 0;
    if (v > 0 && v < size / 510) return true;
  }
  return false;
}

static void keep(marks *w, quant_value *y) {
  if (!y || !y->met || y->kept) return;
  y->kept = y->fine = true;
  w->any = true;
}

static bool pass_kept(void *user, surg_value *from, surg_value *to) {
  marks *w = user;
  const quant_value *x = quant_value_of(w->s, from);
  if (x && x->met && x->kept) keep(w, quant_value_of(w->s, to));
  return true;
}

/* Marks what an epsilon keeps from 0, up to the divisors that are computed from it; the values
 * before divisors have been met, and nodes are sorted. */
static void mark_kept(marks *w, surg_node *n) {
  bool kept = false;
  links_visit(n, pass_kept, w);
  if (surg_node_subgraph(n, 0)) return;
  for (size_t i = 0; i < surg_node_input_count(n) && !kept; i++) {
    const quant_value *x = quant_value_of(w->s, surg_node_input(n, i));
    kept = x && x->met && x->kept;
  }
  for (size_t i = 0; i < surg_node_output_count(n); i++) {
    quant_value *y = quant_value_of(w->s, surg_node_output(n, i));
    if (y && (kept || is_kept_from_zero(w->s, y, n))) keep(w, y);
  }
}

/* Whether n makes integers of more than 8 bits of floats: others have no more digits than what is
 * quantized, as an image has. */
static bool makes_whole(const surg_node *n) {
  const int dtype = surg_node_output_count(n) ? quant_dtype(surg_node_output(n, 0)) : 0;
  return surg_node_op(n) == SURG_OP_Cast &&
         (dtype == SURG_INT64 || dtype == SURG_INT32 || dtype == SURG_INT16 ||
          dtype == SURG_UINT16 || dtype == SURG_UINT32 || dtype == SURG_UINT64);
}

/* Whether the steps of a value are too large for what input i of n is: an angle, a position in an
 * image, an operand of a remainder or a determinant. */
static bool is_delicate(quant_static_state *s, const surg_node *n, size_t i) {
  const quant_value *x = quant_value_of(s, surg_node_input(n, i));
  if (!x) return false;
  const double turns = phases_turns(n, i);
  if (cancels(n) || turns >= HUGE_VAL) return true;
  return turns > 0 && (table_has(&s->c->phases.counted, x->v) || !x->seen || x->broken ||
                       (x->cut_high - x->cut_low) * turns > 2 * QUANT_PHASE);
}

/* Marks values of which the errors matter more than those of others. */
static bool find_delicate(quant_static_state *s) {
  marks w = {.s = s, .any = true};
  w.stack = surg_pass_alloc(s->c->p, (s->n_values + 1) * sizeof *w.stack);
  if (!w.stack || !links_find(&w.links, s->c->p, s->c->m)) return false;
  for (surg_graph *g = NULL; (g = surg_model_next_graph(s->c->m, g));)
    for (surg_node *n = surg_graph_first_node(g); n; n = surg_node_next(n)) {
      for (size_t i = 0; i < surg_node_input_count(n); i++)
        if (magnifies(n, i)) mark_back(&w, surg_node_input(n, i), mark_fine);
      for (size_t i = 0; i < surg_node_input_count(n); i++)
        if (is_delicate(s, n, i)) mark_back(&w, surg_node_input(n, i), mark_whole);
      if (makes_whole(n)) mark_back(&w, surg_node_input(n, 0), mark_whole);
    }
  for (int round = 0; w.any && round < MOST_ROUNDS; round++) { /* values pass between graphs */
    w.any = false;
    for (surg_graph *g = NULL; (g = surg_model_next_graph(s->c->m, g));)
      for (surg_node *n = surg_graph_first_node(g); n; n = surg_node_next(n)) mark_kept(&w, n);
  }
  return true;
}

bool quant_calibrate(quant_static_state *s) {
  const surg_engine_options how = {.size = sizeof how};
  quant_runs *r = s->runs;
  const surg_status st = r->r.session ? SURG_OK : samples_open(s->c->p, r->m, &how, &r->r);
  if (st == SURG_EUNSUPPORTED || st == SURG_EINVALID)
    surg_pass_fail(s->c->p, NULL, "the evaluator cannot run the model");
  if (st != SURG_OK) return false;
  if (r->ranges)
    recall(s);
  else if (!measure(s))
    return false;
  if (s->method != QUANT_MINMAX &&
      (!make_bins(s) || (!s->twins && !pair(s)) || !run_all(s, NULL, count)))
    return false;
  for (size_t i = 0; i < s->n_values; i++) {
    if (!s->values[i].seen || s->values[i].broken) continue;
    scale_of(s, &s->values[i]);
    s->values[i].far = is_far(&s->values[i]);
  }
  s->drawn = !samples_given(s->c->p);
  s->ranged = true;
  return find_delicate(s);
}

/* --- errors --- */

/* Whether v is computed from constants alone, such as DequantizeLinear of a weight. Follows the
 * first input. */
static bool is_fixed(const surg_value *v) {
  for (int steps = 0; v && steps < FIXED_STEPS; steps++) {
    const surg_node *n = surg_value_producer(v, NULL);
    if (surg_value_constant(v)) return true;
    if (!n || !surg_node_input_count(n)) return false;
    for (size_t i = 1; i < surg_node_input_count(n); i++)
      if (surg_node_input(n, i) && !surg_value_constant(surg_node_input(n, i))) return false;
    v = surg_node_input(n, 0);
  }
  return false;
}

bool quant_runs_make(quant_runs *r, const quant *c) {
  const size_t own = surg_graph_output_count(surg_model_graph(c->m));
  surg_status st = surg_model_all_outputs(c->m, &r->m);
  surg_graph *g = r->m ? surg_model_graph(r->m) : NULL;
  for (size_t i = g ? surg_graph_output_count(g) : 0; i-- > own && st == SURG_OK;) {
    const surg_value *v = surg_graph_output(g, i);
    if (quant_dtype(v) != SURG_FLOAT || is_fixed(v)) st = surg_graph_remove_output(g, i);
  }
  return st == SURG_OK;
}

void quant_runs_free(quant_runs *r) {
  samples_close(&r->r);
  surg_model_free(r->m);
  r->m = NULL;
}

/* As quant_runs_make, for the quantized model: the values that are outputs of `before`, too. */
static surg_status watch_same(const quant *c, const surg_model *before, surg_model **out) {
  surg_graph *old = surg_model_graph(before);
  const size_t own = surg_graph_output_count(surg_model_graph(c->m));
  surg_status st = surg_model_all_outputs(c->m, out);
  surg_graph *g = *out ? surg_model_graph(*out) : NULL;
  for (size_t i = g ? surg_graph_output_count(g) : 0; i-- > own && st == SURG_OK;) {
    const surg_value *v = surg_graph_find_value(old, surg_value_name(surg_graph_output(g, i)));
    if (!v || !surg_value_is_output(v)) st = surg_graph_remove_output(g, i);
  }
  return st;
}

static void compare(quant_value *x, const surg_array *a, const surg_array *b) {
  const float *f = surg_array_data(a), *g = surg_array_data(b);
  if (surg_array_dtype(a) != SURG_FLOAT || surg_array_dtype(b) != SURG_FLOAT ||
      surg_array_count(a) != surg_array_count(b))
    return;
  for (uint64_t i = 0; i < surg_array_count(a); i++) {
    const double e = (double)f[i] - (double)g[i];
    x->signal += (double)f[i] * (double)f[i];
    x->noise += e * e;
  }
}

/* Outputs of `a` by name in `b`. */
static void compare_all(quant_static_state *s, const samples_runs *a, const samples_runs *b) {
  const surg_graph *before = surg_model_graph(a->m);
  surg_graph *after = surg_model_graph(b->m);
  for (size_t i = 0, k = 0; i < a->n_out; i++) {
    const char *name = surg_value_name(surg_graph_output(before, i));
    quant_value *x = quant_value_of(s, surg_graph_find_value(s->g, name));
    if (!x || (!x->done && !x->layer && !surg_value_is_output(x->v))) continue;
    /* Values keep their order, and new ones are between them. */
    const size_t start = k;
    while (k < b->n_out && strcmp(surg_value_name(surg_graph_output(after, k)), name)) k++;
    if (k == b->n_out)
      k = start;
    else
      compare(x, a->out[i], b->out[k]);
  }
}

bool quant_compare(quant_static_state *s) {
  const surg_engine_options how = {.size = sizeof how};
  surg_pass_ctx *p = s->c->p;
  surg_model *after = NULL;
  samples_runs *a = &s->runs->r, b = {0};
  surg_status st = watch_same(s->c, s->runs->m, &after);
  if (st == SURG_OK) st = samples_open(p, after, &how, &b);
  for (uint64_t i = 0; st == SURG_OK && i < s->runs->samples; i++) {
    /* The results of a single sample are those of quant_calibrate. */
    if (s->runs->samples > 1) st = samples_run(p, a, i, NULL);
    if (st == SURG_OK) st = samples_run(p, &b, i, NULL);
    if (st == SURG_OK) compare_all(s, a, &b);
  }
  samples_close(&b);
  surg_model_free(after);
  if (st == SURG_ENOMEM) return false;
  s->unknown = st != SURG_OK;
  if (s->unknown && !s->c->trial)
    surg_pass_note(s->c->p, NULL,
                   "errors of values are unknown: the quantized "
                   "model does not run in the evaluator");
  return true;
}
