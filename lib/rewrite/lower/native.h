/* SPDX-License-Identifier: Apache-2.0 */
/* What emissions in C share: the tables they stand in, and tensors whose element type and sizes are
 * kept while nodes are made from them. */
#ifndef SURG_NATIVE_H
#define SURG_NATIVE_H

#include "rewrite/lang/rule.h"

/* Each file of emissions has one; a name NULL ends it. */
extern const surg__native surg__natives_sub[];
extern const surg__native surg__natives_bits[];
extern const surg__native surg__natives_quant[];
extern const surg__native surg__natives_series[];
extern const surg__native surg__natives_attention[];
extern const surg__native surg__natives_linear[];
extern const surg__native surg__natives_einsum[];
extern const surg__native surg__natives_image[];
extern const surg__native surg__natives_loss[];
extern const surg__native surg__natives_sample[];
extern const surg__native surg__natives_axes[];
extern const surg__native surg__natives_transformer[];
extern const surg__native surg__natives_index[];
extern const surg__native surg__natives_order[];
extern const surg__native surg__natives_pool[];
extern const surg__native surg__natives_packed[];
extern const surg__native surg__natives_heads[];
extern const surg__native surg__natives_branch[];
extern const surg__native surg__natives_recurrent[];
extern const surg__native surg__natives_resize[];
extern const surg__native surg__natives_scan[];
extern const surg__native surg__natives_signal[];
extern const surg__native surg__natives_plain[];
extern const surg__native surg__natives_slice[];
extern const surg__native surg__natives_many[];
extern const surg__native surg__natives_labels[];

#define SURG__BT_RANK 8u /* the most dims of a tensor that is built with */

/* A size: a number, or what the model computes. A copy is as good as the original. */
typedef struct surg__bdim {
  int64_t n;      /* the number; -1: not known here */
  surg_value *of; /* then it is dim `axis` of this value; with v: it is 0 only where that dim is */
  uint32_t axis;
  surg_value *v;  /* a vector of one int64 that holds it */
  surg_dim dim;   /* what is proven of it */
  bool filled;    /* it is never 0 where the result matters */
} surg__bdim;

/* A value with what is known of it. All calls on one do nothing once the builder has failed. */
typedef struct surg__built {
  surg_value *v; /* NULL: absent, or the builder failed */
  int dtype;
  uint32_t rank;
  surg__bdim d[SURG__BT_RANK];
} surg__built;

/* The value bound to a name. False: absent, or its element type or rank is not known. */
bool surg__built_get(const surg__builder *b, const char *name, surg__built *out);
/* Any value, of a type that must be known. */
bool surg__built_of(surg_value *v, surg__built *out);
bool surg__built_static(const surg__built *x); /* all sizes are numbers */
/* Elements of a static tensor; false: not static, or more than `most`. */
bool surg__built_count(const surg__built *x, uint64_t most, uint64_t *count);

surg__bdim surg__bdim_fixed(int64_t n);
bool surg__bdim_same(const surg__bdim *a, const surg__bdim *b);
bool surg__bdim_filled(const surg__bdim *a); /* known not to be 0 */
/* Sizes computed where they are no numbers; of divisions those that leave no remainder, or whose
 * result is not asked whether it may be 0. */
surg__bdim surg__bdim_add(surg__builder *b, surg__bdim x, surg__bdim y);
surg__bdim surg__bdim_sub(surg__builder *b, surg__bdim x, surg__bdim y);
surg__bdim surg__bdim_mul(surg__builder *b, surg__bdim x, surg__bdim y);
surg__bdim surg__bdim_div(surg__builder *b, surg__bdim x, surg__bdim y);
/* As a vector of int64. */
surg_value *surg__bdim_vector(surg__builder *b, const surg__bdim *d, size_t n);
/* One as a scalar of a type. */
surg__built surg__bdim_scalar(surg__builder *b, surg__bdim d, int dtype);

/* Constants, of a type that can hold the numbers. */
surg_value *surg__b_numbers(surg__builder *b, int dtype, const double *numbers, const int64_t *dims,
                            size_t rank);
surg__built surg__built_scalar(surg__builder *b, int dtype, double v);
surg__built surg__built_numbers(surg__builder *b, int dtype, const int64_t *dims, uint32_t rank,
                          const double *numbers);
/* One number, as often as the sizes say. */
surg__built surg__built_fill(surg__builder *b, int dtype, double v, const surg__bdim *d,
                             uint32_t rank);
/* 0, 1, ... as a vector of int32 or int64. */
surg__built surg__built_range(surg__builder *b, surg__bdim n, int dtype);
/* ... each times `step`. */
surg__built surg__built_steps(surg__builder *b, surg__bdim n, surg__bdim step, int dtype);

/* Whether an input of an operator may be of a type in the opset of the emission. */
bool surg__b_takes(const surg__builder *b, const char *op, size_t input, int dtype);
/* Nodes. Axes are counted from the front. */
surg__built surg__built_unary(surg__builder *b, const char *op, surg__built x);
surg__built surg__built_binary(surg__builder *b, const char *op, surg__built x, surg__built y);
surg__built surg__built_number(surg__builder *b, const char *op, surg__built x,
                               double y); /* y: scalar */
surg__built surg__built_where(surg__builder *b, surg__built c, surg__built x, surg__built y);
surg__built surg__built_matmul(surg__builder *b, surg__built x, surg__built y);
surg__built surg__built_cast(surg__builder *b, surg__built x, int dtype);
surg__built surg__built_reshape(surg__builder *b, surg__built x, const surg__bdim *d,
                                uint32_t rank);
surg__built surg__built_unsqueeze(surg__builder *b, surg__built x, uint32_t axis);
surg__built surg__built_transpose(surg__builder *b, surg__built x, const int64_t *perm);
surg__built surg__built_swap(surg__builder *b, surg__built x, uint32_t i, uint32_t j);
surg__built surg__built_concat(surg__builder *b, const surg__built *x, size_t n, uint32_t axis);
surg__built surg__built_slice(surg__builder *b, surg__built x, uint32_t axis, surg__bdim lo,
                              surg__bdim hi);
/* From `lo` on, counted from the end where negative. */
surg__built surg__built_slice_from(surg__builder *b, surg__built x, uint32_t axis, int64_t lo);
surg__built surg__built_gather(surg__builder *b, surg__built x, surg__built at, uint32_t axis);
surg__built surg__built_expand(surg__builder *b, surg__built x, const surg__bdim *d, uint32_t rank);
surg__built surg__built_softmax(surg__builder *b, surg__built x); /* over the last axis */
surg__built surg__built_reduce(surg__builder *b, const char *op, surg__built x, uint32_t axis,
                               bool keep);

/* --- whole numbers that the model computes (shaped_ints.c) --- */

int surg__b_dtype(const surg_value *v); /* of a tensor; 0: not known */
surg_value *surg__b_no_memory(surg__builder *b); /* the builder fails; NULL */
surg_value *surg__bint(surg__builder *b, int64_t n); /* a scalar */
surg_value *surg__bint_tensor(surg__builder *b, const int64_t *numbers, const int64_t *dims,
                            size_t rank);
surg_value *surg__b_cast(surg__builder *b, surg_value *v, int dtype);
surg_value *surg__bint_wide(surg__builder *b, surg_value *v); /* as int64 */
surg_value *surg__bint_concat(surg__builder *b, surg_value *x, surg_value *y, int64_t axis);
surg_value *surg__bint_reshape(surg__builder *b, surg_value *x, const int64_t *dims, size_t n);
/* A value of one element as a scalar. */
surg_value *surg__b_single(surg__builder *b, surg_value *x);
surg_value *surg__bint_sum(surg__builder *b, surg_value *x,
                           int64_t axis); /* the axis is left out */
/* Constants from, from + 1, ... of shape [rows, columns]. */
surg_value *surg__bint_table(surg__builder *b, int64_t from, uint32_t rows, uint32_t columns);
/* [axes, rank]: 1 where the axis, which counts from either end, is that one; else 0. */
surg_value *surg__bint_hits(surg__builder *b, surg_value *axes, uint32_t rank);
surg_value *surg__bint_at(surg__builder *b, surg_value *v, int64_t i); /* [1] */
/* These compare or choose: from opset 9 on. */
surg_value *surg__bint_choose(surg__builder *b, surg_value *c, surg_value *x, surg_value *y);
surg_value *surg__bint_wrap(surg__builder *b, surg_value *x, surg_value *n); /* x < 0 ? x + n : x */
surg_value *surg__bint_least(surg__builder *b, surg_value *x, surg_value *y);
surg_value *surg__bint_most(surg__builder *b, surg_value *x, surg_value *y);
surg__bdim surg__bdim_of(surg_value *v); /* the size that a vector of one element holds */
/* 0, 1, ... as many as a vector of one element says. */
surg_value *surg__b_counting(surg__builder *b, surg_value *n);

/* x takes over the value of that name, which is read from then on. To be called before other nodes
 * read x. Without such a value: x. */
surg__built surg__built_result(surg__builder *b, const char *name, surg__built x);

#endif
