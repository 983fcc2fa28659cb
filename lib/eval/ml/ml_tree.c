/* SPDX-License-Identifier: Apache-2.0 */
/* Tree ensembles: TreeEnsembleRegressor and TreeEnsembleClassifier identify nodes by tree id and
 * node id, TreeEnsemble by index. Both are converted to the same table. */
#include <math.h>
#include <stdlib.h>

#include "eval/core/kernels.h"
#include "eval/ml/ml.h"
#include "eval/core/number.h"

/* Node modes, numbered as in TreeEnsemble. */
enum { LEQ, LT, GTE, GT, EQ, NEQ, MEMBER, LEAF, MODES };
enum { AVERAGE, SUM, MIN, MAX, AGGREGATES };

typedef struct branch {
  int mode;
  bool missing_true; /* NaN follows the true branch */
  uint64_t feature;
  double value;
  uint32_t yes, no;      /* branch: the children */
  uint32_t first, count; /* leaf: its weights; MEMBER: its set of values */
} branch;

typedef struct weight {
  int64_t target;
  double value;
} weight;

typedef struct forest {
  branch *nodes;
  uint32_t n, n_roots;
  uint32_t *roots;
  weight *weights;
  const double *members;
  int64_t targets;
  int aggregate, transform;
} forest;

/* The score of a target. `has` is false if no leaf contributed to it. */
typedef struct score {
  double value;
  bool has;
} score;

/* --- nodes identified by tree and node id --- */

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
  name key = {.tree = tree, .node = node};
  const name *hit = bsearch(&key, names, n, sizeof *names, by_name);
  return hit ? hit->at : n;
}

static surg__kstatus list(surg_kctx *k, const char *attr, size_t n, const int64_t **out) {
  size_t count;
  *out = surg__ml_ints(k, attr, &count);
  return count == n ? SURG__K_OK : surg__k_invalid(k, "lists of nodes differ in length");
}

static surg__kstatus modes_by_word(surg_kctx *k, forest *f) {
  static const char *const words[] = {"BRANCH_LEQ", "BRANCH_LT",  "BRANCH_GTE", "BRANCH_GT",
                                      "BRANCH_EQ",  "BRANCH_NEQ", "",           "LEAF"};
  size_t n;
  const surg_str *given = surg__ml_strings(k, "nodes_modes", &n);
  if (n != f->n) return surg__k_invalid(k, "lists of nodes differ in length");
  for (size_t i = 0; i < n; ++i) {
    int m = 0;
    while (m < MODES && (given[i].n == 0 || given[i].n != strlen(words[m]) ||
                         memcmp(given[i].p, words[m], given[i].n) != 0)) {
      ++m;
    }
    if (m == MODES) return surg__k_invalid(k, "there is no such mode of a node");
    f->nodes[i].mode = m;
  }
  return SURG__K_OK;
}

/* Resolves the children of all branches. The roots are the nodes that are no child, in list
 * order. */
static surg__kstatus link_nodes(surg_kctx *k, forest *f, const name *names, const int64_t *trees) {
  const int64_t *yes, *no;
  SURG__K_TRY(list(k, "nodes_truenodeids", f->n, &yes));
  SURG__K_TRY(list(k, "nodes_falsenodeids", f->n, &no));
  bool *child = surg__k_scratch(k, f->n, sizeof *child);
  f->roots = surg__k_scratch(k, f->n, sizeof *f->roots);
  if (!child || !f->roots) return SURG__K_NOMEM;
  memset(child, 0, f->n * sizeof *child);
  for (uint32_t i = 0; i < f->n; ++i) {
    branch *b = &f->nodes[i];
    if (b->mode == LEAF) continue;
    b->yes = find(names, f->n, trees[i], yes[i]);
    b->no = find(names, f->n, trees[i], no[i]);
    if (b->yes == f->n || b->no == f->n) return surg__k_invalid(k, "a branch leads nowhere");
    if (b->yes == i || b->no == i) return surg__k_invalid(k, "a branch leads back to itself");
    child[b->yes] = child[b->no] = true;
  }
  f->n_roots = 0;
  for (uint32_t i = 0; i < f->n; ++i) {
    if (!child[i]) f->roots[f->n_roots++] = i;
  }
  return SURG__K_OK;
}

typedef struct leaf_lists {
  const char *trees, *nodes, *targets, *weights;
} leaf_lists;

/* Reads the weights of the leaves, grouped by leaf; those of one leaf keep their order. */
static surg__kstatus read_weights(surg_kctx *k, forest *f, const leaf_lists *names_of,
                                  const name *names) {
  size_t n, n_values;
  const int64_t *nodes, *targets, *trees = surg__ml_ints(k, names_of->trees, &n);
  const double *values;
  SURG__K_TRY(list(k, names_of->nodes, n, &nodes));
  SURG__K_TRY(list(k, names_of->targets, n, &targets));
  SURG__K_TRY(surg__ml_values(k, names_of->weights, &values, &n_values));
  if (n_values != n) return surg__k_invalid(k, "lists of leaves differ in length");
  uint32_t *at = surg__k_scratch(k, n, sizeof *at);
  f->weights = surg__k_scratch(k, n, sizeof *f->weights);
  if (!at || !f->weights) return SURG__K_NOMEM;
  SURG__K_TRY(surg__k_work(k, n));
  for (size_t i = 0; i < n; ++i) {
    at[i] = find(names, f->n, trees[i], nodes[i]);
    if (at[i] == f->n) return surg__k_invalid(k, "a weight belongs to no node");
    if (targets[i] < 0 || targets[i] >= f->targets) {
      return surg__k_invalid(k, "a weight belongs to no target");
    }
    ++f->nodes[at[i]].count;
  }
  uint32_t start = 0;
  for (uint32_t i = 0; i < f->n; ++i) {
    f->nodes[i].first = start;
    start += f->nodes[i].count;
    f->nodes[i].count = 0;
  }
  for (size_t i = 0; i < n; ++i) {
    branch *b = &f->nodes[at[i]];
    f->weights[b->first + b->count++] = (weight){targets[i], values[i]};
  }
  return SURG__K_OK;
}

static surg__kstatus new_nodes(surg_kctx *k, forest *f, uint64_t n) {
  if (n == 0 || n >= UINT32_MAX) return surg__k_invalid(k, "there are no nodes");
  SURG__K_TRY(surg__k_work(k, n));
  f->n = (uint32_t)n;
  f->nodes = surg__k_scratch(k, f->n, sizeof *f->nodes);
  if (!f->nodes) return SURG__K_NOMEM;
  memset(f->nodes, 0, f->n * sizeof *f->nodes);
  return SURG__K_OK;
}

/* Reads the attributes of `n` branches that both forms have in common. */
static surg__kstatus read_common(surg_kctx *k, forest *f, uint32_t n, const char *splits,
                                 uint64_t columns) {
  size_t n_values, n_missing;
  const int64_t *features, *missing;
  const double *values;
  SURG__K_TRY(list(k, "nodes_featureids", n, &features));
  missing = surg__ml_ints(k, "nodes_missing_value_tracks_true", &n_missing);
  SURG__K_TRY(surg__ml_values(k, splits, &values, &n_values));
  if (n_values != n || (n_missing != 0 && n_missing != n)) {
    return surg__k_invalid(k, "lists of nodes differ in length");
  }
  for (uint32_t i = 0; i < n; ++i) {
    branch *b = &f->nodes[i];
    b->value = values[i];
    b->missing_true = n_missing > 0 && missing[i] != 0;
    b->feature = (uint64_t)features[i];
    if (b->mode != LEAF && (features[i] < 0 || b->feature >= columns)) {
      return surg__k_invalid(k, "a node looks at a feature the input has not");
    }
  }
  return SURG__K_OK;
}

static surg__kstatus read_named(surg_kctx *k, forest *f, const leaf_lists *leaves,
                                uint64_t columns) {
  size_t n;
  const int64_t *nodes, *trees = surg__ml_ints(k, "nodes_treeids", &n);
  SURG__K_TRY(new_nodes(k, f, n));
  SURG__K_TRY(list(k, "nodes_nodeids", n, &nodes));
  name *names = surg__k_scratch(k, n, sizeof *names);
  if (!names) return SURG__K_NOMEM;
  for (uint32_t i = 0; i < f->n; ++i) names[i] = (name){trees[i], nodes[i], i};
  qsort(names, n, sizeof *names, by_name);
  for (size_t i = 1; i < n; ++i) {
    if (by_name(&names[i - 1], &names[i]) == 0) return surg__k_invalid(k, "a node is repeated");
  }
  SURG__K_TRY(modes_by_word(k, f));
  SURG__K_TRY(read_common(k, f, f->n, "nodes_values", columns));
  SURG__K_TRY(link_nodes(k, f, names, trees));
  return read_weights(k, f, leaves, names);
}

/* --- traversal --- */

static bool goes_true(const forest *f, const branch *b, double x) {
  if (isnan(x) && b->missing_true) return true;
  switch (b->mode) {
    case LEQ:
      return x <= b->value;
    case LT:
      return x < b->value;
    case GTE:
      return x >= b->value;
    case GT:
      return x > b->value;
    case EQ:
      return x == b->value;
    case NEQ:
      return x != b->value;
    default:
      for (uint32_t i = 0; i < b->count; ++i) {
        if (f->members[b->first + i] == x) return true;
      }
      return false;
  }
}

static void add(score *s, double v, int aggregate) {
  bool take = !s->has || (aggregate == MIN && v < s->value) || (aggregate == MAX && v > s->value);
  if (aggregate == SUM || aggregate == AVERAGE)
    s->value = s->has ? s->value + v : v;
  else if (take)
    s->value = v;
  s->has = true;
}

static surg__kstatus ask(surg_kctx *k, const forest *f, const double *x, score *scores) {
  for (int64_t t = 0; t < f->targets; ++t) scores[t] = (score){0};
  for (uint32_t t = 0; t < f->n_roots; ++t) {
    const branch *b = &f->nodes[f->roots[t]];
    uint32_t steps = 0;
    for (; b->mode != LEAF; ++steps) {
      if (steps > f->n) return surg__k_invalid(k, "a tree has no end");
      SURG__K_TRY(surg__k_work(k, b->mode == MEMBER ? 1 + b->count : 1));
      b = &f->nodes[goes_true(f, b, x[b->feature]) ? b->yes : b->no];
    }
    SURG__K_TRY(surg__k_work(k, 1 + b->count));
    for (uint32_t i = 0; i < b->count; ++i) {
      const weight *w = &f->weights[b->first + i];
      add(&scores[w->target], w->value, f->aggregate);
    }
  }
  return SURG__K_OK;
}

/* --- regression --- */

/* Computes the final scores of a row: adds the base values and applies post_transform. */
static void finish(const forest *f, const score *scores, const double *base, size_t n_base,
                   double *out) {
  size_t n = (size_t)f->targets;
  for (size_t t = 0; t < n; ++t) {
    out[t] = scores[t].has ? scores[t].value : 0;
    if (f->aggregate == AVERAGE) out[t] /= (double)f->n_roots;
    if (n_base == n) out[t] += base[t];
  }
  surg__ml_finish(f->transform, out, n);
}

static surg__kstatus regress(surg_kctx *k, const forest *f, int dtype) {
  uint64_t rows, columns;
  size_t n_base;
  const double *x, *base;
  int64_t dims[2];
  SURG__K_TRY(surg__ml_shape(k, 0, &rows, &columns));
  SURG__K_TRY(surg__ml_numbers(k, 0, &x));
  SURG__K_TRY(surg__ml_values(k, "base_values", &base, &n_base));
  if (f->targets == 1 && f->transform != SURG__ML_NONE) {
    SURG__K_TRY(surg__k_disputed(k, "runtimes do not transform a single score"));
  }
  dims[0] = (int64_t)rows;
  dims[1] = f->targets;
  SURG__K_TRY(surg__k_out(k, 0, dtype, dims, 2));
  score *scores = surg__k_scratch(k, (size_t)f->targets, sizeof *scores);
  double *out = surg__k_scratch(k, (size_t)f->targets, sizeof *out);
  if (!scores || !out) return SURG__K_NOMEM;
  for (uint64_t r = 0; r < rows; ++r) {
    SURG__K_TRY(ask(k, f, x + r * columns, scores));
    finish(f, scores, base, n_base, out);
    for (int64_t t = 0; k->out[0].data && t < f->targets; ++t) {
      surg__store_f64(dtype, k->out[0].data, r * (uint64_t)f->targets + (uint64_t)t, out[t]);
    }
  }
  return SURG__K_OK;
}

static surg__kstatus count_targets(surg_kctx *k, forest *f) {
  f->targets = surg_node_int(k->node, "n_targets", 1);
  if (f->targets < 1 || (uint64_t)f->targets > k->max_bytes) {
    return surg__k_invalid(k, "the number of targets is out of range");
  }
  return SURG__K_OK;
}

surg__kstatus surg__k_tree_regressor(surg_kctx *k) {
  static const char *const aggregates[] = {"AVERAGE", "SUM", "MIN", "MAX"};
  static const leaf_lists leaves = {"target_treeids", "target_nodeids", "target_ids",
                                    "target_weights"};
  forest f = {0};
  uint64_t rows, columns;
  SURG__K_TRY(surg__ml_shape(k, 0, &rows, &columns));
  SURG__K_TRY(count_targets(k, &f));
  SURG__K_TRY(surg__ml_transform(k, &f.transform));
  f.aggregate = surg__k_word(k, "aggregate_function", "SUM", aggregates, AGGREGATES);
  if (f.aggregate == AGGREGATES) return surg__k_invalid(k, "there is no such aggregate_function");
  SURG__K_TRY(read_named(k, &f, &leaves, columns));
  return regress(k, &f, SURG_FLOAT);
}

/* --- nodes identified by index --- */

/* Assigns its set of values to each MEMBER node. All sets are in one list, separated by NaN, in
 * order of the nodes. */
static surg__kstatus read_members(surg_kctx *k, forest *f, uint32_t n) {
  size_t count, at = 0;
  SURG__K_TRY(surg__ml_values(k, "membership_values", &f->members, &count));
  for (uint32_t i = 0; i < n; ++i) {
    branch *b = &f->nodes[i];
    if (b->mode != MEMBER) continue;
    if (at >= count) return surg__k_invalid(k, "a node has no set of members");
    b->first = (uint32_t)at;
    while (at < count && !isnan(f->members[at])) ++at;
    b->count = (uint32_t)at - b->first;
    ++at;
  }
  return SURG__K_OK;
}

static surg__kstatus modes_by_number(surg_kctx *k, forest *f, uint32_t n) {
  surg__array modes;
  SURG__K_TRY(surg__ml_tensor(k, "nodes_modes", &modes));
  if (modes.dtype != SURG_UINT8 || modes.count != n) {
    return surg__k_invalid(k, "lists of nodes differ in length");
  }
  for (uint32_t i = 0; i < n; ++i) {
    f->nodes[i].mode = ((const uint8_t *)modes.data)[i];
    if (f->nodes[i].mode > MEMBER) return surg__k_invalid(k, "there is no such mode of a node");
  }
  return SURG__K_OK;
}

/* Converts the child `id` of a branch, a branch or a leaf, to an index in f->nodes, where the
 * leaves follow the n branches. False: out of range. */
static bool target_of(const forest *f, uint32_t n, int64_t id, bool leaf, uint32_t *out) {
  uint32_t limit = leaf ? f->n - n : n;
  if (id < 0 || id >= (int64_t)limit) return false;
  *out = (uint32_t)id + (leaf ? n : 0);
  return true;
}

static surg__kstatus link_positions(surg_kctx *k, forest *f, uint32_t n) {
  const int64_t *yes, *no, *yes_leaf, *no_leaf;
  SURG__K_TRY(list(k, "nodes_truenodeids", n, &yes));
  SURG__K_TRY(list(k, "nodes_falsenodeids", n, &no));
  SURG__K_TRY(list(k, "nodes_trueleafs", n, &yes_leaf));
  SURG__K_TRY(list(k, "nodes_falseleafs", n, &no_leaf));
  for (uint32_t i = 0; i < n; ++i) {
    branch *b = &f->nodes[i];
    if (!target_of(f, n, yes[i], yes_leaf[i] != 0, &b->yes) ||
        !target_of(f, n, no[i], no_leaf[i] != 0, &b->no)) {
      return surg__k_invalid(k, "a branch leads nowhere");
    }
  }
  size_t n_roots;
  const int64_t *roots = surg__ml_ints(k, "tree_roots", &n_roots);
  f->roots = surg__k_scratch(k, n_roots, sizeof *f->roots);
  if (!f->roots) return SURG__K_NOMEM;
  if (n_roots >= UINT32_MAX) return surg__k_invalid(k, "there are too many trees");
  f->n_roots = (uint32_t)n_roots;
  for (uint32_t i = 0; i < f->n_roots; ++i) {
    if (!target_of(f, n, roots[i], false, &f->roots[i])) {
      return surg__k_invalid(k, "a root is not a node");
    }
  }
  return SURG__K_OK;
}

static surg__kstatus read_leaves(surg_kctx *k, forest *f, uint32_t n) {
  size_t n_leaves = f->n - n, count;
  const int64_t *targets;
  const double *values;
  SURG__K_TRY(list(k, "leaf_targetids", n_leaves, &targets));
  SURG__K_TRY(surg__ml_values(k, "leaf_weights", &values, &count));
  if (count != n_leaves) return surg__k_invalid(k, "lists of leaves differ in length");
  f->weights = surg__k_scratch(k, n_leaves, sizeof *f->weights);
  if (!f->weights) return SURG__K_NOMEM;
  for (uint32_t i = 0; i < n_leaves; ++i) {
    if (targets[i] < 0 || targets[i] >= f->targets) {
      return surg__k_invalid(k, "a weight belongs to no target");
    }
    f->weights[i] = (weight){targets[i], values[i]};
    f->nodes[n + i] = (branch){.mode = LEAF, .first = i, .count = 1};
  }
  return SURG__K_OK;
}

surg__kstatus surg__k_tree_ensemble(surg_kctx *k) {
  forest f = {0};
  uint64_t rows, columns, all;
  size_t n, n_leaves;
  SURG__K_TRY(surg__ml_shape(k, 0, &rows, &columns));
  SURG__K_TRY(count_targets(k, &f));
  int64_t transform = surg_node_int(k->node, "post_transform", 0);
  int64_t aggregate = surg_node_int(k->node, "aggregate_function", SUM);
  if (transform < 0 || transform >= SURG__ML_TRANSFORMS || aggregate < 0 ||
      aggregate >= AGGREGATES) {
    return surg__k_invalid(k, "there is no such transform or aggregate");
  }
  f.transform = (int)transform;
  f.aggregate = (int)aggregate;
  surg__ml_ints(k, "nodes_featureids", &n);
  surg__ml_ints(k, "leaf_targetids", &n_leaves);
  if (n == 0 || !surg__add_u64(n, n_leaves, &all)) return surg__k_invalid(k, "there are no nodes");
  SURG__K_TRY(new_nodes(k, &f, all));
  SURG__K_TRY(modes_by_number(k, &f, (uint32_t)n));
  SURG__K_TRY(read_common(k, &f, (uint32_t)n, "nodes_splits", columns));
  SURG__K_TRY(link_positions(k, &f, (uint32_t)n));
  SURG__K_TRY(read_members(k, &f, (uint32_t)n));
  SURG__K_TRY(read_leaves(k, &f, (uint32_t)n));
  return regress(k, &f, k->in[0].dtype);
}

/* --- classification --- */

typedef struct classes {
  forest f;
  surg__labels labels;
  const double *base;
  size_t n_base;
  bool binary;   /* two classes, but weights for only one */
  bool positive; /* all weights are >= 0 */
} classes;

/* The class with the largest score, and all scores in `out`. For more than two classes, or two
 * that both have weights. */
static size_t choose(const classes *c, score *s, double *out) {
  size_t n = c->labels.n, best = n;
  for (size_t i = 0; i < n; ++i) {
    if (i < c->n_base) add(&s[i], c->base[i], SUM);
    if (s[i].has && (best == n || s[i].value > s[best].value)) best = i;
    out[i] = s[i].has ? s[i].value : 0;
  }
  surg__ml_finish(c->f.transform, out, n);
  return best == n ? 0 : best;
}

/* As choose, for two classes. If only one class has weights, its score determines both. */
static size_t choose_of_two(const classes *c, score *s, double *out) {
  bool one = !s[1].has && c->n_base < 2;
  if (c->n_base == 2 && s[1].has) {
    s[1].value = c->base[1] + s[0].value;
    s[0].value = -s[1].value;
  } else if (c->n_base == 2) {
    s[0].value += c->base[0];
    s[1].value += c->base[1];
    s[1].has = false;
  } else if (c->n_base == 1) {
    s[0].value += c->base[0];
  }
  double total = s[1].has ? s[1].value : s[0].value;
  bool yes = total > (c->binary && c->positive ? 0.5 : 0);
  if (one) {
    surg__ml_two(c->f.transform, c->binary && c->positive, s[0].value, out);
  } else {
    out[0] = s[0].value;
    out[1] = s[1].value;
    surg__ml_finish(c->f.transform, out, 2);
  }
  return yes;
}

static surg__kstatus read_classes(surg_kctx *k, classes *c, uint64_t columns) {
  static const leaf_lists leaves = {"class_treeids", "class_nodeids", "class_ids", "class_weights"};
  SURG__K_TRY(surg__ml_labels(k, "classlabels_int64s", &c->labels));
  SURG__K_TRY(surg__ml_transform(k, &c->f.transform));
  SURG__K_TRY(surg__ml_values(k, "base_values", &c->base, &c->n_base));
  c->f.targets = (int64_t)c->labels.n;
  c->f.aggregate = SUM;
  if (c->n_base > c->labels.n) return surg__k_invalid(k, "there are more base_values than classes");
  SURG__K_TRY(read_named(k, &c->f, &leaves, columns));
  size_t n_ids, n_weights;
  const double *weights;
  const int64_t *ids = surg__ml_ints(k, "class_ids", &n_ids);
  SURG__K_TRY(surg__ml_values(k, "class_weights", &weights, &n_weights));
  c->positive = c->binary = true;
  for (size_t i = 0; i < n_ids; ++i) {
    c->positive = c->positive && !(weights[i] < 0);
    c->binary = c->binary && ids[i] == ids[0];
  }
  c->binary = c->binary && c->labels.n == 2 && n_ids > 0;
  return SURG__K_OK;
}

surg__kstatus surg__k_tree_classifier(surg_kctx *k) {
  classes c = {0};
  uint64_t rows, columns;
  const double *x;
  SURG__K_TRY(surg__ml_shape(k, 0, &rows, &columns));
  SURG__K_TRY(read_classes(k, &c, columns));
  SURG__K_TRY(surg__ml_numbers(k, 0, &x));
  size_t n = c.labels.n;
  if (n <= 2) SURG__K_TRY(surg__k_disputed(k, "runtimes score two classes in their own ways"));
  if (c.binary && c.f.transform == SURG__ML_PROBIT) return surg__k_cannot(k, "one probit of two");
  int64_t dims[2] = {(int64_t)rows, (int64_t)n};
  SURG__K_TRY(surg__ml_label_output(k, &c.labels, rows));
  SURG__K_TRY(surg__k_out(k, 1, SURG_FLOAT, dims, 2));
  score *scores = surg__k_scratch(k, n, sizeof *scores);
  double *out = surg__k_scratch(k, n, sizeof *out);
  if (!scores || !out) return SURG__K_NOMEM;
  for (uint64_t r = 0; r < rows; ++r) {
    SURG__K_TRY(ask(k, &c.f, x + r * columns, scores));
    size_t which = n == 2 ? choose_of_two(&c, scores, out) : choose(&c, scores, out);
    surg__ml_put_label(k, &c.labels, r, which);
    for (size_t i = 0; k->n_out > 1 && k->out[1].data && i < n; ++i) {
      ((float *)k->out[1].data)[r * n + i] = (float)out[i];
    }
  }
  return SURG__K_OK;
}
