/* SPDX-License-Identifier: Apache-2.0 */
/* How fast kernels are, beside memcpy of as many bytes and beside OpenBLAS (where it is found, or
 * ONNXSURG_OPENBLAS names it). Processor time of the best of some rounds; prints and never judges.
 *   kernels [MEBIBYTES] */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/base.h"
#include "base/dtype.h"
#include "base/os.h"
#include "eval/value.h"

#define ROUNDS 4

static surg_context *ctx;
static surg_model *model;

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* As the library gets memory. */
static void *room(size_t n) {
  void *p = malloc(n);
  if (!p) abort();
  surg__os_large_pages(p, n);
  return p;
}

/* Small numbers of every type, none of them special. */
static surg__array filled(int dtype, const int64_t *dims, uint32_t rank) {
  surg__array a = {.dtype = dtype, .rank = rank, .dims = dims, .count = 1};
  for (uint32_t d = 0; d < rank; ++d) a.count *= (uint64_t)dims[d];
  size_t size = surg__dtype_unpacked(dtype);
  a.data = room((size_t)a.count * size);
  uint32_t s = 12345;
  for (uint64_t i = 0; i < a.count; ++i) {
    s = s * 1664525u + 1013904223u;
    float f = (float)(s >> 8) / (float)(1 << 24) - 0.5f;
    uint16_t h = surg__float_to_half(f);
    double d = f;
    switch (dtype) {
      case SURG_FLOAT:
        ((float *)a.data)[i] = f;
        break;
      case SURG_DOUBLE:
        ((double *)a.data)[i] = d;
        break;
      case SURG_FLOAT16:
        ((uint16_t *)a.data)[i] = h;
        break;
      default:
        memset((char *)a.data + i * size, (int)(s >> 24) & 63, size);
    }
  }
  return a;
}

/* Seconds of one node; negative when it is not computed. */
static double compute(surg_node *n, const surg__array *in, uint32_t n_in) {
  double best = -1;
  surg__array given[8] = {{0}}, out[4] = {{0}};
  for (uint32_t i = 0; i < n_in; ++i) given[i] = in[i];
  for (int r = 0; r < ROUNDS; ++r) {
    surg__arena arena;
    surg__arena_init(&arena, ctx);
    surg_kctx k = {.arena = &arena, .max_bytes = UINT64_MAX, .max_work = UINT64_MAX,
                   .running = true};
    double start = now();
    surg_status s = surg__node_compute(n, &k, given, out);
    double took = now() - start;
    for (size_t i = 0; i < SURG_COUNT(out); ++i) surg__array_drop(&out[i]);
    surg__arena_free(&arena);
    if (s != SURG_OK) {
      printf("  (%s)\n", k.why ? k.why : surg_status_name(s));
      return -1;
    }
    if (best < 0 || took < best) best = took;
  }
  return best;
}

static surg_node *node(const char *op, uint32_t n_in) {
  surg_graph *g = surg_model_graph(model);
  surg_node *n = surg_graph_add_node(g, NULL, "", op, 1);
  if (!n) abort();
  float zero = 0;
  surg_tensor *t = surg_tensor_new(model, SURG_FLOAT, NULL, 0, &zero, sizeof zero);
  surg_value *v = surg_graph_constant(g, n, NULL, t);
  for (uint32_t i = 0; i < n_in; ++i) surg_node_set_input(n, i, v);
  return n;
}

/* Bytes read and written against memcpy of `bytes` (which reads and writes as many). */
static void line(const char *name, surg_node *n, const surg__array *in, uint32_t n_in,
                 double bytes, double copy) {
  double t = compute(n, in, n_in);
  if (t > 0) printf("%-34s %8.1f ms %7.2f x memcpy\n", name, t * 1e3, bytes / t / copy);
}

/* Into memory that is there, and into memory the system has to hand out first, as kernels get. */
static double copy_speed(size_t bytes) {
  char *a = room(bytes), *b = room(bytes);
  double best[2] = {-1, -1};
  memset(a, 1, bytes);
  memset(b, 1, bytes);
  for (int r = 0; r < 2 * ROUNDS; ++r) {
    const int fresh = r % 2;
    char *to = fresh ? room(bytes) : b;
    double start = now();
    memcpy(to, a, bytes);
    double took = now() - start;
    if (fresh) free(to);
    if (best[fresh] < 0 || took < best[fresh]) best[fresh] = took;
  }
  free(a);
  free(b);
  for (int i = 0; i < 2; ++i)
    printf("%-34s %8.1f ms %7.2f GB/s\n", i ? "memcpy into fresh memory" : "memcpy", best[i] * 1e3,
           (double)bytes / best[i] / 1e9);
  return (double)bytes / best[1];
}

typedef void (*sgemm_fn)(int, int, int, int, int, int, float, const float *, int, const float *,
                         int, float, float *, int);

static sgemm_fn blas(void) {
  const char *named = getenv("ONNXSURG_OPENBLAS");
  setenv("OPENBLAS_NUM_THREADS", "1", 1);
  void *lib = dlopen(named ? named : "libopenblas.so.0", RTLD_NOW);
  return lib ? (sgemm_fn)(uintptr_t)dlsym(lib, "cblas_sgemm") : NULL;
}

static void products(void) {
  static const int64_t sizes[][3] = {{1024, 1024, 1024}, {1, 4096, 4096}, {4096, 1, 4096},
                                     {64, 3136, 576}, {100, 100, 100}};
  sgemm_fn other = blas();
  for (size_t i = 0; i < SURG_COUNT(sizes); ++i) {
    int m = (int)sizes[i][0], n = (int)sizes[i][1], d = (int)sizes[i][2];
    int64_t da[] = {m, d}, db[] = {d, n};
    surg__array in[2] = {filled(SURG_FLOAT, da, 2), filled(SURG_FLOAT, db, 2)};
    double t = compute(node("MatMul", 2), in, 2), ops = 2.0 * m * n * d;
    printf("MatMul %dx%dx%d %8.2f ms %7.1f GFLOP/s", m, n, d, t * 1e3, ops / t / 1e9);
    double best = -1;
    float *c = room((size_t)m * (size_t)n * sizeof *c);
    for (int r = 0; other && r < ROUNDS; ++r) {
      double start = now();
      other(101, 111, 111, m, n, d, 1, in[0].data, d, in[1].data, n, 0, c, n);
      double took = now() - start;
      if (best < 0 || took < best) best = took;
    }
    if (other) printf("  OpenBLAS %.2f ms: %.2f times its time", best * 1e3, t / best);
    printf("\n");
    free(c);
    free(in[0].data);
    free(in[1].data);
  }
}

static void elementwise(uint64_t count, double copy) {
  int64_t n = (int64_t)count, flat[] = {n}, square[] = {n / 4096, 4096};
  static const char *const unary[] = {"Relu", "Neg", "Sqrt", "Floor", "Reciprocal", "Sigmoid"};
  double bytes = (double)count * 4;
  surg__array x[2] = {filled(SURG_FLOAT, flat, 1), filled(SURG_FLOAT, flat, 1)};
  for (size_t i = 0; i < SURG_COUNT(unary); ++i) line(unary[i], node(unary[i], 1), x, 1, bytes, copy);
  static const char *const binary[] = {"Add", "Mul", "Div", "Max"};
  for (size_t i = 0; i < SURG_COUNT(binary); ++i) {
    line(binary[i], node(binary[i], 2), x, 2, bytes * 1.5, copy);
  }
  surg__array one = filled(SURG_FLOAT, (const int64_t[]){1}, 1), scaled[2] = {x[0], one};
  line("Mul by one number", node("Mul", 2), scaled, 2, bytes, copy);
  surg__array rows[2] = {x[0], filled(SURG_FLOAT, (const int64_t[]){4096}, 1)};
  rows[0].rank = 2;
  rows[0].dims = square;
  line("Add a row to all rows", node("Add", 2), rows, 2, bytes, copy);
  surg__array column[2] = {rows[0], filled(SURG_FLOAT, (const int64_t[]){n / 4096, 1}, 2)};
  line("Mul rows by a column", node("Mul", 2), column, 2, bytes, copy);
  line("Transpose", node("Transpose", 1), rows, 1, bytes, copy);
  free(x[1].data);
  free(one.data);
  free(rows[1].data);
  free(column[1].data);
  static const char *const reduce[] = {"ReduceSum", "ReduceMax", "ReduceMean"};
  for (size_t i = 0; i < SURG_COUNT(reduce); ++i) {
    char name[64];
    for (int64_t axis = 0; axis < 2; ++axis) {
      surg_node *r = node(reduce[i], 1);
      snprintf(name, sizeof name, "%s over axis %d", reduce[i], (int)axis);
      if (i == 0) {
        surg__array in[2] = {rows[0], {.dtype = SURG_INT64, .rank = 1, .count = 1, .data = &axis}};
        in[1].dims = (const int64_t[]){1};
        line(name, node(reduce[i], 2), in, 2, bytes, copy);
      } else {
        surg_node_set_ints(r, "axes", &axis, 1);
        line(name, r, rows, 1, bytes, copy);
      }
    }
  }
  line("ReduceSum over all", node("ReduceSum", 1), rows, 1, bytes, copy);
  static const struct {
    const char *name;
    int from, to;
  } casts[] = {{"Cast float to float16", SURG_FLOAT, SURG_FLOAT16},
               {"Cast float16 to float", SURG_FLOAT16, SURG_FLOAT},
               {"Cast float to bfloat16", SURG_FLOAT, SURG_BFLOAT16},
               {"Cast float to double", SURG_FLOAT, SURG_DOUBLE},
               {"Cast double to float", SURG_DOUBLE, SURG_FLOAT},
               {"Cast float to int32", SURG_FLOAT, SURG_INT32},
               {"Cast int8 to float", SURG_INT8, SURG_FLOAT},
               {"Cast int64 to float", SURG_INT64, SURG_FLOAT}};
  for (size_t i = 0; i < SURG_COUNT(casts); ++i) {
    surg__array in = casts[i].from == SURG_FLOAT ? x[0] : filled(casts[i].from, flat, 1);
    surg_node *c = node("Cast", 1);
    surg_node_set_int(c, "to", casts[i].to);
    double each = (double)(surg__dtype_unpacked(casts[i].from) + surg__dtype_unpacked(casts[i].to));
    line(casts[i].name, c, &in, 1, (double)count * each / 2, copy);
    if (casts[i].from != SURG_FLOAT) free(in.data);
  }
  free(x[0].data);
}

int main(int argc, char **argv) {
  uint64_t mib = argc > 1 ? strtoull(argv[1], NULL, 10) : 64;
  surg_config config = {.size = sizeof config, .max_memory = 16ull << 30};
  ctx = surg_context_new(&config);
  model = ctx ? surg_model_new(ctx, 10, 17) : NULL;
  if (!model || mib == 0) return 1;
  products();
  double copy = copy_speed(mib << 20);
  elementwise(mib << 18, copy);
  surg_model_free(model);
  surg_context_free(ctx);
  return 0;
}
