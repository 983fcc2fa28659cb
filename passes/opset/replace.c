/* SPDX-License-Identifier: Apache-2.0 */
/* Replaces operators by equivalent ones: the named ones, by all rules of the groups substitute,
 * opset and user whose result does not contain the operator. `decompose` does it for all operators
 * that the standard defines by a function body. A domain means all of its operators, `foreign`
 * all operators that the standard does not define.
 *
 *   before: (x) => (y) { y = HardSwish (x) }
 *   after:  (x) => (y) { t = Add (x, 3)   c = Clip (t, 0, 6)   d = Div (c, 6)   y = Mul (x, d) }
 *
 * Rules less exact than ulp need consent, as in `opset`; rules of the user need none.
 *
 * Needs sorted, types. Keeps sorted. As exact as the rules state. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../util/allow.h"
#include "../util/domains.h"
#include "../util/nearest.h"

/* Whether any version of the operator has a function body in the standard. */
static bool composed(const char *domain, const char *op_type) {
  for (int64_t v = surg_schema_newest(domain); v > 0; v--) {
    const surg_schema *s = surg_schema_find(domain, op_type, v);
    if (surg_schema_has_body(s)) return true;
    v = s ? surg_schema_since(s) : 0;
  }
  return false;
}

/* Whether the operator is defined by a runtime and not by the standard. The runtime's operators in
 * the standard's own domain have a schema too. */
static bool foreign(const char *domain, const char *op_type) {
  if (!domains_default(domain)) return strncmp(domain, "ai.onnx.", 8) != 0;
  const surg_schema *s = surg_schema_find("", op_type, surg_schema_newest(""));
  return s && surg_schema_contrib(s);
}

/* Whether `spec` is the whole of a domain: "com.microsoft". The standard's own is none. */
static bool spans(const char *spec, const char *domain) {
  return !domains_default(domain) && strcmp(spec, domain) == 0;
}

/* Whether the user asked for all operators of the domain, or for all foreign ones. Nodes that stay
 * are then listed; a missing consent is no failure. */
static bool meant_in_bulk(const surg_pass_ctx *p, const char *domain, const char *op_type) {
  static const char *const lists[] = {"op", "ops"};
  if (surg_pass_bool(p, "foreign") && foreign(domain, op_type)) return true;
  for (int k = 0; k < 2; k++)
    for (size_t i = 0; i < surg_pass_list_count(p, lists[k]); i++)
      if (spans(surg_pass_list_at(p, lists[k], i), domain)) return true;
  return false;
}

static bool meant(const surg_pass_ctx *p, const char *domain, const char *op_type) {
  if (surg_pass_bool(p, "all") && composed(domain, op_type)) return true;
  return domains_listed(p, "op", domain, op_type) || domains_listed(p, "ops", domain, op_type) ||
         meant_in_bulk(p, domain, op_type);
}

/* Whether there is a rule of group substitute for the operator that r rewrites. */
static bool substituted(surg_context *ctx, const surg_rule *r) {
  const size_t rules = surg_context_rule_count(ctx);
  for (size_t k = 0; k < rules; k++) {
    const surg_rule *o = surg_context_rule(ctx, k);
    if (strcmp(surg_rule_group(o), "substitute") == 0 &&
        strcmp(surg_rule_op_type(o), surg_rule_op_type(r)) == 0 &&
        strcmp(surg_rule_domain(o), surg_rule_domain(r)) == 0)
      return true;
  }
  return false;
}

/* Whether r removes the operator. A substitution may keep it in a plainer form (pads instead of
 * auto_pad). A rule between opsets may produce it again; such rules are used only for operators
 * that have no substitution. */
static bool leads_away(surg_context *ctx, const surg_rule *r) {
  if (strcmp(surg_rule_group(r), "substitute") == 0) return true;
  if (strcmp(surg_rule_group(r), "user") != 0 && strcmp(surg_rule_group(r), "opset") != 0)
    return false;
  return !surg_rule_makes(r, surg_rule_domain(r), surg_rule_op_type(r)) || !substituted(ctx, r);
}

/* Whether r produces another operator that is to be replaced: two rules could alternate forever. */
static bool makes_named(surg_pass_ctx *p, const surg_rule *r) {
  static const char *const lists[] = {"op", "ops"};
  for (int k = 0; k < 2; k++)
    for (size_t i = 0; i < surg_pass_list_count(p, lists[k]); i++) {
      const char *spec = surg_pass_list_at(p, lists[k], i), *op;
      if (domains_named(spec, surg_rule_domain(r), surg_rule_op_type(r)) ||
          spans(spec, surg_rule_domain(r)))
        continue;
      const char *domain = domains_split(p, spec, &op);
      if (domain && surg_rule_makes(r, domain, op)) return true;
    }
  return false;
}

static bool serves(void *user, const surg_rule *r) {
  return meant(user, surg_rule_domain(r), surg_rule_op_type(r)) &&
         leads_away(surg_pass_context(user), r) && !makes_named(user, r);
}

static bool want(void *user, const surg_rule *r) {
  return serves(user, r) && surg_pass_allows_rule(user, r);
}

static bool replaceable(surg_context *ctx, const char *spec) {
  const size_t rules = surg_context_rule_count(ctx);
  for (size_t k = 0; k < rules; k++) {
    const surg_rule *r = surg_context_rule(ctx, k);
    if ((domains_named(spec, surg_rule_domain(r), surg_rule_op_type(r)) ||
         spans(spec, surg_rule_domain(r))) &&
        leads_away(ctx, r))
      return true;
  }
  return false;
}

/* Rejects names of operators that no rule replaces, and a missing name. */
static surg_pass_result check_names(surg_pass_ctx *p) {
  static const char *const lists[] = {"op", "ops"};
  surg_context *ctx = surg_pass_context(p);
  for (int k = 0; k < 2; k++)
    for (size_t i = 0; i < surg_pass_list_count(p, lists[k]); i++) {
      const char *spec = surg_pass_list_at(p, lists[k], i);
      char text[NEAREST_NAME + 200];
      nearest near = {.name = spec};
      if (replaceable(ctx, spec)) continue;
      for (size_t j = 0; j < surg_context_rule_count(ctx); j++) {
        const surg_rule *r = surg_context_rule(ctx, j);
        if (leads_away(ctx, r))
          nearest_offer_operator(&near, surg_rule_domain(r), surg_rule_op_type(r));
      }
      snprintf(text, sizeof text, "option %s: there is no rule that replaces %.100s%s", lists[k],
               spec, nearest_hint(&near));
      return surg_pass_usage(p, text);
    }
  if (surg_pass_list_count(p, "op") + surg_pass_list_count(p, "ops") || surg_pass_bool(p, "all") ||
      surg_pass_bool(p, "foreign"))
    return SURG_PASS_UNCHANGED;
  return surg_pass_usage(p, "option op is required: the operators to replace, such as op=Gelu");
}

/* Whether the user named the operator of the node, alone or with its domain. */
static bool named(const surg_pass_ctx *p, const surg_node *n) {
  const char *domain = surg_node_domain(n), *op_type = surg_node_op_type(n);
  return domains_listed(p, "op", domain, op_type) || domains_listed(p, "ops", domain, op_type) ||
         meant_in_bulk(p, domain, op_type);
}

/* Reports whether the graph has a node of a domain that the user named as a whole. */
static bool find_domain(surg_pass_ctx *p, const surg_graph *g, const char *spec) {
  surg_context *ctx = surg_pass_context(p);
  const size_t rules = surg_context_rule_count(ctx);
  bool whole = false, found = false;
  for (size_t k = 0; k < rules && !whole; k++)
    whole = spans(spec, surg_rule_domain(surg_context_rule(ctx, k)));
  if (!whole) return false;
  for (surg_node *n = surg_graph_first_node(g); n && !found; n = surg_node_next(n))
    found = spans(spec, surg_node_domain(n));
  char what[300];
  snprintf(what, sizeof what, "node of domain '%.200s'", spec);
  surg_pass_named(p, what, found);
  return true;
}

/* Reports for each name whether this graph has a node of that operator. */
static void find_names(surg_pass_ctx *p, const surg_graph *g) {
  static const char *const lists[] = {"op", "ops"};
  for (int k = 0; k < 2; k++)
    for (size_t i = 0; i < surg_pass_list_count(p, lists[k]); i++) {
      const char *spec = surg_pass_list_at(p, lists[k], i);
      if (!find_domain(p, g, spec)) domains_found(p, g, spec);
    }
}

/* The reason why a rule did not apply to n; *consent: only because its class is not allowed. */
static const char *why_not(surg_pass_ctx *p, const surg_rule *r, surg_node *n, bool *consent) {
  const char *why = surg_rule_explain(r, n);
  *consent = !why && !want(p, r);
  if (*consent)
    return allow_cure(surg_rule_exactness(r));
  return why ? why : "the node is protected, or the rewrite limit is reached";
}

/* Reasons why rules did not apply, each with the number of rules that it applies to. */
#define REASONS 8
typedef struct reasons {
  const char *why[REASONS];
  const char *rule[REASONS]; /* the first such rule */
  size_t rules[REASONS], n;
} reasons;

static bool add_reason(surg_pass_ctx *p, reasons *all, const char *why, const char *rule) {
  size_t i = 0;
  while (i < all->n && strcmp(all->why[i], why) != 0) i++;
  if (i == REASONS) return true;
  if (i == all->n) {
    char *copy = surg_pass_alloc(p, strlen(why) + 1);
    if (!copy) return false;
    all->why[i] = strcpy(copy, why);
    all->rule[i] = rule;
    all->rules[i] = 0;
    all->n++;
  }
  all->rules[i]++;
  return true;
}

/* Reports why the node was not replaced: as an error if the user named the operator and the node
 * is unprotected and no product of a rule, else as a note. */
static void tell(surg_pass_ctx *p, const surg_node *n, const reasons *all, bool old) {
  char text[1200];
  size_t used = (size_t)snprintf(text, sizeof text, "not replaced: ");
  if (!all->n) snprintf(text + used, sizeof text - used, "no rule replaces this operator");
  for (size_t i = 0; i < all->n && used < sizeof text; i++) {
    char more[40] = "";
    if (all->rules[i] > 1) snprintf(more, sizeof more, " and %zu more", all->rules[i] - 1);
    used += (size_t)snprintf(text + used, sizeof text - used, "%srule %.80s%s: %.240s",
                             i ? "; " : "", all->rule[i], more, all->why[i]);
  }
  if (old && named(p, n) && !surg_pass_keeps_node(p, n))
    surg_pass_left(p, n, text);
  else
    surg_pass_note(p, n, text);
}

/* The nodes of the named operators before the rewrite, as opposed to nodes that rules made. */
typedef struct nodes {
  surg_node **items; /* sorted by address */
  size_t n;
} nodes;

static int by_address(const void *a, const void *b) {
  const uintptr_t x = (uintptr_t)*(surg_node *const *)a, y = (uintptr_t)*(surg_node *const *)b;
  return (x > y) - (x < y);
}

static bool find_nodes(surg_pass_ctx *p, const surg_graph *g, nodes *out) {
  size_t count = 0;
  for (surg_node *n = surg_graph_first_node(g); n; n = surg_node_next(n)) count += named(p, n);
  *out = (nodes){.items = surg_pass_alloc(p, (count + 1) * sizeof *out->items)};
  if (!out->items) return false;
  for (surg_node *n = surg_graph_first_node(g); n; n = surg_node_next(n))
    if (named(p, n)) out->items[out->n++] = n;
  qsort(out->items, out->n, sizeof *out->items, by_address);
  return true;
}

static bool is_old(const nodes *before, surg_node *n) {
  return before->n && bsearch(&n, before->items, before->n, sizeof *before->items, by_address);
}

/* Reports why nodes were not replaced. Fails if a named operator is left only for lack of
 * consent. */
static surg_pass_result tell_left(surg_pass_ctx *p, surg_graph *g, const nodes *before) {
  surg_context *ctx = surg_pass_context(p);
  const size_t rules = surg_context_rule_count(ctx);
  for (surg_node *n = surg_graph_first_node(g); n; n = surg_node_next(n)) {
    reasons all = {.n = 0};
    if (surg_node_class(n) == SURG_OP_CLASS_FUNCTION ||
        !meant(p, surg_node_domain(n), surg_node_op_type(n)))
      continue;
    surg_pass_count(p, "nodes left", 1);
    for (size_t k = 0; k < rules; k++) {
      const surg_rule *r = surg_context_rule(ctx, k);
      char text[400];
      bool consent;
      if (strcmp(surg_rule_op_type(r), surg_node_op_type(n)) != 0 || !serves(p, r)) continue;
      const char *why = why_not(p, r, n, &consent);
      snprintf(text, sizeof text, "not replaced: rule %.80s: %.240s", surg_rule_name(r), why);
      if (consent && !surg_pass_bool(p, "all") && !surg_pass_keeps_node(p, n) &&
          !meant_in_bulk(p, surg_node_domain(n), surg_node_op_type(n)) &&
          !allow_waits(p, want, p, n))
        return surg_pass_fail(p, n, text);
      if (!add_reason(p, &all, why, surg_rule_name(r))) return SURG_PASS_FAILED;
    }
    tell(p, n, &all, is_old(before, n));
  }
  return SURG_PASS_UNCHANGED;
}

static surg_pass_result run(surg_pass_ctx *p, surg_graph *g) {
  if (allow_check(p) == SURG_PASS_FAILED || check_names(p) == SURG_PASS_FAILED)
    return SURG_PASS_FAILED;
  nodes before;
  find_names(p, g);
  if (!find_nodes(p, g, &before)) return SURG_PASS_FAILED;
  const surg_pass_result r = surg_pass_rewrite_graph(p, g, want, p);
  if (r == SURG_PASS_FAILED || tell_left(p, g, &before) == SURG_PASS_FAILED)
    return SURG_PASS_FAILED;
  return r;
}

static const surg_option options[] = {
    SURG_OPTION(LIST, "op", NULL, "operators or domains: HardSwish+com.microsoft"),
    SURG_OPTION(LIST, "ops", NULL, "the same as op"),
    SURG_OPTION(BOOL, "all", "false", "all that the standard defines as functions"),
    SURG_OPTION(BOOL, "foreign", "false", "all that the standard does not define"),
    ALLOW_OPTION,
};

const surg_pass surg__pass_replace = {
    SURG_PASS_HEAD(GRAPH, "replace", "replace operators by equivalent ones"),
    SURG_PASS_OPTIONS(options),
    .needs = SURG_FACT_SORTED | SURG_FACT_TYPES,
    .keeps = SURG_FACT_SORTED,
    .exactness = SURG_ROUNDING,
    .run = run,
};

const surg_pass surg__pass_decompose = {
    SURG_PASS_HEAD(GRAPH, "decompose", "replace operators by their definition: decompose{all}"),
    SURG_PASS_OPTIONS(options),
    .needs = SURG_FACT_SORTED | SURG_FACT_TYPES,
    .keeps = SURG_FACT_SORTED,
    .exactness = SURG_ROUNDING,
    .run = run,
};
