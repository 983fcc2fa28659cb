/* SPDX-License-Identifier: Apache-2.0 */
/* Conv, ConvInteger and ConvTranspose: products are added up in double in index order and rounded
 * once (for ConvInteger they are exact). */
#include <math.h>

#include "eval/kernels.h"
#include "eval/loop.h"
#include "eval/number.h"
#include "eval/window.h"

typedef struct conv {
  surg__window w;
  surg__tap *taps;
  uint64_t batch, groups, in_channels, out_channels; /* channels of one group */
  const double *x, *weight, *bias;                   /* bias may be NULL */
} conv;

/* Channels and kernel, checked against each other. `weight_out`: which of the first two axes of
 * the weight counts output channels. */
static surg__kstatus shapes(surg_kctx *k, conv *c, bool transposed) {
  const surg__array *x = &k->in[0], *w = &k->in[1];
  int64_t group = surg_node_int(k->node, "group", 1), named[SURG_LIMIT_RANK];
  if (x->rank < 3 || w->rank != x->rank) {
    return surg__k_invalid(k, "input and weight of a convolution have ranks that do not fit");
  }
  uint32_t n = x->rank - 2;
  if (group < 1 || x->dims[1] % group != 0 || w->dims[0] % group != 0) {
    return surg__k_invalid(k, "the channels are no multiple of group");
  }
  c->batch = (uint64_t)x->dims[0];
  c->groups = (uint64_t)group;
  c->in_channels = (uint64_t)(x->dims[1] / group);
  c->out_channels = (uint64_t)(transposed ? w->dims[1] : w->dims[0] / group);
  if ((transposed ? w->dims[0] / group : w->dims[1]) != (int64_t)c->in_channels) {
    return surg__k_invalid(k, "the weight is for another number of channels");
  }
  if (!surg__window_ints(k, "kernel_shape", n, 0, 1, named)) {
    return surg__k_invalid(k, "kernel_shape does not fit the input");
  }
  for (uint32_t d = 0; d < n; ++d) {
    if (named[d] != 0 && named[d] != w->dims[d + 2]) {
      return surg__k_invalid(k, "kernel_shape is not that of the weight");
    }
  }
  return SURG__K_OK;
}

/* The work of all products of taps and channels. */
static surg__kstatus ask_work(surg_kctx *k, const conv *c, uint64_t positions, uint64_t taps) {
  uint64_t work = positions;
  if (!surg__mul_u64(work, taps > 0 ? taps : 1, &work) || !surg__mul_u64(work, c->batch, &work) ||
      !surg__mul_u64(work, c->groups, &work) ||
      !surg__mul_u64(work, c->in_channels > 0 ? c->in_channels : 1, &work) ||
      !surg__mul_u64(work, c->out_channels, &work)) {
    return SURG__K_BUDGET;
  }
  return surg__k_work(k, work);
}

static double dot(const conv *c, const double *x, const double *weight, uint64_t n) {
  double sum = 0;
  for (uint64_t i = 0; i < c->in_channels; ++i) {
    const double *xc = x + i * c->w.in_count, *wc = weight + i * c->w.kernel_count;
    for (uint64_t t = 0; t < n; ++t) sum += xc[c->taps[t].in] * wc[c->taps[t].kernel];
  }
  return sum;
}

/* Every output element, by positions: their taps are the same for all batches and channels. */
static const char *slide(conv *c, const surg__array *o) {
  uint64_t out_all = c->groups * c->out_channels, in_all = c->groups * c->in_channels;
  for (uint64_t at = 0; at < c->w.out_count; ++at) {
    uint64_t padded, n = surg__window_at(&c->w, at, c->taps, &padded);
    for (uint64_t i = 0; i < c->batch * out_all; ++i) {
      uint64_t b = i / out_all, channel = i % out_all, g = channel / c->out_channels;
      const double *x = c->x + (b * in_all + g * c->in_channels) * c->w.in_count;
      double v = dot(c, x, c->weight + channel * c->in_channels * c->w.kernel_count, n);
      if (c->bias) v += c->bias[channel];
      uint64_t to = i * c->w.out_count + at;
      if (surg__is_real(o->dtype)) {
        surg__store_f64(o->dtype, o->data, to, v);
      } else {
        if (fabs(v) > INT32_MAX) return "the sum overflows";
        surg__store_int(o->dtype, o->data, to, (uint64_t)(int64_t)v);
      }
    }
  }
  return NULL;
}

static surg__kstatus check_bias(surg_kctx *k, conv *c) {
  if (k->op == SURG_OP_ConvInteger || !surg__k_has(k, 2)) return SURG__K_OK;
  if (k->in[2].rank != 1 || k->in[2].count != c->groups * c->out_channels) {
    return surg__k_invalid(k, "the bias has not one entry a channel");
  }
  c->bias = surg__k_widen(k, &k->in[2]);
  return c->bias ? SURG__K_OK : SURG__K_NOMEM;
}

/* 8-bit elements less their zero point: one for all, or one for each slice of the first axis. */
static const double *shifted(surg_kctx *k, const surg__array *a, uint32_t zero) {
  double *out = surg__k_scratch(k, (size_t)a->count, sizeof *out);
  const surg__array *z = surg__k_has(k, zero) ? &k->in[zero] : NULL;
  uint64_t slice = z && z->count > 1 ? a->count / z->count : a->count;
  for (uint64_t i = 0; out && i < a->count; ++i) {
    out[i] = (double)(int64_t)surg__load_int(a->dtype, a->data, i);
    if (z) out[i] -= (double)(int64_t)surg__load_int(z->dtype, z->data, i / slice);
  }
  return out;
}

static surg__kstatus read_operands(surg_kctx *k, conv *c) {
  if (k->op == SURG_OP_ConvInteger) {
    if ((surg__k_has(k, 2) && k->in[2].count != 1) ||
        (surg__k_has(k, 3) && k->in[3].count != 1 &&
         k->in[3].count != c->groups * c->out_channels)) {
      return surg__k_invalid(k, "a zero point has not one entry a channel");
    }
    c->x = shifted(k, &k->in[0], 2);
    c->weight = shifted(k, &k->in[1], 3);
  } else {
    c->x = surg__k_widen(k, &k->in[0]);
    c->weight = surg__k_widen(k, &k->in[1]);
  }
  return c->x && c->weight ? SURG__K_OK : SURG__K_NOMEM;
}

surg__kstatus surg__k_conv(surg_kctx *k) {
  conv c = {0};
  if (!k->wanted[0]) return SURG__K_OK;
  const surg__array *x = &k->in[0], *w = &k->in[1];
  SURG__K_TRY(shapes(k, &c, false));
  SURG__K_TRY(surg__window_init(k, x->dims + 2, x->rank - 2, w->dims + 2, &c.w));
  int64_t dims[SURG_LIMIT_RANK] = {x->dims[0], w->dims[0]};
  memcpy(dims + 2, c.w.out, c.w.n * sizeof *dims);
  int dtype = k->op == SURG_OP_ConvInteger ? SURG_INT32 : x->dtype;
  SURG__K_TRY(surg__k_out(k, 0, dtype, dims, x->rank));
  SURG__K_TRY(check_bias(k, &c));
  if (k->out[0].count == 0) return SURG__K_OK;
  SURG__K_TRY(ask_work(k, &c, c.w.out_count, c.w.kernel_count));
  SURG__K_TRY(surg__window_taps(k, &c.w, &c.taps));
  SURG__K_TRY(read_operands(k, &c));
  const char *why = slide(&c, &k->out[0]);
  return why ? surg__k_cannot(k, why) : SURG__K_OK;
}

/* --- ConvTranspose: the same window, walked from the input to the output --- */

/* Output sizes and pads of one axis, so that a window over the output yields the input. */
static bool transposed_axis(surg_kctx *k, surg__window *w, uint32_t d, int64_t in, int64_t extra,
                            int64_t wish, bool same, bool upper) {
  int64_t extent = (w->kernel[d] - 1) * w->dilation[d] + 1;
  int64_t full = (in - 1) * w->stride[d] + extra + extent;
  (void)k;
  if (wish > 0 || same) {
    int64_t out = wish > 0 ? wish : in * w->stride[d];
    int64_t total = full - out;
    if (total < 0) total = 0; /* what the windows do not reach stays bias alone */
    w->begin[d] = upper ? total / 2 : total - total / 2;
    w->end[d] = total - w->begin[d];
    w->in[d] = out;
  } else {
    w->in[d] = full - w->begin[d] - w->end[d];
  }
  w->out[d] = in;
  return in > 0 && w->in[d] >= 0;
}

static surg__kstatus transposed_window(surg_kctx *k, conv *c) {
  const surg__array *x = &k->in[0], *weight = &k->in[1];
  surg__window *w = &c->w;
  uint32_t n = x->rank - 2;
  int64_t pads[2 * SURG_LIMIT_RANK], extra[SURG_LIMIT_RANK], wish[SURG_LIMIT_RANK];
  *w = (surg__window){.n = n, .in_count = 1, .out_count = 1, .kernel_count = 1};
  surg_str mode = surg_node_string(k->node, "auto_pad", "NOTSET");
  bool lower = mode.n == 10 && memcmp(mode.p, "SAME_LOWER", 10) == 0;
  bool upper = mode.n == 10 && memcmp(mode.p, "SAME_UPPER", 10) == 0;
  bool plain = (mode.n == 6 && memcmp(mode.p, "NOTSET", 6) == 0);
  if (!surg__window_ints(k, "strides", n, 1, 1, w->stride) ||
      !surg__window_ints(k, "dilations", n, 1, 1, w->dilation) ||
      !surg__window_ints(k, "pads", 2 * n, 0, 0, pads) ||
      !surg__window_ints(k, "output_padding", n, 0, 0, extra) ||
      !surg__window_ints(k, "output_shape", n, 0, 1, wish)) {
    return surg__k_invalid(k, "an attribute does not fit the input");
  }
  for (uint32_t d = 0; d < n; ++d) {
    w->kernel[d] = weight->dims[d + 2];
    if (w->kernel[d] < 1) return surg__k_invalid(k, "an empty kernel");
    if (plain) {
      w->begin[d] = pads[d];
      w->end[d] = pads[n + d];
    }
    if (x->dims[d + 2] > 1 << 30 || w->kernel[d] > 1 << 30) return SURG__K_BUDGET;
    if (!transposed_axis(k, w, d, x->dims[d + 2], extra[d], wish[d], upper || lower, upper)) {
      return surg__k_invalid(k, "the output would have a negative size");
    }
    if (!surg__mul_u64(w->in_count, (uint64_t)w->in[d], &w->in_count)) return SURG__K_BUDGET;
    w->out_count *= (uint64_t)w->out[d];
    w->kernel_count *= (uint64_t)w->kernel[d];
  }
  return SURG__K_OK;
}

/* Adds what one input position gives to the outputs under its window. */
static void spread(conv *c, double *sum, uint64_t at, uint64_t n) {
  uint64_t in_all = c->groups * c->in_channels, out_all = c->groups * c->out_channels;
  for (uint64_t i = 0; i < c->batch * in_all; ++i) {
    uint64_t b = i / in_all, channel = i % in_all, g = channel / c->in_channels;
    double v = c->x[i * c->w.out_count + at];
    for (uint64_t o = 0; o < c->out_channels; ++o) {
      const double *weight = c->weight + (channel * c->out_channels + o) * c->w.kernel_count;
      double *to = sum + (b * out_all + g * c->out_channels + o) * c->w.in_count;
      for (uint64_t t = 0; t < n; ++t) to[c->taps[t].in] += v * weight[c->taps[t].kernel];
    }
  }
}

surg__kstatus surg__k_conv_transpose(surg_kctx *k) {
  conv c = {0};
  if (!k->wanted[0]) return SURG__K_OK;
  const surg__array *x = &k->in[0];
  SURG__K_TRY(shapes(k, &c, true));
  if (x->count == 0 || k->in[1].count == 0) return surg__k_cannot(k, "an empty convolution");
  SURG__K_TRY(transposed_window(k, &c));
  uint64_t channels = c.groups * c.out_channels;
  int64_t dims[SURG_LIMIT_RANK] = {x->dims[0], (int64_t)channels};
  memcpy(dims + 2, c.w.in, c.w.n * sizeof *dims);
  SURG__K_TRY(surg__k_out(k, 0, x->dtype, dims, x->rank));
  const surg__array *o = &k->out[0];
  SURG__K_TRY(check_bias(k, &c));
  SURG__K_TRY(ask_work(k, &c, c.w.out_count, c.w.kernel_count));
  SURG__K_TRY(surg__window_taps(k, &c.w, &c.taps));
  SURG__K_TRY(read_operands(k, &c));
  double *sum = surg__k_scratch(k, (size_t)o->count, sizeof *sum);
  if (!sum) return SURG__K_NOMEM;
  for (uint64_t i = 0; i < o->count; ++i) {
    sum[i] = c.bias ? c.bias[i / c.w.in_count % channels] : 0;
  }
  for (uint64_t at = 0; at < c.w.out_count; ++at) {
    uint64_t padded, n = surg__window_at(&c.w, at, c.taps, &padded);
    spread(&c, sum, at, n);
  }
  for (uint64_t i = 0; i < o->count; ++i) surg__store_f64(o->dtype, o->data, i, sum[i]);
  return SURG__K_OK;
}
