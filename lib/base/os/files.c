/* SPDX-License-Identifier: Apache-2.0 */
/* Folders, temporary folders and streams. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/os/os.h"
#include "base/os/fault.h"

#define SHORT_NAME 64u /* bytes that a path in a temporary folder needs beyond the folder's */

struct surg__os_folder {
  DIR *d;
};

int surg__os_native_path(const char *path, void **out) {
  *out = strdup(path);
  return *out ? 0 : ENOMEM;
}

int surg__os_empty(int fd) {
  SURG_SYS_FAULT(EIO);
  return ftruncate(fd, 0) || lseek(fd, 0, SEEK_SET) ? errno : 0;
}

FILE *surg__os_fopen(const char *path, const char *mode) {
  const char with_flag[] = {*mode, 'e', 0}; /* 'e': close on exec */
  return fopen(path, with_flag);
}

bool surg__os_exists(const char *path) {
  return access(path, F_OK) == 0;
}

bool surg__os_read_line(FILE *f, char **line, size_t *cap) {
  return getline(line, cap, f) >= 0;
}

int surg__os_make_folder(const char *path) {
  SURG_SYS_FAULT(ENOSPC);
  return mkdir(path, 0777) == 0 ? 0 : errno;
}

int surg__os_remove_folder(const char *path) {
  SURG_SYS_FAULT(EIO);
  return rmdir(path) == 0 ? 0 : errno;
}

int surg__os_temp_folder(const char *stem, char *out, size_t cap) {
  SURG_SYS_FAULT(ENOSPC);
  const char *root = getenv("TMPDIR");
  if (!root || !*root) root = "/tmp";
  const int n = snprintf(out, cap, "%s/%s-XXXXXX", root, stem);
  if (n < 0 || (size_t)n + SHORT_NAME > cap) return ENAMETOOLONG;
  return mkdtemp(out) ? 0 : errno;
}

int surg__os_folder_open(const char *path, surg__os_folder **out) {
  SURG_SYS_FAULT(EIO);
  surg__os_folder *f = malloc(sizeof *f);
  *out = NULL;
  if (!f) return ENOMEM;
  f->d = opendir(path);
  if (f->d) {
    *out = f;
    return 0;
  }
  const int err = errno;
  free(f);
  return err;
}

const char *surg__os_folder_next(surg__os_folder *f) {
  for (const struct dirent *e; (e = readdir(f->d));)
    if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0) return e->d_name;
  return NULL;
}

void surg__os_folder_close(surg__os_folder *f) {
  if (f) closedir(f->d);
  free(f);
}
