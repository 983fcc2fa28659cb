/* SPDX-License-Identifier: Apache-2.0 */
/* Work on copies that may fail without a line: searches for repairs, tests of smaller models. */
#ifndef SURG_HUSH_H
#define SURG_HUSH_H

#include "base/base.h"

/* What the context was before. */
typedef struct surg__hush {
  surg_diag_fn diag;
  char *error;
  surg_status error_status;
  uint32_t warnings;
} surg__hush;

/* From here on the context reports no diagnostic, and remembers errors apart from those before.
 * Pairs may be nested. */
surg__hush surg__hush_begin(surg_context *ctx);
/* Ends that; what was remembered is forgotten. */
void surg__hush_end(surg_context *ctx, surg__hush h);
/* Ends that and reports the first error that was remembered, or `status` where none was: the work
 * as a whole has failed. Returns `status`. */
surg_status surg__hush_fail(surg_context *ctx, surg__hush h, surg_status status);

#endif
