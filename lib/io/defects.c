/* SPDX-License-Identifier: Apache-2.0 */
/* Defects of a lenient load: tests which are cured, accepts what the loader read in their place,
 * and rejects a model with open ones. */
#include <stdio.h>

#include "io/load/load.h"

const char *surg__defect_place(surg_model *m, surg__defect *d) {
  if (d->where || d->off == SURG__NOWHERE || !m->source) return d->where;
  surg__buf b;
  surg__buf_init(&b, m->ctx);
  surg__wire_path(m->source, d->off, &b);
  if (!b.failed) d->where = surg__arena_strn(&m->arena, b.p, b.n);
  surg__buf_free(&b);
  return d->where;
}

/* --- whether a defect remains --- */

/* Whether the node or graph of the finding, in its current state, still violates the rule. */
static bool still_breaks(surg__loader *probe, const surg__defect *d) {
  probe->probe = d->code;
  probe->probed = false;
  probe->node = NULL;
  if (d->node) {
    const bool opaque = d->node->opaque;
    d->node->opaque = d->node->resolved = false;
    surg__load_check_node(probe, d->node);
    d->node->opaque = opaque;
    d->node->resolved = false;
  }
  /* Of a body, the node is the one that has it. */
  if (d->graph && (!d->node || d->graph->parent_node == d->node))
    surg__load_check_graph(probe, d->graph);
  return probe->probed;
}

static bool graph_erased(const surg_graph *g) {
  return g && g->erased;
}

static bool has_attr(const surg_node *n, const surg_attr *a) {
  for (uint32_t i = 0; i < n->n_attr; i++)
    if (n->attrs[i] == a) return true;
  return false;
}

static bool holds_tensor(const surg__defect *d) {
  if (d->value) return d->value->tensor == d->tensor;
  if (!d->attr || d->attr->kind == SURG_ATTR_UNDEFINED) return false;
  const bool list = d->attr->kind == SURG_ATTR_TENSOR || d->attr->kind == SURG_ATTR_TENSORS ||
                    d->attr->kind == SURG_ATTR_SPARSE_TENSOR ||
                    d->attr->kind == SURG_ATTR_SPARSE_TENSORS;
  for (uint32_t i = 0; list && i < d->attr->count; i++)
    if (d->attr->u.tensors[i] == d->tensor) return true;
  return false;
}

/* Whether a defect that only reading the file can find is cured: its element was erased, or an
 * edit replaced it. */
static bool gone(const surg__defect *d) {
  if (graph_erased(d->graph) || (d->node && d->node->erased)) return true;
  if (d->function && d->function->erased) return true;
  if (d->value && d->value->erased) return true;
  if (d->node && d->attr && !has_attr(d->node, d->attr)) return true;
  return d->tensor && (d->value || d->attr) && !holds_tensor(d);
}

static bool is(const surg__defect *d, const char *code) {
  return strcmp(d->code, code) == 0;
}

/* Whether the rule is one that the loader's checks can evaluate again on the model in memory. */
static bool checked(const surg__defect *d) {
  static const char *const codes[] = {"E102", "E103", "E104", "E105", "E107", "E109",
                                      "E112", "E115", "E116", "E118", "E125", "E126",
                                      "E127", "E128", "E131", "E133", "E139", "E146"};
  for (size_t i = 0; i < SURG_COUNT(codes); i++)
    if (is(d, codes[i])) return true;
  return false;
}

/* Whether the declared type of an input or output of the main graph is now complete. */
static bool is_declared(surg__loader *probe, const surg__defect *d) {
  const surg_value *v = d->value;
  const surg_graph *g = v ? v->graph : NULL;
  if (!g || g->kind != SURG_GRAPH_MAIN) return false;
  probe->probe = d->code;
  probe->probed = false;
  if (v->input && !surg__load_check_interface(probe, d->off, surg_value_declared_type(v), true))
    return false;
  for (size_t i = 0; i < surg_graph_output_count(g); i++)
    if (surg_graph_output(g, i) == v &&
        !surg__load_check_interface(probe, d->off, surg_graph_output_type(g, i), false))
      return false;
  return !probe->probed;
}

/* Whether missing imports were added, or imports out of range were replaced. */
static bool imports_hold(const surg_model *m, const surg__defect *d) {
  if (d->function) return d->function->imports_dirty;
  return m->ir_version >= 3 && m->imports.count > 0 && m->header_dirty;
}

/* Whether the value is an output of the graph. */
static bool has_output(const surg_graph *g, const surg_value *v) {
  for (size_t i = 0; i < surg_graph_output_count(g); i++)
    if (surg_graph_output(g, i) == v) return true;
  return false;
}

/* Another node with the missing import of an erased one, which alone was reported; NULL: none. */
static surg_node *heir(const surg_model *m, const surg_node *erased) {
  const surg_function *f = surg_graph_function(erased->graph);
  const surg_graph *root = f ? f->body : m->graph;
  if (surg_graph_opset(root, erased->domain) != 0) return NULL;
  for (surg_graph *g = NULL; (g = surg_graph_next_inner(root, g));)
    for (surg_node *n = g->first; n; n = n->next)
      if (strcmp(n->domain, erased->domain) == 0) return n;
  return NULL;
}

static bool cured(surg__loader *probe, surg__defect *d) {
  const surg_model *m = probe->m;
  if (is(d, "E104") && d->node && d->node->erased) {
    surg_node *next = heir(m, d->node);
    if (next) d->node = next;
  }
  if (gone(d)) return true;
  if (is(d, "E108") || is(d, "E130")) return is_declared(probe, d);
  if (is(d, "E106")) return d->graph && !has_output(d->graph, d->value);
  if (is(d, "E140")) return m->ir_version >= 3;
  if (is(d, "E101")) return d->graph && !d->graph->sorted_on_load;
  if (is(d, "E132")) return d->value && !surg__load_hides(d->value);
  if (is(d, "E121") && d->reading == SURG_READING_NONE) return imports_hold(m, d);
  if (is(d, "E122") || is(d, "E141")) return m->has_ir_version && m->ir_version > 0;
  if (is(d, "E110")) return d->value && (!d->value->undefined || !d->value->uses);
  if (is(d, "E114")) return d->graph && !d->graph->cyclic;
  if (is(d, "E129") && d->node && !d->value) return *d->node->op_type;
  if (is(d, "E129") && d->value)
    return *d->value->name || (!d->value->input && !d->value->initializer && !d->value->uses);
  if (is(d, "E117") && d->attr)
    return d->attr->kind != SURG_ATTR_UNDEFINED && d->attr->dirty &&
           d->reading == SURG_READING_NONE && *d->attr->name;
  return checked(d) && !still_breaks(probe, d);
}

/* Sets `faulty` on exactly the nodes that have an open error finding. */
static void mark_nodes(surg_model *m) {
  for (size_t i = 0; i < m->defects.count; i++) {
    surg_node *n = m->defects.items[i].node;
    if (!n || n->erased || !n->faulty) continue;
    n->faulty = n->opaque = n->resolved = false;
    n->types_stale = true;
  }
  for (size_t i = 0; i < m->defects.count; i++) {
    const surg__defect *d = &m->defects.items[i];
    if (!d->node || d->node->erased || d->cured || d->severity != SURG_ERROR ||
        surg__load_leaves_types(d->code))
      continue;
    d->node->faulty = d->node->opaque = true;
    d->node->resolved = false;
  }
  m->inferred_epoch = 0;
}

static bool is_listed(const surg_model *m, size_t n, const surg__defect *d) {
  for (size_t i = 0; i < n; i++) {
    const surg__defect *old = &m->defects.items[i];
    if (old->node == d->node && !old->cured && !strcmp(old->code, d->code) &&
        !strcmp(old->text, d->text))
      return true;
  }
  return false;
}

/* Checks all nodes from the file again after the imports changed: another opset version has
 * other rules, and nodes of a missing domain were not checked before. New findings are open. */
static void judge_again(surg_model *m, surg__loader *L) {
  const size_t before = m->defects.count;
  size_t kept = before;
  for (surg_graph *g = m->graph; g; g = g->next)
    for (surg_node *n = g->first; n; n = n->next) {
      if (n->faulty || !n->src.body.len) continue;
      L->node = n;
      surg__load_check_node(L, n);
    }
  L->node = NULL;
  for (size_t i = before; i < m->defects.count; i++)
    if (!is_listed(m, before, &m->defects.items[i])) m->defects.items[kept++] = m->defects.items[i];
  m->defects.count = kept;
  m->judged_gen = 1;
}

surg_status surg__model_settle(surg_model *m) {
  if (m->status != SURG_OK || !m->defects.count || m->settled_epoch == m->epoch + 1)
    return m->status;
  surg__loader probe = {.ctx = m->ctx, .src = m->source, .m = m, .all = true, .lenient = true};
  bool changed = false;
  surg__arena_init(&probe.scratch, m->ctx);
  for (size_t i = 0; i < m->defects.count; i++) {
    surg__defect *d = &m->defects.items[i];
    if (!d->cured && m->epoch != m->read_epoch && cured(&probe, d)) d->cured = changed = true;
  }
  /* A node with a cured finding may have others that were hidden by it. */
  if (m->epoch != m->read_epoch && (!m->judged_gen || changed)) {
    const size_t before = m->defects.count;
    if (changed) mark_nodes(m); /* nodes without an open error are checked again */
    probe.probe = NULL;
    judge_again(m, &probe);
    changed = changed || m->defects.count != before;
  }
  uint32_t open = m->unlisted;
  for (size_t i = 0; i < m->defects.count; i++)
    open += !m->defects.items[i].cured && m->defects.items[i].severity == SURG_ERROR;
  surg__arena_free(&probe.scratch);
  surg__vec_free(m->ctx, &probe.missing);
  m->open_defects = open;
  if (changed) mark_nodes(m);
  m->settled_epoch = m->epoch + 1;
  return m->status;
}

size_t surg_model_open_findings(surg_model *m) {
  if (!m || surg__model_settle(m) != SURG_OK) return 0;
  return m->open_defects;
}

/* --- accepting what was read --- */

/* Replaces a tensor whose elements are wider in the file than its element type by a copy in its
 * own type. */
static surg_status narrow(surg_model *m, surg_tensor *t) {
  const unsigned wide = t->stored;
  if (!wide) return SURG_OK;
  const unsigned size = (unsigned)(t->bytes / t->count);
  surg__blob *b = surg__blob_new(m, t->bytes);
  if (!b) return m->status;
  for (uint64_t i = 0; i < t->count; i++) {
    uint8_t element[8] = {0};
    surg_status s = surg__source_read(m->source, t->data.off + i * wide, element, wide);
    if (s == SURG_OK) s = surg__blob_write(b, i * size, element, size);
    if (s != SURG_OK) return surg__fail(m, s);
  }
  t->blob = b;
  t->stored = 0;
  t->view = SURG__VIEW_OWNED;
  return SURG_OK;
}

/* Forgets the import that was not read, after the one that was read is accepted (E138). */
static void settle_imports(surg_model *m, const surg__defect *d) {
  surg__imports *list = d->function ? &d->function->imports : &m->imports;
  char start[SURG_LIMIT_NAME_PRINT + 32];
  for (size_t i = 0; i < list->count; i++) {
    surg__import *e = &list->items[i];
    const int n = snprintf(start, sizeof start, "domain %s ", surg__q(m->ctx, e->domain));
    if (n > 0 && (size_t)n < sizeof start && strncmp(d->text, start, (size_t)n) == 0) e->last = 0;
  }
}

surg_status surg_model_accept_finding(surg_model *m, size_t i) {
  if (!m || i >= m->defects.count) return SURG_EUSAGE;
  if (m->status != SURG_OK) return m->status;
  surg__defect *d = &m->defects.items[i];
  if (d->cured) return SURG_OK;
  if (d->reading == SURG_READING_NONE) return SURG_EUNSUPPORTED;
  if (d->tensor) {
    surg_status s = narrow(m, d->tensor);
    if (s != SURG_OK) return s;
    if (d->value) d->value->init_dirty = true;
    if (d->attr) d->attr->dirty = true;
    if (d->attr && d->node) d->node->attrs_dirty = true;
  }
  d->cured = true;
  m->judged_gen = 0;
  if (is(d, "E138")) settle_imports(m, d);
  if (d->value && d->node && !d->value->erased) surg__touch_graph(d->value->graph);
  if (d->node && !d->node->erased)
    surg__touch_node(d->node);
  else if (d->value && !d->value->erased)
    surg__touch_graph(d->value->graph);
  else if (d->graph && !d->graph->erased)
    surg__touch_graph(d->graph);
  else
    m->epoch++, m->dirty = true;
  mark_nodes(m);
  return m->status;
}

/* --- rejecting a model --- */

surg_status surg__model_sound(surg_model *m) {
  if (!m->defects.count) return m->status;
  surg_status s = surg__model_settle(m);
  if (s != SURG_OK || !m->open_defects) return s;
  surg_context *ctx = m->ctx;
  const char *where = surg_model_path(m);
  for (size_t i = 0; i < m->defects.count; i++) {
    surg__defect *d = &m->defects.items[i];
    if (d->cured || d->severity != SURG_ERROR) continue;
    const char *at = surg__defect_place(m, d);
    ctx->code = d->code;
    s = at ? surg__error(ctx, SURG_EINVALID, where, "%s: %s", at, d->text)
           : surg__error(ctx, SURG_EINVALID, where, "%s", d->text);
    break;
  }
  if (s == SURG_OK) s = surg__error(ctx, SURG_EINVALID, where, "is invalid");
  return s;
}
