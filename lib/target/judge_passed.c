/* SPDX-License-Identifier: Apache-2.0 */
/* What calls pass for the attributes of functions. Nodes of a function refer to them by name; while
 * a model is judged, such a node has the value itself. If calls pass different ones, the model is
 * judged for each of them, up to SURG__PASSED_MOST. A node keeps a reference to an attribute that
 * a call does not pass: nothing is concluded from it. */
#include <string.h>

#include "base/context.h"
#include "ir/ir.h"
#include "target/judge.h"

/* An attribute that has the value which calls pass, and what it was. */
typedef struct surg__passed_one {
  surg_attr *attr;
  surg_attr was;
} surg__passed_one;

#define ROUNDS 8 /* calls within calls that values are followed through */

static bool is_plain(const surg_attr *a) {
  switch (a->kind) {
    case SURG_ATTR_INT:
    case SURG_ATTR_FLOAT:
    case SURG_ATTR_STRING:
    case SURG_ATTR_INTS:
    case SURG_ATTR_FLOATS:
    case SURG_ATTR_STRINGS:
      return true;
    default:
      return false;
  }
}

static bool same_text(surg_str a, surg_str b) {
  return a.n == b.n && (!a.n || !memcmp(a.p, b.p, a.n));
}

/* Whether both are values, and the same ones. */
static bool same_value(const surg_attr *a, const surg_attr *b) {
  if (a->ref || b->ref || a->kind != b->kind || !is_plain(a)) return false;
  switch (a->kind) {
    case SURG_ATTR_INT:
      return a->u.i == b->u.i;
    case SURG_ATTR_FLOAT:
      return !memcmp(&a->u.f, &b->u.f, sizeof a->u.f);
    case SURG_ATTR_STRING:
      return same_text(a->u.s, b->u.s);
    default:
      break;
  }
  if (a->count != b->count) return false;
  for (uint32_t i = 0; i < a->count; i++) {
    if (a->kind == SURG_ATTR_INTS && a->u.ints[i] != b->u.ints[i]) return false;
    if (a->kind == SURG_ATTR_FLOATS && memcmp(&a->u.floats[i], &b->u.floats[i], sizeof(float)) != 0)
      return false;
    if (a->kind == SURG_ATTR_STRINGS && !same_text(a->u.strings[i], b->u.strings[i])) return false;
  }
  return true;
}

static bool same_attrs(const surg_node *a, const surg_node *b) {
  if (a->n_attr != b->n_attr) return false;
  for (uint32_t i = 0; i < a->n_attr; i++) {
    const surg_attr *other = surg_node_attr(b, a->attrs[i]->name);
    if (!other || !same_value(a->attrs[i], other)) return false;
  }
  return true;
}

surg_function *surg__judge_function_around(const surg_graph *g) {
  while (surg_graph_parent_node(g)) g = surg_node_graph(surg_graph_parent_node(g));
  return surg_graph_function(g);
}

static bool has_references(const surg_graph *g) {
  for (const surg_node *n = g->first; n; n = n->next)
    for (uint32_t i = 0; i < n->n_attr; i++)
      if (n->attrs[i]->ref) return true;
  return false;
}

/* Returns how many calls differ up to this one; one more than are kept, if there are more. */
static uint32_t add_call(surg_function *f, const surg_node *n) {
  uint32_t i = 0;
  while (i < f->n_calls && !same_attrs(f->calls[i], n)) i++;
  if (i < f->n_calls) return f->n_calls;
  if (i < SURG__PASSED_MOST) f->calls[f->n_calls++] = n;
  return i + 1;
}

/* Finds the calls of each function that pass different attributes. Returns the most of them, at
 * most one more than SURG__PASSED_MOST. */
static uint32_t find_calls(surg_model *m) {
  uint32_t most = 1;
  for (size_t i = 0; i < m->functions.count; i++) m->functions.items[i]->n_calls = 0;
  for (const surg_graph *g = m->graph; g; g = g->next)
    for (const surg_node *n = g->first; n; n = n->next) {
      surg_function *f = surg_node_function(n);
      if (!f) continue;
      const uint32_t calls = add_call(f, n);
      if (calls > most) most = calls;
    }
  return most;
}

/* Gives an attribute the value that the call passes. False: there is none of its kind. */
static bool pass(surg__passed *p, surg_context *ctx, surg_attr *a, const surg_node *call) {
  const surg_attr *from = surg_node_attr(call, a->ref);
  if (!from || from->ref || from->kind != a->kind || !is_plain(from)) return false;
  const surg__passed_one one = {a, *a};
  if (!surg__vec_push(ctx, &p->all, one)) {
    p->failed = true;
    return false;
  }
  a->ref = NULL;
  a->count = from->count;
  a->u = from->u;
  return true;
}

static bool pass_all(surg__passed *p, surg_model *m, uint32_t variant) {
  bool any = false;
  for (surg_graph *g = m->graph; g; g = g->next) {
    const surg_function *f = surg__judge_function_around(g);
    if (!f || !f->n_calls || !has_references(g)) continue;
    const surg_node *call = f->calls[variant % f->n_calls];
    for (surg_node *n = g->first; n; n = n->next)
      for (uint32_t i = 0; i < n->n_attr && !surg__judge_is_constant(n); i++)
        if (n->attrs[i]->ref && pass(p, m->ctx, n->attrs[i], call)) any = true;
  }
  return any;
}

uint32_t surg__passed_begin(surg_model *m, surg__passed *p, uint32_t variant) {
  bool any = false;
  uint32_t most = 1;
  memset(p, 0, sizeof *p);
  if (!m->functions.count) return most;
  for (const surg_graph *g = m->graph; g && !any; g = g->next)
    any = g != m->graph && surg__judge_function_around(g) && has_references(g);
  for (int round = 0; any && round < ROUNDS; round++) {
    const uint32_t found = find_calls(m);
    if (found > most) most = found;
    any = pass_all(p, m, variant);
  }
  if (p->all.count) m->inferred_epoch = 0;
  return most;
}

void surg__passed_end(surg_model *m, surg__passed *p) {
  while (p->all.count) {
    const surg__passed_one *one = &p->all.items[--p->all.count];
    *one->attr = one->was;
    m->inferred_epoch = 0;
  }
  surg__vec_free(m->ctx, &p->all);
}
