/* SPDX-License-Identifier: Apache-2.0 */
/* Expressions over dims: normal forms and texts one by one, then random ones against plain
 * arithmetic: under many bindings an expression, its text, its bounds and what is proven of it must
 * agree with the numbers. */
#include <onnxsurg/onnxsurg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sym/expr.h"
#include "../unit.h"

static surg_context *ctx;
static surg_model *model;

static void load(const char *text) {
  surg_model_free(model);
  model = NULL;
  ck_assert_int_eq(surg_model_load_text(ctx, text, strlen(text), "test", &model), SURG_OK);
}

static void setup(void) {
  ctx = surg_context_new(NULL);
  load("<ir_version: 8, opset_import: [\"\": 17]>\n"
       "g (float[N,M,H,W] x, float[\"odd name\"] z) => (float y) { y = Relu(x) }");
}
static void teardown(void) {
  surg_model_free(model);
  model = NULL;
  surg_context_free(ctx);
}

static const surg_expr *sym(const char *name) {
  return surg__expr_named(model, surg__intern(model, name, strlen(name)), SURG__SYMBOL_INPUT);
}
static const surg_expr *num(int64_t v) { return surg__expr_num(model, v); }
#define ADD surg__expr_add
#define SUB surg__expr_sub
#define MUL surg__expr_mul
#define DIV surg__expr_div
#define MIN surg__expr_min
#define MAX surg__expr_max

static const char *text(const surg_expr *e) {
  return surg_dim_text(model, &(surg_dim){-1, NULL, e});
}
static void is(const surg_expr *e, const char *want) {
  ck_assert_msg(e != NULL, "unknown, expected %s", want);
  ck_assert_str_eq(text(e), want);
}

START_TEST(forms) {
  const surg_expr *n = sym("N"), *m = sym("M"), *h = sym("H"), *w = sym("W");
  is(ADD(n, num(0)), "N");
  is(SUB(n, n), "0");
  is(ADD(MUL(num(2), n), num(1)), "2*N + 1");
  is(SUB(num(3), n), "3 - N");
  is(SUB(MUL(n, num(-2)), num(5)), "-2*N - 5");
  is(num(-7), "-7");
  ck_assert_ptr_eq(MUL(ADD(n, num(1)), ADD(m, num(1))), MUL(ADD(m, num(1)), ADD(n, num(1))));
  is(MUL(ADD(n, num(1)), ADD(m, num(1))), "M*N + M + N + 1");
  is(MUL(n, MUL(m, n)), "M*N*N");
  /* division */
  is(DIV(MUL(n, num(6)), num(3)), "2*N");
  is(DIV(ADD(MUL(n, num(6)), num(5)), num(3)), "2*N + 1");
  is(DIV(SUB(h, num(1)), num(2)), "floor((H + 1)/2) - 1");
  is(DIV(DIV(h, num(2)), num(3)), "floor(H/6)");
  is(DIV(ADD(DIV(h, num(2)), num(1)), num(2)), "floor((H + 2)/4)");
  is(DIV(ADD(MUL(h, num(4)), num(3)), num(6)), "floor((2*H + 1)/3)");
  is(DIV(MUL(n, m), m), "N");
  is(DIV(ADD(MUL(n, m), num(1)), m), "N + floor(1/M)");
  is(DIV(MUL(MUL(n, m), num(12)), MUL(m, num(4))), "3*N");
  is(DIV(MUL(ADD(n, num(1)), ADD(m, n)), ADD(n, m)), "N + 1");
  is(DIV(MUL(n, h), MUL(h, w)), "floor(N/W)");
  is(DIV(MUL(n, num(6)), MUL(h, num(4))), "floor(3*N/(2*H))");
  is(surg__expr_mod(ADD(MUL(n, num(4)), num(7)), num(4)), "3");
  is(surg__expr_mod(n, num(2)), "N - 2*floor(N/2)");
  /* extremes */
  is(MIN(n, ADD(n, num(1))), "N");
  is(MAX(n, num(0)), "N");
  is(MAX(SUB(n, num(2)), num(0)), "max(N - 2, 0)");
  is(MIN(MIN(m, num(5)), MIN(num(3), n)), "min(M, N, 3)");
  is(MIN(n, num(INT32_MAX)), "N");
  is(MIN(n, MAX(n, m)), "N");
  is(MIN(DIV(n, num(2)), n), "floor(N/2)");
  ck_assert(surg__expr_at_least(n, MUL(num(2), DIV(n, num(2)))));
  ck_assert(!surg__expr_at_least(MUL(num(2), DIV(n, num(2))), n));
  /* names */
  is(sym("odd name"), "\"odd name\"");
  is(surg__expr_anonymous(model, surg_graph_find_value(surg_model_graph(model), "y"), 1),
     "dim(\"y\", 1)");
  ck_assert_str_eq(surg__expr_name(sym("odd name")), "odd name");
  ck_assert_ptr_null(surg__expr_name(ADD(n, num(1))));
}
END_TEST

START_TEST(overflow_is_unknown) {
  const surg_expr *n = sym("N"), *big = MUL(n, num(INT64_MAX));
  ck_assert_ptr_nonnull(big);
  ck_assert_ptr_null(ADD(big, n));
  ck_assert_ptr_null(MUL(big, num(2)));
  ck_assert_ptr_null(ADD(num(INT64_MAX), num(1)));
  ck_assert_ptr_null(MUL(num(INT64_MIN), num(-1)));
  ck_assert_ptr_null(surg__expr_div_exact(num(INT64_MIN), num(0)));
  ck_assert_ptr_null(DIV(n, num(0)));
  ck_assert_ptr_null(DIV(n, num(-2)));
  ck_assert_ptr_null(ADD(NULL, n));
  const surg_expr *e = n;
  for (int i = 0; i < 100 && e; i++) e = MUL(e, ADD(sym("M"), num(i + 1)));
  ck_assert_ptr_null(e); /* it would explode */
  e = n;
  for (int i = 0; i < 100 && e; i++) e = ADD(DIV(MUL(e, sym("H")), num(i + 3)), num(i));
  ck_assert_ptr_null(e);
}
END_TEST

START_TEST(products_over_products) {
  surg_dim out;
  const surg_dim n = surg__expr_dim(sym("N")), half = surg__expr_dim(DIV(sym("H"), num(2)));
  const surg_dim two = {.value = 2}, three = {.value = 3}, zero = {.value = 0};
  const surg_dim unknown = {.value = -1};
  ck_assert(surg_dims_divide(model, (surg_dim[]){n, three, two}, 3, (surg_dim[]){n, two}, 2, &out));
  ck_assert_int_eq(out.value, 3);
  ck_assert(surg_dims_divide(model, (surg_dim[]){n, half}, 2, (surg_dim[]){half}, 1, &out));
  ck_assert_str_eq(surg_dim_text(model, &out), "N");
  ck_assert(surg_dims_divide(model, NULL, 0, NULL, 0, &out));
  ck_assert_int_eq(out.value, 1);
  ck_assert(!surg_dims_divide(model, &n, 1, &two, 1, &out));
  ck_assert(!surg_dims_divide(model, &two, 1, &n, 1, &out));
  ck_assert(!surg_dims_divide(model, &two, 1, &three, 1, &out));
  ck_assert(!surg_dims_divide(model, &n, 1, &zero, 1, &out));
  ck_assert(!surg_dims_divide(model, &unknown, 1, &two, 1, &out));
  const surg_dim most = {.value = INT64_MAX};
  ck_assert(!surg_dims_divide(model, (surg_dim[]){most, two}, 2, &two, 1, &out));
  ck_assert(!surg_dims_divide(NULL, &n, 1, &two, 1, &out));
}
END_TEST

START_TEST(assumptions) {
  int64_t lo, hi;
  ck_assert_int_eq(surg_model_assume_dim(model, "N=1..64"), SURG_OK);
  ck_assert_int_eq(surg_model_assume_dim(model, "H%32"), SURG_OK);
  ck_assert_int_eq(surg_model_assume_dim(model, "M=4"), SURG_OK);
  const surg_expr *n = sym("N"), *h = sym("H");
  is(sym("M"), "4");
  is(MAX(n, num(1)), "N");
  is(MIN(n, num(64)), "N");
  is(DIV(n, num(65)), "0");
  is(h, "H");
  ck_assert_str_eq(surg__expr_name(h), "H");
  is(DIV(h, num(2)), "floor(H/2)");
  is(MUL(DIV(h, num(2)), num(2)), "H");
  is(MUL(DIV(h, num(32)), num(24)), "floor(3*H/4)");
  is(DIV(ADD(h, num(1)), num(2)), "floor(H/2)");
  is(surg__expr_mod(h, num(8)), "0");
  const surg_dim half = surg__expr_dim(DIV(n, num(2)));
  ck_assert(surg_dim_range(&half, &lo, &hi));
  ck_assert_int_eq(lo, 0);
  ck_assert_int_eq(hi, 32);
  static const char *const wrong[] = {"N",     "N=",    "N=a",    "N=5..4", "N=-1", "N%0", "N%",
                                      "Q=4",   "=4",    "N=1..", "N=1..2x", "N==4",
                                      "N=99999999999999999999", "N=9223372036854775807"};
  for (size_t i = 0; i < SURG_COUNT(wrong); i++)
    ck_assert_msg(surg_model_assume_dim(model, wrong[i]) == SURG_EUSAGE, "%s", wrong[i]);
  ck_assert_int_eq(surg_model_assume_dim(model, "W%8"), SURG_OK);
  ck_assert_int_eq(surg_model_assume_dim(model, "W=1..7"), SURG_EUSAGE);
  surg_context_clear_error(ctx);
  ck_assert_int_eq(surg_model_assume_dim(model, "od name=3"), SURG_EUSAGE);
  ck_assert_ptr_nonnull(strstr(surg_context_error(ctx), "did you mean \"odd name\"?"));
  ck_assert_int_eq(surg_model_assume_dim(model, "odd name=3"), SURG_OK);
}
END_TEST

/* --- random expressions --- */

enum { SYMBOLS = 4, BINDINGS = 24, POOL = 40 };
static const char *const names[SYMBOLS] = {"N", "M", "H", "W"};
static const int64_t divisors[SYMBOLS] = {1, 1, 4, 6}, low[SYMBOLS] = {0, 1, 0, 3};
static int64_t bound[BINDINGS][SYMBOLS];

static uint64_t state;
static uint32_t rnd(uint32_t n) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)(state >> 33) % n;
}

static bool lookup(void *user, const char *name, const surg_value *v, size_t axis, int64_t *out) {
  const int64_t *b = user;
  (void)v;
  (void)axis;
  for (int i = 0; name && i < SYMBOLS; i++) {
    if (strcmp(names[i], name)) continue;
    *out = b[i];
    return true;
  }
  return false;
}

/* A small evaluator of the texts. */
static const char *at;
static const int64_t *now;
static int64_t parse_sum(void);

static int64_t floor_div(int64_t a, int64_t b) {
  return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

static int64_t parse_atom(void) {
  char word[16];
  size_t n = 0;
  if (*at == '(') {
    at++;
    const int64_t v = parse_sum();
    ck_assert_int_eq(*at++, ')');
    return v;
  }
  if (*at >= '0' && *at <= '9') return strtoll(at, (char **)(uintptr_t)&at, 10);
  while ((*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z')) word[n++] = *at++;
  word[n] = 0;
  if (*at != '(') {
    int64_t v = 0;
    ck_assert_msg(lookup((void *)(uintptr_t)now, word, NULL, 0, &v), "%s", word);
    return v;
  }
  at++;
  int64_t v = parse_sum();
  if (*at == '/') {
    at++;
    v = floor_div(v, parse_atom());
  }
  while (*at == ',') {
    at += 2;
    const int64_t x = parse_sum();
    v = (*word == 'm' && word[1] == 'i') == (x < v) ? x : v;
  }
  ck_assert_int_eq(*at++, ')');
  return v;
}

static int64_t parse_product(void) {
  int64_t v = parse_atom();
  while (*at == '*') {
    at++;
    v *= parse_atom();
  }
  return v;
}

static int64_t parse_sum(void) {
  int64_t v = 0, sign = 1;
  if (*at == '-') {
    sign = -1;
    at++;
  }
  for (;;) {
    v += sign * parse_product();
    if (at[0] != ' ') return v;
    sign = at[1] == '-' ? -1 : 1;
    at += 3;
  }
}

typedef struct sample {
  const surg_expr *e;
  int64_t v[BINDINGS];
} sample;

static bool combine(int op, const sample *a, const sample *b, sample *out) {
  for (int i = 0; i < BINDINGS; i++) {
    const int64_t x = a->v[i], y = b->v[i];
    if (op >= 3 && op < 5 && y < 1) return false;
    out->v[i] = op == 0   ? x + y
                : op == 1 ? x - y
                : op == 2 ? x * y
                : op == 3 ? floor_div(x, y)
                : op == 4 ? x - y * floor_div(x, y)
                : op == 5 ? (x < y ? x : y)
                          : (x > y ? x : y);
    if (out->v[i] > 1000000000 || out->v[i] < -1000000000) return false;
  }
  const surg_expr *(*const make[])(const surg_expr *, const surg_expr *) = {
      surg__expr_add, surg__expr_sub, surg__expr_mul, surg__expr_div,
      surg__expr_mod, surg__expr_min, surg__expr_max};
  /* A divisor must be proven, or be one wherever it is computed. */
  if ((op == 3 || op == 4) && !surg__expr_at_least_num(b->e, 1)) return false;
  out->e = make[op](a->e, b->e);
  return out->e != NULL;
}

static void check_sample(const sample *s) {
  int64_t lo, hi, v;
  const surg_dim d = {-1, NULL, s->e};
  const char *spelled = text(s->e);
  for (int i = 0; i < BINDINGS; i++) {
    ck_assert_int_eq(surg_dim_eval(&d, lookup, bound[i], &v), SURG_OK);
    ck_assert_msg(v == s->v[i], "%s is %lld, not %lld", spelled, (long long)v, (long long)s->v[i]);
    lo = s->e->lo;
    hi = s->e->hi;
    ck_assert_msg(lo <= v && v <= hi, "%s: %lld not in %lld..%lld", spelled, (long long)v,
                  (long long)lo, (long long)hi);
    at = spelled;
    now = bound[i];
    v = parse_sum();
    ck_assert_msg(!*at && v == s->v[i], "text %s is %lld, not %lld", spelled, (long long)v,
                  (long long)s->v[i]);
  }
}

static void check_pair(const sample *a, const sample *b) {
  const bool at_least = surg__expr_at_least(a->e, b->e);
  const surg_expr *q = surg__expr_div_exact(a->e, b->e);
  for (int i = 0; i < BINDINGS; i++) {
    int64_t v;
    ck_assert_msg(!at_least || a->v[i] >= b->v[i], "%s >= %s", text(a->e), text(b->e));
    ck_assert_msg(a->e != b->e || a->v[i] == b->v[i], "%s", text(a->e));
    if (!q) continue;
    ck_assert_int_eq(surg_dim_eval(&(surg_dim){-1, NULL, q}, lookup, bound[i], &v), SURG_OK);
    ck_assert_msg(v * b->v[i] == a->v[i], "%s = (%s) * (%s)", text(a->e), text(b->e), text(q));
  }
}

START_TEST(random_expressions) {
  state = (uint64_t)_i * 977 + 5;
  const bool divided = _i % 2;
  if (divided) {
    ck_assert_int_eq(surg_model_assume_dim(model, "H%4"), SURG_OK);
    ck_assert_int_eq(surg_model_assume_dim(model, "W%6"), SURG_OK);
    ck_assert_int_eq(surg_model_assume_dim(model, "W=3..60"), SURG_OK);
    ck_assert_int_eq(surg_model_assume_dim(model, "M=1..40"), SURG_OK);
  }
  for (int i = 0; i < BINDINGS; i++)
    for (int k = 0; k < SYMBOLS; k++) {
      const int64_t d = divided ? divisors[k] : 1;
      bound[i][k] = i == 0 && !divided ? 0 : (int64_t)rnd(i < 8 ? 4 : 10) * d;
      if (divided && bound[i][k] < low[k]) bound[i][k] = d > 1 ? d : low[k];
    }
  static sample pool[POOL];
  size_t n = 0, checked = 0;
  for (; n < SYMBOLS; n++) {
    pool[n].e = sym(names[n]);
    for (int i = 0; i < BINDINGS; i++) pool[n].v[i] = bound[i][n];
  }
  for (; n < SYMBOLS + 5; n++) {
    const int64_t v = n < SYMBOLS + 3 ? (int64_t)rnd(7) + 1 : (int64_t)rnd(9) - 5;
    pool[n].e = num(v);
    for (int i = 0; i < BINDINGS; i++) pool[n].v[i] = v;
  }
  for (int step = 0; step < 400; step++) {
    sample s;
    const sample *a = &pool[rnd((uint32_t)n)], *b = &pool[rnd((uint32_t)n)];
    if (!combine((int)rnd(7), a, b, &s)) continue;
    check_sample(&s);
    checked++;
    pool[n < POOL ? n++ : SYMBOLS + 5 + rnd(POOL - SYMBOLS - 5)] = s;
    check_pair(&s, &pool[rnd((uint32_t)n)]);
    check_pair(a, b);
  }
  ck_assert_uint_gt(checked, 60);
}
END_TEST

/* Expressions of a clone are its own, and say the same. */
START_TEST(clones) {
  ck_assert_int_eq(surg_model_assume_dim(model, "H%4"), SURG_OK);
  load("<ir_version: 8, opset_import: [\"\": 17]>\n"
       "g (float[N,M] x) => (float y) { a = Concat <axis = 0> (x, x)\n n = NonZero(x)\n"
       "y = Concat <axis = 1> (n, n) }");
  ck_assert_int_eq(surg_model_infer(model), SURG_OK);
  surg_model *copy = surg_model_clone(model);
  ck_assert_ptr_nonnull(copy);
  for (int i = 0; i < 2; i++) {
    const char *const value[] = {"a", "y"}, *const want[] = {"2*N", "2*dim(\"n\", 1)"};
    const surg_type *t =
        surg_value_type(surg_graph_find_value(surg_model_graph(copy), value[i]));
    ck_assert_str_eq(surg_dim_text(copy, surg_type_dim(t, (size_t)i)), want[i]);
  }
  surg_model_free(model);
  model = copy;
  ck_assert_int_eq(surg_model_infer(model), SURG_OK);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("expr");
  TCase *c = tcase_create("expr");
  tcase_add_checked_fixture(c, setup, teardown);
  tcase_set_timeout(c, 60);
  tcase_add_test(c, forms);
  tcase_add_test(c, overflow_is_unknown);
  tcase_add_test(c, products_over_products);
  tcase_add_test(c, assumptions);
  tcase_add_loop_test(c, random_expressions, 0, UNIT_ROUNDS(24));
  tcase_add_test(c, clones);
  suite_add_tcase(suite, c);
  return unit_run(suite);
}
