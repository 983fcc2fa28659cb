/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the fold pass share. */
#ifndef SURG_PASSES_FOLD_H
#define SURG_PASSES_FOLD_H

#include <onnxsurg/onnxsurg.h>

#include "../util/table.h"

#define FOLD_OPS 512    /* operators counted apart */
#define FOLD_WALKS 16   /* over all nodes, while that changes something */
#define FOLD_REASONS 96 /* reasons counted apart; each is a static text */

/* What was folded of one operator. */
typedef struct fold_op {
  const char *name; /* of the schema: static text */
  uint64_t nodes, grown;
} fold_op;

typedef struct fold_reason {
  const char *why;
  uint64_t nodes;
} fold_reason;

/* A constant whose last use went away and that leaves the interface of an old file later. */
typedef struct fold_dead {
  surg_value **items;
  size_t count, capacity;
} fold_dead;

typedef struct fold_state {
  surg_pass_ctx *pass;
  surg_model *model;
  uint64_t max_growth, max_bytes, max_total, max_work;
  uint64_t grown, work; /* in all, against the guards */
  bool dequantize; /* DequantizeLinear, too */
  bool fusable;    /* what runtimes recognize an operator by stays */
  bool changed;
  bool failed; /* out of memory */
  bool done;   /* the limit of rewrites is spent */
  fold_op ops[FOLD_OPS];
  size_t n_ops;
  fold_reason reasons[FOLD_REASONS];
  size_t n_reasons;
  uint64_t large; /* nodes left for their size in this walk */
  const surg_node *first_large;
  table left; /* nodes that were left for their size */
  size_t n_left, max_left;
  fold_dead dead, inputs;
} fold_state;

bool fold_push(fold_state *f, fold_dead *list, surg_value *v);
/* Counts a node left as it is; always false. `why` is static text. */
bool fold_leave(fold_state *f, const surg_node *n, const char *why);
/* Asks whether one more rewrite may be made. */
bool fold_allow(fold_state *f);
/* Whether the user protects the node, by --keep or by the option. */
bool fold_keeps(const fold_state *f, const surg_node *n);
/* Why the outputs of a node cannot go to another value whatever that is, or NULL. */
const char *fold_pinned(const surg_node *n);
/* Remembers the inputs of a node that is about to go, so that fold_bury finds them. */
bool fold_remember_inputs(fold_state *f, const surg_node *n);
/* Erases remembered constants that nothing reads any more. */
void fold_bury(fold_state *f);
/* Whether v can be erased once nothing reads it. */
bool fold_erasable(const fold_state *f, const surg_value *v);
/* Counts a node that was folded and the bytes it added. */
void fold_count(fold_state *f, const surg_schema *op, uint64_t grown);

/* fold_growth.c: what folding takes from the file and adds to it. All bytes are bytes of the file:
 * whole messages with tag and length. */

static inline uint64_t fold_plus(uint64_t a, uint64_t b) {
  return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}
/* What leaves the file with n: its message, what is said of its results, constants that only n
 * reads. */
uint64_t fold_leaving(const fold_state *f, const surg_node *n);
/* Whether the results of n, `bytes` large, go into a chain of nodes that fold too and end in a
 * value within max-growth of what leaves with them all; `leaving` leaves with n. */
bool fold_chain_pays(fold_state *f, const surg_node *n, uint64_t bytes, uint64_t leaving);
/* The next node of the chain behind n, or NULL. */
surg_node *fold_follower(const fold_state *f, const surg_node *n);
/* Computes the chain behind n, whose results are given, and folds it as one when its end is within
 * max-growth of what leaves with all of it; else nothing changes. *next: the node to go on with. */
bool fold_chain(fold_state *f, surg_node *n, surg_tensor **results, uint64_t leaving,
                surg_node **next);
#define FOLD_CHAIN 16                       /* nodes of a chain */
#define FOLD_TRANSIENT (UINT64_C(64) << 10) /* bytes a value on the way may be larger */

/* fold_cone.c: a node that reads what nodes left for their size make, judged with all of them. */

/* Remembers a node that was left for its size. */
void fold_mark_left(fold_state *f, surg_node *n);
/* Folds n with all that was left before it where they are within max-growth together; else marks
 * it. False also: n reads something that is not constant. */
bool fold_cone(fold_state *f, surg_node *n);

/* What leaves with n as fold_leaving says, without the constants that it reads. */
uint64_t fold_own_bytes(const surg_node *n);
/* What goes with a constant that nothing reads any more. */
uint64_t fold_constant_leaving(const surg_value *v);
/* To stay linear: a constant that has more readers counts as staying, and a node with more inputs
 * is in no chain. */
#define FOLD_READS 64

/* fold_compute.c */

/* The results of a node, as many as it has outputs, within `bytes`; NULL: left, or failed. in[i],
 * if there is one, stands for input i. */
surg_tensor **fold_compute(fold_state *f, surg_node *n, surg_tensor *const *in, uint64_t bytes);
/* What the results that have readers take in the file. */
uint64_t fold_bytes(const surg_node *n, surg_tensor *const *results, size_t count);
/* Notes how exact the results of n are. */
void fold_used(fold_state *f, const surg_node *n, surg_tensor *const *results, size_t count);

/* fold.c */

/* Adds to the growth of the run while max-total allows it: against files made to fill a disk. */
bool fold_may_grow(fold_state *f, const surg_node *n, uint64_t bytes);
/* Replaces a node by its results (NULL: nothing reads it). Its outputs can be replaced: fold_pinned
 * was asked. */
bool fold_replace(fold_state *f, surg_node *n, surg_tensor *const *results);
/* Counts a node that is left for its size; false. */
bool fold_leave_large(fold_state *f, surg_node *n);
/* Whether a node that computes constants may be folded; counts why not. */
bool fold_may(fold_state *f, const surg_node *n);

/* fold_shapes.c: what inference knows of elements. A tensor of all of them; NULL: not all are
 * known, or memory ran out and the model failed. */
surg_tensor *fold_known_elements(const fold_state *f, const surg_value *v);
/* Gives a Reshape a constant target where one says the same. */
bool fold_reshape(fold_state *f, surg_node *n);

/* fold_positions.c: whether n counts the positions of sequences for an embedding, and stays. */
bool fold_is_position(const fold_state *f, const surg_node *n);

/* fold_if.c: an If whose condition is constant becomes the nodes of the branch taken. Whether it
 * did; `*next` is then the node to go on with. */
bool fold_if(fold_state *f, surg_node *n, surg_node **next);
/* The same with the branch that is known to be taken. */
bool fold_branch(fold_state *f, surg_node *n, bool taken, surg_node **next);

/* fold_doomed.c: an If of which one branch can only end in an error. Whether some was folded. */
bool fold_doomed(fold_state *f);

#endif
