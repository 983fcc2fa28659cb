/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the values where a language model is cut from its embeddings and its output projection, by
 * structure: a lookup of integers of an input in a constant table, and a product with a constant
 * matrix that nothing but elementwise nodes and cuts along an axis separate from an output. */
#include <onnxsurg/ops.h>

#include "base/base.h"
#include "base/diag.h"
#include "split/split.h"

#define STEPS 64u /* most nodes between a value and what is looked for */

static bool is(const surg_node *n, int op) {
  return n && surg_node_class(n) == SURG_OP_CLASS_BUILTIN && surg_node_op(n) == op;
}

/* A constant, or computed from one by nodes that read nothing else: a transposed, cast or
 * dequantized weight. */
static bool is_weight(const surg_value *v) {
  for (size_t i = 0; v && i < STEPS; i++) {
    const surg_node *n = surg_value_producer(v, NULL);
    if (surg_value_is_initializer(v) || surg_value_constant(v)) return true;
    if (!n) return false;
    for (size_t k = 1; k < surg_node_input_count(n); k++)
      if (surg_node_input(n, k) && !surg_value_is_initializer(surg_node_input(n, k)) &&
          !surg_value_constant(surg_node_input(n, k)))
        return false;
    v = surg_node_input(n, 0);
  }
  return false;
}

/* Whether nodes that keep all elements in order are all between an integer input and v. */
static bool is_ids(const surg_value *v) {
  for (size_t i = 0; v && i < STEPS; i++) {
    const surg_node *n = surg_value_producer(v, NULL);
    const surg_type *t = surg_value_declared_type(v);
    if (!n)
      return surg_value_is_input(v) && !surg_value_is_initializer(v) && t &&
             (surg_type_dtype(t) == SURG_INT64 || surg_type_dtype(t) == SURG_INT32);
    if (!is(n, SURG_OP_Cast) && !is(n, SURG_OP_Identity) && !is(n, SURG_OP_Reshape) &&
        !is(n, SURG_OP_Unsqueeze) && !is(n, SURG_OP_Squeeze))
      return false;
    v = surg_node_input(n, 0);
  }
  return false;
}

typedef struct finding {
  surg_value **out;
  size_t room, count;
} finding;

static void put(finding *f, surg_value *v) {
  for (size_t i = 0; i < f->count && i < f->room; i++)
    if (f->out[i] == v) return;
  if (f->count < f->room) f->out[f->count] = v;
  f->count++;
}

/* A table of at least two rows of floats. */
static bool is_table(const surg_value *v) {
  const surg_type *t = surg_value_type(v);
  if (!t || surg_type_get_kind(t) != SURG_TYPE_TENSOR || surg_type_rank(t) != 2) return false;
  const surg_dim *rows = surg_type_dim(t, 0);
  return is_weight(v) && (rows->value < 0 || rows->value > 1) && surg_type_dtype(t) != SURG_INT64 &&
         surg_type_dtype(t) != SURG_INT32 && surg_type_dtype(t) != SURG_BOOL;
}

static void find_embeddings(const surg_graph *g, finding *f) {
  for (surg_node *n = surg_graph_first_node(g); n; n = surg_node_next(n))
    if (is(n, SURG_OP_Gather) && surg_node_int(n, "axis", 0) == 0 &&
        is_table(surg_node_input(n, 0)) && is_ids(surg_node_input(n, 1)))
      put(f, surg_node_output(n, 0));
}

/* The first input of the product with a weight that an output is computed from; NULL: none. */
static surg_value *before_product(surg_value *v) {
  for (size_t i = 0; v && i < STEPS; i++) {
    const surg_node *n = surg_value_producer(v, NULL);
    if (!n || surg_node_class(n) != SURG_OP_CLASS_BUILTIN) return NULL;
    surg_value *a = surg_node_input(n, 0), *b = surg_node_input(n, 1);
    const bool product = is(n, SURG_OP_MatMul) || is(n, SURG_OP_Gemm) ||
                         is(n, SURG_OP_ms_MatMulNBits) || is(n, SURG_OP_ms_FusedMatMul);
    if (product) return is_weight(b) && !is_weight(a) ? a : NULL;
    const surg_axes_effect k = surg_node_axes_effect(n);
    if (k == SURG_AXES_BROADCAST && surg_node_input_count(n) == 2 && is_weight(a) != is_weight(b))
      v = is_weight(a) ? b : a;
    else if (k == SURG_AXES_UNARY || k == SURG_AXES_AXIS || k == SURG_AXES_SPLIT ||
             k == SURG_AXES_SLICE || k == SURG_AXES_SQUEEZE || k == SURG_AXES_UNSQUEEZE)
      v = a;
    else
      return NULL;
  }
  return NULL;
}

/* What the projections read, and all other outputs, which are computed before. */
static void find_head(const surg_graph *g, finding *f) {
  const size_t n = surg_graph_output_count(g);
  for (size_t i = 0; i < n; i++) {
    surg_value *v = before_product(surg_graph_output(g, i));
    if (v && surg_value_producer(v, NULL) && surg_value_graph(v) == g) put(f, v);
  }
  for (size_t i = 0; i < n && f->count; i++) {
    surg_value *v = surg_graph_output(g, i);
    if (!before_product(v) && surg_value_producer(v, NULL)) put(f, v);
  }
}

surg_status surg_split_find(surg_model *model, int32_t what, surg_value **out, size_t room,
                            size_t *count) {
  finding f = {.out = out, .room = out ? room : 0};
  if (!model || !count) return SURG_EUSAGE;
  surg_status s = surg_model_infer(model);
  if (s != SURG_OK) return s;
  if (what == SURG_SPLIT_EMBEDDINGS)
    find_embeddings(surg_model_graph(model), &f);
  else
    find_head(surg_model_graph(model), &f);
  *count = f.count;
  if (f.count == 0)
    return surg__error(surg_model_context(model), SURG_ENOTFOUND, surg_model_path(model),
                       what == SURG_SPLIT_EMBEDDINGS
                           ? "no embeddings: no input is looked up in a constant table"
                           : "no head: no output is a product with a constant matrix");
  return f.count > f.room ? SURG_ELIMIT : SURG_OK;
}
