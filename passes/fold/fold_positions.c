/* SPDX-License-Identifier: Apache-2.0 */
/* Part of the fold pass: position indices that are not folded. If the sequence length is known but
 * the batch size is not, they could be constants; but runtimes match the embedding of a BERT by the
 * Range over the length, which they do not fold themselves.
 *
 *   n = Gather (Shape (ids), 1)   r = Range (0, n, 1)   u = Unsqueeze (r)   e = Expand (u, shape)
 *   p = Gather (positions, e)     w = Gather (words, ids)                   y = Add (w, p) */
#include "fold.h"

#include <assert.h>

#define READERS 4 /* most uses of the length; with more the pattern does not match */

static bool is(const surg_node *n, int op) {
  return n && surg_node_class(n) == SURG_OP_CLASS_BUILTIN && surg_node_op(n) == op;
}

/* The only consumer of output 0 of n, if it is an `op` that reads it as input `at`; else NULL. */
static const surg_node *only_reader(const surg_node *n, int op, size_t at) {
  const surg_value *v = n ? surg_node_output(n, 0) : NULL;
  const surg_use *u = v && surg_value_use_count(v, 2) == 1 ? surg_value_first_use(v) : NULL;
  const surg_node *by = u && surg_use_get_kind(u) == SURG_USE_NODE ? surg_use_node(u) : NULL;
  return is(by, op) && surg_use_index(u) == at ? by : NULL;
}

/* Whether r is the Range of the position indices of `ids`, and the target of Expand is unknown. */
static bool numbers_positions(const fold_state *f, const surg_node *r, const surg_value *ids) {
  const surg_node *expand = only_reader(only_reader(r, SURG_OP_Unsqueeze, 0), SURG_OP_Expand, 0);
  const surg_node *lookup = only_reader(expand, SURG_OP_Gather, 1);
  const surg_node *sum = only_reader(lookup, SURG_OP_Add, 1);
  const surg_value *other = sum ? surg_node_input(sum, 0) : NULL;
  const surg_node *words = other ? surg_value_producer(other, NULL) : NULL;
  if (!is(words, SURG_OP_Gather) || surg_node_input(words, 1) != ids) return false;
  assert(lookup && expand); /* else there is no sum */
  return surg_value_settled(surg_node_input(lookup, 0)) &&
         surg_value_settled(surg_node_input(words, 0)) &&
         !fold_known_elements(f, surg_node_input(expand, 1));
}

/* Whether the output of n is the limit of such a Range, with at most `casts` Casts between. */
static bool ends_range(const fold_state *f, const surg_node *n, const surg_value *ids, int casts) {
  assert(casts >= 0); /* the recursion ends */
  const surg_value *v = surg_node_output(n, 0);
  if (!v || surg_value_use_count(v, READERS + 1) > READERS) return false;
  for (const surg_use *u = surg_value_first_use(v); u; u = surg_use_next(u)) {
    const surg_node *by = surg_use_get_kind(u) == SURG_USE_NODE ? surg_use_node(u) : NULL;
    if (is(by, SURG_OP_Range) && surg_use_index(u) == 1 && numbers_positions(f, by, ids))
      return true;
    if (is(by, SURG_OP_Cast) && casts > 0 && ends_range(f, by, ids, casts - 1)) return true;
  }
  return false;
}

/* The producer of input `at` of n, or NULL. */
static const surg_node *before(const surg_node *n, size_t at) {
  const surg_value *v = n && surg_node_input_count(n) > at ? surg_node_input(n, at) : NULL;
  return v ? surg_value_producer(v, NULL) : NULL;
}

bool fold_is_position(const fold_state *f, const surg_node *n) {
  const surg_node *length = is(n, SURG_OP_Unsqueeze) ? before(n, 0) : n;
  if (is(length, SURG_OP_Range)) length = before(length, 1);
  if (is(length, SURG_OP_Cast)) length = before(length, 0);
  const surg_node *shape = is(length, SURG_OP_Gather) ? before(length, 0) : NULL;
  return is(shape, SURG_OP_Shape) && ends_range(f, length, surg_node_input(shape, 0), 1);
}
