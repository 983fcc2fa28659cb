/* SPDX-License-Identifier: Apache-2.0 */
/* Attention: scaled dot products of queries and keys, masked, then a softmax, then a weighted sum
 * of the values. Computed in double, whatever softmax_precision is; probabilities too small for a
 * float become 0, or their product with an infinite value would be infinite. A query that sees no
 * key has result 0 (and probabilities NaN), as in the standard since its correction of version
 * 23. */
#include <math.h>

#include "eval/nn/attention.h"
#include "eval/linear/dot.h"
#include "eval/core/kernels.h"
#include "eval/core/loop.h"
#include "eval/core/number.h"

/* Keys or values: those of the past, then the new ones. */
typedef struct source {
  const double *past, *fresh; /* past may be NULL */
  int64_t size;               /* size of one head */
} source;

typedef struct attention {
  surg_kctx *k;
  bool flat; /* rank 3: heads are part of the last axis */
  int64_t batch, q_heads, kv_heads, q_len, fresh, past, total;
  const double *q;
  source key, value;
  double scale, softcap;
  bool causal;
  int64_t left, right;     /* window around the query; -1: unbounded */
  const surg__array *mask; /* NULL: none */
  int64_t mask_strides[4], mask_len;
  const int64_t *valid; /* valid keys of each batch entry, or NULL */
  int stage;            /* what output 3 returns */
  double *row;          /* scores, then probabilities, of one query */
} attention;

#define LEAST_FLOAT 0x1p-150

enum { RAW, CAPPED, MASKED, PROBABILITIES, STAGES };

/* --- addressing --- */

/* The vector of head h at position i of a tensor with `heads` heads and `length` positions. */
static const double *vector(const attention *a, const double *p, int64_t heads, int64_t length,
                            int64_t size, int64_t b, int64_t h, int64_t i, bool flat) {
  (void)a;
  return p + (flat ? (b * length + i) * heads + h : (b * heads + h) * length + i) * size;
}

/* Key or value j of head h; the past always has rank 4. */
static const double *entry(const attention *a, const source *s, int64_t b, int64_t h, int64_t j) {
  if (j < a->past) return vector(a, s->past, a->kv_heads, a->past, s->size, b, h, j, false);
  return vector(a, s->fresh, a->kv_heads, a->fresh, s->size, b, h, j - a->past, a->flat);
}

static double mask_at(const attention *a, int64_t b, int64_t h, int64_t i, int64_t j) {
  if (!a->mask) return 0;
  if (j >= a->mask_len) return -INFINITY;
  const int64_t *s = a->mask_strides;
  uint64_t at = (uint64_t)(b * s[0] + h * s[1] + i * s[2] + j * s[3]);
  const surg__array *m = a->mask;
  if (surg__is_real(m->dtype)) return surg__real_at(m, at);
  uint64_t v = surg__load_int(m->dtype, m->data, at);
  if (m->dtype == SURG_BOOL) return v ? 0 : -INFINITY;
  return surg__dtype_is_signed_int(m->dtype) ? (double)(int64_t)v : (double)v;
}

/* Whether query i of batch entry b sees key j, without the mask. */
static bool in_sight(const attention *a, int64_t b, int64_t i, int64_t j) {
  int64_t before = a->past;
  if (a->valid && j >= a->valid[b]) return false;
  if (a->valid) before = a->valid[b] - a->q_len;
  int64_t at = before + i;
  if (a->causal && j > at) return false;
  if (a->left >= 0 && j < at - a->left) return false;
  return a->right < 0 || j <= at + a->right;
}

/* --- computing --- */

/* Stores the dot products of q with all keys of a head in a->row. */
static void score(const attention *a, int64_t b, int64_t kv, const double *q) {
  uint64_t size = (uint64_t)a->key.size, apart = a->flat ? size * (uint64_t)a->kv_heads : size;
  if (a->past > 0) {
    surg__rows_times(entry(a, &a->key, b, kv, 0), (uint64_t)a->past, size, size, q, a->row);
  }
  if (a->fresh > 0) {
    const double *first = entry(a, &a->key, b, kv, a->past);
    surg__rows_times(first, (uint64_t)a->fresh, apart, size, q, a->row + a->past);
  }
}

void surg__probabilities(double *row, int64_t n) {
  double most = -INFINITY, sum = 0;
  for (int64_t j = 0; j < n; ++j) {
    if (isnan(row[j]) || row[j] > most) most = row[j]; /* a NaN stays the largest */
  }
  for (int64_t j = 0; j < n; ++j) sum += row[j] = exp(row[j] - most);
  for (int64_t j = 0; j < n; ++j) row[j] /= sum;
}

static void show(const attention *a, int stage, uint64_t query) {
  if (a->stage != stage || a->k->n_out < 4 || !a->k->wanted[3]) return;
  for (int64_t j = 0; j < a->total; ++j) {
    surg__real_put(&a->k->out[3], query * (uint64_t)a->total + (uint64_t)j, a->row[j]);
  }
}

/* Stores the probabilities of one query in a->row; false: the query sees no key. */
static bool weigh(const attention *a, int64_t b, int64_t h, int64_t i) {
  uint64_t query = (uint64_t)((b * a->q_heads + h) * a->q_len + i);
  int64_t kv = h / (a->q_heads / a->kv_heads), size = a->key.size;
  const double *q = vector(a, a->q, a->q_heads, a->q_len, size, b, h, i, a->flat);
  score(a, b, kv, q);
  for (int64_t j = 0; j < a->total; ++j) a->row[j] *= a->scale;
  show(a, RAW, query);
  for (int64_t j = 0; a->softcap > 0 && j < a->total; ++j) {
    a->row[j] = tanh(a->row[j] / a->softcap) * a->softcap;
  }
  show(a, CAPPED, query);
  bool sees = false;
  for (int64_t j = 0; j < a->total; ++j) {
    double bias = in_sight(a, b, i, j) ? mask_at(a, b, h, i, j) : -INFINITY;
    if (bias != -INFINITY) sees = true;
    a->row[j] += bias;
  }
  show(a, MASKED, query);
  if (a->total > 0) surg__probabilities(a->row, a->total);
  for (int64_t j = 0; a->k->in[0].dtype != SURG_DOUBLE && j < a->total; ++j)
    if (a->row[j] < LEAST_FLOAT) a->row[j] = 0;
  show(a, PROBABILITIES, query);
  return sees;
}

static void attend(const attention *a, int64_t b, int64_t h, int64_t i, double *sum) {
  bool sees = weigh(a, b, h, i);
  if (!a->k->wanted[0]) return;
  int64_t kv = h / (a->q_heads / a->kv_heads), size = a->value.size;
  for (int64_t d = 0; d < size; ++d) sum[d] = 0;
  for (int64_t j = 0; sees && j < a->total; ++j) {
    const double *v = entry(a, &a->value, b, kv, j);
    for (int64_t d = 0; d < size; ++d) sum[d] += a->row[j] * v[d];
  }
  int64_t at = a->flat ? (b * a->q_len + i) * a->q_heads + h : (b * a->q_heads + h) * a->q_len + i;
  for (int64_t d = 0; d < size; ++d) {
    surg__real_put(&a->k->out[0], (uint64_t)(at * size + d), sum[d]);
  }
}

/* Outputs 1 and 2: past and new keys or values, in rank 4. */
static void present(const attention *a, uint32_t out, const source *s) {
  surg_kctx *k = a->k;
  uint64_t at = 0;
  if (out >= k->n_out || !k->wanted[out]) return;
  for (int64_t r = 0; r < a->batch * a->kv_heads * a->total; ++r) {
    int64_t j = r % a->total, h = r / a->total;
    const double *v = entry(a, s, h / a->kv_heads, h % a->kv_heads, j);
    for (int64_t d = 0; d < s->size; ++d) surg__real_put(&k->out[out], at++, v[d]);
  }
}

/* --- inputs --- */

/* Splits the last axis of a tensor of rank 3 into heads, or reads the axes of one of rank 4. */
static bool read_heads(const attention *a, const surg__array *x, const char *attr, int64_t *heads,
                       int64_t *length, int64_t *size) {
  const surg_node *n = a->k->node;
  if (!a->flat) {
    *heads = x->dims[1];
    *length = x->dims[2];
    *size = x->dims[3];
    return *heads > 0 && surg_node_int(n, attr, *heads) == *heads;
  }
  *heads = surg_node_int(n, attr, 0);
  if (*heads < 1 || x->dims[2] % *heads != 0) return false;
  *length = x->dims[1];
  *size = x->dims[2] / *heads;
  return true;
}

static surg__kstatus read_shapes(attention *a) {
  surg_kctx *k = a->k;
  const surg__array *q = &k->in[0], *key = &k->in[1], *value = &k->in[2];
  int64_t value_heads, value_len, size;
  if ((q->rank != 3 && q->rank != 4) || key->rank != q->rank || value->rank != q->rank) {
    return surg__k_invalid(k, "Q, K and V are not all of rank 3 or all of rank 4");
  }
  a->flat = q->rank == 3;
  a->batch = q->dims[0];
  if (!read_heads(a, q, "q_num_heads", &a->q_heads, &a->q_len, &size) ||
      !read_heads(a, key, "kv_num_heads", &a->kv_heads, &a->fresh, &a->key.size) ||
      !read_heads(a, value, "kv_num_heads", &value_heads, &value_len, &a->value.size)) {
    return surg__k_invalid(k, "the numbers of heads do not fit the inputs");
  }
  if (size != a->key.size || value_heads != a->kv_heads || value_len != a->fresh ||
      key->dims[0] != a->batch || value->dims[0] != a->batch || a->q_heads % a->kv_heads != 0) {
    return surg__k_invalid(k, "the sizes of Q, K and V do not fit together");
  }
  return SURG__K_OK;
}

static bool past_fits(const attention *a, const surg__array *p, int64_t size) {
  return p->rank == 4 && p->dims[0] == a->batch && p->dims[1] == a->kv_heads &&
         p->dims[3] == size && p->dims[2] == a->k->in[4].dims[2];
}

static surg__kstatus read_past(attention *a) {
  surg_kctx *k = a->k;
  a->total = a->fresh;
  if (surg__k_has(k, 4) != surg__k_has(k, 5)) {
    return surg__k_invalid(k, "past keys without past values, or the other way round");
  }
  if (!surg__k_has(k, 4)) return SURG__K_OK;
  if (k->in[4].rank != 4 || !past_fits(a, &k->in[4], a->key.size) ||
      !past_fits(a, &k->in[5], a->value.size)) {
    return surg__k_invalid(k, "the past has sizes that do not fit");
  }
  a->past = k->in[4].dims[2];
  if (!surg__add_i64(a->past, a->fresh, &a->total)) return SURG__K_BUDGET;
  return SURG__K_OK;
}

static surg__kstatus read_mask(attention *a) {
  surg_kctx *k = a->k;
  if (!surg__k_has(k, 3)) return SURG__K_OK;
  const surg__array *m = &k->in[3];
  const int64_t whole[4] = {a->batch, a->q_heads, a->q_len, a->total};
  if (m->rank > 4 || m->rank == 0)
    return surg__k_invalid(k, "the mask has a rank that does not fit");
  a->mask = m;
  a->mask_len = m->dims[m->rank - 1];
  if (a->mask_len == 1 && a->total > 1) {
    /* It broadcasts, as all masks do; from version 24 on keys beyond a shorter mask are masked. */
    SURG__K_TRY(surg__k_disputed(k, "whether a mask of one key repeats or ends there"));
    if (k->since < 24) a->mask_len = a->total;
  }
  if (a->mask_len > a->total || (a->mask_len < a->total && k->since < 24)) {
    return surg__k_invalid(k, "the mask is for another number of keys");
  }
  for (uint32_t d = 0; d + 1 < m->rank; ++d) {
    int64_t size = whole[4 - m->rank + d];
    if (m->dims[d] != 1 && m->dims[d] != size) {
      return surg__k_invalid(k, "the mask does not broadcast to the scores");
    }
  }
  surg__broadcast_strides(m, NULL, 4, a->mask_strides);
  return SURG__K_OK;
}

static surg__kstatus read_valid(attention *a) {
  surg_kctx *k = a->k;
  uint64_t count = 0;
  if (!surg__k_has(k, 6)) return SURG__K_OK;
  if (a->past > 0 || surg__k_has(k, 4)) {
    return surg__k_cannot(k, "nonpad_kv_seqlen together with a past");
  }
  a->valid = surg__k_ints(k, 6, &count);
  if (k->in[6].rank != 1 || (int64_t)count != a->batch) {
    return surg__k_invalid(k, "nonpad_kv_seqlen has not one entry a batch entry");
  }
  for (uint64_t i = 0; i < count; ++i) {
    if (a->valid[i] < 0 || a->valid[i] > a->total) {
      return surg__k_invalid(k, "nonpad_kv_seqlen is out of range");
    }
  }
  return SURG__K_OK;
}

static bool any_precision(int64_t type) {
  return type == SURG_FLOAT || type == SURG_FLOAT16 || type == SURG_DOUBLE || type == SURG_BFLOAT16;
}

static surg__kstatus read_attributes(attention *a) {
  surg_kctx *k = a->k;
  const surg_node *n = k->node;
  a->causal = surg_node_int(n, "is_causal", 0) != 0;
  a->left = surg_node_int(n, "left_window_size", -1);
  a->right = surg_node_int(n, "right_window_size", -1);
  if (a->left < -1 || a->right < -1) return surg__k_invalid(k, "a window is smaller than none");
  int64_t widest; /* a wider window has no effect, and its sums could overflow */
  if (!surg__add_i64(a->total, a->q_len, &widest)) return SURG__K_BUDGET;
  if (a->left >= widest) a->left = -1;
  if (a->right >= widest) a->right = -1;
  a->softcap = surg_node_float(n, "softcap", 0);
  a->scale = a->key.size > 0 ? 1 / sqrt((double)a->key.size) : 0;
  if (surg_node_attr(n, "scale")) a->scale = surg_node_float(n, "scale", 1);
  if (!(a->scale >= 0) || !(a->softcap >= 0)) {
    return surg__k_cannot(k, "scale or softcap is below zero");
  }
  int64_t stage = surg_node_int(n, "qk_matmul_output_mode", 0);
  if (stage < RAW || stage >= STAGES) return surg__k_invalid(k, "an unknown qk_matmul_output_mode");
  a->stage = (int)stage;
  if (!any_precision(surg_node_int(n, "softmax_precision", SURG_FLOAT))) {
    return surg__k_invalid(k, "softmax_precision is not a float type");
  }
  return SURG__K_OK;
}

static surg__kstatus make_outputs(attention *a) {
  surg_kctx *k = a->k;
  int64_t width, dims[4] = {a->batch, a->q_heads, a->q_len, a->value.size};
  if (!surg__mul_i64(a->q_heads, a->value.size, &width)) return SURG__K_BUDGET;
  const int64_t flat[3] = {a->batch, a->q_len, width};
  SURG__K_TRY(surg__k_out(k, 0, k->in[0].dtype, a->flat ? flat : dims, a->flat ? 3 : 4));
  const int64_t keys[4] = {a->batch, a->kv_heads, a->total, a->key.size};
  const int64_t values[4] = {a->batch, a->kv_heads, a->total, a->value.size};
  SURG__K_TRY(surg__k_out(k, 1, k->in[1].dtype, keys, 4));
  SURG__K_TRY(surg__k_out(k, 2, k->in[2].dtype, values, 4));
  dims[3] = a->total;
  return surg__k_out(k, 3, k->in[0].dtype, dims, 4);
}

static surg__kstatus read_operands(attention *a) {
  surg_kctx *k = a->k;
  a->q = surg__k_widen(k, &k->in[0]);
  a->key.fresh = surg__k_widen(k, &k->in[1]);
  a->value.fresh = surg__k_widen(k, &k->in[2]);
  if (!a->q || !a->key.fresh || !a->value.fresh) return SURG__K_NOMEM;
  if (surg__k_has(k, 4)) {
    a->key.past = surg__k_widen(k, &k->in[4]);
    a->value.past = surg__k_widen(k, &k->in[5]);
    if (!a->key.past || !a->value.past) return SURG__K_NOMEM;
  }
  a->row = surg__k_scratch(k, (size_t)a->total, sizeof *a->row);
  return a->row ? SURG__K_OK : SURG__K_NOMEM;
}

/* Cases in which ONNX Runtime computes another result. */
static surg__kstatus check_disputes(const attention *a) {
  surg_kctx *k = a->k;
  bool hides = a->causal || a->valid || a->left >= 0 || a->right >= 0 ||
               (a->mask && a->mask->dtype == SURG_BOOL);
  if (a->causal && a->q_len == 1 && a->past > 0 && a->fresh > 1) {
    SURG__K_TRY(surg__k_disputed(k, "a single causal query before several new keys"));
  }
  if (hides && a->stage == MASKED && k->n_out > 3 && k->wanted[3]) {
    return surg__k_disputed(k, "how masked scores show: as -inf, or as the lowest number");
  }
  return SURG__K_OK;
}

static surg__kstatus read_all(attention *a) {
  SURG__K_TRY(read_shapes(a));
  SURG__K_TRY(read_past(a));
  SURG__K_TRY(read_attributes(a));
  SURG__K_TRY(read_mask(a));
  SURG__K_TRY(read_valid(a));
  /* Without keys the sum is zero, as in the function body of the operator; engines may reject
   * it. */
  if (a->total == 0) SURG__K_TRY(surg__k_disputed(a->k, "attention without keys"));
  return check_disputes(a);
}

surg__kstatus surg__k_attention(surg_kctx *k) {
  attention a = {.k = k};
  SURG__K_TRY(read_all(&a));
  SURG__K_TRY(make_outputs(&a));
  uint64_t each;
  if (!surg__add_u64((uint64_t)a.key.size, (uint64_t)a.value.size + 2, &each))
    return SURG__K_BUDGET;
  uint64_t heads = (uint64_t)(a.q_heads > a.kv_heads ? a.q_heads : a.kv_heads);
  uint64_t counts[] = {(uint64_t)a.batch, heads, (uint64_t)a.q_len + 1, (uint64_t)a.total, each};
  SURG__K_TRY(surg__k_work_product(k, counts, SURG_COUNT(counts)));
  SURG__K_TRY(read_operands(&a));
  double *sum = surg__k_scratch(k, (size_t)a.value.size, sizeof *sum);
  if (!sum) return SURG__K_NOMEM;
  present(&a, 1, &a.key);
  present(&a, 2, &a.value);
  bool scores = k->wanted[0] || (k->n_out > 3 && k->wanted[3]);
  for (int64_t r = 0; scores && r < a.batch * a.q_heads * a.q_len; ++r) {
    int64_t i = r % a.q_len, h = r / a.q_len;
    attend(&a, h / a.q_heads, h % a.q_heads, i, sum);
  }
  return SURG__K_OK;
}
