/* SPDX-License-Identifier: Apache-2.0 */
/* Contradictions that the shape inference of ONNX overlooks: it computes the result without
 * comparing these sizes, and the kernel compares them when the node runs. */
#include <onnxsurg/ops.h>

#include "base/counted.h"
#include "check/check.h"
#include "check/forms.h"

#define ENTRIES 64 /* most entries of a shape that are read */

/* A convolution whose operands have equal ranks: their sizes are not compared. */
static bool convolves(const surg_node *n) {
  const surg_type *x = surg__check_ranked(n, 0), *y = surg__check_ranked(n, 1);
  const bool padded = surg_node_attr(n, "auto_pad") && surg_node_attr(n, "pads");
  return x && y && x->rank == y->rank && !padded;
}

/* Pooling, recurrent and depth operators: only the rank is compared. */
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

/* Whether the shape has no -1: only the size of that dimension is computed, and compared. */
static bool reshapes_plainly(const surg_node *n) {
  int64_t list[ENTRIES];
  const surg_tensor *c = surg_value_constant(surg_node_input(n, 1));
  const int64_t count = c ? surg__read_ints(c, list, ENTRIES) : -1;
  for (int64_t i = 0; i < count; i++)
    if (list[i] < 0) return false;
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

bool surg__check_late(const surg_node *n) {
  switch (surg_node_op(n)) {
    case SURG_OP_Conv:
    case SURG_OP_ConvTranspose:
    case SURG_OP_ConvInteger:
      return convolves(n);
    case SURG_OP_AveragePool:
    case SURG_OP_MaxPool:
    case SURG_OP_LpPool:
      return has_rank(n, 3, UINT32_MAX);
    case SURG_OP_DepthToSpace:
    case SURG_OP_SpaceToDepth:
      return has_rank(n, 4, 4);
    case SURG_OP_RNN:
    case SURG_OP_GRU:
    case SURG_OP_LSTM:
      return has_rank(n, 3, 3);
    case SURG_OP_Einsum:
      return labels_axes(n);
    case SURG_OP_Reshape:
      return reshapes_plainly(n);
    case SURG_OP_Transpose:
      return permutes_part(n);
    case SURG_OP_Pad:
      return has_negative(n, "pads");
    case SURG_OP_Split:
      return has_negative(n, "split");
    default:
      return false;
  }
}
