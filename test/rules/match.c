/* SPDX-License-Identifier: Apache-2.0 */
/* match [SEED [ROUNDS]]: the matcher against one that tries everything: random small graphs, random
 * patterns of elementwise nodes. Both must agree on whether a pattern matches at a node, and what
 * the matcher bound must hold. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/context.h"
#include "rules.h"

#define STMTS 4
#define NAMES 3  /* of values from outside */
#define GRAPH 10 /* nodes of a graph */

static const struct {
  const char *name;
  unsigned inputs;
  bool commutes;
} ops[] = {
    {"Neg", 1, false}, {"Exp", 1, false}, {"Add", 2, true}, {"Mul", 2, true}, {"Sub", 2, false}};

/* A pattern: inputs below STMTS are what that statement makes, the others names. */
typedef struct pattern {
  unsigned n, op[STMTS], in[STMTS][2];
} pattern;

typedef struct binding {
  surg_node *nodes[STMTS];
  surg_value *names[NAMES];
} binding;

static bool reaches_all(const pattern *p) {
  bool seen[STMTS] = {false};
  seen[p->n - 1] = true;
  for (unsigned k = p->n; k-- > 0;)
    for (unsigned i = 0; seen[k] && i < ops[p->op[k]].inputs; i++)
      if (p->in[k][i] < STMTS) seen[p->in[k][i]] = true;
  for (unsigned k = 0; k < p->n; k++)
    if (!seen[k]) return false;
  return true;
}

static void draw_pattern(pattern *p, dice *d) {
  do {
    p->n = 1 + roll(d, STMTS);
    for (unsigned k = 0; k < p->n; k++) {
      p->op[k] = roll(d, SURG_COUNT(ops));
      for (unsigned i = 0; i < 2; i++)
        p->in[k][i] = k && chance(d, 60) ? roll(d, k) : STMTS + roll(d, NAMES);
    }
  } while (!reaches_all(p));
}

static char *pattern_text(const pattern *p, unsigned id, char *out, size_t room) {
  unsigned name = NAMES;
  size_t n = (size_t)snprintf(out, room, "rule r%u exact { match opset 7.. { ", id);
  for (unsigned k = 0; k < p->n; k++) {
    n += (size_t)snprintf(out + n, room - n, "s%u = %s (", k, ops[p->op[k]].name);
    for (unsigned i = 0; i < ops[p->op[k]].inputs; i++) {
      const unsigned v = p->in[k][i];
      n += (size_t)snprintf(out + n, room - n, "%s%c%u", i ? ", " : "", v < STMTS ? 's' : 'x',
                            v < STMTS ? v : v - STMTS);
      if (v >= STMTS) name = v - STMTS;
    }
    n += (size_t)snprintf(out + n, room - n, ") ");
  }
  snprintf(out + n, room - n, "} emit opset 7.. { s%u = Abs (x%u) } }", p->n - 1, name);
  return name < NAMES ? out : NULL;
}

static char *graph_text(dice *d, char *out, size_t room) {
  const unsigned count = 3 + roll(d, GRAPH - 2);
  size_t n = (size_t)snprintf(out, room,
                              "<ir_version: 8, opset_import: [\"\" : 17]>\n"
                              "g (float[3] v0, float[3] v1, float[3] v2) => (v%u",
                              count + 2);
  for (unsigned k = 0; k + 1 < count; k++)
    if (chance(d, 12)) n += (size_t)snprintf(out + n, room - n, ", v%u", k + 3);
  n += (size_t)snprintf(out + n, room - n, ") {\n");
  for (unsigned k = 0; k < count; k++) {
    const unsigned op = roll(d, SURG_COUNT(ops)), have = k + 3;
    n += (size_t)snprintf(out + n, room - n, "  v%u = %s (", have, ops[op].name);
    for (unsigned i = 0; i < ops[op].inputs; i++) {
      const unsigned near = have < 4 ? have : 4,
                     v = chance(d, 70) ? have - 1 - roll(d, near) : roll(d, have);
      n += (size_t)snprintf(out + n, room - n, i ? ", v%u" : "v%u", v);
    }
    n += (size_t)snprintf(out + n, room - n, ")\n");
  }
  snprintf(out + n, room - n, "}\n");
  return out;
}

/* --- trying everything --- */

static bool is_bound(const pattern *p, const binding *b, const surg_node *n) {
  for (unsigned k = 0; k < p->n; k++)
    if (b->nodes[k] == n) return true;
  return false;
}

/* What must hold once every statement has its node. */
static bool holds(const pattern *p, const binding *b) {
  for (unsigned k = 0; k < p->n; k++) {
    for (unsigned j = 0; j < k; j++)
      if (b->nodes[j] == b->nodes[k]) return false;
    if (k + 1 == p->n) continue;
    for (const surg_use *u = surg_value_first_use(surg_node_output(b->nodes[k], 0)); u;
         u = surg_use_next(u))
      if (surg_use_get_kind(u) != SURG_USE_NODE || !is_bound(p, b, surg_use_node(u))) return false;
  }
  for (unsigned i = 0; i < NAMES; i++) {
    const surg_node *n = b->names[i] ? surg_value_producer(b->names[i], NULL) : NULL;
    if (n && is_bound(p, b, n)) return false;
  }
  return true;
}

static bool bind(const pattern *p, binding *b, unsigned k);

/* Statement by statement from the last; `todo` is a bit for each that has a node but was not looked
 * at. */
static bool inputs_fit(const pattern *p, const binding *b, unsigned k, bool swapped, binding *out) {
  *out = *b;
  for (unsigned i = 0; i < ops[p->op[k]].inputs; i++) {
    surg_value *v = surg_node_input(b->nodes[k], swapped ? 1 - i : i);
    const unsigned want = p->in[k][i];
    if (want >= STMTS) {
      if (out->names[want - STMTS] && out->names[want - STMTS] != v) return false;
      out->names[want - STMTS] = v;
      continue;
    }
    surg_node *n = surg_value_producer(v, NULL);
    if (!n || strcmp(surg_node_op_type(n), ops[p->op[want]].name)) return false;
    if (out->nodes[want] && out->nodes[want] != n) return false;
    out->nodes[want] = n;
  }
  return true;
}

/* Statements above k are done; readers stand behind what they read, so k has its node by now. */
static bool bind(const pattern *p, binding *b, unsigned k) {
  if (k == UINT32_MAX) return holds(p, b);
  if (!b->nodes[k]) return false;
  for (unsigned swapped = 0; swapped < (ops[p->op[k]].commutes ? 2u : 1u); swapped++) {
    binding next;
    if (inputs_fit(p, b, k, swapped, &next) && bind(p, &next, k - 1)) return true;
  }
  return false;
}

static bool naive(const pattern *p, surg_node *anchor) {
  binding b = {{NULL}, {NULL}};
  if (strcmp(surg_node_op_type(anchor), ops[p->op[p->n - 1]].name)) return false;
  b.nodes[p->n - 1] = anchor;
  return bind(p, &b, p->n - 1);
}

/* --- the test --- */

/* Whether what the matcher bound holds. */
static bool sound(const pattern *p, const surg__match *m) {
  binding b = {{NULL}, {NULL}}, after;
  for (unsigned k = 0; k < p->n; k++) b.nodes[k] = m->nodes[k];
  for (unsigned i = 0; i < NAMES; i++) {
    char name[8];
    snprintf(name, sizeof name, "x%u", i);
    for (uint16_t v = 0; v < m->rule->n_vars; v++)
      if (!strcmp(m->rule->vars[v].name, name)) b.names[i] = m->values[v];
  }
  for (unsigned k = 0; k < p->n; k++) {
    const bool either = inputs_fit(p, &b, k, false, &after) ||
                        (ops[p->op[k]].commutes && inputs_fit(p, &b, k, true, &after));
    if (!b.nodes[k] || !either) return false;
  }
  return holds(p, &b);
}

typedef struct tally {
  unsigned asked, matched, wrong;
} tally;

static void one_round(surg_context *ctx, surg__rules *rules, dice *d, unsigned round, tally *t) {
  char text[600], graph[2000];
  pattern p;
  surg_model *m = NULL;
  draw_pattern(&p, d);
  if (!pattern_text(&p, round, text, sizeof text)) return;
  if (surg__rules_parse(rules, text, strlen(text), "random")) {
    printf("not read: %s: %s\n", text, surg_context_error(ctx));
    t->wrong++;
    return;
  }
  const surg_rule *r = rules->list.items[rules->list.count - 1];
  graph_text(d, graph, sizeof graph);
  if (surg_model_load_text(ctx, graph, strlen(graph), "graph", &m) || surg_model_infer(m)) abort();
  surg__arena arena;
  surg__arena_init(&arena, ctx);
  surg__match *match = surg__arena_zalloc(&arena, sizeof *match);
  match->ctx = ctx;
  match->arena = &arena;
  match->rule = r;
  for (surg_node *n = surg_graph_first_node(surg_model_graph(m)); n; n = surg_node_next(n)) {
    const bool got = surg__match_at(match, n, 17), want = naive(&p, n);
    t->asked++;
    t->matched += got;
    if (got == want && (!got || sound(&p, match))) continue;
    if (!t->wrong++)
      printf("WRONG at %s: the matcher says %s\n%s\n%s", surg_value_name(surg_node_output(n, 0)),
             got ? (want ? "yes, but not what" : "yes") : match->why, text, graph);
  }
  surg__arena_free(&arena);
  surg_model_free(m);
}

static void ignore(void *user, surg_severity severity, const char *line) {
  (void)user, (void)severity, (void)line;
}

int main(int argc, char **argv) {
  dice d = {argc > 1 ? strtoull(argv[1], NULL, 10) : 1};
  const unsigned rounds = argc > 2 ? (unsigned)atoi(argv[2]) : 5000;
  tally t = {0};
  surg_config config = {.size = sizeof config, .diag = ignore};
  surg_context *ctx = surg_context_new(&config);
  surg__rules *rules = ctx ? surg__rules_of(ctx) : NULL;
  if (!rules || surg__rules_read_all(rules) != SURG_OK) return 1;
  for (unsigned i = 0; i < rounds; i++) one_round(ctx, rules, &d, i, &t);
  printf("%u patterns, %u nodes asked, %u match, %u wrong\n", rounds, t.asked, t.matched, t.wrong);
  surg_context_free(ctx);
  return t.wrong > 0 || t.matched * 50 < rounds;
}
