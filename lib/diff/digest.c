/* SPDX-License-Identifier: Apache-2.0 */
/* Digests of nodes and values: equal for nodes that are computed alike from the inputs (`down`), or
 * that the outputs are computed alike from (`up`). Names are in none of them. Digests only propose
 * pairs; they are compared afterwards. */
#include <stdlib.h>

#include "diff/diff.h"
#include "schema/schema.h"

enum { INPUT = 11, CAPTURE, OUTPUT, ABSENT, ALONE, CONSTANT, CALL, BODY };

static uint64_t hash_text(const surg_diff *d, const char *s) {
  return *s ? surg__hash(d->ctx, s, strlen(s)) : 0;
}

/* --- constants --- */

/* The place of the elements in a data file: they may not be read. */
static uint64_t place_of(const surg_diff *d, const surg_tensor *t) {
  uint64_t h = surg__diff_mix(t->data.off, t->data.len);
  if (t->codec && t->view == SURG__VIEW_ABSENT)
    for (uint32_t i = 0; i < t->codec->n; i++)
      h = surg__diff_mix(h, surg__hash(d->ctx, t->codec->values[i].p, t->codec->values[i].n));
  return t->file && t->file->location ? surg__diff_mix(h, hash_text(d, t->file->location)) : h;
}

static uint64_t content_of(const surg_diff *d, const surg_tensor *t) {
  uint64_t h = 0;
  const bool outside = t->view == SURG__VIEW_EXTERNAL;
  if (t->view == SURG__VIEW_ABSENT || (outside && !d->whole)) return place_of(d, t);
  if (t->view == SURG__VIEW_SPARSE) return t->msg.len;
  return surg_tensor_hash(t, &h) == SURG_OK ? h : place_of(d, t);
}

void surg__diff_digest_constants(surg_diff *d, int k) {
  surg__dside *s = &d->side[k];
  for (size_t i = 0; i < s->values.count; i++) {
    surg__dvalue *v = &s->values.items[i];
    if (!v->t) continue;
    v->shape = surg__diff_mix(CONSTANT, (uint64_t)v->t->dtype << 32 | v->t->rank);
    for (uint32_t j = 0; j < v->t->rank; j++)
      v->shape = surg__diff_mix(v->shape, (uint64_t)v->t->dims[j]);
    v->content = d->no_weights ? surg__diff_mix(v->shape, place_of(d, v->t))
                               : surg__diff_mix(v->shape, content_of(d, v->t));
  }
}

/* --- operators --- */

static uint64_t hash_op(const surg_diff *d, const surg_node *n) {
  uint64_t h = surg__diff_standard(n->domain) ? 1 : hash_text(d, n->domain);
  h = surg__diff_mix(h, hash_text(d, n->op_type));
  return surg__diff_mix(h, hash_text(d, n->overload));
}

/* Calls of functions that are a pair have one digest: that of the name in the first model. */
static uint64_t hash_call(const surg_diff *d, int k, const surg_node *n) {
  const surg_function *f = surg_node_function(n);
  const surg__dgraph *g = f ? surg__dgraph_of(&d->side[k], f->body) : NULL;
  if (!g || g->twin == SURG__NO_TWIN) return hash_op(d, n);
  return surg__diff_mix(CALL, k ? g->twin : (uint64_t)(g - d->side[0].graphs.items));
}

void surg__diff_digest_operators(surg_diff *d) {
  for (int k = 0; k < 2; k++)
    for (size_t i = 0; i < d->side[k].nodes.count; i++) {
      surg__dnode *n = &d->side[k].nodes.items[i];
      n->op = hash_call(d, k, n->n);
    }
}

bool surg__diff_swappable(const surg_node *n) {
  const surg_schema *schema = surg_node_schema(n);
  return schema && schema->flags & SURG__OP_COMMUTATIVE && n->n_in == 2 && n->in[0].value &&
         n->in[1].value;
}

uint32_t surg__diff_slot(const surg_node *n, uint32_t input) {
  return surg__diff_swappable(n) ? 0 : input;
}

/* Adds the digest of the next input to those of a node: their order counts unless it is free. */
static uint64_t add_input(uint64_t h, bool swappable, uint64_t input) {
  return swappable ? h + surg__diff_mix(CALL, input) : surg__diff_mix(h, input);
}

/* --- subgraphs --- */

/* What a constant adds to the digest of its consumer. */
static uint64_t of_constant(const surg__dvalue *v, bool content) {
  return content ? v->content : v->shape;
}

/* A digest of the nodes of a subgraph and the constants that they read, in any order. Nested graphs
 * are digested before (they are later in the chart). */
static uint64_t body_digest(surg_diff *d, int k, const surg__dgraph *g, bool content) {
  const surg__dside *s = &d->side[k];
  uint64_t sum = surg__diff_mix(BODY, surg_graph_output_count(g->g));
  for (uint32_t i = g->first; i < g->first + g->count; i++) {
    const surg_node *n = s->nodes.items[i].n;
    if (s->nodes.items[i].constant) continue;
    uint64_t h = surg__diff_mix(s->nodes.items[i].op, surg__diff_attrs(d, n, content));
    const bool free = surg__diff_swappable(n);
    for (uint32_t j = 0; j < n->n_in; j++) {
      const surg__dvalue *v = surg__dvalue_of(s, n->in[j].value);
      h = add_input(h, free, !v ? ABSENT : v->t ? of_constant(v, content) : free ? 0 : j);
    }
    surg_graph *inner;
    for (size_t j = 0; (inner = surg_node_subgraph(n, j)); j++) {
      const surg__dgraph *x = surg__dgraph_of(s, inner);
      if (x) h = surg__diff_mix(h, x->digest[content]);
    }
    sum += surg__diff_mix(h, BODY);
  }
  return sum ? sum : 1;
}

void surg__diff_digest_bodies(surg_diff *d, int k) {
  surg__dside *s = &d->side[k];
  for (size_t i = s->graphs.count; i-- > 0;) { /* inner before outer */
    surg__dgraph *g = &s->graphs.items[i];
    for (int content = 0; content < 2; content++)
      g->digest[content] = body_digest(d, k, g, content);
  }
}

/* --- captures --- */

static void capture(surg_diff *d, surg__dside *s, const surg_graph *g, const surg_value *v,
                    uint64_t how) {
  const uint32_t value = v ? surg__diff_index(s, v) : SURG__NO_TWIN;
  if (value == SURG__NO_TWIN) return;
  for (; g && g != v->graph && g->parent_node; g = g->parent_node->graph) {
    const surg__dcapture c = {surg__diff_index(s, g->parent_node), value, how};
    if (c.node != SURG__NO_TWIN && !surg__vec_push(d->ctx, &s->captures, c)) surg__diff_fail(d);
  }
}

static int by_node(const void *a, const void *b) {
  const surg__dcapture *x = a, *y = b;
  if (x->node != y->node) return x->node < y->node ? -1 : 1;
  return x->value < y->value ? -1 : x->value > y->value;
}

void surg__diff_digest_captures(surg_diff *d, int k) {
  surg__dside *s = &d->side[k];
  for (size_t i = 0; i < s->graphs.count; i++) {
    const surg__dgraph *g = &s->graphs.items[i];
    if (!g->g->parent_node) continue;
    for (uint32_t j = g->first; j < g->first + g->count; j++) {
      const surg__dnode *n = &s->nodes.items[j];
      for (uint32_t p = 0; p < n->n->n_in; p++)
        capture(d, s, g->g, n->n->in[p].value, surg__diff_mix(n->op, surg__diff_slot(n->n, p)));
    }
    for (size_t j = 0; j < g->g->n_out; j++)
      capture(d, s, g->g, g->g->out[j]->use.value, surg__diff_mix(OUTPUT, j));
  }
  if (s->captures.count > 1)
    qsort(s->captures.items, s->captures.count, sizeof *s->captures.items, by_node);
  for (size_t i = 0; i < s->captures.count; i++) {
    surg__dnode *n = &s->nodes.items[s->captures.items[i].node];
    if (!n->captures++) n->capture = (uint32_t)i;
  }
}

/* --- graphs --- */

typedef struct walk {
  surg_diff *d;
  surg__dside *s;
  int k;
  uint32_t graph;
  bool content;
} walk;

/* A number that paired objects of both models share, and others have alone. */
static uint64_t pair_id(const walk *w, uint32_t index, uint32_t twin) {
  if (twin == SURG__NO_TWIN) return surg__diff_mix(ALONE + 100u * (unsigned)w->k, index);
  return w->k ? twin : index;
}

static uint64_t outer_down(const walk *w, const surg__dvalue *v) {
  if (v->t) return of_constant(v, w->content);
  return surg__diff_mix(CAPTURE, pair_id(w, (uint32_t)(v - w->s->values.items), v->twin));
}

static uint64_t down_of(const walk *w, const surg__dvalue *v) {
  if (!v) return ABSENT;
  if (v->t) return of_constant(v, w->content);
  return v->graph == w->graph ? v->down : outer_down(w, v);
}

static void begin(walk *w) {
  surg__dside *s = w->s;
  const surg_graph *g = s->graphs.items[w->graph].g;
  for (const surg_value *v = g->first_value; v; v = v->next) {
    surg__dvalue *x = surg__dvalue_of(s, v);
    if (!x) continue;
    x->down = x->up = 0;
    if (v->input || v->undefined)
      x->down = surg__diff_mix(INPUT, pair_id(w, (uint32_t)(x - s->values.items), x->twin));
  }
}

static uint64_t form_of(const walk *w, const surg__dnode *n) {
  uint64_t h = surg__diff_mix(n->op, surg__diff_attrs(w->d, n->n, w->content));
  surg_graph *inner;
  for (size_t j = 0; (inner = surg_node_subgraph(n->n, j)); j++) {
    const surg__dgraph *x = surg__dgraph_of(w->s, inner);
    if (x) h = surg__diff_mix(h, x->digest[w->content]);
  }
  const bool free = surg__diff_swappable(n->n);
  for (uint32_t j = 0; j < n->n->n_in; j++) {
    const surg__dvalue *v = surg__dvalue_of(w->s, n->n->in[j].value);
    if (v && v->t) h = add_input(h, free, surg__diff_mix(free ? 0 : j, of_constant(v, w->content)));
  }
  return h;
}

/* Whether the node reads weights that hardly another one has. */
static bool has_weights(const walk *w, const surg__dnode *n) {
  for (uint32_t j = 0; j < n->n->n_in; j++) {
    const surg__dvalue *v = surg__dvalue_of(w->s, n->n->in[j].value);
    if (v && v->t && v->t->bytes > SURG__DIFF_SMALL) return true;
  }
  return false;
}

static void go_down(walk *w, surg__dnode *n) {
  uint64_t h = n->form = form_of(w, n), sum = 0;
  if (w->content) n->anchor = has_weights(w, n) ? h : 0;
  const bool free = surg__diff_swappable(n->n);
  for (uint32_t j = 0; j < n->n->n_in; j++)
    h = add_input(h, free, down_of(w, surg__dvalue_of(w->s, n->n->in[j].value)));
  for (uint32_t j = 0; j < n->captures; j++) {
    const surg__dcapture *c = &w->s->captures.items[n->capture + j];
    sum += surg__diff_mix(c->how, down_of(w, &w->s->values.items[c->value]));
  }
  n->down = surg__diff_mix(h, sum);
  for (uint32_t j = 0; j < n->n->n_out; j++) {
    surg__dvalue *v = surg__dvalue_of(w->s, n->n->out[j]);
    if (v) v->down = surg__diff_mix(n->down, j);
  }
}

static void go_up(walk *w, surg__dnode *n) {
  uint64_t h = n->form;
  for (uint32_t j = 0; j < n->n->n_out; j++) {
    const surg__dvalue *v = surg__dvalue_of(w->s, n->n->out[j]);
    h = surg__diff_mix(h, v ? v->up : ABSENT);
  }
  n->up = h;
  for (uint32_t j = 0; j < n->n->n_in; j++) {
    surg__dvalue *v = surg__dvalue_of(w->s, n->n->in[j].value);
    if (v && v->graph == w->graph) v->up += surg__diff_mix(h, surg__diff_slot(n->n, j));
  }
  for (uint32_t j = 0; j < n->captures; j++) {
    const surg__dcapture *c = &w->s->captures.items[n->capture + j];
    surg__dvalue *v = &w->s->values.items[c->value];
    if (v->graph == w->graph) v->up += surg__diff_mix(h, c->how);
  }
}

void surg__diff_digest_graph(surg_diff *d, int k, uint32_t graph, bool content) {
  walk w = {d, &d->side[k], k, graph, content};
  const surg__dgraph *g = &w.s->graphs.items[graph];
  begin(&w);
  for (uint32_t i = g->first; i < g->first + g->count; i++) go_down(&w, &w.s->nodes.items[i]);
  for (size_t i = 0; i < g->g->n_out; i++) {
    surg__dvalue *v = surg__dvalue_of(w.s, g->g->out[i]->use.value);
    const uint32_t twin = g->out_twins ? g->out_twins[i] : SURG__NO_TWIN;
    if (v && v->graph == graph) v->up += surg__diff_mix(OUTPUT, pair_id(&w, (uint32_t)i, twin));
  }
  for (uint32_t i = g->first + g->count; i-- > g->first;) go_up(&w, &w.s->nodes.items[i]);
}
