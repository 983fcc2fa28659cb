/* SPDX-License-Identifier: Apache-2.0 */
/* Computes verdicts, and converts findings of `check` to objections. The checker knows what ONNX
 * forbids; the target states which of it the engine accepts or rejects (`accepts`,
 * doc/targets.md). */
#include "target/verdict.h"

#include <stdio.h>

#include <onnxsurg/names.h>
#include <onnxsurg/ops.h>

#include "base/context.h"
#include "check/check.h"
#include "infer/infer.h"
#include "io/io.h"
#include "ir/ir.h"
#include "target/judge.h"

#define FINDINGS 1000u /* most findings of a model that become objections */

surg__verdict surg__verdict_of(size_t unsupported, size_t unknown) {
  return unsupported ? SURG__ILLEGAL : unknown ? SURG__UNKNOWN : SURG__LEGAL;
}

const char *surg__verdict_word(surg__verdict v) {
  return v == SURG__LEGAL ? "supported" : v == SURG__UNKNOWN ? "unknown" : "unsupported";
}

/* Rules that every engine depends on: nothing can be computed from a model that breaks them. */
static bool is_fatal(const char *code) {
  static const char *const codes[] = {"E001", "E100", "E110", "E114", "E115", "E117",
                                      "E119", "E120", "E123", "E126", "E128", "E201",
                                      "E202", "E203", "E205", "E206", "E207", "W206"};
  for (size_t i = 0; i < SURG_COUNT(codes); i++)
    if (strcmp(codes[i], code) == 0) return true;
  return false;
}

/* The verdict of the version that the facts are of. */
static surg__verdict finding_of(const surg__target *t, const char *code) {
  for (size_t i = 0; i < t->accepts.count; i++)
    if (strcmp(t->accepts.items[i].code, code) == 0)
      return t->accepts.items[i].accepted ? SURG__LEGAL : SURG__ILLEGAL;
  if (is_fatal(code)) return t->unchecked ? SURG__UNKNOWN : SURG__ILLEGAL;
  return surg__check_severity(code) == SURG_ERROR ? SURG__UNKNOWN : SURG__LEGAL;
}

surg__verdict surg__target_finding(const surg__target *t, const char *code) {
  const surg__verdict v = finding_of(t, code);
  if (!t->between) return v;
  const surg__verdict newer = t->newer ? finding_of(t->newer, code) : v;
  const bool limit = !t->newer && v == SURG__ILLEGAL && !is_fatal(code);
  return v == newer && !limit ? v : SURG__UNKNOWN;
}

bool surg__target_accepts(const surg__target *t, const char *code) {
  for (size_t i = 0; i < t->accepts.count; i++)
    if (strcmp(t->accepts.items[i].code, code) == 0) return t->accepts.items[i].accepted;
  return false;
}

bool surg__target_judges(const char *code) {
  /* Order, operators and domains are judged in judge_model.c and judge_node.c. */
  return strcmp(code, "E101") == 0 || strcmp(code, "E103") == 0 || strcmp(code, "E104") == 0;
}

/* A finding, with what it is about; each may be NULL. */
typedef struct about {
  const surg_node *node;
  const surg_graph *graph;
  bool excusable;          /* unknown, where it would be rejected */
  bool doubtful;           /* unknown, where it would be accepted */
  bool accepted;           /* whatever the target states of its code */
  const surg_value *value; /* that is declared otherwise */
  const char *attr;        /* whose value is wrong */
  bool rejected;           /* whatever the target states of its code */
  surg__since since;       /* releases of ONNX that report it */
} about;

/* A finding that the engine notices if it infers the shapes of the inputs of the node. */
typedef struct pending {
  const surg_node *node;
  const char *code, *where, *text;
} pending;

typedef struct passing {
  const surg__target *t;
  const surg_model *m;
  surg__objection_fn fn;
  void *user;
  surg__tri absent; /* of has_absent, once it was asked: a model may have many findings */
  SURG_VEC(const surg_node *) found; /* nodes with a finding, FINDINGS at most */
  SURG_VEC(pending) pending;         /* findings that the engine may not notice */
  surg__arena texts;                 /* of these */
} passing;

/* Whether a node leaves out an input by an empty name. */
static bool has_absent(const surg_model *m) {
  for (const surg_graph *g = NULL; (g = surg_model_next_graph(m, g));)
    for (const surg_node *n = surg_graph_first_node(g); n; n = surg_node_next(n))
      for (size_t i = 0; i < surg_node_input_count(n); i++)
        if (!surg_node_input(n, i)) return true;
  return false;
}

/* Whether an engine accepts some models with this finding and rejects others, for a reason that the
 * finding does not contain. */
static bool is_open(passing *p, const char *code) {
  /* An initializer without a name is read by the nodes that leave out an input. */
  if (strcmp(code, "E129") != 0) return false;
  if (p->absent == SURG__UNSAID) p->absent = has_absent(p->m) ? SURG__YES : SURG__NO;
  return p->absent == SURG__YES;
}

/* The newest opset of the default domain that the target states, or 0. */
static int64_t newest_opset(const surg__target *t) {
  for (size_t i = 0; i < t->opsets.count; i++)
    if (!t->opsets.items[i].name[0]) return t->opsets.items[i].high;
  return 0;
}

/* Whether the model imports the newest opset that the engine supports. */
static bool is_newest(const surg__target *t, const surg_model *m) {
  return surg_model_opset(m, "") == newest_opset(t);
}

/* The number that `surg__since` compares. */
static int64_t level(const surg__target *t) {
  return t->onnx_level ? t->onnx_level : newest_opset(t);
}

/* Whether the engine reports what the shape inference of some releases of ONNX overlooks. Of an
 * engine that is not known to use one, nothing follows. */
static surg__verdict infers(const surg__target *t, surg__since since) {
  const int64_t own = level(t), newer = t->between && t->newer ? level(t->newer) : own;
  if (!since.from) return SURG__ILLEGAL;
  if (!t->onnx_inference || !own || !newer) return SURG__UNKNOWN;
  if (own >= since.from) return SURG__ILLEGAL;
  return newer <= since.until ? SURG__LEGAL : SURG__UNKNOWN;
}

static bool is_dropped(const surg__target *t, about of) {
  return (of.node && surg__judge_drops(t, of.node)) ||
         (of.graph && surg__judge_drops_graph(t, of.graph));
}

/* Whether an import of the default domain follows an import that is out of range: an engine that
 * uses the last one does not see the other. */
static bool is_superseded(passing *p, const surg__defect *d) {
  if (strcmp(d->code, "E121") != 0 || d->function || !p->t->last_import) return false;
  for (size_t i = 0; i < p->m->imports.count; i++) {
    const surg__import *import = &p->m->imports.items[i];
    if (strcmp(import->domain, "ai.onnx") != 0 && import->domain[0]) continue;
    if (import->src.field_off > d->off) return true;
  }
  return false;
}

/* By name: a node that loading found invalid has no surg_op. */
static bool is_named_constant(const surg_node *n) {
  return n && !strcmp(n->op_type, "Constant");
}

bool surg__judge_is_constant(const surg_node *n) {
  return is_named_constant(n) && !surg_node_domain(n)[0];
}

/* Whether the engine makes an initializer of the node, of which it compares the name alone: not the
 * domain, and not the inputs. */
bool surg__judge_made_initializer(const surg__target *t, const surg_node *n) {
  return t->lax_attributes && is_named_constant(n) && n->n_out == 1 && n->n_attr == 1 &&
         n->attrs[0]->kind == SURG_ATTR_TENSOR && !surg_graph_function(n->graph);
}

static const surg_tensor *constant_of(const surg_value *v) {
  const surg_node *n = v ? surg_value_producer(v, NULL) : NULL;
  if (!n) return v ? surg_value_initializer(v) : NULL;
  return surg__judge_is_constant(n) ? surg_attr_tensor(surg_node_attr(n, "value"), 0) : NULL;
}

/* Whether engines that make initializers of Constant nodes, before they look at names, read two
 * definitions of a name as one: both are constants of the model, of one type and shape. */
static bool is_one_constant(const surg_model *m, const surg__defect *d) {
  const surg_tensor *a = constant_of(d->first), *b = constant_of(d->value);
  if (!a || !b || d->value->graph != m->graph) return false;
  if (a->dtype != b->dtype || a->rank != b->rank) return false;
  return !a->rank || !memcmp(a->dims, b->dims, a->rank * sizeof *a->dims);
}

/* Whether the finding is about elements that nothing reads. */
static bool is_idle(const surg__defect *d) {
  const bool made = d->node && d->attr && surg__judge_is_constant(d->node);
  const surg_value *v = d->value ? d->value : made ? surg_node_output(d->node, 0) : NULL;
  return v && !surg_value_first_use(v);
}

/* What an engine that has ONNX's checker examine subgraphs makes of elements that nothing reads:
 * the element type must exist, and a weight of a subgraph needs data in a field of its type. */
static surg__tri idle_verdict(const surg__defect *d) {
  const surg_graph *g = d->value ? d->value->graph : d->node->graph;
  if (d->kind == SURG__DEFECT_DTYPE) return SURG__NO;
  if (!g->parent_node || d->kind == SURG__DEFECT_COUNT) return SURG__YES;
  return d->kind == SURG__DEFECT_DIMS ? SURG__UNSAID : SURG__NO;
}

/* Whether the finding is a call that does not fit the function, and the engine uses an operator of
 * its name: what that requires is judged apart (judge_made). */
static bool is_no_call(const surg__defect *d) {
  return !strcmp(d->code, "E128") && d->node && !surg_node_function(d->node);
}

/* Whether the finding is two inputs of a function of one name. */
static bool is_repeated_input(const surg__defect *d) {
  return !strcmp(d->code, "E113") && d->value && d->value->input && d->first && d->first->input &&
         d->value->graph->kind == SURG_GRAPH_FUNCTION;
}

/* Whether some engines accept what the defect is about although they reject others of its code. */
static bool is_excusable(const surg__target *t, const surg_model *m, const surg__defect *d) {
  if (is_repeated_input(d)) return t->repeated_inputs == SURG__UNSAID;
  if (!strcmp(d->code, "E115") && surg__judge_made_initializer(t, d->node)) return true;
  if (strcmp(d->code, "E113") == 0) return is_one_constant(m, d);
  if (strcmp(d->code, "E119") == 0)
    return is_idle(d) && (!t->lax_attributes || idle_verdict(d) == SURG__UNSAID);
  /* They use the first value, or ignore the reference. */
  if (strcmp(d->code, "E126") == 0) return d->node && surg_node_attr_count(d->node) > 1;
  if (t->lax_attributes && surg__judge_unset_reference(d)) return true;
  return surg__judge_stray_reference(d) &&
         !(t->lax_attributes && surg__judge_is_checked_reference(m, d));
}

/* Whether an engine that supports data files reads one, which loading did not look for, in place of
 * the elements in the model. Weights that nothing reads stay unread. */
static bool is_beside(const surg__defect *d) {
  return d->kind == SURG__DEFECT_BESIDE &&
         (d->value ? surg_value_use_count(d->value, 1) > 0 : d->node != NULL);
}

static bool is_elsewhere(const surg__target *t, const surg__defect *d) {
  return t->external != SURG__NO && is_beside(d);
}

static const surg_function *function_of(const surg__defect *d) {
  if (d->function) return d->function;
  if (d->node) return surg_graph_function(d->node->graph);
  return surg_graph_function(d->value ? d->value->graph : d->graph);
}

/* Whether the defect is of a function that nothing calls, and the engine does not read it there:
 * an engine that checks the opsets of such functions looks up the operators of their nodes, and
 * what computes their outputs. */
static bool is_uncalled(const surg__target *t, const surg__defect *d) {
  const surg_function *f = t->operators_first ? function_of(d) : NULL;
  if (!f || f->called) return false;
  if (t->windows == SURG__YES) return true;
  if (!strcmp(d->code, "E110")) return d->node != NULL;
  return strcmp(d->code, "E115") && strcmp(d->code, "E123") && strcmp(d->code, "E124") &&
         strcmp(d->code, "E129") && !is_repeated_input(d);
}

static bool is_of(const surg__tlist *operators, const surg_node *n) {
  return n && !surg_node_domain(n)[0] && surg__listed(operators, surg_node_op_type(n));
}

/* Whether the engine does not compare the values of the attribute with those of the standard. */
static bool is_lax(const surg__target *t, const surg_node *n, const char *attr) {
  char name[256];
  const char *domain = n ? surg_node_domain(n) : "";
  if (!n || is_of(&t->lax_values, n)) return n != NULL;
  const int put = snprintf(name, sizeof name, "%s%s%s.%s", domain, domain[0] ? "." : "",
                           surg_node_op_type(n), attr ? attr : "");
  return put > 0 && (size_t)put < sizeof name && surg__listed(&t->lax_values, name);
}

/* Whether an attribute that states the element type of the result is 0, which is no type: the
 * engine infers none, and uses the declared one. The node fails when it runs. With other attributes
 * the kernel may fail as it is made. */
static bool is_undefined_type(const surg__target *t, const char *code, about of) {
  char name[256];
  const surg_node *n = of.node;
  if (strcmp(code, "E206") != 0 || !n || !of.attr || surg_node_domain(n)[0]) return false;
  if (surg_node_int(n, of.attr, -1) != 0) return false;
  const int put = snprintf(name, sizeof name, "%s.%s", surg_node_op_type(n), of.attr);
  if (put < 0 || (size_t)put >= sizeof name) return false;
  const surg_value *v = surg_node_output(n, 0);
  const surg_type *said = v ? surg_value_declared_type(v) : NULL;
  return said && surg_type_get_kind(said) == SURG_TYPE_TENSOR && surg_type_dtype(said) > 0 &&
         surg__listed(&t->undefined_types, name);
}

#define NAMESAKES_MOST 64 /* nodes of one name that are compared */

/* Whether the layers of the node have other names than those of the nodes before it that have its
 * name. */
static bool is_apart(const surg__target *t, const surg_node *n) {
  const bool unnamed = is_of(&t->unnamed_layers, n);
  const surg_node *k = surg_graph_find_node(n->graph, n->name);
  for (size_t i = 0; k && k != n; k = k->name_next, i++)
    if (i == NAMESAKES_MOST || !strcmp(k->op_type, n->op_type) ||
        (!unnamed && !is_of(&t->unnamed_layers, k)))
      return false;
  return k == n;
}

/* Whether the engine does not read what the finding is about: that an operator is deprecated, an
 * attribute value that it does not compare, an attribute that is there twice in a function, or the
 * declared type of a constant, which it takes for an initializer. */
static bool is_ignored(const surg__target *t, const char *code, about of) {
  const surg_node *made = of.value ? surg_value_producer(of.value, NULL) : NULL;
  const surg_graph *g = of.node ? of.node->graph : NULL;
  if (strcmp(code, "E118") == 0)
    return t->lax_attributes && t->inlined && g && g->kind == SURG_GRAPH_FUNCTION;
  if (strcmp(code, "E102") == 0) return is_of(&t->kept, of.node);
  if (strcmp(code, "W212") == 0) return of.node && t->unnamed_layers.n && is_apart(t, of.node);
  if (strcmp(code, "E206") == 0) return is_lax(t, of.node, of.attr);
  return t->lax_attributes && made && surg__judge_is_constant(made) &&
         !surg_graph_function(made->graph) && (!strcmp(code, "E204") || !strcmp(code, "W211"));
}

/* Whether the finding is a weight that value_info declares otherwise, which is a type of its own
 * below IR version 4, where weights are inputs. */
static bool is_weight_declared(const passing *p, const char *code, about of) {
  const surg_value *v = of.value;
  if (!p->t->typed_weights || p->m->ir_version >= 4 || !v || v->graph != p->m->graph) return false;
  return v->initializer && !v->input && (!strcmp(code, "E208") || !strcmp(code, "W211"));
}

bool surg__judge_accepts_some(const surg__target *t, const char *what) {
  return surg__listed(&t->accepts_some, what);
}

static bool has_name(const surg_node *n) {
  return n && surg_node_name(n) && surg_node_name(n)[0];
}

/* The operator by the names of the node: one that loading found invalid has no schema. */
static const surg_schema *schema_of(const surg_node *n) {
  const int64_t opset = surg_graph_opset(n->graph, surg_node_domain(n));
  return surg_schema_find(surg_node_domain(n), surg_node_op_type(n), opset);
}

/* Whether the node lacks all inputs of an operator that requires one, or all outputs. */
static bool is_void(const surg_node *n) {
  const surg_schema *s = n ? schema_of(n) : NULL;
  bool in = s && !s->min_in, out = s && !s->min_out;
  for (uint32_t i = 0; s && i < n->n_in; i++) in = in || surg_node_input(n, i);
  for (uint32_t i = 0; s && i < n->n_out; i++) out = out || surg_node_output(n, i);
  return s && (!in || !out);
}

/* Whether the node has more inputs than its operator, and those are absent. */
static bool has_spare(const surg_node *n) {
  const surg_schema *s = n ? schema_of(n) : NULL;
  if (!s || n->n_in <= s->max_in) return false;
  for (uint32_t i = (uint32_t)s->max_in; i < n->n_in; i++)
    if (surg_node_input(n, i)) return false;
  return true;
}

/* Whether the node lacks the attribute `name`: "Cast.to". */
static bool lacks(const surg_node *n, const char *name) {
  const char *dot = strchr(name, '.');
  if (!n || !dot || surg_node_domain(n)[0] || surg_node_attr(n, dot + 1)) return false;
  return strlen(n->op_type) == (size_t)(dot - name) &&
         !strncmp(n->op_type, name, (size_t)(dot - name));
}

/* Whether an entry of `accepts_some` is about the defect: an undefined output of the model; a value
 * that is defined twice, if one of the nodes has a name; an attribute without a type, or with
 * further values; a function that calls itself, and that nothing else calls; spare inputs; an
 * attribute that the node lacks. */
static bool is_about(const surg__target *t, const surg__defect *d, const char *how) {
  const surg_node *first = d->first ? surg_value_producer(d->first, NULL) : NULL;
  if (!strcmp(how, "output")) return !d->node;
  if (!strcmp(how, "named")) return has_name(d->node) || has_name(first);
  if (!strcmp(how, "uncalled")) return d->function && !d->function->called;
  if (!strcmp(how, "untyped")) return d->kind == SURG__DEFECT_UNTYPED;
  if (!strcmp(how, "fields")) return surg__judge_has_own_field(d);
  if (!strcmp(how, "spare")) return is_of(&t->spare_inputs, d->node) && has_spare(d->node);
  return lacks(d->node, how);
}

bool surg__judge_is_among(const surg__target *t, const surg__defect *d) {
  if (surg__judge_reads_field(t, d)) return true;
  for (size_t i = 0; i < t->accepts_some.n; i++) {
    const char *code = t->accepts_some.items[i], *how = strchr(code, '/');
    if (!how || strncmp(code, d->code, (size_t)(how - code)) != 0) continue;
    if (is_about(t, d, how + 1)) return true;
  }
  return false;
}

/* Whether an entry of `rejects_some` is about the defect: a weight whose data file the engine tries
 * to read; a node without inputs or outputs, which the engine cannot place; or one with spare
 * inputs of an operator that it knows. */
static bool is_rejected(const surg__target *t, const surg__defect *d) {
  if (surg__judge_refuses_kind(t, d)) return true;
  if (surg__listed(&t->rejects_some, "E137/file") && is_beside(d)) return true;
  if (strcmp(d->code, "E115") != 0 || !d->node) return false;
  if (surg__listed(&t->rejects_some, "E115/void") && is_void(d->node)) return true;
  return surg__listed(&t->rejects_some, "E115/spare") && has_spare(d->node) &&
         !is_of(&t->spare_inputs, d->node) &&
         surg__target_op(t, surg_node_domain(d->node), surg_node_op_type(d->node));
}

static void put_finding(const passing *p, surg__verdict v, const char *code, const char *where,
                        const char *text) {
  const bool failing = !strcmp(code, "W206"); /* no run succeeds */
  if (v == SURG__LEGAL && !failing && surg__check_severity(code) != SURG_ERROR) return;
  p->fn(p->user, &(surg__objection){.verdict = v,
                                    .cause = SURG__C_INVALID,
                                    .code = code,
                                    .where = where ? where : "model",
                                    .text = text ? text : "",
                                    .source = p->t->source});
}

/* Keeps a finding until settle_pending; false: there are too many, or memory ran out. */
static bool keep_pending(passing *p, const surg_node *n, const char *code, const char *where,
                         const char *text) {
  pending kept = {.node = n, .code = code};
  if (p->pending.count >= FINDINGS) return false;
  if (where) kept.where = surg__arena_strn(&p->texts, where, strlen(where));
  if (text) kept.text = surg__arena_strn(&p->texts, text, strlen(text));
  return surg__vec_push(p->m->ctx, &p->pending, kept);
}

static void judge_code(passing *p, const char *code, const char *where, const char *text,
                       about of) {
  const surg_severity severity = surg__check_severity(code);
  surg__verdict v = surg__target_finding(p->t, code);
  if (of.accepted) v = SURG__LEGAL;
  if (v == SURG__LEGAL && (of.doubtful || is_open(p, code))) v = SURG__UNKNOWN;
  if (v == SURG__LEGAL && surg__judge_rejects_inside(p->t, code, of.graph)) v = SURG__ILLEGAL;
  if (p->t->strict_shapes && strcmp(code, "W211") == 0 && is_newest(p->t, p->m)) v = SURG__ILLEGAL;
  if (v == SURG__ILLEGAL && of.excusable) v = SURG__UNKNOWN;
  if (v == SURG__ILLEGAL) v = infers(p->t, of.since);
  if (is_undefined_type(p->t, code, of))
    v = surg_node_attr_count(of.node) == 1 && !of.node->attrs_dirty ? SURG__LEGAL : SURG__UNKNOWN;
  if (is_ignored(p->t, code, of)) v = SURG__LEGAL;
  if (of.rejected) v = SURG__ILLEGAL;
  if (is_weight_declared(p, code, of)) v = SURG__ILLEGAL;
  if (severity == SURG_NOTE || surg__target_judges(code) || is_dropped(p->t, of)) return;
  if (v == SURG__ILLEGAL && of.node) {
    /* A finding that states releases is one that these report. */
    const surg__noticed noticed = of.since.from ? SURG__NOTICED_IF_INFERRED
                                                : surg__judge_notices(p->t, code, of.node);
    if (noticed == SURG__NOTICED_IF_INFERRED && keep_pending(p, of.node, code, where, text)) return;
    if (noticed != SURG__NOTICED) v = SURG__UNKNOWN;
  }
  put_finding(p, v, code, where, text);
}

static bool is_unshaped(const surg_node *n) {
  return !surg__judge_is_plain(n);
}

/* Reports the findings that wait: rejected are those that also follow from what ONNX's inference
 * gives at least. `of_calls`: the nodes of functions have the types of all calls. */
static surg_status settle_pending(passing *p, surg_model *m, bool of_calls) {
  if (!p->pending.count) return SURG_OK;
  m->trust_bodies = true;
  surg_status s = surg__infer_believed(m, (surg__beliefs){.complete = true,
                                                          .merge = true,
                                                          .least = true,
                                                          .of_calls = of_calls,
                                                          .hides = is_unshaped});
  if (s == SURG_OK) s = surg__check_mark(m);
  /* An engine that does not inline functions infers nothing from arguments. */
  const bool sure = !of_calls || p->t->inlined;
  for (size_t i = 0; s == SURG_OK && i < p->pending.count; i++) {
    const pending *f = &p->pending.items[i];
    const surg__verdict v = sure && f->node->scratch ? SURG__ILLEGAL : SURG__UNKNOWN;
    put_finding(p, v, f->code, f->where, f->text);
  }
  p->pending.count = 0;
  m->trust_bodies = false;
  m->inferred_epoch = 0;
  return s ? s : surg_model_infer(m);
}

static void note_found(passing *p, const surg_node *n) {
  if (n && p->found.count < FINDINGS) (void)surg__vec_push(p->m->ctx, &p->found, n);
}

/* Whether a finding about the node was reported. True also where that is not known: the verdict has
 * reasons enough. */
static bool was_found(const passing *p, const surg_node *n) {
  if (p->found.count >= FINDINGS) return true;
  for (size_t i = 0; i < p->found.count; i++)
    if (p->found.items[i] == n) return true;
  return false;
}

static void found(void *user, const surg__finding *f) {
  passing *p = user;
  if (f->severity == SURG_ERROR) note_found(p, f->node);
  judge_code(p, f->code, f->where, f->text,
             (about){.node = f->node,
                     .graph = f->graph,
                     .value = f->value,
                     .attr = f->attr,
                     .since = f->since});
}

/* Reports the uncured findings of a lenient load; a strict load has none. Missing data files and
 * stripped weights are judged elsewhere (surg__judge_lost). */
static void judge_loaded(passing *p, surg_model *m) {
  const size_t n = surg_model_finding_count(m);
  for (size_t i = 0; i < n; i++) {
    surg_finding f = {.size = sizeof f};
    const surg__defect *d = &m->defects.items[i];
    if (!surg_model_finding(m, i, &f) || f.cured || (d->tensor && d->tensor->missing)) continue;
    if (is_superseded(p, d) || is_uncalled(p->t, d) || is_no_call(d)) continue;
    if (p->t->last_import && surg__judge_idle_import(m, d)) continue;
    if (is_repeated_input(d) && p->t->repeated_inputs == SURG__YES) continue;
    /* An output without a name is one that nothing defines. */
    const bool lost = !strcmp(d->code, "E129") && d->value && d->value->undefined;
    const bool idle = p->t->lax_attributes && !strcmp(d->code, "E119") && is_idle(d);
    judge_code(p, lost ? "E110" : d->code, f.where, f.text,
               (about){d->node, d->graph, is_excusable(p->t, m, d), is_elsewhere(p->t, d),
                       surg__judge_is_among(p->t, d) || (idle && idle_verdict(d) == SURG__YES),
                       NULL, NULL, is_rejected(p->t, d)});
  }
}

static bool is_found(const surg_model *m, const surg_node *n, const char *code) {
  for (size_t i = 0; i < m->defects.count; i++) {
    const surg__defect *d = &m->defects.items[i];
    if (d->node == n && !d->cured && !strcmp(d->code, code)) return true;
  }
  return false;
}

static void found_made(void *user, const surg_node *n, const char *code, const char *text) {
  passing *p = user;
  if (n && !is_found(p->m, n, code))
    judge_code(p, code, surg_node_where(n), text, (about){.node = n, .graph = n->graph});
}

/* Whether the engine uses operators in place of functions: loading did not compare their nodes with
 * the operators. */
static bool has_hidden(const surg_model *m) {
  size_t i = 0;
  while (i < m->functions.count && !m->functions.items[i]->hidden) i++;
  return i < m->functions.count;
}

static bool has_other_opsets(const surg__target *t, const surg_model *m) {
  for (size_t i = 0; t->inlined && i < m->defects.count; i++)
    if (strcmp(m->defects.items[i].code, "E133") == 0) return true;
  return false;
}

/* Reports what loading would find in nodes that were made or edited since: an attribute that was
 * copied to an operator that has no such attribute, for example. Also in nodes of functions, which
 * the engine reads in another opset than the function imports, or of operators that hide
 * functions. */
static surg_status judge_made(passing *p, surg_model *m) {
  const bool other = surg__edited(m) || has_other_opsets(p->t, m) || has_hidden(m);
  return other ? surg__model_judge(m, found_made, p) : SURG_OK;
}

/* Reports a value that is an output of the model twice: the loader prints that, but keeps no
 * finding. */
static void judge_repeated(passing *p, const surg_graph *g) {
  for (size_t i = 0; i < surg_graph_output_count(g); i++) {
    const surg_value *v = surg_graph_output(g, i);
    size_t n = 0;
    for (const surg_use *u = surg_value_first_use(v); u; u = surg_use_next(u))
      n += surg_use_get_kind(u) == SURG_USE_OUTPUT;
    if (n < 2) continue;
    surg__buf where;
    surg__buf_init(&where, p->t->ctx);
    surg__buf_printf(&where, "graph.output %s", surg__q(p->t->ctx, surg_value_name(v)));
    surg__buf_putc(&where, 0);
    judge_code(p, "W201", where.failed ? NULL : where.p, "is an output twice", (about){0});
    surg__buf_free(&where);
    return;
  }
}

/* --- bodies as declared --- */

static bool is_loop(const surg_node *n) {
  return n && (surg_node_op(n) == SURG_OP_Loop || surg_node_op(n) == SURG_OP_Scan);
}

/* Whether the body of a loop declares the rank of an input where inference proves less, or another
 * shape. */
static bool declares_more(const surg_graph *g) {
  if (!is_loop(surg_graph_parent_node(g))) return false;
  for (size_t i = 0; i < surg_graph_input_count(g); i++) {
    const surg_value *v = surg_graph_input(g, i);
    const surg_type *said = surg_value_declared_type(v), *is = surg_value_type(v);
    if (said && is && surg__check_types_differ(said, is)) return true;
    if (said && surg_type_get_kind(said) == SURG_TYPE_TENSOR && surg_type_has_rank(said) &&
        (!is || surg_type_get_kind(is) != SURG_TYPE_TENSOR || !surg_type_has_rank(is) ||
         (!surg_type_static(is, NULL) && surg_type_rank(said))))
      return true;
  }
  return false;
}

static bool is_in_loop(const surg_graph *g) {
  while (g && surg_graph_parent_node(g)) {
    if (is_loop(surg_graph_parent_node(g))) return true;
    g = surg_node_graph(surg_graph_parent_node(g));
  }
  return false;
}

static void found_in_body(void *user, const surg__finding *f) {
  passing *p = user;
  if (!f->node || strcmp(f->code, "E203") != 0 || !is_in_loop(surg_node_graph(f->node))) return;
  if (was_found(p, f->node)) return;
  judge_code(p, f->code, f->where, f->text,
             (about){.node = f->node, .graph = f->graph, .since = f->since});
}

static bool has_declaring(const surg_model *m) {
  const surg_graph *g = surg_model_next_graph(m, NULL);
  while (g && !declares_more(g)) g = surg_model_next_graph(m, g);
  return g != NULL;
}

/* Reports contradictions that follow from the shapes that bodies declare for their inputs: engines
 * use them as they are, inference proves that every iteration has them. */
static surg_status judge_bodies(passing *p, surg_model *m) {
  if (p->t->unchecked || !has_declaring(m)) return SURG_OK;
  m->trust_bodies = true;
  m->inferred_epoch = 0;
  const surg_status s = surg__check_model(m, false, FINDINGS, found_in_body, p);
  m->trust_bodies = false;
  m->inferred_epoch = 0;
  return s ? s : surg_model_infer(m);
}

static void found_in_call(void *user, const surg__finding *f) {
  passing *p = user;
  const surg_function *fn = f->node ? surg_graph_function(surg_node_graph(f->node)) : NULL;
  if (!fn || !fn->called || surg__check_severity(f->code) != SURG_ERROR) return;
  judge_code(p, f->code, f->where, f->text,
             (about){.node = f->node, .graph = f->graph, .attr = f->attr, .since = f->since});
}

/* Reports contradictions that follow from the types which all calls of a function have. Those in
 * bodies are of the types that the bodies declare. */
static surg_status judge_calls(passing *p, surg_model *m) {
  bool called = false;
  for (size_t i = 0; i < m->functions.count; i++) called = called || m->functions.items[i]->called;
  if (!called || p->t->unchecked) return SURG_OK;
  m->trust_bodies = has_declaring(m);
  m->inferred_epoch = 0;
  surg_status s = surg_model_infer(m);
  if (s == SURG_OK) s = surg__check_calls(m, FINDINGS, found_in_call, p);
  m->trust_bodies = false;
  m->inferred_epoch = 0;
  return s ? s : surg_model_infer(m);
}

/* --- declared types that are believed --- */

typedef struct believing {
  passing *p;
  bool doubtful; /* another engine of the same facts may report nothing */
} believing;

static void found_believed(void *user, const surg__finding *f) {
  believing *b = user;
  if (!f->node || surg__check_severity(f->code) != SURG_ERROR || was_found(b->p, f->node)) return;
  char text[2300];
  snprintf(text, sizeof text, "%s, with the declared types that the engine uses",
           f->text ? f->text : "");
  note_found(b->p, f->node);
  judge_code(b->p, f->code, f->where, f->text ? text : NULL,
             (about){.node = f->node,
                     .graph = f->graph,
                     .attr = f->attr,
                     .since = f->since,
                     .excusable = b->doubtful});
}

/* What declarations add to inference: of some value nothing or not all is inferred; or they
 * contradict it; or both, where the engine infers nothing. */
static void compare_declared(const surg_model *m, bool *differ, bool *against, bool *unshaped) {
  for (const surg_graph *g = NULL; (g = surg_model_next_graph(m, g));)
    for (const surg_value *v = g->first_value; v; v = v->next) {
      const bool other = surg__infer_is_contradicted(v);
      *differ = *differ || other || surg__infer_is_completed(v);
      *against = *against || other;
      *unshaped = *unshaped || (other && is_unshaped(v->producer));
    }
}

/* Reports contradictions that follow from what the engine believes: declared types, where it infers
 * nothing. They are doubtful if they follow only where it infers the model twice, or infers no
 * shape that is declared otherwise. */
static surg_status judge_believed(passing *p, surg_model *m) {
  bool differ = false, against = false, unshaped = false;
  believing b = {.p = p, .doubtful = !p->t->merges_declared};
  surg__beliefs merged = {.complete = true, .merge = true};
  if (p->t->unchecked) return SURG_OK;
  compare_declared(m, &differ, &against, &unshaped);
  if (!differ) return SURG_OK;
  m->trust_bodies = has_declaring(m);
  surg_status s = surg__infer_believed(m, merged);
  if (s == SURG_OK) s = surg__check_model(m, false, FINDINGS, found_believed, &b);
  b.doubtful = true;
  merged.again = true;
  if (s == SURG_OK && against) s = surg__infer_believed(m, merged);
  if (s == SURG_OK && against) s = surg__check_model(m, false, FINDINGS, found_believed, &b);
  merged.again = false;
  merged.hides = is_unshaped;
  if (s == SURG_OK && unshaped) s = surg__infer_believed(m, merged);
  if (s == SURG_OK && unshaped) s = surg__check_model(m, false, FINDINGS, found_believed, &b);
  m->trust_bodies = false;
  m->inferred_epoch = 0;
  return s ? s : surg_model_infer(m);
}

surg_status surg__target_valid(const surg__target *t, surg_model *m, surg__objection_fn fn,
                               void *user) {
  passing p = {.t = t, .m = m, .fn = fn, .user = user};
  judge_loaded(&p, m);
  const surg_status made = judge_made(&p, m);
  if (made != SURG_OK) return made;
  judge_repeated(&p, m->graph);
  surg__judge_bodies(t, m, fn, user);
  surg__arena_init(&p.texts, m->ctx);
  surg_status s = surg__check_model(m, false, FINDINGS, found, &p);
  if (s == SURG_OK) s = settle_pending(&p, m, false);
  if (s == SURG_OK) s = judge_believed(&p, m);
  if (s == SURG_OK) s = settle_pending(&p, m, false);
  if (s == SURG_OK) s = judge_calls(&p, m);
  if (s == SURG_OK) s = settle_pending(&p, m, true);
  if (s == SURG_OK) s = judge_bodies(&p, m);
  if (s == SURG_OK) s = settle_pending(&p, m, false);
  surg__vec_free(m->ctx, &p.found);
  surg__vec_free(m->ctx, &p.pending);
  surg__arena_free(&p.texts);
  return s;
}
