/* SPDX-License-Identifier: Apache-2.0 */
/* ONNX Runtime's own Attention and MultiHeadAttention over [batch, sequence, heads * size], without
 * what hides keys by number, without past and packed forms. */
#include <math.h>

#include "eval/kernels.h"
#include "eval/loop.h"
#include "eval/number.h"

typedef struct rows {
  const double *data; /* [batch, length, width], `stride` apart */
  uint64_t length, width, stride;
} rows;

typedef struct heads {
  uint64_t batch, n;
  rows q, k, v;
  const surg__array *bias; /* of the scores; NULL */
  double scale;
  bool causal;
} heads;

/* --- the scores --- */

static uint64_t bias_at(const heads *h, uint64_t b, uint64_t head, uint64_t i, uint64_t j) {
  const int64_t *d = h->bias->dims;
  const uint64_t bb = d[0] == 1 ? 0 : b, hh = d[1] == 1 ? 0 : head;
  return ((bb * (uint64_t)d[1] + hh) * h->q.length + i) * h->k.length + j;
}

static const double *head_row(const heads *h, const rows *r, uint64_t b, uint64_t i,
                              uint64_t head) {
  return r->data + (b * r->length + i) * r->stride + head * (r->width / h->n);
}

/* The weights of a row of the scores. */
static void weigh(const heads *h, uint64_t b, uint64_t head, uint64_t i, double *w) {
  const uint64_t n = h->q.width / h->n;
  const double *q = head_row(h, &h->q, b, i, head);
  double most = -INFINITY, sum = 0;
  for (uint64_t j = 0; j < h->k.length; ++j) {
    const double *k = head_row(h, &h->k, b, j, head);
    double dot = 0;
    for (uint64_t c = 0; c < n; ++c) dot += q[c] * k[c];
    w[j] = dot * h->scale;
    if (h->bias) w[j] += surg__real_at(h->bias, bias_at(h, b, head, i, j));
    if (h->causal && j > i) w[j] = -INFINITY;
    if (!(w[j] <= most)) most = w[j];
  }
  for (uint64_t j = 0; j < h->k.length; ++j) sum += w[j] = exp(w[j] - most);
  for (uint64_t j = 0; j < h->k.length; ++j) w[j] /= sum;
}

static surg__kstatus attend(surg_kctx *k, const heads *h) {
  const surg__array *o = &k->out[0];
  const uint64_t n = h->v.width / h->n;
  double *w = surg__k_scratch(k, (size_t)h->k.length, sizeof *w);
  if (!w) return SURG__K_NOMEM;
  for (uint64_t b = 0; b < h->batch; ++b)
    for (uint64_t head = 0; head < h->n; ++head)
      for (uint64_t i = 0; i < h->q.length; ++i) {
        weigh(h, b, head, i, w);
        for (uint64_t c = 0; c < n; ++c) {
          double sum = 0;
          for (uint64_t j = 0; j < h->k.length; ++j)
            sum += w[j] * head_row(h, &h->v, b, j, head)[c];
          surg__real_put(o, (b * h->q.length + i) * h->v.width + head * n + c, sum);
        }
      }
  return SURG__K_OK;
}

/* --- operands --- */

static surg__kstatus read_heads(surg_kctx *k, heads *h, uint32_t bias) {
  const int64_t n = surg_node_int(k->node, "num_heads", 0);
  if (n < 1) return surg__k_invalid(k, "num_heads is not given");
  h->n = (uint64_t)n;
  h->causal = surg_node_int(k->node, "unidirectional", 0) != 0;
  if (h->q.width % h->n || h->v.width % h->n || h->q.width != h->k.width || h->q.width == 0 ||
      h->k.length != h->v.length)
    return surg__k_invalid(k, "the sizes do not fit the number of heads");
  h->scale = surg_node_float(k->node, "scale", 0);
  if (h->scale == 0) h->scale = 1 / sqrt((double)(h->q.width / h->n));
  if (h->causal && h->q.length != h->k.length) return surg__k_cannot(k, "fewer keys than queries");
  if (!surg__k_has(k, bias)) return SURG__K_OK;
  h->bias = &k->in[bias];
  const surg__array *a = h->bias;
  const bool fits = a->rank == 4 && (a->dims[0] == 1 || a->dims[0] == (int64_t)h->batch) &&
                    (a->dims[1] == 1 || a->dims[1] == n) &&
                    a->dims[2] == (int64_t)h->q.length && a->dims[3] == (int64_t)h->k.length;
  return fits ? SURG__K_OK : surg__k_invalid(k, "the bias does not fit the scores");
}

static surg__kstatus make_output(surg_kctx *k, const heads *h) {
  const int64_t dims[3] = {(int64_t)h->batch, (int64_t)h->q.length, (int64_t)h->v.width};
  const uint64_t counts[] = {h->batch, h->q.length, h->k.length + 1, h->q.width + h->v.width};
  SURG__K_TRY(surg__k_own(k));
  SURG__K_TRY(surg__k_out(k, 0, k->in[0].dtype, dims, 3));
  return surg__k_work_product(k, counts, SURG_COUNT(counts));
}

/* Which inputs and outputs, as bits, change what the operator is. */
static bool only(const surg_kctx *k, uint32_t inputs) {
  for (uint32_t i = 0; i < k->n_in; ++i)
    if (surg__k_has(k, i) && !(inputs >> i & 1)) return false;
  for (uint32_t i = 1; i < k->n_out; ++i)
    if (k->wanted[i]) return false;
  return true;
}

/* Input i of [batch, length, width] with its part of the bias. */
static surg__kstatus take(surg_kctx *k, uint32_t i, uint64_t from, rows *r) {
  const surg__array *x = &k->in[i];
  r->length = (uint64_t)x->dims[1];
  r->width = r->stride = (uint64_t)x->dims[2];
  r->data = surg__k_widen(k, x);
  if (!r->data) return SURG__K_NOMEM;
  if (!surg__k_has(k, 3)) return SURG__K_OK;
  double *sum = surg__k_scratch(k, (size_t)x->count, sizeof *sum);
  if (!sum) return SURG__K_NOMEM;
  for (uint64_t at = 0; at < x->count; ++at)
    sum[at] = r->data[at] + surg__real_at(&k->in[3], from + at % r->width);
  r->data = sum;
  return SURG__K_OK;
}

surg__kstatus surg__k_own_heads(surg_kctx *k) {
  heads h = {0};
  if (!k->wanted[0]) return SURG__K_OK;
  if (!surg__k_has(k, 1) || !surg__k_has(k, 2) || !only(k, 0x2f))
    return surg__k_cannot(k, "a past, a mask or packed inputs");
  uint64_t width = 0;
  for (uint32_t i = 0; i < 3; ++i) {
    const surg__array *x = &k->in[i];
    if (x->rank != 3) return surg__k_cannot(k, "packed inputs");
    if (x->dims[0] != k->in[0].dims[0]) return surg__k_invalid(k, "unlike batches");
    width += (uint64_t)x->dims[2];
  }
  if (surg__k_has(k, 3) && (k->in[3].rank != 1 || k->in[3].count != width))
    return surg__k_invalid(k, "the bias does not fit the inputs");
  h.batch = (uint64_t)k->in[0].dims[0];
  const uint64_t q = (uint64_t)k->in[0].dims[2], key = (uint64_t)k->in[1].dims[2];
  SURG__K_TRY(take(k, 0, 0, &h.q));
  SURG__K_TRY(take(k, 1, q, &h.k));
  SURG__K_TRY(take(k, 2, q + key, &h.v));
  SURG__K_TRY(read_heads(k, &h, 5));
  SURG__K_TRY(make_output(k, &h));
  return attend(k, &h);
}

/* x W + bias, [batch * length, columns]. */
static double *project(surg_kctx *k, uint64_t columns) {
  const surg__array *x = &k->in[0];
  const uint64_t width = (uint64_t)x->dims[2], n = x->count / width;
  const double *in = surg__k_widen(k, x), *w = surg__k_widen(k, &k->in[1]);
  double *out = surg__k_scratch(k, (size_t)(n * columns), sizeof *out);
  if (!in || !w || !out) return NULL;
  for (uint64_t i = 0; i < n; ++i)
    for (uint64_t j = 0; j < columns; ++j) {
      double sum = surg__k_has(k, 2) ? surg__real_at(&k->in[2], j) : 0;
      for (uint64_t c = 0; c < width; ++c) sum += in[i * width + c] * w[c * columns + j];
      out[i * columns + j] = sum;
    }
  return out;
}

surg__kstatus surg__k_own_attention(surg_kctx *k) {
  const surg__array *x = &k->in[0], *w = &k->in[1];
  heads h = {0};
  size_t n = 0;
  if (!k->wanted[0]) return SURG__K_OK;
  const int64_t *sizes = surg_node_ints(k->node, "qkv_hidden_sizes", &n);
  if (!only(k, 0x27) || surg_node_int(k->node, "do_rotary", 0))
    return surg__k_cannot(k, "a past, a mask or a rotation");
  if (x->rank != 3 || w->rank != 2 || w->dims[0] != x->dims[2] || x->dims[2] == 0 ||
      (surg__k_has(k, 2) && k->in[2].count != (uint64_t)w->dims[1]))
    return surg__k_invalid(k, "the weights do not fit the input");
  const int64_t columns = w->dims[1];
  const int64_t third[3] = {columns / 3, columns / 3, columns / 3};
  if (!sizes) sizes = third, n = 3;
  if (n != 3 || sizes[0] < 1 || sizes[1] < 1 || sizes[2] < 1 || sizes[0] > columns ||
      sizes[1] > columns || sizes[0] + sizes[1] + sizes[2] != columns)
    return surg__k_invalid(k, "the weights do not make three parts");
  h.batch = (uint64_t)x->dims[0];
  const uint64_t counts[] = {x->count, (uint64_t)columns};
  SURG__K_TRY(surg__k_work_product(k, counts, SURG_COUNT(counts)));
  const double *all = project(k, (uint64_t)columns);
  if (!all) return SURG__K_NOMEM;
  const rows part = {all, (uint64_t)x->dims[1], 0, (uint64_t)columns};
  h.q = h.k = h.v = part;
  h.q.width = (uint64_t)sizes[0];
  h.k.width = (uint64_t)sizes[1];
  h.v.width = (uint64_t)sizes[2];
  h.k.data += sizes[0];
  h.v.data += sizes[0] + sizes[1];
  SURG__K_TRY(read_heads(k, &h, 5));
  SURG__K_TRY(make_output(k, &h));
  return attend(k, &h);
}
