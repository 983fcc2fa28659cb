/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions of real elements that are sums, products and extremes.
 *
 * The order of a sum: where elements that stand next to each other belong to different results
 * (the last axis is kept), each is made in index order. Where they belong to one, it is made in 16
 * lanes: element i of the run goes to lane i % 16, from zero on, and then lanes i and i + 8 are
 * added, i and i + 4, i + 2, i + 1. */
#ifndef SURG_REDUCE_FAST_H
#define SURG_REDUCE_FAST_H

#include "eval/loop.h"

/* Reduces x to o: `kept` walks the result (array 0) and the start of each run (array 1), `run` one
 * run of `length` > 0 elements. False: not one of these operators. */
bool surg__reduce_fast(int op, const surg__array *x, const surg__array *o, surg__loop *kept,
                       surg__loop *run, uint64_t length);

#endif
