/* SPDX-License-Identifier: Apache-2.0 */
/* Output of `check`: prints findings as text lines, JSON or SARIF. */
#ifndef SURG_CHECK_REPORT_H
#define SURG_CHECK_REPORT_H

#include <onnxsurg/check.h>

#include "cli.h"

typedef enum form { FORM_TEXT, FORM_JSON, FORM_SARIF } form;

/* The output of a run: shared by the reports of all its files. */
typedef struct output {
  form form;
  bool quiet;
  uint32_t most; /* most findings printed per file */
  json_t *list;  /* of files (JSON) or results (SARIF) */
} output;

/* The report on one file. */
typedef struct report {
  output *out;
  const char *path;
  size_t counts[3]; /* indexed by surg_severity */
  size_t shown, hidden;
  json_t *list;          /* its findings; NULL: printed as text */
  json_t *target;        /* verdict for the target; NULL: no target given */
  const char *verdict;   /* name of that verdict; NULL: no target given */
  const char *with_data; /* the same with the data of all weights; NULL: it is available */
  json_t *mend;          /* result of trying `mend`; NULL: not tried */
} report;

void output_start(output *o);
void output_finish(output *o, int code);
void report_start(report *r, output *o, const char *path);
void report_finish(report *r, int code);
/* Reports a finding. A finding whose `text` is NULL is only counted. */
void report_show(report *r, const char *code, const char *where, const char *text,
                 const char *pass);
/* As report_show, with another severity than the default of the code: an invalid construct that
 * the target accepts is a warning. */
void report_show_as(report *r, surg_severity severity, const char *code, const char *where,
                    const char *text, const char *pass);
/* Whether findings are collected into a JSON or SARIF list instead of being printed one by one. */
bool report_lines(const report *r);

#endif
