/* SPDX-License-Identifier: Apache-2.0 */
/* How `check` tells its findings: lines, JSON or SARIF. */
#ifndef SURG_CHECK_REPORT_H
#define SURG_CHECK_REPORT_H

#include "check/check.h"
#include "cli.h"

typedef enum form { FORM_TEXT, FORM_JSON, FORM_SARIF } form;

/* All files of a run. */
typedef struct output {
  form form;
  bool quiet;
  uint32_t most; /* findings of a file that are shown */
  json_t *list;  /* of files (JSON) or results (SARIF) */
} output;

/* One file. */
typedef struct report {
  output *out;
  const char *path;
  char *name;       /* the path as the loader spells it; NULL: unknown */
  size_t counts[3]; /* by severity */
  size_t shown, hidden;
  json_t *list; /* of its findings; NULL: text */
  json_t *target; /* the verdict on an engine; NULL: not asked for */
  const char *verdict; /* of the engine in a word; NULL: not asked for */
  json_t *mend; /* what `mend` makes of the model; NULL: nothing to be cured */
} report;

void output_start(output *o);
void output_finish(output *o, int code);
void report_start(report *r, output *o, const char *path);
void report_finish(report *r, int code);
/* `text` NULL: counted alone. */
void report_show(report *r, const char *code, const char *where, const char *text,
                 const char *pass);
/* The same with another severity than the code has: what a target accepts is a warning. */
void report_show_as(report *r, surg_severity severity, const char *code, const char *where,
                    const char *text, const char *pass);
/* Whether findings are gathered for a list, rather than printed as they come. */
bool report_lines(const report *r);

#endif
