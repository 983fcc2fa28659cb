/* SPDX-License-Identifier: Apache-2.0 */
/* Diagnostics. Their text is in memory from malloc, not from the counted heap: a message must be
 * possible when the heap limit is reached. */
#include "base/diag.h"

#include <onnxsurg/onnxsurg.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/context.h"
#include "base/hush.h"

#define LINE_MAX_BYTES 4096

static void deliver(surg_context *ctx, surg_severity severity, const char *line) {
  if (severity == SURG_WARNING && ++ctx->warnings > ctx->max_warnings) {
    if (ctx->warnings == ctx->max_warnings + 1 && ctx->config.diag)
      ctx->config.diag(ctx->config.diag_user, severity, "warning: more warnings are not shown");
    return;
  }
  if (ctx->config.diag) ctx->config.diag(ctx->config.diag_user, severity, line);
}

static void report(surg_context *ctx, surg_severity severity, surg_status status, const char *where,
                   const char *fmt, va_list args) {
  static const char *const words[] = {
      [SURG_NOTE] = "note", [SURG_WARNING] = "warning", [SURG_ERROR] = "error"};
  _Static_assert(SURG_COUNT(words) == SURG_ERROR + 1, "a word for each severity");
  char line[LINE_MAX_BYTES];
  size_t n = 0;
  if (where) n = (size_t)snprintf(line, sizeof line / 2, "%s: ", where);
  if (n >= sizeof line / 2) n = sizeof line / 2 - 1;
  n += (size_t)snprintf(line + n, 16, "%s: ", words[severity]);
  vsnprintf(line + n, sizeof line - n, fmt, args);
  for (char *p = line; *p; p++)
    if (*p == '\n') *p = ' '; /* one line, even if a file name contains newlines */
  if (severity == SURG_ERROR && !ctx->error) {
    ctx->error = strdup(line);
    ctx->error_status = status;
  }
  ctx->line_status = status;
  deliver(ctx, severity, line);
  ctx->code = NULL;
}

void surg__diag_again(surg_context *ctx, surg_severity severity, surg_status status,
                      const char *line) {
  if (severity == SURG_ERROR && !ctx->error) {
    ctx->error = strdup(line);
    ctx->error_status = status;
  }
  ctx->line_status = status;
  deliver(ctx, severity, line);
}

surg_status surg__error(surg_context *ctx, surg_status status, const char *where, const char *fmt,
                        ...) {
  va_list args;
  va_start(args, fmt);
  report(ctx, SURG_ERROR, status, where, fmt, args);
  va_end(args);
  return status;
}

void surg__warn(surg_context *ctx, const char *where, const char *fmt, ...) {
  va_list args;
  va_start(args, fmt);
  report(ctx, SURG_WARNING, SURG_OK, where, fmt, args);
  va_end(args);
}

void surg__note(surg_context *ctx, const char *where, const char *fmt, ...) {
  va_list args;
  va_start(args, fmt);
  report(ctx, SURG_NOTE, SURG_OK, where, fmt, args);
  va_end(args);
}

surg_status surg__oom(surg_context *ctx, const char *where) {
  bool mib = ctx->max_memory >= 1u << 20;
  if (surg__alloc_status(ctx) == SURG_ELIMIT)
    return surg__error(ctx, SURG_ELIMIT, where, "needs more than %llu %s of memory (--max-memory)",
                       (unsigned long long)(ctx->max_memory >> (mib ? 20 : 10)),
                       mib ? "MiB" : "KiB");
  return surg__error(ctx, SURG_ENOMEM, where, "out of memory");
}

surg_status surg__oom_reported(surg_context *ctx, surg_status s, const char *where) {
  const bool memory = s == SURG_ENOMEM || (s == SURG_ELIMIT && ctx->alloc_status == SURG_ELIMIT);
  return memory && ctx->error_status != s ? surg__oom(ctx, where) : s;
}

surg__hush surg__hush_begin(surg_context *ctx) {
  const surg__hush h = {ctx->config.diag, ctx->error, ctx->error_status, ctx->warnings};
  ctx->config.diag = NULL;
  ctx->error = NULL;
  ctx->error_status = SURG_OK;
  return h;
}

void surg__hush_end(surg_context *ctx, surg__hush h) {
  free(ctx->error);
  ctx->config.diag = h.diag;
  ctx->error = h.error;
  ctx->error_status = h.error_status;
  ctx->warnings = h.warnings;
}

surg_status surg__hush_fail(surg_context *ctx, surg__hush h, surg_status status) {
  char *line = ctx->error;
  ctx->error = NULL;
  surg__hush_end(ctx, h);
  if (!line) {
    /* The line was forgotten with a step of the work that was given up. */
    if (status == SURG_ENOMEM || status == SURG_ELIMIT) return surg__oom(ctx, NULL), status;
    return surg__error(ctx, status, NULL, "a step failed (%s)", surg_status_name(status));
  }
  ctx->line_status = status;
  deliver(ctx, SURG_ERROR, line);
  if (ctx->error) {
    free(line);
  } else {
    ctx->error = line;
    ctx->error_status = status;
  }
  return status;
}

const char *surg__qn(surg_context *ctx, const char *s, size_t n) {
  surg__buf b;
  surg__buf_init(&b, ctx);
  surg__buf_putc(&b, '"');
  surg__buf_escape(&b, s, n, SURG_LIMIT_NAME_PRINT);
  surg__buf_putc(&b, '"');
  if (b.failed) {
    surg__buf_free(&b);
    return "\"?\"";
  }
  unsigned slot = ctx->quote_next++ % SURG__QUOTES;
  surg__free(ctx, ctx->quotes[slot]);
  ctx->quotes[slot] = b.p;
  return b.p;
}

const char *surg__q(surg_context *ctx, const char *s) {
  return s ? surg__qn(ctx, s, strlen(s)) : "(none)";
}

void surg_context_report(surg_context *ctx, surg_severity severity, const char *where,
                         const char *text) {
  if (!ctx || !text) return;
  surg__buf b;
  surg__buf_init(&b, ctx);
  surg__buf_escape(&b, text, strlen(text), 0);
  const char *line = b.failed ? "(message lost: out of memory)" : b.p ? b.p : "";
  switch (severity) {
    case SURG_NOTE: surg__note(ctx, where, "%s", line); break;
    case SURG_WARNING: surg__warn(ctx, where, "%s", line); break;
    case SURG_ERROR: surg__error(ctx, SURG_EINVALID, where, "%s", line); break;
  }
  surg__buf_free(&b);
}
