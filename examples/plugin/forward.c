/* SPDX-License-Identifier: Apache-2.0 */
/* A plugin with one pass, `forward`: removes nodes of operators that only hand their input on, such
 * as probes and markers of a training framework, wherever they stand.
 *
 *   before: (x) => (y) { a = Abs (x)   b = com.acme.Probe (a)   y = Neg (b) }
 *   after:  (x) => (y) { a = Abs (x)   y = Neg (a) }                  forward{op=com.acme.Probe}
 *
 * Needs sorted. Keeps sorted, types. Exact, if the operators do what the user says of them. */
#include <onnxsurg/plugin.h>
#include <string.h>

/* Whether the user listed the operator, as `Type` or `domain.Type`. */
static bool listed(surg_pass_ctx *p, const surg_node *n) {
  const char *domain = surg_node_domain(n), *type = surg_node_op_type(n);
  size_t d = strlen(domain);
  for (size_t i = 0; i < surg_pass_list_count(p, "op"); i++) {
    const char *op = surg_pass_list_at(p, "op", i);
    if (d && strncmp(op, domain, d) == 0 && op[d] == '.') op += d + 1;
    if (strcmp(op, type) == 0) return true;
  }
  return false;
}

/* One input, one output; and the output's name is not what an Identity alone could keep. */
static bool removable(surg_pass_ctx *p, const surg_node *n) {
  const surg_value *in = surg_node_input(n, 0), *out = surg_node_output(n, 0);
  if (!in || !out || surg_node_input_count(n) != 1 || surg_node_output_count(n) != 1) return false;
  surg_replace how = surg_value_can_replace(out, in);
  if (how == SURG_REPLACE_BY_LABEL && surg_pass_keeps_value(p, in)) return false;
  return (how == SURG_REPLACE_YES || how == SURG_REPLACE_BY_LABEL) && !surg_pass_keeps_node(p, n);
}

/* Called for every graph: functions and subgraphs before what is around them. */
static surg_pass_result run(surg_pass_ctx *p, surg_graph *g) {
  surg_pass_result result = SURG_PASS_UNCHANGED;
  for (surg_node *n = surg_graph_first_node(g), *next; n; n = next) {
    next = surg_node_next(n); /* before n goes */
    if (!listed(p, n) || !removable(p, n)) continue;
    if (!surg_pass_allow(p)) break;
    surg_status s = surg_value_replace(surg_node_output(n, 0), surg_node_input(n, 0));
    if (!s) s = surg_node_erase(n);
    if (s) return SURG_PASS_FAILED; /* the call has said why */
    surg_pass_count(p, "nodes", 1);
    result = SURG_PASS_CHANGED;
  }
  return result;
}

static const surg_option options[] = {
    SURG_OPTION(LIST, "op", NULL, "operators that forward, as Type or domain.Type"),
};

static const surg_pass forward = {
    SURG_PASS_HEAD(GRAPH, "forward", "remove nodes that only hand their input on"),
    SURG_PASS_OPTIONS(options),
    .needs = SURG_FACT_SORTED,
    .keeps = SURG_FACT_SORTED | SURG_FACT_TYPES,
    .exactness = SURG_EXACT,
    .run = run,
};

static surg_status init(surg_registry *registry) {
  return surg_registry_add_pass(registry, &forward);
}

SURG_PLUGIN_ENTRY("forward", "1.0", init)
