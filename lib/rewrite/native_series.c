/* SPDX-License-Identifier: Apache-2.0 */
/* What runs along an axis, spelled out: CumProd as a chain of products. */
#include "rewrite/native.h"
#include "rewrite/terms.h"

/* --- CumProd --- */

#define MOST_PARTS 256u      /* along the axis */
#define MOST_ELEMENTS 65536u /* of x */
#define MOST_AXES 4u         /* tried, where the model computes which it is */

/* Part after part along an axis; `ones` is what an exclusive product starts from. */
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

/* What an exclusive product starts from: ones in the shape of a part. */
static val ones_of(surg__builder *b, const surg_type *t, int dtype, size_t axis) {
  const size_t rank = surg_type_rank(t);
  int64_t *dims = surg__arena_array(b->m->arena, rank + 1, sizeof *dims);
  uint64_t count;
  if (!dims) return no_memory(b);
  for (size_t i = 0; i < rank; i++) dims[i] = i == axis ? 1 : surg_type_dim(t, i).value;
  if (!surg__dims_product(dims, rank, &count)) return no_memory(b);
  double *ones = surg__arena_array(b->m->arena, (size_t)count + 1, sizeof *ones);
  if (!ones) return no_memory(b);
  for (uint64_t i = 0; i < count; i++) ones[i] = 1;
  return numbers(b, dtype, ones, dims, rank);
}

/* Whether the axis is number k, told by its value, which may count from the end. */
static val is_axis(surg__builder *b, val axis, int64_t k, int64_t rank) {
  const int dtype = dtype_of(axis);
  const val from_start = number(b, dtype, (double)k);
  const val from_end = number(b, dtype, (double)(k - rank));
  return either(b, equal(b, axis, from_start), equal(b, axis, from_end));
}

static bool parts_known(const surg_type *t, size_t from, size_t to) {
  uint64_t count;
  if (!surg_type_static(t, &count) || count > MOST_ELEMENTS) return false;
  for (size_t k = from; k < to; k++)
    if (surg_type_dim(t, k).value > (int64_t)MOST_PARTS) return false;
  return true;
}

/* The axes there may be: the one that is known, or all. */
static bool which_axes(const surg_value *a, size_t rank, size_t *from, size_t *to) {
  const surg_tensor *t = surg_value_constant(a);
  int64_t axis;
  *from = 0;
  *to = rank;
  if (!t || surg_tensor_read_ints(t, &axis, 1) != 1) return rank <= MOST_AXES && dtype_of(a);
  if (axis < 0) axis += (int64_t)rank;
  *from = (size_t)axis;
  *to = *from + 1;
  return axis >= 0 && axis < (int64_t)rank;
}

static surg_status cum_prod(surg__builder *b) {
  val x = surg__b_get(b, "x"), a = surg__b_get(b, "a"), y = NULL;
  const surg_type *t = type_of(x);
  size_t from, to;
  if (!t || !surg_type_has_rank(t) || !which_axes(a, surg_type_rank(t), &from, &to) || from == to ||
      !parts_known(t, from, to) || b->m->opset < 9)
    return SURG_EUNSUPPORTED;
  const int dtype = surg_type_dtype(t);
  const bool half = dtype == SURG_FLOAT16 || dtype == SURG_BFLOAT16;
  const bool exclusive = surg__b_data(b, "e").one.i != 0, reverse = surg__b_data(b, "r").one.i != 0;
  val in = half ? cast(b, x, SURG_FLOAT) : x;
  for (size_t k = to; k-- > from;) {
    val ones = exclusive ? ones_of(b, t, half ? SURG_FLOAT : dtype, k) : NULL;
    val one = products(b, in, surg_type_dim(t, k).value, k, exclusive, reverse, ones);
    y = !y ? one : where(b, is_axis(b, a, (int64_t)k, (int64_t)surg_type_rank(t)), one, y);
  }
  surg__b_result(b, "y", half ? cast(b, y, dtype) : y);
  return b->status;
}

const surg__native surg__natives_series[] = {
    {"cum_prod", cum_prod, "the products of the parts of x along an axis"},
    {NULL, NULL, NULL},
};
