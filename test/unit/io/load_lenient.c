/* SPDX-License-Identifier: Apache-2.0 */
/* Lenient loads: what the model contains in place of a defect, and what cures it. */
#include "load_common.h"

static wire X(void) { return mb_value("x", SURG_FLOAT, 2); }

/* A model of nodes a to c (empty: none) with input x and output y, and an initializer (or none). */
static wire of(wire a, wire b, wire c, wire init) {
  wire g = {0};
  if (a.n) wire_message(&g, 1, a);
  if (b.n) wire_message(&g, 1, b);
  if (c.n) wire_message(&g, 1, c);
  wire_str(&g, 2, "g");
  if (init.n) wire_message(&g, 5, init);
  wire_message(&g, 11, X());
  wire_message(&g, 12, mb_value("y", SURG_FLOAT, 2));
  return mb_model(g);
}
static const wire none;

static surg_model *lenient(wire w) {
  options.policy = SURG_LOAD_LENIENT;
  return load_as(w, SURG_OK);
}

/* The one finding of the model. */
static surg_finding only(surg_model *m, const char *code, surg_reading reading) {
  surg_finding f = {.size = sizeof f};
  ck_assert_uint_eq(surg_model_finding_count(m), 1);
  ck_assert(surg_model_finding(m, 0, &f));
  ck_assert_str_eq(f.code, code);
  ck_assert_int_eq(f.reading, reading);
  ck_assert(!f.cured && f.severity == SURG_ERROR);
  ck_assert_uint_eq(surg_model_open_findings(m), 1);
  return f;
}

/* The model is cured: it is written, and a strict load accepts it. Frees it. */
static surg_model *again(surg_model *m) {
  void *bytes;
  size_t n;
  surg_model *back = NULL;
  ck_assert_uint_eq(surg_model_open_findings(m), 0);
  ck_assert_int_eq(surg_model_verify(m), SURG_OK);
  ck_assert_int_eq(surg_model_save_memory(m, &bytes, &n), SURG_OK);
  surg_model_free(m);
  options.policy = SURG_LOAD_STRICT;
  forget();
  ck_assert_msg(surg_model_load_memory(ctx, bytes, n, "again", &options, &back) == SURG_OK, "%s",
                lines);
  surg_context_free_bytes(ctx, bytes);
  return back;
}

START_TEST(undefined_input) {
  surg_model *m = lenient(of(mb_node("Add", "x nope", "y"), none, none, none));
  const surg_finding f = only(m, "E110", SURG_READING_NONE);
  ck_assert(surg_value_is_undefined(f.value));
  ck_assert_str_eq(surg_value_name(f.value), "nope");
  ck_assert_int_eq(surg_model_accept_finding(m, 0), SURG_EUNSUPPORTED);
  surg_node *n = surg_graph_first_node(surg_model_graph(m));
  ck_assert_int_eq(surg_node_class(n), SURG_OP_CLASS_CUSTOM);
  ck_assert_int_eq(surg_value_become_input(f.value, NULL), SURG_OK);
  ck_assert_uint_eq(surg_model_open_findings(m), 0);
  ck_assert_int_eq(surg_node_op(n), SURG_OP_Add);
  m = again(m);
  ck_assert_uint_eq(surg_graph_input_count(surg_model_graph(m)), 2);
  surg_model_free(m);
}
END_TEST

START_TEST(edited_models_are_refused) {
  void *bytes;
  size_t n;
  surg_model *m = lenient(of(mb_node("Add", "x nope", "y"), none, none, none));
  surg_node_set_name(surg_graph_first_node(surg_model_graph(m)), "other");
  forget();
  ck_assert_int_eq(surg_model_save_memory(m, &bytes, &n), SURG_EINVALID);
  said("graph.node[0] (Add).input[1] \"nope\": not defined");
  forget();
  ck_assert_int_eq(surg_model_run(&m, "prune"), SURG_EINVALID);
  said("\"nope\": not defined");
  ck_assert_ptr_null(m);
}
END_TEST

START_TEST(kind_of_an_attribute) {
  wire softmax = mb_node("Softmax", "x", "y");
  wire a = {0};
  wire_str(&a, 1, "axis");
  wire_int(&a, 3, 0);
  wire_int(&a, 8, 1);
  wire_int(&a, 20, SURG_ATTR_FLOAT);
  wire_message(&softmax, 5, a);
  surg_model *m = lenient(of(softmax, none, none, none));
  surg_finding f = {.size = sizeof f};
  ck_assert(surg_model_finding(m, 0, &f));
  ck_assert_str_eq(f.code, "E117");
  ck_assert_str_eq(f.attribute, "axis");
  surg_node *n = surg_graph_first_node(surg_model_graph(m));
  ck_assert_ptr_null(surg_node_schema(n));
  ck_assert_int_eq(surg_node_set_int(n, "axis", 0), SURG_OK);
  ck_assert_uint_eq(surg_model_open_findings(m), 0);
  ck_assert_int_eq(surg_node_op(n), SURG_OP_Softmax);
  surg_model_free(again(m));
}
END_TEST

START_TEST(elements_stored_wide) {
  static const char wide[] = {1, 0, 0, 0, 0, 0, 0, 0};
  surg_model *m = lenient(of(mb_node("Where", "c x x", "y"), none, none,
                             mb_vector("c", SURG_BOOL, 2, wide, sizeof wide)));
  only(m, "E119", SURG_READING_CERTAIN);
  ck_assert_int_eq(surg_model_accept_finding(m, 0), SURG_OK);
  m = again(m);
  uint8_t bools[2];
  const surg_tensor *t =
      surg_value_initializer(surg_graph_find_value(surg_model_graph(m), "c"));
  ck_assert_int_eq(surg_tensor_read(t, 0, bools, 2), SURG_OK);
  ck_assert(bools[0] == 1 && bools[1] == 0);
  surg_model_free(m);
}
END_TEST

START_TEST(more_bytes_than_needed) {
  static const float values[3] = {1, 2, 3};
  surg_model *m = lenient(of(mb_node("Add", "x c", "y"), none, none,
                             mb_vector("c", SURG_FLOAT, 2, (const char *)values, sizeof values)));
  only(m, "E119", SURG_READING_CERTAIN);
  ck_assert_int_eq(surg_model_accept_finding(m, 0), SURG_OK);
  m = again(m);
  float read[2];
  const surg_tensor *t =
      surg_value_initializer(surg_graph_find_value(surg_model_graph(m), "c"));
  ck_assert_int_eq(surg_tensor_read(t, 0, read, sizeof read), SURG_OK);
  ck_assert(read[0] == 1 && read[1] == 2);
  surg_model_free(m);
}
END_TEST

/* A reader means the last definition before it. */
START_TEST(a_name_twice) {
  surg_model *m = lenient(
      of(mb_node("Neg", "x", "a"), mb_node("Abs", "a", "a"), mb_node("Relu", "a", "y"), none));
  only(m, "E113", SURG_READING_CERTAIN);
  ck_assert_int_eq(surg_model_accept_finding(m, 0), SURG_OK);
  m = again(m);
  const surg_node *n = surg_graph_last_node(surg_model_graph(m));
  n = surg_value_producer(surg_node_input(n, 0), NULL);
  ck_assert_int_eq(surg_node_op(n), SURG_OP_Abs);
  n = surg_value_producer(surg_node_input(n, 0), NULL);
  ck_assert_int_eq(surg_node_op(n), SURG_OP_Neg);
  surg_model_free(m);
  /* Nothing reads the first one: which is meant is a guess. */
  m = lenient(
      of(mb_node("Neg", "x", "a"), mb_node("Abs", "x", "a"), mb_node("Relu", "a", "y"), none));
  only(m, "E113", SURG_READING_GUESS);
  surg_model_free(m);
}
END_TEST

START_TEST(a_cycle) {
  surg_model *m = lenient(
      of(mb_node("Add", "x b", "a"), mb_node("Neg", "a", "b"), mb_node("Relu", "b", "y"), none));
  only(m, "E114", SURG_READING_NONE);
  surg_graph *g = surg_model_graph(m);
  surg_node *add = surg_graph_first_node(g);
  ck_assert_int_eq(surg_node_set_input(add, 1, surg_graph_input(g, 0)), SURG_OK);
  ck_assert_int_eq(surg_graph_toposort(g, NULL), SURG_OK);
  surg_model_free(again(m));
}
END_TEST

START_TEST(findings_go_with_the_node) {
  surg_model *m = lenient(
      of(mb_node("Relu", "x", "y"), mb_node("Cast", "x", "z"), none, none));
  const surg_finding f = only(m, "E107", SURG_READING_NONE);
  surg_model *copy = surg_model_clone(m);
  surg_finding of_copy = {.size = sizeof of_copy};
  ck_assert(surg_model_finding(copy, 0, &of_copy) && of_copy.node != f.node);
  ck_assert_str_eq(of_copy.text, f.text);
  ck_assert_int_eq(surg_node_erase(f.node), SURG_OK);
  surg_model_free(again(m));
  ck_assert_uint_eq(surg_model_open_findings(copy), 1);
  surg_model_free(copy);
}
END_TEST

/* A finding about elements goes with its initializer, and a copy knows that. */
START_TEST(clone_without_the_initializer) {
  static const float values[3] = {1, 2, 3};
  surg_model *m = lenient(of(mb_node("Neg", "x", "y"), none, none,
                             mb_vector("c", SURG_FLOAT, 2, (const char *)values, sizeof values)));
  surg_value *c = surg_graph_find_value(surg_model_graph(m), "c");
  ck_assert_int_eq(surg_value_erase_initializer(c), SURG_OK);
  surg_model *copy = surg_model_clone(m);
  ck_assert_ptr_nonnull(copy);
  surg_model_free(again(m));
  surg_model_free(again(copy));
}
END_TEST

START_TEST(valid_models_have_none) {
  surg_model *m = lenient(of(mb_node("Relu", "x", "y"), none, none, none));
  ck_assert_uint_eq(surg_model_finding_count(m), 0);
  ck_assert_str_eq(lines, "");
  surg_model_free(m);
}
END_TEST

int main(void) {
  Suite *s = suite_create("load_lenient");
  TCase *t = tcase_create("findings");
  tcase_add_checked_fixture(t, setup, teardown);
  tcase_add_test(t, undefined_input);
  tcase_add_test(t, edited_models_are_refused);
  tcase_add_test(t, kind_of_an_attribute);
  tcase_add_test(t, elements_stored_wide);
  tcase_add_test(t, more_bytes_than_needed);
  tcase_add_test(t, a_name_twice);
  tcase_add_test(t, a_cycle);
  tcase_add_test(t, findings_go_with_the_node);
  tcase_add_test(t, clone_without_the_initializer);
  tcase_add_test(t, valid_models_have_none);
  suite_add_tcase(s, t);
  return run_tests(s);
}
