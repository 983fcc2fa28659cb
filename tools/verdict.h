/* SPDX-License-Identifier: Apache-2.0 */
/* What can be made of a model for an engine, as `check --target`, `check --targets` and `doctor`
 * print it. */
#ifndef SURG_VERDICT_H
#define SURG_VERDICT_H

#include <onnxsurg/repair.h>

#include "cli.h"

typedef struct verdict {
  surg_assessment kind;
  surg_repair *found;        /* as far as the model can be cured */
  surg_repair_result result; /* of it; its texts belong to `found` */
  char with[96];             /* the text of verdict_repair */
} verdict;

/* Tries what can be done; the model stays as it is. */
surg_status verdict_find(verdict *v, const surg_target *t, const surg_model *m);
void verdict_free(verdict *v);
surg_verdict verdict_of(const verdict *v); /* on the model as it is */
/* What a repair can do: "exact", "with --allow approx", "unknown", "no"; "" where none is due.
 * Lasts as long as the verdict. */
const char *verdict_repair(const verdict *v);
/* Lines on standard output, with commands; what blocks, and where to cut. */
void verdict_print(const verdict *v, const surg_target *t, const char *target, const char *in);
json_t *verdict_json(const verdict *v, const surg_target *t);

#endif
