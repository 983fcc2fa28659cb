/* SPDX-License-Identifier: Apache-2.0 */
/* A run is walked up to three times: for its largest element, the sum of its powers, and the
 * shares. Powers are those of vmath_double.h, vmath_pair.h and, of 16-bit floats, vmath_float.h. */
#include "eval/exp_fast.h"

#include <math.h>

#include "base/dtype.h"
#include "eval/cast_fast.h"
#include "eval/number.h"
#include "eval/vmath_double.h"
#include "eval/vmath_pair.h"

#define LANES 16 /* divides PIECE */
#define PIECE SURG__PIECE
#define WIDE SURG__EXP_COLUMNS

typedef union powers {
  double of_reals[PIECE];
  float of_floats[PIECE];
} powers;

size_t surg__exp_size(int dtype) {
  return dtype == SURG_DOUBLE ? sizeof(double) : sizeof(float);
}

/* --- the largest element of a row: the largest pattern of bits in the order of the numbers --- */

#define LARGEST(name, type, wrapping, most, infinity)                                       \
  SURG__HOT(largest_##name, (const wrapping *v, uint64_t n, type *best, type *size),        \
            (v, n, best, size)) {                                                           \
    type above = *best, far = *size;                                                        \
    for (uint64_t i = 0; i < n; ++i) {                                                      \
      const type bits = (type)v[i], magnitude = (type)(bits & (most));                      \
      const type order = (type)(bits < 0 ? bits ^ (most) : bits);                           \
      above = order > above ? order : above;                                                \
      far = magnitude > far ? magnitude : far;                                              \
    }                                                                                       \
    *best = above;                                                                          \
    *size = far;                                                                            \
  }                                                                                         \
  static double top_##name(int dtype, const void *data, uint64_t n) {                       \
    type best = (type)(-(most) - 1), size = 0;                                              \
    largest_##name(data, n, &best, &size);                                                  \
    uint64_t one = 0;                                                                       \
    best = (type)(best < 0 ? best ^ (most) : best);                                         \
    memcpy(&one, &best, sizeof best);                                                       \
    return size > (infinity) ? (double)NAN : surg__load_f64(dtype, &one, 0);                \
  }
LARGEST(double, int64_t, uint64_t, INT64_MAX, 0x7ff0000000000000)
LARGEST(float, int32_t, uint32_t, INT32_MAX, 0x7f800000)
LARGEST(half, int16_t, uint16_t, INT16_MAX, (dtype == SURG_FLOAT16 ? 0x7c00 : 0x7f80))

static double row_top(const surg__exp_runs *e) {
  const int dtype = e->x->dtype;
  const char *from = (const char *)e->x->data + e->start * surg__dtype_unpacked(dtype);
  if (dtype == SURG_DOUBLE) return top_double(dtype, from, e->length);
  if (dtype == SURG_FLOAT) return top_float(dtype, from, e->length);
  return top_half(dtype, from, e->length);
}

/* --- powers --- */

SURG__INLINE double double_power(double x, double top) {
  return surg__d_exp(x - top);
}
SURG__INLINE float half_power(float x, float top) {
  return surg__f_exp_below(x - top);
}

#define POWERS(name, type, power, exp_of)                                                         \
  SURG__HOT(row_##name, (const type *v, power top, power *to, uint64_t n), (v, top, to, n)) {     \
    for (uint64_t i = 0; i < n; ++i) to[i] = exp_of((power)v[i], top);                           \
  }                                                                                               \
  SURG__HOT(columns_##name, (const type *v, const power *top, power *to, uint64_t n),             \
            (v, top, to, n)) {                                                                    \
    for (uint64_t i = 0; i < n; ++i) to[i] = exp_of((power)v[i], top[i]);                        \
  }                                                                                               \
  SURG__HOT(sums_##name, (const type *v, const power *top, double *acc, uint64_t n),              \
            (v, top, acc, n)) {                                                                   \
    for (uint64_t i = 0; i < n; ++i) acc[i] += (double)exp_of((power)v[i], top[i]);              \
  }                                                                                               \
  SURG__HOT(tops_##name, (const type *v, power *top, uint64_t n), (v, top, n)) {                  \
    for (uint64_t i = 0; i < n; ++i) {                                                            \
      const power x = v[i];                                                                       \
      top[i] = ((x > top[i]) | (x != x)) ? x : top[i];                                            \
    }                                                                                             \
  }
POWERS(doubles, double, double, double_power)
POWERS(floats, float, float, surg__p_exp_below)
POWERS(halves, float, float, half_power)

/* Each to the lane of its index; n is a multiple of LANES but at the end of a run. */
#define ADD(name, power)                                                               \
  SURG__HOT(add_row_##name, (const power *v, uint64_t n, double *acc), (v, n, acc)) {  \
    uint64_t i = 0;                                                                    \
    for (; n - i >= LANES; i += LANES)                                                 \
      for (unsigned j = 0; j < LANES; ++j) acc[j] += (double)v[i + j];                 \
    for (unsigned j = 0; i < n; ++i, ++j) acc[j] += (double)v[i];                      \
  }                                                                                    \
  SURG__HOT(add_columns_##name, (const power *v, uint64_t n, double *acc), (v, n, acc)) { \
    for (uint64_t i = 0; i < n; ++i) acc[i] += (double)v[i];                           \
  }
ADD(reals, double)
ADD(floats, float)

/* The same of elements that are doubles here, whatever their type. */
#define LESS(name, power, exp_of)                                                          \
  SURG__HOT(less_##name, (double *v, const double *top, uint64_t n), (v, top, n)) {        \
    for (uint64_t i = 0; i < n; ++i) v[i] = (double)exp_of((power)v[i], (power)top[i]);    \
  }
LESS(doubles, double, double_power)
LESS(floats, float, surg__p_exp_below)
LESS(halves, float, half_power)

void surg__exp_less(int dtype, double *v, const double *top, uint64_t n) {
  if (dtype == SURG_DOUBLE)
    less_doubles(v, top, n);
  else if (dtype == SURG_FLOAT)
    less_floats(v, top, n);
  else
    less_halves(v, top, n);
}

/* n <= PIECE elements from `at` on, in the type that powers are made of. */
static const void *elements(const surg__array *x, uint64_t at, uint64_t n, float *room) {
  if (x->dtype == SURG_DOUBLE) return (const double *)x->data + at;
  if (x->dtype == SURG_FLOAT) return (const float *)x->data + at;
  surg__widen_halves(x->dtype, (const uint16_t *)x->data + at, room, n);
  return room;
}

/* Element i of n runs at `start`. Runs lie far apart in memory, where no processor looks ahead by
 * itself. */
#define AHEAD 8
#define LINE 64
static uint64_t row_at(const surg__exp_runs *e, uint64_t start, uint64_t n, uint64_t i) {
  const size_t size = surg__dtype_unpacked(e->x->dtype);
  const uint64_t at = start + i * e->step;
  if (e->length - i > AHEAD) {
    const char *next = (const char *)e->x->data + (at + AHEAD * e->step) * size;
    for (size_t b = 0; b < n * size; b += LINE) __builtin_prefetch(next + b);
  }
  return at;
}

static void row_powers(const surg__array *x, uint64_t at, uint64_t n, double top, void *to) {
  float room[PIECE];
  const void *v = elements(x, at, n, room);
  if (x->dtype == SURG_DOUBLE)
    row_doubles(v, top, to, n);
  else if (x->dtype == SURG_FLOAT)
    row_floats(v, (float)top, to, n);
  else
    row_halves(v, (float)top, to, n);
}

static void column_powers(const surg__array *x, uint64_t at, uint64_t n, const powers *top,
                          void *to) {
  float room[PIECE];
  const void *v = elements(x, at, n, room);
  if (x->dtype == SURG_DOUBLE)
    columns_doubles(v, top->of_reals, to, n);
  else if (x->dtype == SURG_FLOAT)
    columns_floats(v, top->of_floats, to, n);
  else
    columns_halves(v, top->of_floats, to, n);
}

/* The same, added to acc. */
static void add_column_powers(const surg__array *x, uint64_t at, uint64_t n, const powers *top,
                              double *acc) {
  float room[PIECE];
  const void *v = elements(x, at, n, room);
  if (x->dtype == SURG_DOUBLE)
    sums_doubles(v, top->of_reals, acc, n);
  else if (x->dtype == SURG_FLOAT)
    sums_floats(v, top->of_floats, acc, n);
  else
    sums_halves(v, top->of_floats, acc, n);
}

static bool by_floats(int dtype) {
  return surg__exp_size(dtype) == sizeof(float);
}

/* Numbers beside elements, in the type of the powers. */
static void spread(int dtype, const double *from, uint64_t n, powers *to) {
  if (!by_floats(dtype)) memcpy(to->of_reals, from, (size_t)n * sizeof *from);
  for (uint64_t i = 0; by_floats(dtype) && i < n; ++i) to->of_floats[i] = (float)from[i];
}

/* --- sums --- */

static void row_sum(const surg__exp_runs *e, double *top, double *sum) {
  const int dtype = e->x->dtype;
  const size_t size = surg__exp_size(dtype);
  double acc[LANES] = {0};
  powers room;
  *top = row_top(e);
  for (uint64_t i = 0; i < e->length; i += PIECE) {
    const uint64_t n = e->length - i < PIECE ? e->length - i : PIECE;
    void *to = e->kept ? (void *)((char *)e->kept + i * size) : &room;
    row_powers(e->x, e->start + i, n, *top, to);
    if (by_floats(dtype))
      add_row_floats(to, n, acc);
    else
      add_row_reals(to, n, acc);
  }
  for (int width = LANES / 2; width > 0; width /= 2)
    for (int i = 0; i < width; ++i) acc[i] += acc[i + width];
  *sum = acc[0];
}

static void column_tops(const surg__exp_runs *e, uint64_t start, uint64_t n, powers *top) {
  const int dtype = e->x->dtype;
  float room[WIDE];
  for (uint64_t i = 0; i < n; ++i) {
    if (by_floats(dtype))
      top->of_floats[i] = -INFINITY;
    else
      top->of_reals[i] = -INFINITY;
  }
  for (uint64_t i = 0; i < e->length; ++i) {
    const void *v = elements(e->x, row_at(e, start, n, i), n, room);
    if (dtype == SURG_DOUBLE)
      tops_doubles(v, top->of_reals, n);
    else if (dtype == SURG_FLOAT)
      tops_floats(v, top->of_floats, n);
    else
      tops_halves(v, top->of_floats, n);
  }
}

static void column_sums(const surg__exp_runs *e, uint64_t start, uint64_t n, double *top,
                        double *sum) {
  const int dtype = e->x->dtype;
  const uint64_t used = e->length < LANES ? e->length : LANES;
  double lanes[LANES][WIDE];
  powers tops;
  column_tops(e, start, n, &tops);
  for (uint64_t i = 0; i < used; ++i) memset(lanes[i], 0, (size_t)n * sizeof *lanes[i]);
  for (uint64_t i = 0; i < e->length; ++i) {
    const uint64_t at = row_at(e, start, n, i);
    if (!e->kept) {
      add_column_powers(e->x, at, n, &tops, lanes[i % LANES]);
      continue;
    }
    void *to = (char *)e->kept + i * n * surg__exp_size(dtype);
    column_powers(e->x, at, n, &tops, to);
    if (by_floats(dtype))
      add_columns_floats(to, n, lanes[i % LANES]);
    else
      add_columns_reals(to, n, lanes[i % LANES]);
  }
  /* A lane that is not there holds what changes nothing. */
  for (uint64_t width = LANES / 2; width > 0; width /= 2)
    for (uint64_t i = 0; i < width && i + width < used; ++i)
      add_columns_reals(lanes[i + width], n, lanes[i]);
  memcpy(sum, lanes[0], (size_t)n * sizeof *sum);
  for (uint64_t i = 0; i < n; ++i)
    top[i] = by_floats(dtype) ? (double)tops.of_floats[i] : tops.of_reals[i];
}

void surg__exp_sums(const surg__exp_runs *e, double *top, double *sum) {
  if (e->single) {
    row_sum(e, top, sum);
    return;
  }
  assert(!e->kept || e->n <= WIDE);
  for (uint64_t j = 0; j < e->n; j += WIDE)
    column_sums(e, e->start + j, e->n - j < WIDE ? e->n - j : WIDE, top + j, sum + j);
}

/* --- shares --- */

/* Doubles are divided, of others a product is as near. One divisor or factor for all, or one each. */
#define SHARE(name, type, expression)                                                           \
  SURG__HOT(share_##name, (const type *v, const double *by, bool one, type *to, uint64_t n),    \
            (v, by, one, to, n)) {                                                              \
    if (one) {                                                                                  \
      const double b = *by;                                                                     \
      for (uint64_t i = 0; i < n; ++i) {                                                        \
        const type r = (expression);                                                            \
        to[i] = r == r ? r : (type)NAN;                                                         \
      }                                                                                         \
    } else {                                                                                    \
      for (uint64_t i = 0; i < n; ++i) {                                                        \
        const double b = by[i];                                                                 \
        const type r = (expression);                                                            \
        to[i] = r == r ? r : (type)NAN;                                                         \
      }                                                                                         \
    }                                                                                           \
  }
SHARE(doubles, double, v[i] / b)
SHARE(floats, float, (float)((double)v[i] * b))
SHARE(halves, float, v[i] * (float)b)

static void share(const surg__array *o, uint64_t at, uint64_t n, const void *v, const double *by,
                  bool one) {
  float room[PIECE];
  if (o->dtype == SURG_DOUBLE) {
    share_doubles(v, by, one, (double *)o->data + at, n);
  } else if (o->dtype == SURG_FLOAT) {
    share_floats(v, by, one, (float *)o->data + at, n);
  } else {
    share_halves(v, by, one, room, n);
    surg__narrow_halves(o->dtype, room, (uint16_t *)o->data + at, n);
  }
}

void surg__exp_shares(const surg__exp_runs *e, const double *top, const double *sum,
                      const surg__array *o) {
  const int dtype = e->x->dtype;
  const size_t size = surg__exp_size(dtype);
  const uint64_t n = e->single ? (e->length < PIECE ? e->length : PIECE) : e->n;
  double by[PIECE];
  powers tops, room;
  assert(e->single || n <= WIDE);
  for (uint64_t i = 0; i < (e->single ? 1 : n); ++i) {
    const double whole = isfinite(top[i]) ? sum[i] : (double)NAN;
    by[i] = dtype == SURG_DOUBLE ? whole : 1 / whole;
  }
  if (!e->single) spread(dtype, top, n, &tops);
  for (uint64_t i = 0; i < e->length; i += e->single ? PIECE : 1) {
    const uint64_t at = e->start + i * e->step, left = e->length - i;
    const uint64_t m = !e->single || left > n ? n : left;
    const void *v = e->kept ? (const char *)e->kept + (e->single ? i : i * n) * size : NULL;
    if (!v && e->single) row_powers(e->x, at, m, *top, &room);
    if (!v && !e->single) column_powers(e->x, row_at(e, e->start, m, i), m, &tops, &room);
    share(o, at, m, v ? v : &room, by, e->single);
  }
}
