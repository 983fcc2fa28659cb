/* SPDX-License-Identifier: Apache-2.0 */
/* Private to `onnxsurg run`. */
#ifndef SURG_RUN_JOB_H
#define SURG_RUN_JOB_H

#include "run_cli.h"

#define SHOWN 16 /* most elements printed of an output */

/* The times of a node or of the whole run, one per run, in nanoseconds. Sorted before printing. */
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
  surg_manifest *parts; /* of a manifest, which `m` is the merged model of; or NULL */
  surg_graph *g;
  surg_engine *engine;
  surg_session *session;
  surg_inputs *inputs;
  surg_array **result;
  size_t n_out, own_out; /* own_out: outputs without those of --all */
  series total, *nodes;
  size_t n_nodes, turn; /* turn: of the node of the main graph that is measured next */
  json_t *json;         /* NULL: print text */
} run_job;

/* --- run_outputs.c: return EXIT_DONE, or another exit code after printing an error --- */
void run_print(const run_job *j);
/* Checks that no two outputs have the same file name. */
int run_check_files(const run_job *j);
int run_write(const run_job *j);
int run_compare(const run_job *j);

/* --- run_times.c --- */
/* Runs the model --warmup times without measuring, then --repeat times with. */
int run_time(run_job *j);
void run_print_times(run_job *j);
void run_free_times(run_job *j);

#endif
