/* SPDX-License-Identifier: Apache-2.0 */
/* Quantized operators of com.microsoft, equivalent to lib/eval/contrib/contrib_quant.c. Weights of
 * few bits are unpacked by integer arithmetic; constant weights of 4 bits are passed to a blocked
 * DequantizeLinear instead. */
#include <onnxsurg/precision.h>

#include "rewrite/lower/native.h"

#define MOST_PARTS 256      /* of a QLinearConcat */
#define MOST_SIZE (1 << 28) /* keeps the products below within 64 bits */

/* --- QLinearConcat --- */

/* Creates a QuantizeLinear or DequantizeLinear with a scale of one element and any rank. */
static surg_value *coded(surg__builder *b, const char *op, surg_value *x, surg_value *scale,
                         surg_value *zero) {
  surg_value *one = surg__b_single(b, scale);
  surg_value *const in[3] = {x, one, surg__b_single(b, zero)};
  return surg__b_node(b, op, in, 3);
}

/* Whether these inputs are a float scale and an 8-bit zero point. */
static bool is_coded(const surg_node *n, size_t scale, size_t zero) {
  const int dtype = surg__b_dtype(surg_node_input(n, zero));
  return surg__b_dtype(surg_node_input(n, scale)) == SURG_FLOAT &&
         (dtype == SURG_INT8 || dtype == SURG_UINT8);
}

/* y = QLinearConcat <axis> (scale, zero, x, its scale, its zero, ...) */
static surg_status concat_in_floats(surg__builder *b) {
  surg_node *n = surg__b_matched(b);
  const size_t count = surg_node_input_count(n);
  surg_value *parts[MOST_PARTS];
  surg_value *old = surg_node_output(n, 0);
  if (!surg__b_attrs_known(b) ||
      surg__b_bad(b, count < 5, "expected two or more tensors with scale and zero point") ||
      surg__b_bad(b, (count - 2) % 3, "expected tensors with scale and zero point") ||
      surg__b_bad(b, (count - 2) / 3 > MOST_PARTS, "it has more parts than a rewrite may list") ||
      surg__b_bad(b, !old, "the type of the result is unknown") ||
      surg__b_bad(b, b->m->opset < 10, "the rewrite requires opset 10"))
    return SURG_EUNSUPPORTED;
  if (surg__b_bad(b, !is_coded(n, 0, 1), "expected a scale of float and a zero point of 8 bits"))
    return SURG_EUNSUPPORTED;
  for (size_t i = 2; i < count; i += 3)
    if (surg__b_bad(b, !is_coded(n, i + 1, i + 2),
                    "expected a scale of float and a zero point of 8 bits") ||
        surg__b_bad(
            b, surg__b_dtype(surg_node_input(n, i)) != surg__b_dtype(surg_node_input(n, i + 2)),
            "an element type is unknown or unsupported"))
      return SURG_EUNSUPPORTED;
  for (size_t i = 2; i < count; i += 3)
    parts[(i - 2) / 3] = coded(b, "DequantizeLinear", surg_node_input(n, i),
                               surg_node_input(n, i + 1), surg_node_input(n, i + 2));
  surg_value *all = surg__b_node(b, "Concat", parts, (count - 2) / 3);
  surg__b_set_int(b, all, "axis", surg_node_int(n, "axis", 0));
  surg_value *y = coded(b, "QuantizeLinear", all, surg_node_input(n, 0), surg_node_input(n, 1));
  surg__b_result(b, "y", y);
  return b->status;
}

/* --- MatMulNBits --- */

typedef struct packed {
  surg__builder *b;
  int64_t inputs, outputs, block, blocks, bits;
  surg__built a, w, scales, zeros, bias, groups; /* v NULL: absent */
} packed;

static bool counts(const surg__built *x, int64_t n) {
  uint64_t count;
  return surg__built_count(x, INT64_MAX, &count) && count == (uint64_t)n;
}

/* Bytes of a row of n packed numbers. */
static int64_t row_bytes(const packed *p, int64_t n) {
  return (n * p->bits + 7) / 8;
}

static bool read_packed(packed *p) {
  surg__builder *b = p->b;
  const surg_node *n = surg__b_matched(b);
  p->inputs = surg_node_int(n, "K", 0);
  p->outputs = surg_node_int(n, "N", 0);
  p->block = surg_node_int(n, "block_size", 0);
  p->bits = surg_node_int(n, "bits", 4);
  if (!surg__b_attrs_known(b) || p->inputs < 1 || p->outputs < 1 || p->block < 1 ||
      p->inputs > MOST_SIZE || p->outputs > MOST_SIZE || p->block > MOST_SIZE ||
      (p->bits != 2 && p->bits != 4 && p->bits != 8) || p->block * p->bits % 8)
    return false;
  p->blocks = (p->inputs + p->block - 1) / p->block;
  if (!surg__built_get(b, "a", &p->a) || p->a.rank < 1 || p->a.d[p->a.rank - 1].n != p->inputs ||
      !surg__built_get(b, "w", &p->w) || !surg__built_get(b, "s", &p->scales))
    return false;
  if (surg__b_get(b, "z") && !surg__built_get(b, "z", &p->zeros)) return false;
  if (surg__b_get(b, "c") && (!surg__built_get(b, "c", &p->bias) || p->bias.rank != 1))
    return false;
  if (surg__b_get(b, "g") && (!surg__built_get(b, "g", &p->groups) || p->groups.rank != 1))
    return false;
  /* ONNX Runtime computes something else there than what it documents. */
  if (surg__b_bad(b, p->groups.v && p->zeros.dtype == SURG_UINT8,
                  "group indices with zero points of bytes are unsupported"))
    return false;
  const int64_t numbers = p->outputs * p->blocks;
  const int64_t codes =
      p->zeros.dtype == SURG_UINT8 ? p->outputs * row_bytes(p, p->blocks) : numbers;
  return p->w.dtype == SURG_UINT8 && counts(&p->scales, numbers) &&
         counts(&p->w, p->outputs * p->blocks * row_bytes(p, p->block)) &&
         (!p->zeros.v || counts(&p->zeros, codes));
}

/* Unpacks the integers of each byte, lowest bits first: [N, n] of int32. */
static surg__built unpacked(const packed *p, surg__built x, int64_t n) {
  surg__builder *b = p->b;
  const int64_t bytes = row_bytes(p, n), per = 8 / p->bits;
  const surg__bdim rows[3] = {surg__bdim_fixed(p->outputs), surg__bdim_fixed(bytes),
                              surg__bdim_fixed(1)};
  const surg__bdim flat[2] = {rows[0], surg__bdim_fixed(bytes * per)};
  surg__built parts[4], rest = surg__built_cast(b, surg__built_reshape(b, x, rows, 3), SURG_INT32);
  for (int64_t i = 0; i + 1 < per; i++) {
    const surg__built above = surg__built_number(b, "Div", rest, (double)(1 << p->bits));
    const surg__built high = surg__built_number(b, "Mul", above, (double)(1 << p->bits));
    parts[i] = surg__built_binary(b, "Sub", rest, high);
    rest = above;
  }
  parts[per - 1] = rest;
  surg__built y = surg__built_reshape(b, surg__built_concat(b, parts, (size_t)per, 2), flat, 2);
  return surg__built_slice(b, y, 1, surg__bdim_fixed(0), surg__bdim_fixed(n));
}

/* Reshapes one number per block to [N, blocks, 1] of float. */
static surg__built of_blocks(const packed *p, surg__built x) {
  const surg__bdim d[3] = {surg__bdim_fixed(p->outputs), surg__bdim_fixed(p->blocks),
                           surg__bdim_fixed(1)};
  return surg__built_reshape(p->b, surg__built_cast(p->b, x, SURG_FLOAT), d, 3);
}

/* One number per block as one number per weight: [N, K] of float. The block of a row of weights is
 * stated by g_idx. */
static surg__built of_rows(const packed *p, surg__built x) {
  surg__builder *b = p->b;
  const surg__bdim d[2] = {surg__bdim_fixed(p->outputs), surg__bdim_fixed(p->blocks)};
  x = surg__built_reshape(b, surg__built_cast(b, x, SURG_FLOAT), d, 2);
  const surg__built from =
      surg__built_slice(b, p->groups, 0, surg__bdim_fixed(0), surg__bdim_fixed(p->inputs));
  x = surg__built_gather(b, x, from, 1);
  x.d[1] = surg__bdim_fixed(p->inputs);
  return x;
}

static surg__built by_groups(const packed *p) {
  surg__builder *b = p->b;
  const int64_t all = p->blocks * p->block;
  surg__built w = surg__built_cast(b, unpacked(p, p->w, all), SURG_FLOAT);
  const surg__built zeros = p->zeros; /* not bytes: see read_packed */
  w = surg__built_slice(b, w, 1, surg__bdim_fixed(0), surg__bdim_fixed(p->inputs));
  w = zeros.v ? surg__built_binary(b, "Sub", w, of_rows(p, zeros))
              : surg__built_number(b, "Sub", w, (double)(1 << (p->bits - 1)));
  return surg__built_binary(b, "Mul", w, of_rows(p, p->scales));
}

/* The dequantized weights [N, K] of float, by arithmetic. */
static surg__built by_arithmetic(const packed *p) {
  surg__builder *b = p->b;
  const surg__bdim n = surg__bdim_fixed(p->outputs), all = surg__bdim_fixed(p->blocks * p->block);
  const surg__bdim d[3] = {n, surg__bdim_fixed(p->blocks), surg__bdim_fixed(p->block)},
                   flat[2] = {n, all};
  surg__built w = surg__built_cast(b, unpacked(p, p->w, all.n), SURG_FLOAT);
  w = surg__built_reshape(b, w, d, 3);
  surg__built zeros = p->zeros;
  if (zeros.dtype == SURG_UINT8) zeros = unpacked(p, zeros, p->blocks);
  w = zeros.v ? surg__built_binary(b, "Sub", w, of_blocks(p, zeros))
              : surg__built_number(b, "Sub", w, (double)(1 << (p->bits - 1)));
  w = surg__built_binary(b, "Mul", w, of_blocks(p, p->scales));
  w = surg__built_reshape(b, w, flat, 2);
  return surg__built_slice(b, w, 1, surg__bdim_fixed(0), surg__bdim_fixed(p->inputs));
}

/* Reads the bytes of a constant; NULL: not a constant, or out of memory. */
static uint8_t *bytes_of(const packed *p, const surg__built *x, int64_t n) {
  surg_tensor *t = surg_value_constant(x->v);
  uint8_t *raw = t ? surg__arena_array(p->b->m->arena, (size_t)n + 1, 1) : NULL;
  return raw && surg_tensor_read(t, 0, raw, (size_t)n) == SURG_OK ? raw : NULL;
}

/* Zero points as DequantizeLinear requires them, without padding of rows: [N, blocks] of UINT4. */
static surg_value *zeros_in_a_row(const packed *p, const uint8_t *rows) {
  surg__builder *b = p->b;
  const int64_t n = p->outputs * p->blocks, bytes = row_bytes(p, p->blocks);
  const int64_t dims[2] = {p->outputs, p->blocks};
  uint8_t *raw = surg__arena_zalloc(b->m->arena, (size_t)(n / 2 + 1));
  if (!raw) return surg__b_no_memory(b);
  for (int64_t i = 0; i < n; i++) {
    const int64_t row = i / p->blocks, k = i % p->blocks;
    const unsigned code = rows ? rows[row * bytes + k / 2] >> (k % 2 * 4) & 15u : 8u;
    raw[i / 2] = (uint8_t)(raw[i / 2] | code << (i % 2 * 4));
  }
  return surg__b_tensor(b, SURG_UINT4, dims, 2, raw, (size_t)(n + 1) / 2);
}

static surg_status same_bytes(void *user, uint64_t at, void *out, size_t n) {
  return surg_tensor_read(user, at, out, n);
}

/* The dequantized weights for 4-bit constants, which keep their bytes. False: not supported. */
static bool in_blocks(const packed *p, surg__built *w) {
  surg__builder *b = p->b;
  const int64_t dims[2] = {p->outputs, p->inputs};
  const surg__bdim d[2] = {surg__bdim_fixed(p->outputs), surg__bdim_fixed(p->blocks)};
  const int64_t bytes = p->outputs * p->inputs / 2;
  if (b->m->opset < 21 || p->bits != 4 || p->inputs % p->block) return false;
  if (p->zeros.v && p->zeros.dtype != SURG_UINT8) return false;
  surg_tensor *raw = surg_value_constant(p->w.v);
  const uint8_t *zeros = NULL;
  if (p->zeros.v) zeros = bytes_of(p, &p->zeros, p->outputs * row_bytes(p, p->blocks));
  if (!raw || surg_tensor_bytes(raw) != (uint64_t)bytes || (p->zeros.v && !zeros)) return false;
  surg_value *codes =
      surg__b_made(b, surg_tensor_new_pieces(b->m->m, SURG_UINT4, dims, 2, same_bytes, raw));
  surg_value *scales = surg__built_reshape(b, surg__built_cast(b, p->scales, SURG_FLOAT), d, 2).v;
  surg_value *const in[3] = {codes, scales, zeros_in_a_row(p, zeros)};
  *w = (surg__built){
      .dtype = SURG_FLOAT, .rank = 2, .d = {surg__bdim_fixed(dims[0]), surg__bdim_fixed(dims[1])}};
  w->v = surg__b_node(b, "DequantizeLinear", in, 3);
  surg__b_set_int(b, w->v, "axis", 1);
  surg__b_set_int(b, w->v, "block_size", p->block);
  return true;
}

/* y = MatMulNBits <K, N, block_size, bits> (a, w, s, z, , c) */
static surg_status product_of_packed(surg__builder *b) {
  static const int64_t turn[2] = {1, 0};
  packed p = {.b = b};
  surg__built w;
  if (!read_packed(&p)) return SURG_EUNSUPPORTED;
  if (b->m->opset < 10) return surg__b_decline(b, "the rewrite requires opset 10");
  if (p.groups.v)
    w = by_groups(&p);
  else if (!in_blocks(&p, &w))
    w = by_arithmetic(&p);
  w = surg__built_transpose(b, w, turn);
  surg__built y = surg__built_cast(b, p.a, SURG_FLOAT);
  y.v = surg__b_binary(b, "MatMul", y.v, w.v);
  y.d[y.rank - 1] = surg__bdim_fixed(p.outputs);
  if (p.bias.v) y = surg__built_binary(b, "Add", y, surg__built_cast(b, p.bias, SURG_FLOAT));
  surg__built_result(b, "y", surg__built_cast(b, y, p.a.dtype));
  return b->status;
}

const surg__native surg__natives_packed[] = {
    {"qlinear_concat", concat_in_floats, "QLinearConcat in floats"},
    {"matmul_bits", product_of_packed, "MatMulNBits as a MatMul with unpacked weights"},
    {NULL, NULL, NULL},
};
