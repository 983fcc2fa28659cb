/* SPDX-License-Identifier: Apache-2.0 */
/* Cases that once showed a rule to be wrong, kept in a file as prove_rules prints them:
 *
 *   WRONG clip-bounds-11 (emission 7, opset 11 to 10): why
 *   <ir_version: 10, opset_import: ["" : 11]>
 *   g (float lo_1) => (y_2) <...> {
 *     ...
 *   }
 *   where x_0 [2, 3]        the sizes of inputs whose declaration leaves them open
 *
 * Each is judged with many inputs. The rule may have learnt not to match.
 *
 *   HOLDS rotary-of-halves (opset 23 to 23): why
 *
 * A case of a rule for which no models are drawn, for its pattern spans constants that depend on
 * one another: there the rule must match, and each result is held against its class. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/context.h"
#include "rules.h"

#define KEPT_SEEDS 40u /* inputs drawn for a case */

static surg_rule *rule_named(surg__rules *rules, const char *name) {
  for (size_t i = 0; i < rules->list.count; i++)
    if (!strcmp(rules->list.items[i]->name, name)) return rules->list.items[i];
  return NULL;
}

/* " x_0 [2, 3] y_1 []": the sizes of items. */
static bool read_where(rule_case *c, char *p) {
  for (char *name = strtok(p, " "); name; name = strtok(NULL, " ")) {
    item *it = NULL;
    for (unsigned i = 0; i < c->n_items; i++)
      if (!strcmp(c->items[i].name, name)) it = &c->items[i];
    char *dims = strtok(NULL, "]");
    if (!it || !dims || !(dims = strchr(dims, '['))) return false;
    it->rank = 0;
    it->count = 1;
    for (char *end = ++dims; *dims && it->rank < CASE_RANK; dims = end + (*end == ',')) {
      it->dims[it->rank] = strtoll(dims, &end, 10);
      if (end == dims) return false;
      it->count *= (uint64_t)it->dims[it->rank++];
    }
  }
  return true;
}

/* The inputs of the model, as items. */
static bool read_items(surg_context *ctx, rule_case *c) {
  surg_model *m = NULL;
  if (surg_model_load_text(ctx, c->text, strlen(c->text), "kept", &m)) return false;
  const surg_graph *g = surg_model_graph(m);
  bool ok = surg_graph_input_count(g) <= CASE_ITEMS;
  for (size_t i = 0; i < surg_graph_input_count(g) && ok; i++) {
    const surg_value *v = surg_graph_input(g, i);
    const surg_type *t = surg_value_declared_type(v);
    item *it = &c->items[c->n_items++];
    snprintf(it->name, sizeof it->name, "%s", surg_value_name(v));
    it->dtype = surg_type_dtype(t);
    it->set = true;
    it->count = 1;
    it->rank = surg_type_has_rank(t) ? (unsigned)surg_type_rank(t) : 0;
    ok = it->rank <= CASE_RANK;
    for (unsigned k = 0; k < it->rank && ok; k++) {
      const surg_dim d = *surg_type_dim(t, k);
      it->dims[k] = d.value >= 0 && !d.param && !d.expr ? d.value : 1;
      it->count *= (uint64_t)it->dims[k];
    }
  }
  c->n_outputs = (unsigned)surg_graph_output_count(g);
  ok = ok && c->n_outputs <= CASE_ARGS;
  surg_model_free(m);
  return ok;
}

static bool judge_kept(surg_context *ctx, surg__arena *arena, const char *head, char *text,
                       char *where) {
  char name[100], why[300];
  long long from = 0, to = 0;
  const char *opset = strstr(head, "opset ");
  const bool holds = !strncmp(head, "HOLDS ", 6);
  unsigned proven = 0;
  rule_case *c = surg__arena_zalloc(arena, sizeof *c);
  item *items = surg__arena_array(arena, CASE_ITEMS, sizeof *items);
  if (!c || !items || !opset || sscanf(head, "%*s %99s", name) != 1 ||
      sscanf(opset, "opset %lld to %lld", &from, &to) != 2)
    return false;
  c->items = items;
  c->text = text;
  c->from = from;
  c->to = to;
  const surg_rule *r = rule_named(surg__rules_of(ctx), name);
  if (!r || !read_items(ctx, c) || (where && !read_where(c, where))) {
    printf("kept case of %s: there is no such rule, or the case cannot be read: %s\n", name,
           surg_context_error(ctx) ? surg_context_error(ctx) : "");
    return false;
  }
  for (c->seed = 1; c->seed <= KEPT_SEEDS; c->seed++) {
    const verdict v = case_judge(ctx, r, c, why);
    proven += v == CASE_PROVEN;
    if (v != CASE_WRONG && v != CASE_BROKEN) continue;
    printf("kept case of %s: %s\n%s", name, why, c->text);
    return false;
  }
  if (!holds || proven == KEPT_SEEDS) return true;
  printf("kept case of %s: proven of %u inputs of %u\n%s", name, proven, KEPT_SEEDS, c->text);
  return false;
}

bool kept_judge(surg_context *ctx, const char *path, unsigned *count) {
  FILE *f = fopen(path, "r");
  char line[4000], head[4000] = "", where[4000] = "";
  surg__buf text;
  bool ok = f != NULL, more = ok;
  surg__buf_init(&text, ctx);
  while (more) {
    more = fgets(line, sizeof line, f) != NULL;
    const bool next =
        !more || !strncmp(line, "WRONG ", 6) || !strncmp(line, "HOLDS ", 6);
    if (next && *head) {
      surg__arena arena;
      surg__arena_init(&arena, ctx);
      surg__buf_putc(&text, 0);
      ok = !text.failed && judge_kept(ctx, &arena, head, text.p, *where ? where : NULL) && ok;
      surg__arena_free(&arena);
      ++*count;
    }
    if (next) {
      snprintf(head, sizeof head, "%s", more ? line : "");
      text.n = 0;
      *where = 0;
    } else if (!strncmp(line, "where ", 6)) {
      snprintf(where, sizeof where, "%.*s", (int)strcspn(line + 6, "\n"), line + 6);
    } else if (*head && *line != '#') {
      surg__buf_puts(&text, line);
    }
  }
  surg__buf_free(&text);
  if (f) fclose(f);
  return ok;
}
