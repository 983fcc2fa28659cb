/* SPDX-License-Identifier: Apache-2.0 */
/* Tables from a graph and a name to a value or a node: open addressing, 8 bytes a slot. All graphs
 * of a model share one, since most subgraphs have a few names. Records are not linked into it, so
 * that those of names without an entry need no memory for one. */
#include "ir/edit.h"

typedef struct key {
  const surg_graph *graph;
  const char *name; /* interned: compared by address */
} key;

static key key_of(const surg__table *t, const void *item) {
  if (t->of_nodes) {
    const surg_node *n = item;
    return (key){n->graph, n->name};
  }
  const surg_value *v = item;
  return (key){v->graph, v->name};
}

static bool same(key a, key b) {
  return a.graph == b.graph && a.name == b.name;
}

/* The seed of the context is random, so that addresses cannot be chosen to collide. */
static size_t home_of(const surg_model *m, const surg__table *t, key k) {
  return (size_t)surg__hash(m->ctx, &k, sizeof k) & (t->size - 1);
}

/* The slot of the key, or the free slot for it. */
static size_t slot_of(const surg_model *m, const surg__table *t, key k) {
  assert(t->count < t->size && (t->size & (t->size - 1)) == 0); /* a free slot ends the search */
  size_t i = home_of(m, t, k);
  while (t->slots[i] && !same(key_of(t, t->slots[i]), k)) i = (i + 1) & (t->size - 1);
  return i;
}

void *surg__table_find(const surg_model *m, const surg__table *t, const surg_graph *g,
                       const char *name) {
  return t->count ? t->slots[slot_of(m, t, (key){g, name})] : NULL;
}

/* Makes room for one more entry: at most two thirds of the slots are used. */
static bool reserve(surg_model *m, surg__table *t) {
  if (t->count < t->size / 3 * 2) return true;
  surg__table grown = {
      .size = t->size ? 2 * t->size : 16, .count = t->count, .of_nodes = t->of_nodes};
  grown.slots = surg__calloc(m->ctx, grown.size, sizeof *grown.slots);
  if (!grown.slots) {
    surg__failed(m);
    return false;
  }
  for (size_t k = 0; k < t->size; k++)
    if (t->slots[k]) grown.slots[slot_of(m, &grown, key_of(t, t->slots[k]))] = t->slots[k];
  surg__free(m->ctx, t->slots);
  *t = grown;
  return true;
}

bool surg__table_add(surg_model *m, surg__table *t, void *item) {
  if (!reserve(m, t)) return false;
  void **slot = &t->slots[slot_of(m, t, key_of(t, item))];
  assert(!*slot);
  *slot = item;
  t->count++;
  return true;
}

void surg__table_replace(const surg_model *m, surg__table *t, const void *old, void *item) {
  void **slot = &t->slots[slot_of(m, t, key_of(t, item))];
  assert(*slot == old && same(key_of(t, old), key_of(t, item)));
  (void)old;
  *slot = item;
}

/* Entries after the removed one move up if a search for them would end at the gap. */
void surg__table_remove(const surg_model *m, surg__table *t, const void *item) {
  const size_t mask = t->size - 1;
  size_t gap = slot_of(m, t, key_of(t, item));
  assert(t->slots[gap] == item);
  for (size_t i = (gap + 1) & mask; t->slots[i]; i = (i + 1) & mask) {
    const size_t home = home_of(m, t, key_of(t, t->slots[i]));
    if (((i - home) & mask) < ((i - gap) & mask)) continue; /* its home is after the gap */
    t->slots[gap] = t->slots[i];
    gap = i;
  }
  t->slots[gap] = NULL;
  t->count--;
}
