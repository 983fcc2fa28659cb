/* SPDX-License-Identifier: Apache-2.0 */
/* External data: the only way by which a model refers to another file. A location is opened
 * beneath the model's folder and nowhere else; the kernel enforces this during the lookup. The
 * one exception is the layout of Hugging Face caches, where model and data are symbolic links
 * into the same other folder. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/os/os.h"
#include "io/wire.h"

#define LINK_BYTES 4096

typedef struct request {
  surg_model *m;
  uint64_t tensor; /* byte offset of its message */
  uint64_t bytes;  /* size of its elements */
  surg_str location, offset, length;
  bool has_location, has_offset, has_length;
  bool encoded; /* the elements are in a format: `length` is that of the encoded bytes */
  bool tolerated; /* report a warning instead of an error */
} request;

static bool str_is(surg_str s, const char *text) {
  return s.n == strlen(text) && memcmp(s.p, text, s.n) == 0;
}

/* `graph.initializer[3] "w": external data "w.bin"`. Locating the tensor costs a walk of the
 * file. */
static char *describe(const request *r, surg__buf *b) {
  surg__buf_init(b, r->m->ctx);
  surg__wire_path(r->m->source, r->tensor, b);
  surg__buf_puts(b, ": external data");
  if (r->has_location) {
    surg__buf_puts(b, " \"");
    surg__buf_escape(b, r->location.p, r->location.n, SURG_LIMIT_NAME_PRINT);
    surg__buf_putc(b, '"');
  }
  surg__buf_putc(b, 0);
  return b->failed ? "external data" : b->p;
}

static surg_status fail_as(const request *r, const char *code, surg_status status,
                           const char *why) {
  surg__buf b;
  const char *what = describe(r, &b);
  r->m->ctx->code = code;
  if (r->m->absent == SURG__ABSENT_WARNING || r->tolerated)
    surg__warn(r->m->ctx, r->m->source->name, "%s: %s", what, why);
  else
    surg__error(r->m->ctx, status, r->m->source->name, "%s: %s", what, why);
  surg__buf_free(&b);
  return status;
}

static surg_status fail(const request *r, surg_status status, const char *why) {
  return fail_as(r, "E111", status, why);
}

/* Reports a location that is not opened, whatever is there. */
static surg_status outside(const request *r, const char *why) {
  return fail_as(r, "E150", SURG_EINVALID, why);
}

/* Reports that a data file is missing or too short. With SURG__ABSENT_MISSING this is a warning
 * and SURG_ENOTFOUND, since the model is usable as long as the elements are not needed. */
static surg_status missing(const request *r, surg_status status, const char *why) {
  request copy = *r;
  copy.tolerated = r->m->absent == SURG__ABSENT_MISSING;
  status = fail(&copy, status, why);
  return copy.tolerated ? SURG_ENOTFOUND : status;
}

static void warn(const request *r, const char *why) {
  surg_context *ctx = r->m->ctx;
  surg__buf b = {0};
  bool shown = ctx->warnings < ctx->max_warnings;
  surg__warn(ctx, r->m->source->name, "%s: %s", shown ? describe(r, &b) : "external data", why);
  if (shown) surg__buf_free(&b);
}

/* --- keys --- */

static surg_status take_key(request *r, const surg__extkey *k) {
  surg_str *slot = NULL;
  bool *seen = NULL;
  if (str_is(k->key, "location"))
    slot = &r->location, seen = &r->has_location;
  else if (str_is(k->key, "offset"))
    slot = &r->offset, seen = &r->has_offset;
  else if (str_is(k->key, "length"))
    slot = &r->length, seen = &r->has_length;
  if (slot) {
    if (*seen) return fail_as(r, "E151", SURG_EINVALID, "a key is repeated here");
    *slot = k->value;
    *seen = true;
  } else if (!r->encoded && !str_is(k->key, "checksum") && !str_is(k->key, "basepath")) {
    warn(r, "has a key that is unknown");
  }
  return SURG_OK;
}

/* Parses decimal digits; the value must fit int64. */
static bool number(surg_str s, uint64_t *out) {
  uint64_t v = 0;
  if (s.n == 0 || s.n > 19) return false;
  for (size_t i = 0; i < s.n; i++) {
    if (s.p[i] < '0' || s.p[i] > '9') return false;
    v = v * 10 + (uint64_t)(s.p[i] - '0');
  }
  *out = v;
  return v <= INT64_MAX;
}

static surg_status check_location(const request *r) {
  surg_str s = r->location;
  if (!r->has_location || s.n == 0) return fail(r, SURG_EINVALID, "names no location");
  if (s.n > SURG_LIMIT_LOCATION) return fail(r, SURG_EINVALID, "the location is too long");
  if (!surg__utf8_valid((const uint8_t *)s.p, s.n))
    return fail(r, SURG_EINVALID, "the location is not valid text");
  if (memchr(s.p, '\\', s.n)) return fail(r, SURG_EINVALID, "the location contains a backslash");
  if (s.p[0] == '/') return outside(r, "the location is an absolute path");
  if (str_is(s, "*/_ORT_MEM_ADDR_/*"))
    return outside(r, "is memory of a running ONNX Runtime, not for a file");
  for (size_t at = 0; at < s.n;) {
    const char *slash = memchr(s.p + at, '/', s.n - at);
    size_t n = slash ? (size_t)(slash - (s.p + at)) : s.n - at;
    if (n == 2 && s.p[at] == '.' && s.p[at + 1] == '.')
      return outside(r, "the location leads out of the folder of the model");
    at += n + 1;
  }
  return SURG_OK;
}

/* The range that offset and length specify; the caller checks it against the file size. */
static surg_status find_range(const request *r, surg__span *range) {
  uint64_t length = r->bytes;
  *range = (surg__span){0, r->bytes};
  if (r->has_offset && !number(r->offset, &range->off))
    return fail(r, SURG_EINVALID, "the offset is not a number of bytes");
  if (r->has_length && !number(r->length, &length))
    return fail(r, SURG_EINVALID, "the length is not a number of bytes");
  if (r->encoded) {
    range->len = length;
    return r->has_length ? SURG_OK : fail(r, SURG_EINVALID, "has a format and no length");
  }
  if (length == 0 && r->bytes != 0) {
    warn(r, "length 0: the length that type and dims require is used");
  } else if (length != r->bytes) {
    char why[96];
    snprintf(why, sizeof why, "length %llu where type and dims need %llu",
             (unsigned long long)length, (unsigned long long)r->bytes);
    return fail(r, SURG_EINVALID, why);
  }
  return SURG_OK;
}

/* --- opening --- */

/* Opens the folder that locations are relative to, once. */
static surg_status open_root(const request *r) {
  surg__source *src = r->m->source;
  const char *root = r->m->options.external_root ? r->m->options.external_root : src->dir;
  if (src->dirfd >= 0) return SURG_OK;
  if (!root) return missing(r, SURG_EIO, "the model was not read from a folder");
  int err = surg__os_open_dir(root, &src->dirfd);
  if (!err) return SURG_OK;
  src->dirfd = -1;
  return missing(r, SURG_EIO, strerror(err));
}

/* Splits a path beneath dirfd into an open parent folder and the last component. */
static int open_parent(int dirfd, const char *path, int *parent, char **base) {
  char *dir;
  int err = surg__os_split(path, &dir, base);
  if (err) return err;
  err = surg__os_open_beneath(dirfd, dir, parent);
  free(dir);
  if (err) {
    free(*base);
    *base = NULL;
  }
  return err;
}

/* Whether fd is the folder that contains the model file after all links are resolved. */
static bool is_model_folder(const surg__source *src, int fd) {
  char *real, *dir, *base;
  if (!src->path || surg__os_realpath(src->path, &real) != 0) return false;
  int err = surg__os_split(real, &dir, &base);
  free(real);
  if (err) return false;
  surg__stat a, b;
  bool same = surg__os_stat(dir, &a) == 0 && surg__os_stat_fd(fd, &b) == 0 && a.dev == b.dev &&
              a.ino == b.ino;
  free(dir);
  free(base);
  return same;
}

/* Opens a link whose target is in the folder of the real model file (both are links into one
 * cache folder), beneath that folder. EXDEV: the link points elsewhere. */
static int open_through_link(const surg__source *src, int parent, const char *base, int *fd) {
  char target[LINK_BYTES], *dir, *name;
  size_t n;
  if (surg__os_readlink(parent, base, target, sizeof target, &n) != 0) return EXDEV;
  int err = surg__os_split(target, &dir, &name);
  if (err) return err;
  int folder = -1;
  if (surg__os_open_read(parent, dir, &folder) != 0 || !is_model_folder(src, folder))
    err = EXDEV;
  else
    err = surg__os_open_beneath(folder, name, fd);
  if (folder >= 0) surg__os_close(folder);
  free(dir);
  free(name);
  return err;
}

static int open_location(const surg__source *src, const char *location, int *fd) {
  int err = surg__os_open_beneath(src->dirfd, location, fd);
  if (err != EXDEV) return err;
  int parent;
  char *base;
  if (open_parent(src->dirfd, location, &parent, &base) != 0) return EXDEV;
  err = open_through_link(src, parent, base, fd);
  surg__os_close(parent);
  free(base);
  return err;
}

static surg_status check_file(const request *r, surg__datafile *f) {
  surg__stat st;
  int err = surg__os_stat_fd(f->fd, &st);
  if (err) return fail(r, SURG_EIO, strerror(err));
  if (!st.regular) return fail(r, SURG_EINVALID, "is not a regular file");
  if (st.nlink > 1 && r->m->options.strict_external)
    return fail(r, SURG_EINVALID, "has hard links, which --strict-external rejects");
  f->size = st.size;
  f->dev = st.dev;
  f->ino = st.ino;
  return SURG_OK;
}

static surg_status open_file(const request *r, surg__datafile *f) {
  surg_status status = open_root(r);
  if (status != SURG_OK) return status;
  int err = open_location(r->m->source, f->location, &f->fd);
  if (!err) return check_file(r, f);
  f->fd = -1;
  if (err == EXDEV || err == ELOOP)
    return outside(r, "leads out of the folder of the model");
  if (err == ENXIO) return fail(r, SURG_EINVALID, "is not a regular file"); /* a socket */
  const bool gone = err == ENOENT || err == ENOTDIR || err == EACCES || err == EPERM;
  return gone ? missing(r, SURG_EIO, strerror(err)) : fail(r, SURG_EIO, strerror(err));
}

int surg__datafile_open(const surg__datafile *f, int *fd) {
  *fd = f->fd;
  if (f->fd >= 0) return 0;
  int err = open_location(f->source, f->location, fd);
  if (err) return err;
  surg__stat st;
  err = surg__os_stat_fd(*fd, &st);
  if (!err && (st.dev != f->dev || st.ino != f->ino || st.size != f->size)) err = ESTALE;
  if (err) surg__os_close(*fd);
  return err;
}

static bool is_fatal(surg_status s) {
  return s == SURG_ENOMEM || s == SURG_EINTERNAL || s == SURG_ELIMIT;
}

/* The data file of the location, opened on first use and kept in the model's list. */
static surg_status find_file(const request *r, surg__datafile **out) {
  surg_model *m = r->m;
  size_t count = 0;
  for (surg__datafile *f = m->files; f; f = f->next, count++)
    if (str_is(r->location, f->location)) {
      *out = f;
      return f->absent ? SURG_ENOTFOUND : SURG_OK;
    }
  surg__datafile *f = surg__calloc(m->ctx, 1, sizeof *f);
  char *location = f ? surg__alloc(m->ctx, r->location.n + 1) : NULL;
  if (!location) {
    surg__free(m->ctx, f);
    return surg__oom(m->ctx, m->source->name);
  }
  memcpy(location, r->location.p, r->location.n);
  location[r->location.n] = 0;
  *f = (surg__datafile){.refs = 1, .ctx = m->ctx, .location = location, .fd = -1};
  f->source = surg__source_ref(m->source);
  surg_status status = open_file(r, f);
  const bool fails = m->absent == SURG__ABSENT_MISSING ? status != SURG_ENOTFOUND : !m->absent;
  if (status != SURG_OK && (fails || is_fatal(status))) {
    surg__datafile_unref(f);
    return status;
  }
  f->absent = status != SURG_OK;
  if (f->fd >= 0 && (f->absent || count >= SURG_LIMIT_OPEN_FILES)) {
    surg__os_close(f->fd);
    f->fd = -1;
  }
  f->next = m->files;
  m->files = f;
  *out = f;
  return status;
}

const surg_str *surg__external_format(const surg__extkey *keys, size_t n) {
  for (size_t i = 0; i < n; i++)
    if (str_is(keys[i].key, "format")) return &keys[i].value;
  return NULL;
}

surg_status surg__external_resolve(surg_model *m, uint64_t tensor, const surg__extkey *keys,
                                   size_t n, uint64_t bytes, surg__datafile **file,
                                   surg__span *range) {
  request r = {.m = m, .tensor = tensor, .bytes = bytes};
  assert(m->source);
  r.encoded = surg__external_format(keys, n) != NULL;
  for (size_t i = 0; i < n; i++) {
    surg_status status = take_key(&r, &keys[i]);
    if (status != SURG_OK) return status;
  }
  if (m->options.no_external) return fail(&r, SURG_EINVALID, "not allowed here");
  surg_status status = check_location(&r);
  if (status == SURG_OK) status = find_range(&r, range);
  if (status == SURG_OK) status = find_file(&r, file);
  if (status != SURG_OK) return status;
  uint64_t end;
  if (surg__add_u64(range->off, range->len, &end) && end <= (*file)->size) return SURG_OK;
  if (m->absent && (*file)->reported) return SURG_ENOTFOUND;
  (*file)->reported = true;
  char why[128];
  snprintf(why, sizeof why, "offset %llu length %llu: the file has %llu bytes",
           (unsigned long long)range->off, (unsigned long long)range->len,
           (unsigned long long)(*file)->size);
  return missing(&r, SURG_EINVALID, why);
}

bool surg__external_alike(surg_model *m, const char *location, char *out) {
  if (m->options.no_external || !m->source->dir || !*location || *location == '/') return false;
  for (const surg__datafile *f = m->files; f; f = f->next)
    if (strcmp(f->location, location) == 0) return false;
  const char *root = m->options.external_root ? m->options.external_root : m->source->dir;
  if (m->source->dirfd < 0 && surg__os_open_dir(root, &m->source->dirfd) != 0) {
    m->source->dirfd = -1;
    return false;
  }
  return surg__os_alike(m->source->dirfd, location, out, SURG_LIMIT_LOCATION + 1) == 0;
}
