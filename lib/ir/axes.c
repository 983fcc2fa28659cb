/* SPDX-License-Identifier: Apache-2.0 */
/* What an operator does with the axes of its inputs: column `axes` of lib/schema/traits.table. */
#include "ir/ir.h"

static const struct axes_row {
  uint8_t effect;
  uint8_t since; /* the first opset with this effect */
} effects[SURG_OP_COUNT] = {
#define SURG_TRAIT_AXES(op, effect, since) [SURG_OP_##op] = {SURG_AXES_##effect, since},
#include "schema/traits.gen.h"
#undef SURG_TRAIT_AXES
};

surg_axes_effect surg_node_axes_effect(const surg_node *n) {
  const int op = n ? surg_node_op(n) : 0;
  if (op <= 0 || op >= SURG_OP_COUNT || !effects[op].effect) return SURG_AXES_UNKNOWN;
  if (surg_node_class(n) != SURG_OP_CLASS_BUILTIN || surg_node_nondeterministic(n))
    return SURG_AXES_UNKNOWN;
  for (size_t i = 0; i < surg_node_attr_count(n); i++)
    if (surg_attr_ref(surg_node_attr_at(n, i))) return SURG_AXES_UNKNOWN;
  const int64_t opset = surg_graph_opset(surg_node_graph(n), "");
  return opset < effects[op].since ? SURG_AXES_UNKNOWN : (surg_axes_effect)effects[op].effect;
}
