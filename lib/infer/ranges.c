/* SPDX-License-Identifier: Apache-2.0 */
/* Value ranges: proven bounds of the elements of a value.
 *
 * A range is computed on demand, when a rewrite asks for it: the search walks from the value
 * towards its producers, as long as operators have a range rule, over at most SURG__RANGE_VALUES
 * values. Beyond that limit only the element type counts. Ranges that users assume
 * (surg_model_assume_range) count as axioms; ranges derived from them are marked. */
#include "infer/ranges.h"
#include "base/counted.h"

#include <math.h>

/* --- constants and facts --- */

static void widen(surg_range *r, bool first, double v) {
  if (v != v) {
    r->nan = true;
    return;
  }
  if (v == 0 && signbit(v)) r->minus_zero = true;
  if (first || v < r->low) r->low = v;
  if (first || v > r->high) r->high = v;
}

/* An integer, exact in a double or widened to the next double on either side. */
static void widen_int(surg_range *r, bool first, int64_t v) {
  const bool exact = v > -(INT64_C(1) << 53) && v < INT64_C(1) << 53;
  widen(r, first, exact ? (double)v : nextafter((double)v, -INFINITY));
  if (!exact) widen(r, false, nextafter((double)v, INFINITY));
}

/* The range of a constant; false: it is too large, or all of its elements are NaN. */
bool surg__range_of_tensor(const surg_tensor *t, surg_range *out) {
  double reals[SURG__RANGE_CONST];
  int64_t ints[SURG__RANGE_CONST];
  const size_t count = (size_t)surg_tensor_count(t);
  surg_range r = {0};
  bool any = false;
  if (!t || count == 0 || t->view == SURG__VIEW_ABSENT || surg_tensor_count(t) > SURG__RANGE_CONST)
    return false;
  if (surg__tensor_reals(t, reals)) {
    for (size_t i = 0; i < count; i++) {
      widen(&r, !any, reals[i]);
      any = any || reals[i] == reals[i];
    }
  } else if (surg__read_ints(t, ints, count) == (int64_t)count) {
    for (size_t i = 0; i < count; i++) widen_int(&r, i == 0, ints[i]);
    any = true;
  }
  if (any) *out = r;
  return any;
}

/* The range of elements that inference tracks. */
static bool elements_range(const surg_value *v, surg_range *out) {
  surg_elem e[SURG__RANGE_VALUES];
  const int64_t n = surg__known_elements(v, e, SURG__RANGE_VALUES);
  surg_range r = {0};
  for (int64_t i = 0; i < n; i++) {
    /* Not surg_dim_range: an element may be negative, a dimension is not. */
    const surg_expr *x = e[i].known ? NULL : e[i].expr;
    if (!e[i].known && !x) return false;
    const int64_t low = x ? x->lo : e[i].value, high = x ? x->hi : e[i].value;
    widen_int(&r, i == 0, low);
    widen_int(&r, false, high);
  }
  if (n > 0) *out = r;
  return n > 0;
}

/* The range found for a value, cached until the next inference: rewrites ask for one value after
 * the other, and the searches overlap. */
typedef struct surg__found {
  surg_range r;
  uint32_t values_changed; /* the model's counter when the range was found */
  bool known;
} surg__found;

static const surg__found *kept(const surg_value *v) {
  const surg__found *f = surg_value_type(v) ? v->found : NULL;
  return f && f->values_changed == v->graph->model->values_changed ? f : NULL;
}

/* Caches a range; out of memory, it is computed again next time. */
static void keep(const surg_value *v, const surg_range *r, bool known) {
  surg_value *own = (surg_value *)(uintptr_t)v; /* the cache is not part of the const model */
  surg_model *m = v->graph->model;
  surg__found *f = surg_value_type(v) ? surg__arena_alloc(&m->elems, sizeof *f) : NULL;
  if (f) *f = (surg__found){*r, m->values_changed, known};
  own->found = f;
}

/* The range of a value without looking at its producer; false: its type has no order. *final: no
 * more can be found. */
static bool base_range(const surg_value *v, surg_range *out, bool *final) {
  const surg_tensor *t = surg_value_constant(v);
  const surg_type *type = surg_value_type(v);
  surg_range known;
  *final = true;
  if (!t && surg_type_get_kind(type) != SURG_TYPE_TENSOR) return false;
  if (!surg__range_of_dtype(t ? surg_tensor_dtype(t) : surg_type_dtype(type), out)) return false;
  const bool stays = surg_value_settled(v); /* else training updates it */
  if (stays && !surg_tensor_is_sparse(t) && surg__range_of_tensor(t, &known)) *out = known;
  if (!t && elements_range(v, &known)) *out = surg__range_meet(*out, known);
  if (v->said) *out = surg__range_meet(*out, surg__range_round(surg_type_dtype(type), *v->said));
  *final = t != NULL;
  return true;
}

/* --- the search --- */

typedef enum progress { NEW, EXPANDED, SETTLED } progress;

typedef struct step {
  const surg_value *v;
  surg_range r;
  bool known; /* its type has an order */
  progress at;
  uint32_t needs; /* inputs of the producer that count */
} step;

typedef struct search {
  step steps[SURG__RANGE_VALUES];
  /* Values whose range is requested; a value may be on the stack more than once. */
  uint16_t stack[SURG__RANGE_VALUES * (SURG__RANGE_INPUTS + 1)];
  size_t n, depth;
} search;

static step *find(search *s, const surg_value *v) {
  for (size_t i = 0; i < s->n; i++)
    if (s->steps[i].v == v) return &s->steps[i];
  return NULL;
}

/* The value that the i-th needed input refers to: for an If, an output of a branch. */
static const surg_value *source(const surg_node *n, size_t output, size_t i) {
  if (surg_node_op(n) != SURG_OP_If) return surg_node_input(n, i);
  const surg_graph *body = surg_node_subgraph(n, i);
  return body ? surg_graph_output(body, output) : NULL;
}

/* The search step of a value; NULL: the limit of values is reached. */
static step *add(search *s, const surg_value *v) {
  bool final;
  size_t output;
  if (s->n == SURG__RANGE_VALUES) return NULL;
  step *x = &s->steps[s->n++];
  *x = (step){.v = v, .at = SETTLED};
  const surg__found *f = kept(v);
  if (f) {
    x->r = f->r;
    x->known = f->known;
    return x;
  }
  x->known = base_range(v, &x->r, &final);
  const surg_node *n = surg_value_producer(v, &output);
  if (x->known && !final && n) x->needs = (uint32_t)surg__range_needs(n, output);
  assert(x->needs <= SURG__RANGE_INPUTS); /* the size of arrays in `settle` */
  if (x->needs)
    x->at = NEW;
  else
    keep(v, &x->r, x->known);
  return x;
}

static void ask(search *s, const surg_value *v) {
  step *x = v ? find(s, v) : NULL;
  if (v && !x) x = add(s, v);
  assert(s->depth < SURG_COUNT(s->stack));
  if (x && x->at == NEW) s->stack[s->depth++] = (uint16_t)(x - s->steps);
}

static void settle(step *x, search *s) {
  assert(x->at == EXPANDED && x->needs > 0 && x->known);
  size_t output;
  const surg_node *n = surg_value_producer(x->v, &output);
  surg_range in[SURG__RANGE_INPUTS], r = x->r, all;
  bool has[SURG__RANGE_INPUTS], final;
  for (uint32_t i = 0; i < x->needs; i++) {
    const surg_value *v = source(n, output, i);
    const step *of = v ? find(s, v) : NULL;
    has[i] = of ? of->known : v && base_range(v, &in[i], &final);
    if (of) in[i] = of->r;
  }
  const surg_type *type = surg_value_type(x->v);
  if (!surg__range_of_dtype(surg_type_dtype(type), &all)) return;
  surg__range_node(n, output, in, has, &all);
  x->r = surg__range_meet(r, all);
  keep(x->v, &x->r, true);
}

surg_status surg_value_range(const surg_value *v, surg_range *out) {
  search s;
  s.n = s.depth = 0;
  if (!v || !out) return SURG_EUSAGE;
  if (v->erased) return SURG_EERASED;
  const surg__found *f = kept(v);
  if (f) {
    *out = f->r;
    return f->known ? SURG_OK : SURG_ENOTFOUND;
  }
  ask(&s, v);
  while (s.depth > 0) {
    step *x = &s.steps[s.stack[s.depth - 1]];
    if (x->at == NEW) {
      size_t output;
      const surg_node *n = surg_value_producer(x->v, &output);
      x->at = EXPANDED;
      for (uint32_t i = 0; i < x->needs; i++) ask(&s, source(n, output, i));
      continue;
    }
    if (x->at == EXPANDED) settle(x, &s);
    x->at = SETTLED;
    s.depth--;
  }
  assert(s.n > 0 && s.steps[0].v == v && s.steps[0].at == SETTLED);
  *out = s.steps[0].r;
  return s.steps[0].known ? SURG_OK : SURG_ENOTFOUND;
}
