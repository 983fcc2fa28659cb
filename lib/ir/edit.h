/* SPDX-License-Identifier: Apache-2.0 */
/* Internal functions of lib/ir: guards, indexing, and the primitive edits that the public mutations
 * consist of. Only files of lib/ir include this header. */
#ifndef SURG_EDIT_H
#define SURG_EDIT_H

#include "ir/ir.h"

/* --- guards at the start of public calls --- */
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
/* Return SURG_OK, or why a mutation of this handle is rejected; report an erased handle. */
surg_status surg__model_ready(const surg_model *m);
surg_status surg__graph_ready(const surg_graph *g);
surg_status surg__node_ready(const surg_node *n);
surg_status surg__value_ready(const surg_value *v);

/* --- memory of the model's arena; NULL: the model has failed --- */
void *surg__zalloc(surg_model *m, size_t n);
void *surg__array(surg_model *m, size_t count, size_t size);
void *surg__copy(surg_model *m, const void *p, size_t count, size_t size);
bool surg__copy_str(surg_model *m, surg_str s, surg_str *out);
void *surg__failed(surg_model *m); /* fails the model with the allocator's status; returns NULL */

/* A blob that is memory of the caller (surg_tensor_borrow). */
surg__blob *surg__blob_borrow(surg_model *m, const void *data, uint64_t n, surg_release_fn release,
                              void *user);
/* A blob whose bytes `fn` computes whenever they are read. `release` gets `user` at the end; on
 * failure (NULL) it is not called. */
surg__blob *surg__blob_derive(surg_model *m, uint64_t n, surg__derive_fn fn,
                              surg_release_fn release, void *user);

/* Makes v, which nothing computes, the output of a new Constant node before `before`. */
bool surg__constant_output(surg_value *v, surg_node *before, surg_tensor *t);
/* --- names --- */
void *surg__table_find(const surg_model *m, const surg__table *t, const surg_graph *g,
                       const char *name);
/* Adds an item whose graph and name have no entry. False: no memory, the model fails. */
bool surg__table_add(surg_model *m, surg__table *t, void *item);
void surg__table_replace(const surg_model *m, surg__table *t, const void *old, void *item);
/* Call it before the graph or name of the item changes. */
void surg__table_remove(const surg_model *m, surg__table *t, const void *item);
static inline bool surg__default_domain(const char *d) {
  return !d[0] || strcmp(d, "ai.onnx") == 0;
}
/* Interns text of a caller, which must be UTF-8. NULL: error in *s. */
const char *surg__intern_user(surg_model *m, const char *text, surg_status *s);
const char *surg__fresh(surg_model *m, const char *stem);
bool surg__value_index(surg_value *v);
void surg__value_unindex(surg_value *v);
bool surg__node_index(surg_node *n);
void surg__node_unindex(surg_node *n);
/* Whether a value of g can get this name: no value visible in g or inside g has it. */
bool surg__name_free(const surg_graph *g, const char *interned);
/* Renames v and marks everything that contains its name as dirty. */
bool surg__relabel(surg_value *v, const char *interned);
/* As surg__relabel. With mark_uses false, its node and output uses stay unmarked: the caller moves
 * them to a value that gets the old name. */
bool surg__set_label(surg_value *v, const char *interned, bool mark_uses);
/* Makes `name` refer to v in graph g, where `name` is or will be the name of v: renames values of
 * graphs between v and g that have this name. */
bool surg__unshadow(surg_value *v, const char *name, surg_graph *g);

/* --- nodes, values, graphs --- */
void surg__order_insert(surg_node *n, surg_node *before); /* into the list of n->graph */
void surg__order_remove(surg_node *n);
/* Whether n computes v, itself or around it: as an input of n, v would make a cycle. O(depth) */
bool surg__reads_itself(const surg_node *n, const surg_value *v);
surg_value *surg__value_fresh(surg_graph *g, const char *stem);
bool surg__value_has_hard_use(const surg_value *v);
void surg__value_erase(surg_value *v); /* requires: no hard use, not pinned, not an input */
void surg__value_unlink(surg_value *v); /* from the value list of its graph */
void surg__value_append(surg_graph *g, surg_value *v);
void surg__init_unlink(surg_value *v);
void surg__soft_unlink(surg__soft *s);
void surg__annotation_drop(surg_graph *g, surg__annotation *a);
void surg__node_mark_new(surg_node *n);

/* Chain every graph inside a node, an attribute or a graph (itself included) by work_next, outer
 * before inner. No recursion, no allocation. */
surg_graph *surg__chain_graph(surg_graph *g);
surg_graph *surg__chain_attr(const surg_attr *a);
surg_graph *surg__chain_node(const surg_node *n);
/* Whether g is `around` or nested in it. */
bool surg__graph_inside(const surg_graph *g, const surg_graph *around);
/* A value that `from` or a graph in it reads, that is defined outside of `from` and not visible in
 * `to`; *reader: which graph. `outputs`: outputs of `from` are reads, too. NULL: there is none. */
const surg_value *surg__chain_unseen(surg_graph *from, const surg_graph *to, bool outputs,
                                     const surg_graph **reader);
/* Erases the graphs of a chain with all their contents. */
void surg__chain_erase(surg_model *m, surg_graph *chain);

/* Finds an attribute and sets *index; NULL: absent. */
surg_attr *surg__attr_find(const surg_node *n, const char *name, uint32_t *index);
static inline bool surg__attr_has_graphs(const surg_attr *a) {
  return a->kind == SURG_ATTR_GRAPH || a->kind == SURG_ATTR_GRAPHS;
}
int64_t surg__imports_find(const surg_model *m, const surg__imports *imports, const char *domain);

surg_status surg__graph_error(const surg_graph *g, surg_status s, const char *fmt, ...)
    SURG_PRINTF(3, 4);

/* Whether two functions, of any models, have the same signature, imports and bodies, names
 * included (functions_same.c). False also where that is not decided. O(both) */
bool surg__function_same(const surg_function *a, const surg_function *b);

#endif
