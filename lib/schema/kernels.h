/* SPDX-License-Identifier: Apache-2.0 */
/* Element types that the CPU kernels of ONNX Runtime support, from its newest built-in target. The
 * standard allows more types than this most used runtime implements: Conv of double, for example.
 * A rewrite must not replace nodes that it runs by nodes that it rejects. */
#ifndef SURG_KERNELS_H
#define SURG_KERNELS_H

#include "schema/schema.h"

#define SURG__KERNEL_PARAMS 8 /* most type parameters of an operator in the table */

/* A kernel, or several, of one version of an operator. */
typedef struct surg__kernel_row {
  uint16_t op;
  uint16_t since;
  uint32_t types[SURG__KERNEL_PARAMS]; /* by type parameter: bit d: element type d is supported */
} surg__kernel_row;

/* Sorted by operator and version. Versions without a row: all types, or unknown. */
extern const surg__kernel_row surg__kernel_rows[];
extern const size_t surg__kernel_row_count;

/* Whether no kernel supports these element types, `bound[i]` that of type parameter i, 0 if
 * unknown. False: also if the table does not tell, and for operators with a function body, which
 * need no kernel. O(log rows). */
bool surg__kernel_missing(const surg_schema *s, const int *bound, size_t n);

#endif
