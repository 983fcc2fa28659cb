/* SPDX-License-Identifier: Apache-2.0 */
/* Powers of whole runs of doubles. */
#ifndef SURG_POW_FAST_H
#define SURG_POW_FAST_H

#include <stdbool.h>
#include <stdint.h>

/* out[i] = x[i] to the y[i]; of one y for all where `one` says so. Squares are products. */
void surg__pow_doubles(const double *x, const double *y, bool one, double *out, uint64_t n);

#endif
