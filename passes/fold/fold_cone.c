/* SPDX-License-Identifier: Apache-2.0 */
/* Part of the fold pass: nodes that compute constants, each left because its result is larger than
 * what is removed with it, judged together at a common consumer.
 *
 *   before: a = Slice (w, 0, 128)   b = Slice (w, 128, 512)   y = Concat (b, a)
 *   after:  y an initializer, and w removed
 *
 * Nodes with other consumers stay; they are computed for the result only. */
#include "fold.h"

#include <assert.h>

#define CONE 64 /* most nodes judged together */

typedef struct cone {
  surg_node *nodes[CONE]; /* the consumer first, then its producers; after sort(): graph order */
  surg_tensor **results[CONE];
  bool leaves[CONE];
  size_t count;
} cone;

/* --- nodes left for their size --- */

void fold_mark_left(fold_state *f, surg_node *n) {
  if (!f->left.slots && !table_make(&f->left, f->pass, f->max_left)) f->failed = true;
  if (f->failed || f->n_left >= f->max_left) return;
  f->n_left += !table_has(&f->left, n);
  assert(f->n_left <= f->max_left); /* the size of the table */
  if (!table_put(&f->left, n)) f->failed = true;
}

/* The producer of v in this graph if it was left for its size, else NULL. */
static surg_node *left_producer(const fold_state *f, const surg_value *v, const surg_graph *g) {
  surg_node *p = surg_value_producer(v, NULL);
  if (!p || surg_node_graph(p) != g) return NULL;
  return table_has(&f->left, p) ? p : NULL;
}

/* Whether all inputs of n are constant or were left, and at least one was left. */
static bool reads_left(const fold_state *f, const surg_node *n) {
  const surg_graph *g = surg_node_graph(n);
  bool any = false;
  if (!f->left.slots || surg_node_input_count(n) > FOLD_READS) return false;
  for (size_t i = 0; i < surg_node_input_count(n); i++) {
    const surg_value *v = surg_node_input(n, i);
    if (!v || surg_value_settled(v)) continue;
    if (!left_producer(f, v, g)) return false;
    any = true;
  }
  return any;
}

/* --- the cone --- */

static size_t place(const cone *c, const surg_node *n) {
  size_t i = 0;
  while (i < c->count && c->nodes[i] != n) i++;
  return i;
}

/* Adds all producers that were left, transitively; false: more than CONE nodes. */
static bool gather(const fold_state *f, cone *c) {
  assert(c->count == 1); /* the common consumer */
  for (size_t k = 0; k < c->count; k++) {
    const surg_node *n = c->nodes[k];
    for (size_t i = 0; i < surg_node_input_count(n); i++) {
      const surg_value *v = surg_node_input(n, i);
      surg_node *p = v && !surg_value_constant(v) ? left_producer(f, v, surg_node_graph(n)) : NULL;
      if (!p || place(c, p) < c->count) continue;
      if (c->count == CONE) return false;
      c->nodes[c->count++] = p;
    }
  }
  return true;
}

static void sort(cone *c) {
  assert(c->count > 0 && c->count <= CONE);
  for (size_t i = 1; i < c->count; i++) {
    surg_node *n = c->nodes[i];
    size_t k = i;
    for (; k > 0 && surg_node_before(n, c->nodes[k - 1]); k--) c->nodes[k] = c->nodes[k - 1];
    c->nodes[k] = n;
  }
}

/* Whether all consumers of v are nodes of the cone that are removed. */
static bool read_inside(const cone *c, const surg_value *v) {
  size_t seen = 0;
  for (const surg_use *u = surg_value_first_use(v); u; u = surg_use_next(u)) {
    if (surg_use_get_kind(u) != SURG_USE_NODE || ++seen > FOLD_READS) return false;
    const size_t at = place(c, surg_use_node(u));
    if (at == c->count || !c->leaves[at]) return false;
  }
  return true;
}

/* Decides which nodes are removed, consumers before producers. */
static void judge(cone *c) {
  assert(c->count > 0);
  c->leaves[c->count - 1] = true;
  for (size_t k = c->count - 1; k-- > 0;) {
    c->leaves[k] = true;
    for (size_t i = 0; i < surg_node_output_count(c->nodes[k]) && c->leaves[k]; i++) {
      const surg_value *v = surg_node_output(c->nodes[k], i);
      c->leaves[k] = !v || read_inside(c, v);
    }
  }
}

/* Whether input i of node k is the first use of v in the cone, so that v is counted once. */
static bool first_place(const cone *c, size_t k, size_t i, const surg_value *v) {
  assert(k < c->count);
  for (size_t a = 0; a <= k; a++) {
    const size_t end = a == k ? i : surg_node_input_count(c->nodes[a]);
    for (size_t b = 0; c->leaves[a] && b < end; b++)
      if (surg_node_input(c->nodes[a], b) == v) return false;
  }
  return true;
}

static uint64_t leaving_bytes(const fold_state *f, const cone *c) {
  uint64_t bytes = 0;
  for (size_t k = 0; k < c->count; k++) {
    const surg_node *n = c->nodes[k];
    if (!c->leaves[k]) continue;
    bytes = fold_plus(bytes, fold_own_bytes(n));
    for (size_t i = 0; i < surg_node_input_count(n); i++) {
      const surg_value *v = surg_node_input(n, i);
      if (v && surg_value_constant(v) && fold_erasable(f, v) && read_inside(c, v) &&
          first_place(c, k, i, v))
        bytes = fold_plus(bytes, fold_constant_leaving(v));
    }
  }
  return bytes;
}

/* --- computing and folding --- */

static bool compute(fold_state *f, cone *c, uint64_t most) {
  for (size_t k = 0; k < c->count; k++) {
    surg_node *n = c->nodes[k];
    const size_t count = surg_node_input_count(n);
    surg_tensor **in = surg_pass_alloc(f->pass, (count + 1) * sizeof *in);
    if (!in) return !(f->failed = true);
    for (size_t i = 0; i < count; i++) {
      size_t at;
      const surg_value *v = surg_node_input(n, i);
      const size_t from = v ? place(c, surg_value_producer(v, &at)) : c->count;
      assert(from == c->count || (from < k && c->results[from])); /* sorted: producers first */
      if (from < c->count) in[i] = c->results[from][at];
    }
    c->results[k] = fold_compute(f, n, in, most);
    if (!c->results[k]) return false;
  }
  return true;
}

static bool replace_cone(fold_state *f, const cone *c, uint64_t grown) {
  for (size_t k = c->count; k-- > 0;) {
    surg_node *n = c->nodes[k];
    const bool end = k + 1 == c->count;
    assert(c->results[k] && (!end || c->leaves[k]));
    const char *name = surg_node_op_type(n);
    fold_used(f, n, c->results[k], surg_node_output_count(n));
    if (!c->leaves[k]) continue;
    if (!fold_replace(f, n, end ? c->results[k] : NULL)) return false;
    fold_count(f, name, end ? grown : 0);
  }
  return true;
}

bool fold_cone(fold_state *f, surg_node *n) {
  uint64_t elements, bytes;
  if (!reads_left(f, n) || !fold_may(f, n)) return false;
  cone c = {.nodes = {n}, .count = 1};
  if (!gather(f, &c)) return false;
  sort(&c);
  assert(c.nodes[c.count - 1] == n); /* it depends on all others */
  judge(&c);
  const uint64_t leaving = leaving_bytes(f, &c), most = fold_plus(leaving, f->max_growth);
  if (!surg_node_result_sizes(n, &elements, &bytes) || bytes > most) return fold_leave_large(f, n);
  if (!compute(f, &c, fold_plus(leaving, FOLD_TRANSIENT))) return false;
  bytes = fold_bytes(n, c.results[c.count - 1], surg_node_output_count(n));
  if (bytes > most) return fold_leave_large(f, n);
  const uint64_t grown = bytes > leaving ? bytes - leaving : 0;
  if (!fold_may_grow(f, n, grown) || !fold_allow(f)) return false;
  return replace_cone(f, &c, grown);
}
