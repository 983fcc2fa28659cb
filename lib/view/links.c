/* SPDX-License-Identifier: Apache-2.0 */
/* The links of a scene, and the boxes of values that come from outside or leave. */
#include <stdlib.h>

#include "view/view.h"

#define LEAVING_MOST 8u /* values that leave a folder by links of their own; others share one */
#define OUTER_MOST 300u /* values from outside, or for outside, that have boxes of their own */

/* What becomes a link. */
typedef struct edge {
  uint32_t from, to, net, input;
} edge;

/* What links of one net start from. */
typedef struct origin {
  const surg_value *value; /* NULL: several */
  uint32_t box;
} origin;

typedef struct state {
  surg__view *v;
  surg__scene *s;
  SURG_VEC(surg__box) boxes;
  SURG_VEC(edge) edges;
  surg__view_map values;     /* that are linked */
  SURG_VEC(uint32_t) net_of; /* of each value */
  SURG_VEC(origin) nets;
  uint32_t *leaving;          /* of each folder: how many values leave it */
  uint32_t *rest;             /* ... and the net of those past the first few; VIEW_NONE: none */
  size_t outer;               /* boxes of values from outside, or for them */
  uint32_t rest_in, rest_out; /* the boxes of those past the first ones; VIEW_NONE: none */
  bool ok;
} state;

static bool fail(state *t) {
  t->ok = false;
  if (t->v->status == SURG_OK) t->v->status = surg__alloc_status(t->v->ctx);
  return false;
}

static uint32_t add_box(state *t, surg__box_kind kind, const surg_value *value) {
  const surg__box b = {.kind = kind, .value = value, .mark = -1, .scene = VIEW_NONE};
  if (!surg__vec_push(t->v->ctx, &t->boxes, b)) {
    fail(t);
    return 0;
  }
  return (uint32_t)(t->s->lay.n + t->boxes.count - 1); /* after those of nodes and folders */
}

/* The box of a value from outside (`in`), or for outside. */
static uint32_t outer_box(state *t, const surg_value *value, bool in) {
  uint32_t *rest = in ? &t->rest_in : &t->rest_out;
  if (t->outer++ < OUTER_MOST) return add_box(t, SURG__BOX_OUTER, value);
  if (*rest != VIEW_NONE) return *rest;
  *rest = add_box(t, SURG__BOX_OUTER, NULL);
  if (t->ok)
    t->boxes.items[t->boxes.count - 1].name = in ? "more from outside" : "more for outside";
  return *rest;
}

/* The box that makes a value, or one that is added for it. */
static uint32_t box_of(state *t, const surg_value *value, surg__box_kind kind) {
  const surg_node *producer = surg_value_producer(value, NULL);
  const uint32_t number = producer ? surg__view_number(t->v, producer) : VIEW_NONE;
  const uint32_t box = number == VIEW_NONE ? VIEW_NONE : t->v->boxes[number];
  if (box != VIEW_NONE) return box;
  return kind == SURG__BOX_OUTER ? outer_box(t, value, true) : add_box(t, kind, value);
}

/* The net that all further values of a box share: of a large folder, and of the last box of values
 * from outside. NULL: it has none. */
static uint32_t *shared_net(state *t, uint32_t box) {
  if (box == t->rest_in) return &t->rest[t->s->lay.n];
  if (box >= t->s->lay.n || t->s->boxes[box].kind != SURG__BOX_GROUP) return NULL;
  return t->leaving[box]++ < LEAVING_MOST ? NULL : &t->rest[box];
}

/* The net of a value. A value that no box of the scene makes gets a box of that kind. */
static uint32_t net_of(state *t, const surg_value *value, surg__box_kind kind) {
  const uint32_t i = surg__view_map_add(t->v->ctx, &t->values, value);
  if (i == VIEW_NONE) {
    fail(t);
    return 0;
  }
  if (i < t->net_of.count) return t->net_of.items[i];
  const uint32_t box = box_of(t, value, kind);
  uint32_t *shared = t->ok ? shared_net(t, box) : NULL;
  uint32_t net = shared ? *shared : VIEW_NONE;
  if (net == VIEW_NONE) {
    net = (uint32_t)t->nets.count;
    const origin o = {shared ? NULL : value, box};
    if (!surg__vec_push(t->v->ctx, &t->nets, o)) fail(t);
    if (shared) *shared = net;
  }
  if (!surg__vec_push(t->v->ctx, &t->net_of, net)) fail(t);
  return net;
}

static void add_edge(state *t, const surg_value *value, uint32_t to, uint32_t input) {
  if (!value || !t->ok || surg__view_constant(value)) return;
  const uint32_t net = net_of(t, value, SURG__BOX_OUTER);
  if (!t->ok) return;
  const edge e = {t->nets.items[net].box, to, net, input};
  if (e.from != to && !surg__vec_push(t->v->ctx, &t->edges, e)) fail(t);
}

/* The first capture of a node. */
static size_t first_capture(const surg__view *v, uint32_t node) {
  size_t low = 0, high = v->n_captures;
  while (low < high) {
    const size_t mid = low + (high - low) / 2;
    if (v->captures[mid].node < node)
      low = mid + 1;
    else
      high = mid;
  }
  return low;
}

static void add_inputs(state *t) {
  const surg_graph *g = t->s->graph;
  for (size_t i = 0; i < surg_graph_input_count(g) && t->ok; i++)
    if (!surg__view_constant(surg_graph_input(g, i)))
      net_of(t, surg_graph_input(g, i), SURG__BOX_INPUT);
}

static void add_nodes(state *t) {
  for (size_t i = 0; i < t->s->n_nodes && t->ok; i++) {
    const surg_node *n = t->s->nodes[i];
    const uint32_t number = surg__view_number(t->v, n), box = t->v->boxes[number];
    if (box == VIEW_NONE) continue;
    const bool group = t->s->boxes[box].kind == SURG__BOX_GROUP;
    for (size_t k = 0; k < surg_node_input_count(n); k++)
      add_edge(t, surg_node_input(n, k), box, group ? VIEW_NONE : (uint32_t)k);
    for (size_t k = first_capture(t->v, number);
         k < t->v->n_captures && t->v->captures[k].node == number; k++)
      add_edge(t, t->v->captures[k].value, box, VIEW_NONE);
  }
}

/* Whether a value of a folder is read outside of it. */
static bool leaves(const state *t, const surg_value *v) {
  for (const surg_use *u = surg_value_first_use(v); u; u = surg_use_next(u)) {
    if (surg_use_get_kind(u) == SURG_USE_SOFT) continue;
    const surg_node *n = surg_use_node(u);
    const surg_graph *g = surg_use_graph(u);
    if (!n && g == t->s->graph) return true;
    while (g && g != t->s->graph) {
      n = surg_graph_parent_node(g);
      g = surg_graph_parent(g);
    }
    const uint32_t number = n ? surg__view_number(t->v, n) : VIEW_NONE;
    if (number == VIEW_NONE || t->v->boxes[number] == VIEW_NONE) return true;
  }
  return false;
}

static void add_outputs(state *t) {
  const surg__scene *s = t->s;
  for (size_t i = 0; s->whole && i < surg_graph_output_count(s->graph) && t->ok; i++) {
    const surg_value *v = surg_graph_output(s->graph, i);
    const uint32_t box = v ? add_box(t, SURG__BOX_OUTPUT, v) : VIEW_NONE;
    if (v) add_edge(t, v, box, VIEW_NONE);
  }
  for (size_t i = 0; !s->whole && i < s->n_nodes && t->ok; i++)
    for (size_t k = 0; k < surg_node_output_count(s->nodes[i]); k++) {
      const surg_value *v = surg_node_output(s->nodes[i], k);
      if (v && !surg__view_constant(v) && leaves(t, v))
        add_edge(t, v, outer_box(t, v, false), VIEW_NONE);
    }
}

static int by_source(const void *a, const void *b) {
  const edge *x = a, *y = b;
  if (x->from != y->from) return x->from < y->from ? -1 : 1;
  if (x->net != y->net) return x->net < y->net ? -1 : 1;
  if (x->to != y->to) return x->to < y->to ? -1 : 1;
  return x->input < y->input ? -1 : x->input > y->input;
}

/* Numbers nets anew in the order of their sources' outputs, so that links leave a box in the order
 * of its outputs. */
static bool number_nets(state *t) {
  const size_t nets = t->nets.count;
  uint32_t next = 0, *to = surg__view_array(t->v, nets, sizeof *to);
  const surg_value **values = surg__view_array(t->v, nets, sizeof *values);
  if (!to || !values) return fail(t);
  for (size_t i = 0; i < nets; i++) to[i] = VIEW_NONE;
  for (size_t i = 0; i < t->s->n_nodes; i++)
    for (size_t k = 0; k < surg_node_output_count(t->s->nodes[i]); k++) {
      const surg_value *v = surg_node_output(t->s->nodes[i], k);
      const uint32_t index = v ? surg__view_map_find(&t->values, v) : VIEW_NONE;
      const uint32_t net = index == VIEW_NONE ? VIEW_NONE : t->net_of.items[index];
      if (net != VIEW_NONE && to[net] == VIEW_NONE) to[net] = next++;
    }
  for (size_t i = 0; i < nets; i++)
    if (to[i] == VIEW_NONE) to[i] = next++;
  assert(next == nets);
  for (size_t i = 0; i < nets; i++) values[to[i]] = t->nets.items[i].value;
  t->s->values = values;
  t->s->lay.n_nets = nets;
  for (size_t i = 0; i < t->edges.count; i++) t->edges.items[i].net = to[t->edges.items[i].net];
  return true;
}

/* Copies boxes and links into the scene. Several links of a value to one box are one. */
static bool finish(state *t) {
  surg__scene *s = t->s;
  const size_t own = s->lay.n, n = own + t->boxes.count;
  surg__box *boxes = surg__view_array(t->v, n, sizeof *boxes);
  s->lay.boxes = surg__view_array(t->v, n, sizeof *s->lay.boxes);
  s->lay.links = surg__view_array(t->v, t->edges.count, sizeof *s->lay.links);
  s->links = surg__view_array(t->v, t->edges.count, sizeof *s->links);
  if (!boxes || !s->lay.boxes || !s->lay.links || !s->links || !number_nets(t)) return false;
  memcpy(boxes, s->boxes, own * sizeof *boxes);
  if (t->boxes.count) memcpy(boxes + own, t->boxes.items, t->boxes.count * sizeof *boxes);
  s->boxes = boxes;
  s->lay.n = n;
  if (t->edges.count) qsort(t->edges.items, t->edges.count, sizeof *t->edges.items, by_source);
  for (size_t i = 0; i < t->edges.count; i++) {
    const edge *e = &t->edges.items[i];
    surg__scene_link *last = s->lay.m ? &s->links[s->lay.m - 1] : NULL;
    const surg__lay_link *l = last ? &s->lay.links[s->lay.m - 1] : NULL;
    if (l && l->from == e->from && l->to == e->to && l->net == e->net) {
      last->input = VIEW_NONE;
      continue;
    }
    s->lay.links[s->lay.m] = (surg__lay_link){.from = e->from, .to = e->to, .net = e->net};
    s->links[s->lay.m++] = (surg__scene_link){s->values[e->net], e->input};
  }
  return true;
}

bool surg__view_links(surg__view *v, surg__scene *s) {
  state t = {.v = v, .s = s, .ok = true, .rest_in = VIEW_NONE, .rest_out = VIEW_NONE};
  t.leaving = surg__view_array(v, s->lay.n + 1, sizeof *t.leaving);
  t.rest = surg__view_array(v, s->lay.n + 1, sizeof *t.rest);
  if (!t.leaving || !t.rest) return false;
  for (size_t i = 0; i <= s->lay.n; i++) t.rest[i] = VIEW_NONE;
  if (s->whole) add_inputs(&t);
  if (t.ok) add_nodes(&t);
  if (t.ok) add_outputs(&t);
  for (size_t i = 0; i < s->n_nodes; i++) v->boxes[surg__view_number(v, s->nodes[i])] = VIEW_NONE;
  const bool ok = t.ok && finish(&t);
  surg__vec_free(v->ctx, &t.boxes);
  surg__vec_free(v->ctx, &t.edges);
  surg__vec_free(v->ctx, &t.nets);
  surg__vec_free(v->ctx, &t.net_of);
  surg__view_map_free(v->ctx, &t.values);
  return ok;
}
