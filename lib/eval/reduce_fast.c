/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions in lanes and by columns. */
#include "eval/reduce_fast.h"

#include <math.h>

#include "eval/gemm.h"
#include "eval/hot.h"
#include "eval/kernels.h"

#define LANES 16
#define PIECE 512 /* elements worked on at a time: a multiple of LANES */

typedef enum step { ADD, ADD_SIZE, ADD_SQUARE, MULTIPLY, LARGEST, SMALLEST, NO_STEP } step;

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
    case SURG_OP_ReduceMax:
      return LARGEST;
    case SURG_OP_ReduceMin:
      return SMALLEST;
    default:
      return NO_STEP;
  }
}

static double start_of(step s) {
  return s == MULTIPLY ? 1 : s == LARGEST ? -INFINITY : s == SMALLEST ? INFINITY : 0;
}

/* a: the value so far; b: the next one, already made positive or squared. NaN stays. */
SURG__INLINE double join(step s, double a, double b) {
  switch (s) {
    case MULTIPLY:
      return a * b;
    case LARGEST:
      return b > a || b != b ? b : a;
    case SMALLEST:
      return b < a || b != b ? b : a;
    default:
      return a + b;
  }
}

SURG__INLINE double prepared(step s, double v) {
  return s == ADD_SIZE ? fabs(v) : s == ADD_SQUARE ? v * v : v;
}

/* acc[i % width] with v[i], for i < n; n is at most one row of `width` or a multiple of it. */
SURG__INLINE void accumulate(step s, double *acc, unsigned width, const double *v, uint64_t n) {
  uint64_t i = 0;
  for (; n - i >= width; i += width) {
    for (unsigned j = 0; j < width; ++j) acc[j] = join(s, acc[j], prepared(s, v[i + j]));
  }
  for (unsigned j = 0; i < n; ++i, ++j) acc[j] = join(s, acc[j], prepared(s, v[i]));
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
    case MULTIPLY:         \
      call(MULTIPLY);      \
      break;               \
    case LARGEST:          \
      call(LARGEST);       \
      break;               \
    default:               \
      call(SMALLEST);      \
  }

SURG__HOT(add_lanes, (step s, double *acc, const double *v, uint64_t n), (s, acc, v, n)) {
#define CALL(constant) accumulate(constant, acc, LANES, v, n)
  EACH_STEP(s, CALL)
#undef CALL
}

SURG__HOT(add_columns, (step s, double *acc, const double *v, uint64_t n), (s, acc, v, n)) {
#define CALL(constant) \
  for (uint64_t j = 0; j < n; ++j) acc[j] = join(constant, acc[j], prepared(constant, v[j]))
  EACH_STEP(s, CALL)
#undef CALL
}

static double finish(int op, double v, uint64_t length) {
  if (v != v) return NAN;
  if (op == SURG_OP_ReduceMean) return v / (double)length;
  if (op == SURG_OP_ReduceL2) return sqrt(v);
  return op == SURG_OP_ReduceLogSum ? log(v) : v;
}

/* One run into one value. */
static double reduce_run(step s, const surg__array *x, surg__loop *run, int64_t start) {
  double acc[LANES], v[PIECE];
  uint64_t have = 0;
  for (int i = 0; i < LANES; ++i) acc[i] = start_of(s);
  surg__loop_rewind(run);
  for (; !run->done; surg__loop_next(run)) {
    for (int64_t i = 0; i < run->inner;) {
      uint64_t n = PIECE - have, left = (uint64_t)(run->inner - i);
      if (n > left) n = left;
      surg__load_run(x->dtype, x->data, (uint64_t)(start + run->at[0] + i * run->step[0]),
                     (uint64_t)run->step[0], n, v + have);
      have += n;
      i += (int64_t)n;
      if (have < PIECE) continue;
      add_lanes(s, acc, v, PIECE);
      have = 0;
    }
  }
  add_lanes(s, acc, v, have);
  step last = s == ADD_SIZE || s == ADD_SQUARE ? ADD : s;
  for (int width = LANES / 2; width > 0; width /= 2) {
    for (int i = 0; i < width; ++i) acc[i] = join(last, acc[i], acc[i + width]);
  }
  return acc[0];
}

/* `n` runs that start next to each other, into as many values. */
static void reduce_columns(int op, step s, const surg__array *x, const surg__array *o,
                           surg__loop *run, int64_t start, uint64_t to, uint64_t n,
                           uint64_t length) {
  double acc[PIECE], v[PIECE];
  for (uint64_t i = 0; i < n; ++i) acc[i] = start_of(s);
  surg__loop_rewind(run);
  for (; !run->done; surg__loop_next(run)) {
    for (int64_t i = 0; i < run->inner; ++i) {
      uint64_t at = (uint64_t)(start + run->at[0] + i * run->step[0]);
      surg__load_run(x->dtype, x->data, at, 1, n, v);
      add_columns(s, acc, v, n);
    }
  }
  for (uint64_t i = 0; i < n; ++i) acc[i] = finish(op, acc[i], length);
  surg__store_run(o->dtype, o->data, to, n, acc);
}

bool surg__reduce_fast(int op, const surg__array *x, const surg__array *o, surg__loop *kept,
                       surg__loop *run, uint64_t length) {
  step s = step_of(op);
  if (s == NO_STEP) return false;
  bool columns = kept->inner > 1 && kept->step[1] == 1;
  for (; !kept->done; surg__loop_next(kept)) {
    for (int64_t i = 0; i < kept->inner;) {
      int64_t start = kept->at[1] + i * kept->step[1];
      uint64_t to = (uint64_t)(kept->at[0] + i * kept->step[0]), n = 1;
      if (columns) {
        n = (uint64_t)(kept->inner - i) < PIECE ? (uint64_t)(kept->inner - i) : PIECE;
        reduce_columns(op, s, x, o, run, start, to, n, length);
      } else {
        double v = finish(op, reduce_run(s, x, run, start), length);
        surg__store_run(o->dtype, o->data, to, 1, &v);
      }
      i += (int64_t)n;
    }
  }
  return true;
}
