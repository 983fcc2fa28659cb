/* SPDX-License-Identifier: Apache-2.0 */
/* The operators of one input on float elements. Where float arithmetic gives the bits that double
 * arithmetic rounded once gives (a root, a quotient, a product or a rounding of floats: double is
 * wide enough that rounding twice is rounding once) they are computed in float; exp and its kin by
 * vmath.h. */
#include "eval/unary_fast.h"

#include <math.h>

#include "eval/vmath.h"

#define FAST(name, expression)                                                              \
  SURG__HOT(name, (const float *in, float *out, uint64_t n, double a, double b),            \
            (in, out, n, a, b)) {                                                           \
    (void)a, (void)b;                                                                       \
    for (uint64_t i = 0; i < n; ++i) {                                                      \
      float x = in[i];                                                                      \
      out[i] = (expression);                                                                \
    }                                                                                       \
  }

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

FAST(fast_exp, (float)surg__v_exp(x))
FAST(fast_sigmoid, (float)surg__v_sigmoid(x))
/* Far out the sigmoid is 0 (and times infinity no number); surg__v_exp ends before. */
SURG__INLINE double swish(double x, double a) {
  double s = surg__v_sigmoid(a * x);
  return x * (s < 1e-80 ? 0 : s);
}
FAST(fast_swish, (float)swish((double)x, a))
FAST(fast_tanh, (float)surg__v_tanh(x))
FAST(fast_erf, (float)surg__v_erf(x))
FAST(fast_gelu, (float)(0.5 * (double)x * (1 + surg__v_erf((double)x * 0.70710678118654752440))))

SURG__INLINE double gelu_tanh(double x) {
  return 0.5 * x * (1 + surg__v_tanh(0.79788456080286535588 * (x + 0.044715 * x * x * x)));
}
FAST(fast_gelu_tanh, (float)gelu_tanh(x))

surg__unary_fn surg__gelu_fast(bool by_tanh) {
  return by_tanh ? fast_gelu_tanh : fast_gelu;
}

surg__unary_fn surg__unary_fast(int op) {
  switch (op) {
    case SURG_OP_Exp:
      return fast_exp;
    case SURG_OP_Sigmoid:
      return fast_sigmoid;
    case SURG_OP_Swish:
      return fast_swish;
    case SURG_OP_Tanh:
      return fast_tanh;
    case SURG_OP_Erf:
      return fast_erf;
    case SURG_OP_Neg:
      return fast_neg;
    case SURG_OP_Abs:
      return fast_abs;
    case SURG_OP_Relu:
      return fast_relu;
    case SURG_OP_Sqrt:
      return fast_sqrt;
    case SURG_OP_Floor:
      return fast_floor;
    case SURG_OP_Ceil:
      return fast_ceil;
    case SURG_OP_Round:
      return fast_round;
    case SURG_OP_Reciprocal:
      return fast_recip;
    case SURG_OP_Sign:
      return fast_sign;
    case SURG_OP_LeakyRelu:
      return fast_leaky;
    case SURG_OP_ThresholdedRelu:
      return fast_thresholded;
    case SURG_OP_Softsign:
      return fast_softsign;
    case SURG_OP_HardSigmoid:
      return fast_hard_sigmoid;
    case SURG_OP_HardSwish:
      return fast_hard_swish;
    case SURG_OP_Clip:
      return fast_clip;
    default:
      return NULL;
  }
}
