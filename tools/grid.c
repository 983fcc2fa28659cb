/* SPDX-License-Identifier: Apache-2.0 */
/* See grid.h. */
#include "grid.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

static void give(cli_table *t, char *cell) {
  if (t->n == t->room) {
    const size_t room = t->room ? t->room * 2 : 64;
    char **cells = realloc(t->cells, room * sizeof *cells);
    if (!cells) {
      cli_text lost = {0};
      cli_text_fail(&lost);
      free(cell);
      return;
    }
    t->cells = cells;
    t->room = room;
  }
  t->cells[t->n++] = cell;
}

void cli_table_put(cli_table *t, const char *text) {
  cli_text copy = {0};
  if (text)
    cli_text_puts(&copy, text);
  else
    cli_text_fail(&copy);
  give(t, cli_text_give(&copy));
}

void cli_table_printf(cli_table *t, const char *fmt, ...) {
  char text[256];
  va_list args;
  va_start(args, fmt);
  vsnprintf(text, sizeof text, fmt, args);
  va_end(args);
  cli_table_put(t, text);
}

void cli_table_name(cli_table *t, const char *name, size_t columns) {
  cli_text all = {0}, cut = {0};
  cli_text_escape(&all, name, 0);
  const char *text = cli_text_of(&all);
  const size_t wide = cli_columns(text, strlen(text));
  if (!t->markdown && wide > columns) {
    text += cli_bytes_of_columns(text, strlen(text), wide - (columns - 3));
    cli_text_puts(&cut, "...");
  }
  cli_text_puts(&cut, text);
  give(t, cli_text_give(&cut));
  cli_text_free(&all);
}

static const char *title(const cli_table *t, size_t c) {
  return t->titles[c] + (t->titles[c][0] == '>');
}

static void put_cell(cli_text *b, const char *text, size_t wide, bool right) {
  const size_t n = cli_columns(text, strlen(text)), gap = wide > n ? wide - n : 0;
  if (right) cli_text_printf(b, "%*s", (int)gap, "");
  cli_text_puts(b, text);
  if (!right) cli_text_printf(b, "%*s", (int)gap, "");
}

static void put_row(cli_text *b, const cli_table *t, char **cells, const size_t *wide, size_t n) {
  const size_t start = b->n;
  for (size_t c = 0; c < n; c++) {
    const char *text = cells ? cells[c] : title(t, c);
    if (!text) text = "";
    if (!t->markdown) {
      if (c) cli_text_puts(b, "  ");
      put_cell(b, text, wide[c], t->titles[c][0] == '>');
      continue;
    }
    cli_text_puts(b, c ? " | " : "| ");
    for (const char *p = text; *p; p++) {
      if (*p == '|') cli_text_putc(b, '\\');
      cli_text_putc(b, *p);
    }
  }
  if (t->markdown) cli_text_puts(b, " |");
  while (b->n > start && b->p[b->n - 1] == ' ') cli_text_cut(b, b->n - 1);
  cli_text_putc(b, '\n');
}

void cli_table_print(cli_table *t) {
  size_t n = 0, wide[TABLE_COLUMNS];
  cli_text b = {0};
  for (; n < TABLE_COLUMNS && t->titles[n]; n++) wide[n] = strlen(title(t, n));
  for (size_t i = 0; i < t->n; i++) {
    const char *cell = t->cells[i] ? t->cells[i] : "";
    const size_t length = cli_columns(cell, strlen(cell));
    if (length > wide[i % n]) wide[i % n] = length;
  }
  put_row(&b, t, NULL, wide, n);
  if (t->markdown) {
    for (size_t c = 0; c < n; c++) {
      cli_text_puts(&b, c ? "|" : "|");
      cli_text_puts(&b, t->titles[c][0] == '>' ? "---:" : "---");
    }
    cli_text_puts(&b, "|\n");
  }
  for (size_t i = 0; i + n <= t->n; i += n) put_row(&b, t, t->cells + i, wide, n);
  cli_text_print(&b);
  cli_table_free(t);
}

void cli_table_free(cli_table *t) {
  for (size_t i = 0; i < t->n; i++) free(t->cells[i]);
  free(t->cells);
  t->cells = NULL;
  t->n = t->room = 0;
}
