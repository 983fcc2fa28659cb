/* SPDX-License-Identifier: Apache-2.0 */
/* `diff --log`: which pass and rule of a logged run made a difference. */
#ifndef SURG_TOOLS_DIFF_LOG_H
#define SURG_TOOLS_DIFF_LOG_H

#include <onnxsurg/diff.h>

#include "cli.h"

/* For each name, in the first model (gone) or the second (made): what removed, made or changed it.
 * Keys are "GRAPH NAME"; NULL members: no log. */
typedef struct diff_log {
  json_t *gone, *made, *nodes;
} diff_log;

/* Reads a log of `onnxsurg --log`. Returns EXIT_DONE, or another exit code after an error. */
int diff_log_load(diff_log *log, const char *path);
void diff_log_free(diff_log *log);
/* "fold", or "rewrite: RULE"; NULL: the log does not say it. Borrowed. */
const char *diff_log_of(const diff_log *log, const surg_diff_item *item);

#endif
