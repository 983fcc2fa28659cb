/* SPDX-License-Identifier: Apache-2.0 */
/* CumSum and CumProd. Floats are accumulated in double in index order and rounded as they are
 * stored; integers wrap. */
#include <math.h>

#include "eval/fast/cast_fast.h"
#include "eval/fast/halves.h"
#include "eval/fast/hot.h"
#include "eval/core/kernels.h"
#include "eval/core/number.h"
#include "eval/fast/piece.h"

typedef struct cumulation {
  const surg__array *x, *o;
  uint64_t length, step;
  bool real, product, exclusive, reverse;
} cumulation;

/* --- runs of elements next to each other --- */

/* Runs at a time: each addition waits for the one before it in its own run alone. */
#define ROWS 8
#define SPAN 256  /* elements of each */
#define APART 264 /* runs must not share lines of the cache */

#define CUMULATE_ROWS(suffix, type)                                                              \
  /* In place; of each run n <= SPAN elements, from its last one on where `reverse`. */          \
  SURG__INLINE void rows_##suffix##_as(const cumulation *c, type *acc, type (*v)[APART],         \
                                       uint64_t n, bool product) {                               \
    type a[ROWS];                                                                                \
    for (unsigned r = 0; r < ROWS; ++r) a[r] = acc[r];                                           \
    for (uint64_t i = 0; i < n; ++i) {                                                           \
      const uint64_t at = c->reverse ? n - 1 - i : i;                                            \
      for (unsigned r = 0; r < ROWS; ++r) {                                                      \
        const type before = a[r], after = product ? before * v[r][at] : before + v[r][at];       \
        v[r][at] = c->exclusive ? before : after;                                                \
        a[r] = after;                                                                            \
      }                                                                                          \
    }                                                                                            \
    for (unsigned r = 0; r < ROWS; ++r) acc[r] = a[r];                                           \
  }                                                                                              \
  static void rows_##suffix(const cumulation *c, type *acc, type (*v)[APART], uint64_t n) {      \
    if (c->product)                                                                              \
      rows_##suffix##_as(c, acc, v, n, true);                                                    \
    else                                                                                         \
      rows_##suffix##_as(c, acc, v, n, false);                                                   \
  }
CUMULATE_ROWS(real, double)
CUMULATE_ROWS(whole, uint64_t)

typedef union row_pieces {
  double real[ROWS][APART];
  uint64_t whole[ROWS][APART];
} row_pieces;

typedef union sums {
  double real[ROWS];
  uint64_t whole[ROWS];
} sums;

static void load(const cumulation *c, uint64_t at, uint64_t n, unsigned r, row_pieces *v) {
  if (c->real)
    surg__load_run(c->x->dtype, c->x->data, at, 1, n, v->real[r]);
  else
    surg__load_whole(c->x->dtype, c->x->data, at, 1, n, v->whole[r]);
}

static void store(const cumulation *c, uint64_t at, uint64_t n, unsigned r, const row_pieces *v) {
  if (c->real)
    surg__store_run(c->o->dtype, c->o->data, at, n, v->real[r]);
  else
    surg__store_whole(c->o->dtype, c->o->data, at, n, v->whole[r]);
}

/* For the next piece of a run: of so many at a time no processor follows each by itself. */
#define LINE 64
static void ask_ahead(const cumulation *c, uint64_t at) {
  const size_t size = surg__dtype_unpacked(c->x->dtype);
  const size_t next = (size_t)(c->reverse ? at - SPAN : at + SPAN) * size;
  for (size_t i = 0; i < SPAN * size; i += LINE) {
    __builtin_prefetch((const char *)c->x->data + next + i);
    __builtin_prefetch((char *)c->o->data + next + i, 1);
  }
}

/* `used` runs, one after the other in memory, from element `first` in the order of addition on; in
 * acc what came before. The runs that are not used hold what is never stored. */
static void of_rows(const cumulation *c, uint64_t start, unsigned used, uint64_t first, sums *acc) {
  row_pieces v = {{{0}}};
  uint64_t n;
  for (uint64_t done = first; done < c->length; done += n) {
    n = c->length - done < SPAN ? c->length - done : SPAN;
    const uint64_t at = start + (c->reverse ? c->length - done - n : done);
    for (unsigned r = 0; r < used; ++r) {
      load(c, at + r * c->length, n, r, &v);
      if (c->length - done - n >= SPAN) ask_ahead(c, at + r * c->length);
    }
    if (c->real)
      rows_real(c, acc->real, v.real, n);
    else
      rows_whole(c, acc->whole, v.whole, n);
    for (unsigned r = 0; r < used; ++r) store(c, at + r * c->length, n, r, &v);
  }
}

/* --- runs that start next to each other --- */

#define WIDE 4096 /* runs at a time: long rows of memory, sums that stay in the cache */

/* Row i of `n` runs in the order they are added. */
static uint64_t row_at(const cumulation *c, uint64_t start, uint64_t i) {
  return start + (c->reverse ? c->length - 1 - i : i) * c->step;
}

#define STEP(name, type, held, result)                                                          \
  SURG__HOT(name, (const held *before, const type *v, held *after, uint64_t n, bool product),   \
            (before, v, after, n, product)) {                                                   \
    if (product) {                                                                              \
      for (uint64_t j = 0; j < n; ++j) {                                                        \
        const held r = before[j] * (held)v[j];                                                  \
        after[j] = result;                                                                      \
      }                                                                                         \
    } else {                                                                                    \
      for (uint64_t j = 0; j < n; ++j) {                                                        \
        const held r = before[j] + (held)v[j];                                                  \
        after[j] = result;                                                                      \
      }                                                                                         \
    }                                                                                           \
  }
STEP(step_float, float, double, r)
STEP(step_double, double, double, r == r ? r : (double)NAN)
STEP(step_uint32, uint32_t, uint32_t, r)
STEP(step_uint64, uint64_t, uint64_t, r)

/* Where a sum has the type of the elements, each row is made of the one before it. */
static void of_columns(const cumulation *c, uint64_t start, uint64_t n) {
  const int dtype = c->x->dtype;
  const size_t size = surg__dtype_unpacked(dtype);
  const char *from = c->x->data;
  char *out = c->o->data;
  for (uint64_t i = 0; i < c->length; ++i) {
    const uint64_t at = row_at(c, start, i), before = i > 0 ? row_at(c, start, i - 1) : at;
    char *to = out + at * size;
    for (uint64_t j = 0; i == 0 && j < n; ++j) {
      if (c->real)
        ((double *)(void *)to)[j] = c->product;
      else
        surg__store_int(dtype, to, j, c->product);
    }
    if (i == 0 && c->exclusive) continue;
    const void *last = out + before * size, *v = from + (c->exclusive ? before : at) * size;
    if (c->real)
      step_double(last, v, (void *)to, n, c->product);
    else if (size == sizeof(uint32_t))
      step_uint32(last, v, (void *)to, n, c->product);
    else if (size == sizeof(uint64_t))
      step_uint64(last, v, (void *)to, n, c->product);
  }
}

/* Up to SPAN elements as floats. */
static const float *floats(const surg__array *x, uint64_t at, uint64_t n, float *room) {
  if (x->dtype == SURG_FLOAT) return (const float *)x->data + at;
  surg__widen_halves(x->dtype, (const uint16_t *)x->data + at, room, n);
  return room;
}

/* The same where sums are wider. */
static void of_narrow_columns(const cumulation *c, uint64_t start, uint64_t n) {
  double acc[WIDE];
  float room[SPAN];
  for (uint64_t j = 0; j < n; ++j) acc[j] = c->product;
  for (uint64_t i = 0; i < c->length; ++i) {
    const uint64_t at = row_at(c, start, i);
    for (uint64_t j = 0; j < n; j += SPAN) {
      const uint64_t m = n - j < SPAN ? n - j : SPAN;
      const float *v = floats(c->x, at + j, m, room);
      if (c->exclusive) surg__store_run(c->o->dtype, c->o->data, at + j, m, acc + j);
      step_float(acc + j, v, acc + j, m, c->product);
      if (!c->exclusive) surg__store_run(c->o->dtype, c->o->data, at + j, m, acc + j);
    }
  }
}

/* --- 16-bit floats with AVX-512 --- */

#define SIXTEEN 16
#if defined(__x86_64__)
#define AT_ONCE 4 /* rows: sums are fetched once for all of them */

typedef struct half_rows {
  const uint16_t *from;
  uint16_t *to;
  int64_t step;
  uint64_t rows;
} half_rows;

/* n runs, a multiple of sixteen, next to each other: `rows` elements of each. */
SURG__VECTOR void add_halves_as(const half_rows *h, double *acc, uint64_t n, int dtype,
                                bool product, bool exclusive) {
  const int64_t step = h->step;
  for (uint64_t j = 0; j < n; j += SIXTEEN) {
    surg__v16d a = {_mm512_loadu_pd(acc + j), _mm512_loadu_pd(acc + j + 8)};
    const uint16_t *from = h->from + j;
    uint16_t *to = h->to + j;
    for (uint64_t left = h->rows; left > 0; --left, from += step, to += step) {
      const surg__v16d v = surg__load_sixteen(dtype, from), before = a;
      a.low = product ? _mm512_mul_pd(a.low, v.low) : _mm512_add_pd(a.low, v.low);
      a.high = product ? _mm512_mul_pd(a.high, v.high) : _mm512_add_pd(a.high, v.high);
      const surg__v16d r = exclusive ? before : a;
      if (__builtin_expect(!surg__store_sixteen(dtype, r, to), false)) {
        double odd[SIXTEEN];
        _mm512_storeu_pd(odd, r.low);
        _mm512_storeu_pd(odd + 8, r.high);
        surg__store_run(dtype, to, 0, SIXTEEN, odd);
      }
    }
    _mm512_storeu_pd(acc + j, a.low);
    _mm512_storeu_pd(acc + j + 8, a.high);
  }
}

#define ADD_HALVES(name, dtype)                                                       \
  SURG__WIDEST static void name(const cumulation *c, const half_rows *h, double *acc, \
                                uint64_t n) {                                         \
    if (c->exclusive)                                                                 \
      add_halves_as(h, acc, n, dtype, c->product, true);                              \
    else if (c->product)                                                              \
      add_halves_as(h, acc, n, dtype, true, false);                                   \
    else                                                                              \
      add_halves_as(h, acc, n, dtype, false, false);                                  \
  }
ADD_HALVES(add_f16, SURG_FLOAT16)
ADD_HALVES(add_bf16, SURG_BFLOAT16)

static void add_halves(const cumulation *c, const half_rows *h, double *acc, uint64_t n) {
  if (c->x->dtype == SURG_FLOAT16)
    add_f16(c, h, acc, n);
  else
    add_bf16(c, h, acc, n);
}

static void of_half_columns(const cumulation *c, uint64_t start, uint64_t n) {
  double acc[WIDE];
  for (uint64_t j = 0; j < n; ++j) acc[j] = c->product;
  for (uint64_t i = 0, rows; i < c->length; i += rows) {
    rows = c->length - i < AT_ONCE ? c->length - i : AT_ONCE;
    const uint64_t at = row_at(c, start, i);
    const half_rows h = {.from = (const uint16_t *)c->x->data + at,
                         .to = (uint16_t *)c->o->data + at, .rows = rows,
                         .step = c->reverse ? -(int64_t)c->step : (int64_t)c->step};
    add_halves(c, &h, acc, n);
  }
}

/* Sixteen rows of as many elements as sixteen columns: interleaving rows i and i + 4 of eight turns
 * the bits of the place, row and column, by one. */
SURG__VECTOR void turn(const uint16_t *from, uint64_t from_step, uint16_t *to, uint64_t to_step) {
  __m256i v[SIXTEEN], w[SIXTEEN];
  for (int i = 0; i < SIXTEEN; ++i)
    v[i] = _mm256_loadu_si256((const __m256i *)(const void *)(from + (uint64_t)i * from_step));
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 8; ++i) {
      const int a = i / 4 * 8 + i % 4, b = i / 4 * 8 + i % 4 * 2;
      w[b] = _mm256_unpacklo_epi16(v[a], v[a + 4]);
      w[b + 1] = _mm256_unpackhi_epi16(v[a], v[a + 4]);
    }
    for (int i = 0; i < SIXTEEN; ++i) v[i] = w[i];
  }
  for (int i = 0; i < SIXTEEN; ++i) {
    const __m256i a = v[i % 8], b = v[i % 8 + 8];
    const __m256i r = i < 8 ? _mm256_permute2x128_si256(a, b, 0x20)
                            : _mm256_permute2x128_si256(a, b, 0x31);
    _mm256_storeu_si256((__m256i *)(void *)(to + (uint64_t)i * to_step), r);
  }
}

/* Sixteen runs, one after the other in memory. What is turned is copied first: runs far apart share
 * lines of the cache. */
typedef struct tile {
  uint16_t runs[SIXTEEN][APART], turned[SPAN * SIXTEEN];
} tile;

SURG__VECTOR void turn_in(tile *t, uint64_t n) {
  for (uint64_t i = 0; i < n; i += SIXTEEN)
    turn(&t->runs[0][i], APART, t->turned + i * SIXTEEN, SIXTEEN);
}
SURG__VECTOR void turn_back(tile *t, uint64_t n) {
  for (uint64_t i = 0; i < n; i += SIXTEEN)
    turn(t->turned + i * SIXTEEN, SIXTEEN, &t->runs[0][i], APART);
}

SURG__VECTOR void copy_sixteens(const uint16_t *from, uint16_t *to, uint64_t n) {
  for (uint64_t i = 0; i < n; i += SIXTEEN) {
    const __m256i v = _mm256_loadu_si256((const __m256i *)(const void *)(from + i));
    _mm256_storeu_si256((__m256i *)(void *)(to + i), v);
  }
}

SURG__WIDEST static void of_half_rows(const cumulation *c, uint64_t start) {
  const uint64_t whole = c->length / SIXTEEN * SIXTEEN;
  double acc[SIXTEEN];
  tile t;
  sums rest;
  for (unsigned r = 0; r < SIXTEEN; ++r) acc[r] = c->product;
  for (uint64_t done = 0, n; done < whole; done += n) {
    n = whole - done < SPAN ? whole - done : SPAN;
    const uint64_t at = start + (c->reverse ? c->length - done - n : done);
    const uint16_t *from = (const uint16_t *)c->x->data + at;
    uint16_t *to = (uint16_t *)c->o->data + at;
    for (uint64_t r = 0; r < SIXTEEN; ++r) copy_sixteens(from + r * c->length, t.runs[r], n);
    turn_in(&t, n);
    /* Asked for one by one between sums: the processor waits for some twenty lines at a time. */
    for (uint64_t i = 0; i < n; i += SIXTEEN) {
      uint16_t *first = t.turned + (c->reverse ? n - 1 - i : i) * SIXTEEN;
      const half_rows h = {first, first, c->reverse ? -SIXTEEN : SIXTEEN, SIXTEEN};
      add_halves(c, &h, acc, SIXTEEN);
      if (whole - done - n >= SPAN) ask_ahead(c, at + i / SIXTEEN * c->length);
    }
    turn_back(&t, n);
    for (uint64_t r = 0; r < SIXTEEN; ++r)
      copy_sixteens(t.runs[r], to + r * c->length, n);
  }
  for (unsigned r = 0; r < SIXTEEN; r += ROWS) {
    memcpy(rest.real, acc + r, sizeof rest.real);
    of_rows(c, start + r * c->length, ROWS, whole, &rest);
  }
}
#else
static void of_half_columns(const cumulation *c, uint64_t start, uint64_t n) {
  (void)c, (void)start, (void)n;
}
static void of_half_rows(const cumulation *c, uint64_t start) {
  (void)c, (void)start;
}
#endif

/* --- the operator --- */

static void along_rows(const cumulation *c, bool halves) {
  const uint64_t outer = c->x->count / c->length;
  sums acc;
  uint64_t used;
  for (uint64_t i = 0; i < outer; i += used) {
    const uint64_t start = i * c->length;
    if (halves && outer - i >= SIXTEEN) {
      used = SIXTEEN;
      of_half_rows(c, start);
      continue;
    }
    used = outer - i < ROWS ? outer - i : ROWS;
    for (unsigned r = 0; r < ROWS; ++r) {
      if (c->real)
        acc.real[r] = c->product;
      else
        acc.whole[r] = c->product;
    }
    of_rows(c, start, (unsigned)used, 0, &acc);
  }
}

static void along_columns(const cumulation *c, bool halves) {
  const uint64_t outer = c->x->count / (c->length * c->step);
  const bool narrow = c->real && c->x->dtype != SURG_DOUBLE;
  for (uint64_t i = 0; i < outer; ++i) {
    for (uint64_t j = 0; j < c->step; j += WIDE) {
      const uint64_t start = i * c->length * c->step + j;
      const uint64_t n = c->step - j < WIDE ? c->step - j : WIDE;
      const uint64_t by_sixteen = halves ? n / SIXTEEN * SIXTEEN : 0;
      if (by_sixteen > 0) of_half_columns(c, start, by_sixteen);
      if (narrow && by_sixteen < n)
        of_narrow_columns(c, start + by_sixteen, n - by_sixteen);
      else if (!narrow)
        of_columns(c, start, n);
    }
  }
}

surg__kstatus surg__k_cumulate(surg_kctx *k) {
  const surg__array *x = &k->in[0];
  uint32_t axis;
  uint64_t n = 0;
  if (!k->wanted[0]) return SURG__K_OK;
  const int64_t *list = surg__k_ints(k, 1, &n);
  if (!list) return SURG__K_NOMEM;
  if (n != 1 || !surg__k_axis(list[0], x->rank, &axis)) {
    return surg__k_invalid(k, "axis is no single axis of the input");
  }
  SURG__K_TRY(surg__k_out(k, 0, x->dtype, x->dims, x->rank));
  SURG__K_TRY(surg__k_work(k, x->count));
  if (x->count == 0) return SURG__K_OK;
  cumulation c = {.x = x, .o = &k->out[0], .length = (uint64_t)x->dims[axis], .step = 1};
  c.real = surg__is_real(x->dtype);
  c.product = k->op == SURG_OP_CumProd;
  c.exclusive = surg_node_int(k->node, "exclusive", 0) != 0;
  c.reverse = surg_node_int(k->node, "reverse", 0) != 0;
  for (uint32_t d = axis + 1; d < x->rank; ++d) c.step *= (uint64_t)x->dims[d];
  const bool half = x->dtype == SURG_FLOAT16 || x->dtype == SURG_BFLOAT16;
  const bool halves = half && surg__cpu_widest();
  if (c.step == 1)
    along_rows(&c, halves);
  else
    along_columns(&c, halves);
  return SURG__K_OK;
}
