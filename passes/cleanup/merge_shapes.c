/* SPDX-License-Identifier: Apache-2.0 */
/* Merges values of shape computations that are proven equal, element by element: the first one
 * replaces the others. The many shapes of one batch become one, a shape that was split and
 * concatenated again becomes the original, and pairs of Casts that cancel disappear.
 *
 *   before: (float[N, 4] x) => (y) { s = Shape (x)   c = Cast <to = 6> (s)   t = Cast <to = 7> (c)
 *                                    y = Expand (v, t) }
 *   after:  (float[N, 4] x) => (y) { s = Shape (x)   y = Expand (v, s) }
 *
 * Values proven constant are left to fold. A node stays where only an Identity could keep the
 * name of a graph output, or where an annotation refers to its output.
 *
 * Needs sorted, types: nodes are visited in order. Keeps sorted. Exact. */
#include "../util/give.h"
#include "../util/numbers.h"
#include "../util/table.h"

#include <assert.h>

#define ELEMENTS 64 /* most elements of a value; larger tensors are not shapes */

typedef struct known {
  surg_node *node;
  const struct known *first; /* the first equal one; itself if there is none */
  struct known *next;        /* in node order */
  const surg_type *type;
  size_t count;
  surg_elem elements[];
} known;

static bool same_element(const surg_elem *a, const surg_elem *b) {
  if (a->known || b->known) return a->known && b->known && a->value == b->value;
  return a->expr == b->expr;
}

static int same_known(void *user, const void *a, const void *b) {
  const known *x = a, *y = b;
  (void)user;
  assert(x->count > 0 && y->count > 0); /* visit() adds no others */
  bool same = x->count == y->count && surg_type_equal(x->type, y->type);
  for (size_t i = 0; same && i < x->count; i++)
    same = same_element(&x->elements[i], &y->elements[i]);
  return same;
}

static uint64_t hash_known(const known *k) {
  assert(k->count > 0 && k->count <= ELEMENTS);
  uint64_t hash = table_mix((uint64_t)surg_type_dtype(k->type), surg_type_rank(k->type));
  for (size_t i = 0; i < k->count; i++) {
    const surg_elem *e = &k->elements[i];
    hash = table_mix(hash, e->known ? (uint64_t)e->value : (uint64_t)(uintptr_t)e->expr);
  }
  return hash;
}

/* Reads the elements of the only output of a node. *count is 0 unless all are known as integers
 * or expressions, and at least one is an expression. */
static void read_elements(const surg_node *n, surg_elem *e, size_t *count) {
  const surg_value *v = surg_node_output_count(n) == 1 ? surg_node_output(n, 0) : NULL;
  const surg_type *type = v ? surg_value_type(v) : NULL;
  const bool tensor = type && surg_type_get_kind(type) == SURG_TYPE_TENSOR;
  bool open = false;
  *count = 0;
  if (!tensor || !surg_type_static(type, NULL) || surg_type_dtype(type) == SURG_BOOL) return;
  const int64_t n_elements = numbers_known(v, e, ELEMENTS);
  for (int64_t i = 0; i < n_elements; i++) {
    if (!e[i].known && !e[i].expr) return;
    open = open || !e[i].known;
  }
  assert(n_elements <= ELEMENTS);
  if (open) *count = (size_t)n_elements;
}

/* Adds a node whose elements are known to the table and to the end of the list; false: failure. */
static bool visit(surg_pass_ctx *p, table *seen, surg_node *n, known ***end) {
  surg_elem elements[ELEMENTS];
  size_t count;
  read_elements(n, elements, &count);
  if (count == 0) return true;
  assert(count <= ELEMENTS);
  known *k = surg_pass_alloc(p, sizeof *k + count * sizeof *k->elements);
  if (!k) return false;
  *k = (known){.node = n, .type = surg_value_type(surg_node_output(n, 0)), .count = count};
  for (size_t i = 0; i < count; i++) k->elements[i] = elements[i];
  k->first = table_meet(seen, hash_known(k), k, same_known, NULL);
  assert(!k->first || k->first->first == k->first); /* the table returns the first of equals */
  **end = k;
  *end = &k->next;
  return k->first != NULL;
}

/* Visits all nodes before it changes any, because a change invalidates inferred elements. */
static surg_pass_result run(surg_pass_ctx *p, surg_graph *g) {
  surg_pass_result result = SURG_PASS_UNCHANGED;
  table seen;
  known *list = NULL, **end = &list;
  if (surg_graph_node_count(g) < 2) return result;
  if (!table_make(&seen, p, surg_graph_node_count(g))) return SURG_PASS_FAILED;
  for (surg_node *n = surg_graph_first_node(g); n; n = surg_node_next(n))
    if (!visit(p, &seen, n, &end)) return SURG_PASS_FAILED;
  for (const known *k = list; k; k = k->next) {
    assert(k->first && k->node); /* else visit() failed */
    if (k->first == k) continue;
    const surg_pass_result one =
        give_result(p, k->node, surg_node_output(k->first->node, 0), "values");
    if (one == SURG_PASS_FAILED) return one;
    if (one < result) result = one;
  }
  return result;
}

const surg_pass surg__pass_merge_shapes = {
    .size = sizeof(surg_pass),
    .scope = SURG_SCOPE_GRAPH,
    .name = "merge-shapes",
    .help = "merge equal values of shape computations",
    .needs = SURG_FACT_SORTED | SURG_FACT_TYPES,
    .keeps = SURG_FACT_SORTED,
    .exactness = SURG_EXACT,
    .run = run,
};
