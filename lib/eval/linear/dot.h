/* SPDX-License-Identifier: Apache-2.0 */
/* A matrix times a vector, in double. */
#ifndef SURG_DOT_H
#define SURG_DOT_H

#include <stdint.h>

/* out[i] = dot product of v and the row of n elements at m + i * step, summed in index order. */
void surg__rows_times(const double *m, uint64_t rows, uint64_t step, uint64_t n, const double *v,
                      double *out);

#endif
