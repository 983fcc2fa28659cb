/* SPDX-License-Identifier: Apache-2.0 */
/* Parser of ONNX text: `@{...}` blocks, by the descriptors of protobuf-c. */
#include "io/text/codec.h"

/* Removes the fields in `remove` from the message that starts at offset `start` of the output. */
static void remove_fields(surg__tparse *t, const surg__desc *d, size_t start, uint64_t remove) {
  surg__buf *b = t->out;
  surg__tmsg m = {(const uint8_t *)b->p + start, b->n - start};
  surg__tfield f;
  char *to = b->p + start;
  const uint8_t *from = m.p;
  while (surg__text_next(&m, &f) > 0) {
    size_t n = (size_t)(m.p - from);
    if (!surg__text_known(d, &f) || !(remove & SURG__BIT(f.number))) {
      memmove(to, from, n);
      to += n;
    }
    from = m.p;
  }
  b->n = (size_t)(to - b->p);
  b->p[b->n] = 0;
}

/* Reports a singular field that is given twice, in the grammar form or in the block. */
static bool check_once(surg__tparse *t, const surg__desc *d, size_t start, const char *at) {
  surg__tmsg m = {(const uint8_t *)t->out->p + start, t->out->n - start};
  surg__tfield f;
  uint64_t seen = 0;
  while (surg__text_next(&m, &f) > 0) {
    const surg__fdesc *fd = surg__text_known(d, &f);
    if (!fd || fd->label == PROTOBUF_C_LABEL_REPEATED) continue;
    if (seen & SURG__BIT(f.number)) return surg__lex_error(t, at, "%s is given twice", fd->name);
    seen |= SURG__BIT(f.number);
  }
  return true;
}

/* Parses `1000:2: 0x6869`: a field by number and wire type, its payload as bytes. */
static bool unknown_entry(surg__tparse *t, const surg__desc *d) {
  int64_t number, wire;
  uint64_t v;
  const char *at = t->p;
  if (!surg__lex_i64(t, &number) || !surg__lex_expect(t, ':') || !surg__lex_i64(t, &wire) ||
      !surg__lex_expect(t, ':'))
    return false;
  if (number < 1 || number > 0x1fffffff) return surg__lex_error(t, at, "no number of a field");
  t->s.n = 0;
  if (!surg__lex_hex(t, &t->s)) return false;
  const uint8_t *p = (const uint8_t *)t->s.p;
  bool fits = wire == SURG__WIRE_BYTES || (wire == SURG__WIRE_64 && t->s.n == 8) ||
              (wire == SURG__WIRE_32 && t->s.n == 4) ||
              (wire == SURG__WIRE_VARINT && p && t->s.n &&
               surg__text_varint(p, t->s.n, &v) == t->s.n);
  if (!fits) return surg__lex_error(t, at, "the bytes do not fit the wire type");
  /* A known field given by number could contain bytes that are not a valid message. */
  const surg__fdesc *fd =
      surg__text_known(d, &(surg__tfield){.number = (uint32_t)number, .wire = (uint32_t)wire});
  if (fd) return surg__lex_error(t, at, "field %d is %s; write it so", (int)number, fd->name);
  surg__emit_tag(t, (uint32_t)number, (uint32_t)wire);
  if (wire == SURG__WIRE_BYTES) surg__emit_varint(t, t->s.n);
  surg__buf_put(t->out, t->s.p, t->s.n);
  return true;
}

static bool enum_value(surg__tparse *t, const surg__fdesc *fd, int64_t *v) {
  surg_str s;
  const ProtobufCEnumDescriptor *e = fd->descriptor;
  if (!surg__lex_at_ident(t)) return surg__lex_i64(t, v);
  if (!surg__lex_ident(t, &s)) return false;
  for (unsigned i = 0; i < e->n_values; i++) {
    if (!surg__text_word(s.p, s.n, e->values[i].name)) continue;
    *v = e->values[i].value;
    return true;
  }
  return surg__lex_error(t, s.p, "%s is not a valid %s", surg__qn(t->ctx, s.p, s.n), e->short_name);
}

/* Emits a number without a tag. */
static bool scalar(surg__tparse *t, const surg__fdesc *fd) {
  surg__num n;
  int64_t i;
  uint32_t f;
  uint64_t u;
  const char *at = t->p;
  if (fd->type == PROTOBUF_C_TYPE_ENUM) {
    if (!enum_value(t, fd, &i)) return false;
    if (i < INT32_MIN || i > INT32_MAX) return surg__lex_error(t, at, "out of range");
    surg__emit_varint(t, (uint64_t)i);
    return true;
  }
  if (!surg__lex_number(t, &n)) return false;
  switch (fd->type) {
    case PROTOBUF_C_TYPE_FLOAT:
      if (!surg__num_float(t, &n, &f)) return false;
      surg__emit_fixed32(t, f);
      return true;
    case PROTOBUF_C_TYPE_DOUBLE:
      if (!surg__num_double(t, &n, &u)) return false;
      surg__emit_fixed64(t, u);
      return true;
    case PROTOBUF_C_TYPE_UINT64:
      if (!surg__num_u64(t, &n, &u)) return false;
      surg__emit_varint(t, u);
      return true;
    default:
      if (!surg__num_i64(t, &n, &i)) return false;
      if (fd->type == PROTOBUF_C_TYPE_INT32 && (i < INT32_MIN || i > INT32_MAX))
        return surg__lex_error(t, n.at, "out of range of 32 bits");
      surg__emit_varint(t, (uint64_t)i);
      return true;
  }
}

static bool pair(surg__tparse *t) {
  size_t start = t->out->n;
  surg_str s;
  if (!surg__lex_string(t, &s)) return false;
  surg__emit_str(t, 1, s);
  if (!surg__lex_expect(t, ':') || !surg__lex_string(t, &s)) return false;
  surg__emit_str(t, 2, s);
  return surg__parse_suffix(t, &onnx__string_string_entry_proto__descriptor, start);
}

static bool message(surg__tparse *t, const surg__desc *d, uint32_t number) {
  size_t at;
  bool ok;
  if (!surg__emit_open(t, number, &at)) return false;
  if (surg__lex_peek(t) == '{')
    ok = surg__parse_block(t, d, at);
  else if (d == &onnx__string_string_entry_proto__descriptor)
    ok = pair(t);
  else if (d == &onnx__graph_proto__descriptor)
    ok = surg__parse_graph(t);
  else if (d == &onnx__type_proto__descriptor)
    ok = surg__parse_type(t);
  else if (d == &onnx__tensor_proto__descriptor)
    ok = surg__parse_tensor(t);
  else
    ok = surg__lex_expect(t, '{');
  if (ok) surg__emit_close(t, at);
  return ok;
}

static bool one_value(surg__tparse *t, const surg__fdesc *fd) {
  surg_str s;
  if (fd->type == PROTOBUF_C_TYPE_MESSAGE) return message(t, fd->descriptor, fd->id);
  if (surg__wire_of(fd->type) != SURG__WIRE_BYTES) {
    surg__emit_tag(t, fd->id, surg__wire_of(fd->type));
    return scalar(t, fd);
  }
  if (fd->type == PROTOBUF_C_TYPE_BYTES && surg__lex_at_hex(t)) {
    size_t at = surg__emit_open_bytes(t, fd->id);
    if (!surg__lex_hex(t, t->out)) return false;
    surg__emit_close_bytes(t, at);
    return true;
  }
  if (!surg__lex_string(t, &s)) return false;
  surg__emit_str(t, fd->id, s);
  return true;
}

static bool values(surg__tparse *t, const surg__fdesc *fd) {
  bool packed = fd->flags & PROTOBUF_C_FIELD_FLAG_PACKED;
  size_t at = 0;
  if (fd->label != PROTOBUF_C_LABEL_REPEATED) return one_value(t, fd);
  if (!surg__lex_expect(t, '[')) return false;
  if (surg__lex_match(t, ']')) return true;
  if (packed) at = surg__emit_open_bytes(t, fd->id);
  do {
    if (!(packed ? scalar(t, fd) : one_value(t, fd))) return false;
  } while (surg__lex_match(t, ','));
  if (packed) surg__emit_close_bytes(t, at);
  return surg__lex_expect(t, ']');
}

static const surg__fdesc *field_named(surg__tparse *t, const surg__desc *d) {
  surg_str s;
  if (!surg__lex_ident(t, &s)) return NULL;
  for (unsigned i = 0; i < d->n_fields; i++)
    if (surg__text_word(s.p, s.n, d->fields[i].name)) return &d->fields[i];
  surg__lex_error(t, s.p, "%s has no field %s", d->short_name, surg__qn(t->ctx, s.p, s.n));
  return NULL;
}

bool surg__parse_block(surg__tparse *t, const surg__desc *d, size_t start) {
  uint64_t remove = 0;
  const surg__fdesc *fd;
  const char *open = t->p;
  if (!surg__lex_expect(t, '{')) return false;
  while (!surg__lex_match(t, '}')) {
    char c = surg__lex_peek(t);
    if (c >= '0' && c <= '9') {
      if (!unknown_entry(t, d)) return false;
    } else {
      bool absent = surg__lex_match(t, '!');
      if (!(fd = field_named(t, d))) return false;
      if (absent)
        remove |= SURG__BIT(fd->id);
      else if (!surg__lex_expect(t, ':') || !values(t, fd))
        return false;
    }
    if (surg__lex_match(t, ',')) continue;
    if (surg__lex_expect(t, '}')) break;
    return false;
  }
  if (t->out->failed) return false;
  if (remove) remove_fields(t, d, start, remove);
  return check_once(t, d, start, open);
}

bool surg__parse_suffix(surg__tparse *t, const surg__desc *d, size_t start) {
  if (surg__lex_peek(t) != '@' || t->end - t->p < 2 || t->p[1] != '{') return true;
  t->p++;
  return surg__parse_block(t, d, start);
}

bool surg__parse_pairs(surg__tparse *t, uint32_t number) {
  if (!surg__lex_expect(t, '[')) return false;
  if (surg__lex_match(t, ']')) return true;
  do {
    if (!message(t, &onnx__string_string_entry_proto__descriptor, number)) return false;
  } while (surg__lex_match(t, ','));
  return surg__lex_expect(t, ']');
}
