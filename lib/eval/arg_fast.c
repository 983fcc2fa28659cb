/* SPDX-License-Identifier: Apache-2.0 */
/* ArgMax and ArgMin, by pieces of a run or by columns. NaN takes the place of any number, and keeps
 * it. */
#include <math.h>

#include "eval/hot.h"
#include "eval/number.h"
#include "eval/piece.h"
#include "eval/reduce_fast.h"

#define LANES 16 /* divides SURG__PIECE */

typedef struct search {
  const surg__array *x;
  bool real, largest, last;
} search;

/* Integers as signed numbers in the same order. */
static void load(const search *s, uint64_t at, uint64_t step, uint64_t n, surg__numbers *v) {
  if (s->real) {
    surg__load_run(s->x->dtype, s->x->data, at, step, n, v->real);
    return;
  }
  surg__load_whole(s->x->dtype, s->x->data, at, step, n, v->whole);
  for (uint64_t i = 0; s->x->dtype == SURG_UINT64 && i < n; ++i) v->whole[i] ^= 1ull << 63;
}

/* Some choice of the four, as a loop of its own. `worse`: what does not displace. */
#define EACH_CHOICE(loop) \
  if (largest && last) {  \
    loop(<)               \
  } else if (largest) {   \
    loop(<=)              \
  } else if (last) {      \
    loop(>)               \
  } else {                \
    loop(>=)              \
  }

#define NUMBER(v) ((v) == (v))
#define ALWAYS(v) 1

#define LOOPS(suffix, type, held, is_number)                                                  \
  /* Puts row `row` beside the best ones so far. */                                           \
  SURG__HOT(columns_##suffix, (held *best, int64_t *at, const held *v, uint64_t n,            \
                               int64_t row, bool largest, bool last),                         \
            (best, at, v, n, row, largest, last)) {                                           \
    EACH_CHOICE(COLUMN_LOOP_##suffix)                                                         \
  }                                                                                           \
  /* The best of n > 0 numbers. */                                                            \
  SURG__HOT(best_##suffix, (const held *v, uint64_t n, bool largest, held *out),              \
            (v, n, largest, out)) {                                                           \
    type acc[LANES], best;                                                                    \
    uint64_t i = 0;                                                                           \
    for (unsigned j = 0; j < LANES; ++j) acc[j] = (type)v[0];                                 \
    if (largest) {                                                                            \
      BEST_LANES(type, >)                                                                     \
    } else {                                                                                  \
      BEST_LANES(type, <)                                                                     \
    }                                                                                         \
    *out = (held)best;                                                                        \
  }                                                                                           \
  /* Whether b, later than a, is to stand for both. */                                        \
  static bool displaces_##suffix(type a, type b, bool largest, bool last) {                   \
    if (!is_number(a)) return false;                                                          \
    if (last) return !(largest ? b < a : b > a);                                              \
    return !(largest ? b <= a : b >= a);                                                      \
  }                                                                                           \
  /* Where the best one stands: there is one. */                                              \
  static uint64_t place_##suffix(const held *v, uint64_t n, type best, bool last) {           \
    uint64_t found = 0;                                                                       \
    for (uint64_t i = 0; i < n; ++i) {                                                        \
      const type b = (type)v[i];                                                              \
      if (!is_number(best) && !is_number(b)) return i;                                        \
      if (b != best) continue;                                                                \
      found = i;                                                                              \
      if (!last) break;                                                                       \
    }                                                                                         \
    return found;                                                                             \
  }

#define BEST_LANES(type, better)                                            \
  for (; n - i >= LANES; i += LANES) {                                      \
    for (unsigned j = 0; j < LANES; ++j) {                                  \
      const type b = (type)v[i + j];                                        \
      acc[j] = b better acc[j] ? b : acc[j];                                \
    }                                                                       \
  }                                                                         \
  best = acc[0];                                                            \
  for (unsigned j = 1; j < LANES; ++j) best = acc[j] better best ? acc[j] : best; \
  for (; i < n; ++i) best = (type)v[i] better best ? (type)v[i] : best;
#define COLUMN_LOOP(type, is_number, worse)                    \
  for (uint64_t j = 0; j < n; ++j) {                           \
    const type a = (type)best[j], b = (type)v[j];              \
    const int64_t old = at[j];                                 \
    const bool take = is_number(a) & !(b worse a);             \
    best[j] = take ? v[j] : best[j];                           \
    at[j] = take ? row : old;                                  \
  }
#define COLUMN_LOOP_real(worse) COLUMN_LOOP(double, NUMBER, worse)
#define COLUMN_LOOP_whole(worse) COLUMN_LOOP(int64_t, ALWAYS, worse)
LOOPS(real, double, double, NUMBER)
LOOPS(whole, int64_t, uint64_t, ALWAYS)

/* One run of elements next to each other: the piece the best one is in, then the place in it. */
static bool of_run(const search *s, uint64_t start, uint64_t length, int64_t *out) {
  surg__numbers v, best = {{0}}, one = {{0}};
  uint64_t piece = 0, n;
  for (uint64_t at = 0; at < length; at += n) {
    n = length - at < SURG__PIECE ? length - at : SURG__PIECE;
    load(s, start + at, 1, n, &v);
    bool take;
    if (s->real) {
      if (surg__has_nan(v.real, n))
        *one.real = NAN;
      else
        best_real(v.real, n, s->largest, one.real);
      take = displaces_real(*best.real, *one.real, s->largest, s->last);
    } else {
      best_whole(v.whole, n, s->largest, one.whole);
      take = displaces_whole((int64_t)*best.whole, (int64_t)*one.whole, s->largest, s->last);
    }
    if (at > 0 && !take) continue;
    *best.whole = *one.whole;
    piece = at;
  }
  n = length - piece < SURG__PIECE ? length - piece : SURG__PIECE;
  load(s, start + piece, 1, n, &v);
  *out = (int64_t)(piece + (s->real ? place_real(v.real, n, *best.real, s->last)
                                    : place_whole(v.whole, n, (int64_t)*best.whole, s->last)));
  return s->real && !NUMBER(*best.real);
}

/* `n` runs next to each other, elements `step` apart. */
static bool of_columns(const search *s, uint64_t start, uint64_t length, uint64_t step, uint64_t n,
                       int64_t *out) {
  surg__numbers best, v;
  bool nan = false;
  load(s, start, 1, n, &best);
  for (uint64_t j = 0; j < n; ++j) out[j] = 0;
  for (uint64_t i = 1; i < length; ++i) {
    load(s, start + i * step, 1, n, &v);
    if (s->real)
      columns_real(best.real, out, v.real, n, (int64_t)i, s->largest, s->last);
    else
      columns_whole(best.whole, out, v.whole, n, (int64_t)i, s->largest, s->last);
  }
  for (uint64_t j = 0; s->real && j < n; ++j) nan |= !NUMBER(best.real[j]);
  return nan;
}

bool surg__arg_fast(const surg__array *x, uint64_t outer, uint64_t length, uint64_t inner,
                    bool largest, bool last, int64_t *out) {
  const search s = {x, surg__is_real(x->dtype), largest, last};
  bool nan = false;
  for (uint64_t i = 0; i < outer; ++i, out += inner) {
    const uint64_t start = i * length * inner;
    if (inner == 1) nan |= of_run(&s, start, length, out);
    for (uint64_t j = 0; inner > 1 && j < inner; j += SURG__PIECE) {
      const uint64_t n = inner - j < SURG__PIECE ? inner - j : SURG__PIECE;
      nan |= of_columns(&s, start + j, length, inner, n, out + j);
    }
  }
  return nan;
}
