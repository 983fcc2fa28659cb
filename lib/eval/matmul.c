/* SPDX-License-Identifier: Apache-2.0 */
/* MatMul, MatMulInteger and Gemm. Float products are added up in double in index order and rounded
 * once; integers wrap. */
#include <math.h>

#include "eval/kernels.h"
#include "eval/loop.h"
#include "eval/number.h"

/* One matrix in the wide form: steps in elements. */
typedef struct matrix {
  const void *p; /* double or uint64_t */
  uint64_t row, column;
} matrix;

/* One row of the product into acc, n columns over depth d: row order keeps b's reads in line. */
static void row_real(double *acc, uint64_t n, uint64_t d, const double *a, uint64_t a_step,
                     const double *b, matrix mb) {
  for (uint64_t j = 0; j < n; ++j) acc[j] = 0;
  for (uint64_t i = 0; i < d; ++i) {
    double v = a[i * a_step];
    const double *from = b + i * mb.row;
    for (uint64_t j = 0; j < n; ++j) acc[j] += v * from[j * mb.column];
  }
}

static void row_int(uint64_t *acc, uint64_t n, uint64_t d, const uint64_t *a, uint64_t a_step,
                    const uint64_t *b, matrix mb) {
  for (uint64_t j = 0; j < n; ++j) acc[j] = 0;
  for (uint64_t i = 0; i < d; ++i) {
    uint64_t v = a[i * a_step];
    const uint64_t *from = b + i * mb.row;
    for (uint64_t j = 0; j < n; ++j) acc[j] += v * from[j * mb.column];
  }
}

/* m*n*d and its parts, checked: d may be zero while m*n is not. */
static surg__kstatus ask_work(surg_kctx *k, uint64_t elements, uint64_t depth) {
  uint64_t work;
  if (!surg__mul_u64(elements, depth > 0 ? depth : 1, &work)) return SURG__K_BUDGET;
  return surg__k_work(k, work);
}

/* --- MatMul --- */

/* Shapes of a product with batches. A vector is a row on the left, a column on the right. */
typedef struct product {
  uint64_t m, n, d;
  uint32_t rank; /* of the batches */
  int64_t dims[SURG_LIMIT_RANK + 2];
  int64_t sa[SURG_LIMIT_RANK], sb[SURG_LIMIT_RANK], so[SURG_LIMIT_RANK];
  uint32_t out_rank;
} product;

static surg__kstatus shapes(surg_kctx *k, product *p) {
  const surg__array *a = &k->in[0], *b = &k->in[1];
  if (a->rank == 0 || b->rank == 0) return surg__k_invalid(k, "MatMul of a scalar");
  bool va = a->rank == 1, vb = b->rank == 1;
  p->m = va ? 1 : (uint64_t)a->dims[a->rank - 2];
  p->n = vb ? 1 : (uint64_t)b->dims[b->rank - 1];
  p->d = (uint64_t)a->dims[a->rank - 1];
  uint64_t depth_b = (uint64_t)b->dims[vb ? 0 : b->rank - 2];
  if (p->d != depth_b) return surg__k_invalid(k, "the inner sizes of the matrices differ");
  surg__array ba = {.rank = va ? 0 : a->rank - 2, .dims = a->dims, .count = a->count};
  surg__array bb = {.rank = vb ? 0 : b->rank - 2, .dims = b->dims, .count = b->count};
  if (!surg__broadcast_dims((const surg__array *const[]){&ba, &bb}, 2, p->dims, &p->rank)) {
    return surg__k_invalid(k, "the batch sizes do not broadcast");
  }
  surg__broadcast_strides(&ba, p->dims, p->rank, p->sa);
  surg__broadcast_strides(&bb, p->dims, p->rank, p->sb);
  surg__dense_strides(p->dims, p->rank, p->so);
  p->out_rank = p->rank;
  if (!va) p->dims[p->out_rank++] = (int64_t)p->m;
  if (!vb) p->dims[p->out_rank++] = (int64_t)p->n;
  return SURG__K_OK;
}

/* One batch: a, b and the output start at element offsets. */
static void multiply(const product *p, int dtype, const void *wa, uint64_t at_a, const void *wb,
                     uint64_t at_b, void *out, uint64_t at_o, void *acc) {
  bool real = surg__is_real(dtype);
  matrix mb = {NULL, p->n, 1};
  for (uint64_t i = 0; i < p->m; ++i) {
    uint64_t row = at_a + i * p->d, to = at_o + i * p->n;
    if (real) {
      row_real(acc, p->n, p->d, (const double *)wa + row, 1, (const double *)wb + at_b, mb);
      for (uint64_t j = 0; j < p->n; ++j) surg__store_f64(dtype, out, to + j, ((double *)acc)[j]);
    } else {
      row_int(acc, p->n, p->d, (const uint64_t *)wa + row, 1, (const uint64_t *)wb + at_b, mb);
      for (uint64_t j = 0; j < p->n; ++j) surg__store_int(dtype, out, to + j, ((uint64_t *)acc)[j]);
    }
  }
}

/* The elements of MatMulInteger less their zero point: one for all, or one a row of A or column
 * of B. Element i belongs to line i / step % lines. */
static const uint64_t *shifted(surg_kctx *k, uint32_t in, uint64_t step, uint64_t lines) {
  const surg__array *a = &k->in[in], *z = &k->in[in + 2];
  uint64_t *out = (uint64_t *)(uintptr_t)surg__k_widen(k, a);
  for (uint64_t i = 0; out && i < a->count; ++i) {
    out[i] -= surg__load_int(z->dtype, z->data, z->count == 1 ? 0 : i / step % lines);
  }
  return out;
}

static surg__kstatus operands(surg_kctx *k, const product *p, const void **wa, const void **wb) {
  bool za = k->op == SURG_OP_MatMulInteger && surg__k_has(k, 2);
  bool zb = k->op == SURG_OP_MatMulInteger && surg__k_has(k, 3);
  if ((za && k->in[2].count != 1 && (k->in[2].rank != 1 || k->in[2].count != p->m)) ||
      (zb && k->in[3].count != 1 && (k->in[3].rank != 1 || k->in[3].count != p->n))) {
    return surg__k_cannot(k, "zero points that are neither one nor one a line");
  }
  *wa = za ? shifted(k, 0, p->d, p->m) : surg__k_widen(k, &k->in[0]);
  *wb = zb ? shifted(k, 1, 1, p->n) : surg__k_widen(k, &k->in[1]);
  return *wa && *wb ? SURG__K_OK : SURG__K_NOMEM;
}

surg__kstatus surg__k_matmul(surg_kctx *k) {
  product p;
  if (!k->wanted[0]) return SURG__K_OK;
  SURG__K_TRY(shapes(k, &p));
  int dtype = k->op == SURG_OP_MatMulInteger ? SURG_INT32 : k->in[0].dtype;
  SURG__K_TRY(surg__k_out(k, 0, dtype, p.dims, p.out_rank));
  if (k->out[0].count == 0) return SURG__K_OK;
  SURG__K_TRY(ask_work(k, k->out[0].count, p.d));
  const void *wa = NULL, *wb = NULL;
  SURG__K_TRY(operands(k, &p, &wa, &wb));
  void *acc = surg__k_scratch(k, (size_t)p.n, sizeof(uint64_t));
  if (!acc) return SURG__K_NOMEM;
  surg__loop l;
  surg__loop_init(&l, p.dims, p.rank, 3, (const int64_t *const[]){p.so, p.sa, p.sb});
  for (; !l.done; surg__loop_next(&l)) {
    for (int64_t i = 0; i < l.inner; ++i) {
      uint64_t at_o = (uint64_t)(l.at[0] + i * l.step[0]);
      uint64_t at_a = (uint64_t)(l.at[1] + i * l.step[1]);
      uint64_t at_b = (uint64_t)(l.at[2] + i * l.step[2]);
      multiply(&p, dtype, wa, at_a * p.m * p.d, wb, at_b * p.d * p.n, k->out[0].data,
               at_o * p.m * p.n, acc);
    }
  }
  return SURG__K_OK;
}

/* --- Gemm --- */

typedef struct gemm {
  uint64_t m, n, d;
  matrix a, b;
  double alpha, beta;
  const void *c; /* wide form, or NULL */
  int64_t sc[2];
} gemm;

static surg__kstatus gemm_shapes(surg_kctx *k, gemm *g) {
  const surg__array *a = &k->in[0], *b = &k->in[1];
  if (a->rank != 2 || b->rank != 2) return surg__k_invalid(k, "Gemm takes matrices");
  bool ta = surg_node_int(k->node, "transA", 0) != 0;
  bool tb = surg_node_int(k->node, "transB", 0) != 0;
  g->m = (uint64_t)a->dims[ta];
  g->d = (uint64_t)a->dims[!ta];
  g->n = (uint64_t)b->dims[!tb];
  if ((uint64_t)b->dims[tb] != g->d) {
    return surg__k_invalid(k, "the inner sizes of the matrices differ");
  }
  g->a = ta ? (matrix){NULL, 1, g->m} : (matrix){NULL, g->d, 1};
  g->b = tb ? (matrix){NULL, 1, g->d} : (matrix){NULL, g->n, 1};
  g->alpha = surg_node_float(k->node, "alpha", 1);
  g->beta = surg_node_float(k->node, "beta", 1);
  return SURG__K_OK;
}

static surg__kstatus gemm_addend(surg_kctx *k, gemm *g) {
  if (!surg__k_has(k, 2)) return SURG__K_OK;
  const surg__array *c = &k->in[2];
  int64_t dims[2] = {(int64_t)g->m, (int64_t)g->n};
  surg__array whole = {.rank = 2, .dims = dims, .count = 2};
  bool same = c->rank == 2 && c->dims[0] == dims[0] && c->dims[1] == dims[1];
  if (k->since < 7 && !same && surg_node_int(k->node, "broadcast", 0) == 0) {
    return surg__k_invalid(k, "the shape of C differs and broadcast is not set");
  }
  if (c->rank > 2 || !surg__aligned_strides(&whole, c, 2 - (int64_t)c->rank, g->sc)) {
    return surg__k_invalid(k, "C does not broadcast to the product");
  }
  g->c = surg__k_widen(k, c);
  return g->c ? SURG__K_OK : SURG__K_NOMEM;
}

/* alpha and beta of integers are applied where they are whole numbers. */
static bool whole(double v) {
  return v == trunc(v) && fabs(v) < 0x1p53;
}

static void gemm_row_real(const gemm *g, int dtype, uint64_t i, double *acc, void *out) {
  row_real(acc, g->n, g->d, (const double *)g->a.p + i * g->a.row, g->a.column, g->b.p, g->b);
  for (uint64_t j = 0; j < g->n; ++j) {
    double v = g->alpha * acc[j];
    if (g->c) v += g->beta * ((const double *)g->c)[(int64_t)i * g->sc[0] + (int64_t)j * g->sc[1]];
    surg__store_f64(dtype, out, i * g->n + j, v);
  }
}

static void gemm_row_int(const gemm *g, int dtype, uint64_t i, uint64_t *acc, void *out) {
  uint64_t alpha = (uint64_t)(int64_t)g->alpha, beta = (uint64_t)(int64_t)g->beta;
  row_int(acc, g->n, g->d, (const uint64_t *)g->a.p + i * g->a.row, g->a.column, g->b.p, g->b);
  for (uint64_t j = 0; j < g->n; ++j) {
    uint64_t v = alpha * acc[j];
    if (g->c) {
      v += beta * ((const uint64_t *)g->c)[(int64_t)i * g->sc[0] + (int64_t)j * g->sc[1]];
    }
    surg__store_int(dtype, out, i * g->n + j, v);
  }
}

surg__kstatus surg__k_gemm(surg_kctx *k) {
  gemm g = {0};
  if (!k->wanted[0]) return SURG__K_OK;
  SURG__K_TRY(gemm_shapes(k, &g));
  int dtype = k->in[0].dtype;
  bool real = surg__is_real(dtype);
  if (!real && (!whole(g.alpha) || !whole(g.beta))) {
    return surg__k_cannot(k, "alpha or beta of an integer Gemm is no whole number");
  }
  SURG__K_TRY(surg__k_out(k, 0, dtype, (const int64_t[]){(int64_t)g.m, (int64_t)g.n}, 2));
  SURG__K_TRY(gemm_addend(k, &g));
  if (k->out[0].count == 0) return SURG__K_OK;
  SURG__K_TRY(ask_work(k, k->out[0].count, g.d));
  g.a.p = surg__k_widen(k, &k->in[0]);
  g.b.p = surg__k_widen(k, &k->in[1]);
  void *acc = surg__k_scratch(k, (size_t)g.n, sizeof(uint64_t));
  if (!g.a.p || !g.b.p || !acc) return SURG__K_NOMEM;
  for (uint64_t i = 0; i < g.m; ++i) {
    if (real) {
      gemm_row_real(&g, dtype, i, acc, k->out[0].data);
    } else {
      gemm_row_int(&g, dtype, i, acc, k->out[0].data);
    }
  }
  return SURG__K_OK;
}
