/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers whose absolute errors matter, not the relative ones: angles, positions in images, and
 * what remainders are computed of. A float of few digits has none left for the part within a
 * period. */
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

/* How large the absolute error of input i of n becomes in radians or pixels: that of an angle of
 * Sin, a position in an image. Infinite: too large for any size of the input, as for an operand of
 * a remainder, also of x - Floor (x / d) * d. 0: it does not matter. */
double phases_turns(const surg_node *n, size_t i);
/* Whether n reads elements of an image at computed positions. */
bool phases_is_place(const surg_node *n);
/* Fills the tables, in memory of the pass; the nodes must be sorted. Values whose size is proven to
 * be at most `small` are no counts. False: out of memory. */
bool phases_find(phases *f, surg_pass_ctx *p, surg_model *m, double small);

#endif
