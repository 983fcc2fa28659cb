/* SPDX-License-Identifier: Apache-2.0 */
/* NumPy's .npy format: a header in Python literal syntax, then the elements. */
#include <stdio.h>
#include <stdlib.h>

#include "base/diag.h"
#include "base/dtype.h"
#include "run/run.h"

static const struct {
  char kind;
  uint8_t size;
  int dtype;
} types[] = {{'f', 4, SURG_FLOAT},     {'f', 8, SURG_DOUBLE},     {'f', 2, SURG_FLOAT16},
             {'i', 1, SURG_INT8},      {'i', 2, SURG_INT16},      {'i', 4, SURG_INT32},
             {'i', 8, SURG_INT64},     {'u', 1, SURG_UINT8},      {'u', 2, SURG_UINT16},
             {'u', 4, SURG_UINT32},    {'u', 8, SURG_UINT64},     {'b', 1, SURG_BOOL},
             {'c', 8, SURG_COMPLEX64}, {'c', 16, SURG_COMPLEX128}};

#define PART 4096u /* bytes of elements that are converted at a time */

typedef surg__npy_head head;

/* --- reading --- */

static const char *value_of(const char *text, const char *key) {
  char quoted[32];
  snprintf(quoted, sizeof quoted, "'%s':", key);
  const char *at = strstr(text, quoted);
  if (!at) return NULL;
  at += strlen(quoted);
  return at + strspn(at, " ");
}

static bool read_descr(const char *at, head *h) {
  const char order = at[0] == '\'' ? at[1] : 0;
  if (!order || !strchr("<>|=", order) || !at[2]) return false;
  const long size = strtol(at + 3, NULL, 10);
  for (size_t i = 0; i < SURG_COUNT(types); i++) {
    if (types[i].kind != at[2] || types[i].size != size) continue;
    h->dtype = types[i].dtype;
    h->size = (size_t)size;
    h->big = order == '>' || (order == '=' && SURG__BIG_ENDIAN);
    return true;
  }
  h->why = "an element type that is not read here";
  return false;
}

static bool read_shape(const char *at, head *h) {
  if (*at++ != '(') return false;
  for (;;) {
    at += strspn(at, " ,");
    if (*at == ')') return true;
    char *end;
    const long long d = strtoll(at, &end, 10);
    if (end == at || d < 0 || h->rank == SURG_LIMIT_RANK) return false;
    h->dims[h->rank++] = d;
    at = end;
    if (*at == 'L') at++; /* suffix in old files */
  }
}

static bool read_head(const char *text, head *h) {
  const char *descr = value_of(text, "descr"), *order = value_of(text, "fortran_order");
  const char *shape = value_of(text, "shape");
  if (!descr || !order || !shape) return false;
  h->fortran = strncmp(order, "True", 4) == 0;
  return read_descr(descr, h) && read_shape(shape, h);
}

static void swap_bytes(uint8_t *p, size_t size, uint64_t count, bool complex) {
  const size_t part = complex ? size / 2 : size;
  for (uint64_t i = 0; i < count * (size / part); i++)
    for (size_t a = 0, b = part - 1; a < b; a++, b--) {
      const uint8_t t = p[i * part + a];
      p[i * part + a] = p[i * part + b];
      p[i * part + b] = t;
    }
}

/* Converts column-major to row-major order. */
static void reorder(const head *h, uint64_t count, const uint8_t *from, uint8_t *to) {
  int64_t at[SURG_LIMIT_RANK] = {0};
  for (uint64_t i = 0; i < count; i++) {
    uint64_t place = 0, stride = 1;
    for (uint32_t d = 0; d < h->rank; d++) {
      place += (uint64_t)at[d] * stride;
      stride *= (uint64_t)h->dims[d];
    }
    memcpy(to + i * h->size, from + place * h->size, h->size);
    for (uint32_t d = h->rank; d-- > 0 && ++at[d] == h->dims[d];) at[d] = 0;
  }
}

static surg_status bad(surg_context *ctx, const char *name, const char *why) {
  return surg__error(ctx, SURG_EINVALID, name, "%s", why ? why : "is not a valid .npy file");
}

bool surg__npy_parse(const void *bytes, size_t n, head *h) {
  const uint8_t *p = bytes;
  char text[SURG__NPY_HEAD];
  *h = (head){0};
  if (n < 12 || memcmp(p, "\x93NUMPY", 6) != 0) return false;
  const bool wide = p[6] >= 2;
  const size_t length = wide ? (size_t)(p[8] | p[9] << 8 | p[10] << 16 | (uint32_t)p[11] << 24)
                             : (size_t)(p[8] | p[9] << 8);
  h->start = (wide ? 12u : 10u) + length;
  if (length >= sizeof text || h->start > n) return false;
  memcpy(text, p + h->start - length, length);
  text[length] = 0;
  return read_head(text, h) && surg__dims_product(h->dims, h->rank, &h->count);
}

surg_status surg__npy_read(surg_context *ctx, const char *name, const void *bytes, size_t n,
                           surg__array *out) {
  const uint8_t *p = bytes;
  head h;
  if (!surg__npy_parse(bytes, n, &h) || h.count > (n - h.start) / (h.size ? h.size : 1) ||
      h.count * h.size != n - h.start)
    return bad(ctx, name, h.why);
  const uint64_t count = h.count;
  const size_t start = h.start;
  if (surg__array_make(ctx, h.dtype, h.dims, h.rank, out) != SURG_OK) return surg__oom(ctx, name);
  if (h.fortran && h.rank > 1)
    reorder(&h, count, p + start, out->data);
  else if (count > 0)
    memcpy(out->data, p + start, n - start);
  const bool complex = h.dtype == SURG_COMPLEX64 || h.dtype == SURG_COMPLEX128;
  if (h.big != SURG__BIG_ENDIAN) swap_bytes(out->data, h.size, count, complex);
  /* The file may contain any byte; kernels require 0 or 1. */
  for (uint64_t i = 0; h.dtype == SURG_BOOL && i < count; i++)
    ((uint8_t *)out->data)[i] = ((uint8_t *)out->data)[i] != 0;
  return SURG_OK;
}

/* --- writing --- */

bool surg__npy_put_head(int dtype, const int64_t *dims, uint32_t rank, surg__buf *b) {
  size_t i = 0;
  while (i < SURG_COUNT(types) && types[i].dtype != dtype) i++;
  if (i == SURG_COUNT(types) || rank > SURG_LIMIT_RANK) return false;
  char text[2048];
  int n = snprintf(text, sizeof text, "{'descr': '%c%c%u', 'fortran_order': False, 'shape': (",
                   types[i].size == 1 ? '|' : '<', types[i].kind, types[i].size);
  for (uint32_t d = 0; d < rank; d++)
    n += snprintf(text + n, sizeof text - (size_t)n, "%lld,%s", (long long)dims[d],
                  d + 1 < rank ? " " : "");
  n += snprintf(text + n, sizeof text - (size_t)n, "), }");
  size_t length = ((size_t)n + 1 + 10 + 63) / 64 * 64 - 10;
  const uint8_t start[10] = {
      0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, (uint8_t)length, (uint8_t)(length >> 8)};
  surg__buf_put(b, start, sizeof start);
  surg__buf_put(b, text, (size_t)n);
  for (size_t k = (size_t)n; k + 1 < length; k++) surg__buf_putc(b, ' ');
  surg__buf_putc(b, '\n');
  return true;
}

surg_status surg__npy_write(const surg__array *a, surg__buf *b) {
  if (!surg__npy_put_head(a->dtype, a->dims, a->rank, b)) return SURG_EUNSUPPORTED;
  const size_t size = surg__dtype_bits(a->dtype) / 8;
  uint8_t part[PART];
  for (uint64_t i = 0; i < a->count && !b->failed; i += PART / size) {
    const uint64_t n = a->count - i < PART / size ? a->count - i : PART / size;
    surg__pack(a->dtype, n, (const uint8_t *)a->data + i * size, part);
    surg__buf_put(b, part, (size_t)n * size);
  }
  return b->failed ? SURG_ENOMEM : SURG_OK;
}
