/* SPDX-License-Identifier: Apache-2.0 */
/* MatMul, MatMulInteger, QLinearMatMul and Gemm. Float products are summed in double in index
 * order and rounded once (gemm.h). Sums of 8-bit integers are computed the same way and are
 * exact. Wider integers wrap. */
#include <math.h>

#include "eval/linear/gemm.h"
#include "eval/core/kernels.h"
#include "eval/core/loop.h"
#include "eval/core/number.h"
#include "eval/quant/requantize.h"

/* An integer matrix converted to uint64_t; strides in elements. */
typedef struct matrix {
  const uint64_t *p;
  uint64_t row, column;
} matrix;

/* Computes one row of the product: n columns over depth d. The loop order reads b row by row. */
static void row_int(uint64_t *acc, uint64_t n, uint64_t d, const uint64_t *a, uint64_t a_step,
                    const uint64_t *b, matrix mb) {
  for (uint64_t j = 0; j < n; ++j) acc[j] = 0;
  for (uint64_t i = 0; i < d; ++i) {
    uint64_t v = a[i * a_step];
    const uint64_t *from = b + i * mb.row;
    for (uint64_t j = 0; j < n; ++j) acc[j] += v * from[j * mb.column];
  }
}

/* Charges elements * depth operations to the budget, with an overflow check; at least one per
 * element, because the depth may be 0. */
static surg__kstatus ask_work(surg_kctx *k, uint64_t elements, uint64_t depth) {
  uint64_t work;
  if (!surg__mul_u64(elements, depth > 0 ? depth : 1, &work)) return SURG__K_BUDGET;
  return surg__k_work(k, work);
}

/* --- batched products --- */

/* The shapes of a batched product. A vector is a row on the left, a column on the right. */
typedef struct product {
  const surg__array *a, *b;
  uint64_t m, n, d;
  uint32_t rank; /* number of batch axes */
  int64_t dims[SURG_LIMIT_RANK + 2];
  int64_t sa[SURG_LIMIT_RANK], sb[SURG_LIMIT_RANK], so[SURG_LIMIT_RANK];
  uint32_t out_rank;
} product;

static surg__kstatus shapes(surg_kctx *k, const surg__array *a, const surg__array *b, product *p) {
  if (a->rank == 0 || b->rank == 0) return surg__k_invalid(k, "MatMul of a scalar");
  bool va = a->rank == 1, vb = b->rank == 1;
  *p = (product){.a = a, .b = b};
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

/* A zero point or a scale: one value in total, one per line (row of the left, column of the
 * right matrix), or one per line and batch entry. */
typedef struct side {
  const double *values;
  uint64_t line_step;
  int64_t batch[SURG_LIMIT_RANK]; /* strides along the batch axes */
} side;

/* Reads input i as a side. `left`: its lines are rows. An absent input has no values. */
static surg__kstatus read_side(surg_kctx *k, const product *p, uint32_t i, bool left, side *out) {
  *out = (side){0};
  if (!surg__k_has(k, i)) return SURG__K_OK;
  const surg__array *s = &k->in[i];
  uint64_t lines = left ? p->m : p->n;
  double *values = surg__k_scratch(k, (size_t)s->count, sizeof *values);
  if (!values) return SURG__K_NOMEM;
  surg__load_run(s->dtype, s->data, 0, 1, s->count, values);
  out->values = values;
  if (s->count == 1) return SURG__K_OK;
  out->line_step = 1;
  if (s->rank == 1 && s->count == lines) return SURG__K_OK;
  uint32_t outer = s->rank < 2 ? 0 : s->rank - 2;
  if (s->rank < 2 || s->dims[outer + left] != 1 || (uint64_t)s->dims[outer + !left] != lines ||
      outer > p->rank) {
    return surg__k_invalid(k, "a zero point or scale is neither one nor one a line");
  }
  surg__array batches = {.rank = outer, .dims = s->dims, .count = s->count};
  for (uint32_t d = 0; d < outer; ++d) {
    int64_t size = s->dims[d];
    if (size != 1 && size != p->dims[p->rank - outer + d]) {
      return surg__k_invalid(k, "a zero point or scale does not fit the batches");
    }
  }
  surg__broadcast_strides(&batches, p->dims, p->rank, out->batch);
  for (uint32_t d = 0; d < p->rank; ++d) out->batch[d] *= (int64_t)lines;
  return SURG__K_OK;
}

static const double *side_at(const side *s, int64_t at) {
  return s->values ? s->values + at : NULL;
}

/* Destination of finished sums, and the parameters of their conversion. */
typedef struct target {
  int dtype;
  void *data;
  uint64_t at, n; /* first element, and length of a row */
  /* QLinearMatMul only; each has a stride per line: */
  const double *scale_a, *scale_b, *scale_y, *zero_y;
  uint64_t step_a, step_b, step_y, step_zero;
} target;

static void store_real(void *user, uint64_t i, uint64_t column, uint64_t n, const double *sums) {
  const target *t = user;
  surg__store_run(t->dtype, t->data, t->at + i * t->n + column, n, sums);
}

static void store_whole(void *user, uint64_t i, uint64_t column, uint64_t n, const double *sums) {
  const target *t = user;
  surg__gemm_store_whole(t->dtype, t->data, t->at + i * t->n + column, n, sums);
}

static void store_narrow(void *user, uint64_t i, uint64_t column, uint64_t n, const double *sums) {
  const target *t = user;
  uint64_t at = t->at + i * t->n + column;
  int64_t zero = t->zero_y ? (int64_t)t->zero_y[i * t->step_zero] : 0;
  for (uint64_t j = 0; j < n; ++j) {
    float scale = surg__scale_product(t->scale_a[i * t->step_a],
                                      t->scale_b[(column + j) * t->step_b],
                                      t->scale_y[i * t->step_y]);
    surg__requantize(t->dtype, t->data, at + j, sums[j], scale, zero);
  }
}

/* The scales and zero points of a node. Absent ones have no values. */
typedef struct sides {
  side zero_a, zero_b, scale_a, scale_b, scale_y, zero_y;
} sides;

/* Computes the products of all batch entries. */
static surg__kstatus multiply_all(surg_kctx *k, const product *p, const sides *s,
                                  surg__gemm_store store) {
  const surg__array *o = &k->out[0];
  surg__gemm_matrix a = {.dtype = p->a->dtype, .data = p->a->data, .line = p->d, .depth = 1,
                         .zero_step = s->zero_a.line_step};
  surg__gemm_matrix b = {.dtype = p->b->dtype, .data = p->b->data, .line = 1, .depth = p->n,
                         .zero_step = s->zero_b.line_step};
  target t = {.dtype = o->dtype, .data = o->data, .n = p->n, .step_a = s->scale_a.line_step,
              .step_b = s->scale_b.line_step, .step_y = s->scale_y.line_step,
              .step_zero = s->zero_y.line_step};
  surg__gemm g = {.m = p->m, .n = p->n, .d = p->d, .pack_a = surg__gemm_pack_matrix,
                  .pack_b = surg__gemm_pack_matrix, .a = &a, .b = &b, .store = store, .to = &t};
  surg__gemm_room room;
  bool wide_a;
  SURG__K_TRY(surg__gemm_window(k, p->a, &a, &g.stage_a, &wide_a));
  SURG__K_TRY(surg__gemm_window(k, p->b, &b, &g.stage_b, &g.wide_b));
  uint64_t batches = o->count / (p->m * p->n);
  SURG__K_TRY(surg__gemm_init(k, &room, p->m, p->n, p->d, batches,
                              surg__gemm_kind_of(p->a->dtype, p->b->dtype)));
  if (g.wide_b) SURG__K_TRY(surg__gemm_widen(&room, g.n));
  int64_t index[SURG_LIMIT_RANK] = {0};
  for (uint64_t batch = 0; batch < batches; ++batch) {
    int64_t at[9] = {0};
    const int64_t *steps[9] = {p->so, p->sa, p->sb, s->zero_a.batch, s->zero_b.batch,
                               s->scale_a.batch, s->scale_b.batch, s->scale_y.batch,
                               s->zero_y.batch};
    for (uint32_t i = 0; i < 9; ++i) {
      for (uint32_t d = 0; d < p->rank; ++d) at[i] += index[d] * steps[i][d];
    }
    t.at = (uint64_t)at[0] * p->m * p->n;
    a.at = (uint64_t)at[1] * p->m * p->d;
    b.at = (uint64_t)at[2] * p->d * p->n;
    a.zero = side_at(&s->zero_a, at[3]);
    b.zero = side_at(&s->zero_b, at[4]);
    t.scale_a = side_at(&s->scale_a, at[5]);
    t.scale_b = side_at(&s->scale_b, at[6]);
    t.scale_y = side_at(&s->scale_y, at[7]);
    t.zero_y = side_at(&s->zero_y, at[8]);
    surg__gemm_run(&g, &room);
    for (uint32_t d = p->rank; d-- > 0;) {
      if (++index[d] < p->dims[d]) break;
      index[d] = 0;
    }
  }
  return SURG__K_OK;
}

/* --- MatMul, MatMulInteger --- */

/* Multiplies integers of any width modulo 2^64. */
static surg__kstatus multiply_ints(surg_kctx *k, const product *p) {
  const surg__array *o = &k->out[0];
  SURG__K_TRY(ask_work(k, o->count, p->d));
  const uint64_t *wa = surg__k_widen(k, p->a), *wb = surg__k_widen(k, p->b);
  uint64_t *acc = surg__k_scratch(k, (size_t)p->n, sizeof *acc);
  if (!wa || !wb || !acc) return SURG__K_NOMEM;
  surg__loop l;
  surg__loop_init(&l, p->dims, p->rank, 3, (const int64_t *const[]){p->so, p->sa, p->sb});
  for (; !l.done; surg__loop_next(&l)) {
    for (int64_t i = 0; i < l.inner; ++i) {
      uint64_t to = (uint64_t)(l.at[0] + i * l.step[0]) * p->m * p->n;
      const uint64_t *a = wa + (uint64_t)(l.at[1] + i * l.step[1]) * p->m * p->d;
      const uint64_t *b = wb + (uint64_t)(l.at[2] + i * l.step[2]) * p->d * p->n;
      for (uint64_t r = 0; r < p->m; ++r, a += p->d, to += p->n) {
        row_int(acc, p->n, p->d, a, 1, b, (matrix){b, p->n, 1});
        for (uint64_t j = 0; j < p->n; ++j) surg__store_int(o->dtype, o->data, to + j, acc[j]);
      }
    }
  }
  return SURG__K_OK;
}

surg__kstatus surg__k_matmul(surg_kctx *k) {
  product p;
  sides s = {0};
  bool integer = k->op == SURG_OP_MatMulInteger;
  if (!k->wanted[0]) return SURG__K_OK;
  SURG__K_TRY(shapes(k, &k->in[0], &k->in[1], &p));
  if (integer) SURG__K_TRY(read_side(k, &p, 2, true, &s.zero_a));
  if (integer) SURG__K_TRY(read_side(k, &p, 3, false, &s.zero_b));
  int dtype = integer ? SURG_INT32 : k->in[0].dtype;
  SURG__K_TRY(surg__k_out(k, 0, dtype, p.dims, p.out_rank));
  if (k->out[0].count == 0) return SURG__K_OK;
  if (integer) return multiply_all(k, &p, &s, store_whole);
  if (surg__is_real(dtype)) return multiply_all(k, &p, &s, store_real);
  return multiply_ints(k, &p);
}

/* --- QLinearMatMul --- */

static bool positive(const surg__array *a) {
  for (uint64_t i = 0; i < a->count; ++i) {
    double v = surg__load_f64(a->dtype, a->data, i);
    if (!(v > 0) || isinf(v)) return false;
  }
  return true;
}

static bool all_zero(const surg__array *a) {
  for (uint64_t i = 0; i < a->count; ++i) {
    if (surg__load_f64(a->dtype, a->data, i) != 0) return false;
  }
  return true;
}

surg__kstatus surg__k_qlinear_matmul(surg_kctx *k) {
  product p;
  sides s;
  if (!k->wanted[0]) return SURG__K_OK;
  for (uint32_t i = 1; i < 7; ++i) {
    if ((i == 1 || i == 4 || i == 6) && !positive(&k->in[i])) {
      SURG__K_TRY(surg__k_disputed(k, "a scale is not a positive number"));
    }
  }
  SURG__K_TRY(shapes(k, &k->in[0], &k->in[3], &p));
  SURG__K_TRY(read_side(k, &p, 1, true, &s.scale_a));
  SURG__K_TRY(read_side(k, &p, 2, true, &s.zero_a));
  SURG__K_TRY(read_side(k, &p, 4, false, &s.scale_b));
  SURG__K_TRY(read_side(k, &p, 5, false, &s.zero_b));
  SURG__K_TRY(read_side(k, &p, 6, true, &s.scale_y));
  SURG__K_TRY(read_side(k, &p, 7, true, &s.zero_y));
  const surg__array *zero = &k->in[7];
  if (surg__dtype_is_float(zero->dtype) && !all_zero(zero)) {
    return surg__k_cannot(k, "a zero point of a float type that is not zero");
  }
  SURG__K_TRY(surg__k_out(k, 0, zero->dtype, p.dims, p.out_rank));
  if (k->out[0].count == 0) return SURG__K_OK;
  return multiply_all(k, &p, &s, store_narrow);
}

/* --- Gemm --- */

typedef struct gemm {
  uint64_t m, n, d;
  matrix a, b;
  double alpha, beta;
  const surg__array *c; /* NULL: absent */
  int64_t sc[2];
  const surg__array *o;
} gemm;

static surg__kstatus gemm_shapes(surg_kctx *k, gemm *g) {
  const surg__array *a = &k->in[0], *b = &k->in[1];
  if (a->rank != 2 || b->rank != 2) return surg__k_invalid(k, "Gemm expects matrices");
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
  g->c = c;
  return SURG__K_OK;
}

/* Whether v is an integer below 2^53. Integer types support only such values of alpha and beta. */
static bool whole(double v) {
  return v == trunc(v) && fabs(v) < 0x1p53;
}

static void store_gemm(void *user, uint64_t i, uint64_t column, uint64_t n, const double *sums) {
  const gemm *g = user;
  double row[SURG__GEMM_BLOCK];
  for (uint64_t j = 0; j < n; ++j) row[j] = g->alpha * sums[j];
  if (g->c) {
    double c[SURG__GEMM_BLOCK];
    uint64_t at = i * (uint64_t)g->sc[0] + column * (uint64_t)g->sc[1];
    surg__load_run(g->c->dtype, g->c->data, at, (uint64_t)g->sc[1], n, c);
    for (uint64_t j = 0; j < n; ++j) row[j] += g->beta * c[j];
  }
  surg__store_run(g->o->dtype, g->o->data, i * g->n + column, n, row);
}

static surg__kstatus gemm_real(surg_kctx *k, gemm *g) {
  surg__gemm_matrix a = {.dtype = g->o->dtype, .data = k->in[0].data, .line = g->a.row,
                         .depth = g->a.column};
  surg__gemm_matrix b = {.dtype = g->o->dtype, .data = k->in[1].data, .line = g->b.column,
                         .depth = g->b.row};
  surg__gemm whole_product = {.m = g->m, .n = g->n, .d = g->d, .pack_a = surg__gemm_pack_matrix,
                        .pack_b = surg__gemm_pack_matrix, .a = &a, .b = &b, .store = store_gemm,
                        .to = g};
  surg__gemm_room room;
  bool wide_a;
  SURG__K_TRY(surg__gemm_window(k, &k->in[0], &a, &whole_product.stage_a, &wide_a));
  SURG__K_TRY(surg__gemm_window(k, &k->in[1], &b, &whole_product.stage_b, &whole_product.wide_b));
  SURG__K_TRY(surg__gemm_init(k, &room, g->m, g->n, g->d, 1, surg__gemm_kind_of(a.dtype, b.dtype)));
  if (whole_product.wide_b) SURG__K_TRY(surg__gemm_widen(&room, g->n));
  surg__gemm_run(&whole_product, &room);
  return SURG__K_OK;
}

static surg__kstatus gemm_int(surg_kctx *k, gemm *g) {
  uint64_t alpha = (uint64_t)(int64_t)g->alpha, beta = (uint64_t)(int64_t)g->beta;
  SURG__K_TRY(ask_work(k, g->o->count, g->d));
  g->a.p = surg__k_widen(k, &k->in[0]);
  g->b.p = surg__k_widen(k, &k->in[1]);
  uint64_t *acc = surg__k_scratch(k, (size_t)g->n, sizeof *acc);
  if (!g->a.p || !g->b.p || !acc) return SURG__K_NOMEM;
  for (uint64_t i = 0; i < g->m; ++i) {
    row_int(acc, g->n, g->d, g->a.p + i * g->a.row, g->a.column, g->b.p, g->b);
    for (uint64_t j = 0; j < g->n; ++j) {
      uint64_t v = alpha * acc[j];
      if (g->c) {
        uint64_t at = i * (uint64_t)g->sc[0] + j * (uint64_t)g->sc[1];
        v += beta * surg__load_int(g->c->dtype, g->c->data, at);
      }
      surg__store_int(g->o->dtype, g->o->data, i * g->n + j, v);
    }
  }
  return SURG__K_OK;
}

surg__kstatus surg__k_gemm(surg_kctx *k) {
  gemm g = {.o = &k->out[0]};
  if (!k->wanted[0]) return SURG__K_OK;
  SURG__K_TRY(gemm_shapes(k, &g));
  int dtype = k->in[0].dtype;
  bool real = surg__is_real(dtype);
  if (!real && (!whole(g.alpha) || !whole(g.beta))) {
    return surg__k_cannot(k, "alpha or beta of an integer Gemm is not an integer");
  }
  SURG__K_TRY(surg__k_out(k, 0, dtype, (const int64_t[]){(int64_t)g.m, (int64_t)g.n}, 2));
  SURG__K_TRY(gemm_addend(k, &g));
  if (k->out[0].count == 0) return SURG__K_OK;
  return real ? gemm_real(k, &g) : gemm_int(k, &g);
}
