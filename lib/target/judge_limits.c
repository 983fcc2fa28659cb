/* SPDX-License-Identifier: Apache-2.0 */
/* Judges what an engine cannot read or expand, however valid it is: messages nested too deep,
 * weights of too high a rank or too large once dense, functions that expand to too many nodes or to
 * equal names, and spellings of the default domain in functions. */
#include <stdlib.h>

#include "base/context.h"
#include "base/counted.h"
#include "base/dtype.h"
#include "ir/ir.h"
#include "target/judge.h"

#define EXPANDED_MAX 4096u /* nodes of calls up to which engines expand functions quickly */
#define DENSE_MAX (UINT64_C(1) << 31) /* bytes of a sparse weight up to which it is made dense */
#define GRAPH_DEPTH 3u /* messages from a graph to the graph of an attribute of its node */
#define TYPE_DEPTH 2u  /* messages from a graph to the type of a value */

/* --- nesting --- */

/* The number of messages that a type contains, one inside the other. */
static uint64_t type_depth(const surg_type *t) {
  uint64_t depth = 0;
  while (t) {
    const surg_type_kind kind = surg_type_get_kind(t);
    const bool tensor = kind == SURG_TYPE_TENSOR || kind == SURG_TYPE_SPARSE_TENSOR;
    if (kind == SURG_TYPE_UNKNOWN) return depth;
    if (tensor)
      return depth + 1 + surg_type_has_rank(t) + (surg_type_has_rank(t) && surg_type_rank(t));
    depth += 2;
    t = surg_type_elem(t);
  }
  return depth;
}

/* Messages from a graph to the innermost of a node, its subgraphs left out. */
static uint64_t node_depth(const surg_node *n) {
  uint64_t most = 1;
  for (size_t i = 0; i < surg_node_attr_count(n); i++) {
    const surg_attr_kind kind = surg_attr_get_kind(surg_node_attr_at(n, i));
    const bool message = kind == SURG_ATTR_TENSOR || kind == SURG_ATTR_TENSORS;
    if (most < 2u + message) most = 2u + message;
  }
  return most;
}

/* The depth of a graph in its file: that of the main graph and of functions is 1. */
static uint64_t depth_of(const surg_graph *g) {
  uint64_t depth = 1;
  for (; g->parent_node; g = surg_node_graph(g->parent_node)) depth += GRAPH_DEPTH;
  return depth;
}

static uint64_t content_depth(const surg_graph *g) {
  uint64_t most = 0;
  for (const surg_node *n = surg_graph_first_node(g); n; n = surg_node_next(n)) {
    const uint64_t depth = node_depth(n);
    if (depth > most) most = depth;
  }
  for (const surg_value *v = surg_graph_next_value(g, NULL); v; v = surg_graph_next_value(g, v)) {
    const surg_type *t = surg_value_declared_type(v);
    const uint64_t depth = t ? TYPE_DEPTH + type_depth(t) : v->initializer ? 1 : 0;
    if (depth > most) most = depth;
  }
  for (size_t i = 0; i < surg_graph_output_count(g); i++) {
    const surg_type *t = surg_graph_output_type(g, i);
    const uint64_t depth = t ? TYPE_DEPTH + type_depth(t) : 1;
    if (depth > most) most = depth;
  }
  return most;
}

uint64_t surg__judge_nesting(surg_model *m) {
  uint64_t most = 0;
  for (const surg_graph *g = NULL; (g = surg_model_next_graph(m, g));) {
    const uint64_t depth = depth_of(g) + content_depth(g);
    if (depth > most) most = depth;
  }
  return most;
}

uint64_t surg__judge_levels(surg_model *m) {
  uint64_t most = 0;
  for (const surg_graph *g = NULL; (g = surg_model_next_graph(m, g));) {
    const uint64_t levels = depth_of(g) / GRAPH_DEPTH;
    if (levels > most) most = levels;
  }
  return most;
}

/* --- weights --- */

bool surg__judge_dense(const surg_tensor *c) {
  uint64_t count, bytes;
  return surg__dims_product(surg_tensor_dims(c), surg_tensor_rank(c), &count) &&
         surg__dtype_bytes(surg_tensor_dtype(c), count, &bytes) && bytes < DENSE_MAX;
}

/* --- functions --- */

typedef struct expansion {
  const surg_function *f;
  uint64_t times;   /* how often the model expands it */
  uint64_t callers; /* calls in functions that are not counted yet */
  uint64_t own;     /* nodes that are no calls */
  size_t first;     /* of its calls, in the list of all */
} expansion;

typedef struct call {
  expansion *from, *to;
} call;

typedef struct calls {
  surg_context *ctx;
  expansion *all;
  size_t n;
  SURG_VEC(call) list; /* of functions, by caller */
} calls;

static int by_function(const void *x, const void *y) {
  const surg_function *a = ((const expansion *)x)->f, *b = ((const expansion *)y)->f;
  return (a > b) - (a < b);
}

static int by_caller(const void *x, const void *y) {
  const call *a = x, *b = y;
  return (a->from > b->from) - (a->from < b->from);
}

static expansion *of_function(const calls *c, const surg_function *f) {
  const expansion key = {.f = f};
  return f ? bsearch(&key, c->all, c->n, sizeof *c->all, by_function) : NULL;
}

static uint64_t sum_up(uint64_t a, uint64_t b) {
  uint64_t sum;
  return surg__add_u64(a, b, &sum) ? sum : UINT64_MAX;
}

/* Lists the calls in functions, and counts those of the rest of the model. */
static bool list_calls(surg_model *m, calls *c) {
  for (const surg_graph *g = NULL; (g = surg_model_next_graph(m, g));) {
    expansion *from = of_function(c, surg_graph_function(g));
    for (const surg_node *n = surg_graph_first_node(g); n; n = surg_node_next(n)) {
      expansion *to = of_function(c, surg_node_function(n));
      if (from && !to) from->own++;
      if (!from && to) to->times = sum_up(to->times, 1);
      if (!from || !to) continue;
      to->callers++;
      if (!surg__vec_push(c->ctx, &c->list, ((call){from, to}))) return false;
    }
  }
  if (c->list.count) qsort(c->list.items, c->list.count, sizeof *c->list.items, by_caller);
  for (size_t i = c->list.count; i--;) c->list.items[i].from->first = i;
  return true;
}

/* Adds the expansions of a function to the functions it calls. Those whose callers are all counted
 * are appended to `ready`. */
static void expand(const calls *c, const expansion *e, expansion **ready, size_t *n_ready) {
  for (size_t i = e->first; i < c->list.count && c->list.items[i].from == e; i++) {
    expansion *to = c->list.items[i].to;
    to->times = sum_up(to->times, e->times);
    if (--to->callers == 0) ready[(*n_ready)++] = to;
  }
}

/* Whether the body has a call, and a value that is neither input nor output. */
static bool has_call_and_value(const surg_function *f) {
  const surg_graph *g = surg_function_graph(f);
  bool caller = false, value = false;
  for (const surg_node *n = surg_graph_first_node(g); n; n = surg_node_next(n)) {
    caller |= surg_node_function(n) != NULL;
    for (size_t i = 0; i < surg_node_output_count(n); i++) {
      const surg_value *v = surg_node_output(n, i);
      bool out = !v;
      for (size_t k = 0; k < surg_graph_output_count(g) && !out; k++)
        out = surg_graph_output(g, k) == v;
      value |= !out;
    }
  }
  return caller && value;
}

surg_status surg__judge_expansion(surg_model *m, surg__expanded *out) {
  calls c = {.ctx = m->ctx, .n = m->functions.count};
  *out = (surg__expanded){0};
  if (!c.n) return SURG_OK;
  c.all = surg__calloc(m->ctx, c.n, sizeof *c.all);
  expansion **ready = surg__calloc(m->ctx, c.n, sizeof *ready);
  size_t n_ready = 0;
  bool good = c.all && ready;
  for (size_t i = 0; good && i < c.n; i++) {
    c.all[i].f = m->functions.items[i];
    c.all[i].first = SIZE_MAX;
  }
  if (good) qsort(c.all, c.n, sizeof *c.all, by_function);
  good = good && list_calls(m, &c);
  for (size_t i = 0; good && i < c.n; i++)
    if (!c.all[i].callers) ready[n_ready++] = &c.all[i];
  /* A circle of calls is never ready; it is an error of its own. */
  for (size_t i = 0; good && i < n_ready; i++) {
    const expansion *e = ready[i];
    uint64_t nodes;
    expand(&c, e, ready, &n_ready);
    if (!surg__mul_u64(e->own, e->times, &nodes)) nodes = UINT64_MAX;
    out->nodes = sum_up(out->nodes, nodes);
    if (e->times > 1 && !out->repeated && has_call_and_value(e->f)) out->repeated = e->f;
  }
  out->large = out->nodes > EXPANDED_MAX;
  surg__vec_free(m->ctx, &c.list);
  surg__free(m->ctx, c.all);
  surg__free(m->ctx, ready);
  return good ? SURG_OK : surg__oom(m->ctx, NULL);
}

/* --- spellings of the default domain --- */

static bool imports_as(const surg_function *f, const char *domain) {
  for (size_t i = 0; i < surg_function_import_count(f); i++)
    if (!strcmp(surg_function_import_domain(f, i), domain)) return true;
  return false;
}

const surg_node *surg__judge_spelling(const surg__target *t, const surg_graph *g) {
  const surg_function *f = surg_graph_function(g);
  if (!f || t->spelled == SURG__UNSAID) return NULL;
  for (const surg_node *n = surg_graph_first_node(g); n; n = surg_node_next(n)) {
    const char *domain = surg_node_domain(n);
    const bool spelled = !strcmp(domain, "ai.onnx");
    if ((domain[0] && !spelled) || surg_node_function(n)) continue;
    if ((spelled && t->spelled == SURG__NO) || !imports_as(f, domain)) return n;
  }
  return NULL;
}
