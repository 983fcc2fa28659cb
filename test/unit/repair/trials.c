/* SPDX-License-Identifier: Apache-2.0 */
/* What a search for a repair remembers: the results of trials, and which model it tried them on. */
#include "repair/memo.h"

#include <onnxsurg/onnxsurg.h>
#include <stdio.h>
#include <string.h>

#include "../unit.h"
#include "io/io.h"
#include "repair/repair.h"

static surg_context *ctx;

static void setup(void) {
  ctx = surg_context_new(NULL);
}
static void teardown(void) {
  surg_context_free(ctx);
}

static const char text[] =
    "<ir_version: 8, opset_import: [\"\" : 17]>\n"
    "g (float[2] x) => (float[2] y) <float[2] w = {1, 2}> { a = Mul (x, w)  y = Relu (a) }";

static surg_model *model(void) {
  surg_model *m = NULL;
  ck_assert_int_eq(surg_model_load_text(ctx, text, strlen(text), "m", &m), SURG_OK);
  return m;
}

static uint64_t print_of(surg_model *m) {
  uint64_t h = 0;
  ck_assert_int_eq(surg__model_fingerprint(m, &h), SURG_OK);
  return h;
}

START_TEST(results_are_remembered) {
  surg__memo m = {0};
  size_t left = 7;
  ck_assert(!surg__memo_find(&m, 5, &left));
  for (uint64_t i = 1; i <= 1000; i++) surg__memo_note(ctx, &m, i * 4096, (size_t)i);
  surg__memo_note(ctx, &m, 4096, 77);
  surg__memo_note(ctx, &m, 0, 1); /* no key */
  for (uint64_t i = 2; i <= 1000; i++) ck_assert(surg__memo_find(&m, i * 4096, &left) && left == i);
  ck_assert(surg__memo_find(&m, 4096, &left) && left == 77);
  ck_assert(!surg__memo_find(&m, 4097, &left) && !surg__memo_find(&m, 0, &left));
  ck_assert_uint_eq(m.count, 1000);
  surg__memo_free(ctx, &m);
  ck_assert(!surg__memo_find(&m, 4096, &left));
}
END_TEST

START_TEST(equal_models_have_one_fingerprint) {
  surg_model *m = model(), *copy = surg_model_clone(m);
  ck_assert_ptr_nonnull(copy);
  const uint64_t before = print_of(m);
  ck_assert_uint_eq(print_of(copy), before);
  surg_node *n = surg_graph_first_node(surg_model_graph(copy));
  ck_assert_int_eq(surg_node_set_name(n, "named"), SURG_OK);
  ck_assert_uint_ne(print_of(copy), before);
  ck_assert_int_eq(surg_node_set_name(n, ""), SURG_OK);
  ck_assert_uint_eq(print_of(m), before);
  surg_model_free(copy);
  surg_model_free(m);
}
END_TEST

START_TEST(elements_in_memory_count) {
  static const float two[2][2] = {{1, 2}, {1, 3}};
  static const int64_t dims[] = {2};
  uint64_t prints[2];
  for (size_t i = 0; i < 2; i++) {
    surg_model *m = model();
    surg_tensor *t = surg_tensor_new(m, SURG_FLOAT, dims, 1, two[i], sizeof two[i]);
    ck_assert_ptr_nonnull(surg_graph_constant(surg_model_graph(m), NULL, "c", t));
    prints[i] = print_of(m);
    surg_model_free(m);
  }
  ck_assert_uint_ne(prints[0], prints[1]);
}
END_TEST

/* A model may have any number of operators that no rule replaces: each is listed once, and trials
 * of them are not made. */
START_TEST(operators_without_rules_are_known) {
  enum { KINDS = 20000 };
  surg_model *m = model();
  surg_graph *g = surg_model_graph(m);
  surg__repair_ops ops;
  surg__repair r;
  surg__repair_ops_init(&ops, ctx);
  for (int i = 0; i < 2 * KINDS; i++) {
    char op[16];
    snprintf(op, sizeof op, "Op%d", i % KINDS);
    surg__repair_add_op(&ops, surg_graph_add_node(g, NULL, "acme", op, 1));
  }
  ck_assert(surg__repair_has_op(&ops, "acme.Op0") && surg__repair_has_op(&ops, "acme.Op19999"));
  ck_assert(!surg__repair_has_op(&ops, "acme.Op20000") && !surg__repair_has_op(&ops, "Op0"));
  size_t names = 1;
  for (size_t i = 0; i < ops.names.n; i++) names += ops.names.p[i] == '+';
  ck_assert_uint_eq(names, KINDS);
  surg__repair_ops_free(&ops);
  surg__repair_init(&r, ctx, NULL, m, (surg__consent){SURG_EXACT, false});
  ck_assert(surg__repair_replaces(&r, "HardSwish"));
  ck_assert(surg__repair_replaces(&r, "ai.onnx.HardSwish"));
  ck_assert(surg__repair_replaces(&r, "com.microsoft.FastGelu"));
  ck_assert(!surg__repair_replaces(&r, "acme.Op0") && !surg__repair_replaces(&r, "FastGelu"));
  surg__repair_free(&r);
}
END_TEST

int main(void) {
  Suite *s = suite_create("trials");
  TCase *t = tcase_create("trials");
  tcase_add_checked_fixture(t, setup, teardown);
  tcase_add_test(t, results_are_remembered);
  tcase_add_test(t, equal_models_have_one_fingerprint);
  tcase_add_test(t, elements_in_memory_count);
  tcase_add_test(t, operators_without_rules_are_known);
  suite_add_tcase(s, t);
  return unit_run(s);
}
