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
/* Copies n words. False: no memory. */
bool surg__child_set(surg__child *out, const char *const *words, size_t n);
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
/* --- copies of this process --- */
#define SURG__COPY_EXIT 99 /* exit code of a copy that called exit() */
/* Callbacks of surg__os_copy. */
typedef struct surg__copy {
  void (*work)(void *user, int out); /* in the copy, which ends when it returns */
  /* In this process: gets what the copy wrote to `out`; false ends the copy. */
  bool (*take)(void *user, const void *bytes, size_t n);
  bool (*stop)(void *user); /* asked every few ms; true ends the copy */
  void *user;
} surg__copy;

/* How a copy ended. */
typedef struct surg__copy_end {
  bool stopped; /* by `stop` or `take` */
  bool done;    /* `work` returned */
  int code;     /* exit code, where no signal ended it */
  const char *fault; /* signal that ended it by itself: "crashed (arithmetic error)"; or NULL */
} surg__copy_end;

/* Runs `work` in a copy of this process and waits for its end. 0, or an errno value: there is no
 * copy. Only the calling thread is copied; other copies of memory and files are as of the call. */
int surg__os_copy(const surg__copy *c, surg__copy_end *end);

/* Whether the command accepts several files at once. */
bool surg__child_takes_many(const surg__child *c);

#endif
