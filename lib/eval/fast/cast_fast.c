/* SPDX-License-Identifier: Apache-2.0 */
/* Loops of Cast that a compiler can turn into vectors. The same bits as element by element. */
#include "eval/fast/cast_fast.h"

#include <math.h>

#include "base/dtype.h"
#include "eval/fast/halves.h"
#include "eval/fast/hot.h"

/* Numbers of C types to numbers of C types, where the language's conversion is the operator's:
 * integers keep their low bits, integers to floats and floats to floats round to nearest. */
#define CONVERT(name, source, target, expression)                                      \
  SURG__HOT(name, (const source *from, target *to, uint64_t n), (from, to, n)) {       \
    for (uint64_t i = 0; i < n; ++i) to[i] = (target)(expression);                     \
  }
#define CONVERT_INTEGER(source)                                    \
  CONVERT(source##_as_8, source##_t, uint8_t, from[i])             \
  CONVERT(source##_as_16, source##_t, uint16_t, from[i])           \
  CONVERT(source##_as_32, source##_t, uint32_t, from[i])           \
  CONVERT(source##_as_64, source##_t, uint64_t, from[i])           \
  CONVERT(source##_as_float, source##_t, float, from[i])           \
  CONVERT(source##_as_double, source##_t, double, from[i])         \
  CONVERT(source##_as_bool, source##_t, uint8_t, from[i] != 0)
#define AS(dtype, function)          \
  case dtype:                        \
    function(from, out->data, n);    \
    return true;
#define FROM_INTEGER(source)                                                            \
  CONVERT_INTEGER(source)                                                               \
  static bool from_##source(const surg__array *in, const surg__array *out) {            \
    const source##_t *from = in->data;                                                  \
    const uint64_t n = in->count;                                                       \
    switch (out->dtype) {                                                               \
      AS(SURG_INT8, source##_as_8) AS(SURG_UINT8, source##_as_8)                        \
      AS(SURG_INT16, source##_as_16) AS(SURG_UINT16, source##_as_16)                    \
      AS(SURG_INT32, source##_as_32) AS(SURG_UINT32, source##_as_32)                    \
      AS(SURG_INT64, source##_as_64) AS(SURG_UINT64, source##_as_64)                    \
      AS(SURG_FLOAT, source##_as_float) AS(SURG_DOUBLE, source##_as_double)             \
      AS(SURG_BOOL, source##_as_bool)                                                   \
      default: return false;                                                            \
    }                                                                                   \
  }
FROM_INTEGER(int8)
FROM_INTEGER(uint8)
FROM_INTEGER(int16)
FROM_INTEGER(uint16)
FROM_INTEGER(int32)
FROM_INTEGER(uint32)
FROM_INTEGER(int64)
FROM_INTEGER(uint64)

CONVERT(float_as_double, float, double, from[i])
CONVERT(double_as_float, double, float, from[i])
CONVERT(float_as_bool, float, uint8_t, from[i] != 0)
CONVERT(double_as_bool, double, uint8_t, from[i] != 0)

/* 64-bit integers as doubles that round on as the integers would: what is lost beyond 53 bits is
 * kept as one bit, far below the last place of a 16-bit float. */
CONVERT(int64_as_odd, int64_t, double,
        from[i] < (1ll << 53) && from[i] > -(1ll << 53)
            ? from[i]
            : (int64_t)(((uint64_t)from[i] & ~0x7ffull) |
                        ((uint64_t)from[i] & 0x7ff ? 0x800ull : 0ull)))
CONVERT(uint64_as_odd, uint64_t, double,
        from[i] < (1ull << 53)
            ? from[i]
            : (from[i] & ~0x7ffull) | (from[i] & 0x7ff ? 0x800ull : 0ull))

/* --- floats to integers: none may be NaN or out of range --- */

#define PIECE 4096 /* elements looked at, then converted while they are in the cache */

/* The limits are powers of two and so exact. A fraction towards zero is cut off: what is above
 * low - 1 fits; where that is no number of the type, none lies between it and low. */
#define CUT(name, source, target, low, high)                                          \
  SURG__HOT(name, (const source *from, target *to, uint64_t n, bool *fits),           \
            (from, to, n, fits)) {                                                    \
    const source under = (source)((low) - 1), least = (source)(low);                  \
    const source over = (source)(high);                                               \
    for (uint64_t at = 0; at < n && *fits; at += PIECE) {                             \
      uint64_t end = n - at < PIECE ? n : at + PIECE;                                 \
      int bad = 0;                                                                    \
      if (under < least) {                                                            \
        for (uint64_t i = at; i < end; ++i) bad |= !(from[i] > under && from[i] < over);\
      } else {                                                                        \
        for (uint64_t i = at; i < end; ++i) bad |= !(from[i] >= least && from[i] < over);\
      }                                                                               \
      *fits = bad == 0;                                                               \
      for (uint64_t i = at; i < end && bad == 0; ++i) to[i] = (target)from[i];        \
    }                                                                                 \
  }
CUT(float_to_int8, float, int8_t, -0x1p7, 0x1p7)
CUT(float_to_uint8, float, uint8_t, 0, 0x1p8)
CUT(float_to_int16, float, int16_t, -0x1p15, 0x1p15)
CUT(float_to_uint16, float, uint16_t, 0, 0x1p16)
CUT(float_to_int32, float, int32_t, -0x1p31, 0x1p31)
CUT(float_to_uint32, float, uint32_t, 0, 0x1p32)
CUT(double_to_int8, double, int8_t, -0x1p7, 0x1p7)
CUT(double_to_uint8, double, uint8_t, 0, 0x1p8)
CUT(double_to_int16, double, int16_t, -0x1p15, 0x1p15)
CUT(double_to_uint16, double, uint16_t, 0, 0x1p16)
CUT(double_to_int32, double, int32_t, -0x1p31, 0x1p31)
CUT(double_to_uint32, double, uint32_t, 0, 0x1p32)
CUT(float_to_int64, float, int64_t, -0x1p63, 0x1p63)
CUT(double_to_int64, double, int64_t, -0x1p63, 0x1p63)
CUT(float_to_uint64, float, uint64_t, 0, 0x1p64)
CUT(double_to_uint64, double, uint64_t, 0, 0x1p64)

#define CUT_ROW(source, name, dtype)                           \
  case dtype:                                                  \
    source##_to_##name(from, out->data, n, &fits);             \
    return fits;
#define CUT_ROWS(source)                                                                   \
  CUT_ROW(source, int8, SURG_INT8) CUT_ROW(source, uint8, SURG_UINT8)                      \
  CUT_ROW(source, int16, SURG_INT16) CUT_ROW(source, uint16, SURG_UINT16)                  \
  CUT_ROW(source, int32, SURG_INT32) CUT_ROW(source, uint32, SURG_UINT32)                  \
  CUT_ROW(source, int64, SURG_INT64) CUT_ROW(source, uint64, SURG_UINT64)

/* --- 16-bit floats --- */

typedef union bits {
  float f;
  uint32_t u;
} bits;

static void half_to_float_plain(const uint16_t *from, float *to, uint64_t n) {
  for (uint64_t i = 0; i < n; ++i) {
    uint32_t size = from[i] & 0x7fffu;
    /* Under the float's exponent the bits are 2^-112 times the number, subnormal or not. */
    bits v = {.u = size << 13}, r = {.f = v.f * 0x1p112f};
    uint32_t special = (size << 13) | 0x7f800000u;
    r.u = size >= 0x7c00u ? special : r.u;
    r.u |= (uint32_t)(from[i] & 0x8000u) << 16;
    to[i] = r.f;
  }
}

#if defined(__x86_64__)
/* Vectors do as many as fill them, and say how many. The instruction is right but for signalling
 * NaN, which it would quiet. */
SURG__WIDE static uint64_t half_to_float_wide(const uint16_t *from, float *to, uint64_t n) {
  uint64_t i = 0;
  for (; n - i >= 8; i += 8) {
    const __m256 v = _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)(from + i)));
    _mm256_storeu_ps(to + i, v);
    if (_mm256_movemask_ps(_mm256_cmp_ps(v, v, _CMP_UNORD_Q)))
      half_to_float_plain(from + i, to + i, 8);
  }
  return i;
}

SURG__WIDEST static uint64_t half_to_float_widest(const uint16_t *from, float *to, uint64_t n) {
  uint64_t i = 0;
  for (; n - i >= 16; i += 16) {
    const __m512 v = surg__sixteen_floats(SURG_FLOAT16, from + i);
    _mm512_storeu_ps(to + i, v);
    if (_mm512_cmp_ps_mask(v, v, _CMP_UNORD_Q)) half_to_float_plain(from + i, to + i, 16);
  }
  return i;
}
#endif

static void half_to_float(const uint16_t *from, float *to, uint64_t n) {
  uint64_t done = 0;
#if defined(__x86_64__)
  if (surg__cpu_widest())
    done = half_to_float_widest(from, to, n);
  else if (surg__cpu_wide())
    done = half_to_float_wide(from, to, n);
#endif
  half_to_float_plain(from + done, to + done, n - done);
}

static void float_to_half_plain(const float *from, uint16_t *to, uint64_t n) {
  for (uint64_t i = 0; i < n; ++i) {
    bits v = {.f = from[i]};
    uint32_t sign = v.u >> 16 & 0x8000u;
    v.u &= 0x7fffffffu;
    /* Normal: half the last place is added, less one where the bit to keep is even. */
    uint32_t normal = (v.u + 0xfffu + (v.u >> 13 & 1u) - 0x38000000u) >> 13;
    /* Subnormal: the sum with 0.5 rounds to 2^-24. */
    bits sum = {.f = v.f + 0.5f};
    uint32_t r = v.u < 0x38800000u ? sum.u - 0x3f000000u : normal;
    r = v.u >= 0x47800000u ? 0x7c00u : r;
    r = v.u > 0x7f800000u ? 0x7e00u : r;
    to[i] = (uint16_t)(r | sign);
  }
}

#if defined(__x86_64__)
/* The instruction keeps the payload of NaN: they become one NaN of either sign first. */
SURG__WIDE static uint64_t float_to_half_wide(const float *from, uint16_t *to, uint64_t n) {
  const __m256 sign = _mm256_set1_ps(-0.0f), one = _mm256_set1_ps(NAN);
  uint64_t i = 0;
  for (; n - i >= 8; i += 8) {
    const __m256 v = _mm256_loadu_ps(from + i), is_nan = _mm256_cmp_ps(v, v, _CMP_UNORD_Q);
    const __m256 nan = _mm256_or_ps(_mm256_and_ps(v, sign), one);
    const __m128i r =
        _mm256_cvtps_ph(_mm256_blendv_ps(v, nan, is_nan), _MM_FROUND_TO_NEAREST_INT);
    _mm_storeu_si128((__m128i *)(void *)(to + i), r);
  }
  return i;
}

SURG__WIDEST static uint64_t float_to_half_widest(const float *from, uint16_t *to, uint64_t n) {
  const __m512 sign = _mm512_set1_ps(-0.0f), one = _mm512_set1_ps(NAN);
  uint64_t i = 0;
  for (; n - i >= 16; i += 16) {
    const __m512 v = _mm512_loadu_ps(from + i), nan = _mm512_or_ps(_mm512_and_ps(v, sign), one);
    const __mmask16 is_nan = _mm512_cmp_ps_mask(v, v, _CMP_UNORD_Q);
    const __m256i r =
        _mm512_cvtps_ph(_mm512_mask_mov_ps(v, is_nan, nan), _MM_FROUND_TO_NEAREST_INT);
    _mm256_storeu_si256((__m256i *)(void *)(to + i), r);
  }
  return i;
}
#endif

static void float_to_half(const float *from, uint16_t *to, uint64_t n) {
  uint64_t done = 0;
#if defined(__x86_64__)
  if (surg__cpu_widest())
    done = float_to_half_widest(from, to, n);
  else if (surg__cpu_wide())
    done = float_to_half_wide(from, to, n);
#endif
  float_to_half_plain(from + done, to + done, n - done);
}

SURG__HOT(bf16_to_float, (const uint16_t *from, float *to, uint64_t n), (from, to, n)) {
  for (uint64_t i = 0; i < n; ++i) {
    bits r = {.u = (uint32_t)from[i] << 16};
    to[i] = r.f;
  }
}

SURG__HOT(float_to_bf16, (const float *from, uint16_t *to, uint64_t n), (from, to, n)) {
  for (uint64_t i = 0; i < n; ++i) to[i] = surg__bf16_of(from[i]);
}

void surg__widen_halves(int dtype, const uint16_t *from, float *to, uint64_t n) {
  if (dtype == SURG_FLOAT16)
    half_to_float(from, to, n);
  else
    bf16_to_float(from, to, n);
}

void surg__narrow_halves(int dtype, const float *from, uint16_t *to, uint64_t n) {
  if (dtype == SURG_FLOAT16)
    float_to_half(from, to, n);
  else
    float_to_bf16(from, to, n);
}

/* Rounded to odd, so that a second rounding is as if it were the only one: what is not exact
 * becomes the neighbour whose last bit is set. */
SURG__HOT(double_to_odd_float, (const double *from, float *to, uint64_t n), (from, to, n)) {
  for (uint64_t i = 0; i < n; ++i) {
    bits v = {.f = (float)from[i]};
    const double back = (double)v.f;
    const uint32_t over = fabs(back) > fabs(from[i]), even = ~v.u & 1u;
    /* Away from zero after rounding towards it, towards zero after rounding away. */
    const uint32_t odd = over ? v.u - even : v.u + even;
    v.u = back < from[i] || back > from[i] ? odd : v.u;
    to[i] = v.f;
  }
}

static void narrow_doubles_plain(int dtype, const double *from, uint16_t *to, uint64_t n) {
  float odd[PIECE];
  for (uint64_t at = 0; at < n; at += PIECE) {
    const uint64_t m = n - at < PIECE ? n - at : PIECE;
    double_to_odd_float(from + at, odd, m);
    surg__narrow_halves(dtype, odd, to + at, m);
  }
}

#if defined(__x86_64__)
SURG__VECTOR uint64_t narrow_doubles_as(int dtype, const double *from, uint16_t *to, uint64_t n) {
  uint64_t i = 0;
  for (; n - i >= 16; i += 16) {
    const surg__v16d v = {_mm512_loadu_pd(from + i), _mm512_loadu_pd(from + i + 8)};
    if (!surg__store_sixteen(dtype, v, to + i)) narrow_doubles_plain(dtype, from + i, to + i, 16);
  }
  return i;
}

SURG__WIDEST static uint64_t narrow_doubles_widest(int dtype, const double *from, uint16_t *to,
                                                   uint64_t n) {
  if (dtype == SURG_FLOAT16) return narrow_doubles_as(SURG_FLOAT16, from, to, n);
  return narrow_doubles_as(SURG_BFLOAT16, from, to, n);
}

SURG__VECTOR uint64_t halves_as(int dtype, const uint16_t *from, double *to, uint64_t n) {
  uint64_t i = 0;
  for (; n - i >= 16; i += 16) {
    const surg__v16d v = surg__load_sixteen(dtype, from + i);
    _mm512_storeu_pd(to + i, v.low);
    _mm512_storeu_pd(to + i + 8, v.high);
  }
  return i;
}

SURG__WIDEST static uint64_t halves_widest(int dtype, const uint16_t *from, double *to,
                                           uint64_t n) {
  if (dtype == SURG_FLOAT16) return halves_as(SURG_FLOAT16, from, to, n);
  return halves_as(SURG_BFLOAT16, from, to, n);
}
#endif

void surg__narrow_doubles(int dtype, const double *from, uint16_t *to, uint64_t n) {
  uint64_t done = 0;
#if defined(__x86_64__)
  if (surg__cpu_widest()) done = narrow_doubles_widest(dtype, from, to, n);
#endif
  narrow_doubles_plain(dtype, from + done, to + done, n - done);
}

void surg__halves_as_doubles(int dtype, const uint16_t *from, double *to, uint64_t n) {
  float wide[PIECE];
  uint64_t at = 0;
#if defined(__x86_64__)
  if (surg__cpu_widest()) at = halves_widest(dtype, from, to, n);
#endif
  for (uint64_t m; at < n; at += m) {
    m = n - at < PIECE ? n - at : PIECE;
    surg__widen_halves(dtype, from + at, wide, m);
    float_as_double(wide, to + at, m);
  }
}

static bool from_float(const surg__array *in, const surg__array *out) {
  const float *from = in->data;
  uint64_t n = in->count;
  bool fits = true;
  switch (out->dtype) {
    CUT_ROWS(float)
    AS(SURG_DOUBLE, float_as_double)
    AS(SURG_BOOL, float_as_bool)
    case SURG_FLOAT16:
      float_to_half(from, out->data, n);
      return true;
    case SURG_BFLOAT16:
      float_to_bf16(from, out->data, n);
      return true;
    default:
      return false;
  }
}

static bool from_double(const surg__array *in, const surg__array *out) {
  const double *from = in->data;
  uint64_t n = in->count;
  bool fits = true;
  switch (out->dtype) {
    CUT_ROWS(double)
    AS(SURG_FLOAT, double_as_float)
    AS(SURG_BOOL, double_as_bool)
    case SURG_FLOAT16:
    case SURG_BFLOAT16:
      surg__narrow_doubles(out->dtype, from, out->data, n);
      return true;
    default:
      return false;
  }
}

static bool is_half(int dtype) {
  return dtype == SURG_FLOAT16 || dtype == SURG_BFLOAT16;
}

static bool direct(const surg__array *in, const surg__array *out) {
  switch (in->dtype) {
    case SURG_INT8:
      return from_int8(in, out);
    case SURG_BOOL:
    case SURG_UINT8:
      return from_uint8(in, out);
    case SURG_INT16:
      return from_int16(in, out);
    case SURG_UINT16:
      return from_uint16(in, out);
    case SURG_INT32:
      return from_int32(in, out);
    case SURG_UINT32:
      return from_uint32(in, out);
    case SURG_INT64:
      return from_int64(in, out);
    case SURG_UINT64:
      return from_uint64(in, out);
    case SURG_FLOAT:
      return from_float(in, out);
    case SURG_DOUBLE:
      return from_double(in, out);
    case SURG_FLOAT16:
    case SURG_BFLOAT16:
      if (out->dtype != SURG_FLOAT) return false;
      surg__widen_halves(in->dtype, in->data, out->data, in->count);
      return true;
    default:
      return false;
  }
}

/* To and from 16-bit floats by way of `middle`, in pieces: nothing that counts is lost there. */
static bool by_pieces(const surg__array *in, const surg__array *out, int middle) {
  double room[PIECE];
  const size_t from_size = surg__dtype_unpacked(in->dtype);
  const size_t to_size = surg__dtype_unpacked(out->dtype);
  for (uint64_t at = 0; at < in->count; at += PIECE) {
    const uint64_t n = in->count - at < PIECE ? in->count - at : PIECE;
    const surg__array part = {.dtype = in->dtype, .count = n,
                              .data = (char *)in->data + at * from_size};
    const surg__array wide = {.dtype = middle, .count = n, .data = room};
    const surg__array to = {.dtype = out->dtype, .count = n,
                            .data = (char *)out->data + at * to_size};
    if (in->dtype == SURG_INT64)
      int64_as_odd(part.data, room, n);
    else if (in->dtype == SURG_UINT64)
      uint64_as_odd(part.data, room, n);
    else if (!direct(&part, &wide))
      return false;
    if (!direct(&wide, &to)) return false;
  }
  return true;
}

/* What holds every number of the type, or enough of it. */
static int exact_middle(int dtype) {
  switch (dtype) {
    case SURG_INT32:
    case SURG_UINT32:
    case SURG_INT64:
    case SURG_UINT64:
    case SURG_DOUBLE:
      return SURG_DOUBLE;
    default:
      return SURG_FLOAT;
  }
}

bool surg__cast_fast(const surg__array *in, const surg__array *out) {
  if (direct(in, out)) return true;
  if (is_half(in->dtype)) return by_pieces(in, out, SURG_FLOAT);
  const int middle = is_half(out->dtype) ? exact_middle(in->dtype) : 0;
  return middle && middle != in->dtype && by_pieces(in, out, middle);
}
