/* SPDX-License-Identifier: Apache-2.0 */
/* Contexts that print nothing, for what may fail. */
#ifndef SURG_QUIET_H
#define SURG_QUIET_H

#include "cli.h"

/* A context that says nothing: where things are tried that may fail. NULL: out of memory, or wrong
 * --schema; after a line. */
surg_context *quiet_context(const cli_common *common);
/* Where it matters after all: the last error that was kept silent. Returns the status. */
surg_status quiet_tell(surg_context *ctx, surg_status status);

/* A model that a name stands for, in such a context; `bytes` where it cannot be read twice (or
 * NULL). An error has told a line. */
typedef struct quiet_model {
  surg_context *ctx;
  surg_model *m;
} quiet_model;
surg_status quiet_open(quiet_model *q, const cli_common *common, const char *path,
                       const void *bytes, size_t n);
/* The same of a model with defects, which quiet_open refuses. */
surg_status quiet_open_any(quiet_model *q, const cli_common *common, const char *path,
                           const void *bytes, size_t n);
void quiet_close(quiet_model *q);

#endif
