/* SPDX-License-Identifier: Apache-2.0 */
/* Checks inputs that an importer which propagates the elements of shapes reads as scalars, where
 * ONNX has a list of one element: an element of a Shape that Gather picks by a list of one index,
 * and what is computed from such elements alone. */
#include <onnxsurg/ops.h>

#include "ir/ir.h"
#include "target/judge.h"

#define DEEP 16 /* most nodes of a chain that are followed */

/* What the importer knows of a value: nothing, a list, a scalar. */
typedef enum picked { NOTHING = 0, LIST, SCALAR } picked;

static const surg_node *producer(const surg_value *v) {
  const surg_node *n = v && !surg_value_constant(v) ? surg_value_producer(v, NULL) : NULL;
  return n && !surg_node_domain(n)[0] ? n : NULL;
}

/* Whether the value is a Shape, or one between Casts. */
static bool is_shape(const surg_value *v) {
  const surg_node *n = producer(v);
  for (int i = 0; n && surg_node_op(n) == SURG_OP_Cast && i < DEEP; i++)
    n = producer(surg_node_input(n, 0));
  return n && surg_node_op(n) == SURG_OP_Shape;
}

static bool is_one_index(const surg_value *v) {
  const surg_tensor *t = v ? surg_value_constant(v) : NULL;
  return t && t->rank <= 1 && (!t->rank || t->dims[0] == 1);
}

static picked picked_of(const surg_value *v, int deep) {
  const surg_node *n = producer(v);
  if (!n || deep == DEEP) return NOTHING;
  const surg_value *x = surg_node_input(n, 0);
  switch (surg_node_op(n)) {
    case SURG_OP_Gather:
      return is_shape(x) && is_one_index(surg_node_input(n, 1)) ? SCALAR : NOTHING;
    case SURG_OP_Squeeze:
      return picked_of(x, deep + 1) ? SCALAR : NOTHING;
    case SURG_OP_Unsqueeze:
      return picked_of(x, deep + 1) == SCALAR ? LIST : NOTHING;
    case SURG_OP_Add:
    case SURG_OP_Sub:
    case SURG_OP_Mul:
    case SURG_OP_Div:
      return picked_of(x, deep + 1) == SCALAR &&
                     picked_of(surg_node_input(n, 1), deep + 1) == SCALAR
                 ? SCALAR
                 : NOTHING;
    default:
      return NOTHING;
  }
}

/* Whether the elements of the value are known, as they are where the sizes are fixed. */
static bool is_known(const surg_value *v) {
  surg_elem one;
  size_t n = 0;
  return surg_value_elements(v, &one, 1, &n) == SURG_OK && n == 1 && one.known;
}

bool surg__judge_picked(surg__judge *j) {
  for (size_t i = 0; i < j->f->picked.n; i++) {
    const surg_value *v = surg__judge_formal(j, j->f->picked.items[i], false);
    const surg_type *t = v ? surg_value_type(v) : NULL;
    if (!t || surg_type_get_kind(t) != SURG_TYPE_TENSOR || !surg_type_has_rank(t)) continue;
    if (surg_type_rank(t) != 1 || !is_known(v) || picked_of(v, 0) != SCALAR) continue;
    surg__judge_object(j, SURG__ILLEGAL, SURG__C_CONSTANT, v,
                       "%s is an element of a Shape, which the importer reads as a scalar",
                       surg__judge_name(j, v));
    return false;
  }
  return true;
}
