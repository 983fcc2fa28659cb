/* SPDX-License-Identifier: Apache-2.0 */
/* Sizes of emissions in C, and tensors with known sizes: queries and constants. */
#include "rewrite/lower/native.h"

/* --- reading --- */

bool surg__built_of(surg_value *v, surg__built *out) {
  const surg_type *t = v ? surg_value_type(v) : NULL;
  *out = (surg__built){.v = v};
  if (!t || surg_type_get_kind(t) != SURG_TYPE_TENSOR || !surg_type_has_rank(t) ||
      surg_type_rank(t) > SURG__BT_RANK)
    return false;
  out->dtype = surg_type_dtype(t);
  out->rank = (uint32_t)surg_type_rank(t);
  for (uint32_t i = 0; i < out->rank; i++) {
    const surg_dim dim = *surg_type_dim(t, i);
    out->d[i] = (surg__bdim){.n = dim.value >= 0 ? dim.value : -1, .of = v, .axis = i, .dim = dim};
  }
  return out->dtype != 0;
}

/* Emissions add and multiply sizes: no tensor that an engine could hold comes near this limit. */
#define MOST_ELEMENTS (UINT64_C(1) << 48)

static bool is_huge(const surg__built *x) {
  uint64_t count = 1;
  for (uint32_t i = 0; i < x->rank; i++)
    if (x->d[i].n > 0 &&
        (!surg__mul_u64(count, (uint64_t)x->d[i].n, &count) || count > MOST_ELEMENTS))
      return true;
  return false;
}

static bool is_float8(int dtype) {
  return surg__dtype_is_float(dtype) && surg__dtype_bits(dtype) == 8;
}

bool surg__built_get(const surg__builder *b, const char *name, surg__built *out) {
  const surg_value *v = surg__b_get(b, name);
  if (surg__built_of(surg__b_get(b, name), out)) {
    const bool packed = out->dtype != SURG_STRING && surg__dtype_bits(out->dtype) < 8;
    if (packed || is_float8(out->dtype))
      return surg__b_lacks(b, name, "there are no constants of its element type");
    return !is_huge(out) || surg__b_lacks(b, name, "it has too many elements");
  }
  if (!v) return false; /* absent, which is often allowed */
  const surg_type *t = surg_value_type(v);
  return surg__b_lacks(b, name, !t || !surg_type_has_rank(t)
                                    ? "its rank is unknown"
                                    : "it is not a tensor of a known type and of rank 8 or less");
}

bool surg__built_static(const surg__built *x) {
  for (uint32_t i = 0; i < x->rank; i++)
    if (x->d[i].n < 0) return false;
  return true;
}

bool surg__built_count(const surg__built *x, uint64_t most, uint64_t *count) {
  int64_t dims[SURG__BT_RANK];
  for (uint32_t i = 0; i < x->rank; i++) {
    if (x->d[i].n < 0) return false;
    dims[i] = x->d[i].n;
  }
  return surg__dims_product(dims, x->rank, count) && *count <= most;
}

/* --- sizes --- */

surg__bdim surg__bdim_fixed(int64_t n) {
  return (surg__bdim){.n = n, .dim = {.value = n}};
}

bool surg__bdim_same(const surg__bdim *a, const surg__bdim *b) {
  if (a->n >= 0 || b->n >= 0) return a->n == b->n;
  if (a->v || b->v) return a->v == b->v;
  return (a->of == b->of && a->axis == b->axis) || surg_dim_equal(&a->dim, &b->dim);
}

bool surg__bdim_filled(const surg__bdim *a) {
  int64_t low, high;
  if (a->n >= 0) return a->n > 0;
  if (a->filled) return true;
  return !a->v && surg_dim_range(&a->dim, &low, &high) && low > 0;
}

/* The cache entry of a size requested before, or a new one; the oldest entry is overwritten. */
static surg__bsize *remembered(surg__builder *b, surg_value *of, int64_t axis) {
  for (size_t i = 0; i < SURG_COUNT(b->sizes); i++)
    if (b->sizes[i].of == of && b->sizes[i].axis == axis && b->sizes[i].v) return &b->sizes[i];
  surg__bsize *s = &b->sizes[b->n_sizes++ % SURG_COUNT(b->sizes)];
  *s = (surg__bsize){.of = of, .axis = axis};
  return s;
}

/* As a vector of one element. */
static surg_value *one_size(surg__builder *b, const surg__bdim *d) {
  if (d->n >= 0) return surg__b_ints(b, &d->n, 1);
  if (d->v) return d->v;
  const int64_t axis = d->axis;
  surg__bsize *whole = remembered(b, d->of, -1);
  if (!whole->v) whole->v = surg__b_unary(b, "Shape", d->of);
  surg_value *shape = whole->v;
  surg__bsize *one = remembered(b, d->of, axis);
  if (!one->v) {
    one->v = surg__b_binary(b, "Gather", shape, surg__b_ints(b, &axis, 1));
    surg__b_set_int(b, one->v, "axis", 0);
  }
  return one->v;
}

static surg__bdim computed(surg__builder *b, const char *op, surg__bdim x, surg__bdim y) {
  surg_value *vx = one_size(b, &x), *vy = one_size(b, &y);
  return (surg__bdim){.n = -1, .v = surg__b_binary(b, op, vx, vy), .dim = {.value = -1}};
}

surg__bdim surg__bdim_add(surg__builder *b, surg__bdim x, surg__bdim y) {
  int64_t n;
  if (x.n == 0) return y;
  if (y.n == 0) return x;
  if (x.n >= 0 && y.n >= 0 && surg__add_i64(x.n, y.n, &n)) return surg__bdim_fixed(n);
  return computed(b, "Add", x, y);
}

surg__bdim surg__bdim_sub(surg__builder *b, surg__bdim x, surg__bdim y) {
  if (y.n == 0) return x;
  if (x.n >= 0 && y.n >= 0 && y.n <= x.n) return surg__bdim_fixed(x.n - y.n);
  return computed(b, "Sub", x, y);
}

surg__bdim surg__bdim_mul(surg__builder *b, surg__bdim x, surg__bdim y) {
  int64_t n;
  if (x.n == 1) return y;
  if (y.n == 1) return x;
  if (x.n >= 0 && y.n >= 0 && surg__mul_i64(x.n, y.n, &n)) return surg__bdim_fixed(n);
  surg__bdim d = computed(b, "Mul", x, y);
  const surg__bdim *other = surg__bdim_filled(&x) ? &y : surg__bdim_filled(&y) ? &x : NULL;
  d.filled = surg__bdim_filled(&x) && surg__bdim_filled(&y);
  if (other) {
    d.of = other->of;
    d.axis = other->axis;
  }
  return d;
}

surg__bdim surg__bdim_div(surg__builder *b, surg__bdim x, surg__bdim y) {
  if (y.n == 1) return x;
  if (x.n >= 0 && y.n > 0) return surg__bdim_fixed(x.n / y.n);
  surg__bdim d = computed(b, "Div", x, y);
  d.filled = surg__bdim_filled(&x);
  d.of = x.of;
  d.axis = x.axis;
  return d;
}

surg_value *surg__bdim_vector(surg__builder *b, const surg__bdim *d, size_t n) {
  surg_value *parts[SURG__BT_RANK];
  int64_t run[SURG__BT_RANK];
  size_t n_parts = 0, n_run = 0;
  assert(n <= SURG__BT_RANK);
  for (size_t i = 0; i < n; i++) {
    const bool known = d[i].n >= 0 || (!d[i].v && !d[i].of); /* -1: inferred by Reshape */
    if (known) run[n_run++] = d[i].n;
    if (n_run && (!known || i + 1 == n)) {
      parts[n_parts++] = surg__b_ints(b, run, n_run);
      n_run = 0;
    }
    if (!known) parts[n_parts++] = one_size(b, &d[i]);
  }
  if (!n_parts) return surg__b_ints(b, run, 0);
  if (n_parts == 1) return parts[0];
  surg_value *v = surg__b_node(b, "Concat", parts, n_parts);
  surg__b_set_int(b, v, "axis", 0);
  return v;
}

surg__built surg__bdim_scalar(surg__builder *b, surg__bdim d, int dtype) {
  if (d.n >= 0) return surg__built_scalar(b, dtype, (double)d.n);
  surg__built one = {
      .v = one_size(b, &d), .dtype = SURG_INT64, .rank = 1, .d = {surg__bdim_fixed(1)}};
  return surg__built_cast(b, surg__built_reshape(b, one, NULL, 0), dtype);
}

/* --- constants --- */

surg__built surg__built_scalar(surg__builder *b, int dtype, double v) {
  return (surg__built){.v = surg__b_scalar(b, dtype, v), .dtype = dtype};
}

surg_value *surg__b_numbers(surg__builder *b, int dtype, const double *numbers, const int64_t *dims,
                            size_t rank) {
  const size_t size = surg__dtype_bits(dtype) / 8;
  uint64_t count;
  assert(size > 0);
  if (b->status) return NULL;
  const bool fits = surg__dims_product(dims, rank, &count) && count < SIZE_MAX;
  uint8_t *raw = fits ? surg__arena_array(b->m->arena, (size_t)count + 1, size) : NULL;
  if (!raw) return surg__b_no_memory(b);
  for (uint64_t i = 0; i < count; i++) {
    const surg__rnum n = {.known = true, .f = numbers[i]};
    if (!surg__rput_number(dtype, true, &n, raw + i * size)) b->status = SURG_EINTERNAL;
  }
  return surg__b_tensor(b, dtype, dims, rank, raw, (size_t)count * size);
}

surg__built surg__built_numbers(surg__builder *b, int dtype, const int64_t *dims, uint32_t rank,
                          const double *numbers) {
  surg__built x = {.dtype = dtype, .rank = rank};
  assert(rank <= SURG__BT_RANK);
  for (uint32_t i = 0; i < rank; i++) x.d[i] = surg__bdim_fixed(dims[i]);
  x.v = surg__b_numbers(b, dtype, numbers, dims, rank);
  return x;
}

surg__built surg__built_fill(surg__builder *b, int dtype, double v, const surg__bdim *d,
                             uint32_t rank) {
  surg__built x = {.dtype = dtype, .rank = rank};
  int64_t dims[SURG__BT_RANK];
  uint64_t count;
  for (uint32_t i = 0; i < rank; i++) {
    x.d[i] = d[i];
    dims[i] = d[i].n;
  }
  if (!surg__built_count(&x, SURG_LIMIT_EMIT_CONSTANT, &count))
    return surg__built_expand(b, surg__built_scalar(b, dtype, v), d, rank);
  double *numbers = surg__arena_array(b->m->arena, (size_t)count + 1, sizeof *numbers);
  for (uint64_t i = 0; numbers && i < count; i++) numbers[i] = v;
  if (numbers) return surg__built_numbers(b, dtype, dims, rank, numbers);
  b->status = SURG_ENOMEM;
  return x;
}

surg__built surg__built_steps(surg__builder *b, surg__bdim n, surg__bdim step, int dtype) {
  surg__built x = {.dtype = dtype, .rank = 1, .d = {n}};
  if (n.n >= 0 && n.n <= SURG_LIMIT_EMIT_CONSTANT && step.n >= 0 && step.n <= INT32_MAX) {
    double *numbers = surg__arena_array(b->m->arena, (size_t)n.n + 1, sizeof *numbers);
    for (int64_t i = 0; numbers && i < n.n; i++) numbers[i] = (double)(i * step.n);
    if (numbers) return surg__built_numbers(b, dtype, &n.n, 1, numbers);
    b->status = SURG_ENOMEM;
    return x;
  }
  if (b->m->opset < 11) {
    x.v = surg__b_counting(b, surg__bdim_vector(b, &n, 1));
    if (dtype != SURG_INT64) x.v = surg__b_cast(b, x.v, dtype);
    return x;
  }
  surg_value *from = surg__b_scalar(b, dtype, 0), *to = surg__bdim_scalar(b, n, dtype).v;
  surg_value *const in[3] = {from, to, surg__b_scalar(b, dtype, 1)};
  x.v = surg__b_node(b, "Range", in, 3);
  return step.n == 1 ? x : surg__built_binary(b, "Mul", x, surg__bdim_scalar(b, step, dtype));
}

surg__built surg__built_range(surg__builder *b, surg__bdim n, int dtype) {
  return surg__built_steps(b, n, surg__bdim_fixed(1), dtype);
}
