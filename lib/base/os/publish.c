/* SPDX-License-Identifier: Apache-2.0 */
/* Atomic creation of files: each is written unnamed or under a temporary name, then given its final
 * name. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/os/os.h"
#include "base/os/deadline.h"
#include "base/os/fault.h"
#include "base/os/unfinished.h"

#define NAME_TRIES 100

/* "DIR/.onnxsurg-<16 hex digits>" in heap; NULL without memory. */
static char *temp_name(const char *dir, unsigned salt) {
  uint64_t r;
  if (surg__os_random(&r, sizeof r) != 0) r = surg__os_now_ns() + salt + ((uint64_t)getpid() << 32);
  char *name = NULL;
  if (asprintf(&name, "%s/.onnxsurg-%016llx", dir, (unsigned long long)r) < 0) return NULL;
  return name;
}

/* Creates a new file with a temporary name; the mode follows the umask, unlike mkstemp's. */
static int create_named(const char *dir, int *fd, char **name) {
  for (unsigned i = 0; i < NAME_TRIES; i++) {
    char *path = temp_name(dir, i);
    if (!path) return ENOMEM;
    surg__os_unfinished(path); /* before the file is there: the name is no other file's */
    int r = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (r >= 0) {
      *fd = r;
      *name = path;
      return 0;
    }
    int err = errno;
    surg__os_finished(path);
    free(path);
    if (err != EEXIST && err != EINTR) return err;
  }
  return EEXIST;
}

#if defined(__EMSCRIPTEN__) || !defined(O_TMPFILE)
/* Files without a name are not available here. */
static int create_unnamed(const char *dir, int flags, unsigned mode) {
  (void)dir, (void)flags, (void)mode;
  return -1;
}
#else
static int create_unnamed(const char *dir, int flags, unsigned mode) {
  return open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC | flags, mode);
}
#endif

int surg__os_open_write(const char *path, int *fd) {
  SURG_SYS_FAULT(EIO);
  do {
    *fd = open(path, O_WRONLY | O_NOCTTY | O_CLOEXEC);
  } while (*fd < 0 && errno == EINTR);
  return *fd < 0 ? errno : 0;
}

int surg__os_temp(int *fd) {
  SURG_SYS_FAULT(ENOSPC);
  const char *dir = getenv("TMPDIR");
  if (!dir || !*dir) dir = "/tmp";
  int r = create_unnamed(dir, O_EXCL, 0600);
  if (r >= 0) {
    *fd = r;
    return 0;
  }
  char *name;
  int err = create_named(dir, fd, &name);
  if (err) return err;
  unlink(name);
  surg__os_finished(name);
  free(name);
  return 0;
}

/* Whether linkat can name an unnamed file later. */
static bool can_link_unnamed(void) {
  return access("/proc/self/fd", X_OK) == 0;
}

int surg__os_temp_in(const char *dir, int *fd, char **name) {
  SURG_SYS_FAULT(EACCES);
  *name = NULL;
  if (can_link_unnamed()) {
    int r = create_unnamed(dir, 0, 0666);
    if (r >= 0) {
      *fd = r;
      return 0;
    }
  }
  return create_named(dir, fd, name);
}

static int link_fd(int fd, const char *path) {
  if (SURG_SYS_FAULTS()) return ENOSPC;
  char from[32];
  snprintf(from, sizeof from, "/proc/self/fd/%d", fd);
  return linkat(AT_FDCWD, from, AT_FDCWD, path, AT_SYMLINK_FOLLOW) == 0 ? 0 : errno;
}

/* Links the unnamed file under a temporary name in the folder of `path`. */
static int name_unnamed(int fd, const char *path, char **name) {
  char *dir, *base;
  int err = surg__os_split(path, &dir, &base);
  if (err) return err;
  err = EEXIST;
  for (unsigned i = 0; i < NAME_TRIES && err == EEXIST; i++) {
    char *candidate = temp_name(dir, i);
    err = candidate ? link_fd(fd, candidate) : ENOMEM;
    if (err)
      free(candidate);
    else
      *name = candidate;
  }
  free(dir);
  free(base);
  return err;
}

static int rename_to(const char *name, const char *path) {
  return SURG_SYS_FAULTS() ? EIO : rename(name, path) == 0 ? 0 : errno;
}

/* Ends publishing; `name`: the temporary name that is left, or NULL. */
static int finish(int fd, char *name, int err) {
  if (name && err) unlink(name);
  if (name) surg__os_finished(name);
  free(name);
  int closed = surg__os_close(fd);
  (void)closed; /* an error is harmless: the data was written and, if requested, synced before */
  return err;
}

int surg__os_publish(int fd, char *name, const char *path) {
  int err = 0;
  surg__os_deadline_commit();
  surg__os_hold_end();
  if (!name) {
    err = link_fd(fd, path);
    if (err == EEXIST) err = name_unnamed(fd, path, &name);
  }
  if (!err && name) err = rename_to(name, path);
  err = finish(fd, name, err);
  surg__os_release_end();
  return err;
}

/* Moves a named file to a path that no file has. */
static int move_new(const char *name, const char *path) {
  if (SURG_SYS_FAULTS()) return EIO;
  if (link(name, path) == 0) {
    unlink(name);
    return 0;
  }
  int err = errno;
  if (err != EPERM && err != EOPNOTSUPP && err != ENOSYS && err != EMLINK) return err;
  /* The folder has no hard links: an empty file reserves the path against other processes. */
  const int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (fd < 0) return errno;
  close(fd);
  err = rename_to(name, path);
  if (err) unlink(path);
  return err;
}

int surg__os_publish_new(int fd, char *name, const char *path) {
  surg__os_deadline_commit();
  surg__os_hold_end();
  int err = name ? move_new(name, path) : link_fd(fd, path);
  if (err != EEXIST) err = finish(fd, name, err);
  surg__os_release_end();
  return err;
}

int surg__os_provisional(int fd) {
  SURG_SYS_FAULT(EIO);
  const struct timespec times[] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = SURG_OS_PROVISIONAL}};
  return futimens(fd, times) == 0 ? 0 : errno;
}

int surg__os_confirm(const char *path) {
  SURG_SYS_FAULT(EIO);
  const struct timespec times[] = {{.tv_nsec = UTIME_OMIT}, {.tv_nsec = UTIME_NOW}};
  return utimensat(AT_FDCWD, path, times, AT_SYMLINK_NOFOLLOW) == 0 ? 0 : errno;
}

void surg__os_discard(int fd, char *name) {
  if (fd >= 0) close(fd);
  if (name) unlink(name);
  if (name) surg__os_finished(name);
  free(name);
}

int surg__os_copy_mode(int fd, const char *like) {
  SURG_SYS_FAULT(EIO);
  struct stat st = {0};
  if (stat(like, &st) != 0) return errno == ENOENT ? 0 : errno;
  return fchmod(fd, st.st_mode & 0777) == 0 ? 0 : errno;
}

int surg__os_unlink(const char *path) {
  SURG_SYS_FAULT(EIO);
  return unlink(path) == 0 ? 0 : errno;
}

int surg__os_fsync(int fd) {
  SURG_SYS_FAULT(EIO);
  int r;
  do {
    r = fsync(fd);
  } while (r != 0 && errno == EINTR);
  return r == 0 || errno == EINVAL || errno == EROFS ? 0 : errno; /* EINVAL: a pipe or device */
}

int surg__os_fsync_dir(const char *path) {
  int fd;
  int err = surg__os_open_dir(path, &fd);
  if (err) return err;
  err = surg__os_fsync(fd);
  close(fd);
  return err;
}
