/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the kernels that move elements: reading parameters, strided copies, iterating over
 * shapes. */
#ifndef SURG_EVAL_MOVE_H
#define SURG_EVAL_MOVE_H

#include "eval/core/eval.h"

#define KERNEL(op, first, last, function) surg__kstatus function(surg_kctx *k);
#include "eval/core/kernels_move.def"
#undef KERNEL

/* Tile and DepthToSpace view a tensor with up to twice its rank. */
#define SURG__WALK_RANK (2 * SURG_LIMIT_RANK)

/* A strided view of a tensor, in the order of the output. Axes that are contiguous with each
 * other are merged when added, so that the last axis is as long as possible. */
typedef struct surg__walk {
  uint32_t rank;
  int64_t dims[SURG__WALK_RANK], strides[SURG__WALK_RANK]; /* strides in elements; may be
                                                            * negative or 0 */
} surg__walk;

/* A counter over all positions of a shape that updates an offset. */
typedef struct surg__odometer {
  uint32_t rank;
  const int64_t *dims, *steps;
  int64_t offset;
  int64_t at[SURG_LIMIT_RANK];
} surg__odometer;

/* Adds the next inner axis. The element count of the view must fit int64; it does if an output
 * of that shape was created. */
void surg__walk_axis(surg__walk *w, int64_t dim, int64_t stride);
/* Whether the view is the tensor itself, in memory order. */
bool surg__walk_plain(const surg__walk *w);
/* Writes the elements of the view, `size` bytes each, to dst. `src` is the element at position 0
 * of every axis. No axis may have size 0. */
void surg__walk_copy(const surg__walk *w, const void *src, size_t size, void *dst);

/* Advances to the next position; false after the last. */
bool surg__odometer_next(surg__odometer *o);

/* Row-major strides in elements. If a dimension is 0 they are unused and may wrap. */
void surg__row_strides(const int64_t *dims, uint32_t rank, int64_t *strides);
/* The product of dims[from..to). The array must have been created, or be empty: 0 if the product
 * overflows. */
uint64_t surg__span_product(const int64_t *dims, uint32_t from, uint32_t to);
void surg__fill(void *dst, uint64_t count, const void *element, size_t size);
size_t surg__element_size(const surg__array *a);

/* Reads a list of integers: from an input of rank 0 or 1 (*given is false if it is absent), or
 * from an attribute. After OK the list is not NULL. */
surg__kstatus surg__ints_input(surg_kctx *k, uint32_t in, const int64_t **out, uint64_t *count,
                               bool *given);
surg__kstatus surg__ints_attr(surg_kctx *k, const char *name, const int64_t **out, uint64_t *count,
                              bool *given);
/* Reads input 1, a shape for input 0; both are required. */
surg__kstatus surg__shape_input(surg_kctx *k, const int64_t **shape, uint64_t *count);
/* Reads a required input that is a single integer. */
surg__kstatus surg__int_input(surg_kctx *k, uint32_t in, int64_t *out);
/* Element i of a numeric array as int64; false if it is no integer or out of range. */
bool surg__as_int(const surg__array *a, uint64_t i, int64_t *out);
/* Index i, of an int32 or int64 array, into an axis of size `dim`; not negative. Negative indices
 * are valid from opset 11 on. */
surg__kstatus surg__index_at(surg_kctx *k, const surg__array *indices, uint64_t i, int64_t dim,
                             int64_t *out);
/* Fails for a rank that exceeds the kernels' arrays, or an absent required input. */
surg__kstatus surg__need(surg_kctx *k, uint32_t in);
/* Normalizes an axis. Negative values are valid from operator version `negative_since` on. */
surg__kstatus surg__need_axis(surg_kctx *k, int64_t axis, uint32_t rank, int negative_since,
                              uint32_t *out);

/* Computes output 0 as the concatenation of n > 0 tensors along `axis`, which must be valid. */
surg__kstatus surg__concat(surg_kctx *k, const surg__array *in, uint64_t n, uint32_t axis);

/* Converts a numeric array to unsigned keys of the same order; -0 equals 0. CANNOT for a type
 * without an order, and for NaN while folding constants; in a run NaN is above all numbers. */
surg__kstatus surg__sort_keys(surg_kctx *k, const surg__array *a, uint64_t **out);
/* Stable merge sort of n indices, with `spare` as a buffer for n more. `cmp` returns < 0 if a
 * precedes b. */
typedef int (*surg__order)(const void *user, uint64_t a, uint64_t b);
void surg__sort_positions(uint64_t *items, uint64_t *spare, uint64_t n, surg__order cmp,
                          const void *user);

#endif
