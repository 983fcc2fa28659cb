/* SPDX-License-Identifier: Apache-2.0 */
/* Shared declarations of emissions in C: the tables of each file, and tensors with known element
 * type and sizes from which nodes are built. */
#ifndef SURG_NATIVE_H
#define SURG_NATIVE_H

#include "rewrite/lang/rule.h"

/* One table per file of emissions, terminated by a NULL name. */
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
extern const surg__native surg__natives_fused[];
extern const surg__native surg__natives_box[];
extern const surg__native surg__natives_qlinear[];
extern const surg__native surg__natives_blocks[];
extern const surg__native surg__natives_norms[];
extern const surg__native surg__natives_experts[];
extern const surg__native surg__natives_decoder[];
extern const surg__native surg__natives_inverse[];
extern const surg__native surg__natives_heads_group[];
extern const surg__native surg__natives_branch[];
extern const surg__native surg__natives_recurrent[];
extern const surg__native surg__natives_resize[];
extern const surg__native surg__natives_scan[];
extern const surg__native surg__natives_signal[];
extern const surg__native surg__natives_plain[];
extern const surg__native surg__natives_slice[];
extern const surg__native surg__natives_many[];
extern const surg__native surg__natives_labels[];
extern const surg__native surg__natives_rounds[];
extern const surg__native surg__natives_trees[];
extern const surg__native surg__natives_tabular[];
extern const surg__native surg__natives_turned[];
extern const surg__native surg__natives_hats[];
extern const surg__native surg__natives_numbers[];

#define SURG__BT_RANK 8u /* largest rank of a surg__built */

/* A size: a number, or a value that the model computes. May be copied freely. */
typedef struct surg__bdim {
  int64_t n;      /* the number; -1: not known at conversion time */
  surg_value *of; /* then dim `axis` of this value; with v set: 0 only where that dim is */
  uint32_t axis;
  surg_value *v;  /* a vector of one int64 with the size */
  surg_dim dim;   /* what is proven about it */
  bool filled;    /* never 0 where the result matters */
} surg__bdim;

/* A value with its element type and sizes. All calls do nothing once the builder has failed. */
typedef struct surg__built {
  surg_value *v; /* NULL: absent, or the builder failed */
  int dtype;
  uint32_t rank;
  surg__bdim d[SURG__BT_RANK];
} surg__built;

/* Looks up the value bound to a name. False: absent, or its element type or rank is not known. */
bool surg__built_get(const surg__builder *b, const char *name, surg__built *out);
/* The same for any value; its element type and rank must be known. */
bool surg__built_of(surg_value *v, surg__built *out);
bool surg__built_static(const surg__built *x); /* all sizes are numbers */
/* Number of elements of a static tensor; false: not static, or more than `most`. */
bool surg__built_count(const surg__built *x, uint64_t most, uint64_t *count);

surg__bdim surg__bdim_fixed(int64_t n);
bool surg__bdim_same(const surg__bdim *a, const surg__bdim *b);
bool surg__bdim_filled(const surg__bdim *a); /* known not to be 0 */
/* Arithmetic of sizes; creates nodes where an operand is not a number. A division must be exact, or
 * its result must not be tested for 0. */
surg__bdim surg__bdim_add(surg__builder *b, surg__bdim x, surg__bdim y);
surg__bdim surg__bdim_sub(surg__builder *b, surg__bdim x, surg__bdim y);
surg__bdim surg__bdim_mul(surg__builder *b, surg__bdim x, surg__bdim y);
surg__bdim surg__bdim_div(surg__builder *b, surg__bdim x, surg__bdim y);
/* As a vector of int64 with n elements. */
surg_value *surg__bdim_vector(surg__builder *b, const surg__bdim *d, size_t n);
/* One size as a scalar of the given type. */
surg__built surg__bdim_scalar(surg__builder *b, surg__bdim d, int dtype);

/* Constants. The element type must be able to represent the numbers. */
surg_value *surg__b_numbers(surg__builder *b, int dtype, const double *numbers, const int64_t *dims,
                            size_t rank);
surg__built surg__built_scalar(surg__builder *b, int dtype, double v);
surg__built surg__built_numbers(surg__builder *b, int dtype, const int64_t *dims, uint32_t rank,
                          const double *numbers);
/* A tensor of these sizes filled with v. */
surg__built surg__built_fill(surg__builder *b, int dtype, double v, const surg__bdim *d,
                             uint32_t rank);
/* 0, 1, ..., n - 1 as a vector of int32 or int64. */
surg__built surg__built_range(surg__builder *b, surg__bdim n, int dtype);
/* The same, each multiplied by `step`. */
surg__built surg__built_steps(surg__builder *b, surg__bdim n, surg__bdim step, int dtype);

/* Whether an input of an operator supports an element type in the opset of the emission. */
bool surg__b_takes(const surg__builder *b, const char *op, size_t input, int dtype);
/* Nodes. Axes are not negative. */
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
/* From index `lo` to the end; a negative `lo` counts from the end. */
surg__built surg__built_slice_from(surg__builder *b, surg__built x, uint32_t axis, int64_t lo);
/* Without the first `front` and the last `back` elements of the axis. */
surg__built surg__built_trim(surg__builder *b, surg__built x, uint32_t axis, int64_t front,
                             int64_t back);
/* x of int32, one byte an element, as two numbers of 4 bits each along the last axis, the low bits
 * first; `size` of them, -1: all. */
surg__built surg__built_nibbles(surg__builder *b, surg__built x, int64_t size);
surg__built surg__built_gather(surg__builder *b, surg__built x, surg__built at, uint32_t axis);
surg__built surg__built_expand(surg__builder *b, surg__built x, const surg__bdim *d, uint32_t rank);
surg__built surg__built_softmax(surg__builder *b, surg__built x); /* over the last axis */
surg__built surg__built_reduce(surg__builder *b, const char *op, surg__built x, uint32_t axis,
                               bool keep);

/* Adds a scalar input to the body of a Loop; runtimes require the shape to be declared (scan.c). */
surg_value *surg__b_scalar_input(surg__builder *b, const char *word, int dtype);

/* --- integers that the model computes (shaped_ints.c) --- */

int surg__b_dtype(const surg_value *v); /* of a tensor; 0: not known */
surg_value *surg__b_no_memory(surg__builder *b); /* sets SURG_ENOMEM; returns NULL */
surg_value *surg__bint(surg__builder *b, int64_t n); /* a scalar */
surg_value *surg__bint_tensor(surg__builder *b, const int64_t *numbers, const int64_t *dims,
                            size_t rank);
surg_value *surg__b_cast(surg__builder *b, surg_value *v, int dtype);
surg_value *surg__bint_wide(surg__builder *b, surg_value *v); /* as int64 */
surg_value *surg__bint_concat(surg__builder *b, surg_value *x, surg_value *y, int64_t axis);
surg_value *surg__bint_reshape(surg__builder *b, surg_value *x, const int64_t *dims, size_t n);
/* Reshapes a value of one element to a scalar. */
surg_value *surg__b_single(surg__builder *b, surg_value *x);
surg_value *surg__bint_sum(surg__builder *b, surg_value *x,
                           int64_t axis); /* removes the axis */
/* A constant [rows, columns] of consecutive integers, starting with `from`. */
surg_value *surg__bint_table(surg__builder *b, int64_t from, uint32_t rows, uint32_t columns);
/* [axes, rank]: 1 where the axis, which may be negative, is that column; else 0. */
surg_value *surg__bint_hits(surg__builder *b, surg_value *axes, uint32_t rank);
surg_value *surg__bint_at(surg__builder *b, surg_value *v, int64_t i); /* element i, as [1] */
/* These use comparisons or Where: opset 9 or later. */
surg_value *surg__bint_choose(surg__builder *b, surg_value *c, surg_value *x, surg_value *y);
surg_value *surg__bint_wrap(surg__builder *b, surg_value *x, surg_value *n); /* x < 0 ? x + n : x */
surg_value *surg__bint_least(surg__builder *b, surg_value *x, surg_value *y);
surg_value *surg__bint_most(surg__builder *b, surg_value *x, surg_value *y);
surg__bdim surg__bdim_of(surg_value *v); /* the size in a vector of one element */
/* 0, 1, ..., n - 1, with n a vector of one element. */
surg_value *surg__b_counting(surg__builder *b, surg_value *n);

/* Makes x the replacement of the value bound to `name`. Call it before other nodes read x, and use
 * the result from then on. Returns x if there is no such value. */
surg__built surg__built_result(surg__builder *b, const char *name, surg__built x);

#endif
