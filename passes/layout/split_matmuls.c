/* SPDX-License-Identifier: Apache-2.0 */
/* Replaces a MatMul or Gemm by a constant matrix whose columns are split afterwards by one for each
 * part, such as the packed query, key and value of an attention: the inverse of merge-matmuls. An
 * addition of a constant vector between them is split, too, and a Reshape that keeps the columns
 * (GPT-2 flattens the rows for its Gemm) follows each part.
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
  surg_node *product, *sum, *view, *split; /* sum and view may be NULL */
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

/* The size of the last dimension, or -1. */
static int64_t columns_of(const surg_value *v) {
  const surg_type *t = v ? surg_value_type(v) : NULL;
  const size_t rank = t && surg_type_has_rank(t) ? surg_type_rank(t) : 0;
  return rank ? surg_type_dim(t, rank - 1)->value : -1;
}

/* Whether the Reshape keeps the columns, and its shape can be stated for a part of them: a 0 in it
 * means a size of its input, which must not be that of the columns. */
static bool keeps_columns(const surg_node *view) {
  int64_t to[NUMBERS];
  const surg_value *in = surg_node_input(view, 0), *target = surg_node_input(view, 1);
  const int64_t columns = columns_of(in);
  const surg_type *t = surg_value_type(in), *made = surg_value_type(surg_node_output(view, 0));
  if (!target || columns < 0 || columns != columns_of(surg_node_output(view, 0))) return false;
  if (!surg_value_settled(target)) return surg_graph_opset(surg_node_graph(view), "") >= 10;
  const int64_t n = numbers_of(surg_value_settled(target), to, NUMBERS);
  const size_t last = surg_type_rank(t) - 1;
  return n == (int64_t)surg_type_rank(made) && (n - 1 == (int64_t)last || (int64_t)last >= n ||
         to[last] != 0 || surg_node_int(view, "allowzero", 0));
}

/* Reads a Gemm: its columns are those of its second input, or rows if that is transposed. */
static bool read_gemm(packed *x, surg_node *n) {
  x->bias = surg_node_input(n, 2);
  return !x->bias || is_own(x->bias, 1);
}

/* The axis of the weights that has the columns of the product. */
static int64_t axis_of(const packed *x) {
  return is(x->product, SURG_OP_Gemm) && surg_node_int(x->product, "transB", 0) ? 0 : 1;
}

/* Reads a Split as the end of a packed product. */
static bool read_packed(surg_pass_ctx *p, surg_node *split, packed *x) {
  *x = (packed){.split = split};
  surg_node *n = only_for(p, surg_node_input(split, 0));
  if (is(n, SURG_OP_Reshape)) {
    x->view = n;
    if (!keeps_columns(n)) return false;
    n = only_for(p, surg_node_input(n, 0));
  }
  if (is(n, SURG_OP_Add)) {
    const size_t at = is_own(surg_node_input(n, 1), 1);
    x->sum = n;
    x->bias = surg_node_input(n, at);
    n = is_own(x->bias, 1) ? only_for(p, surg_node_input(n, 1 - at)) : NULL;
  }
  if (is(n, SURG_OP_Gemm)) {
    if (x->sum || !read_gemm(x, n)) return false;
  } else if (!is(n, SURG_OP_MatMul)) {
    return false;
  }
  if (surg_pass_keeps_node(p, split) || !read_sizes(x)) return false;
  x->product = n;
  x->x = surg_node_input(n, 0);
  x->weights = surg_node_input(n, 1);
  if (!is_own(x->weights, 2)) return false;
  int64_t columns = 0;
  for (size_t i = 0; i < x->count; i++) columns += x->sizes[i];
  const int64_t *dims = surg_tensor_dims(surg_value_settled(x->weights));
  return dims[axis_of(x)] == columns &&
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

/* The product of one part. */
static surg_node *put_product(const packed *x, surg_value *weights, surg_value *bias) {
  const bool gemm = is(x->product, SURG_OP_Gemm);
  surg_node *n = put(x->split, gemm ? "Gemm" : "MatMul", x->x, weights);
  for (size_t i = 0; gemm && n && i < surg_node_attr_count(x->product); i++)
    if (surg_node_copy_attr(n, surg_node_attr_at(x->product, i)) != SURG_OK) return NULL;
  if (!n || !bias) return n;
  if (gemm) return surg_node_set_input(n, 2, bias) == SURG_OK ? n : NULL;
  return put(x->split, "Add", surg_node_output(n, 0), bias);
}

/* The shape of the Reshape without the columns, computed once: NULL if it is constant. */
static surg_value *put_rows(const packed *x) {
  const int64_t start = 0, end = -1;
  surg_node *n = surg_graph_add_node(surg_node_graph(x->split), x->view, "", "Slice", 1);
  surg_value *from = n ? numbers_vector(n, "start", &start, 1) : NULL;
  surg_value *to = from ? numbers_vector(n, "end", &end, 1) : NULL;
  if (!to || surg_node_set_input(n, 0, surg_node_input(x->view, 1)) ||
      surg_node_set_input(n, 1, from) || surg_node_set_input(n, 2, to))
    return NULL;
  return surg_node_output(n, 0);
}

/* The Reshape of a part with `columns` columns. `rows` as of put_rows. */
static surg_node *put_view(const packed *x, surg_value *v, surg_value *rows, int64_t columns) {
  int64_t to[NUMBERS];
  surg_value *target = NULL;
  if (rows) {
    surg_node *n = put(x->split, "Concat", rows, NULL);
    surg_value *size = n ? numbers_vector(n, "columns", &columns, 1) : NULL;
    if (!size || surg_node_set_input(n, 1, size) || surg_node_set_int(n, "axis", 0)) return NULL;
    target = surg_node_output(n, 0);
  } else {
    const int64_t n = numbers_of(surg_value_settled(surg_node_input(x->view, 1)), to, NUMBERS);
    if (n < 1) return NULL;
    to[n - 1] = columns;
    target = numbers_vector(x->split, "shape", to, (size_t)n);
  }
  surg_node *n = target ? put(x->split, "Reshape", v, target) : NULL;
  const surg_attr *zero = surg_node_attr(x->view, "allowzero");
  return n && (!zero || surg_node_copy_attr(n, zero) == SURG_OK) ? n : NULL;
}

static surg_pass_result apart(const packed *x) {
  const bool computed = x->view && !surg_value_settled(surg_node_input(x->view, 1));
  surg_value *rows = computed ? put_rows(x) : NULL;
  surg_node *weights = split_constant(x, x->weights, axis_of(x));
  surg_node *biases = weights && x->bias ? split_constant(x, x->bias, 0) : NULL;
  if (!weights || (x->bias && !biases) || (computed && !rows)) return SURG_PASS_FAILED;
  for (size_t i = 0; i < x->count; i++) {
    surg_node *n =
        put_product(x, surg_node_output(weights, i), biases ? surg_node_output(biases, i) : NULL);
    if (n && x->view) n = put_view(x, surg_node_output(n, 0), rows, x->sizes[i]);
    if (!n || surg_node_take_output(n, 0, surg_node_output(x->split, i)) != SURG_OK)
      return SURG_PASS_FAILED;
  }
  surg_status s = surg_node_erase(x->split);
  if (!s && x->view) s = surg_node_erase(x->view);
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
    SURG_PASS_HEAD(GRAPH, "split-matmuls", "replace a product with split columns by several"),
    .needs = SURG_FACT_SORTED | SURG_FACT_TYPES,
    .keeps = SURG_FACT_SORTED,
    .exactness = SURG_ROUNDING,
    .run = run,
};
