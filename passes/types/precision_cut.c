/* SPDX-License-Identifier: Apache-2.0 */
/* Decides which slots move: a minimum cut between what stays (the source side) and what moves (the
 * sink side).
 *
 * A value whose producer and some reader decide differently costs one Cast, however many readers
 * there are. A value with one reading slot is an edge in both directions. With more, two vertices
 * count it once: producer -> a (cost), a -> each reader (infinite) is cut if the producer stays and
 * a reader moves; each reader -> b (infinite), b -> producer (cost) if the producer moves and a
 * reader stays. A slot that stays without need costs its weight. Of several minimum cuts the one
 * that moves most is taken.
 *
 * Maximum flow by Dinic's algorithm (1970), iterative: O(V^2 E) in theory, in practice a few
 * breadth-first searches. The work is limited to WORK visits an edge; beyond, all slots move that
 * may, which is correct and needs more Casts. */
#include <assert.h>
#include <onnxsurg/ops.h>

#include "precision.h"

#define ENDLESS INT32_MAX
#define CAST_COST 12     /* of a Cast inside of the model */
#define INTERFACE_COST 4 /* of one at an input or output: the user asked for it */
#define THERE 1          /* less for a Cast that the model has: it stays rather than a new one */
#define WEIGHT 4         /* of a value that stays */
#define GAIN_WEIGHT 4000 /* of a slot of products of matrices that stays */
#define WORK 400         /* visits of an edge, on average */

typedef struct edge {
  uint32_t to, next;
  int32_t room; /* capacity that is left; the reverse edge is at index ^ 1 */
} edge;

typedef struct net {
  prec *c;
  edge *edges;
  uint32_t *first, *at, *level, *queue, *path;
  uint32_t vertices, n_edges, max_edges;
  uint64_t work;
} net;

enum { SOURCE = 0, SINK = 1, SLOTS = 2 };

static void join(net *t, uint32_t from, uint32_t to, int32_t room, int32_t back) {
  assert(t->n_edges + 2 <= t->max_edges);
  t->edges[t->n_edges] = (edge){to, t->first[from], room};
  t->first[from] = t->n_edges++;
  t->edges[t->n_edges] = (edge){from, t->first[to], back};
  t->first[to] = t->n_edges++;
}

static uint32_t vertex(const net *t, uint32_t slot) {
  return SLOTS + prec_root(t->c, slot);
}

/* --- the network --- */

static bool at_interface(const prec *c, const prec_value *x) {
  if (!x || x->made == PREC_NONE) return false;
  bool io = c->slots[x->made].io;
  for (uint32_t r = x->reads; r != PREC_NONE; r = c->reads[r].next)
    io = io || c->slots[c->reads[r].slot].io;
  return io;
}

static int32_t cost_of(const prec *c, const prec_value *x) {
  if (!x->movable) return ENDLESS;
  return at_interface(c, x) ? INTERFACE_COST : CAST_COST;
}

static int32_t cost_there(const prec *c, const prec_cast *x) {
  const bool io = at_interface(c, x->from) || at_interface(c, x->made);
  return (io ? INTERFACE_COST : CAST_COST) - THERE;
}

/* The reading slots other than the producer's, if they are at most one; else PREC_NONE and *many.
 */
static uint32_t only_reader(const net *t, const prec_value *x, bool *many) {
  const uint32_t made = vertex(t, x->made);
  uint32_t one = PREC_NONE;
  *many = false;
  for (uint32_t r = x->reads; r != PREC_NONE && !*many; r = t->c->reads[r].next) {
    const uint32_t by = vertex(t, t->c->reads[r].slot);
    if (by == made || by == one) continue;
    *many = one != PREC_NONE;
    one = by;
  }
  return one;
}

static void add_value(net *t, const prec_value *x) {
  bool many;
  if (x->made == PREC_NONE) return;
  const int32_t cost = cost_of(t->c, x);
  const uint32_t made = vertex(t, x->made), one = only_reader(t, x, &many);
  if (one == PREC_NONE) return;
  if (!many) {
    join(t, made, one, cost, cost);
    return;
  }
  const uint32_t a = t->vertices++, b = t->vertices++;
  t->first[a] = t->first[b] = PREC_NONE;
  join(t, made, a, cost, 0);
  join(t, b, made, cost, 0);
  for (uint32_t r = x->reads; r != PREC_NONE; r = t->c->reads[r].next) {
    const uint32_t by = vertex(t, t->c->reads[r].slot);
    if (by == made) continue;
    join(t, a, by, ENDLESS, 0);
    join(t, by, b, ENDLESS, 0);
  }
}

static void add_slot(net *t, uint32_t i) {
  prec_slot *s = &t->c->slots[i];
  if (s->parent != i) return;
  s->why = (uint8_t)prec_pinned(t->c, i);
  if (s->why != PREC_FREE)
    join(t, SOURCE, vertex(t, i), ENDLESS, 0);
  else if (s->holds)
    join(t, vertex(t, i), SINK, ENDLESS, 0);
  else if (s->weight)
    join(t, vertex(t, i), SINK,
         (int32_t)(s->weight < GAIN_WEIGHT / WEIGHT ? WEIGHT * s->weight : GAIN_WEIGHT), 0);
}

/* What staying costs a slot: nothing if it is of a Cast, which reads or makes any type. */
static void weigh(prec *c) {
  for (uint32_t i = 0; i < c->n_slots; i++) {
    prec_slot *s = &c->slots[i], *root = &c->slots[prec_root(c, i)];
    if (!s->n) continue;
    const surg_schema *schema = surg_node_schema(s->n);
    if (!c->kind->integers && surg_schema_narrow(schema) == SURG_NARROW_GAIN) root->gains = true;
    if (root->gains) root->weight = GAIN_WEIGHT;
    if (surg_node_op(s->n) == SURG_OP_Cast && root == s && !root->gains) s->weight = 0;
  }
}

static bool build(net *t) {
  prec *c = t->c;
  const uint64_t vertices = SLOTS + (uint64_t)c->n_slots + 2 * (uint64_t)c->n_values;
  const uint64_t edges = 2 * ((uint64_t)c->n_slots + 2 * (uint64_t)c->n_values +
                              2 * (uint64_t)c->n_reads + (uint64_t)c->n_slots);
  if (edges >= PREC_NONE) {
    surg_pass_fail(c->p, NULL, "the model is too large");
    return false;
  }
  t->max_edges = (uint32_t)edges;
  t->edges = surg_pass_alloc(c->p, (size_t)edges * sizeof *t->edges);
  t->first = surg_pass_alloc(c->p, (size_t)vertices * sizeof *t->first);
  t->at = surg_pass_alloc(c->p, (size_t)vertices * sizeof *t->at);
  t->level = surg_pass_alloc(c->p, (size_t)vertices * sizeof *t->level);
  t->queue = surg_pass_alloc(c->p, (size_t)vertices * sizeof *t->queue);
  t->path = surg_pass_alloc(c->p, (size_t)vertices * sizeof *t->path);
  if (!t->edges || !t->first || !t->at || !t->level || !t->queue || !t->path) return false;
  t->vertices = SLOTS + c->n_slots;
  for (uint32_t i = 0; i < t->vertices; i++) t->first[i] = PREC_NONE;
  weigh(c);
  for (uint32_t i = 0; i < c->n_slots; i++) add_slot(t, i);
  for (uint32_t i = 0; i < c->n_values; i++) add_value(t, &c->values[i]);
  for (const prec_cast *x = c->casts; x; x = x->next) {
    const uint32_t in = vertex(t, x->in), out = vertex(t, x->out);
    const int32_t cost = cost_there(c, x);
    if (in != out) join(t, in, out, cost, cost);
  }
  return true;
}

/* --- the flow --- */

/* Distances from the source over edges with room; false: the sink is not reached. */
static bool search(net *t, bool endless_only) {
  uint32_t head = 0, tail = 0;
  for (uint32_t i = 0; i < t->vertices; i++) t->level[i] = PREC_NONE;
  t->level[SOURCE] = 0;
  t->queue[tail++] = SOURCE;
  while (head < tail) {
    const uint32_t v = t->queue[head++];
    for (uint32_t e = t->first[v]; e != PREC_NONE; e = t->edges[e].next) {
      const edge *x = &t->edges[e];
      t->work++;
      if (x->room <= 0 || (endless_only && x->room != ENDLESS) || t->level[x->to] != PREC_NONE)
        continue;
      t->level[x->to] = t->level[v] + 1;
      t->queue[tail++] = x->to;
    }
  }
  return t->level[SINK] != PREC_NONE;
}

/* Sends what fits along the path of `depth` edges; returns how many edges are still usable. */
static uint32_t send(net *t, uint32_t depth) {
  int32_t least = ENDLESS;
  uint32_t full = depth;
  for (uint32_t i = 0; i < depth; i++)
    if (t->edges[t->path[i]].room < least) least = t->edges[t->path[i]].room;
  for (uint32_t i = depth; i-- > 0;) {
    edge *x = &t->edges[t->path[i]], *back = &t->edges[t->path[i] ^ 1];
    if (x->room != ENDLESS) x->room -= least;
    if (back->room != ENDLESS)
      back->room = back->room > ENDLESS - 1 - least ? ENDLESS - 1 : back->room + least;
    if (x->room == 0) full = i;
  }
  return full;
}

/* One blocking flow, by depth-first search with an explicit path. */
static bool block(net *t, uint64_t limit) {
  uint32_t v = SOURCE, depth = 0;
  for (uint32_t i = 0; i < t->vertices; i++) t->at[i] = t->first[i];
  for (;;) {
    if (v == SINK) {
      const uint32_t kept = send(t, depth);
      if (kept == depth) return false; /* every edge is endless: pins contradict each other */
      depth = kept;
      v = depth ? t->edges[t->path[depth - 1]].to : SOURCE;
    }
    const uint32_t e = t->at[v];
    if (++t->work > limit) return false;
    if (e == PREC_NONE) {
      if (v == SOURCE) return true;
      t->level[v] = PREC_NONE;
      depth--;
      v = t->edges[t->path[depth] ^ 1].to;
      t->at[v] = t->edges[t->at[v]].next;
    } else if (t->edges[e].room > 0 && t->level[t->edges[e].to] == t->level[v] + 1) {
      t->path[depth++] = e;
      v = t->edges[e].to;
    } else {
      t->at[v] = t->edges[e].next;
    }
  }
}

/* What is reached from the source stays. */
static void decide(net *t) {
  prec *c = t->c;
  for (uint32_t i = 0; i < c->n_slots; i++) {
    prec_slot *s = &c->slots[i];
    if (s->parent != i) continue;
    s->moves = t->level[SLOTS + i] == PREC_NONE;
    if (!s->moves && s->why == PREC_FREE) s->why = PREC_CASTS;
  }
}

/* A slot that is pinned to stay wins over one that would remain what it is: values that cannot be
 * cast, such as sequences, connect them. */
static void settle_contradictions(net *t) {
  search(t, true);
  for (uint32_t i = 0; i < t->c->n_slots; i++) {
    prec_slot *s = &t->c->slots[i];
    if (s->parent != i || t->level[SLOTS + i] == PREC_NONE) continue;
    s->holds = false;
    if (s->why == PREC_FREE) s->why = PREC_TIED;
  }
}

bool prec_cut(prec *c) {
  net t = {.c = c};
  if (!build(&t)) return false;
  settle_contradictions(&t);
  /* The sink is reached over endless edges alone: those slots hold the type no longer. */
  for (uint32_t i = 0; i < c->n_slots; i++) {
    if (c->slots[i].parent != i || c->slots[i].holds) continue;
    for (uint32_t e = t.first[SLOTS + i]; e != PREC_NONE; e = t.edges[e].next)
      if (t.edges[e].to == SINK && t.edges[e].room == ENDLESS) t.edges[e].room = 0;
  }
  const uint64_t limit = (uint64_t)WORK * (t.n_edges + t.vertices);
  t.work = 0;
  while (search(&t, false))
    if (!block(&t, limit)) {
      c->exhausted = true;
      break;
    }
  if (c->exhausted) search(&t, true);
  decide(&t);
  return true;
}
