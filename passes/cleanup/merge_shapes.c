/* SPDX-License-Identifier: Apache-2.0 */
/* Merges values of shape computations that are proven equal, element by element: the first one
 * replaces the others. The many shapes of one batch become one, a shape that was split and
 * concatenated again becomes the original, and pairs of Casts that cancel disappear.
 *
 *   before: (float[N, 4] x) => (y) { s = Shape (x)   c = Cast <to = 6> (s)   t = Cast <to = 7> (c)
 *                                    y = Expand (v, t) }
 *   after:  (float[N, 4] x) => (y) { s = Shape (x)   y = Expand (v, s) }
 *
 * A Concat of elements that a vector before them already contains becomes one Gather of it, where
 * nodes between them become unused:
 *
 *   before: h = Gather (s, 2)   w = Gather (s, 3)   a = Unsqueeze (h, 0)   b = Unsqueeze (w, 0)
 *           t = Concat (a, b)
 *   after:  t = Gather (s, [2, 3])
 *
 * A Shape becomes unused where Gathers alone read it, and Shapes before it contain what they pick:
 *
 *   before: s = Shape (x)   n = Gather (s, 0)   y = Neg (x)   t = Shape (y)   w = Gather (t, 3)
 *   after:  s = Shape (x)   n = Gather (s, 0)   y = Neg (x)   w = Gather (s, 3)
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

#define MOST_READERS 16   /* of a Shape that is dissolved */
#define CONSTANT_BYTES 24 /* of a constant of positions, without its elements */

#define STEPS 6 /* nodes between a Concat and the vector that contains its elements */

typedef struct known {
  surg_node *node;
  surg_value *value; /* its output, which another node may take over */
  surg_value *from; /* of a Concat: the vector that contains its elements, or NULL */
  int64_t *at;      /* their positions in it */
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

/* ---- Concat of elements of one vector -------------------------------------------------------- */

/* Finds each element of k among those of v; false: one is not there. */
static bool covers(const surg_value *v, const known *k, int64_t *at) {
  surg_elem e[ELEMENTS];
  const surg_type *t = surg_value_type(v);
  if (!t || surg_type_get_kind(t) != SURG_TYPE_TENSOR || surg_type_dtype(t) != SURG_INT64 ||
      !surg_type_has_rank(t) || surg_type_rank(t) != 1)
    return false;
  const int64_t n = numbers_known(v, e, ELEMENTS);
  for (size_t i = 0; i < k->count; i++) {
    at[i] = 0;
    while (at[i] < n && !((e[at[i]].known || e[at[i]].expr) &&
                          same_element(&e[at[i]], &k->elements[i])))
      at[i]++;
    if (at[i] >= n) return false;
  }
  return n > 0;
}

/* Whether an input of a Concat becomes unused with it. */
static bool feeds_alone(const surg_node *concat) {
  for (size_t i = 0; i < surg_node_input_count(concat); i++) {
    const surg_value *v = surg_node_input(concat, i);
    const surg_node *n = v ? surg_value_producer(v, NULL) : NULL;
    if (n && surg_node_op(n) != SURG_OP_Constant && surg_value_use_count(v, 2) == 1 &&
        surg_node_output_count(n) == 1)
      return true;
  }
  return false;
}

/* Looks for the vector among the values that the first element is computed from. */
static bool find_vector(surg_pass_ctx *p, known *k) {
  const surg_type *t = surg_value_type(surg_node_output(k->node, 0));
  if (surg_node_op(k->node) != SURG_OP_Concat || k->count < 2 || surg_type_rank(t) != 1 ||
      surg_type_dtype(t) != SURG_INT64 || !feeds_alone(k->node))
    return true;
  int64_t *at = surg_pass_alloc(p, k->count * sizeof *at);
  if (!at) return false;
  surg_value *v = surg_node_input(k->node, 0);
  for (int step = 0; step < STEPS && v; step++) {
    const surg_node *n = surg_value_producer(v, NULL);
    if (step > 0 && covers(v, k, at)) {
      k->from = v;
      k->at = at;
      return true;
    }
    v = n && surg_node_input_count(n) && surg_node_op(n) != SURG_OP_Shape ? surg_node_input(n, 0)
                                                                         : NULL;
  }
  return true;
}

/* The positions of a new Gather: of rank 0 or 1, as its result. */
static surg_value *positions(surg_node *made, const known *k) {
  return surg_type_rank(k->type) ? numbers_vector(made, "position", k->at, k->count)
                                 : numbers_scalar(made, "position", SURG_INT64, k->at[0]);
}

/* Replaces the node by a Gather of k->from; its output keeps its name. */
static surg_pass_result gather(surg_pass_ctx *p, const known *k, const char *what) {
  surg_node *n = k->node;
  surg_graph *g = surg_node_graph(n);
  /* It may have been merged into another one; the next run looks again. */
  if (surg_node_erased(n) || surg_value_erased(k->from) || surg_pass_keeps_node(p, n) ||
      !give_builtin(g, "Gather") || !surg_graph_takes_constants(g) || !surg_pass_allow(p))
    return SURG_PASS_UNCHANGED;
  surg_node *made = surg_graph_add_node(g, n, "", "Gather", 0);
  surg_value *at = made ? positions(made, k) : NULL;
  surg_value *old = surg_node_output(n, 0);
  if (!at || surg_node_set_int(made, "axis", 0) || surg_node_set_input(made, 0, k->from) ||
      surg_node_set_input(made, 1, at) || surg_node_take_output(made, 0, old) ||
      surg_node_erase(n))
    return SURG_PASS_FAILED;
  surg_pass_count(p, what, 1);
  return SURG_PASS_CHANGED;
}

/* ---- Shapes whose elements earlier Shapes contain -------------------------------------------- */

/* The first Shape that contains an expression. */
typedef struct place {
  const surg_expr *expr;
  known *shape;
} place;

static int same_place(void *user, const void *a, const void *b) {
  (void)user;
  return ((const place *)a)->expr == ((const place *)b)->expr;
}

/* The first place of an expression, which is in `shape` if in none before it; NULL: failure. */
static place *place_of(surg_pass_ctx *p, table *places, const surg_expr *expr, known *shape) {
  place *at = surg_pass_alloc(p, sizeof *at);
  if (!at) return NULL;
  *at = (place){expr, shape};
  return table_meet(places, table_mix(7, (uint64_t)(uintptr_t)expr), at, same_place, NULL);
}

/* What a Gather picks of the vector v, if each element is known and one is an expression; NULL: it
 * is no such Gather. */
static known *picked(surg_pass_ctx *p, const surg_use *u, const surg_value *v) {
  surg_node *n = surg_use_get_kind(u) == SURG_USE_NODE ? surg_use_node(u) : NULL;
  surg_elem e[ELEMENTS];
  size_t count = 0;
  if (!n || surg_node_op(n) != SURG_OP_Gather || surg_node_input(n, 1) == v ||
      surg_node_graph(n) != surg_value_graph(v) || surg_pass_keeps_node(p, n))
    return NULL;
  read_elements(n, e, &count);
  known *k = count ? surg_pass_alloc(p, sizeof *k + count * sizeof *k->elements) : NULL;
  const surg_type *t = surg_value_type(surg_node_output(n, 0));
  if (!k || surg_type_rank(t) > 1) return NULL;
  *k = (known){.node = n, .value = surg_node_output(n, 0), .type = t, .count = count};
  k->first = k;
  for (size_t i = 0; i < count; i++) k->elements[i] = e[i];
  return k;
}

/* Finds a Shape before `shape` that contains what k picks of it. */
static bool find_before(surg_pass_ctx *p, table *places, known *shape, known *k) {
  size_t i = 0;
  while (k->elements[i].known) i++; /* read_elements() found an expression */
  assert(i < k->count);
  const place *at = place_of(p, places, k->elements[i].expr, shape);
  k->at = at ? surg_pass_alloc(p, k->count * sizeof *k->at) : NULL;
  if (!k->at || at->shape == shape || at->shape->at) return false;
  k->from = at->shape->first->value;
  return covers(k->from, k, k->at);
}

/* Adds the Gathers of `shape` to the list if each of them can read a Shape before it. */
static void dissolve(surg_pass_ctx *p, table *places, known *shape, known ***end) {
  known *picks = NULL, **last = &picks;
  uint64_t bytes = 0; /* of new constants, about */
  size_t n = 0;
  for (const surg_use *u = surg_value_first_use(shape->value); u; u = surg_use_next(u), n++) {
    known *k = n < MOST_READERS ? picked(p, u, shape->value) : NULL;
    if (!k || !find_before(p, places, shape, k)) return;
    bytes += CONSTANT_BYTES + 8 * k->count;
    *last = k;
    last = &k->next;
  }
  if (!picks || bytes > surg_node_bytes(shape->node) + surg_value_bytes(shape->value)) return;
  shape->at = picks->at; /* others must not read it */
  **end = picks;
  *end = last;
}

/* Lists the Gathers that read a Shape before theirs; false: failure. */
static bool find_shapes(surg_pass_ctx *p, known *list, known **picks) {
  size_t n = 0;
  table places;
  for (const known *k = list; k; k = k->next)
    if (surg_node_op(k->node) == SURG_OP_Shape) n += k->count;
  if (n < 2) return true;
  if (!table_make(&places, p, n)) return false;
  for (known *k = list; k; k = k->next) {
    if (surg_node_op(k->node) != SURG_OP_Shape || k->first != k) continue;
    for (size_t i = 0; i < k->count; i++)
      if (!k->elements[i].known && !place_of(p, &places, k->elements[i].expr, k)) return false;
    dissolve(p, &places, k, &picks);
  }
  return true;
}

/* ---- all of it ------------------------------------------------------------------------------- */

/* Adds a node whose elements are known to the table and to the end of the list; false: failure. */
static bool visit(surg_pass_ctx *p, table *seen, surg_node *n, known ***end) {
  surg_elem elements[ELEMENTS];
  size_t count;
  read_elements(n, elements, &count);
  if (count == 0) return true;
  assert(count <= ELEMENTS);
  known *k = surg_pass_alloc(p, sizeof *k + count * sizeof *k->elements);
  if (!k) return false;
  surg_value *value = surg_node_output(n, 0);
  *k = (known){.node = n, .value = value, .type = surg_value_type(value), .count = count};
  for (size_t i = 0; i < count; i++) k->elements[i] = elements[i];
  k->first = table_meet(seen, hash_known(k), k, same_known, NULL);
  assert(!k->first || k->first->first == k->first); /* the table returns the first of equals */
  **end = k;
  *end = &k->next;
  return k->first != NULL && find_vector(p, k);
}

/* Visits all nodes before it changes any, because a change invalidates inferred elements. */
static surg_pass_result run(surg_pass_ctx *p, surg_graph *g) {
  surg_pass_result result = SURG_PASS_UNCHANGED;
  table seen;
  known *list = NULL, **end = &list, *picks = NULL;
  if (surg_graph_node_count(g) < 2) return result;
  if (!table_make(&seen, p, surg_graph_node_count(g))) return SURG_PASS_FAILED;
  for (surg_node *n = surg_graph_first_node(g); n; n = surg_node_next(n))
    if (!visit(p, &seen, n, &end)) return SURG_PASS_FAILED;
  if (!find_shapes(p, list, &picks)) return SURG_PASS_FAILED;
  *end = picks;
  for (const known *k = list; k; k = k->next) {
    assert(k->first && k->node); /* else visit() failed */
    if (k->first == k && !k->from) continue;
    const surg_pass_result one =
        k->first == k ? gather(p, k, "concats")
                      : give_result(p, k->node, k->first->value, "values");
    if (one == SURG_PASS_FAILED) return one;
    if (one < result) result = one;
  }
  return result;
}

const surg_pass surg__pass_merge_shapes = {
    SURG_PASS_HEAD(GRAPH, "merge-shapes", "merge equal values of shape computations"),
    .needs = SURG_FACT_SORTED | SURG_FACT_TYPES,
    .keeps = SURG_FACT_SORTED,
    .exactness = SURG_EXACT,
    .run = run,
};
