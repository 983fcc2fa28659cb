/* SPDX-License-Identifier: Apache-2.0 */
/* Which rule serves which operator. One that is not here gets the element types its schema gives
 * and no shapes. */
#include "infer/rules.h"

#define R(op, rule) [SURG_OP_##op] = surg__i_##rule
static const surg__rule rules[SURG_OP_COUNT] = {
    /* one input, same shape */
    R(Abs, unary_elems), R(Acos, same), R(Acosh, same), R(Asin, same), R(Asinh, same),
    R(Atan, same),
    R(Atanh, same), R(BitwiseNot, same), R(Ceil, round), R(Celu, same), R(Clip, same),
    R(Cos, same), R(Cosh, same), R(CumProd, same), R(CumSum, cum_sum), R(Elu, same), R(Erf, same),
    R(Exp, same), R(Floor, round), R(Gelu, same), R(HardSigmoid, same), R(HardSwish, same),
    R(Hardmax, same), R(InstanceNormalization, same), R(GroupNormalization, same),
    R(IsInf, same), R(IsNaN, same), R(LRN, same), R(LeakyRelu, same), R(Log, same),
    R(LogSoftmax, same), R(LpNormalization, same), R(MeanVarianceNormalization, same),
    R(Mish, same), R(Neg, unary_elems), R(Not, unary_elems), R(RMSNormalization, same),
    R(Reciprocal, same),
    R(RegexFullMatch, same), R(Relu, same), R(ReverseSequence, same), R(Round, round),
    R(RotaryEmbedding, same), R(Scatter, same), R(ScatterElements, scatter), R(ScatterND, scatter),
    R(Selu, same), R(Shrink, same), R(Sigmoid, same), R(Sign, same), R(Sin, same), R(Sinh, same),
    R(Softmax, same), R(Softplus, same), R(Softsign, same), R(Sqrt, same), R(Swish, same),
    R(Tan, same), R(Tanh, same), R(TensorScatter, same), R(ThresholdedRelu, same), R(Trilu, same),
    /* broadcasting */
    R(Add, arith), R(Sub, arith), R(Mul, arith), R(Div, arith), R(Min, arith), R(Max, arith),
    R(And, compare), R(BitShift, broadcast), R(BitwiseAnd, broadcast), R(BitwiseOr, broadcast),
    R(BitwiseXor, broadcast), R(Equal, compare), R(Greater, compare),
    R(GreaterOrEqual, compare), R(Less, compare), R(LessOrEqual, compare),
    R(Mean, broadcast), R(Mod, arith), R(Or, compare), R(PRelu, broadcast),
    R(Pow, broadcast), R(StringConcat, broadcast), R(Sum, broadcast), R(Xor, compare),
    R(Where, where),
    /* other types */
    R(Identity, identity), R(Cast, cast), R(CastLike, cast), R(QuantizeLinear, quantize),
    R(DynamicQuantizeLinear, dynamic_quantize), R(DequantizeLinear, dequantize),
    R(Bernoulli, random_like), R(EyeLike, random_like), R(RandomNormalLike, random_like),
    R(RandomUniformLike, random_like), R(RandomNormal, random), R(RandomUniform, random),
    R(Dropout, dropout), R(OptionalHasElement, bool_scalar), R(SequenceLength, bool_scalar),
    /* shapes */
    R(Shape, shape), R(Size, size), R(Constant, constant), R(ConstantOfShape, constant_of_shape),
    R(Reshape, reshape), R(Flatten, flatten), R(Squeeze, squeeze), R(Unsqueeze, unsqueeze),
    R(Transpose, transpose), R(Range, range),
    /* pieces */
    R(Concat, concat), R(Split, split), R(Slice, slice), R(Pad, pad), R(Expand, expand),
    R(Tile, tile),
    /* indices */
    R(Gather, gather), R(GatherElements, gather_elements), R(GatherND, gather_nd),
    R(OneHot, one_hot), R(NonZero, nonzero), R(Compress, compress), R(Unique, unique),
    R(NonMaxSuppression, nms), R(TopK, topk),
    /* reductions and products */
    R(ReduceL1, reduce), R(ReduceL2, reduce), R(ReduceLogSum, reduce), R(ReduceLogSumExp, reduce),
    R(ReduceMax, reduce), R(ReduceMean, reduce), R(ReduceMin, reduce), R(ReduceProd, reduce),
    R(ReduceSum, reduce), R(ReduceSumSquare, reduce), R(ArgMax, arg), R(ArgMin, arg),
    R(MatMul, matmul), R(MatMulInteger, matmul), R(QLinearMatMul, matmul), R(Gemm, gemm),
    R(NegativeLogLikelihoodLoss, loss), R(SoftmaxCrossEntropyLoss, loss), R(Det, det),
    /* layers */
    R(Conv, conv), R(ConvInteger, conv), R(QLinearConv, conv), R(ConvTranspose, conv_transpose),
    R(AveragePool, pool), R(LpPool, pool), R(MaxPool, pool), R(GlobalAveragePool, global_pool),
    R(GlobalLpPool, global_pool), R(GlobalMaxPool, global_pool),
    R(BatchNormalization, batch_norm), R(LayerNormalization, layer_norm), R(GRU, recurrent),
    R(LSTM, recurrent), R(RNN, recurrent), R(Resize, resize), R(Upsample, resize),
    R(DepthToSpace, depth_to_space), R(SpaceToDepth, depth_to_space), R(RoiAlign, roi_align),
    R(GridSample, grid_sample),
    /* attention */
    R(Attention, attention), R(preview_FlexAttention, attention),
    R(LinearAttention, linear_attention), R(CausalConvWithState, causal_conv), R(SwiGLU, swiglu),
    /* images */
    R(AffineGrid, affine_grid), R(Col2Im, col2im), R(CenterCropPad, center_crop_pad),
    R(MaxUnpool, max_unpool), R(MaxRoiPool, max_roi_pool), R(DeformConv, deform_conv),
    R(ImageDecoder, image_decoder),
    /* text, chance, training */
    R(StringNormalizer, string_normalizer), R(StringSplit, string_split),
    R(TfIdfVectorizer, tf_idf), R(Multinomial, multinomial), R(BitCast, bit_cast),
    R(training_Adagrad, optimizer), R(training_Adam, optimizer), R(training_Momentum, optimizer),
    R(training_Gradient, gradient),
    /* signals */
    R(HannWindow, signal_window), R(HammingWindow, signal_window),
    R(BlackmanWindow, signal_window), R(MelWeightMatrix, mel_weights), R(DFT, dft), R(STFT, stft),
    R(Einsum, einsum),
    /* sequences, optionals */
    R(SequenceConstruct, sequence_construct), R(SequenceEmpty, sequence_empty),
    R(SequenceAt, sequence_at), R(SequenceErase, sequence_erase),
    R(SequenceInsert, sequence_insert), R(SequenceMap, sequence_map),
    R(SplitToSequence, split_to_sequence), R(ConcatFromSequence, concat_from_sequence),
    R(Optional, optional), R(OptionalGetElement, optional_get),
    /* classical models */
    R(ml_Binarizer, same), R(ml_Imputer, same), R(ml_Normalizer, same), R(ml_Scaler, same),
    R(ml_TreeEnsembleClassifier, tree_classifier), R(ml_LinearClassifier, linear_classifier),
    R(ml_SVMClassifier, svm_classifier), R(ml_LinearRegressor, regressor),
    R(ml_SVMRegressor, regressor), R(ml_TreeEnsembleRegressor, regressor),
    R(ml_TreeEnsemble, regressor), R(ml_LabelEncoder, label_encoder),
    R(ml_CategoryMapper, label_encoder), R(ml_OneHotEncoder, one_hot_encoder),
    R(ml_ArrayFeatureExtractor, feature_extractor),
    R(ml_FeatureVectorizer, feature_vectorizer), R(ml_DictVectorizer, dict_vectorizer),
    R(ml_CastMap, cast_map), R(ml_ZipMap, zip_map),
    /* ONNX Runtime's own */
    R(contrib_SimplifiedLayerNormalization, ms_simple_layer_norm), R(ms_Gelu, same),
    R(ms_FastGelu, same), R(ms_QuickGelu, same), R(ms_BiasGelu, same), R(ms_BiasSoftmax, same),
    R(ms_BiasAdd, same), R(ms_Inverse, same), R(ms_Trilu, same), R(ms_GroupNorm, same),
    R(ms_QLinearLeakyRelu, same), R(ms_QLinearSigmoid, same), R(ms_QLinearSoftmax, same),
    R(ms_RotaryEmbedding, same), R(ms_LongformerAttention, same), R(ms_MoE, same),
    R(ms_BiasSplitGelu, ms_bias_split_gelu), R(ms_BiasDropout, ms_dropout),
    R(ms_BitmaskDropout, ms_dropout), R(ms_BitmaskBiasDropout, ms_dropout),
    R(ms_SkipLayerNormalization, ms_skip_layer_norm),
    R(ms_SkipSimplifiedLayerNormalization, ms_skip_layer_norm),
    R(ms_SkipGroupNorm, ms_skip_group_norm),
    R(ms_EmbedLayerNormalization, ms_embed_layer_norm), R(ms_MurmurHash3, ms_hash),
    R(ms_NGramRepeatBlock, ms_ngram), R(ms_QuantizeLinear, quantize),
    R(ms_DequantizeLinear, ms_dequantize), R(ms_QLinearAdd, ms_qlinear_binary),
    R(ms_QLinearMul, ms_qlinear_binary), R(ms_MulInteger, ms_qlinear_binary),
    R(ms_QLinearWhere, ms_qlinear_where), R(ms_QLinearConcat, ms_qlinear_concat),
    R(ms_QLinearReduceMean, reduce), R(ms_QLinearConv, conv), R(ms_FusedConv, conv),
    R(ms_NhwcConv, conv), R(ms_NhwcFusedConv, conv), R(ms_NhwcMaxPool, pool),
    R(ms_MaxpoolWithMask, pool), R(ms_QLinearAveragePool, pool),
    R(ms_QLinearGlobalAveragePool, global_pool),
    R(ms_ConvTransposeWithDynamicPads, ms_conv_transpose), R(ms_FusedMatMul, matmul),
    R(ms_TransposeMatMul, matmul), R(ms_FusedMatMulActivation, matmul),
    R(ms_GemmFastGelu, matmul), R(ms_MatMulInteger16, matmul), R(ms_MatMulIntegerToFloat, matmul),
    R(ms_DynamicQuantizeMatMul, matmul), R(ms_FusedGemm, gemm), R(ms_QGemm, gemm),
    R(ms_MatMulNBits, ms_matmul_blocks), R(ms_MatMulBnb4, ms_matmul_blocks),
    R(ms_CDist, ms_cdist), R(ms_DynamicQuantizeLSTM, ms_quantized_lstm),
    R(ms_CropAndResize, ms_crop_and_resize), R(ms_GridSample, grid_sample), R(ms_Pad, ms_pad),
    R(ms_ExpandDims, ms_expand_dims), R(ms_Range, ms_range), R(ms_GatherND, gather_nd),
    R(ms_GatherBlockQuantized, ms_gather_blocks), R(ms_Unique, ms_unique),
    R(ms_Tokenizer, ms_tokenizer), R(ms_Attention, ms_attention), R(ms_QAttention, ms_attention),
    R(ms_PackedAttention, ms_packed_attention),
    R(ms_PackedMultiHeadAttention, ms_packed_multi_head),
    R(ms_MultiHeadAttention, ms_multi_head), R(ms_GroupQueryAttention, ms_group_query),
    R(ms_RelativePositionBias, ms_position_bias),
    R(ms_GatedRelativePositionBias, ms_gated_position_bias),
    /* control flow */
    R(If, if), R(Loop, loop), R(Scan, scan)};
#undef R

surg__rule surg__rule_find(int op) {
  return op > 0 && op < SURG_OP_COUNT ? rules[op] : NULL;
}
