/* SPDX-License-Identifier: Apache-2.0 */
/* Topological order by depth-first search in file order, so that a sorted graph is unchanged. A
 * node depends on the producers of its inputs and of the captures of its subgraphs. */
#include "ir/edit.h"

#define HOPS 8 /* nodes of a cycle that a message lists */

typedef struct edges {
  SURG_VEC(uint32_t) to;      /* producers, grouped by node */
  SURG_VEC(size_t) first;     /* offset of node i's group; one extra entry at the end */
} edges;

typedef struct frame {
  uint32_t node;
  size_t next; /* edge to follow */
} frame;

enum { NEW = 0, OPEN, DONE };

typedef struct sorter {
  surg_graph *g;
  surg_context *ctx;
  SURG_VEC(surg_node *) nodes;
  edges e;
  SURG_VEC(frame) stack;
  SURG_VEC(uint8_t) state;
  SURG_VEC(uint32_t) order;
} sorter;

static surg_node *producer_in(const surg_value *v, const surg_graph *g) {
  return v && v->graph == g ? v->producer : NULL;
}

/* Whether a node is after all its producers. */
static bool placed(const surg_node *n) {
  const surg_graph *g = n->graph;
  for (uint32_t i = 0; i < n->n_in; i++) {
    const surg_node *p = producer_in(n->in[i].value, g);
    if (p && p->order >= n->order) return false;
  }
  for (surg_graph *s = surg__chain_node(n); s; s = s->work_next) {
    for (const surg_node *k = s->first; k; k = k->next)
      for (uint32_t i = 0; i < k->n_in; i++) {
        const surg_node *p = producer_in(k->in[i].value, g);
        if (p && p->order >= n->order) return false;
      }
    for (size_t i = 0; i < s->n_out; i++) {
      const surg_node *p = producer_in(s->out[i]->use.value, g);
      if (p && p->order >= n->order) return false;
    }
  }
  return true;
}

static bool sorted(const surg_graph *g) {
  for (const surg_node *n = g->first; n; n = n->next)
    if (!placed(n)) return false;
  return true;
}

static bool add_edge(sorter *s, const surg_value *v) {
  const surg_node *p = producer_in(v, s->g);
  if (!p) return true;
  assert(s->nodes.items[(uintptr_t)p->work] == p);
  return surg__vec_push(s->ctx, &s->e.to, (uint32_t)(uintptr_t)p->work);
}

static bool add_edges(sorter *s, const surg_node *n) {
  if (!surg__vec_push(s->ctx, &s->e.first, s->e.to.count)) return false;
  for (uint32_t i = 0; i < n->n_in; i++)
    if (!add_edge(s, n->in[i].value)) return false;
  for (surg_graph *sub = surg__chain_node(n); sub; sub = sub->work_next) {
    for (const surg_node *k = sub->first; k; k = k->next)
      for (uint32_t i = 0; i < k->n_in; i++)
        if (!add_edge(s, k->in[i].value)) return false;
    for (size_t i = 0; i < sub->n_out; i++)
      if (!add_edge(s, sub->out[i]->use.value)) return false;
  }
  return true;
}

static bool collect(sorter *s) {
  size_t n = s->g->n_nodes;
  if (n >= UINT32_MAX || !surg__vec_reserve(s->ctx, &s->nodes, n) ||
      !surg__vec_reserve(s->ctx, &s->state, n) || !surg__vec_reserve(s->ctx, &s->order, n))
    return false;
  for (surg_node *k = s->g->first; k; k = k->next) {
    k->work = (void *)(uintptr_t)s->nodes.count;
    s->nodes.items[s->nodes.count++] = k;
    assert(s->nodes.count <= n);
  }
  memset(s->state.items, NEW, n);
  for (size_t i = 0; i < n; i++)
    if (!add_edges(s, s->nodes.items[i])) return false;
  return surg__vec_push(s->ctx, &s->e.first, s->e.to.count);
}

/* Reports the cycle of the stack frames from node `to` to the top. */
static surg_status cycle(sorter *s, uint32_t to) {
  size_t from = s->stack.count;
  assert(s->state.items[to] == OPEN); /* so it is on the stack */
  while (s->stack.items[from - 1].node != to) from--;
  size_t hops = s->stack.count - (from - 1);
  surg__buf b;
  surg__buf_init(&b, s->ctx);
  /* Each frame's node reads the next frame's: list the top frame first, in data order. */
  for (size_t i = 0; i < hops && i < HOPS; i++) {
    const surg_node *n = s->nodes.items[s->stack.items[s->stack.count - 1 - i].node];
    const char *name = n->name[0] ? n->name : n->op_type;
    if (i) surg__buf_puts(&b, " -> ");
    surg__buf_escape(&b, name, strlen(name), SURG_LIMIT_NAME_PRINT);
  }
  if (hops > HOPS) {
    surg__buf_printf(&b, " -> ... (%zu nodes)", hops);
  } else {
    const surg_node *n = s->nodes.items[s->stack.items[s->stack.count - 1].node];
    const char *name = n->name[0] ? n->name : n->op_type;
    surg__buf_puts(&b, " -> ");
    surg__buf_escape(&b, name, strlen(name), SURG_LIMIT_NAME_PRINT);
  }
  surg__buf_putc(&b, 0);
  surg_status st = surg__node_error(s->nodes.items[to], SURG_EINVALID, "in a cycle: %s",
                                    b.failed ? "?" : b.p);
  surg__buf_free(&b);
  return st;
}

static surg_status out_of_memory(sorter *s) {
  surg__failed(s->g->model);
  return s->g->model->status;
}

static surg_status visit(sorter *s, uint32_t root) {
  if (s->state.items[root] != NEW) return SURG_OK;
  s->state.items[root] = OPEN;
  frame f = {root, s->e.first.items[root]};
  if (!surg__vec_push(s->ctx, &s->stack, f)) return out_of_memory(s);
  while (s->stack.count) {
    frame *top = &s->stack.items[s->stack.count - 1];
    if (top->next == s->e.first.items[top->node + 1]) {
      s->state.items[top->node] = DONE;
      s->order.items[s->order.count++] = top->node;
      s->stack.count--;
      continue;
    }
    uint32_t p = s->e.to.items[top->next++];
    assert(p < s->nodes.count && top->next <= s->e.first.items[top->node + 1]);
    if (s->state.items[p] == OPEN) return cycle(s, p);
    if (s->state.items[p] == DONE) continue;
    s->state.items[p] = OPEN;
    f = (frame){p, s->e.first.items[p]};
    if (!surg__vec_push(s->ctx, &s->stack, f)) return out_of_memory(s);
  }
  return SURG_OK;
}

static void relist(sorter *s) {
  surg_graph *g = s->g;
  assert(s->order.count == s->nodes.count); /* no node is lost */
  g->first = g->last = NULL;
  g->n_nodes = 0;
  for (size_t i = 0; i < s->order.count; i++)
    surg__order_insert(s->nodes.items[s->order.items[i]], NULL);
}

static surg_status sort(sorter *s) {
  if (!collect(s)) return out_of_memory(s);
  for (uint32_t i = 0; i < s->nodes.count; i++) {
    surg_status st = visit(s, i);
    if (st != SURG_OK) return st;
  }
  relist(s);
  return SURG_OK;
}

surg_status surg__graph_sort(surg_graph *g, bool *moved) {
  *moved = false;
  if (sorted(g)) return SURG_OK;
  sorter s = {.g = g, .ctx = g->model->ctx};
  surg_status st = sort(&s);
  surg__vec_free(s.ctx, &s.nodes);
  surg__vec_free(s.ctx, &s.e.to);
  surg__vec_free(s.ctx, &s.e.first);
  surg__vec_free(s.ctx, &s.stack);
  surg__vec_free(s.ctx, &s.state);
  surg__vec_free(s.ctx, &s.order);
  *moved = st == SURG_OK;
  return st;
}

surg_status surg_graph_toposort(surg_graph *g, bool *moved) {
  bool now = false;
  if (moved) *moved = false;
  surg_status st = surg__graph_ready(g);
  if (st == SURG_OK) st = surg__graph_sort(g, &now);
  if (st == SURG_OK) g->cyclic = false;
  if (st != SURG_OK || !(now || g->sorted_on_load)) return st;
  g->sorted_on_load = false;
  if (moved) *moved = true;
  surg__touch_graph(g);
  surg__emit(g->model, SURG_EVENT_MOVE, g, NULL, NULL, NULL, NULL);
  return SURG_OK;
}
