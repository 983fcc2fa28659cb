/* SPDX-License-Identifier: Apache-2.0 */
/* Replaces operators by others that compute the same: those named, by the rules for substitution
 * (passes/rules/substitute.rules).
 *
 *   before: (x) => (y) { y = HardSwish (x) }
 *   after:  (x) => (y) { t = Add (x, 3)   c = Clip (t, 0, 6)   d = Div (c, 6)   y = Mul (x, d) }
 *
 * Needs sorted, types. Keeps sorted. As exact as the rules say they are. */
#include <onnxsurg/onnxsurg.h>
#include <stdio.h>
#include <string.h>

/* Whether `spec` ("Gelu", "com.microsoft.Gelu") names the operator. */
static bool names(const char *spec, const char *domain, const char *op_type) {
  const size_t n = strlen(domain);
  if (n == 0) return strcmp(spec, op_type) == 0;
  return strncmp(spec, domain, n) == 0 && spec[n] == '.' && strcmp(spec + n + 1, op_type) == 0;
}

static bool named(const surg_pass_ctx *p, const char *domain, const char *op_type) {
  for (size_t i = 0; i < surg_pass_list_count(p, "op"); i++)
    if (names(surg_pass_list_at(p, "op", i), domain, op_type)) return true;
  return false;
}

static bool want(void *user, const surg_rule *r) {
  return strcmp(surg_rule_group(r), "substitute") == 0 &&
         named(user, surg_rule_domain(r), surg_rule_op_type(r));
}

/* Every operator that is named has a rule, or nothing can come of it. */
static surg_pass_result check_names(surg_pass_ctx *p) {
  surg_context *ctx = surg_pass_context(p);
  const size_t rules = surg_rule_count(ctx), n = surg_pass_list_count(p, "op");
  if (n == 0) return surg_pass_usage(p, "option op is missing: which operators?");
  for (size_t i = 0; i < n; i++) {
    const char *spec = surg_pass_list_at(p, "op", i);
    bool found = false;
    for (size_t k = 0; k < rules && !found; k++) {
      const surg_rule *r = surg_rule_at(ctx, k);
      found = strcmp(surg_rule_group(r), "substitute") == 0 &&
              names(spec, surg_rule_domain(r), surg_rule_op_type(r));
    }
    if (found) continue;
    char text[200];
    snprintf(text, sizeof text, "option op: there is no rule that replaces %.100s", spec);
    return surg_pass_usage(p, text);
  }
  return SURG_PASS_UNCHANGED;
}

/* What is left says why, once for each operator. */
static void tell_left(surg_pass_ctx *p, surg_graph *g) {
  surg_context *ctx = surg_pass_context(p);
  const size_t rules = surg_rule_count(ctx);
  for (surg_node *n = surg_graph_first_node(g); n; n = surg_node_next(n)) {
    if (!named(p, surg_node_domain(n), surg_node_op_type(n))) continue;
    surg_pass_count(p, "nodes left", 1);
    for (size_t k = 0; k < rules; k++) {
      const surg_rule *r = surg_rule_at(ctx, k);
      if (!want(p, r) || strcmp(surg_rule_op_type(r), surg_node_op_type(n)) != 0) continue;
      const char *why = surg_rule_explain(r, n);
      char text[200];
      snprintf(text, sizeof text, "not replaced: rule %.80s: %s", surg_rule_name(r),
               why ? why : "it could not be made");
      surg_pass_note(p, n, text);
    }
  }
}

static surg_pass_result run(surg_pass_ctx *p, surg_graph *g) {
  if (check_names(p) == SURG_PASS_FAILED) return SURG_PASS_FAILED;
  const surg_pass_result r = surg_rewrite_graph(p, g, want, p);
  if (r != SURG_PASS_FAILED) tell_left(p, g);
  return r;
}

static const surg_option options[] = {
    {"op", SURG_OPTION_LIST, NULL, "operators to replace: HardSwish+com.microsoft.Gelu"},
};

const surg_pass surg__pass_replace = {
    .size = sizeof(surg_pass),
    .scope = SURG_SCOPE_GRAPH,
    .name = "replace",
    .help = "replace operators by others that compute the same",
    .options = options,
    .option_count = sizeof options / sizeof *options,
    .needs = SURG_FACT_SORTED | SURG_FACT_TYPES,
    .keeps = SURG_FACT_SORTED,
    .exactness = SURG_ULP,
    .run = run,
};
