/* SPDX-License-Identifier: Apache-2.0 */
/* GroupQueryAttention and RotaryEmbedding of com.microsoft, equivalent to
 * lib/eval/contrib/contrib_attention.c. The past of a sequence has its own length, so new keys are
 * put behind it by a Gather from the rows of the past, the new rows, and a row of zeros. */
#include "rewrite/lower/contrib/heads.h"

typedef struct group {
  surg__heads h;
  surg__built q, k, v;          /* inputs; k and v absent: all in q */
  surg__built past_k, past_v;   /* [batch, heads, positions, size] */
  surg__built lengths, whole;   /* last index of each sequence; total length */
  surg__built cos, sin, places; /* tables [positions, half]; positions [batch, queries] */
  surg__built before;           /* int64 [batch, 1]: used positions of the past; absent: none */
  surg__built prompt;           /* bool: this is a first prompt; absent: it is one */
  surg__bdim keys;              /* positions of the present */
  int64_t size, window;         /* window -1: none */
  int64_t bits;                 /* of the integers that past and present are; 0: they are floats */
  surg__built k_scale, v_scale; /* [1, 1, 1, 1], or [1, heads, 1, size] */
} group;

static bool read_sizes(group *g) {
  surg__builder *b = g->h.b;
  if (!surg__built_get(b, "q", &g->q) || surg__b_bad(b, g->q.rank != 3, "q: expected rank 3") ||
      surg__b_bad(b, !surg__heads_is_float(g->q.dtype), "q: expected floats") ||
      surg__b_bad(b, !surg__b_get(b, "k") != !surg__b_get(b, "v"), "key or value is absent"))
    return false;
  const bool packed = !surg__b_get(b, "k");
  const int64_t heads = packed ? g->h.count + 2 * g->h.kv_count : g->h.count;
  if (surg__b_bad(b, g->q.d[2].n < heads || g->q.d[2].n % heads,
                  "the hidden size of q is unknown or no multiple of the heads"))
    return false;
  g->size = g->q.d[2].n / heads;
  if (packed) return true;
  return surg__built_get(b, "k", &g->k) && surg__built_get(b, "v", &g->v) &&
         !surg__b_bad(b,
                      g->k.rank != 3 || g->v.rank != 3 || g->k.d[2].n != g->h.kv_count * g->size ||
                          g->v.d[2].n != g->k.d[2].n,
                      "k and v: expected rank 3 and the size of the heads of q");
}

/* Reads the scale of a quantized cache: one number, or one for each channel. */
static bool read_scale(const group *g, const char *name, surg__built *scale) {
  surg__builder *b = g->h.b;
  uint64_t count = 0;
  if (!surg__built_get(b, name, scale) || scale->dtype != SURG_FLOAT ||
      !surg__built_count(scale, SURG_LIMIT_EMIT_CONSTANT, &count))
    return surg__b_lacks(b, name, "expected floats of a known number");
  return !surg__b_bad(b, count != 1 && count != (uint64_t)(g->h.kv_count * g->size),
                      "scales: expected one, or one for each channel");
}

/* Reads caches of signed bytes, or of 4 bits, two in an unsigned byte and 8 above. */
static bool read_quantized(group *g) {
  surg__builder *b = g->h.b;
  const int64_t bits = surg_node_int(g->h.n, "kv_cache_bit_width", 0);
  const int dtype = g->past_k.dtype;
  g->bits = dtype == SURG_INT8 && bits == 8 ? 8 : dtype == SURG_UINT8 && bits == 4 ? 4 : 0;
  if (surg__b_bad(b,
                  g->past_k.rank != 4 || g->past_v.rank != 4 || g->past_v.dtype != dtype ||
                      !g->bits || (g->bits == 4 && g->size % 2),
                  "past: expected floats of rank 4, or integers of 8 or 4 bits") ||
      surg__b_bad(b, b->m->opset < 11, "the rewrite requires opset 11"))
    return false;
  return read_scale(g, "ks", &g->k_scale) && read_scale(g, "vs", &g->v_scale);
}

static bool read_past(group *g) {
  surg__builder *b = g->h.b;
  const bool has = surg__b_get(b, "past_k") != NULL;
  if (surg__b_bad(b, has != (surg__b_get(b, "past_v") != NULL), "past keys or values are absent") ||
      !surg__built_get(b, "lengths", &g->lengths) || !surg__built_get(b, "whole", &g->whole))
    return false;
  if (surg__b_bad(b, g->lengths.rank < 1 || g->lengths.rank > 2, "lengths: expected rank 1 or 2"))
    return false;
  const bool scaled = surg__b_get(b, "ks") || surg__b_get(b, "vs");
  if (!has) return !surg__b_bad(b, scaled, "past keys or values are absent");
  if (!surg__built_get(b, "past_k", &g->past_k) || !surg__built_get(b, "past_v", &g->past_v))
    return false;
  if (scaled) return read_quantized(g);
  return !surg__b_bad(b,
                      g->past_k.rank != 4 || g->past_v.rank != 4 ||
                          !surg__heads_is_float(g->past_k.dtype) ||
                          !surg__heads_is_float(g->past_v.dtype),
                      "past: expected floats of rank 4");
}

static bool read_tables(group *g) {
  surg__builder *b = g->h.b;
  if (!surg_node_int(g->h.n, "do_rotary", 0)) return true;
  if (!surg__built_get(b, "cos", &g->cos) || !surg__built_get(b, "sin", &g->sin) ||
      surg__b_bad(b, g->cos.rank != 2 || g->sin.rank != 2, "tables: expected rank 2") ||
      surg__b_bad(b, g->cos.d[1].n < 1 || g->cos.d[1].n > g->size / 2,
                  "the width of the tables is unknown or too large"))
    return false;
  return !surg__b_get(b, "places") ||
         (surg__built_get(b, "places", &g->places) &&
          !surg__b_bad(b, g->places.rank != 2, "positions: expected rank 2"));
}

static bool read_rest(group *g) {
  surg__builder *b = g->h.b;
  const surg_node *n = g->h.n;
  g->h.scale = surg__heads_scale(n, g->size);
  g->h.softcap = surg_node_float(n, "softcap", 0);
  g->window = surg_node_int(n, "local_window_size", -1);
  if (g->window < 1 || g->window > INT32_MAX) g->window = -1;
  if (surg__b_get(b, "ab") &&
      (!surg__built_get(b, "ab", &g->h.bias) ||
       surg__b_bad(b, g->h.bias.rank != 4, "attention bias: expected rank 4")))
    return false;
  return !surg__b_get(b, "sink") ||
         (surg__built_get(b, "sink", &g->h.sink) &&
          !surg__b_bad(b, g->h.sink.rank != 1 || g->h.sink.d[0].n != g->h.count,
                       "sink: expected one number a head"));
}

/* Computes which positions of the past are used: none in a first prompt, which is as long as the
 * whole; otherwise the length of the sequence without the new positions. */
static void find_before(group *g) {
  surg__builder *b = g->h.b;
  const surg__bdim column[2] = {g->q.d[0], surg__bdim_fixed(1)};
  const surg__built none = surg__built_scalar(b, SURG_INT64, 0);
  g->keys = g->q.d[1];
  if (!g->past_k.v || g->past_k.d[2].n == 0) return;
  surg__built whole = surg__built_cast(b, surg__built_reshape(b, g->whole, NULL, 0), SURG_INT64);
  const surg__built fresh = surg__bdim_scalar(b, g->q.d[1], SURG_INT64);
  surg__built used = surg__built_cast(b, surg__built_reshape(b, g->lengths, column, 2), SURG_INT64);
  used = surg__built_number(b, "Add", used, 1);
  used = surg__built_binary(b, "Sub", used, fresh);
  g->prompt = surg__built_binary(b, "Equal", whole, fresh);
  g->before = surg__built_where(b, g->prompt, none, used);
  g->before.rank = 2;
  g->before.d[0] = column[0];
  g->before.d[1] = column[1];
  const surg__built past = surg__bdim_scalar(b, g->past_k.d[2], SURG_INT64);
  const int64_t one = 1;
  surg_value *most = surg__bint_most(b, whole.v, past.v);
  g->keys = surg__bdim_of(surg__bint_reshape(b, most, &one, 1));
}

/* The rows of keys or values of all positions: those of the past that are used, the new ones, and
 * zeros. */
static surg__built joined(const group *g, surg__built past, surg__built x) {
  surg__builder *b = g->h.b;
  if (!g->before.v) return x;
  const surg__bdim heads = surg__bdim_fixed(g->h.kv_count), one = surg__bdim_fixed(1);
  const surg__bdim zero[4] = {x.d[0], heads, one, x.d[3]};
  const surg__built all[3] = {surg__built_cast(b, past, SURG_FLOAT), x,
                              surg__built_fill(b, SURG_FLOAT, 0, zero, 4)};
  surg__bdim rows = surg__bdim_add(b, past.d[2], x.d[2]);
  rows = surg__bdim_add(b, rows, one);
  const surg__bdim count = surg__bdim_mul(b, surg__bdim_mul(b, x.d[0], heads), rows);
  const surg__bdim flat[2] = {count, x.d[3]};
  const surg__built from = surg__built_reshape(b, surg__built_concat(b, all, 3, 2), flat, 2);
  /* Position j is j of the past, j - before of the new rows, or the zero. */
  const surg__built j = surg__built_range(b, g->keys, SURG_INT64);
  const surg__built old = surg__built_binary(b, "Less", j, g->before);
  surg__built place = surg__built_binary(b, "Sub", j, g->before);
  const surg__built last = surg__bdim_scalar(b, x.d[2], SURG_INT64);
  place = surg__built_where(b, surg__built_binary(b, "Less", place, last), place, last);
  place = surg__built_binary(b, "Add", place, surg__bdim_scalar(b, past.d[2], SURG_INT64));
  place = surg__built_where(b, old, j, place);
  const surg__bdim batches[3] = {x.d[0], heads, one};
  const surg__bdim each = surg__bdim_mul(b, x.d[0], heads);
  const surg__built start =
      surg__built_reshape(b, surg__built_steps(b, each, rows, SURG_INT64), batches, 3);
  place = surg__built_binary(b, "Add", start, surg__built_unsqueeze(b, place, 1));
  surg__built y = surg__built_gather(b, from, place, 0);
  const surg__bdim d[4] = {x.d[0], heads, g->keys, x.d[3]};
  memcpy(y.d, d, sizeof d);
  return y;
}

/* The integers of a past, as floats. */
static surg__built codes_of(const group *g, surg__built past) {
  surg__builder *b = g->h.b;
  surg__built y = surg__built_cast(b, past, SURG_INT32);
  if (g->bits == 4) y = surg__built_number(b, "Sub", surg__built_nibbles(b, y, g->size), 8);
  y = surg__built_cast(b, y, SURG_FLOAT);
  y.rank = 4;
  for (uint32_t i = 0; i < 3; i++) y.d[i] = past.d[i];
  y.d[3] = surg__bdim_fixed(g->size);
  return y;
}

/* The cache of these integers. */
static surg__built cache_of(const group *g, surg__built codes) {
  surg__builder *b = g->h.b;
  if (g->bits == 8) return surg__built_cast(b, codes, SURG_INT8);
  const surg__bdim apart[5] = {codes.d[0], codes.d[1], codes.d[2], surg__bdim_fixed(g->size / 2),
                               surg__bdim_fixed(2)};
  surg__built x = surg__built_cast(b, surg__built_number(b, "Add", codes, 8), SURG_INT32);
  x = surg__built_reshape(b, x, apart, 5);
  const surg__bdim middle = surg__bdim_fixed(1);
  const surg__built low = surg__built_slice(b, x, 4, surg__bdim_fixed(0), middle);
  surg__built high = surg__built_slice(b, x, 4, middle, surg__bdim_fixed(2));
  high = surg__built_number(b, "Mul", high, 16);
  x = surg__built_reshape(b, surg__built_binary(b, "Add", low, high), apart, 4);
  return surg__built_cast(b, x, SURG_UINT8);
}

/* Keys or values of all positions, of which the cache `name` becomes the present: all are
 * quantized, new ones too. */
static surg__built through_cache(const group *g, surg__built past, surg__built x, surg__built scale,
                                 const char *name) {
  surg__builder *b = g->h.b;
  const double most = g->bits == 8 ? 127 : 7;
  surg__bdim d[4] = {surg__bdim_fixed(1), surg__bdim_fixed(1), surg__bdim_fixed(1),
                     surg__bdim_fixed(1)};
  uint64_t count = 1;
  (void)surg__built_count(&scale, SURG_LIMIT_EMIT_CONSTANT, &count);
  if (count > 1) d[1] = surg__bdim_fixed(g->h.kv_count);
  if (count > 1) d[3] = surg__bdim_fixed(g->size);
  scale = surg__built_reshape(b, scale, d, 4);
  surg__built fresh = surg__built_unary(b, "Round", surg__built_binary(b, "Div", x, scale));
  fresh = surg__built_number(b, "Max", fresh, -most - 1);
  fresh = surg__built_number(b, "Min", fresh, most);
  memcpy(fresh.d, x.d, sizeof fresh.d);
  const surg__built all = joined(g, codes_of(g, past), fresh);
  surg__built_result(b, name, cache_of(g, all));
  surg__built y = surg__built_binary(b, "Mul", all, scale);
  memcpy(y.d, all.d, sizeof y.d);
  return y;
}

/* The positions of the queries: int64 [batch or 1, queries]. */
static surg__built query_places(const group *g) {
  surg__builder *b = g->h.b;
  const surg__built i = surg__built_range(b, g->q.d[1], SURG_INT64);
  if (!g->before.v) return surg__built_unsqueeze(b, i, 0);
  return surg__built_binary(b, "Add", i, g->before);
}

/* The positions that are given. Of a first prompt only the first counts, others follow from it. */
static surg__built given_places(const group *g) {
  surg__builder *b = g->h.b;
  const surg__built given = surg__built_cast(b, g->places, SURG_INT64);
  const surg__built zero = surg__built_scalar(b, SURG_INT64, 0);
  surg__built first = surg__built_gather(b, surg__built_gather(b, given, zero, 0), zero, 0);
  first = surg__built_binary(b, "Add", surg__built_range(b, g->q.d[1], SURG_INT64), first);
  first = surg__built_unsqueeze(b, first, 0);
  if (!g->prompt.v) return first;
  surg__built y = surg__built_where(b, g->prompt, first, given);
  y.rank = 2;
  y.d[0] = given.d[0];
  y.d[1] = g->q.d[1];
  return y;
}

static void rotate_both(group *g, surg__built at) {
  surg__builder *b = g->h.b;
  if (!g->cos.v) return;
  const bool pairs = surg_node_int(g->h.n, "rotary_interleaved", 0) != 0;
  if (g->places.v) at = given_places(g);
  surg__built cos = surg__built_gather(b, surg__built_cast(b, g->cos, SURG_FLOAT), at, 0);
  surg__built sin = surg__built_gather(b, surg__built_cast(b, g->sin, SURG_FLOAT), at, 0);
  cos = surg__built_unsqueeze(b, cos, 1);
  sin = surg__built_unsqueeze(b, sin, 1);
  g->h.q = surg__heads_rotate(b, g->h.q, cos, sin, pairs);
  g->h.k = surg__heads_rotate(b, g->h.k, cos, sin, pairs);
}

static void find_visible(group *g, surg__built at) {
  surg__builder *b = g->h.b;
  const surg__built j = surg__built_range(b, g->keys, SURG_INT64);
  at = surg__built_unsqueeze(b, surg__built_unsqueeze(b, at, 1), 3); /* [batch, 1, queries, 1] */
  surg__built hidden = surg__built_binary(b, "Less", at, j);
  if (g->window > 0) {
    const surg__built from = surg__built_number(b, "Sub", at, (double)(g->window - 1));
    hidden = surg__built_binary(b, "Or", hidden, surg__built_binary(b, "Less", j, from));
  }
  g->h.visible = surg__built_unary(b, "Not", hidden);
}

static void find_sink(group *g) {
  surg__builder *b = g->h.b;
  const surg__bdim one = surg__bdim_fixed(1);
  const surg__bdim d[4] = {one, surg__bdim_fixed(g->h.count), one, one};
  if (g->h.sink.v)
    g->h.sink = surg__built_reshape(b, surg__built_cast(b, g->h.sink, SURG_FLOAT), d, 4);
  else if (surg_node_int(g->h.n, "smooth_softmax", -1) == 1)
    g->h.sink = surg__built_fill(b, SURG_FLOAT, 0, d, 4);
}

static void make_sides(group *g) {
  surg__builder *b = g->h.b;
  surg__heads *h = &g->h;
  const int64_t key = h->count * g->size, value = key + h->kv_count * g->size;
  surg__built q = g->q, k = g->k, v = g->v;
  if (!k.v) {
    const surg__bdim all = g->q.d[2];
    q = surg__built_slice(b, g->q, 2, surg__bdim_fixed(0), surg__bdim_fixed(key));
    k = surg__built_slice(b, g->q, 2, surg__bdim_fixed(key), surg__bdim_fixed(value));
    v = surg__built_slice(b, g->q, 2, surg__bdim_fixed(value), all);
  }
  k.d[1] = v.d[1] = q.d[1];
  h->q = surg__heads_apart(b, q, h->count);
  h->k = surg__heads_apart(b, k, h->kv_count);
  h->v = surg__heads_apart(b, v, h->kv_count);
}

/* y, pk, pv = GroupQueryAttention (q, k, v, past_k, past_v, lengths, whole, cos, sin, places, ab,
 * sink, ks, vs) */
static surg_status group_to_products(surg__builder *b) {
  group g = {.h = {.b = b, .n = surg__b_matched(b)}};
  g.h.count = surg_node_int(g.h.n, "num_heads", 0);
  g.h.kv_count = surg_node_int(g.h.n, "kv_num_heads", 0);
  if (!surg__b_attrs_known(b) || g.h.count < 1 || g.h.kv_count < 1 || g.h.count % g.h.kv_count ||
      g.h.count > INT32_MAX || !read_sizes(&g) || !read_past(&g) || !read_tables(&g) ||
      !read_rest(&g))
    return SURG_EUNSUPPORTED;
  g.h.type = g.q.dtype;
  make_sides(&g);
  find_before(&g);
  const surg__built at = query_places(&g);
  rotate_both(&g, at);
  if (g.bits) {
    g.h.k = through_cache(&g, g.past_k, g.h.k, g.k_scale, "pk");
    g.h.v = through_cache(&g, g.past_v, g.h.v, g.v_scale, "pv");
  } else {
    g.h.k = joined(&g, g.past_k, g.h.k);
    g.h.v = joined(&g, g.past_v, g.h.v);
    g.h.k = surg__heads_present(&g.h, "pk", g.h.k);
    g.h.v = surg__heads_present(&g.h, "pv", g.h.v);
  }
  if (!surg__b_get(b, "y")) return b->status;
  find_visible(&g, at);
  find_sink(&g);
  return surg__heads_attend(&g.h);
}

/* --- RotaryEmbedding --- */

typedef struct rotation {
  surg__built x, at, cos, sin;
  int64_t size, half;
} rotation;

static bool read_rotation(surg__builder *b, rotation *r) {
  const surg_node *n = surg__b_matched(b);
  const int64_t heads = surg_node_int(n, "num_heads", 0);
  const int64_t part = surg_node_int(n, "rotary_embedding_dim", 0);
  if (!surg__b_attrs_known(b) || !surg__built_get(b, "x", &r->x) ||
      !surg__built_get(b, "at", &r->at) || !surg__built_get(b, "cos", &r->cos) ||
      !surg__built_get(b, "sin", &r->sin) ||
      surg__b_bad(b, surg_node_int(n, "is_packed_batching", 0), "packed batches are unsupported") ||
      surg__b_bad(b, r->x.rank != 3 && r->x.rank != 4, "x: expected rank 3 or 4") ||
      surg__b_bad(b, r->cos.rank != 2 || r->sin.rank != 2, "tables: expected rank 2") ||
      surg__b_bad(b, r->at.rank != 1 && r->at.rank != 2, "positions: expected rank 1 or 2"))
    return false;
  const int64_t width = r->x.d[r->x.rank - 1].n;
  r->half = r->cos.d[1].n;
  r->size = r->x.rank == 4 ? width : heads > 0 ? width / heads : 2 * r->half;
  if (surg__b_bad(b, r->half < 1 || width < 1 || r->size < 1 || width % r->size,
                  "the sizes of input or tables are unknown or do not fit"))
    return false;
  /* A vector of one position is where the first one is; its size must be known. */
  const bool first = r->at.rank == 1 && r->at.d[0].n == 1;
  return !surg__b_bad(b, r->at.rank == 1 && !first, "positions: expected one, or rank 2") &&
         !surg__b_bad(b, r->half > r->size / 2 || (part > 0 && part != 2 * r->half),
                      "the tables do not fit the heads");
}

/* y = RotaryEmbedding (x, at, cos, sin). For x of rank 3 the heads are the axis after the
 * positions. */
static surg_status rotation_to_products(surg__builder *b) {
  rotation r;
  if (!read_rotation(b, &r)) return SURG_EUNSUPPORTED;
  const bool flat = r.x.rank == 3;
  const surg__bdim apart[4] = {r.x.d[0], r.x.d[1], surg__bdim_fixed(r.x.d[2].n / r.size),
                               surg__bdim_fixed(r.size)};
  surg__built x = surg__built_cast(b, r.x, SURG_FLOAT), at = r.at;
  if (flat) x = surg__built_reshape(b, x, apart, 4);
  if (at.rank == 1) {
    const surg__built i = surg__built_range(b, x.d[flat ? 1 : 2], SURG_INT64);
    at = surg__built_unsqueeze(b, surg__built_binary(b, "Add", i, at), 0);
    at.d[0] = surg__bdim_fixed(1);
    at.d[1] = x.d[flat ? 1 : 2];
  }
  surg__built cos = surg__built_gather(b, surg__built_cast(b, r.cos, SURG_FLOAT), at, 0);
  surg__built sin = surg__built_gather(b, surg__built_cast(b, r.sin, SURG_FLOAT), at, 0);
  cos = surg__built_unsqueeze(b, cos, flat ? 2 : 1);
  sin = surg__built_unsqueeze(b, sin, flat ? 2 : 1);
  const bool pairs = surg_node_int(surg__b_matched(b), "interleaved", 0) != 0;
  x = surg__heads_rotate(b, x, cos, sin, pairs);
  x = surg__built_reshape(b, x, r.x.d, r.x.rank);
  surg__built_result(b, "y", surg__built_cast(b, x, r.x.dtype));
  return b->status;
}

/* --- rotation of pairs of elements --- */

/* Element i of each of `half` pairs along the last axis. */
static surg__built pair_part(surg__builder *b, surg__built x, int64_t half, int64_t i,
                             bool interleaved) {
  if (!interleaved)
    return surg__built_slice(b, x, 3, surg__bdim_fixed(i * half), surg__bdim_fixed((i + 1) * half));
  const surg__bdim apart[5] = {x.d[0], x.d[1], x.d[2], surg__bdim_fixed(half), surg__bdim_fixed(2)};
  const surg__bdim d[4] = {x.d[0], x.d[1], x.d[2], surg__bdim_fixed(half)};
  x = surg__built_reshape(b, x, apart, 5);
  x = surg__built_slice(b, x, 4, surg__bdim_fixed(i), surg__bdim_fixed(i + 1));
  return surg__built_reshape(b, x, d, 4);
}

surg__built surg__heads_rotate(surg__builder *b, surg__built x, surg__built cos, surg__built sin,
                               bool interleaved) {
  const int64_t half = cos.d[3].n, size = x.d[3].n;
  assert(b->status || (half > 0 && half <= size / 2)); /* checked by the callers */
  const surg__built front =
      surg__built_slice(b, x, 3, surg__bdim_fixed(0), surg__bdim_fixed(2 * half));
  const surg__built p = pair_part(b, front, half, 0, interleaved);
  const surg__built q = pair_part(b, front, half, 1, interleaved);
  const surg__built pc = surg__built_binary(b, "Mul", p, cos);
  surg__built re = surg__built_binary(b, "Sub", pc, surg__built_binary(b, "Mul", q, sin));
  const surg__built qc = surg__built_binary(b, "Mul", q, cos);
  surg__built im = surg__built_binary(b, "Add", qc, surg__built_binary(b, "Mul", p, sin));
  for (uint32_t i = 0; i < 3; i++) re.d[i] = im.d[i] = x.d[i];
  surg__built all[3] = {re, im};
  size_t n = 2;
  if (interleaved) {
    const surg__built first = surg__built_unsqueeze(b, re, 4);
    const surg__built pairs[2] = {first, surg__built_unsqueeze(b, im, 4)};
    const surg__bdim d[4] = {x.d[0], x.d[1], x.d[2], surg__bdim_fixed(2 * half)};
    all[0] = surg__built_reshape(b, surg__built_concat(b, pairs, 2, 4), d, 4);
    n = 1;
  }
  if (2 * half < size)
    all[n++] = surg__built_slice(b, x, 3, surg__bdim_fixed(2 * half), surg__bdim_fixed(size));
  return surg__built_concat(b, all, n, 3);
}

const surg__native surg__natives_heads_group[] = {
    {"ms_group_query", group_to_products, "GroupQueryAttention of ONNX Runtime as products"},
    {"ms_rotary", rotation_to_products, "RotaryEmbedding of ONNX Runtime as products"},
    {NULL, NULL, NULL},
};
