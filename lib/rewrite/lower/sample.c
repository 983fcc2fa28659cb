/* SPDX-License-Identifier: Apache-2.0 */
/* Interpolating operators (GridSample, DeformConv, RoiAlign) by Gather, equivalent to
 * lib/eval/image/sample.c and roi.c. Coordinates are doubles, indices are integers clamped to the
 * tensor, so that no coordinate, NaN included, is out of range: elements outside are gathered from
 * a row of zeros after all others. */
#include <math.h>

#include "base/counted.h"
#include "rewrite/lower/native.h"

enum { NEAREST, LINEAR, CUBIC };
enum { ZEROS, BORDER, REFLECTION };
#define MOST_AXES 3u
#define NOWHERE (-2) /* a coordinate that is outside of every tensor */

typedef struct sampler {
  surg__builder *b;
  int mode, edge;
  bool corners;
  bool largest; /* combine by maximum instead of sum */
  uint32_t n; /* number of spatial axes */
  surg__bdim size[MOST_AXES];
  surg__built rows;      /* [tensors * elements + 1, channels]; the last row is 0 */
  surg__bdim outside; /* index of the last row */
  surg__built base;      /* [tensors, 1, ...]: index of the first row of each tensor */
  surg__built real_size[MOST_AXES], int_size[MOST_AXES]; /* scalars; v NULL: not created yet */
} sampler;

/* One neighbour of a coordinate along an axis: its index, whether it is inside, and its weight;
 * each is [tensors, points...]. */
typedef struct tap {
  surg__built at, inside, weight;
} tap;

/* --- coordinates --- */

static surg__built number(const sampler *s, const char *op, surg__built x, double y) {
  return surg__built_number(s->b, op, x, y);
}

/* Converts a bool to 1 or 0 of a type. */
static surg__built flag(const sampler *s, surg__built x, int dtype) {
  return surg__built_cast(s->b, x, dtype);
}

/* x, or `other` where x is NaN or infinite. */
static surg__built finite_or(const sampler *s, surg__built x, double other) {
  const surg__built is = number(s, "Less", surg__built_unary(s->b, "Abs", x), INFINITY);
  return surg__built_where(s->b, is, x, surg__built_scalar(s->b, SURG_DOUBLE, other));
}

/* Rounds half to even. */
static surg__built rounded(const sampler *s, surg__built x) {
  surg__builder *b = s->b;
  const surg__built low = surg__built_unary(b, "Floor", x);
  const surg__built part = surg__built_binary(b, "Sub", x, low);
  const surg__built half = number(s, "Mul", low, 0.5);
  const surg__built rest = surg__built_binary(b, "Sub", half, surg__built_unary(b, "Floor", half));
  const surg__built odd = number(s, "Greater", rest, 0.25);
  const surg__built middle = surg__built_unary(b, "Not", number(s, "Less", part, 0.5));
  const surg__built over = number(s, "Greater", part, 0.5);
  const surg__built up =
      surg__built_binary(b, "Or", over, surg__built_binary(b, "And", middle, odd));
  return surg__built_binary(b, "Add", low, flag(s, up, SURG_DOUBLE));
}

/* Reflects coordinates at the borders as often as necessary. The borders are the first and the last
 * element, or half an element further outside. The sizes must be numbers. */
static surg__built reflected(const sampler *s, uint32_t axis, surg__built x) {
  surg__builder *b = s->b;
  const double low = s->corners ? 0 : -0.5;
  const double range = (double)s->size[axis].n - (s->corners ? 1 : 0);
  if (!(range > 0)) return number(s, "Mul", x, 0);
  const surg__built apart = surg__built_unary(b, "Abs", number(s, "Sub", x, low));
  const surg__built times = surg__built_unary(b, "Floor", number(s, "Div", apart, range));
  const surg__built rest = surg__built_binary(b, "Sub", apart, number(s, "Mul", times, range));
  const surg__built half = number(s, "Mul", times, 0.5);
  const surg__built odd =
      flag(s,
           number(s, "Greater",
                  surg__built_binary(b, "Sub", half, surg__built_unary(b, "Floor", half)), 0.25),
           SURG_DOUBLE);
  /* rest, or range - rest after an odd number of reflections */
  const surg__built turned = number(s, "Add", number(s, "Mul", rest, -2), range);
  const surg__built y =
      surg__built_binary(b, "Add", rest, surg__built_binary(b, "Mul", odd, turned));
  return low == 0 ? y : number(s, "Add", y, low);
}

static void make_sizes(sampler *s) {
  for (uint32_t i = 0; i < s->n; i++) {
    s->real_size[i] = surg__bdim_scalar(s->b, s->size[i], SURG_DOUBLE);
    s->int_size[i] = surg__bdim_scalar(s->b, s->size[i], SURG_INT64);
  }
}

/* The neighbour at an integer coordinate. */
static void place(const sampler *s, uint32_t axis, surg__built x, tap *t) {
  surg__builder *b = s->b;
  const surg__built size = s->real_size[axis];
  if (s->edge == REFLECTION) x = reflected(s, axis, x);
  const surg__built above = surg__built_binary(b, "Less", x, size);
  const surg__built in = surg__built_binary(b, "And", number(s, "Greater", x, -1), above);
  t->inside = flag(s, in, SURG_INT64);
  t->at = surg__built_binary(b, "Mul", surg__built_cast(b, x, SURG_INT64), t->inside);
  if (s->edge != BORDER) return;
  const surg__built last = number(s, "Sub", s->int_size[axis], 1);
  const surg__built beyond =
      flag(s, surg__built_binary(b, "Greater", x, number(s, "Sub", size, 1)), SURG_INT64);
  t->at = surg__built_binary(b, "Add", t->at, surg__built_binary(b, "Mul", beyond, last));
}

/* Keys' cubic kernel with a = -0.75: `near` for distances up to 1, `far` for 1 to 2. */
static surg__built cubic(const sampler *s, surg__built d, bool far) {
  const double a = -0.75;
  if (!far) {
    surg__built y = number(s, "Sub", number(s, "Mul", d, a + 2), a + 3);
    y = surg__built_binary(s->b, "Mul", y, d);
    return number(s, "Add", surg__built_binary(s->b, "Mul", y, d), 1);
  }
  surg__built y = number(s, "Sub", number(s, "Mul", d, a), 5 * a);
  y = number(s, "Add", surg__built_binary(s->b, "Mul", y, d), 8 * a);
  return number(s, "Sub", surg__built_binary(s->b, "Mul", y, d), 4 * a);
}

static surg__built weight(const sampler *s, surg__built part, int64_t step) {
  surg__builder *b = s->b;
  if (s->mode == LINEAR)
    return step ? part : surg__built_binary(b, "Sub", surg__built_scalar(b, SURG_DOUBLE, 1), part);
  /* |part - step| for steps from -1 to 2 */
  surg__built d = step == 0 ? part : number(s, "Sub", part, (double)step);
  if (step > 0) d = surg__built_unary(b, "Neg", d);
  return cubic(s, d, step < 0 || step > 1);
}

static uint32_t find_taps(const sampler *s, uint32_t axis, surg__built x, tap *taps) {
  surg__builder *b = s->b;
  if (s->mode == NEAREST) x = rounded(s, x);
  if (s->edge == REFLECTION) x = reflected(s, axis, x);
  if (s->mode == NEAREST) {
    place(s, axis, x, &taps[0]);
    return 1;
  }
  const surg__built base = surg__built_unary(b, "Floor", x),
                    part = surg__built_binary(b, "Sub", x, base);
  const uint32_t n = s->mode == LINEAR ? 2 : 4;
  for (uint32_t i = 0; i < n; i++) {
    const int64_t step = s->mode == LINEAR ? (int64_t)i : (int64_t)i - 1;
    place(s, axis, step ? number(s, "Add", base, (double)step) : base, &taps[i]);
    taps[i].weight = weight(s, part, step);
  }
  return n;
}

/* --- elements --- */

/* Gathers [tensors, points..., channels] for one neighbour per axis. */
static surg__built gathered(const sampler *s, const tap *const *chosen) {
  surg__builder *b = s->b;
  surg__built at = chosen[0]->at, inside = chosen[0]->inside;
  for (uint32_t i = 1; i < s->n; i++) {
    at = surg__built_binary(b, "Mul", at, s->int_size[i]);
    at = surg__built_binary(b, "Add", at, chosen[i]->at);
    inside = surg__built_binary(b, "Mul", inside, chosen[i]->inside);
  }
  at = surg__built_binary(b, "Add", at, s->base);
  if (s->edge == ZEROS) {
    const surg__built end = surg__bdim_scalar(b, s->outside, SURG_INT64);
    const surg__built out =
        surg__built_binary(b, "Sub", surg__built_scalar(b, SURG_INT64, 1), inside);
    at = surg__built_binary(b, "Mul", at, inside);
    at = surg__built_binary(b, "Add", at, surg__built_binary(b, "Mul", out, end));
  }
  return surg__built_gather(b, s->rows, at, 0);
}

/* The weighted sum over all combinations of neighbours, or the largest weighted element. x has the
 * coordinates, as [tensors, points...] of double. */
static surg__built sampled(const sampler *s, const surg__built *x) {
  surg__builder *b = s->b;
  tap taps[MOST_AXES][4];
  const tap *chosen[MOST_AXES];
  uint32_t each = 1, all = 1;
  for (uint32_t i = 0; i < s->n; i++) {
    each = find_taps(s, i, x[i], taps[i]);
    all *= each;
  }
  surg__built sum = {0};
  for (uint32_t k = 0; k < all; k++) {
    surg__built w = {0};
    for (uint32_t i = s->n, rest = k; i-- > 0; rest /= each) {
      chosen[i] = &taps[i][rest % each];
      if (s->mode != NEAREST)
        w = w.v ? surg__built_binary(b, "Mul", chosen[i]->weight, w) : chosen[i]->weight;
    }
    surg__built y = gathered(s, chosen);
    if (w.v) {
      w = surg__built_unsqueeze(b, surg__built_cast(b, w, y.dtype), w.rank);
      y = surg__built_binary(b, "Mul", y, w);
    }
    sum = sum.v ? surg__built_binary(b, s->largest ? "Max" : "Add", sum, y) : y;
  }
  return sum;
}

/* Elements per channel of one tensor. */
static surg__bdim plane_of(const sampler *s) {
  surg__bdim plane = surg__bdim_fixed(1);
  for (uint32_t i = 0; i < s->n; i++) plane = surg__bdim_mul(s->b, plane, s->size[i]);
  return plane;
}

/* Reshapes a vector to the first of `rank` axes. */
static surg__built upright(const sampler *s, surg__built x, uint32_t rank) {
  surg__bdim d[SURG__BT_RANK] = {x.d[0]};
  for (uint32_t i = 1; i < rank; i++) d[i] = surg__bdim_fixed(1);
  return surg__built_reshape(s->b, x, d, rank);
}

/* Converts x of [tensors, channels, axes...] to rows; the caller sets s->base. */
static void take_rows(sampler *s, surg__built x) {
  surg__builder *b = s->b;
  const surg__bdim plane = plane_of(s);
  const surg__bdim rows = surg__bdim_mul(b, x.d[0], plane), shape[2] = {rows, x.d[1]};
  const surg__bdim row[2] = {surg__bdim_fixed(1), x.d[1]};
  int64_t perm[SURG__BT_RANK] = {0};
  for (uint32_t i = 1; i < x.rank; i++) perm[i] = i + 1 < x.rank ? i + 1 : 1;
  s->rows = surg__built_reshape(b, surg__built_transpose(b, x, perm), shape, 2);
  if (s->edge == ZEROS) {
    const surg__built both[2] = {s->rows, surg__built_fill(b, x.dtype, 0, row, 2)};
    s->rows = surg__built_concat(b, both, 2, 0);
  }
  s->outside = rows;
  make_sizes(s);
}

/* The same if tensor i of x is sampled at coordinates i; coordinates have `rank` axes. */
static void take_own_rows(sampler *s, surg__built x, uint32_t rank) {
  s->base = upright(s, surg__built_steps(s->b, x.d[0], plane_of(s), SURG_INT64), rank);
  take_rows(s, x);
}

/* Moves the last axis to position 1. */
static surg__built channels_first(const sampler *s, surg__built x) {
  int64_t perm[SURG__BT_RANK] = {0, (int64_t)x.rank - 1};
  for (uint32_t i = 2; i < x.rank; i++) perm[i] = i - 1;
  return surg__built_transpose(s->b, x, perm);
}

/* --- GridSample --- */

static bool is_word(surg_str s, const char *a, const char *other) {
  return (s.n == strlen(a) && !memcmp(s.p, a, s.n)) ||
         (s.n == strlen(other) && !memcmp(s.p, other, s.n));
}

static bool read_grid_sample(sampler *s, const surg__built *x, const surg__built *grid) {
  const surg_node *node = surg__b_matched(s->b);
  const surg_str mode = surg_node_string(node, "mode", "linear");
  const surg_str edge = surg_node_string(node, "padding_mode", "zeros");
  s->mode = is_word(mode, "nearest", "nearest")   ? NEAREST
            : is_word(mode, "linear", "bilinear") ? LINEAR
            : is_word(mode, "cubic", "bicubic")   ? CUBIC
                                                  : -1;
  s->edge = is_word(edge, "zeros", "zeros")             ? ZEROS
            : is_word(edge, "border", "border")         ? BORDER
            : is_word(edge, "reflection", "reflection") ? REFLECTION
                                                        : -1;
  s->corners = surg_node_int(node, "align_corners", 0) != 0;
  if (s->mode < 0 || s->edge < 0 || x->rank < 3 || x->rank > 2 + MOST_AXES ||
      grid->rank != x->rank || x->dtype == SURG_STRING)
    return false;
  s->n = x->rank - 2;
  /* If there are samples, the sizes are assumed not to be 0; without samples x may be empty. */
  bool samples = surg__bdim_filled(&x->d[0]) && surg__bdim_filled(&x->d[1]);
  for (uint32_t i = 1; i <= s->n; i++) samples = samples && surg__bdim_filled(&grid->d[i]);
  /* Without allowzero (opset 14) the channels must not be 0, since Reshape
   * infers the number of rows. */
  if (s->b->m->opset < 14 && !surg__bdim_filled(&x->d[1])) return false;
  for (uint32_t i = 0; i < s->n; i++) {
    s->size[i] = x->d[i + 2];
    s->size[i].filled = samples || surg__bdim_filled(&s->size[i]);
    if (s->size[i].n == 0 || (s->edge == REFLECTION && s->size[i].n < 0)) return false;
  }
  return s->mode == NEAREST || surg__dtype_is_float(x->dtype);
}

/* Converts coordinates from -1..1 to elements, in the type of the grid (float16 in float). As in
 * runtimes, NaN and infinity count as -1. */
static surg__built scaled(const sampler *s, surg__built v, uint32_t axis, int type) {
  surg__builder *b = s->b;
  const surg__built size = s->real_size[axis];
  v = number(s, "Add", finite_or(s, v, -1), 1);
  if (s->corners) {
    v = number(s, "Div", v, 2);
    v = surg__built_binary(b, "Mul", v, number(s, "Sub", size, 1));
  } else {
    v = number(s, "Sub", surg__built_binary(b, "Mul", v, size), 1);
    v = number(s, "Div", v, 2);
  }
  return type == SURG_DOUBLE ? v
                             : surg__built_cast(b, surg__built_cast(b, v, SURG_FLOAT), SURG_DOUBLE);
}

static surg_status grid_sample_to_gather(surg__builder *b) {
  sampler s = {.b = b};
  surg__built x, grid, at[MOST_AXES];
  if (!surg__b_attrs_known(b) || !surg__built_get(b, "x", &x) ||
      !surg__built_get(b, "grid", &grid) || !read_grid_sample(&s, &x, &grid))
    return SURG_EUNSUPPORTED;
  const bool half = x.dtype == SURG_FLOAT16 || x.dtype == SURG_BFLOAT16;
  const int type = s.mode != NEAREST && half ? SURG_FLOAT : x.dtype;
  take_own_rows(&s, surg__built_cast(b, x, type), grid.rank - 1);
  const surg__built g = surg__built_cast(b, grid, SURG_DOUBLE);
  for (uint32_t i = 0; i < s.n; i++) {
    const double column = s.n - 1 - i; /* x, the last axis, is column 0 */
    const surg__built v =
        surg__built_gather(b, g, surg__built_scalar(b, SURG_INT64, column), grid.rank - 1);
    at[i] = scaled(&s, v, i, grid.dtype);
  }
  const surg__built y = channels_first(&s, sampled(&s, at));
  surg__built_result(b, "y", surg__built_cast(b, y, x.dtype));
  return b->status;
}

/* --- DeformConv --- */

typedef struct deform {
  sampler s;
  surg__built x, weight, offset, bias, mask;
  surg__bdim batch; /* may be open */
  int64_t channels, outputs, groups, offset_groups, kernel, points;
  int64_t stride[MOST_AXES], dilation[MOST_AXES], begin[MOST_AXES];
} deform;

/* Reads an attribute with one number per axis. */
static bool read_axes(const deform *d, const char *name, int64_t fallback, int64_t *out) {
  size_t n = 0;
  const int64_t *said = surg_node_ints(surg__b_matched(d->s.b), name, &n);
  for (uint32_t i = 0; i < d->s.n; i++) out[i] = said && n > i ? said[i] : fallback;
  return !said || n >= d->s.n;
}

/* Whether the sizes from axis `first` on are numbers above 0. */
static bool fixed(const surg__built *x, uint32_t first) {
  int64_t dims[SURG__BT_RANK];
  uint64_t count;
  for (uint32_t i = 0; i < x->rank; i++) {
    dims[i] = i < first ? 1 : x->d[i].n;
    if (dims[i] < 1) return false;
  }
  return surg__dims_product(dims, x->rank, &count) && count <= INT64_MAX;
}

static bool fits_batch(const deform *d, const surg__built *x) {
  return x->d[0].n < 0 || d->batch.n < 0 || x->d[0].n == d->batch.n;
}

/* Whether the sizes of the operands agree, as ONNX requires. */
static bool deform_agrees(const deform *d) {
  if (d->groups < 1 || d->offset_groups < 1 || d->channels % d->groups ||
      d->outputs % d->groups || d->channels % d->offset_groups)
    return false;
  if (d->weight.d[1].n != d->channels / d->groups || !fits_batch(d, &d->offset) ||
      d->offset.d[1].n != d->offset_groups * d->kernel * (int64_t)d->s.n)
    return false;
  return !d->mask.v || (d->mask.rank == d->x.rank && fits_batch(d, &d->mask) &&
                        d->mask.d[1].n == d->offset_groups * d->kernel);
}

/* Returns the name of an operand with a size, other than that of the batch, that is not a number
 * above 0; NULL: none. */
static const char *open_operand(const deform *d) {
  return !fixed(&d->x, 1)                   ? "x"
         : !fixed(&d->weight, 0)            ? "the weights"
         : !fixed(&d->offset, 1)            ? "the offsets"
         : d->mask.v && !fixed(&d->mask, 1) ? "the mask"
                                            : NULL;
}

static bool read_deform(deform *d) {
  surg__builder *b = d->s.b;
  const surg_node *n = surg__b_matched(b);
  if (!surg__b_attrs_known(b) || !surg__built_get(b, "x", &d->x) ||
      !surg__built_get(b, "w", &d->weight) || !surg__built_get(b, "offset", &d->offset))
    return false;
  if (d->x.rank < 3 || d->x.rank > 2 + MOST_AXES)
    return surg__b_lacks(b, "x", "expected 1 to 3 spatial axes");
  if (d->weight.rank != d->x.rank || d->offset.rank != d->x.rank)
    return surg__b_lacks(b, "w and offset", "expected the rank of x");
  if (surg__b_get(b, "bias") && (!surg__built_get(b, "bias", &d->bias) || d->bias.rank != 1))
    return surg__b_lacks(b, "bias", "expected rank 1");
  if (surg__b_get(b, "mask") && !surg__built_get(b, "mask", &d->mask)) return false;
  if (open_operand(d))
    return surg__b_lacks(b, open_operand(d),
                         "expected fixed sizes, found dynamic ones (onnxsurg freeze fixes them)");
  d->s.n = d->x.rank - 2;
  d->groups = surg_node_int(n, "group", 1);
  d->offset_groups = surg_node_int(n, "offset_group", 1);
  d->batch = d->x.d[0];
  d->channels = d->x.d[1].n;
  d->outputs = d->weight.d[0].n;
  d->kernel = d->points = 1;
  for (uint32_t i = 0; i < d->s.n; i++) {
    d->s.size[i] = d->x.d[i + 2];
    d->kernel *= d->weight.d[i + 2].n;
    d->points *= d->offset.d[i + 2].n;
  }
  if (!surg__dtype_is_float(d->x.dtype)) return surg__b_lacks(b, "x", "expected floats");
  if (!deform_agrees(d)) return surg__b_lacks(b, "", "the sizes of its operands disagree");
  if (d->kernel > SURG_LIMIT_EMIT_CONSTANT || d->points > SURG_LIMIT_EMIT_CONSTANT)
    return surg__b_lacks(b, "", "kernel or output has more places than a rewrite may list");
  return (read_axes(d, "strides", 1, d->stride) && read_axes(d, "dilations", 1, d->dilation) &&
          read_axes(d, "pads", 0, d->begin)) ||
         surg__b_lacks(b, "strides, dilations or pads", "expected one integer for each axis");
}

/* Coordinates along `axis` of the positions in `sizes`: index * step + first. */
static surg__built counted(const deform *d, uint32_t axis, const surg__bdim *sizes, int64_t count,
                        int64_t step, int64_t first, const int64_t *dims) {
  surg__builder *b = d->s.b;
  double *numbers = surg__arena_array(b->m->arena, (size_t)count + 1, sizeof *numbers);
  for (int64_t k = 0; numbers && k < count; k++) {
    int64_t rest = k;
    for (uint32_t i = d->s.n; i-- > axis + 1;) rest /= sizes[i].n;
    numbers[k] = (double)(rest % sizes[axis].n * step + first);
  }
  if (!numbers) {
    b->status = SURG_ENOMEM;
    return (surg__built){0};
  }
  return surg__built_numbers(b, SURG_DOUBLE, dims, 2, numbers);
}

/* The kernel positions plus offsets: [batch * offset groups, kernel, points] per axis. */
static void shifted(const deform *d, surg__built *at) {
  surg__builder *b = d->s.b;
  const surg__bdim tensors = surg__bdim_mul(b, d->batch, surg__bdim_fixed(d->offset_groups)),
                   n = surg__bdim_fixed(d->s.n);
  const surg__bdim split[4] = {tensors, surg__bdim_fixed(d->kernel), n,
                               surg__bdim_fixed(d->points)};
  const int64_t column[2] = {d->kernel, 1}, row[2] = {1, d->points};
  const surg__built offset =
      surg__built_reshape(b, surg__built_cast(b, d->offset, SURG_DOUBLE), split, 4);
  for (uint32_t i = 0; i < d->s.n; i++) {
    const surg__built kernel =
        counted(d, i, &d->weight.d[2], d->kernel, d->dilation[i], -d->begin[i], column);
    const surg__built point = counted(d, i, &d->offset.d[2], d->points, d->stride[i], 0, row);
    const surg__built place = surg__built_binary(b, "Add", kernel, point);
    const surg__built one =
        surg__built_gather(b, offset, surg__built_scalar(b, SURG_INT64, (double)i), 2);
    const surg__built sum = surg__built_binary(b, "Add", one, place);
    at[i] = finite_or(&d->s, sum, NOWHERE);
  }
}

static surg_status deform_to_gather(surg__builder *b) {
  deform d = {.s = {.b = b, .mode = LINEAR, .edge = ZEROS, .corners = true}};
  surg__built at[MOST_AXES];
  if (!read_deform(&d)) return SURG_EUNSUPPORTED;
  const int type = d.x.dtype == SURG_DOUBLE ? SURG_DOUBLE : SURG_FLOAT;
  const int64_t each = d.channels / d.offset_groups;
  const surg__bdim tensors = surg__bdim_mul(b, d.batch, surg__bdim_fixed(d.offset_groups));
  surg__bdim apart[SURG__BT_RANK] = {tensors, surg__bdim_fixed(each)};
  surg__bdim out[SURG__BT_RANK] = {d.batch, surg__bdim_fixed(d.outputs)};
  for (uint32_t i = 0; i < d.s.n; i++) {
    apart[i + 2] = d.s.size[i];
    out[i + 2] = d.offset.d[i + 2];
  }
  take_own_rows(&d.s, surg__built_cast(b, surg__built_reshape(b, d.x, apart, d.x.rank), type), 3);
  shifted(&d, at);
  surg__built y = sampled(&d.s, at);
  if (d.mask.v) {
    const surg__bdim beside[4] = {y.d[0], y.d[1], y.d[2], surg__bdim_fixed(1)};
    y = surg__built_binary(b, "Mul", y,
                        surg__built_reshape(b, surg__built_cast(b, d.mask, type), beside, 4));
  }
  /* Multiplies columns [batch, groups, channels per group * kernel, points] by the weights. */
  const int64_t rows = d.channels / d.groups * d.kernel, per_group = d.outputs / d.groups;
  const surg__bdim columns[4] = {d.batch, surg__bdim_fixed(d.groups),
                                 surg__bdim_fixed(rows), surg__bdim_fixed(d.points)};
  const surg__bdim weights[3] = {surg__bdim_fixed(d.groups), surg__bdim_fixed(per_group),
                                 surg__bdim_fixed(rows)};
  y = surg__built_reshape(b, channels_first(&d.s, y), columns, 4);
  y = surg__built_matmul(b, surg__built_reshape(b, surg__built_cast(b, d.weight, type), weights, 3),
                         y);
  y = surg__built_reshape(b, y, out, d.x.rank);
  if (d.bias.v) {
    surg__bdim beside[SURG__BT_RANK];
    for (uint32_t i = 0; i <= d.s.n; i++) beside[i] = surg__bdim_fixed(i ? 1 : d.outputs);
    const surg__built bias = surg__built_cast(b, d.bias, type);
    y = surg__built_binary(b, "Add", y, surg__built_reshape(b, bias, beside, d.s.n + 1));
  }
  surg__built_result(b, "y", surg__built_cast(b, y, d.x.dtype));
  return b->status;
}

/* --- RoiAlign --- */

enum { REGION, ROW, COLUMN, SAMPLE_ROW, SAMPLE_COLUMN, ROI_RANK }; /* axes of coordinates */
#define MOST_ROI_SAMPLES 256

typedef struct regions {
  sampler s;
  surg__built x, rois, batches;
  int64_t pooled[2], samples;
  double scale, shift;
  int type; /* type of coordinates; rounds each step as runtimes do */
} regions;

static bool read_regions(regions *r) {
  surg__builder *b = r->s.b;
  const surg_node *n = surg__b_matched(b);
  if (!surg__b_attrs_known(b) || !surg__built_get(b, "x", &r->x) ||
      !surg__built_get(b, "r", &r->rois) || !surg__built_get(b, "b", &r->batches) ||
      r->x.rank != 4 || r->rois.rank != 2 || r->rois.d[1].n != 4 || r->batches.rank != 1 ||
      !surg__dtype_is_float(r->x.dtype))
    return false;
  const surg_str mode = surg_node_string(n, "mode", "avg");
  const char *fallback =
      surg_schema_since(surg_node_schema(n)) < 16 ? "output_half_pixel" : "half_pixel";
  const surg_str where = surg_node_string(n, "coordinate_transformation_mode", fallback);
  r->s.largest = is_word(mode, "max", "max");
  r->shift = is_word(where, "half_pixel", "half_pixel") ? 0.5 : 0;
  if (!is_word(mode, "avg", "max") || !is_word(where, "half_pixel", "output_half_pixel"))
    return false;
  r->pooled[0] = surg_node_int(n, "output_height", 1);
  r->pooled[1] = surg_node_int(n, "output_width", 1);
  r->samples = surg_node_int(n, "sampling_ratio", 0);
  r->scale = surg_node_float(n, "spatial_scale", 1);
  r->type = r->x.dtype == SURG_DOUBLE ? SURG_DOUBLE : SURG_FLOAT;
  for (uint32_t i = 0; i < 2; i++) {
    if (r->pooled[i] < 1 || r->pooled[i] > SURG_LIMIT_EMIT_CONSTANT || r->x.d[i + 2].n == 0)
      return false;
    r->s.size[i] = r->x.d[i + 2];
    r->s.size[i].filled = surg__bdim_filled(&r->rois.d[0]) || surg__bdim_filled(&r->s.size[i]);
  }
  /* Without allowzero (opset 14) the channels must not be 0, since Reshape
   * infers the number of rows. */
  return (b->m->opset >= 14 || surg__bdim_filled(&r->x.d[1])) && r->samples > 0 &&
         r->samples <= MOST_ROI_SAMPLES; /* 0: depends on the size of each region */
}

/* Constants first, first + 1, ... along one axis of the coordinates. */
static surg__built along(const regions *r, uint32_t axis, int64_t n, double first) {
  surg__builder *b = r->s.b;
  int64_t dims[ROI_RANK] = {1, 1, 1, 1, 1};
  double *v = surg__arena_array(b->m->arena, (size_t)n, sizeof *v);
  if (!v) {
    b->status = SURG_ENOMEM;
    return (surg__built){0};
  }
  for (int64_t i = 0; i < n; i++) v[i] = (double)i + first;
  dims[axis] = n;
  return surg__built_numbers(b, r->type, dims, ROI_RANK, v);
}

/* One coordinate of a corner of all regions, scaled to elements. */
static surg__built corner(const regions *r, surg__built rois, uint32_t column) {
  surg__builder *b = r->s.b;
  surg__built v = surg__built_gather(b, rois, surg__built_scalar(b, SURG_INT64, column), 1);
  v = number(&r->s, "Mul", upright(&r->s, v, ROI_RANK), r->scale);
  return r->shift > 0 ? number(&r->s, "Sub", v, r->shift) : v;
}

/* The coordinates of samples along an axis, in double, clamped to the tensor; *inside: whether they
 * were inside before. */
static surg__built samples_along(const regions *r, surg__built rois, uint32_t axis,
                                 surg__built *inside) {
  surg__builder *b = r->s.b;
  const surg__built start = corner(r, rois, 1 - axis), end = corner(r, rois, 3 - axis);
  surg__built size = surg__built_binary(b, "Sub", end, start);
  if (r->shift == 0) {
    const surg__built small = number(&r->s, "Less", size, 1);
    size = surg__built_where(b, small, surg__built_scalar(b, r->type, 1), size);
  }
  const surg__built bin = number(&r->s, "Div", size, (double)r->pooled[axis]);
  const surg__built bins = along(r, ROW + axis, r->pooled[axis], 0);
  const surg__built steps = along(r, SAMPLE_ROW + axis, r->samples, 0.5);
  surg__built within = surg__built_binary(b, "Mul", steps, bin);
  within = number(&r->s, "Div", within, (double)r->samples);
  surg__built at = surg__built_binary(b, "Add", start, surg__built_binary(b, "Mul", bins, bin));
  at = surg__built_cast(b, surg__built_binary(b, "Add", at, within), SURG_DOUBLE);
  const surg__built n = r->s.real_size[axis], last = number(&r->s, "Sub", n, 1);
  const surg__built below = number(&r->s, "Less", at, -1);
  const surg__built out =
      surg__built_binary(b, "Or", below, surg__built_binary(b, "Greater", at, n));
  *inside = surg__built_unary(b, "Not", out);
  const surg__built before = number(&r->s, "Less", at, 0);
  at = surg__built_where(b, before, surg__built_scalar(b, SURG_DOUBLE, 0), at);
  return surg__built_where(b, surg__built_binary(b, "Less", at, last), at, last);
}

/* y = RoiAlign (x, r, b) */
static surg_status roi_align(surg__builder *b) {
  static const int64_t channels_second[4] = {0, 3, 1, 2};
  regions r = {.s = {.b = b, .mode = LINEAR, .edge = BORDER, .n = 2}};
  surg__built at[2], inside[2];
  if (!read_regions(&r)) return SURG_EUNSUPPORTED;
  take_rows(&r.s, surg__built_cast(b, r.x, r.type));
  surg__built base = surg__built_cast(b, r.batches, SURG_INT64);
  base = surg__built_binary(b, "Mul", base, surg__bdim_scalar(b, plane_of(&r.s), SURG_INT64));
  r.s.base = upright(&r.s, base, ROI_RANK);
  const surg__built rois = surg__built_cast(b, r.rois, r.type);
  for (uint32_t i = 0; i < 2; i++) at[i] = samples_along(&r, rois, i, &inside[i]);
  surg__built y = sampled(&r.s, at);
  surg__built in = surg__built_binary(b, "And", inside[0], inside[1]);
  in = surg__built_unsqueeze(b, in, ROI_RANK);
  y = surg__built_where(b, in, y, surg__built_scalar(b, r.type, 0));
  for (uint32_t axis = SAMPLE_COLUMN; axis >= SAMPLE_ROW; axis--)
    y = surg__built_reduce(b, r.s.largest ? "ReduceMax" : "ReduceSum", y, axis, false);
  if (!r.s.largest) y = number(&r.s, "Div", y, (double)(r.samples * r.samples));
  y = surg__built_transpose(b, y, channels_second);
  surg__built_result(b, "y", surg__built_cast(b, y, r.x.dtype));
  return b->status;
}

/* --- deformable attention over images of several sizes --- */

#define MOST_LEVELS 16u

typedef struct levels {
  surg__builder *b;
  surg__built value, at, weight; /* [B,S,M,D], [B,Q,M,L,P,2], [B,Q,M,L,P] */
  size_t n;
  int64_t size[MOST_LEVELS][2];
} levels;

static bool read_levels(levels *l) {
  surg__builder *b = l->b;
  surg_elem e[2 * MOST_LEVELS];
  if (!surg__built_get(b, "v", &l->value) || !surg__built_get(b, "at", &l->at) ||
      !surg__built_get(b, "w", &l->weight) || l->value.rank != 4 || l->at.rank != 6 ||
      l->weight.rank != 5 || l->value.dtype != SURG_FLOAT || l->at.dtype != SURG_FLOAT ||
      l->weight.dtype != SURG_FLOAT)
    return false;
  const int64_t count = surg__known_elements(surg__b_get(b, "sizes"), e, SURG_COUNT(e));
  if (count < 2 || count % 2 || l->at.d[3].n != count / 2 || l->weight.d[3].n != count / 2)
    return false;
  l->n = (size_t)count / 2;
  int64_t all = 0;
  for (size_t i = 0; i < l->n; i++) {
    for (size_t k = 0; k < 2; k++) {
      l->size[i][k] = e[2 * i + k].value;
      if (!e[2 * i + k].known || l->size[i][k] < 1 || l->size[i][k] > INT32_MAX) return false;
    }
    int64_t n;
    if (!surg__mul_i64(l->size[i][0], l->size[i][1], &n) || !surg__add_i64(all, n, &all))
      return false;
  }
  /* Levels must be contiguous, as all exporters create them, so the start indices are not read. */
  return l->value.d[1].n == all && l->value.d[2].n > 0 && l->value.d[3].n > 0 &&
         l->at.d[4].n > 0 && l->at.d[5].n == 2 && l->at.d[2].n == l->value.d[2].n;
}

/* One level of x, with heads before queries: [B * M, ...]. */
static surg__built of_level(const levels *l, surg__built x, size_t i) {
  static const int64_t turn[5] = {0, 2, 1, 3, 4};
  surg__builder *b = l->b;
  surg__built y = surg__built_gather(b, x, surg__built_scalar(b, SURG_INT64, (double)i), 3);
  return surg__built_transpose(b, y, turn);
}

/* The samples of one level: [B * M, D, Q]. */
static surg__built level(const levels *l, size_t i, int64_t from, surg__bdim heads) {
  static const int64_t last[4] = {0, 2, 3, 1};
  surg__builder *b = l->b;
  const surg__bdim *v = l->value.d, q = l->at.d[1], p = l->at.d[4];
  const int64_t n = l->size[i][0] * l->size[i][1];
  surg__built x =
      surg__built_slice(b, l->value, 1, surg__bdim_fixed(from), surg__bdim_fixed(from + n));
  x = surg__built_transpose(b, x, last);
  const surg__bdim image[4] = {heads, v[3], surg__bdim_fixed(l->size[i][0]),
                               surg__bdim_fixed(l->size[i][1])};
  x = surg__built_reshape(b, x, image, 4);
  const surg__bdim points[4] = {heads, q, p, surg__bdim_fixed(2)},
                   parts[4] = {heads, surg__bdim_fixed(1), q, p};
  surg__built at = surg__built_reshape(b, of_level(l, l->at, i), points, 4);
  at = surg__built_number(b, "Sub", surg__built_number(b, "Mul", at, 2), 1);
  surg__built y = {.v = surg__b_binary(b, "GridSample", x.v, at.v), .dtype = x.dtype, .rank = 4,
                .d = {heads, v[3], q, p}};
  surg__b_set_string(b, y.v, "mode", b->m->opset >= 20 ? "linear" : "bilinear");
  surg__b_set_string(b, y.v, "padding_mode", "zeros");
  surg__b_set_int(b, y.v, "align_corners", 0);
  const surg__built w = surg__built_reshape(b, of_level(l, l->weight, i), parts, 4);
  return surg__built_reduce(b, "ReduceSum", surg__built_binary(b, "Mul", y, w), 3, false);
}

/* y = MMCVMultiScaleDeformableAttention (v, sizes, starts, at, w) */
static surg_status deformable_attention(surg__builder *b) {
  levels l = {.b = b};
  if (!read_levels(&l)) return SURG_EUNSUPPORTED;
  if (b->m->opset < 16)
    return surg__b_decline(b, "the rewrite requires opset 16");
  const surg__bdim *v = l.value.d, heads = surg__bdim_mul(b, v[0], v[2]);
  const surg__bdim whole[3] = {v[0], surg__bdim_mul(b, v[2], v[3]), l.at.d[1]};
  surg__built sum = {0};
  int64_t from = 0;
  for (size_t i = 0; i < l.n; i++) {
    const surg__built one = level(&l, i, from, heads);
    sum = i ? surg__built_binary(b, "Add", sum, one) : one;
    from += l.size[i][0] * l.size[i][1];
  }
  surg__built_result(b, "y", surg__built_swap(b, surg__built_reshape(b, sum, whole, 3), 1, 2));
  return b->status;
}

const surg__native surg__natives_sample[] = {
    {"ms_deform", deformable_attention, "deformable attention as a GridSample of each level"},
    {"roi_align", roi_align, "RoiAlign as weighted sums of what is gathered"},
    {"grid_sample", grid_sample_to_gather, "GridSample as weighted sums of what is gathered"},
    {"deform_conv", deform_to_gather, "DeformConv as gathered columns and a product"},
    {NULL, NULL, NULL},
};
