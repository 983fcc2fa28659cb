/* SPDX-License-Identifier: Apache-2.0 */
/* What operators do, for the colours of their boxes. */
#include <onnxsurg/precision.h>

#include "schema/schema.h"
#include "view/view.h"

const char *const surg__family_names[SURG__FAMILY_COUNT] = {
    [SURG__FAMILY_OTHER] = "other",
    [SURG__FAMILY_LINEAR] = "products and sums",
    [SURG__FAMILY_ACTIVATION] = "activation",
    [SURG__FAMILY_NORM] = "normalization",
    [SURG__FAMILY_REDUCE] = "reduction, pooling",
    [SURG__FAMILY_MATH] = "elementwise",
    [SURG__FAMILY_MOVE] = "data movement",
    [SURG__FAMILY_QUANT] = "quantization",
    [SURG__FAMILY_CONTROL] = "control flow",
    [SURG__FAMILY_CUSTOM] = "function, custom",
};

/* Operators that the facts below do not classify. */
static const uint8_t families[SURG_OP_COUNT] = {
    [SURG_OP_Relu] = SURG__FAMILY_ACTIVATION,
    [SURG_OP_LeakyRelu] = SURG__FAMILY_ACTIVATION,
    [SURG_OP_PRelu] = SURG__FAMILY_ACTIVATION,
    [SURG_OP_Elu] = SURG__FAMILY_ACTIVATION,
    [SURG_OP_Selu] = SURG__FAMILY_ACTIVATION,
    [SURG_OP_Celu] = SURG__FAMILY_ACTIVATION,
    [SURG_OP_Gelu] = SURG__FAMILY_ACTIVATION,
    [SURG_OP_Mish] = SURG__FAMILY_ACTIVATION,
    [SURG_OP_Clip] = SURG__FAMILY_ACTIVATION,
    [SURG_OP_Tanh] = SURG__FAMILY_ACTIVATION,
    [SURG_OP_Sigmoid] = SURG__FAMILY_ACTIVATION,
    [SURG_OP_HardSigmoid] = SURG__FAMILY_ACTIVATION,
    [SURG_OP_HardSwish] = SURG__FAMILY_ACTIVATION,
    [SURG_OP_Hardmax] = SURG__FAMILY_ACTIVATION,
    [SURG_OP_Softmax] = SURG__FAMILY_ACTIVATION,
    [SURG_OP_LogSoftmax] = SURG__FAMILY_ACTIVATION,
    [SURG_OP_Softplus] = SURG__FAMILY_ACTIVATION,
    [SURG_OP_Softsign] = SURG__FAMILY_ACTIVATION,
    [SURG_OP_Swish] = SURG__FAMILY_ACTIVATION,
    [SURG_OP_SwiGLU] = SURG__FAMILY_ACTIVATION,
    [SURG_OP_Shrink] = SURG__FAMILY_ACTIVATION,
    [SURG_OP_ThresholdedRelu] = SURG__FAMILY_ACTIVATION,
    [SURG_OP_BatchNormalization] = SURG__FAMILY_NORM,
    [SURG_OP_GroupNormalization] = SURG__FAMILY_NORM,
    [SURG_OP_InstanceNormalization] = SURG__FAMILY_NORM,
    [SURG_OP_LayerNormalization] = SURG__FAMILY_NORM,
    [SURG_OP_LpNormalization] = SURG__FAMILY_NORM,
    [SURG_OP_LRN] = SURG__FAMILY_NORM,
    [SURG_OP_MeanVarianceNormalization] = SURG__FAMILY_NORM,
    [SURG_OP_RMSNormalization] = SURG__FAMILY_NORM,
    [SURG_OP_AveragePool] = SURG__FAMILY_REDUCE,
    [SURG_OP_GlobalAveragePool] = SURG__FAMILY_REDUCE,
    [SURG_OP_GlobalLpPool] = SURG__FAMILY_REDUCE,
    [SURG_OP_GlobalMaxPool] = SURG__FAMILY_REDUCE,
    [SURG_OP_LpPool] = SURG__FAMILY_REDUCE,
    [SURG_OP_MaxPool] = SURG__FAMILY_REDUCE,
    [SURG_OP_MaxRoiPool] = SURG__FAMILY_REDUCE,
    [SURG_OP_RoiAlign] = SURG__FAMILY_REDUCE,
    [SURG_OP_TopK] = SURG__FAMILY_REDUCE,
    [SURG_OP_CumSum] = SURG__FAMILY_REDUCE,
    [SURG_OP_Conv] = SURG__FAMILY_LINEAR,
    [SURG_OP_ConvInteger] = SURG__FAMILY_LINEAR,
    [SURG_OP_ConvTranspose] = SURG__FAMILY_LINEAR,
    [SURG_OP_MatMul] = SURG__FAMILY_LINEAR,
    [SURG_OP_MatMulInteger] = SURG__FAMILY_LINEAR,
    [SURG_OP_Gemm] = SURG__FAMILY_LINEAR,
    [SURG_OP_Einsum] = SURG__FAMILY_LINEAR,
    [SURG_OP_Attention] = SURG__FAMILY_LINEAR,
    [SURG_OP_LSTM] = SURG__FAMILY_LINEAR,
    [SURG_OP_GRU] = SURG__FAMILY_LINEAR,
    [SURG_OP_RNN] = SURG__FAMILY_LINEAR,
    [SURG_OP_QLinearConv] = SURG__FAMILY_QUANT,
    [SURG_OP_QLinearMatMul] = SURG__FAMILY_QUANT,
    [SURG_OP_QuantizeLinear] = SURG__FAMILY_QUANT,
    [SURG_OP_DequantizeLinear] = SURG__FAMILY_QUANT,
    [SURG_OP_DynamicQuantizeLinear] = SURG__FAMILY_QUANT,
    [SURG_OP_Cast] = SURG__FAMILY_MATH,
    [SURG_OP_CastLike] = SURG__FAMILY_MATH,
    [SURG_OP_Shape] = SURG__FAMILY_MOVE,
    [SURG_OP_Size] = SURG__FAMILY_MOVE,
    [SURG_OP_Resize] = SURG__FAMILY_MOVE,
    [SURG_OP_Upsample] = SURG__FAMILY_MOVE,
    [SURG_OP_Pad] = SURG__FAMILY_MOVE,
    [SURG_OP_Range] = SURG__FAMILY_MOVE,
    [SURG_OP_ConstantOfShape] = SURG__FAMILY_MOVE,
};

surg__family surg__family_of(const surg_node *n) {
  const surg_schema *s = surg_node_schema(n);
  if (surg_node_class(n) != SURG_OP_CLASS_BUILTIN || !s) return SURG__FAMILY_CUSTOM;
  if (s->flags & SURG__OP_CONTROL_FLOW) return SURG__FAMILY_CONTROL;
  if (s->op > 0 && s->op < SURG_OP_COUNT && families[s->op]) return (surg__family)families[s->op];
  const surg_narrow narrow = surg_schema_narrow(s);
  if (narrow == SURG_NARROW_QUANTIZE || narrow == SURG_NARROW_DEQUANTIZE) return SURG__FAMILY_QUANT;
  const surg_axes_effect axes = surg_node_axes_effect(n);
  if (axes == SURG_AXES_REDUCE || axes == SURG_AXES_ARG) return SURG__FAMILY_REDUCE;
  if (s->flags & SURG__OP_DATA_MOVER) return SURG__FAMILY_MOVE;
  if (narrow == SURG_NARROW_GAIN) return SURG__FAMILY_LINEAR;
  const bool each = axes == SURG_AXES_UNARY || axes == SURG_AXES_BROADCAST;
  return each || s->flags & SURG__OP_ELEMENTWISE ? SURG__FAMILY_MATH : SURG__FAMILY_OTHER;
}
