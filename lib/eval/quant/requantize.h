/* SPDX-License-Identifier: Apache-2.0 */
/* The last step of QLinearMatMul and QLinearConv: converts a sum of products to a narrow type. */
#ifndef SURG_REQUANTIZE_H
#define SURG_REQUANTIZE_H

#include <math.h>

#include "eval/core/number.h"

/* The factor a * b / y of the scales of both inputs and the output. Computed in float, as
 * QuantizeLinear divides in float. */
static inline float surg__scale_product(double a, double b, double y) {
  return (float)a * (float)b / (float)y;
}

/* Stores sum * scale, rounded half to even, plus zero, saturated to the range of the type. A
 * float8 type has no zero point. The caller rejects scales that are not positive, except in a
 * run. */
static inline void surg__requantize(int dtype, void *data, uint64_t i, double sum, float scale,
                                    int64_t zero) {
  float v = (float)sum * scale;
  if (surg__dtype_is_float(dtype)) {
    ((uint8_t *)data)[i] = surg__float_to_fp8(dtype, v, true);
    return;
  }
  double low = (double)surg__int_min(dtype), high = (double)surg__int_max(dtype);
  double r = nearbyint((double)v) + (double)zero;
  r = !(r > low) ? low : r > high ? high : r; /* NaN (a run may have a NaN scale) becomes `low` */
  surg__store_int(dtype, data, i, (uint64_t)(int64_t)r);
}

#endif
