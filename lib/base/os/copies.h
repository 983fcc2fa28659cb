/* SPDX-License-Identifier: Apache-2.0 */
/* Copies of the program that work side by side, each with its output in files. Used by tools/. */
#ifndef SURG_OS_COPIES_H
#define SURG_OS_COPIES_H

#include <stdbool.h>
#include <stddef.h>

/* How a copy ended. */
typedef struct surg__os_ended {
  int code;          /* exit code, where no signal ended it */
  bool killed;       /* by a signal that is no fault: for lack of memory, or by a user */
  const char *fault; /* the signal that ended it: "crashed (arithmetic error)"; or NULL. Valid until
                      * the next call */
} surg__os_ended;

/* Copies this process. The copy writes standard output and error to the open files `out` and `err`,
 * calls work(user), and ends with what it returns, 0 to 255; it is killed if this process ends
 * before. *id identifies it. Only the calling thread is copied. Returns an errno
 * value: there is no copy (ENOSYS: never on this system). */
int surg__os_start_copy(int (*work)(void *user), void *user, int out, int err, long *id);
/* Whether the copy has ended, and how; it can be asked until it returned true. Does not wait. */
bool surg__os_copy_ended(long id, surg__os_ended *end);
/* Kills a copy and waits for its end. */
void surg__os_end_copy(long id);
/* Sleeps for at least that time. */
void surg__os_pause(unsigned us);

/* Makes standard output and error write to the open files, until surg__os_restore. Returns an errno
 * value: nothing has changed. */
int surg__os_redirect(int out, int err, int kept[2]);
void surg__os_restore(const int kept[2]);

/* Processors that this process may use; at least 1. */
unsigned surg__os_processors(void);

#endif
