/* SPDX-License-Identifier: Apache-2.0 */
/* Text that grows: lines and tables are built here before they are printed. */
#ifndef SURG_TOOLS_TEXT_H
#define SURG_TOOLS_TEXT_H

#include <stdbool.h>
#include <stddef.h>

/* A text, initially {0}. `failed`: memory ran out, which is permanent; cli_text_failed is then
 * true, too. */
typedef struct cli_text {
  char *p; /* NUL-terminated; NULL: empty */
  size_t n, room;
  bool failed;
} cli_text;

void cli_text_put(cli_text *t, const void *p, size_t n);
void cli_text_puts(cli_text *t, const char *s);
void cli_text_putc(cli_text *t, char c);
void cli_text_printf(cli_text *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Appends untrusted text, escaped; at most `max` bytes of it (0: all). */
void cli_text_escape(cli_text *t, const char *s, size_t max);
/* Appends a text of the library and frees it; `status` is that of the call that made it. */
#define cli_text_take(t, ctx, status, text)                             \
  ((status) == SURG_OK ? cli_text_puts((t), (text)) : cli_text_fail(t), \
   surg_context_free_bytes((ctx), (text)))
/* Appends a type as messages spell it. */
struct surg_context;
struct surg_type;
void cli_text_type(cli_text *t, struct surg_context *ctx, const struct surg_type *type);
/* Appends a JSON string. */
void cli_text_json_string(cli_text *t, const char *s);
/* Sets `failed`. */
void cli_text_fail(cli_text *t);
/* The text so far; "" if it is empty or memory ran out. */
const char *cli_text_of(const cli_text *t);
/* Shortens the text to its first n bytes. */
void cli_text_cut(cli_text *t, size_t n);
/* The columns of a terminal that n bytes of UTF-8 need. */
size_t cli_columns(const char *s, size_t n);
/* The same of a text; 0 if memory ran out. */
size_t cli_text_columns(const cli_text *t);
/* The bytes of the characters that fit into the columns. */
size_t cli_bytes_of_columns(const char *s, size_t n, size_t columns);
/* Appends blanks up to `column` of the line that begins at byte `start`, but at least one. */
void cli_text_gap(cli_text *t, size_t start, size_t column);
/* Appends `text` word-wrapped to CLI_WIDTH columns, with a final newline. The first line starts at
 * column `start`; the others are indented. */
#define CLI_WIDTH 80
void cli_text_wrap(cli_text *t, const char *text, size_t start, size_t indent);
/* Prints the text on standard output, unless memory ran out, and frees it. */
void cli_text_print(cli_text *t);
/* The text, for the caller to free; NULL: memory ran out. */
char *cli_text_give(cli_text *t);
void cli_text_free(cli_text *t);
/* Whether any text failed since the program started. */
bool cli_text_failed(void);

#endif
