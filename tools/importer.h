/* SPDX-License-Identifier: Apache-2.0 */
/* An importer that the user names: does it take a model, and what does it say? */
#ifndef SURG_IMPORTER_H
#define SURG_IMPORTER_H

#include "base/context.h"
#include "child.h"

#define IMPORTER_BATCH 200u    /* files that a command with "{...}" gets at once */
#define IMPORTER_WHY 2000u     /* bytes of a message that are kept */
#define IMPORTER_SECONDS 60u   /* for one run of the command */

typedef struct importer {
  child_command command;
  bool many;
  char *folder; /* where models are put for it; its own */
  int answers;  /* an open file without a name */
  uint64_t runs;
  char *text;   /* what it answered last */
} importer;

/* One question, and its answer. */
typedef struct importer_case {
  const char *file;
  bool taken, asked;
  char *why; /* heap; NULL where it is taken */
} importer_case;

/* Takes a command, or "ort", "opencv" for those that python has. An exit code, after a line. */
int importer_open(importer *im, const char *text);
void importer_close(importer *im);
/* Asks of all cases; false: the command cannot be run at all, after a line. A crash, an exit code
 * that is not 0, and time that is up are refusals. Stops early when *stop (command.stop) is set. */
bool importer_ask(importer *im, importer_case *cases, size_t n);

#endif
