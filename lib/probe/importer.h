/* SPDX-License-Identifier: Apache-2.0 */
/* An importer: a program of the user that accepts or rejects models, with a message. */
#ifndef SURG_PROBE_IMPORTER_H
#define SURG_PROBE_IMPORTER_H

#include <onnxsurg/command.h>
#include <onnxsurg/onnxsurg.h>

#include "base/child.h"

#define SURG__IMPORTER_BATCH 200u /* files that a command with "{...}" gets at once */
#define SURG__IMPORTER_WHY 2000u  /* bytes of a message that are kept */
#define SURG__COMMAND_SECONDS 60u /* for one run of a command, unless options say more */

struct surg_command {
  surg_context *ctx;
  surg__child child;
};

struct surg_importer {
  surg_context *ctx;
  surg__child child;
  bool many;    /* the command gets several files at once */
  char *folder; /* where models are put for it; removed with it */
  int answers;  /* an open file without a name: its output */
  char *text;   /* the output of the last run */
  char *why;    /* the message of the last surg_importer_ask */
  uint64_t runs;
};

/* One question, and its answer. */
typedef struct surg__importer_case {
  const char *file;
  bool taken, asked;
  char *why; /* heap; NULL where the file is accepted */
} surg__importer_case;

/* Puts limits and cancel of `options` (or NULL) and the words of `text` into a command. Reported.
 */
surg_status surg__command_set(surg_context *ctx, surg__child *c, const char *text,
                              const surg_command_options *options);
/* Reports that a command cannot be started: SURG_EUSAGE. */
surg_status surg__command_missing(surg_context *ctx, const surg__child *c);
/* Asks about all cases. A crash, an exit code other than 0 and time that is up are rejections.
 * Stops early when cancelled: the remaining cases are not `asked`. SURG_EUSAGE, reported: the
 * command cannot be run, or prints no answers. */
surg_status surg__importer_ask(surg_importer *im, surg__importer_case *cases, size_t n);

#endif
