/* SPDX-License-Identifier: Apache-2.0 */
/* Contexts that print no diagnostics, for operations that may fail. */
#include "quiet.h"

#include <onnxsurg/check.h>

static void hear_nothing(void *user, surg_severity severity, const char *line) {
  (void)user, (void)severity, (void)line;
}

surg_context *quiet_context(const cli_common *common, const surg_context *beside) {
  const surg_config config = {.size = sizeof config,
                              .diag = hear_nothing,
                              .max_memory = common->max_memory,
                              .max_depth = common->max_depth,
                              .beside = beside};
  surg_context *ctx = surg_context_new(&config);
  if (ctx && surg_context_passes(ctx) && cli_schemas(ctx, common) == EXIT_DONE) return ctx;
  quiet_tell(ctx, SURG_ENOMEM);
  surg_context_free(ctx);
  return NULL;
}

surg_status quiet_tell(surg_context *ctx, surg_status status) {
  if (ctx && !surg_context_error(ctx) && (status == SURG_ENOMEM || status == SURG_ELIMIT) &&
      surg_context_memory_status(ctx) != SURG_OK)
    surg_context_report_memory(ctx, "onnxsurg"); /* which limit it was */
  const char *line = ctx ? surg_context_error(ctx) : NULL;
  if (line)
    cli_error_line(line);
  else if (status == SURG_ENOMEM)
    cli_no_memory();
  return status;
}

surg_status quiet_open_any(quiet_model *q, const cli_common *common, const surg_context *beside,
                           const char *path, const void *bytes, size_t n) {
  *q = (quiet_model){.ctx = quiet_context(common, beside)};
  if (!q->ctx) return SURG_ENOMEM;
  surg_load_options lenient = common->load;
  lenient.policy = SURG_LOAD_LENIENT; /* missing data files are no error */
  surg_status s = bytes ? surg_model_load_memory(q->ctx, bytes, n, path, &lenient, &q->m)
                        : surg_model_load(q->ctx, path, &lenient, &q->m);
  return s == SURG_OK ? s : quiet_tell(q->ctx, s);
}

surg_status quiet_open(quiet_model *q, const cli_common *common, const char *path) {
  surg_status s = quiet_open_any(q, common, NULL, path, NULL, 0);
  if (s != SURG_OK) return s;
  s = surg_model_require_valid(q->m);
  return s == SURG_OK ? s : quiet_tell(q->ctx, s);
}

void quiet_close(quiet_model *q) {
  if (q->m) surg_model_free(q->m);
  surg_context_free(q->ctx);
  *q = (quiet_model){0};
}
