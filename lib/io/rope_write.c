/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a rope to a sink. Bytes are copied through one buffer with pread and write, which
 * measured faster than mapping and uses far less memory; long ranges between files are first
 * offered to the kernel. */
#include <errno.h>

#include "base/os/os.h"
#include "io/rope.h"

#define BUFFER ((size_t)1 << 20)
/* Each read of a typed list decodes it from the start, so such tensors are read in few parts. */
#define TYPED_PART ((size_t)64 << 20)
/* Bytes that the kernel copies at once: between them the user may cancel. */
#define KERNEL_PART ((uint64_t)256 << 20)

typedef struct writer {
  surg__rope *rope;
  const surg__sink *sink;
  uint8_t *buffer; /* NULL: the sink is memory */
  size_t used;
  uint64_t done; /* bytes written to a memory sink */
  uint64_t told; /* bytes written to a file or callback, for progress */
} writer;

/* Reports progress after n more bytes; fails if the user cancels. */
static surg_status tick(writer *w, uint64_t n) {
  w->told += n;
  if (!surg__tick(w->rope->ctx, SURG_PHASE_WRITE, w->told, w->rope->total)) return SURG_OK;
  return surg__error(w->rope->ctx, SURG_ECANCELLED, w->sink->path, "cancelled");
}

/* Hands bytes to the file or callback; at most BUFFER at once to a callback. */
static surg_status deliver(writer *w, const uint8_t *p, size_t n) {
  const surg_sink *to = w->sink->callback;
  surg_context *ctx = w->rope->ctx;
  if (!to) {
    const int e = surg__os_write(w->sink->fd, p, n);
    if (e == 0) return tick(w, n);
    return surg__error(ctx, SURG_EIO, w->sink->path, "cannot write: %s", strerror(e));
  }
  for (size_t part; n > 0; p += part, n -= part) {
    part = n < BUFFER ? n : BUFFER;
    if (!to->write(to->user, p, part))
      return surg__error(ctx, SURG_EIO, w->sink->path, "cannot write: the callback failed");
    const surg_status s = tick(w, part);
    if (s != SURG_OK) return s;
  }
  return SURG_OK;
}

static surg_status flush(writer *w) {
  if (w->used == 0) return SURG_OK;
  const surg_status s = deliver(w, w->buffer, w->used);
  w->used = 0;
  return s;
}

static surg_status put(writer *w, const void *p, size_t n) {
  if (!w->buffer) {
    memcpy(w->sink->memory + w->done, p, n);
    w->done += n;
    return SURG_OK;
  }
  if (n >= BUFFER - w->used) {
    surg_status s = flush(w);
    if (s != SURG_OK) return s;
    if (n >= BUFFER) return deliver(w, p, n);
  }
  memcpy(w->buffer + w->used, p, n);
  w->used += n;
  return SURG_OK;
}

/* Where the next bytes can be stored, and how many of `want` fit. */
static uint8_t *room(writer *w, uint64_t want, size_t *n) {
  size_t free_bytes = w->buffer ? BUFFER - w->used : SIZE_MAX;
  *n = want < free_bytes ? (size_t)want : free_bytes;
  return w->buffer ? w->buffer + w->used : w->sink->memory + w->done;
}

static surg_status advance(writer *w, size_t n) {
  if (!w->buffer) {
    w->done += n;
    return SURG_OK;
  }
  w->used += n;
  return w->used == BUFFER ? flush(w) : SURG_OK;
}

/* Lets the kernel copy a long range of another file; *off and *n are the remaining range. */
static surg_status by_kernel(writer *w, int fd, uint64_t *off, uint64_t *n) {
  if (!w->buffer || !w->sink->plain_file || fd < 0 || *n < BUFFER) return SURG_OK;
  surg_status s = flush(w);
  if (s != SURG_OK) return s;
  int e = 0;
  for (uint64_t done = 1; s == SURG_OK && e == 0 && done > 0 && *n > 0;) {
    const uint64_t part = *n < KERNEL_PART ? *n : KERNEL_PART;
    done = 0;
    e = surg__os_copy_range(fd, *off, w->sink->fd, part, &done);
    assert(done <= part);
    *off += done;
    *n -= done;
    if (e == 0 && done > 0) s = tick(w, done);
    if (done < part) break; /* the kernel cannot copy the rest */
  }
  if (e == 0) return s;
  return surg__error(w->rope->ctx, SURG_EIO, w->sink->path, "cannot write: %s", strerror(e));
}

static surg_status put_source(writer *w, surg__source *src, uint64_t off, uint64_t n) {
  if (src->resident) {
    assert(n <= SIZE_MAX);
    return put(w, src->base + off, (size_t)n);
  }
  surg_status s = by_kernel(w, src->fd, &off, &n);
  while (s == SURG_OK && n > 0) {
    size_t part;
    uint8_t *to = room(w, n, &part);
    s = surg__source_read(src, off, to, part);
    if (s == SURG_OK) s = advance(w, part);
    off += part;
    n -= part;
  }
  return s;
}

static surg_status unreadable(const writer *w, const surg__datafile *f, int e) {
  return surg__error(w->rope->ctx, SURG_EIO, f->location, "cannot read: %s",
                     e == ENODATA ? "the file became shorter" : strerror(e));
}

static surg_status put_file(writer *w, const surg__datafile *f, uint64_t off, uint64_t n) {
  int fd;
  int e = surg__datafile_open(f, &fd);
  if (e != 0) return unreadable(w, f, e);
  surg_status s = by_kernel(w, fd, &off, &n);
  while (s == SURG_OK && n > 0) {
    size_t part;
    uint8_t *to = room(w, n, &part);
    e = surg__os_pread(fd, to, part, off);
    s = e != 0 ? unreadable(w, f, e) : advance(w, part);
    off += part;
    n -= part;
  }
  surg__datafile_close(f, fd);
  return s;
}

static surg_status put_typed(writer *w, const surg_tensor *t) {
  surg_context *ctx = w->rope->ctx;
  size_t part = t->bytes < TYPED_PART ? (size_t)t->bytes : TYPED_PART;
  uint8_t *p = surg__alloc(ctx, part ? part : 1);
  if (!p) return surg__oom(ctx, w->sink->path);
  surg_status s = SURG_OK;
  for (uint64_t off = 0; s == SURG_OK && off < t->bytes; off += part) {
    if (t->bytes - off < part) part = (size_t)(t->bytes - off);
    s = surg_tensor_read(t, off, p, part);
    if (s == SURG_OK) s = put(w, p, part);
  }
  surg__free(ctx, p);
  return s;
}

static surg_status put_tensor(writer *w, const surg_tensor *t) {
  if (t->view == SURG__VIEW_RAW) return put_source(w, t->model->source, t->data.off, t->data.len);
  if (t->view == SURG__VIEW_EXTERNAL && !t->codec)
    return put_file(w, t->file, t->data.off, t->data.len);
  if (t->view == SURG__VIEW_TYPED || t->codec) return put_typed(w, t);
  assert(t->view == SURG__VIEW_OWNED);
  if (t->blob->p) {
    assert(t->bytes <= t->blob->n);
    return put(w, t->blob->p, (size_t)t->bytes);
  }
  surg_status s = SURG_OK;
  for (uint64_t off = 0; s == SURG_OK && off < t->bytes;) {
    size_t part;
    uint8_t *to = room(w, t->bytes - off, &part);
    s = surg__blob_read(t->blob, off, to, part);
    if (s == SURG_OK) s = advance(w, part);
    off += part;
  }
  return s;
}

static surg_status put_zero(writer *w, uint64_t n) {
  surg_status s = SURG_OK;
  while (s == SURG_OK && n > 0) {
    size_t part;
    uint8_t *to = room(w, n, &part);
    memset(to, 0, part);
    s = advance(w, part);
    n -= part;
  }
  return s;
}

static surg_status put_piece(writer *w, const surg__piece *p) {
  switch (p->kind) {
    case SURG__PIECE_MEMORY:
      return put(w, w->rope->bytes.p + p->off, (size_t)p->len);
    case SURG__PIECE_SOURCE:
      return put_source(w, w->rope->source, p->off, p->len);
    case SURG__PIECE_FILE:
      return put_file(w, p->object, p->off, p->len);
    case SURG__PIECE_TENSOR:
      return put_tensor(w, p->object);
    case SURG__PIECE_BORROWED:
      return put(w, p->object, (size_t)p->len);
    case SURG__PIECE_ZERO:
      return put_zero(w, p->len);
    case SURG__PIECE_HEADER:
      break;
  }
  assert(!"a message was left open");
  return SURG_EINTERNAL;
}

surg_status surg__rope_write(surg__rope *r, const surg__sink *sink) {
  assert(!r->failed);
  writer w = {r, sink, NULL, 0, 0};
  if (sink->fd >= 0 || sink->callback) {
    w.buffer = surg__alloc(r->ctx, BUFFER);
    if (!w.buffer) return surg__oom(r->ctx, sink->path);
  }
  surg_status s = SURG_OK;
  for (size_t i = 0; s == SURG_OK && i < r->pieces.count; i++)
    s = put_piece(&w, &r->pieces.items[i]);
  if (s == SURG_OK && w.buffer) s = flush(&w);
  assert(s != SURG_OK || w.buffer || w.done == r->total);
  surg__free(r->ctx, w.buffer);
  return s;
}
