/* SPDX-License-Identifier: Apache-2.0 */
/* Tree ensembles of ai.onnx.ml in standard operators. Small ones compare all features at once and
 * find the leaf of each tree by a product: each leaf counts the branches above it that lead to it,
 * and the leaf with all of them is the one that is reached (the form GEMM of Nakandala et al., "A
 * Tensor Compiler for Unified Machine Learning Prediction Serving", OSDI 2020). Large ones descend
 * step by step, for all trees at once, by Gather. */
#include "rewrite/lower/ml/trees.h"

#define MOST_PATHS (1u << 22) /* branches times leaves, of the product */

typedef struct growing {
  surg__builder *b;
  const surg__forest *f;
  surg__built x; /* [N, features], float or double */
} growing;

/* Tables with one entry per branch (or node), as constants or as gathered values. */
typedef struct tables {
  val value, equal, nan; /* equal, nan: booleans, NULL if no branch needs them */
} tables;

/* Whether the feature v leads to the true branch. */
static val leads(const growing *g, val v, const tables *t) {
  surg__builder *b = g->b;
  val yes = op2(b, g->f->strict ? "Less" : "LessOrEqual", v, t->value);
  if (t->equal) {
    val ordered = op2(b, "And", yes, surg__b_unary(b, "Not", t->equal));
    val same = op2(b, "And", equal(b, v, t->value), t->equal);
    yes = either(b, ordered, same);
  }
  if (t->nan) yes = either(b, yes, op2(b, "And", surg__b_unary(b, "IsNaN", v), t->nan));
  return yes;
}

/* The nodes of the forest, each branch or each leaf at its place. */
static uint32_t *in_places(const growing *g, bool leaves) {
  const surg__forest *f = g->f;
  uint32_t *at = surg__arena_array(g->b->m->arena, (size_t)f->n + 1, sizeof *at);
  bool *root = surg__arena_array(g->b->m->arena, (size_t)f->n + 1, sizeof *root);
  if (!at || !root) g->b->status = SURG_ENOMEM;
  if (g->b->status) return NULL;
  for (uint32_t i = 0; i < f->n; i++) root[i] = false;
  for (uint32_t i = 0; i < f->n_roots; i++) root[f->roots[i]] = true;
  for (uint32_t i = 0; i < f->n; i++) {
    const surg__tree_node *n = &f->nodes[i];
    if (n->leaf == leaves && (n->parent != UINT32_MAX || root[i])) at[n->place] = i;
  }
  return at;
}

typedef enum property { VALUE, FEATURE, EQUAL, NAN_YES, YES, NO } property;

static double entry(const surg__tree_node *n, property c, uint32_t self) {
  switch (c) {
    case VALUE:
      return n->leaf ? 0 : n->value;
    case FEATURE:
      return n->leaf ? 0 : (double)n->feature;
    case EQUAL:
      return !n->leaf && n->equal;
    case NAN_YES:
      return !n->leaf && n->nan_yes;
    case YES:
      return n->leaf ? self : n->yes;
    case NO:
      return n->leaf ? self : n->no;
  }
  return 0;
}

/* A vector with one property of these nodes (`at` NULL: of all). */
static val column_of(const growing *g, const uint32_t *at, uint32_t n, property c, int dtype) {
  const int64_t dims[1] = {n};
  double *v = surg__arena_array(g->b->m->arena, (size_t)n + 1, sizeof *v);
  if (!v) g->b->status = SURG_ENOMEM;
  if (g->b->status) return NULL;
  for (uint32_t i = 0; i < n; i++) {
    const uint32_t node = at ? at[i] : i;
    v[i] = entry(&g->f->nodes[node], c, node);
  }
  return numbers(g->b, dtype, v, dims, 1);
}

static tables tables_of(const growing *g, const uint32_t *at, uint32_t n) {
  surg__builder *b = g->b;
  tables t = {.value = column_of(g, at, n, VALUE, g->x.dtype)};
  if (g->f->any_equal) t.equal = cast(b, column_of(g, at, n, EQUAL, SURG_INT64), SURG_BOOL);
  if (g->f->any_nan) t.nan = cast(b, column_of(g, at, n, NAN_YES, SURG_INT64), SURG_BOOL);
  return t;
}

/* --- all branches at once --- */

/* [branches, leaves]: 1 where the leaf is below the true branch, -1 below the other one; and for
 * each leaf the number of true branches above it, less a half. */
static bool paths_of(const growing *g, const uint32_t *leaves, val *paths, val *counts) {
  const surg__forest *f = g->f;
  const int64_t dims[2] = {f->n_branches, f->n_leaves};
  const size_t cells = (size_t)f->n_branches * f->n_leaves;
  double *p = surg__arena_array(g->b->m->arena, cells + 1, sizeof *p);
  double *n = surg__arena_array(g->b->m->arena, (size_t)f->n_leaves + 1, sizeof *n);
  if (!p || !n) g->b->status = SURG_ENOMEM;
  if (g->b->status) return false;
  for (size_t i = 0; i < cells; i++) p[i] = 0;
  for (uint32_t l = 0; l < f->n_leaves; l++) {
    n[l] = -0.5;
    uint32_t below = leaves[l];
    for (uint32_t at = f->nodes[below].parent; at != UINT32_MAX; at = f->nodes[at].parent) {
      const bool yes = f->nodes[at].yes == below;
      p[(size_t)f->nodes[at].place * f->n_leaves + l] = yes ? 1 : -1;
      n[l] += yes;
      below = at;
    }
  }
  *paths = numbers(g->b, g->x.dtype, p, dims, 2);
  *counts = numbers(g->b, g->x.dtype, n, &dims[1], 1);
  return true;
}

/* The weights of these nodes: [n, targets]. */
static val weights_of(const growing *g, const uint32_t *at, uint32_t n) {
  const surg__forest *f = g->f;
  const int64_t dims[2] = {n, f->targets};
  double *w = surg__arena_array(g->b->m->arena, (size_t)n * f->targets + 1, sizeof *w);
  if (!w) g->b->status = SURG_ENOMEM;
  if (g->b->status) return NULL;
  for (uint32_t i = 0; i < n; i++)
    for (uint32_t t = 0; t < f->targets; t++)
      w[(size_t)i * f->targets + t] = f->weights[(size_t)(at ? at[i] : i) * f->targets + t];
  return numbers(g->b, g->x.dtype, w, dims, 2);
}

static val sum_by_product(const growing *g) {
  surg__builder *b = g->b;
  const surg__forest *f = g->f;
  uint32_t *branches = in_places(g, false), *leaves = in_places(g, true);
  val paths, counts;
  if (!branches || !leaves || !paths_of(g, leaves, &paths, &counts)) return NULL;
  const tables t = tables_of(g, branches, f->n_branches);
  val v = gather(b, g->x.v, column_of(g, branches, f->n_branches, FEATURE, SURG_INT64), 1);
  val yes = cast(b, leads(g, v, &t), g->x.dtype);
  val reached = op2(b, "Greater", op2(b, "MatMul", yes, paths), counts);
  const val chosen = cast(b, reached, g->x.dtype);
  return op2(b, "MatMul", chosen, weights_of(g, leaves, f->n_leaves));
}

/* --- step by step --- */

static val at_nodes(surg__builder *b, val table, val nodes) {
  return table ? gather(b, table, nodes, 0) : NULL;
}

static val sum_by_steps(const growing *g) {
  surg__builder *b = g->b;
  const surg__forest *f = g->f;
  const int64_t dims[2] = {1, f->n_roots};
  int64_t *roots = surg__arena_array(b->m->arena, (size_t)f->n_roots + 1, sizeof *roots);
  if (!roots) b->status = SURG_ENOMEM;
  if (b->status) return NULL;
  for (uint32_t i = 0; i < f->n_roots; i++) roots[i] = f->roots[i];
  const surg__bdim size[2] = {g->x.d[0], surg__bdim_fixed(f->n_roots)};
  surg__built first = {.v = int64s(b, roots, dims, 2), .dtype = SURG_INT64, .rank = 2};
  first.d[0] = surg__bdim_fixed(1);
  first.d[1] = size[1];
  val nodes = surg__built_expand(b, first, size, 2).v;
  const tables t = tables_of(g, NULL, f->n);
  val feature = column_of(g, NULL, f->n, FEATURE, SURG_INT64);
  val yes = column_of(g, NULL, f->n, YES, SURG_INT64),
      no = column_of(g, NULL, f->n, NO, SURG_INT64);
  for (uint32_t step = 0; step < f->depth && !b->status; step++) {
    val v = op2(b, "GatherElements", g->x.v, at_nodes(b, feature, nodes));
    surg__b_set_int(b, v, "axis", 1);
    const tables now = {at_nodes(b, t.value, nodes), at_nodes(b, t.equal, nodes),
                        at_nodes(b, t.nan, nodes)};
    const val leading = leads(g, v, &now), then = at_nodes(b, yes, nodes);
    nodes = where(b, leading, then, at_nodes(b, no, nodes));
  }
  return reduce_sum(b, at_nodes(b, weights_of(g, NULL, f->n), nodes), 1);
}

/* --- the operators --- */

/* Prepares the input: rank 2; integers become float. */
static bool plant(surg__builder *b, growing *g) {
  if (!surg__b_attrs_known(b) || !surg__built_get(b, "x", &g->x) ||
      surg__b_bad(b, g->x.rank != 2, "x: expected rank 2"))
    return false;
  g->b = b;
  return true;
}

static int number_type(int dtype) {
  return dtype == SURG_DOUBLE ? SURG_DOUBLE : SURG_FLOAT;
}

static bool can_sum(surg__builder *b, const surg__forest *f) {
  const uint64_t paths = (uint64_t)f->n_branches * f->n_leaves;
  const bool product = f->n_branches && paths <= MOST_PATHS;
  return !surg__b_bad(b, !product && b->m->opset < 11, "a large ensemble requires opset 11");
}

/* The sum of the weights of the leaves that are reached: [N, targets]. */
static val sum_of(growing *g) {
  const uint64_t paths = (uint64_t)g->f->n_branches * g->f->n_leaves;
  g->x = surg__built_cast(g->b, g->x, number_type(g->x.dtype));
  return g->f->n_branches && paths <= MOST_PATHS ? sum_by_product(g) : sum_by_steps(g);
}

/* Whether all targets with a base value get weights in all leaves of some tree. Runtimes drop the
 * base value of a target without. */
static bool base_known(surg__builder *b, const surg__forest *f, const double *base, size_t n) {
  bool known = true;
  for (size_t i = 0; i < n && i < f->targets; i++) known &= f->always[i] || base[i] == 0;
  return !surg__b_bad(b, !known, "a base value for a target that some leaves do not add to");
}

static val plus_base(growing *g, val y, const double *base, size_t n) {
  const int64_t dims[1] = {(int64_t)n};
  return n ? add(g->b, y, numbers(g->b, g->x.dtype, base, dims, 1)) : y;
}

/* Whether the ensemble adds (1) or averages (2); 0: not lowered. */
static int aggregate_of(const surg__builder *b) {
  const surg_attr *a = surg_node_attr(surg__b_matched(b), "aggregate_function");
  if (!a) return 1;
  if (surg_attr_get_kind(a) == SURG_ATTR_INT) {
    const int64_t i = surg_node_int(surg__b_matched(b), "aggregate_function", 1);
    return i == 1 ? 1 : i == 0 ? 2 : 0;
  }
  const surg_str s = surg_attr_string(a);
  return s.n == 3 && s.p[0] == 'S' ? 1 : s.n == 7 && s.p[0] == 'A' ? 2 : 0;
}

/* y = TreeEnsembleRegressor (x), y = TreeEnsemble (x) */
static surg_status tree_sum(surg__builder *b) {
  growing g;
  surg__forest f;
  size_t n_base, named;
  if (!plant(b, &g) || !surg__forest_read(b, 0, g.x.d[1].n, number_type(g.x.dtype), &f))
    return b->status ? b->status : SURG_EUNSUPPORTED;
  g.f = &f;
  surg__lower_ints(b, "nodes_nodeids", &named);
  const int result = named ? SURG_FLOAT : g.x.dtype, how = aggregate_of(b);
  const double *base = surg__lower_doubles(b, "base_values", &n_base);
  const surg__post post = surg__post_of(b);
  if (b->status || !can_sum(b, &f) ||
      surg__b_bad(b, !how, "the aggregate function is not lowered") ||
      surg__b_bad(b, n_base && n_base != f.targets, "expected one base value per target") ||
      !base_known(b, &f, base, n_base) ||
      surg__b_bad(b, post == SURG__POST_OTHER || (post && f.targets == 1),
                  "the post transform is not lowered"))
    return b->status ? b->status : SURG_EUNSUPPORTED;
  val y = sum_of(&g);
  if (how == 2) y = divide(b, y, number(b, g.x.dtype, f.n_roots));
  y = surg__post_apply(b, post, plus_base(&g, y, base, n_base));
  if (g.x.dtype != result) y = cast(b, y, result);
  surg__lower_result(b, "y", y);
  return b->status;
}

/* Two classes. The score of the second, or of the first if only that has weights, decides. With
 * two base values runtimes have rules of their own, and some return 0 and 1 instead of the labels
 * if both classes have weights: not lowered. */
static bool two_known(surg__builder *b, const surg__forest *f, const surg__classes *c,
                      size_t n_base, surg__post post) {
  const bool plain = c->ints && c->ints[0] == 0 && c->ints[1] == 1;
  const bool first = f->always[0], second = f->always[1];
  return !surg__b_bad(
             b,
             n_base > 1 || (f->ever[0] && !first) || (f->ever[1] && !second) || (!first && !second),
             "some leaves add to one of two classes only, or there are two base values") &&
         !surg__b_bad(b, !f->single && !plain, "runtimes differ on these labels of two classes") &&
         !surg__b_bad(b, !second && !f->negative && post == SURG__POST_LOGISTIC,
                      "runtimes differ on the transform of a score that is never negative") &&
         !surg__b_bad(b, second && n_base, "a base value for one of two classes") &&
         !surg__b_bad(b, post == SURG__POST_OTHER, "the post transform is not lowered");
}

static val column(surg__builder *b, val scores, int64_t i) {
  return gather(b, scores, surg__b_ints(b, &i, 1), 1);
}

static void put_two(growing *g, const surg__classes *c, val y, surg__post post) {
  surg__builder *b = g->b;
  const surg__forest *f = g->f;
  const bool positive = f->single && !f->negative;
  val one = column(b, y, f->always[1] ? 1 : 0);
  val label = surg__post_above(b, g->x.dtype, one, positive ? 0.5 : 0);
  if (surg__b_get(b, "l")) surg__lower_result(b, "l", surg__classes_at(b, c, label));
  if (!surg__b_get(b, "s")) return;
  y = f->always[1] ? surg__post_apply(b, post, y)
                   : surg__post_of_two(b, post, positive, g->x.dtype, one);
  if (g->x.dtype != SURG_FLOAT) y = cast(b, y, SURG_FLOAT);
  surg__lower_result(b, "s", y);
}

static void put_many(growing *g, const surg__classes *c, val y, surg__post post) {
  surg__builder *b = g->b;
  if (surg__b_get(b, "l"))
    surg__lower_result(b, "l", surg__classes_at(b, c, surg__post_largest(b, y)));
  if (!surg__b_get(b, "s")) return;
  y = surg__post_apply(b, post, y);
  if (g->x.dtype != SURG_FLOAT) y = cast(b, y, SURG_FLOAT);
  surg__lower_result(b, "s", y);
}

/* Whether no weight is below 0 and every leaf has one above 0. A class without a score then counts
 * as 0 in the scores, and is never that of the largest. */
static bool all_positive(const surg__forest *f) {
  for (uint32_t i = 0; i < f->n; i++) {
    bool some = !f->nodes[i].leaf;
    for (uint32_t t = 0; t < f->targets; t++) {
      const double w = f->weights[(size_t)i * f->targets + t];
      if (f->nodes[i].leaf && !(w >= 0)) return false;
      some |= w > 0;
    }
    if (!some) return false;
  }
  return true;
}

/* l, s = TreeEnsembleClassifier (x) */
static surg_status tree_classes(surg__builder *b) {
  growing g;
  surg__forest f;
  size_t n_base;
  const surg__classes c = surg__classes_of(b, "classlabels_int64s");
  if (!plant(b, &g) || surg__b_bad(b, c.n < 1, "the labels are missing") ||
      !surg__forest_read(b, c.n, g.x.d[1].n, number_type(g.x.dtype), &f))
    return b->status ? b->status : SURG_EUNSUPPORTED;
  g.f = &f;
  const double *base = surg__lower_doubles(b, "base_values", &n_base);
  const surg__post post = c.n == 1 ? SURG__POST_NONE : surg__post_of(b);
  bool all = true;
  for (size_t i = 0; i < c.n; i++) all &= f.always[i] || i < n_base;
  all |= !n_base && all_positive(&f);
  if (b->status || !can_sum(b, &f) ||
      (c.n == 2 ? !two_known(b, &f, &c, n_base, post)
                : surg__b_bad(b, !all, "some class has no score in some leaves")) ||
      surg__b_bad(b, post == SURG__POST_OTHER, "the post transform is not lowered") ||
      surg__b_bad(b, c.n != 2 && n_base && n_base != c.n, "expected one base value per class"))
    return b->status ? b->status : SURG_EUNSUPPORTED;
  val y = sum_of(&g);
  if (c.n != 2) {
    put_many(&g, &c, plus_base(&g, y, base, n_base), post);
  } else {
    double both[2] = {n_base ? base[0] : 0, 0};
    put_two(&g, &c, plus_base(&g, y, both, n_base ? 2 : 0), post);
  }
  return b->status;
}

const surg__native surg__natives_trees[] = {
    {"tree_sum", tree_sum, "a tree ensemble as comparisons and products, or as Gather by steps"},
    {"tree_classes", tree_classes, "the same for classes, with labels"},
    {NULL, NULL, NULL},
};
