/* SPDX-License-Identifier: Apache-2.0 */
/* Short names for emissions in C that are formulas. Each call creates a node or a constant and
 * returns its result; native.h and rule.h document them. */
#ifndef SURG_TERMS_H
#define SURG_TERMS_H

#include "rewrite/lower/native.h"

typedef surg_value *val;

/* --- types --- */
static inline const surg_type *type_of(const surg_value *v) {
  const surg_type *t = v ? surg_value_type(v) : NULL;
  return t && surg_type_get_kind(t) == SURG_TYPE_TENSOR ? t : NULL;
}
static inline int dtype_of(const surg_value *v) {
  return surg__b_dtype(v);
}
static inline val no_memory(surg__builder *b) {
  return surg__b_no_memory(b);
}

/* --- constants --- */
static inline val int64s(surg__builder *b, const int64_t *v, const int64_t *dims, size_t rank) {
  return surg__bint_tensor(b, v, dims, rank);
}
static inline val int64(surg__builder *b, int64_t v) {
  return surg__bint(b, v);
}
static inline val numbers(surg__builder *b, int dtype, const double *v, const int64_t *dims,
                          size_t rank) {
  return surg__b_numbers(b, dtype, v, dims, rank);
}
static inline val number(surg__builder *b, int dtype, double v) {
  return surg__b_scalar(b, dtype, v);
}

/* --- nodes --- */
static inline val op2(surg__builder *b, const char *op, val x, val y) {
  return surg__b_binary(b, op, x, y);
}
static inline val cast(surg__builder *b, val x, int to) {
  return surg__b_cast(b, x, to);
}
static inline val where(surg__builder *b, val c, val x, val y) {
  return surg__bint_choose(b, c, x, y);
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
static inline val unsqueeze(surg__builder *b, val x, int64_t axis) {
  return surg__b_over(b, "Unsqueeze", x, &axis, 1);
}
/* Sums over one axis and removes it. */
static inline val reduce_sum(surg__builder *b, val x, int64_t axis) {
  return surg__bint_sum(b, x, axis);
}

#endif
