/* SPDX-License-Identifier: Apache-2.0 */
/* MaxPool, AveragePool, LpPool and their global forms. */
#include <math.h>

#include "eval/core/kernels.h"
#include "eval/core/number.h"
#include "eval/nn/im2col.h"
#include "eval/nn/window.h"

#define ROW 256 /* positions per step */

typedef struct pool {
  surg_kctx *k;
  surg__window w;
  surg__tap *taps;
  surg__im2col rows;
  double *over;    /* divisor of the average at each position */
  uint64_t planes; /* batch size times channels */
  double p;
  bool include_pad, column_major;
} pool;

static double element(const surg__array *x, uint64_t i) {
  if (surg__is_real(x->dtype)) return surg__load_f64(x->dtype, x->data, i);
  return (double)(int64_t)surg__load_int(x->dtype, x->data, i); /* 8 bits */
}

static void store(const surg__array *o, uint64_t i, double v) {
  if (surg__is_real(o->dtype))
    surg__store_f64(o->dtype, o->data, i, v);
  else
    surg__store_int(o->dtype, o->data, i, (uint64_t)(int64_t)v);
}

/* Index of an element of the plane in storage_order. */
static uint64_t plane_index(const pool *p, uint64_t in) {
  if (!p->column_major) return in;
  uint64_t r = 0, step = 1, rest = in, index[SURG_LIMIT_RANK];
  for (uint32_t d = p->w.n; d-- > 0;) {
    index[d] = rest % (uint64_t)p->w.in[d];
    rest /= (uint64_t)p->w.in[d];
  }
  for (uint32_t d = 0; d < p->w.n; ++d) {
    r += index[d] * step;
    step *= (uint64_t)p->w.in[d];
  }
  return r;
}

static const char *largest(const pool *p, uint64_t plane, uint64_t at, uint64_t n) {
  const surg__array *x = &p->k->in[0];
  uint64_t base = plane * p->w.in_count, to = plane * p->w.out_count + at, best = 0;
  if (n == 0) return "a window is entirely in the padding";
  for (uint64_t i = 0; i < n; ++i) {
    double v = element(x, base + p->taps[i].in);
    if (isnan(v)) return "the largest of NaN";
    if (v > element(x, base + p->taps[best].in)) best = i;
  }
  if (p->k->wanted[0]) store(&p->k->out[0], to, element(x, base + p->taps[best].in));
  if (p->k->n_out > 1 && p->k->wanted[1]) {
    ((int64_t *)p->k->out[1].data)[to] = (int64_t)(base + plane_index(p, p->taps[best].in));
  }
  return NULL;
}

static bool is_max(int op) {
  return op == SURG_OP_MaxPool || op == SURG_OP_GlobalMaxPool;
}

static bool is_average(int op) {
  return op == SURG_OP_AveragePool || op == SURG_OP_GlobalAveragePool;
}

/* Reads the attribute p: a float in version 1, an integer in later ones. */
static bool read_p(pool *p) {
  surg_kctx *k = p->k;
  if (is_max(k->op) || is_average(k->op)) return true;
  p->p = k->since < 2 ? (double)surg_node_float(k->node, "p", 2)
                      : (double)surg_node_int(k->node, "p", 2);
  return p->p > 0;
}

static surg__kstatus make_outputs(pool *p) {
  surg_kctx *k = p->k;
  const surg__array *x = &k->in[0];
  int64_t dims[SURG_LIMIT_RANK] = {x->dims[0], x->dims[1]};
  memcpy(dims + 2, p->w.out, p->w.n * sizeof *dims);
  SURG__K_TRY(surg__k_out(k, 0, x->dtype, dims, x->rank));
  SURG__K_TRY(surg__k_out(k, 1, SURG_INT64, dims, x->rank));
  if (!surg__mul_u64((uint64_t)x->dims[0], (uint64_t)x->dims[1], &p->planes)) return SURG__K_BUDGET;
  return SURG__K_OK;
}

/* MaxPool with the indices of the largest elements: position by position. */
static surg__kstatus run_positions(pool *p) {
  surg_kctx *k = p->k;
  for (uint64_t at = 0; at < p->w.out_count; ++at) {
    uint64_t padded, n = surg__window_at(&p->w, at, p->taps, &padded);
    for (uint64_t plane = 0; plane < p->planes; ++plane) {
      const char *why = largest(p, plane, at, n);
      if (why) return surg__k_cannot(k, why);
    }
  }
  return SURG__K_OK;
}

/* Adds the elements of one tap to the results of their positions. In a MaxPool NaN stays. */
static void join(const pool *p, const double *v, double *acc, uint32_t n) {
  if (is_max(p->k->op)) {
    for (uint32_t i = 0; i < n; ++i)
      acc[i] = ((acc[i] >= v[i]) | (acc[i] != acc[i])) ? acc[i] : v[i];
  } else if (is_average(p->k->op)) {
    for (uint32_t i = 0; i < n; ++i) acc[i] += v[i];
  } else {
    for (uint32_t i = 0; i < n; ++i) acc[i] += pow(fabs(v[i]), p->p);
  }
}

/* Whether no result of a MaxPool is NaN; true for other pools. */
static bool is_clean(const pool *p, const double *acc, uint32_t n) {
  for (uint32_t i = 0; is_max(p->k->op) && i < n; ++i)
    if (isnan(acc[i])) return false;
  return true;
}

static void finish(const pool *p, double *acc, uint64_t at, uint32_t n) {
  if (is_max(p->k->op)) return;
  for (uint32_t i = 0; i < n; ++i) {
    acc[i] = is_average(p->k->op) ? acc[i] / p->over[at + i] : pow(acc[i], 1 / p->p);
  }
}

/* Computes `n` positions of a plane that differ only in the last axis, tap by tap in index
 * order. */
static bool run_row(const pool *p, uint64_t plane, uint64_t at, uint32_t n) {
  const surg__array *x = &p->k->in[0], *o = &p->k->out[0];
  uint64_t step = (uint64_t)p->w.stride[p->w.n - 1], base = plane * p->w.in_count;
  double acc[ROW], v[ROW];
  for (uint32_t i = 0; i < n; ++i) acc[i] = is_max(p->k->op) ? -INFINITY : 0;
  for (uint64_t t = 0; t < p->w.kernel_count; ++t) {
    uint32_t low = p->rows.low[t], high = p->rows.high[t];
    if (low == high) continue;
    uint64_t from = base + (uint64_t)(p->rows.start[t] + (int64_t)low * (int64_t)step);
    surg__load_run(x->dtype, x->data, from, step, high - low, v);
    join(p, v, acc + low, high - low);
  }
  const bool clean = is_clean(p, acc, n);
  finish(p, acc, at, n);
  uint64_t to = plane * p->w.out_count + at;
  if (surg__is_real(o->dtype)) {
    surg__store_run(o->dtype, o->data, to, n, acc);
  } else {
    for (uint32_t i = 0; i < n; ++i) {
      surg__store_int(o->dtype, o->data, to + i, (uint64_t)(int64_t)acc[i]);
    }
  }
  return clean;
}

/* Computes the divisor of every average. False: a window has no elements. */
static bool count_elements(pool *p) {
  if (!is_max(p->k->op) && !is_average(p->k->op)) return true;
  for (uint64_t at = 0; at < p->w.out_count; ++at) {
    uint64_t padded, n = surg__window_at(&p->w, at, p->taps, &padded);
    p->over[at] = (double)(p->include_pad ? padded : n);
    if (is_max(p->k->op) ? n == 0 : p->over[at] == 0) return false;
  }
  return true;
}

/* Pools whose windows are whole planes, element after element. */
static surg__kstatus run_planes(pool *p) {
  surg_kctx *k = p->k;
  const surg__array *x = &k->in[0], *o = &k->out[0];
  double v[ROW];
  p->over = surg__k_scratch(k, 1, sizeof *p->over);
  if (!p->over) return SURG__K_NOMEM;
  *p->over = (double)p->w.in_count;
  for (uint64_t plane = 0; plane < p->planes; ++plane) {
    double acc = is_max(k->op) ? -INFINITY : 0;
    for (uint64_t i = 0; i < p->w.in_count; i += ROW) {
      uint64_t n = p->w.in_count - i < ROW ? p->w.in_count - i : ROW;
      surg__load_run(x->dtype, x->data, plane * p->w.in_count + i, 1, n, v);
      for (uint64_t j = 0; j < n; ++j) join(p, v + j, &acc, 1);
    }
    if (!is_clean(p, &acc, 1)) SURG__K_TRY(surg__k_disputed(k, "the largest of NaN"));
    finish(p, &acc, 0, 1);
    if (surg__is_real(o->dtype))
      surg__store_run(o->dtype, o->data, plane, 1, &acc);
    else
      surg__store_int(o->dtype, o->data, plane, (uint64_t)(int64_t)acc);
  }
  return SURG__K_OK;
}

static bool whole_planes(const surg__window *w) {
  for (uint32_t d = 0; d < w->n; ++d) {
    if (w->out[d] != 1 || w->kernel[d] != w->in[d] || w->begin[d] != 0 || w->end[d] != 0 ||
        w->dilation[d] != 1) {
      return false;
    }
  }
  return true;
}

static surg__kstatus run_rows(pool *p) {
  surg_kctx *k = p->k;
  uint64_t row = (uint64_t)p->w.out[p->w.n - 1];
  p->over = surg__k_scratch(k, (size_t)p->w.out_count, sizeof *p->over);
  if (!p->over) return SURG__K_NOMEM;
  SURG__K_TRY(surg__im2col_init(k, &p->w, &p->rows));
  if (!count_elements(p)) return surg__k_cannot(k, "a window is entirely in the padding");
  for (uint64_t at = 0; at < p->w.out_count;) {
    uint64_t left = row - at % row;
    uint32_t n = left < ROW ? (uint32_t)left : ROW;
    surg__im2col_place(&p->rows, at, n);
    for (uint64_t plane = 0; plane < p->planes; ++plane) {
      if (!run_row(p, plane, at, n) && !k->running) return surg__k_cannot(k, "the largest of NaN");
    }
    at += n;
  }
  return SURG__K_OK;
}

static surg__kstatus run(pool *p) {
  surg_kctx *k = p->k;
  uint64_t work, most = p->w.kernel_count < p->w.in_count ? p->w.kernel_count : p->w.in_count;
  if (p->planes == 0 || p->w.out_count == 0) return SURG__K_OK;
  if (p->w.n == 0) { /* without spatial axes a plane is one element */
    p->w = (surg__window){.n = 1,
                          .in = {1},
                          .out = {1},
                          .kernel = {1},
                          .stride = {1},
                          .dilation = {1},
                          .in_count = 1,
                          .out_count = 1,
                          .kernel_count = 1};
  }
  SURG__K_TRY(surg__window_taps(k, &p->w, &p->taps));
  if (!surg__mul_u64(p->w.out_count, most + 1, &work) || !surg__mul_u64(work, p->planes, &work)) {
    return SURG__K_BUDGET;
  }
  SURG__K_TRY(surg__k_work(k, work));
  bool indices = k->n_out > 1 && k->wanted[1];
  if (indices) return run_positions(p);
  return whole_planes(&p->w) ? run_planes(p) : run_rows(p);
}

static surg__kstatus start(surg_kctx *k, pool *p) {
  *p = (pool){.k = k};
  if (k->in[0].rank < 2) return surg__k_invalid(k, "a pool needs batch and channel axes");
  return read_p(p) ? SURG__K_OK : surg__k_invalid(k, "p is not above zero");
}

surg__kstatus surg__k_pool(surg_kctx *k) {
  pool p;
  SURG__K_TRY(start(k, &p));
  if (!surg_node_attr(k->node, "kernel_shape")) {
    return surg__k_invalid(k, "kernel_shape is absent");
  }
  p.include_pad = surg_node_int(k->node, "count_include_pad", 0) != 0;
  p.column_major = surg_node_int(k->node, "storage_order", 0) != 0;
  SURG__K_TRY(surg__window_init(k, k->in[0].dims + 2, k->in[0].rank - 2, NULL, &p.w));
  SURG__K_TRY(make_outputs(&p));
  if (!k->wanted[0] && k->n_out < 2) return SURG__K_OK;
  return run(&p);
}

surg__kstatus surg__k_global_pool(surg_kctx *k) {
  pool p;
  if (!k->wanted[0]) return SURG__K_OK;
  SURG__K_TRY(start(k, &p));
  const surg__array *x = &k->in[0];
  for (uint32_t d = 2; d < x->rank; ++d) {
    if (x->dims[d] == 0) return surg__k_cannot(k, "a pool over nothing");
  }
  SURG__K_TRY(surg__window_init(k, x->dims + 2, x->rank - 2, x->dims + 2, &p.w));
  SURG__K_TRY(make_outputs(&p));
  return run(&p);
}
