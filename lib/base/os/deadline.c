/* SPDX-License-Identifier: Apache-2.0 */
/* The time limit of a program: a thread that sleeps until it is reached. */
#include "base/os/deadline.h"

#ifdef __EMSCRIPTEN__

bool surg__os_deadline(uint64_t ns, void (*late)(void)) {
  (void)late;
  return ns == 0; /* there are no threads */
}

void surg__os_deadline_commit(void) {
}

#else

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <time.h>
#include <unistd.h>

#define STACK (128u << 10)
#define SECOND 1000000000u /* ns */

/* The sleeping thread calls the handler with the lock held and never releases it: a caller that
 * changes the limit or names an output after that waits until the process has ended. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed, begun;
static bool watching; /* the thread has begun: from then on it allocates nothing */
static struct timespec limit; /* by CLOCK_MONOTONIC */
static bool limited;
static void (*handler)(void);
static pid_t owner; /* the process that has the thread; 0: none */

static bool reached(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec != limit.tv_sec ? now.tv_sec > limit.tv_sec : now.tv_nsec >= limit.tv_nsec;
}

static void *watch(void *user) {
  (void)user;
  pthread_mutex_lock(&lock);
  watching = true;
  pthread_cond_signal(&begun);
  for (;;) {
    if (!limited)
      pthread_cond_wait(&changed, &lock);
    else if (!reached())
      pthread_cond_timedwait(&changed, &lock, &limit);
    else
      handler();
  }
  return NULL;
}

/* Waits until the thread has begun. A process copied while a thread begins may get a copy of an
 * allocator's lock that the thread held, which no thread of the copy releases. */
static void await_begin(void) {
  pthread_mutex_lock(&lock);
  while (!watching) pthread_cond_wait(&begun, &lock);
  pthread_mutex_unlock(&lock);
}

/* Starts the thread. Signals stay with the threads that were there before. */
static bool start(void) {
  pthread_condattr_t clock;
  pthread_attr_t how;
  pthread_t thread;
  sigset_t all, before;
  if (pthread_condattr_init(&clock) || pthread_attr_init(&how)) return false;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  watching = false;
  const bool done = !pthread_condattr_setclock(&clock, CLOCK_MONOTONIC) &&
                    !pthread_cond_init(&changed, &clock) && !pthread_cond_init(&begun, NULL) &&
                    !pthread_attr_setstacksize(&how, STACK) &&
                    !pthread_attr_setdetachstate(&how, PTHREAD_CREATE_DETACHED) &&
                    !pthread_create(&thread, &how, watch, NULL);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  pthread_attr_destroy(&how);
  pthread_condattr_destroy(&clock);
  if (done) await_begin();
  if (done) owner = getpid();
  return done;
}

bool surg__os_deadline(uint64_t ns, void (*late)(void)) {
  if (!ns) surg__os_deadline_commit();
  if (!ns) return true;
  if (owner && owner != getpid()) { /* in a copy, where the thread may have had the lock */
    lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    owner = 0;
  }
  if (!owner && !start()) return false;
  pthread_mutex_lock(&lock);
  clock_gettime(CLOCK_MONOTONIC, &limit);
  const uint64_t nanoseconds = (uint64_t)limit.tv_nsec + ns % SECOND;
  limit.tv_sec += (time_t)(ns / SECOND + nanoseconds / SECOND);
  limit.tv_nsec = (long)(nanoseconds % SECOND);
  limited = true;
  handler = late;
  pthread_cond_signal(&changed);
  pthread_mutex_unlock(&lock);
  return true;
}

void surg__os_deadline_commit(void) {
  if (owner != getpid()) return; /* not limited, or in a copy of the process, without the thread */
  pthread_mutex_lock(&lock);
  limited = false;
  pthread_mutex_unlock(&lock);
}

#endif
