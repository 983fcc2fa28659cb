/* SPDX-License-Identifier: Apache-2.0 */
/* Engines that read an attribute from the first of its fields that has a value, in an order of
 * their own (key `attribute_order`), and not by its type: OpenCV. Some attributes are always read
 * as lists (`list_attributes`). A number of another kind than the operator expects is converted, if
 * nothing is lost. */
#include <math.h>
#include <string.h>

#include "ir/ir.h"
#include "target/judge.h"

/* Fields of AttributeProto, by number, and the kinds of attribute that have their value there. */
static const struct {
  const char *name;
  unsigned number;
  surg_attr_kind kind;
} fields[] = {{"f", 2, SURG_ATTR_FLOAT},          {"i", 3, SURG_ATTR_INT},
              {"s", 4, SURG_ATTR_STRING},         {"t", 5, SURG_ATTR_TENSOR},
              {"g", 6, SURG_ATTR_GRAPH},          {"floats", 7, SURG_ATTR_FLOATS},
              {"ints", 8, SURG_ATTR_INTS},        {"strings", 9, SURG_ATTR_STRINGS},
              {"tensors", 10, SURG_ATTR_TENSORS}, {"graphs", 11, SURG_ATTR_GRAPHS}};

static bool has_field(const surg_attr *a, size_t i) {
  return a->fields >> fields[i].number & 1;
}

bool surg__judge_is_field(const char *name) {
  for (size_t i = 0; i < SURG_COUNT(fields); i++)
    if (!strcmp(fields[i].name, name)) return true;
  return false;
}

/* The kind of the value that the engine reads; UNDEFINED: none. */
static surg_attr_kind read_kind(const surg__target *t, const surg_attr *a) {
  if (surg__listed(&t->list_attributes, a->name))
    return has_field(a, 6) ? SURG_ATTR_INTS : SURG_ATTR_UNDEFINED;
  for (size_t k = 0; k < t->attribute_order.n; k++)
    for (size_t i = 0; i < SURG_COUNT(fields); i++)
      if (!strcmp(fields[i].name, t->attribute_order.items[k]) && has_field(a, i))
        return fields[i].kind;
  return SURG_ATTR_UNDEFINED;
}

bool surg__judge_reads_field(const surg__target *t, const surg__defect *d) {
  const surg_attr *a = d->attr;
  return t->attribute_order.n && a && a->kind != SURG_ATTR_UNDEFINED && !strcmp(d->code, "E117") &&
         d->kind == SURG__DEFECT_OTHER && read_kind(t, a) == a->kind;
}

bool surg__judge_has_own_field(const surg__defect *d) {
  const surg_attr *a = d->attr;
  if (!a || a->untyped || d->kind != SURG__DEFECT_OTHER) return false;
  for (size_t i = 0; i < SURG_COUNT(fields); i++)
    if (fields[i].kind == a->kind) return has_field(a, i);
  return false;
}

/* --- other kinds --- */

/* The value as one number; false: it is none, or several. */
static bool number_of(const surg_attr *a, double *out) {
  if (a->kind != SURG_ATTR_INT && a->kind != SURG_ATTR_FLOAT && a->count != 1) return false;
  switch (a->kind) {
    case SURG_ATTR_INT:
      *out = (double)a->u.i;
      return true;
    case SURG_ATTR_FLOAT:
      *out = (double)a->u.f;
      return true;
    case SURG_ATTR_INTS:
      *out = (double)a->u.ints[0];
      return true;
    case SURG_ATTR_FLOATS:
      *out = (double)a->u.floats[0];
      return true;
    default:
      return false;
  }
}

static surg_attr_kind expected_kind(const surg__defect *d) {
  const surg_node *n = d->node;
  const surg_schema *s = surg_schema_find(surg_node_domain(n), surg_node_op_type(n),
                                          surg_graph_opset(n->graph, surg_node_domain(n)));
  const surg__attr_def *def = s ? surg__schema_attr(s, d->attr->name) : NULL;
  return def ? def->kind : SURG_ATTR_UNDEFINED;
}

bool surg__judge_converts(const surg__target *t, const surg__defect *d) {
  double value;
  if (!t->attribute_order.n || !d->node || !d->attr || strcmp(d->code, "E116") != 0) return false;
  if (surg__listed(&t->list_attributes, d->attr->name) || !number_of(d->attr, &value)) return false;
  const surg_attr_kind to = expected_kind(d);
  const bool whole = value == floor(value) && fabs(value) < 1e9;
  return to == SURG_ATTR_FLOAT || to == SURG_ATTR_FLOATS ||
         ((to == SURG_ATTR_INT || to == SURG_ATTR_INTS) && whole);
}

/* Whether the engine reads a fraction, from another field, for integers. */
static bool reads_fraction(const surg__target *t, const surg__defect *d) {
  const surg_attr *a = d->attr;
  return (a->kind == SURG_ATTR_INT || a->kind == SURG_ATTR_INTS) &&
         read_kind(t, a) == SURG_ATTR_FLOAT && a->stray != floorf(a->stray);
}

bool surg__judge_refuses_kind(const surg__target *t, const surg__defect *d) {
  double value;
  if (!t->attribute_order.n || !d->node || !d->attr) return false;
  if (!strcmp(d->code, "E117") && d->kind == SURG__DEFECT_OTHER) return reads_fraction(t, d);
  if (strcmp(d->code, "E116") != 0) return false;
  const surg_attr *a = d->attr;
  const surg_attr_kind to = expected_kind(d);
  if (surg__listed(&t->list_attributes, a->name)) return !has_field(a, 6);
  const bool list = (a->kind == SURG_ATTR_INTS || a->kind == SURG_ATTR_FLOATS) && a->count != 1;
  const bool whole = !number_of(a, &value) || value == floor(value);
  return ((to == SURG_ATTR_INT || to == SURG_ATTR_FLOAT) && list) ||
         (to == SURG_ATTR_INT && !whole);
}

bool surg__judge_convert(surg__defect *d) {
  double value = 0;
  surg_node *n = d->node;
  const char *name = d->attr->name;
  const surg_attr_kind to = expected_kind(d);
  if (!number_of(d->attr, &value) || surg_node_remove_attr(n, name) != SURG_OK) return false;
  const int64_t i = fabs(value) < 1e9 ? (int64_t)value : 0; /* as converts() requires */
  const float f = (float)value;
  switch (to) {
    case SURG_ATTR_INT:
      return surg_node_set_int(n, name, i) == SURG_OK;
    case SURG_ATTR_INTS:
      return surg_node_set_ints(n, name, &i, 1) == SURG_OK;
    case SURG_ATTR_FLOAT:
      return surg_node_set_float(n, name, f) == SURG_OK;
    default:
      return surg_node_set_floats(n, name, &f, 1) == SURG_OK;
  }
}
