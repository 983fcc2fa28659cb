/* SPDX-License-Identifier: Apache-2.0 */
/* Stores all constants in one form: as initializers, the common form in engines and editors, or as
 * Constant nodes. Initializers that a caller can override are not constants.
 *
 *   before: (x) => (y) { c = Constant <value = float {2}> ()   y = Mul (x, c) }
 *   after:  (x) => (y) <float c = {2}> { y = Mul (x, c) }              constants{form=initializer}
 *
 * inside: moves external weights into the model, if those of a graph do not exceed 1 GiB.
 *
 * Functions have no initializers, and below IR version 4 initializers are inputs: constants stay
 * there. Values keep their names. External weights stay initializers, and stay external without
 * `inside`. Needs nothing. Keeps sorted. Exact. */
#include <assert.h>
#include <onnxsurg/onnxsurg.h>
#include <stdio.h>
#include <string.h>

#include "../util/each.h"
#include "../util/give.h"
#include "../util/values.h"

#define MOST_INSIDE (UINT64_C(1) << 30) /* bytes; a model is at most 2 GiB */

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
  assert(surg_value_graph(v) == surg_node_graph(n));
  if (surg_value_become_constant(v, t) != SURG_OK || surg_node_erase(n) != SURG_OK)
    return SURG_PASS_FAILED;
  surg_pass_count(p, "initializers", 1);
  return SURG_PASS_CHANGED;
}

static surg_pass_result to_node(surg_pass_ctx *p, surg_value *v) {
  surg_graph *g = surg_value_graph(v);
  surg_tensor *t = surg_value_constant(v);
  if (!t || surg_value_is_input(v) || !may(p, v) || surg_tensor_is_external(t) ||
      !values_constant_holds(g, false, surg_tensor_dtype(t)) || !surg_pass_allow(p))
    return SURG_PASS_UNCHANGED;
  surg_node *n = surg_graph_add_node(g, surg_graph_first_node(g), "", "Constant", 1);
  if (!n || surg_node_set_tensor(n, "value", t) != SURG_OK) return SURG_PASS_FAILED;
  assert(surg_node_graph(n) == g);
  surg_value *out = surg_node_output(n, 0);
  const char *name = surg_value_name(v);
  if (surg_value_replace(v, out) != SURG_OK || surg_value_erase_initializer(v) != SURG_OK)
    return SURG_PASS_FAILED;
  /* If v was an output, `out` got its name in the replacement. */
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

static bool is_outside(const surg_value *v) {
  const surg_tensor *t = surg_value_initializer(v);
  return t && surg_tensor_is_external(t) && !surg_tensor_is_sparse(t);
}

/* Whether the external weights of g fit into the model file; *largest: bytes of the largest one. */
static bool has_room(const surg_graph *g, size_t *largest) {
  uint64_t left = MOST_INSIDE;
  *largest = 0;
  for (surg_value *v = surg_graph_next_initializer(g, NULL); v;
       v = surg_graph_next_initializer(g, v)) {
    const uint64_t bytes = is_outside(v) ? surg_tensor_bytes(surg_value_initializer(v)) : 0;
    if (bytes > left) return false;
    assert(left <= MOST_INSIDE);
    left -= bytes;
    if (bytes > *largest) *largest = (size_t)bytes;
  }
  return true;
}

static surg_pass_result bring_in(surg_pass_ctx *p, surg_value *v, void *data) {
  const surg_tensor *t = surg_value_initializer(v);
  const uint64_t bytes = surg_tensor_bytes(t);
  assert(bytes <= MOST_INSIDE && data); /* has_room counted it */
  if (surg_tensor_read(t, 0, data, (size_t)bytes) != SURG_OK) {
    char text[300];
    if (surg_model_status(surg_pass_model(p)) != SURG_OK) return SURG_PASS_FAILED;
    surg_pass_give_back(p);
    snprintf(text, sizeof text, "weight '%.200s' stays outside: its elements are not available",
             surg_value_name(v));
    surg_pass_left(p, NULL, text);
    return SURG_PASS_UNCHANGED;
  }
  surg_tensor *made =
      surg_tensor_new(surg_pass_model(p), surg_tensor_dtype(t), surg_tensor_dims(t),
                      surg_tensor_rank(t), data, (size_t)bytes);
  if (!made || surg_value_set_initializer(v, made) != SURG_OK) return SURG_PASS_FAILED;
  surg_pass_count(p, "brought in", 1);
  return SURG_PASS_CHANGED;
}

static surg_pass_result all_inside(surg_pass_ctx *p, surg_graph *g) {
  surg_pass_result result = SURG_PASS_UNCHANGED;
  size_t largest;
  if (!has_room(g, &largest)) {
    surg_pass_left(p, surg_graph_parent_node(g), "weights stay outside: they exceed 1 GiB");
    return result;
  }
  void *data = surg_pass_alloc(p, largest + 1);
  if (!data) return SURG_PASS_FAILED;
  for (surg_value *v = surg_graph_next_initializer(g, NULL); v;
       v = surg_graph_next_initializer(g, v)) {
    if (!is_outside(v) || surg_pass_keeps_value(p, v) || !surg_pass_allow(p)) continue;
    const surg_pass_result one = bring_in(p, v, data);
    if (one == SURG_PASS_FAILED) return one;
    if (one == SURG_PASS_CHANGED) result = one;
  }
  return result;
}

static surg_pass_result lesser(surg_pass_result a, surg_pass_result b) {
  return a < b ? a : b;
}

static surg_pass_result run(surg_pass_ctx *p, surg_graph *g) {
  const char *form = surg_pass_string(p, "form");
  const surg_pass_result in =
      surg_pass_bool(p, "inside") ? all_inside(p, g) : SURG_PASS_UNCHANGED;
  if (in == SURG_PASS_FAILED) return in;
  if (strcmp(form, "initializer") == 0) return lesser(all_initializers(p, g), in);
  if (strcmp(form, "node") == 0) return lesser(all_nodes(p, g), in);
  if (strcmp(form, "keep") == 0) return in;
  return surg_pass_usage(p, "option form: expected keep, initializer or node");
}

static const surg_option options[] = {
    SURG_OPTION(STRING, "form", "initializer", "store as: keep, initializer or node"),
    SURG_OPTION(BOOL, "inside", "false", "move external weights into the model"),
};

const surg_pass surg__pass_constants = {
    SURG_PASS_HEAD(GRAPH, "constants", "store constants as initializers or as Constant nodes"),
    SURG_PASS_OPTIONS(options),
    .keeps = SURG_FACT_SORTED,
    .exactness = SURG_EXACT,
    .run = run,
};
