/* SPDX-License-Identifier: Apache-2.0 */
/* Tables: aligned columns for terminals, or Markdown. */
#ifndef SURG_TOOLS_GRID_H
#define SURG_TOOLS_GRID_H

#include "text.h"

#define TABLE_COLUMNS 12u

/* A table, initialized with titles; a title that starts with '>' is that of a column of numbers,
 * which is aligned at the right. */
typedef struct cli_table {
  bool markdown;
  const char *titles[TABLE_COLUMNS]; /* NULL after the last one */
  char **cells;
  size_t n, room;
} cli_table;

/* Appends the next cell, row by row. `text` NULL: as if memory ran out. */
void cli_table_put(cli_table *t, const char *text);
void cli_table_printf(cli_table *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Appends a name, escaped; at most `columns` of it, the end, unless the table is Markdown. */
void cli_table_name(cli_table *t, const char *name, size_t columns);
/* Prints the table on standard output, and frees it. */
void cli_table_print(cli_table *t);
void cli_table_free(cli_table *t);

#endif
