/* SPDX-License-Identifier: Apache-2.0 */
/* See declared.h. */
#include "declared.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "typetext.h"

bool declared_at_output(const surg_value *v, const surg_type **type) {
  const surg_graph *g = surg_value_graph(v);
  if (surg_graph_get_kind(g) == SURG_GRAPH_FUNCTION) return false; /* no types there */
  for (surg_use *u = surg_value_first_use(v); u; u = surg_use_next(u)) {
    if (surg_use_get_kind(u) != SURG_USE_OUTPUT || surg_use_graph(u) != g) continue;
    *type = surg_graph_output_type(g, surg_use_index(u));
    return true;
  }
  return false;
}

const surg_type *declared_type(const surg_value *v) {
  const surg_type *type = NULL;
  if (!surg_value_is_input(v) && surg_value_is_output(v) && declared_at_output(v, &type))
    return type;
  return surg_value_declared_type(v);
}

#define MOST_DIMS 64

bool declared_shape(surg_value *v) {
  const surg_type *said = NULL, *t = surg_value_type(v);
  surg_dim dims[MOST_DIMS];
  if (surg_value_is_input(v) || !declared_at_output(v, &said) || !t ||
      surg_type_get_kind(t) != SURG_TYPE_TENSOR || !surg_type_has_rank(t) ||
      surg_type_rank(t) > MOST_DIMS ||
      (said && (surg_type_get_kind(said) != SURG_TYPE_TENSOR || surg_type_has_rank(said))))
    return true;
  for (size_t i = 0; i < surg_type_rank(t); i++)
    dims[i] = (surg_dim){.value = surg_type_dim(t, i)->value};
  surg_model *m = surg_graph_model(surg_value_graph(v));
  const surg_type *now = surg_type_tensor(m, surg_type_dtype(t), dims, surg_type_rank(t));
  return now && surg_value_set_declared_type(v, now) == SURG_OK;
}

typedef struct text {
  char *p;
  size_t n;
} text;

static void put(text *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void put(text *t, const char *fmt, ...) {
  va_list args;
  if (t->n + 1 >= DECLARED_TEXT) return;
  va_start(args, fmt);
  int n = vsnprintf(t->p + t->n, DECLARED_TEXT - t->n, fmt, args);
  va_end(args);
  if (n > 0) t->n += (size_t)n;
  if (t->n >= DECLARED_TEXT) t->n = DECLARED_TEXT - 1;
}

static void put_tensor(text *out, const surg_type *t) {
  const char *element = surg_dtype_name(surg_type_dtype(t));
  put(out, "%s", element ? element : "untyped");
  if (!surg_type_has_rank(t)) put(out, "[]");
  for (size_t i = 0; i < surg_type_rank(t) && out->n + 1 < DECLARED_TEXT; i++) {
    surg_dim d = *surg_type_dim(t, i);
    put(out, "%s", i ? "," : "[");
    if (d.param)
      put(out, "%.40s", d.param);
    else if (d.value >= 0)
      put(out, "%lld", (long long)d.value);
    else
      put(out, "?");
  }
  if (surg_type_rank(t)) put(out, "]");
}

const char *declared_text(const surg_type *t, char *out) {
  static const char *const names[] = {
      [SURG_TYPE_UNKNOWN] = "nothing", [SURG_TYPE_TENSOR] = "tensor",
      [SURG_TYPE_SEQUENCE] = "seq",    [SURG_TYPE_SPARSE_TENSOR] = "sparse_tensor",
      [SURG_TYPE_MAP] = "map",         [SURG_TYPE_OPTIONAL] = "optional",
      [SURG_TYPE_OPAQUE] = "opaque"};
  _Static_assert(sizeof names / sizeof *names == SURG_TYPE_OPAQUE + 1, "a name for each kind");
  text x = {out, 0};
  unsigned depth = 0;
  *out = 0;
  for (; surg_type_elem(t) && depth < 8; depth++, t = surg_type_elem(t))
    put(&x, "%s(", names[surg_type_get_kind(t)]);
  if (surg_type_get_kind(t) == SURG_TYPE_TENSOR)
    put_tensor(&x, t);
  else
    put(&x, "%s", names[surg_type_get_kind(t)]);
  while (depth-- > 0) put(&x, ")");
  return out;
}

void declared_note(surg_pass_ctx *p, const surg_value *v, const char *what, const surg_type *before,
                   const surg_type *after) {
  char line[1024], a[DECLARED_TEXT], b[DECLARED_TEXT];
  snprintf(line, sizeof line, "%s '%.300s': %s is now %s", what, surg_value_name(v),
           declared_text(before, a), declared_text(after, b));
  surg_pass_note(p, NULL, line);
}

static bool declare(surg_pass_ctx *p, surg_value *v, const surg_type *was) {
  const surg_type *now = typetext_plain(p, surg_value_type(v));
  if (!now || surg_value_set_declared_type(v, now) != SURG_OK) return false;
  declared_note(p, v, "type of output", was, now);
  return true;
}

/* Whether a declared type is impossible, given the inferred one. */
static bool is_wrong(surg_model *m, const surg_value *v, const surg_type *was) {
  bool contradicts = false;
  if (!was || !surg_value_type(v) || !surg_value_producer(v, NULL)) return false;
  (void)surg_type_refine(m, was, surg_value_type(v), &contradicts);
  return contradicts;
}

/* Engines infer from value_info, too, and reject a model in which an entry is wrong. */
static bool fit_inner(surg_pass_ctx *p, surg_model *m) {
  for (surg_graph *g = NULL; (g = surg_model_next_graph(m, g)) != NULL;)
    for (surg_value *v = NULL; (v = surg_graph_next_value(g, v)) != NULL;) {
      const surg_type *was = NULL;
      const bool output = surg_graph_parent_node(g) && declared_at_output(v, &was);
      if (!output && surg_value_has_info(v)) was = surg_value_declared_type(v);
      if (!is_wrong(m, v, was)) continue;
      const surg_type *now = typetext_plain(p, surg_value_type(v));
      if (!now || surg_value_set_declared_type(v, now) != SURG_OK) return false;
      surg_pass_count(p, "declared types", 1);
    }
  return true;
}

bool declared_fit_outputs(surg_pass_ctx *p) {
  surg_model *m = surg_pass_model(p);
  const surg_graph *g = surg_model_graph(m);
  if (surg_model_infer(m) != SURG_OK || !fit_inner(p, m)) return false;
  for (size_t i = 0; i < surg_graph_output_count(g); i++) {
    surg_value *v = surg_graph_output(g, i);
    const surg_type *was = surg_graph_output_type(g, i);
    if (is_wrong(m, v, was) && !declare(p, v, was)) return false;
  }
  return true;
}

bool declared_follow(surg_pass_ctx *p, surg_value *v, const surg_type *before) {
  const surg_type *now = surg_value_type(v), *was = surg_value_declared_type(v);
  if (!surg_value_is_output(v) || !was || !now || surg_type_get_kind(now) == SURG_TYPE_UNKNOWN)
    return true;
  return (before && surg_type_equal(before, now)) || declare(p, v, was);
}
