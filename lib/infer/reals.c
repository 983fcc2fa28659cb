/* SPDX-License-Identifier: Apache-2.0 */
/* Arithmetic on tracked floats: sizes that a model casts to float, scales and casts back. Results
 * are those of IEEE arithmetic of the element type; what is not finite is not tracked. */
#include "infer/rules.h"

#include <math.h>

static bool is_real(int dtype) { return dtype == SURG_FLOAT || dtype == SURG_DOUBLE; }

static surg__elem rounded(int dtype, double v) {
  if (dtype == SURG_DOUBLE) return surg__elem_real(v);
  return fabs(v) <= 3e38 ? surg__elem_real((double)(float)v) : surg__elem_unknown();
}

/* In double: rounding the double result of two floats to float is the float result. */
static surg__elem compute(int op, int dtype, surg__elem a, surg__elem b) {
  if (!a.known || !b.known) return surg__elem_unknown();
  const double x = surg__elem_as_real(a), y = surg__elem_as_real(b);
  switch (op) {
    case SURG_OP_Add: return rounded(dtype, x + y);
    case SURG_OP_Sub: return rounded(dtype, x - y);
    case SURG_OP_Mul: return rounded(dtype, x * y);
    case SURG_OP_Div: return y != 0 ? rounded(dtype, x / y) : surg__elem_unknown();
    case SURG_OP_Min: return rounded(dtype, x < y ? x : y);
    case SURG_OP_Max: return rounded(dtype, x > y ? x : y);
    default: return surg__elem_unknown();
  }
}

void surg__i_real_arith(surg__infer *c, const surg_dim *dims, size_t rank) {
  const surg__fact x = surg__i_in(c, 0);
  const surg_dim count = surg__dim_product(dims, rank);
  surg__elem abuf[SURG__ELEMS], bbuf[SURG__ELEMS], out[SURG__REALS];
  uint32_t na, nb;
  if (surg_node_input_count(c->n) != 2 || !is_real(x.dtype)) return;
  if (count.value < 0 || count.value > (int64_t)SURG__REALS) return;
  const surg__elem *a = surg__i_any_elems(c, 0, abuf, &na);
  const surg__elem *b = a ? surg__i_any_elems(c, 1, bbuf, &nb) : NULL;
  const uint32_t n = (uint32_t)count.value;
  if (!b || (na != n && na != 1) || (nb != n && nb != 1)) return;
  for (uint32_t i = 0; i < n; i++)
    out[i] = compute(c->op, x.dtype, a[na == 1 ? 0 : i], b[nb == 1 ? 0 : i]);
  surg__i_put_any_elems(c, 0, out, n);
}

void surg__i_round(surg__infer *c) {
  const surg__fact x = surg__i_in(c, 0);
  surg__elem buf[SURG__ELEMS], out[SURG__REALS];
  uint32_t n;
  surg__i_same(c);
  const surg__elem *e =
      c->states && is_real(x.dtype) ? surg__i_any_elems(c, 0, buf, &n) : NULL;
  if (!e || n > SURG__REALS) return;
  for (uint32_t i = 0; i < n; i++) {
    const double v = surg__elem_as_real(e[i]);
    out[i] = !e[i].known ? surg__elem_unknown()
                         : surg__elem_real(c->op == SURG_OP_Floor  ? floor(v)
                                           : c->op == SURG_OP_Ceil ? ceil(v)
                                                                   : rint(v));
  }
  surg__i_put_any_elems(c, 0, out, n);
}

/* One element cast where either side is a float. Integers beyond 2^53 are not tracked, nor those a
 * float cannot hold. */
static surg__elem cast(surg__elem e, int from, int to) {
  const double most = 9007199254740992.0;
  if (!e.known) return surg__elem_unknown();
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

void surg__i_real_cast(surg__infer *c, int from, int to) {
  surg__elem buf[SURG__ELEMS], out[SURG__REALS];
  uint32_t n;
  const surg__elem *e = surg__i_any_elems(c, 0, buf, &n);
  if (!e || n > SURG__REALS) return;
  for (uint32_t i = 0; i < n; i++) out[i] = cast(e[i], from, to);
  surg__i_put_any_elems(c, 0, out, n);
}
