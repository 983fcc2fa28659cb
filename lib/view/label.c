/* SPDX-License-Identifier: Apache-2.0 */
/* Texts and sizes of boxes. */
#include <math.h>
#include <stdlib.h>

#include "schema/schema.h"
#include "view/view.h"

#define TITLE_COLUMNS 32u
#define LINE_COLUMNS 30u   /* of a line of a box */
#define FORMAL_COLUMNS 14u /* of the name of an input */
#define LABEL_COLUMNS 30u  /* of a type under a box */
#define LABELS_WIDTH 480   /* of all labels under a box; without them beyond that */
#define LINES_MOST 7u      /* constants, and far inputs, of a box that are listed */
#define ELEMENTS_SHOWN 6u  /* elements of a constant that are listed */
#define LEAST_WIDTH 64
#define PADDING 10    /* at both sides of texts */
#define LABEL_GAP 14  /* between two labels of a box */
#define LABEL_ASIDE 4 /* from the start of a link to its label */
#define PORT 12       /* between the starts of links that have no labels */

/* ---- lines -------------------------------------------------------------------------------------
 */

/* Appends the elements of a small tensor; false: they cannot be listed. */
static bool put_elements(surg__buf *b, const surg_tensor *t) {
  int64_t ints[ELEMENTS_SHOWN];
  float floats[ELEMENTS_SHOWN];
  const uint64_t n = surg_tensor_count(t);
  size_t got;
  if (n > ELEMENTS_SHOWN || surg_tensor_is_sparse(t)) return false;
  const bool real = surg_tensor_dtype(t) == SURG_FLOAT;
  if (real ? surg_tensor_read_numbers(t, 0, floats, (size_t)n) != SURG_OK
           : surg_tensor_read_ints(t, ints, ELEMENTS_SHOWN, &got) != SURG_OK)
    return false;
  const bool list = surg_tensor_rank(t) > 0;
  if (surg_tensor_rank(t) > 1) return false;
  if (list) surg__buf_putc(b, '[');
  for (size_t i = 0; i < n; i++) {
    if (i) surg__buf_putc(b, ',');
    if (real)
      surg__buf_printf(b, "%g", (double)floats[i]);
    else if (surg_tensor_dtype(t) == SURG_BOOL)
      surg__buf_puts(b, ints[i] ? "true" : "false");
    else
      surg__buf_printf(b, "%lld", (long long)ints[i]);
  }
  if (list) surg__buf_putc(b, ']');
  return true;
}

static void put_formal(surg__view *v, surg__buf *b, const surg_node *n, size_t i) {
  const surg_schema *s = n ? surg_node_schema(n) : NULL;
  const surg__param *p = s ? surg__schema_formal(s, false, i) : NULL;
  if (!p)
    surg__buf_printf(b, "#%zu", i);
  else if (p->option == SURG__VARIADIC)
    surg__buf_printf(b, "%s#%zu", p->name, i);
  else
    surg__buf_puts(b, surg__view_cut(v, p->name, FORMAL_COLUMNS));
}

static void add_line(surg__view *v, surg__box *b, surg__line_kind kind, surg__buf *text,
                     const surg_value *value) {
  const char *all = surg__view_text(v, text);
  b->lines[b->n_lines++] = (surg__line){
      .text = all ? all : "", .value = value, .scene = VIEW_NONE, .kind = (uint8_t)kind};
}

static void add_note(surg__box *b, surg__line_kind kind, const char *text,
                     const surg_value *value) {
  b->lines[b->n_lines++] = (surg__line){
      .text = text ? text : "", .value = value, .scene = VIEW_NONE, .kind = (uint8_t)kind};
}

static const char *constant_text(surg__view *v, const surg_value *value) {
  surg__buf b;
  surg__buf_init(&b, v->ctx);
  const surg_tensor *t = surg_value_constant(value);
  if (t && (put_elements(&b, t) || b.failed)) return surg__view_text(v, &b);
  surg__buf_free(&b);
  if (!t) return surg__view_type(v, value, LINE_COLUMNS - FORMAL_COLUMNS / 2);
  surg__buf_init(&b, v->ctx);
  const char *type = surg_dtype_name(surg_tensor_dtype(t));
  surg__buf_printf(&b, "%s[", type ? type : "?");
  for (size_t i = 0; i < surg_tensor_rank(t); i++)
    surg__buf_printf(&b, "%s%lld", i ? "," : "", (long long)surg_tensor_dims(t)[i]);
  surg__buf_putc(&b, ']');
  return surg__view_text(v, &b);
}

static void add_more(surg__view *v, surg__box *b, size_t n, surg__line_kind kind) {
  surg__buf text;
  surg__buf_init(&text, v->ctx);
  surg__buf_printf(&text, "and %zu more", n);
  add_line(v, b, kind, &text, NULL);
}

static void add_constants(surg__view *v, surg__box *b) {
  size_t shown = 0, left = 0;
  for (size_t i = 0; i < surg_node_input_count(b->node); i++) {
    const surg_value *value = surg_node_input(b->node, i);
    if (!value || !surg__view_constant(value)) continue;
    if (shown == LINES_MOST) {
      left++;
      continue;
    }
    surg__buf text;
    const char *what = constant_text(v, value);
    surg__buf_init(&text, v->ctx);
    put_formal(v, &text, b->node, i);
    surg__buf_printf(&text, " %s", what ? what : "");
    add_line(v, b, SURG__LINE_CONSTANT, &text, value);
    shown++;
  }
  if (left) add_more(v, b, left, SURG__LINE_CONSTANT);
}

/* Links that are cut, by target. */
typedef struct cut_list {
  const surg__scene *s;
  uint32_t *links, *first; /* those of box i: links[first[i]] ... links[first[i + 1] - 1] */
} cut_list;

static bool list_cuts(surg__view *v, const surg__scene *s, cut_list *c) {
  c->s = s;
  c->first = surg__view_array(v, s->lay.n + 2, sizeof *c->first);
  c->links = surg__view_array(v, s->lay.m, sizeof *c->links);
  if (!c->first || !c->links) return false;
  uint32_t *at = c->first + 1;
  for (size_t i = 0; i < s->lay.m; i++) at[s->lay.links[i].to + 1] += s->lay.links[i].cut != 0;
  for (size_t i = 0; i < s->lay.n; i++) at[i + 1] += at[i];
  for (size_t i = 0; i < s->lay.m; i++)
    if (s->lay.links[i].cut) c->links[at[s->lay.links[i].to]++] = (uint32_t)i;
  return true;
}

static void add_far(surg__view *v, surg__box *b, const cut_list *c, size_t box) {
  const uint32_t first = c->first[box], n = c->first[box + 1] - first;
  for (uint32_t k = 0; k < n && k < LINES_MOST; k++) {
    const surg__scene_link *l = &c->s->links[c->links[first + k]];
    surg__buf text;
    surg__buf_init(&text, v->ctx);
    if (b->node && l->input != VIEW_NONE) {
      put_formal(v, &text, b->node, l->input);
      surg__buf_putc(&text, ' ');
    }
    surg__buf_puts(&text, "← ");
    surg__buf_puts(&text, l->value ? surg__view_cut(v, surg_value_name(l->value), 20)
                                   : c->s->boxes[c->s->lay.links[c->links[first + k]].from].name);
    add_line(v, b, SURG__LINE_FAR, &text, l->value);
  }
  if (n > LINES_MOST) add_more(v, b, n - LINES_MOST, SURG__LINE_FAR);
}

static void add_node_lines(surg__view *v, surg__box *b, const surg__line *inner, size_t n_inner) {
  const char *domain = surg_node_domain(b->node);
  add_note(b, SURG__LINE_TITLE, surg__view_cut(v, surg_node_op_type(b->node), TITLE_COLUMNS), NULL);
  if (*domain && strcmp(domain, "ai.onnx") != 0)
    add_note(b, SURG__LINE_NOTE, surg__view_cut(v, domain, LINE_COLUMNS), NULL);
  add_constants(v, b);
  for (size_t i = 0; i < n_inner; i++) b->lines[b->n_lines++] = inner[i];
}

static void add_value_lines(surg__view *v, surg__box *b) {
  add_note(b, SURG__LINE_TITLE, surg__view_cut(v, surg_value_name(b->value), TITLE_COLUMNS),
           b->value);
  add_note(b, SURG__LINE_NOTE, surg__view_type(v, b->value, LINE_COLUMNS), b->value);
  if (b->kind == SURG__BOX_INPUT && surg_value_is_initializer(b->value))
    add_note(b, SURG__LINE_NOTE, "has a default", b->value);
  if (b->kind == SURG__BOX_OUTPUT && surg__view_constant(b->value)) {
    surg__buf text;
    const char *what = constant_text(v, b->value);
    surg__buf_init(&text, v->ctx);
    surg__buf_printf(&text, "constant %s", what ? what : "");
    add_line(v, b, SURG__LINE_CONSTANT, &text, b->value);
  }
}

static void add_group_lines(surg__view *v, surg__box *b) {
  surg__buf text;
  add_note(b, SURG__LINE_TITLE, surg__view_cut(v, b->name, TITLE_COLUMNS), NULL);
  if (b->kind != SURG__BOX_GROUP) return; /* further values from outside */
  surg__buf_init(&text, v->ctx);
  surg__buf_printf(&text, "%s %zu nodes", b->scene == VIEW_NONE ? "▷" : "▶", b->nodes);
  add_line(v, b, SURG__LINE_INNER, &text, NULL);
  b->lines[b->n_lines - 1].scene = b->scene;
}

static bool make_lines(surg__view *v, surg__scene *s, const cut_list *c, size_t i) {
  surg__box *b = &s->boxes[i];
  const surg__line *inner = b->lines;
  const size_t n_inner = b->n_lines, most = 2 * (LINES_MOST + 1) + n_inner + 4;
  b->lines = surg__view_array(v, most, sizeof *b->lines);
  b->n_lines = 0;
  if (!b->lines) return false;
  if (b->node)
    add_node_lines(v, b, inner, n_inner);
  else if (b->value)
    add_value_lines(v, b);
  else
    add_group_lines(v, b);
  add_far(v, b, c, i);
  assert(b->n_lines <= most);
  return v->status == SURG_OK;
}

/* ---- sizes -------------------------------------------------------------------------------------
 */

static int32_t width_of(const char *text, bool title) {
  const double column = title ? VIEW_TITLE_COLUMN : VIEW_TEXT_COLUMN;
  return (int32_t)ceil(column * (double)surg__view_columns(text));
}

static void size_box(const surg__box *b, surg__lay_box *l) {
  int32_t w = LEAST_WIDTH - 2 * PADDING, h = 6;
  for (size_t i = 0; i < b->n_lines; i++) {
    const bool title = b->lines[i].kind == SURG__LINE_TITLE;
    const int32_t wide = width_of(b->lines[i].text, title);
    if (wide > w) w = wide;
    if (*b->lines[i].text) h += title ? VIEW_TITLE_LINE : VIEW_TEXT_LINE;
  }
  l->w = (w + 2 * PADDING + 1) / 2 * 2;
  l->h = b->n_lines > 1 ? h + 2 : h;
  l->left = l->right = l->w / 2;
  l->foot = 0;
}

/* Puts the labels of a box side by side, and widens it so that every link starts under it. */
static void size_labels(surg__box *b, surg__lay_box *l) {
  int32_t all = 0;
  for (size_t i = 0; i < b->n_labels; i++)
    all += width_of(b->labels[i].text, false) + LABEL_ASIDE + LABEL_GAP;
  const bool shown = all <= LABELS_WIDTH || b->n_labels == 1;
  if (b->n_labels == 1) {
    const int32_t right = LABEL_ASIDE + width_of(b->labels[0].text, false);
    if (right > l->right) l->right = right;
  } else if (b->n_labels) {
    int32_t at = 0, last = 0;
    for (size_t i = 0; i < b->n_labels; i++) {
      if (!shown) b->labels[i].text = "";
      b->labels[i].at = last = at;
      at += shown ? width_of(b->labels[i].text, false) + LABEL_ASIDE + LABEL_GAP : PORT;
    }
    for (size_t i = 0; i < b->n_labels; i++) b->labels[i].at -= last / 2;
    if (l->w < last + 2 * PADDING) l->w = (last + 2 * PADDING + 1) / 2 * 2;
    l->left = l->right = l->w / 2;
    if (at - last / 2 > l->right) l->right = at - last / 2;
  }
  for (size_t i = 0; i < b->n_labels; i++)
    if (*b->labels[i].text) l->foot = VIEW_FOOT;
}

/* Makes the labels of all boxes: one for each net that leaves one, in the order of links. */
static bool make_labels(surg__view *v, surg__scene *s) {
  surg__label *all = surg__view_array(v, s->lay.m, sizeof *all);
  if (!all) return false;
  for (size_t i = 0; i < s->lay.m; i++) {
    const surg__lay_link *l = &s->lay.links[i];
    surg__box *b = &s->boxes[l->from];
    if (!b->n_labels) b->labels = &all[i]; /* links of a box are adjacent */
    if (i && s->lay.links[i - 1].net == l->net) continue;
    const bool typed = b->kind == SURG__BOX_NODE || b->kind == SURG__BOX_GROUP;
    b->labels[b->n_labels++] =
        (surg__label){.text = typed ? surg__view_type(v, s->links[i].value, LABEL_COLUMNS) : "",
                      .value = s->links[i].value};
  }
  return v->status == SURG_OK;
}

bool surg__view_label(surg__view *v, surg__scene *s) {
  cut_list cuts;
  if (!list_cuts(v, s, &cuts) || !make_labels(v, s)) return false;
  for (size_t i = 0; i < s->lay.n; i++) {
    if (!make_lines(v, s, &cuts, i)) return false;
    size_box(&s->boxes[i], &s->lay.boxes[i]);
    size_labels(&s->boxes[i], &s->lay.boxes[i]);
  }
  uint32_t port = 0;
  for (size_t i = 0; i < s->lay.m; i++) {
    surg__lay_link *l = &s->lay.links[i];
    if (!i || s->lay.links[i - 1].from != l->from)
      port = 0;
    else if (s->lay.links[i - 1].net != l->net)
      port++;
    l->from_at = s->boxes[l->from].labels[port].at;
  }
  return true;
}
