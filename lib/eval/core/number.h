/* SPDX-License-Identifier: Apache-2.0 */
/* Single elements of any numeric type as double, int64 or uint64, and back.
 *
 * Floats of every width are exact as double, so kernels compute floats in double and round once,
 * when they store the result here. Integers are never converted to double: they are read as uint64
 * bits (sign-extended), computed modulo 2^64, and truncated to the width of the type when
 * stored. */
#ifndef SURG_NUMBER_H
#define SURG_NUMBER_H

#include "base/dtype.h"
#include "base/real.h"
#include "eval/core/eval.h"

/* FLOAT, DOUBLE, FLOAT16, BFLOAT16: the float types with arithmetic. */
static inline bool surg__is_real(int dtype) {
  return dtype == SURG_FLOAT || dtype == SURG_DOUBLE || dtype == SURG_FLOAT16 ||
         dtype == SURG_BFLOAT16;
}

static inline bool surg__is_int(int dtype) {
  return surg__dtype_is_signed_int(dtype) || surg__dtype_is_unsigned_int(dtype);
}

/* Element i of an array, as surg__load_f64. */
static inline double surg__real_at(const surg__array *a, uint64_t i) {
  return surg__load_f64(a->dtype, a->data, i);
}
static inline void surg__real_put(const surg__array *a, uint64_t i, double v) {
  surg__store_f64(a->dtype, a->data, i, v);
}

/* Element i of an array of any numeric type; 64-bit integers are rounded to double. */
static inline double surg__number_at(const surg__array *a, uint64_t i) {
  return surg__is_real(a->dtype) ? surg__real_at(a, i)
                                 : (double)(int64_t)surg__load_int(a->dtype, a->data, i);
}

/* Stores the low bits of v in the form of the type. */
static inline void surg__store_int(int dtype, void *p, uint64_t i, uint64_t v) {
  switch (dtype) {
    case SURG_INT16:
    case SURG_UINT16:
      ((uint16_t *)p)[i] = (uint16_t)v;
      break;
    case SURG_INT32:
    case SURG_UINT32:
      ((uint32_t *)p)[i] = (uint32_t)v;
      break;
    case SURG_INT64:
    case SURG_UINT64:
      ((uint64_t *)p)[i] = v;
      break;
    case SURG_UINT4:
      ((uint8_t *)p)[i] = v & 15;
      break;
    case SURG_UINT2:
      ((uint8_t *)p)[i] = v & 3;
      break;
    case SURG_INT4:
      ((uint8_t *)p)[i] = (uint8_t)((v & 15) | (v & 8 ? 0xf0 : 0));
      break;
    case SURG_INT2:
      ((uint8_t *)p)[i] = (uint8_t)((v & 3) | (v & 2 ? 0xfc : 0));
      break;
    case SURG_BOOL:
      ((uint8_t *)p)[i] = v != 0;
      break;
    default:
      ((uint8_t *)p)[i] = (uint8_t)v;
  }
}

/* An element of any numeric type as a double; 64-bit integers are rounded. */
static inline double surg__load_number(int dtype, const void *p, uint64_t i) {
  if (!surg__dtype_is_int(dtype)) return surg__load_f64(dtype, p, i);
  const uint64_t v = surg__load_int(dtype, p, i);
  return surg__dtype_is_signed_int(dtype) ? (double)(int64_t)v : (double)v;
}

/* The bound below which all engines compute the same integers of a type: of 64-bit integers some
 * compute in double, others wrap or saturate. */
static inline double surg__int_agreed(int dtype) {
  const unsigned bits = surg__dtype_bits(dtype) - (unsigned)surg__dtype_is_signed_int(dtype);
  return (double)((UINT64_C(1) << (bits < 53 ? bits : 53)) - 1);
}

/* Smallest and largest value of an integer type; the largest of UINT64 only as uint64. */
static inline int64_t surg__int_min(int dtype) {
  if (!surg__dtype_is_signed_int(dtype)) return 0;
  return (int64_t)(UINT64_MAX << (surg__dtype_bits(dtype) - 1));
}
static inline uint64_t surg__int_max(int dtype) {
  unsigned bits = surg__dtype_bits(dtype) - (surg__dtype_is_signed_int(dtype) ? 1 : 0);
  return bits == 64 ? UINT64_MAX : (1ull << bits) - 1;
}

/* |v| rounded to double "to odd": the last bit is set if anything was lost, so that a second
 * rounding to a float type of up to 51 bits gives the same result as one rounding of v. */
static inline double surg__odd_double(uint64_t v) {
  if (v >> 53) {
    unsigned lost = 11 - (unsigned)__builtin_clzll(v);
    uint64_t mask = (1ull << lost) - 1;
    v = (v & ~mask) | ((v & mask) ? 1ull << lost : 0);
  }
  return (double)v;
}

/* The types with 8, 16, 32 or 64 bits: X(dtype, C type, unsigned C type for arithmetic). The
 * arithmetic type is at least as wide as unsigned int: narrower ones promote to signed int, whose
 * product may overflow. */
#define SURG__SIGNED_TYPES(X)      \
  X(SURG_INT8, int8_t, unsigned)   \
  X(SURG_INT16, int16_t, unsigned) \
  X(SURG_INT32, int32_t, uint32_t) \
  X(SURG_INT64, int64_t, uint64_t)
#define SURG__UNSIGNED_TYPES(X)      \
  X(SURG_UINT8, uint8_t, unsigned)   \
  X(SURG_UINT16, uint16_t, unsigned) \
  X(SURG_UINT32, uint32_t, uint32_t) \
  X(SURG_UINT64, uint64_t, uint64_t)

/* The function that a float operator of one input applies to each element (lib/eval/math/unary.c);
 * a and b are its attributes. NULL: the operator has another form. */
typedef double (*surg__real_fn)(double x, double a, double b);
surg__real_fn surg__real_function(int op);

#endif
