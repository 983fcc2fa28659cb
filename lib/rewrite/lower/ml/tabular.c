/* SPDX-License-Identifier: Apache-2.0 */
/* Linear models, support vectors and features of ai.onnx.ml in standard operators. */
#include <math.h>

#include "rewrite/lower/scores.h"

#define MOST_CATEGORIES 65536u
#define MOST_SUPPORT (1u << 22) /* support vectors times features */

/* A constant [rows, columns] of floats. */
static val matrix(surg__builder *b, const float *v, size_t rows, size_t columns) {
  const int64_t dims[2] = {(int64_t)rows, (int64_t)columns};
  double *all = surg__arena_array(b->m->arena, rows * columns + 1, sizeof *all);
  if (!all) b->status = SURG_ENOMEM;
  for (size_t i = 0; all && i < rows * columns; i++) all[i] = (double)v[i];
  return b->status ? NULL : numbers(b, SURG_FLOAT, all, dims, 2);
}

static bool finite_all(const float *v, size_t n) {
  for (size_t i = 0; i < n; i++)
    if (!isfinite(v[i])) return false;
  return true;
}

/* --- linear models --- */

typedef struct linear {
  surg__built x;
  const float *w, *c;
  size_t targets, n_c;
} linear;

static bool read_linear(surg__builder *b, linear *m) {
  size_t n;
  if (!surg__b_attrs_known(b) || !surg__built_get(b, "x", &m->x) ||
      surg__b_bad(b, m->x.rank != 2 || m->x.d[1].n < 1, "x: expected [N, features]"))
    return false;
  const size_t columns = (size_t)m->x.d[1].n;
  m->w = surg__lower_floats(b, "coefficients", &n);
  m->c = surg__lower_floats(b, "intercepts", &m->n_c);
  m->targets = n / columns;
  return !surg__b_bad(b, !n || n % columns || !finite_all(m->w, n) || !finite_all(m->c, m->n_c),
                      "the coefficients do not fit the input") &&
         !surg__b_bad(b, m->n_c && m->n_c != m->targets,
                      "the intercepts do not fit the coefficients");
}

static val scores_of(surg__builder *b, const linear *m) {
  const size_t columns = (size_t)m->x.d[1].n;
  float *turned = surg__arena_array(b->m->arena, m->targets * columns + 1, sizeof *turned);
  if (!turned) b->status = SURG_ENOMEM;
  if (b->status) return NULL;
  for (size_t t = 0; t < m->targets; t++)
    for (size_t i = 0; i < columns; i++) turned[i * m->targets + t] = m->w[t * columns + i];
  const surg__built x = surg__built_cast(b, m->x, SURG_FLOAT);
  val y = op2(b, "MatMul", x.v, matrix(b, turned, columns, m->targets));
  return m->n_c ? add(b, y, matrix(b, m->c, 1, m->n_c)) : y;
}

/* l, s = LinearClassifier (x). A single score decides between two labels. */
static surg_status linear_classes(surg__builder *b) {
  static const int64_t numbers01[] = {0, 1};
  linear m;
  surg__classes c = surg__classes_of(b, "classlabels_ints");
  const surg__post post = surg__post_of(b);
  if (!read_linear(b, &m)) return b->status ? b->status : SURG_EUNSUPPORTED;
  const bool one = m.targets == 1, second = one && c.n == 2;
  if (surg__b_bad(b, post == SURG__POST_OTHER, "the post transform is not lowered") ||
      surg__b_bad(b, one ? c.strings && !second : c.n < m.targets, "the labels are too few"))
    return SURG_EUNSUPPORTED;
  if (one && !second) c = (surg__classes){.ints = numbers01, .n = 2};
  val y = scores_of(b, &m);
  val which = one ? surg__post_above(b, SURG_FLOAT, y, 0) : surg__post_largest(b, y);
  if (surg__b_get(b, "l")) surg__lower_result(b, "l", surg__classes_at(b, &c, which));
  if (!surg__b_get(b, "s")) return b->status;
  if (second)
    y = surg__post_of_two(b, post, post != SURG__POST_LOGISTIC, SURG_FLOAT, y);
  else if (!one)
    y = surg__post_apply(b, post, y);
  surg__lower_result(b, "s", y);
  return b->status;
}

/* --- support vectors --- */

/* exp(-gamma |x - v|^2) of each row and support vector: [N, n]. */
static val radial(surg__builder *b, val x, val vectors, double gamma) {
  val d = sub(b, unsqueeze(b, x, 1), vectors);
  val far = reduce_sum(b, mul(b, d, d), 2);
  return surg__b_unary(b, "Exp", mul(b, far, number(b, SURG_FLOAT, -gamma)));
}

/* The similarity of each row to each support vector, by kernel_type. NULL: not lowered. */
static val similar(surg__builder *b, val x, const float *v, size_t n, size_t columns,
                   const float *params) {
  const surg_attr *a = surg_node_attr(surg__b_matched(b), "kernel_type");
  const surg_str kind = a ? surg_attr_string(a) : (surg_str){"LINEAR", 6};
  if (kind.n == 3) return radial(b, x, matrix(b, v, n, columns), (double)params[0]);
  const int64_t turn[2] = {1, 0};
  val y = op2(b, "MatMul", x, transpose(b, matrix(b, v, n, columns), turn, 2));
  if (kind.n == 6) return y;
  y = mul(b, y, number(b, SURG_FLOAT, (double)params[0]));
  y = add(b, y, number(b, SURG_FLOAT, (double)params[1]));
  return kind.n == 4 ? op2(b, "Pow", y, number(b, SURG_FLOAT, (double)params[2]))
                     : surg__b_unary(b, "Tanh", y);
}

/* y = SVMRegressor (x) */
static surg_status support_sum(surg__builder *b) {
  static const float none[3] = {0, 0, 0};
  surg__built x;
  size_t n_v, n_w, n_rho, n_params;
  const surg_node *n = surg__b_matched(b);
  const float *v = surg__lower_floats(b, "support_vectors", &n_v);
  const float *w = surg__lower_floats(b, "coefficients", &n_w);
  const float *rho = surg__lower_floats(b, "rho", &n_rho);
  const float *params = surg__lower_floats(b, "kernel_params", &n_params);
  const int64_t count = surg_node_int(n, "n_supports", 0);
  if (!surg__b_attrs_known(b) || !surg__built_get(b, "x", &x) ||
      surg__b_bad(b, x.rank != 2 || x.d[1].n < 1, "x: expected [N, features]"))
    return SURG_EUNSUPPORTED;
  const size_t columns = (size_t)x.d[1].n, vectors = count > 0 ? (size_t)count : 0;
  if (surg__b_bad(b, surg__post_of(b) != SURG__POST_NONE || surg_node_int(n, "one_class", 0) != 0,
                  "the post transform, or one class, is not lowered") ||
      surg__b_bad(b,
                  n_rho < 1 || (n_params && n_params != 3) ||
                      n_w != (vectors ? vectors : columns) || vectors > MOST_SUPPORT ||
                      (vectors && n_v / vectors != columns) || (vectors && n_v % vectors) ||
                      n_v > MOST_SUPPORT,
                  "the lists of the model do not fit the input"))
    return SURG_EUNSUPPORTED;
  x = surg__built_cast(b, x, SURG_FLOAT);
  val s = vectors ? similar(b, x.v, v, vectors, columns, n_params ? params : none) : x.v;
  val y = op2(b, "MatMul", s, matrix(b, w, n_w, 1));
  surg__lower_result(b, "y", add(b, y, number(b, SURG_FLOAT, (double)rho[0])));
  return b->status;
}

/* --- features --- */

/* y = OneHotEncoder (x) */
static surg_status one_hot(surg__builder *b) {
  surg__built x;
  size_t n;
  const int64_t *cats = surg__lower_ints(b, "cats_int64s", &n);
  if (!surg__b_attrs_known(b) || !surg__built_get(b, "x", &x) ||
      surg__b_bad(b, x.rank >= SURG__BT_RANK, "x: the rank is above the limit") ||
      surg__b_bad(b, !n || n > MOST_CATEGORIES, "the categories are not integers, or too many") ||
      surg__b_bad(b, surg_node_int(surg__b_matched(b), "zeros", 1) == 0,
                  "zeros is 0: an unknown category fails"))
    return SURG_EUNSUPPORTED;
  for (size_t i = 0; i < n; i++)
    for (size_t k = 0; k < i && n <= 1024; k++)
      if (surg__b_bad(b, cats[i] == cats[k], "a category is repeated")) return SURG_EUNSUPPORTED;
  const int64_t dims[1] = {(int64_t)n};
  x = surg__built_cast(b, x, SURG_INT64);
  const val column = unsqueeze(b, x.v, x.rank);
  val same = equal(b, column, int64s(b, cats, dims, 1));
  surg__lower_result(b, "y", cast(b, same, SURG_FLOAT));
  return b->status;
}

/* Whether each row of x has `size` elements. */
static bool rows_of(const surg__built *x, int64_t size) {
  uint64_t n = 1;
  for (uint32_t i = 1; i < x->rank; i++)
    if (x->d[i].n < 0 || !surg__mul_u64(n, (uint64_t)x->d[i].n, &n)) return false;
  return x->rank > 0 && size > 0 && n == (uint64_t)size;
}

/* x as a matrix of floats. */
static val as_rows(surg__builder *b, surg__built x, int64_t size) {
  const int64_t shape[2] = {0, size};
  x = surg__built_cast(b, x, SURG_FLOAT);
  if (x.rank == 1) return unsqueeze(b, x.v, 1);
  return x.rank == 2 ? x.v : surg__bint_reshape(b, x.v, shape, 2);
}

/* y = FeatureVectorizer (...): the rows of all inputs side by side, as floats */
static surg_status vectorize(surg__builder *b) {
  surg_node *node = surg__b_matched(b);
  size_t n;
  const int64_t *sizes = surg__lower_ints(b, "inputdimensions", &n);
  if (!surg__b_attrs_known(b) ||
      surg__b_bad(b, !n || n != surg_node_input_count(node), "expected one size per input"))
    return SURG_EUNSUPPORTED;
  val *parts = surg__arena_array(b->m->arena, n, sizeof *parts);
  surg__built *in = surg__arena_array(b->m->arena, n, sizeof *in);
  if (!parts || !in) return SURG_ENOMEM;
  for (size_t i = 0; i < n; i++)
    if (surg__b_bad(b,
                    !surg_node_input(node, i) ||
                        !surg__built_of(surg_node_input(node, i), &in[i]) ||
                        !rows_of(&in[i], sizes[i]),
                    "expected inputs whose rows have the sizes of inputdimensions"))
      return SURG_EUNSUPPORTED;
  for (size_t i = 0; i < n; i++) parts[i] = as_rows(b, in[i], sizes[i]);
  surg__lower_result(b, "y", concat(b, parts, n, 1));
  return b->status;
}

const surg__native surg__natives_tabular[] = {
    {"linear_classes", linear_classes, "a linear classifier as a product, with labels"},
    {"support_sum", support_sum, "support vector regression as products"},
    {"categories", one_hot, "categories by comparison"},
    {"vectorize", vectorize, "Concat of the inputs as floats"},
    {NULL, NULL, NULL},
};
