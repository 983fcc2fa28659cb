/* SPDX-License-Identifier: Apache-2.0 */
/* Shared declarations of the fold pass. */
#ifndef SURG_PASSES_FOLD_H
#define SURG_PASSES_FOLD_H

#include <onnxsurg/onnxsurg.h>

#include "../util/table.h"

#define FOLD_OPS 512    /* most operators counted separately */
#define FOLD_WALKS 16   /* most walks over all nodes, while they change something */
#define FOLD_REASONS 96 /* most reasons counted separately; each is a static text */

/* Counts for one operator: nodes folded and bytes added. */
typedef struct fold_op {
  const char *name; /* name in the schema: static text */
  uint64_t nodes, grown;
} fold_op;

typedef struct fold_reason {
  const char *why;
  uint64_t nodes;
} fold_reason;

/* A list of constants to erase once unused. Those of `inputs` are listed as inputs of the graph
 * too (IR version below 4) and are removed at the end of the run. */
typedef struct fold_dead {
  surg_value **items;
  size_t count, capacity;
} fold_dead;

typedef struct fold_state {
  surg_pass_ctx *pass;
  surg_model *model;
  uint64_t max_growth, max_bytes, max_total, max_work;
  uint64_t grown, work; /* totals of this run, checked against the limits */
  bool dequantize; /* also fold DequantizeLinear */
  bool fusable;    /* keep patterns that runtimes fuse */
  bool changed;
  bool failed; /* out of memory */
  bool done;   /* the limit of rewrites is reached */
  fold_op ops[FOLD_OPS];
  size_t n_ops;
  fold_reason reasons[FOLD_REASONS];
  size_t n_reasons;
  uint64_t large; /* nodes left for their size in this walk */
  const surg_node *first_large;
  table left; /* the set of nodes left for their size */
  size_t n_left, max_left;
  fold_dead dead, inputs;
} fold_state;

bool fold_push(fold_state *f, fold_dead *list, surg_value *v);
/* Counts a node that is not folded; always false. `why` is static text. */
bool fold_leave(fold_state *f, const surg_node *n, const char *why);
/* Whether one more rewrite is allowed; sets `done` if not. */
bool fold_allow(fold_state *f);
/* Whether the user protects the node, by --keep or the option `keep`. */
bool fold_keeps(const fold_state *f, const surg_node *n);
/* The reason why an output of n cannot be replaced by any value, or NULL. */
const char *fold_pinned(const surg_node *n);
/* Remembers the constant inputs of a node that is about to be erased, for fold_bury. False: out
 * of memory. */
bool fold_remember_inputs(fold_state *f, const surg_node *n);
/* Erases remembered constants that have no consumer left. */
void fold_bury(fold_state *f);
/* Whether v may be erased once it is unused. */
bool fold_erasable(const fold_state *f, const surg_value *v);
/* Counts a folded node and the bytes it added. */
void fold_count(fold_state *f, const char *name, uint64_t grown);

/* fold_growth.c: the bytes that folding removes from the file and adds to it. Sizes are those of
 * whole protobuf messages, with tag and length. */

static inline uint64_t fold_plus(uint64_t a, uint64_t b) {
  return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}
/* Bytes removed with n: its message, the entries of its outputs, and constants that only n uses. */
uint64_t fold_leaving(const fold_state *f, const surg_node *n);
/* Whether n starts a chain of nodes that fold too and ends in a value within max-growth of all
 * bytes removed. `bytes`: size of the results of n; `leaving`: bytes removed with n. Computes
 * nothing. */
bool fold_chain_pays(fold_state *f, const surg_node *n, uint64_t bytes, uint64_t leaving);
/* The next node of the chain after n, or NULL. */
surg_node *fold_follower(const fold_state *f, const surg_node *n);
/* Computes the chain after n, whose results are given, and folds it as one once its end is
 * within max-growth of the bytes removed with all its nodes; else changes nothing. *next: the
 * node to continue with. */
bool fold_chain(fold_state *f, surg_node *n, surg_tensor **results, uint64_t leaving,
                surg_node **next);
#define FOLD_CHAIN 16                       /* most nodes after the head of a chain */
#define FOLD_TRANSIENT (UINT64_C(64) << 10) /* bytes by which an intermediate value may be larger */

/* fold_cone.c: nodes that were left for their size, judged together at a common consumer. */

/* Remembers a node that was left for its size. */
void fold_mark_left(fold_state *f, surg_node *n);
/* Folds n together with the nodes left before it if they are within max-growth together; else
 * marks n as left. False also if n has an input that is neither constant nor such a node's. */
bool fold_cone(fold_state *f, surg_node *n);

/* As fold_leaving, without the constants that n uses. */
uint64_t fold_own_bytes(const surg_node *n);
/* Bytes removed with a constant that becomes unused. */
uint64_t fold_constant_leaving(const surg_value *v);
/* Bounds the cost per node: a constant with more uses counts as staying, and a node with more
 * inputs joins no chain. */
#define FOLD_READS 64

/* fold_compute.c */

/* Computes the results of n, one per output, within `bytes`; NULL: not folded (counted), or
 * failed. A non-NULL in[i] replaces input i. */
surg_tensor **fold_compute(fold_state *f, surg_node *n, surg_tensor *const *in, uint64_t bytes);
/* The size in the file of the results that are used. */
uint64_t fold_bytes(const surg_node *n, surg_tensor *const *results, size_t count);
/* Records the exactness class of the results of n. */
void fold_used(fold_state *f, const surg_node *n, surg_tensor *const *results, size_t count);

/* fold.c */

/* Adds `bytes` to the growth of the run; false if that exceeds max-total, a limit against files
 * made to fill a disk. */
bool fold_may_grow(fold_state *f, const surg_node *n, uint64_t bytes);
/* Erases n after replacing its outputs by `results` (NULL: nothing uses them). fold_pinned must
 * be NULL. */
bool fold_replace(fold_state *f, surg_node *n, surg_tensor *const *results);
/* Counts a node that is left for its size; always false. */
bool fold_leave_large(fold_state *f, surg_node *n);
/* Whether a node that computes constants may be folded; counts the reason if not. */
bool fold_may(fold_state *f, const surg_node *n);

/* fold_shapes.c: the elements that inference knows. A tensor of all elements of v; NULL: some
 * are unknown, or out of memory (then the model has failed). */
surg_tensor *fold_known_elements(const fold_state *f, const surg_value *v);
/* Gives a Reshape an equivalent constant target, if there is one. */
bool fold_reshape(fold_state *f, surg_node *n);

/* fold_positions.c: whether n computes the position indices of an embedding, and is kept. */
bool fold_is_position(const fold_state *f, const surg_node *n);

/* fold_if.c: replaces an If with a constant condition by the nodes of its branch. Returns
 * whether it did; then `*next` is the node to continue with. */
bool fold_if(fold_state *f, surg_node *n, surg_node **next);
/* The same for a known branch: `taken` is the value of the condition. */
bool fold_branch(fold_state *f, surg_node *n, bool taken, surg_node **next);

/* fold_doomed.c: folds an If one of whose branches always fails. Returns whether it folded one. */
bool fold_doomed(fold_state *f);

#endif
