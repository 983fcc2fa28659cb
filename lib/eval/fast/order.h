/* SPDX-License-Identifier: Apache-2.0 */
/* What makes bits of elements integers in the order of the elements, or in the other one. */
#ifndef SURG_ORDER_H
#define SURG_ORDER_H

#include "eval/core/number.h"

/* The largest of the signed integers as wide as an unsigned type. */
#define SURG__MOST(type) ((type)((type)~(type)0 >> 1))

/* Bits of an integer, turned, are a signed integer in the order asked for. Those of a float are its
 * own or those of what it is less than 0: sign, and magnitude, beyond infinity's of NaN. */
typedef struct surg__order {
  bool real;
  uint64_t turn, infinity;
} surg__order;

static inline surg__order surg__order_of(int dtype, bool largest) {
  const uint64_t sign = 1ull << (8 * surg__dtype_unpacked(dtype) - 1);
  const uint64_t zero = surg__dtype_is_signed_int(dtype) ? 0 : sign;
  switch (dtype) {
    case SURG_FLOAT16:
      return (surg__order){true, largest ? 0 : sign, 0x7c00};
    case SURG_BFLOAT16:
      return (surg__order){true, largest ? 0 : sign, 0x7f80};
    case SURG_FLOAT:
      return (surg__order){true, largest ? 0 : sign, 0x7f800000};
    case SURG_DOUBLE:
      return (surg__order){true, largest ? 0 : sign, 0x7ff0000000000000};
    default:
      return (surg__order){false, largest ? zero : zero ^ UINT64_MAX, 0};
  }
}

#endif
