/* SPDX-License-Identifier: Apache-2.0 */
/* FlexAttention: attention with subgraphs that modify scores and probabilities. */
#include <math.h>

#include "eval/nn/attention.h"
#include "eval/linear/dot.h"
#include "eval/core/kernels.h"
#include "eval/core/loop.h"
#include "eval/core/number.h"
#include "eval/core/value.h"

typedef struct flex {
  surg_kctx *k;
  int precision; /* element type of the subgraphs */
  int64_t batch, q_heads, kv_heads, q_len, keys, size, value_size;
  int64_t dims[4]; /* shape of the scores */
  uint64_t count;
  const double *q, *key, *value;
  double scale, *scores;
} flex;

/* Replaces the scores by the output of the subgraph. */
static surg__kstatus take_back(const flex *f, const surg__array *from) {
  if (!surg__is_real(from->dtype) || from->rank != 4 ||
      memcmp(from->dims, f->dims, sizeof f->dims) != 0) {
    return surg__k_invalid(f->k, "a graph changes the shape of the scores");
  }
  for (uint64_t i = 0; i < f->count; ++i) f->scores[i] = surg__real_at(from, i);
  return SURG__K_OK;
}

/* Runs the subgraph attribute of that name on the scores, if it is present. */
static surg__kstatus modify(const flex *f, const char *name) {
  surg_kctx *k = f->k;
  const surg_attr *attr = surg_node_attr(k->node, name);
  if (!attr) return SURG__K_OK;
  surg_graph *g = surg_attr_graph(attr, 0);
  if (!k->call) return surg__k_cannot(k, "a graph that is to change the scores");
  if (!g || surg_graph_input_count(g) != 1 || surg_graph_output_count(g) != 1) {
    return surg__k_invalid(k, "a graph has not one input and one output");
  }
  surg__array before = {0}, after = {0};
  SURG__K_TRY(surg__k_item(k, f->precision, f->dims, 4, &before));
  for (uint64_t i = 0; i < f->count; ++i) surg__real_put(&before, i, f->scores[i]);
  surg__kstatus s = k->call(k, g, &before, 1, &after, 1);
  if (s == SURG__K_OK) s = take_back(f, &after);
  surg__array_drop(&before);
  surg__array_drop(&after);
  return s;
}

/* The key and value head that query head `head` uses; both indices combine batch and head. */
static int64_t shared_head(const flex *f, int64_t head) {
  int64_t b = head / f->q_heads, h = head % f->q_heads;
  return b * f->kv_heads + h / (f->q_heads / f->kv_heads);
}

static surg__kstatus compute(const flex *f) {
  int64_t rows = f->batch * f->q_heads * f->q_len;
  for (int64_t r = 0; r < rows; ++r) {
    int64_t first = shared_head(f, r / f->q_len) * f->keys;
    double *row = f->scores + r * f->keys;
    uint64_t size = (uint64_t)f->size;
    surg__rows_times(f->key + first * f->size, (uint64_t)f->keys, size, size, f->q + r * f->size,
                     row);
    for (int64_t j = 0; j < f->keys; ++j) row[j] *= f->scale;
  }
  SURG__K_TRY(modify(f, "score_mod"));
  for (int64_t r = 0; r < rows; ++r) surg__probabilities(f->scores + r * f->keys, f->keys);
  SURG__K_TRY(modify(f, "prob_mod"));
  for (int64_t r = 0; r < rows; ++r) {
    int64_t first = shared_head(f, r / f->q_len) * f->keys;
    for (int64_t d = 0; d < f->value_size; ++d) {
      double sum = 0;
      for (int64_t j = 0; j < f->keys; ++j) {
        sum += f->scores[r * f->keys + j] * f->value[(first + j) * f->value_size + d];
      }
      surg__real_put(&f->k->out[0], (uint64_t)(r * f->value_size + d), sum);
    }
  }
  return SURG__K_OK;
}

static surg__kstatus read_shapes(flex *f) {
  surg_kctx *k = f->k;
  const surg__array *q = &k->in[0], *key = &k->in[1], *value = &k->in[2];
  if (q->rank != 4 || key->rank != 4 || value->rank != 4) {
    return surg__k_invalid(k, "Q, K and V are not all of rank 4");
  }
  *f = (flex){.k = k, .batch = q->dims[0], .q_heads = q->dims[1], .kv_heads = key->dims[1]};
  f->q_len = q->dims[2];
  f->keys = key->dims[2];
  f->size = q->dims[3];
  f->value_size = value->dims[3];
  if (key->dims[0] != f->batch || value->dims[0] != f->batch || key->dims[3] != f->size ||
      value->dims[1] != f->kv_heads || value->dims[2] != f->keys || f->kv_heads < 1 ||
      f->q_heads % f->kv_heads != 0) {
    return surg__k_invalid(k, "the sizes of Q, K and V do not fit together");
  }
  if (f->keys == 0 || f->size == 0) return surg__k_cannot(k, "attention without keys");
  const int64_t dims[4] = {f->batch, f->q_heads, f->q_len, f->keys};
  memcpy(f->dims, dims, sizeof dims);
  return SURG__K_OK;
}

static surg__kstatus read_attributes(flex *f) {
  surg_kctx *k = f->k;
  int own = k->in[0].dtype == SURG_DOUBLE ? SURG_DOUBLE : SURG_FLOAT;
  int64_t precision = surg_node_int(k->node, "softmax_precision", own);
  f->scale = 1 / sqrt((double)f->size);
  if (surg_node_attr(k->node, "scale")) f->scale = surg_node_float(k->node, "scale", 1);
  if (precision < 0 || precision >= SURG_DTYPE_COUNT || !surg__is_real((int)precision)) {
    return surg__k_invalid(k, "softmax_precision is not a float type");
  }
  f->precision = (int)precision;
  return SURG__K_OK;
}

surg__kstatus surg__k_flex_attention(surg_kctx *k) {
  flex f = {.k = k};
  if (!k->wanted[0]) return SURG__K_OK;
  SURG__K_TRY(read_shapes(&f));
  SURG__K_TRY(read_attributes(&f));
  const int64_t dims[4] = {f.batch, f.q_heads, f.q_len, f.value_size};
  SURG__K_TRY(surg__k_out(k, 0, k->in[0].dtype, dims, 4));
  uint64_t each;
  if (!surg__add_u64((uint64_t)f.size, (uint64_t)f.value_size + 8, &each)) return SURG__K_BUDGET;
  uint64_t counts[] = {(uint64_t)f.batch, (uint64_t)f.q_heads, (uint64_t)f.q_len, (uint64_t)f.keys,
                       each};
  SURG__K_TRY(surg__k_work_product(k, counts, SURG_COUNT(counts)));
  if (!surg__dims_product(f.dims, 4, &f.count)) return SURG__K_BUDGET;
  f.q = surg__k_widen(k, &k->in[0]);
  f.key = surg__k_widen(k, &k->in[1]);
  f.value = surg__k_widen(k, &k->in[2]);
  f.scores = surg__k_scratch(k, (size_t)f.count, sizeof *f.scores);
  if (!f.q || !f.key || !f.value || !f.scores) return SURG__K_NOMEM;
  return compute(&f);
}
