/* SPDX-License-Identifier: Apache-2.0 */
/* The blocks of matrix products, and how elements come into and out of them. */
#include "eval/linear/gemm.h"

#include "eval/fast/hot.h"
#include "eval/core/number.h"

#define BLOCK SURG__GEMM_BLOCK

static uint64_t least(uint64_t a, uint64_t b) {
  return a < b ? a : b;
}

static uint64_t most(uint64_t a, uint64_t b) {
  return a > b ? a : b;
}

static uint64_t padded(uint64_t n, unsigned to) {
  return (n + to - 1) / to * to;
}

static bool narrow(uint64_t m, uint64_t n) {
  return n < m && n <= 4;
}

surg__kstatus surg__gemm_init(surg_kctx *k, surg__gemm_room *r, uint64_t m, uint64_t n, uint64_t d,
                              uint64_t count, surg__gemm_kind kind) {
  uint64_t work;
  if (!surg__mul_u64(m, n, &work) || !surg__mul_u64(work, d > 0 ? d : 1, &work) ||
      !surg__mul_u64(work, count, &work)) {
    return SURG__K_BUDGET;
  }
  SURG__K_TRY(surg__k_work(k, work));
  const surg__gemm_kernel *kernel = kind == SURG__GEMM_BYTES ? surg__gemm_bytes_at(0) : NULL;
  if (!kernel) kernel = surg__gemm_kernel_at(0);
  if (narrow(m, n)) {
    uint64_t swap = m;
    m = n;
    n = swap;
  }
  size_t rows = (size_t)padded(least(m, BLOCK), kernel->height);
  size_t columns = (size_t)padded(least(n, BLOCK), kernel->width), depth = (size_t)least(d, BLOCK);
  *r = (surg__gemm_room){.kernel = kernel, .exact = kind != SURG__GEMM_ROUNDED};
  r->sums = surg__k_scratch(k, rows * BLOCK, sizeof *r->sums);
  if (!r->sums) return SURG__K_NOMEM;
  if (kernel->bytes) {
    const size_t pairs = (depth + 1) / 2;
    r->a = surg__k_scratch(k, 2 * pairs * (size_t)most(kernel->height, kernel->width),
                           sizeof *r->a);
    r->pairs_a = surg__k_scratch(k, rows * pairs, sizeof *r->pairs_a);
    r->pairs_b = surg__k_scratch(k, columns * pairs, sizeof *r->pairs_b);
    return r->a && r->pairs_a && r->pairs_b ? SURG__K_OK : SURG__K_NOMEM;
  }
  r->a = surg__k_scratch(k, rows * depth, sizeof *r->a);
  r->b = surg__k_scratch(k, columns * depth, sizeof *r->b);
  return r->a && r->b ? SURG__K_OK : SURG__K_NOMEM;
}

/* One side of a product, and where its panels go. */
typedef struct side {
  surg__gemm_pack pack;
  const void *user;
  unsigned width;
  double *to;
  uint32_t *pairs; /* of bytes: where they go instead, a panel at a time by way of `to` */
} side;

SURG__HOT(make_pairs, (const double *panel, uint64_t pairs, uint64_t width, uint32_t *to),
          (panel, pairs, width, to)) {
  for (uint64_t k = 0; k < pairs; ++k, panel += 2 * width, to += width) {
    for (uint64_t i = 0; i < width; ++i) {
      const uint32_t low = (uint32_t)(int32_t)panel[i], high = (uint32_t)(int32_t)panel[width + i];
      to[i] = (low & 0xffffu) | high << 16;
    }
  }
}

/* All panels of lines [first, first + lines), depths [depth, depth + n). As pairs an odd depth gets a
 * zero. */
static void pack_block(const side *s, uint64_t first, uint64_t lines, uint64_t depth, uint64_t n) {
  const uint64_t width = s->width, pairs = (n + 1) / 2;
  for (uint64_t i = 0; i < lines; i += width) {
    double *panel = s->pairs ? s->to : s->to + i * n;
    surg__panel p = {depth, n, first + i, least(width, lines - i), width, panel};
    s->pack(s->user, &p);
    if (!s->pairs) continue;
    for (uint64_t x = 0; n % 2 && x < width; ++x) panel[n * width + x] = 0;
    make_pairs(panel, pairs, width, s->pairs + i * pairs);
  }
}

/* Adds a block of the product: `rows` by `columns` sums over `depth`. */
static void multiply_block(const surg__gemm_room *r, uint64_t rows, uint64_t columns,
                           uint64_t depth) {
  const surg__gemm_kernel *kernel = r->kernel;
  surg__gemm_tile tile = r->exact ? kernel->exact : kernel->plain;
  const uint64_t pairs = (depth + 1) / 2;
  for (uint64_t j = 0; j < columns; j += kernel->width) {
    for (uint64_t i = 0; i < rows; i += kernel->height) {
      const unsigned n = (unsigned)least(kernel->height, rows - i);
      double *sums = r->sums + i * BLOCK + j;
      if (kernel->bytes)
        kernel->bytes(pairs, r->pairs_a + i * pairs, r->pairs_b + j * pairs, sums, n);
      else
        tile(depth, r->a + i * depth, r->b + j * depth, sums, n);
    }
  }
}

/* Hands over the sums of a block. Where the sides were exchanged its rows are columns. */
static void store_block(const surg__gemm *g, const surg__gemm_room *r, bool exchanged, uint64_t i,
                        uint64_t rows, uint64_t j, uint64_t columns) {
  for (uint64_t x = 0; x < rows; ++x) {
    const double *sums = r->sums + x * BLOCK;
    if (!exchanged) g->store(g->to, i + x, j, columns, sums);
    for (uint64_t y = 0; exchanged && y < columns; ++y) g->store(g->to, j + y, i + x, 1, sums + y);
  }
}

void surg__gemm_run(const surg__gemm *given, const surg__gemm_room *r) {
  surg__gemm own = *given, *g = &own;
  /* A product with few columns would leave most of a vector idle: make it one with few rows. */
  bool exchanged = narrow(g->m, g->n);
  if (exchanged) {
    own.m = given->n;
    own.n = given->m;
    own.a = given->b;
    own.b = given->a;
    own.pack_a = given->pack_b;
    own.pack_b = given->pack_a;
  }
  const side left = {g->pack_a, g->a, r->kernel->height, r->a, r->pairs_a};
  const side right = {g->pack_b, g->b, r->kernel->width, r->b ? r->b : r->a, r->pairs_b};
  for (uint64_t i = 0; i < g->m; i += BLOCK) {
    uint64_t rows = least(BLOCK, g->m - i);
    for (uint64_t j = 0; j < g->n; j += BLOCK) {
      uint64_t columns = least(BLOCK, g->n - j);
      for (uint64_t x = 0; x < rows; ++x) memset(r->sums + x * BLOCK, 0, BLOCK * sizeof *r->sums);
      for (uint64_t k = 0; k < g->d; k += BLOCK) {
        uint64_t depth = least(BLOCK, g->d - k);
        /* With a single block of depth the left side stays packed. */
        if (j == 0 || g->d > BLOCK) {
          pack_block(&left, i, rows, k, depth);
        }
        pack_block(&right, j, columns, k, depth);
        multiply_block(r, rows, columns, depth);
      }
      store_block(g, r, exchanged, i, rows, j, columns);
    }
  }
}

/* --- elements --- */

static bool is_exact(int dtype) {
  return surg__dtype_is_float(dtype) ? dtype != SURG_DOUBLE : surg__dtype_bits(dtype) <= 16;
}

static bool is_byte(int dtype) {
  return !surg__dtype_is_float(dtype) && surg__dtype_bits(dtype) <= 8;
}

surg__gemm_kind surg__gemm_kind_of(int dtype_a, int dtype_b) {
  if (is_byte(dtype_a) && is_byte(dtype_b)) return SURG__GEMM_BYTES;
  return is_exact(dtype_a) && is_exact(dtype_b) ? SURG__GEMM_EXACT : SURG__GEMM_ROUNDED;
}

/* Lines next to each other in memory: a depth at a time. */
static void pack_across(const surg__gemm_matrix *m, const surg__panel *p) {
  double *to = p->to;
  for (uint64_t k = 0; k < p->n; ++k, to += p->width) {
    uint64_t at = m->at + (p->depth + k) * m->depth + p->first;
    surg__load_run(m->dtype, m->data, at, 1, p->lines, to);
    for (uint64_t i = p->lines; i < p->width; ++i) to[i] = 0;
  }
}

/* Depths next to each other, or nothing: a line at a time, in pieces that stay in the cache. */
static void pack_along(const surg__gemm_matrix *m, const surg__panel *p) {
  double piece[64];
  for (uint64_t k = 0; k < p->n; k += SURG_COUNT(piece)) {
    uint64_t n = least(SURG_COUNT(piece), p->n - k);
    double *to = p->to + k * p->width;
    for (uint64_t i = 0; i < p->width; ++i) {
      uint64_t at = m->at + (p->first + i) * m->line + (p->depth + k) * m->depth;
      if (i < p->lines) {
        surg__load_run(m->dtype, m->data, at, m->depth, n, piece);
      } else {
        memset(piece, 0, sizeof piece);
      }
      for (uint64_t x = 0; x < n; ++x) to[x * p->width + i] = piece[x];
    }
  }
}

void surg__gemm_pack_matrix(const void *user, const surg__panel *p) {
  const surg__gemm_matrix *m = user;
  if (m->line == 1 && m->depth != 1)
    pack_across(m, p);
  else
    pack_along(m, p);
  if (!m->zero) return;
  for (uint64_t i = 0; i < p->lines; ++i) {
    double zero = m->zero[(p->first + i) * m->zero_step];
    for (uint64_t k = 0; k < p->n; ++k) p->to[k * p->width + i] -= zero;
  }
}
