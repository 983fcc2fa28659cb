/* SPDX-License-Identifier: Apache-2.0 */
/* NegativeLogLikelihoodLoss and SoftmaxCrossEntropyLoss: the meaning of lib/eval/nn/loss.c.
 *
 * The score of each target is gathered by its place in the flattened scores. What is to be ignored
 * is gathered from a zero behind them, so nothing is multiplied away that may be NaN. */
#include "rewrite/lower/native.h"

typedef struct loss {
  surg__builder *b;
  surg__bt x, target, weight;
  int dtype; /* what is computed in */
  bool softmax, ignores;
  surg__bdim count, inner; /* of all targets, of those of one entry of the batch */
  surg__bt kept, dropped;  /* 1 or 0 of int64, where anything may be ignored */
  surg__bt classes;        /* targets of int64, as a vector */
} loss;

static surg__bt flat(const loss *l, surg__bt x, surg__bdim n) {
  return surg__bt_reshape(l->b, x, &n, 1);
}

/* Places where something is kept; `behind` where it is dropped. */
static surg__bt or_behind(const loss *l, surg__bt at, surg__bdim behind) {
  surg__builder *b = l->b;
  if (!l->ignores) return at;
  at = surg__bt_binary(b, "Mul", at, l->kept);
  const surg__bt end =
      surg__bt_binary(b, "Mul", l->dropped, surg__bd_scalar(b, behind, SURG_INT64));
  return surg__bt_binary(b, "Add", at, end);
}

/* A vector with a zero behind it where anything may be ignored. */
static surg__bt with_zero(const loss *l, surg__bt x, double zero) {
  const int64_t one[1] = {1};
  if (!l->ignores) return x;
  const surg__bt both[2] = {x, surg__bt_numbers(l->b, x.dtype, one, 1, &zero)};
  return surg__bt_concat(l->b, both, 2, 0);
}

static void read_targets(loss *l) {
  surg__builder *b = l->b;
  l->classes = flat(l, surg__bt_cast(b, l->target, SURG_INT64), l->count);
  if (!l->ignores) return;
  const int64_t said = surg_node_int(surg__b_matched(b), "ignore_index", 0);
  const surg__bt one = {
      .v = surg__b_ints(b, &said, 1), .dtype = SURG_INT64, .rank = 1, .d = {surg__bd(1)}};
  const surg__bt is = surg__bt_binary(b, "Equal", l->classes, one);
  l->dropped = surg__bt_cast(b, is, SURG_INT64);
  l->kept = surg__bt_cast(b, surg__bt_unary(b, "Not", is), SURG_INT64);
}

/* Scores as [targets, classes], as logarithms of probabilities; puts output 1. */
static surg__bt log_scores(const loss *l) {
  surg__builder *b = l->b;
  const surg__bdim cube[3] = {l->x.d[0], l->x.d[1], l->inner};
  surg__bt x = surg__bt_cast(b, l->x, l->dtype);
  if (l->x.rank > 2) x = surg__bt_swap(b, surg__bt_reshape(b, x, cube, 3), 1, 2);
  if (!l->softmax) return x;
  x = surg__bt_unary(b, "LogSoftmax", x);
  surg__b_set_int(b, x.v, "axis", x.rank - 1);
  if (!surg__b_get(b, "log")) return x;
  surg__bt y = x;
  if (l->x.rank > 2) y = surg__bt_reshape(b, surg__bt_swap(b, x, 1, 2), l->x.d, l->x.rank);
  y = surg__bt_cast(b, y, l->x.dtype);
  const surg__bt named = surg__bt_result(b, "log", y);
  return y.v == x.v ? named : x;
}

/* Of each target the score, times -1 and the weight; *weights: those weights. */
static surg__bt each_loss(const loss *l, surg__bt *weights) {
  surg__builder *b = l->b;
  const surg__bdim classes = l->x.d[1], size = surg__bd_mul(b, l->count, classes);
  const surg__bt scores = with_zero(l, flat(l, log_scores(l), size), -0.0);
  surg__bt at = surg__bt_steps(b, l->count, classes, SURG_INT64);
  at = or_behind(l, surg__bt_binary(b, "Add", at, l->classes), size);
  surg__bt y = surg__bt_unary(b, "Neg", surg__bt_gather(b, scores, at, 0));
  *weights = (surg__bt){0};
  if (l->weight.v) {
    const surg__bt w = with_zero(l, surg__bt_cast(b, l->weight, l->dtype), 0);
    *weights = surg__bt_gather(b, w, or_behind(l, l->classes, classes), 0);
    y = surg__bt_binary(b, "Mul", y, *weights);
  } else if (l->ignores) {
    *weights = surg__bt_cast(b, l->kept, l->dtype);
  }
  return y;
}

static surg__bt total(const loss *l, surg__bt x) {
  return surg__bt_reduce(l->b, "ReduceSum", x, 0, false);
}

static bool read(loss *l) {
  surg__builder *b = l->b;
  if (!surg__b_attrs_known(b) || !surg__bt_get(b, "x", &l->x) ||
      !surg__bt_get(b, "t", &l->target) || l->x.rank < 2 || l->target.rank != l->x.rank - 1)
    return false;
  if (surg__b_get(b, "w") && (!surg__bt_get(b, "w", &l->weight) || l->weight.rank != 1))
    return false;
  const int type = l->x.dtype;
  l->dtype = type == SURG_FLOAT16 || type == SURG_BFLOAT16 ? SURG_FLOAT : type;
  l->ignores = surg_node_attr(surg__b_matched(b), "ignore_index") != NULL;
  l->inner = surg__bd(1);
  return type == SURG_DOUBLE || l->dtype == SURG_FLOAT;
}

static surg_status loss_to_gather(surg__builder *b, bool softmax) {
  loss l = {.b = b, .softmax = softmax};
  surg__bt weights;
  if (!read(&l)) return SURG_EUNSUPPORTED;
  const surg_str how = surg_node_string(surg__b_matched(b), "reduction", "mean");
  const bool none = how.n == 4 && !memcmp(how.p, "none", 4);
  const bool mean = how.n == 4 && !memcmp(how.p, "mean", 4);
  for (uint32_t i = 2; i < l.x.rank; i++) l.inner = surg__bd_mul(b, l.inner, l.x.d[i]);
  l.count = surg__bd_mul(b, l.x.d[0], l.inner);
  read_targets(&l);
  surg__bt y = each_loss(&l, &weights);
  if (none) {
    y = surg__bt_reshape(b, y, l.target.d, l.target.rank);
  } else {
    y = total(&l, y);
    if (mean && weights.v)
      y = surg__bt_binary(b, "Div", y, total(&l, weights));
    else if (mean)
      y = surg__bt_binary(b, "Div", y, surg__bd_scalar(b, l.count, l.dtype));
  }
  surg__bt_result(b, "y", surg__bt_cast(b, y, l.x.dtype));
  return b->status;
}

static surg_status nll_to_gather(surg__builder *b) {
  return loss_to_gather(b, false);
}

static surg_status entropy_to_gather(surg__builder *b) {
  return loss_to_gather(b, true);
}

const surg__native surg__natives_loss[] = {
    {"nll", nll_to_gather, "NegativeLogLikelihoodLoss as a Gather and sums"},
    {"cross_entropy", entropy_to_gather,
     "SoftmaxCrossEntropyLoss as LogSoftmax, a Gather and sums"},
    {NULL, NULL, NULL},
};
