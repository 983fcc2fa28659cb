/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of functions that leave out an input (key `absent_arguments`). An engine that puts the nodes
 * of a function in place of the call sees an absent input of these nodes. */
#include "ir/ir.h"
#include "target/judge.h"

#define NESTING 20u /* calls in functions that are followed */

typedef struct passing {
  size_t given, absent;
} passing;

static void add_call(passing *p, const surg_value *given, unsigned depth);

/* Counts the calls that pass input `at` of f, and those that do not. */
static void count_calls(passing *p, const surg_function *f, size_t at, unsigned depth) {
  const surg_model *m = surg_graph_model(f->body);
  for (const surg_graph *g = NULL; (g = surg_model_next_graph(m, g));)
    for (const surg_node *n = surg_graph_first_node(g); n; n = surg_node_next(n))
      if (surg_node_function(n) == f) add_call(p, surg_node_input(n, at), depth);
}

/* The function of which v is an input, and its place; NULL: it is none. */
static const surg_function *function_of(const surg_value *v, size_t *at) {
  const surg_graph *g = surg_value_graph(v);
  const surg_function *f = g->kind == SURG_GRAPH_FUNCTION ? surg_graph_function(g) : NULL;
  for (*at = 0; f && *at < surg_graph_input_count(g); ++*at)
    if (surg_graph_input(g, *at) == v) return f;
  return NULL;
}

static void add_call(passing *p, const surg_value *given, unsigned depth) {
  size_t at;
  const surg_function *outer = given ? function_of(given, &at) : NULL;
  if (outer && depth < NESTING)
    count_calls(p, outer, at, depth + 1);
  else if (given)
    p->given++;
  else
    p->absent++;
}

bool surg__judge_is_left_out(const surg_value *v) {
  size_t at;
  passing p = {0};
  const surg_function *f = v ? function_of(v, &at) : NULL;
  if (f) count_calls(&p, f, at, 0);
  return p.absent && !p.given;
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

void surg__judge_arguments(surg__judge *j) {
  const surg_function *f = surg_node_function(j->n);
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
