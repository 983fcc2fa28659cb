/* SPDX-License-Identifier: Apache-2.0 */
/* Charts of models: graphs, nodes and values as numbers, found by their addresses. */
#include "diff/diff.h"

void surg__diff_fail(surg_diff *d) {
  if (d->status == SURG_OK) d->status = surg__oom(d->ctx, surg_model_path(d->side[0].m));
}

static size_t slot_of(const surg__dside *s, const void *key) {
  const uint64_t h = ((uint64_t)(uintptr_t)key >> 4) * UINT64_C(0x9E3779B97F4A7C15);
  size_t i = (size_t)(h >> 20) & (s->size - 1);
  while (s->slots[i].key && s->slots[i].key != key) i = (i + 1) & (s->size - 1);
  return i;
}

uint32_t surg__diff_index(const surg__dside *s, const void *object) {
  if (!s->size) return SURG__NO_TWIN;
  const struct surg__dslot *x = &s->slots[slot_of(s, object)];
  return x->key ? x->index : SURG__NO_TWIN;
}

static void put(surg__dside *s, const void *key, size_t index) {
  s->slots[slot_of(s, key)] = (struct surg__dslot){key, (uint32_t)index};
}

/* The elements of a value that no run changes. */
static const surg_tensor *constant_of(const surg_value *v) {
  if (v->producer) return surg_value_constant(v);
  if (v->input && !surg_value_constant(v)) return NULL; /* overridable: an input with a default */
  return v->initializer ? v->tensor : NULL;
}

static bool add_values(surg_diff *d, surg__dside *s, uint32_t graph) {
  surg_graph *g = s->graphs.items[graph].g;
  for (surg_value *v = surg_graph_next_value(g, NULL); v; v = surg_graph_next_value(g, v)) {
    const surg__dvalue x = {.v = v,
                            .graph = graph,
                            .t = constant_of(v),
                            .twin = SURG__NO_TWIN,
                            .item = SURG__NO_TWIN,
                            .output = SURG__NO_TWIN};
    if (!surg__vec_push(d->ctx, &s->values, x)) return false;
  }
  return true;
}

static bool add_nodes(surg_diff *d, surg__dside *s, uint32_t graph) {
  surg_graph *g = s->graphs.items[graph].g;
  const size_t first = s->nodes.count;
  uint32_t place = 0;
  for (surg_node *n = surg_graph_first_node(g); n; n = surg_node_next(n), place++) {
    const surg_value *out = surg_node_output(n, 0);
    const surg__dnode x = {
        .n = n,
        .graph = graph,
        .place = place,
        .twin = SURG__NO_TWIN,
        .item = SURG__NO_TWIN,
        .constant = surg_node_input_count(n) == 0 && out && surg_node_output_count(n) == 1 &&
                    surg_node_op(n) == SURG_OP_Constant && surg_value_constant(out)};
    if (!surg__vec_push(d->ctx, &s->nodes, x)) return false;
  }
  s->graphs.items[graph].first = (uint32_t)first;
  s->graphs.items[graph].count = place;
  return true;
}

static bool index_all(surg_diff *d, surg__dside *s) {
  size_t size = 16;
  const size_t n = s->graphs.count + s->nodes.count + s->values.count;
  if (n >= SURG__NO_TWIN / 4) return false;
  while (size < 2 * n) size *= 2;
  s->slots = surg__calloc(d->ctx, size, sizeof *s->slots);
  if (!s->slots) return false;
  s->size = size;
  for (size_t i = 0; i < s->graphs.count; i++) put(s, s->graphs.items[i].g, i);
  for (size_t i = 0; i < s->nodes.count; i++) put(s, s->nodes.items[i].n, i);
  for (size_t i = 0; i < s->values.count; i++) put(s, s->values.items[i].v, i);
  return true;
}

static void place_outputs(surg__dside *s, const surg_graph *g) {
  for (size_t i = g->n_out; i-- > 0;) {
    surg__dvalue *v = surg__dvalue_of(s, g->out[i]->use.value);
    if (v && v->v->graph == g) v->output = (uint32_t)i;
  }
}

surg_status surg__diff_chart(surg_diff *d, int k, surg_model *m) {
  surg__dside *s = &d->side[k];
  bool ok = true;
  s->m = m;
  for (surg_graph *g = surg_model_next_graph(m, NULL); g && ok; g = surg_model_next_graph(m, g)) {
    const surg__dgraph x = {.g = g, .twin = SURG__NO_TWIN};
    const uint32_t graph = (uint32_t)s->graphs.count;
    ok = surg__vec_push(d->ctx, &s->graphs, x) && add_nodes(d, s, graph) && add_values(d, s, graph);
  }
  if (!ok || !index_all(d, s)) surg__diff_fail(d);
  for (size_t i = 0; i < s->graphs.count && d->status == SURG_OK; i++)
    place_outputs(s, s->graphs.items[i].g);
  return d->status;
}

void surg__diff_unchart(surg_diff *d, int k) {
  surg__dside *s = &d->side[k];
  surg__vec_free(d->ctx, &s->graphs);
  surg__vec_free(d->ctx, &s->nodes);
  surg__vec_free(d->ctx, &s->values);
  surg__vec_free(d->ctx, &s->captures);
  surg__free(d->ctx, s->slots);
}

void surg__diff_unpair(surg_diff *d) {
  for (int k = 0; k < 2; k++) {
    surg__dside *s = &d->side[k];
    for (size_t i = 0; i < s->graphs.count; i++) {
      surg__dgraph *g = &s->graphs.items[i];
      if (g->g->kind != SURG_GRAPH_FUNCTION) g->twin = SURG__NO_TWIN;
      g->out_twins = NULL;
    }
    for (size_t i = 0; i < s->nodes.count; i++) {
      s->nodes.items[i].twin = s->nodes.items[i].item = SURG__NO_TWIN;
      s->nodes.items[i].marks = 0;
    }
    for (size_t i = 0; i < s->values.count; i++) {
      s->values.items[i].twin = s->values.items[i].item = SURG__NO_TWIN;
      s->values.items[i].marks = 0;
    }
  }
  d->items.count = d->graphs.count = d->queue.count = d->symbols.count = d->queued = 0;
}

void surg__diff_pair_values(surg_diff *d, surg__dvalue *a, surg__dvalue *b) {
  if (!a || !b || a->twin != SURG__NO_TWIN || b->twin != SURG__NO_TWIN) return;
  a->twin = (uint32_t)(b - d->side[1].values.items);
  b->twin = (uint32_t)(a - d->side[0].values.items);
}
