/* SPDX-License-Identifier: Apache-2.0 */
/* Runs of numbers as powers of e: what ReduceLogSumExp and Softmax are made of. */
#ifndef SURG_EXP_FAST_H
#define SURG_EXP_FAST_H

#include "eval/eval.h"
#include "eval/piece.h"

/* A power is a double, of narrower floats a float: so many bytes. */
size_t surg__exp_size(int dtype);

/* v[i] to e to the power of v[i] - top[i], for numbers of that type. */
void surg__exp_less(int dtype, double *v, const double *top, uint64_t n);

#define SURG__EXP_COLUMNS 256 /* whose sums stay in the nearest cache */

/* Runs of `length` > 0 elements `step` apart: a single one of elements next to each other, or n <=
 * SURG__PIECE that start next to each other. */
typedef struct surg__exp_runs {
  const surg__array *x;
  uint64_t start, length, step, n;
  bool single;
  void *kept; /* NULL, or room for the powers as they are walked, of n <= SURG__EXP_COLUMNS runs:
               * element 0 of all runs, then element 1 */
} surg__exp_runs;

/* Of each run the largest element, and the sum of e to the power of its elements less that one
 * (anything where the largest is not finite), in the order that reduce_fast.h states. */
void surg__exp_sums(const surg__exp_runs *e, double *top, double *sum);

/* To o, of the same type: the powers over `sum`, of at most SURG__EXP_COLUMNS runs; NaN where the
 * largest element is not finite. */
void surg__exp_shares(const surg__exp_runs *e, const double *top, const double *sum,
                      const surg__array *o);

#endif
