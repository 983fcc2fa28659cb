/* SPDX-License-Identifier: Apache-2.0 */
/* Converts the precision of a model: to-float16, to-bfloat16, to-float or quantize{static} by one
 * name.
 *
 * Needs sorted, types. Keeps sorted. Approx: naming the pass is consent. */
#include <string.h>

#include "../quant/quant.h"
#include "precision.h"

/* Options that have no meaning for integers. */
static bool integers_allow(surg_pass_ctx *p) {
  return !surg_pass_bool(p, "io") && !surg_pass_bool(p, "aggressive") &&
         !surg_pass_bool(p, "saturate");
}

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
  if (text && strcmp(text, "int8") == 0)
    return integers_allow(p)
               ? quant_run(p, true)
               : surg_pass_usage(p, "io, aggressive and saturate are for floats, not for int8");
  return surg_pass_usage(p, text ? "option precision: expected fp16, bf16, fp32 or int8"
                                 : "option precision is required: fp16, bf16, fp32 or int8 "
                                   "(the pass `opset` converts to another opset)");
}

static const surg_option options[] = {
    SURG_OPTION(STRING, "precision", NULL, "fp16, bf16, fp32 or int8"),
    PREC_NARROW_OPTIONS,
};

const surg_pass surg__pass_convert =
    PREC_PASS("convert", "convert the model to fp16, bf16, fp32 or int8", SURG_APPROX);
