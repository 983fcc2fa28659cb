/* SPDX-License-Identifier: Apache-2.0 */
/* Layout: x coordinates. Each vertex wants to be at the weighted median of where its links would be
 * vertical. Each row gets the positions nearest to that (least squares) that keep its order and its
 * distances: the pools of adjacent violators (Ayer et al. 1955), in one pass. */
#include <math.h>
#include <stdlib.h>

#include "view/layout.h"

#define SPACE 26.0     /* between two boxes */
#define SPACE_WAY 14.0 /* beside a way */
#define SWEEPS 12
#define BEND 24.0 /* a bend of at most this is removed */
#define PASSES 3

typedef struct wish {
  double x, weight;
} wish;

typedef struct pool {
  double sum, weight; /* of x, and of weights */
  uint32_t count;
} pool;

typedef struct state {
  surg__lay_rows *rows;
  wish *wishes;
  pool *pools;
  double *want, *weight, *offset;
} state;

static int by_x(const void *a, const void *b) {
  const wish *p = a, *q = b;
  return p->x < q->x ? -1 : p->x > q->x;
}

static size_t add_wishes(const state *s, const surg__lay_end *ends, uint32_t count, size_t n) {
  for (uint32_t k = 0; k < count; k++)
    s->wishes[n++] =
        (wish){s->rows->v[ends[k].vertex].x + ends[k].there - ends[k].here, ends[k].weight};
  return n;
}

/* The weighted median, between the two middle ones where they weigh the same. */
static double median(wish *w, size_t n, double *weight) {
  double all = 0, sum = 0;
  qsort(w, n, sizeof *w, by_x);
  for (size_t i = 0; i < n; i++) all += w[i].weight;
  *weight = all;
  for (size_t i = 0; i < n; i++) {
    sum += w[i].weight;
    if (sum * 2 == all && i + 1 < n) return (w[i].x + w[i + 1].x) / 2;
    if (sum * 2 > all) return w[i].x;
  }
  return w[n - 1].x;
}

static double space(const surg__lay_vertex *a, const surg__lay_vertex *b) {
  const bool way = a->box == SURG__LAY_NONE || b->box == SURG__LAY_NONE;
  return a->right + b->left + (way ? SPACE_WAY : SPACE);
}

/* Sets x of a row to the positions nearest to `want`. */
static void settle(state *s, const uint32_t *row, uint32_t n) {
  surg__lay_vertex *v = s->rows->v;
  uint32_t pools = 0;
  for (uint32_t i = 0; i < n; i++) {
    s->offset[i] = i ? s->offset[i - 1] + space(&v[row[i - 1]], &v[row[i]]) : 0;
    pool p = {(s->want[i] - s->offset[i]) * s->weight[i], s->weight[i], 1};
    while (pools && s->pools[pools - 1].sum * p.weight >= p.sum * s->pools[pools - 1].weight) {
      pools--;
      p.sum += s->pools[pools].sum;
      p.weight += s->pools[pools].weight;
      p.count += s->pools[pools].count;
    }
    s->pools[pools++] = p;
  }
  for (uint32_t i = 0, p = 0; p < pools; p++)
    for (uint32_t k = 0; k < s->pools[p].count; k++, i++)
      v[row[i]].x = s->pools[p].sum / s->pools[p].weight + s->offset[i];
}

typedef enum side { ABOVE = 1, BELOW = 2 } side;

static void place_row(state *s, uint32_t layer, int sides) {
  surg__lay_rows *r = s->rows;
  const uint32_t *row = r->order + r->first[layer], n = r->first[layer + 1] - r->first[layer];
  for (uint32_t i = 0; i < n; i++) {
    const surg__lay_vertex *v = &r->v[row[i]];
    size_t count = 0;
    if (sides & ABOVE) count = add_wishes(s, r->up + v->up_first, v->up_count, count);
    if (sides & BELOW) count = add_wishes(s, r->down + v->down_first, v->down_count, count);
    s->want[i] = v->x;
    s->weight[i] = 0.1;
    if (count) s->want[i] = median(s->wishes, count, &s->weight[i]);
  }
  settle(s, row, n);
}

/* Removes small bends: moves each vertex under what is above it, where there is room. */
static void straighten(state *s, uint32_t layer) {
  surg__lay_rows *r = s->rows;
  const uint32_t *row = r->order + r->first[layer], n = r->first[layer + 1] - r->first[layer];
  for (uint32_t i = 0; i < n; i++) {
    surg__lay_vertex *v = &r->v[row[i]];
    double weight;
    const size_t count = add_wishes(s, r->up + v->up_first, v->up_count, 0);
    double want = count ? median(s->wishes, count, &weight) : v->x;
    if (fabs(want - v->x) > BEND) continue;
    if (i && want < r->v[row[i - 1]].x + space(&r->v[row[i - 1]], v))
      want = r->v[row[i - 1]].x + space(&r->v[row[i - 1]], v);
    if (i + 1 < n && want > r->v[row[i + 1]].x - space(v, &r->v[row[i + 1]]))
      want = r->v[row[i + 1]].x - space(v, &r->v[row[i + 1]]);
    v->x = want;
  }
}

/* Gives the crossings first ... last of a net one x, within the room that all of their rows have.
 */
static void set_run(surg__lay_rows *r, uint32_t first, uint32_t last, double low, double high) {
  double x = r->v[first].x;
  if (x < low) x = low;
  if (x > high) x = high;
  for (uint32_t i = first; i <= last; i++) r->v[i].x = x;
}

/* Makes ways vertical over as many rows as possible. */
static void straighten_way(surg__lay_rows *r, uint32_t first, uint32_t count) {
  double low = -INFINITY, high = INFINITY;
  uint32_t start = first;
  for (uint32_t i = first; i < first + count; i++) {
    const surg__lay_vertex *v = &r->v[i];
    const uint32_t *row = r->order + r->first[v->layer],
                   n = r->first[v->layer + 1] - r->first[v->layer];
    double least = -INFINITY, most = INFINITY;
    if (v->at) least = r->v[row[v->at - 1]].x + space(&r->v[row[v->at - 1]], v);
    if (v->at + 1 < n) most = r->v[row[v->at + 1]].x - space(v, &r->v[row[v->at + 1]]);
    if (fmax(low, least) > fmin(high, most)) {
      set_run(r, start, i - 1, low, high);
      start = i;
      low = least;
      high = most;
    } else {
      low = fmax(low, least);
      high = fmin(high, most);
    }
  }
  if (count) set_run(r, start, first + count - 1, low, high);
}

bool surg__lay_columns(surg__lay *lay, surg__lay_rows *rows) {
  state s = {.rows = rows};
  const uint32_t last = (uint32_t)lay->layers;
  size_t widest = 1, most = 1;
  for (uint32_t l = 0; l < last; l++)
    if (rows->first[l + 1] - rows->first[l] > widest) widest = rows->first[l + 1] - rows->first[l];
  for (size_t i = 0; i < rows->n; i++) {
    const size_t ends = (size_t)rows->v[i].up_count + rows->v[i].down_count;
    if (ends > most) most = ends;
  }
  s.wishes = surg__arena_array(lay->arena, most, sizeof *s.wishes);
  s.pools = surg__arena_array(lay->arena, widest, sizeof *s.pools);
  s.want = surg__arena_array(lay->arena, widest, sizeof *s.want);
  s.weight = surg__arena_array(lay->arena, widest, sizeof *s.weight);
  s.offset = surg__arena_array(lay->arena, widest, sizeof *s.offset);
  if (!s.wishes || !s.pools || !s.want || !s.weight || !s.offset) return false;
  for (int sweep = 0; sweep < SWEEPS; sweep++) {
    for (uint32_t l = 0; l < last; l++) place_row(&s, l, sweep > 3 ? ABOVE | BELOW : ABOVE);
    for (uint32_t l = last; l-- > 0;) place_row(&s, l, sweep > 3 ? ABOVE | BELOW : BELOW);
  }
  for (int pass = 0; pass < PASSES; pass++) {
    for (uint32_t l = 1; l < last; l++) straighten(&s, l);
    for (size_t k = 0; k < lay->n_nets; k++)
      straighten_way(rows, rows->net_first[k], rows->net_count[k]);
  }
  return true;
}
