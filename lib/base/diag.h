/* SPDX-License-Identifier: Apache-2.0 */
/* Diagnostics: one located, escaped line each, set at the point of knowledge. */
#ifndef SURG_DIAG_H
#define SURG_DIAG_H

#include "base/base.h"

/* Reports one line: "<where>: error: <text>". `where` is a file name or NULL; the format must be
 * a literal, and untrusted text goes in only through surg__q (below). Returns `status`, so that
 * `return surg__error(ctx, SURG_EINVALID, file, "...")` reads well. Errors are also remembered:
 * surg_context_error returns the first one since surg_context_clear_error. */
surg_status surg__error(surg_context *ctx, surg_status status, const char *where, const char *fmt,
                        ...) SURG_PRINTF(4, 5);
void surg__warn(surg_context *ctx, const char *where, const char *fmt, ...) SURG_PRINTF(3, 4);
void surg__note(surg_context *ctx, const char *where, const char *fmt, ...) SURG_PRINTF(3, 4);
/* Reports that memory ran out (or a limit was met), from surg__alloc_status; returns it. */
surg_status surg__oom(surg_context *ctx, const char *where);

/* `"name"` quoted, escaped and cut, in one of a few rotating buffers of the context: for use as a
 * %s argument of the calls above; at most 8 in one call. */
const char *surg__q(surg_context *ctx, const char *s);
const char *surg__qn(surg_context *ctx, const char *s, size_t n);

#endif
