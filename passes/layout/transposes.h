/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the pass `transposes` share. */
#ifndef SURG_PASSES_TRANSPOSES_H
#define SURG_PASSES_TRANSPOSES_H

#include <assert.h>
#include <onnxsurg/onnxsurg.h>

#define TR_RANK 12    /* of a tensor that is looked at */
#define TR_INPUTS 64  /* of a node that a Transpose moves behind */
#define TR_MOVED 65536 /* bytes of a constant that is written in another order beside the first */

/* How the axes of a value stand once a Transpose before it has moved behind it: axis i is what
 * at[i] was. */
typedef struct tr_order {
  size_t n;
  size_t at[TR_RANK];
} tr_order;

/* What an input of a node is to a Transpose that moves behind it. */
typedef enum tr_role {
  TR_DATA,  /* the axes follow */
  TR_OTHER, /* untouched, whatever it is */
} tr_role;

/* Whether the operator is one that a Transpose can move behind. */
bool tr_movable(const surg_node *n);
tr_role tr_role_of(const surg_node *n, size_t input);
/* Whether all data of the node have as many axes: none is broadcast. */
bool tr_no_broadcast(const surg_node *n);
/* Whether engines may add up in another order then. */
bool tr_sums(const surg_node *n);
bool tr_one_element(const surg_value *v);
/* How the axes of output k stand when those of the data stand as `in` says; false: it cannot be. */
bool tr_output_order(const surg_node *n, const tr_order *in, size_t k, tr_order *out);
/* Gives `made`, which has the attributes of n and untouched inputs already, what speaks of axes. */
surg_status tr_rewrite(surg_node *n, surg_node *made, const tr_order *in);

/* The constant v for a node whose data has order->n axes, in that order; NULL: it cannot be, or it
 * failed. v itself where nothing need be moved. */
surg_value *tr_constant(surg_pass_ctx *p, surg_node *before, surg_value *v,
                        const tr_order *order);
/* Whether tr_constant gives one. With `exact` v must have as many axes. */
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
