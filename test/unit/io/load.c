/* SPDX-License-Identifier: Apache-2.0 */
/* Loading: names and scopes, order, operators, control flow, functions, versions, policies. */
#include "load_common.h"

static wire X(void) {
  return mb_value("x", SURG_FLOAT, 2);
}

/* A graph x -> y of up to three nodes; those without bytes are left out. */
static wire graph_of(wire a, wire b, wire c) {
  wire g = {0};
  if (a.p) wire_message(&g, 1, a);
  if (b.p) wire_message(&g, 1, b);
  if (c.p) wire_message(&g, 1, c);
  wire_str(&g, 2, "g");
  wire_message(&g, 11, X());
  wire_message(&g, 12, mb_value("y", SURG_FLOAT, 2));
  return g;
}

static wire one(wire a) {
  return mb_model(graph_of(a, (wire){0}, (wire){0}));
}

static wire two(wire a, wire b) {
  return mb_model(graph_of(a, b, (wire){0}));
}

static wire initializer(const char *name, float v) {
  float two_of[2] = {v, v};
  return mb_vector(name, SURG_FLOAT, 2, two_of, sizeof two_of);
}

/* x -> Add(x, w) -> y with further fields in the graph. */
static wire with_weight(int also_input, int64_t dim) {
  wire g = graph_of(mb_node("Add", "x w", "y"), (wire){0}, (wire){0});
  wire_message(&g, 5, initializer("w", 1));
  if (also_input) wire_message(&g, 11, mb_value("w", SURG_FLOAT, dim));
  return mb_model(g);
}

START_TEST(a_model_is_read) {
  surg_model *m = load_as(with_weight(0, 0), SURG_OK);
  surg_graph *g = surg_model_graph(m);
  ck_assert_str_eq(surg_graph_name(g), "g");
  ck_assert_int_eq(surg_model_ir_version(m), 8);
  ck_assert_int_eq(surg_model_opset(m, ""), 17);
  ck_assert_int_eq(surg_model_opset(m, "ai.onnx"), 17);
  ck_assert_uint_eq(surg_graph_node_count(g), 1);
  surg_node *n = surg_graph_first_node(g);
  surg_value *w = surg_node_input(n, 1);
  ck_assert_ptr_eq(w, surg_graph_find_value(g, "w"));
  ck_assert(surg_value_is_initializer(w) && !surg_value_is_input(w));
  float data[2];
  ck_assert_int_eq(surg_tensor_read(surg_value_constant(w), 0, data, sizeof data), SURG_OK);
  ck_assert(data[0] == 1 && data[1] == 1);
  ck_assert_ptr_eq(surg_graph_output(g, 0), surg_node_output(n, 0));
  ck_assert_int_eq(surg_type_dtype(surg_value_declared_type(surg_graph_input(g, 0))), SURG_FLOAT);
  ck_assert_uint_eq(surg_model_epoch(m), 0);
  surg_model_free(m);
}
END_TEST

START_TEST(names_are_defined_once) {
  refused(two(mb_node("Relu", "x", "y"), mb_node("Abs", "x", "y")),
          "graph.node[1] (Abs).output[0] \"y\": \"y\" is already an output of graph.node[0]");
  refused(one(mb_node("Split", "x", "y y")), "already an output");
  refused(two(mb_node("Relu", "x", "x"), mb_node("Relu", "x", "y")), "graph.input[0] \"x\"");
  wire g = graph_of(mb_node("Relu", "x", "y"), (wire){0}, (wire){0});
  wire_message(&g, 11, X());
  refused(mb_model(g), "\"x\" is already an input");
  g = graph_of(mb_node("Relu", "x", "y"), (wire){0}, (wire){0});
  wire_message(&g, 5, initializer("y", 1));
  refused(mb_model(g), "already an output of");
  g = graph_of(mb_node("Add", "x w", "y"), (wire){0}, (wire){0});
  wire_message(&g, 5, initializer("w", 1));
  wire_message(&g, 5, initializer("w", 2));
  refused(mb_model(g), "\"w\" is already an initializer");
  g = graph_of(mb_node("Relu", "x", "y"), (wire){0}, (wire){0});
  wire_message(&g, 5, mb_vector(NULL, SURG_FLOAT, 1, "1234", 4));
  refused(mb_model(g), "without a name");
  load_ok(one(mb_node("Split", "x", "y - -")));
}
END_TEST

START_TEST(names_are_defined_at_all) {
  refused(one(mb_node("Add", "x nope", "y")), "graph.node[0] (Add).input[1] \"nope\": not defined");
  refused(one(mb_node("Relu", "x", "z")), "graph.output[0] \"y\": not defined");
  wire g = graph_of((wire){0}, (wire){0}, (wire){0}); /* the output is an initializer: legal */
  wire_message(&g, 5, initializer("y", 1));
  load_ok(mb_model(g));
}
END_TEST

START_TEST(defaults_of_inputs) {
  surg_model *m = load_as(with_weight(1, 2), SURG_OK);
  surg_value *w = surg_graph_find_value(surg_model_graph(m), "w");
  ck_assert(surg_value_is_input(w) && surg_value_is_initializer(w));
  ck_assert_ptr_null(surg_value_constant(w)); /* a caller may override it */
  ck_assert_ptr_nonnull(surg_value_initializer(w));
  surg_model_free(m);
  options.freeze_inputs = true;
  m = load_as(with_weight(1, 2), SURG_OK);
  ck_assert_ptr_nonnull(surg_value_constant(surg_graph_find_value(surg_model_graph(m), "w")));
  surg_model_free(m);
  options.freeze_inputs = false;
  refused(with_weight(1, 3), "another than that of the input");
}
END_TEST

static wire branch(const char *op, const char *in, const char *out) {
  wire g = {0};
  wire_message(&g, 1, mb_node(op, in, out));
  wire_str(&g, 2, "b");
  wire_message(&g, 12, mb_value(out, SURG_FLOAT, 2));
  return g;
}

static wire if_node(wire then_branch, wire else_branch, const char *out) {
  wire n = mb_node("If", "c", out);
  mb_attr_graph(&n, "then_branch", then_branch);
  if (else_branch.p) mb_attr_graph(&n, "else_branch", else_branch);
  return n;
}

static wire with_condition(wire g) {
  wire t = mb_tensor("c", SURG_BOOL, NULL, 0);
  wire_bytes(&t, 9, "\1", 1);
  wire_message(&g, 5, t);
  return mb_model(g);
}

static wire if_model(wire then_branch, wire else_branch, wire before, wire after) {
  wire g = {0};
  if (before.p) wire_message(&g, 1, before);
  wire_message(&g, 1, if_node(then_branch, else_branch, "y"));
  if (after.p) wire_message(&g, 1, after);
  wire_str(&g, 2, "g");
  wire_message(&g, 11, X());
  wire_message(&g, 12, mb_value("y", SURG_FLOAT, 2));
  return with_condition(g);
}

static const wire none;

START_TEST(captures_cross_scopes) {
  surg_model *m = load_as(
      if_model(branch("Neg", "t", "o"), branch("Abs", "x", "o"), mb_node("Relu", "x", "t"), none),
      SURG_OK);
  surg_graph *g = surg_model_graph(m);
  surg_graph *then_branch = surg_node_subgraph(surg_graph_last_node(g), 0);
  surg_value *t = surg_graph_find_value(g, "t");
  ck_assert_ptr_eq(surg_node_input(surg_graph_first_node(then_branch), 0), t);
  ck_assert_ptr_eq(surg_graph_parent(then_branch), g);
  surg_model_free(m);
  /* An inner name hides an outer one. */
  m = load_as(
      if_model(branch("Neg", "x", "t"), branch("Abs", "x", "o"), mb_node("Relu", "x", "t"), none),
      SURG_OK);
  g = surg_model_graph(m);
  then_branch = surg_node_subgraph(surg_graph_last_node(g), 0);
  ck_assert_ptr_ne(surg_graph_output(then_branch, 0), surg_graph_find_value(g, "t"));
  surg_model_free(m);
  refused(if_model(branch("Neg", "nope", "o"), branch("Abs", "x", "o"), none, none),
          "graph.node[0] (If).then_branch.node[0] (Neg).input[0] \"nope\": not defined");
}
END_TEST

START_TEST(order_does_not_matter_but_cycles_do) {
  surg_model *m = load_as(two(mb_node("Relu", "t", "y"), mb_node("Abs", "x", "t")), SURG_OK);
  ck_assert_uint_eq(notes, 1);
  said("nodes were sorted");
  ck_assert_str_eq(surg_node_op_type(surg_graph_first_node(surg_model_graph(m))), "Abs");
  surg_model_free(m);
  /* Sorting does not stand in for other checks. */
  refused(two(mb_node("Add", "t -", "y"), mb_node("Abs", "x", "t")), "is absent");
  /* A branch captures what is made after its node. */
  m = load_as(
      if_model(branch("Neg", "t", "o"), branch("Abs", "x", "o"), none, mb_node("Relu", "x", "t")),
      SURG_OK);
  ck_assert_str_eq(surg_node_op_type(surg_graph_first_node(surg_model_graph(m))), "Relu");
  surg_model_free(m);
  refused(two(mb_node("Add", "x y", "t"), mb_node("Relu", "t", "y")), "cycle");
  refused(one(mb_node("Add", "x y", "y")), "cycle");
  refused(if_model(branch("Neg", "y", "o"), branch("Abs", "x", "o"), none, none), "cycle");
  refused(
      if_model(branch("Neg", "t", "o"), branch("Abs", "x", "o"), none, mb_node("Relu", "y", "t")),
      "cycle");
}
END_TEST

START_TEST(control_flow_has_its_bodies) {
  load_ok(if_model(branch("Neg", "x", "o"), branch("Abs", "x", "p"), none, none));
  refused(if_model(branch("Neg", "x", "o"), none, none, none),
          "required attribute \"else_branch\"");
  wire twice = branch("Neg", "x", "o");
  wire_message(&twice, 12, mb_value("o", SURG_FLOAT, 2));
  refused(if_model(twice, branch("Abs", "x", "p"), none, none), "2 outputs instead of 1");
  wire taking = branch("Neg", "x", "o");
  wire_message(&taking, 11, mb_value("i", SURG_FLOAT, 2));
  refused(if_model(taking, branch("Abs", "x", "p"), none, none), "1 input instead of 0");
  wire loop = mb_node("Loop", "- c x", "y");
  mb_attr_graph(&loop, "body", branch("Identity", "c", "o"));
  refused(with_condition(graph_of(loop, none, none)), "0 inputs instead of 3");
}
END_TEST

START_TEST(operators_are_checked) {
  refused(one(mb_node("Relu", "x x", "y")), "2 inputs; Relu expects at most 1");
  refused(one(mb_node("Add", "x", "y")), "1 inputs; Add expects at least 2");
  refused(one(mb_node("Add", "x -", "y")), "input 1 \"B\" of Add is absent");
  refused(one(mb_node("Cast", "x", "y")), "required attribute \"to\"");
  refused(one(mb_node("", "x", "y")), "no op_type");
  refused(one(mb_node("Constant", "", "y")), "0 values instead of one");
  wire n = mb_node("Transpose", "x", "y");
  mb_attr_int(&n, "perm", 1);
  refused(one(n), "attribute[0] \"perm\": is of kind int; Transpose expects ints");
  n = mb_node("LeakyRelu", "x", "y");
  wire a = {0};
  wire_str(&a, 1, "alpha");
  wire_int(&a, 3, 1);
  wire_int(&a, 20, 1);
  wire_message(&n, 5, a);
  refused(one(n), "a field that its type does not use");
  n = mb_node("Flatten", "x", "y");
  mb_attr_int(&n, "axis", 1);
  mb_attr_int(&n, "axis", 0);
  refused(one(n), "an earlier attribute has this name");
  n = mb_node("Gather", "x x", "y");
  for (int i = 0; i < 20; i++)
    mb_attr_int(&n, i == 3 || i == 17 ? "axis" : (char[]){(char)('a' + i), 0}, 0);
  refused(one(n), "attribute[17] \"axis\": an earlier attribute");
}
END_TEST

START_TEST(unknown_operators_pass) {
  load_ok(one(mb_node_in("com.acme", "Foo", "x", "y")));
  load_ok(one(mb_node("Foo", "x", "y")));
  options.policy = SURG_LOAD_CHECK;
  ck_assert_ptr_null(load_as(one(mb_node_in("com.acme", "Foo", "x", "y")), SURG_EINVALID));
  said("does not import domain \"com.acme\"");
  ck_assert_ptr_null(load_as(one(mb_node("Foo", "x", "y")), SURG_EINVALID));
  said("no such operator");
}
END_TEST

static wire versioned(int64_t ir, int64_t opset, int64_t second, const char *domain) {
  wire m = {0};
  wire_int(&m, 1, (uint64_t)ir);
  wire_message(&m, 7, graph_of(mb_node("Relu", "x", "y"), none, none));
  if (opset != INT64_MAX) mb_import(&m, 8, "", opset);
  if (second) mb_import(&m, 8, domain, second);
  return m;
}

START_TEST(versions_are_checked) {
  refused(versioned(0, 17, 0, ""), "IR version 0");
  refused(versioned(-1, 17, 0, ""), "IR version -1");
  refused(versioned(8, 0, 0, ""), "opset version 0");
  refused(versioned(8, (int64_t)1 << 31, 0, ""), "opset version 2147483648");
  refused(versioned(8, INT64_MIN, 0, ""), "opset version -");
  refused(versioned(8, 17, 9, ""), "versions 17 and 9");
  refused(versioned(8, 17, 9, "ai.onnx"), "versions 17 and 9");
  load_ok(versioned(8, 17, 17, "ai.onnx"));
  refused(versioned(8, INT64_MAX, 0, ""), "imports no opset");
  surg_model *old = load_as(versioned(1, INT64_MAX, 0, ""), SURG_OK);
  ck_assert_int_eq(surg_model_opset(old, ""), 1);
  ck_assert_int_eq(surg_node_class(surg_graph_first_node(surg_model_graph(old))),
                   SURG_OP_CLASS_BUILTIN);
  surg_model_free(old);
  load_ok(versioned(99, 17, 0, ""));
  ck_assert_uint_eq(warnings, 1);
  load_ok(versioned(8, 9999, 0, ""));
  ck_assert_uint_eq(warnings, 1);
  wire m = {0};
  wire_int(&m, 1, 8);
  mb_import(&m, 8, "", 17);
  refused(m, "no graph");
}
END_TEST

/* Function d.NAME(a) -> b of one node. */
static wire function(const char *name, wire node) {
  wire f = {0};
  wire_str(&f, 1, name);
  wire_str(&f, 4, "a");
  wire_str(&f, 5, "b");
  wire_message(&f, 7, node);
  mb_import(&f, 9, "", 17);
  mb_import(&f, 9, "d", 1);
  wire_str(&f, 10, "d");
  return f;
}

/* A chain F0 -> F1 -> ... of n functions, each calling the next `times` times. */
static wire chain(unsigned n, unsigned times) {
  wire m = one(mb_node_in("d", "F0", "x", "y"));
  mb_import(&m, 8, "d", 1);
  for (unsigned i = 0; i < n; i++) {
    char name[16], next[16];
    snprintf(name, sizeof name, "F%u", i);
    snprintf(next, sizeof next, "F%u", i + 1);
    wire f =
        function(name, i + 1 < n ? mb_node_in("d", next, "a", "b") : mb_node("Relu", "a", "b"));
    for (unsigned k = 1; k < times && i + 1 < n; k++) {
      char out[16];
      snprintf(out, sizeof out, "o%u", k);
      wire_message(&f, 7, mb_node_in("d", next, "a", out));
    }
    wire_message(&m, 25, f);
  }
  return m;
}

START_TEST(functions_are_read) {
  surg_model *m = load_as(chain(2, 1), SURG_OK);
  ck_assert_uint_eq(surg_model_function_count(m), 2);
  surg_function *f = surg_model_find_function(m, "d", "F1", "");
  ck_assert_ptr_nonnull(f);
  ck_assert_int_eq(surg_function_opset(f, ""), 17);
  surg_node *call = surg_graph_first_node(surg_model_graph(m));
  ck_assert_int_eq(surg_node_class(call), SURG_OP_CLASS_FUNCTION);
  surg_model_free(m);
  wire w = chain(1, 1);
  wire_message(&w, 25, function("F0", mb_node("Neg", "a", "b")));
  refused(w, "function[1] \"d.F0\"");
  w = one(mb_node_in("d", "F", "x x", "y"));
  wire_message(&w, 25, function("F", mb_node("Neg", "a", "b")));
  refused(w, "2 inputs; the function expects 1");
}
END_TEST

START_TEST(recursion_is_refused) {
  wire w = one(mb_node_in("d", "F", "x", "y"));
  wire_message(&w, 25, function("F", mb_node_in("d", "F", "a", "b")));
  refused(w, "calls itself");
  w = one(mb_node("Relu", "x", "y")); /* even where it is never called, and within a branch */
  wire n = if_node(branch("Neg", "a", "o"), none, "b");
  wire inner = {0};
  wire_message(&inner, 1, mb_node_in("d", "G", "a", "p"));
  wire_message(&inner, 12, mb_value("p", SURG_FLOAT, 2));
  mb_attr_graph(&n, "else_branch", inner);
  wire f = function("G", n);
  wire_str(&f, 4, "c");
  wire_message(&w, 25, f);
  refused(w, "calls itself");
}
END_TEST

START_TEST(calls_are_bounded) {
  load_ok(chain(100, 1));
  surg_model_free(load_as(chain(101, 1), SURG_ELIMIT));
  said("100 deep");
}
END_TEST

START_TEST(inlined_nodes_are_bounded) {
  load_ok(chain(19, 2));
  surg_model_free(load_as(chain(21, 2), SURG_ELIMIT));
  said("inlined");
  surg_model_free(load_as(chain(90, 2), SURG_ELIMIT)); /* saturates */
}
END_TEST

START_TEST(check_lists_everything) {
  options.policy = SURG_LOAD_CHECK;
  wire g = graph_of(mb_node("Add", "x nope", "t"), mb_node("Cast", "gone", "y"),
                    mb_node("Relu", "x", "t"));
  wire_message(&g, 5, mb_vector("w", SURG_FLOAT, 3, "1234", 4));
  ck_assert_ptr_null(load_as(mb_model(g), SURG_EINVALID));
  said("\"nope\": not defined");
  said("\"gone\": not defined");
  said("\"t\" is already");
  said("required attribute \"to\"");
  said("raw_data has 4 bytes");
  ck_assert_uint_eq(errors, 5);
  ck_assert_ptr_null(
      load_as(two(mb_node("Relu", "t", "y"), mb_node("Abs", "x", "t")), SURG_EINVALID));
  said("a later node computes");
  ck_assert_ptr_null(load_as(with_weight(0, 0), SURG_OK));
  ck_assert_str_eq(lines, "");
}
END_TEST

START_TEST(repair_drops_twins) {
  options.policy = SURG_LOAD_REPAIR;
  wire g = graph_of(mb_node("Add", "x w", "y"), none, none);
  wire_message(&g, 5, initializer("w", 1));
  wire_message(&g, 5, initializer("w", 1));
  wire_message(&g, 11, X());
  surg_model *m = load_as(mb_model(g), SURG_OK);
  ck_assert_uint_eq(notes, 2);
  ck_assert_uint_eq(surg_graph_initializer_count(surg_model_graph(m)), 1);
  ck_assert_uint_eq(surg_graph_input_count(surg_model_graph(m)), 1);
  void *bytes;
  size_t n;
  ck_assert_int_eq(surg_model_save_memory(m, &bytes, &n), SURG_OK);
  surg_model_free(m);
  options.policy = SURG_LOAD_STRICT;
  ck_assert_int_eq(surg_model_load_memory(ctx, bytes, n, "again", &options, &m), SURG_OK);
  surg_model_free(m);
  surg_context_free_bytes(ctx, bytes);
  options.policy = SURG_LOAD_REPAIR;
  g = graph_of(mb_node("Add", "x w", "y"), none, none);
  wire_message(&g, 5, initializer("w", 1));
  wire_message(&g, 5, initializer("w", 2));
  refused(mb_model(g), "already an initializer");
}
END_TEST

START_TEST(references_outside_the_graph) {
  wire g = graph_of(mb_node("Relu", "x", "t"), mb_node("Neg", "t", "y"), none);
  wire param = {0}, note = {0}, config = {0}, spec = {0}, training = {0}, binding = {0};
  wire_str(&param, 1, "SCALE_TENSOR");
  wire_str(&param, 2, "x");
  wire_str(&note, 1, "t");
  wire_message(&note, 2, param);
  wire_message(&g, 14, note);
  wire n = mb_node("Abs", "t", "s");
  wire_str(&spec, 1, "t");
  wire_message(&config, 2, spec);
  wire_message(&n, 10, config);
  wire_message(&g, 1, n);
  wire w = mb_model(g);
  wire_str(&binding, 1, "t");
  wire_str(&binding, 2, "elsewhere");
  wire_message(&training, 4, binding);
  wire_message(&w, 20, training);
  surg_model *m = load_as(w, SURG_OK);
  surg_value *t = surg_graph_find_value(surg_model_graph(m), "t");
  size_t soft = 0;
  for (surg_use *u = surg_value_first_use(t); u; u = surg_use_next(u))
    soft += surg_use_get_kind(u) == SURG_USE_SOFT;
  ck_assert_uint_eq(soft, 3);
  ck_assert_uint_eq(surg_value_use_count(t, 10), 2);
  ck_assert(surg_value_is_pinned(t));
  ck_assert(!surg_value_is_pinned(surg_graph_find_value(surg_model_graph(m), "x")));
  surg_model_free(m);
}
END_TEST

START_TEST(texts_are_loaded_too) {
  static const char text[] =
      "\n <ir_version: 8, opset_import: [\"\" : 17]>\n"
      "g (float[2] x) => (float[2] y) { y = Relu (x) }\n";
  surg_model *m = NULL;
  surg_status status = surg_model_load_memory(ctx, text, sizeof text - 1, "t", NULL, &m);
  ck_assert_msg(status == SURG_OK, "%s", lines);
  ck_assert_uint_eq(surg_graph_node_count(surg_model_graph(m)), 1);
  surg_model_free(m);
  ck_assert_int_eq(surg_model_load_memory(ctx, "", 0, "t", NULL, &m), SURG_EINVALID);
  said("empty");
}
END_TEST

int main(void) {
  Suite *s = suite_create("load");
  TCase *t = tcase_create("load");
  tcase_set_timeout(t, 60);
  tcase_add_checked_fixture(t, setup, teardown);
  tcase_add_test(t, a_model_is_read);
  tcase_add_test(t, names_are_defined_once);
  tcase_add_test(t, names_are_defined_at_all);
  tcase_add_test(t, defaults_of_inputs);
  tcase_add_test(t, captures_cross_scopes);
  tcase_add_test(t, order_does_not_matter_but_cycles_do);
  tcase_add_test(t, control_flow_has_its_bodies);
  tcase_add_test(t, operators_are_checked);
  tcase_add_test(t, unknown_operators_pass);
  tcase_add_test(t, versions_are_checked);
  tcase_add_test(t, functions_are_read);
  tcase_add_test(t, recursion_is_refused);
  tcase_add_test(t, calls_are_bounded);
  tcase_add_test(t, inlined_nodes_are_bounded);
  tcase_add_test(t, check_lists_everything);
  tcase_add_test(t, repair_drops_twins);
  tcase_add_test(t, references_outside_the_graph);
  tcase_add_test(t, texts_are_loaded_too);
  suite_add_tcase(s, t);
  return run_tests(s);
}
