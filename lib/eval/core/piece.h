/* SPDX-License-Identifier: Apache-2.0 */
/* Pieces of arrays as doubles or as 64-bit integers, and back: what loops over any type work on
 * while it is in the cache. */
#ifndef SURG_PIECE_H
#define SURG_PIECE_H

#include "eval/core/eval.h"

#define SURG__PIECE 512 /* elements */

typedef union surg__numbers {
  double real[SURG__PIECE];
  uint64_t whole[SURG__PIECE]; /* two's complement, as surg__load_int gives them */
} surg__numbers;

/* n elements `step` apart from element `at` on as doubles. */
void surg__load_run(int dtype, const void *data, uint64_t at, uint64_t step, uint64_t n,
                    double *to);
/* Stores n floats from element `at` on, rounded once; NaN keeps its sign. */
void surg__store_reals(int dtype, void *data, uint64_t at, uint64_t n, const double *from);
/* The same of computed results: a NaN is always the same one. */
void surg__store_run(int dtype, void *data, uint64_t at, uint64_t n, const double *sums);

/* The same of integers and BOOL. */
void surg__load_whole(int dtype, const void *data, uint64_t at, uint64_t step, uint64_t n,
                      uint64_t *to);
void surg__store_whole(int dtype, void *data, uint64_t at, uint64_t n, const uint64_t *from);

#endif
