/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the first value that differs between two models: runs both with all their values as
 * outputs. */
#include <stdio.h>
#include <stdlib.h>

#include "base/diag.h"
#include "ir/ir.h"
#include "run/verify.h"

/* --- names --- */

typedef struct entry {
  const char *name;
  size_t i;
} entry;

static int by_name(const void *a, const void *b) {
  const entry *x = a, *y = b;
  const int order = strcmp(x->name, y->name);
  return order ? order : x->i < y->i ? -1 : x->i > y->i;
}

size_t *surg__match_names(surg_context *ctx, size_t n, const char *(*name)(const void *, size_t),
                          const void *of, size_t m, const char *(*other)(const void *, size_t),
                          const void *among) {
  size_t *out = surg__calloc(ctx, n + 1, sizeof *out);
  entry *list = surg__calloc(ctx, m + 1, sizeof *list);
  for (size_t i = 0; list && i < m; i++) list[i] = (entry){other(among, i), i};
  if (list && m > 1) qsort(list, m, sizeof *list, by_name);
  for (size_t i = 0; out && list && i < n; i++) {
    const char *wanted = name(of, i);
    size_t lo = 0, hi = m;
    while (lo < hi) { /* find the first entry of that name */
      const size_t mid = lo + (hi - lo) / 2;
      if (strcmp(list[mid].name, wanted) < 0)
        lo = mid + 1;
      else
        hi = mid;
    }
    out[i] = lo < m && strcmp(list[lo].name, wanted) == 0 ? list[lo].i : m;
  }
  if (!list) {
    surg__free(ctx, out);
    out = NULL;
  }
  surg__free(ctx, list);
  return out;
}

const char *surg__input_name(const void *g, size_t i) {
  return surg_value_name(surg_graph_input(g, i));
}
const char *surg__output_name(const void *g, size_t i) {
  return surg_value_name(surg_graph_output(g, i));
}

/* --- layers --- */

typedef struct side {
  surg_model *all;
  surg_graph *g;
  surg__exec runner;
  surg__array *out;
  size_t n_out;
} side;

static surg_status open_side(side *s, surg_model *m, const surg__engine *e, const surg__array *in) {
  surg_context *ctx = surg_model_context(m);
  s->all = surg__all_outputs(m);
  if (!s->all) return SURG_ENOMEM;
  s->g = surg_model_graph(s->all);
  s->n_out = surg_graph_output_count(s->g);
  s->out = surg__calloc(ctx, s->n_out + 1, sizeof *s->out);
  if (!s->out) return SURG_ENOMEM;
  const surg_status status = surg__exec_open(&s->runner, e, s->all);
  return status == SURG_OK ? surg__exec_run(&s->runner, in, s->out) : status;
}

static void close_side(side *s, surg_context *ctx) {
  surg__exec_close(&s->runner);
  for (size_t i = 0; s->out && i < s->n_out; i++) surg__array_drop(&s->out[i]);
  surg__free(ctx, s->out);
  surg_model_free(s->all);
}

static void locate(const surg_value *v, char *out, size_t n) {
  const surg_node *at = surg_value_producer(v, NULL);
  snprintf(out, n, "%s", at ? surg__locate_node(at) : "an input or initializer");
}

typedef struct renamer {
  const surg_graph *g;
  const surg__verify_options *o;
} renamer;

static const char *new_name(const void *renames, size_t i) {
  const renamer *r = renames;
  const char *name = surg__output_name(r->g, i);
  return r->o->renamed ? r->o->renamed(r->o->renames, name) : name;
}

static surg_status compare(side s[2], const surg__tolerance *t, const surg__verify_options *o,
                           surg__verify_layer *out) {
  surg_context *ctx = surg_model_context(s[0].all);
  const renamer names = {s[0].g, o};
  size_t *twin = surg__match_names(ctx, s[0].n_out, new_name, &names, s[1].n_out,
                                   surg__output_name, s[1].g);
  /* The model's outputs are listed before the values they depend on, so node order determines
   * which difference is first. */
  const surg_node *first = NULL;
  if (!twin) return SURG_ENOMEM;
  out->looked = true;
  for (size_t i = 0; i < s[0].n_out; i++) {
    surg__distance d;
    const surg_value *v = surg_graph_output(s[0].g, i);
    const surg_node *n = surg_value_producer(v, NULL);
    if (twin[i] == s[1].n_out) continue;
    out->matched++;
    if (surg__value_compare(&s[1].out[twin[i]], &s[0].out[i], t, &d)) {
      out->equal++;
      continue;
    }
    if (out->found && (!first || !n || !surg_node_before(n, first))) continue;
    out->found = true;
    first = n;
    out->distance = d;
    snprintf(out->name, sizeof out->name, "%s", surg__q(ctx, surg_value_name(v)));
    locate(v, out->at[0], sizeof out->at[0]);
    locate(surg_graph_output(s[1].g, twin[i]), out->at[1], sizeof out->at[1]);
  }
  surg__free(ctx, twin);
  return SURG_OK;
}

surg_status surg__verify_layers(surg_model *const models[2], const surg__engine *const engines[2],
                                const surg__array *const in[2], const surg__tolerance *t,
                                const surg__verify_options *o, surg__verify_layer *out) {
  surg_context *ctx = surg_model_context(models[0]);
  side s[2] = {0};
  *out = (surg__verify_layer){0};
  surg_status status = open_side(&s[0], models[0], engines[0], in[0]);
  if (status == SURG_OK) status = open_side(&s[1], models[1], engines[1], in[1]);
  if (status == SURG_OK) status = compare(s, t, o, out);
  close_side(&s[0], ctx);
  close_side(&s[1], ctx);
  /* If a model does not run with all its values as outputs, the first difference remains
   * unknown. */
  return status == SURG_ENOMEM ? status : SURG_OK;
}
