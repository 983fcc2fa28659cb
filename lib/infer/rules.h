/* SPDX-License-Identifier: Apache-2.0 */
/* Every rule of lib/infer, by topic. */
#ifndef SURG_INFER_RULES_H
#define SURG_INFER_RULES_H

#include "infer/infer.h"

/* custom.c: states what a schema file says; false: none speaks of the operator */
bool surg__i_custom(surg__infer *c, const surg_node *n);

/* elementwise.c */
void surg__i_same(surg__infer *c); /* output 0 has the shape of input 0 */
void surg__i_broadcast(surg__infer *c);
void surg__i_arith(surg__infer *c); /* broadcast, and tracks elements */
void surg__i_compare(surg__infer *c); /* comparisons and logic */
void surg__i_identity(surg__infer *c);
void surg__i_cast(surg__infer *c);
void surg__i_where(surg__infer *c);
void surg__i_quantize(surg__infer *c);
void surg__i_dynamic_quantize(surg__infer *c);
void surg__i_dequantize(surg__infer *c);
void surg__i_random_like(surg__infer *c); /* and EyeLike */
void surg__i_dropout(surg__infer *c);
void surg__i_bool_scalar(surg__infer *c);

/* elems.c: tracked integers */
void surg__i_arith_elems(surg__infer *c, const surg_dim *dims, size_t rank);
void surg__i_compare_elems(surg__infer *c, const surg_dim *dims, size_t rank);
void surg__i_where_elems(surg__infer *c, const surg_dim *dims, size_t rank);
void surg__i_unary_elems(surg__infer *c); /* Neg, Abs, Not: same shape */
void surg__i_transpose_elems(surg__infer *c, const surg__fact *x, const int64_t *perm);
void surg__i_gather_elems(surg__infer *c, const surg__fact *data, size_t axis);
/* Elements of output k are those of input 0, of shape `whole`, that are at from + i * step. */
void surg__i_pick_elems(surg__infer *c, size_t k, const surg_dim *whole, const surg_dim *left,
                        size_t rank, const int64_t *from, const int64_t *step);
void surg__i_cum_sum(surg__infer *c);
void surg__i_scatter(surg__infer *c); /* ScatterElements, ScatterND */
/* Elements of a reduction over the axes in `set`. */
void surg__i_reduce_elems(surg__infer *c, const surg__fact *x, uint64_t set);

/* shapes.c */
void surg__i_shape(surg__infer *c);
void surg__i_size(surg__infer *c);
void surg__i_constant(surg__infer *c);
void surg__i_constant_of_shape(surg__infer *c);
void surg__i_random(surg__infer *c);
void surg__i_reshape(surg__infer *c);
void surg__i_flatten(surg__infer *c);
void surg__i_squeeze(surg__infer *c);
void surg__i_unsqueeze(surg__infer *c);
void surg__i_transpose(surg__infer *c);
void surg__i_range(surg__infer *c);

/* pieces.c */
void surg__i_concat(surg__infer *c);
void surg__i_split(surg__infer *c);
void surg__i_slice(surg__infer *c);
void surg__i_pad(surg__infer *c);
void surg__i_expand(surg__infer *c);
void surg__i_tile(surg__infer *c);

/* index.c */
void surg__i_gather(surg__infer *c);
void surg__i_gather_elements(surg__infer *c);
void surg__i_gather_nd(surg__infer *c);
void surg__i_one_hot(surg__infer *c);
void surg__i_nonzero(surg__infer *c);
void surg__i_compress(surg__infer *c);
void surg__i_unique(surg__infer *c);
void surg__i_nms(surg__infer *c);
void surg__i_topk(surg__infer *c);

/* reduce.c */
void surg__i_reduce(surg__infer *c);
void surg__i_arg(surg__infer *c);
void surg__i_matmul(surg__infer *c); /* MatMul, MatMulInteger, QLinearMatMul */
void surg__i_gemm(surg__infer *c);
void surg__i_loss(surg__infer *c);
void surg__i_det(surg__infer *c);

/* window.c */
void surg__i_conv(surg__infer *c); /* Conv, ConvInteger, QLinearConv */
void surg__i_conv_transpose(surg__infer *c);
void surg__i_pool(surg__infer *c);
void surg__i_global_pool(surg__infer *c);

/* layers.c */
void surg__i_batch_norm(surg__infer *c);
void surg__i_layer_norm(surg__infer *c);
void surg__i_recurrent(surg__infer *c);
void surg__i_resize(surg__infer *c);
void surg__i_depth_to_space(surg__infer *c);
void surg__i_roi_align(surg__infer *c);
void surg__i_grid_sample(surg__infer *c);

/* attention.c */
void surg__i_attention(surg__infer *c); /* and FlexAttention */
void surg__i_linear_attention(surg__infer *c);
void surg__i_causal_conv(surg__infer *c);
void surg__i_swiglu(surg__infer *c);

/* image.c */
void surg__i_affine_grid(surg__infer *c);
void surg__i_col2im(surg__infer *c);
void surg__i_center_crop_pad(surg__infer *c);
void surg__i_max_unpool(surg__infer *c);
void surg__i_max_roi_pool(surg__infer *c);
void surg__i_deform_conv(surg__infer *c);
void surg__i_image_decoder(surg__infer *c);

/* misc.c */
void surg__i_string_normalizer(surg__infer *c);
void surg__i_string_split(surg__infer *c);
void surg__i_tf_idf(surg__infer *c);
void surg__i_multinomial(surg__infer *c);
void surg__i_bit_cast(surg__infer *c);
void surg__i_optimizer(surg__infer *c);
void surg__i_gradient(surg__infer *c);

/* signal.c */
void surg__i_signal_window(surg__infer *c);
void surg__i_mel_weights(surg__infer *c);
void surg__i_dft(surg__infer *c);
void surg__i_stft(surg__infer *c);
void surg__i_einsum(surg__infer *c);

/* reals.c */
void surg__i_round(surg__infer *c); /* Floor, Ceil, Round */
void surg__i_real_arith(surg__infer *c, const surg_dim *dims, size_t rank);
void surg__i_real_cast(surg__infer *c, int from, int to);

/* sequence.c */
void surg__i_sequence_construct(surg__infer *c);
void surg__i_sequence_empty(surg__infer *c);
void surg__i_sequence_at(surg__infer *c);
void surg__i_sequence_erase(surg__infer *c);
void surg__i_sequence_insert(surg__infer *c);
void surg__i_sequence_map(surg__infer *c);
void surg__i_seed_sequence_map(surg__infer *c, const surg_graph *body);
void surg__i_split_to_sequence(surg__infer *c);
void surg__i_concat_from_sequence(surg__infer *c);
void surg__i_optional(surg__infer *c);
void surg__i_optional_get(surg__infer *c);

/* ml.c */
void surg__i_tree_classifier(surg__infer *c);
void surg__i_linear_classifier(surg__infer *c);
void surg__i_svm_classifier(surg__infer *c);
void surg__i_regressor(surg__infer *c);
void surg__i_label_encoder(surg__infer *c); /* and CategoryMapper */
void surg__i_one_hot_encoder(surg__infer *c);
void surg__i_feature_extractor(surg__infer *c);
void surg__i_feature_vectorizer(surg__infer *c);
void surg__i_dict_vectorizer(surg__infer *c);
void surg__i_cast_map(surg__infer *c);
void surg__i_zip_map(surg__infer *c);

/* flow.c */
void surg__i_if(surg__infer *c);
surg_graph *surg__i_body(const surg__infer *c, const char *attr);
/* A fact about an output of a body, as it holds outside: without what hangs on the inside. */
surg__fact surg__i_outside_fact(surg__infer *c, const surg_value *v, const surg_graph *body,
                                size_t slot, surg_dim dims[SURG_LIMIT_RANK]);
/* Output k is what a body gives, and has its elements. */
void surg__i_put_from_body(surg__infer *c, size_t k, const surg_value *v, const surg_graph *body);
/* Output k is one of two values, one cannot say which. */
void surg__i_put_join(surg__infer *c, size_t k, const surg__fact *a, const surg__fact *b);

/* loops.c */
void surg__i_loop(surg__infer *c);
void surg__i_scan(surg__infer *c);
/* States what is known of the inputs of the bodies of a node, before they are walked. */
void surg__i_seed_bodies(surg__infer *c);
/* Whether what was taken for granted of the states of a loop holds after its body was walked for
 * the `round`th time; else the inputs of the body are stated anew. */
bool surg__i_settled(surg__infer *c, unsigned round);

/* contrib.c */
void surg__i_ms_pad(surg__infer *c);
void surg__i_ms_dequantize(surg__infer *c);
void surg__i_ms_range(surg__infer *c);
void surg__i_ms_skip_layer_norm(surg__infer *c);
void surg__i_ms_skip_group_norm(surg__infer *c);
void surg__i_ms_simple_layer_norm(surg__infer *c);
void surg__i_ms_dropout(surg__infer *c);
void surg__i_ms_hash(surg__infer *c);
void surg__i_ms_ngram(surg__infer *c);
void surg__i_ms_qlinear_binary(surg__infer *c);
void surg__i_ms_qlinear_where(surg__infer *c);
void surg__i_ms_qlinear_concat(surg__infer *c);
void surg__i_ms_matmul_blocks(surg__infer *c);
void surg__i_ms_cdist(surg__infer *c);
void surg__i_ms_bias_split_gelu(surg__infer *c);
void surg__i_ms_embed_layer_norm(surg__infer *c);
void surg__i_ms_quantized_lstm(surg__infer *c);
void surg__i_ms_conv_transpose(surg__infer *c);
void surg__i_ms_crop_and_resize(surg__infer *c);
void surg__i_ms_expand_dims(surg__infer *c);
void surg__i_ms_unique(surg__infer *c);
void surg__i_ms_tokenizer(surg__infer *c);
void surg__i_ms_gather_blocks(surg__infer *c);

/* contrib_attention.c */
void surg__i_ms_attention(surg__infer *c);
void surg__i_ms_packed_attention(surg__infer *c);
void surg__i_ms_packed_multi_head(surg__infer *c);
void surg__i_ms_multi_head(surg__infer *c);
void surg__i_ms_group_query(surg__infer *c);
void surg__i_ms_position_bias(surg__infer *c);
void surg__i_ms_gated_position_bias(surg__infer *c);

#endif
