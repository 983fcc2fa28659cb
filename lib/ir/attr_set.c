/* SPDX-License-Identifier: Apache-2.0 */
/* Attributes: setting and removing. */
#include "ir/edit.h"

/* Sets an attribute of a node to a complete value; erases its previous value, subgraphs included.
 * Fails only if there is no room to add a missing attribute. */
static surg_status put(surg_node *n, const char *name, const surg_attr *value) {
  surg_model *m = n->graph->model;
  uint32_t at = n->n_attr;
  surg_attr *a = surg__attr_find(n, name, &at);
  if (!a) {
    surg_status s;
    const char *interned = surg__intern_user(m, name, &s);
    if (!interned) return s;
    a = surg__node_push_attr(n, interned, value->kind);
    if (!a) return m->status;
  } else if (surg__attr_has_graphs(a)) {
    surg_graph *inner = surg__chain_attr(a);
    if (inner) surg__chain_erase(m, inner);
  }
  assert(surg__attr_find(n, name, NULL) == a); /* attribute names are unique */
  a->kind = value->kind;
  a->ref = value->ref;
  a->count = value->count;
  a->u = value->u;
  a->src = value->src;
  a->dirty = value->dirty;
  a->as_tensor = NULL;
  n->attrs_dirty = true;
  surg__touch_node(n);
  surg__emit(m, SURG_EVENT_SET_ATTR, n->graph, n, NULL, NULL, NULL);
  return SURG_OK;
}

static surg_status ready(const surg_node *n, const char *name) {
  surg_status s = surg__node_ready(n);
  if (s != SURG_OK) return s;
  return name && name[0] ? SURG_OK : SURG_EUSAGE;
}

surg_status surg_node_set_int(surg_node *n, const char *name, int64_t value) {
  surg_status s = ready(n, name);
  if (s != SURG_OK) return s;
  return put(n, name, &(surg_attr){.kind = SURG_ATTR_INT, .dirty = true, .count = 1,
                                   .u.i = value});
}

surg_status surg_node_set_float(surg_node *n, const char *name, float value) {
  surg_status s = ready(n, name);
  if (s != SURG_OK) return s;
  return put(n, name, &(surg_attr){.kind = SURG_ATTR_FLOAT, .dirty = true, .count = 1,
                                   .u.f = value});
}

surg_status surg_node_set_string(surg_node *n, const char *name, const char *value) {
  surg_status s = ready(n, name);
  if (s != SURG_OK) return s;
  surg_attr a = {.kind = SURG_ATTR_STRING, .dirty = true, .count = 1};
  if (!value) value = "";
  if (!surg__copy_str(n->graph->model, (surg_str){value, strlen(value)}, &a.u.s))
    return n->graph->model->status;
  return put(n, name, &a);
}

static surg_status list_ready(const surg_node *n, const char *name, const void *values,
                              size_t count) {
  surg_status s = ready(n, name);
  if (s != SURG_OK) return s;
  if (count && !values) return SURG_EUSAGE;
  return count <= UINT32_MAX ? SURG_OK
                             : surg__node_error(n, SURG_EUSAGE, "an attribute is too long");
}

surg_status surg_node_set_ints(surg_node *n, const char *name, const int64_t *values,
                               size_t count) {
  surg_status s = list_ready(n, name, values, count);
  if (s != SURG_OK) return s;
  surg_attr a = {.kind = SURG_ATTR_INTS, .dirty = true, .count = (uint32_t)count};
  a.u.ints = surg__copy(n->graph->model, values, count, sizeof *values);
  return a.u.ints ? put(n, name, &a) : n->graph->model->status;
}

surg_status surg_node_set_floats(surg_node *n, const char *name, const float *values,
                                 size_t count) {
  surg_status s = list_ready(n, name, values, count);
  if (s != SURG_OK) return s;
  surg_attr a = {.kind = SURG_ATTR_FLOATS, .dirty = true, .count = (uint32_t)count};
  a.u.floats = surg__copy(n->graph->model, values, count, sizeof *values);
  return a.u.floats ? put(n, name, &a) : n->graph->model->status;
}

surg_status surg_node_set_strings(surg_node *n, const char *name, const surg_str *values,
                                  size_t count) {
  surg_status s = list_ready(n, name, values, count);
  if (s != SURG_OK) return s;
  surg_model *m = n->graph->model;
  surg_attr a = {.kind = SURG_ATTR_STRINGS, .dirty = true, .count = (uint32_t)count};
  surg_str *copy = surg__array(m, count, sizeof *copy);
  if (!copy) return m->status;
  for (size_t i = 0; i < count; i++)
    if (!surg__copy_str(m, values[i], &copy[i])) return m->status;
  a.u.strings = copy;
  return put(n, name, &a);
}

surg_status surg_node_set_tensor(surg_node *n, const char *name, surg_tensor *t) {
  surg_status s = ready(n, name);
  if (s != SURG_OK) return s;
  surg_model *m = n->graph->model;
  if (!t || t->model != m) return SURG_EUSAGE;
  bool sparse = t->view == SURG__VIEW_SPARSE;
  surg_attr a = {.kind = sparse ? SURG_ATTR_SPARSE_TENSOR : SURG_ATTR_TENSOR, .dirty = true,
                 .count = 1};
  a.u.tensors = surg__copy(m, &t, 1, sizeof t);
  return a.u.tensors ? put(n, name, &a) : m->status;
}

surg_graph *surg_node_set_graph(surg_node *n, const char *name, const char *graph_name) {
  surg_status s = ready(n, name);
  if (s != SURG_OK) return NULL;
  surg_model *m = n->graph->model;
  const char *label = surg__intern_user(m, graph_name ? graph_name : "", &s);
  surg_graph **list = label ? surg__array(m, 1, sizeof *list) : NULL;
  surg_graph *g = list ? surg__graph_new(m, SURG_GRAPH_SUBGRAPH, n, NULL) : NULL;
  if (!g) return NULL;
  g->name = label;
  g->dirty = true;
  list[0] = g;
  surg_attr a = {.kind = SURG_ATTR_GRAPH, .dirty = true, .count = 1, .u.graphs = list};
  if (put(n, name, &a) != SURG_OK) {
    /* The attribute name is invalid: the new graph belongs to nothing. */
    surg__chain_erase(m, surg__chain_graph(g));
    return NULL;
  }
  g->parent_attr = surg__attr_find(n, name, NULL);
  assert(g->parent_attr && g->parent_attr->u.graphs[0] == g);
  return g;
}

surg_status surg_node_set_type(surg_node *n, const char *name, const surg_type *type) {
  surg_status s = ready(n, name);
  if (s != SURG_OK) return s;
  surg_model *m = n->graph->model;
  if (!type || type->model != m) return SURG_EUSAGE;
  surg_attr a = {.kind = SURG_ATTR_TYPE_PROTO, .dirty = true, .count = 1};
  a.u.types = surg__copy(m, &type, 1, sizeof type);
  return a.u.types ? put(n, name, &a) : m->status;
}

surg_status surg_node_set_attr_ref(surg_node *n, const char *name, surg_attr_kind kind,
                                   const char *ref) {
  surg_status s = ready(n, name);
  if (s != SURG_OK) return s;
  if (!ref || !*ref || kind <= SURG_ATTR_UNDEFINED || kind > SURG_ATTR_TYPE_PROTOS)
    return SURG_EUSAGE;
  if (!surg_graph_function(n->graph))
    return surg__node_error(n, SURG_EINVALID,
                            "attribute %s can refer to another one only in a "
                            "function",
                            surg__q(n->graph->model->ctx, name));
  surg_attr a = {.kind = kind, .dirty = true};
  a.ref = surg__intern_user(n->graph->model, ref, &s);
  return a.ref ? put(n, name, &a) : s;
}

surg_status surg_node_remove_attr(surg_node *n, const char *name) {
  surg_status s = ready(n, name);
  if (s != SURG_OK) return s;
  surg_model *m = n->graph->model;
  uint32_t at = 0;
  const surg_attr *a = surg__attr_find(n, name, &at);
  if (!a) return SURG_ENOTFOUND;
  assert(at < n->n_attr && n->attrs[at] == a);
  surg_graph *inner = surg__chain_attr(a);
  if (inner) surg__chain_erase(m, inner);
  memmove(&n->attrs[at], &n->attrs[at + 1], (n->n_attr - at - 1) * sizeof n->attrs[0]);
  n->n_attr--;
  n->attrs_dirty = true;
  surg__touch_node(n);
  surg__emit(m, SURG_EVENT_SET_ATTR, n->graph, n, NULL, NULL, NULL);
  return SURG_OK;
}

surg_status surg_node_copy_attr(surg_node *n, const surg_attr *a) {
  surg_status s = surg__node_ready(n);
  if (s != SURG_OK) return s;
  if (!a) return SURG_EUSAGE;
  if (surg__attr_has_graphs(a)) return SURG_EUNSUPPORTED;
  if (surg__attr_find(n, a->name, NULL) == a) return SURG_OK;
  /* Values are immutable, so they are shared; so are byte ranges of the source. */
  return put(n, a->name, a);
}

surg_status surg_node_rename_attr(surg_node *n, const char *name, const char *to) {
  surg_status s = ready(n, name);
  if (s != SURG_OK) return s;
  if (!to || !to[0]) return SURG_EUSAGE;
  surg_attr *a = surg__attr_find(n, name, NULL);
  if (!a) return SURG_ENOTFOUND;
  if (strcmp(name, to) == 0) return SURG_OK;
  if (surg__attr_find(n, to, NULL))
    return surg__node_error(n, SURG_EINVALID, "has an attribute %s already",
                            surg__q(n->graph->model->ctx, to));
  const char *label = surg__intern_user(n->graph->model, to, &s);
  if (!label) return s;
  a->name = label;
  a->dirty = true;
  a->src = (surg__src){0};
  n->attrs_dirty = true;
  surg__touch_node(n);
  surg__emit(n->graph->model, SURG_EVENT_SET_ATTR, n->graph, n, NULL, NULL, NULL);
  return SURG_OK;
}
