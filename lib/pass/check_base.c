/* SPDX-License-Identifier: Apache-2.0 */
/* The errors of a model before several edits, for callers that compare by themselves. */
#include <onnxsurg/check.h>

#include "pass/internal.h"

#define LINE_BYTES 1024

struct surg_check_base {
  surg_context *ctx;
  surg__errors errors;
  char line[LINE_BYTES];
};

surg_status surg_check_base_new(surg_context *ctx, surg_model *model, surg_check_base **out) {
  if (out) *out = NULL;
  if (!ctx || !out) return SURG_EUSAGE;
  surg_check_base *b = surg__calloc(ctx, 1, sizeof *b);
  if (!b) return surg__oom(ctx, NULL);
  b->ctx = ctx;
  b->errors.doubled_names = model == NULL; /* ONNX leaves names of nodes open */
  const surg_status s = model ? surg__errors_collect(model, &b->errors) : SURG_OK;
  if (s == SURG_OK)
    *out = b;
  else
    surg_check_base_free(b);
  return s;
}

surg_status surg_check_base_compare(surg_check_base *b, surg_model *model, const char **line) {
  if (line) *line = NULL;
  if (!b || !model || !line) return SURG_EUSAGE;
  const surg_status s = surg__errors_compare(model, &b->errors, true, b->line, sizeof b->line);
  if (s == SURG_OK && b->line[0]) *line = b->line;
  return s;
}

void surg_check_base_free(surg_check_base *b) {
  if (!b) return;
  surg__vec_free(b->ctx, &b->errors.hashes);
  surg__free(b->ctx, b);
}
