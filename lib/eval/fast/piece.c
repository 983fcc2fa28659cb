/* SPDX-License-Identifier: Apache-2.0 */
/* How elements come into and out of loops over doubles and 64-bit integers. */
#include "eval/fast/piece.h"

#include <math.h>

#include "eval/fast/cast_fast.h"
#include "eval/fast/hot.h"
#include "eval/core/number.h"

#define LOAD(name, type, wide, by)                                                        \
  SURG__HOT(name, (const type *from, uint64_t step, uint64_t n, wide *to),                \
            (from, step, n, to)) {                                                        \
    if (step == 1) {                                                                      \
      for (uint64_t i = 0; i < n; ++i) to[i] = (wide)(by)from[i];                         \
    } else {                                                                              \
      for (uint64_t i = 0; i < n; ++i) to[i] = (wide)(by)from[i * step];                  \
    }                                                                                     \
  }
#define LOAD_WHOLE(dtype, type, wrapping)            \
  LOAD(type##_as_double, type, double, int64_t)      \
  LOAD(type##_as_whole, type, uint64_t, int64_t)
SURG__SIGNED_TYPES(LOAD_WHOLE)
SURG__UNSIGNED_TYPES(LOAD_WHOLE)
LOAD(float_as_double, float, double, double)
LOAD(double_as_double, double, double, double)

static void load_halves(int dtype, const uint16_t *from, uint64_t step, uint64_t n, double *to) {
  uint16_t dense[SURG__PIECE];
  if (step == 1) {
    surg__halves_as_doubles(dtype, from, to, n);
    return;
  }
  for (uint64_t at = 0; at < n; at += SURG__PIECE) {
    const uint64_t m = n - at < SURG__PIECE ? n - at : SURG__PIECE;
    for (uint64_t i = 0; i < m; ++i) dense[i] = from[(at + i) * step];
    surg__halves_as_doubles(dtype, dense, to + at, m);
  }
}

/* The type an integer is held as where it has fewer than 8 bits. */
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
    case SURG_BFLOAT16:
      load_halves(dtype, (const uint16_t *)data + at, step, n, to);
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

SURG__HOT(find_nan, (const double *v, uint64_t n, bool *found), (v, n, found)) {
  int64_t nan = 0;
  for (uint64_t i = 0; i < n; ++i) nan |= v[i] != v[i];
  *found = nan != 0;
}

bool surg__has_nan(const double *v, uint64_t n) {
  bool found;
  find_nan(v, n, &found);
  return found;
}

/* --- back --- */

SURG__HOT(plain_nan, (const double *from, double *to, uint64_t n), (from, to, n)) {
  for (uint64_t i = 0; i < n; ++i) to[i] = from[i] == from[i] ? from[i] : (double)NAN;
}

SURG__HOT(store_floats, (const double *from, float *to, uint64_t n), (from, to, n)) {
  for (uint64_t i = 0; i < n; ++i) to[i] = from[i] == from[i] ? (float)from[i] : NAN;
}

SURG__HOT(drop_nan_signs, (uint16_t *v, uint16_t infinity, uint64_t n), (v, infinity, n)) {
  for (uint64_t i = 0; i < n; ++i) {
    const uint16_t size = v[i] & 0x7fff;
    v[i] = size > infinity ? size : v[i];
  }
}

void surg__store_run(int dtype, void *data, uint64_t at, uint64_t n, const double *sums) {
  if (dtype == SURG_FLOAT) {
    store_floats(sums, (float *)data + at, n);
    return;
  }
  if (dtype == SURG_DOUBLE) {
    plain_nan(sums, (double *)data + at, n);
    return;
  }
  assert(dtype == SURG_FLOAT16 || dtype == SURG_BFLOAT16);
  uint16_t *to = (uint16_t *)data + at;
  surg__narrow_doubles(dtype, sums, to, n);
  drop_nan_signs(to, dtype == SURG_FLOAT16 ? 0x7c00 : 0x7f80, n);
}

#define STORE(type)                                                                  \
  SURG__HOT(store_##type, (const uint64_t *from, type *to, uint64_t n), (from, to, n)) { \
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
