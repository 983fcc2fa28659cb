/* SPDX-License-Identifier: Apache-2.0 */
/* NegativeLogLikelihoodLoss and SoftmaxCrossEntropyLoss. */
#include <math.h>

#include "eval/core/kernels.h"
#include "eval/core/number.h"

typedef enum reduction { NONE, SUM, MEAN, REDUCTIONS } reduction;

/* Inputs are [batch][classes][inner]; targets and losses [batch][inner]. */
typedef struct loss {
  surg_kctx *k;
  reduction reduction;
  uint64_t batch, classes, inner;
  bool softmax, may_ignore;
  int64_t ignored;
} loss;

/* Reads the target at i; -1: it is ignored. False: it is not a valid class. */
static bool target_at(const loss *l, uint64_t i, int64_t *out) {
  const surg__array *t = &l->k->in[1];
  *out = (int64_t)surg__load_int(t->dtype, t->data, i);
  if (l->may_ignore && *out == l->ignored) {
    *out = -1;
    return true;
  }
  return *out >= 0 && (uint64_t)*out < l->classes;
}

static uint64_t place(const loss *l, uint64_t i, uint64_t class) {
  return (i / l->inner * l->classes + class) * l->inner + i % l->inner;
}

/* The logarithm of the sum of exponentials of the scores at i, as `most` + `rest`. The two are
 * subtracted one after the other, because their sum would lose the digits of the smaller one. */
typedef struct log_sum {
  double most, rest;
} log_sum;

static log_sum log_total(const loss *l, uint64_t i) {
  double most = -INFINITY, sum = 0;
  if (!l->softmax) return (log_sum){0, 0};
  for (uint64_t c = 0; c < l->classes; ++c) {
    double v = surg__real_at(&l->k->in[0], place(l, i, c));
    if (v > most) most = v;
  }
  for (uint64_t c = 0; c < l->classes; ++c) {
    sum += exp(surg__real_at(&l->k->in[0], place(l, i, c)) - most);
  }
  return (log_sum){most, log(sum)};
}

static void put_logs(const loss *l, uint64_t i, log_sum total) {
  if (!l->softmax || l->k->n_out < 2 || !l->k->wanted[1]) return;
  for (uint64_t c = 0; c < l->classes; ++c) {
    uint64_t at = place(l, i, c);
    surg__real_put(&l->k->out[1], at, surg__real_at(&l->k->in[0], at) - total.most - total.rest);
  }
}

static surg__kstatus run(const loss *l) {
  surg_kctx *k = l->k;
  double sum = 0, weights = 0;
  for (uint64_t i = 0; i < l->batch * l->inner; ++i) {
    int64_t class;
    double weight = 1, v = 0;
    const log_sum total = log_total(l, i);
    put_logs(l, i, total);
    if (!target_at(l, i, &class)) return surg__k_invalid(k, "a target is not a class");
    if (class >= 0) {
      if (surg__k_has(k, 2)) weight = surg__real_at(&k->in[2], (uint64_t) class);
      v = surg__real_at(&k->in[0], place(l, i, (uint64_t) class)) - total.most - total.rest;
      v *= -weight;
      weights += weight;
    }
    sum += v;
    if (l->reduction == NONE && k->wanted[0]) surg__real_put(&k->out[0], i, v);
  }
  if (l->reduction == NONE || !k->wanted[0]) return SURG__K_OK;
  if (l->reduction == MEAN && weights == 0) SURG__K_TRY(surg__k_disputed(k, "the mean of nothing"));
  surg__real_put(&k->out[0], 0, l->reduction == MEAN ? sum / weights : sum);
  return SURG__K_OK;
}

static surg__kstatus read_sizes(loss *l) {
  surg_kctx *k = l->k;
  const surg__array *x = &k->in[0], *t = &k->in[1];
  if (x->rank < 2 || t->rank != x->rank - 1 || t->dims[0] != x->dims[0]) {
    return surg__k_invalid(k, "scores and targets have shapes that do not fit");
  }
  for (uint32_t d = 1; d < t->rank; ++d) {
    if (t->dims[d] != x->dims[d + 1]) {
      return surg__k_invalid(k, "scores and targets have shapes that do not fit");
    }
  }
  l->batch = (uint64_t)x->dims[0];
  l->classes = (uint64_t)x->dims[1];
  if (t->count > 0) l->inner = t->count / l->batch;
  if (surg__k_has(k, 2) && (k->in[2].rank != 1 || (uint64_t)k->in[2].dims[0] != l->classes)) {
    return surg__k_invalid(k, "not one weight a class");
  }
  return SURG__K_OK;
}

surg__kstatus surg__k_loss(surg_kctx *k) {
  static const char *const words[] = {"none", "sum", "mean"};
  const surg__array *x = &k->in[0], *t = &k->in[1];
  loss l = {.k = k};
  l.softmax = k->op == SURG_OP_SoftmaxCrossEntropyLoss;
  l.may_ignore = surg_node_attr(k->node, "ignore_index") != NULL;
  l.ignored = surg_node_int(k->node, "ignore_index", 0);
  l.reduction = (reduction)surg__k_word(k, "reduction", "mean", words, REDUCTIONS);
  if (l.reduction == REDUCTIONS) return surg__k_invalid(k, "an unknown reduction");
  SURG__K_TRY(read_sizes(&l));
  SURG__K_TRY(surg__k_out(k, 0, x->dtype, t->dims, l.reduction == NONE ? t->rank : 0));
  if (l.softmax) SURG__K_TRY(surg__k_out(k, 1, x->dtype, x->dims, x->rank));
  SURG__K_TRY(surg__k_work_product(k, (uint64_t[]){t->count, l.classes + 1, 2}, 3));
  return run(&l);
}
