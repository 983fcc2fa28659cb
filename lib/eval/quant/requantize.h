/* SPDX-License-Identifier: Apache-2.0 */
/* The last step of QLinearMatMul and QLinearConv: a sum of products back to a narrow type. */
#ifndef SURG_REQUANTIZE_H
#define SURG_REQUANTIZE_H

#include <math.h>

#include "eval/core/number.h"

/* The number a scale of one input, one of the other and one of the output make together: computed
 * in float, as QuantizeLinear divides in float. */
static inline float surg__scale_product(double a, double b, double y) {
  return (float)a * (float)b / (float)y;
}

/* Stores sum * scale, rounded to even, plus zero, cut to the range of the type; float8 takes what
 * is nearest within its range. A scale that is no positive number is refused but in a run. */
static inline void surg__requantize(int dtype, void *data, uint64_t i, double sum, float scale,
                                    int64_t zero) {
  float v = (float)sum * scale;
  if (surg__dtype_is_float(dtype)) {
    ((uint8_t *)data)[i] = surg__float_to_fp8(dtype, v, true);
    return;
  }
  double low = (double)surg__int_min(dtype), high = (double)surg__int_max(dtype);
  double r = nearbyint((double)v) + (double)zero;
  r = !(r > low) ? low : r > high ? high : r; /* NaN, of a scale of a run, too */
  surg__store_int(dtype, data, i, (uint64_t)(int64_t)r);
}

#endif
