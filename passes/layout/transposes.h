/* SPDX-License-Identifier: Apache-2.0 */
/* Shared declarations of the pass `transposes`. */
#ifndef SURG_PASSES_TRANSPOSES_H
#define SURG_PASSES_TRANSPOSES_H

#include <assert.h>
#include <onnxsurg/onnxsurg.h>

#define TR_RANK 12    /* largest rank that is handled */
#define TR_INPUTS 64  /* most inputs of a movable node */
#define TR_MOVED 65536 /* most bytes of a constant that gets a permuted copy */

/* The permutation of a value's axes when a Transpose before it moves after it: new axis i is old
 * axis at[i]. */
typedef struct tr_order {
  size_t n;
  size_t at[TR_RANK];
} tr_order;

/* How a moved Transpose affects an input. */
typedef enum tr_role {
  TR_DATA,  /* permuted */
  TR_OTHER, /* unchanged */
} tr_role;

/* Whether a Transpose can move across the operator. */
bool tr_movable(const surg_node *n);
tr_role tr_role_of(const surg_node *n, size_t input);
/* Whether all data inputs must have the same rank, because the operator does not broadcast. */
bool tr_no_broadcast(const surg_node *n);
/* Whether the operator sums, so that engines may add in another order after the move. */
bool tr_sums(const surg_node *n);
bool tr_one_element(const surg_value *v);
/* The permutation of output k for a permutation `in` of the data inputs; false: unsupported. */
bool tr_output_order(const surg_node *n, const tr_order *in, size_t k, tr_order *out);
/* Adapts the axes of `made` (attributes or inputs) to the permutation `in`. `made` is a copy of
 * n with its attributes and unpermuted inputs. */
surg_status tr_rewrite(surg_node *n, surg_node *made, const tr_order *in);

/* The constant that v is dequantized from, with one scale, for nothing but one consumer; else v. */
const surg_value *tr_stem(const surg_value *v);
/* A permuted copy of v, whose stem is constant, with order->n axes; v itself if permuting changes
 * nothing. NULL: failure. Call only if tr_constant_moves. */
surg_value *tr_constant(surg_pass_ctx *p, surg_node *before, surg_value *v,
                        const tr_order *order);
/* Whether tr_constant supports v. With `exact` its rank must be order->n, else at most that. */
bool tr_constant_moves(const surg_value *v, const tr_order *order, bool exact);

static inline bool tr_identity(const tr_order *o) {
  for (size_t i = 0; i < o->n; i++)
    if (o->at[i] != i) return false;
  return true;
}

static inline bool tr_same(const tr_order *a, const tr_order *b) {
  for (size_t i = 0; i < a->n && a->n == b->n; i++)
    if (a->at[i] != b->at[i]) return false;
  return a->n == b->n;
}

static inline size_t tr_find(const tr_order *o, size_t axis) {
  size_t i = 0;
  while (i < o->n && o->at[i] != axis) i++;
  return i;
}

static inline tr_order tr_inverse(const tr_order *o) {
  assert(o->n <= TR_RANK);
  tr_order r = {.n = o->n};
  for (size_t i = 0; i < o->n; i++) r.at[o->at[i]] = i;
  return r;
}

#endif
