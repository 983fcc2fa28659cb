/* SPDX-License-Identifier: Apache-2.0 */
/* Ranks, sizes and element types of inputs that the shape inference of ONNX compares, where the
 * type of the output does not depend on them. */
#include <inttypes.h>

#include "base/counted.h"
#include "base/dtype.h"
#include "check/forms.h"

/* Whether axis a of input i and axis b of input k may have the same size; if not, reports it. */
static bool same_size(surg__checker *c, const surg_node *n, size_t i, size_t a, size_t k,
                      size_t b) {
  const int64_t x = surg__check_dim(surg__check_ranked(n, i), a);
  const int64_t y = surg__check_dim(surg__check_ranked(n, k), b);
  if (x < 0 || y < 0 || x == y) return true;
  surg__check_wrong(c, n,
                    "axis %zu of input %zu has size %" PRId64
                    ", axis %zu of input %zu size %" PRId64 ", expected equal sizes",
                    a, i, x, b, k, y);
  return false;
}

static void col2im(surg__checker *c, const surg_node *n) {
  if (surg__list_is(c, n, 1, -1) && surg__list_is(c, n, 2, -1)) (void)same_size(c, n, 1, 0, 2, 0);
}

/* Whether the axes of attribute "axes" exist in input 0, each of them once if `once`; if not,
 * reports it. */
static bool axes_exist(surg__checker *c, const surg_node *n, bool once) {
  const surg_type *x = surg__check_ranked(n, 0);
  const surg_attr *axes = surg__check_ints(n, "axes");
  uint64_t seen = 0;
  for (uint32_t i = 0; x && axes && i < axes->count; i++) {
    const int64_t given = axes->u.ints[i], k = given < 0 ? given + x->rank : given;
    const bool known = k >= 0 && k < (int64_t)x->rank;
    const bool again = known && k < 64 && (seen >> k & 1);
    if (!known || (once && again)) {
      surg__check_wrong(c, n, "axis %" PRId64 " of input 0 of rank %" PRIu32 " %s", given, x->rank,
                        known ? "is listed twice" : "does not exist");
      return false;
    }
    if (k < 64) seen |= UINT64_C(1) << k;
  }
  return true;
}

/* A size for each axis that is listed. */
static void center_crop_pad(surg__checker *c, const surg_node *n) {
  const surg_type *x = surg__check_ranked(n, 0);
  const surg_attr *axes = surg__check_ints(n, "axes");
  if (!axes_exist(c, n, true)) return;
  c->since = surg__check_since(n); /* one size is broadcast as the function of ONNX is inferred */
  (void)surg__list_is(c, n, 1, axes ? (int64_t)axes->count : x ? (int64_t)x->rank : -1);
  c->since = (surg__since){0};
}

static void resize(surg__checker *c, const surg_node *n) {
  (void)axes_exist(c, n, false);
}

static void affine_grid(surg__checker *c, const surg_node *n) {
  (void)surg__list_is(c, n, 1, -1);
}

static void grid_sample(surg__checker *c, const surg_node *n) {
  const int64_t x = surg__check_dim(surg__check_ranked(n, 0), 0);
  const int64_t grid = surg__check_dim(surg__check_ranked(n, 1), 0);
  if (x < 0 || grid < 0 || x == grid) return;
  c->since = (surg__since){19, 20};
  (void)same_size(c, n, 0, 0, 1, 0);
}

/* A cache, what is written to it along an axis, and the places, one for each sequence. */
static void tensor_scatter(surg__checker *c, const surg_node *n) {
  const surg_type *cache = surg__check_ranked(n, 0), *update = surg__check_ranked(n, 1);
  if (!cache || !surg__list_is(c, n, 2, -1) || !surg__rank_is(c, n, 1, cache->rank)) return;
  const int64_t rank = cache->rank, given = surg_node_int(n, "axis", -2);
  const int64_t axis = given < 0 ? given + rank : given;
  if (axis < 1 || axis >= rank) {
    surg__check_wrong(c, n,
                      "axis %" PRId64 " of a cache of rank %" PRId64
                      ", expected one after axis 0, the batch",
                      given, rank);
    return;
  }
  if (!same_size(c, n, 0, 0, 2, 0) || !update) return;
  for (size_t i = 0; i < cache->rank; i++)
    if ((int64_t)i != axis && !same_size(c, n, 0, i, 1, i)) return;
}

static void rotary_embedding(surg__checker *c, const surg_node *n) {
  const surg_type *x = surg__check_ranked(n, 0);
  const surg_attr *heads = surg_node_attr(n, "num_heads");
  if (x && (x->rank < 3 || x->rank > 4))
    surg__check_wrong(c, n, "input 0 has rank %" PRIu32 ", expected 3 or 4", x->rank);
  else if (x && x->rank == 3 && (!heads || (!heads->ref && heads->u.i == 0)))
    surg__check_wrong(c, n, "an input of rank 3 needs attribute \"num_heads\"");
}

/* The number of keys with those of the past; -1: unknown. */
static int64_t key_count(const surg_node *n, const surg_type *k) {
  int64_t own = surg__check_dim(k, k->rank - 2u), sum;
  if (!surg_node_input(n, 4)) return own;
  const int64_t past = surg__check_dim(surg__check_ranked(n, 4), 2);
  return own < 0 || past < 0 || !surg__add_i64(own, past, &sum) ? -1 : sum;
}

/* The mask must broadcast to the scores: batch, heads, queries, keys; from version 24 on it may
 * have fewer keys. Kernels compare that when they run. */
static void attention_mask(surg__checker *c, const surg_node *n) {
  const surg_type *q = surg__check_ranked(n, 0), *k = surg__check_ranked(n, 1);
  const surg_type *mask = surg__check_ranked(n, 3);
  if (!mask || !q || !k || q->rank != k->rank || q->rank < 3 || q->rank > 4) return;
  const int64_t heads = q->rank == 4 ? surg__check_dim(q, 1) : surg_node_int(n, "q_num_heads", -1);
  const int64_t scores[] = {surg__check_dim(q, 0), heads, surg__check_dim(q, q->rank - 2u),
                            key_count(n, k)};
  /* Integers have no kernel: engines compute the function of the operator, and infer it. */
  const bool kernel = surg__dtype_is_float(mask->dtype) || mask->dtype == SURG_BOOL;
  c->since = (surg__since){kernel ? UINT8_MAX : 0, UINT8_MAX};
  if (mask->rank > 4) {
    surg__check_wrong(c, n, "the mask has rank %" PRIu32 ", expected at most 4", mask->rank);
    return;
  }
  for (uint32_t i = 0; i < mask->rank; i++) {
    const size_t at = 4 - mask->rank + i;
    const int64_t size = surg__check_dim(mask, i), want = scores[at];
    const bool fewer = at == 3 && n->schema->since >= 24 && size < want;
    if (size < 0 || want < 0 || size == 1 || size == want || fewer) continue;
    surg__check_wrong(c, n, "axis %" PRIu32 " of the mask has size %" PRId64 ", expected %" PRId64,
                      i, size, want);
    return;
  }
  c->since = (surg__since){0};
}

/* A query of rank 3 needs the numbers of heads; a past has rank 4. */
static void attention(surg__checker *c, const surg_node *n) {
  static const char *const names[] = {"q_num_heads", "kv_num_heads"};
  const surg_type *x = surg__check_ranked(n, 0);
  for (size_t i = 0; x && x->rank == 3 && i < SURG_COUNT(names); i++) {
    const surg_attr *heads = surg_node_attr(n, names[i]);
    if (heads && (heads->ref || heads->u.i > 0)) continue;
    c->since = heads ? surg__check_since(n) : (surg__since){0};
    surg__check_wrong(c, n, "input 0 has rank 3, which needs attribute \"%s\"", names[i]);
    return;
  }
  for (size_t i = 4; i < 6; i++) {
    const surg_type *past = surg__check_ranked(n, i);
    if (!past || past->rank == 4) continue;
    c->since = surg__check_since(n);
    (void)surg__rank_is(c, n, i, 4);
    return;
  }
  attention_mask(c, n);
}

static void rms_normalization(surg__checker *c, const surg_node *n) {
  const surg_type *x = surg__check_ranked(n, 0);
  const int64_t axis = surg_node_int(n, "axis", -1);
  if (x && axis < -(int64_t)x->rank)
    surg__check_wrong(c, n, "axis %" PRId64 " is out of range for input 0 of rank %" PRIu32, axis,
                      x->rank);
}

static void string_normalizer(surg__checker *c, const surg_node *n) {
  const surg_type *x = surg__check_ranked(n, 0);
  const int64_t first = surg__check_dim(x, 0);
  if (x && (x->rank < 1 || x->rank > 2 || (x->rank == 2 && first >= 0 && first != 1)))
    surg__check_wrong(c, n, "input 0 is neither a list nor one row");
}

/* The default of a LabelEncoder is one element, of the type of the values. */
static void check_default(surg__checker *c, const surg_node *n) {
  static const struct {
    const char *attr;
    int dtype;
  } lists[] = {{"values_strings", SURG_STRING},
               {"values_int64s", SURG_INT64},
               {"values_floats", SURG_FLOAT}};
  const surg_attr *a = surg_node_attr(n, "default_tensor");
  const surg_attr *values = surg_node_attr(n, "values_tensor");
  if (!a || a->ref || a->kind != SURG_ATTR_TENSOR) return;
  int want = values && !values->ref && values->kind == SURG_ATTR_TENSOR
                 ? surg_tensor_dtype(values->u.tensors[0])
                 : 0;
  for (size_t i = 0; i < SURG_COUNT(lists) && !want; i++)
    if (surg_node_attr(n, lists[i].attr)) want = lists[i].dtype;
  const int found = surg_tensor_dtype(a->u.tensors[0]);
  if (surg_tensor_rank(a->u.tensors[0]) != 1 || surg_tensor_count(a->u.tensors[0]) != 1)
    surg__check_wrong(c, n, "attribute \"default_tensor\" expects rank 1 and one element");
  else if (want && found != want)
    surg__check_wrong(c, n, "attribute \"default_tensor\" is of type %s, the values of type %s",
                      surg__dtype_name(found), surg__dtype_name(want));
}

/* Keys of which the first input must have the type. */
static void label_encoder(surg__checker *c, const surg_node *n) {
  static const struct {
    const char *attr;
    int dtype;
  } keys[] = {
      {"keys_strings", SURG_STRING}, {"keys_int64s", SURG_INT64}, {"keys_floats", SURG_FLOAT}};
  const surg_type *x = surg_value_type(surg_node_input(n, 0));
  const int dtype = x && x->kind == SURG_TYPE_TENSOR ? x->dtype : 0;
  const surg_attr *tensor = surg_node_attr(n, "keys_tensor");
  int want = tensor && !tensor->ref && tensor->kind == SURG_ATTR_TENSOR
                 ? surg_tensor_dtype(tensor->u.tensors[0])
                 : 0;
  for (size_t i = 0; i < SURG_COUNT(keys) && !want; i++)
    if (surg_node_attr(n, keys[i].attr)) want = keys[i].dtype;
  check_default(c, n);
  if (want && dtype && want != dtype)
    surg__check_wrong(c, n, "input 0 is tensor(%s), the keys are of type %s",
                      surg__dtype_name(dtype), surg__dtype_name(want));
}

static const struct {
  int op, since;
  void (*check)(surg__checker *c, const surg_node *n);
} forms[] = {
    {SURG_OP_Col2Im, 18, col2im},
    {SURG_OP_CenterCropPad, 18, center_crop_pad},
    {SURG_OP_Resize, 18, resize},
    {SURG_OP_AffineGrid, 20, affine_grid},
    {SURG_OP_GridSample, 16, grid_sample},
    {SURG_OP_TensorScatter, 24, tensor_scatter},
    {SURG_OP_RotaryEmbedding, 23, rotary_embedding},
    {SURG_OP_Attention, 23, attention},
    {SURG_OP_RMSNormalization, 23, rms_normalization},
    {SURG_OP_StringNormalizer, 10, string_normalizer},
    {SURG_OP_ml_LabelEncoder, 2, label_encoder},
};

void surg__check_forms_inputs(surg__checker *c, const surg_node *n) {
  for (size_t i = 0; i < SURG_COUNT(forms); i++)
    if (forms[i].op == n->schema->op && n->schema->since >= forms[i].since) forms[i].check(c, n);
}
