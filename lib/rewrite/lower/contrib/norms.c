/* SPDX-License-Identifier: Apache-2.0 */
/* Normalizations of ONNX Runtime as means, computed in float, with every optional output:
 * SkipLayerNormalization, SkipSimplifiedLayerNormalization, SimplifiedLayerNormalization,
 * EmbedLayerNormalization, GroupNorm and SkipGroupNorm. The sum of the inputs is computed in float
 * for all types: the normalized value is not the rounded output. */
#include "rewrite/lower/native.h"

static bool is_float(int dtype) {
  return dtype == SURG_FLOAT || dtype == SURG_FLOAT16 || dtype == SURG_BFLOAT16;
}

/* The mean over `n` axes from `axis` on, with sizes of 1. */
static surg__built mean_over(surg__builder *b, surg__built x, const int64_t *axes, size_t n) {
  surg__built y = x;
  y.v = surg__b_over(b, "ReduceMean", x.v, axes, n);
  surg__b_set_int(b, y.v, "keepdims", 1);
  for (size_t i = 0; i < n; i++) y.d[axes[i]] = surg__bdim_fixed(1);
  return y;
}

/* x, minus its mean if `centred`, and 1 / sqrt(mean of its squares + epsilon). */
typedef struct normal {
  surg__built x, mean, inverse;
} normal;

static normal normalized(surg__builder *b, surg__built x, const int64_t *axes, size_t n,
                         bool centred) {
  const double epsilon = surg_node_float(
      surg__b_matched(b), "epsilon",
      surg_node_op(surg__b_matched(b)) == SURG_OP_contrib_SimplifiedLayerNormalization ? 1e-5f
                                                                                       : 1e-12f);
  normal r = {.x = x};
  if (centred) {
    r.mean = mean_over(b, x, axes, n);
    r.x = surg__built_binary(b, "Sub", x, r.mean);
  }
  surg__built v = mean_over(b, surg__built_binary(b, "Mul", r.x, r.x), axes, n);
  v = surg__built_unary(b, "Sqrt", surg__built_number(b, "Add", v, epsilon));
  r.inverse = surg__built_unary(b, "Reciprocal", v);
  r.x = surg__built_binary(b, "Mul", r.x, r.inverse);
  return r;
}

/* Makes x, cast, a result that no other node reads. */
static void put(surg__builder *b, const char *name, surg__built x, int dtype) {
  if (surg__b_get(b, name)) surg__built_result(b, name, surg__built_cast(b, x, dtype));
}

/* A result that further nodes read. */
static surg__built show(surg__builder *b, const char *name, surg__built x, int dtype) {
  if (!surg__b_get(b, name)) return x;
  const surg__built out = surg__built_cast(b, x, dtype);
  const surg__built named = surg__built_result(b, name, out);
  return out.v == x.v ? named : x;
}

static surg__built scaled(surg__builder *b, surg__built x, const surg__built *w,
                          const surg__built *beta) {
  if (w->v) x = surg__built_binary(b, "Mul", x, surg__built_cast(b, *w, x.dtype));
  return beta->v ? surg__built_binary(b, "Add", x, surg__built_cast(b, *beta, x.dtype)) : x;
}

static bool read_optional(const surg__builder *b, const char *name, surg__built *out) {
  return !surg__b_get(b, name) || surg__built_get(b, name, out);
}

/* y, mean, inverse, s = Skip[Simplified]LayerNormalization (x, r, w, b, c) */
static surg_status skip_to_means(surg__builder *b) {
  const bool centred = surg_node_op(surg__b_matched(b)) == SURG_OP_ms_SkipLayerNormalization;
  surg__built x, r, w, beta = {0}, bias = {0};
  if (!surg__b_attrs_known(b) || !surg__built_get(b, "x", &x) || !surg__built_get(b, "r", &r) ||
      !surg__built_get(b, "w", &w) || (centred && !read_optional(b, "b", &beta)) ||
      !read_optional(b, "c", &bias) ||
      surg__b_bad(b, x.rank < 1 || r.rank > x.rank, "x: expected the rank of the skip or more") ||
      surg__b_bad(b, !is_float(x.dtype), "x: expected floats") ||
      surg__b_bad(b, x.d[x.rank - 1].n == 0, "the statistics of nothing"))
    return SURG_EUNSUPPORTED;
  const int64_t axis = (int64_t)x.rank - 1;
  surg__built s = surg__built_cast(b, x, SURG_FLOAT);
  s = surg__built_binary(b, "Add", s, surg__built_cast(b, r, SURG_FLOAT));
  if (bias.v) s = surg__built_binary(b, "Add", s, surg__built_cast(b, bias, SURG_FLOAT));
  memcpy(s.d, x.d, sizeof s.d);
  s = show(b, "s", s, x.dtype);
  normal n = normalized(b, s, &axis, 1, centred);
  if (!centred && surg__b_get(b, "mean"))
    put(b, "mean", surg__built_fill(b, SURG_FLOAT, 0, n.inverse.d, n.inverse.rank), SURG_FLOAT);
  if (centred && surg__b_get(b, "mean")) show(b, "mean", n.mean, SURG_FLOAT);
  n.x = scaled(b, n.x, &w, &beta);
  put(b, "inverse", n.inverse, SURG_FLOAT);
  put(b, "y", n.x, x.dtype);
  return b->status;
}

/* y, inverse = SimplifiedLayerNormalization <axis, epsilon> (x, w) */
static surg_status simplified_to_means(surg__builder *b) {
  surg__built x, w;
  int64_t axes[SURG__BT_RANK];
  if (!surg__b_attrs_known(b) || !surg__built_get(b, "x", &x) || !surg__built_get(b, "w", &w) ||
      surg__b_bad(b, !is_float(x.dtype) && x.dtype != SURG_DOUBLE, "x: expected floats") ||
      surg__b_bad(b, w.dtype != x.dtype, "x and w: expected the same element type") ||
      /* Its declared type is float, whatever x is. */
      surg__b_bad(b, x.dtype == SURG_DOUBLE && surg__b_get(b, "inverse"),
                  "inv_std_var of double is unsupported"))
    return SURG_EUNSUPPORTED;
  const int64_t rank = x.rank, wish = surg_node_int(surg__b_matched(b), "axis", -1);
  const int64_t axis = wish < 0 ? wish + rank : wish;
  if (surg__b_bad(b, axis < 0 || axis >= rank, "the axis is out of range"))
    return SURG_EUNSUPPORTED;
  for (int64_t i = axis; i < rank; i++) {
    axes[i - axis] = i;
    if (surg__b_bad(b, x.d[i].n == 0, "the statistics of nothing")) return SURG_EUNSUPPORTED;
  }
  const int type = x.dtype == SURG_DOUBLE ? SURG_DOUBLE : SURG_FLOAT;
  const surg__built wide = surg__built_cast(b, x, type), none = {0};
  const normal n = normalized(b, wide, axes, (size_t)(rank - axis), false);
  const surg__built y = scaled(b, n.x, &w, &none);
  put(b, "inverse", n.inverse, type);
  put(b, "y", y, w.dtype);
  return b->status;
}

/* --- EmbedLayerNormalization --- */

typedef struct embedding {
  surg__built ids, segments, words, positions, kinds, scale, beta, mask, places;
} embedding;

static bool read_embedding(surg__builder *b, embedding *e) {
  if (!surg__b_attrs_known(b) || !surg__built_get(b, "i", &e->ids) ||
      !surg__built_get(b, "w", &e->words) || !surg__built_get(b, "p", &e->positions) ||
      !surg__built_get(b, "ga", &e->scale) || !surg__built_get(b, "be", &e->beta) ||
      !read_optional(b, "g", &e->segments) || !read_optional(b, "t", &e->kinds) ||
      !read_optional(b, "mask", &e->mask) || !read_optional(b, "at", &e->places))
    return false;
  return !surg__b_bad(b, e->ids.rank != 2, "ids: expected rank 2") &&
         !surg__b_bad(b, e->words.rank != 2 || e->positions.rank != 2, "tables: expected rank 2") &&
         !surg__b_bad(b, !e->segments.v != !e->kinds.v, "segments or their table are absent") &&
         !surg__b_bad(b, e->places.v && e->places.rank != 2, "positions: expected rank 2") &&
         !surg__b_bad(b, e->mask.v && e->mask.rank != 2, "mask: expected rank 2") &&
         !surg__b_bad(b, !is_float(e->words.dtype), "tables: expected floats") &&
         !surg__b_bad(b, e->words.d[1].n == 0, "the statistics of nothing");
}

static surg__built rows(surg__builder *b, surg__built table, surg__built ids) {
  return surg__built_cast(b, surg__built_gather(b, table, ids, 0), SURG_FLOAT);
}

/* How many keys the mask of each sequence selects; 0 without a mask. */
static void count_keys(surg__builder *b, const embedding *e) {
  if (!surg__b_get(b, "index")) return;
  surg__built n;
  if (!e->mask.v) {
    n = surg__built_fill(b, SURG_INT32, 0, e->ids.d, 1);
  } else {
    n = surg__built_cast(b, surg__built_number(b, "Equal", e->mask, 1), SURG_INT32);
    n = surg__built_reduce(b, "ReduceSum", n, 1, false);
  }
  put(b, "index", n, SURG_INT32);
}

/* y, index, sum = EmbedLayerNormalization (i, g, w, p, t, ga, be, mask, at) */
static surg_status embed_to_means(surg__builder *b) {
  embedding e = {.mask = {0}};
  const int64_t last = 2;
  if (!read_embedding(b, &e)) return SURG_EUNSUPPORTED;
  const int dtype = e.words.dtype;
  surg__built p;
  if (e.places.v)
    p = rows(b, e.positions, e.places);
  else
    p = surg__built_cast(b, surg__built_slice(b, e.positions, 0, surg__bdim_fixed(0), e.ids.d[1]),
                         SURG_FLOAT);
  surg__built s = surg__built_binary(b, "Add", rows(b, e.words, e.ids), p);
  s.d[0] = e.ids.d[0];
  s.d[1] = e.ids.d[1];
  if (e.segments.v) s = surg__built_binary(b, "Add", s, rows(b, e.kinds, e.segments));
  s = show(b, "sum", s, dtype);
  count_keys(b, &e);
  const normal n = normalized(b, s, &last, 1, true);
  put(b, "y", scaled(b, n.x, &e.scale, &e.beta), dtype);
  return b->status;
}

/* --- GroupNorm --- */

typedef struct grouping {
  surg__built x, w, beta, skip, bias;
  int64_t groups;
  bool last;  /* channels are the last axis */
  bool skips; /* SkipGroupNorm */
} grouping;

static bool read_grouping(surg__builder *b, grouping *g) {
  const surg_node *n = surg__b_matched(b);
  const int64_t active = surg_node_int(n, "activation", 0);
  g->groups = surg_node_int(n, "groups", 0);
  g->last = surg_node_int(n, "channels_last", 1) != 0;
  g->skips = surg_node_op(n) == SURG_OP_ms_SkipGroupNorm;
  if (!surg__b_attrs_known(b) || !surg__built_get(b, "x", &g->x) ||
      !surg__built_get(b, "w", &g->w) || !surg__built_get(b, "b", &g->beta) ||
      (g->skips && (!read_optional(b, "r", &g->skip) || !read_optional(b, "c", &g->bias))) ||
      surg__b_bad(b, g->x.rank != 4, "x: expected rank 4") ||
      surg__b_bad(b, g->groups < 1, "groups: expected 1 or more") ||
      surg__b_bad(b, active != 0 && active != 1, "activation: expected 0 or 1"))
    return false;
  const surg__bdim *c = &g->x.d[g->last ? 3 : 1];
  return !surg__b_bad(b, c->n < 1 || c->n % g->groups,
                      "the channels are unknown or no multiple of the groups") &&
         !surg__b_bad(b, !is_float(g->x.dtype), "x: expected floats") &&
         !surg__b_bad(b, g->skip.v && g->skip.rank != 2 && g->skip.rank != 4,
                      "skip: expected rank 2 or 4");
}

/* The sum of x, skip and bias: the skip may be one number for each channel of an image. */
static surg__built with_skip(surg__builder *b, const grouping *g) {
  surg__built s = surg__built_cast(b, g->x, SURG_FLOAT), r = g->skip;
  const surg__bdim one = surg__bdim_fixed(1);
  const surg__bdim d[3] = {g->last ? one : g->x.d[1], one, g->last ? g->x.d[3] : one};
  if (r.v) {
    r = surg__built_cast(b, r, SURG_FLOAT);
    if (r.rank == 2) {
      const surg__bdim wide[4] = {r.d[0], d[0], one, d[2]};
      r = surg__built_reshape(b, r, wide, 4);
    }
    s = surg__built_binary(b, "Add", s, r);
  }
  if (g->bias.v) {
    const surg__built c = surg__built_reshape(b, surg__built_cast(b, g->bias, SURG_FLOAT), d, 3);
    s = surg__built_binary(b, "Add", s, c);
  }
  memcpy(s.d, g->x.d, sizeof s.d);
  return s;
}

/* y, s = SkipGroupNorm (x, w, b, r, c); GroupNorm has no r, c and s. */
static surg_status group_to_means(surg__builder *b) {
  grouping g = {.groups = 0};
  if (!read_grouping(b, &g)) return SURG_EUNSUPPORTED;
  const surg__bdim groups = surg__bdim_fixed(g.groups), one = surg__bdim_fixed(1);
  surg__built s = with_skip(b, &g);
  if (g.skips) s = show(b, "s", s, g.x.dtype);
  const surg__bdim size = surg__bdim_fixed(g.x.d[g.last ? 3 : 1].n / g.groups);
  const surg__bdim area = surg__bdim_mul(b, s.d[g.last ? 1 : 2], s.d[g.last ? 2 : 3]);
  const surg__bdim to_last[4] = {s.d[0], area, groups, size},
                   to_first[4] = {s.d[0], groups, size, area};
  static const int64_t axes_last[2] = {1, 3}, axes_first[2] = {2, 3};
  const double epsilon = surg_node_float(surg__b_matched(b), "epsilon", 1e-5f);
  const int64_t *axes = g.last ? axes_last : axes_first;
  surg__built x = surg__built_reshape(b, s, g.last ? to_last : to_first, 4);
  x = surg__built_binary(b, "Sub", x, mean_over(b, x, axes, 2));
  surg__built v = mean_over(b, surg__built_binary(b, "Mul", x, x), axes, 2);
  v = surg__built_unary(b, "Sqrt", surg__built_number(b, "Add", v, epsilon));
  x = surg__built_reshape(b, surg__built_binary(b, "Div", x, v), s.d, 4);
  const surg__bdim d[3] = {g.last ? one : s.d[1], one, g.last ? s.d[3] : one};
  g.w = surg__built_reshape(b, g.w, d, 3);
  g.beta = surg__built_reshape(b, g.beta, d, 3);
  x = scaled(b, x, &g.w, &g.beta);
  if (surg_node_int(surg__b_matched(b), "activation", 0))
    x = surg__built_binary(b, "Mul", x, surg__built_unary(b, "Sigmoid", x));
  put(b, "y", x, g.x.dtype);
  return b->status;
}

const surg__native surg__natives_norms[] = {
    {"ms_skip_norm", skip_to_means, "normalization of a sum, as means"},
    {"ms_simplified_norm", simplified_to_means, "SimplifiedLayerNormalization as a mean"},
    {"ms_embed_norm", embed_to_means, "EmbedLayerNormalization as rows of tables and means"},
    {"ms_group_norm", group_to_means, "GroupNorm and SkipGroupNorm as means"},
    {NULL, NULL, NULL},
};
