/* SPDX-License-Identifier: Apache-2.0 */
/* Rules of the ai.onnx.ml operators. */
#include "infer/rules.h"

static size_t count_strings(const surg__infer *c, const char *attr) {
  const surg_attr *a = surg_node_attr(c->n, attr);
  size_t n = 0;
  return a && surg_attr_strings(a, &n) ? n : 0;
}

static size_t count_ints(const surg__infer *c, const char *attr) {
  size_t n = 0;
  return surg_node_ints(c->n, attr, &n) ? n : 0;
}

static size_t count_floats(const surg__infer *c, const char *attr) {
  const surg_attr *a = surg_node_attr(c->n, attr);
  size_t n = 0;
  return a && surg_attr_floats(a, &n) ? n : 0;
}

/* The number of rows of a feature batch; an input of rank 1 is one row. */
static surg_dim rows(surg__infer *c) {
  surg__fact x;
  if (!surg__infer_ranked(c, 0, &x) || x.rank == 0 || x.rank > 2) return surg__dim_unknown();
  return x.rank == 1 ? surg__dim(1) : x.dims[0];
}

/* Output k has one row per input row, with `columns` numbers each. */
static void put_rows(surg__infer *c, size_t k, int dtype, surg_dim columns) {
  const surg_dim dims[2] = {rows(c), columns};
  surg__infer_put(c, k, dtype, dims, 2);
}

/* Outputs: one label per row, and the scores of the classes. */
static void put_classes(surg__infer *c, const char *ints, surg_dim classes) {
  const size_t named = count_strings(c, "classlabels_strings"), numbered = count_ints(c, ints);
  const surg_dim n = rows(c);
  if (!named != !numbered) surg__infer_put(c, 0, named ? SURG_STRING : SURG_INT64, &n, 1);
  put_rows(c, 1, SURG_FLOAT, classes);
}

/* The number of labels, if all are of one kind and there are two or more: with 0 or 1 labels there
 * may be two classes. */
static surg_dim labels(const surg__infer *c, const char *ints) {
  const size_t named = count_strings(c, "classlabels_strings"), numbered = count_ints(c, ints);
  const size_t n = named ? named : numbered;
  return (named && numbered) || n < 2 ? surg__dim_unknown() : surg__dim((int64_t)n);
}

void surg__infer_tree_classifier(surg__infer *c) {
  put_classes(c, "classlabels_int64s", labels(c, "classlabels_int64s"));
}

void surg__infer_linear_classifier(surg__infer *c) {
  const surg_dim classes = labels(c, "classlabels_ints");
  const bool one_each = classes.value == (int64_t)count_floats(c, "intercepts");
  put_classes(c, "classlabels_ints", one_each ? classes : surg__dim_unknown());
}

void surg__infer_svm_classifier(surg__infer *c) {
  put_classes(c, "classlabels_ints", surg__dim_unknown());
}

void surg__infer_regressor(surg__infer *c) {
  int64_t n = 1;
  if (c->op == SURG_OP_ml_LinearRegressor)
    n = surg_node_int(c->n, "targets", 1);
  else if (c->op != SURG_OP_ml_SVMRegressor)
    n = surg_node_int(c->n, "n_targets", -1);
  const int dtype = surg__infer_dtype(c, 0);
  if (dtype) put_rows(c, 0, dtype, n > 0 ? surg__dim(n) : surg__dim_unknown());
}

void surg__infer_label_encoder(surg__infer *c) {
  static const struct {
    const char *name;
    int dtype;
  } values[] = {{"values_strings", SURG_STRING}, {"values_int64s", SURG_INT64},
                {"values_floats", SURG_FLOAT}};
  const surg__fact x = surg__infer_in(c, 0);
  const surg_attr *a = surg_node_attr(c->n, "values_tensor");
  const surg_tensor *t = a ? surg_attr_tensor(a, 0) : NULL;
  int dtype = t ? surg_tensor_dtype(t) : 0;
  if (c->op == SURG_OP_ml_CategoryMapper || c->since < 2)
    dtype = x.dtype == SURG_STRING ? SURG_INT64 : x.dtype == SURG_INT64 ? SURG_STRING : 0;
  for (size_t i = 0; i < SURG_COUNT(values); i++) {
    if (!surg_node_attr(c->n, values[i].name)) continue;
    if (dtype) return;
    dtype = values[i].dtype;
  }
  if (dtype) surg__infer_put_like(c, 0, dtype, &x);
}

void surg__infer_one_hot_encoder(surg__infer *c) {
  surg__fact x;
  surg_dim dims[SURG_LIMIT_RANK];
  const size_t named = count_strings(c, "cats_strings"), numbered = count_ints(c, "cats_int64s");
  if (!surg__infer_ranked(c, 0, &x) || x.rank >= SURG_LIMIT_RANK || !named == !numbered) return;
  if (x.rank) memcpy(dims, x.dims, x.rank * sizeof *dims);
  dims[x.rank] = surg__dim((int64_t)(named + numbered));
  surg__infer_put(c, 0, SURG_FLOAT, dims, (size_t)x.rank + 1);
}

void surg__infer_feature_extractor(surg__infer *c) {
  surg__fact x, index;
  surg_dim dims[SURG_LIMIT_RANK], n = surg__dim_unknown();
  if (!surg__infer_ranked(c, 0, &x) || x.rank == 0) return;
  if (surg__infer_ranked(c, 1, &index)) n = surg__dim_product(index.dims, index.rank);
  /* A single row becomes a batch of one. */
  const size_t rank = x.rank == 1 ? 2 : x.rank;
  assert(rank >= 2 && rank <= SURG_LIMIT_RANK);
  dims[0] = surg__dim(1);
  for (size_t i = 0; i + 1 < x.rank; i++) dims[i] = x.dims[i];
  dims[rank - 1] = n;
  surg__infer_put(c, 0, x.dtype, dims, rank);
}

void surg__infer_feature_vectorizer(surg__infer *c) {
  size_t n = 0;
  int64_t sum = 0;
  surg__fact x;
  const int64_t *sizes = surg_node_ints(c->n, "inputdimensions", &n);
  if (!surg__infer_ranked(c, 0, &x) || x.rank != 2) return;
  if (!sizes || n != surg_node_input_count(c->n)) n = 0;
  for (size_t i = 0; i < n; i++)
    if (sizes[i] < 1 || !surg__add_i64(sum, sizes[i], &sum)) return;
  put_rows(c, 0, SURG_FLOAT, n ? surg__dim(sum) : surg__dim_unknown());
}

void surg__infer_dict_vectorizer(surg__infer *c) {
  const surg__fact x = surg__infer_in(c, 0);
  const surg_type *t = x.kind == SURG_TYPE_MAP ? x.type->elem : NULL;
  if (t && t->kind == SURG_TYPE_TENSOR) surg__infer_put_unranked(c, 0, t->dtype);
}

void surg__infer_cast_map(surg__infer *c) {
  const surg_str to = surg_node_string(c->n, "cast_to", "TO_FLOAT");
  const int dtype = to.n == 8 && !memcmp(to.p, "TO_FLOAT", 8)     ? SURG_FLOAT
                    : to.n == 8 && !memcmp(to.p, "TO_INT64", 8)   ? SURG_INT64
                    : to.n == 9 && !memcmp(to.p, "TO_STRING", 9) ? SURG_STRING
                                                                  : 0;
  if (dtype) surg__infer_put_unranked(c, 0, dtype);
}

void surg__infer_zip_map(surg__infer *c) {
  const size_t named = count_strings(c, "classlabels_strings");
  const size_t numbered = count_ints(c, "classlabels_int64s");
  if (!named == !numbered || !c->states) return;
  surg_value *v = surg_node_output(c->n, 0);
  const surg__istate *s = v ? v->scratch : NULL;
  const surg_type *old = s ? s->old : NULL;
  const surg_type *map = old && old->kind == SURG_TYPE_SEQUENCE ? old->elem : NULL;
  const int key = named ? SURG_STRING : SURG_INT64;
  if (map && map->kind == SURG_TYPE_MAP && map->dtype == key && map->elem &&
      map->elem->kind == SURG_TYPE_TENSOR && map->elem->dtype == SURG_FLOAT &&
      !map->elem->has_rank) {
    surg__infer_put_type(c, 0, old);
    return;
  }
  surg_type *t = surg__type_new(c->m, SURG_TYPE_MAP);
  if (!t) {
    c->nomem = true;
    return;
  }
  t->dtype = key;
  t->elem = surg_type_tensor_unranked(c->m, SURG_FLOAT);
  const surg_type *whole = t->elem ? surg_type_wrap(c->m, SURG_TYPE_SEQUENCE, t) : NULL;
  if (!whole) c->nomem = true;
  surg__infer_put_type(c, 0, whole);
}
