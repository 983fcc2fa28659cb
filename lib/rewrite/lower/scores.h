/* SPDX-License-Identifier: Apache-2.0 */
/* Attributes, class labels and scores of ai.onnx.ml, for its lowerings to the standard. */
#ifndef SURG_LOWER_SCORES_H
#define SURG_LOWER_SCORES_H

#include "rewrite/lower/terms.h"

/* post_transform. PROBIT and SOFTMAX_ZERO are not lowered. */
typedef enum surg__post {
  SURG__POST_NONE,
  SURG__POST_SOFTMAX,
  SURG__POST_LOGISTIC,
  SURG__POST_OTHER
} surg__post;
/* The attribute post_transform of the matched node, as text or as the number of TreeEnsemble. */
surg__post surg__post_of(const surg__builder *b);

/* Attributes of the matched node; NULL and 0: absent. */
const int64_t *surg__lower_ints(const surg__builder *b, const char *name, size_t *n);
const float *surg__lower_floats(const surg__builder *b, const char *name, size_t *n);
/* Numbers of a list of floats, of `NAME_as_tensor`, or of a tensor NAME, as doubles. NULL and 0:
 * absent, not floats, or out of memory. */
const double *surg__lower_doubles(surg__builder *b, const char *name, size_t *n);

/* The labels of classes: strings, or integers if `strings` is NULL. */
typedef struct surg__classes {
  const surg_str *strings;
  const int64_t *ints;
  size_t n;
} surg__classes;
/* Reads classlabels_strings or the attribute `ints`. n is 0 if both are absent. */
surg__classes surg__classes_of(const surg__builder *b, const char *ints);
/* The labels at these indices, an int64 vector. */
val surg__classes_at(surg__builder *b, const surg__classes *c, val index);

/* Scores [N, n], n > 1, after post_transform. */
val surg__post_apply(surg__builder *b, surg__post post, val scores);
/* The scores [N, 2] of both classes from the one of the second, [N, 1]. `sum`: they add up to 1. */
val surg__post_of_two(surg__builder *b, surg__post post, bool sum, int dtype, val score);
/* Whether score [N, 1] is above the limit: int64 [N]. */
val surg__post_above(surg__builder *b, int dtype, val score, double limit);
/* The index of the largest score of each row of [N, n]: int64 [N]. */
val surg__post_largest(surg__builder *b, val scores);

/* Makes v, or a copy if other nodes read it, the replacement of the value bound to `name`. Does
 * nothing if that is absent. */
void surg__lower_result(surg__builder *b, const char *name, val v);

#endif
