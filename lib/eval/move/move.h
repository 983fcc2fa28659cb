/* SPDX-License-Identifier: Apache-2.0 */
/* What the kernels that move elements share: reading parameters, strided copies, walking shapes. */
#ifndef SURG_EVAL_MOVE_H
#define SURG_EVAL_MOVE_H

#include "eval/core/eval.h"

#define KERNEL(op, first, last, function) surg__kstatus function(surg_kctx *k);
#include "eval/core/kernels_move.def"
#undef KERNEL

/* Tile and DepthToSpace view a tensor under up to twice its rank. */
#define SURG__WALK_RANK (2 * SURG_LIMIT_RANK)

/* A view of a tensor in the order of the output: axes that run on are merged as they are added, so
 * that the last axis is the longest run there is. */
typedef struct surg__walk {
  uint32_t rank;
  int64_t dims[SURG__WALK_RANK], strides[SURG__WALK_RANK]; /* in elements; any sign, or 0 */
} surg__walk;

/* A counter over all positions of a shape that keeps an offset up to date. */
typedef struct surg__odometer {
  uint32_t rank;
  const int64_t *dims, *steps;
  int64_t offset;
  int64_t at[SURG_LIMIT_RANK];
} surg__odometer;

/* Adds the next inner axis. The view's element count must fit int64 (an output was made of it). */
void surg__walk_axis(surg__walk *w, int64_t dim, int64_t stride);
/* Whether the view is its tensor from front to back. */
bool surg__walk_plain(const surg__walk *w);
/* Writes the view's elements, `size` bytes each, to dst. No axis may be 0. `src` is the element
 * at position 0 of every axis. */
void surg__walk_copy(const surg__walk *w, const void *src, size_t size, void *dst);

/* Steps to the next position; false after the last. */
bool surg__odometer_next(surg__odometer *o);

/* Row-major strides in elements. With a dim of 0 they are never used and may wrap. */
void surg__row_strides(const int64_t *dims, uint32_t rank, int64_t *strides);
/* Product of dims[from..to) of an array that has elements or none: 0 when it does not fit. */
uint64_t surg__span_product(const int64_t *dims, uint32_t from, uint32_t to);
void surg__fill(void *dst, uint64_t count, const void *element, size_t size);
size_t surg__element_size(const surg__array *a);

/* A parameter given as an integer list: an input (absent: *given false) of rank 0 or 1, or an
 * attribute. The list is never NULL after OK. */
surg__kstatus surg__ints_input(surg_kctx *k, uint32_t in, const int64_t **out, uint64_t *count,
                               bool *given);
surg__kstatus surg__ints_attr(surg_kctx *k, const char *name, const int64_t **out, uint64_t *count,
                              bool *given);
/* A single integer from an input that must be there. */
surg__kstatus surg__int_input(surg_kctx *k, uint32_t in, int64_t *out);
/* Element i of a numeric array as an integer; false when it is none or does not fit. */
bool surg__as_int(const surg__array *a, uint64_t i, int64_t *out);
/* Refuses ranks no kernel has room for, and absent required inputs. */
surg__kstatus surg__need(surg_kctx *k, uint32_t in);
/* An axis where negative numbers count from the back only since the version `negative_since`. */
surg__kstatus surg__need_axis(surg_kctx *k, int64_t axis, uint32_t rank, int negative_since,
                              uint32_t *out);

/* Output 0: n > 0 tensors one behind the other along an axis within their rank. */
surg__kstatus surg__concat(surg_kctx *k, const surg__array *in, uint64_t n, uint32_t axis);

/* Order-preserving keys of a numeric array as unsigned numbers; -0 is 0. CANNOT with a type that
 * has no order, and with NaN but in a run, where it is above all numbers. */
surg__kstatus surg__sort_keys(surg_kctx *k, const surg__array *a, uint64_t **out);
/* Stable, deterministic merge sort of n positions; `spare` holds as many. `cmp` < 0: a first. */
typedef int (*surg__order)(const void *user, uint64_t a, uint64_t b);
void surg__sort_positions(uint64_t *items, uint64_t *spare, uint64_t n, surg__order cmp,
                          const void *user);

#endif
