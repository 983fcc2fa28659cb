/* SPDX-License-Identifier: Apache-2.0 */
/* The value range of an operator's result, from the ranges of its inputs. An operator without a
 * range rule in lib/schema/traits.table has the range of its type. */
#include <math.h>

#include "infer/ranges.h"

typedef enum kind {
  NOTHING,
  FIXED,   /* has a range even if that of input 0 is unknown */
  COPY,    /* elements of input 0, rearranged */
  ONE,     /* depends on input 0 */
  TWO,     /* depends on inputs 0 and 1 */
  ALL,     /* depends on all inputs */
  THREE,   /* depends on up to three inputs, some optional */
  BRANCHES /* an output of If: depends on the outputs of the branches */
} kind;
_Static_assert(BRANCHES <= UINT8_MAX, "a kind fits an entry of the table");

static const uint8_t kinds[SURG_OP_COUNT] = {
#define SURG_TRAIT_RANGE(op, kind) [SURG_OP_##op] = kind,
#include "schema/traits.gen.h"
#undef SURG_TRAIT_RANGE
};
_Static_assert(SURG_COUNT(kinds) == SURG_OP_COUNT, "an entry for each operator");

static kind kind_of(int op) {
  return op > 0 && op < SURG_OP_COUNT ? (kind)kinds[op] : NOTHING;
}

size_t surg__range_needs(const surg_node *n, size_t output) {
  const size_t inputs = surg_node_input_count(n);
  if (surg_node_class(n) != SURG_OP_CLASS_BUILTIN || surg_node_nondeterministic(n)) return 0;
  for (size_t i = 0; i < surg_node_attr_count(n); i++)
    if (surg_attr_ref(surg_node_attr_at(n, i))) return 0;
  const kind k = kind_of(surg_node_op(n));
  if (output > 0 && k != BRANCHES && surg_node_op(n) != SURG_OP_Split) return 0;
  switch (k) {
    case NOTHING: return 0;
    case TWO: return inputs >= 2 ? 2 : 0;
    case ALL: return inputs <= SURG__RANGE_INPUTS ? inputs : 0;
    case THREE: return inputs < 4 ? inputs : 3;
    case BRANCHES: return 2;
    default: return inputs > 0;
  }
}

typedef struct asked {
  const surg_node *n;
  int op, dtype; /* of input 0; of the result where the type of input 0 has no order */
  const surg_range *in;
  const bool *has;
} asked;

static surg_range between(double low, double high, bool nan) {
  return (surg_range){.low = low, .high = high, .nan = nan};
}

static bool infinite(const surg_range *r) { return isinf(r->low) || isinf(r->high); }

/* Whether the range contains only one number, stored in *v. */
static bool number(const surg_range *r, double *v) {
  *v = r->low;
  return r->low == r->high && !r->nan;
}

/* --- one input --- */

static surg_range relu(surg_range x) {
  /* Engines map NaN to NaN or to 0. */
  const double low = x.nan || x.low < 0 ? 0 : x.low;
  x.high = x.high < 0 ? 0 : x.high;
  x.low = low;
  x.minus_zero = x.minus_zero && low == 0;
  return x;
}

/* The absolute value of the smallest integer of a type wraps to itself. */
static surg_range absolute(surg_range x, surg_range all) {
  if (!all.nan && x.low <= all.low && x.low < 0) return all;
  return (surg_range){.low = x.low >= 0 ? x.low : x.high < 0 ? -x.high : 0,
                      .high = fmax(x.high, -x.low),
                      .nan = x.nan,
                      .assumed = x.assumed};
}

/* Means and sums of elements of one sign have that sign; their size depends on rounding. */
static surg_range summed(surg_range x) {
  const bool both = x.low == -INFINITY && x.high == INFINITY;
  x.low = x.low >= 0 ? 0 : -INFINITY;
  x.high = x.high <= 0 ? 0 : INFINITY;
  x.nan = x.nan || both;
  x.minus_zero = x.minus_zero || x.low < 0;
  return x;
}

/* Whether every window of a pool contains an element of the input. */
static bool windows_filled(const surg_node *n) {
  size_t pads, sides, steps;
  const int64_t *pad = surg_node_ints(n, "pads", &pads);
  const int64_t *k = surg_node_ints(n, "kernel_shape", &sides);
  const int64_t *d = surg_node_ints(n, "dilations", &steps);
  if (surg_node_int(n, "ceil_mode", 0) != 0 || !k) return false;
  for (size_t i = 0; d && i < steps; i++)
    if (d[i] != 1) return false;
  for (size_t i = 0; pad && i < pads; i++)
    if (sides == 0 || pad[i] < 0 || pad[i] >= k[i % sides]) return false;
  return true;
}

/* Whether the value is proven to have elements: a reduction of no elements gives another result. */
static bool filled(const surg_value *v) {
  const surg_type *t = surg_value_type(v);
  if (!t || !surg_type_has_rank(t)) return false;
  for (size_t i = 0; i < surg_type_rank(t); i++) {
    int64_t low, high;
    if (!surg_dim_range(surg_type_dim(t, i), &low, &high) || low < 1) return false;
  }
  return true;
}

static surg_range reduced(const asked *q, surg_range all) {
  const surg_range x = q->in[0];
  surg_range r = all;
  const bool whole = surg__dtype_is_int(q->dtype); /* integer sums may wrap */
  switch (q->op) {
    case SURG_OP_GlobalMaxPool:
    case SURG_OP_ReduceMax:
    case SURG_OP_ReduceMin:
      /* If all elements are NaN some engines return the lowest number. */
      return !x.nan && filled(surg_node_input(q->n, 0)) ? x : all;
    case SURG_OP_ReduceMean:
      if (whole || !filled(surg_node_input(q->n, 0))) return all;
      return summed(x);
    case SURG_OP_ReduceSum:
      return whole ? all : summed(x);
    default: /* sums of nonnegative terms */
      if (whole || surg_node_int(q->n, "noop_with_empty_axes", 0) == 1) return all;
      r = between(0, INFINITY, x.nan);
      r.assumed = x.assumed;
      return r;
  }
}

static surg_range truth(bool never, bool always, const surg_range *a, const surg_range *b) {
  surg_range r = between(always ? 1 : 0, never ? 0 : 1, false);
  r.assumed = (always || never) && (a->assumed || (b && b->assumed));
  return r;
}

static surg_range bounded(surg_range x, double low, double high, bool nan) {
  surg_range r = between(low, high, x.nan || nan);
  r.minus_zero = low < 0;
  r.assumed = x.assumed;
  return r;
}

static surg_range rounded(surg_range x, int dtype, double (*f)(double)) {
  const bool vanishes = x.low < 0 && f != floor;
  x = surg__range_map(dtype, x, f);
  x.minus_zero = x.minus_zero || vanishes;
  return x;
}

/* The range of a square root, which engines round once. */
static surg_range root(surg_range x, int dtype) {
  const bool wrong = x.low < 0;
  x.low = fmax(x.low, 0);
  x.high = fmax(x.high, 0);
  x = surg__range_map(dtype, x, sqrt);
  x.high = nextafter(x.high, INFINITY);
  if (x.low > 0) x.low = nextafter(x.low, 0);
  x = surg__range_round(dtype, x);
  x.nan = x.nan || wrong;
  return x;
}

static surg_range of_one(const asked *q, surg_range all) {
  assert(q->has[0]);
  const surg_range x = q->in[0];
  const bool inf = infinite(&x);
  switch (q->op) {
    case SURG_OP_Abs: return absolute(x, all);
    case SURG_OP_Neg: return surg__range_neg(q->dtype, x);
    case SURG_OP_Relu: return relu(x);
    case SURG_OP_Ceil: return rounded(x, q->dtype, ceil);
    case SURG_OP_Floor: return rounded(x, q->dtype, floor);
    case SURG_OP_Round: return rounded(x, q->dtype, rint);
    case SURG_OP_Sqrt: return root(x, q->dtype);
    case SURG_OP_Exp:
    case SURG_OP_Softplus: return bounded(x, 0, INFINITY, false);
    case SURG_OP_HardSigmoid:
    case SURG_OP_Sigmoid: return bounded(x, 0, 1, false);
    case SURG_OP_Softmax: return bounded(x, 0, 1, inf);
    case SURG_OP_LogSoftmax: return bounded(x, -INFINITY, 0, inf);
    case SURG_OP_Tanh: return bounded(x, -1, 1, false);
    case SURG_OP_IsNaN: return truth(!x.nan, false, &x, NULL);
    case SURG_OP_IsInf: return truth(!inf, false, &x, NULL);
    case SURG_OP_Not: return truth(x.low == 1, x.high == 0, &x, NULL);
    case SURG_OP_Cast: {
      const surg_type *to = surg_value_type(surg_node_output(q->n, 0));
      return surg__range_cast(q->dtype, surg_type_dtype(to), x);
    }
    case SURG_OP_MaxPool: return !x.nan && windows_filled(q->n) ? x : all;
    case SURG_OP_AveragePool:
    case SURG_OP_GlobalAveragePool: {
      surg_range r = summed(x);
      r.nan = r.nan || !filled(surg_node_input(q->n, 0));
      return q->op == SURG_OP_AveragePool && !windows_filled(q->n) ? all : r;
    }
    default: return reduced(q, all);
  }
}

/* --- two inputs --- */

/* Valid for NaN too: every comparison with NaN is false. */
static surg_range compared(int op, const surg_range *a, const surg_range *b) {
  const bool numbers = !a->nan && !b->nan;
  switch (op) {
    case SURG_OP_Less: return truth(a->low >= b->high, numbers && a->high < b->low, a, b);
    case SURG_OP_Greater: return truth(a->high <= b->low, numbers && a->low > b->high, a, b);
    case SURG_OP_LessOrEqual: return truth(a->low > b->high, numbers && a->high <= b->low, a, b);
    case SURG_OP_GreaterOrEqual:
      return truth(a->high < b->low, numbers && a->low >= b->high, a, b);
    default: {
      double x, y;
      const bool same = number(a, &x) && number(b, &y) && x == y;
      return truth(a->low > b->high || a->high < b->low, same, a, b);
    }
  }
}

/* The range of a power: an even exponent gives no sign; other exponents are not handled. */
static surg_range power(const surg_range *x, const surg_range *y, surg_range all) {
  double e;
  if (!number(y, &e) || e != trunc(e) || e <= 0 || fmod(e, 2) != 0) return all;
  surg_range r = between(0, INFINITY, x->nan);
  r.assumed = x->assumed || y->assumed;
  return r;
}

static surg_range of_two(const asked *q, surg_range all) {
  assert(q->has[0] && q->has[1]);
  const surg_range *a = &q->in[0], *b = &q->in[1];
  const bool square = surg_node_input(q->n, 0) == surg_node_input(q->n, 1);
  switch (q->op) {
    case SURG_OP_Add: return surg__range_add(q->dtype, *a, *b);
    case SURG_OP_Sub: return surg__range_add(q->dtype, *a, surg__range_neg(q->dtype, *b));
    case SURG_OP_Mul: {
      surg_range r = surg__range_mul(q->dtype, *a, *b);
      if (!square || surg__dtype_is_int(q->dtype)) return r;
      r.low = fmax(r.low, 0);
      r.nan = a->nan;
      r.minus_zero = false;
      return r;
    }
    case SURG_OP_Div: return surg__range_div(q->dtype, *a, *b);
    case SURG_OP_Pow: return surg__dtype_is_int(q->dtype) ? all : power(a, b, all);
    case SURG_OP_And: return truth(a->high == 0 || b->high == 0, a->low == 1 && b->low == 1, a, b);
    case SURG_OP_Or: return truth(a->high == 0 && b->high == 0, a->low == 1 || b->low == 1, a, b);
    default: return compared(q->op, a, b);
  }
}

/* --- many inputs --- */

static surg_range of_all(const asked *q, size_t n, surg_range all) {
  assert(n <= SURG__RANGE_INPUTS);
  surg_range r = n > 0 && q->has[0] ? q->in[0] : all;
  for (size_t i = 1; i < n; i++) {
    if (!q->has[i]) return all;
    switch (q->op) {
      case SURG_OP_Max: r = surg__range_max(r, q->in[i]); break;
      case SURG_OP_Min: r = surg__range_min(r, q->in[i]); break;
      case SURG_OP_Sum: r = surg__range_add(q->dtype, r, q->in[i]); break;
      default: r = surg__range_join(r, q->in[i]); break;
    }
  }
  /* Engines may add three or more terms in any order. */
  return q->op == SURG_OP_Sum && n > 2 ? summed(r) : r;
}

/* A bound of Clip: an input, or before opset 11 an attribute; an absent one does not limit. */
static surg_range clip_bound(const asked *q, size_t i, const char *attr, double none, bool *known) {
  const surg_attr *a = surg_node_attr(q->n, attr);
  *known = true;
  if (a) none = (double)surg_node_float(q->n, attr, 0);
  if (none != none) *known = false;
  if (a || i >= surg_node_input_count(q->n) || !surg_node_input(q->n, i))
    return between(none, none, false);
  *known = q->has[i];
  return q->in[i];
}

static surg_range clipped(const asked *q, surg_range all) {
  bool low_known, high_known;
  const surg_range low = clip_bound(q, 1, "min", -INFINITY, &low_known);
  const surg_range high = clip_bound(q, 2, "max", INFINITY, &high_known);
  if (!low_known || !high_known) return all;
  surg_range r = surg__range_min(surg__range_max(q->in[0], low), high);
  /* A bound may be a zero of the other sign than the element it replaces. */
  r.minus_zero = q->in[0].minus_zero || low.minus_zero || high.minus_zero;
  return r;
}

static surg_range padded(const asked *q, surg_range all) {
  const surg_attr *a = surg_node_attr(q->n, "mode");
  const surg_str mode = surg_attr_string(a);
  surg_range fill = between(0, 0, false);
  /* Other modes copy elements of the input; before opset 11 the value is an attribute. */
  if (a && (mode.n != 8 || memcmp(mode.p, "constant", 8) != 0)) return q->in[0];
  if (surg_graph_opset(surg_node_graph(q->n), "") < 11) return all;
  if (surg_node_input(q->n, 2)) {
    if (!q->has[2]) return all;
    fill = q->in[2];
  }
  return surg__range_join(q->in[0], fill);
}

/* (x - zero point) * scale; the difference is rounded first where it is large. */
static surg_range dequantized(const asked *q, surg_range all) {
  const surg_type *to = surg_value_type(surg_node_output(q->n, 0));
  surg_range x = q->in[0];
  if (!q->has[1] || !surg__dtype_is_int(q->dtype)) return all;
  if (surg_node_input_count(q->n) > 2 && surg_node_input(q->n, 2)) {
    if (!q->has[2]) return all;
    x = surg__range_add(SURG_DOUBLE, x, surg__range_neg(SURG_DOUBLE, q->in[2]));
    x.minus_zero = false;
  }
  x = surg__range_cast(SURG_DOUBLE, surg_type_dtype(to), x);
  return surg__range_mul(surg_type_dtype(to), x, q->in[1]);
}

static surg_range chosen(const asked *q, surg_range all) {
  if (!q->has[1] || !q->has[2]) return all;
  surg_range r = surg__range_join(q->in[1], q->in[2]);
  if (q->has[0] && q->in[0].low == 1) r = q->in[1];
  if (q->has[0] && q->in[0].high == 0) r = q->in[2];
  r.assumed = r.assumed || (q->has[0] && q->in[0].assumed);
  return r;
}

static surg_range of_three(const asked *q, surg_range all) {
  switch (q->op) {
    case SURG_OP_Clip: return clipped(q, all);
    case SURG_OP_Pad: return padded(q, all);
    case SURG_OP_DequantizeLinear: return dequantized(q, all);
    default: return chosen(q, all);
  }
}

/* --- no input --- */

static surg_range fixed(const asked *q, surg_range all) {
  const surg_range x = q->has[0] ? q->in[0] : all;
  switch (q->op) {
    case SURG_OP_Sin:
    case SURG_OP_Cos: return bounded(x, -1, 1, infinite(&x));
    case SURG_OP_Erf: return bounded(x, -1, 1, false);
    case SURG_OP_EyeLike: return between(0, 1, false);
    case SURG_OP_ConstantOfShape: {
      const surg_attr *a = surg_node_attr(q->n, "value");
      surg_range r = between(0, 0, false);
      return !a || surg__range_of_tensor(surg_attr_tensor(a, 0), &r) ? r : all;
    }
    default: return between(0, all.high, false);
  }
}

void surg__range_node(const surg_node *n, size_t output, const surg_range *in, const bool *has,
                      surg_range *r) {
  const surg_type *type = surg_value_type(surg_node_input(n, 0));
  asked q = {.n = n, .op = surg_node_op(n), .in = in, .has = has};
  q.dtype = surg_type_get_kind(type) == SURG_TYPE_TENSOR ? surg_type_dtype(type) : 0;
  const kind k = kind_of(q.op);
  const size_t needs = surg__range_needs(n, output);
  if (k != FIXED && !has[0]) return;
  switch (k) {
    case FIXED: *r = fixed(&q, *r); return;
    case COPY: *r = in[0]; return;
    case ONE: *r = of_one(&q, *r); return;
    case TWO:
      if (has[1]) *r = of_two(&q, *r);
      return;
    case ALL: *r = of_all(&q, needs, *r); return;
    case THREE: *r = of_three(&q, *r); return;
    case BRANCHES:
      if (has[1]) *r = surg__range_join(in[0], in[1]);
      return;
    case NOTHING: return;
  }
}
