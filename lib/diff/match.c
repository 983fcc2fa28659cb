/* SPDX-License-Identifier: Apache-2.0 */
/* Pairs of the nodes of two graphs. Keys propose pairs where exactly one node of each graph has the
 * key, the surest keys first; each pair proposes its neighbors. Where a key leaves a choice, names
 * decide, then the order of nodes, one pair at a time, each followed by its neighbors. */
#include <stdlib.h>

#include "diff/diff.h"

/* What makes two nodes a pair, from the surest on. */
typedef enum key_kind { BOTH, DOWN, UP, NAMED, WEIGHTS } key_kind;

/* How much neighbors of a pair must have in common to be one. LIKE_IDLE: nothing, but nothing reads
 * their outputs either. */
typedef enum likeness { LIKE_FORM, LIKE_OP, LIKE_IDLE } likeness;

typedef struct entry {
  uint64_t key;
  uint32_t node;
  bool second;
} entry;
typedef struct run {         /* of entries with one key */
  size_t first, middle, end; /* those of the first graph are before `middle` */
  uint32_t head;             /* the first node: runs are in this order, which no hash decides */
} run;

typedef struct matcher {
  surg_diff *d;
  surg__dgraph *g[2];
  bool names_bind; /* nodes whose names contradict each other are no pair */
  SURG_VEC(entry) entries;
  SURG_VEC(run) runs;
} matcher;

static surg__dnode *node(const matcher *m, int k, uint32_t i) {
  return &m->d->side[k].nodes.items[i];
}

static bool is_free(const surg__dnode *n) {
  return n->twin == SURG__NO_TWIN && !n->constant;
}

/* --- pairs --- */

static void pair_graphs(surg_diff *d, surg_graph *x, surg_graph *y) {
  const surg__dpair p = {surg__diff_index(&d->side[0], x), surg__diff_index(&d->side[1], y)};
  if (p.a == SURG__NO_TWIN || p.b == SURG__NO_TWIN) return;
  d->side[0].graphs.items[p.a].twin = p.b;
  d->side[1].graphs.items[p.b].twin = p.a;
  if (!surg__vec_push(d->ctx, &d->graphs, p)) surg__diff_fail(d);
}

/* Pairs the subgraphs of two nodes by attribute. */
static void pair_bodies(surg_diff *d, const surg_node *a, const surg_node *b) {
  for (uint32_t i = 0; i < a->n_attr; i++) {
    const surg_attr *x = a->attrs[i], *y = surg_node_attr(b, x->name);
    for (size_t k = 0; y; k++) {
      surg_graph *g = surg_attr_graph(x, k), *h = surg_attr_graph(y, k);
      if (!g || !h) break;
      pair_graphs(d, g, h);
    }
  }
}

static void bind(surg_diff *d, uint32_t a, uint32_t b) {
  surg__dnode *x = &d->side[0].nodes.items[a], *y = &d->side[1].nodes.items[b];
  const surg__dpair p = {a, b};
  x->twin = b;
  y->twin = a;
  for (uint32_t i = 0; i < x->n->n_out && i < y->n->n_out; i++)
    surg__diff_pair_values(d, surg__dvalue_of(&d->side[0], x->n->out[i]),
                           surg__dvalue_of(&d->side[1], y->n->out[i]));
  pair_bodies(d, x->n, y->n);
  if (!surg__vec_push(d->ctx, &d->queue, p)) surg__diff_fail(d);
}

/* The name of a node, else that of its first output. */
static const char *label(const surg_node *n) {
  return n->name[0] || !n->n_out || !n->out[0] ? n->name : n->out[0]->name;
}

/* The node of the other graph that is labelled as x, or NULL. */
static surg__dnode *namesake(const matcher *m, int k, const surg__dnode *x) {
  const surg_graph *g = m->g[!k]->g;
  const surg_node *n = NULL;
  if (x->n->name[0]) {
    n = surg_graph_find_node(g, x->n->name);
  } else if (label(x->n)[0]) {
    const surg_value *v = surg_graph_find_value(g, label(x->n));
    n = v && v->producer && !v->producer->name[0] && v->output == 0 ? v->producer : NULL;
  }
  return surg__dnode_of(&m->d->side[!k], n);
}

/* Whether the other graph has another free node with the label of x and its operator. */
static bool claimed(const matcher *m, int k, const surg__dnode *x) {
  const surg__dnode *y = namesake(m, k, x);
  return y && is_free(y) && y->op == x->op;
}

/* Whether the pair may be made now: names do not contradict it, or do not bind. */
static bool permitted(const matcher *m, const surg__dnode *a, const surg__dnode *b) {
  if (!m->names_bind || m->d->way >= SURG__WAY_DOWN_FREE) return true;
  if (strcmp(label(a->n), label(b->n)) == 0) return true;
  return !claimed(m, 0, a) && !claimed(m, 1, b);
}

static bool is_idle(const surg__dnode *n) {
  for (uint32_t i = 0; i < n->n->n_out; i++)
    if (n->n->out[i] && n->n->out[i]->uses) return false;
  return true;
}

static bool alike(const surg__dnode *a, const surg__dnode *b, likeness how) {
  if (how == LIKE_IDLE) return is_idle(a) && is_idle(b);
  return how == LIKE_FORM ? a->form == b->form : a->op == b->op;
}

static void propose(const matcher *m, surg__dnode *a, surg__dnode *b, likeness how) {
  if (!a || !b || !is_free(a) || !is_free(b)) return;
  if (a->graph != (uint32_t)(m->g[0] - m->d->side[0].graphs.items)) return;
  if (b->graph != (uint32_t)(m->g[1] - m->d->side[1].graphs.items)) return;
  if (!alike(a, b, how) || !permitted(m, a, b)) return;
  bind(m->d, (uint32_t)(a - m->d->side[0].nodes.items), (uint32_t)(b - m->d->side[1].nodes.items));
}

/* --- neighbors --- */

/* Whether both are one value. Constants are paired later: those with the same elements or name. */
static bool twins(const matcher *m, const surg_value *v, const surg_value *w) {
  const surg__dvalue *x = surg__dvalue_of(&m->d->side[0], v),
                     *y = surg__dvalue_of(&m->d->side[1], w);
  if (!x || !y) return false;
  if (x->t && y->t && x->twin == SURG__NO_TWIN && y->twin == SURG__NO_TWIN)
    return surg__diff_alike(x, y) || (v->name[0] && strcmp(v->name, w->name) == 0);
  return x->twin != SURG__NO_TWIN && &m->d->side[1].values.items[x->twin] == y;
}

/* Whether two inputs are, or may become, a pair: their producers are one or have one operator. */
static bool fits(const matcher *m, const surg_value *v, const surg_value *w) {
  const surg__dnode *a = surg__dnode_of(&m->d->side[0], v->producer),
                    *b = surg__dnode_of(&m->d->side[1], w->producer);
  if (!a || !b || v->output != w->output) return !a && !b && twins(m, v, w);
  return is_free(a) && is_free(b) ? a->op == b->op : twins(m, v, w);
}

/* The inputs of two nodes whose inputs can be swapped are alike only in the other order. */
static bool crossed(const matcher *m, const surg_node *a, const surg_node *b) {
  const surg_value *in[2][2];
  const surg__dvalue *v[2][2];
  if (!surg__diff_swappable(a) || !surg__diff_swappable(b)) return false;
  for (int i = 0; i < 2; i++) {
    in[0][i] = a->in[i].value;
    in[1][i] = b->in[i].value;
    for (int k = 0; k < 2; k++) v[k][i] = surg__dvalue_of(&m->d->side[k], in[k][i]);
    if (!v[0][i] || !v[1][i]) return false;
  }
  if (v[0][0]->down != v[1][0]->down && v[0][1]->down != v[1][1]->down &&
      (v[0][0]->down == v[1][1]->down || v[0][1]->down == v[1][0]->down))
    return true;
  return !fits(m, in[0][0], in[1][0]) && !fits(m, in[0][1], in[1][1]) &&
         (fits(m, in[0][0], in[1][1]) || fits(m, in[0][1], in[1][0]));
}

static void spread_up(const matcher *m, const surg_node *a, const surg_node *b, likeness how) {
  surg__dside *s = m->d->side;
  const uint32_t other = crossed(m, a, b);
  for (uint32_t i = 0; i < a->n_in && i < b->n_in; i++) {
    const surg_value *v = a->in[i].value, *w = b->in[i ^ other].value;
    if (!v || !w || !v->producer || !w->producer || v->output != w->output) continue;
    propose(m, surg__dnode_of(&s[0], v->producer), surg__dnode_of(&s[1], w->producer), how);
  }
}

static int by_key(const void *a, const void *b) {
  const entry *x = a, *y = b;
  if (x->key != y->key) return x->key < y->key ? -1 : 1;
  if (x->second != y->second) return x->second ? 1 : -1;
  return x->node < y->node ? -1 : x->node > y->node;
}

static void add_entry(matcher *m, uint64_t key, uint32_t node, bool second) {
  const entry e = {key, node, second};
  if (!surg__vec_push(m->d->ctx, &m->entries, e)) surg__diff_fail(m->d);
}

static void add_consumers(matcher *m, int k, const surg_value *v, likeness how) {
  for (const surg_use *u = v->uses; u; u = u->next) {
    const surg__dnode *n =
        u->kind == SURG_USE_NODE ? surg__dnode_of(&m->d->side[k], u->user.node) : NULL;
    if (!n || !is_free(n) || n->graph != (uint32_t)(m->g[k] - m->d->side[k].graphs.items)) continue;
    const uint32_t slot = surg__diff_slot(n->n, u->index);
    const uint64_t what = how == LIKE_FORM ? n->form : how == LIKE_OP ? n->op : is_idle(n);
    add_entry(m, surg__diff_mix(what, slot), (uint32_t)(n - m->d->side[k].nodes.items), k);
  }
}

static int by_head(const void *a, const void *b) {
  const run *x = a, *y = b;
  return x->head < y->head ? -1 : x->head > y->head;
}

/* Splits the sorted entries from `from` on into runs of one key. */
static void find_runs(matcher *m, size_t from) {
  const size_t n = m->entries.count;
  if (n - from > 1) qsort(m->entries.items + from, n - from, sizeof *m->entries.items, by_key);
  for (size_t i = from; i < n;) {
    run r = {i, i, i, m->entries.items[i].node};
    const uint64_t key = m->entries.items[i].key;
    for (; r.end < n && m->entries.items[r.end].key == key; r.end++)
      r.middle += !m->entries.items[r.end].second;
    if (r.middle > r.first && r.end > r.middle && !surg__vec_push(m->d->ctx, &m->runs, r))
      surg__diff_fail(m->d);
    i = r.end;
  }
}

static void sort_runs(matcher *m, size_t from) {
  if (m->runs.count - from > 1)
    qsort(m->runs.items + from, m->runs.count - from, sizeof *m->runs.items, by_head);
}

static const entry *at(const matcher *m, size_t i) {
  return &m->entries.items[i];
}

static void pair_run(const matcher *m, const run *r, likeness how) {
  if (r->middle - r->first != 1 || r->end - r->middle != 1) return;
  propose(m, node(m, 0, at(m, r->first)->node), node(m, 1, at(m, r->middle)->node), how);
}

/* Pairs consumers of two values that are a pair, where their operator and input leave no choice. */
static void spread_down(matcher *m, const surg_value *v, const surg_value *w, likeness how) {
  const size_t entries = m->entries.count, runs = m->runs.count;
  add_consumers(m, 0, v, how);
  add_consumers(m, 1, w, how);
  find_runs(m, entries);
  sort_runs(m, runs);
  for (size_t i = runs; i < m->runs.count; i++) pair_run(m, &m->runs.items[i], how);
  m->entries.count = entries;
  m->runs.count = runs;
}

static void spread(matcher *m, surg__dpair p, likeness how) {
  const surg_node *a = node(m, 0, p.a)->n, *b = node(m, 1, p.b)->n;
  spread_up(m, a, b, how);
  for (uint32_t i = 0; i < a->n_out && i < b->n_out; i++)
    if (a->out[i] && b->out[i]) spread_down(m, a->out[i], b->out[i], how);
}

#define READERS 64 /* most uses of a value whose consumers are paired by their inputs alone */

/* Pairs free consumers of values that are a pair, wherever the values come from. */
static void spread_inputs(matcher *m, likeness how) {
  const surg__dside *s = m->d->side;
  for (uint32_t i = m->g[0]->first; i < m->g[0]->first + m->g[0]->count; i++)
    for (uint32_t k = 0; is_free(node(m, 0, i)) && k < node(m, 0, i)->n->n_in; k++) {
      const surg__dvalue *v = surg__dvalue_of(&s[0], node(m, 0, i)->n->in[k].value);
      const surg_value *w = v && v->twin != SURG__NO_TWIN ? s[1].values.items[v->twin].v : NULL;
      if (w && surg_value_use_count(v->v, READERS) < READERS &&
          surg_value_use_count(w, READERS) < READERS)
        spread_down(m, v->v, w, how);
    }
}

/* Pairs what the ends of the graph leave no choice about. */
static void spread_ends(matcher *m, likeness how) {
  surg__dside *s = m->d->side;
  for (size_t i = 0; i < m->g[0]->g->n_in; i++) {
    const surg__dvalue *v = surg__dvalue_of(&s[0], m->g[0]->g->in[i]);
    if (v && v->twin != SURG__NO_TWIN) spread_down(m, v->v, s[1].values.items[v->twin].v, how);
  }
  for (size_t i = 0; i < m->g[0]->g->n_out && m->g[0]->out_twins; i++) {
    const uint32_t j = m->g[0]->out_twins[i];
    if (j == SURG__NO_TWIN) continue;
    const surg_value *v = m->g[0]->g->out[i]->use.value, *w = m->g[1]->g->out[j]->use.value;
    if (v && w && v->producer && w->producer && v->output == w->output)
      propose(m, surg__dnode_of(&s[0], v->producer), surg__dnode_of(&s[1], w->producer), how);
  }
}

/* Pairs neighbors of all pairs of the queue from `from` on. */
static void drain(matcher *m, likeness how) {
  while (m->d->queued < m->d->queue.count && m->d->status == SURG_OK)
    spread(m, m->d->queue.items[m->d->queued++], how);
}

static void drain_again(matcher *m, size_t first, likeness how) {
  m->d->queued = first;
  spread_ends(m, how);
  drain(m, how);
}

/* --- keys --- */

static uint64_t key_of(const surg_diff *d, const surg__dnode *n, key_kind kind) {
  switch (kind) {
    case BOTH:
      return surg__diff_mix(n->down, n->up);
    case DOWN:
      return n->down;
    case UP:
      return n->up;
    case NAMED:
      return label(n->n)[0]
                 ? surg__diff_mix(n->op, surg__hash(d->ctx, label(n->n), strlen(label(n->n))))
                 : 0;
    default:
      return n->anchor;
  }
}

static void collect(matcher *m, key_kind kind) {
  m->entries.count = m->runs.count = 0;
  for (int k = 0; k < 2; k++)
    for (uint32_t i = m->g[k]->first; i < m->g[k]->first + m->g[k]->count; i++) {
      const surg__dnode *n = node(m, k, i);
      const uint64_t key = is_free(n) ? key_of(m->d, n, kind) : 0;
      if (key) add_entry(m, key, i, k);
    }
  find_runs(m, 0);
  sort_runs(m, 0);
}

/* --- proposals --- */

/* Pairs that DOWN and UP propose. The two may propose different partners of one node. */
typedef struct wishes {
  uint32_t *of[2][2]; /* [kind - DOWN][model]: partner of each node of the graph, or none */
} wishes;

static bool open_wishes(matcher *m, wishes *w) {
  bool ok = true;
  memset(w, 0, sizeof *w);
  for (int i = 0; i < 4; i++) {
    const size_t n = m->g[i & 1]->count;
    uint32_t *p = w->of[i >> 1][i & 1] = surg__calloc(m->d->ctx, n + 1, sizeof *p);
    for (size_t j = 0; p && j < n; j++) p[j] = SURG__NO_TWIN;
    ok = ok && p;
  }
  if (!ok) surg__diff_fail(m->d);
  return ok;
}

static void close_wishes(matcher *m, wishes *w) {
  for (int i = 0; i < 4; i++) surg__free(m->d->ctx, w->of[i >> 1][i & 1]);
}

static void make_wishes(matcher *m, wishes *w, key_kind kind) {
  uint32_t *const *of = w->of[kind - DOWN];
  collect(m, kind);
  for (size_t i = 0; i < m->runs.count; i++) {
    const run *r = &m->runs.items[i];
    if (r->middle - r->first != 1 || r->end - r->middle != 1) continue;
    const uint32_t a = at(m, r->first)->node, b = at(m, r->middle)->node;
    of[0][a - m->g[0]->first] = b;
    of[1][b - m->g[1]->first] = a;
  }
}

static bool other_wish(const wishes *w, const matcher *m, int kind, uint32_t a, uint32_t b) {
  const uint32_t x = w->of[!kind][0][a - m->g[0]->first], y = w->of[!kind][1][b - m->g[1]->first];
  return (x != SURG__NO_TWIN && x != b) || (y != SURG__NO_TWIN && y != a);
}

/* Which proposals are accepted, in this order. */
typedef enum round { UNDISPUTED, SAME_NAME, REST, ROUNDS } round_t;

static bool accepted(const matcher *m, const wishes *w, int kind, uint32_t a, uint32_t b,
                     round_t round) {
  const surg__dnode *x = node(m, 0, a), *y = node(m, 1, b);
  if (!is_free(x) || !is_free(y)) return false;
  if (round == UNDISPUTED) return !other_wish(w, m, kind, a, b);
  if (round == SAME_NAME && m->d->way >= SURG__WAY_DOWN_FREE) return false;
  if (round == SAME_NAME) return strcmp(label(x->n), label(y->n)) == 0;
  return permitted(m, x, y);
}

static void pair_by_context(matcher *m) {
  wishes w;
  if (open_wishes(m, &w)) {
    make_wishes(m, &w, DOWN);
    make_wishes(m, &w, UP);
    m->names_bind = true;
    for (round_t round = UNDISPUTED; round < ROUNDS; round++)
      for (int k = 0; k < 2; k++)
        for (uint32_t i = 0; i < m->g[0]->count; i++) {
          const int kind = k ^ (surg__diff_upward(m->d));
          const uint32_t a = m->g[0]->first + i, b = w.of[kind][0][i];
          if (b != SURG__NO_TWIN && accepted(m, &w, kind, a, b, round)) bind(m->d, a, b);
        }
    m->names_bind = false;
  }
  close_wishes(m, &w);
}

/* --- choices --- */

static void pair_unique(matcher *m, key_kind kind) {
  collect(m, kind);
  for (size_t i = 0; i < m->runs.count; i++) {
    const run *r = &m->runs.items[i];
    if (r->middle - r->first == 1 && r->end - r->middle == 1)
      propose(m, node(m, 0, at(m, r->first)->node), node(m, 1, at(m, r->middle)->node), LIKE_OP);
  }
}

/* Pairs nodes of a run that have one name. */
static void choose_names(matcher *m, const run *r, key_kind kind) {
  for (size_t i = r->first; i < r->middle; i++) {
    surg__dnode *a = node(m, 0, at(m, i)->node);
    surg__dnode *b = namesake(m, 0, a);
    if (!b || !is_free(a) || !is_free(b)) continue;
    if (key_of(m->d, b, kind) == at(m, i)->key) propose(m, a, b, LIKE_OP);
  }
}

static void choose_order(matcher *m, run r) {
  for (size_t i = r.first, j = r.middle; i < r.middle && j < r.end;) {
    surg__dnode *a = node(m, 0, at(m, i)->node), *b = node(m, 1, at(m, j)->node);
    if (!is_free(a)) {
      i++;
    } else if (!is_free(b)) {
      j++;
    } else {
      propose(m, a, b, LIKE_OP);
      drain(m, LIKE_FORM);
      i++, j++;
    }
  }
}

/* Pairs nodes that a key leaves a choice about; with `even`, where both graphs have as many. */
static void choose(matcher *m, key_kind kind, bool even) {
  collect(m, kind);
  for (size_t i = 0; i < m->runs.count && m->d->status == SURG_OK; i++) {
    const run r = m->runs.items[i];
    if (even && r.middle - r.first != r.end - r.middle) continue;
    choose_names(m, &r, kind);
    drain(m, LIKE_FORM);
    choose_order(m, r);
  }
}

/* --- replaced operators --- */

static bool shares_input(const matcher *m, const surg_node *a, const surg_node *b) {
  for (uint32_t i = 0; i < a->n_in; i++)
    for (uint32_t j = 0; j < b->n_in && j < 8; j++)
      if (a->in[i].value && twins(m, a->in[i].value, b->in[j].value)) return true;
  return a->n_in == 0 && b->n_in == 0;
}

/* The node of the second graph that computes what a consumer of v reads in its place. */
static surg__dnode *replacement(const matcher *m, const surg_value *v) {
  const surg__dside *s = m->d->side;
  for (const surg_use *u = v->uses; u; u = u->next) {
    const surg_value *w = NULL;
    const surg__dnode *c = u->kind == SURG_USE_NODE ? surg__dnode_of(&s[0], u->user.node) : NULL;
    if (c && c->twin != SURG__NO_TWIN && c->graph == (uint32_t)(m->g[0] - s[0].graphs.items)) {
      const surg_node *other = s[1].nodes.items[c->twin].n;
      w = u->index < other->n_in ? other->in[u->index].value : NULL;
    } else if (u->kind == SURG_USE_OUTPUT && u->user.graph == m->g[0]->g && m->g[0]->out_twins) {
      const uint32_t i = m->g[0]->out_twins[u->index];
      w = i == SURG__NO_TWIN ? NULL : m->g[1]->g->out[i]->use.value;
    }
    surg__dnode *n =
        w && w->producer && w->output == v->output ? surg__dnode_of(&s[1], w->producer) : NULL;
    if (n && is_free(n)) return n;
  }
  return NULL;
}

static void pair_replaced(matcher *m) {
  for (uint32_t i = m->g[0]->first; i < m->g[0]->first + m->g[0]->count; i++) {
    surg__dnode *a = node(m, 0, i);
    for (uint32_t k = 0; k < a->n->n_out && is_free(a); k++) {
      surg__dnode *b = a->n->out[k] ? replacement(m, a->n->out[k]) : NULL;
      if (b && b->graph == (uint32_t)(m->g[1] - m->d->side[1].graphs.items) &&
          shares_input(m, a->n, b->n))
        bind(m->d, i, (uint32_t)(b - m->d->side[1].nodes.items));
    }
  }
}

/* --- all --- */

static void digest(matcher *m, bool content) {
  for (int k = 0; k < 2; k++)
    surg__diff_digest_graph(m->d, k, (uint32_t)(m->g[k] - m->d->side[k].graphs.items), content);
}

static bool is_left(const matcher *m) {
  for (int k = 0; k < 2; k++)
    for (uint32_t i = m->g[k]->first; i < m->g[k]->first + m->g[k]->count; i++)
      if (is_free(node(m, k, i))) return true;
  return false;
}

/* Pairs neighbors of everything paired, first those that names permit. */
static void spread_all(matcher *m, size_t first, likeness how) {
  m->names_bind = true;
  drain_again(m, first, how);
  m->names_bind = false;
}

static void pair_edited(matcher *m, size_t first) {
  pair_by_context(m);
  drain(m, LIKE_FORM);
  digest(m, false);
  pair_unique(m, BOTH);
  pair_by_context(m);
  spread_all(m, first, LIKE_FORM);
  spread_all(m, first, LIKE_OP);
  pair_unique(m, NAMED);
  pair_unique(m, WEIGHTS);
  spread_all(m, first, LIKE_FORM);
  choose(m, BOTH, false);
  choose(m, surg__diff_upward(m->d) ? UP : DOWN, false);
  choose(m, surg__diff_upward(m->d) ? DOWN : UP, false);
  drain_again(m, first, LIKE_FORM);
  drain_again(m, first, LIKE_OP);
  pair_replaced(m);
  drain_again(m, first, LIKE_OP);
  spread_inputs(m, LIKE_OP);
  spread_inputs(m, LIKE_IDLE);
  drain(m, LIKE_OP);
}

void surg__diff_match(surg_diff *d, uint32_t a, uint32_t b) {
  matcher m = {.d = d, .g = {&d->side[0].graphs.items[a], &d->side[1].graphs.items[b]}};
  const size_t first = d->queue.count;
  digest(&m, true);
  if (d->way == SURG__WAY_NAMES) pair_unique(&m, NAMED);
  pair_unique(&m, BOTH);
  /* Before neighbors: a node that is rewired would pair its old producer with its new one, though
   * both are in both models. */
  if (is_left(&m)) pair_by_context(&m);
  drain(&m, LIKE_FORM);
  if (is_left(&m)) choose(&m, BOTH, true);
  if (is_left(&m)) pair_edited(&m, first);
  d->queued = d->queue.count;
  surg__vec_free(d->ctx, &m.entries);
  surg__vec_free(d->ctx, &m.runs);
}
