/* SPDX-License-Identifier: Apache-2.0 */
/* See copies.h. */
#include "base/os/copies.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>
#ifdef __linux__
#include <sched.h>
#include <sys/prctl.h>
#endif
#ifndef __EMSCRIPTEN__
#include <sys/wait.h>
#endif

#include "base/os/ending.h"
#include "base/os/fault.h"
#include "base/os/program.h"

#define GRACE 2000000u /* us that a copy gets to end by itself, and between two looks at it */
#define GRACE_STEP 1000u

unsigned surg__os_processors(void) {
#ifdef __linux__
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0)
    return (unsigned)CPU_COUNT(&set);
#endif
  const long n = sysconf(_SC_NPROCESSORS_ONLN);
  return n > 0 ? (unsigned)n : 1;
}

void surg__os_pause(unsigned us) {
  const struct timespec t = {.tv_sec = us / 1000000, .tv_nsec = (long)(us % 1000000) * 1000};
  nanosleep(&t, NULL);
}

int surg__os_redirect(int out, int err, int kept[2]) {
  SURG_SYS_FAULT(EMFILE);
  fflush(NULL);
  kept[0] = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
  kept[1] = kept[0] < 0 ? -1 : fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
  if (kept[1] < 0) {
    const int why = errno;
    if (kept[0] >= 0) close(kept[0]);
    return why;
  }
  dup2(out, STDOUT_FILENO);
  dup2(err, STDERR_FILENO);
  return 0;
}

void surg__os_restore(const int kept[2]) {
  fflush(NULL);
  dup2(kept[0], STDOUT_FILENO);
  dup2(kept[1], STDERR_FILENO);
  close(kept[0]);
  close(kept[1]);
}

#ifdef __EMSCRIPTEN__
int surg__os_start_copy(int (*work)(void *user), void *user, int out, int err, long *id) {
  (void)work, (void)user, (void)out, (void)err, (void)id;
  return ENOSYS;
}

bool surg__os_copy_ended(long id, surg__os_ended *end) {
  (void)id, (void)end;
  return true;
}

void surg__os_end_copy(long id) {
  (void)id;
}
#else

static _Noreturn void be_copy(int (*work)(void *user), void *user, int out, int err, pid_t parent) {
  surg__os_clean_at_end();
#ifdef __linux__
  prctl(PR_SET_PDEATHSIG, SIGTERM);
#endif
  if (getppid() != parent) _exit(1); /* the parent ended before that */
  if (dup2(out, STDOUT_FILENO) < 0 || dup2(err, STDERR_FILENO) < 0) _exit(1);
  const int code = work(user);
  fflush(NULL);
  _exit(code);
}

int surg__os_start_copy(int (*work)(void *user), void *user, int out, int err, long *id) {
  SURG_SYS_FAULT(EAGAIN);
  const pid_t parent = getpid();
  fflush(NULL); /* or the copy would write buffers of this process again */
  const pid_t pid = fork();
  if (pid < 0) return errno;
  if (pid == 0) be_copy(work, user, out, err, parent);
  *id = pid;
  return 0;
}

bool surg__os_copy_ended(long id, surg__os_ended *end) {
  int status = 0;
  bool fault = true;
  const pid_t got = waitpid((pid_t)id, &status, WNOHANG);
  if (got == 0 || (got < 0 && errno == EINTR)) return false;
  *end = (surg__os_ended){0};
  if (got < 0)
    end->fault = "is lost";
  else if (WIFSIGNALED(status))
    end->fault = surg__os_signal_text(WTERMSIG(status), &fault);
  else
    end->code = WEXITSTATUS(status);
  end->killed = !fault;
  return true;
}

void surg__os_end_copy(long id) {
  surg__os_ended end;
  kill((pid_t)id, SIGTERM); /* it removes what it has not finished */
  for (unsigned i = 0; i < GRACE / GRACE_STEP; i++) {
    if (surg__os_copy_ended(id, &end)) return;
    surg__os_pause(GRACE_STEP);
  }
  kill((pid_t)id, SIGKILL);
  while (waitpid((pid_t)id, NULL, 0) < 0 && errno == EINTR) {
  }
}
#endif
