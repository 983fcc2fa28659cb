/* SPDX-License-Identifier: Apache-2.0 */
/* Pipelines as public objects (onnxsurg/run.h). */
#include <onnxsurg/run.h>

#include "base/diag.h"
#include "pass/internal.h"

surg_status surg_pipeline_parse(surg_context *ctx, const char *text, const char *where,
                                surg_pipeline **out) {
  if (!ctx || !text || !out) return SURG_EUSAGE;
  *out = NULL;
  if (!surg_context_passes(ctx)) return surg__oom(ctx, NULL);
  return surg__pipeline_parse(ctx, text, where ? where : "pipeline", out);
}

void surg_pipeline_free(surg_pipeline *p) {
  surg__pipeline_free(p);
}

surg_status surg_pipeline_skip(surg_pipeline *p, const char *where, const char *const *names,
                               size_t n) {
  if (!p || (n && !names)) return SURG_EUSAGE;
  return surg__pipeline_leave_out(p, where ? where : "pipeline", names, n);
}

surg_status surg_pipeline_text(const surg_pipeline *p, char **text) {
  if (!p || !text) return SURG_EUSAGE;
  surg__buf b;
  surg__buf_init(&b, p->ctx);
  surg__pipeline_print(p, &b);
  return surg__buf_give(&b, text);
}
