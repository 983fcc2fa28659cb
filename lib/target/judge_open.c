/* SPDX-License-Identifier: Apache-2.0 */
/* Open sizes of engines that compute shapes themselves during import: OpenCV replaces open
 * dimensions of inputs by 0, which becomes 1 where a shape is broadcast, and loses some sizes that
 * ONNX knows. */
#include <string.h>

#include <onnxsurg/ops.h>

#include "base/counted.h"
#include "ir/ir.h"
#include "schema/text.h"
#include "target/judge.h"

/* Whether Gemm reads operand i of the product transposed; MatMul does not have the attribute. */
static bool turned(const surg_node *n, size_t i) {
  const surg_attr *a = surg_node_attr(n, i == 0 ? "transA" : "transB");
  return a && surg_attr_get_kind(a) == SURG_ATTR_INT && surg_attr_int(a) != 0;
}

/* Whether the inputs of the model have fixed sizes, except the first of three axes or more. */
static bool only_batch_open(const surg_graph *g) {
  for (size_t i = 0; i < surg_graph_input_count(g); i++) {
    const surg_type *t = surg__judge_shape(surg_graph_input(g, i));
    if (!t) return false;
    for (size_t k = 0; k < surg_type_rank(t); k++)
      if (surg_type_dim(t, k)->value < 0 && (k || surg_type_rank(t) < 3)) return false;
  }
  return true;
}

#define TRACED_MOST 256 /* values that a size is traced through, at most */
#define TARGET_MOST 64  /* elements of the target of a Reshape that are read, at most */

typedef struct trace {
  size_t left; /* values that may still be visited */
  bool ones;   /* a lost size that a constant made 1 counts as lost */
  bool zeros;  /* only open sizes that are 0 to the importer count as open, not those it made 1 */
} trace;

static bool is_lost(const surg__judge *j, const surg_value *v, size_t axis, trace *x);

/* Reshape: OpenCV keeps the 0 and -1 of the target where a size of an input of the model is open.
 */
static bool lost_by_reshape(const surg__judge *j, const surg_node *n, size_t axis) {
  int64_t target[TARGET_MOST];
  const surg_tensor *c = surg__judge_elements(j, surg_node_input(n, 1));
  const int64_t count = c ? surg__read_ints(c, target, SURG_COUNT(target)) : -1;
  return count > 0 && axis < (size_t)count && target[axis] < 1;
}

/* The size where all operands of more than one element lost it. A constant that comes later makes
 * it 1, as broadcasting does. */
static bool lost_by_all(const surg__judge *j, const surg_node *n, size_t rank, size_t axis,
                        trace *x) {
  bool any = false;
  for (size_t i = 0; i < surg_node_input_count(n); i++) {
    const surg_value *v = surg_node_input(n, i);
    const surg_type *t = surg__judge_shape(v);
    if (!v) continue;
    if (!t || (i && !x->ones && surg__judge_elements(j, v) && !surg__judge_fused(n))) return false;
    const size_t back = rank - axis;
    if (surg_type_rank(t) < back) continue;
    const size_t at = surg_type_rank(t) - back;
    if (surg_type_dim(t, at)->value == 1 && surg_node_input_count(n) > 1) continue;
    if (!is_lost(j, v, at, x)) return false;
    any = true;
  }
  return any;
}

/* The axis of input 0 that becomes `axis` of a Transpose, or SIZE_MAX. */
static size_t transposed_from(const surg_node *n, size_t rank, size_t axis) {
  size_t count;
  const int64_t *perm = surg_node_ints(n, "perm", &count);
  if (!perm) return rank - 1 - axis;
  return count != rank || perm[axis] < 0 || (size_t)perm[axis] >= rank ? SIZE_MAX
                                                                       : (size_t)perm[axis];
}

/* The operand of a MatMul that gives `axis`, one of the last two, and *from, its axis; or NULL. */
static const surg_value *multiplied_from(const surg_node *n, size_t rank, size_t axis,
                                         size_t *from) {
  const surg_value *v = surg_node_input(n, axis + 1 == rank);
  const surg_type *t = surg__judge_shape(v);
  if (rank < 2 || axis + 2 < rank || !t || surg_type_rank(t) < 2) return NULL;
  *from = surg_type_rank(t) - (rank - axis);
  return v;
}

static bool lost_by_product(const surg__judge *j, const surg_node *n, size_t rank, size_t axis,
                            trace *x) {
  size_t from;
  const surg_value *v = multiplied_from(n, rank, axis, &from);
  return v && is_lost(j, v, from, x);
}

/* Flatten multiplies sizes: the product is lost with one of them. */
static bool lost_by_flatten(const surg__judge *j, const surg_node *n, size_t axis, trace *x) {
  const surg_value *v = surg_node_input(n, 0);
  const surg_type *t = surg__judge_shape(v);
  int64_t at = surg_node_int(n, "axis", 1);
  const int64_t rank = t ? (int64_t)surg_type_rank(t) : 0;
  if (at < 0) at += rank;
  for (int64_t i = axis ? at : 0; i >= 0 && i < (axis ? rank : at); i++)
    if (is_lost(j, v, (size_t)i, x)) return true;
  return false;
}

/* Whether a Slice names the axis; UNSAID: its axes are not constant. */
static surg__tri is_sliced(const surg__judge *j, const surg_node *n, size_t rank, size_t axis) {
  int64_t axes[TARGET_MOST];
  const surg_tensor *c = surg__judge_elements(j, surg_node_input(n, 3));
  const int64_t count = c ? surg__read_ints(c, axes, SURG_COUNT(axes)) : -1;
  for (int64_t i = 0; i < count; i++)
    if ((size_t)(axes[i] < 0 ? axes[i] + (int64_t)rank : axes[i]) == axis) return SURG__YES;
  return count > 0 ? SURG__NO : SURG__UNSAID;
}

/* Whether the engine lost a size that follows from the model. Operators that are not listed keep
 * it, or it is not known: then false. Where `left` reached 0, false says nothing. */
static bool is_lost(const surg__judge *j, const surg_value *v, size_t axis, trace *x) {
  const surg_type *t = surg__judge_shape(v);
  const surg_node *n = v ? surg_value_producer(v, NULL) : NULL;
  const surg_schema *s = n ? surg_node_schema(n) : NULL;
  const size_t rank = t ? surg_type_rank(t) : 0;
  if (!s || axis >= rank || !x->left) return false;
  x->left--;
  switch (surg_node_op(n)) {
    case SURG_OP_Reshape:
      return lost_by_reshape(j, n, axis);
    case SURG_OP_Flatten:
      return lost_by_flatten(j, n, axis, x);
    case SURG_OP_Transpose:
      return is_lost(j, surg_node_input(n, 0), transposed_from(n, rank, axis), x);
    case SURG_OP_MatMul:
      return lost_by_product(j, n, rank, axis, x);
    case SURG_OP_Slice:
      return is_sliced(j, n, rank, axis) == SURG__NO && is_lost(j, surg_node_input(n, 0), axis, x);
    case SURG_OP_Softmax:
    case SURG_OP_LayerNormalization:
    case SURG_OP_BatchNormalization:
    case SURG_OP_InstanceNormalization:
      return is_lost(j, surg_node_input(n, 0), axis, x);
    default:
      return (s->flags & SURG__OP_ELEMENTWISE) && lost_by_all(j, n, rank, axis, x);
  }
}

static surg__tri is_open(const surg__judge *j, const surg_value *v, size_t axis, trace *x);

/* Of some axes: YES if one is open, NO if the importer knows all. */
static surg__tri any_open(const surg__judge *j, const surg_value *v, size_t from, size_t end,
                          trace *x) {
  surg__tri all = SURG__NO;
  for (size_t i = from; i < end; i++) {
    const surg__tri one = is_open(j, v, i, x);
    if (one == SURG__YES) return one;
    if (one == SURG__UNSAID) all = one;
  }
  return all;
}

/* An element-wise node: what all operands say that have more than one element there. */
static surg__tri open_by_all(const surg__judge *j, const surg_node *n, size_t back, trace *x) {
  surg__tri all = SURG__UNSAID;
  for (size_t i = 0; i < surg_node_input_count(n); i++) {
    const surg_value *v = surg_node_input(n, i);
    const surg_type *t = surg__judge_shape(v);
    if (!v) continue;
    if (!t) return SURG__UNSAID;
    if (surg_type_rank(t) < back) continue;
    const size_t at = surg_type_rank(t) - back;
    if (surg_type_dim(t, at)->value == 1) continue;
    const surg__tri one = is_open(j, v, at, x);
    if (one == SURG__UNSAID || (all != SURG__UNSAID && one != all)) return SURG__UNSAID;
    all = one;
  }
  return all;
}

static surg__tri open_by_flatten(const surg__judge *j, const surg_node *n, size_t axis, trace *x) {
  const surg_value *v = surg_node_input(n, 0);
  const surg_type *t = surg__judge_shape(v);
  const int64_t at = surg_node_int(n, "axis", 1);
  if (!t || at < 0 || (uint64_t)at > surg_type_rank(t)) return SURG__UNSAID;
  return axis ? any_open(j, v, (size_t)at, surg_type_rank(t), x) : any_open(j, v, 0, (size_t)at, x);
}

static surg__tri open_by_product(const surg__judge *j, const surg_node *n, size_t rank, size_t axis,
                                 trace *x) {
  size_t from;
  const surg_value *v = multiplied_from(n, rank, axis, &from);
  return v ? is_open(j, v, from, x) : SURG__UNSAID;
}

static surg__tri open_by_concat(const surg__judge *j, const surg_node *n, size_t rank, size_t axis,
                                trace *x) {
  const int64_t along = surg_node_int(n, "axis", 1);
  if ((size_t)(along < 0 ? along + (int64_t)rank : along) == axis) return SURG__UNSAID;
  return is_open(j, surg_node_input(n, 0), axis, x);
}

/* Slice keeps the sizes of the axes that it does not name. */
static surg__tri open_by_slice(const surg__judge *j, const surg_node *n, size_t rank, size_t axis,
                               trace *x) {
  return is_sliced(j, n, rank, axis) == SURG__NO ? is_open(j, surg_node_input(n, 0), axis, x)
                                                 : SURG__UNSAID;
}

/* Whether an input of the main graph up to v has an open size other than that of a batch. Until one
 * has, the importer makes open batches 1. */
static bool opens_up_to(const surg_value *v) {
  const surg_graph *g = surg_model_graph(surg_graph_model(surg_value_graph(v)));
  for (size_t i = 0; i < surg_graph_input_count(g); i++) {
    const surg_value *in = surg_graph_input(g, i);
    const surg_type *t = surg_value_is_initializer(in) ? NULL : surg__judge_shape(in);
    for (size_t k = 0; t && k < surg_type_rank(t); k++)
      if (surg_type_dim(t, k)->value < 0 && (k || surg_type_rank(t) < 3)) return true;
    if (in == v) return false;
  }
  return false;
}

/* Operators that broadcast make 0 to 1, except an Add that becomes one layer with the MatMul before
 * it. */
static surg__tri open_by_elements(const surg__judge *j, const surg_node *n, size_t rank,
                                  size_t axis, trace *x) {
  const bool one = surg_node_input_count(n) == 1 || surg_node_op(n) == SURG_OP_Clip ||
                   (surg__judge_fused(n) && surg__judge_elements(j, surg_node_input(n, 1)));
  if (!x->zeros) return open_by_all(j, n, rank - axis, x);
  return one ? is_open(j, surg_node_input(n, 0), axis, x) : SURG__UNSAID;
}

/* Whether a size follows from an open size of an input of the model (YES), which the importer
 * takes for 0, or from the model alone (NO). Constants and inputs say it, and nodes that keep the
 * sizes of their inputs. */
static surg__tri is_open(const surg__judge *j, const surg_value *v, size_t axis, trace *x) {
  const surg_type *t = surg__judge_shape(v);
  const size_t rank = t ? surg_type_rank(t) : 0;
  if (axis >= rank || !x->left) return SURG__UNSAID;
  x->left--;
  if (surg__judge_elements(j, v)) return SURG__NO;
  const surg_node *n = surg_value_producer(v, NULL);
  const surg_dim *d = surg_type_dim(t, axis);
  if (!n) {
    if (!surg_value_is_input(v)) return SURG__UNSAID;
    if (d->value >= 0) return SURG__NO;
    if (x->zeros && axis == 0 && !opens_up_to(v)) return SURG__UNSAID;
    return d->param ? SURG__YES : SURG__UNSAID;
  }
  const surg_schema *s = surg_node_schema(n);
  if (!s) return SURG__UNSAID;
  switch (surg_node_op(n)) {
    case SURG_OP_Flatten:
      return open_by_flatten(j, n, axis, x);
    case SURG_OP_Transpose:
      return is_open(j, surg_node_input(n, 0), transposed_from(n, rank, axis), x);
    case SURG_OP_Softmax:
    case SURG_OP_LayerNormalization:
    case SURG_OP_BatchNormalization:
    case SURG_OP_InstanceNormalization:
      return is_open(j, surg_node_input(n, 0), axis, x);
    case SURG_OP_MatMul:
      return open_by_product(j, n, rank, axis, x);
    case SURG_OP_Concat:
      return open_by_concat(j, n, rank, axis, x);
    case SURG_OP_Slice:
      return open_by_slice(j, n, rank, axis, x);
    default:
      return s->flags & SURG__OP_ELEMENTWISE ? open_by_elements(j, n, rank, axis, x) : SURG__UNSAID;
  }
}

/* Whether a node of one operand computes each element from the element at its place. */
static bool keeps_all_sizes(const surg_node *n) {
  const int op = surg_node_op(n);
  return op == SURG_OP_Dropout || op == SURG_OP_BatchNormalization ||
         ((surg_node_schema(n)->flags & SURG__OP_ELEMENTWISE) && surg_node_input_count(n) == 1);
}

/* The node that computes v, if its operator is known; else NULL. */
static const surg_node *known_producer(const surg_value *v) {
  const surg_node *n = surg_value_producer(v, NULL);
  return n && surg_node_schema(n) ? n : NULL;
}

static bool is_pool(const surg_node *n) {
  const int op = surg_node_op(n);
  return op == SURG_OP_GlobalAveragePool || op == SURG_OP_GlobalMaxPool;
}

/* Whether the importer takes a size that is 1 for open, as a pool of open sizes made it. */
static bool is_pooled(const surg__judge *j, const surg_value *v, size_t axis, trace *x) {
  for (; v && x->left; x->left--) {
    const surg_node *n = known_producer(v);
    if (!n) return false;
    v = surg_node_input(n, 0);
    if (is_pool(n)) {
      const surg__op_facts *pool = surg__target_op(j->t, "", surg_node_op_type(n));
      const surg_type *t = surg__judge_shape(v);
      if (!pool || !pool->n || !pool->facts[0].keeps_open || !t) return false;
      if (axis < surg_type_rank(t) && surg_type_dim(t, axis)->value < 0) return true;
    } else if (surg_node_op(n) != SURG_OP_Conv && !keeps_all_sizes(n)) {
      return false;
    }
  }
  return false;
}

/* Whether Flatten or Squeeze before v, or before nodes that keep sizes, removed such a size: it
 * leaves nothing. */
static bool lost_by_pool(const surg__judge *j, const surg_value *v, trace *x) {
  for (; v && x->left; x->left--) {
    const surg_node *n = known_producer(v);
    const int op = n ? surg_node_op(n) : 0;
    if (!n) return false;
    v = surg_node_input(n, 0);
    if (op == SURG_OP_Flatten || op == SURG_OP_Squeeze) {
      const surg_type *t = surg__judge_shape(v);
      for (size_t axis = 2; t && axis < surg_type_rank(t); axis++)
        if (surg_type_dim(t, axis)->value == 1 && is_pooled(j, v, axis, x)) return true;
      return false;
    }
    if (!keeps_all_sizes(n)) return false;
  }
  return false;
}

/* The axis of operand i that a product sums over; false: its rank is not known. */
static bool summed_axis(const surg_node *n, const surg_type *t, size_t i, size_t *axis) {
  const size_t rank = t ? surg_type_rank(t) : 0;
  const int op = surg_node_op(n);
  const bool conv = op == SURG_OP_Conv || op == SURG_OP_ConvTranspose;
  const bool last = rank == 1 || (i == 0) != turned(n, i);
  *axis = conv ? 1 : last ? rank - 1 : rank - 2;
  return rank > (conv ? 1u : 0u);
}

/* Says that the trace ended before it told whether a size is lost. */
static void object_to_depth(surg__judge *j) {
  surg__judge_object(
      j, SURG__UNKNOWN, SURG__C_DYNAMIC, NULL,
      "there are more than %d values between the inputs and the Reshape nodes that may "
      "lose their sizes",
      TRACED_MOST);
}

/* The size of v along an axis is not fixed, and that of the other operand, if there is one, is as
 * `other` says: the importer accepts that if it knows neither. */
static void judge_open(surg__judge *j, const surg_value *v, surg__tri open, surg__tri other) {
  if (open == SURG__YES && other == SURG__YES) return;
  const bool certain = open == SURG__YES && other == SURG__NO;
  surg__judge_object(j, certain ? SURG__ILLEGAL : SURG__UNKNOWN, SURG__C_DYNAMIC, v,
                     certain ? "the size of %s along the axis that is summed over must be fixed"
                             : "the size of %s along the axis that is summed over is not known",
                     surg__judge_name(j, v));
}

/* Checks the axes that LayerNormalization normalizes: their sizes must be known to the importer. */
static void judge_normalized(surg__judge *j) {
  const surg_value *v = surg_node_input(j->n, 0);
  const surg_type *t = surg__judge_shape(v);
  const int64_t rank = t ? (int64_t)surg_type_rank(t) : 0;
  int64_t axis = surg_node_int(j->n, "axis", -1);
  trace x = {TRACED_MOST, true};
  if (axis < 0) axis += rank;
  if (!v) return;
  if (!t || axis < 0) judge_open(j, v, SURG__UNSAID, SURG__NO);
  for (int64_t i = axis; t && i >= 0 && i < rank; i++) {
    if (surg_type_dim(t, (size_t)i)->value < 0) {
      judge_open(j, v, is_open(j, v, (size_t)i, &x), SURG__NO);
      return;
    }
    if (!is_lost(j, v, (size_t)i, &x)) continue;
    surg__judge_object(j, SURG__UNKNOWN, SURG__C_DYNAMIC, v,
                       "the importer may not know the size of %s along the axes that are "
                       "normalized: a Reshape has 0 or -1 there",
                       surg__judge_name(j, v));
    return;
  }
}

/* Checks that the importer knows the sizes of the axes that a product sums over of both operands,
 * or of neither: the last of the first operand, the last but one of the second; of a Conv the
 * channels of the picture. */
static void judge_inner(surg__judge *j) {
  const surg_value *lost = NULL;
  size_t losses = 0, operands = 2, axis;
  trace x = {TRACED_MOST, true};
  const int op = surg_node_op(j->n);
  if (j->f->inner && op == SURG_OP_LayerNormalization) {
    judge_normalized(j);
    return;
  }
  if (op == SURG_OP_Conv || op == SURG_OP_ConvTranspose) operands = 1;
  const bool tracks = only_batch_open(surg_model_graph(surg_graph_model(surg_node_graph(j->n))));
  for (size_t i = 0; j->f->inner && i < operands && i < surg_node_input_count(j->n); i++) {
    const surg_value *v = surg_node_input(j->n, i), *w = surg_node_input(j->n, 1 - i);
    const surg_type *t = surg__judge_shape(v);
    const bool ranked = summed_axis(j->n, t, i, &axis);
    if (!v) continue;
    if (!ranked || surg_type_dim(t, axis)->value < 0) {
      const surg__tri open = ranked ? is_open(j, v, axis, &x) : SURG__UNSAID;
      const bool both = operands == 2 && summed_axis(j->n, surg__judge_shape(w), 1 - i, &axis);
      const surg__tri other = both ? is_open(j, w, axis, &x) : SURG__UNSAID;
      judge_open(j, v, open, operands == 1 ? SURG__NO : other);
      return;
    }
    if (!tracks && operands == 2 && lost_by_pool(j, v, &x)) {
      surg__judge_object(j, SURG__ILLEGAL, SURG__C_DYNAMIC, v,
                         "the importer does not know the sizes of %s: a pool before it reads an "
                         "input of open sizes",
                         surg__judge_name(j, v));
      return;
    }
    if (tracks || !is_lost(j, v, axis, &x)) continue;
    lost = v;
    losses++;
  }
  if (!x.left)
    object_to_depth(j);
  else if (lost)
    surg__judge_object(j, losses == 1 ? SURG__ILLEGAL : SURG__UNKNOWN, SURG__C_DYNAMIC, lost,
                       "the importer does not know the size of %s along the axis that is summed "
                       "over: a Reshape has 0 or -1 there, and the model has dynamic inputs",
                       surg__judge_name(j, lost));
}

/* Checks the sizes before the last two of operands that must have them in common (`same`): the
 * importer must not have lost one of a single operand. */
static void judge_batches(surg__judge *j) {
  const surg_value *ends[2] = {surg_node_input(j->n, 0), surg_node_input(j->n, 1)};
  const surg_type *t = surg__judge_shape(ends[0]), *u = surg__judge_shape(ends[1]);
  trace x = {TRACED_MOST, true};
  if (!j->f->inner || !j->f->but_two || !t || !u || surg_type_rank(t) != surg_type_rank(u)) return;
  if (only_batch_open(surg_model_graph(surg_graph_model(surg_node_graph(j->n))))) return;
  for (size_t axis = 0; axis + 2 < surg_type_rank(t); axis++) {
    const bool first = is_lost(j, ends[0], axis, &x), second = is_lost(j, ends[1], axis, &x);
    if (first == second || !x.left) continue;
    const bool certain = is_open(j, ends[first], axis, &x) == SURG__NO;
    surg__judge_object(j, certain ? SURG__ILLEGAL : SURG__UNKNOWN, SURG__C_DYNAMIC, ends[second],
                       "the importer does not know a size of %s that %s has, too: a Reshape has 0 "
                       "or -1 there, and the model has dynamic inputs",
                       surg__judge_name(j, ends[second]), surg__judge_name(j, ends[first]));
    return;
  }
}

/* Whether the importer knows that a size is above 1. */
static bool is_known(const surg__judge *j, const surg_value *v, size_t axis, trace *x) {
  return surg_type_dim(surg__judge_shape(v), axis)->value > 1 && !is_lost(j, v, axis, x) && x->left;
}

/* Checks the sizes before the last two of the operands of a product: the importer must not know one
 * of one operand that is open in the other. */
static void judge_open_batches(surg__judge *j) {
  const surg_value *v = surg_node_input(j->n, 0), *w = surg_node_input(j->n, 1);
  const surg_type *t = surg__judge_shape(v), *u = surg__judge_shape(w);
  trace x = {TRACED_MOST, false, true};
  if (!j->f->inner || surg_node_op(j->n) != SURG_OP_MatMul || !t || !u) return;
  for (size_t back = 3; back <= surg_type_rank(t) && back <= surg_type_rank(u); back++) {
    const size_t a = surg_type_rank(t) - back, b = surg_type_rank(u) - back;
    const bool first = is_open(j, v, a, &x) == SURG__YES && is_known(j, w, b, &x);
    if (!first && !(is_open(j, w, b, &x) == SURG__YES && is_known(j, v, a, &x))) continue;
    surg__judge_object(j, SURG__ILLEGAL, SURG__C_DYNAMIC, first ? v : w,
                       "a size of %s is open that %s has fixed", surg__judge_name(j, first ? v : w),
                       surg__judge_name(j, first ? w : v));
    return;
  }
}

/* Whether the sizes of the operands of Concat agree beside its axis: YES if the importer knows all
 * or none of each axis, NO if it knows some. */
static surg__tri sizes_agree(const surg__judge *j, size_t axis, trace *x) {
  bool known = false, open = false, unsaid = false;
  for (size_t i = 0; i < surg_node_input_count(j->n); i++) {
    const surg_value *v = surg_node_input(j->n, i);
    const surg_type *t = surg__judge_shape(v);
    if (!t || axis >= surg_type_rank(t)) return SURG__UNSAID;
    if (surg_type_dim(t, axis)->value < 0) {
      const bool zero = is_open(j, v, axis, x) == SURG__YES;
      open |= zero;
      unsaid |= !zero;
    } else if (is_lost(j, v, axis, x)) {
      unsaid = true;
    } else {
      known = true;
    }
  }
  if (!x->left) return SURG__UNSAID;
  return known && open ? SURG__NO : unsaid ? SURG__UNSAID : SURG__YES;
}

static surg__tri concat_agrees(const surg__judge *j) {
  const surg_type *t = surg__judge_shape(surg_node_input(j->n, 0));
  trace x = {TRACED_MOST, false, true};
  const int64_t rank = t ? (int64_t)surg_type_rank(t) : 0;
  int64_t along = surg_node_int(j->n, "axis", 1);
  surg__tri all = SURG__YES;
  if (surg_node_op(j->n) != SURG_OP_Concat || !t) return SURG__UNSAID;
  if (along < 0) along += rank;
  for (int64_t axis = 0; axis < rank; axis++) {
    const surg__tri one = axis == along ? SURG__YES : sizes_agree(j, (size_t)axis, &x);
    if (one == SURG__NO) return one;
    if (one == SURG__UNSAID) all = one;
  }
  return all;
}

static void judge_settled(surg__judge *j) {
  if (!j->f->settled) return;
  const surg_graph *g = surg_node_graph(j->n);
  for (size_t i = 0; i < surg_node_input_count(j->n); i++) {
    const surg_value *v = surg_node_input(j->n, i);
    const surg_type *t = surg__judge_shape(v);
    if (!v || surg__judge_elements(j, v) || (t && surg_type_static(t, NULL))) continue;
    if (only_batch_open(surg_model_graph(surg_graph_model(g)))) return;
    const surg__tri agrees = concat_agrees(j);
    if (agrees == SURG__YES) return;
    surg__judge_object(j, agrees == SURG__NO ? SURG__ILLEGAL : SURG__UNKNOWN, SURG__C_DYNAMIC, v,
                       agrees == SURG__NO ? "a size of %s is open that another operand has fixed"
                                          : "%s has no fixed size, and neither has an input of "
                                            "the model",
                       surg__judge_name(j, v));
    return;
  }
}

/* Whether the importer knows a size: NO where a Reshape lost it. */
static surg__tri has_size(const surg__judge *j, const surg_value *v, size_t axis, trace *x) {
  const surg_type *t = surg__judge_shape(v);
  if (!t || axis >= surg_type_rank(t) || surg_type_dim(t, axis)->value < 0) return SURG__UNSAID;
  if (surg__judge_constant(j, v) == SURG__YES) return SURG__YES;
  if (is_lost(j, v, axis, x)) return SURG__NO;
  for (; x->left; x->left--) {
    const surg_node *n = known_producer(v);
    if (!n) return surg_value_producer(v, NULL) ? SURG__UNSAID : SURG__YES;
    switch (surg_node_op(n)) {
      case SURG_OP_Conv:
      case SURG_OP_ConvTranspose:
      case SURG_OP_MaxPool:
      case SURG_OP_AveragePool:
        return SURG__YES;
      case SURG_OP_Reshape:
        return surg__judge_elements(j, surg_node_input(n, 1)) ? SURG__YES : SURG__UNSAID;
      case SURG_OP_Transpose:
        axis = transposed_from(n, surg_type_rank(surg__judge_shape(v)), axis);
        break;
      default:
        if (!keeps_all_sizes(n)) return SURG__UNSAID;
    }
    v = surg_node_input(n, 0);
    t = surg__judge_shape(v);
    if (!t || axis >= surg_type_rank(t)) return SURG__UNSAID;
  }
  return SURG__UNSAID;
}

/* Checks that what Concat joins lost the same sizes, or none. Sizes that are open in the model are
 * for judge_settled. */
static void judge_joined(surg__judge *j, size_t rank, size_t along, trace *x) {
  for (size_t axis = 0; axis < rank; axis++) {
    const surg_value *lost = NULL, *other = NULL;
    surg__tri known = SURG__NO;
    for (size_t i = 0; axis != along && i < surg_node_input_count(j->n); i++) {
      const surg_value *v = surg_node_input(j->n, i);
      const surg__tri one = has_size(j, v, axis, x);
      if (one == SURG__NO)
        lost = v;
      else if (!other || one == SURG__YES)
        other = v, known = one;
    }
    if (!lost || !other) continue;
    surg__judge_object(j, known == SURG__YES ? SURG__ILLEGAL : SURG__UNKNOWN, SURG__C_DYNAMIC, lost,
                       "the importer does not know the size of axis %zu of %s, since a Reshape has "
                       "0 or -1 there and the model has dynamic inputs, and %s that of %s",
                       axis, surg__judge_name(j, lost),
                       known == SURG__YES ? "knows" : "may know", surg__judge_name(j, other));
    return;
  }
}

static void judge_parts(surg__judge *j) {
  const surg_type *t = surg__judge_shape(surg_node_input(j->n, 0));
  const int64_t rank = t ? (int64_t)surg_type_rank(t) : 0, at = surg_node_int(j->n, "axis", 1);
  trace x = {TRACED_MOST, false, true};
  if (!j->f->settled || surg_node_op(j->n) != SURG_OP_Concat || at < -rank || at >= rank ||
      only_batch_open(surg_model_graph(surg_graph_model(surg_node_graph(j->n)))))
    return;
  judge_joined(j, (size_t)rank, (size_t)(at < 0 ? at + rank : at), &x);
  if (!x.left) object_to_depth(j);
}

/* Whether an operand before number `end` has a size above 1, which the importer knows, at the axis
 * of the result that is `back` from its end. */
static bool known_before(const surg__judge *j, size_t end, size_t back, trace *x) {
  for (size_t i = 0; i < end; i++) {
    const surg_value *v = surg_node_input(j->n, i);
    const surg_type *t = surg__judge_shape(v);
    if (!t || surg_type_rank(t) < back) continue;
    const size_t at = surg_type_rank(t) - back;
    if (surg_type_dim(t, at)->value > 1 && !is_lost(j, v, at, x) && x->left) return true;
  }
  return false;
}

/* Checks that no operand lost a size, or has an open one, that the importer knows of an operand
 * before it. */
static bool fits_agreed(surg__judge *j) {
  trace x = {TRACED_MOST, false, true};
  if (!j->f->agree || only_batch_open(surg_model_graph(surg_graph_model(surg_node_graph(j->n)))))
    return true;
  for (size_t i = 1; i < surg_node_input_count(j->n); i++) {
    const surg_value *v = surg_node_input(j->n, i);
    const surg_type *t = surg__judge_shape(v);
    for (size_t axis = 0; t && axis < surg_type_rank(t); axis++) {
      const size_t back = surg_type_rank(t) - axis;
      const bool open = surg_type_dim(t, axis)->value < 0 && is_open(j, v, axis, &x) == SURG__YES;
      if (!open && !is_lost(j, v, axis, &x)) continue;
      if (!known_before(j, i, back, &x)) continue;
      surg__judge_object(
          j, SURG__ILLEGAL, SURG__C_DYNAMIC, v,
          "the importer knows a size of the operand before %s, and not that of %s: %s",
          surg__judge_name(j, v), surg__judge_name(j, v),
          open ? "an input of the model has an open size there"
               : "a Reshape has 0 or -1 there, and the model has dynamic inputs");
      return false;
    }
  }
  if (!x.left) object_to_depth(j);
  return true;
}

/* The number of elements of v with a batch of 1, if its batch alone is open, as it is in an input
 * of the model; else -1. */
static int64_t elements_of_one(const surg__judge *j, const surg_value *v) {
  const surg_type *t = surg__judge_shape(v);
  trace x = {TRACED_MOST, false, false};
  int64_t all = 1;
  if (!t || !surg_type_rank(t) || surg_type_dim(t, 0)->value >= 0) return -1;
  for (size_t i = 1; i < surg_type_rank(t); i++) {
    const int64_t d = surg_type_dim(t, i)->value;
    if (d < 0 || !surg__mul_i64(all, d, &all)) return -1;
  }
  return is_open(j, v, 0, &x) == SURG__YES ? all : -1;
}

/* Checks that the constant target of a Reshape fits a batch of 1, if the batch is open. */
static bool fits_batch_of_one(surg__judge *j) {
  int64_t target[TARGET_MOST], all = 1;
  const surg_value *v = surg_node_input(j->n, 0), *shape = surg_node_input(j->n, 1);
  const surg_tensor *c = j->f->batch_of_one && v && shape ? surg__judge_elements(j, shape) : NULL;
  const int64_t count = c ? surg__read_ints(c, target, SURG_COUNT(target)) : -1;
  const int64_t had = count > 0 ? elements_of_one(j, v) : -1;
  bool rest = false;
  for (int64_t i = 0; had >= 0 && i < count; i++) {
    const surg_type *t = surg__judge_shape(v);
    if (target[i] < 0) rest = true;
    if (target[i] == 0 && i >= (int64_t)surg_type_rank(t)) return true;
    if (target[i] == 0) target[i] = i ? surg_type_dim(t, (size_t)i)->value : 1;
    if (target[i] > 0 && !surg__mul_i64(all, target[i], &all)) return true;
  }
  if (had < 0 || (rest ? all > 0 && had % all == 0 : had == all)) return true;
  surg__judge_object(
      j, SURG__ILLEGAL, SURG__C_DYNAMIC, v,
      "the importer makes the open batch 1: %s then has %lld elements, which the new "
      "shape does not fit",
      surg__judge_name(j, v), (long long)had);
  return false;
}

/* Checks the target of a Reshape of constants: where an input of the model has an open size other
 * than that of a batch, the importer keeps the -1 and computes with it. */
static bool fits_whole_target(surg__judge *j) {
  int64_t target[TARGET_MOST];
  const surg_value *v = surg_node_input(j->n, 0), *shape = surg_node_input(j->n, 1);
  const surg_tensor *c = j->f->whole_target && v && shape ? surg__judge_elements(j, shape) : NULL;
  const int64_t count = c ? surg__read_ints(c, target, SURG_COUNT(target)) : -1;
  bool rest = false;
  for (int64_t i = 0; i < count; i++) rest |= target[i] < 0;
  if (!rest || surg__judge_constant(j, v) != SURG__YES ||
      only_batch_open(surg_model_graph(surg_graph_model(surg_node_graph(j->n)))))
    return true;
  surg__judge_object(
      j, SURG__ILLEGAL, SURG__C_DYNAMIC, v,
      "%s is computed from constants: the importer keeps the -1 of its new shape, as "
      "the model has dynamic inputs",
      surg__judge_name(j, v));
  return false;
}

static bool fits_axis(surg__judge *j) {
  const surg_type *t = surg__judge_shape(surg_node_input(j->n, 0));
  const int64_t axis = surg_node_int(j->n, "axis", 1);
  if (!j->f->axis_inside || !t || axis < (int64_t)surg_type_rank(t)) return true;
  surg__judge_object(j, SURG__ILLEGAL, SURG__C_RANGE, NULL,
                     "axis is %lld; it must be below the rank, %zu", (long long)axis,
                     (size_t)surg_type_rank(t));
  return false;
}

bool surg__judge_open(surg__judge *j) {
  if (!fits_agreed(j) || !fits_batch_of_one(j) || !fits_whole_target(j) || !fits_axis(j))
    return false;
  judge_inner(j);
  judge_batches(j);
  judge_open_batches(j);
  judge_settled(j);
  judge_parts(j);
  return true;
}
