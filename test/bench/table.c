/* SPDX-License-Identifier: Apache-2.0 */
/* Every elementwise operator, cast, transposition and reduction on every element type, beside memcpy
 * of as many bytes into fresh memory: how many times as fast as memcpy, one line an operator, one
 * column a type ("-": not for that type; "*" behind what is under half). Prints and never judges.
 *   table [MEBIBYTES [WORD]]   WORD: operators whose name holds it */
#include <stdio.h>
#include <stdlib.h>

#include "base/base.h"
#include "base/dtype.h"
#include "bench.h"

#define ROUNDS 2
#define SLOW 0.5

static const int types[] = {SURG_FLOAT, SURG_DOUBLE, SURG_FLOAT16, SURG_BFLOAT16, SURG_INT8,
                            SURG_UINT8, SURG_INT16, SURG_UINT16, SURG_INT32, SURG_UINT32,
                            SURG_INT64, SURG_UINT64, SURG_BOOL};
static const char *const heads[] = {"f32", "f64", "f16", "bf16", "i8", "u8", "i16",
                                    "u16", "i32", "u32", "i64", "u64", "bool"};
#define TYPES SURG_COUNT(types)
#define COLUMNS 4096

typedef struct bench {
  size_t bytes;
  double copy; /* bytes a second */
  const char *word;
  uint64_t shown, slow;
} bench;

static bool asked(const bench *b, const char *name) {
  return !b->word || strstr(name, b->word);
}

/* One entry: `moved` bytes read and written, halved as memcpy's are. */
static void entry(bench *b, surg_node *n, const surg__array *in, uint32_t n_in, double moved) {
  const char *why;
  const double t = bench_compute(n, in, n_in, ROUNDS, &why);
  if (t < 0) {
    printf(" %6s", "-");
    return;
  }
  const double ratio = moved / 2 / t / b->copy;
  ++b->shown;
  b->slow += ratio < SLOW;
  printf(" %5.2f%c", ratio, ratio < SLOW ? '*' : ' ');
  fflush(stdout);
}

static void heading(const char *what) {
  printf("\n%-26s", what);
  for (size_t t = 0; t < TYPES; ++t) printf(" %5s ", heads[t]);
  printf("\n");
}

static surg__array rows_of(const bench *b, int dtype, int64_t *dims) {
  dims[0] = (int64_t)(b->bytes / surg__dtype_unpacked(dtype) / COLUMNS);
  dims[1] = COLUMNS;
  return bench_filled(dtype, dims, 2);
}

/* --- elementwise --- */

static void elementwise(bench *b) {
  static const struct {
    const char *op;
    uint32_t n_in;
    size_t out; /* bytes of an element of the result; 0: as the input's */
  } ops[] = {
      {"Neg", 1, 0}, {"Abs", 1, 0}, {"Sign", 1, 0}, {"Relu", 1, 0}, {"Sqrt", 1, 0},
      {"Floor", 1, 0}, {"Ceil", 1, 0}, {"Round", 1, 0}, {"Reciprocal", 1, 0}, {"Exp", 1, 0},
      {"Log", 1, 0}, {"Sigmoid", 1, 0}, {"Tanh", 1, 0}, {"Erf", 1, 0}, {"Gelu", 1, 0},
      {"HardSwish", 1, 0}, {"HardSigmoid", 1, 0}, {"LeakyRelu", 1, 0}, {"Elu", 1, 0},
      {"Selu", 1, 0}, {"Celu", 1, 0}, {"Softplus", 1, 0}, {"Softsign", 1, 0},
      {"ThresholdedRelu", 1, 0}, {"Mish", 1, 0}, {"Sin", 1, 0}, {"Cos", 1, 0}, {"Tan", 1, 0},
      {"Asin", 1, 0}, {"Atan", 1, 0}, {"Sinh", 1, 0}, {"Cosh", 1, 0}, {"Not", 1, 0},
      {"BitwiseNot", 1, 0}, {"IsNaN", 1, 1}, {"IsInf", 1, 1}, {"Shrink", 1, 0},
      {"Add", 2, 0}, {"Sub", 2, 0}, {"Mul", 2, 0}, {"Div", 2, 0}, {"Min", 2, 0}, {"Max", 2, 0},
      {"Pow", 2, 0}, {"Mod", 2, 0}, {"PRelu", 2, 0}, {"And", 2, 0}, {"BitwiseAnd", 2, 0},
      {"Equal", 2, 1}, {"Less", 2, 1}, {"LessOrEqual", 2, 1}, {"Sum", 3, 0}, {"Mean", 3, 0}};
  heading("elementwise");
  for (size_t i = 0; i < SURG_COUNT(ops); ++i) {
    if (!asked(b, ops[i].op)) continue;
    printf("%-26s", ops[i].op);
    for (size_t t = 0; t < TYPES; ++t) {
      int64_t dims[2];
      const surg__array x = rows_of(b, types[t], dims), in[3] = {x, x, x};
      surg_node *n = bench_node(ops[i].op, ops[i].n_in);
      if (strcmp(ops[i].op, "Mod") == 0) surg_node_set_int(n, "fmod", surg__dtype_is_float(x.dtype));
      const size_t size = surg__dtype_unpacked(types[t]), out = ops[i].out ? ops[i].out : size;
      entry(b, n, in, ops[i].n_in, (double)x.count * (double)(ops[i].n_in * size + out));
      free(x.data);
    }
    printf("\n");
  }
}

/* Clip by inputs, Where, and sums over unlike shapes. */
static void shaped(bench *b) {
  static const char *const names[] = {"Clip", "Where", "Mul by one number", "Add a row to rows",
                                      "Mul rows by a column"};
  heading("elementwise, other shapes");
  for (size_t i = 0; i < SURG_COUNT(names); ++i) {
    if (!asked(b, names[i])) continue;
    printf("%-26s", names[i]);
    for (size_t t = 0; t < TYPES; ++t) {
      int64_t dims[2], one[2] = {1, COLUMNS}, column[2];
      const surg__array x = rows_of(b, types[t], dims);
      column[0] = dims[0];
      column[1] = 1;
      surg__array y = bench_filled(types[t], i == 4 ? column : one, 2);
      surg__array condition = bench_filled(SURG_BOOL, dims, 2);
      const double bytes = 2.0 * (double)b->bytes, count = (double)x.count;
      if (i == 0 || i == 2) y.count = 1, y.rank = 0;
      const surg__array clip[3] = {x, y, y}, where[3] = {condition, x, x}, two[2] = {x, y};
      if (i == 0) entry(b, bench_node("Clip", 3), clip, 3, bytes);
      else if (i == 1) entry(b, bench_node("Where", 3), where, 3, bytes * 1.5 + count);
      else entry(b, bench_node(i == 3 ? "Add" : "Mul", 2), two, 2, bytes);
      free(x.data);
      free(y.data);
      free(condition.data);
    }
    printf("\n");
  }
}

/* --- Transpose --- */

static void transpositions(bench *b) {
  static const struct {
    const char *name;
    uint32_t rank;
    int64_t dims[4], perm[4]; /* dims[0] is as large as fits */
  } all[] = {{"10", 2, {0, 4096}, {1, 0}},
             {"10 odd", 2, {0, 4099}, {1, 0}},
             {"10 narrow", 2, {0, 3}, {1, 0}},
             {"10 low", 2, {0, 1 << 20}, {1, 0}},
             {"021", 3, {0, 512, 512}, {0, 2, 1}},
             {"102", 3, {0, 512, 64}, {1, 0, 2}},
             {"102 short rows", 3, {0, 512, 4}, {1, 0, 2}},
             {"210", 3, {0, 256, 256}, {2, 1, 0}},
             {"201", 3, {0, 256, 256}, {2, 0, 1}},
             {"120", 3, {0, 256, 256}, {1, 2, 0}},
             {"0231", 4, {0, 64, 56, 56}, {0, 2, 3, 1}},
             {"0231 of 3", 4, {0, 3, 224, 224}, {0, 2, 3, 1}},
             {"0312", 4, {0, 56, 56, 64}, {0, 3, 1, 2}},
             {"0312 of 3", 4, {0, 224, 224, 3}, {0, 3, 1, 2}},
             {"0213", 4, {0, 128, 12, 64}, {0, 2, 1, 3}},
             {"0132", 4, {0, 12, 128, 64}, {0, 1, 3, 2}},
             {"0321", 4, {0, 32, 32, 32}, {0, 3, 2, 1}},
             {"2301", 4, {0, 32, 3, 3}, {2, 3, 0, 1}},
             {"3210", 4, {0, 32, 32, 32}, {3, 2, 1, 0}},
             {"1302", 4, {0, 32, 32, 32}, {1, 3, 0, 2}}};
  heading("Transpose");
  for (size_t i = 0; i < SURG_COUNT(all); ++i) {
    char name[40];
    snprintf(name, sizeof name, "Transpose %s", all[i].name);
    if (!asked(b, name)) continue;
    printf("%-26s", name);
    for (size_t t = 0; t < TYPES; ++t) {
      int64_t dims[4], rest = 1;
      for (uint32_t d = 1; d < all[i].rank; ++d) rest *= dims[d] = all[i].dims[d];
      dims[0] = (int64_t)(b->bytes / surg__dtype_unpacked(types[t])) / rest;
      if (dims[0] < 1) dims[0] = 1;
      const surg__array x = bench_filled(types[t], dims, all[i].rank);
      surg_node *n = bench_node("Transpose", 1);
      surg_node_set_ints(n, "perm", all[i].perm, all[i].rank);
      entry(b, n, &x, 1, 2.0 * (double)x.count * (double)surg__dtype_unpacked(types[t]));
      free(x.data);
    }
    printf("\n");
  }
}

/* --- Cast --- */

static void casts(bench *b) {
  heading("Cast from ... to");
  for (size_t f = 0; f < TYPES; ++f) {
    char name[40];
    snprintf(name, sizeof name, "Cast %s", heads[f]);
    if (!asked(b, name)) continue;
    printf("%-26s", name);
    int64_t dims[2];
    const surg__array x = rows_of(b, types[f], dims);
    for (size_t t = 0; t < TYPES; ++t) {
      const size_t each = surg__dtype_unpacked(types[f]) + surg__dtype_unpacked(types[t]);
      surg_node *n = bench_node("Cast", 1);
      surg_node_set_int(n, "to", types[t]);
      if (f == t) printf(" %6s", ".");
      else entry(b, n, &x, 1, (double)x.count * (double)each);
    }
    free(x.data);
    printf("\n");
  }
}

/* --- Reduce --- */

static void reductions(bench *b) {
  static const char *const ops[] = {"ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin",
                                    "ReduceProd", "ReduceL1", "ReduceL2", "ReduceSumSquare",
                                    "ReduceLogSumExp", "ArgMax", "CumSum", "Softmax"};
  static const char *const where[] = {"axis 0", "axis 1", "all"};
  heading("Reduce");
  for (size_t i = 0; i < 3 * SURG_COUNT(ops); ++i) {
    const char *op = ops[i / 3];
    const int64_t axis = (int64_t)(i % 3);
    const bool by_attr = strcmp(op, "ArgMax") == 0 || strcmp(op, "Softmax") == 0;
    char name[40];
    snprintf(name, sizeof name, "%s %s", op, where[i % 3]);
    if ((axis == 2 && strncmp(op, "Reduce", 6) != 0) || !asked(b, name)) continue;
    printf("%-26s", name);
    for (size_t t = 0; t < TYPES; ++t) {
      int64_t dims[2], one = 1;
      const surg__array x = rows_of(b, types[t], dims);
      const surg__array in[2] = {x, {.dtype = SURG_INT64, .rank = strcmp(op, "CumSum") != 0,
                                     .count = 1, .data = (void *)&axis, .dims = &one}};
      const uint32_t n_in = by_attr || axis == 2 ? 1 : 2;
      surg_node *n = bench_node(op, n_in);
      if (by_attr) surg_node_set_int(n, "axis", axis);
      entry(b, n, in, n_in, 2.0 * (double)b->bytes);
      free(x.data);
    }
    printf("\n");
  }
}

int main(int argc, char **argv) {
  const uint64_t mib = argc > 1 ? strtoull(argv[1], NULL, 10) : 64;
  bench b = {.bytes = (size_t)mib << 20, .word = argc > 2 ? argv[2] : NULL};
  double warm;
  if (mib == 0 || !bench_start()) return 1;
  bench_copy(b.bytes, &warm, &b.copy);
  printf("memcpy of %llu MiB, one thread: %.2f GB/s, %.2f GB/s into fresh memory, beside which\n",
         (unsigned long long)mib, warm / 1e9, b.copy / 1e9);
  elementwise(&b);
  shaped(&b);
  transpositions(&b);
  casts(&b);
  reductions(&b);
  printf("\n%llu entries, %llu under %.1f x memcpy\n", (unsigned long long)b.shown,
         (unsigned long long)b.slow, SLOW);
  bench_end();
  return 0;
}
