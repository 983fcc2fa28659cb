/* SPDX-License-Identifier: Apache-2.0 */
/* Runs of elements that share a scale, between FLOAT and the 8 and 16-bit integers. */
#ifndef SURG_QUANTIZE_FAST_H
#define SURG_QUANTIZE_FAST_H

#include "eval/core/eval.h"

/* Elements [at, at + n) of in to those of out. False: not these types, or there is a NaN. */
bool surg__quantize_run(const surg__array *in, const surg__array *out, uint64_t at, uint64_t n,
                        float scale, int64_t zero);
bool surg__dequantize_run(const surg__array *in, const surg__array *out, uint64_t at, uint64_t n,
                          float scale, int64_t zero);

#endif
