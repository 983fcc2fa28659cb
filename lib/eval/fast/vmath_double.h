/* SPDX-License-Identifier: Apache-2.0 */
/* exp, log, pow, tanh, erf, sines and what is made of them, in double for results that stay double:
 * straight-line code like that of vmath.h, the same bits everywhere. A result is a few units of its
 * last place from the true value, subnormal ones, too: how many, says and proves the test
 * kernels_double. NaN gives NaN. The coefficients are fits at Chebyshev's points. */
#ifndef SURG_VMATH_DOUBLE_H
#define SURG_VMATH_DOUBLE_H

#include "eval/fast/vmath.h"

#define SURG__D_LN2 0x1.62e42fefa39efp-1
#define SURG__D_LN2_LOW 0x1.abc9e3b39803fp-56
#define SURG__D_HALF_PI 0x1.921fb54442d18p+0
#define SURG__D_HALF_PI_LOW 0x1.1a62633145c07p-54
#define SURG__D_HALF_PI_LAST -0x1.f1976b7ed8fbcp-110

/* As surg__v_inverse, to a unit of the last place. */
SURG__INLINE double surg__d_inverse(double d) {
  const double t = surg__v_inverse(d);
  return surg__v_fma(t, surg__v_fma(-d, t, 1), t);
}

/* 2^n, n from -1022 to 1023. */
SURG__INLINE double surg__d_power(double n) {
  return surg__v_from_bits((surg__v_bits(n + SURG__V_SHIFT) + 1023) << 52);
}

/* e^(x + low) = 2^n * (1 + r + rest), |low| far below |x|; x is cut to where e^x is 0 or infinite.
 * Returns r. */
SURG__INLINE double surg__d_exp_parts(double x, double low, double *rest, double *n) {
  x = x < -746 ? -746 : x;
  x = x > 720 ? 720 : x;
  const double k = surg__v_fma(x, 1.4426950408889634, SURG__V_SHIFT) - SURG__V_SHIFT;
  const double first = surg__v_fma(-k, SURG__D_LN2, x); /* exact */
  const double t = surg__v_fma(-k, SURG__D_LN2_LOW, first), r = t + low;
  low = (t - r) + low + surg__v_fma(-k, SURG__D_LN2_LOW, first - t);
  *n = k;
  const double p = SURG__V_POLY(r, 0.5, 0.1666666666666667, 0.04166666666666667,
                          0.00833333333332614, 0.0013888888888883752,
                          0.00019841269874804214, 2.4801587325536023e-05,
                          2.7557255421023506e-06, 2.7557273657975953e-07,
                          2.5105208339987698e-08, 2.0914680780540263e-09);
  *rest = surg__v_fma(r * r, p, surg__v_fma(r, low, low));
  return r;
}

/* y * 2^n where that may be subnormal or infinite, n beyond what one factor holds. */
SURG__INLINE double surg__d_scale(double y, double n) {
  const double half = surg__v_fma(n, 0.5, SURG__V_SHIFT) - SURG__V_SHIFT;
  return y * surg__d_power(half) * surg__d_power(n - half);
}

/* Of x + low. */
SURG__INLINE double surg__d_exp_sum(double x, double low) {
  double n, rest, r = surg__d_exp_parts(x, low, &rest, &n);
  const double y = 1 + r;
  return surg__d_scale(y + ((1 - y) + r + rest), n);
}

SURG__INLINE double surg__d_exp(double x) {
  return surg__d_exp_sum(x, 0);
}

/* x up to 709. */
SURG__INLINE double surg__d_expm1(double x) {
  double n, rest, r = surg__d_exp_parts(x < -50 ? -50 : x, 0, &rest, &n);
  const double s = surg__d_power(n), y = surg__v_fma(s, r + rest, s - 1);
  return x == 0 ? x : y;
}

/* 2 atanh(s) = log((1 + s) / (1 - s)) less 2 s, by s; z = s^2 <= 0.0295. */
SURG__INLINE double surg__d_log_rest(double z) {
  return z * SURG__V_POLY(z, 0.666666666666667, 0.3999999999989945, 0.28571428626001427,
                          0.22222211130560726, 0.18182889433757515,
                          0.15331711346672997, 0.14616576421644387);
}

/* x > 0 as 2^k times what is returned, sqrt(1/2) to sqrt(2). */
SURG__INLINE double surg__d_log_reduce(double x, double *k) {
  const uint64_t low = 0x3fe6a09e00000000u; /* of sqrt(1/2) */
  const double up = x < 0x1p-1022 ? 0x1p54 : 1; /* subnormal numbers become normal ones */
  const uint64_t bits = surg__v_bits(x * up), high = (bits - low + (1024ull << 52)) >> 52;
  *k = surg__v_from_bits(high | 0x4330000000000000u) - (0x1p52 + 1024) - (up > 1 ? 54 : 0);
  return surg__v_from_bits(bits - ((high - 1024) << 52));
}

SURG__INLINE double surg__d_log(double x) {
  double k;
  const double f = surg__d_log_reduce(x, &k) - 1;
  const double s = f / (2 + f), half = 0.5 * f * f;
  const double rest = surg__v_fma(s, half + surg__d_log_rest(s * s), k * SURG__D_LN2_LOW);
  double y = surg__v_fma(k, SURG__D_LN2, f - (half - rest));
  y = x == 0 ? -INFINITY : y;
  y = x < 0 ? NAN : y;
  return x < INFINITY ? y : x;
}

/* log(x) of a positive finite number, in two parts of together some 65 bits. */
SURG__INLINE double surg__d_log_parts(double x, double *low) {
  double k;
  const double f = surg__d_log_reduce(x, &k) - 1;
  const double d = 2 + f, inverse = surg__d_inverse(d), s = f * inverse;
  const double s_low = (surg__v_fma(-s, d, f) - s * (f - (d - 2))) * inverse;
  /* 2 atanh(s) = 2 s + s (2/3 z + z^2 P(z)); the first term in two parts, too. */
  const double z = s * s, z_low = surg__v_fma(s, s, -z) + 2 * s * s_low;
  const double third = 0x1.5555555555555p-1, third_low = 0x1.5555555555555p-55;
  const double p = z * third;
  const double p_low = surg__v_fma(z, third, -p) + z * third_low + z_low * third;
  const double tail = z * z * SURG__V_POLY(z, 0.4, 0.28571428571429364,
                                           0.22222222221655907, 0.181818183353876,
                                           0.15384594963074136, 0.13334804663624336,
                                           0.11706237148816372, 0.11723170160799075);
  const double u = p + tail, u_low = (p - u) + tail + p_low;
  const double v = s * u, v_low = surg__v_fma(s, u, -v) + s * u_low + s_low * u;
  const double m = 2 * s + v, m_low = (2 * s - m) + v + (v_low + 2 * s_low);
  const double n = k * SURG__D_LN2;
  const double n_low = surg__v_fma(k, SURG__D_LN2, -n) + k * SURG__D_LN2_LOW;
  const double sum = n + m; /* |n| > |m|, or n is 0 */
  *low = (n - sum) + m + (n_low + m_low);
  return sum;
}

/* Of a finite x > 0. */
SURG__INLINE double surg__d_power_of(double x, double y) {
  double low;
  const double l = surg__d_log_parts(x, &low), p = y * l;
  const double rest = surg__v_fma(y, l, -p) + y * low;
  return surg__d_exp_sum(p, fabs(p) < 1000 ? rest : 0);
}

/* The same of x from 2^-24 to 2^24 and |y| up to 5: of the logarithm, as surg__d_log_parts has it,
 * only what counts for results that are so near to 1. */
#define SURG__D_POWER_MOST 0x1p24
#define SURG__D_POWER_LEAST 0x1p-24
#define SURG__D_POWER_OF 5
SURG__INLINE double surg__d_power_near(double x, double y) {
  const uint64_t low = 0x3fe6a09e00000000u; /* of sqrt(1/2) */
  const uint64_t by = surg__v_bits(x) - low + (1024ull << 52);
  const double k = surg__v_from_bits(by >> 52 | 0x4330000000000000u) - (0x1p52 + 1024);
  const double f = surg__v_from_bits((by & 0xfffffffffffffu) + low) - 1, d = 2 + f;
  const double inverse = surg__v_inverse(d), s = f * inverse, z = s * s;
  /* 2 atanh(s + s_low), s_low being what the quotient lacks. */
  const double s_low = surg__v_fma(f - (d - 2), -s, surg__v_fma(-s, d, f)) * inverse;
  const double p = SURG__V_POLY(z, 0.6666666666666669627, 0.39999999999899865655,
                                0.28571428625918232624, 0.22222211137740102704,
                                0.1818288912777457111, 0.15331717756830320898,
                                0.14616522833359230082);
  const double v = surg__v_fma(s_low, surg__v_fma(2, z, 2), s * z * p);
  const double n = k * 0x1.62e42fefa3ap-1; /* exact */
  const double sum = surg__v_fma(2, s, n); /* |n| > |2 s|, or n is 0 */
  const double rest = surg__v_fma(k, -0x1.0ca86c38898dp-49, surg__v_fma(2, s, n - sum) + v);
  const double e = y * sum, e_low = surg__v_fma(y, rest, surg__v_fma(y, sum, -e));
  const double t = surg__v_fma(e, 1.4426950408889634, SURG__V_SHIFT), m = t - SURG__V_SHIFT;
  const double first = surg__v_fma(-m, SURG__D_LN2, e); /* exact */
  const double second = surg__v_fma(-m, SURG__D_LN2_LOW, e_low), r = first + second;
  const double q = SURG__V_POLY(r, 0.5000000000000002, 0.1666666666666668,
                                0.04166666666659816, 0.008333333333316794,
                                0.0013888888928404533, 0.0001984126990222807,
                                2.480150548218813e-05, 2.7557225567161602e-06,
                                2.7627064414152584e-07, 2.5116052390535054e-08);
  const double head = 1 + first;
  const double power = head + ((first - (head - 1)) + surg__v_fma(r * r, q, second));
  return surg__v_from_bits(surg__v_bits(power) + (surg__v_bits(t) << 52));
}

/* log(1 + e), e from 0 to 1. */
SURG__INLINE double surg__d_log1p(double e) {
  const double d = 2 + e, inverse = surg__v_inverse(d), q = e * inverse;
  const double s = surg__v_fma(surg__v_fma(-q, d, e), inverse, q), z = s * s;
  const double r = z * SURG__V_POLY(z, 0.6666666666666666, 0.39999999999999525, 0.285714285716001,
                          0.2222222219823677, 0.18181819897962714,
                          0.1538454396486055, 0.13335178631449257,
                          0.11734279061303197, 0.10845178394880015,
                          0.07492143795550767, 0.1563057780092285);
  /* 2 s = e - s e, whose rounding is smaller than that of the quotient. */
  return e - s * (e - r);
}

SURG__INLINE double surg__d_sigmoid(double x) {
  const double e = surg__d_exp(-fabs(x));
  return (x >= 0 ? 1 : e) / (1 + e);
}

SURG__INLINE double surg__d_tanh(double x) {
  const double a = fabs(x), e = surg__d_expm1(2 * (a > 30 ? 30 : a));
  return copysign(e / (e + 2), x);
}

/* As surg__p_softplus_near. */
SURG__INLINE double surg__d_softplus_near(double x) {
  const double z = x * x, h = 0.5 * x, y = SURG__D_LN2 + h;
  const double p = SURG__V_POLY(z, 0.125, -0.005208333333333329, 0.0003472222222219978,
                                -2.6351686504148605e-05, 2.1356922081159769e-06,
                                -1.8032283518848587e-07, 1.5659975808772182e-08,
                                -1.3875058314043293e-09, 1.2393809055703341e-10,
                                -1.0531333931225329e-11, 6.4334273600381862e-13);
  return y + surg__v_fma(z, p, (h - (y - SURG__D_LN2)) + SURG__D_LN2_LOW);
}

SURG__INLINE double surg__d_softplus(double x) {
  return (x > 0 ? x : x != x ? x : 0) + surg__d_log1p(surg__d_exp(-fabs(x)));
}

/* As surg__v_mish. */
SURG__INLINE double surg__d_mish(double x) {
  const double e = surg__d_exp(x > 40 ? 40 : x), u = e * (e + 2);
  return x * (u / (u + 2));
}

/* c x + x^3 P(x^2) of |x| up to SURG__D_ERF_NEAR, c = 2 / sqrt(pi). */
#define SURG__D_ERF_NEAR 0.75
SURG__INLINE double surg__d_erf_near(double x) {
  const double z = x * x;
  const double p = SURG__V_POLY(z, -0.37612638903183754, 0.1128379167095511, -0.02686617064506512,
                                0.005223977623396734, -0.0008548326752776770,
                                0.0001205531355070753, -1.4924821828542310e-05,
                                1.6440476509994630e-06, -1.6024491624727899e-07,
                                1.1780561261315660e-08);
  return surg__v_fma(0x1.20dd750429b6dp0, x, x * surg__v_fma(z, p, 0x1.1ae3a914fed8p-56));
}

/* 1 - e^(-a Q(a)); from 6 on it is 1. */
SURG__INLINE double surg__d_erf(double x) {
  double a = fabs(x);
  a = a > 6 ? 6 : a;
  const double q =
      SURG__V_POLY(surg__v_fma(a, 1.0 / 3, -1), 3.5734543473270377, 2.7302993416761963,
                          0.14188331472752339, -0.07517628856728975,
                          0.03863690674088319, -0.018735843908540273,
                          0.008266968647232724, -0.0030797943195885334,
                          0.0007410410037210086, 0.00015241352505226987,
                          -0.0003779879208737931, 0.0003405763496460615,
                          -0.0002324278736561766, 0.00013187919940798538,
                          -6.179880699157615e-05, 2.1319153793369865e-05,
                          -1.2714100227326987e-06, -6.833568843068847e-06,
                          6.938111653821165e-06, -3.5045747045584264e-06,
                          3.0684093308899177e-06, -4.364760734454987e-06,
                          1.1812918523951977e-06, 2.6214441212841875e-06,
                          -7.404433512766913e-07, -1.8251516204090347e-06,
                          4.279596016985562e-07, 1.0028761349542813e-06,
                          -3.751920979141941e-07, -1.8515217151703855e-07,
                          8.874452882444485e-08);
  return copysign(-surg__d_expm1(-a * q), x);
}

/* 1 - erf(|x| / sqrt(2)), as surg__v_erfc; what rounding took from x^2 / 2 counts. */
SURG__INLINE double surg__d_tail(double x) {
  double a = fabs(x);
  a = a > 40 ? 40 : a;
  const double t = surg__d_inverse(surg__v_fma(0.4 * 0.70710678118654752440, a, 1));
  const double square = 0.5 * a * a;
  const double g = SURG__V_POLY(2 * t - 1, -0.8636680921673191, 0.7634037549319551,
                          0.13925290696454595, -0.01798380987800669,
                          -0.023787984322089967, -0.0019463315874891343,
                          0.004720977023877593, 0.001157535183152562,
                          -0.00104796232401223, -0.00039519673895767234,
                          0.00025452116903794614, 0.00011729591240766364,
                          -6.631476869478656e-05, -3.182069071228588e-05,
                          1.7921999284573122e-05, 7.851930024078482e-06,
                          -4.777780107020255e-06, -1.7211323075740727e-06,
                          1.180595463118074e-06, 3.23723873115576e-07,
                          -2.5089560539459003e-07, -4.891121220904311e-08,
                          4.1061182439822385e-08, 4.6585323792624335e-09,
                          -3.9568225668995456e-09);
  const double sum = g - square, rest = g - (sum + square);
  return t * surg__d_exp_sum(sum, rest - surg__v_fma(0.5 * a, a, -square));
}

SURG__INLINE double surg__d_gelu(double x) {
  const double c = surg__d_tail(x);
  return 0.5 * x * (x < 0 ? c : 2 - c);
}

/* As surg__v_gelu_near. */
#define SURG__D_GELU_NEAR 1.25
SURG__INLINE double surg__d_gelu_near(double x) {
  const double q = SURG__V_POLY(x * x, 0.39894228040143265, -0.06649038006690391,
                                0.009973557009996532, -0.0011873282150872916,
                                0.00011543468559563177, -9.444650191702358e-06,
                                6.659579641655996e-07, -4.12128975206384e-08,
                                2.2627527671718223e-09, -1.0770844069487526e-10,
                                3.5900529451291144e-12);
  return x * surg__v_fma(x, q, 0.5);
}

/* --- sines: |x| up to SURG__V_TURNS --- */

/* As surg__v_turn, in two parts. */
SURG__INLINE double surg__d_turn(double x, double *low, uint64_t *n) {
  const double t = surg__v_fma(x, 0.63661977236758134308, SURG__V_SHIFT), k = t - SURG__V_SHIFT;
  *n = surg__v_bits(t);
  const double r = surg__v_fma(-k, SURG__D_HALF_PI, x); /* exact */
  const double y = surg__v_fma(-k, SURG__D_HALF_PI_LOW, r);
  *low = surg__v_fma(-k, SURG__D_HALF_PI_LAST, surg__v_fma(-k, SURG__D_HALF_PI_LOW, r - y));
  return y;
}

SURG__INLINE double surg__d_sin_part(double r, double low) {
  const double z = r * r;
  const double p = SURG__V_POLY(z, -0.16666666666666666, 0.008333333333333331,
                          -0.0001984126984126506, 2.755731921933466e-06,
                          -2.505210623088241e-08, 1.6058531370931902e-10,
                          -7.586682497157786e-13);
  return r + surg__v_fma(r * z, p, surg__v_fma(-0.5 * z, low, low));
}

SURG__INLINE double surg__d_cos_part(double r, double low) {
  const double z = r * r, half = 0.5 * z, w = 1 - half;
  const double p = SURG__V_POLY(z, 0.041666666666666664, -0.0013888888888888887,
                          2.4801587301584642e-05, -2.755731922140032e-07,
                          2.0876755790210228e-09, -1.1470460749696862e-11,
                          4.7458637732829623e-14);
  return w + ((1 - w) - half + surg__v_fma(z * z, p, -r * low));
}

SURG__INLINE double surg__d_sine(double x, uint64_t ahead) {
  uint64_t n;
  double low, r = surg__d_turn(x, &low, &n);
  const double s = surg__d_sin_part(r, low), c = surg__d_cos_part(r, low);
  n += ahead;
  return surg__v_from_bits(surg__v_bits(n & 1 ? c : s) ^ (n & 2) << 62);
}

SURG__INLINE double surg__d_sin(double x) {
  return x == 0 ? x : surg__d_sine(x, 0);
}

SURG__INLINE double surg__d_cos(double x) {
  return surg__d_sine(x, 1);
}

SURG__INLINE double surg__d_tan(double x) {
  uint64_t n;
  double low, r = surg__d_turn(x, &low, &n);
  const double s = surg__d_sin_part(r, low), c = surg__d_cos_part(r, low);
  const double y = (n & 1 ? -c : s) / (n & 1 ? s : c);
  return x == 0 ? x : y;
}

SURG__INLINE double surg__d_atan(double x) {
  const double a = fabs(x), r = a > 1 ? 1 / a : a, z = r * r;
  const double q = SURG__V_POLY(z, -0.3333333333333333, 0.1999999999999992,
                          -0.14285714285701234, 0.11111111110268297,
                          -0.0909090906193528, 0.07692307078827029,
                          -0.06666657934573768, 0.05882264416776449,
                          -0.052624922290256754, 0.04758080083637821,
                          -0.043306538430670664, 0.03938687540798632,
                          -0.035271331066871296, 0.030330719265790507,
                          -0.024191345810140718, 0.01718398172211335,
                          -0.010412153260359241, 0.005140912856746939,
                          -0.0019612554271685326, 0.0005376839297396244,
                          -9.371186345052626e-05, 7.767624330289919e-06);
  const double p = surg__v_fma(r * z, q, r);
  return copysign(a > 1 ? SURG__D_HALF_PI - p : p, x);
}

SURG__INLINE double surg__d_asin_part(double a) {
  const double z = a > 0.5 ? 0.5 * (1 - a) : a * a, s = a > 0.5 ? sqrt(z) : a;
  const double q = SURG__V_POLY(z, 0.16666666666666666, 0.07500000000000118,
                          0.044642857142551895, 0.03038194447553234,
                          0.02237215744350722, 0.017352816540325496,
                          0.01396378001220357, 0.011566459612121669,
                          0.009621842970100282, 0.009319560794767446,
                          0.0030448799094556773, 0.019554513336123378,
                          -0.01924167174674304, 0.02961201126495512);
  return surg__v_fma(s * z, q, s);
}

SURG__INLINE double surg__d_asin(double x) {
  const double a = fabs(x), p = surg__d_asin_part(a);
  return copysign(a > 0.5 ? SURG__D_HALF_PI - 2 * p : p, x);
}

SURG__INLINE double surg__d_acos(double x) {
  const double a = fabs(x), p = surg__d_asin_part(a);
  const double far = x > 0 ? 2 * p : 2 * (SURG__D_HALF_PI - p);
  return a > 0.5 ? far : SURG__D_HALF_PI - copysign(p, x);
}

/* Far out both are e^(|x| - log 2), which is finite a little longer than e^|x|. */
SURG__INLINE double surg__d_half_exp(double a) {
  double n, rest, r = surg__d_exp_parts(a, 0, &rest, &n);
  return surg__d_scale(1 + (r + rest), n - 1);
}

/* x + x^3 P(x^2) of |x| up to 1. */
SURG__INLINE double surg__d_sinh_near(double x) {
  const double z = x * x;
  const double p = SURG__V_POLY(z, 0.16666666666666666, 0.00833333333333368, 0.00019841269840893851,
                                2.7557319403605522e-06, 2.5052064356906741e-08,
                                1.6064821836335876e-10, 7.2610213394813474e-13,
                                1.3143479082284880e-14);
  return surg__v_fma(x * z, p, x);
}

SURG__INLINE double surg__d_sinh(double x) {
  const double a = fabs(x), e = surg__d_expm1(a > 40 ? 40 : a);
  return copysign(a > 40 ? surg__d_half_exp(a) : 0.5 * (e + e / (e + 1)), x);
}

SURG__INLINE double surg__d_cosh(double x) {
  const double e = surg__d_half_exp(fabs(x));
  return e + 0.25 / e;
}

#endif
