/* SPDX-License-Identifier: Apache-2.0 */
/* Lists the tensors of an .npz file, a zip archive of .npy files, without reading their elements.
 * The sizes of the central directory are used; 64-bit sizes are supported. */
#include <zlib.h>

#include "base/dtype.h"
#include "base/zip.h"
#include "weights/weights.h"

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
#define DIRECTORY_MOST ((uint64_t)256 << 20) /* bytes of a central directory */
#define RATIO_MOST 1100u                     /* deflate compresses at most about 1030:1 */
#define PIECE ((size_t)1 << 20)

typedef struct directory {
  uint8_t *p;
  size_t n;
  uint64_t count;
} directory;

static surg_status broken(const surg__storage *f) {
  return surg__storage_bad(f, "is not a valid .npz file");
}

static surg_status bad_member(const surg__storage *f, const char *name, const char *why) {
  return surg__error(f->ctx, SURG_EINVALID, f->path, "member %s: %s", surg__q(f->ctx, name), why);
}

/* Reads the place of the directory from the end of the file, `tail` being its last n bytes. */
static surg_status find_directory(const surg__storage *f, const uint8_t *tail, size_t n,
                                  uint64_t *at, uint64_t *size, uint64_t *count) {
  if (n < END_SIZE) return broken(f);
  size_t end = n - END_SIZE;
  while (surg__le32(tail + end) != END_MARK) /* a comment may follow it */
    if (end-- == 0) return broken(f);
  *count = surg__zip_le16(tail + end + 10);
  *size = surg__le32(tail + end + 12);
  *at = surg__le32(tail + end + 16);
  if (end < WIDE_LOCATOR_SIZE) return SURG_OK;
  const uint8_t *locator = tail + end - WIDE_LOCATOR_SIZE;
  if (surg__le32(locator) != WIDE_LOCATOR_MARK) return SURG_OK;
  const uint64_t wide = surg__le64(locator + 8);
  uint8_t w[WIDE_END_SIZE];
  if (wide > f->size || f->size - wide < sizeof w) return broken(f);
  const surg_status s = surg__storage_read(f, wide, w, sizeof w);
  if (s != SURG_OK) return s;
  if (surg__le32(w) != WIDE_END_MARK) return broken(f);
  *count = surg__le64(w + 32);
  *size = surg__le64(w + 40);
  *at = surg__le64(w + 48);
  return SURG_OK;
}

static surg_status read_directory(const surg__storage *f, directory *d) {
  const size_t n = f->size < END_SIZE + UINT16_MAX + WIDE_LOCATOR_SIZE
                       ? (size_t)f->size
                       : (size_t)(END_SIZE + UINT16_MAX + WIDE_LOCATOR_SIZE);
  uint64_t at = 0, size = 0;
  uint8_t *tail = surg__alloc(f->ctx, n + 1);
  if (!tail) return surg__oom(f->ctx, f->path);
  surg_status s = surg__storage_read(f, f->size - n, tail, n);
  if (s == SURG_OK) s = find_directory(f, tail, n, &at, &size, &d->count);
  surg__free(f->ctx, tail);
  if (s != SURG_OK) return s;
  if (at > f->size || size > f->size - at || size > DIRECTORY_MOST) return broken(f);
  d->n = (size_t)size;
  d->p = surg__alloc(f->ctx, d->n + 1);
  if (!d->p) return surg__oom(f->ctx, f->path);
  return surg__storage_read(f, at, d->p, d->n);
}

/* Inflates up to `room` bytes of a member. *got: bytes that were produced. */
static surg_status inflate_start(const surg__storage *f, const surg__stored *e, uint8_t *out,
                                 size_t room, size_t *got) {
  uint8_t in[4096];
  z_stream z = {0};
  uint64_t done = 0;
  if (inflateInit2(&z, -MAX_WBITS) != Z_OK) return surg__oom(f->ctx, f->path);
  z.next_out = out;
  z.avail_out = (uInt)room;
  surg_status s = SURG_OK;
  for (int r = Z_OK; s == SURG_OK && r == Z_OK && z.avail_out && done < e->bytes;) {
    const size_t n = e->bytes - done < sizeof in ? (size_t)(e->bytes - done) : sizeof in;
    s = surg__storage_read(f, e->off + done, in, n);
    z.next_in = in;
    z.avail_in = (uInt)n;
    done += n;
    if (s == SURG_OK) r = inflate(&z, Z_NO_FLUSH);
  }
  *got = room - z.avail_out;
  inflateEnd(&z);
  return s;
}

/* Reads the header of the .npy file in a member. */
static surg_status read_npy(surg__storage *f, surg__stored *e) {
  uint8_t *head = surg__alloc(f->ctx, SURG__NPY_HEAD);
  surg__npy_head *h = surg__alloc(f->ctx, sizeof *h);
  size_t n = e->size < SURG__NPY_HEAD ? (size_t)e->size : SURG__NPY_HEAD;
  surg_status s = head && h ? SURG_OK : surg__oom(f->ctx, f->path);
  if (s == SURG_OK && e->deflated)
    s = inflate_start(f, e, head, n, &n);
  else if (s == SURG_OK)
    s = surg__storage_read(f, e->off, head, n);
  if (s == SURG_OK && (!surg__npy_parse(head, n, h) || h->count > UINT64_MAX / h->size ||
                       e->size != h->start + h->count * h->size))
    s = bad_member(f, e->name, h->why ? h->why : "is not a valid .npy file");
  if (s == SURG_OK) {
    int64_t *dims = surg__arena_array(&f->arena, h->rank ? h->rank : 1, sizeof *dims);
    if (dims && h->rank) memcpy(dims, h->dims, h->rank * sizeof *dims);
    e->dims = dims;
    e->rank = h->rank;
    e->dtype = h->dtype;
    e->plain = !e->deflated && !h->swap && (!h->fortran || h->rank < 2) && h->dtype != SURG_BOOL;
    if (e->plain) {
      e->off += h->start;
      e->bytes -= h->start;
    }
    if (!dims) s = surg__oom(f->ctx, f->path);
  }
  surg__free(f->ctx, head);
  surg__free(f->ctx, h);
  return s;
}

/* Finds the bytes of a member, after its local header. */
static surg_status locate(const surg__storage *f, surg__stored *e) {
  uint8_t head[MEMBER_SIZE];
  if (e->member > f->size || f->size - e->member < sizeof head) return broken(f);
  const surg_status s = surg__storage_read(f, e->member, head, sizeof head);
  if (s != SURG_OK) return s;
  e->off = e->member + sizeof head + surg__zip_le16(head + 26) + surg__zip_le16(head + 28);
  if (surg__le32(head) != MEMBER_MARK || e->off > f->size || e->bytes > f->size - e->off)
    return broken(f);
  return SURG_OK;
}

static surg_status read_entry(surg__storage *f, const uint8_t *p, size_t name, size_t extra) {
  const unsigned method = surg__zip_le16(p + 10), flags = surg__zip_le16(p + 8);
  surg__stored e = {.bytes = surg__le32(p + 20),
                    .size = surg__le32(p + 24),
                    .member = surg__le32(p + 42),
                    .deflated = method == METHOD_DEFLATED};
  const char *text = (const char *)p + ENTRY_SIZE;
  const size_t cut = name > 4 && memcmp(text + name - 4, ".npy", 4) == 0 ? name - 4 : name;
  e.name = surg__arena_strn(&f->arena, text, cut);
  if (!e.name) return surg__oom(f->ctx, f->path);
  if (!surg__zip_wide(p + ENTRY_SIZE + name, extra,
                      (uint64_t *const[]){&e.size, &e.bytes, &e.member}))
    return broken(f);
  if (flags & 1) return bad_member(f, e.name, "is encrypted");
  if (method != METHOD_STORED && method != METHOD_DEFLATED)
    return bad_member(f, e.name, "is compressed in a way that is not read here");
  if (e.deflated ? e.size / RATIO_MOST > e.bytes : e.size != e.bytes) return broken(f);
  surg_status s = locate(f, &e);
  if (s == SURG_OK) s = read_npy(f, &e);
  if (s != SURG_OK) return s;
  return surg__vec_push(f->ctx, &f->all, e) ? SURG_OK : surg__oom(f->ctx, f->path);
}

surg_status surg__npz_list(surg__storage *f) {
  directory d = {0};
  surg_status s = read_directory(f, &d);
  size_t at = 0;
  for (uint64_t i = 0; i < d.count && s == SURG_OK; i++) {
    const uint8_t *p = d.p + at;
    if (d.n - at < ENTRY_SIZE || surg__le32(p) != ENTRY_MARK) {
      s = broken(f);
      break;
    }
    const size_t name = surg__zip_le16(p + 28), extra = surg__zip_le16(p + 30),
                 comment = surg__zip_le16(p + 32);
    if (d.n - at - ENTRY_SIZE < name + extra + comment)
      s = broken(f);
    else
      s = read_entry(f, p, name, extra);
    at += ENTRY_SIZE + name + extra + comment;
  }
  surg__free(f->ctx, d.p);
  return s;
}

/* --- elements --- */

/* Inflates a row-major, little-endian member into a blob, in pieces. */
static surg_status inflate_all(const surg__storage *f, const surg__stored *e, uint64_t skip,
                               surg__blob *b) {
  uint8_t *in = surg__alloc(f->ctx, PIECE), *out = surg__alloc(f->ctx, PIECE);
  z_stream z = {0};
  uint64_t read = 0, made = 0;
  surg_status s = in && out ? SURG_OK : surg__oom(f->ctx, f->path);
  int r = s == SURG_OK ? inflateInit2(&z, -MAX_WBITS) : Z_STREAM_END;
  if (s == SURG_OK && r != Z_OK) s = surg__oom(f->ctx, f->path);
  while (s == SURG_OK && r == Z_OK && made < e->size) {
    if (!z.avail_in && read < e->bytes) {
      z.avail_in = (uInt)(e->bytes - read < PIECE ? e->bytes - read : PIECE);
      z.next_in = in;
      s = surg__storage_read(f, e->off + read, in, z.avail_in);
      read += z.avail_in;
    }
    z.next_out = out;
    z.avail_out = (uInt)PIECE;
    if (s == SURG_OK) r = inflate(&z, Z_NO_FLUSH);
    const size_t n = PIECE - z.avail_out;
    const size_t first = made < skip ? (skip - made < n ? (size_t)(skip - made) : n) : 0;
    if (n > e->size - made) r = Z_DATA_ERROR;
    if (s == SURG_OK && r >= Z_OK && n > first)
      s = surg__blob_write(b, made + first - skip, out + first, n - first);
    made += n;
  }
  inflateEnd(&z);
  surg__free(f->ctx, in);
  surg__free(f->ctx, out);
  if (s == SURG_OK && (r < Z_OK || made != e->size)) s = bad_member(f, e->name, "is corrupt");
  return s;
}

/* Reads a whole member through the reader of .npy files, which converts order and bools. */
static surg_status convert_all(const surg__storage *f, const surg__stored *e, surg__blob *b) {
  if (e->size >= SIZE_MAX || e->bytes >= SIZE_MAX) return surg__oom(f->ctx, f->path);
  uint8_t *bytes = surg__alloc(f->ctx, (size_t)e->size + 1);
  surg_status s = bytes ? SURG_OK : surg__oom(f->ctx, f->path);
  surg__array a = {0};
  size_t got = (size_t)e->size;
  if (s == SURG_OK && e->deflated)
    s = inflate_start(f, e, bytes, (size_t)e->size, &got);
  else if (s == SURG_OK)
    s = surg__storage_read(f, e->off, bytes, got);
  if (s == SURG_OK && got != e->size) s = bad_member(f, e->name, "is corrupt");
  if (s == SURG_OK) s = surg__npy_read(f->ctx, f->path, bytes, got, &a);
  if (s == SURG_OK) s = surg__blob_write(b, 0, a.data, (size_t)b->n);
  surg__array_drop(&a);
  surg__free(f->ctx, bytes);
  return s;
}

surg_status surg__npz_load(const surg__storage *f, const surg__stored *e, surg_model *m,
                           surg_tensor **out) {
  surg_tensor *t = surg__tensor_alloc(m, e->dtype, e->dims, e->rank);
  surg__npy_head *h = surg__alloc(f->ctx, sizeof *h);
  uint8_t *head = surg__alloc(f->ctx, SURG__NPY_HEAD);
  surg_status s = t && h && head ? SURG_OK : surg__oom(f->ctx, f->path);
  size_t n = e->size < SURG__NPY_HEAD ? (size_t)e->size : SURG__NPY_HEAD;
  if (s == SURG_OK && e->deflated)
    s = inflate_start(f, e, head, n, &n);
  else if (s == SURG_OK)
    s = surg__storage_read(f, e->off, head, n);
  if (s == SURG_OK && !surg__npy_parse(head, n, h)) s = bad_member(f, e->name, "is corrupt");
  const bool flat = s == SURG_OK && e->deflated && !h->swap && h->dtype != SURG_BOOL &&
                    (!h->fortran || h->rank < 2);
  const uint64_t start = s == SURG_OK ? h->start : 0;
  surg__free(f->ctx, head);
  surg__free(f->ctx, h);
  if (s != SURG_OK || !t->bytes) {
    *out = t;
    return s;
  }
  surg__blob *b = surg__blob_new(m, t->bytes);
  if (!b) return m->status;
  s = flat ? inflate_all(f, e, start, b) : convert_all(f, e, b);
  t->view = SURG__VIEW_OWNED;
  t->blob = b;
  *out = t;
  return s;
}
