/* SPDX-License-Identifier: Apache-2.0 */
/* The lowest IR version that has every feature that a model uses. Metadata and device
 * configurations do not count, as readers ignore them; nor does the listing of initializers among
 * the inputs, which the pass `ir` corrects. */
#include <onnxsurg/onnxsurg.h>
#include <stdio.h>
#include <string.h>

#include "base/dtype.h"

typedef struct need {
  int64_t version;       /* the highest version required so far */
  const surg_node *node; /* the node that requires it, or NULL */
  char *what;
  size_t size; /* size of `what` */
} need;

static void raise(need *x, int64_t version, const surg_node *n, const char *what,
                  const char *name) {
  if (version <= x->version) return;
  x->version = version;
  x->node = n;
  if (!x->size) return;
  snprintf(x->what, x->size, "%s%s%.200s%s", what, name ? " '" : "", name ? name : "",
           name ? "'" : "");
}

static void need_dtype(need *x, int dtype, const surg_node *n, const char *owner) {
  char what[64];
  int64_t version = surg__dtype_ir(dtype);
  if (version <= x->version) return;
  snprintf(what, sizeof what, "%s values, such as", surg_dtype_name(dtype));
  raise(x, version, n, what, owner);
}

static void need_type(need *x, const surg_type *t, const surg_node *n, const char *owner) {
  for (; t; t = surg_type_elem(t)) { /* bounded by the nesting limit of the reader */
    surg_type_kind kind = surg_type_get_kind(t);
    if (kind == SURG_TYPE_OPTIONAL) raise(x, 8, n, "optional types, such as that of", owner);
    if (kind == SURG_TYPE_SPARSE_TENSOR) raise(x, 5, n, "sparse types, such as that of", owner);
    if (kind == SURG_TYPE_TENSOR || kind == SURG_TYPE_SPARSE_TENSOR)
      need_dtype(x, surg_type_dtype(t), n, owner);
  }
}

static void need_attr(need *x, const surg_attr *a, const surg_node *n) {
  surg_attr_kind kind = surg_attr_get_kind(a);
  const char *name = surg_attr_name(a);
  const surg_tensor *t;
  const surg_type *type;
  for (size_t i = 0; (t = surg_attr_tensor(a, i)); i++)
    need_dtype(x, surg_tensor_dtype(t), n, name);
  for (size_t i = 0; (type = surg_attr_type(a, i)); i++) need_type(x, type, n, name);
  if (kind == SURG_ATTR_SPARSE_TENSOR || kind == SURG_ATTR_SPARSE_TENSORS)
    raise(x, 5, n, "a sparse tensor as attribute", name);
  if (kind == SURG_ATTR_TYPE_PROTO || kind == SURG_ATTR_TYPE_PROTOS)
    raise(x, 8, n, "a type as attribute", name);
}

static void need_values(need *x, const surg_graph *g) {
  for (surg_value *v = surg_graph_next_value(g, NULL); v; v = surg_graph_next_value(g, v)) {
    const surg_node *n = surg_value_producer(v, NULL);
    const char *name = surg_value_name(v);
    const surg_tensor *t = surg_value_initializer(v);
    need_type(x, surg_value_declared_type(v), n, name);
    need_type(x, surg_value_type(v), n, name);
    if (t) need_dtype(x, surg_tensor_dtype(t), NULL, name);
    if (surg_value_is_initializer(v) && !t) raise(x, 5, NULL, "the sparse initializer", name);
    if (surg_value_is_pinned(v)) raise(x, 7, NULL, "training information, of", name);
  }
}

static void need_graph(need *x, const surg_graph *g) {
  need_values(x, g);
  for (surg_node *n = surg_graph_first_node(g); n; n = surg_node_next(n)) {
    if (*surg_node_overload(n)) raise(x, 10, n, "the overload", surg_node_overload(n));
    for (size_t i = 0; i < surg_node_attr_count(n); i++) need_attr(x, surg_node_attr_at(n, i), n);
  }
}

static void need_model(need *x, const surg_model *m) {
  /* Before version 3 a model had one opset and could not name another. */
  for (size_t i = 0; i < surg_model_import_count(m); i++) {
    const char *domain = surg_model_import_domain(m, i);
    bool first = (!*domain || strcmp(domain, "ai.onnx") == 0) && surg_model_opset(m, domain) == 1;
    if (!first) raise(x, 3, NULL, "the opset import of domain", domain);
  }
  for (size_t i = 0; i < surg_model_function_count(m); i++) {
    const surg_function *f = surg_model_function(m, i);
    raise(x, 8, NULL, "the function", surg_function_name(f));
    if (surg_function_attr_count(f) &&
        surg_function_attr_default(f, surg_function_attr_count(f) - 1))
      raise(x, 9, NULL, "attribute defaults, of function", surg_function_name(f));
    if (*surg_function_overload(f)) raise(x, 10, NULL, "an overload of", surg_function_name(f));
  }
  for (surg_graph *g = surg_model_next_graph(m, NULL); g; g = surg_model_next_graph(m, g))
    need_graph(x, g);
}

int64_t surg_model_ir_floor(surg_model *m, const surg_node **where, char *what, size_t size) {
  need x = {.version = 1, .what = what, .size = what ? size : 0};
  if (!m) return 0;
  if (x.size) *what = 0;
  need_model(&x, m);
  if (where) *where = x.node;
  return x.version;
}
