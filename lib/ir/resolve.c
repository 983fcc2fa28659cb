/* SPDX-License-Identifier: Apache-2.0 */
/* Resolving the operator of a node, and whether a node is deterministic. */
#include "base/taught.h"
#include "schema/schema.h"

#include "ir/edit.h"

#define SHORT_LIST 16 /* lists up to this many imports are searched linearly */

/* The id of an operator that is not in the operator table. */
typedef struct surg__opid {
  const char *key[3]; /* interned: domain, op_type, overload */
  int id;
  UT_hash_handle hh;
} surg__opid;

/* Index of long import lists: the version of a domain in one list. */
typedef struct surg__opset {
  struct {
    const void *list;
    const char *domain; /* interned, "" for ai.onnx */
  } key;
  int64_t version;
  UT_hash_handle hh;
} surg__opset;

void surg__resolve_free(surg_model *m);

static void drop_opsets(surg_model *m) {
  SURG_HASH_LOCALS(m->ctx);
  surg__opset *e, *tmp;
  HASH_ITER(hh, m->opsets, e, tmp) {
    HASH_DELETE(hh, m->opsets, e);
    surg__free(m->ctx, e);
  }
  m->opsets_gen = 0;
}

void surg__resolve_free(surg_model *m) {
  SURG_HASH_LOCALS(m->ctx);
  drop_opsets(m);
  HASH_CLEAR(hh, m->custom_ops);
}

void surg__model_unresolve(surg_model *m) {
  if (m->opsets) drop_opsets(m);
  m->opsets_gen = 0;
  m->resolve_gen++;
}

static bool index_list(surg_model *m, const surg__imports *imports) {
  SURG_HASH_LOCALS(m->ctx);
  if (imports->count <= SHORT_LIST) return true;
  const char *none = surg__intern(m, "", 0);
  for (size_t i = 0; none && i < imports->count; i++) {
    surg__opset *e = surg__calloc(m->ctx, 1, sizeof *e), *same;
    if (!e) return surg__failed(m) != NULL;
    const char *domain = imports->items[i].domain;
    e->key.list = imports;
    e->key.domain = surg__default_domain(domain) ? none : domain;
    e->version = imports->items[i].version;
    HASH_FIND(hh, m->opsets, &e->key, sizeof e->key, same);
    if (!same) HASH_ADD_KEYPTR(hh, m->opsets, &e->key, sizeof e->key, e);
    if (same || surg__hash_failed) surg__free(m->ctx, e);
    if (surg__hash_failed) return surg__failed(m) != NULL;
  }
  return none != NULL;
}

static bool index_opsets(surg_model *m) {
  if (m->opsets_gen == m->resolve_gen) return true;
  drop_opsets(m);
  if (!index_list(m, &m->imports)) return false;
  for (size_t i = 0; i < m->functions.count; i++)
    if (!index_list(m, &m->functions.items[i]->imports)) return false;
  m->opsets_gen = m->resolve_gen;
  return true;
}

int64_t surg__imports_find(const surg_model *m, const surg__imports *imports, const char *domain) {
  bool standard = surg__default_domain(domain);
  /* IR versions 1 and 2 have no imports: opset 1 applies. */
  if (standard && imports == &m->imports && imports->count == 0 && m->has_ir_version &&
      m->ir_version < 3)
    return 1;
  if (imports->count <= SHORT_LIST) {
    for (size_t i = 0; i < imports->count; i++) {
      const char *d = imports->items[i].domain;
      if (standard ? surg__default_domain(d) : strcmp(d, domain) == 0)
        return imports->items[i].version;
    }
    return 0;
  }
  surg_model *index = (surg_model *)(uintptr_t)m; /* the index is a cache */
  const char *name = surg__interned(m, standard ? "" : domain, standard ? 0 : strlen(domain));
  if (!name || !index_opsets(index)) return 0;
  SURG_HASH_LOCALS(m->ctx);
  surg__opset key = {.key = {imports, name}}, *e;
  HASH_FIND(hh, m->opsets, &key.key, sizeof key.key, e);
  return e ? e->version : 0;
}

/* --- scopes --- */

static const surg_graph *root_of(const surg_graph *g) {
  while (g->parent_node) g = g->parent_node->graph;
  return g;
}

surg_graph *surg__node_scope(const surg_node *n) {
  return (surg_graph *)(uintptr_t)root_of(n->graph);
}

surg_function *surg_graph_function(const surg_graph *g) {
  return g ? root_of(g)->function : NULL;
}

int64_t surg_graph_opset(const surg_graph *g, const char *domain) {
  if (!g || g->model->status != SURG_OK) return 0;
  const surg_function *f = root_of(g)->function;
  const surg__imports *imports = f ? &f->imports : &g->model->imports;
  return surg__imports_find(g->model, imports, domain ? domain : "");
}

surg_function *surg_model_find_function(const surg_model *m, const char *domain, const char *name,
                                        const char *overload) {
  if (!surg__model_ok(m) || !name || !m->functions_by_key) return NULL;
  SURG_HASH_LOCALS(m->ctx);
  if (!domain || surg__default_domain(domain)) domain = "";
  if (!overload) overload = "";
  const char *key[3] = {surg__interned(m, domain, strlen(domain)),
                        surg__interned(m, name, strlen(name)),
                        surg__interned(m, overload, strlen(overload))};
  if (!key[0] || !key[1] || !key[2]) return NULL;
  surg_function *f;
  HASH_FIND(hh, m->functions_by_key, key, sizeof key, f);
  return f;
}

/* --- nodes --- */

static int custom_id(surg_model *m, const char *const key[3]) {
  SURG_HASH_LOCALS(m->ctx);
  surg__opid *e;
  HASH_FIND(hh, m->custom_ops, key, 3 * sizeof key[0], e);
  if (e) return e->id;
  e = m->next_custom_op < INT32_MAX ? surg__zalloc(m, sizeof *e) : NULL;
  if (!e) return SURG_OP_UNKNOWN;
  memcpy(e->key, key, sizeof e->key);
  e->id = m->next_custom_op;
  HASH_ADD_KEYPTR(hh, m->custom_ops, e->key, sizeof e->key, e);
  if (surg__hash_failed) {
    surg__failed(m);
    return SURG_OP_UNKNOWN;
  }
  return m->next_custom_op++;
}

/* The schema of an ONNX Runtime operator if the model does not import its domain: ONNX Runtime
 * accepts that too. */
static const surg_schema *contrib_unimported(const char *domain, const char *op_type) {
  const surg_schema *s = surg_schema_find(domain, op_type, 1);
  return surg_schema_contrib(s) ? s : NULL;
}

/* The schema of an operator that engines had in the default domain before ONNX adopted it
 * unchanged: models with older opsets contain such nodes (ONNX Runtime's optimizer writes them).
 * They behave as the first version. */
static const surg_schema *early_schema(const char *domain, const char *op_type, int64_t opset) {
  static const char *const names[] = {"LayerNormalization", "ThresholdedRelu"};
  const int64_t newest = surg_schema_newest("");
  for (size_t i = 0; !*domain && i < SURG_COUNT(names); i++)
    for (int64_t v = opset + 1; !strcmp(names[i], op_type) && v <= newest; v++) {
      const surg_schema *s = surg_schema_find("", op_type, v);
      if (s) return s;
    }
  return NULL;
}

bool surg__node_early(const surg_node *n) {
  const surg_schema *s = surg_node_schema(n);
  return s && !*s->domain && !(s->flags & SURG__OP_CONTRIB) &&
         s->since > surg_graph_opset(n->graph, "");
}

void surg__node_resolve(surg_node *n) {
  surg_graph *g = n->graph;
  surg_model *m = g->model;
  if ((n->resolved && n->resolve_gen == m->resolve_gen) || m->status != SURG_OK) return;
  SURG_HASH_LOCALS(m->ctx);
  const char *domain = n->domain;
  if (surg__default_domain(domain)) domain = surg__intern(m, "", 0);
  if (!domain) return;
  const char *key[3] = {domain, n->op_type, n->overload};
  n->schema = NULL;
  n->function = NULL;
  if (n->opaque) {
    n->op = SURG_OP_UNKNOWN;
    n->op_class = SURG_OP_CLASS_CUSTOM;
    n->resolved = true;
    n->resolve_gen = m->resolve_gen;
    return;
  }
  HASH_FIND(hh, m->functions_by_key, key, sizeof key, n->function);
  if (m->reads.call) n->function = m->reads.call(m, n, n->function);
  int64_t opset = n->function || n->overload[0] ? 0 : surg_graph_opset(g, domain);
  if (opset > 0)
    n->schema = surg_schema_find(domain, n->op_type, opset);
  if (opset > 0 && !n->schema)
    n->schema = early_schema(domain, n->op_type, opset);
  else if (opset <= 0 && *domain && !n->function && !n->overload[0])
    n->schema = contrib_unimported(domain, n->op_type);
  n->op = n->schema ? n->schema->op : custom_id(m, key);
  n->op_class = n->function ? SURG_OP_CLASS_FUNCTION
                : n->schema ? SURG_OP_CLASS_BUILTIN
                            : SURG_OP_CLASS_CUSTOM;
  assert((n->op_class == SURG_OP_CLASS_BUILTIN) == (n->schema && !n->function));
  n->resolved = m->status == SURG_OK;
  n->resolve_gen = m->resolve_gen;
}

/* Brings the cached resolution of a node up to date; NULL for an erased node or a failed model. */
static const surg_node *resolve(const surg_node *n) {
  if (!surg__node_ok(n)) return NULL;
  surg_node *cache = (surg_node *)(uintptr_t)n;
  surg__node_resolve(cache);
  return cache->resolved ? cache : NULL;
}

int surg_node_op(const surg_node *n) {
  n = resolve(n);
  return n ? n->op : SURG_OP_UNKNOWN;
}

surg_op_class surg_node_class(const surg_node *n) {
  n = resolve(n);
  return n ? n->op_class : SURG_OP_CLASS_UNKNOWN;
}

const surg_schema *surg_node_schema(const surg_node *n) {
  n = resolve(n);
  return n ? n->schema : NULL;
}

surg_function *surg_node_function(const surg_node *n) {
  n = resolve(n);
  return n ? n->function : NULL;
}

/* --- nondeterminism --- */

/* Whether the node runs in training mode. Dropout: since 12 only with its third input; before 7
 * unless is_test is set. */
static bool training_mode(const surg_node *n) {
  const surg_schema *s = n->schema;
  assert(s); /* `intrinsic` passes only nodes with a schema */
  if (s->since < 7 && surg__schema_attr(s, "is_test"))
    return surg_attr_ref(surg_node_attr(n, "is_test")) || surg_node_int(n, "is_test", 0) == 0;
  if (surg__schema_attr(s, "training_mode")) {
    const surg_attr *a = surg_node_attr(n, "training_mode");
    return surg_attr_ref(a) || surg_node_int(n, "training_mode", 0) != 0;
  }
  if (n->op != SURG_OP_Dropout) {
    /* BatchNormalization 7 and 9 train if their running statistics are outputs. */
    for (uint32_t i = 1; i < n->n_out; i++)
      if (n->out[i]) return true;
    return false;
  }
  const surg_value *flag = s->since >= 12 ? surg_node_input(n, 2) : NULL;
  if (!flag) return false;
  const surg_tensor *t = surg_value_constant(flag);
  uint8_t on = 1;
  if (!t || surg_tensor_count(t) != 1 || surg_tensor_dtype(t) != SURG_BOOL) return true;
  return surg_tensor_read(t, 0, &on, 1) != SURG_OK || on != 0;
}

/* Whether a plugin registered the operator as deterministic. */
static bool deterministic_custom(const surg_node *n) {
  const surg__taught_operator *o = surg__taught_find(n->graph->model->ctx, n->domain, n->op_type);
  return o && o->op.evaluate && !(o->op.traits & SURG_TRAIT_NONDETERMINISTIC);
}

/* Whether the node itself is nondeterministic, without its subgraphs and functions. */
static bool intrinsic(const surg_node *n) {
  const surg_node *r = resolve(n);
  if (!r) return true;
  if (r->op_class == SURG_OP_CLASS_CUSTOM) return !deterministic_custom(r);
  if (r->op_class != SURG_OP_CLASS_BUILTIN) return false;
  if (r->schema->flags & SURG__OP_NONDETERMINISTIC) return true;
  return (r->schema->flags & SURG__OP_TRAINING_MODE) && training_mode(r);
}

/* A chain of graphs to check. `work` marks membership, so that shared bodies and recursive calls
 * are visited once. */
typedef struct visit {
  surg_graph *head, *tail;
  uint64_t now;
} visit;

static void visit_push(visit *v, surg_graph *g) {
  if (!g || g->work || (g->nondet_epoch == v->now && !g->nondet)) return;
  g->work = g;
  assert(!v->tail || !v->tail->work_next);
  g->work_next = NULL;
  if (v->tail)
    v->tail->work_next = g;
  else
    v->head = g;
  v->tail = g;
}

static void visit_inside(visit *v, const surg_node *n) {
  for (uint32_t i = 0; i < n->n_attr; i++) {
    const surg_attr *a = n->attrs[i];
    for (uint32_t k = 0; surg__attr_has_graphs(a) && k < a->count; k++)
      visit_push(v, a->u.graphs[k]);
  }
  surg_function *f = surg_node_function(n);
  if (f) visit_push(v, f->body);
}

static bool visit_all(visit *v) {
  for (surg_graph *g = v->head; g; g = g->work_next) {
    if (g->nondet_epoch == v->now && g->nondet) return true;
    for (const surg_node *n = g->first; n; n = n->next) {
      if (intrinsic(n)) {
        g->nondet = true;
        g->nondet_epoch = v->now;
        return true;
      }
      visit_inside(v, n);
    }
  }
  return false;
}

bool surg_node_nondeterministic(const surg_node *n) {
  if (!surg__node_ok(n)) return false;
  if (intrinsic(n)) return true;
  visit v = {.now = n->graph->model->epoch + 1};
  visit_inside(&v, n);
  const surg_graph *roots_end = v.tail;
  bool found = visit_all(&v);
  bool root = true;
  for (surg_graph *g = v.head; g; g = g->work_next) {
    g->work = NULL;
    /* If no nondeterministic node was found, all visited graphs are deterministic. If one was
     * found, only a sole root is known to reach it. */
    if (!found || (root && v.head == roots_end)) {
      g->nondet = found;
      g->nondet_epoch = v.now;
    }
    root = false;
  }
  return found;
}

bool surg_graph_has_op(surg_graph *g, int op) {
  if (!surg__graph_ok(g) || op <= 0 || op >= SURG_OP_COUNT) return false;
  if (g->has_epoch != g->model->epoch + 1) {
    memset(g->has_ops, 0, sizeof g->has_ops);
    for (const surg_node *n = g->first; n; n = n->next) {
      const int is = surg_node_op(n);
      if (is > 0 && is < SURG_OP_COUNT) g->has_ops[is / 64] |= UINT64_C(1) << is % 64;
    }
    g->has_epoch = g->model->epoch + 1;
  }
  return g->has_ops[op / 64] >> op % 64 & 1;
}
