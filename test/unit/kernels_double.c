/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of double and float elements against those of long double: how many units of the
 * last place a result is from the true value, over all magnitudes, around the places where a
 * formula changes, and in the ranges that models use. */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/base.h"
#include "eval/fast/pow_fast.h"
#include "eval/fast/unary_fast.h"
#include "kernel_arrays.h"

typedef long double real;

static real sigmoid(real x) {
  return x >= 0 ? 1 / (1 + expl(-x)) : expl(x) / (1 + expl(x));
}
static real softplus(real x) {
  return x > 0 ? x + log1pl(expl(-x)) : log1pl(expl(x));
}
static real mish(real x) {
  const real e = expl(x), u = e * (e + 2);
  return x > 100 ? x : x * (u / (u + 2));
}
static real gelu(real x) {
  return x * erfcl(-x * 0.707106781186547524400844362104849039L) / 2;
}
static real elu(real x) {
  return x < 0 ? expm1l(x) : x;
}
static real selu(real x) {
  const real a = 1.67326319217681884765625L, b = 1.05070102214813232421875L;
  return b * (x >= 0 ? x : a * expm1l(x));
}
static real swish(real x) {
  return x * sigmoid(x);
}

static real gelu_by_tanh(real x) {
  return x * sigmoid(2 * 0.79788456080286535588L * (x + 0.044715L * x * x * x));
}
#define BY_TANH (-1)

/* Results of doubles are within `wide` units of the last place. Inputs go up to `far`. */
typedef struct function {
  const char *name;
  int op;
  real (*exact)(real);
  double a, b, far, wide;
} function;

static const function functions[] = {
    {"Exp", SURG_OP_Exp, expl, 0, 0, 760, 1},
    {"Log", SURG_OP_Log, logl, 0, 0, DBL_MAX, 1},
    {"Sigmoid", SURG_OP_Sigmoid, sigmoid, 0, 0, 800, 2.5},
    {"Swish", SURG_OP_Swish, swish, 1, 0, 700, 4},
    {"Tanh", SURG_OP_Tanh, tanhl, 0, 0, DBL_MAX, 3},
    {"Erf", SURG_OP_Erf, erfl, 0, 0, DBL_MAX, 1.5},
    {"Gelu", SURG_OP_Gelu, gelu, 0, 0, 37, 8},
    {"Gelu by tanh", BY_TANH, gelu_by_tanh, 0, 0, 2, 16}, /* rounded before the exponential */
    {"Softplus", SURG_OP_Softplus, softplus, 0, 0, 800, 2},
    {"Mish", SURG_OP_Mish, mish, 0, 0, 700, 4},
    {"Elu", SURG_OP_Elu, elu, 1, 0, DBL_MAX, 2},
    {"Selu", SURG_OP_Selu, selu, 1.67326319217681884765625, 1.05070102214813232421875, DBL_MAX, 3},
    {"Celu", SURG_OP_Celu, elu, 1, 0, DBL_MAX, 2},
    {"Sin", SURG_OP_Sin, sinl, 0, 0, 1e5, 1},
    {"Cos", SURG_OP_Cos, cosl, 0, 0, 1e5, 1},
    {"Tan", SURG_OP_Tan, tanl, 0, 0, 1e5, 2.5},
    {"Asin", SURG_OP_Asin, asinl, 0, 0, 1, 2.5},
    {"Acos", SURG_OP_Acos, acosl, 0, 0, 1, 2},
    {"Atan", SURG_OP_Atan, atanl, 0, 0, DBL_MAX, 2},
    {"Sinh", SURG_OP_Sinh, sinhl, 0, 0, 711, 1.5},
    {"Cosh", SURG_OP_Cosh, coshl, 0, 0, 711, 2},
};

static surg__unary_double_fn on_doubles(int op) {
  const bool gelu = op == SURG_OP_Gelu || op == BY_TANH;
  return gelu ? surg__gelu_fast_double(op == BY_TANH) : surg__unary_fast_double(op);
}
static surg__unary_fn on_floats(int op) {
  const bool gelu = op == SURG_OP_Gelu || op == BY_TANH;
  return gelu ? surg__gelu_fast(op == BY_TANH) : surg__unary_fast(op);
}

#define SAMPLES 60000

/* Of all magnitudes, of those models have, and close to where formulas change. */
static double sample(int i, double far) {
  static const double near[] = {0, 0.25, 0.34657359, 0.5, 0.7071067811865476, 0.78539816339,
                                1, 1.4142135623730951, 1.5707963267948966, 2, 3.14159265358979, 4,
                                6, 20, 22, 36.7, 40, 50, 100, 200, 355, 700, 708.4, 709.78, 710.47,
                                745.13, 1e5, 99999.9};
  const double unit = (double)(unit_random() >> 11) * 0x1p-53, sign = unit_random() % 2 ? -1 : 1;
  double x = 0;
  switch (i % 4) {
    case 0:
      x = ldexp(1 + unit, (int)unit_between(0, 2090) - 1070);
      break;
    case 1:
      x = near[unit_between(0, SURG_COUNT(near) - 1)];
      x *= 1 + (unit - 0.5) * (i % 8 == 1 ? 1e-2 : 1e-12);
      break;
    case 2:
      x = 10 * unit;
      break;
    default:
      x = (far < 1000 ? far : 1000) * unit;
  }
  if (x > far) x = fmod(x, far);
  return sign * x;
}

/* How far `got` is from the true value, in units of the last place of a type. */
static real ulps(real got, real want, int digits, int least, real largest) {
  if (isnan(got) || isnan(want)) return isnan(got) && isnan(want) ? 0 : INFINITY;
  if (fabsl(want) > largest) {
    if (isinf(got)) return (got > 0) == (want > 0) ? 0 : INFINITY;
    return fabsl(got) == largest ? 1 : INFINITY;
  }
  if (isinf(got)) return fabsl(want) > largest * (1 - LDBL_EPSILON * 4096) ? 1 : INFINITY;
  int exponent;
  frexpl(want, &exponent);
  const int last = want == 0 || exponent - digits < least ? least : exponent - digits;
  return fabsl(got - want) / ldexpl(1, last);
}

START_TEST(doubles) {
  const function *f = &functions[_i];
  double *x = malloc(SAMPLES * sizeof *x), *y = malloc(SAMPLES * sizeof *y), worst_at = 0;
  real worst = 0;
  ck_assert(x && y);
  for (int i = 0; i < SAMPLES; i++) x[i] = sample(i, f->far);
  on_doubles(f->op)(x, y, SAMPLES, f->a, f->b);
  for (int i = 0; i < SAMPLES; i++) {
    const real off = ulps(y[i], f->exact(x[i]), DBL_MANT_DIG, DBL_MIN_EXP - DBL_MANT_DIG, DBL_MAX);
    if (off > worst) worst = off, worst_at = x[i];
  }
  if (getenv("ONNXSURG_ULPS")) printf("%-10s %.3Lf at %a\n", f->name, worst, worst_at);
  ck_assert_msg(worst <= f->wide, "%s of %a: %Lf units off", f->name, worst_at, worst);
  free(x);
  free(y);
}
END_TEST

/* The nearest float, but some times in a hundred its neighbour; it is always one of the two around
 * the true value. */
START_TEST(floats) {
  const function *f = &functions[_i];
  float *x = malloc(SAMPLES * sizeof *x), *y = malloc(SAMPLES * sizeof *y);
  unsigned differ = 0;
  real worst = 0;
  ck_assert(x && y);
  for (int i = 0; i < SAMPLES; i++) x[i] = (float)sample(i, f->far < FLT_MAX ? f->far : FLT_MAX);
  on_floats(f->op)(x, y, SAMPLES, f->a, f->b);
  for (int i = 0; i < SAMPLES; i++) {
    const real want = f->exact(x[i]);
    const real off = ulps(y[i], want, FLT_MANT_DIG, FLT_MIN_EXP - FLT_MANT_DIG, FLT_MAX);
    ck_assert_msg(off < 1, "%s of %a is %a: %Lf units off", f->name, (double)x[i],
                  (double)y[i], off);
    if (off > worst) worst = off;
    differ += y[i] != (float)want && !isnan(want);
  }
  if (getenv("ONNXSURG_ULPS"))
    printf("%-10s %.3Lf, %u of %d\n", f->name, worst, differ, SAMPLES);
  ck_assert_msg(differ <= SAMPLES / 50, "%s: %u of %d differ", f->name, differ, SAMPLES);
  free(x);
  free(y);
}
END_TEST

/* What no number of units says: signs of zeros, infinities, NaN; the same as the C library. */
START_TEST(specials) {
  static const double in[] = {0.0, -0.0, INFINITY, -INFINITY, NAN, 0x1p-1074, -0x1p-1074,
                              DBL_MAX, -DBL_MAX, 1, -1};
  enum { N = SURG_COUNT(in) };
  const function *f = &functions[_i];
  double out[N];
  float narrow[N], small[N];
  on_doubles(f->op)(in, out, N, f->a, f->b);
  for (int i = 0; i < N; i++) narrow[i] = (float)in[i];
  on_floats(f->op)(narrow, small, N, f->a, f->b);
  for (int i = 0; i < N; i++) {
    /* The true functions may overflow on the way. */
    if (fabs(in[i]) > 2 && isfinite(in[i])) continue;
    const real want = f->exact(in[i]), float_want = f->exact(narrow[i]);
    ck_assert_msg(isnan(want) == isnan(out[i]) && isinf(want) == isinf(out[i]), "%s of %a is %a",
                  f->name, in[i], out[i]);
    ck_assert_msg(isnan(want) || (signbit(want) != 0) == (signbit(out[i]) != 0),
                  "%s of %a is %a", f->name, in[i], out[i]);
    ck_assert_msg(isnan(float_want) == isnan(small[i]) && isinf(float_want) == isinf(small[i]),
                  "%s of the float %a is %a", f->name, in[i], (double)small[i]);
    ck_assert_msg(narrow[i] != 0 || (signbit(float_want) != 0) == (signbit(small[i]) != 0),
                  "%s of the float %a is %a", f->name, in[i], (double)small[i]);
  }
}
END_TEST

/* Factors of Elu, Selu and Celu of any size: as the formula in doubles, whose infinities and NaN
 * count, too. */
START_TEST(factors) {
  static const float in[] = {-0.25f, -3, -80, -100, -INFINITY, -0.0f, 0, 2, INFINITY, -0x1p-140f, NAN};
  static const float factors_of[] = {0.5f, -2, 1e-40f, 1e-30f, 1e30f, FLT_MAX, INFINITY, NAN, 0, -0.0f};
  static const int ops[] = {SURG_OP_Elu, SURG_OP_Selu, SURG_OP_Celu};
  enum { N = SURG_COUNT(in) };
  for (size_t k = 0; k < SURG_COUNT(ops) * SURG_COUNT(factors_of); k++) {
    const int op = ops[k % SURG_COUNT(ops)];
    const double a = (double)factors_of[k / SURG_COUNT(ops)], b = op == SURG_OP_Selu ? 3 : 0;
    float out[N];
    if (op == SURG_OP_Celu && a == 0) continue; /* the kernel says that there is no such operator */
    surg__unary_fast(op)(in, out, N, a, b);
    for (int i = 0; i < N; i++) {
      const double x = (double)in[i];
      const double below = a * expm1(op == SURG_OP_Celu ? x / a : x);
      const double plain = x < 0 ? below : x;
      const double want = op == SURG_OP_Selu ? b * (x >= 0 ? x : below) : plain;
      const double far = fabs((double)(float)want);
      const bool same = isnan(want) ? isnan(out[i]) != 0
                        : isinf((float)want)
                            ? (double)out[i] == (double)(float)want
                            : fabs((double)out[i] - want) <= 0x1p-23 * far + 0x1p-149;
      ck_assert_msg(same, "operator %d of %a by %a is %a, not %a", op, x, a, (double)out[i], want);
    }
  }
}
END_TEST

/* Pairs whose power is a number of moderate size, and the exact ones. */
START_TEST(powers) {
  static double x[SAMPLES], y[SAMPLES], z[SAMPLES];
  real worst = 0;
  for (int i = 0; i < SAMPLES; i++) {
    x[i] = i % 3 == 0 ? 1 + sample(2, 1) * 0.1 : fabs(sample(i, DBL_MAX));
    const double log_x = log(x[i]), unit = (double)(unit_random() >> 11) * 0x1p-52 - 1;
    y[i] = log_x == 0 ? 1 : 700 * unit / log_x;
    if (i % 5 == 2) x[i] = exp2(24 * unit), y[i] = (double)unit_between(0, 10000) * 1e-3 - 5;
    if (i % 7 == 0) y[i] = (double)unit_between(0, 20) - 10, x[i] = -(double)unit_between(1, 30);
    if (i % 7 == 1) y[i] = 0.5, x[i] = ldexp((double)unit_between(1, 1000), -3);
  }
  surg__pow_doubles(x, y, false, z, SAMPLES);
  for (int i = 0; i < SAMPLES; i++) {
    const real want = powl(x[i], y[i]);
    const real off = ulps(z[i], want, DBL_MANT_DIG, DBL_MIN_EXP - DBL_MANT_DIG, DBL_MAX);
    ck_assert_msg(off < 1.5L, "%a to the %a is %a, %Lf units off", x[i], y[i], z[i], off);
    ck_assert_msg((double)want != want || z[i] == (double)want, "%a to the %a is %a", x[i], y[i],
                  z[i]);
    if (off > worst) worst = off;
  }
  if (getenv("ONNXSURG_ULPS")) printf("Pow        %.3Lf\n", worst);
}
END_TEST

/* Of floats: one of the two around the true value, and exact where the power is one. */
START_TEST(float_powers) {
  static double x[SAMPLES], y[SAMPLES], z[SAMPLES], each[1];
  real worst = 0;
  for (int i = 0; i < SAMPLES; i++) {
    x[i] = (double)(float)(i % 3 == 0 ? 1 + sample(2, 1) * 0.1 : fabs(sample(i, FLT_MAX)));
    const double log_x = log(x[i]), unit = (double)(unit_random() >> 11) * 0x1p-52 - 1;
    y[i] = log_x == 0 || isinf(log_x) ? 1 : 104 * unit / log_x;
    if (i % 2) y[i] = (double)(float)y[i];
    if (i % 7 == 0) y[i] = (double)unit_between(0, 20) - 10, x[i] = -(double)unit_between(1, 30);
    if (i % 7 == 1) y[i] = 0.5, x[i] = ldexp((double)unit_between(1, 1000), -3);
  }
  surg__pow_wide_floats(x, y, false, z, SAMPLES);
  for (int i = 0; i < SAMPLES; i++) {
    const real want = powl(x[i], y[i]), got = (real)(float)z[i];
    const real off = ulps(got, want, FLT_MANT_DIG, FLT_MIN_EXP - FLT_MANT_DIG, FLT_MAX);
    ck_assert_msg(off < 0.8L, "%a to the %a is %La, %Lf units off", x[i], y[i], got, off);
    ck_assert_msg((real)(float)want != want || got == want, "%a to the %a is %La", x[i], y[i], got);
    surg__pow_wide_floats(&x[i], &y[i], true, each, 1);
    ck_assert(*each == z[i]);
    const float narrow_x = (float)x[i], narrow_y = (float)y[i];
    float narrow;
    surg__pow_floats(&narrow_x, &narrow_y, true, &narrow, 1);
    ck_assert((double)narrow_y != y[i] || (real)narrow == got);
    if (off > worst) worst = off;
  }
  if (getenv("ONNXSURG_ULPS")) printf("Pow of floats %.4Lf\n", worst);
}
END_TEST

/* Of numbers of 16 bits, in float: the true value within some hundredths of their last place, so
 * that what they hold comes out as it is. */
START_TEST(half_powers) {
  const int dtype = _i ? SURG_BFLOAT16 : SURG_FLOAT16;
  const int digits = _i ? 8 : 11, least = _i ? -133 : -24;
  const real largest = _i ? 0x1.fep127L : 65504;
  static float x[SAMPLES], y[SAMPLES], z[SAMPLES];
  real worst = 0;
  for (int i = 0; i < SAMPLES; i++) {
    uint16_t bits[16] = {(uint16_t)(unit_random() & 0x7fff), (uint16_t)unit_random()};
    double v = surg__load_f64(dtype, bits, 0), w = surg__load_f64(dtype, bits, 1);
    if (!(v > 0 && v < INFINITY)) v = 1;
    if (i % 3 == 0) v = 1 + (double)((int)unit_between(0, 6) - 3) * (_i ? 0x1p-8 : 0x1p-11);
    if (i % 2) w = (double)(int32_t)unit_random() * 0x1p-31 * (_i ? 88 : 17) / fabs(log(v));
    if (!isfinite(w)) w = 1;
    if (i % 7 == 0) w = (double)unit_between(0, 10) - 5, v = -(double)unit_between(1, 7);
    if (i % 7 == 1) w = 0.5;
    x[i] = (float)rounded(dtype, v);
    y[i] = (float)rounded(dtype, w);
  }
  surg__pow_halves(x, y, false, z, SAMPLES);
  for (int i = 0; i < SAMPLES; i++) {
    const real want = powl(x[i], y[i]);
    const double got = rounded(dtype, (double)z[i]);
    const real off = ulps(got, want, digits, least, largest);
    ck_assert_msg(off <= 0.51L, "%a to the %a is %a, %Lf units off", (double)x[i], (double)y[i],
                  got, off);
    ck_assert_msg(rounded(dtype, (double)want) != want || got == (double)want,
                  "%a to the %a is %a", (double)x[i], (double)y[i], got);
    if (off > worst) worst = off;
  }
  if (getenv("ONNXSURG_ULPS")) printf("Pow of 16 bits %.4Lf\n", worst);
}
END_TEST

START_TEST(special_powers) {
  static const double in[] = {0.0, -0.0, 1, -1, 2, -2, 3, -3, 0.5, -0.5, 2.5, -2.5, INFINITY,
                              -INFINITY, NAN, 0x1p-1074, -0x1p-1074, DBL_MAX, -DBL_MAX, 0x1p53,
                              0x1p53 - 1, 1023, -1074, -1075, -1076, 1024};
  enum { N = SURG_COUNT(in) };
  double x[N], z[N], each[N];
  float floats_in[N], narrow[N], y[N], halves[N];
  for (int i = 0; i < N; i++) floats_in[i] = (float)in[i];
  for (int j = 0; j < N; j++) {
    for (int i = 0; i < N; i++) x[i] = in[j];
    surg__pow_doubles(in, x, false, z, N);
    surg__pow_doubles(in, &in[j], true, each, N);
    for (int i = 0; i < N; i++) y[i] = (float)x[i];
    surg__pow_floats(floats_in, y, false, narrow, N);
    surg__pow_halves(floats_in, y, false, halves, N);
    for (int i = 0; i < N; i++) {
      const float by_float = powf((float)in[i], (float)in[j]), got = narrow[i];
      ck_assert_msg(isnan(by_float) ? isnan(got)
                                    : (got == by_float || got == nextafterf(by_float, got)) &&
                                          !signbit(got) == !signbit(by_float),
                    "float %a to the %a is %a, not %a", in[i], in[j], (double)got,
                    (double)by_float);
      const bool held = rounded(SURG_BFLOAT16, (double)floats_in[i]) == (double)floats_in[i] &&
                        rounded(SURG_BFLOAT16, (double)y[i]) == (double)y[i];
      const float close = held ? halves[i] : by_float;
      ck_assert_msg(isnan(by_float) ? isnan(close)
                                    : same(rounded(SURG_BFLOAT16, (double)by_float),
                                           rounded(SURG_BFLOAT16, (double)close)),
                    "16 bits, %a to the %a is %a, not %a", in[i], in[j], (double)close,
                    (double)by_float);
      const double want = pow(in[i], in[j]);
      const bool same_double = isnan(want) ? isnan(z[i])
                                    : z[i] == want || z[i] == nextafter(want, z[i]);
      ck_assert_msg(same_double && (isnan(want) || !signbit(z[i]) == !signbit(want)),
                    "%a to the %a is %a, not %a", in[i], in[j], z[i], want);
      ck_assert(isnan(want) ? isnan(each[i]) : each[i] == z[i]);
    }
  }
}
END_TEST

int main(void) {
  Suite *s = suite_create("kernels_double");
  TCase *c = tcase_create("functions");
  tcase_set_timeout(c, 120);
  /* Without a wider type there is nothing to hold them against. */
  if (LDBL_MANT_DIG > DBL_MANT_DIG) {
    tcase_add_loop_test(c, doubles, 0, (int)SURG_COUNT(functions));
    tcase_add_loop_test(c, floats, 0, (int)SURG_COUNT(functions));
    tcase_add_test(c, powers);
    tcase_add_test(c, float_powers);
    tcase_add_loop_test(c, half_powers, 0, 2);
  } else {
    printf("long double is no wider than double here: accuracy is not measured\n");
  }
  tcase_add_loop_test(c, specials, 0, (int)SURG_COUNT(functions));
  tcase_add_test(c, factors);
  tcase_add_test(c, special_powers);
  suite_add_tcase(s, c);
  return unit_run(s);
}
