/* SPDX-License-Identifier: Apache-2.0 */
/* Judges weights in data files beyond the question whether the engine reads such files: entries
 * that it does not know, and constants that its shape inference reads before the files. */
#include <onnxsurg/ops.h>

#include "base/context.h"
#include "ir/ir.h"
#include "target/judge.h"

static bool is_listed(const surg__tlist *list, const char *key) {
  for (size_t i = 0; i < list->n; i++) {
    const char *item = list->items[i];
    const size_t n = strlen(item);
    if (n && item[n - 1] == '*' ? !strncmp(item, key, n - 1) : !strcmp(item, key)) return true;
  }
  return false;
}

const surg_value *surg__judge_odd_key(const surg__target *t, const surg_graph *g,
                                      const char **key) {
  if (!t->external_keys.n) return NULL;
  for (const surg_value *v = surg_graph_next_value(g, NULL); v; v = surg_graph_next_value(g, v)) {
    const surg_tensor *c = surg_value_initializer(v);
    if (!c || !surg_tensor_is_external(c) || !c->odd_key) continue;
    *key = c->odd_key;
    if (!is_listed(&t->external_keys, *key)) return v;
  }
  return NULL;
}

/* The inputs whose elements ONNX's shape inference reads, one bit each. */
static unsigned shape_inputs(const surg_node *n) {
  switch (surg_node_op(n)) {
    case SURG_OP_ConstantOfShape:
      return 1u;
    case SURG_OP_Range:
      return 7u;
    case SURG_OP_Resize:
      return surg_node_schema(n) && surg_schema_since(surg_node_schema(n)) < 11 ? 2u : 12u;
    case SURG_OP_Slice:
      return 30u;
    case SURG_OP_Expand:
    case SURG_OP_OneHot:
    case SURG_OP_Pad:
    case SURG_OP_Reshape:
    case SURG_OP_Split:
    case SURG_OP_Squeeze:
    case SURG_OP_Tile:
    case SURG_OP_TopK:
    case SURG_OP_Unsqueeze:
    case SURG_OP_Upsample:
    case SURG_OP_ReduceL1:
    case SURG_OP_ReduceL2:
    case SURG_OP_ReduceLogSum:
    case SURG_OP_ReduceLogSumExp:
    case SURG_OP_ReduceMax:
    case SURG_OP_ReduceMean:
    case SURG_OP_ReduceMin:
    case SURG_OP_ReduceProd:
    case SURG_OP_ReduceSum:
    case SURG_OP_ReduceSumSquare:
      return 2u;
    default:
      return 0;
  }
}

void surg__judge_shape_files(surg__judge *j) {
  const unsigned inputs = j->t->shapes_inside ? shape_inputs(j->n) : 0;
  for (size_t i = 0; i < surg_node_input_count(j->n) && inputs >> i; i++) {
    const surg_value *v = surg_node_input(j->n, i);
    const surg_tensor *c = inputs >> i & 1 ? surg_value_constant(v) : NULL;
    if (!c || !surg_tensor_is_external(c)) continue;
    surg__judge_object(j, SURG__ILLEGAL, SURG__C_EXTERNAL, v,
                       "%s, which gives a shape, is in a data file", surg__judge_name(j, v));
    return;
  }
}
