/* SPDX-License-Identifier: Apache-2.0 */
/* Names: interning, the name tables of graphs, fresh names and labels. */
#include <stdio.h>

#include "ir/edit.h"

#define STEM_MAX 200 /* bytes of a stem that a fresh name contains */

/* The slot of the name, or the free slot for it. The table must not be empty. */
static struct surg__name_slot *slot_of(const surg__names *t, const char *s, size_t n,
                                       uint32_t hash) {
  assert(t->count < t->size && (t->size & (t->size - 1)) == 0); /* a free slot ends the search */
  const size_t mask = t->size - 1;
  for (size_t i = hash & mask;; i = (i + 1) & mask) {
    struct surg__name_slot *slot = &t->slots[i];
    if (!slot->name) return slot;
    if (slot->hash == hash && slot->name->len == n && memcmp(slot->name->s, s, n) == 0) return slot;
  }
}

static surg__name *find_name(const surg_model *m, const char *s, size_t n) {
  if (!m->names.size) return NULL;
  return slot_of(&m->names, s, n, (uint32_t)surg__hash(m->ctx, s, n))->name;
}

const char *surg__interned(const surg_model *m, const char *s, size_t n) {
  const surg__name *name = n > UINT32_MAX ? NULL : find_name(m, s, n);
  return name ? name->s : NULL;
}

/* Makes room for one more name: at most two thirds of the slots are used. */
static bool names_reserve(surg_model *m) {
  surg__names *t = &m->names;
  if (t->count < t->size / 3 * 2) return true;
  surg__names grown = {.size = t->size ? 2 * t->size : 64, .count = t->count};
  grown.slots = surg__calloc(m->ctx, grown.size, sizeof *grown.slots);
  if (!grown.slots) {
    surg__failed(m);
    return false;
  }
  const size_t mask = grown.size - 1;
  for (size_t k = 0; k < t->size; k++) {
    if (!t->slots[k].name) continue;
    size_t i = t->slots[k].hash & mask;
    while (grown.slots[i].name) i = (i + 1) & mask;
    grown.slots[i] = t->slots[k];
  }
  surg__free(m->ctx, t->slots);
  *t = grown;
  return true;
}

/* Adds a string that is not in the table yet. */
static const char *add_name(surg_model *m, const char *s, size_t n) {
  if (m->status != SURG_OK) return NULL;
  size_t size;
  if (n > UINT32_MAX || !surg__add(offsetof(surg__name, s) + 1, n, &size)) {
    surg__fail(m, surg__error(m->ctx, SURG_ELIMIT, surg_model_path(m), "a name is too long"));
    return NULL;
  }
  surg__name *name = names_reserve(m) ? surg__zalloc(m, size) : NULL;
  if (!name) return NULL;
  name->len = (uint32_t)n;
  if (n) memcpy(name->s, s, n);
  name->s[n] = 0;
  const uint32_t hash = (uint32_t)surg__hash(m->ctx, s, n);
  *slot_of(&m->names, s, n, hash) = (struct surg__name_slot){name, hash};
  m->names.count++;
  return name->s;
}

const char *surg__intern(surg_model *m, const char *s, size_t n) {
  if (m->status != SURG_OK) return NULL;
  if (n == 0) return m->none ? m->none : (m->none = add_name(m, "", 0));
  surg__name *name = n > UINT32_MAX ? NULL : find_name(m, s, n);
  return name ? name->s : add_name(m, s, n);
}

const char *surg__intern_user(surg_model *m, const char *text, surg_status *s) {
  size_t n = strlen(text);
  if (!surg__utf8_valid((const uint8_t *)text, n)) {
    *s = surg__error(m->ctx, SURG_EUSAGE, surg_model_path(m), "name %s is not UTF-8",
                     surg__q(m->ctx, text));
    return NULL;
  }
  const char *name = surg__intern(m, text, n);
  *s = name ? SURG_OK : m->status;
  return name;
}

/* The length of a stem, cut to STEM_MAX bytes but not inside a UTF-8 sequence. */
static size_t stem_length(const char *stem) {
  size_t n = strnlen(stem, STEM_MAX + 1);
  if (n <= STEM_MAX) return n;
  n = STEM_MAX;
  while (n && ((uint8_t)stem[n] & 0xC0) == 0x80) n--;
  return n;
}

/* Returns a name that was never interned. So it also differs from names of nodes, of erased objects
 * and of value_info entries without a value. */
const char *surg__fresh(surg_model *m, const char *stem) {
  size_t n = stem_length(stem);
  if (n && !find_name(m, stem, n)) return add_name(m, stem, n);
  char text[STEM_MAX + 32];
  if (n) memcpy(text, stem, n);
  for (;;) {
    int digits =
        snprintf(text + n, sizeof text - n, n ? "_%llu" : "v%llu", (unsigned long long)m->fresh++);
    assert(digits > 0);
    size_t total = n + (size_t)digits;
    assert(total < sizeof text);
    if (!find_name(m, text, total)) return add_name(m, text, total);
  }
}

const char *surg_graph_fresh_name(surg_graph *g, const char *stem) {
  if (!surg__graph_ok(g)) return NULL;
  if (!stem) stem = "";
  if (!surg__utf8_valid((const uint8_t *)stem, strlen(stem))) stem = "";
  return surg__fresh(g->model, stem);
}

/* --- values by name --- */

/* Drops value_info entries of this name that name no value: they must not apply to a new value of
 * that name. */
static void drop_strays(surg_graph *g, const char *name) {
  if (!g->strays) return;
  if (!g->strays_marked)
    for (const surg__stray *s = g->strays; s; s = s->next) surg__name_of(s->name)->stray = true;
  g->strays_marked = true;
  if (!surg__name_of(name)->stray) return;
  for (surg__stray *s = g->strays; s; s = s->next)
    if (s->name == name) s->dropped = true;
}

static bool value_table_add(surg_value *v) {
  surg_model *m = v->graph->model;
  v->tabled = surg__table_add(m, &m->values_by_name, v);
  return v->tabled;
}

/* Most names belong to one value of the model, which `last` of the name points to. The table is
 * only for names of several values, as in parallel branches and functions. */
bool surg__value_index(surg_value *v) {
  if (!v->name[0]) return true;
  assert(!v->indexed);
  drop_strays(v->graph, v->name);
  surg__name *name = surg__name_of(v->name);
  if (name->values > 0) {
    if (name->last && !name->last->tabled && !value_table_add(name->last)) return false;
    if (!value_table_add(v)) return false;
  }
  name->values++;
  name->last = v;
  v->indexed = true;
  return true;
}

void surg__value_unindex(surg_value *v) {
  if (!v->indexed) return;
  surg_model *m = v->graph->model;
  if (v->tabled) surg__table_remove(m, &m->values_by_name, v);
  v->tabled = false;
  surg__name *name = surg__name_of(v->name);
  assert(name->values > 0);
  name->values--;
  if (name->last == v) name->last = NULL;
  v->indexed = false;
}

surg_value *surg__find_value(const surg_graph *g, const char *interned) {
  const surg__name *name = surg__name_of(interned);
  if (name->values == 0) return NULL;
  if (name->last && name->last->graph == g) return name->last;
  if (name->last && name->values == 1) return NULL; /* the value is in another graph */
  return surg__table_find(g->model, &g->model->values_by_name, g, interned);
}

surg_value *surg_graph_find_value(const surg_graph *g, const char *name) {
  if (!surg__graph_ok(g) || !name || !name[0]) return NULL;
  const char *s = surg__interned(g->model, name, strlen(name));
  return s ? surg__find_value(g, s) : NULL;
}

surg_value *surg_graph_lookup_value(const surg_graph *g, const char *name) {
  if (!surg__graph_ok(g) || !name || !name[0]) return NULL;
  const char *s = surg__interned(g->model, name, strlen(name));
  if (!s || !surg__name_of(s)->values) return NULL;
  for (; g; g = surg_graph_parent(g)) {
    surg_value *v = surg__find_value(g, s);
    if (v) return v;
  }
  return NULL;
}

/* --- nodes by name: the table contains the first node of a ring of nodes with one name --- */

static surg_node *first_named(const surg_graph *g, const char *interned) {
  if (!surg__name_of(interned)->node) return NULL;
  return surg__table_find(g->model, &g->model->nodes_by_name, g, interned);
}

bool surg__node_index(surg_node *n) {
  surg_model *m = n->graph->model;
  if (!n->name[0]) return true;
  assert(!n->name_next && !n->name_prev);
  surg_node *first = first_named(n->graph, n->name);
  if (!first) {
    if (!surg__table_add(m, &m->nodes_by_name, n)) return false;
    n->tabled = true;
    surg__name_of(n->name)->node = true;
    n->name_prev = n->name_next = n;
    return true;
  }
  n->name_next = first;
  n->name_prev = first->name_prev;
  first->name_prev->name_next = n;
  first->name_prev = n;
  return true;
}

void surg__node_unindex(surg_node *n) {
  if (!n->name_next) return;
  surg_model *m = n->graph->model;
  surg_node *next = n->name_next;
  assert(n->name_prev->name_next == n && next->name_prev == n);
  if (n->tabled && next != n) {
    surg__table_replace(m, &m->nodes_by_name, n, next);
    next->tabled = true;
  } else if (n->tabled) {
    surg__table_remove(m, &m->nodes_by_name, n);
  }
  n->tabled = false;
  n->name_prev->name_next = next;
  next->name_prev = n->name_prev;
  n->name_prev = n->name_next = NULL;
}

surg_node *surg_graph_find_node(const surg_graph *g, const char *name) {
  if (!surg__graph_ok(g) || !name || !name[0]) return NULL;
  const char *s = surg__interned(g->model, name, strlen(name));
  return s ? first_named(g, s) : NULL;
}

surg_node *surg_node_next_named(const surg_node *n) {
  if (!surg__node_ok(n) || !n->name_next) return NULL;
  return n->name_next->tabled ? NULL : n->name_next;
}

/* --- labels --- */

bool surg__name_free(const surg_graph *g, const char *interned) {
  uint32_t bearers = surg__name_of(interned)->values;
  if (!bearers) return true;
  for (const surg_graph *a = g; a; a = surg_graph_parent(a))
    if (surg__find_value(a, interned)) return false;
  for (const surg_graph *h = g->next; h && bearers; h = h->next) {
    if (!surg__find_value(h, interned)) continue;
    bearers--;
    for (const surg_graph *a = h; a; a = surg_graph_parent(a))
      if (a == g) return false;
  }
  return true;
}

static void mark_soft(surg__soft *s) {
  if (s->kind == SURG__SOFT_ANNOTATION) {
    s->annotation->dirty = true;
    surg__touch_graph(s->graph);
  } else if (s->kind == SURG__SOFT_SHARDING) {
    s->node->io_dirty = true;
    surg__touch_node(s->node);
  }
}

static void mark_use(surg_use *u) {
  assert(u->kind != SURG_USE_SOFT); /* mark_soft handles these */
  if (u->kind == SURG_USE_NODE) {
    u->user.node->io_dirty = true;
    surg__touch_node(u->user.node);
  } else {
    surg__output *o = u->user.graph->out[u->index];
    o->name = u->value->name;
    surg__touch_graph(u->user.graph);
  }
}

bool surg__set_label(surg_value *v, const char *interned, bool mark_uses) {
  if (v->name == interned) return true;
  const char *old = v->name;
  surg__value_unindex(v);
  v->name = interned;
  if (!surg__value_index(v)) return false;
  v->named_here = true;
  if (v->initializer) v->init_dirty = true;
  for (surg_use *u = mark_uses ? v->uses : NULL; u && u != v->first_soft; u = u->next) mark_use(u);
  for (surg_use *u = v->first_soft; u; u = u->next) mark_soft(u->user.soft);
  if (v->producer) {
    v->producer->io_dirty = true;
    surg__touch_node(v->producer);
  }
  surg__touch_graph(v->graph);
  surg__emit(v->graph->model, SURG_EVENT_RENAME_VALUE, v->graph, NULL, v, NULL, old);
  return true;
}

bool surg__relabel(surg_value *v, const char *interned) {
  return surg__set_label(v, interned, true);
}

/* Whether v can be renamed without changing the interface or a reference by name. */
static bool plain(const surg_value *v) {
  return !v->input && !v->pinned && !surg_value_is_output(v);
}

bool surg__unshadow(surg_value *v, const char *name, surg_graph *g) {
  uint32_t own = v->name == name;
  if (!name[0] || surg__name_of(name)->values <= own) return true;
  for (; g && g != v->graph; g = surg_graph_parent(g)) {
    surg_value *w = surg__find_value(g, name);
    if (!w || w == v) continue;
    /* Inputs and outputs of a subgraph are bound by position, so w can be renamed even if it is not
     * plain. v is renamed instead if only v is plain. */
    bool move_v = !plain(w) && v->name == name && plain(v);
    const char *fresh = surg__fresh(v->graph->model, name);
    if (!fresh || !surg__relabel(move_v ? v : w, fresh)) return false;
    if (move_v) return true;
  }
  return true;
}

static surg_status rename_value(surg_value *v, const char *name) {
  surg_model *m = v->graph->model;
  if (!name[0])
    return surg__graph_error(v->graph, SURG_EUSAGE, "value %s cannot be renamed to nothing",
                             surg__q(m->ctx, v->name));
  if (v->pinned)
    return surg__graph_error(v->graph, SURG_EINVALID,
                             "value %s cannot be renamed: training_info refers to it",
                             surg__q(m->ctx, v->name));
  surg_status s;
  const char *interned = surg__intern_user(m, name, &s);
  if (!interned) return s;
  if (interned == v->name) return SURG_OK;
  if (!surg__name_free(v->graph, interned))
    return surg__graph_error(v->graph, SURG_EINVALID,
                             "value %s cannot be renamed to %s: the name is in use",
                             surg__q(m->ctx, v->name), surg__q(m->ctx, interned));
  return surg__relabel(v, interned) ? SURG_OK : m->status;
}

surg_status surg_value_rename(surg_value *v, const char *name) {
  if (!v || !name) return SURG_EUSAGE;
  surg_status s = surg__value_ready(v);
  return s != SURG_OK ? s : rename_value(v, name);
}

bool surg_value_can_rename(const surg_value *v, const char *name) {
  if (!surg__value_ok(v) || !name || !name[0] || v->pinned) return false;
  if (!surg__utf8_valid((const uint8_t *)name, strlen(name))) return false;
  const char *known = surg__interned(v->graph->model, name, strlen(name));
  return !known || known == v->name || surg__name_free(v->graph, known);
}

bool surg__relabel_read(surg_value *v, const char *interned) {
  return surg__set_label(v, interned, true);
}
