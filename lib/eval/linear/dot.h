/* SPDX-License-Identifier: Apache-2.0 */
/* A matrix times a vector, in double. */
#ifndef SURG_DOT_H
#define SURG_DOT_H

#include <stdint.h>

/* out[i] = the row that starts at m + i * step, times v: n products added up in their order. */
void surg__rows_times(const double *m, uint64_t rows, uint64_t step, uint64_t n, const double *v,
                      double *out);

#endif
