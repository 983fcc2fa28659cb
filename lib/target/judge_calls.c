/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of functions that leave out an input (key `absent_arguments`), and nodes of functions. An
 * engine that puts the nodes of a function in place of the call sees an absent input of these
 * nodes. */
#include <string.h>

#include "base/context.h"
#include "ir/ir.h"
#include "target/judge.h"

#define NESTING (SURG_LIMIT_CALL_DEPTH + 2u) /* rounds: each follows at least one more call */
#define NAMED 64u   /* required attributes of a function that are followed */

enum { PASSED = 1, LEFT_OUT = 2 }; /* bits of `passed` of a value: what calls do */

/* Whether v is an input of a function. */
static bool is_of_function(const surg_value *v) {
  return v->input && surg_value_graph(v)->kind == SURG_GRAPH_FUNCTION;
}

/* Records what a call does: inputs that it passes or leaves out, attributes that it does not set.
 * What is an input of a function around the call is passed where that one is. */
static bool mark_call(const surg_node *n, surg_function *f) {
  const size_t required = f->attrs.count - f->defaults.count;
  bool changed = !f->called;
  f->called = true;
  for (size_t i = 0; i < surg_graph_input_count(f->body); i++) {
    surg_value *v = surg_graph_input(f->body, i);
    const surg_value *given = surg_node_input(n, i);
    const uint8_t how = !given ? LEFT_OUT : is_of_function(given) ? given->passed : PASSED;
    changed |= (how & ~v->passed) != 0;
    v->passed |= how;
  }
  for (size_t i = 0; i < required && i < NAMED; i++)
    if (!surg_node_attr(n, f->attrs.items[i])) f->unset |= UINT64_C(1) << i;
  return changed;
}

/* Whether nodes of the graph run: it is not of a function that nothing calls. */
static bool is_reached(const surg_graph *g) {
  const surg_function *f = surg_graph_function(g);
  return !f || f->called;
}

static bool mark_graph(const surg_graph *g) {
  bool changed = false;
  for (const surg_node *n = surg_graph_first_node(g); n; n = surg_node_next(n))
    if (surg_node_function(n)) changed |= mark_call(n, surg_node_function(n));
  return changed;
}

void surg__judge_mark_calls(surg_model *m) {
  bool changed = m->functions.count > 0;
  for (size_t i = 0; i < m->functions.count; i++) {
    surg_function *f = m->functions.items[i];
    f->called = false;
    f->unset = 0;
    for (size_t k = 0; k < surg_graph_input_count(f->body); k++)
      surg_graph_input(f->body, k)->passed = 0;
  }
  for (unsigned depth = 0; changed && depth < NESTING; depth++) {
    changed = false;
    for (const surg_graph *g = NULL; (g = surg_model_next_graph(m, g));)
      if (is_reached(g)) changed |= mark_graph(g);
  }
}

bool surg__judge_is_left_out(const surg_value *v) {
  return v && is_of_function(v) && v->passed == LEFT_OUT;
}

static void judge_call(surg__judge *j, const surg_function *f) {
  for (size_t i = 0; i < surg_graph_input_count(f->body); i++) {
    if (surg_node_input(j->n, i)) continue;
    surg__judge_object(j, SURG__ILLEGAL, SURG__C_FUNCTION, NULL,
                       "the call leaves out input %s of the function",
                       surg__judge_name(j, surg_graph_input(f->body, i)));
    return;
  }
}

/* --- nodes of functions --- */

/* Whether a call of f leaves out an attribute that has no default. One that f does not have is left
 * out by all. */
static bool is_ever_unset(const surg_function *f, const char *name) {
  size_t i = 0;
  while (i < f->attrs.count && strcmp(f->attrs.items[i], name) != 0) i++;
  if (i == f->attrs.count) return f->called;
  return i < NAMED && i < f->attrs.count - f->defaults.count && (f->unset >> i & 1);
}

/* Reports a required attribute that is one of the function, and that a call does not set. */
static void judge_unset(surg__judge *j, const surg_function *f) {
  for (uint32_t i = 0; j->s && i < j->s->n_attrs; i++) {
    const surg_attr *a = j->s->attrs[i].required ? surg_node_attr(j->n, j->s->attrs[i].name) : NULL;
    if (!a || !surg_attr_ref(a) || !is_ever_unset(f, surg_attr_ref(a))) continue;
    surg__judge_object(j, SURG__ILLEGAL, SURG__C_ATTR, NULL,
                       "a call of the function does not set %s, which is required",
                       surg__q(j->t->ctx, a->name));
    return;
  }
}

static void judge_absent(surg__judge *j) {
  for (size_t i = 0; i < surg_node_input_count(j->n); i++) {
    if (surg_node_input(j->n, i)) continue;
    surg__judge_object(j, SURG__ILLEGAL, SURG__C_FUNCTION, NULL,
                       "input %zu is absent, in a function", i);
    return;
  }
}

/* Reports an input or output of the function that is one of many inputs or outputs of a node: the
 * engine takes its type from the formal input or output at that place, and there is none. Where the
 * target states nothing, engines are known that reject it only if the first is no input. */
static void judge_ends(surg__judge *j, const surg_graph *body) {
  const surg_value *v = NULL, *first = surg_node_input(j->n, 0);
  const bool open = j->t->function_variadic == SURG__UNSAID;
  if (open && first && is_of_function(first)) return;
  for (size_t i = j->s->n_inputs; i < surg_node_input_count(j->n) && !v; i++)
    if (surg_node_input(j->n, i) && is_of_function(surg_node_input(j->n, i)))
      v = surg_node_input(j->n, i);
  for (size_t i = j->s->n_outputs; i < surg_node_output_count(j->n) && !v; i++)
    for (size_t k = 0; k < surg_graph_output_count(body); k++)
      if (surg_graph_output(body, k) == surg_node_output(j->n, i)) v = surg_node_output(j->n, i);
  if (v)
    surg__judge_object(j, open ? SURG__UNKNOWN : SURG__ILLEGAL, SURG__C_FUNCTION, v,
                       "%s of the function must be the first of the repeated inputs or outputs",
                       surg__judge_name(j, v));
}

static void judge_inside(surg__judge *j) {
  const surg_graph *body = surg_node_graph(j->n);
  const surg_function *f = surg_graph_function(body);
  if (!f) return;
  if (j->t->inlined) judge_unset(j, f);
  if (j->t->function_absent == SURG__NO) judge_absent(j);
  if (j->t->inlined && j->t->function_variadic != SURG__YES && j->s) judge_ends(j, body);
}

void surg__judge_arguments(surg__judge *j) {
  const surg_function *f = surg_node_function(j->n);
  judge_inside(j);
  if (f && j->t->absent_arguments == SURG__NO) judge_call(j, f);
  if (f || !j->s || j->t->absent_arguments != SURG__YES) return;
  for (uint32_t i = 0; i < j->s->n_inputs; i++) {
    const surg_value *v = surg_node_input(j->n, i);
    if (j->s->inputs[i].option != SURG__SINGLE || !surg__judge_is_left_out(v)) continue;
    surg__judge_object(j, SURG__ILLEGAL, SURG__C_PLACE, v, "no call of the function passes %s",
                       surg__judge_name(j, v));
    return;
  }
}
