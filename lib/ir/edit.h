/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of lib/ir share among themselves: guards, indexing and the primitive edits that
 * public mutations are made of. Nobody outside lib/ir includes this. */
#ifndef SURG_EDIT_H
#define SURG_EDIT_H

#include "ir/ir.h"

/* --- guards at the head of public calls --- */
static inline bool surg__model_ok(const surg_model *m) { return m && m->status == SURG_OK; }
static inline bool surg__graph_ok(const surg_graph *g) {
  return g && !g->erased && g->model->status == SURG_OK;
}
static inline bool surg__node_ok(const surg_node *n) {
  return n && !n->erased && n->graph->model->status == SURG_OK;
}
static inline bool surg__value_ok(const surg_value *v) {
  return v && !v->erased && v->graph->model->status == SURG_OK;
}
/* SURG_OK, or why a mutation of this handle is refused; an erased handle is reported. */
surg_status surg__model_ready(const surg_model *m);
surg_status surg__graph_ready(const surg_graph *g);
surg_status surg__node_ready(const surg_node *n);
surg_status surg__value_ready(const surg_value *v);

/* --- memory of the model's arena; NULL makes the model fail --- */
void *surg__zalloc(surg_model *m, size_t n);
void *surg__array(surg_model *m, size_t count, size_t size);
void *surg__copy(surg_model *m, const void *p, size_t count, size_t size);
bool surg__copy_str(surg_model *m, surg_str s, surg_str *out);
void *surg__failed(surg_model *m); /* fails the model from the allocator's status; NULL */

/* --- names --- */
static inline bool surg__default_domain(const char *d) {
  return !d[0] || strcmp(d, "ai.onnx") == 0;
}
/* Interns text that a caller gave: it must be UTF-8. NULL with *s set. */
const char *surg__intern_user(surg_model *m, const char *text, surg_status *s);
const char *surg__fresh(surg_model *m, const char *stem);
bool surg__value_index(surg_value *v);
void surg__value_unindex(surg_value *v);
bool surg__node_index(surg_node *n);
bool surg__node_unindex(surg_node *n); /* false: no memory, nothing changed */
void surg__name_lose(surg_value *v); /* counts a bearer less: the value left its table */
/* Whether a value of g may bear the name: no other one in a scope that would see both. */
bool surg__name_free(const surg_graph *g, const char *interned);
/* Gives v another label and marks everything that spells it. */
bool surg__relabel(surg_value *v, const char *interned);
/* The same; with mark_uses false its hard uses are about to go to a value that keeps the label. */
bool surg__set_label(surg_value *v, const char *interned, bool mark_uses);
/* Makes `name`, as a label of v, mean v where it is read in graph g: values of graphs in between
 * that bear it are relabelled. */
bool surg__unshadow(surg_value *v, const char *name, surg_graph *g);

/* --- nodes, values, graphs --- */
void surg__order_insert(surg_node *n, surg_node *before); /* into the list of n->graph */
void surg__order_remove(surg_node *n);
surg_value *surg__value_fresh(surg_graph *g, const char *stem);
bool surg__value_has_hard_use(const surg_value *v);
void surg__value_erase(surg_value *v); /* no hard use is left, it is not pinned, no input */
void surg__value_unlink(surg_value *v); /* from the value list of its graph */
void surg__value_append(surg_graph *g, surg_value *v);
void surg__init_unlink(surg_value *v);
void surg__soft_unlink(surg__soft *s);
void surg__annotation_drop(surg_graph *g, surg__annotation *a);
void surg__node_mark_new(surg_node *n);

/* Chains every graph inside a node, an attribute or a graph (itself included) by work_next, outer
 * before inner; needs no memory. */
surg_graph *surg__chain_graph(surg_graph *g);
surg_graph *surg__chain_attr(const surg_attr *a);
surg_graph *surg__chain_node(const surg_node *n);
/* Erases a chain with all that is in it. */
void surg__chain_erase(surg_model *m, surg_graph *chain);

/* Finds an attribute; sets *index. */
surg_attr *surg__attr_find(const surg_node *n, const char *name, uint32_t *index);
static inline bool surg__attr_has_graphs(const surg_attr *a) {
  return a->kind == SURG_ATTR_GRAPH || a->kind == SURG_ATTR_GRAPHS;
}
int64_t surg__imports_find(const surg_model *m, const surg__imports *imports, const char *domain);

surg_status surg__graph_error(const surg_graph *g, surg_status s, const char *fmt, ...)
    SURG_PRINTF(3, 4);

#endif
