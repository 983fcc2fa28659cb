/* SPDX-License-Identifier: Apache-2.0 */
/* Saving: what is written after an edit is, byte for byte, the file that would have been written
 * with the edit in it from the start; unknown fields, odd lengths and docs included. */
#include <stdlib.h>

#include "base/context.h"
#include "save_twin.h"

START_TEST(unchanged) {
  expect(load(model(&original)), model(&original));
}
END_TEST

START_TEST(a_clone_is_saved_as_its_original) {
  surg_model *m = load(model(&original)), *c = surg_model_clone(m);
  ck_assert_int_eq(surg_value_rename(value(c, "y"), "why"), SURG_OK);
  twin t = original;
  t.y = t.branch = "why";
  expect(c, model(&t));
  expect(m, model(&original));
}
END_TEST

START_TEST(a_rename_is_followed_everywhere) {
  surg_model *m = load(model(&original));
  ck_assert_int_eq(surg_value_rename(value(m, "y"), "why"), SURG_OK);
  twin t = original;
  t.y = t.branch = "why";
  expect(m, model(&t));
}
END_TEST

START_TEST(renaming_there_and_back_changes_nothing) {
  surg_model *m = load(model(&original));
  ck_assert_int_eq(surg_value_rename(value(m, "y"), "why"), SURG_OK);
  ck_assert_int_eq(surg_value_rename(value(m, "why"), "y"), SURG_OK);
  expect(m, model(&original));
}
END_TEST

START_TEST(a_renamed_initializer_keeps_its_tensor) {
  surg_model *m = load(model(&original));
  ck_assert_int_eq(surg_value_rename(value(m, "w"), "weight"), SURG_OK);
  twin t = original;
  t.w = "weight";
  expect(m, model(&t));
}
END_TEST

START_TEST(a_renamed_output_keeps_its_type) {
  surg_model *m = load(model(&original));
  ck_assert_int_eq(surg_value_rename(value(m, "z"), "result"), SURG_OK);
  twin t = original;
  t.z = "result";
  expect(m, model(&t));
}
END_TEST

START_TEST(a_node_gets_a_name_and_another_operator) {
  surg_model *m = load(model(&original));
  surg_node *n = surg_graph_find_node(surg_model_graph(m), "second");
  ck_assert_int_eq(surg_node_set_name(n, "third"), SURG_OK);
  ck_assert_int_eq(surg_node_set_op(n, NULL, "Abs"), SURG_OK);
  twin t = original;
  t.node = "third";
  t.op = "Abs";
  expect(m, model(&t));
}
END_TEST

START_TEST(the_header_changes_where_it_was_told_to) {
  surg_model *m = load(model(&original));
  ck_assert_int_eq(surg_model_set_ir_version(m, 9), SURG_OK);
  ck_assert_int_eq(surg_model_set_opset(m, "", 18), SURG_OK);
  ck_assert_int_eq(surg_model_set_metadata(m, "key", "new"), SURG_OK);
  twin t = original;
  t.ir = 9;
  t.opset = 18;
  t.meta = "new";
  expect(m, model(&t));
}
END_TEST

START_TEST(a_function_input_is_renamed) {
  surg_model *m = load(model(&original));
  surg_graph *body = surg_function_graph(surg_model_function(m, 0));
  ck_assert_int_eq(surg_value_rename(surg_graph_input(body, 0), "arg"), SURG_OK);
  twin t = original;
  t.fn_input = "arg";
  expect(m, model(&t));
}
END_TEST

START_TEST(inner_values_are_renamed) {
  surg_model *m = load(model(&original));
  for (surg_graph *g = NULL; (g = surg_model_next_graph(m, g));)
    if (surg_graph_get_kind(g) == SURG_GRAPH_SUBGRAPH)
      ck_assert_int_eq(surg_value_rename(surg_graph_find_value(g, "t"), "inside"), SURG_OK);
  twin t = original;
  t.inner = "inside";
  expect(m, model(&t));
}
END_TEST

START_TEST(an_attribute_is_replaced) {
  surg_model *m = load(model(&original));
  surg_node *n = surg_value_producer(value(m, "soft"), NULL);
  ck_assert_int_eq(surg_node_set_int(n, "axis", -1), SURG_OK);
  void *p;
  size_t size;
  ck_assert_int_eq(surg_model_save_memory(m, &p, &size), SURG_OK);
  surg_model *again;
  ck_assert_int_eq(surg_model_load_memory(ctx, p, size, "again", NULL, &again), SURG_OK);
  n = surg_value_producer(value(again, "soft"), NULL);
  ck_assert_int_eq(surg_node_int(n, "axis", 5), -1);
  ck_assert_uint_eq(surg_node_attr_count(n), 1);
  surg_context_free_bytes(ctx, p);
  /* All other nodes and everything around them stayed. */
  ck_assert_int_eq(surg_node_set_int(n, "axis", 1), SURG_OK);
  surg_model_free(again);
  surg_model_free(m);
}
END_TEST

START_TEST(a_capture_may_change_alone) {
  surg_model *m = load(model(&original));
  for (surg_graph *g = NULL; (g = surg_model_next_graph(m, g));)
    if (surg_graph_get_kind(g) == SURG_GRAPH_SUBGRAPH)
      ck_assert_int_eq(surg_node_set_input(surg_graph_first_node(g), 0, value(m, "x")), SURG_OK);
  twin t = original;
  t.branch = "x";
  expect(m, model(&t));
}
END_TEST

START_TEST(new_data_keeps_what_was_said_of_the_tensor) {
  surg_model *m = load(model(&original));
  static const double data[3] = {1, 2, 3};
  static const int64_t dims[1] = {3};
  surg_tensor *t = surg_tensor_new(m, SURG_DOUBLE, dims, 1, data, sizeof data);
  ck_assert_int_eq(surg_value_set_initializer(value(m, "w"), t), SURG_OK);
  wire w = {0}, plain = {0};
  wire_int(&w, 1, 3);
  wire_int(&w, 2, SURG_DOUBLE);
  wire_str(&w, 8, "w");
  wire_str(&w, 12, "weights");
  wire_str(&w, 50, "unknown");
  wire_bytes(&w, 9, data, sizeof data);
  wire_message(&plain, 5, w);
  void *p;
  size_t n;
  ck_assert_int_eq(surg_model_save_memory(m, &p, &n), SURG_OK);
  ck_assert(wire_has(p, n, plain.p, plain.n));
  surg_context_free_bytes(ctx, p);
  surg_model_free(m);
  free(plain.p);
}
END_TEST

/* Memory that runs out at any point of saving is an error, leaves nothing behind, and does not
 * spoil the model. */
START_TEST(memory_runs_out) {
  surg_model *m = load(model(&original));
  ck_assert_int_eq(surg_value_rename(value(m, "y"), "why"), SURG_OK);
  const uint64_t before = surg_context_memory(ctx, NULL), no_limit = ctx->max_memory;
  unsigned failures = 0;
  surg_status s = SURG_ELIMIT;
  for (uint64_t more = 0; s != SURG_OK; more += 8) {
    void *p;
    size_t n;
    ctx->max_memory = before + more;
    s = surg_model_save_memory(m, &p, &n);
    ctx->max_memory = no_limit;
    if (s == SURG_OK) {
      surg_context_free_bytes(ctx, p);
      break;
    }
    ck_assert_int_eq(s, SURG_ELIMIT);
    ck_assert_ptr_null(p);
    surg_context_clear_error(ctx);
    ck_assert_uint_eq(surg_context_memory(ctx, NULL), before);
    failures++;
  }
  ck_assert_uint_gt(failures, 100);
  twin t = original;
  t.y = t.branch = "why";
  expect(m, model(&t));
}
END_TEST

int main(void) {
  Suite *s = suite_create("save");
  TCase *c = tcase_create("all");
  tcase_add_checked_fixture(c, setup, teardown);
  tcase_add_test(c, unchanged);
  tcase_add_test(c, a_clone_is_saved_as_its_original);
  tcase_add_test(c, a_rename_is_followed_everywhere);
  tcase_add_test(c, renaming_there_and_back_changes_nothing);
  tcase_add_test(c, a_renamed_initializer_keeps_its_tensor);
  tcase_add_test(c, a_renamed_output_keeps_its_type);
  tcase_add_test(c, a_node_gets_a_name_and_another_operator);
  tcase_add_test(c, the_header_changes_where_it_was_told_to);
  tcase_add_test(c, a_function_input_is_renamed);
  tcase_add_test(c, inner_values_are_renamed);
  tcase_add_test(c, an_attribute_is_replaced);
  tcase_add_test(c, a_capture_may_change_alone);
  tcase_add_test(c, new_data_keeps_what_was_said_of_the_tensor);
  add_made_tests(c);
  tcase_add_test(c, memory_runs_out);
  suite_add_tcase(s, c);
  return unit_run(s);
}
