/* SPDX-License-Identifier: Apache-2.0 */
/* Features, attributes, class labels and scores of ai.onnx.ml. */
#include "eval/ml/ml.h"

#include <math.h>
#include <stdio.h>

#include "eval/core/number.h"

surg__kstatus surg__ml_shape(surg_kctx *k, uint32_t in, uint64_t *rows, uint64_t *columns) {
  const surg__array *x = &k->in[in];
  if (x->rank != 1 && x->rank != 2) {
    return surg__k_invalid(k, "the input has neither one nor two axes");
  }
  *rows = x->rank == 1 ? 1 : (uint64_t)x->dims[0];
  *columns = (uint64_t)x->dims[x->rank - 1];
  return SURG__K_OK;
}

double surg__ml_get(const surg__array *a, uint64_t i) {
  if (surg__dtype_is_float(a->dtype)) return surg__load_f64(a->dtype, a->data, i);
  return (double)(int64_t)surg__load_int(a->dtype, a->data, i);
}

static surg__kstatus widen(surg_kctx *k, const surg__array *a, const double **out) {
  SURG__K_TRY(surg__k_work(k, a->count));
  double *p = surg__k_scratch(k, (size_t)a->count, sizeof *p);
  if (!p) return SURG__K_NOMEM;
  for (uint64_t i = 0; i < a->count; ++i) p[i] = surg__ml_get(a, i);
  *out = p;
  return SURG__K_OK;
}

surg__kstatus surg__ml_numbers(surg_kctx *k, uint32_t in, const double **out) {
  return widen(k, &k->in[in], out);
}

/* --- attributes --- */

const int64_t *surg__ml_ints(const surg_kctx *k, const char *name, size_t *n) {
  const int64_t *p = surg_attr_ints(surg_node_attr(k->node, name), n);
  if (!p) *n = 0;
  return p;
}

const float *surg__ml_floats(const surg_kctx *k, const char *name, size_t *n) {
  const float *p = surg_attr_floats(surg_node_attr(k->node, name), n);
  if (!p) *n = 0;
  return p;
}

const surg_str *surg__ml_strings(const surg_kctx *k, const char *name, size_t *n) {
  const surg_str *p = surg_attr_strings(surg_node_attr(k->node, name), n);
  if (!p) *n = 0;
  return p;
}

surg__kstatus surg__ml_tensor(surg_kctx *k, const char *name, surg__array *out) {
  const surg_tensor *t = surg_attr_tensor(surg_node_attr(k->node, name), 0);
  *out = (surg__array){.dtype = SURG_UNDEFINED};
  if (!t) return SURG__K_OK;
  if (surg_tensor_rank(t) > SURG_LIMIT_RANK) return surg__k_invalid(k, "a tensor of many axes");
  switch (surg__array_from_tensor(k->ctx, k->arena, t, out)) {
    case SURG_OK:
      return SURG__K_OK;
    case SURG_EUNSUPPORTED:
      return surg__k_cannot(k, "a tensor of a form that is not read here");
    default:
      return SURG__K_NOMEM;
  }
}

surg__kstatus surg__ml_values(surg_kctx *k, const char *name, const double **out, size_t *n) {
  char longer[64];
  surg__array a;
  const float *p = surg__ml_floats(k, name, n);
  *out = NULL;
  if (p) {
    double *own = surg__k_scratch(k, *n, sizeof *own);
    if (!own) return SURG__K_NOMEM;
    for (size_t i = 0; i < *n; ++i) own[i] = p[i];
    *out = own;
    return SURG__K_OK;
  }
  snprintf(longer, sizeof longer, "%s_as_tensor", name);
  SURG__K_TRY(surg__ml_tensor(k, surg_node_attr(k->node, longer) ? longer : name, &a));
  if (a.dtype == SURG_UNDEFINED) return SURG__K_OK;
  if (!surg__dtype_is_float(a.dtype)) return surg__k_invalid(k, "an attribute has no floats");
  *n = (size_t)a.count;
  return widen(k, &a, out);
}

/* --- classes --- */

surg__kstatus surg__ml_labels(surg_kctx *k, const char *ints, surg__labels *out) {
  size_t n_ints, n_strings;
  out->ints = surg__ml_ints(k, ints, &n_ints);
  out->strings = surg__ml_strings(k, "classlabels_strings", &n_strings);
  out->n = n_strings > 0 ? n_strings : n_ints;
  if (n_strings == 0) out->strings = NULL;
  if (out->n == 0) return surg__k_invalid(k, "no class labels are given");
  return SURG__K_OK;
}

surg__kstatus surg__ml_label_output(surg_kctx *k, const surg__labels *l, uint64_t rows) {
  int64_t dim = (int64_t)rows;
  return surg__k_out(k, 0, l->strings ? SURG_STRING : SURG_INT64, &dim, 1);
}

void surg__ml_put_label(surg_kctx *k, const surg__labels *l, uint64_t row, size_t which) {
  void *out = k->out[0].data;
  if (!out) return;
  if (l->strings)
    ((surg_str *)out)[row] = l->strings[which];
  else
    ((int64_t *)out)[row] = l->ints[which];
}

/* --- scores --- */

surg__kstatus surg__ml_transform(surg_kctx *k, int *out) {
  static const char *const words[] = {"NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"};
  *out = surg__k_word(k, "post_transform", "NONE", words, SURG__ML_TRANSFORMS);
  if (*out == SURG__ML_TRANSFORMS) return surg__k_invalid(k, "there is no such post_transform");
  if (*out == SURG__ML_PROBIT || *out == SURG__ML_SOFTMAX_ZERO) {
    SURG__K_TRY(surg__k_disputed(k, "runtimes approximate this transform"));
  }
  return SURG__K_OK;
}

double surg__ml_logistic(double v) {
  double r = 1 / (1 + exp(-fabs(v)));
  return v < 0 ? 1 - r : r;
}

/* The inverse of the normal distribution function, in Winitzki's approximation, which runtimes
 * use. */
static double probit(double v) {
  double x = 2 * v - 1, sign = x < 0 ? -1 : 1, a = 0.147;
  double l = log((1 - x) * (1 + x)), m = 2 / (3.14159 * a) + 0.5 * l;
  return sqrt(2) * sign * sqrt(-m + sqrt(m * m - l / a));
}

/* Softmax in place. With `zero` (SOFTMAX_ZERO) an element of about 0 is only scaled and does not
 * contribute to the sum. */
static void softmax(double *v, size_t n, bool zero) {
  double most = -INFINITY, sum = 0;
  for (size_t i = 0; i < n; ++i) {
    if (v[i] > most) most = v[i];
  }
  for (size_t i = 0; i < n; ++i) {
    bool skip = zero && fabs(v[i]) <= 1e-7;
    v[i] = skip ? v[i] * exp(-most) : exp(v[i] - most);
    if (!skip) sum += v[i];
  }
  for (size_t i = 0; i < n; ++i) v[i] /= sum;
}

void surg__ml_finish(int transform, double *scores, size_t n) {
  if (transform == SURG__ML_NONE || (n == 1 && transform != SURG__ML_PROBIT)) return;
  if (transform == SURG__ML_SOFTMAX || transform == SURG__ML_SOFTMAX_ZERO) {
    softmax(scores, n, transform == SURG__ML_SOFTMAX_ZERO);
    return;
  }
  for (size_t i = 0; i < n; ++i) {
    scores[i] = transform == SURG__ML_PROBIT ? probit(scores[i]) : surg__ml_logistic(scores[i]);
  }
}

void surg__ml_two(int transform, bool sum, double score, double out[2]) {
  out[1] = score;
  out[0] = sum ? 1 - score : -score;
  if (sum || transform != SURG__ML_LOGISTIC) return;
  out[0] = surg__ml_logistic(-score);
  out[1] = surg__ml_logistic(score);
}
