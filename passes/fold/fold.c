/* SPDX-License-Identifier: Apache-2.0 */
/* Computes what is known before the model runs. A node whose inputs are all constant becomes
 * constants. So does a node of a shape computation whose result is proven although its inputs are
 * not constant (Shape of a fixed dimension, or a Gather from it). An If whose condition is known,
 * or one of whose branches always fails (fold_doomed.c), becomes the branch that runs. A computed
 * target of Reshape becomes a constant with at most one -1 (fold_shapes.c). Constants that lose
 * their last consumer are removed.
 *
 *   before: (float[2] x) => (y) <float[1] c = {3}> { d = Neg (c)   y = Mul (x, d) }
 *   after:  (float[2] x) => (y) <float[1] d = {-3}> { y = Mul (x, d) }
 *
 * Each node is judged locally: its result may be at most max-growth bytes larger in the file than
 * what is removed with the node. The default is 0, so files do not grow (fold_growth.c). A chain of
 * nodes that fold into each other is judged at its end (fold_chain.c); a node whose inputs come
 * from nodes that were too large alone is judged together with them (fold_cone.c). Where types
 * give the sizes, they are checked before anything is computed. The limits on the whole run protect
 * against malicious files; nodes that exceed them are counted. Never folded: random operators,
 * custom operators that no plugin computes, DequantizeLinear (the quantized form is smaller) unless
 * requested, nodes that the user protects, and nodes whose result would make a node of a branch or
 * body that may not run
 * fail (surg_model_shelter): engines reject such a model at load time.
 *
 * Needs sorted, types. Keeps sorted. Exact where elements move or IEEE 754 leaves no choice; else
 * ulp: engines round sums and transcendental functions in their own ways. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../util/values.h"
#include "fold.h"

/* --- bookkeeping --- */

bool fold_push(fold_state *f, fold_dead *list, surg_value *v) {
  if (list->count == list->capacity) {
    size_t capacity = list->capacity ? 2 * list->capacity : 64;
    surg_value **items = surg_pass_alloc(f->pass, capacity * sizeof *items);
    if (!items) return !(f->failed = true);
    if (list->count) memcpy(items, list->items, list->count * sizeof *items);
    list->items = items;
    list->capacity = capacity;
  }
  assert(list->count < list->capacity);
  list->items[list->count++] = v;
  return true;
}

bool fold_leave(fold_state *f, const surg_node *n, const char *why) {
  assert(why && f->n_reasons <= FOLD_REASONS);
  for (size_t i = 0; i < f->n_reasons; i++) {
    if (strcmp(f->reasons[i].why, why) != 0) continue;
    f->reasons[i].nodes++;
    return false;
  }
  if (f->n_reasons == FOLD_REASONS) return false;
  f->reasons[f->n_reasons++] = (fold_reason){why, 1};
  /* Note only the first node of a reason: locating a node costs time linear in the nodes before
   * it. */
  char text[160];
  snprintf(text, sizeof text, "not folded: %s", why);
  surg_pass_note(f->pass, n, text);
  return false;
}

/* Such a node may fold later, after other consumers of its inputs are removed. */
bool fold_leave_large(fold_state *f, surg_node *n) {
  assert(n);
  if (f->large++ == 0) f->first_large = n;
  fold_mark_left(f, n);
  return false;
}

bool fold_allow(fold_state *f) {
  if (!f->done && !surg_pass_allow(f->pass)) f->done = true;
  return !f->done;
}

void fold_count(fold_state *f, const char *name, uint64_t grown) {
  size_t i = 0;
  assert(f->n_ops <= FOLD_OPS);
  while (i < f->n_ops && strcmp(f->ops[i].name, name) != 0) i++;
  if (i == FOLD_OPS) return;
  if (i == f->n_ops) f->ops[f->n_ops++] = (fold_op){.name = name};
  f->ops[i].nodes++;
  f->ops[i].grown += grown;
}

/* Whether a word of `keep` is the name of the node, its operator, or one of its outputs. */
static bool is_named(const surg_node *n, const char *word) {
  if (strcmp(word, surg_node_op_type(n)) == 0 || strcmp(word, surg_node_name(n)) == 0) return true;
  for (size_t o = 0; o < surg_node_output_count(n); o++) {
    const surg_value *v = surg_node_output(n, o);
    if (v && strcmp(word, surg_value_name(v)) == 0) return true;
  }
  return false;
}

bool fold_keeps(const fold_state *f, const surg_node *n) {
  if (surg_pass_keeps_node(f->pass, n)) return true;
  size_t count = surg_pass_list_count(f->pass, "keep");
  for (size_t i = 0; i < count; i++)
    if (is_named(n, surg_pass_list_at(f->pass, "keep", i))) return true;
  return false;
}

/* Reports words of `keep` that match no node. */
static void find_kept(surg_pass_ctx *p) {
  const surg_model *m = surg_pass_model(p);
  for (size_t i = 0; i < surg_pass_list_count(p, "keep"); i++) {
    const char *word = surg_pass_list_at(p, "keep", i);
    char what[300];
    bool found = false;
    for (surg_graph *g = surg_model_next_graph(m, NULL); g && !found;
         g = surg_model_next_graph(m, g))
      for (surg_node *n = surg_graph_first_node(g); n && !found; n = surg_node_next(n))
        found = is_named(n, word);
    snprintf(what, sizeof what, "node, operator or output '%.200s' to keep", word);
    surg_pass_named(p, what, found);
  }
}

const char *fold_pinned(const surg_node *n) {
  for (size_t i = 0; i < surg_node_output_count(n); i++) {
    const surg_value *v = surg_node_output(n, i);
    if (!v) continue;
    if (surg_value_is_pinned(v)) return "training refers to it by name";
    for (const surg_use *u = surg_value_first_use(v); u; u = surg_use_next(u)) {
      if (surg_use_get_kind(u) == SURG_USE_SOFT)
        return "an annotation or a sharding refers to it by name";
    }
  }
  return NULL;
}

static bool has_reader(const surg_node *n) {
  for (size_t i = 0; i < surg_node_output_count(n); i++) {
    const surg_value *v = surg_node_output(n, i);
    if (v && surg_value_use_count(v, 1) > 0) return true;
  }
  return false;
}

/* --- constants removed with a node --- */

bool fold_erasable(const fold_state *f, const surg_value *v) {
  const surg_node *producer = surg_value_producer(v, NULL);
  if (surg_value_is_pinned(v) || surg_pass_keeps_value(f->pass, v)) return false;
  return !producer || !fold_keeps(f, producer);
}

bool fold_remember_inputs(fold_state *f, const surg_node *n) {
  f->dead.count = 0;
  for (size_t i = 0; i < surg_node_input_count(n); i++) {
    surg_value *v = surg_node_input(n, i);
    if (v && surg_value_constant(v) && !fold_push(f, &f->dead, v)) return false;
  }
  return true;
}

void fold_bury(fold_state *f) {
  for (size_t i = 0; i < f->dead.count; i++) {
    surg_value *v = f->dead.items[i];
    if (surg_value_erased(v) || surg_value_first_use(v) || !fold_erasable(f, v)) continue;
    surg_node *producer = surg_value_producer(v, NULL);
    if (producer)
      surg_node_erase(producer);
    else if (surg_value_is_input(v))
      fold_push(f, &f->inputs, v);
    else
      surg_value_erase_initializer(v);
  }
  f->dead.count = 0;
}

static int by_address(const void *a, const void *b) {
  uintptr_t x = (uintptr_t) * (surg_value *const *)a, y = (uintptr_t) * (surg_value *const *)b;
  return x < y ? -1 : x > y;
}

/* Before IR version 4 an initializer is listed as an input too; both entries are removed. */
static void bury_inputs(fold_state *f) {
  if (f->inputs.count == 0 || f->failed) return;
  qsort(f->inputs.items, f->inputs.count, sizeof *f->inputs.items, by_address);
  surg_graph *g = surg_model_graph(f->model);
  for (size_t i = surg_graph_input_count(g); i-- > 0;) {
    surg_value *v = surg_graph_input(g, i);
    if (surg_value_first_use(v) ||
        !bsearch(&v, f->inputs.items, f->inputs.count, sizeof *f->inputs.items, by_address))
      continue;
    if (surg_graph_remove_input(g, i) == SURG_OK) surg_value_erase_initializer(v);
  }
}

/* --- replacing outputs by results --- */

/* Makes output i a constant, if it is used. */
static bool put(fold_state *f, surg_node *n, size_t i, surg_tensor *t) {
  surg_value *v = surg_node_output(n, i);
  if (surg_value_use_count(v, 1) == 0) return true;
  return surg_value_become_constant(v, t) == SURG_OK || !(f->failed = true);
}

bool fold_replace(fold_state *f, surg_node *n, surg_tensor *const *results) {
  if (!fold_remember_inputs(f, n)) return false;
  f->changed = true;
  for (size_t i = 0, count = surg_node_output_count(n); results && i < count; i++) {
    if (results[i] && !put(f, n, i, results[i])) return false;
  }
  if (surg_node_erase(n) != SURG_OK) return !(f->failed = true);
  fold_bury(f);
  return !f->failed;
}

/* --- nodes with constant inputs --- */

bool fold_may_grow(fold_state *f, const surg_node *n, uint64_t bytes) {
  if (bytes > 0 && fold_plus(f->grown, bytes) > f->max_total)
    return fold_leave(f, n, "max-total is spent");
  f->grown = fold_plus(f->grown, bytes);
  assert(bytes == 0 || f->grown <= f->max_total);
  return true;
}

/* Replaces a node by its results if the growth rule allows it. Unused results may be NULL. */
static bool give(fold_state *f, surg_node *n, surg_tensor **results, uint64_t bytes,
                 uint64_t leaving) {
  uint64_t grown = bytes > leaving ? bytes - leaving : 0;
  if (grown > f->max_growth) return fold_leave_large(f, n);
  if (!fold_may_grow(f, n, grown) || !fold_allow(f)) return false;
  const char *name = surg_node_op_type(n);
  fold_used(f, n, results, surg_node_output_count(n));
  if (!fold_replace(f, n, results)) return false;
  fold_count(f, name, grown);
  return true;
}

/* Folds a node with constant inputs, if the growth rule allows it. */
static bool fold_node(fold_state *f, surg_node *n, surg_node **next) {
  uint64_t leaving = fold_leaving(f, n), most = fold_plus(leaving, f->max_growth), bytes = 0, file;
  bool chain = false;
  if (surg_node_result_sizes(n, &bytes, &file)) {
    if (file > most) chain = fold_chain_pays(f, n, file, leaving);
    if (file > most && !chain) return fold_leave_large(f, n);
    if (bytes > f->max_bytes) return fold_leave(f, n, "the result would be over max-bytes");
  }
  surg_tensor **results = fold_compute(f, n, NULL, most > bytes ? most : bytes);
  if (!results) return false;
  if (chain) return fold_chain(f, n, results, leaving, next);
  return give(f, n, results, fold_bytes(n, results, surg_node_output_count(n)), leaving);
}

/* Replaces an Identity of a constant by the constant, without a second tensor. */
static bool fold_identity(fold_state *f, surg_node *n) {
  surg_value *in = surg_node_input(n, 0), *out = surg_node_output(n, 0);
  surg_replace how = surg_value_can_replace(out, in);
  if (how != SURG_REPLACE_YES && how != SURG_REPLACE_BY_LABEL) return false;
  if (how == SURG_REPLACE_BY_LABEL && surg_pass_keeps_value(f->pass, in)) return false;
  uint64_t grown = values_respelling(out, in, how);
  uint64_t leaving = fold_leaving(f, n);
  grown = grown > leaving ? grown - leaving : 0;
  if (grown > f->max_growth) return fold_leave_large(f, n);
  if (!fold_may_grow(f, n, grown) || !fold_allow(f)) return false;
  const char *name = surg_node_op_type(n);
  f->changed = true;
  if (surg_value_replace(out, in) != SURG_OK || surg_node_erase(n) != SURG_OK)
    return !(f->failed = true);
  fold_count(f, name, grown);
  return true;
}

static bool all_constant(const surg_node *n) {
  bool any = false;
  for (size_t i = 0; i < surg_node_input_count(n); i++) {
    const surg_value *v = surg_node_input(n, i);
    if (v && !surg_value_settled(v)) return false;
    any |= v != NULL;
  }
  return any;
}

/* --- the walk --- */

/* Whether the graph can hold the results as constants: a Constant has few types at old opsets. */
static bool takes_results(const surg_node *n) {
  for (size_t i = 0; i < surg_node_output_count(n); i++) {
    const surg_type *t = surg_node_output(n, i) ? surg_value_type(surg_node_output(n, i)) : NULL;
    const int dtype =
        t && surg_type_get_kind(t) == SURG_TYPE_TENSOR ? surg_type_dtype(t) : SURG_UNDEFINED;
    if (dtype && !values_takes_constant(surg_node_graph(n), dtype)) return false;
  }
  return surg_graph_takes_constants(surg_node_graph(n));
}

bool fold_may(fold_state *f, const surg_node *n) {
  if (!has_reader(n) || fold_keeps(f, n)) return false;
  if (surg_node_op(n) == SURG_OP_DequantizeLinear && !f->dequantize)
    return fold_leave(f, n, "it would undo a quantization");
  if (surg_node_nondeterministic(n)) return fold_leave(f, n, "it is random");
  if (!takes_results(n)) return fold_leave(f, n, "no constant can be added to this graph");
  if (surg_node_sheltered(n)) return fold_leave(f, n, "a node that need not run would fail on it");
  const char *why = fold_pinned(n);
  return !why || fold_leave(f, n, why);
}

/* --- values whose elements are known although inputs are not --- */

/* Folds a node of a shape computation if inference knows all elements of its result. */
static bool fold_known(fold_state *f, surg_node *n, surg_node **next) {
  surg_tensor *t = fold_known_elements(f, surg_node_output(n, 0));
  if (!t || f->failed || !fold_may(f, n)) return false;
  if (f->fusable && fold_is_position(f, n))
    return fold_leave(f, n, "runtimes know an embedding by it");
  uint64_t bytes = fold_bytes(n, &t, 1), leaving = fold_leaving(f, n);
  if (bytes > fold_plus(leaving, f->max_growth) && fold_chain_pays(f, n, bytes, leaving))
    return fold_chain(f, n, &t, leaving, next);
  return give(f, n, &t, bytes, leaving);
}

/* Whether a plugin taught how to compute the custom operator; others count as random. */
static bool taught(const surg_node *n) {
  return surg_node_class(n) == SURG_OP_CLASS_CUSTOM && !surg_node_nondeterministic(n) &&
         !surg_node_subgraph(n, 0);
}

/* Folds a node if possible; *next is the node to continue with. */
static void visit(fold_state *f, surg_node *n, surg_node **next) {
  int op = surg_node_op(n);
  if (taught(n)) {
    if (all_constant(n) && fold_may(f, n)) fold_node(f, n, next);
    return;
  }
  if (surg_node_class(n) != SURG_OP_CLASS_BUILTIN || op == SURG_OP_Constant) return;
  if (op == SURG_OP_If) {
    fold_if(f, n, next);
  } else if (surg_node_subgraph(n, 0)) {
    return;
  } else if (all_constant(n)) {
    if (!fold_may(f, n)) return;
    if (op == SURG_OP_Identity)
      fold_identity(f, n);
    else
      fold_node(f, n, next);
  } else if (fold_cone(f, n)) {
    return;
  } else if (surg_node_output_count(n) == 1) {
    fold_known(f, n, next);
  }
}

static void walk(fold_state *f, surg_graph *g) {
  for (surg_node *n = surg_graph_first_node(g), *next; n && !f->failed && !f->done; n = next) {
    next = surg_node_next(n);
    visit(f, n, &next);
  }
}

static bool is_reshape(const surg_node *n) {
  return surg_node_class(n) == SURG_OP_CLASS_BUILTIN && surg_node_op(n) == SURG_OP_Reshape;
}

/* Makes targets of Reshape constant, the last one first: a node that reads another target has no
 * inferred shape until the next pass, nor have the nodes after it. */
static void walk_reshapes(fold_state *f) {
  size_t count = 0;
  for (surg_graph *g = NULL; (g = surg_model_next_graph(f->model, g));)
    for (surg_node *n = surg_graph_first_node(g); n; n = surg_node_next(n)) count += is_reshape(n);
  surg_node **list = count ? surg_pass_alloc(f->pass, count * sizeof *list) : NULL;
  if (!list) {
    f->failed = f->failed || count;
    return;
  }
  size_t k = 0;
  for (surg_graph *g = NULL; (g = surg_model_next_graph(f->model, g));)
    for (surg_node *n = surg_graph_first_node(g); n; n = surg_node_next(n))
      if (is_reshape(n)) list[k++] = n;
  assert(k == count);
  while (k-- > 0 && !f->failed && !f->done)
    if (!surg_node_erased(list[k])) fold_reshape(f, list[k]);
}

/* Walks outer graphs first, so that captured values are constant before subgraphs are walked.
 * The nodes of an inlined branch are walked where they are inserted. */
static void walk_all(fold_state *f) {
  f->large = 0;
  for (size_t i = 0; i < f->n_reasons; i++) f->reasons[i].nodes = 0;
  for (surg_graph *g = surg_model_next_graph(f->model, NULL); g && !f->failed && !f->done;
       g = surg_model_next_graph(f->model, g))
    walk(f, g);
  if (!f->failed && !f->done) walk_reshapes(f);
}

/* Repeats the walk: a node left for its size may fold after a later consumer of its inputs is
 * removed. Repetition only folds more nodes, so the result does not depend on node order. */
static void walk_until_settled(fold_state *f) {
  for (int i = 0; i < FOLD_WALKS; i++) {
    uint64_t before = surg_model_epoch(f->model);
    walk_all(f);
    if (f->large == 0 || f->failed || f->done || surg_model_epoch(f->model) == before) return;
  }
}

static uint64_t limit_option(const surg_pass_ctx *p, const char *name) {
  int64_t v = surg_pass_int(p, name);
  return v < 0 ? 0 : v == INT64_MAX ? UINT64_MAX : (uint64_t)v;
}

static void report(fold_state *f) {
  char text[224];
  assert(f->n_ops <= FOLD_OPS && f->n_reasons <= FOLD_REASONS);
  for (size_t i = 0; i < f->n_ops; i++) {
    const char *name = f->ops[i].name;
    snprintf(text, sizeof text, "folded %s", name);
    surg_pass_count(f->pass, text, f->ops[i].nodes);
    if (f->ops[i].grown == 0) continue;
    snprintf(text, sizeof text, "bytes added by %s", name);
    surg_pass_count(f->pass, text, f->ops[i].grown);
  }
  for (size_t i = 0; i < f->n_reasons; i++) {
    if (f->reasons[i].nodes == 0) continue;
    snprintf(text, sizeof text, "left: %s", f->reasons[i].why);
    surg_pass_count(f->pass, text, f->reasons[i].nodes);
  }
  if (f->large == 0) return;
  surg_pass_count(f->pass, "left: the result would be larger than max-growth allows", f->large);
  if (!surg_node_erased(f->first_large))
    surg_pass_note(f->pass, f->first_large,
                   "not folded: the result would be larger than max-growth allows");
}

static surg_pass_result run(surg_pass_ctx *p, surg_graph *graph) {
  (void)graph;
  fold_state *f = surg_pass_alloc(p, sizeof *f);
  if (!f) return SURG_PASS_FAILED;
  f->pass = p;
  f->model = surg_pass_model(p);
  f->max_growth = limit_option(p, "max-growth");
  f->max_bytes = limit_option(p, "max-bytes");
  f->max_total = limit_option(p, "max-total");
  f->max_work = limit_option(p, "max-work");
  f->dequantize = surg_pass_bool(p, "dequantize");
  f->fusable = surg_pass_bool(p, "fusable");
  find_kept(p);
  for (surg_graph *g = surg_model_next_graph(f->model, NULL); g;
       g = surg_model_next_graph(f->model, g))
    f->max_left += surg_graph_node_count(g);
  surg_pass_used(p, SURG_EXACT); /* fold_used raises it */
  do {
    if (surg_model_shelter(f->model) != SURG_OK) return SURG_PASS_FAILED;
    walk_until_settled(f);
  } while (!f->failed && !f->done && fold_doomed(f) && surg_model_infer(f->model) == SURG_OK);
  bury_inputs(f);
  report(f);
  if (f->failed || surg_model_status(f->model) != SURG_OK) return SURG_PASS_FAILED;
  return f->changed ? SURG_PASS_CHANGED : SURG_PASS_UNCHANGED;
}

static const surg_option options[] = {
    SURG_OPTION(INT, "max-growth", "0", "bytes that one result may add to the file"),
    SURG_OPTION(INT, "max-bytes", "256MiB", "largest result of one node, in bytes"),
    SURG_OPTION(INT, "max-total", "4GiB", "most bytes added in total"),
    SURG_OPTION(INT, "max-work", "1GiB", "most scalar operations of one node"),
    SURG_OPTION(LIST, "keep", NULL, "names or operator types not to fold"),
    SURG_OPTION(BOOL, "dequantize", "false", "also DequantizeLinear of constants"),
    SURG_OPTION(BOOL, "fusable", "false", "keep patterns that runtimes fuse"),
};

const surg_pass surg__pass_fold = {
    SURG_PASS_HEAD(MODEL, "fold", "compute constant nodes, known shapes, constant conditions"),
    SURG_PASS_OPTIONS(options),
    .needs = SURG_FACT_SORTED | SURG_FACT_TYPES,
    .keeps = SURG_FACT_SORTED,
    .exactness = SURG_ROUNDING,
    .run = run,
};
