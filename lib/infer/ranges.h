/* SPDX-License-Identifier: Apache-2.0 */
/* Intervals that hold every element of a value (surg_range): what the files ranges*.c share.
 *
 * A bound is a number of the element type, or one further out. Rounding is monotone: so the bounds
 * of a result, computed from those of the operands and rounded outwards, hold for whatever an
 * engine rounds to, be it in that type or in a finer one. Where a result is exact nothing is lost,
 * so that what cannot be below zero stays so. */
#ifndef SURG_RANGES_H
#define SURG_RANGES_H

#include "infer/infer.h"

#define SURG__RANGE_VALUES 64u   /* looked at for one question */
#define SURG__RANGE_INPUTS 16u   /* of a node that joins them */
#define SURG__RANGE_CONST 1024u  /* elements of a constant that is read */

/* --- ranges_math.c --- */
bool surg__range_of_dtype(int dtype, surg_range *out); /* false: it has no order */
surg_range surg__range_join(surg_range a, surg_range b);
/* Of what both say of one value. */
surg_range surg__range_meet(surg_range a, surg_range b);
surg_range surg__range_add(int dtype, surg_range a, surg_range b);
surg_range surg__range_mul(int dtype, surg_range a, surg_range b);
surg_range surg__range_div(int dtype, surg_range a, surg_range b);
surg_range surg__range_neg(int dtype, surg_range a);
surg_range surg__range_max(surg_range a, surg_range b);
surg_range surg__range_min(surg_range a, surg_range b);
/* Bounds as numbers of the type: 0.1 of a float is one that is next to it. */
surg_range surg__range_round(int dtype, surg_range a);
/* The same numbers in another type. */
surg_range surg__range_cast(int from, int to, surg_range a);
/* A function that rises, as it is at both bounds. */
surg_range surg__range_map(int dtype, surg_range a, double (*f)(double));

/* --- ranges.c --- */
/* Of a small constant; false: it is none, or there is no number in it. */
bool surg__range_of_tensor(const surg_tensor *t, surg_range *out);

/* --- ranges_ops.c --- */
/* How many of the first inputs of a node are needed to say something of an output; 0: nothing is
 * said of it. */
size_t surg__range_needs(const surg_node *n, size_t output);
/* What holds of it. in[i] is what is known of input i; `has` 0 where it is absent or of no order.
 * *r comes in as what holds of the type. */
void surg__range_node(const surg_node *n, size_t output, const surg_range *in, const bool *has,
                      surg_range *r);

#endif
