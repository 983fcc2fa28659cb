/* SPDX-License-Identifier: Apache-2.0 */
/* Gives every node a unique name in the model, made of the operator and the position. Nodes whose
 * name is unique keep it, unless `all` is given.
 *
 *   before: { a = Abs (x)   [r] b = Relu (a)   [r] y = Relu (b) }
 *   after:  { [Abs_0] a = Abs (x)   [r] b = Relu (a)   [Relu_2] y = Relu (b) }
 *
 * Needs nothing. Keeps sorted, types. Exact. */
#include <assert.h>
#include <onnxsurg/onnxsurg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../util/stem.h"

#define MAX_STEM 64 /* bytes */

typedef struct named {
  surg_node *node;
  const char *name;
  size_t place; /* index over all graphs, outer before inner */
} named;

typedef struct table {
  surg_pass_ctx *p;
  named *by_name; /* sorted by name, then place; the first of equal names keeps it */
  size_t count;
  bool changed;
} table;

static int by_name_place(const void *a, const void *b) {
  const named *x = a, *y = b;
  int c = strcmp(x->name, y->name);
  return c ? c : x->place < y->place ? -1 : x->place > y->place;
}

static int by_place(const void *a, const void *b) {
  const named *x = a, *y = b;
  return x->place < y->place ? -1 : x->place > y->place;
}

static bool taken(const table *t, const char *name) {
  size_t lo = 0, hi = t->count;
  while (lo < hi) {
    size_t mid = lo + (hi - lo) / 2;
    int c = strcmp(t->by_name[mid].name, name);
    if (c == 0) return true;
    if (c < 0)
      lo = mid + 1;
    else
      hi = mid;
  }
  return false;
}

/* Names the node by operator and place; false: out of memory, or the limit of rewrites is
 * reached. */
static bool christen(table *t, surg_node *n, size_t place) {
  char stem[MAX_STEM + 32];
  if (surg_pass_keeps_node(t->p, n)) return true;
  const char *op = surg_node_op_type(n);
  snprintf(stem, sizeof stem, "%.*s_%zu", stem_bytes(op, MAX_STEM), op, place);
  const char *name = taken(t, stem) ? surg_graph_fresh_name(surg_node_graph(n), stem) : stem;
  if (!name || strcmp(surg_node_name(n), name) == 0) return name != NULL;
  if (!surg_pass_allow(t->p) || surg_node_set_name(n, name)) return false;
  surg_pass_count(t->p, "names given", 1);
  t->changed = true;
  return true;
}

static size_t count_nodes(const surg_model *m) {
  size_t n = 0;
  for (surg_graph *g = surg_model_next_graph(m, NULL); g; g = surg_model_next_graph(m, g))
    n += surg_graph_node_count(g);
  return n;
}

/* A copy of the name, because renaming frees the node's own. NULL: out of memory. */
static const char *copy_name(surg_pass_ctx *p, const surg_node *n) {
  size_t size = strlen(surg_node_name(n)) + 1;
  if (size == 1) return "";
  char *copy = surg_pass_alloc(p, size);
  return copy ? memcpy(copy, surg_node_name(n), size) : NULL;
}

/* Fills `list` with all nodes; false: out of memory. */
static bool collect(surg_pass_ctx *p, const surg_model *m, named *list) {
  size_t place = 0;
  for (surg_graph *g = surg_model_next_graph(m, NULL); g; g = surg_model_next_graph(m, g))
    for (surg_node *n = surg_graph_first_node(g); n; n = surg_node_next(n), place++) {
      list[place] = (named){n, copy_name(p, n), place};
      if (!list[place].name) return false;
    }
  return true;
}

/* Moves the nodes that need a name to `out`, ordered by place; the others stay in the table.
 * Returns the number moved. */
static size_t split(table *t, bool all, named *out) {
  size_t n_out = 0, kept = 0;
  for (size_t i = 0; i < t->count; i++) {
    const named *x = &t->by_name[i];
    assert(kept <= i && n_out + kept == i); /* no entry is overwritten before it is read */
    bool own = *x->name && (kept == 0 || strcmp(t->by_name[kept - 1].name, x->name) != 0);
    if (own && (!all || surg_pass_keeps_node(t->p, x->node)))
      t->by_name[kept++] = *x;
    else
      out[n_out++] = *x;
  }
  assert(n_out + kept == t->count);
  t->count = kept;
  if (n_out) qsort(out, n_out, sizeof *out, by_place);
  return n_out;
}

static surg_pass_result run(surg_pass_ctx *p, surg_graph *unused) {
  (void)unused;
  surg_model *m = surg_pass_model(p);
  size_t n = count_nodes(m), n_out;
  if (n == 0) return SURG_PASS_UNCHANGED;
  if (n > SIZE_MAX / sizeof(named)) return surg_pass_fail(p, NULL, "too many nodes");
  table t = {.p = p, .by_name = surg_pass_alloc(p, n * sizeof(named)), .count = n};
  named *list = surg_pass_alloc(p, n * sizeof(named));
  if (!t.by_name || !list || !collect(p, m, t.by_name)) return SURG_PASS_FAILED;
  qsort(t.by_name, n, sizeof(named), by_name_place);
  n_out = split(&t, surg_pass_bool(p, "all"), list);
  assert(n_out + t.count == n);
  for (size_t i = 0; i < n_out; i++)
    if (!christen(&t, list[i].node, list[i].place)) break;
  return t.changed ? SURG_PASS_CHANGED : SURG_PASS_UNCHANGED;
}

static const surg_option options[] = {
    SURG_OPTION(BOOL, "all", "false", "also rename nodes whose name is unique"),
};

const surg_pass surg__pass_names = {
    SURG_PASS_HEAD(MODEL, "names", "give every node a unique name"),
    SURG_PASS_OPTIONS(options),
    .keeps = SURG_FACT_SORTED | SURG_FACT_TYPES,
    .exactness = SURG_EXACT,
    .run = run,
};
