/* SPDX-License-Identifier: Apache-2.0 */
/* Combining a declared type with an inferred one, and removing value_info entries. */
#include "ir/refine.h"

#include "ir/edit.h"

#define MAX_NESTING 64 /* of types; the parts nested deeper stay as declared */

static bool known(const surg_type *t) {
  return t && t->kind != SURG_TYPE_UNKNOWN;
}

static bool is_tensor(const surg_type *t) {
  return t->kind == SURG_TYPE_TENSOR || t->kind == SURG_TYPE_SPARSE_TENSOR;
}

/* The more specific of two dims. Two symbols can denote the same number: the declared one is
 * kept. */
static surg_dim refine_dim(surg_dim a, surg_dim proven, bool *contradicts) {
  if (a.value >= 0) {
    if (proven.value >= 0 && proven.value != a.value) {
      *contradicts = true;
      return proven;
    }
    return a;
  }
  if (proven.value >= 0 || !a.param) return proven;
  return a;
}

static bool same_dim(surg_dim a, surg_dim b) {
  return a.value == b.value && a.param == b.param;
}

/* Copies `a` with other dims. Negative dim values of the file are not copied. */
static const surg_type *with_dims(surg_model *m, const surg_type *a, const surg_type *ranked,
                                  const surg_dim *dims) {
  assert(ranked->has_rank && (ranked->rank == 0 || dims));
  surg_type *t = surg__type_new(m, a->kind);
  surg_dim *copy = t ? surg__copy(m, dims, ranked->rank, sizeof *copy) : NULL;
  if (!copy) return NULL;
  t->dtype = a->dtype ? a->dtype : ranked->dtype;
  t->has_rank = true;
  t->rank = ranked->rank;
  t->dims = copy;
  t->denotation = a->denotation;
  if (a->has_rank) t->dim_denotations = a->dim_denotations;
  return t;
}

/* Refines the dims of `a`, which has a rank; both types are of one kind and element type. */
static const surg_type *refine_dims(surg_model *m, const surg_type *a, const surg_type *proven,
                                    bool *contradicts) {
  const surg_type *p = proven && proven->has_rank ? proven : NULL;
  bool changed = false;
  if (p && p->rank != a->rank) {
    *contradicts = true;
    return proven;
  }
  for (uint32_t i = 0; i < a->rank && !changed; i++) {
    bool ignored = false;
    surg_dim d = p ? refine_dim(a->dims[i], p->dims[i], &ignored) : a->dims[i];
    changed = !same_dim(a->dims[i], d) || (a->raw_values && a->raw_values[i] < 0);
  }
  if (!changed) return a;
  surg_dim *dims = surg__array(m, a->rank, sizeof *dims);
  if (!dims) return NULL;
  for (uint32_t i = 0; i < a->rank; i++)
    dims[i] = p ? refine_dim(a->dims[i], p->dims[i], contradicts) : a->dims[i];
  return with_dims(m, a, a, dims);
}

static const surg_type *refine(surg_model *m, const surg_type *a, const surg_type *p,
                               bool *contradicts, unsigned depth);

static const surg_type *refine_elem(surg_model *m, const surg_type *a, const surg_type *p,
                                    bool *contradicts, unsigned depth) {
  bool wrapper = a->kind == SURG_TYPE_SEQUENCE || a->kind == SURG_TYPE_OPTIONAL;
  if (!wrapper || depth == MAX_NESTING) return a;
  const surg_type *elem = refine(m, a->elem, p ? p->elem : NULL, contradicts, depth + 1);
  if (elem == a->elem) return a;
  surg_type *t = elem ? surg__type_new(m, a->kind) : NULL;
  if (!t) return NULL;
  t->elem = elem;
  t->denotation = a->denotation;
  return t;
}

static const surg_type *refine(surg_model *m, const surg_type *a, const surg_type *p,
                               bool *contradicts, unsigned depth) {
  assert(depth <= MAX_NESTING);
  if (!known(a)) return known(p) ? p : a;
  if (!known(p)) p = NULL;
  if (is_tensor(a) && !a->dtype && p) return p; /* without element type it declares nothing */
  bool other = p && (p->kind != a->kind || (a->dtype && p->dtype && a->dtype != p->dtype));
  if (other) {
    *contradicts = true;
    return p;
  }
  if (!is_tensor(a)) return refine_elem(m, a, p, contradicts, depth);
  if (a->has_rank) return refine_dims(m, a, p, contradicts);
  return p && p->has_rank ? with_dims(m, a, p, p->dims) : a;
}

const surg_type *surg_type_refine(surg_model *m, const surg_type *declared, const surg_type *proven,
                                  bool *contradicts) {
  bool ignored = false;
  if (!contradicts) contradicts = &ignored;
  *contradicts = false;
  if (!surg__model_ok(m)) return NULL;
  if ((declared && declared->model != m) || (proven && proven->model != m)) return NULL;
  return refine(m, declared, proven, contradicts, 0);
}

bool surg_value_has_info(const surg_value *v) {
  return surg__value_ok(v) && v->in_value_info;
}

surg_status surg_value_drop_info(surg_value *v) {
  surg_status s = surg__value_ready(v);
  if (s != SURG_OK) return s;
  if (!v->in_value_info) return SURG_ENOTFOUND;
  v->decl = (surg__decl){.dirty = true};
  v->in_value_info = false;
  surg__touch_graph(v->graph);
  return SURG_OK;
}

bool surg__describes_outer(const surg_model *m) {
  for (const surg_graph *g = surg_model_next_graph(m, NULL); g; g = surg_model_next_graph(m, g))
    if (g->strays && g->kind == SURG_GRAPH_SUBGRAPH) return true;
  return false;
}

/* Whether a value_info entry of a subgraph describes an outer value as what it cannot be. */
static bool is_outdated(surg_graph *g, const surg__stray *s) {
  const surg_value *v = s->dropped || !s->type ? NULL : surg_graph_lookup_value(g, s->name);
  bool contradicts = false;
  if (!v || v->graph == g) return false;
  surg_type_refine(g->model, s->type, surg_value_type(v), &contradicts);
  return contradicts;
}

void surg__drop_outdated(surg_model *m) {
  for (surg_graph *g = surg_model_next_graph(m, NULL); g; g = surg_model_next_graph(m, g)) {
    if (g->kind != SURG_GRAPH_SUBGRAPH) continue;
    bool dropped = false;
    for (surg__stray *s = g->strays; s; s = s->next) {
      if (!is_outdated(g, s)) continue;
      s->dropped = dropped = true;
    }
    if (dropped) surg__touch_graph(g);
  }
}
