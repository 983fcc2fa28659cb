/* SPDX-License-Identifier: Apache-2.0 */
/* Attributes: reading, with the defaults of the schema. */
#include "schema/schema.h"

#include "ir/edit.h"

surg_attr *surg__attr_find(const surg_node *n, const char *name, uint32_t *index) {
  for (uint32_t i = 0; i < n->n_attr; i++) {
    if (strcmp(n->attrs[i]->name, name) != 0) continue;
    if (index) *index = i;
    return n->attrs[i];
  }
  return NULL;
}

size_t surg_node_attr_count(const surg_node *n) {
  return surg__node_ok(n) ? n->n_attr : 0;
}

const surg_attr *surg_node_attr_at(const surg_node *n, size_t i) {
  return surg__node_ok(n) && i < n->n_attr ? n->attrs[i] : NULL;
}

const surg_attr *surg_node_attr(const surg_node *n, const char *name) {
  return surg__node_ok(n) && name ? surg__attr_find(n, name, NULL) : NULL;
}

const char *surg_attr_name(const surg_attr *a) {
  return a ? a->name : NULL;
}

surg_attr_kind surg_attr_get_kind(const surg_attr *a) {
  return a ? a->kind : SURG_ATTR_UNDEFINED;
}

const char *surg_attr_ref(const surg_attr *a) {
  return a && a->ref && a->ref[0] ? a->ref : NULL;
}

/* Whether the attribute has a value of this kind; a reference to an attribute has none. */
static bool holds(const surg_attr *a, surg_attr_kind kind) {
  return a && a->kind == kind && !surg_attr_ref(a);
}

int64_t surg_attr_int(const surg_attr *a) {
  return holds(a, SURG_ATTR_INT) ? a->u.i : 0;
}

float surg_attr_float(const surg_attr *a) {
  return holds(a, SURG_ATTR_FLOAT) ? a->u.f : 0.0f;
}

surg_str surg_attr_string(const surg_attr *a) {
  return holds(a, SURG_ATTR_STRING) ? a->u.s : (surg_str){NULL, 0};
}

const int64_t *surg_attr_ints(const surg_attr *a, size_t *count) {
  bool has = holds(a, SURG_ATTR_INTS);
  if (count) *count = has ? a->count : 0;
  return has ? a->u.ints : NULL;
}

const float *surg_attr_floats(const surg_attr *a, size_t *count) {
  bool has = holds(a, SURG_ATTR_FLOATS);
  if (count) *count = has ? a->count : 0;
  return has ? a->u.floats : NULL;
}

const surg_str *surg_attr_strings(const surg_attr *a, size_t *count) {
  bool has = holds(a, SURG_ATTR_STRINGS);
  if (count) *count = has ? a->count : 0;
  return has ? a->u.strings : NULL;
}

surg_tensor *surg_attr_tensor(const surg_attr *a, size_t i) {
  if (!holds(a, SURG_ATTR_TENSOR) && !holds(a, SURG_ATTR_TENSORS)) return NULL;
  surg_tensor *t = i < a->count ? a->u.tensors[i] : NULL;
  return t && t->view != SURG__VIEW_SPARSE ? t : NULL;
}

surg_graph *surg_attr_graph(const surg_attr *a, size_t i) {
  return a && surg__attr_has_graphs(a) && i < a->count ? a->u.graphs[i] : NULL;
}

const surg_type *surg_attr_type(const surg_attr *a, size_t i) {
  if (!holds(a, SURG_ATTR_TYPE_PROTO) && !holds(a, SURG_ATTR_TYPE_PROTOS)) return NULL;
  return i < a->count ? a->u.types[i] : NULL;
}

/* --- values with defaults --- */

/* The schema's definition of the attribute if it has a default of this kind, which applies when the
 * node does not set the attribute; else NULL. */
static const surg__attr_def *default_of(const surg_node *n, const char *name,
                                        surg_attr_kind kind) {
  const surg_schema *s = surg_node_schema(n);
  const surg__attr_def *d = s ? surg__schema_attr(s, name) : NULL;
  return d && d->has_default && d->kind == kind ? d : NULL;
}

int64_t surg_node_int(const surg_node *n, const char *name, int64_t fallback) {
  if (!surg__node_ok(n) || !name) return fallback;
  const surg_attr *a = surg__attr_find(n, name, NULL);
  if (a) return holds(a, SURG_ATTR_INT) ? a->u.i : fallback;
  const surg__attr_def *d = default_of(n, name, SURG_ATTR_INT);
  return d ? d->i : fallback;
}

float surg_node_float(const surg_node *n, const char *name, float fallback) {
  if (!surg__node_ok(n) || !name) return fallback;
  const surg_attr *a = surg__attr_find(n, name, NULL);
  if (a) return holds(a, SURG_ATTR_FLOAT) ? a->u.f : fallback;
  const surg__attr_def *d = default_of(n, name, SURG_ATTR_FLOAT);
  return d ? d->f : fallback;
}

static surg_str str_of(const char *s) {
  return (surg_str){s, s ? strlen(s) : 0};
}

surg_str surg_node_string(const surg_node *n, const char *name, const char *fallback) {
  if (!surg__node_ok(n) || !name) return str_of(fallback);
  const surg_attr *a = surg__attr_find(n, name, NULL);
  if (a) return holds(a, SURG_ATTR_STRING) ? a->u.s : str_of(fallback);
  const surg__attr_def *d = default_of(n, name, SURG_ATTR_STRING);
  return str_of(d && d->s ? d->s : fallback);
}

const int64_t *surg_node_ints(const surg_node *n, const char *name, size_t *count) {
  if (count) *count = 0;
  if (!surg__node_ok(n) || !name) return NULL;
  const surg_attr *a = surg__attr_find(n, name, NULL);
  if (a) return surg_attr_ints(a, count);
  const surg__attr_def *d = default_of(n, name, SURG_ATTR_INTS);
  if (d && count) *count = d->n;
  return d ? d->ints : NULL;
}
