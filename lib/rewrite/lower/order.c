/* SPDX-License-Identifier: Apache-2.0 */
/* TopK, Compress and ReverseSequence for versions that support fewer types, or require
 * attributes where the model computes inputs. Each element gets its rank by comparisons,
 * and is gathered by it. */
#include "rewrite/lower/terms.h"

#define MOST_ELEMENTS 256 /* size of an axis; each element is compared with all others */

/* [n, n]: whether the column precedes the row. */
static surg_value *earlier(surg__builder *b, int64_t n) {
  assert(n >= 1 && n <= MOST_ELEMENTS);
  const int64_t dims[2] = {n, n};
  double *numbers = surg__arena_array(b->m->arena, (size_t)(n * n) + 1, sizeof *numbers);
  if (!numbers) {
    b->status = SURG_ENOMEM;
    return NULL;
  }
  for (int64_t i = 0; i < n; i++)
    for (int64_t k = 0; k < n; k++) numbers[i * n + k] = k < i;
  surg_value *v = surg__built_numbers(b, SURG_INT64, dims, 2, numbers).v;
  return surg__b_cast(b, v, SURG_BOOL);
}

/* For each p < count, the index of the element whose position is p; on a new last axis. */
static surg__built found(surg__builder *b, surg__built place, surg_value *count) {
  assert(b->status || place.rank > 0);
  const int64_t column[2] = {-1, 1};
  const uint32_t last = place.rank - 1;
  const surg__bdim k = surg__bdim_of(count);
  surg_value *p = surg__bint_reshape(b, surg__built_range(b, k, SURG_INT64).v, column, 2);
  surg__built at = surg__built_unsqueeze(b, place, last);
  at.v = surg__b_cast(b, op2(b, "Equal", at.v, p), SURG_INT64);
  at.v = op2(b, "Mul", at.v, surg__built_range(b, place.d[last], SURG_INT64).v);
  at.d[last] = k;
  return surg__built_reduce(b, "ReduceSum", at, last + 1, false);
}

/* --- TopK --- */

/* For each element of the last axis, the number of elements sorted before it. */
static surg__built places(surg__builder *b, surg__built x, bool largest) {
  const uint32_t last = x.rank - 1;
  const surg__built row = surg__built_unsqueeze(b, x, last),
                    column = surg__built_unsqueeze(b, x, last + 1);
  surg__built before = surg__built_binary(b, largest ? "Greater" : "Less", row, column);
  surg_value *behind = op2(b, largest ? "Less" : "Greater", row.v, column.v);
  surg_value *same = surg__b_unary(b, "Not", op2(b, "Or", before.v, behind));
  same = op2(b, "And", same, earlier(b, x.d[last].n));
  before.v = surg__b_cast(b, op2(b, "Or", before.v, same), SURG_INT64);
  before.dtype = SURG_INT64;
  return surg__built_reduce(b, "ReduceSum", before, last + 1, false);
}

/* The elements of x at these indices of the last axis. */
static surg__built taken(surg__builder *b, surg__built x, surg__built at) {
  assert(b->status || at.rank == x.rank);
  const int64_t any = -1;
  surg__bdim step = surg__bdim_fixed(1);
  surg__built from = at;
  for (uint32_t i = x.rank; i-- > 0;) {
    if (i + 1 < x.rank && x.d[i].n != 1) {
      int64_t dims[SURG__BT_RANK] = {-1, 1, 1, 1, 1, 1, 1, 1};
      surg_value *v = surg__built_range(b, x.d[i], SURG_INT64).v;
      v = op2(b, "Mul", v, surg__bdim_scalar(b, step, SURG_INT64).v);
      from.v = op2(b, "Add", from.v, surg__bint_reshape(b, v, dims, x.rank - i));
    }
    step = surg__bdim_mul(b, step, x.d[i]);
  }
  from.dtype = x.dtype;
  surg_value *data = x.rank == 1 ? x.v : surg__bint_reshape(b, x.v, &any, 1);
  from.v = op2(b, "Gather", data, from.v);
  surg__b_set_int(b, from.v, "axis", 0);
  return from;
}

/* v, i = TopK <axis = a, largest> (x, k) */
static surg_status top_by_place(surg__builder *b) {
  surg__built x;
  const surg_node *n = surg__b_matched(b);
  if (!surg__b_attrs_known(b) || !surg__built_get(b, "x", &x) ||
      surg__b_bad(b, x.rank == 0, "x: expected rank 1 or more") ||
      surg__b_bad(b, x.rank >= SURG__BT_RANK, "x: the rank is above the limit") ||
      surg__b_bad(b, b->m->opset < 9, "the rewrite requires opset 9"))
    return SURG_EUNSUPPORTED;
  int64_t axis = surg_node_int(n, "axis", -1);
  if (axis < 0) axis += x.rank;
  if (surg__b_bad(b, axis < 0, "the axis is out of range") ||
      surg__b_bad(b, axis >= (int64_t)x.rank, "the axis is out of range") ||
      surg__b_bad(b, x.d[axis].n < 1, "x: a size is unknown or 0") ||
      surg__b_bad(b, x.d[axis].n > MOST_ELEMENTS, "x: a size is above the limit of a rewrite"))
    return SURG_EUNSUPPORTED;
  const uint32_t at = (uint32_t)axis, last = x.rank - 1;
  const int64_t one = 1;
  surg_value *k = surg__bint_reshape(b, surg__b_get(b, "k"), &one, 1);
  x = at == last ? x : surg__built_swap(b, x, at, last);
  const surg__built which = found(b, places(b, x, surg_node_int(n, "largest", 1) != 0), k);
  surg__built values = taken(b, x, which), indices = which;
  if (at != last) {
    values = surg__built_swap(b, values, at, last);
    indices = surg__built_swap(b, indices, at, last);
  }
  if (surg__b_get(b, "i")) surg__built_result(b, "i", indices);
  if (surg__b_get(b, "v")) surg__built_result(b, "v", values);
  return b->status;
}

/* --- Compress --- */

/* y = Compress <axis> (x, c) */
static surg_status compress_by_place(surg__builder *b) {
  surg__built x, c;
  const surg_node *n = surg__b_matched(b);
  const bool whole = !surg_node_attr(n, "axis");
  const int64_t any = -1, one = 1;
  if (!surg__b_attrs_known(b) || !surg__built_get(b, "x", &x) || !surg__built_get(b, "c", &c) ||
      surg__b_bad(b, c.rank != 1, "c: expected rank 1") ||
      surg__b_bad(b, c.d[0].n < 1, "c: a size is unknown or 0") ||
      surg__b_bad(b, c.d[0].n > MOST_ELEMENTS, "c: a size is above the limit of a rewrite"))
    return SURG_EUNSUPPORTED;
  int64_t axis = surg_node_int(n, "axis", 0);
  if (axis < 0) axis += x.rank;
  if (surg__b_bad(b, !whole && (axis < 0 || axis >= (int64_t)x.rank), "the axis is out of range"))
    return SURG_EUNSUPPORTED;
  c = surg__built_cast(b, c, SURG_INT64);
  const surg__built before = surg__built_cast(b, (surg__built){.v = earlier(b, c.d[0].n),
                                                      .dtype = SURG_BOOL, .rank = 2,
                                                      .d = {c.d[0], c.d[0]}}, SURG_INT64);
  surg__built place =
      surg__built_reduce(b, "ReduceSum", surg__built_binary(b, "Mul", before, c), 1, false);
  /* Elements that are not selected have the position -1. */
  surg_value *one_more = op2(b, "Add", place.v, surg__bint(b, 1));
  place.v = op2(b, "Mul", one_more, c.v);
  place.v = op2(b, "Sub", place.v, surg__bint(b, 1));
  surg_value *count = surg__bint_reshape(b, surg__bint_sum(b, c.v, 0), &one, 1);
  surg_value *data = whole && x.rank != 1 ? surg__bint_reshape(b, x.v, &any, 1) : x.v;
  surg_value *y = op2(b, "Gather", data, found(b, place, count).v);
  surg__b_set_int(b, y, "axis", whole ? 0 : axis);
  surg__b_result(b, "y", y);
  return b->status;
}

/* --- ReverseSequence --- */

/* y = ReverseSequence <batch_axis, time_axis> (x, l): gathers from the first
 * two axes, flattened. */
static surg_status reverse_by_gather(surg__builder *b) {
  const surg_node *n = surg__b_matched(b);
  const int64_t time = surg_node_int(n, "time_axis", 0), batch = surg_node_int(n, "batch_axis", 1);
  surg__built x, l;
  if (!surg__built_get(b, "x", &x) || !surg__built_get(b, "l", &l) || !surg__b_attrs_known(b) ||
      surg__b_bad(b, x.rank < 2, "x: expected rank 2 or more") ||
      surg__b_bad(b, l.rank != 1, "l: expected rank 1") ||
      surg__b_bad(b, b->m->opset < 9, "the rewrite requires opset 9") ||
      surg__b_bad(b, time < 0, "time_axis: expected 0 or 1") ||
      surg__b_bad(b, time > 1, "time_axis: expected 0 or 1") ||
      surg__b_bad(b, batch != 1 - time, "batch_axis: expected the other axis than time_axis"))
    return SURG_EUNSUPPORTED;
  for (uint32_t k = 0; k < x.rank; k++)
    if (surg__b_bad(b, !surg__bdim_filled(&x.d[k]), "x: a size may be 0"))
      return SURG_EUNSUPPORTED; /* Reshape would copy a dimension for 0 */
  surg__built t = surg__built_range(b, x.d[time], SURG_INT64),
           i = surg__built_range(b, x.d[batch], SURG_INT64);
  l = surg__built_cast(b, l, SURG_INT64);
  if (time == 0)
    t = surg__built_unsqueeze(b, t, 1);
  else
    i = surg__built_unsqueeze(b, i, 1), l = surg__built_unsqueeze(b, l, 1);
  const surg__built inside = surg__built_binary(b, "Less", t, l);
  const surg__built last = surg__built_number(b, "Sub", l, 1);
  const surg__built from = surg__built_where(b, inside, surg__built_binary(b, "Sub", last, t), t);
  const surg__built row = time == 0 ? from : i, place = time == 0 ? i : from;
  const surg__built width = surg__bdim_scalar(b, x.d[1], SURG_INT64);
  const surg__built at =
      surg__built_binary(b, "Add", surg__built_binary(b, "Mul", row, width), place);
  surg__bdim d[SURG__BT_RANK];
  d[0] = surg__bdim_mul(b, x.d[0], x.d[1]);
  for (uint32_t k = 2; k < x.rank; k++) d[k - 1] = x.d[k];
  const surg__built flat = surg__built_reshape(b, x, d, x.rank - 1);
  surg__built_result(b, "y", surg__built_gather(b, flat, at, 0));
  return b->status;
}

const surg__native surg__natives_order[] = {
    {"reverse_by_gather", reverse_by_gather,
     "ReverseSequence as Gather with places that are computed"},
    {"top_by_place", top_by_place, "TopK by counting the elements that precede each one"},
    {"compress_by_place", compress_by_place, "Compress by counting what is kept"},
    {NULL, NULL, NULL},
};
