/* SPDX-License-Identifier: Apache-2.0 */
/* The interface to the operating system. Every function returns 0 or a positive errno value. EINTR
 * is retried; short reads and writes are continued. With -Dfault_injection=true the environment
 * variable SURG_FAULT_SYS=n[:p] makes the n-th system call fail (with :p all later ones too), and
 * SURG_FAULT_ALLOC=n[:p] does the same for allocations; see test/fault. */
#ifndef SURG_OS_H
#define SURG_OS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* The time of modification of a provisional file: an even second in March 1980, which no tool is
 * known to write and which FAT can store. */
#define SURG_OS_PROVISIONAL 321012368

typedef struct surg__stat {
  uint64_t size, dev, ino, nlink;
  uint32_t mode;
  bool regular, directory, fifo, device, block; /* block: a device that is a disk */
  bool provisional; /* marked by surg__os_provisional, and not confirmed */
} surg__stat;

int surg__os_open_read(int dirfd, const char *path, int *fd); /* dirfd -1: the working folder */
/* Opens `path` below dirfd without ever leaving it: with openat2(RESOLVE_BENEATH), else by a walk
 * that follows no symbolic links. Non-blocking; never becomes the controlling terminal. */
int surg__os_open_beneath(int dirfd, const char *path, int *fd);
int surg__os_open_dir(const char *path, int *fd);
int surg__os_readlink(int dirfd, const char *path, char *out, size_t cap, size_t *n);
/* Finds a path below dirfd that differs from the missing `path` only in the case of letters or in
 * slashes for backslashes. ENOENT: there is none, or more than one. Follows no symbolic links. */
int surg__os_alike(int dirfd, const char *path, char *out, size_t cap);
int surg__os_realpath(const char *path, char **out); /* free() it */
/* Opens an existing FIFO or device for writing; creates and truncates nothing. */
int surg__os_open_write(const char *path, int *fd);
int surg__os_stat_fd(int fd, surg__stat *out);
int surg__os_stat(const char *path, surg__stat *out);        /* follows links */
int surg__os_lstat(const char *path, surg__stat *out);       /* does not follow links */
int surg__os_pread(int fd, void *p, size_t n, uint64_t off); /* ENODATA: the file is shorter */
int surg__os_read(int fd, void *p, size_t n, size_t *got);   /* *got 0: end */
int surg__os_write(int fd, const void *p, size_t n);
int surg__os_pwrite(int fd, const void *p, size_t n, uint64_t off);
int surg__os_close(int fd);
int surg__os_fsync(int fd);
int surg__os_fsync_dir(const char *path);
/* Creates an unlinked temporary file in $TMPDIR or /tmp. */
int surg__os_temp(int *fd);
/* Creates an unnamed file in folder `dir`, to be named by surg__os_publish. *name is NULL with
 * O_TMPFILE; else it is the path of a temporary file (heap, free()), to be unlinked on failure. */
int surg__os_temp_in(const char *dir, int *fd, char **name);
/* Gives the file its final path atomically, replacing an existing file. On failure the temporary
 * file is removed and the existing file is unchanged. Frees name. */
int surg__os_publish(int fd, char *name, const char *path);
/* The same where no file has the path; else EEXIST, and fd and name can be published elsewhere. One
 * of several processes that want one path gets it. */
int surg__os_publish_new(int fd, char *name, const char *path);
/* Marks a file that its writer may still remove: other processes must not rely on it. The mark is a
 * time of modification, which every file system stores and which needs no lock. */
int surg__os_provisional(int fd);
int surg__os_confirm(const char *path); /* ends that */
void surg__os_discard(int fd, char *name);        /* closes and unlinks */
int surg__os_copy_mode(int fd, const char *like); /* copies the mode of the replaced file */
int surg__os_unlink(const char *path);
int surg__os_empty(int fd); /* makes the file empty and moves to its start */
/* fopen with mode "r", "w" or "a"; the file is not inherited by commands that are run. NULL: see
 * errno. */
FILE *surg__os_fopen(const char *path, const char *mode);
bool surg__os_exists(const char *path); /* false also where permissions hide it */
/* Reads the next line of a stream into *line (heap, grown as getline does). False: the end. */
bool surg__os_read_line(FILE *f, char **line, size_t *cap);
int surg__os_make_folder(const char *path);
int surg__os_remove_folder(const char *path); /* an empty one */
/* Creates a folder "STEM-xxxxxx" in $TMPDIR or the system's temporary folder. ENAMETOOLONG: its
 * path and the names of short files in it do not fit into `out`. */
int surg__os_temp_folder(const char *stem, char *out, size_t cap);
/* Lists a folder without "." and "..". Names are valid until the next call. */
typedef struct surg__os_folder surg__os_folder;
int surg__os_folder_open(const char *path, surg__os_folder **out);
const char *surg__os_folder_next(surg__os_folder *f); /* NULL: the end */
void surg__os_folder_close(surg__os_folder *f);       /* NULL is permitted */
/* Where the hole of a file at `off` ends, at most `end`; `off` if there is none or it is unknown.
 * The bytes of a hole are 0 and use no space on the disk. Moves the file's position. */
uint64_t surg__os_hole_end(int fd, uint64_t off, uint64_t end);
/* Copies a range to the end of `out`, by reflink or inside the kernel; its holes become holes.
 * *done is the number of bytes copied; a result of 0 with less than n means that the caller must
 * copy the rest with reads and writes. */
int surg__os_copy_range(int in, uint64_t in_off, int out, uint64_t n, uint64_t *done);
/* Reserves n bytes of zeroed address space; pages use memory once touched. */
int surg__os_reserve(size_t n, void **p);
void surg__os_release(void *p, size_t n);
/* Returns the memory of whole pages of reserved address space, whose content is lost; false: the
 * pages stay as they are. */
bool surg__os_drop_pages(void *p, size_t n);
/* Requests large pages for memory that is about to be filled. Only a hint: it cannot fail. */
void surg__os_large_pages(void *p, size_t n);
int surg__os_random(void *p, size_t n);
uint64_t surg__os_now_ns(void);
/* The last component of a path: a part of it. */
const char *surg__os_base_name(const char *path);
/* The path as libraries of this system expect it (UTF-16 on Windows), heap, free(). */
int surg__os_native_path(const char *path, void **out);
/* Splits a path into folder and last component; both are heap, free(). ENOMEM on failure. */
int surg__os_split(const char *path, char **dir, char **base);

#endif
