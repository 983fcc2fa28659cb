/* SPDX-License-Identifier: Apache-2.0 */
/* Operators of ai.onnx.ml that prepare features. */
#include <math.h>

#include "eval/core/kernels.h"
#include "eval/ml/ml.h"
#include "eval/move/move.h"
#include "eval/core/number.h"

/* Checks that a list has one entry for all columns, or one per column. */
static surg__kstatus per_column(surg_kctx *k, size_t n, uint64_t columns) {
  if (n == 1 || n == columns) return SURG__K_OK;
  return surg__k_invalid(k, "a list has neither one entry nor one for each feature");
}

/* The number of columns: the last dimension; 1 for a scalar. */
static uint64_t width(const surg__array *x) {
  return x->rank > 0 ? (uint64_t)x->dims[x->rank - 1] : 1;
}

surg__kstatus surg__k_scaler(surg_kctx *k) {
  const surg__array *x = &k->in[0];
  size_t n_offset, n_scale;
  const float *offset = surg__ml_floats(k, "offset", &n_offset);
  const float *scale = surg__ml_floats(k, "scale", &n_scale);
  uint64_t columns = width(x);
  SURG__K_TRY(per_column(k, n_offset, columns));
  SURG__K_TRY(per_column(k, n_scale, columns));
  SURG__K_TRY(surg__k_out(k, 0, SURG_FLOAT, x->dims, x->rank));
  SURG__K_TRY(surg__k_work(k, x->count));
  float *out = k->out[0].data;
  for (uint64_t i = 0; out && i < x->count; ++i) {
    uint64_t c = i % columns;
    double v = surg__ml_get(x, i) - (double)offset[n_offset == 1 ? 0 : c];
    out[i] = (float)(v * (double)scale[n_scale == 1 ? 0 : c]);
  }
  return SURG__K_OK;
}

enum { BY_MAX, BY_L1, BY_L2 };

/* The norm by which a row is divided; 0: the row is not changed. */
static double length(int norm, const double *x, uint64_t n) {
  double sum = 0, most = -INFINITY;
  for (uint64_t i = 0; i < n; ++i) {
    most = fmax(most, x[i]);
    sum += norm == BY_L2 ? x[i] * x[i] : fabs(x[i]);
  }
  return norm == BY_MAX ? most : norm == BY_L2 ? sqrt(sum) : sum;
}

surg__kstatus surg__k_normalizer(surg_kctx *k) {
  static const char *const norms[] = {"MAX", "L1", "L2"};
  const surg__array *x = &k->in[0];
  const double *v;
  uint64_t rows, columns;
  int norm = surg__k_word(k, "norm", "MAX", norms, 3);
  if (norm == 3) return surg__k_invalid(k, "there is no such norm");
  SURG__K_TRY(surg__ml_shape(k, 0, &rows, &columns));
  SURG__K_TRY(surg__ml_numbers(k, 0, &v));
  SURG__K_TRY(surg__k_out(k, 0, SURG_FLOAT, x->dims, x->rank));
  float *out = k->out[0].data;
  for (uint64_t r = 0; out && r < rows; ++r, v += columns, out += columns) {
    double by = length(norm, v, columns);
    if (norm == BY_MAX) {
      for (uint64_t i = 0; i < columns; ++i) {
        if (!(-v[i] > by)) continue;
        SURG__K_TRY(surg__k_disputed(k, "runtimes differ on the largest of negative numbers"));
      }
    }
    for (uint64_t i = 0; i < columns; ++i) out[i] = (float)(by != 0 ? v[i] / by : v[i]);
  }
  return SURG__K_OK;
}

surg__kstatus surg__k_binarizer(surg_kctx *k) {
  const surg__array *x = &k->in[0];
  double threshold = (double)surg_node_float(k->node, "threshold", 0);
  SURG__K_TRY(surg__k_out(k, 0, x->dtype, x->dims, x->rank));
  SURG__K_TRY(surg__k_work(k, x->count));
  surg__array *out = &k->out[0];
  for (uint64_t i = 0; out->data && i < x->count; ++i) {
    bool above = surg__ml_get(x, i) > threshold;
    if (surg__is_real(x->dtype))
      surg__store_f64(x->dtype, out->data, i, above);
    else
      surg__store_int(x->dtype, out->data, i, above);
  }
  return SURG__K_OK;
}

/* --- Imputer --- */

static surg__kstatus impute_floats(surg_kctx *k, uint64_t columns) {
  const surg__array *x = &k->in[0];
  size_t n;
  const float *by = surg__ml_floats(k, "imputed_value_floats", &n);
  double missing = (double)surg_node_float(k->node, "replaced_value_float", 0);
  SURG__K_TRY(per_column(k, n, columns));
  SURG__K_TRY(surg__k_out(k, 0, x->dtype, x->dims, x->rank));
  for (uint64_t i = 0; k->out[0].data && i < x->count; ++i) {
    double v = surg__load_f64(x->dtype, x->data, i);
    bool hit = isnan(missing) ? isnan(v) : v == missing;
    if (hit) v = (double)by[n == 1 ? 0 : i % columns];
    surg__store_f64(x->dtype, k->out[0].data, i, v);
  }
  return SURG__K_OK;
}

surg__kstatus surg__k_imputer(surg_kctx *k) {
  const surg__array *x = &k->in[0];
  uint64_t columns = width(x);
  size_t n;
  SURG__K_TRY(surg__k_work(k, x->count));
  if (surg__is_real(x->dtype)) return impute_floats(k, columns);
  const int64_t *by = surg__ml_ints(k, "imputed_value_int64s", &n);
  int64_t missing = surg_node_int(k->node, "replaced_value_int64", 0);
  SURG__K_TRY(per_column(k, n, columns));
  SURG__K_TRY(surg__k_out(k, 0, x->dtype, x->dims, x->rank));
  for (uint64_t i = 0; k->out[0].data && i < x->count; ++i) {
    uint64_t v = surg__load_int(x->dtype, x->data, i);
    if ((int64_t)v == missing) v = (uint64_t)by[n == 1 ? 0 : i % columns];
    surg__store_int(x->dtype, k->out[0].data, i, v);
  }
  return SURG__K_OK;
}

/* --- OneHotEncoder --- */

/* The index of element i among the categories, or n if it is none of them. */
static size_t category(const surg__array *x, uint64_t i, const int64_t *numbers,
                       const surg_str *words, size_t n) {
  size_t c = 0;
  if (words) {
    surg_str s = ((const surg_str *)x->data)[i];
    while (c < n && (s.n != words[c].n || (s.n > 0 && memcmp(s.p, words[c].p, s.n) != 0))) ++c;
    return c;
  }
  double v = surg__ml_get(x, i);
  bool whole = surg__is_real(x->dtype) && fabs(v) < 0x1p63;
  if (surg__is_real(x->dtype) && !whole) return n;
  int64_t number = whole ? (int64_t)v : (int64_t)surg__load_int(x->dtype, x->data, i);
  while (c < n && numbers[c] != number) ++c;
  return c;
}

surg__kstatus surg__k_one_hot_encoder(surg_kctx *k) {
  const surg__array *x = &k->in[0];
  size_t n_numbers, n_words;
  const int64_t *numbers = surg__ml_ints(k, "cats_int64s", &n_numbers);
  const surg_str *words = surg__ml_strings(k, "cats_strings", &n_words);
  bool zeros = surg_node_int(k->node, "zeros", 1) != 0, text = x->dtype == SURG_STRING;
  size_t n = text ? n_words : n_numbers;
  int64_t dims[SURG_LIMIT_RANK + 1];
  uint64_t work;
  if (n == 0) return surg__k_invalid(k, "there are no categories of this type");
  if (x->rank > 0) memcpy(dims, x->dims, x->rank * sizeof *dims);
  dims[x->rank] = (int64_t)n;
  if (!surg__mul_u64(x->count, n, &work)) return SURG__K_BUDGET;
  SURG__K_TRY(surg__k_out(k, 0, SURG_FLOAT, dims, x->rank + 1));
  SURG__K_TRY(surg__k_work(k, work));
  float *out = k->out[0].data;
  if (out && work > 0) memset(out, 0, (size_t)work * sizeof *out);
  for (uint64_t i = 0; out && i < x->count; ++i) {
    size_t c = category(x, i, numbers, text ? words : NULL, n);
    if (c < n)
      out[i * n + c] = 1;
    else if (!zeros)
      return surg__k_invalid(k, "an element is in no category");
  }
  return SURG__K_OK;
}

/* --- selecting and joining columns --- */

surg__kstatus surg__k_array_feature_extractor(surg_kctx *k) {
  SURG__K_TRY(surg__need(k, 0));
  const surg__array *x = &k->in[0], *y = &k->in[1];
  const int64_t *index = y->data;
  int64_t dims[SURG_LIMIT_RANK + 1];
  if (x->rank == 0) return surg__k_invalid(k, "the input is a scalar");
  uint64_t columns = width(x), n = y->count;
  for (uint64_t i = 0; i < n; ++i) {
    if (index[i] < 0 || (uint64_t)index[i] >= columns) {
      return surg__k_invalid(k, "an index is out of range");
    }
  }
  uint32_t rank = x->rank == 1 ? 2 : x->rank;
  dims[0] = 1;
  if (x->rank > 1) memcpy(dims, x->dims, x->rank * sizeof *dims);
  dims[rank - 1] = (int64_t)n;
  SURG__K_TRY(surg__k_out(k, 0, x->dtype, dims, rank));
  SURG__K_TRY(surg__k_work(k, k->out[0].count));
  size_t size = surg__element_size(x);
  char *out = k->out[0].data;
  uint64_t rows = columns > 0 ? x->count / columns : 0;
  for (uint64_t r = 0; out && r < rows; ++r) {
    const char *row = (const char *)x->data + r * columns * size;
    for (uint64_t i = 0; i < n; ++i, out += size) memcpy(out, row + (size_t)index[i] * size, size);
  }
  return SURG__K_OK;
}

/* The number of elements per row of an input of FeatureVectorizer. */
static uint64_t row_size(const surg__array *a) {
  return a->count > 0 ? a->count / (uint64_t)a->dims[0] : 0;
}

surg__kstatus surg__k_feature_vectorizer(surg_kctx *k) {
  size_t n;
  uint64_t total = 0;
  const int64_t *sizes = surg__ml_ints(k, "inputdimensions", &n);
  if (n != k->n_in) return surg__k_invalid(k, "inputdimensions has not one entry for each input");
  for (uint32_t i = 0; i < k->n_in; ++i) {
    const surg__array *a = &k->in[i];
    if (a->rank == 0 || a->dims[0] != k->in[0].dims[0]) {
      return surg__k_invalid(k, "the inputs differ in rows");
    }
    if (sizes[i] < 0 || !surg__add_u64(total, (uint64_t)sizes[i], &total) || total > INT64_MAX) {
      return surg__k_invalid(k, "inputdimensions is out of range");
    }
  }
  int64_t dims[2] = {k->in[0].dims[0], (int64_t)total};
  SURG__K_TRY(surg__k_out(k, 0, SURG_FLOAT, dims, 2));
  SURG__K_TRY(surg__k_work(k, k->out[0].count));
  float *out = k->out[0].data;
  for (int64_t r = 0; out && r < dims[0]; ++r) {
    for (uint32_t i = 0; i < k->n_in; ++i) {
      /* Rows that are too long are truncated; short ones are padded with zeros. */
      uint64_t have = row_size(&k->in[i]);
      for (uint64_t c = 0; c < (uint64_t)sizes[i]; ++c) {
        *out++ = c < have ? (float)surg__ml_get(&k->in[i], (uint64_t)r * have + c) : 0;
      }
    }
  }
  return SURG__K_OK;
}
