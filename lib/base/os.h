/* SPDX-License-Identifier: Apache-2.0 */
/* The one place that talks to the operating system. Every function returns 0 or a positive errno
 * value. EINTR is retried, short reads and writes are continued. With -Dfault_injection=true the
 * environment variable SURG_FAULT_SYS=n[:p] makes the n-th call fail (p: and all after it), and
 * SURG_FAULT_ALLOC=n[:p] does so for allocations; see test/fault. */
#ifndef SURG_OS_H
#define SURG_OS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct surg__stat {
  uint64_t size, dev, ino, nlink;
  uint32_t mode;
  bool regular, directory, fifo, device;
} surg__stat;

int surg__os_open_read(int dirfd, const char *path, int *fd); /* dirfd -1: the working folder */
/* Opens `path` below dirfd without ever leaving it: openat2(RESOLVE_BENEATH), else a walk that
 * follows no symlink out. Non-blocking, no tty. */
int surg__os_open_beneath(int dirfd, const char *path, int *fd);
int surg__os_open_dir(const char *path, int *fd);
int surg__os_readlink(int dirfd, const char *path, char *out, size_t cap, size_t *n);
/* Another path beneath dirfd that is there, and differs from `path`, which is not, in the case of
 * letters or in backslashes for slashes alone. ENOENT: there is none, or several. Follows no links.
 */
int surg__os_alike(int dirfd, const char *path, char *out, size_t cap);
int surg__os_realpath(const char *path, char **out); /* free() it */
/* Opens a FIFO or device that is there, for writing: creates and truncates nothing. */
int surg__os_open_write(const char *path, int *fd);
int surg__os_stat_fd(int fd, surg__stat *out);
int surg__os_stat(const char *path, surg__stat *out);  /* follows links */
int surg__os_lstat(const char *path, surg__stat *out); /* does not */
int surg__os_pread(int fd, void *p, size_t n, uint64_t off); /* ENODATA: the file is shorter */
int surg__os_read(int fd, void *p, size_t n, size_t *got);   /* *got 0: end */
int surg__os_write(int fd, const void *p, size_t n);
int surg__os_pwrite(int fd, const void *p, size_t n, uint64_t off);
int surg__os_close(int fd);
int surg__os_fsync(int fd);
int surg__os_fsync_dir(const char *path);
/* An unlinked file for spooling, in $TMPDIR or /tmp. */
int surg__os_temp(int *fd);
/* A new unnamed file in folder `dir` that surg__os_publish gives its name; `name` (heap, free())
 * is NULL with O_TMPFILE, else the path of a mkstemp file to be unlinked on failure. */
int surg__os_temp_in(const char *dir, int *fd, char **name);
/* Gives the file its final path atomically, replacing what stands there. On failure the
 * temporary is gone and the old file intact. Frees name. */
int surg__os_publish(int fd, char *name, const char *path);
void surg__os_discard(int fd, char *name); /* closes and unlinks */
int surg__os_copy_mode(int fd, const char *like); /* keeps mode of the file replaced */
int surg__os_unlink(const char *path);
/* Copies a range by reflink or in the kernel where that works; *done says how much; 0 and *done=0
 * means: copy by hand. */
int surg__os_copy_range(int in, uint64_t in_off, int out, uint64_t n, uint64_t *done);
/* Address space of n bytes, zero, without memory behind it until touched. */
int surg__os_reserve(size_t n, void **p);
void surg__os_release(void *p, size_t n);
/* Asks for large pages behind memory that is about to be filled: a hint, and no failure. */
void surg__os_large_pages(void *p, size_t n);
int surg__os_random(void *p, size_t n);
uint64_t surg__os_now_ns(void);
/* The folder part and the last part of a path; both heap, free(). ENOMEM on failure. */
int surg__os_split(const char *path, char **dir, char **base);

#endif
