/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of a completely read model: node order, and the constraints of operators, functions and
 * control flow on their nodes. Unknown operators are accepted. */
#include <stdio.h>
#include <stdlib.h>

#include "io/load/load.h"
#include "schema/schema.h"

/* --- attributes --- */

static int by_name(const void *a, const void *b) {
  const surg_attr *x = *(surg_attr *const *)a, *y = *(surg_attr *const *)b;
  if (x->name != y->name) return x->name < y->name ? -1 : 1;
  return x->src.field_off < y->src.field_off ? -1 : x->src.field_off > y->src.field_off;
}

static bool duplicate(surg__loader *L, const surg_attr *a) {
  const bool go_on =
      surg__load_bad(L, a->src.field_off, "E118", "an earlier attribute has this name");
  surg__load_about(L, &(surg__defect){.attr = (surg_attr *)(uintptr_t)a});
  return go_on;
}

/* Checks that no two attributes have the same name. Names are interned, so pointers are
 * compared. */
static bool check_duplicates(surg__loader *L, const surg_node *n) {
  if (n->n_attr <= 16) {
    for (uint32_t i = 1; i < n->n_attr; i++)
      for (uint32_t k = 0; k < i; k++)
        if (n->attrs[i]->name == n->attrs[k]->name && !duplicate(L, n->attrs[i])) return false;
    return true;
  }
  surg__mark mark = surg__arena_mark(&L->scratch);
  surg_attr **sorted = surg__arena_array(&L->scratch, n->n_attr, sizeof(surg_attr *));
  if (!sorted) return surg__load_oom(L);
  memcpy(sorted, n->attrs, n->n_attr * sizeof(surg_attr *));
  qsort(sorted, n->n_attr, sizeof(surg_attr *), by_name);
  bool ok = true;
  for (uint32_t i = 1; ok && i < n->n_attr; i++)
    if (sorted[i]->name == sorted[i - 1]->name) ok = duplicate(L, sorted[i]);
  surg__arena_reset(&L->scratch, mark);
  return ok;
}

static const surg_attr *find_attr(const surg_node *n, const char *name) {
  for (uint32_t i = 0; i < n->n_attr; i++)
    if (strcmp(n->attrs[i]->name, name) == 0) return n->attrs[i];
  return NULL;
}

/* Whether an attribute was left out with a finding, so that the file has more than the model. */
static bool lost_attr(const surg_node *n) {
  return n->faulty && n->n_attr < n->cap_attr;
}

static const char *kind_name(surg_attr_kind k) {
  static const char *const names[] = {"undefined",      "float",      "int",        "string",
                                      "tensor",         "graph",      "floats",     "ints",
                                      "strings",        "tensors",    "graphs",     "sparse_tensor",
                                      "sparse_tensors", "type_proto", "type_protos"};
  return (size_t)k < SURG_COUNT(names) ? names[k] : "?";
}

/* Whether a Constant has its value in an attribute that only newer versions have. */
static bool is_newer_value(const surg_node *n, const surg_attr *a) {
  size_t count;
  if (n->op != SURG_OP_Constant) return false;
  const surg_schema *all = surg__schema_versions(n->op, &count);
  const surg__attr_def *def = count ? surg__schema_attr(&all[count - 1], a->name) : NULL;
  return def && def->kind == a->kind;
}

static bool check_attr(surg__loader *L, const surg_node *n, const surg_schema *s,
                       const surg_attr *a) {
  if (a->kind == SURG_ATTR_UNDEFINED) return true; /* reported when it was read */
  const surg__attr_def *def = surg__schema_attr(s, a->name);
  bool graph = a->kind == SURG_ATTR_GRAPH || a->kind == SURG_ATTR_GRAPHS;
  if (!def && !graph && a->name[0] == '_' && a->name[1] == '_') return true; /* reserved by ONNX */
  if (!def && !graph && n->op == SURG_OP_LayerNormalization) return true;    /* accepts any */
  if (!def && is_newer_value(n, a)) {
    const bool go_on =
        surg__load_bad(L, a->src.field_off, "E146", "Constant-%d has no such attribute", s->since);
    surg__load_about(L, &(surg__defect){.attr = (surg_attr *)(uintptr_t)a});
    return go_on;
  }
  if (!def && graph)
    return surg__load_bad(L, a->src.field_off, "E105", "%s has no such graph", n->op_type);
  if (!def)
    return surg__load_unclean(L, a->src.field_off, "E105", "%s has no such attribute", n->op_type);
  if (!surg__load_check_ref(L, n, a)) return false;
  if (def->kind == a->kind || a->ref) return true;
  const bool go_on = surg__load_bad(L, a->src.field_off, "E116", "is of kind %s; %s expects %s",
                                    kind_name(a->kind), n->op_type, kind_name(def->kind));
  surg__load_about(L, &(surg__defect){.attr = (surg_attr *)(uintptr_t)a});
  return go_on;
}

static bool check_attrs(surg__loader *L, const surg_node *n, const surg_schema *s) {
  for (uint32_t i = 0; i < n->n_attr; i++)
    if (!check_attr(L, n, s, n->attrs[i])) return false;
  for (uint32_t i = 0; i < s->n_attrs; i++)
    if (s->attrs[i].required && !lost_attr(n) && !find_attr(n, s->attrs[i].name) &&
        n->op != SURG_OP_Constant && /* it needs one of several: check_constant */
        !surg__load_bad(L, n->src.field_off, "E107", "lacks the required attribute \"%s\"",
                        s->attrs[i].name))
      return false;
  return true;
}

/* Checks that a Constant has exactly one value attribute. */
static bool check_constant(surg__loader *L, const surg_node *n) {
  uint32_t values = 0;
  for (uint32_t i = 0; i < n->n_attr; i++)
    if (surg__schema_attr(n->schema, n->attrs[i]->name) || is_newer_value(n, n->attrs[i])) values++;
  return values == 1 ||
         surg__load_bad(L, n->src.field_off, "E126", "has %u values instead of one", values);
}

/* --- inputs and outputs --- */

/* Whether absent inputs and outputs are reported: not after another error of the node, except when
 * an error is tested again. */
static bool is_told(const surg__loader *L, const surg_node *n) {
  return !n->faulty || L->probe;
}

/* Checks that outputs that are not optional have a name. */
static bool check_outputs(surg__loader *L, const surg_node *n, const surg_schema *s) {
  for (uint32_t i = 0; i < n->n_out && i < s->n_outputs && is_told(L, n); i++)
    if (!n->out[i] && s->outputs[i].option == SURG__SINGLE)
      return surg__load_unclean(L, n->src.field_off, "E115", "output %u \"%s\" of %s is absent", i,
                                s->outputs[i].name, n->op_type);
  return true;
}

/* Checks that BatchNormalization has all of its statistics outputs or none. Since version 14 its
 * attribute decides. */
static bool check_norm_outputs(surg__loader *L, const surg_node *n) {
  const int since = n->schema->since;
  const surg_attr *mode = since < 14 ? NULL : find_attr(n, "training_mode");
  if (mode && (mode->ref || mode->kind != SURG_ATTR_INT)) return true;
  if (since >= 14 && n->n_out != (mode && mode->u.i ? 3u : 1u))
    return surg__load_unclean(L, n->src.field_off, "E115",
                              "has %u outputs where %s with training_mode %d gives %d", n->n_out,
                              n->op_type, mode && mode->u.i, mode && mode->u.i ? 3 : 1);
  const bool good = n->n_out == 1 || n->n_out == 5 || since >= 14 || (since < 9 && n->n_out == 4);
  return good || surg__load_unclean(L, n->src.field_off, "E115",
                                    "has %u outputs where %s gives 1 or 5", n->n_out, n->op_type);
}

static bool check_arity(surg__loader *L, const surg_node *n, const surg_schema *s) {
  uint64_t off = n->src.field_off;
  if (n->n_in < s->min_in || n->n_in > s->max_in) {
    if (!surg__load_bad(L, off, "E115", "has %u inputs; %s expects %s%u", n->n_in, n->op_type,
                        n->n_in < s->min_in ? "at least " : "at most ",
                        n->n_in < s->min_in ? s->min_in : s->max_in))
      return false;
  }
  if (n->n_out < s->min_out || n->n_out > s->max_out) {
    if (!surg__load_bad(L, off, "E115", "has %u outputs where %s gives %s%u", n->n_out, n->op_type,
                        n->n_out < s->min_out ? "at least " : "at most ",
                        n->n_out < s->min_out ? s->min_out : s->max_out))
      return false;
  }
  for (uint32_t i = 0; i < n->n_in && i < s->n_inputs; i++)
    if (!n->in[i].value && s->inputs[i].option == SURG__SINGLE && is_told(L, n) &&
        !surg__load_bad(L, off, "E115", "input %u \"%s\" of %s is absent", i, s->inputs[i].name,
                        n->op_type))
      return false;
  if (n->op == SURG_OP_BatchNormalization && !check_norm_outputs(L, n)) return false;
  return check_outputs(L, n, s);
}

/* --- control flow --- */

static const surg_graph *branch(const surg_node *n, const char *name) {
  const surg_attr *a = find_attr(n, name);
  return a && a->kind == SURG_ATTR_GRAPH && !a->ref && a->count == 1 ? a->u.graphs[0] : NULL;
}

/* Removes inputs of a body that have an initializer: they are not inputs of its node. IR version
 * 3 required every initializer to be an input too. They become plain initializers, which does
 * not count as an edit. */
static bool drop_default_inputs(surg_graph *g, size_t n_in) {
  size_t kept = 0;
  for (size_t i = 0; i < g->n_in; i++) kept += !g->in[i]->initializer;
  if (kept != n_in) return false;
  for (size_t i = kept = 0; i < g->n_in; i++) {
    surg_value *v = g->in[i];
    if (!v->initializer) {
      g->in[kept++] = v;
      continue;
    }
    v->input = false;
    v->decl = (surg__decl){.dirty = true};
  }
  g->n_in = kept;
  return true;
}

/* Checks that a subgraph has the number of inputs and outputs that its node requires. */
static bool check_body(surg__loader *L, const surg_node *n, const char *name, size_t n_in,
                       size_t n_out) {
  const surg_graph *g = branch(n, name);
  if (!g) return true; /* missing or of another kind (reported above), or supplied by a call */
  uint64_t off = g->parent_attr->src.field_off;
  if (g->n_in != n_in && !drop_default_inputs((surg_graph *)(uintptr_t)g, n_in) &&
      !surg__load_bad(L, off, "E125", "has %zu input%s instead of %zu", g->n_in,
                      g->n_in == 1 ? "" : "s", n_in))
    return false;
  return g->n_out == n_out ||
         surg__load_bad(L, off, "E125", "has %zu output%s instead of %zu", g->n_out,
                        g->n_out == 1 ? "" : "s", n_out);
}

/* Checks that all inputs from `first` on, which become inputs of a body, are there. */
static bool check_states(surg__loader *L, const surg_node *n, uint32_t first) {
  for (uint32_t i = first; i < n->n_in; i++)
    if (!n->in[i].value)
      return surg__load_unclean(L, n->src.field_off, "E115", "input %u of %s is absent", i,
                                n->op_type);
  return true;
}

static bool check_control_flow(surg__loader *L, const surg_node *n) {
  switch (n->op) {
    case SURG_OP_If:
      return check_body(L, n, "then_branch", 0, n->n_out) &&
             check_body(L, n, "else_branch", 0, n->n_out);
    case SURG_OP_Loop:
      return check_states(L, n, 2) && check_body(L, n, "body", n->n_in, (size_t)n->n_out + 1);
    case SURG_OP_Scan:
      /* In version 8, sequence lengths are the first input. */
      return check_states(L, n, n->schema->since == 8) &&
             check_body(L, n, "body", n->schema->since == 8 ? n->n_in - 1u : n->n_in, n->n_out);
    case SURG_OP_SequenceMap:
      return check_body(L, n, "body", n->n_in, n->n_out);
    default:
      return true;
  }
}

/* --- nodes --- */

static bool check_builtin(surg__loader *L, const surg_node *n) {
  const surg_schema *s = n->schema;
  /* The operators of an opset newer than the schema table, and of a runtime's release, are not
   * known for certain. */
  if (surg_graph_opset(n->graph, n->domain) > surg_schema_newest(n->domain)) return true;
  if (s->flags & SURG__OP_CONTRIB) return true;
  if ((s->flags & SURG__OP_DEPRECATED) &&
      !surg__load_unclean(L, n->src.field_off, "E102", "%s is deprecated in opset %lld", n->op_type,
                          (long long)surg_graph_opset(n->graph, n->domain)))
    return false;
  if (!check_arity(L, n, s) || !check_attrs(L, n, s) || !surg__load_check_opset(L, n)) return false;
  if (n->op == SURG_OP_Constant && !lost_attr(n) && !check_constant(L, n)) return false;
  return check_control_flow(L, n);
}

static bool check_call(surg__loader *L, const surg_node *n) {
  const surg_function *f = n->function;
  if (n->n_in > f->body->n_in)
    return surg__load_bad(L, n->src.field_off, "E128", "has %u inputs; the function expects %zu",
                          n->n_in, f->body->n_in);
  if (n->n_out > f->body->n_out)
    return surg__load_bad(L, n->src.field_off, "E128",
                          "has %u outputs where the function gives %zu", n->n_out, f->body->n_out);
  size_t required = f->attrs.count - f->defaults.count;
  for (size_t i = 0; i < required && L->policy == SURG_LOAD_CHECK; i++)
    if (!find_attr(n, f->attrs.items[i]))
      surg__load_warn(L, n->src.field_off, "W208", "does not set attribute %s of the function",
                      surg__q(L->ctx, f->attrs.items[i]));
  return true;
}

/* Reports an operator that the imported opset of an ONNX domain does not define. */
static bool unregistered(surg__loader *L, const surg_node *n, int64_t opset) {
  if (!L->all) return true;
  if (surg__schema_withdrawn(n->domain, n->op_type)) {
    if (L->policy == SURG_LOAD_CHECK)
      surg__load_warn(L, n->src.field_off, "W209", "an experimental operator that ONNX withdrew");
    return true;
  }
  const int64_t newest = surg_schema_newest(n->domain);
  int64_t later = opset + 1;
  while (later <= newest && !surg_schema_find(n->domain, n->op_type, later)) later++;
  const bool comes = later <= newest;
  const char *near = comes ? NULL : surg__schema_nearest(n->domain, n->op_type);
  char when[100] = "";
  if (comes) snprintf(when, sizeof when, "; it came with opset %lld", (long long)later);
  if (near) snprintf(when, sizeof when, "; did you mean %s?", near);
  return surg__load_unclean(L, n->src.field_off, "E103", "no such operator in opset %lld%s",
                            (long long)opset, when);
}

/* Whether the missing import of the domain was already reported for this graph or function;
 * records it. So only the first of many nodes is reported. */
static bool said_missing(surg__loader *L, const surg_node *n) {
  const surg__missing m = {n->domain, surg_graph_function(n->graph)};
  if (!L->all || L->probe) return false;
  for (size_t i = 0; i < L->missing.count; i++)
    if (L->missing.items[i].domain == m.domain && L->missing.items[i].function == m.function)
      return true;
  if (!surg__vec_push(L->ctx, &L->missing, m)) surg__load_oom(L);
  return false;
}

static bool check_unknown(surg__loader *L, const surg_node *n) {
  bool standard = !*n->domain || strcmp(n->domain, "ai.onnx") == 0;
  int64_t opset = surg_graph_opset(n->graph, n->domain);
  if (opset == 0 && L->no_import) return true; /* reported at the import */
  if (opset == 0 && said_missing(L, n)) return true;
  if (opset == 0 && standard && L->m->ir_version >= 3)
    return surg__load_bad(L, n->src.field_off, "E104", "the model imports no opset of its domain");
  if (opset == 0)
    return surg__load_unclean(L, n->src.field_off, "E104", "the %s does not import domain %s",
                              surg_graph_function(n->graph) ? "function" : "model",
                              surg__q(L->ctx, n->domain));
  /* The schema table may cover other domains in part. */
  standard = standard || strncmp(n->domain, "ai.onnx.", 8) == 0;
  if (!standard || n->overload[0] || opset > surg_schema_newest(n->domain)) return true;
  return unregistered(L, n, opset);
}

bool surg__load_check_node(surg__loader *L, const surg_node *n) {
  if (!check_duplicates(L, n)) return false;
  if (!n->n_in && !n->n_out &&
      !surg__load_unclean(L, n->src.field_off, "E131", "has neither inputs nor outputs"))
    return false;
  surg_op_class class = surg_node_class(n);
  if (L->m->status != SURG_OK) return surg__load_oom(L);
  switch (class) {
    case SURG_OP_CLASS_BUILTIN:
      if (surg_schema_contrib(n->schema) && surg_graph_opset(n->graph, n->domain) == 0)
        return check_unknown(L, n);
      if (surg__node_early(n) && !check_unknown(L, n)) return false;
      return check_builtin(L, n);
    case SURG_OP_CLASS_FUNCTION:
      return check_call(L, n);
    default:
      return !*n->op_type || check_unknown(L, n);
  }
}

/* --- graphs --- */

/* Checks that an input agrees with the initializer that is its default. */
static bool check_default(surg__loader *L, const surg_value *v) {
  const surg_type *type = v->decl.type;
  const surg_tensor *t = v->tensor;
  if (!v->input || !t || !type || t->shapeless) return true;
  if (type->kind == SURG_TYPE_SEQUENCE || type->kind == SURG_TYPE_MAP ||
      type->kind == SURG_TYPE_OPTIONAL)
    return surg__load_unclean(L, v->init_src.field_off, "E127",
                              "is a tensor, and the input of this name is none");
  if (type->kind != SURG_TYPE_TENSOR) return true;
  bool same = type->dtype == t->dtype || type->dtype == SURG_UNDEFINED;
  if (type->has_rank) {
    same = same && type->rank == t->rank;
    for (uint32_t i = 0; same && i < t->rank; i++)
      same = type->dims[i].value < 0 || type->dims[i].value == t->dims[i];
  }
  if (same) return true;
  const bool go_on = surg__load_bad(L, v->init_src.field_off, "E127",
                                    "type or shape is another than that of the input of this name");
  surg__load_about(L, &(surg__defect){.graph = v->graph, .value = (surg_value *)(uintptr_t)v});
  return go_on;
}

/* Reports initializers that are not inputs below IR version 4; runtimes read such models. */
static bool bare_initializers(surg__loader *L, const surg_value *first, size_t n) {
  static const char fmt[] = "IR version %lld wants initializers among the inputs; %zu are not";
  const uint64_t off = first->init_src.field_off;
  const long long version = (long long)L->m->ir_version;
  if (L->all) {
    const bool go_on = surg__load_unclean(L, off, "E112", fmt, version, n);
    surg__load_about(L, &(surg__defect){.graph = first->graph});
    return go_on;
  }
  surg__load_warn(L, off, NULL, fmt, version, n);
  return true;
}

static bool check_initializers(surg__loader *L, const surg_graph *g) {
  size_t alone = 0;
  const surg_value *first = NULL;
  for (const surg_value *v = g->first_init; v; v = v->init_next) {
    if (!check_default(L, v)) return false;
    if (!v->input && alone++ == 0) first = v;
  }
  if (alone && g->kind == SURG_GRAPH_MAIN && L->m->ir_version < 4)
    return bare_initializers(L, first, alone);
  return true;
}

/* Diagnostic callback that stores the message of the sort about a cycle. */
static void hear_cycle(void *user, surg_severity severity, const char *text) {
  surg__loader *L = user;
  const size_t name = strlen(L->src->name);
  if (severity != SURG_ERROR || strlen(text) < name + sizeof ": error: ") return;
  text += name + sizeof ": error: " - 1;
  const char *colon = strstr(text, ": in a cycle: ");
  L->cycle = surg__arena_strn(&L->m->arena, text, strlen(text));
  if (!L->cycle || !colon) return;
  L->cycle[colon - text] = 0; /* ends the location */
  L->cycle_text = L->cycle + (colon - text) + 2;
}

/* Reports a cycle in a lenient load, which keeps the nodes of a cycle in file order. */
static bool found_cycle(surg__loader *L, surg_graph *g) {
  surg_config *config = &L->ctx->config;
  const surg_config was = *config;
  char *error = L->ctx->error;
  bool moved;
  config->diag = hear_cycle;
  config->diag_user = L;
  L->cycle = L->cycle_text = NULL;
  const surg_status s = surg__graph_sort(g, &moved);
  config->diag = was.diag;
  config->diag_user = was.diag_user;
  if (!error) surg_context_clear_error(L->ctx);
  if (s == SURG_OK) {
    g->sorted_on_load = moved;
    return true;
  }
  if (s != SURG_EINVALID) return surg__load_stop(L, s);
  g->cyclic = true;
  if (!surg__load_bad(L, g->first->src.field_off, "E114", "%s",
                      L->cycle_text ? L->cycle_text : "nodes need each other in a circle"))
    return false;
  surg__load_about(L, &(surg__defect){.graph = g, .where = L->cycle_text ? L->cycle : NULL});
  return true;
}

/* Sorts a graph in which a node reads a value before its producer. */
static bool check_order(surg__loader *L, surg_graph *g) {
  const surg_node *first = g->scratch;
  g->scratch = NULL;
  if (!first) return true;
  if (L->lenient) {
    if (!found_cycle(L, g)) return false;
    if (g->cyclic) return true;
    surg__load_repaired(L, first->src.field_off,
                        "nodes were sorted: it read a value that a later node computes");
    const bool go_on =
        surg__load_unclean(L, first->src.field_off, "E101",
                           "reads a value that a later node computes");
    surg__load_about(L, &(surg__defect){.graph = g});
    return go_on;
  }
  /* Reading is not an edit: the file keeps its order until a pass changes it. */
  L->ctx->code = "E114";
  surg_status s = L->policy == SURG_LOAD_REPAIR ? surg_graph_toposort(g, NULL)
                                                : surg__graph_sort(g, &g->sorted_on_load);
  L->ctx->code = NULL;
  if (s == SURG_ENOMEM || s == SURG_ELIMIT) return surg__load_stop(L, s);
  if (s != SURG_OK) return surg__load_found(L, s);
  if (L->all)
    return surg__load_unclean(L, first->src.field_off, "E101",
                              "reads a value that a later node computes");
  surg__load_repaired(L, first->src.field_off,
                      "nodes were sorted: it read a value that a later node computes");
  return true;
}

bool surg__load_check_graph(surg__loader *L, const surg_graph *g) {
  if (!check_initializers(L, g)) return false;
  if (*g->name || g->kind == SURG_GRAPH_FUNCTION) return true;
  const char *code = g->kind == SURG_GRAPH_MAIN ? "E109" : "E139";
  const bool go_on = surg__load_unclean(L, g->src.field_off, code, "has no name");
  surg__load_about(L, &(surg__defect){.graph = (surg_graph *)(uintptr_t)g});
  return go_on;
}

bool surg__load_check(surg__loader *L) {
  for (surg_graph *g = L->m->graph; g; g = g->next) {
    L->node = g->parent_node;
    if (!check_order(L, g) || !surg__load_check_graph(L, g)) return false;
    for (surg_node *n = g->first; n; n = n->next) {
      L->node = n;
      if (!surg__load_check_node(L, n)) return false;
    }
  }
  L->node = NULL;
  if (!surg__load_check_header(L)) return false;
  return surg__load_calls(L);
}
