/* SPDX-License-Identifier: Apache-2.0 */
/* Arithmetic of dims. A symbol is equal to itself and to nothing else; what is computed from one is
 * unknown unless the result is one of the operands. */
#include "infer/infer.h"

bool surg__dim_same(surg_dim a, surg_dim b) {
  if (surg__dim_known(a) || surg__dim_known(b)) return a.value == b.value;
  return a.param && b.param && (a.param == b.param || !strcmp(a.param, b.param));
}

bool surg__dim_unify(surg_dim a, surg_dim b, surg_dim *out) {
  if (surg__dim_known(a) && surg__dim_known(b) && a.value != b.value) return false;
  *out = surg__dim_known(a) ? a : surg__dim_known(b) ? b : a.param ? a : b;
  return true;
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
    /* The other one is 1 or the same. */
    *out = surg__dim_known(a) ? a : b;
  } else {
    *out = surg__dim_same(a, b) ? a : surg__dim_unknown();
  }
  return true;
}

surg_dim surg__dim_join(surg_dim a, surg_dim b) {
  return surg__dim_same(a, b) ? a : surg__dim_unknown();
}

surg_dim surg__dim_product(const surg_dim *d, size_t n) {
  int64_t known = 1;
  surg_dim rest = surg__dim(1);
  size_t open = 0;
  bool overflow = false, zero = false;
  for (size_t i = 0; i < n; i++) {
    if (!surg__dim_known(d[i])) {
      rest = d[i];
      open++;
    } else if (d[i].value == 0) {
      zero = true;
    } else if (!overflow && !surg__mul_i64(known, d[i].value, &known)) {
      overflow = true;
    }
  }
  if (zero) return surg__dim(0);
  if (overflow || open > 1 || (open && known != 1)) return surg__dim_unknown();
  return open ? rest : surg__dim(known);
}

surg_dim surg__dim_sum(surg_dim a, surg_dim b) {
  int64_t sum;
  if (a.value == 0) return b;
  if (b.value == 0) return a;
  if (!surg__dim_known(a) || !surg__dim_known(b) || !surg__add_i64(a.value, b.value, &sum))
    return surg__dim_unknown();
  return surg__dim(sum);
}

surg_dim surg__dim_of(surg__elem e, bool *negative) {
  if (e.known && e.value < 0) *negative = true;
  return e.known && e.value >= 0 ? surg__dim(e.value) : (surg_dim){-1, e.known ? NULL : e.param};
}

surg__elem surg__elem_of(surg_dim d) {
  if (surg__dim_known(d)) return surg__elem_int(d.value);
  return (surg__elem){0, d.param, false};
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

bool surg__i_axis(surg__infer *c, int64_t axis, size_t rank, size_t *out) {
  int64_t r = (int64_t)rank;
  if (axis < -r || axis >= r) {
    surg__i_bad(c);
    return false;
  }
  *out = (size_t)(axis < 0 ? axis + r : axis);
  return true;
}

static bool axis_set(surg__infer *c, const int64_t *axes, size_t n, size_t rank, uint64_t *set) {
  *set = 0;
  for (size_t i = 0; i < n; i++) {
    size_t axis;
    if (!surg__i_axis(c, axes[i], rank, &axis)) return false;
    if (*set >> axis & 1) {
      surg__i_bad(c);
      return false;
    }
    *set |= UINT64_C(1) << axis;
  }
  return true;
}

bool surg__i_axes(surg__infer *c, size_t input, size_t rank, uint64_t *set, bool *absent) {
  assert(rank <= 64);
  *set = 0;
  if (surg__schema_attr(c->schema, "axes")) {
    size_t n;
    *absent = !surg_node_attr(c->n, "axes");
    if (*absent) return true;
    const int64_t *axes = surg_node_ints(c->n, "axes", &n);
    return axis_set(c, axes, axes ? n : 0, rank, set);
  }
  *absent = !surg__i_has(c, input);
  if (*absent) return true;
  int64_t axes[SURG_LIMIT_RANK];
  uint32_t n;
  return surg__i_ints(c, input, axes, SURG_LIMIT_RANK, &n) && axis_set(c, axes, n, rank, set);
}
