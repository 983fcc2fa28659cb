/* SPDX-License-Identifier: Apache-2.0 */
/* Reduce*, ArgMax and ArgMin. Floats of every width are accumulated in double and rounded once.
 * The elements of each run are added in index order. Integer sums and products wrap. A mean of
 * integers is the exact sum divided by the count, rounded toward zero. */
#include <math.h>

#include "eval/core/kernels.h"
#include "eval/core/loop.h"
#include "eval/core/number.h"
#include "eval/core/piece.h"

/* --- axes --- */

typedef struct axes {
  bool reduced[SURG_LIMIT_RANK];
  bool none; /* no axes and noop_with_empty_axes: the output is the input */
} axes;

/* The operator version from which on `axes` is an input instead of an attribute. */
static int axes_input_since(int op) {
  return op == SURG_OP_ReduceSum ? 13 : 18;
}

static surg__kstatus find_axes(surg_kctx *k, axes *out) {
  const surg__array *x = &k->in[0];
  const int64_t *list = NULL;
  uint64_t n = 0;
  memset(out, 0, sizeof *out);
  bool as_input = k->since >= axes_input_since(k->op);
  if (!as_input) {
    size_t count = 0;
    list = surg_node_ints(k->node, "axes", &count);
    n = list ? count : 0;
  } else if (surg__k_has(k, 1)) {
    list = surg__k_ints(k, 1, &n);
    if (!list) return SURG__K_NOMEM;
  }
  if (n == 0) {
    out->none = as_input && surg_node_int(k->node, "noop_with_empty_axes", 0) == 1;
    for (uint32_t d = 0; d < x->rank; ++d) out->reduced[d] = !out->none;
    return SURG__K_OK;
  }
  for (uint64_t i = 0; i < n; ++i) {
    uint32_t axis;
    if (!surg__k_axis(list[i], x->rank, &axis)) return surg__k_invalid(k, "axis out of range");
    if (out->reduced[axis]) return surg__k_invalid(k, "an axis is repeated");
    out->reduced[axis] = true;
  }
  return SURG__K_OK;
}

/* The iteration of a reduction. `kept` iterates over the output elements and the start of their
 * runs; `run` iterates over the elements of one run, which reduce to one output element. */
typedef struct reduction {
  surg__loop kept, run;
  int64_t out_dims[SURG_LIMIT_RANK];
  uint32_t out_rank;
  uint64_t length; /* elements per run */
} reduction;

static void plan(const surg__array *x, const axes *a, bool keepdims, reduction *r) {
  int64_t sx[SURG_LIMIT_RANK], kept_dims[SURG_LIMIT_RANK], kept_sx[SURG_LIMIT_RANK];
  int64_t run_dims[SURG_LIMIT_RANK], run_sx[SURG_LIMIT_RANK], so[SURG_LIMIT_RANK];
  uint32_t n_kept = 0, n_run = 0;
  surg__dense_strides(x->dims, x->rank, sx);
  r->out_rank = 0;
  r->length = 1;
  for (uint32_t d = 0; d < x->rank; ++d) {
    if (a->reduced[d]) {
      run_dims[n_run] = x->dims[d];
      run_sx[n_run++] = sx[d];
      if (keepdims) r->out_dims[r->out_rank++] = 1;
    } else {
      kept_dims[n_kept] = x->dims[d];
      kept_sx[n_kept++] = sx[d];
      r->out_dims[r->out_rank++] = x->dims[d];
    }
  }
  for (uint32_t d = 0; d < n_run; ++d) {
    if (run_dims[d] == 0) r->length = 0;
  }
  for (uint32_t d = 0; d < n_run && r->length > 0; ++d) {
    /* If x is empty the product could overflow; then it is not needed. */
    if (x->count > 0) r->length *= (uint64_t)run_dims[d];
  }
  surg__dense_strides(kept_dims, n_kept, so);
  surg__loop_init(&r->kept, kept_dims, n_kept, 2, (const int64_t *const[]){so, kept_sx});
  surg__loop_init(&r->run, run_dims, n_run, 1, (const int64_t *const[]){run_sx});
}

/* The result of reducing no elements. */
static double reduce_nothing(int op) {
  switch (op) {
    case SURG_OP_ReduceProd:
      return 1;
    case SURG_OP_ReduceMean:
      return NAN;
    case SURG_OP_ReduceMin:
      return INFINITY;
    case SURG_OP_ReduceMax:
    case SURG_OP_ReduceLogSum:
    case SURG_OP_ReduceLogSumExp:
      return -INFINITY;
    default:
      return 0;
  }
}

/* --- the operators --- */

/* Fails where the ONNX specification does not define the result, or contradicts itself. */
static surg__kstatus undefined(surg_kctx *k, const axes *a, uint64_t length) {
  bool extreme = k->op == SURG_OP_ReduceMax || k->op == SURG_OP_ReduceMin;
  if (a->none && k->op != SURG_OP_ReduceSum && k->op != SURG_OP_ReduceMean &&
      k->op != SURG_OP_ReduceProd && k->op != SURG_OP_ReduceLogSumExp && !extreme) {
    return surg__k_disputed(k, "noop_with_empty_axes of this operator has no agreed meaning");
  }
  if (length > 0) return SURG__K_OK;
  bool real = surg__is_real(k->in[0].dtype);
  if (k->op == SURG_OP_ReduceMean) {
    static const char why[] = "the mean of nothing";
    return real ? surg__k_disputed(k, why) : surg__k_cannot(k, why);
  }
  if (!extreme || k->since >= 18) return SURG__K_OK;
  return surg__k_disputed(k, "the largest or smallest of nothing");
}

/* --- runs --- */

#define PIECE SURG__PIECE

/* Accumulates element v. For zeros of different sign ReduceMax returns 0 and ReduceMin -0. NaN
 * propagates. */
static double joined(int op, double acc, double v) {
  switch (op) {
    case SURG_OP_ReduceL1:
      return acc + fabs(v);
    case SURG_OP_ReduceL2:
    case SURG_OP_ReduceSumSquare:
      return acc + v * v;
    case SURG_OP_ReduceProd:
      return acc * v;
    case SURG_OP_ReduceMax:
      return v > acc || isnan(v) || (v == acc && signbit(acc)) ? v : acc;
    case SURG_OP_ReduceMin:
      return v < acc || isnan(v) || (v == acc && signbit(v)) ? v : acc;
    default:
      return acc + v;
  }
}

/* Accumulates an integer element v. */
static uint64_t whole_joined(int op, bool is_signed, uint64_t acc, uint64_t v) {
  const bool less = is_signed ? (int64_t)v < (int64_t)acc : v < acc;
  switch (op) {
    case SURG_OP_ReduceL1:
      return acc + (is_signed && (int64_t)v < 0 ? 0 - v : v);
    case SURG_OP_ReduceSumSquare:
      return acc + v * v;
    case SURG_OP_ReduceProd:
      return acc * v;
    case SURG_OP_ReduceMax:
      return less ? acc : v;
    case SURG_OP_ReduceMin:
      return less ? v : acc;
    default:
      return acc + v;
  }
}

/* Adjacent runs of equal length: run i starts i elements after `start`. */
typedef struct runs {
  const surg__array *x;
  surg__loop *run;
  int64_t start;
  uint64_t n, length;
} runs;

/* Calls `add` with all elements of the runs. Several runs are processed in parallel, one element
 * of each at a time: if the runs are columns, memory is read in order. A single run is processed
 * in pieces. */
typedef void (*add_fn)(void *acc, const surg__numbers *v, uint64_t n, bool one_run);
static void walk(const runs *r, add_fn add, void *acc) {
  const surg__array *x = r->x;
  surg__numbers v;
  if (r->length == 0) return;
  for (surg__loop_rewind(r->run); !r->run->done; surg__loop_next(r->run)) {
    const uint64_t inner = (uint64_t)r->run->inner, step = (uint64_t)r->run->step[0];
    const uint64_t most = r->n > 1 ? 1 : PIECE;
    for (uint64_t i = 0, n; i < inner; i += n) {
      const uint64_t at = (uint64_t)(r->start + r->run->at[0]) + i * step;
      n = inner - i < most ? inner - i : most;
      const uint64_t count = r->n > 1 ? r->n : n;
      if (surg__is_real(x->dtype))
        surg__load_run(x->dtype, x->data, at, r->n > 1 ? 1 : step, count, v.real);
      else
        surg__load_whole(x->dtype, x->data, at, r->n > 1 ? 1 : step, count, v.whole);
      add(acc, &v, count, r->n == 1);
    }
  }
}

/* Accumulators, one entry per run. */
typedef struct sums {
  int op;
  bool is_signed;
  surg__numbers acc;
  double top[PIECE]; /* ReduceLogSumExp: the maxima */
  int64_t high[PIECE]; /* ReduceMean of integers: the bits of each sum above those in `acc` */
} sums;

static void add_reals(void *to, const surg__numbers *v, uint64_t n, bool one_run) {
  sums *s = to;
  for (uint64_t i = 0; i < n; ++i) {
    double *acc = &s->acc.real[one_run ? 0 : i];
    *acc = joined(s->op, *acc, v->real[i]);
  }
}

static void add_wholes(void *to, const surg__numbers *v, uint64_t n, bool one_run) {
  sums *s = to;
  for (uint64_t i = 0; i < n; ++i) {
    uint64_t *acc = &s->acc.whole[one_run ? 0 : i];
    *acc = whole_joined(s->op, s->is_signed, *acc, v->whole[i]);
  }
}

static void add_wide(void *to, const surg__numbers *v, uint64_t n, bool one_run) {
  sums *s = to;
  for (uint64_t i = 0; i < n; ++i) {
    const uint64_t j = one_run ? 0 : i, x = v->whole[i];
    s->acc.whole[j] += x;
    s->high[j] += (s->acc.whole[j] < x) - (s->is_signed && x >> 63);
  }
}

/* Divides sum i by the length of a run, toward 0; false if the sum is outside of the type. */
static bool divide_wide(sums *s, uint64_t i, int dtype, uint64_t length) {
  uint64_t *sum = &s->acc.whole[i];
  if (s->is_signed) {
    const int64_t v = (int64_t)*sum;
    if (s->high[i] != -(v < 0) || v < surg__int_min(dtype) ||
        (v > 0 && *sum > surg__int_max(dtype)))
      return false;
    *sum = v < 0 ? 0 - (0 - *sum) / length : *sum / length;
    return true;
  }
  if (s->high[i] || *sum > surg__int_max(dtype)) return false;
  *sum /= length;
  return true;
}

static void add_powers(void *to, const surg__numbers *v, uint64_t n, bool one_run) {
  sums *s = to;
  for (uint64_t i = 0; i < n; ++i) {
    const uint64_t j = one_run ? 0 : i;
    s->acc.real[j] += exp(v->real[i] - s->top[j]);
  }
}

static double first_real(int op) {
  if (op == SURG_OP_ReduceMax) return -INFINITY;
  if (op == SURG_OP_ReduceMin) return INFINITY;
  return op == SURG_OP_ReduceProd;
}

static void of_reals(int op, const runs *r, sums *s, const surg__array *o, uint64_t to) {
  const bool powers = op == SURG_OP_ReduceLogSumExp;
  double *acc = s->acc.real;
  s->op = powers ? SURG_OP_ReduceMax : op;
  for (uint64_t i = 0; i < r->n; ++i) acc[i] = first_real(s->op);
  walk(r, add_reals, s);
  if (powers) {
    for (uint64_t i = 0; i < r->n; ++i) s->top[i] = acc[i], acc[i] = 0;
    walk(r, add_powers, s);
  }
  for (uint64_t i = 0; i < r->n; ++i) {
    if (op == SURG_OP_ReduceMean) acc[i] /= (double)r->length;
    if (op == SURG_OP_ReduceL2) acc[i] = sqrt(acc[i]);
    if (op == SURG_OP_ReduceLogSum) acc[i] = log(acc[i]);
    if (powers) acc[i] = isfinite(s->top[i]) ? s->top[i] + log(acc[i]) : s->top[i];
  }
  surg__store_run(o->dtype, o->data, to, r->n, acc);
}

static uint64_t first_whole(int op, int dtype) {
  if (op == SURG_OP_ReduceMax) return (uint64_t)surg__int_min(dtype);
  if (op == SURG_OP_ReduceMin) return dtype == SURG_BOOL ? 1 : surg__int_max(dtype);
  return op == SURG_OP_ReduceProd;
}

static const char *of_wholes(int op, const runs *r, sums *s, const surg__array *o, uint64_t to) {
  const int dtype = r->x->dtype;
  const bool mean = op == SURG_OP_ReduceMean;
  s->op = op;
  s->is_signed = surg__dtype_is_signed_int(dtype);
  for (uint64_t i = 0; i < r->n; ++i) s->acc.whole[i] = first_whole(op, dtype), s->high[i] = 0;
  walk(r, mean ? add_wide : add_wholes, s);
  for (uint64_t i = 0; mean && i < r->n; ++i)
    if (!divide_wide(s, i, dtype, r->length)) return "the sum of a mean overflows";
  surg__store_whole(o->dtype, o->data, to, r->n, s->acc.whole);
  return NULL;
}

static surg__kstatus reduce_all(surg_kctx *k, reduction *r) {
  const surg__array *x = &k->in[0], *o = &k->out[0];
  const bool real = surg__is_real(x->dtype);
  const bool root = k->op == SURG_OP_ReduceL2 || k->op == SURG_OP_ReduceLogSum ||
                    k->op == SURG_OP_ReduceLogSumExp;
  surg__loop *kept = &r->kept;
  const bool columns = kept->inner > 1 && kept->step[1] == 1;
  const char *why = NULL;
  sums s;
  if (real && r->length == 0) {
    for (uint64_t i = 0; i < o->count; ++i)
      surg__store_f64(o->dtype, o->data, i, reduce_nothing(k->op));
    return SURG__K_OK;
  }
  if (!real && root) return surg__k_cannot(k, "a root or logarithm of integers");
  for (; !kept->done && !why; surg__loop_next(kept)) {
    for (int64_t i = 0, n; i < kept->inner && !why; i += n) {
      n = !columns ? 1 : kept->inner - i < PIECE ? kept->inner - i : PIECE;
      const runs some = {.x = x, .run = &r->run, .start = kept->at[1] + i * kept->step[1],
                         .n = (uint64_t)n, .length = r->length};
      const uint64_t to = (uint64_t)(kept->at[0] + i * kept->step[0]);
      if (real)
        of_reals(k->op, &some, &s, o, to);
      else
        why = of_wholes(k->op, &some, &s, o, to);
    }
  }
  return why ? surg__k_cannot(k, why) : SURG__K_OK;
}

/* Fails, except in a run, if engines give different results: the maximum or minimum of values
 * with NaN or with zeros of both signs, and integers that overflow. Such a result must not be
 * folded to a constant. */
static surg__kstatus engines_differ(surg_kctx *k) {
  const surg__array *x = &k->in[0];
  const bool extreme = k->op == SURG_OP_ReduceMax || k->op == SURG_OP_ReduceMin;
  const bool product = k->op == SURG_OP_ReduceProd, square = k->op == SURG_OP_ReduceSumSquare;
  double all = product;
  if (k->running) return SURG__K_OK;
  if (surg__is_real(x->dtype)) {
    bool plus = false, minus = false; /* zeros of either sign seen */
    for (uint64_t i = 0; extreme && i < x->count; ++i) {
      const double v = surg__load_f64(x->dtype, x->data, i);
      if (isnan(v)) return surg__k_disputed(k, "the extreme of numbers and NaN");
      plus |= v == 0 && !signbit(v);
      minus |= v == 0 && signbit(v);
    }
    if (plus && minus) return surg__k_disputed(k, "the extreme of zeros of both signs");
    return SURG__K_OK;
  }
  for (uint64_t i = 0; !extreme && i < x->count; ++i) {
    const double v = fabs(surg__load_number(x->dtype, x->data, i));
    all = product ? all * (v > 1 ? v : 1) : all + (square ? v * v : v);
  }
  return all <= surg__int_agreed(x->dtype) ? SURG__K_OK
                                        : surg__k_disputed(k, "integers too large for their type");
}

surg__kstatus surg__k_reduce(surg_kctx *k) {
  const surg__array *x = &k->in[0];
  axes a;
  reduction r;
  if (!k->wanted[0]) return SURG__K_OK;
  SURG__K_TRY(find_axes(k, &a));
  plan(x, &a, surg_node_int(k->node, "keepdims", 1) == 1, &r);
  SURG__K_TRY(undefined(k, &a, r.length));
  if (a.none) return surg__k_alias(k, 0, 0, x->dims, x->rank);
  SURG__K_TRY(surg__k_out(k, 0, x->dtype, r.out_dims, r.out_rank));
  SURG__K_TRY(surg__k_work(k, x->count));
  SURG__K_TRY(surg__k_work(k, k->out[0].count));
  SURG__K_TRY(engines_differ(k));
  return reduce_all(k, &r);
}

/* The index of the largest or smallest element of a run; of equal ones the first or, with
 * `last`, the last. NaN precedes all numbers: the first NaN is returned, and *nan is set. */
static int64_t place_of(const surg__array *x, uint64_t start, uint64_t step, uint64_t length,
                        bool largest, bool last, bool *nan) {
  const bool real = surg__is_real(x->dtype), is_signed = surg__dtype_is_signed_int(x->dtype);
  double best = 0;
  uint64_t whole_best = 0, at = 0;
  for (uint64_t i = 0; i < length; ++i) {
    int order; /* comparison with the best element so far */
    double v = 0;
    uint64_t whole = 0;
    if (real) {
      v = surg__real_at(x, start + i * step);
      if (isnan(v)) {
        *nan = true;
        return (int64_t)i;
      }
      order = (v > best) - (v < best);
    } else {
      whole = surg__load_int(x->dtype, x->data, start + i * step);
      const uint64_t turn = is_signed ? 1ull << 63 : 0; /* flips the sign bit of signed integers */
      order = ((whole ^ turn) > (whole_best ^ turn)) - ((whole ^ turn) < (whole_best ^ turn));
    }
    if (i > 0 && (order == 0 ? !last : (order > 0) != largest)) continue;
    best = v;
    whole_best = whole;
    at = i;
  }
  return (int64_t)at;
}

surg__kstatus surg__k_arg(surg_kctx *k) {
  const surg__array *x = &k->in[0];
  bool last = surg_node_int(k->node, "select_last_index", 0) != 0;
  uint32_t axis;
  axes a = {.none = false};
  reduction r;
  if (!k->wanted[0]) return SURG__K_OK;
  if (!surg__k_axis(surg_node_int(k->node, "axis", 0), x->rank, &axis)) {
    return surg__k_invalid(k, "axis out of range");
  }
  a.reduced[axis] = true;
  plan(x, &a, surg_node_int(k->node, "keepdims", 1) == 1, &r);
  SURG__K_TRY(surg__k_out(k, 0, SURG_INT64, r.out_dims, r.out_rank));
  if (k->out[0].count == 0) return SURG__K_OK;
  if (x->dims[axis] == 0) return surg__k_invalid(k, "no elements to choose from");
  SURG__K_TRY(surg__k_work(k, x->count));
  uint64_t inner = 1;
  for (uint32_t d = axis + 1; d < x->rank; ++d) inner *= (uint64_t)x->dims[d];
  bool nan = false;
  for (uint64_t i = 0; i < k->out[0].count; ++i) {
    const uint64_t start = i / inner * inner * r.length + i % inner;
    ((int64_t *)k->out[0].data)[i] =
        place_of(x, start, inner, r.length, k->op == SURG_OP_ArgMax, last, &nan);
  }
  return nan ? surg__k_disputed(k, "the order of NaN is not defined") : SURG__K_OK;
}
