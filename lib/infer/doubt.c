/* SPDX-License-Identifier: Apache-2.0 */
/* Revokes what inference proved from the elements of a value: types and elements of all values
 * computed from it are unknown until the model is inferred again. */
#include "infer/infer.h"

typedef SURG_VEC(surg_node *) work_list;

/* Recursion is bounded by how deep graphs nest (SURG_LIMIT_DEPTH). */
static void forget(surg_graph *g) {
  for (surg_value *v = g->first_value; v; v = v->next) {
    if (!v->producer && !v->input) continue; /* an initializer */
    v->inferred = NULL;
    v->elems = NULL;
    v->found = NULL;
  }
  for (surg_node *n = g->first; n; n = n->next) {
    surg_graph *inner;
    for (size_t k = 0; n->n_attr && (inner = surg_node_subgraph(n, k)); k++) forget(inner);
  }
}

static bool push(work_list *list, surg_node *n) {
  surg_graph *inner;
  assert(!n->erased);
  if (n->types_stale) return true; /* its consumers are stale already */
  n->types_stale = true;
  for (size_t k = 0; n->n_attr && (inner = surg_node_subgraph(n, k)); k++) forget(inner);
  surg_function *f = surg_node_function(n);
  if (f && f->body) forget(f->body);
  return surg__vec_push(n->graph->model->ctx, list, n);
}

/* Pushes the nodes that read v, and the nodes around the graphs whose output v is. */
static bool push_readers(work_list *list, surg_value *v) {
  v->elems = NULL;
  v->found = NULL;
  for (surg_use *u = v->uses; u; u = u->next) {
    surg_graph *g = surg_use_graph(u);
    if (u->kind == SURG_USE_NODE && !push(list, u->user.node)) return false;
    if (u->kind != SURG_USE_NODE && g == v->graph && g->parent_node && !push(list, g->parent_node))
      return false;
    for (; g && g != v->graph && g->parent_node; g = g->parent_node->graph)
      if (!push(list, g->parent_node)) return false;
  }
  return true;
}

void surg__infer_doubt(surg_value *v) {
  work_list list = {0};
  surg_model *m = v->graph->model;
  bool ok = push_readers(&list, v);
  for (size_t i = 0; i < list.count && ok; i++) {
    const surg_node *n = list.items[i];
    for (uint32_t k = 0; k < n->n_out && ok; k++)
      if (n->out[k]) ok = push_readers(&list, n->out[k]);
  }
  surg__vec_free(m->ctx, &list);
  if (!ok) surg__fail(m, surg__alloc_status(m->ctx));
}
