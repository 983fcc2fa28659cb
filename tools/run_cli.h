/* SPDX-License-Identifier: Apache-2.0 */
/* What the commands that run models share: engines, budgets, tolerances, and given inputs. */
#ifndef SURG_RUN_CLI_H
#define SURG_RUN_CLI_H

#include "cli.h"
#include "run/run_engine.h"

typedef struct cli_pair {
  const char *name, *text;
} cli_pair;

typedef struct cli_run {
  const char *engines[2]; /* as named; NULL: the built-in one */
  size_t n_engines;
  const char *library; /* of ONNX Runtime; NULL: what the loader finds */
  surg__ort_options ort;
  uint64_t seed, max_bytes, max_work, max_turns;
  surg__tolerance tolerance;
  surg__fill fill;
  bool filled; /* --fill was given: it makes up what a folder of inputs lacks */
  bool bounds; /* --rtol or --atol was given */
  cli_dims dims;
  cli_pair *inputs;
  size_t n_inputs;
  const char *inputs_dir; /* or an .npz file */
} cli_run;

enum {
  OPT_ENGINE = 1100,
  OPT_ORT,
  OPT_ORT_LEVEL,
  OPT_THREADS,
  OPT_FILL,
  OPT_SEED,
  OPT_MAX_BYTES,
  OPT_MAX_WORK,
  OPT_MAX_TURNS,
  OPT_RTOL,
  OPT_ATOL,
  OPT_ULP,
  OPT_SIZE,
  OPT_INPUT,
  OPT_INPUTS
};
#define CLI_RUN_OPTIONS                                                         \
  {"engine", required_argument, NULL, OPT_ENGINE},                              \
      {"ort", required_argument, NULL, OPT_ORT},                                \
      {"ort-optimize", required_argument, NULL, OPT_ORT_LEVEL},                 \
      {"threads", required_argument, NULL, OPT_THREADS},                        \
      {"fill", required_argument, NULL, OPT_FILL},                              \
      {"seed", required_argument, NULL, OPT_SEED},                              \
      {"max-bytes", required_argument, NULL, OPT_MAX_BYTES},                    \
      {"max-work", required_argument, NULL, OPT_MAX_WORK},                      \
      {"max-turns", required_argument, NULL, OPT_MAX_TURNS},                    \
      {"rtol", required_argument, NULL, OPT_RTOL},                              \
      {"atol", required_argument, NULL, OPT_ATOL},                              \
      {"ulp", required_argument, NULL, OPT_ULP},                                \
      {"dim", required_argument, NULL, OPT_SIZE},                               \
      {"input", required_argument, NULL, OPT_INPUT}, {                          \
    "inputs", required_argument, NULL, OPT_INPUTS                               \
  }
#define CLI_INPUT_HELP                                                             \
  "  --input NAME=FILE   read an input from .npy, .npz or TensorProto (.pb);\n" \
  "                      repeatable\n" \
  "  --inputs DIR        read input_0.pb (or .npy), input_1.pb ... in the order of\n" \
  "                      the model's inputs; or an .npz file, by name\n"
#define CLI_FILL_HELP                                                            \
  "  --fill WORD         content of other inputs: random (default), zeros, ones,\n" \
  "                      arange, adversarial\n" \
  "  --seed N            seed of random inputs and random operators (1)\n" \
  "  --dim NAME=N        size of a symbolic dimension (2)\n"
#define CLI_ENGINE_HELP                                                            \
  "  --engine WORD       builtin (default), or ort: ONNX Runtime, if its library is\n" \
  "                      found\n"                                                  \
  "  --ort PATH          path of libonnxruntime.so (default: from the loader)\n" \
  "  --ort-optimize WORD optimization level: none, basic, extended, all (default)\n" \
  "  --threads N         threads of ONNX Runtime (1)\n"
#define CLI_BUDGET_HELP(turns)                                                     \
  "  --max-bytes N       limit for the results of one node (4GiB)\n"               \
  "  --max-work N        limit for the operations of a run (2^42)\n"               \
  "  --max-turns N       limit for the iterations of all loops (" turns ")\n"      \
  "  --timeout SECONDS   time limit for all runs; checked between nodes\n"

void cli_run_init(cli_run *r);
void cli_run_free(cli_run *r);
/* Takes an option of the table above. */
int cli_run_option(cli_run *r, int option, char *argument);

/* The engine that was named k-th, opened; EXIT_DONE, or another code after a line. */
int cli_engine_open(const cli_run *r, const cli_common *c, surg_context *ctx, size_t k,
                    surg__engine *out);
void cli_engine_close(surg__engine *e);

/* Inputs of a model, of which some were given. */
typedef struct cli_values {
  surg_context *ctx;
  surg_model *m;
  surg__array *in;
  bool *given;
  size_t n;
} cli_values;
/* Loads what was given, and looks whether dims that were given are there. With a folder or archive
 * an input that it lacks, and that has no default, is a fault, unless `lacks`, or what it is filled
 * with was asked for. EXIT_DONE, or another code after a line; cli_values_free either way. */
int cli_values_load(const cli_run *r, surg_model *m, bool lacks, cli_values *out);
/* What makes up the inputs that are not given. `r` must outlive it. */
surg__maker cli_maker(cli_run *r);
void cli_values_free(cli_values *v);
/* "DIR/stem_i.pb" or .npy, a heap string; NULL: neither is there. */
char *cli_numbered(const char *dir, const char *stem, size_t i);
/* EXIT_MODEL after a line when the folder holds stem_k.pb or .npy with k at or above n, so that it
 * belongs to another model. EXIT_IO: it is no folder. */
int cli_check_numbered(const surg_model *m, const char *dir, const char *stem, size_t n);
/* Writes bytes as a file, or leaves what was there: EXIT_DONE, or another code after a line. */
int cli_write_bytes(const char *path, const void *bytes, size_t n);
int cli_write_file(const char *path, const surg__buf *b);
/* "model.onnx: error: why", for a run that failed; its exit code. */
int cli_run_failed(const surg_model *m, const surg__exec *r, surg_status status, const char *hint);
/* "[2, 3]" and its like, as JSON; what is no tensor has its kind as type. */
json_t *cli_value_json(const char *name, const surg__array *a, uint64_t most);

#endif
