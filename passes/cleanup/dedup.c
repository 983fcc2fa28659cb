/* SPDX-License-Identifier: Apache-2.0 */
/* Merges initializers of one graph with equal element type, shape and bits; the first one stays.
 * Never merged: initializers that a caller can override, those whose longer name would make the
 * file grow, and those where only an Identity could keep the name of an output or to which an
 * annotation refers.
 *
 *   before: (x) => (y) <float v = {1}, float w = {1}> { a = Add (x, v)   y = Mul (a, w) }
 *   after:  (x) => (y) <float v = {1}> { a = Add (x, v)   y = Mul (a, v) }
 *
 * Needs nothing. Keeps sorted, types. Exact. */
#include <assert.h>
#include <onnxsurg/onnxsurg.h>
#include <stdlib.h>

#include "../util/table.h"
#include "../util/values.h"

static int same_values(void *unused, const void *a, const void *b) {
  bool same;
  (void)unused;
  const surg_status s = surg_tensor_same(surg_value_constant(a), surg_value_constant(b), &same);
  if (s == SURG_EUNSUPPORTED) return 0;
  return s == SURG_OK ? same : -1;
}

static bool can_go(surg_pass_ctx *p, const surg_value *v, const surg_value *by) {
  if (values_annotated(v) || surg_value_is_pinned(v) || surg_pass_keeps_value(p, v)) return false;
  const surg_replace how = surg_value_can_replace(v, by);
  if (how != SURG_REPLACE_YES && how != SURG_REPLACE_BY_LABEL) return false;
  if (how == SURG_REPLACE_BY_LABEL && surg_pass_keeps_value(p, by)) return false;
  return values_respelling(v, by, how) <= surg_value_bytes(v);
}

/* Replaces v by `first`: CHANGED, UNCHANGED, or FAILED (out of memory). Initializers that are
 * inputs (IR versions below 4) are left for remove_inputs to erase. */
static surg_pass_result merge(surg_pass_ctx *p, surg_value *v, surg_value *first) {
  assert(v != first && surg_value_graph(v) == surg_value_graph(first));
  if (!can_go(p, v, first) || !surg_pass_allow(p)) return SURG_PASS_UNCHANGED;
  if (surg_value_replace(v, first)) return SURG_PASS_FAILED;
  if (!surg_value_is_input(v) && surg_value_erase_initializer(v)) return SURG_PASS_FAILED;
  surg_pass_count(p, "initializers", 1);
  return SURG_PASS_CHANGED;
}

static int by_address(const void *a, const void *b) {
  const uintptr_t x = (uintptr_t)*(surg_value *const *)a, y = (uintptr_t)*(surg_value *const *)b;
  return (x > y) - (x < y);
}

/* Removes the merged initializers from the inputs and erases them; from the last input, so that
 * indices stay valid. */
static bool remove_inputs(surg_graph *g, surg_value **gone, size_t n) {
  assert(gone || n == 0);
  if (n) qsort(gone, n, sizeof(surg_value *), by_address);
  for (size_t i = n ? surg_graph_input_count(g) : 0; i-- > 0;) {
    surg_value *v = surg_graph_input(g, i);
    if (!bsearch(&v, gone, n, sizeof(surg_value *), by_address)) continue;
    if (surg_graph_remove_input(g, i) || surg_value_erase_initializer(v)) return false;
  }
  return true;
}

/* The first initializer with the bits of v; v itself if there is none or its data is
 * unavailable. NULL: reading failed. */
static surg_value *first_of(table *seen, surg_value *v) {
  const surg_tensor *t = surg_value_constant(v);
  uint64_t hash;
  if (!t) return v;
  const surg_status s = surg_tensor_hash(t, &hash);
  if (s == SURG_EUNSUPPORTED) return v;
  return s == SURG_OK ? table_meet(seen, hash, v, same_values, NULL) : NULL;
}

static surg_pass_result run(surg_pass_ctx *p, surg_graph *g) {
  const size_t count = surg_graph_initializer_count(g);
  surg_pass_result result = SURG_PASS_UNCHANGED;
  table seen;
  size_t n = 0;
  if (count < 2) return result;
  surg_value **gone = surg_pass_alloc(p, count * sizeof(surg_value *));
  if (!gone || !table_make(&seen, p, count)) return SURG_PASS_FAILED;
  for (surg_value *v = surg_graph_next_initializer(g, NULL), *next; v; v = next) {
    next = surg_graph_next_initializer(g, v);
    surg_value *first = first_of(&seen, v);
    if (!first) return SURG_PASS_FAILED;
    if (first == v) continue;
    const bool input = surg_value_is_input(v);
    const surg_pass_result one = merge(p, v, first);
    if (one == SURG_PASS_FAILED) return one;
    assert(n < count); /* at most once per initializer */
    if (one == SURG_PASS_CHANGED && input) gone[n++] = v;
    if (one < result) result = one;
  }
  return remove_inputs(g, gone, n) ? result : SURG_PASS_FAILED;
}

const surg_pass surg__pass_dedup = {
    SURG_PASS_HEAD(GRAPH, "dedup", "merge initializers with equal type, shape and bytes"),
    .keeps = SURG_FACT_SORTED | SURG_FACT_TYPES,
    .exactness = SURG_EXACT,
    .run = run,
};
