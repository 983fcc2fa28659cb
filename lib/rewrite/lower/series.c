/* SPDX-License-Identifier: Apache-2.0 */
/* Operators along an axis: CumProd as a chain of products, DFT as a product with a constant
 * matrix. Also EyeLike. */
#include <math.h>

#include "base/counted.h"
#include "rewrite/lower/terms.h"

/* --- CumProd --- */

#define MOST_PARTS 256u      /* along the axis */
#define MOST_ELEMENTS 65536u /* of x */
#define MOST_AXES 4u         /* candidates, if the model computes the axis */

/* Cumulative products along an axis, part by part; an exclusive product starts with `ones`. */
static val products(surg__builder *b, val x, int64_t n, size_t axis, bool exclusive, bool reverse,
                    val ones) {
  val *parts = surg__arena_array(b->m->arena, (size_t)n + 1, sizeof(val));
  val so_far = NULL;
  if (!parts) return no_memory(b);
  if (n == 0) return surg__b_unary(b, "Identity", x);
  for (int64_t i = 0; i < n; i++) {
    const int64_t at = reverse ? n - 1 - i : i;
    if (exclusive) parts[at] = so_far ? so_far : ones;
    if (exclusive && i + 1 == n) break;
    val one = gather(b, x, surg__b_ints(b, &at, 1), (int64_t)axis);
    so_far = so_far ? mul(b, so_far, one) : one;
    if (!exclusive) parts[at] = so_far;
  }
  return concat(b, parts, (size_t)n, (int64_t)axis);
}

/* The start of an exclusive product: ones in the shape of a part. */
static val ones_of(surg__builder *b, const surg_type *t, int dtype, size_t axis) {
  const size_t rank = surg_type_rank(t);
  int64_t *dims = surg__arena_array(b->m->arena, rank + 1, sizeof *dims);
  uint64_t count;
  if (!dims) return no_memory(b);
  for (size_t i = 0; i < rank; i++) dims[i] = i == axis ? 1 : surg_type_dim(t, i)->value;
  if (!surg__dims_product(dims, rank, &count)) return no_memory(b);
  double *ones = surg__arena_array(b->m->arena, (size_t)count + 1, sizeof *ones);
  if (!ones) return no_memory(b);
  for (uint64_t i = 0; i < count; i++) ones[i] = 1;
  return numbers(b, dtype, ones, dims, rank);
}

/* Whether the computed axis, which may be negative, is k. */
static val is_axis(surg__builder *b, val axis, int64_t k, int64_t rank) {
  const int dtype = dtype_of(axis);
  const val from_start = number(b, dtype, (double)k);
  const val from_end = number(b, dtype, (double)(k - rank));
  const val counted = equal(b, axis, from_start);
  return either(b, counted, equal(b, axis, from_end));
}

static bool parts_known(const surg_type *t, size_t from, size_t to) {
  uint64_t count;
  if (!surg_type_static(t, &count) || count > MOST_ELEMENTS) return false;
  for (size_t k = from; k < to; k++)
    if (surg_type_dim(t, k)->value > (int64_t)MOST_PARTS) return false;
  return true;
}

/* The possible axes from .. to - 1: the known one, or all. */
static bool which_axes(const surg_value *a, size_t rank, size_t *from, size_t *to) {
  const surg_tensor *t = surg_value_constant(a);
  int64_t axis;
  *from = 0;
  *to = rank;
  const int dtype = dtype_of(a); /* ONNX permits no other, but an invalid model may have one */
  if (dtype != SURG_INT32 && dtype != SURG_INT64) return false;
  if (!t || surg__read_ints(t, &axis, 1) != 1) return rank <= MOST_AXES;
  if (axis < 0) axis += (int64_t)rank;
  *from = (size_t)axis;
  *to = *from + 1;
  return axis >= 0 && axis < (int64_t)rank;
}

static surg_status cum_prod(surg__builder *b) {
  val x = surg__b_get(b, "x"), a = surg__b_get(b, "a"), y = NULL;
  const surg_type *t = type_of(x);
  size_t from, to;
  if (surg__b_bad(b, !t, "the rank of an input is unknown") ||
      surg__b_bad(b, !surg_type_has_rank(t), "the rank of an input is unknown") ||
      !which_axes(a, surg_type_rank(t), &from, &to) ||
      surg__b_bad(b, from == to, "the axis is out of range") ||
      surg__b_bad(b, !parts_known(t, from, to), "the size of the axis is unknown or too large") ||
      surg__b_bad(b, b->m->opset < 9, "the rewrite requires opset 9"))
    return SURG_EUNSUPPORTED;
  const int dtype = surg_type_dtype(t);
  const bool half = dtype == SURG_FLOAT16 || dtype == SURG_BFLOAT16;
  const bool exclusive = surg__b_data(b, "e").one.i != 0, reverse = surg__b_data(b, "r").one.i != 0;
  val in = half ? cast(b, x, SURG_FLOAT) : x;
  for (size_t k = to; k-- > from;) {
    val ones = exclusive ? ones_of(b, t, half ? SURG_FLOAT : dtype, k) : NULL;
    val one = products(b, in, surg_type_dim(t, k)->value, k, exclusive, reverse, ones);
    y = !y ? one : where(b, is_axis(b, a, (int64_t)k, (int64_t)surg_type_rank(t)), one, y);
  }
  surg__b_result(b, "y", half ? cast(b, y, dtype) : y);
  return b->status;
}

/* --- DFT --- */

#define MOST_BASE (1u << 20) /* elements of the DFT matrix */
#define TURN 6.28318530717958647692

/* A transform of `points` of `parts` numbers (1: real, 2: complex) to
 * `out_points` of `out_parts`. */
typedef struct dft {
  int64_t points, parts, out_points, out_parts, length;
  bool inverse, half; /* half: one side of the spectrum is the input or output */
  bool nothing; /* length 0, from an inverse of one point: invalid, no result */
} dft;

static bool dft_form(const surg_node *n, const surg_type *t, size_t axis, const surg_value *length,
                     dft *d) {
  const size_t rank = surg_type_rank(t);
  const int64_t have = surg_type_dim(t, axis)->value;
  *d = (dft){.parts = surg_type_dim(t, rank - 1)->value,
             .inverse = surg_node_int(n, "inverse", 0) != 0,
             .half = surg_node_int(n, "onesided", 0) != 0};
  d->length = d->half && d->inverse ? 2 * (have - 1) : have;
  const surg_tensor *given = length ? surg_value_constant(length) : NULL;
  if (length && (!given || surg__read_ints(given, &d->length, 1) != 1)) return false;
  d->nothing = d->length == 0;
  if (d->nothing) return have > 0;
  if (have < 1 || d->length < 1 || (d->parts != 1 && d->parts != 2)) return false;
  if (d->half && (d->parts == 2) != d->inverse) return false;
  const int64_t side = d->length / 2 + 1, most = d->half && d->inverse ? side : d->length;
  d->points = have < most ? have : most;
  d->out_points = d->half && !d->inverse ? side : d->length;
  d->out_parts = d->half && d->inverse ? 1 : 2;
  uint64_t size;
  const int64_t dims[4] = {d->points, d->parts, d->out_points, d->out_parts};
  return surg__dims_product(dims, 4, &size) && size <= MOST_BASE;
}

/* The cosine and sine of i / n turns; exact for multiples of a quarter turn. */
static void wave(int64_t i, int64_t n, double *c, double *s) {
  static const int8_t quarters[4][2] = {{1, 0}, {0, 1}, {-1, 0}, {0, -1}};
  const double turn = (double)i / (double)n * TURN;
  const bool quarter = 4 * i % n == 0;
  *c = quarter ? quarters[4 * i / n][0] : cos(turn);
  *s = quarter ? quarters[4 * i / n][1] : sin(turn);
}

/* The DFT matrix. Row n * parts + p, column k * out_parts + q: the factor of part p of input point
 * n in part q of output point k. */
static val dft_base(surg__builder *b, const dft *d) {
  const int64_t dims[2] = {d->points * d->parts, d->out_points * d->out_parts};
  double *base = surg__arena_array(b->m->arena, (size_t)(dims[0] * dims[1]), sizeof *base);
  if (!base) return no_memory(b);
  for (int64_t n = 0; n < d->points; n++) {
    for (int64_t k = 0; k < d->out_points; k++) {
      double c, t;
      wave(n * k % d->length, d->length, &c, &t);
      double by = d->inverse ? 1 / (double)d->length : 1;
      if (d->half && d->inverse && n > 0 && 2 * n != d->length) by *= 2; /* counts its conjugate */
      const double s = (d->inverse ? t : -t) * by;
      c *= by;
      double *at = base + n * d->parts * dims[1] + k * d->out_parts;
      at[0] = c;
      if (d->out_parts == 2) at[1] = s;
      if (d->parts == 2) at[dims[1]] = -s;
      if (d->parts == 2 && d->out_parts == 2) at[dims[1] + 1] = c;
    }
  }
  return numbers(b, SURG_DOUBLE, base, dims, 2);
}

/* Transforms along one axis, which is moved to the end, next to the parts. */
static val dft_along(surg__builder *b, val x, const surg_type *t, size_t axis, const dft *d) {
  const size_t rank = surg_type_rank(t);
  int64_t *perm = surg__arena_array(b->m->arena, rank, sizeof *perm);
  int64_t *back = surg__arena_array(b->m->arena, rank, sizeof *back);
  int64_t *dims = surg__arena_array(b->m->arena, rank, sizeof *dims);
  if (!perm || !back || !dims) return no_memory(b);
  size_t k = 0;
  for (size_t i = 0; i + 1 < rank; i++)
    if (i != axis) perm[k++] = (int64_t)i;
  perm[k++] = (int64_t)axis;
  perm[k] = (int64_t)rank - 1;
  for (size_t i = 0; i < rank; i++) {
    back[perm[i]] = (int64_t)i;
    dims[i] = surg_type_dim(t, (size_t)perm[i])->value;
    if (dims[i] < 0) dims[i] = 0; /* Reshape keeps it */
  }
  if (d->points < dims[rank - 2]) {
    int64_t *first = surg__arena_array(b->m->arena, (size_t)d->points, sizeof *first);
    if (!first) return no_memory(b);
    for (int64_t i = 0; i < d->points; i++) first[i] = i;
    x = gather(b, x, surg__b_ints(b, first, (size_t)d->points), (int64_t)axis);
  }
  val y = transpose(b, x, perm, rank);
  dims[rank - 2] = d->points * d->parts;
  y = surg__b_binary(b, "Reshape", y, surg__b_ints(b, dims, rank - 1));
  y = surg__b_binary(b, "MatMul", y, dft_base(b, d));
  dims[rank - 2] = d->out_points;
  dims[rank - 1] = d->out_parts;
  y = surg__b_binary(b, "Reshape", y, surg__b_ints(b, dims, rank));
  return transpose(b, y, back, rank);
}

/* Selects one of the axes from .. to - 1 at run time, if their results have different shapes: the
 * flat results are concatenated, and that of the selected axis is sliced and reshaped. */
static val dft_chosen(surg__builder *b, val x, const surg_type *t, const dft *forms, size_t from,
                      size_t to, val a) {
  const size_t rank = surg_type_rank(t), n = to - from;
  int64_t *shapes = surg__arena_array(b->m->arena, n * rank, sizeof *shapes);
  int64_t ends[MOST_AXES], starts[MOST_AXES], all = 0;
  size_t n_parts = 0;
  val parts[MOST_AXES];
  if (!shapes) return no_memory(b);
  for (size_t k = 0; k < n; k++) {
    int64_t *shape = shapes + k * rank;
    uint64_t count;
    for (size_t i = 0; i + 1 < rank; i++) shape[i] = surg_type_dim(t, i)->value;
    shape[from + k] = forms[k].out_points;
    shape[rank - 1] = forms[k].out_parts;
    if (!forms[k].nothing)
      parts[n_parts++] =
          surg__bint_reshape(b, dft_along(b, x, t, from + k, &forms[k]), &(int64_t){-1}, 1);
    starts[k] = all;
    if (!surg__dims_product(shape, rank, &count) || count > INT64_MAX ||
        !surg__add_i64(all, (int64_t)count, &all))
      return no_memory(b);
    ends[k] = all;
  }
  const int64_t column[2] = {(int64_t)n, 1}, table[2] = {(int64_t)n, (int64_t)rank};
  val ranks = int64(b, (int64_t)rank);
  val at = surg__bint_wrap(b, surg__bint_wide(b, surg__b_single(b, a)), ranks);
  at = sub(b, at, int64(b, (int64_t)from));
  val together = concat(b, parts, n_parts, 0),
      first = gather(b, int64s(b, starts, column, 2), at, 0);
  const val cut[3] = {together, first, gather(b, int64s(b, ends, column, 2), at, 0)};
  val y = surg__b_node(b, "Slice", cut, 3), shape = gather(b, int64s(b, shapes, table, 2), at, 0);
  return surg__b_binary(b, "Reshape", y, shape);
}

/* Whether the sizes are known that matter where the axes from .. to - 1 may be transformed: of one
 * axis its own and the last, else all. None may be 0. */
static bool dft_sized(surg__builder *b, const surg_type *t, size_t from, size_t to) {
  const size_t rank = surg_type_rank(t);
  uint64_t count;
  bool empty = false, known = to - from == 1 || surg_type_static(t, &count);
  for (size_t i = 0; i < rank; i++) {
    const int64_t n = surg_type_dim(t, i)->value;
    empty |= n == 0;
    if ((i == from || i + 1 == rank) && n < 0) known = false;
  }
  return !surg__b_bad(b, !known, "x: sizes are unknown") &&
         !surg__b_bad(b, empty, "x: a size is 0");
}

static surg_status discrete_fourier(surg__builder *b) {
  const surg_node *node = b->m->nodes[b->m->rule->anchor];
  const bool newer = surg_schema_since(surg_node_schema(node)) >= 20;
  val x = surg__b_get(b, "x"), n = surg__b_get(b, "n"), y = NULL;
  val a = newer ? surg__b_get(b, "a") : NULL;
  const surg_type *t = type_of(x);
  dft forms[MOST_AXES];
  size_t from, to;
  bool alike = true, some = false; /* all results have one shape; there is a result */
  if (surg__b_bad(b, !t, "the rank of an input is unknown") ||
      surg__b_bad(b, !surg_type_has_rank(t), "the rank of an input is unknown") ||
      surg__b_bad(b, surg_type_rank(t) < 2, "x: expected rank 2 or more") ||
      surg__b_bad(b, b->m->opset < 9, "the rewrite requires opset 9") || !surg__b_attrs_known(b))
    return SURG_EUNSUPPORTED;
  const size_t rank = surg_type_rank(t);
  int64_t axis = newer ? -2 : surg_node_int(node, "axis", 1);
  if (axis < 0) axis += (int64_t)rank;
  from = (size_t)axis;
  to = from + 1;
  if (surg__b_bad(b, a && !which_axes(a, rank, &from, &to), "the axis is unknown or out of range"))
    return SURG_EUNSUPPORTED;
  if (to == rank && to - from > 1) to--; /* the last axis has the parts of a number */
  if (surg__b_bad(b, to >= rank, "the axis is out of range") ||
      surg__b_bad(b, to <= from, "the axis is out of range") ||
      surg__b_bad(b, to - from > MOST_AXES, "it has more parts than a rewrite may list") ||
      !dft_sized(b, t, from, to))
    return SURG_EUNSUPPORTED;
  for (size_t k = from; k < to; k++) {
    if (surg__b_bad(b, !dft_form(node, t, k, n, &forms[k - from]),
                    "the length of the transform is unknown or unsupported"))
      return SURG_EUNSUPPORTED;
    some = some || !forms[k - from].nothing;
    alike = alike && (to - from == 1 || forms[k - from].out_points == surg_type_dim(t, k)->value);
  }
  if (surg__b_bad(b, !some, "no axis can be transformed") ||
      surg__b_bad(b, !alike && b->m->opset < 11, "the rewrite requires opset 11"))
    return SURG_EUNSUPPORTED;
  x = surg_type_dtype(t) == SURG_DOUBLE ? x : cast(b, x, SURG_DOUBLE);
  if (!alike) y = dft_chosen(b, x, t, forms, from, to, a);
  for (size_t k = to; alike && k-- > from;) {
    val one = dft_along(b, x, t, k, &forms[k - from]);
    y = y ? where(b, is_axis(b, a, (int64_t)k, (int64_t)rank), one, y) : one;
  }
  surg__b_result(b, "y", surg_type_dtype(t) == SURG_DOUBLE ? y : cast(b, y, surg_type_dtype(t)));
  return b->status;
}

/* --- EyeLike --- */

static bool has_one(int64_t dtype) {
  if (dtype == SURG_BOOL || dtype == SURG_FLOAT16 || dtype == SURG_FLOAT || dtype == SURG_DOUBLE)
    return true;
  return dtype > 0 && dtype < SURG_DTYPE_COUNT && surg__dtype_is_int((int)dtype) &&
         surg__dtype_bits((int)dtype) >= 8;
}

static surg_status eye(surg__builder *b) {
  const surg_node *n = surg__b_matched(b);
  val x = surg__b_get(b, "x");
  const surg_type *t = type_of(x);
  uint64_t count;
  if (surg__b_bad(b, !t, "the rank of an input is unknown") ||
      surg__b_bad(b, !surg_type_static(t, &count), "x: sizes are unknown") ||
      surg__b_bad(b, surg_type_rank(t) != 2, "x: expected rank 2") ||
      surg__b_bad(b, count > MOST_ELEMENTS, "it has more parts than a rewrite may list") ||
      !surg__b_attrs_known(b))
    return SURG_EUNSUPPORTED;
  const int64_t dims[2] = {surg_type_dim(t, 0)->value, surg_type_dim(t, 1)->value};
  const int64_t dtype = surg_node_int(n, "dtype", surg_type_dtype(t)), k = surg_node_int(n, "k", 0);
  double *one = surg__arena_array(b->m->arena, (size_t)count + 1, sizeof *one);
  if (surg__b_bad(b, !has_one(dtype), "an element type is unknown or unsupported"))
    return SURG_EUNSUPPORTED;
  if (!one) return SURG_ENOMEM;
  for (int64_t i = 0; i < dims[0]; i++)
    for (int64_t j = 0; j < dims[1]; j++) one[i * dims[1] + j] = j - i == k;
  val y = numbers(b, (int)dtype, one, dims, 2);
  surg__b_result(b, "y", surg__b_unary(b, "Identity", y));
  return b->status;
}

const surg__native surg__natives_series[] = {
    {"eye", eye, "EyeLike of known shape as a constant"},
    {"cum_prod", cum_prod, "the products of the parts of x along an axis"},
    {"dft", discrete_fourier, "the product with a matrix of waves"},
    {NULL, NULL, NULL},
};
