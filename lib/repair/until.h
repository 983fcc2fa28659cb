/* SPDX-License-Identifier: Apache-2.0 */
/* `repair --until CMD`: an importer decides whether a model is repaired. */
#ifndef SURG_UNTIL_H
#define SURG_UNTIL_H

#include "probe/importer.h"
#include "repair/repair.h"
#include "target/messages.h"

#define SURG__UNTIL_STEPS 24u    /* changes that stay */
#define SURG__UNTIL_ASKED 400u   /* models that are given to the importer */

typedef struct surg__until_step {
  char *pipeline; /* heap */
  char *why;      /* the message that it answers, heap */
  surg__consent needed;
} surg__until_step;

typedef struct surg__until {
  surg_context *ctx; /* its lines go nowhere */
  surg_importer *im;
  const surg__messages *messages;
  const surg__target *target; /* NULL: none was named */
  const char *in;             /* the file as it is */
  const surg_load_options *load;
  surg__consent given;
  const surg__sizes *sizes;       /* sizes that the user gives, or NULL */
  size_t kept;                /* the first steps, which stay: they mend the model, give sizes */
  surg_model *m;              /* as far as it is cured; owned */
  bool taken, invalid;        /* invalid: it stays so after `mend` */
  char *first, *last; /* what the importer said of IN, and last; heap; NULL where it took it */
  bool known;                 /* whether the last message is */
  SURG_VEC(surg__until_step) steps;
  SURG_VEC(uint64_t) said;    /* hashes of messages that were met */
  SURG_VEC(char *) refused;   /* cures that take consent; heap */
  surg__consent wanted;
  size_t asked;
  surg_status failure; /* a candidate could not be written or held in memory: the search ends */
} surg__until;

/* Asks, cures, asks again, until the model is taken or nothing helps; then leaves out what was not
 * needed. SURG_OK unless the model cannot be read, a candidate not be written,
 * or the importer not be run; then a line says so. */
surg_status surg__until_find(surg__until *u);
/* The steps as one pipeline. */
void surg__until_pipeline(const surg__until *u, surg__buf *out);
void surg__until_free(surg__until *u);

#endif
