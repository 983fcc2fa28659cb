/* SPDX-License-Identifier: Apache-2.0 */
/* Tree ensembles of ai.onnx.ml as a table of nodes. */
#ifndef SURG_LOWER_TREES_H
#define SURG_LOWER_TREES_H

#include "rewrite/lower/scores.h"

/* A node. A branch continues at `yes` if the feature is at most `value` (below it if the forest is
 * strict; equal to it with `equal`), or if it is NaN and `nan_yes`; else at `no`. */
typedef struct surg__tree_node {
  bool leaf, equal, nan_yes;
  int64_t feature;
  double value;
  uint32_t yes, no;
  uint32_t parent; /* index of the branch above, UINT32_MAX at a root */
  uint32_t place;  /* among the branches, or among the leaves, in order of visit */
} surg__tree_node;

/* An ensemble. The nodes that no root leads to are not counted. */
typedef struct surg__forest {
  surg__tree_node *nodes;
  uint32_t n, n_roots, n_branches, n_leaves, depth;
  uint32_t *roots;
  bool strict, any_equal, any_nan;
  uint32_t targets;
  double *weights; /* [n][targets]: what a leaf adds */
  bool *always;    /* per target: some tree adds to it in every leaf */
  bool *ever;      /* per target: some leaf adds to it */
  bool negative;   /* some weight is below 0 */
  bool single;     /* all weights belong to one target */
} surg__forest;

/* Reads the ensemble of the matched node, TreeEnsemble or one of the older two, whose input has
 * `columns` features (-1: unknown) of type `dtype`. `classes`: of a classifier, else 0. False: not
 * valid, or not of a form that is lowered (the reason is recorded). */
bool surg__forest_read(surg__builder *b, size_t classes, int64_t columns, int dtype,
                       surg__forest *f);

#endif
