/* SPDX-License-Identifier: Apache-2.0 */
/* The main form in parts: options, the run (surgery.c), and the report. */
#ifndef SURG_SURGERY_H
#define SURG_SURGERY_H

#include "pass_form.h"

typedef struct surgery {
  cli_common common;
  pass_form *form; /* NULL: the main form, not a pass as a command */
  surg_save_options save;
  surg_run_options run;
  cli_words outputs, keep, dims, shapes, ranges, skip, print_after, rules, opsets;
  cli_words assumed; /* arguments of --dim that do not fix a size */
  const char *pipeline, *pipeline_where, *out_dir;
  char *pipeline_text; /* from --pass-file, or built here */
  const char *ir;      /* argument of --ir */
  bool check;          /* --check is given, with this number of seeds */
  uint32_t seeds;
  bool in_place, print_pipeline, stats, time, record;
} surgery;

/* Names of inputs or outputs; owns its strings. */
typedef struct interface_names {
  char **items;
  size_t n;
} interface_names;

/* The result for one model. */
typedef struct outcome {
  interface_names inputs[2], outputs[2]; /* [0] before, [1] after */
  const char *in, *out;
  surg_model *original; /* the model before the run, if a summary or JSON is printed; else NULL */
  cli_stats before, after;
  uint64_t bytes_before, bytes_after;
  surg_run_report *report;
  surg_run_summary run;
  surg_growth growth; /* what a budget would win */
  bool check;
} outcome;

/* --- surgery_options.c --- */
extern const struct option surgery_table[];
/* As cli_options, but may remove words from the arguments. The caller calls surgery_free in any
 * case. */
bool surgery_options(surgery *j, int *argc, char **argv, int *code);
void surgery_free(surgery *j);

/* --- surgery_interface.c --- */
/* Collects the names of the inputs that a caller provides, or of the outputs. False: out of
 * memory. */
bool interface_read(const surg_model *m, bool outputs, interface_names *to);
void interface_free(interface_names *names);
/* Print the inputs and outputs that were added, removed or renamed, as text and as JSON. */
void interface_print(FILE *f, const outcome *o);
json_t *interface_json(const outcome *o);

/* --- surgery_report.c --- */
/* Whether a summary is printed. Counting operators costs time on large models. */
bool surgery_tells(const surgery *j);
void surgery_report(const surgery *j, surg_context *ctx, const outcome *o);

#endif
