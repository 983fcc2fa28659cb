/* SPDX-License-Identifier: Apache-2.0 */
/* The optimizer steps of ai.onnx.preview.training: Adagrad, Adam and Momentum. A step computes
 * updated tensors and running sums from lists of tensors, gradients and running sums. */
#include <math.h>

#include "eval/core/kernels.h"
#include "eval/core/number.h"

typedef struct step {
  double rate; /* learning rate of this step */
  double norm, norm_after, alpha, beta, epsilon;
  bool nesterov;
} step;

/* Updates one element: its value x and its running sums s, from the gradient g. */
typedef void (*rule)(const step *p, double *x, double g, double *s);

static void adagrad(const step *p, double *x, double g, double *s) {
  double slope = p->norm * *x + g;
  s[0] += slope * slope;
  *x -= p->rate * slope / (sqrt(s[0]) + p->epsilon);
}

static void adam(const step *p, double *x, double g, double *s) {
  double slope = p->norm * *x + g;
  s[0] = p->alpha * s[0] + (1 - p->alpha) * slope;
  s[1] = p->beta * s[1] + (1 - p->beta) * (slope * slope);
  *x = (1 - p->norm_after) * (*x - p->rate * (s[0] / (sqrt(s[1]) + p->epsilon)));
}

static void momentum(const step *p, double *x, double g, double *s) {
  double slope = p->norm * *x + g;
  s[0] = p->alpha * s[0] + p->beta * slope;
  *x -= p->rate * (p->nesterov ? slope + p->alpha * s[0] : s[0]);
}

static surg__kstatus read_step(surg_kctx *k, step *p) {
  if (k->in[0].count != 1 || k->in[1].count != 1) {
    return surg__k_invalid(k, "rate or count of steps is not a single number");
  }
  p->rate = surg__load_f64(k->in[0].dtype, k->in[0].data, 0);
  double t = (double)*(const int64_t *)k->in[1].data;
  p->norm = surg_node_float(k->node, "norm_coefficient", 0);
  p->epsilon = surg_node_float(k->node, "epsilon", 1e-6f);
  if (k->op == SURG_OP_training_Adagrad) {
    p->rate /= 1 + t * (double)surg_node_float(k->node, "decay_factor", 0);
    return SURG__K_OK;
  }
  p->alpha = surg_node_float(k->node, "alpha", 0.9f);
  p->beta = surg_node_float(k->node, "beta", 0.999f);
  if (k->op == SURG_OP_training_Adam) {
    p->norm_after = surg_node_float(k->node, "norm_coefficient_post", 0);
    if (t > 0) p->rate *= sqrt(1 - pow(p->beta, t)) / (1 - pow(p->alpha, t));
    return SURG__K_OK;
  }
  if (t <= 0) p->beta = 1; /* the first gradient counts fully */
  surg_str mode = surg_node_string(k->node, "mode", "");
  p->nesterov = mode.n == 8 && memcmp(mode.p, "nesterov", 8) == 0;
  if (p->nesterov || (mode.n == 8 && memcmp(mode.p, "standard", 8) == 0)) return SURG__K_OK;
  return surg__k_invalid(k, "mode is neither standard nor nesterov");
}

static bool same_shape(const surg__array *a, const surg__array *b) {
  return a->dtype == b->dtype && a->rank == b->rank &&
         (a->rank == 0 || memcmp(a->dims, b->dims, a->rank * sizeof *a->dims) == 0);
}

/* Updates tensor i of n. Its value, gradient and `sums` running sums are inputs n apart; so are
 * its outputs. */
static surg__kstatus step_tensor(surg_kctx *k, const step *p, rule f, uint32_t i, uint32_t n,
                                 uint32_t sums) {
  const surg__array *in[4], *x = &k->in[2 + i];
  for (uint32_t j = 0; j < 2 + sums; ++j) {
    in[j] = &k->in[2 + i + j * n];
    if (!surg__is_real(in[j]->dtype) || !same_shape(in[j], x)) {
      return surg__k_invalid(k, "a tensor, its gradient and its sums have different shapes");
    }
  }
  for (uint32_t j = 0; j < 1 + sums; ++j) {
    SURG__K_TRY(surg__k_out(k, i + j * n, x->dtype, x->dims, x->rank));
  }
  SURG__K_TRY(surg__k_work(k, x->count));
  for (uint64_t e = 0; e < x->count; ++e) {
    double value[4] = {0};
    for (uint32_t j = 0; j < 2 + sums; ++j) {
      value[j] = surg__load_f64(in[j]->dtype, in[j]->data, e);
    }
    f(p, &value[0], value[1], &value[2]);
    for (uint32_t j = 0; j < 1 + sums; ++j) {
      const surg__array *o = &k->out[i + j * n];
      if (k->wanted[i + j * n]) surg__store_f64(o->dtype, o->data, e, value[j == 0 ? 0 : j + 1]);
    }
  }
  return SURG__K_OK;
}

surg__kstatus surg__k_training_step(surg_kctx *k) {
  step p = {0};
  rule f = momentum;
  if (k->op == SURG_OP_training_Adam) f = adam;
  if (k->op == SURG_OP_training_Adagrad) f = adagrad;
  uint32_t sums = k->op == SURG_OP_training_Adam ? 2 : 1, n = (k->n_in - 2) / (2 + sums);
  if ((k->n_in - 2) % (2 + sums) != 0 || k->n_out != n * (1 + sums)) {
    return surg__k_invalid(k, "the lists of tensors have different lengths");
  }
  for (uint32_t i = 0; i < k->n_in; ++i) {
    if (!surg__k_has(k, i)) return surg__k_invalid(k, "a tensor of a list is absent");
  }
  SURG__K_TRY(read_step(k, &p));
  for (uint32_t i = 0; i < n; ++i) SURG__K_TRY(step_tensor(k, &p, f, i, n, sums));
  return SURG__K_OK;
}
