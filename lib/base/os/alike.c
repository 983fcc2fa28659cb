/* SPDX-License-Identifier: Apache-2.0 */
/* Finding a file whose name differs in case or uses backslashes: models made on systems where that
 * makes no difference refer to data files this way. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/os/os.h"
#include "base/os/fault.h"

/* Finds the only entry of a folder that equals `name` apart from case. Returns 0 or an errno
 * value. */
static int find_entry(int dirfd, const char *name, char *out, size_t cap) {
  const int fd = openat(dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR *d = fd >= 0 ? fdopendir(fd) : NULL;
  if (!d) {
    const int e = errno;
    if (fd >= 0) close(fd);
    return e;
  }
  size_t found = 0;
  for (const struct dirent *e; found < 2 && (e = readdir(d));) {
    if (strcasecmp(e->d_name, name) != 0 || strlen(e->d_name) >= cap) continue;
    memcpy(out, e->d_name, strlen(e->d_name) + 1);
    found++;
  }
  closedir(d);
  return found == 1 ? 0 : ENOENT;
}

/* Resolves one component: the exact entry if it exists, else the similar one. */
static int find_component(int dirfd, const char *name, size_t n, char *out, size_t cap) {
  struct stat st = {0};
  char text[256];
  if (n == 0 || n >= sizeof text || n >= cap) return ENOENT;
  memcpy(text, name, n);
  text[n] = 0;
  if (strcmp(text, "..") == 0) return ENOENT;
  if (fstatat(dirfd, text, &st, AT_SYMLINK_NOFOLLOW) != 0) return find_entry(dirfd, text, out, cap);
  memcpy(out, text, n + 1);
  return 0;
}

int surg__os_alike(int dirfd, const char *path, char *out, size_t cap) {
  SURG_SYS_FAULT(EIO);
  int folder = dirfd, e = 0;
  size_t used = 0;
  for (const char *p = path; !e; p++) {
    const size_t n = strcspn(p, "/\\");
    e = find_component(folder, p, n, out + used, cap - used);
    if (e) break;
    const char *component = out + used;
    used += strlen(component);
    p += n;
    if (!*p) break;
    const int next = openat(folder, component, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (next < 0) e = errno;
    if (folder != dirfd) close(folder);
    folder = next < 0 ? dirfd : next;
    if (!e && used + 2 > cap) e = ENOENT;
    if (!e) out[used++] = '/';
  }
  if (folder != dirfd) close(folder);
  if (!e && strcmp(out, path) == 0) e = ENOENT;
  return e;
}
