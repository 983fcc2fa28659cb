/* SPDX-License-Identifier: Apache-2.0 */
/* The inference rule of each operator, from lib/schema/traits.table. Outputs of an operator without
 * a rule get the element types of its schema, and no shapes. */
#include "infer/rules.h"

static const surg__infer_fn rules[SURG_OP_COUNT] = {
#define SURG_TRAIT_INFER(op, rule) [SURG_OP_##op] = surg__infer_##rule,
#include "schema/traits.gen.h"
#undef SURG_TRAIT_INFER
};
_Static_assert(SURG_COUNT(rules) == SURG_OP_COUNT, "an entry for each operator");

surg__infer_fn surg__infer_find(int op) {
  return op > 0 && op < SURG_OP_COUNT ? rules[op] : NULL;
}
