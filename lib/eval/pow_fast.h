/* SPDX-License-Identifier: Apache-2.0 */
/* Powers of whole runs of numbers. */
#ifndef SURG_POW_FAST_H
#define SURG_POW_FAST_H

#include <stdbool.h>
#include <stdint.h>

/* out[i] = x[i] to the y[i]; of one y for all where `one` says so. Squares are products. Of
 * floats that are doubles here: x are floats, and so the results are to be. */
void surg__pow_doubles(const double *x, const double *y, bool one, double *out, uint64_t n);
/* Of numbers that FLOAT16 or BFLOAT16 holds, for results of that type. */
void surg__pow_halves(const float *x, const float *y, bool one, float *out, uint64_t n);
void surg__pow_floats(const float *x, const float *y, bool one, float *out, uint64_t n);
void surg__pow_wide_floats(const double *x, const double *y, bool one, double *out, uint64_t n);

/* x[i] to the y[i] modulo 2^64 in place of x[i]; modulo 2^32 alone where neither has more than 32
 * `bits`. */
void surg__pow_wholes(uint64_t *x, const uint64_t *y, unsigned bits, uint64_t n);

#endif
