/* SPDX-License-Identifier: Apache-2.0 */
/* Names that a lenient load finds defined twice, or undefined. A graph has at most one value per
 * name, so each further definition (a twin) is an unnamed value while the file is read. A reader
 * refers to the last definition before it, as in a sequential program. */
#include "io/load/load.h"

typedef struct surg__twin {
  const surg_value *first; /* the key */
  const char *name;
  uint32_t count;
  surg_value *last[SURG_LIMIT_TWINS]; /* in file order; readers cannot refer to definitions
                                       * beyond the limit */
  UT_hash_handle hh;
} surg__twin;

static surg__twin *find(const surg__loader *L, const surg_value *first) {
  SURG_HASH_LOCALS(L->ctx);
  surg__twin *t;
  HASH_FIND_PTR(L->twins, &first, t);
  return t;
}

surg_value *surg__load_twin(surg__loader *L, surg_value *first) {
  SURG_HASH_LOCALS(L->ctx);
  surg__twin *t = find(L, first);
  surg_value *v = surg__value_new(first->graph, L->m->none);
  if (!t && v && (t = surg__arena_zalloc(&L->m->arena, sizeof *t))) {
    t->first = first;
    t->name = first->name;
    HASH_ADD_PTR(L->twins, first, t);
    if (surg__hash_failed) t = NULL;
  }
  if (!t) {
    surg__load_oom(L);
    return NULL;
  }
  if (t->count < SURG_LIMIT_TWINS) t->last[t->count++] = v;
  return v;
}

surg_value *surg__load_meant(surg__loader *L, surg_value *v, const surg_node *reader) {
  const surg__twin *t = find(L, v);
  const surg_node *best = v->producer;
  bool fits = !best || !reader || best->order < reader->order;
  for (uint32_t i = 0; t && i < t->count; i++) {
    const surg_node *n = t->last[i]->producer;
    if (n && reader && n->order >= reader->order) continue;
    if (fits && best && (!n || n->order < best->order)) continue;
    v = t->last[i];
    best = n;
    fits = true;
  }
  return v;
}

surg_value *surg__load_undefined(surg__loader *L, surg_graph *g, const char *name) {
  while (g->parent_node) g = g->parent_node->graph;
  surg_value *v = surg__value_new(g, name);
  if (v)
    v->undefined = true;
  else
    surg__load_oom(L);
  return v;
}

/* Whether every definition has a reader, which suggests that sequential order was intended. */
static bool all_read(const surg__twin *t) {
  bool read = t->first->uses != NULL && t->count < SURG_LIMIT_TWINS;
  for (uint32_t i = 0; read && i < t->count; i++)
    read = t->last[i]->uses && t->last[i]->producer;
  return read;
}

/* Gives the name to the twin that is a graph output, and the new name to the first definition:
 * output names are part of the interface. */
static bool keep_output_name(surg__twin *t) {
  surg_value *first = (surg_value *)(uintptr_t)t->first;
  if (surg_value_is_output(first)) return true;
  for (uint32_t i = 0; i < t->count; i++) {
    surg_value *v = t->last[i];
    const char *other = v->name;
    if (!surg_value_is_output(v)) continue;
    return surg__relabel_read(v, v->graph->model->none) && surg__relabel_read(first, other) &&
           surg__relabel_read(v, t->name);
  }
  return true;
}

bool surg__load_name_twins(surg__loader *L) {
  SURG_HASH_LOCALS(L->ctx);
  for (surg__twin *t = L->twins; t; t = t->hh.next) {
    const bool certain = all_read(t);
    for (uint32_t i = 0; i < t->count; i++) {
      const char *name = surg_graph_fresh_name(t->last[i]->graph, t->name);
      if (!name || !surg__relabel_read(t->last[i], name)) return surg__load_oom(L);
    }
    if (!keep_output_name(t)) return surg__load_oom(L);
    for (uint32_t i = 0; certain && i < t->count; i++) t->last[i]->scratch = t;
  }
  for (size_t i = 0; i < L->m->defects.count; i++) {
    surg__defect *d = &L->m->defects.items[i];
    if (d->value && d->value->scratch) d->reading = SURG_READING_CERTAIN;
  }
  for (surg__twin *t = L->twins; t; t = t->hh.next)
    for (uint32_t i = 0; i < t->count; i++) t->last[i]->scratch = NULL;
  return true;
}

void surg__load_free_twins(surg__loader *L) {
  SURG_HASH_LOCALS(L->ctx);
  HASH_CLEAR(hh, L->twins);
}
