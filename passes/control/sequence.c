/* SPDX-License-Identifier: Apache-2.0 */
/* Replaces reads from a sequence or optional by the values that were stored there: SequenceAt,
 * SequenceLength and ConcatFromSequence of sequences made by SequenceEmpty, SequenceConstruct,
 * SequenceInsert, SequenceErase and SplitToSequence, also in graphs around the reader;
 * OptionalHasElement and OptionalGetElement of an optional known to be empty or not.
 *
 *   before: s = SequenceConstruct (a, b)   t = SequenceInsert (s, c, 0)   y = SequenceAt (t, 1)
 *   after:  y = a
 *
 * A SplitToSequence of parts of known sizes, read by SequenceAt alone, becomes a Split.
 *
 * The nodes that made the sequence stay until `prune`. A read at a position out of range is an
 * error of the model, and stays. Needs sorted, types. Keeps sorted. Exact. */
#include <assert.h>
#include <onnxsurg/onnxsurg.h>
#include <string.h>

#include "../util/each.h"
#include "../util/give.h"
#include "sequence.h"
#include "../util/numbers.h"
#include "../util/values.h"

#define STEPS 256     /* most nodes that make one sequence */
#define ELEMENTS 1024 /* most elements of one sequence */
#define PARTS 256     /* most parts of a SplitToSequence that becomes a Split */
#define SPLITS 64     /* most of them in one run */

/* The known content of a sequence: its elements, or the SplitToSequence that made it. */
typedef struct list {
  surg_value *items[ELEMENTS];
  size_t n;
  const surg_node *split; /* unmodified SplitToSequence; NULL: items are known */
} list;

typedef struct work {
  surg_pass_ctx *p;
  surg_model *m;
  bool grow;
  list list;
  const surg_node *steps[STEPS];
  size_t n_steps; /* nodes that made the list */
  struct {
    const surg_node *from; /* a SplitToSequence */
    surg_node *to;         /* the Split of the same parts */
  } splits[SPLITS];
  size_t n_splits;
} work;

/* ---- content of a sequence ------------------------------------------------------------------- */

/* The position in input i of n, or `last` if absent; false: unknown, or outside 0..places-1.
 * Negative positions count from `base`. */
static bool position(const surg_node *n, size_t i, int64_t last, size_t places, size_t base,
                     size_t *out) {
  assert(places >= base && places <= base + 1); /* an element, or also the end for insertion */
  int64_t at = last;
  if (surg_node_input(n, i) && !numbers_one(surg_node_input(n, i), &at)) return false;
  if (at < 0) at += (int64_t)base;
  if (at < 0 || at >= (int64_t)places) return false;
  *out = (size_t)at;
  return true;
}

static bool add_item(list *l, surg_value *v, size_t at) {
  if (l->n == ELEMENTS || !v) return false;
  assert(at <= l->n);
  memmove(&l->items[at + 1], &l->items[at], (l->n - at) * sizeof *l->items);
  l->items[at] = v;
  l->n++;
  return true;
}

static bool step(list *l, const surg_node *n) {
  size_t at;
  switch (surg_node_op(n)) {
    case SURG_OP_SequenceEmpty: return true;
    case SURG_OP_SequenceConstruct:
      for (size_t i = 0; i < surg_node_input_count(n); i++)
        if (!add_item(l, surg_node_input(n, i), i)) return false;
      return true;
    case SURG_OP_SequenceInsert:
      return position(n, 2, (int64_t)l->n, l->n + 1, l->n, &at) &&
             add_item(l, surg_node_input(n, 1), at);
    case SURG_OP_SequenceErase:
      if (!position(n, 1, -1, l->n, l->n, &at)) return false;
      assert(at < l->n);
      memmove(&l->items[at], &l->items[at + 1], (--l->n - at) * sizeof *l->items);
      return true;
    default: return surg_node_op(n) == SURG_OP_Identity;
  }
}

/* Determines the content of v in w->list; false: unknown. */
static bool known(work *w, const surg_value *v) {
  w->n_steps = 0;
  w->list.n = 0;
  w->list.split = NULL;
  for (;;) {
    const surg_node *n = v ? surg_value_producer(v, NULL) : NULL;
    assert(w->n_steps <= STEPS);
    if (!n || w->n_steps == STEPS) return false;
    w->steps[w->n_steps++] = n;
    const int op = surg_node_op(n);
    if (op == SURG_OP_SequenceEmpty || op == SURG_OP_SequenceConstruct) break;
    if (op == SURG_OP_SplitToSequence) {
      for (size_t i = 0; i + 1 < w->n_steps; i++)
        if (surg_node_op(w->steps[i]) != SURG_OP_Identity) return false;
      w->list.split = n;
      return true;
    }
    if (op != SURG_OP_SequenceInsert && op != SURG_OP_SequenceErase && op != SURG_OP_Identity)
      return false;
    v = surg_node_input(n, 0);
  }
  for (size_t i = w->n_steps; i-- > 0;)
    if (!step(&w->list, w->steps[i])) return false;
  return true;
}

/* ---- SplitToSequence ------------------------------------------------------------------------- */

static int64_t axis_of(const surg_node *n) {
  const surg_type *t = surg_value_type(surg_node_input(n, 0));
  const int64_t axis = surg_node_int(n, "axis", 0);
  return axis < 0 && surg_type_has_rank(t) ? axis + (int64_t)surg_type_rank(t) : axis;
}

/* The number of parts; -1: unknown. */
static int64_t parts_of(const surg_node *split) {
  const surg_value *sizes = surg_node_input(split, 1);
  const surg_type *t = surg_value_type(surg_node_input(split, 0));
  const int64_t axis = axis_of(split);
  int64_t each = 1;
  if (sizes) {
    const surg_type *st = surg_value_type(sizes);
    if (!surg_type_has_rank(st)) return -1;
    if (surg_type_rank(st) == 1) return surg_type_dim(st, 0)->value;
    if (!numbers_one(sizes, &each) || each < 1) return -1;
  }
  if (!surg_type_has_rank(t) || axis < 0 || axis >= (int64_t)surg_type_rank(t)) return -1;
  const int64_t d = surg_type_dim(t, (size_t)axis)->value;
  return d < 0 ? -1 : d / each + (d % each != 0);
}

/* Element `at` of a split into single slices, read by a Gather, which fails like SequenceAt if
 * out of range. NULL: failure. */
static surg_value *gathered(surg_node *n, const surg_node *split, int64_t at) {
  const bool keep = surg_node_int(split, "keepdims", 1) != 0;
  surg_node *g = surg_graph_add_node(surg_node_graph(n), n, "", "Gather", 1);
  surg_value *index = !g     ? NULL
                      : keep ? numbers_vector(g, "position", &at, 1)
                             : numbers_scalar(g, "position", SURG_INT64, at);
  if (!index || surg_node_set_input(g, 0, surg_node_input(split, 0)) != SURG_OK ||
      surg_node_set_input(g, 1, index) != SURG_OK ||
      surg_node_set_int(g, "axis", surg_node_int(split, "axis", 0)) != SURG_OK)
    return NULL;
  return surg_node_output(g, 0);
}

/* The sizes of the parts of a SplitToSequence with an input of sizes; 0: not known. */
static size_t sizes_of(const surg_node *split, int64_t *sizes) {
  const surg_value *given = surg_node_input(split, 1);
  const surg_type *t = surg_value_type(surg_node_input(split, 0)), *st = surg_value_type(given);
  const int64_t n = parts_of(split), axis = axis_of(split);
  surg_elem e[PARTS];
  int64_t each;
  if (n < 1 || n > PARTS || !surg_type_has_rank(st)) return 0;
  if (surg_type_rank(st) == 1) {
    if (numbers_known(given, e, PARTS) != n) return 0;
    for (int64_t i = 0; i < n; i++) {
      if (!e[i].known || e[i].value < 0) return 0;
      sizes[i] = e[i].value;
    }
    return (size_t)n;
  }
  if (!numbers_one(given, &each)) return 0;
  assert(each >= 1 && surg_type_has_rank(t)); /* parts_of knows the number */
  const int64_t d = surg_type_dim(t, (size_t)axis)->value;
  for (int64_t i = 0; i < n; i++) sizes[i] = i + 1 < n ? each : d - each * (n - 1);
  return (size_t)n;
}

/* ---- checks ---------------------------------------------------------------------------------- */

static bool free_to_go(work *w, const surg_node *n) {
  const surg_value *old = surg_node_output(n, 0);
  if (!old || !surg_value_use_count(old, 1) || surg_pass_keeps_node(w->p, n)) return false;
  if (surg_node_sheltered(n)) return false;
  if (surg_value_is_pinned(old) || values_annotated(old)) return false;
  return surg_value_is_output(old) || !surg_pass_keeps_value(w->p, old);
}

static surg_pass_result done(work *w, surg_node *n, surg_value *by) {
  surg_value *old = surg_node_output(n, 0);
  if (!by || give_uses(w->p, n, old, by) != SURG_OK || surg_node_erase(n) != SURG_OK)
    return SURG_PASS_FAILED;
  surg_pass_count(w->p, "nodes", 1);
  return SURG_PASS_CHANGED;
}

/* Replaces the result of n by the existing value v. */
static surg_pass_result become(work *w, surg_node *n, surg_value *v) {
  const surg_value *old = surg_node_output(n, 0);
  if (!free_to_go(w, n)) return SURG_PASS_UNCHANGED;
  if (surg_value_is_output(old) && !give_identity_stands(surg_node_graph(n), v, old))
    return SURG_PASS_UNCHANGED;
  return surg_pass_allow(w->p) ? done(w, n, v) : SURG_PASS_UNCHANGED;
}

static surg_pass_result become_number(work *w, surg_node *n, int dtype, int64_t v) {
  if (!free_to_go(w, n) || !surg_graph_takes_constants(surg_node_graph(n)) ||
      !surg_pass_allow(w->p))
    return SURG_PASS_UNCHANGED;
  surg_tensor *t = numbers_tensor(w->m, dtype, NULL, 0, &v, 1);
  if (!t || surg_value_become_constant(surg_node_output(n, 0), t) != SURG_OK ||
      surg_node_erase(n) != SURG_OK)
    return SURG_PASS_FAILED;
  surg_pass_count(w->p, "nodes", 1);
  return SURG_PASS_CHANGED;
}

/* ---- SplitToSequence as Split ---------------------------------------------------------------- */

/* Whether all readers of the sequence are SequenceAt at known positions that can be replaced. */
static bool read_by_position(work *w, const surg_node *split, size_t parts) {
  const surg_value *v = surg_node_output(split, 0);
  for (const surg_use *u = surg_value_first_use(v); u; u = surg_use_next(u)) {
    const surg_node *n = surg_use_get_kind(u) == SURG_USE_NODE ? surg_use_node(u) : NULL;
    size_t at;
    if (!n || surg_node_op(n) != SURG_OP_SequenceAt || surg_use_index(u) != 0 ||
        !position(n, 1, -1, parts, parts, &at) || !free_to_go(w, n))
      return false;
  }
  return true;
}

/* Adds the Split before a SplitToSequence, which `prune` removes; NULL: failure. */
static surg_node *make_split(const surg_node *from, const int64_t *sizes, size_t parts) {
  surg_node *n = (surg_node *)(uintptr_t)from;
  surg_node *s = surg_graph_add_node(surg_node_graph(n), n, "", "Split", parts);
  if (!s || surg_node_set_input(s, 0, surg_node_input(n, 0)) != SURG_OK ||
      surg_node_set_int(s, "axis", surg_node_int(n, "axis", 0)) != SURG_OK ||
      numbers_sizes(s, sizes, parts) != SURG_OK)
    return NULL;
  return s;
}

/* Replaces an element of a split into parts of known sizes. */
static surg_pass_result part_of(work *w, surg_node *n) {
  const surg_node *from = w->list.split;
  const surg_graph *g = surg_node_graph(from);
  int64_t sizes[PARTS];
  size_t k = 0, at;
  const size_t parts = w->n_steps == 1 ? sizes_of(from, sizes) : 0;
  if (parts == 0 || !position(n, 1, -1, parts, parts, &at)) return SURG_PASS_UNCHANGED;
  while (k < w->n_splits && w->splits[k].from != from) k++;
  if (k == w->n_splits) {
    if (k == SPLITS || surg_pass_keeps_node(w->p, from) || !read_by_position(w, from, parts) ||
        !give_builtin(g, "Split") || !surg_graph_takes_constants(g) || !surg_pass_allow(w->p))
      return SURG_PASS_UNCHANGED;
    surg_node *to = make_split(from, sizes, parts);
    if (!to) return SURG_PASS_FAILED;
    w->splits[w->n_splits].from = from;
    w->splits[w->n_splits++].to = to;
    return done(w, n, surg_node_output(to, at));
  }
  if (!free_to_go(w, n) || !surg_pass_allow(w->p)) return SURG_PASS_UNCHANGED;
  return done(w, n, surg_node_output(w->splits[k].to, at));
}

/* ---- consumers ------------------------------------------------------------------------------- */

static surg_pass_result at_split(work *w, surg_node *n) {
  assert(w->list.split);
  const surg_graph *g = surg_node_graph(n);
  int64_t at;
  if (surg_node_input(w->list.split, 1)) return part_of(w, n);
  if (!numbers_one(surg_node_input(n, 1), &at)) return SURG_PASS_UNCHANGED;
  if (!free_to_go(w, n) || !give_builtin(g, "Gather") || !surg_graph_takes_constants(g) ||
      !surg_pass_allow(w->p))
    return SURG_PASS_UNCHANGED;
  return done(w, n, gathered(n, w->list.split, at));
}

static surg_pass_result sequence_at(work *w, surg_node *n) {
  size_t at;
  if (!known(w, surg_node_input(n, 0))) return SURG_PASS_UNCHANGED;
  if (w->list.split) return at_split(w, n);
  if (!position(n, 1, -1, w->list.n, w->list.n, &at)) return SURG_PASS_UNCHANGED;
  assert(at < w->list.n && w->list.items[at]);
  return become(w, n, w->list.items[at]);
}

static surg_pass_result length(work *w, surg_node *n) {
  if (!known(w, surg_node_input(n, 0))) return SURG_PASS_UNCHANGED;
  const int64_t count = w->list.split ? parts_of(w->list.split) : (int64_t)w->list.n;
  return count < 0 ? SURG_PASS_UNCHANGED : become_number(w, n, SURG_INT64, count);
}

/* Replaces a concatenation of all parts of a SplitToSequence by the value that was split. */
static surg_pass_result rejoined(work *w, surg_node *n) {
  assert(w->list.split && w->list.n == 0);
  const surg_node *split = w->list.split;
  const surg_type *t = surg_value_type(surg_node_input(split, 0));
  const bool whole = surg_node_input(split, 1) || surg_node_int(split, "keepdims", 1) != 0;
  int64_t axis = surg_node_int(n, "axis", 0);
  if (axis < 0) axis += (int64_t)surg_type_rank(t);
  if (!surg_type_has_rank(t) || axis != axis_of(split) ||
      (surg_node_int(n, "new_axis", 0) != 0) == whole || parts_of(split) < 1)
    return SURG_PASS_UNCHANGED;
  return become(w, n, surg_node_input(split, 0));
}

/* The number of nodes that become unused with n, because n is the only consumer of their
 * sequence. */
static size_t going(const work *w) {
  size_t count = 0;
  assert(w->n_steps <= STEPS);
  while (count < w->n_steps && surg_value_use_count(surg_node_output(w->steps[count], 0), 2) == 1)
    count++;
  return count;
}

static surg_value *unsqueezed(surg_node *n, surg_value *v, int64_t axis) {
  surg_node *u = surg_graph_add_node(surg_node_graph(n), n, "", "Unsqueeze", 1);
  if (!u || surg_node_set_input(u, 0, v) != SURG_OK) return NULL;
  if (surg_graph_opset(surg_node_graph(n), "") < 13)
    return surg_node_set_ints(u, "axes", &axis, 1) == SURG_OK ? surg_node_output(u, 0) : NULL;
  surg_value *at = numbers_vector(u, "position", &axis, 1);
  return at && surg_node_set_input(u, 1, at) == SURG_OK ? surg_node_output(u, 0) : NULL;
}

/* Whether Concat and Unsqueeze support the type of v. */
static bool joinable(const surg_graph *g, const surg_value *v) {
  const surg_type *t = surg_value_type(v);
  const int dtype = surg_type_get_kind(t) == SURG_TYPE_TENSOR ? surg_type_dtype(t) : SURG_UNDEFINED;
  return dtype != SURG_UNDEFINED && dtype <= SURG_BFLOAT16 &&
         (dtype != SURG_BFLOAT16 || surg_graph_opset(g, "") >= 13);
}

static surg_pass_result concat(work *w, surg_node *n) {
  surg_graph *g = surg_node_graph(n);
  const bool fresh = surg_node_int(n, "new_axis", 0) != 0;
  const int64_t axis = surg_node_int(n, "axis", 0);
  if (!known(w, surg_node_input(n, 0))) return SURG_PASS_UNCHANGED;
  if (w->list.split) return rejoined(w, n);
  if (w->list.n == 0 || (fresh && !w->grow && going(w) < w->list.n) || !free_to_go(w, n) ||
      !give_builtin(g, "Concat") || !give_builtin(g, "Unsqueeze") || !surg_graph_takes_constants(g))
    return SURG_PASS_UNCHANGED;
  for (size_t i = 0; i < w->list.n; i++)
    if (!joinable(g, w->list.items[i])) return SURG_PASS_UNCHANGED;
  if (!surg_pass_allow(w->p)) return SURG_PASS_UNCHANGED;
  surg_node *c = surg_graph_add_node(g, n, "", "Concat", 1);
  if (!c || surg_node_set_int(c, "axis", axis) != SURG_OK) return SURG_PASS_FAILED;
  for (size_t i = 0; i < w->list.n; i++) {
    surg_value *v = fresh ? unsqueezed(c, w->list.items[i], axis) : w->list.items[i];
    if (!v || surg_node_set_input(c, i, v) != SURG_OK) return SURG_PASS_FAILED;
  }
  return done(w, n, surg_node_output(c, 0));
}

/* ---- optionals ------------------------------------------------------------------------------- */

/* 1: v contains *what; 0: it is empty; -1: unknown. */
static int holds(const surg_value *v, surg_value **what) {
  const surg_type_kind kind = v ? surg_type_get_kind(surg_value_type(v)) : SURG_TYPE_UNKNOWN;
  *what = (surg_value *)(uintptr_t)v;
  if (!v) return 0;
  if (kind == SURG_TYPE_TENSOR || kind == SURG_TYPE_SEQUENCE) return 1;
  const surg_node *n = surg_value_producer(v, NULL);
  while (n && surg_node_op(n) == SURG_OP_Identity) {
    v = surg_node_input(n, 0);
    n = v ? surg_value_producer(v, NULL) : NULL;
  }
  if (!n || surg_node_op(n) != SURG_OP_Optional) return -1;
  *what = surg_node_input(n, 0);
  return *what != NULL;
}

static surg_pass_result has_element(work *w, surg_node *n) {
  surg_value *what;
  const int is = holds(surg_node_input(n, 0), &what);
  return is < 0 ? SURG_PASS_UNCHANGED : become_number(w, n, SURG_BOOL, is);
}

static surg_pass_result get_element(work *w, surg_node *n) {
  surg_value *what;
  return holds(surg_node_input(n, 0), &what) == 1 ? become(w, n, what) : SURG_PASS_UNCHANGED;
}

/* ---- all of it ------------------------------------------------------------------------------- */

static surg_pass_result visit(work *w, surg_node *n) {
  switch (surg_node_op(n)) {
    case SURG_OP_SequenceAt: return sequence_at(w, n);
    case SURG_OP_SequenceLength: return length(w, n);
    case SURG_OP_ConcatFromSequence: return concat(w, n);
    case SURG_OP_OptionalHasElement: return has_element(w, n);
    case SURG_OP_OptionalGetElement: return get_element(w, n);
    default: return SURG_PASS_UNCHANGED;
  }
}

/* Outer graphs first, so that captured sequences are simplified before subgraphs read them. */
surg_pass_result sequence_read(surg_pass_ctx *p, bool grow) {
  surg_pass_result result = SURG_PASS_UNCHANGED;
  work *w = surg_pass_alloc(p, sizeof *w);
  if (!w) return SURG_PASS_FAILED;
  w->p = p;
  w->grow = grow;
  w->m = surg_pass_model(p);
  const int ops[] = {SURG_OP_SequenceAt, SURG_OP_SequenceLength, SURG_OP_ConcatFromSequence,
                     SURG_OP_OptionalHasElement, SURG_OP_OptionalGetElement};
  for (surg_graph *g = surg_model_next_graph(w->m, NULL); g; g = surg_model_next_graph(w->m, g))
    for (surg_node *n = each_has(g, ops, 5) ? surg_graph_first_node(g) : NULL, *next; n; n = next) {
      next = surg_node_next(n);
      const surg_pass_result one = visit(w, n);
      if (one == SURG_PASS_FAILED) return one;
      if (one < result) result = one;
    }
  return result;
}

static surg_pass_result run(surg_pass_ctx *p, surg_graph *unused) {
  (void)unused;
  if (surg_model_shelter(surg_pass_model(p)) != SURG_OK) return SURG_PASS_FAILED;
  return sequence_read(p, false);
}

const surg_pass surg__pass_sequence = {
    SURG_PASS_HEAD(MODEL, "sequence", "read sequence elements from where they were inserted"),
    .needs = SURG_FACT_SORTED | SURG_FACT_TYPES,
    .keeps = SURG_FACT_SORTED,
    .exactness = SURG_EXACT,
    .run = run,
};
