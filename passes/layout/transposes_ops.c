/* SPDX-License-Identifier: Apache-2.0 */
/* Part of the pass transposes: permutations across operators, and permuted constants. Column `axes`
 * of lib/schema/traits.table says which operators move. */
#include <assert.h>
#include <string.h>

#include "../util/numbers.h"
#include "transposes.h"

bool tr_movable(const surg_node *n) {
  return surg_node_axes_effect(n) != SURG_AXES_UNKNOWN && surg_node_input_count(n) <= TR_INPUTS;
}

tr_role tr_role_of(const surg_node *n, size_t input) {
  const surg_axes_effect k = surg_node_axes_effect(n);
  return input == 0 || k == SURG_AXES_BROADCAST || k == SURG_AXES_CONCAT ? TR_DATA : TR_OTHER;
}

bool tr_no_broadcast(const surg_node *n) {
  return surg_node_axes_effect(n) != SURG_AXES_BROADCAST;
}

bool tr_sums(const surg_node *n) {
  const int op = surg_node_op(n);
  const surg_axes_effect k = surg_node_axes_effect(n);
  return k == SURG_AXES_AXIS ||
         (k == SURG_AXES_REDUCE && op != SURG_OP_ReduceMax && op != SURG_OP_ReduceMin);
}

/* --- axes --- */

/* The axes of a node, not negative and distinct. */
typedef struct axes {
  size_t n, of[TR_RANK];
} axes;

static bool put_axes(const int64_t *v, size_t count, size_t rank, axes *out) {
  bool seen[TR_RANK] = {false};
  assert(rank <= TR_RANK);
  if (count > TR_RANK) return false;
  out->n = count;
  for (size_t i = 0; i < count; i++) {
    const int64_t a = v[i] < 0 ? v[i] + (int64_t)rank : v[i];
    if (a < 0 || a >= (int64_t)rank || seen[a]) return false;
    seen[a] = true;
    out->of[i] = (size_t)a;
  }
  return true;
}

/* Reads up to `cap` integers; false: some are unknown. */
static bool read_ints(const surg_value *v, int64_t *out, size_t cap, size_t *count) {
  surg_elem e[2 * TR_RANK];
  const int64_t n = v && cap <= 2 * TR_RANK ? numbers_known(v, e, cap) : -1;
  if (n < 0) return false;
  for (int64_t i = 0; i < n; i++) {
    if (!e[i].known) return false;
    out[i] = e[i].value;
  }
  *count = (size_t)n;
  return true;
}

/* The index of the input that lists the axes in this opset; SIZE_MAX: an attribute lists them. */
static size_t axes_input(const surg_node *n, surg_axes_effect k) {
  const int64_t opset = surg_graph_opset(surg_node_graph(n), "");
  if (k == SURG_AXES_SLICE) return 3;
  if (k == SURG_AXES_SQUEEZE || k == SURG_AXES_UNSQUEEZE || surg_node_op(n) == SURG_OP_ReduceSum)
    return opset >= 13 ? 1 : SIZE_MAX;
  return k == SURG_AXES_REDUCE && opset >= 18 ? 1 : SIZE_MAX;
}

/* Whether a reduction names no axes and so reduces all of them. */
static bool reduces_all(const surg_node *n, surg_axes_effect k) {
  const size_t at = axes_input(n, k);
  const bool named =
      at == SIZE_MAX ? surg_node_attr(n, "axes") != NULL : surg_node_input(n, at) != NULL;
  return k == SURG_AXES_REDUCE && !named && surg_node_int(n, "noop_with_empty_axes", 0) != 1;
}

static bool read_axes(const surg_node *n, surg_axes_effect k, size_t rank, axes *out) {
  const size_t at = axes_input(n, k);
  int64_t v[TR_RANK];
  size_t count;
  if (at == SIZE_MAX) {
    const int64_t *list = surg_node_ints(n, "axes", &count);
    return list && count > 0 && put_axes(list, count, rank, out);
  }
  return read_ints(surg_node_input(n, at), v, TR_RANK, &count) && count > 0 &&
         put_axes(v, count, rank, out);
}

/* The attribute `axis`, or its default, as a non-negative axis; false: out of range. */
static bool read_axis(const surg_node *n, surg_axes_effect k, size_t rank, size_t *axis) {
  const int64_t none = k == SURG_AXES_AXIS ? -1 : k == SURG_AXES_QUANTIZE ? 1 : 0;
  const int64_t a = surg_node_int(n, "axis", none), from = a < 0 ? a + (int64_t)rank : a;
  *axis = (size_t)from;
  return from >= 0 && from < (int64_t)rank;
}

static bool in_axes(const axes *a, size_t axis) {
  for (size_t i = 0; i < a->n; i++)
    if (a->of[i] == axis) return true;
  return false;
}

/* The permutation after the axes `gone` are removed. */
static tr_order drop(const tr_order *in, const axes *gone) {
  tr_order out = {0};
  for (size_t i = 0; i < in->n; i++) {
    if (in_axes(gone, in->at[i])) continue;
    size_t before = 0;
    for (size_t k = 0; k < gone->n; k++) before += gone->of[k] < in->at[i];
    out.at[out.n++] = in->at[i] - before;
  }
  assert(out.n + gone->n == in->n); /* the axes are distinct and all in `in` */
  return out;
}

/* The permutation after the axes `come` are inserted: these keep their places, the others are
 * permuted around them. False: the rank is too large. */
static bool add(const tr_order *in, const axes *come, tr_order *out) {
  size_t places[TR_RANK], n = 0;
  *out = (tr_order){.n = in->n + come->n};
  if (out->n > TR_RANK) return false;
  for (size_t i = 0; i < out->n; i++) {
    out->at[i] = i;
    if (!in_axes(come, i)) places[n++] = i;
  }
  assert(n == in->n); /* the other places are the old axes */
  for (size_t i = 0; i < in->n; i++) out->at[places[i]] = places[in->at[i]];
  return true;
}

bool tr_one_element(const surg_value *v) {
  const surg_type *t = v ? surg_value_type(v) : NULL;
  uint64_t count;
  return t && surg_type_get_kind(t) == SURG_TYPE_TENSOR && surg_type_static(t, &count) &&
         count == 1;
}

/* Whether a QuantizeLinear or DequantizeLinear is per tensor or per axis, not blocked. */
static bool plain_scale(const surg_node *n) {
  const surg_type *t = surg_value_type(surg_node_input(n, 1));
  return surg_node_int(n, "block_size", 0) == 0 && t && surg_type_has_rank(t) &&
         (surg_type_rank(t) == 1 || tr_one_element(surg_node_input(n, 1)));
}

/* The pads or repeats of a Pad or Tile, two or one for each axis; false: unknown, or not for all
 * axes. */
static bool read_each(const surg_node *n, surg_axes_effect k, const tr_order *in, int64_t *v,
                      size_t *count) {
  const bool pad = k == SURG_AXES_PAD;
  if (pad && surg_node_input(n, 3)) return false; /* axes input */
  return read_ints(surg_node_input(n, 1), v, 2 * TR_RANK, count) && *count == (pad ? 2 : 1) * in->n;
}

bool tr_output_order(const surg_node *n, const tr_order *in, size_t k, tr_order *out) {
  const surg_axes_effect what = surg_node_axes_effect(n);
  axes list;
  assert(in->n <= TR_RANK);
  size_t axis;
  *out = *in;
  switch (what) {
    case SURG_AXES_UNARY:
    case SURG_AXES_BROADCAST:
      return k == 0;
    case SURG_AXES_CONCAT:
    case SURG_AXES_SPLIT:
    case SURG_AXES_AXIS:
      return read_axis(n, what, in->n, &axis);
    case SURG_AXES_QUANTIZE:
      if (!plain_scale(n)) return false;
      return tr_one_element(surg_node_input(n, 1)) || read_axis(n, what, in->n, &axis);
    case SURG_AXES_REDUCE:
      if (reduces_all(n, what)) {
        if (surg_node_int(n, "keepdims", 1) != 1) out->n = 0;
        return true;
      }
      if (!read_axes(n, what, in->n, &list)) return false;
      if (surg_node_int(n, "keepdims", 1) != 1) *out = drop(in, &list);
      return true;
    case SURG_AXES_ARG:
      if (!read_axis(n, what, in->n, &axis)) return false;
      list = (axes){.n = 1, .of = {axis}};
      if (surg_node_int(n, "keepdims", 1) != 1) *out = drop(in, &list);
      return true;
    case SURG_AXES_SQUEEZE:
      if (!read_axes(n, what, in->n, &list)) return false;
      *out = drop(in, &list);
      return true;
    case SURG_AXES_UNSQUEEZE: {
      const surg_type *t = surg_value_type(surg_node_output(n, 0));
      if (!t || !surg_type_has_rank(t) || surg_type_rank(t) > TR_RANK) return false;
      return read_axes(n, what, surg_type_rank(t), &list) && in->n + list.n == surg_type_rank(t) &&
             add(in, &list, out);
    }
    case SURG_AXES_SLICE:
      return read_axes(n, what, in->n, &list);
    case SURG_AXES_PAD:
    case SURG_AXES_TILE: {
      int64_t each[2 * TR_RANK];
      size_t count;
      return read_each(n, what, in, each, &count);
    }
    default:
      return false;
  }
}

/* --- rewriting nodes --- */

/* Sets the permuted axes. Their order in the list stays, since other inputs match it. */
static surg_status set_axes(surg_node *n, surg_node *made, surg_axes_effect k, const tr_order *in) {
  const size_t at = axes_input(n, k);
  int64_t v[TR_RANK];
  axes list;
  if (!read_axes(n, k, in->n, &list)) return SURG_EINVALID;
  for (size_t i = 0; i < list.n; i++) v[i] = (int64_t)tr_find(in, list.of[i]);
  assert(list.n > 0 && list.n <= TR_RANK);
  if (at == SIZE_MAX) return surg_node_set_ints(made, "axes", v, list.n);
  surg_value *c = numbers_vector(made, NULL, v, list.n);
  return c ? surg_node_set_input(made, at, c) : SURG_ENOMEM;
}

static surg_status set_axis(surg_node *n, surg_node *made, surg_axes_effect k, const tr_order *in) {
  size_t axis;
  if (!read_axis(n, k, in->n, &axis)) return SURG_EINVALID;
  return surg_node_set_int(made, "axis", (int64_t)tr_find(in, axis));
}

static surg_status set_each(surg_node *n, surg_node *made, surg_axes_effect k, const tr_order *in) {
  int64_t was[2 * TR_RANK], v[2 * TR_RANK];
  size_t count;
  if (!read_each(n, k, in, was, &count)) return SURG_EINVALID;
  for (size_t i = 0; i < count; i++) v[i] = was[i / in->n * in->n + in->at[i % in->n]];
  surg_value *c = numbers_vector(made, NULL, v, count);
  return c ? surg_node_set_input(made, 1, c) : SURG_ENOMEM;
}

surg_status tr_rewrite(surg_node *n, surg_node *made, const tr_order *in) {
  const surg_axes_effect k = surg_node_axes_effect(n);
  switch (k) {
    case SURG_AXES_CONCAT:
    case SURG_AXES_SPLIT:
    case SURG_AXES_AXIS:
    case SURG_AXES_ARG:
      return set_axis(n, made, k, in);
    case SURG_AXES_QUANTIZE:
      return tr_one_element(surg_node_input(n, 1)) ? SURG_OK : set_axis(n, made, k, in);
    case SURG_AXES_REDUCE:
      return reduces_all(n, k) ? SURG_OK : set_axes(n, made, k, in);
    case SURG_AXES_SQUEEZE:
    case SURG_AXES_SLICE:
      return set_axes(n, made, k, in);
    case SURG_AXES_PAD:
    case SURG_AXES_TILE:
      return set_each(n, made, k, in);
    default:
      return SURG_OK; /* the inserted axes of Unsqueeze stay */
  }
}

/* --- constants --- */

const surg_value *tr_stem(const surg_value *v) {
  const surg_node *n = surg_value_producer(v, NULL);
  const bool quantized = n && surg_node_op(n) == SURG_OP_DequantizeLinear;
  if (!quantized || surg_value_use_count(v, 2) != 1) return v;
  const surg_value *x = surg_node_input(n, 0), *scale = surg_node_input(n, 1);
  const surg_value *zero = surg_node_input_count(n) > 2 ? surg_node_input(n, 2) : NULL;
  const bool one = surg_value_settled(scale) && tr_one_element(scale) &&
                   (!zero || (surg_value_settled(zero) && tr_one_element(zero)));
  return one && surg_value_settled(x) ? x : v;
}

bool tr_constant_moves(const surg_value *v, const tr_order *order, bool exact) {
  const surg_tensor *t = surg_value_constant(tr_stem(v));
  if (!t) return false;
  const size_t rank = surg_tensor_rank(t);
  const uint64_t count = surg_tensor_count(t), bytes = surg_tensor_bytes(t);
  if (exact ? rank != order->n : rank > order->n) return false;
  if (!exact && count == 1) return true;
  uint8_t byte; /* elements of a missing data file cannot move */
  return surg_tensor_dtype(t) != SURG_STRING && count > 0 && bytes % count == 0 &&
         bytes <= TR_MOVED && surg_tensor_read(t, 0, &byte, 1) == SURG_OK;
}

/* Copies the elements of t, with its rank extended to order->n, in that order. */
static void move_elements(const surg_tensor *t, const tr_order *order, const uint8_t *from,
                          uint8_t *to, int64_t *dims) {
  const size_t n = order->n, lead = n - surg_tensor_rank(t);
  const uint64_t count = surg_tensor_count(t);
  const size_t size = (size_t)(surg_tensor_bytes(t) / count);
  uint64_t step[TR_RANK], moved[TR_RANK], run = 1;
  int64_t at[TR_RANK] = {0};
  for (size_t i = n; i-- > 0;) {
    step[i] = run;
    if (i >= lead) run *= (uint64_t)surg_tensor_dims(t)[i - lead];
  }
  for (size_t i = 0; i < n; i++) {
    dims[i] = order->at[i] < lead ? 1 : surg_tensor_dims(t)[order->at[i] - lead];
    moved[i] = step[order->at[i]];
  }
  for (uint64_t k = 0; k < count; k++) {
    uint64_t place = 0;
    for (size_t i = 0; i < n; i++) place += moved[i] * (uint64_t)at[i];
    memcpy(to + k * size, from + place * size, size);
    for (size_t i = n; i-- > 0 && ++at[i] == dims[i];) at[i] = 0;
  }
}

static surg_value *moved_constant(surg_pass_ctx *p, surg_node *before, const surg_tensor *t,
                                  const tr_order *order) {
  int64_t dims[TR_RANK];
  surg_graph *g = surg_node_graph(before);
  const size_t bytes = (size_t)surg_tensor_bytes(t);
  uint8_t *from = surg_pass_alloc(p, bytes), *to = surg_pass_alloc(p, bytes);
  if (!from || !to || surg_tensor_read(t, 0, from, bytes)) return NULL;
  move_elements(t, order, from, to, dims);
  surg_tensor *made =
      surg_tensor_new(surg_graph_model(g), surg_tensor_dtype(t), dims, order->n, to, bytes);
  return made ? surg_graph_constant(g, before, NULL, made) : NULL;
}

/* A copy of n, a DequantizeLinear, that reads x. */
static surg_value *dequantized(surg_node *before, const surg_node *n, surg_value *x) {
  surg_node *made = surg_graph_add_node(surg_node_graph(before), before, surg_node_domain(n),
                                        surg_node_op_type(n), 1);
  surg_status s = made ? surg_node_set_input(made, 0, x) : SURG_ENOMEM;
  for (size_t i = 1; i < surg_node_input_count(n) && !s; i++)
    if (surg_node_input(n, i)) s = surg_node_set_input(made, i, surg_node_input(n, i));
  for (size_t i = 0; i < surg_node_attr_count(n) && !s; i++)
    s = surg_node_copy_attr(made, surg_node_attr_at(n, i));
  return s ? NULL : surg_node_output(made, 0);
}

surg_value *tr_constant(surg_pass_ctx *p, surg_node *before, surg_value *v, const tr_order *order) {
  const surg_value *stem = tr_stem(v);
  const surg_tensor *t = surg_value_constant(stem);
  if (surg_tensor_count(t) == 1 || tr_identity(order)) return v;
  surg_value *moved = moved_constant(p, before, t, order);
  return stem == v || !moved ? moved : dequantized(before, surg_value_producer(v, NULL), moved);
}
