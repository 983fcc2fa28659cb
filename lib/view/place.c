/* SPDX-License-Identifier: Apache-2.0 */
/* Layout: rows of boxes and crossings, y coordinates, the ways of links. */
#include <math.h>

#include "view/layout.h"

#define MARGIN 24
#define GAP 30      /* between two rows ... */
#define GAP_MOST 70 /* ... and where links go far to the side */
#define SLOPE 9.0   /* pixels to the side for each pixel more of a gap */
#define WAY 4.0     /* half of the room of a way */

/* How much a piece of a link resists being bent: ways most, so that long links are straight. */
#define STIFF_BOX 4.0
#define STIFF_END 1.5
#define STIFF_WAY 12.0

/* Numbers the crossings of nets with rows: one for each row between its box and the farthest. */
static bool make_vertices(surg__lay *lay, surg__lay_rows *r) {
  uint32_t *reach = surg__arena_array(lay->arena, lay->n_nets + 1, sizeof *reach);
  r->net_first = surg__arena_array(lay->arena, lay->n_nets + 1, sizeof *r->net_first);
  r->net_layer = surg__arena_array(lay->arena, lay->n_nets + 1, sizeof *r->net_layer);
  r->net_count = reach;
  if (!reach || !r->net_first || !r->net_layer) return false;
  r->n = lay->n;
  for (size_t i = 0; i < lay->m; i++) {
    const surg__lay_link *l = &lay->links[i];
    const uint32_t from = lay->boxes[l->from].layer, to = lay->boxes[l->to].layer;
    if (l->cut) continue;
    assert(to > from);
    r->net_layer[l->net] = from;
    if (to - from - 1 > reach[l->net]) reach[l->net] = to - from - 1;
  }
  for (size_t k = 0; k < lay->n_nets; k++) {
    r->net_first[k] = (uint32_t)r->n;
    r->n += reach[k];
  }
  r->v = surg__arena_array(lay->arena, r->n + 1, sizeof *r->v);
  r->order = surg__arena_array(lay->arena, r->n + 1, sizeof *r->order);
  r->first = surg__arena_array(lay->arena, lay->layers + 2, sizeof *r->first);
  if (!r->v || !r->order || !r->first) return false;
  for (size_t i = 0; i < lay->n; i++) {
    const surg__lay_box *b = &lay->boxes[i];
    r->v[i] = (surg__lay_vertex){
        .box = (uint32_t)i, .layer = b->layer, .left = b->left, .right = b->right};
  }
  for (size_t k = 0; k < lay->n_nets; k++)
    for (uint32_t i = 0; i < reach[k]; i++)
      r->v[r->net_first[k] + i] = (surg__lay_vertex){.box = SURG__LAY_NONE,
                                                     .net = (uint32_t)k,
                                                     .layer = r->net_layer[k] + 1 + i,
                                                     .left = WAY,
                                                     .right = WAY};
  return true;
}

/* The vertex of a link in a row between its boxes, or its box there. */
static uint32_t vertex_at(const surg__lay *lay, const surg__lay_rows *r, const surg__lay_link *l,
                          uint32_t layer) {
  if (layer == lay->boxes[l->from].layer) return l->from;
  if (layer == lay->boxes[l->to].layer) return l->to;
  return r->net_first[l->net] + (layer - r->net_layer[l->net] - 1);
}

typedef void (*piece_fn)(surg__lay_rows *r, uint32_t above, uint32_t below, int32_t above_at,
                         int32_t below_at);

static void count_piece(surg__lay_rows *r, uint32_t above, uint32_t below, int32_t above_at,
                        int32_t below_at) {
  (void)above_at, (void)below_at;
  r->v[above].down_count++;
  r->v[below].up_count++;
}

static void add_piece(surg__lay_rows *r, uint32_t above, uint32_t below, int32_t above_at,
                      int32_t below_at) {
  surg__lay_vertex *a = &r->v[above], *b = &r->v[below];
  const int ways = (a->box == SURG__LAY_NONE) + (b->box == SURG__LAY_NONE);
  const double weight = ways == 2 ? STIFF_WAY : ways ? STIFF_END : STIFF_BOX;
  r->down[a->down_first + a->down_count++] = (surg__lay_end){below, above_at, below_at, weight};
  r->up[b->up_first + b->up_count++] = (surg__lay_end){above, below_at, above_at, weight};
}

/* Calls `fn` for each piece of the links between two adjacent rows, once for links that share it.
 */
static void each_piece(surg__lay *lay, surg__lay_rows *r, uint32_t *made, piece_fn fn) {
  memset(made, 0, lay->n_nets * sizeof *made);
  for (size_t i = 0; i < lay->m; i++) {
    const surg__lay_link *l = &lay->links[i];
    const uint32_t from = lay->boxes[l->from].layer, to = lay->boxes[l->to].layer;
    if (l->cut) continue;
    for (uint32_t row = from + 1 + made[l->net]; row < to; row++, made[l->net]++)
      fn(r, vertex_at(lay, r, l, row - 1), vertex_at(lay, r, l, row),
         row - 1 == from ? l->from_at : 0, 0);
    fn(r, vertex_at(lay, r, l, to - 1), l->to, to - 1 == from ? l->from_at : 0, l->to_at);
  }
}

static bool make_pieces(surg__lay *lay, surg__lay_rows *r) {
  uint32_t *made = surg__arena_array(lay->arena, lay->n_nets + 1, sizeof *made);
  uint32_t up = 0, down = 0;
  if (!made) return false;
  each_piece(lay, r, made, count_piece);
  for (size_t i = 0; i < r->n; i++) {
    surg__lay_vertex *v = &r->v[i];
    v->up_first = up;
    v->down_first = down;
    up += v->up_count;
    down += v->down_count;
    v->up_count = v->down_count = 0;
  }
  r->up = surg__arena_array(lay->arena, (size_t)up + 1, sizeof *r->up);
  r->down = surg__arena_array(lay->arena, (size_t)down + 1, sizeof *r->down);
  if (!r->up || !r->down) return false;
  each_piece(lay, r, made, add_piece);
  return true;
}

/* Lists the vertices of each row; at first in their order, a way beside the box it comes from. */
static bool make_rows(surg__lay *lay, surg__lay_rows *r) {
  uint32_t *stack = surg__arena_array(lay->arena, r->n + 1, sizeof *stack);
  uint32_t *at = surg__arena_array(lay->arena, lay->layers + 2, sizeof *at);
  uint8_t *seen = surg__arena_array(lay->arena, r->n + 1, sizeof *seen);
  if (!stack || !at || !seen) return false;
  for (size_t i = 0; i < r->n; i++) r->first[r->v[i].layer + 1]++;
  for (size_t l = 0; l < lay->layers; l++) r->first[l + 1] += r->first[l];
  memcpy(at, r->first, (lay->layers + 1) * sizeof *at);
  for (size_t root = 0; root < lay->n; root++) {
    size_t depth = 0;
    if (seen[root]) continue;
    stack[depth++] = (uint32_t)root;
    seen[root] = 1;
    while (depth) { /* in depth, so that what belongs together is together */
      const uint32_t id = stack[--depth];
      const surg__lay_vertex *v = &r->v[id];
      r->order[at[v->layer]++] = id;
      for (uint32_t k = v->down_count; k-- > 0;) {
        const uint32_t to = r->down[v->down_first + k].vertex;
        if (seen[to]) continue;
        seen[to] = 1;
        stack[depth++] = to;
      }
    }
  }
  return true;
}

/* Rounds x, sets y, and the size of the whole. top[l], bottom[l]: where ways of row l are straight.
 */
static void set_boxes(surg__lay *lay, surg__lay_rows *r, int32_t *top, int32_t *bottom) {
  double least = 0, most = 0;
  for (size_t i = 0; i < r->n; i++) {
    const surg__lay_vertex *v = &r->v[i];
    if (i == 0 || v->x - v->left < least) least = v->x - v->left;
    if (i == 0 || v->x + v->right > most) most = v->x + v->right;
  }
  for (size_t i = 0; i < r->n; i++) r->v[i].x = floor(r->v[i].x - least + 0.5) + MARGIN;
  lay->width = (int32_t)(most - least) + 2 * MARGIN + 1;
  int32_t y = MARGIN;
  for (uint32_t l = 0; l < lay->layers; l++) {
    int32_t height = 0;
    double aside = 0;
    for (uint32_t i = r->first[l]; i < r->first[l + 1]; i++) {
      const surg__lay_vertex *v = &r->v[r->order[i]];
      const surg__lay_box *b = v->box == SURG__LAY_NONE ? NULL : &lay->boxes[v->box];
      if (b && b->h + b->foot > height) height = b->h + b->foot;
      for (uint32_t k = 0; k < v->down_count; k++) {
        const surg__lay_end *e = &r->down[v->down_first + k];
        aside = fmax(aside, fabs(r->v[e->vertex].x + e->there - v->x - e->here));
      }
    }
    for (uint32_t i = r->first[l]; i < r->first[l + 1]; i++) {
      const surg__lay_vertex *v = &r->v[r->order[i]];
      if (v->box == SURG__LAY_NONE) continue;
      lay->boxes[v->box].x = (int32_t)v->x;
      lay->boxes[v->box].y = y;
    }
    top[l] = y;
    bottom[l] = y + height;
    y = bottom[l] + (int32_t)fmin(GAP_MOST, GAP + aside / SLOPE);
  }
  lay->height = (lay->layers ? bottom[lay->layers - 1] : MARGIN) + MARGIN;
}

/* Appends a point to a way; of three on a vertical line the one in the middle goes. */
static void add_point(surg__lay *lay, surg__lay_link *l, int32_t x, int32_t y) {
  surg__lay_point *p = lay->points + lay->n_points;
  if (l->count > 1 && p[-1].x == x && p[-2].x == x) {
    p[-1].y = y;
    return;
  }
  *p = (surg__lay_point){x, y};
  lay->n_points++;
  l->count++;
}

static bool set_ways(surg__lay *lay, const surg__lay_rows *r, const int32_t *top,
                     const int32_t *bottom) {
  size_t most = 0;
  for (size_t i = 0; i < lay->m; i++) {
    const surg__lay_link *l = &lay->links[i];
    if (!l->cut) most += 2u * (lay->boxes[l->to].layer - lay->boxes[l->from].layer) + 1;
  }
  lay->points = surg__arena_array(lay->arena, most + 1, sizeof *lay->points);
  if (!lay->points) return false;
  lay->n_points = 0;
  for (size_t i = 0; i < lay->m; i++) {
    surg__lay_link *l = &lay->links[i];
    const surg__lay_box *from = &lay->boxes[l->from], *to = &lay->boxes[l->to];
    l->first = (uint32_t)lay->n_points;
    l->count = 0;
    if (l->cut) continue;
    add_point(lay, l, from->x + l->from_at, from->y + from->h);
    add_point(lay, l, from->x + l->from_at, bottom[from->layer]);
    for (uint32_t row = from->layer + 1; row < to->layer; row++) {
      const int32_t x = (int32_t)r->v[vertex_at(lay, r, l, row)].x;
      add_point(lay, l, x, top[row]);
      add_point(lay, l, x, bottom[row]);
    }
    add_point(lay, l, to->x + l->to_at, to->y);
    assert(lay->n_points <= most);
  }
  return true;
}

bool surg__lay_place(surg__lay *lay) {
  surg__lay_rows r = {0};
  int32_t *top = surg__arena_array(lay->arena, lay->layers + 1, sizeof *top);
  int32_t *bottom = surg__arena_array(lay->arena, lay->layers + 1, sizeof *bottom);
  if (!top || !bottom || !make_vertices(lay, &r) || !make_pieces(lay, &r) || !make_rows(lay, &r) ||
      !surg__lay_order(lay, &r) || !surg__lay_columns(lay, &r))
    return false;
  set_boxes(lay, &r, top, bottom);
  return set_ways(lay, &r, top, bottom);
}
