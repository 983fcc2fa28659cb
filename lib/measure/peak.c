/* SPDX-License-Identifier: Apache-2.0 */
/* Peak memory of values in a simple plan: nodes in graph order, each value until its last
 * consumer. */
#include <stdlib.h>

#include "base/dtype.h"
#include "ir/ir.h"
#include "measure/measure.h"

/* The bytes of a value, and the position of the node in its graph after which they are freed. */
typedef struct death {
  uint64_t order, bytes;
} death;

/* The peak of a graph; for the main graph also the node at the peak. */
typedef struct need {
  uint64_t bytes;
  const surg_node *node;
} need;

typedef struct plan {
  surg_model *m;
  need *graphs; /* peaks of graphs; graph->work is the index */
  size_t unknown;
  surg_symbol_fn symbol_of; /* or NULL */
  void *user;
} plan;

static bool is_weight(const surg_value *v) {
  return v->initializer || surg_value_constant(v) != NULL;
}

/* The size of a value in bytes; false: unknown. */
static bool bytes_of(const plan *p, const surg_value *v, uint64_t *out) {
  const surg_type *t = surg_value_type(v);
  if (!t || !surg_type_has_rank(t)) t = surg_value_declared_type(v);
  int64_t dims[SURG_LIMIT_RANK];
  uint64_t count;
  if (!t || surg_type_get_kind(t) != SURG_TYPE_TENSOR || !surg_type_has_rank(t)) return false;
  const size_t rank = surg_type_rank(t);
  for (size_t i = 0; i < rank; i++)
    if (rank > SURG_LIMIT_RANK ||
        surg_dim_eval(surg_type_dim(t, i), p->symbol_of, p->user, &dims[i]) != SURG_OK)
      return false;
  return surg__dims_product(dims, rank, &count) &&
         surg__dtype_bytes(surg_type_dtype(t), count, out);
}

/* The node of graph g that uses a value of g: the consumer, or the node whose subgraph contains the
 * consumer. NULL: the use is as an output of g. */
static const surg_node *user_in(const surg_use *u, const surg_graph *g) {
  const surg_node *n = surg_use_get_kind(u) == SURG_USE_NODE ? surg_use_node(u) : NULL;
  const surg_graph *at = n ? n->graph : surg_use_graph(u);
  while (at && at != g) {
    n = at->parent_node;
    at = n ? n->graph : NULL;
  }
  return n;
}

static uint64_t last_order(const surg_value *v, const surg_graph *g) {
  uint64_t last = v->producer ? v->producer->order : 0;
  for (const surg_use *u = surg_value_first_use(v); u; u = surg_use_next(u)) {
    if (surg_use_get_kind(u) == SURG_USE_SOFT) continue;
    const surg_node *n = user_in(u, g);
    if (!n) return UINT64_MAX;
    if (n->order > last) last = n->order;
  }
  return last;
}

static int by_order(const void *a, const void *b) {
  const death *x = a, *y = b;
  return x->order < y->order ? -1 : x->order > y->order;
}

/* The largest peak of a node's subgraphs, of which one at a time runs. */
static uint64_t inner_bytes(const plan *p, const surg_node *n) {
  uint64_t most = 0;
  const surg_schema *s = n->schema;
  if (n->n_attr == 0 || (s && !(s->flags & SURG__OP_CONTROL_FLOW))) return 0;
  surg_graph *g;
  for (size_t k = 0; (g = surg_node_subgraph(n, k)); k++) {
    const uint64_t b = p->graphs[(size_t)(uintptr_t)g->work].bytes;
    if (b > most) most = b;
  }
  return most;
}

static uint64_t saturated(uint64_t a, uint64_t b) {
  return surg__add_u64(a, b, &a) ? a : UINT64_MAX;
}

/* Lists the sizes and last uses of values in `deaths`; returns the bytes that exist before the
 * first node. */
static uint64_t list_values(plan *p, const surg_graph *g, death *deaths, size_t *n) {
  uint64_t bytes, at_start = 0;
  for (const surg_value *v = g->first_value; v; v = v->next) {
    if (is_weight(v)) continue;
    if (!bytes_of(p, v, &bytes)) {
      p->unknown++;
      continue;
    }
    deaths[(*n)++] = (death){last_order(v, g), bytes};
    if (!v->producer) at_start = saturated(at_start, bytes);
  }
  return at_start;
}

static void walk(const plan *p, const surg_graph *g, const death *deaths, size_t n, uint64_t live,
                 need *out) {
  size_t dead = 0;
  uint64_t bytes;
  *out = (need){live, NULL};
  for (const surg_node *node = g->first; node; node = node->next) {
    for (uint32_t i = 0; i < node->n_out; i++)
      if (node->out[i] && !is_weight(node->out[i]) && bytes_of(p, node->out[i], &bytes))
        live = saturated(live, bytes);
    const uint64_t now = saturated(live, inner_bytes(p, node));
    if (now > out->bytes || !out->node) *out = (need){now > out->bytes ? now : out->bytes, node};
    for (; dead < n && deaths[dead].order <= node->order; dead++)
      live = live > deaths[dead].bytes ? live - deaths[dead].bytes : 0;
  }
}

static surg_status plan_graph(plan *p, const surg_graph *g, need *out) {
  size_t values = 0, n = 0;
  for (const surg_value *v = g->first_value; v; v = v->next) values++;
  death *deaths = surg__calloc(p->m->ctx, values + 1, sizeof *deaths);
  if (!deaths) return surg__alloc_status(p->m->ctx);
  const uint64_t live = list_values(p, g, deaths, &n);
  qsort(deaths, n, sizeof *deaths, by_order);
  walk(p, g, deaths, n, live, out);
  surg__free(p->m->ctx, deaths);
  return SURG_OK;
}

surg_status surg__model_peak(surg_model *m, surg_symbol_fn symbol_of, void *user, surg__peak *out) {
  size_t count = 0;
  plan p = {.m = m, .symbol_of = symbol_of, .user = user};
  surg_status s = SURG_OK;
  surg_graph *last = NULL;
  *out = (surg__peak){0};
  for (surg_graph *g = m->graph; g; g = g->next) {
    g->work = (void *)(uintptr_t)count++;
    last = g;
  }
  p.graphs = surg__calloc(m->ctx, count + 1, sizeof *p.graphs);
  if (!p.graphs) s = surg__alloc_status(m->ctx);
  /* The list has outer graphs before inner ones: visited backwards, the peak of a subgraph is known
   * before that of the graph around it. */
  for (surg_graph *g = last; g && s == SURG_OK; g = g->prev) {
    const size_t before = p.unknown;
    s = plan_graph(&p, g, &p.graphs[(size_t)(uintptr_t)g->work]);
    if (surg_graph_function(g)) p.unknown = before; /* bodies run only in calls */
  }
  if (s == SURG_OK) *out = (surg__peak){p.graphs[0].bytes, p.graphs[0].node, p.unknown};
  for (surg_graph *g = m->graph; g; g = g->next) g->work = NULL;
  surg__free(m->ctx, p.graphs);
  return s;
}
