/* SPDX-License-Identifier: Apache-2.0 */
/* Commands that the user gives: run without a shell, with limits on time and memory. */
#ifndef SURG_CHILD_H
#define SURG_CHILD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SURG__CHILD_LATE 124
#define SURG__CHILD_OUTPUT \
  (64u << 20) /* bytes of output after which it is ended, as if time was up */

typedef struct surg__child {
  char **words; /* NULL-terminated, heap; "{}" stands for the file, "{...}" for several */
  uint64_t seconds, memory;   /* limits */
  bool (*cancel)(void *user); /* asked while a run goes on; true: as if time was up; may be NULL */
  void *cancel_user;
} surg__child;

/* Whether the caller wants no more runs. */
bool surg__child_cancelled(const surg__child *c);
/* Splits at blanks; '...' and "..." keep blanks in a word. False: unbalanced or no memory. */
bool surg__child_parse(const char *text, surg__child *out);
void surg__child_free(surg__child *c);
/* Runs it on a file ("{}", or a last word). The exit code; 128 + the signal that ended it;
 * SURG__CHILD_LATE when time was up; -1 when it could not be started. Its output goes nowhere. */
int surg__child_run(const surg__child *c, const char *file);
/* The same on several files, for a command with "{...}" (else n is 1). Its standard output goes to
 * `out`, an open file, or nowhere (-1); its standard error too if `both`. */
int surg__child_run_on(const surg__child *c, const char *const *files, size_t n, int out,
                       bool both);
/* Whether it takes several files at once. */
bool surg__child_takes_many(const surg__child *c);

#endif
