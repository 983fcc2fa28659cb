/* SPDX-License-Identifier: Apache-2.0 */
/* Building models from nothing: functions, references to their attributes, documentation, metadata,
 * types, borrowed tensors, and reading and writing through callbacks. Each model is saved and
 * loaded. */
#include <check.h>
#include <onnxsurg/onnxsurg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static surg_context *ctx;
static char line[512];

static void keep_line(void *user, surg_severity severity, const char *text) {
  (void)user;
  if (severity == SURG_ERROR) snprintf(line, sizeof line, "%s", text);
}

static void setup(void) {
  const surg_config config = {.size = sizeof config, .diag = keep_line};
  ctx = surg_context_new(&config);
  line[0] = 0;
}

static void teardown(void) {
  surg_context_free(ctx);
}

/* x -> Abs -> y, in a model of IR version 10. */
static surg_model *make(void) {
  surg_model *m = surg_model_new(ctx, 10, 21);
  surg_graph *g = surg_model_graph(m);
  const surg_type *t = surg_type_tensor(m, SURG_FLOAT, &(surg_dim){.value = 4}, 1);
  surg_value *x = surg_graph_add_input(g, "x", t);
  surg_node *n = surg_graph_add_node(g, NULL, NULL, "Abs", 1);
  surg_node_set_input(n, 0, x);
  surg_value_rename(surg_node_output(n, 0), "y");
  surg_graph_add_output(g, surg_node_output(n, 0), t);
  surg_graph_set_name(g, "g");
  return m;
}

static surg_model *reload(surg_model *m, surg_load_policy policy) {
  const surg_load_options options = {.size = sizeof options, .policy = policy};
  void *bytes = NULL;
  size_t n = 0;
  surg_model *out = NULL;
  ck_assert_int_eq(surg_model_verify(m), SURG_OK);
  ck_assert_int_eq(surg_model_save_memory(m, &bytes, &n), SURG_OK);
  ck_assert_int_eq(surg_model_load_memory(ctx, bytes, n, "again", &options, &out), SURG_OK);
  surg_context_free_bytes(ctx, bytes);
  return out;
}

static void check_about(surg_model *m) {
  surg_graph *g = surg_model_graph(m);
  surg_node *n = surg_graph_first_node(g);
  surg_value *x = surg_graph_input(g, 0), *y = surg_graph_output(g, 0);
  ck_assert_str_eq(surg_model_text(m, SURG_MODEL_DOC), "a model");
  ck_assert_str_eq(surg_model_text(m, SURG_MODEL_PRODUCER), "test");
  ck_assert_str_eq(surg_model_text(m, SURG_MODEL_PRODUCER_VERSION), "7");
  ck_assert_str_eq(surg_model_text(m, SURG_MODEL_DOMAIN), "org.example");
  ck_assert_int_eq(surg_model_version(m), -3);
  ck_assert_str_eq(surg_graph_doc(g), "a graph");
  ck_assert_str_eq(surg_node_doc(n), "a node");
  ck_assert_str_eq(surg_value_doc(x), "an input");
  ck_assert_str_eq(surg_value_doc(y), "an output");
  ck_assert_str_eq(surg_graph_metadata(g, "k"), "of g");
  ck_assert_str_eq(surg_node_metadata(n, "a"), "2");
  ck_assert_ptr_null(surg_node_metadata(n, "b"));
  ck_assert_uint_eq(surg_node_metadata_count(n), 2);
  ck_assert_str_eq(surg_node_metadata_key(n, 0), "c");
  ck_assert_ptr_null(surg_node_metadata_key(n, 2));
  ck_assert_str_eq(surg_value_metadata(x, "unit"), "m");
}

START_TEST(documentation_and_metadata) {
  surg_model *m = make();
  surg_graph *g = surg_model_graph(m);
  surg_node *n = surg_graph_first_node(g);
  ck_assert_str_eq(surg_node_doc(n), "");
  ck_assert_int_eq(surg_model_set_text(m, SURG_MODEL_DOC, "a model"), SURG_OK);
  ck_assert_int_eq(surg_model_set_text(m, SURG_MODEL_PRODUCER, "test"), SURG_OK);
  ck_assert_int_eq(surg_model_set_text(m, SURG_MODEL_PRODUCER_VERSION, "7"), SURG_OK);
  ck_assert_int_eq(surg_model_set_text(m, SURG_MODEL_DOMAIN, "org.example"), SURG_OK);
  ck_assert_int_eq(surg_model_set_text(m, (surg_model_field)9, "?"), SURG_EUSAGE);
  ck_assert_int_eq(surg_model_set_version(m, -3), SURG_OK);
  ck_assert_int_eq(surg_graph_set_doc(g, "a graph"), SURG_OK);
  ck_assert_int_eq(surg_node_set_doc(n, "a node"), SURG_OK);
  ck_assert_int_eq(surg_value_set_doc(surg_graph_input(g, 0), "an input"), SURG_OK);
  ck_assert_int_eq(surg_value_set_doc(surg_graph_output(g, 0), "an output"), SURG_OK);
  ck_assert_int_eq(surg_graph_set_metadata(g, "k", "of g"), SURG_OK);
  ck_assert_int_eq(surg_node_set_metadata(n, "a", "1"), SURG_OK);
  ck_assert_int_eq(surg_node_set_metadata(n, "b", "1"), SURG_OK);
  ck_assert_int_eq(surg_node_set_metadata(n, "c", "3"), SURG_OK);
  ck_assert_int_eq(surg_node_set_metadata(n, "b", NULL), SURG_OK);
  ck_assert_int_eq(surg_node_set_metadata(n, "a", "2"), SURG_OK);
  ck_assert_int_eq(surg_node_set_metadata(n, "a", "\xff"), SURG_EUSAGE);
  ck_assert_int_eq(surg_value_set_metadata(surg_graph_input(g, 0), "unit", "m"), SURG_OK);
  check_about(m);
  surg_model *copy = surg_model_clone(m), *again = reload(m, SURG_LOAD_STRICT);
  check_about(copy);
  check_about(again);
  surg_model_free(copy);
  surg_model_free(m);
  /* Texts of the source are read, replaced in place and removed; what did not change stays. */
  g = surg_model_graph(again);
  n = surg_graph_first_node(g);
  ck_assert_int_eq(surg_node_set_doc(n, NULL), SURG_OK);
  ck_assert_int_eq(surg_node_set_metadata(n, "a", NULL), SURG_OK);
  ck_assert_int_eq(surg_model_set_text(again, SURG_MODEL_DOC, NULL), SURG_OK);
  ck_assert_int_eq(surg_value_set_doc(surg_graph_input(g, 0), "other"), SURG_OK);
  m = reload(again, SURG_LOAD_STRICT);
  g = surg_model_graph(m);
  n = surg_graph_first_node(g);
  ck_assert_str_eq(surg_node_doc(n), "");
  ck_assert_uint_eq(surg_node_metadata_count(n), 1);
  ck_assert_str_eq(surg_node_metadata(n, "c"), "3");
  ck_assert_str_eq(surg_model_text(m, SURG_MODEL_DOC), "");
  ck_assert_str_eq(surg_model_text(m, SURG_MODEL_PRODUCER), "test");
  ck_assert_str_eq(surg_value_doc(surg_graph_input(g, 0)), "other");
  ck_assert_str_eq(surg_value_metadata(surg_graph_input(g, 0), "unit"), "m");
  ck_assert_int_eq(surg_model_version(m), -3);
  surg_model_free(again);
  surg_model_free(m);
}
END_TEST

START_TEST(functions) {
  surg_model *m = make();
  surg_graph *g = surg_model_graph(m);
  surg_node *n = surg_graph_first_node(g);
  surg_function *f = surg_model_add_function(m, "own", "F", "one");
  ck_assert_ptr_nonnull(f);
  ck_assert_ptr_null(surg_model_add_function(m, "own", "F", "one"));
  ck_assert_ptr_null(surg_model_add_function(m, "own", "", NULL));
  surg_graph *body = surg_function_graph(f);
  ck_assert_int_eq(surg_function_set_opset(f, "", 21), SURG_OK);
  ck_assert_int_eq(surg_node_set_float(n, "slope", 0.5f), SURG_OK);
  ck_assert_int_eq(surg_function_add_default(f, surg_node_attr(n, "slope")), SURG_OK);
  ck_assert_int_eq(surg_function_add_attr(f, "kind"), SURG_OK);
  ck_assert_int_eq(surg_function_add_attr(f, "kind"), SURG_EINVALID);
  ck_assert_int_eq(surg_node_remove_attr(n, "slope"), SURG_OK);
  surg_value *x = surg_graph_add_input(body, "x", NULL);
  surg_node *leaky = surg_graph_add_node(body, NULL, NULL, "LeakyRelu", 1);
  ck_assert_int_eq(surg_node_set_input(leaky, 0, x), SURG_OK);
  ck_assert_int_eq(surg_node_set_attr_ref(leaky, "alpha", SURG_ATTR_FLOAT, "slope"), SURG_OK);
  ck_assert_int_eq(surg_node_set_attr_ref(n, "alpha", SURG_ATTR_FLOAT, "slope"), SURG_EINVALID);
  ck_assert_int_eq(surg_graph_add_output(body, surg_node_output(leaky, 0), NULL), SURG_OK);
  ck_assert_int_eq(surg_function_set_doc(f, "leaky"), SURG_OK);
  ck_assert_int_eq(surg_function_set_metadata(f, "k", "v"), SURG_OK);
  ck_assert_int_eq(surg_model_set_opset(m, "own", 1), SURG_OK);
  ck_assert_int_eq(surg_node_set_op(n, "own", "F"), SURG_OK);
  ck_assert_ptr_null(surg_node_function(n));
  ck_assert_int_eq(surg_node_set_overload(n, "one"), SURG_OK);
  ck_assert_ptr_eq(surg_node_function(n), f);
  ck_assert_int_eq(surg_node_set_int(n, "kind", 1), SURG_OK);
  surg_model *again = reload(m, SURG_LOAD_STRICT);
  f = surg_model_function(again, 0);
  ck_assert_str_eq(surg_function_overload(f), "one");
  ck_assert_uint_eq(surg_function_attr_count(f), 2);
  ck_assert_str_eq(surg_function_attr_name(f, 0), "kind");
  ck_assert(surg_attr_float(surg_function_attr_default(f, 1)) == 0.5f);
  ck_assert_str_eq(surg_function_doc(f), "leaky");
  ck_assert_str_eq(surg_function_metadata(f, "k"), "v");
  leaky = surg_graph_first_node(surg_function_graph(f));
  ck_assert_str_eq(surg_attr_ref(surg_node_attr(leaky, "alpha")), "slope");
  ck_assert_ptr_eq(surg_node_function(surg_graph_first_node(surg_model_graph(again))), f);
  /* Attributes can be added to a function that was read. */
  ck_assert_int_eq(surg_function_add_attr(f, "more"), SURG_OK);
  surg_model *third = reload(again, SURG_LOAD_LENIENT);
  f = surg_model_function(third, 0);
  ck_assert_uint_eq(surg_function_attr_count(f), 3);
  ck_assert_str_eq(surg_function_attr_name(f, 1), "more");
  surg_model_free(third);
  surg_model_free(again);
  surg_model_free(m);
  surg_model *old = surg_model_new(ctx, 7, 13);
  ck_assert_ptr_null(surg_model_add_function(old, "own", "F", NULL));
  ck_assert_ptr_nonnull(strstr(line, "functions need IR version 8; the model has 7"));
  surg_model_free(old);
}
END_TEST

START_TEST(types) {
  surg_model *m = make();
  surg_graph *g = surg_model_graph(m);
  const surg_type *t = surg_type_tensor_unranked(m, SURG_INT64);
  const surg_type *map = surg_type_map(m, SURG_STRING, t);
  const surg_type *list = surg_type_wrap(m, SURG_TYPE_SEQUENCE, map);
  const surg_type *sparse = surg_type_sparse(m, SURG_FLOAT, &(surg_dim){.value = 9}, 1);
  ck_assert_int_eq(surg_type_get_kind(map), SURG_TYPE_MAP);
  ck_assert_int_eq(surg_type_dtype(map), SURG_STRING);
  ck_assert_ptr_eq(surg_type_elem(list), map);
  ck_assert_int_eq(surg_type_get_kind(sparse), SURG_TYPE_SPARSE_TENSOR);
  ck_assert_ptr_null(surg_type_map(m, SURG_FLOAT, t));
  ck_assert_ptr_null(surg_type_map(m, SURG_INT64, NULL));
  surg_graph_add_input(g, "l", list);
  surg_graph_add_input(g, "s", sparse);
  surg_node *n = surg_graph_add_node(g, NULL, NULL, "Optional", 1);
  ck_assert_int_eq(surg_node_set_type(n, "type", t), SURG_OK);
  ck_assert_int_eq(surg_node_set_type(n, "type", NULL), SURG_EUSAGE);
  ck_assert_int_eq(
      surg_graph_add_output(g, surg_node_output(n, 0), surg_type_wrap(m, SURG_TYPE_OPTIONAL, t)),
      SURG_OK);
  surg_model *again = reload(m, SURG_LOAD_STRICT);
  g = surg_model_graph(again);
  ck_assert_int_eq(
      surg_type_get_kind(surg_type_elem(surg_value_declared_type(surg_graph_find_value(g, "l")))),
      SURG_TYPE_MAP);
  ck_assert_int_eq(surg_type_get_kind(surg_value_declared_type(surg_graph_find_value(g, "s"))),
                   SURG_TYPE_SPARSE_TENSOR);
  const surg_attr *a = surg_node_attr(surg_graph_last_node(g), "type");
  ck_assert_int_eq(surg_type_dtype(surg_attr_type(a, 0)), SURG_INT64);
  surg_model_free(again);
  surg_model_free(m);
}
END_TEST

static void released(void *user, const void *data) {
  const void **last = user;
  *last = data;
}

START_TEST(borrowed_memory) {
  static const float data[4] = {1, 2, 3, 4};
  const int64_t dims[1] = {4};
  const void *last = NULL, *p = NULL;
  uint64_t bytes = 0;
  surg_model *m = make();
  ck_assert_ptr_null(surg_tensor_borrow(m, SURG_FLOAT, dims, 1, data, 12, released, &last));
  ck_assert_ptr_null(last);
  surg_tensor *t = surg_tensor_borrow(m, SURG_FLOAT, dims, 1, data, sizeof data, released, &last);
  ck_assert_int_eq(surg_tensor_data(t, &p, &bytes), SURG_OK);
  ck_assert(p == data && bytes == sizeof data);
  surg_value *w = surg_graph_constant(surg_model_graph(m), NULL, "w", t);
  ck_assert_ptr_eq(surg_value_constant(w), t);
  surg_model *clone = surg_model_clone(m), *again = reload(m, SURG_LOAD_STRICT);
  surg_model_free(m);
  ck_assert_ptr_null(last); /* the clone still shares it */
  surg_model_free(clone);
  ck_assert_ptr_eq(last, data);
  w = surg_graph_find_value(surg_model_graph(again), "w");
  ck_assert_int_eq(surg_tensor_data(surg_value_constant(w), &p, &bytes), SURG_OK);
  ck_assert(bytes == sizeof data && memcmp(p, data, sizeof data) == 0);
  char path[64];
  ck_assert_int_eq(surg_tensor_file(surg_value_constant(w), path, sizeof path, NULL, NULL),
                   SURG_EUNSUPPORTED);
  surg_tensor *words = surg_tensor_new_strings(again, NULL, 0, &(surg_str){"a", 1});
  ck_assert_int_eq(surg_tensor_data(words, &p, &bytes), SURG_EUNSUPPORTED);
  surg_model_free(again);
}
END_TEST

START_TEST(place_in_a_file) {
  static const float data[2] = {3, 4};
  const int64_t dims[1] = {2};
  char name[] = "/tmp/onnxsurg-building-XXXXXX", path[256] = "", small[4];
  uint64_t offset = 0, bytes = 0;
  surg_model *m = make(), *again = NULL;
  surg_graph_constant(surg_model_graph(m), NULL, "w",
                      surg_tensor_new(m, SURG_FLOAT, dims, 1, data, sizeof data));
  const int fd = mkstemp(name);
  ck_assert_int_ge(fd, 0);
  ck_assert_int_eq(surg_model_save(m, name, NULL), SURG_OK);
  ck_assert_int_eq(surg_model_load(ctx, name, NULL, &again), SURG_OK);
  const surg_tensor *t = surg_value_constant(surg_graph_find_value(surg_model_graph(again), "w"));
  ck_assert_int_eq(surg_tensor_file(t, path, sizeof path, &offset, &bytes), SURG_OK);
  ck_assert_int_eq(surg_tensor_file(t, small, sizeof small, NULL, NULL), SURG_ELIMIT);
  ck_assert_str_eq(path, name);
  FILE *f = fopen(path, "rb");
  float got[2] = {0};
  ck_assert_ptr_nonnull(f);
  ck_assert_int_eq(fseek(f, (long)offset, SEEK_SET), 0);
  ck_assert_uint_eq(fread(got, 1, sizeof got, f), bytes);
  ck_assert(memcmp(got, data, sizeof data) == 0);
  fclose(f);
  remove(name);
  surg_model_free(again);
  surg_model_free(m);
}
END_TEST

START_TEST(inputs_of_nodes) {
  surg_model *m = make();
  surg_graph *g = surg_model_graph(m);
  surg_value *x = surg_graph_input(g, 0);
  surg_node *a = surg_graph_first_node(g), *n = surg_graph_add_node(g, NULL, NULL, "Concat", 1);
  surg_value *y = surg_node_output(a, 0);
  ck_assert_int_eq(surg_node_set_input(n, 0, x), SURG_OK);
  ck_assert_int_eq(surg_node_set_input(n, 1, y), SURG_OK);
  ck_assert_int_eq(surg_node_set_input(n, 2, x), SURG_OK);
  ck_assert_int_eq(surg_node_remove_input(n, 0), SURG_OK);
  ck_assert_int_eq(surg_node_remove_input(n, 2), SURG_EUSAGE);
  ck_assert_uint_eq(surg_node_input_count(n), 2);
  ck_assert(surg_node_input(n, 0) == y && surg_node_input(n, 1) == x);
  ck_assert_int_eq(surg_model_verify(m), SURG_OK);
  /* A node must not read what it computes, also from inside of its subgraphs. */
  ck_assert_int_eq(surg_node_set_input(n, 0, surg_node_output(n, 0)), SURG_EINVALID);
  ck_assert_ptr_nonnull(strstr(line, "it is computed from this node"));
  surg_node *choose = surg_graph_add_node(g, NULL, NULL, "If", 1);
  surg_graph *branch = surg_node_set_graph(choose, "then_branch", "b");
  surg_node *inner = surg_graph_add_node(branch, NULL, NULL, "Neg", 1);
  ck_assert_int_eq(surg_node_set_input(inner, 0, surg_node_output(choose, 0)), SURG_EINVALID);
  ck_assert_int_eq(surg_node_set_input(inner, 0, x), SURG_OK);
  surg_node *neg = surg_graph_add_node(g, NULL, NULL, "Neg", 1);
  surg_node_set_input(neg, 0, surg_node_output(n, 0));
  ck_assert_int_eq(surg_value_replace(surg_node_output(n, 0), surg_node_output(neg, 0)),
                   SURG_EINVALID);
  ck_assert_int_eq(surg_model_verify(m), SURG_OK);
  surg_model_free(m);
}
END_TEST

typedef struct pipe_end {
  uint8_t bytes[4096];
  size_t n, at, most;
} pipe_end;

static bool put(void *user, const void *p, size_t n) {
  pipe_end *e = user;
  if (n > e->most - e->n) return false;
  memcpy(e->bytes + e->n, p, n);
  e->n += n;
  return true;
}

static int64_t get(void *user, void *out, size_t room) {
  pipe_end *e = user;
  if (e->at > e->n) return -1;
  const size_t part = e->n - e->at < 7 ? e->n - e->at : 7;
  memcpy(out, e->bytes + e->at, part < room ? part : room);
  e->at += part;
  return (int64_t)part;
}

START_TEST(callbacks) {
  surg_model *m = make(), *again = NULL;
  pipe_end e = {.most = sizeof e.bytes};
  const surg_sink sink = {sizeof sink, put, &e};
  const surg_source source = {sizeof source, get, &e};
  ck_assert_int_eq(surg_model_save_sink(m, &sink), SURG_OK);
  ck_assert_int_eq(surg_model_load_source(ctx, &source, "pipe", NULL, &again), SURG_OK);
  ck_assert_str_eq(surg_graph_name(surg_model_graph(again)), "g");
  surg_model_free(again);
  e.at = e.n + 1;
  ck_assert_int_eq(surg_model_load_source(ctx, &source, "pipe", NULL, &again), SURG_EIO);
  ck_assert_ptr_null(again);
  e.n = 0;
  e.most = 3;
  ck_assert_int_eq(surg_model_save_sink(m, &sink), SURG_EIO);
  ck_assert_ptr_nonnull(strstr(line, "the callback failed"));
  ck_assert_int_eq(surg_model_save_sink(m, NULL), SURG_EUSAGE);
  surg_model_free(m);
}
END_TEST

int main(void) {
  Suite *s = suite_create("building");
  TCase *t = tcase_create("building");
  tcase_add_checked_fixture(t, setup, teardown);
  tcase_add_test(t, documentation_and_metadata);
  tcase_add_test(t, functions);
  tcase_add_test(t, types);
  tcase_add_test(t, borrowed_memory);
  tcase_add_test(t, place_in_a_file);
  tcase_add_test(t, inputs_of_nodes);
  tcase_add_test(t, callbacks);
  suite_add_tcase(s, t);
  SRunner *r = srunner_create(s);
  srunner_run_all(r, CK_NORMAL);
  const int failed = srunner_ntests_failed(r);
  srunner_free(r);
  return failed ? 1 : 0;
}
