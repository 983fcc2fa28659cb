/* SPDX-License-Identifier: Apache-2.0 */
#include "eval/pow_fast.h"

#include "eval/vmath_double.h"

#define POWERS(type, power)                                                                 \
  SURG__HOT(pairs_of_##type, (const double *x, const double *y, double *out, uint64_t n),   \
            (x, y, out, n)) {                                                               \
    for (uint64_t i = 0; i < n; ++i) {                                                      \
      const double r = power(x[i], y[i]);                                                   \
      out[i] = y[i] == 2 ? x[i] * x[i] : r;                                                 \
    }                                                                                       \
  }                                                                                         \
  SURG__HOT(one_of_##type, (const double *x, double y, double *out, uint64_t n),            \
            (x, y, out, n)) {                                                               \
    for (uint64_t i = 0; i < n; ++i) out[i] = power(x[i], y);                               \
  }                                                                                         \
  void surg__pow_##type(const double *x, const double *y, bool one, double *out,            \
                        uint64_t n) {                                                       \
    if (!one)                                                                               \
      pairs_of_##type(x, y, out, n);                                                        \
    else if (*y == 2)                                                                       \
      squares(x, out, n);                                                                   \
    else                                                                                    \
      one_of_##type(x, *y, out, n);                                                         \
  }

SURG__HOT(squares, (const double *x, double *out, uint64_t n), (x, out, n)) {
  for (uint64_t i = 0; i < n; ++i) out[i] = x[i] * x[i];
}

POWERS(doubles, surg__d_pow)
POWERS(floats, surg__v_pow)

#define PIECE 256

/* Bit by bit of the exponents, as far as the longest one goes. */
SURG__HOT(pow_wholes, (uint64_t *x, const uint64_t *y, uint64_t n), (x, y, n)) {
  uint64_t power[PIECE], any = 0;
  for (uint64_t i = 0; i < n; ++i) {
    any |= y[i];
    power[i] = 1;
  }
  for (unsigned bit = 0; bit < 64 && any >> bit; ++bit) {
    for (uint64_t i = 0; i < n; ++i) {
      power[i] *= y[i] >> bit & 1 ? x[i] : 1;
      x[i] *= x[i];
    }
  }
  for (uint64_t i = 0; i < n; ++i) x[i] = power[i];
}

void surg__pow_wholes(uint64_t *x, const uint64_t *y, uint64_t n) {
  for (uint64_t at = 0; at < n; at += PIECE)
    pow_wholes(x + at, y + at, n - at < PIECE ? n - at : PIECE);
}
