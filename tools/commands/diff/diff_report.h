/* SPDX-License-Identifier: Apache-2.0 */
/* A difference of two models as text, JSON, SARIF and HTML. */
#ifndef SURG_TOOLS_DIFF_REPORT_H
#define SURG_TOOLS_DIFF_REPORT_H

#include <onnxsurg/diff.h>

#include "diff_log.h"

typedef struct diff_view {
  const surg_diff *diff;
  const char *paths[2];
  bool names, remarks; /* list items of these levels */
  uint64_t most;       /* differences that a text lists */
  diff_log log;        /* what made them */
  json_t *patch;       /* for the JSON; or NULL */
} diff_view;

/* Names of kinds, changes and levels in JSON; NULL for other numbers. */
const char *diff_kind_name(int32_t kind);
const char *diff_level_name(int32_t level);
/* Print on standard output; `more` (may be NULL) is added to the object and released. */
void diff_print_text(const diff_view *v);
void diff_print_json(const diff_view *v, json_t *more);
void diff_print_sarif(const diff_view *v, int code);
/* Writes one HTML file without references. Returns EXIT_DONE, or another exit code after printing
 * an error. */
int diff_write_html(const diff_view *v, const char *path);

#endif
