/* SPDX-License-Identifier: Apache-2.0 */
/* Writes .npz files in one pass: sizes and checksums of members are written into their headers
 * afterwards. Every member has 64-bit sizes. */
#include <errno.h>
#include <zlib.h>

#include "base/os/os.h"
#include "base/zip.h"
#include "weights/weights.h"

#define PIECE ((size_t)1 << 20)
#define NAME_MOST 65000u /* bytes of the name of a member */
#define LEVEL 6          /* of deflate */
#define MEMBER_FIXED 30u
#define WIDE_MEMBER 20u /* the extra field of a member: two sizes */
#define WIDE_ENTRY 28u  /* of the directory: two sizes and a place */
#define DATE 0x21u      /* 1980-01-01: the same weights give the same file */

typedef struct member {
  const char *name;
  uint64_t at, size, packed;
  uint32_t crc;
} member;

typedef struct writer {
  surg_context *ctx;
  const char *path;
  int fd;
  uint64_t at;
  bool compress;
  uint8_t *in, *out;
  surg__buf head;
} writer;

bool surg__npz_has(int dtype) {
  surg__buf b = {.failed = true};
  return surg__npy_put_head(dtype, NULL, 0, &b);
}

static surg_status put(writer *w, const void *p, size_t n) {
  const int e = surg__os_write(w->fd, p, n);
  if (e) return surg__error(w->ctx, SURG_EIO, w->path, "cannot write: %s", strerror(e));
  w->at += n;
  return SURG_OK;
}

static void put16(surg__buf *b, unsigned v) {
  surg__buf_putc(b, (char)v);
  surg__buf_putc(b, (char)(v >> 8));
}

static void put32(surg__buf *b, uint32_t v) {
  put16(b, v & 0xffff);
  put16(b, v >> 16);
}

static void put64(surg__buf *b, uint64_t v) {
  put32(b, (uint32_t)v);
  put32(b, (uint32_t)(v >> 32));
}

/* What the header of a member and its entry in the directory have in common. */
static void put_common(const writer *w, surg__buf *b, const member *m, unsigned extra) {
  put16(b, 45);      /* version needed: 64-bit sizes */
  put16(b, 1 << 11); /* the name is UTF-8 */
  put16(b, w->compress ? 8 : 0);
  put16(b, 0);
  put16(b, DATE);
  put32(b, m->crc);
  put32(b, UINT32_MAX);
  put32(b, UINT32_MAX);
  put16(b, (unsigned)strlen(m->name) + 4);
  put16(b, extra);
}

static void put_name(surg__buf *b, const member *m) {
  surg__buf_puts(b, m->name);
  surg__buf_puts(b, ".npy");
}

static void put_sizes(surg__buf *b, const member *m, unsigned size) {
  put16(b, 1);
  put16(b, size);
  put64(b, m->size);
  put64(b, m->packed);
}

static void put_header(const writer *w, surg__buf *b, const member *m) {
  put32(b, SURG__ZIP_MEMBER_MARK);
  put_common(w, b, m, WIDE_MEMBER);
  put_name(b, m);
  put_sizes(b, m, WIDE_MEMBER - 4);
}

static void put_entry(const writer *w, surg__buf *b, const member *m) {
  put32(b, SURG__ZIP_ENTRY_MARK);
  put16(b, 45);
  put_common(w, b, m, WIDE_ENTRY);
  put16(b, 0); /* comment, disk, attributes */
  put16(b, 0);
  put16(b, 0);
  put32(b, 0);
  put32(b, UINT32_MAX);
  put_name(b, m);
  put_sizes(b, m, WIDE_ENTRY - 4);
  put64(b, m->at);
}

/* Writes n bytes of a member; `end`: they are its last. */
static surg_status put_bytes(writer *w, member *m, z_stream *z, const void *p, size_t n, bool end) {
  m->crc = (uint32_t)crc32(m->crc, p, (uInt)n);
  m->size += n;
  if (!w->compress) {
    m->packed += n;
    return put(w, p, n);
  }
  z->next_in = (Bytef *)(uintptr_t)p;
  z->avail_in = (uInt)n;
  do {
    z->next_out = w->out;
    z->avail_out = (uInt)PIECE;
    deflate(z, end ? Z_FINISH : Z_NO_FLUSH);
    const size_t made = PIECE - z->avail_out;
    m->packed += made;
    const surg_status s = put(w, w->out, made);
    if (s != SURG_OK) return s;
  } while (!z->avail_out);
  return SURG_OK;
}

static surg_status put_elements(writer *w, member *m, z_stream *z, const surg_tensor *t) {
  surg_status s = put_bytes(w, m, z, w->head.p, w->head.n, !t->bytes);
  for (uint64_t at = 0; s == SURG_OK && at < t->bytes;) {
    const size_t n = t->bytes - at < PIECE ? (size_t)(t->bytes - at) : PIECE;
    s = surg_tensor_read(t, at, w->in, n);
    at += n;
    if (s == SURG_OK) s = put_bytes(w, m, z, w->in, n, at == t->bytes);
  }
  return s;
}

/* Writes the header of a member at its place, now or again. */
static surg_status write_header(writer *w, const member *m, bool again) {
  surg__buf b;
  surg__buf_init(&b, w->ctx);
  put_header(w, &b, m);
  surg_status s = b.failed ? surg__oom(w->ctx, w->path) : SURG_OK;
  const int e = s == SURG_OK && again ? surg__os_pwrite(w->fd, b.p, b.n, m->at) : 0;
  if (e) s = surg__error(w->ctx, SURG_EIO, w->path, "cannot write: %s", strerror(e));
  if (s == SURG_OK && !again) s = put(w, b.p, b.n);
  surg__buf_free(&b);
  return s;
}

static surg_status write_member(writer *w, const surg__weight *x, member *m) {
  z_stream z = {0};
  *m = (member){.name = x->name, .at = w->at};
  w->head.n = 0;
  surg__npy_put_head(x->t->dtype, x->t->dims, x->t->rank, &w->head);
  if (w->head.failed) return surg__oom(w->ctx, w->path);
  if (strlen(x->name) > NAME_MOST)
    return surg__error(w->ctx, SURG_EUNSUPPORTED, w->path, "the name of a tensor is too long: %s",
                       surg__q(w->ctx, x->name));
  if (w->compress && deflateInit2(&z, LEVEL, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY) != Z_OK)
    return surg__oom(w->ctx, w->path);
  surg_status s = write_header(w, m, false);
  if (s == SURG_OK) s = put_elements(w, m, &z, x->t);
  if (w->compress) deflateEnd(&z);
  return s == SURG_OK ? write_header(w, m, true) : s;
}

/* The end of the directory with 64-bit sizes, and its locator. */
static void put_wide_end(surg__buf *b, uint64_t n, uint64_t size, uint64_t start) {
  put32(b, SURG__ZIP_WIDE_END_MARK);
  put64(b, 44);
  put16(b, 45);
  put16(b, 45);
  put32(b, 0);
  put32(b, 0);
  put64(b, n);
  put64(b, n);
  put64(b, size);
  put64(b, start);
  put32(b, SURG__ZIP_WIDE_LOCATOR_MARK);
  put32(b, 0);
  put64(b, start + size);
  put32(b, 1);
}

static surg_status write_end(writer *w, const member *all, size_t n) {
  surg__buf b;
  surg__buf_init(&b, w->ctx);
  for (size_t i = 0; i < n; i++) put_entry(w, &b, &all[i]);
  const uint64_t size = b.n, start = w->at;
  if (n >= UINT16_MAX || size >= UINT32_MAX || start >= UINT32_MAX)
    put_wide_end(&b, n, size, start);
  put32(&b, SURG__ZIP_END_MARK);
  put32(&b, 0);
  put16(&b, n < UINT16_MAX ? (unsigned)n : UINT16_MAX);
  put16(&b, n < UINT16_MAX ? (unsigned)n : UINT16_MAX);
  put32(&b, size < UINT32_MAX ? (uint32_t)size : UINT32_MAX);
  put32(&b, start < UINT32_MAX ? (uint32_t)start : UINT32_MAX);
  put16(&b, 0);
  const surg_status s = b.failed ? surg__oom(w->ctx, w->path) : put(w, b.p, b.n);
  surg__buf_free(&b);
  return s;
}

surg_status surg__npz_write(surg_context *ctx, const surg__weight *const *x, size_t n,
                            const char *dir, const char *path, bool no_fsync, bool compress,
                            surg__draft *out) {
  writer w = {.ctx = ctx, .path = path, .compress = compress};
  *out = (surg__draft){-1, NULL};
  surg__buf_init(&w.head, ctx);
  member *all = surg__calloc(ctx, n + 1, sizeof *all);
  w.in = surg__alloc(ctx, PIECE);
  w.out = surg__alloc(ctx, PIECE);
  surg_status s = all && w.in && w.out ? SURG_OK : surg__oom(ctx, path);
  int e = s == SURG_OK ? surg__os_temp_in(dir, &out->fd, &out->temp) : 0;
  w.fd = out->fd;
  for (size_t i = 0; s == SURG_OK && !e && i < n; i++) s = write_member(&w, x[i], &all[i]);
  if (s == SURG_OK && !e) s = write_end(&w, all, n);
  if (s == SURG_OK && !e && !no_fsync) e = surg__os_fsync(out->fd);
  if (e) s = surg__error(ctx, SURG_EIO, path, "cannot write: %s", strerror(e));
  if (s != SURG_OK) surg__draft_drop(out);
  surg__buf_free(&w.head);
  surg__free(ctx, w.in);
  surg__free(ctx, w.out);
  surg__free(ctx, all);
  return s;
}
