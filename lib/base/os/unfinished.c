/* SPDX-License-Identifier: Apache-2.0 */
/* See unfinished.h. One table serves all threads: a signal ends the whole process. A slot is taken
 * and freed by an exchange of its path, so that a handler, which may interrupt any thread at any
 * moment, and the owner of a path never use it both. */
#include "base/os/unfinished.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <unistd.h>

typedef struct slot {
  _Atomic(const char *) path;
  pid_t owner; /* a copy of the process (fork) has the table of its parent and must not use it */
} slot;

static slot slots[SURG_OS_UNFINISHED_MOST];
static atomic_int held;  /* calls of surg__os_hold_end without surg__os_release_end */
static atomic_int asked; /* the signal that came meanwhile */
static atomic_bool closing;

/* A thread that would create or name another file waits here for the end of the process. */
static void wait_for_end(void) {
  for (;;) pause();
}

void surg__os_unfinished(const char *path) {
  static const char claimed[] = "";
  if (closing) wait_for_end();
  for (size_t i = 0; i < SURG_OS_UNFINISHED_MOST; i++) {
    const char *none = NULL;
    if (!atomic_compare_exchange_strong(&slots[i].path, &none, claimed)) continue;
    slots[i].owner = getpid();
    const char *mine = claimed;
    if (!atomic_compare_exchange_strong(&slots[i].path, &mine, path)) wait_for_end();
    return;
  }
}

void surg__os_finished(const char *path) {
  for (size_t i = 0; i < SURG_OS_UNFINISHED_MOST; i++) {
    const char *mine = path;
    if (slots[i].path != path) continue; /* a look is cheaper than an exchange */
    if (atomic_compare_exchange_strong(&slots[i].path, &mine, NULL)) return;
  }
  if (closing) wait_for_end(); /* the handler has the path, and its caller would free it */
}

void surg__os_remove_unfinished(void) {
  const pid_t self = getpid();
  closing = true;
  for (size_t i = 0; i < SURG_OS_UNFINISHED_MOST; i++) {
    const char *path = atomic_exchange(&slots[i].path, NULL);
    if (path && *path && slots[i].owner == self) unlink(path);
  }
}

static void end(int number) {
  sigset_t only;
  surg__os_remove_unfinished();
  signal(number, SIG_DFL);
  sigemptyset(&only);
  sigaddset(&only, number);
#ifndef __EMSCRIPTEN__
  pthread_sigmask(SIG_UNBLOCK, &only, NULL);
#endif
  raise(number);
  _exit(128 + number); /* not reached: the default action ends the process */
}

void surg__os_end_by(int number) {
  if (held > 0 && atomic_exchange(&asked, number) == 0) return;
  end(number);
}

void surg__os_hold_end(void) {
  atomic_fetch_add(&held, 1);
}

void surg__os_release_end(void) {
  if (atomic_fetch_sub(&held, 1) != 1) return;
  if (asked) end(asked);
}
