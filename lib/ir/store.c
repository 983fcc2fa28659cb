/* SPDX-License-Identifier: Apache-2.0 */
/* Storage of tensor bytes: the file a model was loaded from, external data files, and computed
 * bytes, in memory or, above a limit, in an unlinked file. All are reference counted. */
#include "base/os/os.h"
#include "ir/edit.h"

static size_t mark_tables(const surg__source *s) {
  return (size_t)((s->size >> SURG__PAGE_BITS) / SURG__MARKS + 1);
}

static void free_marks(surg__source *s) {
  if (!s->marks) return;
  for (size_t i = 0; i < mark_tables(s); i++) surg__free(s->ctx, s->marks[i]);
  surg__free(s->ctx, s->marks);
}

surg__source *surg__source_ref(surg__source *s) {
  if (s) s->refs++;
  return s;
}

void surg__source_unref(surg__source *s) {
  assert(!s || s->refs > 0);
  if (!s || --s->refs > 0) return;
  surg_context *ctx = s->ctx;
  if (s->fd >= 0) surg__os_close(s->fd);
  if (s->dirfd >= 0) surg__os_close(s->dirfd);
  if (s->base_heap)
    surg__free(ctx, s->base);
  else if (s->base)
    surg__os_release(s->base, (size_t)s->size);
  surg__free(ctx, s->filled);
  surg__free(ctx, s->window);
  free_marks(s);
  surg__free(ctx, s->name);
  surg__free(ctx, s->path);
  surg__free(ctx, s->dir);
  surg__free(ctx, s);
}

/* Whether every page of a range is in the image. */
static bool in_image(const surg__source *s, uint64_t off, uint64_t n) {
  if (s->resident || n == 0) return true;
  assert(s->filled && off <= s->size && n <= s->size - off);
  for (uint64_t page = off >> SURG__PAGE_BITS; page <= (off + n - 1) >> SURG__PAGE_BITS; page++)
    if (!(s->filled[page / 64] >> (page % 64) & 1)) return false;
  return true;
}

/* The hash of a page, never 0: that means that there is none. The key is random, so that nobody can
 * write another page of the same hash into the file. */
static uint64_t hash_page(const surg__source *s, uint64_t page, const uint8_t *p) {
  const uint64_t left = s->size - (page << SURG__PAGE_BITS);
  const uint64_t hash = surg__hash(s->ctx, p, (size_t)(left < SURG__PAGE ? left : SURG__PAGE));
  return hash ? hash : 1;
}

static uint64_t mark_of(const surg__source *s, uint64_t page) {
  const uint64_t *marks = s->marks ? s->marks[page / SURG__MARKS] : NULL;
  return marks ? marks[page % SURG__MARKS] : 0;
}

bool surg__source_same(const surg__source *s, uint64_t page, const uint8_t *p) {
  const uint64_t mark = mark_of(s, page);
  if (!mark || mark == hash_page(s, page, p)) return true;
  surg__error(s->ctx, SURG_EIO, s->name, "the file changed while it was read");
  return false;
}

/* Where the hash of a page is stored; NULL: out of memory. */
static uint64_t *mark_at(surg__source *s, uint64_t page) {
  if (!s->marks && !(s->marks = surg__calloc(s->ctx, mark_tables(s), sizeof *s->marks)))
    return NULL;
  uint64_t **table = &s->marks[page / SURG__MARKS];
  if (!*table) *table = surg__calloc(s->ctx, SURG__MARKS, sizeof **table);
  return *table ? &(*table)[page % SURG__MARKS] : NULL;
}

surg_status surg__source_mark(surg__source *s, uint64_t page, const uint8_t *p) {
  if (!surg__source_same(s, page, p)) return SURG_EIO;
  uint64_t *mark = mark_at(s, page);
  if (!mark) return surg__oom(s->ctx, s->name);
  if (!*mark) *mark = hash_page(s, page, p);
  return SURG_OK;
}

/* Stores the hashes of the pages of the image. */
static bool mark_pages(surg__source *s) {
  for (uint64_t page = s->low; page < s->high; page++) {
    if (!s->filled[page / 64]) page |= 63; /* no page of this word */
    if (!(s->filled[page / 64] >> (page % 64) & 1)) continue;
    uint64_t *mark = mark_at(s, page);
    if (!mark) return false;
    if (!*mark) *mark = hash_page(s, page, s->base + (page << SURG__PAGE_BITS));
  }
  return true;
}

void surg__source_drop(surg__source *s) {
  const uint32_t most = s->marks ? SURG__IMAGE_AGAIN : SURG__IMAGE_PAGES;
  if (s->resident || s->fixed || s->n_filled < most) return;
  const uint64_t from = s->low << SURG__PAGE_BITS;
  uint64_t to = s->high << SURG__PAGE_BITS;
  if (to > s->size) to = s->size;
  s->fixed = !mark_pages(s) || !surg__os_drop_pages(s->base + from, (size_t)(to - from));
  if (s->fixed) return;
  for (uint64_t page = s->low; page < s->high; page++)
    s->filled[page / 64] &= ~((uint64_t)1 << (page % 64));
  s->low = s->high = s->n_filled = 0;
}

#define CHANGED (-1) /* no errno value: reported by surg__source_same */

/* Reads the part of a dropped page that is in [off, off+n), and checks all of the page. */
static int read_again(const surg__source *s, uint64_t page, uint64_t off, uint8_t *out, size_t n) {
  uint8_t whole[SURG__PAGE];
  const uint64_t at = page << SURG__PAGE_BITS, left = s->size - at;
  const uint64_t end = at + (left < SURG__PAGE ? left : SURG__PAGE);
  const uint64_t first = at > off ? at : off, last = end < off + n ? end : off + n;
  const int err = surg__os_pread(s->fd, whole, (size_t)(end - at), at);
  if (err) return err;
  if (!surg__source_same(s, page, whole)) return CHANGED;
  memcpy(out + (first - off), whole + (first - at), (size_t)(last - first));
  return 0;
}

/* Reads from the file: dropped pages one by one, what is between them at once. */
static int read_file(const surg__source *s, uint64_t off, uint8_t *out, size_t n) {
  const uint64_t end = off + n;
  for (uint64_t at = off, to; at < end; at = to) {
    uint64_t page = at >> SURG__PAGE_BITS;
    int err = 0;
    if (mark_of(s, page)) {
      to = (page + 1) << SURG__PAGE_BITS;
      err = read_again(s, page, off, out, n);
    } else {
      do to = ++page << SURG__PAGE_BITS;
      while (to < end && !mark_of(s, page));
      if (to > end) to = end;
      err = surg__os_pread(s->fd, out + (at - off), (size_t)(to - at), at);
    }
    if (err) return err;
  }
  return 0;
}

surg_status surg__source_read(const surg__source *s, uint64_t off, void *out, size_t n) {
  if (off > s->size || n > s->size - off)
    return surg__error(s->ctx, SURG_EINTERNAL, s->name, "byte %llu: read past the end",
                       (unsigned long long)off);
  if (n == 0) return SURG_OK;
  if (in_image(s, off, n)) {
    memcpy(out, s->base + off, n);
    return SURG_OK;
  }
  const int err = s->marks ? read_file(s, off, out, n) : surg__os_pread(s->fd, out, n, off);
  if (err == CHANGED) return SURG_EIO;
  if (err)
    return surg__error(s->ctx, SURG_EIO, s->name, "cannot read at byte %llu: %s",
                       (unsigned long long)off, strerror(err));
  return SURG_OK;
}

surg__datafile *surg__datafile_add(surg_model *m, const char *location, int fd, surg__loan loan) {
  surg__datafile *f = surg__calloc(m->ctx, 1, sizeof *f);
  char *copy = f ? surg__strdup(m->ctx, location) : NULL;
  surg__stat st;
  const int e = copy ? surg__os_stat_fd(fd, &st) : 0;
  if (!copy || e) {
    surg__os_close(fd);
    surg__free(m->ctx, copy);
    surg__free(m->ctx, f);
    surg__fail(m, e ? surg__error(m->ctx, SURG_EIO, location, "cannot read: %s", strerror(e))
                    : surg__oom(m->ctx, NULL));
    return NULL;
  }
  *f = (surg__datafile){.refs = 1,
                        .ctx = m->ctx,
                        .source = surg__source_ref(m->source),
                        .location = copy,
                        .fd = fd,
                        .size = st.size,
                        .dev = st.dev,
                        .ino = st.ino,
                        .loan = (uint8_t)loan,
                        .next = m->files};
  m->files = f;
  return f;
}

surg__datafile *surg__datafile_share(surg_model *m, const surg__datafile *f) {
  for (surg__datafile *x = m->files; x; x = x->next)
    if (x->dev == f->dev && x->ino == f->ino && x->size == f->size && !x->absent && !x->loan &&
        strcmp(x->location, f->location) == 0)
      return x;
  surg__datafile *n = surg__calloc(m->ctx, 1, sizeof *n);
  char *copy = n ? surg__strdup(m->ctx, f->location) : NULL;
  if (!copy) {
    surg__free(m->ctx, n);
    surg__fail(m, surg__oom(m->ctx, NULL));
    return NULL;
  }
  *n = *f;
  n->refs = 1;
  n->source = surg__source_ref(f->source);
  n->location = copy;
  n->fd = -1; /* opened for each access, by name, and compared by identity */
  n->reported = false;
  n->next = m->files;
  m->files = n;
  return n;
}

surg_tensor *surg__tensor_in_file(surg_model *m, int dtype, const int64_t *dims, size_t rank,
                                  surg__datafile *f, uint64_t off) {
  surg_tensor *t = surg__tensor_alloc(m, dtype, dims, rank);
  if (!t) return surg__failed(m);
  if (!t->bytes) return t;
  t->view = SURG__VIEW_EXTERNAL;
  t->linked = f->loan == SURG__LOAN_NONE;
  t->file = f;
  t->data = (surg__span){off, t->bytes};
  return t;
}

surg__datafile *surg__datafile_ref(surg__datafile *f) {
  if (f) f->refs++;
  return f;
}

void surg__datafile_unref(surg__datafile *f) {
  assert(!f || f->refs > 0);
  if (!f || --f->refs > 0) return;
  surg_context *ctx = f->ctx;
  if (f->fd >= 0) surg__os_close(f->fd);
  surg__source_unref(f->source);
  surg__free(ctx, f->location);
  surg__free(ctx, f);
}

void surg__datafile_close(const surg__datafile *f, int fd) {
  if (fd != f->fd) surg__os_close(fd);
}

int surg__datafile_pread(const surg__datafile *f, void *p, size_t n, uint64_t off) {
  int fd;
  int err = surg__datafile_open(f, &fd);
  if (err) return err;
  err = surg__os_pread(fd, p, n, off);
  surg__datafile_close(f, fd);
  return err;
}

bool surg__datafile_hole(const surg__datafile *f, uint64_t off, uint64_t n) {
  int fd;
  if (!n || surg__datafile_open(f, &fd) != 0) return false;
  const bool hole = surg__os_hole_end(fd, off, off + n) == off + n;
  surg__datafile_close(f, fd);
  return hole;
}

surg__spill *surg__spill_ref(surg__spill *s) {
  if (s) s->refs++;
  return s;
}

void surg__spill_unref(surg__spill *s) {
  assert(!s || s->refs > 0);
  if (!s || --s->refs > 0) return;
  surg__os_close(s->fd);
  surg__free(s->ctx, s);
}

/* Returns the model's spill file, created on first use; NULL with the model failed. */
static surg__spill *spill_of(surg_model *m) {
  if (m->spill) return m->spill;
  surg__spill *s = surg__calloc(m->ctx, 1, sizeof *s);
  if (!s) {
    surg__fail(m, surg__oom(m->ctx, NULL));
    return NULL;
  }
  int err = surg__os_temp(&s->fd);
  if (err) {
    surg__free(m->ctx, s);
    surg__fail(
        m, surg__error(m->ctx, SURG_EIO, NULL, "cannot make a temporary file: %s", strerror(err)));
    return NULL;
  }
  s->refs = 1;
  s->ctx = m->ctx;
  m->spill = s;
  return s;
}

bool surg__blob_spills(const surg_model *m, uint64_t n) {
  uint64_t total;
  return !surg__add_u64(m->owned_resident, n, &total) || total > SURG_LIMIT_OWNED_RESIDENT;
}

/* Allocates storage for the blob: memory while the total is small, else the end of the spill
 * file. */
static bool place_blob(surg_model *m, surg__blob *b) {
  assert(!b->p && !b->spill);
  uint64_t total;
  if (!surg__blob_spills(m, b->n)) {
    b->p = surg__alloc(m->ctx, b->n ? (size_t)b->n : 1);
    if (!b->p) {
      surg__fail(m, surg__oom(m->ctx, NULL));
      return false;
    }
    m->owned_resident += b->n;
    return true;
  }
  surg__spill *s = spill_of(m);
  if (!s) return false;
  if (!surg__add_u64(s->size, b->n, &total) || total > INT64_MAX) {
    surg__fail(m, surg__error(m->ctx, SURG_ELIMIT, NULL, "computed data is too large"));
    return false;
  }
  b->spill = surg__spill_ref(s);
  b->off = s->size;
  s->size = total;
  return true;
}

/* A blob without storage, and room for it in the list of the model. */
static surg__blob *blob_of(surg_model *m, surg__blob like) {
  surg__blob *b = surg__calloc(m->ctx, 1, sizeof *b);
  if (!b || !surg__vec_reserve(m->ctx, &m->blobs, m->blobs.count + 1)) {
    surg__free(m->ctx, b);
    surg__fail(m, surg__oom(m->ctx, NULL));
    return NULL;
  }
  *b = like;
  b->refs = 1;
  b->ctx = m->ctx;
  return b;
}

surg__blob *surg__blob_new(surg_model *m, uint64_t n) {
  surg__blob *b = blob_of(m, (surg__blob){.n = n});
  if (!b) return NULL;
  if (!place_blob(m, b)) {
    surg__free(m->ctx, b);
    return NULL;
  }
  m->blobs.items[m->blobs.count++] = b;
  return b;
}

surg__blob *surg__blob_borrow(surg_model *m, const void *data, uint64_t n, surg_release_fn release,
                              void *user) {
  surg__blob *b = blob_of(m, (surg__blob){.p = (uint8_t *)(uintptr_t)data,
                                          .n = n,
                                          .borrowed = true,
                                          .release = release,
                                          .user = user});
  if (b) m->blobs.items[m->blobs.count++] = b;
  return b;
}

surg__blob *surg__blob_derive(surg_model *m, uint64_t n, surg__derive_fn fn,
                              surg_release_fn release, void *user) {
  surg__blob *b = blob_of(m, (surg__blob){.n = n, .derive = fn, .release = release, .user = user});
  if (b) m->blobs.items[m->blobs.count++] = b;
  return b;
}

surg__blob *surg__blob_ref(surg__blob *b) {
  if (b) b->refs++;
  return b;
}

void surg__blob_unref(surg__blob *b) {
  assert(!b || b->refs > 0);
  if (!b || --b->refs > 0) return;
  if (b->release) b->release(b->user, b->p);
  if (!b->borrowed) surg__free(b->ctx, b->p);
  surg__spill_unref(b->spill);
  surg__free(b->ctx, b);
}

surg_status surg__blob_write(surg__blob *b, uint64_t off, const void *p, size_t n) {
  assert(off <= b->n && n <= b->n - off);
  assert(!b->derive && !b->p != !b->spill); /* either in memory or in the spill file */
  if (n == 0) return SURG_OK;
  if (b->p) {
    memcpy(b->p + off, p, n);
    return SURG_OK;
  }
  int err = surg__os_pwrite(b->spill->fd, p, n, b->off + off);
  if (err)
    return surg__error(b->ctx, SURG_EIO, NULL, "cannot write a temporary file: %s", strerror(err));
  return SURG_OK;
}

surg_status surg__blob_read(const surg__blob *b, uint64_t off, void *out, size_t n) {
  if (off > b->n || n > b->n - off) return SURG_EUSAGE;
  if (n == 0) return SURG_OK;
  if (b->p) {
    memcpy(out, b->p + off, n);
    return SURG_OK;
  }
  if (b->derive) return b->derive(b->user, off, out, n);
  int err = surg__os_pread(b->spill->fd, out, n, b->off + off);
  if (err)
    return surg__error(b->ctx, SURG_EIO, NULL, "cannot read a temporary file: %s", strerror(err));
  return SURG_OK;
}
