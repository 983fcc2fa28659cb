/* SPDX-License-Identifier: Apache-2.0 */
/* The product of two matrices, block by block: what MatMul, Gemm, the convolutions and their
 * quantized forms stand on.
 *
 * Every sum is made in double, in the order of the depth, from zero on; blocks only say which sums
 * are worked on at a time. So the bits do not depend on the machine, the compiler or the size of
 * the blocks. Where products of two elements are exact in double (all types but DOUBLE), a fused
 * multiply-add gives the same bits as multiplying and adding, and is used where there is one. */
#ifndef SURG_GEMM_H
#define SURG_GEMM_H

#include "eval/core/piece.h"

/* Rows, columns and depth of a block. Three blocks of doubles are held at a time. */
#define SURG__GEMM_BLOCK 192

/* Lines are rows of the left matrix or columns of the right one. Writes elements [depth, depth + n)
 * of lines [first, first + lines), to[k * width + line], and zeros for lines from `lines` on. */
typedef struct surg__panel {
  uint64_t depth, n, first, lines, width;
  double *to;
} surg__panel;
typedef void (*surg__gemm_pack)(const void *user, const surg__panel *p);
/* Takes finished sums: row i, columns [column, column + n). */
typedef void (*surg__gemm_store)(void *user, uint64_t i, uint64_t column, uint64_t n,
                                 const double *sums);

typedef struct surg__gemm {
  uint64_t m, n, d;
  surg__gemm_pack pack_a, pack_b;
  const void *a, *b;
  surg__gemm_store store;
  void *to;
} surg__gemm;

/* What the products of two elements are. */
typedef enum surg__gemm_kind {
  SURG__GEMM_ROUNDED, /* of doubles */
  SURG__GEMM_EXACT    /* exact in double */
} surg__gemm_kind;
surg__gemm_kind surg__gemm_kind_of(int dtype_a, int dtype_b);

/* Buffers for one product after another. */
typedef struct surg__gemm_room {
  const struct surg__gemm_kernel *kernel;
  double *a, *b, *sums;
} surg__gemm_room;

/* Asks for m * n * d operations `count` times, and makes room for products of that size. */
surg__kstatus surg__gemm_init(surg_kctx *k, surg__gemm_room *r, uint64_t m, uint64_t n, uint64_t d,
                              uint64_t count, surg__gemm_kind kind);
void surg__gemm_run(const surg__gemm *g, const surg__gemm_room *r);

/* A matrix in memory as a side of a product: element (line, depth) less the zero of its line. */
typedef struct surg__gemm_matrix {
  int dtype;
  const void *data;
  uint64_t at, line, depth;  /* element (0, 0), and the steps */
  const double *zero;        /* NULL: none; else zero[line * zero_step] */
  uint64_t zero_step;
} surg__gemm_matrix;
void surg__gemm_pack_matrix(const void *user, const surg__panel *p); /* user: surg__gemm_matrix */

/* --- the inner loops --- */

/* Adds the product of `rows` <= height rows and `width` columns to sums[row * SURG__GEMM_BLOCK]. */
typedef void (*surg__gemm_tile)(uint64_t depth, const double *a, const double *b, double *sums,
                                unsigned rows);
typedef struct surg__gemm_kernel {
  const char *name;
  unsigned height, width; /* of a tile; both divide SURG__GEMM_BLOCK */
  surg__gemm_tile tile;
} surg__gemm_kernel;

/* Multiplies and adds, without fusing: for any product. */
extern const surg__gemm_kernel surg__gemm_plain;
/* Kernel i for products that are exact in double, best first, or NULL after the last; the plain one
 * is the last. Those this machine cannot run are left out. */
const surg__gemm_kernel *surg__gemm_kernel_at(unsigned i);
/* Those with AVX2 and AVX-512 alone (eval/fast/gemm_kernels.c). */
const surg__gemm_kernel *surg__gemm_fast_at(unsigned i);

#endif
