/* SPDX-License-Identifier: Apache-2.0 */
/* The names that a run changed, read from its log. */
#ifndef SURG_RUN_RENAMES_H
#define SURG_RUN_RENAMES_H

#include <onnxsurg/onnxsurg.h>

typedef struct cli_renames {
  surg_context *ctx;
  struct rename *first; /* hashed by the name before the run */
} cli_renames;

/* Reads the log. Returns EXIT_DONE, or another exit code after printing an error. */
int cli_renames_load(surg_context *ctx, const char *path, cli_renames *out);
void cli_renames_free(cli_renames *r);
/* The name of a value after the run; `name` itself if unchanged. */
const char *cli_renamed(const void *renames, const char *name);

#endif
