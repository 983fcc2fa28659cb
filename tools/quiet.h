/* SPDX-License-Identifier: Apache-2.0 */
/* Contexts that print no diagnostics, for operations that may fail. */
#ifndef SURG_QUIET_H
#define SURG_QUIET_H

#include "cli.h"

/* Creates a context that prints nothing, for attempts that may fail; `beside` (may be NULL) has
 * another model, and both count against the memory limit. Returns NULL after printing an error if
 * memory runs out or a --schema file is invalid. */
surg_context *quiet_context(const cli_common *common, const surg_context *beside);
/* Prints the last error that the context suppressed. Returns `status`. */
surg_status quiet_tell(surg_context *ctx, surg_status status);

/* A model in a quiet context of its own. `bytes` is the content of a file that cannot be read
 * twice, or NULL. Errors of loading are printed. */
typedef struct quiet_model {
  surg_context *ctx;
  surg_model *m;
} quiet_model;
surg_status quiet_open(quiet_model *q, const cli_common *common, const char *path);
/* As quiet_open, which rejects models with defects, but accepts them. */
surg_status quiet_open_any(quiet_model *q, const cli_common *common, const surg_context *beside,
                           const char *path, const void *bytes, size_t n);
void quiet_close(quiet_model *q);

#endif
