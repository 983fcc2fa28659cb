/* SPDX-License-Identifier: Apache-2.0 */
/* Digests of elements, what is known of their values, and values that are drawn like them. */
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <math.h>

#include "base/dtype.h"
#include "base/real.h"
#include "weights/strip.h"

#define PIECE 32768u /* bytes; a multiple of every element size */

surg_status surg__tensor_digest(const surg_tensor *t, char text[SURG__DIGEST_TEXT]) {
  static const char hex[] = "0123456789abcdef";
  XXH3_state_t *state = XXH3_createState();
  uint8_t *p = surg__alloc(t->model->ctx, PIECE);
  surg_status s = state && p ? SURG_OK : surg__oom(t->model->ctx, NULL);
  if (s == SURG_OK) XXH3_128bits_reset(state);
  for (uint64_t at = 0; s == SURG_OK && at < t->bytes;) {
    const size_t n = t->bytes - at < PIECE ? (size_t)(t->bytes - at) : PIECE;
    s = surg_tensor_read(t, at, p, n);
    if (s == SURG_OK) XXH3_128bits_update(state, p, n);
    at += n;
  }
  if (s == SURG_OK) {
    XXH128_canonical_t c;
    XXH128_canonicalFromHash(&c, XXH3_128bits_digest(state));
    for (size_t i = 0; i < sizeof c.digest; i++) {
      text[2 * i] = hex[c.digest[i] >> 4];
      text[2 * i + 1] = hex[c.digest[i] & 15];
    }
    text[2 * sizeof c.digest] = 0;
  }
  surg__free(t->model->ctx, p);
  XXH3_freeState(state);
  return s;
}

/* --- values --- */

static bool is_complex(int dtype) {
  return dtype == SURG_COMPLEX64 || dtype == SURG_COMPLEX128;
}

/* The type that numbers of a tensor are read as: a complex number is two. */
static int part_type(int dtype) {
  return dtype == SURG_COMPLEX64 ? SURG_FLOAT : dtype == SURG_COMPLEX128 ? SURG_DOUBLE : dtype;
}

static bool is_real(int dtype) {
  return surg__dtype_is_float(dtype) || is_complex(dtype);
}

/* Integer i of n unpacked elements; unsigned ones above INT64_MAX are INT64_MAX. */
static int64_t integer_at(int dtype, const void *p, uint64_t i) {
  const uint64_t v = surg__load_int(dtype, p, i);
  return dtype == SURG_UINT64 && v > INT64_MAX ? INT64_MAX : (int64_t)v;
}

static void set_integer(int dtype, void *p, uint64_t i, int64_t v) {
  switch (dtype) {
    case SURG_INT64:
    case SURG_UINT64:
      ((uint64_t *)p)[i] = (uint64_t)v;
      return;
    case SURG_INT32:
    case SURG_UINT32:
      ((uint32_t *)p)[i] = (uint32_t)v;
      return;
    case SURG_INT16:
    case SURG_UINT16:
      ((uint16_t *)p)[i] = (uint16_t)v;
      return;
    default:
      ((uint8_t *)p)[i] = (uint8_t)v;
  }
}

/* Sums of what was seen; means are of finite numbers, relative to the first one. */
typedef struct summing {
  double n, first, sum, squares;
} summing;

static void see(surg__spread *x, summing *s, double v) {
  if (!isfinite(v)) return;
  if (s->n == 0) s->first = x->low = x->high = v;
  if (v < x->low) x->low = v;
  if (v > x->high) x->high = v;
  const double d = v - s->first;
  s->n++;
  s->sum += d;
  s->squares += d * d;
}

static void see_integer(surg__spread *x, bool first, int64_t v) {
  if (first || v < x->least) x->least = v;
  if (first || v > x->most) x->most = v;
}

/* Elements in a piece of memory: packed ones are at least 2 bits. */
static uint64_t in_piece(const surg_tensor *t, uint64_t done) {
  const uint64_t n = (uint64_t)PIECE * 8 / surg__dtype_bits(t->dtype);
  return t->count - done < n ? t->count - done : n;
}

surg_status surg__tensor_spread(const surg_tensor *t, surg__spread *x) {
  summing s = {0};
  const int part = part_type(t->dtype);
  surg_context *ctx = t->model->ctx;
  uint8_t *packed = surg__alloc(ctx, PIECE);
  double *wide = surg__alloc(ctx, PIECE * 4); /* unpacked: at most four times as many bytes */
  surg_status status = packed && wide ? SURG_OK : surg__oom(ctx, NULL);
  *x = (surg__spread){0};
  for (uint64_t done = 0, n, at = 0; status == SURG_OK && done < t->count; done += n) {
    uint64_t bytes = 0;
    n = in_piece(t, done);
    surg__dtype_bytes(t->dtype, n, &bytes);
    status = surg_tensor_read(t, at, packed, (size_t)bytes);
    at += bytes;
    if (status != SURG_OK) break;
    surg__unpack(t->dtype, n, packed, wide);
    const uint64_t parts = is_complex(t->dtype) ? n * 2 : n;
    for (uint64_t i = 0; i < parts; i++)
      if (is_real(t->dtype))
        see(x, &s, surg__load_f64(part, wide, i));
      else
        see_integer(x, done + i == 0, integer_at(t->dtype, wide, i));
  }
  if (s.n > 0) {
    const double mean = s.sum / s.n, square = s.squares / s.n - mean * mean;
    x->mean = s.first + mean;
    x->deviation = square > 0 ? sqrt(square) : 0;
    if (!isfinite(x->mean)) x->mean = 0;
    if (!isfinite(x->deviation)) x->deviation = 0;
  }
  surg__free(ctx, packed);
  surg__free(ctx, wide);
  return status;
}

/* --- drawing --- */

/* splitmix64 */
static uint64_t next(uint64_t *state) {
  uint64_t z = *state += UINT64_C(0x9E3779B97F4A7C15);
  z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
  z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
  return z ^ z >> 31;
}

/* About normal: the sum of 12 uniform numbers. It needs no function whose last digit differs
 * between systems. */
static double draw_real(const surg__spread *x, uint64_t *state) {
  double sum = -6;
  for (int i = 0; i < 3; i++) {
    const uint64_t r = next(state);
    for (int k = 0; k < 4; k++) sum += (double)(r >> (16 * k) & 0xffff) / 65536;
  }
  const double v = x->mean + x->deviation * sum;
  return v < x->low ? x->low : v > x->high ? x->high : v;
}

static int64_t draw_integer(const surg__spread *x, uint64_t *state) {
  const uint64_t width = (uint64_t)x->most - (uint64_t)x->least + 1, r = next(state);
  return (int64_t)((uint64_t)x->least + (width ? r % width : r));
}

/* Stores real number i; those of 8 and 4 bits become the nearest one of the type. */
static void set_real(int dtype, void *p, uint64_t i, double v) {
  if (dtype == SURG_FLOAT4E2M1)
    ((uint8_t *)p)[i] = surg__float_to_fp4((float)v);
  else if (surg__dtype_bits(dtype) == 8)
    ((uint8_t *)p)[i] = surg__float_to_fp8(dtype, (float)v, true);
  else
    surg__store_f64(dtype, p, i, v);
}

surg_status surg__tensor_draw(surg_tensor *t, surg__blob *b, const surg__spread *x, uint64_t seed) {
  const int part = part_type(t->dtype);
  surg_context *ctx = t->model->ctx;
  uint8_t *packed = surg__alloc(ctx, PIECE);
  double *wide = surg__alloc(ctx, PIECE * 4);
  surg_status status = packed && wide ? SURG_OK : surg__oom(ctx, NULL);
  for (uint64_t done = 0, n, at = 0; status == SURG_OK && done < t->count; done += n) {
    uint64_t bytes = 0;
    n = in_piece(t, done);
    surg__dtype_bytes(t->dtype, n, &bytes);
    const uint64_t parts = is_complex(t->dtype) ? n * 2 : n;
    for (uint64_t i = 0; i < parts; i++)
      if (is_real(t->dtype))
        set_real(part, wide, i, draw_real(x, &seed));
      else
        set_integer(t->dtype, wide, i, draw_integer(x, &seed));
    surg__pack(t->dtype, n, wide, packed);
    status = surg__blob_write(b, at, packed, (size_t)bytes);
    at += bytes;
  }
  surg__free(ctx, packed);
  surg__free(ctx, wide);
  return status;
}
