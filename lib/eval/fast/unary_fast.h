/* SPDX-License-Identifier: Apache-2.0 */
/* Fast forms of operators of one input, for whole arrays. */
#ifndef SURG_UNARY_FAST_H
#define SURG_UNARY_FAST_H

#include "eval/core/eval.h"

/* a and b: the attributes of the operator (of Clip: the bounds, a <= b). */
typedef void (*surg__unary_fn)(const float *in, float *out, uint64_t n, double a, double b);
surg__unary_fn surg__unary_fast(int op); /* NULL: there is none */

surg__unary_fn surg__gelu_fast(bool by_tanh);

/* The same for DOUBLE arrays. */
typedef void (*surg__unary_double_fn)(const double *in, double *out, uint64_t n, double a, double b);
surg__unary_double_fn surg__unary_fast_double(int op);
surg__unary_double_fn surg__gelu_fast_double(bool by_tanh);

/* Operators of integers and bool. False: not this one. */
bool surg__unary_integers(int op, const surg__array *x, const surg__array *o);
/* Bounds as surg__load_int gives them, both there. */
void surg__clip_integers(const surg__array *x, const surg__array *o, uint64_t low, uint64_t high);

/* out[i] = table[in[i]]; the table has 65536 entries. */
void surg__look_up(const uint16_t *table, const uint16_t *in, uint16_t *out, uint64_t n);

#endif
