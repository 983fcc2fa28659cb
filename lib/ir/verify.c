/* SPDX-License-Identifier: Apache-2.0 */
/* Checks the invariants of ir.h. */
#include "ir/edit.h"

/* Counts that must match: uses found in lists and in places, and named values. */
typedef struct verifier {
  const surg_model *m;
  uint64_t uses_listed, uses_placed;
  uint64_t named;
} verifier;

#define FAULT_G(g, ...) surg__graph_error((g), SURG_EINVALID, __VA_ARGS__)
#define FAULT_N(n, ...) surg__node_error((n), SURG_EINVALID, __VA_ARGS__)

static const char *quoted(const surg_value *v) {
  return surg__q(v->graph->model->ctx, v->name);
}

/* --- lists of a graph --- */

static surg_status check_node_list(const surg_graph *g) {
  size_t count = 0;
  const surg_node *prev = NULL;
  for (const surg_node *n = g->first; n; prev = n, n = n->next) {
    if (n->graph != g || n->erased) return FAULT_N(n, "in the list of another graph, or erased");
    if (n->prev != prev) return FAULT_N(n, "the node list is broken");
    if (prev && prev->order >= n->order) return FAULT_N(n, "order keys do not rise");
    if (++count > g->n_nodes) break;
  }
  if (g->last != prev || count != g->n_nodes) return FAULT_G(g, "the node count is wrong");
  return SURG_OK;
}

static surg_status check_init_list(const surg_graph *g) {
  size_t count = 0;
  const surg_value *prev = NULL;
  for (const surg_value *v = g->first_init; v; prev = v, v = v->init_next) {
    if (!v->initializer || v->graph != g || v->erased || v->init_prev != prev)
      return FAULT_G(g, "initializer %s is out of place", quoted(v));
    if (v->producer) return FAULT_G(g, "initializer %s has a producer", quoted(v));
    if (++count > g->n_inits) break;
  }
  if (g->last_init != prev || count != g->n_inits)
    return FAULT_G(g, "the initializer count is wrong");
  if (count && g->kind == SURG_GRAPH_FUNCTION)
    return FAULT_G(g, "a function body has an initializer");
  return SURG_OK;
}

static surg_status check_inputs(const surg_graph *g) {
  size_t listed = 0;
  for (size_t i = 0; i < g->n_in; i++) {
    const surg_value *v = g->in[i];
    if (!v->input || v->graph != g || v->erased || v->producer)
      return FAULT_G(g, "input %s is out of place", quoted(v));
  }
  for (const surg_value *v = g->first_value; v; v = v->next) listed += v->input;
  return listed == g->n_in ? SURG_OK : FAULT_G(g, "the input count is wrong");
}

/* --- uses --- */

static const surg_use *place_of(const surg_use *u) {
  switch (u->kind) {
    case SURG_USE_NODE: {
      const surg_node *n = u->user.node;
      return !n->erased && u->index < n->n_in ? &n->in[u->index] : NULL;
    }
    case SURG_USE_OUTPUT: {
      const surg_graph *g = u->user.graph;
      return !g->erased && u->index < g->n_out ? &g->out[u->index]->use : NULL;
    }
    case SURG_USE_SOFT: return &u->user.soft->use;
  }
  return NULL;
}

static surg_status check_use_list(verifier *f, const surg_value *v) {
  const surg_use *prev = NULL, *last_output = NULL, *first_soft = NULL;
  for (const surg_use *u = v->uses; u; prev = u, u = u->next) {
    if (u->value != v || u->prev != prev || place_of(u) != u)
      return FAULT_G(v->graph, "the uses of %s are inconsistent", quoted(v));
    if (u->kind == SURG_USE_OUTPUT) last_output = u;
    if (u->kind == SURG_USE_SOFT && !first_soft) first_soft = u;
    if (prev && prev->kind != u->kind &&
        (u->kind == SURG_USE_OUTPUT || prev->kind == SURG_USE_SOFT))
      return FAULT_G(v->graph, "the uses of %s are out of order", quoted(v));
    if (u->kind != SURG_USE_SOFT) f->uses_listed++;
  }
  if (v->uses_tail != prev || v->last_output != last_output || v->first_soft != first_soft)
    return FAULT_G(v->graph, "the use list of %s does not end right", quoted(v));
  return SURG_OK;
}

/* The node of graph g whose subgraphs contain graph `in`; NULL if in == g. */
static const surg_node *ancestor_in(const surg_graph *in, const surg_graph *g) {
  const surg_node *n = NULL;
  for (; in != g; in = n->graph) n = in->parent_node;
  return n;
}

/* Checks one read of v; `reader` is NULL for an output of `in`. */
static surg_status check_read(verifier *f, const surg_value *v, const surg_graph *in,
                              const surg_node *reader) {
  f->uses_placed++;
  if (v->erased || v->graph->erased || v->graph->model != f->m)
    return FAULT_G(in, "reads %s, which was erased", quoted(v));
  if (!surg__value_visible(v, in)) return FAULT_G(in, "reads %s, which is not visible", quoted(v));
  if (!v->producer) return SURG_OK;
  const surg_node *at = v->graph == in ? reader : ancestor_in(in, v->graph);
  if (at && v->producer->order >= at->order && !v->graph->cyclic)
    return FAULT_N(at, "reads %s before it is made", quoted(v));
  return SURG_OK;
}

/* --- names --- */

static surg_status check_value(verifier *f, const surg_value *v) {
  const surg_graph *g = v->graph;
  if (v->erased) return FAULT_G(g, "erased value %s is listed", quoted(v));
  if (v->name[0]) {
    f->named++;
    if (surg__find_value(g, v->name) != v)
      return FAULT_G(g, "the name %s is used twice", quoted(v));
    if (surg__interned(f->m, v->name, strlen(v->name)) != v->name)
      return FAULT_G(g, "the name %s is not interned", quoted(v));
  }
  const surg_node *p = v->producer;
  if (p && (p->erased || p->graph != g || v->output >= p->n_out || p->out[v->output] != v))
    return FAULT_G(g, "value %s and its producer disagree", quoted(v));
  if (!p && !v->input && !v->initializer && !v->undefined)
    return FAULT_G(g, "value %s is made by nothing", quoted(v));
  return check_use_list(f, v);
}

static surg_status check_values(verifier *f, const surg_graph *g) {
  const surg_value *prev = NULL;
  for (const surg_value *v = g->first_value; v; prev = v, v = v->next) {
    if (v->graph != g || v->prev != prev) return FAULT_G(g, "the value list is broken");
    surg_status s = check_value(f, v);
    if (s != SURG_OK) return s;
  }
  return g->last_value == prev ? SURG_OK : FAULT_G(g, "the value list does not end right");
}

static surg_status check_node_name(const surg_node *n) {
  if (!n->name[0]) return n->name_next ? FAULT_N(n, "a nameless node is indexed") : SURG_OK;
  if (!n->name_next || n->name_next->name_prev != n || n->name_next->name != n->name ||
      n->name_next->graph != n->graph)
    return FAULT_N(n, "the ring of its name is broken");
  const surg_node *first = surg_graph_find_node(n->graph, n->name);
  if (!first || first->name != n->name || n->tabled != (first == n))
    return FAULT_N(n, "its name is not indexed");
  return SURG_OK;
}

/* --- nodes --- */

static surg_status check_subgraphs(const surg_node *n) {
  for (uint32_t i = 0; i < n->n_attr; i++) {
    const surg_attr *a = n->attrs[i];
    for (uint32_t k = 0; surg__attr_has_graphs(a) && k < a->count; k++) {
      const surg_graph *g = a->u.graphs[k];
      if (!g || g->parent_node != n || g->parent_attr != a || g->erased)
        return FAULT_N(n, "a subgraph does not know its parent");
      if (g->dirty && !(a->dirty && n->dirty)) return FAULT_N(n, "a dirty subgraph hides in it");
    }
  }
  return SURG_OK;
}

static surg_status check_node(verifier *f, const surg_node *n) {
  for (uint32_t i = 0; i < n->n_in; i++) {
    const surg_use *u = &n->in[i];
    if (u->kind != SURG_USE_NODE || u->index != i || u->user.node != n)
      return FAULT_N(n, "input %u does not know its place", i);
    surg_status s = u->value ? check_read(f, u->value, n->graph, n) : SURG_OK;
    if (s != SURG_OK) return s;
  }
  for (uint32_t i = 0; i < n->n_out; i++) {
    const surg_value *v = n->out[i];
    if (v && (v->producer != n || v->output != i || v->graph != n->graph || v->erased))
      return FAULT_N(n, "output %u is another's", i);
  }
  if (n->dirty && !n->graph->dirty) return FAULT_N(n, "a dirty node in a clean graph");
  surg_status s = check_node_name(n);
  return s != SURG_OK ? s : check_subgraphs(n);
}

static surg_status check_outputs(verifier *f, const surg_graph *g) {
  for (size_t i = 0; i < g->n_out; i++) {
    const surg__output *o = g->out[i];
    const surg_value *v = o->use.value;
    if (o->use.kind != SURG_USE_OUTPUT || o->use.index != i || o->use.user.graph != g)
      return FAULT_G(g, "output %zu does not know its place", i);
    if (!v) return FAULT_G(g, "output %zu is nothing", i);
    if (o->name != v->name) return FAULT_G(g, "output %s is called otherwise", quoted(v));
    surg_status s = check_read(f, v, g, NULL);
    if (s != SURG_OK) return s;
  }
  return SURG_OK;
}

static surg_status check_graph(verifier *f, const surg_graph *g) {
  if (g->model != f->m || g->erased) return FAULT_G(g, "does not belong to the model");
  if ((g->parent_node && g->kind != SURG_GRAPH_SUBGRAPH) ||
      (g->kind == SURG_GRAPH_FUNCTION) != (g->function != NULL))
    return FAULT_G(g, "is not in a place of its kind");
  if (g->dirty && !f->m->dirty) return FAULT_G(g, "a dirty graph in a clean model");
  surg_status s = check_node_list(g);
  if (s == SURG_OK) s = check_init_list(g);
  if (s == SURG_OK) s = check_inputs(g);
  if (s == SURG_OK) s = check_values(f, g);
  for (const surg_node *n = g->first; n && s == SURG_OK; n = n->next) s = check_node(f, n);
  return s == SURG_OK ? check_outputs(f, g) : s;
}

static uint64_t count_bearers(const surg_model *m) {
  uint64_t n = 0;
  for (size_t i = 0; i < m->names.size; i++)
    if (m->names.slots[i].name) n += m->names.slots[i].name->values;
  return n;
}

surg_status surg_model_verify(const surg_model *m) {
  surg_status s = surg__model_ready(m);
  if (s != SURG_OK) return s;
  verifier f = {.m = m};
  const surg_graph *prev = NULL;
  for (const surg_graph *g = m->graph; g; prev = g, g = g->next) {
    if (g->prev != prev) return FAULT_G(g, "the list of graphs is broken");
    s = check_graph(&f, g);
    if (s != SURG_OK) return s;
  }
  if (m->graphs_tail != prev) return FAULT_G(m->graph, "the list of graphs does not end right");
  if (f.uses_listed != f.uses_placed) return FAULT_G(m->graph, "use lists and readers disagree");
  if (f.named != count_bearers(m)) return FAULT_G(m->graph, "bearers of names are counted wrong");
  return SURG_OK;
}
