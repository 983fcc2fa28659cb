/* SPDX-License-Identifier: Apache-2.0 */
/* The exactness class of an operator's result, relative to other correct implementations: what may
 * change when a node is folded. doc/evaluation.md lists the operators. */
#include "base/context.h"
#include "base/dtype.h"
#include "base/taught.h"
#include "ir/ir.h"

enum { UNKNOWN, EXACT, ULP, STEP, SCATTER };

/* Column `result` of lib/schema/traits.table, which defines the classes. */
static const uint8_t results[SURG_OP_COUNT] = {
#define SURG_TRAIT_RESULT(op, class) [SURG_OP_##op] = class,
#include "schema/traits.gen.h"
#undef SURG_TRAIT_RESULT
};

/* The class that a plugin states for its operator; false: it states none. */
static bool stated(const surg_node *n, surg_exactness *out) {
  if (!n || surg_node_class(n) != SURG_OP_CLASS_CUSTOM) return false;
  const surg__taught_operator *o = surg__taught_find(n->graph->model->ctx, n->domain, n->op_type);
  if (o) *out = (surg_exactness)o->op.exactness;
  return o != NULL;
}

surg_exactness surg_node_result_exactness(const surg_node *n, int dtype) {
  surg_exactness own;
  if (stated(n, &own)) return own;
  const int op = n ? surg_node_op(n) : 0;
  const int result = op > 0 && op < SURG_OP_COUNT ? results[op] : UNKNOWN;
  if (result == STEP) return op == SURG_OP_QuantizeLinear ? SURG_ROUNDING : SURG_APPROX;
  if (dtype && !surg__dtype_is_float(dtype) && dtype != SURG_COMPLEX64 && dtype != SURG_COMPLEX128)
    return SURG_EXACT;
  if (result == EXACT) return SURG_EXACT;
  if (result == SCATTER) {
    const surg_attr *a = surg_node_attr(n, "reduction");
    const bool adds = a && surg_attr_string(a).n && surg_attr_string(a).p[0] != 'n';
    return adds ? SURG_ROUNDING : SURG_EXACT;
  }
  return result == ULP ? SURG_ULP : SURG_ROUNDING;
}
