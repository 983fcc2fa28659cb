/* SPDX-License-Identifier: Apache-2.0 */
/* Replaces initializers of a model by the tensors of a file. Everything is checked first; elements
 * are copied when the model is saved. */
#include <errno.h>
#include <stdlib.h>

#include "base/dtype.h"
#include "base/os/os.h"
#include "weights/weights.h"

#define DIMS_SHOWN 8u
/* Bytes from which a tensor becomes a reference: engines read shapes and axes in the model. */
#define LINK_LEAST 1024u

typedef struct importing {
  surg_model *m;
  surg_context *ctx;
  surg_weights_options o;
  surg__storage file;
  surg__weights all;
  surg__stored **found;            /* by weight: its tensor, or NULL */
  surg__datafile *in, *out, *link; /* the file, as elements are needed */
  surg_weights_report r;
} importing;

surg_status surg__storage_read(const surg__storage *f, uint64_t off, void *out, size_t n) {
  const int e = surg__os_pread(f->fd, out, n, off);
  if (!e) return SURG_OK;
  return surg__error(f->ctx, SURG_EIO, f->path, "cannot read: %s",
                     e == ENODATA ? "the file is too short" : strerror(e));
}

/* --- the file --- */

surg_status surg__storage_open(surg_context *ctx, const char *path, surg__storage *out) {
  surg__stat st;
  const surg__weights_format format = surg__weights_format_of(ctx, path);
  *out = (surg__storage){.fd = -1};
  if (format == SURG__WEIGHTS_NONE) return SURG_EUSAGE;
  *out = (surg__storage){.ctx = ctx, .path = path, .fd = -1};
  surg__arena_init(&out->arena, ctx);
  int e = surg__os_open_read(-1, path, &out->fd);
  if (e) out->fd = -1;
  if (!e) e = surg__os_stat_fd(out->fd, &st);
  if (e) return surg__error(ctx, SURG_EIO, path, "cannot open: %s", strerror(e));
  if (!st.regular) return surg__error(ctx, SURG_EIO, path, "is not a regular file");
  out->size = st.size;
  return format == SURG__WEIGHTS_NPZ ? surg__npz_list(out) : surg__safetensors_list(out);
}

void surg__storage_close(surg__storage *f) {
  if (f->fd >= 0) surg__os_close(f->fd);
  f->fd = -1;
  if (!f->ctx) return;
  surg__vec_free(f->ctx, &f->all);
  surg__arena_free(&f->arena);
}

/* The file as a data file of the model, opened on first use. */
static surg__datafile *data_file(importing *x, surg__loan loan) {
  surg__datafile **slot = loan == SURG__LOAN_NONE ? &x->link
                          : loan == SURG__LOAN_IN ? &x->in
                                                  : &x->out;
  if (*slot) return *slot;
  int fd;
  const int e = surg__os_open_read(-1, x->file.path, &fd);
  if (e) {
    surg__fail(x->m, surg__error(x->ctx, SURG_EIO, x->file.path, "cannot open: %s", strerror(e)));
    return NULL;
  }
  *slot = surg__datafile_add(x->m, surg__os_base_name(x->file.path), fd, loan);
  return *slot;
}

/* --- checks --- */

static void put_type(surg__buf *b, int dtype, const int64_t *dims, uint32_t rank) {
  const char *name = surg__dtype_name(dtype);
  surg__buf_puts(b, name ? name : "an unknown element type");
  surg__buf_putc(b, '[');
  for (uint32_t i = 0; i < rank && i < DIMS_SHOWN; i++)
    surg__buf_printf(b, "%s%lld", i ? "," : "", (long long)dims[i]);
  surg__buf_puts(b, rank > DIMS_SHOWN ? ",...]" : "]");
}

static surg_status mismatch(const importing *x, const surg__weight *w, const surg__stored *e) {
  surg__buf b;
  surg__buf_init(&b, x->ctx);
  surg__buf_puts(&b, "expected ");
  put_type(&b, w->t->dtype, w->t->dims, w->t->rank);
  surg__buf_puts(&b, ", found ");
  put_type(&b, e->dtype, e->dims, e->rank);
  surg__buf_putc(&b, 0);
  const surg_status s =
      surg__error(x->ctx, SURG_EINVALID, x->file.path, "tensor %s: %s", surg__q(x->ctx, w->name),
                  b.failed ? "another type than in the model" : b.p);
  surg__buf_free(&b);
  return s;
}

static bool casts(int dtype) {
  return dtype == SURG_FLOAT || dtype == SURG_DOUBLE || dtype == SURG_FLOAT16 ||
         dtype == SURG_BFLOAT16;
}

static bool links(const importing *x, const surg__stored *e) {
  return x->o.link && e->bytes >= LINK_LEAST;
}

static surg_status check_pair(const importing *x, const surg__weight *w, const surg__stored *e) {
  if (!w->t || w->t->view == SURG__VIEW_SPARSE)
    return surg__error(x->ctx, SURG_EUNSUPPORTED, x->file.path,
                       "tensor %s: the initializer of the model is sparse",
                       surg__q(x->ctx, w->name));
  const bool cast = x->o.cast && casts(w->t->dtype) && casts(e->dtype) && !x->o.link;
  if ((w->t->dtype != e->dtype && !cast) || w->t->rank != e->rank ||
      (e->rank && memcmp(w->t->dims, e->dims, e->rank * sizeof *e->dims) != 0))
    return mismatch(x, w, e);
  if (!links(x, e) || e->plain) return SURG_OK;
  return surg__error(x->ctx, SURG_EUNSUPPORTED, x->file.path,
                     "tensor %s: is compressed, bool, or in another order, so it cannot be a "
                     "reference",
                     surg__q(x->ctx, w->name));
}

static int by_name(const void *a, const void *b) {
  return strcmp((*(surg__stored *const *)a)->name, (*(surg__stored *const *)b)->name);
}

static int name_is(const void *key, const void *b) {
  return strcmp(key, (*(surg__stored *const *)b)->name);
}

/* Assigns tensors of the file to weights. */
static surg_status pair_up(importing *x, surg__stored **sorted, bool *used) {
  const size_t n = x->file.all.count;
  size_t met = 0;
  for (size_t i = 0; i < n; i++) sorted[i] = &x->file.all.items[i];
  if (n) qsort(sorted, n, sizeof *sorted, by_name);
  for (size_t i = 1; i < n; i++)
    if (by_name(&sorted[i - 1], &sorted[i]) == 0)
      return surg__error(x->ctx, SURG_EINVALID, x->file.path, "has tensor %s twice",
                         surg__q(x->ctx, sorted[i]->name));
  for (size_t i = 0; i < x->all.all.count; i++) {
    const surg__weight *w = &x->all.all.items[i];
    surg__stored **e = n ? bsearch(w->name, sorted, n, sizeof *sorted, name_is) : NULL;
    if (!e) {
      x->r.missing++;
      continue;
    }
    const surg_status s = check_pair(x, w, *e);
    if (s != SURG_OK) return s;
    x->found[i] = *e;
    used[e - sorted] = true;
    met++;
  }
  x->r.skipped = n - met;
  for (size_t i = 0; i < n && !x->o.skip; i++)
    if (!used[i])
      return surg__error(x->ctx, SURG_ENOTFOUND, x->file.path,
                         "the model has no initializer %s (%zu of %zu tensors); --skip leaves "
                         "them out",
                         surg__q(x->ctx, sorted[i]->name), n - met, n);
  return SURG_OK;
}

static surg_status pair_all(importing *x) {
  surg__stored **sorted = surg__calloc(x->ctx, x->file.all.count + 1, sizeof *sorted);
  bool *used = surg__calloc(x->ctx, x->file.all.count + 1, sizeof *used);
  x->found = surg__calloc(x->ctx, x->all.all.count + 1, sizeof *x->found);
  surg_status s =
      sorted && used && x->found ? pair_up(x, sorted, used) : surg__oom(x->ctx, x->file.path);
  surg__free(x->ctx, sorted);
  surg__free(x->ctx, used);
  return s;
}

/* --- replacing --- */

/* The tensor of an entry, in the type of the file. */
static surg_status make(importing *x, const surg__weight *w, const surg__stored *e,
                        surg_tensor **out) {
  *out = NULL;
  if (!e->plain) return surg__npz_load(&x->file, e, x->m, out);
  const bool outside = w->t->view == SURG__VIEW_EXTERNAL;
  surg__datafile *f = data_file(x, links(x, e) ? SURG__LOAN_NONE
                                   : outside   ? SURG__LOAN_OUT
                                               : SURG__LOAN_IN);
  if (f) *out = surg__tensor_in_file(x->m, e->dtype, e->dims, e->rank, f, e->off);
  return *out ? SURG_OK : x->m->status;
}

static surg_status replace(importing *x, const surg__weight *w, const surg__stored *e) {
  surg_tensor *t;
  bool same = false;
  surg_status s = make(x, w, e, &t);
  if (s == SURG_OK && t->dtype != w->t->dtype) {
    t = surg_tensor_cast(x->m, t, w->t->dtype);
    if (!t) s = x->m->status;
  }
  /* Elements that are equal stay, and so does their message. */
  if (s == SURG_OK && !links(x, e) && w->t->view != SURG__VIEW_ABSENT)
    s = surg_tensor_same(w->t, t, &same);
  if (s != SURG_OK) return s;
  if (same || (!t->bytes && !w->t->bytes)) {
    x->r.equal++;
    return SURG_OK;
  }
  x->r.tensors++;
  x->r.bytes += t->bytes;
  return surg_value_set_initializer(w->value, t);
}

static surg_status import(importing *x, const char *path) {
  surg_status s = surg__storage_open(x->ctx, path, &x->file);
  if (s == SURG_OK) s = surg__weights_list(x->m, &x->all);
  if (s == SURG_OK) s = pair_all(x);
  for (size_t i = 0; s == SURG_OK && i < x->all.all.count; i++)
    if (x->found[i]) s = replace(x, &x->all.all.items[i], x->found[i]);
  if (s != SURG_OK && x->r.tensors) surg__fail(x->m, s); /* some are replaced */
  return s;
}

surg_status surg_weights_import(surg_model *m, const char *path,
                                const surg_weights_options *options, surg_weights_report *report) {
  importing x = {.m = m};
  if (!m || !path) return SURG_EUSAGE;
  surg_status s = surg_model_status(m);
  if (s != SURG_OK) return s;
  x.ctx = m->ctx;
  x.file.fd = -1;
  surg__struct_in(&x.o, sizeof x.o, options);
  s = import(&x, path);
  surg__storage_close(&x.file);
  surg__weights_free(&x.all);
  surg__free(x.ctx, x.found);
  if (s == SURG_OK) surg__struct_out(report, &x.r, sizeof x.r);
  return s;
}
