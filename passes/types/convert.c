/* SPDX-License-Identifier: Apache-2.0 */
/* Converts the precision of a model: to-float16, to-bfloat16 or to-float by one name.
 *
 * Needs sorted, types. Keeps sorted. Approx: naming the pass is consent. */
#include <string.h>

#include "precision.h"

static surg_pass_result run(surg_pass_ctx *p, surg_graph *unused) {
  (void)unused;
  static const struct {
    const char *name;
    const prec_kind *kind;
  } known[] = {{"fp16", &prec_to_float16},  {"float16", &prec_to_float16},
               {"bf16", &prec_to_bfloat16}, {"bfloat16", &prec_to_bfloat16},
               {"fp32", &prec_to_float},    {"float", &prec_to_float}};
  const char *text = surg_pass_string(p, "precision");
  for (size_t i = 0; text && i < sizeof known / sizeof *known; i++)
    if (strcmp(text, known[i].name) == 0) return prec_run(p, known[i].kind, 0);
  return surg_pass_usage(p, "precision is fp16, bf16 or fp32");
}

static const surg_option options[] = {
    SURG_OPTION(STRING, "precision", NULL, "fp16, bf16 or fp32"),
    PREC_NARROW_OPTIONS,
};

const surg_pass surg__pass_convert =
    PREC_PASS("convert", "convert the model to fp16, bf16 or fp32", SURG_APPROX);
