/* SPDX-License-Identifier: Apache-2.0 */
/* Applies rewrite rules: those of --rules, those of a group, or those named.
 *
 *   rule:   rule twice exact {
 *             match { y = Add (x, x) }  emit opset 7.. { y = Mul (x, 2.0 : dtype(x)) }
 *           }
 *   before: (x) => (y) { y = Add (x, x) }
 *   after:  (x) => (y) { y = Mul (x, two) }
 *
 * Needs sorted, types. Keeps sorted. As exact as the rules state. */
#include <onnxsurg/onnxsurg.h>
#include <stdio.h>
#include <string.h>

#include "../util/allow.h"

/* Whether a rule that was read later has the same name and so replaces this one. */
static bool replaced(surg_context *ctx, const surg_rule *r) {
  for (size_t i = surg_context_rule_count(ctx); i-- > 0;)
    if (strcmp(surg_rule_name(surg_context_rule(ctx, i)), surg_rule_name(r)) == 0)
      return surg_context_rule(ctx, i) != r;
  return false;
}

/* The options of a run, read once: every rule is compared with them. */
typedef struct choice {
  surg_pass_ctx *p;
  const char **names;
  size_t count;
  const char *group;
  bool exact;
} choice;

/* False: out of memory. */
static bool read_options(surg_pass_ctx *p, choice *c) {
  *c = (choice){.p = p,
                .count = surg_pass_list_count(p, "rule"),
                .group = surg_pass_string(p, "group"),
                .exact = surg_pass_bool(p, "exact")};
  c->names = surg_pass_alloc(p, (c->count + 1) * sizeof *c->names);
  for (size_t i = 0; c->names && i < c->count; i++) c->names[i] = surg_pass_list_at(p, "rule", i);
  return c->names;
}

/* Whether the options select the rule: by name, or without names by group (default: the user's). */
static bool meant(const choice *c, const surg_rule *r) {
  if (!c->count) return strcmp(surg_rule_group(r), c->group) == 0;
  for (size_t i = 0; i < c->count; i++)
    if (strcmp(c->names[i], surg_rule_name(r)) == 0) return !replaced(surg_pass_context(c->p), r);
  return false;
}

static bool want(void *user, const surg_rule *r) {
  const choice *c = user;
  return meant(c, r) && (!c->exact || surg_rule_exactness(r) == SURG_EXACT) &&
         surg_pass_allows_rule(c->p, r);
}

/* Rejects names that no rule has. */
static surg_pass_result check_names(const choice *c) {
  surg_context *ctx = surg_pass_context(c->p);
  const size_t rules = surg_context_rule_count(ctx);
  for (size_t i = 0; i < c->count; i++) {
    size_t k = 0;
    while (k < rules && strcmp(surg_rule_name(surg_context_rule(ctx, k)), c->names[i]) != 0) k++;
    if (k == rules) return surg_pass_usage(c->p, "option rule: there is no rule of that name");
  }
  return SURG_PASS_UNCHANGED;
}

/* Notes why a named rule does not apply to a node. */
static void note_miss(surg_pass_ctx *p, const surg_node *n, const surg_rule *r, const char *why) {
  char text[400];
  snprintf(text, sizeof text, "rule %.100s: %s", surg_rule_name(r), why);
  surg_pass_note(p, n, text);
}

static bool named(choice *c, const surg_rule *r, const char *name) {
  return strcmp(surg_rule_name(r), name) == 0 && want(c, r);
}

#define MISSES 64 /* nodes of which that is found out: each may be as much work as a match */

/* Notes for nodes of the operator why a named rule did not apply. */
static void tell_misses(choice *c, surg_graph *g, const char *name) {
  char rest[100];
  surg_context *ctx = surg_pass_context(c->p);
  for (size_t k = 0; k < surg_context_rule_count(ctx); k++) {
    const surg_rule *r = surg_context_rule(ctx, k);
    if (!named(c, r, name)) continue;
    size_t count = 0;
    const surg_node *last = NULL;
    for (surg_node *n = surg_graph_first_node(g); n; n = surg_node_next(n)) {
      if (strcmp(surg_rule_op_type(r), surg_node_op_type(n)) != 0) continue;
      last = n;
      if (count++ >= MISSES) continue;
      const char *why = surg_rule_explain(r, n);
      note_miss(c->p, n, r, why ? why : "it is protected, or the rewrite limit is reached");
    }
    if (count <= MISSES) continue;
    snprintf(rest, sizeof rest, "why is not noted of the last %zu nodes, of which this is one",
             count - MISSES);
    note_miss(c->p, last, r, rest);
  }
}

/* The first node to which a rule does not apply only because its class is not allowed, or NULL. */
static surg_node *kept_from(choice *c, surg_graph *g, const surg_rule *r) {
  for (surg_node *n = surg_graph_first_node(g); n; n = surg_node_next(n))
    if (strcmp(surg_rule_op_type(r), surg_node_op_type(n)) == 0 && !surg_pass_keeps_node(c->p, n) &&
        !surg_rule_explain(r, n) && !allow_waits(c->p, want, c, n))
      return n;
  return NULL;
}

static surg_pass_result tell_kept(choice *c, surg_graph *g) {
  surg_pass_ctx *p = c->p;
  surg_context *ctx = surg_pass_context(p);
  const bool all = !c->count;
  if (all && strcmp(c->group, "user") != 0) return SURG_PASS_UNCHANGED;
  for (size_t i = 0; i < surg_context_rule_count(ctx); i++) {
    const surg_rule *r = surg_context_rule(ctx, i);
    char text[200];
    if (!meant(c, r) || surg_pass_allows_rule(p, r)) continue;
    surg_node *n = kept_from(c, g, r);
    if (!n) continue;
    snprintf(text, sizeof text, "rule %.80s not applied: %s", surg_rule_name(r),
             allow_cure(surg_rule_exactness(r)));
    if (!all) return surg_pass_fail(p, n, text);
    surg_pass_note(p, n, text);
  }
  return SURG_PASS_UNCHANGED;
}

static surg_pass_result run(surg_pass_ctx *p, surg_graph *g) {
  choice c;
  if (!read_options(p, &c)) return SURG_PASS_FAILED;
  uint64_t *before = surg_pass_alloc(p, (c.count + 1) * sizeof *before);
  if (!before || check_names(&c) == SURG_PASS_FAILED) return SURG_PASS_FAILED;
  for (size_t i = 0; i < c.count; i++) before[i] = surg_pass_counted(p, c.names[i]);
  const surg_pass_result result = surg_pass_rewrite_graph(p, g, want, &c);
  if (tell_kept(&c, g) == SURG_PASS_FAILED) return SURG_PASS_FAILED;
  for (size_t i = 0; i < c.count && result != SURG_PASS_FAILED; i++) {
    const bool found = surg_pass_counted(p, c.names[i]) > before[i];
    char what[300];
    snprintf(what, sizeof what, "place that rule \"%.200s\" applies to", c.names[i]);
    surg_pass_named(p, what, found);
    if (!found) tell_misses(&c, g, c.names[i]);
  }
  return result;
}

static const surg_option options[] = {
    SURG_OPTION(LIST, "rule", NULL, "the rules to use; without it all of the group"),
    SURG_OPTION(STRING, "group", "user", "user: those of --rules; simplify; fuse"),
    SURG_OPTION(BOOL, "exact", "false", "only rules that keep every bit"),
    SURG_OPTION(INT, "max-growth", "0", "bytes of a constant that may be duplicated"),
};

const surg_pass surg__pass_rewrite = {
    SURG_PASS_HEAD(GRAPH, "rewrite", "rewrite by rules"),
    SURG_PASS_OPTIONS(options),
    .needs = SURG_FACT_SORTED | SURG_FACT_TYPES,
    .keeps = SURG_FACT_SORTED,
    .exactness = SURG_ROUNDING,
    .run = run,
};
