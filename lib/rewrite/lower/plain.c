/* SPDX-License-Identifier: Apache-2.0 */
/* Forms that need few operators, for runtimes that support little: rows selected by a matrix
 * product, Expand along one of two axes at a time, tensors concatenated from flat pieces. */
#include "base/counted.h"
#include "rewrite/lower/terms.h"

#define MOST_PIECES 128          /* per concatenated tensor */
#define MOST_ELEMENTS (1u << 20) /* in total */

/* --- selection by a matrix product --- */

/* [.., n]: 1 where the integer in `w`, which is repeated n times, is the index of the column;
 * negative indices count from the end, where they do so for the matched operator. */
static surg__built columns_hit(surg__builder *b, surg__built w, int64_t n, int dtype) {
  const bool negative = surg_graph_opset(b->m->g, "") >= 11;
  surg__built hit[2] = {{0}};
  double *at = surg__arena_array(b->m->arena, (size_t)n, sizeof *at);
  if (!at) b->status = SURG_ENOMEM;
  for (int end = 0; end < 1 + negative && at; end++) {
    for (int64_t i = 0; i < n; i++) at[i] = (double)(end ? i - n : i);
    const surg__built number = surg__built_numbers(b, SURG_INT64, &n, 1, at);
    hit[end] = surg__built_cast(b, surg__built_binary(b, "Equal", w, number), dtype);
  }
  return negative ? surg__built_binary(b, "Add", hit[0], hit[1]) : hit[0];
}

/* The same without comparisons, for floats: 1 less the distance to the index, or 0. */
static surg__built columns_near(surg__builder *b, surg__built w, int64_t n) {
  surg__built hit[2] = {{0}};
  double *at = surg__arena_array(b->m->arena, (size_t)n, sizeof *at);
  if (!at) b->status = SURG_ENOMEM;
  for (int end = 0; end < 2 && at; end++) {
    for (int64_t i = 0; i < n; i++) at[i] = (double)(end ? i - n : i);
    surg__built far = surg__built_numbers(b, SURG_FLOAT, &n, 1, at);
    far = surg__built_unary(b, "Abs", surg__built_binary(b, "Sub", w, far));
    far = surg__built_number(b, "Add", surg__built_unary(b, "Neg", far), 1);
    hit[end] = surg__built_unary(b, "Relu", far);
  }
  return surg__built_binary(b, "Add", hit[0], hit[1]);
}

/* Repeats each index n times along a new last axis, as floats. Uses a matrix product, which
 * these runtimes support. */
static surg__built indices_repeated(surg__builder *b, surg__built i, int64_t n, bool flat) {
  const surg__bdim row[2] = {surg__bdim_fixed(1), surg__bdim_fixed(n)};
  surg__built u = surg__built_cast(b, i, SURG_FLOAT);
  surg__bdim all = surg__bdim_fixed(1);
  for (uint32_t k = 0; k < i.rank; k++) all = surg__bdim_mul(b, all, i.d[k]);
  const surg__bdim column[2] = {all, surg__bdim_fixed(1)};
  u = flat ? surg__built_reshape(b, u, column, 2) : surg__built_unsqueeze(b, u, i.rank);
  return surg__built_matmul(b, u, surg__built_fill(b, SURG_FLOAT, 1, row, 2));
}

static bool all_filled(const surg__built *x) {
  for (uint32_t i = 0; i < x->rank; i++)
    if (!surg__bdim_filled(&x->d[i])) return false;
  return true;
}

/* y = Gather (t, i) with axis 0; `near`: without comparisons. */
static surg_status gather_by(surg__builder *b, bool near) {
  surg__built t, i, y;
  if (!surg__b_attrs_known(b) || !surg__built_get(b, "t", &t) || !surg__built_get(b, "i", &i) ||
      !surg__built_get(b, "y", &y) || surg__b_bad(b, t.rank < 1, "t: expected rank 1 or more") ||
      surg__b_bad(b, t.d[0].n < 1, "t: a size is unknown or 0") ||
      surg__b_bad(b, t.d[0].n > SURG_LIMIT_EMIT_CONSTANT,
                  "t: a size is above the limit of a rewrite") ||
      surg__b_bad(b, i.rank >= SURG__BT_RANK, "i: the rank is above the limit"))
    return SURG_EUNSUPPORTED;
  const bool flat = t.rank != 2 || i.rank == 0;
  if (surg__b_bad(b,
                  flat && (!surg__built_static(&y) || !surg__built_static(&t) ||
                           !surg__built_static(&i) || !all_filled(&t) || !all_filled(&i)),
                  "sizes are unknown or may be 0"))
    return SURG_EUNSUPPORTED;
  const surg__built w = indices_repeated(b, i, t.d[0].n, flat);
  const surg__built hit =
      near ? columns_near(b, w, t.d[0].n)
           : columns_hit(b, surg__built_cast(b, w, SURG_INT64), t.d[0].n, t.dtype);
  if (flat) {
    surg__bdim d[2] = {t.d[0], surg__bdim_fixed(1)};
    for (uint32_t k = 1; k < t.rank; k++) d[1] = surg__bdim_mul(b, d[1], t.d[k]);
    t = surg__built_reshape(b, t, d, 2);
  }
  surg__built out = surg__built_matmul(b, hit, t);
  if (flat) out = surg__built_reshape(b, out, y.d, y.rank);
  surg__built_result(b, "y", out);
  return b->status;
}

static surg_status gather_product(surg__builder *b) {
  return gather_by(b, false);
}

static surg_status gather_near(surg__builder *b) {
  return gather_by(b, true);
}

/* y = OneHot (i, depth, [0, 1]); other axes than the last need a Transpose. */
static surg_status one_hot_plain(surg__builder *b) {
  surg__built i, y;
  surg_elem n;
  surg_value *depth = surg__b_get(b, "depth");
  int64_t axis = surg_node_int(surg__b_matched(b), "axis", -1), perm[SURG__BT_RANK];
  if (!surg__b_attrs_known(b) || !surg__built_get(b, "i", &i) || !surg__built_get(b, "y", &y) ||
      surg__b_bad(b, !depth, "the depth is absent") ||
      surg__b_bad(b, surg__known_elements(depth, &n, 1) != 1, "the depth is unknown") ||
      surg__b_bad(b, !n.known, "the depth is unknown") ||
      surg__b_bad(b, n.value < 1, "the depth is below 1") ||
      surg__b_bad(b, i.rank < 1, "i: expected rank 1 or more") ||
      surg__b_bad(b, n.value > SURG_LIMIT_EMIT_CONSTANT,
                  "it has more parts than a rewrite may list") ||
      surg__b_bad(b, i.rank + 1 > SURG__BT_RANK, "i: the rank is above the limit"))
    return SURG_EUNSUPPORTED;
  if (axis < 0) axis += i.rank + 1;
  if (surg__b_bad(b, axis < 0, "the axis is out of range") ||
      surg__b_bad(b, axis > i.rank, "the axis is out of range"))
    return SURG_EUNSUPPORTED;
  surg__built out = columns_hit(
      b, surg__built_cast(b, indices_repeated(b, i, n.value, false), SURG_INT64), n.value, y.dtype);
  for (uint32_t k = 0; k <= i.rank; k++)
    perm[k] = k < axis ? k : k == axis ? (int64_t)i.rank : (int64_t)k - 1;
  if (axis < i.rank) out = surg__built_transpose(b, out, perm);
  surg__built_result(b, "y", out);
  return b->status;
}

/* --- repeating --- */

/* Expands [a, 1, c] to [a, n, c] with an Expand of two axes. */
static surg__built repeated(surg__builder *b, surg__built x, surg__bdim a, surg__bdim n,
                            surg__bdim c) {
  static const int64_t perm[3] = {0, 2, 1};
  const surg__bdim out[3] = {a, n, c}, swapped[3] = {a, c, n};
  if (a.n == 1) {
    const surg__bdim from[2] = {surg__bdim_fixed(1), c}, to[2] = {n, c};
    return surg__built_reshape(b, surg__built_expand(b, surg__built_reshape(b, x, from, 2), to, 2),
                               out, 3);
  }
  const surg__bdim rows = surg__bdim_mul(b, a, c), from[2] = {rows, surg__bdim_fixed(1)},
                   to[2] = {rows, n};
  x = surg__built_expand(b, surg__built_reshape(b, x, from, 2), to, 2);
  if (c.n == 1) return surg__built_reshape(b, x, out, 3);
  return surg__built_transpose(b, surg__built_reshape(b, x, swapped, 3), perm);
}

/* y = Expand (x): expands one run of axes at a time, as one of two axes. */
static surg_status expand_runs(surg__builder *b) {
  surg__built x, y;
  if (!surg__built_get(b, "x", &x) || !surg__built_get(b, "y", &y) ||
      surg__b_bad(b, x.rank > y.rank, "x has a larger rank than y") ||
      surg__b_bad(b, !surg__built_static(&x), "x: sizes are unknown") ||
      surg__b_bad(b, !surg__built_static(&y), "y: sizes are unknown") ||
      surg__b_bad(b, !all_filled(&y), "y: a size may be 0"))
    return SURG_EUNSUPPORTED;
  surg__bdim have[SURG__BT_RANK];
  const uint32_t more = y.rank - x.rank;
  for (uint32_t i = 0; i < y.rank; i++) have[i] = i < more ? surg__bdim_fixed(1) : x.d[i - more];
  surg__built out = x;
  for (uint32_t i = 0, end; i < y.rank; i = end) {
    surg__bdim before = surg__bdim_fixed(1), n = surg__bdim_fixed(1), behind = surg__bdim_fixed(1);
    for (end = i; end < y.rank && have[end].n == 1; end++) n = surg__bdim_mul(b, n, y.d[end]);
    if (end == i) end++;
    if (n.n == 1) continue;
    for (uint32_t k = 0; k < i; k++) before = surg__bdim_mul(b, before, have[k]);
    for (uint32_t k = end; k < y.rank; k++) behind = surg__bdim_mul(b, behind, have[k]);
    out = repeated(b, out, before, n, behind);
    for (uint32_t k = i; k < end; k++) have[k] = y.d[k];
  }
  surg__built_result(b, "y", surg__built_reshape(b, out, y.d, y.rank));
  return b->status;
}

/* y = Tile (x, r): repeats one axis after the other, with all after it, by an Expand of two axes.
 */
static surg_status tile_runs(surg__builder *b) {
  surg__built x, y;
  if (!surg__built_get(b, "x", &x) || !surg__built_get(b, "y", &y) ||
      surg__b_bad(b, x.rank != y.rank, "x has another rank than y") ||
      surg__b_bad(b, !surg__built_static(&x), "x: sizes are unknown") ||
      surg__b_bad(b, !surg__built_static(&y), "y: sizes are unknown") ||
      surg__b_bad(b, !all_filled(&y), "y: a size may be 0"))
    return SURG_EUNSUPPORTED;
  surg__bdim before = surg__bdim_fixed(1);
  surg__built out = x;
  for (uint32_t k = 0; k < x.rank; k++) {
    surg__bdim behind = x.d[k];
    for (uint32_t i = k + 1; i < x.rank; i++) behind = surg__bdim_mul(b, behind, x.d[i]);
    if (y.d[k].n != x.d[k].n)
      out = repeated(b, out, before, surg__bdim_fixed(y.d[k].n / x.d[k].n), behind);
    before = surg__bdim_mul(b, before, y.d[k]);
  }
  surg__built_result(b, "y", surg__built_reshape(b, out, y.d, y.rank));
  return b->status;
}

/* --- pieces --- */

/* A run of elements from index `from` of the old or the new data. */
typedef struct piece {
  bool is_new;
  int64_t from, n;
} piece;

/* Splits the flat elements of x into runs of old and new elements. False: more than MOST_PIECES. */
static bool find_pieces(const int64_t *source, int64_t count, piece *out, uint32_t *n) {
  *n = 0;
  for (int64_t k = 0; k < count; k++) {
    const bool is_new = source[k] >= 0;
    const int64_t at = is_new ? source[k] : k;
    piece *last = *n ? &out[*n - 1] : NULL;
    if (last && last->is_new == is_new && last->from + last->n == at) {
      last->n++;
      continue;
    }
    if (*n == MOST_PIECES) return false;
    out[(*n)++] = (piece){is_new, at, 1};
  }
  return true;
}

/* The flat index in x of a tuple; -1: out of range. */
static int64_t place_of(const surg__built *x, const int64_t *tuple, uint32_t length) {
  int64_t at = 0;
  for (uint32_t d = 0; d < length; d++) {
    const int64_t i = tuple[d] < 0 ? tuple[d] + x->d[d].n : tuple[d];
    if (i < 0 || i >= x->d[d].n) return -1;
    at = at * x->d[d].n + i;
  }
  return at;
}

/* For each element of x the index of the update in u that replaces it, or -1. NULL: not known. */
static int64_t *sources_of(surg__builder *b, const surg__built *x, const surg__built *i,
                           uint64_t count, uint64_t news) {
  const surg_tensor *t = surg_value_constant(i->v);
  uint64_t numbers, width = 1;
  if (!t || i->rank < 1 || !surg__built_count(i, SURG_LIMIT_EMIT_CONSTANT, &numbers)) return NULL;
  const int64_t length = i->d[i->rank - 1].n;
  if (length < 1 || length > x->rank) return NULL;
  for (uint32_t d = (uint32_t)length; d < x->rank; d++) width *= (uint64_t)x->d[d].n;
  if (numbers / (uint64_t)length * width != news) return NULL;
  int64_t *at = surg__arena_array(b->m->arena, (size_t)numbers + 1, sizeof *at);
  int64_t *source = surg__arena_array(b->m->arena, (size_t)count + 1, sizeof *source);
  if (!at || !source || surg__read_ints(t, at, (size_t)numbers) != (int64_t)numbers) return NULL;
  for (uint64_t k = 0; k < count; k++) source[k] = -1;
  for (uint64_t k = 0; k < numbers / (uint64_t)length; k++) {
    const int64_t to = place_of(x, at + k * (uint64_t)length, (uint32_t)length);
    if (to < 0) return NULL;
    for (uint64_t e = 0; e < width; e++)
      source[(uint64_t)to * width + e] = (int64_t)(k * width + e);
  }
  return source;
}

/* y = ScatterND (x, i, u): concatenates pieces of x and of u. */
static surg_status scatter_pieces(surg__builder *b) {
  surg__built x, i, u, parts[MOST_PIECES];
  piece pieces[MOST_PIECES];
  uint64_t count, news;
  uint32_t n;
  if (!surg__built_get(b, "x", &x) || !surg__built_get(b, "i", &i) ||
      !surg__built_get(b, "u", &u) ||
      surg__b_bad(b, !surg__built_count(&x, MOST_ELEMENTS, &count),
                  "x: the number of elements is unknown or too large") ||
      surg__b_bad(b, !surg__built_count(&u, MOST_ELEMENTS, &news),
                  "u: the number of elements is unknown or too large") ||
      surg__b_bad(b, count == 0, "x has no elements") ||
      surg__b_bad(b, news == 0, "there are no updates"))
    return SURG_EUNSUPPORTED;
  const int64_t *source = sources_of(b, &x, &i, count, news);
  if (surg__b_bad(b, !source, "the indices are unknown") ||
      surg__b_bad(b, !find_pieces(source, (int64_t)count, pieces, &n),
                  "the updates form too many runs"))
    return SURG_EUNSUPPORTED;
  const surg__bdim old[2] = {surg__bdim_fixed(1), surg__bdim_fixed((int64_t)count)},
                   fresh[2] = {surg__bdim_fixed(1), surg__bdim_fixed((int64_t)news)};
  const surg__built before = surg__built_reshape(b, x, old, 2),
                    given = surg__built_reshape(b, u, fresh, 2);
  for (uint32_t k = 0; k < n; k++) {
    const piece *p = &pieces[k];
    parts[k] = surg__built_slice(b, p->is_new ? given : before, 1, surg__bdim_fixed(p->from),
                                 surg__bdim_fixed(p->from + p->n));
  }
  const surg__built all = n == 1 ? parts[0] : surg__built_concat(b, parts, n, 1);
  surg__built_result(b, "y", surg__built_reshape(b, all, x.d, x.rank));
  return b->status;
}

const surg__native surg__natives_plain[] = {
    {"expand_runs", expand_runs, "Expand along one axis of two at a time"},
    {"gather_near", gather_near, "the same without comparisons"},
    {"gather_product", gather_product, "Gather of rows as a product with the table"},
    {"one_hot_plain", one_hot_plain, "OneHot of 0 and 1 by comparisons"},
    {"tile_runs", tile_runs, "Tile along one axis of two at a time"},
    {"scatter_pieces", scatter_pieces, "ScatterND to known places by Slice and Concat"},
    {NULL, NULL, NULL},
};
