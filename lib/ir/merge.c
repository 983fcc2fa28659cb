/* SPDX-License-Identifier: Apache-2.0 */
/* Merging one model into another: nodes, weights, functions, interface. All checks precede the
 * first change. */
#include <stdarg.h>
#include <stdio.h>

#include "ir/copy.h"
#include "ir/edit.h"

typedef struct merge {
  surg_model *m, *b; /* b is merged into m */
  const surg_merge_options *o;
  surg_value **args, **outs; /* values that replace inputs and outputs of b's graph */
} merge;

static surg_status refuse(const merge *x, const char *fmt, ...) SURG_PRINTF(2, 3);
static surg_status refuse(const merge *x, const char *fmt, ...) {
  char text[1500];
  va_list args;
  va_start(args, fmt);
  vsnprintf(text, sizeof text, fmt, args);
  va_end(args);
  return surg__error(x->m->ctx, SURG_EINVALID, surg_model_path(x->b), "%s", text);
}

/* --- versions --- */

static bool uses(const surg_model *b, const char *domain) {
  for (const surg_graph *g = b->graph; g; g = g->next) {
    if (surg_graph_function(g)) continue; /* functions have imports of their own */
    for (const surg_node *n = g->first; n; n = n->next)
      if (strcmp(n->domain, domain) == 0 ||
          (surg__default_domain(n->domain) && surg__default_domain(domain)))
        return true;
  }
  return false;
}

static surg_status check_versions(const merge *x) {
  for (size_t i = 0; i < x->b->imports.count; i++) {
    const surg__import *e = &x->b->imports.items[i];
    const int64_t here = surg_model_opset(x->m, e->domain);
    if (here == 0 || here == e->version || !uses(x->b, e->domain)) continue;
    const bool onnx = surg__default_domain(e->domain);
    return refuse(x,
                  "is of opset %lld of domain %s, and %s of %lld: move one first, with "
                  "`onnxsurg --opset %s%s%lld`",
                  (long long)e->version, surg__q(x->m->ctx, onnx ? "ai.onnx" : e->domain),
                  surg__q(x->m->ctx, surg_model_path(x->m)), (long long)here, onnx ? "" : e->domain,
                  onnx ? "" : "=", (long long)here);
  }
  if ((surg_model_ir_version(x->m) < 4) != (surg_model_ir_version(x->b) < 4))
    return refuse(x,
                  "is of IR version %lld, and %s of %lld: weights are inputs in one of them; "
                  "move that one first, with `onnxsurg ir --to %lld`",
                  (long long)surg_model_ir_version(x->b), surg__q(x->m->ctx, surg_model_path(x->m)),
                  (long long)surg_model_ir_version(x->m),
                  (long long)(surg_model_ir_version(x->m) < 4 ? surg_model_ir_version(x->b)
                                                              : surg_model_ir_version(x->m)));
  return SURG_OK;
}

static surg_status check_functions(const merge *x) {
  for (size_t i = 0; i < x->b->functions.count; i++) {
    const surg_function *f = x->b->functions.items[i];
    const surg_function *own = surg_model_find_function(x->m, f->domain, f->name, f->overload);
    if (own && surg__function_same(own, f)) continue; /* one serves both */
    if (own)
      return refuse(
          x,
          "both models have another function %s of domain %s: inline it in one of them, with "
          "`onnxsurg inline`",
          surg__q(x->m->ctx, f->name), surg__q(x->m->ctx, f->domain));
    for (size_t k = 0; k < f->defaults.count; k++)
      if (surg__attr_has_graphs(f->defaults.items[k]))
        return refuse(x, "function %s has a graph as a default, which cannot be copied",
                      surg__q(x->m->ctx, f->name));
  }
  for (const surg_graph *g = x->m->graph; g; g = g->next)
    for (const surg_node *n = g->first; n; n = n->next)
      if (surg_model_find_function(x->b, n->domain, n->op_type, n->overload) &&
          !surg_model_find_function(x->m, n->domain, n->op_type, n->overload))
        return refuse(x, "has a function %s, which %s uses as an operator",
                      surg__q(x->m->ctx, n->op_type), surg__q(x->m->ctx, surg_model_path(x->m)));
  for (const surg_graph *g = x->b->graph; g; g = g->next)
    for (const surg_node *n = g->first; n; n = n->next)
      if (surg_model_find_function(x->m, n->domain, n->op_type, n->overload) &&
          !surg_model_find_function(x->b, n->domain, n->op_type, n->overload))
        return refuse(x, "uses operator %s, which is a function of %s",
                      surg__q(x->m->ctx, n->op_type), surg__q(x->m->ctx, surg_model_path(x->m)));
  return SURG_OK;
}

/* --- connections --- */

static const surg_type *known(const surg_value *v) {
  const surg_type *t = surg_value_type(v);
  return surg_type_get_kind(t) != SURG_TYPE_UNKNOWN ? t : surg_value_declared_type(v);
}

static bool types_differ(const surg_type *a, const surg_type *b) {
  for (; a && b; a = a->elem, b = b->elem) {
    if (a->kind == SURG_TYPE_UNKNOWN || b->kind == SURG_TYPE_UNKNOWN) return false;
    if (a->kind != b->kind) return true;
    if (a->dtype && b->dtype && a->dtype != b->dtype) return true;
    if (!a->has_rank || !b->has_rank) continue;
    if (a->rank != b->rank) return true;
    for (uint32_t i = 0; i < a->rank; i++)
      if (a->dims[i].value >= 0 && b->dims[i].value >= 0 && a->dims[i].value != b->dims[i].value)
        return true;
  }
  return false;
}

static const char *output_name(const void *g, size_t i) {
  return ((const surg_graph *)g)->out[i]->use.value->name;
}

static const char *input_name(const void *g, size_t i) {
  return ((const surg_graph *)g)->in[i]->name;
}

/* Rejects a connection of which model m has no end of this name. */
static surg_status no_end(const merge *x, const surg_model *m, bool output, const char *name) {
  const surg_graph *g = m->graph;
  const char *near = output ? surg__nearest(name, g, g->n_out, output_name)
                            : surg__nearest(name, g, g->n_in, input_name);
  return surg__error(x->m->ctx, SURG_EUSAGE, surg_model_path(m), "has no %s %s to connect%s%s%s",
                     output ? "value" : "input", surg__q(x->m->ctx, name),
                     near ? "; did you mean " : "", near ? surg__q(x->m->ctx, near) : "",
                     near ? "?" : "");
}

static surg_status other_type(const merge *x, const surg_value *from, const surg_value *to) {
  surg_context *ctx = x->m->ctx;
  surg__buf want, have;
  surg__buf_init(&want, ctx);
  surg__buf_init(&have, ctx);
  surg__put_type(&want, known(to));
  surg__put_type(&have, known(from));
  const surg_status s = refuse(x, "input %s expects %s, but %s of %s is %s", surg__q(ctx, to->name),
                               want.failed ? "?" : want.p, surg__q(ctx, from->name),
                               surg__q(ctx, surg_model_path(x->m)), have.failed ? "?" : have.p);
  surg__buf_free(&want);
  surg__buf_free(&have);
  return s;
}

static surg_status connect(merge *x, size_t k) {
  surg_context *ctx = x->m->ctx;
  const char *from = x->o->from[k], *to = x->o->to[k];
  surg_value *v = surg_graph_find_value(x->m->graph, from);
  size_t i = 0;
  if (!v) return no_end(x, x->m, true, from);
  while (i < x->b->graph->n_in && strcmp(x->b->graph->in[i]->name, to) != 0) i++;
  if (i == x->b->graph->n_in) return no_end(x, x->b, false, to);
  if (x->args[i])
    return surg__error(ctx, SURG_EUSAGE, surg_model_path(x->b), "input %s is connected twice",
                       surg__q(ctx, to));
  assert(i < x->b->graph->n_in);
  if (types_differ(known(v), known(x->b->graph->in[i])))
    return other_type(x, v, x->b->graph->in[i]);
  x->args[i] = v;
  return SURG_OK;
}

static surg_status check_names(const merge *x) {
  surg_context *ctx = x->m->ctx;
  const surg_graph *g = x->b->graph;
  for (size_t i = 0; i < g->n_in + g->n_out; i++) {
    const surg_value *v = i < g->n_in ? g->in[i] : g->out[i - g->n_in]->use.value;
    if (i < g->n_in ? x->args[i] != NULL : v->input && v->graph == g) continue;
    const char *name = surg__interned(x->m, v->name, strlen(v->name));
    if (!name || !surg__name_of(name)->values) continue;
    return refuse(x, "%s %s: %s has a value of this name; give a prefix%s",
                  i < g->n_in ? "input" : "output", surg__q(ctx, v->name),
                  surg__q(ctx, surg_model_path(x->m)), i < g->n_in ? ", or connect it" : "");
  }
  return SURG_OK;
}

/* Whether output i of b is directly a connected input: an Identity then produces it. */
static bool passes_through(const merge *x, size_t i) {
  const surg_value *v = x->b->graph->out[i]->use.value;
  for (size_t k = 0; k < x->b->graph->n_in; k++)
    if (x->args[k] && x->b->graph->in[k] == v) return true;
  return false;
}

static surg_status check_outputs(const merge *x) {
  const surg_model *of = surg_model_opset(x->m, "") ? x->m : x->b;
  const bool onnx = surg_schema_find("", "Identity", surg_model_opset(of, "")) &&
                    !surg_model_find_function(x->m, "", "Identity", "") &&
                    !surg_model_find_function(x->b, "", "Identity", "");
  for (size_t i = 0; !onnx && i < x->b->graph->n_out; i++)
    if (passes_through(x, i))
      return refuse(x,
                    "output %s is an input that is connected: only an Identity could give it, "
                    "which is not an operator of ONNX in these models",
                    surg__q(x->m->ctx, x->b->graph->out[i]->use.value->name));
  return SURG_OK;
}

/* --- names in b --- */

/* Adds the prefix to all names of b except those of dims and functions. */
static surg_status put_prefix(const merge *x) {
  surg_status s = SURG_OK;
  surg__buf b;
  if (!x->o->prefix || !x->o->prefix[0]) return SURG_OK;
  for (surg_graph *g = x->b->graph; g && s == SURG_OK; g = g->next) {
    if (surg_graph_function(g)) continue;
    for (surg_node *n = g->first; n && s == SURG_OK; n = n->next) {
      if (!n->name[0]) continue;
      surg__buf_init(&b, x->m->ctx);
      surg__buf_printf(&b, "%s%s", x->o->prefix, n->name);
      s = b.failed ? SURG_ENOMEM : surg_node_set_name(n, b.p);
      surg__buf_free(&b);
    }
    for (surg_value *v = g->first_value; v && s == SURG_OK; v = v->next) {
      if (!v->name[0] || v->erased || surg_value_bound_by_name(v)) continue;
      surg__buf_init(&b, x->m->ctx);
      surg__buf_printf(&b, "%s%s", x->o->prefix, v->name);
      s = b.failed ? SURG_ENOMEM : surg_value_rename(v, b.p);
      surg__buf_free(&b);
    }
  }
  return s;
}

/* --- copying --- */

static surg_status take_imports(merge *x) {
  surg_status s = SURG_OK;
  for (size_t i = 0; s == SURG_OK && i < x->b->imports.count; i++) {
    const surg__import *e = &x->b->imports.items[i];
    if (surg_model_opset(x->m, e->domain) == 0)
      s = surg_model_set_opset(x->m, e->domain, e->version);
  }
  for (size_t i = 0; s == SURG_OK && i < x->b->metadata.count; i++) {
    const surg__metadata *e = &x->b->metadata.items[i];
    if (!surg_model_metadata(x->m, e->key)) s = surg_model_set_metadata(x->m, e->key, e->value);
  }
  if (s == SURG_OK && surg_model_ir_version(x->b) > surg_model_ir_version(x->m))
    s = surg_model_set_ir_version(x->m, surg_model_ir_version(x->b));
  return s;
}

static const char *name_of(surg_model *m, const char *s) {
  return surg__intern(m, s, strlen(s));
}

static bool take_default(surg_function *to, const surg_attr *a) {
  surg_model *m = to->model;
  surg_attr *c = surg__zalloc(m, sizeof *c);
  if (!c) return false;
  c->name = name_of(m, a->name);
  c->kind = a->kind;
  c->count = a->count;
  c->dirty = true;
  if (!c->name || !surg__copy_payload(m, a, c)) return false;
  return surg__vec_push(m->ctx, &to->defaults, c) || surg__failed(m) != NULL;
}

static bool take_signature(surg_function *to, const surg_function *f) {
  surg_model *m = to->model;
  to->dirty = to->imports_dirty = true;
  for (size_t i = 0; i < f->attrs.count; i++) {
    const char *name = name_of(m, f->attrs.items[i]);
    if (!name) return false;
    if (!surg__vec_push(m->ctx, &to->attrs, name)) return surg__failed(m) != NULL;
  }
  for (size_t i = 0; i < f->imports.count; i++)
    if (surg_function_set_opset(to, f->imports.items[i].domain, f->imports.items[i].version) !=
        SURG_OK)
      return false;
  for (size_t i = 0; i < f->defaults.count; i++)
    if (!take_default(to, f->defaults.items[i])) return false;
  return true;
}

static bool take_body(surg_function *to, surg_graph *body) {
  surg_model *m = to->model;
  surg_value **args = surg__array(m, body->n_in + 1, sizeof *args);
  surg_value **outs = surg__array(m, body->n_out + 1, sizeof *outs);
  for (size_t i = 0; args && i < body->n_in; i++) {
    args[i] = surg_graph_add_input(to->body, body->in[i]->name, NULL);
    if (!args[i]) return false;
  }
  if (!args || !outs ||
      surg_graph_splice(to->body, NULL, body, args, body->n_in, NULL, outs, body->n_out) != SURG_OK)
    return false;
  for (size_t i = 0; i < body->n_out; i++)
    if (surg_graph_add_output(to->body, outs[i], NULL) != SURG_OK) return false;
  return true;
}

static surg_status take_functions(merge *x) {
  for (size_t i = 0; i < x->b->functions.count; i++) {
    const surg_function *f = x->b->functions.items[i];
    if (surg_model_find_function(x->m, f->domain, f->name, f->overload)) continue; /* the same */
    const char *domain = name_of(x->m, f->domain), *name = name_of(x->m, f->name);
    const char *overload = name_of(x->m, f->overload);
    surg_function *to =
        domain && name && overload ? surg__function_new(x->m, domain, name, overload) : NULL;
    if (!to || !take_signature(to, f) || !take_body(to, f->body)) {
      surg__failed(x->m);
      return x->m->status;
    }
  }
  if (x->b->functions.count) x->m->header_dirty = true;
  return SURG_OK;
}

static surg_status take_inputs(merge *x) {
  const surg_graph *g = x->b->graph;
  for (size_t i = 0; i < g->n_in; i++) {
    const surg_value *v = g->in[i];
    const surg_type *type;
    surg_tensor *t;
    if (x->args[i]) continue;
    if (!surg__copy_type(x->m, v->decl.type, &type)) return x->m->status;
    x->args[i] = surg_graph_add_input(x->m->graph, v->name, type);
    if (!x->args[i]) return x->m->status != SURG_OK ? x->m->status : SURG_EINVALID;
    if (!v->initializer) continue;
    if (!surg__copy_tensor(x->m, v->tensor, &t)) return x->m->status;
    const surg_status s = surg_value_set_initializer(x->args[i], t);
    if (s != SURG_OK) return s;
  }
  return SURG_OK;
}

/* Adds output i of b. If its value in m has another name (a value of m, or one that is an output
 * already), an Identity produces the output. */
static surg_status give_output(merge *x, size_t i) {
  surg_graph *to = x->m->graph;
  const surg__output *o = x->b->graph->out[i];
  const char *name = o->use.value->name;
  const surg_type *type;
  surg_value *v = x->outs[i];
  assert(v && v->graph->model == x->m);
  surg_status s = SURG_OK;
  if (!surg__copy_type(x->m, o->decl.type, &type)) return x->m->status;
  if (strcmp(v->name, name) != 0) {
    surg_node *n = surg_graph_add_node(to, NULL, "", "Identity", 1);
    s = n ? surg_node_set_input(n, 0, v) : SURG_ENOMEM;
    if (s != SURG_OK) return s;
    v = n->out[0];
    s = surg_value_rename(v, name);
  }
  return s == SURG_OK ? surg_graph_add_output(to, v, type) : s;
}

static bool connected(const merge *x, const surg_value *v) {
  for (size_t i = 0; i < x->b->graph->n_in; i++)
    if (x->args[i] == v) return true;
  return false;
}

static surg_status take_graph(merge *x) {
  surg_graph *to = x->m->graph, *from = x->b->graph;
  surg_status s = SURG_OK;
  for (size_t i = to->n_out; !x->o->keep_outputs && s == SURG_OK && i-- > 0;)
    if (connected(x, to->out[i]->use.value)) s = surg_graph_remove_output(to, i);
  if (s == SURG_OK) s = take_inputs(x);
  if (s == SURG_OK)
    s = surg_graph_splice(to, NULL, from, x->args, from->n_in, NULL, x->outs, from->n_out);
  for (size_t i = 0; s == SURG_OK && i < from->n_out; i++) s = give_output(x, i);
  return s;
}

surg_status surg_model_merge(surg_model *m, surg_model *b, const surg_merge_options *options) {
  static const surg_merge_options none = {.size = sizeof none};
  surg_status s = surg__model_ready(m);
  if (s == SURG_OK) s = surg__model_ready(b);
  if (s != SURG_OK) return s;
  if (m == b || m->ctx != b->ctx) return SURG_EUSAGE;
  merge x = {.m = m, .b = b, .o = options ? options : &none};
  x.args = surg__array(m, b->graph->n_in + 1, sizeof *x.args);
  x.outs = surg__array(m, b->graph->n_out + 1, sizeof *x.outs);
  if (!x.args || !x.outs) return m->status;
  s = check_versions(&x);
  if (s == SURG_OK) s = check_functions(&x);
  for (size_t k = 0; s == SURG_OK && k < x.o->n; k++) s = connect(&x, k);
  if (s == SURG_OK) s = check_outputs(&x);
  if (s == SURG_OK) s = put_prefix(&x);
  if (s == SURG_OK) s = check_names(&x);
  if (s == SURG_OK) s = take_imports(&x);
  if (s == SURG_OK) s = take_functions(&x);
  if (s == SURG_OK) s = take_graph(&x);
  return s;
}
