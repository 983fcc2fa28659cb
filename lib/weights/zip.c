/* SPDX-License-Identifier: Apache-2.0 */
/* Lists the tensors of an .npz file, a zip archive of .npy files, without reading their elements.
 * The sizes of the central directory are used; 64-bit sizes are supported. */
#include <zlib.h>

#include "base/dtype.h"
#include "base/zip.h"
#include "weights/weights.h"

#define DIRECTORY_MOST ((uint64_t)256 << 20) /* bytes of a central directory */
#define PIECE ((size_t)1 << 20)

static surg_status broken(const surg__storage *f) {
  return surg__storage_bad(f, "is not a valid .npz file");
}

static surg_status bad_member(const surg__storage *f, const char *name, const char *why) {
  return surg__error(f->ctx, SURG_EINVALID, f->path, "member %s: %s", surg__q(f->ctx, name), why);
}

static surg_status read_wide_end(const surg__storage *f, uint64_t at, surg__zip_directory *d) {
  uint8_t w[SURG__ZIP_WIDE_END_SIZE];
  if (at > f->size || f->size - at < sizeof w) return broken(f);
  const surg_status s = surg__storage_read(f, at, w, sizeof w);
  return s != SURG_OK ? s : surg__zip_wide_end(w, d) ? SURG_OK : broken(f);
}

/* Reads the central directory into *out, which the caller frees; *d: its place and size. */
static surg_status read_directory(const surg__storage *f, surg__zip_directory *d, uint8_t **out) {
  const size_t most = SURG__ZIP_END_SIZE + SURG__ZIP_WIDE_LOCATOR_SIZE + UINT16_MAX;
  const size_t n = f->size < most ? (size_t)f->size : most;
  uint64_t wide = UINT64_MAX;
  uint8_t *tail = surg__alloc(f->ctx, n + 1);
  if (!tail) return surg__oom(f->ctx, f->path);
  surg_status s = surg__storage_read(f, f->size - n, tail, n);
  if (s == SURG_OK && !surg__zip_end(tail, n, d, &wide)) s = broken(f);
  surg__free(f->ctx, tail);
  if (s == SURG_OK && wide != UINT64_MAX) s = read_wide_end(f, wide, d);
  if (s != SURG_OK) return s;
  if (d->at > f->size || d->size > f->size - d->at || d->size > DIRECTORY_MOST) return broken(f);
  *out = surg__alloc(f->ctx, (size_t)d->size + 1);
  if (!*out) return surg__oom(f->ctx, f->path);
  return surg__storage_read(f, d->at, *out, (size_t)d->size);
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
    e->plain = !e->deflated && !h->big && (!h->fortran || h->rank < 2) && h->dtype != SURG_BOOL;
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
  uint8_t head[SURG__ZIP_MEMBER_SIZE];
  if (e->member > f->size || f->size - e->member < sizeof head) return broken(f);
  const surg_status s = surg__storage_read(f, e->member, head, sizeof head);
  if (s != SURG_OK) return s;
  const size_t n = surg__zip_member_head(head);
  e->off = e->member + n;
  return n && e->off <= f->size && e->bytes <= f->size - e->off ? SURG_OK : broken(f);
}

static surg_status read_entry(surg__storage *f, const surg__zip_entry *m) {
  surg__stored e = {.bytes = m->packed,
                    .size = m->size,
                    .member = m->at,
                    .deflated = m->method == SURG__ZIP_DEFLATED};
  const char *text = (const char *)m->name;
  const size_t n = m->name_len;
  e.name =
      surg__arena_strn(&f->arena, text, n > 4 && memcmp(text + n - 4, ".npy", 4) == 0 ? n - 4 : n);
  if (!e.name) return surg__oom(f->ctx, f->path);
  if (m->encrypted) return bad_member(f, e.name, "is encrypted");
  if (m->method != SURG__ZIP_STORED && !e.deflated)
    return bad_member(f, e.name, "is compressed in a way that is not read here");
  if (e.deflated ? e.size / SURG__ZIP_RATIO_MOST > e.bytes : e.size != e.bytes) return broken(f);
  surg_status s = locate(f, &e);
  if (s == SURG_OK) s = read_npy(f, &e);
  if (s != SURG_OK) return s;
  return surg__vec_push(f->ctx, &f->all, e) ? SURG_OK : surg__oom(f->ctx, f->path);
}

surg_status surg__npz_list(surg__storage *f) {
  surg__zip_directory d = {0};
  uint8_t *p = NULL;
  surg_status s = read_directory(f, &d, &p);
  uint64_t at = 0;
  for (uint64_t i = 0; i < d.count && s == SURG_OK; i++) {
    surg__zip_entry m;
    s = surg__zip_entry_read(p + at, d.size - at, &m) ? read_entry(f, &m) : broken(f);
    at += s == SURG_OK ? m.len : 0;
  }
  surg__free(f->ctx, p);
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
  if (s == SURG_OK) {
    assert(e->size >= b->n); /* a header precedes the elements */
    surg__pack(a.dtype, a.count, a.data, bytes);
    s = surg__blob_write(b, 0, bytes, (size_t)b->n);
  }
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
  const bool flat = s == SURG_OK && e->deflated && !h->big && h->dtype != SURG_BOOL &&
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
