/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors: creating them and reading their elements from any storage. */
#include <math.h>

#include "ir/tensor.h"

#include "base/dtype.h"
#include "base/os/os.h"
#include "base/real.h"

surg_tensor *surg__tensor_alloc(surg_model *m, int dtype, const int64_t *dims, size_t rank) {
  if (m->status != SURG_OK || rank > UINT32_MAX) return NULL;
  uint64_t count, bytes = 0;
  if (!surg__dims_product(dims, rank, &count)) return NULL;
  if (dtype != SURG_STRING && !surg__dtype_bytes(dtype, count, &bytes)) return NULL;
  surg_tensor *t = surg__zalloc(m, sizeof *t);
  int64_t *copy = t ? surg__copy(m, dims, rank, sizeof *dims) : NULL;
  if (!copy) return NULL;
  *t = (surg_tensor){.model = m, .dtype = dtype, .rank = (uint32_t)rank, .dims = copy,
                     .count = count, .bytes = bytes, .view = SURG__VIEW_EMPTY};
  return t;
}

void *surg__tensor_refuse(surg_model *m, const char *why) {
  surg__error(m->ctx, SURG_EUSAGE, surg_model_path(m), "a tensor cannot be made: %s", why);
  return NULL;
}

static surg_tensor *shaped(surg_model *m, int dtype, const int64_t *dims, size_t rank) {
  if (!surg__model_ok(m)) return NULL;
  uint64_t count;
  if ((rank && !dims) || rank > UINT32_MAX) return surg__tensor_refuse(m, "no dims");
  if (!surg__dims_product(dims, rank, &count))
    return surg__tensor_refuse(m, "its dimensions are invalid");
  surg_tensor *t = surg__tensor_alloc(m, dtype, dims, rank);
  return t || m->status != SURG_OK ? t : surg__tensor_refuse(m, "its size is invalid");
}

surg_tensor *surg__tensor_blank(surg_model *m, int dtype, const int64_t *dims, size_t rank) {
  surg_tensor *t = shaped(m, dtype, dims, rank);
  if (!t || !t->bytes) return t;
  t->blob = surg__blob_new(m, t->bytes);
  t->view = SURG__VIEW_OWNED;
  return t->blob ? t : NULL;
}

surg_tensor *surg_tensor_new(surg_model *m, int dtype, const int64_t *dims, size_t rank,
                             const void *data, size_t bytes) {
  if (!surg__model_ok(m)) return NULL;
  if (surg__dtype_bits(dtype) == 0) return surg__tensor_refuse(m, "no such element type");
  surg_tensor *t = shaped(m, dtype, dims, rank);
  if (!t) return NULL;
  if (bytes != t->bytes || (bytes && !data))
    return surg__tensor_refuse(m, "its data do not fit its dims");
  if (!bytes) return t;
  surg__blob *b = surg__blob_new(m, bytes);
  if (!b) return NULL;
  surg_status s = surg__blob_write(b, 0, data, bytes);
  if (s != SURG_OK) {
    surg__fail(m, s);
    return NULL;
  }
  t->view = SURG__VIEW_OWNED;
  t->blob = b;
  return t;
}

surg_tensor *surg_tensor_borrow(surg_model *m, int dtype, const int64_t *dims, size_t rank,
                                const void *data, size_t bytes, surg_release_fn release,
                                void *user) {
  if (!surg__model_ok(m)) return NULL;
  if (surg__dtype_bits(dtype) == 0) return surg__tensor_refuse(m, "no such element type");
  surg_tensor *t = shaped(m, dtype, dims, rank);
  if (!t) return NULL;
  if (bytes != t->bytes || !data)
    return surg__tensor_refuse(m, "its data do not fit its dims");
  surg__blob *b = surg__blob_borrow(m, data, bytes, release, user);
  if (!b) return NULL;
  if (bytes) t->view = SURG__VIEW_OWNED;
  if (bytes) t->blob = b;
  return t;
}

surg_tensor *surg_tensor_new_strings(surg_model *m, const int64_t *dims, size_t rank,
                                     const surg_str *strings) {
  surg_tensor *t = shaped(m, SURG_STRING, dims, rank);
  if (!t || !t->count) return t;
  if (!strings) return surg__tensor_refuse(m, "no strings");
  surg_str *copy = surg__array(m, t->count, sizeof *copy);
  for (uint64_t i = 0; copy && i < t->count; i++) {
    if (!surg__copy_str(m, strings[i], &copy[i])) return NULL;
    t->bytes += strings[i].n;
  }
  if (!copy) return NULL;
  t->view = SURG__VIEW_STRINGS;
  t->strings = copy;
  return t;
}

int surg_tensor_dtype(const surg_tensor *t) {
  return t ? t->dtype : SURG_UNDEFINED;
}

size_t surg_tensor_rank(const surg_tensor *t) {
  return t ? t->rank : 0;
}

const int64_t *surg_tensor_dims(const surg_tensor *t) {
  return t ? t->dims : NULL;
}

uint64_t surg_tensor_count(const surg_tensor *t) {
  return t ? t->count : 0;
}

uint64_t surg_tensor_bytes(const surg_tensor *t) {
  if (!t) return 0;
  if (t->dtype == SURG_STRING && t->bytes == 0 && t->view == SURG__VIEW_TYPED)
    surg_tensor_strings(t, &(const surg_str *){NULL}); /* counts the bytes */
  return t->bytes;
}

bool surg_tensor_is_external(const surg_tensor *t) {
  return t && (t->view == SURG__VIEW_EXTERNAL || (t->view == SURG__VIEW_ABSENT && t->lost));
}

bool surg_tensor_is_sparse(const surg_tensor *t) {
  return t && t->view == SURG__VIEW_SPARSE;
}

/* --- reading --- */

/* Reads part of a typed list, or of encoded external data: decodes all of it once into a blob that
 * is kept. */
static surg_status typed_part(const surg_tensor *t, uint64_t offset, void *out, size_t n) {
  assert((t->view == SURG__VIEW_TYPED || t->codec) && t->dtype != SURG_STRING);
  surg_tensor *cache = (surg_tensor *)(uintptr_t)t;
  if (!t->blob) {
    surg__blob *b = surg__blob_new(t->model, t->bytes);
    if (!b) return t->model->status;
    surg_status s = t->codec ? surg__codec_to_blob(t, b) : surg__typed_to_blob(t, b);
    /* The model owns the blob; the tensor refers to it only if decoding succeeded. */
    if (s != SURG_OK) return s;
    cache->blob = b;
  }
  return surg__blob_read(t->blob, offset, out, n);
}

surg_status surg__external_read(surg_context *ctx, const char *path, const surg__datafile *f,
                                uint64_t off, void *out, size_t n) {
  assert(f);
  const int e = surg__datafile_pread(f, out, n, off);
  if (!e) return SURG_OK;
  return surg__error(ctx, SURG_EIO, path, "cannot read %s: %s", surg__q(ctx, f->location),
                     strerror(e));
}

surg_status surg_tensor_read(const surg_tensor *t, uint64_t offset, void *out, size_t bytes) {
  if (!t) return SURG_EUSAGE;
  surg_model *m = t->model;
  if (m->status != SURG_OK) return m->status;
  if (t->dtype == SURG_STRING || t->view == SURG__VIEW_SPARSE) return SURG_EUNSUPPORTED;
  if (offset > t->bytes || bytes > t->bytes - offset || (bytes && !out))
    return surg__error(m->ctx, SURG_EUSAGE, surg_model_path(m), "read past the end of a tensor");
  if (!bytes) return SURG_OK;
  assert(t->view != SURG__VIEW_OWNED || (t->blob && t->blob->n >= t->bytes));
  assert(t->view != SURG__VIEW_RAW || m->source);
  switch (t->view) {
    case SURG__VIEW_RAW: return surg__source_read(m->source, t->data.off + offset, out, bytes);
    case SURG__VIEW_OWNED: return surg__blob_read(t->blob, offset, out, bytes);
    case SURG__VIEW_EXTERNAL:
      if (t->codec) return typed_part(t, offset, out, bytes);
      return surg__external_read(m->ctx, surg_model_path(m), t->file, t->data.off + offset, out,
                                 bytes);
    case SURG__VIEW_TYPED:
      if (!t->blob && bytes == t->bytes) return surg__typed_read(t, out);
      return typed_part(t, offset, out, bytes);
    default:
      ((surg_tensor *)(uintptr_t)t)->asked = true;
      return SURG_EUNSUPPORTED;
  }
}

surg_status surg_tensor_strings(const surg_tensor *t, const surg_str **out) {
  static const surg_str none = {"", 0};
  if (!t || !out) return SURG_EUSAGE;
  *out = NULL;
  if (t->model->status != SURG_OK) return t->model->status;
  if (t->dtype != SURG_STRING || t->view == SURG__VIEW_SPARSE) return SURG_EUNSUPPORTED;
  if (!t->strings && t->view == SURG__VIEW_TYPED) {
    surg_tensor *cache = (surg_tensor *)(uintptr_t)t;
    uint64_t bytes;
    const surg_str *s = surg__typed_strings(t, &bytes);
    if (!s) return t->model->status != SURG_OK ? t->model->status : SURG_EINVALID;
    cache->strings = s;
    cache->bytes = bytes;
  }
  if (!t->strings && t->count) return SURG_EUNSUPPORTED;
  *out = t->strings ? t->strings : &none;
  return SURG_OK;
}

/* --- elements where they are --- */

surg_status surg_tensor_data(const surg_tensor *t, const void **data, uint64_t *bytes) {
  static const uint8_t none[1];
  if (!t || !data) return SURG_EUSAGE;
  *data = NULL;
  if (bytes) *bytes = 0;
  if (t->model->status != SURG_OK) return t->model->status;
  const surg__source *s = t->model->source;
  if (t->view == SURG__VIEW_EMPTY)
    *data = none;
  else if (t->view == SURG__VIEW_OWNED)
    *data = t->blob->p;
  else if (t->view == SURG__VIEW_RAW && s->resident)
    *data = s->base + t->data.off;
  if (!*data) return SURG_EUNSUPPORTED;
  if (bytes) *bytes = t->bytes;
  return SURG_OK;
}

/* Writes `folder/name` (folder NULL: name alone); SURG_ELIMIT: no room. */
static surg_status put_path(char *path, size_t room, const char *folder, const char *name) {
  const size_t a = folder ? strlen(folder) + 1 : 0, b = strlen(name);
  if (a >= room || b >= room - a) return SURG_ELIMIT;
  if (folder) memcpy(path, folder, a - 1);
  if (folder) path[a - 1] = '/';
  memcpy(path + a, name, b + 1);
  return SURG_OK;
}

surg_status surg_tensor_file(const surg_tensor *t, char *path, size_t room, uint64_t *offset,
                             uint64_t *bytes) {
  if (!t || !path || !room) return SURG_EUSAGE;
  *path = 0;
  if (t->model->status != SURG_OK) return t->model->status;
  const surg__source *s = t->model->source;
  const bool external = t->view == SURG__VIEW_EXTERNAL;
  if ((!external && t->view != SURG__VIEW_RAW) || !s->path) return SURG_EUNSUPPORTED;
  if ((!external && s->elsewhere) || t->codec || (external && t->file->loan))
    return SURG_EUNSUPPORTED;
  if (offset) *offset = t->data.off;
  if (bytes) *bytes = t->bytes;
  if (!external) return put_path(path, room, NULL, s->path);
  const char *root = t->model->options.external_root;
  return put_path(path, room, root ? root : s->dir, t->file->location);
}

/* --- small integers --- */

#define CHUNK 512 /* elements read at a time */

#define WIDEN(T)                                                   \
  for (size_t i = 0; i < n; i++) out[i] = ((const T *)p)[i]; \
  return true

/* Widens n elements as an array has them; false: a value exceeds INT64_MAX. */
static bool widen(int dtype, const void *p, size_t n, int64_t *out) {
  switch (dtype) {
    case SURG_INT64: memcpy(out, p, n * sizeof *out); return true;
    case SURG_UINT64:
      for (size_t i = 0; i < n; i++) {
        uint64_t v = ((const uint64_t *)p)[i];
        if (v > INT64_MAX) return false;
        out[i] = (int64_t)v;
      }
      return true;
    case SURG_INT32: WIDEN(int32_t);
    case SURG_UINT32: WIDEN(uint32_t);
    case SURG_INT16: WIDEN(int16_t);
    case SURG_UINT16: WIDEN(uint16_t);
    case SURG_BOOL:
      for (size_t i = 0; i < n; i++) out[i] = ((const uint8_t *)p)[i] != 0;
      return true;
    case SURG_UINT8:
    case SURG_UINT4:
    case SURG_UINT2: WIDEN(uint8_t);
    case SURG_INT8:
    case SURG_INT4:
    case SURG_INT2: WIDEN(int8_t);
    default: return false;
  }
}
#undef WIDEN

surg_status surg_tensor_read_ints(const surg_tensor *t, int64_t *out, size_t cap, size_t *count) {
  if (count) *count = 0;
  if (!t || (cap && !out)) return SURG_EUSAGE;
  if (t->view == SURG__VIEW_SPARSE) return SURG_EUNSUPPORTED;
  if (!surg__dtype_is_int(t->dtype) && t->dtype != SURG_BOOL) return SURG_EUNSUPPORTED;
  if (count) *count = (size_t)t->count;
  if (t->count > cap) return SURG_ELIMIT;
  uint64_t elements[CHUNK]; /* of 8 bytes at most */
  for (uint64_t done = 0; done < t->count; done += CHUNK) {
    const size_t n = t->count - done < CHUNK ? (size_t)(t->count - done) : CHUNK;
    const surg_status s = surg_tensor_read_numbers(t, done, elements, n);
    if (s != SURG_OK) return s;
    if (!widen(t->dtype, elements, n, out + done)) return SURG_EUNSUPPORTED;
  }
  return SURG_OK;
}

static bool dense_reals(const surg_tensor *t) {
  const int d = t->dtype;
  return (d == SURG_FLOAT || d == SURG_DOUBLE || d == SURG_FLOAT16 || d == SURG_BFLOAT16) &&
         t->view != SURG__VIEW_SPARSE;
}

bool surg__tensor_reals(const surg_tensor *t, double *out) {
  uint64_t part[CHUNK];
  if (!dense_reals(t)) return false;
  for (uint64_t done = 0; done < t->count; done += CHUNK) {
    const size_t n = t->count - done < CHUNK ? (size_t)(t->count - done) : CHUNK;
    if (surg_tensor_read_numbers(t, done, part, n) != SURG_OK) return false;
    for (size_t i = 0; i < n; i++) *out++ = surg__load_f64(t->dtype, part, i);
  }
  return true;
}

bool surg__tensor_extent(const surg_tensor *t, double *least, double *largest) {
  uint64_t part[CHUNK];
  *least = HUGE_VAL;
  *largest = 0;
  if (!dense_reals(t)) return false;
  for (uint64_t done = 0; done < t->count; done += CHUNK) {
    const size_t n = t->count - done < CHUNK ? (size_t)(t->count - done) : CHUNK;
    if (surg_tensor_read_numbers(t, done, part, n) != SURG_OK) return false;
    for (size_t i = 0; i < n; i++) {
      const double x = fabs(surg__load_f64(t->dtype, part, i));
      if (!(x < HUGE_VAL)) return false;
      if (x != 0 && x < *least) *least = x;
      if (x > *largest) *largest = x;
    }
  }
  return true;
}
