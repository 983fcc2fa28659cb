/* SPDX-License-Identifier: Apache-2.0 */
/* Sets the IR version of the model. Below version 4 every initializer is also listed as an input,
 * yet it is constant. A higher version removes these inputs, so that newer readers treat the
 * initializers as constants too; a lower one adds them, and initializers of subgraphs become
 * Constant nodes.
 *
 *   before: <ir_version: 3 ...> g (x, w) => (y) <float w = {1}> { y = Add (x, w) }       ir{to=8}
 *   after:  <ir_version: 8 ...> g (x) => (y) <float w = {1}> { y = Add (x, w) }
 *
 * Rejects a version that lacks something the model uses, except information that readers ignore
 * (metadata of nodes and values, device configurations). Needs nothing. Keeps sorted, types. Exact;
 * changes the interface (lists of inputs with initializers). */
#include <onnxsurg/onnxsurg.h>
#include <stdio.h>
#include <string.h>

#define NEWEST 14
#define TEXT 512

/* ---- changing the lists ---------------------------------------------------------------------- */

static bool weights_leave(surg_pass_ctx *p, surg_graph *g) {
  for (size_t i = surg_graph_input_count(g); i-- > 0;) {
    if (!surg_value_is_initializer(surg_graph_input(g, i))) continue;
    if (surg_graph_remove_input(g, i)) return false;
    surg_pass_count(p, "weights removed from the inputs", 1);
  }
  return true;
}

static bool weights_join(surg_pass_ctx *p, surg_graph *g) {
  char text[TEXT];
  for (surg_value *v = surg_graph_next_initializer(g, NULL); v;
       v = surg_graph_next_initializer(g, v)) {
    if (surg_value_is_input(v)) {
      snprintf(text, sizeof text,
               "input '%.300s' had a default that a caller could override; it is "
               "a constant now",
               surg_value_name(v));
      surg_pass_note(p, NULL, text);
    } else if (surg_value_make_input(v)) {
      return false;
    } else {
      surg_pass_count(p, "weights added to the inputs", 1);
    }
  }
  return true;
}

/* Makes an initializer of a subgraph a Constant node of the same name. */
static surg_pass_result to_node(surg_pass_ctx *p, surg_value *v) {
  size_t size = strlen(surg_value_name(v)) + 1;
  char *name = surg_pass_alloc(p, size);
  if (!name) return SURG_PASS_FAILED;
  memcpy(name, surg_value_name(v), size);
  surg_value *c = surg_graph_constant(surg_value_graph(v), NULL, NULL, surg_value_initializer(v));
  if (!c) {
    if (surg_model_status(surg_pass_model(p))) return SURG_PASS_FAILED;
    return surg_pass_fail(p, surg_graph_parent_node(surg_value_graph(v)),
                          "a weight of the subgraph cannot become a Constant node: the default "
                          "domain is not imported");
  }
  surg_replace how = surg_value_can_replace(v, c);
  if (how != SURG_REPLACE_YES && how != SURG_REPLACE_BY_LABEL)
    return surg_pass_fail(p, surg_value_producer(c, NULL),
                          "an output of the subgraph that is a weight cannot become a node");
  if (surg_value_replace(v, c) || surg_value_erase_initializer(v)) return SURG_PASS_FAILED;
  if (how == SURG_REPLACE_YES && surg_value_rename(c, name)) return SURG_PASS_FAILED;
  surg_pass_count(p, "weights of subgraphs made nodes", 1);
  return SURG_PASS_CHANGED;
}

static surg_pass_result subgraphs_down(surg_pass_ctx *p, surg_model *m) {
  for (surg_graph *g = surg_model_next_graph(m, NULL); g; g = surg_model_next_graph(m, g)) {
    if (surg_graph_get_kind(g) != SURG_GRAPH_SUBGRAPH) continue;
    for (surg_value *v = surg_graph_next_initializer(g, NULL), *next; v; v = next) {
      next = surg_graph_next_initializer(g, v);
      if (surg_value_is_input(v)) continue;
      if (to_node(p, v) == SURG_PASS_FAILED) return SURG_PASS_FAILED;
    }
  }
  return SURG_PASS_CHANGED;
}

/* Sets the version number. Versions 1 and 2 have one implied opset and no imports; from 3 on it
 * is imported. */
static bool set_version(surg_model *m, int64_t from, int64_t to) {
  int64_t opset = surg_model_opset(m, "");
  if (surg_model_set_ir_version(m, to)) return false;
  if (from < 3 && to >= 3 && opset > 0) return surg_model_set_opset(m, "", opset) == SURG_OK;
  if (from >= 3 && to < 3 && surg_model_import_count(m))
    return surg_model_set_opset(m, "", 0) == SURG_OK;
  return true;
}

static surg_pass_result run(surg_pass_ctx *p, surg_graph *unused) {
  (void)unused;
  surg_model *m = surg_pass_model(p);
  int64_t to = surg_pass_int(p, "to"), from = surg_model_ir_version(m);
  char text[2 * TEXT], what[TEXT];
  if (to < 1 || to > NEWEST) {
    snprintf(text, sizeof text, "needs to=N, an IR version from 1 to %d", NEWEST);
    return surg_pass_usage(p, text);
  }
  if (to == from) return SURG_PASS_UNCHANGED;
  if (to < from) {
    const surg_node *where;
    if (surg_model_infer(m)) return SURG_PASS_FAILED;
    const int64_t floor = surg_model_ir_floor(m, &where, what, sizeof what);
    if (floor > to) {
      snprintf(text, sizeof text, "IR version %lld is too old for %s: that needs version %lld",
               (long long)to, what, (long long)floor);
      return surg_pass_fail(p, where, text);
    }
  }
  if (!surg_pass_allow(p)) return SURG_PASS_UNCHANGED;
  if (from < 4 && to >= 4 && !weights_leave(p, surg_model_graph(m))) return SURG_PASS_FAILED;
  if (!set_version(m, from, to)) return SURG_PASS_FAILED;
  if (from < 4 || to >= 4) return SURG_PASS_CHANGED;
  if (!weights_join(p, surg_model_graph(m))) return SURG_PASS_FAILED;
  return subgraphs_down(p, m);
}

static const surg_option options[] = {
    SURG_OPTION(INT, "to", NULL, "the IR version to set"),
};

const surg_pass surg__pass_ir = {
    SURG_PASS_HEAD(MODEL, "ir", "set the IR version"),
    SURG_PASS_OPTIONS(options),
    .keeps = SURG_FACT_SORTED | SURG_FACT_TYPES,
    .exactness = SURG_EXACT,
    .changes_interface = true,
    .run = run,
};
