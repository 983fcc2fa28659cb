/* SPDX-License-Identifier: Apache-2.0 */
/* For programs that embed the library: a registry with the built-in passes, and pipelines as
 * text. */
#include "pass/internal.h"

surg_registry *surg_context_passes(surg_context *ctx) {
  surg_registry *r = surg__registry(ctx);
  if (!r) {
    if (ctx) surg__oom(ctx, NULL);
    return NULL;
  }
  if (!r->builtins) {
    r->builtins = true;
    r->lacking = surg__register_builtins(r) != SURG_OK;
  }
  return r->lacking ? NULL : r;
}

surg_status surg_model_run(surg_model **model, const char *pipeline) {
  if (!model || !*model || !pipeline) return SURG_EUSAGE;
  surg_context *ctx = surg_model_context(*model);
  if (!surg_context_passes(ctx)) return surg_context_error(ctx) ? ctx->error_status : SURG_ENOMEM;
  surg__pipeline *p = NULL;
  surg_status s = surg__pipeline_parse(ctx, pipeline, "pipeline", &p);
  if (s == SURG_OK) s = surg__run(model, p, NULL, NULL);
  surg__pipeline_free(p);
  return s;
}
