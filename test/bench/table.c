/* SPDX-License-Identifier: Apache-2.0 */
/* Every elementwise operator, cast, transposition and reduction on every element type, beside
 * memcpy of as many bytes into fresh memory: how many times as fast as memcpy, one line an
 * operator, one column a type ("-": not for that type; "*" behind what is under half), and at the
 * end all that is under half. Prints and never judges.
 * The two are timed in turn, and the best time of each counts; what seems slow is timed more often,
 * since another program may have had the memory.
 *   table [MEBIBYTES [WORD [TYPE]]]   WORD: rows whose name holds it; TYPE: that column alone */
#include <stdio.h>
#include <stdlib.h>

#include "base/base.h"
#include "base/dtype.h"
#include "bench.h"

#define ROUNDS 3
#define SLOW_ROUNDS 8 /* of what is under SLOW */
#define SLOW 0.5
#define NAME_ROOM 40
#define SLOWEST 1000 /* listed at the end */

static const int types[] = {SURG_FLOAT, SURG_DOUBLE, SURG_FLOAT16, SURG_BFLOAT16, SURG_INT8,
                            SURG_UINT8, SURG_INT16, SURG_UINT16, SURG_INT32, SURG_UINT32,
                            SURG_INT64, SURG_UINT64, SURG_BOOL};
static const char *const heads[] = {"f32", "f64", "f16", "bf16", "i8", "u8", "i16",
                                    "u16", "i32", "u32", "i64", "u64", "bool"};
#define TYPES SURG_COUNT(types)
#define COLUMNS 4096
#define LARGEST_ROW (1 << 20) /* elements: what a shape holds at the least */

typedef struct slow_entry {
  char name[NAME_ROOM];
  const char *type;
  double ratio;
} slow_entry;

typedef struct bench {
  size_t bytes;
  char *source; /* copied into fresh memory */
  double copy;  /* bytes a second: the best of a row */
  const char *word, *type;
  char name[NAME_ROOM]; /* of the row that is printed */
  void *filled[TYPES];  /* numbers of each type, made when first asked for */
  uint64_t shown, n_slow;
  slow_entry slow[SLOWEST];
} bench;

/* Starts a row, if it is asked for. What memory gives changes with what else the machine does:
 * memcpy is measured again beside each. */
static bool row(bench *b, const char *group, const char *name) {
  snprintf(b->name, sizeof b->name, "%s%s", group, name);
  if (b->word && !strstr(b->name, b->word)) return false;
  b->copy = 0;
  printf("%-26s", b->name);
  return true;
}

static void copy_once(bench *b) {
  char *to = bench_room(b->bytes);
  const double start = bench_now();
  memcpy(to, b->source, b->bytes);
  const double speed = (double)b->bytes / (bench_now() - start);
  free(to);
  if (speed > b->copy) b->copy = speed;
}

static bool skipped(const bench *b, size_t type) {
  if (!b->type || strcmp(b->type, heads[type]) == 0) return false;
  printf(" %6s", "");
  return true;
}

/* One entry: `moved` bytes read and written, halved as memcpy's are. */
static void entry(bench *b, size_t type, surg_node *n, const surg__array *in, uint32_t n_in,
                  double moved) {
  const char *why;
  double ratio = 0, best = 0;
  for (int r = 0; r < ROUNDS || (r < SLOW_ROUNDS && ratio < SLOW); ++r) {
    const double t = bench_compute(n, in, n_in, 1, &why);
    if (t < 0) {
      printf(" %6s", "-");
      return;
    }
    copy_once(b);
    if (r == 0 || t < best) best = t;
    ratio = moved / 2 / best / b->copy;
  }
  ++b->shown;
  if (ratio < SLOW && b->n_slow++ < SLOWEST) {
    slow_entry *e = &b->slow[b->n_slow - 1];
    memcpy(e->name, b->name, sizeof e->name);
    e->type = heads[type];
    e->ratio = ratio;
  }
  printf(" %5.2f%c", ratio, ratio < SLOW ? '*' : ' ');
  fflush(stdout);
}

static void heading(const char *what) {
  printf("\n%-26s", what);
  for (size_t t = 0; t < TYPES; ++t) printf(" %5s ", heads[t]);
  printf("\n");
}

static surg__array shaped_as(bench *b, size_t type, const int64_t *dims, uint32_t rank) {
  const size_t size = surg__dtype_unpacked(types[type]);
  surg__array a = {.dtype = types[type], .rank = rank, .dims = dims, .count = 1};
  for (uint32_t d = 0; d < rank; ++d) a.count *= (uint64_t)dims[d];
  if (!b->filled[type]) {
    const int64_t n = (int64_t)(b->bytes / size);
    const int64_t all = n < LARGEST_ROW ? LARGEST_ROW : n;
    b->filled[type] = bench_filled(types[type], &all, 1).data;
  }
  a.data = b->filled[type];
  return a;
}

static surg__array rows_of(bench *b, size_t type, int64_t *dims) {
  dims[0] = (int64_t)(b->bytes / surg__dtype_unpacked(types[type]) / COLUMNS);
  dims[1] = COLUMNS;
  return shaped_as(b, type, dims, 2);
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
    if (!row(b, "", ops[i].op)) continue;
    for (size_t t = 0; t < TYPES; ++t) {
      int64_t dims[2];
      if (skipped(b, t)) continue;
      const surg__array x = rows_of(b, t, dims), in[3] = {x, x, x};
      surg_node *n = bench_node(ops[i].op, ops[i].n_in);
      if (strcmp(ops[i].op, "Mod") == 0)
        surg_node_set_int(n, "fmod", surg__dtype_is_float(x.dtype));
      const size_t size = surg__dtype_unpacked(types[t]), out = ops[i].out ? ops[i].out : size;
      entry(b, t, n, in, ops[i].n_in, (double)x.count * (double)(ops[i].n_in * size + out));
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
    if (!row(b, "", names[i])) continue;
    for (size_t t = 0; t < TYPES; ++t) {
      int64_t dims[2], one[2] = {1, COLUMNS}, column[2];
      if (skipped(b, t)) continue;
      const surg__array x = rows_of(b, t, dims);
      column[0] = dims[0];
      column[1] = 1;
      surg__array y = shaped_as(b, t, i == 4 ? column : one, 2);
      const surg__array condition = shaped_as(b, TYPES - 1, dims, 2);
      const double bytes = 2.0 * (double)b->bytes, count = (double)x.count;
      if (i == 0 || i == 2) y.count = 1, y.rank = 0;
      const surg__array clip[3] = {x, y, y}, where[3] = {condition, x, x}, two[2] = {x, y};
      if (i == 0) entry(b, t, bench_node("Clip", 3), clip, 3, bytes);
      else if (i == 1) entry(b, t, bench_node("Where", 3), where, 3, bytes * 1.5 + count);
      else entry(b, t, bench_node(i == 3 ? "Add" : "Mul", 2), two, 2, bytes);
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
    if (!row(b, "Transpose ", all[i].name)) continue;
    for (size_t t = 0; t < TYPES; ++t) {
      int64_t dims[4], rest = 1;
      if (skipped(b, t)) continue;
      for (uint32_t d = 1; d < all[i].rank; ++d) rest *= dims[d] = all[i].dims[d];
      dims[0] = (int64_t)(b->bytes / surg__dtype_unpacked(types[t])) / rest;
      if (dims[0] < 1) dims[0] = 1;
      const surg__array x = shaped_as(b, t, dims, all[i].rank);
      surg_node *n = bench_node("Transpose", 1);
      surg_node_set_ints(n, "perm", all[i].perm, all[i].rank);
      entry(b, t, n, &x, 1, 2.0 * (double)x.count * (double)surg__dtype_unpacked(types[t]));
    }
    printf("\n");
  }
}

/* --- Cast --- */

static void casts(bench *b) {
  heading("Cast from ... to");
  for (size_t f = 0; f < TYPES; ++f) {
    int64_t dims[2];
    if (!row(b, "Cast ", heads[f])) continue;
    const surg__array x = rows_of(b, f, dims);
    for (size_t t = 0; t < TYPES; ++t) {
      if (skipped(b, t)) continue;
      const size_t each = surg__dtype_unpacked(types[f]) + surg__dtype_unpacked(types[t]);
      surg_node *n = bench_node("Cast", 1);
      surg_node_set_int(n, "to", types[t]);
      if (f == t) printf(" %6s", ".");
      else entry(b, t, n, &x, 1, (double)x.count * (double)each);
    }
    printf("\n");
  }
}

/* --- Reduce --- */

static void reductions(bench *b) {
  static const char *const ops[] = {"ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin",
                                    "ReduceProd", "ReduceL1", "ReduceL2", "ReduceSumSquare",
                                    "ReduceLogSumExp", "ArgMax", "CumSum", "Softmax"};
  static const char *const where[] = {" axis 0", " axis 1", " all"};
  heading("Reduce");
  for (size_t i = 0; i < 3 * SURG_COUNT(ops); ++i) {
    const char *op = ops[i / 3];
    const int64_t axis = (int64_t)(i % 3);
    const bool by_attr = strcmp(op, "ArgMax") == 0 || strcmp(op, "Softmax") == 0;
    if ((axis == 2 && strncmp(op, "Reduce", 6) != 0) || !row(b, op, where[i % 3])) continue;
    for (size_t t = 0; t < TYPES; ++t) {
      int64_t dims[2], one = 1;
      if (skipped(b, t)) continue;
      const surg__array x = rows_of(b, t, dims);
      const surg__array in[2] = {x, {.dtype = SURG_INT64, .rank = strcmp(op, "CumSum") != 0,
                                     .count = 1, .data = (void *)&axis, .dims = &one}};
      const uint32_t n_in = by_attr || axis == 2 ? 1 : 2;
      surg_node *n = bench_node(op, n_in);
      if (by_attr) surg_node_set_int(n, "axis", axis);
      entry(b, t, n, in, n_in, 2.0 * (double)b->bytes);
    }
    printf("\n");
  }
}

static void summary(const bench *b) {
  printf("\n%llu entries, %llu under %.1f x memcpy", (unsigned long long)b->shown,
         (unsigned long long)b->n_slow, SLOW);
  const char *last = "";
  for (size_t i = 0; i < b->n_slow && i < SLOWEST; ++i) {
    const slow_entry *e = &b->slow[i];
    if (strcmp(e->name, last) != 0) printf("\n  %-24s", e->name);
    printf(" %s %.2f", e->type, e->ratio);
    last = e->name;
  }
  printf("\n");
}

int main(int argc, char **argv) {
  const uint64_t mib = argc > 1 ? strtoull(argv[1], NULL, 10) : 64;
  static bench b;
  b.bytes = (size_t)mib << 20;
  b.word = argc > 2 ? argv[2] : NULL;
  b.type = argc > 3 ? argv[3] : NULL;
  double warm;
  if (mib == 0 || !bench_start()) return 1;
  /* The largest result there is: what a virtual machine never touched takes long the first time. */
  void *touched = bench_room(8 * b.bytes);
  memset(touched, 1, 8 * b.bytes);
  free(touched);
  bench_copy(b.bytes, ROUNDS, &warm, &b.copy);
  b.source = bench_room(b.bytes);
  memset(b.source, 1, b.bytes);
  printf("memcpy of %llu MiB, one thread: %.2f GB/s, %.2f GB/s into fresh memory\n",
         (unsigned long long)mib, warm / 1e9, b.copy / 1e9);
  elementwise(&b);
  shaped(&b);
  transpositions(&b);
  casts(&b);
  reductions(&b);
  summary(&b);
  for (size_t t = 0; t < TYPES; ++t) free(b.filled[t]);
  free(b.source);
  bench_end();
  return 0;
}
