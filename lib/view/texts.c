/* SPDX-License-Identifier: Apache-2.0 */
/* Texts of boxes: names, types, attributes and constants, cut to a width. */
#include <onnxsurg/names.h>
#include <stdlib.h>

#include "view/view.h"

#define LIST_SHOWN 8   /* elements of a list */
#define TEXT_SHOWN 60u /* bytes of a string */

void *surg__view_array(surg__view *v, size_t count, size_t size) {
  void *p = surg__arena_array(&v->arena, count ? count : 1, size);
  if (!p && v->status == SURG_OK) v->status = surg__alloc_status(v->ctx);
  return p;
}

char *surg__view_text(surg__view *v, surg__buf *b) {
  char *text = b->failed ? NULL : surg__arena_strn(&v->arena, b->p ? b->p : "", b->n);
  if (!text && v->status == SURG_OK) v->status = surg__alloc_status(v->ctx);
  surg__buf_free(b);
  return text;
}

/* Length in bytes of the character at p, whose text is valid UTF-8, and its columns. */
static size_t character(const char *p, size_t *columns) {
  const unsigned char c = (unsigned char)*p;
  size_t n = c < 0x80 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
  for (size_t i = 1; i < n; i++)
    if (!p[i]) n = i;
  *columns = c >= 0xe1 ? 2 : 1; /* from U+1000 on: East Asian letters and symbols */
  return n;
}

size_t surg__view_columns(const char *text) {
  size_t sum = 0, columns;
  for (const char *p = text; *p; sum += columns) p += character(p, &columns);
  return sum;
}

const char *surg__view_cut(surg__view *v, const char *text, size_t columns) {
  surg__buf b, cut;
  surg__buf_init(&b, v->ctx);
  surg__buf_init(&cut, v->ctx);
  surg__buf_escape(&b, text, strlen(text), 0);
  surg__buf_putc(&b, 0);
  const char *p = b.failed ? "" : b.p;
  const bool whole = surg__view_columns(p) <= columns;
  /* The end of a name says more than its start: the start is cut. */
  size_t skip = whole ? 0 : surg__view_columns(p) - columns + 1, c;
  for (size_t seen = 0; seen < skip && *p; seen += c) p += character(p, &c);
  if (!whole) surg__buf_puts(&cut, "…");
  surg__buf_puts(&cut, p);
  if (b.failed) cut.failed = true;
  surg__buf_free(&b);
  const char *shown = surg__view_text(v, &cut);
  return shown ? shown : ""; /* v->status is set */
}

/* The inferred type, or the declared one where it says more. */
static const surg_type *type_of(const surg_value *value) {
  const surg_type *t = surg_value_type(value), *declared = surg_value_declared_type(value);
  if (!t || surg_type_get_kind(t) == SURG_TYPE_UNKNOWN) return declared;
  const bool open = surg_type_get_kind(t) == SURG_TYPE_TENSOR && !surg_type_has_rank(t);
  return open && declared && surg_type_has_rank(declared) ? declared : t;
}

/* The end of `dim("value", 2)`, a size that has no name of its own, if it is at p; else p. */
static const char *after_nameless(const char *p) {
  static const char start[] = "dim(\"";
  if (strncmp(p, start, sizeof start - 1) != 0) return p;
  const char *s = p + sizeof start - 1;
  while (*s && *s != '"') s += *s == '\\' && s[1] ? 2 : 1;
  s = strchr(s, ')');
  return s ? s + 1 : p;
}

const char *surg__view_type(surg__view *v, const surg_value *value, size_t columns) {
  const surg_type *t = value ? type_of(value) : NULL;
  char *text = NULL;
  if (!t || surg_type_get_kind(t) == SURG_TYPE_UNKNOWN) return "";
  if (surg_type_text(v->ctx, t, &text) != SURG_OK) {
    v->status = surg__alloc_status(v->ctx);
    return "";
  }
  surg__buf b;
  surg__buf_init(&b, v->ctx);
  for (const char *p = text; *p;) {
    const char *end = columns ? after_nameless(p) : p; /* in a label: "?" */
    if (end != p)
      surg__buf_putc(&b, '?');
    else if (*p != ' ')
      surg__buf_putc(&b, *p);
    p = end != p ? end : p + 1;
  }
  surg_context_free_bytes(v->ctx, text);
  const char *all = surg__view_text(v, &b);
  if (!all) return "";
  size_t c, seen = 0;
  if (!columns || surg__view_columns(all) <= columns) return all;
  const char *end = all; /* of a type the start says more */
  while (*end) {
    const size_t n = character(end, &c);
    if (seen + c > columns - 1) break;
    seen += c;
    end += n;
  }
  surg__buf_init(&b, v->ctx);
  surg__buf_put(&b, all, (size_t)(end - all));
  surg__buf_puts(&b, "…");
  const char *cut = surg__view_text(v, &b);
  return cut ? cut : "";
}

static void put_string(surg__buf *b, surg_str s) {
  surg__buf_putc(b, '"');
  surg__buf_escape(b, s.p ? s.p : "", s.p ? s.n : 0, TEXT_SHOWN);
  surg__buf_putc(b, '"');
}

static void put_list(surg__buf *b, const surg_attr *a) {
  size_t n = 0;
  const int64_t *ints = surg_attr_ints(a, &n);
  const float *floats = ints || n ? NULL : surg_attr_floats(a, &n);
  const surg_str *strings = ints || floats || n ? NULL : surg_attr_strings(a, &n);
  surg__buf_putc(b, '[');
  for (size_t i = 0; i < n && i < LIST_SHOWN; i++) {
    if (i) surg__buf_puts(b, ", ");
    if (ints)
      surg__buf_printf(b, "%lld", (long long)ints[i]);
    else if (floats)
      surg__buf_printf(b, "%g", (double)floats[i]);
    else if (strings)
      put_string(b, strings[i]);
  }
  surg__buf_puts(b, n > LIST_SHOWN ? ", ...]" : "]");
}

static void put_tensor(surg__buf *b, const surg_tensor *t) {
  const char *type = t ? surg_dtype_name(surg_tensor_dtype(t)) : NULL;
  surg__buf_puts(b, type ? type : "?");
  surg__buf_putc(b, '[');
  for (size_t i = 0; t && i < surg_tensor_rank(t); i++)
    surg__buf_printf(b, "%s%lld", i ? "," : "", (long long)surg_tensor_dims(t)[i]);
  surg__buf_putc(b, ']');
}

void surg__view_attr(surg__view *v, surg__buf *b, const surg_attr *a) {
  const char *ref = surg_attr_ref(a);
  char *text = NULL;
  if (ref) {
    surg__buf_putc(b, '@');
    surg__buf_escape(b, ref, strlen(ref), 0);
    return;
  }
  switch (surg_attr_get_kind(a)) {
    case SURG_ATTR_INT:
      surg__buf_printf(b, "%lld", (long long)surg_attr_int(a));
      return;
    case SURG_ATTR_FLOAT:
      surg__buf_printf(b, "%g", (double)surg_attr_float(a));
      return;
    case SURG_ATTR_STRING:
      put_string(b, surg_attr_string(a));
      return;
    case SURG_ATTR_INTS:
    case SURG_ATTR_FLOATS:
    case SURG_ATTR_STRINGS:
      put_list(b, a);
      return;
    case SURG_ATTR_TENSOR:
      put_tensor(b, surg_attr_tensor(a, 0));
      return;
    case SURG_ATTR_TYPE_PROTO:
      if (surg_type_text(v->ctx, surg_attr_type(a, 0), &text) == SURG_OK)
        surg__buf_puts(b, text);
      else
        b->failed = true;
      surg_context_free_bytes(v->ctx, text);
      return;
    default:
      surg__buf_puts(b, "...");
  }
}

bool surg__view_constant(const surg_value *v) {
  if (surg_value_constant(v)) return true;
  return surg_value_is_initializer(v) && !surg_value_is_input(v); /* a sparse one */
}

bool surg__view_hidden(const surg_node *n) {
  bool any = false;
  for (size_t i = 0; i < surg_node_output_count(n); i++) {
    const surg_value *v = surg_node_output(n, i);
    if (!v) continue;
    if (!surg_value_constant(v)) return false;
    any = true;
  }
  return any;
}
