/* SPDX-License-Identifier: Apache-2.0 */
/* How exact the result of an operator is, against other correct implementations of it: what folding
 * a node changes. doc/evaluation.md lists the operators. */
#include "base/context.h"
#include "base/dtype.h"
#include "ir/ir.h"

/* Elements that only move, and operations that IEEE 754 rounds correctly: the same bits everywhere. */
static const uint16_t same_bits[] = {
    SURG_OP_Abs,           SURG_OP_Add,
    SURG_OP_Cast,          SURG_OP_CastLike,
    SURG_OP_Ceil,          SURG_OP_CenterCropPad,
    SURG_OP_Clip,          SURG_OP_Compress,
    SURG_OP_Concat,        SURG_OP_ConstantOfShape,
    SURG_OP_DepthToSpace,  SURG_OP_Div,
    SURG_OP_Expand,        SURG_OP_EyeLike,
    SURG_OP_Flatten,       SURG_OP_Floor,
    SURG_OP_Gather,        SURG_OP_GatherElements,
    SURG_OP_GatherND,      SURG_OP_GlobalMaxPool,
    SURG_OP_Identity,      SURG_OP_Max,
    SURG_OP_MaxPool,       SURG_OP_MaxUnpool,
    SURG_OP_Min,           SURG_OP_Mul,
    SURG_OP_Neg,           SURG_OP_OneHot,
    SURG_OP_Pad,           SURG_OP_Range,
    SURG_OP_ReduceMax,     SURG_OP_ReduceMin,
    SURG_OP_Relu,          SURG_OP_Reshape,
    SURG_OP_ReverseSequence, SURG_OP_Round,
    SURG_OP_Sign,          SURG_OP_Slice,
    SURG_OP_SpaceToDepth,  SURG_OP_Split,
    SURG_OP_Sqrt,          SURG_OP_Squeeze,
    SURG_OP_Sub,           SURG_OP_Tile,
    SURG_OP_TensorScatter, SURG_OP_TopK,
    SURG_OP_Transpose,     SURG_OP_Trilu,
    SURG_OP_Unique,        SURG_OP_Unsqueeze,
    SURG_OP_Where,
};

/* They move elements, unless `reduction` adds those that meet. */
static const uint16_t scatters[] = {SURG_OP_Scatter, SURG_OP_ScatterElements, SURG_OP_ScatterND};

/* Functions of one element, or of two: implementations differ by units in the last place. */
static const uint16_t elementwise[] = {
    SURG_OP_Acos,     SURG_OP_Acosh,    SURG_OP_Asin,        SURG_OP_Asinh,       SURG_OP_Atan,
    SURG_OP_Atanh,    SURG_OP_Cos,      SURG_OP_Cosh,        SURG_OP_Erf,         SURG_OP_Exp,
    SURG_OP_Log,      SURG_OP_Pow,      SURG_OP_Reciprocal,  SURG_OP_Sigmoid,     SURG_OP_Sin,
    SURG_OP_Sinh,     SURG_OP_Tan,      SURG_OP_Tanh,        SURG_OP_LeakyRelu,   SURG_OP_PRelu,
    SURG_OP_Elu,      SURG_OP_Selu,     SURG_OP_Celu,        SURG_OP_Softplus,    SURG_OP_Softsign,
    SURG_OP_Mod,      SURG_OP_HardSigmoid, SURG_OP_DequantizeLinear, SURG_OP_ThresholdedRelu,
};

/* Whole numbers that rounding on the way can move by one step, or boxes that it can drop. */
static const uint16_t steps[] = {
    SURG_OP_QuantizeLinear, SURG_OP_DynamicQuantizeLinear, SURG_OP_QLinearConv,
    SURG_OP_QLinearMatMul,  SURG_OP_NonMaxSuppression,
};

static bool listed(const uint16_t *list, size_t n, int op) {
  for (size_t i = 0; i < n; i++)
    if (list[i] == op) return true;
  return false;
}
#define IN(list, op) listed(list, SURG_COUNT(list), op)

surg_exactness surg_node_result_exactness(const surg_node *n, int dtype) {
  const int op = n ? surg_node_op(n) : 0;
  if (IN(steps, op)) return op == SURG_OP_QuantizeLinear ? SURG_ROUNDING : SURG_APPROX;
  if (dtype && !surg__dtype_is_float(dtype) && dtype != SURG_COMPLEX64 && dtype != SURG_COMPLEX128)
    return SURG_EXACT;
  if (IN(same_bits, op)) return SURG_EXACT;
  if (IN(scatters, op)) {
    const surg_attr *a = surg_node_attr(n, "reduction");
    return a && surg_attr_string(a).n && surg_attr_string(a).p[0] != 'n' ? SURG_ROUNDING : SURG_EXACT;
  }
  return IN(elementwise, op) ? SURG_ULP : SURG_ROUNDING;
}
