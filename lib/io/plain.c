/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a file as readers of protocol buffers see it, where the loader reads less than they do.
 * They merge the parts of a message that may occur once: its scalars are those of the last part,
 * its lists and messages those of all parts in their order. That is what one message with the
 * fields of all parts says. They do not interpret groups, and fields of another wire type than
 * the declared one. They do not check text. */
#include "io/wire.h"
#include "onnx.pb-c.h"

typedef SURG_VEC(surg__span) spans;

typedef struct plain {
  surg__source *src;
  surg_status status; /* not OK: reported, except where memory ran out */
} plain;

/* A message: the fields of all its parts. */
typedef struct message {
  const ProtobufCMessageDescriptor *type;
  const surg__span *parts;
  size_t n;
} message;

static bool stop(plain *p, surg_status why) {
  p->status = why;
  return false;
}

static bool put_message(plain *p, message m, surg__buf *out);

/* Reads the next field: true, or false at the end of the part or on failure. */
static bool next_field(plain *p, uint64_t *pos, surg__span part, surg__field *f) {
  const char *why = NULL;
  const uint64_t end = part.off + part.len;
  if (*pos >= end) return false;
  const int r = surg__wire_read_any(p->src, *pos, end, f, pos, &why);
  if (r == 1) return true;
  return stop(p, why ? surg__wire_error(p->src, *pos, why) : (surg_status)r);
}

static void put_varint(surg__buf *out, uint64_t v) {
  uint8_t bytes[10];
  surg__buf_put(out, bytes, surg__varint_put(bytes, v));
}

static void put_bytes(surg__buf *out, uint32_t number, const char *bytes, size_t n) {
  put_varint(out, (uint64_t)number << 3 | SURG__WIRE_BYTES);
  put_varint(out, n);
  surg__buf_put(out, bytes, n);
}

/* The length of the valid UTF-8 character at p; 0: none. */
static size_t character(const uint8_t *p, size_t n) {
  for (size_t k = 1; k <= 4 && k <= n; k++)
    if (surg__utf8_valid(p, k)) return k;
  return 0;
}

/* Writes U+FFFD and two hex digits for each byte that is no character, and for those of U+FFFD, so
 * that the text can be told from every other one. */
static void put_escaped(surg__buf *out, const uint8_t *p, size_t n) {
  static const char mark[] = "\xef\xbf\xbd";
  for (size_t i = 0; i < n;) {
    const size_t k = character(p + i, n - i);
    const bool is_mark = k == 3 && !memcmp(p + i, mark, 3);
    if (k && !is_mark) surg__buf_put(out, p + i, k);
    for (size_t j = 0; j < (is_mark ? 3u : !k); j++)
      surg__buf_printf(out, "%s%02x", mark, p[i + j]);
    i += k ? k : 1;
  }
}

static bool put_text(plain *p, const surg__field *f, surg__buf *out) {
  surg__buf text;
  surg__buf_init(&text, p->src->ctx);
  put_escaped(&text, p->src->base + f->body.off, (size_t)f->body.len);
  put_bytes(out, f->number, text.p, text.n);
  out->failed |= text.failed;
  surg__buf_free(&text);
  return !out->failed;
}

/* Collects the parts of the message in field `number`. *kinds: a bit for each field. */
static bool gather(plain *p, message m, uint32_t number, spans *parts, uint64_t *kinds) {
  for (size_t i = 0; i < m.n; i++) {
    surg__field f;
    for (uint64_t pos = m.parts[i].off; next_field(p, &pos, m.parts[i], &f);) {
      if (f.wire != SURG__WIRE_BYTES) continue;
      *kinds |= UINT64_C(1) << (f.number < 64 ? f.number : 63);
      if (f.number == number && !surg__vec_push(p->src->ctx, parts, f.body))
        return stop(p, surg__oom(p->src->ctx, p->src->name));
    }
  }
  return p->status == SURG_OK;
}

/* The members of a type exclude each other: the last one removes the others, but not what comes
 * after it. */
static bool is_mixed(message m, size_t parts, uint64_t kinds) {
  const uint64_t members = kinds & (1u << 1 | 1u << 4 | 1u << 5 | 1u << 7 | 1u << 8 | 1u << 9);
  return m.type == &onnx__type_proto__descriptor && parts > 1 && (members & (members - 1));
}

/* Writes the message in a field that may occur once, from all its parts. */
static bool put_merged(plain *p, message m, const surg__field *f,
                       const ProtobufCMessageDescriptor *type, surg__buf *out) {
  spans parts = {0};
  uint64_t kinds = 0;
  surg__buf body;
  surg__buf_init(&body, p->src->ctx);
  bool ok = gather(p, m, f->number, &parts, &kinds);
  if (ok && is_mixed(m, parts.count, kinds)) {
    p->src->ctx->code = "E147";
    ok = stop(p, surg__wire_error(p->src, f->off, "a type of several kinds in several parts"));
  }
  ok = ok && put_message(p, (message){type, parts.items, parts.count}, &body);
  if (ok) put_bytes(out, f->number, body.p, body.n);
  out->failed |= body.failed;
  surg__buf_free(&body);
  surg__vec_free(p->src->ctx, &parts);
  return ok && !out->failed;
}

static bool put_element(plain *p, const surg__field *f, const ProtobufCMessageDescriptor *type,
                        surg__buf *out) {
  surg__buf body;
  surg__buf_init(&body, p->src->ctx);
  const bool ok = put_message(p, (message){type, &f->body, 1}, &body);
  if (ok) put_bytes(out, f->number, body.p, body.n);
  out->failed |= body.failed;
  surg__buf_free(&body);
  return ok && !out->failed;
}

/* Writes the field that ends before `next`. *done: the singular messages that were written. */
static bool put_field(plain *p, message m, const surg__field *f, uint64_t next, uint64_t *done,
                      surg__buf *out) {
  const ProtobufCFieldDescriptor *d = protobuf_c_message_descriptor_get_field(m.type, f->number);
  const bool list = d && d->label == PROTOBUF_C_LABEL_REPEATED;
  const bool packed = list && f->wire == SURG__WIRE_BYTES;
  if (f->wire == SURG__WIRE_GROUP) return true;
  if (d && f->wire != surg__wire_of(d->type) && !packed) return true;
  if (d && d->type == PROTOBUF_C_TYPE_MESSAGE) {
    if (list) return put_element(p, f, d->descriptor, out);
    const uint64_t bit = UINT64_C(1) << (d - m.type->fields);
    if (*done & bit) return true;
    *done |= bit;
    return put_merged(p, m, f, d->descriptor, out);
  }
  if (d && d->type == PROTOBUF_C_TYPE_STRING &&
      !surg__utf8_valid(p->src->base + f->body.off, (size_t)f->body.len))
    return put_text(p, f, out);
  surg__buf_put(out, p->src->base + f->off, (size_t)(next - f->off));
  return !out->failed;
}

static bool put_message(plain *p, message m, surg__buf *out) {
  uint64_t done = 0;
  for (size_t i = 0; i < m.n; i++) {
    surg__field f;
    for (uint64_t pos = m.parts[i].off; next_field(p, &pos, m.parts[i], &f);)
      if (!put_field(p, m, &f, pos, &done, out)) return false;
  }
  return p->status == SURG_OK;
}

surg_status surg__source_plain(surg__source *s, surg__source **out) {
  plain p = {.src = s};
  surg__buf wire;
  const surg__span all = {0, s->size};
  surg__buf_init(&wire, s->ctx);
  surg_status status = surg__source_need(s, 0, s->size);
  if (status == SURG_OK) put_message(&p, (message){&onnx__model_proto__descriptor, &all, 1}, &wire);
  if (status == SURG_OK) status = p.status;
  if (status == SURG_OK && wire.failed) status = surg__oom(s->ctx, s->name);
  if (status == SURG_OK) status = surg__source_memory(s->ctx, wire.p, wire.n, s->name, out);
  surg__buf_free(&wire);
  return status;
}
