/* SPDX-License-Identifier: Apache-2.0 */
/* Rules of subgraphs. An engine may build the main graph without looking for what the standard
 * forbids, and have the checker of ONNX examine the subgraphs of each node. The key
 * `checked_bodies` of a target lists the findings that it rejects there, `checked_functions` those
 * that it rejects in functions, whose types it infers as ONNX does. */
#include <onnxsurg/ops.h>

#include "check/check.h"
#include "ir/ir.h"
#include "target/judge.h"
#include "target/verdict.h"

static bool is_checked(const surg__target *t, const char *code) {
  return surg__listed(&t->checked_bodies, code);
}

static bool is_subgraph(const surg_graph *g) {
  return g && surg_graph_parent_node(g);
}

bool surg__judge_rejects_inside(const surg__target *t, const char *code, const surg_graph *g) {
  if (is_subgraph(g) && is_checked(t, code)) return true;
  return g && surg_graph_function(g) && surg__listed(&t->checked_functions, code);
}

/* --- initializers below IR version 4 --- */

static bool is_read_by_own_graph(const surg_value *v) {
  const surg_use *u = surg_value_first_use(v);
  while (u && (!surg_use_node(u) || surg_node_graph(surg_use_node(u)) != v->graph))
    u = surg_use_next(u);
  return u != NULL;
}

/* The first initializer that is not an input and that no engine that accepts the missing input
 * creates: it is in a subgraph, or it is neither an output nor read by a node of its graph. NULL:
 * none. */
static const surg_value *unmade(const surg_model *m) {
  for (const surg_graph *g = NULL; (g = surg_model_next_graph(m, g));)
    for (const surg_value *v = surg_graph_next_value(g, NULL); v; v = surg_graph_next_value(g, v))
      if (v->initializer && !v->input &&
          (g != m->graph || !(surg_value_is_output(v) || is_read_by_own_graph(v))))
        return v;
  return NULL;
}

static void tell(const surg__target *t, surg__buf *text, surg__objection o, surg__objection_fn fn,
                 void *user) {
  surg__buf_putc(text, 0);
  if (!o.node) o.where = "model";
  o.text = text->failed ? "" : text->p;
  o.source = t->source;
  fn(user, &o);
  text->n = 0;
}

/* Reports an initializer that the IR version requires among the inputs, and that an engine that
 * accepts its absence there does not create. */
static void judge_unmade(const surg__target *t, const surg_model *m, surg__buf *text,
                         surg__objection_fn fn, void *user) {
  const surg_value *v = surg_model_ir_version(m) < 4 ? unmade(m) : NULL;
  if (!v || surg__target_finding(t, "E112") != SURG__LEGAL) return;
  surg__buf_printf(text, "initializer %s is not an input, which IR version %lld requires",
                   surg__q(t->ctx, surg_value_name(v)), (long long)surg_model_ir_version(m));
  surg__buf_puts(
      text, v->graph == m->graph ? "; no node of its graph reads it" : "; it is in a subgraph");
  const surg__verdict verdict = is_checked(t, "E112") ? SURG__ILLEGAL : SURG__UNKNOWN;
  tell(t, text, (surg__objection){.verdict = verdict, .cause = SURG__C_IR, .code = "E112"}, fn,
       user);
}

/* --- declarations of outer values --- */

/* The value of an outer graph that a name in the subgraph refers to, or NULL. */
static const surg_value *outer_value(const surg_graph *g, const char *name) {
  const surg_value *v = surg__find_value(g, name);
  if (v) return NULL;
  while (!v && is_subgraph(g)) {
    g = surg_node_graph(surg_graph_parent_node(g));
    v = surg__find_value(g, name);
  }
  return v;
}

/* Whether a node of the graph reads the value; *deep: a node of a graph in it does. */
static bool is_read_in(const surg_graph *g, const surg_value *v, bool *deep) {
  *deep = false;
  for (const surg_use *u = surg_value_first_use(v); u; u = surg_use_next(u)) {
    const surg_graph *h = surg_use_node(u) ? surg_node_graph(surg_use_node(u)) : NULL;
    if (h == g) return true;
    while (h && h != g && is_subgraph(h)) h = surg_node_graph(surg_graph_parent_node(h));
    *deep = *deep || h == g;
  }
  return false;
}

/* Reports a value_info entry of a subgraph that declares another type for an outer value that the
 * subgraph reads: the engine merges both. */
static void judge_strays(const surg__target *t, const surg_graph *g, surg__buf *text,
                         surg__objection_fn fn, void *user) {
  for (const surg__stray *s = g->strays; s; s = s->next) {
    bool deep;
    const surg_value *v = s->dropped || !s->type ? NULL : outer_value(g, s->name);
    const surg_type *is = v ? surg_value_type(v) : NULL;
    if (!is || !surg__check_types_differ(s->type, is)) continue;
    const bool read = is_read_in(g, v, &deep);
    if (!read && !deep) continue;
    surg__buf_printf(text, "value_info %s of a subgraph declares ", surg__q(t->ctx, s->name));
    surg__put_type(text, s->type);
    surg__buf_puts(text, "; the outer value is ");
    surg__put_type(text, is);
    const surg__verdict verdict = read ? SURG__ILLEGAL : SURG__UNKNOWN;
    tell(t, text, (surg__objection){.verdict = verdict, .cause = SURG__C_INVALID, .code = "W203"},
         fn, user);
  }
}

/* Reports the condition input of a Loop body that declares no type, if the Loop has no condition:
 * shape inference has no other source of the type. */
static void judge_untyped(const surg__target *t, const surg_graph *g, surg__buf *text,
                          surg__objection_fn fn, void *user) {
  const surg_node *n = surg_graph_parent_node(g);
  if (surg_node_op(n) != SURG_OP_Loop || surg_node_input(n, 1)) return;
  const surg_value *v = surg_graph_input_count(g) > 1 ? surg_graph_input(g, 1) : NULL;
  if (!v || surg_value_declared_type(v)) return;
  surg__buf_printf(text, "condition %s of a Loop body declares no type, and the Loop has none",
                   surg__q(t->ctx, surg_value_name(v)));
  tell(t, text,
       (surg__objection){
           .verdict = SURG__ILLEGAL, .cause = SURG__C_INVALID, .code = "E108", .value = v},
       fn, user);
}

/* Reports a node with subgraphs of which an output is absent: the engine places all of them. Of a
 * Loop it places what the body collects; states may be absent. */
static void judge_results(const surg__target *t, const surg_node *n, surg__buf *text,
                          surg__objection_fn fn, void *user) {
  const size_t inputs = surg_node_input_count(n);
  const size_t from = surg_node_op(n) != SURG_OP_Loop ? 0 : inputs > 2 ? inputs - 2 : 0;
  size_t i = from;
  while (i < surg_node_output_count(n) && surg_node_output(n, i)) i++;
  if (i >= surg_node_output_count(n)) return;
  surg__buf_printf(text, "output %zu is absent; a node with subgraphs must name all", i);
  tell(t, text,
       (surg__objection){.verdict = SURG__ILLEGAL, .cause = SURG__C_PLACE, .node = n}, fn, user);
}

void surg__judge_bodies(const surg__target *t, const surg_model *m, surg__objection_fn fn,
                        void *user) {
  surg__buf text;
  surg__buf_init(&text, t->ctx);
  judge_unmade(t, m, &text, fn, user);
  for (const surg_graph *g = NULL; (g = surg_model_next_graph(m, g));) {
    const surg_node *n = surg_graph_parent_node(g);
    if (n && t->absent_results == SURG__NO && surg_node_subgraph(n, 0) == g)
      judge_results(t, n, &text, fn, user);
    if (surg__judge_rejects_inside(t, "W203", g)) judge_strays(t, g, &text, fn, user);
    if (surg__judge_rejects_inside(t, "E108", g)) judge_untyped(t, g, &text, fn, user);
  }
  surg__buf_free(&text);
}
