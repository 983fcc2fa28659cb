/* SPDX-License-Identifier: Apache-2.0 */
/* Diagnostics: one located, escaped line each, reported where the problem is found. */
#ifndef SURG_DIAG_H
#define SURG_DIAG_H

#include "base/base.h"

/* Reports one line: "<where>: error: <text>". `where` is a file name or NULL. The format must be a
 * literal; quote untrusted text with surg__q (below). Returns `status`, so that callers can return
 * the result of this call. The context also stores the error: surg_context_error returns the first
 * one since surg_context_clear_error. */
surg_status surg__error(surg_context *ctx, surg_status status, const char *where, const char *fmt,
                        ...) SURG_PRINTF(4, 5);
void surg__warn(surg_context *ctx, const char *where, const char *fmt, ...) SURG_PRINTF(3, 4);
void surg__note(surg_context *ctx, const char *where, const char *fmt, ...) SURG_PRINTF(3, 4);
/* Delivers a line that another process of this program reported. */
void surg__diag_again(surg_context *ctx, surg_severity severity, surg_status status,
                      const char *line);
/* Reports the failure of the last allocation (no memory, or a limit); returns its status. */
surg_status surg__oom(surg_context *ctx, const char *where);
/* Returns s. If that is a lack of memory which was not reported yet, reports it. */
surg_status surg__oom_reported(surg_context *ctx, surg_status s, const char *where);

/* `"name"` quoted, escaped and cut, in one of the rotating buffers of the context: for a %s
 * argument of the functions above, at most 8 per call. */
const char *surg__q(surg_context *ctx, const char *s);
const char *surg__qn(surg_context *ctx, const char *s, size_t n);

#endif
