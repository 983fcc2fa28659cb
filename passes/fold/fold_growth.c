/* SPDX-License-Identifier: Apache-2.0 */
/* Part of the fold pass: the change of the file size by folding a node. The messages removed with
 * the node are compared with those of the new constants, so that a file does not grow by a byte
 * unless requested.
 *
 * Chains: a value larger than its inputs may be an intermediate of something small. A mask of ones
 * that is only counted should fold; one that stays should not. The look-ahead follows single
 * consumers while their other inputs are constant. It reads sizes from types and computes nothing;
 * fold_chain.c computes. */
#include "fold.h"

#include <assert.h>

/* The bytes removed with node n for input i: a constant without other consumers, counted at its
 * first use in n. External data counts as if it were in the model file. */
static uint64_t dying_bytes(const fold_state *f, const surg_node *n, size_t i) {
  const surg_value *v = surg_node_input(n, i);
  const surg_tensor *t = surg_value_constant(v);
  if (!t || !fold_erasable(f, v)) return 0;
  int seen = 0;
  for (const surg_use *u = surg_value_first_use(v); u; u = surg_use_next(u)) {
    if (surg_use_get_kind(u) != SURG_USE_NODE || surg_use_node(u) != n) return 0;
    if (surg_use_index(u) < i || ++seen > FOLD_READS) return 0;
  }
  return fold_constant_leaving(v);
}

uint64_t fold_constant_leaving(const surg_value *v) {
  const surg_tensor *t = surg_value_constant(v);
  assert(t);
  uint64_t bytes = fold_plus(surg_value_bytes(v), surg_node_bytes(surg_value_producer(v, NULL)));
  return surg_tensor_is_external(t) ? fold_plus(bytes, surg_tensor_bytes(t)) : bytes;
}

uint64_t fold_own_bytes(const surg_node *n) {
  uint64_t bytes = surg_node_bytes(n);
  for (size_t i = 0; i < surg_node_output_count(n); i++)
    bytes = fold_plus(bytes, surg_value_bytes(surg_node_output(n, i)));
  return bytes;
}

uint64_t fold_leaving(const fold_state *f, const surg_node *n) {
  uint64_t bytes = fold_own_bytes(n);
  for (size_t i = 0; i < surg_node_input_count(n); i++)
    bytes = fold_plus(bytes, dying_bytes(f, n, i));
  return bytes;
}

/* The only consumer of the results of n, if it is a node of the same graph; else NULL. */
static surg_node *only_reader(const surg_node *n) {
  surg_node *reader = NULL;
  for (size_t i = 0; i < surg_node_output_count(n); i++) {
    const surg_value *v = surg_node_output(n, i);
    if (!v || surg_value_use_count(v, 1) == 0) continue;
    const surg_use *u = surg_value_first_use(v);
    if (reader || surg_value_use_count(v, 2) > 1 || surg_use_get_kind(u) != SURG_USE_NODE)
      return NULL;
    reader = surg_use_node(u);
  }
  return reader && surg_node_graph(reader) == surg_node_graph(n) ? reader : NULL;
}

/* Whether all inputs of `reader` that n does not produce are constant. */
static bool rest_constant(const surg_node *reader, const surg_node *n) {
  for (size_t i = 0; i < surg_node_input_count(reader); i++) {
    const surg_value *v = surg_node_input(reader, i);
    if (v && surg_value_producer(v, NULL) != n && !surg_value_settled(v)) return false;
  }
  return true;
}

static bool can_follow(const fold_state *f, const surg_node *reader, const surg_node *n) {
  return surg_node_class(reader) == SURG_OP_CLASS_BUILTIN && !surg_node_subgraph(reader, 0) &&
         surg_node_input_count(reader) <= FOLD_READS &&
         (f->dequantize || surg_node_op(reader) != SURG_OP_DequantizeLinear) &&
         !fold_keeps(f, reader) && !surg_node_nondeterministic(reader) && !fold_pinned(reader) &&
         rest_constant(reader, n);
}

surg_node *fold_follower(const fold_state *f, const surg_node *n) {
  surg_node *reader = only_reader(n);
  return reader && can_follow(f, reader, n) ? reader : NULL;
}

static bool within(uint64_t bytes, uint64_t leaving, uint64_t growth) {
  return bytes <= leaving || bytes - leaving <= growth;
}

bool fold_chain_pays(fold_state *f, const surg_node *n, uint64_t bytes, uint64_t leaving) {
  for (int i = 0; i < FOLD_CHAIN && within(bytes, leaving, FOLD_TRANSIENT); i++) {
    const surg_node *reader = fold_follower(f, n);
    uint64_t elements;
    if (!reader || !surg_node_result_sizes(reader, &elements, &bytes)) return false;
    leaving = fold_plus(leaving, fold_leaving(f, reader));
    if (within(bytes, leaving, f->max_growth)) return true;
    n = reader;
  }
  return false;
}
