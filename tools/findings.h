/* SPDX-License-Identifier: Apache-2.0 */
/* Everything that is found about one file: by loading it, and by looking into what loaded. */
#ifndef SURG_FINDINGS_H
#define SURG_FINDINGS_H

#include "check/check.h"
#include "cli.h"

typedef struct finding {
  const char *code; /* of check/rules.def */
  const char *where, *text, *pass;
  const char *line; /* E001: the whole line, as it would be printed */
} finding;

typedef struct findings {
  void (*fn)(void *user, const finding *f);
  void *user;
  uint32_t most;    /* that are told in full; 0: SURG_LIMIT_FINDINGS */
  /* what came of it */
  surg_context *ctx;
  surg_model *m;    /* NULL: it does not load far enough to look at */
  bool partial;     /* loading met errors: m is what was left */
  size_t errors, told, hidden;
  /* inside */
  char *name;
  const char *code; /* of what is heard from passes; NULL: the loader's */
  char *bytes; /* of standard input or a pipe, which cannot be read again */
  size_t n_bytes;
} findings;

/* Loads a file ("-": standard input), and tells what the loader finds. An exit code: EXIT_MODEL
 * where it does not hold, EXIT_IO and EXIT_LIMIT where it could not be read. */
int findings_open(findings *f, const cli_common *common, const char *path);
/* What `check` finds in the model. */
surg_status findings_look(findings *f);
void findings_close(findings *f);

#endif
