/* SPDX-License-Identifier: Apache-2.0 */
/* Packs the windows of a convolution as panels of a matrix product. */
#include "eval/nn/im2col.h"

surg__kstatus surg__im2col_init(surg_kctx *k, const surg__window *w, surg__im2col *c) {
  size_t taps = (size_t)w->kernel_count;
  *c = (surg__im2col){.w = w};
  SURG__K_TRY(surg__k_work(k, w->kernel_count));
  c->offset = surg__k_scratch(k, taps, w->n * sizeof *c->offset);
  c->start = surg__k_scratch(k, taps, sizeof *c->start);
  c->low = surg__k_scratch(k, taps, sizeof *c->low);
  c->high = surg__k_scratch(k, taps, sizeof *c->high);
  if (!c->offset || !c->start || !c->low || !c->high) return SURG__K_NOMEM;
  for (size_t t = 0; t < taps; ++t) {
    uint64_t rest = t;
    for (uint32_t d = w->n; d-- > 0;) {
      c->offset[t * w->n + d] = (int64_t)(rest % (uint64_t)w->kernel[d]) * w->dilation[d];
      rest /= (uint64_t)w->kernel[d];
    }
  }
  return SURG__K_OK;
}

/* Computes the positions i < n of a run with 0 <= first + i * step < limit, as [low, high). */
static void inside(int64_t first, int64_t step, int64_t limit, uint32_t n, uint32_t *low,
                   uint32_t *high) {
  int64_t from = first >= 0 ? 0 : (-first + step - 1) / step;
  int64_t to = first >= limit ? 0 : (limit - first + step - 1) / step;
  if (to > n) to = n;
  if (from > to) from = to;
  *low = (uint32_t)from;
  *high = (uint32_t)to;
}

/* Computes where the window of position `at` starts, along each axis. */
static void find_window(const surg__window *w, uint64_t at, int64_t *first) {
  for (uint32_t d = w->n; d-- > 0;) {
    first[d] = (int64_t)(at % (uint64_t)w->out[d]) * w->stride[d] - w->begin[d];
    at /= (uint64_t)w->out[d];
  }
}

static void place(const surg__im2col *c, uint64_t t, const int64_t *first, uint32_t n) {
  const surg__window *w = c->w;
  const int64_t *offset = c->offset + t * w->n;
  uint32_t last = w->n - 1;
  int64_t start = 0;
  bool out = false;
  for (uint32_t d = 0; d < last; ++d) {
    int64_t i = first[d] + offset[d];
    out = out || i < 0 || i >= w->in[d];
    start = start * w->in[d] + i;
  }
  int64_t i = first[last] + offset[last];
  c->start[t] = start * w->in[last] + i;
  inside(i, w->stride[last], w->in[last], n, &c->low[t], &c->high[t]);
  if (out) c->low[t] = c->high[t] = 0;
}

void surg__im2col_place(const surg__im2col *c, uint64_t at, uint32_t n) {
  int64_t first[SURG_LIMIT_RANK];
  find_window(c->w, at, first);
  for (uint64_t t = 0; t < c->w->kernel_count; ++t) place(c, t, first, n);
}

void surg__im2col_place_one(const surg__im2col *c, uint64_t t, uint64_t at, uint32_t n) {
  int64_t first[SURG_LIMIT_RANK];
  find_window(c->w, at, first);
  place(c, t, first, n);
}

/* Packs columns [column, column + n) of the panel, after surg__im2col_place. */
static void pack_run(const surg__im2col *c, const surg__panel *p, uint64_t column, uint32_t n) {
  const surg__window *w = c->w;
  uint64_t step = (uint64_t)w->stride[w->n - 1];
  uint64_t channel = p->depth / w->kernel_count, t = p->depth % w->kernel_count;
  double *to = p->to + column;
  for (uint64_t k = 0; k < p->n; ++k, to += p->width) {
    uint32_t low = c->low[t], high = c->high[t];
    for (uint32_t i = 0; i < low; ++i) to[i] = 0;
    if (low < high) {
      uint64_t at = c->at + channel * w->in_count +
                    (uint64_t)(c->start[t] + (int64_t)low * (int64_t)step);
      surg__load_run(c->dtype, c->data, at, step, high - low, to + low);
      for (uint32_t i = low; i < high && c->zero != 0; ++i) to[i] -= c->zero;
    }
    for (uint32_t i = high; i < n; ++i) to[i] = 0;
    if (++t == w->kernel_count) {
      t = 0;
      ++channel;
    }
  }
}

void surg__im2col_pack(const void *user, const surg__panel *p) {
  const surg__im2col *c = user;
  uint64_t row = (uint64_t)c->w->out[c->w->n - 1];
  for (uint64_t i = 0; i < p->lines;) {
    uint64_t at = p->first + i, left = row - at % row;
    uint32_t n = (uint32_t)(left < p->lines - i ? left : p->lines - i);
    surg__im2col_place(c, at, n);
    pack_run(c, p, i, n);
    i += n;
  }
  for (uint64_t k = 0; k < p->n; ++k) {
    for (uint64_t i = p->lines; i < p->width; ++i) p->to[k * p->width + i] = 0;
  }
}
