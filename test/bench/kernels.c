/* SPDX-License-Identifier: Apache-2.0 */
/* How fast kernels are, beside memcpy of as many bytes and beside OpenBLAS (where it is found, or
 * ONNXSURG_OPENBLAS names it) with one thread and with two. Best of some rounds; prints and never
 * judges.
 *   kernels [MEBIBYTES] */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/base.h"
#include "base/dtype.h"
#include "bench.h"

#define ROUNDS 4

/* Bytes read and written against memcpy of `bytes` (which reads and writes as many). */
static void line(const char *name, surg_node *n, const surg__array *in, uint32_t n_in,
                 double bytes, double copy) {
  const char *why;
  double t = bench_compute(n, in, n_in, ROUNDS, &why);
  if (t < 0)
    printf("  (%s)\n", why);
  else printf("%-34s %8.1f ms %7.2f x memcpy\n", name, t * 1e3, bytes / t / copy);
}

static double copy_speed(size_t bytes) {
  double warm, fresh;
  bench_copy(bytes, ROUNDS, &warm, &fresh);
  printf("%-34s %8.2f GB/s\n%-34s %8.2f GB/s\n", "memcpy", warm / 1e9, "memcpy into fresh memory",
         fresh / 1e9);
  return fresh;
}

typedef void (*sgemm_fn)(int, int, int, int, int, int, float, const float *, int, const float *,
                         int, float, float *, int);

typedef struct blas {
  sgemm_fn run;
  void (*threads)(int); /* NULL: it has no such function */
} blas;

static blas find_blas(void) {
  const char *named = getenv("ONNXSURG_OPENBLAS");
  setenv("OPENBLAS_NUM_THREADS", "2", 1);
#if defined(__x86_64__)
  /* One older than the processor takes it for the oldest there is. */
  if (__builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq"))
    setenv("OPENBLAS_CORETYPE", "SkylakeX", 0);
#endif
  void *lib = dlopen(named ? named : "libopenblas.so.0", RTLD_NOW);
  if (!lib) {
    printf(
        "no OpenBLAS here (libopenblas.so.0, or ONNXSURG_OPENBLAS=FILE): products stand alone\n");
    return (blas){0};
  }
  char *(*core)(void) = (char *(*)(void))(uintptr_t)dlsym(lib, "openblas_get_corename");
  if (core) printf("OpenBLAS for %s\n", core());
  return (blas){(sgemm_fn)(uintptr_t)dlsym(lib, "cblas_sgemm"),
                (void (*)(int))(uintptr_t)dlsym(lib, "openblas_set_num_threads")};
}

/* Seconds on the clock of the wall, for threads: the best of some rounds. */
static double blas_time(const blas *b, int threads, const int *size, const surg__array *in,
                        float *c) {
  const int m = size[0], n = size[1], d = size[2];
  double best = -1;
  if (b->threads) b->threads(threads);
  for (int r = 0; r < 2 * ROUNDS; ++r) {
    const double start = bench_wall();
    b->run(101, 111, 111, m, n, d, 1, in[0].data, d, in[1].data, n, 0, c, n);
    const double took = bench_wall() - start;
    if (best < 0 || took < best) best = took;
  }
  return best;
}

static void products(void) {
  static const int sizes[][3] = {{1024, 1024, 1024}, {1, 4096, 4096}, {4096, 1, 4096},
                                 {64, 3136, 576}, {100, 100, 100}};
  const blas other = find_blas();
  for (size_t i = 0; i < SURG_COUNT(sizes); ++i) {
    const int m = sizes[i][0], n = sizes[i][1], d = sizes[i][2];
    const int64_t da[] = {m, d}, db[] = {d, n};
    const surg__array in[2] = {bench_filled(SURG_FLOAT, da, 2), bench_filled(SURG_FLOAT, db, 2)};
    const char *why;
    const double t = bench_compute(bench_node("MatMul", 2), in, 2, ROUNDS, &why);
    printf("MatMul %dx%dx%d %8.2f ms %7.1f GFLOP/s", m, n, d, t * 1e3, 2.0 * m * n * d / t / 1e9);
    float *c = bench_room((size_t)m * (size_t)n * sizeof *c);
    for (int threads = 1; other.run && threads <= (other.threads ? 2 : 1); ++threads) {
      const double took = blas_time(&other, threads, sizes[i], in, c);
      printf("  OpenBLAS x%d %.2f ms: %.2f times its time", threads, took * 1e3, t / took);
    }
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
  surg__array x[2] = {bench_filled(SURG_FLOAT, flat, 1), bench_filled(SURG_FLOAT, flat, 1)};
  for (size_t i = 0; i < SURG_COUNT(unary); ++i)
    line(unary[i], bench_node(unary[i], 1), x, 1, bytes, copy);
  static const char *const binary[] = {"Add", "Mul", "Div", "Max"};
  for (size_t i = 0; i < SURG_COUNT(binary); ++i) {
    line(binary[i], bench_node(binary[i], 2), x, 2, bytes * 1.5, copy);
  }
  surg__array one = bench_filled(SURG_FLOAT, (const int64_t[]){1}, 1), scaled[2] = {x[0], one};
  line("Mul by one number", bench_node("Mul", 2), scaled, 2, bytes, copy);
  surg__array rows[2] = {x[0], bench_filled(SURG_FLOAT, (const int64_t[]){4096}, 1)};
  rows[0].rank = 2;
  rows[0].dims = square;
  line("Add a row to all rows", bench_node("Add", 2), rows, 2, bytes, copy);
  surg__array column[2] = {rows[0], bench_filled(SURG_FLOAT, (const int64_t[]){n / 4096, 1}, 2)};
  line("Mul rows by a column", bench_node("Mul", 2), column, 2, bytes, copy);
  line("Transpose", bench_node("Transpose", 1), rows, 1, bytes, copy);
  free(x[1].data);
  free(one.data);
  free(rows[1].data);
  free(column[1].data);
  static const char *const reduce[] = {"ReduceSum", "ReduceMax", "ReduceMean"};
  for (size_t i = 0; i < SURG_COUNT(reduce); ++i) {
    char name[64];
    for (int64_t axis = 0; axis < 2; ++axis) {
      surg_node *r = bench_node(reduce[i], 1);
      snprintf(name, sizeof name, "%s over axis %d", reduce[i], (int)axis);
      if (i == 0) {
        surg__array in[2] = {rows[0], {.dtype = SURG_INT64, .rank = 1, .count = 1, .data = &axis}};
        in[1].dims = (const int64_t[]){1};
        line(name, bench_node(reduce[i], 2), in, 2, bytes, copy);
      } else {
        surg_node_set_ints(r, "axes", &axis, 1);
        line(name, r, rows, 1, bytes, copy);
      }
    }
  }
  line("ReduceSum over all", bench_node("ReduceSum", 1), rows, 1, bytes, copy);
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
    surg__array in = casts[i].from == SURG_FLOAT ? x[0] : bench_filled(casts[i].from, flat, 1);
    surg_node *c = bench_node("Cast", 1);
    surg_node_set_int(c, "to", casts[i].to);
    double each = (double)(surg__dtype_unpacked(casts[i].from) + surg__dtype_unpacked(casts[i].to));
    line(casts[i].name, c, &in, 1, (double)count * each / 2, copy);
    if (casts[i].from != SURG_FLOAT) free(in.data);
  }
  free(x[0].data);
}

int main(int argc, char **argv) {
  uint64_t mib = argc > 1 ? strtoull(argv[1], NULL, 10) : 64;
  if (mib == 0 || !bench_start()) return 1;
  products();
  double copy = copy_speed(mib << 20);
  elementwise(mib << 18, copy);
  bench_end();
  return 0;
}
