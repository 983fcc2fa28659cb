/* SPDX-License-Identifier: Apache-2.0 */
/* A run is walked three times: for its largest element, the sum of its powers, and the shares.
 * Powers are those of vmath_below.h: raised, as sums and shares are not. In between those of float
 * and double wait in the result; of 16-bit floats they are kept, or made again. */
#include "eval/fast/exp_fast.h"

#include <math.h>

#include "base/dtype.h"
#include "eval/fast/cast_fast.h"
#include "eval/fast/halves.h"
#include "eval/core/number.h"
#include "eval/fast/vmath_below.h"

#define LANES 16 /* divides PIECE */
#define PIECE SURG__PIECE

#define AHEAD (16 << 10) /* bytes: runs that stay in the nearest cache with their powers */

typedef union powers {
  double of_reals[PIECE];
  float of_floats[PIECE];
} powers;

size_t surg__exp_size(int dtype) {
  return dtype == SURG_DOUBLE ? sizeof(double) : sizeof(float);
}

bool surg__exp_half(int dtype) {
  return dtype == SURG_FLOAT16 || dtype == SURG_BFLOAT16;
}

double surg__exp_lower(int dtype) {
  return ldexp(1, -(dtype == SURG_DOUBLE ? SURG__RAISED_DOUBLE : SURG__RAISED_FLOAT));
}

/* --- the largest element of a row --- */

/* As patterns of bits: the largest signed one, or, where all elements have a sign, the smallest
 * unsigned one. NaN is above infinity, or above it with its sign. */
#define LARGEST(name, type, wrapping, infinity)                                             \
  SURG__HOT(largest_##name, (const wrapping *v, uint64_t n, type *first, wrapping *second,  \
                             wrapping *third), (v, n, first, second, third)) {              \
    type above = *first;                                                                    \
    wrapping least = *second, most = *third;                                                \
    for (uint64_t i = 0; i < n; ++i) {                                                      \
      const type bits = (type)v[i];                                                         \
      above = bits > above ? bits : above;                                                  \
      least = v[i] < least ? v[i] : least;                                                  \
      most = v[i] > most ? v[i] : most;                                                     \
    }                                                                                       \
    *first = above;                                                                         \
    *second = least;                                                                        \
    *third = most;                                                                          \
  }                                                                                         \
  static double top_##name(int dtype, const void *data, uint64_t n) {                       \
    const wrapping all = (wrapping)-1, sign = (wrapping)(all ^ all >> 1);                   \
    type above = (type)sign;                                                                \
    wrapping least = all, most = 0;                                                         \
    largest_##name(data, n, &above, &least, &most);                                         \
    uint64_t one = 0;                                                                       \
    if (above >= 0) least = (wrapping)above;                                                \
    memcpy(&one, &least, sizeof least);                                                     \
    const bool is_nan = above > (type)(infinity) || most > (wrapping)(sign | (infinity));   \
    return is_nan ? (double)NAN : surg__load_f64(dtype, &one, 0);                           \
  }
LARGEST(double, int64_t, uint64_t, 0x7ff0000000000000)
LARGEST(float, int32_t, uint32_t, 0x7f800000)
LARGEST(half, int16_t, uint16_t, (dtype == SURG_FLOAT16 ? 0x7c00 : 0x7f80))

static double row_top(const surg__exp_runs *e) {
  const int dtype = e->x->dtype;
  const char *from = (const char *)e->x->data + e->start * surg__dtype_unpacked(dtype);
  if (dtype == SURG_DOUBLE) return top_double(dtype, from, e->length);
  if (dtype == SURG_FLOAT) return top_float(dtype, from, e->length);
  return top_half(dtype, from, e->length);
}

/* --- powers --- */

/* Rows at a time: what belongs to columns is fetched once for all of them. */
#define AT_ONCE 4

/* Sums: each power to the lane of its index, n a multiple of LANES but at the end of a run; or, by
 * columns, each to its column: one row, or `rows` of them `apart`, in turn. */
#define POWERS(name, type, exp_of)                                                                \
  SURG__HOT(row_##name, (const type *v, type top, type *to, double *acc, uint64_t n),             \
            (v, top, to, acc, n)) {                                                               \
    uint64_t i = 0;                                                                               \
    for (; i < n; ++i) to[i] = exp_of(v[i], top);                                                 \
    double a[LANES];                                                                              \
    for (unsigned j = 0; j < LANES; ++j) a[j] = acc[j];                                           \
    for (i = 0; n - i >= LANES; i += LANES)                                                       \
      for (unsigned j = 0; j < LANES; ++j) a[j] += (double)to[i + j];                             \
    for (unsigned j = 0; j < LANES; ++j) acc[j] = a[j];                                           \
    for (unsigned j = 0; i < n; ++i, ++j) acc[j] += (double)to[i];                                \
  }                                                                                               \
  SURG__HOT(columns_##name, (const type *v, const type *top, type *to, double *acc, uint64_t n),  \
            (v, top, to, acc, n)) {                                                               \
    for (uint64_t i = 0; i < n; ++i) acc[i] += (double)(to[i] = exp_of(v[i], top[i]));            \
  }                                                                                               \
  SURG__HOT(sums_##name, (const type *v, uint64_t apart, uint64_t rows, const type *top,          \
                          double *acc, uint64_t n), (v, apart, rows, top, acc, n)) {              \
    for (uint64_t i = 0; rows == AT_ONCE && i < n; ++i) {                                         \
      double a = acc[i];                                                                          \
      _Pragma("GCC unroll 4") for (unsigned r = 0; r < AT_ONCE; ++r)                              \
        a += (double)exp_of(v[r * apart + i], top[i]);                                            \
      acc[i] = a;                                                                                 \
    }                                                                                             \
    for (uint64_t r = 0; rows != AT_ONCE && r < rows; ++r)                                        \
      for (uint64_t i = 0; i < n; ++i) acc[i] += (double)exp_of(v[r * apart + i], top[i]);        \
  }                                                                                               \
  /* Elements that are doubles here, whatever their type. */                                      \
  SURG__HOT(less_##name, (double *v, const double *top, uint64_t n), (v, top, n)) {               \
    for (uint64_t i = 0; i < n; ++i) v[i] = (double)exp_of((type)v[i], (type)top[i]);             \
  }
POWERS(doubles, double, surg__d_exp_raised)
POWERS(floats, float, surg__p_exp_raised)
POWERS(halves, float, surg__f_exp_raised)
SURG__HOT(powers_halves, (const float *v, const float *top, float *to, uint64_t n),
          (v, top, to, n)) {
  for (uint64_t i = 0; i < n; ++i) to[i] = surg__f_exp_raised(v[i], top[i]);
}

SURG__HOT(add, (const double *v, uint64_t n, double *acc), (v, n, acc)) {
  for (uint64_t i = 0; i < n; ++i) acc[i] += v[i];
}

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

static bool by_floats(int dtype) {
  return surg__exp_size(dtype) == sizeof(float);
}

/* --- runs of elements next to each other --- */

/* Where the powers of n columns are kept, from j of element i on; NULL: nowhere. */
static void *kept_at(const surg__exp_runs *e, uint64_t i, uint64_t j) {
  const uint64_t size = surg__exp_size(e->x->dtype);
  if (e->kept) return (char *)e->kept + (i * e->n + j) * size;
  if (!e->o || surg__exp_half(e->x->dtype)) return NULL;
  return (char *)e->o->data + (e->start + i * e->step + j) * size;
}

static void row_powers(const surg__array *x, uint64_t at, uint64_t n, double top, void *to,
                       double *acc) {
  float room[PIECE];
  const void *v = elements(x, at, n, room);
  if (x->dtype == SURG_DOUBLE)
    row_doubles(v, top, to, acc, n);
  else if (x->dtype == SURG_FLOAT)
    row_floats(v, (float)top, to, acc, n);
  else
    row_halves(v, (float)top, to, acc, n);
}

/* n elements from `at` on will be read: no processor sees by itself where another row begins. */
#define LINE 64
static void ask_for(const surg__array *x, uint64_t at, uint64_t n) {
  const uint64_t size = surg__dtype_unpacked(x->dtype);
  if (at > x->count || x->count - at < n) return;
  const char *next = (const char *)x->data + at * size;
  for (uint64_t b = 0; b < n * size; b += LINE) __builtin_prefetch(next + b, 0, 2);
}

static void row_sum(const surg__exp_runs *e, double *top, double *sum) {
  const int dtype = e->x->dtype;
  const bool near = e->length * surg__dtype_unpacked(dtype) <= AHEAD;
  double acc[LANES] = {0};
  powers room;
  *top = row_top(e);
  for (uint64_t i = 0; i < e->length; i += PIECE) {
    const uint64_t n = e->length - i < PIECE ? e->length - i : PIECE;
    void *kept = kept_at(e, i, 0);
    /* What stands behind this run is the next one, most likely. */
    if (near) ask_for(e->x, e->start + e->length + i, n);
    row_powers(e->x, e->start + i, n, *top, kept ? kept : &room, acc);
  }
  for (int width = LANES / 2; width > 0; width /= 2)
    for (int i = 0; i < width; ++i) acc[i] += acc[i + width];
  *sum = acc[0] * surg__exp_lower(dtype);
}

/* --- runs that start next to each other --- */

/* The largest so far. */
#define TOPS(name, type)                                                                        \
  SURG__HOT(tops_##name, (const type *v, uint64_t apart, uint64_t rows, type *top, uint64_t n), \
            (v, apart, rows, top, n)) {                                                         \
    for (uint64_t i = 0; rows == AT_ONCE && i < n; ++i) {                                       \
      type best = top[i];                                                                       \
      _Pragma("GCC unroll 4") for (unsigned r = 0; r < AT_ONCE; ++r) {                          \
        const type x = v[r * apart + i];                                                        \
        best = ((x > best) | (x != x)) ? x : best;                                              \
      }                                                                                         \
      top[i] = best;                                                                            \
    }                                                                                           \
    for (uint64_t r = 0; rows != AT_ONCE && r < rows; ++r) {                                    \
      for (uint64_t i = 0; i < n; ++i) {                                                        \
        const type x = v[r * apart + i];                                                        \
        top[i] = ((x > top[i]) | (x != x)) ? x : top[i];                                        \
      }                                                                                         \
    }                                                                                           \
  }
TOPS(doubles, double)
TOPS(floats, float)

/* 16-bit floats by their order, in which NaN is above all. */
SURG__INLINE int16_t in_order(int16_t bits, int16_t infinity) {
  const int16_t magnitude = (int16_t)(bits & INT16_MAX);
  const int16_t order = (int16_t)(bits < 0 ? bits ^ INT16_MAX : bits);
  return magnitude > infinity ? INT16_MAX : order;
}
SURG__HOT(tops_halves, (const int16_t *v, uint64_t apart, uint64_t rows, int16_t infinity,
                        int16_t *top, uint64_t n), (v, apart, rows, infinity, top, n)) {
  for (uint64_t i = 0; rows == AT_ONCE && i < n; ++i) {
    int16_t best = top[i];
    _Pragma("GCC unroll 4") for (unsigned r = 0; r < AT_ONCE; ++r) {
      const int16_t order = in_order(v[r * apart + i], infinity);
      best = order > best ? order : best;
    }
    top[i] = best;
  }
  for (uint64_t r = 0; rows != AT_ONCE && r < rows; ++r) {
    for (uint64_t i = 0; i < n; ++i) {
      const int16_t order = in_order(v[r * apart + i], infinity);
      top[i] = order > top[i] ? order : top[i];
    }
  }
}

/* The largest of each run to `top`. */
static void column_tops(const surg__exp_runs *e, double *top) {
  const int dtype = e->x->dtype;
  const char *from = (const char *)e->x->data + e->start * surg__dtype_unpacked(dtype);
  void *best = e->room;
  for (uint64_t j = 0; j < e->n; ++j) {
    if (dtype == SURG_DOUBLE)
      ((double *)best)[j] = -INFINITY;
    else if (dtype == SURG_FLOAT)
      ((float *)best)[j] = -INFINITY;
    else
      ((int16_t *)best)[j] = INT16_MIN;
  }
  for (uint64_t i = 0, rows; i < e->length; i += rows) {
    const void *v = from + i * e->step * surg__dtype_unpacked(dtype);
    rows = e->length - i < AT_ONCE ? e->length - i : AT_ONCE;
    if (dtype == SURG_DOUBLE)
      tops_doubles(v, e->step, rows, best, e->n);
    else if (dtype == SURG_FLOAT)
      tops_floats(v, e->step, rows, best, e->n);
    else
      tops_halves(v, e->step, rows, dtype == SURG_FLOAT16 ? 0x7c00 : 0x7f80, best, e->n);
  }
  for (uint64_t j = 0; j < e->n && surg__exp_half(dtype); ++j) {
    int16_t *order = (int16_t *)best + j;
    *order = (int16_t)(*order < 0 ? *order ^ INT16_MAX : *order);
  }
  surg__load_run(dtype, best, 0, 1, e->n, top);
}

/* Numbers beside elements, in the type of the powers. */
static void spread(int dtype, const double *from, uint64_t n, void *to) {
  if (!by_floats(dtype)) memcpy(to, from, (size_t)n * sizeof *from);
  for (uint64_t i = 0; by_floats(dtype) && i < n; ++i) ((float *)to)[i] = (float)from[i];
}

/* Column j of what `spread` wrote, or of powers. */
static void *column(int dtype, const void *v, uint64_t j) {
  return (char *)v + j * surg__exp_size(dtype);
}

/* The powers of a row, kept and added to acc. */
static void keep_powers(int dtype, const void *v, const void *top, void *to, double *acc,
                        uint64_t n) {
  if (dtype == SURG_DOUBLE)
    columns_doubles(v, top, to, acc, n);
  else if (dtype == SURG_FLOAT)
    columns_floats(v, top, to, acc, n);
  else
    columns_halves(v, top, to, acc, n);
}

static void add_powers(int dtype, const void *v, uint64_t apart, uint64_t rows, const void *top,
                       double *acc, uint64_t n) {
  if (dtype == SURG_DOUBLE)
    sums_doubles(v, apart, rows, top, acc, n);
  else if (dtype == SURG_FLOAT)
    sums_floats(v, apart, rows, top, acc, n);
  else
    sums_halves(v, PIECE, rows, top, acc, n);
}

/* The powers of `rows` rows from i on, LANES apart, added to acc, and kept where there is room. */
static void add_rows(const surg__exp_runs *e, uint64_t i, uint64_t rows, const void *tops,
                     double *acc) {
  const int dtype = e->x->dtype;
  const uint64_t at = e->start + i * e->step, apart = LANES * e->step;
  float room[AT_ONCE][PIECE];
  for (uint64_t j = 0, n; j < e->n; j += n) {
    const void *top = column(dtype, tops, j), *v[AT_ONCE];
    n = e->n - j < PIECE ? e->n - j : PIECE;
    for (uint64_t r = 0; r < rows; ++r) {
      ask_for(e->x, at + r * apart + e->step + j, n);
      v[r] = elements(e->x, at + r * apart + j, n, room[r]);
    }
    if (!kept_at(e, i, j)) {
      add_powers(dtype, v[0], apart, rows, top, acc + j, n);
      continue;
    }
    for (uint64_t r = 0; r < rows; ++r)
      keep_powers(dtype, v[r], top, kept_at(e, i + r * LANES, j), acc + j, n);
  }
}

static void column_sums(const surg__exp_runs *e, double *top, double *sum) {
  const int dtype = e->x->dtype;
  const uint64_t n = e->n, used = e->length < LANES ? e->length : LANES;
  double *lanes = e->room;
  void *tops = lanes + LANES * n;
  column_tops(e, top);
  spread(dtype, top, n, tops);
  memset(lanes, 0, (size_t)(used * n) * sizeof *lanes);
  /* In each lane one row after the other, so that it comes out as it would along the last axis. */
  for (uint64_t i = 0; i < e->length; i += AT_ONCE * LANES) {
    for (uint64_t lane = 0; lane < LANES && i + lane < e->length; ++lane) {
      const uint64_t left = (e->length - i - lane + LANES - 1) / LANES;
      add_rows(e, i + lane, left < AT_ONCE ? left : AT_ONCE, tops, lanes + lane * n);
    }
  }
  /* A lane that is not there holds what changes nothing. */
  for (uint64_t width = LANES / 2; width > 0; width /= 2)
    for (uint64_t i = 0; i < width && i + width < used; ++i)
      add(lanes + (i + width) * n, n, lanes + i * n);
  for (uint64_t j = 0; j < n; ++j) sum[j] = lanes[j] * surg__exp_lower(dtype);
}

void surg__exp_sums(const surg__exp_runs *e, double *top, double *sum) {
  if (e->single)
    row_sum(e, top, sum);
  else
    column_sums(e, top, sum);
}

/* --- shares --- */

/* Of raised powers: of doubles the divisor and its inverse, of floats a factor, which is as near,
 * of 16-bit floats one that is a float. One for all, or one each. */
typedef struct divisors {
  bool one;
  double *by, *inverse;
  float *factor;
} divisors;

/* v / by, in all but rare cases the nearest. */
SURG__INLINE double quotient(double v, double by, double inverse) {
  const double q = v * inverse;
  return surg__v_fma(surg__v_fma(-q, by, v), inverse, q);
}

/* In place. */
SURG__HOT(share_doubles, (double *v, const divisors *d, uint64_t j, uint64_t n), (v, d, j, n)) {
  const double *by = d->by + j, *inverse = d->inverse + j, b = *by, c = *inverse;
  for (uint64_t i = 0; d->one && i < n; ++i) v[i] = quotient(v[i], b, c);
  for (uint64_t i = 0; !d->one && i < n; ++i) v[i] = quotient(v[i], by[i], inverse[i]);
}
SURG__HOT(share_floats, (float *v, const divisors *d, uint64_t j, uint64_t n), (v, d, j, n)) {
  const double *by = d->by + j, b = *by;
  for (uint64_t i = 0; d->one && i < n; ++i) v[i] = (float)((double)v[i] * b);
  for (uint64_t i = 0; !d->one && i < n; ++i) v[i] = (float)((double)v[i] * by[i]);
}
SURG__HOT(share_bf16, (const float *v, const divisors *d, uint64_t j, uint16_t *to, uint64_t n),
          (v, d, j, to, n)) {
  const float *by = d->factor + j, b = *by;
  for (uint64_t i = 0; d->one && i < n; ++i) to[i] = surg__bf16_of(v[i] * b);
  for (uint64_t i = 0; !d->one && i < n; ++i) to[i] = surg__bf16_of(v[i] * by[i]);
}
SURG__HOT(share_singles, (const float *v, const divisors *d, uint64_t j, float *to, uint64_t n),
          (v, d, j, to, n)) {
  const float *by = d->factor + j;
  for (uint64_t i = 0; i < n; ++i) to[i] = v[i] * by[d->one ? 0 : i];
}
#if defined(__x86_64__)
/* How many of n were done so. */
SURG__WIDEST static uint64_t share_f16(const float *v, const divisors *d, uint64_t j, uint16_t *to,
                                       uint64_t n) {
  const __m512 all = _mm512_set1_ps(d->factor[j]);
  uint64_t i = 0;
  for (; n - i >= 16; i += 16) {
    const __m512 by = d->one ? all : _mm512_loadu_ps(d->factor + j + i);
    const __m512 r = _mm512_mul_ps(_mm512_loadu_ps(v + i), by);
    _mm256_storeu_si256((__m256i *)(void *)(to + i), _mm512_cvtps_ph(r, _MM_FROUND_TO_NEAREST_INT));
  }
  return i;
}
#endif

static void share_halves(const surg__array *o, uint64_t at, uint64_t n, const float *v,
                         const divisors *d, uint64_t j) {
  uint16_t *to = (uint16_t *)o->data + at;
  float room[PIECE];
  uint64_t done = 0;
  if (o->dtype == SURG_BFLOAT16) {
    share_bf16(v, d, j, to, n);
    return;
  }
#if defined(__x86_64__)
  if (surg__cpu_widest()) done = share_f16(v, d, j, to, n);
#endif
  share_singles(v + done, d, d->one ? j : j + done, room, n - done);
  surg__narrow_halves(o->dtype, room, to + done, n - done);
}

/* n <= PIECE of them at `at`, of columns from j on, from powers that are there or, of 16-bit
 * floats, in v. */
static void share(const surg__array *o, uint64_t at, uint64_t n, const void *v, const divisors *d,
                  uint64_t j) {
  if (o->dtype == SURG_DOUBLE)
    share_doubles((double *)o->data + at, d, j, n);
  else if (o->dtype == SURG_FLOAT)
    share_floats((float *)o->data + at, d, j, n);
  else
    share_halves(o, at, n, v, d, j);
}

static void divisor(int dtype, double sum, const divisors *d, uint64_t j) {
  const double lower = surg__exp_lower(dtype), share = lower / sum;
  d->by[j] = dtype == SURG_DOUBLE ? sum / lower : share;
  if (dtype == SURG_DOUBLE)
    d->inverse[j] = share;
  else if (dtype != SURG_FLOAT)
    d->factor[j] = (float)share;
}

static void row_shares(const surg__exp_runs *e, double top, double sum) {
  const int dtype = e->x->dtype;
  double by, inverse, unused[LANES] = {0};
  float factor;
  const divisors d = {true, &by, &inverse, &factor};
  powers room;
  for (uint64_t i = 0; !isfinite(top) && i < e->length; ++i)
    surg__store_f64(dtype, e->o->data, e->start + i, NAN);
  if (!isfinite(top)) return;
  divisor(dtype, sum, &d, 0);
  for (uint64_t i = 0, n; i < e->length; i += n) {
    const void *v = kept_at(e, i, 0);
    n = e->length - i < PIECE ? e->length - i : PIECE;
    if (!v) row_powers(e->x, e->start + i, n, top, &room, unused);
    share(e->o, e->start + i, n, v ? v : &room, &d, 0);
  }
}

/* The powers of n <= PIECE columns of 16-bit floats, from j of row i on, once more. */
static const void *again(const surg__exp_runs *e, uint64_t i, uint64_t j, uint64_t n,
                         const float *tops, float *to) {
  const uint64_t at = e->start + i * e->step + j;
  float room[PIECE];
  ask_for(e->x, at + e->step, n);
  powers_halves(elements(e->x, at, n, room), tops + j, to, n);
  return to;
}

static void column_shares(const surg__exp_runs *e, const double *top, const double *sum) {
  const int dtype = e->x->dtype;
  double *room = e->room;
  const divisors d = {false, room, room + e->n, (float *)(room + e->n)};
  uint64_t *odd = (uint64_t *)(void *)(room + 2 * e->n), n_odd = 0;
  void *tops = room + 3 * e->n;
  float made[PIECE];
  for (uint64_t j = 0; j < e->n; ++j) {
    divisor(dtype, sum[j], &d, j);
    if (!isfinite(top[j])) odd[n_odd++] = j;
  }
  spread(dtype, top, e->n, tops);
  for (uint64_t i = 0; i < e->length; ++i) {
    const uint64_t at = e->start + i * e->step;
    for (uint64_t j = 0, n; j < e->n; j += n) {
      const void *v = kept_at(e, i, j);
      n = e->n - j < PIECE ? e->n - j : PIECE;
      share(e->o, at + j, n, v ? v : again(e, i, j, n, tops, made), &d, j);
    }
    for (uint64_t k = 0; k < n_odd; ++k) surg__store_f64(dtype, e->o->data, at + odd[k], NAN);
  }
}

void surg__exp_shares(const surg__exp_runs *e, const double *top, const double *sum) {
  if (e->single)
    row_shares(e, *top, *sum);
  else
    column_shares(e, top, sum);
}
