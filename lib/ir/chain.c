/* SPDX-License-Identifier: Apache-2.0 */
/* Nested graphs: walking and erasing everything inside a node, without recursion or allocation. */
#include "ir/edit.h"

typedef struct ends {
  surg_graph *head, *tail;
} ends;

static void push(ends *c, surg_graph *g) {
  assert(!g->erased && (!c->tail || !c->tail->work_next));
  g->work_next = NULL;
  if (c->tail)
    c->tail->work_next = g;
  else
    c->head = g;
  c->tail = g;
}

static void push_attr(ends *c, const surg_attr *a) {
  if (!surg__attr_has_graphs(a)) return;
  for (uint32_t i = 0; i < a->count; i++)
    if (a->u.graphs[i]) push(c, a->u.graphs[i]);
}

static void push_node(ends *c, const surg_node *n) {
  for (uint32_t i = 0; i < n->n_attr; i++) push_attr(c, n->attrs[i]);
}

/* Extends a chain of root graphs by all graphs nested in them; returns its first graph. */
static surg_graph *close_chain(ends *c) {
  for (surg_graph *g = c->head; g; g = g->work_next)
    for (const surg_node *n = g->first; n; n = n->next) push_node(c, n);
  return c->head;
}

surg_graph *surg__chain_graph(surg_graph *g) {
  ends c = {0};
  push(&c, g);
  return close_chain(&c);
}

surg_graph *surg__chain_attr(const surg_attr *a) {
  ends c = {0};
  push_attr(&c, a);
  return close_chain(&c);
}

surg_graph *surg__chain_node(const surg_node *n) {
  ends c = {0};
  push_node(&c, n);
  return close_chain(&c);
}

/* --- captures --- */

bool surg__graph_inside(const surg_graph *g, const surg_graph *around) {
  for (; g; g = surg_graph_parent(g))
    if (g == around) return true;
  return false;
}

static bool unseen(const surg_value *v, const surg_graph *from, const surg_graph *to) {
  return v && !surg__graph_inside(v->graph, from) && !surg__value_visible(v, to);
}

const surg_value *surg__chain_unseen(surg_graph *from, const surg_graph *to, bool outputs,
                                     const surg_graph **reader) {
  for (surg_graph *g = surg__chain_graph(from); g; g = g->work_next) {
    *reader = g;
    for (const surg_node *n = g->first; n; n = n->next)
      for (uint32_t i = 0; i < n->n_in; i++)
        if (unseen(n->in[i].value, from, to)) return n->in[i].value;
    for (size_t i = 0; (outputs || g != from) && i < g->n_out; i++)
      if (unseen(g->out[i]->use.value, from, to)) return g->out[i]->use.value;
  }
  return NULL;
}

/* --- erasing --- */

void surg__soft_unlink(surg__soft *s) {
  surg__use_unlink(&s->use);
}

void surg__annotation_drop(surg_graph *g, surg__annotation *a) {
  if (a->dropped) return;
  a->dropped = a->dirty = true;
  if (a->subject) surg__soft_unlink(a->subject);
  for (surg__soft *s = a->params; s; s = s->next) surg__soft_unlink(s);
  surg__touch_graph(g);
}

static void detach_node(surg_node *n) {
  for (uint32_t i = 0; i < n->n_in; i++) surg__use_unlink(&n->in[i]);
  for (surg__soft *s = n->softs; s; s = s->next) surg__soft_unlink(s);
}

/* Unlinks every use in the graph, so that its values can be erased. */
static void detach_graph(surg_graph *g) {
  for (surg_node *n = g->first; n; n = n->next) detach_node(n);
  for (size_t i = 0; i < g->n_out; i++) surg__use_unlink(&g->out[i]->use);
  for (surg__annotation *a = g->annotations; a; a = a->next) {
    if (a->subject) surg__soft_unlink(a->subject);
    for (surg__soft *s = a->params; s; s = s->next) surg__soft_unlink(s);
  }
}

static void erase_contents(surg_model *m, surg_graph *g) {
  for (surg_value *v = g->first_value; v; v = v->next) {
    surg__value_unindex(v);
    /* Only soft uses are left, of training_info: the file's reference then dangles. */
    while (v->uses) surg__use_unlink(v->uses);
    v->erased = true;
    surg__emit(m, SURG_EVENT_ERASE_VALUE, g, NULL, v, NULL, NULL);
  }
  for (surg_node *n = g->first; n; n = n->next) {
    surg__node_unindex(n);
    n->erased = true;
    surg__emit(m, SURG_EVENT_ERASE_NODE, g, n, NULL, NULL, NULL);
  }
}

void surg__chain_erase(surg_model *m, surg_graph *chain) {
  for (surg_graph *g = chain; g; g = g->work_next) detach_graph(g);
  for (surg_graph *g = chain; g; g = g->work_next) {
    erase_contents(m, g);
    assert(g != m->graph && g->model == m);
    g->erased = true;
    if (g->prev) g->prev->next = g->next;
    if (g->next)
      g->next->prev = g->prev;
    else
      m->graphs_tail = g->prev;
  }
  /* Handles stay valid, but an erased graph refers to nothing. */
  for (surg_graph *g = chain; g; g = g->work_next) {
    g->n_nodes = g->n_inits = g->n_in = g->n_out = 0;
    g->first = g->last = NULL;
    g->first_value = g->last_value = g->first_init = g->last_init = NULL;
  }
}

void surg__value_unlink(surg_value *v) {
  surg_graph *g = v->graph;
  assert((v->prev ? v->prev->next : g->first_value) == v);
  assert((v->next ? v->next->prev : g->last_value) == v);
  if (v->prev)
    v->prev->next = v->next;
  else
    g->first_value = v->next;
  if (v->next)
    v->next->prev = v->prev;
  else
    g->last_value = v->prev;
  v->prev = v->next = NULL;
}

void surg__init_unlink(surg_value *v) {
  surg_graph *g = v->graph;
  assert(v->initializer && g->n_inits > 0);
  assert((v->init_prev ? v->init_prev->init_next : g->first_init) == v);
  if (v->init_prev)
    v->init_prev->init_next = v->init_next;
  else
    g->first_init = v->init_next;
  if (v->init_next)
    v->init_next->init_prev = v->init_prev;
  else
    g->last_init = v->init_prev;
  v->init_prev = v->init_next = NULL;
  v->initializer = false;
  g->n_inits--;
}

void surg__value_erase(surg_value *v) {
  assert(!surg__value_has_hard_use(v) && !v->input);
  assert(!v->erased && !v->pinned);
  surg_graph *g = v->graph;
  while (v->uses) {
    surg__soft *s = v->uses->user.soft;
    if (s->kind == SURG__SOFT_ANNOTATION) {
      surg__annotation_drop(s->graph, s->annotation);
    } else {
      if (s->node) {
        s->node->io_dirty = true;
        surg__touch_node(s->node);
      }
      surg__soft_unlink(s);
    }
  }
  if (v->initializer) surg__init_unlink(v);
  surg__value_unindex(v);
  surg__value_unlink(v);
  v->erased = true;
  surg__touch_graph(g);
  surg__emit(g->model, SURG_EVENT_ERASE_VALUE, g, NULL, v, NULL, NULL);
}
