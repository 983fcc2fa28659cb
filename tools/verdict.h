/* SPDX-License-Identifier: Apache-2.0 */
/* What can be made of a model for an engine: it imports as it is, after an exact repair, after one
 * that takes consent, or not; then what blocks, and where to cut. */
#ifndef SURG_VERDICT_H
#define SURG_VERDICT_H

#include "repair.h"
#include "target/verdict.h"

typedef enum verdict_kind {
  VERDICT_IMPORTS,
  VERDICT_UNKNOWN, /* nothing is refused; of something it is not known */
  VERDICT_EXACT,     /* unsupported; supported after a repair without consent */
  VERDICT_CONSENT,   /* ... after one that needs consent */
  VERDICT_UNCERTAIN, /* ... support after a repair is unknown */
  VERDICT_BLOCKED
} verdict_kind;

typedef struct verdict {
  verdict_kind kind;
  repair_consent needed; /* CONSENT */
  repair_counts before, after;
  char with[96]; /* the text of verdict_repair */
  repair search; /* its model is as far as it can be cured, its pipeline the way there */
} verdict;

/* A context that says nothing: where things are tried that may fail. NULL: out of memory, or wrong
 * --schema; after a line. */
surg_context *quiet_context(const cli_common *common);
/* Where it matters after all: the last error that was kept silent. Returns the status. */
surg_status quiet_tell(surg_context *ctx, surg_status status);

/* A model that a name stands for, in such a context; `bytes` where it cannot be read twice (or
 * NULL). An error has told a line. */
typedef struct quiet_model {
  surg_context *ctx;
  surg_model *m;
} quiet_model;
surg_status quiet_open(quiet_model *q, const cli_common *common, const char *path,
                       const void *bytes, size_t n);
/* The same of a model with defects, which quiet_open refuses. */
surg_status quiet_open_any(quiet_model *q, const cli_common *common, const char *path,
                           const void *bytes, size_t n);
void quiet_close(quiet_model *q);

/* Tries what can be done; the model stays as it is. */
surg_status verdict_find(verdict *v, const surg__target *t, const surg_model *m);
void verdict_free(verdict *v);
surg__verdict verdict_of(const verdict *v); /* on the model as it is */
/* What a repair can do: "exact", "with --allow approx", "unknown", "no"; "" where none is due. Lasts
 * as long as the verdict. */
const char *verdict_repair(const verdict *v);
/* Lines on standard output, with commands; what blocks, and where to cut. */
void verdict_print(const verdict *v, const surg__target *t, const char *target, const char *in);
json_t *verdict_json(const verdict *v, const surg__target *t);

#endif
