/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions of elements of any type.
 *
 * The order of a sum of floats, along whatever axes it runs: element i of the run goes to lane
 * i % 16, from zero on, and then lanes i and i + 8 are added, i and i + 4, i + 2, i + 1. Integers
 * wrap; a mean of them is the exact sum, divided towards zero. */
#ifndef SURG_REDUCE_FAST_H
#define SURG_REDUCE_FAST_H

#include "eval/core/loop.h"
#include "eval/fast/piece.h"

/* Reduces x to o: `kept` walks the result (array 0) and the start of each run (array 1), `run` one
 * run of `length` elements (at least one of floats). NULL, or why there is no result. `room`: as
 * many doubles as surg__reduce_room says. */
const char *surg__reduce_fast(int op, const surg__array *x, const surg__array *o, surg__loop *kept,
                              surg__loop *run, uint64_t length, double *room);
uint64_t surg__reduce_room(int op, const surg__loop *kept);

/* The same for ReduceMax and ReduceMin: NaN where there is one; of zeros -0 is the smaller one. */
void surg__extreme_fast(bool largest, const surg__array *x, const surg__array *o, surg__loop *kept,
                        surg__loop *run, uint64_t length);

/* ArgMax and ArgMin: the index of the extreme one of each of outer x inner runs of `length` > 0
 * elements `inner` apart; of several the first one, or the last one. NaN comes before all numbers,
 * the first one always. True: there was one. */
bool surg__arg_fast(const surg__array *x, uint64_t outer, uint64_t length, uint64_t inner,
                    bool largest, bool last, int64_t *out);

#endif
