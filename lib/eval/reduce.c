/* SPDX-License-Identifier: Apache-2.0 */
/* Reduce*, ArgMax, ArgMin, CumSum and CumProd. Floats of every width are accumulated in double, in
 * the order that reduce_fast.h states, and rounded once; integer sums and products wrap. */
#include <math.h>

#include "eval/kernels.h"
#include "eval/loop.h"
#include "eval/number.h"
#include "eval/reduce_fast.h"

/* --- which axes --- */

typedef struct axes {
  bool reduced[SURG_LIMIT_RANK];
  bool none; /* no axes, and the node says to leave the input as it is */
} axes;

/* From which version on the axes are an input. */
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
    out->none = as_input && surg_node_int(k->node, "noop_with_empty_axes", 0) != 0;
    for (uint32_t d = 0; d < x->rank; ++d) out->reduced[d] = !out->none;
    return SURG__K_OK;
  }
  for (uint64_t i = 0; i < n; ++i) {
    uint32_t axis;
    if (!surg__k_axis(list[i], x->rank, &axis)) return surg__k_invalid(k, "axis out of range");
    if (out->reduced[axis]) return surg__k_invalid(k, "an axis stands twice");
    out->reduced[axis] = true;
  }
  return SURG__K_OK;
}

/* Two loops: `kept` over the result and the start of each run, `run` over the elements of one. */
typedef struct reduction {
  surg__loop kept, run;
  int64_t out_dims[SURG_LIMIT_RANK];
  uint32_t out_rank;
  uint64_t length; /* elements of a run */
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
    /* An empty kept axis leaves this product unbounded, but then no run is ever walked. */
    if (x->count > 0) r->length *= (uint64_t)run_dims[d];
  }
  surg__dense_strides(kept_dims, n_kept, so);
  surg__loop_init(&r->kept, kept_dims, n_kept, 2, (const int64_t *const[]){so, kept_sx});
  surg__loop_init(&r->run, run_dims, n_run, 1, (const int64_t *const[]){run_sx});
}

/* Calls body with `at` on each element of the run that starts at `start`, in index order. */
#define EACH(run, start, at, body)                                                  \
  do {                                                                              \
    surg__loop_rewind(run);                                                         \
    for (; !(run)->done; surg__loop_next(run)) {                                    \
      for (int64_t each_i = 0; each_i < (run)->inner; ++each_i) {                   \
        uint64_t at = (uint64_t)((start) + (run)->at[0] + each_i * (run)->step[0]); \
        body;                                                                       \
      }                                                                             \
    }                                                                               \
  } while (0)

/* --- floats --- */

/* What the lanes of reduce_fast.h do not do: log(sum(exp)), from the largest element on. */
static double log_sum_exp(const surg__array *x, surg__loop *run, int64_t start) {
  double top = -INFINITY, sum = 0;
  EACH(run, start, at, {
    double v = surg__load_f64(x->dtype, x->data, at);
    if (isnan(v)) return v;
    if (v > top) top = v;
  });
  if (!isfinite(top)) return top;
  EACH(run, start, at, sum += exp(surg__load_f64(x->dtype, x->data, at) - top));
  return top + log(sum);
}

/* Of no elements. */
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

/* --- integers and bool --- */

/* Mean: the exact sum, then division towards zero. False when the sum does not fit. */
static bool mean_int(const surg__array *x, surg__loop *run, int64_t start, uint64_t length,
                     uint64_t *out) {
  bool is_signed = surg__dtype_is_signed_int(x->dtype);
  int64_t s = 0;
  uint64_t u = 0;
  EACH(run, start, at, {
    uint64_t v = surg__load_int(x->dtype, x->data, at);
    if (is_signed ? !surg__add_i64(s, (int64_t)v, &s) : !surg__add_u64(u, v, &u)) return false;
  });
  if (is_signed) {
    if (s < surg__int_min(x->dtype) || s > (int64_t)surg__int_max(x->dtype)) return false;
    *out = (uint64_t)(s / (int64_t)length);
  } else {
    if (u > surg__int_max(x->dtype)) return false;
    *out = u / length;
  }
  return true;
}

static uint64_t extreme_int(bool largest, const surg__array *x, surg__loop *run, int64_t start) {
  bool is_signed = surg__dtype_is_signed_int(x->dtype);
  uint64_t r = largest ? (uint64_t)surg__int_min(x->dtype) : surg__int_max(x->dtype);
  if (x->dtype == SURG_BOOL) r = !largest;
  EACH(run, start, at, {
    uint64_t v = surg__load_int(x->dtype, x->data, at);
    bool less = is_signed ? (int64_t)v < (int64_t)r : v < r;
    if (v != r && less != largest) r = v;
  });
  return r;
}

static const char *reduce_int(int op, const surg__array *x, surg__loop *run, int64_t start,
                              uint64_t length, uint64_t *out) {
  uint64_t r = op == SURG_OP_ReduceProd;
  bool is_signed = surg__dtype_is_signed_int(x->dtype);
  switch (op) {
    case SURG_OP_ReduceMax:
      *out = extreme_int(true, x, run, start);
      return NULL;
    case SURG_OP_ReduceMin:
      *out = extreme_int(false, x, run, start);
      return NULL;
    case SURG_OP_ReduceMean:
      return mean_int(x, run, start, length, out) ? NULL : "the sum of a mean overflows";
    case SURG_OP_ReduceSum:
      EACH(run, start, at, r += surg__load_int(x->dtype, x->data, at));
      break;
    case SURG_OP_ReduceProd:
      EACH(run, start, at, r *= surg__load_int(x->dtype, x->data, at));
      break;
    case SURG_OP_ReduceL1:
      EACH(run, start, at, {
        uint64_t v = surg__load_int(x->dtype, x->data, at);
        r += is_signed && (int64_t)v < 0 ? 0 - v : v;
      });
      break;
    case SURG_OP_ReduceSumSquare:
      EACH(run, start, at, {
        uint64_t v = surg__load_int(x->dtype, x->data, at);
        r += v * v;
      });
      break;
    default:
      return "a root or logarithm of integers";
  }
  *out = r;
  return NULL;
}

/* --- the operators --- */

/* What the standard leaves open, or says differently in different places. */
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

static surg__kstatus reduce_all(surg_kctx *k, reduction *r) {
  const surg__array *x = &k->in[0], *o = &k->out[0];
  bool real = surg__is_real(x->dtype);
  if (real && r->length > 0 &&
      surg__reduce_fast(k->op, x, o, &r->kept, &r->run, r->length)) {
    return SURG__K_OK;
  }
  for (; !r->kept.done; surg__loop_next(&r->kept)) {
    for (int64_t i = 0; i < r->kept.inner; ++i) {
      int64_t start = r->kept.at[1] + i * r->kept.step[1];
      uint64_t to = (uint64_t)(r->kept.at[0] + i * r->kept.step[0]), v = 0;
      /* Rewinding the loop of an empty run would start it; one run of no elements does not. */
      surg__loop none = {.n = 1};
      surg__loop *run = &r->run;
      if (r->length == 0) run = &none;
      if (real) {
        bool any = r->length > 0;
        double value = any ? log_sum_exp(x, run, start) : reduce_nothing(k->op);
        surg__store_f64(o->dtype, o->data, to, value);
      } else {
        const char *why = reduce_int(k->op, x, run, start, r->length, &v);
        if (why) return surg__k_cannot(k, why);
        surg__store_int(o->dtype, o->data, to, v);
      }
    }
  }
  return SURG__K_OK;
}

surg__kstatus surg__k_reduce(surg_kctx *k) {
  const surg__array *x = &k->in[0];
  axes a;
  reduction r;
  if (!k->wanted[0]) return SURG__K_OK;
  SURG__K_TRY(find_axes(k, &a));
  plan(x, &a, surg_node_int(k->node, "keepdims", 1) != 0, &r);
  SURG__K_TRY(undefined(k, &a, r.length));
  if (a.none) return surg__k_alias(k, 0, 0, x->dims, x->rank);
  SURG__K_TRY(surg__k_out(k, 0, x->dtype, r.out_dims, r.out_rank));
  SURG__K_TRY(surg__k_work(k, x->count));
  SURG__K_TRY(surg__k_work(k, k->out[0].count));
  return reduce_all(k, &r);
}

/* The index of the extreme element of one run; *nan is set where there is NaN: its index. */
static int64_t arg_of_run(const surg__array *x, uint64_t start, uint64_t step, uint64_t length,
                          bool largest, bool last, bool *nan) {
  bool real = surg__is_real(x->dtype), is_signed = surg__dtype_is_signed_int(x->dtype);
  uint64_t best = 0;
  for (uint64_t i = 0; i < length; ++i) {
    uint64_t at = start + i * step, held = start + best * step;
    bool more, same;
    if (real) {
      double v = surg__load_f64(x->dtype, x->data, at), h = surg__load_f64(x->dtype, x->data, held);
      if (isnan(v)) {
        *nan = true;
        return (int64_t)i; /* as if it were above or below all numbers */
      }
      more = largest ? v > h : v < h;
      same = v == h;
    } else {
      uint64_t v = surg__load_int(x->dtype, x->data, at);
      uint64_t h = surg__load_int(x->dtype, x->data, held);
      bool less = is_signed ? (int64_t)v < (int64_t)h : v < h;
      same = v == h;
      more = !same && less != largest;
    }
    if (more || (same && last)) best = i;
  }
  return (int64_t)best;
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
  plan(x, &a, surg_node_int(k->node, "keepdims", 1) != 0, &r);
  SURG__K_TRY(surg__k_out(k, 0, SURG_INT64, r.out_dims, r.out_rank));
  if (k->out[0].count == 0) return SURG__K_OK;
  if (x->dims[axis] == 0) return surg__k_invalid(k, "no elements to choose from");
  SURG__K_TRY(surg__k_work(k, x->count));
  uint64_t step = 1;
  for (uint32_t d = axis + 1; d < x->rank; ++d) step *= (uint64_t)x->dims[d];
  int64_t *out = k->out[0].data;
  for (; !r.kept.done; surg__loop_next(&r.kept)) {
    for (int64_t i = 0; i < r.kept.inner; ++i) {
      uint64_t start = (uint64_t)(r.kept.at[1] + i * r.kept.step[1]);
      bool nan = false;
      int64_t found = arg_of_run(x, start, step, r.length, k->op == SURG_OP_ArgMax, last, &nan);
      if (nan) SURG__K_TRY(surg__k_disputed(k, "the order of NaN is not defined"));
      out[r.kept.at[0] + i] = found;
    }
  }
  return SURG__K_OK;
}

/* --- CumSum, CumProd --- */

typedef struct cumulation {
  const surg__array *x, *o;
  uint64_t length, step;
  bool product, exclusive, reverse;
} cumulation;

static void cumulate_run(const cumulation *c, uint64_t start) {
  double real = c->product;
  uint64_t whole = c->product;
  bool is_real = surg__is_real(c->x->dtype);
  for (uint64_t i = 0; i < c->length; ++i) {
    uint64_t at = start + (c->reverse ? c->length - 1 - i : i) * c->step;
    if (is_real) {
      double v = surg__load_f64(c->x->dtype, c->x->data, at);
      double after = c->product ? real * v : real + v;
      surg__store_f64(c->o->dtype, c->o->data, at, c->exclusive ? real : after);
      real = after;
    } else {
      uint64_t v = surg__load_int(c->x->dtype, c->x->data, at);
      uint64_t after = c->product ? whole * v : whole + v;
      surg__store_int(c->o->dtype, c->o->data, at, c->exclusive ? whole : after);
      whole = after;
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
  c.product = k->op == SURG_OP_CumProd;
  c.exclusive = surg_node_int(k->node, "exclusive", 0) != 0;
  c.reverse = surg_node_int(k->node, "reverse", 0) != 0;
  for (uint32_t d = axis + 1; d < x->rank; ++d) c.step *= (uint64_t)x->dims[d];
  uint64_t block = c.length * c.step;
  for (uint64_t base = 0; base < x->count; base += block) {
    for (uint64_t i = 0; i < c.step; ++i) cumulate_run(&c, base + i);
  }
  return SURG__K_OK;
}
