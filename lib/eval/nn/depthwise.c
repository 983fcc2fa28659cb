/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions with one input channel per group, row by row. Sums are in kernel order, as in the
 * block product (gemm), so the results have the same bits. */
#include "eval/nn/depthwise.h"

#include <math.h>


#define ROW 256 /* positions per step */

static void add_scaled(double *acc, const double *v, double by, uint64_t n) {
  for (uint64_t i = 0; i < n; ++i) acc[i] += v[i] * by;
}

/* Sums for `n` positions of one output channel that differ only in the last axis, after
 * surg__im2col_place. Padding adds zeros, which matter only for weights that are not finite. */
static void sum_row(const surg__depthwise *d, uint64_t x, const double *weight, uint32_t n,
                    double *acc) {
  const surg__im2col *c = &d->windows;
  uint64_t step = (uint64_t)c->w->stride[c->w->n - 1];
  double v[ROW];
  for (uint32_t i = 0; i < n; ++i) acc[i] = 0;
  for (uint64_t t = 0; t < c->w->kernel_count; ++t) {
    uint32_t low = c->low[t], high = c->high[t];
    if (!isfinite(weight[t])) {
      for (uint32_t i = 0; i < n; ++i) {
        if (i < low || i >= high) acc[i] += 0 * weight[t];
      }
    }
    if (low == high) continue;
    uint64_t from = x + (uint64_t)(c->start[t] + (int64_t)low * (int64_t)step);
    surg__load_run(c->dtype, c->data, from, step, high - low, v);
    add_scaled(acc + low, v, weight[t], high - low);
  }
}

void surg__depthwise_run(const surg__depthwise *d, surg__gemm_store store, void *to) {
  const surg__window *w = d->windows.w;
  uint64_t row = (uint64_t)w->out[w->n - 1];
  double acc[ROW];
  for (uint64_t at = 0; at < w->out_count && !surg__k_stopped(d->k);) {
    uint64_t left = row - at % row;
    uint32_t n = left < ROW ? (uint32_t)left : ROW;
    surg__im2col_place(&d->windows, at, n);
    for (uint64_t i = 0; i < d->planes; ++i) {
      sum_row(d, i / d->multiplier * w->in_count,
              d->weight + i % d->channels * w->kernel_count, n, acc);
      store(to, i, at, n, acc);
    }
    at += n;
  }
}
