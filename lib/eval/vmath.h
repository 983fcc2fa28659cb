/* SPDX-License-Identifier: Apache-2.0 */
/* exp, tanh, erf and what is made of them, for results that are rounded to float: straight-line
 * code that turns into vectors, with the same bits on every machine. Relative errors are below
 * 1e-10, so all but one in some hundred million results are the float nearest to the true value.
 * NaN gives NaN. */
#ifndef SURG_VMATH_H
#define SURG_VMATH_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "eval/hot.h"

/* e^x, with x cut to -200 .. 200: beyond every float, and all finite. As 2^n * e^r, |r| < 0.35. */
SURG__INLINE double surg__v_exp(double x) {
  const double shift = 0x1.8p52; /* adding it rounds to a whole number, which its low bits hold */
  x = x < -200 ? -200 : x;
  x = x > 200 ? 200 : x;
  double t = x * 1.4426950408889634 + shift, n = t - shift;
  double r = x - n * 6.93147180369123816490e-01;
  r = r - n * 1.90821492927058770002e-10;
  double p = 1.0 / 479001600;
  p = p * r + 1.0 / 39916800;
  p = p * r + 1.0 / 3628800;
  p = p * r + 1.0 / 362880;
  p = p * r + 1.0 / 40320;
  p = p * r + 1.0 / 5040;
  p = p * r + 1.0 / 720;
  p = p * r + 1.0 / 120;
  p = p * r + 1.0 / 24;
  p = p * r + 1.0 / 6;
  p = p * r + 0.5;
  p = p * r + 1;
  p = p * r + 1;
  uint64_t bits;
  double scale;
  memcpy(&bits, &t, sizeof bits);
  bits = (bits + 1023) << 52;
  memcpy(&scale, &bits, sizeof scale);
  return p * scale;
}

/* exp of the negative magnitude alone: no overflow on either side. */
SURG__INLINE double surg__v_sigmoid(double x) {
  double e = surg__v_exp(-fabs(x));
  return (x >= 0 ? 1 : e) / (1 + e);
}

SURG__INLINE double surg__v_tanh(double x) {
  double a = fabs(x), e = surg__v_exp(-2 * a);
  double far = (1 - e) / (1 + e), near = a - a * a * a * (1.0 / 3);
  return copysign(a < 1e-4 ? near : far, x);
}

/* 1 - t * e^(-x^2 + P(t)), t = 2 / (2 + |x|); P is a sum of Chebyshev polynomials. */
SURG__INLINE double surg__v_erf(double x) {
  static const double c[] = {
      -1.3026537197817107, 0.6419697923564911, 0.019476473204185822,
      -0.009561514786809359, -0.0009465953444806704, 0.0003668394978516793,
      4.252332480727202e-05, -2.0278578112262832e-05, -1.624290005420977e-06,
      1.3036558363789e-06, 1.5626441179659783e-08, -8.523809582044632e-08,
      6.5290548352901225e-09, 5.0593428519546924e-09, -9.913631725816797e-10,
      -2.2736578108125586e-10, 9.646799221799725e-11, 2.394655784971646e-12,
      -6.886324932053704e-12, 8.955737160979555e-13, 3.130229294225818e-13,
      -1.1323051057974404e-13};
  double a = fabs(x);
  a = a > 9 ? 9 : a;
  double t = 2 / (2 + a), u = 4 * t - 2, d = 0, e = 0;
  for (int i = (int)(sizeof c / sizeof *c) - 1; i > 0; --i) {
    double old = d;
    d = u * d - e + c[i];
    e = old;
  }
  double far = 1 - t * surg__v_exp(-a * a + 0.5 * (c[0] + u * d) - e);
  double near = 1.1283791670955126 * (a - a * a * a * (1.0 / 3));
  return copysign(a < 1e-4 ? near : far, x);
}

#endif
