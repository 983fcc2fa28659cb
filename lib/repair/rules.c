/* SPDX-License-Identifier: Apache-2.0 */
/* The rules that a search tries, by the operator that they start from. Made once for a search:
 * there are thousands of rules, and look-ahead searches ask for them again and again. */
#include <stdio.h>
#include <string.h>

#include "repair/repair.h"

static void put_name(const surg_rule *rule, char *op, size_t size) {
  const char *domain = surg_rule_domain(rule);
  snprintf(op, size, "%s%s%s", domain, domain[0] ? "." : "", surg_rule_op_type(rule));
}

/* Adds the rules of a group. `heads`: where the set of an operator is, by its name. */
static bool add_group(surg_context *ctx, const char *group, surg__memo *heads,
                      surg__rule_sets *out) {
  for (size_t i = 0; i < surg_context_rule_count(ctx); i++) {
    const surg_rule *rule = surg_context_rule(ctx, i);
    surg__rule_set fresh = {.n = 0};
    size_t at;
    if (strcmp(surg_rule_group(rule), group) != 0) continue;
    put_name(rule, fresh.op, sizeof fresh.op);
    const uint64_t key = surg__hash(ctx, fresh.op, strlen(fresh.op));
    if (!surg__memo_find(heads, key, &at) || strcmp(out->items[at].op, fresh.op) != 0) {
      at = out->count;
      if (!surg__vec_push(ctx, out, fresh)) return false;
      surg__memo_note(ctx, heads, key, at);
    }
    surg__rule_set *set = &out->items[at];
    if (set->n < SURG_COUNT(set->items)) set->items[set->n++] = rule;
  }
  return true;
}

const surg__rule_sets *surg__repair_rules(surg__repair *r) {
  static const char *const groups[] = {"forms", "substitute"};
  surg__rule_sets *all = &r->own_rules;
  if (r->rules || all->count) return r->rules ? r->rules : all;
  for (size_t i = 0; i < SURG_COUNT(groups); i++) {
    surg__memo heads = {0};
    const bool done = add_group(r->ctx, groups[i], &heads, all);
    surg__memo_free(r->ctx, &heads);
    if (!done) {
      r->failure = surg__alloc_status(r->ctx);
      break;
    }
  }
  return all;
}

#define COMPLETE UINT64_C(1) /* key of the entry that a table of all rules has */

static uint64_t key_of(surg_context *ctx, const char *op) {
  static const char standard[] = "ai.onnx.";
  const char *bare = strncmp(op, standard, sizeof standard - 1) ? op : op + sizeof standard - 1;
  return surg__hash(ctx, bare, strlen(bare));
}

/* Notes the operators of all rules that `replace` uses; a table without all of them stays
 * incomplete. */
static void note_replaced(surg_context *ctx, surg__memo *replaced) {
  static const char *const groups[] = {"substitute", "opset", "user"};
  const size_t n = surg_context_rule_count(ctx);
  bool all = true;
  for (size_t i = 0; i < n && all; i++) {
    const surg_rule *rule = surg_context_rule(ctx, i);
    char op[256];
    size_t at, k = 0;
    while (k < SURG_COUNT(groups) && strcmp(surg_rule_group(rule), groups[k]) != 0) k++;
    if (k == SURG_COUNT(groups)) continue;
    put_name(rule, op, sizeof op);
    surg__memo_note(ctx, replaced, key_of(ctx, op), 0);
    all = surg__memo_find(replaced, key_of(ctx, op), &at);
  }
  if (all) surg__memo_note(ctx, replaced, COMPLETE, 0);
}

bool surg__repair_replaces(surg__repair *r, const char *op) {
  surg__memo *all = r->replaced ? r->replaced : &r->own_replaced;
  size_t at;
  if (!all->count) note_replaced(r->ctx, all);
  return !surg__memo_find(all, COMPLETE, &at) || surg__memo_find(all, key_of(r->ctx, op), &at);
}

void surg__rule_sets_free(surg_context *ctx, surg__rule_sets *sets) {
  surg__vec_free(ctx, sets);
}
