/* SPDX-License-Identifier: Apache-2.0 */
/* Converts pieces of arrays to doubles or 64-bit integers, and back. A loop over any type works on
 * one piece, which fits in the cache. */
#ifndef SURG_PIECE_H
#define SURG_PIECE_H

#include "eval/core/eval.h"

#define SURG__PIECE 512 /* elements per piece */

typedef union surg__numbers {
  double real[SURG__PIECE];
  uint64_t whole[SURG__PIECE]; /* two's complement, as from surg__load_int */
} surg__numbers;

/* Reads n elements as doubles: element `at`, and each `step` elements after it. */
void surg__load_run(int dtype, const void *data, uint64_t at, uint64_t step, uint64_t n,
                    double *to);
/* Stores n floats from element `at` on, rounded once; NaN keeps its sign. */
void surg__store_reals(int dtype, void *data, uint64_t at, uint64_t n, const double *from);
/* As surg__store_reals, for computed results: every NaN is stored with the same bits. */
void surg__store_run(int dtype, void *data, uint64_t at, uint64_t n, const double *sums);

/* As surg__load_run and surg__store_run, for integers and BOOL. */
void surg__load_whole(int dtype, const void *data, uint64_t at, uint64_t step, uint64_t n,
                      uint64_t *to);
void surg__store_whole(int dtype, void *data, uint64_t at, uint64_t n, const uint64_t *from);

#endif
