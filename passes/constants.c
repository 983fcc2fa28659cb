/* SPDX-License-Identifier: Apache-2.0 */
/* Brings constants into one form: initializers, which engines and editors know best, or Constant
 * nodes. What a caller can override is no constant.
 *
 *   before: (x) => (y) { c = Constant <value = float {2}> ()   y = Mul (x, c) }
 *   after:  (x) => (y) <float c = {2}> { y = Mul (x, c) }              constants{form=initializer}
 *
 * Functions hold nodes only, and below IR version 4 initializers are inputs: there constants stay.
 * Values keep their names. Weights in data files stay initializers. Needs nothing. Keeps sorted.
 * Exact. */
#include <onnxsurg/onnxsurg.h>
#include <string.h>

#include "each.h"
#include "give.h"
#include "values.h"

static bool may(surg_pass_ctx *p, const surg_value *v) {
  return v && !surg_value_is_pinned(v) && !values_annotated(v) && !surg_pass_keeps_value(p, v) &&
         surg_value_use_count(v, 1) > 0;
}

static surg_pass_result to_initializer(surg_pass_ctx *p, surg_node *n) {
  surg_value *v = surg_node_output(n, 0);
  surg_tensor *t = v ? surg_value_constant(v) : NULL;
  if (surg_node_op(n) != SURG_OP_Constant || !t || !may(p, v) || surg_pass_keeps_node(p, n) ||
      !surg_pass_allow(p))
    return SURG_PASS_UNCHANGED;
  if (surg_value_become_constant(v, t) != SURG_OK || surg_node_erase(n) != SURG_OK)
    return SURG_PASS_FAILED;
  surg_pass_count(p, "initializers", 1);
  return SURG_PASS_CHANGED;
}

/* Since when Constant holds the type. */
static bool holds(const surg_graph *g, int dtype) {
  const int64_t opset = surg_graph_opset(g, "");
  if (dtype < SURG_BFLOAT16) return true;
  if (dtype == SURG_BFLOAT16) return opset >= 13;
  if (dtype <= SURG_FLOAT8E5M2FNUZ) return opset >= 19;
  return dtype <= SURG_INT4 ? opset >= 21 : opset >= 25;
}

static surg_pass_result to_node(surg_pass_ctx *p, surg_value *v) {
  surg_graph *g = surg_value_graph(v);
  surg_tensor *t = surg_value_constant(v);
  if (!t || surg_value_is_input(v) || !may(p, v) || surg_tensor_is_external(t) ||
      !holds(g, surg_tensor_dtype(t)) || !surg_pass_allow(p))
    return SURG_PASS_UNCHANGED;
  surg_node *n = surg_graph_add_node(g, surg_graph_first_node(g), "", "Constant", 1);
  if (!n || surg_node_set_tensor(n, "value", t) != SURG_OK) return SURG_PASS_FAILED;
  surg_value *out = surg_node_output(n, 0);
  const char *name = surg_value_name(v);
  if (surg_value_replace(v, out) != SURG_OK || surg_value_erase_initializer(v) != SURG_OK)
    return SURG_PASS_FAILED;
  /* Where v was an output, its name went over with that. */
  if (strcmp(surg_value_name(out), name) != 0 && surg_value_can_rename(out, name) &&
      surg_value_rename(out, name) != SURG_OK)
    return SURG_PASS_FAILED;
  surg_pass_count(p, "nodes", 1);
  return SURG_PASS_CHANGED;
}

static surg_pass_result all_initializers(surg_pass_ctx *p, surg_graph *g) {
  if (surg_graph_get_kind(g) == SURG_GRAPH_FUNCTION ||
      surg_model_ir_version(surg_pass_model(p)) < 4)
    return SURG_PASS_UNCHANGED;
  return each_node(p, g, to_initializer);
}

static surg_pass_result all_nodes(surg_pass_ctx *p, surg_graph *g) {
  surg_pass_result result = SURG_PASS_UNCHANGED;
  if (!give_builtin(g, "Constant")) return result;
  for (surg_value *v = surg_graph_next_initializer(g, NULL), *next; v; v = next) {
    next = surg_graph_next_initializer(g, v);
    const surg_pass_result one = to_node(p, v);
    if (one == SURG_PASS_FAILED) return one;
    if (one < result) result = one;
  }
  return result;
}

static surg_pass_result run(surg_pass_ctx *p, surg_graph *g) {
  const char *form = surg_pass_string(p, "form");
  if (strcmp(form, "initializer") == 0) return all_initializers(p, g);
  if (strcmp(form, "node") == 0) return all_nodes(p, g);
  if (strcmp(form, "keep") == 0) return SURG_PASS_UNCHANGED;
  return surg_pass_usage(p, "option form: keep, initializer or node");
}

static const surg_option options[] = {
    {"form", SURG_OPTION_STRING, "initializer", "keep, initializer or node"},
};

const surg_pass surg__pass_constants = {
    .size = sizeof(surg_pass),
    .scope = SURG_SCOPE_GRAPH,
    .name = "constants",
    .help = "bring constants into one form",
    .options = options,
    .option_count = sizeof options / sizeof *options,
    .keeps = SURG_FACT_SORTED,
    .exactness = SURG_EXACT,
    .run = run,
};
