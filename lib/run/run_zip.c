/* SPDX-License-Identifier: Apache-2.0 */
/* NumPy's .npz format: a zip archive of .npy files, stored or deflated. The central directory at
 * the end is read; its sizes are used, and members may be anywhere before it. */
#include <stdio.h>

#include "base/diag.h"
#include "base/inflate.h"
#include "base/zip.h"
#include "run/run.h"

#define NAME_MOST 300 /* bytes of the name of a member, with its terminator */

typedef struct zip {
  surg_context *ctx;
  const char *path;
  const uint8_t *p;
  size_t n;
} zip;

static surg_status bad(const zip *z, const char *why) {
  return surg__error(z->ctx, SURG_EINVALID, z->path, "%s", why);
}

static surg_status broken(const zip *z) {
  return bad(z, "is not a valid .npz file");
}

/* Finds the directory; false: there is none. */
static bool find_directory(const zip *z, surg__zip_directory *d) {
  const size_t most = SURG__ZIP_END_SIZE + SURG__ZIP_WIDE_LOCATOR_SIZE + UINT16_MAX;
  const size_t n = z->n < most ? z->n : most;
  uint64_t wide;
  if (!surg__zip_end(z->p + (z->n - n), n, d, &wide)) return false;
  if (wide == UINT64_MAX) return true;
  if (wide > z->n || z->n - wide < SURG__ZIP_WIDE_END_SIZE) return false;
  return surg__zip_wide_end(z->p + wide, d);
}

/* The bytes of a member; NULL: not within the file. */
static const uint8_t *bytes_of(const zip *z, const surg__zip_entry *m) {
  if (m->at > z->n || z->n - m->at < SURG__ZIP_MEMBER_SIZE) return NULL;
  const size_t head = surg__zip_member_head(z->p + m->at);
  if (!head || head > z->n - m->at || z->n - m->at - head < m->packed) return NULL;
  return z->p + m->at + head;
}

static surg_status read_member(const zip *z, const surg__zip_entry *m, surg__array *out) {
  const uint8_t *from = bytes_of(z, m);
  if (!from) return broken(z);
  if (m->encrypted) return bad(z, "is encrypted");
  if (m->size >= SIZE_MAX) return bad(z, "is too large for the memory of this system");
  if (m->method == SURG__ZIP_STORED)
    return m->packed == m->size ? surg__npy_read(z->ctx, z->path, from, (size_t)m->size, out)
                                : broken(z);
  if (m->method != SURG__ZIP_DEFLATED)
    return bad(z, "is compressed in a way that is not read here");
  /* A larger ratio is invalid and would only waste memory. */
  if (m->size / SURG__ZIP_RATIO_MOST > m->packed) return broken(z);
  void *bytes = surg__alloc(z->ctx, (size_t)m->size + 1);
  if (!bytes) return surg__oom(z->ctx, z->path);
  surg_status s = surg__inflate(from, m->packed, true, bytes, m->size);
  if (s == SURG_EINVALID) s = broken(z);
  if (s == SURG_OK) s = surg__npy_read(z->ctx, z->path, bytes, (size_t)m->size, out);
  surg__free(z->ctx, bytes);
  return s;
}

/* Copies the name of a member without its extension: an array is named after its file. */
static bool name_of(const surg__zip_entry *m, char *out) {
  const bool npy = m->name_len > 4 && memcmp(m->name + m->name_len - 4, ".npy", 4) == 0;
  const size_t n = m->name_len - (npy ? 4 : 0);
  if (m->name_len >= NAME_MOST) return false;
  memcpy(out, m->name, n);
  out[n] = 0;
  return true;
}

surg_status surg__npz_each(surg_context *ctx, const char *path, surg__npz_member take, void *user) {
  zip z = {.ctx = ctx, .path = path};
  uint8_t *bytes = NULL;
  surg__zip_directory d = {0};
  surg_status s = surg__file_read(ctx, path, &bytes, &z.n);
  if (s != SURG_OK) return s;
  z.p = bytes;
  if (!find_directory(&z, &d) || d.at > z.n) s = broken(&z);
  for (uint64_t i = 0, at = d.at; i < d.count && s == SURG_OK; i++) {
    char name[NAME_MOST];
    surg__zip_entry m;
    surg__array a = {0};
    if (!surg__zip_entry_read(z.p + at, z.n - at, &m) || !name_of(&m, name)) {
      s = broken(&z);
      break;
    }
    at += m.len;
    s = read_member(&z, &m, &a);
    if (s == SURG_OK) s = take(user, name, &a);
    surg__array_drop(&a);
  }
  surg__free(ctx, bytes);
  return s;
}
