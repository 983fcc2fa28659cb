/* SPDX-License-Identifier: Apache-2.0 */
/* Softmax, LogSoftmax and Hardmax. Sums run in double, in the order that reduce_fast.h states. */
#include <math.h>

#include "eval/fast/exp_fast.h"
#include "eval/fast/hot.h"
#include "eval/core/kernels.h"
#include "eval/core/number.h"
#include "eval/fast/vmath_double.h"

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

#define PIECE SURG__PIECE
#define KEPT (512 << 10) /* bytes of powers that are kept between two walks over a run: part of a
                          * cache */
#define KEPT_ROW 256     /* of each element at the least */

SURG__HOT(subtract, (double *v, const double *top, const double *log_sum, uint64_t n),
          (v, top, log_sum, n)) {
  for (uint64_t i = 0; i < n; ++i) v[i] = v[i] - top[i] - log_sum[i];
}

/* Elements less the largest and less the logarithm of the sum. */
static void logarithms(const surg__array *o, const surg__exp_runs *e, double *top, double *sum) {
  double v[PIECE], one_top[PIECE], one_sum[PIECE];
  const uint64_t rows = e->single ? 1 : e->length, n = e->single ? e->length : e->n;
  for (uint64_t j = 0; j < e->n; ++j) sum[j] = surg__d_log(isfinite(top[j]) ? sum[j] : (double)NAN);
  for (uint64_t j = 0; e->single && j < n && j < PIECE; ++j) {
    one_top[j] = *top;
    one_sum[j] = *sum;
  }
  for (uint64_t i = 0; i < rows; ++i) {
    for (uint64_t j = 0; j < n; j += PIECE) {
      const uint64_t at = e->start + i * e->step + j, m = n - j < PIECE ? n - j : PIECE;
      surg__load_run(o->dtype, e->x->data, at, 1, m, v);
      subtract(v, e->single ? one_top : top + j, e->single ? one_sum : sum + j, m);
      surg__store_run(o->dtype, o->data, at, m, v);
    }
  }
}

/* So many runs at a time: of 16-bit floats as many as have all their powers kept, where those are
 * enough to make long rows. */
static uint64_t at_once(const runs *r, int dtype, bool logarithm, bool *keep) {
  const uint64_t most = r->inner < SURG__EXP_COLUMNS ? r->inner : SURG__EXP_COLUMNS;
  const uint64_t fit = KEPT / surg__exp_size(dtype) / r->length;
  *keep = !logarithm && surg__exp_half(dtype) && fit >= (most < KEPT_ROW ? most : KEPT_ROW);
  return *keep && fit < most ? fit : most;
}

static surg__kstatus soft_all(surg_kctx *k, const runs *r) {
  const surg__array *x = &k->in[0], *o = &k->out[0];
  const bool logarithm = k->op == SURG_OP_LogSoftmax;
  bool keep;
  const uint64_t width = at_once(r, x->dtype, logarithm, &keep);
  surg__exp_runs e = {.x = x, .length = r->length, .step = r->inner, .single = r->inner == 1};
  double *room = surg__k_scratch(k, (size_t)width, (SURG__EXP_ROOM + 2) * sizeof *room);
  if (!room) return SURG__K_NOMEM;
  double *top = room + SURG__EXP_ROOM * width, *sum = top + width;
  e.room = room;
  e.o = logarithm ? NULL : o;
  if (keep) {
    e.kept = surg__k_scratch(k, (size_t)(r->length * width), surg__exp_size(x->dtype));
    if (!e.kept) return SURG__K_NOMEM;
  }
  for (uint64_t i = 0; i < r->outer; ++i) {
    for (uint64_t j = 0; j < r->inner; j += width) {
      e.start = i * r->length * r->inner + j;
      e.n = r->inner - j < width ? r->inner - j : width;
      surg__exp_sums(&e, top, sum);
      if (logarithm)
        logarithms(o, &e, top, sum);
      else
        surg__exp_shares(&e, top, sum);
    }
  }
  return SURG__K_OK;
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
  if (k->op != SURG_OP_Hardmax) return soft_all(k, &r);
  for (uint64_t i = 0; i < r.outer * r.inner; ++i) {
    const uint64_t base = i / r.inner * r.length * r.inner + i % r.inner;
    if (!hard(x, o, base, &r))
      SURG__K_TRY(surg__k_disputed(k, "the largest of NaN is not defined"));
  }
  return SURG__K_OK;
}
