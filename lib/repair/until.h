/* SPDX-License-Identifier: Apache-2.0 */
/* `repair --until CMD`: a search in which an importer decides whether a model is repaired. */
#ifndef SURG_UNTIL_H
#define SURG_UNTIL_H

#include "probe/importer.h"
#include "repair/repair.h"
#include "target/messages.h"

#define SURG__UNTIL_STEPS 24u    /* most changes that are kept */
#define SURG__UNTIL_ASKED 400u   /* most models given to the importer */

/* A change that is kept. */
typedef struct surg__until_step {
  char *pipeline; /* heap */
  char *why;      /* the message that it cures; heap */
  surg__consent needed;
} surg__until_step;

/* A search with an importer: its input, its state and its result. */
typedef struct surg__until {
  surg_context *ctx; /* its diagnostics should be suppressed */
  surg_importer *im;
  const surg__messages *messages;
  const surg__target *target; /* or NULL */
  const char *in;             /* path of the original file */
  const surg_load_options *load;
  surg__consent given;
  const surg__sizes *sizes;       /* sizes that the user gives, or NULL */
  size_t kept;                /* number of leading steps that are never removed: they mend the model
                               * or set sizes */
  surg_model *m;              /* with the cures found so far; owned */
  bool taken, invalid;        /* whether the importer accepts the model, and whether it is invalid:
                               * `mend` could not cure it */
  char *first, *last; /* the importer's messages about the original file and the current model;
                       * heap; NULL: accepted */
  bool known;                 /* whether a known message explains `last` */
  SURG_VEC(surg__until_step) steps;
  SURG_VEC(uint64_t) said;    /* hashes of the messages met */
  SURG_VEC(char *) refused;   /* cures that require more consent; heap */
  surg__consent wanted;
  size_t asked;
  surg_status failure; /* memory ran out or a candidate could not be written: the search ends */
} surg__until;

/* Runs the importer and applies a cure, until the importer accepts the model or no cure helps; then
 * removes changes that were not necessary. SURG_OK unless the model cannot be read, a candidate
 * cannot be written, or the importer cannot be run, which is reported. */
surg_status surg__until_find(surg__until *u);
/* Writes the steps as one pipeline. */
void surg__until_pipeline(const surg__until *u, surg__buf *out);
void surg__until_free(surg__until *u);

#endif
