/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of double and float elements against those of long double: how many units of the
 * last place a result is from the true value, over all magnitudes, around the places where a
 * formula changes, and in the ranges that models use. Results are those of the C library: the
 * bounds are what doc/evaluation.md states. */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/base.h"
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

/* Results of doubles are within `wide` units of the last place; 0: the operator has none. Inputs go
 * up to `far`. */
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
    {"Celu", SURG_OP_Celu, elu, 1, 0, DBL_MAX, 0},
    {"Sin", SURG_OP_Sin, sinl, 0, 0, 1e5, 1},
    {"Cos", SURG_OP_Cos, cosl, 0, 0, 1e5, 1},
    {"Tan", SURG_OP_Tan, tanl, 0, 0, 1e5, 2.5},
    {"Asin", SURG_OP_Asin, asinl, 0, 0, 1, 2.5},
    {"Acos", SURG_OP_Acos, acosl, 0, 0, 1, 2},
    {"Atan", SURG_OP_Atan, atanl, 0, 0, DBL_MAX, 2},
    {"Sinh", SURG_OP_Sinh, sinhl, 0, 0, 711, 2},
    {"Cosh", SURG_OP_Cosh, coshl, 0, 0, 711, 2},
};

/* The operator on n elements, through its kernel. */
static void on_array(const function *f, int dtype, void *in, void *out, uint64_t n) {
  static const struct {
    int op;
    const char *a, *b;
  } attributes[] = {{SURG_OP_Elu, "alpha", NULL}, {SURG_OP_Celu, "alpha", NULL},
                    {SURG_OP_Selu, "alpha", "gamma"}, {SURG_OP_Swish, "alpha", NULL}};
  const int64_t dims[] = {(int64_t)n};
  const surg__array x = {.dtype = dtype, .rank = 1, .count = n, .dims = dims, .data = in};
  surg__array y = {0};
  surg_model_set_opset(model, "", 24);
  surg_node *node_of = node(f->op == BY_TANH ? "Gelu" : f->name, 1);
  if (f->op == BY_TANH) surg_node_set_string(node_of, "approximate", "tanh");
  for (size_t i = 0; i < SURG_COUNT(attributes); i++) {
    if (attributes[i].op != f->op) continue;
    surg_node_set_float(node_of, attributes[i].a, (float)f->a);
    if (attributes[i].b) surg_node_set_float(node_of, attributes[i].b, (float)f->b);
  }
  ck_assert_int_eq(compute(node_of, &x, &y), SURG_OK);
  memcpy(out, y.data, (size_t)n * surg__dtype_unpacked(dtype));
  done(&y);
}

static void powers_of(int dtype, void *x, void *y, void *out, uint64_t n) {
  const int64_t dims[] = {(int64_t)n};
  const surg__array in[2] = {{.dtype = dtype, .rank = 1, .count = n, .dims = dims, .data = x},
                             {.dtype = dtype, .rank = 1, .count = n, .dims = dims, .data = y}};
  surg__array z = {0};
  ck_assert_int_eq(compute(node("Pow", 2), in, &z), SURG_OK);
  memcpy(out, z.data, (size_t)n * surg__dtype_unpacked(dtype));
  done(&z);
}

#define SAMPLES 20000

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
  if (f->wide == 0) return;
  double *x = malloc(SAMPLES * sizeof *x), *y = malloc(SAMPLES * sizeof *y), worst_at = 0;
  real worst = 0;
  ck_assert(x && y);
  for (int i = 0; i < SAMPLES; i++) x[i] = sample(i, f->far);
  on_array(f, SURG_DOUBLE, x, y, SAMPLES);
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

/* The nearest float in all but one of a thousand; it is always one of the two around the true
 * value. */
START_TEST(floats) {
  const function *f = &functions[_i];
  float *x = malloc(SAMPLES * sizeof *x), *y = malloc(SAMPLES * sizeof *y);
  unsigned differ = 0;
  real worst = 0;
  ck_assert(x && y);
  for (int i = 0; i < SAMPLES; i++) x[i] = (float)sample(i, f->far < FLT_MAX ? f->far : FLT_MAX);
  on_array(f, SURG_FLOAT, x, y, SAMPLES);
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
  ck_assert_msg(differ <= SAMPLES / 1000, "%s: %u of %d differ", f->name, differ, SAMPLES);
  free(x);
  free(y);
}
END_TEST

/* What no number of units says: signs of zeros, infinities, NaN; the same as the C library. */
START_TEST(specials) {
  static double in[] = {0.0, -0.0, INFINITY, -INFINITY, NAN, 0x1p-1074, -0x1p-1074,
                        DBL_MAX, -DBL_MAX, 1, -1};
  enum { N = SURG_COUNT(in) };
  const function *f = &functions[_i];
  double out[N];
  float narrow[N], small[N];
  if (f->wide > 0) on_array(f, SURG_DOUBLE, in, out, N);
  for (int i = 0; i < N; i++) narrow[i] = (float)in[i];
  on_array(f, SURG_FLOAT, narrow, small, N);
  for (int i = 0; i < N; i++) {
    /* The true functions may overflow on the way. */
    if (fabs(in[i]) > 2 && isfinite(in[i])) continue;
    const real want = f->exact(in[i]), float_want = f->exact(narrow[i]);
    ck_assert_msg(f->wide == 0 || (isnan(want) == isnan(out[i]) && isinf(want) == isinf(out[i])),
                  "%s of %a is %a", f->name, in[i], out[i]);
    ck_assert_msg(f->wide == 0 || isnan(want) || (signbit(want) != 0) == (signbit(out[i]) != 0),
                  "%s of %a is %a", f->name, in[i], out[i]);
    ck_assert_msg(isnan(float_want) == isnan(small[i]) && isinf(float_want) == isinf(small[i]),
                  "%s of the float %a is %a", f->name, in[i], (double)small[i]);
    ck_assert_msg(narrow[i] != 0 || (signbit(float_want) != 0) == (signbit(small[i]) != 0),
                  "%s of the float %a is %a", f->name, in[i], (double)small[i]);
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
  powers_of(SURG_DOUBLE, x, y, z, SAMPLES);
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

/* Of narrower floats: one of the two around the true value, and exact where the power is one. */
START_TEST(narrow_powers) {
  static const struct {
    int dtype, digits, least;
    real largest;
  } types[] = {{SURG_FLOAT, FLT_MANT_DIG, FLT_MIN_EXP - FLT_MANT_DIG, FLT_MAX},
               {SURG_FLOAT16, 11, -24, 65504},
               {SURG_BFLOAT16, 8, -133, 0x1.fep127L}};
  const int dtype = types[_i].dtype;
  static uint64_t x[SAMPLES], y[SAMPLES], z[SAMPLES]; /* room for either type */
  real worst = 0;
  for (uint64_t i = 0; i < SAMPLES; i++) {
    const double unit = (double)(unit_random() >> 11) * 0x1p-52 - 1;
    const double far = (double)types[_i].largest;
    double v = i % 3 == 0 ? 1 + sample(2, 1) * 0.1 : fabs(sample((int)i, far));
    const double log_v = log(v);
    double w = log_v == 0 || isinf(log_v) ? 1 : (dtype == SURG_FLOAT16 ? 17 : 104) * unit / log_v;
    if (i % 7 == 0) w = (double)unit_between(0, 20) - 10, v = -(double)unit_between(1, 30);
    if (i % 7 == 1) w = 0.5, v = (double)unit_between(1, 1000) / 8;
    surg__store_f64(dtype, x, i, v);
    surg__store_f64(dtype, y, i, w);
  }
  powers_of(dtype, x, y, z, SAMPLES);
  for (uint64_t i = 0; i < SAMPLES; i++) {
    const double v = surg__load_f64(dtype, x, i), w = surg__load_f64(dtype, y, i);
    const real want = powl(v, w), got = surg__load_f64(dtype, z, i);
    const real off = ulps(got, want, types[_i].digits, types[_i].least, types[_i].largest);
    ck_assert_msg(off < 0.501L || (isinf(got) && off <= 1) ||
                      fabsl(want) > types[_i].largest,
                  "%a to the %a is %La, %Lf units off", v, w, got, off);
    if (off > worst) worst = off;
  }
  if (getenv("ONNXSURG_ULPS")) printf("Pow of type %d %.4Lf\n", dtype, worst);
}
END_TEST

/* As the C library has them, for NaN, infinities, zeros and the ends of the type. */
START_TEST(special_powers) {
  static double in[] = {0.0, -0.0, 1, -1, 2, -2, 3, -3, 0.5, -0.5, 2.5, -2.5, INFINITY,
                        -INFINITY, NAN, 0x1p-1074, -0x1p-1074, DBL_MAX, -DBL_MAX, 0x1p53,
                        0x1p53 - 1, 1023, -1074, -1075, -1076, 1024};
  enum { N = SURG_COUNT(in) };
  double x[N], z[N];
  for (int j = 0; j < N; j++) {
    for (int i = 0; i < N; i++) x[i] = in[j];
    powers_of(SURG_DOUBLE, in, x, z, N);
    for (int i = 0; i < N; i++) {
      const double want = pow(in[i], in[j]);
      ck_assert_msg(isnan(want) ? isnan(z[i]) && !signbit(z[i]) : same(want, z[i]),
                    "%a to the %a is %a, not %a", in[i], in[j], z[i], want);
    }
  }
}
END_TEST

int main(void) {
  Suite *s = suite_create("kernels_double");
  TCase *c = tcase_create("functions");
  tcase_set_timeout(c, 120);
  tcase_add_checked_fixture(c, setup, teardown);
  /* Without a wider type there is nothing to hold them against. */
  if (LDBL_MANT_DIG > DBL_MANT_DIG) {
    tcase_add_loop_test(c, doubles, 0, (int)SURG_COUNT(functions));
    tcase_add_loop_test(c, floats, 0, (int)SURG_COUNT(functions));
    tcase_add_test(c, powers);
    tcase_add_loop_test(c, narrow_powers, 0, 3);
  } else {
    printf("long double is no wider than double here: accuracy is not measured\n");
  }
  tcase_add_loop_test(c, specials, 0, (int)SURG_COUNT(functions));
  tcase_add_test(c, special_powers);
  suite_add_tcase(s, c);
  return unit_run(s);
}
