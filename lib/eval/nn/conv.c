/* SPDX-License-Identifier: Apache-2.0 */
/* Conv, ConvInteger, QLinearConv and ConvTranspose. Products are summed in double in index order
 * and rounded once (sums of 8-bit products are exact). Padding is explicit zeros, which are
 * multiplied. */
#include <math.h>

#include "eval/nn/depthwise.h"
#include "eval/linear/gemm.h"
#include "eval/nn/im2col.h"
#include "eval/core/kernels.h"
#include "eval/core/loop.h"
#include "eval/core/number.h"
#include "eval/quant/requantize.h"
#include "eval/nn/window.h"

typedef struct conv {
  surg__window w;
  uint64_t batch, groups, in_channels, out_channels; /* channels are those of one group */
  const double *bias; /* may be NULL */
} conv;

/* Reads and checks the numbers of channels and the kernel. `weight_out`: which of the first two
 * axes of the weight is output channels. */
static surg__kstatus shapes(surg_kctx *k, conv *c, const surg__array *w, bool transposed) {
  const surg__array *x = &k->in[0];
  int64_t group = surg_node_int(k->node, "group", 1), named[SURG_LIMIT_RANK];
  if (x->rank < 3 || w->rank != x->rank) {
    return surg__k_invalid(k, "input and weight of a convolution have ranks that do not fit");
  }
  uint32_t n = x->rank - 2;
  if (group < 1 || x->dims[1] % group != 0 || w->dims[0] % group != 0) {
    return surg__k_invalid(k, "the channels are not a multiple of group");
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

static surg__kstatus check_bias(surg_kctx *k, conv *c, uint32_t in) {
  if (!surg__k_has(k, in)) return SURG__K_OK;
  const surg__array *b = &k->in[in];
  if (b->rank != 1 || b->count != c->groups * c->out_channels) {
    return surg__k_invalid(k, "the bias has not one entry a channel");
  }
  double *bias = surg__k_scratch(k, (size_t)b->count, sizeof *bias);
  if (!bias) return SURG__K_NOMEM;
  surg__load_run(b->dtype, b->data, 0, 1, b->count, bias);
  c->bias = bias;
  return SURG__K_OK;
}

/* --- Conv, ConvInteger, QLinearConv --- */

#define STORE 256 /* columns stored at a time: of a block, or of a row of planes */

/* Destination of the sums of one batch entry and group. */
typedef struct target {
  int dtype;
  void *data;
  uint64_t at, plane, channel; /* first element, elements per channel, first channel */
  uint64_t channels;           /* number of channels if rows cover all batch entries; else 0 */
  const double *bias;          /* or NULL */
  const float *scale;          /* per channel, for QLinearConv */
  int64_t zero;
} target;

static void store_real(void *user, uint64_t i, uint64_t column, uint64_t n, const double *sums) {
  const target *t = user;
  double row[STORE];
  uint64_t at = t->at + i * t->plane + column;
  assert(n <= STORE);
  if (t->bias) {
    double bias = t->bias[t->channels > 0 ? i % t->channels : t->channel + i];
    for (uint64_t j = 0; j < n; ++j) row[j] = sums[j] + bias;
    sums = row;
  }
  surg__store_run(t->dtype, t->data, at, n, sums);
}

static void store_whole(void *user, uint64_t i, uint64_t column, uint64_t n, const double *sums) {
  const target *t = user;
  surg__gemm_store_whole(t->dtype, t->data, t->at + i * t->plane + column, n, sums);
}

static void store_narrow(void *user, uint64_t i, uint64_t column, uint64_t n, const double *sums) {
  const target *t = user;
  uint64_t at = t->at + i * t->plane + column, channel = t->channel + i;
  double bias = t->bias ? t->bias[channel] : 0;
  for (uint64_t j = 0; j < n; ++j) {
    surg__requantize(t->dtype, t->data, at + j, sums[j] + bias, t->scale[channel], t->zero);
  }
}

/* Whether the kernel has one element and visits every input element: then x is the matrix
 * itself. */
static bool direct(const surg__window *w) {
  for (uint32_t d = 0; d < w->n; ++d) {
    if (w->kernel[d] != 1 || w->stride[d] != 1 || w->begin[d] != 0 || w->end[d] != 0) return false;
  }
  return true;
}

/* Zero points of input and weight; step 1: one per output channel. */
typedef struct zeros {
  const double *x, *weight;
  uint64_t weight_step;
} zeros;

/* Multiplies weights by windows for every batch entry and group. */
static surg__kstatus convolve(surg_kctx *k, const conv *c, const surg__array *weight,
                              const zeros *z, target *t, surg__gemm_store store) {
  const surg__array *x = &k->in[0];
  uint64_t depth = c->in_channels * c->w.kernel_count, plane = c->w.out_count;
  surg__im2col windows;
  surg__gemm_matrix a = {.dtype = weight->dtype, .data = weight->data, .line = depth, .depth = 1,
                         .zero_step = z->weight_step};
  surg__gemm_matrix b = {.dtype = x->dtype, .data = x->data, .line = 1, .depth = c->w.in_count,
                         .zero = z->x};
  surg__gemm_room room;
  SURG__K_TRY(surg__im2col_init(k, &c->w, &windows));
  windows.dtype = x->dtype;
  windows.data = x->data;
  windows.zero = z->x ? *z->x : 0;
  bool plain = direct(&c->w);
  surg__gemm g = {.m = c->out_channels, .n = plane, .d = depth, .pack_a = surg__gemm_pack_matrix,
                  .a = &a, .store = store, .to = t};
  g.pack_b = plain ? surg__gemm_pack_matrix : surg__im2col_pack;
  g.b = plain ? (const void *)&b : (const void *)&windows;
  SURG__K_TRY(surg__gemm_init(k, &room, g.m, g.n, g.d, c->batch * c->groups,
                              surg__gemm_kind_of(weight->dtype, x->dtype)));
  t->dtype = k->out[0].dtype;
  t->data = k->out[0].data;
  t->plane = plane;
  t->bias = c->bias;
  for (uint64_t i = 0; i < c->batch * c->groups; ++i) {
    t->channel = i % c->groups * c->out_channels;
    t->at = i * c->out_channels * plane;
    a.at = t->channel * depth;
    if (z->weight) a.zero = z->weight + t->channel * z->weight_step;
    b.at = windows.at = i * c->in_channels * c->w.in_count;
    surg__gemm_run(&g, &room);
  }
  return SURG__K_OK;
}

/* Reads shapes and attributes, and makes the output. */
static surg__kstatus start(surg_kctx *k, conv *c, const surg__array *w, int dtype) {
  const surg__array *x = &k->in[0];
  SURG__K_TRY(shapes(k, c, w, false));
  SURG__K_TRY(surg__window_init(k, x->dims + 2, x->rank - 2, w->dims + 2, &c->w));
  int64_t dims[SURG_LIMIT_RANK] = {x->dims[0], w->dims[0]};
  memcpy(dims + 2, c->w.out, c->w.n * sizeof *dims);
  return surg__k_out(k, 0, dtype, dims, x->rank);
}

/* Reads zero points as doubles: input `x` has one, input `w` has one or one per output channel. */
static surg__kstatus read_zeros(surg_kctx *k, const conv *c, uint32_t x, uint32_t w, zeros *z) {
  const uint32_t in[2] = {x, w};
  const double **to[2] = {&z->x, &z->weight};
  *z = (zeros){0};
  for (int i = 0; i < 2; ++i) {
    if (!surg__k_has(k, in[i])) continue;
    const surg__array *a = &k->in[in[i]];
    bool each = i == 1 && a->rank == 1 && a->count == c->groups * c->out_channels;
    if (a->count != 1 && !each) {
      return surg__k_invalid(k, "a zero point has not one entry a channel");
    }
    double *values = surg__k_scratch(k, (size_t)a->count, sizeof *values);
    if (!values) return SURG__K_NOMEM;
    surg__load_run(a->dtype, a->data, 0, 1, a->count, values);
    *to[i] = values;
    if (i == 1) z->weight_step = a->count != 1;
  }
  return SURG__K_OK;
}

/* Convolves with one input channel per group; store_real receives all planes as one product. */
static surg__kstatus convolve_planes(surg_kctx *k, const conv *c, target *t) {
  const surg__array *x = &k->in[0], *w = &k->in[1], *o = &k->out[0];
  surg__depthwise d = {.channels = c->groups * c->out_channels, .multiplier = c->out_channels};
  uint64_t work;
  d.planes = c->batch * d.channels;
  d.k = k;
  if (!surg__mul_u64(o->count, c->w.kernel_count, &work)) return SURG__K_BUDGET;
  SURG__K_TRY(surg__k_work(k, work));
  SURG__K_TRY(surg__im2col_init(k, &c->w, &d.windows));
  d.windows.dtype = x->dtype;
  d.windows.data = x->data;
  double *weight = surg__k_scratch(k, (size_t)w->count, sizeof *weight);
  if (!weight) return SURG__K_NOMEM;
  surg__load_run(w->dtype, w->data, 0, 1, w->count, weight);
  d.weight = weight;
  *t = (target){.dtype = o->dtype, .data = o->data, .plane = c->w.out_count, .bias = c->bias,
                .channels = d.channels};
  surg__depthwise_run(&d, store_real, t);
  return SURG__K_OK;
}

surg__kstatus surg__k_conv(surg_kctx *k) {
  conv c = {0};
  zeros z = {0};
  target t = {0};
  bool integer = k->op == SURG_OP_ConvInteger;
  if (!k->wanted[0]) return SURG__K_OK;
  SURG__K_TRY(start(k, &c, &k->in[1], integer ? SURG_INT32 : k->in[0].dtype));
  if (!integer) SURG__K_TRY(check_bias(k, &c, 2));
  if (integer) SURG__K_TRY(read_zeros(k, &c, 2, 3, &z));
  if (k->out[0].count == 0) return SURG__K_OK;
  if (c.in_channels == 1 && c.out_channels <= 2 && !integer) return convolve_planes(k, &c, &t);
  return convolve(k, &c, &k->in[1], &z, &t, integer ? store_whole : store_real);
}

/* Computes the scale of each output channel: input scale * weight scale (one, or one per channel) /
 * output scale. */
static surg__kstatus channel_scales(surg_kctx *k, const conv *c, float **out) {
  const surg__array *x = &k->in[1], *w = &k->in[4], *y = &k->in[6];
  uint64_t channels = c->groups * c->out_channels;
  if (x->count != 1 || y->count != 1 || (w->count != 1 && w->count != channels)) {
    return surg__k_invalid(k, "a scale has not one entry a channel");
  }
  float *scale = *out = surg__k_scratch(k, (size_t)channels, sizeof *scale);
  if (!scale) return SURG__K_NOMEM;
  for (uint64_t i = 0; i < channels; ++i) {
    float of_w = ((const float *)w->data)[w->count == 1 ? 0 : i];
    scale[i] = surg__scale_product(*(const float *)x->data, of_w, *(const float *)y->data);
    if (!(scale[i] > 0) || isinf(scale[i])) {
      SURG__K_TRY(surg__k_disputed(k, "a scale is not a positive number"));
    }
  }
  return SURG__K_OK;
}

surg__kstatus surg__k_qlinear_conv(surg_kctx *k) {
  conv c = {0};
  zeros z;
  target t = {0};
  float *scale = NULL;
  if (!k->wanted[0]) return SURG__K_OK;
  const surg__array *zero = &k->in[7];
  if (zero->count != 1) return surg__k_invalid(k, "the zero point of the output is not a number");
  SURG__K_TRY(start(k, &c, &k->in[3], zero->dtype));
  SURG__K_TRY(check_bias(k, &c, 8));
  SURG__K_TRY(read_zeros(k, &c, 2, 5, &z));
  SURG__K_TRY(channel_scales(k, &c, &scale));
  if (k->out[0].count == 0) return SURG__K_OK;
  t.scale = scale;
  t.zero = (int64_t)surg__load_int(zero->dtype, zero->data, 0);
  return convolve(k, &c, &k->in[3], &z, &t, store_narrow);
}

/* --- ConvTranspose: the windows of Conv, from input to output --- */

/* Computes output size and pads of one axis, such that windows over the output give the input
 * size. */
static bool transposed_axis(surg_kctx *k, surg__window *w, uint32_t d, int64_t in, int64_t extra,
                            int64_t wish, bool same, bool upper) {
  int64_t extent = (w->kernel[d] - 1) * w->dilation[d] + 1;
  int64_t full = (in - 1) * w->stride[d] + extra + extent;
  (void)k;
  if (wish > 0 || same) {
    int64_t out = wish > 0 ? wish : in * w->stride[d];
    int64_t total = full - out;
    if (total < 0) total = 0; /* elements outside of all windows are bias only */
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

/* Destination of the products of one batch entry and group: the windows of their positions. */
typedef struct spread {
  const conv *c;
  surg__im2col windows;
  double *sum;
} spread;

/* Adds row i, one output channel and kernel element; columns are input positions. */
static void store_spread(void *user, uint64_t i, uint64_t column, uint64_t n, const double *sums) {
  spread *s = user;
  const surg__window *w = &s->c->w;
  uint64_t row = (uint64_t)w->out[w->n - 1], t = i % w->kernel_count;
  int64_t step = w->stride[w->n - 1];
  double *to = s->sum + i / w->kernel_count * w->in_count;
  for (uint64_t done = 0; done < n;) {
    uint64_t at = column + done, left = row - at % row;
    uint32_t run = (uint32_t)(left < n - done ? left : n - done);
    surg__im2col_place_one(&s->windows, t, at, run);
    for (uint32_t j = s->windows.low[t]; j < s->windows.high[t]; ++j) {
      to[s->windows.start[t] + (int64_t)j * step] += sums[done + j];
    }
    done += run;
  }
}

/* Sums the products over input channels, then adds them to the output, one kernel element after the
 * other. */
static surg__kstatus spread_all(surg_kctx *k, conv *c, double *sum) {
  const surg__array *x = &k->in[0], *weight = &k->in[1];
  uint64_t rows = c->out_channels * c->w.kernel_count, plane = c->w.out_count;
  spread s = {.c = c};
  surg__gemm_room room;
  surg__gemm_matrix a = {.dtype = weight->dtype, .data = weight->data, .line = 1, .depth = rows};
  surg__gemm_matrix b = {.dtype = x->dtype, .data = x->data, .line = 1, .depth = plane};
  surg__gemm g = {.m = rows, .n = plane, .d = c->in_channels, .pack_a = surg__gemm_pack_matrix,
                  .pack_b = surg__gemm_pack_matrix, .a = &a, .b = &b, .store = store_spread,
                  .to = &s};
  SURG__K_TRY(surg__im2col_init(k, &c->w, &s.windows));
  SURG__K_TRY(surg__gemm_init(k, &room, g.m, g.n, g.d, c->batch * c->groups,
                              surg__gemm_kind_of(x->dtype, x->dtype)));
  for (uint64_t i = 0; i < c->batch * c->groups; ++i) {
    a.at = i % c->groups * c->in_channels * rows;
    b.at = i * c->in_channels * plane;
    s.sum = sum + i * c->out_channels * c->w.in_count;
    surg__gemm_run(&g, &room);
  }
  return SURG__K_OK;
}

surg__kstatus surg__k_conv_transpose(surg_kctx *k) {
  conv c = {0};
  if (!k->wanted[0]) return SURG__K_OK;
  const surg__array *x = &k->in[0];
  SURG__K_TRY(shapes(k, &c, &k->in[1], true));
  if (x->count == 0 || k->in[1].count == 0) return surg__k_cannot(k, "an empty convolution");
  SURG__K_TRY(transposed_window(k, &c));
  uint64_t channels = c.groups * c.out_channels;
  int64_t dims[SURG_LIMIT_RANK] = {x->dims[0], (int64_t)channels};
  memcpy(dims + 2, c.w.in, c.w.n * sizeof *dims);
  SURG__K_TRY(surg__k_out(k, 0, x->dtype, dims, x->rank));
  const surg__array *o = &k->out[0];
  SURG__K_TRY(check_bias(k, &c, 2));
  double *sum = surg__k_scratch(k, (size_t)o->count, sizeof *sum);
  if (!sum) return SURG__K_NOMEM;
  for (uint64_t i = 0; i < o->count; ++i) {
    sum[i] = c.bias ? c.bias[i / c.w.in_count % channels] : 0;
  }
  SURG__K_TRY(spread_all(k, &c, sum));
  surg__store_run(o->dtype, o->data, 0, o->count, sum);
  return SURG__K_OK;
}
