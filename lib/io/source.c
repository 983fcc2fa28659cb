/* SPDX-License-Identifier: Apache-2.0 */
/* The source image: the bytes of a model file in private memory. A small file is read at once;
 * the pages of a large one are read on request, so that unused weights are never read. The file
 * is not mapped: a byte that was checked cannot change afterwards, and a file that another
 * process truncates causes an error, not a signal. While a model is loaded, pages are dropped again
 * where nothing points into them (surg__source_drop), and readers that need the bytes of a header
 * for a moment get them from a window (surg__source_peek). When a page is read again, its bytes
 * must be the same. */
#include <errno.h>
#include <stdlib.h>

#include "base/os/os.h"
#include "io/io.h"

#define PAGE_BITS SURG__PAGE_BITS
#define PAGE SURG__PAGE
#define READ_AHEAD 15u /* extra pages to read when access is sequential */
#define SPOOL_CHUNK ((size_t)1 << 20)

static bool page_there(const surg__source *s, uint64_t page) {
  return s->filled[page / 64] >> (page % 64) & 1;
}

static surg_status read_bytes(const surg__source *s, uint8_t *to, size_t n, uint64_t from) {
  const int err = surg__os_pread(s->fd, to, n, from);
  if (!err) return SURG_OK;
  if (err == ENODATA)
    return surg__error(s->ctx, SURG_EIO, s->name, "the file became shorter while it was read");
  return surg__error(s->ctx, SURG_EIO, s->name, "cannot read at byte %llu: %s",
                     (unsigned long long)from, strerror(err));
}

/* Reads missing pages from `first` on, at least up to `last`. */
static surg_status fill(surg__source *s, uint64_t first, uint64_t last, bool sequential) {
  uint64_t pages = (s->size + PAGE - 1) >> PAGE_BITS, end = first;
  if (sequential) last += READ_AHEAD;
  while (end < pages && end <= last && !page_there(s, end)) end++;
  uint64_t from = first << PAGE_BITS, to = end << PAGE_BITS;
  if (to > s->size) to = s->size;
  const surg_status status = read_bytes(s, s->base + from, (size_t)(to - from), from);
  if (status != SURG_OK) return status;
  for (uint64_t page = first; page < end; page++)
    if (!surg__source_same(s, page, s->base + (page << PAGE_BITS))) return SURG_EIO;
  for (uint64_t page = first; page < end; page++)
    s->filled[page / 64] |= (uint64_t)1 << (page % 64);
  if (s->low == s->high || first < s->low) s->low = first;
  if (end > s->high) s->high = end;
  s->n_filled += (uint32_t)(end - first);
  return SURG_OK;
}

surg_status surg__source_need(surg__source *s, uint64_t off, uint64_t n) {
  assert(off <= s->size && n <= s->size - off);
  if (s->resident || n == 0) return SURG_OK;
  const uint64_t first = off >> PAGE_BITS, last = (off + n - 1) >> PAGE_BITS;
  /* Message headers between weights are far apart: read-ahead there would read the weights. What
   * counts is where the last request was; a page that is there may come from a read-ahead. */
  const bool sequential = first - s->asked <= 1;
  s->asked = last;
  for (uint64_t page = first; page <= last; page++) {
    if (page_there(s, page)) continue;
    surg_status status = fill(s, page, last, sequential);
    if (status != SURG_OK) return status;
  }
  return SURG_OK;
}

/* Reads a page into the window. */
static surg_status look(surg__source *s, uint64_t page) {
  const uint64_t at = page << PAGE_BITS, left = s->size - at;
  if (!s->window && !(s->window = surg__alloc(s->ctx, PAGE))) return surg__oom(s->ctx, s->name);
  s->window_page = UINT64_MAX;
  surg_status status = read_bytes(s, s->window, (size_t)(left < PAGE ? left : PAGE), at);
  if (status == SURG_OK) status = surg__source_mark(s, page, s->window);
  if (status == SURG_OK) s->window_page = page;
  return status;
}

/* Whether to read a page into the window: pages were dropped, so that those of the image will be,
 * and a new one would need a page of memory and its release for the few bytes of a header. */
static bool prefers_window(const surg__source *s, uint64_t page) {
  if (s->resident || !s->marks || page_there(s, page)) return false;
  return s->window_page == page || page - s->asked > 1; /* else access is sequential */
}

surg_status surg__source_peek(surg__source *s, uint64_t off, uint64_t n, const uint8_t **p) {
  assert(off <= s->size && n <= s->size - off);
  const uint64_t page = off >> PAGE_BITS;
  if (n == 0 || (off + n - 1) >> PAGE_BITS != page || !prefers_window(s, page)) {
    *p = s->base + off;
    return surg__source_need(s, off, n);
  }
  s->asked = page;
  const surg_status status = s->window_page == page ? SURG_OK : look(s, page);
  *p = status == SURG_OK ? s->window + (off & (PAGE - 1)) : NULL;
  return status;
}

static surg__source *new_source(surg_context *ctx, const char *name) {
  surg__source *s = surg__calloc(ctx, 1, sizeof *s);
  if (!s) return NULL;
  s->refs = 1;
  s->ctx = ctx;
  s->fd = s->dirfd = -1;
  s->window_page = UINT64_MAX;
  s->name = surg__strdup(ctx, name);
  if (s->name) return s;
  surg__source_unref(s);
  return NULL;
}

surg_status surg__source_memory(surg_context *ctx, const void *p, size_t n, const char *name,
                                surg__source **out) {
  surg__source *s = new_source(ctx, name ? name : "model");
  if (!s) return surg__oom(ctx, name);
  s->base = surg__alloc(ctx, n ? n : 1);
  if (!s->base) {
    surg__source_unref(s);
    return surg__oom(ctx, name);
  }
  s->base_heap = s->resident = true;
  s->size = n;
  if (n) memcpy(s->base, p, n);
  *out = s;
  return SURG_OK;
}

static surg_status make_resident(surg__source *s) {
  s->base = surg__alloc(s->ctx, s->size ? (size_t)s->size : 1);
  if (!s->base) return surg__oom(s->ctx, s->name);
  s->base_heap = true;
  int err = surg__os_pread(s->fd, s->base, (size_t)s->size, 0);
  if (err == ENODATA)
    return surg__error(s->ctx, SURG_EIO, s->name, "the file became shorter while it was read");
  if (err) return surg__error(s->ctx, SURG_EIO, s->name, "cannot read: %s", strerror(err));
  s->resident = true;
  surg__os_close(s->fd);
  s->fd = -1;
  return SURG_OK;
}

static surg_status make_sparse(surg__source *s) {
  if (s->size > SIZE_MAX / 2)
    return surg__error(s->ctx, SURG_ELIMIT, s->name, "the file is too large");
  s->filled = surg__calloc(s->ctx, (size_t)((s->size >> PAGE_BITS) / 64 + 1), sizeof *s->filled);
  if (!s->filled) return surg__oom(s->ctx, s->name);
  void *p;
  int err = surg__os_reserve((size_t)s->size, &p);
  if (err)
    return surg__error(s->ctx, SURG_ENOMEM, s->name, "no address space for %llu bytes: %s",
                       (unsigned long long)s->size, strerror(err));
  s->base = p;
  return SURG_OK;
}

static surg_status make_image(surg__source *s) {
  return s->size <= SURG_LIMIT_RESIDENT ? make_resident(s) : make_sparse(s);
}

/* Reads the next bytes from a callback; returns 0 or an errno value. */
static int ask(const surg_source *from, uint8_t *chunk, size_t *got) {
  const int64_t n = from->read(from->user, chunk, SPOOL_CHUNK);
  if (n < 0 || n > (int64_t)SPOOL_CHUNK) return EIO;
  *got = (size_t)n;
  return 0;
}

/* Copies input that is not seekable (a pipe, a terminal, a callback) to an unlinked temporary
 * file. */
static surg_status spool(surg__source *s, int in, const surg_source *from) {
  int err = surg__os_temp(&s->fd);
  if (err)
    return surg__error(s->ctx, SURG_EIO, s->name, "cannot make a temporary file: %s",
                       strerror(err));
  uint8_t *chunk = surg__alloc(s->ctx, SPOOL_CHUNK);
  if (!chunk) return surg__oom(s->ctx, s->name);
  surg_status status = SURG_OK;
  for (;;) {
    size_t got = 0;
    if (surg__tick(s->ctx, SURG_PHASE_READ, s->size, 0)) {
      status = surg__error(s->ctx, SURG_ECANCELLED, s->name, "cancelled");
      break;
    }
    err = from ? ask(from, chunk, &got) : surg__os_read(in, chunk, SPOOL_CHUNK, &got);
    if (err) {
      status = surg__error(s->ctx, SURG_EIO, s->name, "cannot read: %s", strerror(err));
      break;
    }
    if (got == 0) break;
    err = surg__os_write(s->fd, chunk, got);
    if (err) {
      status = surg__error(s->ctx, SURG_EIO, s->name, "cannot write a temporary file: %s",
                           strerror(err));
      break;
    }
    s->size += got;
  }
  surg__free(s->ctx, chunk);
  return status;
}

/* Records the path and its folder, for external data. */
static surg_status note_place(surg__source *s, const char *path) {
  char *dir, *base;
  if (surg__os_split(path, &dir, &base) != 0)
    return surg__error(s->ctx, SURG_ENOMEM, s->name, "out of memory");
  s->path = surg__strdup(s->ctx, path);
  s->dir = surg__strdup(s->ctx, dir);
  free(dir);
  free(base);
  return s->path && s->dir ? SURG_OK : surg__oom(s->ctx, s->name);
}

static surg_status open_path(surg__source *s, const char *path) {
  surg_status status = note_place(s, path);
  if (status != SURG_OK) return status;
  int fd;
  int err = surg__os_open_read(-1, path, &fd);
  if (err) return surg__error(s->ctx, SURG_EIO, s->name, "cannot open: %s", strerror(err));
  surg__stat st;
  err = surg__os_stat_fd(fd, &st);
  if (err || st.directory) {
    surg__os_close(fd);
    return surg__error(s->ctx, SURG_EIO, s->name, "cannot read: %s", strerror(err ? err : EISDIR));
  }
  if (!st.regular) {
    status = spool(s, fd, NULL);
    surg__os_close(fd);
    return status;
  }
  s->fd = fd;
  s->size = st.size;
  s->dev = st.dev;
  s->ino = st.ino;
  return SURG_OK;
}

surg_status surg__source_ask(surg_context *ctx, const surg_source *from, const char *name,
                             surg__source **out) {
  surg__buf b;
  surg__buf_init(&b, ctx);
  surg__buf_escape(&b, name, strlen(name), 0);
  surg__source *s = b.failed ? NULL : new_source(ctx, b.p ? b.p : "");
  surg__buf_free(&b);
  if (!s) return surg__oom(ctx, NULL);
  surg_status status = spool(s, -1, from);
  if (status == SURG_OK) status = make_image(s);
  if (status == SURG_OK)
    *out = s;
  else
    surg__source_unref(s);
  return status;
}

surg_status surg__source_take(surg_context *ctx, const surg__source *like, int fd,
                              surg__source **out) {
  surg__stat st;
  surg__source *s = new_source(ctx, like ? like->name : "model");
  const int err = surg__os_stat_fd(fd, &st);
  if (!s || err) {
    surg__os_close(fd);
    surg__source_unref(s);
    return err ? surg__error(ctx, SURG_EIO, NULL, "cannot read a temporary file: %s", strerror(err))
               : surg__oom(ctx, NULL);
  }
  s->fd = fd;
  s->size = st.size;
  s->elsewhere = true;
  if (like) s->dev = like->dev, s->ino = like->ino;
  surg_status status = like && like->path ? note_place(s, like->path) : SURG_OK;
  if (status == SURG_OK) status = make_image(s);
  if (status == SURG_OK)
    *out = s;
  else
    surg__source_unref(s);
  return status;
}

surg_status surg__source_open(surg_context *ctx, const char *path, surg__source **out) {
  bool input = strcmp(path, "-") == 0;
  surg__buf name;
  surg__buf_init(&name, ctx);
  surg__buf_escape(&name, input ? "standard input" : path, strlen(input ? "standard input" : path),
                   0);
  surg__source *s = name.failed ? NULL : new_source(ctx, name.p ? name.p : "");
  surg__buf_free(&name);
  if (!s) return surg__oom(ctx, NULL);
  surg_status status = input ? spool(s, 0, NULL) : open_path(s, path);
  if (status == SURG_OK) status = make_image(s);
  if (status != SURG_OK) {
    surg__source_unref(s);
    return status;
  }
  *out = s;
  return SURG_OK;
}
