/* SPDX-License-Identifier: Apache-2.0 */
/* Removes inputs of LSTM, GRU and RNN that equal their defaults: biases, initial states and
 * peepholes that are all zero, and sequence lengths that are all the full length.
 *
 *   before: h = ConstantOfShape (s)   y = GRU (x, w, r, zeros, "", h)
 *   after:  y = GRU (x, w, r)
 *
 * Zeros are recognized in constants and after operators that only copy elements, so the batch size
 * may be unknown. Needs sorted, types. Keeps sorted. Exact: the specification gives both the same
 * meaning. */
#include "../util/each.h"
#include "../util/numbers.h"

#include <assert.h>

#define STEPS 64                        /* most nodes searched for zeros */
#define ZERO_BYTES (UINT64_C(16) << 20) /* largest constant searched, in bytes */
#define PIECE 4096
#define LENGTHS 1024 /* most sequences of a batch */

enum { BIAS = 3, SEQUENCE_LENS = 4, INITIAL_H = 5, INITIAL_C = 6, PEEPHOLE = 7 };

/* Whether all bits of a constant are 0; minus zero does not count. */
static bool zero_tensor(const surg_tensor *t) {
  uint8_t piece[PIECE];
  const uint64_t bytes = surg_tensor_bytes(t);
  if (surg_tensor_dtype(t) == SURG_STRING || bytes > ZERO_BYTES) return false;
  for (uint64_t at = 0; at < bytes; at += PIECE) {
    const size_t n = bytes - at < PIECE ? (size_t)(bytes - at) : PIECE;
    if (surg_tensor_read(t, at, piece, n)) return false;
    for (size_t i = 0; i < n; i++)
      if (piece[i]) return false;
  }
  return true;
}

/* The number of leading inputs from which all elements of the output are copied; 0: none. */
static size_t copied_inputs(const surg_node *n) {
  if (surg_node_class(n) != SURG_OP_CLASS_BUILTIN) return 0;
  switch (surg_node_op(n)) {
    case SURG_OP_Concat:
      return surg_node_input_count(n);
    case SURG_OP_Expand:
    case SURG_OP_Flatten:
    case SURG_OP_Gather:
    case SURG_OP_Identity:
    case SURG_OP_Reshape:
    case SURG_OP_Slice:
    case SURG_OP_Split:
    case SURG_OP_Squeeze:
    case SURG_OP_Tile:
    case SURG_OP_Transpose:
    case SURG_OP_Unsqueeze:
      return 1;
    default:
      return 0;
  }
}

static bool zero_fill(const surg_node *n) {
  const surg_attr *a = surg_node_attr(n, "value");
  if (surg_node_class(n) != SURG_OP_CLASS_BUILTIN || surg_node_op(n) != SURG_OP_ConstantOfShape)
    return false;
  if (!a) return true;
  const surg_tensor *t = surg_attr_ref(a) ? NULL : surg_attr_tensor(a, 0);
  return t && zero_tensor(t);
}

/* Whether all elements of v are zero, of any shape. */
static bool is_zero(const surg_value *v) {
  const surg_value *todo[STEPS];
  size_t count = 0, steps = 0;
  todo[count++] = v;
  while (count > 0) {
    assert(count <= STEPS && steps <= STEPS);
    v = todo[--count];
    const surg_tensor *t = v ? surg_value_settled(v) : NULL;
    const surg_node *n = v ? surg_value_producer(v, NULL) : NULL;
    if (++steps > STEPS || !v) return false;
    if (t ? zero_tensor(t) : n && zero_fill(n)) continue;
    const size_t from = !t && n ? copied_inputs(n) : 0;
    if (from == 0 || from > STEPS - count) return false;
    for (size_t i = 0; i < from; i++) todo[count++] = surg_node_input(n, i);
  }
  return true;
}

/* Whether all elements of v are known and equal to the dimension `length`. */
static bool all_are(const surg_value *v, surg_dim length) {
  surg_elem e[LENGTHS];
  const int64_t n = v ? numbers_known(v, e, LENGTHS) : -1;
  assert(n <= LENGTHS);
  for (int64_t i = 0; i < n; i++) {
    const surg_dim one = {.value = e[i].known ? e[i].value : -1, .expr = e[i].expr};
    if (!(e[i].known || e[i].expr) || !surg_dim_equal(&one, &length)) return false;
  }
  return n > 0;
}

/* Whether all sequence lengths equal the length of the input. */
static bool whole_length(const surg_node *n) {
  assert(surg_node_input(n, SEQUENCE_LENS)); /* is_default checked it */
  const surg_value *lens = surg_node_input(n, SEQUENCE_LENS);
  const surg_type *x = surg_value_type(surg_node_input(n, 0));
  if (!x || !surg_type_has_rank(x) || surg_type_rank(x) != 3 ||
      surg_attr_ref(surg_node_attr(n, "layout")))
    return false;
  const surg_dim length = *surg_type_dim(x, surg_node_int(n, "layout", 0) == 1 ? 1 : 0);
  if (all_are(lens, length)) return true;
  const surg_node *from = surg_value_producer(lens, NULL);
  const bool copies = from && surg_node_class(from) == SURG_OP_CLASS_BUILTIN &&
                      (surg_node_op(from) == SURG_OP_Expand || surg_node_op(from) == SURG_OP_Tile);
  return copies && all_are(surg_node_input(from, 0), length);
}

static bool is_default(const surg_node *n, size_t i) {
  assert(i >= BIAS && i <= PEEPHOLE);
  if (!surg_node_input(n, i)) return false;
  return i == SEQUENCE_LENS ? whole_length(n) : is_zero(surg_node_input(n, i));
}

/* Removes trailing absent inputs. */
static surg_status trim(surg_node *n) {
  size_t count = surg_node_input_count(n);
  while (count > 3 && !surg_node_input(n, count - 1)) count--;
  return surg_node_trim_inputs(n, count);
}

static surg_pass_result visit(surg_pass_ctx *p, surg_node *n) {
  surg_pass_result result = SURG_PASS_UNCHANGED;
  for (size_t i = BIAS; i <= PEEPHOLE; i++) {
    if (!is_default(n, i) || !surg_pass_allow(p)) continue;
    if (surg_node_set_input(n, i, NULL) != SURG_OK) return SURG_PASS_FAILED;
    surg_pass_count(p, "inputs", 1);
    result = SURG_PASS_CHANGED;
  }
  if (result == SURG_PASS_CHANGED && trim(n) != SURG_OK) return SURG_PASS_FAILED;
  return result;
}

static bool recurrent(const surg_node *n) {
  const int op = surg_node_op(n);
  return surg_node_class(n) == SURG_OP_CLASS_BUILTIN &&
         (op == SURG_OP_LSTM || op == SURG_OP_GRU || op == SURG_OP_RNN);
}

static surg_pass_result run(surg_pass_ctx *p, surg_graph *g) {
  const int ops[] = {SURG_OP_LSTM, SURG_OP_GRU, SURG_OP_RNN};
  surg_pass_result result = SURG_PASS_UNCHANGED;
  if (!each_has(g, ops, 3)) return result;
  for (surg_node *n = surg_graph_first_node(g); n; n = surg_node_next(n)) {
    if (!recurrent(n) || surg_pass_keeps_node(p, n)) continue;
    const surg_pass_result one = visit(p, n);
    if (one == SURG_PASS_FAILED) return one;
    if (one < result) result = one;
  }
  return result;
}

const surg_pass surg__pass_recurrent = {
    SURG_PASS_HEAD(GRAPH, "recurrent", "remove inputs of LSTM, GRU and RNN that equal the default"),
    .needs = SURG_FACT_SORTED | SURG_FACT_TYPES,
    .keeps = SURG_FACT_SORTED,
    .exactness = SURG_EXACT,
    .run = run,
};
