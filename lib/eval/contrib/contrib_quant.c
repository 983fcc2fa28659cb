/* SPDX-License-Identifier: Apache-2.0 */
/* Quantized operators of ONNX Runtime: QLinearConcat, and a product with weights below 8 bits. */
#include <math.h>

#include "eval/core/kernels.h"
#include "eval/core/loop.h"
#include "eval/core/number.h"

/* --- QLinearConcat: scale and zero point of the result, then three inputs per part --- */

typedef struct parts {
  uint32_t n, axis;
  uint64_t outer, inner;
  double scale, zero;
} parts;

static const surg__array *part(const surg_kctx *k, uint32_t i) {
  return &k->in[2 + 3 * i];
}

static surg__kstatus read_parts(surg_kctx *k, parts *p, int64_t *dims) {
  if (k->n_in < 5 || (k->n_in - 2) % 3) return surg__k_invalid(k, "not three inputs for each part");
  *p = (parts){.n = (k->n_in - 2) / 3, .outer = 1, .inner = 1};
  const surg__array *first = part(k, 0);
  if (!surg__k_axis(surg_node_int(k->node, "axis", 0), first->rank, &p->axis))
    return surg__k_invalid(k, "axis out of range");
  memcpy(dims, first->dims, first->rank * sizeof *dims);
  dims[p->axis] = 0;
  for (uint32_t i = 0; i < p->n; ++i) {
    const surg__array *x = part(k, i);
    if (x->rank != first->rank || x[1].count != 1 || x[2].count != 1)
      return surg__k_invalid(k, "a part of another rank, or with more than one scale");
    if (!surg__is_int(x->dtype) || x[2].dtype != x->dtype || x[1].dtype != SURG_FLOAT)
      return surg__k_invalid(k, "a part, its scale or its zero point is of another type");
    for (uint32_t d = 0; d < x->rank; ++d)
      if (d != p->axis && x->dims[d] != dims[d])
        return surg__k_invalid(k, "the parts have other sizes beside the axis");
    if (!surg__add_i64(dims[p->axis], x->dims[p->axis], &dims[p->axis])) return SURG__K_BUDGET;
  }
  for (uint32_t d = 0; d < first->rank; ++d)
    *(d < p->axis ? &p->outer : &p->inner) *= d == p->axis ? 1 : (uint64_t)first->dims[d];
  p->scale = surg__number_at(&k->in[0], 0);
  p->zero = surg__number_at(&k->in[1], 0);
  return SURG__K_OK;
}

static void put_part(const surg_kctx *k, const parts *p, uint32_t i, uint64_t row, uint64_t at) {
  const surg__array *x = part(k, i), *o = &k->out[0];
  const double scale = surg__number_at(&x[1], 0), zero = surg__number_at(&x[2], 0);
  const double low = (double)surg__int_min(o->dtype), high = (double)surg__int_max(o->dtype);
  const uint64_t n = (uint64_t)x->dims[p->axis] * p->inner;
  for (uint64_t j = 0; j < n; ++j) {
    const float real = (float)((surg__number_at(x, row * n + j) - zero) * scale);
    double v = nearbyint((double)(float)((double)real / p->scale)) + p->zero;
    v = !(v > low) ? low : v > high ? high : v;
    surg__store_int(o->dtype, o->data, at + j, (uint64_t)(int64_t)v);
  }
}

surg__kstatus surg__k_qlinear_concat(surg_kctx *k) {
  int64_t dims[SURG_LIMIT_RANK];
  parts p = {0};
  if (!k->wanted[0]) return SURG__K_OK;
  if (k->in[0].count != 1 || k->in[1].count != 1)
    return surg__k_invalid(k, "a scale is not a number");
  SURG__K_TRY(read_parts(k, &p, dims));
  SURG__K_TRY(surg__k_own(k));
  SURG__K_TRY(surg__k_out(k, 0, k->in[1].dtype, dims, part(k, 0)->rank));
  SURG__K_TRY(surg__k_work(k, k->out[0].count));
  if (k->out[0].count == 0) return SURG__K_OK;
  uint64_t at = 0;
  for (uint64_t row = 0; row < p.outer; ++row)
    for (uint32_t i = 0; i < p.n; ++i) {
      put_part(k, &p, i, row, at);
      at += (uint64_t)part(k, i)->dims[p.axis] * p.inner;
    }
  return SURG__K_OK;
}

/* --- MatMulNBits: rows of weights in blocks, each with a scale and a zero point --- */

#define MOST_SIZE (1 << 28) /* keeps the products below within 64 bits */

typedef struct packed {
  uint64_t inputs, outputs, block, blocks, bits, rows;
  const surg__array *zeros; /* NULL: the middle of the range */
  bool zeros_packed;
} packed;

static uint64_t bits_at(const surg__array *a, uint64_t row_bytes, uint64_t row, uint64_t i,
                        uint64_t bits) {
  const uint8_t byte = ((const uint8_t *)a->data)[row * row_bytes + i * bits / 8];
  return byte >> (i * bits % 8) & ((1u << bits) - 1);
}

static surg__kstatus read_packed(surg_kctx *k, packed *p) {
  const surg__array *x = &k->in[0], *w = &k->in[1], *scales = &k->in[2];
  const int64_t inputs = surg_node_int(k->node, "K", 0), outputs = surg_node_int(k->node, "N", 0);
  const int64_t block = surg_node_int(k->node, "block_size", 0);
  const int64_t bits = surg_node_int(k->node, "bits", 4);
  if (inputs < 1 || outputs < 1 || block < 1 || (bits != 2 && bits != 4 && bits != 8) ||
      block * bits % 8 || inputs > MOST_SIZE || outputs > MOST_SIZE || block > MOST_SIZE)
    return surg__k_cannot(k, "weights of another form");
  if (surg__k_has(k, 4)) return surg__k_cannot(k, "weights in another order");
  *p = (packed){.inputs = (uint64_t)inputs, .outputs = (uint64_t)outputs,
                .block = (uint64_t)block, .bits = (uint64_t)bits};
  p->blocks = (p->inputs + p->block - 1) / p->block;
  if (x->rank < 1 || x->dims[x->rank - 1] != inputs ||
      w->count != p->outputs * p->blocks * (p->block * p->bits / 8) ||
      scales->count != p->outputs * p->blocks)
    return surg__k_invalid(k, "the sizes do not fit K, N and block_size");
  p->rows = x->count / p->inputs;
  if (surg__k_has(k, 5) && k->in[5].count != p->outputs)
    return surg__k_invalid(k, "the bias is not of size N");
  if (!surg__k_has(k, 3)) return SURG__K_OK;
  p->zeros = &k->in[3];
  p->zeros_packed = p->zeros->dtype == SURG_UINT8;
  const uint64_t each = p->zeros_packed ? (p->blocks * p->bits + 7) / 8 : p->blocks;
  return p->zeros->count == p->outputs * each ? SURG__K_OK
                                              : surg__k_invalid(k, "not a zero point a block");
}

static double weight_at(const surg_kctx *k, const packed *p, uint64_t n, uint64_t i) {
  const uint64_t b = i / p->block, row = p->blocks * p->block * p->bits / 8;
  double zero = (double)(1u << (p->bits - 1));
  if (p->zeros)
    zero = p->zeros_packed
               ? (double)bits_at(p->zeros, (p->blocks * p->bits + 7) / 8, n, b, p->bits)
               : surg__number_at(p->zeros, n * p->blocks + b);
  return ((double)bits_at(&k->in[1], row, n, i, p->bits) - zero) *
         surg__number_at(&k->in[2], n * p->blocks + b);
}

surg__kstatus surg__k_matmul_bits(surg_kctx *k) {
  const surg__array *x = &k->in[0];
  int64_t dims[SURG_LIMIT_RANK];
  packed p = {0};
  if (!k->wanted[0]) return SURG__K_OK;
  SURG__K_TRY(read_packed(k, &p));
  SURG__K_TRY(surg__k_own(k));
  memcpy(dims, x->dims, x->rank * sizeof *dims);
  dims[x->rank - 1] = (int64_t)p.outputs;
  SURG__K_TRY(surg__k_out(k, 0, x->dtype, dims, x->rank));
  const uint64_t counts[] = {p.rows + 1, p.outputs, p.inputs};
  SURG__K_TRY(surg__k_work_product(k, counts, SURG_COUNT(counts)));
  double *w = surg__k_scratch(k, (size_t)p.inputs, sizeof *w);
  const double *in = surg__k_widen(k, x);
  if (!w || !in) return SURG__K_NOMEM;
  for (uint64_t n = 0; n < p.outputs; ++n) {
    for (uint64_t i = 0; i < p.inputs; ++i) w[i] = weight_at(k, &p, n, i);
    for (uint64_t r = 0; r < p.rows; ++r) {
      double sum = 0;
      for (uint64_t i = 0; i < p.inputs; ++i) sum += in[r * p.inputs + i] * w[i];
      if (surg__k_has(k, 5)) sum += surg__number_at(&k->in[5], n);
      surg__store_f64(x->dtype, k->out[0].data, r * p.outputs + n, sum);
    }
  }
  return SURG__K_OK;
}
