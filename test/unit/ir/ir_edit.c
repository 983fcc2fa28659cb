/* SPDX-License-Identifier: Apache-2.0 */
/* The mutation API on one graph: uses, names, constants, replacement, events, dirt. */
#include "base/counted.h"
#include "ir/ir.h"
#include "ir_common.h"

static surg_context *ctx;
static surg_model *m;
static surg_graph *g;
static surg_value *x;

static void setup_ir(int64_t ir) {
  ctx = new_context();
  m = surg_model_new(ctx, ir, 17);
  g = surg_model_graph(m);
  x = surg_graph_add_input(g, "x", f32(m));
  ck_assert_ptr_nonnull(x);
}
static void setup(void) { setup_ir(10); }
static void teardown(void) {
  surg_model_free(m);
  surg_context_free(ctx);
}

START_TEST(node_and_uses) {
  surg_node *a = add1(g, "Relu", x), *b = add1(g, "Add", x);
  ck_ok(surg_node_set_input(b, 3, out0(a)));
  ck_assert_uint_eq(surg_node_input_count(b), 4);
  ck_assert_ptr_null(surg_node_input(b, 1));
  ck_assert_ptr_eq(surg_node_input(b, 3), out0(a));
  ck_assert_uint_eq(surg_value_use_count(x, 10), 2);
  ck_assert_uint_eq(surg_value_use_count(x, 1), 1);
  surg_use *u = surg_value_first_use(x);
  ck_assert_ptr_eq(surg_use_node(u), a);
  ck_assert_ptr_eq(surg_use_node(surg_use_next(u)), b);
  ck_assert_ptr_null(surg_use_next(surg_use_next(u)));
  size_t index;
  ck_assert_ptr_eq(surg_value_producer(out0(a), &index), a);
  ck_assert_uint_eq(index, 0);
  ck_ok(surg_node_trim_inputs(b, 1));
  ck_assert_uint_eq(surg_value_use_count(out0(a), 9), 0);
  ck_assert_uint_eq(surg_node_input_count(b), 1);
  ck_ok(surg_node_set_input(b, 0, NULL));
  ck_assert_uint_eq(surg_value_use_count(x, 9), 1);
  ck_ok(surg_model_verify(m));
}
END_TEST

START_TEST(erase) {
  surg_node *a = add1(g, "Relu", x), *b = add1(g, "Relu", out0(a));
  ck_refused(ctx, surg_node_erase(a), SURG_EINVALID, "in use");
  surg_value *v = out0(b);
  ck_ok(surg_node_erase(b));
  ck_assert(surg_node_erased(b));
  ck_assert(surg_value_erased(v));
  ck_assert_str_eq(surg_node_op_type(b), "Relu");
  ck_assert_ptr_null(surg_graph_find_value(g, surg_value_name(v)));
  ck_refused(ctx, surg_node_erase(b), SURG_EERASED, "erased");
  ck_refused(ctx, surg_node_set_input(a, 0, v), SURG_EERASED, "erased");
  ck_assert_int_eq(surg_value_can_replace(v, x), SURG_REPLACE_NO);
  ck_ok(surg_node_erase(a));
  ck_assert_uint_eq(surg_graph_node_count(g), 0);
  ck_assert_ptr_null(surg_value_first_use(x));
  ck_ok(surg_model_verify(m));
}
END_TEST

START_TEST(null_handles) {
  ck_assert_int_eq(surg_node_erase(NULL), SURG_EUSAGE);
  ck_assert_int_eq(surg_node_set_input(NULL, 0, x), SURG_EUSAGE);
  ck_assert_int_eq(surg_value_rename(NULL, "y"), SURG_EUSAGE);
  ck_assert_int_eq(surg_model_verify(NULL), SURG_EUSAGE);
  ck_assert_int_eq(surg_graph_toposort(NULL, NULL), SURG_EUSAGE);
  ck_assert_int_eq(surg_graph_hoist(NULL, NULL), SURG_EUSAGE);
  ck_assert_ptr_null(surg_graph_add_node(NULL, NULL, "", "Relu", 1));
  ck_assert_ptr_null(surg_graph_add_node(g, NULL, "", "", 1));
  ck_assert_ptr_null(surg_graph_constant(NULL, NULL, NULL, NULL));
  ck_assert_ptr_null(surg_model_clone(NULL));
  ck_assert_ptr_null(surg_node_output(NULL, 0));
  ck_assert_ptr_null(surg_attr_ref(NULL));
  ck_assert_int_eq(surg__read_ints(NULL, NULL, 0), -1);
  surg_model_free(NULL);
}
END_TEST

START_TEST(names) {
  surg_node *a = add1(g, "Relu", x), *b = add1(g, "Relu", x), *c = add1(g, "Relu", x);
  ck_ok(surg_node_set_name(a, "n"));
  ck_ok(surg_node_set_name(b, "n"));
  ck_ok(surg_node_set_name(c, "n"));
  ck_assert_ptr_eq(surg_graph_find_node(g, "n"), a);
  ck_assert_ptr_eq(surg_node_next_named(a), b);
  ck_assert_ptr_eq(surg_node_next_named(b), c);
  ck_assert_ptr_null(surg_node_next_named(c));
  ck_ok(surg_node_erase(a));
  ck_assert_ptr_eq(surg_graph_find_node(g, "n"), b);
  ck_ok(surg_node_set_name(b, "other"));
  ck_assert_ptr_eq(surg_graph_find_node(g, "n"), c);
  ck_assert_ptr_null(surg_node_next_named(c));
  ck_ok(surg_node_set_name(c, ""));
  ck_assert_ptr_null(surg_graph_find_node(g, "n"));
  ck_assert_ptr_null(surg_graph_find_node(g, ""));
  ck_refused(ctx, surg_node_set_name(c, "\xff"), SURG_EUSAGE, "UTF-8");
  ck_ok(surg_model_verify(m));
}
END_TEST

START_TEST(fresh_names) {
  const char *a = surg_graph_fresh_name(g, "y"), *b = surg_graph_fresh_name(g, "y");
  ck_assert_str_eq(a, "y");
  ck_assert_str_ne(a, b);
  ck_assert_str_ne(surg_graph_fresh_name(g, "x"), "x");
  ck_assert_str_ne(surg_graph_fresh_name(g, "Relu"), surg_graph_fresh_name(g, "Relu"));
  char stem[1000];
  memset(stem, 'a', sizeof stem - 1);
  stem[sizeof stem - 1] = 0;
  ck_assert_uint_lt(strlen(surg_graph_fresh_name(g, stem)), 300);
  ck_assert_ptr_nonnull(surg_graph_fresh_name(g, NULL));
}
END_TEST

START_TEST(rename_value) {
  surg_node *a = add1(g, "Relu", x);
  ck_ok(surg_graph_add_output(g, out0(a), f32(m)));
  ck_refused(ctx, surg_value_rename(out0(a), "x"), SURG_EINVALID, "in use");
  ck_refused(ctx, surg_value_rename(out0(a), ""), SURG_EUSAGE, "nothing");
  ck_ok(surg_value_rename(out0(a), "y"));
  ck_assert_ptr_eq(surg_graph_find_value(g, "y"), out0(a));
  ck_assert_str_eq(surg_value_name(surg_graph_output(g, 0)), "y");
  ck_ok(surg_value_rename(x, "data"));
  ck_assert_ptr_null(surg_graph_find_value(g, "x"));
  ck_ok(surg_value_rename(out0(a), "x"));
  ck_ok(surg_model_verify(m));
}
END_TEST

START_TEST(constants_ir10) {
  surg_value *c = surg_graph_constant(g, NULL, "c", i64(m, 5));
  ck_assert_str_eq(surg_value_name(c), "c");
  ck_assert(surg_value_is_initializer(c));
  int64_t got;
  ck_assert_int_eq(surg__read_ints(surg_value_constant(c), &got, 1), 1);
  ck_assert_int_eq(got, 5);
  surg_value *d = surg_graph_constant(g, NULL, "c", i64(m, 6));
  ck_assert_str_ne(surg_value_name(d), "c");
  ck_assert_uint_eq(surg_graph_initializer_count(g), 2);
  ck_assert_ptr_eq(surg_graph_next_initializer(g, c), d);
  /* An input with a default can be overridden: no constant. */
  surg_value *w = surg_graph_add_input(g, "w", f32(m));
  ck_ok(surg_value_set_initializer(w, i64(m, 7)));
  ck_assert_ptr_nonnull(surg_value_initializer(w));
  ck_assert_ptr_null(surg_value_constant(w));
  ck_ok(surg_value_erase_initializer(w));
  ck_assert(!surg_value_is_initializer(w));
  ck_assert(surg_value_is_input(w));
  surg_node *n = add1(g, "Neg", c);
  ck_refused(ctx, surg_value_erase_initializer(c), SURG_EINVALID, "in use");
  ck_ok(surg_node_erase(n));
  ck_ok(surg_value_erase_initializer(c));
  ck_assert(surg_value_erased(c));
  ck_assert_int_eq(surg_value_set_initializer(out0(add1(g, "Neg", d)), i64(m, 1)), SURG_EUSAGE);
  ck_ok(surg_model_verify(m));
}
END_TEST

START_TEST(constants_ir3) {
  teardown();
  setup_ir(3);
  surg_node *r = add1(g, "Relu", x);
  surg_value *c = surg_graph_constant(g, r, "c", i64(m, 5));
  ck_assert_ptr_nonnull(c);
  surg_node *n = surg_value_producer(c, NULL);
  ck_assert_int_eq(surg_node_op(n), SURG_OP_Constant);
  ck_assert(surg_node_before(n, r));
  int64_t got;
  ck_assert_int_eq(surg__read_ints(surg_value_constant(c), &got, 1), 1);
  /* Below IR 4 an initializer is an input and still a constant. */
  surg_value *w = surg_graph_add_input(g, "w", f32(m));
  ck_ok(surg_value_set_initializer(w, i64(m, 7)));
  ck_assert_ptr_nonnull(surg_value_constant(w));
  ck_ok(surg_model_set_opset(m, "", 0));
  ck_assert_ptr_null(surg_graph_constant(g, NULL, "d", i64(m, 5)));
  ck_assert_ptr_null(surg_value_constant(c));
  ck_ok(surg_model_status(m));
  ck_ok(surg_model_verify(m));
}
END_TEST

START_TEST(constant_forms) {
  surg_node *n = surg_graph_add_node(g, NULL, "", "Constant", 1);
  int64_t got[3], ints[3] = {1, -2, INT64_MIN};
  ck_ok(surg_node_set_ints(n, "value_ints", ints, 3));
  surg_tensor *t = surg_value_constant(out0(n));
  ck_assert_int_eq(surg_tensor_rank(t), 1);
  ck_assert_int_eq(surg__read_ints(t, got, 3), 3);
  ck_assert_int_eq(got[2], INT64_MIN);
  ck_assert_ptr_eq(surg_value_constant(out0(n)), t);
  ck_ok(surg_node_set_ints(n, "value_ints", ints, 1));
  ck_assert_ptr_ne(surg_value_constant(out0(n)), t);
  ck_ok(surg_node_set_int(n, "value_int", 4));
  ck_assert_ptr_null(surg_value_constant(out0(n))); /* two values: none */
  ck_ok(surg_node_remove_attr(n, "value_ints"));
  ck_assert_int_eq(surg__read_ints(surg_value_constant(out0(n)), got, 1), 1);
  ck_assert_int_eq(got[0], 4);
  ck_ok(surg_node_remove_attr(n, "value_int"));
  ck_ok(surg_node_set_float(n, "value_float", 0.5f));
  t = surg_value_constant(out0(n));
  ck_assert_int_eq(surg_tensor_dtype(t), SURG_FLOAT);
  ck_ok(surg_node_remove_attr(n, "value_float"));
  ck_ok(surg_node_set_string(n, "value_string", "hello"));
  t = surg_value_constant(out0(n));
  ck_assert_int_eq(surg_tensor_dtype(t), SURG_STRING);
  ck_assert_uint_eq(surg__strings(t)[0].n, 5);
  ck_assert_uint_eq(surg_tensor_bytes(t), 5);
  ck_assert_int_eq(surg_tensor_read(t, 0, got, 1), SURG_EUNSUPPORTED);
  ck_assert_int_eq(surg_node_remove_attr(n, "nope"), SURG_ENOTFOUND);
}
END_TEST

START_TEST(replace_plain) {
  surg_node *a = add1(g, "Relu", x), *b = add1(g, "Relu", x), *c = add1(g, "Neg", out0(b));
  ck_ok(surg_node_set_input(c, 1, out0(b)));
  ck_assert_int_eq(surg_value_can_replace(out0(b), out0(a)), SURG_REPLACE_YES);
  ck_ok(surg_value_replace(out0(b), out0(a)));
  ck_assert_ptr_eq(surg_node_input(c, 0), out0(a));
  ck_assert_ptr_eq(surg_node_input(c, 1), out0(a));
  ck_assert_uint_eq(surg_value_use_count(out0(b), 1), 0);
  ck_assert_int_eq(surg_value_can_replace(out0(a), out0(a)), SURG_REPLACE_NO);
  ck_ok(surg_model_verify(m));
}
END_TEST

START_TEST(replace_by_label) {
  surg_node *a = add1(g, "Relu", x), *b = add1(g, "Identity", out0(a));
  surg_node *r = add1(g, "Neg", out0(b));
  ck_ok(surg_value_rename(out0(b), "y"));
  ck_ok(surg_graph_add_output(g, out0(b), f32(m)));
  ck_assert_ptr_nonnull(surg_value_declared_type(out0(b)));
  ck_assert_int_eq(surg_value_can_replace(out0(b), out0(a)), SURG_REPLACE_BY_LABEL);
  ck_ok(surg_value_replace(out0(b), out0(a)));
  ck_assert_ptr_eq(surg_graph_output(g, 0), out0(a));
  ck_assert_str_eq(surg_value_name(out0(a)), "y");
  ck_assert_str_ne(surg_value_name(out0(b)), "y");
  ck_assert_ptr_eq(surg_node_input(r, 0), out0(a));
  ck_assert_ptr_nonnull(surg_graph_output_type(g, 0));
  ck_ok(surg_node_erase(b));
  ck_ok(surg_model_verify(m));
}
END_TEST

START_TEST(replace_needs_identity) {
  surg_node *a = add1(g, "Identity", x), *b = add1(g, "Relu", x), *c = add1(g, "Relu", x);
  ck_ok(surg_graph_add_output(g, out0(a), f32(m)));
  ck_ok(surg_graph_add_output(g, out0(b), f32(m)));
  ck_assert_int_eq(surg_value_can_replace(out0(a), x), SURG_REPLACE_NEEDS_IDENTITY);
  ck_assert_int_eq(surg_value_replace(out0(a), x), SURG_EUNSUPPORTED);
  ck_assert_int_eq(surg_value_can_replace(out0(a), out0(b)), SURG_REPLACE_NEEDS_IDENTITY);
  ck_assert_int_eq(surg_value_can_replace(out0(a), out0(c)), SURG_REPLACE_BY_LABEL);
  /* What is input and output at once keeps its name in both places. */
  ck_ok(surg_graph_add_output(g, x, f32(m)));
  ck_assert_int_eq(surg_value_can_replace(x, out0(c)), SURG_REPLACE_NO);
  ck_ok(surg_graph_remove_output(g, 2));
  /* An initializer can take the label too. */
  surg_value *k = surg_graph_constant(g, NULL, "k", i64(m, 1));
  char name[64];
  snprintf(name, sizeof name, "%s", surg_value_name(out0(a)));
  ck_assert_int_eq(surg_value_can_replace(out0(a), k), SURG_REPLACE_BY_LABEL);
  ck_ok(surg_value_replace(out0(a), k));
  ck_assert_str_eq(surg_value_name(k), name);
  ck_ok(surg_model_verify(m));
}
END_TEST

START_TEST(interface) {
  surg_node *a = add1(g, "Relu", x);
  ck_refused(ctx, surg_graph_remove_input(g, 0), SURG_EINVALID, "in use");
  ck_assert_ptr_null(surg_graph_add_input(g, "x", NULL));
  surg_value *w = surg_graph_add_input(g, "w", f32(m));
  ck_ok(surg_value_set_initializer(w, i64(m, 1)));
  ck_ok(surg_node_set_input(a, 1, w));
  ck_ok(surg_graph_remove_input(g, 1)); /* keeps its initializer */
  ck_assert(!surg_value_is_input(w));
  ck_assert_ptr_nonnull(surg_value_constant(w));
  surg_value *unused = surg_graph_add_input(g, "u", f32(m));
  ck_ok(surg_graph_remove_input(g, 1));
  ck_assert(surg_value_erased(unused));
  /* The same value twice, and an input as output. */
  ck_ok(surg_graph_add_output(g, out0(a), f32(m)));
  ck_ok(surg_graph_add_output(g, out0(a), NULL));
  ck_ok(surg_graph_add_output(g, x, f32(m)));
  ck_assert_uint_eq(surg_value_use_count(out0(a), 9), 2);
  ck_assert(surg_value_is_output(x));
  ck_ok(surg_model_verify(m));
  ck_ok(surg_graph_remove_output(g, 0));
  ck_assert_ptr_eq(surg_graph_output(g, 0), out0(a));
  ck_ok(surg_graph_set_output(g, 0, x));
  ck_assert(!surg_value_is_output(out0(a)));
  ck_assert_int_eq(surg_graph_remove_output(g, 2), SURG_EUSAGE);
  ck_assert_int_eq(surg_graph_remove_input(g, 9), SURG_EUSAGE);
  ck_ok(surg_model_verify(m));
}
END_TEST

START_TEST(declared_types) {
  surg_node *a = add1(g, "Relu", x);
  ck_assert_ptr_null(surg_value_declared_type(out0(a)));
  ck_ok(surg_value_set_declared_type(out0(a), f32(m)));
  ck_assert(surg_type_equal(surg_value_declared_type(out0(a)), f32(m)));
  ck_ok(surg_value_set_declared_type(out0(a), NULL));
  ck_assert_ptr_null(surg_value_declared_type(out0(a)));
  ck_ok(surg_graph_add_output(g, out0(a), NULL));
  const surg_type *t = surg_type_tensor_unranked(m, SURG_INT8);
  ck_ok(surg_value_set_declared_type(out0(a), t));
  ck_assert_ptr_eq(surg_graph_output_type(g, 0), t);
  ck_ok(surg_graph_remove_output(g, 0)); /* the claim stays */
  ck_assert_ptr_eq(surg_value_declared_type(out0(a)), t);
}
END_TEST

static const surg_type *dims2(surg_dim a, surg_dim b) {
  const surg_dim dims[] = {a, b};
  return surg_type_tensor(m, SURG_FLOAT, dims, 2);
}

START_TEST(refined_types) {
  const surg_dim n = {-1, "N"}, k = {-1, "K"}, open = {-1, NULL}, two = {2, NULL}, four = {4, NULL};
  const surg_type *any = surg_type_tensor_unranked(m, SURG_FLOAT);
  bool no = true;
  const surg_type *d = dims2(n, two);
  ck_assert_ptr_eq(surg_type_refine(m, d, dims2(k, open), &no),
                   d); /* a symbol stays, a claim too */
  ck_assert(!no);
  ck_assert_ptr_eq(surg_type_refine(m, d, any, NULL), d);
  ck_assert_ptr_eq(surg_type_refine(m, d, NULL, NULL), d);
  ck_assert_ptr_eq(surg_type_refine(m, NULL, d, NULL), d);
  ck_assert_ptr_null(surg_type_refine(m, NULL, NULL, NULL));
  ck_assert(surg_type_equal(surg_type_refine(m, d, dims2(four, open), &no), dims2(four, two)));
  ck_assert(!no);
  ck_assert(surg_type_equal(surg_type_refine(m, any, d, &no), d));
  ck_assert(!no);
  ck_assert(surg_type_equal(surg_type_refine(m, d, dims2(n, four), &no), dims2(n, four)));
  ck_assert(no);
  const surg_type *scalar = surg_type_tensor(m, SURG_FLOAT, NULL, 0);
  ck_assert_ptr_eq(surg_type_refine(m, d, scalar, &no), scalar);
  ck_assert(no);
  const surg_type *ints = surg_type_tensor_unranked(m, SURG_INT8);
  ck_assert_ptr_eq(surg_type_refine(m, d, ints, &no), ints);
  ck_assert(no);
  const surg_type *seq = surg_type_wrap(m, SURG_TYPE_SEQUENCE, d);
  const surg_type *proven = surg_type_wrap(m, SURG_TYPE_SEQUENCE, dims2(two, two));
  ck_assert(surg_type_equal(surg_type_refine(m, seq, proven, &no), proven));
  ck_assert(!no);
}
END_TEST

START_TEST(a_refined_type_keeps_denotations_and_no_negative_dims) {
  static const int64_t raw[] = {-5, 0};
  static const char *const denotations[] = {"DATA_BATCH", NULL};
  const surg_dim open = {-1, NULL}, two = {2, NULL};
  surg_type *d = (surg_type *)(uintptr_t)dims2(open, two);
  d->denotation = "IMAGE";
  d->dim_denotations = denotations;
  const surg_type *same = surg_type_refine(m, d, NULL, NULL);
  ck_assert_ptr_eq(same, d);
  d->raw_values = raw;
  const surg_type *t = surg_type_refine(m, d, NULL, NULL);
  ck_assert_ptr_ne(t, d);
  ck_assert(surg_type_equal(t, d));
  ck_assert_ptr_null(t->raw_values);
  ck_assert_str_eq(t->denotation, "IMAGE");
  ck_assert_str_eq(t->dim_denotations[0], "DATA_BATCH");
}
END_TEST

START_TEST(entries_of_value_info) {
  surg_node *a = add1(g, "Relu", x);
  ck_assert(!surg_value_has_info(out0(a)));
  ck_assert_int_eq(surg_value_drop_info(out0(a)), SURG_ENOTFOUND);
  ck_ok(surg_value_set_declared_type(out0(a), f32(m)));
  ck_assert(surg_value_has_info(out0(a)));
  ck_ok(surg_value_drop_info(out0(a)));
  ck_assert(!surg_value_has_info(out0(a)));
  ck_assert_ptr_null(surg_value_declared_type(out0(a)));
  ck_assert(!surg_value_has_info(x));
}
END_TEST

START_TEST(outputs_of_a_node) {
  surg_node *n = surg_graph_add_node(g, NULL, "", "Split", 2);
  surg_value *v = surg_node_add_output(n, 4);
  ck_assert_uint_eq(surg_node_output_count(n), 5);
  ck_assert_ptr_null(surg_node_output(n, 3));
  ck_assert_ptr_eq(surg_node_add_output(n, 4), v);
  ck_ok(surg_graph_add_output(g, v, NULL));
  ck_refused(ctx, surg_node_drop_output(n, 4), SURG_EINVALID, "in use");
  ck_ok(surg_graph_remove_output(g, 0));
  ck_ok(surg_node_drop_output(n, 4));
  ck_assert_uint_eq(surg_node_output_count(n), 2);
  ck_ok(surg_node_drop_output(n, 0));
  ck_assert_uint_eq(surg_node_output_count(n), 2);
  ck_assert_ptr_null(out0(n));
  ck_ok(surg_node_drop_output(n, 0));
  ck_ok(surg_model_verify(m));
}
END_TEST

START_TEST(attributes) {
  surg_node *n = surg_graph_add_node(g, NULL, "", "Concat", 1);
  float fs[2] = {1.5f, -0.0f};
  surg_str ss[2] = {{"a\0b", 3}, {"", 0}};
  size_t count;
  ck_ok(surg_node_set_int(n, "i", -1));
  ck_ok(surg_node_set_floats(n, "fs", fs, 2));
  ck_ok(surg_node_set_strings(n, "ss", ss, 2));
  ck_ok(surg_node_set_ints(n, "empty", NULL, 0));
  ck_ok(surg_node_set_string(n, "s", "text"));
  ck_ok(surg_node_set_tensor(n, "t", i64(m, 3)));
  ck_assert_uint_eq(surg_node_attr_count(n), 6);
  ck_assert_int_eq(surg_node_int(n, "i", 9), -1);
  ck_assert_int_eq(surg_node_int(n, "s", 9), 9);
  ck_assert_int_eq(surg_node_int(n, "no", 9), 9);
  ck_assert(surg_attr_floats(surg_node_attr(n, "fs"), &count)[0] == 1.5f && count == 2);
  ck_assert_uint_eq(surg_attr_strings(surg_node_attr(n, "ss"), &count)[0].n, 3);
  surg_attr_ints(surg_node_attr(n, "empty"), &count);
  ck_assert_uint_eq(count, 0);
  ck_assert_uint_eq(surg_node_string(n, "s", NULL).n, 4);
  ck_assert_ptr_nonnull(surg_attr_tensor(surg_node_attr(n, "t"), 0));
  surg_node *k = surg_graph_add_node(g, NULL, "", "Concat", 1);
  for (size_t i = 0; i < 6; i++) ck_ok(surg_node_copy_attr(k, surg_node_attr_at(n, i)));
  ck_ok(surg_node_set_int(n, "i", 2));
  ck_assert_int_eq(surg_node_int(k, "i", 9), -1);
  ck_assert_int_eq(surg_node_copy_attr(k, surg_node_attr(k, "i")), SURG_OK);
  ck_assert_int_eq(surg_node_set_int(n, "", 2), SURG_EUSAGE);
  /* Defaults of the schema. */
  surg_node *gemm = surg_graph_add_node(g, NULL, "", "Gemm", 1);
  ck_assert(surg_node_float(gemm, "alpha", 7.0f) == 1.0f);
  ck_assert_int_eq(surg_node_int(gemm, "transA", 7), 0);
  ck_ok(surg_node_set_op(gemm, "acme", "Gemm"));
  ck_assert(surg_node_float(gemm, "alpha", 7.0f) == 7.0f);
  ck_ok(surg_model_verify(m));
}
END_TEST

START_TEST(operators) {
  surg_node *n = add1(g, "Relu", x), *c = surg_graph_add_node(g, NULL, "acme", "Foo", 1);
  surg_node *d = surg_graph_add_node(g, NULL, "acme", "Foo", 1);
  surg_node *e = surg_graph_add_node(g, NULL, "acme", "Bar", 1);
  ck_assert_int_eq(surg_node_class(n), SURG_OP_CLASS_BUILTIN);
  ck_assert_int_eq(surg_node_op(n), SURG_OP_Relu);
  ck_assert_int_eq(surg_node_class(c), SURG_OP_CLASS_CUSTOM);
  ck_assert_int_ge(surg_node_op(c), 65536);
  ck_assert_int_eq(surg_node_op(c), surg_node_op(d));
  ck_assert_int_ne(surg_node_op(c), surg_node_op(e));
  ck_ok(surg_node_set_op(n, "ai.onnx", "Relu"));
  ck_assert_int_eq(surg_node_class(n), SURG_OP_CLASS_BUILTIN);
  int since = surg_schema_since(surg_node_schema(n));
  ck_ok(surg_model_set_opset(m, "ai.onnx", 6));
  ck_assert_int_lt(surg_schema_since(surg_node_schema(n)), since);
  ck_assert_int_eq(surg_model_opset(m, ""), 6);
  ck_assert_uint_eq(surg_model_import_count(m), 1);
  ck_ok(surg_model_set_opset(m, "", 0));
  ck_assert_int_eq(surg_node_class(n), SURG_OP_CLASS_CUSTOM);
  ck_assert_int_eq(surg_model_set_opset(m, "", -1), SURG_EUSAGE);
  /* More imports than are searched one by one. */
  char domain[16];
  for (int i = 0; i < 100; i++) {
    snprintf(domain, sizeof domain, "d%d", i);
    ck_ok(surg_model_set_opset(m, domain, i + 1));
  }
  ck_assert_int_eq(surg_model_opset(m, "d0"), 1);
  ck_assert_int_eq(surg_graph_opset(g, "d99"), 100);
  ck_assert_int_eq(surg_model_opset(m, "d100"), 0);
  ck_assert_int_eq(surg_model_opset(m, ""), 0);
  ck_ok(surg_model_set_opset(m, "", 17));
  ck_assert_int_eq(surg_node_class(n), SURG_OP_CLASS_BUILTIN);
}
END_TEST

START_TEST(nondeterministic) {
  ck_assert(!surg_node_nondeterministic(add1(g, "Relu", x)));
  ck_assert(surg_node_nondeterministic(add1(g, "RandomUniformLike", x)));
  ck_assert(surg_node_nondeterministic(surg_graph_add_node(g, NULL, "acme", "Foo", 1)));
  surg_node *d = add1(g, "Dropout", x);
  ck_assert(!surg_node_nondeterministic(d));
  uint8_t off = 0, on = 1;
  ck_ok(surg_node_set_input(
      d, 2, surg_graph_constant(g, d, "f", surg_tensor_new(m, SURG_BOOL, NULL, 0, &off, 1))));
  ck_assert(!surg_node_nondeterministic(d));
  ck_ok(surg_node_set_input(
      d, 2, surg_graph_constant(g, d, "t", surg_tensor_new(m, SURG_BOOL, NULL, 0, &on, 1))));
  ck_assert(surg_node_nondeterministic(d));
  ck_ok(surg_node_set_input(d, 2, x));
  ck_assert(surg_node_nondeterministic(d));
  surg_node *b = add1(g, "BatchNormalization", x);
  ck_assert(!surg_node_nondeterministic(b));
  ck_ok(surg_node_set_int(b, "training_mode", 1));
  ck_assert(surg_node_nondeterministic(b));
  surg_node *i = add1(g, "If", x);
  surg_graph *then = surg_node_set_graph(i, "then_branch", "t");
  add1(then, "Relu", x);
  ck_assert(!surg_node_nondeterministic(i));
  surg_node *inner = add1(then, "If", x);
  ck_assert(!surg_node_nondeterministic(i));
  add1(surg_node_set_graph(inner, "else_branch", "e"), "RandomNormal", NULL);
  ck_assert(surg_node_nondeterministic(i));
  ck_assert(surg_node_nondeterministic(inner));
}
END_TEST

START_TEST(header) {
  ck_assert_int_eq(surg_model_ir_version(m), 10);
  uint64_t epoch = surg_model_epoch(m);
  ck_ok(surg_model_set_ir_version(m, 10));
  ck_assert_uint_eq(surg_model_epoch(m), epoch);
  ck_ok(surg_model_set_ir_version(m, 8));
  ck_assert_uint_gt(surg_model_epoch(m), epoch);
  ck_refused(ctx, surg_model_set_ir_version(m, 0), SURG_EUSAGE, "positive");
  ck_assert_ptr_null(surg_model_metadata(m, "k"));
  ck_ok(surg_model_set_metadata(m, "k", "v"));
  ck_ok(surg_model_set_metadata(m, "l", "w"));
  ck_ok(surg_model_set_metadata(m, "k", "v2"));
  ck_assert_str_eq(surg_model_metadata(m, "k"), "v2");
  ck_ok(surg_model_set_metadata(m, "k", NULL));
  ck_assert_ptr_null(surg_model_metadata(m, "k"));
  ck_assert_str_eq(surg_model_metadata(m, "l"), "w");
  ck_refused(ctx, surg_model_set_metadata(m, "\xc0", "v"), SURG_EUSAGE, "UTF-8");
}
END_TEST

/* --- events --- */

static int counts[16];
static char last_old[64];
static void count_event(void *user, const surg_event *e) {
  ck_assert_ptr_eq(user, counts);
  ck_assert_uint_eq(e->size, sizeof *e);
  counts[e->kind]++;
  if (e->old_name) snprintf(last_old, sizeof last_old, "%s", e->old_name);
}

START_TEST(events) {
  memset(counts, 0, sizeof counts);
  ck_ok(surg_model_listen(m, count_event, counts));
  surg_node *a = add1(g, "Relu", x), *b = add1(g, "Relu", out0(a));
  ck_assert_int_eq(counts[SURG_EVENT_CREATE_NODE], 2);
  ck_assert_int_eq(counts[SURG_EVENT_CREATE_VALUE], 2);
  ck_assert_int_eq(counts[SURG_EVENT_SET_INPUT], 2);
  ck_ok(surg_value_rename(x, "z"));
  ck_assert_int_eq(counts[SURG_EVENT_RENAME_VALUE], 1);
  ck_assert_str_eq(last_old, "x");
  ck_ok(surg_value_replace(out0(a), x));
  ck_assert_int_eq(counts[SURG_EVENT_REPLACE], 1);
  ck_ok(surg_node_erase(a));
  ck_assert_int_eq(counts[SURG_EVENT_ERASE_NODE], 1);
  ck_assert_int_eq(counts[SURG_EVENT_ERASE_VALUE], 1);
  uint64_t epoch = surg_model_epoch(m);
  ck_ok(surg_node_set_input(b, 0, x)); /* as it is: nothing happens */
  ck_assert_uint_eq(surg_model_epoch(m), epoch);
  ck_assert_int_eq(counts[SURG_EVENT_SET_INPUT], 2);
  surg_model_unlisten(m, count_event, counts);
  ck_ok(surg_node_set_name(b, "b"));
  ck_assert_int_eq(counts[SURG_EVENT_RENAME_NODE], 0);
}
END_TEST

START_TEST(order_and_sort) {
  surg_node *a = add1(g, "A", x), *b = add1(g, "B", out0(a)), *c = add1(g, "C", out0(b));
  bool moved = true;
  ck_ok(surg_graph_toposort(g, &moved));
  ck_assert(!moved);
  ck_ok(surg_node_move(a, NULL));
  ck_assert(surg_node_before(c, a));
  ck_refused(ctx, surg_model_verify(m), SURG_EINVALID, "before it is made");
  ck_ok(surg_graph_toposort(g, &moved));
  ck_assert(moved);
  ck_assert_ptr_eq(surg_graph_first_node(g), a);
  ck_assert_ptr_eq(surg_node_next(a), b);
  ck_assert_ptr_eq(surg_graph_last_node(g), c);
  ck_ok(surg_model_verify(m));
  ck_ok(surg_node_set_name(a, "first"));
  ck_ok(surg_node_set_name(b, "second"));
  ck_ok(surg_node_set_input(a, 0, out0(b)));
  surg_context_clear_error(ctx);
  ck_assert_int_eq(surg_graph_toposort(g, &moved), SURG_EINVALID);
  ck_assert_msg(strstr(surg_context_error(ctx), "first -> second -> first") ||
                strstr(surg_context_error(ctx), "second -> first -> second"),
                "%s", surg_context_error(ctx));
  ck_ok(surg_model_status(m));
  ck_refused(ctx, surg_node_set_input(a, 0, out0(a)), SURG_EINVALID, "computed from this node");
}
END_TEST

/* Independent nodes keep their order; only what must move does. */
START_TEST(stable_sort) {
  surg_node *n[6];
  for (int i = 0; i < 6; i++) n[i] = add1(g, "N", x);
  ck_ok(surg_node_set_input(n[1], 0, out0(n[4])));
  ck_ok(surg_graph_toposort(g, NULL));
  const int want[6] = {0, 4, 1, 2, 3, 5};
  surg_node *at = surg_graph_first_node(g);
  for (int i = 0; i < 6; i++, at = surg_node_next(at)) ck_assert_ptr_eq(at, n[want[i]]);
}
END_TEST

int main(void) {
  Suite *s = suite_create("ir_edit");
  TCase *t = tcase_create("edit");
  tcase_add_checked_fixture(t, setup, teardown);
  tcase_add_test(t, node_and_uses);
  tcase_add_test(t, erase);
  tcase_add_test(t, null_handles);
  tcase_add_test(t, names);
  tcase_add_test(t, fresh_names);
  tcase_add_test(t, rename_value);
  tcase_add_test(t, constants_ir10);
  tcase_add_test(t, constants_ir3);
  tcase_add_test(t, constant_forms);
  tcase_add_test(t, replace_plain);
  tcase_add_test(t, replace_by_label);
  tcase_add_test(t, replace_needs_identity);
  tcase_add_test(t, interface);
  tcase_add_test(t, declared_types);
  tcase_add_test(t, refined_types);
  tcase_add_test(t, a_refined_type_keeps_denotations_and_no_negative_dims);
  tcase_add_test(t, entries_of_value_info);
  tcase_add_test(t, outputs_of_a_node);
  tcase_add_test(t, attributes);
  tcase_add_test(t, operators);
  tcase_add_test(t, nondeterministic);
  tcase_add_test(t, header);
  tcase_add_test(t, events);
  tcase_add_test(t, order_and_sort);
  tcase_add_test(t, stable_sort);
  suite_add_tcase(s, t);
  return unit_run(s);
}
