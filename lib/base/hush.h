/* SPDX-License-Identifier: Apache-2.0 */
/* Suppressing diagnostics while work on a copy may fail: searches for repairs, tests of reduced
 * models. */
#ifndef SURG_HUSH_H
#define SURG_HUSH_H

#include "base/base.h"

/* The diagnostic state of a context before surg__hush_begin. */
typedef struct surg__hush {
  surg_diag_fn diag;
  char *error;
  surg_status error_status;
  uint32_t warnings;
} surg__hush;

/* Suppresses diagnostics of the context from now on, and stores errors apart from earlier ones.
 * Pairs may be nested. */
surg__hush surg__hush_begin(surg_context *ctx);
/* Ends the suppression and discards the errors stored during it. */
void surg__hush_end(surg_context *ctx, surg__hush h);
/* Ends the suppression and reports the first error stored during it, or `status` if there is none,
 * because the whole operation failed. Returns `status`. */
surg_status surg__hush_fail(surg_context *ctx, surg__hush h, surg_status status);

#endif
