/* SPDX-License-Identifier: Apache-2.0 */
#include "bench.h"

#include <stdlib.h>
#include <time.h>

#include "base/dtype.h"
#include "base/os/os.h"

#define ENOUGH 0.3 /* seconds; what took longer in all is not repeated again */

static surg_context *ctx;
static surg_model *model;

bool bench_start(void) {
  surg_config config = {.size = sizeof config, .max_memory = 16ull << 30};
  ctx = surg_context_new(&config);
  model = ctx ? surg_model_new(ctx, 10, 20) : NULL;
  return model != NULL;
}

void bench_end(void) {
  surg_model_free(model);
  surg_context_free(ctx);
}

double bench_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

double bench_wall(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

void *bench_room(size_t n) {
  void *p = malloc(n);
  if (!p) abort();
  surg__os_large_pages(p, n);
  return p;
}

static void put(int dtype, void *data, uint64_t i, size_t size, uint32_t s) {
  const float f = (float)(s >> 8) / (float)(1 << 24) - 0.5f;
  const double d = (double)f;
  const uint16_t h = surg__float_to_half(f), b = surg__float_to_bf16(f);
  const void *from = &f;
  uint8_t whole[8] = {0};
  switch (dtype) {
    case SURG_FLOAT:
      break;
    case SURG_DOUBLE:
      from = &d;
      break;
    case SURG_FLOAT16:
      from = &h;
      break;
    case SURG_BFLOAT16:
      from = &b;
      break;
    case SURG_BOOL:
      whole[0] = s >> 31;
      from = whole;
      break;
    default:
      whole[0] = (uint8_t)((s >> 24 & 63) + 1);
      from = whole;
  }
  memcpy((char *)data + i * size, from, size);
}

surg__array bench_filled(int dtype, const int64_t *dims, uint32_t rank) {
  surg__array a = {.dtype = dtype, .rank = rank, .dims = dims, .count = 1};
  for (uint32_t d = 0; d < rank; ++d) a.count *= (uint64_t)dims[d];
  const size_t size = surg__dtype_unpacked(dtype);
  a.data = bench_room((size_t)a.count * size);
  uint32_t s = 12345;
  for (uint64_t i = 0; i < a.count; ++i) {
    s = s * 1664525u + 1013904223u;
    put(dtype, a.data, i, size, s);
  }
  return a;
}

double bench_compute(surg_node *n, const surg__array *in, uint32_t n_in, int rounds,
                     const char **why) {
  double best = -1, spent = 0;
  surg__array given[16] = {{0}}, out[8] = {{0}};
  for (uint32_t i = 0; i < n_in; ++i) given[i] = in[i];
  for (int r = 0; r < rounds && (r < 2 || spent < ENOUGH); ++r) {
    surg__arena arena;
    surg__arena_init(&arena, ctx);
    surg_kctx k = {.arena = &arena, .max_bytes = UINT64_MAX, .max_work = UINT64_MAX,
                   .running = true};
    const double start = bench_now();
    const surg_status s = surg__node_compute(n, &k, given, out);
    const double took = bench_now() - start;
    for (size_t i = 0; i < SURG_COUNT(out); ++i) surg__array_drop(&out[i]);
    surg__arena_free(&arena);
    *why = k.why ? k.why : surg_status_name(s);
    if (s != SURG_OK) return -1;
    if (best < 0 || took < best) best = took;
    spent += took;
  }
  return best;
}

surg_node *bench_node(const char *op, uint32_t n_in) {
  surg_graph *g = surg_model_graph(model);
  surg_node *n = surg_graph_add_node(g, NULL, "", op, 1);
  if (!n) abort();
  float zero = 0;
  surg_tensor *t = surg_tensor_new(model, SURG_FLOAT, NULL, 0, &zero, sizeof zero);
  surg_value *v = surg_graph_constant(g, n, NULL, t);
  for (uint32_t i = 0; i < n_in; ++i) surg_node_set_input(n, i, v);
  return n;
}

void bench_copy(size_t bytes, int rounds, double *warm, double *fresh) {
  char *a = bench_room(bytes), *b = bench_room(bytes);
  double best[2] = {-1, -1};
  memset(a, 1, bytes);
  memset(b, 1, bytes);
  for (int r = 0; r < 2 * rounds; ++r) {
    const int is_fresh = r % 2;
    char *to = is_fresh ? bench_room(bytes) : b;
    const double start = bench_now();
    memcpy(to, a, bytes);
    const double took = bench_now() - start;
    if (is_fresh) free(to);
    if (best[is_fresh] < 0 || took < best[is_fresh]) best[is_fresh] = took;
  }
  free(a);
  free(b);
  *warm = (double)bytes / best[0];
  *fresh = (double)bytes / best[1];
}
