/* SPDX-License-Identifier: Apache-2.0 */
/* `check --target`: reports what an engine does not support. */
#ifndef SURG_CHECK_TARGET_H
#define SURG_CHECK_TARGET_H

#include "check_report.h"
#include "judging.h"

/* Loads a target by name, or from a file (a path that contains '/' or ends in .target). Returns
 * NULL after printing an error, with the exit code in *code. */
surg_target *cli_target(surg_context *ctx, const char *name, int *code);
/* Objections to one model, counted by verdict. check_target adds to the findings of the loader. */
typedef struct target_tally {
  size_t unsupported, misread, unknown; /* misread: imported but changed */
  size_t fed;                           /* of these: other nodes read the results */
  size_t data;                          /* of both: about weights that are not available */
} target_tally;
surg_verdict target_verdict(const target_tally *all);
/* Reports a finding of the loader that check_target does not report as an objection. */
void check_target_finding(report *r, const surg_target *t, const surg_check_finding *f);
/* The verdict for a file of which no model can be made, for a finding with this code. An engine
 * that accepts the finding may reject the model for another reason. */
surg_verdict check_target_unread(const surg_target *t, const char *code);
/* Reports every objection to the model, the verdict, and repairs; `name` is that of the target in
 * their commands, NULL: do not look for repairs. `code`: of the last error of loading, or NULL.
 * Returns SURG_OK or SURG_ENOMEM. */
struct findings;
surg_status check_target(report *r, const surg_target *t, const char *name,
                         const cli_common *common, const struct findings *f, const char *code,
                         target_tally *all);
/* As check_target_unread. The rest of a file of which only a data file is not read is judged, and
 * what the target rejects in it is reported. */
surg_verdict check_target_rest(report *r, const surg_target *t, const cli_common *common,
                               const struct findings *f, const char *code);
/* Prints the support matrix of a model for the targets that the list `words` selects, with repairs
 * if `repairs`. Returns an exit code. */
int check_matrix(surg_context *ctx, const cli_common *common, const judging *how, const char *words,
                 bool repairs, const char *in);

#endif
