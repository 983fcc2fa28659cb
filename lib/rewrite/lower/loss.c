/* SPDX-License-Identifier: Apache-2.0 */
/* NegativeLogLikelihoodLoss and SoftmaxCrossEntropyLoss, equivalent to lib/eval/nn/loss.c.
 *
 * The score of each target is gathered by its index in the flattened scores. For ignored targets a
 * zero appended to them is gathered: a multiplication by 0 would keep NaN. */
#include "rewrite/lower/native.h"

typedef struct loss {
  surg__builder *b;
  surg__built x, target, weight;
  int dtype; /* type of the computation */
  bool softmax, ignores;
  surg__bdim count, inner; /* number of targets in total, and per batch entry */
  surg__built kept, dropped;  /* int64 1 or 0 per target, if targets may be ignored */
  surg__built classes;        /* targets as a vector of int64 */
} loss;

static surg__built flat(const loss *l, surg__built x, surg__bdim n) {
  return surg__built_reshape(l->b, x, &n, 1);
}

/* The indices `at`; for ignored targets, the index of the appended zero. */
static surg__built or_behind(const loss *l, surg__built at, surg__bdim behind) {
  surg__builder *b = l->b;
  if (!l->ignores) return at;
  at = surg__built_binary(b, "Mul", at, l->kept);
  const surg__built end =
      surg__built_binary(b, "Mul", l->dropped, surg__bdim_scalar(b, behind, SURG_INT64));
  return surg__built_binary(b, "Add", at, end);
}

/* A vector with a zero appended, if targets may be ignored. */
static surg__built with_zero(const loss *l, surg__built x, double zero) {
  const int64_t one[1] = {1};
  if (!l->ignores) return x;
  const surg__built both[2] = {x, surg__built_numbers(l->b, x.dtype, one, 1, &zero)};
  return surg__built_concat(l->b, both, 2, 0);
}

static void read_targets(loss *l) {
  surg__builder *b = l->b;
  l->classes = flat(l, surg__built_cast(b, l->target, SURG_INT64), l->count);
  if (!l->ignores) return;
  const int64_t said = surg_node_int(surg__b_matched(b), "ignore_index", 0);
  const surg__built one = {
      .v = surg__b_ints(b, &said, 1), .dtype = SURG_INT64, .rank = 1, .d = {surg__bdim_fixed(1)}};
  const surg__built is = surg__built_binary(b, "Equal", l->classes, one);
  l->dropped = surg__built_cast(b, is, SURG_INT64);
  l->kept = surg__built_cast(b, surg__built_unary(b, "Not", is), SURG_INT64);
}

/* Log-probabilities as [targets, classes]; creates output 1. */
static surg__built log_scores(const loss *l) {
  surg__builder *b = l->b;
  const surg__bdim cube[3] = {l->x.d[0], l->x.d[1], l->inner};
  surg__built x = surg__built_cast(b, l->x, l->dtype);
  if (l->x.rank > 2) x = surg__built_swap(b, surg__built_reshape(b, x, cube, 3), 1, 2);
  if (!l->softmax) return x;
  x = surg__built_unary(b, "LogSoftmax", x);
  surg__b_set_int(b, x.v, "axis", x.rank - 1);
  if (!surg__b_get(b, "log")) return x;
  surg__built y = x;
  if (l->x.rank > 2) y = surg__built_reshape(b, surg__built_swap(b, x, 1, 2), l->x.d, l->x.rank);
  y = surg__built_cast(b, y, l->x.dtype);
  const surg__built named = surg__built_result(b, "log", y);
  return y.v == x.v ? named : x;
}

/* The negated, weighted score of each target; *weights: the weights used. */
static surg__built each_loss(const loss *l, surg__built *weights) {
  surg__builder *b = l->b;
  const surg__bdim classes = l->x.d[1], size = surg__bdim_mul(b, l->count, classes);
  const surg__built scores = with_zero(l, flat(l, log_scores(l), size), -0.0);
  surg__built at = surg__built_steps(b, l->count, classes, SURG_INT64);
  at = or_behind(l, surg__built_binary(b, "Add", at, l->classes), size);
  surg__built y = surg__built_unary(b, "Neg", surg__built_gather(b, scores, at, 0));
  *weights = (surg__built){0};
  if (l->weight.v) {
    const surg__built w = with_zero(l, surg__built_cast(b, l->weight, l->dtype), 0);
    *weights = surg__built_gather(b, w, or_behind(l, l->classes, classes), 0);
    y = surg__built_binary(b, "Mul", y, *weights);
  } else if (l->ignores) {
    *weights = surg__built_cast(b, l->kept, l->dtype);
  }
  return y;
}

static surg__built total(const loss *l, surg__built x) {
  return surg__built_reduce(l->b, "ReduceSum", x, 0, false);
}

static bool read(loss *l) {
  surg__builder *b = l->b;
  if (!surg__b_attrs_known(b) || !surg__built_get(b, "x", &l->x) ||
      !surg__built_get(b, "t", &l->target) || l->x.rank < 2 || l->target.rank != l->x.rank - 1)
    return false;
  if (surg__b_get(b, "w") && (!surg__built_get(b, "w", &l->weight) || l->weight.rank != 1))
    return false;
  const int type = l->x.dtype;
  l->dtype = type == SURG_FLOAT16 || type == SURG_BFLOAT16 ? SURG_FLOAT : type;
  l->ignores = surg_node_attr(surg__b_matched(b), "ignore_index") != NULL;
  l->inner = surg__bdim_fixed(1);
  return type == SURG_DOUBLE || l->dtype == SURG_FLOAT;
}

static surg_status loss_to_gather(surg__builder *b, bool softmax) {
  loss l = {.b = b, .softmax = softmax};
  surg__built weights;
  if (!read(&l)) return SURG_EUNSUPPORTED;
  const surg_str how = surg_node_string(surg__b_matched(b), "reduction", "mean");
  const bool none = how.n == 4 && !memcmp(how.p, "none", 4);
  const bool mean = how.n == 4 && !memcmp(how.p, "mean", 4);
  for (uint32_t i = 2; i < l.x.rank; i++) l.inner = surg__bdim_mul(b, l.inner, l.x.d[i]);
  l.count = surg__bdim_mul(b, l.x.d[0], l.inner);
  read_targets(&l);
  surg__built y = each_loss(&l, &weights);
  if (none) {
    y = surg__built_reshape(b, y, l.target.d, l.target.rank);
  } else {
    y = total(&l, y);
    if (mean && weights.v)
      y = surg__built_binary(b, "Div", y, total(&l, weights));
    else if (mean)
      y = surg__built_binary(b, "Div", y, surg__bdim_scalar(b, l.count, l.dtype));
  }
  surg__built_result(b, "y", surg__built_cast(b, y, l.x.dtype));
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
