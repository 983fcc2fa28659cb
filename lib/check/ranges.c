/* SPDX-License-Identifier: Apache-2.0 */
/* Attributes of which the standard states a range: flags, counts, factors, and the lists of a
 * window, which have an entry for each spatial axis. Kernels compare them when they are made. */
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>

#include "base/counted.h"
#include "check/forms.h"

typedef struct range {
  int op, since, until; /* of these versions */
  const char *attr;
  int64_t low, high;
  surg__since seen; /* releases whose engines compare it before the node runs */
} range;

#define UNSEEN {UINT8_MAX, UINT8_MAX} /* none */

static const range integers[] = {
    {SURG_OP_MaxPool, 8, INT_MAX, "storage_order", 0, 1},
    {SURG_OP_CumSum, 1, INT_MAX, "exclusive", 0, 1},
    {SURG_OP_CumSum, 1, INT_MAX, "reverse", 0, 1},
    {SURG_OP_CumProd, 1, INT_MAX, "exclusive", 0, 1},
    {SURG_OP_CumProd, 1, INT_MAX, "reverse", 0, 1},
    {SURG_OP_ConcatFromSequence, 1, INT_MAX, "new_axis", 0, 1, UNSEEN},
    {SURG_OP_GRU, 1, INT_MAX, "linear_before_reset", INT32_MIN, INT32_MAX},
    {SURG_OP_GroupNormalization, 21, INT_MAX, "num_groups", 1, INT64_MAX},
    {SURG_OP_Mod, 1, INT_MAX, "fmod", 0, 1},
    {SURG_OP_Attention, 1, INT_MAX, "qk_matmul_output_mode", 0, 3},
    {SURG_OP_LayerNormalization, 17, INT_MAX, "stash_type", 0, SURG_DTYPE_COUNT - 1},
    {SURG_OP_QuantizeLinear, 21, INT_MAX, "block_size", 0, INT64_MAX},
    {SURG_OP_DequantizeLinear, 21, INT_MAX, "block_size", 0, INT64_MAX},
    {SURG_OP_ConvTranspose, 1, INT_MAX, "group", 1, INT64_MAX},
    {SURG_OP_NonMaxSuppression, 1, INT_MAX, "center_point_box", 0, 1},
    {SURG_OP_ReverseSequence, 1, INT_MAX, "batch_axis", INT64_MIN, 1},
    {SURG_OP_ReverseSequence, 1, INT_MAX, "time_axis", INT64_MIN, 1},
    {SURG_OP_RoiAlign, 1, INT_MAX, "sampling_ratio", 0, INT64_MAX},
    {SURG_OP_RotaryEmbedding, 1, INT_MAX, "num_heads", 0, INT64_MAX},
    {SURG_OP_RotaryEmbedding, 1, INT_MAX, "rotary_embedding_dim", 0, INT64_MAX},
    {SURG_OP_TfIdfVectorizer, 1, INT_MAX, "max_skip_count", 0, INT64_MAX},
    {SURG_OP_ml_LinearRegressor, 1, INT_MAX, "targets", 1, INT64_MAX},
    {SURG_OP_ml_TreeEnsembleRegressor, 1, INT_MAX, "n_targets", 1, INT64_MAX},
    {SURG_OP_ml_TreeEnsemble, 1, INT_MAX, "n_targets", 1, INT64_MAX},
    {SURG_OP_ml_TreeEnsemble, 1, INT_MAX, "aggregate_function", 0, 3},
    {SURG_OP_ml_TreeEnsemble, 1, INT_MAX, "post_transform", 0, 4},
};

/* Attributes that must be above 0, if they are present. */
static const struct {
  int op;
  const char *attr;
  bool nan; /* NaN counts as absent */
} factors[] = {
    {SURG_OP_GRU, "clip", false}, {SURG_OP_LSTM, "clip", false},      {SURG_OP_LRN, "alpha", false},
    {SURG_OP_LRN, "beta", false}, {SURG_OP_Attention, "scale", true},
};

/* Inference multiplies the maps of a transposed convolution by its groups, and releases notice a
 * negative product. */
static surg__since group_since(const surg_node *n, int64_t groups) {
  const int64_t maps = surg__check_dim(surg__check_ranked(n, 1), 1);
  int64_t product;
  /* The kernel packs constant weights by groups. */
  if (surg_value_constant(surg_node_input(n, 1))) return (surg__since){0, UINT8_MAX};
  if (groups && maps < 0) return (surg__since){0, UINT8_MAX};
  if (!surg__mul_i64(maps, groups, &product)) return (surg__since){0, UINT8_MAX};
  return product < -1 ? (surg__since){21, 23} : (surg__since)UNSEEN;
}

/* Which releases compare the value. Engines compute GroupNormalization by its function, in which
 * they divide by the groups. The kernel of Attention compares its mode, if there is one for the
 * inputs. */
static surg__since seen_by(const surg_node *n, const range *r, int64_t value) {
  switch (r->op) {
    case SURG_OP_ConvTranspose:
      return group_since(n, value);
    case SURG_OP_GroupNormalization:
      return value ? (surg__since)UNSEEN : r->seen;
    case SURG_OP_Attention:
      return (surg__since){0, UINT8_MAX};
    default:
      return r->seen;
  }
}

static void check_numbers(surg__checker *c, const surg_node *n) {
  char text[64];
  for (size_t i = 0; i < SURG_COUNT(integers); i++) {
    const range *r = &integers[i];
    if (r->op != n->schema->op || n->schema->since < r->since || n->schema->since > r->until)
      continue;
    const surg_attr *a = surg_node_attr(n, r->attr);
    if (!a || a->ref || a->kind != SURG_ATTR_INT || (a->u.i >= r->low && a->u.i <= r->high))
      continue;
    snprintf(text, sizeof text, "%" PRId64, a->u.i);
    c->since = seen_by(n, r, a->u.i);
    surg__check_bad_value(c, n, r->attr, text);
  }
  for (size_t i = 0; i < SURG_COUNT(factors); i++) {
    if (factors[i].op != n->schema->op) continue;
    const surg_attr *a = surg_node_attr(n, factors[i].attr);
    if (!a || a->ref || a->kind != SURG_ATTR_FLOAT || a->u.f > 0.0f) continue;
    if (factors[i].nan && a->u.f != a->u.f) continue;
    snprintf(text, sizeof text, "%g", (double)a->u.f);
    surg__check_bad_value(c, n, factors[i].attr, text);
  }
}

/* Whether no entry of a list is below 1; if not, reports it. */
static bool is_positive(surg__checker *c, const surg_node *n, const char *name) {
  const surg_attr *a = surg__check_ints(n, name);
  for (uint32_t i = 0; a && i < a->count; i++) {
    char text[64];
    if (a->u.ints[i] > 0) continue;
    /* Columns are counted by lists that releases compare since opset 26. */
    c->since = n->schema->op == SURG_OP_Col2Im ? (surg__since){25, 26} : surg__check_since(n);
    snprintf(text, sizeof text, "%" PRId64 " along an axis", a->u.ints[i]);
    surg__check_bad_value(c, n, name, text);
    return false;
  }
  return true;
}

/* Whether the lists of a window fit the spatial axes of input 0; if not, reports it. */
static bool check_window(surg__checker *c, const surg_node *n) {
  static const char *const lists[] = {"kernel_shape", "strides", "dilations", "pads"};
  const surg_type *x = surg__check_ranked(n, 0);
  if (!x || x->rank < 3) return true;
  for (size_t i = 0; i < SURG_COUNT(lists); i++) {
    const surg_attr *a = surg__check_ints(n, lists[i]);
    const bool pads = i == 3;
    const uint32_t want = pads ? 2 * (x->rank - 2) : x->rank - 2;
    if (!a) continue;
    if (a->count != want) {
      c->since = surg__check_since(n);
      surg__check_wrong(c, n, "attribute \"%s\" has %" PRIu32 " %s, expected %" PRIu32, lists[i],
                        a->count, a->count == 1 ? "entry" : "entries", want);
      return false;
    }
    if (!pads && !is_positive(c, n, lists[i])) return false;
  }
  return true;
}

/* Lists of which kernels require an entry, or that must not be empty where they are present. */
static const struct {
  int op;
  const char *attr;
} filled[] = {
    {SURG_OP_ml_FeatureVectorizer, "inputdimensions"},
    {SURG_OP_ml_TreeEnsembleClassifier, "classlabels_int64s"},
    {SURG_OP_ml_TreeEnsembleClassifier, "classlabels_strings"},
    {SURG_OP_ml_OneHotEncoder, "cats_int64s"},
    {SURG_OP_ml_OneHotEncoder, "cats_strings"},
    {SURG_OP_ml_Scaler, "scale"},
    {SURG_OP_TfIdfVectorizer, "ngram_counts"},
    {SURG_OP_TfIdfVectorizer, "ngram_indexes"},
};

static bool is_list(const surg_attr *a) {
  return a && !a->ref &&
         (a->kind == SURG_ATTR_INTS || a->kind == SURG_ATTR_FLOATS || a->kind == SURG_ATTR_STRINGS);
}

static void check_filled(surg__checker *c, const surg_node *n) {
  for (size_t i = 0; i < SURG_COUNT(filled); i++) {
    const surg_attr *a = filled[i].op == n->schema->op ? surg_node_attr(n, filled[i].attr) : NULL;
    if (is_list(a) && !a->count)
      surg__check_wrong(c, n, "attribute \"%s\" is an empty list", filled[i].attr);
  }
}

/* The kernel of TfIdfVectorizer divides the pool into n-grams of each length: the counts are where
 * they start. */
static void check_pool(surg__checker *c, const surg_node *n) {
  const surg_attr *counts = surg__check_ints(n, "ngram_counts");
  const surg_attr *numbers = surg_node_attr(n, "pool_int64s");
  const surg_attr *texts = surg_node_attr(n, "pool_strings");
  const surg_attr *pool = texts ? texts : numbers;
  if ((texts && texts->ref) || (numbers && numbers->ref) || !counts) return;
  const int64_t size = pool && is_list(pool) ? (int64_t)pool->count : 0;
  bool fits = size > 0;
  for (uint32_t i = 0; fits && i < counts->count; i++) {
    const int64_t from = counts->u.ints[i];
    const int64_t to = i + 1 < counts->count ? counts->u.ints[i + 1] : size;
    fits = from >= 0 && to >= from && to <= size && (to - from) % ((int64_t)i + 1) == 0;
  }
  if (fits) return;
  c->since = (surg__since){0, 1};
  surg__check_wrong(c, n, "attribute \"ngram_counts\" does not divide the pool of n-grams");
}

/* TfIdfVectorizer: an entry of ngram_counts for each length, a weight for each n-gram. */
static void check_grams(surg__checker *c, const surg_node *n) {
  const surg_attr *counts = surg__check_ints(n, "ngram_counts");
  const surg_attr *places = surg__check_ints(n, "ngram_indexes");
  const surg_attr *weights = surg_node_attr(n, "weights");
  const int64_t most = surg_node_int(n, "max_gram_length", 1);
  check_pool(c, n);
  if (counts && counts->count && most > (int64_t)counts->count)
    surg__check_wrong(
        c, n, "max_gram_length is %" PRId64 ", attribute \"ngram_counts\" has %" PRIu32 " entries",
        most, counts->count);
  if (is_list(weights) && places && weights->count != places->count)
    surg__check_wrong(
        c, n, "length of attribute \"weights\": %" PRIu32 ", of \"ngram_indexes\": %" PRIu32,
        weights->count, places->count);
  for (uint32_t i = 0; places && i < places->count; i++)
    if (places->u.ints[i] < 0) {
      surg__check_wrong(c, n, "attribute \"ngram_indexes\" has the negative entry %" PRId64,
                        places->u.ints[i]);
      return;
    }
}

/* Bounds that are attributes; as inputs they may be in any order. */
static void check_bounds(surg__checker *c, const surg_node *n) {
  const surg_attr *low = surg_node_attr(n, "min"), *high = surg_node_attr(n, "max");
  const float a = low && !low->ref && low->kind == SURG_ATTR_FLOAT ? low->u.f : -INFINITY;
  const float b = high && !high->ref && high->kind == SURG_ATTR_FLOAT ? high->u.f : INFINITY;
  if (isnan(a) || isnan(b))
    surg__check_wrong(c, n, "attribute \"%s\" is NaN", isnan(a) ? "min" : "max");
  else if (a > b)
    surg__check_wrong(c, n, "attribute \"min\" is above \"max\"");
}

/* Sizes of the parts that do not match the outputs. */
static void check_parts(surg__checker *c, const surg_node *n) {
  const surg_attr *a = surg__check_ints(n, "split");
  if (a && a->count != n->n_out)
    surg__check_wrong(c, n,
                      "attribute \"split\" has %" PRIu32 " entries, the node %" PRIu32 " outputs",
                      a->count, (uint32_t)n->n_out);
}

void surg__check_ranges(surg__checker *c, const surg_node *n) {
  check_numbers(c, n);
  check_filled(c, n);
  switch (n->schema->op) {
    case SURG_OP_Col2Im:
      if (is_positive(c, n, "dilations")) (void)is_positive(c, n, "strides");
      break;
    case SURG_OP_Clip:
      if (n->schema->since < 11) check_bounds(c, n);
      break;
    case SURG_OP_Split:
      check_parts(c, n);
      break;
    case SURG_OP_TfIdfVectorizer:
      check_grams(c, n);
      break;
    case SURG_OP_DeformConv:
    case SURG_OP_MaxUnpool:
    case SURG_OP_MaxPool:
    case SURG_OP_AveragePool:
    case SURG_OP_LpPool:
      (void)check_window(c, n);
      break;
    default:
      break;
  }
}
