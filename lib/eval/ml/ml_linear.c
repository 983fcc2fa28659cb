/* SPDX-License-Identifier: Apache-2.0 */
/* Linear models and support vector machines of ai.onnx.ml. */
#include <math.h>

#include "eval/core/kernels.h"
#include "eval/ml/ml.h"

static double dot(const double *x, const float *w, uint64_t n) {
  double sum = 0;
  for (uint64_t i = 0; i < n; ++i) sum += x[i] * (double)w[i];
  return sum;
}

static surg__kstatus matrix_out(surg_kctx *k, uint32_t i, uint64_t rows, uint64_t columns) {
  int64_t dims[2] = {(int64_t)rows, (int64_t)columns};
  return surg__k_out(k, i, SURG_FLOAT, dims, 2);
}

static void put_row(const surg__array *out, uint64_t row, const double *scores, size_t n) {
  if (!out->data) return;
  float *to = (float *)out->data + row * n;
  for (size_t i = 0; i < n; ++i) to[i] = (float)scores[i];
}

static size_t largest(const double *v, size_t n) {
  size_t best = 0;
  for (size_t i = 1; i < n; ++i) {
    if (v[i] > v[best]) best = i;
  }
  return best;
}

/* --- linear models --- */

typedef struct linear {
  const double *x;
  uint64_t rows, columns;
  const float *coefficients, *intercepts;
  size_t targets, n_intercepts;
  double *scores; /* scores of the current row */
  int transform;
} linear;

static surg__kstatus read_linear(surg_kctx *k, int64_t targets, linear *m) {
  size_t n;
  uint64_t need, work;
  SURG__K_TRY(surg__ml_shape(k, 0, &m->rows, &m->columns));
  SURG__K_TRY(surg__ml_transform(k, &m->transform));
  SURG__K_TRY(surg__ml_numbers(k, 0, &m->x));
  m->coefficients = surg__ml_floats(k, "coefficients", &n);
  m->intercepts = surg__ml_floats(k, "intercepts", &m->n_intercepts);
  if (targets < 0 && m->columns > 0) targets = (int64_t)(n / m->columns);
  if (targets <= 0 || !surg__mul_u64((uint64_t)targets, m->columns, &need) || need != n) {
    return surg__k_invalid(k, "the coefficients do not fit the input");
  }
  m->targets = (size_t)targets;
  if (m->n_intercepts != 0 && m->n_intercepts != m->targets) {
    return surg__k_invalid(k, "the intercepts do not fit the coefficients");
  }
  if (!surg__mul_u64(m->rows, need, &work)) return SURG__K_BUDGET;
  SURG__K_TRY(surg__k_work(k, work));
  m->scores = surg__k_scratch(k, m->targets, sizeof *m->scores);
  return m->scores ? SURG__K_OK : SURG__K_NOMEM;
}

static void score_row(const linear *m, uint64_t row) {
  for (size_t t = 0; t < m->targets; ++t) {
    m->scores[t] = dot(m->x + row * m->columns, m->coefficients + t * m->columns, m->columns);
    if (m->n_intercepts > 0) m->scores[t] += (double)m->intercepts[t];
  }
}

surg__kstatus surg__k_linear_regressor(surg_kctx *k) {
  linear m;
  SURG__K_TRY(read_linear(k, surg_node_int(k->node, "targets", 1), &m));
  if (m.targets == 1 && m.transform != SURG__ML_NONE) {
    SURG__K_TRY(surg__k_disputed(k, "runtimes do not transform a single score"));
  }
  SURG__K_TRY(matrix_out(k, 0, m.rows, m.targets));
  for (uint64_t r = 0; r < m.rows; ++r) {
    score_row(&m, r);
    surg__ml_finish(m.transform, m.scores, m.targets);
    put_row(&k->out[0], r, m.scores, m.targets);
  }
  return SURG__K_OK;
}

/* The labels of a two-class model with a single score. If not exactly two are given, they are 0
 * and 1. */
static surg__labels two_labels(const surg__labels *given) {
  static const surg_str words[] = {{"0", 1}, {"1", 1}};
  static const int64_t numbers[] = {0, 1};
  if (given->n == 2) return *given;
  return (surg__labels){given->strings ? words : NULL, numbers, 2};
}

surg__kstatus surg__k_linear_classifier(surg_kctx *k) {
  linear m;
  surg__labels given;
  SURG__K_TRY(surg__ml_labels(k, "classlabels_ints", &given));
  SURG__K_TRY(read_linear(k, -1, &m));
  bool one = m.targets == 1, second = one && given.n == 2;
  surg__labels labels = one ? two_labels(&given) : given;
  if (labels.n < m.targets) return surg__k_invalid(k, "there are fewer labels than classes");
  if (one && m.transform != SURG__ML_NONE) {
    SURG__K_TRY(surg__k_disputed(k, "runtimes transform a single score in their own ways"));
    if (m.transform == SURG__ML_PROBIT && second) return surg__k_cannot(k, "one probit of two");
  }
  SURG__K_TRY(surg__ml_label_output(k, &labels, m.rows));
  size_t width = second ? 2 : m.targets;
  SURG__K_TRY(matrix_out(k, 1, m.rows, width));
  for (uint64_t r = 0; r < m.rows; ++r) {
    double two[2];
    score_row(&m, r);
    size_t which = one ? m.scores[0] > 0 : largest(m.scores, m.targets);
    surg__ml_put_label(k, &labels, r, which);
    if (second)
      surg__ml_two(m.transform, m.transform != SURG__ML_LOGISTIC, m.scores[0], two);
    else
      surg__ml_finish(m.transform, m.scores, m.targets);
    if (k->n_out > 1) put_row(&k->out[1], r, second ? two : m.scores, width);
  }
  return SURG__K_OK;
}

/* --- support vectors --- */

enum { LINEAR, POLY, RBF, SIGMOID };

typedef struct svm {
  const double *x;
  uint64_t rows, columns;
  const float *vectors, *coefficients, *rho;
  size_t n_vectors, n_vectors_given, n_coefficients, n_rho;
  int kernel, transform;
  double gamma, coef0, degree;
} svm;

static double similarity(const svm *m, const double *x, const float *v) {
  if (m->kernel == RBF) {
    double sum = 0;
    for (uint64_t i = 0; i < m->columns; ++i) sum += (x[i] - (double)v[i]) * (x[i] - (double)v[i]);
    return exp(-m->gamma * sum);
  }
  double d = dot(x, v, m->columns);
  if (m->kernel == POLY) return pow(m->gamma * d + m->coef0, m->degree);
  if (m->kernel == SIGMOID) return tanh(m->gamma * d + m->coef0);
  return d;
}

static surg__kstatus read_svm(surg_kctx *k, svm *m) {
  static const char *const kernels[] = {"LINEAR", "POLY", "RBF", "SIGMOID"};
  size_t n;
  SURG__K_TRY(surg__ml_shape(k, 0, &m->rows, &m->columns));
  SURG__K_TRY(surg__ml_transform(k, &m->transform));
  SURG__K_TRY(surg__ml_numbers(k, 0, &m->x));
  m->vectors = surg__ml_floats(k, "support_vectors", &m->n_vectors_given);
  m->coefficients = surg__ml_floats(k, "coefficients", &m->n_coefficients);
  m->rho = surg__ml_floats(k, "rho", &m->n_rho);
  m->kernel = surg__k_word(k, "kernel_type", "LINEAR", kernels, 4);
  if (m->kernel == 4) return surg__k_invalid(k, "there is no such kernel_type");
  const float *params = surg__ml_floats(k, "kernel_params", &n);
  if (n != 0 && n != 3) return surg__k_invalid(k, "kernel_params are not three");
  m->gamma = n ? (double)params[0] : 0;
  m->coef0 = n ? (double)params[1] : 0;
  m->degree = n ? (double)params[2] : 0;
  return SURG__K_OK;
}

/* Checks the number of support vectors, and charges `times` products of each row with all of
 * them to the budget. */
static surg__kstatus check_vectors(surg_kctx *k, const svm *m, uint64_t times) {
  uint64_t need, work;
  if (!surg__mul_u64(m->n_vectors, m->columns, &need) || need != m->n_vectors_given) {
    return surg__k_invalid(k, "the support vectors do not fit the input");
  }
  if (!surg__mul_u64(m->rows, need, &work) || !surg__mul_u64(work, times, &work)) {
    return SURG__K_BUDGET;
  }
  return surg__k_work(k, work);
}

static double regress(const svm *m, const double *x) {
  double sum = (double)m->rho[0];
  if (m->n_vectors == 0) return sum + dot(x, m->coefficients, m->columns);
  for (size_t i = 0; i < m->n_vectors; ++i) {
    sum += similarity(m, x, m->vectors + i * m->columns) * (double)m->coefficients[i];
  }
  return sum;
}

surg__kstatus surg__k_svm_regressor(surg_kctx *k) {
  svm m;
  SURG__K_TRY(read_svm(k, &m));
  int64_t supports = surg_node_int(k->node, "n_supports", 0);
  m.n_vectors = supports > 0 ? (size_t)supports : 0;
  bool one_class = surg_node_int(k->node, "one_class", 0) != 0;
  if (m.transform != SURG__ML_NONE) {
    SURG__K_TRY(surg__k_disputed(k, "runtimes do not transform a single score"));
  }
  uint64_t need = m.n_vectors > 0 ? m.n_vectors : m.columns;
  if (m.n_rho < 1 || m.n_coefficients != need) {
    return surg__k_invalid(k, "the coefficients do not fit the input");
  }
  if (m.n_vectors > 0) SURG__K_TRY(check_vectors(k, &m, 1));
  SURG__K_TRY(matrix_out(k, 0, m.rows, 1));
  for (uint64_t r = 0; r < m.rows; ++r) {
    double y = regress(&m, m.x + r * m.columns);
    if (one_class) y = y > 0 ? 1 : -1;
    put_row(&k->out[0], r, &y, 1);
  }
  return SURG__K_OK;
}

/* --- SVMClassifier --- */

typedef struct classifier {
  svm m;
  surg__labels labels;
  size_t classes, pairs, width; /* width: scores per row */
  const int64_t *per_class;
  const float *prob_a, *prob_b;
  size_t n_prob;
  bool positive; /* all coefficients are >= 0 */
  double *similar, *scores, *q, *qp, *r;
  int64_t *votes;
} classifier;

/* Computes the score of every pair of classes, and counts a vote for its winner. */
static void vote(classifier *c, const double *x) {
  const svm *m = &c->m;
  size_t pair = 0, start_i = 0;
  memset(c->votes, 0, c->classes * sizeof *c->votes);
  for (size_t i = 0; i < m->n_vectors; ++i) {
    c->similar[i] = similarity(m, x, m->vectors + i * m->columns);
  }
  for (size_t i = 0; i + 1 < c->classes; start_i += (size_t)c->per_class[i++]) {
    size_t start_j = start_i + (size_t)c->per_class[i];
    for (size_t j = i + 1; j < c->classes; start_j += (size_t)c->per_class[j++], ++pair) {
      double sum = dot(c->similar + start_i, m->coefficients + (j - 1) * m->n_vectors + start_i,
                       (uint64_t)c->per_class[i]);
      sum += dot(c->similar + start_j, m->coefficients + i * m->n_vectors + start_j,
                 (uint64_t)c->per_class[j]);
      sum += (double)m->rho[pair];
      c->scores[pair] = sum;
      ++c->votes[sum > 0 ? i : j];
    }
  }
}

/* Computes the class probabilities p from the pairwise probabilities c->r, by the second method
 * of Wu, Lin and Weng (JMLR 5, 2004). */
static void couple(const classifier *c, double *p) {
  size_t n = c->classes;
  double *q = c->q, *qp = c->qp, *r = c->r;
  for (size_t i = 0; i < n; ++i) {
    p[i] = 1.0 / (double)n;
    q[i * n + i] = 0;
    for (size_t j = 0; j < n; ++j) {
      if (j == i) continue;
      q[i * n + i] += r[j * n + i] * r[j * n + i];
      q[i * n + j] = j < i ? q[j * n + i] : -r[j * n + i] * r[i * n + j];
    }
  }
  for (int round = 0; round < 100; ++round) {
    double all = 0, error = 0;
    for (size_t i = 0; i < n; ++i) {
      qp[i] = 0;
      for (size_t j = 0; j < n; ++j) qp[i] += q[i * n + j] * p[j];
      all += p[i] * qp[i];
    }
    for (size_t i = 0; i < n; ++i) error = fmax(error, fabs(qp[i] - all));
    if (error < 0.005 / (double)n) break;
    for (size_t i = 0; i < n; ++i) {
      double diff = (all - qp[i]) / q[i * n + i];
      p[i] += diff;
      all = (all + diff * (diff * q[i * n + i] + 2 * qp[i])) / (1 + diff) / (1 + diff);
      for (size_t j = 0; j < n; ++j) {
        qp[j] = (qp[j] + diff * q[i * n + j]) / (1 + diff);
        p[j] /= 1 + diff;
      }
    }
  }
}

/* Replaces the scores of the pairs by probabilities of the classes (Platt scaling). */
static void probabilities(classifier *c) {
  size_t pair = 0, n = c->classes;
  for (size_t i = 0; i + 1 < n; ++i) {
    for (size_t j = i + 1; j < n; ++j, ++pair) {
      double v = c->scores[pair] * (double)c->prob_a[pair] + (double)c->prob_b[pair];
      v = fmin(fmax(1 - surg__ml_logistic(v), 1e-7), 1 - 1e-7);
      c->r[i * n + j] = v;
      c->r[j * n + i] = 1 - v;
    }
  }
  couple(c, c->scores);
}

static size_t most_votes(const classifier *c) {
  size_t best = 0;
  for (size_t i = 1; i < c->classes; ++i) {
    if (c->votes[i] > c->votes[best]) best = i;
  }
  return best;
}

/* The class of a model without support vectors, which has one score per class. With two classes
 * the largest score is compared with 0, or with 0.5 if all coefficients are >= 0. */
static size_t linear_class(const classifier *c) {
  size_t best = largest(c->scores, c->classes);
  if (c->classes != 2) return best;
  double most = c->scores[best];
  return c->positive ? (most >= 0.5 ? 1 : best) : (most > 0 ? 1 : best);
}

static void classify(surg_kctx *k, classifier *c, uint64_t row) {
  const double *x = c->m.x + row * c->m.columns;
  size_t which;
  double two[2];
  bool second = c->m.n_vectors > 0 && c->n_prob == 0 && c->classes == 2;
  if (c->m.n_vectors > 0) {
    vote(c, x);
    which = most_votes(c);
    if (c->n_prob > 0) probabilities(c);
  } else {
    for (size_t i = 0; i < c->classes; ++i) {
      c->scores[i] = dot(x, c->m.coefficients + i * c->m.columns, c->m.columns);
      c->scores[i] += (double)c->m.rho[0];
    }
    which = linear_class(c);
  }
  surg__ml_put_label(k, &c->labels, row, which);
  bool sum = c->m.transform != SURG__ML_NONE && c->m.transform != SURG__ML_LOGISTIC;
  if (second)
    surg__ml_two(c->m.transform, sum, c->scores[0], two);
  else
    surg__ml_finish(c->m.transform, c->scores, c->width);
  if (k->n_out > 1) put_row(&k->out[1], row, second ? two : c->scores, c->width);
}

/* Reads the support vectors per class and the lists that depend on their number. */
static surg__kstatus read_classes(surg_kctx *k, classifier *c) {
  size_t n, n_b;
  svm *m = &c->m;
  c->per_class = surg__ml_ints(k, "vectors_per_class", &n);
  c->prob_a = surg__ml_floats(k, "prob_a", &c->n_prob);
  c->prob_b = surg__ml_floats(k, "prob_b", &n_b);
  m->n_vectors = 0;
  for (size_t i = 0; i < n; ++i) {
    if (c->per_class[i] < 0 || (uint64_t)c->per_class[i] > m->n_vectors_given ||
        !surg__add(m->n_vectors, (size_t)c->per_class[i], &m->n_vectors)) {
      return surg__k_invalid(k, "vectors_per_class is out of range");
    }
  }
  c->pairs = c->classes * (c->classes - 1) / 2;
  if (m->n_vectors == 0) {
    m->kernel = LINEAR;
    c->width = c->classes;
    c->n_prob = 0;
    uint64_t need, work;
    if (!surg__mul_u64(c->classes, m->columns, &need) || m->n_coefficients != need ||
        m->n_rho < 1) {
      return surg__k_invalid(k, "the coefficients do not fit the input");
    }
    return surg__mul_u64(need, m->rows, &work) ? surg__k_work(k, work) : SURG__K_BUDGET;
  }
  if (n != c->classes || m->n_coefficients / (c->classes - 1) != m->n_vectors ||
      m->n_coefficients % (c->classes - 1) != 0 || m->n_rho < c->pairs || c->n_prob != n_b ||
      (c->n_prob > 0 && c->n_prob < c->pairs)) {
    return surg__k_invalid(k, "the lists of the classifier do not fit each other");
  }
  c->width = c->n_prob > 0 || c->classes == 2 ? c->classes : c->pairs;
  return check_vectors(k, m, 1 + c->classes);
}

surg__kstatus surg__k_svm_classifier(surg_kctx *k) {
  classifier c = {0};
  SURG__K_TRY(surg__ml_labels(k, "classlabels_ints", &c.labels));
  SURG__K_TRY(read_svm(k, &c.m));
  c.classes = c.labels.n;
  if (c.classes < 2 || c.classes > 65535) return surg__k_cannot(k, "a number of classes");
  SURG__K_TRY(read_classes(k, &c));
  if (c.m.transform != SURG__ML_NONE) {
    SURG__K_TRY(surg__k_disputed(k, "runtimes transform scores of pairs in their own ways"));
    if (c.classes == 2 && c.n_prob == 0 && c.m.transform == SURG__ML_PROBIT) {
      return surg__k_cannot(k, "one probit of two");
    }
  }
  c.positive = true;
  for (size_t i = 0; i < c.m.n_coefficients; ++i) {
    c.positive = c.positive && c.m.coefficients[i] >= 0;
  }
  uint64_t square = (uint64_t)c.classes * c.classes, rounds;
  if (!surg__mul_u64(c.m.rows, c.n_prob > 0 ? 400 * square : square, &rounds)) {
    return SURG__K_BUDGET;
  }
  SURG__K_TRY(surg__k_work(k, rounds));
  SURG__K_TRY(surg__ml_label_output(k, &c.labels, c.m.rows));
  SURG__K_TRY(matrix_out(k, 1, c.m.rows, c.width));
  size_t n_scores = c.pairs > c.classes ? c.pairs : c.classes;
  size_t n_square = c.n_prob > 0 ? (size_t)square : 1;
  c.similar = surg__k_scratch(k, c.m.n_vectors, sizeof *c.similar);
  c.scores = surg__k_scratch(k, n_scores, sizeof *c.scores);
  c.votes = surg__k_scratch(k, c.classes, sizeof *c.votes);
  c.q = surg__k_scratch(k, n_square, sizeof *c.q);
  c.r = surg__k_scratch(k, n_square, sizeof *c.r);
  c.qp = surg__k_scratch(k, c.classes, sizeof *c.qp);
  if (!c.similar || !c.scores || !c.votes || !c.q || !c.r || !c.qp) return SURG__K_NOMEM;
  for (uint64_t r = 0; r < c.m.rows; ++r) classify(k, &c, r);
  return SURG__K_OK;
}
