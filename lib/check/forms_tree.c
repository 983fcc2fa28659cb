/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of tree ensembles and support vector machines: their lengths, and the nodes they refer
 * to. */
#include <inttypes.h>
#include <stdlib.h>

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
}

/* --- support vectors --- */

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
  if (params && params->count && params->count != 3)
    surg__check_wrong(c, n, "length of attribute \"kernel_params\": %" PRIu32 ", expected 3",
                      params->count);
  const surg_attr *rho = surg_node_attr(n, "rho");
  if (!rho || (!rho->ref && rho->kind == SURG_ATTR_FLOATS && !rho->count))
    surg__check_wrong(c, n, "attribute \"rho\" (the constant term) is missing");
  if (n->schema->op != SURG_OP_ml_SVMRegressor || count <= 0) return;
  const uint64_t elements = vectors ? vectors->count : 0;
  if (!elements || elements % (uint64_t)count != 0)
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
