/* SPDX-License-Identifier: Apache-2.0 */
/* model MODEL [ROUNDS]: runs a model in the built-in interpreter on inputs made up, and prints the
 * milliseconds of processor time of the best round, peak memory of the context, and the operators
 * the time went into. An open dimension is 1. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/dtype.h"
#include "eval/core/interpret.h"

#define MAX_OPS 400

typedef struct tally {
  const surg_node *last;
  double at, seconds[MAX_OPS];
  const char *name[MAX_OPS];
} tally;

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* The time since the last value belongs to the node that made this one. */
static surg_status watch(void *user, const surg_node *n, size_t output, const surg__array *a) {
  tally *t = user;
  double at = now();
  int op = surg_node_op(n);
  (void)output, (void)a;
  if (op >= 0 && op < MAX_OPS) {
    t->seconds[op] += at - t->at;
    t->name[op] = surg_node_op_type(n);
  }
  t->at = at;
  return SURG_OK;
}

static surg__array made_up(surg__arena *arena, const surg_type *type) {
  surg__array a = {.dtype = surg_type_dtype(type), .count = 1};
  a.rank = (uint32_t)(surg_type_has_rank(type) ? surg_type_rank(type) : 0);
  int64_t *dims = surg__arena_array(arena, a.rank + 1, sizeof *dims);
  if (!dims) abort();
  for (uint32_t d = 0; d < a.rank; d++) {
    surg_dim dim = *surg_type_dim(type, d);
    dims[d] = dim.value >= 0 && !dim.param && !dim.expr ? dim.value : 1;
    a.count *= (uint64_t)dims[d];
  }
  a.dims = dims;
  size_t size = surg__dtype_unpacked(a.dtype);
  a.data = surg__arena_alloc(arena, (size_t)a.count * size + 1);
  if (!a.data) abort();
  memset(a.data, 0, (size_t)a.count * size);
  uint32_t s = 1;
  for (uint64_t i = 0; a.dtype == SURG_FLOAT && i < a.count; i++) {
    s = s * 1664525u + 1013904223u;
    ((float *)a.data)[i] = (float)(s >> 8) / (float)(1 << 24) - 0.5f;
  }
  return a;
}

static int run(surg_context *ctx, surg_model *m, int rounds) {
  surg_graph *g = surg_model_graph(m);
  size_t n_in = surg_graph_input_count(g), n_out = surg_graph_output_count(g);
  surg__arena arena;
  surg__arena_init(&arena, ctx);
  surg__array *in = calloc(n_in + 1, sizeof *in), *out = calloc(n_out + 1, sizeof *out);
  if (!in || !out) abort();
  for (size_t i = 0; i < n_in; i++) {
    surg_value *v = surg_graph_input(g, i);
    if (surg_value_is_initializer(v)) continue;
    in[i] = made_up(&arena, surg_value_declared_type(v));
  }
  static tally t;
  double best = -1;
  for (int r = 0; r < rounds; r++) {
    surg__session s = {.max_bytes = UINT64_MAX, .max_work = UINT64_MAX, .watch = watch, .user = &t};
    memset(&t, 0, sizeof t);
    double start = t.at = now();
    surg_status status = surg__session_run(&s, m, in, out);
    double took = now() - start;
    for (size_t i = 0; i < n_out && status == SURG_OK; i++) surg__array_drop(&out[i]);
    if (status != SURG_OK) {
      printf("not run: %s %s\n", s.at ? surg_node_op_type(s.at) : "", s.why ? s.why : "");
      break;
    }
    if (best < 0 || took < best) best = took;
  }
  uint64_t peak = 0;
  surg_context_memory(ctx, &peak);
  if (best >= 0) printf("%.2f ms %.0f MiB", best * 1e3, (double)peak / (1 << 20));
  for (int i = 0; i < MAX_OPS && best >= 0; i++) {
    if (t.seconds[i] > 0.03 * best) printf("  %s %.1f", t.name[i], t.seconds[i] * 1e3);
  }
  if (best >= 0) printf("\n");
  surg__arena_free(&arena);
  free(in);
  free(out);
  return best < 0;
}

int main(int argc, char **argv) {
  surg_config config = {.size = sizeof config, .max_memory = 16ull << 30};
  surg_context *ctx = surg_context_new(&config);
  surg_model *m = NULL;
  if (argc < 2 || !ctx || surg_model_load(ctx, argv[1], NULL, &m) != SURG_OK) return 1;
  int status = run(ctx, m, argc > 2 ? atoi(argv[2]) : 3);
  surg_model_free(m);
  surg_context_free(ctx);
  return status;
}
