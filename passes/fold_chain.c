/* SPDX-License-Identifier: Apache-2.0 */
/* Chains: a value that is larger than what it is made from may be on its way to something small. A
 * mask of ones that is only counted should fold; one that stays should not.
 *
 * The look ahead goes from reader to only reader while all else they read is constant, and knows
 * sizes from types alone, so it computes nothing. A kernel that refuses later on leaves the value
 * where the chain broke: at most TRANSIENT bytes. */
#include "fold.h"

#define CHAIN_LENGTH 16
#define TRANSIENT (UINT64_C(64) << 10) /* growth on the way */

/* The only reader of the results of n, when it is a node of the same graph. */
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

/* Whether all inputs of `reader` are constant but those that n makes. Adds what goes with it. */
static bool rest_constant(const fold_state *f, const surg_node *reader, const surg_node *n,
                          uint64_t *dying) {
  for (size_t i = 0; i < surg_node_input_count(reader); i++) {
    const surg_value *v = surg_node_input(reader, i);
    if (!v || surg_value_producer(v, NULL) == n) continue;
    if (!surg_value_constant(v)) return false;
    uint64_t bytes = fold_dying_bytes(f, reader, i);
    *dying = *dying > UINT64_MAX - bytes ? UINT64_MAX : *dying + bytes;
  }
  return true;
}

static bool within(uint64_t bytes, uint64_t dying, uint64_t growth) {
  return bytes <= dying || bytes - dying <= growth;
}

bool fold_chain_pays(fold_state *f, const surg_node *n, uint64_t bytes, uint64_t dying) {
  for (int i = 0; i < CHAIN_LENGTH && within(bytes, dying, TRANSIENT); i++) {
    const surg_node *reader = only_reader(n);
    if (!reader || surg_node_class(reader) != SURG_OP_CLASS_BUILTIN ||
        surg_node_subgraph(reader, 0) || surg_node_op(reader) == SURG_OP_DequantizeLinear ||
        fold_keeps(f, reader) || surg_node_nondeterministic(reader) || fold_pinned(reader) ||
        !rest_constant(f, reader, n, &dying) || !surg_node_result_bytes(reader, &bytes))
      return false;
    if (within(bytes, dying, f->max_growth)) return true;
    n = reader;
  }
  return false;
}
