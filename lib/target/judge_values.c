/* SPDX-License-Identifier: Apache-2.0 */
/* Constant nodes of an engine that makes initializers of them before it looks at their operator
 * (key `lax_attributes`): the first attribute is the value, whatever its name, its kind and the
 * opset; a value whose elements are stored twice is read once. Where the engine has the nodes of
 * subgraphs or functions checked all the same, the target lists the findings (`checked_bodies`,
 * `checked_functions`). */
#include <string.h>

#include "base/base.h"
#include "ir/ir.h"
#include "target/judge.h"
#include "target/verdict.h"

/* The attribute of a Constant for a value of this kind; NULL: there is none. */
static const char *value_name(surg_attr_kind kind) {
  switch (kind) {
    case SURG_ATTR_TENSOR: return "value";
    case SURG_ATTR_SPARSE_TENSOR: return "sparse_value";
    case SURG_ATTR_FLOAT: return "value_float";
    case SURG_ATTR_FLOATS: return "value_floats";
    case SURG_ATTR_INT: return "value_int";
    case SURG_ATTR_INTS: return "value_ints";
    case SURG_ATTR_STRING: return "value_string";
    case SURG_ATTR_STRINGS: return "value_strings";
    default: return NULL;
  }
}

static bool is(const surg__defect *d, const char *code) {
  return strcmp(d->code, code) == 0;
}

/* Whether the attribute has the name that a Constant of some version uses for its kind. */
static bool is_named(const surg_attr *a) {
  const char *name = value_name(a->kind);
  return name && strcmp(a->name, name) == 0;
}

static size_t named_values(const surg_node *n) {
  size_t count = 0;
  for (uint32_t i = 0; i < n->n_attr; i++) count += is_named(n->attrs[i]);
  return count;
}

/* Whether the engine infers the type of a Constant of a function from the first attribute, too, or
 * does without inference. */
static bool is_inferred_alike(const surg__target *t, const surg_node *n) {
  const surg_attr *first = n->attrs[0];
  if (is_named(first)) return named_values(n) == 1;
  return named_values(n) == 0 && strcmp(first->name, "value") != 0 &&
         !surg__judge_rejects_inside(t, "E126", n->graph);
}

bool surg__judge_made_value(const surg__target *t, const surg__defect *d) {
  const surg_node *n = d->node;
  if (!n || n->erased || !surg__judge_is_constant(n) || !n->n_attr) return false;
  const surg_attr *first = n->attrs[0];
  const bool twice = is(d, "E137") && d->tensor && d->tensor->defective;
  const bool odd = is(d, "E105") || is(d, "E116") || is(d, "E118") || is(d, "E126");
  if ((!twice && !odd) || first->ref || !value_name(first->kind)) return false;
  if (n->graph->kind == SURG_GRAPH_MAIN) return true;
  if (surg__judge_rejects_inside(t, d->code, n->graph)) return false;
  return twice || !surg_graph_function(n->graph) || is_inferred_alike(t, n);
}

bool surg__judge_make_value(surg__defect *d) {
  surg_node *n = d->node;
  surg_model *m = n->graph->model;
  surg_attr *a = n->attrs[0];
  const char *name = surg__intern(m, value_name(a->kind), strlen(value_name(a->kind)));
  if (!name) return false;
  a->name = name;
  for (uint32_t i = 0; a->kind == SURG_ATTR_TENSOR && i < a->count; i++) {
    surg_tensor *whole = surg__arena_zalloc(&m->arena, sizeof *whole);
    if (!whole) return false;
    *whole = *a->u.tensors[i];
    a->u.tensors[i] = whole; /* cures what is found about the other one */
  }
  n->n_attr = 1;
  n->attrs_dirty = true;
  surg__touch_node(n);
  return true;
}
