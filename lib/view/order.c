/* SPDX-License-Identifier: Apache-2.0 */
/* Layout: the order of boxes and links within rows, by barycentres. */
#include <stdlib.h>

#include "view/layout.h"

#define SWEEPS 16  /* most sweeps over all rows; they end when none removes crossings */
#define PATIENCE 4 /* sweeps without success after which they end */

typedef struct state {
  surg__lay *lay;
  surg__lay_rows *rows;
  uint32_t *tree; /* counts by position, as a binary indexed tree */
  uint32_t *best;
} state;

typedef struct item {
  double key;
  uint32_t vertex, at;
} item;

static int by_key(const void *a, const void *b) {
  const item *x = a, *y = b;
  if (x->key != y->key) return x->key < y->key ? -1 : 1;
  return x->at < y->at ? -1 : x->at > y->at;
}

static void number(surg__lay_rows *r, uint32_t layer) {
  for (uint32_t i = r->first[layer]; i < r->first[layer + 1]; i++)
    r->v[r->order[i]].at = i - r->first[layer];
}

/* Sorts a row by the mean place of the ends of its links in the row above, or below. */
static bool sort_row(state *s, uint32_t layer, bool above, item *items) {
  surg__lay_rows *r = s->rows;
  const uint32_t n = r->first[layer + 1] - r->first[layer];
  for (uint32_t i = 0; i < n; i++) {
    const uint32_t id = r->order[r->first[layer] + i];
    const surg__lay_vertex *v = &r->v[id];
    const surg__lay_end *ends = above ? r->up + v->up_first : r->down + v->down_first;
    const uint32_t count = above ? v->up_count : v->down_count;
    double sum = 0;
    for (uint32_t k = 0; k < count; k++) {
      const surg__lay_vertex *o = &r->v[ends[k].vertex];
      /* Where several links leave one box, those further left come first. */
      sum += (double)o->at + (double)ends[k].there / (o->left + o->right + 1);
    }
    items[i] = (item){count ? sum / count : (double)i, id, i};
  }
  qsort(items, n, sizeof *items, by_key);
  bool changed = false;
  for (uint32_t i = 0; i < n; i++) {
    changed |= r->order[r->first[layer] + i] != items[i].vertex;
    r->order[r->first[layer] + i] = items[i].vertex;
  }
  number(r, layer);
  return changed;
}

static int by_number(const void *a, const void *b) {
  const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
  return x < y ? -1 : x > y;
}

/* Crossings of the pieces between row `layer` and the one below it. */
static uint64_t crossings_below(state *s, uint32_t layer, uint32_t *places) {
  const surg__lay_rows *r = s->rows;
  const uint32_t width = r->first[layer + 2] - r->first[layer + 1];
  uint64_t sum = 0, seen = 0;
  memset(s->tree, 0, (width + 1) * sizeof *s->tree);
  for (uint32_t i = r->first[layer]; i < r->first[layer + 1]; i++) {
    const surg__lay_vertex *v = &r->v[r->order[i]];
    for (uint32_t k = 0; k < v->down_count; k++)
      places[k] = r->v[r->down[v->down_first + k].vertex].at;
    qsort(places, v->down_count, sizeof *places, by_number);
    for (uint32_t k = 0; k < v->down_count; k++, seen++) {
      uint64_t left = 0; /* ends so far that are not right of this one */
      for (uint32_t t = places[k] + 1; t; t &= t - 1) left += s->tree[t];
      sum += seen - left;
      for (uint32_t t = places[k] + 1; t <= width; t += t & (0u - t)) s->tree[t]++;
    }
  }
  return sum;
}

static uint64_t crossings(state *s, uint32_t *places) {
  uint64_t sum = 0;
  for (uint32_t l = 0; l + 1 < s->lay->layers; l++) sum += crossings_below(s, l, places);
  return sum;
}

bool surg__lay_order(surg__lay *lay, surg__lay_rows *rows) {
  state s = {.lay = lay, .rows = rows};
  const uint32_t last = (uint32_t)lay->layers;
  item *items = surg__arena_array(lay->arena, rows->n + 1, sizeof *items);
  uint32_t *places = surg__arena_array(lay->arena, rows->n + 1, sizeof *places);
  s.tree = surg__arena_array(lay->arena, rows->n + 2, sizeof *s.tree);
  s.best = surg__arena_array(lay->arena, rows->n + 1, sizeof *s.best);
  if (!items || !places || !s.tree || !s.best) return false;
  if (!last) return true;
  for (uint32_t l = 0; l < last; l++) number(rows, l);
  uint64_t least = UINT64_MAX;
  int idle = 0;
  for (int sweep = 0; sweep < SWEEPS && idle < PATIENCE && least; sweep++) {
    bool changed = false;
    if (sweep % 2 == 0)
      for (uint32_t l = 1; l < last; l++) changed |= sort_row(&s, l, true, items);
    else
      for (uint32_t l = last - 1; l-- > 0;) changed |= sort_row(&s, l, false, items);
    const uint64_t now = crossings(&s, places);
    if (now < least) {
      least = now;
      memcpy(s.best, rows->order, rows->n * sizeof *s.best);
      idle = 0;
    } else {
      idle++;
    }
    if (!changed && sweep) break;
  }
  memcpy(rows->order, s.best, rows->n * sizeof *s.best);
  for (uint32_t l = 0; l < last; l++) number(rows, l);
  return true;
}
