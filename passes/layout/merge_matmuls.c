/* SPDX-License-Identifier: Apache-2.0 */
/* Merges MatMuls of one value with several constant matrices into one MatMul and a Split of its
 * columns. Additions of constant vectors that follow every one of them are merged too.
 *
 *   before: q = MatMul (x, a)   k = MatMul (x, b)   v = MatMul (x, c)
 *   after:  w = Concat <1> (a, b, c)   y = MatMul (x, w)   q, k, v = Split <-1> (y, sizes)
 *
 * Done only where fewer nodes remain, not counting the Concat of weights, which `fold` computes:
 * for three MatMuls, or for two with additions. Weights with other consumers are left alone,
 * because they would be stored twice. Not part of `simplify`: runtimes match the MatMuls of an
 * attention one by one.
 *
 * Needs sorted, types. Keeps sorted. Rounding: an engine may add the products in another order. */
#include "../util/give.h"
#include "../util/numbers.h"
#include "../util/values.h"

#include <assert.h>

#define BRANCHES 64 /* most MatMuls merged into one */
#define USES 1024   /* most uses of a value that are examined */

typedef struct branch {
  surg_node *product, *last; /* the Add, or else the MatMul */
  surg_value *weights, *bias;
  int64_t columns;
} branch;

static bool is(const surg_node *n, int op) {
  return n && surg_node_class(n) == SURG_OP_CLASS_BUILTIN && surg_node_op(n) == op;
}

static bool nobody_holds(surg_pass_ctx *p, const surg_node *n) {
  const surg_value *v = surg_node_output(n, 0);
  return v && surg_node_output_count(n) == 1 && !surg_pass_keeps_node(p, n) &&
         !surg_value_is_pinned(v) && !values_annotated(v) && !surg_pass_keeps_value(p, v);
}

/* The dimensions of v, if v is a constant of that rank and type with a single use; else NULL. */
static const int64_t *only_here(const surg_value *v, size_t rank, int dtype) {
  const surg_tensor *t = v ? surg_value_settled(v) : NULL;
  if (!t || surg_tensor_rank(t) != rank || surg_tensor_dtype(t) != dtype ||
      surg_value_use_count(v, 2) != 1 || surg_value_is_output(v))
    return NULL;
  return surg_tensor_dims(t);
}

/* Finds the Add of a constant vector that is the only consumer of the MatMul. */
static void find_sum(surg_pass_ctx *p, branch *b, int dtype) {
  assert(b->columns > 0 && b->last == b->product && !b->bias);
  const surg_value *v = surg_node_output(b->product, 0);
  if (surg_value_use_count(v, 2) != 1 || surg_value_is_output(v)) return;
  const surg_use *u = surg_value_first_use(v);
  surg_node *n = surg_use_get_kind(u) == SURG_USE_NODE ? surg_use_node(u) : NULL;
  if (!is(n, SURG_OP_Add) || surg_node_graph(n) != surg_node_graph(b->product) ||
      surg_node_input_count(n) != 2 || !nobody_holds(p, n))
    return;
  surg_value *other = surg_node_input(n, surg_use_index(u) == 0);
  const int64_t *dims = only_here(other, 1, dtype);
  if (!dims || dims[0] != b->columns) return;
  b->bias = other;
  b->last = n;
}

/* Reads a use of x as a branch; false: it is no MatMul by constant weights, or is protected. */
static bool read_branch(surg_pass_ctx *p, const surg_graph *g, const surg_use *u, int dtype,
                        branch *b) {
  surg_node *n = surg_use_get_kind(u) == SURG_USE_NODE ? surg_use_node(u) : NULL;
  if (!is(n, SURG_OP_MatMul) || surg_node_graph(n) != g || surg_use_index(u) != 0 ||
      surg_node_input_count(n) != 2 || !nobody_holds(p, n))
    return false;
  *b = (branch){.product = n, .last = n, .weights = surg_node_input(n, 1)};
  const int64_t *dims = only_here(b->weights, 2, dtype);
  if (!dims || dims[1] < 1) return false;
  b->columns = dims[1];
  find_sum(p, b, dtype);
  return true;
}

/* Collects the MatMuls of x, with their Adds if every one has an Add; returns 0 if merging them
 * would not save nodes. */
static size_t find_branches(surg_pass_ctx *p, const surg_graph *g, const surg_value *x, int dtype,
                            branch *all) {
  size_t count = 0, seen = 0;
  bool sums = true;
  for (const surg_use *u = surg_value_first_use(x); u && ++seen <= USES; u = surg_use_next(u)) {
    if (count == BRANCHES) break;
    assert(count < BRANCHES);
    if (!read_branch(p, g, u, dtype, &all[count])) continue;
    sums = sums && all[count].bias;
    count++;
  }
  for (size_t i = 0; i < count && !sums; i++) {
    all[i].bias = NULL;
    all[i].last = all[i].product;
  }
  return count >= (sums ? 2 : 3) ? count : 0;
}

/* The last axis of x (the columns) and the element type of x. */
static bool last_axis(const surg_value *x, int64_t *axis, int *dtype) {
  const surg_type *t = surg_value_type(x);
  if (!t || surg_type_get_kind(t) != SURG_TYPE_TENSOR || !surg_type_has_rank(t)) return false;
  *axis = (int64_t)surg_type_rank(t) - 1;
  *dtype = surg_type_dtype(t);
  return *axis >= 1;
}

/* Adds a node with up to two inputs before another; returns its output, or NULL. */
static surg_value *put(surg_node *before, const char *op, surg_value *a, surg_value *b) {
  surg_node *n = surg_graph_add_node(surg_node_graph(before), before, "", op, 1);
  if (!n || surg_node_set_input(n, 0, a) || surg_node_set_input(n, 1, b)) return NULL;
  return surg_node_output(n, 0);
}

static surg_value *concat(surg_node *before, const branch *all, size_t count, bool weights) {
  surg_node *n = surg_graph_add_node(surg_node_graph(before), before, "", "Concat", 1);
  surg_status s = n ? surg_node_set_int(n, "axis", weights) : SURG_ENOMEM;
  for (size_t i = 0; i < count && !s; i++)
    s = surg_node_set_input(n, i, weights ? all[i].weights : all[i].bias);
  return s ? NULL : surg_node_output(n, 0);
}

static surg_pass_result join(surg_value *x, branch *all, size_t count, int64_t axis) {
  int64_t sizes[BRANCHES];
  surg_node *first = all[0].product;
  assert(count >= 2 && count <= BRANCHES);
  for (size_t i = 0; i < count; i++) {
    sizes[i] = all[i].columns;
    assert(sizes[i] > 0 && !all[i].bias == !all[0].bias); /* biases for all or for none */
    if (surg_node_before(all[i].product, first)) first = all[i].product;
  }
  surg_value *w = concat(first, all, count, true), *y = w ? put(first, "MatMul", x, w) : NULL;
  surg_value *bias = y && all[0].bias ? concat(first, all, count, false) : NULL;
  if (all[0].bias) y = bias ? put(first, "Add", y, bias) : NULL;
  surg_node *split =
      y ? surg_graph_add_node(surg_node_graph(first), first, "", "Split", 0) : NULL;
  surg_status s = split ? surg_node_set_input(split, 0, y) : SURG_ENOMEM;
  if (!s) s = surg_node_set_int(split, "axis", axis);
  if (!s) s = numbers_sizes(split, sizes, count);
  for (size_t i = 0; i < count && !s; i++) {
    s = surg_node_take_output(split, i, surg_node_output(all[i].last, 0));
    if (!s) s = surg_node_erase(all[i].last);
    if (!s && all[i].last != all[i].product) s = surg_node_erase(all[i].product);
  }
  return s ? SURG_PASS_FAILED : SURG_PASS_CHANGED;
}

/* Merges n with the other MatMuls of the same value. */
static surg_pass_result visit(surg_pass_ctx *p, surg_node *n) {
  branch all[BRANCHES];
  surg_graph *g = surg_node_graph(n);
  surg_value *x = surg_node_input(n, 0);
  int64_t axis;
  int dtype;
  if (!last_axis(x, &axis, &dtype) || !only_here(surg_node_input(n, 1), 2, dtype))
    return SURG_PASS_UNCHANGED;
  const size_t count = find_branches(p, g, x, dtype, all);
  if (count == 0 || !surg_pass_allows(p, SURG_ROUNDING) || !surg_pass_allow(p))
    return SURG_PASS_UNCHANGED;
  surg_pass_used(p, SURG_ROUNDING);
  surg_pass_count(p, "products", count);
  return join(x, all, count, axis);
}

static surg_pass_result run(surg_pass_ctx *p, surg_graph *g) {
  surg_pass_result result = SURG_PASS_UNCHANGED;
  surg_node *before = NULL;
  if (surg_graph_opset(g, "") < 9 || !surg_graph_takes_constants(g) || !give_builtin(g, "MatMul") ||
      !give_builtin(g, "Concat") || !give_builtin(g, "Split") || !give_builtin(g, "Add"))
    return result;
  for (surg_node *n = surg_graph_first_node(g), *next; n; n = next) {
    next = surg_node_next(n);
    before = surg_node_prev(n);
    if (!is(n, SURG_OP_MatMul)) continue;
    const surg_pass_result one = visit(p, n);
    if (one == SURG_PASS_FAILED) return one;
    if (one == SURG_PASS_UNCHANGED) continue;
    result = one;
    /* Nodes after n may be erased; the nodes made in its place need no visit. */
    next = before ? surg_node_next(before) : surg_graph_first_node(g);
  }
  return result;
}

const surg_pass surg__pass_merge_matmuls = {
    SURG_PASS_HEAD(GRAPH, "merge-matmuls", "merge MatMuls of one value with several weights"),
    .needs = SURG_FACT_SORTED | SURG_FACT_TYPES,
    .keeps = SURG_FACT_SORTED,
    .exactness = SURG_ROUNDING,
    .run = run,
};
