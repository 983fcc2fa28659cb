/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of guards that look at the nodes around a value: whether a rewrite pays. */
#include "rewrite/lang/rule.h"

enum {
  READERS = 4000, /* more are not looked at: each match asks again */
  DEPTH = 6       /* of nodes that compute constants, as an emission makes them */
};

/* --- constants that many equal places of a model share --- */

static bool computed(const surg_node *n, int depth);

static bool constant(const surg_value *v, int depth) {
  if (!v || surg_value_settled(v)) return true;
  const surg_node *n = surg_value_producer(v, NULL);
  return n && depth > 0 && computed(n, depth - 1);
}

/* Whether all inputs of n are constant, so that folding removes it. */
static bool computed(const surg_node *n, int depth) {
  if (surg_node_subgraph(n, 0) || surg_node_nondeterministic(n)) return false;
  for (size_t i = 0; i < surg_node_input_count(n); i++)
    if (!constant(surg_node_input(n, i), depth)) return false;
  return true;
}

/* The node before n, whose weights are constants that only it reads and whose result only n reads;
 * NULL: it is another one. */
static const surg_node *weighted(const surg_node *n) {
  const surg_value *x = surg_node_input_count(n) > 0 ? surg_node_input(n, 0) : NULL;
  const surg_node *p = x && surg_value_use_count(x, 2) == 1 ? surg_value_producer(x, NULL) : NULL;
  const size_t inputs = p ? surg_node_input_count(p) : 0;
  const surg_value *w = inputs > 1 ? surg_node_input(p, 1) : NULL;
  const surg_value *b = inputs > 2 ? surg_node_input(p, 2) : NULL;
  if (!w || !surg_value_settled(w) || surg_value_use_count(w, 2) != 1) return NULL;
  return b && !surg_value_settled(b) ? NULL : p;
}

bool surg__read_together(const surg_value *v) {
  const surg_node *first = NULL, *before = NULL;
  if (surg_value_use_count(v, READERS) >= READERS) return false;
  for (const surg_use *u = surg_value_first_use(v); u; u = surg_use_next(u)) {
    if (surg_use_get_kind(u) != SURG_USE_NODE) return false;
    const surg_node *n = surg_use_node(u);
    if (computed(n, DEPTH)) continue;
    const surg_node *p = weighted(n);
    if (!p || surg_use_index(u) == 0) return false;
    if (!first) first = n, before = p;
    if (surg_node_op(n) != surg_node_op(first) || surg_node_op(p) != surg_node_op(before) ||
        surg_node_graph(n) != surg_node_graph(first))
      return false;
  }
  return true;
}

/* --- forms that runtimes recognize --- */

static const surg_node *made_by(const surg_value *v, int op) {
  const surg_node *n = v ? surg_value_producer(v, NULL) : NULL;
  return n && surg_node_op(n) == op ? n : NULL;
}

bool surg__ends_activation(const surg_value *v) {
  const surg_node *n = made_by(v, SURG_OP_Mul);
  for (size_t i = 0; n && i < 2; i++) {
    const surg_node *sum = made_by(surg_node_input(n, i), SURG_OP_Add);
    for (size_t k = 0; sum && k < 2; k++)
      if (made_by(surg_node_input(sum, k), SURG_OP_Erf)) return true;
  }
  return false;
}
