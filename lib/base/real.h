/* SPDX-License-Identifier: Apache-2.0 */
/* Elements of the float types as double and back, and of the integer types as bits; every float
 * type is exact in double. */
#ifndef SURG_REAL_H
#define SURG_REAL_H

#include <assert.h>

#include "base/dtype.h"

/* Element i of an array of a float type. */
static inline double surg__load_f64(int dtype, const void *p, uint64_t i) {
  switch (dtype) {
    case SURG_FLOAT:
      return ((const float *)p)[i];
    case SURG_DOUBLE:
      return ((const double *)p)[i];
    case SURG_FLOAT16:
      return surg__half_to_float(((const uint16_t *)p)[i]);
    case SURG_BFLOAT16:
      return surg__bf16_to_float(((const uint16_t *)p)[i]);
    case SURG_FLOAT4E2M1:
      return surg__fp4_to_float(((const uint8_t *)p)[i]);
    default:
      return surg__fp8_to_float(dtype, ((const uint8_t *)p)[i]);
  }
}

/* Stores v, rounded once; dtype must satisfy surg__is_real. */
static inline void surg__store_f64(int dtype, void *p, uint64_t i, double v) {
  switch (dtype) {
    case SURG_FLOAT:
      ((float *)p)[i] = (float)v;
      break;
    case SURG_DOUBLE:
      ((double *)p)[i] = v;
      break;
    case SURG_FLOAT16:
      ((uint16_t *)p)[i] = surg__double_to_half(v);
      break;
    default:
      assert(dtype == SURG_BFLOAT16);
      ((uint16_t *)p)[i] = surg__double_to_bf16(v);
  }
}

/* Element i of an integer type or BOOL, sign-extended to 64 bits where signed. */
static inline uint64_t surg__load_int(int dtype, const void *p, uint64_t i) {
  switch (dtype) {
    case SURG_INT2:
    case SURG_INT4:
    case SURG_INT8:
      return (uint64_t)(int64_t)((const int8_t *)p)[i];
    case SURG_INT16:
      return (uint64_t)(int64_t)((const int16_t *)p)[i];
    case SURG_INT32:
      return (uint64_t)(int64_t)((const int32_t *)p)[i];
    case SURG_INT64:
      return (uint64_t)((const int64_t *)p)[i];
    case SURG_UINT16:
      return ((const uint16_t *)p)[i];
    case SURG_UINT32:
      return ((const uint32_t *)p)[i];
    case SURG_UINT64:
      return ((const uint64_t *)p)[i];
    default:
      return ((const uint8_t *)p)[i]; /* UINT2, UINT4, UINT8, BOOL */
  }
}

#endif
