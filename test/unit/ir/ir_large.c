/* SPDX-License-Identifier: Apache-2.0 */
/* A million of everything: what must be linear is not measured but would not end otherwise. And
 * models whose memory runs out at every possible place. */
#include "ir_common.h"

#if SURG__SANITIZED || defined(SURG_FAULT_INJECTION)
#define MANY 50000
#else
#define MANY 1000000
#endif

START_TEST(million_uses) {
  surg_context *ctx = new_context();
  surg_model *m = surg_model_new(ctx, 10, 17);
  surg_graph *g = surg_model_graph(m);
  surg_value *x = surg_graph_add_input(g, "x", NULL);
  surg_node *a = add1(g, "Neg", x), *n = surg_graph_add_node(g, NULL, "", "Sum", 1);
  for (size_t i = 0; i < MANY; i++) ck_ok(surg_node_set_input(n, i, out0(a)));
  ck_ok(surg_graph_add_output(g, out0(a), NULL));
  ck_assert_uint_eq(surg_value_use_count(out0(a), SIZE_MAX), MANY + 1);
  ck_assert(surg_value_is_output(out0(a)));
  ck_ok(surg_graph_remove_output(g, 0));
  for (size_t i = 0; i < MANY; i += 2) ck_ok(surg_node_set_input(n, i, NULL));
  ck_ok(surg_value_replace(out0(a), x));
  ck_assert_uint_eq(surg_value_use_count(x, SIZE_MAX), MANY / 2 + 1);
  ck_ok(surg_value_rename(x, "y"));
  ck_ok(surg_model_verify(m));
  ck_ok(surg_graph_toposort(g, NULL));
  ck_ok(surg_node_trim_inputs(n, 0));
  ck_ok(surg_node_erase(n));
  surg_model_free(m);
  surg_context_free(ctx);
}
END_TEST

START_TEST(million_nodes) {
  surg_context *ctx = new_context();
  surg_model *m = surg_model_new(ctx, 10, 17);
  surg_graph *g = surg_model_graph(m);
  surg_value *v = surg_graph_add_input(g, "x", NULL);
  for (size_t i = 0; i < MANY; i++) {
    surg_node *n = add1(g, "Relu", v);
    ck_ok(surg_node_set_name(n, "n")); /* all of one name */
    v = out0(n);
  }
  ck_ok(surg_graph_add_output(g, v, NULL));
  ck_assert_uint_eq(surg_graph_node_count(g), MANY);
  ck_ok(surg_model_verify(m));
  surg_model *c = surg_model_clone(m);
  ck_assert_ptr_nonnull(c);
  surg_model_free(m);
  g = surg_model_graph(c);
  /* Reversed, sorted again, taken down from the end. */
  surg_node *last = surg_graph_last_node(g);
  for (surg_node *n = surg_graph_first_node(g); n != last;) {
    surg_node *next = surg_node_next(n);
    ck_ok(surg_node_move(n, surg_node_next(last)));
    n = next;
  }
  bool moved;
  ck_ok(surg_graph_toposort(g, &moved));
  ck_assert(moved);
  ck_assert_ptr_eq(surg_graph_last_node(g), last);
  ck_ok(surg_model_verify(c));
  ck_ok(surg_graph_remove_output(g, 0));
  while (surg_graph_last_node(g)) ck_ok(surg_node_erase(surg_graph_last_node(g)));
  ck_ok(surg_model_verify(c));
  surg_model_free(c);
  surg_context_free(ctx);
}
END_TEST

/* At one spot from either side, and at both ends; asking for the order in between. */
START_TEST(insertions) {
  surg_context *ctx = new_context();
  surg_model *m = surg_model_new(ctx, 10, 17);
  surg_graph *g = surg_model_graph(m);
  surg_node *a = add1(g, "A", NULL), *b = add1(g, "B", NULL), *last = NULL;
  for (int i = 0; i < 1000; i++) add1(g, "C", NULL);
  for (int i = 0; i < 100000; i++) {
    surg_node *n = surg_graph_add_node(g, b, "", "N", 0);
    ck_assert(surg_node_before(a, n) && surg_node_before(n, b));
    ck_assert(!last || surg_node_before(last, n));
    last = n;
  }
  surg_node *spot = surg_node_next(a);
  for (int i = 0; i < 100000; i++) spot = surg_graph_add_node(g, spot, "", "N", 0);
  for (int i = 0; i < 100000; i++) {
    surg_node *n = surg_graph_add_node(g, surg_graph_first_node(g), "", "N", 0);
    ck_assert(surg_node_before(n, a));
  }
  ck_assert_uint_eq(surg_graph_node_count(g), 301002);
  ck_ok(surg_model_verify(m));
  surg_model_free(m);
  surg_context_free(ctx);
}
END_TEST

/* Subgraph in subgraph in subgraph: nothing may recurse. */
START_TEST(deep_nest) {
  surg_context *ctx = new_context();
  surg_model *m = surg_model_new(ctx, 10, 17);
  surg_graph *g = surg_model_graph(m), *at = g;
  surg_value *x = surg_graph_add_input(g, "x", NULL);
  for (int i = 0; i < 3000; i++) at = surg_node_set_graph(add1(at, "If", x), "then_branch", "t");
  add1(at, "Relu", x);
  surg_node *top = surg_graph_first_node(g);
  ck_assert(!surg_node_nondeterministic(top));
  ck_ok(surg_model_verify(m));
  surg_model *c = surg_model_clone(m);
  ck_ok(surg_model_verify(c));
  surg_model_free(c);
  ck_ok(surg_graph_toposort(g, NULL));
  ck_ok(surg_node_erase(top));
  ck_assert_uint_eq(surg_value_use_count(x, 9), 0);
  surg_model_free(m);
  surg_context_free(ctx);
}
END_TEST

/* --- out of memory --- */

/* Everything once. What it returns is not looked at: only the sticky failure counts. */
static surg_status scenario(surg_context *ctx) {
  surg_model *m = surg_model_new(ctx, 10, 17);
  if (!m) return SURG_ENOMEM;
  surg_graph *g = surg_model_graph(m);
  surg_value *x = surg_graph_add_input(g, "x", f32(m));
  surg_node *prev = NULL;
  char name[32];
  for (int i = 0; i < 40; i++) {
    surg_node *n = add1(g, "Relu", prev ? out0(prev) : x);
    snprintf(name, sizeof name, "n%d", i % 7);
    surg_node_set_name(n, name);
    surg_node_set_input(n, (size_t)i, x);
    surg_node_set_int(n, name, i);
    snprintf(name, sizeof name, "v%d", i);
    surg_value_rename(out0(n), name);
    prev = n;
  }
  surg_graph_add_output(g, out0(prev), f32(m));
  surg_node *branch = add1(g, "If", x);
  surg_graph *t = surg_node_set_graph(branch, "then_branch", "t");
  surg_value *k = surg_graph_constant(t, NULL, "k", i64(m, 4));
  surg_node *inner = add1(t, "Neg", k);
  surg_graph_add_output(t, out0(inner), NULL);
  surg_model *c = surg_model_clone(m);
  surg_model_free(c);
  surg_graph_hoist(t, branch);
  surg_node *late = add1(g, "Abs", x);
  surg_node_set_input(branch, 0, out0(late));
  surg_graph_toposort(g, NULL);
  surg_value_replace(out0(prev), out0(inner));
  surg_node_nondeterministic(branch);
  surg_node_erase(surg_graph_find_node(g, "n4"));
  surg_node_erase(prev);
  surg_model_set_metadata(m, "a", "b");
  surg_model_set_opset(m, "acme", 1);
  for (surg_node *n = surg_graph_last_node(g); n; n = surg_node_prev(n)) surg_node_op(n);
  surg_status s = surg_model_status(m);
  if (s == SURG_OK) s = surg_model_verify(m);
  surg_model_free(m);
  return s;
}

START_TEST(memory_runs_out) {
  bool done = false;
  size_t failed = 0;
  for (uint64_t limit = 256; !done; limit += 192) {
    surg_config config = {.size = sizeof config, .seed = 3, .max_memory = limit};
    surg_context *ctx = surg_context_new(&config);
    surg_status s = scenario(ctx);
    ck_assert_msg(s == SURG_OK || s == SURG_ELIMIT || s == SURG_ENOMEM, "%s",
                  surg_context_error(ctx));
    if (s == SURG_ELIMIT) ck_assert_ptr_nonnull(surg_context_error(ctx));
    done = s == SURG_OK;
    failed += !done;
    /* Asserts that every byte was given back. */
    surg_context_free(ctx);
    ck_assert_uint_lt(limit, 16 << 20);
  }
  ck_assert_uint_gt(failed, 20);
}
END_TEST

START_TEST(failure_sticks) {
  surg_config config = {.size = sizeof config, .seed = 3, .max_memory = 200000};
  surg_context *ctx = surg_context_new(&config);
  surg_model *m = surg_model_new(ctx, 10, 17);
  surg_graph *g = surg_model_graph(m);
  surg_value *x = surg_graph_add_input(g, "x", NULL);
  surg_node *first = add1(g, "Relu", x), *n = first;
  while (n) n = surg_graph_add_node(g, NULL, "", "Relu", 1);
  ck_assert_int_eq(surg_model_status(m), SURG_ELIMIT);
  ck_assert_ptr_nonnull(strstr(surg_context_error(ctx), "memory"));
  ck_assert_int_eq(surg_node_erase(first), SURG_ELIMIT);
  ck_assert_int_eq(surg_value_rename(x, "z"), SURG_ELIMIT);
  ck_assert_int_eq(surg_model_verify(m), SURG_ELIMIT);
  ck_assert_ptr_null(surg_graph_first_node(g));
  ck_assert_ptr_null(surg_model_clone(m));
  ck_assert_str_eq(surg_node_op_type(first), "Relu");
  surg_model_free(m);
  surg_context_free(ctx);
}
END_TEST

int main(void) {
  Suite *s = suite_create("ir_large");
  TCase *t = tcase_create("large");
  tcase_set_timeout(t, 110);
  tcase_add_test(t, million_uses);
  tcase_add_test(t, million_nodes);
  tcase_add_test(t, insertions);
  tcase_add_test(t, deep_nest);
  tcase_add_test(t, memory_runs_out);
  tcase_add_test(t, failure_sticks);
  suite_add_tcase(s, t);
  return unit_run(s);
}
