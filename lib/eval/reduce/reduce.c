/* SPDX-License-Identifier: Apache-2.0 */
/* Reduce*, ArgMax and ArgMin. Floats of every width are accumulated in double, in the order that
 * reduce_fast.h states, and rounded once; integer sums and products wrap. */
#include <math.h>

#include "eval/core/kernels.h"
#include "eval/core/loop.h"
#include "eval/core/number.h"
#include "eval/fast/reduce_fast.h"

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
    if (out->reduced[axis]) return surg__k_invalid(k, "an axis is repeated");
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
  const surg__array *o = &k->out[0];
  if (surg__is_real(k->in[0].dtype) && r->length == 0) {
    for (uint64_t i = 0; i < o->count; ++i)
      surg__store_f64(o->dtype, o->data, i, reduce_nothing(k->op));
    return SURG__K_OK;
  }
  double *room = surg__k_scratch(k, (size_t)surg__reduce_room(k->op, &r->kept), sizeof *room);
  if (!room) return SURG__K_NOMEM;
  const char *why = surg__reduce_fast(k->op, &k->in[0], o, &r->kept, &r->run, r->length, room);
  return why ? surg__k_cannot(k, why) : SURG__K_OK;
}

/* Whether engines give other results: extremes of NaN, or of zeros of both signs, and integers that
 * grow too large. Asked where the result would be a constant. */
static surg__kstatus engines_differ(surg_kctx *k) {
  const surg__array *x = &k->in[0];
  const bool extreme = k->op == SURG_OP_ReduceMax || k->op == SURG_OP_ReduceMin;
  const bool product = k->op == SURG_OP_ReduceProd, square = k->op == SURG_OP_ReduceSumSquare;
  double all = product;
  if (k->running) return SURG__K_OK;
  if (surg__is_real(x->dtype)) {
    bool plus = false, minus = false; /* zeros */
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
  plan(x, &a, surg_node_int(k->node, "keepdims", 1) != 0, &r);
  SURG__K_TRY(undefined(k, &a, r.length));
  if (a.none) return surg__k_alias(k, 0, 0, x->dims, x->rank);
  SURG__K_TRY(surg__k_out(k, 0, x->dtype, r.out_dims, r.out_rank));
  SURG__K_TRY(surg__k_work(k, x->count));
  SURG__K_TRY(surg__k_work(k, k->out[0].count));
  SURG__K_TRY(engines_differ(k));
  return reduce_all(k, &r);
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
  uint64_t inner = 1;
  for (uint32_t d = axis + 1; d < x->rank; ++d) inner *= (uint64_t)x->dims[d];
  const bool nan = surg__arg_fast(x, k->out[0].count / inner, r.length, inner,
                                  k->op == SURG_OP_ArgMax, last, k->out[0].data);
  return nan ? surg__k_disputed(k, "the order of NaN is not defined") : SURG__K_OK;
}
