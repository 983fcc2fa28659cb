/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the commands that run models: engines, budgets, tolerances, and given inputs. */
#ifndef SURG_RUN_CLI_H
#define SURG_RUN_CLI_H

#include <onnxsurg/compare.h>

#include <onnxsurg/split.h>

#include "cli.h"

typedef struct cli_pair {
  const char *name, *text;
} cli_pair;

typedef struct cli_run {
  const char *engines[2]; /* names; NULL: the built-in one */
  size_t n_engines;
  surg_engine_options engine; /* of both */
  uint64_t seed;
  surg_tolerance tolerance;
  int32_t fill; /* a surg_fill */
  bool filled;  /* --fill was given: generate inputs that the folder lacks */
  bool bounds;  /* --rtol or --atol was given */
  cli_dims dims;
  cli_fixed fixed; /* --input-shape */
  cli_pair *inputs;
  size_t n_inputs;
  const char *inputs_dir; /* a folder or an .npz file */
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
#define CLI_RUN_OPTIONS                                                                         \
  {"engine", required_argument, NULL, OPT_ENGINE}, {"ort", required_argument, NULL, OPT_ORT},   \
      {"ort-optimize", required_argument, NULL, OPT_ORT_LEVEL},                                 \
      {"threads", required_argument, NULL, OPT_THREADS},                                        \
      {"fill", required_argument, NULL, OPT_FILL}, {"seed", required_argument, NULL, OPT_SEED}, \
      {"max-bytes", required_argument, NULL, OPT_MAX_BYTES},                                    \
      {"max-work", required_argument, NULL, OPT_MAX_WORK},                                      \
      {"max-turns", required_argument, NULL, OPT_MAX_TURNS},                                    \
      {"rtol", required_argument, NULL, OPT_RTOL}, {"atol", required_argument, NULL, OPT_ATOL}, \
      {"ulp", required_argument, NULL, OPT_ULP}, {"dim", required_argument, NULL, OPT_SIZE},    \
      CLI_SHAPE_OPTION, {"input", required_argument, NULL, OPT_INPUT}, {                        \
    "inputs", required_argument, NULL, OPT_INPUTS                                               \
  }
#define CLI_INPUT_HELP                                                                \
  "  --input NAME=FILE   read an input from .npy, .npz or TensorProto (.pb);\n"       \
  "                      repeatable\n"                                                \
  "  --inputs DIR        read input_0.pb (or .npy), input_1.pb ... in the order of\n" \
  "                      the model's inputs; or an .npz file, by name\n"
#define CLI_FILL_HELP                                                               \
  "  --fill WORD         content of other inputs: random (default), zeros, ones,\n" \
  "                      arange, adversarial\n"                                     \
  "  --seed N            seed of random inputs and random operators (1)\n"          \
  "  --dim NAME=N        size of a symbolic dimension (2)\n" CLI_SHAPE_HELP
#define CLI_ENGINE_HELP                                                                \
  "  --engine WORD       builtin (default), or ort: ONNX Runtime, if its library is\n" \
  "                      found\n"                                                      \
  "  --ort PATH          path of libonnxruntime.so (default: from the loader)\n"       \
  "  --ort-optimize WORD optimization level: none, basic, extended, all (default)\n"   \
  "  --threads N         threads of ONNX Runtime (1)\n"
#define CLI_BUDGET_HELP(turns)                                          \
  "  --max-bytes N       limit for the results of one node (4GiB)\n"    \
  "  --max-work N        limit for the operations of a run (2^42)\n"    \
  "  --max-turns N       limit for the iterations of all loops (" turns \
  ")\n"                                                                 \
  "  --timeout SECONDS   time limit of the command\n"

void cli_run_init(cli_run *r);
void cli_run_free(cli_run *r);
/* Applies an option of the table above. */
int cli_run_option(cli_run *r, int option, char *argument);

/* Opens the k-th engine given. Returns EXIT_DONE, or another exit code after printing an error. */
int cli_engine_open(const cli_run *r, const cli_common *c, surg_context *ctx, size_t k,
                    surg_engine **out);

/* Loads a model, or the parts of a manifest, which are *parts (else NULL), and merges them. The
 * caller frees *m, then *parts. */
surg_status cli_load_parts(surg_context *ctx, const cli_common *common, const char *path,
                           surg_manifest **parts, surg_model **m);

/* Loads the given inputs, and checks that the symbols of --dim exist in the model. An input that
 * the folder or archive lacks and that has no default is an error, unless `lacks` is true or
 * --fill was given. Returns EXIT_DONE, or another exit code after printing an error. */
int cli_inputs_load(const cli_run *r, surg_model *m, bool lacks, surg_inputs **out);
/* Prints "model.onnx: error: REASON" for a run that failed. Returns its exit code. */
int cli_run_failed(const surg_model *m, const surg_session *s, surg_status status,
                   const char *hint);
/* A value as JSON, with at most `most` elements. The type of a value that is not a tensor is its
 * kind. */
json_t *cli_value_json(const char *name, const surg_array *a, uint64_t most);

#endif
