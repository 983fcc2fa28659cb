/* SPDX-License-Identifier: Apache-2.0 */
/* `onnxsurg PASS --option value IN OUT`: a pass as a command, which is the main form with the
 * pipeline `PASS{option=value}`. */
#ifndef SURG_PASS_FORM_H
#define SURG_PASS_FORM_H

#include "cli.h"
#include "pass/pass.h"

enum { OPT_OF_PASS = 5000 }; /* options of the pass: this and on */

typedef struct pass_form {
  surg_context *ctx;
  const char *name;     /* of the pass or preset */
  const surg_pass *pass; /* NULL: a preset */
  struct option *options; /* those of the pass, then those of the main form it leaves */
  surg__buf *values;      /* what was given for each option of the pass, as pipeline text */
} pass_form;

/* Whether `word` names a pass or preset; then `form` is set up, with the options of `rest` that the
 * pass has no own of. EXIT_DONE, -1: it does not, EXIT_LIMIT: out of memory. */
int pass_form_open(pass_form *form, const char *word, const struct option *rest);
void pass_form_close(pass_form *form);
/* Takes option OPT_OF_PASS + i. */
int pass_form_take(pass_form *form, int option, const char *value);
/* Where the pass has options under any name: takes every `--name=value` whose name no option bears
 * in full out of the arguments (getopt would find one that starts so). */
int pass_form_pairs(pass_form *form, int *argc, char **argv);
/* The pipeline, with `then` (a pipeline, or NULL) after it, for the caller to free; NULL: out of
 * memory. */
char *pass_form_pipeline(pass_form *form, const char *then);
void pass_form_help(const pass_form *form);

#endif
