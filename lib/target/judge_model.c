/* SPDX-License-Identifier: Apache-2.0 */
/* Judges a model against a target: versions, inputs and outputs, weights, node order, and each
 * node. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <onnxsurg/ops.h>

#include "base/context.h"
#include "base/dtype.h"
#include "check/check.h"
#include "infer/infer.h"
#include "ir/ir.h"
#include "target/judge.h"
#include "target/verdict.h"

typedef surg__walk walk;
#define tell surg__walk_tell

void surg__walk_tell(walk *w, surg__objection o) {
  surg__buf_putc(&w->text, 0);
  o.text = w->text.failed ? "" : w->text.p;
  if (!o.source) o.source = w->t->source;
  w->fn(w->user, &o);
  w->text.n = 0;
}

static void judge_window(walk *w, const char *what, int64_t have, const surg__tspan *want,
                         surg__cause cause) {
  if (have >= want->low && have <= want->high) return;
  const bool above = have > want->high;
  surg__buf_printf(&w->text, "%s %lld is %s the supported range: %s %lld", what, (long long)have,
                   above ? "above" : "below", above ? "at most" : "at least",
                   (long long)(above ? want->high : want->low));
  tell(w, (surg__objection){.verdict = SURG__ILLEGAL, .cause = cause});
}

/* Reports an opset that is newer than the newest known one, where the range of the engine ends with
 * what is known. */
static void judge_newer(walk *w, const char *what, const char *domain, int64_t have) {
  const int64_t newest = surg_schema_newest(domain);
  if (!newest || have <= newest || surg__target_accepts(w->t, "W217")) return;
  surg__buf_printf(&w->text, "%s %lld is newer than the newest known, %lld; its support is unknown",
                   what, (long long)have, (long long)newest);
  tell(w, (surg__objection){.verdict = SURG__UNKNOWN, .cause = SURG__C_OPSET});
}

static void judge_opsets(walk *w) {
  for (size_t i = 0; i < surg_model_import_count(w->m); i++) {
    const char *domain = surg_model_import_domain(w->m, i);
    if (!strcmp(domain, "ai.onnx")) domain = "";
    for (size_t k = 0; k < w->t->opsets.count; k++) {
      const surg__tspan *want = &w->t->opsets.items[k];
      char what[120];
      if (strcmp(want->name, domain) != 0) continue;
      snprintf(what, sizeof what, "opset%s%.80s", domain[0] ? " of " : "", domain);
      /* Of two imports of a domain none may be too new, whichever the engine uses. */
      const int64_t have = surg_model_import_version(w->m, i), other = w->m->imports.items[i].last;
      if (want->high == INT64_MAX) judge_newer(w, what, domain, have);
      judge_window(w, what, other > want->high ? other : have, want, SURG__C_OPSET);
    }
  }
}

static bool has_element(const surg_type *t) {
  for (; surg_type_get_kind(t) == SURG_TYPE_SEQUENCE || surg_type_get_kind(t) == SURG_TYPE_OPTIONAL;
       t = surg_type_elem(t)) {
  }
  const surg_type_kind kind = surg_type_get_kind(t);
  if (kind == SURG_TYPE_UNKNOWN) return false;
  return (kind != SURG_TYPE_TENSOR && kind != SURG_TYPE_SPARSE_TENSOR) || surg_type_dtype(t) > 0;
}

static bool is_declared(const surg_type *t) {
  return t && surg_type_get_kind(t) != SURG_TYPE_UNKNOWN;
}

/* Reports inputs without a type: no engine can allocate them. One that has a default may lack the
 * whole type, but not the element type of a tensor. */
static void judge_untyped(walk *w) {
  const surg_graph *g = surg_model_graph(w->m);
  for (size_t i = 0; i < surg_graph_input_count(g); i++) {
    const surg_value *v = surg_graph_input(g, i);
    const surg_type *t = surg_value_declared_type(v);
    if (is_declared(t) ? has_element(t) : surg_value_is_initializer(v)) continue;
    surg__buf_printf(&w->text, "input %s declares no element type",
                     surg__q(w->t->ctx, surg_value_name(v)));
    tell(w, (surg__objection){.verdict = SURG__ILLEGAL, .cause = SURG__C_TYPE, .value = v});
  }
}

/* Reports inputs with symbolic or unknown dimensions if the engine supports none, or only a
 * symbolic batch. */
static void judge_inputs(walk *w) {
  const surg_graph *g = surg_model_graph(w->m);
  if (w->t->dynamic != SURG__D_NONE && w->t->dynamic != SURG__D_BATCH) return;
  for (size_t i = 0; i < surg_graph_input_count(g); i++) {
    const surg_value *v = surg_graph_input(g, i);
    const surg_type *t = surg_value_declared_type(v);
    if (surg_value_is_initializer(v) || !t || surg_type_get_kind(t) != SURG_TYPE_TENSOR) continue;
    bool open = !surg_type_has_rank(t);
    for (size_t k = w->t->dynamic == SURG__D_BATCH; !open && k < surg_type_rank(t); k++)
      open = surg_type_dim(t, k)->value < 0;
    if (!open) continue;
    surg__buf_printf(&w->text, "input %s has a size that is not fixed",
                     surg__q(w->t->ctx, surg_value_name(v)));
    tell(w, (surg__objection){.verdict = SURG__ILLEGAL, .cause = SURG__C_DYNAMIC, .value = v});
  }
}

/* Whether the engine does not support something, or computes it differently from ONNX. */
static bool is_against(const surg__target *t, surg__tri how) {
  return how == SURG__NO || (how == SURG__MISREAD && !t->lenient);
}

static void judge_empty(walk *w) {
  const surg_graph *g = surg_model_graph(w->m);
  for (size_t i = 0; i < surg_graph_input_count(g); i++) {
    const surg_value *v = surg_graph_input(g, i);
    const surg_type *t = surg_value_declared_type(v);
    uint64_t n = 1;
    if (surg_value_is_initializer(v) || !t || surg_type_get_kind(t) != SURG_TYPE_TENSOR ||
        !surg_type_static(t, &n) || n)
      continue;
    const bool misread = w->t->empty == SURG__MISREAD;
    surg__buf_printf(&w->text, "%sinput %s has no elements", misread ? SURG__JUDGE_OTHERWISE : "",
                     surg__q(w->t->ctx, surg_value_name(v)));
    tell(w, (surg__objection){
                .verdict = SURG__ILLEGAL, .cause = SURG__C_RANGE, .misread = misread, .value = v});
  }
}

/* Whether a node reads the value, other than its shape: what is computed from that of fixed size is
 * constant, and an importer that folds drops the node. */
static bool is_read(const surg__target *t, const surg_value *v) {
  for (const surg_use *u = surg_value_first_use(v); u; u = surg_use_next(u)) {
    const surg_node *n = surg_use_node(u);
    if (!n || !t->folds) return true;
    if (surg_node_op(n) != SURG_OP_Shape && surg_node_op(n) != SURG_OP_Size) return true;
  }
  return false;
}

static void judge_unread(walk *w) {
  const surg_graph *g = surg_model_graph(w->m);
  for (size_t i = 0; i < surg_graph_input_count(g); i++) {
    const surg_value *v = surg_graph_input(g, i);
    if (surg_value_is_initializer(v) || is_read(w->t, v)) continue;
    const bool misread = w->t->unread == SURG__MISREAD;
    surg__buf_printf(&w->text, "%sno node reads the elements of input %s",
                     misread ? SURG__JUDGE_OTHERWISE : "", surg__q(w->t->ctx, surg_value_name(v)));
    tell(w, (surg__objection){
                .verdict = SURG__ILLEGAL, .cause = SURG__C_PLACE, .misread = misread, .value = v});
  }
}

static void judge_weight_type(walk *w, const surg_value *v, int d) {
  surg__buf taken;
  surg__buf_init(&taken, w->t->ctx);
  surg__target_put_types(&taken, w->t->weights);
  surg__buf_putc(&taken, 0);
  surg__buf_printf(&w->text, "constant %s is %s; supported: %s",
                   surg__q(w->t->ctx, surg_value_name(v)), surg__dtype_name(d),
                   taken.failed ? "others" : taken.p);
  surg__buf_free(&taken);
  tell(w, (surg__objection){.verdict = SURG__ILLEGAL, .cause = SURG__C_TYPE, .value = v});
}

/* Whether an element of a 64-bit integer tensor is outside the range; *out is the first such
 * element. False for other element types. */
static bool is_beyond(const surg_tensor *c, const surg__tspan *want, int64_t *out) {
  int64_t part[512];
  const int d = surg_tensor_dtype(c);
  if ((d != SURG_INT64 && d != SURG_UINT64) || surg_tensor_is_sparse(c)) return false;
  const uint64_t bytes = surg_tensor_bytes(c);
  for (uint64_t at = 0; at < bytes; at += sizeof part) {
    const size_t n = bytes - at < sizeof part ? (size_t)(bytes - at) : sizeof part;
    if (surg_tensor_read(c, at, part, n) != SURG_OK) return false;
    for (size_t i = 0; i < n / sizeof *part; i++) {
      const uint64_t element = surg__le64(&part[i]);
      const bool large = d == SURG_UINT64 && element > INT64_MAX;
      *out = large ? INT64_MAX : (int64_t)element;
      if (*out > want->high || *out < want->low) return true;
    }
  }
  return false;
}

/* Reports a constant with an element out of range, at the first node that reads it: repair rules
 * start from a node. */
static void judge_weight_values(walk *w, const surg_value *v, const surg_tensor *c, int d) {
  const surg_use *use = surg_value_first_use(v);
  int64_t element;
  if (c->view == SURG__VIEW_ABSENT) {
    surg__buf_printf(&w->text,
                     "the range of the elements of %s, which are not available, is unknown",
                     surg__q(w->t->ctx, surg_value_name(v)));
    tell(w, (surg__objection){.verdict = SURG__UNKNOWN, .cause = SURG__C_RANGE, .value = v});
    return;
  }
  if (!is_beyond(c, &w->t->within[d], &element)) return;
  surg__buf_printf(&w->text, "constant %s has the element %lld; supported for %s: %lld to %lld",
                   surg__q(w->t->ctx, surg_value_name(v)), (long long)element, surg__dtype_name(d),
                   (long long)w->t->within[d].low, (long long)w->t->within[d].high);
  tell(w, (surg__objection){.verdict = SURG__ILLEGAL,
                            .cause = SURG__C_RANGE,
                            .node = use ? surg_use_node(use) : NULL,
                            .value = v});
}

/* Reports the first weight that is stored as a sparse tensor, of those that the engine does not
 * support or that are large once they are dense; true if there is one. */
static bool judge_sparse(walk *w, const surg_graph *g) {
  for (const surg_value *v = surg_graph_next_value(g, NULL); v; v = surg_graph_next_value(g, v)) {
    if (!v->initializer || !surg_tensor_is_sparse(v->tensor)) continue;
    const bool dense = w->t->sparse == SURG__YES;
    if (dense && surg__judge_dense(v->tensor)) continue;
    surg__buf_printf(
        &w->text, "constant %s is a sparse tensor%s", surg__q(w->t->ctx, surg_value_name(v)),
        dense ? " of 2 GiB or more once it is dense; whether the engine has the memory is "
                "unknown"
        : w->t->sparse == SURG__NO ? ""
                                   : "; whether the engine supports it is unknown");
    tell(w, (surg__objection){.verdict = w->t->sparse == SURG__NO ? SURG__ILLEGAL : SURG__UNKNOWN,
                              .cause = SURG__C_TYPE,
                              .value = v});
    return true;
  }
  return false;
}

/* Reports a constant of too high a rank: the engine does not read it, or inference does not follow
 * it. */
static void judge_weight_rank(walk *w, const surg_value *v, const surg_tensor *c) {
  const size_t rank = surg_tensor_rank(c);
  const bool no = w->t->weight_rank && (int64_t)rank > w->t->weight_rank;
  if (!no && rank <= SURG_LIMIT_RANK) return;
  surg__buf_printf(&w->text,
                   no ? "constant %s has rank %zu; the most is %lld"
                      : "constant %s has rank %zu; ranks above %lld are not analyzed",
                   surg__q(w->t->ctx, surg_value_name(v)), rank,
                   (long long)(no ? w->t->weight_rank : SURG_LIMIT_RANK));
  tell(w, (surg__objection){
              .verdict = no ? SURG__ILLEGAL : SURG__UNKNOWN, .cause = SURG__C_RANGE, .value = v});
}

static void judge_weights(walk *w, const surg_graph *g) {
  for (const surg_value *v = surg_graph_next_value(g, NULL); v; v = surg_graph_next_value(g, v)) {
    const surg_tensor *c = surg_value_initializer(v);
    if (!c) c = surg_value_constant(v);
    const int d = c ? surg_tensor_dtype(c) : 0;
    if (d <= 0 || d >= SURG__DTYPES) continue;
    if (w->t->weights && !(w->t->weights >> d & 1)) judge_weight_type(w, v, d);
    if (w->t->within[d].name) judge_weight_values(w, v, c, d);
    judge_weight_rank(w, v, c);
  }
}

static void judge_keys(walk *w, const surg_graph *g) {
  const char *key;
  const surg_value *v = surg__judge_odd_key(w->t, g, &key);
  if (!v) return;
  surg__buf_printf(&w->text, "%s is in a data file whose entry has the key %s, which is unknown",
                   surg__q(w->t->ctx, surg_value_name(v)), surg__q(w->t->ctx, key));
  tell(w, (surg__objection){.verdict = SURG__ILLEGAL, .cause = SURG__C_EXTERNAL, .value = v});
}

/* Reports the first weight in a data file; true if there is one. One is enough, as one pass cures
 * all. */
static bool judge_external(walk *w, const surg_graph *g) {
  for (const surg_value *v = surg_graph_next_value(g, NULL); v; v = surg_graph_next_value(g, v)) {
    const surg_tensor *c = surg_value_initializer(v);
    if (!c || !surg_tensor_is_external(c)) continue;
    surg__buf_printf(&w->text, "%s is in a data file", surg__q(w->t->ctx, surg_value_name(v)));
    tell(w, (surg__objection){.verdict = SURG__ILLEGAL, .cause = SURG__C_EXTERNAL, .value = v});
    return true;
  }
  return false;
}

static bool is_typed(const surg_value *v) {
  const surg_graph *g = surg_value_graph(v);
  const surg_type *t = surg_value_declared_type(v);
  for (size_t i = 0; !t && i < surg_graph_output_count(g); i++)
    if (surg_graph_output(g, i) == v) t = surg_graph_output_type(g, i);
  return t && has_element(t);
}

/* The first output of a call of the function whose type is not declared; NULL: none. */
static const surg_value *untyped_result(const surg_model *m, const surg_function *f) {
  for (const surg_graph *g = NULL; (g = surg_model_next_graph(m, g));)
    for (const surg_node *n = surg_graph_first_node(g); n; n = surg_node_next(n))
      for (size_t i = 0; surg_node_function(n) == f && i < surg_node_output_count(n); i++) {
        const surg_value *v = surg_node_output(n, i);
        if (v && !is_typed(v)) return v;
      }
  return NULL;
}

/* Reports a function with nodes out of order, where the engine, which infers types in the order of
 * the file, may not find the types of its results. */
static void judge_function_order(walk *w, const surg_function *f) {
  const surg_value *v = untyped_result(w->m, f);
  if (!v) return;
  surg__buf_printf(&w->text, "nodes of function %s precede nodes that they read",
                   surg__q(w->t->ctx, surg_function_name(f)));
  surg__buf_printf(&w->text, "; whether the engine infers the type of %s is unknown",
                   surg__q(w->t->ctx, surg_value_name(v)));
  tell(w, (surg__objection){.verdict = SURG__UNKNOWN, .cause = SURG__C_ORDER, .value = v});
}

/* The node of the graph that is, or contains, the user; NULL: it is not in the graph. */
static const surg_node *node_within(const surg_graph *g, const surg_node *n) {
  while (n && surg_node_graph(n) != g) n = surg_graph_parent_node(surg_node_graph(n));
  return n;
}

/* Whether, in the file, only Constant nodes follow nodes that read them, and the engine makes
 * initializers of these before it looks at the order. */
static bool follows_constants_only(const surg__target *t, const surg_graph *g) {
  if (!t->lax_attributes || surg_graph_function(g)) return false;
  if (surg__judge_rejects_inside(t, "E126", g)) return false; /* they stay nodes for the checker */
  for (const surg_node *n = surg_graph_first_node(g); n; n = surg_node_next(n)) {
    if (surg__judge_is_constant(n)) continue;
    for (size_t i = 0; i < surg_node_output_count(n); i++) {
      const surg_value *v = surg_node_output(n, i);
      for (const surg_use *u = v ? surg_value_first_use(v) : NULL; u; u = surg_use_next(u)) {
        const surg_node *reader = node_within(g, surg_use_node(u));
        if (reader && reader->src.field_off < n->src.field_off) return false;
      }
    }
  }
  return true;
}

static void judge_order(walk *w, const surg_graph *g) {
  const bool called = w->t->unsorted_functions && g->kind == SURG_GRAPH_FUNCTION;
  if (called && g->sorted_on_load) judge_function_order(w, surg_graph_function(g));
  const bool body = w->t->unsorted_main && g != surg_model_graph(w->m) && !called;
  if (!g->sorted_on_load || (w->t->unsorted == SURG__YES && !body)) return;
  if (follows_constants_only(w->t, g)) return;
  surg__buf_puts(&w->text, "a node precedes the producer of its input");
  tell(w, (surg__objection){
              .verdict = w->t->unsorted == SURG__NO || body ? SURG__ILLEGAL : SURG__UNKNOWN,
              .cause = SURG__C_ORDER});
}

static void judge_outputs(walk *w) {
  const surg_graph *g = surg_model_graph(w->m);
  for (size_t i = 0; i < surg_graph_output_count(g); i++) {
    const surg_value *v = surg_graph_output(g, i);
    const surg__judge j = {.t = w->t};
    const bool bare = w->t->bare == SURG__NO && !surg_value_producer(v, NULL);
    if (!bare && (!is_against(w->t, w->t->fixed) || surg__judge_constant(&j, v) != SURG__YES))
      continue;
    const bool misread = !bare && w->t->fixed == SURG__MISREAD;
    surg__buf_printf(&w->text, "%soutput %s is %s", misread ? SURG__JUDGE_OTHERWISE : "",
                     surg__q(w->t->ctx, surg_value_name(v)),
                     bare ? "computed by no node" : "constant");
    tell(w, (surg__objection){
                .verdict = SURG__ILLEGAL, .cause = SURG__C_PLACE, .misread = misread, .value = v});
  }
}

/* An input or output of the model, with its declared type. */
typedef struct model_end {
  bool in;
  const surg_value *v;
  const surg_type *t;
} model_end;

/* The i-th input or output, inputs first; false: i is too large. */
static bool end_at(const surg_model *m, size_t i, model_end *out) {
  const surg_graph *g = surg_model_graph(m);
  const size_t inputs = surg_graph_input_count(g);
  if (i >= inputs + surg_graph_output_count(g)) return false;
  out->in = i < inputs;
  out->v = out->in ? surg_graph_input(g, i) : surg_graph_output(g, i - inputs);
  out->t = out->in ? surg_value_declared_type(out->v) : surg_graph_output_type(g, i - inputs);
  return true;
}

/* Reports inputs and outputs of an element type that those of the model must not have. */
static void judge_end_types(walk *w) {
  model_end e;
  for (size_t i = 0; end_at(w->m, i, &e); i++) {
    const int d = e.t && surg_type_get_kind(e.t) == SURG_TYPE_TENSOR ? surg_type_dtype(e.t) : 0;
    if (d <= 0 || (d < SURG__DTYPES && w->t->ends >> d & 1)) continue;
    surg__buf_printf(&w->text, "%s %s is %s, which inputs and outputs of a model must not be",
                     e.in ? "input" : "output", surg__q(w->t->ctx, surg_value_name(e.v)),
                     surg__dtype_name(d));
    tell(w, (surg__objection){.verdict = SURG__ILLEGAL, .cause = SURG__C_TYPE, .value = e.v});
  }
}

static void judge_optional(walk *w) {
  model_end e;
  for (size_t i = 0; end_at(w->m, i, &e); i++) {
    if (!e.t || surg_type_get_kind(e.t) != SURG_TYPE_OPTIONAL) continue;
    surg__buf_printf(&w->text, "%s %s is of an optional type", e.in ? "input" : "output",
                     surg__q(w->t->ctx, surg_value_name(e.v)));
    tell(w, (surg__objection){.verdict = SURG__ILLEGAL, .cause = SURG__C_TYPE, .value = e.v});
  }
}

static bool is_element_less(const surg_type *t) {
  return t && surg_type_get_kind(t) == SURG_TYPE_TENSOR && surg_type_dtype(t) <= 0;
}

/* Whether engines have the type of a value from elsewhere when they read its value_info or, for
 * `output`, its entry among the outputs: the first declaration counts. */
static bool is_typed_before(const walk *w, const surg_graph *g, const surg_value *v, bool output) {
  if (v->input) return output || !g->parent_node;
  if (v->initializer && (!w->t->typed_weights || surg_model_ir_version(w->m) >= 4)) return true;
  return !output && surg__check_is_typed_output(v);
}

/* Reports the first value that is declared as a tensor without an element type, except inputs of
 * the model. */
static void judge_typed(walk *w, const surg_graph *g) {
  const surg_value *found = NULL;
  for (size_t i = 0; i < surg_graph_output_count(g) && !found; i++) {
    const surg_value *v = surg_graph_output(g, i);
    if (is_element_less(surg_graph_output_type(g, i)) && !is_typed_before(w, g, v, true)) found = v;
  }
  for (const surg_value *v = NULL; !found && (v = surg_graph_next_value(g, v));)
    if (is_element_less(surg_value_declared_type(v)) && !is_typed_before(w, g, v, false)) found = v;
  if (!found) return;
  surg__buf_printf(&w->text, "%s is declared as a tensor without an element type",
                   surg__q(w->t->ctx, surg_value_name(found)));
  tell(w, (surg__objection){.verdict = SURG__ILLEGAL,
                            .cause = SURG__C_INVALID,
                            .code = "W207",
                            .where = "model",
                            .value = found});
}

static void judge_declared(walk *w) {
  model_end e;
  for (size_t i = 0; end_at(w->m, i, &e); i++) {
    const surg_value *v = e.v;
    const surg_type *t = e.t;
    const bool in = e.in;
    const bool tensor = !t || surg_type_get_kind(t) == SURG_TYPE_TENSOR;
    if (t && tensor && surg_type_has_rank(t)) continue;
    surg__buf_printf(&w->text, "%s %s %s", in ? "input" : "output",
                     surg__q(w->t->ctx, surg_value_name(v)),
                     tensor ? "declares no shape" : "is not a tensor");
    tell(w, (surg__objection){.verdict = SURG__ILLEGAL, .cause = SURG__C_DYNAMIC, .value = v});
  }
}

static surg_status judge_read(const surg__target *t, surg_model *m, surg__objection_fn fn,
                              void *user) {
  surg_status s = surg__target_facts(t, m, fn, user);
  if (s) return s;
  walk w = {.t = t, .m = m, .fn = fn, .user = user};
  surg__buf_init(&w.text, t->ctx);
  if (!t->declared) judge_untyped(&w);
  if (w.text.failed) s = surg__alloc_status(t->ctx);
  surg__buf_free(&w.text);
  return s == SURG_OK ? surg__target_valid(t, m, fn, user) : s;
}

/* Objections to nodes of functions, which are judged several times. */
typedef struct in_functions {
  surg__objection_fn fn;
  void *user;
  surg_context *ctx;
  SURG_VEC(uint64_t) said; /* hashes of objections; those of earlier times are first, in order */
  size_t earlier;
  bool again;  /* after the first time */
  bool failed; /* memory ran out */
} in_functions;

static int by_number(const void *a, const void *b) {
  const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return (x > y) - (x < y);
}

/* Texts may not be made (`silent`): then one objection to a value stands for all of its cause. */
static uint64_t hash_of(const in_functions *to, const surg__objection *o) {
  const uint64_t parts[] = {
      (uint64_t)(uintptr_t)o->node, (uint64_t)(uintptr_t)o->value, (uint64_t)o->cause,
      o->text ? surg__hash(to->ctx, o->text, strlen(o->text)) : 0,
      o->where ? surg__hash(to->ctx, o->where, strlen(o->where)) : 0};
  return surg__hash(to->ctx, parts, sizeof parts);
}

static void tell_in_functions(void *user, const surg__objection *o) {
  in_functions *to = user;
  const bool inside = (o->where && !strncmp(o->where, "function[", 9)) ||
                      (o->node && surg__judge_function_around(surg_node_graph(o->node)));
  if (to->again && (!inside || o->verdict != SURG__ILLEGAL)) return;
  const uint64_t hash = hash_of(to, o);
  if (to->earlier && bsearch(&hash, to->said.items, to->earlier, sizeof hash, by_number)) return;
  if (!surg__vec_push(to->ctx, &to->said, hash)) to->failed = true;
  to->fn(to->user, o);
}

static void doubt_more_calls(const surg__target *t, const in_functions *to) {
  char text[120];
  snprintf(text, sizeof text,
           "more than %zu calls of a function pass different attributes; not all are judged",
           SURG__PASSED_MOST);
  to->fn(to->user, &(surg__objection){.verdict = SURG__UNKNOWN,
                                      .cause = SURG__C_ATTR,
                                      .where = "model",
                                      .text = text,
                                      .source = t->source});
}

/* Judges the model for each set of attributes that calls pass to functions. */
static surg_status judge_passed(const surg__target *t, surg_model *m, surg__objection_fn fn,
                                void *user) {
  surg__passed passed;
  in_functions to = {.fn = fn, .user = user, .ctx = m->ctx};
  uint32_t most = 1;
  surg_status s = SURG_OK;
  for (uint32_t i = 0; i < most && i < SURG__PASSED_MOST && s == SURG_OK; i++) {
    most = surg__passed_begin(m, &passed, i);
    to.failed |= passed.failed;
    s = most > 1 ? judge_read(t, m, tell_in_functions, &to) : judge_read(t, m, fn, user);
    surg__passed_end(m, &passed);
    if (to.failed) s = surg__alloc_status(m->ctx);
    if (to.said.count) qsort(to.said.items, to.said.count, sizeof *to.said.items, by_number);
    to.earlier = to.said.count;
    to.again = true;
  }
  if (s == SURG_OK && most > SURG__PASSED_MOST) doubt_more_calls(t, &to);
  surg__vec_free(m->ctx, &to.said);
  return s;
}

static surg_status judge_model(const surg__target *t, surg_model *m, surg__objection_fn fn,
                               void *user) {
  surg__imports_as_read kept;
  surg_status s = surg__calls_begin(t, m);
  if (s == SURG_OK) s = surg__judge_functions(t, m, fn, user);
  if (s == SURG_OK) {
    s = surg__imports_begin(t, m, &kept);
    if (s == SURG_OK) s = judge_passed(t, m, fn, user);
    surg__imports_end(m, &kept);
  }
  surg__calls_end(m);
  return s;
}

static surg_status judge_attributes(const surg__target *t, surg_model *m, surg__objection_fn fn,
                                    void *user) {
  return surg__judge_wide(t, m, judge_model, fn, user);
}

#define MISREAD_MOST 64   /* misread nodes that are remembered */
#define UPSTREAM_MOST 500 /* nodes before another one that are looked at */
#define SEARCHES_MOST 500 /* nodes for which this is done */

/* The nodes of a graph that the engine misreads. */
typedef struct misreads {
  const surg_node *nodes[MISREAD_MOST];
  size_t n, searches;
} misreads;

static bool is_listed(const surg_node *const *list, size_t n, const surg_node *node) {
  for (size_t i = 0; i < n; i++)
    if (list[i] == node) return true;
  return false;
}

/* Whether a value that the node reads is computed from the result of a misread node. */
static bool follows_misread(misreads *m, const surg_node *n) {
  const surg_node *seen[UPSTREAM_MOST];
  size_t count = 0, done = 0;
  if (!m->n || m->searches >= SEARCHES_MOST) return false;
  m->searches++;
  seen[count++] = n;
  while (done < count) {
    const surg_node *at = seen[done++];
    for (size_t i = 0; i < surg_node_input_count(at); i++) {
      const surg_value *v = surg_node_input(at, i);
      const surg_node *up = v ? surg_value_producer(v, NULL) : NULL;
      if (!up || is_listed(seen, count, up)) continue;
      if (is_listed(m->nodes, m->n, up)) return true;
      if (count < UPSTREAM_MOST) seen[count++] = up;
    }
  }
  return false;
}

/* Notes a misread node; and of an objection to sizes, or to a missing constant, that it follows
 * from one: the importer sees other sizes, and may import the node. */
static void note_misread(misreads *m, surg__objection *o) {
  const bool sizes = o->cause == SURG__C_DYNAMIC || o->cause == SURG__C_CONSTANT;
  if (!o->misread && sizes && follows_misread(m, o->node)) o->misread = o->fed = true;
  if (o->misread && m->n < MISREAD_MOST) m->nodes[m->n++] = o->node;
}

/* What is reported once for a model, by the first graph that has it. */
typedef struct once {
  bool external, sparse;
  bool named; /* a supported node of which the target states nothing but the operator's name */
} once;

static bool is_only_named(const surg__target *t, const surg_node *n) {
  if (!t->names_only || surg_node_function(n)) return false;
  const surg__op_facts *op = surg__target_op(t, surg_node_domain(n), surg_node_op_type(n));
  return op && op->n == 1 && op->facts[0].bare;
}

/* Reports that no fact contradicts the nodes, and none proves their support. */
static void judge_named(walk *w, const once *done) {
  if (w->t->says) {
    surg__buf_printf(&w->text, "supported with a limit: %s", w->t->says);
    tell(w, (surg__objection){.verdict = SURG__UNKNOWN, .cause = SURG__C_SAYS});
  }
  if (!done->named) return;
  surg__buf_puts(&w->text,
                 "the target lists operators by name only: which versions, types and attributes "
                 "of them the engine supports is unknown");
  tell(w, (surg__objection){.verdict = SURG__UNKNOWN, .cause = SURG__C_SAYS});
}

/* A node that the engine ignores. One of a body is inferred with the node around it, and fails. */
static bool is_bare(const surg_node *n) {
  return !n->n_in && !n->n_out && !surg_node_graph(n)->parent_node;
}

bool surg__judge_drops_graph(const surg__target *t, const surg_graph *g) {
  while (t->drops_bare && g && g->parent_node) {
    if (is_bare(g->parent_node)) return true;
    g = surg_node_graph(g->parent_node);
  }
  return false;
}

bool surg__judge_drops(const surg__target *t, const surg_node *n) {
  return (t->drops_bare && is_bare(n)) || surg__judge_drops_graph(t, surg_node_graph(n));
}

/* Whether an engine that ignores bare nodes knows the operator. By name: a node with an error
 * finding has no schema, and a bare node has errors. */
static bool is_known(const surg_node *n) {
  const int64_t opset = surg_graph_opset(surg_node_graph(n), surg_node_domain(n));
  return surg_schema_find(surg_node_domain(n), surg_node_op_type(n), opset) != NULL;
}

/* Reports bare nodes that an engine which ignores them rejects all the same: a Constant, of which
 * it makes an initializer, and known operators in functions, which it infers. Of a node with
 * subgraphs it reads some. */
static void judge_bare(walk *w, const surg_node *n) {
  if (!is_bare(n)) return;
  const bool body = surg_graph_function(surg_node_graph(n)) && is_known(n);
  const bool no = body || surg__judge_is_constant(n);
  if (!no && !surg_node_subgraph(n, 0)) return;
  surg__buf_puts(&w->text, "it has neither inputs nor outputs");
  if (!no) surg__buf_puts(&w->text, "; whether its subgraphs are read is unknown");
  tell(w, (surg__objection){.verdict = no ? SURG__ILLEGAL : SURG__UNKNOWN,
                            .cause = body ? SURG__C_FUNCTION : SURG__C_PLACE,
                            .node = n});
}

/* Reports a model for which the engine has nothing to allocate. */
static void judge_void(walk *w) {
  const surg_graph *g = surg_model_graph(w->m);
  const surg_node *n = surg_graph_first_node(g);
  if (surg_graph_output_count(g) || (surg_graph_input_count(g) && n)) return;
  while (n && (is_bare(n) || surg_node_op(n) == SURG_OP_Constant)) n = surg_node_next(n);
  surg__buf_puts(&w->text, "the model has no output");
  tell(w, (surg__objection){.verdict = n ? SURG__UNKNOWN : SURG__ILLEGAL, .cause = SURG__C_PLACE});
}

static void judge_nesting(walk *w) {
  const uint64_t depth = surg__judge_nesting(w->m);
  if (depth <= (uint64_t)w->t->nesting) return;
  surg__buf_printf(&w->text, "graphs are nested too deep: %llu messages, and the engine reads %lld",
                   (unsigned long long)depth, (long long)w->t->nesting);
  tell(w, (surg__objection){.verdict = SURG__ILLEGAL, .cause = SURG__C_RANGE});
}

/* Reports subgraphs that are nested so deep that the engine, which examines each once more for
 * every level around it, may not have the time. */
static void judge_levels(walk *w) {
  const uint64_t levels = surg__judge_levels(w->m);
  if (levels <= (uint64_t)w->t->quick_levels) return;
  surg__buf_printf(&w->text,
                   "subgraphs are nested %llu deep; the engine needs twice the time for each level "
                   "above %lld: whether it has that is unknown",
                   (unsigned long long)levels, (long long)w->t->quick_levels);
  tell(w, (surg__objection){.verdict = SURG__UNKNOWN, .cause = SURG__C_RANGE});
}

static void judge_graph(walk *w, const surg_graph *g, once *done) {
  const surg_function *f = surg_graph_function(g);
  misreads misread = {.n = 0};
  if ((f && !f->called) || surg__judge_drops_graph(w->t, g)) return;
  judge_order(w, g);
  judge_weights(w, g);
  if (w->t->typed_tensors && !f) judge_typed(w, g);
  if (!done->external) done->external = judge_external(w, g);
  judge_keys(w, g);
  if (!done->sparse) done->sparse = judge_sparse(w, g);
  for (const surg_node *n = surg_graph_first_node(g); n; n = surg_node_next(n)) {
    surg__objection o = {0};
    w->text.n = 0;
    if (surg__judge_drops(w->t, n)) {
      judge_bare(w, n);
      continue;
    }
    if (surg_node_domain(n)[0] && surg__judge_made_initializer(w->t, n)) continue;
    if (surg__target_node(w->t, n, &w->text, &o) == SURG__LEGAL) {
      done->named = done->named || is_only_named(w->t, n);
      continue;
    }
    o.node = n;
    if (o.verdict == SURG__ILLEGAL) note_misread(&misread, &o);
    tell(w, o);
  }
}

static bool is_completed(const surg_model *m) {
  for (const surg_graph *g = NULL; (g = surg_model_next_graph(m, g));)
    for (const surg_value *v = g->first_value; v; v = v->next)
      if (surg__infer_is_completed(v)) return true;
  return false;
}

/* Infers what the engine knows of the values; *believed: declared types are part of it. Function
 * bodies get the types that all their calls have in common. */
static surg_status infer_known(const surg__target *t, surg_model *m, bool *believed) {
  const bool called = m->functions.count > 0;
  const surg_status s = called ? surg__infer_functions(m) : surg_model_infer(m);
  *believed = s == SURG_OK && t->merges_declared && is_completed(m);
  return *believed ? surg__infer_believed(m, (surg__beliefs){.complete = true, .of_calls = called})
                   : s;
}

surg_status surg__target_facts(const surg__target *t, surg_model *m, surg__objection_fn fn,
                               void *user) {
  bool believed;
  surg_status s = infer_known(t, m, &believed);
  if (s) return s;
  walk w = {.t = t, .m = m, .fn = fn, .user = user};
  surg__buf_init(&w.text, t->ctx);
  judge_window(&w, "IR version", surg_model_ir_version(m), &t->ir, SURG__C_IR);
  judge_opsets(&w);
  judge_inputs(&w);
  if (t->declared) judge_declared(&w);
  if (is_against(t, t->empty)) judge_empty(&w);
  if (is_against(t, t->unread)) judge_unread(&w);
  judge_outputs(&w);
  if (t->ends) judge_end_types(&w);
  if (t->optional == SURG__NO) judge_optional(&w);
  if (t->needs_value) judge_void(&w);
  if (t->nesting) judge_nesting(&w);
  if (t->quick_levels) judge_levels(&w);
  once done = {.external = t->external != SURG__NO};
  surg__judge_mark_calls(m);
  for (const surg_graph *g = NULL; (g = surg_model_next_graph(m, g));) judge_graph(&w, g, &done);
  surg__judge_lost(t, m, fn, user);
  judge_named(&w, &done);
  if (w.text.failed) s = surg__alloc_status(t->ctx);
  surg__buf_free(&w.text);
  if (believed) m->inferred_epoch = 0;
  return s || !believed ? s : surg_model_infer(m);
}

/* The receiver of the objections of a judgement that counts unknown ones as certain. */
typedef struct hearing {
  surg__objection_fn fn;
  void *user;
} hearing;

static void pass_sure(void *user, const surg__objection *o) {
  const hearing *h = user;
  surg__objection sure = *o;
  if (o->verdict == SURG__UNKNOWN && o->cause != SURG__C_DATA) sure.verdict = SURG__ILLEGAL;
  h->fn(h->user, &sure);
}

surg_status surg__target_model(const surg__target *t, surg_model *m, surg__objection_fn fn,
                               void *user) {
  if (t->sure) {
    surg__target plain = *t;
    hearing h = {fn, user};
    plain.sure = false;
    return surg__target_model(&plain, m, pass_sure, &h);
  }
  if (t->between) return surg__judge_between(t, m, fn, user);
  if (!t->host) return surg__judge_lax(t, m, judge_attributes, fn, user);
  const surg__target host = surg__judge_host(t);
  return surg__judge_lax(&host, m, judge_attributes, fn, user);
}
