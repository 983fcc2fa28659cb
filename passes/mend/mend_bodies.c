/* SPDX-License-Identifier: Apache-2.0 */
/* Repairs the inputs and outputs of nodes: branches of If that list captured values as inputs,
 * bodies with an output of an outer graph, trailing absent inputs that the operator does not have,
 * absent outputs that the operator always has, and what nothing can refer to. See mend.h. */
#include <string.h>

#include "mend.h"

#define BRANCHES 2
#define MOST_MOVED 1000 /* most nodes moved before an If that captures a result */

/* The value that input i of a branch refers to: the input of the If after the condition, if the
 * counts match, else the value of its name around the node; NULL: none. */
static surg_value *meant(const surg_node *n, const surg_graph *branch, size_t i) {
  if (surg_node_input_count(n) == surg_graph_input_count(branch) + 1)
    return surg_node_input(n, i + 1);
  const char *name = surg_value_name(surg_graph_input(branch, i));
  return *name ? surg_graph_lookup_value(surg_node_graph(n), name) : NULL;
}

/* Whether `made` can move before n: it does not depend on n. Nodes with subgraphs count as
 * dependent. */
static bool is_free(mending *k, surg_node *made, const surg_node *n) {
  if (mend_is_cyclic(k, surg_node_graph(n))) return false;
  surg_node **stack = surg_pass_alloc(k->p, (MOST_MOVED + 1) * sizeof *stack);
  size_t count = 0, seen = 0;
  if (stack) stack[count++] = made;
  while (count) {
    surg_node *at = stack[--count];
    if (at == n || surg_node_subgraph(at, 0) || ++seen > MOST_MOVED) return false;
    for (size_t i = 0; i < surg_node_input_count(at); i++) {
      const surg_value *v = surg_node_input(at, i);
      surg_node *by = v ? surg_value_producer(v, NULL) : NULL;
      if (!by || surg_node_graph(by) != surg_node_graph(n)) continue;
      if (by != n && surg_node_before(by, n)) continue;
      if (count == MOST_MOVED) return false;
      stack[count++] = by;
    }
  }
  return stack != NULL;
}

/* Whether v is produced by n or a later node of its graph. */
static bool is_after(const surg_value *v, const surg_node *n) {
  const surg_node *made = surg_value_producer(v, NULL);
  return made && surg_value_graph(v) == surg_node_graph(n) && !surg_node_before(made, n);
}

static bool any_after(const surg_node *n, const surg_graph *branch) {
  for (size_t i = 0; branch && i < surg_graph_input_count(branch); i++) {
    const surg_value *by = meant(n, branch, i);
    if (by && is_after(by, n)) return true;
  }
  return false;
}

/* Whether an input has no name and no use. */
static bool is_nothing(const surg_value *input) {
  return !*surg_value_name(input) && !surg_value_first_use(input);
}

/* Whether input i of the branch can be replaced by the value it refers to, or is unused. */
static bool is_meant(mending *k, const surg_node *n, const surg_graph *branch, size_t i) {
  surg_value *by = meant(n, branch, i);
  if (!by && is_nothing(surg_graph_input(branch, i))) return true;
  if (!by || (is_after(by, n) && !is_free(k, surg_value_producer(by, NULL), n))) return false;
  return surg_value_can_replace(surg_graph_input(branch, i), by) == SURG_REPLACE_YES;
}

/* The first input of the branch that refers to no value; NULL: all do. */
static const surg_value *meaningless(mending *k, const surg_node *n, const surg_graph *branch) {
  for (size_t i = 0; i < surg_graph_input_count(branch); i++)
    if (!is_meant(k, n, branch, i)) return surg_graph_input(branch, i);
  return NULL;
}

static bool captures(mending *k, surg_node *n, surg_graph *branch) {
  const size_t count = surg_graph_input_count(branch);
  surg_value **by = surg_pass_alloc(k->p, (count + 1) * sizeof *by);
  if (!by) return false;
  for (size_t i = 0; i < count; i++) by[i] = meant(n, branch, i);
  for (size_t i = 0; i < count; i++) {
    surg_value *in = surg_graph_input(branch, i);
    if (!by[i]) continue;
    /* The input is renamed first, so that it does not hide the outer value. */
    const char *fresh = surg_graph_fresh_name(branch, "captured");
    if (!fresh || surg_value_rename(in, fresh) != SURG_OK) return false;
    if (surg_value_replace(in, by[i]) != SURG_OK) return false;
  }
  for (size_t i = count; i-- > 0;)
    if (surg_graph_remove_input(branch, i) != SURG_OK) return false;
  mend_did(k, n, SURG_EXACT,
           "%s listed %zu captured value%s as input%s: the list is empty now",
           surg_graph_parent_attr(branch), count, count == 1 ? "" : "s", count == 1 ? "" : "s");
  return true;
}

static bool branches(mending *k, surg_node *n) {
  bool positional = surg_node_input_count(n) > 1, any = false, moves = false;
  for (size_t i = 0; i < BRANCHES; i++) {
    const surg_graph *branch = surg_node_subgraph(n, i);
    if (!branch || surg_graph_input_count(branch) == 0) continue;
    any = true;
    moves = moves || any_after(n, branch);
    const surg_value *none = meaningless(k, n, branch);
    if (!none) continue;
    mend_leaves(k, n, "input '%.100s' of its %s names no value that is defined before the node",
                surg_value_name(none), surg_graph_parent_attr(branch));
    return true;
  }
  if (!any || !mend_may(k, SURG_EXACT)) return true;
  for (size_t i = 0; i < BRANCHES; i++) {
    surg_graph *branch = surg_node_subgraph(n, i);
    if (branch && surg_graph_input_count(branch) && !captures(k, n, branch)) return false;
  }
  if (positional && surg_node_trim_inputs(n, 1) != SURG_OK) return false;
  return !moves || surg_graph_toposort(surg_node_graph(n), NULL) == SURG_OK;
}

/* --- absent inputs and outputs --- */

static bool trailing(mending *k, surg_node *n, const surg_schema *s) {
  size_t count = surg_node_input_count(n);
  const surg_function *f = surg_node_function(n);
  const surg_graph *body = surg_node_subgraph(n, 0);
  size_t most = f ? surg_graph_input_count(surg_function_graph(f)) : surg_schema_max_inputs(s);
  /* Loop and Scan have as many inputs as their body. */
  if (most == SIZE_MAX && body) most = surg_graph_input_count(body);
  const bool variadic = most == SIZE_MAX;
  while (count && !surg_node_input(n, count - 1) && (count > most || variadic)) count--;
  const size_t absent = surg_node_input_count(n) - count;
  if (!absent || count < (f ? 0 : surg_schema_min_inputs(s)) || !mend_may(k, SURG_EXACT))
    return true;
  if (surg_node_trim_inputs(n, count) != SURG_OK) return false;
  mend_did(k, n, SURG_EXACT, "%zu absent input%s at the end: removed", absent,
           absent == 1 ? "" : "s");
  return true;
}

static bool unnamed_outputs(mending *k, surg_node *n, const surg_schema *s) {
  for (size_t i = 0; i < surg_schema_min_outputs(s) && i < surg_node_output_count(n); i++) {
    if (surg_node_output(n, i) || !mend_may(k, SURG_EXACT)) continue;
    if (!surg_node_add_output(n, i)) return false;
    mend_did(k, n, SURG_EXACT,
             "output %zu, which the operator always gives, had no name: now '%.100s'", i,
             surg_value_name(surg_node_output(n, i)));
  }
  return true;
}

/* Gives a body an Identity for each output that is a value of an outer graph. */
static bool outer_outputs(mending *k, surg_graph *g) {
  if (surg_graph_get_kind(g) != SURG_GRAPH_SUBGRAPH || surg_graph_opset(g, "") <= 0) return true;
  for (size_t i = 0; i < surg_graph_output_count(g); i++) {
    surg_value *v = surg_graph_output(g, i);
    if (!v || surg_value_graph(v) == g || surg_value_is_undefined(v)) continue;
    if (!mend_may(k, SURG_EXACT)) continue;
    surg_node *made = surg_graph_add_node(g, NULL, NULL, "Identity", 1);
    if (!made || surg_node_set_input(made, 0, v) != SURG_OK) return false;
    if (surg_graph_set_output(g, i, surg_node_output(made, 0)) != SURG_OK) return false;
    mend_did(k, surg_graph_parent_node(g), SURG_EXACT,
             "output %zu of its %s is a value of an outer graph: now an Identity of it", i,
             surg_graph_parent_attr(g));
  }
  return true;
}

/* Erases initializers without a name, which nothing can read. */
static bool nameless(mending *k, surg_graph *g) {
  for (surg_value *v = surg_graph_next_initializer(g, NULL), *next; v; v = next) {
    next = surg_graph_next_initializer(g, v);
    if (*surg_value_name(v) || surg_value_is_input(v) || surg_value_first_use(v)) continue;
    if (!mend_may(k, SURG_EXACT)) continue;
    if (surg_value_erase_initializer(v) != SURG_OK) return false;
    mend_did(k, surg_graph_parent_node(g), SURG_EXACT,
             "an initializer without a name is removed: nothing can read it");
  }
  return true;
}

static bool is_idle(const mending *k, const surg_node *n) {
  return !surg_node_input_count(n) && !surg_node_output_count(n) && !surg_pass_keeps_node(k->p, n);
}

static bool erase(mending *k, surg_node *n) {
  if (!mend_may(k, SURG_EXACT)) return true;
  mend_did(k, n, SURG_EXACT, "the node is removed: it has neither inputs nor outputs");
  return surg_node_erase(n) == SURG_OK;
}

static bool node(mending *k, surg_node *n) {
  const surg_schema *s = mend_schema(n);
  if ((!s && !surg_node_function(n)) || surg_pass_keeps_node(k->p, n)) return true;
  if (s && surg_schema_op(s) == SURG_OP_If && !branches(k, n)) return false;
  if (!trailing(k, n, s)) return false;
  return !s || unnamed_outputs(k, n, s);
}

bool mend_bodies(mending *k) {
  for (surg_graph *g = surg_model_next_graph(k->m, NULL); g; g = surg_model_next_graph(k->m, g)) {
    if (!nameless(k, g)) return false;
    for (surg_node *n = surg_graph_first_node(g), *next; n; n = next) {
      next = surg_node_next(n);
      if (is_idle(k, n) ? !erase(k, n) : !node(k, n)) return false;
    }
    if (!outer_outputs(k, g)) return false;
  }
  return true;
}
