/* SPDX-License-Identifier: Apache-2.0 */
/* Removes what is unused: nodes without a used output, of any operator (ONNX has no side effects);
 * unused optional outputs, outputs of If and scan outputs of Loop and Scan, together with the nodes
 * of the bodies that compute them; trailing absent inputs; unused initializers, model functions,
 * imports and value_info entries. Graph inputs stay, unless `inputs` is given.
 *
 *   before: (x) => (y) <float w = {1}> { y = Relu (x)   d = Dropped (y, w) }
 *   after:  (x) => (y) { y = Relu (x) }
 *
 * Needs sorted: nodes are visited from last to first, with their subgraphs, so that all consumers
 * of a value are visited before its producer; one sweep is enough. Keeps sorted, types. Exact;
 * changes the interface only with `inputs` (below IR version 4 initializers are listed among the
 * inputs; removing one there does not change the interface). */
#include "prune.h"

#include <assert.h>

bool prune_may(prune *pr) {
  assert(pr->p && pr->m);
  if (!pr->stop && !surg_pass_allow(pr->p)) pr->stop = true;
  return !pr->stop;
}

bool prune_did(prune *pr, surg_status s, const char *what) {
  if (s) {
    assert(what);
    pr->stop = pr->failed = true;
    return false;
  }
  pr->changed = true;
  surg_pass_count(pr->p, what, 1);
  return true;
}

/* Whether v is a quantization parameter, which is removed with the value it describes. */
static bool is_parameter(const surg_value *v) {
  for (const surg_use *u = surg_value_first_use(v); u; u = surg_use_next(u))
    if (surg_use_get_kind(u) == SURG_USE_SOFT && surg_use_index(u) == 1) return true;
  return false;
}

bool prune_unwanted(const prune *pr, const surg_value *v) {
  return surg_value_use_count(v, 1) == 0 && !surg_value_is_pinned(v) &&
         !surg_pass_keeps_value(pr->p, v) && !is_parameter(v) &&
         !(pr->wanted && pr->wanted(pr, v));
}

static bool dead(const prune *pr, const surg_node *n) {
  for (size_t i = 0; i < surg_node_output_count(n); i++) {
    const surg_value *v = surg_node_output(n, i);
    if (v && !prune_unwanted(pr, v)) return false;
  }
  return !surg_pass_keeps_node(pr->p, n);
}

/* Removes trailing absent inputs, which have no effect; those that the schema requires stay. */
static void trim_inputs(prune *pr, surg_node *n) {
  const surg_schema *s = surg_node_schema(n);
  size_t count = surg_node_input_count(n), full = count;
  if (!s || surg_schema_max_inputs(s) == SIZE_MAX || surg_schema_contrib(s)) return;
  while (count > surg_schema_min_inputs(s) && !surg_node_input(n, count - 1)) count--;
  if (count == full || surg_pass_keeps_node(pr->p, n) || !prune_may(pr)) return;
  assert(count < full);
  prune_did(pr, surg_node_trim_inputs(n, count), "absent inputs");
}

static void sweep_nodes(prune *pr, surg_graph *g, unsigned depth);

static void sweep_subgraphs(prune *pr, surg_node *n, unsigned depth) {
  if (depth >= PRUNE_NESTING) return;
  for (size_t a = 0; a < surg_node_attr_count(n); a++) {
    const surg_attr *attr = surg_node_attr_at(n, a);
    surg_graph *sub;
    for (size_t i = 0; !pr->stop && (sub = surg_attr_graph(attr, i)); i++)
      sweep_nodes(pr, sub, depth + 1);
  }
}

static void sweep_nodes(prune *pr, surg_graph *g, unsigned depth) {
  assert(depth <= PRUNE_NESTING); /* sweep_subgraphs stops there */
  for (surg_node *n = surg_graph_last_node(g), *prev; n && !pr->stop; n = prev) {
    prev = surg_node_prev(n);
    if (dead(pr, n)) {
      if (prune_may(pr)) prune_did(pr, surg_node_erase(n), "nodes");
      continue;
    }
    if (!pr->plain) prune_node_outputs(pr, n);
    if (!pr->plain) trim_inputs(pr, n);
    if (!pr->plain || pr->deep) sweep_subgraphs(pr, n, depth);
  }
}

/* Whether anything refers to the value, even by name: a quantization parameter is an initializer
 * without consumers. */
static bool referred(const surg_value *v) {
  return surg_value_first_use(v) != NULL;
}

static bool is_weight_input(const surg_model *m, const surg_value *v) {
  return surg_value_is_input(v) && surg_value_is_initializer(v) && surg_model_ir_version(m) < 4;
}

/* Removes inputs of the main graph, last first: all unused ones with `inputs`, else unused
 * initializers that are listed as inputs only because of an IR version below 4. */
static void sweep_inputs(prune *pr, bool inputs) {
  surg_graph *g = surg_model_graph(pr->m);
  for (size_t i = surg_graph_input_count(g); i-- > 0 && !pr->stop;) {
    surg_value *v = surg_graph_input(g, i);
    bool weight = is_weight_input(pr->m, v);
    if ((!inputs && !weight) || referred(v) || !prune_unwanted(pr, v)) continue;
    bool initializer = surg_value_is_initializer(v);
    if (!prune_may(pr)) return;
    if (!prune_did(pr, surg_graph_remove_input(g, i), weight ? "weight inputs" : "inputs")) return;
    if (initializer && surg_value_is_initializer(v) && !surg_value_erased(v))
      prune_did(pr, surg_value_erase_initializer(v), "initializers");
  }
}

static void sweep_initializers(prune *pr, surg_graph *g) {
  surg_value *next;
  for (surg_value *v = surg_graph_next_initializer(g, NULL); v && !pr->stop; v = next) {
    next = surg_graph_next_initializer(g, v);
    if (surg_value_is_input(v) || referred(v) || !prune_unwanted(pr, v)) continue;
    if (prune_may(pr)) prune_did(pr, surg_value_erase_initializer(v), "initializers");
  }
}

static void sweep_strays(prune *pr, surg_graph *g) {
  uint64_t before = surg_model_epoch(pr->m);
  size_t n = surg_graph_drop_strays(g);
  if (surg_model_epoch(pr->m) == before) return;
  pr->changed = true;
  surg_pass_count(pr->p, "value_info entries", n);
}

void prune_all(prune *pr, bool inputs) {
  surg_graph *g = NULL;
  sweep_nodes(pr, surg_model_graph(pr->m), 0);
  const bool functions = !pr->plain || pr->deep;
  for (size_t i = 0; functions && i < surg_model_function_count(pr->m) && !pr->stop; i++)
    sweep_nodes(pr, surg_function_graph(surg_model_function(pr->m, i)), 0);
  if (!pr->stop) sweep_inputs(pr, inputs);
  while (!pr->stop && (g = surg_model_next_graph(pr->m, g))) {
    sweep_initializers(pr, g);
    if (!pr->stop) sweep_strays(pr, g);
  }
  if (!pr->stop) prune_functions(pr);
  if (!pr->stop) prune_imports(pr);
}

static surg_pass_result run(surg_pass_ctx *p, surg_graph *unused) {
  (void)unused;
  prune pr = {.p = p, .m = surg_pass_model(p)};
  prune_all(&pr, surg_pass_bool(p, "inputs"));
  assert(!pr.failed || pr.stop);
  if (pr.failed) return SURG_PASS_FAILED;
  return pr.changed ? SURG_PASS_CHANGED : SURG_PASS_UNCHANGED;
}

static const surg_option options[] = {
    SURG_OPTION(BOOL, "inputs", "false", "also remove unused inputs of the model"),
};

const surg_pass surg__pass_prune = {
    SURG_PASS_HEAD(MODEL, "prune", "remove unused nodes, weights, functions and imports"),
    SURG_PASS_OPTIONS(options),
    .needs = SURG_FACT_SORTED,
    .keeps = SURG_FACT_SORTED | SURG_FACT_TYPES,
    .exactness = SURG_EXACT,
    .changes_interface = true,
    .run = run,
};
