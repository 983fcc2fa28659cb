/* SPDX-License-Identifier: Apache-2.0 */
/* System calls: opening, reading, writing, memory, time. publish.c publishes new files. */
#include "base/os/os.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#ifdef __linux__
#include <linux/openat2.h>
#include <sys/syscall.h>
#endif

#include "base/os/fault.h"

/* Linux transfers at most this many bytes per call. */
#define LARGEST_TRANSFER 0x7ffff000u
/* Larger writes take longer per byte where it was measured: one of 1 MiB as long as 70 of these. */
#define LARGEST_WRITE ((size_t)128 << 10)
#define OPEN_TRIES 64

static int open_retry(int dirfd, const char *path, int flags, int *fd) {
  int r;
  do {
    r = openat(dirfd, path, flags | O_CLOEXEC);
  } while (r < 0 && errno == EINTR);
  if (r < 0) return errno;
  *fd = r;
  return 0;
}

int surg__os_open_read(int dirfd, const char *path, int *fd) {
  SURG_SYS_FAULT(EIO);
  return open_retry(dirfd < 0 ? AT_FDCWD : dirfd, path, O_RDONLY | O_NOCTTY, fd);
}

int surg__os_open_dir(const char *path, int *fd) {
  SURG_SYS_FAULT(EIO);
  return open_retry(AT_FDCWD, path, O_RDONLY | O_DIRECTORY, fd);
}

/* Fallback without openat2: opens one component at a time and follows no symbolic links. */
static int walk_beneath(int dirfd, const char *path, int flags, int *fd) {
  int at = dirfd, err = 0;
  const char *p = path;
  for (;;) {
    size_t n = strcspn(p, "/");
    char part[NAME_MAX + 1];
    if (n > NAME_MAX)
      err = ENAMETOOLONG;
    else if (n == 2 && p[0] == '.' && p[1] == '.')
      err = EXDEV;
    if (err) break;
    memcpy(part, p, n);
    part[n] = 0;
    p += n + strspn(p + n, "/");
    bool last = *p == 0;
    int next = -1;
    err =
        open_retry(at, n ? part : ".", O_NOFOLLOW | (last ? flags : O_RDONLY | O_DIRECTORY), &next);
    if (at != dirfd) close(at);
    at = dirfd;
    if (err || last) {
      *fd = next;
      break;
    }
    at = next;
  }
  if (at != dirfd) close(at);
  return err == ELOOP ? EXDEV : err;
}

#ifdef __linux__
/* Opens the path with openat2. ENOSYS: the kernel does not have it or denies it. */
static int open_resolved(int dirfd, const char *path, int flags, int *fd) {
  struct open_how how = {.flags = (unsigned)flags | O_CLOEXEC,
                         .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS};
  for (int i = 0; i < OPEN_TRIES; i++) {
    long r = syscall(SYS_openat2, dirfd, path, &how, sizeof how);
    if (r >= 0) {
      *fd = (int)r;
      return 0;
    }
    /* EAGAIN: a component was renamed during the lookup, so the kernel cannot guarantee that it is
     * beneath. */
    if (errno == EINTR || errno == EAGAIN) continue;
    return errno == EPERM ? ENOSYS : errno;
  }
  return EAGAIN;
}
#else
static int open_resolved(int dirfd, const char *path, int flags, int *fd) {
  (void)dirfd, (void)path, (void)flags, (void)fd;
  return ENOSYS;
}
#endif

int surg__os_open_beneath(int dirfd, const char *path, int *fd) {
  SURG_SYS_FAULT(EIO);
  if (path[0] == '/') return EXDEV;
  const int flags = O_RDONLY | O_NONBLOCK | O_NOCTTY;
  const int err = open_resolved(dirfd, path, flags, fd);
  return err == ENOSYS ? walk_beneath(dirfd, path, flags, fd) : err;
}

int surg__os_readlink(int dirfd, const char *path, char *out, size_t cap, size_t *n) {
  SURG_SYS_FAULT(EIO);
  ssize_t r = readlinkat(dirfd < 0 ? AT_FDCWD : dirfd, path, out, cap);
  if (r < 0) return errno;
  if ((size_t)r >= cap) return ENAMETOOLONG;
  out[r] = 0;
  *n = (size_t)r;
  return 0;
}

int surg__os_realpath(const char *path, char **out) {
  SURG_SYS_FAULT(ENOMEM);
  *out = realpath(path, NULL);
  return *out ? 0 : errno;
}

/* A stat is zeroed before it is filled: MemorySanitizer does not know fstat of newer glibc. */
static int fill_stat(int r, const struct stat *st, surg__stat *out) {
  if (r != 0) return errno;
  *out = (surg__stat){.size = (uint64_t)st->st_size,
                      .dev = (uint64_t)st->st_dev,
                      .ino = (uint64_t)st->st_ino,
                      .nlink = (uint64_t)st->st_nlink,
                      .mode = (uint32_t)st->st_mode,
                      .regular = S_ISREG(st->st_mode),
                      .directory = S_ISDIR(st->st_mode),
                      .fifo = S_ISFIFO(st->st_mode),
                      .device = S_ISCHR(st->st_mode) || S_ISBLK(st->st_mode),
                      .block = S_ISBLK(st->st_mode),
                      .provisional = st->st_mtime == SURG_OS_PROVISIONAL};
  return 0;
}

int surg__os_stat_fd(int fd, surg__stat *out) {
  SURG_SYS_FAULT(EIO);
  struct stat st = {0};
  return fill_stat(fstat(fd, &st), &st, out);
}

int surg__os_stat(const char *path, surg__stat *out) {
  SURG_SYS_FAULT(EIO);
  struct stat st = {0};
  return fill_stat(stat(path, &st), &st, out);
}

int surg__os_lstat(const char *path, surg__stat *out) {
  SURG_SYS_FAULT(EIO);
  struct stat st = {0};
  return fill_stat(lstat(path, &st), &st, out);
}

int surg__os_pread(int fd, void *p, size_t n, uint64_t off) {
  SURG_SYS_FAULT(EIO);
  uint8_t *out = p;
  while (n > 0) {
    if (off > INT64_MAX) return EOVERFLOW;
    ssize_t r = pread(fd, out, n < LARGEST_TRANSFER ? n : LARGEST_TRANSFER, (off_t)off);
    if (r < 0 && errno == EINTR) continue;
    if (r < 0) return errno;
    if (r == 0) return ENODATA;
    out += r;
    off += (uint64_t)r;
    n -= (size_t)r;
  }
  return 0;
}

int surg__os_read(int fd, void *p, size_t n, size_t *got) {
  SURG_SYS_FAULT(EIO);
  ssize_t r;
  do {
    r = read(fd, p, n < LARGEST_TRANSFER ? n : LARGEST_TRANSFER);
  } while (r < 0 && errno == EINTR);
  if (r < 0) return errno;
  *got = (size_t)r;
  return 0;
}

int surg__os_write(int fd, const void *p, size_t n) {
  SURG_SYS_FAULT(ENOSPC);
  const uint8_t *in = p;
  while (n > 0) {
    ssize_t r = write(fd, in, n < LARGEST_WRITE ? n : LARGEST_WRITE);
    if (r < 0 && errno == EINTR) continue;
    if (r < 0) return errno;
    in += r;
    n -= (size_t)r;
  }
  return 0;
}

int surg__os_pwrite(int fd, const void *p, size_t n, uint64_t off) {
  SURG_SYS_FAULT(ENOSPC);
  const uint8_t *in = p;
  while (n > 0) {
    if (off > INT64_MAX) return EOVERFLOW;
    ssize_t r = pwrite(fd, in, n < LARGEST_WRITE ? n : LARGEST_WRITE, (off_t)off);
    if (r < 0 && errno == EINTR) continue;
    if (r < 0) return errno;
    in += r;
    off += (uint64_t)r;
    n -= (size_t)r;
  }
  return 0;
}

int surg__os_close(int fd) {
  int r = close(fd);
  int err = r == 0 || errno == EINTR ? 0 : errno; /* the descriptor is closed in any case */
  SURG_SYS_FAULT(EIO);
  return err;
}

uint64_t surg__os_hole_end(int fd, uint64_t off, uint64_t end) {
#ifdef SEEK_DATA
  if (off > INT64_MAX || end <= off) return off;
  struct stat st = {0};
  const off_t data = lseek(fd, (off_t)off, SEEK_DATA);
  if (data >= 0) return (uint64_t)data < end ? (uint64_t)data : end;
  /* ENXIO: no data up to the end of the file, unless that has become shorter. */
  const bool last = errno == ENXIO && fstat(fd, &st) == 0 && (uint64_t)st.st_size >= end;
  return last ? end : off;
#else
  (void)fd, (void)end;
  return off;
#endif
}

#if defined(__linux__) && !defined(__EMSCRIPTEN__)
/* Where the data of `in` at `off` end, at most `end`. */
static uint64_t data_end(int in, uint64_t off, uint64_t end) {
  const off_t hole = lseek(in, (off_t)off, SEEK_HOLE);
  return hole > (off_t)off && (uint64_t)hole < end ? (uint64_t)hole : end;
}

/* Extends `out` by n zero bytes that need no space on the disk. False: it cannot be extended. */
static bool add_hole(int out, uint64_t n) {
  struct stat st = {0};
  const off_t at = lseek(out, 0, SEEK_CUR);
  if (at < 0 || n > (uint64_t)(INT64_MAX - at) || fstat(out, &st) != 0 || st.st_size > at)
    return false;
  return ftruncate(out, at + (off_t)n) == 0 && lseek(out, at + (off_t)n, SEEK_SET) >= 0;
}

/* Copies up to n bytes of data; *done as of surg__os_copy_range. */
static int copy_data(int in, uint64_t in_off, int out, uint64_t n, uint64_t *done) {
  loff_t off = (loff_t)in_off;
  while (n > 0) {
    ssize_t r = copy_file_range(in, &off, out, NULL,
                                n < LARGEST_TRANSFER ? (size_t)n : LARGEST_TRANSFER, 0);
    if (r < 0 && errno == EINTR) continue;
    if (r < 0) switch (errno) {
        case ENOSPC:
        case EIO:
        case EFBIG:
        case EDQUOT:
          return errno;
        default:
          return 0; /* not supported for these files: the caller copies with reads and writes */
      }
    if (r == 0) return 0;
    *done += (uint64_t)r;
    n -= (uint64_t)r;
  }
  return 0;
}
#endif

int surg__os_copy_range(int in, uint64_t in_off, int out, uint64_t n, uint64_t *done) {
  *done = 0;
  SURG_SYS_FAULT(EIO);
  if (in_off > INT64_MAX || n > INT64_MAX - in_off) return EOVERFLOW;
#if defined(__EMSCRIPTEN__) || !defined(__linux__)
  (void)in, (void)out, (void)n; /* no such call: the caller copies with reads and writes */
  return 0;
#else
  struct stat st = {0};
  if (fstat(in, &st) != 0) return errno;
  /* What the file lacks is left to the caller, whose reads report it. */
  const uint64_t size = st.st_size > 0 ? (uint64_t)st.st_size : 0;
  const uint64_t end = in_off + n < size ? in_off + n : size;
  for (uint64_t at = in_off; at < end;) {
    const uint64_t hole = surg__os_hole_end(in, at, end) - at;
    if (hole) {
      if (!add_hole(out, hole)) return 0;
      *done += hole;
      at += hole;
      continue;
    }
    const uint64_t before = *done, part = data_end(in, at, end) - at;
    const int e = copy_data(in, at, out, part, done);
    if (e || *done - before < part) return e;
    at += part;
  }
  return 0;
#endif
}

#ifdef __EMSCRIPTEN__
/* The last released region: memory of WebAssembly cannot be returned. */
static struct {
  void *p;
  size_t n;
} spare;

/* Memory that sbrk adds is zero, and the engine commits its pages once they are touched; that of
 * mmap is filled here. */
int surg__os_reserve(size_t n, void **p) {
  if (n <= spare.n) {
    memset(spare.p, 0, n);
    *p = spare.p;
    spare.n = 0;
    return 0;
  }
  const size_t unit = 16, half = (n / 2 / unit + 1) * unit; /* sbrk moves less than 2 GiB */
  void *first = sbrk((intptr_t)half), *second = NULL;
  if (first != (void *)-1) second = sbrk((intptr_t)half);
  if (first == (void *)-1 || second != (char *)first + half) return ENOMEM;
  *p = first;
  return 0;
}

void surg__os_release(void *p, size_t n) {
  if (p && n > spare.n) spare.p = p, spare.n = n;
}
#else
int surg__os_reserve(size_t n, void **p) {
  SURG_SYS_FAULT(ENOMEM);
  void *m =
      mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (m == MAP_FAILED) return errno;
  *p = m;
  return 0;
}

void surg__os_release(void *p, size_t n) {
  if (p) munmap(p, n);
}
#endif

/* Fills up to n random bytes; returns their number, or -1. */
static ssize_t random_bytes(void *p, size_t n) {
#if defined(__EMSCRIPTEN__) || !defined(__linux__)
  const size_t most = 256; /* the most that getentropy accepts */
  if (n > most) n = most;
  return getentropy(p, n) == 0 ? (ssize_t)n : -1;
#else
  return getrandom(p, n, 0);
#endif
}

int surg__os_random(void *p, size_t n) {
  SURG_SYS_FAULT(EIO);
  uint8_t *out = p;
  while (n > 0) {
    ssize_t r = random_bytes(out, n);
    if (r < 0 && errno == EINTR) continue;
    if (r < 0) return errno;
    out += r;
    n -= (size_t)r;
  }
  return 0;
}

bool surg__os_drop_pages(void *p, size_t n) {
#if defined(MADV_DONTNEED) && !defined(__EMSCRIPTEN__)
  return madvise(p, n, MADV_DONTNEED) == 0;
#else
  (void)p, (void)n;
  return false;
#endif
}

void surg__os_large_pages(void *p, size_t n) {
#ifdef MADV_HUGEPAGE
  const uintptr_t page = (uintptr_t)2 << 20, from = ((uintptr_t)p + page - 1) & ~(page - 1);
  const uintptr_t to = ((uintptr_t)p + n) & ~(page - 1);
  if (to > from) (void)madvise((char *)p + (from - (uintptr_t)p), to - from, MADV_HUGEPAGE);
#else
  (void)p, (void)n;
#endif
}

uint64_t surg__os_now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

const char *surg__os_base_name(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

int surg__os_split(const char *path, char **dir, char **base) {
  const char *name = surg__os_base_name(path);
  const size_t n = (size_t)(name - path); /* with the slash */
  *base = strdup(name);
  *dir = n ? strndup(path, n > 1 ? n - 1 : 1) : strdup(".");
  if (*dir && *base) return 0;
  free(*dir);
  free(*base);
  *dir = *base = NULL;
  return ENOMEM;
}
