/* SPDX-License-Identifier: Apache-2.0 */
/* ArgMax and ArgMin, by pieces of a run or by columns. NaN takes the place of any number, and keeps
 * it.
 *
 * Elements are compared by keys: signed integers of their own width, the one looked for the
 * largest. Those of a float are its bits with one zero, and the largest there is for NaN. */
#include "eval/fast/hot.h"
#include "eval/fast/order.h"
#include "eval/fast/reduce_fast.h"

#define SPAN 512  /* elements of a run looked at together */
#define ROOM 8192 /* bytes of the best of some columns */

typedef struct search {
  const surg__array *x;
  surg__order order;
  bool last;
} search;


#define WIDTH(bits, type, whole)                                                                   \
  SURG__INLINE whole key##bits(type x, type turn, type infinity, bool real) {                      \
    const type v = x ^ turn, size = v & SURG__MOST(type);                                          \
    const whole order = (whole)v < 0 ? (whole)((type)0 - size) : (whole)size;                      \
    return !real ? (whole)v : size > infinity ? (whole)SURG__MOST(type) : order;                   \
  }                                                                                                \
  SURG__INLINE void row_as##bits(const type *v, uint64_t n, type turn, type infinity, type row,    \
                                 bool real, bool last, whole *best, type *at) {                    \
    for (uint64_t j = 0; j < n; ++j) {                                                             \
      const whole a = best[j], b = key##bits(v[j], turn, infinity, real);                          \
      const bool stays = real && last && a == (whole)SURG__MOST(type);                             \
      at[j] = ((last ? b >= a : b > a) & !stays) ? row : at[j];                                    \
      best[j] = b > a ? b : a;                                                                     \
    }                                                                                              \
  }                                                                                                \
  /* Puts row `row` of a block beside the best ones so far. */                                     \
  SURG__HOT(row##bits, (const search *s, const type *v, uint64_t n, type row, whole *best,         \
                        type *at), (s, v, n, row, best, at)) {                                     \
    const type turn = (type)s->order.turn, infinity = (type)s->order.infinity;                     \
    if (s->order.real && s->last)                                                                  \
      row_as##bits(v, n, turn, infinity, row, true, true, best, at);                               \
    else if (s->order.real)                                                                        \
      row_as##bits(v, n, turn, infinity, row, true, false, best, at);                              \
    else if (s->last)                                                                              \
      row_as##bits(v, n, turn, infinity, row, false, true, best, at);                              \
    else                                                                                           \
      row_as##bits(v, n, turn, infinity, row, false, false, best, at);                             \
  }                                                                                                \
  /* The best of n > 0 elements, SPAN at most. */                                                  \
  SURG__HOT(best##bits, (const search *s, const type *v, uint64_t n, whole *out),                  \
            (s, v, n, out)) {                                                                      \
    const type turn = (type)s->order.turn, infinity = (type)s->order.infinity;                     \
    whole keys[SPAN], best;                                                                        \
    if (s->order.real) {                                                                           \
      for (uint64_t i = 0; i < n; ++i) keys[i] = key##bits(v[i], turn, infinity, true);            \
    } else {                                                                                       \
      for (uint64_t i = 0; i < n; ++i) keys[i] = key##bits(v[i], turn, infinity, false);           \
    }                                                                                              \
    best = keys[0];                                                                                \
    for (uint64_t i = 0; i < n; ++i) best = keys[i] > best ? keys[i] : best;                       \
    *out = best;                                                                                   \
  }                                                                                                \
  /* One run of elements next to each other: the piece the best one is in, then the place in it. */\
  static bool of_run##bits(const search *s, uint64_t start, uint64_t length, int64_t *out) {       \
    const type *v = (const type *)s->x->data + start;                                              \
    const type turn = (type)s->order.turn, infinity = (type)s->order.infinity;                     \
    whole best = 0, b;                                                                             \
    uint64_t piece = 0;                                                                            \
    bool nan = false;                                                                              \
    for (uint64_t at = 0; at < length && !nan; at += SPAN) {                                       \
      best##bits(s, v + at, length - at < SPAN ? length - at : SPAN, &b);                          \
      if (at > 0 && (s->last ? b < best : b <= best)) continue;                                    \
      best = b;                                                                                    \
      piece = at;                                                                                  \
      nan = s->order.real && best == (whole)SURG__MOST(type);                                      \
    }                                                                                              \
    const uint64_t end = length - piece < SPAN ? length : piece + SPAN;                            \
    for (uint64_t i = piece; i < end; ++i) {                                                       \
      if (key##bits(v[i], turn, infinity, s->order.real) != best) continue;                        \
      *out = (int64_t)i;                                                                           \
      if (!s->last || nan) break;                                                                  \
    }                                                                                              \
    return nan;                                                                                    \
  }                                                                                                \
  /* n <= ROOM bytes of runs next to each other, elements `step` apart: in blocks of as many rows  \
   * as an element can count. */                                                                   \
  static bool of_columns##bits(const search *s, uint64_t start, uint64_t length, uint64_t step,    \
                               uint64_t n, int64_t *out) {                                         \
    whole top[ROOM / sizeof(whole)], best[ROOM / sizeof(whole)];                                   \
    type at[ROOM / sizeof(type)];                                                                  \
    const type *v = (const type *)s->x->data + start;                                              \
    const type turn = (type)s->order.turn, infinity = (type)s->order.infinity;                     \
    const uint64_t most = (type)~(type)0;                                                          \
    bool nan = false;                                                                              \
    for (uint64_t block = 0, rows; block < length; block += rows) {                                \
      rows = length - block < most ? length - block : most;                                        \
      for (uint64_t j = 0; j < n; ++j) {                                                           \
        best[j] = key##bits(v[block * step + j], turn, infinity, s->order.real);                   \
        at[j] = 0;                                                                                 \
      }                                                                                            \
      for (uint64_t i = 1; i < rows; ++i)                                                          \
        row##bits(s, v + (block + i) * step, n, (type)i, best, at);                                \
      for (uint64_t j = 0; j < n; ++j) {                                                           \
        const bool stays = s->order.real && block > 0 && top[j] == (whole)SURG__MOST(type);        \
        if (block > 0 && (stays || (s->last ? best[j] < top[j] : best[j] <= top[j]))) continue;    \
        top[j] = best[j];                                                                          \
        out[j] = (int64_t)(block + at[j]);                                                         \
      }                                                                                            \
    }                                                                                              \
    for (uint64_t j = 0; s->order.real && j < n; ++j) nan |= top[j] == (whole)SURG__MOST(type);    \
    return nan;                                                                                    \
  }                                                                                                \
  static bool of_runs##bits(const search *s, uint64_t start, uint64_t length, uint64_t inner,      \
                            int64_t *out) {                                                        \
    const uint64_t wide = ROOM / sizeof(type);                                                     \
    bool nan = false;                                                                              \
    if (inner == 1) return of_run##bits(s, start, length, out);                                    \
    for (uint64_t j = 0; j < inner; j += wide) {                                                   \
      const uint64_t n = inner - j < wide ? inner - j : wide;                                      \
      nan |= of_columns##bits(s, start + j, length, inner, n, out + j);                            \
    }                                                                                              \
    return nan;                                                                                    \
  }
WIDTH(8, uint8_t, int8_t)
WIDTH(16, uint16_t, int16_t)
WIDTH(32, uint32_t, int32_t)
WIDTH(64, uint64_t, int64_t)

bool surg__arg_fast(const surg__array *x, uint64_t outer, uint64_t length, uint64_t inner,
                    bool largest, bool last, int64_t *out) {
  const search s = {x, surg__order_of(x->dtype, largest), last};
  bool nan = false;
  for (uint64_t i = 0; i < outer; ++i, out += inner) {
    const uint64_t start = i * length * inner;
    switch (surg__dtype_unpacked(x->dtype)) {
      case 1:
        nan |= of_runs8(&s, start, length, inner, out);
        break;
      case 2:
        nan |= of_runs16(&s, start, length, inner, out);
        break;
      case 4:
        nan |= of_runs32(&s, start, length, inner, out);
        break;
      default:
        assert(surg__dtype_unpacked(x->dtype) == 8);
        nan |= of_runs64(&s, start, length, inner, out);
    }
  }
  return nan;
}
