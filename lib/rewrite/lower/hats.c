/* SPDX-License-Identifier: Apache-2.0 */
/* GridSample as two products, for engines without gathering at computed places.
 *
 * Linear interpolation at coordinate p gives column j the weight max(0, 1 - |p - j|), a hat around
 * j, which is 0 for all but the two columns next to p, and for columns that the picture does not
 * have (padding_mode zeros). So the weights of all columns at all samples are one matrix, computed
 * with Sub, Abs and Relu, and the samples along an axis are its product with the picture. Every
 * element of the picture takes part in every sample: infinities and NaN spread. */
#include <string.h>

#include "rewrite/lower/native.h"

/* Elements of the largest intermediate result: the picture's rows at all samples. */
#define HATS_MOST ((int64_t)1 << 28)

typedef struct hats {
  surg__builder *b;
  surg__built x, grid;
  bool corners, border;
  int64_t batch, channels, height, width, samples;
} hats;

static bool is_word(surg_str s, const char *word) {
  return s.n == strlen(word) && !memcmp(s.p, word, s.n);
}

/* a * b; -1 if that is above HATS_MOST. Neither is negative. */
static int64_t times(int64_t a, int64_t b) {
  return a < 0 || b < 0 || (b > 0 && a > HATS_MOST / b) ? -1 : a * b;
}

static bool read_hats(hats *h) {
  surg__builder *b = h->b;
  const surg_node *n = surg__b_matched(b);
  const surg_str mode = surg_node_string(n, "mode", "linear");
  const surg_str edge = surg_node_string(n, "padding_mode", "zeros");
  uint64_t count;
  h->corners = surg_node_int(n, "align_corners", 0) != 0;
  h->border = is_word(edge, "border");
  if (!surg__b_attrs_known(b) || !surg__built_get(b, "x", &h->x) ||
      !surg__built_get(b, "grid", &h->grid) ||
      (!is_word(mode, "linear") && !is_word(mode, "bilinear")) ||
      (!h->border && !is_word(edge, "zeros")))
    return false;
  if (h->x.rank != 4 || h->grid.rank != 4 || h->x.dtype != SURG_FLOAT ||
      h->grid.dtype != SURG_FLOAT || !surg__built_count(&h->x, INT64_MAX, &count) || !count ||
      !surg__built_count(&h->grid, INT64_MAX, &count) || !count)
    return false;
  h->batch = h->x.d[0].n, h->channels = h->x.d[1].n, h->height = h->x.d[2].n,
  h->width = h->x.d[3].n;
  h->samples = times(h->grid.d[1].n, h->grid.d[2].n);
  const int64_t rows = times(times(h->batch, h->channels), h->height);
  return h->grid.d[0].n == h->batch && times(rows, h->samples) > 0 &&
         times(times(h->batch, h->samples), h->width) > 0;
}

static surg__built reshaped(const hats *h, surg__built x, const int64_t *sizes, uint32_t rank) {
  surg__bdim d[SURG__BT_RANK];
  for (uint32_t i = 0; i < rank; i++) d[i] = surg__bdim_fixed(sizes[i]);
  return surg__built_reshape(h->b, x, d, rank);
}

/* [batch, samples, size]: the weight of each of `size` places at each sample; `column` of the grid
 * has its coordinates, from -1 to 1. */
static surg__built weights(const hats *h, surg__built grid, int64_t column, int64_t size) {
  surg__builder *b = h->b;
  surg__built p =
      surg__built_slice(b, grid, 2, surg__bdim_fixed(column), surg__bdim_fixed(column + 1));
  p = surg__built_number(b, "Add", p, 1);
  p = surg__built_number(b, "Mul", p, (double)(size - h->corners) / 2);
  if (!h->corners) p = surg__built_number(b, "Sub", p, 0.5);
  if (h->border) { /* max(p, 0), then min(p, size - 1) */
    p = surg__built_unary(b, "Neg", surg__built_unary(b, "Relu", p));
    p = surg__built_unary(b, "Relu", surg__built_number(b, "Add", p, (double)size - 1));
    p = surg__built_number(b, "Add", surg__built_unary(b, "Neg", p), (double)size - 1);
  }
  surg__built at = surg__built_range(b, surg__bdim_fixed(size), SURG_INT64);
  at = reshaped(h, surg__built_cast(b, at, SURG_FLOAT), (const int64_t[]){1, 1, size}, 3);
  const surg__built far = surg__built_unary(b, "Abs", surg__built_binary(b, "Sub", p, at));
  return surg__built_unary(b, "Relu",
                           surg__built_number(b, "Add", surg__built_unary(b, "Neg", far), 1));
}

static surg_status grid_sample_by_hats(surg__builder *b) {
  hats h = {.b = b};
  if (!read_hats(&h)) return SURG_EUNSUPPORTED;
  const int64_t n = h.batch, c = h.channels, rows = h.height, o = h.samples;
  const surg__built grid = reshaped(&h, h.grid, (const int64_t[]){n, o, 2}, 3);
  const surg__built across = surg__built_swap(b, weights(&h, grid, 0, h.width), 1, 2);
  const surg__built down = surg__built_swap(b, weights(&h, grid, 1, rows), 1, 2);
  surg__built y = reshaped(&h, h.x, (const int64_t[]){n, c * rows, h.width}, 3);
  y = reshaped(&h, surg__built_matmul(b, y, across), (const int64_t[]){n, c, rows, o}, 4);
  y = surg__built_binary(b, "Mul", y, reshaped(&h, down, (const int64_t[]){n, 1, rows, o}, 4));
  y = surg__built_reduce(b, "ReduceSum", y, 2, false);
  y = reshaped(&h, y, (const int64_t[]){n, c, h.grid.d[1].n, h.grid.d[2].n}, 4);
  surg__built_result(b, "y", y);
  return b->status;
}

const surg__native surg__natives_hats[] = {
    {"grid_sample_by_hats", grid_sample_by_hats, "GridSample as products with matrices of weights"},
    {NULL, NULL, NULL},
};
