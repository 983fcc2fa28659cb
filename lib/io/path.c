/* SPDX-License-Identifier: Apache-2.0 */
/* Names the location of a byte of a model file: walks down from the model by the descriptors of
 * protobuf-c. Works on damaged files too, as far as they can be decoded. */
#include "io/wire.h"
#include "onnx.pb-c.h"

typedef struct place {
  surg__source *src;
  surg__buf *out;
  const ProtobufCMessageDescriptor *type;
  uint64_t pos, end; /* of the current message */
} place;

/* Finds the field of [pos, end) that contains byte `off`; *index counts fields of its number
 * before it. */
static bool find_field(place *at, uint64_t off, surg__field *f, size_t *index) {
  uint64_t pos = at->pos, next;
  size_t counts[64] = {0};
  const char *why;
  while (pos < at->end && pos <= off) {
    *f = (surg__field){0};
    int r = surg__wire_read_any(at->src, pos, at->end, f, &next, &why);
    size_t *count = &counts[f->number % SURG_COUNT(counts)];
    if (r != 1) { /* the field number may have been read */
      *index = *count;
      return pos == off && f->number != 0;
    }
    if (off < next) {
      *index = *count;
      return true;
    }
    ++*count;
    pos = next;
  }
  return false;
}

/* The bytes of the last field `number` of a message, a string. */
static surg_str string_field(place *at, surg__span body, uint32_t number) {
  uint64_t pos = body.off, end = body.off + body.len;
  surg_str found = {NULL, 0};
  surg__field f;
  const char *why;
  while (pos < end && surg__wire_read_any(at->src, pos, end, &f, &pos, &why) == 1) {
    if (f.number != number || f.wire != SURG__WIRE_BYTES) continue;
    if (surg__source_need(at->src, f.body.off, f.body.len) != SURG_OK) break;
    found = (surg_str){(const char *)at->src->base + f.body.off, (size_t)f.body.len};
  }
  return found;
}

static surg_str named_field(place *at, const ProtobufCMessageDescriptor *type, surg__span body,
                            const char *field) {
  const ProtobufCFieldDescriptor *d = protobuf_c_message_descriptor_get_field_by_name(type, field);
  return d ? string_field(at, body, d->id) : (surg_str){NULL, 0};
}

static void put_quoted(place *at, surg_str s) {
  surg__buf_puts(at->out, " \"");
  surg__buf_escape(at->out, s.p, s.n, SURG_LIMIT_NAME_PRINT);
  surg__buf_putc(at->out, '"');
}

/* Appends ` "name" (Op)` or similar, for messages that have names. */
static void put_name(place *at, const ProtobufCMessageDescriptor *type, surg__span body) {
  if (type == &onnx__graph_proto__descriptor || type == &onnx__model_proto__descriptor) return;
  surg_str name = named_field(at, type, body, "name");
  if (type == &onnx__function_proto__descriptor) {
    surg_str domain = named_field(at, type, body, "domain");
    surg__buf_puts(at->out, " \"");
    surg__buf_escape(at->out, domain.p, domain.n, SURG_LIMIT_NAME_PRINT);
    surg__buf_putc(at->out, '.');
    surg__buf_escape(at->out, name.p, name.n, SURG_LIMIT_NAME_PRINT);
    surg__buf_putc(at->out, '"');
    return;
  }
  if (!name.n) name = named_field(at, type, body, "tensor_name");
  if (!name.n) name = named_field(at, type, body, "key");
  if (name.n) put_quoted(at, name);
  if (type == &onnx__node_proto__descriptor) {
    surg_str op = named_field(at, type, body, "op_type");
    const surg_str domain = named_field(at, type, body, "domain");
    surg__buf_puts(at->out, " (");
    if (domain.n && !(domain.n == 7 && memcmp(domain.p, "ai.onnx", 7) == 0)) {
      surg__buf_escape(at->out, domain.p, domain.n, SURG_LIMIT_NAME_PRINT);
      surg__buf_putc(at->out, '.');
    }
    surg__buf_escape(at->out, op.p, op.n, SURG_LIMIT_NAME_PRINT);
    surg__buf_putc(at->out, ')');
  }
}

/* Appends the name of an attribute that contains a graph on the path: `.then_branch`. */
static bool put_branch(place *at, const surg__field *attribute, uint64_t off) {
  place in = *at;
  in.type = &onnx__attribute_proto__descriptor;
  in.pos = attribute->body.off;
  in.end = in.pos + attribute->body.len;
  surg__field f;
  size_t index;
  bool graph = find_field(&in, off, &f, &index) && f.wire == SURG__WIRE_BYTES &&
               (f.number == 6 || f.number == 11);
  if (!graph || off == f.off) return false;
  surg_str name = string_field(&in, attribute->body, 1);
  surg__buf_putc(at->out, '.');
  surg__buf_escape(at->out, name.p, name.n, SURG_LIMIT_NAME_PRINT);
  if (f.number == 11) surg__buf_printf(at->out, "[%zu]", index);
  at->type = &onnx__graph_proto__descriptor;
  at->pos = f.body.off;
  at->end = f.body.off + f.body.len;
  return true;
}

static void put_field(place *at, const ProtobufCFieldDescriptor *d, size_t index) {
  if (at->type != &onnx__model_proto__descriptor || at->out->n > 0) surg__buf_putc(at->out, '.');
  surg__buf_puts(at->out,
                 d->descriptor == &onnx__function_proto__descriptor ? "function" : d->name);
  if (d->label == PROTOBUF_C_LABEL_REPEATED) surg__buf_printf(at->out, "[%zu]", index);
}

/* Descends one level towards `off`; false: the path is complete. */
static bool descend(place *at, uint64_t off) {
  surg__field f;
  size_t index;
  if (!find_field(at, off, &f, &index)) return false;
  const ProtobufCFieldDescriptor *d = protobuf_c_message_descriptor_get_field(at->type, f.number);
  if (!d) {
    surg__buf_printf(at->out, "%sfield %u", at->out->n ? "." : "", f.number);
    return false;
  }
  bool message = d->type == PROTOBUF_C_TYPE_MESSAGE && f.wire == SURG__WIRE_BYTES;
  if (d->descriptor == &onnx__attribute_proto__descriptor && message && off != f.off &&
      put_branch(at, &f, off))
    return true;
  put_field(at, d, index);
  if (d->type == PROTOBUF_C_TYPE_STRING && f.wire == SURG__WIRE_BYTES &&
      surg__source_need(at->src, f.body.off, f.body.len) == SURG_OK)
    put_quoted(at, (surg_str){(const char *)at->src->base + f.body.off, (size_t)f.body.len});
  if (!message) return false;
  put_name(at, d->descriptor, f.body);
  at->type = d->descriptor;
  at->pos = f.body.off;
  at->end = f.body.off + f.body.len;
  return off != f.off;
}

void surg__wire_path(surg__source *s, uint64_t off, surg__buf *out) {
  place at = {s, out, &onnx__model_proto__descriptor, 0, s->size};
  while (descend(&at, off)) {
  }
  if (out->n == 0) surg__buf_puts(out, "model");
}

surg_status surg__wire_error(surg__source *s, uint64_t off, const char *why) {
  surg__buf path;
  surg__buf_init(&path, s->ctx);
  surg__wire_path(s, off, &path);
  surg__buf_putc(&path, 0);
  surg_status status = surg__error(s->ctx, SURG_EINVALID, s->name, "byte %llu (%s): %s",
                                   (unsigned long long)off, path.failed ? "?" : path.p, why);
  surg__buf_free(&path);
  return status;
}
