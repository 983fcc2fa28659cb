/* SPDX-License-Identifier: Apache-2.0 */
/* Replaces a MatMul by a constant matrix whose columns are split afterwards by one MatMul for each
 * part, such as the packed query, key and value of an attention: the inverse of merge-matmuls. An
 * addition of a constant vector between them is split, too.
 *
 *   before: y = MatMul (x, w)   s = Add (y, b)   q, k, v = Split <axis = -1> (s, sizes)
 *   after:  wq, wk, wv = Split <axis = 1> (w, sizes)   bq, bk, bv = Split <axis = 0> (b, sizes)
 *           yq = MatMul (x, wq)   q = Add (yq, bq)   ...
 *
 * `fold` computes the parts of the weights. Weights with other consumers are left alone, because
 * they would be stored twice.
 *
 * Needs sorted, types. Keeps sorted. Rounding: an engine may add the products in another order. */
#include "../util/give.h"
#include "../util/numbers.h"
#include "../util/values.h"

#define PARTS 64 /* most parts of a Split */

typedef struct packed {
  surg_node *product, *sum, *split; /* sum may be NULL */
  surg_value *x, *weights, *bias;
  int64_t sizes[PARTS];
  size_t count;
} packed;

static bool is(const surg_node *n, int op) {
  return n && surg_node_class(n) == SURG_OP_CLASS_BUILTIN && surg_node_op(n) == op;
}

/* Whether v is a constant of that rank that nothing else reads. */
static bool is_own(const surg_value *v, size_t rank) {
  const surg_tensor *t = v ? surg_value_settled(v) : NULL;
  return t && surg_tensor_rank(t) == rank && surg_value_use_count(v, 2) == 1 &&
         !surg_value_is_output(v);
}

/* The node that computes v for one reader only; NULL: something else refers to v. */
static surg_node *only_for(surg_pass_ctx *p, surg_value *v) {
  surg_node *n = v ? surg_value_producer(v, NULL) : NULL;
  if (!n || surg_value_use_count(v, 2) != 1 || surg_value_is_output(v) || surg_value_is_pinned(v) ||
      values_annotated(v) || surg_pass_keeps_value(p, v) || surg_pass_keeps_node(p, n) ||
      surg_node_graph(n) != surg_value_graph(v))
    return NULL;
  return n;
}

/* The sizes of the parts, which all are outputs, along the last axis. */
static bool read_sizes(packed *x) {
  const surg_type *t = surg_value_type(surg_node_input(x->split, 0));
  const int64_t rank = t && surg_type_has_rank(t) ? (int64_t)surg_type_rank(t) : 0;
  const int64_t axis = surg_node_int(x->split, "axis", 0);
  x->count = surg_node_output_count(x->split);
  if (rank < 2 || (axis != -1 && axis != rank - 1) || x->count < 2 || x->count > PARTS)
    return false;
  for (size_t i = 0; i < x->count; i++) {
    const surg_value *v = surg_node_output(x->split, i);
    const surg_type *part = v ? surg_value_type(v) : NULL;
    if (!part || !surg_type_has_rank(part)) return false;
    x->sizes[i] = surg_type_dim(part, (size_t)rank - 1)->value;
    if (x->sizes[i] < 0) return false;
  }
  return true;
}

/* Reads a Split as the end of a packed product. */
static bool read_packed(surg_pass_ctx *p, surg_node *split, packed *x) {
  *x = (packed){.split = split};
  surg_node *n = only_for(p, surg_node_input(split, 0));
  if (is(n, SURG_OP_Add)) {
    const size_t at = is_own(surg_node_input(n, 1), 1);
    x->sum = n;
    x->bias = surg_node_input(n, at);
    n = is_own(x->bias, 1) ? only_for(p, surg_node_input(n, 1 - at)) : NULL;
  }
  if (!is(n, SURG_OP_MatMul) || surg_pass_keeps_node(p, split) || !read_sizes(x)) return false;
  x->product = n;
  x->x = surg_node_input(n, 0);
  x->weights = surg_node_input(n, 1);
  if (!is_own(x->weights, 2)) return false;
  int64_t columns = 0;
  for (size_t i = 0; i < x->count; i++) columns += x->sizes[i];
  const int64_t *dims = surg_tensor_dims(surg_value_settled(x->weights));
  return dims[1] == columns &&
         (!x->bias || surg_tensor_dims(surg_value_settled(x->bias))[0] == columns);
}

static surg_node *split_constant(const packed *x, surg_value *v, int64_t axis) {
  surg_node *n = surg_graph_add_node(surg_node_graph(x->split), x->product, "", "Split", x->count);
  if (!n || surg_node_set_input(n, 0, v) || surg_node_set_int(n, "axis", axis) ||
      numbers_sizes(n, x->sizes, x->count))
    return NULL;
  return n;
}

static surg_node *put(surg_node *before, const char *op, surg_value *a, surg_value *b) {
  surg_node *n = surg_graph_add_node(surg_node_graph(before), before, "", op, 1);
  return n && !surg_node_set_input(n, 0, a) && !surg_node_set_input(n, 1, b) ? n : NULL;
}

static surg_pass_result apart(const packed *x) {
  surg_node *weights = split_constant(x, x->weights, 1);
  surg_node *biases = weights && x->bias ? split_constant(x, x->bias, 0) : NULL;
  if (!weights || (x->bias && !biases)) return SURG_PASS_FAILED;
  for (size_t i = 0; i < x->count; i++) {
    surg_node *n = put(x->split, "MatMul", x->x, surg_node_output(weights, i));
    if (n && biases) n = put(x->split, "Add", surg_node_output(n, 0), surg_node_output(biases, i));
    if (!n || surg_node_take_output(n, 0, surg_node_output(x->split, i)) != SURG_OK)
      return SURG_PASS_FAILED;
  }
  surg_status s = surg_node_erase(x->split);
  if (!s && x->sum) s = surg_node_erase(x->sum);
  if (!s) s = surg_node_erase(x->product);
  return s ? SURG_PASS_FAILED : SURG_PASS_CHANGED;
}

static surg_pass_result run(surg_pass_ctx *p, surg_graph *g) {
  surg_pass_result result = SURG_PASS_UNCHANGED;
  packed x;
  if (!surg_graph_takes_constants(g) || !give_builtin(g, "MatMul") || !give_builtin(g, "Split") ||
      !give_builtin(g, "Add") || surg_graph_opset(g, "") < 9)
    return result;
  for (surg_node *n = surg_graph_first_node(g), *next; n; n = next) {
    next = surg_node_next(n);
    if (!is(n, SURG_OP_Split) || !read_packed(p, n, &x)) continue;
    if (!surg_pass_allows(p, SURG_ROUNDING) || !surg_pass_allow(p)) continue;
    surg_pass_used(p, SURG_ROUNDING);
    surg_pass_count(p, "products", x.count);
    if (apart(&x) == SURG_PASS_FAILED) return SURG_PASS_FAILED;
    result = SURG_PASS_CHANGED;
  }
  return result;
}

const surg_pass surg__pass_split_matmuls = {
    SURG_PASS_HEAD(GRAPH, "split-matmuls", "replace a MatMul with split columns by several"),
    .needs = SURG_FACT_SORTED | SURG_FACT_TYPES,
    .keeps = SURG_FACT_SORTED,
    .exactness = SURG_ROUNDING,
    .run = run,
};
