/* SPDX-License-Identifier: Apache-2.0 */
/* Sliding windows over the spatial axes, for convolutions and pools. */
#include "eval/nn/window.h"

/* Larger sizes are rejected, so that sums and products of two sizes fit int64. */
#define LARGEST (1ll << 30)

typedef enum auto_pad { EXPLICIT, VALID, SAME_UPPER, SAME_LOWER, UNKNOWN } auto_pad;

bool surg__window_ints(surg_kctx *k, const char *name, uint32_t n, int64_t fallback, int64_t least,
                       int64_t *out) {
  size_t count = 0;
  const int64_t *list = surg_node_ints(k->node, name, &count);
  for (uint32_t i = 0; i < n; ++i) out[i] = fallback;
  if (!list || count == 0) return true;
  if (count != n) return false;
  for (uint32_t i = 0; i < n; ++i) {
    if (list[i] < least || list[i] > LARGEST) return false;
    out[i] = list[i];
  }
  return true;
}

/* Computes the size of one output axis and, for SAME_*, its padding. False: the window does not
 * fit. */
static bool size_axis(surg__window *w, uint32_t d, auto_pad mode, bool ceil_mode, bool *beyond) {
  int64_t extent = (w->kernel[d] - 1) * w->dilation[d] + 1, stride = w->stride[d];
  if (mode == SAME_UPPER || mode == SAME_LOWER) {
    w->out[d] = (w->in[d] + stride - 1) / stride;
    int64_t total = (w->out[d] - 1) * stride + extent - w->in[d];
    if (total < 0 || w->out[d] == 0) total = 0;
    w->begin[d] = mode == SAME_UPPER ? total / 2 : total - total / 2;
    w->end[d] = total - w->begin[d];
    return true;
  }
  int64_t room = w->in[d] + w->begin[d] + w->end[d] - extent;
  if (room < 0 && !*beyond) return false;
  *beyond = room < 0;
  w->out[d] = (room + (ceil_mode && room > 0 ? stride - 1 : 0)) / stride + 1;
  if (w->out[d] < 0) return false;
  /* A window that would start in the padding at the end is dropped. */
  if (ceil_mode && (w->out[d] - 1) * stride >= w->in[d] + w->begin[d]) --w->out[d];
  return true;
}

static surg__kstatus read_attributes(surg_kctx *k, surg__window *w, auto_pad *mode) {
  int64_t pads[2 * SURG_LIMIT_RANK];
  static const char *const words[] = {"NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"};
  *mode = (auto_pad)surg__k_word(k, "auto_pad", "NOTSET", words, UNKNOWN);
  if (*mode == UNKNOWN) return surg__k_invalid(k, "auto_pad is none of the modes");
  if (!surg__window_ints(k, "strides", w->n, 1, 1, w->stride) ||
      !surg__window_ints(k, "dilations", w->n, 1, 1, w->dilation) ||
      !surg__window_ints(k, "pads", 2 * w->n, 0, 0, pads)) {
    return surg__k_invalid(k, "strides, dilations or pads do not fit the input");
  }
  for (uint32_t d = 0; d < w->n && *mode == EXPLICIT; ++d) {
    w->begin[d] = pads[d];
    w->end[d] = pads[w->n + d];
  }
  return SURG__K_OK;
}

surg__kstatus surg__window_init(surg_kctx *k, const int64_t *in, uint32_t n, const int64_t *kernel,
                                surg__window *w) {
  assert(n <= SURG_LIMIT_RANK);
  *w = (surg__window){.n = n, .in_count = 1, .out_count = 1, .kernel_count = 1};
  auto_pad mode;
  bool ceil_mode = surg_node_int(k->node, "ceil_mode", 0) != 0;
  if (kernel)
    memcpy(w->kernel, kernel, n * sizeof *kernel);
  else if (!surg__window_ints(k, "kernel_shape", n, 0, 1, w->kernel)) {
    return surg__k_invalid(k, "kernel_shape does not fit the input");
  }
  SURG__K_TRY(read_attributes(k, w, &mode));
  for (uint32_t d = 0; d < n; ++d) {
    w->in[d] = in[d];
    if (in[d] > LARGEST || w->kernel[d] > LARGEST) return SURG__K_BUDGET;
    if (w->kernel[d] < 1) return surg__k_invalid(k, "an empty kernel");
    /* Runtimes round towards zero: a window that is too large by less than a stride counts as
     * one. */
    bool beyond = !kernel;
    if (!size_axis(w, d, mode, ceil_mode, &beyond)) {
      return surg__k_invalid(k, "the kernel is larger than the padded input");
    }
    if (beyond && !kernel && mode != SAME_UPPER && mode != SAME_LOWER) {
      SURG__K_TRY(surg__k_disputed(k, "a window larger than the padded input"));
    }
    if (!surg__mul_u64(w->in_count, (uint64_t)in[d], &w->in_count) ||
        !surg__mul_u64(w->out_count, (uint64_t)w->out[d], &w->out_count) ||
        !surg__mul_u64(w->kernel_count, (uint64_t)w->kernel[d], &w->kernel_count)) {
      return SURG__K_BUDGET;
    }
  }
  return SURG__K_OK;
}

surg__kstatus surg__window_taps(surg_kctx *k, const surg__window *w, surg__tap **list) {
  uint64_t most = w->kernel_count < w->in_count ? w->kernel_count : w->in_count, work;
  if (!surg__mul_u64(w->out_count, most + 1, &work)) return SURG__K_BUDGET;
  SURG__K_TRY(surg__k_work(k, work));
  *list = surg__k_scratch(k, (size_t)most, sizeof **list);
  return *list ? SURG__K_OK : SURG__K_NOMEM;
}

/* Computes the kernel indices [low, high) of one axis that are inside [0, limit) from `start`. */
static void inside(int64_t start, int64_t dilation, int64_t kernel, int64_t limit, int64_t *low,
                   int64_t *high) {
  *low = start >= 0 ? 0 : (-start + dilation - 1) / dilation;
  *high = start >= limit ? 0 : (limit - start + dilation - 1) / dilation;
  if (*high > kernel) *high = kernel;
  if (*low > *high) *low = *high;
}

uint64_t surg__window_at(const surg__window *w, uint64_t at, surg__tap *list, uint64_t *padded) {
  int64_t start[SURG_LIMIT_RANK], low[SURG_LIMIT_RANK], high[SURG_LIMIT_RANK];
  int64_t index[SURG_LIMIT_RANK];
  uint64_t count = 1;
  *padded = 1;
  for (uint32_t d = w->n; d-- > 0;) {
    int64_t position = (int64_t)(at % (uint64_t)w->out[d]), l, h;
    at /= (uint64_t)w->out[d];
    start[d] = position * w->stride[d] - w->begin[d];
    inside(start[d], w->dilation[d], w->kernel[d], w->in[d], &low[d], &high[d]);
    count *= (uint64_t)(high[d] - low[d]);
    inside(start[d] + w->begin[d], w->dilation[d], w->kernel[d], w->in[d] + w->begin[d] + w->end[d],
           &l, &h);
    *padded *= (uint64_t)(h - l);
    index[d] = low[d];
  }
  for (uint64_t i = 0; i < count; ++i) {
    surg__tap t = {0, 0};
    for (uint32_t d = 0; d < w->n; ++d) {
      t.kernel = t.kernel * (uint64_t)w->kernel[d] + (uint64_t)index[d];
      t.in = t.in * (uint64_t)w->in[d] + (uint64_t)(start[d] + index[d] * w->dilation[d]);
    }
    list[i] = t;
    for (uint32_t d = w->n; d-- > 0;) {
      if (++index[d] < high[d]) break;
      index[d] = low[d];
    }
  }
  return count;
}
