/* SPDX-License-Identifier: Apache-2.0 */
/* Applies rules to a graph until none matches. Visits every node once in order, then the nodes that
 * rewrites created or touched. Rules are indexed by the operator of their anchor. */
#include <stdio.h>

#include "infer/infer.h"
#include "ir/ir.h" /* for marks of surg_node and facts about values that rules keep */
#include "pass/pass.h"
#include "rewrite/lang/rule.h"

typedef struct slot {
  const surg_rule *rule;
  bool ready;    /* a node of its operator was visited: the rule is parsed, and `feeds` is set */
  int feeds;     /* an operator that must produce an input of the anchor; 0: no such condition */
  uint32_t next; /* index + 1 into slots; 0 ends the list */
} slot;

typedef struct driver {
  surg_pass_ctx *pass;
  surg_context *ctx;
  surg_graph *g;
  SURG_VEC(slot) slots;
  uint32_t by_op[SURG_OP_COUNT]; /* list heads, index + 1; [0]: no built-in schema */
  surg__arena arena;
  surg__match *m;
  SURG_VEC(surg_node *) again;
  surg__made made;
  uint64_t fuel;
  bool failed, changed;
} driver;

/* Returns the operator of a node of the pattern whose output the anchor reads; 0:
 * none, or any operator. */
static int feeds(const surg_rule *r) {
  assert(r->read && r->anchor < r->match.n);
  const surg__rstmt *s = &r->match.stmts[r->anchor];
  for (uint16_t i = 0; i < s->n_in; i++) {
    const int16_t from = s->in[i].kind == SURG__A_VALUE ? r->vars[s->in[i].var].match_node : -1;
    if (from >= 0 && from != r->anchor) return r->match.stmts[from].op;
  }
  return 0;
}

/* Appends a rule to the list of its operator, so that rules are tried in the
 * order they are written. */
static bool add_rule(driver *d, const surg_rule *r) {
  assert(r->op >= 0 && r->op < SURG_OP_COUNT);
  uint32_t *at = &d->by_op[r->op];
  while (*at) at = &d->slots.items[*at - 1].next;
  const size_t where = d->slots.count;
  /* The push may move the list that `at` points into: use an index. */
  const bool head = at == &d->by_op[r->op];
  size_t last = 0;
  if (!head) last = (size_t)((slot *)(void *)((char *)at - offsetof(slot, next)) - d->slots.items);
  if (!surg__vec_push(d->ctx, &d->slots, ((slot){.rule = r}))) return false;
  if (head)
    d->by_op[r->op] = (uint32_t)where + 1;
  else
    d->slots.items[last].next = (uint32_t)where + 1;
  return true;
}

static bool collect(driver *d, surg_rule_filter want, void *user) {
  surg__rules *rules = surg__rules_of(d->ctx);
  if (!rules) return false;
  rules->declined.count = 0;
  for (size_t i = 0; i < rules->list.count; i++) {
    const surg_rule *r = rules->list.items[i];
    if ((!want || want(user, r)) && surg_pass_allows_rule(d->pass, r) && !add_rule(d, r))
      return false;
  }
  /* A rule that could not be parsed may be one of those requested. */
  const bool failed = rules->failed;
  return rules->failed = false, !failed;
}

static bool simplifies(const surg_rule *r) {
  return strcmp(r->group, "simplify") == 0;
}

/* Marks the nodes that rules of group `simplify` must not change, if there is such a rule. */
static bool find_sheltered(const driver *d) {
  for (size_t i = 0; i < d->slots.count; i++)
    if (simplifies(d->slots.items[i].rule)) return surg__pass_shelter(d->pass) == SURG_OK;
  return true;
}

/* Queues a node for a visit, unless it is queued already. False: out of memory. */
static bool queue(driver *d, surg_node *n) {
  if (n->queued) return true;
  assert(surg_node_graph(n) == d->g);
  n->queued = true;
  return surg__vec_push(d->ctx, &d->again, n);
}

/* Queues the first readers of a value in this graph (SURG__RULE_USERS at most). */
static bool queue_readers(driver *d, const surg_value *v) {
  const surg_use *u = surg_value_first_use(v);
  for (size_t seen = 0; u && seen < SURG__RULE_USERS; u = surg_use_next(u), seen++)
    if (surg_use_get_kind(u) == SURG_USE_NODE && surg_use_graph(u) == d->g &&
        !queue(d, surg_use_node(u)))
      return false;
  return true;
}

/* Queues what a rewrite touched: its new nodes, their consumers and their producers. */
static bool revisit(driver *d) {
  for (size_t i = 0; i < d->made.count; i++) {
    surg_node *n = d->made.items[i];
    if (!queue(d, n)) return false;
    for (size_t k = 0; k < surg_node_input_count(n) && k < SURG__RULE_NODES; k++) {
      surg_node *p = surg_value_producer(surg_node_input(n, k), NULL);
      if (p && surg_node_graph(p) == d->g && !queue(d, p)) return false;
    }
    for (size_t k = 0; k < surg_node_output_count(n) && k < SURG__RULE_NODES; k++)
      if (!queue_readers(d, surg_node_output(n, k))) return false;
  }
  return true;
}

/* Queues the readers of forwarded values: a rule that only forwards creates no nodes. */
static bool revisit_forwarded(driver *d, const surg__match *m) {
  for (uint16_t k = 0; k < m->emit->n; k++) {
    const surg__rstmt *s = &m->emit->stmts[k];
    const surg_value *v = s->kind == SURG__S_FORWARD ? m->values[s->var] : NULL;
    if (v && !queue_readers(d, v)) return false;
  }
  return true;
}

/* Reports the value ranges that the guards of a rewrite relied on. */
static void tell_ranges(driver *d, const surg_rule *r) {
  for (size_t i = 0; i < SURG_COUNT(d->m->asked) && d->m->asked[i].v; i++) {
    const surg__asked *a = &d->m->asked[i];
    surg__buf b;
    surg__buf_init(&b, d->ctx);
    surg__buf_printf(&b, "%s: '%s' is in %.9g..%.9g%s%s", r->name, a->name, a->r.low, a->r.high,
                     a->r.nan ? ", or NaN" : "",
                     a->r.assumed ? ", if the assumptions of --range are true" : "");
    if (!b.failed) surg_pass_note(d->pass, NULL, b.p);
    surg__buf_free(&b);
  }
}

/* Collects the float outputs of the match whose elements are proven. A rule that is not exact may
 * round them differently, which also changes integers computed from them. All other proven elements
 * stay valid, unless the rule is lossy. */
static size_t find_rounded(const driver *d, const surg_rule *r, surg_value **out) {
  size_t n = 0;
  for (uint16_t k = 0; r->exactness != SURG_EXACT && k < r->match.n; k++) {
    const surg_node *node = d->m->nodes[k];
    for (size_t i = 0; node && i < surg_node_output_count(node) && n < SURG__RULE_NODES; i++) {
      surg_value *v = surg_node_output(node, i);
      if (v && v->elems && v->elems->real) out[n++] = v;
    }
  }
  return n;
}

/* Records why an emission could not be built, for surg_rule_explain. False: out of memory. */
static bool keep_reason(driver *d, const surg_rule *r) {
  surg__rules *rules = surg__rules_of(d->ctx);
  assert(d->m->nodes[r->anchor]);
  surg__declined one = {.rule = r, .node = d->m->nodes[r->anchor]};
  if (!rules || rules->declined.count >= SURG__RULE_DECLINED) return rules != NULL;
  snprintf(one.why, sizeof one.why, "%s", d->m->why ? d->m->why : "it could not be made");
  return surg__vec_push(d->ctx, &rules->declined, one);
}

static size_t present(const surg_node *n) {
  size_t count = 0;
  for (size_t i = 0; i < surg_node_input_count(n); i++) count += surg_node_input(n, i) != NULL;
  return count;
}

/* Whether pattern and emission are one node each of the same operator, and the emitted one reads
 * values of the other alone, with its attributes. Such a rule would match what it emits. */
static bool arranges(const surg__rblock *from, const surg__rblock *to) {
  const surg__rstmt *a = from->stmts, *b = to->stmts;
  if (to->native || from->n != 1 || to->n != 1 || a->kind != SURG__S_NODE ||
      b->kind != SURG__S_NODE || b->n_attrs || a->op != b->op ||
      strcmp(a->op_type, b->op_type) != 0 || strcmp(a->domain, b->domain) != 0)
    return false;
  for (uint16_t i = 0; i < b->n_in; i++)
    if (b->in[i].kind != SURG__A_VALUE && b->in[i].kind != SURG__A_ABSENT) return false;
  return true;
}

/* Marks a node that has the inputs of the one it replaces in another order, or without a blank: the
 * rule would match it without end. `inputs`: how many were present. */
static void mark_arranged(const driver *d, const surg_rule *r, size_t inputs) {
  surg_node *n = d->made.count == 1 ? d->made.items[0] : NULL;
  if (n && arranges(&r->match, d->m->emit) && present(n) == inputs)
    n->arranged = (uint32_t)r->place + 1;
}

static bool apply(driver *d, const surg_rule *r) {
  if (!d->fuel || !surg_pass_allow(d->pass)) return false;
  assert(d->m->emit && d->m->rule == r); /* set by the match */
  d->fuel--;
  d->made.count = 0;
  const size_t inputs = present(d->m->nodes[r->anchor]);
  surg_value *rounded[SURG__RULE_NODES];
  const size_t n_rounded = find_rounded(d, r, rounded);
  /* Rules keep the types of values, and all but the lossy ones their proven elements: keep both,
   * since later rules need them. */
  surg_model *model = surg_pass_model(d->pass);
  const uint64_t epoch = model->epoch;
  model->values_kept = r->exactness != SURG_LOSSY;
  d->ctx->rule = r->name;
  const surg_status s = surg__emit_stated(d->pass, d->m, &d->made);
  d->ctx->rule = NULL;
  if (s == SURG_OK) d->ctx->last_rule = r->name;
  model->values_kept = false;
  if (r->exactness == SURG_LOSSY) model->values_changed++;
  if (s == SURG_EUNSUPPORTED) {
    /* One that declined after an edit keeps its fuel: it might be tried again without end. */
    const bool edited = model->epoch != epoch;
    d->changed |= edited;
    d->fuel += !edited;
    surg_pass_give_back(d->pass);
    d->failed = !keep_reason(d, r);
    return false;
  }
  if (s) {
    d->failed = true;
    return false;
  }
  mark_arranged(d, r, inputs);
  for (size_t i = 0; i < n_rounded; i++)
    if (surg_value_producer(rounded[i], NULL)) surg__infer_doubt(rounded[i]);
  for (size_t i = 0; i < d->made.count; i++)
    if (!surg_node_erased(d->made.items[i])) surg__infer_one(d->made.items[i]);
  tell_ranges(d, r);
  if (surg__rule_is_own(r))
    surg__pass_used_own(d->pass, r->exactness);
  else
    surg_pass_used(d->pass, r->exactness);
  surg_pass_count(d->pass, r->name, 1);
  d->changed = true;
  d->failed = !revisit(d) || !revisit_forwarded(d, d->m);
  return true;
}

#define FEEDERS 8 /* inputs of a node that are compared with `feeds` at most */

/* Collects the operators that produce the inputs of a node; false: more than FEEDERS inputs. */
static bool feeders(const surg_node *n, int *ops, size_t *count) {
  *count = 0;
  for (size_t i = 0; i < surg_node_input_count(n); i++) {
    const surg_node *from = surg_value_producer(surg_node_input(n, i), NULL);
    if (i == FEEDERS) return false;
    assert(*count < FEEDERS);
    if (from) ops[(*count)++] = surg_node_op(from);
  }
  return true;
}

static bool is_fed(const slot *s, const int *ops, size_t count) {
  for (size_t i = 0; i < count; i++)
    if (ops[i] == s->feeds) return true;
  return false;
}

static bool ready(driver *d, slot *s) {
  if (s->ready) return true;
  d->failed = !surg__rule_read(s->rule);
  if (d->failed) return false;
  s->feeds = feeds(s->rule);
  return s->ready = true;
}

/* Whether a `simplify` rule would change a node that must not become constant
 * (surg_model_shelter). */
static bool sheltered(const surg__match *m) {
  if (!simplifies(m->rule)) return false;
  for (uint16_t k = 0; k < m->rule->match.n; k++)
    if (m->nodes[k] && m->nodes[k]->sheltered) return true;
  return false;
}

static void visit(driver *d, surg_node *n) {
  const surg_op_class class = surg_node_class(n);
  const int op = class == SURG_OP_CLASS_BUILTIN ? surg_node_op(n) : 0;
  const int64_t opset = surg_graph_opset(d->g, "");
  int ops[FEEDERS];
  assert(op >= 0 && op < SURG_OP_COUNT);
  size_t count;
  const bool few = feeders(n, ops, &count);
  for (uint32_t i = d->by_op[op]; i && !d->failed; i = d->slots.items[i - 1].next) {
    slot *s = &d->slots.items[i - 1];
    assert(s->rule->op == op);
    if (!ready(d, s)) return;
    if (n->arranged == s->rule->place + 1) continue;
    if (few && s->feeds && !is_fed(s, ops, count)) continue;
    const surg__mark mark = surg__arena_mark(&d->arena);
    d->m->rule = s->rule;
    memset(d->m->asked, 0, sizeof d->m->asked);
    const bool done = surg__match_at(d->m, n, opset) && !sheltered(d->m) && apply(d, d->m->rule);
    surg__arena_reset(&d->arena, mark);
    if (done) return;
  }
}

/* Visits every node of the graph in order, then those that rewrites queue while the list grows.
 * Handles of erased nodes stay valid. */
static void run(driver *d) {
  for (surg_node *n = surg_graph_first_node(d->g); n && !d->failed; n = surg_node_next(n)) {
    const int op = surg_node_class(n) == SURG_OP_CLASS_BUILTIN ? surg_node_op(n) : 0;
    n->arranged = 0;
    if (d->by_op[op]) d->failed = !queue(d, n);
  }
  for (size_t i = 0; i < d->again.count; i++) {
    surg_node *n = d->again.items[i];
    assert(n->queued); /* a node is in the list at most once at a time */
    n->queued = false;
    if (!d->failed && !surg_node_erased(n)) visit(d, n);
  }
}

surg_pass_result surg_pass_rewrite_graph(surg_pass_ctx *p, surg_graph *g, surg_rule_filter want,
                                         void *user) {
  if (!p || !g) return SURG_PASS_FAILED;
  surg_context *ctx = surg_pass_context(p);
  driver *d = surg__calloc(ctx, 1, sizeof *d);
  surg__match *m = d ? surg__calloc(ctx, 1, sizeof *m) : NULL;
  if (!m) {
    surg__free(ctx, d);
    surg__oom(ctx, NULL);
    return SURG_PASS_FAILED;
  }
  d->pass = p;
  d->ctx = ctx;
  d->g = g;
  d->m = m;
  d->fuel = (uint64_t)surg_graph_node_count(g) * SURG_LIMIT_REWRITES_NODE + SURG_LIMIT_REWRITES;
  surg__arena_init(&d->arena, ctx);
  m->ctx = ctx;
  m->pass = p;
  m->arena = &d->arena;
  if (collect(d, want, user) && find_sheltered(d))
    run(d);
  else
    d->failed = true;
  if (!d->fuel)
    surg_context_report(ctx, SURG_WARNING, surg_model_path(surg_pass_model(p)),
                        "rules undo each other: the budget of rewrites is spent");
  const bool failed = d->failed, changed = d->changed;
  surg__vec_free(ctx, &d->slots);
  surg__vec_free(ctx, &d->again);
  surg__vec_free(ctx, &d->made);
  surg__arena_free(&d->arena);
  surg__free(ctx, m);
  surg__free(ctx, d);
  return failed ? SURG_PASS_FAILED : changed ? SURG_PASS_CHANGED : SURG_PASS_UNCHANGED;
}

/* Returns why the emission for this node was declined in the last rewrite; NULL: it was not. */
static const char *declined(surg_context *ctx, const surg_rule *r, const surg_node *n) {
  const surg__rules *rules = surg__rules_of(ctx);
  for (size_t i = 0; rules && i < rules->declined.count; i++)
    if (rules->declined.items[i].rule == r && rules->declined.items[i].node == n)
      return rules->declined.items[i].why;
  return NULL;
}

const char *surg_rule_explain(const surg_rule *r, surg_node *n) {
  if (!r || !n || surg_node_erased(n)) return "there is no such node";
  surg_context *ctx = surg_model_context(surg_graph_model(surg_node_graph(n)));
  surg__match *m = surg__calloc(ctx, 1, sizeof *m);
  if (!m) return "out of memory";
  surg__arena arena;
  surg__arena_init(&arena, ctx);
  m->ctx = ctx;
  m->arena = &arena;
  m->rule = r;
  m->explain = true;
  const bool matches = surg__match_at(m, n, surg_graph_opset(surg_node_graph(n), ""));
  const char *why = matches ? declined(ctx, r, n) : m->why;
  surg__rules *rules = surg__rules_of(ctx);
  if (why == m->why_text && rules) /* copy it: it must outlive the match */
    why = memcpy(rules->explained, m->why_text, sizeof rules->explained);
  surg__arena_free(&arena);
  surg__free(ctx, m);
  return why;
}
