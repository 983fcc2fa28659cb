/* SPDX-License-Identifier: Apache-2.0 */
/* Runs of numbers as powers of e: what ReduceLogSumExp and Softmax are made of. */
#ifndef SURG_EXP_FAST_H
#define SURG_EXP_FAST_H

#include "eval/core/eval.h"
#include "eval/fast/piece.h"

/* A power is a double, of narrower floats a float: so many bytes. */
size_t surg__exp_size(int dtype);

bool surg__exp_half(int dtype); /* a float of 16 bits */

/* Powers are raised (vmath_below.h): times this they are what they are. */
double surg__exp_lower(int dtype);

/* v[i] to e to the power of v[i] - top[i], raised, for numbers of that type. */
void surg__exp_less(int dtype, double *v, const double *top, uint64_t n);

#define SURG__EXP_COLUMNS 4096 /* runs at a time: long rows of memory */
#define SURG__EXP_ROOM 17      /* doubles a run */

/* Runs of `length` > 0 elements `step` apart: a single one of elements next to each other, or n
 * that start next to each other. */
typedef struct surg__exp_runs {
  const surg__array *x, *o; /* of the same type; o NULL: sums alone are asked for */
  uint64_t start, length, step, n;
  bool single;
  double *room; /* SURG__EXP_ROOM for each of n runs; for a single one NULL */
  void *kept;   /* of 16-bit floats NULL, or room for the powers between sums and shares, element 0
                 * of all runs and then element 1; those of others are in o meanwhile */
} surg__exp_runs;

/* Of each run the largest element, and the sum of e to the power of its elements less that one
 * (anything where the largest is not finite), in the order that reduce_fast.h states. */
void surg__exp_sums(const surg__exp_runs *e, double *top, double *sum);

/* After that, to o: the powers over `sum`; NaN where the largest element is not finite. */
void surg__exp_shares(const surg__exp_runs *e, const double *top, const double *sum);

#endif
