/* SPDX-License-Identifier: Apache-2.0 */
/* Contradictions that the shape inference of ONNX overlooks: it computes the result without
 * comparing these sizes, and the kernel compares them when the node runs. Column `late` of
 * traits.table lists the operators. Those of which every release was asked are in since.c. */
#include <onnxsurg/ops.h>

#include "base/counted.h"
#include "check/check.h"
#include "check/forms.h"

#define ENTRIES 64 /* most entries of a shape that are read */

/* Whether data and weights of a deformable convolution have equal ranks, which is all that is
 * compared. */
static bool has_equal_ranks(const surg_node *n) {
  const surg_type *x = surg__check_ranked(n, 0), *y = surg__check_ranked(n, 1);
  return x && y && (x->rank == y->rank || surg__check_ints(n, "kernel_shape"));
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

enum { OPERANDS = 1, LABELS, PLAIN, PART, PADS, SPLIT, AXES };

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
    default:
      return false;
  }
}
