/* SPDX-License-Identifier: Apache-2.0 */
/* Blocked products of two matrices, for MatMul, Gemm, the convolutions and their quantized forms.
 *
 * Every sum is computed in double, in order of depth, starting with zero. The blocks only
 * determine which sums are computed together, so the result does not depend on the machine, the
 * compiler or the block size. If the product of two elements is exact in double (all types but
 * DOUBLE), a fused multiply-add gives the same bits as a multiplication and an addition, and is
 * used where the CPU has one. */
#ifndef SURG_GEMM_H
#define SURG_GEMM_H

#include "eval/core/piece.h"

/* Rows, columns and depth of a block. Three blocks of doubles are in use at a time. */
#define SURG__GEMM_BLOCK 192
/* Blocks of columns whose sums are computed together if the right matrix is read from a file row by
 * row: the longer the runs, the fewer reads. */
#define SURG__GEMM_PANEL 21

/* A panel to pack. A line is a row of the left or a column of the right matrix. The pack
 * function writes the elements at depths [depth, depth + n) of lines [first, first + lines) to
 * to[k * width + line], and zeros for lines from `lines` to `width`. */
typedef struct surg__panel {
  uint64_t depth, n, first, lines, width;
  double *to;
} surg__panel;
typedef void (*surg__gemm_pack)(const void *user, const surg__panel *p);
/* Called before the panels of a block are packed: lines [first, first + lines) at depths [depth,
 * depth + n). Makes its elements available. False: they cannot be read, and the product ends. */
typedef bool (*surg__gemm_stage)(const void *user, uint64_t first, uint64_t lines, uint64_t depth,
                                 uint64_t n);
/* Receives finished sums: row i, columns [column, column + n). */
typedef void (*surg__gemm_store)(void *user, uint64_t i, uint64_t column, uint64_t n,
                                 const double *sums);

typedef struct surg__gemm {
  uint64_t m, n, d;
  surg__gemm_pack pack_a, pack_b;
  const void *a, *b;
  surg__gemm_stage stage_a, stage_b; /* NULL: all elements are available */
  bool wide_b;                       /* stage_b reads a depth of many columns at once */
  surg__gemm_store store;
  void *to;
} surg__gemm;

/* Stores n sums of integer products, exact in double, from element `at` on. They wrap. */
void surg__gemm_store_whole(int dtype, void *data, uint64_t at, uint64_t n, const double *sums);
/* Whether the product of two elements is exact in double. */
typedef enum surg__gemm_kind {
  SURG__GEMM_ROUNDED, /* rounded: elements of type DOUBLE, or wide integers */
  SURG__GEMM_EXACT    /* exact: a fused multiply-add may be used */
} surg__gemm_kind;
surg__gemm_kind surg__gemm_kind_of(int dtype_a, int dtype_b);

/* Scratch buffers, reusable for several products. */
typedef struct surg__gemm_room {
  const struct surg__gemm_kernel *kernel;
  double *a, *b, *sums;
  uint64_t rows;  /* of a block of sums */
  uint64_t panel; /* blocks of sums; 1 unless widened */
  surg_kctx *k;   /* asked whether to stop */
} surg__gemm_room;

/* Charges `count` products of m * n * d operations to the budget, and allocates buffers for
 * products of that size. */
surg__kstatus surg__gemm_init(surg_kctx *k, surg__gemm_room *r, uint64_t m, uint64_t n, uint64_t d,
                              uint64_t count, surg__gemm_kind kind);
/* Makes room for sums of more columns at once, for products of n columns with `wide_b`. */
surg__kstatus surg__gemm_widen(surg__gemm_room *r, uint64_t n);
/* Returns early, without results, if the kernel must end (surg__k_stopped). */
void surg__gemm_run(const surg__gemm *g, const surg__gemm_room *r);

/* A matrix in memory as an operand: element (line, depth) minus the zero point of its line. */
typedef struct surg__gemm_matrix {
  int dtype;
  const void *data;
  uint64_t at, line, depth; /* offset of element (0, 0), and strides */
  const double *zero;       /* NULL: none; else line i has zero[i * zero_step] */
  uint64_t zero_step;
  struct surg__gemm_window *window; /* of a stream: `data` is not used; NULL: none */
} surg__gemm_matrix;
/* Makes `m` read the elements of `a` block by block, if they are a stream. *stage and *wide are
 * set. */
surg__kstatus surg__gemm_window(surg_kctx *k, const surg__array *a, surg__gemm_matrix *m,
                                surg__gemm_stage *stage, bool *wide);
void surg__gemm_pack_matrix(const void *user, const surg__panel *p); /* user: a surg__gemm_matrix */

/* --- the inner loops --- */

/* Adds the product of `rows` <= height packed rows and `width` packed columns to sums[row *
 * SURG__GEMM_BLOCK + column]. */
typedef void (*surg__gemm_tile)(uint64_t depth, const double *a, const double *b, double *sums,
                                unsigned rows);
/* Adds to sums[j] the products of a[k * a_step] and b[k * b_step + j], in order of k, for j below
 * `columns`: for few rows, packing the right matrix takes longer than the product. */
typedef void (*surg__gemm_row)(uint64_t depth, uint64_t columns, const double *a, size_t a_step,
                               const float *b, size_t b_step, double *sums);
typedef struct surg__gemm_kernel {
  const char *name;
  unsigned height, width; /* size of a tile; both divide SURG__GEMM_BLOCK */
  surg__gemm_tile tile;
  surg__gemm_row row;
} surg__gemm_kernel;

/* The row of any product, without fusing. */
void surg__gemm_plain_row(uint64_t depth, uint64_t columns, const double *a, size_t a_step,
                          const float *b, size_t b_step, double *sums);
/* The kernel for any product: multiplies and adds without fusing. */
extern const surg__gemm_kernel surg__gemm_plain;
/* The i-th kernel for products that are exact in double, fastest first, of those that this
 * machine supports. The portable one is the last; NULL after it. */
const surg__gemm_kernel *surg__gemm_kernel_at(unsigned i);
/* Of these, only the kernels with AVX2 and AVX-512 (eval/fast/gemm_kernels.c). */
const surg__gemm_kernel *surg__gemm_fast_at(unsigned i);

#endif
