/* SPDX-License-Identifier: Apache-2.0 */
/* Divides the nodes of the main graph into parts: at values, or at the positions of cost.c. */
#include "base/base.h"
#include "base/diag.h"
#include "split/cost.h"
#include "split/split.h"

bool surg__split_constant(const surg_node *n) {
  return surg_node_op(n) == SURG_OP_Constant && surg_node_class(n) == SURG_OP_CLASS_BUILTIN;
}

surg_node *surg__split_user(const surg_use *u, const surg_graph *main) {
  surg_node *n = surg_use_node(u);
  const surg_graph *g = surg_use_graph(u);
  if (surg_use_get_kind(u) == SURG_USE_SOFT) return NULL;
  if (!n) n = g ? surg_graph_parent_node(g) : NULL; /* an output of a subgraph */
  while (n && surg_node_graph(n) != main) n = surg_graph_parent_node(surg_node_graph(n));
  return n;
}

/* Gives each node of the main graph its number in `work`, from 1 on; 0 removes it. */
static void number(surg_graph *g, bool on) {
  uintptr_t i = 0;
  for (surg_node *n = surg_graph_first_node(g); n; n = surg_node_next(n))
    n->work = on ? (void *)++i : NULL;
}

size_t surg__split_index(const surg_node *n) {
  return (uintptr_t)n->work - 1;
}

/* --- at values --- */

#define REST UINT32_MAX

typedef struct cutting {
  surg_split *s;
  surg_node **nodes;
  bool *needed;
} cutting;

/* Whether an output of the node is read by a node that is needed. */
static bool is_needed(const cutting *c, const surg_node *n) {
  const surg_graph *g = surg_node_graph(n);
  for (size_t i = 0; i < surg_node_output_count(n); i++) {
    const surg_value *v = surg_node_output(n, i);
    for (const surg_use *u = v ? surg_value_first_use(v) : NULL; u; u = surg_use_next(u)) {
      const surg_node *user = surg__split_user(u, g);
      if (user && c->needed[surg__split_index(user)]) return true;
    }
  }
  return false;
}

/* Assigns to part k what computes the values and is in no earlier part. */
static surg_status cut_at(cutting *c, uint32_t k, surg_value *const *values, size_t n) {
  surg_split *s = c->s;
  size_t count = 0;
  memset(c->needed, 0, s->n_nodes);
  for (size_t i = 0; i < n; i++) {
    const surg_node *p = values[i] ? surg_value_producer(values[i], NULL) : NULL;
    if (!values[i] || surg_value_graph(values[i]) != surg_model_graph(s->m))
      return surg__error(s->ctx, SURG_EUSAGE, surg_model_path(s->m),
                         "%s is not a value of the main graph",
                         values[i] ? surg__q(s->ctx, surg_value_name(values[i])) : "NULL");
    if (!p)
      return surg__error(s->ctx, SURG_EUSAGE, surg_model_path(s->m),
                         "%s is an input or a weight: there is nothing to cut before it",
                         surg__q(s->ctx, surg_value_name(values[i])));
    c->needed[surg__split_index(p)] = true;
  }
  for (size_t i = s->n_nodes; i-- > 0;) {
    if (s->part[i] != REST || !(c->needed[i] || is_needed(c, c->nodes[i]))) {
      c->needed[i] = false;
      continue;
    }
    c->needed[i] = true;
    s->part[i] = k;
    count += !surg__split_constant(c->nodes[i]) && !s->dead[i];
    s->dead[i] = false;
  }
  if (count) return SURG_OK;
  return surg__error(s->ctx, SURG_EUSAGE, surg_model_path(s->m),
                     "part %u would have no nodes: an earlier cut has all that compute %s",
                     (unsigned)k + 1, n ? surg__q(s->ctx, surg_value_name(values[0])) : "it");
}

static bool is_output(const surg_value *v, const surg_graph *g) {
  for (const surg_use *u = surg_value_first_use(v); u; u = surg_use_next(u))
    if (surg_use_get_kind(u) == SURG_USE_OUTPUT && surg_use_graph(u) == g) return true;
  return false;
}

/* Finds the nodes on which no output of the model depends. */
static void find_dead(surg_split *s, surg_node **nodes) {
  const surg_graph *g = surg_model_graph(s->m);
  for (size_t i = s->n_nodes; i-- > 0;) {
    s->dead[i] = true;
    for (size_t k = 0; s->dead[i] && k < surg_node_output_count(nodes[i]); k++) {
      const surg_value *v = surg_node_output(nodes[i], k);
      if (v && is_output(v, g)) s->dead[i] = false;
      for (const surg_use *u = v ? surg_value_first_use(v) : NULL; u; u = surg_use_next(u)) {
        const surg_node *user = surg__split_user(u, g);
        if (user && !s->dead[surg__split_index(user)]) s->dead[i] = false;
      }
    }
  }
}

/* A dead node is in the first part that has all values that it reads. */
static void settle_dead(surg_split *s, surg_node **nodes) {
  const surg_graph *g = surg_model_graph(s->m);
  for (size_t i = 0; i < s->n_nodes; i++)
    if (s->dead[i]) s->part[i] = 0;
  for (size_t i = 0; i < s->n_nodes; i++)
    for (size_t k = 0; k < surg_node_output_count(nodes[i]); k++) {
      const surg_value *v = surg_node_output(nodes[i], k);
      for (const surg_use *u = v ? surg_value_first_use(v) : NULL; u; u = surg_use_next(u)) {
        const surg_node *user = surg__split_user(u, g);
        const size_t at = user ? surg__split_index(user) : 0;
        if (user && s->dead[at] && s->part[at] < s->part[i] && !surg__split_constant(nodes[i]))
          s->part[at] = s->part[i];
      }
    }
}

/* A node without inputs that is read only later moves to the first part that reads it. */
static void settle_constants(surg_split *s, surg_node **nodes) {
  const surg_graph *g = surg_model_graph(s->m);
  for (size_t i = 0; i < s->n_nodes; i++) {
    if (!surg__split_constant(nodes[i])) continue;
    uint32_t first = (uint32_t)s->n_parts;
    const surg_value *v = surg_node_output(nodes[i], 0);
    for (const surg_use *u = v ? surg_value_first_use(v) : NULL; u; u = surg_use_next(u)) {
      const surg_node *user = surg__split_user(u, g);
      if (user && s->part[surg__split_index(user)] < first)
        first = s->part[surg__split_index(user)];
    }
    if (first < s->n_parts) s->part[i] = first;
  }
}

static surg_status plan_cuts(surg_split *s, surg_node **nodes, const surg_split_options *o) {
  cutting c = {.s = s, .nodes = nodes};
  c.needed = surg__calloc(s->ctx, s->n_nodes + 1, sizeof *c.needed);
  if (!c.needed) return surg__alloc_status(s->ctx);
  for (size_t i = 0; i < s->n_nodes; i++) s->part[i] = REST;
  surg_status r = SURG_OK;
  for (size_t k = 0; r == SURG_OK && k < o->n_cuts; k++)
    r = cut_at(&c, (uint32_t)k, o->cuts[k], o->n_values[k]);
  size_t rest = 0;
  for (size_t i = 0; i < s->n_nodes; i++) {
    if (s->part[i] != REST) continue;
    s->part[i] = (uint32_t)o->n_cuts;
    rest += !surg__split_constant(nodes[i]) && !s->dead[i];
  }
  s->n_parts = o->n_cuts + 1;
  if (r == SURG_OK && !rest)
    r = surg__error(s->ctx, SURG_EUSAGE, surg_model_path(s->m),
                    "no node is left after the last cut");
  surg__free(s->ctx, c.needed);
  return r;
}

/* --- the plan --- */

static surg_status check(surg_context *ctx, const surg_model *m, const surg_split_options *o) {
  const unsigned ways = (o->n_cuts > 0) + (o->parts > 0) + (o->max_bytes > 0);
  if (ways != 1 || (o->n_cuts && (!o->cuts || !o->n_values)) || o->by < SURG_SPLIT_BYTES ||
      o->by > SURG_SPLIT_NODES)
    return surg__error(ctx, SURG_EUSAGE, surg_model_path(m),
                       "a split needs values, a number of parts, or a size");
  if (o->n_cuts >= SURG__SPLIT_PARTS || o->parts > SURG__SPLIT_PARTS || o->parts == 1)
    return surg__error(ctx, SURG_EUSAGE, surg_model_path(m), "expected 2 to %u parts",
                       SURG__SPLIT_PARTS);
  return SURG_OK;
}

static surg_status plan(surg_split *s, const surg_split_options *o) {
  surg_graph *g = surg_model_graph(s->m);
  surg_node **nodes = surg__calloc(s->ctx, s->n_nodes + 1, sizeof *nodes);
  if (!nodes) return surg__alloc_status(s->ctx);
  size_t i = 0;
  for (surg_node *n = surg_graph_first_node(g); n; n = surg_node_next(n)) nodes[i++] = n;
  number(g, true);
  find_dead(s, nodes);
  surg_status r = o->n_cuts ? plan_cuts(s, nodes, o) : surg__split_balance(s, nodes, o);
  if (r == SURG_OK) settle_dead(s, nodes);
  if (r == SURG_OK) settle_constants(s, nodes);
  number(g, false);
  surg__free(s->ctx, nodes);
  return r;
}

surg_status surg_split_new(surg_model *m, const surg_split_options *options, surg_split **out) {
  surg_split_options o;
  if (out) *out = NULL;
  if (!m || !out || !options) return SURG_EUSAGE;
  surg_context *ctx = surg_model_context(m);
  surg__struct_in(&o, sizeof o, options);
  surg_status r = check(ctx, m, &o);
  if (r == SURG_OK) r = surg_model_infer(m);
  if (r != SURG_OK) return r;
  surg_split *s = surg__calloc(ctx, 1, sizeof *s);
  if (!s) return surg__alloc_status(ctx);
  *s = (surg_split){.ctx = ctx, .m = m, .n_nodes = surg_graph_node_count(surg_model_graph(m))};
  s->part = surg__calloc(ctx, s->n_nodes + 1, sizeof *s->part);
  s->dead = surg__calloc(ctx, s->n_nodes + 1, sizeof *s->dead);
  r = s->part && s->dead ? plan(s, &o) : surg__alloc_status(ctx);
  if (r == SURG_OK)
    *out = s;
  else
    surg_split_free(s);
  return r;
}

size_t surg_split_count(const surg_split *s) {
  return s ? s->n_parts : 0;
}

void surg_split_free(surg_split *s) {
  if (!s) return;
  surg__free(s->ctx, s->part);
  surg__free(s->ctx, s->dead);
  surg__free(s->ctx, s);
}
