/* SPDX-License-Identifier: Apache-2.0 */
/* Lexer of ONNX text: blanks, identifiers, strings, numbers; and the output in wire format. The
 * text has a length; NUL is an ordinary character. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "io/text/codec.h"

bool surg__lex_error(surg__tparse *t, const char *at, const char *fmt, ...) {
  char text[400];
  size_t line = 1;
  va_list ap;
  if (t->status) return false;
  if (!at) {
    (void)surg__lex_peek(t);
    at = t->p;
  }
  const char *bol = t->start;
  for (const char *c = t->start; c < at; c++)
    if (*c == '\n') line++, bol = c + 1;
  va_start(ap, fmt);
  vsnprintf(text, sizeof text, fmt, ap);
  va_end(ap);
  surg__buf where;
  surg__buf_init(&where, t->ctx);
  surg__buf_printf(&where, "%s:%zu:%zu", t->name, line, (size_t)(at - bol) + 1);
  t->status = surg__error(t->ctx, SURG_EINVALID, where.failed ? t->name : where.p, "%s", text);
  surg__buf_free(&where);
  return false;
}

char surg__lex_skip(surg__tparse *t) {
  while (t->p < t->end) {
    char c = *t->p;
    if (c == '#')
      while (t->p < t->end && *t->p != '\n') t->p++;
    else if (c == ' ' || (c >= '\t' && c <= '\r'))
      t->p++;
    else
      return c;
  }
  return 0;
}

bool surg__lex_match(surg__tparse *t, char c) {
  if (surg__lex_peek(t) != c || t->p == t->end) return false;
  t->p++;
  return true;
}

/* The next token as text, for a message. */
static const char *here(surg__tparse *t) {
  size_t n = 0;
  (void)surg__lex_peek(t);
  if (t->p == t->end) return "the end";
  while (t->p + n < t->end && n < 24 && surg__text_ident_char(t->p[n], false)) n++;
  if (n || (unsigned char)*t->p < 0x80) return surg__qn(t->ctx, t->p, n ? n : 1);
  for (n = 1; t->p + n < t->end && ((unsigned char)t->p[n] & 0xc0) == 0x80;) n++;
  snprintf(t->found, sizeof t->found, "%s; names with such characters are written in quotes",
           surg__qn(t->ctx, t->p, n));
  return t->found;
}

bool surg__lex_expect(surg__tparse *t, char c) {
  if (surg__lex_match(t, c)) return true;
  if (t->status) return false;
  return surg__lex_error(t, NULL, "expected '%c', found %s", c, here(t));
}

bool surg__lex_arrow(surg__tparse *t) {
  (void)surg__lex_peek(t);
  if (t->end - t->p >= 2 && t->p[0] == '=' && t->p[1] == '>') {
    t->p += 2;
    return true;
  }
  return surg__lex_error(t, NULL, "expected '=>', found %s", here(t));
}

bool surg__lex_at_ident(surg__tparse *t) {
  return surg__text_ident_char(surg__lex_peek(t), true);
}

bool surg__lex_peek_ident(surg__tparse *t, surg_str *s) {
  if (!surg__lex_at_ident(t)) return false;
  *s = (surg_str){t->p, 1};
  while (s->p + s->n < t->end && surg__text_ident_char(s->p[s->n], false)) s->n++;
  return true;
}

bool surg__lex_ident(surg__tparse *t, surg_str *s) {
  if (!surg__lex_peek_ident(t, s))
    return surg__lex_error(t, NULL, "expected an identifier, found %s", here(t));
  t->p += s->n;
  return true;
}

static int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

/* Parses one escape; t->p is after the backslash. */
static bool escape(surg__tparse *t) {
  char c = *t->p++;
  if (c == 'n') c = '\n';
  if (c == 't') c = '\t';
  if (c == 'x') {
    int high = t->end - t->p >= 2 ? hex_digit(t->p[0]) : -1;
    int low = high >= 0 ? hex_digit(t->p[1]) : -1;
    if (low < 0) return surg__lex_error(t, t->p - 2, "\\x needs two hex digits");
    c = (char)(high << 4 | low);
    t->p += 2;
  }
  surg__buf_putc(&t->s, c);
  return true;
}

bool surg__lex_string(surg__tparse *t, surg_str *s) {
  if (surg__lex_peek(t) != '"' || t->p == t->end)
    return surg__lex_error(t, NULL, "expected a string, found %s", here(t));
  const char *open = t->p++;
  t->s.n = 0;
  for (;;) {
    const char *from = t->p;
    while (t->p < t->end && *t->p != '"' && *t->p != '\\') t->p++;
    surg__buf_put(&t->s, from, (size_t)(t->p - from));
    if (t->p == t->end || (*t->p == '\\' && t->p + 1 == t->end))
      return surg__lex_error(t, open, "the string does not end");
    if (*t->p++ == '"') break;
    if (!escape(t)) return false;
  }
  *s = (surg_str){t->s.p ? t->s.p : "", t->s.n};
  return !t->s.failed;
}

bool surg__lex_quotable(surg__tparse *t, surg_str *s, const char *what) {
  if (surg__lex_peek(t) == '"') return surg__lex_string(t, s);
  if (surg__lex_at_ident(t)) return surg__lex_ident(t, s);
  return surg__lex_error(t, NULL, "expected %s, found %s", what, here(t));
}

/* --- numbers --- */

bool surg__lex_at_hex(surg__tparse *t) {
  (void)surg__lex_peek(t);
  return t->end - t->p >= 2 && t->p[0] == '0' && t->p[1] == 'x';
}

bool surg__lex_hex(surg__tparse *t, surg__buf *to) {
  char part[256];
  size_t n = 0;
  if (!surg__lex_at_hex(t)) return surg__lex_error(t, NULL, "expected 0x and bytes in hex");
  for (t->p += 2; t->p < t->end && hex_digit(*t->p) >= 0; t->p += 2) {
    int low = t->end - t->p >= 2 ? hex_digit(t->p[1]) : -1;
    if (low < 0) return surg__lex_error(t, NULL, "bytes in hex need two digits each");
    part[n++] = (char)(hex_digit(t->p[0]) << 4 | low);
    if (n < sizeof part) continue;
    surg__buf_put(to, part, n);
    n = 0;
  }
  surg__buf_put(to, part, n);
  return !to->failed;
}

static bool float_word(surg__tparse *t, surg_str *s) {
  return surg__lex_peek_ident(t, s) &&
         ((s->n == 3 && (strncasecmp(s->p, "nan", 3) == 0 || strncasecmp(s->p, "inf", 3) == 0)) ||
          (s->n == 8 && strncasecmp(s->p, "infinity", 8) == 0));
}

bool surg__lex_at_number(surg__tparse *t) {
  surg_str s;
  char c = surg__lex_peek(t);
  return c == '-' || (c >= '0' && c <= '9') || float_word(t, &s);
}

static bool word_number(surg__tparse *t, surg__num *v) {
  surg_str s;
  if (!float_word(t, &s)) return surg__lex_error(t, NULL, "expected a number, found %s", here(t));
  t->p += s.n;
  v->kind = SURG__NUM_FLOAT;
  if (s.p[0] != 'n' && s.p[0] != 'N') return true;
  v->kind = SURG__NUM_NAN;
  v->bits = 0;
  if (t->end - t->p < 3 || memcmp(t->p, ":0x", 3) != 0) return true;
  t->p += 3;
  const char *from = t->p;
  while (t->p < t->end && hex_digit(*t->p) >= 0 && t->p - from <= 16)
    v->bits = v->bits << 4 | (unsigned)hex_digit(*t->p++);
  if (t->p == from || t->p - from > 16 || !v->bits)
    return surg__lex_error(t, from, "not the bits of a NaN");
  return true;
}

static void digits(surg__tparse *t, bool hex) {
  while (t->p < t->end && ((*t->p >= '0' && *t->p <= '9') || (hex && hex_digit(*t->p) >= 0)))
    t->p++;
}

static bool fraction(surg__tparse *t, bool hex) {
  const char *from = t->p;
  if (t->p < t->end && *t->p == '.') {
    t->p++;
    digits(t, hex);
  }
  char e = t->p < t->end ? *t->p : 0;
  if (hex ? e == 'p' || e == 'P' : e == 'e' || e == 'E') {
    t->p++;
    if (t->p < t->end && (*t->p == '+' || *t->p == '-')) t->p++;
    digits(t, false);
  }
  return t->p != from;
}

bool surg__lex_number(surg__tparse *t, surg__num *v) {
  (void)surg__lex_peek(t);
  *v = (surg__num){.kind = SURG__NUM_INT, .at = t->p};
  if (surg__lex_match(t, '-')) v->negative = true;
  if (!(surg__lex_peek(t) >= '0' && surg__lex_peek(t) <= '9')) {
    if (!word_number(t, v)) return false;
  } else {
    bool hex = surg__lex_at_hex(t), over = false;
    if (hex) t->p += 2;
    const char *from = t->p;
    digits(t, hex);
    const char *to = t->p;
    if (fraction(t, hex)) {
      v->kind = SURG__NUM_FLOAT;
    } else if (hex) {
      return surg__lex_error(t, v->at, "a hex number here is a float: 0x1.8p3");
    } else {
      for (const char *c = from; c < to; c++)
        over |= __builtin_mul_overflow(v->magnitude, 10u, &v->magnitude) ||
                __builtin_add_overflow(v->magnitude, (unsigned)(*c - '0'), &v->magnitude);
      if (over) v->kind = SURG__NUM_FLOAT; /* valid as a float; integer readers report it */
    }
  }
  v->n = (size_t)(t->p - v->at);
  return true;
}

bool surg__num_i64(surg__tparse *t, const surg__num *v, int64_t *out) {
  if (v->kind != SURG__NUM_INT) return surg__lex_error(t, v->at, "expected an integer");
  if (v->magnitude > (uint64_t)INT64_MAX + v->negative)
    return surg__lex_error(t, v->at, "the integer is out of range");
  *out = (int64_t)(v->negative ? 0 - v->magnitude : v->magnitude);
  return true;
}

bool surg__num_u64(surg__tparse *t, const surg__num *v, uint64_t *out) {
  if (v->kind != SURG__NUM_INT) return surg__lex_error(t, v->at, "expected an integer");
  if (v->negative && v->magnitude) return surg__lex_error(t, v->at, "the integer is out of range");
  *out = v->magnitude;
  return true;
}

/* The text of a number, NUL-terminated, without blanks after the sign. */
static const char *number_text(surg__tparse *t, const surg__num *v, char *text, size_t cap) {
  size_t n = 0;
  for (size_t i = 0; i < v->n; i++) {
    char c = v->at[i];
    if (c == ' ' || (c >= '\t' && c <= '\r')) continue;
    if (n + 1 == cap) {
      surg__lex_error(t, v->at, "the number has too many digits");
      return NULL;
    }
    text[n++] = c;
  }
  text[n] = 0;
  return text;
}

bool surg__num_float(surg__tparse *t, const surg__num *v, uint32_t *bits) {
  char text[512];
  float f;
  if (v->kind == SURG__NUM_NAN) {
    uint64_t b = v->bits ? v->bits : 0x7fc00000;
    if (b > 0x7fffffff || b <= 0x7f800000)
      return surg__lex_error(t, v->at, "not the bits of a NaN of 32 bits without its sign");
    *bits = (uint32_t)b | (v->negative ? UINT32_C(1) << 31 : 0);
    return true;
  }
  if (!number_text(t, v, text, sizeof text)) return false;
  errno = 0;
  f = strtof(text, NULL);
  if (errno == ERANGE && (f > 1 || f < -1))
    return surg__lex_error(t, v->at, "the number is out of range");
  memcpy(bits, &f, sizeof *bits);
  return true;
}

bool surg__num_double(surg__tparse *t, const surg__num *v, uint64_t *bits) {
  char text[512];
  double d;
  if (v->kind == SURG__NUM_NAN) {
    uint64_t b = v->bits ? v->bits : UINT64_C(0x7ff8) << 48;
    if (b > INT64_MAX || b <= UINT64_C(0x7ff0) << 48)
      return surg__lex_error(t, v->at, "not the bits of a NaN of 64 bits without its sign");
    *bits = b | (v->negative ? UINT64_C(1) << 63 : 0);
    return true;
  }
  if (!number_text(t, v, text, sizeof text)) return false;
  errno = 0;
  d = strtod(text, NULL);
  if (errno == ERANGE && (d > 1 || d < -1))
    return surg__lex_error(t, v->at, "the number is out of range");
  memcpy(bits, &d, sizeof *bits);
  return true;
}

bool surg__lex_i64(surg__tparse *t, int64_t *out) {
  surg__num v;
  return surg__lex_number(t, &v) && surg__num_i64(t, &v, out);
}

/* --- output in wire format --- */

void surg__emit_varint(surg__tparse *t, uint64_t v) {
  uint8_t b[10];
  size_t n = 0;
  do {
    b[n++] = (uint8_t)((v & 0x7f) | (v > 0x7f ? 0x80 : 0));
    v >>= 7;
  } while (v);
  surg__buf_put(t->out, b, n);
}

void surg__emit_tag(surg__tparse *t, uint32_t number, uint32_t wire) {
  surg__emit_varint(t, (uint64_t)number << 3 | wire);
}

void surg__emit_int(surg__tparse *t, uint32_t number, int64_t v) {
  surg__emit_tag(t, number, SURG__WIRE_VARINT);
  surg__emit_varint(t, (uint64_t)v);
}

void surg__emit_fixed32(surg__tparse *t, uint32_t v) {
  const uint8_t b[4] = {(uint8_t)v, (uint8_t)(v >> 8), (uint8_t)(v >> 16), (uint8_t)(v >> 24)};
  surg__buf_put(t->out, b, sizeof b);
}

void surg__emit_fixed64(surg__tparse *t, uint64_t v) {
  surg__emit_fixed32(t, (uint32_t)v);
  surg__emit_fixed32(t, (uint32_t)(v >> 32));
}

void surg__emit_str(surg__tparse *t, uint32_t number, surg_str s) {
  surg__emit_tag(t, number, SURG__WIRE_BYTES);
  surg__emit_varint(t, s.n);
  surg__buf_put(t->out, s.p, s.n);
}

size_t surg__emit_open_bytes(surg__tparse *t, uint32_t number) {
  surg__emit_tag(t, number, SURG__WIRE_BYTES);
  surg__buf_putc(t->out, 0);
  return t->out->n;
}

void surg__emit_close_bytes(surg__tparse *t, size_t at) {
  surg__buf *b = t->out;
  uint8_t len[10];
  size_t n = 0;
  if (b->failed) return;
  size_t size = b->n - at;
  for (size_t v = size;; v >>= 7) {
    len[n++] = (uint8_t)((v & 0x7f) | (v > 0x7f ? 0x80 : 0));
    if (v <= 0x7f) break;
  }
  /* One byte is reserved for the length; a longer length moves the bytes after it. */
  surg__buf_put(b, len, n - 1);
  if (b->failed) return;
  if (n > 1) memmove(b->p + at + n - 1, b->p + at, size);
  memcpy(b->p + at - 1, len, n);
}

bool surg__emit_open(surg__tparse *t, uint32_t number, size_t *at) {
  if (t->depth >= SURG_LIMIT_DEPTH)
    return surg__lex_error(t, NULL, "nested more than %u deep", SURG_LIMIT_DEPTH);
  t->depth++;
  *at = surg__emit_open_bytes(t, number);
  return !t->out->failed;
}

void surg__emit_close(surg__tparse *t, size_t at) {
  t->depth--;
  surg__emit_close_bytes(t, at);
}
