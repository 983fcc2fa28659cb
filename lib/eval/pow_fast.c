/* SPDX-License-Identifier: Apache-2.0 */
#include "eval/pow_fast.h"

#include "eval/vmath_double.h"

SURG__HOT(pow_pairs, (const double *x, const double *y, double *out, uint64_t n),
          (x, y, out, n)) {
  for (uint64_t i = 0; i < n; ++i) {
    const double r = surg__d_pow(x[i], y[i]);
    out[i] = y[i] == 2 ? x[i] * x[i] : r;
  }
}

SURG__HOT(pow_one, (const double *x, double y, double *out, uint64_t n), (x, y, out, n)) {
  for (uint64_t i = 0; i < n; ++i) out[i] = surg__d_pow(x[i], y);
}

SURG__HOT(squares, (const double *x, double *out, uint64_t n), (x, out, n)) {
  for (uint64_t i = 0; i < n; ++i) out[i] = x[i] * x[i];
}

void surg__pow_doubles(const double *x, const double *y, bool one, double *out, uint64_t n) {
  if (!one)
    pow_pairs(x, y, out, n);
  else if (*y == 2)
    squares(x, out, n);
  else
    pow_one(x, *y, out, n);
}
