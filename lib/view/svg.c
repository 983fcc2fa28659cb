/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a scene as SVG. */
#include "view/view.h"

#define TITLE_BASE 16 /* from the upper side of a box to the base line of its title */
#define TEXT_BASE 11  /* ... of a line */
#define INSET 10      /* of texts */

static void put_text(surg__buf *b, const char *text) {
  for (const char *p = text; *p; p++) {
    if (*p == '&')
      surg__buf_puts(b, "&amp;");
    else if (*p == '<')
      surg__buf_puts(b, "&lt;");
    else if (*p == '>')
      surg__buf_puts(b, "&gt;");
    else
      surg__buf_putc(b, *p);
  }
}

void surg__view_way(const surg__scene *s, size_t link, surg__buf *b) {
  if (s->ways && s->ways[link]) {
    surg__buf_puts(b, s->ways[link]);
    return;
  }
  const surg__lay_link *l = &s->lay.links[link];
  const surg__lay_point *p = s->lay.points + l->first;
  for (uint32_t i = 0; i < l->count; i++) {
    if (!i) {
      surg__buf_printf(b, "M%d %d", p[i].x, p[i].y);
    } else if (p[i].x == p[i - 1].x) {
      surg__buf_printf(b, "V%d", p[i].y);
    } else {
      const int32_t middle = p[i - 1].y + (p[i].y - p[i - 1].y) / 2;
      surg__buf_printf(b, "C%d %d %d %d %d %d", p[i - 1].x, middle, p[i].x, middle, p[i].x, p[i].y);
    }
  }
}

static void put_line(surg__buf *b, int32_t x, int32_t y, const char *class, const char *text) {
  surg__buf_printf(b, "<text class=\"%s\" x=\"%d\" y=\"%d\">", class, x, y);
  put_text(b, text);
  surg__buf_puts(b, "</text>");
}

static void put_box(surg__view *v, const surg__scene *s, size_t i, surg__buf *b) {
  static const char *const kinds[] = {[SURG__BOX_NODE] = "node",
                                      [SURG__BOX_INPUT] = "input",
                                      [SURG__BOX_OUTPUT] = "output",
                                      [SURG__BOX_OUTER] = "outer",
                                      [SURG__BOX_GROUP] = "group"};
  static const char *const lines[] = {[SURG__LINE_TITLE] = "t",
                                      [SURG__LINE_NOTE] = "note",
                                      [SURG__LINE_CONSTANT] = "constant",
                                      [SURG__LINE_INNER] = "inner",
                                      [SURG__LINE_FAR] = "far"};
  static const char *const marks[] = {
      [SURG_NOTE] = " unknown", [SURG_WARNING] = " warning", [SURG_ERROR] = " error"};
  const surg__box *box = &s->boxes[i];
  const surg__lay_box *l = &s->lay.boxes[i];
  const int32_t x = l->x - l->w / 2, y = l->y;
  const bool node = box->kind == SURG__BOX_NODE || box->kind == SURG__BOX_GROUP;
  surg__buf_printf(b, "<g class=\"%s f%d%s\">", kinds[box->kind], (int)box->family,
                   box->mark < 0 ? "" : marks[box->mark]);
  surg__buf_printf(b, "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"%d\"/>", x, y, l->w,
                   l->h, node ? 4 : 12);
  if (node && box->n_lines > 1)
    surg__buf_printf(b, "<path class=\"bar\" d=\"M%d %dV%da4 4 0 0 1 4 -4h%da4 4 0 0 1 4 4V%dz\"/>",
                     x, y + VIEW_TITLE_LINE + 3, y + 4, l->w - 8, y + VIEW_TITLE_LINE + 3);
  else if (node)
    surg__buf_printf(b,
                     "<rect class=\"bar\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"4\"/>",
                     x, y, l->w, l->h);
  int32_t at = y + 2;
  for (size_t k = 0; k < box->n_lines; k++) {
    const surg__line *line = &box->lines[k];
    const bool title = line->kind == SURG__LINE_TITLE;
    if (!*line->text) continue;
    put_line(b, x + INSET, at + (title ? TITLE_BASE : TEXT_BASE), lines[line->kind], line->text);
    at += title ? VIEW_TITLE_LINE + 1 : VIEW_TEXT_LINE;
  }
  for (size_t k = 0; k < box->n_labels; k++)
    if (*box->labels[k].text)
      put_line(b, l->x + box->labels[k].at + 4, y + l->h + TEXT_BASE, "label", box->labels[k].text);
  surg__buf_puts(b, "</g>\n");
  (void)v;
}

void surg__view_put_svg(surg__view *v, const surg__scene *s, surg__buf *b) {
  surg__buf_printf(b,
                   "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
                   "viewBox=\"0 0 %d %d\">\n<title>",
                   s->lay.width, s->lay.height, s->lay.width, s->lay.height);
  put_text(b, v->o.title ? v->o.title : "");
  surg__buf_puts(b, "</title>\n<style>\n");
  for (size_t i = 0; i < surg__view_style_count; i++) surg__buf_puts(b, surg__view_style[i]);
  surg__buf_puts(b,
                 "</style>\n<defs><marker id=\"arrow\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" "
                 "markerWidth=\"7\" markerHeight=\"7\" orient=\"auto\"><path class=\"tip\" "
                 "d=\"M0 1L8 4L0 7z\"/></marker></defs>\n"
                 "<rect class=\"paper\" width=\"100%\" height=\"100%\"/>\n");
  for (size_t i = 0; i < s->lay.m; i++) {
    const surg__lay_link *l = &s->lay.links[i];
    if (l->cut) continue;
    surg__buf_printf(b, "<path class=\"link\" data-from=\"%u\" data-to=\"%u\" d=\"", l->from,
                     l->to);
    surg__view_way(s, i, b);
    surg__buf_puts(b, "\" marker-end=\"url(#arrow)\"/>\n");
  }
  for (size_t i = 0; i < s->lay.n; i++) put_box(v, s, i, b);
  surg__buf_puts(b, "</svg>\n");
}
