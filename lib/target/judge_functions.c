/* SPDX-License-Identifier: Apache-2.0 */
/* Judges the functions of a model: those that are called, and what the engine reads of the
 * others. */
#include <string.h>

#include <onnxsurg/ops.h>

#include "base/context.h"
#include "base/dtype.h"
#include "ir/ir.h"
#include "schema/schema.h"
#include "target/judge.h"

typedef surg__walk walk;
#define tell surg__walk_tell

/* Reports the first import of a function that is out of the range of opsets. */
static void judge_function_opsets(walk *w, const surg_function *f) {
  for (size_t i = 0; i < surg_function_import_count(f); i++)
    for (size_t k = 0; k < w->t->opsets.count; k++) {
      const surg__tspan *want = &w->t->opsets.items[k];
      const char *domain = surg_function_import_domain(f, i);
      const int64_t have = surg_function_import_version(f, i);
      if (strcmp(want->name, strcmp(domain, "ai.onnx") ? domain : "") != 0 ||
          (have >= want->low && have <= want->high))
        continue;
      surg__buf_printf(&w->text, "function %s imports opset %lld%s%.80s; supported: %lld to %lld",
                       surg__q(w->t->ctx, surg_function_name(f)), (long long)have,
                       want->name[0] ? " of " : "", want->name, (long long)want->low,
                       (long long)want->high);
      tell(w,
           (surg__objection){.verdict = w->t->windows == SURG__NO ? SURG__ILLEGAL : SURG__UNKNOWN,
                             .cause = f->called ? SURG__C_FUNCTION : SURG__C_OPSET});
      return;
    }
}

static bool is_read_in(const surg_value *v, const surg_graph *g) {
  const surg_use *u = surg_value_first_use(v);
  while (u && (!surg_use_node(u) || surg_node_graph(surg_use_node(u)) != g)) u = surg_use_next(u);
  return u != NULL;
}

/* The first input that no node reads, or none but those of subgraphs where the target does not
 * state that the function may have them; NULL: none. */
static const surg_value *unread_input(const surg__target *t, const surg_graph *g) {
  for (size_t i = 0; i < surg_graph_input_count(g); i++) {
    const surg_value *v = surg_graph_input(g, i);
    if (t->bodied == SURG__YES ? !surg_value_use_count(v, 1) : !is_read_in(v, g)) return v;
  }
  return NULL;
}

/* The first output that is an input, or an output before; NULL: none. */
static const surg_value *passed_output(const surg_graph *g) {
  for (size_t i = 0; i < surg_graph_output_count(g); i++) {
    const surg_value *v = surg_graph_output(g, i);
    if (!surg_value_producer(v, NULL)) return v;
    for (size_t k = 0; k < i; k++)
      if (surg_graph_output(g, k) == v) return v;
  }
  return NULL;
}

/* Reports a function whose inputs or outputs the engine does not support. */
static void judge_formals(walk *w, const surg_function *f) {
  const surg_graph *g = surg_function_graph(f);
  const surg_value *unread = w->t->unused != SURG__YES ? unread_input(w->t, g) : NULL;
  const surg_value *passed = w->t->passed != SURG__YES ? passed_output(g) : NULL;
  if (!unread && !passed) return;
  /* Whether a subgraph that reads the input suffices is not stated. */
  const bool no = passed ? w->t->passed == SURG__NO
                         : w->t->unused == SURG__NO && !surg_value_use_count(unread, 1);
  surg__buf_printf(&w->text, "function %s: %s %s", surg__q(w->t->ctx, surg_function_name(f)),
                   passed ? "output" : "input",
                   surg__q(w->t->ctx, surg_value_name(passed ? passed : unread)));
  surg__buf_puts(&w->text, passed ? " is an input too, or an output twice"
                                  : " is not read by a node of the function");
  tell(w, (surg__objection){.verdict = no ? SURG__ILLEGAL : SURG__UNKNOWN,
                            .cause = f->called ? SURG__C_FUNCTION : SURG__C_OPSET});
}

static bool is_output(const surg_value *v, const surg_graph *g) {
  size_t i = 0;
  while (i < surg_graph_output_count(g) && surg_graph_output(g, i) != v) i++;
  return i < surg_graph_output_count(g);
}

/* Whether the node is a Constant that the engine finds to be unused. One that checks functions
 * knows of their outputs. */
static bool is_idle(const surg__target *t, const surg_node *n, const surg_graph *g) {
  const surg_value *v = surg__judge_is_constant(n) ? surg_node_output(n, 0) : NULL;
  if (!v || is_read_in(v, g)) return false;
  return t->windows == SURG__YES || !is_output(v, g);
}

/* Reports the first node of a function that functions of the engine must not have. */
static void judge_body(walk *w, const surg_function *f) {
  const surg_graph *g = surg_function_graph(f);
  for (const surg_node *n = surg_graph_first_node(g); n; n = surg_node_next(n)) {
    const bool idle = w->t->idle != SURG__YES && is_idle(w->t, n, g);
    const bool graph = w->t->bodied != SURG__YES && surg_node_subgraph(n, 0);
    if (!idle && !graph) continue;
    const surg__tri how = idle ? w->t->idle : w->t->bodied;
    surg__buf_puts(&w->text, idle ? "no node of the graph of the function reads this constant"
                                  : "a node with a subgraph is in a function");
    if (how == SURG__UNSAID) surg__buf_puts(&w->text, "; whether that is supported is unknown");
    tell(w, (surg__objection){.verdict = how == SURG__NO ? SURG__ILLEGAL : SURG__UNKNOWN,
                              .cause = f->called ? SURG__C_FUNCTION : SURG__C_OPSET,
                              .node = n});
    return;
  }
}

/* The first attribute of the node that refers to an attribute of another name, or NULL. */
static const surg_attr *renamed_reference(const surg_node *n) {
  for (size_t i = 0; i < surg_node_attr_count(n); i++) {
    const surg_attr *a = surg_node_attr_at(n, i);
    if (surg_attr_ref(a) && strcmp(surg_attr_ref(a), surg_attr_name(a)) != 0) return a;
  }
  return NULL;
}

/* --- nodes of functions, those of subgraphs included --- */

/* Reports the node if the engine does not support it in the function. True: it was reported. */
typedef bool (*node_check)(walk *w, const surg_function *f, const surg_node *n);

/* A reference to an attribute of the function by another name. */
static bool judge_reference(walk *w, const surg_function *f, const surg_node *n) {
  const surg_attr *a = w->t->same_references && f->called ? renamed_reference(n) : NULL;
  if (!a) return false;
  surg__buf_printf(&w->text, "attribute %s", surg__q(w->t->ctx, surg_attr_name(a)));
  surg__buf_printf(&w->text, " refers to attribute %s of the function; only equal names work",
                   surg__q(w->t->ctx, surg_attr_ref(a)));
  tell(w, (surg__objection){.verdict = SURG__ILLEGAL, .cause = SURG__C_FUNCTION, .node = n});
  return true;
}

/* A Constant that is not of a type of its operator. Of the main graph the engine makes initializers
 * of them, in functions it infers their types. */
static bool judge_constant(walk *w, const surg_function *f, const surg_node *n) {
  if (!w->t->inlined || w->t->windows == SURG__YES || !f->called || !surg__judge_is_constant(n))
    return false;
  const surg_schema *s = surg_schema_find("", "Constant", surg_model_opset(w->m, ""));
  const surg_tensor *c = surg_attr_tensor(surg_node_attr(n, "value"), 0);
  const int d = c ? surg_tensor_dtype(c) : SURG_FLOAT;
  if (!s || s->since >= 9 || d == SURG_FLOAT || d == SURG_DOUBLE || d == SURG_FLOAT16) return false;
  surg__buf_printf(&w->text, "it is %s, in a function; below opset 9 a Constant is a float",
                   surg__dtype_name(d));
  tell(w, (surg__objection){.verdict = SURG__ILLEGAL, .cause = SURG__C_FUNCTION, .node = n});
  return true;
}

/* A call of an overload: in functions such an engine looks for a function without one. */
static bool judge_overload(walk *w, const surg_function *f, const surg_node *n) {
  if (w->t->overloads != SURG__YES || !f->called || !surg_node_function(n) ||
      !surg_node_overload(n)[0])
    return false;
  surg__buf_puts(&w->text, "it calls an overload, in a function");
  tell(w, (surg__objection){.verdict = SURG__ILLEGAL, .cause = SURG__C_FUNCTION, .node = n});
  return true;
}

/* An operator whose results the engine infers from its function body: in functions, where it does
 * not set defaults, attributes that the body refers to must be given. */
static bool judge_inferred(walk *w, const surg_function *f, const surg_node *n) {
  if (!f->called || !surg__judge_listed(&w->t->inferred_bodies, n)) return false;
  for (uint32_t i = 0; i < n->schema->n_attrs; i++) {
    const char *name = n->schema->attrs[i].name;
    if (surg_node_attr(n, name)) continue;
    surg__buf_printf(&w->text, "attribute \"%s\" must be given in a function, also as the default",
                     name);
    tell(w, (surg__objection){.verdict = SURG__ILLEGAL, .cause = SURG__C_FUNCTION, .node = n});
    return true;
  }
  return false;
}

static bool imports_domain(const surg_function *f, const char *domain) {
  for (size_t i = 0; i < surg_function_import_count(f); i++)
    if (!strcmp(surg_function_import_domain(f, i), domain)) return true;
  return false;
}

/* A domain that a function which nothing calls does not import: the engine looks up the operators
 * of all functions, and needs no more of these. */
static bool judge_import(walk *w, const surg_function *f, const surg_node *n) {
  if (!w->t->operators_first || f->called || imports_domain(f, surg_node_domain(n))) return false;
  surg__buf_printf(&w->text, "function %s, which nothing calls, does not import domain ",
                   surg__q(w->t->ctx, surg_function_name(f)));
  surg__buf_puts(&w->text, surg__q(w->t->ctx, surg_node_domain(n)));
  tell(w, (surg__objection){.verdict = SURG__ILLEGAL, .cause = SURG__C_OPSET});
  return true;
}

/* Judges the nodes of all functions in one walk, and reports the first of each kind of each. */
static void judge_nodes(walk *w) {
  static const node_check checks[] = {judge_reference, judge_constant, judge_overload, judge_import,
                                      judge_inferred};
  for (const surg_graph *g = NULL; (g = surg_model_next_graph(w->m, g));) {
    surg_function *f = surg_graph_function(g);
    if (!f || (w->t->windows == SURG__YES && !f->called)) continue;
    for (const surg_node *n = surg_graph_first_node(g); n; n = surg_node_next(n))
      for (size_t k = 0; k < SURG_COUNT(checks); k++)
        if (!(f->told >> k & 1) && checks[k](w, f, n)) f->told |= UINT8_C(1) << k;
  }
}

static void judge_spelling(walk *w, const surg_function *f) {
  const surg_node *n = surg__judge_spelling(w->t, surg_function_graph(f));
  if (!n) return;
  surg__buf_printf(
      &w->text, "it is in a function, which must import the domain as \"%s\"%s",
      surg_node_domain(n),
      w->t->spelled == SURG__NO && surg_node_domain(n)[0] ? ", and must not spell it so" : "");
  tell(w, (surg__objection){.verdict = SURG__ILLEGAL, .cause = SURG__C_FUNCTION, .node = n});
}

/* Reports functions that the engine, which expands all calls, cannot expand. */
static surg_status judge_expansion(walk *w) {
  surg__expanded e;
  const surg_status s = surg__judge_expansion(w->m, &e);
  if (s != SURG_OK) return s;
  if (e.repeated && w->t->repeats == SURG__NO) {
    surg__buf_printf(&w->text,
                     "function %s is called more than once and calls a function: the names of its "
                     "inner values are then repeated",
                     surg__q(w->t->ctx, surg_function_name(e.repeated)));
    tell(w, (surg__objection){.verdict = SURG__ILLEGAL, .cause = SURG__C_FUNCTION});
  }
  if (!e.large) return SURG_OK;
  surg__buf_printf(&w->text,
                   "its functions expand to %llu nodes; whether the engine has time and memory for "
                   "them is unknown",
                   (unsigned long long)e.nodes);
  tell(w, (surg__objection){.verdict = SURG__UNKNOWN, .cause = SURG__C_FUNCTION});
  return SURG_OK;
}

surg_status surg__judge_functions(const surg__target *t, surg_model *m, surg__objection_fn fn,
                                  void *user) {
  walk w = {.t = t, .m = m, .fn = fn, .user = user};
  if (t->functions != SURG__YES || !m->functions.count) return SURG_OK;
  surg__buf_init(&w.text, t->ctx);
  surg__judge_mark_calls(m);
  for (size_t i = 0; i < m->functions.count; i++) {
    surg_function *f = m->functions.items[i];
    f->told = 0;
    /* An engine that does not check the opsets of functions reads only those that are called. */
    if (t->windows == SURG__YES && !f->called) continue;
    if (t->windows != SURG__YES) judge_function_opsets(&w, f);
    judge_formals(&w, f);
    judge_body(&w, f);
    if (f->called) judge_spelling(&w, f);
  }
  judge_nodes(&w);
  surg_status s = judge_expansion(&w);
  if (w.text.failed) s = surg__alloc_status(t->ctx);
  surg__buf_free(&w.text);
  return s;
}
