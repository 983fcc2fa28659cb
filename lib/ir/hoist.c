/* SPDX-License-Identifier: Apache-2.0 */
/* Moving the contents of a subgraph into an enclosing graph. */
#include "ir/edit.h"

typedef struct hoist {
  surg_graph *from, *to;
  surg_node *before;
  surg_model *m;
} hoist;

static surg_status refuse(const hoist *h, const surg_graph *g, const surg_value *v) {
  return surg__graph_error(g, SURG_EINVALID, "reads %s, so it cannot be moved out",
                           surg__q(h->m->ctx, v->name));
}

/* Checks that no node or output inside `from` reads a value of a graph between `from` and `to`. */
static surg_status check_captures(const hoist *h) {
  const surg_graph *reader;
  if (surg_graph_parent(h->from) == h->to) return SURG_OK;
  const surg_value *v = surg__chain_unseen(h->from, h->to, false, &reader);
  return v ? refuse(h, reader, v) : SURG_OK;
}

static surg_status check(const hoist *h) {
  if (h->from->kind != SURG_GRAPH_SUBGRAPH || h->from == h->to ||
      !surg__graph_inside(h->from, h->to))
    return surg__graph_error(h->from, SURG_EUSAGE, "cannot be moved before that node");
  for (size_t i = 0; i < h->from->n_in; i++) {
    const surg_value *v = h->from->in[i];
    if (surg__value_has_hard_use(v))
      return surg__graph_error(h->from, SURG_EINVALID, "cannot be moved out: input %s is in use",
                               surg__q(h->m->ctx, v->name));
  }
  surg_status s = check_captures(h);
  if (s != SURG_OK || surg__initializers_fit(h->from, h->to)) return s;
  return surg__graph_error(h->to, SURG_EUNSUPPORTED, "cannot have the initializers of a subgraph");
}

/* --- annotations move with their values, or are dropped --- */

static bool stays_behind(const surg__soft *s) {
  return s && s->use.value && s->use.value->input;
}

static void move_annotations(hoist *h) {
  surg__annotation **tail = &h->to->annotations;
  while (*tail) tail = &(*tail)->next;
  for (surg__annotation *a = h->from->annotations, *next; a; a = next) {
    next = a->next;
    bool drop = !a->subject || stays_behind(a->subject);
    for (const surg__soft *s = a->params; s; s = s->next) drop |= stays_behind(s);
    if (drop) surg__annotation_drop(h->from, a);
    if (a->dropped) continue;
    if (a->subject) a->subject->graph = h->to;
    for (surg__soft *s = a->params; s; s = s->next) s->graph = h->to;
    a->next = NULL;
    *tail = a;
    tail = &a->next;
  }
  h->from->annotations = NULL;
  h->from->strays = NULL;
}

/* --- values --- */

/* Renames v if another value of the model has its name: the names would clash, or v would capture
 * uses of the other value. */
static bool clear_label(const hoist *h, surg_value *v) {
  if (!v->name[0] || surg__name_of(v->name)->values <= 1) return true;
  const char *fresh = surg__fresh(h->m, v->name);
  return fresh && surg__relabel(v, fresh);
}

/* Makes an initializer the output of a Constant node, inserted before the moved nodes. */
static bool to_constant(hoist *h, surg_value *v) {
  surg_tensor *t = v->tensor;
  v->init_dirty = false;
  v->init_src = (surg__src){0};
  v->tensor = NULL;
  return surg__constant_output(v, h->before, t);
}

static bool move_value(hoist *h, surg_value *v) {
  if (!clear_label(h, v)) return false;
  surg_tensor *t = v->tensor;
  bool initializer = v->initializer;
  surg__value_unindex(v);
  if (initializer) surg__init_unlink(v);
  surg__value_unlink(v);
  surg__value_append(h->to, v);
  if (!surg__value_index(v)) return false;
  v->named_here = true;
  if (h->to->kind == SURG_GRAPH_FUNCTION) { /* declared types may not fit every call */
    v->in_value_info = false;
    v->decl = (surg__decl){.dirty = true};
  }
  if (!initializer) return true;
  if (!surg__takes_initializers(h->to)) return to_constant(h, v);
  surg__graph_push_initializer(h->to, v, t);
  return true;
}

/* Moves initializers first and in file order, then the other values in order of creation. */
static bool move_values(hoist *h) {
  for (surg_value *v = h->from->first_init, *next; v; v = next) {
    next = v->init_next;
    if (!v->input && !move_value(h, v)) return false;
  }
  for (surg_value *v = h->from->first_value, *next; v; v = next) {
    next = v->next;
    if (!v->input && !move_value(h, v)) return false;
  }
  return true;
}

static bool move_nodes(hoist *h) {
  while (h->from->first) {
    surg_node *n = h->from->first;
    surg__node_unindex(n);
    surg__order_remove(n);
    n->graph = h->to;
    surg__order_insert(n, h->before);
    assert(n->next == h->before);
    if (!surg__node_index(n)) return false;
    n->named_here = true;
    surg__emit(h->m, SURG_EVENT_MOVE, h->to, n, NULL, NULL, NULL);
  }
  return true;
}

surg_status surg_graph_hoist(surg_graph *from, surg_node *before) {
  surg_status s = surg__graph_ready(from);
  if (s == SURG_OK) s = surg__node_ready(before);
  if (s != SURG_OK) return s;
  hoist h = {.from = from, .to = before->graph, .before = before, .m = from->model};
  if (before->graph->model != h.m) return SURG_EUSAGE;
  s = check(&h);
  if (s != SURG_OK) return s;
  move_annotations(&h);
  if (!move_values(&h) || !move_nodes(&h)) return h.m->status;
  surg__touch_graph(from);
  surg__touch_graph(h.to);
  return SURG_OK;
}
