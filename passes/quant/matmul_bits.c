/* SPDX-License-Identifier: Apache-2.0 */
/* Products with weights of 4 bits in blocks become MatMulNBits of ONNX Runtime, with the same
 * numbers.
 *
 *   before: e = DequantizeLinear <axis = 0, block_size = 32> (w, s)  y = MatMul (x, e)
 *   after:  y = com.microsoft.MatMulNBits <K, N, bits = 4, block_size = 32> (x, v, t)
 *
 * `replace` does the inverse. Needs sorted, types. Keeps sorted. Rounding: products are summed in
 * another order. */
#include <onnxsurg/ops.h>
#include <string.h>

#include "../util/domains.h"
#include "quant.h"

#define BLOCK_LEAST 16
#define MOST (UINT64_C(1) << 31) /* elements of a weight */

typedef struct buffer {
  uint8_t *p;
  size_t n;
} buffer;

typedef struct packing {
  surg_pass_ctx *p;
  surg_model *m;
  buffer in, out; /* reused: their memory is freed with the pass */
  uint64_t done;
} packing;

/* A weight [K, N], or [N, K] if `rows`, with scales for blocks along K. */
typedef struct packed {
  surg_value *a;
  const surg_tensor *w, *s, *z; /* z NULL: all 0 */
  uint64_t inputs, outputs, block, blocks;
  bool rows;
} packed;

static bool room(packing *c, buffer *b, uint64_t n) {
  if (n <= b->n) return true;
  const size_t more = (size_t)(n > 2 * (uint64_t)b->n ? n : 2 * (uint64_t)b->n);
  b->p = surg_pass_alloc(c->p, more);
  b->n = b->p ? more : 0;
  return b->p != NULL;
}

/* --- matching --- */

static surg_node *producer_of(const surg_value *v, int op) {
  surg_node *n = v ? surg_value_producer(v, NULL) : NULL;
  return n && surg_node_op(n) == op ? n : NULL;
}

static bool turns(const surg_node *n) {
  size_t count;
  const int64_t *perm = surg_node_ints(n, "perm", &count);
  return !perm || (count == 2 && perm[0] == 1 && perm[1] == 0);
}

static const surg_tensor *settled(const surg_node *n, size_t i) {
  const surg_value *v = surg_node_input(n, i);
  return v ? surg_value_settled(v) : NULL;
}

static bool four_bits(int dtype) {
  return dtype == SURG_INT4 || dtype == SURG_UINT4;
}

static bool match(const surg_node *n, packed *k) {
  const surg_node *t = producer_of(surg_node_input(n, 1), SURG_OP_Transpose);
  const surg_node *d = producer_of(surg_node_input(t ? t : n, t ? 0 : 1), SURG_OP_DequantizeLinear);
  if (!d || (t && !turns(t)) || surg_node_int(d, "output_dtype", 0)) return false;
  *k = (packed){.a = surg_node_input(n, 0), .rows = t != NULL};
  k->w = settled(d, 0);
  k->s = settled(d, 1);
  k->z = settled(d, 2);
  if (!k->w || !k->s || (surg_node_input(d, 2) && !k->z) || surg_tensor_rank(k->w) != 2 ||
      !four_bits(surg_tensor_dtype(k->w)) || surg_tensor_count(k->w) > MOST)
    return false;
  const int64_t *dims = surg_tensor_dims(k->w), axis = surg_node_int(d, "axis", 1);
  const int64_t block = surg_node_int(d, "block_size", 0), along = k->rows ? 1 : 0;
  k->inputs = (uint64_t)dims[along];
  k->outputs = (uint64_t)dims[1 - along];
  k->block = (uint64_t)(block > 0 ? block : 0);
  if ((axis != along && axis != along - 2) || block < BLOCK_LEAST || (block & (block - 1)) != 0 ||
      !k->inputs || !k->outputs)
    return false;
  k->blocks = (k->inputs + k->block - 1) / k->block;
  return surg_tensor_count(k->s) == k->blocks * k->outputs && quant_dtype(k->a) != 0 &&
         quant_dtype(k->a) == surg_tensor_dtype(k->s) &&
         (surg_tensor_dtype(k->s) == SURG_FLOAT || surg_tensor_dtype(k->s) == SURG_FLOAT16);
}

/* --- numbers --- */

/* The number of place i, unsigned; those of INT4 are 8 more. */
static unsigned number_at(const uint8_t *p, uint64_t i, bool is_signed) {
  const unsigned q = p[i / 2] >> (i % 2 * 4) & 15u;
  return is_signed ? q ^ 8u : q;
}

/* The weights as [N, blocks, block / 2] bytes; what is beyond K is restored as 0 or not read. */
static surg_tensor *pack_weights(packing *c, const packed *k) {
  const bool is_signed = surg_tensor_dtype(k->w) == SURG_INT4;
  const uint64_t bytes = surg_tensor_bytes(k->w), size = k->block / 2;
  const uint64_t all = k->outputs * k->blocks * size;
  const int64_t dims[] = {(int64_t)k->outputs, (int64_t)k->blocks, (int64_t)size};
  if (!room(c, &c->in, bytes) || !room(c, &c->out, all) ||
      surg_tensor_read(k->w, 0, c->in.p, (size_t)bytes))
    return NULL;
  memset(c->out.p, 0x88, (size_t)all);
  for (uint64_t n = 0; n < k->outputs; n++) {
    uint8_t *row = c->out.p + n * k->blocks * size;
    for (uint64_t i = 0; i < k->inputs; i++) {
      const uint64_t at = k->rows ? n * k->inputs + i : i * k->outputs + n;
      const unsigned q = number_at(c->in.p, at, is_signed);
      row[i / 2] = (uint8_t)(i % 2 ? (row[i / 2] & 15u) | q << 4 : (row[i / 2] & 0xf0u) | q);
    }
  }
  return surg_tensor_new(c->m, SURG_UINT8, dims, 3, c->out.p, (size_t)all);
}

/* The zero points, two in a byte, rows of their own. *none: all are 8, which need not be stored. */
static surg_tensor *pack_zeros(packing *c, const packed *k, bool *none) {
  const bool is_signed = surg_tensor_dtype(k->w) == SURG_INT4;
  const uint64_t line = (k->blocks + 1) / 2, all = k->outputs * line;
  const int64_t dims[] = {(int64_t)all};
  *none = is_signed && !k->z;
  if (*none) return NULL;
  const uint64_t bytes = k->z ? surg_tensor_bytes(k->z) : 0;
  if (!room(c, &c->in, bytes) || !room(c, &c->out, all) ||
      (k->z && surg_tensor_read(k->z, 0, c->in.p, (size_t)bytes)))
    return NULL;
  memset(c->out.p, 0, (size_t)all);
  *none = true;
  for (uint64_t n = 0; n < k->outputs; n++)
    for (uint64_t i = 0; i < k->blocks; i++) {
      const uint64_t at = k->rows ? n * k->blocks + i : i * k->outputs + n;
      const unsigned q = k->z ? number_at(c->in.p, at, is_signed) : 0;
      uint8_t *to = &c->out.p[n * line + i / 2];
      *to = (uint8_t)(*to | q << (i % 2 * 4));
      if (q != 8) *none = false;
    }
  return *none ? NULL : surg_tensor_new(c->m, SURG_UINT8, dims, 1, c->out.p, (size_t)all);
}

/* The scales as [N * blocks]. */
static surg_tensor *pack_scales(packing *c, const packed *k) {
  const size_t size = surg_tensor_dtype(k->s) == SURG_FLOAT ? 4 : 2;
  const uint64_t all = k->outputs * k->blocks, bytes = all * size;
  const int64_t dims[] = {(int64_t)all};
  if (!room(c, &c->in, bytes) || !room(c, &c->out, bytes) ||
      surg_tensor_read(k->s, 0, c->in.p, (size_t)bytes))
    return NULL;
  for (uint64_t n = 0; n < k->outputs; n++)
    for (uint64_t i = 0; i < k->blocks; i++) {
      const uint64_t at = k->rows ? n * k->blocks + i : i * k->outputs + n;
      memcpy(c->out.p + (n * k->blocks + i) * size, c->in.p + at * size, size);
    }
  return surg_tensor_new(c->m, surg_tensor_dtype(k->s), dims, 1, c->out.p, (size_t)bytes);
}

/* --- rewriting --- */

static surg_value *named(packing *c, surg_node *n, const surg_value *after, const char *suffix,
                         surg_tensor *t) {
  quant q = {.p = c->p, .m = c->m};
  const char *stem = t ? quant_stem(&q, after, suffix) : NULL;
  return stem ? surg_graph_constant(surg_node_graph(n), n, stem, t) : NULL;
}

static bool rewrite(packing *c, surg_node *n, const packed *k) {
  bool none;
  surg_value *weights = surg_node_input(n, 1);
  surg_value *w = named(c, n, weights, "_bits", pack_weights(c, k));
  surg_value *s = w ? named(c, n, weights, "_scales", pack_scales(c, k)) : NULL;
  surg_tensor *zt = s ? pack_zeros(c, k, &none) : NULL;
  surg_value *z = zt ? named(c, n, weights, "_zero_points", zt) : NULL;
  if (!s || (!z && !none) || domains_import(surg_node_graph(n), "com.microsoft", 1)) return false;
  surg_node *y = surg_graph_add_node(surg_node_graph(n), n, "com.microsoft", "MatMulNBits", 1);
  if (!y || surg_node_set_input(y, 0, k->a) || surg_node_set_input(y, 1, w) ||
      surg_node_set_input(y, 2, s) || (z && surg_node_set_input(y, 3, z)) ||
      surg_node_set_int(y, "K", (int64_t)k->inputs) ||
      surg_node_set_int(y, "N", (int64_t)k->outputs) || surg_node_set_int(y, "bits", 4) ||
      surg_node_set_int(y, "block_size", (int64_t)k->block) ||
      surg_node_set_name(y, surg_node_name(n)))
    return false;
  return surg_node_take_output(y, 0, surg_node_output(n, 0)) == SURG_OK &&
         surg_node_erase(n) == SURG_OK;
}

/* Removes what made the weight of a former product, as far as it is unused. */
static bool drop(surg_value *v) {
  while (v && !surg_value_use_count(v, 1)) {
    surg_node *n = surg_value_producer(v, NULL);
    if (!n || surg_value_constant(v)) return quant_drop_constant(v);
    surg_value *in[3] = {surg_node_input(n, 0), surg_node_input(n, 1), surg_node_input(n, 2)};
    if (surg_node_erase(n)) return false;
    if (!quant_drop_constant(in[1]) || !quant_drop_constant(in[2])) return false;
    v = in[0];
  }
  return true;
}

static surg_pass_result run(surg_pass_ctx *p, surg_graph *g) {
  packing c = {.p = p, .m = surg_pass_model(p)};
  for (surg_node *n = surg_graph_first_node(g), *next; n; n = next) {
    packed k;
    next = surg_node_next(n);
    if (surg_node_op(n) != SURG_OP_MatMul || surg_pass_keeps_node(p, n) || !match(n, &k) ||
        !surg_pass_allow(p))
      continue;
    surg_value *weights = surg_node_input(n, 1);
    if (!rewrite(&c, n, &k) || !drop(weights)) return SURG_PASS_FAILED;
    c.done++;
  }
  if (c.done) surg_pass_count(p, "products packed", c.done);
  return c.done ? SURG_PASS_CHANGED : SURG_PASS_UNCHANGED;
}

const surg_pass surg__pass_matmul_bits = {
    SURG_PASS_HEAD(GRAPH, "matmul-bits", "make MatMul of 4-bit blocks a MatMulNBits"),
    .needs = SURG_FACT_SORTED | SURG_FACT_TYPES,
    .keeps = SURG_FACT_SORTED,
    .exactness = SURG_ROUNDING,
    .run = run,
};
