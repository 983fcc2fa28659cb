/* SPDX-License-Identifier: Apache-2.0 */
/* Whether ONNX Runtime has kernels for nodes of a model. */
#include "schema/kernels.h"

#include "rewrite/lang/rule.h"

static void bind(const surg_schema *s, bool output, size_t i, const surg_value *v, int *bound) {
  const surg__param *formal = surg__schema_formal(s, output, i);
  const surg__type_param *param = formal ? surg__schema_type_param(s, formal) : NULL;
  const surg_type *t = v ? surg_value_type(v) : NULL;
  if (!param || !t || surg_type_get_kind(t) != SURG_TYPE_TENSOR) return;
  const size_t at = (size_t)(param - s->params);
  if (at < SURG__KERNEL_PARAMS) bound[at] = surg_type_dtype(t);
}

bool surg__node_lacks_kernel(const surg_node *n, const surg_schema *s) {
  int bound[SURG__KERNEL_PARAMS] = {0};
  for (size_t i = 0; i < surg_node_input_count(n); i++)
    bind(s, false, i, surg_node_input(n, i), bound);
  for (size_t i = 0; i < surg_node_output_count(n); i++)
    bind(s, true, i, surg_node_output(n, i), bound);
  return surg__kernel_missing(s, bound, SURG__KERNEL_PARAMS);
}

bool surg__match_has_kernels(const surg__match *m) {
  for (uint16_t k = 0; k < m->rule->match.n; k++) {
    const surg_schema *s = m->nodes[k] ? surg_node_schema(m->nodes[k]) : NULL;
    if (s && surg__node_lacks_kernel(m->nodes[k], s)) return false;
  }
  return true;
}
