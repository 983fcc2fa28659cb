/* SPDX-License-Identifier: Apache-2.0 */
/* What repairs can achieve for a model and an engine, as printed by `check --target`, `check
 * --targets` and `doctor`. */
#ifndef SURG_VERDICT_H
#define SURG_VERDICT_H

#include <onnxsurg/repair.h>

#include "cli.h"

typedef struct verdict {
  surg_assessment kind;
  const surg_repair *found;  /* the repair, as far as it was possible */
  surg_repair *own;          /* the same, if the verdict owns it */
  surg_repair_result result; /* its result; texts belong to `found` */
  char with[96];             /* text of verdict_repair */
} verdict;

/* Tries to repair a copy of the model. */
surg_status verdict_find(verdict *v, const surg_target *t, const surg_model *m);
/* A verdict about a search that was made before; it stays the caller's. */
void verdict_borrow(verdict *v, surg_assessment kind, const surg_repair *found);
void verdict_free(verdict *v);
surg_verdict verdict_of(const verdict *v); /* for the model unchanged */
/* The same for the model with the data of all its weights, where some are not available here. */
surg_verdict verdict_with_data(const verdict *v);
/* The result of a repair: "exact", "with --allow approx", "unknown", "no"; "" if none is needed.
 * Valid as long as the verdict. */
const char *verdict_repair(const verdict *v);
/* Prints the verdict on standard output: commands to run, what blocks, and where to split the
 * model. */
void verdict_print(const verdict *v, const surg_target *t, const char *target, const char *in);
/* Prints where to split the model of an unsuccessful repair, with the commands that do. */
void verdict_print_cut(FILE *out, const verdict *v, const surg_target *t, const char *target,
                       const char *in);
/* The same as an object; NULL: there is no cut. */
json_t *verdict_cut_json(const verdict *v, const surg_target *t);
json_t *verdict_json(const verdict *v, const surg_target *t);

#endif
