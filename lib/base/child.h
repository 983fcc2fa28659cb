/* SPDX-License-Identifier: Apache-2.0 */
/* Commands of the user: run without a shell, with limits on time and memory. */
#ifndef SURG_CHILD_H
#define SURG_CHILD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Whether this system can run commands; if not, every run fails to start. */
#ifdef __EMSCRIPTEN__
#define SURG__CHILD 0
#else
#define SURG__CHILD 1
#endif
#define SURG__CHILD_LATE 124
#define SURG__CHILD_OUTPUT \
  (64u << 20) /* bytes of output; more ends the command as a timeout does */

typedef struct surg__child {
  char **words; /* NULL-terminated, heap; "{}" is replaced by the file, "{...}" by several files */
  uint64_t seconds, memory;   /* limits: seconds, bytes */
  bool (*cancel)(void *user); /* polled during a run; true ends it as a timeout does; may be NULL */
  void *cancel_user;
} surg__child;

/* Whether the caller cancelled further runs. */
bool surg__child_cancelled(const surg__child *c);
/* Splits text at blanks into words; blanks in '...' and "..." are part of a word. False: unbalanced
 * quotes or no memory. */
bool surg__child_parse(const char *text, surg__child *out);
void surg__child_free(surg__child *c);
/* The words with the files inserted, NULL-terminated; free() the list alone. NULL without memory.
 */
char **surg__child_arguments(const surg__child *c, const char *const *files, size_t n);
/* Runs the command on a file, which replaces "{}" or is appended as the last word. Returns the exit
 * code; 128 + the signal that ended it; SURG__CHILD_LATE after the time limit; -1 if it could not
 * be started. Discards its output. */
int surg__child_run(const surg__child *c, const char *file);
/* Runs the command on n files; n is 1 unless the command contains "{...}". Its standard output, and
 * its standard error if `both`, are written to the open file `out`, or discarded if that is -1. */
int surg__child_run_on(const surg__child *c, const char *const *files, size_t n, int out,
                       bool both);
/* Whether the command accepts several files at once. */
bool surg__child_takes_many(const surg__child *c);

#endif
