/* SPDX-License-Identifier: Apache-2.0 */
/* Limits of engines that compute shapes themselves during import, differently from ONNX: OpenCV
 * stores a vector that it computes as a column of a matrix, and replaces open dimensions by 0,
 * which becomes 1 where a shape is broadcast. It also makes one layer of some chains of nodes, and
 * loses attributes there. */
#include <string.h>

#include <onnxsurg/ops.h>

#include "base/counted.h"
#include "ir/ir.h"
#include "schema/text.h"
#include "target/judge.h"

static const surg_type *shape_of(const surg_value *v) {
  const surg_type *t = v ? surg_value_type(v) : NULL;
  return t && surg_type_get_kind(t) == SURG_TYPE_TENSOR && surg_type_has_rank(t) ? t : NULL;
}

/* Whether the importer knows the rank of a constant: of one that the model has. Cast and Concat
 * keep that of their first input. */
static bool keeps_rank(const surg__judge *j, const surg_value *v) {
  while (v && !surg__judge_elements(j, v)) {
    const surg_node *n = surg_value_producer(v, NULL);
    const bool keeps = n && (surg_node_op(n) == SURG_OP_Cast || surg_node_op(n) == SURG_OP_Concat);
    v = keeps ? surg_node_input(n, 0) : NULL;
  }
  return v != NULL;
}

/* Checks inputs that must not be vectors computed from constants. */
static bool fits_stored(surg__judge *j) {
  for (size_t i = 0; i < j->f->stored.n; i++) {
    const surg_value *v = surg__judge_formal(j, j->f->stored.items[i], false);
    const surg_type *t = shape_of(v);
    if (!v || keeps_rank(j, v)) continue;
    if (surg__judge_constant(j, v) == SURG__NO) continue;
    if (t && (surg_type_rank(t) != 1 || surg_type_dim(t, 0)->value == 1)) continue;
    surg__judge_object(j, t ? SURG__ILLEGAL : SURG__UNKNOWN, SURG__C_CONSTANT, v,
                       "%s is a vector computed from constants; it must be a constant of the model",
                       surg__judge_name(j, v));
    if (t) return false;
  }
  return true;
}

/* Checks constants of which the importer must know the rank. */
static bool fits_ranked(surg__judge *j) {
  for (size_t i = 0; i < j->f->ranked.n; i++) {
    const surg_value *v = surg__judge_formal(j, j->f->ranked.items[i], false);
    if (!v || surg__judge_constant(j, v) != SURG__YES || keeps_rank(j, v)) continue;
    surg__judge_object(j, SURG__ILLEGAL, SURG__C_CONSTANT, v,
                       "%s is computed from constants; it must be a constant of the model",
                       surg__judge_name(j, v));
    return false;
  }
  return true;
}

/* Whether Gemm reads operand i of the product transposed; MatMul does not have the attribute. */
static bool turned(const surg_node *n, size_t i) {
  const surg_attr *a = surg_node_attr(n, i == 0 ? "transA" : "transB");
  return a && surg_attr_get_kind(a) == SURG_ATTR_INT && surg_attr_int(a) != 0;
}

/* Whether the inputs of the model have fixed sizes, except the first of three axes or more. */
static bool only_batch_open(const surg_graph *g) {
  for (size_t i = 0; i < surg_graph_input_count(g); i++) {
    const surg_type *t = shape_of(surg_graph_input(g, i));
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

/* Whether the importer makes one layer of an Add and the MatMul before it. */
static bool is_fused(const surg_node *n) {
  const surg_value *v = surg_node_input(n, 0);
  const surg_node *from = v ? surg_value_producer(v, NULL) : NULL;
  return surg_node_op(n) == SURG_OP_Add && from && surg_node_op(from) == SURG_OP_MatMul;
}

/* The size where all operands of more than one element lost it. A constant that comes later makes
 * it 1, as broadcasting does. */
static bool lost_by_all(const surg__judge *j, const surg_node *n, size_t rank, size_t axis,
                        trace *x) {
  bool any = false;
  for (size_t i = 0; i < surg_node_input_count(n); i++) {
    const surg_value *v = surg_node_input(n, i);
    const surg_type *t = shape_of(v);
    if (!v) continue;
    if (!t || (i && !x->ones && surg__judge_elements(j, v) && !is_fused(n))) return false;
    const size_t back = rank - axis;
    if (surg_type_rank(t) < back) continue;
    const size_t at = surg_type_rank(t) - back;
    if (surg_type_dim(t, at)->value == 1) continue;
    if (!is_lost(j, v, at, x)) return false;
    any = true;
  }
  return any;
}

static bool lost_by_transpose(const surg__judge *j, const surg_node *n, size_t rank, size_t axis,
                              trace *x) {
  size_t count;
  const int64_t *perm = surg_node_ints(n, "perm", &count);
  if (perm && (count != rank || perm[axis] < 0 || (size_t)perm[axis] >= rank)) return false;
  return is_lost(j, surg_node_input(n, 0), perm ? (size_t)perm[axis] : rank - 1 - axis, x);
}

static bool lost_by_product(const surg__judge *j, const surg_node *n, size_t rank, size_t axis,
                            trace *x) {
  const surg_value *v = surg_node_input(n, axis + 1 == rank);
  const surg_type *t = shape_of(v);
  if (rank < 2 || axis + 2 < rank || !t || surg_type_rank(t) < 2) return false;
  return is_lost(j, v, surg_type_rank(t) - (rank - axis), x);
}

/* Flatten multiplies sizes: the product is lost with one of them. */
static bool lost_by_flatten(const surg__judge *j, const surg_node *n, size_t axis, trace *x) {
  const surg_value *v = surg_node_input(n, 0);
  const surg_type *t = shape_of(v);
  int64_t at = surg_node_int(n, "axis", 1);
  const int64_t rank = t ? (int64_t)surg_type_rank(t) : 0;
  if (at < 0) at += rank;
  for (int64_t i = axis ? at : 0; i >= 0 && i < (axis ? rank : at); i++)
    if (is_lost(j, v, (size_t)i, x)) return true;
  return false;
}

/* Whether the engine lost a size that follows from the model. Operators that are not listed keep
 * it, or it is not known: then false. Where `left` reached 0, false says nothing. */
static bool is_lost(const surg__judge *j, const surg_value *v, size_t axis, trace *x) {
  const surg_type *t = shape_of(v);
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
      return lost_by_transpose(j, n, rank, axis, x);
    case SURG_OP_MatMul:
      return lost_by_product(j, n, rank, axis, x);
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
    const surg_type *t = shape_of(v);
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
  const surg_type *t = shape_of(v);
  const int64_t at = surg_node_int(n, "axis", 1);
  if (!t || at < 0 || (uint64_t)at > surg_type_rank(t)) return SURG__UNSAID;
  return axis ? any_open(j, v, (size_t)at, surg_type_rank(t), x) : any_open(j, v, 0, (size_t)at, x);
}

static surg__tri open_by_transpose(const surg__judge *j, const surg_node *n, size_t rank,
                                   size_t axis, trace *x) {
  size_t count;
  const int64_t *perm = surg_node_ints(n, "perm", &count);
  if (perm && (count != rank || perm[axis] < 0 || (size_t)perm[axis] >= rank)) return SURG__UNSAID;
  return is_open(j, surg_node_input(n, 0), perm ? (size_t)perm[axis] : rank - 1 - axis, x);
}

/* Whether a size follows from an open size of an input of the model (YES), which the importer
 * takes for 0, or from the model alone (NO). Constants and inputs say it, and nodes that keep the
 * sizes of their inputs. */
static surg__tri is_open(const surg__judge *j, const surg_value *v, size_t axis, trace *x) {
  const surg_type *t = shape_of(v);
  const size_t rank = t ? surg_type_rank(t) : 0;
  if (axis >= rank || !x->left) return SURG__UNSAID;
  x->left--;
  if (surg__judge_elements(j, v)) return SURG__NO;
  const surg_node *n = surg_value_producer(v, NULL);
  const surg_dim *d = surg_type_dim(t, axis);
  if (!n) {
    if (!surg_value_is_input(v)) return SURG__UNSAID;
    return d->value >= 0 ? SURG__NO : d->param ? SURG__YES : SURG__UNSAID;
  }
  const surg_schema *s = surg_node_schema(n);
  if (!s) return SURG__UNSAID;
  switch (surg_node_op(n)) {
    case SURG_OP_Flatten: return open_by_flatten(j, n, axis, x);
    case SURG_OP_Transpose: return open_by_transpose(j, n, rank, axis, x);
    case SURG_OP_Softmax:
    case SURG_OP_LayerNormalization:
    case SURG_OP_BatchNormalization:
    case SURG_OP_InstanceNormalization: return is_open(j, surg_node_input(n, 0), axis, x);
    default:
      return s->flags & SURG__OP_ELEMENTWISE ? open_by_all(j, n, rank - axis, x) : SURG__UNSAID;
  }
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
  const surg_type *t = shape_of(v);
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
    const surg_type *t = shape_of(v);
    const bool ranked = summed_axis(j->n, t, i, &axis);
    if (!v) continue;
    if (!ranked || surg_type_dim(t, axis)->value < 0) {
      const surg__tri open = ranked ? is_open(j, v, axis, &x) : SURG__UNSAID;
      const bool both = operands == 2 && summed_axis(j->n, shape_of(w), 1 - i, &axis);
      const surg__tri other = both ? is_open(j, w, axis, &x) : SURG__UNSAID;
      judge_open(j, v, open, operands == 1 ? SURG__NO : other);
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
  const surg_type *t = shape_of(ends[0]), *u = shape_of(ends[1]);
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

static void judge_settled(surg__judge *j) {
  if (!j->f->settled) return;
  const surg_graph *g = surg_node_graph(j->n);
  for (size_t i = 0; i < surg_node_input_count(j->n); i++) {
    const surg_value *v = surg_node_input(j->n, i);
    const surg_type *t = shape_of(v);
    if (!v || surg__judge_elements(j, v) || (t && surg_type_static(t, NULL))) continue;
    if (only_batch_open(surg_model_graph(surg_graph_model(g)))) return;
    surg__judge_object(j, SURG__UNKNOWN, SURG__C_DYNAMIC, v,
                       "%s has no fixed size, and neither has an input of the model",
                       surg__judge_name(j, v));
    return;
  }
}

/* Whether an operand before number `end` has a size above 1, which the importer knows, at the axis
 * of the result that is `back` from its end. */
static bool known_before(const surg__judge *j, size_t end, size_t back, trace *x) {
  for (size_t i = 0; i < end; i++) {
    const surg_value *v = surg_node_input(j->n, i);
    const surg_type *t = shape_of(v);
    if (!t || surg_type_rank(t) < back) continue;
    const size_t at = surg_type_rank(t) - back;
    if (surg_type_dim(t, at)->value > 1 && !is_lost(j, v, at, x) && x->left) return true;
  }
  return false;
}

/* Checks that no operand lost a size that the importer knows of an operand before it. */
static bool fits_agreed(surg__judge *j) {
  trace x = {TRACED_MOST, false};
  if (!j->f->agree || only_batch_open(surg_model_graph(surg_graph_model(surg_node_graph(j->n)))))
    return true;
  for (size_t i = 1; i < surg_node_input_count(j->n); i++) {
    const surg_value *v = surg_node_input(j->n, i);
    const surg_type *t = shape_of(v);
    for (size_t axis = 0; t && axis < surg_type_rank(t); axis++) {
      const size_t back = surg_type_rank(t) - axis;
      if (!is_lost(j, v, axis, &x) || !known_before(j, i, back, &x)) continue;
      surg__judge_object(
          j, SURG__ILLEGAL, SURG__C_DYNAMIC, v,
          "the importer knows a size of the operand before %s, and not that of %s: a "
          "Reshape has 0 or -1 there, and the model has dynamic inputs",
          surg__judge_name(j, v), surg__judge_name(j, v));
      return false;
    }
  }
  if (!x.left) object_to_depth(j);
  return true;
}

/* How many inputs of the node that hold v become a layer named after it. */
static size_t layers_of(const surg__judge *j, const surg__tfact *f, const surg_value *v) {
  size_t found = 0;
  for (size_t i = 0; i < f->layers.n; i++) {
    const char *name = f->layers.items[i];
    if (strcmp(name, "*") != 0) {
      found += surg__judge_formal(j, name, false) == v;
      continue;
    }
    for (size_t k = 0; k < surg_node_input_count(j->n); k++) found += surg_node_input(j->n, k) == v;
  }
  return found;
}

/* The same for a node that is not judged now: by the first fact of its operator with layers. */
static size_t layers_elsewhere(const surg__judge *j, const surg_node *n, const surg_value *v) {
  const surg__op_facts *op = surg__target_op(j->t, surg_node_domain(n), surg_node_op_type(n));
  surg__judge other = *j;
  other.n = n;
  other.s = surg_node_schema(n);
  for (size_t i = 0; op && i < op->n; i++)
    if (op->facts[i].layers.n) return layers_of(&other, &op->facts[i], v);
  return 0;
}

/* Checks that no constant of the node becomes a layer twice: the importer rejects the second name.
 */
static bool fits_layers(surg__judge *j) {
  for (size_t i = 0; j->f->layers.n && i < surg_node_input_count(j->n); i++) {
    const surg_value *v = surg_node_input(j->n, i);
    if (!v || !surg__judge_elements(j, v)) continue;
    size_t layers = layers_of(j, j->f, v);
    for (const surg_use *u = layers ? v->uses : NULL; u && layers < 2; u = u->next)
      if (u->kind == SURG_USE_NODE && u->user.node != j->n)
        layers += layers_elsewhere(j, u->user.node, v);
    if (layers < 2) continue;
    surg__judge_object(j, SURG__ILLEGAL, SURG__C_CONSTANT, v,
                       "the importer makes a layer of the constant %s, once only; it is read in "
                       "another such place",
                       surg__judge_name(j, v));
    return false;
  }
  return true;
}

/* Checks inputs that must not come from a Constant node. */
static bool fits_initializers(surg__judge *j) {
  for (size_t i = 0; i < j->f->initializers.n; i++) {
    const surg_value *v = surg__judge_formal(j, j->f->initializers.items[i], false);
    if (!v || !surg_value_producer(v, NULL) || surg__judge_constant(j, v) != SURG__YES) continue;
    surg__judge_object(j, SURG__ILLEGAL, SURG__C_CONSTANT, v,
                       surg__judge_elements(j, v)
                           ? "%s is a Constant node; it must be an initializer"
                           : "%s is computed from constants; it must be an initializer",
                       surg__judge_name(j, v));
    return false;
  }
  return true;
}

/* Checks constant inputs that must come from a Constant node. */
static bool fits_nodes(surg__judge *j) {
  for (size_t i = 0; i < j->f->nodes.n; i++) {
    const surg_value *v = surg__judge_formal(j, j->f->nodes.items[i], false);
    if (!v || surg_value_producer(v, NULL) || surg__judge_constant(j, v) != SURG__YES) continue;
    surg__judge_object(j, SURG__ILLEGAL, SURG__C_CONSTANT, v,
                       "%s is an initializer; it must be a Constant node", surg__judge_name(j, v));
    return false;
  }
  return true;
}

/* The only node that reads the first output, once; NULL: none, or several. The output may also be
 * one of the model. */
static const surg_node *only_reader(const surg_node *n) {
  const surg_value *v = surg_node_output(n, 0);
  const surg_node *found = NULL;
  for (const surg_use *u = v ? v->uses : NULL; u; u = u->next) {
    if (u->kind != SURG_USE_NODE) continue;
    if (found) return NULL;
    found = u->user.node;
  }
  return found;
}

/* Whether a constant of more than one element is repeated otherwise than along axis 1 of `to`. */
static bool is_wide(const surg_tensor *c, const surg_value *to) {
  const surg_type *t = shape_of(to);
  const size_t rank = surg_tensor_rank(c);
  const int64_t *dims = surg_tensor_dims(c);
  for (size_t i = 0; i < rank; i++)
    if (dims[i] != 1 && (!t || surg_type_rank(t) + i != rank + 1)) return true;
  return false;
}

/* Whether a constant is an operand of another element-wise node, which makes a layer of it. A sum
 * with a product of MatMul does not count: the importer adds it in the layer of the product. */
static bool is_shared(const surg_value *c, const surg_node *n) {
  for (const surg_use *u = c->uses; u; u = u->next) {
    if (u->kind != SURG_USE_NODE || u->user.node == n) continue;
    switch (surg_node_op(u->user.node)) {
      case SURG_OP_Add:
        if (is_fused(u->user.node)) break;
        const surg_value *v = surg_node_input(u->user.node, 1);
        const surg_node *from = v ? surg_value_producer(v, NULL) : NULL;
        if (from && surg_node_op(from) == SURG_OP_MatMul) break;
        return true;
      case SURG_OP_Sub:
      case SURG_OP_Mul:
      case SURG_OP_Div:
      case SURG_OP_Pow:
      case SURG_OP_Max:
      case SURG_OP_Min: return true;
      default: break;
    }
  }
  return false;
}

/* Checks constants that no element-wise node may read, too. */
static bool fits_unshared(surg__judge *j) {
  for (size_t i = 0; i < j->f->unshared.n; i++) {
    const surg_value *v = surg__judge_formal(j, j->f->unshared.items[i], false);
    if (!v || !surg__judge_elements(j, v) || !is_shared(v, j->n)) continue;
    surg__judge_object(j, SURG__ILLEGAL, SURG__C_CONSTANT, v,
                       "the importer makes a layer of the constant %s, which an element-wise node "
                       "reads, too",
                       surg__judge_name(j, v));
    return false;
  }
  return true;
}

/* Whether three nodes Slice read the first output, as where attention splits its operands. */
static bool is_in_thirds(const surg_node *n) {
  const surg_value *v = surg_node_output(n, 0);
  size_t slices = 0;
  for (const surg_use *u = v ? v->uses : NULL; u && slices < 3; u = u->next)
    slices += u->kind == SURG_USE_NODE && surg_node_op(u->user.node) == SURG_OP_Slice;
  return slices == 3;
}

bool surg__judge_form(const char *how) {
  static const char *const forms[] = {"const",  "many",   "flat", "wide", "thirds", "joined",
                                      "shared", "mish", "celu", "log",  "norm"};
  for (size_t i = 0; i < SURG_COUNT(forms); i++)
    if (!strcmp(how, forms[i])) return true;
  return false;
}

static const surg_node *made_by(const surg_node *n, size_t i, int op) {
  const surg_value *v = n ? surg_node_input(n, i) : NULL;
  const surg_node *from = v ? surg_value_producer(v, NULL) : NULL;
  return from && surg_node_op(from) == op ? from : NULL;
}

/* Whether the node is the Tanh of Mish and the product is not with the input of its Softplus, which
 * may be written as a logarithm. */
static bool is_other_mish(const surg_node *n, const surg_node *product) {
  const surg_node *from = made_by(n, 0, SURG_OP_Softplus);
  for (size_t i = 0; !from && i < 2; i++)
    from = made_by(made_by(made_by(n, 0, SURG_OP_Log), 0, SURG_OP_Add), i, SURG_OP_Exp);
  for (size_t i = 0; from && i < surg_node_input_count(product); i++) {
    const surg_value *v = surg_node_input(product, i);
    if (v != surg_node_output(n, 0) && v != surg_node_input(from, 0)) return true;
  }
  return false;
}

/* Whether the sum is of a constant other than 1, and only a logarithm reads it: not Softplus. */
static bool is_other_softplus(const surg__judge *j, const surg_node *sum) {
  const surg_node *next = only_reader(sum);
  if (!next || surg_node_op(next) != SURG_OP_Log) return false;
  for (size_t i = 0; i < surg_node_input_count(sum); i++) {
    const surg_value *v = surg_node_input(sum, i);
    const surg_tensor *c = v ? surg__judge_elements(j, v) : NULL;
    double one = 1;
    if (c && (surg_tensor_count(c) != 1 || !surg__tensor_reals(c, &one) || one != 1))
      return true;
  }
  return false;
}

/* Whether a constant is a vector of the size of the last axis of v. */
static bool is_row_of(const surg__judge *j, const surg_value *c, const surg_value *v) {
  const surg_tensor *t = c ? surg__judge_elements(j, c) : NULL;
  const surg_type *of = shape_of(v);
  const size_t rank = of ? surg_type_rank(of) : 0;
  return t && rank && surg_tensor_rank(t) == 1 &&
         surg_tensor_dims(t)[0] == surg_type_dim(of, rank - 1)->value;
}

/* Whether the node divides by the root of a mean, with axes as an attribute, as LayerNormalization
 * does, and the product and the sum that follow are not with constant vectors, in this order. */
static bool is_other_norm(const surg__judge *j, const surg_node *n, const surg_node *product) {
  const surg_node *sum = only_reader(product);
  const surg_node *shifted = made_by(made_by(n, 1, SURG_OP_Sqrt), 0, SURG_OP_Add);
  const surg_node *mean = made_by(shifted, 0, SURG_OP_ReduceMean);
  if (!mean) mean = made_by(shifted, 1, SURG_OP_ReduceMean);
  if (!mean || surg_node_input(mean, 1) || !sum || surg_node_op(sum) != SURG_OP_Add) return false;
  const surg_value *y = surg_node_output(n, 0), *bias = surg_node_input(sum, 1);
  if (bias == surg_node_output(product, 0)) bias = surg_node_input(sum, 0);
  return surg_node_input(product, 0) != y || !is_row_of(j, surg_node_input(product, 1), y) ||
         !is_row_of(j, bias, y);
}

/* Whether the reader is of the form that `how` names: "const", it has a constant operand; "many",
 * one of more than one element; "flat", such a one and a result of at most three axes; "wide", such
 * a one that is not repeated along axis 1 alone; "thirds", three nodes Slice read it; "joined", a
 * Reshape alone does; "shared", it has a constant that an element-wise node reads, too; "mish",
 * "celu", "log", "norm": with it and other nodes the importer makes one layer of an activation or
 * normalization that they are not; "": any. */
static bool is_merged(const surg__judge *j, const surg_node *reader, const char *how) {
  if (!how[0]) return true;
  if (!strcmp(how, "thirds")) return is_in_thirds(reader);
  if (!strcmp(how, "mish")) return is_other_mish(j->n, reader);
  if (!strcmp(how, "celu")) return made_by(j->n, 0, SURG_OP_Div) != NULL;
  if (!strcmp(how, "log")) return is_other_softplus(j, reader);
  if (!strcmp(how, "norm")) return is_other_norm(j, j->n, reader);
  if (!strcmp(how, "joined")) {
    const surg_node *next = only_reader(reader);
    return next && surg_node_op(next) == SURG_OP_Reshape;
  }
  for (size_t i = 0; i < surg_node_input_count(reader); i++) {
    const surg_value *v = surg_node_input(reader, i);
    const surg_tensor *c = v ? surg__judge_elements(j, v) : NULL;
    if (c && !strcmp(how, "shared") && is_shared(v, reader)) return true;
    if (!c || !strcmp(how, "shared")) continue;
    if (strcmp(how, "const") != 0 && surg_tensor_count(c) == 1) continue;
    const surg_type *t = !strcmp(how, "flat") ? shape_of(surg_node_output(reader, 0)) : NULL;
    if (t && surg_type_rank(t) > 3) continue;
    if (strcmp(how, "wide") != 0 || is_wide(c, surg_node_output(reader, 0))) return true;
  }
  return false;
}

/* Checks that the first input does not come from an operator with which the importer makes one
 * layer of the node. */
static bool fits_after(surg__judge *j) {
  const surg_value *v = j->f->not_after.n ? surg_node_input(j->n, 0) : NULL;
  const surg_node *from = v ? surg_value_producer(v, NULL) : NULL;
  for (size_t i = 0; from && i < j->f->not_after.n; i++) {
    if (surg_node_domain(from)[0] || strcmp(surg_node_op_type(from), j->f->not_after.items[i]) != 0)
      continue;
    surg__judge_object(j, SURG__ILLEGAL, SURG__C_CONSTANT, v,
                       "the importer makes one layer of the node and the %s before it",
                       j->f->not_after.items[i]);
    return false;
  }
  return true;
}

/* The operator of the list that alone reads the first output, in the form that the list names;
 * NULL: none. */
static const char *listed_reader(const surg__judge *j, const surg__tlist *list) {
  const surg_node *reader = list->n ? only_reader(j->n) : NULL;
  for (size_t i = 0; reader && i < list->n; i++) {
    const char *name = list->items[i], *domain = surg_node_domain(reader);
    const char *type = surg_node_op_type(reader);
    const size_t n = strlen(domain);
    if (n && (strncmp(name, domain, n) != 0 || name[n] != '.')) continue;
    const char *at = name + (n ? n + 1 : 0);
    if (strncmp(at, type, strlen(type)) != 0) continue;
    const char *how = at + strlen(type);
    if ((!how[0] || how[0] == '/') && is_merged(j, reader, how + (how[0] == '/'))) return type;
  }
  return NULL;
}

/* Checks that no operator alone reads the first output with which the importer makes one layer of
 * the node, and that one does that makes up for what it computes otherwise. */
static bool fits_before(surg__judge *j) {
  const char *type = listed_reader(j, &j->f->not_before);
  const bool lone = j->f->only_before.n && !listed_reader(j, &j->f->only_before);
  if (!type && !lone) return true;
  surg__judge_object(j, SURG__ILLEGAL, SURG__C_CONSTANT, surg_node_output(j->n, 0),
                     type ? "the importer makes one layer of the node and the %s that reads it"
                          : "%s alone must read the result",
                     type ? type : j->f->only_before.items[0]);
  return false;
}

static bool is_of_constants(const surg__judge *j, const surg_node *n) {
  for (size_t i = 0; i < surg_node_input_count(n); i++) {
    const surg_value *v = surg_node_input(n, i);
    if (v && surg__judge_constant(j, v) != SURG__YES) return false;
  }
  return true;
}

/* A node of constants alone that reads the value, or what Casts make of it; NULL: none. */
static const surg_node *folded_reader(const surg__judge *j, const surg_value *v, int deep) {
  for (const surg_use *u = v ? surg_value_first_use(v) : NULL; u; u = surg_use_next(u)) {
    const surg_node *n = surg_use_node(u);
    if (!n || surg_use_get_kind(u) != SURG_USE_NODE || !is_of_constants(j, n)) continue;
    if (surg_node_op(n) != SURG_OP_Cast || !deep) return n;
    n = folded_reader(j, surg_node_output(n, 0), deep - 1);
    if (n) return n;
  }
  return NULL;
}

/* Checks constants that the importer computes, and that it must not use for computing others. */
static bool fits_live(surg__judge *j) {
  const surg_node *n = j->f->live && is_of_constants(j, j->n)
                           ? folded_reader(j, surg_node_output(j->n, 0), 4)
                           : NULL;
  return !n || !surg__judge_object(j, SURG__ILLEGAL, SURG__C_FED, surg_node_output(j->n, 0),
                                   "%s is computed from constants, and %s reads no others",
                                   surg__judge_name(j, surg_node_output(j->n, 0)),
                                   surg_node_op_type(n));
}

bool surg__judge_tracked(surg__judge *j) {
  if (!fits_initializers(j) || !fits_nodes(j) || !fits_before(j) || !fits_after(j)) return false;
  if (!fits_unshared(j) || !fits_live(j)) return false;
  if (!fits_stored(j) || !fits_ranked(j) || !fits_layers(j) || !fits_agreed(j)) return false;
  judge_inner(j);
  judge_batches(j);
  judge_settled(j);
  return true;
}
