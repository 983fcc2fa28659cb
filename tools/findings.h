/* SPDX-License-Identifier: Apache-2.0 */
/* All findings about one file: from loading it, and from checking the loaded model. */
#ifndef SURG_FINDINGS_H
#define SURG_FINDINGS_H

#include "check/check.h"
#include "cli.h"

typedef struct finding {
  const char *code; /* a code of check/rules.def */
  const char *where, *text, *pass;
  const char *line; /* E001: the complete diagnostic, ready to print */
} finding;

typedef struct findings {
  void (*fn)(void *user, const finding *f);
  void *user;
  uint32_t most;    /* most findings reported; 0: SURG_LIMIT_FINDINGS */
  /* results */
  surg_context *ctx;
  surg_model *m;    /* NULL: the file cannot be loaded as a model */
  bool partial;     /* loading reported errors: m lacks the invalid parts */
  size_t errors, told, hidden;
  /* private */
  char *name;
  const char *code; /* for diagnostics of passes; NULL: use the loader's */
  char *bytes; /* contents of standard input or a pipe, else NULL */
  size_t n_bytes;
} findings;

/* Loads a file ("-": standard input) and reports the findings of the loader. Returns an exit
 * code: EXIT_MODEL if the model is invalid, EXIT_IO or EXIT_LIMIT if it could not be read. */
int findings_open(findings *f, const cli_common *common, const char *path);
/* Runs the checker on the loaded model and reports its findings. */
surg_status findings_look(findings *f);
void findings_close(findings *f);

#endif
