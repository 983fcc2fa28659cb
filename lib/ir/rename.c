/* SPDX-License-Identifier: Apache-2.0 */
/* Renames many values at once, so that names can be swapped and shadowed names stay shadowed. */
#include <stdlib.h>

#include "ir/edit.h"

typedef struct entry {
  surg_value *v;
  const char *old, *name; /* interned */
} entry;

typedef struct renaming {
  entry *list;
  uintptr_t *names; /* addresses of the new names, in order */
  size_t n;
} renaming;

static const char *old_name(const surg_value *v) {
  return v->work ? ((const entry *)v->work)->old : v->name;
}

/* Whether nothing in the graph of `inner`, nor below it, reads `outer`. */
static bool unread(const surg_value *outer, const surg_value *inner) {
  for (const surg_use *u = outer->uses; u; u = u->next)
    if (surg__graph_inside(surg_use_graph(u), inner->graph)) return false;
  return true;
}

/* Whether `inner`, of a graph inside that of `outer`, may have the same name: they shared one
 * before, or inner is an input of its graph, which ONNX permits to shadow what the graph does not
 * read. */
static bool may_share(const surg_value *outer, const surg_value *inner) {
  return old_name(outer) == old_name(inner) || (inner->input && unread(outer, inner));
}

static int by_address(const void *x, const void *y) {
  const uintptr_t a = *(const uintptr_t *)x, b = *(const uintptr_t *)y;
  return (a > b) - (a < b);
}

/* The number of new names with an address below this one. */
static size_t below(const renaming *r, uintptr_t address) {
  size_t low = 0, high = r->n;
  while (low < high) {
    const size_t mid = low + (high - low) / 2;
    if (r->names[mid] < address)
      low = mid + 1;
    else
      high = mid;
  }
  return low;
}

/* Whether all values of this name got it here. Then each of them looks at the scopes around it, and
 * none has to look for others below it, which takes as long as the model has graphs. */
static bool all_renamed(const renaming *r, const char *name) {
  const uintptr_t address = (uintptr_t)name;
  return below(r, address + 1) - below(r, address) == surg__name_of(name)->values;
}

/* Whether a scope sees v and another value of its name that may not share it. */
static bool clashes(const renaming *r, const surg_value *v) {
  uint32_t others = surg__name_of(v->name)->values - 1;
  for (const surg_graph *g = surg_graph_parent(v->graph); g && others; g = surg_graph_parent(g)) {
    const surg_value *w = surg__find_value(g, v->name);
    if (w && !may_share(w, v)) return true;
  }
  if (others && all_renamed(r, v->name)) return false;
  for (const surg_graph *h = v->graph->next; h && others; h = h->next) {
    const surg_value *w = surg__find_value(h, v->name);
    if (!w) continue;
    others--;
    if (surg__graph_inside(h, v->graph) && !may_share(v, w)) return true;
  }
  return false;
}

/* Sets the names of all entries; stops before one whose name its own graph has already. Returns
 * the number of names that were set. */
static size_t set_all(const renaming *r) {
  for (size_t i = 0; i < r->n; i++) surg__value_unindex(r->list[i].v);
  for (size_t i = 0; i < r->n; i++) {
    const entry *e = &r->list[i];
    if (surg__find_value(e->v->graph, e->name) || !surg__relabel(e->v, e->name)) return i;
  }
  return r->n;
}

static bool set_back(const renaming *r) {
  for (size_t i = 0; i < r->n; i++) surg__value_unindex(r->list[i].v);
  for (size_t i = 0; i < r->n; i++) {
    const entry *e = &r->list[i];
    if (e->v->name == e->old ? !surg__value_index(e->v) : !surg__relabel(e->v, e->old))
      return false;
  }
  return true;
}

/* Fills in the list: one entry for each value whose name changes, with the last name given. */
static surg_status read_list(surg_model *m, renaming *r, surg_value *const *values,
                             const char *const *names, size_t n, size_t *at) {
  for (size_t i = 0; i < n; i++) {
    surg_status s = values[i] && names[i] ? surg__value_ready(values[i]) : SURG_EUSAGE;
    *at = i;
    if (s == SURG_OK && (values[i]->graph->model != m || !names[i][0])) s = SURG_EUSAGE;
    const char *name = s == SURG_OK ? surg__intern_user(m, names[i], &s) : NULL;
    if (s != SURG_OK) return s;
    entry *e = values[i]->work;
    if (!e && name == values[i]->name) continue;
    if (!e && values[i]->pinned) return SURG_EINVALID;
    if (!e) {
      e = values[i]->work = &r->list[r->n++];
      *e = (entry){.v = values[i], .old = values[i]->name};
    }
    e->name = name;
  }
  return SURG_OK;
}

/* Renames all of the list or none; *clash is the value whose name is in use. */
static surg_status rename_list(const renaming *r, const surg_model *m, const surg_value **clash) {
  const size_t done = set_all(r);
  if (m->status != SURG_OK) return m->status;
  if (done < r->n) *clash = r->list[done].v;
  for (size_t i = 0; i < r->n; i++) r->names[i] = (uintptr_t)r->list[i].name;
  qsort(r->names, r->n, sizeof *r->names, by_address);
  for (size_t i = 0; i < r->n && !*clash; i++)
    if (clashes(r, r->list[i].v)) *clash = r->list[i].v;
  if (!*clash) return SURG_OK;
  return set_back(r) ? SURG_EINVALID : m->status;
}

static size_t index_of(const surg_value *v, surg_value *const *values, size_t n) {
  size_t i = 0;
  while (i + 1 < n && values[i] != v) i++;
  return i;
}

surg_status surg_model_rename_values(surg_model *m, surg_value *const *values,
                                     const char *const *names, size_t n, size_t *failed) {
  size_t at = 0;
  surg_status s = m ? surg__model_ready(m) : SURG_EUSAGE;
  if (s != SURG_OK || n == 0) return s;
  if (!values || !names) return SURG_EUSAGE;
  const surg_value *clash = NULL;
  renaming r = {.list = surg__calloc(m->ctx, n, sizeof *r.list),
                .names = surg__calloc(m->ctx, n, sizeof *r.names)};
  s = r.list && r.names ? read_list(m, &r, values, names, n, &at)
                        : surg__oom(m->ctx, surg_model_path(m));
  if (s == SURG_OK) s = rename_list(&r, m, &clash);
  if (clash) at = index_of(clash, values, n);
  for (size_t i = 0; i < r.n; i++) r.list[i].v->work = NULL;
  surg__free(m->ctx, r.names);
  surg__free(m->ctx, r.list);
  if (failed && s != SURG_OK) *failed = at;
  return s;
}
