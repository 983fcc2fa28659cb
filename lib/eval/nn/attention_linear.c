/* SPDX-License-Identifier: Apache-2.0 */
/* Transformer operators beside Attention: LinearAttention, CausalConvWithState, RotaryEmbedding,
 * TensorScatter and SwiGLU. */
#include <math.h>

#include "eval/core/kernels.h"
#include "eval/core/loop.h"
#include "eval/core/number.h"

/* --- LinearAttention: a key-by-value state matrix, decayed, corrected and read at each step --- */

typedef struct linear {
  surg_kctx *k;
  uint64_t batch, steps, q_heads, kv_heads, key_size, value_size;
  uint64_t decays, betas; /* sizes of the last axes of decay and beta */
  const double *q, *key, *value, *decay, *beta;
  double scale;
  double *state, *write; /* of one head: [key_size][value_size], [value_size] */
} linear;

/* One step: decays the state, corrects the value by what the state returns for the key, and adds
 * the outer product of key and value. */
static void update_state(const linear *l, uint64_t step, uint64_t h) {
  uint64_t nk = l->key_size, nv = l->value_size;
  const double *key = l->key + (step * l->kv_heads + h) * nk;
  const double *value = l->value + (step * l->kv_heads + h) * nv;
  for (uint64_t d = 0; l->decay && d < nk; ++d) {
    bool one = l->decays == l->kv_heads;
    double by = exp(l->decay[step * l->decays + (one ? h : h * nk + d)]);
    for (uint64_t m = 0; m < nv; ++m) l->state[d * nv + m] *= by;
  }
  for (uint64_t m = 0; m < nv; ++m) l->write[m] = value[m];
  if (l->beta) {
    double by = l->beta[step * l->betas + (l->betas == 1 ? 0 : h)];
    for (uint64_t m = 0; m < nv; ++m) {
      double found = 0;
      for (uint64_t d = 0; d < nk; ++d) found += l->state[d * nv + m] * key[d];
      l->write[m] = by * (value[m] - found);
    }
  }
  for (uint64_t d = 0; d < nk; ++d) {
    for (uint64_t m = 0; m < nv; ++m) l->state[d * nv + m] += key[d] * l->write[m];
  }
}

static void read_state(const linear *l, uint64_t step, uint64_t h) {
  uint64_t group = l->q_heads / l->kv_heads, nk = l->key_size, nv = l->value_size;
  if (!l->k->wanted[0]) return;
  for (uint64_t g = h * group; g < (h + 1) * group; ++g) {
    const double *q = l->q + (step * l->q_heads + g) * nk;
    for (uint64_t m = 0; m < nv; ++m) {
      double sum = 0;
      for (uint64_t d = 0; d < nk; ++d) sum += q[d] * l->state[d * nv + m];
      surg__real_put(&l->k->out[0], (step * l->q_heads + g) * nv + m, sum * l->scale);
    }
  }
}

static void run_head(const linear *l, uint64_t b, uint64_t h) {
  surg_kctx *k = l->k;
  uint64_t size = l->key_size * l->value_size, at = (b * l->kv_heads + h) * size;
  for (uint64_t i = 0; i < size; ++i) {
    l->state[i] = surg__k_has(k, 3) ? surg__real_at(&k->in[3], at + i) : 0;
  }
  for (uint64_t t = 0; t < l->steps; ++t) {
    update_state(l, b * l->steps + t, h);
    read_state(l, b * l->steps + t, h);
  }
  if (k->n_out < 2 || !k->wanted[1]) return;
  for (uint64_t i = 0; i < size; ++i) surg__real_put(&k->out[1], at + i, l->state[i]);
}

/* Whether input i is [batch, steps, ...]. */
static bool in_time(const linear *l, uint32_t i) {
  const surg__array *x = &l->k->in[i];
  return x->rank == 3 && (uint64_t)x->dims[0] == l->batch && (uint64_t)x->dims[1] == l->steps;
}

/* Reads decay and beta, which some update rules require and the others do not allow. */
static surg__kstatus read_gates(linear *l) {
  static const char *const rules[] = {"linear", "gated", "delta", "gated_delta"};
  surg_kctx *k = l->k;
  int rule = surg__k_word(k, "update_rule", "gated_delta", rules, 4);
  if (rule == 4) return surg__k_invalid(k, "an unknown update_rule");
  if (surg__k_has(k, 4) != ((rule & 1) != 0) || surg__k_has(k, 5) != ((rule & 2) != 0)) {
    return surg__k_invalid(k, "the update_rule requires other gates");
  }
  for (uint32_t i = 4; i < 6; ++i) {
    if (surg__k_has(k, i) && !in_time(l, i))
      return surg__k_invalid(k, "a gate is of another shape");
  }
  uint64_t heads = l->kv_heads;
  if (surg__k_has(k, 4)) l->decays = (uint64_t)k->in[4].dims[2];
  if (surg__k_has(k, 5)) l->betas = (uint64_t)k->in[5].dims[2];
  if ((l->decays != 0 && l->decays != heads && l->decays != heads * l->key_size) ||
      (surg__k_has(k, 4) && l->decays == 0) ||
      (surg__k_has(k, 5) && l->betas != heads && l->betas != 1)) {
    return surg__k_invalid(k, "a gate is for another number of heads");
  }
  return SURG__K_OK;
}

static surg__kstatus read_sizes(linear *l) {
  surg_kctx *k = l->k;
  const surg__array *q = &k->in[0], *key = &k->in[1], *value = &k->in[2];
  int64_t q_heads = surg_node_int(k->node, "q_num_heads", 0);
  int64_t kv_heads = surg_node_int(k->node, "kv_num_heads", 0);
  if (q->rank != 3) return surg__k_invalid(k, "the query is not of rank 3");
  l->batch = (uint64_t)q->dims[0];
  l->steps = (uint64_t)q->dims[1];
  if (!in_time(l, 1) || !in_time(l, 2) || q_heads < 1 || kv_heads < 1 || q_heads % kv_heads != 0 ||
      q->dims[2] % q_heads != 0 || value->dims[2] % kv_heads != 0) {
    return surg__k_invalid(k, "the inputs do not fit the numbers of heads");
  }
  l->q_heads = (uint64_t)q_heads;
  l->kv_heads = (uint64_t)kv_heads;
  l->key_size = (uint64_t)(q->dims[2] / q_heads);
  l->value_size = (uint64_t)(value->dims[2] / kv_heads);
  if (key->dims[2] % kv_heads != 0 || (uint64_t)(key->dims[2] / kv_heads) != l->key_size) {
    return surg__k_invalid(k, "query and key have heads of different sizes");
  }
  l->scale = surg_node_float(k->node, "scale", 0);
  if (l->scale == 0) {
    if (l->key_size == 0) return surg__k_cannot(k, "heads of no elements");
    l->scale = 1 / sqrt((double)l->key_size);
  }
  return read_gates(l);
}

static surg__kstatus make_states(linear *l) {
  surg_kctx *k = l->k;
  int64_t width;
  if (!surg__mul_i64((int64_t)l->q_heads, (int64_t)l->value_size, &width)) return SURG__K_BUDGET;
  const int64_t state[4] = {(int64_t)l->batch, (int64_t)l->kv_heads, (int64_t)l->key_size,
                            (int64_t)l->value_size};
  const surg__array *past = surg__k_has(k, 3) ? &k->in[3] : NULL;
  if (past && (past->rank != 4 || memcmp(past->dims, state, sizeof state) != 0)) {
    return surg__k_invalid(k, "past_state is of another shape");
  }
  const int64_t out[3] = {(int64_t)l->batch, (int64_t)l->steps, width};
  SURG__K_TRY(surg__k_out(k, 0, k->in[0].dtype, out, 3));
  return surg__k_out(k, 1, past ? past->dtype : k->in[0].dtype, state, 4);
}

surg__kstatus surg__k_linear_attention(surg_kctx *k) {
  linear l = {.k = k};
  SURG__K_TRY(read_sizes(&l));
  SURG__K_TRY(make_states(&l));
  uint64_t counts[] = {l.batch, l.q_heads, l.steps + 1, l.key_size + 1, l.value_size + 1, 4};
  SURG__K_TRY(surg__k_work_product(k, counts, SURG_COUNT(counts)));
  l.q = surg__k_widen(k, &k->in[0]);
  l.key = surg__k_widen(k, &k->in[1]);
  l.value = surg__k_widen(k, &k->in[2]);
  l.state = surg__k_scratch(k, (size_t)(l.key_size * l.value_size), sizeof *l.state);
  l.write = surg__k_scratch(k, (size_t)l.value_size, sizeof *l.write);
  if (!l.q || !l.key || !l.value || !l.state || !l.write) return SURG__K_NOMEM;
  if (surg__k_has(k, 4) && !(l.decay = surg__k_widen(k, &k->in[4]))) return SURG__K_NOMEM;
  if (surg__k_has(k, 5) && !(l.beta = surg__k_widen(k, &k->in[5]))) return SURG__K_NOMEM;
  for (uint64_t b = 0; b < l.batch; ++b) {
    for (uint64_t h = 0; h < l.kv_heads; ++h) run_head(&l, b, h);
  }
  return SURG__K_OK;
}

/* --- CausalConvWithState: a filter per channel over the past and the input --- */

typedef struct causal {
  surg_kctx *k;
  int64_t length, filter;
  bool silu;
} causal;

/* Element t of a channel; the past has indices from 0 on, the input follows. */
static double in_stream(const causal *c, int64_t channel, int64_t t) {
  int64_t before = c->filter - 1;
  if (t >= before) {
    return surg__real_at(&c->k->in[0], (uint64_t)(channel * c->length + t - before));
  }
  return surg__k_has(c->k, 3) ? surg__real_at(&c->k->in[3], (uint64_t)(channel * before + t)) : 0;
}

static void filter_channel(const causal *c, int64_t row, int64_t channel) {
  surg_kctx *k = c->k;
  for (int64_t t = 0; k->wanted[0] && t < c->length; ++t) {
    double sum = 0;
    for (int64_t i = 0; i < c->filter; ++i) {
      sum +=
          in_stream(c, row, t + i) * surg__real_at(&k->in[1], (uint64_t)(channel * c->filter + i));
    }
    if (surg__k_has(k, 2)) sum += surg__real_at(&k->in[2], (uint64_t)channel);
    if (c->silu) sum = surg__real_function(SURG_OP_Swish)(sum, 1, 0);
    surg__real_put(&k->out[0], (uint64_t)(row * c->length + t), sum);
  }
  for (int64_t i = 0; k->n_out > 1 && k->wanted[1] && i < c->filter - 1; ++i) {
    surg__real_put(&k->out[1], (uint64_t)(row * (c->filter - 1) + i),
                   in_stream(c, row, c->length + i));
  }
}

surg__kstatus surg__k_causal_conv(surg_kctx *k) {
  static const char *const words[] = {"none", "silu", "swish"};
  const surg__array *x = &k->in[0], *w = &k->in[1];
  int activation = surg__k_word(k, "activation", "none", words, 3);
  if (activation == 3) return surg__k_invalid(k, "an unknown activation");
  if (x->rank != 3 || w->rank != 3 || w->dims[0] != x->dims[1] || w->dims[1] != 1 ||
      w->dims[2] < 1) {
    return surg__k_invalid(k, "the weight does not fit the input");
  }
  causal c = {k, x->dims[2], w->dims[2], activation != 0};
  const int64_t state[3] = {x->dims[0], x->dims[1], c.filter - 1};
  if ((surg__k_has(k, 2) && (k->in[2].rank != 1 || k->in[2].dims[0] != x->dims[1])) ||
      (surg__k_has(k, 3) &&
       (k->in[3].rank != 3 || memcmp(k->in[3].dims, state, sizeof state) != 0))) {
    return surg__k_invalid(k, "bias or past_state is of another shape");
  }
  SURG__K_TRY(surg__k_out(k, 0, x->dtype, x->dims, 3));
  SURG__K_TRY(surg__k_out(k, 1, x->dtype, state, 3));
  uint64_t counts[] = {(uint64_t)x->dims[0], (uint64_t)x->dims[1], (uint64_t)c.length + 1,
                       (uint64_t)c.filter};
  SURG__K_TRY(surg__k_work_product(k, counts, SURG_COUNT(counts)));
  for (int64_t row = 0; row < x->dims[0] * x->dims[1]; ++row) {
    filter_channel(&c, row, row % x->dims[1]);
  }
  return SURG__K_OK;
}

/* --- RotaryEmbedding --- */

typedef struct rotary {
  surg_kctx *k;
  bool flat, interleaved;
  int64_t batch, heads, steps, size, half; /* half: number of pairs that are rotated */
  const int64_t *positions;                /* NULL: the caches are indexed by batch and step */
} rotary;

static surg__kstatus read_rotary(rotary *r) {
  surg_kctx *k = r->k;
  const surg__array *x = &k->in[0];
  if (x->rank != 3 && x->rank != 4) return surg__k_invalid(k, "X is neither of rank 3 nor of 4");
  r->flat = x->rank == 3;
  r->batch = x->dims[0];
  r->heads = r->flat ? surg_node_int(k->node, "num_heads", 0) : x->dims[1];
  r->steps = x->dims[r->flat ? 1 : 2];
  if (r->flat && (r->heads < 1 || x->dims[2] % r->heads != 0)) {
    return surg__k_invalid(k, "num_heads does not fit the input");
  }
  r->size = r->flat ? x->dims[2] / r->heads : x->dims[3];
  int64_t turning = surg_node_int(k->node, "rotary_embedding_dim", 0);
  if (turning == 0) turning = r->size;
  if (turning < 0 || turning > r->size || turning % 2 != 0) {
    return surg__k_invalid(k, "rotary_embedding_dim is odd or larger than a head");
  }
  r->half = turning / 2;
  r->interleaved = surg_node_int(k->node, "interleaved", 0) != 0;
  return SURG__K_OK;
}

static surg__kstatus read_caches(rotary *r) {
  surg_kctx *k = r->k;
  bool by_position = surg__k_has(k, 3);
  uint64_t count = 0;
  uint32_t rank = by_position ? 2 : 3;
  for (uint32_t i = 1; i < 3; ++i) {
    const surg__array *c = &k->in[i];
    if (c->rank != rank || c->dims[rank - 1] != r->half || c->dims[0] != k->in[1].dims[0] ||
        (!by_position && (c->dims[0] != r->batch || c->dims[1] != r->steps))) {
      return surg__k_invalid(k, "a cache is of another shape");
    }
  }
  if (!by_position) return SURG__K_OK;
  const surg__array *p = &k->in[3];
  if (p->rank != 2 || p->dims[0] != r->batch || p->dims[1] != r->steps) {
    return surg__k_invalid(k, "position_ids is of another shape");
  }
  r->positions = surg__k_ints(k, 3, &count);
  for (uint64_t i = 0; i < count; ++i) {
    if (r->positions[i] < 0 || r->positions[i] >= k->in[1].dims[0]) {
      return surg__k_invalid(k, "a position is not in the cache");
    }
  }
  return SURG__K_OK;
}

/* Rotates one head at one step: elements from `base` on, with row `row` of the caches. */
static void turn(const rotary *r, uint64_t base, uint64_t row) {
  surg_kctx *k = r->k;
  uint64_t half = (uint64_t)r->half;
  for (uint64_t i = 0; i < half; ++i) {
    uint64_t a = base + (r->interleaved ? 2 * i : i);
    uint64_t b = base + (r->interleaved ? 2 * i + 1 : half + i);
    double x = surg__real_at(&k->in[0], a), y = surg__real_at(&k->in[0], b);
    double c = surg__real_at(&k->in[1], row * half + i),
           s = surg__real_at(&k->in[2], row * half + i);
    surg__real_put(&k->out[0], a, c * x - s * y);
    surg__real_put(&k->out[0], b, s * x + c * y);
  }
  for (uint64_t i = 2 * half; i < (uint64_t)r->size; ++i) {
    surg__real_put(&k->out[0], base + i, surg__real_at(&k->in[0], base + i));
  }
}

surg__kstatus surg__k_rotary(surg_kctx *k) {
  rotary r = {.k = k};
  if (!k->wanted[0]) return SURG__K_OK;
  SURG__K_TRY(read_rotary(&r));
  SURG__K_TRY(read_caches(&r));
  const surg__array *x = &k->in[0];
  SURG__K_TRY(surg__k_out(k, 0, x->dtype, x->dims, x->rank));
  SURG__K_TRY(surg__k_work(k, x->count));
  if (x->count == 0) return SURG__K_OK;
  for (int64_t v = 0; v < r.batch * r.heads * r.steps; ++v) {
    int64_t step = r.flat ? v / r.heads % r.steps : v % r.steps;
    int64_t at = v / (r.heads * r.steps) * r.steps + step;
    turn(&r, (uint64_t)(v * r.size), (uint64_t)(r.positions ? r.positions[at] : at));
  }
  return SURG__K_OK;
}

/* --- TensorScatter: writes new entries into a cache along one axis --- */

static surg__kstatus read_places(surg_kctx *k, uint32_t axis, bool circular, const int64_t **out) {
  const surg__array *cache = &k->in[0], *update = &k->in[1];
  uint64_t count = 0;
  *out = NULL;
  if (!surg__k_has(k, 2)) return SURG__K_OK;
  *out = surg__k_ints(k, 2, &count);
  if (k->in[2].rank != 1 || (int64_t)count != cache->dims[0]) {
    return surg__k_invalid(k, "write_indices has not one entry a batch entry");
  }
  for (uint64_t b = 0; b < count; ++b) {
    int64_t at = (*out)[b], length = cache->dims[axis];
    if (at < 0 || (circular ? length > 0 && at >= length : at > length - update->dims[axis])) {
      return surg__k_invalid(k, "an entry of write_indices is out of range");
    }
  }
  return SURG__K_OK;
}

surg__kstatus surg__k_tensor_scatter(surg_kctx *k) {
  static const char *const modes[] = {"linear", "circular"};
  const surg__array *cache = &k->in[0], *update = &k->in[1];
  const int64_t *places;
  uint32_t axis;
  int mode = surg__k_word(k, "mode", "linear", modes, 2);
  if (!k->wanted[0]) return SURG__K_OK;
  if (mode == 2) return surg__k_invalid(k, "an unknown mode");
  if (!surg__k_axis(surg_node_int(k->node, "axis", -2), cache->rank, &axis) || axis == 0 ||
      update->rank != cache->rank) {
    return surg__k_invalid(k, "axis out of range or that of the batch, or ranks that differ");
  }
  for (uint32_t d = 0; d < cache->rank; ++d) {
    if (d == axis ? update->dims[d] > cache->dims[d] : update->dims[d] != cache->dims[d]) {
      return surg__k_invalid(k, "the update does not fit into the cache");
    }
  }
  SURG__K_TRY(read_places(k, axis, mode == 1, &places));
  SURG__K_TRY(surg__k_out(k, 0, cache->dtype, cache->dims, cache->rank));
  SURG__K_TRY(surg__k_work(k, cache->count));
  if (cache->count == 0) return SURG__K_OK;
  size_t run = surg__dtype_unpacked(cache->dtype);
  for (uint32_t d = axis + 1; d < cache->rank; ++d) run *= (size_t)cache->dims[d];
  char *to = k->out[0].data;
  memcpy(to, cache->data, (size_t)cache->count * surg__dtype_unpacked(cache->dtype));
  int64_t length = cache->dims[axis], fresh = update->dims[axis], rows = 1;
  for (uint32_t d = 0; d < axis; ++d) rows *= cache->dims[d];
  for (int64_t r = 0; r < rows; ++r) {
    int64_t start = places ? places[r / (rows / cache->dims[0])] : 0;
    for (int64_t i = 0; i < fresh; ++i) {
      memcpy(to + (size_t)(r * length + (start + i) % length) * run,
             (const char *)update->data + (size_t)(r * fresh + i) * run, run);
    }
  }
  return SURG__K_OK;
}

/* --- SwiGLU --- */

surg__kstatus surg__k_swiglu(surg_kctx *k) {
  surg__loop l;
  if (!k->wanted[0]) return SURG__K_OK;
  double alpha = surg_node_float(k->node, "alpha", 1);
  surg__real_fn swish = surg__real_function(SURG_OP_Swish);
  SURG__K_TRY(surg__k_pair(k, k->in[0].dtype, &l));
  for (; !l.done; surg__loop_next(&l)) {
    for (int64_t j = 0; j < l.inner; ++j) {
      double a = surg__real_at(&k->in[0], (uint64_t)(l.at[1] + j * l.step[1]));
      double b = surg__real_at(&k->in[1], (uint64_t)(l.at[2] + j * l.step[2]));
      surg__real_put(&k->out[0], (uint64_t)(l.at[0] + j * l.step[0]), swish(a, alpha, 0) * b);
    }
  }
  return SURG__K_OK;
}
