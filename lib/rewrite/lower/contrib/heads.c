/* SPDX-License-Identifier: Apache-2.0 */
/* Attention, QAttention and MultiHeadAttention of com.microsoft as products and a softmax, computed
 * in float, equivalent to lib/eval/contrib/contrib_attention.c. */
#include "rewrite/lower/contrib/heads.h"

#include <math.h>

#define MOST_QUERIES 512          /* whose positions are listed */
#define HIDDEN (-0x1.fffffep+127) /* the score of a key out of sight, as the runtime shows it */

bool surg__heads_is_float(int dtype) {
  return dtype == SURG_FLOAT || dtype == SURG_FLOAT16 || dtype == SURG_BFLOAT16;
}

double surg__heads_scale(const surg_node *n, int64_t size) {
  const double scale = surg_node_float(n, "scale", 0);
  return scale != 0 ? scale : 1 / sqrt((double)size);
}

surg__built surg__heads_apart(surg__builder *b, surg__built x, int64_t heads) {
  assert(b->status || (heads > 0 && x.d[2].n % heads == 0)); /* checked by the callers */
  const surg__bdim d[4] = {x.d[0], x.d[1], surg__bdim_fixed(heads),
                           surg__bdim_fixed(x.d[2].n / heads)};
  x = surg__built_cast(b, x, SURG_FLOAT);
  return surg__built_swap(b, surg__built_reshape(b, x, d, 4), 1, 2);
}

surg__built surg__heads_present(const surg__heads *h, const char *name, surg__built x) {
  if (!surg__b_get(h->b, name)) return x;
  const surg__built out = surg__built_cast(h->b, x, h->type);
  const surg__built named = surg__built_result(h->b, name, out);
  return out.v == x.v ? named : x;
}

/* --- scores and their softmax --- */

/* The rows of the query heads that share a key head as rows of one matrix. */
static surg__built grouped(const surg__heads *h, surg__built x) {
  const surg__bdim group = surg__bdim_fixed(h->count / h->kv_count);
  if (group.n == 1) return x;
  const surg__bdim d[4] = {x.d[0], surg__bdim_fixed(h->kv_count),
                           surg__bdim_mul(h->b, group, x.d[2]), x.d[3]};
  return surg__built_reshape(h->b, x, d, 4);
}

static surg__built ungrouped(const surg__heads *h, surg__built x) {
  const surg__bdim d[4] = {h->q.d[0], surg__bdim_fixed(h->count), h->q.d[2], x.d[3]};
  return h->count == h->kv_count ? x : surg__built_reshape(h->b, x, d, 4);
}

/* Appends the score of the sink, computes the softmax, and drops the share of the sink. */
static surg__built with_sink(const surg__heads *h, surg__built scores) {
  surg__builder *b = h->b;
  surg__bdim d[4] = {scores.d[0], scores.d[1], scores.d[2], surg__bdim_fixed(1)};
  const surg__built both[2] = {scores, surg__built_expand(b, h->sink, d, 4)};
  surg__built all = surg__built_softmax(b, surg__built_concat(b, both, 2, 3));
  return surg__built_slice(b, all, 3, surg__bdim_fixed(0), scores.d[3]);
}

static surg__built scored(const surg__heads *h) {
  surg__builder *b = h->b;
  surg__built s = grouped(h, surg__built_number(b, "Mul", h->q, h->scale));
  s = ungrouped(h, surg__built_matmul(b, s, surg__built_swap(b, h->k, 2, 3)));
  if (h->softcap > 0) {
    s = surg__built_unary(b, "Tanh", surg__built_number(b, "Div", s, h->softcap));
    s = surg__built_number(b, "Mul", s, h->softcap);
  }
  if (h->hides.v) {
    const surg__built filter = surg__built_scalar(b, SURG_FLOAT, h->filter);
    const surg__built none = surg__built_scalar(b, SURG_FLOAT, 0);
    s = surg__built_binary(b, "Add", s, surg__built_where(b, h->hides, filter, none));
  }
  if (h->bias.v) s = surg__built_binary(b, "Add", s, surg__built_cast(b, h->bias, SURG_FLOAT));
  const double hidden = h->shows ? HIDDEN : -INFINITY;
  if (h->visible.v)
    s = surg__built_where(b, h->visible, s, surg__built_scalar(b, SURG_FLOAT, hidden));
  return s;
}

surg_status surg__heads_attend(const surg__heads *h) {
  surg__builder *b = h->b;
  surg__built s = scored(h);
  if (h->shows) s = surg__heads_present(h, "qk", s);
  if (!surg__b_get(b, "y")) return b->status;
  s = h->sink.v ? with_sink(h, s) : surg__built_softmax(b, s);
  surg__built y = ungrouped(h, surg__built_matmul(b, grouped(h, s), h->v));
  const surg__bdim d[3] = {h->q.d[0], h->q.d[2],
                           surg__bdim_mul(b, surg__bdim_fixed(h->count), h->v.d[3])};
  y = surg__built_reshape(b, surg__built_swap(b, y, 1, 2), d, 3);
  surg__built_result(b, "y", surg__built_cast(b, y, h->type));
  return b->status;
}

/* --- masks --- */

/* Whether two sizes may be equal: one of them is unknown, or they are. */
static bool may_equal(const surg__bdim *x, const surg__bdim *y) {
  return x->n < 0 || y->n < 0 || x->n == y->n;
}

typedef struct mask {
  surg__built m; /* v NULL: absent, or without effect */
  surg__bdim batch, queries, past, fresh;
} mask;

/* Reads the mask: lengths [batch], ends and then starts [2 batch], or booleans [batch, keys],
 * [batch, queries, keys] or [batch, 1, most, most]. For rank 1 the size decides which form it is. A
 * single boolean for all keys changes nothing. */
static bool read_mask(surg__builder *b, mask *m) {
  if (!surg__b_get(b, "mask")) return true;
  if (!surg__built_get(b, "mask", &m->m)) return false;
  const surg__built *x = &m->m;
  if (surg__b_bad(b, x->dtype != SURG_INT32, "mask: expected int32")) return false;
  if (x->rank == 1)
    return !surg__b_bad(
        b,
        !surg__bdim_same(&x->d[0], &m->batch) &&
            (m->batch.n <= 0 || m->batch.n > INT32_MAX || x->d[0].n != 2 * m->batch.n),
        "mask: its size is not known to be the batch size or twice that");
  if (x->rank == 2 && x->d[1].n == 1 && (m->past.n != 0 || m->fresh.n != 1)) {
    m->m.v = NULL;
    return true;
  }
  if (surg__b_bad(b, x->rank < 2 || x->rank > 4, "mask: expected rank 1, 2, 3 or 4") ||
      surg__b_bad(b, !may_equal(&x->d[0], &m->batch), "mask: the batch size differs"))
    return false;
  if (x->rank == 4) return !surg__b_bad(b, x->d[1].n != 1, "mask: expected one head");
  const surg__bdim *last = &x->d[x->rank - 1];
  const bool open = m->past.n < 0 || m->fresh.n < 0;
  return !surg__b_bad(b,
                      (!open && last->n >= 0 && last->n != m->past.n + m->fresh.n) ||
                          (x->rank == 3 && !may_equal(&x->d[1], &m->queries)),
                      "mask: its sizes do not fit queries and keys");
}

/* [batch, 1, 1 or queries, keys]: whether a key is masked. */
static surg__built masked(surg__builder *b, const mask *m, surg__bdim keys) {
  surg__built x = m->m;
  if (x.rank == 4) {
    x = surg__built_slice(b, x, 2, m->past, surg__bdim_add(b, m->past, m->queries));
    x = surg__built_slice(b, x, 3, surg__bdim_fixed(0), keys);
  }
  if (x.rank > 1) {
    x = surg__built_unary(b, "Not", surg__built_number(b, "Greater", x, 0));
    while (x.rank < 4) x = surg__built_unsqueeze(b, x, 1);
    return x;
  }
  const bool starts = !surg__bdim_same(&x.d[0], &m->batch);
  const surg__built j = surg__built_range(b, keys, SURG_INT32);
  const surg__built ends = starts ? surg__built_slice(b, x, 0, surg__bdim_fixed(0), m->batch) : x;
  surg__built hides = surg__built_unary(
      b, "Not", surg__built_binary(b, "Less", j, surg__built_unsqueeze(b, ends, 1)));
  if (starts) {
    const surg__built from = surg__built_slice(b, x, 0, m->batch, surg__bdim_fixed(2 * m->batch.n));
    const surg__built early = surg__built_binary(b, "Less", j, surg__built_unsqueeze(b, from, 1));
    hides = surg__built_binary(b, "Or", hides, early);
  }
  return surg__built_unsqueeze(b, surg__built_unsqueeze(b, hides, 1), 1);
}

/* 0, 1, ... for the queries; the last one, and with it a single one, is at the end of the keys,
 * also where there are more of those. */
static surg__built places(surg__builder *b, surg__bdim queries, bool last_at_end) {
  double numbers[MOST_QUERIES];
  if (!last_at_end || queries.n < 1 || queries.n > MOST_QUERIES)
    return surg__built_range(b, queries, SURG_INT64);
  for (int64_t i = 0; i < queries.n; i++) numbers[i] = i + 1 < queries.n ? (double)i : INT32_MAX;
  return surg__built_numbers(b, SURG_INT64, &queries.n, 1, numbers);
}

/* [queries, keys]: a query sees the keys up to its own position. */
static surg__built up_to_now(surg__builder *b, surg__bdim queries, surg__bdim past, surg__bdim keys,
                             bool last_at_end) {
  surg__built i = places(b, queries, last_at_end);
  if (past.n != 0) i = surg__built_binary(b, "Add", i, surg__bdim_scalar(b, past, SURG_INT64));
  const surg__built j = surg__built_range(b, keys, SURG_INT64);
  return surg__built_unary(b, "Not",
                           surg__built_binary(b, "Less", surg__built_unsqueeze(b, i, 1), j));
}

static surg_status attend_masked(surg__heads *h, const mask *m) {
  surg__builder *b = h->b;
  h->filter = surg_node_float(h->n, "mask_filter_value", -10000);
  if (m->m.v) h->hides = masked(b, m, h->k.d[2]);
  if (surg_node_int(h->n, "unidirectional", 0))
    h->visible =
        up_to_now(b, m->queries, m->past, h->k.d[2], !surg__bdim_same(&m->queries, &m->fresh));
  return surg__heads_attend(h);
}

static surg__built after(surg__builder *b, surg__built past, surg__built x) {
  if (!past.v) return x;
  const surg__built both[2] = {surg__built_cast(b, past, SURG_FLOAT), x};
  const surg__bdim all = surg__bdim_add(b, past.d[2], x.d[2]);
  x = surg__built_concat(b, both, 2, 2);
  x.d[2] = all;
  return x;
}

/* --- MultiHeadAttention --- */

typedef struct multi {
  surg__heads h;
  surg__built q, k, v, bias, past_k, past_v;
  int64_t size, v_size;
  bool made; /* keys and values have rank 4: computed elsewhere, bias included */
} multi;

static bool read_optional(const surg__builder *b, const char *name, uint32_t rank,
                          surg__built *out) {
  if (!surg__b_get(b, name)) return true;
  return surg__built_get(b, name, out) &&
         !surg__b_bad(b, out->rank != rank, "an input has an unexpected rank");
}

/* Reads the sizes of the heads. Query, key and value may be one tensor [batch, positions, heads, 3,
 * size], key and value one [batch, positions, heads, 2, size]. */
static bool read_multi(multi *m) {
  surg__builder *b = m->h.b;
  const int64_t heads = m->h.count;
  if (!surg__built_get(b, "q", &m->q)) return false;
  if (m->q.rank == 5) {
    m->size = m->v_size = m->q.d[4].n;
    return !surg__b_bad(b, m->q.d[2].n != heads || m->q.d[3].n != 3 || m->size < 1,
                        "q: expected [batch, positions, heads, 3, size]");
  }
  if (surg__b_bad(b, m->q.rank != 3, "q: expected rank 3 or 5") || !surg__built_get(b, "k", &m->k))
    return false;
  m->size = m->q.d[2].n / heads;
  if (m->k.rank == 5) {
    m->v_size = m->k.d[4].n;
    if (surg__b_bad(b, m->k.d[2].n != heads || m->k.d[3].n != 2 || m->v_size != m->size,
                    "k: expected [batch, positions, heads, 2, size]"))
      return false;
  } else {
    if (!surg__built_get(b, "v", &m->v) ||
        surg__b_bad(b, (m->k.rank != 3 && m->k.rank != 4) || m->v.rank != m->k.rank,
                    "k and v: expected rank 3 or 4"))
      return false;
    m->made = m->k.rank == 4;
    const surg__bdim *k = &m->k.d[m->k.rank - 1], *v = &m->v.d[m->v.rank - 1];
    m->v_size = m->made ? v->n : v->n / heads;
    if (surg__b_bad(b, v->n < 1 || k->n < 1 || (!m->made && (v->n % heads || k->n % heads)),
                    "the hidden sizes are unknown or no multiple of num_heads") ||
        surg__b_bad(b, (m->made ? k->n : k->n / heads) != m->size,
                    "queries and keys have different sizes"))
      return false;
  }
  return !surg__b_bad(b, m->q.d[2].n < heads || m->q.d[2].n % heads,
                      "the hidden sizes are unknown or no multiple of num_heads");
}

static bool read_multi_rest(multi *m) {
  surg__builder *b = m->h.b;
  if (!read_optional(b, "bias", 1, &m->bias) || !read_optional(b, "ab", 4, &m->h.bias) ||
      !read_optional(b, "past_k", 4, &m->past_k) || !read_optional(b, "past_v", 4, &m->past_v) ||
      surg__b_bad(b, !m->past_k.v != !m->past_v.v, "past keys or values are absent"))
    return false;
  /* Keys of rank 4 are complete: the inputs that describe a past buffer have no effect. */
  const bool buffers = surg__b_get(b, "plen") || surg__b_get(b, "beams");
  return !surg__b_bad(b, buffers && !(m->made && !m->past_k.v),
                      "a buffer for past and present is unsupported") &&
         !surg__b_bad(b, m->bias.v && m->bias.d[0].n != m->h.count * (2 * m->size + m->v_size),
                      "bias: expected the sum of the hidden sizes") &&
         !surg__b_bad(b, !surg__heads_is_float(m->q.dtype), "q: expected floats");
}

/* Part i of n of a tensor [batch, positions, heads, n, size]. */
static surg__built part_of(surg__builder *b, surg__built x, int64_t i) {
  const surg__bdim d[4] = {x.d[0], x.d[1], x.d[2], x.d[4]};
  x = surg__built_slice(b, x, 3, surg__bdim_fixed(i), surg__bdim_fixed(i + 1));
  x = surg__built_cast(b, surg__built_reshape(b, x, d, 4), SURG_FLOAT);
  return surg__built_swap(b, x, 1, 2);
}

/* x [batch, heads, positions, size] plus heads * size elements of the bias from `from` on. */
static surg__built biased(const multi *m, surg__built x, int64_t from, int64_t size) {
  surg__builder *b = m->h.b;
  if (!m->bias.v) return x;
  const int64_t n = m->h.count * size;
  const surg__bdim d[3] = {surg__bdim_fixed(m->h.count), surg__bdim_fixed(1),
                           surg__bdim_fixed(size)};
  surg__built part =
      surg__built_slice(b, m->bias, 0, surg__bdim_fixed(from), surg__bdim_fixed(from + n));
  part = surg__built_reshape(b, surg__built_cast(b, part, SURG_FLOAT), d, 3);
  return surg__built_binary(b, "Add", x, part);
}

static void make_sides(multi *m) {
  surg__builder *b = m->h.b;
  surg__heads *h = &m->h;
  const int64_t keys = h->count * m->size;
  if (m->q.rank == 5) {
    h->q = part_of(b, m->q, 0);
    h->k = part_of(b, m->q, 1);
    h->v = part_of(b, m->q, 2);
  } else {
    h->q = surg__heads_apart(b, m->q, h->count);
    if (m->k.rank == 5) {
      h->k = part_of(b, m->k, 0);
      h->v = part_of(b, m->k, 1);
    } else {
      h->k = m->made ? surg__built_cast(b, m->k, SURG_FLOAT) : surg__heads_apart(b, m->k, h->count);
      h->v = m->made ? surg__built_cast(b, m->v, SURG_FLOAT) : surg__heads_apart(b, m->v, h->count);
    }
  }
  h->q = biased(m, h->q, 0, m->size);
  if (!m->made) {
    h->k = biased(m, h->k, keys, m->size);
    h->v = biased(m, h->v, 2 * keys, m->v_size);
  }
  h->v.d[3] = surg__bdim_fixed(m->v_size);
  h->k = after(b, m->past_k, h->k);
  h->v = after(b, m->past_v, h->v);
  h->v.d[2] = h->k.d[2];
}

/* y, pk, pv, qk = MultiHeadAttention (q, k, v, bias, mask, ab, past_k, past_v, plen, beams) */
static surg_status heads_to_products(surg__builder *b) {
  multi m = {.h = {.b = b, .n = surg__b_matched(b)}};
  m.h.count = m.h.kv_count = surg_node_int(m.h.n, "num_heads", 0);
  if (!surg__b_attrs_known(b) || m.h.count < 1 || !read_multi(&m) || !read_multi_rest(&m))
    return SURG_EUNSUPPORTED;
  const surg__bdim fresh = m.q.rank == 5 ? m.q.d[1] : m.k.d[m.made ? 2 : 1];
  mask of = {.batch = m.q.d[0], .queries = m.q.d[1], .fresh = fresh};
  of.past = m.past_k.v ? m.past_k.d[2] : surg__bdim_fixed(0);
  if (!read_mask(b, &of) ||
      surg__b_bad(b,
                  surg_node_int(m.h.n, "unidirectional", 0) &&
                      (of.queries.n < 1 || of.queries.n > MOST_QUERIES) &&
                      !surg__bdim_same(&of.queries, &fresh),
                  "unidirectional: expected as many queries as keys, or a known number of queries"))
    return SURG_EUNSUPPORTED;
  m.h.type = m.q.dtype;
  m.h.scale = surg__heads_scale(m.h.n, m.size);
  m.h.shows = surg__b_get(b, "qk") != NULL;
  make_sides(&m);
  m.h.k = surg__heads_present(&m.h, "pk", m.h.k);
  m.h.v = surg__heads_present(&m.h, "pv", m.h.v);
  return attend_masked(&m.h, &of);
}

/* --- Attention, QAttention --- */

typedef struct projected {
  surg__heads h;
  surg__built x, w, bias, past;
  int64_t sizes[3]; /* of query, key and value */
} projected;

static bool read_widths(projected *p) {
  surg__builder *b = p->h.b;
  const int64_t columns = p->w.d[1].n, heads = p->h.count;
  size_t n = 0;
  const int64_t *sizes = surg_node_ints(p->h.n, "qkv_hidden_sizes", &n);
  if (surg__b_bad(b, columns < 1, "w: a size is unknown or 0") ||
      surg__b_bad(b, sizes && n != 3, "qkv_hidden_sizes: expected 3 integers"))
    return false;
  for (int i = 0; i < 3; i++) {
    p->sizes[i] = sizes ? sizes[i] : columns / 3;
    if (surg__b_bad(b, p->sizes[i] < heads || p->sizes[i] % heads || p->sizes[i] > columns,
                    "the hidden sizes are not a multiple of num_heads"))
      return false;
  }
  return !surg__b_bad(b, p->sizes[0] != p->sizes[1] || 2 * p->sizes[0] + p->sizes[2] != columns,
                      "the hidden sizes do not fit the weights");
}

static bool read_projected(projected *p) {
  surg__builder *b = p->h.b;
  const surg_node *n = p->h.n;
  p->h.count = p->h.kv_count = surg_node_int(n, "num_heads", 0);
  if (!surg__b_attrs_known(b) || p->h.count < 1 || !surg__built_get(b, "x", &p->x) ||
      !surg__built_get(b, "w", &p->w) || surg__b_bad(b, p->x.rank != 3, "x: expected rank 3") ||
      surg__b_bad(b, p->w.rank != 2, "w: expected rank 2") ||
      surg__b_bad(b, surg_node_int(n, "do_rotary", 0), "do_rotary is unsupported") ||
      surg__b_bad(b, surg_node_int(n, "past_present_share_buffer", 0),
                  "a buffer for past and present is unsupported") ||
      !read_widths(p) || !read_optional(b, "bias", 1, &p->bias) ||
      !read_optional(b, "past", 5, &p->past))
    return false;
  const bool states = p->past.v || surg__b_get(b, "present");
  return !surg__b_bad(b, p->bias.v && p->bias.d[0].n != p->w.d[1].n,
                      "bias: expected the columns of the weights") &&
         !surg__b_bad(b, states && p->sizes[0] != p->sizes[2],
                      "past and present: keys and values have different sizes");
}

/* Keys (0) or values (1) of the past [2, batch, heads, positions, size]. */
static surg__built past_part(const projected *p, int64_t i) {
  surg__builder *b = p->h.b;
  if (!p->past.v) return (surg__built){0};
  surg__built x = surg__built_slice(b, p->past, 0, surg__bdim_fixed(i), surg__bdim_fixed(i + 1));
  return surg__built_reshape(b, x, x.d + 1, 4);
}

/* `all`: the projection of the input, [batch, positions, columns]. */
static surg_status attend_projected(projected *p, surg__built all, const mask *m) {
  surg__builder *b = p->h.b;
  surg__heads *h = &p->h;
  const int64_t key = p->sizes[0], value = 2 * p->sizes[0];
  if (p->bias.v) all = surg__built_binary(b, "Add", all, surg__built_cast(b, p->bias, SURG_FLOAT));
  h->scale = surg__heads_scale(h->n, key / h->count);
  const surg__built q = surg__built_slice(b, all, 2, surg__bdim_fixed(0), surg__bdim_fixed(key));
  const surg__built k =
      surg__built_slice(b, all, 2, surg__bdim_fixed(key), surg__bdim_fixed(value));
  const surg__built v =
      surg__built_slice(b, all, 2, surg__bdim_fixed(value), surg__bdim_fixed(all.d[2].n));
  h->q = surg__heads_apart(b, q, h->count);
  h->k = surg__heads_apart(b, k, h->count);
  h->k = after(b, past_part(p, 0), h->k);
  h->v = surg__heads_apart(b, v, h->count);
  h->v = after(b, past_part(p, 1), h->v);
  h->v.d[2] = h->k.d[2];
  if (surg__b_get(b, "present")) {
    const surg__built keys = surg__built_unsqueeze(b, h->k, 0);
    const surg__built both[2] = {keys, surg__built_unsqueeze(b, h->v, 0)};
    surg__heads_present(h, "present", surg__built_concat(b, both, 2, 0));
  }
  return attend_masked(h, m);
}

static mask mask_of(const projected *p) {
  return (mask){.batch = p->x.d[0],
                .queries = p->x.d[1],
                .fresh = p->x.d[1],
                .past = p->past.v ? p->past.d[3] : surg__bdim_fixed(0)};
}

/* y, present = Attention (x, w, bias, mask, past, ab) */
static surg_status attention_of_weights(surg__builder *b) {
  projected p = {.h = {.b = b, .n = surg__b_matched(b)}};
  if (!read_projected(&p) || !read_optional(b, "ab", 4, &p.h.bias) ||
      surg__b_bad(b, !surg__heads_is_float(p.x.dtype), "x: expected floats"))
    return SURG_EUNSUPPORTED;
  mask m = mask_of(&p);
  if (!read_mask(b, &m)) return SURG_EUNSUPPORTED;
  p.h.type = p.x.dtype;
  const surg__built x = surg__built_cast(b, p.x, SURG_FLOAT);
  return attend_projected(&p, surg__built_matmul(b, x, surg__built_cast(b, p.w, SURG_FLOAT)), &m);
}

/* A scale or zero point as a scalar, or as a vector of the columns. */
static bool read_step(surg__builder *b, const char *name, int64_t columns, surg__built *out) {
  if (!surg__b_get(b, name)) return true;
  uint64_t n;
  if (!surg__built_get(b, name, out)) return false;
  const bool fits = surg__built_count(out, INT32_MAX, &n) &&
                    (n == 1 || (out->rank == 1 && (int64_t)n == columns));
  return !surg__b_bad(b, !fits, "a scale or zero point is not a number");
}

static surg__built flat(surg__builder *b, surg__built x) {
  const surg__bdim d[1] = {x.rank == 1 ? x.d[0] : surg__bdim_fixed(1)};
  return surg__built_reshape(b, x, d, 1);
}

/* y, present = QAttention (x, w, bias, xs, ws, mask, xz, wz, past) */
static surg_status attention_of_bytes(surg__builder *b) {
  projected p = {.h = {.b = b, .n = surg__b_matched(b)}};
  surg__built xs = {0}, ws = {0}, xz = {0}, wz = {0}, bias;
  if (!read_projected(&p) || !surg__built_get(b, "bias", &bias)) return SURG_EUNSUPPORTED;
  const int64_t columns = p.w.d[1].n;
  mask m = mask_of(&p);
  if (!read_mask(b, &m) || !read_step(b, "xs", 1, &xs) || !read_step(b, "ws", columns, &ws) ||
      !read_step(b, "xz", 1, &xz) || !read_step(b, "wz", columns, &wz))
    return SURG_EUNSUPPORTED;
  p.h.type = bias.dtype;
  const surg__built zero =
      xz.v ? surg__built_reshape(b, xz, NULL, 0) : surg__built_scalar(b, p.x.dtype, 0);
  if (wz.v) wz = wz.d[0].n == 1 || !wz.rank ? surg__built_reshape(b, wz, NULL, 0) : wz;
  surg_value *const in[4] = {p.x.v, p.w.v, zero.v, wz.v};
  surg__built all = {.v = surg__b_node(b, "MatMulInteger", in, wz.v ? 4 : 3),
                     .dtype = SURG_INT32,
                     .rank = 3,
                     .d = {p.x.d[0], p.x.d[1], p.w.d[1]}};
  xs = surg__built_cast(b, flat(b, xs), SURG_FLOAT);
  ws = surg__built_cast(b, flat(b, ws), SURG_FLOAT);
  const surg__built step = surg__built_binary(b, "Mul", xs, ws);
  all = surg__built_binary(b, "Mul", surg__built_cast(b, all, SURG_FLOAT), step);
  return attend_projected(&p, all, &m);
}

const surg__native surg__natives_heads[] = {
    {"ms_heads", heads_to_products, "MultiHeadAttention of ONNX Runtime as products"},
    {"ms_attention", attention_of_weights, "Attention of ONNX Runtime as products"},
    {"ms_qattention", attention_of_bytes, "QAttention of ONNX Runtime as products"},
    {NULL, NULL, NULL},
};
