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

void cli_text_gap(cli_text *t, size_t start, size_t column) {
  do cli_text_putc(t, ' ');
  while (!t->failed && t->n - start < column);
}

void cli_text_wrap(cli_text *t, const char *text, size_t start, size_t indent) {
  size_t at = start;
  bool first = true;
  while (*text) {
    const size_t n = strcspn(text, " ");
    if (!first && at + 1 + n > CLI_WIDTH) {
      cli_text_printf(t, "\n%*s", (int)indent, "");
      at = indent;
      first = true;
    }
    if (!first) cli_text_putc(t, ' ');
    cli_text_put(t, text, n);
    at += n + !first;
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
