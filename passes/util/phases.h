/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers whose absolute errors matter, not the relative ones: angles, and what remainders are
 * computed of. A float of few digits has none left for the part within a period. */
#ifndef SURG_PASSES_PHASES_H
#define SURG_PASSES_PHASES_H

#include <onnxsurg/onnxsurg.h>

#include "table.h"

typedef struct phases {
  table counted; /* float values that are computed from integers that may be large: positions */
  table
      products; /* products of matrices of such values, for phases: of positions and frequencies */
  table all;    /* products of any values, for phases */
} phases;

/* Whether the absolute error of input i of n matters: an angle of Sin, an operand of a remainder,
 * also of x - Floor (x / d) * d. */
bool phases_reads(const surg_node *n, size_t i);
/* Whether n computes a function of an angle. */
bool phases_is_angle(const surg_node *n);
/* Fills the tables, in memory of the pass; the nodes must be sorted. Values whose size is proven to
 * be at most `small` are no counts. False: out of memory. */
bool phases_find(phases *f, surg_pass_ctx *p, surg_model *m, double small);

#endif
