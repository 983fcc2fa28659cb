/* SPDX-License-Identifier: Apache-2.0 */
/* Embedding operators of ONNX Runtime: EmbedLayerNormalization, GatherBlockQuantized,
 * RotaryEmbedding. */
#include <math.h>
#include <string.h>

#include "eval/core/kernels.h"
#include "eval/core/loop.h"
#include "eval/core/number.h"

static double real_of(const surg__array *a, uint64_t i) {
  return surg__load_f64(a->dtype, a->data, i);
}

/* --- EmbedLayerNormalization --- */

/* Adds a row of an embedding table to `sum`; sums are rounded to float, as in the runtime. */
static bool add_row(const surg__array *table, int64_t row, double *sum) {
  if (row < 0 || row >= table->dims[0]) return false;
  const uint64_t n = (uint64_t)table->dims[1];
  for (uint64_t i = 0; i < n; ++i) sum[i] = (float)(sum[i] + real_of(table, (uint64_t)row * n + i));
  return true;
}

static bool is_table(const surg__array *a, int64_t width) {
  return a->rank == 2 && a->dims[1] == width;
}

static bool same_shape(const surg__array *a, const surg__array *b) {
  return a->rank == b->rank && !memcmp(a->dims, b->dims, a->rank * sizeof *a->dims);
}

static surg__kstatus embed_fits(surg_kctx *k, int64_t *width) {
  const surg__array *ids = &k->in[0], *word = &k->in[2];
  if (ids->rank != 2 || word->rank != 2) return surg__k_invalid(k, "ids or words of another rank");
  *width = word->dims[1];
  const bool segments = surg__k_has(k, 1);
  if (segments != surg__k_has(k, 4) || (segments && !same_shape(&k->in[1], ids)))
    return surg__k_invalid(k, "the segments do not fit the ids");
  if (!is_table(&k->in[3], *width) || (segments && !is_table(&k->in[4], *width)) ||
      k->in[5].count != (uint64_t)*width || k->in[6].count != (uint64_t)*width)
    return surg__k_invalid(k, "the tables are of unlike widths");
  if (surg__k_has(k, 7) && !same_shape(&k->in[7], ids))
    return surg__k_invalid(k, "the mask does not fit the ids");
  const surg__array *at = surg__k_has(k, 8) ? &k->in[8] : NULL;
  if (at && (at->rank != 2 || at->dims[1] != ids->dims[1] ||
             (at->dims[0] != 1 && at->dims[0] != ids->dims[0])))
    return surg__k_invalid(k, "the positions do not fit the ids");
  /* One row of positions is for all batches, so it is wrong even if there is no batch. */
  for (uint64_t i = 0; at && i < at->count; ++i) {
    const int32_t p = ((const int32_t *)at->data)[i];
    if (p < 0 || p >= k->in[3].dims[0]) return surg__k_invalid(k, "a position is out of range");
  }
  return *width > 0 ? SURG__K_OK : surg__k_cannot(k, "the statistics of nothing");
}

/* Counts the positions of each batch entry that the mask selects. */
static void count_mask(surg_kctx *k, int64_t places) {
  int32_t *out = k->out[1].data;
  for (uint64_t b = 0; b < k->out[1].count; ++b) {
    out[b] = 0;
    const int32_t *m = surg__k_has(k, 7) ? (const int32_t *)k->in[7].data + b * (uint64_t)places
                                         : NULL;
    for (int64_t i = 0; m && i < places; ++i) out[b] += m[i] == 1;
  }
}

static void put_normal(surg_kctx *k, uint64_t at, int64_t width, double epsilon,
                       const double *sum) {
  double mean = 0, spread = 0;
  for (int64_t i = 0; i < width; ++i) mean += sum[i];
  mean /= (double)width;
  for (int64_t i = 0; i < width; ++i) spread += (sum[i] - mean) * (sum[i] - mean);
  const double inverse = 1 / sqrt(spread / (double)width + epsilon);
  for (int64_t i = 0; k->wanted[0] && i < width; ++i) {
    const double v = (sum[i] - mean) * inverse * real_of(&k->in[5], (uint64_t)i);
    surg__real_put(&k->out[0], at + (uint64_t)i, v + real_of(&k->in[6], (uint64_t)i));
  }
}

surg__kstatus surg__k_embed_norm(surg_kctx *k) {
  const surg__array *ids = &k->in[0];
  const double epsilon = surg_node_float(k->node, "epsilon", 1e-12f);
  int64_t width = 0;
  SURG__K_TRY(embed_fits(k, &width));
  SURG__K_TRY(surg__k_own(k));
  const int64_t dims[3] = {ids->dims[0], ids->dims[1], width};
  const uint64_t work[2] = {ids->count, (uint64_t)width};
  SURG__K_TRY(surg__k_out(k, 0, k->in[2].dtype, dims, 3));
  SURG__K_TRY(surg__k_out(k, 1, SURG_INT32, dims, 1));
  SURG__K_TRY(surg__k_out(k, 2, k->in[2].dtype, dims, 3));
  SURG__K_TRY(surg__k_work_product(k, work, 2));
  if (k->n_out > 1 && k->wanted[1]) count_mask(k, dims[1]);
  double *sum = surg__k_scratch(k, (size_t)width, sizeof *sum);
  if (!sum) return SURG__K_NOMEM;
  const int32_t *words = ids->data;
  const int32_t *segments = surg__k_has(k, 1) ? k->in[1].data : NULL;
  const int32_t *positions = surg__k_has(k, 8) ? k->in[8].data : NULL;
  for (uint64_t r = 0; r < ids->count; ++r) {
    const uint64_t place = r % (uint64_t)dims[1], at = r * (uint64_t)width;
    for (int64_t i = 0; i < width; ++i) sum[i] = 0;
    const int64_t position = positions ? positions[k->in[8].count == ids->count ? r : place]
                                       : (int64_t)place;
    if (!add_row(&k->in[2], words[r], sum) || !add_row(&k->in[3], position, sum) ||
        (segments && !add_row(&k->in[4], segments[r], sum)))
      return surg__k_invalid(k, "an id is out of range");
    for (int64_t i = 0; k->n_out > 2 && k->wanted[2] && i < width; ++i)
      surg__real_put(&k->out[2], at + (uint64_t)i, sum[i]);
    put_normal(k, at, width, epsilon, sum);
  }
  return SURG__K_OK;
}

/* --- GatherBlockQuantized --- */

typedef struct blocks {
  const surg__array *data, *scales, *zeros; /* zeros: may be NULL */
  int64_t dims[SURG_LIMIT_RANK];            /* shape of the unpacked data */
  int64_t block, middle;
  uint32_t rank, quantized;
  bool packed; /* two numbers per byte along the last axis */
} blocks;

/* Number i of rows of `n` numbers; each row starts at a byte. */
static int64_t number(const surg__array *a, bool packed, uint64_t i, uint64_t n) {
  if (!packed) return (int64_t)surg__load_int(a->dtype, a->data, i);
  const uint64_t row = i / n, at = i % n;
  const uint8_t byte = ((const uint8_t *)a->data)[row * ((n + 1) / 2) + at / 2];
  return at % 2 ? byte >> 4 : byte & 15;
}

/* Whether there is a zero point for each scale, packed as the data. */
static bool zeros_fit(const blocks *b) {
  if (b->zeros->rank != b->rank) return false;
  for (uint32_t d = 0; d < b->rank; ++d) {
    const int64_t n = b->scales->dims[d];
    const int64_t want = b->packed && d + 1 == b->rank ? n / 2 + n % 2 : n;
    if (b->zeros->dims[d] != want) return false;
  }
  return true;
}

static surg__kstatus read_blocks(surg_kctx *k, blocks *b, uint32_t *axis) {
  *b = (blocks){.data = &k->in[0], .scales = &k->in[2]};
  const int64_t bits = surg_node_int(k->node, "bits", 4);
  b->zeros = surg__k_has(k, 3) ? &k->in[3] : NULL;
  b->block = surg_node_int(k->node, "block_size", 128);
  b->rank = b->data->rank;
  b->packed = b->data->dtype == SURG_UINT8 && bits == 4;
  b->middle = b->data->dtype == SURG_UINT8 ? INT64_C(1) << (bits == 8 ? 7 : 3) : 0;
  if (b->rank < 1 || b->block < 1 || (bits != 4 && bits != 8) ||
      !surg__k_axis(surg_node_int(k->node, "gather_axis", 0), b->rank, axis) ||
      !surg__k_axis(surg_node_int(k->node, "quantize_axis", 1), b->rank, &b->quantized) ||
      *axis == b->quantized || b->scales->rank != b->rank)
    return surg__k_invalid(k, "axes, bits or blocks do not fit");
  for (uint32_t d = 0; d < b->rank; ++d) {
    b->dims[d] = b->data->dims[d];
    if (b->packed && d + 1 == b->rank && !surg__mul_i64(b->dims[d], 2, &b->dims[d]))
      return SURG__K_BUDGET;
    const int64_t n = b->dims[d];
    const int64_t want = d == b->quantized ? n / b->block + (n % b->block != 0) : n;
    if (b->scales->dims[d] != want) return surg__k_invalid(k, "the scales do not fit the blocks");
  }
  if (b->zeros && !zeros_fit(b)) return surg__k_invalid(k, "the zero points do not fit the scales");
  return SURG__K_OK;
}

/* The dequantized number at position `at` of the data. */
static double unquantized(const blocks *b, const int64_t *at) {
  uint64_t i = 0, block = 0;
  for (uint32_t d = 0; d < b->rank; ++d) {
    i = i * (uint64_t)b->dims[d] + (uint64_t)at[d];
    block = block * (uint64_t)b->scales->dims[d] +
            (uint64_t)(d == b->quantized ? at[d] / b->block : at[d]);
  }
  const uint64_t n = (uint64_t)b->dims[b->rank - 1];
  const uint64_t m = (uint64_t)b->scales->dims[b->rank - 1];
  const int64_t zero = b->zeros ? number(b->zeros, b->packed, block, m) : b->middle;
  return (double)(number(b->data, b->packed, i, n) - zero) * real_of(b->scales, block);
}

surg__kstatus surg__k_gather_blocks(surg_kctx *k) {
  blocks b;
  uint32_t axis;
  uint64_t n = 0;
  int64_t dims[SURG_LIMIT_RANK], at[SURG_LIMIT_RANK];
  SURG__K_TRY(read_blocks(k, &b, &axis));
  const surg__array *indices = &k->in[1];
  if (b.rank + indices->rank - 1 > SURG_LIMIT_RANK) return surg__k_cannot(k, "too many axes");
  const int64_t *index = surg__k_ints(k, 1, &n);
  if (!index) return SURG__K_NOMEM;
  for (uint64_t i = 0; i < n; ++i)
    if (index[i] < -b.dims[axis] || index[i] >= b.dims[axis])
      return surg__k_invalid(k, "an index is out of range");
  uint32_t rank = 0;
  for (uint32_t d = 0; d < axis; ++d) dims[rank++] = b.dims[d];
  for (uint32_t d = 0; d < indices->rank; ++d) dims[rank++] = indices->dims[d];
  for (uint32_t d = axis + 1; d < b.rank; ++d) dims[rank++] = b.dims[d];
  SURG__K_TRY(surg__k_own(k));
  SURG__K_TRY(surg__k_out(k, 0, b.scales->dtype, dims, rank));
  if (!k->wanted[0]) return SURG__K_OK;
  SURG__K_TRY(surg__k_work(k, k->out[0].count));
  for (uint64_t o = 0; o < k->out[0].count; ++o) {
    uint64_t rest = o;
    for (uint32_t d = b.rank; d-- > 0;) {
      const uint64_t size = d == axis ? n : (uint64_t)b.dims[d];
      at[d] = (int64_t)(rest % size);
      rest /= size;
    }
    const int64_t i = index[at[axis]];
    at[axis] = i < 0 ? i + b.dims[axis] : i;
    surg__real_put(&k->out[0], o, unquantized(&b, at));
  }
  return SURG__K_OK;
}

/* --- RotaryEmbedding --- */

typedef struct rotation {
  int64_t batch, heads, places, size, half;
  bool flat, apart;
  const int64_t *ids;
  uint64_t n_ids;
} rotation;

static surg__kstatus read_rotation(surg_kctx *k, rotation *r) {
  const surg__array *x = &k->in[0], *c = &k->in[2];
  const int64_t heads = surg_node_int(k->node, "num_heads", 0);
  const int64_t part = surg_node_int(k->node, "rotary_embedding_dim", 0);
  if (surg_node_int(k->node, "is_packed_batching", 0)) return surg__k_cannot(k, "packed batches");
  if ((x->rank != 3 && x->rank != 4) || c->rank != 2 || k->in[3].count != c->count)
    return surg__k_invalid(k, "input or tables of another rank");
  *r = (rotation){.batch = x->dims[0], .flat = x->rank == 3, .half = c->dims[1]};
  r->apart = surg_node_int(k->node, "interleaved", 0) == 0;
  if (r->flat) {
    r->places = x->dims[1];
    r->size = heads > 0 ? x->dims[2] / heads : 2 * r->half;
    if (r->size < 1 || x->dims[2] % r->size != 0)
      return surg__k_invalid(k, "the heads do not fit the input");
    r->heads = x->dims[2] / r->size;
  } else {
    r->heads = x->dims[1];
    r->places = x->dims[2];
    r->size = x->dims[3];
  }
  if (2 * r->half > r->size || (part > 0 && part != 2 * r->half))
    return surg__k_invalid(k, "the tables do not fit the heads");
  r->ids = surg__k_ints(k, 1, &r->n_ids);
  if (!r->ids || (r->n_ids != 1 && r->n_ids != (uint64_t)(r->batch * r->places)))
    return surg__k_invalid(k, "the positions do not fit the input");
  return SURG__K_OK;
}

/* Rotates one vector; `at` is its row in the tables. */
static void rotate(surg_kctx *k, const rotation *r, uint64_t from, uint64_t at) {
  const surg__array *x = &k->in[0], *o = &k->out[0];
  const uint64_t half = (uint64_t)r->half;
  for (uint64_t i = 2 * half; i < (uint64_t)r->size; ++i)
    surg__real_put(o, from + i, real_of(x, from + i));
  for (uint64_t i = 0; i < half; ++i) {
    const double c = real_of(&k->in[2], at * half + i), s = real_of(&k->in[3], at * half + i);
    const uint64_t p = from + (r->apart ? i : 2 * i), q = p + (r->apart ? half : 1);
    const double a = real_of(x, p), b = real_of(x, q);
    surg__real_put(o, p, a * c - b * s);
    surg__real_put(o, q, b * c + a * s);
  }
}

surg__kstatus surg__k_ms_rotary(surg_kctx *k) {
  const surg__array *x = &k->in[0];
  rotation r;
  SURG__K_TRY(read_rotation(k, &r));
  SURG__K_TRY(surg__k_own(k));
  SURG__K_TRY(surg__k_out(k, 0, x->dtype, x->dims, x->rank));
  SURG__K_TRY(surg__k_work(k, x->count));
  if (!k->wanted[0]) return SURG__K_OK;
  for (uint64_t v = 0; v < x->count / (uint64_t)r.size; ++v) {
    const uint64_t heads = (uint64_t)r.heads, places = (uint64_t)r.places;
    const uint64_t place = r.flat ? v / heads % places : v % places;
    const uint64_t batch = v / heads / places;
    const int64_t at = r.n_ids == 1 ? r.ids[0] + (int64_t)place : r.ids[batch * places + place];
    if (at < 0 || at >= k->in[2].dims[0]) return surg__k_invalid(k, "a position is out of range");
    rotate(k, &r, v * (uint64_t)r.size, (uint64_t)at);
  }
  return SURG__K_OK;
}
