/* SPDX-License-Identifier: Apache-2.0 */
/* Operators of one input, and Clip. Floats are computed in double with the C library and rounded
 * once to their type; integers keep their width. */
#include <float.h>
#include <math.h>

#include "eval/core/kernels.h"
#include "eval/core/number.h"

static double f_neg(double x, double a, double b) {
  (void)a;
  (void)b;
  return -x;
}
static double f_abs(double x, double a, double b) {
  (void)a;
  (void)b;
  return fabs(x);
}
static double f_sign(double x, double a, double b) {
  (void)a, (void)b;
  return x > 0 ? 1 : x < 0 ? -1 : x == 0 ? 0 : x;
}
static double f_relu(double x, double a, double b) {
  (void)a;
  (void)b;
  return x < 0 ? 0 : x;
}
static double f_sqrt(double x, double a, double b) {
  (void)a;
  (void)b;
  return sqrt(x);
}
static double f_exp(double x, double a, double b) {
  (void)a;
  (void)b;
  return exp(x);
}
static double f_log(double x, double a, double b) {
  (void)a;
  (void)b;
  return log(x);
}
static double f_floor(double x, double a, double b) {
  (void)a;
  (void)b;
  return floor(x);
}
static double f_ceil(double x, double a, double b) {
  (void)a;
  (void)b;
  return ceil(x);
}
/* Rounds half to even, the default rounding mode, which is never changed. */
static double f_round(double x, double a, double b) {
  (void)a;
  (void)b;
  return nearbyint(x);
}
static double f_recip(double x, double a, double b) {
  (void)a;
  (void)b;
  return 1 / x;
}
static double f_erf(double x, double a, double b) {
  (void)a;
  (void)b;
  return erf(x);
}
static double f_tanh(double x, double a, double b) {
  (void)a;
  (void)b;
  return tanh(x);
}
static double f_sin(double x, double a, double b) {
  (void)a;
  (void)b;
  return sin(x);
}
static double f_cos(double x, double a, double b) {
  (void)a;
  (void)b;
  return cos(x);
}
static double f_tan(double x, double a, double b) {
  (void)a;
  (void)b;
  return tan(x);
}
static double f_asin(double x, double a, double b) {
  (void)a;
  (void)b;
  return asin(x);
}
static double f_acos(double x, double a, double b) {
  (void)a;
  (void)b;
  return acos(x);
}
static double f_atan(double x, double a, double b) {
  (void)a;
  (void)b;
  return atan(x);
}
static double f_sinh(double x, double a, double b) {
  (void)a;
  (void)b;
  return sinh(x);
}
static double f_cosh(double x, double a, double b) {
  (void)a;
  (void)b;
  return cosh(x);
}
static double f_asinh(double x, double a, double b) {
  (void)a;
  (void)b;
  return asinh(x);
}
static double f_acosh(double x, double a, double b) {
  (void)a;
  (void)b;
  return acosh(x);
}
static double f_atanh(double x, double a, double b) {
  (void)a;
  (void)b;
  return atanh(x);
}
/* exp of a negative magnitude only: it cannot overflow. */
static double f_sigmoid(double x, double a, double b) {
  (void)a, (void)b;
  const double e = exp(-fabs(x)), part = x >= 0 ? 1 : e;
  return part / (1 + e);
}
static double f_leaky(double x, double a, double b) {
  (void)b;
  return x < 0 ? a * x : x;
}
static double f_elu(double x, double a, double b) {
  (void)b;
  return x < 0 ? a * expm1(x) : x;
}
static double f_selu(double x, double a, double b) {
  return b * (x > 0 ? x : a * expm1(x));
}
static double f_celu(double x, double a, double b) {
  (void)b;
  return x < 0 ? a * expm1(x / a) : x;
}
static double f_thresholded(double x, double a, double b) {
  (void)b;
  return x > a ? x : 0; /* a NaN gives 0 */
}
static double f_hard_sigmoid(double x, double a, double b) {
  double y = a * x + b;
  return y < 0 ? 0 : y > 1 ? 1 : y;
}
static double f_hard_swish(double x, double a, double b) {
  return x * f_hard_sigmoid(x, a, b);
}
static double f_shrink(double x, double edge, double bias) {
  return x < -edge ? x + bias : x > edge ? x - bias : 0;
}
static double f_softplus(double x, double a, double b) {
  (void)a, (void)b;
  return x > 0 ? x + log1p(exp(-x)) : log1p(exp(x));
}
static double f_softsign(double x, double a, double b) {
  (void)a, (void)b;
  return x / (1 + fabs(x));
}
static double f_mish(double x, double a, double b) {
  return x * tanh(f_softplus(x, a, b));
}
static double f_swish(double x, double a, double b) {
  return x * f_sigmoid(a * x, a, b);
}
/* x Phi(x). The rounding error of the argument is corrected by the derivative of erfc, which
 * decreases so steeply that the result would be inaccurate otherwise. */
static double f_gelu(double x, double a, double b) {
  (void)a, (void)b;
  const double root = 0x1.6a09e667f3bcdp-1, root_low = -0x1.bdd3413b26456p-55; /* sqrt(1/2) */
  const double slope = 1.1283791670955126;                                     /* 2 / sqrt(pi) */
  const double s = -x * root, low = fma(-x, root, -s) - x * root_low;
  const double y = erfc(s);
  return 0.5 * x * (fabs(s) < 28 ? y - slope * exp(-s * s) * low : y);
}
/* (1 + tanh(u)) / 2 is the sigmoid of 2 u. */
static double f_gelu_tanh(double x, double a, double b) {
  return x * f_sigmoid(2 * 0.79788456080286535588 * (x + 0.044715 * x * x * x), a, b);
}

static double f_clip(double x, double low, double high) {
  if (x < low) x = low;
  return x > high ? high : x;
}

static const struct real_row {
  int op;
  surg__real_fn fn;
  const char *a_name, *b_name; /* attribute names, with their defaults */
  float a, b;
} rows[] = {
    {SURG_OP_Neg, f_neg, NULL, NULL, 0, 0},
    {SURG_OP_Abs, f_abs, NULL, NULL, 0, 0},
    {SURG_OP_Sign, f_sign, NULL, NULL, 0, 0},
    {SURG_OP_Relu, f_relu, NULL, NULL, 0, 0},
    {SURG_OP_Sqrt, f_sqrt, NULL, NULL, 0, 0},
    {SURG_OP_Exp, f_exp, NULL, NULL, 0, 0},
    {SURG_OP_Log, f_log, NULL, NULL, 0, 0},
    {SURG_OP_Floor, f_floor, NULL, NULL, 0, 0},
    {SURG_OP_Ceil, f_ceil, NULL, NULL, 0, 0},
    {SURG_OP_Round, f_round, NULL, NULL, 0, 0},
    {SURG_OP_Reciprocal, f_recip, NULL, NULL, 0, 0},
    {SURG_OP_Erf, f_erf, NULL, NULL, 0, 0},
    {SURG_OP_Tanh, f_tanh, NULL, NULL, 0, 0},
    {SURG_OP_Sigmoid, f_sigmoid, NULL, NULL, 0, 0},
    {SURG_OP_LeakyRelu, f_leaky, "alpha", NULL, 0.01f, 0},
    {SURG_OP_Elu, f_elu, "alpha", NULL, 1, 0},
    {SURG_OP_Selu, f_selu, "alpha", "gamma", 1.67326319217681884765625f,
     1.05070102214813232421875f},
    {SURG_OP_Celu, f_celu, "alpha", NULL, 1, 0},
    {SURG_OP_ThresholdedRelu, f_thresholded, "alpha", NULL, 1, 0},
    {SURG_OP_HardSigmoid, f_hard_sigmoid, "alpha", "beta", 0.2f, 0.5f},
    {SURG_OP_HardSwish, f_hard_swish, NULL, NULL, 0, 0.5f},
    {SURG_OP_Mish, f_mish, NULL, NULL, 0, 0},
    {SURG_OP_Gelu, f_gelu, NULL, NULL, 0, 0},
    {SURG_OP_Swish, f_swish, "alpha", NULL, 1, 0},
    {SURG_OP_Shrink, f_shrink, "lambd", "bias", 0.5f, 0},
    {SURG_OP_Softplus, f_softplus, NULL, NULL, 0, 0},
    {SURG_OP_Softsign, f_softsign, NULL, NULL, 0, 0},
    {SURG_OP_Sin, f_sin, NULL, NULL, 0, 0},
    {SURG_OP_Cos, f_cos, NULL, NULL, 0, 0},
    {SURG_OP_Tan, f_tan, NULL, NULL, 0, 0},
    {SURG_OP_Asin, f_asin, NULL, NULL, 0, 0},
    {SURG_OP_Acos, f_acos, NULL, NULL, 0, 0},
    {SURG_OP_Atan, f_atan, NULL, NULL, 0, 0},
    {SURG_OP_Sinh, f_sinh, NULL, NULL, 0, 0},
    {SURG_OP_Cosh, f_cosh, NULL, NULL, 0, 0},
    {SURG_OP_Asinh, f_asinh, NULL, NULL, 0, 0},
    {SURG_OP_Acosh, f_acosh, NULL, NULL, 0, 0},
    {SURG_OP_Atanh, f_atanh, NULL, NULL, 0, 0},
};

static const struct real_row *find_row(int op) {
  for (size_t i = 0; i < SURG_COUNT(rows); ++i) {
    if (rows[i].op == op) return &rows[i];
  }
  return NULL;
}

surg__real_fn surg__real_function(int op) {
  const struct real_row *row = find_row(op);
  return row ? row->fn : NULL;
}

/* The number of values of a 16-bit type: for more elements, each value is computed once. */
#define VALUES 65536u

/* Applies fn element by element. */
static surg__kstatus each(surg_kctx *k, surg__real_fn fn, double a, double b) {
  const surg__array *x = &k->in[0], *o = &k->out[0];
  if (x->dtype == SURG_DOUBLE) {
    const double *from = x->data;
    double *to = o->data;
    for (uint64_t i = 0; i < x->count; ++i) to[i] = fn(from[i], a, b);
  } else if (x->dtype == SURG_FLOAT) {
    const float *from = x->data;
    float *to = o->data;
    for (uint64_t i = 0; i < x->count; ++i) to[i] = (float)fn((double)from[i], a, b);
  } else if (x->count >= 2 * VALUES) {
    const uint16_t *from = x->data;
    uint16_t *to = o->data, *table = surg__k_scratch(k, VALUES, sizeof *table);
    if (!table) return SURG__K_NOMEM;
    for (uint32_t i = 0; i < VALUES; ++i) {
      table[i] = (uint16_t)i;
      surg__store_f64(o->dtype, table, i, fn(surg__load_f64(x->dtype, table, i), a, b));
    }
    for (uint64_t i = 0; i < x->count; ++i) to[i] = table[from[i]];
  } else {
    for (uint64_t i = 0; i < x->count; ++i)
      surg__store_f64(o->dtype, o->data, i, fn(surg__load_f64(x->dtype, x->data, i), a, b));
  }
  return SURG__K_OK;
}

/* Relu of floats, the function most often applied to convolutions. */
static void relu_floats(const float *from, float *to, uint64_t n) {
  for (uint64_t i = 0; i < n; ++i) to[i] = from[i] < 0 ? 0 : from[i];
}

static surg__kstatus reals(surg_kctx *k) {
  const struct real_row *row = find_row(k->op);
  assert(row);
  double a = row->a, b = row->b;
  surg__real_fn fn = row->fn;
  if (row->a_name) a = surg_node_float(k->node, row->a_name, row->a);
  if (row->b_name) b = surg_node_float(k->node, row->b_name, row->b);
  if (k->op == SURG_OP_HardSwish) a = 1.0 / 6.0;
  if (k->op == SURG_OP_Celu && a == 0) return surg__k_cannot(k, "alpha is zero");
  if (k->op == SURG_OP_Gelu) {
    static const char *const forms[] = {"none", "tanh"};
    int form = surg__k_word(k, "approximate", "none", forms, 2);
    if (form == 2) return surg__k_invalid(k, "approximate is neither none nor tanh");
    if (form == 1) fn = f_gelu_tanh;
  }
  if (k->op == SURG_OP_Relu && k->in[0].dtype == SURG_FLOAT) {
    relu_floats(k->in[0].data, k->out[0].data, k->in[0].count);
    return SURG__K_OK;
  }
  return each(k, fn, a, b);
}

/* The result for an integer or a bool, as read by surg__load_int. */
static uint64_t whole_result(int op, uint64_t v, bool negative) {
  switch (op) {
    case SURG_OP_Neg:
      return 0 - v;
    case SURG_OP_Abs:
      return negative ? 0 - v : v;
    case SURG_OP_Sign:
      return negative ? UINT64_MAX : v != 0;
    case SURG_OP_Relu:
      return negative ? 0 : v;
    case SURG_OP_BitwiseNot:
      return ~v;
    default:
      assert(op == SURG_OP_Not);
      return v == 0;
  }
}

static bool has_whole_result(int op, int dtype) {
  if (dtype == SURG_BOOL || op == SURG_OP_Not) return dtype == SURG_BOOL && op == SURG_OP_Not;
  return op == SURG_OP_Neg || op == SURG_OP_Abs || op == SURG_OP_Sign || op == SURG_OP_Relu ||
         op == SURG_OP_BitwiseNot;
}

static surg__kstatus integers(surg_kctx *k) {
  const surg__array *x = &k->in[0], *o = &k->out[0];
  const bool is_signed = surg__dtype_is_signed_int(x->dtype);
  if (!has_whole_result(k->op, x->dtype)) return surg__k_cannot(k, "no result in integers");
  for (uint64_t i = 0; i < x->count; ++i) {
    const uint64_t v = surg__load_int(x->dtype, x->data, i);
    const bool negative = is_signed && (int64_t)v < 0;
    surg__store_int(o->dtype, o->data, i, whole_result(k->op, v, negative));
  }
  return SURG__K_OK;
}

surg__kstatus surg__k_unary(surg_kctx *k) {
  const surg__array *x = &k->in[0];
  if (!k->wanted[0]) return SURG__K_OK;
  SURG__K_TRY(surg__k_out(k, 0, x->dtype, x->dims, x->rank));
  SURG__K_TRY(surg__k_work(k, x->count));
  return surg__is_real(x->dtype) ? reals(k) : integers(k);
}

/* --- Clip --- */

/* Whether bound i, an input, is absent or has one element. */
static bool single(const surg_kctx *k, uint32_t i) {
  return !surg__k_has(k, i) || k->in[i].count == 1;
}

static double attr_bound(const surg_kctx *k, const char *name, double fallback) {
  return surg_node_attr(k->node, name) ? surg_node_float(k->node, name, 0) : fallback;
}

/* The largest finite number of a type. */
static double largest(int dtype) {
  switch (dtype) {
    case SURG_FLOAT16:
      return 65504.0;
    case SURG_BFLOAT16:
      return 0x1.fep127;
    case SURG_DOUBLE:
      return DBL_MAX;
    default:
      return (double)FLT_MAX;
  }
}

/* The bounds of Clip. A missing bound is the largest finite number, so that infinities are
 * clipped. */
static void real_bounds(const surg_kctx *k, double *low, double *high) {
  const int dtype = k->in[0].dtype;
  const bool inputs = k->since >= 11;
  const double widest = inputs ? largest(dtype) : k->since < 6 ? INFINITY : (double)FLT_MAX;
  *low = inputs ? -widest : attr_bound(k, "min", -widest);
  *high = inputs ? widest : attr_bound(k, "max", widest);
  if (inputs && surg__k_has(k, 1)) *low = surg__load_f64(dtype, k->in[1].data, 0);
  if (inputs && surg__k_has(k, 2)) *high = surg__load_f64(dtype, k->in[2].data, 0);
}

/* Applies the lower bound first, so that the upper one wins if they cross; NaN stays. */
static surg__kstatus clip_reals(surg_kctx *k) {
  double low, high;
  real_bounds(k, &low, &high);
  if (isnan(low) || isnan(high)) {
    SURG__K_TRY(surg__k_disputed(k, "a bound is not a number")); /* no limit */
  }
  return each(k, f_clip, low, high);
}

static surg__kstatus clip_integers(surg_kctx *k) {
  const surg__array *x = &k->in[0], *o = &k->out[0];
  const bool is_signed = surg__dtype_is_signed_int(x->dtype);
  /* Flipping the highest bit maps the order of signed integers to that of unsigned ones. */
  const uint64_t turn = is_signed ? 1ull << 63 : 0;
  uint64_t low = 0, high = UINT64_MAX;
  if (surg__k_has(k, 1)) low = surg__load_int(x->dtype, k->in[1].data, 0) ^ turn;
  if (surg__k_has(k, 2)) high = surg__load_int(x->dtype, k->in[2].data, 0) ^ turn;
  for (uint64_t i = 0; i < x->count; ++i) {
    uint64_t v = surg__load_int(x->dtype, x->data, i) ^ turn;
    if (v < low) v = low;
    surg__store_int(o->dtype, o->data, i, (v > high ? high : v) ^ turn);
  }
  return SURG__K_OK;
}

surg__kstatus surg__k_clip(surg_kctx *k) {
  const surg__array *x = &k->in[0];
  if (!k->wanted[0]) return SURG__K_OK;
  if (!single(k, 1) || !single(k, 2)) return surg__k_invalid(k, "a bound is not a single value");
  SURG__K_TRY(surg__k_out(k, 0, x->dtype, x->dims, x->rank));
  SURG__K_TRY(surg__k_work(k, x->count));
  return surg__is_real(x->dtype) ? clip_reals(k) : clip_integers(k);
}
