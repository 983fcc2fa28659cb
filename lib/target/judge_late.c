/* SPDX-License-Identifier: Apache-2.0 */
/* Contradictions that an engine may not notice before the node runs. Engines infer shapes as ONNX
 * does: from declared types and operators of the standard. The shape inference of this program also
 * follows loops, branches, calls and operators of engines, so it finds more. */
#include <stdio.h>
#include <string.h>

#include <onnxsurg/ops.h>

#include "base/counted.h"
#include "check/check.h"
#include "ir/ir.h"
#include "target/judge.h"

#define ENTRIES 64 /* most axes that are read */

/* Whether ONNX's inference gives the outputs of the node shapes: not if they depend on elements
 * that other nodes compute, some of which it follows. */
bool surg__judge_is_plain(const surg_node *n) {
  return n->schema && !surg__check_computed(n) && !surg_node_domain(n)[0] &&
         !surg_node_subgraph(n, 0) && surg_node_class(n) != SURG_OP_CLASS_FUNCTION;
}

bool surg__judge_listed(const surg__tlist *list, const surg_node *n) {
  char version[64];
  if (surg_node_domain(n)[0] || !n->schema) return false;
  snprintf(version, sizeof version, "%s-%d", n->op_type, n->schema->since);
  return surg__listed(list, n->op_type) || surg__listed(list, version);
}

/* Whether an entry of `axes`, an attribute or constant input 1, is no axis of input 0. */
static bool has_stray_axis(const surg_node *n) {
  int64_t list[ENTRIES];
  const surg_type *x = surg_value_type(surg_node_input(n, 0));
  const surg_attr *a = surg_node_attr(n, "axes");
  const surg_tensor *c = surg_value_constant(surg_node_input(n, 1));
  const int64_t count = c ? surg__read_ints(c, list, ENTRIES)
                        : a && a->kind == SURG_ATTR_INTS && !a->ref ? (int64_t)a->count
                                                                    : 0;
  if (!x || surg_type_get_kind(x) != SURG_TYPE_TENSOR || !surg_type_has_rank(x)) return false;
  const int64_t rank = (int64_t)surg_type_rank(x);
  for (int64_t i = 0; i < count; i++) {
    const int64_t axis = c ? list[i] : a->u.ints[i];
    if (axis < -rank || axis >= rank) return true;
  }
  return false;
}

static const surg_type *ranked(const surg_value *v) {
  const surg_type *t = surg_value_type(v);
  return t && surg_type_get_kind(t) == SURG_TYPE_TENSOR && surg_type_has_rank(t) ? t : NULL;
}

/* Whether scales or sizes are a scalar, of which only the number of elements is compared, if it is
 * constant, with the rank of input 0. */
static bool has_scalar_scale(const surg_node *n) {
  const surg_type *x = ranked(surg_node_input(n, 0));
  for (size_t i = 1; i < surg_node_input_count(n); i++) {
    const surg_value *v = surg_node_input(n, i);
    const surg_type *t = ranked(v);
    if (!t || surg_type_rank(t)) continue;
    if (surg_type_dtype(t) == SURG_FLOAT && !surg_value_constant(v)) return true;
    if (surg_value_constant(v) && (!x || surg_type_rank(x) == 1)) return true;
  }
  return false;
}

/* Whether the target states that the engine compares no sizes of two matrices here, or no axes. */
static bool is_unread(const surg__target *t, const surg_node *n) {
  bool listed = surg__judge_listed(&t->late, n);
  if (listed && surg_node_op(n) == SURG_OP_Squeeze) return has_stray_axis(n);
  if (listed && surg_node_op(n) == SURG_OP_Resize) return has_scalar_scale(n);
  for (size_t i = 0; listed && i < 2; i++) {
    const surg_type *x = ranked(surg_node_input(n, i));
    listed = x && surg_type_rank(x) == 2;
  }
  return listed;
}

surg__noticed surg__judge_notices(const surg__target *t, const char *code, const surg_node *n) {
  if (strcmp(code, "E203") != 0 && strcmp(code, "W206") != 0) return SURG__NOTICED;
  for (size_t i = 0; i < t->accepts.count; i++)
    if (strcmp(t->accepts.items[i].code, code) == 0)
      return SURG__NOTICED; /* the target states it */
  /* Kernels of other domains compare sizes when the model is loaded. */
  if (code[0] == 'W')
    return !surg_node_domain(n)[0] || surg_node_op(n) == SURG_OP_ml_LinearRegressor
               ? SURG__UNNOTICED
               : SURG__NOTICED;
  return surg__check_late(n) || is_unread(t, n) ? SURG__UNNOTICED : SURG__NOTICED_IF_INFERRED;
}
