/* SPDX-License-Identifier: Apache-2.0 */
/* Functions for results that are rounded to 16 bits: in float, within 2^-21 of the true value
 * (relatively; a power within 2^-18), which is far below the last place of half and bfloat16. The
 * same bits on every machine. */
#ifndef SURG_VMATH_FLOAT_H
#define SURG_VMATH_FLOAT_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "eval/hot.h"

SURG__INLINE float surg__f_fma(float x, float y, float z) {
  return __builtin_fmaf(x, y, z);
}

SURG__INLINE uint32_t surg__f_bits(float x) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}

SURG__INLINE float surg__f_from_bits(uint32_t bits) {
  float x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

/* c[0] + c[1] x + ... */
SURG__INLINE float surg__f_poly(float x, const float *c, int n) {
  float p = c[n - 1];
#pragma GCC unroll 16
  for (int i = n - 2; i >= 0; --i) p = surg__f_fma(p, x, c[i]);
  return p;
}
#define SURG__F_POLY(x, ...)                                         \
  surg__f_poly((x), (const float[]){__VA_ARGS__},                    \
               (int)(sizeof((const float[]){__VA_ARGS__}) / sizeof(float)))

/* Adding it rounds to a whole number, which the low bits hold. */
#define SURG__F_SHIFT 0x1.8p23f

/* e^x, x <= 0; below -104 it is 0. */
SURG__INLINE float surg__f_exp_below(float x) {
  x = x < -104 ? -104 : x;
  const float t = surg__f_fma(x, 1.44269504f, SURG__F_SHIFT), n = t - SURG__F_SHIFT;
  const float first = surg__f_fma(-n, 0x1.62e43p-1f, x); /* exact */
  const float r = surg__f_fma(-n, -0x1.05c61p-29f, first);
  const float y = surg__f_fma(r, SURG__F_POLY(r, 1.0f, 0.5f, 0.16666504740715027f,
                                              0.041666463017463684f, 0.008369174785912037f,
                                              0.001393367419950664f), 1);
  /* By way of 2^(n + 64), so that a subnormal result is rounded once. */
  return y * surg__f_from_bits((surg__f_bits(t) + 127 + 64) << 23) * 0x1p-64f;
}

#endif
