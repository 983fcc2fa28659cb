/* SPDX-License-Identifier: Apache-2.0 */
/* The wire format of protocol buffers: tags, varints, fields. */
#include "io/wire.h"

/* Largest sizes in bytes: a tag is a varint of at most 32 bits, a value one of at most 64 bits. */
#define TAG_BYTES 5u
#define VARINT_BYTES 10u
#define GROUPS 100u /* groups in groups that are read */
#define WIRE_END 4u  /* wire type of the end of a group */

/* Reads a varint of at most `max` bytes from the n bytes at p: its length, or 0. */
static size_t get_varint(const uint8_t *p, size_t n, size_t max, uint64_t *out) {
  uint64_t v = 0;
  for (size_t i = 0; i < n && i < max; i++) {
    if (i == VARINT_BYTES - 1 && p[i] > 1) return 0; /* more than 64 bits */
    v |= (uint64_t)(p[i] & 0x7f) << (7 * i);
    if (!(p[i] & 0x80)) {
      *out = v;
      return i + 1;
    }
  }
  return 0;
}

size_t surg__varint_get(const uint8_t *p, size_t n, uint64_t *out) {
  return get_varint(p, n, VARINT_BYTES, out);
}

size_t surg__varint_size(uint64_t v) {
  size_t n = 1;
  while (v >= 0x80) {
    v >>= 7;
    n++;
  }
  return n;
}

size_t surg__varint_put(uint8_t *out, uint64_t v) {
  size_t n = 0;
  while (v >= 0x80) {
    out[n++] = (uint8_t)(v | 0x80);
    v >>= 7;
  }
  out[n++] = (uint8_t)v;
  return n;
}

/* Reads the value of a field after its tag. `at` is the offset of the value in the file, `n` the
 * number of bytes left in the message; `last`: the message ends at the end of the file. Returns
 * the encoded size, without the body of a length-delimited field; 0: invalid, with the reason in
 * *why. */
static size_t get_value(surg__field *f, const uint8_t *p, uint64_t at, uint64_t n, bool last,
                        const char **why) {
  size_t used;
  switch (f->wire) {
    case SURG__WIRE_VARINT:
      used = get_varint(p, n < VARINT_BYTES ? (size_t)n : VARINT_BYTES, VARINT_BYTES, &f->value);
      if (!used) *why = n < VARINT_BYTES ? "the file ends within a number" : "a number too long";
      return used;
    case SURG__WIRE_64:
      if (n < 8) break;
      f->value = surg__le64(p);
      return 8;
    case SURG__WIRE_32:
      if (n < 4) break;
      f->value = surg__le32(p);
      return 4;
    case SURG__WIRE_BYTES: {
      uint64_t len;
      used = get_varint(p, n < VARINT_BYTES ? (size_t)n : VARINT_BYTES, VARINT_BYTES, &len);
      if (!used) {
        *why = "its length is not a number";
        return 0;
      }
      if (len > n - used) {
        *why = last ? "its length exceeds the file, which is truncated or damaged"
                    : "its length exceeds the message that contains it";
        return 0;
      }
      f->body = (surg__span){at + used, len};
      return used;
    }
    default:
      break;
  }
  if (!*why)
    *why = f->wire == 3 || f->wire == 4 ? "a group, which ONNX does not have"
           : f->wire > 5                ? "a wire type that does not exist"
                                        : "a number past the end of its message";
  return 0;
}

/* Reads the field at `pos` from its first bytes, p. */
static int read_field(const surg__source *s, const uint8_t *p, uint64_t pos, uint64_t end,
                      surg__field *f, uint64_t *next, const char **why) {
  const uint64_t left = end - pos;
  *why = NULL;
  uint64_t tag;
  size_t used = get_varint(p, (size_t)(left < TAG_BYTES ? left : TAG_BYTES), TAG_BYTES, &tag);
  if (!used || tag > UINT32_MAX || tag >> 3 == 0) {
    *why = "no field starts here";
    return SURG_EINVALID;
  }
  *f = (surg__field){.number = (uint32_t)(tag >> 3), .wire = (uint32_t)(tag & 7), .off = pos};
  size_t more = get_value(f, p + used, pos + used, left - used, end == s->size, why);
  if (!more) return SURG_EINVALID;
  *next = pos + used + more + f->body.len;
  return 1;
}

/* The bytes of a field that tell where the next one is. */
static uint64_t head_of(uint64_t pos, uint64_t end) {
  return end - pos < TAG_BYTES + VARINT_BYTES ? end - pos : TAG_BYTES + VARINT_BYTES;
}

int surg__wire_read(surg__source *s, uint64_t pos, uint64_t end, surg__field *f, uint64_t *next,
                    const char **why) {
  assert(pos < end && end <= s->size);
  const uint8_t *head;
  const surg_status status = surg__source_peek(s, pos, head_of(pos, end), &head);
  return status != SURG_OK ? (int)status : read_field(s, head, pos, end, f, next, why);
}

/* As surg__wire_read, without an addition to the image. */
static int skim(surg__source *s, uint64_t pos, uint64_t end, surg__field *f, uint64_t *next,
                const char **why) {
  uint8_t head[TAG_BYTES + VARINT_BYTES];
  assert(pos < end && end <= s->size);
  const surg_status status = surg__source_read(s, pos, head, (size_t)head_of(pos, end));
  return status != SURG_OK ? (int)status : read_field(s, head, pos, end, f, next, why);
}

/* Whether reading a field failed because a tag of a group is there; *after: the offset after it. */
static bool is_group(surg__source *s, uint64_t pos, const surg__field *f, uint64_t end,
                     uint64_t *after) {
  const size_t n = (size_t)(end - pos < TAG_BYTES ? end - pos : TAG_BYTES);
  const uint8_t *p;
  uint64_t tag;
  if (f->wire != SURG__WIRE_GROUP && f->wire != WIRE_END) return false;
  if (surg__source_peek(s, pos, n, &p) != SURG_OK) return false;
  *after = pos + get_varint(p, n, TAG_BYTES, &tag);
  return true;
}

/* Finds the end of a group with the content at `pos`. */
static int end_group(surg__source *s, uint64_t pos, uint64_t end, surg__field *f, uint64_t *next,
                     const char **why) {
  uint32_t open[GROUPS];
  size_t depth = 0;
  const uint64_t from = pos;
  open[depth++] = f->number;
  while (pos < end) {
    surg__field in = {0};
    uint64_t after;
    const int r = surg__wire_read(s, pos, end, &in, &after, why);
    if (r == 1) {
      pos = after;
      continue;
    }
    if (r != SURG_EINVALID || !*why || !is_group(s, pos, &in, end, &after)) return r;
    if (in.wire == SURG__WIRE_GROUP ? depth == GROUPS : open[depth - 1] != in.number) break;
    if (in.wire == SURG__WIRE_GROUP) {
      open[depth++] = in.number;
    } else if (!--depth) {
      f->body = (surg__span){from, pos - from};
      *next = after;
      *why = NULL;
      return 1;
    }
    pos = after;
  }
  *why = "a group without its end";
  return SURG_EINVALID;
}

int surg__wire_read_any(surg__source *s, uint64_t pos, uint64_t end, surg__field *f, uint64_t *next,
                        const char **why) {
  uint64_t after;
  *f = (surg__field){0};
  const int r = surg__wire_read(s, pos, end, f, next, why);
  if (r != SURG_EINVALID || !*why || f->wire != SURG__WIRE_GROUP) return r;
  return is_group(s, pos, f, end, &after) ? end_group(s, after, end, f, next, why) : r;
}

int surg__wire_next(surg__cursor *c, surg__field *f) {
  if (c->pos >= c->end) return 0;
  const char *why = NULL;
  int r = c->skim && !c->src->resident
              ? skim(c->src, c->pos, c->end, f, &c->pos, &why)
              : surg__wire_read(c->src, c->pos, c->end, f, &c->pos, &why);
  if (r == SURG_EINVALID && why) return surg__wire_error(c->src, c->pos, why);
  return r;
}

uint32_t surg__wire_of(ProtobufCType type) {
  switch (type) {
    case PROTOBUF_C_TYPE_FIXED32:
    case PROTOBUF_C_TYPE_SFIXED32:
    case PROTOBUF_C_TYPE_FLOAT:
      return SURG__WIRE_32;
    case PROTOBUF_C_TYPE_FIXED64:
    case PROTOBUF_C_TYPE_SFIXED64:
    case PROTOBUF_C_TYPE_DOUBLE:
      return SURG__WIRE_64;
    case PROTOBUF_C_TYPE_STRING:
    case PROTOBUF_C_TYPE_BYTES:
    case PROTOBUF_C_TYPE_MESSAGE:
      return SURG__WIRE_BYTES;
    default:
      return SURG__WIRE_VARINT;
  }
}
