/* SPDX-License-Identifier: Apache-2.0 */
/* Short names for emissions in C that are formulas: every call makes a node, or a constant, and is
 * its result. Where an operator took its axes as an attribute first and as an input later, the
 * opset of the emission decides. */
#ifndef SURG_TERMS_H
#define SURG_TERMS_H

#include "base/dtype.h"
#include "rewrite/rule.h"

typedef surg_value *val;

/* --- what is known --- */
static inline const surg_type *type_of(const surg_value *v) {
  const surg_type *t = v ? surg_value_type(v) : NULL;
  return t && surg_type_get_kind(t) == SURG_TYPE_TENSOR ? t : NULL;
}
static inline int dtype_of(const surg_value *v) {
  const surg_type *t = type_of(v);
  return t ? surg_type_dtype(t) : 0;
}
static inline bool is_whole(int dtype) {
  return surg__dtype_is_signed_int(dtype) || surg__dtype_is_unsigned_int(dtype);
}
static inline val no_memory(surg__builder *b) {
  if (!b->status) b->status = SURG_ENOMEM;
  return NULL;
}

/* --- constants --- */
static inline val int64s(surg__builder *b, const int64_t *v, const int64_t *dims, size_t rank) {
  uint64_t n;
  if (!surg__dims_product(dims, rank, &n)) return no_memory(b);
  uint8_t *raw = surg__arena_array(b->m->arena, (size_t)n + 1, 8);
  if (!raw) return no_memory(b);
  surg__pack(SURG_INT64, (size_t)n, v, raw);
  return surg__b_tensor(b, SURG_INT64, dims, rank, raw, (size_t)n * 8);
}
static inline val int64(surg__builder *b, int64_t v) {
  return int64s(b, &v, NULL, 0);
}
/* Numbers of a type that can hold them. */
static inline val numbers(surg__builder *b, int dtype, const double *v, const int64_t *dims,
                          size_t rank) {
  const size_t size = surg__dtype_bits(dtype) / 8;
  uint64_t n;
  if (!surg__dims_product(dims, rank, &n)) return no_memory(b);
  uint8_t *raw = surg__arena_array(b->m->arena, (size_t)n + 1, size);
  if (!raw) return no_memory(b);
  for (uint64_t i = 0; i < n; i++) {
    const surg__rnum number = {.known = true, .f = v[i]};
    if (!surg__rput_number(dtype, true, &number, raw + i * size)) b->status = SURG_EINTERNAL;
  }
  return surg__b_tensor(b, dtype, dims, rank, raw, (size_t)n * size);
}
static inline val number(surg__builder *b, int dtype, double v) {
  return surg__b_scalar(b, dtype, v);
}

/* --- nodes --- */
static inline val cast(surg__builder *b, val x, int to) {
  val y = surg__b_unary(b, "Cast", x);
  surg__b_set_int(b, y, "to", to);
  return y;
}
static inline val where(surg__builder *b, val c, val x, val y) {
  const val in[3] = {c, x, y};
  return surg__b_node(b, "Where", in, 3);
}
static inline val add(surg__builder *b, val x, val y) {
  return surg__b_binary(b, "Add", x, y);
}
static inline val sub(surg__builder *b, val x, val y) {
  return surg__b_binary(b, "Sub", x, y);
}
static inline val mul(surg__builder *b, val x, val y) {
  return surg__b_binary(b, "Mul", x, y);
}
static inline val divide(surg__builder *b, val x, val y) {
  return surg__b_binary(b, "Div", x, y);
}
static inline val less(surg__builder *b, val x, val y) {
  return surg__b_binary(b, "Less", x, y);
}
static inline val equal(surg__builder *b, val x, val y) {
  return surg__b_binary(b, "Equal", x, y);
}
static inline val either(surg__builder *b, val x, val y) {
  return surg__b_binary(b, "Or", x, y);
}
static inline val gather(surg__builder *b, val x, val at, int64_t axis) {
  val y = surg__b_binary(b, "Gather", x, at);
  surg__b_set_int(b, y, "axis", axis);
  return y;
}
static inline val concat(surg__builder *b, const val *parts, size_t n, int64_t axis) {
  val y = surg__b_node(b, "Concat", parts, n);
  surg__b_set_int(b, y, "axis", axis);
  return y;
}
static inline val transpose(surg__builder *b, val x, const int64_t *perm, size_t rank) {
  val y = surg__b_unary(b, "Transpose", x);
  surg__b_set_ints(b, y, "perm", perm, rank);
  return y;
}
static inline val with_axis(surg__builder *b, const char *op, val x, int64_t axis,
                            int64_t input_from) {
  const bool input = b->m->opset >= input_from;
  val y = input ? surg__b_binary(b, op, x, surg__b_ints(b, &axis, 1)) : surg__b_unary(b, op, x);
  if (!input) surg__b_set_ints(b, y, "axes", &axis, 1);
  return y;
}
static inline val unsqueeze(surg__builder *b, val x, int64_t axis) {
  return with_axis(b, "Unsqueeze", x, axis, 13);
}
/* Of one axis, which goes. */
static inline val reduce_sum(surg__builder *b, val x, int64_t axis) {
  val y = with_axis(b, "ReduceSum", x, axis, 13);
  surg__b_set_int(b, y, "keepdims", 0);
  return y;
}

#endif
