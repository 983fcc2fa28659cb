/* SPDX-License-Identifier: Apache-2.0 */
/* Which nodes of the main graph stay so that outputs are within a tolerance.
 *
 * A first trial converts a copy of the model and orders nodes by the error that each adds to that
 * of its operands. Bisection finds how many of the worst have to stay; then groups of these, of
 * decreasing size, are converted again where the tolerance permits. A node stays with everything in
 * its subgraphs and in the functions it calls. The error need not fall with each node, so the
 * result is sufficient, and not always the smallest. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "precision.h"

#define TRIALS 64u /* most models that the search converts and runs */
#define UNKNOWN (-1.0)
#define FAILED (-2.0)

typedef struct rank {
  uint32_t unit;
  double added;
} rank;

/* A call of a function, from a node of the main graph or from a function. */
typedef struct call {
  uint32_t from, callee;
} call;

typedef struct search {
  prec *c;
  surg_node **nodes; /* of the main graph, by unit */
  bool *left;        /* by unit: nodes of the main graph, then functions */
  uint32_t n_nodes, n_functions;
  uint32_t *units; /* by slot; PREC_NONE: an interface */
  call *calls;
  size_t n_calls;
  prec_slot *pinned; /* the slots before they are decided */
  rank *ranks;
  size_t n;     /* ranks */
  size_t *keep; /* ranks that stay */
  size_t n_keep;
} search;

/* --- units --- */

typedef struct numbered {
  const void *handle;
  uint32_t unit;
} numbered;

static int by_handle(const void *a, const void *b) {
  const uintptr_t x = (uintptr_t)((const numbered *)a)->handle;
  const uintptr_t y = (uintptr_t)((const numbered *)b)->handle;
  return x < y ? -1 : x > y;
}

static uint32_t number_of(const numbered *all, size_t n, const void *handle) {
  const numbered key = {.handle = handle}, *found = bsearch(&key, all, n, sizeof *all, by_handle);
  return found ? found->unit : PREC_NONE;
}

/* The unit of a node: that around its subgraphs. */
static uint32_t unit_of(const numbered *all, size_t n, const surg_node *node) {
  const surg_graph *g = surg_node_graph(node);
  while (surg_graph_get_kind(g) == SURG_GRAPH_SUBGRAPH) {
    node = surg_graph_parent_node(g);
    g = surg_graph_parent(g);
  }
  return number_of(
      all, n,
      surg_graph_get_kind(g) == SURG_GRAPH_MAIN ? (const void *)node : surg_graph_function(g));
}

/* Numbers the nodes of the main graph and the functions. NULL: out of memory. */
static numbered *number_all(search *x) {
  const surg_graph *g = surg_model_graph(x->c->m);
  surg_pass_ctx *p = x->c->p;
  x->n_nodes = (uint32_t)surg_graph_node_count(g);
  x->n_functions = (uint32_t)surg_model_function_count(x->c->m);
  const size_t n = (size_t)x->n_nodes + x->n_functions;
  numbered *all = surg_pass_alloc(p, (n + 1) * sizeof *all);
  x->nodes = surg_pass_alloc(p, ((size_t)x->n_nodes + 1) * sizeof *x->nodes);
  x->left = surg_pass_alloc(p, n + 1);
  if (!all || !x->nodes || !x->left) return NULL;
  uint32_t i = 0;
  for (surg_node *node = surg_graph_first_node(g); node; node = surg_node_next(node)) {
    all[i] = (numbered){node, i};
    x->nodes[i++] = node;
  }
  for (uint32_t k = 0; k < x->n_functions; k++, i++)
    all[i] = (numbered){surg_model_function(x->c->m, k), i};
  qsort(all, n, sizeof *all, by_handle);
  return all;
}

static bool list_calls(search *x, const numbered *all, size_t n) {
  size_t most = 0;
  for (int round = 0; round < 2; round++) {
    surg_graph *g = NULL;
    while ((g = surg_model_next_graph(x->c->m, g)))
      for (const surg_node *node = surg_graph_first_node(g); node; node = surg_node_next(node)) {
        if (surg_node_class(node) != SURG_OP_CLASS_FUNCTION) continue;
        if (round)
          x->calls[x->n_calls++] =
              (call){unit_of(all, n, node), number_of(all, n, surg_node_function(node))};
        else
          most++;
      }
    if (!round) x->calls = surg_pass_alloc(x->c->p, (most + 1) * sizeof *x->calls);
    if (!x->calls) return false;
  }
  return true;
}

static bool set_up(search *x) {
  prec *c = x->c;
  const numbered *all = number_all(x);
  const size_t n = (size_t)x->n_nodes + x->n_functions;
  x->units = surg_pass_alloc(c->p, ((size_t)c->n_slots + 1) * sizeof *x->units);
  x->pinned = surg_pass_alloc(c->p, ((size_t)c->n_slots + 1) * sizeof *x->pinned);
  x->ranks = surg_pass_alloc(c->p, ((size_t)x->n_nodes + 1) * sizeof *x->ranks);
  x->keep = surg_pass_alloc(c->p, ((size_t)x->n_nodes + 1) * sizeof *x->keep);
  if (!all || !x->units || !x->pinned || !x->ranks || !x->keep) return false;
  for (uint32_t i = 0; i < c->n_slots; i++)
    x->units[i] = c->slots[i].n ? unit_of(all, n, c->slots[i].n) : PREC_NONE;
  memcpy(x->pinned, c->slots, (size_t)c->n_slots * sizeof *x->pinned);
  return list_calls(x, all, n);
}

/* --- what stays --- */

/* Functions that a node that stays calls stay, too. */
static void follow_calls(search *x) {
  bool more = true;
  for (uint32_t k = 0; k < x->n_functions; k++) x->left[x->n_nodes + k] = false;
  while (more) { /* at most once for each function */
    more = false;
    for (size_t i = 0; i < x->n_calls; i++) {
      const call *a = &x->calls[i];
      if (a->from == PREC_NONE || a->callee == PREC_NONE || !x->left[a->from] || x->left[a->callee])
        continue;
      x->left[a->callee] = more = true;
    }
  }
}

/* Pins what the ranks in x->keep name, from the slots before. */
static void pin(search *x) {
  prec *c = x->c;
  memcpy(c->slots, x->pinned, (size_t)c->n_slots * sizeof *x->pinned);
  for (uint32_t i = 0; i < x->n_nodes; i++) x->left[i] = false;
  for (size_t i = 0; i < x->n_keep; i++) x->left[x->ranks[x->keep[i]].unit] = true;
  follow_calls(x);
  for (uint32_t i = 0; i < c->n_slots; i++)
    if (x->units[i] != PREC_NONE && x->left[x->units[i]]) prec_pin(c, i, PREC_ERROR);
  for (uint32_t k = 0; k < x->n_functions; k++) {
    const surg_graph *g = surg_function_graph(surg_model_function(c->m, k));
    const size_t n = surg_graph_input_count(g) + surg_graph_output_count(g);
    for (size_t i = 0; x->left[x->n_nodes + k] && i < n; i++)
      prec_pin(c, c->functions[k][i], PREC_ERROR);
  }
}

/* --- trials --- */

/* Converts a copy of the model as c->slots are decided. NULL: out of memory. */
static surg_model *convert_copy(prec *c) {
  prec t = {.p = c->p,
            .m = surg_model_clone(c->m),
            .target = c->target,
            .kind = c->kind,
            .from = c->from,
            .limits = c->limits,
            .wide = c->wide,
            .io = c->io,
            .aggressive = c->aggressive,
            .saturate = c->saturate,
            .trial = true};
  bool ok = t.m && !surg_model_infer_calls(t.m) && prec_collect(&t);
  /* The copy has the same values and nodes in the same order, and so the same slots. */
  ok = ok && t.n_slots == c->n_slots && t.n_values == c->n_values;
  for (uint32_t i = 0; ok && i < c->n_slots; i++) {
    prec_slot s = c->slots[i];
    s.n = t.slots[i].n;
    t.slots[i] = s;
  }
  if (ok && prec_apply(&t)) return t.m;
  if (t.m && !ok && surg_model_status(t.m) == SURG_OK)
    surg_pass_fail(c->p, NULL, "the tolerance cannot be checked: the copy of the model differs");
  surg_model_free(t.m);
  return NULL;
}

/* The error of outputs if the ranks in x->keep stay. */
static double trial(search *x) {
  prec *c = x->c;
  pin(x);
  if (!prec_cut(c)) return FAILED;
  surg_model *after = convert_copy(c);
  const bool ok = after && prec_compare(c, after);
  surg_model_free(after);
  c->trials++;
  if (!ok) return FAILED;
  return c->incomparable[0] ? UNKNOWN : prec_worst_output(c);
}

/* --- the search --- */

static int by_error(const void *a, const void *b) {
  const rank *x = a, *y = b;
  if (x->added > y->added) return -1;
  if (x->added < y->added) return 1;
  return x->unit < y->unit ? -1 : x->unit > y->unit;
}

static double error_of(const prec *c, const surg_value *v) {
  const prec_value *x = prec_find(c, v);
  return x ? prec_error(&x->error) : 0;
}

/* The error that a node adds to that of its operands, as numbers that are in order. */
static double added_by(const prec *c, const surg_node *n) {
  double before = 0, after = 0;
  for (size_t i = 0; i < surg_node_input_count(n); i++)
    before = fmax(before, error_of(c, surg_node_input(n, i)));
  for (size_t i = 0; i < surg_node_output_count(n); i++)
    after = fmax(after, error_of(c, surg_node_output(n, i)));
  return isinf(before) ? 0 : after - before;
}

/* Orders the nodes that have a part that moves, after a trial. */
static void order(search *x) {
  prec *c = x->c;
  for (uint32_t i = 0; i < x->n_nodes; i++) x->left[i] = false;
  for (uint32_t i = 0; i < c->n_slots; i++)
    if (x->units[i] < x->n_nodes && c->slots[prec_root(c, i)].moves) x->left[x->units[i]] = true;
  for (size_t i = 0; i < x->n_calls; i++)
    if (x->calls[i].from < x->n_nodes) x->left[x->calls[i].from] = true;
  for (uint32_t i = 0; i < x->n_nodes; i++)
    if (x->left[i]) x->ranks[x->n++] = (rank){i, added_by(c, x->nodes[i])};
  qsort(x->ranks, x->n, sizeof *x->ranks, by_error);
}

static bool meets(const search *x, double worst) {
  return worst >= 0 && worst <= x->c->tolerance;
}

/* Sets x->keep to the first `count` ranks. */
static void keep_first(search *x, size_t count) {
  x->n_keep = count;
  for (size_t i = 0; i < count; i++) x->keep[i] = i;
}

/* How many of the worst nodes have to stay. False: out of memory. */
static bool bisect(search *x) {
  size_t low = 0, high = x->n; /* `low` are too few, `high` are enough, or all */
  while (high > low + 1) {
    const size_t middle = low + (high - low) / 2;
    keep_first(x, middle);
    const double worst = trial(x);
    if (worst < UNKNOWN) return false;
    if (meets(x, worst))
      high = middle;
    else
      low = middle;
  }
  keep_first(x, high);
  return true;
}

/* Converts groups of the nodes that stay where that meets the tolerance. False: out of memory. */
static bool refine(search *x) {
  size_t *was = surg_pass_alloc(x->c->p, (x->n_keep + 1) * sizeof *was);
  if (!was) return false;
  for (size_t size = x->n_keep / 2; size > 0; size /= 2)
    for (size_t at = x->n_keep; at >= size && x->c->trials < TRIALS;) {
      at -= size; /* the least errors first */
      const size_t n = x->n_keep;
      memcpy(was, x->keep, n * sizeof *was);
      memmove(x->keep + at, x->keep + at + size, (n - at - size) * sizeof *was);
      x->n_keep = n - size;
      const double worst = trial(x);
      if (worst < UNKNOWN) return false;
      if (meets(x, worst)) continue;
      memcpy(x->keep, was, n * sizeof *was);
      x->n_keep = n;
    }
  return true;
}

static bool fail(prec *c, const char *why) {
  char line[PREC_TEXT];
  snprintf(line, sizeof line, "the tolerance cannot be checked: %s", why);
  surg_pass_fail(c->p, NULL, line);
  return false;
}

bool prec_search(prec *c) {
  search x = {.c = c};
  if (c->undrawn || c->unmeasured[0] || !c->samples)
    return fail(c, c->unmeasured[0] ? c->unmeasured : "no inputs (inputs, draws)");
  if (!set_up(&x)) return false;
  const double worst = trial(&x);
  if (worst < UNKNOWN) return false;
  if (worst < 0) return fail(c, c->incomparable);
  if (!meets(&x, worst)) {
    order(&x);
    if (!bisect(&x) || !refine(&x)) return false;
  }
  c->left = x.n_keep;
  pin(&x);
  return true;
}
