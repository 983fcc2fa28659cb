/* SPDX-License-Identifier: Apache-2.0 */
/* A session of a model that runs its parts one after another. A value is dropped after the last
 * part that reads it. */
#include <stdio.h>

#include "base/diag.h"
#include "ir/ir.h"
#include "run/run_engine.h"

#define ABSENT SIZE_MAX      /* an input with a default */
#define GIVEN (SIZE_MAX - 1) /* part of an input of the whole model */

/* Where the value of an input of a part, or of an output of the whole, comes from. */
typedef struct origin {
  size_t part, index;
} origin;

typedef struct station {
  surg__exec exec;
  surg__array *in, *out;
  size_t n_in, n_out;
  origin *from;      /* of each input */
  size_t *last_read; /* of each output: the part that reads it last; `n` of the chain: the caller */
} station;

struct surg__links {
  surg__engine engine; /* of the parts */
  station *items;
  size_t n;
  origin *outputs; /* of the whole model */
  size_t n_outputs;
};

/* --- finding values --- */

static size_t input_of(const surg_graph *g, const char *name) {
  for (size_t i = 0; i < surg_graph_input_count(g); i++)
    if (strcmp(surg_value_name(surg_graph_input(g, i)), name) == 0) return i;
  return ABSENT;
}

static size_t output_of(const surg_graph *g, const char *name) {
  for (size_t i = 0; i < surg_graph_output_count(g); i++)
    if (strcmp(surg_value_name(surg_graph_output(g, i)), name) == 0) return i;
  return ABSENT;
}

/* The value of this name before part k: an output of an earlier part, else an input of the whole.
 */
static origin find(const surg__chain *c, size_t k, const char *name) {
  while (k-- > 0) {
    const size_t i = output_of(surg_model_graph(c->parts[k]), name);
    if (i != ABSENT) return (origin){k, i};
  }
  const size_t i = input_of(surg_model_graph(c->whole), name);
  return i == ABSENT ? (origin){ABSENT, 0} : (origin){GIVEN, i};
}

static surg_status find_all(surg__exec *r, const surg__chain *c, size_t k) {
  station *x = &r->links->items[k];
  const surg_graph *g = surg_model_graph(c->parts[k]);
  for (size_t i = 0; i < x->n_in; i++) {
    const surg_value *v = surg_graph_input(g, i);
    x->from[i] = find(c, k, surg_value_name(v));
    if (x->from[i].part == ABSENT && !surg_value_is_initializer(v)) {
      snprintf(r->why, sizeof r->why, "no part before part %zu gives its input %.200s", k + 1,
               surg__q(surg_model_context(c->whole), surg_value_name(v)));
      return SURG_EINVALID;
    }
    if (x->from[i].part < k) r->links->items[x->from[i].part].last_read[x->from[i].index] = k;
  }
  return SURG_OK;
}

/* --- opening --- */

static surg_status open_link(surg__exec *r, const surg__chain *c, size_t k) {
  surg_context *ctx = surg_model_context(c->whole);
  station *x = &r->links->items[k];
  const surg_graph *g = surg_model_graph(c->parts[k]);
  x->n_in = surg_graph_input_count(g);
  x->n_out = surg_graph_output_count(g);
  x->in = surg__calloc(ctx, x->n_in + 1, sizeof *x->in);
  x->out = surg__calloc(ctx, x->n_out + 1, sizeof *x->out);
  x->from = surg__calloc(ctx, x->n_in + 1, sizeof *x->from);
  x->last_read = surg__calloc(ctx, x->n_out + 1, sizeof *x->last_read);
  if (!x->in || !x->out || !x->from || !x->last_read) return surg__alloc_status(ctx);
  const surg_status s = surg__exec_open(&x->exec, &r->links->engine, c->parts[k]);
  if (s == SURG_OK) return find_all(r, c, k);
  snprintf(r->why, sizeof r->why, "part %zu: %.500s", k + 1, x->exec.why);
  return s;
}

static surg_status open_all(surg__exec *r) {
  const surg__chain *c = r->engine->chain;
  surg_context *ctx = surg_model_context(c->whole);
  const surg_graph *g = surg_model_graph(c->whole);
  struct surg__links *l = surg__calloc(ctx, 1, sizeof *l);
  r->links = l;
  if (!l) return surg__alloc_status(ctx);
  l->engine = *r->engine;
  l->engine.chain = NULL;
  l->n_outputs = surg_graph_output_count(g);
  l->items = surg__calloc(ctx, c->n + 1, sizeof *l->items);
  l->outputs = surg__calloc(ctx, l->n_outputs + 1, sizeof *l->outputs);
  if (!l->items || !l->outputs) return surg__alloc_status(ctx);
  l->n = c->n;
  surg_status s = SURG_OK;
  for (size_t k = 0; s == SURG_OK && k < c->n; k++) s = open_link(r, c, k);
  for (size_t i = 0; s == SURG_OK && i < l->n_outputs; i++) {
    const char *name = surg_value_name(surg_graph_output(g, i));
    l->outputs[i] = find(c, c->n, name);
    if (l->outputs[i].part < c->n) {
      l->items[l->outputs[i].part].last_read[l->outputs[i].index] = c->n;
    } else if (l->outputs[i].part == ABSENT) {
      snprintf(r->why, sizeof r->why, "no part gives output %.200s", surg__q(ctx, name));
      s = SURG_EINVALID;
    }
  }
  return s;
}

static void drop(surg__array *a, size_t n) {
  for (size_t i = 0; a && i < n; i++) surg__array_drop(&a[i]);
}

void surg__chain_close(surg__exec *r) {
  struct surg__links *l = r->links;
  if (!l) return;
  surg_context *ctx = surg_model_context(r->model);
  for (size_t k = 0; k < l->n; k++) {
    station *x = &l->items[k];
    surg__exec_close(&x->exec);
    drop(x->in, x->n_in);
    drop(x->out, x->n_out);
    surg__free(ctx, x->in);
    surg__free(ctx, x->out);
    surg__free(ctx, x->from);
    surg__free(ctx, x->last_read);
  }
  surg__free(ctx, l->items);
  surg__free(ctx, l->outputs);
  surg__free(ctx, l);
  r->links = NULL;
}

surg_status surg__chain_open(surg__exec *r) {
  const surg_status s = open_all(r);
  if (s != SURG_OK) surg__chain_close(r);
  return s;
}

/* --- running --- */

static void give(const struct surg__links *l, const surg__array *in, origin from,
                 surg__array *out) {
  surg__array_drop(out);
  if (from.part == ABSENT) return;
  *out =
      surg__array_ref(from.part == GIVEN ? &in[from.index] : &l->items[from.part].out[from.index]);
}

/* Drops what no part after k reads. */
static void drop_read(struct surg__links *l, size_t k) {
  station *x = &l->items[k];
  drop(x->in, x->n_in);
  for (size_t j = 0; j <= k; j++)
    for (size_t i = 0; i < l->items[j].n_out; i++)
      if (l->items[j].last_read[i] <= k) surg__array_drop(&l->items[j].out[i]);
}

surg_status surg__chain_run(surg__exec *r, const surg__array *in, surg__array *out) {
  struct surg__links *l = r->links;
  surg_status s = SURG_OK;
  r->foreign = false;
  r->open = NULL;
  r->marks = 0;
  for (size_t k = 0; s == SURG_OK && k < l->n; k++) {
    station *x = &l->items[k];
    for (size_t i = 0; i < x->n_in; i++) give(l, in, x->from[i], &x->in[i]);
    drop(x->out, x->n_out);
    s = surg__exec_run(&x->exec, x->in, x->out);
    r->foreign = x->exec.foreign;
    if (!r->open) r->open = x->exec.open;
    if (!r->marks) r->marked = x->exec.marked;
    r->marks += x->exec.marks;
    if (s != SURG_OK) snprintf(r->why, sizeof r->why, "part %zu: %.500s", k + 1, x->exec.why);
    if (s == SURG_OK) drop_read(l, k);
  }
  for (size_t i = 0; s == SURG_OK && i < l->n_outputs; i++) give(l, in, l->outputs[i], &out[i]);
  for (size_t k = 0; k < l->n; k++) {
    drop(l->items[k].in, l->items[k].n_in);
    drop(l->items[k].out, l->items[k].n_out);
  }
  return s;
}
