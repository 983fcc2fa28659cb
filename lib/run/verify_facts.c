/* SPDX-License-Identifier: Apache-2.0 */
/* Evidence of a comparison: which outputs depend on random numbers that the two models do not
 * share, and which were only NaN or one number. */
#include <math.h>
#include <stdlib.h>

#include "base/context.h"
#include "base/dtype.h"
#include "eval/core/number.h"
#include "ir/ir.h" /* only for surg_node.scratch */
#include "run/verify.h"
#include "schema/schema.h"

/* --- random nodes --- */

typedef SURG_VEC(const char *) names;

/* The name that the random numbers of a node are derived from (lib/eval/random/random.c); NULL:
 * the node is not random, or has a seed attribute, which both models share. */
static const char *draws_by(const surg_node *n) {
  const surg_schema *s = surg_node_schema(n);
  if (!s || surg_node_subgraph(n, 0) || surg_node_function(n) || surg_node_attr(n, "seed") ||
      !surg_node_nondeterministic(n))
    return NULL;
  /* Of the operators with a training mode, only Dropout is random. */
  if (!(s->flags & SURG__OP_NONDETERMINISTIC) && surg_node_op(n) != SURG_OP_Dropout) return NULL;
  for (size_t i = 0; i < surg_node_output_count(n); i++)
    if (surg_node_output(n, i)) return surg_value_name(surg_node_output(n, i));
  return NULL;
}

static bool collect(const surg_model *m, names *out) {
  for (const surg_graph *g = NULL; (g = surg_model_next_graph(m, g));)
    for (surg_node *n = surg_graph_first_node(g); n; n = surg_node_next(n))
      if (draws_by(n) && !surg__vec_push(surg_model_context(m), out, draws_by(n))) return false;
  return true;
}

/* Inputs of the second model with names of values that the first draws get these numbers. */
static bool collect_inputs(const surg_model *m, names *out) {
  const surg_graph *g = surg_model_graph(m);
  for (size_t i = 0; i < surg_graph_input_count(g); i++)
    if (!surg__vec_push(surg_model_context(m), out, surg_value_name(surg_graph_input(g, i))))
      return false;
  return true;
}

static int by_name(const void *a, const void *b) {
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static bool has(const names *sorted, const char *name) {
  return sorted->count &&
         bsearch(&name, sorted->items, sorted->count, sizeof *sorted->items, by_name);
}

static const char marked; /* scratch of a node whose results depend on such random numbers */

/* Marks a node and all nodes that contain it; true: it was not marked before. */
static bool mark(surg_node *n) {
  if (n->scratch == &marked) return false;
  for (; n; n = surg_graph_parent_node(surg_node_graph(n))) n->scratch = (void *)(uintptr_t)&marked;
  return true;
}

static bool body_marked(const surg_function *f) {
  const surg_graph *g = f ? surg_function_graph(f) : NULL;
  for (surg_node *n = g ? surg_graph_first_node(g) : NULL; n; n = surg_node_next(n))
    if (n->scratch == &marked) return true;
  return false;
}

static bool is_marked(const surg_value *v) {
  const surg_node *p = surg_value_producer(v, NULL);
  return p && p->scratch == &marked;
}

/* Whether a node reads a value of which `is` holds: as an input, or as an output of a subgraph that
 * captures it. What the nodes of subgraphs read marks these nodes, and so the node. */
static bool reads(const surg_node *n, bool (*is)(const surg_value *v)) {
  const surg_graph *g;
  for (size_t i = 0; i < surg_node_input_count(n); i++) {
    const surg_value *v = surg_node_input(n, i);
    if (v && is(v)) return true;
  }
  for (size_t k = 0; (g = surg_node_subgraph(n, k)); k++)
    for (size_t i = 0; i < surg_graph_output_count(g); i++) {
      const surg_value *v = surg_graph_output(g, i);
      if (surg_value_graph(v) != g && is(v)) return true;
    }
  return false;
}

static bool reads_marked(const surg_node *n) {
  return reads(n, is_marked) || body_marked(surg_node_function(n));
}

/* Marks nodes that depend on random numbers that the other model lacks. Graphs are in
 * topological order, so one pass suffices, except for functions that are listed after their
 * calls. */
static void spread(const surg_model *m, const names *other) {
  for (bool again = true; again;) {
    again = false;
    for (const surg_graph *g = NULL; (g = surg_model_next_graph(m, g));)
      for (surg_node *n = surg_graph_first_node(g); n; n = surg_node_next(n)) {
        const char *name = draws_by(n);
        if (((name && !has(other, name)) || reads_marked(n)) && mark(n)) again = true;
      }
  }
}

static void unmark(const surg_model *m) {
  for (const surg_graph *g = NULL; (g = surg_model_next_graph(m, g));)
    for (surg_node *n = surg_graph_first_node(g); n; n = surg_node_next(n)) n->scratch = NULL;
}

surg_status surg__verify_random(surg_model *const models[2], bool *const random[2]) {
  surg_context *ctx = surg_model_context(models[0]);
  names all[2] = {{0}, {0}};
  bool ok = collect(models[0], &all[0]) && collect(models[1], &all[1]) &&
            collect_inputs(models[1], &all[1]);
  for (int k = 0; k < 2 && ok; k++)
    if (all[k].count) qsort(all[k].items, all[k].count, sizeof *all[k].items, by_name);
  for (int k = 0; k < 2 && ok; k++) {
    const surg_graph *g = surg_model_graph(models[k]);
    spread(models[k], &all[1 - k]);
    for (size_t i = 0; i < surg_graph_output_count(g); i++) {
      const surg_node *p = surg_value_producer(surg_graph_output(g, i), NULL);
      random[k][i] = p && p->scratch == &marked;
    }
    unmark(models[k]);
  }
  for (int k = 0; k < 2; k++) surg__vec_free(ctx, &all[k]);
  return ok ? SURG_OK : SURG_ENOMEM;
}

/* --- observed values of outputs --- */

/* Converts an element to a number that differs for different elements; false: NaN. */
static bool element_of(const surg__array *a, uint64_t i, double *out) {
  if (a->dtype == SURG_COMPLEX64 || a->dtype == SURG_COMPLEX128)
    *out = surg__load_f64(a->dtype == SURG_COMPLEX64 ? SURG_FLOAT : SURG_DOUBLE, a->data, 2 * i) +
           3 * surg__load_f64(a->dtype == SURG_COMPLEX64 ? SURG_FLOAT : SURG_DOUBLE, a->data,
                              2 * i + 1);
  else if (surg__dtype_is_float(a->dtype))
    *out = surg__load_f64(a->dtype, a->data, i);
  else
    *out = (double)(int64_t)surg__load_int(a->dtype, a->data, i);
  return !isnan(*out);
}

void surg__verify_seen(surg__verify_output *o, const surg__array *a) {
  if (surg__array_is_list(a) || a->dtype == SURG_STRING || a->dtype == SURG_UNDEFINED) {
    o->varied = true; /* compared item by item: counted as informative */
    return;
  }
  for (uint64_t i = 0; i < a->count && !o->varied; i++) {
    double v;
    o->any = true;
    if (!element_of(a, i, &v)) continue;
    if (o->number && v != o->first) o->varied = true;
    if (!o->number) o->first = v;
    o->number = true;
  }
}

/* Whether the caller gives the value: an input of the model. */
static bool is_given(const surg_value *v) {
  const surg_graph *g = surg_value_graph(v);
  return surg_value_is_input(v) && g == surg_model_graph(surg_graph_model(g)) &&
         !surg_value_initializer(v);
}

/* Whether each output depends on an input, so that one run does not show all its values. */
bool surg__verify_depends(surg_model *m, bool *out) {
  const surg_graph *main = surg_model_graph(m);
  for (bool again = true; again;) {
    again = false;
    for (const surg_graph *g = NULL; (g = surg_model_next_graph(m, g));)
      for (surg_node *n = surg_graph_first_node(g); n; n = surg_node_next(n)) {
        const bool hangs = draws_by(n) || reads_marked(n) || reads(n, is_given);
        if (hangs && mark(n)) again = true;
      }
  }
  for (size_t i = 0; i < surg_graph_output_count(main); i++) {
    const surg_value *v = surg_graph_output(main, i);
    const surg_node *p = surg_value_producer(v, NULL);
    out[i] = p ? p->scratch == &marked : surg_value_is_input(v) && !surg_value_initializer(v);
  }
  unmark(m);
  return true;
}
