/* SPDX-License-Identifier: Apache-2.0 */
/* Inside `onnxsurg run`. */
#ifndef SURG_RUN_JOB_H
#define SURG_RUN_JOB_H

#include "run_cli.h"

#define SHOWN 16 /* elements of an output that are printed */

/* Times of one thing over all runs, in nanoseconds; sorted when they are told. */
typedef struct series {
  const surg_node *node; /* NULL: the whole run */
  uint64_t *ns;
  size_t n;
} series;

typedef struct run_job {
  cli_common common;
  cli_run how;
  const char *expect, *out, *format;
  bool all, per_node, warmed;
  uint64_t repeat, warmup;
  surg_context *ctx;
  surg_model *m;
  surg_graph *g;
  surg__engine engine;
  surg__exec runner;
  cli_values values;
  surg__array *result;
  size_t n_out, own_out; /* own_out: without what --all added */
  series total, *nodes;
  size_t n_nodes;
  uint64_t started;
  json_t *json; /* NULL: text */
} run_job;

/* --- run_outputs.c: EXIT_DONE, or another code after a line --- */
void run_print(const run_job *j);
/* Whether each output has a file of its own. */
int run_check_files(const run_job *j);
int run_write(const run_job *j);
int run_compare(const run_job *j);

/* --- run_times.c --- */
/* Runs again, --warmup times unmeasured and --repeat times measured. */
int run_time(run_job *j);
void run_print_times(run_job *j);
void run_free_times(run_job *j);

#endif
