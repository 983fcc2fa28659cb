/* SPDX-License-Identifier: Apache-2.0 */
/* Applies patches. Everything that a patch states is checked before it is used, the digest of every
 * file before it gets its name. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/json.h"
#include "base/os/os.h"
#include "base/os/unfinished.h"
#include "diff/patch.h"

#define PIECE ((size_t)1 << 18)

typedef struct applier {
  surg_context *ctx;
  surg_model *a;
  const char *path, *out; /* of the patch, of the model that is made */
  char *dir;              /* of `out` */
  int fd;                 /* of the patch */
  uint64_t size, at;      /* of the patch; place of the next new bytes */
  json_t *header; /* of doc */
  surg__json_doc doc;
} applier;

/* A file that is complete, but has no name yet. */
typedef struct draft {
  int fd;
  char *name, *path;
  bool data, named; /* a data file; it has its name, and may have to be removed */
} draft;

static surg_status bad(const applier *p, const char *why) {
  return surg__error(p->ctx, SURG_EINVALID, p->path, "%s", why);
}

static surg_status io(const applier *p, const char *path, const char *what, int e) {
  return e ? surg__error(p->ctx, SURG_EIO, path, "cannot %s: %s", what, strerror(e)) : SURG_OK;
}

/* --- the header --- */

static surg_status read_header(applier *p) {
  char line[64] = {0};
  const size_t magic = sizeof SURG__PATCH_MAGIC - 1;
  const size_t most = p->size < sizeof line - 1 ? (size_t)p->size : sizeof line - 1;
  surg_status s = io(p, p->path, "read", surg__os_pread(p->fd, line, most, 0));
  if (s != SURG_OK) return s;
  char *end = NULL;
  errno = 0;
  const bool known = strncmp(line, SURG__PATCH_MAGIC, magic) == 0;
  const unsigned long long n = known ? strtoull(line + magic, &end, 10) : 0;
  if (!known || errno || !end || *end != '\n' || n == 0)
    return bad(p, "is not a patch; make one with `onnxsurg diff --patch FILE A B`");
  const uint64_t start = (uint64_t)(end - line) + 1;
  if (n > SURG__PATCH_HEADER || n > p->size - start) return bad(p, "the patch is cut off");
  char *text = surg__alloc(p->ctx, (size_t)n);
  if (!text) return surg__oom(p->ctx, p->path);
  s = io(p, p->path, "read", surg__os_pread(p->fd, text, (size_t)n, start));
  if (s == SURG_OK) s = surg__json_read(p->ctx, p->path, text, (size_t)n, 0, NULL, &p->doc);
  p->header = p->doc.value;
  surg__free(p->ctx, text);
  p->at = start + n;
  if (s == SURG_OK && !json_is_object(p->header)) s = bad(p, "the header of the patch is damaged");
  return s;
}

static bool number(const json_t *j, uint64_t *out) {
  if (!json_is_integer(j) || json_integer_value(j) < 0) return false;
  *out = (uint64_t)json_integer_value(j);
  return true;
}

/* Whether the model is the one that the patch was made from. */
static surg_status check_model(const applier *p, const surg__bytes *a) {
  char digest[SURG__PATCH_DIGEST];
  const json_t *from = json_object_get(p->header, "from");
  const char *want = json_string_value(json_object_get(from, "digest"));
  uint64_t size;
  if (!want || !number(json_object_get(from, "size"), &size))
    return bad(p, "the header of the patch is damaged");
  const surg_status s = surg__patch_digest(p->ctx, a, digest);
  if (s != SURG_OK || (size == a->size && strcmp(digest, want) == 0)) return s;
  return surg__error(p->ctx, SURG_EINVALID, surg_model_path(p->a),
                     "the patch is for another model: expected %" PRIu64
                     " bytes with digest %s, found %" PRIu64 " bytes with digest %s",
                     size, surg__q(p->ctx, want), a->size, digest);
}

/* --- files --- */

static surg_status copy(const applier *p, const surg__bytes *from, uint64_t at, uint64_t n, int fd,
                        const char *path) {
  uint8_t *bytes = surg__alloc(p->ctx, PIECE);
  surg_status s = bytes ? SURG_OK : surg__oom(p->ctx, NULL);
  for (uint64_t done = 0; s == SURG_OK && done < n; done += PIECE) {
    const size_t k = n - done < PIECE ? (size_t)(n - done) : PIECE;
    s = from ? from->read(from->of, at + done, bytes, k)
             : io(p, p->path, "read", surg__os_pread(p->fd, bytes, k, at + done));
    if (s == SURG_OK) s = io(p, path, "write", surg__os_write(fd, bytes, k));
  }
  surg__free(p->ctx, bytes);
  return s;
}

/* File `number` of the model: 0 is the model itself. */
static bool old_bytes(const applier *p, uint64_t k, surg__bytes *out) {
  const char *name;
  if (k == 0) return surg__patch_source(p->a, out) == SURG_OK;
  return k <= UINT32_MAX && surg__patch_file(p->a, (size_t)k - 1, out, &name) &&
         !((const surg__datafile *)out->of)->absent;
}

static surg_status write_part(applier *p, const json_t *part, int fd, const char *path) {
  uint64_t k, at, n;
  surg__bytes old;
  if (json_array_size(part) == 1 && number(json_array_get(part, 0), &n)) {
    if (p->at > p->size || n > p->size - p->at) return bad(p, "the patch is cut off");
    p->at += n;
    return copy(p, NULL, p->at - n, n, fd, path);
  }
  if (json_array_size(part) != 3 || !number(json_array_get(part, 0), &k) ||
      !number(json_array_get(part, 1), &at) || !number(json_array_get(part, 2), &n))
    return bad(p, "the header of the patch is damaged");
  if (!old_bytes(p, k, &old) || at > old.size || n > old.size - at)
    return bad(p, "the patch copies bytes that the model and its data files do not have");
  return copy(p, &old, at, n, fd, path);
}

/* The bytes of a draft, for its digest. */
typedef struct reading {
  const applier *p;
  const draft *d;
} reading;

/* A draft that is shorter than the patch states has other bytes; the digest tells. */
static surg_status read_draft(const void *of, uint64_t at, void *out, size_t n) {
  const reading *r = of;
  const int e = surg__os_pread(r->d->fd, out, n, at);
  return e == ENODATA ? SURG_EINVALID : io(r->p, r->d->path, "read", e);
}

static surg_status check_draft(const applier *p, const json_t *file, const draft *d) {
  char digest[SURG__PATCH_DIGEST];
  const char *want = json_string_value(json_object_get(file, "digest"));
  const reading r = {p, d};
  surg__bytes b = {.of = &r, .read = read_draft};
  if (!want || !number(json_object_get(file, "size"), &b.size))
    return bad(p, "the header of the patch is damaged");
  const surg_status s = surg__patch_digest(p->ctx, &b, digest);
  if (s == SURG_OK && strcmp(digest, want) == 0) return SURG_OK;
  if (s != SURG_OK && s != SURG_EINVALID) return s;
  return surg__error(p->ctx, SURG_EINVALID, d->path,
                     "the result has another digest than the patch states: a data file of the "
                     "model differs, or the patch is damaged");
}

static surg_status write_file(applier *p, const json_t *file, draft *d) {
  const json_t *parts = json_object_get(file, "parts");
  surg_status s = io(p, d->path, "write", surg__os_temp_in(p->dir, &d->fd, &d->name));
  for (size_t i = 0; s == SURG_OK && i < json_array_size(parts); i++)
    s = write_part(p, json_array_get(parts, i), d->fd, d->path);
  return s == SURG_OK ? check_draft(p, file, d) : s;
}

static surg_status occupied(const applier *p, const char *path) {
  return surg__error(p->ctx, SURG_EIO, path,
                     "exists, and data files are not overwritten; write to another folder");
}

/* Compares an open file of equal size with the bytes of a file of the model. */
static surg_status compare(const applier *p, const surg__bytes *old, int fd, const char *path,
                           bool *same) {
  uint8_t *bytes = surg__alloc(p->ctx, 2 * PIECE);
  surg_status s = bytes ? SURG_OK : surg__oom(p->ctx, NULL);
  *same = true;
  for (uint64_t at = 0; s == SURG_OK && *same && at < old->size; at += PIECE) {
    const size_t n = old->size - at < PIECE ? (size_t)(old->size - at) : PIECE;
    s = old->read(old->of, at, bytes, n);
    if (s == SURG_OK) s = io(p, path, "read", surg__os_pread(fd, bytes + PIECE, n, at));
    *same = s == SURG_OK && memcmp(bytes, bytes + PIECE, n) == 0;
  }
  surg__free(p->ctx, bytes);
  return s;
}

/* Accepts a file at the path of a data file if it has the bytes and its writer cannot remove it. */
static surg_status accept_file(const applier *p, const surg__bytes *old, const char *path,
                               const surg__stat *st) {
  int fd;
  bool same;
  if (!st->regular || st->provisional || st->size != old->size) return occupied(p, path);
  surg_status s = io(p, path, "read", surg__os_open_read(-1, path, &fd));
  if (s != SURG_OK) return s;
  s = compare(p, old, fd, path, &same);
  surg__os_close(fd);
  return s != SURG_OK || same ? s : occupied(p, path);
}

/* Accepts a file at the path of a data file that is to be made if it has the result's bytes. */
static surg_status accept_made(const applier *p, const json_t *file, draft *d,
                               const surg__stat *st) {
  uint64_t size;
  char digest[SURG__PATCH_DIGEST];
  const char *want = json_string_value(json_object_get(file, "digest"));
  if (!want || !number(json_object_get(file, "size"), &size))
    return bad(p, "the header of the patch is damaged");
  if (!st->regular || st->provisional || st->size != size) return occupied(p, d->path);
  surg_status s = io(p, d->path, "read", surg__os_open_read(-1, d->path, &d->fd));
  if (s != SURG_OK) return s;
  const reading r = {p, d};
  const surg__bytes b = {.size = size, .of = &r, .read = read_draft};
  s = surg__patch_digest(p->ctx, &b, digest);
  surg__os_close(d->fd);
  d->fd = -1;
  return s != SURG_OK || strcmp(digest, want) == 0 ? s : occupied(p, d->path);
}

/* Skips the new bytes of a file that is there already. */
static surg_status skip_parts(applier *p, const json_t *file) {
  const json_t *parts = json_object_get(file, "parts");
  for (size_t i = 0; i < json_array_size(parts); i++) {
    const json_t *part = json_array_get(parts, i);
    uint64_t n;
    if (json_array_size(part) != 1) continue;
    if (!number(json_array_get(part, 0), &n) || p->at > p->size || n > p->size - p->at)
      return bad(p, "the patch is cut off");
    p->at += n;
  }
  return SURG_OK;
}

/* Copies a data file that does not change to the folder of the result, unless it is there. */
static surg_status keep_file(applier *p, const char *name, draft *d) {
  surg__bytes old;
  const char *other;
  for (size_t i = 0; surg__patch_file(p->a, i, &old, &other); i++) {
    const surg__datafile *f = old.of;
    surg__stat st;
    if (strcmp(other, name) != 0) continue;
    if (surg__os_stat(d->path, &st) == 0)
      return st.dev == f->dev && st.ino == f->ino ? SURG_OK : accept_file(p, &old, d->path, &st);
    const surg_status s = io(p, d->path, "write", surg__os_temp_in(p->dir, &d->fd, &d->name));
    return s == SURG_OK ? copy(p, &old, 0, old.size, d->fd, d->path) : s;
  }
  return bad(p, "the patch keeps a data file that the model does not have");
}

static surg_status make_file(applier *p, const json_t *file, draft *d) {
  const char *name = json_string_value(json_object_get(file, "name"));
  surg__stat st;
  if (name && (!*name || surg__os_base_name(name) != name || strchr(name, '\\')))
    return bad(p, "the patch names a data file outside of the folder of the model");
  if (name && *name == '.') return bad(p, "the patch names a hidden file");
  d->path =
      name ? surg__alloc(p->ctx, strlen(p->dir) + strlen(name) + 2) : surg__strdup(p->ctx, p->out);
  if (!d->path) return surg__oom(p->ctx, p->out);
  d->data = name != NULL;
  if (name) snprintf(d->path, strlen(p->dir) + strlen(name) + 2, "%s/%s", p->dir, name);
  if (json_is_true(json_object_get(file, "kept"))) return keep_file(p, name ? name : "", d);
  if (!name || surg__os_stat(d->path, &st) != 0) return write_file(p, file, d);
  const surg_status s = accept_made(p, file, d, &st);
  return s == SURG_OK ? skip_parts(p, file) : s;
}

/* Names a draft. Data files replace nothing; after a failure those that have names are removed. */
static surg_status name_draft(const applier *p, draft *d) {
  int e = surg__os_fsync(d->fd);
  if (e) return io(p, d->path, "write", e);
  if (d->data) surg__os_provisional(d->fd);
  e = d->data ? surg__os_publish_new(d->fd, d->name, d->path)
              : surg__os_publish(d->fd, d->name, d->path);
  if (e != EEXIST || !d->data) d->fd = -1; /* else the draft is still one */
  d->named = !e && d->data;
  return io(p, d->path, "write", e);
}

/* Names all drafts, data files first and the model last. */
static surg_status name_all(const applier *p, draft *d, size_t n) {
  surg_status s = SURG_OK;
  surg__os_hold_end();
  for (size_t i = n; s == SURG_OK && i-- > 0;)
    if (d[i].fd >= 0) s = name_draft(p, &d[i]);
  for (size_t i = 0; i < n; i++) {
    if (!d[i].named) continue;
    if (s == SURG_OK)
      surg__os_confirm(d[i].path);
    else
      surg__os_unlink(d[i].path);
  }
  surg__os_release_end();
  return s;
}

/* Makes all files, then names them. */
static surg_status make_all(applier *p) {
  const json_t *files = json_object_get(p->header, "files");
  const size_t n = json_array_size(files);
  draft *d = surg__calloc(p->ctx, n + 1, sizeof *d);
  surg_status s = !d ? surg__oom(p->ctx, p->out) : n ? SURG_OK : bad(p, "the patch has no files");
  for (size_t i = 0; d && i < n; i++) d[i].fd = -1;
  for (size_t i = 0; s == SURG_OK && i < n; i++) s = make_file(p, json_array_get(files, i), &d[i]);
  if (s == SURG_OK) s = name_all(p, d, n);
  for (size_t i = 0; d && i < n; i++) {
    if (d[i].fd >= 0) surg__os_discard(d[i].fd, d[i].name);
    surg__free(p->ctx, d[i].path);
  }
  surg__free(p->ctx, d);
  return s;
}

surg_status surg_patch_apply(surg_model *a, const char *patch, const char *out) {
  surg__bytes old;
  surg__stat st = {0};
  char *base = NULL;
  if (!a || !patch || !out) return SURG_EUSAGE;
  applier p = {.ctx = surg_model_context(a), .a = a, .path = patch, .out = out, .fd = -1};
  surg_status s = io(&p, patch, "read", surg__os_open_read(-1, patch, &p.fd));
  if (s == SURG_OK) s = io(&p, patch, "read", surg__os_stat_fd(p.fd, &st));
  p.size = st.size;
  if (s == SURG_OK) s = io(&p, out, "write", surg__os_split(out, &p.dir, &base));
  if (s == SURG_OK) s = read_header(&p);
  if (s == SURG_OK) s = surg__patch_source(a, &old);
  if (s == SURG_OK) s = check_model(&p, &old);
  if (s == SURG_OK) s = make_all(&p);
  if (p.fd >= 0) surg__os_close(p.fd);
  surg__json_drop(p.ctx, &p.doc);
  free(p.dir);
  free(base);
  return s;
}
