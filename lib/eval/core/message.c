/* SPDX-License-Identifier: Apache-2.0 */
/* Reads values in the form in which test data and runtimes store them. A tensor is read by the
 * loader, as the initializer of a model that is made around it, so that the same checks apply. */
#include "eval/core/message.h"

#include "base/context.h"
#include "base/diag.h"
#include "eval/core/number.h"
#include "io/wire.h"

typedef struct reader {
  surg_context *ctx;
  surg__source *source;
  const char *name;
} reader;

static surg_status refuse(const reader *r, uint64_t at, const char *why) {
  return surg__error(r->ctx, SURG_EINVALID, r->name, "byte %llu: %s", (unsigned long long)at, why);
}

/* --- tensors --- */

static void put_field(surg__buf *b, uint32_t number, const void *p, size_t n) {
  uint8_t head[16];
  size_t used = surg__varint_put(head, (uint64_t)number << 3 | SURG__WIRE_BYTES);
  used += surg__varint_put(head + used, n);
  surg__buf_put(b, head, used);
  if (p) surg__buf_put(b, p, n);
}

static size_t field_size(uint32_t number, size_t n) {
  return surg__varint_size((uint64_t)number << 3) + surg__varint_size(n) + n;
}

/* A model with one initializer, "t": the tensor. Its name is appended, since the last field
 * wins. */
static surg_status wrap(const reader *r, const uint8_t *tensor, size_t n, surg_model **out) {
  static const uint8_t import[] = {0x10, 1}; /* version 1 */
  static const uint8_t ir[] = {0x08, 10};
  surg__buf b;
  surg__buf_init(&b, r->ctx);
  size_t name = field_size(8, 1);
  surg__buf_put(&b, ir, sizeof ir);
  put_field(&b, 7, NULL, field_size(2, 1) + field_size(5, n + name)); /* ModelProto.graph */
  put_field(&b, 2, "g", 1);                                           /* GraphProto.name */
  put_field(&b, 5, NULL, n + name);                                   /* GraphProto.initializer */
  surg__buf_put(&b, tensor, n);
  put_field(&b, 8, "t", 1); /* TensorProto.name */
  put_field(&b, 8, import, sizeof import);
  surg_load_options options = {.size = sizeof options, .no_external = true};
  surg_status s = b.failed ? surg__oom(r->ctx, r->name)
                           : surg_model_load_memory(r->ctx, b.p, b.n, r->name, &options, out);
  surg__buf_free(&b);
  return s;
}

static surg_status read_tensor(const reader *r, const uint8_t *p, size_t n, surg__array *out) {
  surg__array a;
  surg__arena arena;
  surg_model *m = NULL;
  surg_status s = wrap(r, p, n, &m);
  if (s != SURG_OK) return s;
  surg_value *v = surg_graph_next_initializer(surg_model_graph(m), NULL);
  const surg_tensor *t = v ? surg_value_initializer(v) : NULL;
  surg__arena_init(&arena, r->ctx);
  s = SURG_EUNSUPPORTED;
  if (t && surg_tensor_rank(t) <= SURG_LIMIT_RANK) {
    s = surg__array_from_tensor(r->ctx, &arena, t, &a);
  }
  if (s == SURG_OK) s = surg__array_settle(r->ctx, &a);
  if (s == SURG_OK) *out = a;
  surg__arena_free(&arena);
  surg_model_free(m);
  if (s == SURG_ENOMEM || s == SURG_ELIMIT) return surg__oom(r->ctx, r->name);
  if (s == SURG_EUNSUPPORTED) return refuse(r, 0, "a tensor of a form that is not read here");
  return s;
}

/* --- other values --- */

static surg_status read_value(reader *r, surg__span body, const surg_type *type, unsigned depth,
                              surg__array *out);

typedef SURG_VEC(surg__array) arrays;

/* Appends the value in the message [body], of type `type`. */
static surg_status push(reader *r, surg__span body, const surg_type *type, unsigned depth,
                        arrays *list) {
  surg__array a;
  surg_status s = read_value(r, body, type, depth + 1, &a);
  if (s != SURG_OK) return s;
  if (surg__vec_push(r->ctx, list, a)) return SURG_OK;
  surg__array_drop(&a);
  return surg__oom(r->ctx, r->name);
}

/* The field of SequenceProto, and of OptionalProto, for elements of a type. */
static uint32_t field_of(const surg_type *elem) {
  switch (surg_type_get_kind(elem)) {
    case SURG_TYPE_SEQUENCE:
      return 5;
    case SURG_TYPE_MAP:
      return 6;
    case SURG_TYPE_OPTIONAL:
      return 7;
    default:
      return 3;
  }
}

/* Reads the field at *at and moves *at after it. */
static surg_status next_field(reader *r, uint64_t *at, uint64_t end, surg__field *f) {
  const char *why = "not a message";
  const int got = surg__wire_read(r->source, *at, end, f, at, &why);
  if (got == 1) return SURG_OK;
  return got == SURG_EINVALID ? refuse(r, *at, why) : (surg_status)got;
}

static surg_status collect(reader *r, surg__span body, const surg_type *elem, unsigned depth,
                           arrays *list) {
  uint64_t at = body.off, end = body.off + body.len;
  while (at < end) {
    surg__field f;
    surg_status s = next_field(r, &at, end, &f);
    if (s != SURG_OK) return s;
    if (f.number > 7 || (f.number == 1 && f.wire != SURG__WIRE_BYTES))
      return refuse(r, f.off, "not a message of such a value: a tensor by itself?");
    if (f.number < 3) continue;
    if (f.wire != SURG__WIRE_BYTES || f.number != field_of(elem)) {
      return refuse(r, f.off, "an element is of another kind than its type");
    }
    s = push(r, f.body, elem, depth, list);
    if (s != SURG_OK) return s;
  }
  return SURG_OK;
}

static surg_status to_list(reader *r, int kind, const surg_type *elem, arrays *list,
                           surg__array *out) {
  surg_status s = surg__list_make(r->ctx, kind, surg__content_of_type(elem), list->count, out);
  if (s != SURG_OK) return surg__oom(r->ctx, r->name);
  for (size_t i = 0; i < list->count; ++i) surg__list_of(out)->items[i] = list->items[i];
  list->count = 0;
  return s;
}

static surg_status read_list(reader *r, surg__span body, const surg_type *type, unsigned depth,
                             surg__array *out) {
  arrays list = {0};
  bool optional = surg_type_get_kind(type) == SURG_TYPE_OPTIONAL;
  surg_status s = collect(r, body, surg_type_elem(type), depth, &list);
  if (s == SURG_OK && optional && list.count > 1) {
    s = refuse(r, body.off, "an optional with more than one element");
  }
  if (s == SURG_OK) {
    s = to_list(r, optional ? SURG__V_OPTIONAL : SURG__V_SEQUENCE, surg_type_elem(type), &list,
                out);
  }
  for (size_t i = 0; i < list.count; ++i) surg__array_drop(&list.items[i]);
  surg__vec_free(r->ctx, &list);
  return s;
}

/* --- maps: keys as numbers or strings, values as a sequence of tensors of one element each --- */

typedef struct map {
  SURG_VEC(uint64_t) keys;
  SURG_VEC(surg_str) names; /* borrowed from the source */
  arrays values;
} map;

static surg_status push_key(reader *r, const surg__field *f, map *m) {
  bool ok = true;
  if (f->number == 4 && f->wire == SURG__WIRE_BYTES) {
    const surg_status s = surg__source_need(r->source, f->body.off, f->body.len);
    if (s != SURG_OK) return s;
    const char *text = (const char *)r->source->base + f->body.off;
    const surg_str name = {text, (size_t)f->body.len};
    ok = surg__vec_push(r->ctx, &m->names, name);
  } else if (f->wire == SURG__WIRE_VARINT) {
    ok = surg__vec_push(r->ctx, &m->keys, f->value);
  } else {
    return refuse(r, f->off, "keys of a form that is not read here");
  }
  return ok ? SURG_OK : surg__oom(r->ctx, r->name);
}

static surg_status read_fields(reader *r, surg__span body, const surg_type *type, unsigned depth,
                               map *m) {
  uint64_t at = body.off, end = body.off + body.len;
  while (at < end) {
    surg__field f;
    surg_status s = next_field(r, &at, end, &f);
    if (s != SURG_OK) return s;
    if (f.number == 3 || f.number == 4) s = push_key(r, &f, m);
    if (f.number == 5 && f.wire != SURG__WIRE_BYTES)
      s = refuse(r, f.off, "not a sequence");
    else if (f.number == 5)
      s = collect(r, f.body, surg_type_elem(type), depth + 1, &m->values);
    if (s != SURG_OK) return s;
  }
  return SURG_OK;
}

static surg_status put_keys(reader *r, const map *m, int dtype, surg__array *out) {
  const int64_t n = (int64_t)m->values.count;
  surg_status s = surg__array_make(r->ctx, dtype, &n, 1, out);
  if (s != SURG_OK) return s;
  if (dtype != SURG_STRING) {
    for (size_t i = 0; i < m->keys.count; ++i)
      surg__store_int(dtype, out->data, i, m->keys.items[i]);
    return SURG_OK;
  }
  if (n > 0) memcpy(out->data, m->names.items, m->names.count * sizeof *m->names.items);
  return surg__array_settle(r->ctx, out);
}

static surg_status put_values(reader *r, const map *m, int dtype, surg__array *out) {
  const int64_t n = (int64_t)m->values.count;
  const size_t size = surg__dtype_unpacked(dtype);
  surg_status s = surg__array_make(r->ctx, dtype, &n, 1, out);
  if (s != SURG_OK) return s;
  for (size_t i = 0; i < m->values.count; ++i)
    memcpy((char *)out->data + i * size, m->values.items[i].data, size);
  return surg__array_settle(r->ctx, out);
}

static surg_status make_map(reader *r, const map *m, surg__content elem, surg__array *out) {
  surg_status s = surg__list_make(r->ctx, SURG__V_MAP, elem, 2, out);
  if (s != SURG_OK) return surg__oom(r->ctx, r->name);
  s = put_keys(r, m, elem.key, &surg__list_of(out)->items[0]);
  if (s == SURG_OK) s = put_values(r, m, elem.dtype, &surg__list_of(out)->items[1]);
  if (s == SURG_OK) return s;
  surg__array_drop(out);
  return surg__oom(r->ctx, r->name);
}

static surg_status read_map(reader *r, surg__span body, const surg_type *type, unsigned depth,
                            surg__array *out) {
  map m = {0};
  const surg__content elem = surg__content_of_type(type);
  surg_status s = read_fields(r, body, type, depth, &m);
  const size_t keys = elem.key == SURG_STRING ? m.names.count : m.keys.count;
  if (s == SURG_OK && (!elem.key || keys != m.values.count))
    s = refuse(r, body.off, "a map without a key for each value");
  for (size_t i = 0; s == SURG_OK && i < m.values.count; ++i)
    if (m.values.items[i].dtype != elem.dtype || m.values.items[i].count != 1)
      s = refuse(r, body.off, "a map whose values are not single elements of its type");
  if (s == SURG_OK) s = make_map(r, &m, elem, out);
  for (size_t i = 0; i < m.values.count; ++i) surg__array_drop(&m.values.items[i]);
  surg__vec_free(r->ctx, &m.values);
  surg__vec_free(r->ctx, &m.keys);
  surg__vec_free(r->ctx, &m.names);
  return s;
}

static surg_status read_value(reader *r, surg__span body, const surg_type *type, unsigned depth,
                              surg__array *out) {
  if (depth > SURG_LIMIT_DEPTH) return refuse(r, body.off, "nested too deep");
  switch (type ? surg_type_get_kind(type) : SURG_TYPE_TENSOR) {
    case SURG_TYPE_TENSOR: {
      surg_status s = surg__source_need(r->source, body.off, body.len);
      if (s != SURG_OK) return s;
      return read_tensor(r, r->source->base + body.off, (size_t)body.len, out);
    }
    case SURG_TYPE_SEQUENCE:
    case SURG_TYPE_OPTIONAL:
      return read_list(r, body, type, depth, out);
    case SURG_TYPE_MAP:
      return read_map(r, body, type, depth, out);
    default:
      return refuse(r, body.off, "a value of a type that is not read here");
  }
}

surg_status surg__value_from_message(surg_context *ctx, const char *name, const void *bytes,
                                     size_t n, const surg_type *type, surg__array *out) {
  reader r = {.ctx = ctx, .name = name};
  surg_status s = surg__source_memory(ctx, bytes, n, name, &r.source);
  if (s != SURG_OK) return s;
  s = read_value(&r, (surg__span){.off = 0, .len = n}, type, 0, out);
  surg__source_unref(r.source);
  return s;
}
