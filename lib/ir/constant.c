/* SPDX-License-Identifier: Apache-2.0 */
/* Creating constants: new ones, and node outputs that become constants. A constant is an
 * initializer where the IR version and the graph allow it, else a Constant node. */
#include "ir/edit.h"

/* The wished name if it is free in all scopes that would see it; otherwise a fresh name derived
 * from it. */
static const char *wished_name(surg_graph *g, const char *wish) {
  surg_model *m = g->model;
  if (!wish || !wish[0]) return surg__fresh(m, "const");
  surg_status s;
  if (!surg__utf8_valid((const uint8_t *)wish, strlen(wish))) return surg__fresh(m, "const");
  const char *name = surg__intern_user(m, wish, &s);
  if (!name || surg__name_of(name)->values == 0) return name;
  return surg__fresh(m, name);
}

bool surg__takes_initializers(const surg_graph *g) {
  return g->model->ir_version >= 4 && g->kind != SURG_GRAPH_FUNCTION;
}

bool surg_graph_takes_constants(const surg_graph *g) {
  if (!surg__graph_ok(g)) return false;
  if (surg__takes_initializers(g)) return true;
  int64_t opset = surg_graph_opset(g, "");
  return opset >= 1 && surg_schema_find("", "Constant", opset) &&
         !surg_model_find_function(g->model, "", "Constant", "");
}

/* The type of a constant: all dims are fixed. */
static const surg_type *type_of(surg_model *m, const surg_tensor *t) {
  surg_dim dims[SURG_LIMIT_RANK];
  if (t->rank > SURG_LIMIT_RANK) return surg_type_tensor_unranked(m, t->dtype);
  for (uint32_t i = 0; i < t->rank; i++) dims[i] = (surg_dim){.value = t->dims[i]};
  return surg_type_tensor(m, t->dtype, dims, t->rank);
}

static surg_value *make_initializer(surg_graph *g, const char *name, surg_tensor *t) {
  assert(surg__takes_initializers(g) && t->model == g->model);
  const surg_type *type = type_of(g->model, t);
  surg_value *v = type ? surg__value_new(g, name) : NULL;
  if (!v) return NULL;
  v->named_here = v->init_dirty = true;
  v->inferred = type;
  surg__graph_push_initializer(g, v, t);
  surg__touch_graph(g);
  surg__emit(g->model, SURG_EVENT_CREATE_VALUE, g, NULL, v, NULL, NULL);
  return v;
}

/* Creates a Constant node with 0 or 1 outputs. */
static surg_node *make_node(surg_graph *g, surg_node *before, size_t outputs, surg_tensor *t) {
  surg_node *n = surg_graph_add_node(g, before ? before : g->first, "", "Constant", outputs);
  if (!n || surg_node_class(n) != SURG_OP_CLASS_BUILTIN) return NULL;
  return surg_node_set_tensor(n, "value", t) == SURG_OK ? n : NULL;
}

surg_value *surg_graph_constant(surg_graph *g, surg_node *before, const char *name,
                                surg_tensor *tensor) {
  if (surg__graph_ready(g) != SURG_OK || !tensor || tensor->model != g->model) return NULL;
  if (tensor->view == SURG__VIEW_SPARSE) return NULL;
  if (before && surg__node_ready(before) != SURG_OK) return NULL;
  if (before && before->graph != g) {
    surg__node_error(before, SURG_EUSAGE, "a constant of another graph cannot precede it");
    return NULL;
  }
  if (!surg_graph_takes_constants(g)) return NULL;
  const char *label = wished_name(g, name);
  if (!label) return NULL;
  if (surg__takes_initializers(g)) return make_initializer(g, label, tensor);
  surg_node *n = make_node(g, before, 1, tensor);
  return n && surg__relabel(n->out[0], label) ? n->out[0] : NULL;
}

bool surg__initializers_fit(const surg_graph *from, const surg_graph *to) {
  if (surg__takes_initializers(to)) return true;
  for (const surg_value *v = from->first_init; v; v = v->init_next)
    if (!v->input && (!v->tensor || v->tensor->view == SURG__VIEW_SPARSE ||
                      !surg_graph_takes_constants(to)))
      return false;
  return true;
}

bool surg__constant_output(surg_value *v, surg_node *before, surg_tensor *t) {
  surg_graph *g = v->graph;
  surg_model *m = g->model;
  assert(!v->producer && !v->initializer && t->model == m);
  const char *empty = surg__intern(m, "", 0);
  const char *op = empty ? surg__intern(m, "Constant", 8) : NULL;
  surg_node *n = op ? surg__node_new(g, before, empty, op, empty, empty) : NULL;
  if (!n || !surg__node_reserve(n, 0, 1, 1) || !surg__node_link_output(n, 0, v)) return false;
  surg__node_mark_new(n);
  surg__touch_node(n);
  surg__emit(m, SURG_EVENT_CREATE_NODE, g, n, NULL, NULL, NULL);
  return surg_node_set_tensor(n, "value", t) == SURG_OK;
}

/* Detaches v from its producer. */
static void leave_node(surg_value *v) {
  surg_node *n = v->producer;
  assert(v->output < n->n_out && n->out[v->output] == v);
  n->out[v->output] = NULL;
  while (n->n_out && !n->out[n->n_out - 1]) n->n_out--;
  n->io_dirty = true;
  surg__touch_node(n);
  v->producer = NULL;
  v->output = 0;
  surg__emit(n->graph->model, SURG_EVENT_SET_OUTPUT, n->graph, n, NULL, v, NULL);
}

surg_status surg_value_become_constant(surg_value *v, surg_tensor *tensor) {
  surg_status s = surg__value_ready(v);
  if (s != SURG_OK) return s;
  surg_graph *g = v->graph;
  surg_node *n = v->producer;
  if (!n || !tensor || tensor->model != g->model || tensor->view == SURG__VIEW_SPARSE)
    return SURG_EUSAGE;
  if (v->pinned) return SURG_EINVALID;
  if (!surg_graph_takes_constants(g)) return SURG_EUNSUPPORTED;
  surg_node *by = NULL;
  if (!surg__takes_initializers(g)) {
    by = make_node(g, n, 0, tensor);
    if (!by || !surg__node_reserve(by, 0, 1, 0)) return g->model->status;
  }
  leave_node(v);
  /* The tensor has type and shape: a value_info entry would be redundant. */
  v->in_value_info = false;
  v->decl = (surg__decl){.dirty = true};
  v->named_here = true;
  if (by) {
    surg__node_link_output(by, 0, v);
    surg__emit(g->model, SURG_EVENT_SET_OUTPUT, g, by, v, NULL, NULL);
  } else {
    surg__graph_push_initializer(g, v, tensor);
    v->init_dirty = true;
    surg__touch_graph(g);
    surg__emit(g->model, SURG_EVENT_INTERFACE, g, NULL, v, NULL, NULL);
  }
  return SURG_OK;
}
