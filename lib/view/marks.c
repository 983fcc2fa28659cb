/* SPDX-License-Identifier: Apache-2.0 */
/* Findings of a view: what a target does not support, or what is invalid. */
#include "view/view.h"

typedef SURG_VEC(surg__mark_of) mark_list;

typedef struct state {
  surg__view *v;
  mark_list list;
} state;

static const char *copy(state *t, const char *text) {
  if (!text) return NULL;
  const char *c = surg__arena_strn(&t->v->arena, text, strlen(text));
  if (!c && t->v->status == SURG_OK) t->v->status = surg__alloc_status(t->v->ctx);
  return c;
}

static void add(state *t, const surg_node *n, int severity, const char *code, const char *text,
                const char *pass) {
  const surg__mark_of mark = {n, severity, copy(t, code), copy(t, text), copy(t, pass)};
  if (!surg__vec_push(t->v->ctx, &t->list, mark) && t->v->status == SURG_OK)
    t->v->status = surg__alloc_status(t->v->ctx);
}

static void objected(void *user, const surg_objection *o) {
  add(user, o->node, o->severity, o->code, o->text, o->pass);
}

/* Marks a node and those around it. */
static void mark(surg__view *v, const surg_node *n, int severity) {
  for (; n; n = surg_graph_parent_node(surg_node_graph(n))) {
    const uint32_t i = surg__view_number(v, n);
    if (i == VIEW_NONE) return;
    if (v->severity[i] < severity) v->severity[i] = (int8_t)severity;
  }
}

/* Marks what differs: nodes, and those around them. */
static bool mark_changes(surg__view *v) {
  if (!v->diff) return true;
  v->change = surg__view_array(v, v->n_nodes, sizeof *v->change);
  for (size_t i = 0; v->change && i < v->n_nodes; i++) {
    const surg_node *n = v->nodes[i];
    const uint32_t marks = surg_diff_node_marks(v->diff, n);
    v->change[i] |= (uint8_t)marks;
    while (marks && (n = surg_graph_parent_node(surg_node_graph(n)))) {
      const uint32_t around = surg__view_number(v, n);
      if (around == VIEW_NONE || v->change[around] & SURG_DIFF_MARK_CHANGED) break;
      v->change[around] |= SURG_DIFF_MARK_CHANGED;
    }
  }
  return v->change != NULL;
}

uint32_t surg__view_change(const surg__view *v, const surg_node *n) {
  const uint32_t i = v->change ? surg__view_number(v, n) : VIEW_NONE;
  return i == VIEW_NONE ? 0 : v->change[i];
}

bool surg__view_marks(surg__view *v) {
  state t = {.v = v};
  v->severity = surg__view_array(v, v->n_nodes, sizeof *v->severity);
  if (!v->severity) return false;
  memset(v->severity, -1, v->n_nodes * sizeof *v->severity);
  if (v->o.target) {
    const surg_status s = surg_target_judge(v->o.target, v->m, objected, &t, &v->judgement);
    if (s != SURG_OK && v->status == SURG_OK) v->status = s;
  } else {
    surg_finding f = {.size = sizeof f};
    for (size_t i = 0; surg_model_finding(v->m, i, &f); i++)
      if (!f.cured) add(&t, f.node, f.severity, f.code, f.text, NULL);
  }
  v->marks = surg__view_array(v, t.list.count, sizeof *v->marks);
  if (v->marks && t.list.count) memcpy(v->marks, t.list.items, t.list.count * sizeof *v->marks);
  v->n_marks = v->marks ? t.list.count : 0;
  surg__vec_free(v->ctx, &t.list);
  for (size_t i = 0; i < v->n_marks; i++) mark(v, v->marks[i].node, v->marks[i].severity);
  return mark_changes(v) && v->status == SURG_OK;
}

int surg__view_mark(const surg__view *v, const surg_node *n) {
  const uint32_t i = surg__view_number(v, n);
  return i == VIEW_NONE ? -1 : v->severity[i];
}
