/* SPDX-License-Identifier: Apache-2.0 */
/* Rules of operators that slide a window over the spatial axes: convolutions and pools. */
#include "infer/rules.h"

enum { MAX_SPATIAL = SURG_LIMIT_RANK };

typedef enum auto_pad { PAD_NOTSET, PAD_SAME, PAD_VALID, PAD_UNKNOWN } auto_pad;

typedef struct window {
  size_t n; /* spatial axes */
  auto_pad pad;
  bool ceil, pool;
  int64_t kernel[MAX_SPATIAL]; /* -1: unknown */
  int64_t stride[MAX_SPATIAL], dilation[MAX_SPATIAL];
  int64_t begin[MAX_SPATIAL], end[MAX_SPATIAL];
} window;

static auto_pad auto_pad_of(const surg__infer *c) {
  static const struct {
    const char *name;
    auto_pad pad;
  } names[] = {{"NOTSET", PAD_NOTSET},
               {"", PAD_NOTSET},
               {"VALID", PAD_VALID},
               {"SAME_UPPER", PAD_SAME},
               {"SAME_LOWER", PAD_SAME}};
  const surg_str s = surg_node_string(c->n, "auto_pad", "NOTSET");
  for (size_t i = 0; i < SURG_COUNT(names); i++)
    if (strlen(names[i].name) == s.n && (!s.n || !memcmp(names[i].name, s.p, s.n)))
      return names[i].pad;
  return PAD_UNKNOWN;
}

/* Reads a list attribute of n entries, each at least `low`; an absent one leaves the defaults.
 * False: wrong length or value. Values are limited to 31 bits, so that sums and products of two
 * fit. */
static bool window_list(const surg__infer *c, const char *name, size_t n, int64_t low,
                        int64_t *out) {
  size_t count = 0;
  if (!surg_node_attr(c->n, name)) return true;
  const int64_t *v = surg_node_ints(c->n, name, &count);
  if (count != n) return false;
  for (size_t i = 0; i < n; i++) {
    if (v[i] < low || v[i] > INT32_MAX) return false;
    out[i] = v[i];
  }
  return true;
}

/* Reads the window attributes of a node over n spatial axes; the kernel size may come from
 * `weights` (their spatial dimensions), or NULL. */
static bool window_read(surg__infer *c, window *w, size_t n, const surg_dim *weights) {
  assert(n <= MAX_SPATIAL);
  int64_t pads[2 * MAX_SPATIAL] = {0};
  w->n = n;
  w->pool = surg_node_op(c->n) == SURG_OP_MaxPool || surg_node_op(c->n) == SURG_OP_AveragePool ||
            surg_node_op(c->n) == SURG_OP_LpPool;
  w->pad = auto_pad_of(c);
  w->ceil = surg__schema_attr(c->schema, "ceil_mode") && surg_node_int(c->n, "ceil_mode", 0);
  for (size_t i = 0; i < n; i++) {
    w->stride[i] = w->dilation[i] = 1;
    w->kernel[i] = weights && weights[i].value <= INT32_MAX ? weights[i].value : -1;
  }
  if (!window_list(c, "kernel_shape", n, 1, w->kernel)) return false;
  if (!window_list(c, "strides", n, 1, w->stride)) return false;
  if (surg__schema_attr(c->schema, "dilations") && !window_list(c, "dilations", n, 1, w->dilation))
    return false;
  if (w->pad == PAD_NOTSET && !window_list(c, "pads", 2 * n, INT32_MIN, pads)) return false;
  for (size_t i = 0; i < n; i++) {
    w->begin[i] = pads[i];
    w->end[i] = pads[i + n];
  }
  return true;
}

/* The number of windows along one axis. Unknown where none fits (the run fails or runtimes differ,
 * but a pool that lacks one element for it gives none) and where it depends on unknown sizes or
 * pads. */
static surg_dim windows(const window *w, size_t i, surg_dim d) {
  assert(i < w->n && w->stride[i] > 0 && w->dilation[i] > 0);
  const surg_dim unknown = surg__dim_unknown();
  if (w->pad == PAD_UNKNOWN) return unknown;
  if (w->pad == PAD_SAME) return surg__dim_over_up(d, w->stride[i]);
  if (w->kernel[i] < 0) return unknown;
  const int64_t reach = (w->kernel[i] - 1) * w->dilation[i];
  const int64_t pads = w->begin[i] + w->end[i];
  if (!surg__dim_known(d)) {
    /* room / stride + 1; rounded up only if no window can start in the padding at the end. */
    const bool up = w->ceil && w->stride[i] > 1;
    if (up && (w->pad == PAD_VALID || w->end[i] + w->stride[i] > reach + 1)) return unknown;
    const int64_t more = pads - reach - 1 + w->stride[i] + (up ? w->stride[i] - 1 : 0);
    return surg__expr_dim(surg__expr_div_num(surg__expr_add_num(d.expr, more), w->stride[i]));
  }
  int64_t room;
  if (d.value > INT64_MAX / 4) return unknown;
  if (!surg__add_i64(d.value, pads - reach - 1, &room)) return unknown;
  if (room == -1 && w->stride[i] == 1 && w->pool) return surg__dim(0);
  if (room < 0) return unknown;
  const int64_t floor = room / w->stride[i] + 1;
  const int64_t ceil = floor + (room % w->stride[i] != 0);
  if (!w->ceil || ceil == floor) return surg__dim(floor);
  /* Runtimes differ on a window that starts in the padding at the end, and with VALID. */
  if (w->pad == PAD_VALID || (ceil - 1) * w->stride[i] >= d.value + w->begin[i]) return unknown;
  return surg__dim(ceil);
}

/* --- layouts --- */

/* Whether the layout has the channels last. */
static bool channels_last(const surg__infer *c) {
  switch (c->op) {
    case SURG_OP_ms_NhwcConv:
    case SURG_OP_ms_NhwcFusedConv:
    case SURG_OP_ms_NhwcMaxPool:
      return true;
    default:
      return surg__schema_attr(c->schema, "channels_last") &&
             surg_node_int(c->n, "channels_last", 0) != 0;
  }
}

/* Reads input 0, with the channels moved to axis 1; false: its rank is unknown. */
static bool read_first(surg__infer *c, surg__fact *x, surg_dim buf[SURG_LIMIT_RANK]) {
  if (!surg__infer_ranked(c, 0, x)) return false;
  if (x->rank < 3 || !channels_last(c)) return true;
  buf[0] = x->dims[0];
  buf[1] = x->dims[x->rank - 1];
  memcpy(buf + 2, x->dims + 1, (x->rank - 2u) * sizeof *buf);
  x->dims = buf;
  return true;
}

/* States output 0 from dimensions with the channels at axis 1. */
static void put_first(surg__infer *c, int dtype, surg_dim *dims, size_t rank) {
  if (rank >= 3 && channels_last(c)) {
    const surg_dim channels = dims[1];
    memmove(dims + 1, dims + 2, (rank - 2) * sizeof *dims);
    dims[rank - 1] = channels;
  }
  surg__infer_put(c, 0, dtype, dims, rank);
}

/* --- convolutions --- */

static bool quantized_conv(const surg__infer *c) {
  return c->op == SURG_OP_QLinearConv || c->op == SURG_OP_ms_QLinearConv;
}

/* Whether weights are (output channels, input channels, spatial axes); those of Nhwc operators are
 * permuted. */
static bool plain_weights(const surg__infer *c) {
  return c->op != SURG_OP_ms_NhwcConv && c->op != SURG_OP_ms_NhwcFusedConv;
}

void surg__infer_conv(surg__infer *c) {
  const size_t wi = quantized_conv(c) ? 3 : 1;
  surg__fact x, weights;
  window w;
  surg_dim dims[SURG_LIMIT_RANK], in[SURG_LIMIT_RANK];
  const int dtype = surg__infer_dtype(c, 0);
  if (!read_first(c, &x, in)) return;
  const bool has_w = surg__infer_ranked(c, wi, &weights);
  if (x.rank < 2 || (has_w && weights.rank != x.rank)) {
    surg__infer_bad(c);
    return;
  }
  const int64_t group = surg_node_int(c->n, "group", 1);
  const bool plain = has_w && plain_weights(c);
  int64_t channels;
  if (!window_read(c, &w, x.rank - 2u, plain ? weights.dims + 2 : NULL) ||
      (plain && surg__dim_known(x.dims[1]) && surg__dim_known(weights.dims[1]) &&
       (!surg__mul_i64(weights.dims[1].value, group, &channels) || channels != x.dims[1].value))) {
    surg__infer_bad(c);
    return;
  }
  dims[0] = x.dims[0];
  dims[1] = has_w ? weights.dims[0] : surg__dim_unknown();
  for (size_t i = 0; i < w.n; i++) dims[i + 2] = windows(&w, i, x.dims[i + 2]);
  put_first(c, dtype, dims, x.rank);
}

/* One spatial dimension of the output of a transposed convolution. */
static surg_dim unwindows(const window *w, size_t i, surg_dim d, int64_t extra) {
  if (w->pad == PAD_UNKNOWN) return surg__dim_unknown();
  if (w->pad == PAD_SAME) return surg__dim_times(d, w->stride[i]);
  if (w->kernel[i] < 0) return surg__dim_unknown();
  const int64_t reach = (w->kernel[i] - 1) * w->dilation[i] + 1;
  return surg__dim_add(surg__dim_times(d, w->stride[i]),
                       reach + extra - w->begin[i] - w->end[i] - w->stride[i]);
}

/* The attribute output_shape: the spatial dimensions, or batch and channels first. */
static bool output_shape(const surg__infer *c, size_t n, surg_dim *dims) {
  size_t count = 0;
  const int64_t *v = surg_node_ints(c->n, "output_shape", &count);
  if (!v || (count != n && count != n + 2)) return false;
  for (size_t i = 0; i < n; i++) {
    const int64_t d = v[count - n + i];
    dims[i] = d < 0 ? surg__dim_unknown() : surg__dim(d);
  }
  return true;
}

void surg__infer_conv_transpose(surg__infer *c) {
  surg__fact x, weights;
  window w;
  int64_t extra[MAX_SPATIAL] = {0};
  surg_dim dims[SURG_LIMIT_RANK];
  if (!surg__infer_ranked(c, 0, &x)) return;
  const bool has_w = surg__infer_ranked(c, 1, &weights);
  if (x.rank < 2 || (has_w && weights.rank != x.rank) ||
      !window_read(c, &w, x.rank - 2u, has_w ? weights.dims + 2 : NULL) ||
      !window_list(c, "output_padding", w.n, 0, extra)) {
    surg__infer_bad(c);
    return;
  }
  dims[0] = x.dims[0];
  dims[1] = surg__dim_unknown();
  const int64_t group = surg_node_int(c->n, "group", 1);
  if (has_w && group > 0) dims[1] = surg__dim_times(weights.dims[1], group);
  if (surg_node_attr(c->n, "output_shape")) {
    if (!output_shape(c, w.n, dims + 2)) return;
  } else {
    for (size_t i = 0; i < w.n; i++) dims[i + 2] = unwindows(&w, i, x.dims[i + 2], extra[i]);
  }
  surg__infer_put(c, 0, x.dtype, dims, x.rank);
}

void surg__infer_pool(surg__infer *c) {
  surg__fact x;
  window w;
  surg_dim dims[SURG_LIMIT_RANK], in[SURG_LIMIT_RANK];
  if (!read_first(c, &x, in)) return;
  if (x.rank < 2 || !window_read(c, &w, x.rank - 2u, NULL)) {
    surg__infer_bad(c);
    return;
  }
  dims[0] = x.dims[0];
  dims[1] = x.dims[1];
  for (size_t i = 0; i < w.n; i++) dims[i + 2] = windows(&w, i, x.dims[i + 2]);
  put_first(c, x.dtype, dims, x.rank);
  if (c->op == SURG_OP_MaxPool) surg__infer_put(c, 1, SURG_INT64, dims, x.rank);
}

void surg__infer_global_pool(surg__infer *c) {
  surg__fact x;
  surg_dim dims[SURG_LIMIT_RANK], in[SURG_LIMIT_RANK];
  if (!read_first(c, &x, in)) return;
  if (x.rank < 2) {
    surg__infer_bad(c);
    return;
  }
  for (uint32_t i = 0; i < x.rank; i++) dims[i] = i < 2 ? x.dims[i] : surg__dim(1);
  put_first(c, x.dtype, dims, x.rank);
}
