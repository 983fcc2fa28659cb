/* SPDX-License-Identifier: Apache-2.0 */
/* Part of the pass static-cache: follows the rows of caches through the graph. An axis of past and
 * new rows may be moved and broadcast. Operators that mix its rows are a Softmax, whose scores get
 * a mask, and a product whose other operand is 0 where a row contains nothing. */
#include <onnxsurg/precision.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "../util/numbers.h"
#include "static_cache.h"

#define TEXT 500
#define DEPTH 32 /* most nodes between a Softmax and the product of its result */

/* ---- the table ---- */

static sc_rows *slot(const sc *x, const surg_value *v) {
  size_t i = (size_t)(((uintptr_t)v >> 4) * 0x9e3779b97f4a7c15u >> 20) & x->rows_mask;
  while (x->rows[i].v && x->rows[i].v != v) i = (i + 1) & x->rows_mask;
  return &x->rows[i];
}

static bool make_table(sc *x) {
  size_t values = 0, size = 64;
  for (surg_value *v = NULL; (v = surg_graph_next_value(x->g, v)) != NULL;) values++;
  while (size < 2 * values) size *= 2;
  x->rows = surg_pass_alloc(x->p, size * sizeof *x->rows);
  x->queue = surg_pass_alloc(x->p, size * sizeof(sc_rows *));
  x->softmaxes = surg_pass_alloc(x->p, size * sizeof(surg_node *));
  x->rows_mask = size - 1;
  return x->rows && x->queue && x->softmaxes;
}

static bool refuse_node(sc *x, const surg_node *n, const char *why) {
  char text[TEXT];
  snprintf(text, sizeof text, "%.100s: %.300s", surg_node_op_type(n), why);
  return sc_refuse(x, n, text);
}

/* Adds rows of a cache along an axis of v. False after an error. */
static bool add_rows(sc *x, const surg_node *n, const surg_value *v, size_t axis) {
  sc_rows *r = slot(x, v);
  if (r->v)
    return r->axis == axis || refuse_node(x, n, "its result has rows of a cache along two axes");
  *r = (sc_rows){.v = v, .axis = axis};
  x->queue[x->n_rows++] = r;
  return true;
}

/* ---- axes ---- */

static size_t rank_of(const surg_value *v) {
  const surg_type *t = v ? surg_value_type(v) : NULL;
  const bool known = t && surg_type_get_kind(t) == SURG_TYPE_TENSOR && surg_type_has_rank(t);
  return known && surg_type_rank(t) <= SC_RANK ? surg_type_rank(t) : SIZE_MAX;
}

static const surg_dim *dim_of(const surg_value *v, size_t axis) {
  return surg_type_dim(surg_value_type(v), axis);
}

static bool is(const surg_node *n, int op) {
  return n && surg_node_class(n) == SURG_OP_CLASS_BUILTIN && surg_node_op(n) == op;
}

/* The attribute `axis` as a number from 0 on; SIZE_MAX: out of range. */
static size_t axis_of(const surg_node *n, int64_t fallback, size_t rank) {
  const int64_t a = surg_node_int(n, "axis", fallback), at = a < 0 ? a + (int64_t)rank : a;
  return at >= 0 && at < (int64_t)rank ? (size_t)at : SIZE_MAX;
}

/* Whether the products of n and of k dimensions are proven equal. */
static bool same_product(const sc *x, const surg_dim *a, size_t n, const surg_dim *b, size_t k) {
  surg_dim one;
  return surg_dims_divide(x->m, a, n, b, k, &one) && one.value == 1;
}

/* The axis of a reshaped value with the same rows: there are as many elements before it and after
 * it. SIZE_MAX: none is proven. */
static size_t reshaped(const sc *x, const surg_value *from, size_t axis, const surg_value *to) {
  surg_dim a[SC_RANK], b[SC_RANK];
  const size_t n = rank_of(from), k = rank_of(to);
  if (n == SIZE_MAX || k == SIZE_MAX) return SIZE_MAX;
  for (size_t i = 0; i < n; i++) a[i] = *dim_of(from, i);
  for (size_t i = 0; i < k; i++) b[i] = *dim_of(to, i);
  for (size_t i = 0; i < k; i++)
    if (same_product(x, a, axis, b, i) &&
        same_product(x, a + axis + 1, n - axis - 1, b + i + 1, k - i - 1) &&
        (b[i].value != 1 || surg_dim_equal(&a[axis], &b[i])))
      return i;
  return SIZE_MAX;
}

static size_t transposed(const surg_node *n, size_t axis, size_t rank) {
  size_t count;
  const int64_t *perm = surg_node_ints(n, "perm", &count);
  if (!perm) return rank - 1 - axis;
  for (size_t i = 0; i < count && i < rank; i++)
    if (perm[i] == (int64_t)axis) return i;
  return SIZE_MAX;
}

/* An axis that stays where others are inserted or removed: the one whose size is that of all rows.
 * SIZE_MAX: not the only one. */
static size_t same_size(const surg_value *from, size_t axis, const surg_value *to) {
  size_t found = SIZE_MAX;
  const size_t rank = rank_of(to);
  for (size_t i = 0; rank != SIZE_MAX && i < rank; i++) {
    if (!surg_dim_equal(dim_of(to, i), dim_of(from, axis))) continue;
    if (found != SIZE_MAX) return SIZE_MAX;
    found = i;
  }
  return found;
}

/* The axis of an operator that works along one axis only. SIZE_MAX: it works along the rows. */
static size_t beside(const surg_node *n, int64_t fallback, size_t axis, size_t rank) {
  const size_t works = axis_of(n, fallback, rank);
  return works == SIZE_MAX || works == axis ? SIZE_MAX : axis;
}

static size_t gathered(const surg_node *n, size_t axis, size_t rank) {
  const size_t works = axis_of(n, 0, rank), indices = rank_of(surg_node_input(n, 1));
  if (works == SIZE_MAX || works == axis || indices == SIZE_MAX) return SIZE_MAX;
  return axis < works ? axis : axis + indices - 1;
}

/* A Slice that keeps all rows keeps their order, too. */
static bool is_forward(const surg_node *n) {
  surg_elem e[SC_RANK];
  const surg_value *steps = surg_node_input(n, 4);
  const int64_t count = steps ? numbers_known(steps, e, SC_RANK) : 0;
  for (int64_t i = 0; i < count; i++)
    if (!e[i].known || e[i].value < 1) return false;
  return count >= 0;
}

/* The axis of the rows in output 0 of a node that moves them only; SIZE_MAX: it may mix them. */
static size_t moved_axis(const sc *x, const surg_node *n, const surg_value *v, size_t i,
                         size_t axis) {
  const surg_value *out = surg_node_output(n, 0);
  const size_t rank = rank_of(v), after = rank_of(out);
  if (after == SIZE_MAX) return SIZE_MAX;
  const size_t aligned = axis + after - rank;
  switch (surg_node_op(n)) {
    case SURG_OP_Transpose:
      return transposed(n, axis, rank);
    case SURG_OP_Reshape:
      return i == 0 ? reshaped(x, v, axis, out) : SIZE_MAX;
    case SURG_OP_Flatten:
      return reshaped(x, v, axis, out);
    case SURG_OP_Expand:
      return i == 0 && after >= rank ? aligned : SIZE_MAX;
    case SURG_OP_Gather:
      return i == 0 ? gathered(n, axis, rank) : SIZE_MAX;
    default:
      break;
  }
  switch (surg_node_axes_effect(n)) {
    case SURG_AXES_UNARY:
      return i == 0 ? axis : SIZE_MAX;
    case SURG_AXES_BROADCAST:
      return after >= rank ? aligned : SIZE_MAX;
    case SURG_AXES_CONCAT:
    case SURG_AXES_SPLIT:
      return beside(n, 0, axis, rank);
    case SURG_AXES_AXIS:
      return i == 0 ? beside(n, -1, axis, rank) : SIZE_MAX;
    case SURG_AXES_SLICE:
      return i == 0 && is_forward(n) ? same_size(v, axis, out) : SIZE_MAX;
    case SURG_AXES_SQUEEZE:
    case SURG_AXES_UNSQUEEZE:
    case SURG_AXES_REDUCE:
    case SURG_AXES_TILE:
      return i == 0 ? same_size(v, axis, out) : SIZE_MAX;
    default:
      return SIZE_MAX;
  }
}

/* ---- what is 0 in empty rows ---- */

static bool is_zero(const surg_value *v) {
  const surg_tensor *t = v ? surg_value_constant(v) : NULL;
  surg_extent e = {.size = sizeof e};
  return t && surg_tensor_extent(t, &e) == SURG_OK && !e.nan && !e.inf && e.low == 0 && e.high == 0;
}

/* Whether v is 0 in each empty row: the result of a Softmax over rows, moved or multiplied. */
static bool is_clear(sc *x, const surg_value *v, size_t depth) {
  const surg_node *n = v ? surg_value_producer(v, NULL) : NULL;
  if (is_zero(v)) return true;
  if (!n || depth == DEPTH || !slot(x, v)->v || surg_node_class(n) != SURG_OP_CLASS_BUILTIN)
    return false;
  const surg_value *in = surg_node_input(n, 0), *b = surg_node_input(n, 1);
  switch (surg_node_op(n)) {
    case SURG_OP_Softmax:
      return axis_of(n, -1, rank_of(v)) == slot(x, v)->axis;
    case SURG_OP_Cast:
    case SURG_OP_Identity:
    case SURG_OP_Dropout:
    case SURG_OP_Transpose:
    case SURG_OP_Reshape:
    case SURG_OP_Expand:
    case SURG_OP_Squeeze:
    case SURG_OP_Unsqueeze:
    case SURG_OP_Div:
      return is_clear(x, in, depth + 1);
    case SURG_OP_Mul:
      return is_clear(x, in, depth + 1) || is_clear(x, b, depth + 1);
    case SURG_OP_Where:
      return is_clear(x, b, depth + 1) && is_clear(x, surg_node_input(n, 2), depth + 1);
    default:
      return false;
  }
}

/* ---- nodes that read rows ---- */

void sc_note_total(sc *x, const surg_dim *d) {
  if (!d->param || surg_dim_equal(d, &x->total) || surg_dim_equal(d, &x->added) ||
      strcmp(d->param, x->past_symbol) == 0)
    return;
  for (size_t i = 0; i < x->n_totals; i++)
    if (strcmp(x->total_symbols[i], d->param) == 0) return;
  if (x->n_totals < x->room_totals) x->total_symbols[x->n_totals++] = d->param;
}

/* A product over the rows: A (.., M, K) and B (.., K, N). */
static bool follow_product(sc *x, const surg_node *n, const surg_value *v, size_t i, size_t axis) {
  const surg_value *out = surg_node_output(n, 0), *other = surg_node_input(n, 1 - i);
  const size_t rank = rank_of(v), after = rank_of(out);
  if (after == SIZE_MAX || rank < 2 || rank_of(other) == SIZE_MAX || rank_of(other) < 2)
    return refuse_node(x, n, "its rank is unknown");
  const size_t summed = i == 0 ? rank - 1 : rank - 2;
  if (axis != summed) return add_rows(x, n, out, axis + after - rank);
  return true; /* check_products */
}

/* A Softmax over rows reads masked scores. */
static bool follow_softmax(sc *x, surg_node *n, const surg_value *v, size_t axis) {
  const surg_value *out = surg_node_output(n, 0);
  const size_t rank = rank_of(v);
  const bool flat = surg_graph_opset(x->g, "") < 13;
  const size_t works = axis_of(n, flat ? 1 : -1, rank);
  if (flat && works + 1 != rank) return refuse_node(x, n, "it is over several axes");
  if (!add_rows(x, n, out, axis)) return false;
  if (works == axis) x->softmaxes[x->n_softmaxes++] = n; /* each node is visited once: one input */
  return true;
}

static bool is_cache_node(const sc *x, const surg_node *n) {
  for (size_t i = 0; i < x->n_caches; i++)
    if (x->caches[i].at == n) return true;
  return false;
}

static bool follow_node(sc *x, surg_node *n, surg_value *v, size_t i, size_t axis) {
  if (surg_node_graph(n) != x->g)
    return refuse_node(x, n, "a subgraph reads rows of a cache (simplify may remove it)");
  if (surg_node_class(n) == SURG_OP_CLASS_FUNCTION)
    return refuse_node(x, n, "a function reads rows of a cache: use `inline` before");
  if (is(n, SURG_OP_Shape) || is(n, SURG_OP_Size)) return true;
  if (surg_node_class(n) != SURG_OP_CLASS_BUILTIN || is_cache_node(x, n))
    return refuse_node(x, n, "it is not known what it does with rows of a cache");
  if (is(n, SURG_OP_MatMul)) return follow_product(x, n, v, i, axis);
  if (is(n, SURG_OP_Softmax)) return follow_softmax(x, n, v, axis);
  const size_t to = moved_axis(x, n, v, i, axis);
  if (to == SIZE_MAX) return refuse_node(x, n, "it may mix the rows of a cache");
  for (size_t k = 0; k < surg_node_output_count(n); k++)
    if (surg_node_output(n, k) && !add_rows(x, n, surg_node_output(n, k), to)) return false;
  return true;
}

/* Whether v is the output of a cache itself. */
static bool is_grown(const sc *x, const surg_value *v) {
  for (size_t i = 0; i < x->n_caches; i++)
    if (x->caches[i].grown == v) return true;
  return false;
}

static bool follow_value(sc *x, const sc_rows *r) {
  surg_value *v = (surg_value *)r->v;
  char text[TEXT];
  if (rank_of(v) == SIZE_MAX) return sc_refuse(x, surg_value_producer(v, NULL), "unknown rank");
  snprintf(text, sizeof text, "'%.300s' is an output of all rows, also of the empty ones",
           surg_value_name(v));
  for (surg_use *u = surg_value_first_use(v), *next; u; u = next) {
    next = surg_use_next(u); /* the use may be changed */
    if (surg_use_get_kind(u) == SURG_USE_OUTPUT && !is_grown(x, v)) return sc_refuse(x, NULL, text);
    if (surg_use_get_kind(u) == SURG_USE_NODE &&
        !follow_node(x, surg_use_node(u), v, surg_use_index(u), r->axis))
      return false;
  }
  return true;
}

/* In each product over rows one side is 0 in the empty ones. */
static bool check_products(sc *x) {
  for (surg_node *n = surg_graph_first_node(x->g); n; n = surg_node_next(n)) {
    if (!is(n, SURG_OP_MatMul)) continue;
    const surg_value *a = surg_node_input(n, 0), *b = surg_node_input(n, 1);
    const sc_rows *ra = slot(x, a), *rb = slot(x, b);
    const bool left = ra->v && ra->axis + 1 == rank_of(a);
    const bool right = rb->v && rb->axis + 2 == rank_of(b);
    if (!left && !right) continue;
    if (!left || !right || !(is_clear(x, a, 0) || is_clear(x, b, 0)))
      return refuse_node(x, n, "it adds rows of a cache that no Softmax weighs");
  }
  return true;
}

bool sc_follow_rows(sc *x) {
  if (!make_table(x)) return false;
  for (size_t i = 0; i < x->n_caches; i++)
    if (x->caches[i].kind == SC_CONCAT &&
        !add_rows(x, x->caches[i].at, x->caches[i].grown, x->caches[i].axis))
      return false;
  for (size_t i = 0; i < x->n_rows; i++)
    if (!follow_value(x, x->queue[i])) return false;
  return check_products(x);
}

bool sc_mask_rows(sc *x) {
  for (size_t i = 0; i < x->n_softmaxes; i++) {
    surg_node *n = x->softmaxes[i];
    surg_value *v = surg_node_input(n, 0);
    surg_value *masked = sc_mask_scores(x, v, slot(x, v)->axis);
    if (!masked || surg_node_set_input(n, 0, masked) != SURG_OK) return false;
  }
  return true;
}
