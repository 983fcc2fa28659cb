/* SPDX-License-Identifier: Apache-2.0 */
/* Windows: folders, paths, streams, and the atomic creation of files. */
#include <errno.h>
#include <fcntl.h>
#include <io.h>
#include <stdlib.h>
#include <string.h>

#include "base/os/deadline.h"
#include "base/os/fault.h"
#include "base/os/windows.h"

#define NAME_TRIES 100
#define SHORT_NAME 64u    /* bytes that a path in a temporary folder needs beyond the folder's */
#define RENAME_INFO_EX 22 /* FileRenameInfoEx, which older headers lack */
#define RENAME_REPLACE 1u
#define RENAME_POSIX 2u /* replaces a file that is open */

struct surg__os_folder {
  HANDLE find;
  WIN32_FIND_DATAW entry;
  bool fresh; /* `entry` is not returned yet */
  char *name; /* returned last */
};

/* ---- paths --------------------------------------------------------------------------------- */

const char *surg__os_base_name(const char *path) {
  const char *name = path;
  for (const char *p = path; *p; p++)
    if (*p == '/' || *p == '\\' || *p == ':') name = p + 1;
  return name;
}

int surg__os_split(const char *path, char **dir, char **base) {
  const char *name = surg__os_base_name(path);
  size_t n = (size_t)(name - path);
  /* A root keeps its separator: "/", "C:/", and "C:" is the folder of that drive. */
  if (n > 1 && name[-1] != ':' && path[n - 2] != ':') n--;
  *base = strdup(name);
  *dir = n ? malloc(n + 1) : strdup(".");
  if (*dir && n) {
    memcpy(*dir, path, n);
    (*dir)[n] = 0;
  }
  if (*dir && *base) return 0;
  free(*dir);
  free(*base);
  *dir = *base = NULL;
  return ENOMEM;
}

/* Calls a function of the system with a path. */
static int with_path(const char *path, BOOL(WINAPI *call)(LPCWSTR)) {
  wchar_t *wide = surg__os_wide(path);
  if (!wide) return errno == EILSEQ ? ENOENT : errno;
  const int err = call(wide) ? 0 : surg__os_last_errno();
  free(wide);
  return err;
}

static BOOL WINAPI create_folder(LPCWSTR path) {
  return CreateDirectoryW(path, NULL);
}

static BOOL WINAPI has_attributes(LPCWSTR path) {
  return GetFileAttributesW(path) != INVALID_FILE_ATTRIBUTES;
}

bool surg__os_exists(const char *path) {
  return with_path(path, has_attributes) == 0;
}

int surg__os_unlink(const char *path) {
  SURG_SYS_FAULT(EIO);
  return with_path(path, DeleteFileW);
}

int surg__os_make_folder(const char *path) {
  SURG_SYS_FAULT(ENOSPC);
  return with_path(path, create_folder);
}

int surg__os_remove_folder(const char *path) {
  SURG_SYS_FAULT(EIO);
  return with_path(path, RemoveDirectoryW);
}

int surg__os_native_path(const char *path, void **out) {
  *out = surg__os_wide(path);
  return *out ? 0 : errno;
}

/* ---- temporary files ----------------------------------------------------------------------- */

/* The folder for temporary files, heap; ends with a separator or not. */
static char *temp_root(void) {
  const char *given = getenv("TMPDIR");
  if (given && *given) return strdup(given);
  wchar_t wide[MAX_PATH + 1];
  const DWORD n = GetTempPathW(MAX_PATH + 1, wide);
  return n && n <= MAX_PATH ? surg__os_narrow(wide) : NULL;
}

/* "DIR/STEM<16 hex digits>" in heap; NULL without memory. */
static char *temp_name(const char *dir, const char *stem, unsigned salt) {
  uint64_t r;
  if (surg__os_random(&r, sizeof r) != 0)
    r = surg__os_now_ns() + salt + ((uint64_t)GetCurrentProcessId() << 32);
  const size_t room = strlen(dir) + strlen(stem) + 20;
  char *name = malloc(room);
  if (name) snprintf(name, room, "%s/%s%016llx", dir, stem, (unsigned long long)r);
  return name;
}

static int create_new(const char *dir, DWORD flags, int *fd, char **name) {
  for (unsigned i = 0; i < NAME_TRIES; i++) {
    HANDLE h;
    char *path = temp_name(dir, ".onnxsurg-", i);
    if (!path) return ENOMEM;
    int err = surg__os_create(path, GENERIC_READ | GENERIC_WRITE | DELETE, CREATE_NEW, flags, &h);
    if (!err) {
      err = surg__os_descriptor(h, _O_RDWR, fd);
      if (!err && name) *name = path;
      if (err || !name) free(path);
      return err;
    }
    free(path);
    if (err != EEXIST) return err;
  }
  return EEXIST;
}

int surg__os_temp(int *fd) {
  SURG_SYS_FAULT(ENOSPC);
  char *root = temp_root();
  if (!root) return ENOMEM;
  const int err = create_new(root, FILE_ATTRIBUTE_TEMPORARY | FILE_FLAG_DELETE_ON_CLOSE, fd, NULL);
  free(root);
  return err;
}

int surg__os_temp_in(const char *dir, int *fd, char **name) {
  SURG_SYS_FAULT(EACCES);
  *name = NULL;
  return create_new(dir, FILE_ATTRIBUTE_NORMAL, fd, name);
}

int surg__os_temp_folder(const char *stem, char *out, size_t cap) {
  SURG_SYS_FAULT(ENOSPC);
  char *root = temp_root();
  int err = root ? EEXIST : ENOMEM;
  for (unsigned i = 0; i < NAME_TRIES && err == EEXIST; i++) {
    char *path = temp_name(root, stem, i);
    err = !path                             ? ENOMEM
          : strlen(path) + SHORT_NAME > cap ? ENAMETOOLONG
                                            : surg__os_make_folder(path);
    if (!err) memcpy(out, path, strlen(path) + 1);
    free(path);
  }
  free(root);
  return err;
}

/* Renames an open file in place of one that may be open, too: systems since Windows 10. */
static bool rename_open(int fd, const wchar_t *path, bool replaces) {
  const size_t bytes = wcslen(path) * sizeof *path;
  const size_t room = sizeof(FILE_RENAME_INFO) + bytes;
  FILE_RENAME_INFO *info = calloc(1, room);
  if (!info) return false;
  const DWORD flags = RENAME_POSIX | (replaces ? RENAME_REPLACE : 0);
  memcpy(info, &flags, sizeof flags); /* the first member, a union in newer headers */
  info->FileNameLength = (DWORD)bytes;
  memcpy(info->FileName, path, bytes);
  const bool done = SetFileInformationByHandle(
      surg__os_handle(fd), (FILE_INFO_BY_HANDLE_CLASS)RENAME_INFO_EX, info, (DWORD)room);
  free(info);
  return done;
}

static int rename_to(int fd, const char *name, const char *path, bool replaces) {
  wchar_t full[MAX_PATH * 4];
  wchar_t *from = surg__os_wide(name), *to = surg__os_wide(path);
  int err = from && to ? 0 : ENOMEM;
  const DWORD n = to ? GetFullPathNameW(to, MAX_PATH * 4, full, NULL) : 0;
  const bool whole = n && n < MAX_PATH * 4;
  if (!err && !(whole && rename_open(fd, full, replaces)) &&
      !MoveFileExW(from, to, replaces ? MOVEFILE_REPLACE_EXISTING : 0))
    err = surg__os_last_errno();
  free(from);
  free(to);
  return err;
}

static int finish(int fd, char *name, int err) {
  const int closed = surg__os_close(fd);
  (void)closed; /* an error is harmless: the data was written and, if requested, flushed before */
  if (err) surg__os_unlink(name);
  free(name);
  return err;
}

int surg__os_publish(int fd, char *name, const char *path) {
  surg__os_deadline_commit();
  return finish(fd, name, SURG_SYS_FAULTS() ? EIO : rename_to(fd, name, path, true));
}

int surg__os_publish_new(int fd, char *name, const char *path) {
  surg__os_deadline_commit();
  const int err = SURG_SYS_FAULTS() ? EIO : rename_to(fd, name, path, false);
  return err == EEXIST ? err : finish(fd, name, err);
}

void surg__os_discard(int fd, char *name) {
  if (fd >= 0) _close(fd);
  if (name) surg__os_unlink(name);
  free(name);
}

int surg__os_copy_mode(int fd, const char *like) {
  (void)fd, (void)like; /* a new file has the permissions of its folder */
  return 0;
}

int surg__os_empty(int fd) {
  SURG_SYS_FAULT(EIO);
  const HANDLE h = surg__os_handle(fd);
  const LARGE_INTEGER start = {0};
  return SetFilePointerEx(h, start, NULL, FILE_BEGIN) && SetEndOfFile(h) ? 0
                                                                         : surg__os_last_errno();
}

int surg__os_fsync(int fd) {
  SURG_SYS_FAULT(EIO);
  const HANDLE h = surg__os_handle(fd);
  if (GetFileType(h) != FILE_TYPE_DISK || FlushFileBuffers(h)) return 0;
  return surg__os_last_errno();
}

int surg__os_fsync_dir(const char *path) {
  (void)path; /* the system has no such call: it logs changes of folders itself */
  return 0;
}

/* ---- streams ------------------------------------------------------------------------------- */

FILE *surg__os_fopen(const char *path, const char *mode) {
  const wchar_t binary[] = {(wchar_t)*mode, 'b', 'N', 0}; /* 'N': not inherited */
  wchar_t *wide = surg__os_wide(path);
  FILE *f = wide ? _wfopen(wide, binary) : NULL;
  free(wide);
  return f;
}

bool surg__os_read_line(FILE *f, char **line, size_t *cap) {
  size_t n = 0;
  for (int c; (c = getc(f)) != EOF;) {
    if (n + 2 > *cap) {
      const size_t room = *cap ? 2 * *cap : 256;
      char *grown = room > *cap ? realloc(*line, room) : NULL;
      if (!grown) return false;
      *line = grown;
      *cap = room;
    }
    (*line)[n++] = (char)c;
    if (c == '\n') break;
  }
  if (n) (*line)[n] = 0;
  return n > 0;
}

/* ---- folders ------------------------------------------------------------------------------- */

int surg__os_folder_open(const char *path, surg__os_folder **out) {
  SURG_SYS_FAULT(EIO);
  *out = NULL;
  surg__stat st;
  const int e = surg__os_stat(path, &st);
  if (e || !st.directory) return e ? e : ENOTDIR;
  const size_t room = strlen(path) + 3;
  char *all = malloc(room);
  surg__os_folder *f = calloc(1, sizeof *f);
  if (all) snprintf(all, room, "%s/*", path);
  wchar_t *wide = all && f ? surg__os_wide(all) : NULL;
  free(all);
  int err = wide ? 0 : ENOMEM;
  if (!err) {
    f->find = FindFirstFileW(wide, &f->entry);
    if (f->find == INVALID_HANDLE_VALUE) err = surg__os_last_errno();
  }
  free(wide);
  if (err) {
    free(f);
    return err;
  }
  f->fresh = true;
  *out = f;
  return 0;
}

const char *surg__os_folder_next(surg__os_folder *f) {
  for (;;) {
    if (!f->fresh && !FindNextFileW(f->find, &f->entry)) return NULL;
    f->fresh = false;
    free(f->name);
    f->name = surg__os_narrow(f->entry.cFileName);
    if (f->name && strcmp(f->name, ".") != 0 && strcmp(f->name, "..") != 0) return f->name;
  }
}

void surg__os_folder_close(surg__os_folder *f) {
  if (!f) return;
  FindClose(f->find);
  free(f->name);
  free(f);
}
