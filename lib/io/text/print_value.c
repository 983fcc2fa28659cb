/* SPDX-License-Identifier: Apache-2.0 */
/* Printer of ONNX text: names, strings, numbers, and the `@{...}` blocks for content without a
 * form in the grammar. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "io/text/codec.h"

void surg__print_dropped(surg__tprint *p, const surg__desc *d, const surg__fdesc *fd,
                         const char *what, uint64_t n) {
  size_t i = 0;
  while (i < p->kinds && (p->dropped[i].field != fd || p->dropped[i].what != what ||
                          p->dropped[i].desc != d))
    i++;
  if (i == SURG__TEXT_KINDS) i--; /* the limit exceeds the number of fields in ONNX: unreachable */
  if (i == p->kinds) {
    p->dropped[i].desc = d;
    p->dropped[i].field = fd;
    p->dropped[i].what = what;
    p->dropped[i].count = 0;
    p->kinds++;
  }
  p->dropped[i].count += n;
}

void surg__print_indent(surg__tprint *p) {
  surg__buf_putc(p->out, '\n');
  for (unsigned i = 0; i < p->indent; i++) surg__buf_put(p->out, "  ", 2);
}

/* Length of a UTF-8 sequence that can be printed unescaped, or 0: no control characters, no
 * invisible or direction-changing marks. */
static size_t printable(const uint8_t *s, size_t n) {
  size_t len = s[0] < 0x80 ? 1 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;
  uint32_t c;
  if (len == 1) return s[0] >= 0x20 && s[0] != 0x7f;
  if (len > n || !surg__utf8_valid(s, len)) return 0;
  c = s[0] & (0xffu >> (len + 1));
  for (size_t i = 1; i < len; i++) c = c << 6 | (s[i] & 0x3f);
  if (c < 0xa0 || c == 0xad || (c >= 0x200b && c <= 0x200f) || (c >= 0x2028 && c <= 0x202e) ||
      (c >= 0x2060 && c <= 0x206f) || c == 0xfeff)
    return 0;
  return len;
}

void surg__print_quoted(surg__tprint *p, const uint8_t *s, size_t n) {
  surg__buf_putc(p->out, '"');
  for (size_t i = 0, from; i < n;) {
    from = i;
    while (i < n && s[i] != '"' && s[i] != '\\') {
      size_t len = p->strict ? 1 : printable(s + i, n - i);
      if (!len) break;
      i += len;
    }
    surg__buf_put(p->out, s + from, i - from);
    if (i == n) break;
    if (s[i] == '"' || s[i] == '\\')
      surg__buf_printf(p->out, "\\%c", s[i]);
    else if (s[i] == '\n' || s[i] == '\t')
      surg__buf_puts(p->out, s[i] == '\n' ? "\\n" : "\\t");
    else
      surg__buf_printf(p->out, "\\x%02x", s[i]);
    i++;
  }
  surg__buf_putc(p->out, '"');
}

void surg__print_ident(surg__tprint *p, surg__tmsg s) {
  if (surg__text_is_ident((const char *)s.p, s.n))
    surg__buf_put(p->out, s.p, s.n);
  else
    surg__print_quoted(p, s.p, s.n);
}

void surg__print_name(surg__tprint *p, surg__tmsg s) {
  if (surg__text_reserved((const char *)s.p, s.n))
    surg__print_quoted(p, s.p, s.n);
  else
    surg__print_ident(p, s);
}

void surg__print_word(surg__tprint *p, surg__tmsg s) {
  if (!p->strict || surg__text_is_ident((const char *)s.p, s.n)) {
    surg__print_ident(p, s);
    return;
  }
  surg__print_dropped(p, NULL, NULL, "names spelt as identifiers", 1);
  if (!s.n || !surg__text_ident_char((char)s.p[0], true)) surg__buf_putc(p->out, '_');
  for (size_t i = 0; i < s.n; i++)
    surg__buf_putc(p->out, surg__text_ident_char((char)s.p[i], false) ? (char)s.p[i] : '_');
}

/* --- numbers --- */

/* Prints a number so that a reader without a type recognises it as floating-point. */
static void put_float_text(surg__tprint *p, const char *text) {
  surg__buf_puts(p->out, text);
  if (!strpbrk(text, ".e")) surg__buf_puts(p->out, ".0");
}

static void put_nan(surg__tprint *p, bool negative, uint64_t bits, uint64_t plain, int digits) {
  if (negative) surg__buf_putc(p->out, '-');
  surg__buf_puts(p->out, "nan");
  if (bits == plain) return;
  if (p->strict)
    surg__print_dropped(p, NULL, NULL, "NaN without their bits", 1);
  else
    surg__buf_printf(p->out, ":0x%0*llx", digits, (unsigned long long)bits);
}

void surg__print_float(surg__tprint *p, uint32_t bits) {
  char text[40];
  float f, back;
  memcpy(&f, &bits, sizeof f);
  if (isnan(f)) {
    put_nan(p, bits >> 31, bits & 0x7fffffff, 0x7fc00000, 8);
  } else if (isinf(f)) {
    surg__buf_puts(p->out, f < 0 ? "-inf" : "inf");
  } else {
    for (int digits = 6; digits <= 9; digits++) {
      snprintf(text, sizeof text, "%.*g", digits, (double)f);
      back = strtof(text, NULL);
      if (back == f) break;
    }
    put_float_text(p, text);
  }
}

void surg__print_double(surg__tprint *p, uint64_t bits) {
  char text[40];
  double d;
  memcpy(&d, &bits, sizeof d);
  if (isnan(d)) {
    put_nan(p, bits >> 63, bits & INT64_MAX, UINT64_C(0x7ff8) << 48, 16);
  } else if (isinf(d)) {
    surg__buf_puts(p->out, d < 0 ? "-inf" : "inf");
  } else {
    for (int digits = 15; digits <= 17; digits++) {
      snprintf(text, sizeof text, "%.*g", digits, d);
      if (strtod(text, NULL) == d) break;
    }
    put_float_text(p, text);
  }
}

static void put_hex(surg__tprint *p, surg__tmsg m) {
  static const char digits[] = "0123456789abcdef";
  char part[512];
  surg__buf_puts(p->out, "0x");
  while (m.n && !p->out->failed) {
    size_t n = m.n < sizeof part / 2 ? m.n : sizeof part / 2;
    for (size_t i = 0; i < n; i++) {
      part[2 * i] = digits[m.p[i] >> 4];
      part[2 * i + 1] = digits[m.p[i] & 15];
    }
    surg__buf_put(p->out, part, 2 * n);
    m.p += n;
    m.n -= n;
  }
}

static void put_scalar(surg__tprint *p, const surg__fdesc *fd, uint64_t v) {
  const ProtobufCEnumValue *e;
  switch (fd->type) {
    case PROTOBUF_C_TYPE_FLOAT:
      surg__print_float(p, (uint32_t)v);
      break;
    case PROTOBUF_C_TYPE_DOUBLE:
      surg__print_double(p, v);
      break;
    case PROTOBUF_C_TYPE_UINT64:
      surg__buf_printf(p->out, "%llu", (unsigned long long)v);
      break;
    case PROTOBUF_C_TYPE_INT32:
      surg__buf_printf(p->out, "%d", (int)(int32_t)v);
      break;
    case PROTOBUF_C_TYPE_ENUM:
      e = protobuf_c_enum_descriptor_get_value(fd->descriptor, (int)(int32_t)v);
      if (e)
        surg__buf_puts(p->out, e->name);
      else
        surg__buf_printf(p->out, "%d", (int)(int32_t)v);
      break;
    default:
      assert(fd->type == PROTOBUF_C_TYPE_INT64); /* ONNX has no other scalars */
      surg__buf_printf(p->out, "%lld", (long long)v);
  }
}

void surg__print_list(surg__tprint *p, surg__tmsg m, const surg__desc *d, uint32_t number) {
  const surg__fdesc *fd = protobuf_c_message_descriptor_get_field(d, number);
  surg__tnums it = surg__text_nums(m, d, number);
  uint64_t v;
  for (bool first = true; surg__text_nums_next(&it, &v); first = false) {
    if (!first) surg__buf_put(p->out, ", ", 2);
    put_scalar(p, fd, v);
  }
}

/* --- blocks --- */

static void put_pair(surg__tprint *p, surg__tmsg m) {
  surg__tfield key = {0}, value = {0};
  uint64_t missing = 0;
  if (!surg__text_get(m, 1, SURG__WIRE_BYTES, &key)) missing |= SURG__BIT(1);
  if (!surg__text_get(m, 2, SURG__WIRE_BYTES, &value)) missing |= SURG__BIT(2);
  surg__print_quoted(p, key.bytes.p, key.bytes.n);
  surg__buf_put(p->out, ": ", 2);
  surg__print_quoted(p, value.bytes.p, value.bytes.n);
  surg__print_suffix(p, &onnx__string_string_entry_proto__descriptor, m,
                     SURG__BIT(1) | SURG__BIT(2), missing, false);
}

void surg__print_pairs(surg__tprint *p, surg__tmsg m, uint32_t number) {
  surg__tfield f;
  bool first = true;
  surg__buf_putc(p->out, '[');
  while (surg__text_next(&m, &f) > 0) {
    if (f.number != number || f.wire != SURG__WIRE_BYTES) continue;
    if (!first) surg__buf_put(p->out, ", ", 2);
    first = false;
    put_pair(p, f.bytes);
  }
  surg__buf_putc(p->out, ']');
}

static void put_message(surg__tprint *p, const surg__desc *d, surg__tmsg m) {
  if (d == &onnx__string_string_entry_proto__descriptor)
    put_pair(p, m);
  else if (d == &onnx__graph_proto__descriptor)
    surg__print_graph(p, m, true);
  else if (d == &onnx__type_proto__descriptor)
    surg__print_type(p, m);
  else if (d == &onnx__tensor_proto__descriptor)
    surg__print_tensor(p, m, false);
  else
    surg__print_block(p, d, m);
}

static void put_value(surg__tprint *p, const surg__desc *d, const surg__fdesc *fd,
                      const surg__tfield *f) {
  if (fd->type == PROTOBUF_C_TYPE_MESSAGE)
    put_message(p, fd->descriptor, f->bytes);
  else if (d == &onnx__tensor_proto__descriptor && fd->id == 9)
    put_hex(p, f->bytes);
  else if (f->wire == SURG__WIRE_BYTES)
    surg__print_quoted(p, f->bytes.p, f->bytes.n);
  else
    put_scalar(p, fd, f->value);
}

static void put_known(surg__tprint *p, const surg__desc *d, const surg__fdesc *fd, surg__tmsg m) {
  surg__tfield f, last = {0};
  bool repeated = fd->label == PROTOBUF_C_LABEL_REPEATED, first = true;
  surg__buf_printf(p->out, "%s: ", fd->name);
  if (repeated) surg__buf_putc(p->out, '[');
  if (repeated && surg__wire_of(fd->type) != SURG__WIRE_BYTES) {
    surg__print_list(p, m, d, fd->id);
  } else {
    while (surg__text_next(&m, &f) > 0) {
      if (f.number != fd->id || !surg__text_known(d, &f)) continue;
      last = f;
      if (!repeated) continue;
      if (!first) surg__buf_put(p->out, ", ", 2);
      first = false;
      put_value(p, d, fd, &f);
    }
    if (!repeated) put_value(p, d, fd, &last);
  }
  if (repeated) surg__buf_putc(p->out, ']');
}

/* Prints the entries of a block, separated by commas: all fields except `said`. */
static void put_entries(surg__tprint *p, const surg__desc *d, surg__tmsg m, uint64_t said,
                        uint64_t missing) {
  bool unknown;
  const char *sep = "";
  uint64_t rest = surg__text_seen(d, m, &unknown) & ~said;
  for (uint32_t i = 1; i < 64; i++) {
    if (!(missing & SURG__BIT(i))) continue;
    surg__buf_printf(p->out, "%s!%s", sep, protobuf_c_message_descriptor_get_field(d, i)->name);
    sep = ", ";
  }
  for (uint32_t i = 1; i < 64; i++) {
    if (!(rest & SURG__BIT(i))) continue;
    surg__buf_puts(p->out, sep);
    put_known(p, d, protobuf_c_message_descriptor_get_field(d, i), m);
    sep = ", ";
  }
  surg__tfield f;
  while (unknown && surg__text_next(&m, &f) > 0) {
    if (surg__text_known(d, &f)) continue;
    surg__buf_printf(p->out, "%s%u:%u: ", sep, (unsigned)f.number, (unsigned)f.wire);
    put_hex(p, f.bytes);
    sep = ", ";
  }
}

static void drop_entries(surg__tprint *p, const surg__desc *d, surg__tmsg m, uint64_t said) {
  surg__tfield f;
  while (surg__text_next(&m, &f) > 0) {
    const surg__fdesc *fd = surg__text_known(d, &f);
    if (!fd)
      surg__print_dropped(p, NULL, NULL, "unknown fields dropped", 1);
    else if (!(said & SURG__BIT(f.number)))
      surg__print_dropped(p, d, fd, NULL, 1);
  }
}

bool surg__print_needs_suffix(const surg__tprint *p, const surg__desc *d, surg__tmsg m,
                              uint64_t said, uint64_t missing) {
  bool unknown;
  return !p->strict && (missing || (surg__text_seen(d, m, &unknown) & ~said) || unknown);
}

void surg__print_suffix(surg__tprint *p, const surg__desc *d, surg__tmsg m, uint64_t said,
                        uint64_t missing, bool always) {
  if (p->strict) {
    drop_entries(p, d, m, said);
    return;
  }
  if (!always && !surg__print_needs_suffix(p, d, m, said, missing)) return;
  surg__buf_put(p->out, " @{", 3);
  put_entries(p, d, m, said, missing);
  surg__buf_putc(p->out, '}');
  p->suffix_end = p->out->n;
}

void surg__print_block(surg__tprint *p, const surg__desc *d, surg__tmsg m) {
  surg__buf_putc(p->out, '{');
  put_entries(p, d, m, 0, 0);
  surg__buf_putc(p->out, '}');
}
