/* SPDX-License-Identifier: Apache-2.0 */
/* AffineGrid, CenterCropPad and Col2Im, equivalent to lib/eval/image/grid.c and
 * lib/eval/image/image.c. Sizes that are inputs may be constants or computed by the model. */
#include "base/counted.h"
#include "rewrite/lower/native.h"

/* --- AffineGrid: multiplies each point of a regular grid by a matrix --- */

/* The coordinates of `size` elements from -1 to 1, in double. */
static surg__built even(surg__builder *b, surg__bdim size, bool corners) {
  if (size.n >= 0 && size.n <= SURG_LIMIT_EMIT_CONSTANT) {
    double *x = surg__arena_array(b->m->arena, (size_t)size.n + 1, sizeof *x);
    for (int64_t i = 0; x && i < size.n; i++)
      x[i] = corners ? (size.n > 1 ? 2 * (double)i / (double)(size.n - 1) - 1 : -1)
                     : (2 * (double)i + 1) / (double)size.n - 1;
    if (x) return surg__built_numbers(b, SURG_DOUBLE, &size.n, 1, x);
    b->status = SURG_ENOMEM;
    return (surg__built){0};
  }
  const surg__built at = surg__built_cast(b, surg__built_range(b, size, SURG_INT64), SURG_DOUBLE);
  surg__built n = surg__bdim_scalar(b, size, SURG_DOUBLE);
  surg__built x = surg__built_number(b, "Mul", at, 2);
  if (!corners) x = surg__built_number(b, "Add", x, 1);
  /* A single element has the coordinate -1. */
  if (corners) n = surg__built_number(b, "Max", surg__built_number(b, "Sub", n, 1), 1);
  return surg__built_number(b, "Sub", surg__built_binary(b, "Div", x, n), 1);
}

static bool read_sizes(surg_value *v, uint32_t n, surg__bdim *sizes) {
  assert(n <= SURG__BT_RANK);
  surg_elem known[SURG__BT_RANK];
  const int64_t count = surg__known_elements(v, known, SURG__BT_RANK);
  surg__built all;
  if (!surg__built_of(v, &all) || all.rank != 1 || all.d[0].n != (int64_t)n) return false;
  for (uint32_t i = 0; i < n; i++) {
    sizes[i] = (surg__bdim){.n = -1, .dim = {.value = -1}};
    if (count != (int64_t)n || !known[i].known) continue;
    if (known[i].value < 0) return false;
    sizes[i] = surg__bdim_fixed(known[i].value);
  }
  return true;
}

/* Replaces sizes that are not known by elements of the value. */
static void ask_sizes(surg__builder *b, surg_value *v, uint32_t n, surg__bdim *sizes) {
  for (int64_t i = 0; i < n; i++) {
    if (sizes[i].n >= 0) continue;
    sizes[i].v = surg__b_binary(b, "Gather", v, surg__b_ints(b, &i, 1));
    surg__b_set_int(b, sizes[i].v, "axis", 0);
  }
}

static surg_status affine_grid_to_sums(surg__builder *b) {
  surg__built theta, sum = {0};
  surg__bdim sizes[5];
  if (!surg__b_attrs_known(b) || !surg__built_get(b, "theta", &theta) ||
      surg__b_bad(b, theta.rank != 3, "theta: expected rank 3"))
    return SURG_EUNSUPPORTED;
  const int64_t n = theta.d[1].n;
  if (surg__b_bad(b, n != 2 && n != 3, "expected 2 or 3 spatial axes") ||
      surg__b_bad(b, theta.d[2].n != n + 1, "theta: expected one column more than rows") ||
      surg__b_bad(b, !surg__dtype_is_float(theta.dtype), "theta: expected floats") ||
      !read_sizes(surg__b_get(b, "size"), (uint32_t)n + 2, sizes))
    return SURG_EUNSUPPORTED;
  const bool corners = surg_node_int(surg__b_matched(b), "align_corners", 0) != 0;
  const int type = theta.dtype == SURG_DOUBLE ? SURG_DOUBLE : SURG_FLOAT;
  ask_sizes(b, surg__b_get(b, "size"), (uint32_t)n + 2, sizes);
  const surg__built wide = surg__built_cast(b, theta, type);
  /* x is the last axis of the grid, but the first column of theta. */
  for (int64_t k = 0; k <= n; k++) {
    surg__bdim column[5] = {theta.d[0]}, line[5];
    for (int64_t i = 1; i < n + 2; i++) column[i] = surg__bdim_fixed(i <= n ? 1 : n);
    surg__built one = surg__built_gather(b, wide, surg__built_scalar(b, SURG_INT64, (double)k), 2);
    one = surg__built_reshape(b, one, column, (uint32_t)n + 2);
    if (k < n) {
      const int64_t axis = n - k; /* of the grid */
      for (int64_t i = 0; i < n + 2; i++)
        line[i] = i == axis ? sizes[axis + 1] : surg__bdim_fixed(1);
      const surg__built at = surg__built_cast(b, even(b, sizes[axis + 1], corners), type);
      one = surg__built_binary(b, "Mul", one, surg__built_reshape(b, at, line, (uint32_t)n + 2));
    }
    sum = sum.v ? surg__built_binary(b, "Add", sum, one) : one;
  }
  surg__built_result(b, "y", surg__built_cast(b, sum, theta.dtype));
  return b->status;
}

/* --- CenterCropPad --- */

typedef struct crop {
  surg__builder *b;
  surg__built x;
  uint32_t n; /* number of axes that change */
  int64_t axes[SURG__BT_RANK];
  surg__built targets; /* new sizes of these axes, a vector */
} crop;

static bool read_crop(crop *c) {
  surg__builder *b = c->b;
  size_t n = 0;
  if (!surg__b_attrs_known(b) || !surg__built_get(b, "x", &c->x) ||
      !surg__built_get(b, "size", &c->targets) || c->targets.rank != 1)
    return false;
  const int64_t *axes = surg_node_ints(surg__b_matched(b), "axes", &n), rank = c->x.rank;
  if (axes && n > SURG__BT_RANK) return false;
  c->n = axes ? (uint32_t)n : c->x.rank;
  for (uint32_t i = 0; i < c->n; i++) {
    c->axes[i] = axes ? axes[i] : (int64_t)i;
    if (c->axes[i] < 0) c->axes[i] += rank;
    if (c->axes[i] < 0 || c->axes[i] >= rank) return false;
    for (uint32_t k = 0; k < i; k++)
      if (c->axes[k] == c->axes[i]) return false;
  }
  assert(c->n <= SURG__BT_RANK);
  return c->targets.d[0].n == (int64_t)c->n && c->n > 0;
}

/* Extends v to all axes of x, with 0 for axes that do not change. */
static surg__built of_all_axes(const crop *c, surg__built v) {
  surg__builder *b = c->b;
  const int64_t zero = 0;
  double from[SURG__BT_RANK];
  for (uint32_t i = 0; i < c->x.rank; i++) from[i] = c->n;
  for (uint32_t i = 0; i < c->n; i++) from[c->axes[i]] = i;
  const surg__built none = {
      .v = surg__b_ints(b, &zero, 1), .dtype = SURG_INT64, .rank = 1, .d = {surg__bdim_fixed(1)}};
  const surg__built both[2] = {v, none};
  const int64_t rank = c->x.rank;
  const surg__built joined = surg__built_concat(b, both, 2, 0);
  return surg__built_gather(b, joined, surg__built_numbers(b, SURG_INT64, &rank, 1, from), 0);
}

/* Crops and pads by constants; no nodes are created where nothing changes. */
static surg_status crop_by_numbers(const crop *c, const surg__bdim *lengths,
                                   const surg__bdim *targets) {
  surg__builder *b = c->b;
  int64_t start[SURG__BT_RANK], end[SURG__BT_RANK], pads[2 * SURG__BT_RANK] = {0};
  bool cuts = false, adds = false;
  for (uint32_t i = 0; i < c->n; i++) {
    const int64_t from = lengths[i].n, to = targets[i].n;
    const int64_t cut = from > to ? from - to : 0, missing = to > from ? to - from : 0;
    start[i] = cut / 2;
    end[i] = start[i] + from - cut;
    pads[c->axes[i]] = missing / 2;
    pads[c->axes[i] + c->x.rank] = missing - missing / 2;
    if (cut) cuts = true;
    if (missing) adds = true;
  }
  surg__built y = c->x;
  if (cuts) {
    surg_value *from = surg__b_ints(b, start, c->n), *to = surg__b_ints(b, end, c->n);
    surg_value *const slice[4] = {y.v, from, to, surg__b_ints(b, c->axes, c->n)};
    y.v = surg__b_node(b, "Slice", slice, 4);
  }
  if (adds) y.v = surg__b_binary(b, "Pad", y.v, surg__b_ints(b, pads, (size_t)2 * c->x.rank));
  surg__built_result(b, "y", y);
  return b->status;
}

static surg_status crop_by_sizes(crop *c, const surg__bdim *lengths) {
  surg__builder *b = c->b;
  const surg__built from = {.v = surg__bdim_vector(b, lengths, c->n),
                         .dtype = SURG_INT64,
                         .rank = 1,
                         .d = {surg__bdim_fixed(c->n)}};
  const surg__built to = surg__built_cast(b, c->targets, SURG_INT64);
  /* The excess of each size, or 0, and the deficit, or 0. */
  const surg__built apart = surg__built_binary(b, "Sub", from, to);
  const surg__built more =
      surg__built_number(b, "Greater", surg__built_cast(b, apart, SURG_DOUBLE), 0);
  const surg__built cut =
      surg__built_binary(b, "Mul", apart, surg__built_cast(b, more, SURG_INT64));
  const surg__built missing = surg__built_binary(b, "Sub", cut, apart);
  const surg__built start = surg__built_number(b, "Div", cut, 2);
  const surg__built end =
      surg__built_binary(b, "Add", start, surg__built_binary(b, "Sub", from, cut));
  const surg__built before = surg__built_number(b, "Div", missing, 2);
  const surg__built behind = surg__built_binary(b, "Sub", missing, before);
  surg_value *const slice[4] = {c->x.v, start.v, end.v, surg__b_ints(b, c->axes, c->n)};
  const surg__built first = of_all_axes(c, before), pads[2] = {first, of_all_axes(c, behind)};
  surg__built y = c->x;
  surg_value *sliced = surg__b_node(b, "Slice", slice, 4);
  y.v = surg__b_binary(b, "Pad", sliced, surg__built_concat(b, pads, 2, 0).v);
  surg__built_result(b, "y", y);
  return b->status;
}

static surg_status crop_to_slice(surg__builder *b) {
  crop c = {.b = b};
  surg__bdim lengths[SURG__BT_RANK], targets[SURG__BT_RANK];
  if (!read_crop(&c) || !read_sizes(c.targets.v, c.n, targets)) return SURG_EUNSUPPORTED;
  bool known = true;
  for (uint32_t i = 0; i < c.n; i++) {
    lengths[i] = c.x.d[c.axes[i]];
    known = known && lengths[i].n >= 0 && targets[i].n >= 0;
  }
  return known ? crop_by_numbers(&c, lengths, targets) : crop_by_sizes(&c, lengths);
}

/* --- Col2Im: each element of the image is the sum of its elements in the columns --- */

#define MOST_AXES 3u

typedef struct columns {
  surg__builder *b;
  surg__built x;
  uint32_t n;
  surg__bdim image[MOST_AXES], block[MOST_AXES], places[MOST_AXES];
  int64_t stride[MOST_AXES], dilation[MOST_AXES], begin[MOST_AXES], end[MOST_AXES];
} columns;

static bool read_numbers(const columns *c, const char *name, int64_t least, int64_t *out,
                         int64_t *behind) {
  size_t n = 0;
  const int64_t *said = surg_node_ints(surg__b_matched(c->b), name, &n);
  if (said && n != (behind ? 2 * c->n : c->n)) return false;
  for (uint32_t i = 0; i < c->n; i++) {
    out[i] = said ? said[i] : least;
    if (behind) behind[i] = said ? said[i + c->n] : least;
    if (out[i] < least || out[i] > INT32_MAX) return false;
    if (behind && (behind[i] < 0 || behind[i] > INT32_MAX)) return false;
  }
  return true;
}

static bool read_columns(columns *c) {
  surg__builder *b = c->b;
  surg__built image;
  if (!surg__b_attrs_known(b) || !surg__built_get(b, "x", &c->x) || c->x.rank != 3 ||
      !surg__built_get(b, "image", &image) || image.rank != 1 || image.d[0].n < 1 ||
      image.d[0].n > MOST_AXES)
    return false;
  c->n = (uint32_t)image.d[0].n;
  const int type = c->x.dtype;
  return (type == SURG_FLOAT || type == SURG_DOUBLE || type == SURG_FLOAT16 ||
          type == SURG_BFLOAT16 || type == SURG_INT32 || type == SURG_INT64) &&
         read_sizes(surg__b_get(b, "image"), c->n, c->image) &&
         read_sizes(surg__b_get(b, "block"), c->n, c->block) &&
         read_numbers(c, "strides", 1, c->stride, NULL) &&
         read_numbers(c, "dilations", 1, c->dilation, NULL) &&
         read_numbers(c, "pads", 0, c->begin, c->end);
}

/* The number of block positions along an axis. */
static surg__bdim places_of(const columns *c, uint32_t i) {
  assert(i < c->n && c->stride[i] > 0 && c->dilation[i] > 0);
  surg__builder *b = c->b;
  const surg__bdim one = surg__bdim_fixed(1);
  const surg__bdim wide = surg__bdim_add(b, c->image[i], surg__bdim_fixed(c->begin[i] + c->end[i]));
  const surg__bdim reach =
      surg__bdim_mul(b, surg__bdim_fixed(c->dilation[i]), surg__bdim_sub(b, c->block[i], one));
  const surg__bdim rest = surg__bdim_sub(b, wide, surg__bdim_add(b, reach, one));
  return surg__bdim_add(b, surg__bdim_div(b, rest, surg__bdim_fixed(c->stride[i])), one);
}

/* Reshapes a vector to axis `axis` of 2n axes; the others have size 1. */
static surg__built along(const columns *c, surg__built x, uint32_t axis) {
  assert(c->n <= MOST_AXES && axis < 2 * c->n);
  surg__bdim d[2 * MOST_AXES];
  for (uint32_t i = 0; i < 2 * c->n; i++) d[i] = i == axis ? x.d[0] : surg__bdim_fixed(1);
  return surg__built_reshape(c->b, x, d, 2 * c->n);
}

/* For axes [image..., block...]: the row of the column element that is added to image element p for
 * block element k; `none` where there is none. */
static surg__built rows_of(const columns *c, surg__bdim none) {
  surg__builder *b = c->b;
  surg__built element = {0}, place = {0}, valid = {0}, all = surg__built_scalar(b, SURG_INT64, 1);
  for (uint32_t i = 0; i < c->n; i++) {
    const surg__built p = along(c, surg__built_range(b, c->image[i], SURG_INT64), i);
    const surg__built k = along(c, surg__built_range(b, c->block[i], SURG_INT64), c->n + i);
    const surg__built padded = surg__built_number(b, "Add", p, (double)c->begin[i]);
    const surg__built reach = surg__built_number(b, "Mul", k, (double)c->dilation[i]);
    const surg__built from = surg__built_binary(b, "Sub", padded, reach);
    const surg__built at = surg__built_number(b, "Div", from, (double)c->stride[i]);
    const surg__built whole = surg__built_binary(
        b, "Equal", surg__built_number(b, "Mul", at, (double)c->stride[i]), from);
    const surg__built start =
        surg__built_number(b, "Greater", surg__built_cast(b, from, SURG_DOUBLE), -1);
    const surg__built at_double = surg__built_cast(b, at, SURG_DOUBLE);
    const surg__built end = surg__bdim_scalar(b, c->places[i], SURG_DOUBLE);
    const surg__built inside = surg__built_binary(b, "Less", at_double, end);
    const surg__built good =
        surg__built_binary(b, "And", whole, surg__built_binary(b, "And", start, inside));
    const surg__built places = surg__bdim_scalar(b, c->places[i], SURG_INT64);
    const surg__built block = surg__bdim_scalar(b, c->block[i], SURG_INT64);
    valid = i ? surg__built_binary(b, "And", valid, good) : good;
    place = i ? surg__built_binary(b, "Add", surg__built_binary(b, "Mul", place, places), at) : at;
    element = i ? surg__built_binary(b, "Add", surg__built_binary(b, "Mul", element, block), k) : k;
    all = surg__built_binary(b, "Mul", all, places);
  }
  const surg__built row =
      surg__built_binary(b, "Add", surg__built_binary(b, "Mul", element, all), place);
  const surg__built in = surg__built_cast(b, valid, SURG_INT64);
  const surg__built out = surg__built_binary(b, "Sub", surg__built_scalar(b, SURG_INT64, 1), in);
  const surg__built found = surg__built_binary(b, "Mul", row, in);
  const surg__built behind = surg__bdim_scalar(b, none, SURG_INT64);
  return surg__built_binary(b, "Add", found, surg__built_binary(b, "Mul", out, behind));
}

static surg_status columns_to_gather(surg__builder *b) {
  columns c = {.b = b};
  if (!read_columns(&c)) return SURG_EUNSUPPORTED;
  const int type = c.x.dtype;
  const bool half = type == SURG_FLOAT16 || type == SURG_BFLOAT16;
  surg__bdim elements = surg__bdim_fixed(1);
  ask_sizes(b, surg__b_get(b, "image"), c.n, c.image);
  ask_sizes(b, surg__b_get(b, "block"), c.n, c.block);
  for (uint32_t i = 0; i < c.n; i++) {
    c.block[i].filled = true; /* an empty block has no columns */
    c.places[i] = places_of(&c, i);
    elements = surg__bdim_mul(b, elements, c.block[i]);
  }
  /* Rows [block elements * positions, batch, channels], followed by one row of zeros. */
  const surg__bdim rows = surg__bdim_mul(b, elements, c.x.d[2]);
  const surg__bdim apart[3] = {c.x.d[0], surg__bdim_div(b, c.x.d[1], elements), rows};
  const surg__bdim zero[3] = {surg__bdim_fixed(1), apart[0], apart[1]};
  const int64_t rows_first[3] = {2, 0, 1};
  surg__built x = surg__built_cast(b, c.x, half ? SURG_FLOAT : type);
  x = surg__built_transpose(b, surg__built_reshape(b, x, apart, 3), rows_first);
  const surg__built both[2] = {x, surg__built_fill(b, x.dtype, 0, zero, 3)};
  x = surg__built_concat(b, both, 2, 0);
  x = surg__built_gather(b, x, rows_of(&c, rows), 0);
  for (uint32_t i = 0; i < c.n; i++) x = surg__built_reduce(b, "ReduceSum", x, c.n, false);
  int64_t perm[2 + MOST_AXES] = {c.n, (int64_t)c.n + 1};
  for (uint32_t i = 0; i < c.n; i++) perm[i + 2] = i;
  x = surg__built_transpose(b, x, perm);
  surg__built_result(b, "y", surg__built_cast(b, x, type));
  return b->status;
}

const surg__native surg__natives_image[] = {
    {"col2im", columns_to_gather, "Col2Im as sums of what is gathered"},
    {"affine_grid", affine_grid_to_sums, "AffineGrid as products with even coordinates"},
    {"center_crop", crop_to_slice, "CenterCropPad as Slice and Pad"},
    {NULL, NULL, NULL},
};
