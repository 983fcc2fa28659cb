/* SPDX-License-Identifier: Apache-2.0 */
/* 16-bit floats in loops: sixteen at a time as doubles, with AVX-512, and back. `dtype` (FLOAT16 or
 * BFLOAT16) is a constant where these are called. */
#ifndef SURG_HALVES_H
#define SURG_HALVES_H

#include <stdint.h>
#include <string.h>

#include "base/dtype.h"
#include "eval/fast/hot.h"

/* Rounded to nearest; NaN is one NaN of either sign. */
SURG__INLINE uint16_t surg__bf16_of(float x) {
  uint32_t u;
  memcpy(&u, &x, sizeof u);
  const uint32_t r = (u + 0x7fffu + (u >> 16 & 1u)) >> 16;
  const uint32_t nan = (u >> 16 & 0x8000u) | 0x7fc0u;
  return (uint16_t)(x != x ? nan : r);
}

#if defined(__x86_64__)
#include <immintrin.h>

#define SURG__VECTOR SURG__WIDEST SURG__INLINE

typedef struct surg__v16d {
  __m512d low, high;
} surg__v16d;

SURG__VECTOR __m512 surg__sixteen_floats(int dtype, const uint16_t *from) {
  const __m256i v = _mm256_loadu_si256((const __m256i *)(const void *)from);
  if (dtype == SURG_FLOAT16) return _mm512_cvtph_ps(v);
  return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(v), 16));
}

SURG__VECTOR surg__v16d surg__load_sixteen(int dtype, const uint16_t *from) {
  const __m512 v = surg__sixteen_floats(dtype, from);
  return (surg__v16d){_mm512_cvtps_pd(_mm512_castps512_ps256(v)),
                      _mm512_cvtps_pd(_mm512_extractf32x8_ps(v, 1))};
}

/* Doubles to floats, rounded to odd, so that a second rounding is as if it were the only one: the
 * last bit that is kept stands for all that are cut off. Not so where floats are subnormal. */
SURG__VECTOR __m256 surg__eight_odd(__m512d v) {
  const __m512i u = _mm512_castpd_si512(v), lost = _mm512_set1_epi64(0x1fffffff);
  const __mmask8 some = _mm512_test_epi64_mask(u, lost);
  const __m512i odd = _mm512_mask_or_epi64(u, some, u, _mm512_set1_epi64(0x20000000));
  return _mm512_cvt_roundpd_ps(_mm512_castsi512_pd(odd), _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC);
}

/* Stores them rounded once, to nearest. False, and nothing of use is stored: some are NaN, or
 * floats of these would be subnormal where that counts. */
SURG__VECTOR bool surg__store_sixteen(int dtype, surg__v16d from, uint16_t *to) {
  enum { NO_NUMBER = 0x81, SUBNORMAL = 0x20 }; /* classes of VFPCLASS */
  const __m256 a = surg__eight_odd(from.low), b = surg__eight_odd(from.high);
  const __m512 v = _mm512_insertf32x8(_mm512_castps256_ps512(a), b, 1);
  __m256i r;
  if (dtype == SURG_FLOAT16) {
    r = _mm512_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  } else {
    const __m512i u = _mm512_castps_si512(v), one = _mm512_set1_epi32(1);
    const __mmask16 uneven = _mm512_test_epi32_mask(u, _mm512_set1_epi32(0x10000));
    const __m512i below = _mm512_add_epi32(u, _mm512_set1_epi32(0x7fff));
    const __m512i up = _mm512_mask_add_epi32(below, uneven, below, one);
    const __m512i upper = _mm512_set_epi16(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 31, 29, 27, 25,
                                           23, 21, 19, 17, 15, 13, 11, 9, 7, 5, 3, 1);
    r = _mm512_castsi512_si256(_mm512_permutexvar_epi16(upper, up));
  }
  _mm256_storeu_si256((__m256i *)(void *)to, r);
  return dtype == SURG_FLOAT16 ? _mm512_fpclass_ps_mask(v, NO_NUMBER) == 0
                               : _mm512_fpclass_ps_mask(v, NO_NUMBER | SUBNORMAL) == 0;
}
#endif

#endif
