/* SPDX-License-Identifier: Apache-2.0 */
/* Declares every inference rule, by source file. */
#ifndef SURG_INFER_RULES_H
#define SURG_INFER_RULES_H

#include "infer/infer.h"

/* custom.c: infers a node by its schema file; false: no file describes the operator */
bool surg__infer_custom(surg__infer *c, const surg_node *n);
/* Likewise by the shape function of a plugin, in addition; false: there is none. */
bool surg__infer_taught(surg__infer *c, const surg_node *n);

/* elementwise.c */
void surg__infer_same(surg__infer *c); /* output 0 has the shape of input 0 */
void surg__infer_broadcast(surg__infer *c);
void surg__infer_arith(surg__infer *c); /* broadcasts, and tracks elements */
void surg__infer_compare(surg__infer *c); /* comparisons and logic */
void surg__infer_identity(surg__infer *c);
void surg__infer_cast(surg__infer *c);
void surg__infer_where(surg__infer *c);
void surg__infer_quantize(surg__infer *c);
void surg__infer_dynamic_quantize(surg__infer *c);
void surg__infer_dequantize(surg__infer *c);
void surg__infer_random_like(surg__infer *c); /* and EyeLike */
void surg__infer_dropout(surg__infer *c);
void surg__infer_bool_scalar(surg__infer *c);

/* elems.c: tracked integer elements */
void surg__infer_arith_elems(surg__infer *c, const surg_dim *dims, size_t rank);
void surg__infer_compare_elems(surg__infer *c, const surg_dim *dims, size_t rank);
void surg__infer_where_elems(surg__infer *c, const surg_dim *dims, size_t rank);
void surg__infer_unary_elems(surg__infer *c); /* Neg, Abs, Not: same shape */
void surg__infer_transpose_elems(surg__infer *c, const surg__fact *x, const int64_t *perm);
void surg__infer_gather_elems(surg__infer *c, const surg__fact *data, size_t axis);
/* Elements of output k are a slice of input 0, whose shape is `whole`: along each axis those at
 * from + i * step. */
void surg__infer_pick_elems(surg__infer *c, size_t k, const surg_dim *whole, const surg_dim *left,
                        size_t rank, const int64_t *from, const int64_t *step);
void surg__infer_cum_sum(surg__infer *c);
void surg__infer_scatter(surg__infer *c); /* ScatterElements, ScatterND */
/* The elements of a reduction over the axes in `set`. */
void surg__infer_reduce_elems(surg__infer *c, const surg__fact *x, uint64_t set);

/* shapes.c */
void surg__infer_shape(surg__infer *c);
void surg__infer_size(surg__infer *c);
void surg__infer_constant(surg__infer *c);
void surg__infer_constant_of_shape(surg__infer *c);
void surg__infer_random(surg__infer *c);
void surg__infer_reshape(surg__infer *c);
void surg__infer_flatten(surg__infer *c);
void surg__infer_squeeze(surg__infer *c);
void surg__infer_unsqueeze(surg__infer *c);
void surg__infer_transpose(surg__infer *c);
void surg__infer_range(surg__infer *c);

/* pieces.c */
void surg__infer_concat(surg__infer *c);
void surg__infer_split(surg__infer *c);
void surg__infer_slice(surg__infer *c);
void surg__infer_pad(surg__infer *c);
void surg__infer_expand(surg__infer *c);
void surg__infer_tile(surg__infer *c);

/* index.c */
void surg__infer_gather(surg__infer *c);
void surg__infer_gather_elements(surg__infer *c);
void surg__infer_gather_nd(surg__infer *c);
void surg__infer_one_hot(surg__infer *c);
void surg__infer_nonzero(surg__infer *c);
void surg__infer_compress(surg__infer *c);
void surg__infer_unique(surg__infer *c);
void surg__infer_nms(surg__infer *c);
void surg__infer_topk(surg__infer *c);

/* reduce.c */
void surg__infer_reduce(surg__infer *c);
void surg__infer_arg(surg__infer *c);
void surg__infer_matmul(surg__infer *c); /* MatMul, MatMulInteger, QLinearMatMul */
void surg__infer_gemm(surg__infer *c);
void surg__infer_loss(surg__infer *c);
void surg__infer_det(surg__infer *c);

/* window.c */
void surg__infer_conv(surg__infer *c); /* Conv, ConvInteger, QLinearConv */
void surg__infer_conv_transpose(surg__infer *c);
void surg__infer_pool(surg__infer *c);
void surg__infer_global_pool(surg__infer *c);

/* layers.c */
void surg__infer_batch_norm(surg__infer *c);
void surg__infer_layer_norm(surg__infer *c);
void surg__infer_recurrent(surg__infer *c);
void surg__infer_resize(surg__infer *c);
void surg__infer_depth_to_space(surg__infer *c);
void surg__infer_roi_align(surg__infer *c);
void surg__infer_grid_sample(surg__infer *c);

/* attention.c */
void surg__infer_attention(surg__infer *c); /* and FlexAttention */
void surg__infer_linear_attention(surg__infer *c);
void surg__infer_causal_conv(surg__infer *c);
void surg__infer_swiglu(surg__infer *c);

/* image.c */
void surg__infer_affine_grid(surg__infer *c);
void surg__infer_col2im(surg__infer *c);
void surg__infer_center_crop_pad(surg__infer *c);
void surg__infer_max_unpool(surg__infer *c);
void surg__infer_max_roi_pool(surg__infer *c);
void surg__infer_deform_conv(surg__infer *c);
void surg__infer_image_decoder(surg__infer *c);

/* misc.c */
void surg__infer_string_normalizer(surg__infer *c);
void surg__infer_string_split(surg__infer *c);
void surg__infer_tf_idf(surg__infer *c);
void surg__infer_multinomial(surg__infer *c);
void surg__infer_bit_cast(surg__infer *c);
void surg__infer_optimizer(surg__infer *c);
void surg__infer_gradient(surg__infer *c);

/* signal.c */
void surg__infer_signal_window(surg__infer *c);
void surg__infer_mel_weights(surg__infer *c);
void surg__infer_dft(surg__infer *c);
void surg__infer_stft(surg__infer *c);
void surg__infer_einsum(surg__infer *c);

/* reals.c */
void surg__infer_round(surg__infer *c); /* Floor, Ceil, Round */
void surg__infer_real_arith(surg__infer *c, const surg_dim *dims, size_t rank);
void surg__infer_real_cast(surg__infer *c, int from, int to);

/* sequence.c */
void surg__infer_sequence_construct(surg__infer *c);
void surg__infer_sequence_empty(surg__infer *c);
void surg__infer_sequence_at(surg__infer *c);
void surg__infer_sequence_erase(surg__infer *c);
void surg__infer_sequence_insert(surg__infer *c);
void surg__infer_sequence_map(surg__infer *c);
void surg__infer_seed_sequence_map(surg__infer *c, const surg_graph *body);
void surg__infer_split_to_sequence(surg__infer *c);
void surg__infer_concat_from_sequence(surg__infer *c);
void surg__infer_optional(surg__infer *c);
void surg__infer_optional_get(surg__infer *c);

/* ml.c */
void surg__infer_tree_classifier(surg__infer *c);
void surg__infer_linear_classifier(surg__infer *c);
void surg__infer_svm_classifier(surg__infer *c);
void surg__infer_regressor(surg__infer *c);
void surg__infer_label_encoder(surg__infer *c); /* and CategoryMapper */
void surg__infer_one_hot_encoder(surg__infer *c);
void surg__infer_feature_extractor(surg__infer *c);
void surg__infer_feature_vectorizer(surg__infer *c);
void surg__infer_dict_vectorizer(surg__infer *c);
void surg__infer_cast_map(surg__infer *c);
void surg__infer_zip_map(surg__infer *c);

/* flow.c */
void surg__infer_if(surg__infer *c);
surg_graph *surg__infer_body(const surg__infer *c, const char *attr);
/* The fact about an output of a body as seen outside of it: what depends on symbols of the body is
 * unknown. Its dimensions are stored in dims. */
surg__fact surg__infer_outside_fact(surg__infer *c, const surg_value *v, const surg_graph *body,
                                size_t slot, surg_dim dims[SURG_LIMIT_RANK]);
/* Output k has the type and elements of v, an output of a body. */
void surg__infer_put_from_body(surg__infer *c, size_t k, const surg_value *v,
                               const surg_graph *body);
/* Output k is either a or b: states what they have in common. */
void surg__infer_put_join(surg__infer *c, size_t k, const surg__fact *a, const surg__fact *b);

/* loops.c */
void surg__infer_loop(surg__infer *c);
void surg__infer_scan(surg__infer *c);
/* Before the bodies of a node are walked: states what is known of their inputs. */
void surg__infer_seed_bodies(surg__infer *c);
/* After the `round`th walk of a loop body: whether the assumptions about its states are correct.
 * Otherwise states new types for the inputs of the body. */
bool surg__infer_settled(surg__infer *c, unsigned round);

/* contrib.c */
void surg__infer_ms_pad(surg__infer *c);
void surg__infer_ms_dequantize(surg__infer *c);
void surg__infer_ms_range(surg__infer *c);
void surg__infer_ms_skip_layer_norm(surg__infer *c);
void surg__infer_ms_skip_group_norm(surg__infer *c);
void surg__infer_ms_simple_layer_norm(surg__infer *c);
void surg__infer_ms_dropout(surg__infer *c);
void surg__infer_ms_hash(surg__infer *c);
void surg__infer_ms_ngram(surg__infer *c);
void surg__infer_ms_qlinear_binary(surg__infer *c);
void surg__infer_ms_qlinear_where(surg__infer *c);
void surg__infer_ms_qlinear_concat(surg__infer *c);
void surg__infer_ms_matmul_blocks(surg__infer *c);
void surg__infer_ms_cdist(surg__infer *c);
void surg__infer_ms_bias_split_gelu(surg__infer *c);
void surg__infer_ms_embed_layer_norm(surg__infer *c);
void surg__infer_ms_quantized_lstm(surg__infer *c);
void surg__infer_ms_conv_transpose(surg__infer *c);
void surg__infer_ms_crop_and_resize(surg__infer *c);
void surg__infer_ms_expand_dims(surg__infer *c);
void surg__infer_ms_unique(surg__infer *c);
void surg__infer_ms_tokenizer(surg__infer *c);
void surg__infer_ms_gather_blocks(surg__infer *c);

/* contrib_attention.c */
void surg__infer_ms_attention(surg__infer *c);
void surg__infer_ms_packed_attention(surg__infer *c);
void surg__infer_ms_packed_multi_head(surg__infer *c);
void surg__infer_ms_multi_head(surg__infer *c);
void surg__infer_ms_group_query(surg__infer *c);
void surg__infer_ms_position_bias(surg__infer *c);
void surg__infer_ms_gated_position_bias(surg__infer *c);

#endif
