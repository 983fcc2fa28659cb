/* SPDX-License-Identifier: Apache-2.0 */
/* Converts float values to bfloat16 where that is safe, with the fewest Casts (precision.h). Inputs
 * and outputs of the model keep their type.
 *
 *   before: (float[2] x) => (float[2] y) <float[2,2] w> { y = MatMul (x, w) }
 *   after:  (float[2] x) => (float[2] y) <bfloat16[2,2] w> {
 *             a = Cast <to = 16> (x)  b = MatMul (a, w)  y = Cast <to = 1> (b) }
 *
 * Needs sorted, types. Keeps sorted. Approx: naming the pass is consent. */
#include "precision.h"

static surg_pass_result run(surg_pass_ctx *p, surg_graph *unused) {
  (void)unused;
  return prec_run(p, &prec_to_bfloat16, 0);
}

static const surg_option options[] = {PREC_NARROW_OPTIONS};

const surg_pass surg__pass_to_bfloat16 =
    PREC_PASS("to-bfloat16", "convert float values to bfloat16 where it is safe", SURG_APPROX);
