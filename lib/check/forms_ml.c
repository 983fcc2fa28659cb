/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of ai.onnx.ml operators that must have equal lengths, attributes of which exactly one must
 * be present, and ranks of inputs. */
#include "check/forms.h"

#include <inttypes.h>
#include <stdio.h>

/* The number of entries of a list attribute, or elements of a tensor attribute; 0: absent or
 * empty; -1: unknown. */
static int64_t length(const surg_node *n, const char *name) {
  const surg_attr *a = surg_node_attr(n, name);
  if (!a) return 0;
  if (a->ref) return -1;
  if (a->kind == SURG_ATTR_TENSOR)
    return surg_tensor_count(a->u.tensors[0]) > INT64_MAX
               ? -1
               : (int64_t)surg_tensor_count(a->u.tensors[0]);
  return a->count;
}

static bool set(const surg_node *n, const char *name) {
  return surg_node_attr(n, name) != NULL;
}

/* The name of the only present attribute of a group; NULL: none or several are present, which
 * was reported. */
static const char *one_of(surg__checker *c, const surg_node *n, const char *const *names,
                          const char *what) {
  const char *found = NULL;
  size_t count = 0;
  for (size_t i = 0; names[i]; i++)
    if (set(n, names[i])) found = ++count == 1 ? names[i] : found;
  if (count == 1) return found;
  surg__check_wrong(c, n, "expected one of the attributes \"%s\", found %zu", what, count);
  return NULL;
}

static void same_length(surg__checker *c, const surg_node *n, const char *a, const char *b) {
  const int64_t x = length(n, a), y = length(n, b);
  if (x >= 0 && y >= 0 && x != y)
    surg__check_wrong(c, n, "length of attribute \"%s\": %" PRId64 ", of \"%s\": %" PRId64, a, x, b,
                      y);
}

static void labels(surg__checker *c, const surg_node *n) {
  static const char *const keys[] = {"keys_strings", "keys_int64s", "keys_floats", "keys_tensor",
                                     NULL};
  static const char *const values[] = {"values_strings", "values_int64s", "values_floats",
                                       "values_tensor", NULL};
  if (n->schema->since < 2) return;
  const char *k = one_of(c, n, keys, "keys_*");
  const char *v = k ? one_of(c, n, values, "values_*") : NULL;
  if (v) same_length(c, n, k, v);
}

static void normalizer(surg__checker *c, const surg_node *n) {
  static const char *const words[] = {"MAX", "L1", "L2"};
  const surg_attr *a = surg_node_attr(n, "norm");
  if (!a || a->ref || a->kind != SURG_ATTR_STRING) return;
  for (size_t i = 0; i < SURG_COUNT(words); i++)
    if (strlen(words[i]) == a->u.s.n && memcmp(words[i], a->u.s.p, a->u.s.n) == 0) return;
  surg__check_bad_value(c, n, "norm", surg__qn(c->ctx, a->u.s.p, a->u.s.n));
}

/* A linear model has a coefficient for each feature of each target. */
static void linear(surg__checker *c, const surg_node *n) {
  const surg_type *x = surg__check_ranked(n, 0);
  const int64_t features = x && x->rank ? surg__check_dim(x, x->rank - 1u) : -1;
  const int64_t targets = surg_node_int(n, "targets", 1), found = length(n, "coefficients");
  int64_t want;
  if (features < 0 || found < 0 || targets < 1 || !surg__mul_i64(features, targets, &want) ||
      found >= want)
    return;
  c->since = (surg__since){UINT8_MAX, UINT8_MAX};
  surg__check_found(c, "W206", surg__check_has_text(c) ? surg__locate_node(n) : NULL,
                    "length of attribute \"coefficients\": %" PRId64 ", expected %" PRId64, found,
                    want);
}

/* Newer runtimes require as many labels as intercepts, and a multiple of that number of
 * coefficients; one class is a decision between two. Older ones do not compare them (lax_values of
 * targets). */
static void linear_classes(surg__checker *c, const surg_node *n) {
  const int64_t ints = length(n, "classlabels_ints"), words = length(n, "classlabels_strings");
  const int64_t classes = length(n, "intercepts"), factors = length(n, "coefficients");
  const int64_t labels = ints > words ? ints : words;
  char text[64];
  if (ints > 0 && words > 0)
    surg__check_bad_value(c, n, "classlabels_strings", "a list beside \"classlabels_ints\"");
  if (ints < 0 || words < 0 || classes <= 0 || factors <= 0) return;
  const bool few = classes == 1 ? labels && labels != 2 : labels < classes;
  const char *wrong = factors % classes     ? "coefficients"
                      : few && words > ints ? "classlabels_strings"
                      : few                 ? "classlabels_ints"
                                            : NULL;
  if (!wrong) return;
  snprintf(text, sizeof text, "a list of %" PRId64 " for %" PRId64 " class%s", length(n, wrong),
           classes, classes == 1 ? "" : "es");
  surg__check_bad_value(c, n, wrong, text);
}

/* Of lists of which runtimes use one: all but one are absent or empty. */
static void one_filled(surg__checker *c, const surg_node *n, const char *const *names,
                       const char *what) {
  size_t filled = 0, unknown = 0;
  for (size_t i = 0; names[i]; i++) {
    filled += length(n, names[i]) > 0;
    unknown += length(n, names[i]) < 0;
  }
  if (!unknown && filled != 1)
    surg__check_wrong(c, n, "expected one of the attributes \"%s\", found %zu", what, filled);
}

/* Reports an input that is neither a row nor a batch of rows: no kernel accepts it. */
static void rows(surg__checker *c, const surg_node *n) {
  const surg_type *x = surg__check_ranked(n, 0);
  if (x && (x->rank < 1 || x->rank > 2))
    surg__check_wrong(c, n, "input 0 has rank %" PRIu32 ", %s-%d expects rank 1 or 2", x->rank,
                      n->schema->name, n->schema->since);
}

/* Likewise, where runtimes with an older shape inference import the model, which fails when the
 * node runs. */
static void late_rows(surg__checker *c, const surg_node *n) {
  const surg_type *x = surg__check_ranked(n, 0);
  if (x && (x->rank < 1 || x->rank > 2)) {
    c->since = (surg__since){19, 20};
    rows(c, n);
  }
}

/* Reports trees of an input that is no matrix. The shape inference of ONNX requires one since
 * version 3 of the operators; older runtimes do not, and compute a vector as one row. */
static void matrix(surg__checker *c, const surg_node *n) {
  const surg_type *x = surg__check_ranked(n, 0);
  if (x && x->rank != 2 && n->schema->since >= 3) {
    c->since = (surg__since){17, 18};
    (void)surg__rank_is(c, n, 0, 2);
  }
}

void surg__check_forms_ml(surg__checker *c, const surg_node *n) {
  static const char *const cats[] = {"cats_int64s", "cats_strings", NULL};
  static const char *const imputed[] = {"imputed_value_floats", "imputed_value_int64s", NULL};
  static const char *const classes[] = {"classlabels_int64s", "classlabels_strings", NULL};
  switch (n->schema->op) {
    case SURG_OP_ml_Scaler: /* runtimes require both, of equal lengths */
      same_length(c, n, "offset", "scale");
      break;
    case SURG_OP_ml_Imputer:
      one_filled(c, n, imputed, "imputed_value_*");
      break;
    case SURG_OP_ml_FeatureVectorizer: /* which runtimes require */
      if (!length(n, "inputdimensions"))
        surg__check_wrong(c, n, "attribute \"inputdimensions\" is missing");
      break;
    case SURG_OP_ml_LabelEncoder:
      labels(c, n);
      break;
    case SURG_OP_ml_CategoryMapper:
      same_length(c, n, "cats_int64s", "cats_strings");
      break;
    case SURG_OP_ml_OneHotEncoder:
      (void)one_of(c, n, cats, "cats_*");
      break;
    case SURG_OP_ml_ZipMap:
      late_rows(c, n);
      one_filled(c, n, classes, "classlabels_*");
      break;
    case SURG_OP_ml_TreeEnsembleRegressor:
    case SURG_OP_ml_TreeEnsembleClassifier:
      matrix(c, n);
      surg__check_twice_given(c, n);
      surg__check_trees(c, n, n->schema->op == SURG_OP_ml_TreeEnsembleClassifier);
      break;
    case SURG_OP_ml_TreeEnsemble:
      matrix(c, n);
      surg__check_ensemble(c, n);
      break;
    case SURG_OP_ml_SVMRegressor:
    case SURG_OP_ml_SVMClassifier:
      surg__check_svm(c, n);
      break;
    case SURG_OP_ml_LinearRegressor:
      linear(c, n);
      break;
    case SURG_OP_ml_LinearClassifier:
      rows(c, n);
      linear_classes(c, n);
      break;
    case SURG_OP_ml_Normalizer:
      normalizer(c, n);
      break;
    default:
      break;
  }
}
