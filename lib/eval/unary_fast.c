/* SPDX-License-Identifier: Apache-2.0 */
/* The operators of one input on float elements. Where float arithmetic gives the bits that double
 * arithmetic rounded once gives (a root, a quotient, a product or a rounding of floats: double is
 * wide enough that rounding twice is rounding once) they are computed in float; exp and its kin by
 * vmath.h. */
#include "eval/unary_fast.h"

#include <math.h>

#include "eval/vmath.h"

#define LOOP(name, type, expression)                                                        \
  SURG__HOT(name, (const type *in, type *out, uint64_t n, double a, double b),              \
            (in, out, n, a, b)) {                                                           \
    (void)a, (void)b;                                                                       \
    for (uint64_t i = 0; i < n; ++i) {                                                      \
      type x = in[i];                                                                       \
      out[i] = (expression);                                                                \
    }                                                                                       \
  }
#define FAST(name, expression) LOOP(name, float, expression)
#define FAST_DOUBLE(name, expression) LOOP(name, double, expression)

FAST(fast_neg, -x)
FAST(fast_abs, fabsf(x))
FAST(fast_relu, x < 0 ? 0 : x)
FAST(fast_sqrt, sqrtf(x))
FAST(fast_floor, floorf(x))
FAST(fast_ceil, ceilf(x))
FAST(fast_round, nearbyintf(x))
FAST(fast_recip, 1 / x)
FAST(fast_sign, x > 0 ? 1 : x < 0 ? -1 : x == 0 ? 0 : x)
FAST(fast_leaky, x < 0 ? (float)(a * (double)x) : x)
FAST(fast_thresholded, (double)x > a ? x : 0)
FAST(fast_softsign, (float)((double)x / (1 + fabs((double)x))))
FAST(fast_clip, (double)x < a ? (float)a : (double)x > b ? (float)b : x)

SURG__INLINE double clamp01(double y) {
  return y < 0 ? 0 : y > 1 ? 1 : y;
}
FAST(fast_hard_sigmoid, (float)clamp01(a * (double)x + b))
FAST(fast_hard_swish, (float)((double)x * clamp01(a * (double)x + b)))

FAST(fast_exp, (float)surg__v_exp((double)x))
FAST(fast_log, (float)surg__v_log((double)x))
FAST(fast_sigmoid, (float)surg__v_sigmoid((double)x))
/* Far out the sigmoid is 0 (and times infinity no number); surg__v_exp ends before. */
SURG__INLINE double swish(double x, double a) {
  double s = surg__v_sigmoid(a * x);
  return x * (s < 1e-80 ? 0 : s);
}
FAST(fast_swish, (float)swish((double)x, a))
FAST(fast_tanh, (float)surg__v_tanh((double)x))
FAST(fast_erf, (float)surg__v_erf((double)x))
FAST(fast_gelu, (float)surg__v_gelu((double)x))
FAST(fast_softplus, (float)surg__v_softplus((double)x))
FAST(fast_mish, (float)surg__v_mish((double)x))
FAST(fast_elu, x < 0 ? (float)(a * surg__v_expm1((double)x)) : x)
FAST(fast_selu, (float)(b * (x >= 0 ? (double)x : a * surg__v_expm1((double)x)))) /* -0, too */
FAST(fast_celu, x < 0 ? (float)(a * surg__v_expm1((double)x / a)) : x)
FAST(fast_atan, (float)surg__v_atan((double)x))
FAST(fast_asin, (float)surg__v_asin((double)x))
FAST(fast_acos, (float)surg__v_acos((double)x))
FAST(fast_sinh, (float)surg__v_sinh((double)x))
FAST(fast_cosh, (float)surg__v_cosh((double)x))

/* Sines: whole pieces of moderate arguments by vmath.h, others by the C library. */
#define PIECE 1024
SURG__INLINE bool moderate(const float *x, uint64_t n) {
  int far = 0;
  for (uint64_t i = 0; i < n; ++i) far |= !(fabsf(x[i]) <= (float)SURG__V_TURNS);
  return far == 0;
}
#define FAST_TURN(name, function)                                                          \
  FAST(name##_piece, (float)surg__v_##function((double)x))                                 \
  static void name(const float *in, float *out, uint64_t n, double a, double b) {          \
    for (uint64_t at = 0; at < n; at += PIECE) {                                           \
      const uint64_t m = n - at < PIECE ? n - at : PIECE;                                  \
      if (moderate(in + at, m)) {                                                          \
        name##_piece(in + at, out + at, m, a, b);                                          \
      } else {                                                                             \
        for (uint64_t i = at; i < at + m; ++i) out[i] = (float)function((double)in[i]);    \
      }                                                                                    \
    }                                                                                      \
  }
FAST_TURN(fast_sin, sin)
FAST_TURN(fast_cos, cos)
FAST_TURN(fast_tan, tan)

SURG__INLINE double gelu_tanh(double x) {
  return 0.5 * x * (1 + surg__v_tanh(0.79788456080286535588 * (x + 0.044715 * x * x * x)));
}
FAST(fast_gelu_tanh, (float)gelu_tanh(x))

surg__unary_fn surg__gelu_fast(bool by_tanh) {
  return by_tanh ? fast_gelu_tanh : fast_gelu;
}

#define ROW(op, function) \
  case SURG_OP_##op:      \
    return function;

surg__unary_fn surg__unary_fast(int op) {
  switch (op) {
    ROW(Exp, fast_exp)
    ROW(Log, fast_log)
    ROW(Sigmoid, fast_sigmoid)
    ROW(Swish, fast_swish)
    ROW(Tanh, fast_tanh)
    ROW(Erf, fast_erf)
    ROW(Softplus, fast_softplus)
    ROW(Mish, fast_mish)
    ROW(Elu, fast_elu)
    ROW(Selu, fast_selu)
    ROW(Celu, fast_celu)
    ROW(Sin, fast_sin)
    ROW(Cos, fast_cos)
    ROW(Tan, fast_tan)
    ROW(Asin, fast_asin)
    ROW(Acos, fast_acos)
    ROW(Atan, fast_atan)
    ROW(Sinh, fast_sinh)
    ROW(Cosh, fast_cosh)
    ROW(Neg, fast_neg)
    ROW(Abs, fast_abs)
    ROW(Relu, fast_relu)
    ROW(Sqrt, fast_sqrt)
    ROW(Floor, fast_floor)
    ROW(Ceil, fast_ceil)
    ROW(Round, fast_round)
    ROW(Reciprocal, fast_recip)
    ROW(Sign, fast_sign)
    ROW(LeakyRelu, fast_leaky)
    ROW(ThresholdedRelu, fast_thresholded)
    ROW(Softsign, fast_softsign)
    ROW(HardSigmoid, fast_hard_sigmoid)
    ROW(HardSwish, fast_hard_swish)
    ROW(Clip, fast_clip)
    default:
      return NULL;
  }
}

/* --- doubles: what the processor computes --- */

FAST_DOUBLE(double_neg, -x)
FAST_DOUBLE(double_abs, fabs(x))
FAST_DOUBLE(double_relu, x < 0 ? 0 : x)
FAST_DOUBLE(double_sqrt, sqrt(x))
FAST_DOUBLE(double_floor, floor(x))
FAST_DOUBLE(double_ceil, ceil(x))
FAST_DOUBLE(double_round, nearbyint(x))
FAST_DOUBLE(double_recip, 1 / x)
FAST_DOUBLE(double_sign, x > 0 ? 1 : x < 0 ? -1 : x == 0 ? 0 : x)
FAST_DOUBLE(double_leaky, x < 0 ? a * x : x)
FAST_DOUBLE(double_thresholded, x > a ? x : 0)
FAST_DOUBLE(double_softsign, x / (1 + fabs(x)))
FAST_DOUBLE(double_clip, x < a ? a : x > b ? b : x)
FAST_DOUBLE(double_hard_sigmoid, clamp01(a * x + b))
FAST_DOUBLE(double_hard_swish, x * clamp01(a * x + b))

surg__unary_double_fn surg__unary_fast_double(int op) {
  switch (op) {
    ROW(Neg, double_neg)
    ROW(Abs, double_abs)
    ROW(Relu, double_relu)
    ROW(Sqrt, double_sqrt)
    ROW(Floor, double_floor)
    ROW(Ceil, double_ceil)
    ROW(Round, double_round)
    ROW(Reciprocal, double_recip)
    ROW(Sign, double_sign)
    ROW(LeakyRelu, double_leaky)
    ROW(ThresholdedRelu, double_thresholded)
    ROW(Softsign, double_softsign)
    ROW(HardSigmoid, double_hard_sigmoid)
    ROW(HardSwish, double_hard_swish)
    ROW(Clip, double_clip)
    default:
      return NULL;
  }
}

/* --- integers --- */

#define INTEGER(name, type, expression)                                               \
  SURG__HOT(name, (const type *in, type *out, uint64_t n), (in, out, n)) {            \
    for (uint64_t i = 0; i < n; ++i) {                                                \
      type x = in[i];                                                                 \
      out[i] = (type)(expression);                                                    \
    }                                                                                 \
  }
#define SIGNED(type, wrapping)                                       \
  INTEGER(neg_##type, type##_t, (wrapping)0 - (wrapping)x)           \
  INTEGER(abs_##type, type##_t, x < 0 ? (wrapping)0 - (wrapping)x : (wrapping)x) \
  INTEGER(sign_##type, type##_t, (x > 0) - (x < 0))                  \
  INTEGER(relu_##type, type##_t, x < 0 ? 0 : x)                      \
  INTEGER(not_##type, type##_t, ~x)
#define UNSIGNED(type)                    \
  INTEGER(sign_##type, type##_t, x != 0)  \
  INTEGER(not_##type, type##_t, ~x)
SIGNED(int8, unsigned)
SIGNED(int16, unsigned)
SIGNED(int32, uint32_t)
SIGNED(int64, uint64_t)
UNSIGNED(uint8)
UNSIGNED(uint16)
UNSIGNED(uint32)
UNSIGNED(uint64)
INTEGER(not_bool, uint8_t, x == 0)

#define OF(op, function)                   \
  case SURG_OP_##op:                       \
    function(x->data, o->data, x->count);  \
    return true;
#define OF_SIGNED(type)  \
  OF(Neg, neg_##type) OF(Abs, abs_##type) OF(Sign, sign_##type) OF(Relu, relu_##type)  \
  OF(BitwiseNot, not_##type)
#define OF_UNSIGNED(type) OF(Sign, sign_##type) OF(BitwiseNot, not_##type)
#define OF_TYPE(dtype, rows)  \
  case dtype:                 \
    switch (op) {             \
      rows                    \
      default:                \
        return false;         \
    }

bool surg__unary_integers(int op, const surg__array *x, const surg__array *o) {
  switch (x->dtype) {
    OF_TYPE(SURG_INT8, OF_SIGNED(int8))
    OF_TYPE(SURG_INT16, OF_SIGNED(int16))
    OF_TYPE(SURG_INT32, OF_SIGNED(int32))
    OF_TYPE(SURG_INT64, OF_SIGNED(int64))
    OF_TYPE(SURG_UINT8, OF_UNSIGNED(uint8))
    OF_TYPE(SURG_UINT16, OF_UNSIGNED(uint16))
    OF_TYPE(SURG_UINT32, OF_UNSIGNED(uint32))
    OF_TYPE(SURG_UINT64, OF_UNSIGNED(uint64))
    OF_TYPE(SURG_BOOL, OF(Not, not_bool))
    default:
      return false;
  }
}

/* --- Clip of integers --- */

#define CLIP(type)                                                                              \
  SURG__HOT(clip_##type, (const type##_t *in, type##_t *out, uint64_t n, type##_t low,          \
                          type##_t high), (in, out, n, low, high)) {                            \
    for (uint64_t i = 0; i < n; ++i) {                                                          \
      type##_t x = in[i] < low ? low : in[i];                                                   \
      out[i] = x > high ? high : x;                                                             \
    }                                                                                           \
  }
CLIP(int8)
CLIP(int16)
CLIP(int32)
CLIP(int64)
CLIP(uint8)
CLIP(uint16)
CLIP(uint32)
CLIP(uint64)
#define CLIP_OF(dtype, type)                                                               \
  case dtype:                                                                              \
    clip_##type(x->data, o->data, x->count, (type##_t)low, (type##_t)high);                \
    return;

void surg__clip_integers(const surg__array *x, const surg__array *o, uint64_t low,
                         uint64_t high) {
  switch (x->dtype) {
    CLIP_OF(SURG_INT8, int8)
    CLIP_OF(SURG_INT16, int16)
    CLIP_OF(SURG_INT32, int32)
    CLIP_OF(SURG_INT64, int64)
    CLIP_OF(SURG_UINT8, uint8)
    CLIP_OF(SURG_UINT16, uint16)
    CLIP_OF(SURG_UINT32, uint32)
    default:
      assert(x->dtype == SURG_UINT64);
      clip_uint64(x->data, o->data, x->count, low, high);
  }
}

/* --- 16 bits: every value once --- */

void surg__look_up(const uint16_t *table, const uint16_t *in, uint16_t *out, uint64_t n) {
  for (uint64_t i = 0; i < n; ++i) out[i] = table[in[i]];
}
