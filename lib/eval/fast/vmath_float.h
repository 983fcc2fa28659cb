/* SPDX-License-Identifier: Apache-2.0 */
/* Functions for results that are rounded to 16 bits: in float, within 2^-21 of the true value
 * (relatively; powers within 2^-16): some hundredths of the last place of those types. The same
 * bits on every machine. */
#ifndef SURG_VMATH_FLOAT_H
#define SURG_VMATH_FLOAT_H

#include "eval/fast/vmath.h"

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

SURG__POWER_OF(surg__f_power_of, float, fabsf, nearbyintf, copysignf, SURG__F_SHIFT, surg__f_bits,
               surg__f_from_bits, 31)

/* x to the y of a finite x > 0. With x = 2^k * m, m from sqrt(1/2) to sqrt(2), y k is exact, since
 * numbers of 16 bits have at most 11 that count. A larger y than 65536 gives nothing but 0, 1 and
 * infinity. */
SURG__INLINE float surg__f_power(float x, float y) {
  const uint32_t low = 0x3f350000u; /* of sqrt(1/2) */
  const float up = x < 0x1p-126f ? 0x1p24f : 1; /* subnormal numbers become normal ones */
  const uint32_t bits = surg__f_bits(x * up), high = (bits - low + (128u << 23)) >> 23;
  const float k =
      surg__f_from_bits(high | 0x4b000000u) - (0x1p23f + 128) - (up > 1 ? 24.0f : 0.0f);
  const float f = surg__f_from_bits(bits - ((high - 128) << 23)) - 1;
  const float log = f * SURG__F_POLY(f, 1.4426950216293335f, -0.7213473320007324f,
                                     0.48089852929115295f, -0.36069658398628235f,
                                     0.2885527014732361f, -0.23960696160793304f,
                                     0.20485368371009827f, -0.19139449298381805f,
                                     0.18479137122631073f, -0.10752256959676743f);
  y = y > 65536 ? 65536 : y;
  y = y < -65536 ? -65536 : y;
  const float whole = y * k;
  float p = surg__f_fma(y, log, whole);
  p = p > 160 ? 160 : p;
  p = p < -160 ? -160 : p;
  const float t = p + SURG__F_SHIFT, n = t - SURG__F_SHIFT;
  float r = surg__f_fma(y, log, whole - n);
  r = r > 1 ? 1 : r;
  r = r < -1 ? -1 : r;
  const float e = surg__f_fma(r, SURG__F_POLY(r, 0.6931471824645996f, 0.24022650718688965f,
                                              0.055503569543361664f, 0.009618083015084267f,
                                              0.0013390863314270973f, 0.00015453163359779865f), 1);
  /* Two factors, each a float. */
  const uint32_t both = surg__f_bits(t) - 0x4b400000u + 512, half = both >> 1;
  return e * surg__f_from_bits((half - 256 + 127) << 23) *
         surg__f_from_bits((both - half - 256 + 127) << 23);
}

/* The same of x from 2^-24 to 2^24 and |y| up to 5, whose power is a normal float: within 2^-17. */
#define SURG__F_POWER_MOST 0x1p24f
#define SURG__F_POWER_LEAST 0x1p-24f
#define SURG__F_POWER_OF 5
SURG__INLINE float surg__f_power_near(float x, float y) {
  const uint32_t low = 0x3f350000u; /* of sqrt(1/2) */
  const uint32_t bits = surg__f_bits(x), by = bits - low;
  const float k = (float)((int32_t)by >> 23); /* towards minus infinity */
  const float f = surg__f_from_bits(bits - (by & 0xff800000u)) - 1;
  const float log = f * SURG__F_POLY(f, 1.44269645214080810546875f, -0.721363544464111328125f,
                                     0.4806263148784637451171875f, -0.3593729436397552490234375f,
                                     0.295708835124969482421875f, -0.2693091928958892822265625f,
                                     0.1715707480907440185546875f);
  const float t = surg__f_fma(y, k + log, SURG__F_SHIFT), n = t - SURG__F_SHIFT;
  const float r = surg__f_fma(y, log, surg__f_fma(y, k, -n));
  const float e = SURG__F_POLY(r, 1, 0.693136870861053466796875f, 0.240232527256011962890625f,
                               5.58372177183628082275390625e-2f,
                               9.618078358471393585205078125e-3f);
  return surg__f_from_bits(surg__f_bits(e) + (surg__f_bits(t) << 23));
}

#endif
