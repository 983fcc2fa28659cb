/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the kernels of ai.onnx.ml: rows of features, class labels, transforms of scores.
 * Numbers are computed in double and rounded once. */
#ifndef SURG_ML_H
#define SURG_ML_H

#include "eval/core/eval.h"

/* The rows and columns of an input of rank 1 (one row) or 2. */
surg__kstatus surg__ml_shape(surg_kctx *k, uint32_t in, uint64_t *rows, uint64_t *columns);
/* Element i of a numeric tensor as double. */
double surg__ml_get(const surg__array *a, uint64_t i);
/* All elements of an input as double, in scratch memory. */
surg__kstatus surg__ml_numbers(surg_kctx *k, uint32_t in, const double **out);

/* The elements of a list attribute. NULL with *n = 0 if absent. The node owns them. */
const int64_t *surg__ml_ints(const surg_kctx *k, const char *name, size_t *n);
const float *surg__ml_floats(const surg_kctx *k, const char *name, size_t *n);
const surg_str *surg__ml_strings(const surg_kctx *k, const char *name, size_t *n);
/* A tensor attribute; if absent, the dtype of *out is UNDEFINED. */
surg__kstatus surg__ml_tensor(surg_kctx *k, const char *name, surg__array *out);
/* The elements, as double, of an attribute of floats, or else of the tensor attribute of that
 * name (with the suffix `_as_tensor` where ONNX defines one). NULL with *n = 0 if both are
 * absent. */
surg__kstatus surg__ml_values(surg_kctx *k, const char *name, const double **out, size_t *n);

/* Class labels: strings or integers. */
typedef struct surg__labels {
  const surg_str *strings; /* NULL: labels are integers */
  const int64_t *ints;
  size_t n;
} surg__labels;
surg__kstatus surg__ml_labels(surg_kctx *k, const char *ints, surg__labels *out);
/* Creates output 0 for the labels of `rows` rows. */
surg__kstatus surg__ml_label_output(surg_kctx *k, const surg__labels *l, uint64_t rows);
void surg__ml_put_label(surg_kctx *k, const surg__labels *l, uint64_t row, size_t which);

/* Values of post_transform, numbered as in TreeEnsemble. */
enum {
  SURG__ML_NONE,
  SURG__ML_SOFTMAX,
  SURG__ML_LOGISTIC,
  SURG__ML_SOFTMAX_ZERO,
  SURG__ML_PROBIT,
  SURG__ML_TRANSFORMS
};
surg__kstatus surg__ml_transform(surg_kctx *k, int *out); /* reads post_transform */
double surg__ml_logistic(double v);
/* Applies post_transform to the scores of one row. A single score is only changed by PROBIT. */
void surg__ml_finish(int transform, double *scores, size_t n);
/* Computes the scores of two classes from a single one, that of class 1. `sum`: the scores add
 * up to 1; else the score of class 0 is the negative of it. */
void surg__ml_two(int transform, bool sum, double score, double out[2]);

#endif
