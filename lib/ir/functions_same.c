/* SPDX-License-Identifier: Apache-2.0 */
/* Whether functions of two models are the same, so that one can serve the calls of both. */
#include "ir/edit.h"

static bool same_text(const char *a, const char *b) {
  return strcmp(a ? a : "", b ? b : "") == 0;
}

static bool same_name(const surg_value *a, const surg_value *b) {
  return a && b ? strcmp(a->name, b->name) == 0 : a == b;
}

static bool same_str(surg_str a, surg_str b) {
  return a.n == b.n && (!a.n || memcmp(a.p, b.p, a.n) == 0);
}

static bool same_tensors(const surg_attr *a, const surg_attr *b) {
  for (uint32_t i = 0; i < a->count; i++) {
    bool same = false;
    if (surg_tensor_same(a->u.tensors[i], b->u.tensors[i], &same) != SURG_OK || !same) return false;
  }
  return true;
}

static bool same_graph(const surg_graph *a, const surg_graph *b);

static bool same_attr(const surg_attr *a, const surg_attr *b) {
  if (!same_text(a->name, b->name) || !same_text(a->ref, b->ref) || a->kind != b->kind ||
      a->count != b->count)
    return false;
  if (a->ref) return true;
  switch (a->kind) {
    case SURG_ATTR_INT:
      return a->u.i == b->u.i;
    case SURG_ATTR_FLOAT:
      return memcmp(&a->u.f, &b->u.f, sizeof a->u.f) == 0;
    case SURG_ATTR_STRING:
      return same_str(a->u.s, b->u.s);
    case SURG_ATTR_INTS:
      return !a->count || memcmp(a->u.ints, b->u.ints, a->count * sizeof *a->u.ints) == 0;
    case SURG_ATTR_FLOATS:
      return !a->count || memcmp(a->u.floats, b->u.floats, a->count * sizeof *a->u.floats) == 0;
    case SURG_ATTR_STRINGS:
      for (uint32_t i = 0; i < a->count; i++)
        if (!same_str(a->u.strings[i], b->u.strings[i])) return false;
      return true;
    case SURG_ATTR_TENSOR:
    case SURG_ATTR_TENSORS:
      return same_tensors(a, b);
    case SURG_ATTR_GRAPH:
    case SURG_ATTR_GRAPHS:
      for (uint32_t i = 0; i < a->count; i++)
        if (!a->u.graphs[i] || !b->u.graphs[i] || !same_graph(a->u.graphs[i], b->u.graphs[i]))
          return false;
      return true;
    default: /* sparse tensors and types: not decided */
      return false;
  }
}

static bool same_node(const surg_node *a, const surg_node *b) {
  if (!same_text(a->op_type, b->op_type) || !same_text(a->domain, b->domain) ||
      !same_text(a->overload, b->overload) || !same_text(a->name, b->name) || a->n_in != b->n_in ||
      a->n_out != b->n_out || a->n_attr != b->n_attr)
    return false;
  for (uint32_t i = 0; i < a->n_in; i++)
    if (!same_name(a->in[i].value, b->in[i].value)) return false;
  for (uint32_t i = 0; i < a->n_out; i++)
    if (!same_name(a->out[i], b->out[i])) return false;
  for (uint32_t i = 0; i < a->n_attr; i++)
    if (!same_attr(a->attrs[i], b->attrs[i])) return false;
  return true;
}

static bool same_initializers(const surg_graph *a, const surg_graph *b) {
  const surg_value *x = a->first_init, *y = b->first_init;
  for (; x && y; x = x->init_next, y = y->init_next) {
    bool same = false;
    if (!same_name(x, y) || surg_tensor_same(x->tensor, y->tensor, &same) != SURG_OK || !same)
      return false;
  }
  return x == y;
}

/* The recursion is as deep as graphs are nested, which the loader bounds. */
static bool same_graph(const surg_graph *a, const surg_graph *b) {
  if (a->n_in != b->n_in || a->n_out != b->n_out || !same_initializers(a, b)) return false;
  for (size_t i = 0; i < a->n_in; i++)
    if (!same_name(a->in[i], b->in[i])) return false;
  for (size_t i = 0; i < a->n_out; i++)
    if (!same_name(a->out[i]->use.value, b->out[i]->use.value)) return false;
  const surg_node *x = a->first, *y = b->first;
  for (; x && y; x = x->next, y = y->next)
    if (!same_node(x, y)) return false;
  return x == y;
}

bool surg__function_same(const surg_function *a, const surg_function *b) {
  if (a->attrs.count != b->attrs.count || a->defaults.count != b->defaults.count ||
      a->imports.count != b->imports.count || !same_text(a->overload, b->overload))
    return false;
  for (size_t i = 0; i < a->attrs.count; i++)
    if (!same_text(a->attrs.items[i], b->attrs.items[i])) return false;
  for (size_t i = 0; i < a->defaults.count; i++)
    if (!same_attr(a->defaults.items[i], b->defaults.items[i])) return false;
  for (size_t i = 0; i < a->imports.count; i++)
    if (!same_text(a->imports.items[i].domain, b->imports.items[i].domain) ||
        a->imports.items[i].version != b->imports.items[i].version)
      return false;
  return same_graph(a->body, b->body);
}
