/* SPDX-License-Identifier: Apache-2.0 */
/* Commands that the user gives: run without a shell, with limits on time and memory. */
#ifndef SURG_CHILD_H
#define SURG_CHILD_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CHILD_LATE 124
#define CHILD_OUTPUT (64u << 20) /* bytes of output after which it is ended, as if time was up */

typedef struct child_command {
  char **words; /* NULL-terminated, heap; "{}" stands for the file, "{...}" for several */
  uint64_t seconds, memory;          /* limits */
  const volatile sig_atomic_t *stop; /* not 0: as if time was up; may be NULL */
} child_command;

/* Set by the first Ctrl-C (or SIGTERM) from this call on, the second ends the program; for
 * `stop`. */
const volatile sig_atomic_t *child_stop_on_signals(void);
/* Splits at blanks; '...' and "..." keep blanks in a word. False: unbalanced or no memory. */
bool child_parse(const char *text, child_command *out);
void child_free(child_command *c);
/* Runs it on a file ("{}", or a last word). The exit code; 128 + the signal that ended it;
 * CHILD_LATE when time was up; -1 when it could not be started. Its output goes nowhere. */
int child_run(const child_command *c, const char *file);
/* The same on several files, for a command with "{...}" (else n is 1). Its standard output goes to
 * `out`, an open file, or nowhere (-1); its standard error too if `both`. */
int child_run_on(const child_command *c, const char *const *files, size_t n, int out, bool both);
/* Whether it takes several files at once. */
bool child_takes_many(const child_command *c);

#endif
