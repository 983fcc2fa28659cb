/* SPDX-License-Identifier: Apache-2.0 */
/* Checks the call graph of the model's functions, including their subgraphs: no recursion, no
 * chain of calls beyond the depth limit, and a bounded number of nodes if every call were
 * inlined. */
#include "io/load/load.h"

typedef struct call {
  uint32_t caller, callee;
} call;

typedef struct function_info {
  uint64_t nodes; /* of the function itself; later including all inlined calls */
  uint32_t first; /* index of its first call in `sorted` */
  uint32_t next;  /* next call to visit */
  uint32_t depth; /* longest chain of calls; 1 for a function without calls */
  bool entered, done;
  bool recursive; /* it was reported */
} function_info;

typedef struct calls {
  surg__loader *L;
  size_t n; /* number of functions; entry n is the main graph */
  function_info *info;
  SURG_VEC(call) list;
  uint32_t *sorted; /* callees, grouped by caller */
  uint32_t *stack;
  bool *back;  /* by index in `sorted`: the call closes a circle */
  bool broken; /* a function calls itself */
} calls;

/* The index of a function; body->scratch stores it plus 1. NULL: the main graph. */
static uint32_t number_of(const calls *c, const surg_function *f) {
  return f ? (uint32_t)((uintptr_t)f->body->scratch - 1) : (uint32_t)c->n;
}

static bool collect(calls *c) {
  for (surg_graph *g = c->L->m->graph; g; g = g->next) {
    uint32_t caller = number_of(c, surg_graph_function(g));
    if (caller < c->n) c->info[caller].nodes += g->n_nodes; /* nodes of the main graph exist
                                                             * already and are not counted */
    for (surg_node *n = g->first; n; n = n->next) {
      const surg_function *f = surg_node_function(n);
      if (!f) continue;
      call x = {caller, number_of(c, f)};
      if (c->list.count >= UINT32_MAX || !surg__vec_push(c->L->ctx, &c->list, x))
        return surg__load_oom(c->L);
    }
  }
  return true;
}

/* Groups the calls by caller, in their original order. */
static void sort_calls(calls *c) {
  for (size_t i = 0; i < c->list.count; i++) c->info[c->list.items[i].caller].first++;
  uint32_t sum = 0;
  for (size_t i = 0; i <= c->n; i++) {
    uint32_t count = c->info[i].first;
    c->info[i].first = c->info[i].next = sum;
    sum += count;
  }
  for (size_t i = 0; i < c->list.count; i++) {
    function_info *f = &c->info[c->list.items[i].caller];
    c->sorted[f->next++] = c->list.items[i].callee;
  }
  for (size_t i = 0; i <= c->n; i++) c->info[i].next = c->info[i].first;
}

static uint64_t saturating_add(uint64_t a, uint64_t b) {
  return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static uint32_t end_of(const calls *c, uint32_t i) {
  return i < c->n ? c->info[i + 1].first : (uint32_t)c->list.count;
}

static void finish(calls *c, uint32_t i) {
  function_info *f = &c->info[i];
  uint32_t deepest = 0;
  for (uint32_t k = f->first; k < end_of(c, i); k++) {
    const function_info *callee = &c->info[c->sorted[k]];
    f->nodes = saturating_add(f->nodes, callee->nodes);
    if (callee->depth > deepest) deepest = callee->depth;
  }
  f->depth = deepest + 1;
  f->done = true;
}

static bool recursive(calls *c, uint32_t i) {
  const surg_function *f = c->L->m->functions.items[i];
  if (c->info[i].recursive) return true;
  c->info[i].recursive = c->broken = true;
  const bool go_on = surg__load_bad(c->L, f->src.field_off, "E123",
                                    "the function calls itself, directly or through "
                                    "others");
  surg__load_about(c->L, &(surg__defect){.function = c->L->m->functions.items[i]});
  return go_on;
}

/* Depth-first walk from one function, which reports recursion; false: loading has ended. */
static bool visit(calls *c, uint32_t start) {
  size_t depth = 0;
  c->stack[depth++] = start;
  c->info[start].entered = true;
  while (depth > 0) {
    uint32_t i = c->stack[depth - 1];
    function_info *f = &c->info[i];
    if (f->next == end_of(c, i)) {
      finish(c, i);
      depth--;
      continue;
    }
    uint32_t callee = c->sorted[f->next++];
    if (c->info[callee].done) continue;
    if (c->info[callee].entered) {
      c->back[f->next - 1] = true;
      if (!recursive(c, callee)) return false;
      continue;
    }
    c->info[callee].entered = true;
    c->stack[depth++] = callee;
  }
  return true;
}

static bool check_limits(const calls *c) {
  const function_info *top = &c->info[c->n];
  surg__loader *L = c->L;
  uint32_t depth = top->depth - 1;
  uint64_t nodes = top->nodes;
  for (size_t i = 0; i < c->n; i++) {
    if (c->info[i].depth > depth) depth = c->info[i].depth;
    if (c->info[i].nodes > nodes) nodes = c->info[i].nodes;
  }
  if (depth > SURG_LIMIT_CALL_DEPTH)
    return surg__load_found(
        L, surg__error(L->ctx, SURG_ELIMIT, L->src->name,
                       "functions call functions more than %u deep", SURG_LIMIT_CALL_DEPTH));
  if (nodes > SURG_LIMIT_INLINED_NODES)
    return surg__load_found(
        L, surg__error(L->ctx, SURG_ELIMIT, L->src->name,
                       "would have more than %llu nodes with its functions inlined",
                       SURG_LIMIT_INLINED_NODES));
  return true;
}

/* Marks the nodes of calls that close a circle as faulty, so that no walk follows calls without
 * end. */
static void cut_circles(calls *c) {
  for (size_t i = 0; i <= c->n; i++) c->info[i].next = c->info[i].first;
  for (surg_graph *g = c->L->m->graph; g; g = g->next) {
    function_info *f = &c->info[number_of(c, surg_graph_function(g))];
    for (surg_node *n = g->first; n; n = n->next) /* the order of `collect` */
      if (surg_node_function(n) && c->back[f->next++]) n->faulty = true;
  }
}

static bool walk(calls *c) {
  surg__loader *L = c->L;
  for (size_t i = 0; i < c->n; i++)
    L->m->functions.items[i]->body->scratch = (void *)(uintptr_t)(i + 1);
  bool ok = collect(c);
  if (!ok) return false;
  c->sorted = surg__calloc(L->ctx, c->list.count + 1, sizeof *c->sorted);
  c->back = surg__calloc(L->ctx, c->list.count + 1, sizeof *c->back);
  if (!c->sorted || !c->back) return surg__load_oom(L);
  sort_calls(c);
  for (uint32_t i = 0; i <= c->n; i++)
    if (!c->info[i].entered && !visit(c, i)) return L->status == SURG_OK;
  if (c->broken) cut_circles(c);
  const uint32_t before = L->findings;
  ok = check_limits(c);
  L->endless = L->findings != before;
  return ok;
}

static void unnumber(const calls *c) {
  for (size_t i = 0; i < c->n; i++) c->L->m->functions.items[i]->body->scratch = NULL;
}

bool surg__load_calls(surg__loader *L) {
  calls c = {.L = L, .n = L->m->functions.count};
  if (c.n == 0) return true;
  c.info = surg__calloc(L->ctx, c.n + 1, sizeof *c.info);
  c.stack = surg__calloc(L->ctx, c.n + 1, sizeof *c.stack);
  bool ok = c.info && c.stack ? walk(&c) : surg__load_oom(L);
  unnumber(&c);
  surg__free(L->ctx, c.info);
  surg__free(L->ctx, c.stack);
  surg__free(L->ctx, c.sorted);
  surg__free(L->ctx, c.back);
  surg__vec_free(L->ctx, &c.list);
  return ok;
}
