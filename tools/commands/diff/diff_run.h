/* SPDX-License-Identifier: Apache-2.0 */
/* `diff --run`: runs both models on the same inputs with all values kept, and finds the first value
 * that differs, in the order of the nodes of the first model. */
#ifndef SURG_TOOLS_DIFF_RUN_H
#define SURG_TOOLS_DIFF_RUN_H

#include <onnxsurg/diff.h>

#include "run/run_cli.h"

typedef struct diff_runs {
  const char *why;        /* why nothing was compared; NULL: something was */
  char reason[300];       /* what `why` points to, if the text is not constant */
  size_t compared, equal; /* values that both models have; those that agree up to the first other */
  bool found;
  const surg_value *value[2]; /* the first value that differs */
  bool same_inputs;           /* all inputs of the node agree: it computes something else */
  surg_distance distance;
} diff_runs;

/* Values are paired as by the difference d, else by name. Returns EXIT_DONE whatever was found, or
 * another exit code after printing an error. */
int diff_run(surg_context *ctx, surg_model *const m[2], const surg_diff *d, const cli_run *how,
             const cli_common *common, diff_runs *out);
/* Prints what was found as lines of text, or makes JSON of it. */
void diff_run_print(const diff_runs *r);
json_t *diff_run_json(const diff_runs *r);

#endif
