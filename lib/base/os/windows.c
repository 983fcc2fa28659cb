/* SPDX-License-Identifier: Apache-2.0 */
/* Windows: opening, reading, writing, memory, time. Paths are UTF-8; '/' and '\' separate. */
#include "base/os/windows.h"

#include <errno.h>
#include <fcntl.h>
#include <io.h>
#include <ntsecapi.h>
#include <stdlib.h>
#include <string.h>

#include "base/os/fault.h"

#define LARGEST_TRANSFER 0x40000000u /* bytes of one call */
#define SHARE_ALL (FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE)
#define PATH_MOST 32768u /* characters of the longest path */

/* ---- text, errors, handles ----------------------------------------------------------------- */

int surg__os_errno(DWORD error) {
  static const struct {
    DWORD error;
    int number;
  } known[] = {{ERROR_FILE_NOT_FOUND, ENOENT},
               {ERROR_PATH_NOT_FOUND, ENOENT},
               {ERROR_INVALID_NAME, ENOENT},
               {ERROR_BAD_PATHNAME, ENOENT},
               {ERROR_BAD_NETPATH, ENOENT},
               {ERROR_INVALID_DRIVE, ENOENT},
               {ERROR_ACCESS_DENIED, EACCES},
               {ERROR_SHARING_VIOLATION, EACCES},
               {ERROR_LOCK_VIOLATION, EACCES},
               {ERROR_WRITE_PROTECT, EROFS},
               {ERROR_FILE_EXISTS, EEXIST},
               {ERROR_ALREADY_EXISTS, EEXIST},
               {ERROR_NOT_ENOUGH_MEMORY, ENOMEM},
               {ERROR_OUTOFMEMORY, ENOMEM},
               {ERROR_COMMITMENT_LIMIT, ENOMEM},
               {ERROR_DISK_FULL, ENOSPC},
               {ERROR_HANDLE_DISK_FULL, ENOSPC},
               {ERROR_DIR_NOT_EMPTY, ENOTEMPTY},
               {ERROR_DIRECTORY, ENOTDIR},
               {ERROR_BROKEN_PIPE, EPIPE},
               {ERROR_NO_DATA, EPIPE},
               {ERROR_INVALID_HANDLE, EBADF},
               {ERROR_FILENAME_EXCED_RANGE, ENAMETOOLONG},
               {ERROR_BUFFER_OVERFLOW, ENAMETOOLONG},
               {ERROR_TOO_MANY_OPEN_FILES, EMFILE},
               {ERROR_NOT_SAME_DEVICE, EXDEV},
               {ERROR_INVALID_FUNCTION, EINVAL},
               {ERROR_INVALID_PARAMETER, EINVAL}};
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if (known[i].error == error) return known[i].number;
  return EIO;
}

int surg__os_last_errno(void) {
  return surg__os_errno(GetLastError());
}

wchar_t *surg__os_wide(const char *text) {
  const int n = MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, text, -1, NULL, 0);
  wchar_t *out = n > 0 ? malloc((size_t)n * sizeof *out) : NULL;
  if (out && MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, text, -1, out, n) == n) return out;
  errno = n > 0 ? ENOMEM : EILSEQ;
  free(out);
  return NULL;
}

char *surg__os_narrow(const wchar_t *text) {
  const int n = WideCharToMultiByte(CP_UTF8, 0, text, -1, NULL, 0, NULL, NULL);
  char *out = n > 0 ? malloc((size_t)n) : NULL;
  if (out && WideCharToMultiByte(CP_UTF8, 0, text, -1, out, n, NULL, NULL) == n) return out;
  errno = n > 0 ? ENOMEM : EILSEQ;
  free(out);
  return NULL;
}

HANDLE surg__os_handle(int fd) {
  return fd < 0 ? INVALID_HANDLE_VALUE : (HANDLE)_get_osfhandle(fd);
}

int surg__os_create(const char *path, DWORD access, DWORD how, DWORD flags, HANDLE *out) {
  wchar_t *wide = surg__os_wide(path);
  if (!wide) return errno == EILSEQ ? ENOENT : errno;
  *out = CreateFileW(wide, access, SHARE_ALL, NULL, how, flags, NULL);
  const int err = *out == INVALID_HANDLE_VALUE ? surg__os_last_errno() : 0;
  free(wide);
  return err;
}

int surg__os_descriptor(HANDLE h, int flags, int *fd) {
  const int r = _open_osfhandle((intptr_t)h, flags | _O_BINARY | _O_NOINHERIT);
  if (r < 0) {
    CloseHandle(h);
    return EMFILE;
  }
  *fd = r;
  return 0;
}

/* ---- opening ------------------------------------------------------------------------------- */

static bool is_separator(char c) {
  return c == '/' || c == '\\';
}

/* "FOLDER/PATH" for a folder that is open, heap. */
static int join(int dirfd, const char *path, char **out) {
  wchar_t *wide = malloc(PATH_MOST * sizeof *wide);
  const DWORD n = wide ? GetFinalPathNameByHandleW(surg__os_handle(dirfd), wide, PATH_MOST, 0) : 0;
  char *folder = n && n < PATH_MOST ? surg__os_narrow(wide) : NULL;
  const size_t room = folder ? strlen(folder) + strlen(path) + 2 : 0;
  *out = folder ? malloc(room) : NULL;
  if (*out) {
    snprintf(*out, room, "%s\\%s", folder, path);
    /* Such a path is taken literally by the system: '/' does not separate there. */
    for (char *p = *out; *p; p++)
      if (*p == '/') *p = '\\';
  }
  const int err = *out ? 0 : !wide || folder ? ENOMEM : surg__os_last_errno();
  free(folder);
  free(wide);
  return err;
}

/* Whether a path may leave its folder by its text: "..", a drive, a stream, a root. */
static bool leaves(const char *path) {
  if (is_separator(*path) || strchr(path, ':')) return true;
  for (const char *p = path; *p;) {
    const size_t n = strcspn(p, "/\\");
    if (n == 2 && p[0] == '.' && p[1] == '.') return true;
    p += n;
    p += strspn(p, "/\\");
  }
  return false;
}

/* Reads the attributes of a path without following a link. */
static int attributes_of(const char *path, DWORD *out) {
  wchar_t *wide = surg__os_wide(path);
  if (!wide) return errno == EILSEQ ? ENOENT : errno;
  *out = GetFileAttributesW(wide);
  const int err = *out == INVALID_FILE_ATTRIBUTES ? surg__os_last_errno() : 0;
  free(wide);
  return err;
}

/* EXDEV if a component of `path` from byte `from` on is a link. */
static int reject_links(char *path, size_t from) {
  for (char *p = path + from;; p++) {
    p += strcspn(p, "\\");
    const char kept = *p;
    DWORD attributes = 0;
    *p = 0;
    const int err = attributes_of(path, &attributes);
    *p = kept;
    if (err) return err;
    if (attributes & FILE_ATTRIBUTE_REPARSE_POINT) return EXDEV;
    if (!kept) return 0;
  }
}

static int open_handle(const char *path, int *fd) {
  HANDLE h;
  const int err =
      surg__os_create(path, GENERIC_READ, OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS, &h);
  return err ? err : surg__os_descriptor(h, _O_RDONLY, fd);
}

int surg__os_open_read(int dirfd, const char *path, int *fd) {
  SURG_SYS_FAULT(EIO);
  if (dirfd < 0 || is_separator(*path) || strchr(path, ':')) return open_handle(path, fd);
  char *whole;
  int err = join(dirfd, path, &whole);
  if (!err) err = open_handle(whole, fd);
  if (!err) free(whole);
  return err;
}

int surg__os_open_beneath(int dirfd, const char *path, int *fd) {
  SURG_SYS_FAULT(EIO);
  if (leaves(path)) return EXDEV;
  char *whole;
  int err = join(dirfd, path, &whole);
  if (err) return err;
  err = reject_links(whole, strlen(whole) - strlen(path));
  if (!err) err = open_handle(whole, fd);
  free(whole);
  return err;
}

int surg__os_open_dir(const char *path, int *fd) {
  SURG_SYS_FAULT(EIO);
  DWORD attributes;
  const int err = attributes_of(path, &attributes);
  if (err) return err;
  return attributes & FILE_ATTRIBUTE_DIRECTORY ? open_handle(path, fd) : ENOTDIR;
}

int surg__os_readlink(int dirfd, const char *path, char *out, size_t cap, size_t *n) {
  (void)dirfd, (void)path, (void)out, (void)cap, (void)n;
  return EINVAL; /* links are not read: a data file that is one is refused */
}

int surg__os_alike(int dirfd, const char *path, char *out, size_t cap) {
  (void)dirfd, (void)path, (void)out, (void)cap;
  return ENOENT; /* the system itself ignores case and accepts both separators */
}

int surg__os_realpath(const char *path, char **out) {
  SURG_SYS_FAULT(ENOMEM);
  HANDLE h;
  int err = surg__os_create(path, 0, OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS, &h);
  if (err) return err;
  wchar_t *wide = malloc(PATH_MOST * sizeof *wide);
  const DWORD n = wide ? GetFinalPathNameByHandleW(h, wide, PATH_MOST, 0) : 0;
  *out = n && n < PATH_MOST ? surg__os_narrow(wide) : NULL;
  if (!*out) err = wide ? surg__os_last_errno() : ENOMEM;
  free(wide);
  CloseHandle(h);
  return err;
}

int surg__os_open_write(const char *path, int *fd) {
  SURG_SYS_FAULT(EIO);
  HANDLE h;
  const int err = surg__os_create(path, GENERIC_WRITE, OPEN_EXISTING, 0, &h);
  return err ? err : surg__os_descriptor(h, _O_WRONLY, fd);
}

/* ---- facts of files ------------------------------------------------------------------------ */

/* SURG_OS_PROVISIONAL in intervals of 100 ns since 1601. */
#define PROVISIONAL ((SURG_OS_PROVISIONAL + 11644473600ull) * 10000000)

static int set_written(HANDLE h, uint64_t time) {
  const FILETIME t = {(DWORD)time, (DWORD)(time >> 32)};
  return SetFileTime(h, NULL, NULL, &t) ? 0 : surg__os_last_errno();
}

int surg__os_provisional(int fd) {
  SURG_SYS_FAULT(EIO);
  return set_written(surg__os_handle(fd), PROVISIONAL);
}

int surg__os_confirm(const char *path) {
  SURG_SYS_FAULT(EIO);
  HANDLE h;
  FILETIME now;
  int err = surg__os_create(path, FILE_WRITE_ATTRIBUTES, OPEN_EXISTING, 0, &h);
  if (err) return err;
  GetSystemTimeAsFileTime(&now);
  err = set_written(h, (uint64_t)now.dwHighDateTime << 32 | now.dwLowDateTime);
  CloseHandle(h);
  return err;
}

static int fill_stat(HANDLE h, surg__stat *out) {
  BY_HANDLE_FILE_INFORMATION i;
  const DWORD type = GetFileType(h);
  *out = (surg__stat){.nlink = 1, .fifo = type == FILE_TYPE_PIPE, .device = type == FILE_TYPE_CHAR};
  if (type == FILE_TYPE_PIPE || type == FILE_TYPE_CHAR) return 0;
  if (!GetFileInformationByHandle(h, &i)) return surg__os_last_errno();
  const bool link = i.dwFileAttributes & FILE_ATTRIBUTE_REPARSE_POINT;
  out->size = (uint64_t)i.nFileSizeHigh << 32 | i.nFileSizeLow;
  out->dev = i.dwVolumeSerialNumber;
  out->ino = (uint64_t)i.nFileIndexHigh << 32 | i.nFileIndexLow;
  out->nlink = i.nNumberOfLinks;
  out->directory = !link && i.dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY;
  out->regular = !link && !out->directory;
  out->provisional = ((uint64_t)i.ftLastWriteTime.dwHighDateTime << 32 |
                      i.ftLastWriteTime.dwLowDateTime) == PROVISIONAL;
  return 0;
}

static int stat_path(const char *path, DWORD flags, surg__stat *out) {
  HANDLE h;
  int err = surg__os_create(path, FILE_READ_ATTRIBUTES, OPEN_EXISTING,
                            FILE_FLAG_BACKUP_SEMANTICS | flags, &h);
  if (err) return err;
  err = fill_stat(h, out);
  CloseHandle(h);
  return err;
}

int surg__os_stat_fd(int fd, surg__stat *out) {
  SURG_SYS_FAULT(EIO);
  return fill_stat(surg__os_handle(fd), out);
}

int surg__os_stat(const char *path, surg__stat *out) {
  SURG_SYS_FAULT(EIO);
  return stat_path(path, 0, out);
}

int surg__os_lstat(const char *path, surg__stat *out) {
  SURG_SYS_FAULT(EIO);
  const int err = stat_path(path, 0, out);
  surg__stat link;
  if (stat_path(path, FILE_FLAG_OPEN_REPARSE_POINT, &link)) return err;
  if (!link.regular && !link.directory) *out = link;
  return 0;
}

/* ---- reading and writing ------------------------------------------------------------------- */

static OVERLAPPED at_offset(uint64_t off) {
  return (OVERLAPPED){.Offset = (DWORD)off, .OffsetHigh = (DWORD)(off >> 32)};
}

int surg__os_pread(int fd, void *p, size_t n, uint64_t off) {
  SURG_SYS_FAULT(EIO);
  uint8_t *out = p;
  while (n > 0) {
    OVERLAPPED at = at_offset(off);
    DWORD got = 0;
    if (!ReadFile(surg__os_handle(fd), out, n < LARGEST_TRANSFER ? (DWORD)n : LARGEST_TRANSFER,
                  &got, &at))
      return GetLastError() == ERROR_HANDLE_EOF ? ENODATA : surg__os_last_errno();
    if (got == 0) return ENODATA;
    out += got;
    off += got;
    n -= got;
  }
  return 0;
}

int surg__os_read(int fd, void *p, size_t n, size_t *got) {
  SURG_SYS_FAULT(EIO);
  DWORD read = 0;
  *got = 0;
  if (!ReadFile(surg__os_handle(fd), p, n < LARGEST_TRANSFER ? (DWORD)n : LARGEST_TRANSFER, &read,
                NULL) &&
      GetLastError() != ERROR_BROKEN_PIPE && GetLastError() != ERROR_HANDLE_EOF)
    return surg__os_last_errno();
  *got = read;
  return 0;
}

static int write_all(int fd, const uint8_t *in, size_t n, uint64_t *off) {
  while (n > 0) {
    OVERLAPPED at = at_offset(off ? *off : 0);
    DWORD put = 0;
    if (!WriteFile(surg__os_handle(fd), in, n < LARGEST_TRANSFER ? (DWORD)n : LARGEST_TRANSFER,
                   &put, off ? &at : NULL))
      return surg__os_last_errno();
    in += put;
    n -= put;
    if (off) *off += put;
  }
  return 0;
}

int surg__os_write(int fd, const void *p, size_t n) {
  SURG_SYS_FAULT(ENOSPC);
  return write_all(fd, p, n, NULL);
}

int surg__os_pwrite(int fd, const void *p, size_t n, uint64_t off) {
  SURG_SYS_FAULT(ENOSPC);
  return write_all(fd, p, n, &off);
}

int surg__os_close(int fd) {
  const int err = _close(fd) == 0 ? 0 : errno;
  SURG_SYS_FAULT(EIO);
  return err;
}

uint64_t surg__os_hole_end(int fd, uint64_t off, uint64_t end) {
  (void)fd, (void)end;
  return off;
}

int surg__os_copy_range(int in, uint64_t in_off, int out, uint64_t n, uint64_t *done) {
  (void)in, (void)in_off, (void)out, (void)n;
  *done = 0; /* no such call: the caller copies with reads and writes */
  return 0;
}

/* ---- memory, time, random bytes ------------------------------------------------------------ */

/* Pages use memory once touched; the system promises them at once, unlike elsewhere. */
int surg__os_reserve(size_t n, void **p) {
  SURG_SYS_FAULT(ENOMEM);
  *p = VirtualAlloc(NULL, n, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE);
  return *p ? 0 : ENOMEM;
}

void surg__os_release(void *p, size_t n) {
  (void)n;
  if (p) VirtualFree(p, 0, MEM_RELEASE);
}

bool surg__os_drop_pages(void *p, size_t n) {
  (void)p, (void)n;
  return false;
}

void surg__os_large_pages(void *p, size_t n) {
  (void)p, (void)n; /* needs a privilege that users do not have */
}

int surg__os_random(void *p, size_t n) {
  SURG_SYS_FAULT(EIO);
  uint8_t *out = p;
  for (; n > 0;) {
    const ULONG part = n < LARGEST_TRANSFER ? (ULONG)n : LARGEST_TRANSFER;
    if (!RtlGenRandom(out, part)) return EIO;
    out += part;
    n -= part;
  }
  return 0;
}

uint64_t surg__os_now_ns(void) {
  LARGE_INTEGER ticks, rate;
  QueryPerformanceCounter(&ticks);
  QueryPerformanceFrequency(&rate);
  const uint64_t t = (uint64_t)ticks.QuadPart, f = (uint64_t)rate.QuadPart;
  return t / f * 1000000000u + t % f * 1000000000u / f;
}
