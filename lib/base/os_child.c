/* SPDX-License-Identifier: Apache-2.0 */
/* Processes of commands. */
#include "base/child.h"

#if SURG__CHILD
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

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
  struct stat st;
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
#else
int surg__child_run_on(const surg__child *c, const char *const *files, size_t n, int out,
                       bool both) {
  (void)c, (void)files, (void)n, (void)out, (void)both;
  return -1;
}
#endif
