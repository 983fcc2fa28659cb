/* SPDX-License-Identifier: Apache-2.0 */
/* Splits a model that an engine supports only in part: the part before the engine, the core that
 * the engine runs, the part after it.
 *
 * Blocked nodes are numbered in graph order. Those up to some point are moved before the core, with
 * everything they depend on; the others are moved after it, with everything that depends on them.
 * The point that leaves the most in the core is chosen: one pass in each direction and one over the
 * points.
 *
 * Then nodes at the borders leave the core if fewer values are between the parts: a node has a cost
 * outside the core, a higher one if it has weights, and so has each value that leaves a part. The
 * latter is raised if many values leave the core: those of shapes, for example, which the part
 * after it can compute as well. The least sum is a minimum cut (onnxsurg/flow.h), first between
 * core and after, then between before and core.
 *
 * Nodes that depend on no input of the model are in no part: what extracts a part copies them. */
#include <onnxsurg/flow.h>

#include "base/context.h"
#include "ir/ir.h"
#include "target/target.h"

#define PLAIN 2            /* the cost of a node outside the core */
#define WEIGHTED 64        /* ... of one with weights */
#define WEIGHT_ELEMENTS 64 /* elements of a constant matrix that is one */
#define CROSSING 1         /* the cost of a value between parts, at first */
#define CROSSING_FACTOR 16 /* of the cost of the next try, if there are too many */
#define FEW 8u             /* values that enter or leave the core: at first no more */
#define TRIES 3

typedef enum part { BEFORE, CORE, AFTER } part;

/* A node of the main graph, indexed by its position. */
typedef struct spot {
  const surg_node *node;
  bool blocked;
  bool fed;        /* it depends on an input of the model, or must not be copied */
  size_t first;    /* the first blocked node that depends on it (or is it); n_blocked: none */
  size_t last;     /* 1 + the last blocked node that it depends on (or is); 0: none */
  uint32_t vertex; /* of the network */
  part part;
} spot;

typedef struct cutting {
  surg_model *m;
  surg_context *ctx;
  spot *spots;
  size_t n, n_blocked;
  surg_flow *flow;
  bool untrimmed; /* a border took too many steps */
  surg__cut *out;
} cutting;

static size_t place_of(const surg_node *n) {
  return (size_t)(uintptr_t)n->scratch;
}

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

static void feed_readers(cutting *c, const surg_value *v) {
  for (const surg_use *u = surg_value_first_use(v); u; u = surg_use_next(u)) {
    const surg_node *r = reader(u);
    if (r) c->spots[place_of(r)].fed = true;
  }
}

/* Computes `fed`, in graph order. Weights that IR version 3 lists as inputs are constants. */
static void feed(cutting *c) {
  const surg_graph *g = surg_model_graph(c->m);
  for (size_t k = 0; k < surg_graph_input_count(g); k++)
    if (!surg_value_constant(surg_graph_input(g, k))) feed_readers(c, surg_graph_input(g, k));
  for (size_t i = 0; i < c->n; i++) {
    spot *s = &c->spots[i];
    s->fed |= s->blocked || surg_node_nondeterministic(s->node);
    for (size_t k = 0; s->fed && k < surg_node_output_count(s->node); k++)
      feed_readers(c, surg_node_output(s->node, k));
  }
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

static int64_t cost_of(const surg_node *n) {
  for (size_t k = 0; k < surg_node_input_count(n); k++) {
    const surg_value *v = surg_node_input(n, k);
    const surg_tensor *t = v ? surg_value_constant(v) : NULL;
    if (t && surg_tensor_rank(t) >= 2 && surg_tensor_count(t) >= WEIGHT_ELEMENTS) return WEIGHTED;
  }
  return PLAIN;
}

/* The number of blocked nodes to put before the core. A node stays in the core for points from
 * `last` to `first`; `steps` accumulates where these intervals begin and end. */
static size_t best_point(cutting *c, int64_t *steps) {
  for (size_t i = 0; i < c->n; i++) {
    const spot *s = &c->spots[i];
    if (!s->fed || s->last > s->first) continue;
    const int64_t cost = cost_of(s->node);
    steps[s->last] += cost;
    steps[s->first + 1] -= cost;
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

/* Puts each node into the core unless a blocked node forbids it. */
static surg_status divide(cutting *c) {
  int64_t *steps = surg__calloc(c->ctx, c->n_blocked + 2, sizeof *steps);
  if (!steps) return surg__oom(c->ctx, surg_model_path(c->m));
  mark_behind(c);
  mark_before(c);
  const size_t point = best_point(c, steps);
  for (size_t i = 0; i < c->n; i++) {
    spot *s = &c->spots[i];
    s->part = !s->fed ? AFTER : s->first < point ? BEFORE : s->last > point ? AFTER : CORE;
  }
  surg__free(c->ctx, steps);
  return SURG_OK;
}

/* --- the borders of the core --- */

static bool edge(cutting *c, uint32_t from, uint32_t to, int64_t capacity) {
  return surg_flow_add(c->flow, from, to, capacity, 0) == SURG_OK;
}

/* The edges of a value of a node. `extra` stands between the node and the readers, so that the
 * value costs once. No reader is in an earlier part than the node. */
static bool add_value(cutting *c, const spot *s, const surg_value *v, uint32_t extra,
                      int64_t crossing) {
  bool read = false;
  for (const surg_use *u = surg_value_first_use(v); u; u = surg_use_next(u)) {
    const surg_node *r = reader(u);
    if (!r) continue;
    const uint32_t to = c->spots[place_of(r)].vertex;
    if (!edge(c, to, s->vertex, SURG_FLOW_ENDLESS) || !edge(c, extra, to, SURG_FLOW_ENDLESS))
      return false;
    read = true;
  }
  return !read || edge(c, s->vertex, extra, crossing);
}

/* Builds the network of one border: nodes of the core have vertices of their own, those before it
 * are the source, those after it the sink. Outside the core is the side of `outside`. */
static surg_status build(cutting *c, part outside, int64_t crossing) {
  size_t inside = 0, values = 0;
  for (size_t i = 0; i < c->n; i++) {
    spot *s = &c->spots[i];
    if (!s->fed) continue;
    s->vertex = s->part == CORE ? 2 + (uint32_t)inside++ : s->part == AFTER;
    if (s->part != AFTER) values += surg_node_output_count(s->node);
  }
  if (inside > UINT32_MAX / 4 || values > UINT32_MAX / 4) return SURG_ELIMIT;
  uint32_t extra = 2 + (uint32_t)inside;
  c->flow = surg_flow_new(c->ctx, extra + (uint32_t)values);
  bool added = c->flow != NULL;
  for (size_t i = 0; i < c->n && added; i++) {
    const spot *s = &c->spots[i];
    if (!s->fed || s->part == AFTER) continue;
    if (s->part == CORE)
      added = outside == AFTER ? edge(c, 0, s->vertex, cost_of(s->node))
                               : edge(c, s->vertex, 1, cost_of(s->node));
    for (size_t k = 0; k < surg_node_output_count(s->node) && added; k++)
      added = add_value(c, s, surg_node_output(s->node, k), extra++, crossing);
  }
  return added ? SURG_OK : surg__alloc_status(c->ctx);
}

/* Moves nodes at one border out of the core, unless that takes too many steps. */
static surg_status trim(cutting *c, part outside, int64_t crossing) {
  surg_status status = build(c, outside, crossing);
  if (status == SURG_OK) status = surg_flow_run(c->flow, SURG_LIMIT_CUT_STEPS);
  for (size_t i = 0; i < c->n && status == SURG_OK; i++) {
    spot *s = &c->spots[i];
    if (!s->fed || s->part != CORE) continue;
    if (surg_flow_with_source(c->flow, s->vertex) == (outside == BEFORE)) s->part = outside;
  }
  surg_flow_free(c->flow);
  c->flow = NULL;
  if (status != SURG_ELIMIT) return status;
  c->untrimmed = true;
  return SURG_OK;
}

static bool push(cutting *c, surg__cut_values *to, const surg_value *v) {
  return surg__vec_push(c->ctx, to, v);
}

/* Collects the outputs of a node that another part or the model's outputs use, each once. */
static bool gather(cutting *c, const spot *s) {
  const int from = s->part;
  for (size_t k = 0; k < surg_node_output_count(s->node); k++) {
    const surg_value *v = surg_node_output(s->node, k);
    bool to[3] = {false, false, false}, output = false;
    for (const surg_use *u = surg_value_first_use(v); u; u = surg_use_next(u)) {
      const surg_node *r = reader(u);
      if (r && s->fed) to[c->spots[place_of(r)].part] = true;
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

static surg_status gather_all(cutting *c) {
  for (size_t i = 0; i < c->n; i++) {
    const spot *s = &c->spots[i];
    c->out->nodes[s->part] += s->fed;
    if (!gather(c, s)) return surg__oom(c->ctx, surg_model_path(c->m));
  }
  const surg_graph *g = surg_model_graph(c->m);
  for (size_t k = 0; k < surg_graph_output_count(g); k++) {
    const surg_value *v = surg_graph_output(g, k);
    const bool stored = !surg_value_producer(v, NULL) && surg_value_is_initializer(v);
    if (stored && !push(c, &c->out->post_out, v)) return surg__oom(c->ctx, surg_model_path(c->m));
  }
  return SURG_OK;
}

static bool above(const surg__cut *cut, size_t most) {
  return cut->core_in.count > most || cut->core_out.count > most;
}

static surg_status try_crossing(cutting *c, int64_t crossing, surg__cut *out) {
  *out = (surg__cut){.ctx = c->ctx};
  c->out = out;
  surg_status s = divide(c);
  if (s == SURG_OK) s = trim(c, AFTER, crossing);
  if (s == SURG_OK) s = trim(c, BEFORE, crossing);
  return s == SURG_OK ? gather_all(c) : s;
}

surg_status surg__target_cut(surg_model *m, const surg_node *const *blocked, size_t n_blocked,
                             surg__cut *out) {
  cutting c = {.m = m, .ctx = surg_model_context(m)};
  *out = (surg__cut){.ctx = c.ctx};
  c.n = surg_graph_node_count(surg_model_graph(m));
  c.spots = surg__calloc(c.ctx, c.n + 1, sizeof *c.spots);
  if (!c.spots) return surg__oom(c.ctx, surg_model_path(m));
  number(&c);
  surg_status s = block(&c, blocked, n_blocked) ? SURG_OK : SURG_ENOTFOUND;
  if (!s) feed(&c);
  int64_t crossing = CROSSING;
  for (int i = 0; i < TRIES && !s; i++, crossing *= CROSSING_FACTOR) {
    surg__cut next;
    if (i && !above(out, i == 1 ? FEW : SURG__CUT_ENDS)) break;
    s = try_crossing(&c, crossing, &next);
    surg__target_cut_free(s || (i && c.untrimmed) ? &next : out);
    if (s || (i && c.untrimmed)) break;
    *out = next;
  }
  for (size_t i = 0; i < c.n; i++) ((surg_node *)(uintptr_t)c.spots[i].node)->scratch = NULL;
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
