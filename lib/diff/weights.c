/* SPDX-License-Identifier: Apache-2.0 */
/* Compares two tensors: by the place of their bytes, by digests of stripped weights, else by their
 * elements, as long as the limit on reading permits. */
#include <math.h>
#include <stdlib.h>

#include "base/dtype.h"
#include "base/real.h"
#include "diff/diff.h"
#include "io/io.h"
#include "weights/strip.h"

#define PIECE 32768u   /* bytes; a multiple of every element size */
#define MOST_RANK 5    /* of tensors that are compared transposed */
#define DIGEST_SHOWN 8 /* digits of a digest in a text */

/* --- without reading --- */

static bool same_form(const surg_tensor *a, const surg_tensor *b) {
  return a->dtype == b->dtype && a->rank == b->rank && a->view != SURG__VIEW_SPARSE &&
         b->view != SURG__VIEW_SPARSE &&
         (!a->rank || memcmp(a->dims, b->dims, a->rank * sizeof *a->dims) == 0);
}

/* Whether both are the same bytes of a data file, or of a missing one. */
static bool same_place(const surg_tensor *a, const surg_tensor *b) {
  if (a->view != b->view || a->codec || b->codec || !a->file || !b->file) return false;
  if (a->data.off != b->data.off || a->data.len != b->data.len) return false;
  if (a->view == SURG__VIEW_EXTERNAL)
    return a->file->dev == b->file->dev && a->file->ino == b->file->ino;
  return false;
}

static const surg_str *entry_of(const surg_tensor *t, const char *key) {
  if (t->view != SURG__VIEW_ABSENT || !t->codec) return NULL;
  for (uint32_t i = 0; i < t->codec->n; i++)
    if (t->codec->keys[i].n == strlen(key) &&
        memcmp(t->codec->keys[i].p, key, t->codec->keys[i].n) == 0)
      return &t->codec->values[i];
  return NULL;
}

/* --- digests --- */

/* Takes the bytes of a tensor from the limit. False: it is spent. */
static bool afford(surg_diff *d, const surg_tensor *t) {
  if (d->no_weights || t->bytes > d->room) return false;
  d->room -= t->bytes;
  d->read += t->bytes;
  return true;
}

/* The digest of a tensor: stored, or computed. False: unknown. */
static bool digest_of(surg_diff *d, const surg_tensor *t, char text[SURG__DIGEST_TEXT]) {
  const surg_str *stored = entry_of(t, SURG__STRIPPED_KEY);
  if (stored && stored->n < SURG__DIGEST_TEXT) {
    memcpy(text, stored->p, stored->n);
    text[stored->n] = 0;
    return true;
  }
  if (t->view == SURG__VIEW_ABSENT || t->view == SURG__VIEW_SPARSE || t->dtype == SURG_STRING)
    return false;
  const surg_status s = afford(d, t) ? surg__tensor_digest(t, text) : SURG_EUNSUPPORTED;
  if (s == SURG_ENOMEM) surg__diff_fail(d);
  return s == SURG_OK;
}

static const char *describe(surg_diff *d, const surg_tensor *t) {
  char digest[SURG__DIGEST_TEXT];
  const char *form = surg__diff_tensor_text(d, t);
  return digest_of(d, t, digest) ? surg__diff_say(d, "%s digest %.*s", form, DIGEST_SHOWN, digest)
                                 : form;
}

/* --- elements --- */

static bool is_real(int dtype) {
  return surg__dtype_is_float(dtype) || surg__dtype_is_int(dtype) || dtype == SURG_BOOL;
}

typedef struct reading {
  const surg_tensor *t;
  void *wide;
} reading;

static bool open_reading(surg_diff *d, reading *r, const surg_tensor *t) {
  r->t = t;
  r->wide = surg__alloc(d->ctx, PIECE * 4);
  if (!r->wide) surg__diff_fail(d);
  return r->wide != NULL;
}

static void close_reading(surg_diff *d, reading *r) {
  surg__free(d->ctx, r->wide);
}

/* Unpacks n elements from element `from` on, where a piece begins. */
static bool read_piece(reading *r, uint64_t from, uint64_t n) {
  return surg_tensor_read_numbers(r->t, from, r->wide, (size_t)n) == SURG_OK;
}

/* Elements that fit into a piece for both tensors. */
static uint64_t piece_of(const surg_tensor *a, const surg_tensor *b) {
  unsigned bits = surg__dtype_bits(a->dtype);
  if (surg__dtype_bits(b->dtype) > bits) bits = surg__dtype_bits(b->dtype);
  return (uint64_t)PIECE * 8 / (bits < 8 ? 8 : bits);
}

static double number(int dtype, const void *p, uint64_t i) {
  if (surg__dtype_is_float(dtype)) return surg__load_f64(dtype, p, i);
  const uint64_t v = surg__load_int(dtype, p, i);
  return dtype == SURG_UINT64 ? (double)v : (double)(int64_t)v;
}

/* Whether element i is the same integer in two tensors of one integer type. */
static bool same_integer(int dtype, const void *p, const void *q, uint64_t i) {
  return surg__load_int(dtype, p, i) == surg__load_int(dtype, q, i);
}

static void compare_number(surg__dweights *w, double x, double y) {
  if (x == y || (isnan(x) && isnan(y))) {
    w->differing += signbit(x) != signbit(y) && x == 0;
    return;
  }
  w->differing++;
  if (!isfinite(x) || !isfinite(y)) return;
  const double gap = fabs(x - y), size = fmax(fabs(x), fabs(y));
  if (gap > w->max_abs) w->max_abs = gap;
  if (size > 0 && gap / size > w->max_rel) w->max_rel = gap / size;
}

/* Counts differences of tensors of one shape. False: they cannot be read. */
static bool compare_elements(surg_diff *d, const surg_tensor *a, const surg_tensor *b,
                             surg__dweights *w) {
  reading x = {0}, y = {0};
  bool ok = open_reading(d, &x, a) && open_reading(d, &y, b);
  const uint64_t piece = piece_of(a, b);
  const bool exact = a->dtype == b->dtype && !surg__dtype_is_float(a->dtype);
  for (uint64_t from = 0; ok && from < a->count; from += piece) {
    const uint64_t n = a->count - from < piece ? a->count - from : piece;
    ok = read_piece(&x, from, n) && read_piece(&y, from, n);
    for (uint64_t i = 0; ok && i < n; i++) {
      if (exact && same_integer(a->dtype, x.wide, y.wide, i)) continue;
      const uint64_t before = w->differing;
      compare_number(w, number(a->dtype, x.wide, i), number(b->dtype, y.wide, i));
      if (exact) w->differing = before + 1; /* also where both are one double */
    }
  }
  close_reading(d, &x);
  close_reading(d, &y);
  w->elements = a->count;
  return ok;
}

/* --- other shapes --- */

/* Whether b is a with axes in the order `perm`; both are in memory, `size` bytes an element. */
static bool is_permuted(const surg_tensor *a, const uint8_t *p, const uint8_t *q, size_t size,
                        const unsigned *perm) {
  uint64_t stride[MOST_RANK], step = 1;
  uint64_t index[MOST_RANK] = {0};
  for (uint32_t i = a->rank; i-- > 0;) {
    stride[i] = step;
    step *= (uint64_t)a->dims[i];
  }
  for (uint64_t k = 0, at = 0; k < a->count; k++) {
    if (memcmp(p + at * size, q + k * size, size) != 0) return false;
    for (uint32_t i = a->rank; i-- > 0;) { /* the next index of b */
      at += stride[perm[i]];
      if (++index[i] < (uint64_t)a->dims[perm[i]]) break;
      at -= stride[perm[i]] * index[i];
      index[i] = 0;
    }
  }
  return true;
}

static bool next_permutation(unsigned *p, uint32_t n) {
  uint32_t i = n - 1, j = n - 1;
  while (i > 0 && p[i - 1] > p[i]) i--;
  if (i == 0) return false;
  while (p[j] < p[i - 1]) j--;
  const unsigned t = p[i - 1];
  p[i - 1] = p[j];
  p[j] = t;
  for (j = n - 1; i < j; i++, j--) {
    const unsigned u = p[i];
    p[i] = p[j];
    p[j] = u;
  }
  return true;
}

static bool dims_permuted(const surg_tensor *a, const surg_tensor *b, const unsigned *perm) {
  for (uint32_t i = 0; i < a->rank; i++)
    if (b->dims[i] != a->dims[perm[i]]) return false;
  return true;
}

static const char *find_permutation(surg_diff *d, const surg_tensor *a, const surg_tensor *b,
                                    const uint8_t *p, const uint8_t *q) {
  unsigned perm[MOST_RANK] = {0, 1, 2, 3, 4};
  const size_t size = surg__dtype_bits(a->dtype) / 8;
  while (next_permutation(perm, a->rank)) {
    if (!dims_permuted(a, b, perm) || !is_permuted(a, p, q, size, perm)) continue;
    const char *text = "transposed {";
    for (uint32_t i = 0; i < a->rank; i++)
      text = surg__diff_say(d, "%s%s%u", text, i ? ", " : "", perm[i]);
    return surg__diff_say(d, "%s}", text);
  }
  return NULL;
}

/* "transposed {1, 0}" or "reshaped", or NULL: of tensors of one type and number of elements. */
static const char *relation_of(surg_diff *d, const surg_tensor *a, const surg_tensor *b) {
  if (a->dtype != b->dtype || a->bytes != b->bytes || !a->bytes || a->dtype == SURG_STRING ||
      a->bytes > SURG__DIFF_TRANSPOSED || surg__dtype_bits(a->dtype) % 8 != 0)
    return NULL;
  uint8_t *p = surg__alloc(d->ctx, (size_t)a->bytes), *q = surg__alloc(d->ctx, (size_t)b->bytes);
  const char *out = NULL;
  if (p && q && surg_tensor_read(a, 0, p, (size_t)a->bytes) == SURG_OK &&
      surg_tensor_read(b, 0, q, (size_t)b->bytes) == SURG_OK) {
    if (a->rank == b->rank && a->rank >= 2 && a->rank <= MOST_RANK)
      out = find_permutation(d, a, b, p, q);
    if (!out && memcmp(p, q, (size_t)a->bytes) == 0) out = "reshaped";
  }
  surg__free(d->ctx, p);
  surg__free(d->ctx, q);
  return out;
}

/* --- all --- */

static bool same_dims(const surg_tensor *a, const surg_tensor *b) {
  return a->rank == b->rank &&
         (!a->rank || memcmp(a->dims, b->dims, a->rank * sizeof *a->dims) == 0);
}

static void measure(surg_diff *d, const surg_tensor *a, const surg_tensor *b, surg__dweights *w) {
  const char *relation = relation_of(d, a, b);
  if (same_dims(a, b) && is_real(a->dtype) && is_real(b->dtype)) compare_elements(d, a, b, w);
  if (relation)
    w->note = relation;
  else if (a->dtype != b->dtype)
    w->note = same_dims(a, b) && w->elements && !w->differing ? "the numbers are the same" : "";
}

/* Compares a tensor without elements with one that may have them. */
static void compare_digests(surg_diff *d, const surg_tensor *a, const surg_tensor *b,
                            surg__dweights *w) {
  char x[SURG__DIGEST_TEXT], y[SURG__DIGEST_TEXT];
  if (!digest_of(d, a, x) || !digest_of(d, b, y)) {
    w->unknown = true;
    w->note = "not compared: the elements are not available";
    return;
  }
  w->same = strcmp(x, y) == 0;
}

/* Sparse tensors are the same if their messages are. */
static void compare_sparse(surg_diff *d, const surg_tensor *a, const surg_tensor *b,
                           surg__dweights *w) {
  w->unknown = true;
  w->note = "sparse tensors: not compared";
  if (a->view != b->view || a->msg.len != b->msg.len || !afford(d, a)) return;
  uint8_t *p = surg__alloc(d->ctx, (size_t)a->msg.len + 1);
  uint8_t *q = surg__alloc(d->ctx, (size_t)b->msg.len + 1);
  const surg__source *s = a->model->source, *t = b->model->source;
  if (p && q && s && t && surg__source_read(s, a->msg.off, p, (size_t)a->msg.len) == SURG_OK &&
      surg__source_read(t, b->msg.off, q, (size_t)b->msg.len) == SURG_OK)
    w->same = memcmp(p, q, (size_t)a->msg.len) == 0;
  if (w->same) w->unknown = false;
  surg__free(d->ctx, p);
  surg__free(d->ctx, q);
}

static bool without_elements(const surg_tensor *t) {
  return t->view == SURG__VIEW_ABSENT;
}

/* Whether two tensors without elements are one message: with elements that cannot be decoded, or a
 * reference to a missing file, which models of one folder share. */
static bool same_message(surg_diff *d, const surg_tensor *a, const surg_tensor *b) {
  const surg__source *s = a->model->source, *t = b->model->source;
  if (!s || !t || !a->msg.len || a->msg.len != b->msg.len) return false;
  if ((a->lost || b->lost) && (!s->dir || !t->dir || strcmp(s->dir, t->dir) != 0)) return false;
  uint8_t *p = surg__alloc(d->ctx, 2 * PIECE);
  bool same = p;
  for (uint64_t at = 0; same && at < a->msg.len; at += PIECE) {
    const size_t n = a->msg.len - at < PIECE ? (size_t)(a->msg.len - at) : PIECE;
    same = surg__source_read(s, a->msg.off + at, p, n) == SURG_OK &&
           surg__source_read(t, b->msg.off + at, p + PIECE, n) == SURG_OK &&
           memcmp(p, p + PIECE, n) == 0;
  }
  surg__free(d->ctx, p);
  return same;
}

static void compare(surg_diff *d, const surg_tensor *a, const surg_tensor *b, surg__dweights *w) {
  const bool form = same_form(a, b);
  if (a->view == SURG__VIEW_SPARSE || b->view == SURG__VIEW_SPARSE) {
    compare_sparse(d, a, b, w);
    return;
  }
  if (form && (a == b || same_place(a, b))) {
    w->same = true;
    return;
  }
  if (without_elements(a) || without_elements(b)) {
    if (form && same_message(d, a, b))
      w->same = true;
    else if (form)
      compare_digests(d, a, b, w);
    return;
  }
  if (!afford(d, a) || !afford(d, b)) {
    w->unknown = form;
    w->note = d->no_weights ? "not compared"
                            : "not compared: the limit on reading weights is reached (--read)";
    return;
  }
  if (form && surg_tensor_same(a, b, &w->same) != SURG_OK) {
    w->unknown = true;
    w->note = "not compared: the elements cannot be read";
  } else if (!w->same) {
    measure(d, a, b, w);
  }
}

void surg__diff_weights(surg_diff *d, const surg_tensor *a, const surg_tensor *b,
                        surg__dweights *out) {
  *out = (surg__dweights){.note = "", .text = {"", ""}};
  compare(d, a, b, out);
  if (out->same) return;
  out->text[0] = out->unknown ? surg__diff_tensor_text(d, a) : describe(d, a);
  out->text[1] = out->unknown ? surg__diff_tensor_text(d, b) : describe(d, b);
}
