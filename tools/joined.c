/* SPDX-License-Identifier: Apache-2.0 */
#include "joined.h"

#include <onnxsurg/check.h>
#include <string.h>

#define NO_RUN "W206" /* a warning: no run of the node can succeed */

typedef struct first_error {
  size_t n;
  cli_text line;
} first_error;

static void take(void *user, const surg_check_finding *f) {
  first_error *e = user;
  if (f->severity != SURG_ERROR && strcmp(f->code, NO_RUN) != 0) return;
  if (!e->n++ && f->where && f->text)
    cli_text_printf(&e->line, "%s: %s [%s]", f->where, f->text, f->code);
}

surg_status joined_count(surg_model *m, size_t *errors) {
  first_error e = {0};
  const surg_status s = surg_check(m, 0, take, &e, NULL);
  *errors += e.n;
  cli_text_free(&e.line);
  return s;
}

int joined_check(surg_model *m, const char *path, size_t before) {
  first_error e = {0};
  const surg_status s = before ? SURG_OK : surg_check(m, 0, take, &e, NULL);
  const int code = s != SURG_OK ? cli_exit_code(s) : e.n ? EXIT_MODEL : EXIT_DONE;
  if (code == EXIT_MODEL)
    cli_error(path, "the joined model would be invalid: %s", cli_text_of(&e.line));
  cli_text_free(&e.line);
  return code;
}
