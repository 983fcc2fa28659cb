/* SPDX-License-Identifier: Apache-2.0 */
#include "eval/pow_fast.h"

#include "eval/vmath_double.h"
#include "eval/vmath_float.h"

#define PIECE 256

/* Powers of numbers of one type, `of` those of finite ones above 0. Pieces without 0, infinities
 * and NaN need fewer questions, and get the same answers. */
#define POWERS(name, type, absolute, power_of, of)                                           \
  SURG__INLINE type base_of_##name(type x) {                                                 \
    const type a = absolute(x), base = a > 0 ? a : 1;                                        \
    return base < (type)INFINITY ? base : 1;                                                 \
  }                                                                                          \
  SURG__HOT(pairs_of_##name, (const type *x, const type *y, type *out, uint64_t n),          \
            (x, y, out, n)) {                                                                \
    for (uint64_t at = 0; at < n; at += PIECE) {                                             \
      const uint64_t end = n - at < PIECE ? n : at + PIECE;                                  \
      int odd = 0;                                                                           \
      for (uint64_t i = at; i < end; ++i) {                                                  \
        const type a = absolute(x[i]);                                                       \
        odd |= !(a > 0) | !(a < (type)INFINITY) | !(absolute(y[i]) < (type)INFINITY);        \
      }                                                                                      \
      if (odd) {                                                                             \
        for (uint64_t i = at; i < end; ++i) {                                                \
          const type r = power_of(x[i], y[i], (type)of(base_of_##name(x[i]), y[i]));         \
          out[i] = y[i] == 2 ? x[i] * x[i] : r;                                              \
        }                                                                                    \
      } else {                                                                               \
        for (uint64_t i = at; i < end; ++i) {                                                \
          const type r = power_of##_plain(x[i], y[i], (type)of(absolute(x[i]), y[i]));       \
          out[i] = y[i] == 2 ? x[i] * x[i] : r;                                              \
        }                                                                                    \
      }                                                                                      \
    }                                                                                        \
  }                                                                                          \
  SURG__HOT(one_of_##name, (const type *x, type y, type *out, uint64_t n), (x, y, out, n)) { \
    for (uint64_t i = 0; i < n; ++i)                                                         \
      out[i] = power_of(x[i], y, (type)of(base_of_##name(x[i]), y));                         \
  }                                                                                          \
  SURG__HOT(squares_of_##name, (const type *x, type *out, uint64_t n), (x, out, n)) {        \
    for (uint64_t i = 0; i < n; ++i) out[i] = x[i] * x[i];                                   \
  }                                                                                          \
  void surg__pow_##name(const type *x, const type *y, bool one, type *out, uint64_t n) {     \
    if (!one)                                                                                \
      pairs_of_##name(x, y, out, n);                                                         \
    else if (*y == 2)                                                                        \
      squares_of_##name(x, out, n);                                                          \
    else                                                                                     \
      one_of_##name(x, *y, out, n);                                                          \
  }

POWERS(doubles, double, fabs, surg__v_power_of, surg__d_power_of)
POWERS(wide_floats, double, fabs, surg__v_power_of, surg__v_power)
POWERS(floats, float, fabsf, surg__f_power_of, surg__v_power)
POWERS(halves, float, fabsf, surg__f_power_of, surg__f_power)


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
