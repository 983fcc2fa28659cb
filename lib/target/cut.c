/* SPDX-License-Identifier: Apache-2.0 */
/* Splits a model that an engine supports only in part: the part before the engine, the core that
 * the engine runs, the part after it.
 *
 * Blocked nodes are numbered in graph order. Those up to some point are moved before the core, with
 * everything they depend on; the others are moved after it, with everything that depends on them.
 * The point that leaves the most nodes in the core is chosen. One pass in each direction and one
 * over the points: linear. */
#include <stdlib.h>

#include "base/context.h"
#include "ir/ir.h"
#include "target/target.h"

/* A node of the main graph, indexed by its position. */
typedef struct spot {
  const surg_node *node;
  bool blocked;
  size_t first; /* the first blocked node that depends on it (or is it); n_blocked: none */
  size_t last;  /* 1 + the last blocked node that it depends on (or is); 0: none */
} spot;

typedef struct cutting {
  surg_model *m;
  surg_context *ctx;
  spot *spots;
  size_t n, n_blocked;
  surg__cut *out;
} cutting;

static size_t place_of(const surg_node *n) { return (size_t)(uintptr_t)n->scratch; }

/* The node of the main graph that contains a subgraph; NULL for the main graph and functions. */
static const surg_node *outermost(const surg_graph *g) {
  const surg_node *n = NULL;
  while (g && surg_graph_parent_node(g)) {
    n = surg_graph_parent_node(g);
    g = surg_node_graph(n);
  }
  return n && surg_graph_get_kind(surg_node_graph(n)) == SURG_GRAPH_MAIN ? n : NULL;
}

/* The node of the main graph that makes a use or contains it; NULL: an output of the model, or a
 * soft use. */
static const surg_node *reader(const surg_use *u) {
  if (surg_use_get_kind(u) == SURG_USE_SOFT) return NULL;
  const surg_graph *g = surg_use_graph(u);
  const surg_node *n = outermost(g);
  return n ? n : surg_use_get_kind(u) == SURG_USE_NODE ? surg_use_node(u) : NULL;
}

static void number(cutting *c) {
  size_t i = 0;
  const surg_graph *g = surg_model_graph(c->m);
  for (surg_node *n = surg_graph_first_node(g); n; n = surg_node_next(n)) {
    n->scratch = (void *)(uintptr_t)i;
    c->spots[i++].node = n;
  }
}

/* Marks blocked nodes. A blocked node in a subgraph blocks the node that contains it. False: no
 * node is blocked, or one is in a function, which cannot be split. */
static bool block(cutting *c, const surg_node *const *blocked, size_t n) {
  for (size_t i = 0; i < n; i++) {
    const surg_graph *g = surg_node_graph(blocked[i]);
    const surg_node *at = surg_graph_parent_node(g) ? outermost(g) : blocked[i];
    if (!at || surg_graph_get_kind(surg_node_graph(at)) != SURG_GRAPH_MAIN) return false;
    c->spots[place_of(at)].blocked = true;
  }
  for (size_t i = 0; i < c->n; i++) c->n_blocked += c->spots[i].blocked;
  return c->n_blocked > 0;
}

/* Computes `last`: forward in graph order, from each node to its consumers. */
static void mark_behind(cutting *c) {
  size_t seen = 0;
  for (size_t i = 0; i < c->n; i++) {
    spot *s = &c->spots[i];
    if (s->blocked) s->last = ++seen;
    for (size_t k = 0; s->last && k < surg_node_output_count(s->node); k++)
      for (const surg_use *u = surg_value_first_use(surg_node_output(s->node, k)); u;
           u = surg_use_next(u)) {
        const surg_node *r = reader(u);
        spot *to = r ? &c->spots[place_of(r)] : NULL;
        if (to && to->last < s->last) to->last = s->last;
      }
  }
}

/* Computes `first`: backward in graph order, from consumers to each node. */
static void mark_before(cutting *c) {
  size_t left = c->n_blocked;
  for (size_t i = c->n; i-- > 0;) {
    spot *s = &c->spots[i];
    s->first = c->n_blocked;
    if (s->blocked) s->first = --left;
    for (size_t k = 0; k < surg_node_output_count(s->node); k++)
      for (const surg_use *u = surg_value_first_use(surg_node_output(s->node, k)); u;
           u = surg_use_next(u)) {
        const surg_node *r = reader(u);
        const spot *to = r ? &c->spots[place_of(r)] : NULL;
        if (to && to->first < s->first) s->first = to->first;
      }
  }
}

/* The number of blocked nodes to put before the core. A node stays in the core for points from
 * `last` to `first`; `steps` accumulates where these intervals begin and end. */
static size_t best_point(cutting *c, int64_t *steps) {
  for (size_t i = 0; i < c->n; i++) {
    const spot *s = &c->spots[i];
    if (s->last > s->first) continue;
    steps[s->last]++;
    steps[s->first + 1]--;
  }
  int64_t now = 0, most = -1;
  size_t best = 0;
  for (size_t p = 0; p <= c->n_blocked; p++) {
    now += steps[p];
    if (now > most) {
      most = now;
      best = p;
    }
  }
  return best;
}

/* The part of a node: 0 before, 1 core, 2 after. */
static int part_of(const spot *s, size_t point) {
  return s->first < point ? 0 : s->last > point ? 2 : 1;
}

static bool push(cutting *c, surg__cut_values *to, const surg_value *v) {
  return surg__vec_push(c->ctx, to, v);
}

/* Collects the outputs of a node that another part or the model's outputs use, each once. */
static bool gather(cutting *c, const spot *s, size_t point) {
  const int from = part_of(s, point);
  for (size_t k = 0; k < surg_node_output_count(s->node); k++) {
    const surg_value *v = surg_node_output(s->node, k);
    bool to[3] = {false, false, false}, output = false;
    for (const surg_use *u = surg_value_first_use(v); u; u = surg_use_next(u)) {
      const surg_node *r = reader(u);
      if (r) to[part_of(&c->spots[place_of(r)], point)] = true;
      if (!r && surg_use_get_kind(u) == SURG_USE_OUTPUT) output = true;
    }
    if (from == 0 && (to[1] || to[2] || output) && !push(c, &c->out->pre_out, v)) return false;
    if (from == 0 && to[1] && !push(c, &c->out->core_in, v)) return false;
    if (from == 1 && (to[2] || output) && !push(c, &c->out->core_out, v)) return false;
    if (from != 2 && to[2] && !push(c, &c->out->post_in, v)) return false;
    if (from == 2 && output && !push(c, &c->out->post_out, v)) return false;
  }
  return true;
}

surg_status surg__target_cut(surg_model *m, const surg_node *const *blocked, size_t n_blocked,
                             surg__cut *out) {
  cutting c = {.m = m, .ctx = surg_model_context(m), .out = out};
  *out = (surg__cut){.ctx = c.ctx};
  c.n = surg_graph_node_count(surg_model_graph(m));
  c.spots = surg__calloc(c.ctx, c.n + 1, sizeof *c.spots);
  if (!c.spots) return surg__oom(c.ctx, surg_model_path(m));
  number(&c);
  surg_status s = block(&c, blocked, n_blocked) ? SURG_OK : SURG_ENOTFOUND;
  int64_t *steps = s ? NULL : surg__calloc(c.ctx, c.n_blocked + 2, sizeof *steps);
  if (!s && !steps) s = surg__oom(c.ctx, surg_model_path(m));
  if (!s) {
    mark_behind(&c);
    mark_before(&c);
    const size_t point = best_point(&c, steps);
    for (size_t i = 0; i < c.n && !s; i++) {
      out->nodes[part_of(&c.spots[i], point)]++;
      if (!gather(&c, &c.spots[i], point)) s = surg__oom(c.ctx, surg_model_path(m));
    }
  }
  for (size_t i = 0; i < c.n; i++)
    ((surg_node *)(uintptr_t)c.spots[i].node)->scratch = NULL;
  surg__free(c.ctx, steps);
  surg__free(c.ctx, c.spots);
  return s;
}

void surg__target_cut_free(surg__cut *cut) {
  if (!cut->ctx) return;
  surg__vec_free(cut->ctx, &cut->pre_out);
  surg__vec_free(cut->ctx, &cut->core_in);
  surg__vec_free(cut->ctx, &cut->core_out);
  surg__vec_free(cut->ctx, &cut->post_in);
  surg__vec_free(cut->ctx, &cut->post_out);
}
