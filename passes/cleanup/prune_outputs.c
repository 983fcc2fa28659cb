/* SPDX-License-Identifier: Apache-2.0 */
/* prune: removes unused outputs of live nodes. An output is made absent only if the schema
 * allows it. Outputs of If, Loop and Scan are removed together with the output entries of their
 * bodies. Other operators with a variable number of outputs keep them all, because the count has
 * a meaning (Split). Unknown operators and those of a runtime keep theirs. */
#include <assert.h>
#include <onnxsurg/ops.h>

#include "prune.h"

/* Before opset 14 BatchNormalization runs in training mode if it has more than one output. */
static bool count_matters(const surg_node *n) {
  return surg_node_op(n) == SURG_OP_BatchNormalization;
}

static bool unwanted_output(const prune *pr, const surg_node *n, size_t i) {
  const surg_value *v = surg_node_output(n, i);
  return v && prune_unwanted(pr, v);
}

static void drop_optional(prune *pr, surg_node *n, const surg_schema *s) {
  if (surg_schema_max_outputs(s) == SIZE_MAX || count_matters(n) || surg_schema_contrib(s)) return;
  for (size_t i = surg_node_output_count(n); i-- > surg_schema_min_outputs(s) && !pr->stop;) {
    if (!unwanted_output(pr, n, i) || surg_pass_keeps_node(pr->p, n) || !prune_may(pr)) continue;
    prune_did(pr, surg_node_drop_output(n, i), "outputs");
  }
}

/* The subgraph in an attribute, or NULL: absent, or an attribute reference. */
static surg_graph *body_of(const surg_node *n, const char *name) {
  const surg_attr *a = surg_node_attr(n, name);
  return a && surg_attr_get_kind(a) == SURG_ATTR_GRAPH ? surg_attr_graph(a, 0) : NULL;
}

/* Removes output i of the node together with output `at` of each body. */
static void cut(prune *pr, surg_node *n, size_t i, surg_graph *a, surg_graph *b, size_t at) {
  assert(a && n && a != b);
  if (!prune_may(pr)) return;
  surg_status s = surg_graph_remove_output(a, at);
  if (!s && b) s = surg_graph_remove_output(b, at);
  if (!s) s = surg_node_remove_output(n, i);
  prune_did(pr, s, "outputs of If, Loop and Scan");
}

/* Whether output i can be removed; absent outputs can, because their bodies still have an entry. */
static bool removable(const prune *pr, const surg_node *n, size_t i) {
  return surg_node_output_count(n) > 1 && (!surg_node_output(n, i) || unwanted_output(pr, n, i));
}

static void cut_if(prune *pr, surg_node *n) {
  surg_graph *then = body_of(n, "then_branch"), *other = body_of(n, "else_branch");
  size_t count = surg_node_output_count(n);
  if (!then || !other || surg_graph_output_count(then) != count ||
      surg_graph_output_count(other) != count)
    return;
  for (size_t i = count; i-- > 0 && !pr->stop;)
    if (removable(pr, n, i)) cut(pr, n, i, then, other, i);
}

/* Removes unused scan outputs of a Loop. Inputs: count, condition, carried values. Body:
 * (iteration, condition, carried) => (condition, carried, scanned). Node outputs: carried,
 * scanned. */
static void cut_loop(prune *pr, surg_node *n) {
  surg_graph *body = body_of(n, "body");
  size_t count = surg_node_output_count(n), inputs = surg_node_input_count(n);
  size_t carried = inputs > 2 ? inputs - 2 : 0;
  if (!body || carried > count || surg_graph_input_count(body) != carried + 2 ||
      surg_graph_output_count(body) != count + 1)
    return;
  assert(carried <= count);
  for (size_t i = count; i-- > carried && !pr->stop;)
    if (removable(pr, n, i)) cut(pr, n, i, body, NULL, i + 1);
}

/* Removes entry i of an attribute that has one entry per scan output; an absent attribute stays.
 * With s NULL only checks. False: the attribute has another form. */
static bool scan_list(surg_node *n, const char *name, size_t scanned, size_t i, surg_pass_ctx *p,
                      surg_status *s) {
  if (!surg_node_attr(n, name)) return true;
  size_t count;
  const int64_t *old = surg_node_ints(n, name, &count);
  if (!old || count != scanned) return false;
  if (!s) return true; /* check only */
  assert(i < count && count > 0);
  int64_t *cut_list = surg_pass_alloc(p, count * sizeof *cut_list);
  if (!cut_list) {
    *s = SURG_ENOMEM;
    return true;
  }
  for (size_t k = 0, to = 0; k < count; k++)
    if (k != i) cut_list[to++] = old[k];
  assert(p);
  *s = count == 1 ? surg_node_remove_attr(n, name)
                  : surg_node_set_ints(n, name, cut_list, count - 1);
  return true;
}

/* Removes unused scan outputs of a Scan from opset 9 on. Inputs: states, scanned. Body: (states,
 * slices) => (states, slices). */
static void cut_scan(prune *pr, surg_node *n, const surg_schema *s) {
  static const char axes[] = "scan_output_axes", directions[] = "scan_output_directions";
  surg_graph *body = body_of(n, "body");
  int64_t scan_inputs = surg_node_int(n, "num_scan_inputs", -1);
  size_t count = surg_node_output_count(n), inputs = surg_node_input_count(n);
  if (surg_schema_since(s) < 9 || !body || scan_inputs < 1 || (uint64_t)scan_inputs > inputs)
    return;
  size_t states = inputs - (size_t)scan_inputs;
  if (states > count || surg_graph_input_count(body) != inputs ||
      surg_graph_output_count(body) != count)
    return;
  assert(states < inputs && states <= count);
  for (size_t i = count; i-- > states && !pr->stop;) {
    size_t scanned = surg_node_output_count(n) - states;
    if (!removable(pr, n, i) || !scan_list(n, axes, scanned, 0, pr->p, NULL) ||
        !scan_list(n, directions, scanned, 0, pr->p, NULL))
      continue;
    surg_status st = SURG_OK;
    cut(pr, n, i, body, NULL, i);
    if (pr->stop) return;
    scan_list(n, axes, scanned, i - states, pr->p, &st);
    if (!st) scan_list(n, directions, scanned, i - states, pr->p, &st);
    if (st) pr->stop = pr->failed = true;
  }
}

void prune_node_outputs(prune *pr, surg_node *n) {
  const surg_schema *s = surg_node_schema(n);
  if (!s || surg_node_output_count(n) == 0) return;
  switch (surg_node_op(n)) {
    case SURG_OP_If:
      cut_if(pr, n);
      break;
    case SURG_OP_Loop:
      cut_loop(pr, n);
      break;
    case SURG_OP_Scan:
      cut_scan(pr, n, s);
      break;
    default:
      drop_optional(pr, n, s);
      break;
  }
}
