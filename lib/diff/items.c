/* SPDX-License-Identifier: Apache-2.0 */
/* Items of a difference, and their texts. */
#include <stdarg.h>
#include <stdio.h>

#include <onnxsurg/names.h>

#include "diff/diff.h"

static surg_diff_item blank(surg_diff_kind kind, surg_diff_change change, surg_diff_level level) {
  return (surg_diff_item){.size = sizeof(surg_diff_item),
                          .kind = kind,
                          .change = change,
                          .level = level,
                          .where = {"", ""},
                          .what = "",
                          .text = {"", ""},
                          .note = "",
                          .cause = SURG_DIFF_NO_ITEM,
                          .region = SURG_DIFF_NO_ITEM};
}

const char *surg__diff_say(surg_diff *d, const char *fmt, ...) {
  va_list args, again;
  va_start(args, fmt);
  va_copy(again, args);
  const int n = vsnprintf(NULL, 0, fmt, args);
  char *out = n < 0 ? NULL : surg__arena_alloc(&d->arena, (size_t)n + 1);
  if (out) vsnprintf(out, (size_t)n + 1, fmt, again);
  va_end(again);
  va_end(args);
  if (!out) surg__diff_fail(d);
  return out ? out : "";
}

const char *surg__diff_quote(surg_diff *d, const char *s, size_t most) {
  surg__buf b;
  surg__buf_init(&b, d->ctx);
  surg__buf_putc(&b, '"');
  surg__buf_escape(&b, s, strlen(s), most);
  surg__buf_putc(&b, '"');
  const char *out = b.failed ? NULL : surg__arena_strn(&d->arena, b.p, b.n);
  surg__buf_free(&b);
  if (!out) surg__diff_fail(d);
  return out ? out : "";
}

void surg__diff_at_graph(surg_diff *d, surg_diff_item *x, int k, uint32_t graph) {
  surg__dgraph *g = &d->side[k].graphs.items[graph];
  if (!g->where) {
    const char *where = surg_graph_where(g->g);
    if (strcmp(where, "?") == 0) surg__diff_fail(d); /* no memory for the text */
    g->where = surg__diff_say(d, "%s", where);
  }
  x->where[k] = g->where;
}

void surg__diff_at_node(surg_diff *d, surg_diff_item *x, int k, const surg__dnode *n) {
  surg__buf b;
  surg__buf_init(&b, d->ctx);
  surg__diff_at_graph(d, x, k, n->graph);
  surg__buf_printf(&b, "%s.node[%u]", x->where[k], n->place);
  if (n->n->name[0]) {
    surg__buf_puts(&b, " \"");
    surg__buf_escape(&b, n->n->name, strlen(n->n->name), SURG_LIMIT_NAME_PRINT);
    surg__buf_putc(&b, '"');
  }
  surg__buf_puts(&b, " (");
  if (!surg__diff_standard(n->n->domain)) {
    surg__buf_escape(&b, n->n->domain, strlen(n->n->domain), SURG_LIMIT_NAME_PRINT);
    surg__buf_putc(&b, '.');
  }
  surg__buf_escape(&b, n->n->op_type, strlen(n->n->op_type), SURG_LIMIT_NAME_PRINT);
  surg__buf_putc(&b, ')');
  const char *text = b.failed ? NULL : surg__arena_strn(&d->arena, b.p, b.n);
  surg__buf_free(&b);
  if (!text) surg__diff_fail(d);
  x->where[k] = text ? text : "";
  x->node[k] = n->n;
}

void surg__diff_at_value(surg_diff *d, surg_diff_item *x, int k, const surg__dvalue *v) {
  surg__diff_at_graph(d, x, k, v->graph);
  x->where[k] = surg__diff_say(d, "%s value %s", x->where[k],
                               surg__diff_quote(d, v->v->name, SURG_LIMIT_NAME_PRINT));
  x->value[k] = v->v;
}

surg_diff_item *surg__diff_item(surg_diff *d, surg_diff_kind kind, surg_diff_change change,
                                surg_diff_level level) {
  const surg_diff_item x = blank(kind, change, level);
  if (surg__vec_push(d->ctx, &d->items, x)) return &d->items.items[d->items.count - 1];
  surg__diff_fail(d);
  d->scratch = x;
  return &d->scratch;
}

/* --- doc strings and metadata --- */

/* How texts of one kind of object are read. */
typedef struct reader {
  const char *(*doc)(const void *);
  size_t (*count)(const void *);
  const char *(*key)(const void *, size_t);
  const char *(*get)(const void *, const char *);
} reader;

#define READER(kind)                                              \
  static const char *kind##_doc(const void *o) {                  \
    return surg_##kind##_doc(o);                                  \
  }                                                               \
  static size_t kind##_count(const void *o) {                     \
    return surg_##kind##_metadata_count(o);                       \
  }                                                               \
  static const char *kind##_key(const void *o, size_t i) {        \
    return surg_##kind##_metadata_key(o, i);                      \
  }                                                               \
  static const char *kind##_get(const void *o, const char *key) { \
    return surg_##kind##_metadata(o, key);                        \
  }
READER(node)
READER(graph)
READER(value)
READER(function)

static const reader readers[] = {
    [SURG__ABOUT_NODE] = {node_doc, node_count, node_key, node_get},
    [SURG__ABOUT_GRAPH] = {graph_doc, graph_count, graph_key, graph_get},
    [SURG__ABOUT_VALUE] = {value_doc, value_count, value_key, value_get},
    [SURG__ABOUT_FUNCTION] = {function_doc, function_count, function_key, function_get}};
_Static_assert(SURG_COUNT(readers) == SURG__ABOUT_FUNCTION + 1, "one for each kind");

void surg__diff_texts(surg_diff *d, const char *what, const char *a, const char *b,
                      const surg__dnode *const n[2], const surg__dgraph *const g[2]) {
  const char *const text[2] = {a ? a : "", b ? b : ""};
  if (strcmp(text[0], text[1]) == 0) return;
  surg_diff_item *x = surg__diff_item(d, SURG_DIFF_TEXT, SURG_DIFF_CHANGED, SURG_DIFF_REMARK);
  x->what = what;
  for (int k = 0; k < 2; k++) {
    if (n)
      surg__diff_at_node(d, x, k, n[k]);
    else if (g)
      surg__diff_at_graph(d, x, k, (uint32_t)(g[k] - d->side[k].graphs.items));
    x->text[k] = surg__diff_quote(d, text[k], SURG__DIFF_SHOWN);
  }
}

void surg__diff_about(surg_diff *d, surg__about_kind kind, const void *const o[2],
                      const surg__dnode *const n[2], const surg__dgraph *const g[2]) {
  const reader *r = &readers[kind];
  const bool value = kind == SURG__ABOUT_VALUE;
  const char *of =
      value
          ? surg__diff_say(d, " of %s",
                           surg__diff_quote(d, ((const surg_value *)o[0])->name, SURG__DIFF_SHOWN))
          : "";
  surg__diff_texts(d, surg__diff_say(d, "doc_string%s", of), r->doc(o[0]), r->doc(o[1]), n, g);
  for (int k = 0; k < 2; k++)
    for (size_t i = 0; i < r->count(o[k]); i++) {
      const char *key = r->key(o[k], i), *a = r->get(o[0], key), *b = r->get(o[1], key);
      if (k && a) continue; /* compared already */
      surg__diff_texts(
          d, surg__diff_say(d, "metadata %s%s", surg__diff_quote(d, key, SURG__DIFF_SHOWN), of), a,
          b, n, g);
    }
}
