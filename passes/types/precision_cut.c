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
 * The work is limited to WORK visits an edge; beyond, all slots move that may, which is correct and
 * needs more Casts. */
#include <onnxsurg/flow.h>
#include <onnxsurg/ops.h>

#include "precision.h"

#define ENDLESS SURG_FLOW_ENDLESS
#define CAST_COST 12     /* of a Cast inside of the model */
#define INTERFACE_COST 4 /* of one at an input or output: the user asked for it */
#define THERE 1          /* less for a Cast that the model has: it stays rather than a new one */
#define WEIGHT 4         /* of a value that stays */
#define GAIN_WEIGHT 4000 /* of a slot of products of matrices that stays */
#define WORK 400         /* visits of an edge, on average */

typedef struct net {
  prec *c;
  surg_flow *flow;
  uint32_t vertices; /* that are used */
  bool failed;       /* out of memory */
} net;

enum { SOURCE = 0, SINK = 1, SLOTS = 2 };

static void join(net *t, uint32_t from, uint32_t to, int64_t capacity, int64_t back) {
  if (surg_flow_add(t->flow, from, to, capacity, back) != SURG_OK) t->failed = true;
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

static int64_t cost_of(const prec *c, const prec_value *x) {
  if (!x->movable) return ENDLESS;
  return at_interface(c, x) ? INTERFACE_COST : CAST_COST;
}

static int64_t cost_there(const prec *c, const prec_cast *x) {
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
  const int64_t cost = cost_of(t->c, x);
  const uint32_t made = vertex(t, x->made), one = only_reader(t, x, &many);
  if (one == PREC_NONE) return;
  if (!many) {
    join(t, made, one, cost, cost);
    return;
  }
  const uint32_t a = t->vertices++, b = t->vertices++;
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
  else if (!s->holds && s->weight)
    join(t, vertex(t, i), SINK,
         s->weight < GAIN_WEIGHT / WEIGHT ? WEIGHT * (int64_t)s->weight : GAIN_WEIGHT, 0);
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

/* All edges but those of slots that hold the type. */
static bool build(net *t) {
  prec *c = t->c;
  const uint64_t vertices = SLOTS + (uint64_t)c->n_slots + 2 * (uint64_t)c->n_values;
  if (vertices >= PREC_NONE) {
    surg_pass_fail(c->p, NULL, "the model is too large");
    return false;
  }
  t->flow = surg_flow_new(surg_pass_context(c->p), (uint32_t)vertices);
  if (!t->flow) return false;
  t->vertices = SLOTS + c->n_slots;
  weigh(c);
  for (uint32_t i = 0; i < c->n_slots; i++) add_slot(t, i);
  for (uint32_t i = 0; i < c->n_values; i++) add_value(t, &c->values[i]);
  for (const prec_cast *x = c->casts; x; x = x->next) {
    const uint32_t in = vertex(t, x->in), out = vertex(t, x->out);
    const int64_t cost = cost_there(c, x);
    if (in != out) join(t, in, out, cost, cost);
  }
  return !t->failed;
}

/* What is reached from the source stays. */
static void decide(net *t) {
  prec *c = t->c;
  for (uint32_t i = 0; i < c->n_slots; i++) {
    prec_slot *s = &c->slots[i];
    if (s->parent != i) continue;
    s->moves = !surg_flow_with_source(t->flow, SLOTS + i);
    if (!s->moves && s->why == PREC_FREE) s->why = PREC_CASTS;
  }
}

/* A slot that is pinned to stay wins over one that would remain what it is: values that cannot be
 * cast, such as sequences, connect them. The others that would remain get their edges. */
static void settle_contradictions(net *t) {
  surg_flow_reach(t->flow);
  for (uint32_t i = 0; i < t->c->n_slots; i++) {
    prec_slot *s = &t->c->slots[i];
    if (s->parent != i) continue;
    if (surg_flow_with_source(t->flow, SLOTS + i)) {
      s->holds = false;
      if (s->why == PREC_FREE) s->why = PREC_TIED;
    } else if (s->why == PREC_FREE && s->holds) {
      join(t, SLOTS + i, SINK, ENDLESS, 0);
    }
  }
}

bool prec_cut(prec *c) {
  net t = {.c = c};
  bool done = build(&t);
  if (done) {
    settle_contradictions(&t);
    const uint64_t limit = (uint64_t)WORK * (2 * surg_flow_edges(t.flow) + t.vertices);
    c->exhausted = surg_flow_run(t.flow, limit) != SURG_OK;
    if (c->exhausted) surg_flow_reach(t.flow);
    decide(&t);
    done = !t.failed;
  }
  surg_flow_free(t.flow);
  return done;
}
