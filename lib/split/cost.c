/* SPDX-License-Identifier: Apache-2.0 */
/* Where to cut: nodes are put in a row, and each place between two of them costs the values that
 * cross it. A cut is where that is least, near the place that makes the parts equal, or as far on
 * as the size of a part permits. */
#include "split/cost.h"

#include <stdlib.h>

#include "base/base.h"
#include "base/diag.h"

#define UNKNOWN_COST 1000u /* of a value whose type is unknown: it cannot be an input */
#define SLACK 4u           /* a cut is at most 1/4 of a part away from the equal division */

typedef struct place {
  size_t node;     /* number in the graph */
  size_t position; /* of the node that it stays with */
} place;

typedef struct row {
  surg_split *s;
  surg_node **nodes;
  place *at;                /* the row: nodes but Constant and dead ones */
  size_t n;                 /* its length */
  size_t *rank;             /* of each node in it */
  uint64_t *weight;         /* of each place */
  uint64_t *values, *bytes; /* that cross before each place */
} row;

/* --- the row --- */

static bool has_graphs(const surg_node *n) {
  return surg_node_subgraph(n, 0) != NULL;
}

/* Whether the node computes a constant from constants alone. */
static bool is_settled(const surg_node *n, const bool *settled) {
  if (surg_node_nondeterministic(n) || has_graphs(n)) return false;
  for (size_t i = 0; i < surg_node_input_count(n); i++) {
    const surg_value *v = surg_node_input(n, i);
    const surg_node *p = v ? surg_value_producer(v, NULL) : NULL;
    if (v && !(p ? settled[surg__split_index(p)] : surg_value_constant(v) != NULL)) return false;
  }
  return true;
}

static size_t first_reader(const row *r, const surg_node *n, const place *at) {
  const surg_graph *g = surg_node_graph(n);
  size_t first = r->s->n_nodes;
  for (size_t i = 0; i < surg_node_output_count(n); i++) {
    const surg_value *v = surg_node_output(n, i);
    for (const surg_use *u = v ? surg_value_first_use(v) : NULL; u; u = surg_use_next(u)) {
      const surg_node *user = surg__split_user(u, g);
      const size_t k = user ? at[surg__split_index(user)].position : first;
      if (k < first) first = k;
    }
  }
  return first;
}

static int by_position(const void *a, const void *b) {
  const place *x = a, *y = b;
  if (x->position != y->position) return x->position < y->position ? -1 : 1;
  return x->node < y->node ? -1 : x->node > y->node;
}

static bool in_row(const row *r, size_t i) {
  return !surg__split_constant(r->nodes[i]) && !r->s->dead[i];
}

/* Nodes in the order of the graph, but those that compute constants are just before the first node
 * that reads them. A Constant node has the rank of that node. */
static surg_status line_up(row *r) {
  const size_t n = r->s->n_nodes;
  bool *settled = surg__calloc(r->s->ctx, n + 1, sizeof *settled);
  place *all = surg__calloc(r->s->ctx, n + 1, sizeof *all);
  const surg_status s = settled && all ? SURG_OK : surg__alloc_status(r->s->ctx);
  for (size_t i = 0; s == SURG_OK && i < n; i++) settled[i] = is_settled(r->nodes[i], settled);
  for (size_t i = n; s == SURG_OK && i-- > 0;) {
    const size_t at = settled[i] ? first_reader(r, r->nodes[i], all) : i;
    all[i] = (place){i, at < n ? at : i};
  }
  for (size_t i = 0; s == SURG_OK && i < n; i++)
    if (in_row(r, i)) r->at[r->n++] = all[i];
  qsort(r->at, r->n, sizeof *r->at, by_position);
  for (size_t k = 0; k < r->n; k++) r->rank[r->at[k].node] = k;
  for (size_t i = 0; s == SURG_OK && i < n; i++)
    if (!in_row(r, i) && all[i].position != i) r->rank[i] = r->rank[all[i].position];
  surg__free(r->s->ctx, settled);
  surg__free(r->s->ctx, all);
  return s;
}

/* --- what crosses --- */

static uint64_t bytes_of(const surg_type *t) {
  uint64_t count;
  if (!surg_type_static(t, &count)) return 0;
  return count; /* element types differ by little: the number decides as well */
}

static void add_crossing(row *r, const surg_value *v, size_t from) {
  const surg_graph *g = surg_value_graph(v);
  size_t last = from;
  for (const surg_use *u = surg_value_first_use(v); u; u = surg_use_next(u)) {
    const surg_node *user = surg__split_user(u, g);
    const size_t at = user ? surg__split_index(user) : SIZE_MAX;
    const size_t k = user && !r->s->dead[at] ? r->rank[at] : from;
    if (k > last) last = k;
  }
  if (last == from) return;
  const bool known =
      surg_type_get_kind(surg_value_type(v)) != SURG_TYPE_UNKNOWN || surg_value_declared_type(v);
  const uint64_t cost = known ? 1 : UNKNOWN_COST, bytes = bytes_of(surg_value_type(v));
  r->values[from + 1] += cost;
  r->values[last + 1] -= cost;
  r->bytes[from + 1] += bytes;
  r->bytes[last + 1] -= bytes;
}

/* Differences first, then their sums: differences wrap, sums do not. */
static void count_crossings(row *r) {
  const size_t n = r->s->n_nodes;
  for (size_t i = 0; i < n; i++) {
    if (!in_row(r, i)) continue;
    for (size_t k = 0; k < surg_node_output_count(r->nodes[i]); k++) {
      const surg_value *v = surg_node_output(r->nodes[i], k);
      if (v) add_crossing(r, v, r->rank[i]);
    }
  }
  for (size_t k = 1; k <= r->n; k++) {
    r->values[k] += r->values[k - 1];
    r->bytes[k] += r->bytes[k - 1];
  }
}

/* Whether a cut before place a is better than one before place b. */
static bool is_better(const row *r, size_t a, size_t b) {
  if (r->values[a] != r->values[b]) return r->values[a] < r->values[b];
  return r->bytes[a] < r->bytes[b];
}

/* --- weights --- */

typedef struct weight {
  uint64_t bytes;
  size_t *readers; /* ranks, sorted, each once */
  size_t n;
} weight;

static int by_size(const void *a, const void *b) {
  const size_t x = *(const size_t *)a, y = *(const size_t *)b;
  return x < y ? -1 : x > y;
}

static bool count_readers(row *r, const surg_value *v, size_t *ranks, size_t *n) {
  const surg_graph *g = surg_model_graph(r->s->m);
  *n = 0;
  for (const surg_use *u = surg_value_first_use(v); u; u = surg_use_next(u)) {
    const surg_node *user = surg__split_user(u, g);
    if (!user) continue;
    if (ranks) ranks[*n] = r->rank[surg__split_index(user)];
    ++*n;
  }
  return *n > 0;
}

static void free_weights(surg_context *ctx, weight *list, size_t n) {
  for (size_t i = 0; list && i < n; i++) surg__free(ctx, list[i].readers);
  surg__free(ctx, list);
}

static surg_status read_weights(row *r, weight **out, size_t *count) {
  const surg_graph *g = surg_model_graph(r->s->m);
  surg_context *ctx = r->s->ctx;
  const size_t n = surg_graph_initializer_count(g);
  weight *list = surg__calloc(ctx, n + 1, sizeof *list);
  surg_value *v = NULL;
  size_t i = 0;
  bool ok = list != NULL;
  while (ok && i < n && (v = surg_graph_next_initializer(g, v)) != NULL) {
    weight *w = &list[i];
    size_t all;
    if (!count_readers(r, v, NULL, &all)) continue;
    w->readers = surg__calloc(ctx, all, sizeof *w->readers);
    ok = w->readers != NULL;
    if (!ok) break;
    count_readers(r, v, w->readers, &all);
    qsort(w->readers, all, sizeof *w->readers, by_size);
    for (size_t k = 0; k < all; k++)
      if (!k || w->readers[k] != w->readers[w->n - 1]) w->readers[w->n++] = w->readers[k];
    w->bytes = surg_tensor_bytes(surg_value_initializer(v));
    i++;
  }
  *out = list;
  *count = i;
  return ok ? SURG_OK : surg__alloc_status(ctx);
}

static uint64_t add(uint64_t a, uint64_t b) {
  uint64_t sum;
  return surg__add_u64(a, b, &sum) ? sum : UINT64_MAX / 2;
}

static void weigh(row *r, const weight *list, size_t n, int32_t by) {
  for (size_t k = 0; by == SURG_SPLIT_NODES && k < r->n; k++) r->weight[k] = 1;
  if (by == SURG_SPLIT_NODES) return;
  for (size_t i = 0; i < r->s->n_nodes; i++)
    r->weight[r->rank[i]] = add(r->weight[r->rank[i]], surg_node_bytes(r->nodes[i]));
  for (size_t i = 0; i < n; i++)
    r->weight[list[i].readers[0]] = add(r->weight[list[i].readers[0]], list[i].bytes);
}

/* --- a number of parts --- */

/* The place of the cut between `low` and `high`, both possible, nearest to `ideal` of the best. */
static size_t best_between(const row *r, size_t low, size_t high, size_t ideal) {
  size_t best = ideal;
  for (size_t k = low; k <= high; k++) {
    const size_t far = k > ideal ? k - ideal : ideal - k;
    const size_t has = best > ideal ? best - ideal : ideal - best;
    if (is_better(r, k, best) || (!is_better(r, best, k) && far < has)) best = k;
  }
  return best;
}

static uint64_t share(uint64_t total, size_t k, size_t of) {
  return total / of * k + total % of * k / of;
}

/* The first place whose parts before it weigh at least `least`. */
static size_t reach(const uint64_t *before, size_t n, uint64_t least) {
  size_t low = 0, high = n;
  while (low < high) {
    const size_t mid = low + (high - low) / 2;
    if (before[mid] < least)
      low = mid + 1;
    else
      high = mid;
  }
  return low;
}

static size_t within(size_t k, size_t low, size_t high) {
  return k < low ? low : k > high ? high : k;
}

static surg_status plan_parts(row *r, size_t parts, uint64_t *before) {
  surg_split *s = r->s;
  const size_t n = r->n;
  for (size_t k = 0; k < n; k++) before[k + 1] = add(before[k], r->weight[k]);
  if (n < parts)
    return surg__error(s->ctx, SURG_EUSAGE, surg_model_path(s->m),
                       "%zu parts need as many nodes; the model has %zu", parts, n);
  const uint64_t total = before[n], slack = total / parts / SLACK;
  size_t from = 0;
  for (size_t p = 1; p <= parts; p++) {
    const size_t least = from + 1, most = n - (parts - p); /* each part has a node */
    size_t cut = n;
    if (p < parts) {
      const uint64_t want = share(total, p, parts);
      const size_t ideal = within(reach(before, n, want), least, most);
      const size_t low = within(reach(before, n, want > slack ? want - slack : 0), least, ideal);
      const size_t high = within(reach(before, n, add(want, slack)), ideal, most);
      cut = best_between(r, low, high, ideal);
    }
    for (size_t k = from; k < cut; k++) s->part[r->at[k].node] = (uint32_t)(p - 1);
    from = cut;
  }
  s->n_parts = parts;
  return SURG_OK;
}

/* --- a size --- */

typedef struct sizing {
  size_t *first, *next; /* lists of weights by place: first[k], next of an entry; 0 ends */
  size_t *weight;       /* of each entry */
  size_t *seen;         /* for each weight, 1 + the part that has it */
  uint64_t *size;       /* of the part, after each place */
  uint64_t *own;        /* bytes of the nodes of each place, with Constants */
} sizing;

static void free_sizing(surg_context *ctx, sizing *z) {
  surg__free(ctx, z->first);
  surg__free(ctx, z->next);
  surg__free(ctx, z->weight);
  surg__free(ctx, z->seen);
  surg__free(ctx, z->size);
  surg__free(ctx, z->own);
}

static surg_status open_sizing(const row *r, const weight *list, size_t n, sizing *z) {
  surg_context *ctx = r->s->ctx;
  size_t entries = 1;
  for (size_t i = 0; i < n; i++) entries += list[i].n;
  z->first = surg__calloc(ctx, r->s->n_nodes + 1, sizeof *z->first);
  z->next = surg__calloc(ctx, entries, sizeof *z->next);
  z->weight = surg__calloc(ctx, entries, sizeof *z->weight);
  z->seen = surg__calloc(ctx, n + 1, sizeof *z->seen);
  z->size = surg__calloc(ctx, r->s->n_nodes + 1, sizeof *z->size);
  z->own = surg__calloc(ctx, r->s->n_nodes + 1, sizeof *z->own);
  if (!z->first || !z->next || !z->weight || !z->seen || !z->size || !z->own)
    return surg__alloc_status(ctx);
  for (size_t i = 0; i < r->s->n_nodes; i++)
    z->own[r->rank[i]] = add(z->own[r->rank[i]], surg_node_bytes(r->nodes[i]));
  size_t e = 0;
  for (size_t i = 0; i < n; i++)
    for (size_t k = 0; k < list[i].n; k++) {
      z->weight[++e] = i;
      z->next[e] = z->first[list[i].readers[k]];
      z->first[list[i].readers[k]] = e;
    }
  return SURG_OK;
}

/* Bytes that place k adds to part p, which starts before it. */
static uint64_t bytes_at(const weight *list, sizing *z, size_t k, size_t p) {
  uint64_t bytes = z->own[k];
  for (size_t e = z->first[k]; e; e = z->next[e]) {
    if (z->seen[z->weight[e]] == p + 1) continue;
    z->seen[z->weight[e]] = p + 1;
    bytes = add(bytes, list[z->weight[e]].bytes);
  }
  return bytes;
}

/* The cut of the part that starts at `from`: the best in the second half of what fits. */
static size_t cut_by_size(const row *r, const weight *list, sizing *z, size_t from, size_t p,
                          uint64_t most) {
  const size_t n = r->n;
  uint64_t size = 0;
  size_t end = from;
  for (; end < n; end++) {
    size = add(size, bytes_at(list, z, end, p));
    if (size > most) break;
    z->size[end] = size;
  }
  if (end == n || end == from) return end;
  size_t best = end;
  for (size_t k = end; k-- > from + 1 && z->size[k - 1] >= z->size[end - 1] / 2;)
    if (is_better(r, k, best)) best = k;
  return best;
}

static surg_status plan_size(row *r, const weight *list, size_t n_list, uint64_t most) {
  surg_split *s = r->s;
  sizing z = {0};
  surg_status status = open_sizing(r, list, n_list, &z);
  size_t from = 0, p = 0;
  for (; status == SURG_OK && from < r->n; p++) {
    const size_t cut = cut_by_size(r, list, &z, from, p, most);
    if (cut == from)
      status = surg__node_error(r->nodes[r->at[from].node], SURG_EUNSUPPORTED,
                                "this node and its weights alone exceed %llu bytes",
                                (unsigned long long)most);
    else if (p >= SURG__SPLIT_PARTS)
      status = surg__error(s->ctx, SURG_EUNSUPPORTED, surg_model_path(s->m),
                           "more than %u parts are needed", SURG__SPLIT_PARTS);
    for (size_t k = from; status == SURG_OK && k < cut; k++) s->part[r->at[k].node] = (uint32_t)p;
    from = cut;
  }
  s->n_parts = p;
  free_sizing(s->ctx, &z);
  return status;
}

/* --- both --- */

surg_status surg__split_balance(surg_split *s, surg_node **nodes, const surg_split_options *o) {
  surg_context *ctx = s->ctx;
  row r = {.s = s, .nodes = nodes};
  weight *list = NULL;
  size_t n_list = 0;
  const size_t n = s->n_nodes;
  r.at = surg__calloc(ctx, n + 1, sizeof *r.at);
  r.rank = surg__calloc(ctx, n + 1, sizeof *r.rank);
  r.weight = surg__calloc(ctx, n + 1, sizeof *r.weight);
  r.values = surg__calloc(ctx, n + 2, sizeof *r.values);
  r.bytes = surg__calloc(ctx, n + 2, sizeof *r.bytes);
  uint64_t *before = surg__calloc(ctx, n + 1, sizeof *before);
  surg_status status = r.at && r.rank && r.weight && r.values && r.bytes && before
                           ? line_up(&r)
                           : surg__alloc_status(ctx);
  if (status == SURG_OK && r.n == 0)
    status = surg__error(ctx, SURG_EUSAGE, surg_model_path(s->m), "there are no nodes to split");
  if (status == SURG_OK) status = read_weights(&r, &list, &n_list);
  if (status == SURG_OK) {
    count_crossings(&r);
    weigh(&r, list, n_list, o->by);
    status =
        o->parts ? plan_parts(&r, o->parts, before) : plan_size(&r, list, n_list, o->max_bytes);
  }
  free_weights(ctx, list, surg_graph_initializer_count(surg_model_graph(s->m)));
  surg__free(ctx, before);
  surg__free(ctx, r.bytes);
  surg__free(ctx, r.values);
  surg__free(ctx, r.weight);
  surg__free(ctx, r.rank);
  surg__free(ctx, r.at);
  return status;
}
