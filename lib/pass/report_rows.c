/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of reports: tables of passes, as text of 80 columns and as JSON. */
#include <math.h>
#include <string.h>

#include <onnxsurg/precision.h>

#include "base/json.h"
#include "pass/internal.h"

#define WIDTH 80u /* of a line of text */
#define INDENT 4u /* of a row */
#define GAP 2u    /* between columns */
#define COLUMNS 12u
#define NAME_WIDE 26u /* a longer first cell has a line of its own */
#define NUMBER 24     /* bytes of a number as text */

static void free_row(surg_context *ctx, surg__row *row) {
  for (size_t i = 0; row->cells && i < row->n; i++) surg__free(ctx, row->cells[i].text);
  surg__free(ctx, row->cells);
}

void surg__rows_free(surg_context *ctx, surg__pass_report *r) {
  for (size_t i = 0; i < r->rows.count; i++) free_row(ctx, &r->rows.items[i]);
  surg__vec_free(ctx, &r->rows);
}

static bool copy_row(surg_context *ctx, const char *table, const surg_cell *cells, size_t n,
                     surg__row *row) {
  *row = (surg__row){.table = table, .cells = surg__alloc(ctx, n * sizeof *row->cells)};
  if (!row->cells) return false;
  for (size_t i = 0; i < n; i++) {
    row->n = i + 1; /* those that have a value, for free_row */
    row->cells[i].name = cells[i].name;
    row->cells[i].number = cells[i].number;
    row->cells[i].text = cells[i].text ? surg__strdup(ctx, cells[i].text) : NULL;
    if (cells[i].text && !row->cells[i].text) return false;
  }
  return true;
}

void surg_pass_row(surg_pass_ctx *p, const char *table, const surg_cell *cells, size_t n) {
  if (!p || !table || !cells || n < 2 || n > COLUMNS) return;
  surg_context *ctx = p->run->ctx;
  surg__pass_report *r = &p->run->report->passes.items[p->report];
  surg__row row;
  if (r->n_rows++ >= SURG__NOTES) return;
  if (copy_row(ctx, table, cells, n, &row) && surg__vec_push(ctx, &r->rows, row)) return;
  free_row(ctx, &row);
  p->no_memory = true;
}

/* --- text --- */

/* A cell as text, in `room` if it is a number. */
static const char *cell_text(const surg__cell *c, char room[NUMBER]) {
  if (c->text) return c->text;
  if (isnan(c->number)) return "-";
  snprintf(room, NUMBER, "%.3g", c->number);
  return room;
}

static size_t width_of(const surg__pass_report *r, size_t from, size_t to, size_t column) {
  char room[NUMBER];
  size_t most = strlen(r->rows.items[from].cells[column].name);
  for (size_t i = from; i < to; i++) {
    const size_t n = strlen(cell_text(&r->rows.items[i].cells[column], room));
    if (n > most && (column || n <= NAME_WIDE)) most = n;
  }
  return most;
}

static void put_blanks(surg__buf *out, size_t n) {
  for (size_t i = 0; i < n; i++) surg__buf_putc(out, ' ');
}

/* Puts one line of columns; blanks at its end are left out. */
static void put_columns(surg__buf *out, const char *const *texts, const size_t *widths, size_t n) {
  size_t owed = INDENT;
  for (size_t k = 0; k < n; k++) {
    const size_t len = strlen(texts[k]);
    put_blanks(out, owed);
    if (k == 0)
      surg__buf_escape(out, texts[k], len, 0);
    else
      surg__buf_puts(out, texts[k]);
    owed = (len < widths[k] ? widths[k] - len : 0) + GAP;
    if (k == 0 && len > widths[0]) {
      surg__buf_putc(out, '\n');
      owed = INDENT + widths[0] + GAP;
    }
  }
  surg__buf_putc(out, '\n');
}

/* Puts text in lines of the width, broken at blanks. */
static void put_wrapped(surg__buf *out, const char *text) {
  const size_t indent = INDENT + GAP;
  for (size_t left = strlen(text); left > 0;) {
    size_t n = left;
    if (n > WIDTH - indent) {
      n = WIDTH - indent;
      while (n > 0 && text[n] != ' ') n--;
      if (n == 0) n = strcspn(text, " ");
    }
    put_blanks(out, indent);
    surg__buf_escape(out, text, n, 0);
    surg__buf_putc(out, '\n');
    text += n;
    left -= n;
    for (; left > 0 && *text == ' '; left--) text++;
  }
}

static void put_table(const surg__pass_report *r, size_t from, size_t to, surg__buf *out) {
  const surg__row *first = &r->rows.items[from];
  const size_t n = first->n - 1;
  size_t widths[COLUMNS];
  const char *texts[COLUMNS];
  char rooms[COLUMNS][NUMBER];
  for (size_t k = 0; k < n; k++) {
    widths[k] = width_of(r, from, to, k);
    texts[k] = first->cells[k].name;
  }
  surg__buf_printf(out, "  %s:\n", first->table);
  put_columns(out, texts, widths, n);
  for (size_t i = from; i < to; i++) {
    const surg__row *row = &r->rows.items[i];
    for (size_t k = 0; k < n; k++) texts[k] = cell_text(&row->cells[k], rooms[k]);
    put_columns(out, texts, widths, n);
    if (row->cells[n].text) put_wrapped(out, row->cells[n].text);
  }
}

/* The end of the rows that belong to the table of row `from`. */
static size_t table_end(const surg__pass_report *r, size_t from) {
  size_t to = from + 1;
  while (to < r->rows.count && strcmp(r->rows.items[to].table, r->rows.items[from].table) == 0 &&
         r->rows.items[to].n == r->rows.items[from].n)
    to++;
  return to;
}

void surg__rows_print(const surg__pass_report *r, surg__buf *out) {
  for (size_t from = 0, to; from < r->rows.count; from = to) {
    to = table_end(r, from);
    put_table(r, from, to, out);
  }
  if (r->n_rows > r->rows.count)
    surg__buf_printf(out, "    and %llu more\n", (unsigned long long)(r->n_rows - r->rows.count));
}

/* --- JSON --- */

static json_t *json_cell(surg_context *ctx, const surg__cell *c) {
  if (c->text) return surg__json_text(ctx, c->text);
  if (isnan(c->number)) return json_null();
  if (isinf(c->number)) return json_string(c->number > 0 ? "inf" : "-inf");
  return json_real(c->number);
}

void surg__rows_json(surg_context *ctx, const surg__pass_report *r, json_t *all) {
  json_t *tables = json_object();
  for (size_t i = 0; i < r->rows.count; i++) {
    const surg__row *row = &r->rows.items[i];
    json_t *list = json_object_get(tables, row->table), *one = json_object();
    if (!list) {
      list = json_array();
      json_object_set_new(tables, row->table, list);
    }
    for (size_t k = 0; k < row->n; k++)
      json_object_set_new(one, row->cells[k].name, json_cell(ctx, &row->cells[k]));
    json_array_append_new(list, one);
  }
  json_object_set_new(all, "tables", tables);
  json_object_set_new(all, "row_count", json_integer((json_int_t)r->n_rows));
}
