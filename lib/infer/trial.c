/* SPDX-License-Identifier: Apache-2.0 */
/* Infers what would be known if a condition were true, or false: of the Ifs that read it and of the
 * nodes after them whose inputs would then have other types, in the order of the graph. Values get
 * their facts back afterwards. Only what changes is visited, MOST nodes at most, so that a trial
 * for each If of a model is linear in their number. What is not visited keeps facts that are true
 * anyway, so a node that fails here fails whenever the condition is so. */
#include "infer/infer.h"
#include "infer/rules.h"

#define MOST 1024u /* nodes that one trial visits, those in bodies included */

typedef struct touched {
  surg_value *v;
  const surg_type *inferred;
  const surg__elems *elems;
} touched;

/* A node to visit; `bodies`: what its subgraphs read has changed. */
typedef struct waiting {
  surg_node *n;
  bool bodies;
} waiting;

typedef struct trial {
  surg__infer c;
  const surg_graph *g; /* the nodes of this graph are visited */
  SURG_VEC(touched) touched;
  SURG_VEC(waiting) heap; /* the first node of the graph is its root */
  unsigned left;          /* nodes that may still be visited */
} trial;

static bool out_of_memory(trial *t) {
  t->c.nomem = true;
  return false;
}

/* Attaches a state with what is known of the value. */
static bool touch(trial *t, surg_value *v) {
  if (!v || v->scratch || t->c.nomem) return !t->c.nomem;
  surg__istate *s = surg__arena_alloc(&t->c.scratch, sizeof *s);
  const touched old = {v, v->inferred, v->elems};
  if (!s || !surg__vec_push(t->c.m->ctx, &t->touched, old)) return out_of_memory(t);
  surg__infer_attach(v, s, false);
  return true;
}

static bool touch_node(trial *t, const surg_node *n) {
  for (size_t i = 0; i < n->n_in; i++)
    if (!touch(t, surg_node_input(n, i))) return false;
  for (size_t k = 0; k < n->n_out; k++)
    if (!touch(t, n->out[k])) return false;
  return true;
}

/* Touches all values that the bodies of a node define or read. False: too many nodes, or out of
 * memory. Recursion is bounded by SURG_LIMIT_DEPTH. */
static bool touch_bodies(trial *t, surg_node *n) {
  surg_graph *body;
  for (size_t k = 0; (body = surg_node_subgraph(n, k)) != NULL; k++) {
    if (body->n_nodes > t->left) return false;
    t->left -= (unsigned)body->n_nodes;
    for (surg_value *v = body->first_value; v; v = v->next)
      if (!touch(t, v)) return false;
    for (size_t i = 0; i < surg_graph_output_count(body); i++)
      if (!touch(t, (surg_value *)surg_graph_output(body, i))) return false;
    for (surg_node *inner = body->first; inner; inner = inner->next)
      if (!touch_node(t, inner) || !touch_bodies(t, inner)) return false;
  }
  return true;
}

/* --- the nodes that wait, a heap by their order --- */

static bool push(trial *t, surg_node *n, bool bodies) {
  if (!surg__vec_push(t->c.m->ctx, &t->heap, ((waiting){n, bodies}))) return out_of_memory(t);
  waiting *h = t->heap.items;
  for (size_t i = t->heap.count - 1, up; i; i = up) {
    up = (i - 1) / 2;
    if (!surg_node_before(h[i].n, h[up].n)) break;
    const waiting swap = h[i];
    h[i] = h[up];
    h[up] = swap;
  }
  return true;
}

static waiting pop(trial *t) {
  waiting *h = t->heap.items;
  const waiting first = h[0];
  const size_t count = --t->heap.count;
  h[0] = h[count];
  for (size_t i = 0, down; (down = 2 * i + 1) < count; i = down) {
    if (down + 1 < count && surg_node_before(h[down + 1].n, h[down].n)) down++;
    if (!surg_node_before(h[down].n, h[i].n)) break;
    const waiting swap = h[i];
    h[i] = h[down];
    h[down] = swap;
  }
  return first;
}

/* The first node that waits, with all entries for it as one. */
static waiting next(trial *t) {
  waiting w = pop(t);
  while (t->heap.count && t->heap.items[0].n == w.n) w.bodies |= pop(t).bodies;
  return w;
}

/* Queues the nodes of the graph that read a value, itself or in their bodies; with `ifs`, only Ifs
 * whose condition it is. */
static bool push_readers(trial *t, const surg_value *v, bool ifs) {
  for (const surg_use *u = surg_value_first_use(v); u; u = surg_use_next(u)) {
    if (surg_use_get_kind(u) != SURG_USE_NODE) continue;
    surg_node *n = surg_use_node(u);
    if (ifs && (surg_node_op(n) != SURG_OP_If || surg_node_input(n, 0) != v)) continue;
    const bool inside = n->graph != t->g;
    while (n && n->graph != t->g) n = surg_graph_parent_node(n->graph);
    if (t->heap.count > MOST) return true;
    if (n && !push(t, n, inside || surg_node_op(n) != SURG_OP_If)) return false;
  }
  return true;
}

/* --- one node --- */

static bool same_elems(const surg__elems *a, const surg__elems *b) {
  if (!a || !b || a == b) return a == b;
  if (a->n != b->n || a->real != b->real) return false;
  for (uint32_t i = 0; i < a->n; i++)
    if (a->e[i].known != b->e[i].known || a->e[i].value != b->e[i].value ||
        a->e[i].expr != b->e[i].expr)
      return false;
  return true;
}

/* Touches what the rule of a node reads, and with `bodies` what its subgraphs do. False: not
 * possible, the node keeps its facts. */
static bool touch_all(trial *t, waiting w) {
  surg_graph *body;
  if (surg_node_function(w.n) || !touch_node(t, w.n)) return false;
  if (w.bodies) return touch_bodies(t, w.n);
  for (size_t k = 0; (body = surg_node_subgraph(w.n, k)) != NULL; k++)
    for (size_t i = 0; i < surg_graph_output_count(body); i++)
      if (!touch(t, (surg_value *)surg_graph_output(body, i))) return false;
  return true;
}

/* Infers a node again, and queues the readers of outputs of which something else is known now. */
static void visit(trial *t, waiting w) {
  const surg_node *n = w.n;
  const size_t count = n->n_out;
  touched *old = surg__arena_array(&t->c.scratch, count + 1, sizeof *old);
  if (!old) t->c.nomem = true;
  if (!old || !touch_all(t, w)) return;
  for (size_t k = 0; k < count; k++) {
    surg_value *v = n->out[k];
    if (!v) continue;
    surg__istate *s = v->scratch;
    old[k] = (touched){v, v->inferred, s->elems};
    *s = (surg__istate){.old = v->inferred};
    v->inferred = NULL;
  }
  surg__infer_again(&t->c, w.n, w.bodies);
  for (size_t k = 0; k < count && !t->c.nomem; k++) {
    const surg_value *v = n->out[k];
    if (!v || (v->inferred == old[k].inferred &&
               same_elems(((surg__istate *)v->scratch)->elems, old[k].elems)))
      continue;
    if (!push_readers(t, v, false)) return;
  }
}

/* --- public functions --- */

/* Whether inference visits the nodes of the graph once: not in a loop body, which is walked in
 * rounds, nor in a function. */
static bool walked_once(const surg_graph *g) {
  for (; g; g = surg_graph_parent(g)) {
    const surg_node *n = surg_graph_parent_node(g);
    if (surg_graph_get_kind(g) == SURG_GRAPH_MAIN) return true;
    if (!n || surg_node_op(n) != SURG_OP_If) return false;
  }
  return false;
}

static void finish(trial *t) {
  surg_context *ctx = t->c.m->ctx;
  for (size_t i = 0; i < t->touched.count; i++) {
    const touched *old = &t->touched.items[i];
    old->v->scratch = NULL;
    old->v->inferred = old->inferred;
    old->v->elems = old->elems;
  }
  surg__vec_free(ctx, &t->touched);
  surg__vec_free(ctx, &t->heap);
  for (size_t i = 0; i < t->c.missed.count; i++) t->c.missed.items[i]->missed = false;
  surg__vec_free(ctx, &t->c.missed);
  surg__arena_free(&t->c.keep);
  surg__arena_free(&t->c.scratch);
}

surg_node *surg_node_branch_fails(surg_node *n, bool taken) {
  const surg_value *condition = n && !n->erased ? surg_node_input(n, 0) : NULL;
  if (!condition || surg_node_op(n) != SURG_OP_If || !walked_once(n->graph)) return NULL;
  surg_model *m = n->graph->model;
  if (surg_model_infer(m) != SURG_OK) return NULL;
  surg__istate some;
  trial t = {.c = {.m = m,
                   .states = &some, /* facts are read from the states of values */
                   .elems_left = MOST * SURG__ELEMS,
                   .work_left = MOST * SURG__WORK,
                   .no_calls = true,
                   .assumed = condition,
                   .assumed_as = taken,
                   .watched = n->graph},
             .g = n->graph,
             .left = MOST};
  surg__arena_init(&t.c.keep, m->ctx);
  surg__arena_init(&t.c.scratch, m->ctx);
  push_readers(&t, condition, true);
  while (t.heap.count && !t.c.nomem && !t.c.failing && t.left) {
    t.left--;
    visit(&t, next(&t));
  }
  finish(&t);
  if (t.c.nomem && m->status == SURG_OK) surg__fail(m, surg__alloc_status(m->ctx));
  return t.c.failing;
}
