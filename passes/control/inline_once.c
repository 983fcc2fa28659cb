/* SPDX-License-Identifier: Apache-2.0 */
/* inline{once}: selects the functions whose inlining adds no nodes: those called once, and those
 * of one node that calls no function. Functions that might not be inlinable are excluded
 * beforehand. */
#include "inline.h"

#include "../util/give.h"
#include "../util/table.h"
#include "../util/values.h"

#include <assert.h>

typedef struct callee {
  const surg_function *f;
  size_t calls;
  bool fits;
} callee;

static int same_callee(void *user, const void *a, const void *b) {
  const callee *x = a, *y = b;
  (void)user;
  return x->f == y->f;
}

/* The entry of f; NULL: none. All functions are in the table already, so this inserts nothing. */
static callee *look_up(const inline_once *once, const surg_function *f) {
  callee key = {.f = f};
  assert(once->callees && f);
  callee *c = table_meet(once->callees, table_mix(0, (uint64_t)(uintptr_t)f), &key, same_callee,
                         NULL);
  return c == &key ? NULL : c;
}

/* Whether each output is produced by a node of the body and no value is returned twice. */
static bool makes_outputs(const surg_function *f) {
  const surg_graph *body = surg_function_graph(f);
  const size_t count = surg_graph_output_count(body);
  for (size_t i = 0; i < count; i++) {
    const surg_value *v = surg_graph_output(body, i);
    if (!v || !surg_value_producer(v, NULL) || surg_value_use_count(v, SIZE_MAX) == 0) return false;
    size_t as_output = 0;
    for (const surg_use *u = surg_value_first_use(v); u; u = surg_use_next(u))
      as_output += surg_use_get_kind(u) == SURG_USE_OUTPUT;
    if (as_output != 1) return false;
  }
  return true;
}

static bool enter_all(inline_once *once, surg_pass_ctx *p) {
  const surg_model *m = surg_pass_model(p);
  const size_t count = surg_model_function_count(m);
  callee *all = surg_pass_alloc(p, (count + 1) * sizeof *all);
  once->callees = surg_pass_alloc(p, sizeof *once->callees);
  if (!all || !once->callees || !table_make(once->callees, p, count)) return false;
  for (size_t i = 0; i < count; i++) {
    surg_function *f = surg_model_function(m, i);
    all[i] = (callee){.f = f, .fits = makes_outputs(f)};
    if (!table_meet(once->callees, table_mix(0, (uint64_t)(uintptr_t)f), &all[i], same_callee,
                    NULL))
      return false;
  }
  return true;
}

/* Whether the call can be inlined in any case. */
static bool call_fits(surg_pass_ctx *p, const surg_node *n, surg_function *f) {
  char text[INLINE_TEXT];
  const char *domain;
  if (surg_pass_keeps_node(p, n) || inline_differs(f, surg_node_graph(n), text, &domain) ||
      !give_builtin(surg_node_graph(n), "Identity"))
    return false;
  for (size_t i = 0; i < surg_node_output_count(n); i++) {
    const surg_value *v = surg_node_output(n, i);
    if (v && (surg_value_is_pinned(v) || values_annotated(v) || surg_pass_keeps_value(p, v)))
      return false;
  }
  return true;
}

bool inline_once_read(inline_once *once, surg_pass_ctx *p) {
  const surg_model *m = surg_pass_model(p);
  if (!enter_all(once, p)) return false;
  assert(once->callees);
  for (surg_graph *g = surg_model_next_graph(m, NULL); g; g = surg_model_next_graph(m, g))
    for (surg_node *n = surg_graph_first_node(g); n; n = surg_node_next(n)) {
      surg_function *f = surg_node_function(n);
      callee *c = f ? look_up(once, f) : NULL;
      if (!c) continue;
      c->calls++;
      c->fits = c->fits && call_fits(p, n, f);
    }
  return true;
}

/* Whether the body is a single node that has no subgraph and calls no function. */
static bool is_one_node(const surg_function *f) {
  const surg_graph *body = surg_function_graph(f);
  const surg_node *n = surg_graph_first_node(body);
  if (surg_graph_node_count(body) != 1 || surg_node_function(n)) return false;
  for (size_t i = 0; i < surg_node_attr_count(n); i++) {
    const surg_attr_kind kind = surg_attr_get_kind(surg_node_attr_at(n, i));
    if (kind == SURG_ATTR_GRAPH || kind == SURG_ATTR_GRAPHS) return false;
  }
  return true;
}

bool inline_once_wants(void *user, const surg_function *f) {
  const callee *c = look_up(user, f);
  return c && c->fits && c->calls > 0 && (c->calls == 1 || is_one_node(f));
}
