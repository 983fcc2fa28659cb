/* SPDX-License-Identifier: Apache-2.0 */
/* Pooling for versions with fewer attributes: ceil_mode becomes explicit padding; otherwise
 * windows are computed axis by axis, from one slice per kernel element. Sizes follow
 * lib/eval/nn/window.c. */
#include <math.h>

#include "rewrite/lower/native.h"

#define MOST_PLACES 256 /* kernel size along one axis */
#define LARGEST (1ll << 30)

typedef struct window {
  int64_t in, out, kernel, stride, dilation, begin, end;
} window;

typedef struct pool {
  surg__builder *b;
  surg_node *n;
  surg__built x;
  int op;
  uint32_t axes; /* without batch and channels */
  window w[SURG__BT_RANK];
  bool include_pad;
  int64_t p;
} pool;

/* --- reading --- */

static bool ints_of(const pool *p, const char *name, int64_t fallback, int64_t least,
                    size_t count, int64_t *out) {
  size_t n = 0;
  const int64_t *list = surg_node_ints(p->n, name, &n);
  for (size_t i = 0; i < count; i++) out[i] = fallback;
  if (!list || n == 0) return true;
  for (size_t i = 0; i < count && n == count; i++) {
    if (list[i] < least || list[i] > LARGEST) return false;
    out[i] = list[i];
  }
  return n == count;
}

static bool word_is(surg_str s, const char *word) {
  return s.n == strlen(word) && !memcmp(s.p, word, s.n);
}

/* Computes the output size along an axis, and its padding for auto_pad. */
static bool size_axis(window *w, bool same, bool upper, bool ceil_mode) {
  const int64_t extent = (w->kernel - 1) * w->dilation + 1;
  if (same) {
    w->out = (w->in + w->stride - 1) / w->stride;
    int64_t total = (w->out - 1) * w->stride + extent - w->in;
    if (total < 0) total = 0;
    w->begin = upper ? total / 2 : total - total / 2;
    w->end = total - w->begin;
    return true;
  }
  const int64_t room = w->in + w->begin + w->end - extent;
  if (room < 0) return false;
  w->out = (room + (ceil_mode ? w->stride - 1 : 0)) / w->stride + 1;
  if (ceil_mode && (w->out - 1) * w->stride >= w->in + w->begin) w->out--;
  return true;
}

static bool read(pool *p) {
  int64_t kernel[SURG__BT_RANK], strides[SURG__BT_RANK], dilations[SURG__BT_RANK];
  int64_t pads[2 * SURG__BT_RANK];
  p->n = surg__b_matched(p->b);
  p->op = surg_node_op(p->n);
  if (!surg__b_attrs_known(p->b) || !surg__built_get(p->b, "x", &p->x) || p->x.rank < 3)
    return false;
  p->axes = p->x.rank - 2;
  const surg_str mode = surg_node_string(p->n, "auto_pad", "NOTSET");
  const bool upper = word_is(mode, "SAME_UPPER"), same = upper || word_is(mode, "SAME_LOWER");
  const bool given = word_is(mode, "NOTSET"), ceil_mode = surg_node_int(p->n, "ceil_mode", 0) != 0;
  if (!ints_of(p, "kernel_shape", 0, 1, p->axes, kernel) ||
      !ints_of(p, "strides", 1, 1, p->axes, strides) ||
      !ints_of(p, "dilations", 1, 1, p->axes, dilations) ||
      !ints_of(p, "pads", 0, 0, 2 * (size_t)p->axes, pads) ||
      (!given && !same && !word_is(mode, "VALID")))
    return false;
  for (uint32_t d = 0; d < p->axes; d++) {
    window *w = &p->w[d];
    *w = (window){.in = p->x.d[d + 2].n, .kernel = kernel[d], .stride = strides[d],
                  .dilation = dilations[d], .begin = given ? pads[d] : 0,
                  .end = given ? pads[p->axes + d] : 0};
    if (w->in < 1 || w->in > LARGEST || w->kernel < 1 || !size_axis(w, same, upper, ceil_mode) ||
        w->out < 1)
      return false;
  }
  p->include_pad = surg_node_int(p->n, "count_include_pad", 0) != 0;
  p->p = surg_node_int(p->n, "p", 2);
  return p->p > 0;
}

/* --- explicit padding --- */

/* The padding at the end for which rounding down yields the same number of windows. */
static int64_t needed(const window *w) {
  const int64_t extent = (w->kernel - 1) * w->dilation + 1;
  const int64_t room = w->in + w->begin + w->end - extent;
  if (room >= 0 && room / w->stride + 1 == w->out) return w->end;
  return (w->out - 1) * w->stride + extent - w->in - w->begin;
}

/* Whether the target version can express the operator by padding. */
static bool can_pad(const pool *p) {
  const int64_t dilated = p->op == SURG_OP_MaxPool ? 10 : p->op == SURG_OP_AveragePool ? 19 : 18;
  for (uint32_t d = 0; d < p->axes; d++) {
    const int64_t end = needed(&p->w[d]);
    if (p->w[d].dilation != 1 && p->b->m->opset < dilated) return false;
    if (end < 0 || (end != p->w[d].end && p->include_pad)) return false;
    /* Runtimes require less padding than the kernel size. */
    if (end >= p->w[d].kernel || p->w[d].begin >= p->w[d].kernel) return false;
  }
  return true;
}

static void by_padding(pool *p) {
  surg__builder *b = p->b;
  const uint32_t n = p->axes;
  int64_t kernel[SURG__BT_RANK], strides[SURG__BT_RANK], dilations[SURG__BT_RANK];
  int64_t pads[2 * SURG__BT_RANK];
  bool dilated = false;
  for (uint32_t d = 0; d < n; d++) {
    kernel[d] = p->w[d].kernel;
    strides[d] = p->w[d].stride;
    dilations[d] = p->w[d].dilation;
    dilated |= dilations[d] != 1;
    pads[d] = p->w[d].begin;
    pads[n + d] = needed(&p->w[d]);
  }
  surg_value *y = surg__b_unary(b, surg_node_op_type(p->n), p->x.v);
  surg__b_set_ints(b, y, "kernel_shape", kernel, n);
  surg__b_set_ints(b, y, "strides", strides, n);
  if (dilated) surg__b_set_ints(b, y, "dilations", dilations, n);
  surg__b_set_ints(b, y, "pads", pads, 2 * (size_t)n);
  if (p->include_pad) surg__b_set_int(b, y, "count_include_pad", 1);
  if (p->op == SURG_OP_LpPool) surg__b_set_int(b, y, "p", p->p);
  surg__b_result(b, "y", y);
}

/* --- slices --- */

static const char *joiner(const pool *p) {
  return p->op == SURG_OP_MaxPool ? "Max" : "Add";
}

/* Pools along one axis: combines the elements at index 0 of each window with those at index 1, and
 * so on. The padding value follows the last element. */
static surg__built join_axis(pool *p, surg__built x, uint32_t d) {
  surg__builder *b = p->b;
  const window *w = &p->w[d];
  const uint32_t axis = d + 2;
  double *at = surg__arena_array(b->m->arena, (size_t)w->out + 1, sizeof *at);
  surg__bdim sizes[SURG__BT_RANK];
  surg__built y = {0};
  if (!at) {
    b->status = SURG_ENOMEM;
    return x;
  }
  memcpy(sizes, x.d, sizeof sizes);
  sizes[axis] = surg__bdim_fixed(1);
  const double fill = p->op == SURG_OP_MaxPool ? -(double)INFINITY : 0;
  const surg__built edge =
      surg__built_expand(b, surg__built_scalar(b, x.dtype, fill), sizes, x.rank);
  const surg__built both[2] = {x, edge};
  x = surg__built_concat(b, both, 2, axis);
  for (int64_t k = 0; k < w->kernel; k++) {
    for (int64_t i = 0; i < w->out; i++) {
      const int64_t from = i * w->stride - w->begin + k * w->dilation;
      at[i] = (double)(from >= 0 && from < w->in ? from : w->in);
    }
    const surg__built one =
        surg__built_gather(b, x, surg__built_numbers(b, SURG_INT64, &w->out, 1, at), axis);
    y = k ? surg__built_binary(b, joiner(p), y, one) : one;
  }
  return y;
}

/* The number of elements that count in window i of an axis. */
static int64_t places_of(const pool *p, const window *w, int64_t i) {
  const int64_t first = i * w->stride - w->begin, low = p->include_pad ? -w->begin : 0;
  const int64_t high = p->include_pad ? w->in + w->end : w->in;
  int64_t n = 0;
  for (int64_t k = 0; k < w->kernel; k++) {
    const int64_t at = first + k * w->dilation;
    if (at >= low && at < high) n++;
  }
  return n;
}

/* Divides the sums of an average by the number of elements, axis by axis. */
static surg__built averaged(pool *p, surg__built y, uint32_t d) {
  surg__builder *b = p->b;
  const window *w = &p->w[d];
  int64_t dims[SURG__BT_RANK] = {w->out, 1, 1, 1, 1, 1, 1, 1};
  double *n = surg__arena_array(b->m->arena, (size_t)w->out + 1, sizeof *n);
  for (int64_t i = 0; n && i < w->out; i++) n[i] = (double)places_of(p, w, i);
  if (n)
    return surg__built_binary(b, "Div", y, surg__built_numbers(b, y.dtype, dims, p->axes - d, n));
  b->status = SURG_ENOMEM;
  return y;
}

static surg__built powered(pool *p, surg__built x, double exponent) {
  return exponent == 1 ? x : surg__built_number(p->b, "Pow", x, exponent);
}

static void by_pieces(pool *p) {
  surg__builder *b = p->b;
  const int type = p->x.dtype;
  surg__built y = p->x;
  if (p->op != SURG_OP_MaxPool) y = surg__built_cast(b, y, SURG_DOUBLE);
  if (p->op == SURG_OP_LpPool) y = powered(p, surg__built_unary(b, "Abs", y), (double)p->p);
  for (uint32_t d = 0; d < p->axes; d++) y = join_axis(p, y, d);
  if (p->op == SURG_OP_AveragePool)
    for (uint32_t d = 0; d < p->axes; d++) y = averaged(p, y, d);
  if (p->op == SURG_OP_LpPool) y = powered(p, y, 1 / (double)p->p);
  surg__built_result(b, "y", surg__built_cast(b, y, type));
}

static bool pieces_fit(const pool *p) {
  const int t = p->x.dtype;
  if (t != SURG_FLOAT && t != SURG_DOUBLE && t != SURG_FLOAT16) return false;
  for (uint32_t d = 0; d < p->axes; d++) {
    const window *w = &p->w[d];
    if (w->kernel > MOST_PLACES || w->out > 65536) return false;
    /* Runtimes treat empty windows differently. */
    for (int64_t i = 0; i < w->out; i++)
      if (places_of(p, w, i) == 0) return false;
  }
  return p->b->m->opset >= 8;
}

/* y = MaxPool | AveragePool | LpPool (x) */
static surg_status pool_by_parts(surg__builder *b) {
  pool p = {.b = b};
  if (!read(&p)) return SURG_EUNSUPPORTED;
  const bool pads = can_pad(&p);
  if (surg__b_bad(b, !pads && !pieces_fit(&p),
                  "windows are empty or too large, or the element type is unsupported"))
    return SURG_EUNSUPPORTED;
  if (pads) by_padding(&p);
  else by_pieces(&p);
  return b->status;
}

/* --- pooling of three axes --- */

typedef struct plane {
  int64_t kernel[2], stride[2], dilation[2], pads[4];
} plane;

static surg__built max_of_plane(const pool *p, surg__built x, const plane *w) {
  surg__builder *b = p->b;
  x.v = surg__b_unary(b, "MaxPool", x.v);
  surg__b_set_ints(b, x.v, "kernel_shape", w->kernel, 2);
  surg__b_set_ints(b, x.v, "strides", w->stride, 2);
  surg__b_set_ints(b, x.v, "pads", w->pads, 4);
  if (w->dilation[0] > 1 || w->dilation[1] > 1)
    surg__b_set_ints(b, x.v, "dilations", w->dilation, 2);
  if (surg_node_int(p->n, "ceil_mode", 0)) surg__b_set_int(b, x.v, "ceil_mode", 1);
  return x;
}

/* y = MaxPool (x) over depth, height and width: first over the last two axes,
 * then over the first. */
static surg_status max_pool_planes(surg__builder *b) {
  pool p = {.b = b, .n = surg__b_matched(b)};
  int64_t k[3], s[3], d[3], pads[6];
  surg__built y;
  if (!surg__b_attrs_known(b) || !surg__built_get(b, "x", &p.x) || !surg__built_get(b, "y", &y) ||
      surg__b_bad(b, p.x.rank != 5, "x: expected rank 5") ||
      surg__b_bad(b, y.rank != 5, "y: expected rank 5") ||
      surg__b_bad(b, !ints_of(&p, "kernel_shape", 0, 1, 3, k),
                  "kernel_shape: expected 3 positive integers") ||
      surg__b_bad(b, k[0] == 0, "kernel_shape: expected 3 positive integers") ||
      surg__b_bad(b, !ints_of(&p, "strides", 1, 1, 3, s),
                  "strides: expected 3 positive integers") ||
      surg__b_bad(b, !ints_of(&p, "dilations", 1, 1, 3, d),
                  "dilations: expected 3 positive integers") ||
      surg__b_bad(b, !ints_of(&p, "pads", 0, 0, 6, pads), "pads: expected 6 integers from 0 on") ||
      surg__b_bad(b, !word_is(surg_node_string(p.n, "auto_pad", "NOTSET"), "NOTSET"),
                  "auto_pad: expected NOTSET"))
    return SURG_EUNSUPPORTED;
  const surg__bdim *m = p.x.d, *n = y.d;
  const plane flat = {
      {k[1], k[2]}, {s[1], s[2]}, {d[1], d[2]}, {pads[1], pads[2], pads[4], pads[5]}};
  const plane deep = {{k[0], 1}, {s[0], 1}, {d[0], 1}, {pads[0], 0, pads[3], 0}};
  const surg__bdim first[4] = {m[0], surg__bdim_mul(b, m[1], m[2]), m[3], m[4]};
  const surg__bdim then[4] = {m[0], m[1], m[2], surg__bdim_mul(b, n[3], n[4])};
  surg__built x = max_of_plane(&p, surg__built_reshape(b, p.x, first, 4), &flat);
  x.d[2] = n[3];
  x.d[3] = n[4];
  x = max_of_plane(&p, surg__built_reshape(b, x, then, 4), &deep);
  x.d[2] = n[2];
  surg__built_result(b, "y", surg__built_reshape(b, x, y.d, 5));
  return b->status;
}

const surg__native surg__natives_pool[] = {
    {"max_pool_planes", max_pool_planes,
     "MaxPool over three axes as one over two, and one over one"},
    {"pool_by_parts", pool_by_parts, "pools by padding that is written out, or from pieces"},
    {NULL, NULL, NULL},
};
