/* SPDX-License-Identifier: Apache-2.0 */
/* exp, log, tanh, erf, sines and what is made of them, of floats for results that are floats: in
 * float, whose vectors hold twice as many numbers as those of doubles, with what rounding takes away
 * carried beside. A result is one of the two floats around the true value, in all but some cases of
 * a hundred the nearest (kernels_double). Straight-line code, the same bits on every machine.
 * Functions that say how far they go are for such arguments alone. The coefficients are minimax fits
 * with floats as coefficients. */
#ifndef SURG_VMATH_PAIR_H
#define SURG_VMATH_PAIR_H

#include "eval/fast/vmath_float.h"

/* The number head + tail. It is close where |tail| is at most some units of the last place of
 * head; quotients and squares take pairs that are. */
typedef struct surg__pair {
  float head, tail;
} surg__pair;

SURG__INLINE float surg__p_value(surg__pair p) {
  return p.head + p.tail;
}

SURG__INLINE surg__pair surg__p_close(surg__pair p) {
  const float head = p.head + p.tail;
  return (surg__pair){head, p.tail - (head - p.head)};
}

/* a + b, where |a| is no smaller, or in the same power of two, or 0. */
SURG__INLINE surg__pair surg__p_sum(float a, float b) {
  const float head = a + b;
  return (surg__pair){head, b - (head - a)};
}

SURG__INLINE surg__pair surg__p_sum_of_any(float a, float b) {
  const float head = a + b, of_b = head - a;
  return (surg__pair){head, (a - (head - of_b)) + (b - of_b)};
}

/* The heads as surg__p_sum. */
SURG__INLINE surg__pair surg__p_add(surg__pair a, surg__pair b) {
  surg__pair s = surg__p_sum(a.head, b.head);
  s.tail += a.tail + b.tail;
  return s;
}

SURG__INLINE surg__pair surg__p_times(surg__pair a, float by) {
  return (surg__pair){a.head * by, a.tail * by};
}

SURG__INLINE surg__pair surg__p_product(surg__pair a, surg__pair b) {
  const float head = a.head * b.head;
  const float cross = surg__f_fma(a.head, b.tail, a.tail * b.head);
  return (surg__pair){head, surg__f_fma(a.head, b.head, -head) + cross};
}

SURG__INLINE surg__pair surg__p_square(surg__pair a) {
  const float head = a.head * a.head;
  return (surg__pair){head, surg__f_fma(a.head, a.head, -head) + 2 * a.head * a.tail};
}

SURG__INLINE surg__pair surg__p_quotient(surg__pair n, surg__pair d) {
  const float inverse = 1 / d.head, q = n.head * inverse;
  const float rest = surg__f_fma(-q, d.head, n.head) + surg__f_fma(-q, d.tail, n.tail);
  return (surg__pair){q, rest * inverse};
}

/* One choice of the two for both parts. */
SURG__INLINE surg__pair surg__p_choose(bool first, surg__pair a, surg__pair b) {
  return (surg__pair){first ? a.head : b.head, first ? a.tail : b.tail};
}

/* --- powers of e --- */

/* 2^n * (1 + r + rest), n in the low bits of `bits`, |r| < 0.35. */
typedef struct surg__p_power {
  uint32_t bits;
  float r, rest;
} surg__p_power;

/* 2^(n + more), a normal number. */
SURG__INLINE float surg__p_scale(surg__p_power p, uint32_t more) {
  return surg__f_from_bits((p.bits + 127 + more) << 23);
}

/* e^(x + low). */
SURG__INLINE surg__p_power surg__p_power_of(float x, float low) {
  const float t = surg__f_fma(x, 1.44269504f, SURG__F_SHIFT), n = t - SURG__F_SHIFT;
  const float first = surg__f_fma(-n, 0x1.62e43p-1f, x); /* exact */
  const float second = surg__f_fma(-n, -0x1.05c61p-29f, low), r = first + second;
  const float q = SURG__F_POLY(r, 0.5f, 0.16666667163372039794921875f,
                               4.16665114462375640869140625e-2f, 8.33320058882236480712890625e-3f,
                               1.393051468767225742340087890625e-3f,
                               1.995016937144100666046142578125e-4f);
  return (surg__p_power){surg__f_bits(t), first, surg__f_fma(r * r, q, second)};
}

/* Up to this |x| e^x is a normal number, as the functions below need it where they name no other end. */
#define SURG__P_EXP_FAR 87

/* Not close. */
SURG__INLINE surg__pair surg__p_mantissa(surg__p_power p) {
  surg__pair e = surg__p_sum(1, p.r);
  e.tail += p.rest;
  return e;
}

SURG__INLINE surg__pair surg__p_exp_pair(float x) {
  const surg__p_power p = surg__p_power_of(x, 0);
  return surg__p_times(surg__p_close(surg__p_mantissa(p)), surg__p_scale(p, 0));
}

SURG__INLINE surg__pair surg__p_expm1_pair(float x, float low) {
  const surg__p_power p = surg__p_power_of(x, low);
  const float scale = surg__p_scale(p, 0);
  const surg__pair less = surg__p_sum_of_any(scale, -1);
  surg__pair e = surg__p_sum(less.head, scale * p.r);
  e.tail += surg__f_fma(scale, p.rest, less.tail);
  return surg__p_close(e);
}

SURG__INLINE float surg__p_exp(float x) {
  const surg__p_power p = surg__p_power_of(x, 0);
  return surg__p_value(surg__p_mantissa(p)) * surg__p_scale(p, 0);
}

/* c * (e^(x + low) - 1). */
SURG__INLINE float surg__p_expm1_by(float x, float low, surg__pair c) {
  const surg__pair e = surg__p_expm1_pair(x, low);
  return surg__f_fma(c.head, e.head, surg__f_fma(c.head, e.tail, c.tail * e.head));
}

/* |x| up to 60: the smallest power has a tail, too. */
#define SURG__P_SIGMOID_FAR 60
SURG__INLINE float surg__p_sigmoid(float x) {
  const surg__pair one = {1, 0}, e = surg__p_exp_pair(-fabsf(x));
  return surg__p_value(surg__p_quotient(surg__p_choose(x >= 0, one, e), surg__p_add(one, e)));
}

SURG__INLINE float surg__p_tanh(float x) {
  const float a = fabsf(x);
  const surg__pair two = {2, 0}, e = surg__p_expm1_pair(-2 * (a > 20 ? 20 : a), 0);
  const surg__pair q = surg__p_quotient(e, surg__p_add(two, e));
  return copysignf(surg__p_value(q), x);
}

SURG__INLINE float surg__p_sinh(float x) {
  const surg__pair e = surg__p_expm1_pair(fabsf(x), 0);
  surg__pair by = surg__p_sum_of_any(1, e.head);
  by.tail += e.tail;
  const surg__pair q = surg__p_quotient(e, by);
  return copysignf(0.5f * surg__p_value(surg__p_add(e, q)), x);
}

SURG__INLINE float surg__p_cosh(float x) {
  const surg__pair one = {1, 0}, e = surg__p_exp_pair(fabsf(x));
  return 0.5f * surg__p_value(surg__p_add(e, surg__p_quotient(one, e)));
}

/* log(1 + e), e from 0 to 1: 2 atanh(s), s = e / (2 + e). */
SURG__INLINE surg__pair surg__p_log1p(surg__pair e) {
  const surg__pair two = {2, 0};
  const surg__pair s = surg__p_close(surg__p_quotient(e, surg__p_add(two, e)));
  const float z = s.head * s.head;
  const float r = SURG__F_POLY(z, 0.666666686534881591796875f, 0.3999954164028167724609375f,
                               0.2859779894351959228515625f, 0.2164033353328704833984375f,
                               0.23492349684238433837890625f);
  return (surg__pair){2 * s.head, surg__f_fma(s.head * z, r, 2 * s.tail)};
}

SURG__INLINE float surg__p_softplus(float x) {
  float a = fabsf(x);
  a = a > 104 ? 104 : a;
  const surg__p_power p = surg__p_power_of(-a, 0);
  const surg__pair m = surg__p_close(surg__p_mantissa(p));
  const surg__pair l = surg__p_log1p(surg__p_times(m, a > SURG__P_EXP_FAR ? 0 : surg__p_scale(p, 0)));
  const surg__pair s = surg__p_sum_of_any(x > 0 ? x : 0, l.head);
  const float far = surg__p_value(m) * surg__p_scale(p, 64) * 0x1p-64f;
  const float y = x < -60 ? far : s.head + (s.tail + l.tail);
  return x > 104 ? x : y;
}

/* The same of |x| up to 1: log(2) + x / 2 + x^2 P(x^2). */
SURG__INLINE float surg__p_softplus_near(float x) {
  const float z = x * x;
  const float p = SURG__F_POLY(z, 0.125f, -5.20832277834415435791015625e-3f,
                               3.4712025080807507038116455078125e-4f,
                               -2.6039915610454045236110687255859375e-5f,
                               1.7496971622676937840878963470458984375e-6f);
  const surg__pair s = surg__p_sum(0x1.62e43p-1f, 0.5f * x);
  return s.head + surg__f_fma(z, p, s.tail + -0x1.05c61p-29f);
}

/* x * tanh(softplus(x)): with e = e^x, u / (u + 2) of u = e^2 + 2e. |x| up to SURG__P_MISH_FAR. */
#define SURG__P_MISH_FAR 40
SURG__INLINE float surg__p_mish(float x) {
  const surg__pair e = surg__p_exp_pair(x), square = surg__p_square(e);
  surg__pair u = surg__p_sum_of_any(square.head, 2 * e.head);
  u.tail += surg__f_fma(2, e.tail, square.tail);
  surg__pair by = surg__p_sum_of_any(u.head, 2);
  by.tail += u.tail;
  const surg__pair q = surg__p_quotient(u, by);
  return x == 0 ? x : surg__f_fma(x, q.head, x * q.tail);
}

/* c x + x^3 P(x^2) of |x| up to SURG__P_ERF_NEAR, c = 2 / sqrt(pi). */
#define SURG__P_ERF_NEAR 0.75f
SURG__INLINE float surg__p_erf_near(float x) {
  const float z = x * x, c = 0x1.20dd76p0f, c_low = -0x1.f7ac92p-25f;
  const float p = SURG__F_POLY(z, -0.3761263787746429443359375f, 0.1128369271755218505859375f,
                               -2.6851885020732879638671875e-2f, 5.1516867242753505706787109375e-3f,
                               -7.027418469078838825225830078125e-4f);
  return x == 0 ? x : surg__f_fma(c, x, x * surg__f_fma(z, p, c_low));
}

/* The same of others: 1 - e^(-v), v = a (c + a R(a)); from 3.93 on it is 1. */
SURG__INLINE float surg__p_erf(float x) {
  float a = fabsf(x);
  a = a > 3.93f ? 3.93f : a;
  const float r = SURG__F_POLY(a, 0.6366198062896728515625f, 0.102771185338497161865234375f,
                               -1.9114203751087188720703125e-2f,
                               -2.6968240854330360889434814453125e-4f,
                               1.83333479799330234527587890625e-3f,
                               -7.77340843342244625091552734375e-4f,
                               1.89841361134313046932220458984375e-4f,
                               -2.9074062695144675672054290771484375e-5f,
                               2.592410282886703498661518096923828125e-6f,
                               -1.028057425855877227149903774261474609375e-7f);
  const float c = 0x1.20dd76p0f, c_low = -0x1.f7ac92p-25f, v = c * a;
  const float v_low = surg__f_fma(c, a, -v) + c_low * a;
  const surg__pair all = surg__p_sum(v, a * a * r);
  const surg__pair e = surg__p_expm1_pair(-all.head, -(all.tail + v_low));
  return copysignf(surg__p_value(e), x);
}

/* --- log --- */

SURG__INLINE float surg__p_log(float x) {
  const uint32_t low = 0x3f350000u; /* of sqrt(1/2) */
  const bool small = x < 0x1p-126f;
  const uint32_t bits = surg__f_bits(small ? x * 0x1p24f : x);
  const uint32_t high = (bits - low + (128u << 23)) >> 23;
  const float k = surg__f_from_bits(high | 0x4b000000u) - (0x1p23f + 128) - (small ? 24 : 0);
  const float f = surg__f_from_bits(bits - ((high - 128) << 23)) - 1;
  /* f - f^2 / 2 + f^3 P(f): the first two in two parts. */
  const float s = f * f, h = surg__f_fma(-0.5f, s, f);
  const float h_low = surg__f_fma(-0.5f, s, f - h) - 0.5f * surg__f_fma(f, f, -s);
  const float p = SURG__F_POLY(f, 0.333333313465118408203125f, -0.249999940395355224609375f,
                               0.20000700652599334716796875f, -0.16668047010898590087890625f,
                               0.1424961388111114501953125f, -0.124204628169536590576171875f,
                               0.116751618683338165283203125f, -0.1151226460933685302734375f,
                               7.0390962064266204833984375e-2f);
  const float rest = surg__f_fma(s * f, p, h_low);
  const surg__pair sum = surg__p_sum(k * 0x1.62e4p-1f, h); /* k times it is exact */
  float y = sum.head + (sum.tail + surg__f_fma(k, 0x1.7f7d1cp-20f, rest));
  y = x == 0 ? -INFINITY : y;
  y = x < 0 ? NAN : y;
  return x < INFINITY ? y : x; /* infinity and NaN stay */
}

/* x to the y of x from 2^-24 to 2^24 and |y| up to 5: 2 atanh(s + s_low), as surg__d_power_near. */
SURG__INLINE float surg__p_power_near(float x, float y) {
  const uint32_t low = 0x3f350000u; /* of sqrt(1/2) */
  const uint32_t bits = surg__f_bits(x), by = bits - low;
  const float k = (float)((int32_t)by >> 23); /* towards minus infinity */
  const float f = surg__f_from_bits(bits - (by & 0xff800000u)) - 1, d = 2 + f;
  const float inverse = 1 / d, s = f * inverse, z = s * s;
  const float s_low = surg__f_fma(f - (d - 2), -s, surg__f_fma(-s, d, f)) * inverse;
  const float p = SURG__F_POLY(z, 0.666666686534881591796875f, 0.399995505809783935546875f,
                               0.285896718502044677734375f, 0.225757896900177001953125f);
  const float v = surg__f_fma(2, s_low, s * z * p), n = k * 0x1.62e4p-1f; /* exact */
  const float sum = surg__f_fma(2, s, n); /* |n| > |2 s|, or n is 0 */
  const float rest = surg__f_fma(k, 0x1.7f7d1cp-20f, surg__f_fma(2, s, n - sum) + v);
  const float e = y * sum, e_low = surg__f_fma(y, rest, surg__f_fma(y, sum, -e));
  const surg__p_power power = surg__p_power_of(e, e_low);
  const float m = surg__p_value(surg__p_mantissa(power));
  return surg__f_from_bits(surg__f_bits(m) + (power.bits << 23));
}

/* --- sines: |x| up to SURG__V_TURNS --- */

/* x less a multiple of pi / 2, |.| < 0.79, and the multiple in the low bits of *n. */
SURG__INLINE surg__pair surg__p_turn(float x, uint32_t *n) {
  const float t = surg__f_fma(x, 0x1.45f306p-1f, SURG__F_SHIFT), k = t - SURG__F_SHIFT;
  *n = surg__f_bits(t);
  const float r = surg__f_fma(-k, 0x1.921fb6p0f, x); /* exact */
  const float more = k * 0x1.777a5cp-25f, lost = surg__f_fma(k, 0x1.777a5cp-25f, -more);
  surg__pair y = surg__p_sum_of_any(r, more);
  y.tail += surg__f_fma(k, 0x1.ee59dap-50f, lost);
  return surg__p_close(y);
}

SURG__INLINE surg__pair surg__p_sin_part(surg__pair r) {
  const float z = r.head * r.head;
  const float p = SURG__F_POLY(z, -0.16666667163372039794921875f, 8.3333961665630340576171875e-3f,
                               -1.9860840984620153903961181640625e-4f,
                               2.9166994863771833479404449462890625e-6f);
  return (surg__pair){r.head, surg__f_fma(r.head * z, p, surg__f_fma(-0.5f * z, r.tail, r.tail))};
}

SURG__INLINE surg__pair surg__p_cos_part(surg__pair r) {
  const float z = r.head * r.head, half = 0.5f * z, w = 1 - half;
  const float lost = surg__f_fma(r.head, r.head, -z);
  const float p = SURG__F_POLY(z, 4.16666679084300994873046875e-2f,
                               -1.38890487141907215118408203125e-3f,
                               2.4852733986335806548595428466796875e-5f,
                               -3.2124825111168320290744304656982421875e-7f);
  const float rest = surg__f_fma(z * z, p, -surg__f_fma(r.head, r.tail, 0.5f * lost));
  return (surg__pair){w, ((1 - w) - half) + rest};
}

/* The sine `ahead` quarters of a turn ahead. */
SURG__INLINE float surg__p_sine(float x, uint32_t ahead) {
  uint32_t n;
  const surg__pair r = surg__p_turn(x, &n), s = surg__p_sin_part(r), c = surg__p_cos_part(r);
  n += ahead;
  const float y = surg__p_value(surg__p_choose(n & 1, c, s));
  return surg__f_from_bits(surg__f_bits(y) ^ (n & 2) << 30);
}

SURG__INLINE float surg__p_sin(float x) {
  return x == 0 ? x : surg__p_sine(x, 0);
}

SURG__INLINE float surg__p_cos(float x) {
  return surg__p_sine(x, 1);
}

/* By t = tan(r / 2): 2 t / (1 - t^2), or its negative inverse. */
SURG__INLINE float surg__p_tan(float x) {
  uint32_t n;
  const surg__pair r = surg__p_turn(x, &n);
  const float z = r.head * r.head;
  const float p = SURG__F_POLY(z, 8.3333335816860198974609375e-2f, 8.333268575370311737060546875e-3f,
                               8.4373611025512218475341796875e-4f,
                               8.3949766121804714202880859375e-5f,
                               1.06206325654056854546070098876953125e-5f);
  const surg__pair t = surg__p_close((surg__pair){r.head, surg__f_fma(r.head * z, p, r.tail)});
  const surg__pair half_square = surg__p_times(surg__p_square(t), -0.25f), one = {1, 0};
  const surg__pair c = surg__p_add(one, half_square);
  const surg__pair q = surg__p_quotient(surg__p_choose(n & 1, surg__p_times(c, -1), t),
                                        surg__p_choose(n & 1, t, c));
  return x == 0 ? x : surg__p_value(q);
}

/* x + x^3 P(x^2) of |x| up to pi / 4. */
#define SURG__P_TAN_NEAR 0.785398f
SURG__INLINE float surg__p_tan_near(float x) {
  const float z = x * x;
  const float p = SURG__F_POLY(z, 0.3333333432674407958984375f, 0.13333214819431304931640625f,
                               5.399660766124725341796875e-2f, 2.160895802080631256103515625e-2f,
                               9.995639324188232421875e-3f, 1.141189597547054290771484375e-3f,
                               3.86545970104634761810302734375e-3f);
  return surg__f_fma(x * z, p, x);
}

/* --- back from sines --- */

/* Of a, of (a - 1) / (a + 1) beside pi / 4, or of -1 / a beside pi / 2. */
SURG__INLINE float surg__p_atan(float x) {
  const float any = fabsf(x), a = any > 0x1p60f ? 0x1p60f : any;
  const bool far = a > 2.4142135f, middle = a > 0.41421357f;
  surg__pair base = {0x1.921fb6p-1f, -0x1.777a5cp-26f};
  surg__pair d = surg__p_sum(1, a), n = surg__p_sum(-1, a); /* up to `far` */
  const surg__pair of_a = {a, 0}, one = {1, 0}, minus = {-1, 0}, zero = {0, 0};
  const surg__pair quarter = {0x1.921fb6p0f, -0x1.777a5cp-25f};
  n = surg__p_choose(middle, surg__p_choose(far, minus, n), of_a);
  d = surg__p_choose(middle, surg__p_choose(far, of_a, d), one);
  base = surg__p_choose(middle, surg__p_choose(far, quarter, base), zero);
  const surg__pair r = surg__p_close(surg__p_quotient(n, d));
  const float z = r.head * r.head;
  const float p = SURG__F_POLY(z, -0.3333333432674407958984375f, 0.2000009715557098388671875f,
                               -0.1428802013397216796875f, 0.111224822700023651123046875f,
                               -8.920685946941375732421875e-2f, 5.67218996584415435791015625e-2f);
  const surg__pair s = surg__p_sum(base.head, r.head);
  const float rest = surg__f_fma(r.head * z, p, r.tail + base.tail);
  return copysignf(s.head + (s.tail + rest), x);
}

/* asin of the magnitude, or of sqrt((1 - |x|) / 2) where that exceeds 1/2. */
SURG__INLINE surg__pair surg__p_asin_part(float a) {
  const bool far = a > 0.5f;
  const float z = far ? 0.5f * (1 - a) : a * a, root = sqrtf(z), s = far ? root : a;
  const float lost = surg__f_fma(-root, root, z) * (0.5f / (root > 0 ? root : 1));
  const float p = SURG__F_POLY(z, 0.1666666567325592041015625f, 7.50015079975128173828125e-2f,
                               4.458625614643096923828125e-2f, 3.1224779784679412841796875e-2f,
                               1.6640029847621917724609375e-2f, 3.444688022136688232421875e-2f);
  return (surg__pair){s, surg__f_fma(s * z, p, far ? lost : 0)};
}

SURG__INLINE float surg__p_asin(float x) {
  const float a = fabsf(x);
  const surg__pair p = surg__p_asin_part(a), quarter = {0x1.921fb6p0f, -0x1.777a5cp-25f};
  const surg__pair far = surg__p_add(quarter, surg__p_times(p, -2));
  return copysignf(surg__p_value(surg__p_choose(a > 0.5f, far, p)), x);
}

SURG__INLINE float surg__p_acos(float x) {
  const float a = fabsf(x);
  const surg__pair p = surg__p_asin_part(a), quarter = {0x1.921fb6p0f, -0x1.777a5cp-25f};
  const surg__pair half = {0x1.921fb6p1f, -0x1.777a5cp-24f}, none = {0, 0};
  /* pi / 2 less it, pi less twice it of -|x|, or twice it */
  const float by = a > 0.5f ? (x > 0 ? 2 : -2) : (x > 0 ? -1 : 1);
  const surg__pair base = surg__p_choose(a > 0.5f, surg__p_choose(x > 0, none, half), quarter);
  return surg__p_value(surg__p_add(base, surg__p_times(p, by)));
}

#endif
