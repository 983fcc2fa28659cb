/* SPDX-License-Identifier: Apache-2.0 */
#include "joined.h"

#include <onnxsurg/check.h>

/* The first error of the model, in *line if it has one. */
static surg_status first_error(surg_model *m, cli_text *line) {
  surg_check_base *none = NULL;
  const char *found = NULL;
  surg_status s = surg_check_base_new(surg_model_context(m), NULL, &none);
  if (s == SURG_OK) s = surg_check_base_compare(none, m, &found);
  if (s == SURG_OK && found) cli_text_puts(line, found);
  surg_check_base_free(none);
  return s;
}

surg_status joined_look(surg_model *m, bool *valid) {
  cli_text line = {0};
  const surg_status s = first_error(m, &line);
  *valid &= !line.n;
  cli_text_free(&line);
  return s;
}

int joined_check(surg_model *m, const char *path, bool valid) {
  cli_text line = {0};
  const surg_status s = valid ? first_error(m, &line) : SURG_OK;
  const int code = s != SURG_OK ? cli_exit_code(s) : line.n ? EXIT_MODEL : EXIT_DONE;
  if (code == EXIT_MODEL)
    cli_error(path, "the joined model would be invalid: %s", cli_text_of(&line));
  cli_text_free(&line);
  return code;
}
