/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels that generate patterns: Range, OneHot, EyeLike, Trilu, NonZero. */
#include <math.h>

#include "base/dtype.h"
#include "eval/move/move.h"

/* --- Range --- */

static surg__kstatus range_ints(surg_kctx *k) {
  int64_t start, limit, delta, span, n = 0;
  (void)surg__as_int(&k->in[0], 0, &start);
  (void)surg__as_int(&k->in[1], 0, &limit);
  (void)surg__as_int(&k->in[2], 0, &delta);
  if (delta == 0) return surg__k_invalid(k, "the delta is 0");
  if (!surg__sub_i64(limit, start, &span)) return SURG__K_BUDGET;
  if (span != 0 && (span > 0) == (delta > 0)) {
    uint64_t distance = span > 0 ? (uint64_t)span : 0 - (uint64_t)span;
    uint64_t step = delta > 0 ? (uint64_t)delta : 0 - (uint64_t)delta;
    n = (int64_t)(1 + (distance - 1) / step);
  }
  int dtype = k->in[0].dtype;
  SURG__K_TRY(surg__k_out(k, 0, dtype, &n, 1));
  SURG__K_TRY(surg__k_work(k, (uint64_t)n));
  void *out = k->out[0].data;
  for (int64_t i = 0; out && i < n; i++) {
    int64_t v = (int64_t)((uint64_t)start + (uint64_t)i * (uint64_t)delta);
    if (dtype == SURG_INT16)
      ((int16_t *)out)[i] = (int16_t)v;
    else if (dtype == SURG_INT32)
      ((int32_t *)out)[i] = (int32_t)v;
    else
      ((int64_t *)out)[i] = v;
  }
  return SURG__K_OK;
}

/* The number of elements. CANNOT if float and double arithmetic give different numbers. */
static surg__kstatus range_count(surg_kctx *k, double start, double limit, double delta, bool wide,
                                 int64_t *out) {
  if (!isfinite(start) || !isfinite(limit) || !isfinite(delta))
    return surg__k_cannot(k, "a bound is not finite");
  if (delta == 0) return surg__k_invalid(k, "the delta is 0");
  double narrow = (double)((float)limit - (float)start);
  double a = wide ? ceil((limit - start) / delta) : ceil(narrow / delta);
  double b = wide ? a : (double)ceilf((float)narrow / (float)delta);
  if (a != b) return surg__k_cannot(k, "the number of elements depends on rounding");
  if (!(a < 9e18)) return SURG__K_BUDGET;
  *out = a > 0 ? (int64_t)a : 0;
  return SURG__K_OK;
}

static double range_load(const surg__array *a) {
  switch (a->dtype) {
    case SURG_FLOAT:
      return (double)*(const float *)a->data;
    case SURG_DOUBLE:
      return *(const double *)a->data;
    case SURG_FLOAT16:
      return (double)surg__half_to_float(*(const uint16_t *)a->data);
    default:
      return (double)surg__bf16_to_float(*(const uint16_t *)a->data);
  }
}

/* Stores `product` rounded to the output type; false if `sum` rounds to another value. */
static bool range_store(int dtype, void *out, int64_t i, double product, double sum) {
  switch (dtype) {
    case SURG_FLOAT:
      ((float *)out)[i] = (float)product;
      return (float)product == (float)sum;
    case SURG_DOUBLE:
      ((double *)out)[i] = product;
      return product == sum;
    case SURG_FLOAT16: {
      uint16_t h = surg__double_to_half(product);
      ((uint16_t *)out)[i] = h;
      return h == surg__double_to_half(sum);
    }
    default: {
      uint16_t h = surg__double_to_bf16(product);
      ((uint16_t *)out)[i] = h;
      return h == surg__double_to_bf16(sum);
    }
  }
}

/* Range of floats. The text of the specification defines start + i * delta, its function body
 * repeated addition, and engines use either. So the result is computed only if both are
 * bit-identical. */
static surg__kstatus range_floats(surg_kctx *k) {
  int dtype = k->in[0].dtype;
  bool wide = dtype == SURG_DOUBLE;
  if (dtype != SURG_FLOAT && !wide && surg_node_int(k->node, "stash_type", 1) != SURG_FLOAT)
    return surg__k_cannot(k, "the stash_type is not float");
  double start = range_load(&k->in[0]), limit = range_load(&k->in[1]);
  double delta = range_load(&k->in[2]), sum = start;
  int64_t n;
  SURG__K_TRY(range_count(k, start, limit, delta, wide, &n));
  SURG__K_TRY(surg__k_out(k, 0, dtype, &n, 1));
  SURG__K_TRY(surg__k_work(k, (uint64_t)n));
  for (int64_t i = 0; k->out[0].data && i < n; i++) {
    double product;
    if (wide) {
      product = (double)i * delta;
      product = start + product;
    } else {
      float step = (float)i * (float)delta;
      product = (double)((float)start + step);
    }
    if (!range_store(dtype, k->out[0].data, i, product, sum))
      return surg__k_cannot(k, "the elements depend on the order of rounding");
    sum = wide ? sum + delta : (double)((float)sum + (float)delta);
  }
  return SURG__K_OK;
}

surg__kstatus surg__k_range(surg_kctx *k) {
  for (uint32_t i = 0; i < 3; i++) {
    SURG__K_TRY(surg__need(k, i));
    if (k->in[i].count != 1 || k->in[i].dtype != k->in[0].dtype)
      return surg__k_invalid(k, "the bounds are not scalars of one type");
  }
  switch (k->in[0].dtype) {
    case SURG_INT16:
    case SURG_INT32:
    case SURG_INT64:
      return range_ints(k);
    case SURG_FLOAT16:
    case SURG_BFLOAT16:
    case SURG_FLOAT:
    case SURG_DOUBLE:
      return range_floats(k);
    default:
      return surg__k_cannot(k, "the type has no range");
  }
}

/* --- OneHot --- */

static surg__kstatus one_hot_depth(surg_kctx *k, int64_t *depth) {
  for (uint32_t i = 0; i < 3; i++) SURG__K_TRY(surg__need(k, i));
  if (k->in[1].count != 1) return surg__k_invalid(k, "the depth is not a single number");
  if (!surg__as_int(&k->in[1], 0, depth))
    return surg__k_cannot(k, "the depth is not an integer");
  if (*depth < 0) return surg__k_invalid(k, "the depth is negative");
  if (k->in[2].rank != 1 || k->in[2].count != 2)
    return surg__k_invalid(k, "the values are not a pair");
  return SURG__K_OK;
}

surg__kstatus surg__k_one_hot(surg_kctx *k) {
  int64_t depth, dims[SURG_LIMIT_RANK + 1];
  uint32_t axis;
  SURG__K_TRY(one_hot_depth(k, &depth));
  const surg__array *ix = &k->in[0], *values = &k->in[2];
  int64_t where = surg_node_int(k->node, "axis", -1);
  if (!surg__k_axis(where, ix->rank + 1, &axis))
    return surg__k_invalid(k, "an axis is out of range");
  for (uint32_t i = 0; i <= ix->rank; i++)
    dims[i] = i == axis ? depth : ix->dims[i < axis ? i : i - 1];
  SURG__K_TRY(surg__k_out(k, 0, values->dtype, dims, ix->rank + 1));
  SURG__K_TRY(surg__k_work(k, k->out[0].count));
  SURG__K_TRY(surg__k_work(k, ix->count));
  if (!k->out[0].data || k->out[0].count == 0) return SURG__K_OK;
  size_t size = surg__element_size(values);
  uint8_t *out = k->out[0].data;
  const uint8_t *off = values->data, *on = off + size;
  surg__fill(out, k->out[0].count, off, size);
  uint64_t inner = surg__span_product(ix->dims, axis, ix->rank);
  for (uint64_t i = 0; i < ix->count; i++) {
    int64_t v;
    if (!surg__as_int(ix, i, &v)) return surg__k_cannot(k, "an index is not an integer");
    if (v < 0 && k->since >= 11) v += depth;
    if (v < 0 || v >= depth) continue;
    uint64_t at = (i / inner * (uint64_t)depth + (uint64_t)v) * inner + i % inner;
    memcpy(out + at * size, on, size);
  }
  return SURG__K_OK;
}

/* --- EyeLike, Trilu --- */

/* The number 1 in an element type; false if the type is not supported. */
static bool one_of(int dtype, uint8_t *out) {
  float f = 1;
  double d = 1;
  uint64_t i = 1; /* little-endian: the low bytes represent 1 in every integer type */
  uint16_t h = dtype == SURG_FLOAT16 ? surg__float_to_half(1) : surg__float_to_bf16(1);
  switch (dtype) {
    case SURG_FLOAT:
      memcpy(out, &f, sizeof f);
      return true;
    case SURG_DOUBLE:
      memcpy(out, &d, sizeof d);
      return true;
    case SURG_FLOAT16:
    case SURG_BFLOAT16:
      memcpy(out, &h, sizeof h);
      return true;
    case SURG_BOOL:
    case SURG_INT8:
    case SURG_UINT8:
      out[0] = 1;
      return true;
    case SURG_INT16:
    case SURG_UINT16: {
      uint16_t s = (uint16_t)i;
      memcpy(out, &s, sizeof s);
      return true;
    }
    case SURG_INT32:
    case SURG_UINT32: {
      uint32_t w = (uint32_t)i;
      memcpy(out, &w, sizeof w);
      return true;
    }
    case SURG_INT64:
    case SURG_UINT64:
      memcpy(out, &i, sizeof i);
      return true;
    default:
      return false;
  }
}

surg__kstatus surg__k_eye_like(surg_kctx *k) {
  SURG__K_TRY(surg__need(k, 0));
  const surg__array *a = &k->in[0];
  if (a->rank != 2) return surg__k_invalid(k, "the input does not have two dimensions");
  int64_t wanted = surg_node_int(k->node, "dtype", a->dtype);
  int64_t diagonal = surg_node_int(k->node, "k", 0), rows = a->dims[0], cols = a->dims[1];
  uint8_t one[8];
  if (wanted <= 0 || wanted >= SURG_DTYPE_COUNT || !one_of((int)wanted, one))
    return surg__k_cannot(k, "the type has no unit");
  SURG__K_TRY(surg__k_out(k, 0, (int)wanted, a->dims, 2));
  SURG__K_TRY(surg__k_work(k, k->out[0].count));
  if (!k->out[0].data || k->out[0].count == 0) return SURG__K_OK;
  size_t size = surg__dtype_unpacked((int)wanted);
  memset(k->out[0].data, 0, k->out[0].count * size);
  if (diagonal <= -rows || diagonal >= cols) return SURG__K_OK;
  for (int64_t r = diagonal < 0 ? -diagonal : 0; r < rows && r + diagonal < cols; r++)
    memcpy((uint8_t *)k->out[0].data + (size_t)(r * cols + r + diagonal) * size, one, size);
  return SURG__K_OK;
}

surg__kstatus surg__k_trilu(surg_kctx *k) {
  SURG__K_TRY(surg__need(k, 0));
  const surg__array *a = &k->in[0];
  int64_t diagonal = 0;
  if (surg__k_has(k, 1)) SURG__K_TRY(surg__int_input(k, 1, &diagonal));
  if (a->rank < 2) return surg__k_invalid(k, "the input has less than two dimensions");
  if (a->dtype == SURG_STRING) return surg__k_cannot(k, "the type has no zero");
  bool upper = surg_node_int(k->node, "upper", 1) != 0;
  int64_t rows = a->dims[a->rank - 2], cols = a->dims[a->rank - 1];
  if (diagonal < -rows) diagonal = -rows;
  if (diagonal > cols) diagonal = cols;
  SURG__K_TRY(surg__k_out(k, 0, a->dtype, a->dims, a->rank));
  SURG__K_TRY(surg__k_work(k, a->count));
  if (!k->out[0].data || a->count == 0) return SURG__K_OK;
  size_t size = surg__element_size(a);
  memset(k->out[0].data, 0, a->count * size);
  uint64_t total = a->count / (uint64_t)cols;
  for (uint64_t r = 0; r < total; r++) {
    int64_t cut = (int64_t)(r % (uint64_t)rows) + diagonal + (upper ? 0 : 1);
    cut = cut < 0 ? 0 : cut > cols ? cols : cut;
    size_t from = (size_t)(upper ? cut : 0), to = (size_t)(upper ? cols : cut);
    size_t at = (r * (size_t)cols + from) * size;
    memcpy((uint8_t *)k->out[0].data + at, (const uint8_t *)a->data + at, (to - from) * size);
  }
  return SURG__K_OK;
}

/* --- NonZero --- */

/* Whether element i is not 0. -0 counts as 0, NaN does not. */
static bool non_zero(const surg__array *a, uint64_t i, size_t size) {
  switch (a->dtype) {
    case SURG_FLOAT:
      return ((const float *)a->data)[i] != 0;
    case SURG_DOUBLE:
      return ((const double *)a->data)[i] != 0;
    case SURG_FLOAT16:
    case SURG_BFLOAT16:
      return (((const uint16_t *)a->data)[i] & 0x7fff) != 0;
    case SURG_COMPLEX64:
      return ((const float *)a->data)[2 * i] != 0 || ((const float *)a->data)[2 * i + 1] != 0;
    case SURG_COMPLEX128:
      return ((const double *)a->data)[2 * i] != 0 || ((const double *)a->data)[2 * i + 1] != 0;
    default: {
      static const uint8_t zero[8] = {0};
      return memcmp((const uint8_t *)a->data + i * size, zero, size) != 0;
    }
  }
}

surg__kstatus surg__k_non_zero(surg_kctx *k) {
  SURG__K_TRY(surg__need(k, 0));
  const surg__array *a = &k->in[0];
  if (a->rank == 0) return surg__k_cannot(k, "engines disagree on scalars");
  if (a->dtype == SURG_STRING || surg__dtype_bits(a->dtype) < 8 ||
      (a->dtype >= SURG_FLOAT8E4M3FN && a->dtype <= SURG_FLOAT8E5M2FNUZ) ||
      a->dtype == SURG_FLOAT8E8M0)
    return surg__k_cannot(k, "the type has no zero");
  SURG__K_TRY(surg__k_work(k, a->count));
  size_t size = surg__element_size(a);
  uint64_t n = 0;
  for (uint64_t i = 0; i < a->count; i++) n += non_zero(a, i, size);
  int64_t dims[2] = {(int64_t)a->rank, (int64_t)n};
  SURG__K_TRY(surg__k_out(k, 0, SURG_INT64, dims, 2));
  SURG__K_TRY(surg__k_work(k, k->out[0].count));
  if (!k->out[0].data || n == 0) return SURG__K_OK;
  static const int64_t steps[SURG_LIMIT_RANK] = {0};
  surg__odometer o = {.rank = a->rank, .dims = a->dims, .steps = steps};
  int64_t *out = k->out[0].data;
  for (uint64_t i = 0, at = 0; i < a->count; i++) {
    if (non_zero(a, i, size)) {
      for (uint32_t d = 0; d < a->rank; d++) out[d * n + at] = o.at[d];
      at++;
    }
    surg__odometer_next(&o);
  }
  return SURG__K_OK;
}
