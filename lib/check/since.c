/* SPDX-License-Identifier: Apache-2.0 */
/* Releases of ONNX that report sizes and attributes of a node that contradict each other when they
 * infer shapes, or whose engines do when they make the kernel. Found by asking ONNX Runtime 1.10,
 * 1.12, 1.14, 1.18, 1.20 to 1.22, 1.24, 1.27 and 1.30 (test/conformance/attributes). */
#include <onnxsurg/ops.h>

#include "base/counted.h"
#include "check/check.h"
#include "check/forms.h"

#define ENTRIES 64 /* most entries of a list that are read */

static const surg__since all = {0, 0}, none = {UINT8_MAX, UINT8_MAX}, unknown = {0, UINT8_MAX};

/* Operators of which the inference of ONNX overlooks what the inference here finds: those that it
 * defines by a function whose nodes engines do not infer, and others. Later versions first. */
static const struct {
  int op, version;
  surg__since since;
} overlooked[] = {
    {SURG_OP_LessOrEqual, 16, {22, 25}},
    {SURG_OP_GreaterOrEqual, 16, {22, 25}},
    {SURG_OP_LessOrEqual, 1, {0, UINT8_MAX}},
    {SURG_OP_GreaterOrEqual, 1, {0, UINT8_MAX}},
    {SURG_OP_LayerNormalization, 1, {0, UINT8_MAX}},
    {SURG_OP_CenterCropPad, 1, {0, UINT8_MAX}},
    /* Before they broadcast, only input 0 is looked at: such a node fails when it runs. */
    {SURG_OP_Max, 8, {0}},
    {SURG_OP_Max, 1, {UINT8_MAX, UINT8_MAX}},
    {SURG_OP_Min, 8, {0}},
    {SURG_OP_Min, 1, {UINT8_MAX, UINT8_MAX}},
    {SURG_OP_Sum, 8, {0}},
    {SURG_OP_Sum, 1, {UINT8_MAX, UINT8_MAX}},
    {SURG_OP_Mean, 8, {0}},
    {SURG_OP_Mean, 1, {UINT8_MAX, UINT8_MAX}},
    /* ONNX Runtime compares less of its own operators than of those that they extend. */
    {SURG_OP_ms_FusedConv, 1, {0, UINT8_MAX}},
    {SURG_OP_ms_QLinearConv, 1, {0, UINT8_MAX}},
    {SURG_OP_ms_QGemm, 1, {0, UINT8_MAX}},
    {SURG_OP_ms_Pad, 1, {0, UINT8_MAX}},
    {SURG_OP_ms_NhwcMaxPool, 1, {0, UINT8_MAX}},
    {SURG_OP_ms_LinearAttention, 1, {0, UINT8_MAX}},
    {SURG_OP_ms_CausalConvWithState, 1, {0, UINT8_MAX}},
};

/* Inference of ONNX reads a Slice whose lists are all constant. It follows elements that some nodes
 * compute. */
static surg__since slice_since(const surg_node *n) {
  surg__since since = all;
  for (size_t i = 1; i < surg_node_input_count(n); i++) {
    const surg_value *v = surg_node_input(n, i);
    if (!v || surg_value_constant(v)) continue;
    if (!v->producer) return none;
    since = unknown;
  }
  return since;
}

/* --- windows --- */

/* How inference reads a list of a window. */
typedef enum list_state { LIST_ABSENT, LIST_GOOD, LIST_LOW, LIST_SHORT } list_state;

static list_state read_list(const surg_node *n, const char *name, uint32_t want, int64_t low,
                            const surg_attr **out) {
  const surg_attr *a = surg__check_ints(n, name);
  *out = a;
  if (!a) return LIST_ABSENT;
  if (a->count != want) return LIST_SHORT;
  for (uint32_t i = 0; i < a->count; i++)
    if (a->u.ints[i] < low) return LIST_LOW;
  return LIST_GOOD;
}

/* The lists of a window and the sizes along its axes. */
typedef struct window {
  const surg_attr *strides, *dilations, *kernel, *pads, *shape, *more;
  const surg_type *x, *w; /* w: the weights, NULL for a pool */
  bool low;               /* an entry is below what ONNX allows */
  bool low_step;          /* likewise, of strides or dilations */
  bool odd;               /* a list has another length than the window axes */
} window;

static bool is_pool(const surg_node *n) {
  const int op = surg_node_op(n);
  return op == SURG_OP_MaxPool || op == SURG_OP_AveragePool || op == SURG_OP_LpPool;
}

bool surg__check_computes_window(const surg_node *n) {
  const int op = surg_node_op(n);
  return is_pool(n) || op == SURG_OP_Conv || op == SURG_OP_ConvInteger ||
         op == SURG_OP_QLinearConv || op == SURG_OP_ConvTranspose;
}

static int64_t entry(const surg_attr *a, uint32_t i, int64_t otherwise) {
  return a && i < a->count ? a->u.ints[i] : otherwise;
}

/* Reads the lists; false: every release reports one. Of a transposed convolution they report
 * the length of pads alone up to opset 25, and infer nothing if another list has a wrong one. */
static bool read_window(const surg_node *n, window *w) {
  const uint32_t axes = w->x->rank - 2u;
  const bool back = surg_node_op(n) == SURG_OP_ConvTranspose;
  const bool dilates = surg__schema_attr(n->schema, "dilations") != NULL;
  const list_state states[] = {read_list(n, "strides", axes, 1, &w->strides),
                               read_list(n, "kernel_shape", axes, 1, &w->kernel),
                               dilates ? read_list(n, "dilations", axes, 1, &w->dilations)
                                       : LIST_ABSENT,
                               read_list(n, "pads", 2 * axes, 0, &w->pads),
                               back ? read_list(n, "output_shape", axes, 0, &w->shape)
                                    : LIST_ABSENT,
                               back ? read_list(n, "output_padding", axes, 0, &w->more)
                                    : LIST_ABSENT};
  for (size_t i = 0; i < SURG_COUNT(states); i++) {
    w->low = w->low || states[i] == LIST_LOW;
    w->low_step = w->low_step || (states[i] == LIST_LOW && (i == 0 || i == 2));
    if (states[i] != LIST_SHORT) continue;
    if (!back || i == 3) return false;
    w->odd = true;
  }
  return true;
}

/* Whether the kernel of a pool rejects the window itself. */
static bool pool_rejects(const window *w) {
  for (uint32_t i = 0; w->kernel && i < w->kernel->count; i++) {
    const int64_t k = w->kernel->u.ints[i];
    if (k < 1 || entry(w->pads, i, 0) >= k || entry(w->pads, i + w->kernel->count, 0) >= k)
      return true;
  }
  return false;
}

/* The size along axis i as ONNX computes it. False: it exceeds 64 bits, or is not known. */
static bool window_size(const surg_node *n, const window *w, uint32_t i, int64_t *out) {
  const bool back = surg_node_op(n) == SURG_OP_ConvTranspose;
  const int64_t in = surg__check_dim(w->x, i + 2u), step = entry(w->strides, i, 1);
  const int64_t k = w->kernel ? entry(w->kernel, i, 1) : surg__check_dim(w->w, i + 2u);
  int64_t reach, size;
  if (in < 0 || (!w->kernel && k < 0)) return false;
  if (!surg__sub_i64(k, 1, &reach) || !surg__mul_i64(reach, entry(w->dilations, i, 1), &reach) ||
      !surg__add_i64(reach, 1, &reach))
    return false;
  const int64_t before = entry(w->pads, i, 0);
  const int64_t after = w->pads ? entry(w->pads, i + w->pads->count / 2, 0) : 0;
  if (back)
    return surg__sub_i64(in, 1, &size) && surg__mul_i64(size, step, &size) &&
           surg__add_i64(size, entry(w->more, i, 0), &size) && surg__add_i64(size, reach, &size) &&
           surg__sub_i64(size, before, &size) && surg__sub_i64(size, after, out);
  const bool up = surg_node_int(n, "ceil_mode", 0) != 0;
  if (!surg__add_i64(in, before, &size) || !surg__add_i64(size, after, &size) ||
      !surg__sub_i64(size, reach, &size) || (up && !surg__add_i64(size, step - 1, &size)))
    return false;
  return step && surg__add_i64(size / step, 1, out);
}

/* Whether pads follow from the sizes, and are not computed here. */
static bool is_padded_alone(const surg_node *n) {
  const surg_attr *a = surg_node_attr(n, "auto_pad");
  return a && !surg__check_ints(n, "pads");
}

/* The releases that report a window: lists of a wrong length all; strides and dilations below 1
 * from opset 26 on, other entries that are too low builds after it, and releases before where the
 * size of the result is negative. Kernels of pools reject more,
 * which is known of engines that infer as ONNX does. */
static surg__since window_since(const surg_node *n) {
  window w = {.x = surg__check_ranked(n, 0)};
  if (!is_pool(n)) w.w = surg__check_ranked(n, surg_node_op(n) == SURG_OP_QLinearConv ? 3 : 1);
  if (!w.x || w.x->rank < 3 || !read_window(n, &w)) return all;
  /* The transposed convolution infers nothing then, in some releases. */
  if (!is_pool(n) && !w.kernel && (!w.w || w.w->rank != w.x->rank))
    return surg_node_op(n) == SURG_OP_ConvTranspose ? (surg__since){0, 26} : all;
  if (is_pool(n) && pool_rejects(&w)) return (surg__since){0, 1};
  if (w.odd) return (surg__since){w.low_step ? 25 : 26, 27};
  int64_t least = 0;
  for (uint32_t i = 0; i + 2u < w.x->rank; i++) {
    int64_t size = 0;
    const bool back = surg_node_op(n) == SURG_OP_ConvTranspose;
    if (w.shape) break;
    /* They divide by it, those that round up in floating point. */
    if (!back && entry(w.strides, i, 1) == 0)
      return surg_node_int(n, "ceil_mode", 0) ? (surg__since){0, 26} : all;
    if (is_padded_alone(n) || !window_size(n, &w, i, &size))
      return w.low ? (surg__since){0, w.low_step ? 26 : 27} : unknown;
    if (size < least) least = size;
  }
  if (least < -1) return (surg__since){21, 23};
  if (w.low_step) return (surg__since){25, 26};
  return w.low ? (surg__since){26, 27} : none;
}

/* --- other operators --- */

static bool is_ranked(const surg_node *n, size_t i, uint32_t rank) {
  const surg_type *t = surg__check_ranked(n, i);
  return t && t->rank == rank;
}

/* The sizes of the matrices of Gemm are compared in version 13, by recent releases. */
static surg__since gemm_since(const surg_node *n) {
  if (!is_ranked(n, 0, 2) || !is_ranked(n, 1, 2)) return all;
  return n->schema->since < 13 ? none : (surg__since){25, 26};
}

/* Blocks that do not divide the channels or sizes: inference divides and drops the rest. */
static surg__since blocks_since(const surg_node *n) {
  const int64_t size = surg_node_int(n, "blocksize", 0);
  if (!is_ranked(n, 0, 4) || size <= 0) return all;
  return size <= INT16_MAX ? none : unknown;
}

/* Of the weights of recurrent operators nothing is compared, but the number of axes of input 0. */
static surg__since recurrent_since(const surg_node *n) {
  const int64_t size = surg_node_int(n, "hidden_size", 1);
  return is_ranked(n, 0, 3) && size > 0 && size <= INT32_MAX ? none : all;
}

/* The length of the tuples and the batch axes must not exceed the rank; that the batch is negative,
 * or longer than the indices, is not compared. */
static surg__since tuples_since(const surg_node *n) {
  const surg_type *x = surg__check_ranked(n, 0), *index = surg__check_ranked(n, 1);
  const int64_t batch = surg_node_int(n, "batch_dims", 0);
  const int64_t length = index && index->rank ? surg__check_dim(index, index->rank - 1u) : -1;
  if (!x || !x->rank || length < 0 || batch < INT32_MIN || batch > INT32_MAX) return all;
  return length + batch >= 0 && length + batch <= (int64_t)x->rank ? none : all;
}

/* An attribute `axis` below the axes of input 0, or above: of both, or of one, nothing is compared
 * before the node runs. */
static surg__since axis_since(const surg_node *n, bool below, bool above) {
  const surg_type *x = surg__check_ranked(n, 0);
  const surg_attr *a = surg_node_attr(n, "axis");
  if (!x || !a || a->ref || a->kind != SURG_ATTR_INT) return all;
  if (a->u.i < INT32_MIN || a->u.i > INT32_MAX) return unknown;
  const bool low = a->u.i < -(int64_t)x->rank, high = a->u.i >= (int64_t)x->rank;
  return (low && below) || (high && above) ? none : all;
}

/* Reads a list of integers, an attribute or constant input 1; -1: it is neither. */
static int64_t read_axes(const surg_node *n, int64_t *out) {
  const surg_attr *a = surg__check_ints(n, "axes");
  const bool listed = surg__schema_formal(n->schema, false, 1) != NULL;
  const surg_tensor *c = listed ? surg_value_constant(surg_node_input(n, 1)) : NULL;
  if (c) return surg__read_ints(c, out, ENTRIES);
  if (!a || a->count > ENTRIES) return -1;
  for (uint32_t i = 0; i < a->count; i++) out[i] = a->u.ints[i];
  return a->count;
}

/* The axes of a reduction: version 1 compares nothing; later ones, not whether an axis is listed
 * twice. */
static surg__since reduced_since(const surg_node *n) {
  int64_t axes[ENTRIES];
  const surg_type *x = surg__check_ranked(n, 0);
  const int64_t count = read_axes(n, axes);
  if (!x || count < 0) return all;
  for (int64_t i = 0; i < count; i++) {
    const int64_t axis = axes[i];
    const bool stray = axis < -(int64_t)x->rank || axis >= (int64_t)x->rank;
    if (stray && n->schema->since >= 11) return all;
    if (axis < -(int64_t)x->rank || axis > INT32_MAX) return unknown;
  }
  return none;
}

/* Constant axes of Squeeze: an axis that is listed twice is removed once. */
static surg__since squeezed_since(const surg_node *n) {
  int64_t axes[ENTRIES];
  const surg_type *x = surg__check_ranked(n, 0);
  const int64_t count = surg_node_input(n, 1) ? read_axes(n, axes) : -1;
  if (!x || count < 0) return all;
  for (int64_t i = 0; i < count; i++) {
    const int64_t axis = axes[i] < 0 ? axes[i] + x->rank : axes[i];
    if (axis < 0 || axis >= x->rank || surg__check_dim(x, (size_t)axis) > 1) return all;
  }
  return none;
}

/* A size along an axis that an entry of the constant list makes; false: it is not known, or fits
 * nothing. Expand keeps an axis of size 1. */
static bool listed_size(const surg_node *n, const surg_type *x, int64_t i, int64_t count,
                        int64_t entry, int64_t *out) {
  const int op = surg_node_op(n);
  const int64_t at = op == SURG_OP_Expand && x ? i + x->rank - count : i;
  const int64_t d = x && at >= 0 && at < x->rank ? surg__check_dim(x, (size_t)at) : -1;
  *out = entry;
  if (op == SURG_OP_Tile) return d >= 0 && surg__mul_i64(entry, d, out);
  return op != SURG_OP_Expand || (x && (at < 0 || d == 1 || (entry == 1 && d >= 0)));
}

/* Results of a negative size, which a constant states: see window_since. */
static surg__since listed_since(const surg_node *n) {
  int64_t list[ENTRIES], least = 0, size;
  const surg_type *x = surg__check_ranked(n, 0);
  const surg_tensor *c = surg_value_constant(surg_node_input(n, 1));
  const int64_t count = c ? surg__read_ints(c, list, ENTRIES) : -1;
  for (int64_t i = 0; i < count; i++) {
    if (!listed_size(n, x, i, count, list[i], &size)) return all;
    if (size < least) least = size;
  }
  if (least >= 0) return all;
  return least < -1 ? (surg__since){21, 23} : none;
}

/* Engines do not infer shapes of the tensors in a sequence. */
static surg__since axis_of_list_since(const surg_node *n) {
  return surg_node_input(n, 0) ? none : all;
}

/* Of Attention the numbers of axes are compared, and whether heads of a query of rank 3 are given;
 * heads of keys divide, and none is negative. */
static surg__since attention_since(const surg_node *n) {
  bool lists = false;
  const surg_type *k = surg__check_ranked(n, 4), *v = surg__check_ranked(n, 5);
  if (surg_node_input(n, 4) && surg_node_input(n, 5)) {
    if (!k || !v) return unknown;
    /* Compared to infer the outputs for the next past. */
    if (k->rank != 4 || v->rank != 4)
      return surg_node_output_count(n) >= 3   ? all
             : surg_node_output_count(n) == 1 ? none
                                              : unknown;
  }
  for (size_t i = 0; i < 3; i++) {
    const surg_type *x = surg__check_ranked(n, i);
    if (!x || x->rank < 3 || x->rank > 4) return all;
    lists = lists || x->rank == 3;
  }
  const int64_t heads = surg_node_int(n, "q_num_heads", -1);
  const int64_t keys = surg_node_int(n, "kv_num_heads", 0);
  if (!lists) return none;
  if (heads < INT32_MIN || keys < INT32_MIN) return unknown;
  return heads >= 0 && keys > 0 ? none : all;
}

/* The size of the result of RoiAlign: see window_since. */
static surg__since region_since(const surg_node *n) {
  const int64_t h = surg_node_int(n, "output_height", 1), w = surg_node_int(n, "output_width", 1);
  if (h >= 0 && w >= 0) return all;
  return h < -1 || w < -1 ? (surg__since){21, 23} : none;
}

static surg__since since_of(const surg_node *n) {
  if (surg__check_computes_window(n)) return window_since(n);
  switch (n->schema->op) {
    case SURG_OP_Slice:
      return n->schema->since >= 10 ? slice_since(n) : all;
    case SURG_OP_Gemm:
    case SURG_OP_ms_FusedGemm:
      return gemm_since(n);
    case SURG_OP_DepthToSpace:
    case SURG_OP_SpaceToDepth:
      return blocks_since(n);
    case SURG_OP_RNN:
    case SURG_OP_GRU:
    case SURG_OP_LSTM:
      return recurrent_since(n);
    case SURG_OP_Attention:
      return attention_since(n);
    case SURG_OP_GatherND:
      return tuples_since(n);
    case SURG_OP_ArgMax:
    case SURG_OP_ArgMin:
    case SURG_OP_Compress:
      return n->schema->since < 11 ? axis_since(n, true, true) : all;
    case SURG_OP_Concat:
      return n->schema->since < 11 ? axis_since(n, true, false) : all;
    case SURG_OP_RoiAlign:
      return region_since(n);
    case SURG_OP_Squeeze:
      return n->schema->since >= 13 ? squeezed_since(n) : all;
    case SURG_OP_TopK:
      return n->schema->since >= 10 ? listed_since(n) : all;
    case SURG_OP_OneHot:
    case SURG_OP_DFT:
    case SURG_OP_Expand:
    case SURG_OP_Tile:
      return listed_since(n);
    case SURG_OP_ConcatFromSequence:
      return axis_of_list_since(n);
    case SURG_OP_LayerNormalization: {
      const surg__since since = axis_since(n, false, true);
      return since.from ? since : unknown;
    }
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
      return reduced_since(n);
    default:
      break;
  }
  for (size_t i = 0; i < SURG_COUNT(overlooked); i++)
    if (overlooked[i].op == n->schema->op && n->schema->since >= overlooked[i].version)
      return overlooked[i].since;
  return all;
}

/* Whether another node reads a result: what follows from the sizes that the engine computes is not
 * known. */
static bool is_read_on(const surg_node *n) {
  for (uint32_t i = 0; i < n->n_out; i++)
    for (const surg_use *u = n->out[i] ? surg_value_first_use(n->out[i]) : NULL; u;
         u = surg_use_next(u))
      if (surg_use_get_kind(u) == SURG_USE_NODE) return true;
  return false;
}

surg__since surg__check_since(const surg_node *n) {
  surg__since since = since_of(n);
  if (since.from && since.until && is_read_on(n)) since.until = 0;
  return since;
}
