/* SPDX-License-Identifier: Apache-2.0 */
/* Restoring floats from quantized elements, in pieces. */
#include "ir/tensor/scaled.h"

#define PIECE SURG__SCALED_PIECE

typedef struct job {
  const surg_tensor *q, *scale, *zero;
  surg__scaled s;
  uint8_t *raw, *native; /* a piece each */
  float *window;
  float *scales, *zeros; /* of a region, by key */
  surg_tensor *made;
} job;

static float integer_at(int dtype, const uint8_t *p, uint64_t i) {
  const void *v = p;
  switch (dtype) {
    case SURG_INT32:
      return (float)((const int32_t *)v)[i];
    case SURG_INT16:
      return ((const int16_t *)v)[i];
    case SURG_UINT16:
      return ((const uint16_t *)v)[i];
    default:
      return surg__dtype_is_signed_int(dtype) ? (float)((const int8_t *)v)[i] : (float)p[i];
  }
}

/* Elements [at, at + n) of a tensor as floats. */
static surg_status floats_of(const job *j, const surg_tensor *t, uint64_t at, uint64_t n,
                             float *out) {
  const int dtype = surg_tensor_dtype(t);
  const unsigned bits = surg__dtype_bits(dtype);
  while (n > 0) {
    const uint64_t some = n < PIECE ? n : PIECE;
    const uint64_t skip = bits < 8 ? at % (8 / bits) : 0; /* elements before it in its byte */
    uint64_t bytes = 0;
    surg__dtype_bytes(dtype, some + skip, &bytes);
    const surg_status s = surg_tensor_read(t, (at - skip) * bits / 8, j->raw, (size_t)bytes);
    if (s != SURG_OK) return s;
    surg__unpack(dtype, some + skip, j->raw, j->native);
    for (uint64_t i = 0; i < some; i++)
      out[i] = surg__dtype_is_float(dtype) ? (float)surg__load_f64(dtype, j->native, skip + i)
                                           : integer_at(dtype, j->native, skip + i);
    at += some;
    out += some;
    n -= some;
  }
  return SURG_OK;
}

static void restore(const job *j, uint64_t at, uint64_t end, float *x) {
  for (uint64_t i = at; i < end;) {
    const surg__scaled_run r = surg__scaled_at(&j->s, i, end);
    for (uint64_t k = 0; k < r.n; k++, x++)
      *x = (*x - j->zeros[r.key + k * r.step]) * j->scales[r.key + k * r.step];
    i += r.n;
  }
}

static surg_status write(job *j, uint64_t at, const float *x, uint64_t n) {
  const int dtype = surg_tensor_dtype(j->made);
  const size_t size = surg__dtype_bits(dtype) / 8;
  for (uint64_t i = 0; i < n; i++) surg__store_f64(dtype, j->native, i, (double)x[i]);
  surg__pack(dtype, n, j->native, j->raw);
  return surg__blob_write(j->made->blob, at * size, j->raw, (size_t)n * size);
}

static surg_status restore_region(job *j, uint64_t region) {
  uint64_t from, to;
  surg__scaled_region(&j->s, region, &from, &to);
  surg_status s = floats_of(j, j->scale, region * j->s.keys, j->s.keys, j->scales);
  if (s == SURG_OK && j->zero) s = floats_of(j, j->zero, region * j->s.keys, j->s.keys, j->zeros);
  for (uint64_t at = from; at < to && s == SURG_OK; at += PIECE) {
    const uint64_t n = to - at < PIECE ? to - at : PIECE;
    s = floats_of(j, j->q, at, n, j->window);
    if (s == SURG_OK) restore(j, at, at + n, j->window);
    if (s == SURG_OK) s = write(j, at, j->window, n);
  }
  return s;
}

static surg_status restore_all(job *j, surg_context *ctx) {
  const size_t keys = (size_t)j->s.keys + 1;
  j->raw = surg__alloc(ctx, (size_t)PIECE * 8);
  j->native = surg__alloc(ctx, (size_t)PIECE * 8);
  j->window = surg__alloc(ctx, (size_t)PIECE * sizeof(float));
  j->scales = surg__calloc(ctx, keys * 2, sizeof(float));
  surg_status s = j->raw && j->native && j->window && j->scales ? SURG_OK : surg__alloc_status(ctx);
  j->zeros = j->scales ? j->scales + keys : NULL;
  for (uint64_t i = 0; i < surg__scaled_regions(&j->s) && s == SURG_OK; i++)
    s = restore_region(j, i);
  surg__free(ctx, j->raw);
  surg__free(ctx, j->native);
  surg__free(ctx, j->window);
  surg__free(ctx, j->scales);
  return s;
}

static bool is_scale(int dtype) {
  return dtype == SURG_FLOAT || dtype == SURG_FLOAT16 || dtype == SURG_BFLOAT16;
}

static bool is_quantized(int dtype) {
  const unsigned bits = surg__dtype_bits(dtype);
  if (surg__dtype_is_int(dtype)) return bits >= 4 && bits <= 32 && dtype != SURG_UINT32;
  return surg__dtype_is_float(dtype) && bits == 8;
}

static bool readable(const surg_tensor *t) {
  return !surg_tensor_is_sparse(t) && t->view != SURG__VIEW_ABSENT;
}

/* Whether the scales, and zero points, have the shape that the axis and block need. */
static bool shapes_fit(const job *j, const surg_tensor *x, size_t axis) {
  if (!j->s.each) return surg_tensor_count(x) == 1;
  if (!j->s.block) return surg_tensor_rank(x) == 1 && surg_tensor_count(x) == j->s.length;
  if (surg_tensor_rank(x) != surg_tensor_rank(j->q)) return false;
  for (size_t i = 0; i < surg_tensor_rank(x); i++) {
    const int64_t want = i == axis ? (int64_t)j->s.groups : surg_tensor_dims(j->q)[i];
    if (surg_tensor_dims(x)[i] != want) return false;
  }
  return true;
}

surg_status surg_tensor_dequantize(surg_model *m, const surg_tensor *q, const surg_tensor *scale,
                                   const surg_tensor *zero, size_t axis, uint64_t block,
                                   surg_tensor **out) {
  if (!m || !q || !scale || !out) return SURG_EUSAGE;
  if (!surg__model_ok(m)) return m->status;
  job j = {.q = q, .scale = scale, .zero = zero};
  const bool each = block > 0 || surg_tensor_rank(scale) > 0;
  const bool single = !block && surg_tensor_count(scale) == 1 && surg_tensor_rank(scale) <= 1;
  if (!is_quantized(surg_tensor_dtype(q)) || !is_scale(surg_tensor_dtype(scale)) ||
      (zero && surg_tensor_dtype(zero) != surg_tensor_dtype(q)) || !readable(q) ||
      !readable(scale) || (zero && !readable(zero)) || !surg_tensor_count(q))
    return SURG_EUNSUPPORTED;
  if (!surg__scaled_of(&j.s, q, each && !single, axis, block)) return SURG_EUNSUPPORTED;
  if (!shapes_fit(&j, scale, axis) || (zero && !shapes_fit(&j, zero, axis))) return SURG_EINVALID;
  j.made =
      surg__tensor_blank(m, surg_tensor_dtype(scale), surg_tensor_dims(q), surg_tensor_rank(q));
  if (!j.made) return m->status != SURG_OK ? m->status : SURG_EINVALID;
  const surg_status s = restore_all(&j, m->ctx);
  if (s != SURG_OK) return surg__fail(m, s);
  *out = j.made;
  return SURG_OK;
}
