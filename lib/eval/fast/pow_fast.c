/* SPDX-License-Identifier: Apache-2.0 */
#include "eval/fast/pow_fast.h"

#include <float.h>

#include "eval/fast/vmath_double.h"
#include "eval/fast/vmath_pair.h"

#define PIECE 1024

/* Powers of numbers of one type, `of` those of finite ones above 0, `near_of` of those of a base
 * from `least` to `most` and an exponent up to `top`. Which form a pair takes hangs on itself
 * alone; pieces of near ones are spared the other form and the questions after 0, infinities and
 * NaN. */
#define POWERS(name, type, bits_type, bits_of, absolute, power_of, of, near_of, least, most, top) \
  SURG__INLINE type any_of_##name(type x, type y) {                                          \
    const type a = absolute(x), base = a > 0 ? a : 1, finite = base < (type)INFINITY ? base : 1; \
    const type near = (type)near_of(finite, y), far = (type)of(finite, y);                   \
    type r = finite >= (least) ? near : far;                                                 \
    r = finite <= (most) ? r : far;                                                          \
    r = absolute(y) <= (top) ? r : far;                                                      \
    return power_of(x, y, r);                                                                \
  }                                                                                          \
  SURG__HOT(pairs_of_##name, (const type *x, const type *y, type *out, uint64_t n),          \
            (x, y, out, n)) {                                                                \
    for (uint64_t at = 0; at < n; at += PIECE) {                                             \
      const uint64_t end = n - at < PIECE ? n : at + PIECE;                                  \
      bits_type far = 0, high = 0;                                                           \
      for (uint64_t i = at; i < end; ++i) {                                                  \
        const bits_type x_is = bits_of(absolute(x[i])) - bits_of(least);                     \
        const bits_type y_is = bits_of(absolute(y[i]));                                      \
        far = x_is > far ? x_is : far;                                                       \
        high = y_is > high ? y_is : high;                                                    \
      }                                                                                      \
      const bool odd = far > bits_of(most) - bits_of(least) || high > bits_of(top);          \
      if (odd) {                                                                             \
        for (uint64_t i = at; i < end; ++i) {                                                \
          const type r = any_of_##name(x[i], y[i]);                                          \
          out[i] = y[i] == 2 ? x[i] * x[i] : r;                                              \
        }                                                                                    \
      } else {                                                                               \
        for (uint64_t i = at; i < end; ++i) {                                                \
          const type r = power_of##_plain(x[i], y[i], (type)near_of(absolute(x[i]), y[i]));  \
          out[i] = y[i] == 2 ? x[i] * x[i] : r;                                              \
        }                                                                                    \
      }                                                                                      \
    }                                                                                        \
  }                                                                                          \
  SURG__HOT(squares_of_##name, (const type *x, type *out, uint64_t n), (x, out, n)) {        \
    for (uint64_t i = 0; i < n; ++i) out[i] = x[i] * x[i];                                   \
  }                                                                                          \
  static void all_of_##name(const type *x, const type *y, bool one, type *out, uint64_t n) { \
    type same[PIECE];                                                                        \
    if (!one) {                                                                              \
      pairs_of_##name(x, y, out, n);                                                         \
      return;                                                                                \
    }                                                                                        \
    if (*y == 2) {                                                                           \
      squares_of_##name(x, out, n);                                                          \
      return;                                                                                \
    }                                                                                        \
    for (uint64_t i = 0; i < n && i < PIECE; ++i) same[i] = *y;                              \
    for (uint64_t at = 0; at < n; at += PIECE)                                               \
      pairs_of_##name(x + at, same, out + at, n - at < PIECE ? n - at : PIECE);              \
  }

POWERS(doubles, double, uint64_t, surg__v_bits, fabs, surg__v_power_of, surg__d_power_of,
       surg__d_power_near, SURG__D_POWER_LEAST, SURG__D_POWER_MOST, SURG__D_POWER_OF)
/* `least` to `most`: all that is finite and not 0. */
POWERS(finer, double, uint64_t, surg__v_bits, fabs, surg__v_power_of, surg__v_power, surg__v_power,
       0x1p-1074, DBL_MAX, 0x1p50)
POWERS(floats, float, uint32_t, surg__f_bits, fabsf, surg__f_power_of, surg__v_power,
       surg__p_power_near, SURG__F_POWER_LEAST, SURG__F_POWER_MOST, SURG__F_POWER_OF)
POWERS(halves, float, uint32_t, surg__f_bits, fabsf, surg__f_power_of, surg__f_power,
       surg__f_power_near, SURG__F_POWER_LEAST, SURG__F_POWER_MOST, SURG__F_POWER_OF)

void surg__pow_doubles(const double *x, const double *y, bool one, double *out, uint64_t n) {
  all_of_doubles(x, y, one, out, n);
}

void surg__pow_floats(const float *x, const float *y, bool one, float *out, uint64_t n) {
  all_of_floats(x, y, one, out, n);
}

void surg__pow_halves(const float *x, const float *y, bool one, float *out, uint64_t n) {
  all_of_halves(x, y, one, out, n);
}

/* Exponents that are floats give what surg__pow_floats gives. */
void surg__pow_wide_floats(const double *x, const double *y, bool one, double *out, uint64_t n) {
  float narrow_x[PIECE], narrow_y[PIECE], r[PIECE];
  double finer[PIECE];
  for (uint64_t at = 0; at < n; at += PIECE) {
    const uint64_t m = n - at < PIECE ? n - at : PIECE;
    const double *const p = x + at, *const q = one ? y : y + at;
    bool all_floats = true;
    for (uint64_t i = 0; i < m; ++i) {
      const double by = one ? *q : q[i];
      narrow_x[i] = (float)p[i];
      narrow_y[i] = (float)by;
      all_floats &= (double)narrow_y[i] == by;
    }
    all_of_floats(narrow_x, narrow_y, false, r, m);
    if (!all_floats) all_of_finer(p, q, one, finer, m);
    for (uint64_t i = 0; i < m; ++i)
      out[at + i] = (double)narrow_y[i] == (one ? *q : q[i]) ? (double)r[i] : finer[i];
  }
}

/* `bits` (a constant) bits of exponents, from bit `from` on: out is multiplied by their powers, and
 * x raised to the 2^bits. */
#define BITS(name, type, bits)                                                              \
  SURG__HOT(name##_##bits, (const type *y, unsigned from, type *x, type *out, uint64_t n),  \
            (y, from, x, out, n)) {                                                         \
    for (uint64_t i = 0; i < n; ++i) {                                                      \
      type base = x[i], power = out[i];                                                     \
      const type by = y[i] >> from;                                                         \
      _Pragma("GCC unroll 8") for (unsigned bit = 0; bit < (bits); ++bit) {                 \
        power = by >> bit & 1 ? power * base : power;                                       \
        base *= base;                                                                       \
      }                                                                                     \
      x[i] = base;                                                                          \
      out[i] = power;                                                                       \
    }                                                                                       \
  }
#define WHOLES(name, type)                                                                  \
  BITS(name, type, 2)                                                                       \
  BITS(name, type, 4)                                                                       \
  BITS(name, type, 8)                                                                       \
  SURG__HOT(any_of_##name, (const type *y, type *any, uint64_t n), (y, any, n)) {           \
    type found = 0;                                                                         \
    for (uint64_t i = 0; i < n; ++i) found |= y[i];                                         \
    *any = found;                                                                           \
  }                                                                                         \
  bool surg__##name(const type *x, const type *y, bool one, type *out, uint64_t n) {        \
    type base[PIECE], same[PIECE], any, all = 0;                                            \
    for (uint64_t i = 0; one && i < n && i < PIECE; ++i) same[i] = *y;                      \
    for (uint64_t at = 0; at < n; at += PIECE) {                                            \
      const uint64_t m = n - at < PIECE ? n - at : PIECE;                                   \
      const type *const by = one ? same : y + at;                                           \
      memcpy(base, x + at, (size_t)m * sizeof *base);                                       \
      any_of_##name(by, &any, m);                                                           \
      all |= any;                                                                           \
      for (uint64_t i = 0; i < m; ++i) out[at + i] = 1;                                     \
      for (unsigned bit = 0; bit < 8 * sizeof(type) && any >> bit; bit += 8) {              \
        if (any >> bit < 1 << 2)                                                            \
          name##_2(by, bit, base, out + at, m);                                             \
        else if (any >> bit < 1 << 4)                                                       \
          name##_4(by, bit, base, out + at, m);                                             \
        else                                                                                \
          name##_8(by, bit, base, out + at, m);                                             \
      }                                                                                     \
    }                                                                                       \
    return all >> (8 * sizeof(type) - 1);                                                   \
  }
WHOLES(pow_wholes, uint64_t)
WHOLES(pow_narrow_wholes, uint32_t)
