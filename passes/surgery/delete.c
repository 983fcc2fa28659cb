/* SPDX-License-Identifier: Apache-2.0 */
/* Deletes nodes, weights, inputs and outputs that nothing needs: unlike remove-node it connects
 * nothing in their place. Outputs of the model that a deleted node computes are removed. A node or
 * value that another node reads is an error.
 *
 *   before: (x) => (y, z) { y = Abs (x)   z = Neg (y) }
 *   after:  (x) => (y) { y = Abs (x) }                                          delete{node=op=Neg}
 *
 * Needs sorted. Keeps sorted, types. Lossy: outputs are removed; exact if only unused parts are. */
#include <onnxsurg/names.h>
#include <onnxsurg/onnxsurg.h>
#include <stdio.h>

#include "../util/select.h"
#include "../util/table.h"

#define TEXT 900

typedef struct deleting {
  surg_pass_ctx *p;
  surg_graph *main;
  table nodes; /* those to delete */
  bool outputs;
} deleting;

/* The node of a deleted set that contains the use, or is it. */
static bool goes(const deleting *d, const surg_use *u) {
  const surg_node *n = surg_use_node(u);
  while (n) {
    if (table_has(&d->nodes, n)) return true;
    n = surg_graph_parent_node(surg_node_graph(n));
  }
  return false;
}

/* Whether everything that reads the value is deleted, too; else after an error. Outputs of the main
 * graph do not count. */
static bool is_free(const deleting *d, const surg_value *v, const char *option) {
  char text[TEXT];
  for (const surg_use *u = surg_value_first_use(v); u; u = surg_use_next(u)) {
    const surg_use_kind kind = surg_use_get_kind(u);
    if (kind == SURG_USE_SOFT || (kind == SURG_USE_NODE && goes(d, u))) continue;
    if (kind == SURG_USE_OUTPUT && surg_use_graph(u) == d->main) continue;
    snprintf(text, sizeof text,
             "%s: '%.200s' is read by %s; delete that too, or use remove-node, which connects an "
             "input in its place",
             option, surg_value_name(v),
             kind == SURG_USE_NODE ? surg_node_where(surg_use_node(u))
                                   : "an output of a subgraph or function");
    surg_pass_usage(d->p, text);
    return false;
  }
  if (!surg_value_is_pinned(v)) return true;
  snprintf(text, sizeof text, "%s: training refers to '%.200s' by name", option,
           surg_value_name(v));
  surg_pass_usage(d->p, text);
  return false;
}

/* Removes the value from the outputs of the model. */
static bool drop_outputs(deleting *d, const surg_value *v) {
  for (size_t i = surg_graph_output_count(d->main); i-- > 0;) {
    if (surg_graph_output(d->main, i) != v) continue;
    if (surg_graph_output_count(d->main) == 1)
      return surg_pass_usage(d->p, "no output of the model would be left") != SURG_PASS_FAILED;
    if (surg_graph_remove_output(d->main, i) != SURG_OK) return false;
    surg_pass_count(d->p, "outputs removed", 1);
    d->outputs = true;
  }
  return true;
}

static bool delete_nodes(deleting *d) {
  size_t n;
  surg_node **nodes = select_node_list(d->p, "node", &n);
  if (!nodes || !table_make(&d->nodes, d->p, n)) return false;
  for (size_t i = 0; i < n; i++)
    if (!table_has(&d->nodes, nodes[i]) && !table_put(&d->nodes, nodes[i])) return false;
  for (size_t i = 0; i < n; i++)
    for (size_t k = 0; k < surg_node_output_count(nodes[i]); k++) {
      surg_value *v = surg_node_output(nodes[i], k);
      if (v && (!is_free(d, v, "node") || !drop_outputs(d, v))) return false;
    }
  /* Readers first: the graph is sorted, so from its end. */
  surg_model *m = surg_pass_model(d->p);
  for (surg_graph *g = n ? surg_model_next_graph(m, NULL) : NULL; g;
       g = surg_model_next_graph(m, g))
    for (surg_node *x = surg_graph_last_node(g), *prev; x; x = prev) {
      prev = surg_node_prev(x);
      if (!table_has(&d->nodes, x)) continue;
      if (surg_node_erase(x) != SURG_OK) return false;
      surg_pass_count(d->p, "nodes deleted", 1);
    }
  return true;
}

static bool delete_input(deleting *d, const surg_value *v) {
  for (size_t i = 0; i < surg_graph_input_count(d->main); i++)
    if (surg_graph_input(d->main, i) == v) return surg_graph_remove_input(d->main, i) == SURG_OK;
  return surg_pass_usage(d->p, "value: inputs of subgraphs and functions cannot be deleted") !=
         SURG_PASS_FAILED;
}

static bool delete_value(deleting *d, surg_value *v) {
  char text[TEXT];
  const bool input = surg_value_is_input(v), weight = surg_value_is_initializer(v);
  if (surg_value_is_output(v) && !drop_outputs(d, v)) return false;
  if (!input && !weight) {
    if (d->outputs) return true;
    snprintf(text, sizeof text, "value: a node computes '%.200s': delete the node",
             surg_value_name(v));
    return surg_pass_usage(d->p, text) != SURG_PASS_FAILED;
  }
  if (!is_free(d, v, "value")) return false;
  if (input && !delete_input(d, v)) return false;
  if (weight && !surg_value_erased(v) && surg_value_is_initializer(v))
    return surg_value_erase_initializer(v) == SURG_OK;
  return true;
}

static surg_pass_result run(surg_pass_ctx *p, surg_graph *unused) {
  (void)unused;
  surg_model *m = surg_pass_model(p);
  deleting d = {.p = p, .main = surg_model_graph(m)};
  size_t n;
  if (!surg_pass_list_count(p, "node") && !surg_pass_list_count(p, "value"))
    return surg_pass_usage(p, "needs node= or value=");
  surg_value **values = select_value_list(p, "value", &n);
  if (!values) return SURG_PASS_FAILED;
  const uint64_t epoch = surg_model_epoch(m);
  if (!surg_pass_allow(p)) return SURG_PASS_UNCHANGED;
  if (!delete_nodes(&d)) return SURG_PASS_FAILED;
  for (size_t i = 0; i < n; i++)
    if (!surg_value_erased(values[i]) && !delete_value(&d, values[i])) return SURG_PASS_FAILED;
  if (!d.outputs) surg_pass_used(p, SURG_EXACT);
  return surg_model_epoch(m) == epoch ? SURG_PASS_UNCHANGED : SURG_PASS_CHANGED;
}

static const surg_option options[] = {
    SURG_OPTION(LIST, "node", NULL, "nodes (addresses)"),
    SURG_OPTION(LIST, "value", NULL, "unused weights and inputs, and outputs (addresses)"),
};

const surg_pass surg__pass_delete = {
    SURG_PASS_HEAD(MODEL, "delete", "delete nodes, weights, inputs and outputs"),
    SURG_PASS_OPTIONS(options),
    .needs = SURG_FACT_SORTED,
    .keeps = SURG_FACT_SORTED,
    .exactness = SURG_LOSSY,
    .changes_interface = true,
    .edits = true,
    .run = run,
};
