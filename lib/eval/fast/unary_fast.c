/* SPDX-License-Identifier: Apache-2.0 */
/* The operators of one input on float elements. Where float arithmetic gives the bits that double
 * arithmetic rounded once gives (a root, a quotient, a product or a rounding of floats: double is
 * wide enough that rounding twice is rounding once) they are computed in float; exp and its kin by
 * vmath_pair.h, vmath.h and vmath_double.h. */
#include "eval/fast/unary_fast.h"

#include <math.h>
#if defined(__x86_64__)
#include <emmintrin.h>
#endif

#include "eval/fast/vmath_double.h"
#include "eval/fast/vmath_pair.h"

#define LOOP(name, type, expression)                                                        \
  SURG__HOT(name, (const type *in, type *out, uint64_t n, double a, double b),              \
            (in, out, n, a, b)) {                                                           \
    (void)a, (void)b;                                                                       \
    for (uint64_t i = 0; i < n; ++i) {                                                      \
      type x = in[i];                                                                       \
      out[i] = (expression);                                                                \
    }                                                                                       \
  }
/* An operator on floats and on doubles. */
#define BOTH(name, of_floats, of_doubles)  \
  LOOP(float_##name, float, of_floats)     \
  LOOP(double_##name, double, of_doubles)
/* One expression for both. */
#define ALIKE(name, expression) BOTH(name, expression, expression)
/* Computed in double. */
#define BY_DOUBLE(name, expression) BOTH(name, (float)(expression), expression)

BOTH(neg, -x, -x)
BOTH(abs, fabsf(x), fabs(x))
ALIKE(relu, x < 0 ? 0 : x)
BOTH(sqrt, sqrtf(x), sqrt(x))
BOTH(floor, floorf(x), floor(x))
BOTH(ceil, ceilf(x), ceil(x))
BOTH(round, nearbyintf(x), nearbyint(x))
ALIKE(recip, 1 / x)
ALIKE(sign, x > 0 ? 1 : x < 0 ? -1 : x == 0 ? 0 : x)
BOTH(leaky, x < 0 ? (float)(a * (double)x) : x, x < 0 ? a * x : x)
ALIKE(thresholded, (double)x > a ? x : 0)
SURG__INLINE double shrunk(double x, double edge, double bias) {
  return x < -edge ? x + bias : x > edge ? x - bias : 0;
}
BY_DOUBLE(shrink, shrunk((double)x, a, b))
BY_DOUBLE(softsign, (double)x / (1 + fabs((double)x)))
BOTH(clip, (double)x < a ? (float)a : (double)x > b ? (float)b : x, x < a ? a : x > b ? b : x)

SURG__INLINE double clamp01(double y) {
  return y < 0 ? 0 : y > 1 ? 1 : y;
}
BY_DOUBLE(hard_sigmoid, clamp01(a * (double)x + b))
BY_DOUBLE(hard_swish, (double)x * clamp01(a * (double)x + b))

/* Far out the sigmoid is 0 (and times infinity no number); surg__v_exp ends before. */
SURG__INLINE double gated(double x, double gate) {
  const double s = surg__v_sigmoid(gate);
  return x * (s < 1e-80 ? 0 : s);
}
/* (1 + tanh(u)) / 2 is the sigmoid of 2 u. */
SURG__INLINE double gelu_turn(double x) {
  return 2 * 0.79788456080286535588 * (x + 0.044715 * x * x * x);
}

/* Which of two forms an element takes hangs on itself alone, but spans of `near` ones, as weights
 * are, are spared the other form. */
#define SPAN 256
#define NEAR_OR_FAR(name, type, is_near, near, far)                                \
  SURG__HOT(name, (const type *in, type *out, uint64_t n, double a, double b),     \
            (in, out, n, a, b)) {                                                  \
    (void)a, (void)b;                                                              \
    for (uint64_t at = 0; at < n; at += SPAN) {                                    \
      const uint64_t end = n - at < SPAN ? n : at + SPAN;                          \
      int beyond = 0;                                                              \
      for (uint64_t i = at; i < end; ++i) {                                        \
        const type x = in[i];                                                      \
        beyond |= !(is_near);                                                      \
      }                                                                            \
      if (beyond) {                                                                \
        for (uint64_t i = at; i < end; ++i) {                                      \
          const type x = in[i], y = (type)(near), z = (type)(far);                 \
          out[i] = (is_near) ? y : z;                                              \
        }                                                                          \
      } else {                                                                     \
        for (uint64_t i = at; i < end; ++i) {                                      \
          const type x = in[i];                                                    \
          out[i] = (type)(near);                                                   \
        }                                                                          \
      }                                                                            \
    }                                                                              \
  }
/* A function of vmath_pair.h up to `limit`, beyond it that of vmath.h; of doubles that of
 * vmath_double.h. */
#define FLOATS_BY_PAIRS(name, limit)                                                 \
  NEAR_OR_FAR(float_##name, float, fabsf(x) <= (limit), surg__p_##name(x),           \
              surg__v_##name((double)x))
#define BY_PAIRS(name, limit)     \
  FLOATS_BY_PAIRS(name, limit)    \
  LOOP(double_##name, double, surg__d_##name(x))
/* The same, however large an element is. */
#define ALL_BY_PAIRS(name) BOTH(name, surg__p_##name(x), surg__d_##name(x))

BY_PAIRS(exp, SURG__P_EXP_FAR)
ALL_BY_PAIRS(log)
BY_PAIRS(sigmoid, SURG__P_SIGMOID_FAR)
ALL_BY_PAIRS(tanh)
NEAR_OR_FAR(float_erf, float, fabsf(x) <= SURG__P_ERF_NEAR, surg__p_erf_near(x), surg__p_erf(x))
NEAR_OR_FAR(double_erf, double, fabs(x) <= SURG__D_ERF_NEAR, surg__d_erf_near(x), surg__d_erf(x))
NEAR_OR_FAR(float_softplus, float, fabsf(x) <= 1, surg__p_softplus_near(x), surg__p_softplus(x))
NEAR_OR_FAR(double_softplus, double, fabs(x) <= 1, surg__d_softplus_near(x), surg__d_softplus(x))
BY_PAIRS(mish, SURG__P_MISH_FAR)
ALL_BY_PAIRS(atan)
ALL_BY_PAIRS(asin)
ALL_BY_PAIRS(acos)
FLOATS_BY_PAIRS(sinh, SURG__P_EXP_FAR)
NEAR_OR_FAR(double_sinh, double, fabs(x) <= 1, surg__d_sinh_near(x), surg__d_sinh(x))
BY_PAIRS(cosh, SURG__P_EXP_FAR)
BOTH(swish, (float)gated((double)x, a * (double)x), x * surg__d_sigmoid(a * x))
BOTH(gelu_tanh, (float)gated((double)x, gelu_turn((double)x)), x * surg__d_sigmoid(gelu_turn(x)))

/* A number as a pair. */
SURG__INLINE surg__pair pair_of(double c) {
  const float head = (float)c;
  return (surg__pair){head, (float)(c - (double)head)};
}
/* Whether x and a factor c of its power are such that surg__p_expm1_by is right: the power is a normal
 * number, and so are both parts of c, and what they make of it. */
SURG__INLINE bool near_power(float x, double c) {
  const double size = fabs(c);
  return (x >= -SURG__P_EXP_FAR) & (size >= 0x1p-60) & (size <= 0x1p60);
}
/* a (e^(x / a) - 1) */
SURG__INLINE float near_celu(float x, float a) {
  const float q = x / a;
  return surg__p_expm1_by(q, surg__f_fma(-q, a, x) / a, (surg__pair){a, 0});
}
NEAR_OR_FAR(float_elu, float, near_power(x, a),
            x < 0 ? surg__p_expm1_by(x, 0, pair_of(a)) : x,
            x < 0 ? (float)(a * surg__v_expm1((double)x)) : x)
LOOP(double_elu, double, x < 0 ? a * surg__d_expm1(x) : x)
/* -0, too */
NEAR_OR_FAR(float_selu, float, near_power(x, a * b),
            x >= 0 ? (float)b * x : surg__p_expm1_by(x, 0, pair_of(a * b)),
            (float)(b * (x >= 0 ? (double)x : a * surg__v_expm1((double)x))))
LOOP(double_selu, double, b * (x >= 0 ? x : a * surg__d_expm1(x)))
NEAR_OR_FAR(float_celu, float, near_power(x / fabsf((float)a), a),
            x < 0 ? near_celu(x, (float)a) : x,
            x < 0 ? (float)(a * surg__v_expm1((double)x / a)) : x)
LOOP(double_celu, double, x < 0 ? a * surg__d_expm1(x / a) : x)

NEAR_OR_FAR(float_gelu, float, fabsf(x) <= SURG__V_GELU_NEAR, surg__v_gelu_near((double)x),
            surg__v_gelu((double)x))
NEAR_OR_FAR(double_gelu, double, fabs(x) <= SURG__D_GELU_NEAR, surg__d_gelu_near(x),
            surg__d_gelu(x))

/* Sines: moderate arguments by vmath_double.h, others by the C library. */
#define PIECE 1024
#define TURN_OF(name, type)                                                                \
  static void type##_##name(const type *in, type *out, uint64_t n, double a, double b) {   \
    for (uint64_t at = 0; at < n; at += PIECE) {                                           \
      const uint64_t m = n - at < PIECE ? n - at : PIECE;                                  \
      int far = 0;                                                                         \
      for (uint64_t i = at; i < at + m; ++i) far |= !(fabs((double)in[i]) <= SURG__V_TURNS); \
      if (!far) {                                                                          \
        type##_near_##name(in + at, out + at, m, a, b);                                    \
        continue;                                                                          \
      }                                                                                    \
      type near[PIECE];                                                                    \
      type##_near_##name(in + at, near, m, a, b);                                          \
      for (uint64_t i = 0; i < m; ++i) {                                                   \
        const double x = (double)in[at + i];                                               \
        out[at + i] = fabs(x) <= SURG__V_TURNS ? near[i] : (type)name(x);                  \
      }                                                                                    \
    }                                                                                      \
  }
#define TURN(name)       \
  TURN_OF(name, float)   \
  TURN_OF(name, double)
BOTH(near_sin, surg__p_sin(x), surg__d_sin(x))
BOTH(near_cos, surg__p_cos(x), surg__d_cos(x))
NEAR_OR_FAR(float_near_tan, float, fabsf(x) <= SURG__P_TAN_NEAR, surg__p_tan_near(x), surg__p_tan(x))
LOOP(double_near_tan, double, surg__d_tan(x))
TURN(sin)
TURN(cos)
TURN(tan)

surg__unary_fn surg__gelu_fast(bool by_tanh) {
  return by_tanh ? float_gelu_tanh : float_gelu;
}

surg__unary_double_fn surg__gelu_fast_double(bool by_tanh) {
  return by_tanh ? double_gelu_tanh : double_gelu;
}

#define OPERATORS(type)                                                                     \
  ROW(Exp, type##_exp) ROW(Log, type##_log) ROW(Sigmoid, type##_sigmoid)                    \
  ROW(Swish, type##_swish) ROW(Tanh, type##_tanh) ROW(Erf, type##_erf)                      \
  ROW(Softplus, type##_softplus) ROW(Mish, type##_mish) ROW(Elu, type##_elu)                \
  ROW(Selu, type##_selu) ROW(Celu, type##_celu) ROW(Sin, type##_sin) ROW(Cos, type##_cos)   \
  ROW(Tan, type##_tan) ROW(Asin, type##_asin) ROW(Acos, type##_acos) ROW(Atan, type##_atan) \
  ROW(Sinh, type##_sinh) ROW(Cosh, type##_cosh) ROW(Neg, type##_neg) ROW(Abs, type##_abs)   \
  ROW(Relu, type##_relu) ROW(Sqrt, type##_sqrt) ROW(Floor, type##_floor)                    \
  ROW(Ceil, type##_ceil) ROW(Round, type##_round) ROW(Reciprocal, type##_recip)             \
  ROW(Sign, type##_sign) ROW(LeakyRelu, type##_leaky)                                       \
  ROW(ThresholdedRelu, type##_thresholded) ROW(Softsign, type##_softsign)                   \
  ROW(HardSigmoid, type##_hard_sigmoid) ROW(HardSwish, type##_hard_swish)                   \
  ROW(Shrink, type##_shrink) ROW(Clip, type##_clip)
#define ROW(op, function) \
  case SURG_OP_##op:      \
    return function;

surg__unary_fn surg__unary_fast(int op) {
  switch (op) {
    OPERATORS(float)
    default:
      return NULL;
  }
}

surg__unary_double_fn surg__unary_fast_double(int op) {
  switch (op) {
    OPERATORS(double)
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

/* Eight at a time: a load for each four, one store for all. */
void surg__look_up(const uint16_t *table, const uint16_t *in, uint16_t *out, uint64_t n) {
  uint64_t i = 0;
#if defined(__x86_64__)
  for (; n - i >= 8; i += 8) {
    uint64_t v[2];
    memcpy(v, in + i, sizeof v);
    __m128i r = _mm_cvtsi32_si128(table[v[0] & 0xffff]);
    r = _mm_insert_epi16(r, table[v[0] >> 16 & 0xffff], 1);
    r = _mm_insert_epi16(r, table[v[0] >> 32 & 0xffff], 2);
    r = _mm_insert_epi16(r, table[v[0] >> 48], 3);
    r = _mm_insert_epi16(r, table[v[1] & 0xffff], 4);
    r = _mm_insert_epi16(r, table[v[1] >> 16 & 0xffff], 5);
    r = _mm_insert_epi16(r, table[v[1] >> 32 & 0xffff], 6);
    r = _mm_insert_epi16(r, table[v[1] >> 48], 7);
    _mm_storeu_si128((__m128i *)(void *)(out + i), r);
  }
#endif
  for (; i < n; ++i) out[i] = table[in[i]];
}
