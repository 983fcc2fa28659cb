/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions in lanes and by columns. */
#include "eval/fast/reduce_fast.h"

#include <math.h>

#include "eval/fast/exp_fast.h"
#include "eval/fast/halves.h"
#include "eval/core/kernels.h"
#include "eval/core/number.h"
#include "eval/fast/piece.h"
#include "eval/fast/vmath_double.h"

#define LANES 16 /* divides SURG__PIECE */
#define PIECE SURG__PIECE

typedef enum step {
  ADD,
  ADD_SIZE,
  ADD_SQUARE,
  ADD_LOW, /* of integers: halves, whose sums are exact */
  ADD_HIGH,
  MULTIPLY,
  LARGEST, /* of floats */
  NO_STEP
} step;

static step step_of(int op) {
  switch (op) {
    case SURG_OP_ReduceSum:
    case SURG_OP_ReduceMean:
    case SURG_OP_ReduceLogSum:
      return ADD;
    case SURG_OP_ReduceL1:
      return ADD_SIZE;
    case SURG_OP_ReduceL2:
    case SURG_OP_ReduceSumSquare:
      return ADD_SQUARE;
    case SURG_OP_ReduceProd:
      return MULTIPLY;
    case SURG_OP_ReduceLogSumExp:
      return LARGEST;
    default:
      return NO_STEP;
  }
}

/* The step as a constant in each case, so that the loops inside are simple. */
#define EACH_STEP(s, call) \
  switch (s) {             \
    case ADD:              \
      call(ADD);           \
      break;               \
    case ADD_SIZE:         \
      call(ADD_SIZE);      \
      break;               \
    case ADD_SQUARE:       \
      call(ADD_SQUARE);    \
      break;               \
    case ADD_LOW:          \
      call(ADD_LOW);       \
      break;               \
    case ADD_HIGH:         \
      call(ADD_HIGH);      \
      break;               \
    case MULTIPLY:         \
      call(MULTIPLY);      \
      break;               \
    default:               \
      call(LARGEST);       \
  }

/* NaN stays. */
#define T double
#define OF(name) name##_of_reals
#define ABOVE(a, b) ((a) > (b) || (a) != (a))
#define SIZE(v) fabs(v)
#define LOW(v) (v)
#define HIGH(v) (v)
#include "eval/fast/reduce_steps.inc"
#define T uint64_t
#define OF(name) name##_of_wholes
#define ABOVE(a, b) ((a) > (b))
#define SIZE(v) ((int64_t)(v) < 0 ? 0 - (v) : (v))
#define LOW(v) ((v) & 0xffffffffu)
#define HIGH(v) ((uint64_t)((int64_t)(v) >> 32))
#include "eval/fast/reduce_steps.inc"

/* What one walk over a run does. */
typedef struct walk {
  const surg__array *x;
  step step;
  bool real;
  uint64_t turn;     /* a bit of integers that is turned over */
  const double *top; /* sums e to the power of elements less these instead, one an element */
} walk;

/* Up to PIECE elements to v from its element `have` on. */
static void load(walk *w, uint64_t at, uint64_t apart, uint64_t n, surg__numbers *v,
                 uint64_t have) {
  if (!w->real) {
    uint64_t *whole = v->whole + have;
    surg__load_whole(w->x->dtype, w->x->data, at, apart, n, whole);
    for (uint64_t i = 0; w->turn && i < n; ++i) whole[i] ^= w->turn;
    return;
  }
  double *real = v->real + have;
  surg__load_run(w->x->dtype, w->x->data, at, apart, n, real);
  if (w->top) surg__exp_less(w->x->dtype, real, w->top, n);
}

static void add_lanes(const walk *w, const surg__numbers *v, uint64_t n, surg__numbers *acc) {
  if (w->real)
    add_lanes_of_reals(w->step, acc->real, v->real, n);
  else
    add_lanes_of_wholes(w->step, acc->whole, v->whole, n);
}

static void begin(const walk *w, uint64_t n, surg__numbers *acc) {
  const double real = w->step == MULTIPLY ? 1 : w->step == LARGEST ? -INFINITY : 0;
  for (uint64_t i = 0; i < n; ++i) {
    if (w->real)
      acc->real[i] = real;
    else
      acc->whole[i] = w->step == MULTIPLY;
  }
}

/* One run into acc[0]. Elements are put together before they are worked on, so that each goes to
 * the lane of its index. */
static void of_run(walk *w, surg__loop *run, int64_t start, surg__numbers *acc) {
  surg__numbers v;
  uint64_t have = 0;
  begin(w, LANES, acc);
  for (surg__loop_rewind(run); !run->done; surg__loop_next(run)) {
    for (int64_t i = 0; i < run->inner;) {
      const uint64_t left = (uint64_t)(run->inner - i), fit = PIECE - have;
      const uint64_t n = left < fit ? left : fit;
      load(w, (uint64_t)(start + run->at[0] + i * run->step[0]), (uint64_t)run->step[0], n, &v,
           have);
      have += n;
      i += (int64_t)n;
      if (have < PIECE) continue;
      add_lanes(w, &v, PIECE, acc);
      have = 0;
    }
  }
  add_lanes(w, &v, have, acc);
  if (w->real)
    joined_of_reals(w->step, acc->real);
  else
    joined_of_wholes(w->step, acc->whole);
}

static void add_columns(const walk *w, step s, surg__numbers *acc, const surg__numbers *v,
                        uint64_t from, uint64_t n) {
  if (w->real)
    add_columns_of_reals(s, acc->real + from, v->real + from, n - from);
  else
    add_columns_of_wholes(s, acc->whole + from, v->whole + from, n - from);
}

/* Rows of memory lie far apart, where no processor looks ahead by itself. */
#define AHEAD 8
#define LINE 64
static void ask_for(const surg__array *x, uint64_t at, uint64_t n) {
  const size_t size = surg__dtype_unpacked(x->dtype);
  const char *next = (const char *)x->data + at * size;
  for (size_t b = 0; b < n * size; b += LINE) __builtin_prefetch(next + b);
}

/* 16-bit floats go to their columns without being stored as doubles. As add_columns. */
#if defined(__x86_64__)
SURG__VECTOR __m512d joined_eight(step s, __m512d a, __m512d b) {
  if (s == ADD_SIZE) b = _mm512_abs_pd(b);
  if (s == ADD_SQUARE) b = _mm512_mul_pd(b, b);
  return s == MULTIPLY ? _mm512_mul_pd(a, b) : _mm512_add_pd(a, b);
}

SURG__VECTOR uint64_t add_halves_as(int dtype, step s, double *acc, const uint16_t *v, uint64_t n) {
  uint64_t i = 0;
  for (; n - i >= 16; i += 16) {
    const surg__v16d x = surg__load_sixteen(dtype, v + i);
    const __m512d low = _mm512_loadu_pd(acc + i), high = _mm512_loadu_pd(acc + i + 8);
    _mm512_storeu_pd(acc + i, joined_eight(s, low, x.low));
    _mm512_storeu_pd(acc + i + 8, joined_eight(s, high, x.high));
  }
  return i;
}

SURG__WIDEST static uint64_t add_halves(int dtype, step s, double *acc, const uint16_t *v,
                                        uint64_t n) {
#define STEP(s)                                                       \
  case s:                                                             \
    return half ? add_halves_as(SURG_FLOAT16, s, acc, v, n)           \
                : add_halves_as(SURG_BFLOAT16, s, acc, v, n);
  const bool half = dtype == SURG_FLOAT16;
  switch (s) {
    STEP(ADD)
    STEP(ADD_SIZE)
    STEP(ADD_SQUARE)
    STEP(MULTIPLY)
#undef STEP
    default:
      return 0;
  }
}
#endif

/* How many of n elements from `at` on were added so. */
static uint64_t whole_vectors(const walk *w, double *acc, uint64_t at, uint64_t n) {
#if defined(__x86_64__)
  const int dtype = w->x->dtype;
  if ((dtype == SURG_FLOAT16 || dtype == SURG_BFLOAT16) && !w->top && surg__cpu_widest())
    return add_halves(dtype, w->step, acc, (const uint16_t *)w->x->data + at, n);
#else
  (void)w, (void)acc, (void)at, (void)n;
#endif
  return 0;
}

/* `n` runs of `length` elements that start next to each other into as many results. Where the order
 * shows, each run has its lanes, so that it comes out as it would along the last axis. */
static void of_columns(walk *w, surg__loop *run, int64_t start, uint64_t n, uint64_t length,
                       surg__numbers *acc) {
  const bool ordered = w->real && w->step != LARGEST;
  const uint64_t used = !ordered ? 1 : length < LANES ? length : LANES;
  surg__numbers v, more[LANES - 1], *lanes[LANES] = {acc};
  uint64_t lane = 0;
  for (uint64_t i = 1; i < used; ++i) lanes[i] = &more[i - 1];
  for (uint64_t i = 0; i < used; ++i) begin(w, n, lanes[i]);
  for (surg__loop_rewind(run); !run->done; surg__loop_next(run)) {
    for (int64_t i = 0; i < run->inner; ++i) {
      const uint64_t at = (uint64_t)(start + run->at[0] + i * run->step[0]);
      if (run->inner - i > AHEAD) ask_for(w->x, at + AHEAD * (uint64_t)run->step[0], n);
      const uint64_t done = whole_vectors(w, lanes[lane]->real, at, n);
      load(w, at + done, 1, n - done, &v, done);
      add_columns(w, w->step, lanes[lane], &v, done, n);
      lane = lane + 1 < used ? lane + 1 : 0;
    }
  }
  /* A lane that is not there holds what changes nothing. */
  const step last = w->step == MULTIPLY ? MULTIPLY : ADD;
  for (uint64_t width = LANES / 2; ordered && width > 0; width /= 2)
    for (uint64_t i = 0; i < width && i + width < used; ++i)
      add_columns(w, last, lanes[i], lanes[i + width], 0, n);
}

/* Some runs at a time: the results of those that start at `start` to acc. */
typedef struct runs {
  surg__loop *run;
  int64_t start;
  uint64_t n, length;
  bool columns;
} runs;

static void walk_runs(walk *w, const runs *r, surg__numbers *acc) {
  if (r->length == 0)
    begin(w, r->n, acc);
  else if (r->columns)
    of_columns(w, r->run, r->start, r->n, r->length, acc);
  else
    of_run(w, r->run, r->start, acc);
}

/* Whether exp_fast.h takes these runs, and as many at a time as it does. */
static bool far_apart(int op, const runs *r) {
  return op == SURG_OP_ReduceLogSumExp && r->length > 0 && r->columns && r->run->rank == 0;
}

/* The largest element of each run, and the sum of e to the power of the elements less that one. */
static void sum_exp(walk *w, const runs *r, surg__numbers *top, surg__numbers *sum) {
  surg__numbers less;
  if (r->length > 0 && r->run->rank == 0 && !r->columns && r->run->step[0] == 1) {
    const surg__exp_runs e = {.x = w->x, .start = (uint64_t)r->start, .length = r->length,
                              .step = 1, .n = 1, .single = true};
    surg__exp_sums(&e, top->real, sum->real);
    return;
  }
  walk_runs(w, r, top);
  walk sums = *w;
  sums.step = ADD;
  sums.top = less.real;
  const uint64_t n = r->columns ? r->n : r->length < PIECE ? r->length : PIECE;
  for (uint64_t i = 0; i < n; ++i) less.real[i] = top->real[r->columns ? i : 0];
  walk_runs(&sums, r, sum);
  for (uint64_t i = 0; i < r->n; ++i) sum->real[i] *= surg__exp_lower(w->x->dtype);
}

/* log(sum(exp)) to `sum`; a largest element that is infinite or NaN is the result. */
static void logarithms(uint64_t n, const double *top, double *sum) {
  for (uint64_t i = 0; i < n; ++i)
    sum[i] = isfinite(top[i]) ? top[i] + surg__d_log(sum[i]) : top[i];
}

static void log_sum_exp(walk *w, const runs *r, surg__numbers *acc) {
  surg__numbers top;
  sum_exp(w, r, &top, acc);
  logarithms(r->n, top.real, acc->real);
}

/* The same of runs that are far apart. */
static void of_far_apart(const walk *w, const runs *r, const surg__array *o, uint64_t to,
                         double *room) {
  const surg__exp_runs e = {.x = w->x, .start = (uint64_t)r->start, .length = r->length,
                            .step = (uint64_t)r->run->step[0], .n = r->n, .room = room};
  double *top = room + SURG__EXP_ROOM * r->n, *sum = top + r->n;
  surg__exp_sums(&e, top, sum);
  logarithms(r->n, top, sum);
  surg__store_run(o->dtype, o->data, to, r->n, sum);
}

static void finish(int op, uint64_t n, uint64_t length, double *v) {
  for (uint64_t i = 0; i < n; ++i) {
    if (op == SURG_OP_ReduceMean) v[i] /= (double)length;
    if (op == SURG_OP_ReduceL2) v[i] = sqrt(v[i]);
    if (op == SURG_OP_ReduceLogSum) v[i] = surg__d_log(v[i]);
  }
}

static void of_reals(int op, walk *w, const runs *r, const surg__array *o, uint64_t to) {
  surg__numbers acc;
  if (op == SURG_OP_ReduceLogSumExp)
    log_sum_exp(w, r, &acc);
  else
    walk_runs(w, r, &acc);
  finish(op, r->n, r->length, acc.real);
  surg__store_run(o->dtype, o->data, to, r->n, acc.real);
}

/* Sums of halves as one: whether it fits the type, and the mean. What was turned over is 2^63 less
 * than the number. */
static bool mean_of(const walk *w, uint64_t low, uint64_t high, uint64_t length, uint64_t *out) {
  const int dtype = w->x->dtype;
  const __int128 back = w->turn ? (__int128)length * ((__int128)1 << 63) : 0;
  const __int128 sum = (__int128)(int64_t)high * ((__int128)1 << 32) + low + back;
  if (sum < surg__int_min(dtype) || sum > surg__int_max(dtype)) return false;
  *out = (uint64_t)(sum / (__int128)length);
  return true;
}

#define NEAR (32 << 10) /* elements that stay in the cache for a second walk */

/* Sums of the lower and the upper halves of elements. Long runs are walked some elements at a time,
 * so that memory is read once. */
static void sum_halves(const walk *w, const runs *r, surg__numbers *low, surg__numbers *high) {
  walk lower = *w, upper = *w;
  lower.step = ADD_LOW;
  upper.step = ADD_HIGH;
  const uint64_t most = NEAR / r->n;
  if (r->run->rank > 0 || r->length <= most) {
    walk_runs(&lower, r, low);
    walk_runs(&upper, r, high);
    return;
  }
  surg__loop loop = *r->run;
  runs part = *r;
  surg__numbers sums;
  part.run = &loop;
  begin(&lower, r->n, low);
  begin(&upper, r->n, high);
  for (uint64_t done = 0; done < r->length; done += part.length) {
    part.length = r->length - done < most ? r->length - done : most;
    part.start = r->start + (int64_t)done * r->run->step[0];
    loop.inner = (int64_t)part.length;
    walk_runs(&lower, &part, &sums);
    for (uint64_t i = 0; i < r->n; ++i) low->whole[i] += sums.whole[i];
    walk_runs(&upper, &part, &sums);
    for (uint64_t i = 0; i < r->n; ++i) high->whole[i] += sums.whole[i];
  }
}

static const char *means(const walk *w, const runs *r, surg__numbers *acc) {
  static const char overflows[] = "the sum of a mean overflows";
  const int dtype = w->x->dtype;
  surg__numbers low;
  walk part = *w;
  if (r->length > INT32_MAX) return "a mean of so many integers";
  if (surg__dtype_bits(dtype) <= 32) { /* as many fit into 64 bits */
    walk_runs(&part, r, acc);
    for (uint64_t i = 0; i < r->n; ++i) {
      const int64_t sum = (int64_t)acc->whole[i];
      if (sum < surg__int_min(dtype) || sum > (int64_t)surg__int_max(dtype)) return overflows;
      acc->whole[i] = (uint64_t)(sum / (int64_t)r->length);
    }
    return NULL;
  }
  sum_halves(w, r, &low, acc);
  for (uint64_t i = 0; i < r->n; ++i)
    if (!mean_of(w, low.whole[i], acc->whole[i], r->length, &acc->whole[i])) return overflows;
  return NULL;
}

static const char *of_wholes(int op, walk *w, const runs *r, const surg__array *o,
                             uint64_t to) {
  surg__numbers acc;
  if (op == SURG_OP_ReduceMean) {
    const char *why = means(w, r, &acc);
    if (why) return why;
  } else {
    walk_runs(w, r, &acc);
  }
  surg__store_whole(o->dtype, o->data, to, r->n, acc.whole);
  return NULL;
}

uint64_t surg__reduce_room(int op, const surg__loop *kept) {
  const uint64_t n = (uint64_t)kept->inner;
  const uint64_t most = n < SURG__EXP_COLUMNS ? n : SURG__EXP_COLUMNS;
  return op == SURG_OP_ReduceLogSumExp ? most * (SURG__EXP_ROOM + 2) : 0;
}

const char *surg__reduce_fast(int op, const surg__array *x, const surg__array *o, surg__loop *kept,
                              surg__loop *run, uint64_t length, double *room) {
  walk w = {.x = x, .step = step_of(op), .real = surg__is_real(x->dtype)};
  if (op == SURG_OP_ReduceMax || op == SURG_OP_ReduceMin) {
    surg__extreme_fast(op == SURG_OP_ReduceMax, x, o, kept, run, length);
    return NULL;
  }
  const bool root = op == SURG_OP_ReduceL2 || op == SURG_OP_ReduceLogSum ||
                    op == SURG_OP_ReduceLogSumExp;
  if (!w.real && root) return "a root or logarithm of integers";
  assert(w.step != NO_STEP);
  /* What has no sign is its own magnitude. */
  if (w.step == ADD_SIZE && !w.real && !surg__dtype_is_signed_int(x->dtype)) w.step = ADD;
  /* Unsigned integers of 64 bits are halved as signed ones. */
  if (op == SURG_OP_ReduceMean && x->dtype == SURG_UINT64) w.turn = 1ull << 63;
  runs r = {.run = run, .length = length, .columns = kept->inner > 1 && kept->step[1] == 1};
  const bool far = far_apart(op, &r);
  const uint64_t most = far ? SURG__EXP_COLUMNS : PIECE;
  for (; !kept->done; surg__loop_next(kept)) {
    for (int64_t i = 0; i < kept->inner; i += (int64_t)r.n) {
      const uint64_t left = (uint64_t)(kept->inner - i);
      r.start = kept->at[1] + i * kept->step[1];
      r.n = !r.columns ? 1 : left < most ? left : most;
      const uint64_t to = (uint64_t)(kept->at[0] + i * kept->step[0]);
      if (far) {
        of_far_apart(&w, &r, o, to, room);
      } else if (w.real) {
        of_reals(op, &w, &r, o, to);
      } else {
        const char *why = of_wholes(op, &w, &r, o, to);
        if (why) return why;
      }
    }
  }
  return NULL;
}
