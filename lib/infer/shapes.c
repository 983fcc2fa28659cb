/* SPDX-License-Identifier: Apache-2.0 */
/* Rules of operators that make shapes, or give the same elements another shape. */
#include "infer/rules.h"

/* The elements of input 0 are those of output 0, in order. */
static void pass_elems(surg__infer *c) {
  surg__elem buf[SURG__ELEMS];
  uint32_t n;
  if (!c->states) return;
  const surg__elem *e = surg__i_any_elems(c, 0, buf, &n);
  if (e) surg__i_put_any_elems(c, 0, e, n);
}

static int64_t clamp(int64_t v, int64_t low, int64_t high) {
  return v < low ? low : v > high ? high : v;
}

void surg__i_shape(surg__infer *c) {
  surg__fact x;
  if (!surg__i_ranked(c, 0, &x)) {
    const surg_dim unknown = surg__dim_unknown();
    surg__i_put(c, 0, SURG_INT64, &unknown, 1);
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
  surg__i_put(c, 0, SURG_INT64, &count, 1);
  surg__elem e[SURG_LIMIT_RANK];
  for (int64_t i = start; i < end; i++) e[i - start] = surg__elem_of(x.dims[i]);
  surg__i_put_elems(c, 0, e, (uint32_t)(end - start));
}

void surg__i_size(surg__infer *c) {
  surg__fact x;
  surg__i_put(c, 0, SURG_INT64, NULL, 0);
  if (!surg__i_ranked(c, 0, &x)) return;
  const surg__elem e = surg__elem_of(surg__dim_product(x.dims, x.rank));
  surg__i_put_elems(c, 0, &e, 1);
}

static void put_tensor(surg__infer *c, const surg_tensor *t) {
  surg_dim dims[SURG_LIMIT_RANK];
  const size_t rank = surg_tensor_rank(t);
  if (rank > SURG_LIMIT_RANK) {
    surg__i_put_unranked(c, 0, surg_tensor_dtype(t));
    return;
  }
  for (size_t i = 0; i < rank; i++) dims[i] = surg__dim(surg_tensor_dims(t)[i]);
  surg__i_put(c, 0, surg_tensor_dtype(t), dims, rank);
}

/* A Constant given as numbers or strings: a scalar, or a list of `count`. */
static void put_numbers(surg__infer *c, int dtype, bool list, size_t count, const int64_t *ints) {
  const surg_dim d = surg__dim((int64_t)count);
  surg__elem e[SURG__ELEMS];
  surg__i_put(c, 0, dtype, &d, list);
  if (!ints || count > SURG__ELEMS) return;
  for (size_t i = 0; i < count; i++) e[i] = surg__elem_int(ints[i]);
  surg__i_put_elems(c, 0, e, (uint32_t)count);
}

void surg__i_constant(surg__infer *c) {
  const surg_attr *a = surg_node_attr(c->n, "value");
  const surg_tensor *t = a ? surg_attr_tensor(a, 0) : NULL;
  size_t n = 0;
  if (t) {
    if (!surg_tensor_is_sparse(t)) put_tensor(c, t);
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

/* Dims given by the elements of input i; unknown ones where only their number is known. */
static bool dims_from_input(surg__infer *c, size_t i, surg_dim dims[SURG_LIMIT_RANK],
                            size_t *rank) {
  surg__elem buf[SURG__ELEMS];
  uint32_t n;
  const surg__elem *e = surg__i_elems(c, i, buf, &n);
  bool negative = false;
  if (!e) {
    surg__fact f;
    if (!surg__i_ranked(c, i, &f) || f.rank != 1 || !surg__dim_known(f.dims[0]) ||
        f.dims[0].value > SURG_LIMIT_RANK)
      return false;
    *rank = (size_t)f.dims[0].value;
    for (size_t k = 0; k < *rank; k++) dims[k] = surg__dim_unknown();
    return true;
  }
  if (n > SURG_LIMIT_RANK) return false;
  for (uint32_t k = 0; k < n; k++) dims[k] = surg__dim_of(e[k], &negative);
  *rank = n;
  if (negative) surg__i_bad(c);
  return !negative;
}

void surg__i_constant_of_shape(surg__infer *c) {
  const surg_attr *a = surg_node_attr(c->n, "value");
  const surg_tensor *t = a ? surg_attr_tensor(a, 0) : NULL;
  if (a && (!t || surg_tensor_is_sparse(t))) return;
  const int dtype = t ? surg_tensor_dtype(t) : SURG_FLOAT;
  surg_dim dims[SURG_LIMIT_RANK];
  size_t rank;
  if (!dims_from_input(c, 0, dims, &rank)) {
    surg__i_put_unranked(c, 0, dtype);
    return;
  }
  surg__i_put(c, 0, dtype, dims, rank);
  const surg_dim count = surg__dim_product(dims, rank);
  int64_t fill;
  if (!c->states || !t || count.value < 0 || count.value > (int64_t)SURG__ELEMS ||
      surg_tensor_read_ints(t, &fill, 1) != 1)
    return;
  surg__elem e[SURG__ELEMS];
  for (int64_t i = 0; i < count.value; i++) e[i] = surg__elem_int(fill);
  surg__i_put_elems(c, 0, e, (uint32_t)count.value);
}

void surg__i_random(surg__infer *c) {
  size_t n;
  surg_dim dims[SURG_LIMIT_RANK];
  const int64_t dtype = surg_node_int(c->n, "dtype", SURG_FLOAT);
  const int64_t *shape = surg_node_ints(c->n, "shape", &n);
  if (!shape || n > SURG_LIMIT_RANK || dtype <= 0 || dtype >= SURG_DTYPE_COUNT) return;
  for (size_t i = 0; i < n; i++) {
    if (shape[i] < 0) return;
    dims[i] = surg__dim(shape[i]);
  }
  surg__i_put(c, 0, (int)dtype, dims, n);
}

/* --- Reshape --- */

typedef struct reshape {
  surg__fact in;
  bool allow_zero;
  surg_dim out[SURG_LIMIT_RANK];
  size_t rank;
  size_t infer_at; /* where -1 stands; SIZE_MAX: nowhere */
  bool open;       /* an output dim that is neither a number nor cancels with an input dim */
  uint64_t used;   /* input dims that cancel with an output dim */
} reshape;

/* Output dim i is input dim k, so both leave the products. */
static void cancel(reshape *r, size_t i, size_t k) {
  r->out[i] = r->in.dims[k];
  if (!surg__dim_known(r->out[i])) {
    if (r->used >> k & 1) r->open = true;
    r->used |= UINT64_C(1) << k;
  }
}

/* One element of the shape input; false: the node is wrong. */
static bool reshape_element(reshape *r, size_t i, surg__elem e) {
  const bool has_in = r->in.ranked && i < r->in.rank;
  r->out[i] = surg__dim_unknown();
  if (e.known && e.value < -1) return false;
  if (e.known && e.value == -1) {
    if (r->infer_at != SIZE_MAX) return false;
    r->infer_at = i;
  } else if (e.known && e.value == 0 && !r->allow_zero) {
    if (r->in.ranked && !has_in) return false;
    if (has_in)
      cancel(r, i, i);
    else
      r->open = true;
  } else if (e.known) {
    r->out[i] = surg__dim(e.value);
  } else {
    /* A symbol that is 0 would copy the dim of the input: sound where that is the same symbol. */
    const surg_dim d = surg__expr_dim(e.expr);
    if (has_in && surg__dim_same(d, r->in.dims[i]))
      cancel(r, i, i);
    else
      r->open = true;
    if (r->allow_zero && d.expr) r->out[i] = d;
  }
  return true;
}

/* The dim where -1 stands: the elements of the input over those of the other dims. */
static bool reshape_infer(reshape *r) {
  surg_dim rest[SURG_LIMIT_RANK];
  size_t n = 0, open = 0;
  int64_t in = 1, out = 1;
  surg_dim left = surg__dim_unknown();
  for (size_t i = 0; i < r->rank; i++)
    if (i != r->infer_at && surg__dim_known(r->out[i])) rest[n++] = r->out[i];
  const surg_dim product = surg__dim_product(rest, n);
  if (!surg__dim_known(product) || product.value == 0) return true;
  out = product.value;
  for (size_t k = 0; k < r->in.rank; k++) {
    if (surg__dim_known(r->in.dims[k])) {
      if (!surg__mul_i64(in, r->in.dims[k].value, &in)) return true;
    } else if (!(r->used >> k & 1)) {
      left = r->in.dims[k];
      open++;
    }
  }
  if (open == 0) {
    if (in % out) return r->used != 0;
    r->out[r->infer_at] = surg__dim(in / out);
  } else if (open == 1 && in == out) {
    r->out[r->infer_at] = left;
  }
  return true;
}

static bool reshape_fits(const reshape *r) {
  if (!r->in.ranked || r->infer_at != SIZE_MAX) return true;
  const surg_dim in = surg__dim_product(r->in.dims, r->in.rank);
  const surg_dim out = surg__dim_product(r->out, r->rank);
  return !surg__dim_known(in) || !surg__dim_known(out) || in.value == out.value;
}

static const surg__elem *reshape_target(surg__infer *c, surg__elem buf[SURG__ELEMS], uint32_t *n) {
  if (c->since >= 5) return surg__i_elems(c, 1, buf, n);
  size_t count;
  const int64_t *shape = surg_node_ints(c->n, "shape", &count);
  if (!shape || count > SURG_LIMIT_RANK) return NULL;
  for (size_t i = 0; i < count; i++) buf[i] = surg__elem_int(shape[i]);
  *n = (uint32_t)count;
  return buf;
}

void surg__i_reshape(surg__infer *c) {
  surg__elem buf[SURG__ELEMS];
  uint32_t n;
  reshape r = {.in = surg__i_in(c, 0), .infer_at = SIZE_MAX};
  r.allow_zero = c->since >= 14 && surg_node_int(c->n, "allowzero", 0) != 0;
  if (r.in.kind != SURG_TYPE_TENSOR) return;
  const surg__elem *e = reshape_target(c, buf, &n);
  if (!e) {
    surg__fact shape;
    if (c->since >= 5 && surg__i_ranked(c, 1, &shape) && shape.rank == 1 &&
        surg__dim_known(shape.dims[0]) && shape.dims[0].value <= SURG_LIMIT_RANK) {
      r.rank = (size_t)shape.dims[0].value;
      for (size_t i = 0; i < r.rank; i++) r.out[i] = surg__dim_unknown();
      surg__i_put(c, 0, r.in.dtype, r.out, r.rank);
    }
    pass_elems(c);
    return;
  }
  if (n > SURG_LIMIT_RANK) return;
  r.rank = n;
  for (uint32_t i = 0; i < n; i++) {
    if (!reshape_element(&r, i, e[i])) {
      surg__i_bad(c);
      return;
    }
  }
  const bool solved = r.infer_at == SIZE_MAX || r.open || !r.in.ranked || reshape_infer(&r);
  if (!solved || !reshape_fits(&r)) {
    surg__i_bad(c);
    return;
  }
  surg__i_put(c, 0, r.in.dtype, r.out, r.rank);
  pass_elems(c);
}

/* --- other shapes of the same elements --- */

void surg__i_flatten(surg__infer *c) {
  surg__fact x;
  if (!surg__i_ranked(c, 0, &x)) {
    const surg_dim two[2] = {surg__dim_unknown(), surg__dim_unknown()};
    x = surg__i_in(c, 0);
    if (x.kind == SURG_TYPE_TENSOR) surg__i_put(c, 0, x.dtype, two, 2);
    return;
  }
  int64_t axis = surg_node_int(c->n, "axis", 1);
  if (axis < 0) axis += x.rank;
  if (axis < 0 || axis > (int64_t)x.rank) {
    surg__i_bad(c);
    return;
  }
  const surg_dim dims[2] = {surg__dim_product(x.dims, (size_t)axis),
                            surg__dim_product(x.dims + axis, x.rank - (size_t)axis)};
  surg__i_put(c, 0, x.dtype, dims, 2);
  pass_elems(c);
}

/* Which dims Squeeze drops without axes: those that are 1. False: that is not known. */
static bool ones(const surg__fact *x, uint64_t *set) {
  *set = 0;
  for (uint32_t i = 0; i < x->rank; i++) {
    if (!surg__dim_known(x->dims[i])) return false;
    if (x->dims[i].value == 1) *set |= UINT64_C(1) << i;
  }
  return true;
}

void surg__i_squeeze(surg__infer *c) {
  surg__fact x;
  uint64_t set;
  bool absent;
  if (!surg__i_ranked(c, 0, &x) || !surg__i_axes(c, 1, x.rank, &set, &absent)) return;
  if (absent && !ones(&x, &set)) return;
  surg_dim dims[SURG_LIMIT_RANK];
  size_t rank = 0;
  for (uint32_t i = 0; i < x.rank; i++) {
    if (!(set >> i & 1)) {
      dims[rank++] = x.dims[i];
    } else if (surg__dim_known(x.dims[i]) && x.dims[i].value != 1) {
      surg__i_bad(c);
      return;
    }
  }
  surg__i_put(c, 0, x.dtype, dims, rank);
  pass_elems(c);
}

/* How many axes Unsqueeze adds; false: not known. */
static bool axis_count(surg__infer *c, size_t *n) {
  if (surg__schema_attr(c->schema, "axes")) return surg_node_ints(c->n, "axes", n) != NULL;
  surg__fact axes;
  if (!surg__i_ranked(c, 1, &axes) || axes.rank > 1) return false;
  const surg_dim count = surg__dim_product(axes.dims, axes.rank);
  *n = (size_t)count.value;
  return surg__dim_known(count);
}

void surg__i_unsqueeze(surg__infer *c) {
  surg__fact x;
  size_t added;
  uint64_t set;
  bool absent;
  if (!surg__i_ranked(c, 0, &x) || !axis_count(c, &added)) return;
  if (added > SURG_LIMIT_RANK - x.rank) return;
  const size_t rank = x.rank + added;
  surg_dim dims[SURG_LIMIT_RANK];
  if (surg__i_axes(c, 1, rank, &set, &absent) && !absent) {
    size_t from = 0;
    for (size_t i = 0; i < rank; i++) dims[i] = set >> i & 1 ? surg__dim(1) : x.dims[from++];
  } else {
    for (size_t i = 0; i < rank; i++) dims[i] = surg__dim_unknown();
  }
  surg__i_put(c, 0, x.dtype, dims, rank);
  pass_elems(c);
}

void surg__i_transpose(surg__infer *c) {
  surg__fact x;
  size_t n;
  if (!surg__i_ranked(c, 0, &x)) return;
  const bool given = surg_node_attr(c->n, "perm") != NULL;
  const int64_t *perm = given ? surg_node_ints(c->n, "perm", &n) : NULL;
  surg_dim dims[SURG_LIMIT_RANK];
  uint64_t seen = 0;
  if (given && (!perm ? x.rank != 0 : n != x.rank)) {
    surg__i_bad(c);
    return;
  }
  for (uint32_t i = 0; i < x.rank; i++) {
    const int64_t from = given ? perm[i] : (int64_t)x.rank - 1 - i;
    if (from < 0 || from >= (int64_t)x.rank || seen >> from & 1) {
      surg__i_bad(c);
      return;
    }
    seen |= UINT64_C(1) << from;
    dims[i] = x.dims[from];
  }
  surg__i_put(c, 0, x.dtype, dims, x.rank);
  if (x.rank < 2) pass_elems(c);
}

/* Elements of start, start + delta ... before limit; false: not to be computed here. */
static bool range_count(int64_t start, int64_t limit, int64_t delta, int64_t *count) {
  int64_t span, last;
  if (delta == 0 || !surg__sub_i64(limit, start, &span)) return false;
  if ((delta > 0) != (span > 0) || span == 0) {
    *count = 0;
    return true;
  }
  if (delta == INT64_MIN || span == INT64_MIN) return false;
  *count = (span / delta) + (span % delta != 0);
  return surg__mul_i64(*count - 1, delta, &last);
}

void surg__i_range(surg__infer *c) {
  const int dtype = surg__i_dtype(c, 0);
  surg__elem buf[3][SURG__ELEMS];
  const surg__elem *e[3];
  uint32_t n;
  surg_dim d = surg__dim_unknown();
  for (size_t i = 0; i < 3; i++) {
    e[i] = surg__i_elems(c, i, buf[i], &n);
    if (!e[i] || n != 1) {
      surg__i_put(c, 0, dtype, &d, 1);
      return;
    }
  }
  int64_t count = -1;
  const int64_t start = e[0]->value, delta = e[2]->value;
  if (e[0]->known && e[1]->known && e[2]->known) {
    if (range_count(start, e[1]->value, delta, &count)) d = surg__dim(count);
  } else if (e[0]->known && start == 0 && e[2]->known && delta == 1 && e[1]->expr) {
    d = surg__expr_dim(e[1]->expr);
  }
  surg__i_put(c, 0, dtype, &d, 1);
  if (count < 0 || count > (int64_t)SURG__ELEMS) return;
  surg__elem out[SURG__ELEMS];
  for (int64_t i = 0; i < count; i++) out[i] = surg__elem_int(start + i * delta);
  surg__i_put_elems(c, 0, out, (uint32_t)count);
}
