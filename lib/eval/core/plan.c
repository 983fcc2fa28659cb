/* SPDX-License-Identifier: Apache-2.0 */
/* Lifetimes of values: a value is freed after the last node of its graph that reads it, directly or
 * in a subgraph. Computed once for each graph that runs. */
#include "base/context.h"
#include "eval/core/machine.h"

typedef struct dying {
  UT_hash_handle hh;
  const surg_node *node;
  SURG_VEC(const surg_value *) values;
} dying;

typedef struct surg__plan {
  UT_hash_handle hh;
  const surg_graph *graph;
  dying *nodes;
} surg__plan;

/* The node of graph g that reads the value, directly or in a subgraph; NULL: the use is as an
 * output of g. */
static const surg_node *reader_in(const surg_graph *g, const surg_use *u) {
  const surg_graph *at = surg_use_graph(u);
  const surg_node *n = surg_use_get_kind(u) == SURG_USE_NODE ? surg_use_node(u) : NULL;
  while (at != g) {
    n = surg_graph_parent_node(at);
    assert(n);
    at = surg_node_graph(n);
  }
  return n;
}

/* The last consumer, or the producer of an unused value; NULL: the value lives as long as the
 * graph. */
static const surg_node *last_reader(const surg_graph *g, const surg_value *v) {
  const surg_node *last = surg_value_producer(v, NULL);
  for (const surg_use *u = surg_value_first_use(v); u; u = surg_use_next(u)) {
    if (surg_use_get_kind(u) == SURG_USE_SOFT) continue;
    const surg_node *n = reader_in(g, u);
    if (!n) return NULL;
    if (!last || surg_node_before(last, n)) last = n;
  }
  return last;
}

/* Initializers of a subgraph are kept for its next iteration. */
static bool keeps(const surg_graph *g, const surg_value *v) {
  return surg_graph_get_kind(g) == SURG_GRAPH_SUBGRAPH && surg_value_is_initializer(v);
}

static surg_status add(surg__machine *m, surg__plan *p, const surg_node *n, const surg_value *v) {
  SURG_HASH_LOCALS(m->ctx);
  dying *d;
  HASH_FIND(hh, p->nodes, &n, sizeof n, d);
  if (!d) {
    d = surg__arena_zalloc(&m->arena, sizeof *d);
    if (!d) return surg__alloc_status(m->ctx);
    d->node = n;
    HASH_ADD(hh, p->nodes, node, sizeof n, d);
    if (surg__hash_failed) return surg__alloc_status(m->ctx);
  }
  return surg__vec_push(m->ctx, &d->values, v) ? SURG_OK : surg__alloc_status(m->ctx);
}

static surg_status make(surg__machine *m, const surg_graph *g, surg__plan **out) {
  SURG_HASH_LOCALS(m->ctx);
  surg__plan *p = surg__arena_zalloc(&m->arena, sizeof *p);
  if (!p) return surg__alloc_status(m->ctx);
  p->graph = g;
  HASH_ADD(hh, m->plans, graph, sizeof g, p);
  if (surg__hash_failed) return surg__alloc_status(m->ctx);
  surg_status s = SURG_OK;
  for (surg_value *v = NULL; s == SURG_OK && (v = surg_graph_next_value(g, v));) {
    const surg_node *last = keeps(g, v) ? NULL : last_reader(g, v);
    if (last) s = add(m, p, last, v);
  }
  *out = p;
  return s;
}

surg_status surg__m_dying(surg__machine *m, const surg_node *n, const surg_value *const **out,
                          size_t *count) {
  SURG_HASH_LOCALS(m->ctx);
  const surg_graph *g = surg_node_graph(n);
  surg__plan *p;
  dying *d;
  *out = NULL;
  *count = 0;
  HASH_FIND(hh, m->plans, &g, sizeof g, p);
  surg_status s = p ? SURG_OK : make(m, g, &p);
  if (s != SURG_OK) return s;
  HASH_FIND(hh, p->nodes, &n, sizeof n, d);
  if (!d) return s;
  *out = d->values.items;
  *count = d->values.count;
  return s;
}

void surg__m_free_plans(surg__machine *m) {
  SURG_HASH_LOCALS(m->ctx);
  for (surg__plan *p = m->plans; p; p = p->hh.next) {
    for (dying *d = p->nodes; d; d = d->hh.next) surg__vec_free(m->ctx, &d->values);
    HASH_CLEAR(hh, p->nodes);
  }
  HASH_CLEAR(hh, m->plans);
}
