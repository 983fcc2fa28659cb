/* SPDX-License-Identifier: Apache-2.0 */
/* A difference as one HTML file, without scripts and references. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/os/os.h"
#include "diff_report.h"

static const char head[] =
    "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
    "<title>Difference</title>\n<style>\n"
    "body{font:14px/1.45 system-ui,sans-serif;margin:2em auto;max-width:72em;padding:0 1em}\n"
    "table{border-collapse:collapse;width:100%}\n"
    "td,th{border-top:1px solid #ccc;padding:.3em .6em;text-align:left;vertical-align:top;"
    "overflow-wrap:anywhere}\n"
    "td.w,td.t{font-family:ui-monospace,monospace;font-size:12px}\n"
    "tr.added td:first-child{background:#d8f3dc}tr.removed td:first-child{background:#fbd5d5}\n"
    "tr.changed td:first-child{background:#fff3c4}tr.name td,tr.remark td{color:#555}\n"
    "tr.implied td:nth-child(2){padding-left:2.2em}\n"
    "@media(prefers-color-scheme:dark){body{background:#181818;color:#ddd}td,th{border-color:#444}"
    "tr.added td:first-child{background:#1d4a2a}tr.removed td:first-child{background:#5a1f1f}"
    "tr.changed td:first-child{background:#554712}tr.name td,tr.remark td{color:#aaa}}\n"
    "</style></head><body>\n";

static void put_html(FILE *f, const char *s) {
  for (; *s; s++) switch (*s) {
      case '&':
        fputs("&amp;", f);
        break;
      case '<':
        fputs("&lt;", f);
        break;
      case '>':
        fputs("&gt;", f);
        break;
      case '"':
        fputs("&quot;", f);
        break;
      default:
        fputc(*s, f);
    }
}

static void put_path(FILE *f, const char *path) {
  char *escaped = cli_escaped(path, 0);
  if (escaped) put_html(f, escaped);
  free(escaped);
}

static void put_row(FILE *f, const surg_diff_item *x) {
  static const char *const changes[] = {"changed", "removed", "added"};
  const char *change = changes[x->change];
  fprintf(f, "<tr class=\"%s %s%s\"><td>%s</td><td class=\"w\">",
          *x->where[0] && *x->where[1] ? "changed" : change, diff_level_name(x->level),
          x->cause == SURG_DIFF_NO_ITEM ? "" : " implied", change);
  put_html(f, *x->where[0] ? x->where[0] : *x->where[1] ? x->where[1] : "model");
  if (*x->where[0] && *x->where[1] && strcmp(x->where[0], x->where[1]) != 0) {
    fputs(" &rarr; ", f);
    put_html(f, x->where[1]);
  }
  fprintf(f, "</td><td>%s ", diff_kind_name(x->kind));
  put_html(f, x->what);
  fputs("</td><td class=\"t\">", f);
  put_html(f, x->text[0]);
  fputs("</td><td class=\"t\">", f);
  put_html(f, x->text[1]);
  fputs("</td><td>", f);
  put_html(f, x->note);
  if (x->elements)
    fprintf(f, "%s%llu of %llu elements, max abs %.3g", *x->note ? "; " : "",
            (unsigned long long)x->differing, (unsigned long long)x->elements, x->max_abs);
  fputs("</td></tr>\n", f);
}

static void put_summary(FILE *f, const diff_view *v, const surg_diff_summary *s) {
  fputs("<h1>", f);
  put_path(f, v->paths[0]);
  fputs(" &rarr; ", f);
  put_path(f, v->paths[1]);
  fprintf(f,
          "</h1>\n<p><b>%s</b>. %llu edits, %llu names, %llu remarks, %llu not compared. Nodes: "
          "%llu &rarr; %llu, %llu in both. Weights: %llu &rarr; %llu, %llu in both.</p>\n",
          s->edits     ? "Different"
          : s->unknown ? "Unknown"
                       : "The same up to names",
          (unsigned long long)s->edits, (unsigned long long)s->names,
          (unsigned long long)s->remarks, (unsigned long long)s->unknown,
          (unsigned long long)s->nodes[0], (unsigned long long)s->nodes[1],
          (unsigned long long)s->paired_nodes, (unsigned long long)s->weights[0],
          (unsigned long long)s->weights[1], (unsigned long long)s->paired_weights);
}

static void put_page(FILE *f, const diff_view *v) {
  surg_diff_summary s = {.size = sizeof s};
  surg_diff_get(v->diff, &s);
  fputs(head, f);
  put_summary(f, v, &s);
  fputs(
      "<table><tr><th></th><th>where</th><th>what</th><th>before</th><th>after</th>"
      "<th></th></tr>\n",
      f);
  uint64_t shown = 0, hidden = 0;
  for (size_t i = 0;; i++) {
    surg_diff_item x = {.size = sizeof x};
    if (surg_diff_item_at(v->diff, i, &x) != SURG_OK) break;
    if (shown++ < v->most)
      put_row(f, &x);
    else
      hidden++;
  }
  fputs("</table>\n", f);
  if (hidden)
    fprintf(f, "<p>%llu more items are not listed (--most).</p>\n", (unsigned long long)hidden);
  fputs("</body></html>\n", f);
}

int diff_write_html(const diff_view *v, const char *path) {
  FILE *f = strcmp(path, "-") == 0 ? stdout : surg__os_fopen(path, "w");
  if (f) put_page(f, v);
  const bool failed = !f || ferror(f);
  const bool unclosed = f && f != stdout && fclose(f) != 0;
  if (!failed && !unclosed) return EXIT_DONE;
  cli_error(path, "cannot write: %s", strerror(errno));
  return EXIT_IO;
}
