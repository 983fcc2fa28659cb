/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of tree ensembles and support vector machines: their lengths, and the nodes they refer
 * to. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/dtype.h"
#include "check/forms.h"

static const surg_attr *list(const surg_node *n, const char *name) {
  const surg_attr *a = surg_node_attr(n, name);
  return a && !a->ref &&
                 (a->kind == SURG_ATTR_INTS || a->kind == SURG_ATTR_FLOATS ||
                  a->kind == SURG_ATTR_STRINGS)
             ? a
             : NULL;
}

/* Whether all present lists have as many entries as the first; if not, reports it. */
static bool one_length(surg__checker *c, const surg_node *n, const char *const *names) {
  const surg_attr *first = list(n, names[0]);
  for (size_t i = 1; first && names[i]; i++) {
    const surg_attr *a = list(n, names[i]);
    if (!a || a->count == first->count) continue;
    surg__check_wrong(c, n, "length of attribute \"%s\": %" PRIu32 ", of \"%s\": %" PRIu32,
                      names[i], a->count, names[0], first->count);
    return false;
  }
  return true;
}

static void results(surg__checker *c, const surg_node *n, bool classifier);

/* --- trees --- */

typedef struct place {
  int64_t tree, node;
} place;

static int by_place(const void *x, const void *y) {
  const place *a = x, *b = y;
  if (a->tree != b->tree) return a->tree < b->tree ? -1 : 1;
  return a->node < b->node ? -1 : a->node > b->node;
}

static bool is(surg_str s, const char *word) {
  return strlen(word) == s.n && memcmp(word, s.p, s.n) == 0;
}

static bool mode_known(surg_str s) {
  static const char *const words[] = {"BRANCH_LEQ", "BRANCH_LT",  "BRANCH_GTE",    "BRANCH_GT",
                                      "BRANCH_EQ",  "BRANCH_NEQ", "BRANCH_MEMBER", "LEAF"};
  for (size_t i = 0; i < SURG_COUNT(words); i++)
    if (is(s, words[i])) return true;
  return false;
}

static bool known(const place *all, size_t count, int64_t tree, int64_t node) {
  const place p = {tree, node};
  return bsearch(&p, all, count, sizeof p, by_place) != NULL;
}

/* Checks that no node is defined twice, and that the nodes that branches and results refer to
 * exist. */
static void nodes(surg__checker *c, const surg_node *n, const char *trees_of,
                  const char *nodes_of) {
  const surg_attr *tree = list(n, "nodes_treeids"), *id = list(n, "nodes_nodeids");
  const surg_attr *mode = list(n, "nodes_modes"), *yes = list(n, "nodes_truenodeids");
  const surg_attr *no = list(n, "nodes_falsenodeids");
  const surg_attr *rt = list(n, trees_of), *rn = list(n, nodes_of);
  if (!tree || !id || !mode || mode->kind != SURG_ATTR_STRINGS || tree->kind != SURG_ATTR_INTS ||
      id->kind != SURG_ATTR_INTS)
    return;
  place *all = surg__calloc(c->ctx, (size_t)tree->count + 1, sizeof *all);
  if (!all) return;
  for (uint32_t i = 0; i < tree->count; i++) all[i] = (place){tree->u.ints[i], id->u.ints[i]};
  qsort(all, tree->count, sizeof *all, by_place);
  const char *why = NULL;
  place at = {0, 0};
  for (uint32_t i = 1; i < tree->count && !why; i++)
    if (by_place(&all[i - 1], &all[i]) == 0) why = "is listed twice", at = all[i];
  for (uint32_t i = 0; yes && no && i < tree->count && !why; i++) {
    if (is(mode->u.strings[i], "LEAF")) continue;
    at = (place){tree->u.ints[i], id->u.ints[i]};
    if (yes->u.ints[i] == at.node || no->u.ints[i] == at.node) {
      why = "is a branch of itself";
      break;
    }
    at = (place){tree->u.ints[i], yes->u.ints[i]};
    if (known(all, tree->count, at.tree, at.node)) at.node = no->u.ints[i];
    if (!known(all, tree->count, at.tree, at.node)) why = "is the branch of a node, but not listed";
  }
  for (uint32_t i = 0; rt && rn && i < rt->count && !why; i++) {
    at = (place){rt->u.ints[i], rn->u.ints[i]};
    if (!known(all, tree->count, at.tree, at.node)) why = "has a result, but is not listed";
  }
  surg__free(c->ctx, all);
  if (why)
    surg__check_wrong(c, n, "node %" PRId64 " of tree %" PRId64 " %s", at.node, at.tree, why);
}

/* Whether the lists are present that the schema calls optional and every runtime requires; if not,
 * reports the first that is missing. Numbers may be a tensor instead. */
static bool has_lists(surg__checker *c, const surg_node *n, bool classifier) {
  static const char *const lists[][2] = {{"nodes_treeids", NULL},
                                         {"nodes_nodeids", NULL},
                                         {"nodes_featureids", NULL},
                                         {"nodes_modes", NULL},
                                         {"nodes_values", "nodes_values_as_tensor"},
                                         {"nodes_truenodeids", NULL},
                                         {"nodes_falsenodeids", NULL}};
  static const char *const results_of[2][4][2] = {{{"target_treeids", NULL},
                                                   {"target_nodeids", NULL},
                                                   {"target_ids", NULL},
                                                   {"target_weights", "target_weights_as_tensor"}},
                                                  {{"class_treeids", NULL},
                                                   {"class_nodeids", NULL},
                                                   {"class_ids", NULL},
                                                   {"class_weights", "class_weights_as_tensor"}}};
  static const char *const counts[2][2] = {{"n_targets", NULL},
                                           {"classlabels_int64s", "classlabels_strings"}};
  const size_t all = SURG_COUNT(lists) + 4 + 1;
  for (size_t i = 0; i < all; i++) {
    const char *const *names = i < SURG_COUNT(lists) ? lists[i]
                               : i + 1 < all         ? results_of[classifier][i - SURG_COUNT(lists)]
                                                     : counts[classifier];
    if (surg_node_attr(n, names[0]) || (names[1] && surg_node_attr(n, names[1]))) continue;
    surg__check_wrong(c, n, "attribute \"%s\" is missing", names[0]);
    return false;
  }
  return true;
}

void surg__check_trees(surg__checker *c, const surg_node *n, bool classifier) {
  static const char *const inner[] = {
      "nodes_treeids", "nodes_nodeids",     "nodes_featureids",   "nodes_modes",
      "nodes_values",  "nodes_truenodeids", "nodes_falsenodeids", NULL};
  static const char *const targets[] = {"target_treeids", "target_nodeids", "target_ids",
                                        "target_weights", NULL};
  static const char *const classes[] = {"class_treeids", "class_nodeids", "class_ids",
                                        "class_weights", NULL};
  const surg_attr *mode = list(n, "nodes_modes"), *ids = list(n, "target_ids");
  const int64_t n_targets = surg_node_int(n, "n_targets", -1);
  if (!has_lists(c, n, classifier)) return;
  if (!one_length(c, n, inner) || !one_length(c, n, classifier ? classes : targets)) return;
  for (uint32_t i = 0; mode && mode->kind == SURG_ATTR_STRINGS && i < mode->count; i++)
    if (!mode_known(mode->u.strings[i])) {
      surg__check_bad_value(c, n, "nodes_modes",
                            surg__qn(c->ctx, mode->u.strings[i].p, mode->u.strings[i].n));
      return;
    }
  for (uint32_t i = 0; n_targets > 0 && ids && ids->kind == SURG_ATTR_INTS && i < ids->count; i++)
    if (ids->u.ints[i] < 0 || ids->u.ints[i] >= n_targets) {
      surg__check_wrong(c, n, "target %" PRId64 " is not one of %" PRId64, ids->u.ints[i],
                        n_targets);
      return;
    }
  nodes(c, n, classifier ? "class_treeids" : "target_treeids",
        classifier ? "class_nodeids" : "target_nodeids");
  results(c, n, classifier);
}

/* --- trees of version 5 --- */

/* The entries of a list attribute, or elements of a tensor attribute; -1: absent or unknown. */
static int64_t count_of(const surg_node *n, const char *name) {
  const surg_attr *a = surg_node_attr(n, name);
  if (!a || a->ref) return -1;
  if (a->kind != SURG_ATTR_TENSOR) return list(n, name) ? (int64_t)a->count : -1;
  const uint64_t count = surg_tensor_count(a->u.tensors[0]);
  return count > INT64_MAX ? -1 : (int64_t)count;
}

static bool same_counts(surg__checker *c, const surg_node *n, const char *const *names) {
  const int64_t want = count_of(n, names[0]);
  for (size_t i = 1; want >= 0 && names[i]; i++) {
    const int64_t found = count_of(n, names[i]);
    if (found < 0 || found == want) continue;
    surg__check_wrong(c, n, "length of attribute \"%s\": %" PRId64 ", of \"%s\": %" PRId64,
                      names[i], found, names[0], want);
    return false;
  }
  return true;
}

/* Whether all entries are in [0, end); if not, reports the first that is not. */
static bool in_range(surg__checker *c, const surg_node *n, const char *name, int64_t end) {
  const surg_attr *a = list(n, name);
  for (uint32_t i = 0; a && a->kind == SURG_ATTR_INTS && i < a->count; i++) {
    if (a->u.ints[i] >= 0 && a->u.ints[i] < end) continue;
    if (strcmp(name, "tree_roots") != 0) c->since = (surg__since){22, 26};
    surg__check_wrong(c, n, "attribute \"%s\" has the entry %" PRId64 ", expected 0 to %" PRId64,
                      name, a->u.ints[i], end - 1);
    return false;
  }
  return true;
}

/* Checks that members of sets are of the type of the input. */
static bool members_fit(surg__checker *c, const surg_node *n) {
  const surg_attr *a = surg_node_attr(n, "membership_values");
  const surg_type *x = surg_value_type(surg_node_input(n, 0));
  if (!a || a->ref || a->kind != SURG_ATTR_TENSOR || !x || x->kind != SURG_TYPE_TENSOR) return true;
  if (!x->dtype || (int)surg_tensor_dtype(a->u.tensors[0]) == x->dtype) return true;
  surg__check_wrong(c, n, "attribute \"membership_values\" is of type %s, input 0 of type %s",
                    surg__dtype_name(surg_tensor_dtype(a->u.tensors[0])),
                    surg__dtype_name(x->dtype));
  return false;
}

/* Whether a tensor attribute, if it is present, is a vector of that type (0: any); if not, reports
 * it. */
static bool is_vector(surg__checker *c, const surg_node *n, const char *name, int dtype) {
  const surg_attr *a = surg_node_attr(n, name);
  if (!a || a->ref || a->kind != SURG_ATTR_TENSOR) return true;
  const surg_tensor *t = a->u.tensors[0];
  if (surg_tensor_rank(t) != 1) {
    surg__check_wrong(c, n, "attribute \"%s\" has rank %zu, expected 1", name,
                      (size_t)surg_tensor_rank(t));
    return false;
  }
  if (!dtype || (int)surg_tensor_dtype(t) == dtype) return true;
  surg__check_wrong(c, n, "attribute \"%s\" is of type %s, expected %s", name,
                    surg__dtype_name(surg_tensor_dtype(t)), surg__dtype_name(dtype));
  return false;
}

/* Checks the tensors of an ensemble: thresholds and results are of the type of the input. */
static bool vectors_fit(surg__checker *c, const surg_node *n) {
  const surg_type *x = surg_value_type(surg_node_input(n, 0));
  const int dtype = x && x->kind == SURG_TYPE_TENSOR ? x->dtype : 0;
  return is_vector(c, n, "nodes_splits", dtype) && is_vector(c, n, "leaf_weights", dtype) &&
         is_vector(c, n, "nodes_modes", SURG_UINT8) &&
         is_vector(c, n, "nodes_hitrates", SURG_FLOAT);
}

/* Checks the children on one side: they exist, and are not the node itself. */
static void children(surg__checker *c, const surg_node *n, const char *ids, const char *leaves) {
  const surg_attr *id = list(n, ids), *leaf = list(n, leaves);
  const int64_t outcomes = count_of(n, "leaf_targetids");
  if (!id || !leaf || id->kind != SURG_ATTR_INTS || leaf->kind != SURG_ATTR_INTS) return;
  for (uint32_t i = 0; i < id->count; i++) {
    const int64_t to = id->u.ints[i];
    const bool ends = leaf->u.ints[i] != 0;
    const int64_t count = ends ? outcomes : (int64_t)id->count;
    if (to >= 0 && (to < count || count < 0) && (ends || to != i)) continue;
    if (ends) c->since = (surg__since){0, 1};
    surg__check_wrong(c, n, "attribute \"%s\": the child of node %" PRIu32 " is %s %" PRId64, ids,
                      i, ends ? "leaf" : "node", to);
    return;
  }
}

void surg__check_ensemble(surg__checker *c, const surg_node *n) {
  static const char *const inner[] = {"nodes_splits",
                                      "nodes_featureids",
                                      "nodes_modes",
                                      "nodes_truenodeids",
                                      "nodes_falsenodeids",
                                      "nodes_trueleafs",
                                      "nodes_falseleafs",
                                      "nodes_hitrates",
                                      "nodes_missing_value_tracks_true",
                                      NULL};
  static const char *const outer[] = {"leaf_weights", "leaf_targetids", NULL};
  const int64_t targets = surg_node_int(n, "n_targets", -1);
  if (!vectors_fit(c, n) || !same_counts(c, n, inner) || !same_counts(c, n, outer)) return;
  if (!in_range(c, n, "nodes_featureids", INT32_MAX) ||
      !in_range(c, n, "leaf_targetids", targets > 0 ? targets : INT64_MAX) ||
      !in_range(c, n, "tree_roots", count_of(n, "nodes_splits")))
    return;
  const size_t before = c->count;
  if (!members_fit(c, n)) return;
  children(c, n, "nodes_truenodeids", "nodes_trueleafs");
  if (c->count == before) children(c, n, "nodes_falsenodeids", "nodes_falseleafs");
}

/* Reports an attribute that is given as a list and as a tensor. */
void surg__check_twice_given(surg__checker *c, const surg_node *n) {
  static const char *const pairs[][2] = {{"nodes_values", "nodes_values_as_tensor"},
                                         {"nodes_hitrates", "nodes_hitrates_as_tensor"},
                                         {"target_weights", "target_weights_as_tensor"},
                                         {"class_weights", "class_weights_as_tensor"},
                                         {"base_values", "base_values_as_tensor"}};
  for (size_t i = 0; i < SURG_COUNT(pairs); i++)
    if (surg_node_attr(n, pairs[i][0]) && surg_node_attr(n, pairs[i][1]))
      surg__check_wrong(c, n, "attributes \"%s\" and \"%s\" are both set", pairs[i][0],
                        pairs[i][1]);
}

/* Classes that have no label, and another number of base values than of results; older runtimes
 * do not compare them (lax_values of targets). */
static void results(surg__checker *c, const surg_node *n, bool classifier) {
  const int64_t words = count_of(n, "classlabels_strings");
  const int64_t ints = count_of(n, "classlabels_int64s"), base = count_of(n, "base_values");
  const int64_t most = !classifier    ? surg_node_int(n, "n_targets", -1)
                       : ints > words ? ints
                                      : words;
  const surg_attr *ids = classifier && most > 0 ? list(n, "class_ids") : NULL;
  char text[64];
  for (uint32_t i = 0; ids && ids->kind == SURG_ATTR_INTS && i < ids->count; i++) {
    if (ids->u.ints[i] >= 0 && ids->u.ints[i] < most) continue;
    snprintf(text, sizeof text, "%" PRId64 " in one place", ids->u.ints[i]);
    surg__check_bad_value(c, n, "class_ids", text);
    break;
  }
  const bool binary = classifier && most <= 2;
  const bool few = binary ? base <= 2 : base < most && n->schema->since < 3;
  if (base <= 0 || most <= 0 || base == most || few) return;
  snprintf(text, sizeof text, "a list of %" PRId64 " for %" PRId64 " results", base, most);
  surg__check_bad_value(c, n, "base_values", text);
}

/* --- support vectors --- */

/* Whether a list is present and has no elements. */
static bool is_empty(const surg_attr *a) {
  return a && !a->ref && (a->kind == SURG_ATTR_FLOATS || a->kind == SURG_ATTR_INTS ||
                          a->kind == SURG_ATTR_STRINGS) && !a->count;
}

/* Reports a classifier without labels. Runtimes read the integers if there is no list of strings,
 * not even an empty one. */
static void voted(surg__checker *c, const surg_node *n) {
  const surg_attr *words = surg_node_attr(n, "classlabels_strings");
  const surg_attr *found = words ? words : surg_node_attr(n, "classlabels_ints");
  if (!found || is_empty(found))
    surg__check_wrong(c, n, "expected one of the attributes \"classlabels_*\", found none");
}

/* Classes of a classifier: as many as there are lists of vectors, and a probability for each pair
 * of them. Older runtimes do not compare these (lax_values of targets). */
static void votes(surg__checker *c, const surg_node *n) {
  const surg_attr *a = list(n, "prob_a"), *b = list(n, "prob_b"),
                  *each = list(n, "vectors_per_class");
  const int64_t words = count_of(n, "classlabels_strings"), ints = count_of(n, "classlabels_ints");
  const int64_t labels = ints > words ? ints : words, found = a ? a->count : 0;
  char text[64];
  if (found != (b ? b->count : 0)) {
    surg__check_wrong(c, n, "length of attribute \"prob_a\": %" PRId64 ", of \"prob_b\": %" PRIu32,
                      found, b ? b->count : 0);
    return;
  }
  if (!each || !each->count || labels <= 0) return;
  const char *wrong = labels != each->count ? "vectors_per_class" : NULL;
  if (!wrong && found && found < labels * (labels - 1) / 2) wrong = "prob_a";
  if (!wrong) return;
  snprintf(text, sizeof text, "a list of %" PRId64 " for %" PRId64 " class%s", count_of(n, wrong),
           labels, labels == 1 ? "" : "es");
  surg__check_bad_value(c, n, wrong, text);
}

void surg__check_svm(surg__checker *c, const surg_node *n) {
  static const char *const kernels[] = {"LINEAR", "POLY", "RBF", "SIGMOID"};
  const surg_attr *kernel = surg_node_attr(n, "kernel_type"), *params = list(n, "kernel_params");
  const surg_attr *vectors = list(n, "support_vectors"), *factors = list(n, "coefficients");
  const int64_t count = surg_node_int(n, "n_supports", 0);
  if (kernel && !kernel->ref && kernel->kind == SURG_ATTR_STRING) {
    bool found = false;
    for (size_t i = 0; i < SURG_COUNT(kernels); i++) found |= is(kernel->u.s, kernels[i]);
    if (!found)
      surg__check_bad_value(c, n, "kernel_type", surg__qn(c->ctx, kernel->u.s.p, kernel->u.s.n));
  }
  if (params && params->count && params->count < 3)
    surg__check_wrong(c, n, "length of attribute \"kernel_params\": %" PRIu32 ", expected 3",
                      params->count);
  if (params && params->count > 3)
    surg__check_bad_value(c, n, "kernel_params", "a list of more than 3");
  const surg_attr *rho = surg_node_attr(n, "rho");
  if (!rho) surg__check_wrong(c, n, "attribute \"rho\" (the constant term) is missing");
  if (is_empty(rho)) surg__check_bad_value(c, n, "rho", "an empty list");
  if (is_empty(surg_node_attr(n, "coefficients")))
    surg__check_wrong(c, n, "attribute \"coefficients\" is an empty list");
  if (n->schema->op == SURG_OP_ml_SVMClassifier) votes(c, n);
  if (n->schema->op == SURG_OP_ml_SVMClassifier) voted(c, n);
  if (n->schema->op != SURG_OP_ml_SVMRegressor || count <= 0) return;
  const uint64_t elements = vectors ? vectors->count : 0;
  if (!elements)
    surg__check_bad_value(c, n, "support_vectors", "an empty list");
  else if (elements % (uint64_t)count != 0)
    surg__check_wrong(c, n,
                      "length of attribute \"support_vectors\": %" PRIu64
                      ", expected a multiple of n_supports (%" PRId64 ")",
                      elements, count);
  if (factors && factors->count < (uint64_t)count)
    surg__check_wrong(c, n,
                      "length of attribute \"coefficients\": %" PRIu32
                      ", expected n_supports (%" PRId64 ")",
                      factors->count, count);
}
