/* SPDX-License-Identifier: Apache-2.0 */
/* Switches nodes from training mode to inference: BatchNormalization uses its running statistics,
 * Dropout drops nothing. A BatchNormalization whose statistics are used stays; a used mask of a
 * Dropout becomes that of one that drops nothing.
 *
 *   before: (x) => (y) { y, m, v = BatchNormalization <training_mode = 1> (x, s, b, rm, rv) }
 *   after:  (x) => (y) { y = BatchNormalization (x, s, b, rm, rv) }                       inference
 *
 * Needs sorted, types. Keeps sorted. Lossy: the model computes another function, the intended
 * one. */
#include <onnxsurg/onnxsurg.h>
#include <onnxsurg/ops.h>

#include "../util/numbers.h"

/* The index of the input training_mode of Dropout, an attribute before. */
#define MODE_INPUT 2

static bool trains(const surg_node *n) {
  if (surg_node_int(n, "training_mode", 0)) return true;
  const surg_schema *s = surg_node_schema(n);
  if (surg_schema_since(s) < 7) return surg_node_int(n, "is_test", 0) == 0;
  if (surg_node_op(n) != SURG_OP_Dropout || surg_node_input_count(n) <= MODE_INPUT) return false;
  const surg_value *mode = surg_node_input(n, MODE_INPUT);
  const surg_tensor *t = mode ? surg_value_constant(mode) : NULL;
  int64_t on = 1;
  return mode && (!t || numbers_of(t, &on, 1) != 1 || on != 0);
}

static bool read_beside(const surg_node *n) {
  for (size_t i = 1; i < surg_node_output_count(n); i++) {
    const surg_value *v = surg_node_output(n, i);
    if (v && surg_value_use_count(v, 1)) return true;
  }
  return false;
}

static surg_status settle(surg_node *n) {
  surg_status s = SURG_OK;
  const bool dropout = surg_node_op(n) == SURG_OP_Dropout;
  for (size_t i = surg_node_output_count(n); !dropout && s == SURG_OK && i-- > 1;)
    s = surg_node_drop_output(n, i);
  if (s == SURG_OK && surg_node_attr(n, "training_mode"))
    s = surg_node_remove_attr(n, "training_mode");
  if (s == SURG_OK && surg_schema_since(surg_node_schema(n)) < 7)
    s = surg_node_set_int(n, "is_test", 1);
  if (s == SURG_OK && dropout && surg_node_input_count(n) > MODE_INPUT)
    s = surg_node_trim_inputs(n, MODE_INPUT);
  return s;
}

static surg_pass_result run(surg_pass_ctx *p, surg_graph *g) {
  surg_pass_result result = SURG_PASS_UNCHANGED;
  for (surg_node *n = surg_graph_first_node(g); n; n = surg_node_next(n)) {
    const int op = surg_node_op(n);
    if ((op != SURG_OP_BatchNormalization && op != SURG_OP_Dropout) || !surg_node_schema(n))
      continue;
    if (!trains(n)) continue;
    if (surg_pass_keeps_node(p, n) || (op == SURG_OP_BatchNormalization && read_beside(n))) {
      surg_pass_note(p, n, surg_pass_keeps_node(p, n) ? "left: it is protected"
                                                      : "left: its statistics are read");
      continue;
    }
    if (!surg_pass_allow(p)) return result;
    if (settle(n) != SURG_OK) return SURG_PASS_FAILED;
    surg_pass_count(p, "nodes", 1);
    result = SURG_PASS_CHANGED;
  }
  return result;
}

const surg_pass surg__pass_inference = {
    SURG_PASS_HEAD(GRAPH, "inference", "switch nodes in training mode to inference"),
    .needs = SURG_FACT_SORTED | SURG_FACT_TYPES,
    .keeps = SURG_FACT_SORTED,
    .exactness = SURG_LOSSY,
    .run = run,
};
