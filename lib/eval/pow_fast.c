/* SPDX-License-Identifier: Apache-2.0 */
#include "eval/pow_fast.h"

#include <float.h>

#include "eval/vmath_double.h"
#include "eval/vmath_pair.h"

#define PIECE 256

/* Powers of numbers of one type, `of` those of finite ones above 0, `near_of` of those of a base
 * from `least` to `most` and an exponent up to `top`. Which form a pair takes hangs on itself alone;
 * pieces of near ones are spared the other form and the questions after 0, infinities and NaN. */
#define POWERS(name, type, absolute, power_of, of, near_of, least, most, top)                \
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
      int odd = 0;                                                                           \
      for (uint64_t i = at; i < end; ++i) {                                                  \
        const type a = absolute(x[i]);                                                       \
        odd |= !(a >= (least)) | !(a <= (most)) | !(absolute(y[i]) <= (top));                \
      }                                                                                      \
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
    for (uint64_t i = 0; i < PIECE; ++i) same[i] = *y;                                       \
    for (uint64_t at = 0; at < n; at += PIECE)                                               \
      pairs_of_##name(x + at, same, out + at, n - at < PIECE ? n - at : PIECE);              \
  }

POWERS(doubles, double, fabs, surg__v_power_of, surg__d_power_of, surg__d_power_near,
       SURG__D_POWER_LEAST, SURG__D_POWER_MOST, SURG__D_POWER_OF)
/* `least` to `most`: all that is finite and not 0. */
POWERS(finer, double, fabs, surg__v_power_of, surg__v_power, surg__v_power, 0x1p-1074, DBL_MAX,
       0x1p50)
POWERS(floats, float, fabsf, surg__f_power_of, surg__v_power, surg__p_power_near,
       SURG__F_POWER_LEAST, SURG__F_POWER_MOST, SURG__F_POWER_OF)
POWERS(halves, float, fabsf, surg__f_power_of, surg__f_power, surg__f_power_near,
       SURG__F_POWER_LEAST, SURG__F_POWER_MOST, SURG__F_POWER_OF)

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

/* Bit by bit of the exponents, as far as the longest one goes. */
#define WHOLES(name, type)                                                         \
  SURG__HOT(name, (type *x, const type *y, uint64_t n), (x, y, n)) {               \
    type power[PIECE], any = 0;                                                    \
    for (uint64_t i = 0; i < n; ++i) {                                             \
      any |= y[i];                                                                 \
      power[i] = 1;                                                                \
    }                                                                              \
    for (unsigned bit = 0; bit < 8 * sizeof(type) && any >> bit; ++bit) {          \
      for (uint64_t i = 0; i < n; ++i) {                                           \
        power[i] *= y[i] >> bit & 1 ? x[i] : 1;                                    \
        x[i] *= x[i];                                                              \
      }                                                                            \
    }                                                                              \
    for (uint64_t i = 0; i < n; ++i) x[i] = power[i];                              \
  }
WHOLES(pow_wholes, uint64_t)
WHOLES(pow_narrow_wholes, uint32_t)

SURG__HOT(cut, (const uint64_t *from, uint32_t *to, uint64_t n), (from, to, n)) {
  for (uint64_t i = 0; i < n; ++i) to[i] = (uint32_t)from[i];
}
SURG__HOT(widen, (const uint32_t *from, uint64_t *to, uint64_t n), (from, to, n)) {
  for (uint64_t i = 0; i < n; ++i) to[i] = from[i];
}

void surg__pow_wholes(uint64_t *x, const uint64_t *y, unsigned bits, uint64_t n) {
  uint32_t p[PIECE], q[PIECE];
  for (uint64_t at = 0; at < n; at += PIECE) {
    const uint64_t m = n - at < PIECE ? n - at : PIECE;
    if (bits > 32) {
      pow_wholes(x + at, y + at, m);
      continue;
    }
    cut(x + at, p, m);
    cut(y + at, q, m);
    pow_narrow_wholes(p, q, m);
    widen(p, x + at, m);
  }
}
