/* SPDX-License-Identifier: Apache-2.0 */
/* Reads tree ensembles. The older operators identify nodes by tree and node id, TreeEnsemble by
 * index. All comparisons become "at most", "below" or "equal": `x > v` is `x <= v` with the
 * branches swapped, except for NaN, for which a flag per node states the branch. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "rewrite/lower/ml/trees.h"

#define MOST_TREE_NODES (1u << 20)
#define MOST_WEIGHTS (1u << 22) /* nodes times targets */
#define MOST_TREE_DEPTH 64u

/* Modes, numbered as in TreeEnsemble. */
enum { LEQ, LT, GTE, GT, EQ, NEQ, MEMBER, LEAF };

typedef struct name {
  int64_t tree, node;
  uint32_t at;
} name;

static int by_name(const void *a, const void *b) {
  const name *x = a, *y = b;
  if (x->tree != y->tree) return x->tree < y->tree ? -1 : 1;
  return x->node < y->node ? -1 : x->node > y->node;
}

/* The index of a node in the lists, or n. */
static uint32_t find(const name *names, uint32_t n, int64_t tree, int64_t node) {
  const name key = {.tree = tree, .node = node};
  const name *hit = bsearch(&key, names, n, sizeof *names, by_name);
  return hit ? hit->at : n;
}

static int mode_of(surg_str s) {
  static const char *const words[] = {"BRANCH_LEQ", "BRANCH_LT",  "BRANCH_GTE",    "BRANCH_GT",
                                      "BRANCH_EQ",  "BRANCH_NEQ", "BRANCH_MEMBER", "LEAF"};
  for (int i = 0; i <= LEAF; i++)
    if (s.n == strlen(words[i]) && !memcmp(s.p, words[i], s.n)) return i;
  return MEMBER;
}

/* Memory of the match; records the failure. */
static void *array(surg__builder *b, size_t n, size_t size) {
  void *p = surg__arena_array(b->m->arena, n + 1, size);
  if (p)
    memset(p, 0, (n + 1) * size);
  else
    b->status = SURG_ENOMEM;
  return p;
}

static bool new_nodes(surg__builder *b, surg__forest *f, size_t n, size_t targets) {
  uint64_t weights = 0;
  if (surg__b_bad(b, n < 1 || n > MOST_TREE_NODES, "the number of tree nodes is 0 or too large") ||
      surg__b_bad(b, targets < 1 || !surg__mul_u64(n, targets, &weights) || weights > MOST_WEIGHTS,
                  "the number of targets is 0 or too large"))
    return false;
  f->n = (uint32_t)n;
  f->targets = (uint32_t)targets;
  f->nodes = array(b, n, sizeof *f->nodes);
  f->roots = array(b, n, sizeof *f->roots);
  f->weights = array(b, (size_t)weights, sizeof *f->weights);
  f->always = array(b, targets, sizeof *f->always);
  f->ever = array(b, targets, sizeof *f->ever);
  return !b->status;
}

/* --- comparisons --- */

/* Converts a branch to one of the three comparisons; *strict: it is "below". */
static void simplify(surg__tree_node *n, int mode, bool missing_yes, bool *strict) {
  const bool swap = mode == GTE || mode == GT || mode == NEQ;
  const bool nan_yes = missing_yes || mode == NEQ;
  n->equal = mode == EQ || mode == NEQ;
  n->nan_yes = swap ? !nan_yes : nan_yes;
  *strict = mode == LT || mode == GTE;
  if (!swap) return;
  const uint32_t yes = n->yes;
  n->yes = n->no;
  n->no = yes;
}

/* The largest number below v, of the type. */
static double before(double v, int dtype) {
  return dtype == SURG_DOUBLE ? nextafter(v, -INFINITY) : (double)nextafterf((float)v, -INFINITY);
}

static double after(double v, int dtype) {
  return dtype == SURG_DOUBLE ? nextafter(v, INFINITY) : (double)nextafterf((float)v, INFINITY);
}

/* Makes all branches compare alike. `x < v` is `x <= before(v)`, and `x <= v` is `x < after(v)`,
 * which also serves opsets without LessOrEqual. */
static bool unify(surg__builder *b, surg__forest *f, const bool *strict, int dtype) {
  bool any[2] = {false, false};
  for (uint32_t i = 0; i < f->n; i++) {
    const surg__tree_node *n = &f->nodes[i];
    if (n->leaf) continue;
    if (surg__b_bad(b, !isfinite(n->value), "a value of a tree is not finite") ||
        surg__b_bad(b, dtype == SURG_FLOAT && (double)(float)n->value != n->value,
                    "a value of a tree is not a float, but the input is"))
      return false;
    any[strict[i]] |= !n->equal;
    f->any_equal |= n->equal;
    f->any_nan |= n->nan_yes;
  }
  f->strict = !any[0] || b->m->opset < 12;
  for (uint32_t i = 0; i < f->n; i++) {
    surg__tree_node *n = &f->nodes[i];
    if (n->leaf || n->equal || strict[i] == f->strict) continue;
    n->value = f->strict ? after(n->value, dtype) : before(n->value, dtype);
    if (surg__b_bad(b, !isfinite(n->value), "a value of a tree is not finite")) return false;
  }
  return !surg__b_bad(b, f->any_equal && b->m->opset < 11,
                      "comparing numbers for equality requires opset 11");
}

/* --- structure --- */

/* Visits all trees, without recursion: sets parents and places, and checks that each node is
 * reached once. */
static bool walk(surg__builder *b, surg__forest *f) {
  uint32_t *stack = array(b, f->n, sizeof *stack), *depth = array(b, f->n, sizeof *depth);
  bool *seen = array(b, f->n, sizeof *seen);
  if (!stack || !depth || !seen) return false;
  for (uint32_t r = 0; r < f->n_roots; r++) {
    uint32_t top = 0;
    stack[top++] = f->roots[r];
    f->nodes[f->roots[r]].parent = UINT32_MAX;
    while (top) {
      const uint32_t at = stack[--top];
      surg__tree_node *n = &f->nodes[at];
      if (surg__b_bad(b, seen[at], "a node of a tree is reached twice") ||
          surg__b_bad(b, depth[at] > MOST_TREE_DEPTH, "a tree is too deep"))
        return false;
      seen[at] = true;
      n->place = n->leaf ? f->n_leaves++ : f->n_branches++;
      if (depth[at] > f->depth) f->depth = depth[at];
      if (n->leaf) continue;
      const uint32_t next[2] = {n->no, n->yes};
      for (int k = 0; k < 2; k++) {
        f->nodes[next[k]].parent = at;
        depth[next[k]] = depth[at] + 1;
        if (surg__b_bad(b, top == f->n, "a node of a tree is reached twice")) return false;
        stack[top++] = next[k];
      }
    }
  }
  return true;
}

/* Sets `always`: whether, in some tree, all leaves add to the target. `given` states which of the
 * weights were in the model. Leaves of a tree have consecutive places. */
static bool coverage(surg__builder *b, surg__forest *f, const bool *given) {
  uint32_t *tree = array(b, f->n, sizeof *tree);
  bool *all = array(b, (size_t)f->n_roots * f->targets, sizeof *all);
  if (!tree || !all) return false;
  memset(all, true, (size_t)f->n_roots * f->targets);
  for (uint32_t r = 0; r < f->n_roots; r++) tree[f->roots[r]] = r + 1;
  for (uint32_t i = 0; i < f->n; i++) {
    if (!f->nodes[i].leaf) continue;
    uint32_t top = i;
    while (!tree[top] && f->nodes[top].parent != UINT32_MAX) top = f->nodes[top].parent;
    if (!tree[top]) continue; /* no root leads here */
    for (uint32_t t = 0; t < f->targets; t++)
      all[(size_t)(tree[top] - 1) * f->targets + t] &= given[(size_t)i * f->targets + t];
  }
  for (uint32_t r = 0; r < f->n_roots; r++)
    for (uint32_t t = 0; t < f->targets; t++) f->always[t] |= all[(size_t)r * f->targets + t];
  return true;
}

static bool give_weight(surg__builder *b, surg__forest *f, bool *given, uint32_t leaf,
                        int64_t target, double w, int64_t first) {
  if (surg__b_bad(b, target < 0 || target >= (int64_t)f->targets, "a weight has no target") ||
      surg__b_bad(b, !f->nodes[leaf].leaf, "a weight belongs to a branch") ||
      surg__b_bad(b, !isfinite(w), "a weight of a tree is not finite"))
    return false;
  const size_t at = (size_t)leaf * f->targets + (size_t)target;
  f->weights[at] += w;
  given[at] = f->ever[target] = true;
  f->negative |= w < 0;
  f->single &= target == first;
  return true;
}

/* --- nodes identified by tree and node id --- */

static bool lists(const surg__builder *b, const char *const *attrs, size_t count, size_t n,
                  const int64_t **out) {
  for (size_t i = 0; i < count; i++) {
    size_t have;
    out[i] = surg__lower_ints(b, attrs[i], &have);
    if (surg__b_bad(b, have != n, "lists of the ensemble differ in length")) return false;
  }
  return true;
}

static bool named_weights(surg__builder *b, surg__forest *f, bool classifier, const name *names,
                          bool *given) {
  static const char *const all[2][3] = {{"target_treeids", "target_nodeids", "target_ids"},
                                        {"class_treeids", "class_nodeids", "class_ids"}};
  size_t n;
  const int64_t *is[3];
  const double *w = surg__lower_doubles(b, classifier ? "class_weights" : "target_weights", &n);
  if (surg__b_bad(b, !w, "the weights are missing") || !lists(b, all[classifier], 3, n, is))
    return false;
  f->single = n > 0;
  for (size_t i = 0; i < n; i++) {
    const uint32_t at = find(names, f->n, is[0][i], is[1][i]);
    if (surg__b_bad(b, at == f->n, "a weight belongs to no node") ||
        !give_weight(b, f, given, at, is[2][i], w[i], is[2][0]))
      return false;
  }
  return true;
}

/* Names, modes and features; the roots are the nodes that are no child. */
static bool named_nodes(surg__builder *b, surg__forest *f, name *names, bool *strict) {
  static const char *const all[] = {"nodes_treeids", "nodes_nodeids", "nodes_truenodeids",
                                    "nodes_falsenodeids", "nodes_featureids"};
  size_t n_modes, n_values, n_missing;
  const int64_t *is[5];
  const surg_attr *a = surg_node_attr(surg__b_matched(b), "nodes_modes");
  const surg_str *modes = a ? surg_attr_strings(a, &n_modes) : NULL;
  const double *values = surg__lower_doubles(b, "nodes_values", &n_values);
  const int64_t *missing = surg__lower_ints(b, "nodes_missing_value_tracks_true", &n_missing);
  if (surg__b_bad(b,
                  !modes || n_modes != f->n || !values || n_values != f->n ||
                      (n_missing && n_missing != f->n),
                  "lists of the ensemble differ in length") ||
      !lists(b, all, 5, f->n, is))
    return false;
  for (uint32_t i = 0; i < f->n; i++) names[i] = (name){is[0][i], is[1][i], i};
  qsort(names, f->n, sizeof *names, by_name);
  for (uint32_t i = 1; i < f->n; i++)
    if (surg__b_bad(b, !by_name(&names[i - 1], &names[i]), "a node of a tree is defined twice"))
      return false;
  bool *child = array(b, f->n, sizeof *child);
  for (uint32_t i = 0; child && i < f->n; i++) {
    surg__tree_node *n = &f->nodes[i];
    const int mode = mode_of(modes[i]);
    n->leaf = mode == LEAF;
    if (n->leaf) continue;
    *n = (surg__tree_node){.feature = is[4][i], .value = values[i]};
    n->yes = find(names, f->n, is[0][i], is[2][i]);
    n->no = find(names, f->n, is[0][i], is[3][i]);
    if (surg__b_bad(b, mode == MEMBER || n->yes == f->n || n->no == f->n,
                    "a branch leads nowhere, or has an unknown mode"))
      return false;
    child[n->yes] = child[n->no] = true;
    simplify(n, mode, n_missing && missing[i], &strict[i]);
  }
  for (uint32_t i = 0; child && i < f->n; i++)
    if (!child[i]) f->roots[f->n_roots++] = i;
  return child != NULL;
}

static bool read_named(surg__builder *b, size_t classes, surg__forest *f, bool **strict,
                       bool **given) {
  size_t n;
  surg__lower_ints(b, "nodes_treeids", &n);
  const int64_t targets =
      classes ? (int64_t)classes : surg_node_int(surg__b_matched(b), "n_targets", 1);
  if (!new_nodes(b, f, n, targets > 0 ? (size_t)targets : 0)) return false;
  name *names = array(b, n, sizeof *names);
  *strict = array(b, n, sizeof **strict);
  *given = array(b, n * f->targets, sizeof **given);
  return !b->status && named_nodes(b, f, names, *strict) &&
         named_weights(b, f, classes > 0, names, *given);
}

/* --- nodes identified by index: the branches, then the leaves --- */

static bool indexed_nodes(surg__builder *b, surg__forest *f, size_t n, bool *strict) {
  static const char *const all[] = {"nodes_truenodeids", "nodes_falsenodeids", "nodes_featureids",
                                    "nodes_trueleafs", "nodes_falseleafs"};
  size_t n_values, n_missing;
  const int64_t *is[5];
  const surg_attr *a = surg_node_attr(surg__b_matched(b), "nodes_modes");
  const surg_tensor *t = a ? surg_attr_tensor(a, 0) : NULL;
  uint8_t *modes = array(b, n, 1);
  const double *values = surg__lower_doubles(b, "nodes_splits", &n_values);
  const int64_t *missing = surg__lower_ints(b, "nodes_missing_value_tracks_true", &n_missing);
  if (b->status ||
      surg__b_bad(b,
                  !t || surg_tensor_dtype(t) != SURG_UINT8 || surg_tensor_count(t) != n ||
                      surg_tensor_read(t, 0, modes, n) != SURG_OK || !values || n_values != n ||
                      (n_missing && n_missing != n),
                  "lists of the ensemble differ in length") ||
      !lists(b, all, 5, n, is))
    return false;
  for (size_t i = 0; i < n; i++) {
    const int64_t most[2] = {(int64_t)(is[3][i] ? f->n - n : n),
                             (int64_t)(is[4][i] ? f->n - n : n)};
    if (surg__b_bad(b,
                    modes[i] >= MEMBER || is[0][i] < 0 || is[0][i] >= most[0] || is[1][i] < 0 ||
                        is[1][i] >= most[1],
                    "a branch leads nowhere, or tests membership"))
      return false;
    surg__tree_node *x = &f->nodes[i];
    *x = (surg__tree_node){.feature = is[2][i], .value = values[i]};
    x->yes = (uint32_t)is[0][i] + (uint32_t)(is[3][i] ? n : 0);
    x->no = (uint32_t)is[1][i] + (uint32_t)(is[4][i] ? n : 0);
    simplify(x, modes[i], n_missing && missing[i], &strict[i]);
  }
  return true;
}

static bool read_indexed(surg__builder *b, surg__forest *f, bool **strict, bool **given) {
  size_t n, n_leaves, n_weights, n_roots;
  uint64_t all = 0;
  surg__lower_ints(b, "nodes_featureids", &n);
  const int64_t *targets = surg__lower_ints(b, "leaf_targetids", &n_leaves);
  const double *w = surg__lower_doubles(b, "leaf_weights", &n_weights);
  const int64_t *roots = surg__lower_ints(b, "tree_roots", &n_roots);
  const int64_t count = surg_node_int(surg__b_matched(b), "n_targets", 1);
  if (surg__b_bad(b,
                  !n || n_weights != n_leaves || !surg__add_u64(n, n_leaves, &all) || n_roots > all,
                  "lists of the ensemble differ in length") ||
      !new_nodes(b, f, (size_t)all, count > 0 ? (size_t)count : 0))
    return false;
  *strict = array(b, f->n, sizeof **strict);
  *given = array(b, (size_t)f->n * f->targets, sizeof **given);
  if (b->status || !indexed_nodes(b, f, n, *strict)) return false;
  for (size_t i = 0; i < n_leaves; i++) {
    f->nodes[n + i].leaf = true;
    if (!give_weight(b, f, *given, (uint32_t)(n + i), targets[i], w[i], targets[0])) return false;
  }
  for (size_t i = 0; i < n_roots; i++) {
    if (surg__b_bad(b, roots[i] < 0 || roots[i] >= (int64_t)n, "a root is not a node"))
      return false;
    f->roots[f->n_roots++] = (uint32_t)roots[i];
  }
  return true;
}

bool surg__forest_read(surg__builder *b, size_t classes, int64_t columns, int dtype,
                       surg__forest *f) {
  bool *strict = NULL, *given = NULL;
  size_t named;
  *f = (surg__forest){.single = true};
  surg__lower_ints(b, "nodes_nodeids", &named);
  if (!(named ? read_named(b, classes, f, &strict, &given) : read_indexed(b, f, &strict, &given)))
    return false;
  for (uint32_t i = 0; i < f->n; i++) {
    const surg__tree_node *n = &f->nodes[i];
    if (surg__b_bad(b, !n->leaf && (n->feature < 0 || (columns >= 0 && n->feature >= columns)),
                    "a branch tests a feature that the input does not have"))
      return false;
  }
  return unify(b, f, strict, dtype) && walk(b, f) && coverage(b, f, given);
}
