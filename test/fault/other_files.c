/* SPDX-License-Identifier: Apache-2.0 */
/* Preloaded into the program (LD_PRELOAD): its files behave like those of another file system. What
 * is wanted is a list of words in OTHER_FILES:
 *   slow     each call that writes, syncs or names takes some milliseconds, and writes few bytes
 *   named    there are no unnamed files (O_TMPFILE)
 *   nolinks  there are no hard links either
 *   full     the disk is full after FULL_AFTER bytes */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define FULL_AFTER (1 << 20)
#define PIECE (256u << 10)
#define DELAY 3000000 /* ns */

static bool wanted(const char *word) {
  const char *all = getenv("OTHER_FILES");
  return all && strstr(all, word);
}

static void delay(void) {
  if (wanted("slow")) nanosleep(&(struct timespec){.tv_nsec = DELAY}, NULL);
}

/* How many of n bytes a write takes; 0: the disk is full. Pipes and terminals are not meant. */
static size_t room(int fd, size_t n) {
  static size_t used;
  struct stat st;
  if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) return n;
  delay();
  if (wanted("full") && used >= FULL_AFTER) return 0;
  if (wanted("slow") && n > PIECE) n = PIECE;
  used += n;
  return n;
}

static int no_space(void) {
  errno = ENOSPC;
  return -1;
}

/* What the program finds before the functions of the C library. */
#pragma GCC visibility push(default)

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

int open(const char *path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const mode_t mode = flags & (O_CREAT | __O_TMPFILE) ? va_arg(more, mode_t) : 0;
  va_end(more);
  if ((flags & O_TMPFILE) == O_TMPFILE && (wanted("named") || wanted("nolinks"))) {
    errno = EOPNOTSUPP;
    return -1;
  }
  return REAL(open)(path, flags, mode);
}

ssize_t write(int fd, const void *p, size_t n) {
  const size_t k = room(fd, n);
  return n && !k ? no_space() : REAL(write)(fd, p, k);
}

ssize_t pwrite(int fd, const void *p, size_t n, off_t at) {
  const size_t k = room(fd, n);
  return n && !k ? no_space() : REAL(pwrite)(fd, p, k, at);
}

ssize_t copy_file_range(int in, off64_t *in_at, int out, off64_t *out_at, size_t n,
                        unsigned flags) {
  const size_t k = room(out, n);
  return n && !k ? no_space() : REAL(copy_file_range)(in, in_at, out, out_at, k, flags);
}

int fsync(int fd) {
  delay();
  return REAL(fsync)(fd);
}

int rename(const char *from, const char *to) {
  delay();
  return REAL(rename)(from, to);
}

int link(const char *from, const char *to) {
  delay();
  if (wanted("nolinks")) {
    errno = EPERM;
    return -1;
  }
  return REAL(link)(from, to);
}

int linkat(int from_dir, const char *from, int to_dir, const char *to, int flags) {
  delay();
  return REAL(linkat)(from_dir, from, to_dir, to, flags);
}

#pragma GCC visibility pop
