/* SPDX-License-Identifier: Apache-2.0 */
/* Fast forms of operators of one input, for FLOAT arrays. */
#ifndef SURG_UNARY_FAST_H
#define SURG_UNARY_FAST_H

#include "eval/eval.h"

/* a and b: the attributes of the operator (of Clip: the bounds, a <= b). */
typedef void (*surg__unary_fn)(const float *in, float *out, uint64_t n, double a, double b);
surg__unary_fn surg__unary_fast(int op); /* NULL: there is none */

surg__unary_fn surg__gelu_fast(bool by_tanh);

#endif
