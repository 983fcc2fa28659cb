/* SPDX-License-Identifier: Apache-2.0 */
/* DeformConv: a convolution that samples its input at offset positions, by bilinear
 * interpolation. */
#include <math.h>

#include "eval/core/kernels.h"
#include "eval/core/loop.h"
#include "eval/image/sample.h"
#include "eval/nn/window.h"

typedef struct deform {
  surg_kctx *k;
  surg__window w;
  uint64_t batch, channels, outputs, groups, offset_groups;
  const double *x, *weight, *bias; /* bias may be NULL */
  surg__taps *taps;
  double *column; /* sampled values: [channel][tap] */
} deform;

/* Computes the coordinates of kernel element `tap` at output position `at`, with its offsets.
 * False: a coordinate is not finite. */
static bool locate(const deform *d, uint64_t b, uint64_t group, uint64_t at, uint64_t tap) {
  const surg__array *offset = &d->k->in[2];
  uint64_t n = d->w.n, p = at, t = tap;
  for (uint32_t i = d->w.n; i-- > 0;) {
    uint64_t out = (uint64_t)d->w.out[i], kernel = (uint64_t)d->w.kernel[i];
    uint64_t plane = ((b * d->offset_groups + group) * d->w.kernel_count + tap) * n + i;
    double x = (double)((int64_t)(p % out) * d->w.stride[i] - d->w.begin[i] +
                        (int64_t)(t % kernel) * d->w.dilation[i]);
    x += surg__real_at(offset, plane * d->w.out_count + at);
    if (!isfinite(x)) return false;
    surg__taps_find(&d->taps[i], SURG__LINEAR, SURG__ZEROS, x, d->w.in[i], 0,
                    (double)(d->w.in[i] - 1));
    p /= out;
    t /= kernel;
  }
  return true;
}

static surg__kstatus fill_column(const deform *d, uint64_t b, uint64_t at) {
  surg_kctx *k = d->k;
  uint64_t taps = d->w.kernel_count, each = d->channels / d->offset_groups;
  for (uint64_t i = 0; i < d->offset_groups * taps; ++i) {
    uint64_t g = i / taps, t = i % taps, plane = (b * d->offset_groups + g) * taps + t;
    bool somewhere = locate(d, b, g, at, t);
    double mask = 1;
    if (!somewhere) SURG__K_TRY(surg__k_disputed(k, "an offset that is not finite"));
    if (surg__k_has(k, 4)) mask = surg__real_at(&k->in[4], plane * d->w.out_count + at);
    for (uint64_t c = g * each; c < (g + 1) * each; ++c) {
      const double *from = d->x + (b * d->channels + c) * d->w.in_count;
      double v = somewhere ? surg__taps_sum(d->taps, d->w.in, d->w.n, from) : 0;
      d->column[c * taps + t] = v * mask;
    }
  }
  return SURG__K_OK;
}

static void put_outputs(const deform *d, uint64_t b, uint64_t at) {
  uint64_t each = d->channels / d->groups * d->w.kernel_count;
  for (uint64_t o = 0; o < d->outputs; ++o) {
    uint64_t group = o / (d->outputs / d->groups);
    const double *column = d->column + group * each, *weight = d->weight + o * each;
    double sum = 0;
    for (uint64_t i = 0; i < each; ++i) sum += weight[i] * column[i];
    if (d->bias) sum += d->bias[o];
    surg__real_put(&d->k->out[0], (b * d->outputs + o) * d->w.out_count + at, sum);
  }
}

/* Whether input i is [batch, offset_group * kernel elements * each, output sizes]. */
static bool fits(const deform *d, uint32_t i, uint64_t each) {
  const surg__array *a = &d->k->in[i];
  uint64_t planes;
  if (!surg__k_has(d->k, i)) return true;
  if (!surg__mul_u64(d->offset_groups, d->w.kernel_count, &planes) ||
      !surg__mul_u64(planes, each, &planes)) {
    return false;
  }
  bool same =
      a->rank == d->w.n + 2 && (uint64_t)a->dims[0] == d->batch && (uint64_t)a->dims[1] == planes;
  for (uint32_t s = 0; same && s < d->w.n; ++s) same = a->dims[s + 2] == d->w.out[s];
  return same;
}

static surg__kstatus read_shapes(deform *d) {
  surg_kctx *k = d->k;
  const surg__array *x = &k->in[0], *w = &k->in[1];
  int64_t group = surg_node_int(k->node, "group", 1), named[SURG_LIMIT_RANK];
  int64_t offset_group = surg_node_int(k->node, "offset_group", 1);
  if (x->rank < 3 || w->rank != x->rank) {
    return surg__k_invalid(k, "input and weight have ranks that do not fit");
  }
  if (group < 1 || offset_group < 1 || x->dims[1] % group != 0 || w->dims[0] % group != 0 ||
      x->dims[1] % offset_group != 0 || w->dims[1] != x->dims[1] / group) {
    return surg__k_invalid(k, "the channels do not fit the groups");
  }
  d->batch = (uint64_t)x->dims[0];
  d->channels = (uint64_t)x->dims[1];
  d->outputs = (uint64_t)w->dims[0];
  d->groups = (uint64_t)group;
  d->offset_groups = (uint64_t)offset_group;
  SURG__K_TRY(surg__window_init(k, x->dims + 2, x->rank - 2, w->dims + 2, &d->w));
  if (!surg__window_ints(k, "kernel_shape", d->w.n, 0, 1, named)) {
    return surg__k_invalid(k, "kernel_shape does not fit the input");
  }
  for (uint32_t i = 0; i < d->w.n; ++i) {
    if (named[i] != 0 && named[i] != d->w.kernel[i]) {
      return surg__k_invalid(k, "kernel_shape is not that of the weight");
    }
  }
  if (!fits(d, 2, d->w.n) || !fits(d, 4, 1) ||
      (surg__k_has(k, 3) && (k->in[3].rank != 1 || k->in[3].dims[0] != w->dims[0]))) {
    return surg__k_invalid(k, "offset, mask or bias has another shape");
  }
  return SURG__K_OK;
}

static surg__kstatus ask_work(deform *d) {
  uint64_t corners = 1, sum;
  for (uint32_t i = 0; i < d->w.n; ++i) {
    if (!surg__mul_u64(corners, 2, &corners)) return SURG__K_BUDGET;
  }
  if (!surg__add_u64(corners, d->outputs / d->groups, &sum) || !surg__add_u64(sum, 2, &sum)) {
    return SURG__K_BUDGET;
  }
  uint64_t counts[] = {d->batch, d->w.out_count, d->channels + 1, d->w.kernel_count,
                       sum,      d->w.n + 1};
  SURG__K_TRY(surg__k_work_product(d->k, counts, SURG_COUNT(counts)));
  return surg__k_work_product(d->k, (uint64_t[]){d->batch, d->w.out_count, d->outputs}, 3);
}

surg__kstatus surg__k_deform_conv(surg_kctx *k) {
  deform d = {.k = k};
  const surg__array *x = &k->in[0];
  if (!k->wanted[0]) return SURG__K_OK;
  SURG__K_TRY(read_shapes(&d));
  int64_t dims[SURG_LIMIT_RANK] = {x->dims[0], k->in[1].dims[0]};
  memcpy(dims + 2, d.w.out, d.w.n * sizeof *dims);
  SURG__K_TRY(surg__k_out(k, 0, x->dtype, dims, x->rank));
  if (k->out[0].count == 0) return SURG__K_OK;
  if (d.w.in_count == 0) return surg__k_cannot(k, "samples of nothing");
  SURG__K_TRY(ask_work(&d));
  d.x = surg__k_widen(k, x);
  d.weight = surg__k_widen(k, &k->in[1]);
  d.taps = surg__k_scratch(k, d.w.n, sizeof *d.taps);
  d.column = surg__k_scratch(k, (size_t)(d.channels * d.w.kernel_count), sizeof *d.column);
  if (!d.x || !d.weight || !d.taps || !d.column) return SURG__K_NOMEM;
  if (surg__k_has(k, 3) && !(d.bias = surg__k_widen(k, &k->in[3]))) return SURG__K_NOMEM;
  for (uint64_t b = 0; b < d.batch; ++b) {
    for (uint64_t at = 0; at < d.w.out_count; ++at) {
      SURG__K_TRY(fill_column(&d, b, at));
      put_outputs(&d, b, at);
    }
  }
  return SURG__K_OK;
}
