/* SPDX-License-Identifier: Apache-2.0 */
/* Permanent failure, dirty marks, and events to listeners. */
#include "ir/edit.h"

surg_status surg__fail(surg_model *m, surg_status s) {
  assert(s != SURG_OK);
  if (m->status == SURG_OK) m->status = s;
  return m->status;
}

void *surg__failed(surg_model *m) {
  if (m->status == SURG_OK) surg__fail(m, surg__oom(m->ctx, surg_model_path(m)));
  return NULL;
}

void *surg__zalloc(surg_model *m, size_t n) {
  void *p = surg__arena_zalloc(&m->arena, n);
  return p ? p : surg__failed(m);
}

void *surg__array(surg_model *m, size_t count, size_t size) {
  void *p = surg__arena_array(&m->arena, count, size);
  return p ? p : surg__failed(m);
}

void *surg__copy(surg_model *m, const void *p, size_t count, size_t size) {
  void *to = surg__array(m, count, size);
  if (to && count) memcpy(to, p, count * size);
  return to;
}

bool surg__copy_str(surg_model *m, surg_str s, surg_str *out) {
  char *p = surg__arena_strn(&m->arena, s.p, s.n);
  if (!p) return surg__failed(m) != NULL;
  *out = (surg_str){p, s.n};
  return true;
}

/* --- guards --- */

surg_status surg__model_ready(const surg_model *m) {
  return m ? m->status : SURG_EUSAGE;
}

surg_status surg__graph_ready(const surg_graph *g) {
  if (!g) return SURG_EUSAGE;
  if (g->model->status != SURG_OK) return g->model->status;
  if (!g->erased) return SURG_OK;
  return surg__error(g->model->ctx, SURG_EERASED, surg_model_path(g->model),
                     "graph %s was erased", surg__q(g->model->ctx, g->name));
}

surg_status surg__node_ready(const surg_node *n) {
  if (!n) return SURG_EUSAGE;
  const surg_model *m = n->graph->model;
  if (m->status != SURG_OK) return m->status;
  if (!n->erased) return SURG_OK;
  return surg__error(m->ctx, SURG_EERASED, surg_model_path(m), "node %s (%s) was erased",
                     surg__q(m->ctx, n->name), surg__q(m->ctx, n->op_type));
}

surg_status surg__value_ready(const surg_value *v) {
  if (!v) return SURG_EUSAGE;
  const surg_model *m = v->graph->model;
  if (m->status != SURG_OK) return m->status;
  if (!v->erased) return SURG_OK;
  return surg__error(m->ctx, SURG_EERASED, surg_model_path(m), "value %s was erased",
                     surg__q(m->ctx, v->name));
}

/* --- dirty marks --- */

void surg__touch_graph(surg_graph *g) {
  surg_model *m = g->model;
  m->epoch++;
  m->dirty = true;
  /* Whatever contains a dirty graph is dirty already, so marking is O(1) amortized over all
   * edits. */
  while (g && !g->dirty) {
    g->dirty = true;
    if (g->parent_attr) g->parent_attr->dirty = true;
    if (g->function) g->function->dirty = true;
    surg_node *n = g->parent_node;
    if (n) n->dirty = n->attrs_dirty = true;
    g = n ? n->graph : NULL;
  }
}

void surg__touch_node(surg_node *n) {
  n->dirty = true;
  surg__touch_graph(n->graph);
}

/* --- events --- */

void surg__emit(surg_model *m, surg_event_kind kind, surg_graph *g, surg_node *n, surg_value *v,
                surg_value *other, const char *old_name) {
  /* The inferred types of the outputs are for the node before the edit. */
  if (!m->values_kept &&
      (kind == SURG_EVENT_SET_INPUT || kind == SURG_EVENT_SET_ATTR || kind == SURG_EVENT_SET_OP))
    n->types_stale = true;
  if (kind == SURG_EVENT_INTERFACE && v && !v->producer) v->inferred = NULL;
  if (!m->listeners.count) return;
  surg_event e = {.size = sizeof e, .kind = kind, .graph = g, .node = n, .value = v,
                  .other = other, .old_name = old_name};
  for (size_t i = 0; i < m->listeners.count; i++)
    m->listeners.items[i].fn(m->listeners.items[i].user, &e);
}

surg_status surg_model_listen(surg_model *m, surg_listener fn, void *user) {
  if (!m || !fn) return SURG_EUSAGE;
  if (m->status != SURG_OK) return m->status;
  struct surg__listener l = {fn, user};
  if (!surg__vec_push(m->ctx, &m->listeners, l)) surg__failed(m);
  return m->status;
}

void surg_model_unlisten(surg_model *m, surg_listener fn, void *user) {
  if (!m) return;
  for (size_t i = 0; i < m->listeners.count; i++) {
    struct surg__listener *l = &m->listeners.items[i];
    if (l->fn != fn || l->user != user) continue;
    memmove(l, l + 1, (m->listeners.count - i - 1) * sizeof *l);
    m->listeners.count--;
    return;
  }
}
