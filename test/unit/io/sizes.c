/* SPDX-License-Identifier: Apache-2.0 */
/* What parts of a model take in the file, and values that become constants: what is foretold is
 * what the file then grows or shrinks by, to the byte. */
#include "../ir/ir_common.h"

static surg_context *ctx;
static surg_model *m;

static void setup(void) { ctx = new_context(); }

static void teardown(void) {
  surg_model_free(m);
  m = NULL;
  surg_context_free(ctx); /* asserts that nothing was leaked */
}

static surg_graph *load(const char *text) {
  ck_assert_msg(surg_model_load_text(ctx, text, strlen(text), "m", &m) == SURG_OK, "%s",
                surg_context_error(ctx));
  ck_ok(surg_model_infer(m));
  return surg_model_graph(m);
}

static uint64_t file_bytes(void) {
  void *bytes;
  size_t n;
  ck_ok(surg_model_save_memory(m, &bytes, &n));
  surg_context_free_bytes(ctx, bytes);
  return n;
}

/* Bodies are held between 128 and 16383 bytes by this name, so that all lengths take two bytes and
 * sums come out even. */
#define TEN "0123456789"
#define LONG TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN
#define HEAD "<ir_version: 8, opset_import: [\"\" : 17, \"own\" : 1]>\n"
#define HEAD_3 "<ir_version: 3, opset_import: [\"\" : 8]>\n"
#define PAD "pad" LONG " = Neg (x)\n"

/* Turns the output into what its node computes, erases the node and holds the file against what was
 * foretold. */
static void fold(surg_graph *g, const char *name) {
  surg_value *v = surg_graph_find_value(g, name);
  surg_node *n = surg_value_producer(v, NULL);
  surg_tensor *t = NULL;
  const char *why = NULL;
  uint64_t elements, estimate, before = file_bytes();
  ck_assert_ptr_nonnull(n);
  bool known = surg_node_result_sizes(n, &elements, &estimate);
  ck_ok(surg_node_evaluate(n, 1 << 20, 1 << 20, &t, 1, &why));
  uint64_t comes = surg_graph_constant_bytes(g, name, t);
  uint64_t goes = surg_node_bytes(n) + surg_value_bytes(v);
  size_t uses = surg_value_use_count(v, 100);
  if (known) ck_assert_uint_eq(estimate, uses ? comes : 0);
  if (known) ck_assert_uint_eq(elements, surg_tensor_bytes(t));
  ck_ok(surg_value_become_constant(v, t));
  ck_assert_uint_eq(surg_node_output_count(n), 0);
  ck_ok(surg_node_erase(n));
  ck_ok(surg_model_verify(m));
  ck_assert_str_eq(surg_value_name(v), name);
  ck_assert_uint_eq(surg_value_use_count(v, 100), uses);
  ck_assert_ptr_eq(surg_value_constant(v), t);
  ck_assert_uint_eq(file_bytes() + goes, before + comes);
  uint64_t made = surg_value_bytes(v) + surg_node_bytes(surg_value_producer(v, NULL));
  ck_assert_uint_eq(made, comes);
}

START_TEST(in_the_main_graph) {
  surg_graph *g = load(HEAD "g (float[2] x) => (float[2] y, float[2, 1] out)\n"
                            "<float[2] c = {1, 2}, int64[2] to = {2, 1}, float[2] with_info>\n"
                            "{\n" PAD "with_info = Neg (c)\n a = Add (with_info, c)\n"
                            "out = Reshape <allowzero = 1> (c, to)\n h = Cast <to = 10> (c)\n"
                            "w = Cast <to = 1> (h)\n y = Sum (x, a, with_info, w)\n}");
  fold(g, "with_info");
  fold(g, "a");
  fold(g, "out"); /* the entry of the outputs stays */
  fold(g, "h");
  fold(g, "w");
  ck_assert_ptr_eq(surg_graph_output(g, 1), surg_graph_find_value(g, "out"));
}
END_TEST

START_TEST(in_a_subgraph) {
  surg_graph *g =
      load(HEAD "g (float[2] x, bool b) => (float[2] y) <float[2] c = {1, 2}> {\n" PAD
                "y = If (b) <then_branch = t () => (float[2] u) {\n"
                "  pad" LONG " = Neg (x)\n d = Neg (c)\n u = Add (d, x)\n"
                "}, else_branch = e () => (float[2] v) {\n"
                "  more" LONG " = Neg (x)\n d = Abs (c)\n v = Add (d, x)\n}>\n}");
  surg_node *n = surg_graph_last_node(g);
  fold(surg_node_subgraph(n, 0), "d"); /* both bear the name, and keep it */
  fold(surg_node_subgraph(n, 1), "d");
}
END_TEST

START_TEST(in_a_function) {
  load(HEAD "g (float[2] x) => (float[2] y) { y = own.f (x) }\n"
            "<domain: \"own\", opset_import: [\"\" : 17]>\n"
            "f (x) => (y) {\n" PAD "c = Constant <value_floats = [1.0, 2.0]> ()\n"
            "d = Neg (c)\n y = Add (x, d)\n}");
  fold(surg_function_graph(surg_model_function(m, 0)), "d");
}
END_TEST

START_TEST(before_ir_4) {
  surg_graph *g = load(HEAD_3 "g (float[2] x, float[2] c) => (float[2] y)\n"
                              "<float[2] c = {1, 2}> {\n" PAD "d = Neg (c)\n y = Add (x, d)\n}");
  fold(g, "d");
  surg_value *c = surg_graph_find_value(g, "c");
  uint64_t goes = surg_value_bytes(c), before = file_bytes();
  ck_ok(surg_graph_remove_input(g, 1));
  ck_ok(surg_value_erase_initializer(c));
  ck_assert_uint_eq(file_bytes() + goes, before);
}
END_TEST

/* Strings and odd sizes are no raw data; empty tensors have no elements at all. */
START_TEST(any_type) {
  surg_graph *g = load(
      HEAD "g (float[2] x)\n"
           "=> (float[2] y, string[3] s, int8[3] i, float[0, 3] e, float k, bool[2] l)\n"
           "<string[1] a = {\"abc\"}, string[2] b = {\"\", \"d\"}, float[3] f = {1, 2, 3},\n"
           "float[0, 3] z = {}, float[2] c = {1, 2}> {\n" PAD "s = Concat <axis = 0> (a, b)\n"
           "i = Cast <to = 3> (f)\n e = Neg (z)\n k = ReduceSum <keepdims = 0> (c)\n"
           "l = Greater (c, k)\n y = Neg (x)\n}");
  static const char *const names[] = {"s", "i", "e", "k", "l"};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) fold(g, names[i]);
}
END_TEST

/* A value among several leaves its place; one that is not read counts for nothing. */
START_TEST(one_of_several) {
  surg_graph *g = load(HEAD "g (float[4] x) => (float[2] y) <float[4] c = {1, 2, 3, 4}> {\n" PAD
                            "p, q, r, s = Split <axis = 0> (c)\n y = Add (p, r)\n}");
  surg_value *p = surg_graph_find_value(g, "p"), *r = surg_graph_find_value(g, "r");
  surg_node *n = surg_value_producer(p, NULL);
  surg_tensor *out[4];
  const char *why;
  uint64_t elements, in_file;
  ck_assert(surg_node_result_sizes(n, &elements, &in_file));
  ck_assert_uint_eq(elements, 16);
  ck_ok(surg_node_evaluate(n, 1 << 10, 1 << 10, out, 4, &why));
  ck_assert_uint_eq(in_file, surg_graph_constant_bytes(g, "p", out[0]) +
                                 surg_graph_constant_bytes(g, "r", out[2]));
  ck_ok(surg_value_become_constant(p, out[0]));
  ck_ok(surg_value_become_constant(r, out[2]));
  ck_assert_uint_eq(surg_node_output_count(n), 4);
  ck_assert_ptr_null(surg_node_output(n, 0));
  ck_ok(surg_node_drop_output(n, 3));
  ck_assert_uint_eq(surg_node_output_count(n), 2);
  ck_ok(surg_model_verify(m));
  uint64_t goes = surg_node_bytes(n), before = file_bytes();
  ck_ok(surg_node_erase(n));
  ck_assert_uint_eq(file_bytes() + goes, before);
}
END_TEST

START_TEST(what_a_node_would_give) {
  surg_graph *g = load(HEAD "g (float[2] x) => (float[2] y) <float[2] c = {1, 2}> {\n"
                            "a = Neg (x)\n b = Add (a, c)\n y = Add (b, x)\n}");
  surg_value *c = surg_graph_find_value(g, "c");
  surg_node *b = surg_value_producer(surg_graph_find_value(g, "b"), NULL);
  surg_tensor *in[2] = {surg_value_initializer(c), NULL}, *out = NULL, *nothing = NULL;
  const char *why = NULL;
  uint64_t epoch = surg_model_epoch(m);
  float sums[2];
  ck_assert_int_eq(surg_node_evaluate_on(b, NULL, 64, 64, &out, 1, &why), SURG_EUNSUPPORTED);
  ck_assert_int_eq(surg_node_evaluate(b, 64, 64, &out, 1, &why), SURG_EUNSUPPORTED);
  ck_ok(surg_node_evaluate_on(b, in, 64, 64, &out, 1, &why));
  ck_ok(surg_tensor_read(out, 0, sums, sizeof sums));
  ck_assert(sums[0] == 2 && sums[1] == 4);
  in[1] = out;
  ck_ok(surg_node_evaluate_on(b, in, 64, 64, &out, 1, &why));
  ck_ok(surg_tensor_read(out, 0, sums, sizeof sums));
  ck_assert(sums[0] == 3 && sums[1] == 6);
  in[0] = i64(m, 3);
  ck_assert_int_eq(surg_node_evaluate_on(b, in, 64, 64, &nothing, 1, &why), SURG_EINVALID);
  ck_assert_uint_eq(surg_model_epoch(m), epoch);
}
END_TEST

START_TEST(refusals) {
  surg_graph *g = load(HEAD "g (float[2] x) => (float[2] y) <float[2] c = {1, 2}> {\n"
                            "y = own.f (x)\n}\n"
                            "<domain: \"own\", opset_import: [\"\" : 17]>\n"
                            "f (x) => (y) { y = Neg (x) }\n"
                            "<domain: \"\", opset_import: [\"\" : 17]>\n"
                            "Constant (x) => (y) { y = Neg (x) }");
  surg_tensor *t = surg_value_initializer(surg_graph_find_value(g, "c"));
  surg_graph *f = surg_function_graph(surg_model_function(m, 0));
  surg_value *y = surg_graph_find_value(f, "y");
  ck_assert_ptr_nonnull(t);
  ck_assert(surg_graph_takes_constants(g));
  ck_assert(!surg_graph_takes_constants(f));
  ck_assert(!surg_graph_takes_constants(NULL));
  ck_assert_int_eq(surg_value_become_constant(y, t), SURG_EUNSUPPORTED);
  ck_assert_ptr_nonnull(surg_value_producer(y, NULL));
  ck_assert_int_ne(surg_value_become_constant(NULL, t), SURG_OK);
  ck_assert_int_eq(surg_value_become_constant(surg_graph_find_value(g, "y"), NULL), SURG_EUSAGE);
  ck_assert_int_eq(surg_value_become_constant(surg_graph_find_value(g, "c"), t), SURG_EUSAGE);
  ck_assert_int_eq(surg_value_become_constant(surg_graph_find_value(g, "x"), t), SURG_EUSAGE);
  ck_assert_uint_eq(surg_node_bytes(NULL) + surg_value_bytes(NULL), 0);
  ck_assert_uint_eq(surg_graph_constant_bytes(NULL, "c", t), 0);
  ck_assert_uint_eq(surg_graph_constant_bytes(g, "c", NULL), 0);
  ck_ok(surg_model_verify(m));
}
END_TEST

int main(void) {
  Suite *s = suite_create("sizes");
  TCase *c = tcase_create("sizes");
  tcase_add_checked_fixture(c, setup, teardown);
  tcase_add_test(c, in_the_main_graph);
  tcase_add_test(c, in_a_subgraph);
  tcase_add_test(c, in_a_function);
  tcase_add_test(c, before_ir_4);
  tcase_add_test(c, any_type);
  tcase_add_test(c, one_of_several);
  tcase_add_test(c, what_a_node_would_give);
  tcase_add_test(c, refusals);
  suite_add_tcase(s, c);
  return unit_run(s);
}
