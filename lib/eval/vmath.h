/* SPDX-License-Identifier: Apache-2.0 */
/* exp, log, tanh, erf, sines and what is made of them, for results that are rounded to float:
 * straight-line code that turns into vectors, with the same bits on every machine. Relative errors
 * are below 2e-11: a result is the float nearest to the true value, or, once in some thousands,
 * its neighbour where the true value lies half way between the two. NaN gives NaN. Arguments are
 * floats, whatever their type here. The coefficients are minimax fits. Multiplying and adding is
 * fused, by the C library where the processor has no instruction for it. */
#ifndef SURG_VMATH_H
#define SURG_VMATH_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "eval/hot.h"

SURG__INLINE uint64_t surg__v_bits(double x) {
  uint64_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}

SURG__INLINE double surg__v_from_bits(uint64_t bits) {
  double x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

/* x * y + z rounded once, on every machine: an instruction where there is one. */
SURG__INLINE double surg__v_fma(double x, double y, double z) {
  return __builtin_fma(x, y, z);
}

/* c[0] + c[1] x + ...; n is a constant, so that the loop is unrolled. */
SURG__INLINE double surg__v_poly(double x, const double *c, int n) {
  double p = c[n - 1];
#pragma GCC unroll 64
  for (int i = n - 2; i >= 0; --i) p = surg__v_fma(p, x, c[i]);
  return p;
}
#define SURG__V_POLY(x, ...)                                          \
  surg__v_poly((x), (const double[]){__VA_ARGS__},                    \
               (int)(sizeof((const double[]){__VA_ARGS__}) / sizeof(double)))

/* 1 / d to 2^-46, |d| from 2^-100 to 2^100: a step from the quotient of floats, which takes a third
 * of the time of one of doubles. */
SURG__INLINE double surg__v_inverse(double d) {
  const double t = (double)(1 / (float)d);
  return t * surg__v_fma(-d, t, 2);
}

/* Adding it rounds to a whole number, which the low bits hold. */
#define SURG__V_SHIFT 0x1.8p52

/* 2^n and e^r - 1, |r| < 0.35, with e^x = 2^n * e^r. x is cut to -200 .. 200: beyond every float,
 * and all finite. */
SURG__INLINE double surg__v_exp_parts(double x, double *scale) {
  x = x < -200 ? -200 : x;
  x = x > 200 ? 200 : x;
  double t = surg__v_fma(x, 1.4426950408889634, SURG__V_SHIFT), n = t - SURG__V_SHIFT;
  double r = surg__v_fma(-n, 0x1.62e42fefa39efp-1, x);
  *scale = surg__v_from_bits((surg__v_bits(t) + 1023) << 52);
  return r * SURG__V_POLY(r, 0.9999999999955044, 0.49999999999640377, 0.16666666786396261,
                          0.041666666995870766, 0.008333283515214243, 0.0013888804209307895,
                          0.0001990758458084234, 2.4884474567784363e-05);
}

SURG__INLINE double surg__v_exp(double x) {
  double s, q = surg__v_exp_parts(x, &s);
  return surg__v_fma(s, q, s);
}

SURG__INLINE double surg__v_expm1(double x) {
  double s, q = surg__v_exp_parts(x, &s);
  return surg__v_fma(s, q, s - 1);
}

/* Of a finite x > 0, no subnormal double: as 2^k * m, m from sqrt(1/2) to sqrt(2), by the odd
 * series in (m - 1) / (m + 1). */
SURG__INLINE double surg__v_log_of(double x) {
  const uint64_t low = 0x3fe6a09e00000000u; /* of sqrt(1/2) */
  uint64_t bits = surg__v_bits(x), high = (bits - low + (1024ull << 52)) >> 52;
  double k = surg__v_from_bits(high | 0x4330000000000000u) - (0x1p52 + 1024);
  double m = surg__v_from_bits(bits - ((high - 1024) << 52));
  double s = (m - 1) * surg__v_inverse(m + 1), z = s * s;
  double r = SURG__V_POLY(z, 0.6666666667581467, 0.3999999561617488, 0.285721098362029,
                          0.2217615769990926, 0.1958463149507943);
  return surg__v_fma(k, 0.69314718055994530942, surg__v_fma(s * z, r, 2 * s));
}

SURG__INLINE double surg__v_log(double x) {
  double y = surg__v_log_of(x);
  y = x == 0 ? -INFINITY : y;
  y = x < 0 ? NAN : y;
  return x < INFINITY ? y : x; /* infinity and NaN stay */
}

/* log(1 + e), e from 0 to 1. */
SURG__INLINE double surg__v_log1p(double e) {
  double s = e * surg__v_inverse(2 + e), z = s * s;
  double r = SURG__V_POLY(z, 0.6666666667708205, 0.3999999764160135, 0.2857160884906352,
                          0.2221571372040658, 0.18306569368831804, 0.14090398995229853,
                          0.2002367952668345);
  return surg__v_fma(s * z, r, 2 * s);
}

/* exp of the negative magnitude alone: no overflow on either side. */
SURG__INLINE double surg__v_sigmoid(double x) {
  double e = surg__v_exp(-fabs(x));
  return (x >= 0 ? 1 : e) * surg__v_inverse(1 + e);
}

SURG__INLINE double surg__v_tanh(double x) {
  double a = fabs(x), e = surg__v_expm1(2 * (a > 20 ? 20 : a));
  return copysign(e * surg__v_inverse(e + 2), x);
}

SURG__INLINE double surg__v_softplus(double x) {
  double a = fabs(x);
  return (x > 0 ? x : x != x ? x : 0) + surg__v_log1p(surg__v_exp(-a));
}

/* x * tanh(softplus(x)): with e = e^x, tanh(log(1 + e)) = (e^2 + 2e) / (e^2 + 2e + 2). */
SURG__INLINE double surg__v_mish(double x) {
  double e = surg__v_exp(x > 40 ? 40 : x), u = e * e + 2 * e;
  double gate = u * surg__v_inverse(u + 2);
  return x * (gate < 1e-80 ? 0 : gate);
}

/* a P(a^2); from the root of 15.375 on it is 1 as a float. */
SURG__INLINE double surg__v_erf(double x) {
  double a = fabs(x);
  a = a > 3.9210967853395307 ? 3.9210967853395307 : a;
  double p = SURG__V_POLY(surg__v_fma(a * a, 2 / 15.375, -1), 0.3606360621330698,
                          -0.18005933708951385, 0.13405014797979434, -0.10916042620763647,
                          0.09061837031104467, -0.07402731019334197, 0.05821166883851969,
                          -0.04346034826125722, 0.03056348563263178, -0.020165291537241004,
                          0.012474044195435852, -0.007250498757592538, 0.003948776735818171,
                          -0.0019947000716058483, 0.000966472191748835, -0.0004803088949074663,
                          0.00020618809594452614, -5.414340421339148e-05, 2.2090891434345394e-05,
                          -2.1880257918382995e-05, 7.615411959704943e-06);
  return copysign(a * p, x);
}

/* 1 - erf(a) of a >= 0, relatively exact: t * e^(-a^2 + G(t)), t = 1 / (1 + 0.4 a); beyond 10 it
 * goes on falling, and all of that is nothing beside a float. */
SURG__INLINE double surg__v_erfc(double a) {
  double t = surg__v_inverse(1 + 0.4 * (a > 10 ? 10 : a));
  double g = SURG__V_POLY(t - 0.5, -0.8636680921690656, 1.526807509831231, 0.5570116293878673,
                          -0.1438704706102199, -0.3806079748030981, -0.06228310687745845,
                          0.30215537216028937, 0.14816966908293355, -0.26863219624461404,
                          -0.20204819287846718, 0.26559587914045546, 0.23117882382075405,
                          -0.30366030013298734, -0.1649567924265179, 0.3355889747219729,
                          -0.11996136296254276);
  return t * surg__v_exp(g - a * a);
}

SURG__INLINE double surg__v_gelu(double x) {
  double c = surg__v_erfc(fabs(x) * 0.70710678118654752440);
  c = c < 1e-80 ? 0 : c;
  return 0.5 * x * (x < 0 ? c : 2 - c);
}

/* The same where |x| <= SURG__V_GELU_NEAR: the normal distribution as 1/2 + x Q(x^2), whose left
 * end is exact to 2e-12. */
#define SURG__V_GELU_NEAR 3
SURG__INLINE double surg__v_gelu_near(double x) {
  const double q = SURG__V_POLY(x * x, 0.3989422804014312, -0.06649038006684228,
                                0.009973557009437617, -0.0011873282132360459,
                                0.00011543468318351167, -9.444650951646085e-06,
                                6.659651663218341e-07, -4.122438484285987e-08,
                                2.272631351378366e-09, -1.1275324416896847e-10,
                                5.057268000428074e-12, -2.0340222792181972e-13,
                                7.0962580069589564e-15, -1.9932888448592524e-16,
                                3.910835917488628e-18, -3.90517753793922e-20);
  return x * surg__v_fma(x, q, 0.5);
}

/* What x to the y is: r is that of |x|, where it is a finite number and not 0. One choice a line:
 * compilers make no vectors of joined conditions. */
#define SURG__POWER_OF(name, type, absolute, whole, signed_as)                             \
  SURG__INLINE type name(type x, type y, type r) {                                         \
    const type a = absolute(x), half = (type)0.5 * y;                                      \
    /* Only whole numbers are powers of a negative one, infinity excepted; odd ones keep   \
     * its sign. */                                                                        \
    const type of_negative = whole(y) == y ? r : (type)NAN;                                \
    r = x < 0 ? of_negative : r;                                                           \
    const type end = (a == 0 ? y : -y) > 0 ? 0 : (type)INFINITY;                           \
    r = a == 0 ? end : r;                                                                  \
    r = a == (type)INFINITY ? end : r;                                                     \
    const type of_whole = whole(half) != half ? signed_as(r, x) : r;                       \
    r = whole(y) == y ? of_whole : r;                                                      \
    r = a != a ? a : r;                                                                    \
    r = y != y ? y : r;                                                                    \
    const type of_one = absolute(y) == (type)INFINITY ? 1 : r;                             \
    r = a == 1 ? of_one : r;                                                               \
    r = x == 1 ? 1 : r;                                                                    \
    return y == 0 ? 1 : r;                                                                 \
  }                                                                                        \
  /* The same where x and y are finite and x is not 0, and r is 1 where it has to be. */   \
  SURG__INLINE type name##_plain(type x, type y, type r) {                                 \
    const type half = (type)0.5 * y, of_whole = whole(half) != half ? -r : r;              \
    const type of_negative = whole(y) == y ? of_whole : (type)NAN;                         \
    return x < 0 ? of_negative : r;                                                        \
  }
SURG__POWER_OF(surg__v_power_of, double, fabs, nearbyint, copysign)
SURG__POWER_OF(surg__f_power_of, float, fabsf, nearbyintf, copysignf)

/* Of a finite x > 0. */
SURG__INLINE double surg__v_power(double x, double y) {
  return surg__v_exp(y * surg__v_log_of(x));
}

/* As pow of the C library of a float x, for results that are floats. */
SURG__INLINE double surg__v_pow(double x, double y) {
  const double a = fabs(x);
  double base = a > 0 ? a : 1;
  base = base < INFINITY ? base : 1;
  return surg__v_power_of(x, y, surg__v_power(base, y));
}

/* --- sines: |x| up to SURG__V_TURNS --- */

#define SURG__V_TURNS 1e5

/* x less a multiple of pi / 2, |.| < 0.79, and the multiple in the low bits of *n. */
SURG__INLINE double surg__v_turn(double x, uint64_t *n) {
  double t = surg__v_fma(x, 0.63661977236758134308, SURG__V_SHIFT), k = t - SURG__V_SHIFT;
  *n = surg__v_bits(t);
  double r = surg__v_fma(-k, 0x1.921fb54442d18p+0, x);
  return surg__v_fma(-k, 0x1.1a62633145c07p-54, r);
}

SURG__INLINE double surg__v_sin_part(double r) {
  double z = r * r;
  return surg__v_fma(r * z, SURG__V_POLY(z, -0.16666666641606878, 0.008333329383568809,
                                         -0.00019839334079234164, 2.7183041975624237e-06), r);
}

SURG__INLINE double surg__v_cos_part(double r) {
  double z = r * r;
  return surg__v_fma(z * z, SURG__V_POLY(z, 0.041666666622793294, -0.0013888883750306836,
                                            2.479951917284339e-05, -2.7210167709478283e-07),
                     surg__v_fma(-0.5, z, 1));
}

/* The sine `ahead` quarters of a turn ahead. */
SURG__INLINE double surg__v_sine(double x, uint64_t ahead) {
  uint64_t n;
  double r = surg__v_turn(x, &n), s = surg__v_sin_part(r), c = surg__v_cos_part(r);
  n += ahead;
  double y = n & 1 ? c : s;
  return surg__v_from_bits(surg__v_bits(y) ^ (n & 2) << 62);
}

SURG__INLINE double surg__v_sin(double x) {
  return x == 0 ? x : surg__v_sine(x, 0);
}

SURG__INLINE double surg__v_cos(double x) {
  return surg__v_sine(x, 1);
}

SURG__INLINE double surg__v_tan(double x) {
  uint64_t n;
  double r = surg__v_turn(x, &n), s = surg__v_sin_part(r), c = surg__v_cos_part(r);
  double y = (n & 1 ? -c : s) * surg__v_inverse(n & 1 ? s : c);
  return x == 0 ? x : y;
}

SURG__INLINE double surg__v_atan(double x) {
  double a = fabs(x), r = a > 1 ? 1 / a : a, z = r * r;
  double q = SURG__V_POLY(z, -0.3333333313022763, 0.19999985333643933,
                                      -0.14285343350232235, 0.11106369694842215,
                                      -0.09054953197075263, 0.07515378560790406,
                                      -0.0606867873219257, 0.04436681729663669,
                                      -0.026745866600866097, 0.011910986405547913,
                                      -0.003377218846260694, 0.0004491933558216077);
  double p = surg__v_fma(r * z, q, r);
  return copysign(a > 1 ? 1.57079632679489661923 - p : p, x);
}

/* asin of the magnitude, or of sqrt((1 - |x|) / 2) where that exceeds 1/2. */
SURG__INLINE double surg__v_asin_part(double a) {
  double z = a > 0.5 ? 0.5 * (1 - a) : a * a, s = a > 0.5 ? sqrt(z) : a;
  return s + s * z * SURG__V_POLY(z, 0.16666666626724924, 0.07500005042061024,
                                  0.04464068771262421, 0.03042684259132692,
                                  0.021863002577191645, 0.02065906537757088,
                                  0.0019483898723653926, 0.03294181793837639);
}

SURG__INLINE double surg__v_asin(double x) {
  double a = fabs(x), p = surg__v_asin_part(a);
  return copysign(a > 0.5 ? 1.57079632679489661923 - 2 * p : p, x);
}

SURG__INLINE double surg__v_acos(double x) {
  double a = fabs(x), p = surg__v_asin_part(a);
  double far = x > 0 ? 2 * p : 3.14159265358979323846 - 2 * p;
  return a > 0.5 ? far : 1.57079632679489661923 - copysign(p, x);
}

SURG__INLINE double surg__v_sinh(double x) {
  double e = surg__v_expm1(fabs(x));
  return copysign(0.5 * (e + e / (e + 1)), x);
}

SURG__INLINE double surg__v_cosh(double x) {
  double e = surg__v_exp(fabs(x));
  return 0.5 * (e + 1 / e);
}

#endif
