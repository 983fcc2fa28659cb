/* SPDX-License-Identifier: Apache-2.0 */
/* Value ranges: intervals that contain every element of a value (surg_range). Shared by ranges*.c.
 *
 * A bound is a number of the element type, or the next double outside of it. Rounding is monotone,
 * so the bounds of a result, computed from the bounds of the operands and rounded outwards, are
 * valid for every engine, whether it rounds to the element type or to a wider one. Where a result
 * is exact the bounds are not widened: a range at or above zero stays there. */
#ifndef SURG_RANGES_H
#define SURG_RANGES_H

#include "infer/infer.h"

#define SURG__RANGE_VALUES 64u   /* values visited by one query */
#define SURG__RANGE_INPUTS 16u   /* inputs of a node whose ranges are joined */
#define SURG__RANGE_CONST 1024u  /* elements of a constant that is read */

/* --- ranges_math.c --- */
bool surg__range_of_dtype(int dtype, surg_range *out); /* false: the type has no order */
surg_range surg__range_join(surg_range a, surg_range b);
/* The intersection of two ranges of one value. */
surg_range surg__range_meet(surg_range a, surg_range b);
surg_range surg__range_add(int dtype, surg_range a, surg_range b);
surg_range surg__range_mul(int dtype, surg_range a, surg_range b);
surg_range surg__range_div(int dtype, surg_range a, surg_range b);
surg_range surg__range_neg(int dtype, surg_range a);
surg_range surg__range_max(surg_range a, surg_range b);
surg_range surg__range_min(surg_range a, surg_range b);
/* Rounds the bounds outwards to numbers of the type: 0.1 is no float, its neighbours are. */
surg_range surg__range_round(int dtype, surg_range a);
/* The range after a Cast. */
surg_range surg__range_cast(int from, int to, surg_range a);
/* The range of an increasing function f: f at both bounds. */
surg_range surg__range_map(int dtype, surg_range a, double (*f)(double));

/* --- ranges.c --- */
/* The range of a small constant; false: it is too large, or all of its elements are NaN. */
bool surg__range_of_tensor(const surg_tensor *t, surg_range *out);

/* --- ranges_ops.c --- */
/* How many of the first inputs of a node determine the range of an output; 0: the operator has no
 * range rule. */
size_t surg__range_needs(const surg_node *n, size_t output);
/* The range of an output. in[i] is the range of input i; has[i] is false where the input is absent
 * or its type has no order. The caller initializes *r with the range of the type. */
void surg__range_node(const surg_node *n, size_t output, const surg_range *in, const bool *has,
                      surg_range *r);

#endif
