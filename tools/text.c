/* SPDX-License-Identifier: Apache-2.0 */
/* Text that grows, escaping, word wrap. */
#include "cli.h"

#include <jansson.h>
#include <onnxsurg/names.h>
#include <onnxsurg/onnxsurg.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_ROOM 128u /* bytes */

static bool any_failed;

bool cli_text_failed(void) {
  return any_failed;
}

void cli_text_fail(cli_text *t) {
  t->failed = any_failed = true;
}

/* Ensures room for n more bytes and a NUL. */
static bool room(cli_text *t, size_t n) {
  if (t->failed) return false;
  if (n < t->room - t->n) return true;
  size_t want = t->room ? t->room : FIRST_ROOM;
  while (want - t->n <= n && want <= SIZE_MAX / 2) want *= 2;
  char *grown = want - t->n > n ? realloc(t->p, want) : NULL;
  if (!grown) {
    cli_text_fail(t);
    return false;
  }
  t->p = grown;
  t->room = want;
  return true;
}

void cli_text_put(cli_text *t, const void *p, size_t n) {
  if (!room(t, n)) return;
  if (n) memcpy(t->p + t->n, p, n);
  t->n += n;
  t->p[t->n] = 0;
}

void cli_text_puts(cli_text *t, const char *s) {
  cli_text_put(t, s, strlen(s));
}

void cli_text_putc(cli_text *t, char c) {
  cli_text_put(t, &c, 1);
}

void cli_text_printf(cli_text *t, const char *fmt, ...) {
  va_list args, again;
  va_start(args, fmt);
  va_copy(again, args);
  const int n = vsnprintf(NULL, 0, fmt, again);
  va_end(again);
  if (n >= 0 && room(t, (size_t)n)) {
    vsnprintf(t->p + t->n, (size_t)n + 1, fmt, args);
    t->n += (size_t)n;
  }
  va_end(args);
}

void cli_text_escape(cli_text *t, const char *s, size_t max) {
  const size_t n = strlen(s), length = surg_text_escape(s, n, max, NULL, 0);
  if (!room(t, length)) return;
  surg_text_escape(s, n, max, t->p + t->n, length + 1);
  t->n += length;
}

void cli_text_type(cli_text *t, surg_context *ctx, const surg_type *type) {
  char *text = NULL;
  const surg_status s = surg_type_text(ctx, type, &text);
  cli_text_take(t, ctx, s, text);
}

void cli_text_json_string(cli_text *t, const char *s) {
  size_t n = 0;
  while (s[n] >= ' ' && s[n] < 127 && s[n] != '"' && s[n] != '\\') n++;
  if (!s[n]) { /* plain, as nearly all names are */
    cli_text_putc(t, '"');
    cli_text_put(t, s, n);
    cli_text_putc(t, '"');
    return;
  }
  json_t *j = cli_text_json(s);
  char *text = j ? json_dumps(j, JSON_ENCODE_ANY) : NULL;
  if (text)
    cli_text_puts(t, text);
  else
    cli_text_fail(t);
  free(text);
  json_decref(j);
}

const char *cli_text_of(const cli_text *t) {
  return t->failed || !t->p ? "" : t->p;
}

void cli_text_cut(cli_text *t, size_t n) {
  if (n >= t->n) return; /* a text that failed is cut too: callers loop until it is short */
  t->n = n;
  t->p[n] = 0;
}

/* Reads the character at s, of at most n bytes, and returns its columns: most characters of East
 * Asian scripts and pictures have two, marks that are put on the letter before them none. */
static size_t columns_of(const char *s, size_t n, size_t *bytes) {
  static const struct {
    uint32_t first, last;
    size_t columns;
  } ranges[] = {{0x300, 0x36f, 0},   {0x200b, 0x200f, 0},   {0xfe00, 0xfe0f, 0},
                {0x1100, 0x115f, 2}, {0x2e80, 0xa4cf, 2},   {0xac00, 0xd7a3, 2},
                {0xf900, 0xfaff, 2}, {0xfe30, 0xfe6f, 2},   {0xff00, 0xff60, 2},
                {0xffe0, 0xffe6, 2}, {0x1f300, 0x1faff, 2}, {0x20000, 0x3fffd, 2}};
  const unsigned char c = (unsigned char)*s;
  uint32_t point = c < 0xc0 ? c : c < 0xe0 ? c & 0x1f : c < 0xf0 ? c & 0xf : c & 7;
  size_t k = 1;
  while (k < n && c >= 0xc0 && ((unsigned char)s[k] & 0xc0) == 0x80)
    point = point << 6 | ((unsigned char)s[k++] & 0x3f);
  *bytes = k;
  for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++)
    if (point >= ranges[i].first && point <= ranges[i].last) return ranges[i].columns;
  return 1;
}

size_t cli_columns(const char *s, size_t n) {
  size_t all = 0, bytes;
  for (size_t i = 0; i < n; i += bytes) all += columns_of(s + i, n - i, &bytes);
  return all;
}

size_t cli_bytes_of_columns(const char *s, size_t n, size_t columns) {
  size_t all = 0, bytes, i = 0;
  for (; i < n; i += bytes) {
    all += columns_of(s + i, n - i, &bytes);
    if (all > columns) return i;
  }
  return i;
}

size_t cli_text_columns(const cli_text *t) {
  return t->failed || !t->p ? 0 : cli_columns(t->p, t->n);
}

void cli_text_gap(cli_text *t, size_t start, size_t column) {
  size_t at = !t->failed && t->n > start ? cli_columns(t->p + start, t->n - start) : 0;
  do cli_text_putc(t, ' ');
  while (++at < column);
}

void cli_text_wrap(cli_text *t, const char *text, size_t start, size_t indent) {
  size_t at = start;
  bool first = true;
  while (*text) {
    const size_t n = strcspn(text, " "), wide = cli_columns(text, n);
    if (!first && at + 1 + wide > CLI_WIDTH) {
      cli_text_printf(t, "\n%*s", (int)indent, "");
      at = indent;
      first = true;
    }
    if (!first) cli_text_putc(t, ' ');
    cli_text_put(t, text, n);
    at += wide + !first;
    first = false;
    text += n;
    text += strspn(text, " ");
  }
  cli_text_putc(t, '\n');
}

void cli_text_print(cli_text *t) {
  if (t->n && !t->failed) fwrite(t->p, 1, t->n, stdout);
  cli_text_free(t);
}

char *cli_text_give(cli_text *t) {
  cli_text_putc(t, 0);
  char *p = t->failed ? NULL : t->p;
  if (p) *t = (cli_text){0};
  cli_text_free(t);
  return p;
}

void cli_text_free(cli_text *t) {
  free(t->p);
  *t = (cli_text){0};
}
