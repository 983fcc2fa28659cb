/* SPDX-License-Identifier: Apache-2.0 */
/* Replaces graph inputs of an optional type by inputs of the element type, which are always
 * present, for engines and callers without optionals. OptionalHasElement of such an input becomes
 * true, OptionalGetElement the input itself.
 *
 *   before: (optional(float[2]) x) => (float[2] y) { h = OptionalHasElement (x)
 *                                    y = If (h) <then: OptionalGetElement (x), else: ...> }
 *   after:  (float[2] x) => (float[2] y) { h = Constant <value = true>
 *                                    y = If (h) <then: x, else: ...> }
 *
 * An input with any other consumer stays, and so do all where a function of the model has the
 * name of an operator this pass would create. Needs sorted. Keeps sorted. Exact for a caller that
 * passes every input; changes the interface. */
#include "../util/give.h"

#include <onnxsurg/ops.h>

/* The consumers of an optional input, or NULL if any is not OptionalHasElement or
 * OptionalGetElement, or cannot be rewritten. */
static surg_node **readers_of(surg_pass_ctx *p, const surg_value *v, size_t *count) {
  const size_t n = surg_value_use_count(v, SIZE_MAX);
  surg_node **nodes = surg_pass_alloc(p, (n + 1) * sizeof *nodes);
  *count = 0;
  for (surg_use *u = surg_value_first_use(v); u && nodes; u = surg_use_next(u)) {
    if (surg_use_get_kind(u) == SURG_USE_SOFT) continue;
    surg_node *reader = surg_use_get_kind(u) == SURG_USE_NODE ? surg_use_node(u) : NULL;
    const int op = reader ? surg_node_op(reader) : 0;
    if ((op != SURG_OP_OptionalHasElement && op != SURG_OP_OptionalGetElement) ||
        surg_pass_keeps_node(p, reader) || !surg_graph_takes_constants(surg_node_graph(reader)) ||
        !give_builtin(surg_node_graph(reader), "Identity"))
      return NULL;
    nodes[(*count)++] = reader;
  }
  return nodes;
}

static bool make_true(surg_pass_ctx *p, surg_node *n) {
  surg_tensor *t = surg_tensor_new(surg_pass_model(p), SURG_BOOL, NULL, 0, "\1", 1);
  return t && surg_node_trim_inputs(n, 0) == SURG_OK &&
         surg_node_set_op(n, "", "Constant") == SURG_OK &&
         surg_node_set_tensor(n, "value", t) == SURG_OK;
}

/* Replaces the output of OptionalGetElement by v, or makes the node an Identity if it is an
 * output of the model with its own name. */
static bool give_element(surg_pass_ctx *p, surg_node *n, surg_value *v) {
  const surg_pass_result r = give_result(p, n, v, "elements");
  return r == SURG_PASS_CHANGED ||
         (r == SURG_PASS_UNCHANGED && surg_node_set_op(n, "", "Identity") == SURG_OK);
}

static surg_pass_result take(surg_pass_ctx *p, surg_value *v) {
  const surg_type *t = surg_value_declared_type(v);
  size_t n;
  if (!t || surg_type_get_kind(t) != SURG_TYPE_OPTIONAL || !surg_type_elem(t) ||
      surg_pass_keeps_value(p, v))
    return SURG_PASS_UNCHANGED;
  surg_node **readers = readers_of(p, v, &n);
  if (!readers || !surg_pass_allow(p)) return SURG_PASS_UNCHANGED;
  if (surg_value_set_declared_type(v, surg_type_elem(t)) != SURG_OK) return SURG_PASS_FAILED;
  surg_pass_count(p, "inputs", 1);
  for (size_t i = 0; i < n; i++) {
    const bool has = surg_node_op(readers[i]) == SURG_OP_OptionalHasElement;
    if (has ? !make_true(p, readers[i]) : !give_element(p, readers[i], v))
      return SURG_PASS_FAILED;
  }
  return SURG_PASS_CHANGED;
}

static surg_pass_result run(surg_pass_ctx *p, surg_graph *unused) {
  (void)unused;
  surg_graph *g = surg_model_graph(surg_pass_model(p));
  surg_pass_result result = SURG_PASS_UNCHANGED;
  for (size_t i = 0; i < surg_graph_input_count(g); i++) {
    const surg_pass_result r = take(p, surg_graph_input(g, i));
    if (r == SURG_PASS_FAILED) return r;
    if (r == SURG_PASS_CHANGED) result = r;
  }
  return result;
}

const surg_pass surg__pass_unwrap_optionals = {
    SURG_PASS_HEAD(MODEL, "unwrap-optionals",
                   "replace optional inputs by inputs that are always present"),
    .needs = SURG_FACT_SORTED,
    .keeps = SURG_FACT_SORTED,
    .exactness = SURG_EXACT,
    .changes_interface = true,
    .run = run,
};
