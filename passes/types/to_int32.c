/* SPDX-License-Identifier: Apache-2.0 */
/* Converts int64 values to int32 where they are proven to fit, with the fewest Casts (precision.h).
 * Operators that demand int64 keep it; inputs and outputs of the model keep their type. Constants
 * of Slice that mean "to the end" are clamped.
 *
 *   to-int32{io} with --range i=0..9
 *   before: (float[9] x, int64[2] i) => (float[2] y) { y = Gather (x, i) }
 *   after:  (float[9] x, int32[2] i) => (float[2] y) { y = Gather (x, i) }
 *
 * Needs sorted, types. Keeps sorted. Exact; approx where the size of an axis of such a Slice is not
 * proven to be below 2^31. */
#include "precision.h"

static surg_pass_result run(surg_pass_ctx *p, surg_graph *unused) {
  (void)unused;
  return prec_run(p, &prec_to_int32, 0);
}

static const surg_option options[] = {PREC_OPTIONS};

const surg_pass surg__pass_to_int32 =
    PREC_PASS("to-int32", "convert int64 values to int32 where they fit", SURG_APPROX);
