/* SPDX-License-Identifier: Apache-2.0 */
/* Part of the fold pass: values of shape computations that inference knows fully or in part.
 *
 *   before: s = Shape (x)   n = Gather (s, 0)   t = Concat (n, {12}, {64})   y = Reshape (x, t)
 *   after:  y = Reshape (x, {-1, 12, 64})
 *
 * A target element becomes 0 where it is proven equal to the dimension that 0 copies, and at most
 * one other element becomes -1. Reshape computes that one from the rest, so the rest must be proven
 * nonzero: a symbol may be 0 unless its range excludes it. A 0 or -1 of the original stays: a
 * dimension of 0 means in the original target what the 0 means in the new one. */
#include "fold.h"
#include "../util/numbers.h"

#include <assert.h>

surg_tensor *fold_known_elements(const fold_state *f, const surg_value *v) {
  const surg_type *type = v ? surg_value_type(v) : NULL;
  uint64_t count;
  if (!type || surg_type_get_kind(type) != SURG_TYPE_TENSOR || !surg_type_static(type, &count) ||
      count > NUMBERS)
    return NULL;
  const size_t rank = surg_type_rank(type);
  surg_elem elems[NUMBERS];
  int64_t known[NUMBERS], dims[64];
  if (rank > 64 || numbers_known(v, elems, (size_t)count) != (int64_t)count) return NULL;
  for (size_t i = 0; i < count; i++) {
    if (!elems[i].known) return NULL;
    known[i] = elems[i].value;
  }
  assert(rank <= 64 && count <= NUMBERS);
  for (size_t i = 0; i < rank; i++) dims[i] = surg_type_dim(type, i)->value;
  return numbers_tensor(f->model, surg_type_dtype(type), dims, rank, known, (size_t)count);
}

/* --- targets of Reshape --- */

static surg_dim dim_of(const surg_elem *e) {
  return (surg_dim){.value = e->known ? e->value : -1, .expr = e->expr};
}

static bool at_least_one(surg_dim d) {
  int64_t low, high;
  if (d.value >= 0) return d.value > 0;
  return surg_dim_range(&d, &low, &high) && low >= 1;
}

/* The constant for element i of the target; false: unknown. *open: it is a new -1; *copy: it is a
 * new 0 that copies the dimension. */
static bool element(const surg_type *x, const surg_elem *e, size_t i, bool zero_copies,
                    int64_t *out, bool *open, bool *copy) {
  if (e->known) {
    *out = e->value;
    return e->value >= -1;
  }
  const surg_dim d = dim_of(e);
  *copy = zero_copies && i < surg_type_rank(x) && surg_dim_equal(&d, surg_type_dim(x, i));
  *open = !*copy;
  *out = *copy ? 0 : -1;
  return *copy || e->expr;
}

/* Fills in the whole constant target; false: impossible. */
static bool target(const surg_type *x, const surg_elem *e, size_t n, bool zero_copies,
                   int64_t *out) {
  size_t opens = 0;
  assert(n > 0 && n <= 64);
  bool rest_full = true; /* and no -1 is in the original */
  for (size_t i = 0; i < n; i++) {
    bool open = false, copy = false;
    if (!element(x, &e[i], i, zero_copies, &out[i], &open, &copy)) return false;
    opens += open;
    if (e[i].known) rest_full = rest_full && e[i].value > 0;
    if (copy) rest_full = rest_full && at_least_one(*surg_type_dim(x, i));
  }
  return opens == 0 || (opens == 1 && rest_full);
}

/* Erases n if it is unused, and then its producers, transitively. */
static bool bury_computation(fold_state *f, surg_node *n) {
  size_t count = 1, capacity = 16;
  surg_node **stack = surg_pass_alloc(f->pass, capacity * sizeof *stack);
  if (!stack) return !(f->failed = true);
  stack[0] = n;
  while (count > 0 && !f->failed) {
    surg_node *top = stack[--count];
    bool used = surg_node_erased(top) || fold_keeps(f, top) || fold_pinned(top);
    for (size_t i = 0; i < surg_node_output_count(top) && !used; i++) {
      const surg_value *v = surg_node_output(top, i);
      used = v && surg_value_first_use(v);
    }
    if (used || surg_node_subgraph(top, 0)) continue;
    size_t inputs = surg_node_input_count(top);
    if (count + inputs > capacity) {
      surg_node **grown = surg_pass_alloc(f->pass, 2 * (count + inputs) * sizeof *grown);
      if (!grown) return !(f->failed = true);
      for (size_t i = 0; i < count; i++) grown[i] = stack[i];
      stack = grown;
      capacity = 2 * (count + inputs);
    }
    assert(count + inputs <= capacity);
    if (!fold_remember_inputs(f, top)) return false;
    for (size_t i = 0; i < inputs; i++) {
      surg_node *p = surg_value_producer(surg_node_input(top, i), NULL);
      if (p && surg_node_graph(p) == surg_node_graph(top)) stack[count++] = p;
    }
    if (surg_node_erase(top) != SURG_OK) return !(f->failed = true);
    fold_bury(f);
  }
  return !f->failed;
}

/* Whether n is the only consumer of s, and s the only output of its producer: the producer is
 * removed, and s can become the constant. */
static bool read_by_one(const fold_state *f, const surg_value *s, const surg_node *producer,
                        const surg_node *n) {
  return surg_value_use_count(s, 2) == 1 && surg_node_output_count(producer) == 1 &&
         surg_node_graph(producer) == surg_node_graph(n) && !fold_keeps(f, producer) &&
         !fold_pinned(producer);
}

/* Makes n read a new constant target. */
static bool read_new(surg_node *n, surg_tensor *t) {
  surg_value *c = surg_graph_constant(surg_node_graph(n), n, NULL, t);
  return c && surg_node_set_input(n, 1, c) == SURG_OK;
}

bool fold_reshape(fold_state *f, surg_node *n) {
  surg_value *x = surg_node_input(n, 0), *s = surg_node_input(n, 1);
  const surg_type *type = x ? surg_value_type(x) : NULL;
  surg_elem elems[64];
  int64_t out[64];
  if (!s || surg_value_constant(s) || !type || !surg_type_has_rank(type)) return false;
  assert(surg_node_op(n) == SURG_OP_Reshape);
  const int64_t count = numbers_known(s, elems, 64);
  const bool zero_copies = surg_node_int(n, "allowzero", 0) == 0;
  surg_node *producer = surg_value_producer(s, NULL);
  if (count < 1 || !producer || fold_keeps(f, n) || surg_node_sheltered(n) ||
      surg_attr_ref(surg_node_attr(n, "allowzero")) ||
      !surg_graph_takes_constants(surg_node_graph(n)) ||
      !target(type, elems, (size_t)count, zero_copies, out))
    return false;
  assert(count <= 64);
  surg_tensor *t = numbers_tensor(f->model, SURG_INT64, &count, 1, out, (size_t)count);
  if (!t) return !(f->failed = true);
  const uint64_t bytes = surg_graph_constant_bytes(surg_node_graph(n), surg_value_name(s), t);
  const bool alone = read_by_one(f, s, producer, n);
  const uint64_t leaving = alone ? fold_leaving(f, producer) : 0;
  const uint64_t grown = bytes > leaving ? bytes - leaving : 0;
  if (grown > f->max_growth)
    return fold_leave(f, n, "a constant target would be larger than its computation");
  if (!fold_may_grow(f, n, grown) || !fold_allow(f)) return false;
  f->changed = true;
  if (!(alone ? surg_value_become_constant(s, t) == SURG_OK : read_new(n, t)))
    return !(f->failed = true);
  fold_count(f, surg_node_op_type(n), grown);
  return bury_computation(f, producer);
}
