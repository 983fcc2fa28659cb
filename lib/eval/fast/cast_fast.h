/* SPDX-License-Identifier: Apache-2.0 */
/* Casts of whole arrays between the common numeric types. */
#ifndef SURG_CAST_FAST_H
#define SURG_CAST_FAST_H

#include "eval/core/eval.h"

/* Casts all elements of `in` to those of `out` (of as many). False: not these two types, or some
 * element has no result; `out` may then hold anything. */
bool surg__cast_fast(const surg__array *in, const surg__array *out);

/* FLOAT16 or BFLOAT16 elements to floats, and back rounded to nearest. */
void surg__widen_halves(int dtype, const uint16_t *from, float *to, uint64_t n);
void surg__narrow_halves(int dtype, const float *from, uint16_t *to, uint64_t n);
/* The same with doubles, rounded once. */
void surg__halves_as_doubles(int dtype, const uint16_t *from, double *to, uint64_t n);
void surg__narrow_doubles(int dtype, const double *from, uint16_t *to, uint64_t n);

#endif
