/* SPDX-License-Identifier: Apache-2.0 */
/* Integers that the model computes: indices, bounds, sizes. They are vectors of int64 unless noted;
 * a single number is a scalar, which broadcasts with any of them. */
#include "rewrite/lower/native.h"

int surg__b_dtype(const surg_value *v) {
  const surg_type *t = v ? surg_value_type(v) : NULL;
  return t && surg_type_get_kind(t) == SURG_TYPE_TENSOR ? surg_type_dtype(t) : 0;
}

surg_value *surg__b_no_memory(surg__builder *b) {
  if (!b->status) b->status = SURG_ENOMEM;
  return NULL;
}

surg_value *surg__bint(surg__builder *b, int64_t n) {
  return surg__bint_tensor(b, &n, NULL, 0);
}

surg_value *surg__b_cast(surg__builder *b, surg_value *v, int dtype) {
  surg_value *c = surg__b_unary(b, "Cast", v);
  surg__b_set_to(b, c, dtype);
  return c;
}

surg_value *surg__bint_wide(surg__builder *b, surg_value *v) {
  return surg__b_dtype(v) == SURG_INT64 ? v : surg__b_cast(b, v, SURG_INT64);
}

surg_value *surg__bint_concat(surg__builder *b, surg_value *x, surg_value *y, int64_t axis) {
  surg_value *v = surg__b_binary(b, "Concat", x, y);
  surg__b_set_int(b, v, "axis", axis);
  return v;
}

surg_value *surg__bint_reshape(surg__builder *b, surg_value *x, const int64_t *dims, size_t n) {
  return surg__b_binary(b, "Reshape", x, surg__b_ints(b, dims, n));
}

surg_value *surg__b_single(surg__builder *b, surg_value *x) {
  surg__built t;
  return surg__built_of(x, &t) && t.rank == 0 ? x : surg__bint_reshape(b, x, NULL, 0);
}

surg_value *surg__bint_sum(surg__builder *b, surg_value *x, int64_t axis) {
  surg_value *v = surg__b_over(b, "ReduceSum", x, &axis, 1);
  surg__b_set_int(b, v, "keepdims", 0);
  return v;
}

surg_value *surg__bint_tensor(surg__builder *b, const int64_t *numbers, const int64_t *dims,
                            size_t rank) {
  uint64_t n;
  const bool fits = surg__dims_product(dims, rank, &n);
  uint8_t *raw = fits ? surg__arena_array(b->m->arena, (size_t)n + 1, 8) : NULL;
  if (!raw) return surg__b_no_memory(b);
  surg__pack(SURG_INT64, (size_t)n, numbers, raw);
  return surg__b_tensor(b, SURG_INT64, dims, rank, raw, (size_t)n * 8);
}

surg_value *surg__bint_table(surg__builder *b, int64_t from, uint32_t rows, uint32_t columns) {
  const int64_t dims[2] = {rows, columns};
  const size_t n = (size_t)rows * columns;
  int64_t *numbers = surg__arena_array(b->m->arena, n + 1, sizeof *numbers);
  if (!numbers) return surg__b_no_memory(b);
  for (size_t i = 0; i < n; i++) numbers[i] = from + (int64_t)i;
  return surg__bint_tensor(b, numbers, dims, 2);
}

surg_value *surg__bint_hits(surg__builder *b, surg_value *axes, uint32_t rank) {
  const int64_t column[2] = {-1, 1};
  surg_value *a = surg__bint_reshape(b, axes, column, 2);
  surg_value *front = surg__b_binary(b, "Equal", a, surg__bint_table(b, 0, 1, rank));
  surg_value *back =
      surg__b_binary(b, "Equal", a, surg__bint_table(b, -(int64_t)rank, 1, rank));
  return surg__b_cast(b, surg__b_binary(b, "Or", front, back), SURG_INT64);
}

surg_value *surg__bint_at(surg__builder *b, surg_value *v, int64_t i) {
  surg_value *one = surg__b_binary(b, "Gather", v, surg__b_ints(b, &i, 1));
  surg__b_set_int(b, one, "axis", 0);
  return one;
}

surg_value *surg__bint_choose(surg__builder *b, surg_value *c, surg_value *x, surg_value *y) {
  surg_value *const in[3] = {c, x, y};
  return surg__b_node(b, "Where", in, 3);
}

surg_value *surg__bint_wrap(surg__builder *b, surg_value *x, surg_value *n) {
  surg_value *negative = surg__b_binary(b, "Less", x, surg__bint(b, 0));
  return surg__bint_choose(b, negative, surg__b_binary(b, "Add", x, n), x);
}

surg_value *surg__bint_least(surg__builder *b, surg_value *x, surg_value *y) {
  return surg__bint_choose(b, surg__b_binary(b, "Less", y, x), y, x);
}

surg_value *surg__bint_most(surg__builder *b, surg_value *x, surg_value *y) {
  return surg__bint_choose(b, surg__b_binary(b, "Less", x, y), y, x);
}

surg__bdim surg__bdim_of(surg_value *v) {
  return (surg__bdim){.n = -1, .v = v, .dim = {.value = -1}};
}

/* --- counting --- */

/* A Loop that only collects its iteration number. Before opset 9 no other operator produces a
 * number of elements that the model computes. Its body needs a loop-carried value. */
static surg_value *looped(surg__builder *b, surg_value *n) {
  surg_model *m = b->m->m;
  surg_value *const in[3] = {n, NULL, surg__bint(b, 0)};
  surg_value *carried = surg__b_node(b, "Loop", in, 3);
  if (b->status) return NULL;
  surg_node *loop = surg_value_producer(carried, NULL);
  surg_value *out = surg_node_add_output(loop, 1);
  const char *name = out ? surg__rname(b->m, "numbers") : NULL;
  surg_graph *body = name && !surg_value_rename(out, name)
                         ? surg_node_set_graph(loop, "body", surg__rname(b->m, "body"))
                         : NULL;
  static const struct {
    const char *word;
    int dtype;
  } inputs[3] = {{"number", SURG_INT64}, {"go_on", SURG_BOOL}, {"state", SURG_INT64}};
  static const unsigned gives[3] = {1, 2, 0}; /* the condition, the state, the iteration number */
  surg_value *given[3] = {NULL};
  surg_status s = body ? SURG_OK : SURG_ENOMEM;
  for (size_t i = 0; i < 3 && !s; i++) {
    const surg_type *t = surg_type_tensor(m, inputs[i].dtype, NULL, 0);
    const char *wish = surg__rname(b->m, inputs[i].word);
    given[i] = t && wish ? surg_graph_add_input(body, wish, t) : NULL;
    if (!given[i]) s = SURG_ENOMEM;
  }
  for (size_t i = 0; i < 3 && !s; i++) {
    const surg_type *t = surg_type_tensor(m, inputs[gives[i]].dtype, NULL, 0);
    surg_node *copy = t ? surg_graph_add_node(body, NULL, "", "Identity", 1) : NULL;
    name = copy ? surg__rname(b->m, inputs[gives[i]].word) : NULL;
    s = name ? surg_node_set_input(copy, 0, given[gives[i]]) : SURG_ENOMEM;
    if (!s) s = surg_value_rename(surg_node_output(copy, 0), name);
    if (!s) s = surg_graph_add_output(body, surg_node_output(copy, 0), t);
  }
  if (s && !b->status) b->status = s;
  return out;
}

surg_value *surg__b_counting(surg__builder *b, surg_value *n) {
  const int64_t first = 0, one = 1;
  const int64_t opset = b->m->opset;
  if (opset >= 11) {
    surg_value *from = surg__bint(b, 0), *to = surg__bint_reshape(b, n, NULL, 0);
    surg_value *const in[3] = {from, to, surg__bint(b, 1)};
    return surg__b_node(b, "Range", in, 3);
  }
  if (opset < 9) return looped(b, surg__bint_reshape(b, n, NULL, 0));
  /* The indices of n elements that are not 0. */
  surg_value *ones = surg__b_unary(b, "ConstantOfShape", n);
  surg_tensor *t =
      b->status ? NULL : surg_tensor_new_numbers(b->m->m, SURG_INT64, &one, 1, &one, 1);
  surg_node *maker = b->status ? NULL : surg_value_producer(ones, NULL);
  if (maker && (!t || surg_node_set_tensor(maker, "value", t))) b->status = SURG_ENOMEM;
  return surg__b_over(b, "Squeeze", surg__b_unary(b, "NonZero", ones), &first, 1);
}
