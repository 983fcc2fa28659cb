/* SPDX-License-Identifier: Apache-2.0 */
/* Random valid models through the library: they verify, save and load strictly, are the same for
 * the same seed, inference agrees with the generator, and text and back is the same model. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gen.h"

typedef struct test {
  surg_model *model;
  uint64_t seed;
  unsigned failures, types, shapes, dims, rebound;
} test;

static void fail(test *t, const char *what, const char *of) {
  fprintf(stderr, "seed %llu: %s %s\n", (unsigned long long)t->seed, what, of ? of : "");
  t->failures++;
}

static void show(void *user, surg_severity severity, const char *text) {
  (void)user;
  if (severity == SURG_ERROR) fprintf(stderr, "%s\n", text);
}

/* --- inference --- */

typedef struct known {
  gen_value *items;
  size_t count;
} known;

static void keep(void *user, const gen_value *v) {
  known *k = user;
  gen_value *p = realloc(k->items, (k->count + 1) * sizeof *p);
  if (!p) abort();
  k->items = p;
  p[k->count++] = *v;
}

/* What the symbols are while a model is made, and another time. */
static bool size_of(void *user, const char *name, const surg_value *v, size_t axis, int64_t *out) {
  static const char symbols[] = "NMB";
  const int64_t *sizes = user;
  const char *at = name ? strchr(symbols, name[0]) : NULL;
  (void)v;
  (void)axis;
  if (!at || !*at || name[1]) return false;
  *out = sizes[at - symbols];
  return true;
}
static int64_t made[3] = {3, 2, 4}, others[3] = {5, 7, 1};

/* What is inferred must be so; a dim may stay unknown. */
static void compare_type(test *t, const gen_value *v) {
  const surg_type *type = surg_value_type(v->v);
  const char *name = surg_value_name(v->v);
  static const char *const symbols[] = {"", "N", "M", "B"};
  if (!type || surg_type_get_kind(type) != SURG_TYPE_TENSOR) return;
  t->types++;
  if (surg_type_dtype(type) != v->dtype) fail(t, "inferred another element type of", name);
  if (!surg_type_has_rank(type)) return;
  if (surg_type_rank(type) != v->rank) {
    fail(t, "inferred another rank of", name);
    return;
  }
  t->shapes++;
  for (unsigned i = 0; i < v->rank; i++) {
    surg_dim d = *surg_type_dim(type, i);
    if (d.value >= 0 && (v->dims[i].symbol || d.value != v->dims[i].n))
      fail(t, "inferred another dim of", name);
    if (d.value < 0 && d.param && d.param[0] && strchr("NMB", d.param[0]) && !d.param[1] &&
        strcmp(d.param, symbols[v->dims[i].symbol]) != 0)
      fail(t, "inferred another symbol of", name);
    int64_t n;
    if (surg_dim_eval(&d, size_of, made, &n)) continue;
    t->dims++;
    if (n != v->dims[i].n) fail(t, "inferred another expression of", name);
  }
}

/* --- the same model with numbers for its symbols --- */

/* Whether the node of a value got no type from the numbers: then no run has them. */
static bool fails(const surg_value *symbolic, const surg_value *v) {
  return surg_value_type(symbolic) && !surg_value_type(v);
}

static bool bind(surg_model *m, surg_value *input) {
  const surg_type *type = surg_value_declared_type(input);
  surg_dim dims[GEN_RANK];
  const size_t rank = surg_type_rank(type);
  for (size_t i = 0; i < rank; i++) {
    dims[i] = *surg_type_dim(type, i);
    if (dims[i].param && !size_of(others, dims[i].param, NULL, 0, &dims[i].value)) return false;
    dims[i].param = NULL;
  }
  type = surg_type_tensor(m, surg_type_dtype(type), dims, rank);
  return type && surg_value_set_declared_type(input, type) == SURG_OK;
}

static void compare_bound(test *t, const surg_value *symbolic, const surg_value *v) {
  const surg_type *a = surg_value_type(symbolic), *b = surg_value_type(v);
  int64_t x;
  if (!a || !b || !surg_type_has_rank(a) || !surg_type_has_rank(b)) return;
  if (surg_type_rank(a) != surg_type_rank(b)) {
    fail(t, "has another rank with numbers:", surg_value_name(v));
    return;
  }
  for (size_t i = 0; i < surg_type_rank(a); i++) {
    const surg_dim n = *surg_type_dim(b, i);
    if (n.value < 0 || surg_dim_eval(surg_type_dim(a, i), size_of, others, &x)) continue;
    t->rebound++;
    if (x != n.value) fail(t, "has another dim with numbers:", surg_value_name(v));
  }
}

/* Inference with numbers from the start agrees with numbers put into expressions. */
static void rebind(test *t) {
  surg_model *m = surg_model_clone(t->model);
  surg_graph *from = surg_model_graph(t->model), *to = surg_model_graph(m);
  bool ok = m != NULL;
  for (size_t i = 0; i < surg_graph_input_count(to) && ok; i++)
    ok = bind(m, surg_graph_input(to, i));
  if (!ok || surg_model_infer(m) != SURG_OK) {
    fail(t, "cannot be inferred with numbers", NULL);
    surg_model_free(m);
    return;
  }
  bool possible = true;
  surg_value *a = NULL, *b = NULL;
  while ((a = surg_graph_next_value(from, a)) && (b = surg_graph_next_value(to, b)))
    possible = possible && !fails(a, b);
  for (a = b = NULL; possible && (a = surg_graph_next_value(from, a)) &&
                     (b = surg_graph_next_value(to, b));)
    compare_bound(t, a, b);
  surg_model_free(m);
}

/* --- saving, loading, text --- */

static bool same_bytes(surg_context *ctx, surg_model *a, surg_model *b) {
  void *pa = NULL, *pb = NULL;
  size_t na = 0, nb = 0;
  bool same = surg_model_save_memory(a, &pa, &na) == SURG_OK &&
              surg_model_save_memory(b, &pb, &nb) == SURG_OK && na == nb && memcmp(pa, pb, na) == 0;
  surg_context_free_bytes(ctx, pa);
  surg_context_free_bytes(ctx, pb);
  return same;
}

static bool same_text(surg_context *ctx, const char *text, size_t n, surg_model *m) {
  char *again = NULL;
  size_t size = 0;
  bool same = surg_model_save_text(m, false, &again, &size) == SURG_OK && size == n &&
              memcmp(again, text, n) == 0;
  surg_context_free_bytes(ctx, again);
  return same;
}

static void through_file(test *t, surg_context *ctx) {
  void *bytes = NULL;
  size_t n = 0;
  surg_model *back = NULL;
  if (surg_model_save_memory(t->model, &bytes, &n) != SURG_OK) {
    fail(t, "cannot be saved", NULL);
    return;
  }
  if (surg_model_load_memory(ctx, bytes, n, "saved", NULL, &back) != SURG_OK)
    fail(t, "does not load", NULL);
  else if (surg_model_verify(back) != SURG_OK)
    fail(t, "does not hold once loaded", NULL);
  else if (!same_bytes(ctx, t->model, back))
    fail(t, "is not saved as it was loaded", NULL);
  surg_model_free(back);
  surg_context_free_bytes(ctx, bytes);
}

static void through_text(test *t, surg_context *ctx) {
  char *text = NULL;
  size_t n = 0;
  surg_model *back = NULL;
  if (surg_model_save_text(t->model, false, &text, &n) != SURG_OK) {
    fail(t, "does not print", NULL);
    return;
  }
  if (surg_model_load_text(ctx, text, n, "text", &back) != SURG_OK)
    fail(t, "is not read as text", NULL);
  else if (!same_text(ctx, text, n, back))
    fail(t, "prints otherwise once read as text", NULL);
  surg_model_free(back);
  surg_context_free_bytes(ctx, text);
}

/* --- coverage --- */

static void count_operators(surg_model *m, unsigned *counts) {
  for (surg_graph *g = surg_model_next_graph(m, NULL); g; g = surg_model_next_graph(m, g))
    for (surg_node *n = surg_graph_first_node(g); n; n = surg_node_next(n))
      for (size_t i = 0; gen_operator(i); i++)
        if (strcmp(surg_node_op_type(n), gen_operator(i)) == 0) counts[i]++;
}

static void one_seed(test *t, unsigned *counts) {
  surg_config config = {.size = sizeof config, .diag = show};
  surg_context *ctx = surg_context_new(&config);
  known k = {0};
  gen_options options = {.seed = t->seed, .seen = keep, .user = &k};
  t->model = ctx ? gen_model(ctx, &options) : NULL;
  if (!t->model) {
    fail(t, "makes no model", ctx ? surg_context_error(ctx) : NULL);
  } else {
    if (surg_model_verify(t->model) != SURG_OK) fail(t, "does not hold", NULL);
    surg_model *twin = NULL;
    options.seen = NULL;
    twin = gen_model(ctx, &options);
    if (!twin || !same_bytes(ctx, t->model, twin)) fail(t, "is not the same twice", NULL);
    surg_model_free(twin);
    through_file(t, ctx);
    through_text(t, ctx);
    count_operators(t->model, counts);
    if (surg_model_infer(t->model) != SURG_OK) fail(t, "cannot be inferred", NULL);
    for (size_t i = 0; i < k.count; i++) compare_type(t, &k.items[i]);
    rebind(t);
  }
  free(k.items);
  surg_model_free(t->model);
  surg_context_free(ctx);
}

int main(int argc, char **argv) {
  uint64_t from = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
  uint64_t seeds = argc > 2 ? strtoull(argv[2], NULL, 10) : 300;
  unsigned counts[200] = {0}, covered = 0, all = 0;
  test t = {0};
  for (t.seed = from; t.seed < from + seeds; t.seed++) one_seed(&t, counts);
  for (size_t i = 0; gen_operator(i); i++) {
    all++;
    covered += counts[i] != 0;
    if (!counts[i]) printf("not made: %s\n", gen_operator(i));
  }
  printf("%llu models, %u of %u operator entries, %u types, %u shapes, %u dims and %u other ones "
         "compared, %u failures\n",
         (unsigned long long)seeds, covered, all, t.types, t.shapes, t.dims, t.rebound, t.failures);
  if (seeds >= 300 && covered < all) return 1; /* the generator is to make all it knows */
  return t.failures != 0;
}
