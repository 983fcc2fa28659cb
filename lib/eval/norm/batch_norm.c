/* SPDX-License-Identifier: Apache-2.0 */
/* BatchNormalization, with given statistics or with those of the batch (training). Computed in
 * double; the variance is computed in a second pass from the deviations from the mean. */
#include <math.h>

#include "eval/core/piece.h"
#include "eval/core/kernels.h"
#include "eval/core/number.h"

typedef struct batch_norm {
  const surg__array *x;
  uint64_t batch, channels, plane; /* x as [batch][channels][plane] */
  double epsilon, momentum;
  double *mean, *var; /* one entry per channel */
} batch_norm;

static double load(const surg__array *a, uint64_t i) {
  return surg__load_f64(a->dtype, a->data, i);
}

static bool training(const surg_kctx *k) {
  if (k->since < 7) return surg_node_int(k->node, "is_test", 0) == 0;
  return k->since >= 14 && surg_node_int(k->node, "training_mode", 0) != 0;
}

static surg__kstatus read_shape(surg_kctx *k, batch_norm *b) {
  const surg__array *x = &k->in[0];
  if (k->since < 9 && surg_node_int(k->node, "spatial", 1) == 0) {
    return surg__k_cannot(k, "statistics an element");
  }
  if (x->rank == 0) return surg__k_invalid(k, "a scalar has no channels");
  int64_t channels = x->rank > 1 ? x->dims[1] : 1;
  for (uint32_t i = 1; i < 5; ++i) {
    if (k->in[i].rank != 1 || k->in[i].dims[0] != channels) {
      return surg__k_invalid(k, "not one entry a channel");
    }
  }
  *b = (batch_norm){.x = x, .batch = (uint64_t)x->dims[0], .channels = (uint64_t)channels};
  b->plane = 1;
  /* Skipped for an empty tensor, whose dimensions may overflow the product. */
  for (uint32_t d = 2; d < x->rank && x->count > 0; ++d) b->plane *= (uint64_t)x->dims[d];
  b->epsilon = surg_node_float(k->node, "epsilon", 1e-5f);
  b->momentum = surg_node_float(k->node, "momentum", 0.9f);
  b->mean = surg__k_scratch(k, (size_t)b->channels, sizeof *b->mean);
  b->var = surg__k_scratch(k, (size_t)b->channels, sizeof *b->var);
  return b->mean && b->var ? SURG__K_OK : SURG__K_NOMEM;
}

/* Computes the mean and the population variance of a channel over the whole batch. */
static void measure(const batch_norm *b, uint64_t c) {
  double n = (double)(b->batch * b->plane), sum = 0;
  for (int pass = 0; pass < 2; ++pass) {
    double mean = sum / n;
    sum = 0;
    for (uint64_t i = 0; i < b->batch; ++i) {
      uint64_t base = (i * b->channels + c) * b->plane;
      for (uint64_t j = 0; j < b->plane; ++j) {
        double d = load(b->x, base + j) - (pass == 0 ? 0 : mean);
        sum += pass == 0 ? d : d * d;
      }
    }
    if (pass == 1) b->mean[c] = mean;
  }
  b->var[c] = sum / n;
}

/* Writes output i: a running statistic, updated by the statistic of this batch. */
static surg__kstatus put_running(surg_kctx *k, const batch_norm *b, uint32_t i, const double *of) {
  const surg__array *old = &k->in[i + 2];
  SURG__K_TRY(surg__k_out(k, i, old->dtype, old->dims, old->rank));
  for (uint64_t c = 0; i < k->n_out && k->wanted[i] && c < b->channels; ++c) {
    double v = load(old, c) * b->momentum + of[c] * (1 - b->momentum);
    surg__store_f64(old->dtype, k->out[i].data, c, v);
  }
  return SURG__K_OK;
}

static surg__kstatus train(surg_kctx *k, const batch_norm *b) {
  for (uint32_t i = 3; i < k->n_out; ++i) {
    if (k->wanted[i]) return surg__k_cannot(k, "saved statistics have no agreed meaning");
  }
  if (b->x->count == 0) return surg__k_cannot(k, "the statistics of nothing");
  SURG__K_TRY(surg__k_work(k, b->x->count));
  SURG__K_TRY(surg__k_work(k, b->x->count));
  for (uint64_t c = 0; c < b->channels; ++c) measure(b, c);
  SURG__K_TRY(put_running(k, b, 1, b->mean));
  return put_running(k, b, 2, b->var);
}

static surg__kstatus given_statistics(surg_kctx *k, const batch_norm *b) {
  for (uint32_t i = 1; i < k->n_out; ++i) {
    if (k->wanted[i]) return surg__k_cannot(k, "outputs of the training form");
  }
  for (uint64_t c = 0; c < b->channels; ++c) {
    b->mean[c] = load(&k->in[3], c);
    b->var[c] = load(&k->in[4], c);
  }
  return SURG__K_OK;
}

static void normalize(const surg_kctx *k, const batch_norm *b) {
  const surg__array *x = b->x, *o = &k->out[0];
  for (uint64_t r = 0; r < b->batch * b->channels; ++r) {
    uint64_t c = r % b->channels;
    double mean = b->mean[c], by = sqrt(b->var[c] + b->epsilon);
    double scale = load(&k->in[1], c), bias = load(&k->in[2], c);
    for (uint64_t j = 0, m; j < b->plane; j += m) {
      double v[SURG__PIECE];
      m = b->plane - j < SURG__PIECE ? b->plane - j : SURG__PIECE;
      surg__load_run(x->dtype, x->data, r * b->plane + j, 1, m, v);
      for (uint64_t i = 0; i < m; ++i) v[i] = (v[i] - mean) / by * scale + bias;
      surg__store_run(o->dtype, o->data, r * b->plane + j, m, v);
    }
  }
}

surg__kstatus surg__k_batch_norm(surg_kctx *k) {
  const surg__array *x = &k->in[0];
  batch_norm b;
  uint64_t work;
  SURG__K_TRY(read_shape(k, &b));
  SURG__K_TRY(training(k) ? train(k, &b) : given_statistics(k, &b));
  if (!k->wanted[0]) return SURG__K_OK;
  SURG__K_TRY(surg__k_out(k, 0, x->dtype, x->dims, x->rank));
  if (!surg__mul_u64(x->count, 4, &work)) return SURG__K_BUDGET;
  SURG__K_TRY(surg__k_work(k, work));
  if (x->count > 0) normalize(k, &b);
  return SURG__K_OK;
}
