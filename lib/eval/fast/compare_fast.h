/* SPDX-License-Identifier: Apache-2.0 */
/* Comparisons, Where, IsNaN and IsInf of whole runs of numbers. */
#ifndef SURG_COMPARE_FAST_H
#define SURG_COMPARE_FAST_H

#include "eval/core/eval.h"

/* n results, each of an element of a and one of b, at steps sa and sb. */
typedef void (*surg__compare_fn)(uint8_t *out, const void *a, int64_t sa, const void *b, int64_t sb,
                                 int64_t n);
/* NULL: not for this type. */
surg__compare_fn surg__compare_fast(int op, int dtype);

/* Elements of 1, 2, 4 or 8 bytes: of x where the condition holds, else of y. */
void surg__where_fast(void *out, const uint8_t *c, int64_t sc, const void *x, int64_t sx,
                      const void *y, int64_t sy, int64_t n, size_t size);

/* Which are NaN, or else which are infinite with one of the signs asked for. False: not this type. */
bool surg__classify_fast(const surg__array *x, bool nan, bool positive, bool negative, uint8_t *out);

#endif
