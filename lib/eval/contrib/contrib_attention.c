/* SPDX-License-Identifier: Apache-2.0 */
/* The attention operators of ONNX Runtime: Attention, QAttention, MultiHeadAttention and
 * GroupQueryAttention. Only the runtime defines them, so they are computed in a run and not folded.
 * Queries, keys and values are first copied to (batch, heads, positions, size) in double; then all
 * operators share one implementation. */
#include <float.h>
#include <math.h>

#include "eval/linear/dot.h"
#include "eval/linear/gemm.h"
#include "eval/core/kernels.h"
#include "eval/core/loop.h"
#include "eval/core/number.h"

typedef struct heads {
  surg_kctx *k;
  int64_t batch, q_heads, kv_heads, q_len, total; /* total: number of keys */
  int64_t size, v_size;                           /* head size of queries and keys, of values */
  double *q, *key, *value;
  double scale, softcap, filter;
  bool causal;
  bool last_at_end; /* the last query sees all keys, also where there are more of those */
  bool skips;                /* leave unseen keys out; else their probability is 0 */
  int64_t window;            /* keys a query sees, its own included; -1: all */
  int64_t past;              /* positions before the first query */
  const int64_t *before;     /* the same per batch entry; NULL: `past` */
  const surg__array *mask;   /* 0 or nonzero per key, or lengths */
  const surg__array *bias;   /* added to scores */
  int64_t bias_steps[4];
  const surg__array *sink;   /* a score per head that counts in the softmax sum only */
  bool smooth;               /* as a sink of score 0 */
  uint32_t scores;           /* output index of (batch, heads, queries, keys); 0: none */
} heads;

/* Reads an attribute that is a number of heads; 0: it is below 1 or too large. */
static int64_t count_of(const surg_kctx *k, const char *name) {
  const int64_t n = surg_node_int(k->node, name, 0);
  return n < 1 || n > INT32_MAX ? 0 : n;
}

/* Strides of the vectors of a tensor along batch, heads and positions. */
typedef struct layout {
  int64_t batch, head, place;
} layout;

static double *room(surg_kctx *k, const heads *a, int64_t n_heads, int64_t places, int64_t size) {
  uint64_t count = 1;
  const int64_t dims[4] = {a->batch, n_heads, places, size};
  if (!surg__dims_product(dims, 4, &count) || count > SIZE_MAX / sizeof(double)) return NULL;
  return surg__k_scratch(k, (size_t)count, sizeof(double));
}

/* Copies the vectors of `from` with layout `l`, adding a bias per head, to positions [at[b], at[b]
 * + n) of `to`, which has `places` positions; at NULL: from `first` on. */
static void lay(const heads *a, const double *from, layout l, int64_t n_heads, int64_t n,
                int64_t size, const double *bias, double *to, int64_t places, const int64_t *at,
                int64_t first) {
  for (int64_t b = 0; b < a->batch; ++b)
    for (int64_t h = 0; h < n_heads; ++h)
      for (int64_t i = 0; i < n; ++i) {
        const double *v = from + b * l.batch + h * l.head + i * l.place;
        double *o = to + ((b * n_heads + h) * places + (at ? at[b] : first) + i) * size;
        for (int64_t d = 0; d < size; ++d) o[d] = v[d] + (bias ? bias[h * size + d] : 0);
      }
}

/* --- scores --- */

/* The mask term of a score: 0, or the filter value. Masks are lengths (batch), ends and starts (2
 * batch), or booleans (batch, keys), (batch, queries, keys), (batch, 1, max, max). */
static double masked(const heads *a, int64_t b, int64_t i, int64_t j) {
  const surg__array *m = a->mask;
  if (!m) return 0;
  const int32_t *v = m->data;
  bool sees;
  if (m->rank == 1) {
    sees = j < v[b] && (m->dims[0] < 2 * a->batch || j >= v[a->batch + b]);
  } else if (m->rank == 2) {
    sees = v[b * a->total + j] > 0;
  } else if (m->rank == 3) {
    sees = v[(b * a->q_len + i) * a->total + j] > 0;
  } else {
    sees = v[(b * m->dims[2] + a->past + i) * m->dims[3] + j] > 0;
  }
  return sees ? 0 : a->filter;
}

static bool mask_fits(const heads *a) {
  const surg__array *m = a->mask;
  if (!m) return true;
  if (m->dtype != SURG_INT32) return false;
  if (m->rank == 1) return m->dims[0] == a->batch || m->dims[0] == 2 * a->batch;
  if (m->rank == 0 || m->rank > 4 || m->dims[0] != a->batch) return false;
  if (m->rank == 2) return m->dims[1] == a->total;
  if (m->rank == 3) return m->dims[1] == a->q_len && m->dims[2] == a->total;
  return m->dims[1] == 1 && m->dims[2] >= a->total && m->dims[3] >= a->total;
}

/* Whether the bias is (batch or 1, heads or 1, queries, keys). */
static bool bias_fits(heads *a) {
  const surg__array *m = a->bias;
  if (!m) return true;
  const int64_t whole[4] = {a->batch, a->q_heads, a->q_len, a->total};
  if (m->rank != 4 || !surg__is_real(m->dtype)) return false;
  for (uint32_t d = 0; d < 4; ++d)
    if (m->dims[d] != whole[d] && (d > 1 || m->dims[d] != 1)) return false;
  surg__broadcast_strides(m, NULL, 4, a->bias_steps);
  return true;
}

/* Replaces the scores of keys [low, high) in `row` by probabilities; a sink is part of the sum. */
static void shares(const heads *a, int64_t h, double *row, int64_t low, int64_t high) {
  const bool sinks = a->sink || a->smooth;
  const double sink = a->sink ? surg__real_at(a->sink, (uint64_t)h) : 0;
  double most = sinks ? sink : -INFINITY, sum = 0;
  for (int64_t j = low; j < high; ++j)
    if (isnan(row[j]) || row[j] > most) most = row[j];
  for (int64_t j = low; j < high; ++j) sum += row[j] = exp(row[j] - most);
  if (sinks) sum += exp(sink - most);
  for (int64_t j = low; j < high; ++j) row[j] /= sum;
}

/* Computes the result of query i of head h into `sum`. */
static void attend(const heads *a, int64_t b, int64_t h, int64_t i, double *row, double *sum) {
  const int64_t kv = b * a->kv_heads + h / (a->q_heads / a->kv_heads);
  const int64_t at = (a->before ? a->before[b] : a->past) + i;
  const bool all = !a->causal || (a->last_at_end && i + 1 == a->q_len) || at + 1 >= a->total;
  const int64_t seen = all ? a->total : at + 1;
  const int64_t high = a->skips ? seen : a->total;
  const int64_t low = a->window >= 0 && high > a->window ? high - a->window : 0;
  const double *q = a->q + ((b * a->q_heads + h) * a->q_len + i) * a->size;
  surg__rows_times(a->key + (kv * a->total + low) * a->size, (uint64_t)(high - low),
                   (uint64_t)a->size, (uint64_t)a->size, q, row + low);
  for (int64_t j = low; j < high; ++j) {
    row[j] *= a->scale;
    if (j >= seen) {
      row[j] = -INFINITY;
      continue;
    }
    if (a->softcap > 0) row[j] = tanh(row[j] / a->softcap) * a->softcap;
    row[j] += masked(a, b, i, j);
    const int64_t *s = a->bias_steps;
    if (a->bias)
      row[j] += surg__real_at(a->bias, (uint64_t)(b * s[0] + h * s[1] + i * s[2] + j * s[3]));
  }
  if (a->scores > 0) { /* no window: low is 0 */
    const int64_t first = ((b * a->q_heads + h) * a->q_len + i) * a->total;
    for (int64_t j = 0; j < a->total; ++j)
      surg__real_put(&a->k->out[a->scores], (uint64_t)(first + j),
                     row[j] < -FLT_MAX ? -(double)FLT_MAX : row[j]); /* as in the runtime */
  }
  shares(a, h, row, low, high);
  for (int64_t d = 0; d < a->v_size; ++d) sum[d] = 0;
  for (int64_t j = low; j < high; ++j) {
    const double *v = a->value + (kv * a->total + j) * a->v_size;
    for (int64_t d = 0; d < a->v_size; ++d) sum[d] += row[j] * v[d];
  }
}

/* Stores output 0, (batch, queries, heads * size). */
static surg__kstatus finish(heads *a) {
  surg_kctx *k = a->k;
  if (a->total == 0) return surg__k_cannot(k, "attention without keys");
  if (a->size < 1 || a->v_size < 1) return surg__k_cannot(k, "heads without elements");
  if (!mask_fits(a)) return surg__k_cannot(k, "a mask of that shape");
  if (!bias_fits(a)) return surg__k_invalid(k, "the bias does not fit the scores");
  if (a->sink && a->sink->count != (uint64_t)a->q_heads)
    return surg__k_invalid(k, "there is not one sink a head");
  const int64_t dims[3] = {a->batch, a->q_len, a->q_heads * a->v_size};
  SURG__K_TRY(surg__k_out(k, 0, k->in[0].dtype == SURG_FLOAT16 ? SURG_FLOAT16 : k->in[0].dtype ==
                          SURG_BFLOAT16 ? SURG_BFLOAT16 : SURG_FLOAT, dims, 3));
  const int64_t scores[4] = {a->batch, a->q_heads, a->q_len, a->total};
  if (a->scores > 0) SURG__K_TRY(surg__k_out(k, a->scores, k->out[0].dtype, scores, 4));
  const uint64_t work[] = {(uint64_t)a->batch, (uint64_t)a->q_heads, (uint64_t)a->q_len,
                           (uint64_t)a->total, (uint64_t)(a->size + a->v_size)};
  SURG__K_TRY(surg__k_work_product(k, work, SURG_COUNT(work)));
  double *row = surg__k_scratch(k, (size_t)a->total, sizeof *row);
  double *sum = surg__k_scratch(k, (size_t)a->v_size, sizeof *sum);
  if (!row || !sum) return SURG__K_NOMEM;
  const surg__array *o = &k->out[0];
  const bool wanted = k->wanted[0] || a->scores > 0;
  for (int64_t r = 0; wanted && r < a->batch * a->q_heads * a->q_len; ++r) {
    const int64_t i = r % a->q_len, h = r / a->q_len % a->q_heads, b = r / a->q_len / a->q_heads;
    attend(a, b, h, i, row, sum);
    const int64_t at = ((b * a->q_len + i) * a->q_heads + h) * a->v_size;
    for (int64_t d = 0; k->wanted[0] && d < a->v_size; ++d)
      surg__real_put(o, (uint64_t)(at + d), sum[d]);
  }
  return SURG__K_OK;
}

static surg__kstatus put(surg_kctx *k, uint32_t out, uint64_t at, const double *from,
                         uint64_t n) {
  if (out >= k->n_out || !k->wanted[out]) return SURG__K_OK;
  for (uint64_t i = 0; i < n; ++i) surg__real_put(&k->out[out], at + i, from[i]);
  return SURG__K_OK;
}

/* Stores keys and values as outputs of (batch, heads, positions, size). */
static surg__kstatus show_present(const heads *a) {
  surg_kctx *k = a->k;
  const int dtype = k->in[0].dtype;
  const int64_t keys[4] = {a->batch, a->kv_heads, a->total, a->size};
  const int64_t values[4] = {a->batch, a->kv_heads, a->total, a->v_size};
  const uint64_t rows = (uint64_t)(a->batch * a->kv_heads * a->total);
  SURG__K_TRY(surg__k_out(k, 1, dtype, keys, 4));
  SURG__K_TRY(surg__k_out(k, 2, dtype, values, 4));
  SURG__K_TRY(put(k, 1, 0, a->key, rows * (uint64_t)a->size));
  return put(k, 2, 0, a->value, rows * (uint64_t)a->v_size);
}

static double scale_of(const surg_node *n, int64_t size) {
  const double scale = surg_node_float(n, "scale", 0);
  return scale != 0 ? scale : 1 / sqrt((double)size);
}

/* --- Attention, QAttention --- */

typedef struct projected {
  double *to;
  uint64_t width;
  const double *scales, *bias; /* per column; only the first scale is used with one_scale */
  bool one_scale;
} projected;

static void store_projected(void *user, uint64_t i, uint64_t column, uint64_t n,
                            const double *sums) {
  const projected *p = user;
  for (uint64_t j = 0; j < n; ++j) {
    const uint64_t c = column + j;
    const double scale = p->scales ? p->scales[p->one_scale ? 0 : c] : 1;
    p->to[i * p->width + c] = sums[j] * scale + (p->bias ? p->bias[c] : 0);
  }
}

/* Reads inputs 3 and 4 as one scale per column, and inputs 6 and 7 as zero points. */
static surg__kstatus read_quantized(surg_kctx *k, projected *p, surg__gemm_matrix *x,
                                    surg__gemm_matrix *w) {
  const surg__array *by = &k->in[4];
  if (k->in[3].count != 1 || (by->count != 1 && by->count != p->width))
    return surg__k_invalid(k, "a scale is not a number");
  double *scales = surg__k_scratch(k, (size_t)by->count, sizeof *scales);
  double *zeros = surg__k_scratch(k, (size_t)p->width + 1, sizeof *zeros);
  if (!scales || !zeros) return SURG__K_NOMEM;
  for (uint64_t i = 0; i < by->count; ++i)
    scales[i] = surg__real_at(by, i) * surg__real_at(&k->in[3], 0);
  p->scales = scales;
  p->one_scale = by->count == 1;
  for (uint64_t i = 0; i <= p->width; ++i) zeros[i] = 0;
  if (surg__k_has(k, 6)) zeros[0] = (double)(int64_t)surg__load_int(x->dtype, k->in[6].data, 0);
  if (surg__k_has(k, 7)) {
    const surg__array *z = &k->in[7];
    if (z->count != 1 && z->count != p->width) return surg__k_invalid(k, "a zero does not fit");
    for (uint64_t i = 0; i < z->count; ++i)
      zeros[1 + i] = (double)(int64_t)surg__load_int(z->dtype, z->data, i);
    w->zero_step = z->count > 1;
  }
  x->zero = zeros;
  w->zero = zeros + 1;
  return SURG__K_OK;
}

/* Multiplies input and weights: query, key and value of all positions side by side. */
static surg__kstatus project(surg_kctx *k, uint64_t rows, uint64_t depth, projected *p) {
  const surg__array *x = &k->in[0], *w = &k->in[1];
  surg__gemm_matrix a = {.dtype = x->dtype, .data = x->data, .line = depth, .depth = 1};
  surg__gemm_matrix b = {.dtype = w->dtype, .data = w->data, .line = 1, .depth = p->width};
  uint64_t count;
  if (!surg__mul_u64(rows, p->width, &count)) return SURG__K_BUDGET;
  p->to = surg__k_scratch(k, (size_t)count, sizeof *p->to);
  if (!p->to) return SURG__K_NOMEM;
  if (k->op == SURG_OP_ms_QAttention) SURG__K_TRY(read_quantized(k, p, &a, &b));
  if (surg__k_has(k, 2)) {
    if (k->in[2].count != p->width) return surg__k_invalid(k, "the bias does not fit");
    p->bias = surg__k_widen(k, &k->in[2]);
    if (!p->bias) return SURG__K_NOMEM;
  }
  const surg__gemm g = {.m = rows, .n = p->width, .d = depth, .pack_a = surg__gemm_pack_matrix,
                        .pack_b = surg__gemm_pack_matrix, .a = &a, .b = &b,
                        .store = store_projected, .to = p};
  surg__gemm_room room_of;
  SURG__K_TRY(surg__gemm_init(k, &room_of, g.m, g.n, g.d, 1,
                              surg__gemm_kind_of(x->dtype, w->dtype)));
  surg__gemm_run(&g, &room_of);
  return SURG__K_OK;
}

/* Reads the widths of query, key and value. */
static bool read_widths(const surg_kctx *k, int64_t heads_, int64_t width, int64_t *of) {
  size_t n = 0;
  const int64_t *sizes = surg_node_ints(k->node, "qkv_hidden_sizes", &n);
  for (int i = 0; i < 3; ++i) {
    of[i] = sizes && n == 3 ? sizes[i] : width / 3;
    if (of[i] < heads_ || of[i] % heads_ != 0 || of[i] > width) return false;
  }
  return of[0] == of[1] && of[0] + of[1] + of[2] == width;
}

/* Joins the past keys and values (2, batch, heads, positions, size) and the new ones. */
static surg__kstatus with_past(heads *a, uint32_t past, const projected *p, const int64_t *of) {
  surg_kctx *k = a->k;
  const double *old = NULL;
  if (surg__k_has(k, past)) {
    const surg__array *t = &k->in[past];
    if (t->rank != 5 || t->dims[0] != 2 || t->dims[1] != a->batch || t->dims[2] != a->kv_heads ||
        t->dims[4] != a->size || a->size != a->v_size)
      return surg__k_invalid(k, "the past does not fit");
    a->past = t->dims[3];
    old = surg__k_widen(k, t);
    if (!old) return SURG__K_NOMEM;
  }
  const int64_t width = (int64_t)p->width, n = a->q_len;
  a->total = a->past + n;
  a->q = room(k, a, a->q_heads, n, a->size);
  a->key = room(k, a, a->kv_heads, a->total, a->size);
  a->value = room(k, a, a->kv_heads, a->total, a->v_size);
  if (!a->q || !a->key || !a->value) return SURG__K_NOMEM;
  const layout q = {n * width, a->size, width}, v = {n * width, a->v_size, width};
  lay(a, p->to, q, a->q_heads, n, a->size, NULL, a->q, n, NULL, 0);
  lay(a, p->to + of[0], q, a->kv_heads, n, a->size, NULL, a->key, a->total, NULL, a->past);
  lay(a, p->to + of[0] + of[1], v, a->kv_heads, n, a->v_size, NULL, a->value, a->total, NULL,
      a->past);
  if (!old) return SURG__K_OK;
  const layout o = {a->kv_heads * a->past * a->size, a->past * a->size, a->size};
  lay(a, old, o, a->kv_heads, a->past, a->size, NULL, a->key, a->total, NULL, 0);
  lay(a, old + a->batch * o.batch, o, a->kv_heads, a->past, a->size, NULL, a->value, a->total,
      NULL, 0);
  return SURG__K_OK;
}

static surg__kstatus stacked_present(const heads *a, int dtype) {
  surg_kctx *k = a->k;
  if (k->n_out < 2 || !k->wanted[1]) return SURG__K_OK;
  if (a->size != a->v_size) return surg__k_cannot(k, "present keys and values of unlike sizes");
  const int64_t dims[5] = {2, a->batch, a->kv_heads, a->total, a->size};
  const uint64_t half = (uint64_t)(a->batch * a->kv_heads * a->total * a->size);
  SURG__K_TRY(surg__k_out(k, 1, dtype, dims, 5));
  SURG__K_TRY(put(k, 1, 0, a->key, half));
  return put(k, 1, half, a->value, half);
}

/* A single boolean for all keys adds the same to all scores; the runtime ignores such a mask. */
static bool for_all_keys(const heads *a) {
  const surg__array *m = a->mask;
  return m->rank == 2 && m->dims[1] == 1 && (m->dims[0] == 1 || m->dims[0] == a->batch);
}

surg__kstatus surg__k_ms_attention(surg_kctx *k) {
  const bool quantized = k->op == SURG_OP_ms_QAttention;
  const surg__array *x = &k->in[0], *w = &k->in[1];
  const uint32_t mask = quantized ? 5 : 3, past = quantized ? 8 : 4;
  heads a = {.k = k, .window = -1};
  int64_t of[3];
  if (x->rank != 3 || w->rank != 2 || w->dims[0] != x->dims[2])
    return surg__k_invalid(k, "input and weights do not fit together");
  a.batch = x->dims[0];
  a.q_len = x->dims[1];
  a.q_heads = a.kv_heads = count_of(k, "num_heads");
  if (a.q_heads < 1 || !read_widths(k, a.q_heads, w->dims[1], of))
    return surg__k_invalid(k, "the heads do not fit the weights");
  if (surg_node_int(k->node, "do_rotary", 0) || (!quantized && surg__k_has(k, 6)) ||
      surg_node_int(k->node, "past_present_share_buffer", 0))
    return surg__k_cannot(k, "rotation, or a buffer for past and present");
  a.size = of[0] / a.q_heads;
  a.v_size = of[2] / a.q_heads;
  a.scale = scale_of(k->node, a.size);
  a.filter = surg_node_float(k->node, "mask_filter_value", -10000);
  a.causal = surg_node_int(k->node, "unidirectional", 0) != 0;
  a.mask = surg__k_has(k, mask) ? &k->in[mask] : NULL;
  a.bias = !quantized && surg__k_has(k, 5) ? &k->in[5] : NULL;
  if (a.mask && for_all_keys(&a)) a.mask = NULL;
  SURG__K_TRY(surg__k_own(k));
  projected p = {.width = (uint64_t)w->dims[1]};
  SURG__K_TRY(project(k, (uint64_t)(a.batch * a.q_len), (uint64_t)x->dims[2], &p));
  SURG__K_TRY(with_past(&a, past, &p, of));
  SURG__K_TRY(stacked_present(&a, quantized ? k->in[2].dtype : x->dtype));
  return finish(&a);
}

/* --- MultiHeadAttention --- */

/* Reads a tensor of (batch, positions, heads * size) or (batch, heads, positions, size). */
static bool read_side(const heads *a, const surg__array *x, int64_t *places, int64_t *size,
                      layout *l) {
  const int64_t n = a->kv_heads;
  if (x->rank == 3 && x->dims[0] == a->batch && x->dims[2] % n == 0) {
    *places = x->dims[1];
    *size = x->dims[2] / n;
    *l = (layout){*places * x->dims[2], *size, x->dims[2]};
    return true;
  }
  if (x->rank != 4 || x->dims[0] != a->batch || x->dims[1] != n) return false;
  *places = x->dims[2];
  *size = x->dims[3];
  *l = (layout){n * *places * *size, *places * *size, *size};
  return true;
}

typedef struct sides {
  const double *q, *key, *value, *bias;
  layout ql, kl, vl;
  int64_t fresh;
  bool made; /* keys and values have rank 4: computed elsewhere, bias included */
} sides;

/* Reads query, key and value from one tensor (batch, positions, heads, 3, size), or key and value
 * from one (batch, positions, heads, 2, size), or from three tensors. */
static surg__kstatus read_sides(heads *a, sides *s) {
  surg_kctx *k = a->k;
  const surg__array *q = &k->in[0];
  int64_t value_places = 0;
  s->q = surg__k_widen(k, q);
  if (!s->q) return SURG__K_NOMEM;
  if (q->rank == 5 && q->dims[2] == a->q_heads && q->dims[3] == 3) {
    a->size = a->v_size = q->dims[4];
    const int64_t place = a->q_heads * 3 * a->size;
    s->fresh = a->q_len;
    s->ql = s->kl = s->vl = (layout){a->q_len * place, 3 * a->size, place};
    s->key = s->q + a->size;
    s->value = s->key + a->size;
    return SURG__K_OK;
  }
  if (q->rank != 3 || q->dims[2] % a->q_heads != 0 || !surg__k_has(k, 1))
    return surg__k_invalid(k, "the query does not fit the heads");
  a->size = q->dims[2] / a->q_heads;
  s->ql = (layout){a->q_len * q->dims[2], a->size, q->dims[2]};
  const surg__array *key = &k->in[1];
  s->key = surg__k_widen(k, key);
  if (!s->key) return SURG__K_NOMEM;
  if (key->rank == 5 && key->dims[2] == a->q_heads && key->dims[3] == 2) {
    s->fresh = key->dims[1];
    a->v_size = key->dims[4];
    const int64_t place = a->q_heads * 2 * a->size;
    s->kl = s->vl = (layout){s->fresh * place, 2 * a->size, place};
    s->value = s->key + a->size;
    return a->size == a->v_size ? SURG__K_OK : surg__k_invalid(k, "the key does not fit");
  }
  int64_t size;
  s->made = key->rank == 4;
  if (!surg__k_has(k, 2) || !read_side(a, key, &s->fresh, &size, &s->kl) || size != a->size ||
      !read_side(a, &k->in[2], &value_places, &a->v_size, &s->vl) || value_places != s->fresh)
    return surg__k_invalid(k, "key and value do not fit the query");
  s->value = surg__k_widen(k, &k->in[2]);
  return s->value ? SURG__K_OK : SURG__K_NOMEM;
}

static surg__kstatus join_past(heads *a, const sides *s) {
  surg_kctx *k = a->k;
  const bool has = surg__k_has(k, 6);
  if (has != surg__k_has(k, 7)) return surg__k_invalid(k, "past keys or values are absent");
  const surg__array *pk = &k->in[6], *pv = &k->in[7];
  if (has && (pk->rank != 4 || pv->rank != 4 || pk->dims[0] != a->batch ||
              pv->dims[0] != a->batch || pk->dims[1] != a->kv_heads || pk->dims[3] != a->size ||
              pv->dims[1] != a->kv_heads || pv->dims[3] != a->v_size || pk->dims[2] != pv->dims[2]))
    return surg__k_invalid(k, "the past does not fit");
  a->past = has ? pk->dims[2] : 0;
  a->total = a->past + s->fresh;
  const int64_t n = a->kv_heads;
  a->q = room(k, a, a->q_heads, a->q_len, a->size);
  a->key = room(k, a, n, a->total, a->size);
  a->value = room(k, a, n, a->total, a->v_size);
  if (!a->q || !a->key || !a->value) return SURG__K_NOMEM;
  const double *b = s->bias, *bk = NULL, *bv = NULL;
  if (b && !s->made) {
    bk = b + n * a->size;
    bv = bk + n * a->size;
  }
  lay(a, s->q, s->ql, n, a->q_len, a->size, b, a->q, a->q_len, NULL, 0);
  lay(a, s->key, s->kl, n, s->fresh, a->size, bk, a->key, a->total, NULL, a->past);
  lay(a, s->value, s->vl, n, s->fresh, a->v_size, bv, a->value, a->total, NULL, a->past);
  if (!has) return SURG__K_OK;
  const double *ok = surg__k_widen(k, pk), *ov = surg__k_widen(k, pv);
  if (!ok || !ov) return SURG__K_NOMEM;
  const layout kl = {n * a->past * a->size, a->past * a->size, a->size};
  const layout vl = {n * a->past * a->v_size, a->past * a->v_size, a->v_size};
  lay(a, ok, kl, n, a->past, a->size, NULL, a->key, a->total, NULL, 0);
  lay(a, ov, vl, n, a->past, a->v_size, NULL, a->value, a->total, NULL, 0);
  return SURG__K_OK;
}

surg__kstatus surg__k_ms_multi_head(surg_kctx *k) {
  const surg__array *q = &k->in[0];
  heads a = {.k = k, .window = -1};
  sides s = {0};
  a.q_heads = a.kv_heads = count_of(k, "num_heads");
  if (a.q_heads < 1 || q->rank < 3) return surg__k_invalid(k, "the query does not fit the heads");
  /* Keys of rank 4 are complete: the inputs that describe a past buffer have no effect. */
  const bool whole = surg__k_has(k, 1) && k->in[1].rank == 4 && !surg__k_has(k, 6);
  if (!whole && (surg__k_has(k, 8) || surg__k_has(k, 9)))
    return surg__k_cannot(k, "a buffer for past and present");
  a.scores = k->n_out > 3 && k->wanted[3] ? 3 : 0;
  a.batch = q->dims[0];
  a.q_len = q->dims[1];
  SURG__K_TRY(read_sides(&a, &s));
  if (surg__k_has(k, 3)) {
    if (k->in[3].count != (uint64_t)(a.q_heads * (2 * a.size + a.v_size)))
      return surg__k_invalid(k, "the bias does not fit");
    s.bias = surg__k_widen(k, &k->in[3]);
    if (!s.bias) return SURG__K_NOMEM;
  }
  a.scale = scale_of(k->node, a.size);
  a.filter = surg_node_float(k->node, "mask_filter_value", -10000);
  a.causal = surg_node_int(k->node, "unidirectional", 0) != 0;
  a.last_at_end = s.fresh != a.q_len;
  a.mask = surg__k_has(k, 4) ? &k->in[4] : NULL;
  a.bias = surg__k_has(k, 5) ? &k->in[5] : NULL;
  SURG__K_TRY(surg__k_own(k));
  SURG__K_TRY(join_past(&a, &s));
  SURG__K_TRY(show_present(&a));
  return finish(&a);
}

/* --- GroupQueryAttention --- */

typedef struct group {
  const double *q, *key, *value;
  layout ql, kl;
  int64_t *before, past; /* used positions of the past per batch entry; size of the past */
} group;

/* Reads the query alone, or query, keys and values of a position side by side. */
static surg__kstatus read_group(heads *a, group *g) {
  surg_kctx *k = a->k;
  const surg__array *q = &k->in[0];
  const bool packed = !surg__k_has(k, 1);
  const int64_t all = packed ? a->q_heads + 2 * a->kv_heads : a->q_heads;
  if (q->rank != 3 || q->dims[2] % all != 0 || packed == surg__k_has(k, 2))
    return surg__k_invalid(k, "the query does not fit the heads");
  a->size = a->v_size = q->dims[2] / all;
  g->q = surg__k_widen(k, q);
  g->ql = g->kl = (layout){a->q_len * q->dims[2], a->size, q->dims[2]};
  if (packed) {
    g->key = g->q ? g->q + a->q_heads * a->size : NULL;
    g->value = g->q ? g->key + a->kv_heads * a->size : NULL;
    return g->q ? SURG__K_OK : SURG__K_NOMEM;
  }
  const int64_t width = a->kv_heads * a->size;
  for (uint32_t i = 1; i < 3; ++i) {
    const surg__array *x = &k->in[i];
    if (x->rank != 3 || x->dims[0] != a->batch || x->dims[1] != a->q_len || x->dims[2] != width)
      return surg__k_invalid(k, "key or value does not fit the query");
  }
  g->kl = (layout){a->q_len * width, a->size, width};
  g->key = surg__k_widen(k, &k->in[1]);
  g->value = surg__k_widen(k, &k->in[2]);
  return g->q && g->key && g->value ? SURG__K_OK : SURG__K_NOMEM;
}

/* Computes the used length of the past per batch entry, from the last index of each sequence (input
 * 5) and the number of new positions; for a first prompt it is 0. */
static surg__kstatus read_lengths(heads *a, group *g) {
  surg_kctx *k = a->k;
  uint64_t n = 0;
  const int64_t *lengths = surg__k_ints(k, 5, &n);
  if (!lengths || n != (uint64_t)a->batch || k->in[6].count != 1 || k->in[6].dtype != SURG_INT32)
    return surg__k_invalid(k, "the lengths do not fit the batch");
  const int64_t whole = ((const int32_t *)k->in[6].data)[0];
  for (uint32_t i = 3; i < 5; ++i) {
    if (!surg__k_has(k, i)) continue;
    const surg__array *p = &k->in[i];
    if (p->rank != 4 || p->dims[0] != a->batch || p->dims[1] != a->kv_heads ||
        p->dims[3] != a->size || !surg__is_real(p->dtype))
      return surg__k_cannot(k, "the past does not fit, or is quantized");
    if (i == 4 && p->dims[2] != g->past) return surg__k_invalid(k, "the past does not fit");
    g->past = p->dims[2];
  }
  a->total = whole > g->past ? whole : g->past;
  if (whole < a->q_len) return surg__k_invalid(k, "the total length is shorter than the query");
  g->before = surg__k_scratch(k, (size_t)a->batch, sizeof *g->before);
  if (!g->before) return SURG__K_NOMEM;
  for (int64_t b = 0; b < a->batch; ++b) {
    g->before[b] = whole == a->q_len ? 0 : lengths[b] + 1 - a->q_len;
    if (g->before[b] < 0 || g->before[b] > g->past || g->before[b] + a->q_len > a->total)
      return surg__k_invalid(k, "a length is out of range");
  }
  a->before = g->before;
  return SURG__K_OK;
}

/* Applies the rotary embedding to vectors (batch, n_heads, positions, size). The position is in
 * input 9, else counted from before[b]. `offset`: the new vectors follow before[b] older ones in
 * x. */
static surg__kstatus rotate(const heads *a, const int64_t *before, double *x, int64_t n_heads,
                            int64_t places, bool offset) {
  surg_kctx *k = a->k;
  const surg__array *cosines = &k->in[7], *sines = &k->in[8];
  if (!surg__k_has(k, 7) || !surg__k_has(k, 8) || cosines->rank != 2 || sines->rank != 2 ||
      sines->count != cosines->count || cosines->dims[1] * 2 > a->size)
    return surg__k_invalid(k, "the tables of cosines and sines do not fit");
  const int64_t half = cosines->dims[1];
  const bool apart = surg_node_int(k->node, "rotary_interleaved", 0) == 0;
  const int64_t *ids = surg__k_has(k, 9) ? k->in[9].data : NULL;
  if (ids && k->in[9].count != (uint64_t)(a->batch * a->q_len))
    return surg__k_invalid(k, "the positions do not fit");
  /* Of a first prompt only the first position counts, from which others follow. */
  const bool prompt = ids && ((const int32_t *)k->in[6].data)[0] == a->q_len;
  for (int64_t r = 0; r < a->batch * n_heads * a->q_len; ++r) {
    const int64_t i = r % a->q_len, b = r / a->q_len / n_heads, bh = r / a->q_len;
    const int64_t at = prompt ? ids[0] + i : ids ? ids[b * a->q_len + i] : before[b] + i;
    if (at < 0 || at >= cosines->dims[0]) return surg__k_invalid(k, "a position is out of range");
    double *v = x + (bh * places + (offset ? before[b] : 0) + i) * a->size;
    for (int64_t d = 0; d < half; ++d) {
      const double c = surg__real_at(cosines, (uint64_t)(at * half + d));
      const double s = surg__real_at(sines, (uint64_t)(at * half + d));
      double *p = v + (apart ? d : 2 * d), *q = p + (apart ? half : 1);
      const double x0 = *p, x1 = *q;
      *p = x0 * c - x1 * s;
      *q = x1 * c + x0 * s;
    }
  }
  return SURG__K_OK;
}

static surg__kstatus lay_group(heads *a, const group *g) {
  surg_kctx *k = a->k;
  const int64_t n = a->kv_heads;
  a->q = room(k, a, a->q_heads, a->q_len, a->size);
  double **sides_of[2] = {&a->key, &a->value};
  const double *fresh[2] = {g->key, g->value};
  if (!a->q) return SURG__K_NOMEM;
  lay(a, g->q, g->ql, a->q_heads, a->q_len, a->size, NULL, a->q, a->q_len, NULL, 0);
  for (uint32_t i = 0; i < 2; ++i) {
    double *to = *sides_of[i] = room(k, a, n, a->total, a->size);
    if (!to) return SURG__K_NOMEM;
    memset(to, 0, (size_t)(a->batch * n * a->total * a->size) * sizeof *to);
    lay(a, fresh[i], g->kl, n, a->q_len, a->size, NULL, to, a->total, g->before, 0);
    if (!surg__k_has(k, 3 + i)) continue;
    const double *old = surg__k_widen(k, &k->in[3 + i]);
    if (!old) return SURG__K_NOMEM;
    for (int64_t r = 0; r < a->batch * n; ++r)
      memcpy(to + r * a->total * a->size, old + r * g->past * a->size,
             (size_t)(g->before[r / n] * a->size) * sizeof *to);
  }
  if (surg_node_int(k->node, "do_rotary", 0) == 0) return SURG__K_OK;
  SURG__K_TRY(rotate(a, g->before, a->q, a->q_heads, a->q_len, false));
  return rotate(a, g->before, a->key, n, a->total, true);
}

surg__kstatus surg__k_ms_group_query(surg_kctx *k) {
  const surg__array *q = &k->in[0];
  heads a = {.k = k, .causal = true, .skips = true};
  group g = {0};
  a.q_heads = count_of(k, "num_heads");
  a.kv_heads = count_of(k, "kv_num_heads");
  if (q->rank != 3 || a.kv_heads < 1 || a.q_heads < 1 || a.q_heads % a.kv_heads != 0)
    return surg__k_invalid(k, "the query does not fit the heads");
  for (uint32_t i = 12; i < 16; ++i)
    if (surg__k_has(k, i)) return surg__k_cannot(k, "quantized keys, or norms of query and key");
  if (k->n_out > 3 && k->wanted[3]) return surg__k_cannot(k, "scores as an output");
  a.batch = q->dims[0];
  a.q_len = q->dims[1];
  SURG__K_TRY(read_group(&a, &g));
  SURG__K_TRY(read_lengths(&a, &g));
  SURG__K_TRY(surg__k_own(k));
  a.scale = scale_of(k->node, a.size);
  a.softcap = surg_node_float(k->node, "softcap", 0);
  a.window = surg_node_int(k->node, "local_window_size", -1);
  if (a.window < 1) a.window = -1;
  a.smooth = surg_node_int(k->node, "smooth_softmax", -1) == 1;
  a.bias = surg__k_has(k, 10) ? &k->in[10] : NULL;
  a.sink = surg__k_has(k, 11) ? &k->in[11] : NULL;
  SURG__K_TRY(lay_group(&a, &g));
  SURG__K_TRY(show_present(&a));
  return finish(&a);
}
