/* SPDX-License-Identifier: Apache-2.0 */
/* Operators of ONNX Runtime (com.microsoft) that occur in models it optimized. Only the runtime
 * defines them, so they are computed in a run and not folded. */
#include <math.h>
#include <string.h>

#include "eval/core/kernels.h"
#include "eval/core/loop.h"
#include "eval/core/piece.h"
#include "eval/linear/gemm.h"
#include "eval/nn/activation.h"

static surg__kstatus like_input(surg_kctx *k, uint64_t work_each) {
  const surg__array *x = &k->in[0];
  uint64_t work;
  SURG__K_TRY(surg__k_own(k));
  SURG__K_TRY(surg__k_out(k, 0, x->dtype, x->dims, x->rank));
  if (!surg__mul_u64(x->count, work_each, &work)) return SURG__K_BUDGET;
  return surg__k_work(k, work);
}

/* Whether input i is a vector along the last axis of input 0. */
static bool over_last(const surg_kctx *k, uint32_t i) {
  const surg__array *x = &k->in[0], *a = &k->in[i];
  return x->rank > 0 && a->rank == 1 && a->dims[0] == x->dims[x->rank - 1];
}

/* --- Gelu of a sum --- */

/* 1 + tanh(u) and 1 + erf(u), without cancellation. */
static double gelu_gate(double v, bool fast) {
  return fast ? 2 / (1 + exp(-2 * 0.7978845608028654 * (v + 0.044715 * v * v * v)))
              : erfc(-v * 0.70710678118654752440);
}

surg__kstatus surg__k_bias_gelu(surg_kctx *k) {
  const surg__array *x = &k->in[0];
  const bool fast = k->op == SURG_OP_ms_FastGelu, shifts = surg__k_has(k, 1);
  if (!k->wanted[0]) return SURG__K_OK;
  if (shifts && !over_last(k, 1)) return surg__k_invalid(k, "the bias does not fit the last axis");
  SURG__K_TRY(like_input(k, 8));
  const surg__array *o = &k->out[0];
  const uint64_t row = shifts && o->count > 0 ? k->in[1].count : 1;
  double v[SURG__PIECE], *bias = surg__k_scratch(k, (size_t)row, sizeof *bias);
  if (!bias) return SURG__K_NOMEM;
  *bias = 0;
  if (shifts && o->count > 0) surg__load_run(k->in[1].dtype, k->in[1].data, 0, 1, row, bias);
  for (uint64_t at = 0, n, j = 0; at < o->count; at += n) {
    n = o->count - at < SURG__PIECE ? o->count - at : SURG__PIECE;
    surg__load_run(x->dtype, x->data, at, 1, n, v);
    for (uint64_t i = 0; i < n; ++i) {
      const double shifted = v[i] + bias[j];
      v[i] = 0.5 * shifted * gelu_gate(shifted, fast);
      j = j + 1 == row ? 0 : j + 1;
    }
    surg__store_reals(o->dtype, o->data, at, n, v);
  }
  return SURG__K_OK;
}

/* --- LayerNormalization of a sum, also without subtracting the mean --- */

typedef struct norm {
  bool skips, centred;
  uint32_t beta, bias; /* input indices; 0: none */
  double epsilon;
  uint64_t length; /* product of the normalized axes */
  int outputs[3];  /* output indices of mean, inverse deviation and sum; -1: none */
} norm;

static surg__kstatus read_norm(surg_kctx *k, norm *n) {
  const surg__array *x = &k->in[0];
  uint32_t axis;
  *n = (norm){.skips = k->op != SURG_OP_contrib_SimplifiedLayerNormalization,
              .centred = k->op == SURG_OP_ms_SkipLayerNormalization,
              .length = 1,
              .outputs = {1, 2, 3}};
  if (n->centred) n->beta = 3;
  if (n->skips) n->bias = n->centred ? 4 : 3;
  if (!n->skips) memcpy(n->outputs, (int[]){-1, 1, -1}, sizeof n->outputs);
  n->epsilon = surg_node_float(k->node, "epsilon", n->skips ? 1e-12f : 1e-5f);
  const int64_t wish = n->skips ? -1 : surg_node_int(k->node, "axis", -1);
  if (!surg__k_axis(wish, x->rank, &axis)) return surg__k_invalid(k, "axis out of range");
  for (uint32_t d = axis; d < x->rank; ++d) n->length *= (uint64_t)x->dims[d];
  const uint32_t sides[] = {n->skips ? 2 : 1, n->beta, n->bias};
  for (size_t i = 0; i < SURG_COUNT(sides); ++i) {
    const bool there = sides[i] && surg__k_has(k, sides[i]);
    if (there && k->in[sides[i]].count != n->length)
      return surg__k_invalid(k, "scale or bias does not fit the normalized axes");
  }
  if (n->skips && (k->in[1].count == 0 || x->count % k->in[1].count != 0))
    return surg__k_invalid(k, "input and skip have different shapes");
  return x->count ? SURG__K_OK : surg__k_cannot(k, "the statistics of nothing");
}

/* Makes the output for mean or inverse deviation: one number per row. */
static surg__kstatus stash(surg_kctx *k, const norm *n, int output, surg__array **out) {
  const surg__array *x = &k->in[0];
  int64_t dims[SURG_LIMIT_RANK];
  *out = NULL;
  if (output < 0 || (uint32_t)output >= k->n_out || !k->wanted[output]) return SURG__K_OK;
  uint64_t inner = 1;
  for (uint32_t d = x->rank; d-- > 0;) {
    dims[d] = inner < n->length ? 1 : x->dims[d];
    inner *= (uint64_t)x->dims[d];
  }
  SURG__K_TRY(surg__k_out(k, (uint32_t)output, SURG_FLOAT, dims, x->rank));
  *out = &k->out[output];
  return SURG__K_OK;
}

static void put_row(surg_kctx *k, const norm *n, uint64_t row, const double *sum, double mean,
                    double inverse) {
  const surg__array *gamma = &k->in[n->skips ? 2 : 1], *o = &k->out[0];
  for (uint64_t i = 0; i < n->length; ++i) {
    double v = (sum[i] - mean) * inverse * surg__number_at(gamma, i);
    if (n->beta && surg__k_has(k, n->beta)) v += surg__number_at(&k->in[n->beta], i);
    surg__store_f64(o->dtype, o->data, row * n->length + i, v);
  }
}

/* Adds the inputs of a row, rounding to float at each step as the runtime does; returns the
 * mean. */
static double sum_row(const surg_kctx *k, const norm *n, uint64_t row, double *sum) {
  double mean = 0;
  for (uint64_t i = 0; i < n->length; ++i) {
    const uint64_t at = row * n->length + i;
    sum[i] = surg__number_at(&k->in[0], at);
    if (n->skips) sum[i] = (float)(sum[i] + surg__number_at(&k->in[1], at % k->in[1].count));
    if (n->bias && surg__k_has(k, n->bias))
      sum[i] = (float)(sum[i] + surg__number_at(&k->in[n->bias], i));
    mean += sum[i];
  }
  return mean / (double)n->length;
}

surg__kstatus surg__k_skip_norm(surg_kctx *k) {
  const surg__array *x = &k->in[0];
  surg__array *means, *inverses, *sums = NULL;
  norm n;
  SURG__K_TRY(read_norm(k, &n));
  SURG__K_TRY(like_input(k, 6));
  SURG__K_TRY(stash(k, &n, n.outputs[0], &means));
  SURG__K_TRY(stash(k, &n, n.outputs[1], &inverses));
  if (n.outputs[2] > 0 && k->n_out > 3 && k->wanted[3]) {
    SURG__K_TRY(surg__k_out(k, 3, x->dtype, x->dims, x->rank));
    sums = &k->out[3];
  }
  double *sum = surg__k_scratch(k, (size_t)n.length, sizeof *sum);
  if (!sum) return SURG__K_NOMEM;
  for (uint64_t row = 0; row < x->count / n.length; ++row) {
    const double mean = sum_row(k, &n, row, sum), from = n.centred ? mean : 0;
    double spread = 0;
    for (uint64_t i = 0; i < n.length; ++i) spread += (sum[i] - from) * (sum[i] - from);
    const double inverse = 1 / sqrt(spread / (double)n.length + n.epsilon);
    put_row(k, &n, row, sum, from, inverse);
    for (uint64_t i = 0; sums && i < n.length; ++i)
      surg__store_f64(sums->dtype, sums->data, row * n.length + i, sum[i]);
    if (means) surg__store_f64(SURG_FLOAT, means->data, row, from);
    if (inverses) surg__store_f64(SURG_FLOAT, inverses->data, row, inverse);
  }
  return SURG__K_OK;
}

/* --- MatMul of transposed matrices, times a scalar --- */

typedef struct scaled {
  surg__array *o;
  uint64_t at, n;
  double alpha;
  double *row;
} scaled;

static void store_scaled(void *user, uint64_t i, uint64_t column, uint64_t n, const double *sums) {
  const scaled *s = user;
  for (uint64_t j = 0; j < n; ++j) s->row[j] = s->alpha * sums[j];
  surg__store_run(s->o->dtype, s->o->data, s->at + i * s->n + column, n, s->row);
}

/* Reads lines and depth of an operand: rows of the left matrix, columns of the right one. */
static void side_of(const surg__array *a, bool left, bool turned, uint64_t *lines, uint64_t *depth,
                    surg__gemm_matrix *m) {
  const bool first = left != turned; /* lines are the last axis but one */
  const uint64_t rows = (uint64_t)a->dims[a->rank - 2], columns = (uint64_t)a->dims[a->rank - 1];
  *lines = first ? rows : columns;
  *depth = first ? columns : rows;
  *m = (surg__gemm_matrix){.dtype = a->dtype,
                           .data = a->data,
                           .line = first ? columns : 1,
                           .depth = first ? 1 : columns};
}

static surg__kstatus fused_batches(surg_kctx *k, surg__gemm *g, surg__gemm_matrix *a,
                                   surg__gemm_matrix *b, const int64_t *dims, uint32_t rank) {
  int64_t sa[SURG_LIMIT_RANK], sb[SURG_LIMIT_RANK], so[SURG_LIMIT_RANK];
  const surg__array *x = &k->in[0], *y = &k->in[1];
  const surg__array xs = {.rank = x->rank - 2, .dims = x->dims, .count = x->count};
  const surg__array ys = {.rank = y->rank - 2, .dims = y->dims, .count = y->count};
  surg__gemm_room room;
  scaled to = {.o = &k->out[0], .n = g->n, .alpha = surg_node_float(k->node, "alpha", 1)};
  to.row = surg__k_scratch(k, SURG__GEMM_BLOCK, sizeof *to.row);
  if (!to.row) return SURG__K_NOMEM;
  g->store = store_scaled;
  g->to = &to;
  SURG__K_TRY(surg__gemm_init(k, &room, g->m, g->n, g->d, to.o->count / (g->m * g->n),
                              surg__gemm_kind_of(x->dtype, x->dtype)));
  surg__broadcast_strides(&xs, dims, rank, sa);
  surg__broadcast_strides(&ys, dims, rank, sb);
  surg__dense_strides(dims, rank, so);
  surg__loop l;
  surg__loop_init(&l, dims, rank, 3, (const int64_t *const[]){so, sa, sb});
  for (; !l.done; surg__loop_next(&l))
    for (int64_t i = 0; i < l.inner; ++i) {
      to.at = (uint64_t)(l.at[0] + i * l.step[0]) * g->m * g->n;
      a->at = (uint64_t)(l.at[1] + i * l.step[1]) * g->m * g->d;
      b->at = (uint64_t)(l.at[2] + i * l.step[2]) * g->d * g->n;
      surg__gemm_run(g, &room);
    }
  return SURG__K_OK;
}

surg__kstatus surg__k_fused_matmul(surg_kctx *k) {
  const surg__array *x = &k->in[0], *y = &k->in[1];
  int64_t dims[SURG_LIMIT_RANK + 2];
  uint32_t rank;
  uint64_t depth;
  surg__gemm_matrix a, b;
  surg__gemm g = {
      .pack_a = surg__gemm_pack_matrix, .pack_b = surg__gemm_pack_matrix, .a = &a, .b = &b};
  if (!k->wanted[0]) return SURG__K_OK;
  SURG__K_TRY(surg__k_own(k));
  if (x->rank < 2 || y->rank < 2 || surg_node_int(k->node, "transBatchA", 0) ||
      surg_node_int(k->node, "transBatchB", 0))
    return surg__k_cannot(k, "batches after the rows, or a vector");
  side_of(x, true, surg_node_int(k->node, "transA", 0) != 0, &g.m, &g.d, &a);
  side_of(y, false, surg_node_int(k->node, "transB", 0) != 0, &g.n, &depth, &b);
  if (depth != g.d) return surg__k_invalid(k, "the inner sizes of the matrices differ");
  const surg__array xs = {.rank = x->rank - 2, .dims = x->dims, .count = x->count};
  const surg__array ys = {.rank = y->rank - 2, .dims = y->dims, .count = y->count};
  if (!surg__broadcast_dims((const surg__array *const[]){&xs, &ys}, 2, dims, &rank))
    return surg__k_invalid(k, "the batch sizes do not broadcast");
  dims[rank] = (int64_t)g.m;
  dims[rank + 1] = (int64_t)g.n;
  SURG__K_TRY(surg__k_out(k, 0, x->dtype, dims, rank + 2));
  if (k->out[0].count == 0) return SURG__K_OK;
  return fused_batches(k, &g, &a, &b, dims, rank);
}

/* --- QLinearAdd, QLinearMul --- */

/* Reads input i, a scale or a zero point of a whole tensor. */
static bool one_number(const surg_kctx *k, uint32_t i, double *out) {
  *out = 0;
  if (!surg__k_has(k, i)) return i != 1 && i != 4 && i != 6;
  if (k->in[i].count != 1) return false;
  *out = surg__number_at(&k->in[i], 0);
  return true;
}

surg__kstatus surg__k_qlinear_pair(surg_kctx *k) {
  const bool product = k->op == SURG_OP_ms_QLinearMul;
  const surg__array *a = &k->in[0], *b = &k->in[3];
  double by[8];
  int64_t dims[SURG_LIMIT_RANK], sa[SURG_LIMIT_RANK], sb[SURG_LIMIT_RANK], so[SURG_LIMIT_RANK];
  uint32_t rank;
  if (!k->wanted[0]) return SURG__K_OK;
  SURG__K_TRY(surg__k_own(k));
  for (uint32_t i = 1; i < 8; ++i)
    if (i != 3 && !one_number(k, i, &by[i])) return surg__k_invalid(k, "a scale is not a number");
  if (!surg__broadcast_dims((const surg__array *const[]){a, b}, 2, dims, &rank))
    return surg__k_invalid(k, "the shapes do not broadcast");
  SURG__K_TRY(surg__k_out(k, 0, a->dtype, dims, rank));
  const surg__array *o = &k->out[0];
  SURG__K_TRY(surg__k_work(k, o->count));
  surg__broadcast_strides(a, dims, rank, sa);
  surg__broadcast_strides(b, dims, rank, sb);
  surg__dense_strides(dims, rank, so);
  const double low = (double)surg__int_min(o->dtype), high = (double)surg__int_max(o->dtype);
  surg__loop l;
  surg__loop_init(&l, dims, rank, 3, (const int64_t *const[]){so, sa, sb});
  for (; !l.done; surg__loop_next(&l))
    for (int64_t i = 0; i < l.inner; ++i) {
      const double x = (surg__number_at(a, (uint64_t)(l.at[1] + i * l.step[1])) - by[2]) * by[1];
      const double y = (surg__number_at(b, (uint64_t)(l.at[2] + i * l.step[2])) - by[5]) * by[4];
      double v = nearbyint((double)(float)((product ? x * y : x + y) / by[6])) + by[7];
      v = !(v > low) ? low : v > high ? high : v;
      surg__store_int(o->dtype, o->data, (uint64_t)(l.at[0] + i * l.step[0]), (uint64_t)(int64_t)v);
    }
  return SURG__K_OK;
}

/* --- standard operators with a fused activation --- */

static double f_clip(double x, double low, double high) {
  return x < low ? low : x > high ? high : x;
}

/* Reads the attribute `activation`; *none: it is absent. */
static surg__kstatus read_activation(surg_kctx *k, const float *given, size_t n,
                                     surg__activation *out, bool *none) {
  static const struct {
    const char *word;
    int op;
    float alpha, beta;
  } known[] = {{"Relu", SURG_OP_Relu, 0, 0},
               {"Tanh", SURG_OP_Tanh, 0, 0},
               {"Sigmoid", SURG_OP_Sigmoid, 0, 0},
               {"LeakyRelu", SURG_OP_LeakyRelu, 0.01f, 0},
               {"HardSigmoid", SURG_OP_HardSigmoid, 0.2f, 0.5f},
               {"Clip", 0, 0, 0}};
  const surg_attr *attr = surg_node_attr(k->node, "activation");
  const surg_str word = attr ? surg_attr_string(attr) : (surg_str){0};
  *none = word.n == 0;
  if (*none) return SURG__K_OK;
  for (size_t i = 0; i < SURG_COUNT(known); ++i) {
    if (strlen(known[i].word) != word.n || memcmp(known[i].word, word.p, word.n) != 0) continue;
    if (!known[i].op && n < 2) return surg__k_cannot(k, "an activation without its parameters");
    out->fn = known[i].op ? surg__real_function(known[i].op) : f_clip;
    out->alpha = n > 0 ? given[0] : known[i].alpha;
    out->beta = n > 1 ? given[1] : known[i].beta;
    return SURG__K_OK;
  }
  return surg__k_cannot(k, "an unknown activation function");
}

static surg__kstatus activate(surg_kctx *k, const surg__activation *f, const surg__array *more) {
  const surg__array *o = &k->out[0];
  if (!surg__is_real(o->dtype)) return surg__k_cannot(k, "an activation of integers");
  SURG__K_TRY(surg__k_work(k, o->count));
  double v[SURG__PIECE], add[SURG__PIECE] = {0};
  for (uint64_t at = 0, n; at < o->count; at += n) {
    n = o->count - at < SURG__PIECE ? o->count - at : SURG__PIECE;
    surg__load_run(o->dtype, o->data, at, 1, n, v);
    if (more) surg__load_run(more->dtype, more->data, at, 1, n, add);
    for (uint64_t i = 0; i < n; ++i) v[i] = f ? surg__activate(f, v[i] + add[i]) : v[i] + add[i];
    surg__store_reals(o->dtype, o->data, at, n, v);
  }
  return SURG__K_OK;
}

surg__kstatus surg__k_fused_conv(surg_kctx *k) {
  surg__activation f;
  size_t n = 0;
  bool none;
  const surg_attr *a = surg_node_attr(k->node, "activation_params");
  const float *given = a ? surg_attr_floats(a, &n) : NULL;
  if (!k->wanted[0]) return SURG__K_OK;
  SURG__K_TRY(surg__k_own(k));
  SURG__K_TRY(read_activation(k, given, given ? n : 0, &f, &none));
  SURG__K_TRY(surg__k_conv(k));
  const surg__array *z = surg__k_has(k, 3) ? &k->in[3] : NULL;
  const surg__array *y = &k->out[0];
  if (z && (z->rank != y->rank || memcmp(z->dims, y->dims, y->rank * sizeof *y->dims)))
    return surg__k_invalid(k, "Z has another shape than Y");
  return none && !z ? SURG__K_OK : activate(k, none ? NULL : &f, z);
}

surg__kstatus surg__k_fused_gemm(surg_kctx *k) {
  surg__activation f;
  bool none;
  const float given[2] = {surg_node_float(k->node, "activation_alpha", 0),
                          surg_node_float(k->node, "activation_beta", 0)};
  const size_t n = (surg_node_attr(k->node, "activation_alpha") != NULL) +
                   (size_t)(surg_node_attr(k->node, "activation_beta") != NULL);
  if (!k->wanted[0]) return SURG__K_OK;
  SURG__K_TRY(surg__k_own(k));
  SURG__K_TRY(read_activation(k, given, n, &f, &none));
  k->since = 13; /* C broadcasts as in version 7 and later */
  SURG__K_TRY(surg__k_gemm(k));
  return none ? SURG__K_OK : activate(k, &f, NULL);
}

surg__kstatus surg__k_own_quantize(surg_kctx *k) {
  SURG__K_TRY(surg__k_own(k));
  k->since = 13; /* per axis, no blocks */
  return k->op == SURG_OP_ms_QuantizeLinear ? surg__k_quantize(k) : surg__k_dequantize(k);
}
