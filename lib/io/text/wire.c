/* SPDX-License-Identifier: Apache-2.0 */
/* ONNX text: reads wire messages in memory; keywords of the grammar. */
#include "io/text/codec.h"

size_t surg__text_varint(const uint8_t *p, size_t n, uint64_t *value) {
  uint64_t v = 0;
  for (size_t i = 0; i < n && i < 10; i++) {
    v |= (uint64_t)(p[i] & 0x7f) << (7 * i);
    if (p[i] & 0x80) continue;
    if (i == 9 && p[i] > 1) return 0;
    *value = v;
    return i + 1;
  }
  return 0;
}

static bool take(surg__tmsg *m, size_t n, surg__tmsg *out) {
  if (m->n < n) return false;
  *out = (surg__tmsg){m->p, n};
  m->p += n;
  m->n -= n;
  return true;
}

int surg__text_next(surg__tmsg *m, surg__tfield *f) {
  uint64_t tag, len;
  surg__tmsg skip;
  if (!m->n) return 0;
  size_t used = surg__text_varint(m->p, m->n, &tag);
  if (!used || tag > UINT32_MAX || !(tag >> 3)) return -1;
  (void)take(m, used, &skip);
  f->number = (uint32_t)(tag >> 3);
  f->wire = (uint32_t)(tag & 7);
  f->value = 0;
  switch (f->wire) {
    case SURG__WIRE_VARINT:
      used = surg__text_varint(m->p, m->n, &f->value);
      return used && take(m, used, &f->bytes) ? 1 : -1;
    case SURG__WIRE_64:
      if (!take(m, 8, &f->bytes)) return -1;
      f->value = surg__le64(f->bytes.p);
      return 1;
    case SURG__WIRE_32:
      if (!take(m, 4, &f->bytes)) return -1;
      f->value = surg__le32(f->bytes.p);
      return 1;
    case SURG__WIRE_BYTES:
      used = surg__text_varint(m->p, m->n, &len);
      if (!used || len > m->n - used) return -1;
      (void)take(m, used, &skip);
      return take(m, (size_t)len, &f->bytes) ? 1 : -1;
    default:
      return -1;
  }
}

const surg__fdesc *surg__text_known(const surg__desc *d, const surg__tfield *f) {
  if (f->number > 63) return NULL; /* ONNX has no such field; the masks have 64 bits */
  const surg__fdesc *fd = protobuf_c_message_descriptor_get_field(d, f->number);
  if (!fd) return NULL;
  if (f->wire == surg__wire_of(fd->type)) return fd;
  return f->wire == SURG__WIRE_BYTES && fd->label == PROTOBUF_C_LABEL_REPEATED ? fd : NULL;
}

static bool packed_ok(const surg__fdesc *fd, surg__tmsg m) {
  uint64_t v;
  uint32_t wire = surg__wire_of(fd->type);
  if (wire == SURG__WIRE_32) return m.n % 4 == 0;
  if (wire == SURG__WIRE_64) return m.n % 8 == 0;
  while (m.n) {
    size_t used = surg__text_varint(m.p, m.n, &v);
    if (!used) return false;
    m.p += used;
    m.n -= used;
  }
  return true;
}

const char *surg__text_check(const surg__desc *d, surg__tmsg m, uint32_t depth) {
  uint64_t seen = 0;
  surg__tfield f;
  int r;
  if (!depth) return "messages are nested too deeply";
  while ((r = surg__text_next(&m, &f)) > 0) {
    const surg__fdesc *fd = surg__text_known(d, &f);
    if (!fd || f.wire != SURG__WIRE_BYTES) continue;
    if (fd->type != PROTOBUF_C_TYPE_MESSAGE) {
      if (surg__wire_of(fd->type) != SURG__WIRE_BYTES && !packed_ok(fd, f.bytes))
        return "a packed list is malformed";
      continue;
    }
    if (fd->label != PROTOBUF_C_LABEL_REPEATED && (seen & SURG__BIT(f.number)))
      return "a message that may occur once occurs twice";
    seen |= SURG__BIT(f.number);
    const char *why = surg__text_check(fd->descriptor, f.bytes, depth - 1);
    if (why) return why;
  }
  return r < 0 ? "a field is malformed" : NULL;
}

bool surg__text_get(surg__tmsg m, uint32_t number, uint32_t wire, surg__tfield *f) {
  surg__tfield g;
  bool found = false;
  while (surg__text_next(&m, &g) > 0) {
    if (g.number != number || g.wire != wire) continue;
    *f = g;
    found = true;
  }
  return found;
}

uint64_t surg__text_seen(const surg__desc *d, surg__tmsg m, bool *unknown) {
  surg__tfield f;
  uint64_t seen = 0;
  *unknown = false;
  while (surg__text_next(&m, &f) > 0) {
    const surg__fdesc *fd = surg__text_known(d, &f);
    if (!fd)
      *unknown = true;
    else if (f.wire == surg__wire_of(fd->type) || f.bytes.n) /* an empty packed list has no
                                                              * entries */
      seen |= SURG__BIT(f.number);
  }
  return seen;
}

surg__tnums surg__text_nums(surg__tmsg m, const surg__desc *d, uint32_t number) {
  const surg__fdesc *fd = protobuf_c_message_descriptor_get_field(d, number);
  assert(fd);
  return (surg__tnums){.rest = m, .number = number, .wire = surg__wire_of(fd->type)};
}

bool surg__text_nums_next(surg__tnums *it, uint64_t *value) {
  surg__tfield f;
  while (!it->packed.n) {
    if (surg__text_next(&it->rest, &f) <= 0) return false;
    if (f.number != it->number) continue;
    if (f.wire == it->wire) {
      *value = f.value;
      return true;
    }
    if (f.wire == SURG__WIRE_BYTES) it->packed = f.bytes;
  }
  size_t used = 0;
  if (it->wire == SURG__WIRE_VARINT)
    used = surg__text_varint(it->packed.p, it->packed.n, value);
  else if (it->wire == SURG__WIRE_32 && it->packed.n >= 4)
    *value = surg__le32(it->packed.p), used = 4;
  else if (it->wire == SURG__WIRE_64 && it->packed.n >= 8)
    *value = surg__le64(it->packed.p), used = 8;
  it->packed.p += used;
  it->packed.n -= used;
  return used != 0;
}

/* --- keywords --- */

bool surg__text_is_ident(const char *s, size_t n) {
  for (size_t i = 0; i < n; i++)
    if (!surg__text_ident_char(s[i], i == 0)) return false;
  return n != 0;
}

bool surg__text_is_type_word(const char *s, size_t n) {
  static const char *const words[] = {"seq",    "map",        "optional",    "sparse_tensor",
                                      "opaque", "type_proto", "tensor_proto"};
  for (size_t i = 0; i < SURG_COUNT(words); i++)
    if (surg__text_word(s, n, words[i])) return true;
  return surg__dtype_from_name(s, n) != 0;
}

bool surg__text_reserved(const char *s, size_t n) {
  static const char *const floats[] = {"nan", "inf", "infinity"};
  for (size_t i = 0; i < SURG_COUNT(floats); i++)
    if (strlen(floats[i]) == n && strncasecmp(s, floats[i], n) == 0) return true;
  return surg__text_word(s, n, "raw") || surg__text_is_type_word(s, n);
}

/* By number of AttributeProto.AttributeType: the keyword, and the number of the value field. */
static const struct {
  const char *word;
  uint32_t field;
} kinds[] = {{NULL, 0},
             {"float", 2},
             {"int", 3},
             {"string", 4},
             {"tensor", 5},
             {"graph", 6},
             {"floats", 7},
             {"ints", 8},
             {"strings", 9},
             {"tensors", 10},
             {"graphs", 11},
             {"sparse_tensor", 22},
             {"sparse_tensors", 23},
             {"type_proto", 14},
             {"type_protos", 15}};

const char *surg__text_attr_kind(unsigned kind) {
  return kind < SURG_COUNT(kinds) ? kinds[kind].word : NULL;
}

uint32_t surg__text_attr_field(unsigned kind) {
  return kind < SURG_COUNT(kinds) ? kinds[kind].field : 0;
}

unsigned surg__text_attr_kind_of(const char *s, size_t n) {
  for (unsigned i = 1; i < SURG_COUNT(kinds); i++)
    if (surg__text_word(s, n, kinds[i].word)) return i;
  return 0;
}

uint32_t surg__text_list_field(int dtype) {
  switch (dtype) {
    case SURG_FLOAT:
    case SURG_COMPLEX64:
      return 4;
    case SURG_STRING:
      return 6;
    case SURG_INT64:
      return 7;
    case SURG_DOUBLE:
    case SURG_COMPLEX128:
      return 10;
    case SURG_UINT32:
    case SURG_UINT64:
      return 11;
    default:
      return dtype > 0 && dtype < SURG_DTYPE_COUNT ? 5 : 0;
  }
}
