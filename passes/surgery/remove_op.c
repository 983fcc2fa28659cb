/* SPDX-License-Identifier: Apache-2.0 */
/* Removes every node of the named operators; an input replaces each output. The import of a domain
 * is removed with its last operator. Names and types of model outputs stay: if the replacing value
 * cannot get the name (it is an input, or another output), an Identity is inserted. Constants that
 * lose their last consumer stay until `prune`.
 *
 *   before: (x) => (y) { a = Abs (x)   f = com.acme.FooOp (a)   y = Relu (f) }
 *   after:  (x) => (y) { a = Abs (x)   y = Relu (a) }                  remove-op{op=com.acme.FooOp}
 *
 * Needs sorted, types. Keeps sorted. Lossy: the computation of the operator is removed. */
#include <stdio.h>
#include <string.h>

#include "../util/bypass.h"
#include "../util/domains.h"

static surg_pass_result take_out(surg_pass_ctx *p) {
  const surg_model *m = surg_pass_model(p);
  surg_pass_result result = SURG_PASS_UNCHANGED;
  for (surg_graph *g = surg_model_next_graph(m, NULL); g; g = surg_model_next_graph(m, g))
    for (surg_node *n = surg_graph_first_node(g), *next; n; n = next) {
      next = surg_node_next(n);
      if (!domains_listed(p, "op", surg_node_domain(n), surg_node_op_type(n))) continue;
      const surg_pass_result one = bypass_node(p, n);
      if (one == SURG_PASS_FAILED) return one;
      if (one < result) result = one;
    }
  return result;
}

/* Removes the unused import of the domain of "com.acme.FooOp"; ONNX's own import stays. */
static surg_pass_result drop_import(surg_pass_ctx *p, const char *spec) {
  const char *op, *domain = domains_split(p, spec, &op);
  if (!domain) return SURG_PASS_FAILED;
  return *domain ? bypass_drop_import(p, domain) : SURG_PASS_UNCHANGED;
}

static surg_pass_result run(surg_pass_ctx *p, surg_graph *unused) {
  (void)unused;
  const size_t n = surg_pass_list_count(p, "op");
  if (n == 0) return surg_pass_usage(p, "needs op=, such as op=com.acme.FooOp");
  if (bypass_check_map(p) == SURG_PASS_FAILED) return SURG_PASS_FAILED;
  for (size_t i = 0; i < n; i++) domains_found_anywhere(p, surg_pass_list_at(p, "op", i));
  const surg_pass_result result = take_out(p);
  for (size_t i = 0; i < n && result == SURG_PASS_CHANGED; i++)
    if (drop_import(p, surg_pass_list_at(p, "op", i)) == SURG_PASS_FAILED) return SURG_PASS_FAILED;
  return result;
}

static const surg_option options[] = {
    SURG_OPTION(LIST, "op", NULL, "operators to remove: com.acme.FooOp+Dropout"),
    BYPASS_MAP,
};

const surg_pass surg__pass_remove_op = {
    SURG_PASS_HEAD(MODEL, "remove-op", "remove nodes of an operator; an input replaces the output"),
    SURG_PASS_OPTIONS(options),
    .needs = SURG_FACT_SORTED | SURG_FACT_TYPES,
    .keeps = SURG_FACT_SORTED,
    .exactness = SURG_LOSSY,
    .edits = true,
    .run = run,
};
