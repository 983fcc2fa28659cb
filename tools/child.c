/* SPDX-License-Identifier: Apache-2.0 */
/* Commands that the user gives. */
#include "child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define POLL_NS 500000

bool child_parse(const char *text, child_command *out) {
  size_t n = strlen(text);
  /* At most one word for two characters, and the two NULLs behind. */
  out->words = calloc(n / 2 + 3, sizeof *out->words);
  char *copy = malloc(n + 1);
  if (!out->words || !copy) {
    free(copy);
    child_free(out);
    return false;
  }
  size_t count = 0;
  char *to = copy;
  for (const char *p = text; *(p += strspn(p, " \t"));) {
    out->words[count++] = to;
    for (char quote = 0; *p && (quote || !strchr(" \t", *p)); p++) {
      if (quote ? *p == quote : *p == '\'' || *p == '"') {
        quote = quote ? 0 : *p;
        if (quote && !strchr(p + 1, quote)) count = 0;
      } else {
        *to++ = *p;
      }
    }
    if (!count) break;
    *to++ = 0;
  }
  if (count) return true;
  free(copy);
  out->words[0] = NULL;
  child_free(out);
  return false;
}

void child_free(child_command *c) {
  if (c->words) free(c->words[0]); /* all words lie in one block */
  free(c->words);
  c->words = NULL;
}

static void limit(int which, uint64_t value) {
  struct rlimit l = {.rlim_cur = value, .rlim_max = value};
  if (value) setrlimit(which, &l);
}

/* In the child; returns only by not returning. */
static void become(const child_command *c, const char *file) {
  size_t n = 0;
  while (c->words[n]) n++;
  char **args = calloc(n + 2, sizeof *args);
  if (!args) _exit(126);
  bool placed = false;
  for (size_t i = 0; i < n; i++) {
    bool here = strcmp(c->words[i], "{}") == 0;
    placed |= here;
    args[i] = here ? (char *)(uintptr_t)file : c->words[i];
  }
  if (!placed) args[n] = (char *)(uintptr_t)file;
  int null = open("/dev/null", O_RDWR);
  for (int fd = 0; fd < 3; fd++) dup2(null, fd);
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

int child_run(const child_command *c, const char *file) {
  pid_t pid = fork();
  if (pid < 0) return -1;
  if (pid == 0) become(c, file);
  double end = seconds_now() + (double)c->seconds;
  for (int status;;) {
    pid_t got = waitpid(pid, &status, WNOHANG);
    if (got == pid) {
      if (WIFSIGNALED(status)) return 128 + WTERMSIG(status);
      return WEXITSTATUS(status) == 127 ? -1 : WEXITSTATUS(status);
    }
    if (got < 0 && errno != EINTR) return -1;
    if (seconds_now() > end || (c->stop && *c->stop)) {
      kill(-pid, SIGKILL);
      kill(pid, SIGKILL);
      waitpid(pid, &status, 0);
      return CHILD_LATE;
    }
    nanosleep(&(struct timespec){.tv_nsec = POLL_NS}, NULL);
  }
}
