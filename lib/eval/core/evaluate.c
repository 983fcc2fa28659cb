/* SPDX-License-Identifier: Apache-2.0 */
/* Computes one node from its constant inputs: reads them, checks them against the schema, runs the
 * kernel within the budget, and makes tensors of the results. */
#include "base/context.h"
#include "base/diag.h"
#include "base/dtype.h"
#include "base/taught.h"
#include "eval/core/eval.h"
#include "eval/core/overflow.h"
#include "eval/core/value.h"
#include "ir/ir.h" /* only for surg__fail */
#include "schema/custom.h"
#include "schema/schema.h"

/* The state of one evaluation. */
typedef struct run {
  surg_node *node;
  surg_model *model;
  surg_context *ctx;
  const surg_schema *schema;
  surg_kctx k;
  const surg__array *given; /* inputs from the caller; NULL: constants of the model */
  surg_tensor *const *instead; /* NULL, or tensors (some may be NULL) that replace the constants */
  surg__array *in;
  bool *wanted;
  const char *why;
} run;

static surg_status refuse(run *r, surg_status s, const char *why) {
  r->why = why;
  return s;
}

/* Checks names and kinds of attributes. Kernels read attributes by name and kind, with the default
 * of the schema: an unknown one, or one of another kind, would be ignored silently. */
static surg_status check_attributes(run *r) {
  size_t n_attr = surg_node_attr_count(r->node);
  for (size_t i = 0; i < n_attr; ++i) {
    const surg_attr *a = surg_node_attr_at(r->node, i);
    if (surg_attr_ref(a)) {
      return refuse(r, SURG_EUNSUPPORTED, "an attribute is a parameter of the function");
    }
    const surg__attr_def *def = surg__schema_attr(r->schema, surg_attr_name(a));
    if (!def) return refuse(r, SURG_EUNSUPPORTED, "the operator has no such attribute");
    if (surg_attr_get_kind(a) != def->kind) {
      return refuse(r, SURG_EINVALID, "an attribute is of another kind");
    }
  }
  for (uint32_t i = 0; i < r->schema->n_attrs; ++i) {
    const surg__attr_def *def = &r->schema->attrs[i];
    if (def->required && !surg_node_attr(r->node, def->name)) {
      return refuse(r, SURG_EINVALID, "a required attribute is absent");
    }
  }
  return SURG_OK;
}

/* Rejects nodes that are never evaluated, whatever their inputs are. A random node is computed in a
 * run (its kernel requires a seed), never folded. */
static surg_status check_node(run *r) {
  surg_node *n = r->node;
  r->schema = surg_node_schema(n);
  if (surg_node_class(n) != SURG_OP_CLASS_BUILTIN || !r->schema) {
    r->k.lacking = true;
    return refuse(r, SURG_EUNSUPPORTED, "the operator is not defined by ONNX");
  }
  if (!r->k.running && surg_node_nondeterministic(n)) {
    return refuse(r, SURG_EUNSUPPORTED, "the operator is not deterministic");
  }
  return check_attributes(r);
}

static const surg__param *param_at(const surg__param *params, uint32_t n, size_t i) {
  if (i < n) return &params[i];
  return n > 0 && params[n - 1].option == SURG__VARIADIC ? &params[n - 1] : NULL;
}

static surg_status check_arity(run *r) {
  const surg_schema *s = r->schema;
  size_t n_in = surg_node_input_count(r->node), n_out = surg_node_output_count(r->node);
  if (n_in < s->min_in || n_in > s->max_in) {
    return refuse(r, SURG_EINVALID, "the operator expects another number of inputs");
  }
  if (n_out < s->min_out || n_out > s->max_out || n_out > UINT32_MAX || n_in > UINT32_MAX) {
    return refuse(r, SURG_EINVALID, "the operator has another number of outputs");
  }
  for (size_t i = 0; i < n_in; ++i) {
    const surg__param *p = param_at(s->inputs, s->n_inputs, i);
    if (!p) return refuse(r, SURG_EINVALID, "the operator expects fewer inputs");
    if (p->option != SURG__OPTIONAL && !surg_node_input(r->node, i)) {
      return refuse(r, SURG_EINVALID, "a required input is absent");
    }
  }
  return SURG_OK;
}

/* Whether the result depends only on the shape of the input, so that no elements are read. */
static bool shape_only(int op) {
  return op == SURG_OP_Shape || op == SURG_OP_Size;
}

static surg_status read_input(run *r, size_t i) {
  if (r->given) {
    r->in[i] = r->given[i];
    return SURG_OK;
  }
  surg_value *v = surg_node_input(r->node, i);
  if (!v) return SURG_OK;
  const surg_tensor *t = r->instead ? r->instead[i] : NULL;
  if (!t) t = surg_value_constant(v);
  if (!t) return refuse(r, SURG_EUNSUPPORTED, "an input is not constant");
  if (surg_tensor_rank(t) > SURG_LIMIT_RANK) {
    return refuse(r, SURG_EUNSUPPORTED, "an input has too many dimensions");
  }
  if (shape_only(r->k.op)) {
    r->in[i] = (surg__array){.dtype = surg_tensor_dtype(t),
                             .rank = (uint32_t)surg_tensor_rank(t),
                             .dims = surg_tensor_dims(t),
                             .count = surg_tensor_count(t)};
    return SURG_OK;
  }
  surg_status s = surg__array_from_tensor(r->ctx, r->k.arena, t, &r->in[i]);
  if (s == SURG_EUNSUPPORTED)
    r->why = surg_tensor_is_external(t) ? "the elements of an input are not available"
                                        : "an input has a form that is not read here";
  return s;
}

static surg_status read_inputs(run *r) {
  size_t n_in = surg_node_input_count(r->node);
  r->in = surg__arena_array(r->k.arena, n_in > 0 ? n_in : 1, sizeof *r->in);
  if (!r->in) return surg__alloc_status(r->ctx);
  for (size_t i = 0; i < n_in; ++i) {
    surg_status s = read_input(r, i);
    if (s != SURG_OK) return s;
  }
  r->k.in = r->in;
  r->k.n_in = (uint32_t)n_in;
  return SURG_OK;
}

static const surg__type_param *type_param(const surg_schema *s, const char *name) {
  for (uint32_t i = 0; i < s->n_params; ++i) {
    if (strcmp(s->params[i].name, name) == 0) return &s->params[i];
  }
  return NULL;
}

/* Whether a literal type of the schema, such as "tensor(int64)", is the tensor type of dtype. */
static bool literal_allows(const char *type, int dtype) {
  static const char prefix[] = "tensor(";
  size_t n = strlen(type), p = sizeof prefix - 1;
  if (n <= p || strncmp(type, prefix, p) != 0 || type[n - 1] != ')') return false;
  return surg__dtype_from_name(type + p, n - p - 1) == dtype;
}

static bool allows(const surg__type_param *t, const surg__param *p, const surg__array *a) {
  if (!surg__array_is_list(a)) {
    return t ? (t->tensor_mask >> a->dtype & 1) != 0 : literal_allows(p->type, a->dtype);
  }
  if (!t) return surg__array_is(a, p->type);
  for (const char *const *type = t->types; *type; ++type) {
    if (surg__array_is(a, *type)) return true;
  }
  return false;
}

/* Checks input types against the schema: each must be allowed, and inputs of one type parameter
 * must have the same type, unless the parameter is variadic and heterogeneous. */
static surg_status check_types(run *r) {
  const surg_schema *s = r->schema;
  surg__content *bound = surg__arena_array(r->k.arena, (size_t)s->n_params + 1, sizeof *bound);
  if (!bound) return surg__alloc_status(r->ctx);
  for (uint32_t i = 0; i < r->k.n_in; ++i) {
    if (r->in[i].dtype == SURG_UNDEFINED) continue;
    const surg__param *p = param_at(s->inputs, s->n_inputs, i);
    const surg__type_param *t = type_param(s, p->type);
    if (!allows(t, p, &r->in[i]))
      return refuse(r, SURG_EINVALID, "an input has a type the operator does not accept");
    if (!t || (p->option == SURG__VARIADIC && !p->homogeneous)) continue;
    surg__content *b = &bound[t - s->params], e = surg__content_of(&r->in[i]);
    if (b->kind == SURG_UNDEFINED) *b = e;
    if (!surg__content_equal(*b, e))
      return refuse(r, SURG_EINVALID, "inputs that must have one type differ");
  }
  return SURG_OK;
}

static surg_status prepare_outputs(run *r) {
  size_t n_out = surg_node_output_count(r->node);
  r->k.out = surg__arena_array(r->k.arena, n_out > 0 ? n_out : 1, sizeof *r->k.out);
  r->wanted = surg__arena_array(r->k.arena, n_out > 0 ? n_out : 1, sizeof *r->wanted);
  if (!r->k.out || !r->wanted) return surg__alloc_status(r->ctx);
  for (size_t i = 0; i < n_out; ++i) r->wanted[i] = surg_node_output(r->node, i) != NULL;
  r->k.wanted = r->wanted;
  r->k.n_out = (uint32_t)n_out;
  return SURG_OK;
}

/* Checks result types, which attributes may set, against this version of the operator. Constant is
 * exempt: exporters wrote int64 tensors before the schema allowed them. */
static surg_status check_results(run *r) {
  const surg_schema *s = r->schema;
  if (r->k.op == SURG_OP_Constant) return SURG_OK;
  for (uint32_t i = 0; i < r->k.n_out; ++i) {
    const surg__param *p = param_at(s->outputs, s->n_outputs, i);
    if (!r->wanted[i]) continue;
    if (!p || !allows(type_param(s, p->type), p, &r->k.out[i])) {
      return refuse(r, SURG_EINVALID, "the result has a type the operator does not give");
    }
  }
  return SURG_OK;
}

/* The status of a kernel as that of the evaluation. */
static surg_status outcome(run *r, surg__kstatus done) {
  switch (done) {
    case SURG__K_OK:
      return SURG_OK;
    case SURG__K_CANNOT:
      return refuse(r, SURG_EUNSUPPORTED, r->k.why);
    case SURG__K_BUDGET:
      return refuse(r, SURG_ELIMIT, "the result or the work is over the limit");
    case SURG__K_INVALID:
      return refuse(r, SURG_EINVALID, r->k.why);
    case SURG__K_NOMEM:
      break;
  }
  return surg__alloc_status(r->ctx);
}

/* A call of a function may leave out an input that a node of its body reads. */
static bool has_inputs(const run *r) {
  for (uint32_t i = 0; i < r->k.n_in; i++) {
    const surg__param *p = param_at(r->schema->inputs, r->schema->n_inputs, i);
    if (p && p->option == SURG__SINGLE && !surg__k_has(&r->k, i)) return false;
  }
  return true;
}

static surg_status run_kernel(run *r) {
  surg__kernel kernel = surg__kernel_find(r->k.op, r->k.since);
  r->k.lacking = !kernel;
  if (!kernel) return refuse(r, SURG_EUNSUPPORTED, "no kernel for this operator version");
  surg_status s = read_inputs(r);
  if (s == SURG_OK && !has_inputs(r)) s = refuse(r, SURG_EINVALID, "a required input is absent");
  if (s == SURG_OK) s = check_types(r);
  if (s == SURG_OK) s = prepare_outputs(r);
  if (s != SURG_OK) return s;
  surg__kstatus done = kernel(&r->k);
  /* Kernels of operators of a runtime lack forms that rules may know. */
  r->k.lacking = done == SURG__K_CANNOT && surg_schema_contrib(r->schema);
  if (r->k.stopped != SURG_OK)
    return refuse(r, r->k.stopped,
                  r->k.stopped == SURG_ELIMIT       ? "the run exceeds its time limit"
                  : r->k.stopped == SURG_ECANCELLED ? "cancelled"
                                                    : "a weight cannot be read");
  if (done == SURG__K_OK) done = surg__k_overflow(&r->k);
  s = outcome(r, done);
  return s == SURG_OK ? check_results(r) : s;
}

/* The registered operator of a custom node that has a kernel, or NULL. */
static const surg__taught_operator *taught(const run *r) {
  if (surg_node_class(r->node) != SURG_OP_CLASS_CUSTOM) return NULL;
  const surg__taught_operator *o =
      surg__taught_find(r->ctx, surg_node_domain(r->node), surg_node_op_type(r->node));
  return o && o->op.evaluate ? o : NULL;
}

/* As check_attributes, against the schema file of a custom operator. */
static surg_status check_custom_attributes(run *r) {
  const surg__custom *s =
      surg__custom_find(r->ctx, surg_node_domain(r->node), surg_node_op_type(r->node));
  if (!s) return refuse(r, SURG_EUNSUPPORTED, "the operator has no schema");
  for (size_t i = 0; i < surg_node_attr_count(r->node); ++i) {
    const surg_attr *a = surg_node_attr_at(r->node, i);
    if (surg_attr_ref(a))
      return refuse(r, SURG_EUNSUPPORTED, "an attribute is a parameter of the function");
    const surg__custom_attr *d = surg__custom_attr_find(s, surg_attr_name(a));
    if (!d) return refuse(r, SURG_EUNSUPPORTED, "the operator has no such attribute");
    if (d->kind != SURG_ATTR_UNDEFINED && d->kind != surg_attr_get_kind(a))
      return refuse(r, SURG_EINVALID, "an attribute is of another kind");
  }
  for (uint32_t i = 0; i < s->n_attrs; ++i)
    if (s->attrs[i].required && !surg_node_attr(r->node, s->attrs[i].name))
      return refuse(r, SURG_EINVALID, "a required attribute is absent");
  return SURG_OK;
}

static surg_status run_taught(run *r, const surg__taught_operator *o) {
  if (!r->k.running && surg_node_nondeterministic(r->node))
    return refuse(r, SURG_EUNSUPPORTED, "the operator is not deterministic");
  const surg_status fit = check_custom_attributes(r);
  if (fit != SURG_OK) return fit;
  r->k.op = surg_node_op(r->node);
  surg_status s = read_inputs(r);
  if (s == SURG_OK) s = prepare_outputs(r);
  return s == SURG_OK ? outcome(r, surg__taught_kernel(&r->k, o)) : s;
}

static surg_status make_tensors(run *r, surg_tensor **out, size_t n_out) {
  for (uint32_t i = 0; i < r->k.n_out; ++i) {
    if (!r->wanted[i]) continue;
    if (i >= n_out) return refuse(r, SURG_EUSAGE, "there is no room for all outputs");
    assert(r->k.out[i].data); /* a kernel that succeeds has made all wanted outputs */
    out[i] = surg__array_to_tensor(r->model, &r->k.out[i]);
    if (!out[i]) return surg__alloc_status(r->ctx);
  }
  return SURG_OK;
}

static surg_status evaluate(run *r) {
  surg_status s = surg_model_status(r->model);
  if (s != SURG_OK) return s;
  const surg__taught_operator *o = taught(r);
  if (o) return run_taught(r, o);
  s = check_node(r);
  if (s != SURG_OK) return s;
  r->k.op = surg_node_op(r->node);
  r->k.since = surg_schema_since(r->schema);
  s = check_arity(r);
  if (s == SURG_OK) s = run_kernel(r);
  return s;
}

static void prepare(run *r, surg_node *n, const surg_kctx *with) {
  *r = (run){.node = n, .model = surg_graph_model(surg_node_graph(n)), .k = *with};
  r->ctx = surg_model_context(r->model);
  r->k.ctx = r->ctx;
  r->k.node = n;
  r->k.out = NULL; /* the `out` of `with` belongs to another node */
  r->k.n_out = 0;
}

/* The reason of a failure; never NULL. */
static const char *reason(const run *r, surg_status s) {
  if (s == SURG_ENOMEM) return "out of memory";
  if (r->why) return r->why;
  return s == SURG_ELIMIT ? "the memory limit is met" : surg_status_name(s);
}

surg_status surg__node_compute(surg_node *n, surg_kctx *with, const surg__array *in,
                               surg__array *out) {
  run r;
  prepare(&r, n, with);
  r.given = in;
  surg_status s = evaluate(&r);
  with->work = r.k.work;
  with->open = r.k.open;
  with->lacking = r.k.lacking;
  for (uint32_t i = 0; r.k.out && i < r.k.n_out; ++i) {
    out[i] = r.k.out[i];
    if (s == SURG_OK) s = surg__array_settle(r.ctx, &out[i]);
  }
  if (s == SURG_OK) return s;
  for (uint32_t i = 0; r.k.out && i < r.k.n_out; ++i) surg__array_drop(&out[i]);
  with->why = reason(&r, s);
  return s;
}

surg_status surg_node_evaluate(surg_node *n, uint64_t max_bytes, uint64_t max_work,
                               surg_tensor **out, size_t n_out, const char **why) {
  return surg_node_evaluate_on(n, NULL, max_bytes, max_work, out, n_out, why);
}

surg_status surg_node_evaluate_on(surg_node *n, surg_tensor *const *in, uint64_t max_bytes,
                                  uint64_t max_work, surg_tensor **out, size_t n_out,
                                  const char **why) {
  if (why) *why = NULL;
  if (!n || (!out && n_out > 0)) return SURG_EUSAGE;
  for (size_t i = 0; i < n_out; ++i) out[i] = NULL;
  if (surg_node_erased(n)) return SURG_EERASED;
  run r;
  surg__arena arena;
  surg__arena_init(&arena, surg_model_context(surg_graph_model(surg_node_graph(n))));
  prepare(&r, n, &(surg_kctx){.arena = &arena, .max_bytes = max_bytes, .max_work = max_work});
  r.instead = in;
  surg_status s = evaluate(&r);
  if (s == SURG_OK) s = make_tensors(&r, out, n_out);
  surg__arena_free(&arena);
  if (s != SURG_OK) {
    for (size_t i = 0; i < n_out; ++i) out[i] = NULL;
  }
  if (s == SURG_ENOMEM) surg__fail(r.model, s);
  if (why) *why = s == SURG_OK ? surg_status_name(s) : reason(&r, s);
  return s;
}
