/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs: queries, inputs and outputs, and constants. */
#include "ir/edit.h"

surg_model *surg_graph_model(const surg_graph *g) {
  return g ? g->model : NULL;
}

surg_graph_kind surg_graph_get_kind(const surg_graph *g) {
  return g ? g->kind : SURG_GRAPH_MAIN;
}

const char *surg_graph_name(const surg_graph *g) {
  return g ? g->name : NULL;
}

surg_status surg_graph_set_name(surg_graph *g, const char *name) {
  surg_status s = surg__graph_ready(g);
  if (s != SURG_OK) return s;
  if (!name || g->kind == SURG_GRAPH_FUNCTION) return SURG_EUSAGE;
  const char *label = surg__intern_user(g->model, name, &s);
  if (!label) return s;
  if (label == g->name) return SURG_OK;
  g->name = label;
  g->name_dirty = true;
  surg__touch_graph(g);
  surg__emit(g->model, SURG_EVENT_MODEL, g, NULL, NULL, NULL, NULL);
  return SURG_OK;
}

surg_node *surg_graph_parent_node(const surg_graph *g) {
  return g ? g->parent_node : NULL;
}

const char *surg_graph_parent_attr(const surg_graph *g) {
  return g && g->parent_attr ? g->parent_attr->name : NULL;
}

surg_graph *surg_graph_parent(const surg_graph *g) {
  return g && g->parent_node ? g->parent_node->graph : NULL;
}

/* The first graph from attribute i of n on, or of a node after n; of that attribute from index k
 * on. */
static surg_graph *first_inner(const surg_node *n, uint32_t i, size_t k) {
  for (; n; n = n->next, i = 0)
    for (; i < n->n_attr; i++, k = 0)
      if (surg_attr_graph(n->attrs[i], k)) return surg_attr_graph(n->attrs[i], k);
  return NULL;
}

surg_graph *surg_graph_next_inner(const surg_graph *root, const surg_graph *after) {
  if (!surg__graph_ok(root)) return NULL;
  if (!after) return (surg_graph *)(uintptr_t)root;
  if (after->erased) return NULL; /* its attribute has other graphs now */
  surg_graph *g = first_inner(after->first, 0, 0);
  for (; !g && after != root && after->parent_node; after = after->parent_node->graph) {
    const surg_node *n = after->parent_node;
    uint32_t i = 0;
    size_t k = 0;
    while (i < n->n_attr && n->attrs[i] != after->parent_attr) i++;
    while (i < n->n_attr && surg_attr_graph(n->attrs[i], k) != after) k++;
    g = first_inner(n, i, k + 1);
  }
  return g;
}

size_t surg_graph_node_count(const surg_graph *g) {
  return surg__graph_ok(g) ? g->n_nodes : 0;
}

surg_node *surg_graph_first_node(const surg_graph *g) {
  return surg__graph_ok(g) ? g->first : NULL;
}

surg_node *surg_graph_last_node(const surg_graph *g) {
  return surg__graph_ok(g) ? g->last : NULL;
}

size_t surg_graph_input_count(const surg_graph *g) {
  return surg__graph_ok(g) ? g->n_in : 0;
}

surg_value *surg_graph_input(const surg_graph *g, size_t i) {
  return surg__graph_ok(g) && i < g->n_in ? g->in[i] : NULL;
}

size_t surg_graph_output_count(const surg_graph *g) {
  return surg__graph_ok(g) ? g->n_out : 0;
}

surg_value *surg_graph_output(const surg_graph *g, size_t i) {
  return surg__graph_ok(g) && i < g->n_out ? g->out[i]->use.value : NULL;
}

const surg_type *surg_graph_output_type(const surg_graph *g, size_t i) {
  return surg__graph_ok(g) && i < g->n_out ? g->out[i]->decl.type : NULL;
}

size_t surg_graph_initializer_count(const surg_graph *g) {
  return surg__graph_ok(g) ? g->n_inits : 0;
}

surg_value *surg_graph_next_initializer(const surg_graph *g, const surg_value *after) {
  if (!surg__graph_ok(g)) return NULL;
  return after ? after->init_next : g->first_init;
}

surg_value *surg_graph_next_value(const surg_graph *g, const surg_value *after) {
  if (!surg__graph_ok(g)) return NULL;
  return after ? after->next : g->first_value;
}

bool surg__value_visible(const surg_value *v, const surg_graph *g) {
  for (; g; g = surg_graph_parent(g))
    if (v->graph == g) return true;
  return false;
}

/* --- nodes --- */

static const char *domain_name(surg_model *m, const char *domain, surg_status *s) {
  return surg__intern_user(m, domain ? domain : "", s);
}

surg_node *surg_graph_add_node(surg_graph *g, surg_node *before, const char *domain,
                               const char *op_type, size_t n_out) {
  if (surg__graph_ready(g) != SURG_OK || !op_type || !op_type[0]) return NULL;
  if (before && (surg__node_ready(before) != SURG_OK)) return NULL;
  if (before && before->graph != g) {
    surg__node_error(before, SURG_EUSAGE, "a new node of another graph cannot precede it");
    return NULL;
  }
  surg_model *m = g->model;
  surg_status s;
  const char *d = domain_name(m, domain, &s);
  const char *op = d ? surg__intern_user(m, op_type, &s) : NULL;
  const char *none = op ? surg__intern(m, "", 0) : NULL;
  if (!none) return NULL;
  surg_node *n = surg__node_new(g, before, d, op, none, none);
  if (!n) return NULL;
  surg__node_mark_new(n);
  surg__touch_node(n);
  if (!surg__node_reserve(n, 0, n_out, 0)) return NULL;
  for (size_t i = 0; i < n_out; i++) {
    surg_value *v = surg__value_fresh(g, op);
    if (!v || !surg__node_link_output(n, i, v)) return NULL;
  }
  assert(n->graph == g && n->next == before && n->n_out == n_out);
  surg__emit(m, SURG_EVENT_CREATE_NODE, g, n, NULL, NULL, NULL);
  for (size_t i = 0; i < n_out && m->listeners.count; i++)
    surg__emit(m, SURG_EVENT_CREATE_VALUE, g, n, n->out[i], NULL, NULL);
  return n;
}

/* --- inputs --- */

surg_value *surg_graph_add_input(surg_graph *g, const char *name, const surg_type *type) {
  if (surg__graph_ready(g) != SURG_OK) return NULL;
  surg_model *m = g->model;
  surg_status s;
  if (type && type->model != m) return NULL;
  const char *label =
      name && name[0] ? surg__intern_user(m, name, &s) : surg__fresh(m, "input");
  if (!label) return NULL;
  if (!surg__name_free(g, label)) {
    surg__graph_error(g, SURG_EINVALID, "an input cannot be named %s: the name is in use",
                      surg__q(m->ctx, label));
    return NULL;
  }
  surg_value *v = surg__value_new(g, label);
  if (!v || !surg__graph_push_input(g, v)) return NULL;
  v->named_here = true;
  v->decl = (surg__decl){.type = type, .dirty = true};
  v->in_value_info = type && g->kind == SURG_GRAPH_FUNCTION;
  surg__touch_graph(g);
  surg__emit(m, SURG_EVENT_INTERFACE, g, NULL, v, NULL, NULL);
  return v;
}

surg_status surg_graph_remove_input(surg_graph *g, size_t i) {
  surg_status s = surg__graph_ready(g);
  if (s != SURG_OK) return s;
  if (i >= g->n_in) return SURG_EUSAGE;
  surg_value *v = g->in[i];
  assert(v->input && v->graph == g && !v->producer);
  if (!v->initializer && (surg__value_has_hard_use(v) || v->pinned))
    return surg__graph_error(g, SURG_EINVALID, "input %s is in use",
                             surg__q(g->model->ctx, v->name));
  memmove(&g->in[i], &g->in[i + 1], (g->n_in - i - 1) * sizeof g->in[0]);
  g->n_in--;
  v->input = false;
  v->decl = (surg__decl){.dirty = true};
  v->in_value_info = false;
  surg__touch_graph(g);
  surg__emit(g->model, SURG_EVENT_INTERFACE, g, NULL, v, NULL, NULL);
  if (!v->initializer) surg__value_erase(v);
  return SURG_OK;
}

/* --- outputs --- */

static surg_status output_ready(const surg_graph *g, const surg_value *v) {
  surg_status s = surg__graph_ready(g);
  if (s == SURG_OK) s = surg__value_ready(v);
  if (s != SURG_OK) return s;
  if (v->graph->model != g->model || !surg__value_visible(v, g))
    return surg__graph_error(g, SURG_EUSAGE, "value %s cannot be an output here: not visible",
                             surg__q(g->model->ctx, v->name));
  return SURG_OK;
}

surg_status surg_graph_add_output(surg_graph *g, surg_value *v, const surg_type *type) {
  surg_status s = output_ready(g, v);
  if (s != SURG_OK) return s;
  surg_model *m = g->model;
  if (type && type->model != m) return SURG_EUSAGE;
  if (!surg__unshadow(v, v->name, g)) return m->status;
  surg__output *o = surg__graph_push_output(g, v, v->name);
  if (!o) return m->status;
  o->decl = (surg__decl){.type = type, .dirty = true};
  surg__touch_graph(g);
  surg__emit(m, SURG_EVENT_INTERFACE, g, NULL, v, NULL, NULL);
  return SURG_OK;
}

/* Turns the declared type of a removed output into a value_info entry, unless the value is declared
 * elsewhere or is still an output. */
static void keep_claim(surg_graph *g, const surg__output *o, surg_value *v) {
  if (v->graph != g || v->input || v->initializer || v->in_value_info || !o->decl.type) return;
  assert(!v->last_output || v->uses->kind == SURG_USE_OUTPUT); /* output uses are first */
  if (v->last_output && v->uses->user.graph == g) return;
  v->decl = (surg__decl){.type = o->decl.type, .dirty = true};
  v->in_value_info = true;
}

surg_status surg_graph_remove_output(surg_graph *g, size_t i) {
  surg_status s = surg__graph_ready(g);
  if (s != SURG_OK) return s;
  if (i >= g->n_out) return SURG_EUSAGE;
  surg__output *o = g->out[i];
  assert(o->use.user.graph == g && o->use.index == i);
  surg_value *v = o->use.value;
  surg__use_unlink(&o->use);
  memmove(&g->out[i], &g->out[i + 1], (g->n_out - i - 1) * sizeof g->out[0]);
  g->n_out--;
  for (size_t k = i; k < g->n_out; k++) g->out[k]->use.index = (uint32_t)k;
  if (v) keep_claim(g, o, v);
  surg__touch_graph(g);
  surg__emit(g->model, SURG_EVENT_INTERFACE, g, NULL, v, NULL, NULL);
  return SURG_OK;
}

surg_status surg_graph_set_output(surg_graph *g, size_t i, surg_value *v) {
  surg_status s = output_ready(g, v);
  if (s != SURG_OK) return s;
  if (i >= g->n_out) return SURG_EUSAGE;
  surg__output *o = g->out[i];
  assert(o->use.user.graph == g && o->use.index == i);
  surg_value *old = o->use.value;
  if (old == v) return SURG_OK;
  const surg_type *type = surg_value_declared_type(v);
  if (!surg__unshadow(v, v->name, g)) return g->model->status;
  surg__use_unlink(&o->use);
  if (old) keep_claim(g, o, old);
  surg__use_link(&o->use, v);
  o->name = v->name;
  if (type && type != o->decl.type) {
    o->decl.type = type;
    o->decl.dirty = true;
  }
  if (v->graph == g && !v->input && g->kind != SURG_GRAPH_FUNCTION) v->in_value_info = false;
  surg__touch_graph(g);
  surg__emit(g->model, SURG_EVENT_INTERFACE, g, NULL, v, old, NULL);
  return SURG_OK;
}

surg_status surg_value_become_input(surg_value *v, const surg_type *type) {
  surg_status s = v ? surg__value_ready(v) : SURG_EUSAGE;
  if (s != SURG_OK) return s;
  surg_graph *g = v->graph;
  if (type && type->model != g->model) return SURG_EUSAGE;
  if (!v->undefined || !v->name[0] || g->kind != SURG_GRAPH_MAIN)
    return surg__graph_error(g, SURG_EINVALID, "value %s cannot become an input",
                             surg__q(g->model->ctx, v->name));
  if (!surg__graph_push_input(g, v)) return g->model->status;
  v->undefined = false;
  v->decl = (surg__decl){.type = type, .dirty = true};
  surg__touch_graph(g);
  surg__emit(g->model, SURG_EVENT_INTERFACE, g, NULL, v, NULL, NULL);
  return SURG_OK;
}

bool surg_value_is_undefined(const surg_value *v) {
  return surg__value_ok(v) && v->undefined;
}
