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

/* Of whole numbers, modulo 2^64 or 2^32; exponents count as if they had no sign. Whether one has
 * its highest bit set. */
bool surg__pow_wholes(const uint64_t *x, const uint64_t *y, bool one, uint64_t *out, uint64_t n);
bool surg__pow_narrow_wholes(const uint32_t *x, const uint32_t *y, bool one, uint32_t *out,
                             uint64_t n);

#endif
