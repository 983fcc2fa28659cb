/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a scene in the language of Graphviz. */
#include "view/view.h"

#define POINTS 72.0 /* in an inch, the unit of sizes */

/* Appends text in quotes; in a label "\l" ends a line that is aligned at the left. */
static void put_quoted(surg__buf *b, const char *text) {
  for (const char *p = text; *p; p++) {
    if (*p == '"' || *p == '\\') surg__buf_putc(b, '\\');
    surg__buf_putc(b, *p);
  }
}

static void put_label(const surg__box *box, surg__buf *b) {
  surg__buf_puts(b, "label=\"");
  for (size_t i = 0; i < box->n_lines; i++) {
    if (!*box->lines[i].text) continue;
    put_quoted(b, box->lines[i].text);
    if (box->n_lines > 1) surg__buf_puts(b, "\\l");
  }
  surg__buf_putc(b, '"');
}

static const char *shape_of(const surg__box *b) {
  switch (b->kind) {
    case SURG__BOX_NODE:
      return "";
    case SURG__BOX_GROUP:
      return ", peripheries=2";
    case SURG__BOX_OUTER:
      return ", style=\"rounded,dashed\"";
    default:
      return ", style=\"rounded,filled\"";
  }
}

void surg__view_put_dot(surg__view *v, const surg__scene *s, bool sized, surg__buf *b) {
  surg__buf_puts(b, "digraph \"");
  put_quoted(b, v->o.title ? v->o.title : "");
  surg__buf_puts(b, "\" {\n");
  if (sized) {
    surg__buf_puts(b,
                   "  graph [ranksep=0.35, nodesep=0.3];\n"
                   "  node [shape=box, fixedsize=true, label=\"\"];\n"
                   "  edge [arrowhead=none, tailport=s, headport=n];\n");
  } else {
    surg__buf_puts(b,
                   "  node [shape=box, fontname=monospace, fontsize=10];\n"
                   "  edge [fontname=monospace, fontsize=9];\n");
  }
  for (size_t i = 0; i < s->lay.n; i++) {
    const surg__lay_box *l = &s->lay.boxes[i];
    const int32_t half = l->left > l->right ? l->left : l->right;
    surg__buf_printf(b, "  b%zu [", i);
    if (sized)
      surg__buf_printf(b, "width=%.4f, height=%.4f", 2.0 * half / POINTS,
                       (l->h + l->foot) / POINTS);
    else
      put_label(&s->boxes[i], b);
    surg__buf_printf(b, "%s];\n", sized ? "" : shape_of(&s->boxes[i]));
  }
  for (size_t i = 0; i < s->lay.m; i++) {
    const surg__lay_link *l = &s->lay.links[i];
    if (sized && l->cut) continue;
    surg__buf_printf(b, "  b%u -> b%u", l->from, l->to);
    const char *type = sized ? "" : surg__view_type(v, s->links[i].value, 0);
    if (*type) {
      surg__buf_puts(b, " [label=\"");
      put_quoted(b, type);
      surg__buf_puts(b, "\"]");
    }
    surg__buf_puts(b, ";\n");
  }
  surg__buf_puts(b, "}\n");
}
