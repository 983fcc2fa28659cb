/* SPDX-License-Identifier: Apache-2.0 */
/* Converting the elements of a tensor to another type, and their extent, in pieces. */
#include <float.h>
#include <math.h>

#include <onnxsurg/precision.h>

#include "base/limits.h"
#include "base/real.h"
#include "ir/tensor.h"

#define PIECE ((size_t)SURG_LIMIT_PIECE / sizeof(double)) /* elements */

static bool takes(int dtype) {
  return dtype == SURG_FLOAT || dtype == SURG_DOUBLE || dtype == SURG_FLOAT16 ||
         dtype == SURG_BFLOAT16;
}

/* Integers beyond the narrower type become its nearest number. */
static void narrow_ints(const int64_t *in, int32_t *out, size_t n) {
  for (size_t i = 0; i < n; i++)
    out[i] = in[i] > INT32_MAX ? INT32_MAX : in[i] < INT32_MIN ? INT32_MIN : (int32_t)in[i];
}

surg_status surg_dtype_limits(int dtype, surg_float_limits *out) {
  surg_float_limits l = {.size = sizeof l};
  if (!out || out->size < sizeof l) return SURG_EUSAGE;
  switch (dtype) {
    case SURG_FLOAT16:
      l = (surg_float_limits){sizeof l, 65504, 0x1p-14, 0x1p-25, 0x1p-11};
      break;
    case SURG_BFLOAT16:
      l = (surg_float_limits){sizeof l, 0x1.fep127, 0x1p-126, 0x1p-134, 0x1p-8};
      break;
    case SURG_FLOAT:
      l = (surg_float_limits){sizeof l, (double)FLT_MAX, (double)FLT_MIN, 0x1p-150, 0x1p-24};
      break;
    case SURG_DOUBLE:
      l = (surg_float_limits){sizeof l, DBL_MAX, DBL_MIN, 0, 0x1p-53};
      break;
    default:
      return SURG_EUNSUPPORTED;
  }
  *out = l;
  return SURG_OK;
}

static double clamp(const surg_float_limits *l, double v, bool *clamped) {
  const double size = fabs(v);
  double to = size;
  if (size > l->top && size <= DBL_MAX) to = l->top;
  if (size > 0 && size <= l->zero) to = l->normal;
  *clamped = *clamped || to > size || to < size;
  return copysign(to, v);
}

/* The bits of absolute values have the order of the numbers. */
static uint32_t bits_of(float f) {
  uint32_t x;
  memcpy(&x, &f, sizeof x);
  return x;
}

/* The frequent conversions; false: another one. */
static bool convert_fast(int from, int to, const void *in, void *out, size_t n) {
  const float *f = in;
  uint16_t *h = out;
  if (from != SURG_FLOAT || (to != SURG_FLOAT16 && to != SURG_BFLOAT16)) return false;
  if (to == SURG_FLOAT16)
    for (size_t i = 0; i < n; i++) h[i] = surg__float_to_half(f[i]);
  else
    for (size_t i = 0; i < n; i++) h[i] = surg__float_to_bf16(f[i]);
  return true;
}

/* uint8 and int8, 128 apart. */
static void flip_signs(const uint8_t *in, uint8_t *out, size_t n) {
  for (size_t i = 0; i < n; i++) out[i] = in[i] ^ 0x80;
}

static void convert(int from, int to, const void *in, void *out, size_t n, bool *clamped) {
  surg_float_limits l = {.size = sizeof l};
  surg_dtype_limits(to, &l); /* integers have none */
  if (from == SURG_UINT8 || from == SURG_INT8) {
    flip_signs(in, out, n);
    return;
  }
  if (from == SURG_INT64) {
    narrow_ints(in, out, n);
    return;
  }
  if (from == SURG_INT32) {
    for (size_t i = 0; i < n; i++) ((int64_t *)out)[i] = ((const int32_t *)in)[i];
    return;
  }
  if (!clamped && convert_fast(from, to, in, out, n)) return;
  for (size_t i = 0; i < n; i++) {
    const double v = surg__load_f64(from, in, i);
    surg__store_f64(to, out, i, clamped ? clamp(&l, v, clamped) : v);
  }
}

/* Reads, converts and writes piece by piece: memory does not grow with the tensor. */
static surg_status convert_all(const surg_tensor *t, surg_tensor *made, bool *clamped) {
  surg_context *ctx = made->model->ctx;
  const size_t in_size = surg__dtype_bits(t->dtype) / 8, size = surg__dtype_bits(made->dtype) / 8;
  assert(in_size > 0 && size > 0);
  uint8_t *in = surg__alloc(ctx, PIECE * in_size), *native = surg__alloc(ctx, PIECE * in_size);
  uint8_t *out = surg__alloc(ctx, PIECE * size), *packed = surg__alloc(ctx, PIECE * size);
  surg_status s = in && native && out && packed ? SURG_OK : surg__alloc_status(ctx);
  for (uint64_t at = 0; s == SURG_OK && at < t->count; at += PIECE) {
    const size_t n = t->count - at < PIECE ? (size_t)(t->count - at) : PIECE;
    s = surg_tensor_read(t, at * in_size, in, n * in_size);
    if (s != SURG_OK) break;
    surg__unpack(t->dtype, n, in, native);
    convert(t->dtype, made->dtype, native, out, n, clamped);
    surg__pack(made->dtype, n, out, packed);
    s = surg__blob_write(made->blob, at * size, packed, n * size);
  }
  surg__free(ctx, in);
  surg__free(ctx, native);
  surg__free(ctx, out);
  surg__free(ctx, packed);
  return s;
}

/* A tensor of another type, converted. */
static surg_tensor *made_of(surg_model *m, const surg_tensor *t, int dtype, bool *clamped) {
  surg_tensor *made = surg__tensor_blank(m, dtype, surg_tensor_dims(t), surg_tensor_rank(t));
  const surg_status s = made && made->bytes ? convert_all(t, made, clamped) : SURG_OK;
  if (s == SURG_OK) return made;
  surg__fail(m, s);
  return NULL;
}

static surg_tensor *unsupported(surg_model *m) {
  surg__fail(m, SURG_EUNSUPPORTED);
  return NULL;
}

static surg_tensor *cast(surg_model *m, const surg_tensor *t, int dtype, bool *clamped) {
  if (!surg__model_ok(m) || !t || t->view == SURG__VIEW_ABSENT) return NULL;
  const int from = surg_tensor_dtype(t);
  const bool ints =
      (from == SURG_INT64 && dtype == SURG_INT32) || (from == SURG_INT32 && dtype == SURG_INT64);
  if ((!ints && (!takes(dtype) || !takes(from))) || surg_tensor_is_sparse(t)) return unsupported(m);
  return made_of(m, t, dtype, clamped);
}

surg_tensor *surg_tensor_flip_sign(surg_model *m, const surg_tensor *t) {
  if (!surg__model_ok(m) || !t) return NULL;
  const int from = surg_tensor_dtype(t);
  if ((from != SURG_UINT8 && from != SURG_INT8) || surg_tensor_is_sparse(t)) return unsupported(m);
  return made_of(m, t, from == SURG_UINT8 ? SURG_INT8 : SURG_UINT8, NULL);
}

surg_tensor *surg_tensor_cast(surg_model *m, const surg_tensor *t, int dtype) {
  return cast(m, t, dtype, NULL);
}

surg_tensor *surg_tensor_narrow(surg_model *m, const surg_tensor *t, int dtype, bool *clamped) {
  bool any = false;
  surg_tensor *made = cast(m, t, dtype, &any);
  if (clamped) *clamped = any;
  return made;
}

/* --- extent --- */

static void meet_size(surg_extent *e, double size) {
  if (size > e->largest) e->largest = size;
  if (size > 0 && (e->least == 0 || size < e->least)) e->least = size;
}

static void meet(surg_extent *e, double v) {
  const double size = fabs(v);
  if (v != v || size > DBL_MAX) {
    e->nan = e->nan || v != v;
    e->inf = e->inf || v == v;
    return;
  }
  if (v < e->low) e->low = v;
  if (v > e->high) e->high = v;
  meet_size(e, size);
}

/* As `meet` for each, by the bits of absolute values, which have the order of the numbers. */
static void meet_floats(surg_extent *e, const float *f, size_t n) {
  uint32_t least = UINT32_MAX, most = 0;
  float low = 0, high = 0;
  for (size_t i = 0; i < n; i++) {
    const uint32_t x = bits_of(f[i]) & 0x7fffffff;
    if (x >= 0x7f800000) {
      meet(e, (double)f[i]);
      continue;
    }
    if (x - 1 < least) least = x - 1; /* 0 becomes the largest */
    if (x > most) most = x;
    if (f[i] < low) low = f[i];
    if (f[i] > high) high = f[i];
  }
  if (most == 0) return;
  float size;
  least++;
  memcpy(&size, &least, sizeof size);
  meet_size(e, (double)size);
  memcpy(&size, &most, sizeof size);
  meet_size(e, (double)size);
  e->low = fmin(e->low, (double)low);
  e->high = fmax(e->high, (double)high);
}

surg_status surg_tensor_extent(const surg_tensor *t, surg_extent *out) {
  if (!t || !out) return SURG_EUSAGE;
  const int dtype = surg_tensor_dtype(t);
  const bool ints = dtype == SURG_INT64;
  if ((!ints && !takes(dtype)) || surg_tensor_is_sparse(t) || t->view == SURG__VIEW_ABSENT)
    return SURG_EUNSUPPORTED;
  surg_context *ctx = t->model->ctx;
  const size_t size = surg__dtype_bits(dtype) / 8;
  surg_extent e = {.size = sizeof e};
  uint8_t *in = surg__alloc(ctx, PIECE * size), *native = surg__alloc(ctx, PIECE * size);
  surg_status s = in && native ? SURG_OK : surg__alloc_status(ctx);
  for (uint64_t at = 0; s == SURG_OK && at < t->count; at += PIECE) {
    const size_t n = t->count - at < PIECE ? (size_t)(t->count - at) : PIECE;
    s = surg_tensor_read(t, at * size, in, n * size);
    if (s == SURG_OK) surg__unpack(dtype, n, in, native);
    if (s == SURG_OK && dtype == SURG_FLOAT)
      meet_floats(&e, (const float *)(const void *)native, n);
    else
      for (size_t i = 0; s == SURG_OK && i < n; i++)
        meet(&e, ints ? (double)((const int64_t *)(const void *)native)[i]
                      : surg__load_f64(dtype, native, i));
  }
  surg__free(ctx, in);
  surg__free(ctx, native);
  if (s == SURG_OK) surg__struct_out(out, &e, sizeof e);
  return s;
}
