/* SPDX-License-Identifier: Apache-2.0 */
/* Rewrites operators that ONNX withdrew, and framework operators that exporters left in the
 * model, with consent, by the rules of group `withdrawn` (passes/rules/withdrawn.rules). See
 * mend.h. */
#include <string.h>

#include "../util/domains.h"
#include "mend.h"

#define ATEN "org.pytorch.aten" /* domain of operators that PyTorch's exporter left */

static bool is_ours(void *user, const surg_rule *r) {
  (void)user;
  return strcmp(surg_rule_group(r), "withdrawn") == 0 || strcmp(surg_rule_domain(r), ATEN) == 0;
}

/* Sets the domain of an ATen node without one, as old exporters wrote it. */
static bool name_domain(mending *k, surg_node *n) {
  static const char op[] = "ATen";
  surg_graph *g = surg_node_graph(n);
  const surg_attr *a = surg_node_attr(n, "operator");
  const bool named = a && surg_attr_get_kind(a) == SURG_ATTR_STRING;
  if (!named || *surg_node_domain(n) || strcmp(surg_node_op_type(n), op) != 0) return true;
  if (!mend_allows(k, SURG_APPROX) || surg_pass_keeps_node(k->p, n) || !mend_may(k, SURG_APPROX))
    return true;
  if (surg_graph_opset(g, ATEN) == 0 && domains_import(g, ATEN, 1) != SURG_OK) return false;
  if (surg_node_set_op(n, ATEN, op) != SURG_OK) return false;
  mend_did(k, n, SURG_APPROX, "operator ATen without a domain is moved to domain " ATEN);
  return true;
}

/* The rules that is_ours selects. A context has more than a thousand; comparing each node with all
 * of them took most of the time of a check. */
typedef struct withdrawn {
  const surg_rule **rules;
  size_t n;
} withdrawn;

static bool collect(const mending *k, withdrawn *w) {
  surg_context *ctx = surg_pass_context(k->p);
  const size_t n = surg_context_rule_count(ctx);
  *w = (withdrawn){.rules = surg_pass_alloc(k->p, (n + 1) * sizeof *w->rules)};
  for (size_t i = 0; w->rules && i < n; i++) {
    const surg_rule *r = surg_context_rule(ctx, i);
    if (is_ours(NULL, r)) w->rules[w->n++] = r;
  }
  return w->rules != NULL;
}

/* The rule that rewrites the node, or NULL; *why: the reason if there are rules but none
 * matches. */
static const surg_rule *rule_for(const withdrawn *w, surg_node *n, const char **why) {
  *why = NULL;
  for (size_t i = 0; i < w->n; i++) {
    const surg_rule *r = w->rules[i];
    if (strcmp(surg_rule_op_type(r), surg_node_op_type(n)) != 0 ||
        strcmp(surg_rule_domain(r), surg_node_domain(n)) != 0)
      continue;
    const char *fault = surg_rule_explain(r, n);
    if (!fault) return r;
    *why = fault;
  }
  return NULL;
}

/* Notes which nodes the rules will rewrite; returns whether there are any. */
static bool announce(mending *k, const withdrawn *w, surg_graph *g) {
  bool any = false;
  for (surg_node *n = surg_graph_first_node(g); n; n = surg_node_next(n)) {
    const char *why;
    if (!name_domain(k, n)) return false;
    if (surg_node_class(n) != SURG_OP_CLASS_CUSTOM || surg_pass_keeps_node(k->p, n)) continue;
    const surg_rule *r = rule_for(w, n, &why);
    if (why)
      mend_leaves(k, n, "ONNX does not have this operator, and no rule replaces it: %s", why);
    if (r && !mend_allows(k, SURG_APPROX))
      mend_leaves(k, n, "ONNX does not have this operator; --allow approx rewrites it");
    if (!r || !mend_allows(k, SURG_APPROX)) continue;
    mend_did(k, n, SURG_APPROX, "ONNX does not have this operator: rewritten by rule %s",
             surg_rule_name(r));
    any = true;
  }
  return any;
}

bool mend_withdrawn(mending *k) {
  withdrawn w;
  if (surg_model_infer(k->m) != SURG_OK || !collect(k, &w)) return false;
  for (surg_graph *g = surg_model_next_graph(k->m, NULL); g; g = surg_model_next_graph(k->m, g)) {
    if (!announce(k, &w, g)) continue;
    if (surg_pass_rewrite_graph(k->p, g, is_ours, NULL) == SURG_PASS_FAILED) return false;
    if (surg_model_infer(k->m) != SURG_OK) return false;
  }
  return true;
}
