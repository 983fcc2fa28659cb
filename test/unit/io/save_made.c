/* SPDX-License-Identifier: Apache-2.0 */
/* Saving of models and parts that are made, not loaded. */
#include <stdio.h>
#include <stdlib.h>

#include "save_twin.h"

START_TEST(a_model_made_from_nothing) {
  surg_model *m = surg_model_new(ctx, 8, 17);
  surg_graph *g = surg_model_graph(m);
  const surg_dim dims[3] = {{-1, "N"}, {3, NULL}, {-1, NULL}};
  const surg_type *type = surg_type_tensor(m, SURG_FLOAT, dims, 3);
  surg_value *x = surg_graph_add_input(g, "x", type);
  surg_node *n = surg_graph_add_node(g, NULL, "some.domain", "Op", 2);
  ck_assert_int_eq(surg_node_set_input(n, 0, x), SURG_OK);
  ck_assert_int_eq(surg_node_set_input(n, 1, NULL), SURG_OK);
  ck_assert_int_eq(surg_node_set_input(n, 2, x), SURG_OK);
  ck_assert_int_eq(surg_value_rename(surg_node_output(n, 0), "y0"), SURG_OK);
  ck_assert_int_eq(surg_value_rename(surg_node_output(n, 1), "y1"), SURG_OK);
  static const int64_t ints[2] = {-1, 300};
  static const float floats[2] = {0.5f, -0.0f};
  const surg_str strings[2] = {{"a\0b", 3}, {"", 0}};
  surg_node_set_int(n, "i", -2);
  surg_node_set_float(n, "f", 1.5f);
  surg_node_set_string(n, "s", "text");
  surg_node_set_ints(n, "is", ints, 2);
  surg_node_set_floats(n, "fs", floats, 2);
  surg_node_set_strings(n, "ss", strings, 2);
  ck_assert_int_eq(surg_graph_add_output(g, surg_node_output(n, 1), type), SURG_OK);
  wire node = {0}, a = {0}, b = {0}, c = {0}, d = {0}, e = {0}, f = {0};
  wire_str(&node, 1, "x");
  wire_str(&node, 1, "");
  wire_str(&node, 1, "x");
  wire_str(&node, 2, "y0");
  wire_str(&node, 2, "y1");
  if (*surg_node_name(n)) wire_str(&node, 3, surg_node_name(n));
  wire_str(&node, 4, "Op");
  wire_str(&a, 1, "i");
  wire_int(&a, 3, (uint64_t)-2);
  wire_int(&a, 20, 2);
  wire_message(&node, 5, a);
  uint32_t bits;
  wire_str(&b, 1, "f");
  wire_varint(&b, 2 << 3 | 5);
  memcpy(&bits, &(float){1.5f}, 4);
  wire_put(&b, &bits, 4);
  wire_int(&b, 20, 1);
  wire_message(&node, 5, b);
  wire_str(&c, 1, "s");
  wire_str(&c, 4, "text");
  wire_int(&c, 20, 3);
  wire_message(&node, 5, c);
  wire_str(&d, 1, "is");
  wire_int(&d, 8, (uint64_t)-1);
  wire_int(&d, 8, 300);
  wire_int(&d, 20, 7);
  wire_message(&node, 5, d);
  wire_str(&e, 1, "fs");
  for (int i = 0; i < 2; i++) wire_varint(&e, 7 << 3 | 5), wire_put(&e, &floats[i], 4);
  wire_int(&e, 20, 6);
  wire_message(&node, 5, e);
  wire_str(&f, 1, "ss");
  wire_bytes(&f, 9, "a\0b", 3);
  wire_str(&f, 9, "");
  wire_int(&f, 20, 8);
  wire_message(&node, 5, f);
  wire_str(&node, 7, "some.domain");
  wire whole = {0};
  wire_message(&whole, 1, node);
  void *p;
  size_t size;
  ck_assert_int_eq(surg_model_save_memory(m, &p, &size), SURG_OK);
  ck_assert(wire_has(p, size, whole.p, whole.n));
  wire shape = {0}, n_dim = {0}, three = {0}, unknown = {0};
  wire_str(&n_dim, 2, "N");
  wire_int(&three, 1, 3);
  wire_message(&shape, 1, n_dim);
  wire_message(&shape, 1, three);
  wire_message(&shape, 1, unknown);
  ck_assert(wire_has(p, size, shape.p, shape.n));
  surg_model *again;
  ck_assert_int_eq(surg_model_load_memory(ctx, p, size, "again", NULL, &again), SURG_OK);
  ck_assert(surg_type_equal(surg_value_declared_type(surg_graph_input(surg_model_graph(again), 0)),
                            type));
  free(whole.p);
  free(shape.p);
  surg_context_free_bytes(ctx, p);
  surg_model_free(again);
  surg_model_free(m);
}
END_TEST

/* A type read from a file is written as it was there: negative and symbolic dims, denotations,
 * every kind. */
static wire typed_info(const char *name, wire type) {
  wire v = {0};
  wire_str(&v, 1, name);
  wire_message(&v, 2, type);
  return v;
}

static wire tensor_type(unsigned number, bool odd) {
  wire type = {0}, tensor = {0}, shape = {0}, dim = {0}, batch = {0};
  wire_int(&tensor, 1, SURG_INT64);
  if (odd) wire_int(&dim, 1, (uint64_t)-7);
  if (odd) wire_str(&dim, 3, "DATA_CHANNEL");
  wire_str(&batch, 2, "batch");
  wire_message(&shape, 1, batch);
  wire_message(&shape, 1, dim);
  wire_message(&tensor, 2, shape);
  wire_message(&type, number, tensor);
  return type;
}

static wire any_type(int kind) {
  wire t = {0}, body = {0};
  switch (kind) {
    case 0:
      t = tensor_type(1, true);
      wire_str(&t, 6, "IMAGE");
      return t;
    case 1: /* sequence */
      wire_message(&body, 1, tensor_type(1, false));
      wire_message(&t, 4, body);
      return t;
    case 2: /* map */
      wire_int(&body, 1, SURG_STRING);
      wire_message(&body, 2, tensor_type(1, true));
      wire_message(&t, 5, body);
      return t;
    case 3: /* optional */
      wire_message(&body, 1, tensor_type(1, true));
      wire_str(&t, 6, "MAYBE");
      wire_message(&t, 9, body);
      return t;
    case 4: /* sparse */
      return tensor_type(8, true);
    default: /* opaque */
      wire_str(&body, 1, "dom");
      wire_str(&body, 2, "thing");
      wire_message(&t, 7, body);
      return t;
  }
}

static wire typed_model(wire other) {
  wire m = {0}, g = {0};
  wire_str(&g, 2, "g");
  for (int kind = 0; kind < 6; kind++) {
    char name[2] = {(char)('a' + kind), 0};
    wire_message(&g, 11, typed_info(name, any_type(kind)));
  }
  wire_message(&g, 11, typed_info("target", other));
  wire_message(&g, 12, typed_info("a", any_type(0)));
  wire_int(&m, 1, 8);
  wire_message(&m, 7, g);
  wire_message(&m, 8, import("", 17));
  return m;
}

START_TEST(types_are_written_as_they_were_read) {
  for (int kind = 0; kind < 6; kind++) {
    surg_model *m = load(typed_model(any_type(kind == 0)));
    surg_graph *g = surg_model_graph(m);
    const surg_type *t = surg_value_declared_type(surg_graph_input(g, (size_t)kind));
    ck_assert_ptr_nonnull(t);
    ck_assert_int_eq(surg_value_set_declared_type(value(m, "target"), t), SURG_OK);
    expect(m, typed_model(any_type(kind)));
  }
}
END_TEST

/* A tensor that goes from an attribute to an initializer keeps its payload as it was written. */
START_TEST(a_constant_becomes_an_initializer) {
  wire m = {0}, g = {0}, n = {0}, a = {0}, t = {0}, packed = {0};
  wire_varint(&packed, 5);
  wire_varint(&packed, (uint64_t)-1);
  wire_int(&t, 1, 2);
  wire_int(&t, 2, SURG_INT64);
  wire_bytes(&t, 7, packed.p, packed.n);
  wire_str(&a, 1, "value");
  wire_message(&a, 5, t);
  wire_int(&a, 20, 4);
  wire_str(&n, 2, "k");
  wire_str(&n, 4, "Constant");
  wire_message(&n, 5, a);
  wire_message(&g, 1, n);
  wire_str(&g, 2, "g");
  wire_message(&g, 12, value_info("k", SURG_INT64, false));
  wire_int(&m, 1, 8);
  wire_message(&m, 7, g);
  wire_message(&m, 8, import("", 17));
  surg_model *model = load(m);
  surg_graph *graph = surg_model_graph(model);
  surg_tensor *constant = surg_value_constant(value(model, "k"));
  surg_value *v = surg_graph_constant(graph, NULL, "made", constant);
  ck_assert_ptr_nonnull(v);
  wire init = {0}, whole = {0};
  wire_int(&init, 1, 2);
  wire_int(&init, 2, SURG_INT64);
  wire_str(&init, 8, surg_value_name(v));
  wire_bytes(&init, 7, packed.p, packed.n);
  wire_message(&whole, 5, init);
  void *p;
  size_t size;
  ck_assert_int_eq(surg_model_save_memory(model, &p, &size), SURG_OK);
  ck_assert(wire_has(p, size, whole.p, whole.n));
  surg_context_free_bytes(ctx, p);
  surg_model_free(model);
  free(whole.p);
  free(packed.p);
}
END_TEST

/* The default of a function's attribute, copied to a node: the same message under another number.
 */
START_TEST(an_attribute_is_copied_from_a_function) {
  wire saved[2];
  for (int i = 0; i < 2; i++) {
    wire m = {0}, g = {0}, f = {0}, n = {0}, call = {0}, alpha = {0}, ref = {0};
    wire_str(&alpha, 1, "alpha");
    wire_varint(&alpha, 2 << 3 | 5);
    wire_put(&alpha, &(float){0.5f}, 4);
    wire_str(&alpha, 13, "documented");
    wire_int(&alpha, 20, 1);
    wire_str(&call, 1, "x");
    wire_str(&call, 2, "y");
    wire_str(&call, 4, "f");
    wire_str(&call, 7, "dom");
    if (i) wire_bytes(&call, 5, alpha.p, alpha.n); /* what had no place goes to the end */
    wire_message(&g, 1, call);
    wire_str(&g, 2, "g");
    wire_message(&g, 11, value_info("x", 1, false));
    wire_message(&g, 12, value_info("y", 1, false));
    wire_str(&ref, 1, "alpha");
    wire_int(&ref, 20, 1);
    wire_str(&ref, 21, "alpha");
    wire_str(&n, 1, "a");
    wire_str(&n, 2, "b");
    wire_str(&n, 4, "LeakyRelu");
    wire_message(&n, 5, ref);
    wire_str(&f, 1, "f");
    wire_str(&f, 4, "a");
    wire_str(&f, 5, "b");
    wire_message(&f, 7, n);
    wire_message(&f, 9, import("", 17));
    wire_str(&f, 10, "dom");
    wire_message(&f, 11, alpha);
    wire_int(&m, 1, 9);
    wire_message(&m, 7, g);
    wire_message(&m, 8, import("", 17));
    wire_message(&m, 8, import("dom", 1));
    wire_message(&m, 25, f);
    saved[i] = m;
  }
  surg_model *m = load(saved[0]);
  const surg_attr *alpha = surg_function_attr_default(surg_model_function(m, 0), 0);
  surg_node *call = surg_graph_first_node(surg_model_graph(m));
  ck_assert_int_eq(surg_node_copy_attr(call, alpha), SURG_OK);
  expect(m, saved[1]);
}
END_TEST

/* A branch that moves into a function body takes its initializers along; a function has no place
 * for them but Constant nodes. */
START_TEST(initializers_of_a_function_are_constants) {
  static const float data[2] = {4, 5};
  wire m = {0}, g = {0}, f = {0}, call = {0}, choice = {0}, then = {0}, other = {0}, n = {0};
  wire init = {0}, keep = {0};
  wire_str(&n, 1, "a");
  wire_str(&n, 1, "k");
  wire_str(&n, 2, "t");
  wire_str(&n, 4, "Add");
  wire_message(&then, 1, n);
  wire_str(&then, 2, "then");
  wire_int(&init, 1, 2);
  wire_int(&init, 2, SURG_FLOAT);
  wire_str(&init, 8, "k");
  wire_bytes(&init, 9, data, sizeof data);
  wire_message(&then, 5, init);
  wire_message(&then, 12, value_info("t", 1, false));
  wire_str(&keep, 1, "a");
  wire_str(&keep, 2, "e");
  wire_str(&keep, 4, "Identity");
  wire_message(&other, 1, keep);
  wire_str(&other, 2, "else");
  wire_message(&other, 12, value_info("e", 1, false));
  wire_str(&choice, 1, "c");
  wire_str(&choice, 2, "b");
  wire_str(&choice, 4, "If");
  wire_message(&choice, 5, graph_attr("then_branch", then));
  wire_message(&choice, 5, graph_attr("else_branch", other));
  wire_str(&f, 1, "f");
  wire_str(&f, 4, "a");
  wire_str(&f, 4, "c");
  wire_str(&f, 5, "b");
  wire_message(&f, 7, choice);
  wire_message(&f, 9, import("", 17));
  wire_str(&f, 10, "dom");
  wire_str(&call, 1, "x");
  wire_str(&call, 1, "c");
  wire_str(&call, 2, "y");
  wire_str(&call, 4, "f");
  wire_str(&call, 7, "dom");
  wire_message(&g, 1, call);
  wire_str(&g, 2, "g");
  wire_message(&g, 11, value_info("x", 1, false));
  wire_message(&g, 11, value_info("c", 9, false));
  wire_message(&g, 12, value_info("y", 1, false));
  wire_int(&m, 1, 8);
  wire_message(&m, 7, g);
  wire_message(&m, 8, import("", 17));
  wire_message(&m, 8, import("dom", 1));
  wire_message(&m, 25, f);
  surg_model *model = load(m);
  surg_graph *body = surg_function_graph(surg_model_function(model, 0));
  surg_node *node = surg_graph_first_node(body);
  surg_graph *branch_graph = surg_node_subgraph(node, 0);
  surg_value *result = surg_graph_output(branch_graph, 0);
  ck_assert_int_eq(surg_graph_hoist(branch_graph, node), SURG_OK);
  ck_assert_int_eq(surg_value_replace(surg_node_output(node, 0), result), SURG_OK);
  ck_assert_int_eq(surg_node_erase(node), SURG_OK);
  void *p;
  size_t size;
  ck_assert_int_eq(surg_model_save_memory(model, &p, &size), SURG_OK);
  surg_model_free(model);
  ck_assert_int_eq(surg_model_load_memory(ctx, p, size, "again", NULL, &model), SURG_OK);
  surg_context_free_bytes(ctx, p);
  body = surg_function_graph(surg_model_function(model, 0));
  ck_assert_uint_eq(surg_graph_node_count(body), 2);
  node = surg_graph_first_node(body);
  ck_assert_str_eq(surg_node_op_type(node), "Constant");
  float got[2];
  surg_tensor *t = surg_value_constant(surg_node_output(node, 0));
  ck_assert_int_eq(surg_tensor_read(t, 0, got, sizeof got), SURG_OK);
  ck_assert_mem_eq(got, data, sizeof data);
  ck_assert_str_eq(surg_node_op_type(surg_node_next(node)), "Add");
  surg_model_free(model);
}
END_TEST

/* A sparse initializer bears its name inside, on its values. */
START_TEST(a_sparse_initializer_is_renamed) {
  wire saved[2];
  for (int i = 0; i < 2; i++) {
    static const float data[1] = {4};
    static const int64_t at[1] = {1};
    wire m = {0}, g = {0}, n = {0}, sparse = {0}, values = {0}, indices = {0};
    const char *name = i ? "renamed" : "s";
    wire_int(&values, 1, 1);
    wire_int(&values, 2, SURG_FLOAT);
    wire_str(&values, 8, name);
    wire_bytes(&values, 9, data, sizeof data);
    wire_str(&values, 12, "doc");
    wire_int(&indices, 1, 1);
    wire_int(&indices, 2, SURG_INT64);
    wire_bytes(&indices, 9, at, sizeof at);
    wire_message(&sparse, 1, values);
    wire_message(&sparse, 2, indices);
    wire_int(&sparse, 3, 2);
    wire_str(&n, 1, "x");
    wire_str(&n, 1, name);
    wire_str(&n, 2, "y");
    wire_str(&n, 4, "Add");
    wire_message(&g, 1, n);
    wire_str(&g, 2, "g");
    wire_message(&g, 11, value_info("x", 1, false));
    wire_message(&g, 12, value_info("y", 1, false));
    wire_message(&g, 15, sparse);
    wire_int(&m, 1, 8);
    wire_message(&m, 7, g);
    wire_message(&m, 8, import("", 17));
    saved[i] = m;
  }
  surg_model *m = load(saved[0]);
  ck_assert_int_eq(surg_value_rename(value(m, "s"), "renamed"), SURG_OK);
  expect(m, saved[1]);
}
END_TEST

/* What could not be read back is not written. */
START_TEST(nesting_is_bounded) {
  surg_model *m = surg_model_new(ctx, 8, 17);
  surg_graph *g = surg_model_graph(m);
  surg_status s = SURG_OK;
  void *p;
  size_t n;
  int depth = 0;
  for (; depth < 60 && s == SURG_OK; depth++) {
    surg_node *node = surg_graph_add_node(g, NULL, "dom", "Deep", 1);
    g = surg_node_set_graph(node, "body", "inner");
    ck_assert_ptr_nonnull(g);
    s = surg_model_save_memory(m, &p, &n);
    if (s == SURG_OK) surg_context_free_bytes(ctx, p);
  }
  ck_assert_int_eq(s, SURG_ELIMIT);
  ck_assert_int_eq(depth, 37); /* a graph, and three messages for each one in it */
  surg_context_clear_error(ctx);
  surg_model_free(m);
}
END_TEST

/* Fields in an order of their own: what is kept stays where it stood. */
START_TEST(an_odd_order_of_fields_is_kept) {
  wire m = {0}, g = {0}, n = {0};
  wire_str(&n, 4, "Relu");
  wire_str(&n, 2, "y");
  wire_str(&n, 6, "doc");
  wire_str(&n, 1, "x");
  wire_message(&g, 12, value_info("y", 1, true));
  wire_str(&g, 2, "odd");
  wire_message(&g, 11, value_info("x", 1, true));
  wire_message(&g, 1, n);
  wire_message(&m, 8, import("", 17));
  wire_message(&m, 7, g);
  wire_int(&m, 1, 8);
  wire copy = {0};
  wire_put(&copy, m.p, m.n);
  surg_model *model = load(m);
  surg_node *node = surg_graph_first_node(surg_model_graph(model));
  ck_assert_int_eq(surg_node_set_name(node, "named"), SURG_OK);
  ck_assert_int_eq(surg_node_set_name(node, ""), SURG_OK);
  expect(model, copy);
}
END_TEST

void add_made_tests(TCase *c) {
  tcase_add_test(c, a_model_made_from_nothing);
  tcase_add_test(c, types_are_written_as_they_were_read);
  tcase_add_test(c, a_constant_becomes_an_initializer);
  tcase_add_test(c, an_attribute_is_copied_from_a_function);
  tcase_add_test(c, initializers_of_a_function_are_constants);
  tcase_add_test(c, a_sparse_initializer_is_renamed);
  tcase_add_test(c, nesting_is_bounded);
  tcase_add_test(c, an_odd_order_of_fields_is_kept);
}
