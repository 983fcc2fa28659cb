/* SPDX-License-Identifier: Apache-2.0 */
/* Differences as public objects (onnxsurg/diff.h). */
#include "diff/diff.h"

/* Bytes of weights that are in data files. */
static uint64_t outside(const surg__dside *s) {
  uint64_t sum = 0;
  for (size_t i = 0; i < s->values.count; i++) {
    const surg_tensor *t = s->values.items[i].t;
    if (t && t->view == SURG__VIEW_EXTERNAL && !surg__add_u64(sum, t->bytes, &sum))
      return UINT64_MAX;
  }
  return sum;
}

/* Reading weights may fail a model; nothing more can be asked of it then. */
static void see_models(surg_diff *d) {
  for (int k = 0; k < 2 && d->status == SURG_OK; k++) d->status = surg_model_status(d->side[k].m);
}

static void chart(surg_diff *d, surg_model *a, surg_model *b) {
  surg_model *const m[2] = {a, b};
  uint64_t sum = 0;
  for (int k = 0; k < 2 && d->status == SURG_OK; k++) surg__diff_chart(d, k, m[k]);
  d->whole = !d->no_weights && surg__add_u64(outside(&d->side[0]), outside(&d->side[1]), &sum) &&
             sum <= d->room;
  for (int k = 0; k < 2 && d->status == SURG_OK; k++) {
    surg__diff_digest_constants(d, k);
    see_models(d);
  }
}

static void pair_graphs(surg_diff *d) {
  const surg__dpair main = {surg__diff_index(&d->side[0], surg_model_graph(d->side[0].m)),
                            surg__diff_index(&d->side[1], surg_model_graph(d->side[1].m))};
  d->side[0].graphs.items[main.a].twin = main.b;
  d->side[1].graphs.items[main.b].twin = main.a;
  if (!surg__vec_push(d->ctx, &d->graphs, main)) surg__diff_fail(d);
  for (size_t i = 0; i < d->side[0].graphs.count; i++) {
    const surg__dgraph *g = &d->side[0].graphs.items[i];
    const surg__dpair p = {(uint32_t)i, g->twin};
    if (g->g->kind == SURG_GRAPH_FUNCTION && g->twin != SURG__NO_TWIN &&
        !surg__vec_push(d->ctx, &d->graphs, p))
      surg__diff_fail(d);
  }
  /* Pairs of nodes add pairs of their subgraphs to the list. */
  for (size_t i = 0; i < d->graphs.count && d->status == SURG_OK; i++) {
    const surg__dpair p = d->graphs.items[i];
    surg__diff_pair_interface(d, p.a, p.b);
    surg__diff_match(d, p.a, p.b);
    surg__diff_pair_constants(d, p.a, p.b);
  }
}

static void compare(surg_diff *d) {
  surg__diff_header(d);
  surg__diff_functions(d);
  for (size_t i = 0; i < d->graphs.count && d->status == SURG_OK; i++) {
    surg__diff_interface(d, d->graphs.items[i].a, d->graphs.items[i].b);
    surg__diff_graph(d, d->graphs.items[i].a, d->graphs.items[i].b);
  }
  surg__diff_symbols(d);
  surg__diff_unknown(d);
  surg__diff_regions(d);
}

static void pair_and_compare(surg_diff *d, surg__dway way) {
  d->way = way;
  pair_graphs(d);
  see_models(d);
  if (d->status == SURG_OK) compare(d);
  see_models(d);
}

/* How much there is to say: edits that no other one implies, then all. */
static uint64_t cost_of(const surg_diff *d) {
  uint64_t edits = 0, roots = 0;
  for (size_t i = 0; i < d->items.count; i++) {
    if (d->items.items[i].level != SURG_DIFF_EDIT) continue;
    edits++;
    roots += d->items.items[i].cause == SURG_DIFF_NO_ITEM;
  }
  return roots << 32 | (edits & UINT32_MAX);
}

/* Most bytes of weights that a comparison may read, and nodes that it may have, to be repeated. */
#define READ_AGAIN (64u << 20)
#define NODES_AGAIN 200000u
#define NODES_FREE 10000u /* the same for orders that ignore names */

/* No order of preferences finds the fewest edits of all models: several are tried, the best one is
 * kept. A single edit cannot become less. */
static void find_fewest(surg_diff *d) {
  const uint64_t room = d->room, read = d->read;
  pair_and_compare(d, SURG__WAY_DOWN);
  const size_t nodes = d->side[0].nodes.count + d->side[1].nodes.count;
  if (d->read - read > READ_AGAIN || nodes > NODES_AGAIN) return;
  const int ways = nodes > NODES_FREE ? SURG__WAY_DOWN_FREE : SURG__WAYS;
  uint64_t least = cost_of(d);
  surg__dway best = SURG__WAY_DOWN;
  for (int way = SURG__WAY_DOWN + 1; d->status == SURG_OK && least >> 32 > 1; way++) {
    const bool tried = way >= ways; /* what remains is to make the best one again */
    if (tried && d->way == best) return;
    surg__diff_unpair(d);
    d->room = room;
    d->read = read;
    pair_and_compare(d, tried ? best : (surg__dway)way);
    if (tried) return;
    if (cost_of(d) >= least) continue;
    least = cost_of(d);
    best = d->way;
  }
}

surg_status surg_diff_new(surg_model *a, surg_model *b, const surg_diff_options *options,
                          surg_diff **out) {
  surg_diff_options o;
  if (out) *out = NULL;
  if (!a || !b || !out || surg_model_context(a) != surg_model_context(b)) return SURG_EUSAGE;
  if (surg_model_status(a) != SURG_OK) return surg_model_status(a);
  if (surg_model_status(b) != SURG_OK) return surg_model_status(b);
  surg__struct_in(&o, sizeof o, options);
  surg_context *ctx = surg_model_context(a);
  surg_diff *d = surg__calloc(ctx, 1, sizeof *d);
  if (!d) return surg__oom(ctx, surg_model_path(a));
  d->ctx = ctx;
  d->no_weights = o.no_weights;
  d->room = o.read_limit ? o.read_limit : SURG__DIFF_READ;
  surg__arena_init(&d->arena, ctx);
  chart(d, a, b);
  if (d->status == SURG_OK) {
    surg__diff_digest_operators(d);
    for (int k = 0; k < 2; k++) surg__diff_digest_bodies(d, k);
    surg__diff_pair_functions(d);
    surg__diff_digest_operators(d);
    for (int k = 0; k < 2; k++) surg__diff_digest_bodies(d, k);
    for (int k = 0; k < 2; k++) surg__diff_digest_captures(d, k);
  }
  see_models(d);
  if (d->status == SURG_OK) find_fewest(d);
  const surg_status s = d->status;
  if (s == SURG_OK)
    *out = d;
  else
    surg_diff_free(d);
  return s;
}

static bool is_constant(const surg__dvalue *v) {
  return v->t != NULL;
}

surg_status surg_diff_get(const surg_diff *d, surg_diff_summary *out) {
  if (!d || !out) return SURG_EUSAGE;
  surg_diff_summary all = {.size = sizeof all, .read = d->read};
  for (size_t i = 0; i < d->items.count; i++) {
    uint64_t *const counts[] = {&all.edits, &all.names, &all.remarks, &all.unknown};
    ++*counts[d->items.items[i].level];
  }
  for (int k = 0; k < 2; k++) {
    const surg__dside *s = &d->side[k];
    for (size_t i = 0; i < s->nodes.count; i++) {
      if (s->nodes.items[i].constant) continue;
      all.nodes[k]++;
      if (!k && s->nodes.items[i].twin != SURG__NO_TWIN) all.paired_nodes++;
    }
    for (size_t i = 0; i < s->values.count; i++) {
      if (!is_constant(&s->values.items[i])) continue;
      all.weights[k]++;
      if (!k && s->values.items[i].twin != SURG__NO_TWIN) all.paired_weights++;
    }
  }
  all.same = !all.edits && !all.unknown;
  surg__struct_out(out, &all, sizeof all);
  return SURG_OK;
}

surg_status surg_diff_item_at(const surg_diff *d, size_t i, surg_diff_item *out) {
  if (!d || !out) return SURG_EUSAGE;
  if (i >= d->items.count) return SURG_ENOTFOUND;
  surg__struct_out(out, &d->items.items[i], sizeof *out);
  return SURG_OK;
}

/* The model that an object belongs to: 0, 1, or -1. If both charts have it (one model compared with
 * itself), 0. */
static int side_of(const surg_diff *d, const void *object, uint32_t *index) {
  for (int k = 0; d && object && k < 2; k++) {
    *index = surg__diff_index(&d->side[k], object);
    if (*index != SURG__NO_TWIN) return k;
  }
  return -1;
}

surg_value *surg_diff_value(const surg_diff *d, const surg_value *v) {
  uint32_t i;
  const int k = side_of(d, v, &i);
  const uint32_t twin = k < 0 ? SURG__NO_TWIN : d->side[k].values.items[i].twin;
  return twin == SURG__NO_TWIN ? NULL : d->side[!k].values.items[twin].v;
}

surg_node *surg_diff_node(const surg_diff *d, const surg_node *n) {
  uint32_t i;
  const int k = side_of(d, n, &i);
  if (k < 0) return NULL;
  const surg__dnode *x = &d->side[k].nodes.items[i];
  if (x->constant) {
    const surg_value *v = surg_diff_value(d, n->out[0]);
    return v ? v->producer : NULL;
  }
  return x->twin == SURG__NO_TWIN ? NULL : d->side[!k].nodes.items[x->twin].n;
}

surg_graph *surg_diff_graph(const surg_diff *d, const surg_graph *g) {
  uint32_t i;
  const int k = side_of(d, g, &i);
  const uint32_t twin = k < 0 ? SURG__NO_TWIN : d->side[k].graphs.items[i].twin;
  return twin == SURG__NO_TWIN ? NULL : d->side[!k].graphs.items[twin].g;
}

uint32_t surg_diff_value_marks(const surg_diff *d, const surg_value *v) {
  uint32_t i;
  const int k = side_of(d, v, &i);
  if (k < 0) return 0;
  const surg__dvalue *x = &d->side[k].values.items[i];
  return x->marks | (x->twin == SURG__NO_TWIN ? SURG_DIFF_MARK_ALONE : 0);
}

uint32_t surg_diff_node_marks(const surg_diff *d, const surg_node *n) {
  uint32_t i;
  const int k = side_of(d, n, &i);
  if (k < 0) return 0;
  const surg__dnode *x = &d->side[k].nodes.items[i];
  if (x->constant) return surg_diff_value_marks(d, n->out[0]);
  return x->marks | (x->twin == SURG__NO_TWIN ? SURG_DIFF_MARK_ALONE : 0);
}

void surg_diff_free(surg_diff *d) {
  if (!d) return;
  for (int k = 0; k < 2; k++) surg__diff_unchart(d, k);
  surg__vec_free(d->ctx, &d->items);
  surg__vec_free(d->ctx, &d->graphs);
  surg__vec_free(d->ctx, &d->queue);
  surg__vec_free(d->ctx, &d->symbols);
  surg__arena_free(&d->arena);
  surg__free(d->ctx, d);
}
