/* SPDX-License-Identifier: Apache-2.0 */
/* What quantization reports: a summary, the reasons by number, each weight. */
#include <math.h>
#include <stdio.h>

#include "quant.h"

static const char *const reasons[] = {
    [QUANT_FREE] = "",
    [QUANT_KEPT] = "protected by --keep",
    [QUANT_UNCHOSEN] = "not among the chosen nodes",
    [QUANT_CALLER] =
        "an input of the model: a caller may replace it (freeze-inputs makes it constant)",
    [QUANT_PINNED] = "set by training",
    [QUANT_ABSENT] = "the elements are not available",
    [QUANT_EMPTY] = "no elements",
    [QUANT_SCALAR] = "a single number",
    [QUANT_DTYPE] = "the element type cannot be quantized",
    [QUANT_NAN] = "NaN or infinite elements",
    [QUANT_REGION] = "quantized already",
    [QUANT_OPSET] = "the opset does not have the operators or types",
    [QUANT_IR] = "the type needs a later IR version (ir{to=10} for 4 bits, ir{to=9} for float8)",
    [QUANT_TARGET] = "the target has no such kernel",
    [QUANT_FORM] = "the quantized operator does not have this form",
    [QUANT_COMPUTED] = "no operand is constant",
    [QUANT_RANGE] = "the range of a value is unknown",
    [QUANT_FAR] = "a value contains numbers that mask others",
    [QUANT_FINE] = "a logarithm or division magnifies small elements",
    [QUANT_WHOLE] = "an integer, a phase or a remainder is computed from it",
    [QUANT_ERROR] = "the tolerance requires it",
    [QUANT_LIMIT] = "the limit of rewrites is reached",
};
_Static_assert(sizeof reasons / sizeof *reasons == QUANT_WHYS, "a text for each reason");

double quant_decibels(double signal, double noise) {
  return 10 * log10(signal / noise);
}

/* Bytes of the constants that stand for a weight. */
static uint64_t bytes_of(const quant_weight *w) {
  const surg_value *const made[] = {w->flipped && !w->restored ? w->flipped : w->q, w->scale,
                                    w->column, w->zero, w->flat};
  uint64_t bytes = 0;
  for (size_t i = 0; i < sizeof made / sizeof *made; i++) {
    const surg_tensor *t = made[i] ? surg_value_constant(made[i]) : NULL;
    if (t) bytes += surg_tensor_bytes(t);
  }
  return bytes;
}

static void weight_line(quant *c, const quant_weight *w) {
  char line[QUANT_TEXT], scales[96], loss[48];
  if (!w->q) {
    quant_why why = (quant_why)w->why;
    if (why == QUANT_FREE && w->sites != QUANT_NONE) why = (quant_why)c->sites[w->sites].why;
    snprintf(line, sizeof line, "weight '%.200s': %s: %s", surg_value_name(w->v),
             surg_dtype_name(quant_dtype(w->v)), reasons[why]);
    surg_pass_note(c->p, NULL, line);
    return;
  }
  if (!w->each)
    snprintf(scales, sizeof scales, "one scale%s", w->narrowed ? " (channels need opset 13)" : "");
  else if (w->block)
    snprintf(scales, sizeof scales, "a scale for each %llu elements of axis %zu",
             (unsigned long long)w->block, w->sum);
  else
    snprintf(scales, sizeof scales, "a scale for each slice of axis %zu", w->axis);
  if (w->noise > 0)
    snprintf(loss, sizeof loss, "SQNR %.1f dB", quant_decibels(w->signal, w->noise));
  else
    snprintf(loss, sizeof loss, "no error");
  snprintf(line, sizeof line, "weight '%.200s': %s; %s; %s; %llu bytes, before %llu",
           surg_value_name(w->v), surg_dtype_name(w->dtype), scales, loss,
           (unsigned long long)bytes_of(w), (unsigned long long)w->before);
  surg_pass_note(c->p, NULL, line);
}

/* Whether another model or another option would let the product be quantized. */
static bool curable(quant_why why) {
  return why == QUANT_OPSET || why == QUANT_IR || why == QUANT_TARGET || why == QUANT_FORM ||
         why == QUANT_CALLER || why == QUANT_ABSENT;
}

/* `none`: nothing was quantized, so that what could be is a request that was not done. */
static void reason_lines(quant *c, bool none) {
  char line[QUANT_TEXT];
  for (size_t w = QUANT_FREE + 1; w < QUANT_WHYS; w++) {
    if (!c->left[w]) continue;
    snprintf(line, sizeof line, "%llu product%s stay%s: %s", (unsigned long long)c->left[w],
             c->left[w] == 1 ? "" : "s", c->left[w] == 1 ? "s" : "", reasons[w]);
    if (none && curable((quant_why)w))
      surg_pass_left(c->p, NULL, line);
    else
      surg_pass_note(c->p, NULL, line);
  }
}

void quant_report(quant *c) {
  char line[QUANT_TEXT];
  uint64_t made = 0, stay = 0, before = 0, after = 0;
  for (uint32_t i = 0; i < c->n_weights; i++) {
    const quant_weight *w = &c->weights[i];
    made += w->q != NULL;
    stay += w->q == NULL;
    before += w->before;
    if (w->q) after += bytes_of(w);
  }
  for (uint32_t i = 0; i < c->n_sites; i++) {
    const quant_site *s = &c->sites[i];
    const quant_weight *w = &c->weights[s->weight];
    if (s->why != QUANT_FREE)
      c->left[s->why]++;
    else if (!w->q)
      c->left[w->why]++;
  }
  snprintf(line, sizeof line,
           "%llu weight%s of %llu quantized, %llu product%s; %llu bytes, before %llu",
           (unsigned long long)made, made == 1 ? "" : "s", (unsigned long long)(made + stay),
           (unsigned long long)c->nodes, c->nodes == 1 ? "" : "s", (unsigned long long)after,
           (unsigned long long)before);
  surg_pass_note(c->p, NULL, line);
  reason_lines(c, !made && !c->nodes && !c->values);
  for (uint32_t i = 0; i < c->n_weights; i++) weight_line(c, &c->weights[i]);
  surg_pass_count(c->p, "weights quantized", made);
  surg_pass_count(c->p, "weights that stay", stay);
  surg_pass_count(c->p, "products quantized", c->nodes);
  if (c->fixed) surg_pass_count(c->p, "values quantized", c->values);
}
