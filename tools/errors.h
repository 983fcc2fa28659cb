/* SPDX-License-Identifier: Apache-2.0 */
/* Errors of the program: lines on standard error. The first one also answers --json where a command
 * fails before it has a result. */
#ifndef SURG_TOOLS_ERRORS_H
#define SURG_TOOLS_ERRORS_H

#include <jansson.h>
#include <stdbool.h>

#include "text.h"

/* Prints "WHERE: error: TEXT". `where` is a path or another untrusted text, NULL: the program; the
 * rest is escaped already. */
void cli_error(const char *where, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* The same for a text that was built, which is freed. */
void cli_error_text(const char *where, cli_text *text);
/* Rejects the name of a `kind` that command `list` does not list; `near`: a suggestion, or NULL.
 * Returns EXIT_USAGE. */
int cli_error_unknown(const char *kind, const char *name, const char *near, const char *list);
/* Prints a whole line: a diagnostic of the library, which is escaped. */
void cli_error_line(const char *line);

/* States that --json was given. */
void cli_json_asked(void);
/* States that standard output has a JSON value, or was to have a model: nothing else is printed. */
void cli_stdout_used(void);
/* Rejects an option whose output would be mixed with the model; returns EXIT_USAGE. */
int cli_stdout_twice(const char *option);
/* Where --json was given, the command failed and standard output is unused: prints
 * {"schema": 1, "exit": CODE, "error": LINE}. Returns `code`. */
int cli_json_failure(int code);

#endif
