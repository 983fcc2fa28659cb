/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a node may be folded whose partial results may leave the range of its element type. */
#ifndef SURG_EVAL_OVERFLOW_H
#define SURG_EVAL_OVERFLOW_H

#include "eval/core/eval.h"

/* After the kernel: CANNOT where a single node of class "rounding" is folded and a partial sum or
 * product may leave the range of the element type; OK in a run. O(elements). */
surg__kstatus surg__k_overflow(surg_kctx *k);

#endif
