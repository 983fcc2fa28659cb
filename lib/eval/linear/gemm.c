/* SPDX-License-Identifier: Apache-2.0 */
/* Blocked matrix products, and the conversion of elements to and from packed panels. */
#include "eval/linear/gemm.h"

#include "eval/core/number.h"
#include "eval/core/stream.h"

#define BLOCK SURG__GEMM_BLOCK

static uint64_t padded(uint64_t n, unsigned to) {
  return (n + to - 1) / to * to;
}

/* --- the portable tile --- */

#define HEIGHT 4
#define WIDTH 4
static void plain_tile(uint64_t depth, const double *a, const double *b, double *sums,
                       unsigned rows) {
  double acc[HEIGHT][WIDTH] = {{0}};
  for (unsigned i = 0; i < rows; ++i) memcpy(acc[i], sums + i * BLOCK, sizeof acc[i]);
  for (uint64_t k = 0; k < depth; ++k, a += HEIGHT, b += WIDTH)
    for (unsigned i = 0; i < HEIGHT; ++i)
      for (unsigned j = 0; j < WIDTH; ++j) acc[i][j] += a[i] * b[j];
  for (unsigned i = 0; i < rows; ++i) memcpy(sums + i * BLOCK, acc[i], sizeof acc[i]);
}

void surg__gemm_plain_row(uint64_t depth, uint64_t columns, const double *a, size_t a_step,
                          const float *b, size_t b_step, double *sums) {
  for (uint64_t k = 0; k < depth; ++k, a += a_step, b += b_step)
    for (uint64_t j = 0; j < columns; ++j) sums[j] += *a * (double)b[j];
}

const surg__gemm_kernel surg__gemm_plain = {"plain", HEIGHT, WIDTH, plain_tile,
                                            surg__gemm_plain_row};

const surg__gemm_kernel *surg__gemm_kernel_at(unsigned i) {
  unsigned n = 0;
#ifdef SURG_EVAL_FAST
  for (; surg__gemm_fast_at(n); ++n)
    if (n == i) return surg__gemm_fast_at(n);
#endif
  return i == n ? &surg__gemm_plain : NULL;
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
  const surg__gemm_kernel *kernel =
      kind == SURG__GEMM_EXACT ? surg__gemm_kernel_at(0) : &surg__gemm_plain;
  if (narrow(m, n)) {
    uint64_t swap = m;
    m = n;
    n = swap;
  }
  size_t rows = (size_t)padded(surg__min_u64(m, BLOCK), kernel->height);
  size_t columns = (size_t)padded(surg__min_u64(n, BLOCK), kernel->width);
  size_t depth = (size_t)surg__min_u64(d, BLOCK);
  *r = (surg__gemm_room){.kernel = kernel, .rows = rows, .panel = 1, .k = k};
  r->sums = surg__k_scratch(k, rows * BLOCK, sizeof *r->sums);
  if (!r->sums) return SURG__K_NOMEM;
  r->a = surg__k_scratch(k, rows * depth, sizeof *r->a);
  r->b = surg__k_scratch(k, columns * depth, sizeof *r->b);
  return r->a && r->b ? SURG__K_OK : SURG__K_NOMEM;
}

surg__kstatus surg__gemm_widen(surg__gemm_room *r, uint64_t n) {
  if (r->rows == 0) return SURG__K_OK;
  const uint64_t wide = surg__min_u64(n / BLOCK + 1, SURG__GEMM_PANEL);
  const uint64_t panel = surg__min_u64(wide, BLOCK / r->rows);
  if (panel < 2) return SURG__K_OK;
  r->panel = panel;
  r->sums = surg__k_scratch(r->k, (size_t)(panel * r->rows) * BLOCK, sizeof *r->sums);
  return r->sums ? SURG__K_OK : SURG__K_NOMEM;
}

/* The part of a stream that is in memory: lines [first, first + lines) at depths [depth, depth +
 * n). */
struct surg__gemm_window {
  surg_kctx *k;
  const surg__array *a;
  bool across;                     /* a run of adjacent elements is a depth of many lines */
  uint64_t first, lines, depth, n; /* no lines: nothing is in memory */
  uint64_t at;                     /* of the matrix, as it was read */
  uint64_t most;                   /* elements */
  void *elements;
  surg__gemm_matrix block; /* as the matrix, with these elements */
};

/* One operand of a product, and the buffer for its panels. */
typedef struct side {
  surg__gemm_pack pack;
  surg__gemm_stage stage;
  const void *user;
  unsigned width;
  double *to;
} side;

/* Makes lines [first, first + lines) at depths [depth, depth + n) available. False: they cannot be
 * read. */
static bool stage_block(const side *s, uint64_t first, uint64_t lines, uint64_t depth, uint64_t n) {
  return !s->stage || s->stage(s->user, first, lines, depth, n);
}

/* Packs lines that are available into panels. */
static void pack_block(const side *s, uint64_t first, uint64_t lines, uint64_t depth, uint64_t n) {
  const uint64_t width = s->width;
  for (uint64_t i = 0; i < lines; i += width) {
    surg__panel p = {depth, n, first + i, surg__min_u64(width, lines - i), width, s->to + i * n};
    s->pack(s->user, &p);
  }
}

/* Adds a product of packed panels to a block of `rows` x `columns` sums. */
static void multiply_block(const surg__gemm_room *r, double *sums, uint64_t rows, uint64_t columns,
                           uint64_t depth) {
  const surg__gemm_kernel *kernel = r->kernel;
  for (uint64_t j = 0; j < columns; j += kernel->width) {
    for (uint64_t i = 0; i < rows; i += kernel->height) {
      const unsigned n = (unsigned)surg__min_u64(kernel->height, rows - i);
      kernel->tile(depth, r->a + i * depth, r->b + j * depth, sums + i * BLOCK + j, n);
    }
  }
}

#define ROWS_DIRECT HEIGHT /* of the left matrix: with more, packing the right one pays */

/* The floats of the right matrix whose columns [first, ...) at `depth` are adjacent in memory, and
 * available; *step: from one depth to the next. NULL: it must be packed. */
static const float *direct(const side *s, uint64_t first, uint64_t depth, size_t *step) {
  const surg__gemm_matrix *m = s->user;
  if (s->pack != surg__gemm_pack_matrix) return NULL;
  if (m->window) m = &m->window->block;
  if (m->line != 1 || m->zero || m->dtype != SURG_FLOAT) return NULL;
  *step = (size_t)m->depth;
  return (const float *)m->data + (m->at + depth * m->depth + first);
}

/* As pack_block of the right matrix and multiply_block, without packing. False: it needs to be. */
static bool multiply_direct(const surg__gemm_room *r, const side *right, double *sums,
                            uint64_t rows, uint64_t first, uint64_t columns, uint64_t from,
                            uint64_t depth) {
  size_t step;
  const float *b = rows <= ROWS_DIRECT ? direct(right, first, from, &step) : NULL;
  if (!b) return false;
  for (uint64_t i = 0; i < rows; ++i)
    r->kernel->row(depth, columns, r->a + i, r->kernel->height, b, step, sums + i * BLOCK);
  return true;
}

/* Passes the sums of a block to g->store. If the operands were exchanged, the block is
 * transposed. */
static void store_block(const surg__gemm *g, const double *block, bool exchanged, uint64_t i,
                        uint64_t rows, uint64_t j, uint64_t columns) {
  for (uint64_t x = 0; x < rows; ++x) {
    const double *sums = block + x * BLOCK;
    if (!exchanged) g->store(g->to, i + x, j, columns, sums);
    for (uint64_t y = 0; exchanged && y < columns; ++y) g->store(g->to, j + y, i + x, 1, sums + y);
  }
}

#define ASK_DEPTH (8 * BLOCK) /* depth between two questions whether to stop */

/* Both operands of a product, as they are computed. */
typedef struct operands {
  side left, right;
  bool exchanged;
} operands;

/* Computes rows [i, i + rows) of columns [j, j + columns), which are blocks of sums beside each
 * other. False: the run ends. */
static bool run_panel(const surg__gemm *g, const surg__gemm_room *r, const operands *o, uint64_t i,
                      uint64_t rows, uint64_t j, uint64_t columns) {
  const size_t size = (size_t)r->rows * BLOCK;
  memset(r->sums, 0, (size_t)((columns + BLOCK - 1) / BLOCK) * size * sizeof *r->sums);
  for (uint64_t k = 0; k < g->d; k += BLOCK) {
    if (k % ASK_DEPTH == 0 && surg__k_stopped(r->k)) return false;
    const uint64_t depth = surg__min_u64(BLOCK, g->d - k);
    /* If the depth fits one block, the panels of the left operand are reused for all j. */
    if (j == 0 || g->d > BLOCK) {
      if (!stage_block(&o->left, i, rows, k, depth)) return false;
      pack_block(&o->left, i, rows, k, depth);
    }
    if (!stage_block(&o->right, j, columns, k, depth)) return false;
    for (uint64_t x = 0; x < columns; x += BLOCK) {
      const uint64_t width = surg__min_u64(BLOCK, columns - x);
      double *sums = r->sums + x / BLOCK * size;
      if (multiply_direct(r, &o->right, sums, rows, j + x, width, k, depth)) continue;
      pack_block(&o->right, j + x, width, k, depth);
      multiply_block(r, sums, rows, width, depth);
    }
  }
  for (uint64_t x = 0; x < columns; x += BLOCK)
    store_block(g, r->sums + x / BLOCK * size, o->exchanged, i, rows, j + x,
                surg__min_u64(BLOCK, columns - x));
  return true;
}

void surg__gemm_run(const surg__gemm *given, const surg__gemm_room *r) {
  surg__gemm own = *given, *g = &own;
  /* With few columns most lanes of a vector would be idle: compute the transposed product. */
  bool exchanged = narrow(g->m, g->n);
  if (exchanged) {
    own.m = given->n;
    own.n = given->m;
    own.a = given->b;
    own.b = given->a;
    own.pack_a = given->pack_b;
    own.pack_b = given->pack_a;
    own.stage_a = given->stage_b;
    own.stage_b = given->stage_a;
    own.wide_b = false;
  }
  const operands o = {{g->pack_a, g->stage_a, g->a, r->kernel->height, r->a},
                      {g->pack_b, g->stage_b, g->b, r->kernel->width, r->b},
                      exchanged};
  const uint64_t panel = g->wide_b ? r->panel * BLOCK : BLOCK;
  for (uint64_t i = 0; i < g->m; i += BLOCK) {
    const uint64_t rows = surg__min_u64(BLOCK, g->m - i);
    for (uint64_t j = 0; j < g->n; j += panel)
      if (!run_panel(g, r, &o, i, rows, j, surg__min_u64(panel, g->n - j))) return;
  }
}

/* --- elements --- */

static bool is_exact(int dtype) {
  return surg__dtype_is_float(dtype) ? dtype != SURG_DOUBLE : surg__dtype_bits(dtype) <= 16;
}

surg__gemm_kind surg__gemm_kind_of(int dtype_a, int dtype_b) {
  return is_exact(dtype_a) && is_exact(dtype_b) ? SURG__GEMM_EXACT : SURG__GEMM_ROUNDED;
}

/* Packs a matrix whose lines are adjacent in memory (m->line is 1): one depth after the other. */
static void pack_across(const surg__gemm_matrix *m, const surg__panel *p) {
  double *to = p->to;
  for (uint64_t k = 0; k < p->n; ++k, to += p->width) {
    uint64_t at = m->at + (p->depth + k) * m->depth + p->first;
    surg__load_run(m->dtype, m->data, at, 1, p->lines, to);
    for (uint64_t i = p->lines; i < p->width; ++i) to[i] = 0;
  }
}

/* Packs any other matrix: line by line, in pieces that fit the cache. */
static void pack_along(const surg__gemm_matrix *m, const surg__panel *p) {
  double piece[64];
  for (uint64_t k = 0; k < p->n; k += SURG_COUNT(piece)) {
    uint64_t n = surg__min_u64(SURG_COUNT(piece), p->n - k);
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

/* --- streams --- */

#define WINDOW ((uint64_t)BLOCK * BLOCK * SURG__GEMM_PANEL) /* elements */

static bool in_window(const struct surg__gemm_window *w, const surg__gemm_matrix *m, uint64_t first,
                      uint64_t lines, uint64_t depth, uint64_t n) {
  return w->at == m->at && first >= w->first && first + lines <= w->first + w->lines &&
         depth >= w->depth && depth + n <= w->depth + w->n;
}

/* Reads a part in runs of adjacent elements, all at once if the runs are. */
static surg_status read_window(struct surg__gemm_window *w, const surg__gemm_matrix *m) {
  uint64_t runs = w->across ? w->n : w->lines, length = w->across ? w->lines : w->n;
  const uint64_t step = w->across ? m->depth : m->line, start = w->across ? w->depth : w->first;
  const uint64_t from = m->at + start * step + (w->across ? w->first : w->depth);
  const size_t size = surg__dtype_unpacked(m->dtype);
  surg_status s = SURG_OK;
  if (length == step) length *= runs, runs = 1;
  for (uint64_t i = 0; i < runs && s == SURG_OK; ++i)
    s = surg__stream_read(w->a, from + i * step, length,
                          (char *)w->elements + (size_t)(i * length) * size);
  return s;
}

static bool stage_matrix(const void *user, uint64_t first, uint64_t lines, uint64_t depth,
                         uint64_t n) {
  const surg__gemm_matrix *m = user;
  struct surg__gemm_window *w = m->window;
  if (in_window(w, m, first, lines, depth, n)) return true;
  /* The next blocks of the same lines follow, and are adjacent. */
  if (!w->across && m->depth == 1 && m->line > depth + n)
    n = surg__min_u64(w->most / lines, m->line - depth);
  w->first = first;
  w->lines = lines;
  w->depth = depth;
  w->n = n;
  w->at = m->at;
  const surg_status s = read_window(w, m);
  surg__k_unread(w->k, s);
  if (s != SURG_OK) {
    w->lines = 0;
    return false;
  }
  w->block = *m;
  w->block.window = NULL;
  w->block.data = w->elements;
  w->block.line = w->across ? 1 : n;
  w->block.depth = w->across ? lines : 1;
  /* Modulo 2^64: element (first, depth) is the first. */
  w->block.at = 0 - first * w->block.line - depth * w->block.depth;
  return true;
}

surg__kstatus surg__gemm_window(surg_kctx *k, const surg__array *a, surg__gemm_matrix *m,
                                surg__gemm_stage *stage, bool *wide) {
  *stage = NULL;
  *wide = false;
  m->window = NULL;
  if (!a->stream) return SURG__K_OK;
  struct surg__gemm_window *w = surg__k_scratch(k, 1, sizeof *w);
  if (!w) return SURG__K_NOMEM;
  *w = (struct surg__gemm_window){.k = k, .a = a};
  if (a->stream->turned) { /* read the matrix that it is turned from: its rows are adjacent */
    w->a = &a->stream->from[0];
    if (a->dims[0] != 1 && a->dims[1] != 1) {
      m->line = m->line == 1 ? (uint64_t)a->dims[0] : 1;
      m->depth = m->depth == 1 ? (uint64_t)a->dims[0] : 1;
    }
  }
  w->across = m->line == 1 && m->depth != 1;
  w->most = surg__min_u64(WINDOW, a->count);
  w->elements = surg__k_scratch(k, (size_t)w->most, surg__dtype_unpacked(a->dtype));
  m->window = w;
  *stage = stage_matrix;
  *wide = w->across;
  return w->elements ? SURG__K_OK : SURG__K_NOMEM;
}

void surg__gemm_pack_matrix(const void *user, const surg__panel *p) {
  const surg__gemm_matrix *m = user;
  if (m->window) m = &m->window->block;
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

void surg__gemm_store_whole(int dtype, void *data, uint64_t at, uint64_t n, const double *sums) {
  for (uint64_t j = 0; j < n; ++j) surg__store_int(dtype, data, at + j, (uint64_t)(int64_t)sums[j]);
}
