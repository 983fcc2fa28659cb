/* SPDX-License-Identifier: Apache-2.0 */
/* Converts float16 and bfloat16 values to float, or with from=double those of double, with the
 * fewest Casts (precision.h). Inputs and outputs of the model keep their type.
 *
 *   before: (float16[2] x) => (float16[2] y) { y = Neg (x) }
 *   after:  (float16[2] x) => (float16[2] y) {
 *             a = Cast <to = 1> (x)  b = Neg (a)  y = Cast <to = 10> (b) }
 *
 * Needs sorted, types. Keeps sorted. Approx from narrower types, lossy from double: naming the pass
 * is consent. */
#include "precision.h"

static surg_pass_result run(surg_pass_ctx *p, surg_graph *unused) {
  (void)unused;
  uint64_t from = 0;
  for (size_t i = 0; i < surg_pass_list_count(p, "from"); i++) {
    const int d = surg_dtype_from_name(surg_pass_list_at(p, "from", i));
    if (d != SURG_FLOAT16 && d != SURG_BFLOAT16 && d != SURG_DOUBLE)
      return surg_pass_usage(p, "option from: expected float16, bfloat16 or double");
    from |= UINT64_C(1) << d;
  }
  if ((from >> SURG_DOUBLE & 1) && from != UINT64_C(1) << SURG_DOUBLE)
    return surg_pass_usage(p, "double is converted alone: from=double");
  return prec_run(p, &prec_to_float, from);
}

static const surg_option options[] = {
    SURG_OPTION(LIST, "from", "float16+bfloat16", "present types; or double alone"),
    PREC_OPTIONS,
    PREC_SATURATE,
    PREC_MEASURE_OPTIONS,
};

const surg_pass surg__pass_to_float =
    PREC_PASS("to-float", "convert float16 and bfloat16 values, or double, to float", SURG_LOSSY);
