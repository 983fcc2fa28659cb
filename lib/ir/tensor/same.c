/* SPDX-License-Identifier: Apache-2.0 */
/* Whether two tensors have the same bits, and a hash consistent with that. The hash samples three
 * places, so that a search for equal weights in a large model reads little. Elements are read in
 * pieces and not kept. Typed lists cannot be read in pieces: small ones are decoded and freed,
 * large ones are decoded into a blob. */
#include "base/limits.h"
#include "ir/tensor.h"

#define PIECE ((size_t)SURG_LIMIT_PIECE)
#define SAMPLE ((size_t)SURG_LIMIT_SAMPLE)
#define MIX UINT64_C(0x9E3779B97F4A7C15) /* odd */

typedef struct reader {
  const surg_tensor *t;
  uint8_t *memory;
  bool whole; /* typed lists: all elements are in memory */
} reader;

static surg_status open_reader(reader *r, const surg_tensor *t) {
  surg_model *m = t->model;
  const bool typed = t->view == SURG__VIEW_TYPED && !t->blob;
  *r = (reader){.t = t, .whole = typed && t->bytes <= SURG_LIMIT_OWNED_RESIDENT};
  const size_t n = r->whole || t->bytes < PIECE ? (size_t)t->bytes : PIECE;
  r->memory = surg__alloc(m->ctx, n ? n : 1);
  if (!r->memory) {
    surg__fail(m, surg__oom(m->ctx, NULL));
    return m->status;
  }
  return r->whole ? surg_tensor_read(t, 0, r->memory, n) : SURG_OK;
}

static void close_reader(reader *r) {
  if (r->t) surg__free(r->t->model->ctx, r->memory);
}

static size_t piece_at(const surg_tensor *t, uint64_t offset) {
  assert(offset < t->bytes);
  return t->bytes - offset < PIECE ? (size_t)(t->bytes - offset) : PIECE;
}

static surg_status read_piece(reader *r, uint64_t offset, const uint8_t **out) {
  *out = r->whole ? r->memory + offset : r->memory;
  return r->whole ? SURG_OK : surg_tensor_read(r->t, offset, r->memory, piece_at(r->t, offset));
}

/* A hash of element type, shape and size, without the elements. */
static uint64_t hash_form(const surg_tensor *t) {
  const uint64_t form[3] = {(uint64_t)t->dtype, t->rank, t->bytes};
  const surg_context *ctx = t->model->ctx;
  return surg__hash(ctx, form, sizeof form) * MIX +
         (t->rank ? surg__hash(ctx, t->dims, t->rank * sizeof *t->dims) : 0);
}

static bool same_form(const surg_tensor *a, const surg_tensor *b) {
  return a->dtype == b->dtype && a->rank == b->rank && a->bytes == b->bytes &&
         (!a->rank || memcmp(a->dims, b->dims, a->rank * sizeof *a->dims) == 0);
}

/* Returns the strings of a string tensor; an error if they cannot be read. */
static surg_status strings_of(const surg_tensor *t, const surg_str **out) {
  return surg_tensor_strings(t, out);
}

static surg_status hash_strings(const surg_tensor *t, uint64_t *h) {
  const surg_str *s;
  surg_status status = strings_of(t, &s);
  *h = hash_form(t);
  for (uint64_t i = 0; status == SURG_OK && i < t->count; i++)
    *h = *h * MIX + (s[i].n ? surg__hash(t->model->ctx, s[i].p, s[i].n) : s[i].n);
  return status;
}

surg_status surg_tensor_hash(const surg_tensor *t, uint64_t *hash) {
  if (!t || !hash) return SURG_EUSAGE;
  if (t->model->status != SURG_OK) return t->model->status;
  if (t->view == SURG__VIEW_SPARSE || t->view == SURG__VIEW_ABSENT) return SURG_EUNSUPPORTED;
  if (t->dtype == SURG_STRING) return hash_strings(t, hash);
  reader r;
  uint64_t h = hash_form(t);
  const bool sampled = t->bytes > 3 * SAMPLE;
  const size_t n = sampled ? SAMPLE : (size_t)t->bytes;
  const uint64_t last = t->bytes - n, places[3] = {0, last / 2, last};
  surg_status s = open_reader(&r, t);
  for (int i = 0; s == SURG_OK && i < (sampled ? 3 : 1); i++) {
    const uint8_t *p = r.memory;
    if (r.whole)
      p += places[i];
    else
      s = surg_tensor_read(t, places[i], r.memory, n);
    if (s == SURG_OK) h = h * MIX + surg__hash(t->model->ctx, p, n);
  }
  close_reader(&r);
  *hash = h;
  return s;
}

static surg_status same_strings(const surg_tensor *a, const surg_tensor *b, bool *same) {
  const surg_str *x, *y;
  surg_status s = strings_of(a, &x);
  if (s == SURG_OK) s = strings_of(b, &y);
  *same = s == SURG_OK && same_form(a, b);
  for (uint64_t i = 0; *same && i < a->count; i++)
    *same = x[i].n == y[i].n && (!x[i].n || memcmp(x[i].p, y[i].p, x[i].n) == 0);
  return s;
}

static surg_status same_pieces(reader *x, reader *y, bool *same) {
  surg_status s = SURG_OK;
  *same = true;
  for (uint64_t at = 0; s == SURG_OK && *same && at < x->t->bytes; at += PIECE) {
    const uint8_t *p, *q;
    s = read_piece(x, at, &p);
    if (s == SURG_OK) s = read_piece(y, at, &q);
    if (s == SURG_OK) *same = memcmp(p, q, piece_at(x->t, at)) == 0;
  }
  return s;
}

/* Whether both tensors refer to the same bytes of a file. */
static bool one_place(const surg_tensor *a, const surg_tensor *b) {
  if (a == b) return true;
  if (a->view != b->view || a->data.off != b->data.off) return false;
  if (a->view == SURG__VIEW_RAW) return a->model == b->model;
  return a->view == SURG__VIEW_EXTERNAL && a->file->dev == b->file->dev &&
         a->file->ino == b->file->ino;
}

/* Whether all bytes are known to be 0 without reading them. */
static bool is_hole(const surg_tensor *t) {
  return t->view == SURG__VIEW_EXTERNAL && !t->codec &&
         surg__datafile_hole(t->file, t->data.off, t->data.len);
}

surg_status surg_tensor_same(const surg_tensor *a, const surg_tensor *b, bool *same) {
  if (!a || !b || !same) return SURG_EUSAGE;
  *same = false;
  if (a->model->status != SURG_OK) return a->model->status;
  if (a->view == SURG__VIEW_SPARSE || b->view == SURG__VIEW_SPARSE ||
      a->view == SURG__VIEW_ABSENT || b->view == SURG__VIEW_ABSENT)
    return SURG_EUNSUPPORTED;
  if (a->dtype == SURG_STRING && b->dtype == SURG_STRING) return same_strings(a, b, same);
  if (!same_form(a, b)) return SURG_OK;
  if (one_place(a, b) || (a->bytes > PIECE && is_hole(a) && is_hole(b))) {
    *same = true;
    return SURG_OK;
  }
  reader x = {0}, y = {0};
  surg_status s = open_reader(&x, a);
  if (s == SURG_OK) s = open_reader(&y, b);
  if (s == SURG_OK) s = same_pieces(&x, &y, same);
  close_reader(&x);
  close_reader(&y);
  if (s != SURG_OK) *same = false;
  return s;
}
