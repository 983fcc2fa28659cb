/* SPDX-License-Identifier: Apache-2.0 */
/* An importer: a command of the user that accepts or rejects model files and prints a message. */
#ifndef SURG_PROBE_IMPORTER_H
#define SURG_PROBE_IMPORTER_H

#include <onnxsurg/command.h>
#include <onnxsurg/onnxsurg.h>

#include "base/child.h"

#define SURG__IMPORTER_BATCH 200u          /* most files in one run of a command with "{...}" */
#define SURG__IMPORTER_WHY 2000u           /* most bytes of a message that are kept */
#define SURG__IMPORTER_DIFFERS "differs: " /* precedes what a command says of wrong results */
#define SURG__COMMAND_SECONDS 60u          /* default limit of one run of a command */

struct surg_command {
  surg_context *ctx;
  surg__child child;
};

struct surg_importer {
  surg_context *ctx;
  surg__child child;
  bool many;    /* the command accepts several files in one run */
  char *folder; /* temporary folder for models; removed by surg_importer_free */
  int answers;  /* descriptor of an unlinked file that receives its output */
  bool outputs; /* the command may answer SURG__IMPORTER_DIFFERS */
  char *text;   /* the output of the last run */
  char *why;    /* the message of the last surg_importer_ask */
  uint64_t runs;
};

/* A file to ask about, and the answer. */
typedef struct surg__importer_case {
  const char *file;
  bool taken, asked;
  bool differs; /* accepted, and computed differently: `why` is what differs */
  char *why;    /* heap; NULL if the file is accepted and computed as expected */
} surg__importer_case;

/* Sets the limits and the cancel function of a command; `options` may be NULL. */
void surg__command_limits(surg__child *c, const surg_command_options *options);
/* Sets the words of a command from text. SURG_EUSAGE, reported: it is invalid. */
surg_status surg__command_words(surg_context *ctx, surg__child *c, const char *text);
/* Reports that a command cannot be started, and returns SURG_EUSAGE. */
surg_status surg__command_missing(surg_context *ctx, const surg__child *c);
/* The text of npm.cjs. */
extern const char surg__npm_script[];
/* Sets the words of the command that asks PACKAGE@VERSION of npm. SURG_EUSAGE, reported: `spec` is
 * none. */
surg_status surg__npm_command(surg_context *ctx, surg__child *c, const char *spec);
/* Installs the package into the user's cache unless it is there. SURG_EUSAGE, reported. */
surg_status surg__npm_install(surg_importer *im, const char *spec);
/* Runs the command on n files; its output is the text of `im`, and *code its exit code, below 0 if
 * it cannot run. */
surg_status surg__importer_run(surg_importer *im, const char *const *files, size_t n, int *code);
/* Runs the importer on all cases. A crash, a nonzero exit code and a timeout are rejections. Stops
 * when cancelled: `asked` of the remaining cases is false. SURG_EUSAGE, reported: the command
 * cannot be run, or prints no answers. */
surg_status surg__importer_ask(surg_importer *im, surg__importer_case *cases, size_t n);

#endif
