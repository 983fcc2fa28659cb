/* SPDX-License-Identifier: Apache-2.0 */
/* Part of the pass transposes: the effect of each operator on axes, and permuted constants. */
#include <assert.h>
#include <string.h>

#include "../util/numbers.h"
#include "transposes.h"

typedef enum kind {
  NONE,
  UNARY,     /* elementwise on input 0 */
  BROADCAST, /* elementwise on all inputs, which broadcast */
  CONCAT,
  SPLIT,
  AXIS, /* works along one axis, which stays */
  REDUCE,
  ARG,
  SQUEEZE,
  UNSQUEEZE,
  SLICE,
  PAD,
  TILE,
  QUANTIZE
} kind;

/* UNARY or BROADCAST for elementwise operators; NONE for the others. */
static kind elementwise(int op) {
  switch (op) {
    case SURG_OP_Abs:
    case SURG_OP_Acos:
    case SURG_OP_Acosh:
    case SURG_OP_Asin:
    case SURG_OP_Asinh:
    case SURG_OP_Atan:
    case SURG_OP_Atanh:
    case SURG_OP_BitwiseNot:
    case SURG_OP_Cast:
    case SURG_OP_CastLike:
    case SURG_OP_Ceil:
    case SURG_OP_Celu:
    case SURG_OP_Clip:
    case SURG_OP_Cos:
    case SURG_OP_Cosh:
    case SURG_OP_Elu:
    case SURG_OP_Erf:
    case SURG_OP_Exp:
    case SURG_OP_Floor:
    case SURG_OP_Gelu:
    case SURG_OP_HardSigmoid:
    case SURG_OP_HardSwish:
    case SURG_OP_Identity:
    case SURG_OP_IsInf:
    case SURG_OP_IsNaN:
    case SURG_OP_LeakyRelu:
    case SURG_OP_Log:
    case SURG_OP_Mish:
    case SURG_OP_Neg:
    case SURG_OP_Not:
    case SURG_OP_Reciprocal:
    case SURG_OP_Relu:
    case SURG_OP_Round:
    case SURG_OP_Selu:
    case SURG_OP_Shrink:
    case SURG_OP_Sigmoid:
    case SURG_OP_Sign:
    case SURG_OP_Sin:
    case SURG_OP_Sinh:
    case SURG_OP_Softplus:
    case SURG_OP_Softsign:
    case SURG_OP_Sqrt:
    case SURG_OP_Swish:
    case SURG_OP_Tan:
    case SURG_OP_Tanh:
    case SURG_OP_ThresholdedRelu:
      return UNARY;
    case SURG_OP_Add:
    case SURG_OP_And:
    case SURG_OP_BitShift:
    case SURG_OP_BitwiseAnd:
    case SURG_OP_BitwiseOr:
    case SURG_OP_BitwiseXor:
    case SURG_OP_Div:
    case SURG_OP_Equal:
    case SURG_OP_Greater:
    case SURG_OP_GreaterOrEqual:
    case SURG_OP_Less:
    case SURG_OP_LessOrEqual:
    case SURG_OP_Max:
    case SURG_OP_Mean:
    case SURG_OP_Min:
    case SURG_OP_Mod:
    case SURG_OP_Mul:
    case SURG_OP_Or:
    case SURG_OP_Pow:
    case SURG_OP_PRelu:
    case SURG_OP_Sub:
    case SURG_OP_Sum:
    case SURG_OP_Where:
    case SURG_OP_Xor:
      return BROADCAST;
    default:
      return NONE;
  }
}

static kind kind_of(int op, int64_t opset) {
  const kind each = elementwise(op);
  if (each != NONE) return each == BROADCAST && opset < 8 ? NONE : each;
  switch (op) {
    case SURG_OP_Concat:
      return opset >= 4 ? CONCAT : NONE;
    case SURG_OP_Split:
      return SPLIT;
    case SURG_OP_Softmax:
    case SURG_OP_LogSoftmax:
    case SURG_OP_Hardmax:
      return opset >= 13 ? AXIS : NONE;
    case SURG_OP_ReduceL1:
    case SURG_OP_ReduceL2:
    case SURG_OP_ReduceLogSum:
    case SURG_OP_ReduceLogSumExp:
    case SURG_OP_ReduceMax:
    case SURG_OP_ReduceMean:
    case SURG_OP_ReduceMin:
    case SURG_OP_ReduceProd:
    case SURG_OP_ReduceSum:
    case SURG_OP_ReduceSumSquare:
      return REDUCE;
    case SURG_OP_ArgMax:
    case SURG_OP_ArgMin:
      return ARG;
    case SURG_OP_Squeeze:
      return SQUEEZE;
    case SURG_OP_Unsqueeze:
      return UNSQUEEZE;
    case SURG_OP_Slice:
      return opset >= 10 ? SLICE : NONE;
    case SURG_OP_Pad:
      return opset >= 11 ? PAD : NONE;
    case SURG_OP_Tile:
      return opset >= 6 ? TILE : NONE;
    case SURG_OP_QuantizeLinear:
    case SURG_OP_DequantizeLinear:
      return opset >= 13 ? QUANTIZE : NONE;
    default:
      return NONE;
  }
}

static kind kind_of_node(const surg_node *n) {
  if (surg_node_class(n) != SURG_OP_CLASS_BUILTIN || surg_node_nondeterministic(n)) return NONE;
  for (size_t i = 0; i < surg_node_attr_count(n); i++)
    if (surg_attr_ref(surg_node_attr_at(n, i))) return NONE;
  return kind_of(surg_node_op(n), surg_graph_opset(surg_node_graph(n), ""));
}

bool tr_movable(const surg_node *n) {
  return kind_of_node(n) != NONE && surg_node_input_count(n) <= TR_INPUTS;
}

tr_role tr_role_of(const surg_node *n, size_t input) {
  const kind k = kind_of_node(n);
  return input == 0 || k == BROADCAST || k == CONCAT ? TR_DATA : TR_OTHER;
}

bool tr_no_broadcast(const surg_node *n) {
  return kind_of_node(n) != BROADCAST;
}

bool tr_sums(const surg_node *n) {
  const int op = surg_node_op(n);
  const kind k = kind_of_node(n);
  return k == AXIS || (k == REDUCE && op != SURG_OP_ReduceMax && op != SURG_OP_ReduceMin);
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
static size_t axes_input(const surg_node *n, kind k) {
  const int64_t opset = surg_graph_opset(surg_node_graph(n), "");
  if (k == SLICE) return 3;
  if (k == SQUEEZE || k == UNSQUEEZE || surg_node_op(n) == SURG_OP_ReduceSum)
    return opset >= 13 ? 1 : SIZE_MAX;
  return k == REDUCE && opset >= 18 ? 1 : SIZE_MAX;
}

/* Whether a reduction names no axes and so reduces all of them. */
static bool reduces_all(const surg_node *n, kind k) {
  const size_t at = axes_input(n, k);
  const bool named =
      at == SIZE_MAX ? surg_node_attr(n, "axes") != NULL : surg_node_input(n, at) != NULL;
  return k == REDUCE && !named && surg_node_int(n, "noop_with_empty_axes", 0) == 0;
}

static bool read_axes(const surg_node *n, kind k, size_t rank, axes *out) {
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
static bool read_axis(const surg_node *n, kind k, size_t rank, size_t *axis) {
  const int64_t none = k == AXIS ? -1 : k == QUANTIZE ? 1 : 0;
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
static bool read_each(const surg_node *n, kind k, const tr_order *in, int64_t *v, size_t *count) {
  const bool pad = k == PAD;
  if (pad && surg_node_input(n, 3)) return false; /* axes input */
  return read_ints(surg_node_input(n, 1), v, 2 * TR_RANK, count) && *count == (pad ? 2 : 1) * in->n;
}

bool tr_output_order(const surg_node *n, const tr_order *in, size_t k, tr_order *out) {
  const kind what = kind_of_node(n);
  axes list;
  assert(in->n <= TR_RANK);
  size_t axis;
  *out = *in;
  switch (what) {
    case UNARY:
    case BROADCAST:
      return k == 0;
    case CONCAT:
    case SPLIT:
    case AXIS:
      return read_axis(n, what, in->n, &axis);
    case QUANTIZE:
      if (!plain_scale(n)) return false;
      return tr_one_element(surg_node_input(n, 1)) || read_axis(n, what, in->n, &axis);
    case REDUCE:
      if (reduces_all(n, what)) {
        if (surg_node_int(n, "keepdims", 1) == 0) out->n = 0;
        return true;
      }
      if (!read_axes(n, what, in->n, &list)) return false;
      if (surg_node_int(n, "keepdims", 1) == 0) *out = drop(in, &list);
      return true;
    case ARG:
      if (!read_axis(n, what, in->n, &axis)) return false;
      list = (axes){.n = 1, .of = {axis}};
      if (surg_node_int(n, "keepdims", 1) == 0) *out = drop(in, &list);
      return true;
    case SQUEEZE:
      if (!read_axes(n, what, in->n, &list)) return false;
      *out = drop(in, &list);
      return true;
    case UNSQUEEZE: {
      const surg_type *t = surg_value_type(surg_node_output(n, 0));
      if (!t || !surg_type_has_rank(t) || surg_type_rank(t) > TR_RANK) return false;
      return read_axes(n, what, surg_type_rank(t), &list) && in->n + list.n == surg_type_rank(t) &&
             add(in, &list, out);
    }
    case SLICE:
      return read_axes(n, what, in->n, &list);
    case PAD:
    case TILE: {
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
static surg_status set_axes(surg_node *n, surg_node *made, kind k, const tr_order *in) {
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

static surg_status set_axis(surg_node *n, surg_node *made, kind k, const tr_order *in) {
  size_t axis;
  if (!read_axis(n, k, in->n, &axis)) return SURG_EINVALID;
  return surg_node_set_int(made, "axis", (int64_t)tr_find(in, axis));
}

static surg_status set_each(surg_node *n, surg_node *made, kind k, const tr_order *in) {
  int64_t was[2 * TR_RANK], v[2 * TR_RANK];
  size_t count;
  if (!read_each(n, k, in, was, &count)) return SURG_EINVALID;
  for (size_t i = 0; i < count; i++) v[i] = was[i / in->n * in->n + in->at[i % in->n]];
  surg_value *c = numbers_vector(made, NULL, v, count);
  return c ? surg_node_set_input(made, 1, c) : SURG_ENOMEM;
}

surg_status tr_rewrite(surg_node *n, surg_node *made, const tr_order *in) {
  const kind k = kind_of_node(n);
  switch (k) {
    case CONCAT:
    case SPLIT:
    case AXIS:
    case ARG:
      return set_axis(n, made, k, in);
    case QUANTIZE:
      return tr_one_element(surg_node_input(n, 1)) ? SURG_OK : set_axis(n, made, k, in);
    case REDUCE:
      return reduces_all(n, k) ? SURG_OK : set_axes(n, made, k, in);
    case SQUEEZE:
    case SLICE:
      return set_axes(n, made, k, in);
    case PAD:
    case TILE:
      return set_each(n, made, k, in);
    default:
      return SURG_OK; /* the inserted axes of Unsqueeze stay */
  }
}

/* --- constants --- */

bool tr_constant_moves(const surg_value *v, const tr_order *order, bool exact) {
  const surg_tensor *t = surg_value_constant(v);
  if (!t) return false;
  const size_t rank = surg_tensor_rank(t);
  const uint64_t count = surg_tensor_count(t), bytes = surg_tensor_bytes(t);
  if (exact ? rank != order->n : rank > order->n) return false;
  if (!exact && count == 1) return true;
  return surg_tensor_dtype(t) != SURG_STRING && count > 0 && bytes % count == 0 &&
         bytes <= TR_MOVED;
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

surg_value *tr_constant(surg_pass_ctx *p, surg_node *before, surg_value *v, const tr_order *order) {
  int64_t dims[TR_RANK];
  const surg_tensor *t = surg_value_constant(v);
  surg_graph *g = surg_node_graph(before);
  if (surg_tensor_count(t) == 1 || tr_identity(order)) return v;
  const size_t bytes = (size_t)surg_tensor_bytes(t);
  uint8_t *from = surg_pass_alloc(p, bytes), *to = surg_pass_alloc(p, bytes);
  if (!from || !to || surg_tensor_read(t, 0, from, bytes)) return NULL;
  move_elements(t, order, from, to, dims);
  surg_tensor *made =
      surg_tensor_new(surg_graph_model(g), surg_tensor_dtype(t), dims, order->n, to, bytes);
  return made ? surg_graph_constant(g, before, NULL, made) : NULL;
}
