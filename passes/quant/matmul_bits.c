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

typedef struct packing {
  surg_pass_ctx *p;
  surg_model *m;
  uint8_t *strip, *piece; /* reused: their memory is freed with the pass */
  uint64_t strip_size, piece_size;
  uint64_t done;
} packing;

/* A weight [K, N], or [N, K] if `rows`, with scales for blocks along K. */
typedef struct packed {
  surg_value *a;
  const surg_tensor *w, *s, *z; /* z NULL: all 0 */
  uint64_t inputs, outputs, block, blocks;
  bool rows;
} packed;

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
  /* A block that covers the axis may be of any size that does. */
  if (block > 0 && k->block >= k->inputs)
    for (k->block = BLOCK_LEAST; k->block < k->inputs;) k->block *= 2;
  if ((axis != along && axis != along - 2) || k->block < BLOCK_LEAST ||
      (k->block & (k->block - 1)) != 0 || !k->inputs || !k->outputs)
    return false;
  k->blocks = (k->inputs + k->block - 1) / k->block;
  return surg_tensor_count(k->s) == k->blocks * k->outputs && quant_dtype(k->a) != 0 &&
         quant_dtype(k->a) == surg_tensor_dtype(k->s) &&
         (surg_tensor_dtype(k->s) == SURG_FLOAT || surg_tensor_dtype(k->s) == SURG_FLOAT16);
}

/* --- numbers --- */

#define STRIP (UINT64_C(16) << 20) /* bytes of the rows in memory */

/* The rows of a result, one for each of N outputs, from a tensor [columns, N], or [N, columns] if
 * `straight`; NULL: all elements are 0. */
typedef struct rows {
  packing *c;
  const surg_tensor *t;
  bool straight;
  uint8_t flip; /* XOR of integers: 8 adds 8 to INT4 */
  uint64_t n, columns;
  size_t size;            /* of an element as in C */
  uint64_t line, block;   /* bytes of a row of the result; columns of a block, 0: no blocks */
  uint64_t from, count;   /* the rows that are in memory */
  uint64_t most;          /* rows that fit */
  uint8_t *strip, *piece; /* `count` rows of elements as in C; a column of them */
} rows;

static bool room(packing *c, uint8_t **p, uint64_t *have, uint64_t n) {
  if (n <= *have && *p) return true;
  *have = n < STRIP ? STRIP : n;
  *p = surg_pass_alloc(c->p, (size_t)*have);
  return *p != NULL;
}

static bool open_rows(rows *r) {
  const uint64_t row = r->columns * r->size;
  r->most = STRIP / (row ? row : 1);
  if (r->most < 1) r->most = 1;
  if (r->most > r->n) r->most = r->n;
  if (!room(r->c, &r->c->strip, &r->c->strip_size, r->most * row) ||
      !room(r->c, &r->c->piece, &r->c->piece_size, r->most * r->size))
    return false;
  r->strip = r->c->strip;
  r->piece = r->c->piece;
  if (!r->t) memset(r->strip, 0, (size_t)(r->most * row));
  return true;
}

/* The elements of row n, as in C. NULL: *s is set. */
static const uint8_t *row_at(rows *r, uint64_t n, surg_status *s) {
  const size_t row = (size_t)r->columns * r->size;
  *s = SURG_OK;
  if (n < r->from || n >= r->from + r->count) {
    r->from = n;
    r->count = r->n - n < r->most ? r->n - n : r->most;
    if (r->t && r->straight)
      *s =
          surg_tensor_read_numbers(r->t, n * r->columns, r->strip, (size_t)(r->count * r->columns));
    for (uint64_t k = 0; r->t && !r->straight && k < r->columns && *s == SURG_OK; k++) {
      *s = surg_tensor_read_numbers(r->t, k * r->n + n, r->piece, (size_t)r->count);
      uint8_t *to = r->strip + k * r->size;
      for (uint64_t i = 0; i < r->count; i++) memcpy(to + i * row, r->piece + i * r->size, r->size);
    }
  }
  return *s == SURG_OK ? r->strip + (n - r->from) * row : NULL;
}

/* Byte `at` of a row of numbers of 4 bits. Beyond the columns they are 8, or 0 without blocks. */
static uint8_t pair(const rows *r, const uint8_t *row, uint64_t at) {
  unsigned q[2];
  for (unsigned i = 0; i < 2; i++)
    q[i] = 2 * at + i < r->columns ? (row[2 * at + i] & 15u) ^ r->flip : r->block ? 8 : 0;
  return (uint8_t)(q[0] | q[1] << 4);
}

/* Gives rows of numbers of 4 bits, two in a byte. */
static surg_status give_pairs(void *user, uint64_t at, void *out, size_t n) {
  rows *r = user;
  uint8_t *to = out;
  surg_status s = SURG_OK;
  for (size_t done = 0, m; done < n && s == SURG_OK; done += m, at += m) {
    const uint64_t column = at % r->line, left = r->line - column;
    const uint8_t *row = row_at(r, at / r->line, &s);
    m = left < n - done ? (size_t)left : n - done;
    for (size_t i = 0; row && i < m; i++) to[done + i] = pair(r, row, column + i);
  }
  return s;
}

/* Gives rows of scales: the bytes of raw_data are of elements as in C, in little endian. */
static surg_status give_scales(void *user, uint64_t at, void *out, size_t n) {
  rows *r = user;
  uint8_t *to = out;
  surg_status s = SURG_OK;
  for (size_t done = 0, m; done < n && s == SURG_OK; done += m, at += m) {
    const uint64_t column = at % r->line / r->size, left = r->columns - column;
    const uint8_t *row = row_at(r, at / r->line, &s);
    const uint64_t wanted = (n - done) / r->size;
    m = (size_t)(left < wanted ? left : wanted) * r->size;
    for (size_t i = 0; row && i < m; i += r->size) {
      const uint8_t *e = row + column * r->size + i;
      uint32_t bits = 0;
      uint16_t half;
      memcpy(r->size == 4 ? (void *)&bits : (void *)&half, e, r->size);
      if (r->size == 2) bits = half;
      for (size_t k = 0; k < r->size; k++) to[done + i + k] = (uint8_t)(bits >> 8 * k);
    }
  }
  return s;
}

/* The weights as [N, blocks, block / 2] bytes; what is beyond K is restored as 0 or not read. */
static surg_tensor *pack_weights(packing *c, const packed *k) {
  const uint64_t size = k->block / 2;
  const int64_t dims[] = {(int64_t)k->outputs, (int64_t)k->blocks, (int64_t)size};
  rows r = {.c = c,
            .t = k->w,
            .straight = k->rows,
            .flip = surg_tensor_dtype(k->w) == SURG_INT4 ? 8 : 0,
            .n = k->outputs,
            .columns = k->inputs,
            .size = 1,
            .line = k->blocks * size,
            .block = k->block};
  surg_tensor *t =
      open_rows(&r) ? surg_tensor_new_pieces(c->m, SURG_UINT8, dims, 3, give_pairs, &r) : NULL;
  return t;
}

/* Whether all zero points are 8 as unsigned numbers. */
static bool all_middle(rows *r, surg_status *s) {
  for (uint64_t n = 0; n < r->n; n++) {
    const uint8_t *row = row_at(r, n, s);
    for (uint64_t i = 0; row && i < r->columns; i++)
      if (((row[i] & 15u) ^ r->flip) != 8) return false;
    if (!row) return false;
  }
  return true;
}

/* The zero points, two in a byte, rows of their own. *none: all are 8, which need not be stored. */
static surg_tensor *pack_zeros(packing *c, const packed *k, bool *none) {
  const bool is_signed = surg_tensor_dtype(k->w) == SURG_INT4;
  const uint64_t line = (k->blocks + 1) / 2;
  const int64_t dims[] = {(int64_t)(k->outputs * line)};
  surg_status s = SURG_OK;
  *none = is_signed && !k->z;
  if (*none) return NULL;
  rows r = {.c = c,
            .t = k->z,
            .straight = k->rows,
            .flip = is_signed ? 8 : 0,
            .n = k->outputs,
            .columns = k->blocks,
            .size = 1,
            .line = line};
  const bool ok = open_rows(&r);
  *none = ok && all_middle(&r, &s);
  surg_tensor *t = ok && !*none && s == SURG_OK
                       ? surg_tensor_new_pieces(c->m, SURG_UINT8, dims, 1, give_pairs, &r)
                       : NULL;
  return t;
}

/* The scales as [N * blocks]. */
static surg_tensor *pack_scales(packing *c, const packed *k) {
  const size_t size = surg_tensor_dtype(k->s) == SURG_FLOAT ? 4 : 2;
  const int64_t dims[] = {(int64_t)(k->outputs * k->blocks)};
  rows r = {.c = c,
            .t = k->s,
            .straight = k->rows,
            .n = k->outputs,
            .columns = k->blocks,
            .size = size,
            .line = k->blocks * size};
  surg_tensor *t = open_rows(&r) ? surg_tensor_new_pieces(c->m, surg_tensor_dtype(k->s), dims, 1,
                                                          give_scales, &r)
                                 : NULL;
  return t;
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
  /* Types in the bodies of functions are those of their calls. */
  if (surg_model_infer_calls(c.m)) return SURG_PASS_FAILED;
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
    SURG_PASS_HEAD(GRAPH, "matmul-bits", "replace MatMul of 4-bit blocks by MatMulNBits"),
    .needs = SURG_FACT_SORTED | SURG_FACT_TYPES,
    .keeps = SURG_FACT_SORTED,
    .exactness = SURG_ROUNDING,
    .run = run,
};
