/* SPDX-License-Identifier: Apache-2.0 */
/* Softmax, LogSoftmax and Hardmax. Sums run in double in index order. */
#include <math.h>

#include "eval/kernels.h"
#include "eval/number.h"
#include "eval/vmath.h"

/* The runs the operator works on: `outer` x `inner` of them, elements `inner` apart. */
typedef struct runs {
  uint64_t outer, length, inner;
} runs;

/* Up to version 12 all axes from `axis` on are one. */
static bool find_runs(surg_kctx *k, runs *r) {
  const surg__array *x = &k->in[0];
  int64_t axis = surg_node_int(k->node, "axis", k->since < 13 ? 1 : -1);
  uint32_t a;
  if (k->since < 13 && axis == (int64_t)x->rank) {
    a = x->rank;
  } else if (x->rank == 0 && axis == -1) {
    a = 0;
  } else if (!surg__k_axis(axis, x->rank, &a)) {
    return false;
  }
  *r = (runs){1, 1, 1};
  for (uint32_t d = 0; d < x->rank; ++d) {
    uint64_t n = (uint64_t)x->dims[d];
    if (d < a) {
      r->outer *= n;
    } else if (d == a || k->since < 13) {
      r->length *= n;
    } else {
      r->inner *= n;
    }
  }
  return true;
}

static double at(const surg__array *x, uint64_t base, uint64_t step, uint64_t i) {
  return surg__load_f64(x->dtype, x->data, base + i * step);
}

/* The largest of a run, or NaN; *index: where it first stands. */
static double peak(const surg__array *x, uint64_t base, const runs *r, uint64_t *index) {
  double top = at(x, base, r->inner, 0);
  *index = 0;
  for (uint64_t i = 1; i < r->length && !isnan(top); ++i) {
    double v = at(x, base, r->inner, i);
    if (v > top || isnan(v)) {
      top = v;
      *index = i;
    }
  }
  return top;
}

static void soft(const surg__array *x, const surg__array *o, uint64_t base, const runs *r,
                 bool logarithm) {
  uint64_t index;
  double top = peak(x, base, r, &index), sum = 0;
  for (uint64_t i = 0; i < r->length; ++i) sum += exp(at(x, base, r->inner, i) - top);
  double log_sum = log(sum);
  for (uint64_t i = 0; i < r->length; ++i) {
    double v = at(x, base, r->inner, i) - top;
    surg__store_f64(o->dtype, o->data, base + i * r->inner, logarithm ? v - log_sum : exp(v) / sum);
  }
}

/* exp of n elements less `top` to `to`, and their sum. */
SURG__HOT(exp_row, (const float *from, float top, double *to, uint64_t n), (from, top, to, n)) {
  for (uint64_t i = 0; i < n; ++i) to[i] = surg__v_exp((double)from[i] - (double)top);
}

SURG__HOT(share_row, (const double *from, double sum, float *to, uint64_t n), (from, sum, to, n)) {
  for (uint64_t i = 0; i < n; ++i) to[i] = (float)(from[i] / sum);
}

/* A dense run of floats; `row` has room for its exponentials. */
static void soft_floats(const float *x, float *o, uint64_t n, double *row) {
  float top = x[0];
  double sum = 0;
  for (uint64_t i = 0; i < n; ++i) top = x[i] > top || x[i] != x[i] ? x[i] : top;
  exp_row(x, top, row, n);
  for (uint64_t i = 0; i < n; ++i) sum += row[i];
  share_row(row, sum, o, n);
}

/* False: the largest is NaN, and taken as such. */
static bool hard(const surg__array *x, const surg__array *o, uint64_t base, const runs *r) {
  uint64_t index;
  bool clean = !isnan(peak(x, base, r, &index));
  for (uint64_t i = 0; i < r->length; ++i) {
    surg__store_f64(o->dtype, o->data, base + i * r->inner, i == index ? 1 : 0);
  }
  return clean;
}

surg__kstatus surg__k_softmax(surg_kctx *k) {
  const surg__array *x = &k->in[0], *o = &k->out[0];
  runs r;
  if (!k->wanted[0]) return SURG__K_OK;
  SURG__K_TRY(surg__k_out(k, 0, x->dtype, x->dims, x->rank));
  if (x->count == 0) return SURG__K_OK;
  if (!find_runs(k, &r)) return surg__k_invalid(k, "axis is out of range");
  uint64_t work;
  if (!surg__mul_u64(x->count, 4, &work)) return SURG__K_BUDGET;
  SURG__K_TRY(surg__k_work(k, work));
  bool dense = r.inner == 1 && x->dtype == SURG_FLOAT && k->op == SURG_OP_Softmax;
  double *row = dense ? surg__k_scratch(k, (size_t)r.length, sizeof *row) : NULL;
  if (dense && !row) return SURG__K_NOMEM;
  for (uint64_t i = 0; i < r.outer && dense; ++i) {
    soft_floats((const float *)x->data + i * r.length, (float *)o->data + i * r.length, r.length,
                row);
  }
  for (uint64_t i = 0; i < r.outer * r.inner && !dense; ++i) {
    uint64_t base = i / r.inner * r.length * r.inner + i % r.inner;
    if (k->op == SURG_OP_Hardmax) {
      if (!hard(x, o, base, &r)) {
        SURG__K_TRY(surg__k_disputed(k, "the largest of NaN is not defined"));
      }
    } else {
      soft(x, o, base, &r, k->op == SURG_OP_LogSoftmax);
    }
  }
  return SURG__K_OK;
}
