/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes: queries, changing inputs, outputs and operator, and erasing them. */
#include "ir/edit.h"

void surg__node_mark_new(surg_node *n) {
  n->io_dirty = n->name_dirty = n->op_dirty = n->attrs_dirty = n->named_here = true;
}

surg_graph *surg_node_graph(const surg_node *n) {
  return n ? n->graph : NULL;
}

surg_node *surg_node_next(const surg_node *n) {
  return surg__node_ok(n) ? n->next : NULL;
}

surg_node *surg_node_prev(const surg_node *n) {
  return surg__node_ok(n) ? n->prev : NULL;
}

const char *surg_node_op_type(const surg_node *n) {
  return n ? n->op_type : NULL;
}

const char *surg_node_domain(const surg_node *n) {
  return n ? n->domain : NULL;
}

const char *surg_node_overload(const surg_node *n) {
  return n ? n->overload : NULL;
}

const char *surg_node_name(const surg_node *n) {
  return n ? n->name : NULL;
}

bool surg_node_erased(const surg_node *n) {
  return n && n->erased;
}

size_t surg_node_input_count(const surg_node *n) {
  return surg__node_ok(n) ? n->n_in : 0;
}

surg_value *surg_node_input(const surg_node *n, size_t i) {
  return surg__node_ok(n) && i < n->n_in ? n->in[i].value : NULL;
}

size_t surg_node_output_count(const surg_node *n) {
  return surg__node_ok(n) ? n->n_out : 0;
}

surg_value *surg_node_output(const surg_node *n, size_t i) {
  return surg__node_ok(n) && i < n->n_out ? n->out[i] : NULL;
}

surg_graph *surg_node_subgraph(const surg_node *n, size_t k) {
  if (!surg__node_ok(n)) return NULL;
  for (uint32_t i = 0; i < n->n_attr; i++) {
    const surg_attr *a = n->attrs[i];
    if (!surg__attr_has_graphs(a)) continue;
    if (k < a->count) return a->u.graphs[k];
    k -= a->count;
  }
  return NULL;
}

/* --- name and operator --- */

surg_status surg_node_set_name(surg_node *n, const char *name) {
  surg_status s = surg__node_ready(n);
  if (s != SURG_OK) return s;
  surg_model *m = n->graph->model;
  const char *interned = surg__intern_user(m, name ? name : "", &s);
  if (!interned) return s;
  if (interned == n->name) return SURG_OK;
  const char *old = n->name;
  surg__node_unindex(n);
  n->name = interned;
  if (!surg__node_index(n)) return m->status;
  n->name_dirty = n->named_here = true;
  surg__touch_node(n);
  surg__emit(m, SURG_EVENT_RENAME_NODE, n->graph, n, NULL, NULL, old);
  return SURG_OK;
}

surg_status surg_node_set_op(surg_node *n, const char *domain, const char *op_type) {
  surg_status s = surg__node_ready(n);
  if (s != SURG_OK) return s;
  if (!op_type || !op_type[0]) return SURG_EUSAGE;
  surg_model *m = n->graph->model;
  const char *d = surg__intern_user(m, domain ? domain : "", &s);
  const char *op = d ? surg__intern_user(m, op_type, &s) : NULL;
  const char *none = op ? surg__intern(m, "", 0) : NULL;
  if (!none) return s != SURG_OK ? s : m->status;
  if (n->domain == d && n->op_type == op && n->overload == none) return SURG_OK;
  n->domain = d;
  n->op_type = op;
  n->overload = none;
  n->resolved = false;
  n->op_dirty = true;
  surg__touch_node(n);
  surg__emit(m, SURG_EVENT_SET_OP, n->graph, n, NULL, NULL, NULL);
  return SURG_OK;
}

surg_status surg_node_set_overload(surg_node *n, const char *overload) {
  surg_status s = surg__node_ready(n);
  if (s != SURG_OK) return s;
  surg_model *m = n->graph->model;
  const char *label = surg__intern_user(m, overload ? overload : "", &s);
  if (!label) return s;
  if (n->overload == label) return SURG_OK;
  n->overload = label;
  n->resolved = false;
  n->op_dirty = true;
  surg__touch_node(n);
  surg__emit(m, SURG_EVENT_SET_OP, n->graph, n, NULL, NULL, NULL);
  return SURG_OK;
}

/* --- inputs --- */

static bool names_value(const surg_node *n, const surg_value *v) {
  for (uint32_t i = 0; i < n->n_in; i++)
    if (n->in[i].value == v) return true;
  return v->producer == n;
}

/* When the node no longer uses `old`, links its sharding specs for `old` to v, or to nothing if v
 * is NULL. */
static void follow_softs(surg_node *n, const surg_value *old, surg_value *v) {
  if (!n->softs || !old || names_value(n, old)) return;
  for (surg__soft *s = n->softs; s; s = s->next) {
    assert(s->node == n && s->kind == SURG__SOFT_SHARDING);
    if (s->use.value != old) continue;
    surg__use_unlink(&s->use);
    surg__use_link(&s->use, v);
  }
}

bool surg__reads_itself(const surg_node *n, const surg_value *v) {
  for (; n && v->producer; n = n->graph->parent_node)
    if (v->producer == n) return true;
  return false;
}

surg_status surg_node_set_input(surg_node *n, size_t i, surg_value *v) {
  surg_status s = surg__node_ready(n);
  if (s == SURG_OK && v) s = surg__value_ready(v);
  if (s != SURG_OK) return s;
  surg_model *m = n->graph->model;
  if (v && (v->graph->model != m || !surg__value_visible(v, n->graph)))
    return surg__node_error(n, SURG_EUSAGE, "value %s cannot be an input here: not visible",
                            surg__q(m->ctx, v->name));
  if (v && surg__reads_itself(n, v))
    return surg__node_error(n, SURG_EINVALID,
                            "value %s cannot be an input here: it is computed from "
                            "this node",
                            surg__q(m->ctx, v->name));
  if (i >= UINT32_MAX / 2) return surg__node_error(n, SURG_EUSAGE, "too many inputs");
  surg_value *old = i < n->n_in ? n->in[i].value : NULL;
  if (i < n->n_in && old == v) return SURG_OK;
  if (v && !surg__unshadow(v, v->name, n->graph)) return m->status;
  if (!surg__node_link_input(n, i, v)) return m->status;
  assert(i < n->n_in && n->in[i].value == v);
  follow_softs(n, old, v);
  n->io_dirty = true;
  surg__touch_node(n);
  surg__emit(m, SURG_EVENT_SET_INPUT, n->graph, n, v, old, NULL);
  return SURG_OK;
}

surg_status surg_node_trim_inputs(surg_node *n, size_t count) {
  surg_status s = surg__node_ready(n);
  if (s != SURG_OK || count >= n->n_in) return s;
  uint32_t was = n->n_in;
  n->n_in = (uint32_t)count;
  for (uint32_t i = n->n_in; i < was; i++) {
    surg_value *old = n->in[i].value;
    surg__use_unlink(&n->in[i]);
    follow_softs(n, old, NULL);
    surg__emit(n->graph->model, SURG_EVENT_SET_INPUT, n->graph, n, NULL, old, NULL);
  }
  n->io_dirty = true;
  surg__touch_node(n);
  return SURG_OK;
}

surg_status surg_node_remove_input(surg_node *n, size_t i) {
  const surg_status s = surg__node_ready(n);
  if (s != SURG_OK) return s;
  if (i >= n->n_in) return SURG_EUSAGE;
  surg_value *old = n->in[i].value;
  surg__use_unlink(&n->in[i]);
  for (uint32_t k = (uint32_t)i; k + 1 < n->n_in; k++) {
    surg_value *next = n->in[k + 1].value;
    surg__use_unlink(&n->in[k + 1]);
    surg__use_link(&n->in[k], next);
  }
  n->n_in--;
  follow_softs(n, old, NULL);
  n->io_dirty = true;
  surg__touch_node(n);
  surg__emit(n->graph->model, SURG_EVENT_SET_INPUT, n->graph, n, NULL, old, NULL);
  return SURG_OK;
}

/* --- outputs --- */

surg_value *surg_node_add_output(surg_node *n, size_t i) {
  if (surg__node_ready(n) != SURG_OK) return NULL;
  if (i < n->n_out && n->out[i]) return n->out[i];
  if (i >= UINT32_MAX / 2) {
    surg__node_error(n, SURG_EUSAGE, "too many outputs");
    return NULL;
  }
  if (!surg__node_reserve(n, 0, i + 1, 0)) return NULL;
  surg_value *v = surg__value_fresh(n->graph, n->op_type);
  if (!v || !surg__node_link_output(n, i, v)) return NULL;
  assert(n->out[i] == v && v->producer == n && v->output == i);
  n->io_dirty = true;
  surg__touch_node(n);
  surg__emit(n->graph->model, SURG_EVENT_SET_OUTPUT, n->graph, n, v, NULL, NULL);
  return v;
}

static void trim_outputs(surg_node *n) {
  while (n->n_out && !n->out[n->n_out - 1]) n->n_out--;
}

surg_status surg_node_drop_output(surg_node *n, size_t i) {
  surg_status s = surg__node_ready(n);
  if (s != SURG_OK) return s;
  surg_value *v = i < n->n_out ? n->out[i] : NULL;
  if (!v) return SURG_OK;
  if (surg__value_has_hard_use(v) || v->pinned)
    return surg__node_error(n, SURG_EINVALID, "output %s is in use",
                            surg__q(n->graph->model->ctx, v->name));
  n->out[i] = NULL;
  trim_outputs(n);
  n->io_dirty = true;
  surg__touch_node(n);
  surg__value_erase(v);
  surg__emit(n->graph->model, SURG_EVENT_SET_OUTPUT, n->graph, n, NULL, v, NULL);
  return SURG_OK;
}

/* The inferred types stay valid: the outputs are the same values. */
static void types_kept(surg_node *n) {
  for (uint32_t i = 0; i < n->n_out; i++)
    if (n->out[i] && !n->out[i]->inferred) return;
  n->types_stale = false;
}

surg_status surg_node_take_output(surg_node *n, size_t i, surg_value *v) {
  surg_status s = surg__node_ready(n);
  if (s == SURG_OK) s = surg__value_ready(v);
  if (s != SURG_OK) return s;
  surg_node *from = v->producer;
  surg_model *m = n->graph->model;
  surg_value *old = i < n->n_out ? n->out[i] : NULL;
  if (!from || from == n || v->graph != n->graph || i >= UINT32_MAX / 2)
    return surg__node_error(n, SURG_EUSAGE, "cannot use value %s", surg__q(m->ctx, v->name));
  if (old && (surg__value_has_hard_use(old) || old->pinned))
    return surg__node_error(n, SURG_EINVALID, "output %s is in use", surg__q(m->ctx, old->name));
  if (!surg__node_reserve(n, 0, i + 1, 0)) return m->status;
  assert(v->output < from->n_out && from->out[v->output] == v);
  from->out[v->output] = NULL;
  trim_outputs(from);
  from->io_dirty = true;
  surg__touch_node(from);
  if (old) surg__value_erase(old);
  surg__node_link_output(n, i, v);
  n->io_dirty = true;
  surg__touch_node(n);
  types_kept(n);
  surg__emit(m, SURG_EVENT_SET_OUTPUT, n->graph, from, NULL, v, NULL);
  surg__emit(m, SURG_EVENT_SET_OUTPUT, n->graph, n, v, old, NULL);
  return SURG_OK;
}

/* --- erasing --- */

static surg_status erasable(const surg_node *n) {
  for (uint32_t i = 0; i < n->n_out; i++) {
    const surg_value *v = n->out[i];
    assert(!v || (v->producer == n && v->output == i));
    if (v && (surg__value_has_hard_use(v) || v->pinned))
      return surg__node_error(n, SURG_EINVALID, "cannot be erased: output %s is in use",
                              surg__q(n->graph->model->ctx, v->name));
  }
  return SURG_OK;
}

surg_status surg_node_erase(surg_node *n) {
  surg_status s = surg__node_ready(n);
  if (s == SURG_OK) s = erasable(n);
  if (s != SURG_OK) return s;
  surg_graph *g = n->graph;
  surg_model *m = g->model;
  surg__node_unindex(n);
  surg_graph *inner = surg__chain_node(n);
  if (inner) surg__chain_erase(m, inner);
  for (uint32_t i = 0; i < n->n_in; i++) surg__use_unlink(&n->in[i]);
  for (surg__soft *soft = n->softs; soft; soft = soft->next) surg__soft_unlink(soft);
  for (uint32_t i = 0; i < n->n_out; i++)
    if (n->out[i]) surg__value_erase(n->out[i]);
  surg__order_remove(n);
  n->erased = true;
  surg__touch_graph(g);
  surg__emit(m, SURG_EVENT_ERASE_NODE, g, n, NULL, NULL, NULL);
  return SURG_OK;
}
