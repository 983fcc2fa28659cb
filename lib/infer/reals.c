/* SPDX-License-Identifier: Apache-2.0 */
/* Arithmetic on tracked floats: sizes that a model casts to float, scales and casts back. Results
 * follow IEEE arithmetic of the element type; results that are not finite are not tracked. A
 * symbolic element is an expression over a power of two (in `value`), small enough to be exact: a
 * float has 24 significant bits, a double 53. */
#include "infer/rules.h"

#include <math.h>

static bool is_real(int dtype) { return dtype == SURG_FLOAT || dtype == SURG_DOUBLE; }

static surg__elem rounded(int dtype, double v) {
  if (dtype == SURG_DOUBLE) return surg__elem_real(v);
  return fabs(v) <= 3e38 ? surg__elem_real((double)(float)v) : surg__elem_unknown();
}

/* --- expressions over powers of two --- */

#define MOST_OVER (INT64_C(1) << 20)

/* The float e / over, if it is proven to be exact; else unknown. */
static surg__elem exact(int dtype, const surg_expr *e, int64_t over) {
  assert(!e || over > 0); /* a power of two */
  const int64_t most = dtype == SURG_DOUBLE ? INT64_C(1) << 53 : INT64_C(1) << 24;
  int64_t v;
  if (!e || over > MOST_OVER) return surg__elem_unknown();
  if (surg__expr_is_num(e, &v))
    return v > -most && v < most ? surg__elem_real((double)v / (double)over) : surg__elem_unknown();
  if (!surg__expr_at_least_num(e, -most) || !surg__expr_at_most_num(e, most))
    return surg__elem_unknown();
  return (surg__elem){over, e, false};
}

/* Splits an element into *num over *over; NULL: it has no such form. */
static const surg_expr *fraction(const surg__infer *c, surg__elem e, int64_t *over) {
  if (!e.known) {
    *over = e.value;
    return e.expr;
  }
  double v = surg__elem_as_real(e);
  for (*over = 1; v != trunc(v) && *over < MOST_OVER; *over *= 2) v *= 2;
  return v == trunc(v) && fabs(v) < 9007199254740992.0 ? surg__expr_num(c->m, (int64_t)v) : NULL;
}

static bool power_of_two(int64_t v) { return v > 0 && !(v & (v - 1)); }

static surg__elem compute_exact(const surg__infer *c, int dtype, surg__elem a, surg__elem b) {
  int64_t over_a, over_b, by, over;
  const surg_expr *x = fraction(c, a, &over_a), *y = x ? fraction(c, b, &over_b) : NULL;
  if (!y || !surg__mul_i64(over_a, over_b, &over)) return surg__elem_unknown();
  switch (c->op) {
    case SURG_OP_Mul: return exact(dtype, surg__expr_mul(x, y), over);
    case SURG_OP_Div:
      /* x/over_a / (by/over_b) */
      if (!surg__expr_is_num(y, &by) || !power_of_two(by) || !surg__mul_i64(over_a, by, &over))
        return surg__elem_unknown();
      return exact(dtype, surg__expr_scale(x, over_b), over);
    case SURG_OP_Add:
      return exact(dtype, surg__expr_add(surg__expr_scale(x, over_b), surg__expr_scale(y, over_a)),
                   over);
    case SURG_OP_Sub:
      return exact(dtype, surg__expr_sub(surg__expr_scale(x, over_b), surg__expr_scale(y, over_a)),
                   over);
    default: return surg__elem_unknown();
  }
}

/* Floor or Ceil of one symbolic element. */
static surg__elem round_exact(const surg__infer *c, int dtype, surg__elem e) {
  assert(!e.known && (!e.expr || e.value > 0));
  if (c->op == SURG_OP_Floor) return exact(dtype, surg__expr_div_num(e.expr, e.value), 1);
  if (c->op != SURG_OP_Ceil) return surg__elem_unknown();
  return exact(dtype, surg__expr_div_num(surg__expr_add_num(e.expr, e.value - 1), e.value), 1);
}

/* Casts one symbolic element; one side or both are floats. */
static surg__elem cast_exact(surg__elem e, int from, int to) {
  if (!is_real(from)) return exact(to, e.expr, 1);
  if (is_real(to)) return exact(to, e.expr, e.value);
  return surg__expr_at_least_num(e.expr, 0)
             ? surg__elem_from(surg__expr_div_num(e.expr, e.value))
             : surg__elem_unknown(); /* a cast would round towards 0 */
}

/* Computes in double: rounding the double result of two floats to float gives the float result. */
static surg__elem compute(const surg__infer *c, int dtype, surg__elem a, surg__elem b) {
  if (!a.known || !b.known) return compute_exact(c, dtype, a, b);
  const double x = surg__elem_as_real(a), y = surg__elem_as_real(b);
  switch (c->op) {
    case SURG_OP_Add: return rounded(dtype, x + y);
    case SURG_OP_Sub: return rounded(dtype, x - y);
    case SURG_OP_Mul: return rounded(dtype, x * y);
    case SURG_OP_Div: return y != 0 ? rounded(dtype, x / y) : surg__elem_unknown();
    case SURG_OP_Min: return rounded(dtype, x < y ? x : y);
    case SURG_OP_Max: return rounded(dtype, x > y ? x : y);
    default: return surg__elem_unknown();
  }
}

void surg__infer_real_arith(surg__infer *c, const surg_dim *dims, size_t rank) {
  const surg__fact x = surg__infer_in(c, 0);
  const surg_dim count = surg__dim_product(dims, rank);
  surg__elem abuf[SURG__ELEMS], bbuf[SURG__ELEMS], out[SURG__REALS];
  uint32_t na, nb;
  if (surg_node_input_count(c->n) != 2 || !is_real(x.dtype)) return;
  if (count.value < 0 || count.value > (int64_t)SURG__REALS) return;
  const surg__elem *a = surg__infer_any_elems(c, 0, abuf, &na);
  const surg__elem *b = a ? surg__infer_any_elems(c, 1, bbuf, &nb) : NULL;
  const uint32_t n = (uint32_t)count.value;
  if (!b || (na != n && na != 1) || (nb != n && nb != 1)) return;
  for (uint32_t i = 0; i < n; i++)
    out[i] = compute(c, x.dtype, a[na == 1 ? 0 : i], b[nb == 1 ? 0 : i]);
  surg__infer_put_any_elems(c, 0, out, n);
}

void surg__infer_round(surg__infer *c) {
  const surg__fact x = surg__infer_in(c, 0);
  surg__elem buf[SURG__ELEMS], out[SURG__REALS];
  uint32_t n;
  surg__infer_same(c);
  const surg__elem *e =
      c->states && is_real(x.dtype) ? surg__infer_any_elems(c, 0, buf, &n) : NULL;
  if (!e || n > SURG__REALS) return;
  for (uint32_t i = 0; i < n; i++) {
    const double v = surg__elem_as_real(e[i]);
    out[i] = !e[i].known ? round_exact(c, x.dtype, e[i])
                         : surg__elem_real(c->op == SURG_OP_Floor  ? floor(v)
                                           : c->op == SURG_OP_Ceil ? ceil(v)
                                                                   : rint(v));
  }
  surg__infer_put_any_elems(c, 0, out, n);
}

/* Casts one element; one side or both are floats. Integers beyond 2^53, and those that are not
 * exact as a float, are not tracked. */
static surg__elem cast(surg__elem e, int from, int to) {
  const double most = 9007199254740992.0;
  if (!e.known) return cast_exact(e, from, to);
  if (is_real(from) && is_real(to)) return rounded(to, surg__elem_as_real(e));
  if (is_real(to)) {
    const double v = (double)e.value;
    const bool exact = fabs(v) < most && (to == SURG_DOUBLE || (double)(float)v == v);
    return exact ? surg__elem_real(v) : surg__elem_unknown();
  }
  const double v = trunc(surg__elem_as_real(e));
  const double high = to == SURG_INT64 ? most : 2147483648.0;
  return fabs(v) < high ? surg__elem_int((int64_t)v) : surg__elem_unknown();
}

void surg__infer_real_cast(surg__infer *c, int from, int to) {
  surg__elem buf[SURG__ELEMS], out[SURG__REALS];
  uint32_t n;
  const surg__elem *e = surg__infer_any_elems(c, 0, buf, &n);
  if (!e || n > SURG__REALS) return;
  for (uint32_t i = 0; i < n; i++) out[i] = cast(e[i], from, to);
  surg__infer_put_any_elems(c, 0, out, n);
}
