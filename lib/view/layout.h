/* SPDX-License-Identifier: Apache-2.0 */
/* Layered layout of a graph of boxes: rows from top to bottom, links between them. It knows nothing
 * of models. All sizes are in units of a picture (pixels). The method is that of Sugiyama, Tagawa
 * and Toda (1981): layers, order within layers, coordinates. */
#ifndef SURG_VIEW_LAYOUT_H
#define SURG_VIEW_LAYOUT_H

#include "base/base.h"

/* A box. The caller sets the sizes; `left` and `right` are what it needs on both sides of its
 * centre, labels included, and `foot` the height of the labels under it. */
typedef struct surg__lay_box {
  int32_t w, h, left, right, foot;
  int32_t x, y; /* result: the centre of its upper side */
  uint32_t layer;
} surg__lay_box;

typedef enum surg__lay_cut {
  SURG__LAY_DRAWN = 0,
  SURG__LAY_BACK, /* it closes a cycle */
  SURG__LAY_FAR   /* one of several long links of a net, or there are too many of them */
} surg__lay_cut;

/* A link from one box to another. Links of one net leave a box at one point and share their way.
 * A link that is cut has no way: the caller names the source in the target instead. */
typedef struct surg__lay_link {
  uint32_t from, to;
  int32_t from_at, to_at; /* points on the lower and upper side, from the centres */
  uint32_t net;
  surg__lay_cut cut;     /* result of surg__lay_layers */
  uint32_t first, count; /* result: its points in surg__lay.points */
} surg__lay_link;

/* Points of a way, from top to bottom. Between points of equal x it is a vertical line, else a
 * curve that leaves and arrives vertically. */
typedef struct surg__lay_point {
  int32_t x, y;
} surg__lay_point;

typedef struct surg__lay {
  surg__arena *arena; /* of all results */
  surg__lay_box *boxes;
  size_t n;
  surg__lay_link *links; /* of nets 0 ... n_nets - 1 */
  size_t m, n_nets;
  size_t layers;
  surg__lay_point *points;
  size_t n_points;
  int32_t width, height; /* result: all boxes, labels and ways are within 0 ... width, height */
} surg__lay;

/* Assigns layers and cuts links, before sizes are known. False: out of memory. O(n + m) */
bool surg__lay_layers(surg__lay *lay);
/* Assigns coordinates and ways, after surg__lay_layers; sizes may have changed since. False: out of
 * memory. O(v log v) for v boxes and crossings of links with rows */
bool surg__lay_place(surg__lay *lay);

/* --- shared by the files of the layout --- */

/* A box, or the place where links of a net cross a row (`box` SURG__LAY_NONE). */
#define SURG__LAY_NONE UINT32_MAX
typedef struct surg__lay_vertex {
  uint32_t box, net, layer;
  uint32_t at;                 /* position in its layer */
  uint32_t up_first, up_count; /* pieces of links to the layer above, in surg__lay_rows.up */
  uint32_t down_first, down_count;
  double x, left, right; /* centre; what it needs on both sides */
  double key;            /* of the current sort */
} surg__lay_vertex;

/* The end of a piece of a link between two adjacent layers. */
typedef struct surg__lay_end {
  uint32_t vertex;
  int32_t here, there; /* where it meets this vertex and the other one, from their centres */
  double weight;
} surg__lay_end;

typedef struct surg__lay_rows {
  surg__lay_vertex *v;
  size_t n;
  uint32_t *order; /* vertices, layer by layer from left to right */
  uint32_t *first; /* of layer l in `order`; layers + 1 entries */
  surg__lay_end *up, *down;
  uint32_t *net_first; /* the first crossing of each net; they are in order of layers */
  uint32_t *net_count; /* how many there are */
  uint32_t *net_layer; /* the layer of the box of each net */
} surg__lay_rows;

/* Reduces crossings of links by changing the order within rows. */
bool surg__lay_order(surg__lay *lay, surg__lay_rows *rows);
/* Sets x of all vertices, in their order. */
bool surg__lay_columns(surg__lay *lay, surg__lay_rows *rows);

#endif
