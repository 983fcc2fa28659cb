/* SPDX-License-Identifier: Apache-2.0 */
/* The main form, in parts: what was asked for, the run (cmd_surgery.c), what is told of it. */
#ifndef SURG_SURGERY_H
#define SURG_SURGERY_H

#include "pass/pass.h"
#include "pass_form.h"

typedef struct surgery {
  cli_common common;
  pass_form *form; /* NULL: the main form itself */
  surg_save_options save;
  surg__run_options run;
  cli_words outputs, keep, dims, shapes, ranges, skip, print_after, plugins, rules, opsets;
  cli_words assumed; /* of dims, those that are not fixed */
  const char *pipeline, *pipeline_where, *out_dir;
  char *pipeline_text; /* of --pass-file, or made for --opset */
  const char *ir;      /* of --ir */
  bool check;
  surg__proof_options proof;
  bool in_place, print_pipeline, stats, time, record;
} surgery;

/* Names of inputs or outputs: copies. */
typedef struct interface_names {
  char **items;
  size_t n;
} interface_names;

/* What became of one model. */
typedef struct outcome {
  interface_names inputs[2], outputs[2]; /* before and after */
  const char *in, *out;
  cli_stats before, after;
  uint64_t bytes_before, bytes_after;
  surg__run_report report;
  surg__proof proof;
  bool check;
} outcome;

/* --- surgery_options.c --- */
extern const struct option surgery_table[];
/* As cli_options, which may take words out of the arguments; surgery_free either way. */
bool surgery_options(surgery *j, int *argc, char **argv, int *code);
void surgery_free(surgery *j);

/* --- surgery_interface.c --- */
/* Names of the inputs that a caller gives, or of the outputs; false: out of memory. */
bool interface_read(const surg_model *m, bool outputs, interface_names *to);
void interface_free(interface_names *names);
/* What was added, removed and renamed: lines of the summary, and lists of JSON. */
void interface_print(FILE *f, const outcome *o);
json_t *interface_json(const outcome *o);

/* --- surgery_report.c --- */
/* Whether anybody will read a summary; counting operators costs time on large models. */
bool surgery_tells(const surgery *j);
void surgery_report(const surgery *j, surg_context *ctx, const outcome *o);

#endif
