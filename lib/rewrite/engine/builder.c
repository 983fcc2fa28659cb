/* SPDX-License-Identifier: Apache-2.0 */
/* The builder of emissions in C: values of the match, new nodes, constants and subgraphs. */
#include <stdarg.h>
#include <stdio.h>

#include "rewrite/lang/rule.h"

static uint16_t var_of(const surg__builder *b, const char *name) {
  const surg_rule *r = b->m->rule;
  for (uint16_t i = 0; i < r->n_vars; i++)
    if (!r->vars[i].hidden && !strcmp(r->vars[i].name, name)) return i;
  assert(!"the rule has no such name");
  return 0;
}

surg_value *surg__b_get(const surg__builder *b, const char *name) {
  return b->m->values[var_of(b, name)];
}

surg_node *surg__b_matched(const surg__builder *b) {
  return b->m->nodes[b->m->rule->anchor];
}

surg_status surg__b_decline(surg__builder *b, const char *fmt, ...) {
  va_list args;
  va_start(args, fmt);
  vsnprintf(b->m->why_text, sizeof b->m->why_text, fmt, args);
  va_end(args);
  b->m->why = b->m->why_text;
  b->m->why_stmt = -1;
  return SURG_EUNSUPPORTED;
}

bool surg__b_lacks(const surg__builder *b, const char *name, const char *what) {
  if (b->m->why) return false;
  return surg__match_failed(b->m, "%s%s%s", name, *name ? ": " : "", what);
}

bool surg__b_bad(const surg__builder *b, bool bad, const char *what) {
  if (bad) surg__b_lacks(b, "", what);
  return bad;
}

bool surg__b_attrs_known(const surg__builder *b) {
  const surg_node *n = surg__b_matched(b);
  for (size_t i = 0; i < surg_node_attr_count(n); i++)
    if (surg_attr_ref(surg_node_attr_at(n, i)))
      return surg__b_lacks(b, surg_attr_name(surg_node_attr_at(n, i)),
                           "the attribute is a parameter of a function");
  return true;
}

surg__rvalue surg__b_data(const surg__builder *b, const char *name) {
  return b->m->data[var_of(b, name)];
}

static surg_value *failed(surg__builder *b, surg_status s) {
  if (!b->status) b->status = s ? s : SURG_ENOMEM;
  return NULL;
}

surg_value *surg__b_node(surg__builder *b, const char *op_type, surg_value *const *in, size_t n) {
  if (b->status) return NULL;
  assert(!b->before || surg_node_graph(b->before) == b->g);
  surg__match *m = b->m;
  surg_node *node = surg_graph_add_node(b->g, b->before, "", op_type, 1);
  const char *name = node ? surg__rname(m, op_type) : NULL;
  surg_status s = name ? surg_node_set_name(node, name) : SURG_ENOMEM;
  for (size_t i = 0; i < n && !s; i++)
    if (in[i]) s = surg_node_set_input(node, i, in[i]);
  surg_value *out = s ? NULL : surg_node_output(node, 0);
  name = out ? surg__rname(m, "value") : NULL;
  if (!s) s = name ? surg_value_rename(out, name) : SURG_ENOMEM;
  if (!s && b->made && b->g == m->g && !surg__vec_push(m->ctx, b->made, node)) s = SURG_ENOMEM;
  return s ? failed(b, s) : out;
}

surg_value *surg__b_unary(surg__builder *b, const char *op_type, surg_value *x) {
  return surg__b_node(b, op_type, &x, 1);
}

surg_value *surg__b_binary(surg__builder *b, const char *op_type, surg_value *x, surg_value *y) {
  surg_value *const in[2] = {x, y};
  return surg__b_node(b, op_type, in, 2);
}

surg_value *surg__b_over(surg__builder *b, const char *op_type, surg_value *x, const int64_t *axes,
                         size_t n) {
  assert(n == 0 || axes);
  const surg_schema *s = surg_schema_find("", op_type, b->m->opset);
  const surg__param *second = s ? surg__schema_formal(s, false, 1) : NULL;
  if (second && !strcmp(second->name, "axes"))
    return surg__b_binary(b, op_type, x, surg__b_ints(b, axes, n));
  surg_value *v = surg__b_unary(b, op_type, x);
  surg__b_set_ints(b, v, "axes", axes, n);
  return v;
}

static surg_node *maker(surg__builder *b, const surg_value *v) {
  assert(b->status || v); /* new values are NULL only after a failure */
  return b->status ? NULL : surg_value_producer(v, NULL);
}

static void check(surg__builder *b, surg_status s) {
  if (s) failed(b, s);
}

void surg__b_set_int(surg__builder *b, const surg_value *v, const char *name, int64_t i) {
  surg_node *n = maker(b, v);
  if (n) check(b, surg_node_set_int(n, name, i));
}

void surg__b_set_to(surg__builder *b, const surg_value *v, int dtype) {
  surg_node *n = maker(b, v);
  if (n) check(b, surg__rcast_to(n, b->m->opset, dtype));
}

void surg__b_set_ints(surg__builder *b, const surg_value *v, const char *name, const int64_t *i,
                      size_t n) {
  surg_node *node = maker(b, v);
  if (node) check(b, surg_node_set_ints(node, name, i, n));
}

static bool starts_with_one(const char *name, const char *const *words) {
  for (; words && *words; words++)
    if (strncmp(name, *words, strlen(*words)) == 0) return true;
  return false;
}

void surg__b_copy_attrs(surg__builder *b, const surg_value *v, const surg_node *from,
                        const char *const *except) {
  surg_node *to = maker(b, v);
  for (size_t i = 0; to && i < surg_node_attr_count(from) && !b->status; i++) {
    const surg_attr *a = surg_node_attr_at(from, i);
    if (!starts_with_one(surg_attr_name(a), except)) check(b, surg_node_copy_attr(to, a));
  }
}

void surg__b_set_float(surg__builder *b, const surg_value *v, const char *name, float f) {
  surg_node *n = maker(b, v);
  if (n) check(b, surg_node_set_float(n, name, f));
}

void surg__b_set_string(surg__builder *b, const surg_value *v, const char *name, const char *s) {
  surg_node *n = maker(b, v);
  if (n) check(b, surg_node_set_string(n, name, s));
}

surg_value *surg__b_tensor(surg__builder *b, int dtype, const int64_t *dims, size_t rank,
                           const void *raw, size_t bytes) {
  if (b->status) return NULL;
  return surg__b_made(b, surg_tensor_new(b->m->m, dtype, dims, rank, raw, bytes));
}

surg_value *surg__b_made(surg__builder *b, surg_tensor *t) {
  if (b->status) return NULL;
  surg__match *m = b->m;
  const char *name = t ? surg__rname(m, "const") : NULL;
  surg_value *v = name ? surg__rconstant(m, b->g, b->before, name, t) : NULL;
  return v ? v : failed(b, SURG_ENOMEM);
}

surg_value *surg__b_ints(surg__builder *b, const int64_t *i, size_t n) {
  uint8_t *raw = surg__arena_array(b->m->arena, n + 1, 8);
  const int64_t dims[1] = {(int64_t)n};
  if (!raw) return failed(b, SURG_ENOMEM);
  surg__pack(SURG_INT64, n, i, raw);
  return surg__b_tensor(b, SURG_INT64, dims, 1, raw, n * 8);
}

surg_value *surg__b_scalar(surg__builder *b, int dtype, double v) {
  uint8_t raw[8];
  const surg__rnum number = {.known = true, .f = v};
  if (!surg__rput_number(dtype, true, &number, raw)) return failed(b, SURG_EINTERNAL);
  assert(surg__dtype_bits(dtype) / 8 <= sizeof raw);
  return surg__b_tensor(b, dtype, NULL, 0, raw, surg__dtype_bits(dtype) / 8);
}

void surg__b_result(surg__builder *b, const char *name, surg_value *v) {
  surg_value *old = surg__b_get(b, name);
  size_t index;
  if (b->status || !old || !v) return;
  surg_node *n = surg_value_producer(v, &index);
  check(b, surg_node_take_output(n, index, old));
}

/* --- subgraphs --- */

surg__bscope surg__b_enter(surg__builder *b, const surg_value *of, const char *attr) {
  const surg__bscope outside = {b->g, b->before};
  surg_node *n = maker(b, of);
  const char *name = n ? surg__rname(b->m, attr) : NULL;
  surg_graph *g = name ? surg_node_set_graph(n, attr, name) : NULL;
  if (n && !g) failed(b, SURG_ENOMEM);
  if (g) {
    b->g = g;
    b->before = NULL;
  }
  return outside;
}

void surg__b_leave(surg__builder *b, surg__bscope outside) {
  assert(outside.g);
  b->g = outside.g;
  b->before = outside.before;
  b->n_sizes = 0;
  memset(b->sizes, 0, sizeof b->sizes); /* cached sizes of the subgraph are not visible outside */
}

surg_value *surg__b_body_input(surg__builder *b, const char *word, int dtype) {
  if (b->status) return NULL;
  assert(b->g != b->m->g); /* surg__b_enter was called before */
  const surg_type *type = surg_type_tensor_unranked(b->m->m, dtype);
  const char *name = type ? surg__rname(b->m, word) : NULL;
  surg_value *v = name ? surg_graph_add_input(b->g, name, type) : NULL;
  return v ? v : failed(b, SURG_ENOMEM);
}

void surg__b_body_output(surg__builder *b, surg_value *v, int dtype) {
  if (b->status) return;
  assert(b->g != b->m->g && v);
  const surg_type *type = surg_type_tensor_unranked(b->m->m, dtype);
  check(b, type ? surg_graph_add_output(b->g, v, type) : SURG_ENOMEM);
}

surg_value *surg__b_output(surg__builder *b, const surg_value *first, size_t i) {
  surg_node *n = maker(b, first);
  surg_value *v = n ? surg_node_add_output(n, i) : NULL;
  const char *name = v ? surg__rname(b->m, "value") : NULL;
  if (n) check(b, name ? surg_value_rename(v, name) : SURG_ENOMEM);
  return b->status ? NULL : v;
}
