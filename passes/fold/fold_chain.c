/* SPDX-License-Identifier: Apache-2.0 */
/* Part of the fold pass: a chain of nodes that fold into each other. It is computed without
 * changing the model, and folded as one if its end is small enough.
 *
 *   before: ones = ConstantOfShape (n)   count = ReduceSum (ones)   y = Mul (x, count)
 *   after:  y = Mul (x, count)           with count an initializer */
#include "fold.h"

#include <assert.h>

/* The inputs of `reader` that n produces, as tensors (NULL for the others); NULL: out of memory. */
static surg_tensor **inputs_from(fold_state *f, const surg_node *reader, const surg_node *n,
                                 surg_tensor *const *results) {
  size_t count = surg_node_input_count(reader), at;
  surg_tensor **in = surg_pass_alloc(f->pass, (count + 1) * sizeof *in);
  if (!in) f->failed = true;
  for (size_t i = 0; in && i < count; i++) {
    const surg_value *v = surg_node_input(reader, i);
    assert(results); /* n was computed */
    if (v && surg_value_producer(v, &at) == n) in[i] = results[at];
  }
  return in;
}

/* The nodes of a chain and their results. */
typedef struct chain {
  surg_node *nodes[FOLD_CHAIN + 1];
  surg_tensor **results[FOLD_CHAIN + 1];
  size_t length;
} chain;

static bool in_chain(const chain *c, const surg_node *n) {
  assert(c->length > 0 && c->length <= FOLD_CHAIN + 1);
  for (size_t i = 0; i < c->length; i++)
    if (c->nodes[i] == n) return true;
  return false;
}

/* The last node before the chain that stays; Constants used by the chain may be removed with it. */
static surg_node *stays_before(const chain *c) {
  surg_node *n = surg_node_prev(c->nodes[0]);
  for (; n && surg_node_op(n) == SURG_OP_Constant; n = surg_node_prev(n)) {
    const surg_use *u = surg_value_first_use(surg_node_output(n, 0));
    if (!u || !in_chain(c, surg_use_node(u))) return n;
  }
  return n;
}

/* Erases the chain from end to head; only the results of the end are stored. */
static bool replace_all(fold_state *f, const chain *c, uint64_t grown) {
  assert(c->length > 1); /* a single node is replaced by `give` */
  for (size_t i = c->length; i-- > 0;) {
    bool end = i + 1 == c->length;
    const char *name = surg_node_op_type(c->nodes[i]);
    fold_used(f, c->nodes[i], c->results[i], surg_node_output_count(c->nodes[i]));
    if (!fold_replace(f, c->nodes[i], end ? c->results[i] : NULL)) return false;
    fold_count(f, name, end ? grown : 0);
  }
  return true;
}

/* Computes the node after the end of the chain and appends it. */
static bool extend(fold_state *f, chain *c, uint64_t *leaving) {
  assert(c->length > 0 && c->length <= FOLD_CHAIN); /* room for one more */
  surg_node *last = c->nodes[c->length - 1], *reader = fold_follower(f, last);
  surg_tensor **in = reader ? inputs_from(f, reader, last, c->results[c->length - 1]) : NULL;
  if (!in) return false;
  *leaving = fold_plus(*leaving, fold_leaving(f, reader));
  surg_tensor **out = fold_compute(f, reader, in, fold_plus(*leaving, FOLD_TRANSIENT));
  if (!out) return false;
  c->nodes[c->length] = reader;
  c->results[c->length++] = out;
  return true;
}

bool fold_chain(fold_state *f, surg_node *n, surg_tensor **results, uint64_t leaving,
                surg_node **next) {
  chain c = {.nodes = {n}, .results = {results}, .length = 1};
  surg_graph *g = surg_node_graph(n);
  while (c.length <= FOLD_CHAIN) {
    if (!extend(f, &c, &leaving)) break;
    surg_node *end = c.nodes[c.length - 1];
    uint64_t bytes = fold_bytes(end, c.results[c.length - 1], surg_node_output_count(end));
    uint64_t grown = bytes > leaving ? bytes - leaving : 0;
    if (grown > f->max_growth) continue;
    if (!fold_may_grow(f, n, grown) || !fold_allow(f)) return false;
    surg_node *before = stays_before(&c);
    if (!replace_all(f, &c, grown)) return false;
    *next = before ? surg_node_next(before) : surg_graph_first_node(g);
    return true;
  }
  return !f->failed && fold_leave_large(f, n);
}
