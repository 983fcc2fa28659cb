/* SPDX-License-Identifier: Apache-2.0 */
/* race [COUNT]: opens data below a folder while another process swaps what is there with links that
 * leave it. Twice: the file is swapped with a link to a file outside, and its folder with a link to
 * a folder outside. Opening may fail; it must never reach the file outside, neither with openat2
 * nor by the walk that replaces it. */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/os/os.h"

#ifndef RENAME_EXCHANGE
#define RENAME_EXCHANGE 2
#endif

#define MOST 5000000ul /* opens of a race that does not begin */

static char top[] = "/tmp/onnxsurg-race-XXXXXX";

static void must(int result, const char *what) {
  if (result >= 0) return;
  perror(what);
  exit(2);
}

static void put(const char *name, char c) {
  const int fd = open(name, O_WRONLY | O_CREAT, 0600);
  must(fd, name);
  must((int)write(fd, &c, 1), name);
  close(fd);
}

/* Swaps the two names until it is killed. */
static pid_t start_swapping(const char *a, const char *b) {
  const pid_t pid = fork();
  while (pid == 0)
    if (syscall(SYS_renameat2, AT_FDCWD, a, AT_FDCWD, b, RENAME_EXCHANGE) != 0) _exit(1);
  return pid;
}

typedef struct tally {
  unsigned long inside, refused, escaped;
} tally;

static tally open_often(int folder, const char *path, unsigned long count,
                        int (*how)(int, const char *, int *)) {
  tally t = {0};
  /* Beyond the count until the other process was seen at work: the machine may have one processor.
   */
  for (unsigned long i = 0; i < count || (i < MOST && (!t.inside || !t.refused)); i++) {
    int fd;
    char c = 0;
    if (how(folder, path, &fd) != 0) {
      t.refused++;
      continue;
    }
    if (read(fd, &c, 1) == 1 && c == 'i')
      t.inside++;
    else
      t.escaped++;
    close(fd);
  }
  return t;
}

/* What a program without this care does: resolves the name, compares, and opens it. */
static int open_resolved(int folder, const char *path, int *fd) {
  char real[4096], inside[4096], name[4096];
  (void)folder;
  snprintf(name, sizeof name, "in/%s", path);
  if (!realpath(name, real) || !realpath("in", inside)) return errno;
  if (strncmp(real, inside, strlen(inside)) != 0) return EXDEV;
  *fd = open(name, O_RDONLY);
  return *fd < 0 ? errno : 0;
}

/* Runs one race; the number of escapes. */
static unsigned long race(const char *title, const char *a, const char *b, const char *path,
                          unsigned long count, int (*how)(int, const char *, int *)) {
  int folder;
  must(surg__os_open_dir("in", &folder) ? -1 : 0, "in");
  const pid_t swapping = start_swapping(a, b);
  must(swapping, "fork");
  const tally t = open_often(folder, path, count, how);
  kill(swapping, SIGKILL);
  waitpid(swapping, NULL, 0);
  surg__os_close(folder);
  printf("%s: %lu opened inside, %lu refused, %lu escaped\n", title, t.inside, t.refused,
         t.escaped);
  if (!t.inside || !t.refused) {
    printf("%s: the race did not take place\n", title);
    return 1;
  }
  return t.escaped;
}

static unsigned long both_races(const char *name, unsigned long count) {
  char title[64];
  snprintf(title, sizeof title, "%s, file swapped", name);
  unsigned long escaped = race(title, "in/data", "in/link", "data", count, surg__os_open_beneath);
  snprintf(title, sizeof title, "%s, folder swapped", name);
  escaped += race(title, "in/sub", "in/folder", "sub/data", count, surg__os_open_beneath);
  return escaped;
}

/* From here on openat2 fails as on kernels without it. */
static bool deny_openat2(void) {
#ifdef SYS_openat2
  struct sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat2, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
#else
  return true; /* it is not used */
#endif
}

int main(int argc, char **argv) {
  const char *more = getenv("ONNXSURG_OPENS");
  const unsigned long count = strtoul(more ? more : argc > 1 ? argv[1] : "300000", NULL, 10);
  unsigned long escaped = 0;
  if (!mkdtemp(top)) must(-1, top);
  must(chdir(top), top);
  must(mkdir("out", 0700) | mkdir("in", 0700) | mkdir("in/sub", 0700), "mkdir");
  put("out/data", 'o');
  put("in/data", 'i');
  put("in/sub/data", 'i');
  must(symlink("../out/data", "in/link") | symlink("../out", "in/folder"), "symlink");
  /* For comparison: it shows that there is something to win. */
  race("resolved first", "in/data", "in/link", "data", count, open_resolved);
  escaped += both_races("openat2", count);
  if (deny_openat2())
    escaped += both_races("walk", count);
  else
    puts("walk: openat2 cannot be denied here: not tested");
  char command[128];
  snprintf(command, sizeof command, "rm -rf %s", top);
  must(chdir("/") | system(command), command);
  return escaped != 0;
}
