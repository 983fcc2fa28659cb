/* SPDX-License-Identifier: Apache-2.0 */
/* Replacing uses of one value by another. */
#include "ir/edit.h"

static bool own_output(const surg_value *v) {
  for (const surg_use *u = v->last_output ? v->uses : NULL; u; u = u->next) {
    if (u->user.graph == v->graph) return true;
    if (u == v->last_output) return false;
  }
  return false;
}

/* Whether `by` is visible to every use of `old`: if its graph is old's or encloses it, always;
 * otherwise all uses must be in or inside the graph of `by`. */
static bool seen_by_all(const surg_value *old, const surg_value *by) {
  if (surg__value_visible(by, old->graph)) return true;
  for (const surg_use *u = old->uses; u && u != old->first_soft; u = u->next)
    if (!surg__value_visible(by, surg_use_graph(u))) return false;
  return true;
}

surg_replace surg_value_can_replace(const surg_value *old, const surg_value *by) {
  if (!surg__value_ok(old) || !surg__value_ok(by) || old == by) return SURG_REPLACE_NO;
  if (old->graph->model != by->graph->model || old->pinned) return SURG_REPLACE_NO;
  if (!seen_by_all(old, by)) return SURG_REPLACE_NO;
  if (!own_output(old)) return SURG_REPLACE_YES;
  /* An input that is an output too must keep its name, and no second value can have it. */
  if (old->input) return SURG_REPLACE_NO;
  bool takes_label = by->graph == old->graph && !by->input && !by->pinned && !own_output(by);
  return takes_label ? SURG_REPLACE_BY_LABEL : SURG_REPLACE_NEEDS_IDENTITY;
}

/* Gives the name of an output to `by`; renames the old value to a fresh name. */
static bool take_label(surg_value *old, surg_value *by) {
  assert(old->graph == by->graph && !old->input && !by->input);
  const char *label = old->name;
  const char *fresh = surg__fresh(old->graph->model, label);
  if (!fresh) return false;
  if (label[0] && surg__name_of(label)->values > 1) {
    /* A value of an inner graph may have the same name and would shadow `by` there. */
    for (surg_use *u = by->uses, *next; u && u != by->first_soft; u = next) {
      next = u->next;
      surg_graph *g = surg_use_graph(u);
      if (g != by->graph && !surg__unshadow(by, label, g)) return false;
    }
  }
  /* Consumers of `old` move to `by`, which has the old name: their text is unchanged. */
  if (!surg__set_label(old, fresh, false) || !surg__set_label(by, label, true)) return false;
  /* The output entry keeps its declared type; a value_info entry for it would be redundant. Outputs
   * of a function have no declared type. */
  if (by->graph->kind == SURG_GRAPH_FUNCTION) return true;
  by->in_value_info = false;
  by->decl = (surg__decl){.dirty = true};
  return true;
}

/* Moves a node or output use; `mark`: the name it contains changes, so mark it dirty. */
static void move_use(surg_use *u, surg_value *by, bool mark) {
  assert(u->kind != SURG_USE_SOFT && u->value != by);
  surg__use_unlink(u);
  surg__use_link(u, by);
  if (!mark) return;
  if (u->kind == SURG_USE_NODE) {
    u->user.node->io_dirty = true;
    surg__touch_node(u->user.node);
  } else {
    surg__output *o = u->user.graph->out[u->index];
    o->name = by->name;
    surg__touch_graph(u->user.graph);
  }
}

/* Moves sharding specs of consumers to the value that they read now. */
static void move_sharding(surg_value *old, surg_value *by) {
  for (surg_use *u = old->first_soft, *next; u; u = next) {
    next = u->next;
    surg__soft *s = u->user.soft;
    assert(u->kind == SURG_USE_SOFT && (s->kind != SURG__SOFT_SHARDING || s->node));
    if (s->kind != SURG__SOFT_SHARDING || s->node == old->producer) continue;
    surg__use_unlink(u);
    surg__use_link(u, by);
    s->node->io_dirty = true;
    surg__touch_node(s->node);
  }
}

surg_status surg_value_replace(surg_value *old, surg_value *by) {
  surg_status s = surg__value_ready(old);
  if (s == SURG_OK) s = surg__value_ready(by);
  if (s != SURG_OK) return s;
  surg_model *m = old->graph->model;
  if (old == by) return SURG_OK;
  surg_replace how = surg_value_can_replace(old, by);
  if (how != SURG_REPLACE_YES && how != SURG_REPLACE_BY_LABEL) return SURG_EUNSUPPORTED;
  for (const surg_use *u = by->producer ? old->uses : NULL; u && u != old->first_soft; u = u->next)
    if (u->kind == SURG_USE_NODE && surg__reads_itself(u->user.node, by))
      return surg__node_error(u->user.node, SURG_EINVALID,
                              "value %s cannot replace %s: it is computed from this node",
                              surg__q(m->ctx, by->name), surg__q(m->ctx, old->name));
  bool labels = how == SURG_REPLACE_BY_LABEL;
  for (surg_use *u = labels ? NULL : old->uses; u && u != old->first_soft; u = u->next)
    if (!surg__unshadow(by, by->name, surg_use_graph(u))) return m->status;
  if (labels && !take_label(old, by)) return m->status;
  while (surg__value_has_hard_use(old)) move_use(old->uses, by, !labels);
  move_sharding(old, by);
  surg__emit(m, SURG_EVENT_REPLACE, old->graph, NULL, old, by, NULL);
  return SURG_OK;
}
