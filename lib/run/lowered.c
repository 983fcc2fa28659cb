/* SPDX-License-Identifier: Apache-2.0 */
/* Implementation of lowered.h. The node becomes a model of its own (isolate_build.c) in a context
 * of its own, so that neither rules, options nor messages of the caller's are involved. The preset
 * `standard` rewrites it, and the interpreter runs the result. A model is kept while its node is
 * run with the same types, as in a loop. */
#include "run/lowered.h"

#include <stdio.h>

#include "base/context.h"
#include "eval/core/stream.h"
#include "run/isolate.h"

#define KEPT 256 /* most models that are kept */

/* The node as operators of the standard, for inputs of these types. */
typedef struct form {
  const surg_node *node;
  uint64_t key;
  surg_model *model;
} form;

struct surg__lowered {
  surg_context *ctx, *aside;
  SURG_VEC(form) forms;
  uint64_t marks;
  char first[120];
};

surg__lowered *surg__lowered_new(surg_context *ctx) {
  surg__lowered *l = surg__calloc(ctx, 1, sizeof *l);
  if (l) l->ctx = ctx;
  return l;
}

void surg__lowered_free(surg__lowered *l) {
  if (!l) return;
  for (size_t i = 0; i < l->forms.count; i++) surg_model_free(l->forms.items[i].model);
  surg__vec_free(l->ctx, &l->forms);
  surg_context_free(l->aside);
  surg__free(l->ctx, l);
}

void surg__lowered_begin(surg__lowered *l) {
  l->marks = 0;
  *l->first = 0;
}

uint64_t surg__lowered_marks(const surg__lowered *l, const char **first) {
  if (first) *first = l->first;
  return l->marks;
}

static void mark(surg__lowered *l, const surg_node *n) {
  char name[sizeof l->first];
  const char *domain = surg_node_domain(n);
  snprintf(name, sizeof name, "%.60s%s%.50s", domain, *domain ? "." : "", surg_node_op_type(n));
  if (!l->marks) snprintf(l->first, sizeof l->first, "%s", name);
  const uint64_t sum = l->marks + surg__hash(l->ctx, name, strlen(name));
  l->marks = sum ? sum : 1;
}

/* --- the model of a node --- */

static surg_context *aside(surg__lowered *l) {
  if (l->aside) return l->aside;
  surg_config config = l->ctx->config;
  config.size = sizeof config;
  config.diag = NULL;
  config.progress = NULL;
  config.beside = l->ctx;
  return l->aside = surg_context_new(&config);
}

/* References the arrays that the node reads. A sequence is never a constant. */
static surg_status read_needs(surg__machine *m, surg__needs *needs, bool fixed) {
  surg_status s = SURG_OK;
  for (size_t i = 0; i < needs->count && s == SURG_OK; i++) {
    surg__need *x = &needs->items[i];
    surg__array a;
    s = surg__session_read(m, x->value, &a);
    if (s != SURG_OK) return s;
    surg__array_drop(&x->array);
    x->array = surg__array_ref(&a);
    if (surg__array_is_list(&a)) return SURG_EUNSUPPORTED;
    if (fixed) x->constant = true;
  }
  return s;
}

static uint64_t key_of(const surg__lowered *l, const surg__needs *needs) {
  uint64_t key = 0;
  for (size_t i = 0; i < needs->count; i++) {
    const surg__array *a = &needs->items[i].array;
    const int64_t head[] = {(int64_t)key, a->dtype, a->rank};
    key = surg__hash(l->ctx, head, sizeof head);
    key += surg__hash(l->ctx, a->dims, a->rank * sizeof *a->dims);
  }
  return key;
}

static surg_status add_outputs(surg_model *m) {
  surg_graph *g = surg_model_graph(m);
  const surg_node *n = surg_graph_first_node(g);
  surg_status s = SURG_OK;
  for (size_t i = 0; i < surg_node_output_count(n) && s == SURG_OK; i++)
    if (surg_node_output(n, i)) s = surg_graph_add_output(g, surg_node_output(n, i), NULL);
  return s;
}

/* SURG_EUNSUPPORTED: the pipeline fails for another reason than memory or the user's wish. */
static surg_status rewrite(surg_model **m, const char *pipeline) {
  const surg_status s = surg_model_run(m, pipeline);
  return s == SURG_OK || s == SURG_ENOMEM || s == SURG_ELIMIT || s == SURG_ECANCELLED
             ? s
             : SURG_EUNSUPPORTED;
}

static bool remains(const surg_graph *g, const surg_node *n) {
  for (const surg_node *x = surg_graph_first_node(g); x; x = surg_node_next(x))
    if (strcmp(surg_node_op_type(x), surg_node_op_type(n)) == 0 &&
        strcmp(surg_node_domain(x), surg_node_domain(n)) == 0)
      return true;
  return false;
}

/* The node as operators of the standard. Some replacements exist in newer opsets only. */
static surg_status build(surg__lowered *l, surg_node *n, const surg__machine *m,
                         const surg__needs *needs, surg_model **out) {
  static const char *const ways[] = {"allow{approx}(standard)",
                                     "allow{approx}(opset{to=23},standard)"};
  surg_context *to = aside(l);
  surg_status s = to ? SURG_EUNSUPPORTED : SURG_ENOMEM;
  *out = NULL;
  for (size_t k = 0; k < SURG_COUNT(ways) && s == SURG_EUNSUPPORTED; k++) {
    surg_model *made = NULL;
    s = surg__isolate_build(n, m, needs, to, &made);
    if (s == SURG_OK) s = add_outputs(made);
    if (s == SURG_OK) s = surg_model_infer(made);
    if (s == SURG_OK) s = rewrite(&made, ways[k]);
    if (s == SURG_OK && remains(surg_model_graph(made), n)) s = SURG_EUNSUPPORTED;
    if (s == SURG_OK)
      *out = made;
    else
      surg_model_free(made);
  }
  return s;
}

/* --- running it --- */

/* The outputs of the model as arrays of the caller's context. */
static surg_status take(surg__lowered *l, const surg_node *n, surg__array *from, surg__array *out) {
  surg_status s = SURG_OK;
  for (size_t i = 0, k = 0; i < surg_node_output_count(n); i++) {
    if (!surg_node_output(n, i)) continue;
    surg__array *a = &from[k++];
    if (s == SURG_OK && (surg__array_is_list(a) || a->dtype == SURG_STRING)) s = SURG_EUNSUPPORTED;
    if (s == SURG_OK) s = surg__array_load(l->aside, a);
    if (s == SURG_OK) {
      out[i] = *a;
      out[i].cell = NULL;
      s = surg__array_settle(l->ctx, &out[i]);
      if (s != SURG_OK) out[i] = (surg__array){0};
    }
    surg__array_drop(a);
  }
  for (size_t i = 0; s != SURG_OK && i < surg_node_output_count(n); i++) surg__array_drop(&out[i]);
  return s;
}

static surg_status run(surg__lowered *l, surg_node *n, surg_model *m, const surg__needs *needs,
                       surg__session *limits, surg__array *out) {
  const size_t n_out = surg_graph_output_count(surg_model_graph(m));
  surg__array *in = surg__calloc(l->ctx, needs->count + n_out + 1, sizeof *in);
  size_t n_in = 0;
  if (!in) return surg__alloc_status(l->ctx);
  surg__array *made = in + needs->count;
  for (size_t i = 0; i < needs->count; i++) {
    if (needs->items[i].constant) continue;
    in[n_in] = needs->items[i].array;
    in[n_in++].cell = NULL; /* borrowed: it belongs to the other context */
  }
  surg_status s = SURG_EUNSUPPORTED;
  if (n_in == surg_graph_input_count(surg_model_graph(m)))
    s = surg__session_run(limits, m, in, made);
  if (s == SURG_OK) s = take(l, n, made, out);
  surg__free(l->ctx, in);
  return s;
}

static surg_model *kept(const surg__lowered *l, const surg_node *n, uint64_t key) {
  for (size_t i = 0; i < l->forms.count; i++)
    if (l->forms.items[i].node == n && l->forms.items[i].key == key)
      return l->forms.items[i].model;
  return NULL;
}

/* With the constants of the model, and else with all that the node reads as constants: some
 * replacements need to know a length or an axis. */
static surg_status compute(surg__lowered *l, surg_node *n, surg__machine *m, surg__needs *needs,
                           surg__session *limits, surg__array *out) {
  surg_status s = read_needs(m, needs, false);
  if (s != SURG_OK) return s;
  const uint64_t key = key_of(l, needs);
  surg_model *model = kept(l, n, key);
  if (model) return run(l, n, model, needs, limits, out);
  s = build(l, n, m, needs, &model);
  if (s == SURG_OK) s = run(l, n, model, needs, limits, out);
  /* The attributes of a node in a function differ between its calls. */
  if (s == SURG_OK && !surg__session_caller(m) && l->forms.count < KEPT &&
      surg__vec_push(l->ctx, &l->forms, ((form){n, key, model})))
    return s;
  surg_model_free(model);
  if (s != SURG_EUNSUPPORTED) return s;
  s = read_needs(m, needs, true);
  if (s == SURG_OK) s = build(l, n, m, needs, &model);
  if (s != SURG_OK) return s;
  s = run(l, n, model, needs, limits, out);
  surg_model_free(model);
  return s;
}

surg_status surg__lowered_compute(void *user, surg_node *n, surg__machine *m, surg__session *limits,
                                  surg__array *out) {
  surg__lowered *l = user;
  surg__needs needs = {0};
  surg_status s = surg__isolate_needs(n, &needs);
  if (s == SURG_OK) s = compute(l, n, m, &needs, limits, out);
  for (size_t i = 0; i < needs.count; i++) surg__array_drop(&needs.items[i].array);
  surg__vec_free(l->ctx, &needs);
  if (s == SURG_OK) mark(l, n);
  return s;
}
