/* SPDX-License-Identifier: Apache-2.0 */
/* ConvTranspose as convolutions. With stride s, the outputs s * q + r of an axis form phase r: they
 * read only those elements of the kernel whose offset is r modulo s, so each phase is a Conv of the
 * input with a part of the kernel. The phases are interleaved by moving them from channels to
 * space. No element is multiplied that ConvTranspose does not multiply, so an infinite input
 * reaches the same outputs. */
#include <string.h>

#include "base/counted.h"
#include "rewrite/lower/native.h"

#define AXES 3u        /* most axes: a value of rank 8 interleaves them */
#define MOST_PHASES 64 /* most convolutions */

/* One axis of the kernel. */
typedef struct side {
  int64_t kernel, stride, dilation, begin, end; /* begin, end: pads; end less output_padding */
  int64_t more;                                 /* outputs of each phase beyond the input's size */
} side;

/* The part of an axis of the kernel that phase r reads: elements first, first + step, ... of the
 * kernel, `count` of them, which are `apart` elements of the input apart. */
typedef struct part {
  int64_t first, step, count, apart, nearest; /* nearest: offset of the first one, in the input */
} part;

typedef struct turned {
  surg__builder *b;
  surg__built x, w, y;
  surg_value *bias;
  uint32_t axes;
  int64_t group, inputs, outputs; /* channels; `outputs` of one group */
  int64_t phases;
  side side[AXES];
  const uint8_t *raw; /* elements of the kernel, `size` bytes each */
  size_t size;
} turned;

/* --- reading --- */

static bool ints_of(const surg_node *n, const char *name, int64_t fallback, int64_t least,
                    size_t count, int64_t *out) {
  size_t given = 0;
  const int64_t *list = surg_node_ints(n, name, &given);
  for (size_t i = 0; i < count; i++) out[i] = fallback;
  if (!list || !given) return true;
  if (given != count) return false;
  for (size_t i = 0; i < count; i++) {
    if (list[i] < least || list[i] > INT32_MAX) return false;
    out[i] = list[i];
  }
  return true;
}

/* The part of phase r. Count 0: no element of the kernel is read. */
static part part_of(const side *s, int64_t r) {
  const int64_t all = surg__gcd(s->dilation, s->stride);
  part p = {.step = s->stride / all, .apart = s->dilation / all};
  for (p.first = 0; p.first < p.step && p.first < s->kernel; p.first++)
    if (p.first * s->dilation % s->stride == r) break;
  if (p.first >= p.step || p.first >= s->kernel) return p;
  p.count = (s->kernel - 1 - p.first) / p.step + 1;
  p.nearest = (p.first * s->dilation - r) / s->stride;
  return p;
}

/* Reads an axis, and sets by how many elements each phase is longer than the input. */
static bool read_side(turned *t, uint32_t i) {
  side *s = &t->side[i];
  s->kernel = t->w.d[i + 2].n;
  if (s->kernel < 1 || s->kernel > INT32_MAX || s->stride > MOST_PHASES) return false;
  t->phases *= s->stride;
  if (t->phases > MOST_PHASES) return false;
  const int64_t extent = (s->kernel - 1) * s->dilation + 1;
  /* Outputs up to s * (size - 1) + extent - end are read. */
  const int64_t last = extent - s->end;
  s->more = last > 0 ? (last + s->stride - 1) / s->stride - 1 : 0;
  for (int64_t r = 0; r < s->stride; r++) {
    const part p = part_of(s, r);
    if (p.count == 0 && t->b->m->opset < 8) return false; /* Expand */
    if (p.nearest > s->more) s->more = p.nearest;
  }
  return true;
}

static bool read_sides(turned *t, const surg_node *n) {
  int64_t strides[AXES], dilations[AXES], pads[2 * AXES], beyond[AXES];
  if (!ints_of(n, "strides", 1, 1, t->axes, strides) ||
      !ints_of(n, "dilations", 1, 1, t->axes, dilations) ||
      !ints_of(n, "pads", 0, 0, 2 * (size_t)t->axes, pads) ||
      !ints_of(n, "output_padding", 0, 0, t->axes, beyond))
    return false;
  t->phases = 1;
  for (uint32_t i = 0; i < t->axes; i++) {
    t->side[i] = (side){.stride = strides[i],
                        .dilation = dilations[i],
                        .begin = pads[i],
                        .end = pads[t->axes + i] - beyond[i]};
    if (!read_side(t, i)) return false;
  }
  return true;
}

/* Reads the elements of the kernel, of type float16, float or double. */
static bool read_kernel(turned *t) {
  const surg_tensor *c = surg_value_constant(t->w.v);
  uint64_t count, bytes;
  t->size = t->w.dtype == SURG_DOUBLE ? 8 : t->w.dtype == SURG_FLOAT ? 4 : 2;
  if (!c || surg_tensor_is_sparse(c) || surg_tensor_dtype(c) != t->w.dtype ||
      !surg__built_count(&t->w, INT32_MAX, &count) || !surg__mul_u64(count, t->size, &bytes))
    return false;
  uint8_t *raw = surg__arena_array(t->b->m->arena, (size_t)bytes + 1, 1);
  t->raw = raw;
  return raw && surg_tensor_read(c, 0, raw, (size_t)bytes) == SURG_OK;
}

static bool read(turned *t) {
  surg__builder *b = t->b;
  const surg_node *n = surg__b_matched(b);
  if (!surg__b_attrs_known(b) || !surg__built_get(b, "x", &t->x) ||
      !surg__built_get(b, "w", &t->w) || !surg__built_get(b, "y", &t->y))
    return false;
  surg__built bias;
  t->bias = surg__b_get(b, "z");
  if (t->bias &&
      (!surg__built_get(b, "z", &bias) || surg__b_bad(b, bias.rank != 1, "z: expected rank 1")))
    return false;
  if (surg__b_bad(b, t->x.rank < 3 || t->x.rank > AXES + 2, "x: expected rank 3, 4 or 5") ||
      surg__b_bad(b, t->w.rank != t->x.rank || t->y.rank != t->x.rank,
                  "w: expected the rank of x") ||
      surg__b_bad(b, surg_node_attr(n, "output_shape") != NULL, "output_shape is unsupported"))
    return false;
  if (surg__b_bad(b, !surg__b_takes(b, "Conv", 0, t->x.dtype), "Conv has no such element type"))
    return false;
  t->axes = t->x.rank - 2;
  t->group = surg_node_int(n, "group", 1);
  t->inputs = t->w.d[0].n;
  t->outputs = t->w.d[1].n;
  if (surg__b_bad(b, t->inputs < 1 || t->outputs < 1, "w: the sizes are unknown or 0") ||
      surg__b_bad(b, t->group < 1 || t->inputs % t->group != 0,
                  "group does not divide the channels"))
    return false;
  return !surg__b_bad(b, !read_sides(t, n),
                      "strides are too large, or the sizes of the kernel are unknown") &&
         !surg__b_bad(b, !read_kernel(t), "w: expected a constant of floats");
}

/* --- building --- */

/* The kernel of a phase: [group * outputs, inputs / group, ...], elements in reverse order. */
static surg_value *kernel_of(const turned *t, const part *parts) {
  const int64_t each = t->inputs / t->group;
  int64_t dims[AXES + 2] = {t->group * t->outputs, each}, places = 1, full = 1;
  for (uint32_t i = 0; i < t->axes; i++) {
    dims[i + 2] = parts[i].count;
    places *= parts[i].count;
    full *= t->side[i].kernel;
  }
  const size_t bytes = (size_t)(dims[0] * dims[1] * places) * t->size;
  uint8_t *raw = surg__arena_array(t->b->m->arena, bytes + 1, 1), *to = raw;
  if (!raw) return surg__b_no_memory(t->b);
  for (int64_t o = 0; o < dims[0]; o++)
    for (int64_t c = 0; c < each; c++)
      for (int64_t k = 0; k < places; k++, to += t->size) {
        const int64_t in = o / t->outputs * each + c;
        int64_t rest = k, at = 0, step = 1;
        for (uint32_t i = t->axes; i-- > 0; rest /= parts[i].count) {
          const int64_t turn = parts[i].count - 1 - rest % parts[i].count;
          at += (parts[i].first + turn * parts[i].step) * step;
          step *= t->side[i].kernel;
        }
        memcpy(to, t->raw + (size_t)((in * t->outputs + o % t->outputs) * full + at) * t->size,
               t->size);
      }
  return surg__b_tensor(t->b, t->w.dtype, dims, t->axes + 2, raw, bytes);
}

/* A phase that reads no element of the kernel: the bias, or 0. Phase 0, which `like` is, reads
 * one. */
static surg_value *bare_of(const turned *t, const surg__built *like) {
  surg__builder *b = t->b;
  const surg__built zeros = surg__built_fill(b, like->dtype, 0, like->d, like->rank);
  surg__bdim d[AXES + 2];
  surg__built bias;
  if (!t->bias || !surg__built_of(t->bias, &bias)) return zeros.v;
  for (uint32_t i = 0; i < like->rank; i++) d[i] = i == 1 ? like->d[1] : surg__bdim_fixed(1);
  return surg__built_binary(b, "Add", zeros, surg__built_reshape(b, bias, d, like->rank)).v;
}

/* One phase, numbered in the order of its axes, as a Conv. Its sizes are those of the input and
 * `more`; `like` has them from phase 1 on. */
static surg_value *conv_of(const turned *t, int64_t phase, const surg__built *like) {
  surg__builder *b = t->b;
  part parts[AXES];
  int64_t shape[AXES], strides[AXES], dilations[AXES], pads[2 * AXES], rest = phase;
  for (uint32_t i = t->axes; i-- > 0; rest /= t->side[i].stride) {
    const part p = part_of(&t->side[i], rest % t->side[i].stride);
    if (p.count == 0) return bare_of(t, like);
    const int64_t farthest = p.nearest + (p.count - 1) * p.apart;
    parts[i] = p;
    shape[i] = p.count;
    strides[i] = 1;
    dilations[i] = p.apart;
    pads[i] = farthest;
    pads[t->axes + i] = t->side[i].more - p.nearest;
  }
  surg_value *const in[3] = {t->x.v, kernel_of(t, parts), t->bias};
  surg_value *v = surg__b_node(b, "Conv", in, t->bias ? 3 : 2);
  surg__b_set_ints(b, v, "kernel_shape", shape, t->axes);
  surg__b_set_ints(b, v, "strides", strides, t->axes);
  surg__b_set_ints(b, v, "dilations", dilations, t->axes);
  surg__b_set_ints(b, v, "pads", pads, 2 * (size_t)t->axes);
  surg__b_set_int(b, v, "group", t->group);
  return v;
}

/* The size of an axis of y: `times` * n + `more`, or read from y where n is not known. */
static surg__bdim size_of(const surg__built *y, uint32_t axis, int64_t n, int64_t times,
                          int64_t more) {
  if (n >= 0 && n <= INT32_MAX) return surg__bdim_fixed(times * n + more);
  return (surg__bdim){.n = -1, .of = y->v, .axis = axis, .dim = {.value = -1}, .filled = true};
}

/* Interleaves the phases, which are the slower part of the channels. */
static surg__built interleaved(const turned *t, surg__built y) {
  surg__builder *b = t->b;
  const uint32_t n = t->axes;
  surg__bdim apart[2 * AXES + 2], joined[AXES + 2];
  int64_t perm[2 * AXES + 2] = {0, n + 1};
  if (n == 2 && t->side[0].stride == t->side[1].stride) {
    const int64_t stride = t->side[0].stride;
    y.v = surg__b_unary(b, "DepthToSpace", y.v);
    surg__b_set_int(b, y.v, "blocksize", stride);
    y.d[1] = surg__bdim_fixed(t->group * t->outputs);
    for (uint32_t i = 2; i < 4; i++) y.d[i] = size_of(&y, i, y.d[i].n, stride, 0);
    return y;
  }
  apart[0] = joined[0] = y.d[0];
  apart[n + 1] = joined[1] = surg__bdim_fixed(t->group * t->outputs);
  for (uint32_t i = 0; i < n; i++) {
    apart[i + 1] = surg__bdim_fixed(t->side[i].stride);
    apart[n + 2 + i] = y.d[i + 2];
    perm[2 * i + 2] = n + 2 + i;
    perm[2 * i + 3] = i + 1;
    joined[i + 2] = surg__bdim_mul(b, y.d[i + 2], apart[i + 1]);
  }
  y = surg__built_transpose(b, surg__built_reshape(b, y, apart, 2 * n + 2), perm);
  return surg__built_reshape(b, y, joined, n + 2);
}

/* y = ConvTranspose (x, w, z?), w constant */
static surg_status conv_of_turned(surg__builder *b) {
  turned t = {.b = b};
  surg__built parts[MOST_PHASES], y;
  if (!read(&t)) return SURG_EUNSUPPORTED;
  for (int64_t i = 0; i < t.phases; i++) {
    parts[i] = i ? parts[0] : t.x;
    parts[i].v = conv_of(&t, i, &parts[0]);
    if (i) continue;
    parts[0].d[1] = surg__bdim_fixed(t.group * t.outputs);
    for (uint32_t k = 2; k < t.x.rank; k++)
      parts[0].d[k] = size_of(&parts[0], k, t.x.d[k].n, 1, t.side[k - 2].more);
  }
  y = t.phases > 1 ? interleaved(&t, surg__built_concat(b, parts, (size_t)t.phases, 1)) : parts[0];
  for (uint32_t i = 0; i < t.axes; i++) {
    const side *s = &t.side[i];
    /* Beyond the last output: what the phases have more. */
    const int64_t all = (s->kernel - 1) * s->dilation + 1 - s->end;
    const int64_t rest = (s->more + 1) * s->stride - all;
    y = surg__built_trim(b, y, i + 2, s->begin, rest);
  }
  surg__built_result(b, "y", y);
  return b->status;
}

const surg__native surg__natives_turned[] = {
    {"conv_of_turned", conv_of_turned, "ConvTranspose as a Conv for each phase of its strides"},
    {NULL, NULL, NULL},
};
