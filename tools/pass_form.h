/* SPDX-License-Identifier: Apache-2.0 */
/* `onnxsurg PASS --option value IN OUT`: a pass as a command. It is equivalent to the main form
 * with the pipeline `PASS{option=value}`. */
#ifndef SURG_PASS_FORM_H
#define SURG_PASS_FORM_H

#include "cli.h"

enum { OPT_OF_PASS = 5000 }; /* options of the pass have this value and above */

typedef struct pass_form {
  surg_context *ctx;
  const char *name;       /* name of the pass or preset */
  const surg_pass *pass;  /* NULL: a preset */
  struct option *options; /* those of the pass, then the other ones of the main form */
  cli_text *values;       /* pipeline text given for each option of the pass */
} pass_form;

/* Initializes `form` if `word` names a pass or preset. The option table contains the options of
 * the pass, then those of `rest` with other names. Returns EXIT_DONE, -1 if there is no such
 * pass, or EXIT_LIMIT when out of memory. argv[0] is the word; a pass may be one of a plugin that
 * the other arguments name. */
int pass_form_open(pass_form *form, int argc, char **argv, const struct option *rest);
void pass_form_close(pass_form *form);
/* Applies option OPT_OF_PASS + i. */
int pass_form_take(pass_form *form, int option, const char *value);
/* If the pass has an option that accepts any name: applies every `--name=value` and `--name value`
 * whose name is no known option and removes it from the arguments. getopt would match it as an
 * abbreviation of another option. argv ends with NULL. */
int pass_form_pairs(pass_form *form, int *argc, char **argv);
/* The pipeline, followed by `then` (a pipeline, or NULL). The caller frees it. NULL: out of
 * memory. */
char *pass_form_pipeline(pass_form *form, const char *then);
/* Appends a diagnostic of the pass with its options spelled as on the command line: `needs to=` is
 * `needs --to`. Other lines are appended as they are. */
void pass_form_spell(const surg_pass *pass, const char *line, cli_text *out);
void pass_form_help(const pass_form *form);

#endif
