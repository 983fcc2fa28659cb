/* SPDX-License-Identifier: Apache-2.0 */
/* Values: queries, initializers, constants and declared types. */
#include "base/dtype.h"
#include "ir/edit.h"

surg_value *surg__value_fresh(surg_graph *g, const char *stem) {
  const char *name = surg__fresh(g->model, stem);
  surg_value *v = name ? surg__value_new(g, name) : NULL;
  if (v) v->named_here = true;
  return v;
}

surg_graph *surg_value_graph(const surg_value *v) {
  return v ? v->graph : NULL;
}

const char *surg_value_name(const surg_value *v) {
  return v ? v->name : NULL;
}

bool surg_value_erased(const surg_value *v) {
  return v && v->erased;
}

surg_node *surg_value_producer(const surg_value *v, size_t *index) {
  if (index) *index = 0;
  if (!surg__value_ok(v) || !v->producer) return NULL;
  if (index) *index = v->output;
  return v->producer;
}

bool surg_value_is_input(const surg_value *v) {
  return surg__value_ok(v) && v->input;
}

bool surg_value_is_initializer(const surg_value *v) {
  return surg__value_ok(v) && v->initializer;
}

bool surg_value_is_output(const surg_value *v) {
  return surg__value_ok(v) && v->last_output;
}

bool surg_value_bound_by_name(const surg_value *v) {
  if (!surg__value_ok(v) || !v->graph->parent_node) return false;
  if (!v->input && !surg_value_is_output(v)) return false;
  const surg_node *of = v->graph->parent_node;
  return !surg__default_domain(of->domain) && !surg_node_function(of);
}

bool surg_value_is_pinned(const surg_value *v) {
  return surg__value_ok(v) && v->pinned;
}

/* --- initializers --- */

surg_tensor *surg_value_initializer(const surg_value *v) {
  if (!surg__value_ok(v) || !v->initializer || !v->tensor) return NULL;
  return v->tensor->view == SURG__VIEW_SPARSE ? NULL : v->tensor;
}

surg_status surg_value_set_initializer(surg_value *v, surg_tensor *t) {
  surg_status s = surg__value_ready(v);
  if (s != SURG_OK) return s;
  surg_graph *g = v->graph;
  surg_model *m = g->model;
  if (!t || t->model != m) return SURG_EUSAGE;
  if ((!v->initializer && !v->input) || g->kind == SURG_GRAPH_FUNCTION)
    return surg__graph_error(g, SURG_EUSAGE, "value %s cannot have an initializer",
                             surg__q(m->ctx, v->name));
  if (v->initializer)
    v->tensor = t;
  else
    surg__graph_push_initializer(g, v, t);
  v->init_dirty = true;
  surg__touch_graph(g);
  surg__emit(m, SURG_EVENT_INTERFACE, g, NULL, v, NULL, NULL);
  return SURG_OK;
}

surg_status surg_value_erase_initializer(surg_value *v) {
  surg_status s = surg__value_ready(v);
  if (s != SURG_OK) return s;
  surg_graph *g = v->graph;
  surg_model *m = g->model;
  if (!v->initializer) return SURG_EUSAGE;
  if (!v->input) {
    if (surg__value_has_hard_use(v) || v->pinned)
      return surg__graph_error(g, SURG_EINVALID, "initializer %s is in use",
                               surg__q(m->ctx, v->name));
    surg__value_erase(v);
    return SURG_OK;
  }
  surg__init_unlink(v);
  v->tensor = NULL;
  v->init_src = (surg__src){0};
  surg__touch_graph(g);
  surg__emit(m, SURG_EVENT_INTERFACE, g, NULL, v, NULL, NULL);
  return SURG_OK;
}

/* --- constants --- */

/* Whether an initializer cannot be overridden by an input: the operator sets the inputs of a
 * subgraph, the caller those of the model. Before IR version 4 every initializer had to be listed
 * as an input, but was constant. */
static bool fixed(const surg_value *v) {
  if (!v->input) return true;
  const surg_model *m = v->graph->model;
  if (v->graph->kind != SURG_GRAPH_MAIN) return false;
  return m->freeze_inputs || (m->has_ir_version && m->ir_version < 4);
}

static surg_tensor *tensor_of_attr(surg_model *m, const surg_attr *a) {
  assert(!surg_attr_ref(a)); /* a reference has no value */
  const int64_t dims[1] = {a->count};
  switch (a->kind) {
    case SURG_ATTR_INT: return surg_tensor_new_numbers(m, SURG_INT64, NULL, 0, &a->u.i, 1);
    case SURG_ATTR_FLOAT: return surg_tensor_new_numbers(m, SURG_FLOAT, NULL, 0, &a->u.f, 1);
    case SURG_ATTR_STRING: return surg_tensor_new_strings(m, NULL, 0, &a->u.s);
    case SURG_ATTR_INTS:
      return surg_tensor_new_numbers(m, SURG_INT64, dims, 1, a->u.ints, a->count);
    case SURG_ATTR_FLOATS:
      return surg_tensor_new_numbers(m, SURG_FLOAT, dims, 1, a->u.floats, a->count);
    case SURG_ATTR_STRINGS: return surg_tensor_new_strings(m, dims, 1, a->u.strings);
    default: return NULL;
  }
}

static surg_tensor *constant_of_node(const surg_node *n) {
  static const struct {
    const char *name;
    surg_attr_kind kind;
  } forms[] = {{"value_float", SURG_ATTR_FLOAT},   {"value_floats", SURG_ATTR_FLOATS},
               {"value_int", SURG_ATTR_INT},       {"value_ints", SURG_ATTR_INTS},
               {"value_string", SURG_ATTR_STRING}, {"value_strings", SURG_ATTR_STRINGS}};
  if (surg_node_op(n) != SURG_OP_Constant || n->n_attr != 1 || surg_attr_ref(n->attrs[0]))
    return NULL;
  surg_attr *a = n->attrs[0];
  if (strcmp(a->name, "value") == 0) return surg_attr_tensor(a, 0);
  for (size_t i = 0; i < SURG_COUNT(forms); i++) {
    if (a->kind != forms[i].kind || strcmp(a->name, forms[i].name) != 0) continue;
    if (!a->as_tensor) a->as_tensor = tensor_of_attr(n->graph->model, a);
    return a->as_tensor;
  }
  return NULL;
}

surg_tensor *surg_value_constant(const surg_value *v) {
  if (!surg__value_ok(v)) return NULL;
  if (v->initializer)
    return fixed(v) && v->tensor && !v->tensor->shapeless ? surg_value_initializer(v) : NULL;
  return v->producer && v->output == 0 ? constant_of_node(v->producer) : NULL;
}

surg_tensor *surg_value_settled(const surg_value *v) {
  return surg_value_is_pinned(v) ? NULL : surg_value_constant(v);
}

/* --- types --- */

/* The first OUTPUT use in the value's own graph, or NULL. */
static surg__output *own_output(const surg_value *v) {
  for (const surg_use *u = v->last_output ? v->uses : NULL; u; u = u->next) {
    assert(u->kind == SURG_USE_OUTPUT && u->index < u->user.graph->n_out);
    if (u->user.graph == v->graph) return v->graph->out[u->index];
    if (u == v->last_output) return NULL;
  }
  return NULL;
}

const surg_type *surg_value_declared_type(const surg_value *v) {
  if (!surg__value_ok(v)) return NULL;
  if (v->decl.type && (v->input || v->in_value_info)) return v->decl.type;
  const surg__output *o = own_output(v);
  return o ? o->decl.type : NULL;
}

const surg_type *surg_value_type(const surg_value *v) {
  if (!surg__value_ok(v) || (v->producer && v->producer->types_stale)) return NULL;
  return v->inferred;
}

surg_status surg_value_set_declared_type(surg_value *v, const surg_type *type) {
  surg_status s = surg__value_ready(v);
  if (s != SURG_OK) return s;
  surg_graph *g = v->graph;
  if (type && type->model != g->model) return SURG_EUSAGE;
  const surg__output *own = own_output(v);
  for (surg_use *u = own ? v->uses : NULL; u; u = u == v->last_output ? NULL : u->next) {
    if (u->user.graph != g) continue;
    g->out[u->index]->decl.type = type;
    g->out[u->index]->decl.dirty = true;
  }
  /* A function lists its inputs and outputs by name only: value_info declares their types. */
  bool by_info = !v->input || g->kind == SURG_GRAPH_FUNCTION;
  if (v->input || v->in_value_info || !own || g->kind == SURG_GRAPH_FUNCTION) {
    v->decl.type = type;
    v->decl.dirty = true;
    /* The source of an input of a function is its name, which is no message to splice. */
    if (by_info && v->input && !v->in_value_info) v->decl.src = (surg__src){0};
    if (by_info) v->in_value_info = type != NULL;
  }
  if (v->input) v->inferred = NULL;
  surg__touch_graph(g);
  return SURG_OK;
}
