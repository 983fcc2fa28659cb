/* SPDX-License-Identifier: Apache-2.0 */
/* ReduceMax and ReduceMin. Elements are compared by keys: signed integers of their own width, the
 * one looked for the largest. Those of a float are its bits, and the largest there is for NaN. */
#include "eval/fast/hot.h"
#include "eval/fast/order.h"
#include "eval/fast/reduce_fast.h"

#define SPAN 512  /* elements of a run looked at together */
#define ROOM 8192 /* bytes of the keys of some columns */

typedef struct extreme {
  const surg__array *x, *o;
  surg__loop *kept, *run;
  surg__order order;
} extreme;


#define WIDTH(bits, type, whole)                                                                 \
  /* Its own inverse but for NaN. */                                                               \
  SURG__INLINE type ordered##bits(type v) {                                                        \
    return (whole)v < 0 ? v ^ SURG__MOST(type) : v;                                                \
  }                                                                                                \
  SURG__INLINE whole key##bits(type x, type turn, type infinity, bool real) {                      \
    const type v = x ^ turn, size = v & SURG__MOST(type);                                          \
    return (whole)(!real ? v : size > infinity ? SURG__MOST(type) : ordered##bits(v));             \
  }                                                                                                \
  SURG__INLINE type element##bits(const extreme *e, whole key) {                                   \
    const type turn = (type)e->order.turn, infinity = (type)e->order.infinity;                     \
    const type nan = infinity | infinity >> 1;                                                     \
    if (!e->order.real) return (type)key ^ turn;                                                   \
    return (type)key == SURG__MOST(type) ? nan : ordered##bits((type)key) ^ turn;                  \
  }                                                                                                \
  SURG__HOT(columns##bits, (const extreme *e, const type *v, uint64_t n, whole *best),             \
            (e, v, n, best)) {                                                                     \
    const type turn = (type)e->order.turn, infinity = (type)e->order.infinity;                     \
    if (e->order.real) {                                                                           \
      for (uint64_t j = 0; j < n; ++j) {                                                           \
        const whole b = key##bits(v[j], turn, infinity, true);                                     \
        best[j] = b > best[j] ? b : best[j];                                                       \
      }                                                                                            \
    } else {                                                                                       \
      for (uint64_t j = 0; j < n; ++j) {                                                           \
        const whole b = key##bits(v[j], turn, infinity, false);                                    \
        best[j] = b > best[j] ? b : best[j];                                                       \
      }                                                                                            \
    }                                                                                              \
  }                                                                                                \
  /* n elements, SPAN at most, beside the best one so far. */                                      \
  SURG__HOT(span##bits, (const extreme *e, const type *v, uint64_t step, uint64_t n, whole *best), \
            (e, v, step, n, best)) {                                                               \
    const type turn = (type)e->order.turn, infinity = (type)e->order.infinity;                     \
    whole keys[SPAN], top = *best;                                                                 \
    if (step != 1) {                                                                               \
      const bool real = e->order.real;                                                             \
      for (uint64_t i = 0; i < n; ++i) keys[i] = key##bits(v[i * step], turn, infinity, real);     \
    } else if (e->order.real) {                                                                    \
      for (uint64_t i = 0; i < n; ++i) keys[i] = key##bits(v[i], turn, infinity, true);            \
    } else {                                                                                       \
      for (uint64_t i = 0; i < n; ++i) keys[i] = key##bits(v[i], turn, infinity, false);           \
    }                                                                                              \
    for (uint64_t i = 0; i < n; ++i) top = keys[i] > top ? keys[i] : top;                          \
    *best = top;                                                                                   \
  }                                                                                                \
  /* n runs, ROOM bytes at most, that start next to each other. */                                 \
  static void of_columns##bits(const extreme *e, uint64_t start, uint64_t n, type *out) {          \
    const type *v = (const type *)e->x->data + start;                                              \
    whole best[ROOM / sizeof(whole)];                                                              \
    surg__loop *run = e->run;                                                                      \
    for (uint64_t j = 0; j < n; ++j) best[j] = (whole)~SURG__MOST(type);                           \
    for (surg__loop_rewind(run); !run->done; surg__loop_next(run))                                 \
      for (int64_t i = 0; i < run->inner; ++i)                                                     \
        columns##bits(e, v + run->at[0] + i * run->step[0], n, best);                              \
    for (uint64_t j = 0; j < n; ++j) out[j] = element##bits(e, best[j]);                           \
  }                                                                                                \
  static void of_run##bits(const extreme *e, uint64_t start, type *out) {                          \
    const type *v = (const type *)e->x->data + start;                                              \
    whole best = (whole)~SURG__MOST(type);                                                         \
    surg__loop *run = e->run;                                                                      \
    for (surg__loop_rewind(run); !run->done; surg__loop_next(run)) {                               \
      for (int64_t i = 0; i < run->inner; i += SPAN) {                                             \
        const uint64_t left = (uint64_t)(run->inner - i), n = left < SPAN ? left : SPAN;           \
        span##bits(e, v + run->at[0] + i * run->step[0], (uint64_t)run->step[0], n, &best);        \
      }                                                                                            \
    }                                                                                              \
    *out = element##bits(e, best);                                                                 \
  }                                                                                                \
  static void reduce##bits(const extreme *e) {                                                     \
    const uint64_t wide = ROOM / sizeof(type);                                                     \
    surg__loop *kept = e->kept;                                                                    \
    const bool columns = kept->inner > 1 && kept->step[1] == 1;                                    \
    for (; !kept->done; surg__loop_next(kept)) {                                                   \
      const uint64_t inner = (uint64_t)kept->inner;                                                \
      for (uint64_t i = 0, n; i < inner; i += n) {                                                 \
        const uint64_t start = (uint64_t)(kept->at[1] + (int64_t)i * kept->step[1]);               \
        type *to = (type *)e->o->data + kept->at[0] + (int64_t)i * kept->step[0];                  \
        n = !columns ? 1 : inner - i < wide ? inner - i : wide;                                    \
        if (columns)                                                                               \
          of_columns##bits(e, start, n, to);                                                       \
        else                                                                                       \
          of_run##bits(e, start, to);                                                              \
      }                                                                                            \
    }                                                                                              \
  }
WIDTH(8, uint8_t, int8_t)
WIDTH(16, uint16_t, int16_t)
WIDTH(32, uint32_t, int32_t)
WIDTH(64, uint64_t, int64_t)

static uint64_t most_of(int dtype) {
  return dtype == SURG_BOOL ? 1 : surg__int_max(dtype);
}

void surg__extreme_fast(bool largest, const surg__array *x, const surg__array *o, surg__loop *kept,
                        surg__loop *run, uint64_t length) {
  const extreme e = {x, o, kept, run, surg__order_of(x->dtype, largest)};
  if (length == 0) {
    const uint64_t least = (uint64_t)surg__int_min(x->dtype), most = most_of(x->dtype);
    for (uint64_t i = 0; i < o->count; ++i)
      surg__store_int(o->dtype, o->data, i, largest ? least : most);
    return;
  }
  switch (surg__dtype_unpacked(x->dtype)) {
    case 1:
      reduce8(&e);
      break;
    case 2:
      reduce16(&e);
      break;
    case 4:
      reduce32(&e);
      break;
    default:
      assert(surg__dtype_unpacked(x->dtype) == 8);
      reduce64(&e);
  }
}
