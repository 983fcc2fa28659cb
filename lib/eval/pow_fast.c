/* SPDX-License-Identifier: Apache-2.0 */
#include "eval/pow_fast.h"

#include "eval/vmath_double.h"

#define POWERS(name, type, power)                                                           \
  SURG__HOT(pairs_of_##name, (const type *x, const type *y, type *out, uint64_t n),         \
            (x, y, out, n)) {                                                               \
    for (uint64_t i = 0; i < n; ++i) {                                                      \
      const type r = (type)power((double)x[i], (double)y[i]);                               \
      out[i] = y[i] == 2 ? x[i] * x[i] : r;                                                 \
    }                                                                                       \
  }                                                                                         \
  SURG__HOT(one_of_##name, (const type *x, double y, type *out, uint64_t n),                \
            (x, y, out, n)) {                                                               \
    for (uint64_t i = 0; i < n; ++i) out[i] = (type)power((double)x[i], y);                 \
  }                                                                                         \
  SURG__HOT(squares_of_##name, (const type *x, type *out, uint64_t n), (x, out, n)) {       \
    for (uint64_t i = 0; i < n; ++i) out[i] = x[i] * x[i];                                  \
  }                                                                                         \
  void surg__pow_##name(const type *x, const type *y, bool one, type *out, uint64_t n) {    \
    if (!one)                                                                               \
      pairs_of_##name(x, y, out, n);                                                        \
    else if (*y == 2)                                                                       \
      squares_of_##name(x, out, n);                                                         \
    else                                                                                    \
      one_of_##name(x, (double)*y, out, n);                                                 \
  }

POWERS(doubles, double, surg__d_pow)
POWERS(wide_floats, double, surg__v_pow)
POWERS(floats, float, surg__v_pow)

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
