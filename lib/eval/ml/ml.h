/* SPDX-License-Identifier: Apache-2.0 */
/* What the kernels of ai.onnx.ml share: rows of features, classes, transforms of scores. Numbers
 * are computed in double and rounded once. */
#ifndef SURG_ML_H
#define SURG_ML_H

#include "eval/core/eval.h"

/* Rows and columns of an input of rank 1 (one row) or 2. */
surg__kstatus surg__ml_shape(surg_kctx *k, uint32_t in, uint64_t *rows, uint64_t *columns);
/* Element i of a tensor of numbers. */
double surg__ml_get(const surg__array *a, uint64_t i);
/* All elements of an input in scratch. */
surg__kstatus surg__ml_numbers(surg_kctx *k, uint32_t in, const double **out);

/* Lists of attributes; NULL and 0 when absent. */
const int64_t *surg__ml_ints(const surg_kctx *k, const char *name, size_t *n);
const float *surg__ml_floats(const surg_kctx *k, const char *name, size_t *n);
const surg_str *surg__ml_strings(const surg_kctx *k, const char *name, size_t *n);
/* A tensor attribute; absent: dtype UNDEFINED. */
surg__kstatus surg__ml_tensor(surg_kctx *k, const char *name, surg__array *out);
/* An attribute of floats, or the tensor attribute of that name (with `_as_tensor` behind it where
 * there is such a one), as doubles; NULL and 0 when both are absent. */
surg__kstatus surg__ml_values(surg_kctx *k, const char *name, const double **out, size_t *n);

/* Classes by name or number. */
typedef struct surg__labels {
  const surg_str *strings; /* NULL: ints */
  const int64_t *ints;
  size_t n;
} surg__labels;
surg__kstatus surg__ml_labels(surg_kctx *k, const char *ints, surg__labels *out);
/* Output 0 of `rows` classes. */
surg__kstatus surg__ml_label_output(surg_kctx *k, const surg__labels *l, uint64_t rows);
void surg__ml_put_label(surg_kctx *k, const surg__labels *l, uint64_t row, size_t which);

/* In the order of TreeEnsemble's numbers. */
enum {
  SURG__ML_NONE,
  SURG__ML_SOFTMAX,
  SURG__ML_LOGISTIC,
  SURG__ML_SOFTMAX_ZERO,
  SURG__ML_PROBIT,
  SURG__ML_TRANSFORMS
};
surg__kstatus surg__ml_transform(surg_kctx *k, int *out); /* of post_transform */
double surg__ml_logistic(double v);
/* The scores of one row as they leave the operator. One score alone is a probit or as it is. */
void surg__ml_finish(int transform, double *scores, size_t n);
/* What the one score of two classes becomes. `sum`: classes share 1, otherwise they mirror. */
void surg__ml_two(int transform, bool sum, double score, double out[2]);

#endif
