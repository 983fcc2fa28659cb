/* SPDX-License-Identifier: Apache-2.0 */
/* The safetensors format: 8 bytes with the length of a JSON header, the header, and the elements,
 * little-endian and row-major, without gaps (https://huggingface.co/docs/safetensors). */
#include <stdio.h>
#include <stdlib.h>

#include "base/dtype.h"
#include "base/json.h"
#include "weights/weights.h"

#define HEADER_MOST ((uint64_t)100 << 20) /* the limit of the format's own library */
#define METADATA "__metadata__"

static const struct {
  const char *name;
  int dtype;
} types[] = {
    {"BOOL", SURG_BOOL},          {"U8", SURG_UINT8},           {"I8", SURG_INT8},
    {"U16", SURG_UINT16},         {"I16", SURG_INT16},          {"U32", SURG_UINT32},
    {"I32", SURG_INT32},          {"U64", SURG_UINT64},         {"I64", SURG_INT64},
    {"F16", SURG_FLOAT16},        {"BF16", SURG_BFLOAT16},      {"F32", SURG_FLOAT},
    {"F64", SURG_DOUBLE},         {"C64", SURG_COMPLEX64},      {"F8_E4M3", SURG_FLOAT8E4M3FN},
    {"F8_E5M2", SURG_FLOAT8E5M2}, {"F8_E8M0", SURG_FLOAT8E8M0}, {"F4", SURG_FLOAT4E2M1}};

static const char *type_name(int dtype) {
  for (size_t i = 0; i < SURG_COUNT(types); i++)
    if (types[i].dtype == dtype) return types[i].name;
  return NULL;
}

bool surg__safetensors_has(int dtype) {
  return type_name(dtype) != NULL;
}

/* --- reading --- */

static surg_status bad_entry(const surg__storage *f, const char *name, const char *why) {
  return surg__error(f->ctx, SURG_EINVALID, f->path, "tensor %s: %s", surg__q(f->ctx, name), why);
}

/* SURG_EINVALID is not reported. */
static surg_status read_dims(surg__storage *f, const json_t *list, surg__stored *e) {
  const size_t n = json_array_size(list);
  if (!json_is_array(list) || n > SURG_LIMIT_RANK) return SURG_EINVALID;
  int64_t *dims = surg__arena_array(&f->arena, n ? n : 1, sizeof *dims);
  if (!dims) return surg__oom(f->ctx, f->path);
  for (size_t i = 0; i < n; i++) {
    const json_t *d = json_array_get(list, i);
    if (!json_is_integer(d) || json_integer_value(d) < 0) return SURG_EINVALID;
    dims[i] = (int64_t)json_integer_value(d);
  }
  e->rank = (uint32_t)n;
  e->dims = dims;
  return SURG_OK;
}

static surg_status read_entry(surg__storage *f, uint64_t start, const char *name, json_t *j) {
  surg__stored e = {.plain = true};
  uint64_t count, bytes;
  const char *type = json_string_value(json_object_get(j, "dtype"));
  const json_t *range = json_object_get(j, "data_offsets");
  for (size_t i = 0; type && i < SURG_COUNT(types); i++)
    if (strcmp(types[i].name, type) == 0) e.dtype = types[i].dtype;
  e.name = surg__arena_strn(&f->arena, name, strlen(name));
  if (!e.name) return surg__oom(f->ctx, f->path);
  const surg_status s = read_dims(f, json_object_get(j, "shape"), &e);
  if (s != SURG_OK && s != SURG_EINVALID) return s;
  if (!type || s != SURG_OK || json_array_size(range) != 2 ||
      !json_is_integer(json_array_get(range, 0)) || !json_is_integer(json_array_get(range, 1)))
    return bad_entry(f, name, "its entry is invalid");
  const json_int_t from = json_integer_value(json_array_get(range, 0));
  const json_int_t to = json_integer_value(json_array_get(range, 1));
  if (from < 0 || to < from || (uint64_t)to > f->size - start)
    return bad_entry(f, name, "its data_offsets are outside of the file");
  e.off = start + (uint64_t)from;
  e.bytes = (uint64_t)(to - from);
  /* An element type that is unknown here is an error only if the model has such a tensor. */
  if (e.dtype && (!surg__dims_product(e.dims, e.rank, &count) ||
                  !surg__dtype_bytes(e.dtype, count, &bytes) || bytes != e.bytes))
    return bad_entry(f, name, "dtype and shape do not agree with its data_offsets");
  return surg__vec_push(f->ctx, &f->all, e) ? SURG_OK : surg__oom(f->ctx, f->path);
}

surg_status surg__safetensors_list(surg__storage *f) {
  uint8_t head[8];
  if (f->size < sizeof head) return surg__storage_bad(f, "is not a valid safetensors file");
  surg_status s = surg__storage_read(f, 0, head, sizeof head);
  if (s != SURG_OK) return s;
  const uint64_t n = surg__le64(head);
  if (n > HEADER_MOST || n > f->size - sizeof head)
    return surg__storage_bad(f, "is not a valid safetensors file: the length of its header");
  char *text = surg__alloc(f->ctx, (size_t)n + 1);
  if (!text) return surg__oom(f->ctx, f->path);
  s = surg__storage_read(f, sizeof head, text, (size_t)n);
  surg__json_doc doc = {0};
  if (s == SURG_OK)
    s = surg__json_read(f->ctx, f->path, text, (size_t)n, JSON_REJECT_DUPLICATES, NULL, &doc);
  surg__free(f->ctx, text);
  json_t *all = doc.value;
  if (s == SURG_OK && !json_is_object(all))
    s = surg__storage_bad(f, "is not a valid safetensors file: its header is not a JSON object");
  for (void *i = s == SURG_OK ? json_object_iter(all) : NULL; i && s == SURG_OK;
       i = json_object_iter_next(all, i)) {
    const char *name = json_object_iter_key(i);
    if (strcmp(name, METADATA) != 0)
      s = read_entry(f, sizeof head + n, name, json_object_iter_value(i));
  }
  surg__json_drop(f->ctx, &doc);
  return s;
}

/* --- writing --- */

typedef struct item {
  const surg__weight *w;
  size_t order;
} item;

/* Larger element types first, so that all tensors are aligned to their elements. */
static int by_size(const void *a, const void *b) {
  const item *x = a, *y = b;
  const unsigned p = surg__dtype_bits(x->w->t->dtype), q = surg__dtype_bits(y->w->t->dtype);
  if (p != q) return p > q ? -1 : 1;
  return x->order < y->order ? -1 : 1;
}

/* A JSON string of valid UTF-8. */
static void put_string(surg__buf *b, const char *s) {
  surg__buf_putc(b, '"');
  for (; *s; s++) {
    const unsigned char c = (unsigned char)*s;
    if (c < 0x20)
      surg__buf_printf(b, "\\u%04x", c);
    else if (c == '"' || c == '\\')
      surg__buf_printf(b, "\\%c", c);
    else
      surg__buf_putc(b, *s);
  }
  surg__buf_putc(b, '"');
}

static void put_entry(surg__buf *b, const surg__weight *w, uint64_t *off) {
  const surg_tensor *t = w->t;
  put_string(b, w->name);
  surg__buf_printf(b, ":{\"dtype\":\"%s\",\"shape\":[", type_name(t->dtype));
  for (uint32_t i = 0; i < t->rank; i++)
    surg__buf_printf(b, "%s%lld", i ? "," : "", (long long)t->dims[i]);
  surg__buf_printf(b, "],\"data_offsets\":[%llu,%llu]}", (unsigned long long)*off,
                   (unsigned long long)(*off + t->bytes));
  *off += t->bytes;
}

static void put_file(surg__rope *r, surg__buf *b, const item *items, size_t n) {
  uint64_t off = 0;
  uint8_t head[8];
  surg__buf_putc(b, '{');
  for (size_t i = 0; i < n; i++) {
    if (i) surg__buf_putc(b, ',');
    put_entry(b, items[i].w, &off);
  }
  surg__buf_putc(b, '}');
  while (!b->failed && b->n % 8) surg__buf_putc(b, ' '); /* the elements are aligned, too */
  for (unsigned i = 0; i < 8; i++) head[i] = (uint8_t)((uint64_t)b->n >> (8 * i));
  surg__rope_bytes(r, head, sizeof head);
  if (!b->failed) surg__rope_borrow(r, b->p, b->n);
  for (size_t i = 0; i < n; i++) surg__rope_tensor(r, items[i].w->t);
}

surg_status surg__safetensors_write(surg_context *ctx, const surg__weight *const *w, size_t n,
                                    const char *dir, const char *path, bool no_fsync,
                                    surg__draft *out) {
  surg__rope rope;
  surg__buf b;
  item *items = surg__calloc(ctx, n + 1, sizeof *items);
  if (!items) return surg__oom(ctx, path);
  surg_status s = SURG_OK;
  for (size_t i = 0; i < n; i++) {
    items[i] = (item){w[i], i};
    if (strcmp(w[i]->name, METADATA) == 0)
      s = surg__error(ctx, SURG_EUNSUPPORTED, path, "no tensor of the format can be named %s",
                      METADATA);
  }
  if (n) qsort(items, n, sizeof *items, by_size);
  surg__rope_init(&rope, ctx, NULL);
  surg__buf_init(&b, ctx);
  if (s == SURG_OK) put_file(&rope, &b, items, n);
  if (s == SURG_OK && (rope.failed || b.failed)) s = surg__oom(ctx, path);
  if (s == SURG_OK && b.n > HEADER_MOST)
    s = surg__error(ctx, SURG_ELIMIT, path, "the header exceeds the 100 MB of the format");
  if (s == SURG_OK) s = surg__draft_write(&rope, dir, path, path, no_fsync, out);
  surg__rope_free(&rope);
  surg__buf_free(&b);
  surg__free(ctx, items);
  return s;
}
