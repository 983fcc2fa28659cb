/* SPDX-License-Identifier: Apache-2.0 */
/* Ranges of values: random graphs are run on inputs that hold to what is said of them, NaN,
 * infinities and ends of types where nothing is said, and every element of every value must lie in
 * the range that is proven of it. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/context.h"
#include "eval/core/number.h"
#include "../eval/interpret_rows.h"
#include "io/io.h"
#include "../unit.h"

#define INPUTS 5
#define NODES 14
#define ELEMENTS 6

/* Types by letter; `text` as ONNX spells them. */
static const struct {
  char letter;
  int dtype;
  const char *text;
} types[] = {{'f', SURG_FLOAT, "float"},   {'h', SURG_FLOAT16, "float16"},
             {'d', SURG_DOUBLE, "double"}, {'l', SURG_INT64, "int64"},
             {'i', SURG_INT32, "int32"},   {'u', SURG_UINT8, "uint8"},
             {'s', SURG_INT8, "int8"},     {'b', SURG_BOOL, "bool"}};

static size_t type_of(char letter) {
  size_t i = 0;
  while (types[i].letter != letter) i++;
  return i;
}

/* What the types of operands may be, the type of the result (`=`: that of the first), and the
 * nodes. A, B and C are operands, Y the result, P and Q values between; all of shape [2, 3]. */
static const struct {
  const char *takes, *gives, *text;
} forms[] = {
    {"fhdlisu", "=", "Y = Abs (A)"},
    {"fhdlis", "=", "Y = Neg (A)"},
    {"fhdlis", "=", "Y = Relu (A)"},
    {"fhd", "=", "Y = Ceil (A)"},
    {"fhd", "=", "Y = Floor (A)"},
    {"fhd", "=", "Y = Round (A)"},
    {"fhd", "=", "Y = Sqrt (A)"},
    {"fhd", "=", "Y = Exp (A)"},
    {"fhd", "=", "Y = Softplus (A)"},
    {"fhd", "=", "Y = HardSigmoid (A)"},
    {"fhd", "=", "Y = Sigmoid (A)"},
    {"fhd", "=", "Y = Softmax (A)"},
    {"fhd", "=", "Y = LogSoftmax (A)"},
    {"fhd", "=", "Y = Tanh (A)"},
    {"fhd", "=", "Y = Sin (A)"},
    {"fhd", "=", "Y = Erf (A)"},
    {"fd", "b", "Y = IsNaN (A)"},
    {"fd", "b", "Y = IsInf (A)"},
    {"b", "b", "Y = Not (A)"},
    {"fhdlisu", "=", "Y = Add (A, B)"},
    {"fhdlisu", "=", "Y = Sub (A, B)"},
    {"fhdlisu", "=", "Y = Mul (A, B)"},
    {"fhdlisu", "=", "Y = Mul (A, A)"},
    {"fhd", "=", "Y = Div (A, B)"},
    {"fhdlisu", "=", "Y = Max (A, B)"},
    {"fhdlisu", "=", "Y = Min (A, B, C)"},
    {"fhd", "=", "Y = Sum (A, B)"},
    {"fhd", "=", "Y = Sum (A, B, C)"},
    {"fd", "=", "Y = Pow (A, k2)"},
    {"b", "b", "Y = And (A, B)"},
    {"b", "b", "Y = Or (A, B)"},
    {"fhdlisub", "b", "Y = Equal (A, B)"},
    {"fhdlisu", "b", "Y = Less (A, B)"},
    {"fhdlisu", "b", "Y = LessOrEqual (A, B)"},
    {"fhdlisu", "b", "Y = Greater (A, B)"},
    {"fhdlisu", "b", "Y = GreaterOrEqual (A, B)"},
    {"fhdlisub", "=", "P = Less (x0, x0)  Q = Not (P)  Y = Where (Q, A, B)"},
    {"fhdlisub", "=", "Y = Where (c0, A, B)"},
    {"f", "=", "Y = Clip (A, k_1, k2)"},
    {"f", "=", "Y = Clip (A, , k2)"},
    {"f", "=", "Y = Clip (A, k2, k_1)"},
    {"fhdlisub", "=", "P = Concat <axis = 0> (A, B)  Y = Slice (P, one, three)"},
    {"fhdlis", "=", "Y = Pad (A, shift)"},
    {"fh", "=", "P = Reshape (A, s4)  Q = MaxPool <kernel_shape = [2, 2], pads = [1, 1, 0, 0]> (P)"
                "  Y = Reshape (Q, s2)"},
    {"fh", "=", "P = Reshape (A, s4)  Q = AveragePool <kernel_shape = [2, 2], pads = [1, 1, 0, 0],"
                " count_include_pad = 1> (P)  Y = Reshape (Q, s2)"},
    {"fhd", "=", "P = ReduceMean (A)  Y = Expand (P, s2)"},
    {"fhdli", "=", "P = ReduceSum (A)  Y = Expand (P, s2)"},
    {"fhdli", "=", "P = ReduceMax (A)  Y = Expand (P, s2)"},
    {"fhdli", "=", "P = ReduceMin (A)  Y = Expand (P, s2)"},
    {"fd", "=", "P = ReduceL1 (A)  Y = Expand (P, s2)"},
    {"fd", "=", "P = ReduceSumSquare (A)  Y = Expand (P, s2)"},
    {"us", "f", "Y = DequantizeLinear (A, k2)"},
    {"i", "f", "Y = DequantizeLinear (A, k_1)"},
    {"fhdlisub", "f", "Y = Cast <to = 1> (A)"},
    {"fhdlisub", "h", "Y = Cast <to = 10> (A)"},
    {"fhdlisub", "d", "Y = Cast <to = 11> (A)"},
    {"fhdlisub", "l", "Y = Cast <to = 7> (A)"},
    {"fhdlisub", "i", "Y = Cast <to = 6> (A)"},
    {"lisub", "u", "Y = Cast <to = 2> (A)"},
    {"lisub", "s", "Y = Cast <to = 3> (A)"},
    {"fhdlisub", "b", "Y = Cast <to = 9> (A)"},
    {"f", "=", "Y = If (cond) <then_branch = g1 () => (float[2, 3] Yt) { Yt = Neg (A) },"
               " else_branch = g2 () => (float[2, 3] Ye) { Ye = Abs (B) }>"},
};

typedef struct drawn {
  char text[16384];
  size_t n;
  char names[INPUTS + NODES + 1][8], letters[INPUTS + NODES + 1];
  unsigned count;
  bool said[INPUTS];
  double low[INPUTS], high[INPUTS];
} drawn;

static void put(drawn *d, const char *text) {
  const size_t n = strlen(text);
  ck_assert(d->n + n < sizeof d->text);
  memcpy(d->text + d->n, text, n + 1);
  d->n += n;
}

/* A value of a type, the first ones less often; UINT_MAX: there is none. */
static unsigned operand(const drawn *d, const char *takes) {
  for (int i = 0; i < 40; i++) {
    const unsigned k = (unsigned)unit_between(0, d->count - 1);
    if (strchr(takes, d->letters[k])) return k;
  }
  return UINT32_MAX;
}

static void put_node(drawn *d) {
  const size_t f = unit_between(0, SURG_COUNT(forms) - 1);
  const unsigned a = operand(d, forms[f].takes);
  if (a == UINT32_MAX) return;
  const char same[2] = {d->letters[a], 0};
  const unsigned of[3] = {a, operand(d, same), operand(d, same)};
  char name[12];
  for (const char *p = forms[f].text; *p; p++) {
    const bool word = p == forms[f].text || strchr(" (,", p[-1]);
    const char after = p[1];
    if (word && *p >= 'A' && *p <= 'C' && strchr(" ,)", after)) {
      const unsigned k = of[*p - 'A'] == UINT32_MAX ? a : of[*p - 'A'];
      snprintf(name, sizeof name, "%s", d->names[k]);
    } else if (word && strchr("YPQ", *p) && strchr(" ,)te", after)) {
      snprintf(name, sizeof name, "%c%u", *p + 'a' - 'A', d->count);
    } else {
      snprintf(name, sizeof name, "%c", *p);
    }
    put(d, name);
  }
  put(d, "\n");
  snprintf(d->names[d->count], sizeof d->names[0], "y%u", d->count);
  d->letters[d->count++] = *forms[f].gives == '=' ? same[0] : *forms[f].gives;
}

static void draw(drawn *d) {
  static const double ends[][2] = {{0, 1},   {-1, 1},      {0, 0},    {1, 3},      {-4, -2},
                                   {-3, 0},  {0, 100},     {5, 5},    {0, 60000},  {-100, 3},
                                   {0, 127}, {-0.5, 0.25}, {2.5, 70}, {-100, 100}, {0, 1e-3}};
  char word[64];
  d->n = d->count = 0;
  put(d, "g (");
  for (unsigned i = 0; i < INPUTS; i++) {
    const size_t t = i == 0 ? 0 : unit_between(0, SURG_COUNT(types) - 1);
    const double *e = ends[unit_between(0, SURG_COUNT(ends) - 1)];
    snprintf(d->names[i], sizeof d->names[i], "x%u", i);
    d->letters[i] = types[t].letter;
    d->count++;
    d->said[i] = unit_between(0, 9) < 7 && (types[t].letter != 'b' || e[1] <= 1);
    d->low[i] = surg__is_real(types[t].dtype) ? e[0] : ceil(e[0]);
    d->high[i] = surg__is_real(types[t].dtype) ? e[1] : floor(e[1]);
    if (d->letters[i] == 'u' || d->letters[i] == 'b') d->said[i] = d->said[i] && d->low[i] >= 0;
    if (d->letters[i] == 's') d->said[i] = d->said[i] && d->high[i] <= 127;
    if (d->letters[i] == 'u') d->said[i] = d->said[i] && d->high[i] <= 255;
    if (d->low[i] > d->high[i]) d->said[i] = false;
    snprintf(word, sizeof word, "%s[2, 3] x%u, ", types[t].text, i);
    put(d, word);
  }
  put(d, "bool[2, 3] c0, bool cond) => (zz) <float k2 = {2}, float k_1 = {-1}, "
         "int64[4] s4 = {1, 1, 2, 3}, int64[2] s2 = {2, 3}, int64[1] one = {1}, "
         "int64[1] three = {3}, int64[4] shift = {0, 1, 0, -1}> {\n");
  for (unsigned i = 0; i < NODES; i++) put_node(d);
  put(d, "zz = Identity (x0) }");
}

/* --- running --- */

static double draw_element(const drawn *d, unsigned i, int dtype) {
  static const double wild[] = {NAN,  INFINITY, -INFINITY, -0.0, 0,    1e30, -1e30, 3e38,
                                -3e38, 1e-45,    65504,     -1,   1e300, 0.5,  -2.5,  1e19};
  const double part = (double)unit_between(0, 1000) / 1000;
  if (!d->said[i]) {
    if (surg__is_real(dtype) && part < 0.5) return wild[unit_between(0, SURG_COUNT(wild) - 1)];
    return 20 * part - 10;
  }
  if (part < 0.2) return d->low[i];
  if (part > 0.8) return d->high[i];
  if (part > 0.75 && d->low[i] <= 0 && d->high[i] >= 0) return -0.0;
  return d->low[i] + part * (d->high[i] - d->low[i]);
}

static int64_t draw_whole(const drawn *d, unsigned i, int dtype) {
  static const int64_t wild[] = {INT64_MIN, INT64_MAX, INT32_MIN, INT32_MAX, -128, 127, 255, -1, 0};
  if (dtype == SURG_BOOL && !d->said[i]) return (int64_t)unit_between(0, 1);
  if (!d->said[i] && unit_between(0, 1)) return wild[unit_between(0, SURG_COUNT(wild) - 1)];
  return (int64_t)draw_element(d, i, dtype);
}

static void fill(const drawn *d, unsigned i, surg__array *a, uint64_t *data) {
  static const int64_t dims[] = {2, 3};
  const bool more = i >= INPUTS;
  const int dtype = more ? SURG_BOOL : types[type_of(d->letters[i])].dtype;
  *a = (surg__array){.dtype = dtype, .rank = i > INPUTS ? 0 : 2, .dims = dims,
                     .count = i > INPUTS ? 1 : ELEMENTS, .data = data};
  for (uint64_t k = 0; k < a->count; k++) {
    if (more)
      surg__store_int(dtype, data, k, unit_between(0, 1));
    else if (surg__is_real(dtype))
      surg__store_f64(dtype, data, k, draw_element(d, i, dtype));
    else
      surg__store_int(dtype, data, k, (uint64_t)draw_whole(d, i, dtype));
  }
}

typedef struct watcher {
  const drawn *d;
  unsigned seen, narrow;
} watcher;

static surg_status look(void *user, const surg_node *n, size_t output, const surg__array *a) {
  watcher *w = user;
  surg_range r;
  const surg_value *v = surg_node_output(n, output);
  if (surg_value_range(v, &r)) return SURG_OK;
  w->seen++;
  w->narrow += isfinite(r.low) || isfinite(r.high);
  for (uint64_t i = 0; i < a->count; i++) {
    const bool real = surg__is_real(a->dtype);
    const double x = real ? surg__real_at(a, i)
                          : (double)(int64_t)surg__load_int(a->dtype, a->data, i);
    const bool fits = x != x ? r.nan : x >= r.low && x <= r.high;
    const bool sign = !(real && x == 0 && signbit(x)) || r.minus_zero;
    ck_assert_msg(fits && sign, "%s: %.17g is not in %.17g..%.17g%s%s\n%s", surg_value_name(v), x,
                  r.low, r.high, r.nan ? " nan" : "", r.minus_zero ? " -0" : "", w->d->text);
  }
  return SURG_OK;
}

static surg_model *load(surg_context *ctx, const drawn *d) {
  surg_model *m = interpret_parse(ctx, d->text);
  char text[128];
  for (unsigned i = 0; i < INPUTS; i++) {
    if (!d->said[i]) continue;
    snprintf(text, sizeof text, "x%u=%.17g..%.17g", i, d->low[i], d->high[i]);
    ck_assert_int_eq(surg_model_assume_range(m, text), SURG_OK);
  }
  ck_assert_int_eq(surg_model_infer(m), SURG_OK);
  return m;
}

START_TEST(test_random) {
  surg_context *ctx = interpret_context();
  drawn *d = malloc(sizeof *d);
  watcher w = {.d = d};
  unsigned failed = 0;
  for (int round = 0; round < 1500; round++) {
    uint64_t data[INPUTS + 2][ELEMENTS];
    surg__array in[INPUTS + 2], out = {0};
    draw(d);
    surg_model *m = load(ctx, d);
    for (unsigned i = 0; i < INPUTS + 2; i++) fill(d, i, &in[i], data[i]);
    surg__session s = {.max_bytes = 1 << 20, .max_work = 1 << 20, .watch = look, .user = &w};
    failed += surg__session_run(&s, m, in, &out) != SURG_OK;
    surg__array_drop(&out);
    surg_model_free(m);
  }
  ck_assert_uint_lt(failed, 150); /* integers divided by zero and such */
  ck_assert_uint_gt(w.narrow, 5000);
  ck_assert_uint_gt(w.seen, w.narrow);
  free(d);
  surg_context_free(ctx);
}
END_TEST

/* --- what is found --- */

static void check_range(const char *graph, double low, double high, bool nan, bool minus_zero) {
  surg_context *ctx = interpret_context();
  surg_model *m = interpret_parse(ctx, graph);
  surg_range r;
  ck_assert_int_eq(surg_model_infer(m), SURG_OK);
  ck_assert(SURG_OK == surg_value_range(surg_graph_output(surg_model_graph(m), 0), &r));
  ck_assert_msg(r.low == low && r.high == high && r.nan == nan && r.minus_zero == minus_zero,
                "%s: %.17g..%.17g %d %d", graph, r.low, r.high, r.nan, r.minus_zero);
  surg_model_free(m);
  surg_context_free(ctx);
}

START_TEST(test_found) {
  check_range("g (float[2] x) => (y) { y = Sigmoid (x) }", 0, 1, true, false);
  check_range("g (float[2] x) => (y) { a = Tanh (x) y = Abs (a) }", 0, 1, true, false);
  check_range("g (uint8[2] x) => (y) <float s = {0.5}> { y = DequantizeLinear (x, s) }", 0, 127.5,
              false, false);
  check_range("g (float[2] x) => (y) { y = Mul (x, x) }", 0, INFINITY, true, false);
  check_range("g (int32[2] x) => (y) { y = Mul (x, x) }", -0x1p31, 0x1p31 - 1, false, false);
  check_range("g (float[N] x) => (y) { y = Shape (x) }", 0, INT32_MAX, false, false);
  check_range("g (int8[2] x) => (y) { y = Abs (x) }", -128, 127, false, false);
  /* What one type cannot hold is rounded outwards. */
  check_range("g () => (y) <float[2] a = {0.5, 1}, float[1] b = {0.1}> { y = Add (a, b) }",
              (double)0.59999996f, (double)1.1f, false, false);
}
END_TEST

START_TEST(test_not_found) {
  surg_context *ctx = interpret_context();
  surg_model *m = interpret_parse(ctx, "g (string[2] x, float[2] f) => (y) { y = Identity (x) }");
  surg_range r;
  ck_assert(SURG_OK != surg_value_range(NULL, &r));
  ck_assert_int_eq(surg_model_infer(m), SURG_OK);
  ck_assert(SURG_OK != surg_value_range(surg_graph_output(surg_model_graph(m), 0), &r));
  ck_assert_int_eq(surg_model_assume_range(m, "f"), SURG_EUSAGE);
  ck_assert_int_eq(surg_model_assume_range(m, "=0..1"), SURG_EUSAGE);
  ck_assert_int_eq(surg_model_assume_range(m, "f=.."), SURG_EUSAGE);
  ck_assert_int_eq(surg_model_assume_range(m, "f=0.. 1"), SURG_EUSAGE);
  ck_assert_int_eq(surg_model_assume_range(m, "f=0..1x"), SURG_EUSAGE);
  ck_assert_int_eq(surg_model_assume_range(m, "f=-inf..1.5e3"), SURG_OK);
  surg_model_free(m);
  surg_context_free(ctx);
}
END_TEST

/* A chain longer than what is looked at, and a value that is used again and again. */
START_TEST(test_bounded) {
  surg_context *ctx = interpret_context();
  surg__buf b;
  surg_range r;
  surg__buf_init(&b, ctx);
  surg__buf_puts(&b, "g (float[2] x) => (y) { a0 = Sigmoid (x)\n");
  for (int i = 0; i < 200; i++) surg__buf_printf(&b, "a%d = Max (a%d, a%d)\n", i + 1, i, i);
  surg__buf_puts(&b, "y = Identity (a200) }");
  surg_model *m = interpret_parse(ctx, b.p);
  ck_assert_int_eq(surg_model_infer(m), SURG_OK);
  surg_graph *g = surg_model_graph(m);
  ck_assert(SURG_OK == surg_value_range(surg_graph_find_value(g, "a60"), &r));
  ck_assert(r.low == 0 && r.high == 1);
  ck_assert(SURG_OK == surg_value_range(surg_graph_find_value(g, "y"), &r));
  ck_assert(isinf(r.low) && isinf(r.high));
  surg__buf_free(&b);
  surg_model_free(m);
  surg_context_free(ctx);
}
END_TEST

int main(void) {
  Suite *s = suite_create("ranges");
  TCase *c = tcase_create("ranges");
  tcase_set_timeout(c, 60);
  tcase_add_test(c, test_random);
  tcase_add_test(c, test_found);
  tcase_add_test(c, test_not_found);
  tcase_add_test(c, test_bounded);
  suite_add_tcase(s, c);
  return unit_run(s);
}
