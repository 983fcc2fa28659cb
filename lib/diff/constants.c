/* SPDX-License-Identifier: Apache-2.0 */
/* Pairs of constants: those that paired nodes read at one place, the most similar first. */
#include <stdlib.h>

#include "diff/diff.h"

/* What two constants have in common, from the most on. */
typedef enum evidence { BITS_AND_NAME, BITS, NAME_AND_SHAPE, PLACE, EVIDENCES } evidence;

bool surg__diff_alike(const surg__dvalue *a, const surg__dvalue *b) {
  return a->content == b->content;
}

static bool fits(const surg__dvalue *a, const surg__dvalue *b, evidence e) {
  const bool name = a->v->name[0] && strcmp(a->v->name, b->v->name) == 0;
  switch (e) {
    case BITS_AND_NAME:
      return name && surg__diff_alike(a, b);
    case BITS:
      return surg__diff_alike(a, b);
    case NAME_AND_SHAPE:
      return name && a->shape == b->shape;
    default:
      return true;
  }
}

static void propose(surg_diff *d, const surg_value *v, const surg_value *w, evidence e) {
  surg__dvalue *a = surg__dvalue_of(&d->side[0], v), *b = surg__dvalue_of(&d->side[1], w);
  if (a && b && a->t && b->t && fits(a, b, e)) surg__diff_pair_values(d, a, b);
}

static void pair_read(surg_diff *d, const surg__dgraph *g, evidence e) {
  for (uint32_t i = g->first; i < g->first + g->count; i++) {
    const surg__dnode *a = &d->side[0].nodes.items[i];
    if (a->twin == SURG__NO_TWIN) continue;
    const surg_node *n = a->n, *m = d->side[1].nodes.items[a->twin].n;
    /* Operands may be in the other order. */
    const uint32_t other = surg__diff_is_swapped(d, n, m);
    for (uint32_t j = 0; j < n->n_in && (j ^ other) < m->n_in; j++)
      propose(d, n->in[j].value, m->in[j ^ other].value, e);
    const bool free = e != PLACE && surg__diff_swappable(n) && surg__diff_swappable(m);
    for (uint32_t j = 0; free && j < 2; j++) propose(d, n->in[j].value, m->in[1 - j].value, e);
  }
}

static void pair_outputs(surg_diff *d, const surg__dgraph *g, const surg__dgraph *h, evidence e) {
  for (size_t i = 0; i < g->g->n_out && g->out_twins; i++)
    if (g->out_twins[i] != SURG__NO_TWIN)
      propose(d, g->g->out[i]->use.value, h->g->out[g->out_twins[i]]->use.value, e);
}

/* Pairs constants that no paired nodes read, by name. */
static void pair_named(surg_diff *d, const surg__dgraph *g, const surg__dgraph *h, bool alike) {
  for (const surg_value *v = g->g->first_value; v; v = v->next) {
    surg__dvalue *a = surg__dvalue_of(&d->side[0], v);
    if (!a || !a->t || a->twin != SURG__NO_TWIN || !v->name[0]) continue;
    surg__dvalue *b = surg__dvalue_of(&d->side[1], surg_graph_find_value(h->g, v->name));
    if (b && b->t && (alike ? surg__diff_alike(a, b) : a->shape == b->shape))
      surg__diff_pair_values(d, a, b);
  }
}

/* --- constants that nothing paired --- */

typedef struct left {
  uint64_t content;
  uint32_t value;
  bool second;
} left;
typedef SURG_VEC(left) lefts;

static int by_content(const void *a, const void *b) {
  const left *x = a, *y = b;
  if (x->content != y->content) return x->content < y->content ? -1 : 1;
  if (x->second != y->second) return x->second ? 1 : -1;
  return x->value < y->value ? -1 : x->value > y->value;
}

static bool is_used(const surg_value *v) {
  return v->uses != NULL;
}

static bool collect(surg_diff *d, int k, const surg__dgraph *g, lefts *out) {
  for (const surg_value *v = g->g->first_value; v; v = v->next) {
    const surg__dvalue *x = surg__dvalue_of(&d->side[k], v);
    if (!x || !x->t || x->twin != SURG__NO_TWIN) continue;
    const left l = {x->content, (uint32_t)(x - d->side[k].values.items), k};
    if (!surg__vec_push(d->ctx, out, l)) return false;
  }
  return true;
}

/* Pairs two constants if nothing else has their elements, or one is unused: a removed node may have
 * been its only consumer. */
static void pair_idle(surg_diff *d, const left *x, const left *y, bool only) {
  surg__dvalue *a = &d->side[0].values.items[x->value], *b = &d->side[1].values.items[y->value];
  if (only || !is_used(a->v) || !is_used(b->v)) surg__diff_pair_values(d, a, b);
}

/* Pairs constants with the same elements that paired nodes do not read at one place. */
static void pair_left(surg_diff *d, const surg__dgraph *g, const surg__dgraph *h) {
  lefts all = {0};
  if (!collect(d, 0, g, &all) || !collect(d, 1, h, &all)) surg__diff_fail(d);
  if (all.count > 1) qsort(all.items, all.count, sizeof *all.items, by_content);
  for (size_t i = 0, end; i < all.count; i = end) {
    size_t middle = i;
    for (end = i; end < all.count && all.items[end].content == all.items[i].content; end++)
      middle += !all.items[end].second;
    for (size_t j = 0; i + j < middle && middle + j < end; j++)
      pair_idle(d, &all.items[i + j], &all.items[middle + j], end - i == 2);
  }
  surg__vec_free(d->ctx, &all);
}

void surg__diff_pair_constants(surg_diff *d, uint32_t a, uint32_t b) {
  const surg__dgraph *g = &d->side[0].graphs.items[a], *h = &d->side[1].graphs.items[b];
  for (evidence e = BITS_AND_NAME; e < EVIDENCES; e++) {
    if (e == PLACE) {
      pair_named(d, g, h, true);
      pair_named(d, g, h, false);
    }
    pair_read(d, g, e);
    pair_outputs(d, g, h, e);
  }
  pair_left(d, g, h);
}
