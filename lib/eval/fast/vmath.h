/* SPDX-License-Identifier: Apache-2.0 */
/* exp and what is made of it, powers and Gelu, for results that are rounded to float, in double:
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

#include "eval/fast/hot.h"

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

/* Sines are of |x| up to this. */
#define SURG__V_TURNS 1e5

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

/* exp of the negative magnitude alone: no overflow on either side. */
SURG__INLINE double surg__v_sigmoid(double x) {
  double e = surg__v_exp(-fabs(x));
  return (x >= 0 ? 1 : e) * surg__v_inverse(1 + e);
}

/* x * tanh(softplus(x)): with e = e^x, tanh(log(1 + e)) = (e^2 + 2e) / (e^2 + 2e + 2). */
SURG__INLINE double surg__v_mish(double x) {
  double e = surg__v_exp(x > 40 ? 40 : x), u = e * e + 2 * e;
  double gate = u * surg__v_inverse(u + 2);
  return x * (gate < 1e-80 ? 0 : gate);
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
#define SURG__POWER_OF(name, type, absolute, whole, signed_as, shift, bits_of, from_bits, top) \
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
  /* The same where x is finite and not 0, |y| so small that adding `shift` makes it whole, and \
   * r is 1 where it has to be. */                                                         \
  SURG__INLINE type name##_plain(type x, type y, type r) {                                 \
    const type t = y + (shift);                                                            \
    /* The lowest bit of t, of an odd y, beside the sign of x. */                          \
    const type of_whole = from_bits(bits_of(r) ^ (bits_of(t) << (top) & bits_of(x)));      \
    const type of_negative = t - (shift) == y ? of_whole : (type)NAN;                      \
    return x < 0 ? of_negative : r;                                                        \
  }
SURG__POWER_OF(surg__v_power_of, double, fabs, nearbyint, copysign, SURG__V_SHIFT, surg__v_bits,
               surg__v_from_bits, 63)

/* Of a finite x > 0. */
SURG__INLINE double surg__v_power(double x, double y) {
  return surg__v_exp(y * surg__v_log_of(x));
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
