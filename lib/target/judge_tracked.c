/* SPDX-License-Identifier: Apache-2.0 */
/* Limits of engines that compute shapes themselves during import, differently from ONNX: OpenCV
 * stores a vector that it computes as a column of a matrix, and replaces open dimensions by 0,
 * which becomes 1 where a shape is broadcast. */
#include <onnxsurg/ops.h>

#include "ir/ir.h"
#include "target/judge.h"

static const surg_type *shape_of(const surg_value *v) {
  const surg_type *t = v ? surg_value_type(v) : NULL;
  return t && surg_type_get_kind(t) == SURG_TYPE_TENSOR && surg_type_has_rank(t) ? t : NULL;
}

/* Whether a value computed from constants keeps its rank: the outputs of Cast and Concat do. */
static bool keeps_rank(const surg_value *v) {
  const surg_node *n = surg_value_producer(v, NULL);
  return n && (surg_node_op(n) == SURG_OP_Cast || surg_node_op(n) == SURG_OP_Concat);
}

/* Checks inputs that must not be vectors computed from constants. */
static bool fits_stored(surg__judge *j) {
  for (size_t i = 0; i < j->f->stored.n; i++) {
    const surg_value *v = surg__judge_formal(j, j->f->stored.items[i], false);
    const surg_type *t = shape_of(v);
    if (!v || surg__judge_elements(j, v) || keeps_rank(v)) continue;
    if (surg__judge_constant(j, v) == SURG__NO) continue;
    if (t && (surg_type_rank(t) != 1 || surg_type_dim(t, 0)->value == 1)) continue;
    surg__judge_object(j, t ? SURG__ILLEGAL : SURG__UNKNOWN, SURG__C_CONSTANT, v,
                       "%s is a vector computed from constants; it must be a constant of the model",
                       surg__judge_name(j, v));
    if (t) return false;
  }
  return true;
}

/* Whether Gemm reads operand i of the product transposed; MatMul does not have the attribute. */
static bool turned(const surg_node *n, size_t i) {
  const surg_attr *a = surg_node_attr(n, i == 0 ? "transA" : "transB");
  return a && surg_attr_get_kind(a) == SURG_ATTR_INT && surg_attr_int(a) != 0;
}

/* Checks that the axes that a matrix product sums over have fixed sizes: the last of the first
 * operand, the last but one of the second. */
static void judge_inner(surg__judge *j) {
  for (size_t i = 0; j->f->inner && i < 2 && i < surg_node_input_count(j->n); i++) {
    const surg_value *v = surg_node_input(j->n, i);
    const surg_type *t = shape_of(v);
    const size_t rank = t ? surg_type_rank(t) : 0;
    const bool last = rank == 1 || (i == 0) != turned(j->n, i);
    if (!v || (rank && surg_type_dim(t, last ? rank - 1 : rank - 2)->value >= 0)) continue;
    surg__judge_object(j, SURG__UNKNOWN, SURG__C_DYNAMIC, v,
                       "the size of %s along the axis that is summed over is not known",
                       surg__judge_name(j, v));
    return;
  }
}

/* Whether the inputs of the model have fixed sizes, except the first of three axes or more. */
static bool only_batch_open(const surg_graph *g) {
  for (size_t i = 0; i < surg_graph_input_count(g); i++) {
    const surg_type *t = shape_of(surg_graph_input(g, i));
    if (!t) return false;
    for (size_t k = 0; k < surg_type_rank(t); k++)
      if (surg_type_dim(t, k)->value < 0 && (k || surg_type_rank(t) < 3)) return false;
  }
  return true;
}

static void judge_settled(surg__judge *j) {
  if (!j->f->settled) return;
  const surg_graph *g = surg_node_graph(j->n);
  for (size_t i = 0; i < surg_node_input_count(j->n); i++) {
    const surg_value *v = surg_node_input(j->n, i);
    const surg_type *t = shape_of(v);
    if (!v || surg__judge_elements(j, v) || (t && surg_type_static(t, NULL))) continue;
    if (only_batch_open(surg_model_graph(surg_graph_model(g)))) return;
    surg__judge_object(j, SURG__UNKNOWN, SURG__C_DYNAMIC, v,
                       "%s has no fixed size, and neither has an input of the model",
                       surg__judge_name(j, v));
    return;
  }
}

bool surg__judge_tracked(surg__judge *j) {
  if (!fits_stored(j)) return false;
  judge_inner(j);
  judge_settled(j);
  return true;
}
