/* SPDX-License-Identifier: Apache-2.0 */
/* Values as public objects (onnxsurg/evaluate.h). */
#include <errno.h>
#include <onnxsurg/context.h>
#include <stdlib.h>

#include "base/context.h"
#include "base/diag.h"
#include "base/dtype.h"
#include "base/os/os.h"
#include "eval/core/number.h"
#include "run/public.h"

surg_status surg__array_handle(surg_context *ctx, const surg__array *a, surg_array **out) {
  *out = surg__calloc(ctx, 1, sizeof **out);
  if (!*out) return surg__oom(ctx, NULL);
  (*out)->ctx = ctx;
  (*out)->a = surg__array_ref(a);
  return SURG_OK;
}

/* Makes a handle of an array that the caller owns, and drops the array. */
static surg_status give(surg_context *ctx, surg_status s, surg__array *a, surg_array **out) {
  if (s == SURG_OK) s = surg__array_handle(ctx, a, out);
  surg__array_drop(a);
  return s;
}

static bool are_dims(const int64_t *dims, size_t rank) {
  uint64_t count;
  return rank <= UINT32_MAX && (dims || !rank) && surg__dims_product(dims, rank, &count);
}

surg_status surg_array_new(surg_context *ctx, int dtype, const int64_t *dims, size_t rank,
                           const void *data, surg_array **out) {
  surg__array a = {0};
  if (out) *out = NULL;
  if (!ctx || !out || dtype <= SURG_UNDEFINED || dtype >= SURG_DTYPE_COUNT ||
      dtype == SURG_STRING || !are_dims(dims, rank))
    return SURG_EUSAGE;
  const surg_status s = surg__array_make(ctx, dtype, dims, (uint32_t)rank, &a);
  const size_t bytes = s == SURG_OK ? (size_t)a.count * surg__dtype_unpacked(dtype) : 0;
  if (bytes && data) memcpy(a.data, data, bytes);
  if (bytes && !data) memset(a.data, 0, bytes);
  return give(ctx, s, &a, out);
}

surg_status surg_array_new_strings(surg_context *ctx, const int64_t *dims, size_t rank,
                                   const surg_str *strings, surg_array **out) {
  surg__array a = {0};
  if (out) *out = NULL;
  if (!ctx || !out || !are_dims(dims, rank)) return SURG_EUSAGE;
  surg_status s = surg__array_make(ctx, SURG_STRING, dims, (uint32_t)rank, &a);
  if (s == SURG_OK && a.count && !strings) {
    surg__array_drop(&a);
    return SURG_EUSAGE;
  }
  if (s == SURG_OK && a.count) memcpy(a.data, strings, (size_t)a.count * sizeof *strings);
  if (s == SURG_OK) s = surg__array_settle(ctx, &a); /* copies the text */
  return give(ctx, s, &a, out);
}

surg_status surg_array_load(surg_context *ctx, const char *path, const surg_type *type,
                            surg_array **out) {
  surg__array a = {0};
  if (out) *out = NULL;
  if (!ctx || !path || !out) return SURG_EUSAGE;
  const surg_status s = surg__value_load_as(ctx, path, type, &a);
  return give(ctx, s, &a, out);
}

/* --- saving --- */

surg_status surg_file_write(surg_context *ctx, const char *path, const void *bytes, size_t n) {
  char *dir = NULL, *base = NULL, *temp = NULL;
  int fd = -1;
  if (!ctx || !path || (!bytes && n)) return SURG_EUSAGE;
  int why = surg__os_split(path, &dir, &base);
  if (!why) why = surg__os_temp_in(dir, &fd, &temp);
  if (!why) why = surg__os_write(fd, bytes, n);
  if (!why)
    why = surg__os_publish(fd, temp, path);
  else if (fd >= 0)
    surg__os_discard(fd, temp);
  free(dir);
  free(base);
  if (!why) return SURG_OK;
  surg__buf name;
  surg__buf_init(&name, ctx);
  surg__buf_escape(&name, path, strlen(path), 0);
  const char *where = name.failed || !name.p ? "file" : name.p;
  const surg_status s = why == ENOMEM
                            ? surg__oom(ctx, where)
                            : surg__error(ctx, SURG_EIO, where, "cannot write: %s", strerror(why));
  surg__buf_free(&name);
  return s;
}

surg_status surg_array_save(const surg_array *a, const char *path, int32_t format,
                            const char *name) {
  if (!a || !path || (format != SURG_ARRAY_NPY && format != SURG_ARRAY_PB)) return SURG_EUSAGE;
  surg__buf b;
  surg__buf_init(&b, a->ctx);
  surg_status s = format == SURG_ARRAY_PB ? surg__value_message(&a->a, name ? name : "", &b)
                                          : surg__npy_write(&a->a, &b);
  if (s == SURG_OK)
    s = surg_file_write(a->ctx, path, b.p ? b.p : "", b.n);
  else if (s != SURG_EUNSUPPORTED)
    s = surg__oom(a->ctx, NULL);
  surg__buf_free(&b);
  return s;
}

void surg_array_free(surg_array *a) {
  if (!a) return;
  surg__array_drop(&a->a);
  surg__free(a->ctx, a);
}

/* --- reading --- */

static bool is_tensor(const surg_array *a) {
  return a && a->a.dtype && !surg__array_is_list(&a->a);
}

int32_t surg_array_kind(const surg_array *a) {
  static const int32_t kinds[] = {SURG_TYPE_SEQUENCE, SURG_TYPE_OPTIONAL, SURG_TYPE_MAP};
  if (!a || !a->a.dtype) return SURG_TYPE_UNKNOWN;
  return is_tensor(a) ? SURG_TYPE_TENSOR : kinds[a->a.dtype - SURG__V_SEQUENCE];
}

int surg_array_dtype(const surg_array *a) {
  return is_tensor(a) ? a->a.dtype : SURG_UNDEFINED;
}

size_t surg_array_rank(const surg_array *a) {
  return is_tensor(a) ? a->a.rank : 0;
}

const int64_t *surg_array_dims(const surg_array *a) {
  return is_tensor(a) ? a->a.dims : NULL;
}

uint64_t surg_array_count(const surg_array *a) {
  return a ? a->a.count : 0;
}

const void *surg_array_data(const surg_array *a) {
  return is_tensor(a) ? a->a.data : NULL;
}

double surg_array_real(const surg_array *a, uint64_t i) {
  if (!is_tensor(a) || i >= a->a.count) return 0;
  const int dtype = a->a.dtype;
  if (dtype == SURG_STRING || dtype == SURG_COMPLEX64 || dtype == SURG_COMPLEX128) return 0;
  if (dtype == SURG_BOOL) return ((const uint8_t *)a->a.data)[i] != 0;
  return surg__load_number(dtype, a->a.data, i);
}

int64_t surg_array_int(const surg_array *a, uint64_t i) {
  if (!is_tensor(a) || i >= a->a.count) return 0;
  if (!surg__dtype_is_int(a->a.dtype) && a->a.dtype != SURG_BOOL) return 0;
  return (int64_t)surg__load_int(a->a.dtype, a->a.data, i);
}

surg_status surg_array_item(const surg_array *a, uint64_t i, surg_array **out) {
  if (!a || !out) return SURG_EUSAGE;
  *out = NULL;
  if (!surg__array_is_list(&a->a) || i >= a->a.count) return SURG_ENOTFOUND;
  return surg__array_handle(a->ctx, &surg__list_of(&a->a)->items[i], out);
}

surg_status surg_array_text(const surg_array *a, uint64_t most, char **text) {
  if (!a || !text) return SURG_EUSAGE;
  surg__buf b;
  surg__buf_init(&b, a->ctx);
  surg__value_print(&a->a, most, &b);
  return surg__buf_give(&b, text);
}
