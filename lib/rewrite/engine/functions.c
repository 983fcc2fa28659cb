/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of guards. Functions of a graph value use what is proven, not what is declared; the
 * result is unknown otherwise. */
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "base/counted.h"
#include "infer/infer.h"
#include "io/text/codec.h"
#include "rewrite/lang/rule.h"

static const surg__rvalue unknown = {.kind = SURG__R_UNKNOWN};

static surg__rvalue boolean(bool b) {
  return (surg__rvalue){.kind = SURG__R_BOOL, .one = {.known = true, .i = b}};
}
static surg__rvalue integer(int64_t i) {
  return (surg__rvalue){.kind = SURG__R_INT, .one = {.known = true, .i = i}};
}
static surg__rvalue real(double f) {
  return (surg__rvalue){.kind = SURG__R_FLOAT, .one = {.known = true, .f = f}};
}

static bool get_int(const surg__rvalue *v, int64_t *out) {
  *out = v->one.i;
  return v->kind == SURG__R_INT && v->one.known;
}

static const surg_type *tensor_type(const surg_value *v) {
  const surg_type *t = v ? surg_value_type(v) : NULL;
  return t && surg_type_get_kind(t) == SURG_TYPE_TENSOR ? t : NULL;
}

static surg__rnum num_of_dim(surg_dim d) {
  return (surg__rnum){.known = d.value >= 0, .i = d.value, .dim = d};
}

/* --- about values --- */

static surg__rvalue fn_dtype(surg__match *m, const surg_value *v, const surg__rvalue *a, size_t n) {
  (void)m, (void)a, (void)n;
  const surg_type *t = tensor_type(v);
  const int dtype = t ? surg_type_dtype(t) : 0;
  if (!dtype) return unknown;
  return (surg__rvalue){.kind = SURG__R_DTYPE, .one = {.known = true, .i = dtype}};
}

static surg__rvalue fn_rank(surg__match *m, const surg_value *v, const surg__rvalue *a, size_t n) {
  (void)m, (void)a, (void)n;
  const surg_type *t = tensor_type(v);
  return t && surg_type_has_rank(t) ? integer((int64_t)surg_type_rank(t)) : unknown;
}

static surg__rvalue fn_dim(surg__match *m, const surg_value *v, const surg__rvalue *a, size_t n) {
  int64_t i;
  (void)m, (void)n;
  const surg_type *t = tensor_type(v);
  if (!t || !surg_type_has_rank(t) || !get_int(&a[0], &i)) return unknown;
  const int64_t rank = (int64_t)surg_type_rank(t);
  if (i < 0) i += rank;
  if (i < 0 || i >= rank) return unknown;
  return (surg__rvalue){.kind = SURG__R_INT, .one = num_of_dim(*surg_type_dim(t, (size_t)i))};
}

static surg__rvalue fn_shape(surg__match *m, const surg_value *v, const surg__rvalue *a, size_t n) {
  (void)a, (void)n;
  const surg_type *t = tensor_type(v);
  if (!t || !surg_type_has_rank(t) || surg_type_rank(t) > SURG__RULE_LIST) return unknown;
  const size_t rank = surg_type_rank(t);
  surg__rnum *items = surg__arena_array(m->arena, rank + 1, sizeof *items);
  if (!items) return unknown;
  for (size_t i = 0; i < rank; i++) items[i] = num_of_dim(*surg_type_dim(t, i));
  return (surg__rvalue){.kind = SURG__R_INTS, .items = items, .n = rank};
}

static surg__rvalue fn_size(surg__match *m, const surg_value *v, const surg__rvalue *a, size_t n) {
  uint64_t count;
  (void)m, (void)a, (void)n;
  const surg_type *t = tensor_type(v);
  return t && surg_type_static(t, &count) && count <= INT64_MAX ? integer((int64_t)count) : unknown;
}

static surg__rvalue fn_static(surg__match *m, const surg_value *v, const surg__rvalue *a,
                              size_t n) {
  (void)m, (void)a, (void)n;
  const surg_type *t = tensor_type(v);
  return boolean(t && surg_type_static(t, NULL));
}

/* filled(x): whether every dimension is proven to be at least 1. */
static surg__rvalue fn_filled(surg__match *m, const surg_value *v, const surg__rvalue *a,
                              size_t n) {
  (void)m, (void)a, (void)n;
  const surg_type *t = tensor_type(v);
  if (!t || !surg_type_has_rank(t)) return unknown;
  for (size_t i = 0; i < surg_type_rank(t); i++) {
    int64_t low, high;
    if (!surg_dim_range(surg_type_dim(t, i), &low, &high) || low < 1) return unknown;
  }
  return boolean(true);
}

static surg__rvalue fn_const(surg__match *m, const surg_value *v, const surg__rvalue *a, size_t n) {
  (void)m, (void)a, (void)n;
  return boolean(v && surg_value_settled(v));
}

static surg__rvalue fn_absent(surg__match *m, const surg_value *v, const surg__rvalue *a,
                              size_t n) {
  (void)m, (void)a, (void)n;
  return boolean(!v);
}

static surg__rvalue fn_present(surg__match *m, const surg_value *v, const surg__rvalue *a,
                               size_t n) {
  (void)m, (void)a, (void)n;
  return boolean(v != NULL);
}

static surg__rvalue fn_uses(surg__match *m, const surg_value *v, const surg__rvalue *a, size_t n) {
  (void)m, (void)a, (void)n;
  return v ? integer((int64_t)surg_value_use_count(v, 1000)) : integer(0);
}

static surg__rvalue fn_alone(surg__match *m, const surg_value *v, const surg__rvalue *a, size_t n) {
  (void)a, (void)n;
  return boolean(!v || surg_value_use_count(v, 2) <= 1 ||
                 surg_pass_keeps_copy(m->pass, surg_value_constant(v)));
}

static surg__rvalue fn_together(surg__match *m, const surg_value *v, const surg__rvalue *a,
                                size_t n) {
  const surg__rvalue alone = fn_alone(m, v, a, n);
  return alone.one.i ? alone : boolean(surg__read_together(v));
}

/* Integers proven by inference for a value that is not a constant. */
static surg__rvalue proven(surg__match *m, const surg_value *v) {
  surg_elem e[SURG__RULE_LIST];
  uint64_t count;
  const surg_type *t = tensor_type(v);
  const int dtype = t ? surg_type_dtype(t) : 0;
  if (dtype != SURG_INT64 && dtype != SURG_INT32) return unknown;
  const bool empty = surg_type_static(t, &count) && count == 0;
  const int64_t n = empty ? 0 : surg__known_elements(v, e, SURG__RULE_LIST);
  surg__rnum *items = n >= 0 ? surg__arena_array(m->arena, (size_t)n + 1, sizeof *items) : NULL;
  if (!items) return unknown;
  for (int64_t i = 0; i < n; i++) {
    if (!e[i].known) return unknown;
    items[i] = (surg__rnum){.known = true, .i = e[i].value};
  }
  return (surg__rvalue){.kind = SURG__R_INTS, .items = items, .n = (size_t)n};
}

surg__rvalue surg__rvalue_of_tensor(surg__match *m, const surg_tensor *t) {
  if (surg_tensor_count(t) > SURG__RULE_ELEMENTS) return unknown;
  const size_t count = (size_t)surg_tensor_count(t);
  const int dtype = surg_tensor_dtype(t);
  surg__rnum *items = surg__arena_array(m->arena, count + 1, sizeof *items);
  int64_t *ints = surg__arena_array(m->arena, count + 1, sizeof *ints);
  double *reals = surg__arena_array(m->arena, count + 1, sizeof *reals);
  if (!items || !ints || !reals) return unknown;
  if (!surg__dtype_is_float(dtype)) {
    if (surg__read_ints(t, ints, count) != (int64_t)count) return unknown;
    for (size_t i = 0; i < count; i++) items[i] = (surg__rnum){.known = true, .i = ints[i]};
    return (surg__rvalue){.kind = SURG__R_INTS, .items = items, .n = count};
  }
  if (!surg__tensor_reals(t, reals)) return unknown;
  for (size_t i = 0; i < count; i++) items[i] = (surg__rnum){.known = true, .f = reals[i]};
  return (surg__rvalue){.kind = SURG__R_FLOATS, .items = items, .n = count};
}

/* Returns the elements of a small constant, or those proven for a value: INTS or FLOATS. */
static surg__rvalue elements(surg__match *m, const surg_value *v) {
  const surg_tensor *t = v ? surg_value_settled(v) : NULL;
  return t ? surg__rvalue_of_tensor(m, t) : proven(m, v);
}

static surg__rvalue fn_ints(surg__match *m, const surg_value *v, const surg__rvalue *a, size_t n) {
  (void)a, (void)n;
  const surg__rvalue e = elements(m, v);
  return e.kind == SURG__R_INTS ? e : unknown;
}

static surg__rvalue fn_floats(surg__match *m, const surg_value *v, const surg__rvalue *a,
                              size_t n) {
  (void)a, (void)n;
  const surg__rvalue e = elements(m, v);
  return e.kind == SURG__R_FLOATS ? e : unknown;
}

static surg__rvalue fn_scalar(surg__match *m, const surg_value *v, const surg__rvalue *a,
                              size_t n) {
  (void)a, (void)n;
  const surg__rvalue e = elements(m, v);
  if (e.kind == SURG__R_UNKNOWN || e.n != 1) return unknown;
  return e.kind == SURG__R_INTS ? integer(e.items[0].i) : real(e.items[0].f);
}

static surg__rvalue fn_all(surg__match *m, const surg_value *v, const surg__rvalue *a, size_t n) {
  (void)n;
  const surg__rvalue e = elements(m, v);
  if (e.kind == SURG__R_UNKNOWN) return unknown;
  bool known = true;
  for (size_t i = 0; i < e.n; i++) {
    const surg__rvalue x = e.kind == SURG__R_INTS ? integer(e.items[i].i) : real(e.items[i].f);
    if (!surg__rvalue_equal(&x, &a[0], &known)) return known ? boolean(false) : unknown;
  }
  return boolean(true);
}

/* finite(x): whether no element of a float constant is NaN or infinite. */
static surg__rvalue fn_finite(surg__match *m, const surg_value *v, const surg__rvalue *a,
                              size_t n) {
  (void)a, (void)n;
  const surg__rvalue e = elements(m, v);
  if (e.kind != SURG__R_FLOATS) return unknown;
  for (size_t i = 0; i < e.n; i++)
    if (!isfinite(e.items[i].f)) return boolean(false);
  return boolean(true);
}

/* Returns the least or largest element of a float constant of any size, such as weights. */
static surg__rvalue extent(const surg_value *v, bool largest) {
  const surg_tensor *t = v ? surg_value_settled(v) : NULL;
  double least, most;
  if (!t || !surg__tensor_extent(t, &least, &most)) return unknown;
  return real(largest ? most : least);
}

static surg__rvalue fn_tiniest(surg__match *m, const surg_value *v, const surg__rvalue *a,
                               size_t n) {
  (void)m, (void)a, (void)n;
  return extent(v, false);
}

static surg__rvalue fn_peak(surg__match *m, const surg_value *v, const surg__rvalue *a, size_t n) {
  (void)m, (void)a, (void)n;
  return extent(v, true);
}

static const surg_node *made_by(const surg_value *v, int op) {
  const surg_node *n = v ? surg_value_producer(v, NULL) : NULL;
  return n && surg_node_op(n) == op ? n : NULL;
}

static bool by_root(const surg_value *v) {
  const surg_node *n = made_by(v, SURG_OP_Div);
  return n && made_by(surg_node_input(n, 1), SURG_OP_Sqrt);
}

/* normalized(x): whether x is the result of a normalization, with or without scale. Optimizers
 * recognize a normalization by its scale and shift, even where those have no effect. */
static surg__rvalue fn_normalized(surg__match *m, const surg_value *v, const surg__rvalue *a,
                                  size_t count) {
  (void)m, (void)a, (void)count;
  const surg_node *n = made_by(v, SURG_OP_Mul);
  return boolean(by_root(v) ||
                 (n && (by_root(surg_node_input(n, 0)) || by_root(surg_node_input(n, 1)))));
}

static surg__rvalue fn_activated(surg__match *m, const surg_value *v, const surg__rvalue *a,
                                 size_t n) {
  (void)m, (void)a, (void)n;
  return boolean(surg__ends_activation(v));
}

/* positive(x): whether no element has its sign bit set; -0.0 is not positive. */
static surg__rvalue fn_positive(surg__match *m, const surg_value *v, const surg__rvalue *a,
                                size_t n) {
  (void)a, (void)n;
  const surg__rvalue e = elements(m, v);
  if (e.kind == SURG__R_UNKNOWN) return unknown;
  for (size_t i = 0; i < e.n; i++)
    if (e.kind == SURG__R_INTS ? e.items[i].i < 0 : signbit(e.items[i].f) != 0)
      return boolean(false);
  return boolean(true);
}

/* --- ranges --- */

/* Queries the proven range of v. Ranges of non-constant values are recorded in
 * the match, for reports. */
static bool range_of(surg__match *m, const surg_value *v, surg_range *r) {
  if (surg_value_range(v, r) != SURG_OK) return false;
  surg__asked *free_one = NULL;
  if (surg_value_constant(v)) return true; /* not reported for constants */
  for (size_t i = 0; i < SURG_COUNT(m->asked) && !free_one; i++) {
    if (m->asked[i].v == v) return true;
    if (!m->asked[i].v) free_one = &m->asked[i];
  }
  if (free_one) *free_one = (surg__asked){v, surg_value_name(v), *r};
  return true;
}

static surg__rvalue fn_low(surg__match *m, const surg_value *v, const surg__rvalue *a, size_t n) {
  surg_range r;
  (void)a, (void)n;
  return range_of(m, v, &r) ? real(r.low) : unknown;
}

static surg__rvalue fn_high(surg__match *m, const surg_value *v, const surg__rvalue *a, size_t n) {
  surg_range r;
  (void)a, (void)n;
  return range_of(m, v, &r) ? real(r.high) : unknown;
}

static surg__rvalue fn_numbers(surg__match *m, const surg_value *v, const surg__rvalue *a,
                               size_t n) {
  surg_range r;
  (void)a, (void)n;
  return range_of(m, v, &r) ? boolean(!r.nan) : unknown;
}

static surg__rvalue fn_no_minus_zero(surg__match *m, const surg_value *v, const surg__rvalue *a,
                                     size_t n) {
  surg_range r;
  (void)a, (void)n;
  return range_of(m, v, &r) ? boolean(!r.minus_zero) : unknown;
}

/* --- numbers --- */

/* Element-wise minimum or maximum of integers: of two lists, or of a list and a number. */
static surg__rvalue pick_each(surg__match *m, const surg__rvalue *a, bool greatest) {
  const bool first = a[0].kind == SURG__R_INTS, second = a[1].kind == SURG__R_INTS;
  const size_t n = first ? a[0].n : a[1].n;
  assert(first || second);
  if ((first && second && a[0].n != a[1].n) || (!first && a[0].kind != SURG__R_INT) ||
      (!second && a[1].kind != SURG__R_INT))
    return unknown;
  surg__rnum *items = surg__arena_array(m->arena, n + 1, sizeof *items);
  for (size_t i = 0; items && i < n; i++) {
    const surg__rnum *x = first ? &a[0].items[i] : &a[0].one;
    const surg__rnum *y = second ? &a[1].items[i] : &a[1].one;
    items[i] = (x->i > y->i) == greatest ? *x : *y;
    if (!x->known || !y->known) items[i] = (surg__rnum){.dim = {.value = -1}};
  }
  return items ? (surg__rvalue){.kind = SURG__R_INTS, .items = items, .n = n} : unknown;
}

static surg__rvalue pick(surg__match *m, const surg__rvalue *a, bool greatest) {
  int64_t x, y;
  if (a[0].kind == SURG__R_INTS || a[1].kind == SURG__R_INTS) return pick_each(m, a, greatest);
  if (get_int(&a[0], &x) && get_int(&a[1], &y)) return (x > y) == greatest ? a[0] : a[1];
  if (a[0].kind != SURG__R_FLOAT || a[1].kind != SURG__R_FLOAT) return unknown;
  if (a[0].one.f != a[0].one.f || a[1].one.f != a[1].one.f) return unknown;
  return (a[0].one.f > a[1].one.f) == greatest ? a[0] : a[1];
}

static surg__rvalue fn_min(surg__match *m, const surg_value *v, const surg__rvalue *a, size_t n) {
  (void)v, (void)n;
  return pick(m, a, false);
}

static surg__rvalue fn_max(surg__match *m, const surg_value *v, const surg__rvalue *a, size_t n) {
  (void)v, (void)n;
  return pick(m, a, true);
}

static surg__rvalue fn_float(surg__match *m, const surg_value *v, const surg__rvalue *a, size_t n) {
  (void)m, (void)v, (void)n;
  if (a[0].kind == SURG__R_FLOAT) return a[0];
  int64_t i;
  return get_int(&a[0], &i) ? real((double)i) : unknown;
}

static surg__rvalue fn_int(surg__match *m, const surg_value *v, const surg__rvalue *a, size_t n) {
  (void)m, (void)v, (void)n;
  if (a[0].kind == SURG__R_INT) return a[0];
  if (a[0].kind == SURG__R_BOOL) return integer(a[0].one.i);
  if (a[0].kind == SURG__R_DTYPE) return integer(a[0].one.i);
  if (a[0].kind != SURG__R_FLOAT || !(fabs(a[0].one.f) < 9e15)) return unknown;
  return a[0].one.f == floor(a[0].one.f) ? integer((int64_t)a[0].one.f) : unknown;
}

static surg__rvalue fn_inf(surg__match *m, const surg_value *v, const surg__rvalue *a, size_t n) {
  (void)m, (void)v, (void)a, (void)n;
  return real((double)INFINITY);
}

/* largest(dtype): the largest finite number of a float type. */
static surg__rvalue fn_largest(surg__match *m, const surg_value *v, const surg__rvalue *a,
                               size_t n) {
  (void)m, (void)v, (void)n;
  if (a[0].kind != SURG__R_DTYPE) return unknown;
  switch (a[0].one.i) {
    case SURG_FLOAT16: return real(65504.0);
    case SURG_BFLOAT16: return real(0x1.fep127);
    case SURG_FLOAT: return real((double)FLT_MAX);
    case SURG_DOUBLE: return real(DBL_MAX);
    default: return unknown;
  }
}

static surg__rvalue fn_sqrt(surg__match *m, const surg_value *v, const surg__rvalue *a, size_t n) {
  (void)m, (void)v, (void)n;
  return a[0].kind == SURG__R_FLOAT ? real(sqrt(a[0].one.f)) : unknown;
}

static surg__rvalue fn_if(surg__match *m, const surg_value *v, const surg__rvalue *a, size_t n) {
  (void)m, (void)v, (void)n;
  return a[0].kind == SURG__R_BOOL ? a[0].one.i ? a[1] : a[2] : unknown;
}

static surg__rvalue fn_opset(surg__match *m, const surg_value *v, const surg__rvalue *a, size_t n) {
  (void)v, (void)a, (void)n;
  return integer(surg_graph_opset(m->g, ""));
}

static surg__rvalue fn_is_float(surg__match *m, const surg_value *v, const surg__rvalue *a,
                                size_t n) {
  (void)m, (void)v, (void)n;
  return a[0].kind == SURG__R_DTYPE ? boolean(surg__dtype_is_float((int)a[0].one.i)) : unknown;
}

static surg__rvalue fn_is_int(surg__match *m, const surg_value *v, const surg__rvalue *a,
                              size_t n) {
  (void)m, (void)v, (void)n;
  if (a[0].kind != SURG__R_DTYPE) return unknown;
  const int d = (int)a[0].one.i;
  return boolean(surg__dtype_is_int(d));
}

/* --- lists --- */

static bool is_list(const surg__rvalue *v) {
  return v->kind == SURG__R_INTS || v->kind == SURG__R_FLOATS;
}

/* Whether all elements of a list are known integers. */
static bool known_ints(const surg__rvalue *v) {
  if (v->kind != SURG__R_INTS) return false;
  for (size_t i = 0; i < v->n; i++)
    if (!v->items[i].known) return false;
  return true;
}

static surg__rvalue list_of(surg__rkind kind, const surg__rnum *items, size_t n) {
  assert(kind == SURG__R_INTS || kind == SURG__R_FLOATS);
  return (surg__rvalue){.kind = kind, .items = items, .n = n};
}

static surg__rnum *room(surg__match *m, size_t n) {
  return n <= SURG__RULE_LIST ? surg__arena_array(m->arena, n + 1, sizeof(surg__rnum)) : NULL;
}

static surg__rvalue fn_len(surg__match *m, const surg_value *v, const surg__rvalue *a, size_t n) {
  (void)m, (void)v, (void)n;
  return is_list(&a[0]) || a[0].kind == SURG__R_STRINGS ? integer((int64_t)a[0].n) : unknown;
}

/* least(list): the smallest element. */
static surg__rvalue fn_least(surg__match *m, const surg_value *v, const surg__rvalue *a, size_t n) {
  (void)m, (void)v, (void)n;
  if (a[0].kind == SURG__R_FLOATS && a[0].n > 0) {
    double low = a[0].items[0].f;
    for (size_t i = 1; i < a[0].n; i++) low = !(a[0].items[i].f >= low) ? a[0].items[i].f : low;
    return real(low);
  }
  if (!known_ints(&a[0]) || a[0].n == 0) return unknown;
  int64_t least = a[0].items[0].i;
  for (size_t i = 1; i < a[0].n; i++)
    if (a[0].items[i].i < least) least = a[0].items[i].i;
  return integer(least);
}

static surg__rvalue total(const surg__rvalue *a, bool product) {
  int64_t r = product;
  if (!known_ints(a)) return unknown;
  for (size_t i = 0; i < a->n; i++)
    if (!(product ? surg__mul_i64(r, a->items[i].i, &r) : surg__add_i64(r, a->items[i].i, &r)))
      return unknown;
  return integer(r);
}

static surg__rvalue fn_sum(surg__match *m, const surg_value *v, const surg__rvalue *a, size_t n) {
  (void)m, (void)v, (void)n;
  return total(&a[0], false);
}

static surg__rvalue fn_prod(surg__match *m, const surg_value *v, const surg__rvalue *a, size_t n) {
  (void)m, (void)v, (void)n;
  return total(&a[0], true);
}

static surg__rvalue fn_concat(surg__match *m, const surg_value *v, const surg__rvalue *a,
                              size_t n) {
  size_t count = 0;
  surg__rkind kind = SURG__R_INTS;
  (void)v;
  for (size_t i = 0; i < n; i++) {
    if (!is_list(&a[i])) return unknown;
    if (a[i].n) kind = a[i].kind;
    count += a[i].n;
  }
  surg__rnum *items = room(m, count);
  if (!items) return unknown;
  size_t at = 0;
  for (size_t i = 0; i < n; i++) {
    if (a[i].n && a[i].kind != kind) return unknown;
    if (a[i].n) memcpy(items + at, a[i].items, a[i].n * sizeof *items);
    at += a[i].n;
  }
  return list_of(kind, items, count);
}

static surg__rvalue fn_slice(surg__match *m, const surg_value *v, const surg__rvalue *a, size_t n) {
  int64_t from, to;
  (void)m, (void)v, (void)n;
  if (!is_list(&a[0]) || !get_int(&a[1], &from) || !get_int(&a[2], &to)) return unknown;
  const int64_t len = (int64_t)a[0].n;
  if (from < 0) from += len;
  if (to < 0) to += len;
  if (from < 0 || to > len || from > to) return unknown;
  return list_of(a[0].kind, a[0].items + from, (size_t)(to - from));
}

static surg__rvalue fn_range(surg__match *m, const surg_value *v, const surg__rvalue *a, size_t n) {
  int64_t from = 0, to;
  (void)v;
  assert(n == 1 || n == 2);
  if (n == 2 && !get_int(&a[0], &from)) return unknown;
  if (!get_int(&a[n - 1], &to) || from < -1000000 || to > 1000000) return unknown;
  const size_t count = to > from ? (size_t)(to - from) : 0;
  surg__rnum *items = room(m, count);
  if (!items) return unknown;
  for (size_t i = 0; i < count; i++)
    items[i] = (surg__rnum){.known = true, .i = from + (int64_t)i};
  return list_of(SURG__R_INTS, items, count);
}

static surg__rvalue fn_repeat(surg__match *m, const surg_value *v, const surg__rvalue *a,
                              size_t n) {
  int64_t count;
  (void)v, (void)n;
  if ((a[0].kind != SURG__R_INT && a[0].kind != SURG__R_FLOAT) || !get_int(&a[1], &count) ||
      count < 0 || count > (int64_t)SURG__RULE_LIST)
    return unknown;
  surg__rnum *items = room(m, (size_t)count);
  if (!items) return unknown;
  for (int64_t i = 0; i < count; i++) items[i] = a[0].one;
  return list_of(a[0].kind == SURG__R_INT ? SURG__R_INTS : SURG__R_FLOATS, items, (size_t)count);
}

static surg__rvalue fn_reverse(surg__match *m, const surg_value *v, const surg__rvalue *a,
                               size_t n) {
  (void)v, (void)n;
  surg__rnum *items = is_list(&a[0]) ? room(m, a[0].n) : NULL;
  if (!items) return unknown;
  for (size_t i = 0; i < a[0].n; i++) items[i] = a[0].items[a[0].n - 1 - i];
  return list_of(a[0].kind, items, a[0].n);
}

/* set(list, i, x): a copy of the list with element i replaced. */
static surg__rvalue fn_set(surg__match *m, const surg_value *v, const surg__rvalue *a, size_t n) {
  int64_t i;
  (void)v, (void)n;
  if (!is_list(&a[0]) || !get_int(&a[1], &i)) return unknown;
  if (a[2].kind != (a[0].kind == SURG__R_INTS ? SURG__R_INT : SURG__R_FLOAT)) return unknown;
  if (i < 0) i += (int64_t)a[0].n;
  if (i < 0 || (uint64_t)i >= a[0].n) return unknown;
  surg__rnum *items = room(m, a[0].n);
  if (!items) return unknown;
  memcpy(items, a[0].items, a[0].n * sizeof *items);
  items[i] = a[2].one;
  return list_of(a[0].kind, items, a[0].n);
}

static int by_value(const void *x, const void *y) {
  const surg__rnum *a = x, *b = y;
  assert(a->known && b->known); /* checked by `known_ints` */
  return (a->i > b->i) - (a->i < b->i);
}

static surg__rvalue fn_sorted(surg__match *m, const surg_value *v, const surg__rvalue *a,
                              size_t n) {
  (void)v, (void)n;
  surg__rnum *items = known_ints(&a[0]) ? room(m, a[0].n) : NULL;
  if (!items) return unknown;
  if (a[0].n) memcpy(items, a[0].items, a[0].n * sizeof *items);
  qsort(items, a[0].n, sizeof *items, by_value);
  return list_of(SURG__R_INTS, items, a[0].n);
}

/* normal(axes, rank): axes as 0 to rank - 1; unknown if one is out of range. Also
 * accepts a single axis. */
static surg__rvalue fn_normal(surg__match *m, const surg_value *v, const surg__rvalue *a,
                              size_t n) {
  int64_t rank, axis;
  (void)v, (void)n;
  if (!get_int(&a[1], &rank)) return unknown;
  if (get_int(&a[0], &axis)) {
    if (axis < 0) axis += rank;
    return axis >= 0 && axis < rank ? integer(axis) : unknown;
  }
  surg__rnum *items = known_ints(&a[0]) ? room(m, a[0].n) : NULL;
  if (!items) return unknown;
  for (size_t i = 0; i < a[0].n; i++) {
    items[i] = a[0].items[i];
    if (items[i].i < 0) items[i].i += rank;
    if (items[i].i < 0 || items[i].i >= rank) return unknown;
  }
  return list_of(SURG__R_INTS, items, a[0].n);
}

/* without(list, axes): the elements whose index is not among the axes. */
static surg__rvalue fn_without(surg__match *m, const surg_value *v, const surg__rvalue *a,
                               size_t n) {
  (void)v, (void)n;
  surg__rnum *items = is_list(&a[0]) && known_ints(&a[1]) ? room(m, a[0].n) : NULL;
  size_t count = 0;
  if (!items) return unknown;
  for (size_t i = 0; i < a[0].n; i++) {
    bool drop = false;
    for (size_t k = 0; k < a[1].n; k++) drop |= a[1].items[k].i == (int64_t)i;
    if (!drop) items[count++] = a[0].items[i];
  }
  return list_of(a[0].kind, items, count);
}

/* place(n, v, indices, values): a list of n times v, with the values stored at the indices. */
static surg__rvalue fn_place(surg__match *m, const surg_value *v, const surg__rvalue *a, size_t n) {
  int64_t count;
  (void)v, (void)n;
  if (!get_int(&a[0], &count) || count < 0 || count > (int64_t)SURG__RULE_LIST ||
      !known_ints(&a[2]) || !is_list(&a[3]) || a[2].n != a[3].n)
    return unknown;
  const surg__rkind kind = a[1].kind == SURG__R_INT ? SURG__R_INTS : SURG__R_FLOATS;
  if ((a[1].kind != SURG__R_INT && a[1].kind != SURG__R_FLOAT) || (a[3].n && a[3].kind != kind))
    return unknown;
  surg__rnum *items = room(m, (size_t)count);
  if (!items) return unknown;
  for (int64_t i = 0; i < count; i++) items[i] = a[1].one;
  for (size_t i = 0; i < a[2].n; i++) {
    const int64_t k = a[2].items[i].i;
    if (k < 0 || k >= count) return unknown;
    items[k] = a[3].items[i];
  }
  return list_of(kind, items, (size_t)count);
}

static surg__rvalue fn_take(surg__match *m, const surg_value *v, const surg__rvalue *a, size_t n) {
  (void)v, (void)n;
  surg__rnum *items = is_list(&a[0]) && known_ints(&a[1]) ? room(m, a[1].n) : NULL;
  if (!items) return unknown;
  for (size_t i = 0; i < a[1].n; i++) {
    const int64_t k = a[1].items[i].i;
    if (k < 0 || (uint64_t)k >= a[0].n) return unknown;
    items[i] = a[0].items[k];
  }
  return list_of(a[0].kind, items, a[1].n);
}

/* in_order(x, perm): whether transposing x by perm keeps the order of its elements: perm only moves
 * axes of one element. */
static surg__rvalue fn_in_order(surg__match *m, const surg_value *v, const surg__rvalue *a,
                                size_t n) {
  int64_t last = -1;
  (void)m, (void)n;
  const surg_type *t = tensor_type(v);
  if (!t || !surg_type_has_rank(t) || !known_ints(&a[0]) || a[0].n != surg_type_rank(t))
    return unknown;
  for (size_t i = 0; i < a[0].n; i++) {
    const int64_t axis = a[0].items[i].i;
    if (axis < 0 || (uint64_t)axis >= a[0].n) return unknown;
    if (surg_type_dim(t, (size_t)axis)->value == 1) continue;
    if (axis < last) return surg_type_static(t, NULL) ? boolean(false) : unknown;
    last = axis;
  }
  return boolean(true);
}

static surg__rvalue fn_inverse(surg__match *m, const surg_value *v, const surg__rvalue *a,
                               size_t n) {
  (void)v, (void)n;
  surg__rnum *items = known_ints(&a[0]) ? room(m, a[0].n) : NULL;
  if (!items) return unknown;
  for (size_t i = 0; i < a[0].n; i++) {
    const int64_t k = a[0].items[i].i;
    if (k < 0 || (uint64_t)k >= a[0].n || items[k].known) return unknown;
    items[k] = (surg__rnum){.known = true, .i = (int64_t)i};
  }
  return list_of(SURG__R_INTS, items, a[0].n);
}

/* tensor(list, dims) and fill(number, dims): the elements and the shape of a constant. */
static surg__rvalue with_dims(surg__match *m, surg__rvalue v, const surg__rvalue *dims) {
  uint64_t count;
  int64_t *d = known_ints(dims) ? surg__arena_array(m->arena, dims->n + 1, sizeof *d) : NULL;
  if (!d) return unknown;
  for (size_t i = 0; i < dims->n; i++) d[i] = dims->items[i].i;
  if (!surg__dims_product(d, dims->n, &count) || (is_list(&v) && count != v.n) ||
      count > SURG__RULE_LIST * 64)
    return unknown;
  v.dims = d;
  v.rank = dims->n;
  return v;
}

static surg__rvalue fn_tensor(surg__match *m, const surg_value *v, const surg__rvalue *a,
                              size_t n) {
  (void)v, (void)n;
  return is_list(&a[0]) ? with_dims(m, a[0], &a[1]) : unknown;
}

static surg__rvalue fn_fill(surg__match *m, const surg_value *v, const surg__rvalue *a, size_t n) {
  (void)v, (void)n;
  const bool number = a[0].kind == SURG__R_INT || a[0].kind == SURG__R_FLOAT;
  return number && a[0].one.known ? with_dims(m, a[0], &a[1]) : unknown;
}

static const surg__rule_fn functions[] = {
    {"activated", true, false, 0, 0, fn_activated, "activated(x): x is a Gelu but for a factor"},
    {"alone", true, false, 0, 0, fn_alone,
     "alone(x): nothing else reads it, or max-growth allows to keep it, too"},
    {"absent", true, true, 0, 0, fn_absent, "absent(x): the optional x is not there"},
    {"all", true, true, 1, 1, fn_all, "all(x, v): every element is known to be v"},
    {"concat", false, false, 1, 6, fn_concat, "concat(a, b, ...): the lists concatenated"},
    {"const", true, true, 0, 0, fn_const, "const(x): x is the same in every run"},
    {"dim", true, false, 1, 1, fn_dim, "dim(x, i): dimension i, from the end where negative"},
    {"dtype", true, true, 0, 0, fn_dtype, "dtype(x): the element type"},
    {"fill", false, false, 2, 2, fn_fill,
     "fill(v, dims): a constant of that shape, every element v"},
    {"filled", true, true, 0, 0, fn_filled, "filled(x): x is proven to have elements"},
    {"float", false, false, 1, 1, fn_float, "float(i)"},
    {"finite", true, true, 0, 0, fn_finite,
     "finite(x): a constant of floats, none infinite, none NaN"},
    {"floats", true, false, 0, 0, fn_floats, "floats(x): the elements of a constant of floats"},
    {"high", true, false, 0, 0, fn_high,
     "high(x): no element is above; infinity where nothing is known"},
    {"if", false, false, 3, 3, fn_if, "if(c, a, b)"},
    {"together", true, false, 0, 0, fn_together,
     "together(x): alone(x), or all its consumers are alike: the rule applies to each of them"},
    {"unlimited", false, false, 0, 0, fn_inf, "unlimited(): infinity"},
    {"int", false, false, 1, 1, fn_int, "int(f): of an integer, a boolean or an element type"},
    {"in_order", true, false, 1, 1, fn_in_order,
     "in_order(x, perm): perm moves only axes of one element"},
    {"ints", true, false, 0, 0, fn_ints,
     "ints(x): the elements of integers that are constant or proven"},
    {"inverse", false, false, 1, 1, fn_inverse, "inverse(perm)"},
    {"is_float", false, true, 1, 1, fn_is_float, "is_float(dtype)"},
    {"is_int", false, true, 1, 1, fn_is_int, "is_int(dtype)"},
    {"largest", false, true, 1, 1, fn_largest,
     "largest(dtype): the largest finite number of a type of floats"},
    {"least", false, false, 1, 1, fn_least, "least(list): the smallest"},
    {"len", false, false, 1, 1, fn_len, "len(list)"},
    {"low", true, false, 0, 0, fn_low, "low(x): no element is below"},
    {"max", false, false, 2, 2, fn_max, "max(a, b): of numbers, or of lists element by element"},
    {"min", false, false, 2, 2, fn_min, "min(a, b): of numbers, or of lists element by element"},
    {"normal", false, false, 2, 2, fn_normal, "normal(axes, rank): axes from 0 on"},
    {"no_minus_zero", true, false, 0, 0, fn_no_minus_zero, "no_minus_zero(x): no element is -0"},
    {"numbers", true, false, 0, 0, fn_numbers, "numbers(x): no element is NaN"},
    {"opset", false, false, 0, 0, fn_opset, "opset(): the opset in force"},
    {"peak", true, true, 0, 0, fn_peak,
     "peak(x): the largest magnitude in a constant of floats that are all finite"},
    {"place", false, false, 4, 4, fn_place,
     "place(n, v, indices, values): n times v, but values there"},
    {"normalized", true, false, 0, 0, fn_normalized,
     "normalized(x): x was divided by a root, and scaled at most"},
    {"positive", true, true, 0, 0, fn_positive,
     "positive(x): x is constant, no element has a minus sign"},
    {"present", true, true, 0, 0, fn_present, "present(x): the optional x is there"},
    {"prod", false, false, 1, 1, fn_prod, "prod(list)"},
    {"range", false, false, 1, 2, fn_range, "range(n), range(a, b)"},
    {"rank", true, true, 0, 0, fn_rank, "rank(x)"},
    {"repeat", false, false, 2, 2, fn_repeat, "repeat(v, n): a list of n times v"},
    {"reverse", false, false, 1, 1, fn_reverse, "reverse(list)"},
    {"scalar", true, true, 0, 0, fn_scalar, "scalar(x): the one element, constant or proven"},
    {"set", false, false, 3, 3, fn_set, "set(list, i, v): the list with another element i"},
    {"shape", true, false, 0, 0, fn_shape, "shape(x): dimensions, symbols among them"},
    {"size", true, true, 0, 0, fn_size, "size(x): how many elements"},
    {"slice", false, false, 3, 3, fn_slice, "slice(list, from, to)"},
    {"sorted", false, false, 1, 1, fn_sorted, "sorted(list)"},
    {"sqrt", false, false, 1, 1, fn_sqrt, "sqrt(f)"},
    {"static", true, true, 0, 0, fn_static, "static(x): every dimension is known"},
    {"sum", false, false, 1, 1, fn_sum, "sum(list)"},
    {"take", false, false, 2, 2, fn_take, "take(list, indices)"},
    {"tensor", false, false, 2, 2, fn_tensor, "tensor(list, dims): a constant of that shape"},
    {"tiniest", true, true, 0, 0, fn_tiniest,
     "tiniest(x): the least magnitude but 0 in a constant of floats that are all finite"},
    {"uses", true, false, 0, 0, fn_uses,
     "uses(x): how many readers, outputs of the graph among them"},
    {"without", false, false, 2, 2, fn_without, "without(list, indices)"},
};

const surg__rule_fn *surg__rule_fn_find(surg_str name) {
  for (size_t i = 0; i < SURG_COUNT(functions); i++)
    if (surg__text_word(name.p, name.n, functions[i].name)) return &functions[i];
  return NULL;
}

const surg__rule_fn *surg__rfn_list(size_t *n) {
  *n = SURG_COUNT(functions);
  return functions;
}
