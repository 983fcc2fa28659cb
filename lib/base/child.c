/* SPDX-License-Identifier: Apache-2.0 */
/* Running commands of the user. */
#include "base/child.h"

#include <stdlib.h>
#include <string.h>

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
#endif

bool surg__child_cancelled(const surg__child *c) {
  return c->cancel && c->cancel(c->cancel_user);
}

bool surg__child_parse(const char *text, surg__child *out) {
  size_t n = strlen(text);
  /* At most one word per two characters, plus two NULLs at the end. */
  out->words = calloc(n / 2 + 3, sizeof *out->words);
  char *copy = malloc(n + 1);
  if (!out->words || !copy) {
    free(copy);
    surg__child_free(out);
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
  surg__child_free(out);
  return false;
}

void surg__child_free(surg__child *c) {
  if (c->words) free(c->words[0]); /* all words are in one block */
  free(c->words);
  c->words = NULL;
}

bool surg__child_takes_many(const surg__child *c) {
  for (size_t i = 0; c->words[i]; i++)
    if (strcmp(c->words[i], "{...}") == 0) return true;
  return false;
}

int surg__child_run(const surg__child *c, const char *file) {
  return surg__child_run_on(c, &file, 1, -1, false);
}

#if SURG__CHILD
static void limit(int which, uint64_t value) {
  struct rlimit l = {.rlim_cur = value, .rlim_max = value};
  if (value) setrlimit(which, &l);
}

/* The words with the files inserted; NULL without memory. */
static char **arguments(const surg__child *c, const char *const *files, size_t n) {
  size_t words = 0, at = 0;
  while (c->words[words]) words++;
  size_t most;
  if (__builtin_mul_overflow(words + 1, n + 1, &most)) return NULL;
  char **args = calloc(most + 1, sizeof *args);
  bool placed = false;
  for (size_t i = 0; args && i < words; i++) {
    const bool one = strcmp(c->words[i], "{}") == 0, many = strcmp(c->words[i], "{...}") == 0;
    placed |= one || many;
    if (!one && !many) args[at++] = c->words[i];
    for (size_t k = 0; (one && k < 1) || (many && k < n); k++)
      args[at++] = (char *)(uintptr_t)files[k];
  }
  if (args && !placed) args[at] = (char *)(uintptr_t)files[0];
  return args;
}

/* Runs the command in the forked child; never returns. */
static void become(const surg__child *c, const char *const *files, size_t n, int out, bool both) {
  char **args = arguments(c, files, n);
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
