/* SPDX-License-Identifier: Apache-2.0 */
/* A matrix times a vector. Each sum depends on its previous term, so several rows are computed
 * in parallel to hide the latency. The results are bit-identical to one row after the other. */
#include "eval/linear/dot.h"

#define AT_A_TIME 8

void surg__rows_times(const double *m, uint64_t rows, uint64_t step, uint64_t n, const double *v,
                      double *out) {
  uint64_t i = 0;
  for (; i + AT_A_TIME <= rows; i += AT_A_TIME) {
    const double *row = m + i * step;
    double sum[AT_A_TIME] = {0};
    for (uint64_t j = 0; j < n; ++j) {
      for (unsigned r = 0; r < AT_A_TIME; ++r) sum[r] += row[r * step + j] * v[j];
    }
    for (unsigned r = 0; r < AT_A_TIME; ++r) out[i + r] = sum[r];
  }
  for (; i < rows; ++i) {
    double sum = 0;
    for (uint64_t j = 0; j < n; ++j) sum += m[i * step + j] * v[j];
    out[i] = sum;
  }
}
