/* SPDX-License-Identifier: Apache-2.0 */
/* Refuses a fold if partial results may leave the range of the element type. */
#ifndef SURG_EVAL_OVERFLOW_H
#define SURG_EVAL_OVERFLOW_H

#include "eval/core/eval.h"

/* Called after the kernel. CANNOT: a node of class "rounding" is folded, and a partial sum or
 * product may leave the range of the element type. OK in a run. O(elements). */
surg__kstatus surg__k_overflow(surg_kctx *k);

#endif
