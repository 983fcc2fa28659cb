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
  unsigned failures, types, shapes;
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
    surg_dim d = surg_type_dim(type, i);
    if (d.value >= 0 && (v->dims[i].symbol || d.value != v->dims[i].n))
      fail(t, "inferred another dim of", name);
    if (d.value < 0 && d.param && d.param[0] && strchr("NMB", d.param[0]) && !d.param[1] &&
        strcmp(d.param, symbols[v->dims[i].symbol]) != 0)
      fail(t, "inferred another symbol of", name);
  }
}

/* --- saving, loading, text --- */

static bool same_bytes(surg_context *ctx, surg_model *a, surg_model *b) {
  void *pa = NULL, *pb = NULL;
  size_t na = 0, nb = 0;
  bool same = surg_save_memory(a, &pa, &na) == SURG_OK &&
              surg_save_memory(b, &pb, &nb) == SURG_OK && na == nb && memcmp(pa, pb, na) == 0;
  surg_bytes_free(ctx, pa);
  surg_bytes_free(ctx, pb);
  return same;
}

static bool same_text(surg_context *ctx, const char *text, size_t n, surg_model *m) {
  char *again = NULL;
  size_t size = 0;
  bool same = surg_save_text(m, false, &again, &size) == SURG_OK && size == n &&
              memcmp(again, text, n) == 0;
  surg_bytes_free(ctx, again);
  return same;
}

static void through_file(test *t, surg_context *ctx) {
  void *bytes = NULL;
  size_t n = 0;
  surg_model *back = NULL;
  if (surg_save_memory(t->model, &bytes, &n) != SURG_OK) {
    fail(t, "cannot be saved", NULL);
    return;
  }
  if (surg_load_memory(ctx, bytes, n, "saved", NULL, &back) != SURG_OK)
    fail(t, "does not load", NULL);
  else if (surg_model_verify(back) != SURG_OK)
    fail(t, "does not hold once loaded", NULL);
  else if (!same_bytes(ctx, t->model, back))
    fail(t, "is not saved as it was loaded", NULL);
  surg_model_free(back);
  surg_bytes_free(ctx, bytes);
}

static void through_text(test *t, surg_context *ctx) {
  char *text = NULL;
  size_t n = 0;
  surg_model *back = NULL;
  if (surg_save_text(t->model, false, &text, &n) != SURG_OK) {
    fail(t, "does not print", NULL);
    return;
  }
  if (surg_load_text(ctx, text, n, "text", &back) != SURG_OK)
    fail(t, "is not read as text", NULL);
  else if (!same_text(ctx, text, n, back))
    fail(t, "prints otherwise once read as text", NULL);
  surg_model_free(back);
  surg_bytes_free(ctx, text);
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
  printf("%llu models, %u of %u operator entries, %u types and %u shapes compared, %u failures\n",
         (unsigned long long)seeds, covered, all, t.types, t.shapes, t.failures);
  if (seeds >= 300 && covered < all) return 1; /* the generator is to make all it knows */
  return t.failures != 0;
}
