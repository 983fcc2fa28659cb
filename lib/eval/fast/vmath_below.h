/* SPDX-License-Identifier: Apache-2.0 */
/* e^(x - top), x <= top, where the difference may be of any size, for sums and shares: raised by a
 * power of two, so that what is subnormal or 0 in its type is a normal number here, one factor
 * does, and a result is rounded once, as such. Of x = top it is that power of two. Anything where
 * the difference is NaN. The same bits on every machine. */
#ifndef SURG_VMATH_BELOW_H
#define SURG_VMATH_BELOW_H

#include "eval/fast/vmath_double.h"
#include "eval/fast/vmath_pair.h"

#define SURG__RAISED_DOUBLE 500 /* exponents */
#define SURG__RAISED_FLOAT 60

/* The larger one, of d <= 0 and least < 0: by bits, for which vectors have an instruction. */
SURG__INLINE double surg__d_no_less(double d, double least) {
  const uint64_t a = surg__v_bits(d), b = surg__v_bits(least);
  return surg__v_from_bits(a < b ? a : b);
}
SURG__INLINE float surg__f_no_less(float d, float least) {
  const uint32_t a = surg__f_bits(d), b = surg__f_bits(least);
  return surg__f_from_bits(a < b ? a : b);
}

/* Within a unit of the last place of e to the difference as it is rounded. */
SURG__INLINE double surg__d_exp_raised(double x, double top) {
  const double shift = SURG__V_SHIFT + SURG__RAISED_DOUBLE;
  const double d = surg__d_no_less(x - top, -746);
  const double t = surg__v_fma(d, 1.4426950408889634, shift), n = t - shift;
  const double first = surg__v_fma(-n, SURG__D_LN2, d); /* exact */
  const double r = surg__v_fma(-n, SURG__D_LN2_LOW, first);
  const double y = SURG__V_POLY(r, 1, 1, 0.5, 0.1666666666666667, 0.04166666666666667,
                                0.00833333333332614, 0.0013888888888883752,
                                0.00019841269874804214, 2.4801587325536023e-05,
                                2.7557255421023506e-06, 2.7557273657975953e-07,
                                2.5105208339987698e-08, 2.0914680780540263e-09);
  return surg__v_from_bits(surg__v_bits(y) + (surg__v_bits(t) << 52));
}

/* Within a unit of the last place. */
SURG__INLINE float surg__p_exp_raised(float x, float top) {
  const surg__pair d = surg__p_sum_of_any(x, -top), end = {-104, 0};
  const surg__pair less = surg__p_choose(d.head < -104, end, d);
  const surg__p_power p = surg__p_power_of(less.head, less.tail);
  const float y = surg__p_value(surg__p_mantissa(p));
  return surg__f_from_bits(surg__f_bits(y) + ((p.bits + SURG__RAISED_FLOAT) << 23));
}

/* Of 16-bit floats: within 2^-21 of e to a small difference, 2^-17 at the far end. */
SURG__INLINE float surg__f_exp_raised(float x, float top) {
  const float shift = SURG__F_SHIFT + SURG__RAISED_FLOAT;
  const float d = surg__f_no_less(x - top, -104);
  const float t = surg__f_fma(d, 1.44269504f, shift), n = t - shift;
  const float r = surg__f_fma(d, 1.44269504f, -n);
  const float y = SURG__F_POLY(r, 1, 0.6931471824645996f, 0.24022352695465088f,
                               0.055503811687231064f, 0.00966653786599636f,
                               0.0013379554729908705f);
  return surg__f_from_bits(surg__f_bits(y) + (surg__f_bits(t) << 23));
}

#endif
