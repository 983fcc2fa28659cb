/* SPDX-License-Identifier: Apache-2.0 */
/* Softmax, LogSoftmax and Hardmax. Exponentials are summed in double in index order. */
#include <math.h>

#include "eval/core/kernels.h"
#include "eval/core/number.h"

/* The runs that are normalized: `outer` x `inner` runs, whose elements are `inner` apart. */
typedef struct runs {
  uint64_t outer, length, inner;
} runs;

/* Computes the runs; up to version 12 they span all axes from `axis` on. */
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

/* The largest element of a run, or NaN; *index: its first occurrence. */
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

static void put(const surg__array *o, uint64_t i, double v) {
  surg__real_put(o, i, isnan(v) ? NAN : v);
}

/* Computes one run. If the largest element is not finite, all results are NaN. `power`: memory for
 * the exponentials. */
static void soft(const surg__array *x, const surg__array *o, uint64_t base, const runs *r,
                 bool logarithm, double *power) {
  uint64_t index;
  const double top = peak(x, base, r, &index);
  double sum = 0;
  for (uint64_t i = 0; i < r->length; ++i) {
    power[i] = exp(at(x, base, r->inner, i) - top);
    sum += power[i];
  }
  const double log_sum = logarithm ? log(sum) : 0;
  for (uint64_t i = 0; i < r->length; ++i) {
    const double v = logarithm ? at(x, base, r->inner, i) - top - log_sum : power[i] / sum;
    put(o, base + i * r->inner, isfinite(top) ? v : (double)NAN);
  }
}

/* Hardmax of one run. False: the largest element is NaN, which is treated as the largest. */
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
  const bool is_hard = k->op == SURG_OP_Hardmax;
  double *power = is_hard ? NULL : surg__k_scratch(k, (size_t)r.length, sizeof *power);
  if (!is_hard && !power) return SURG__K_NOMEM;
  for (uint64_t i = 0; i < r.outer * r.inner; ++i) {
    const uint64_t base = i / r.inner * r.length * r.inner + i % r.inner;
    if (!is_hard)
      soft(x, o, base, &r, k->op == SURG_OP_LogSoftmax, power);
    else if (!hard(x, o, base, &r))
      SURG__K_TRY(surg__k_disputed(k, "the largest of NaN is not defined"));
  }
  return SURG__K_OK;
}
