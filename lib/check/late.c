/* SPDX-License-Identifier: Apache-2.0 */
/* Contradictions that the shape inference of ONNX overlooks: it computes the result without
 * comparing these sizes, and the kernel compares them when the node runs. Column `late` of
 * traits.table lists the operators. */
#include <onnxsurg/ops.h>

#include "base/counted.h"
#include "check/check.h"
#include "check/forms.h"

#define ENTRIES 64 /* most entries of a shape that are read */

/* Whether the lists of a window have an entry for each spatial axis, two of `pads`, and no stride
 * is below 1. Inference compares that; of ConvTranspose it compares `pads` only. */
static bool has_window(const surg_node *n, uint32_t rank) {
  static const char *const lists[] = {"pads", "strides", "dilations", "kernel_shape"};
  const uint32_t spatial = rank > 2 ? rank - 2 : 0;
  const bool transposed = surg_node_op(n) == SURG_OP_ConvTranspose;
  const size_t compared = transposed ? 1 : SURG_COUNT(lists);
  for (size_t i = 1; transposed && i < 3; i++) {
    const surg_attr *a = surg__check_ints(n, lists[i]);
    if (a && a->count != spatial) return true; /* nothing is inferred then */
  }
  for (size_t i = 0; i < compared; i++) {
    const surg_attr *a = surg__check_ints(n, lists[i]);
    if (a && a->count != (i ? spatial : 2 * spatial)) return false;
    for (uint32_t k = 0; a && i == 1 && k < a->count; k++)
      if (a->u.ints[k] < 1) return false;
  }
  return true;
}

/* Whether data and weights have equal ranks, which is all that is compared besides the window; nor
 * is that, if an attribute gives the size of the kernel. */
static bool has_equal_ranks(const surg_node *n) {
  const bool scaled = surg_node_op(n) == SURG_OP_QLinearConv;
  const surg_type *x = surg__check_ranked(n, 0), *y = surg__check_ranked(n, scaled ? 3 : 1);
  const bool padded = surg_node_attr(n, "auto_pad") && surg_node_attr(n, "pads");
  const bool sized = surg__check_ints(n, "kernel_shape") != NULL;
  return x && y && (x->rank == y->rank || sized) && !padded && has_window(n, x->rank);
}

/* Whether the rank of input 0, which is all that is compared, is in the range. */
static bool has_rank(const surg_node *n, uint32_t least, uint32_t most) {
  const surg_type *x = surg__check_ranked(n, 0);
  return x && x->rank >= least && x->rank <= most;
}

/* Einsum with one label for each axis: the ranks are compared, the sizes are not. */
static bool labels_axes(const surg_node *n) {
  const surg_attr *a = surg_node_attr(n, "equation");
  if (!a || a->ref || a->kind != SURG_ATTR_STRING) return false;
  const char *p = a->u.s.p, *end = p + a->u.s.n;
  for (size_t i = 0; i < surg_node_input_count(n); i++) {
    const surg_type *x = surg__check_ranked(n, i);
    uint32_t labels = 0;
    for (; p < end && *p != ',' && *p != '-'; p++) {
      if (*p == '.') return false;
      labels += *p != ' ';
    }
    if (!x || labels != x->rank) return false;
    p += p < end && *p == ',';
  }
  return true;
}

/* Whether the shape has no -1: only the size of that dimension is computed, and compared. A 0 must
 * have a dimension to copy. A shape that is not constant is not read. */
static bool reshapes_plainly(const surg_node *n) {
  int64_t list[ENTRIES];
  const surg_attr *zero = surg_node_attr(n, "allowzero");
  const surg_type *x = zero ? NULL : surg__check_ranked(n, 0);
  const surg_value *shape = surg_node_input(n, 1);
  const surg_tensor *c = surg_value_constant(shape);
  const int64_t count = c ? surg__read_ints(c, list, ENTRIES) : -1;
  if (shape && !c && !shape->producer) return true;
  for (int64_t i = 0; i < count; i++)
    if (list[i] < 0 || (list[i] == 0 && x && i >= x->rank)) return false;
  return count >= 0;
}

/* Whether perm has fewer entries than the input has axes. */
static bool permutes_part(const surg_node *n) {
  const surg_type *x = surg__check_ranked(n, 0);
  const surg_attr *a = surg__check_ints(n, "perm");
  return x && a && a->count < x->rank;
}

/* Whether the list, an attribute or constant input 1, has a negative entry: inference adds it up,
 * the kernel rejects it. */
static bool has_negative(const surg_node *n, const char *attr) {
  int64_t list[ENTRIES];
  size_t k = 0;
  const surg_attr *a = surg__check_ints(n, attr);
  const surg_tensor *c = surg_value_constant(surg_node_input(n, 1));
  const int64_t count = c ? surg__read_ints(c, list, ENTRIES) : a ? (int64_t)a->count : 0;
  for (int64_t i = 0; i < count; i++) k += (c ? list[i] : a->u.ints[i]) < 0;
  return k > 0;
}

/* Whether the pads are no constant: of them nothing is compared. */
static bool has_computed_pads(const surg_node *n) {
  const surg_value *pads = surg_node_input(n, 1);
  return pads && !surg_value_constant(pads);
}

/* Whether an entry appears twice as it is written: of Unsqueeze, inference compares that since
 * opset 11. */
static bool repeats_entry(const int64_t *list, int64_t count) {
  for (int64_t i = 0; i < count; i++)
    for (int64_t k = 0; k < i; k++)
      if (list[i] == list[k]) return true;
  return false;
}

/* Whether the axes, an attribute or constant input 1, are valid except that one is listed twice. */
static bool repeats_axis(const surg_node *n) {
  int64_t list[ENTRIES];
  const surg_type *x = surg__check_ranked(n, 0);
  const surg_attr *a = surg__check_ints(n, "axes");
  const surg_tensor *c = surg_value_constant(surg_node_input(n, 1));
  const int64_t count = c ? surg__read_ints(c, list, ENTRIES) : a ? (int64_t)a->count : 0;
  if (!x || count > ENTRIES) return false;
  const bool compared = surg_node_op(n) == SURG_OP_Unsqueeze && n->schema->since >= 11;
  if (compared && repeats_entry(c ? list : a ? a->u.ints : NULL, count)) return false;
  const int64_t rank = x->rank + (surg_node_op(n) == SURG_OP_Unsqueeze ? count : 0);
  bool repeated = false;
  for (int64_t i = 0; i < count; i++) {
    if (!c) list[i] = a->u.ints[i];
    if (list[i] < -rank || list[i] >= rank) return false;
    if (list[i] < 0) list[i] += rank;
    for (int64_t k = 0; k < i; k++) repeated = repeated || list[k] == list[i];
  }
  return repeated;
}

/* Whether query, key and value have ranks 3 or 4, and a query of rank 3 the numbers of heads. */
static bool has_heads(const surg_node *n) {
  for (size_t i = 0; i < 3; i++) {
    const surg_type *x = surg__check_ranked(n, i);
    if (!x || x->rank < 3 || x->rank > 4) return false;
  }
  return surg__check_ranked(n, 0)->rank == 4 ||
         (surg_node_int(n, "q_num_heads", 0) > 0 && surg_node_int(n, "kv_num_heads", 0) > 0);
}

/* Whether the index tuples of GatherND are no longer than its data has axes after those of the
 * batch: the sizes of the batch are not compared, nor whether the tuples are empty. */
static bool has_tuples(const surg_node *n) {
  const surg_type *x = surg__check_ranked(n, 0), *index = surg__check_ranked(n, 1);
  const int64_t batch = surg_node_int(n, "batch_dims", 0);
  if (!x || !x->rank || !index || !index->rank || batch < 0 || batch >= index->rank) return false;
  return surg__check_dim(index, index->rank - 1u) <= (int64_t)x->rank - batch;
}

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
    {SURG_OP_Max, 1, {0, UINT8_MAX}},
    {SURG_OP_Min, 8, {0}},
    {SURG_OP_Min, 1, {0, UINT8_MAX}},
    {SURG_OP_Sum, 8, {0}},
    {SURG_OP_Sum, 1, {0, UINT8_MAX}},
    {SURG_OP_Mean, 8, {0}},
    {SURG_OP_Mean, 1, {0, UINT8_MAX}},
};

/* Whether a stride is negative and none is 0: releases before opset 26 divide by it. */
static bool has_negative_stride(const surg_node *n) {
  const surg_attr *a = surg__check_ints(n, "strides");
  bool negative = false;
  for (uint32_t i = 0; a && i < a->count; i++) {
    if (!a->u.ints[i]) return false;
    negative = negative || a->u.ints[i] < 0;
  }
  return negative;
}

/* Inference of ONNX reads a Slice whose lists are all constant. It follows elements that some nodes
 * compute. */
static surg__since slice_since(const surg_node *n) {
  surg__since since = {0};
  for (size_t i = 1; i < surg_node_input_count(n); i++) {
    const surg_value *v = surg_node_input(n, i);
    if (!v || surg_value_constant(v)) continue;
    if (!v->producer) return (surg__since){UINT8_MAX, UINT8_MAX};
    since = (surg__since){0, UINT8_MAX};
  }
  return since;
}

surg__since surg__check_since(const surg_node *n) {
  if (n->schema->op == SURG_OP_Slice && n->schema->since >= 10) return slice_since(n);
  if (has_negative_stride(n)) return (surg__since){0, 26};
  for (size_t i = 0; i < SURG_COUNT(overlooked); i++)
    if (overlooked[i].op == n->schema->op && n->schema->since >= overlooked[i].version)
      return overlooked[i].since;
  return (surg__since){0};
}

enum { OPERANDS = 1, SPATIAL, IMAGE, STEPS, LABELS, PLAIN, PART, PADS, SPLIT, AXES, HEADS, TUPLES };

static const uint8_t kinds[SURG_OP_COUNT] = {
#define SURG_TRAIT_LATE(op, kind) [SURG_OP_##op] = kind,
#include "schema/traits.gen.h"
#undef SURG_TRAIT_LATE
};

bool surg__check_late(const surg_node *n) {
  const surg_schema *s = surg_node_schema(n);
  switch (s && s->op > 0 && s->op < SURG_OP_COUNT ? kinds[s->op] : 0) {
    case OPERANDS:
      return has_equal_ranks(n);
    case SPATIAL:
      return has_rank(n, 3, UINT32_MAX) && has_window(n, surg__check_ranked(n, 0)->rank);
    case IMAGE:
      return has_rank(n, 4, 4);
    case STEPS:
      return has_rank(n, 3, 3);
    case LABELS:
      return labels_axes(n);
    case PLAIN:
      return reshapes_plainly(n);
    case PART:
      return permutes_part(n);
    case PADS:
      return has_negative(n, "pads") || has_computed_pads(n);
    case SPLIT:
      return has_negative(n, "split");
    case AXES:
      return repeats_axis(n);
    case HEADS:
      return has_heads(n);
    case TUPLES:
      return has_tuples(n);
    default:
      return false;
  }
}
