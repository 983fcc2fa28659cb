/* SPDX-License-Identifier: Apache-2.0 */
/* Rules of operators that compute shapes, or reshape. */
#include <math.h>

#include "base/counted.h"
#include "infer/rules.h"

/* Copies the elements of input 0 to output 0, in order. */
static void pass_elems(surg__infer *c) {
  surg__elem buf[SURG__ELEMS];
  uint32_t n;
  if (!c->states) return;
  const surg__elem *e = surg__infer_any_elems(c, 0, buf, &n);
  if (e) surg__infer_put_any_elems(c, 0, e, n);
}

static int64_t clamp(int64_t v, int64_t low, int64_t high) {
  return v < low ? low : v > high ? high : v;
}

void surg__infer_shape(surg__infer *c) {
  surg__fact x;
  if (!surg__infer_ranked(c, 0, &x)) {
    const surg_dim unknown = surg__dim_unknown();
    surg__infer_put(c, 0, SURG_INT64, &unknown, 1);
    return;
  }
  const int64_t rank = x.rank;
  int64_t start = 0, end = rank;
  if (c->since >= 15) {
    start = surg_node_int(c->n, "start", 0);
    if (surg_node_attr(c->n, "end")) end = surg_node_int(c->n, "end", rank);
    start = clamp(start < 0 ? start + rank : start, 0, rank);
    end = clamp(end < 0 ? end + rank : end, start, rank);
  }
  const surg_dim count = surg__dim(end - start);
  assert(0 <= start && start <= end && end <= rank);
  surg__infer_put(c, 0, SURG_INT64, &count, 1);
  surg__elem e[SURG_LIMIT_RANK];
  for (int64_t i = start; i < end; i++) e[i - start] = surg__elem_of(x.dims[i]);
  surg__infer_put_elems(c, 0, e, (uint32_t)(end - start));
}

void surg__infer_size(surg__infer *c) {
  surg__fact x;
  surg__infer_put(c, 0, SURG_INT64, NULL, 0);
  if (!surg__infer_ranked(c, 0, &x)) return;
  const surg__elem e = surg__elem_of(surg__dim_product(x.dims, x.rank));
  surg__infer_put_elems(c, 0, &e, 1);
}

static void put_tensor(surg__infer *c, const surg_tensor *t) {
  surg_dim dims[SURG_LIMIT_RANK];
  const size_t rank = surg_tensor_rank(t);
  if (rank > SURG_LIMIT_RANK) {
    surg__infer_put_unranked(c, 0, surg_tensor_dtype(t));
    return;
  }
  for (size_t i = 0; i < rank; i++) dims[i] = surg__dim(surg_tensor_dims(t)[i]);
  surg__infer_put(c, 0, surg_tensor_dtype(t), dims, rank);
}

/* A Constant given by an attribute of numbers or strings: a scalar, or a list of `count`. */
static void put_numbers(surg__infer *c, int dtype, bool list, size_t count, const int64_t *ints) {
  const surg_dim d = surg__dim((int64_t)count);
  surg__elem e[SURG__ELEMS];
  surg__infer_put(c, 0, dtype, &d, list);
  if (!ints || count > SURG__ELEMS) return;
  for (size_t i = 0; i < count; i++) e[i] = surg__elem_int(ints[i]);
  surg__infer_put_elems(c, 0, e, (uint32_t)count);
}

void surg__infer_constant(surg__infer *c) {
  const surg_attr *a = surg_node_attr(c->n, "value");
  const surg_tensor *t = a ? surg_attr_tensor(a, 0) : NULL;
  size_t n = 0;
  if (t) {
    if (!surg_tensor_is_sparse(t)) put_tensor(c, t);
  } else if ((a = surg_node_attr(c->n, "sparse_value"))) {
    if (a->kind == SURG_ATTR_SPARSE_TENSOR && !a->ref && a->count) put_tensor(c, a->u.tensors[0]);
  } else if (surg_node_attr(c->n, "value_float")) {
    put_numbers(c, SURG_FLOAT, false, 1, NULL);
  } else if ((a = surg_node_attr(c->n, "value_int"))) {
    const int64_t v = surg_attr_int(a);
    put_numbers(c, SURG_INT64, false, 1, &v);
  } else if (surg_node_attr(c->n, "value_string")) {
    put_numbers(c, SURG_STRING, false, 1, NULL);
  } else if ((a = surg_node_attr(c->n, "value_floats"))) {
    (void)surg_attr_floats(a, &n);
    put_numbers(c, SURG_FLOAT, true, n, NULL);
  } else if ((a = surg_node_attr(c->n, "value_ints"))) {
    const int64_t *v = surg_attr_ints(a, &n);
    put_numbers(c, SURG_INT64, true, n, v);
  } else if ((a = surg_node_attr(c->n, "value_strings"))) {
    (void)surg_attr_strings(a, &n);
    put_numbers(c, SURG_STRING, true, n, NULL);
  }
}

/* Reads the elements of input i as dimensions; where only their number is known, all are
 * unknown. */
static bool dims_from_input(surg__infer *c, size_t i, surg_dim dims[SURG_LIMIT_RANK],
                            size_t *rank) {
  surg__elem buf[SURG__ELEMS];
  uint32_t n;
  const surg__elem *e = surg__infer_elems(c, i, buf, &n);
  bool negative = false;
  if (!e) {
    surg__fact f;
    if (!surg__infer_ranked(c, i, &f) || f.rank != 1 || !surg__dim_known(f.dims[0]) ||
        f.dims[0].value > SURG_LIMIT_RANK)
      return false;
    *rank = (size_t)f.dims[0].value;
    for (size_t k = 0; k < *rank; k++) dims[k] = surg__dim_unknown();
    return true;
  }
  if (n > SURG_LIMIT_RANK) return false;
  for (uint32_t k = 0; k < n; k++) dims[k] = surg__dim_of(e[k], &negative);
  *rank = n;
  if (negative) surg__infer_bad(c);
  return !negative;
}

void surg__infer_constant_of_shape(surg__infer *c) {
  const surg_attr *a = surg_node_attr(c->n, "value");
  const surg_tensor *t = a ? surg_attr_tensor(a, 0) : NULL;
  if (a && (!t || surg_tensor_is_sparse(t))) return;
  const int dtype = t ? surg_tensor_dtype(t) : SURG_FLOAT;
  surg_dim dims[SURG_LIMIT_RANK];
  size_t rank;
  if (!dims_from_input(c, 0, dims, &rank)) {
    surg__infer_put_unranked(c, 0, dtype);
    return;
  }
  surg__infer_put(c, 0, dtype, dims, rank);
  const surg_dim count = surg__dim_product(dims, rank);
  int64_t fill;
  if (!c->states || !t || count.value < 0 || count.value > (int64_t)SURG__ELEMS ||
      surg__read_ints(t, &fill, 1) != 1)
    return;
  surg__elem e[SURG__ELEMS];
  for (int64_t i = 0; i < count.value; i++) e[i] = surg__elem_int(fill);
  surg__infer_put_elems(c, 0, e, (uint32_t)count.value);
}

void surg__infer_random(surg__infer *c) {
  size_t n;
  surg_dim dims[SURG_LIMIT_RANK];
  const int64_t dtype = surg_node_int(c->n, "dtype", SURG_FLOAT);
  const int64_t *shape = surg_node_ints(c->n, "shape", &n);
  if (!shape || n > SURG_LIMIT_RANK || dtype <= 0 || dtype >= SURG_DTYPE_COUNT) return;
  for (size_t i = 0; i < n; i++) {
    if (shape[i] < 0) return;
    dims[i] = surg__dim(shape[i]);
  }
  surg__infer_put(c, 0, (int)dtype, dims, n);
}

/* --- Reshape --- */

typedef struct reshape {
  surg__fact in;
  bool allow_zero;
  bool inferred; /* one element is -1, so no other may be */
  surg_dim total; /* number of elements of the input */
  surg_dim out[SURG_LIMIT_RANK];
  size_t rank;
  size_t infer_at; /* index of the element -1; SIZE_MAX: none */
  size_t open, open_at; /* unknown output dimensions; the index of one of them */
} reshape;

/* Whether x = 0 implies that the input has no elements. */
static bool empties(const reshape *r, const surg_expr *x) {
  const surg_expr *total = r->total.expr, *e = x;
  uint32_t n;
  if (!total) return false;
  if (surg__expr_div_exact(total, x)) return true;
  if (x->kind == SURG__EXPR_SUM) {
    if (x->n > 1 || x->k) return false;
    e = x->args[0];
  }
  const surg_expr *const *f = surg__expr_factors(&e, &n);
  for (uint32_t i = 0; i < n; i++)
    if (!surg__expr_div_exact(total, f[i])) return false;
  return true;
}

/* The dimension for an expression in the shape input: the value -1 would be inferred, and 0 would
 * copy. Where 0 is possible only for a tensor without elements, the expression is the dimension
 * (doc/shapes.md). */
static surg_dim symbolic_target(const reshape *r, size_t i, const surg_expr *x) {
  const bool has_in = r->in.ranked && i < r->in.rank;
  if (!x) return surg__dim_unknown();
  if (has_in && r->in.dims[i].expr == x) return r->in.dims[i];
  if (!r->inferred && !surg__expr_at_least_num(x, 0)) return surg__dim_unknown();
  if (r->allow_zero || surg__expr_at_least_num(x, 1) || empties(r, x)) return surg__expr_dim(x);
  return surg__dim_unknown();
}

/* Processes one element of the shape input; false: the node is invalid. */
static bool reshape_element(reshape *r, size_t i, surg__elem e) {
  assert(i < r->rank);
  const bool has_in = r->in.ranked && i < r->in.rank;
  r->out[i] = surg__dim_unknown();
  if (e.known && e.value < -1) return false;
  if (e.known && e.value == -1) {
    if (r->infer_at != SIZE_MAX) return false;
    r->infer_at = i;
    return true;
  }
  if (e.known && e.value == 0 && !r->allow_zero) {
    if (r->in.ranked && !has_in) return false;
    if (has_in) r->out[i] = r->in.dims[i];
  } else if (e.known) {
    r->out[i] = surg__dim(e.value);
  } else {
    r->out[i] = symbolic_target(r, i, e.expr);
  }
  if (surg__dim_known(r->out[i]) || r->out[i].expr) return true;
  r->open++;
  r->open_at = i;
  return true;
}

/* Solves dimension `at` from the element count and the other dimensions; false: they do not
 * divide. */
static bool reshape_solve(surg__infer *c, reshape *r, size_t at) {
  assert(at < r->rank);
  surg_dim rest[SURG_LIMIT_RANK];
  size_t n = 0;
  for (size_t i = 0; i < r->rank; i++)
    if (i != at) rest[n++] = r->out[i];
  const surg_dim over = surg__dim_product(rest, n);
  if (over.value == 0) return true;
  if (surg__dim_known(over) && surg__dim_known(r->total)) {
    r->out[at] = surg__dim(r->total.value / over.value);
    return r->total.value % over.value == 0;
  }
  const surg_expr *a = surg__dim_as_expr(c, r->total), *b = surg__dim_as_expr(c, over);
  const surg_expr *exact = surg__expr_div_exact(a, b);
  r->out[at] = surg__expr_dim(exact ? exact : surg__expr_div(a, b));
  return true;
}

/* Uses the element count: solves the one unknown dimension, or compares the counts. False: the node
 * is invalid. */
static bool reshape_complete(surg__infer *c, reshape *r) {
  surg_dim rest[SURG_LIMIT_RANK];
  size_t n = 0;
  if (!r->in.ranked) return true;
  if (r->infer_at != SIZE_MAX) return r->open > 0 || reshape_solve(c, r, r->infer_at);
  if (r->open == 0) {
    const surg_dim out = surg__dim_product(r->out, r->rank);
    return !surg__dim_known(r->total) || !surg__dim_known(out) || r->total.value == out.value;
  }
  if (r->open > 1) return true;
  for (size_t i = 0; i < r->rank; i++)
    if (i != r->open_at) rest[n++] = r->out[i];
  const surg_dim over = surg__dim_product(rest, n);
  const bool some = over.value > 0 || surg__expr_at_least_num(over.expr, 1);
  return !some || reshape_solve(c, r, r->open_at);
}

static const surg__elem *reshape_target(surg__infer *c, surg__elem buf[SURG__ELEMS], uint32_t *n) {
  if (c->since >= 5) return surg__infer_elems(c, 1, buf, n);
  size_t count;
  const int64_t *shape = surg_node_ints(c->n, "shape", &count);
  if (!shape || count > SURG_LIMIT_RANK) return NULL;
  for (size_t i = 0; i < count; i++) buf[i] = surg__elem_int(shape[i]);
  *n = (uint32_t)count;
  return buf;
}

/* Handles a shape input of known length and unknown elements. */
static bool reshape_rank(surg__infer *c, surg__elem buf[SURG__ELEMS], uint32_t *n) {
  surg__fact shape;
  if (c->since < 5 || !surg__infer_ranked(c, 1, &shape) || shape.rank != 1 ||
      !surg__dim_known(shape.dims[0]) || shape.dims[0].value > SURG_LIMIT_RANK)
    return false;
  *n = (uint32_t)shape.dims[0].value;
  for (uint32_t i = 0; i < *n; i++) buf[i] = surg__elem_unknown();
  return true;
}

void surg__infer_reshape(surg__infer *c) {
  surg__elem buf[SURG__ELEMS];
  uint32_t n;
  reshape r = {.in = surg__infer_in(c, 0), .infer_at = SIZE_MAX};
  r.allow_zero = c->since >= 14 && surg_node_int(c->n, "allowzero", 0) != 0;
  if (r.in.kind != SURG_TYPE_TENSOR) return;
  const surg__elem *e = reshape_target(c, buf, &n);
  if (!e && reshape_rank(c, buf, &n)) e = buf;
  if (!e || n > SURG_LIMIT_RANK) {
    pass_elems(c);
    return;
  }
  r.rank = n;
  r.total = r.in.ranked ? surg__dim_product(r.in.dims, r.in.rank) : surg__dim_unknown();
  for (uint32_t i = 0; i < n; i++) r.inferred |= e[i].known && e[i].value == -1;
  bool fits = true;
  for (uint32_t i = 0; i < n && fits; i++) fits = reshape_element(&r, i, e[i]);
  if (!fits || !reshape_complete(c, &r)) {
    surg__infer_bad(c);
    return;
  }
  surg__infer_put(c, 0, r.in.dtype, r.out, r.rank);
  pass_elems(c);
}

/* --- other shapes of the same elements --- */

void surg__infer_flatten(surg__infer *c) {
  surg__fact x;
  if (!surg__infer_ranked(c, 0, &x)) {
    const surg_dim two[2] = {surg__dim_unknown(), surg__dim_unknown()};
    x = surg__infer_in(c, 0);
    if (x.kind == SURG_TYPE_TENSOR) surg__infer_put(c, 0, x.dtype, two, 2);
    return;
  }
  int64_t axis = surg_node_int(c->n, "axis", 1);
  if (axis < 0) axis += x.rank;
  if (axis < 0 || axis > (int64_t)x.rank) {
    surg__infer_bad(c);
    return;
  }
  const surg_dim dims[2] = {surg__dim_product(x.dims, (size_t)axis),
                            surg__dim_product(x.dims + axis, x.rank - (size_t)axis)};
  surg__infer_put(c, 0, x.dtype, dims, 2);
  pass_elems(c);
}

/* The axes that Squeeze without `axes` removes: those of size 1. False: unknown. */
static bool ones(const surg__fact *x, uint64_t *set) {
  *set = 0;
  for (uint32_t i = 0; i < x->rank; i++) {
    const surg_expr *e = x->dims[i].expr;
    if (!surg__dim_known(x->dims[i]) && !(e && e->lo > 1)) return false;
    if (x->dims[i].value == 1) *set |= UINT64_C(1) << i;
  }
  return true;
}

void surg__infer_squeeze(surg__infer *c) {
  surg__fact x;
  uint64_t set;
  bool absent;
  if (!surg__infer_ranked(c, 0, &x) || !surg__infer_axes(c, 1, x.rank, &set, &absent)) return;
  if (absent && !ones(&x, &set)) return;
  surg_dim dims[SURG_LIMIT_RANK];
  size_t rank = 0;
  for (uint32_t i = 0; i < x.rank; i++) {
    if (!(set >> i & 1)) {
      dims[rank++] = x.dims[i];
    } else if (surg__dim_known(x.dims[i]) && x.dims[i].value != 1) {
      surg__infer_bad(c);
      return;
    }
  }
  surg__infer_put(c, 0, x.dtype, dims, rank);
  pass_elems(c);
}

/* The number of axes that Unsqueeze adds; false: unknown. */
static bool axis_count(surg__infer *c, size_t *n) {
  if (surg__schema_attr(c->schema, "axes")) return surg_node_ints(c->n, "axes", n) != NULL;
  surg__fact axes;
  if (!surg__infer_ranked(c, 1, &axes) || axes.rank > 1) return false;
  const surg_dim count = surg__dim_product(axes.dims, axes.rank);
  *n = (size_t)count.value;
  return surg__dim_known(count);
}

void surg__infer_unsqueeze(surg__infer *c) {
  surg__fact x;
  size_t added;
  uint64_t set;
  bool absent;
  if (!surg__infer_ranked(c, 0, &x) || !axis_count(c, &added)) return;
  if (added > SURG_LIMIT_RANK - x.rank) return;
  const size_t rank = x.rank + added;
  surg_dim dims[SURG_LIMIT_RANK];
  if (surg__infer_axes(c, 1, rank, &set, &absent) && !absent) {
    size_t from = 0;
    for (size_t i = 0; i < rank; i++) dims[i] = set >> i & 1 ? surg__dim(1) : x.dims[from++];
    assert(from == x.rank); /* each added axis has its own bit */
  } else {
    for (size_t i = 0; i < rank; i++) dims[i] = surg__dim_unknown();
  }
  surg__infer_put(c, 0, x.dtype, dims, rank);
  pass_elems(c);
}

void surg__infer_transpose(surg__infer *c) {
  surg__fact x;
  size_t n;
  if (!surg__infer_ranked(c, 0, &x)) return;
  const bool given = surg_node_attr(c->n, "perm") != NULL;
  const int64_t *perm = given ? surg_node_ints(c->n, "perm", &n) : NULL;
  surg_dim dims[SURG_LIMIT_RANK];
  uint64_t seen = 0;
  if (given && (!perm ? x.rank != 0 : n != x.rank)) {
    surg__infer_bad(c);
    return;
  }
  for (uint32_t i = 0; i < x.rank; i++) {
    const int64_t from = given ? perm[i] : (int64_t)x.rank - 1 - i;
    if (from < 0 || from >= (int64_t)x.rank || seen >> from & 1) {
      surg__infer_bad(c);
      return;
    }
    seen |= UINT64_C(1) << from;
    dims[i] = x.dims[from];
  }
  surg__infer_put(c, 0, x.dtype, dims, x.rank);
  if (x.rank < 2)
    pass_elems(c);
  else if (c->states)
    surg__infer_transpose_elems(c, &x, given ? perm : NULL);
}

/* The number of elements of start, start + delta ... before limit; false: out of range. */
static bool range_count(int64_t start, int64_t limit, int64_t delta, int64_t *count) {
  int64_t span, last;
  if (delta == 0 || !surg__sub_i64(limit, start, &span)) return false;
  if ((delta > 0) != (span > 0) || span == 0) {
    *count = 0;
    return true;
  }
  if (delta == INT64_MIN || span == INT64_MIN) return false;
  *count = (span / delta) + (span % delta != 0);
  assert(*count > 0); /* both have the same sign */
  return surg__mul_i64(*count - 1, delta, &last);
}

/* The number of steps of `delta` from start to limit, in either direction. */
static surg_dim range_length(surg__infer *c, surg__elem start, surg__elem limit, surg__elem delta) {
  if (!delta.known || !delta.value || delta.value == INT64_MIN) return surg__dim_unknown();
  const surg_expr *from = surg__elem_expr(c, start), *to = surg__elem_expr(c, limit);
  const int64_t by = delta.value < 0 ? -delta.value : delta.value;
  const surg_expr *span = delta.value > 0 ? surg__expr_sub(to, from) : surg__expr_sub(from, to);
  const surg_expr *steps = surg__expr_div_num(surg__expr_add_num(span, by - 1), by);
  return surg__expr_dim(surg__expr_max(steps, surg__expr_num(c->m, 0)));
}

/* Reads a constant of one float or double. */
static bool range_real(surg__infer *c, size_t i, double *out) {
  const surg_tensor *t = surg_value_settled(surg_node_input(c->n, i));
  float narrow;
  if (!t || surg_tensor_count(t) != 1) return false;
  if (surg_tensor_dtype(t) == SURG_DOUBLE)
    return surg_tensor_read_numbers(t, 0, out, 1) == SURG_OK;
  if (surg_tensor_dtype(t) != SURG_FLOAT || surg_tensor_read_numbers(t, 0, &narrow, 1) != SURG_OK)
    return false;
  *out = (double)narrow;
  return true;
}

/* The length of a range of floats: known where division in float and in double agree. */
static surg_dim range_reals(surg__infer *c, bool wide) {
  double v[3];
  for (size_t i = 0; i < 3; i++)
    if (!range_real(c, i, &v[i]) || !isfinite(v[i])) return surg__dim_unknown();
  if (v[2] == 0) return surg__dim_unknown();
  const double narrow = (double)((float)v[1] - (float)v[0]);
  const double a = wide ? ceil((v[1] - v[0]) / v[2]) : ceil(narrow / v[2]);
  const double b = wide ? a : (double)ceilf((float)narrow / (float)v[2]);
  if (a != b || !(a < (double)INT32_MAX)) return surg__dim_unknown();
  return surg__dim(a > 0 ? (int64_t)a : 0);
}

void surg__infer_range(surg__infer *c) {
  const int dtype = surg__infer_dtype(c, 0);
  if (dtype == SURG_FLOAT || dtype == SURG_DOUBLE) {
    const surg_dim length = range_reals(c, dtype == SURG_DOUBLE);
    surg__infer_put(c, 0, dtype, &length, 1);
    return;
  }
  surg__elem buf[SURG__ELEMS], e[3], out[SURG__ELEMS];
  uint32_t n;
  surg_dim d = surg__dim_unknown();
  for (size_t i = 0; i < 3; i++) {
    const surg__elem *one = surg__infer_elems(c, i, buf, &n);
    if (!one || n != 1) {
      surg__infer_put(c, 0, dtype, &d, 1);
      return;
    }
    e[i] = one[0];
  }
  int64_t count = -1;
  const int64_t start = e[0].value, delta = e[2].value;
  if (e[0].known && e[1].known && e[2].known) {
    if (range_count(start, e[1].value, delta, &count)) d = surg__dim(count);
  } else {
    d = range_length(c, e[0], e[1], e[2]);
  }
  surg__infer_put(c, 0, dtype, &d, 1);
  if (count < 0 || count > (int64_t)SURG__ELEMS) return;
  for (int64_t i = 0; i < count; i++) out[i] = surg__elem_int(start + i * delta);
  surg__infer_put_elems(c, 0, out, (uint32_t)count);
}
