/* SPDX-License-Identifier: Apache-2.0 */
/* Uses: the list of all uses of a value. */
#include "ir/edit.h"

/* Inserts u after `prev` (NULL: at the head). */
static void insert_after(surg_value *v, surg_use *u, surg_use *prev) {
  assert(!prev || prev->value == v); /* else the two lists would be joined */
  u->prev = prev;
  u->next = prev ? prev->next : v->uses;
  if (prev)
    prev->next = u;
  else
    v->uses = u;
  if (u->next)
    u->next->prev = u;
  else
    v->uses_tail = u;
}

void surg__use_link(surg_use *u, surg_value *v) {
  assert(!u->value);
  u->value = v;
  if (!v) return;
  assert(!v->erased && !u->prev && !u->next);
  switch (u->kind) {
    case SURG_USE_OUTPUT:
      if (u->user.graph == v->graph) {
        insert_after(v, u, NULL);
        if (!v->last_output) v->last_output = u;
      } else {
        insert_after(v, u, v->last_output);
        v->last_output = u;
      }
      break;
    case SURG_USE_NODE:
      insert_after(v, u, v->first_soft ? v->first_soft->prev : v->uses_tail);
      break;
    case SURG_USE_SOFT:
      insert_after(v, u, v->uses_tail);
      if (!v->first_soft) v->first_soft = u;
      break;
  }
}

void surg__use_unlink(surg_use *u) {
  surg_value *v = u->value;
  if (!v) return;
  assert(u->prev ? u->prev->next == u : v->uses == u);
  assert(u->next ? u->next->prev == u : v->uses_tail == u);
  if (v->last_output == u) v->last_output = u->prev;
  if (v->first_soft == u) v->first_soft = u->next;
  if (u->prev)
    u->prev->next = u->next;
  else
    v->uses = u->next;
  if (u->next)
    u->next->prev = u->prev;
  else
    v->uses_tail = u->prev;
  u->value = NULL;
  u->prev = u->next = NULL;
}

bool surg__value_has_hard_use(const surg_value *v) {
  return v->uses && v->uses->kind != SURG_USE_SOFT;
}

surg_use *surg_value_first_use(const surg_value *v) {
  return surg__value_ok(v) ? v->uses : NULL;
}

surg_use *surg_use_next(const surg_use *u) {
  return u && surg__value_ok(u->value) ? u->next : NULL;
}

surg_use_kind surg_use_get_kind(const surg_use *u) {
  return u ? u->kind : SURG_USE_SOFT;
}

surg_node *surg_use_node(const surg_use *u) {
  if (!u) return NULL;
  if (u->kind == SURG_USE_NODE) return u->user.node;
  return u->kind == SURG_USE_SOFT ? u->user.soft->node : NULL;
}

surg_graph *surg_use_graph(const surg_use *u) {
  if (!u) return NULL;
  if (u->kind == SURG_USE_OUTPUT) return u->user.graph;
  if (u->kind == SURG_USE_NODE) return u->user.node->graph;
  const surg__soft *s = u->user.soft;
  if (s->node) return s->node->graph;
  if (s->graph) return s->graph;
  return u->value ? u->value->graph : NULL;
}

size_t surg_use_index(const surg_use *u) {
  if (!u) return 0;
  if (u->kind != SURG_USE_SOFT) return u->index;
  const surg__annotation *a = u->user.soft->annotation;
  return a && a->subject != u->user.soft;
}

surg_value *surg_use_value(const surg_use *u) {
  return u ? u->value : NULL;
}

size_t surg_value_use_count(const surg_value *v, size_t limit) {
  if (!surg__value_ok(v)) return 0;
  size_t n = 0;
  for (const surg_use *u = v->uses; u && u != v->first_soft && n < limit; u = u->next) n++;
  return n;
}
