/* SPDX-License-Identifier: Apache-2.0 */
/* Processes of commands. */
#include "base/child.h"

#include <errno.h>

#if SURG__CHILD
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/os/ending.h"

#define POLL_NS 500000

static void limit(int which, uint64_t value) {
  struct rlimit l = {.rlim_cur = value, .rlim_max = value};
  if (value) setrlimit(which, &l);
}

/* Runs the command in the forked child; never returns. */
static void become(const surg__child *c, const char *const *files, size_t n, int out, bool both) {
  char **args = surg__child_arguments(c, files, n);
  if (!args) _exit(126);
  int null = open("/dev/null", O_RDWR);
  dup2(null, 0);
  if (out >= 0 && out < 3) out = dup(out); /* the dup2 calls below would close it */
  dup2(out < 0 ? null : out, 1);
  dup2(both && out >= 0 ? out : null, 2);
  setpgid(0, 0);
  signal(SIGPIPE, SIG_DFL);
#ifdef __linux__
  prctl(PR_SET_PDEATHSIG, SIGKILL); /* it ends with this program, whatever ends that */
#endif
  limit(RLIMIT_AS, c->memory);
  limit(RLIMIT_CORE, 1);
  execvp(args[0], args);
  _exit(127);
}

static double seconds_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Limits the output, which would soon fill a disk. */
static bool says_too_much(int out) {
  struct stat st = {0};
  return out >= 0 && fstat(out, &st) == 0 && st.st_size > SURG__CHILD_OUTPUT;
}

int surg__child_run_on(const surg__child *c, const char *const *files, size_t n, int out,
                       bool both) {
  pid_t pid = fork();
  if (pid < 0) return -1;
  if (pid == 0) become(c, files, n, out, both);
  double end = seconds_now() + (double)c->seconds;
  for (int status;;) {
    pid_t got = waitpid(pid, &status, WNOHANG);
    if (got == pid) {
      if (WIFSIGNALED(status)) return 128 + WTERMSIG(status);
      return WEXITSTATUS(status) == 127 ? -1 : WEXITSTATUS(status);
    }
    if (got < 0 && errno != EINTR) return -1;
    if (seconds_now() > end || surg__child_cancelled(c) || says_too_much(out)) {
      kill(-pid, SIGKILL);
      kill(pid, SIGKILL);
      waitpid(pid, &status, 0);
      return SURG__CHILD_LATE;
    }
    nanosleep(&(struct timespec){.tv_nsec = POLL_NS}, NULL);
  }
}

/* --- copies of this process --- */

#define COPY_POLL_MS 10
#define COPY_CHUNK 65536u
#define COPY_DONE 0 /* exit code of a copy whose work returned */

/* In a copy, exit() is called by a plugin: handlers of this program must not run. */
static void leave(void) {
  _exit(SURG__COPY_EXIT);
}

static _Noreturn void be_copy(const surg__copy *c, int out) {
  static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTERM, SIGINT, SIGALRM};
  for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) signal(faults[i], SIG_DFL);
  signal(SIGPIPE, SIG_IGN);
#ifdef __linux__
  prctl(PR_SET_PDEATHSIG, SIGKILL);
#endif
  limit(RLIMIT_CORE, 1);
  atexit(leave);
  c->work(c->user, out);
  fflush(NULL);
  _exit(COPY_DONE);
}

/* Waits at most `ms` for bytes in the pipe, and passes them on. False: there were none. */
static bool pump(const surg__copy *c, int in, int ms, surg__copy_end *end) {
  char bytes[COPY_CHUNK];
  struct pollfd p = {.fd = in, .events = POLLIN};
  if (poll(&p, 1, ms) <= 0) return false;
  const ssize_t n = read(in, bytes, sizeof bytes);
  if (n > 0 && !c->take(c->user, bytes, (size_t)n)) end->stopped = true;
  if (n == 0 && ms) nanosleep(&(struct timespec){.tv_nsec = POLL_NS}, NULL); /* closed */
  return n > 0;
}

#define LOST (1 << 8) /* the status of a process that cannot be waited for: exit code 1 */

/* Waits for the end of the process; kills it if it is stopped. A process that it started may keep
 * the pipe open, so the end of the pipe is not awaited. */
static int await(const surg__copy *c, pid_t pid, int in, surg__copy_end *end) {
  for (int status;;) {
    if (!end->stopped) pump(c, in, COPY_POLL_MS, end);
    if (!end->stopped && c->stop(c->user)) end->stopped = true;
    if (end->stopped) kill(pid, SIGKILL);
    const pid_t got = waitpid(pid, &status, end->stopped ? 0 : WNOHANG);
    if (got < 0 && errno != EINTR) return LOST;
    if (got != pid) continue;
    while (!end->stopped && pump(c, in, 0, end)) {
    }
    return status;
  }
}

int surg__os_copy(const surg__copy *c, surg__copy_end *end) {
  int ends[2];
  *end = (surg__copy_end){0};
  fflush(NULL); /* or the copy would write buffers of this process again */
  if (pipe(ends) != 0) return errno;
  fcntl(ends[0], F_SETFD, FD_CLOEXEC);
  fcntl(ends[1], F_SETFD, FD_CLOEXEC);
  const pid_t pid = fork();
  if (pid == 0) {
    close(ends[0]);
    be_copy(c, ends[1]);
  }
  const int err = errno;
  close(ends[1]);
  if (pid > 0) {
    const int status = await(c, pid, ends[0], end);
    end->done = !end->stopped && WIFEXITED(status) && WEXITSTATUS(status) == COPY_DONE;
    end->code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
    if (WIFSIGNALED(status) && !end->stopped)
      end->fault = surg__os_signal_text(WTERMSIG(status), NULL);
  }
  close(ends[0]);
  return pid > 0 ? 0 : err;
}
#else
int surg__os_copy(const surg__copy *c, surg__copy_end *end) {
  (void)c;
  *end = (surg__copy_end){0};
  return ENOSYS;
}

int surg__child_run_on(const surg__child *c, const char *const *files, size_t n, int out,
                       bool both) {
  (void)c, (void)files, (void)n, (void)out, (void)both;
  return -1;
}
#endif
