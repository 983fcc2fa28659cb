/* SPDX-License-Identifier: Apache-2.0 */
/* Operators whose axes the model computes, for versions in which axes are attributes.
 *
 * Whether an axis is selected is never decided by a branch: Reshape converts x to
 * [k0, r0, k1, r1, ...], where of each pair one is the size of the axis and the other 1, and the r
 * axes are reduced. This only needs arithmetic on the vector of sizes. */
#include <math.h>

#include "rewrite/lower/terms.h"

/* --- vectors of int64 --- */

/* [rank]: 1 where the axis is among `axes`, a vector of int64, else 0. Appends an index that
 * matches no axis, so that the reduction is never empty. */
static surg_value *marked(surg__builder *b, surg_value *axes, uint32_t rank) {
  const int64_t none = rank, first = 0;
  surg_value *all = surg__bint_concat(b, axes, surg__b_ints(b, &none, 1), 0);
  surg_value *hits = surg__bint_hits(b, all, rank);
  surg_value *v = surg__b_over(b, "ReduceMax", hits, &first, 1);
  surg__b_set_int(b, v, "keepdims", 0);
  return v;
}

static surg_value *reshape(surg__builder *b, surg_value *x, int64_t rows, int64_t columns) {
  const int64_t dims[2] = {rows, columns};
  return surg__bint_reshape(b, x, dims, columns ? 2 : 1);
}

/* result[i]: how many of flags[0..i] are 1. */
static surg_value *counts(surg__builder *b, surg_value *flags, uint32_t n) {
  double *triangle = surg__arena_array(b->m->arena, (size_t)n * n + 1, sizeof *triangle);
  const int64_t dims[2] = {n, n};
  if (!triangle) {
    b->status = SURG_ENOMEM;
    return NULL;
  }
  for (uint32_t i = 0; i < n; i++)
    for (uint32_t k = 0; k < n; k++) triangle[i * n + k] = k <= i;
  surg_value *t = surg__built_numbers(b, SURG_INT64, dims, 2, triangle).v;
  return surg__bint_sum(b, op2(b, "Mul", t, reshape(b, flags, 1, n)), 1);
}

/* The m of n numbers whose flag is 1. */
static surg_value *picked(surg__builder *b, surg_value *numbers, surg_value *flags, uint32_t n,
                          uint32_t m) {
  assert(m <= n);
  surg_value *place = op2(b, "Mul", counts(b, flags, n), flags); /* counts from 1; 0: not picked */
  surg_value *places = reshape(b, place, 1, n);
  surg_value *at = op2(b, "Equal", places, surg__bint_table(b, 1, m, 1));
  surg_value *hit = surg__b_cast(b, at, SURG_INT64);
  surg_value *row = op2(b, "Mul", hit, reshape(b, numbers, 1, n));
  return surg__bint_sum(b, row, 1);
}

/* --- values bound by the pattern --- */

typedef struct axes_of {
  surg_value *v; /* NULL: absent */
  int64_t n;     /* number of axes; -1: not known */
} axes_of;

/* Reads the axes. False: not a vector of int64 or int32. */
static bool read_axes(surg__builder *b, axes_of *a) {
  surg__built t;
  *a = (axes_of){.v = surg__b_get(b, "a"), .n = -1};
  if (!a->v) return true;
  if (!surg__built_get(b, "a", &t) || t.rank != 1) return false;
  if (t.dtype != SURG_INT64 && t.dtype != SURG_INT32) return false;
  a->n = t.d[0].n;
  return a->n < (int64_t)SURG_LIMIT_RANK;
}

static bool get_number(const surg__builder *b, const char *name, int64_t *out) {
  const surg__rvalue v = surg__b_data(b, name);
  *out = v.one.i;
  return v.kind == SURG__R_INT && v.one.known;
}

/* Whether Reshape can restore the sizes of x. A 0 in its shape copies a dimension; only from opset
 * 14 on allowzero makes it mean 0. */
static bool sizes_can_be_told(const surg__builder *b, const surg__built *x, bool *zeros) {
  *zeros = false;
  for (uint32_t i = 0; i < x->rank; i++)
    if (!surg__bdim_filled(&x->d[i])) *zeros = true;
  return !*zeros || b->m->opset >= 14;
}

static bool is_empty(const surg__built *x) {
  for (uint32_t i = 0; i < x->rank; i++)
    if (x->d[i].n == 0) return true;
  return false;
}

static surg_value *reshaped(surg__builder *b, surg_value *x, surg_value *sizes, bool zeros) {
  surg_value *y = op2(b, "Reshape", x, sizes);
  if (zeros) surg__b_set_int(b, y, "allowzero", 1);
  return y;
}

/* A tensor filled with v; its shape, with `rank` sizes, is computed. */
static surg_value *filled_with(surg__builder *b, int dtype, double v, surg_value *sizes,
                               uint32_t rank) {
  assert(rank <= SURG__BT_RANK);
  if (b->m->opset >= 8) return op2(b, "Expand", surg__b_scalar(b, dtype, v), sizes);
  int64_t ones[SURG__BT_RANK];
  for (uint32_t i = 0; i < rank; i++) ones[i] = 1;
  return op2(b, "Tile", surg__built_numbers(b, dtype, ones, rank, &v).v, sizes);
}

/* --- reductions --- */

/* The result of a reduction over no elements. */
static bool of_nothing(int op, int dtype, double *v) {
  const bool real = surg__dtype_is_float(dtype);
  *v = 0;
  switch (op) {
    case SURG_OP_ReduceSum:
    case SURG_OP_ReduceL1:
    case SURG_OP_ReduceL2:
    case SURG_OP_ReduceSumSquare: return true;
    case SURG_OP_ReduceProd: *v = 1; return true;
    case SURG_OP_ReduceMax:
    case SURG_OP_ReduceLogSum:
    case SURG_OP_ReduceLogSumExp: *v = -(double)INFINITY; return real;
    case SURG_OP_ReduceMin: *v = (double)INFINITY; return real;
    default: return false;
  }
}

typedef struct reduction {
  surg__built x;
  axes_of axes;
  int64_t keep, noop;
  bool zeros;
  double nothing;
  const char *op;
} reduction;

static bool read_reduction(surg__builder *b, reduction *r) {
  const surg_node *n = surg__b_matched(b);
  r->op = surg_node_op_type(n);
  if (!surg__built_get(b, "x", &r->x) || !read_axes(b, &r->axes) || !r->axes.v ||
      !get_number(b, "k", &r->keep) || !get_number(b, "e", &r->noop))
    return false;
  r->keep = r->keep == 1; /* any other number is as 0 */
  r->noop = r->noop == 1;
  if (r->axes.n == 0 && r->noop) return false;
  if (r->axes.n > (int64_t)r->x.rank) return false;
  if (r->axes.n < 0 && !r->keep && b->m->opset < 9) return false; /* no Compress */
  /* With noop_with_empty_axes, empty axes require another computation. */
  if (r->axes.n < 0 && r->noop) return false;
  if (is_empty(&r->x)) return of_nothing(surg_node_op(n), r->x.dtype, &r->nothing);
  return r->x.rank == 0 || r->axes.n == 0 || sizes_can_be_told(b, &r->x, &r->zeros);
}

/* The sizes of the axes that are kept, for keepdims=0. */
static surg_value *kept(surg__builder *b, const reduction *r, surg_value *sizes,
                        surg_value *flags) {
  const uint32_t rank = r->x.rank;
  surg_value *stays = op2(b, "Sub", surg__bint(b, 1), flags);
  if (r->axes.n >= 0) return picked(b, sizes, stays, rank, rank - (uint32_t)r->axes.n);
  surg_value *v = op2(b, "Compress", sizes, surg__b_cast(b, stays, SURG_BOOL));
  surg__b_set_int(b, v, "axis", 0);
  return v;
}

static surg_value *of_all(surg__builder *b, const reduction *r) {
  surg_value *y = surg__b_unary(b, r->op, r->x.v);
  surg__b_set_int(b, y, "keepdims", r->keep);
  return y;
}

/* The shape [k0, r0, k1, r1, ...]; the r axes are reduced. */
static surg_value *in_pairs(surg__builder *b, const reduction *r, surg_value *sizes,
                            surg_value *gone) {
  const uint32_t rank = r->x.rank;
  assert(rank > 0 && rank <= SURG__BT_RANK);
  surg_value *k = op2(b, "Sub", sizes, gone), *g = op2(b, "Add", gone, surg__bint(b, 1));
  surg_value *left = reshape(b, k, rank, 1), *right = reshape(b, g, rank, 1);
  surg_value *both = surg__bint_concat(b, left, right, 1);
  surg_value *x = reshaped(b, r->x.v, reshape(b, both, 2 * (int64_t)rank, 0), r->zeros);
  int64_t odd[SURG__BT_RANK];
  for (uint32_t i = 0; i < rank; i++) odd[i] = 2 * (int64_t)i + 1;
  surg_value *y = surg__b_over(b, r->op, x, odd, rank);
  surg__b_set_int(b, y, "keepdims", 0);
  return y;
}

/* y = Op <keepdims = k, noop_with_empty_axes = e> (x, a) */
static surg_status reduce_axes(surg__builder *b) {
  reduction r = {0};
  surg_value *y;
  if (!read_reduction(b, &r)) return SURG_EUNSUPPORTED;
  if (r.x.rank == 0 || r.axes.n == 0) {
    surg__b_result(b, "y", of_all(b, &r));
    return b->status;
  }
  surg_value *sizes = surg__b_unary(b, "Shape", r.x.v), *axes = surg__bint_wide(b, r.axes.v);
  surg_value *flags = marked(b, axes, r.x.rank);
  if (r.axes.n < 0) { /* no axes means all axes */
    surg_value *count = surg__b_unary(b, "Shape", axes);
    surg_value *none = op2(b, "Equal", count, surg__bint(b, 0));
    flags = op2(b, "Add", flags, surg__b_cast(b, none, SURG_INT64));
  }
  surg_value *gone = op2(b, "Mul", flags, op2(b, "Sub", sizes, surg__bint(b, 1)));
  if (is_empty(&r.x)) {
    surg_value *shape = r.keep ? op2(b, "Sub", sizes, gone) : kept(b, &r, sizes, flags);
    const uint32_t rank = r.keep ? r.x.rank : r.x.rank - (uint32_t)(r.axes.n < 0 ? 0 : r.axes.n);
    y = filled_with(b, r.x.dtype, r.nothing, shape, rank);
  } else {
    y = in_pairs(b, &r, sizes, gone);
    if (!r.keep) y = reshaped(b, y, kept(b, &r, sizes, flags), r.zeros);
  }
  surg__b_result(b, "y", y);
  return b->status;
}

/* --- Squeeze, Unsqueeze --- */

/* y = Squeeze (x, a) */
static surg_status squeeze_axes(surg__builder *b) {
  reduction r = {0};
  if (!surg__built_get(b, "x", &r.x) || !read_axes(b, &r.axes) ||
      surg__b_bad(b, !r.axes.v, "the axes are absent") ||
      surg__b_bad(b, r.axes.n > (int64_t)r.x.rank, "there are more axes than x has") ||
      surg__b_bad(b, r.axes.n < 0 && b->m->opset < 9, "the rewrite requires opset 9") ||
      surg__b_bad(b, !sizes_can_be_told(b, &r.x, &r.zeros),
                  "x: a size may be 0, which requires opset 14"))
    return SURG_EUNSUPPORTED;
  surg_value *sizes = surg__b_unary(b, "Shape", r.x.v);
  surg_value *flags = marked(b, surg__bint_wide(b, r.axes.v), r.x.rank);
  surg__b_result(b, "y", reshaped(b, r.x.v, kept(b, &r, sizes, flags), r.zeros));
  return b->status;
}

/* y = Unsqueeze (x, a). Size i of the result is 1 if axis i is new, else the size of x whose index
 * is the number of old axes before i. */
static surg_status unsqueeze_axes(surg__builder *b) {
  surg__built x;
  axes_of axes;
  bool zeros;
  if (!surg__built_get(b, "x", &x) || !read_axes(b, &axes) ||
      surg__b_bad(b, axes.n < 0, "the number of axes is unknown") ||
      surg__b_bad(b, x.rank + axes.n > SURG__BT_RANK, "x: the rank is above the limit") ||
      surg__b_bad(b, !sizes_can_be_told(b, &x, &zeros),
                  "x: a size may be 0, which requires opset 14"))
    return SURG_EUNSUPPORTED;
  const uint32_t rank = x.rank + (uint32_t)axes.n;
  const int64_t one = 1;
  /* sizes[0] is a 1, used for the new axes; the sizes of x follow. */
  surg_value *front = surg__b_ints(b, &one, 1);
  surg_value *sizes = surg__bint_concat(b, front, surg__b_unary(b, "Shape", x.v), 0);
  surg_value *all = surg__bint(b, 1);
  surg_value *old = op2(b, "Sub", all, marked(b, surg__bint_wide(b, axes.v), rank));
  surg_value *at = op2(b, "Mul", counts(b, old, rank), old);
  surg_value *shape = op2(b, "Gather", sizes, at);
  surg__b_set_int(b, shape, "axis", 0);
  surg__b_result(b, "y", reshaped(b, x.v, shape, zeros));
  return b->status;
}

/* --- Pad --- */

/* y = Pad <mode = m> (x, p, v, a). Axes that are not listed get no padding. */
static surg_status pad_axes(surg__builder *b) {
  surg__built x;
  axes_of axes;
  const surg__rvalue mode = surg__b_data(b, "m");
  if (!surg__built_get(b, "x", &x) || !read_axes(b, &axes) ||
      surg__b_bad(b, !axes.v, "the axes are absent") ||
      surg__b_bad(b, axes.n < 0, "the number of axes is unknown") ||
      surg__b_bad(b, x.rank == 0, "x: expected rank 1 or more") ||
      surg__b_bad(b, mode.kind != SURG__R_STRING, "an attribute is unknown"))
    return SURG_EUNSUPPORTED;
  const int64_t n = axes.n, rank = x.rank;
  const int64_t dims[3] = {1, n, rank}, split[3] = {2, n, 1}, all[1] = {2 * rank};
  surg_value *hits = surg__bint_hits(b, surg__bint_wide(b, axes.v), x.rank);
  surg_value *at = op2(b, "Reshape", hits, surg__b_ints(b, dims, 3));
  surg_value *pads = op2(b, "Reshape", surg__b_get(b, "p"), surg__b_ints(b, split, 3));
  surg_value *full = surg__bint_sum(b, op2(b, "Mul", at, pads), 1);
  surg_value *const in[3] = {x.v, op2(b, "Reshape", full, surg__b_ints(b, all, 1)),
                             surg__b_get(b, "v")};
  surg_value *y = surg__b_node(b, "Pad", in, in[2] ? 3 : 2);
  char *text = surg__arena_array(b->m->arena, mode.s.n + 1, 1);
  if (!text) return SURG_ENOMEM;
  memcpy(text, mode.s.p, mode.s.n);
  text[mode.s.n] = 0;
  surg__b_set_string(b, y, "mode", text);
  surg__b_result(b, "y", y);
  return b->status;
}

#define MOST_HARD 16 /* axes */

/* y = Hardmax <axis> (x) before opset 13 selects one position over all axes from `axis` on:
 * the first one of the largest element. This is the product of one Hardmax per axis: the
 * first part with the largest element along the first axis, within it the first one along the
 * next axis, and so on. */
static surg_status hardmax_by_axes(surg__builder *b) {
  surg_value *x = surg__b_get(b, "x"), *y = NULL;
  const surg_type *t = type_of(x);
  const int64_t rank = t && surg_type_has_rank(t) ? (int64_t)surg_type_rank(t) : 0;
  const surg__rvalue at = surg__b_data(b, "axis");
  int64_t axis = at.kind == SURG__R_INT && at.one.known ? at.one.i : -1 - rank;
  int64_t inner[MOST_HARD];
  if (axis < 0) axis += rank;
  if (surg__b_bad(b, axis < 0, "the axis is out of range") ||
      surg__b_bad(b, axis >= rank, "the axis is out of range") ||
      surg__b_bad(b, rank > MOST_HARD, "it has more parts than a rewrite may list"))
    return SURG_EUNSUPPORTED;
  for (int64_t k = axis; k < rank; k++) {
    const size_t n = (size_t)(rank - 1 - k);
    for (size_t i = 0; i < n; i++) inner[i] = k + 1 + (int64_t)i;
    surg_value *h = surg__b_unary(b, "Hardmax", n ? surg__b_over(b, "ReduceMax", x, inner, n) : x);
    surg__b_set_int(b, h, "axis", k);
    y = y ? mul(b, y, h) : h;
  }
  surg__b_result(b, "y", y);
  return b->status;
}

const surg__native surg__natives_axes[] = {
    {"hardmax_by_axes", hardmax_by_axes, "Hardmax over several axes as a product, one axis each"},
    {"reduce_axes", reduce_axes, "a reduction over axes that the model computes"},
    {"squeeze_axes", squeeze_axes, "Squeeze of axes that the model computes"},
    {"unsqueeze_axes", unsqueeze_axes, "Unsqueeze at axes that the model computes"},
    {"pad_axes", pad_axes, "Pad of axes that the model computes"},
    {NULL, NULL, NULL},
};
