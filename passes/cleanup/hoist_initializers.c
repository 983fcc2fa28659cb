/* SPDX-License-Identifier: Apache-2.0 */
/* Moves initializers of inner graphs to the main graph. There `dedup` merges equal ones of several
 * branches, and `unroll` does not copy them with the body.
 *
 *   before: (x, c) => (y) {
 *             y = If <then_branch = t () => (a) <float w = {1}> { a = Mul (x, w) }, ...> (c) }
 *   after:  (x, c) => (y) <float w = {1}> {
 *             y = If <then_branch = t () => (a) { a = Mul (x, w) }, ...> (c) }
 *
 * Initializers that are inputs or outputs of their graph stay. So do all initializers in functions
 * and below IR version 4, where the outer graph would need Constant nodes, and those that operators
 * outside ONNX or functions read: their kernels may look for constants in their own graph alone.
 * ONNX Runtime 1.22 computes other results with the zero points of a MatMulNBits from the outer
 * graph. Needs nothing. Keeps sorted. Exact. */
#include "hoist_initializers.h"

#include <assert.h>
#include <string.h>

#include "../util/domains.h"
#include "../util/values.h"

/* Whether all readers are operators of ONNX, which have one meaning wherever a constant is. */
static bool standard_readers(const surg_value *v) {
  for (const surg_use *u = surg_value_first_use(v); u; u = surg_use_next(u)) {
    const surg_node *n = surg_use_get_kind(u) == SURG_USE_NODE ? surg_use_node(u) : NULL;
    if (n && (surg_node_class(n) != SURG_OP_CLASS_BUILTIN || !domains_onnx(surg_node_domain(n))))
      return false;
  }
  return true;
}

static bool can_go(surg_pass_ctx *p, const surg_value *v) {
  return surg_value_constant(v) && !surg_value_is_input(v) && !surg_value_is_output(v) &&
         !surg_value_is_pinned(v) && !values_annotated(v) && !surg_pass_keeps_value(p, v) &&
         standard_readers(v);
}

static surg_pass_result move(surg_pass_ctx *p, surg_value *v, surg_graph *to) {
  assert(surg_value_graph(v) != to); /* v is in an inner graph */
  const char *name = surg_value_name(v);
  surg_value *by = surg_graph_constant(to, NULL, name, surg_value_constant(v));
  if (!by || surg_value_replace(v, by) != SURG_OK || surg_value_erase_initializer(v) != SURG_OK)
    return SURG_PASS_FAILED;
  if (surg_value_can_rename(by, name) && surg_value_rename(by, name) != SURG_OK)
    return SURG_PASS_FAILED;
  surg_pass_count(p, "initializers", 1);
  return SURG_PASS_CHANGED;
}

surg_pass_result lift_initializers(surg_pass_ctx *p, surg_graph *g) {
  surg_model *m = surg_pass_model(p);
  surg_pass_result result = SURG_PASS_UNCHANGED;
  if (surg_graph_get_kind(g) != SURG_GRAPH_SUBGRAPH || surg_graph_function(g) ||
      surg_model_ir_version(m) < 4)
    return result;
  for (surg_value *v = surg_graph_next_initializer(g, NULL), *next; v; v = next) {
    next = surg_graph_next_initializer(g, v);
    if (!can_go(p, v) || !surg_pass_allow(p)) continue;
    result = move(p, v, surg_model_graph(m));
    if (result == SURG_PASS_FAILED) break;
  }
  return result;
}

const surg_pass surg__pass_hoist_initializers = {
    SURG_PASS_HEAD(GRAPH, "hoist-initializers",
                   "move initializers of subgraphs to the main graph"),
    .keeps = SURG_FACT_SORTED,
    .exactness = SURG_EXACT,
    .run = lift_initializers,
};
