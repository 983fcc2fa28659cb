/* SPDX-License-Identifier: Apache-2.0 */
/* Arithmetic of dimensions: on numbers where both are fixed, else on expressions
 * (lib/sym/expr.h). */
#include "infer/infer.h"

bool surg__dim_same(surg_dim a, surg_dim b) {
  if (surg__dim_known(a) || surg__dim_known(b)) return a.value == b.value;
  return a.expr && a.expr == b.expr;
}

/* How precise a dimension is: of two that are equal, the one with the higher score is kept. */
static int worth(surg_dim d) {
  if (surg__dim_known(d)) return 4;
  if (!d.expr) return 0;
  if (d.param) return 3;
  return d.expr->kind == SURG__EXPR_SYM ? 1 : 2;
}

bool surg__dim_unify(surg_dim a, surg_dim b, surg_dim *out) {
  if (surg__dim_known(a) && surg__dim_known(b) && a.value != b.value) return false;
  *out = worth(b) > worth(a) ? b : a;
  return true;
}

/* Whether `low` is min(d, numbers above 1): then it is 1 only where d is, and if the two broadcast
 * they are equal. */
static bool capped(const surg_expr *low, const surg_expr *d) {
  bool found = false;
  if (!low || low->kind != SURG__EXPR_MIN) return false;
  assert(low->n >= 2); /* a minimum has two operands or more */
  for (uint16_t i = 0; i < low->n; i++) {
    if (low->args[i] == d)
      found = true;
    else if (low->args[i]->kind != SURG__EXPR_NUM || low->args[i]->k < 2)
      return false;
  }
  return found;
}

/* Broadcasts two dimensions; neither is the number 1, and not both are numbers. */
static surg_dim broadcast_symbols(surg_dim a, surg_dim b) {
  assert(!surg__dim_known(a) && !surg__dim_known(b));
  if (surg__dim_same(a, b) || capped(b.expr, a.expr)) return a;
  if (capped(a.expr, b.expr)) return b;
  if (a.expr && a.expr->lo > 1) return a;
  if (b.expr && b.expr->lo > 1) return b;
  if (a.expr && b.expr && a.expr->lo == 1 && b.expr->lo == 1)
    return surg__expr_dim(surg__expr_max(a.expr, b.expr));
  return surg__dim_unknown();
}

bool surg__dim_broadcast(surg_dim a, surg_dim b, surg_dim *out) {
  if (a.value == 1) {
    *out = b;
  } else if (b.value == 1) {
    *out = a;
  } else if (surg__dim_known(a) && surg__dim_known(b)) {
    if (a.value != b.value) return false;
    *out = a;
  } else if (surg__dim_known(a) || surg__dim_known(b)) {
    /* The other one is 1 or equal. */
    *out = surg__dim_known(a) ? a : b;
  } else {
    *out = broadcast_symbols(a, b);
  }
  return true;
}

surg_dim surg__dim_join(surg_dim a, surg_dim b) {
  return surg__dim_same(a, b) ? a : surg__dim_unknown();
}

surg_dim surg__dim_product(const surg_dim *d, size_t n) {
  int64_t known = 1;
  const surg_expr *rest = NULL;
  bool open = false, unknown = false;
  for (size_t i = 0; i < n; i++)
    if (d[i].value == 0) return surg__dim(0);
  for (size_t i = 0; i < n && !unknown; i++) {
    if (surg__dim_known(d[i])) {
      unknown = !surg__mul_i64(known, d[i].value, &known);
    } else {
      rest = open ? surg__expr_mul(rest, d[i].expr) : d[i].expr;
      unknown = !rest;
      open = true;
    }
  }
  if (unknown) return surg__dim_unknown();
  return open ? surg__expr_dim(surg__expr_scale(rest, known)) : surg__dim(known);
}

surg_dim surg__dim_sum(surg_dim a, surg_dim b) {
  if (surg__dim_known(a)) return surg__dim_add(b, a.value);
  if (surg__dim_known(b)) return surg__dim_add(a, b.value);
  return surg__expr_dim(surg__expr_add(a.expr, b.expr));
}

surg_dim surg__dim_add(surg_dim d, int64_t k) {
  int64_t v;
  if (!k) return d;
  if (!surg__dim_known(d)) return surg__expr_dim(surg__expr_add_num(d.expr, k));
  return surg__add_i64(d.value, k, &v) && v >= 0 ? surg__dim(v) : surg__dim_unknown();
}

surg_dim surg__dim_times(surg_dim d, int64_t k) {
  int64_t v;
  if (k < 0) return surg__dim_unknown();
  if (k == 0) return surg__dim(0);
  if (!surg__dim_known(d)) return surg__expr_dim(surg__expr_scale(d.expr, k));
  return surg__mul_i64(d.value, k, &v) ? surg__dim(v) : surg__dim_unknown();
}

surg_dim surg__dim_over(surg_dim d, int64_t k) {
  if (k < 1) return surg__dim_unknown();
  if (surg__dim_known(d)) return surg__dim(d.value / k);
  return surg__expr_dim(surg__expr_div_num(d.expr, k));
}

surg_dim surg__dim_over_up(surg_dim d, int64_t k) {
  if (k < 1) return surg__dim_unknown();
  if (surg__dim_known(d)) return surg__dim(d.value / k + (d.value % k != 0));
  return surg__expr_dim(surg__expr_div_num(surg__expr_add_num(d.expr, k - 1), k));
}

surg_dim surg__dim_outside(surg_dim d, const surg_graph *body) {
  return d.expr && surg__expr_born_in(d.expr, body) ? surg__dim_unknown() : d;
}

surg_dim surg__dim_of(surg__elem e, bool *negative) {
  if (e.known && e.value < 0) *negative = true;
  if (e.known) return surg__dim(e.value < 0 ? -1 : e.value);
  if (e.expr && e.expr->hi < 0) *negative = true;
  return surg__expr_dim(e.expr);
}

surg__elem surg__elem_of(surg_dim d) {
  if (surg__dim_known(d)) return surg__elem_int(d.value);
  return (surg__elem){0, d.expr, false};
}

const surg_expr *surg__elem_expr(const surg__infer *c, surg__elem e) {
  return e.known ? surg__expr_num(c->m, e.value) : e.expr;
}

const surg_expr *surg__dim_as_expr(const surg__infer *c, surg_dim d) {
  return surg__dim_known(d) ? surg__expr_num(c->m, d.value) : d.expr;
}

surg__elem surg__elem_from(const surg_expr *e) {
  int64_t v;
  return surg__expr_is_num(e, &v) ? surg__elem_int(v) : (surg__elem){0, e, false};
}

bool surg__dims_broadcast(surg_dim a[SURG_LIMIT_RANK], size_t *rank, const surg_dim *b, size_t n) {
  assert(*rank <= SURG_LIMIT_RANK && n <= SURG_LIMIT_RANK);
  if (n > *rank) {
    memmove(a + (n - *rank), a, *rank * sizeof *a);
    for (size_t i = 0; i < n - *rank; i++) a[i] = surg__dim(1);
    *rank = n;
  }
  for (size_t i = 0; i < n; i++) {
    surg_dim *d = &a[*rank - n + i];
    if (!surg__dim_broadcast(*d, b[i], d)) return false;
  }
  return true;
}

bool surg__infer_axis(surg__infer *c, int64_t axis, size_t rank, size_t *out) {
  int64_t r = (int64_t)rank;
  if (axis < -r || axis >= r) {
    surg__infer_bad(c);
    return false;
  }
  *out = (size_t)(axis < 0 ? axis + r : axis);
  assert(*out < rank);
  return true;
}

static bool axis_set(surg__infer *c, const int64_t *axes, size_t n, size_t rank, uint64_t *set) {
  *set = 0;
  for (size_t i = 0; i < n; i++) {
    size_t axis;
    if (!surg__infer_axis(c, axes[i], rank, &axis)) return false;
    if (*set >> axis & 1) {
      surg__infer_bad(c);
      return false;
    }
    assert(axis < 64); /* one bit per axis */
    *set |= UINT64_C(1) << axis;
  }
  return true;
}

bool surg__infer_axes(surg__infer *c, size_t input, size_t rank, uint64_t *set, bool *absent) {
  assert(rank <= 64);
  *set = 0;
  if (surg__schema_attr(c->schema, "axes")) {
    size_t n;
    *absent = !surg_node_attr(c->n, "axes");
    if (*absent) return true;
    const int64_t *axes = surg_node_ints(c->n, "axes", &n);
    return axis_set(c, axes, axes ? n : 0, rank, set);
  }
  *absent = !surg__infer_has(c, input);
  if (*absent) return true;
  int64_t axes[SURG_LIMIT_RANK];
  uint32_t n;
  return surg__infer_ints(c, input, axes, SURG_LIMIT_RANK, &n) && axis_set(c, axes, n, rank, set);
}
