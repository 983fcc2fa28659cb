/* SPDX-License-Identifier: Apache-2.0 */
/* All normalizations except BatchNormalization. Statistics are computed in double; the variance
 * is computed in a second pass from the deviations from the mean. */
#include <math.h>

#include "eval/core/kernels.h"
#include "eval/core/loop.h"
#include "eval/core/number.h"

/* The n elements of x at base + i * step. */
typedef struct series {
  const surg__array *x;
  uint64_t base, n, step;
} series;

static double at(const series *s, uint64_t i) {
  return surg__load_f64(s->x->dtype, s->x->data, s->base + i * s->step);
}

static double mean_of(const series *s) {
  double sum = 0;
  for (uint64_t i = 0; i < s->n; ++i) sum += at(s, i);
  return sum / (double)s->n;
}

/* The mean squared deviation from `mean`. */
static double spread_of(const series *s, double mean) {
  double sum = 0;
  for (uint64_t i = 0; i < s->n; ++i) {
    double d = at(s, i) - mean;
    sum += d * d;
  }
  return sum / (double)s->n;
}

static surg__kstatus make_output(surg_kctx *k, int dtype) {
  const surg__array *x = &k->in[0];
  uint64_t work;
  SURG__K_TRY(surg__k_out(k, 0, dtype, x->dims, x->rank));
  if (!surg__mul_u64(x->count, 4, &work)) return SURG__K_BUDGET;
  return surg__k_work(k, work);
}

static double load(const surg__array *a, uint64_t i) {
  return surg__load_f64(a->dtype, a->data, i);
}

/* --- per channel: InstanceNormalization, GroupNormalization --- */

/* Whether input i is a vector with one element per channel. */
static bool per_channel(const surg_kctx *k, uint32_t i, int64_t channels) {
  return k->in[i].rank == 1 && k->in[i].dims[0] == channels;
}

/* GroupNormalization: each group of channels has its own statistics. InstanceNormalization is
 * the case of one channel per group. */
surg__kstatus surg__k_group_norm(surg_kctx *k) {
  const surg__array *x = &k->in[0], *o = &k->out[0];
  if (!k->wanted[0]) return SURG__K_OK;
  if (x->rank < 2) return surg__k_invalid(k, "the input has no channels");
  bool instance = k->op == SURG_OP_InstanceNormalization;
  int64_t channels = x->dims[1];
  int64_t groups = instance ? channels : surg_node_int(k->node, "num_groups", 0);
  if (!instance && (groups < 1 || channels % groups != 0)) {
    return surg__k_invalid(k, "the channels are not a multiple of num_groups");
  }
  bool by_group = !instance && k->since < 21;
  if (!per_channel(k, 1, by_group ? groups : channels) ||
      !per_channel(k, 2, by_group ? groups : channels)) {
    return surg__k_invalid(k, "scale or bias has another number of entries");
  }
  SURG__K_TRY(make_output(k, x->dtype));
  if (x->count == 0) return SURG__K_OK;
  double epsilon = surg_node_float(k->node, "epsilon", 1e-5f);
  uint64_t plane = x->count / (uint64_t)(x->dims[0] * channels);
  uint64_t length = plane * (uint64_t)(channels / groups);
  for (uint64_t base = 0; base < x->count; base += length) {
    series s = {x, base, length, 1};
    double mean = mean_of(&s), by = 1 / sqrt(spread_of(&s, mean) + epsilon);
    for (uint64_t i = 0; i < length; ++i) {
      uint64_t c = (base + i) / plane % (uint64_t)channels;
      if (by_group) c /= (uint64_t)(channels / groups);
      double v = (at(&s, i) - mean) * by * load(&k->in[1], c) + load(&k->in[2], c);
      surg__store_f64(o->dtype, o->data, base + i, v);
    }
  }
  return SURG__K_OK;
}

/* --- over the last axes: LayerNormalization, RMSNormalization --- */

/* The strides of scale or bias (input i) along the axes of x; all 0 if it is absent. False: it
 * does not broadcast to x. */
static bool side_strides(const surg_kctx *k, uint32_t i, int64_t *strides) {
  memset(strides, 0, SURG_LIMIT_RANK * sizeof *strides);
  if (!surg__k_has(k, i)) return true;
  const surg__array *x = &k->in[0], *a = &k->in[i];
  if (a->rank > x->rank) return false;
  return surg__aligned_strides(x, a, (int64_t)(x->rank - a->rank), strides);
}

typedef struct statistics {
  uint64_t length; /* number of elements per mean */
  double *mean, *inverse;
} statistics;

static surg__kstatus find_statistics(surg_kctx *k, uint32_t axis, statistics *s) {
  const surg__array *x = &k->in[0];
  bool centred = k->op == SURG_OP_LayerNormalization;
  double epsilon = surg_node_float(k->node, "epsilon", 1e-5f);
  s->length = 1;
  for (uint32_t d = axis; d < x->rank; ++d) s->length *= (uint64_t)x->dims[d];
  uint64_t rows = s->length > 0 ? x->count / s->length : 0;
  s->mean = surg__k_scratch(k, (size_t)rows + 1, sizeof *s->mean);
  s->inverse = surg__k_scratch(k, (size_t)rows + 1, sizeof *s->inverse);
  if (!s->mean || !s->inverse) return SURG__K_NOMEM;
  for (uint64_t r = 0; r < rows; ++r) {
    series row = {x, r * s->length, s->length, 1};
    s->mean[r] = centred ? mean_of(&row) : 0;
    s->inverse[r] = 1 / sqrt(spread_of(&row, s->mean[r]) + epsilon);
  }
  return SURG__K_OK;
}

/* Writes the output Mean or InvStdDev in the type of stash_type. */
static surg__kstatus stash(surg_kctx *k, uint32_t axis, uint32_t i, const double *from) {
  const surg__array *x = &k->in[0];
  int64_t dims[SURG_LIMIT_RANK];
  int64_t type = surg_node_int(k->node, "stash_type", SURG_FLOAT);
  if (i >= k->n_out || !k->wanted[i]) return SURG__K_OK;
  if (type != SURG_FLOAT && type != SURG_BFLOAT16) return surg__k_cannot(k, "this stash_type");
  for (uint32_t d = 0; d < x->rank; ++d) dims[d] = d < axis ? x->dims[d] : 1;
  SURG__K_TRY(surg__k_out(k, i, (int)type, dims, x->rank));
  const surg__array *o = &k->out[i];
  for (uint64_t j = 0; j < o->count; ++j) surg__store_f64(o->dtype, o->data, j, from[j]);
  return SURG__K_OK;
}

static void normalize_rows(surg_kctx *k, const statistics *s, const int64_t *scale,
                           const int64_t *bias) {
  const surg__array *x = &k->in[0], *o = &k->out[0];
  int64_t dense[SURG_LIMIT_RANK];
  bool has_bias = surg__k_has(k, 2);
  surg__loop l;
  surg__dense_strides(x->dims, x->rank, dense);
  surg__loop_init(&l, x->dims, x->rank, 3, (const int64_t *const[]){dense, scale, bias});
  for (; !l.done; surg__loop_next(&l)) {
    for (int64_t j = 0; j < l.inner; ++j) {
      uint64_t i = (uint64_t)(l.at[0] + j * l.step[0]), row = i / s->length;
      double v = (load(x, i) - s->mean[row]) * s->inverse[row];
      v *= load(&k->in[1], (uint64_t)(l.at[1] + j * l.step[1]));
      if (has_bias) v += load(&k->in[2], (uint64_t)(l.at[2] + j * l.step[2]));
      surg__store_f64(o->dtype, o->data, i, v);
    }
  }
}

surg__kstatus surg__k_layer_norm(surg_kctx *k) {
  const surg__array *x = &k->in[0];
  int64_t scale[SURG_LIMIT_RANK], bias[SURG_LIMIT_RANK];
  statistics s;
  uint32_t axis;
  if (!surg__k_axis(surg_node_int(k->node, "axis", -1), x->rank, &axis)) {
    return surg__k_invalid(k, "axis out of range");
  }
  if (!side_strides(k, 1, scale) || !side_strides(k, 2, bias)) {
    return surg__k_invalid(k, "scale or bias does not broadcast to the input");
  }
  for (uint32_t d = axis; d < x->rank; ++d)
    if (x->dims[d] == 0) return surg__k_cannot(k, "the statistics of nothing");
  SURG__K_TRY(make_output(k, k->in[1].dtype));
  SURG__K_TRY(find_statistics(k, axis, &s));
  if (k->wanted[0] && x->count > 0) normalize_rows(k, &s, scale, bias);
  SURG__K_TRY(stash(k, axis, 1, s.mean));
  return stash(k, axis, 2, s.inverse);
}

/* --- LpNormalization, LRN, MeanVarianceNormalization --- */

/* Index of element 0 of series r along an axis of size `length` and stride `step`. */
static uint64_t run_base(uint64_t r, uint64_t length, uint64_t step) {
  return r / step * length * step + r % step;
}

surg__kstatus surg__k_lp_norm(surg_kctx *k) {
  const surg__array *x = &k->in[0], *o = &k->out[0];
  uint32_t axis;
  int64_t p = surg_node_int(k->node, "p", 2);
  if (!k->wanted[0]) return SURG__K_OK;
  if (!surg__k_axis(surg_node_int(k->node, "axis", -1), x->rank, &axis) || (p != 1 && p != 2)) {
    return surg__k_invalid(k, "axis out of range, or p neither 1 nor 2");
  }
  SURG__K_TRY(make_output(k, x->dtype));
  if (x->count == 0) return SURG__K_OK;
  uint64_t step = 1, length = (uint64_t)x->dims[axis];
  for (uint32_t d = axis + 1; d < x->rank; ++d) step *= (uint64_t)x->dims[d];
  for (uint64_t r = 0; r < x->count / length; ++r) {
    series s = {x, run_base(r, length, step), length, step};
    double norm = 0;
    for (uint64_t i = 0; i < length; ++i) norm += p == 1 ? fabs(at(&s, i)) : at(&s, i) * at(&s, i);
    if (p == 2) norm = sqrt(norm);
    for (uint64_t i = 0; i < length; ++i) {
      surg__store_f64(o->dtype, o->data, s.base + i * step, norm == 0 ? 0 : at(&s, i) / norm);
    }
  }
  return SURG__K_OK;
}

surg__kstatus surg__k_lrn(surg_kctx *k) {
  const surg__array *x = &k->in[0], *o = &k->out[0];
  int64_t size = surg_node_int(k->node, "size", 0);
  double alpha = surg_node_float(k->node, "alpha", 1e-4f);
  double beta = surg_node_float(k->node, "beta", 0.75f), bias = surg_node_float(k->node, "bias", 1);
  uint64_t work;
  if (!k->wanted[0]) return SURG__K_OK;
  if (x->rank < 2 || size < 1) return surg__k_invalid(k, "no channels, or no size");
  SURG__K_TRY(make_output(k, x->dtype));
  if (x->count == 0) return SURG__K_OK;
  int64_t channels = x->dims[1], before = (size - 1) / 2, after = size - 1 - before;
  if (!surg__mul_u64(x->count, (uint64_t)(size < channels ? size : channels), &work)) {
    return SURG__K_BUDGET;
  }
  SURG__K_TRY(surg__k_work(k, work));
  uint64_t plane = x->count / (uint64_t)(x->dims[0] * channels);
  for (uint64_t i = 0; i < x->count; ++i) {
    int64_t c = (int64_t)(i / plane % (uint64_t)channels);
    int64_t low = c > before ? c - before : 0;
    int64_t high = channels - 1 - c > after ? c + after : channels - 1;
    double sum = 0;
    for (int64_t j = low; j <= high; ++j) {
      double v = load(x, i - (uint64_t)c * plane + (uint64_t)j * plane);
      sum += v * v;
    }
    double by = pow(bias + alpha / (double)size * sum, beta);
    surg__store_f64(o->dtype, o->data, i, load(x, i) / by);
  }
  return SURG__K_OK;
}

/* The strides of x in an array of statistics, which has one entry per position on the axes that
 * are not averaged. *groups is its size. */
static surg__kstatus group_axes(surg_kctx *k, int64_t *strides, uint64_t *groups) {
  static const int64_t usual[] = {0, 2, 3};
  const surg__array *x = &k->in[0];
  size_t n = SURG_COUNT(usual);
  bool averaged[SURG_LIMIT_RANK] = {false};
  const int64_t *axes = usual;
  if (surg_node_attr(k->node, "axes")) axes = surg_node_ints(k->node, "axes", &n);
  for (size_t i = 0; i < n; ++i) {
    uint32_t axis;
    if (!surg__k_axis(axes[i], x->rank, &axis)) return surg__k_invalid(k, "axis out of range");
    averaged[axis] = true;
  }
  *groups = 1;
  for (uint32_t d = x->rank; d-- > 0;) {
    strides[d] = averaged[d] ? 0 : (int64_t)*groups;
    if (!averaged[d]) *groups *= (uint64_t)x->dims[d];
  }
  return SURG__K_OK;
}

/* Calls `add` for every element, with the index of its statistics. */
static void each_element(const surg__array *x, const int64_t *strides,
                         void (*add)(void *user, uint64_t i, uint64_t group), void *user) {
  int64_t dense[SURG_LIMIT_RANK];
  surg__loop l;
  surg__dense_strides(x->dims, x->rank, dense);
  surg__loop_init(&l, x->dims, x->rank, 2, (const int64_t *const[]){dense, strides});
  for (; !l.done; surg__loop_next(&l)) {
    for (int64_t j = 0; j < l.inner; ++j) {
      add(user, (uint64_t)(l.at[0] + j * l.step[0]), (uint64_t)(l.at[1] + j * l.step[1]));
    }
  }
}

typedef struct grouped {
  const surg__array *x, *o;
  double *mean, *spread; /* sums before they are divided */
} grouped;

static void add_mean(void *user, uint64_t i, uint64_t group) {
  grouped *g = user;
  g->mean[group] += load(g->x, i);
}
static void add_spread(void *user, uint64_t i, uint64_t group) {
  grouped *g = user;
  double d = load(g->x, i) - g->mean[group];
  g->spread[group] += d * d;
}
static void put_normal(void *user, uint64_t i, uint64_t group) {
  grouped *g = user;
  double by = sqrt(g->spread[group]) + 1e-9;
  surg__store_f64(g->o->dtype, g->o->data, i, (load(g->x, i) - g->mean[group]) / by);
}

surg__kstatus surg__k_mean_variance(surg_kctx *k) {
  const surg__array *x = &k->in[0];
  int64_t strides[SURG_LIMIT_RANK];
  uint64_t groups = 1;
  if (!k->wanted[0]) return SURG__K_OK;
  SURG__K_TRY(make_output(k, x->dtype));
  if (x->count == 0) return SURG__K_OK;
  SURG__K_TRY(group_axes(k, strides, &groups));
  grouped g = {x, &k->out[0], NULL, NULL};
  double each = (double)(x->count / groups);
  g.mean = surg__k_scratch(k, (size_t)groups, sizeof *g.mean);
  g.spread = surg__k_scratch(k, (size_t)groups, sizeof *g.spread);
  if (!g.mean || !g.spread) return SURG__K_NOMEM;
  for (uint64_t i = 0; i < groups; ++i) g.mean[i] = g.spread[i] = 0;
  each_element(x, strides, add_mean, &g);
  for (uint64_t i = 0; i < groups; ++i) g.mean[i] /= each;
  each_element(x, strides, add_spread, &g);
  for (uint64_t i = 0; i < groups; ++i) g.spread[i] /= each;
  each_element(x, strides, put_normal, &g);
  return SURG__K_OK;
}
