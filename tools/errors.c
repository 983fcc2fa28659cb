/* SPDX-License-Identifier: Apache-2.0 */
/* See errors.h. */
#include "errors.h"

#include <errno.h>
#include <onnxsurg/names.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/os/os.h"
#include "cli.h"

static char *first; /* the first error line; later ones are its consequences */
static bool asked, given;

#define FILES_MOST 10000u /* of a folder that are compared with a name */

static const char *name_of(const void *list, size_t i) {
  return ((const char *const *)list)[i];
}

/* Writes the file of the folder of `path` with the most similar name to `out`; false: none is. */
static bool nearest_file(const char *path, char *out, size_t room) {
  char *dir = NULL, *base = NULL;
  surg__os_folder *f = NULL;
  *out = 0;
  if (surg__os_split(path, &dir, &base) == 0 && surg__os_folder_open(dir, &f) != 0) f = NULL;
  const char *name;
  for (unsigned i = 0; f && i < FILES_MOST && (name = surg__os_folder_next(f)) != NULL; i++) {
    const char *const both[] = {out, name};
    const bool any = *out != 0;
    if (strlen(name) < room && surg_nearest_name(base, both + !any, any ? 2 : 1, name_of) == name)
      snprintf(out, room, "%s", name);
  }
  surg__os_folder_close(f);
  free(dir);
  free(base);
  return *out != 0;
}

/* Prints a hint after the line of a file that does not exist. */
static void hint(const char *line) {
  char name[256], missing[100], *path = strdup(line);
  char *at = path ? strstr(path, ": error: cannot ") : NULL;
  snprintf(missing, sizeof missing, ": %s", strerror(ENOENT));
  const char *end = at ? strstr(at + 1, missing) : NULL;
  if (end && !end[strlen(missing)]) {
    *at = 0;
    if (nearest_file(path, name, sizeof name)) {
      fputs("; did you mean ", stderr);
      cli_put(stderr, name);
      putc('?', stderr);
    }
  }
  free(path);
}

void cli_error_line(const char *line) {
  cli_progress_clear();
  fputs(line, stderr);
  hint(line);
  putc('\n', stderr);
  if (!first) first = strdup(line); /* NULL: JSON says null */
}

void cli_error_text(const char *where, cli_text *text) {
  cli_text line = {0};
  if (where)
    cli_text_escape(&line, where, 0);
  else
    cli_text_puts(&line, "onnxsurg");
  cli_text_printf(&line, ": error: %s", cli_text_of(text));
  if (line.failed || text->failed)
    cli_no_memory();
  else
    cli_error_line(cli_text_of(&line));
  cli_text_free(&line);
  cli_text_free(text);
}

void cli_error(const char *where, const char *fmt, ...) {
  cli_text text = {0};
  char *p = NULL;
  va_list args;
  va_start(args, fmt);
  const int n = vasprintf(&p, fmt, args);
  va_end(args);
  if (n < 0)
    cli_text_fail(&text);
  else
    cli_text_puts(&text, p);
  if (n >= 0) free(p);
  cli_error_text(where, &text);
}

int cli_error_unknown(const char *kind, const char *name, const char *near, const char *list) {
  cli_text text = {0};
  cli_text_printf(&text, "no %s ", kind);
  cli_text_escape(&text, name, 0);
  if (near) cli_text_printf(&text, ": did you mean %s?", near);
  cli_text_printf(&text, " (try `onnxsurg %s`)", list);
  cli_error_text(NULL, &text);
  return EXIT_USAGE;
}

void cli_json_asked(void) {
  asked = true;
}

void cli_stdout_used(void) {
  given = true;
}

int cli_stdout_twice(const char *option) {
  cli_stdout_used();
  return cli_usage("standard output cannot be used for the model and %s", option);
}

int cli_json_failure(int code) {
  if (code > EXIT_DONE && asked && !given) {
    cli_print_json(json_pack("{s:i,s:i,s:o}", "schema", 1, "exit", code, "error",
                             first ? cli_text_json(first) : json_null()));
    code = cli_flush(code);
  }
  free(first);
  first = NULL;
  return code;
}
