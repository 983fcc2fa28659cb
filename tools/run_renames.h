/* SPDX-License-Identifier: Apache-2.0 */
/* Which values a run renamed, from its log. */
#ifndef SURG_RUN_RENAMES_H
#define SURG_RUN_RENAMES_H

#include <onnxsurg/onnxsurg.h>

typedef struct cli_renames {
  surg_context *ctx;
  struct rename *first; /* hashed by what values were called before the run */
} cli_renames;

/* EXIT_DONE, or another code after a line. */
int cli_renames_load(surg_context *ctx, const char *path, cli_renames *out);
void cli_renames_free(cli_renames *r);
/* What a value is called after the run; itself where it kept its name. */
const char *cli_renamed(const void *renames, const char *name);

#endif
