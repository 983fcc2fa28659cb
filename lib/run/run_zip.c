/* SPDX-License-Identifier: Apache-2.0 */
/* NumPy's .npz format: a zip archive of .npy files, stored or deflated. The central directory at
 * the end is read; its sizes are used, and members may be anywhere before it. */
#include <stdio.h>

#include "base/diag.h"
#include "base/inflate.h"
#include "base/zip.h"
#include "run/run.h"

enum {
  END_SIZE = 22,
  WIDE_LOCATOR_SIZE = 20,
  WIDE_END_SIZE = 56,
  ENTRY_SIZE = 46,
  MEMBER_SIZE = 30,
  METHOD_STORED = 0,
  METHOD_DEFLATED = 8
};
#define END_MARK 0x06054b50u
#define WIDE_LOCATOR_MARK 0x07064b50u
#define WIDE_END_MARK 0x06064b50u
#define ENTRY_MARK 0x02014b50u
#define MEMBER_MARK 0x04034b50u

typedef struct zip {
  surg_context *ctx;
  const char *path;
  const uint8_t *p;
  size_t n;
} zip;

typedef struct member {
  char name[300];
  unsigned method, flags;
  uint64_t packed, size, at;
} member;

static surg_status bad(const zip *z, const char *why) {
  return surg__error(z->ctx, SURG_EINVALID, z->path, "%s", why);
}

static surg_status broken(const zip *z) {
  return bad(z, "is not a valid .npz file");
}

/* Finds the start of the directory and its number of entries; false: there is none. */
static bool find_directory(const zip *z, uint64_t *at, uint64_t *count) {
  if (z->n < END_SIZE) return false;
  const size_t lowest = z->n > END_SIZE + UINT16_MAX ? z->n - END_SIZE - UINT16_MAX : 0;
  size_t end = z->n - END_SIZE;
  while (surg__le32(z->p + end) != END_MARK) /* a comment may follow it */
    if (end-- == lowest) return false;
  *count = surg__zip_le16(z->p + end + 10);
  *at = surg__le32(z->p + end + 16);
  if (end < WIDE_LOCATOR_SIZE) return true;
  const uint8_t *locator = z->p + end - WIDE_LOCATOR_SIZE;
  if (surg__le32(locator) != WIDE_LOCATOR_MARK) return true;
  const uint64_t wide = surg__le64(locator + 8);
  if (wide > z->n || z->n - wide < WIDE_END_SIZE || surg__le32(z->p + wide) != WIDE_END_MARK)
    return false;
  *count = surg__le64(z->p + wide + 32);
  *at = surg__le64(z->p + wide + 48);
  return true;
}

/* Reads the entry at *at and advances *at. */
static bool read_entry(const zip *z, uint64_t *at, member *m) {
  if (*at > z->n || z->n - *at < ENTRY_SIZE) return false;
  const uint8_t *p = z->p + *at;
  const size_t name = surg__zip_le16(p + 28), extra = surg__zip_le16(p + 30),
               comment = surg__zip_le16(p + 32);
  if (surg__le32(p) != ENTRY_MARK || z->n - *at - ENTRY_SIZE < name + extra + comment ||
      name >= sizeof m->name)
    return false;
  *m = (member){.method = surg__zip_le16(p + 10),
                .flags = surg__zip_le16(p + 8),
                .packed = surg__le32(p + 20),
                .size = surg__le32(p + 24),
                .at = surg__le32(p + 42)};
  memcpy(m->name, p + ENTRY_SIZE, name);
  *at += ENTRY_SIZE + name + extra + comment;
  return surg__zip_wide(p + ENTRY_SIZE + name, extra,
                        (uint64_t *const[]){&m->size, &m->packed, &m->at});
}

/* The bytes of a member; NULL: not within the file. */
static const uint8_t *bytes_of(const zip *z, const member *m) {
  if (m->at > z->n || z->n - m->at < MEMBER_SIZE) return NULL;
  const uint8_t *p = z->p + m->at;
  if (surg__le32(p) != MEMBER_MARK) return NULL;
  const uint64_t start = m->at + MEMBER_SIZE + surg__zip_le16(p + 26) + surg__zip_le16(p + 28);
  if (start > z->n || z->n - start < m->packed) return NULL;
  return z->p + start;
}

static surg_status read_member(const zip *z, const member *m, surg__array *out) {
  const uint8_t *from = bytes_of(z, m);
  if (!from) return broken(z);
  if (m->flags & 1) return bad(z, "is encrypted");
  if (m->size >= SIZE_MAX) return bad(z, "is too large for the memory of this system");
  if (m->method == METHOD_STORED)
    return m->packed == m->size ? surg__npy_read(z->ctx, z->path, from, (size_t)m->size, out)
                                : broken(z);
  if (m->method != METHOD_DEFLATED) return bad(z, "is compressed in a way that is not read here");
  /* Deflate compresses at most about 1000:1; a larger ratio is invalid and would only waste
   * memory. */
  if (m->size / 1100 > m->packed) return broken(z);
  void *bytes = surg__alloc(z->ctx, (size_t)m->size + 1);
  if (!bytes) return surg__oom(z->ctx, z->path);
  surg_status s = surg__inflate(from, m->packed, true, bytes, m->size);
  if (s == SURG_EINVALID) s = broken(z);
  if (s == SURG_OK) s = surg__npy_read(z->ctx, z->path, bytes, (size_t)m->size, out);
  surg__free(z->ctx, bytes);
  return s;
}

/* Removes the extension of a member: an array is named after its file. */
static void cut_end(char *name) {
  const size_t n = strlen(name);
  if (n > 4 && strcmp(name + n - 4, ".npy") == 0) name[n - 4] = 0;
}

surg_status surg__npz_each(surg_context *ctx, const char *path, surg__npz_member take, void *user) {
  zip z = {.ctx = ctx, .path = path};
  uint8_t *bytes = NULL;
  uint64_t at = 0, count = 0;
  surg_status s = surg__file_read(ctx, path, &bytes, &z.n);
  if (s != SURG_OK) return s;
  z.p = bytes;
  if (!find_directory(&z, &at, &count)) s = broken(&z);
  for (uint64_t i = 0; i < count && s == SURG_OK; i++) {
    member m;
    surg__array a = {0};
    if (!read_entry(&z, &at, &m)) {
      s = broken(&z);
      break;
    }
    s = read_member(&z, &m, &a);
    if (s != SURG_OK) break;
    cut_end(m.name);
    s = take(user, m.name, &a);
    surg__array_drop(&a);
  }
  surg__free(ctx, bytes);
  return s;
}
