/* SPDX-License-Identifier: Apache-2.0 */
/* Conversion of elements for loops over doubles and 64-bit integers. */
#include "eval/core/piece.h"

#include <math.h>

#include "eval/core/number.h"

#define LOAD(name, type, wide, by)                                                    \
  static void name(const type *from, uint64_t step, uint64_t n, wide *to) {           \
    if (step == 1)                                                                    \
      for (uint64_t i = 0; i < n; ++i) to[i] = (wide)(by)from[i];                     \
    else                                                                              \
      for (uint64_t i = 0; i < n; ++i) to[i] = (wide)(by)from[i * step];              \
  }
#define LOAD_WHOLE(dtype, type, wrapping)            \
  LOAD(type##_as_double, type, double, int64_t)      \
  LOAD(type##_as_whole, type, uint64_t, int64_t)
SURG__SIGNED_TYPES(LOAD_WHOLE)
SURG__UNSIGNED_TYPES(LOAD_WHOLE)
LOAD(float_as_double, float, double, double)
LOAD(double_as_double, double, double, double)

typedef union bits {
  float f;
  uint32_t u;
} bits;

/* As surg__half_to_float, without branches. */
static void halves_as_double(const uint16_t *from, uint64_t step, uint64_t n, double *to) {
  for (uint64_t i = 0; i < n; ++i) {
    const uint16_t h = from[i * step];
    const uint32_t size = h & 0x7fffu;
    /* With the exponent bits of a float, the bits are 2^-112 times the number, subnormal or not. */
    bits v = {.u = size << 13}, r = {.f = v.f * 0x1p112f};
    r.u = size >= 0x7c00u ? v.u | 0x7f800000u : r.u;
    r.u |= (uint32_t)(h & 0x8000u) << 16;
    to[i] = (double)r.f;
  }
}

static void bf16_as_double(const uint16_t *from, uint64_t step, uint64_t n, double *to) {
  for (uint64_t i = 0; i < n; ++i) {
    bits r = {.u = (uint32_t)from[i * step] << 16};
    to[i] = (double)r.f;
  }
}

/* The dtype of the unpacked form of an integer below 8 bits. */
static int held_as(int dtype) {
  if (surg__dtype_bits(dtype) >= 8) return dtype == SURG_BOOL ? SURG_UINT8 : dtype;
  return surg__dtype_is_signed_int(dtype) ? SURG_INT8 : SURG_UINT8;
}

#define AS_DOUBLE(dtype, type, wrapping)                   \
  case dtype:                                              \
    type##_as_double((const type *)data + at, step, n, to); \
    return;
#define AS_WHOLE(dtype, type, wrapping)                    \
  case dtype:                                              \
    type##_as_whole((const type *)data + at, step, n, to);  \
    return;

void surg__load_run(int dtype, const void *data, uint64_t at, uint64_t step, uint64_t n,
                    double *to) {
  if (n == 0) return;
  if (!surg__dtype_is_float(dtype)) dtype = held_as(dtype);
  switch (dtype) {
    AS_DOUBLE(SURG_FLOAT, float, float)
    AS_DOUBLE(SURG_DOUBLE, double, double)
    SURG__SIGNED_TYPES(AS_DOUBLE)
    SURG__UNSIGNED_TYPES(AS_DOUBLE)
    case SURG_FLOAT16:
      halves_as_double((const uint16_t *)data + at, step, n, to);
      return;
    case SURG_BFLOAT16:
      bf16_as_double((const uint16_t *)data + at, step, n, to);
      return;
    default:
      for (uint64_t i = 0; i < n; ++i) to[i] = surg__load_f64(dtype, data, at + i * step);
  }
}

void surg__load_whole(int dtype, const void *data, uint64_t at, uint64_t step, uint64_t n,
                      uint64_t *to) {
  if (n == 0) return;
  switch (held_as(dtype)) {
    SURG__SIGNED_TYPES(AS_WHOLE)
    SURG__UNSIGNED_TYPES(AS_WHOLE)
    default:
      assert(!"an integer");
  }
}

/* --- storing --- */

/* v rounded to float "to odd": where the result is not exact its last bit is set, so that a second
 * rounding to 16 bits gives the same result as a single one. */
static bits odd_float(double v) {
  bits r = {.f = (float)v};
  const double back = (double)r.f;
  const uint32_t even = ~r.u & 1u, odd = fabs(back) > fabs(v) ? r.u - even : r.u + even;
  r.u = back < v || back > v ? odd : r.u;
  return r;
}

/* As surg__double_to_half and surg__double_to_bf16, without branches. */
static void store_halves(const double *from, uint16_t *to, uint64_t n) {
  for (uint64_t i = 0; i < n; ++i) {
    bits v = odd_float(from[i]);
    const uint32_t sign = v.u >> 16 & 0x8000u;
    v.u &= 0x7fffffffu;
    /* Normal: adds half a unit in the last place, minus one if the bit that is kept is even. */
    const uint32_t normal = (v.u + 0xfffu + (v.u >> 13 & 1u) - 0x38000000u) >> 13;
    /* Subnormal: adding 0.5 rounds to a multiple of 2^-24. */
    const bits sum = {.f = v.f + 0.5f};
    uint32_t r = v.u < 0x38800000u ? sum.u - 0x3f000000u : normal;
    r = v.u >= 0x47800000u ? 0x7c00u : r;
    r = v.u > 0x7f800000u ? 0x7e00u : r;
    to[i] = (uint16_t)(r | sign);
  }
}

static void store_bf16(const double *from, uint16_t *to, uint64_t n) {
  for (uint64_t i = 0; i < n; ++i) {
    const bits v = odd_float(from[i]);
    const uint32_t r = (v.u + 0x7fffu + (v.u >> 16 & 1u)) >> 16;
    to[i] = (uint16_t)(v.f != v.f ? (v.u >> 16 & 0x8000u) | 0x7fc0u : r);
  }
}

static void store_floats(const double *from, float *to, uint64_t n) {
  for (uint64_t i = 0; i < n; ++i) to[i] = (float)from[i];
}

void surg__store_reals(int dtype, void *data, uint64_t at, uint64_t n, const double *from) {
  switch (dtype) {
    case SURG_FLOAT:
      store_floats(from, (float *)data + at, n);
      return;
    case SURG_DOUBLE:
      if (n > 0) memcpy((double *)data + at, from, (size_t)n * sizeof *from);
      return;
    case SURG_FLOAT16:
      store_halves(from, (uint16_t *)data + at, n);
      return;
    default:
      assert(dtype == SURG_BFLOAT16);
      store_bf16(from, (uint16_t *)data + at, n);
  }
}

static void plain_nan(const double *from, double *to, uint64_t n) {
  for (uint64_t i = 0; i < n; ++i) to[i] = from[i] == from[i] ? from[i] : (double)NAN;
}

void surg__store_run(int dtype, void *data, uint64_t at, uint64_t n, const double *sums) {
  double v[SURG__PIECE];
  for (uint64_t done = 0, m; done < n; done += m) {
    m = n - done < SURG__PIECE ? n - done : SURG__PIECE;
    plain_nan(sums + done, v, m);
    surg__store_reals(dtype, data, at + done, m, v);
  }
}

#define STORE(type)                                                                  \
  static void store_##type(const uint64_t *from, type *to, uint64_t n) {             \
    for (uint64_t i = 0; i < n; ++i) to[i] = (type)from[i];                          \
  }
STORE(uint8_t)
STORE(uint16_t)
STORE(uint32_t)

void surg__store_whole(int dtype, void *data, uint64_t at, uint64_t n, const uint64_t *from) {
  switch (dtype) {
    case SURG_INT8:
    case SURG_UINT8:
      store_uint8_t(from, (uint8_t *)data + at, n);
      return;
    case SURG_INT16:
    case SURG_UINT16:
      store_uint16_t(from, (uint16_t *)data + at, n);
      return;
    case SURG_INT32:
    case SURG_UINT32:
      store_uint32_t(from, (uint32_t *)data + at, n);
      return;
    case SURG_INT64:
    case SURG_UINT64:
      if (n > 0) memcpy((uint64_t *)data + at, from, (size_t)n * sizeof *from);
      return;
    default:
      for (uint64_t i = 0; i < n; ++i) surg__store_int(dtype, data, at + i, from[i]);
  }
}
