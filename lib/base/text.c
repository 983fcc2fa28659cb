/* SPDX-License-Identifier: Apache-2.0 */
/* Growable text, escaping, UTF-8, nearest names, checked products. */
#include <onnxsurg/names.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/context.h"

void surg__buf_init(surg__buf *b, surg_context *ctx) {
  *b = (surg__buf){.ctx = ctx};
}

void surg__buf_free(surg__buf *b) {
  surg__free(b->ctx, b->p);
  *b = (surg__buf){.ctx = b->ctx};
}

surg_status surg__buf_give(surg__buf *b, char **text) {
  surg__buf_putc(b, 0);
  *text = b->failed ? NULL : b->p;
  if (*text) return SURG_OK;
  surg__buf_free(b);
  return surg__alloc_status(b->ctx);
}

/* Ensures room for n more bytes and a NUL. */
static bool room(surg__buf *b, size_t n) {
  size_t need;
  if (b->failed) return false;
  if (surg__add(b->n, n, &need) && surg__add(need, 1, &need) &&
      (need <= b->capacity || surg__vec_grow(b->ctx, (void **)&b->p, &b->capacity, need, 1)))
    return true;
  b->failed = true;
  return false;
}

void surg__buf_put(surg__buf *b, const void *p, size_t n) {
  if (!room(b, n)) return;
  if (n) memcpy(b->p + b->n, p, n);
  b->n += n;
  b->p[b->n] = 0;
}

void surg__buf_puts(surg__buf *b, const char *s) {
  surg__buf_put(b, s, strlen(s));
}

void surg__buf_putc(surg__buf *b, char c) {
  surg__buf_put(b, &c, 1);
}

static void buf_vprintf(surg__buf *b, const char *fmt, va_list args) {
  va_list again;
  va_copy(again, args);
  int n = vsnprintf(NULL, 0, fmt, again);
  va_end(again);
  if (n < 0 || !room(b, (size_t)n)) return;
  vsnprintf(b->p + b->n, (size_t)n + 1, fmt, args);
  b->n += (size_t)n;
}

void surg__buf_printf(surg__buf *b, const char *fmt, ...) {
  va_list args;
  va_start(args, fmt);
  buf_vprintf(b, fmt, args);
  va_end(args);
}

/* The length in bytes of the printable UTF-8 character at p; 0 for control characters and invalid
 * sequences. */
static size_t printable(const uint8_t *p, size_t n) {
  if (p[0] < 0x80) return p[0] >= 0x20 && p[0] != 0x7f;
  size_t k = p[0] >= 0xf0 ? 4 : p[0] >= 0xe0 ? 3 : 2;
  if (k > n || !surg__utf8_valid(p, k)) return 0;
  /* C1 controls, line separators and direction overrides can rewrite a terminal line. */
  if (k == 2 && p[0] == 0xc2 && p[1] < 0xa0) return 0;
  if (k == 3 && p[0] == 0xe2 && p[1] == 0x80 && p[2] >= 0xa8 && p[2] <= 0xae) return 0;
  if (k == 3 && p[0] == 0xe2 && p[1] == 0x81 && p[2] >= 0xa6 && p[2] <= 0xa9) return 0;
  return k;
}

/* The length of the escaped form of the byte c, written to out. */
static size_t escaped(uint8_t c, char out[5]) {
  const char *word = c == '\n'   ? "\\n"
                     : c == '\t' ? "\\t"
                     : c == '\\' ? "\\\\"
                     : c == '"'  ? "\\\""
                                 : NULL;
  return (size_t)(word ? snprintf(out, 5, "%s", word) : snprintf(out, 5, "\\x%02x", c));
}

/* The next piece of the escaped text: its length, and in *used the number of bytes of p it shows.
 * *piece points into p or to `room`. */
static size_t next_piece(const uint8_t *p, size_t n, char room[5], const char **piece,
                         size_t *used) {
  *used = printable(p, n);
  *piece = (const char *)p;
  if (*used && p[0] != '\\' && p[0] != '"') return *used;
  *used = 1;
  *piece = room;
  return escaped(p[0], room);
}

void surg__buf_escape(surg__buf *b, const char *s, size_t n, size_t max) {
  const uint8_t *p = (const uint8_t *)s;
  size_t end = max && n > max ? max : n, used;
  const char *piece;
  char room[5];
  for (size_t i = 0; i < end; i += used) {
    const size_t k = next_piece(p + i, n - i, room, &piece, &used);
    surg__buf_put(b, piece, k);
  }
  if (end < n) surg__buf_puts(b, "...");
}

/* Appends to a buffer of `room` bytes at `at` what fits; returns the length with all of it. */
static size_t append(char *out, size_t room, size_t at, const char *piece, size_t n) {
  if (at < room) memcpy(out + at, piece, n < room - at ? n : room - at);
  return at + n;
}

size_t surg_text_escape(const char *text, size_t n, size_t max, char *out, size_t room) {
  const uint8_t *p = (const uint8_t *)text;
  const size_t end = max && n > max ? max : n;
  size_t used, length = 0;
  const char *piece;
  char own[5];
  if (!out) room = 0;
  for (size_t i = 0; text && i < end; i += used) {
    const size_t k = next_piece(p + i, n - i, own, &piece, &used);
    length = append(out, room, length, piece, k);
  }
  if (text && end < n) length = append(out, room, length, "...", 3);
  if (room) out[length < room ? length : room - 1] = 0;
  return length;
}

void surg__buf_json(surg__buf *b, const char *s, size_t n) {
  const uint8_t *p = (const uint8_t *)s;
  surg__buf_putc(b, '"');
  for (size_t i = 0; i < n;) {
    size_t k = printable(p + i, n - i);
    if (k && p[i] != '\\' && p[i] != '"') {
      surg__buf_put(b, p + i, k);
      i += k;
      continue;
    }
    if (p[i] == '"' || p[i] == '\\') {
      surg__buf_putc(b, '\\');
      surg__buf_putc(b, (char)p[i]);
    } else {
      surg__buf_printf(b, "\\u%04x", p[i]);
    }
    i++;
  }
  surg__buf_putc(b, '"');
}

bool surg__utf8_valid(const uint8_t *p, size_t n) {
  for (size_t i = 0; i < n;) {
    uint8_t c = p[i];
    if (c < 0x80) {
      if (!c) return false;
      i++;
      continue;
    }
    size_t k = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : 2;
    if (c < 0xc2 || c > 0xf4 || k > n - i) return false;
    for (size_t j = 1; j < k; j++)
      if ((p[i + j] & 0xc0) != 0x80) return false;
    uint8_t d = p[i + 1];
    if ((c == 0xe0 && d < 0xa0) || (c == 0xed && d > 0x9f) || (c == 0xf0 && d < 0x90) ||
        (c == 0xf4 && d > 0x8f))
      return false;
    i += k;
  }
  return true;
}

bool surg__dims_product(const int64_t *dims, size_t rank, uint64_t *out) {
  bool zero = false;
  for (size_t i = 0; i < rank; i++) {
    if (dims[i] < 0) return false;
    zero |= dims[i] == 0;
  }
  int64_t n = 1;
  for (size_t i = 0; !zero && i < rank; i++)
    if (!surg__mul_i64(n, dims[i], &n)) return false;
  *out = zero ? 0 : (uint64_t)n;
  return true;
}

#define WORD 63 /* most characters of the parts of two words that differ */

/* Whether s is inside a UTF-8 character. */
static bool inside(const char *s) {
  return ((unsigned char)*s & 0xc0) == 0x80;
}

static size_t characters(const char *s) {
  size_t n = 0;
  for (; *s; s++) n += !inside(s);
  return n;
}

/* The characters of n bytes; a byte that starts none is one, too. Their number, or WORD + 1. */
static size_t decode(const char *s, size_t n, uint32_t out[WORD]) {
  size_t k = 0;
  for (size_t i = 0; i < n; k++) {
    if (k == WORD) return WORD + 1;
    out[k] = (unsigned char)s[i++];
    while (i < n && inside(s + i) && out[k] < 1u << 24)
      out[k] = out[k] << 8 | (unsigned char)s[i++];
  }
  return k;
}

/* The edit distance in characters, up to `limit`. Equal beginnings and ends change nothing in it;
 * names of exporters are long and differ at one place. */
static unsigned distance(const char *a, const char *b, unsigned limit) {
  uint32_t x[WORD], y[WORD];
  const char *start = a;
  while (*a && *a == *b) a++, b++;
  while (a > start && (inside(a) || inside(b))) a--, b--;
  size_t ends_a = strlen(a), ends_b = strlen(b);
  while (ends_a && ends_b && a[ends_a - 1] == b[ends_b - 1]) ends_a--, ends_b--;
  while (a[ends_a] && inside(a + ends_a)) ends_a++, ends_b++;
  const size_t na = decode(a, ends_a, x), nb = decode(b, ends_b, y);
  if (na > WORD || nb > WORD || (na > nb ? na - nb : nb - na) > limit) return limit + 1;
  unsigned rows[3][WORD + 1]; /* of x[0..i-2], x[0..i-1] and x[0..i] */
  for (size_t j = 0; j <= nb; j++) rows[0][j] = (unsigned)j;
  for (size_t i = 1; i <= na; i++) {
    unsigned *row = rows[i % 3];
    const unsigned *before = rows[(i - 1) % 3], *twice = rows[(i + 1) % 3];
    row[0] = (unsigned)i;
    for (size_t j = 1; j <= nb; j++) {
      unsigned best = before[j - 1] + (x[i - 1] != y[j - 1]);
      if (before[j] + 1 < best) best = before[j] + 1;
      if (row[j - 1] + 1 < best) best = row[j - 1] + 1;
      const bool swapped = i > 1 && j > 1 && x[i - 1] == y[j - 2] && x[i - 2] == y[j - 1];
      if (swapped && twice[j - 2] + 1 < best) best = twice[j - 2] + 1;
      row[j] = best;
    }
  }
  return rows[na % 3][nb];
}

/* Whether two words at a distance of d have more in common than their length; of single letters,
 * only case may differ. */
static bool resembles(const char *a, const char *b, unsigned d) {
  return d < characters(a) || d < characters(b) ||
         (!(a[0] && a[1]) && (a[0] ^ b[0]) == ('a' ^ 'A'));
}

static bool in_word(unsigned char c) {
  return c >= 0x80 || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Whether a name has the word as its beginning, end or middle: `Add_1` in `/encoder/Add_1`. */
static bool has_part(const char *name, const char *word) {
  const size_t n = strlen(word);
  for (const char *s = strstr(name, word); s; s = strstr(s + 1, word))
    if ((s == name || !in_word((unsigned char)s[-1])) && !in_word((unsigned char)s[n])) return true;
  return false;
}

/* The shortest name that has the word as a part. */
static const char *longer(const char *word, const void *list, size_t count, surg__name_at at) {
  const char *best = NULL;
  for (size_t i = 0; i < count; i++) {
    const char *name = at(list, i);
    if (!name || !has_part(name, word)) continue;
    if (!best || strlen(name) < strlen(best)) best = name;
  }
  return best;
}

const char *surg__nearest(const char *word, const void *list, size_t count, surg__name_at at) {
  const unsigned n = (unsigned)characters(word);
  unsigned limit = n < 4 ? 1 : 2 + n / 8;
  const char *best = NULL;
  for (size_t i = 0; i < count; i++) {
    const char *name = at(list, i);
    unsigned d = name ? distance(word, name, limit) : limit + 1;
    if (d > limit || (best && d == limit) || !resembles(word, name, d)) continue;
    best = name;
    limit = d;
  }
  return best || n < 2 ? best : longer(word, list, count, at);
}

const char *surg_nearest_name(const char *word, const void *list, size_t n, surg_name_fn at) {
  return word && at ? surg__nearest(word, list, n, at) : NULL;
}
