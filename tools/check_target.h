/* SPDX-License-Identifier: Apache-2.0 */
/* `check --target`: what an engine does not take, as findings. */
#ifndef SURG_CHECK_TARGET_H
#define SURG_CHECK_TARGET_H

#include "check_report.h"
#include "judging.h"

/* A target by name, or from a file (a path with a '/' or that ends in .target); NULL after a line,
 * *code set. */
surg_target *cli_target(surg_context *ctx, const char *name, int *code);
/* The verdict on one model: what loading found comes first, then check_target. */
typedef struct target_tally {
  size_t unsupported, misread, unknown; /* objections; misread: of the unsupported ones */
} target_tally;
surg_verdict target_verdict(const target_tally *all);
/* Shows a finding of the loader that is not among the objections of check_target. */
struct finding;
void check_target_finding(report *r, const surg_target *t, const struct finding *f);
/* Reports every objection to the model, and the verdict; SURG_OK unless memory ran out. */
struct findings;
surg_status check_target(report *r, const surg_target *t, const char *name,
                         const cli_common *common, const struct findings *f, target_tally *all);
/* The matrix of a model and the targets that `words` stand for; an exit code. */
int check_matrix(surg_context *ctx, const cli_common *common, const judging *how, const char *words,
                 const char *in);

#endif
