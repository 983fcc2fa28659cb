/* SPDX-License-Identifier: Apache-2.0 */
/* Writes values as the protobuf messages of test data; lib/eval/core/message.c reads them. */
#include "base/context.h"
#include "base/dtype.h"
#include "eval/core/number.h"
#include "io/io.h"
#include "run/run.h"

/* The element kind of SequenceProto and OptionalProto; the elements are in the field with that
 * number plus two. */
enum { ELEM_TENSOR = 1, ELEM_SEQUENCE = 3, ELEM_MAP = 4, ELEM_OPTIONAL = 5 };

static void put_varint(surg__buf *b, uint64_t v) {
  uint8_t bytes[10];
  surg__buf_put(b, bytes, surg__varint_put(bytes, v));
}

static void put_number(surg__buf *b, uint32_t field, uint64_t v) {
  put_varint(b, (uint64_t)field << 3);
  put_varint(b, v);
}

static void put_bytes(surg__buf *b, uint32_t field, const void *p, size_t n) {
  put_varint(b, (uint64_t)field << 3 | 2);
  put_varint(b, n);
  surg__buf_put(b, p, n);
}

static surg_status done(const surg__buf *b) {
  return b->failed ? surg__alloc_status(b->ctx) : SURG_OK;
}

static surg_status put_tensor(const surg__array *a, const char *name, surg__buf *b) {
  uint64_t stored = 0;
  for (uint32_t i = 0; i < a->rank; i++) put_number(b, 1, (uint64_t)a->dims[i]);
  put_number(b, 2, (uint64_t)a->dtype);
  if (a->dtype == SURG_STRING) {
    const surg_str *s = a->data;
    for (uint64_t i = 0; i < a->count; i++) put_bytes(b, 6, s[i].p, s[i].n);
  }
  if (*name) put_bytes(b, 8, name, strlen(name));
  if (a->dtype == SURG_STRING) return done(b);
  if (!surg__dtype_bytes(a->dtype, a->count, &stored)) return SURG_EUNSUPPORTED;
  void *raw = surg__alloc(b->ctx, stored ? (size_t)stored : 1);
  if (!raw) return surg__alloc_status(b->ctx);
  surg__pack(a->dtype, a->count, a->data, raw);
  put_bytes(b, 9, raw, (size_t)stored);
  surg__free(b->ctx, raw);
  return done(b);
}

static surg_status put_value(const surg__array *a, const char *name, surg__buf *b, unsigned depth);

/* Writes the value as a message in field `field`. */
static surg_status put_nested(const surg__array *a, uint32_t field, surg__buf *b, unsigned depth) {
  surg__buf inner;
  surg__buf_init(&inner, b->ctx);
  const surg_status s = put_value(a, "", &inner, depth + 1);
  if (s == SURG_OK) put_bytes(b, field, inner.p, inner.n);
  surg__buf_free(&inner);
  return s == SURG_OK ? done(b) : s;
}

static uint32_t elem_of(int kind) {
  switch (kind) {
    case SURG__V_SEQUENCE:
      return ELEM_SEQUENCE;
    case SURG__V_MAP:
      return ELEM_MAP;
    case SURG__V_OPTIONAL:
      return ELEM_OPTIONAL;
    default:
      return ELEM_TENSOR;
  }
}

static surg_status put_list(const surg__array *a, surg__buf *b, unsigned depth) {
  const surg__list *l = surg__list_of(a);
  const uint32_t elem = elem_of(a->count ? l->items[0].dtype : l->elem.kind);
  surg_status s = SURG_OK;
  put_number(b, 2, elem);
  for (uint64_t i = 0; s == SURG_OK && i < a->count; i++)
    s = put_nested(&l->items[i], elem + 2, b, depth);
  return s;
}

/* Writes a map; its values are a sequence of one-element tensors. */
static surg_status put_map(const surg__array *a, surg__buf *b, unsigned depth) {
  const surg__array *keys = &surg__list_of(a)->items[0], *values = &surg__list_of(a)->items[1];
  surg__buf list;
  surg_status s = SURG_OK;
  put_number(b, 2, (uint64_t)keys->dtype);
  for (uint64_t i = 0; i < keys->count; i++) {
    const surg_str *text = keys->data;
    if (keys->dtype == SURG_STRING)
      put_bytes(b, 4, text[i].p, text[i].n);
    else
      put_number(b, 3, surg__load_int(keys->dtype, keys->data, i));
  }
  surg__buf_init(&list, b->ctx);
  put_number(&list, 2, ELEM_TENSOR);
  for (uint64_t i = 0; s == SURG_OK && i < values->count; i++) {
    const size_t size = surg__dtype_unpacked(values->dtype);
    const surg__array one = {.dtype = values->dtype, .count = 1,
                             .data = (char *)values->data + i * size};
    s = put_nested(&one, 3, &list, depth);
  }
  if (s == SURG_OK) put_bytes(b, 5, list.p, list.n);
  surg__buf_free(&list);
  return s == SURG_OK ? done(b) : s;
}

static surg_status put_value(const surg__array *a, const char *name, surg__buf *b, unsigned depth) {
  if (a->dtype == SURG_UNDEFINED || depth > SURG_LIMIT_DEPTH) return SURG_EUNSUPPORTED;
  if (!surg__array_is_list(a)) return put_tensor(a, name, b);
  if (*name) put_bytes(b, 1, name, strlen(name));
  return a->dtype == SURG__V_MAP ? put_map(a, b, depth) : put_list(a, b, depth);
}

surg_status surg__value_message(const surg__array *a, const char *name, surg__buf *b) {
  return put_value(a, name, b, 0);
}
