/* SPDX-License-Identifier: Apache-2.0 */
/* Runs, comparisons and isolated nodes, from a program that links the library. */
#include <onnxsurg/compare.h>
#include <onnxsurg/context.h>
#include <onnxsurg/isolate.h>
#include <onnxsurg/onnxsurg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../unit.h"

#define HEAD "<ir_version: 8, opset_import: [\"\" : 17]>\n"

static surg_context *ctx;
static char dir[] = "/tmp/surg-evaluate-XXXXXX";

static void setup(void) {
  ctx = surg_context_new(NULL);
  ck_assert_ptr_nonnull(ctx);
}

static void teardown(void) {
  surg_context_free(ctx);
}

static surg_model *load(const char *text) {
  surg_model *m = NULL;
  ck_assert_msg(surg_model_load_text(ctx, text, strlen(text), "m", &m) == SURG_OK, "%s",
                surg_context_error(ctx));
  return m;
}

static const char sums[] = HEAD
    "g (float[N, 2] x, float[2] y) => (float[N, 2] z) {\n"
    "  a = Add (x, y)  b = Mul (a, a)  z = Sub (b, y)\n}\n";

/* --- values --- */

START_TEST(arrays_hold_elements) {
  static const int64_t dims[] = {2, 2}, wrong[] = {-1};
  static const float data[] = {1, -2, 3, 4};
  static const int8_t nibbles[] = {-8, 7, 0, 1};
  static const surg_str words[] = {{"a", 1}, {"", 0}, {"bc", 2}, {"d", 1}};
  surg_array *a = NULL;
  char *text = NULL;
  ck_assert_int_eq(surg_array_new(ctx, SURG_FLOAT, dims, 2, data, &a), SURG_OK);
  ck_assert_int_eq(surg_array_kind(a), SURG_TYPE_TENSOR);
  ck_assert_int_eq(surg_array_dtype(a), SURG_FLOAT);
  ck_assert_uint_eq(surg_array_rank(a), 2);
  ck_assert_int_eq(surg_array_dims(a)[1], 2);
  ck_assert_uint_eq(surg_array_count(a), 4);
  ck_assert(surg_array_real(a, 1) == -2 && surg_array_real(a, 4) == 0);
  ck_assert_mem_eq(surg_array_data(a), data, sizeof data);
  ck_assert_int_eq(surg_array_text(a, 2, &text), SURG_OK);
  ck_assert_ptr_nonnull(strstr(text, "float[2, 2]"));
  surg_context_free_bytes(ctx, text);
  surg_array *item = a;
  ck_assert_int_eq(surg_array_item(a, 0, &item), SURG_ENOTFOUND);
  ck_assert_ptr_null(item);
  surg_array_free(a);
  ck_assert_int_eq(surg_array_new(ctx, SURG_INT4, dims, 2, nibbles, &a), SURG_OK);
  ck_assert(surg_array_int(a, 0) == -8 && surg_array_int(a, 1) == 7);
  surg_array_free(a);
  ck_assert_int_eq(surg_array_new_strings(ctx, dims, 2, words, &a), SURG_OK);
  ck_assert_int_eq(((const surg_str *)surg_array_data(a))[2].p[1], 'c');
  ck_assert(surg_array_real(a, 0) == 0);
  surg_array_free(a);
  ck_assert_int_eq(surg_array_new(ctx, SURG_DOUBLE, NULL, 0, NULL, &a), SURG_OK);
  ck_assert(surg_array_count(a) == 1 && surg_array_real(a, 0) == 0);
  surg_array_free(a);
  surg_array_free(NULL);
  ck_assert_int_eq(surg_array_new(ctx, SURG_FLOAT, wrong, 1, NULL, &a), SURG_EUSAGE);
  ck_assert_int_eq(surg_array_new(ctx, SURG_STRING, dims, 2, NULL, &a), SURG_EUSAGE);
  ck_assert_int_eq(surg_array_new(ctx, 99, dims, 2, NULL, &a), SURG_EUSAGE);
  ck_assert_int_eq(surg_array_kind(NULL), SURG_TYPE_UNKNOWN);
}
END_TEST

START_TEST(arrays_are_saved_and_compared) {
  static const int64_t dims[] = {3};
  static const float data[] = {1, 2, 3}, near[] = {1, 2, 3.0001f};
  surg_array *a = NULL, *b = NULL, *c = NULL;
  surg_distance d = {.size = sizeof d};
  const surg_tolerance loose = {.size = sizeof loose, .relative = 1e-3};
  char path[64];
  ck_assert_ptr_nonnull(mkdtemp(dir));
  ck_assert_int_eq(surg_array_new(ctx, SURG_FLOAT, dims, 1, data, &a), SURG_OK);
  ck_assert_int_eq(surg_array_new(ctx, SURG_FLOAT, dims, 1, near, &b), SURG_OK);
  for (int32_t format = SURG_ARRAY_NPY; format <= SURG_ARRAY_PB; format++) {
    snprintf(path, sizeof path, "%s/a", dir);
    ck_assert_int_eq(surg_array_save(a, path, format, "a"), SURG_OK);
    ck_assert_int_eq(surg_array_load(ctx, path, NULL, &c), SURG_OK);
    ck_assert_int_eq(surg_array_compare(c, a, NULL, &d), SURG_OK);
    ck_assert(d.same && d.elements == 3 && !*d.why);
    surg_array_free(c);
    unlink(path);
  }
  ck_assert_int_eq(surg_array_compare(b, a, NULL, &d), SURG_OK);
  ck_assert(!d.same && d.differing == 1 && d.first == 2 && *d.why);
  ck_assert_int_eq(surg_array_compare(b, a, &loose, &d), SURG_OK);
  ck_assert(d.same && d.max_rel > 0);
  ck_assert_int_eq(surg_array_save(a, "/no/such/folder/a", SURG_ARRAY_PB, "a"), SURG_EIO);
  ck_assert_int_eq(surg_array_load(ctx, "/no/such/file", NULL, &c), SURG_EIO);
  ck_assert_ptr_null(c);
  ck_assert_int_eq(surg_array_save(a, path, 7, "a"), SURG_EUSAGE);
  surg_array_free(a);
  surg_array_free(b);
  rmdir(dir);
}
END_TEST

/* --- runs --- */

static void count_nodes(void *user, const surg_node *n, uint64_t ns) {
  (void)ns;
  ck_assert_ptr_nonnull(n);
  ++*(size_t *)user;
}

START_TEST(models_run_on_given_inputs) {
  static const int64_t x_dims[] = {1, 2}, y_dims[] = {2}, three[] = {3};
  static const float x[] = {1, 2}, y[] = {3, 4};
  surg_model *m = load(sums);
  surg_session *s = NULL;
  surg_inputs *in = NULL;
  surg_array *a = NULL, *b = NULL, *bad = NULL, *out[2] = {NULL, NULL};
  size_t seen = 0;
  ck_assert_int_eq(surg_array_new(ctx, SURG_FLOAT, x_dims, 2, x, &a), SURG_OK);
  ck_assert_int_eq(surg_array_new(ctx, SURG_FLOAT, y_dims, 1, y, &b), SURG_OK);
  ck_assert_int_eq(surg_array_new(ctx, SURG_FLOAT, three, 1, NULL, &bad), SURG_OK);
  ck_assert_int_eq(surg_inputs_new(m, NULL, &in), SURG_OK);
  ck_assert_int_eq(surg_inputs_set(in, "x", a), SURG_OK);
  ck_assert_int_eq(surg_inputs_require_all(in, "here"), SURG_EINVALID);
  surg_context_clear_error(ctx);
  ck_assert_int_eq(surg_inputs_set(in, "yy", b), SURG_EUSAGE);
  ck_assert_str_eq(surg_context_error(ctx),
                   "m: error: the model has no input yy: did you mean y?");
  surg_context_clear_error(ctx);
  ck_assert_int_eq(surg_inputs_set(in, "y", bad), SURG_EINVALID);
  ck_assert_str_eq(
      surg_context_error(ctx),
      "m: error: input y: has another shape than the model declares: dim 0 is 3, not 2");
  surg_array_free(bad);
  ck_assert_int_eq(surg_inputs_set(in, "y", b), SURG_OK);
  ck_assert_int_eq(surg_inputs_require_all(in, "here"), SURG_OK);
  ck_assert_int_eq(surg_session_new(NULL, m, &s), SURG_OK);
  surg_session_watch(s, count_nodes, &seen);
  ck_assert_int_eq(surg_session_run(s, in, out, 1), SURG_OK);
  ck_assert_str_eq(surg_session_why(s), "");
  ck_assert(!surg_inputs_made(in));
  ck_assert_uint_eq(seen, 3);
  ck_assert(surg_array_real(out[0], 0) == 13 && surg_array_real(out[0], 1) == 32);
  surg_array_free(out[0]);
  ck_assert_int_eq(surg_session_run(s, in, out, 2), SURG_EUSAGE);
  ck_assert_int_eq(surg_inputs_get(in, 1, &out[0]), SURG_OK);
  ck_assert(surg_array_real(out[0], 1) == 4);
  surg_array_free(out[0]);
  ck_assert_int_eq(surg_inputs_get(in, 2, &out[0]), SURG_ENOTFOUND);
  surg_session_free(s);
  surg_inputs_free(in);
  surg_array_free(a);
  surg_array_free(b);
  surg_model_free(m);
}
END_TEST

/* What an observer saw of "s", the state of a Loop: an input of its body. */
typedef struct seen_state {
  size_t states, values;
  double sum;
} seen_state;

static void see(void *user, const surg_value *v, const surg_array *a) {
  seen_state *seen = user;
  seen->values++;
  if (strcmp(surg_value_name(v), "s") != 0) return;
  seen->states++;
  seen->sum += surg_array_real(a, 0);
}

START_TEST(values_of_bodies_are_observed) {
  surg_model *m = load(
      "<ir_version: 8, opset_import: [\"\" : 17]>\n"
      "g (float[1] x) => (float[1] y) <int64 n = {3}, bool t = {1}> {\n"
      "  y = Loop (n, t, x) <body = b (int64 i, bool c, float[1] s) => (bool d, float[1] z) {\n"
      "    d = Identity (c)\n    z = Add (s, s)\n  }>\n}\n");
  static const int64_t one[] = {1};
  const float x = 1;
  surg_session *s = NULL;
  surg_inputs *in = NULL;
  surg_array *a = NULL, *out = NULL;
  seen_state seen = {0};
  ck_assert_int_eq(surg_array_new(ctx, SURG_FLOAT, one, 1, &x, &a), SURG_OK);
  ck_assert_int_eq(surg_inputs_new(m, NULL, &in), SURG_OK);
  ck_assert_int_eq(surg_inputs_set(in, "x", a), SURG_OK);
  ck_assert_int_eq(surg_session_new(NULL, m, &s), SURG_OK);
  surg_session_observe(s, see, &seen);
  ck_assert_int_eq(surg_session_run(s, in, &out, 1), SURG_OK);
  /* Three inputs and two results in each of three iterations, and y. */
  ck_assert_uint_eq(seen.values, 3 * 5 + 1);
  ck_assert_uint_eq(seen.states, 3);
  ck_assert(seen.sum == 1 + 2 + 4);
  surg_array_free(out);
  surg_session_observe(s, NULL, NULL);
  ck_assert_int_eq(surg_session_run(s, in, &out, 1), SURG_OK);
  ck_assert_uint_eq(seen.values, 3 * 5 + 1);
  surg_array_free(out);
  surg_session_free(s);
  surg_inputs_free(in);
  surg_array_free(a);
  surg_model_free(m);
}
END_TEST

static bool always(void *user) {
  (void)user;
  return true;
}

START_TEST(inputs_are_made) {
  surg_model *m = load(sums), *all = NULL;
  const surg_size n = {sizeof n, "N", 5}, wrong = {sizeof wrong, "M", 5};
  surg_inputs_options how = {.size = sizeof how, .fill = SURG_FILL_ONES, .sizes = &n, .n_sizes = 1};
  surg_engine_options limits = {.size = sizeof limits, .cancel = always};
  surg_engine *e = NULL;
  surg_session *s = NULL;
  surg_inputs *in = NULL;
  surg_array *out[3] = {NULL, NULL, NULL};
  ck_assert_int_eq(surg_model_all_outputs(m, &all), SURG_OK);
  ck_assert_int_eq(surg_inputs_new(all, &how, &in), SURG_OK);
  ck_assert_int_eq(surg_session_new(NULL, all, &s), SURG_OK);
  ck_assert_int_eq(surg_session_run(s, in, out, 3), SURG_OK);
  ck_assert(surg_inputs_made(in));
  ck_assert_int_eq(surg_array_dims(out[0])[0], 5);
  ck_assert(surg_array_real(out[0], 9) == 3); /* (1 + 1) * (1 + 1) - 1 */
  ck_assert(surg_array_real(out[1], 0) == 2 && surg_array_real(out[2], 0) == 4);
  for (int i = 0; i < 3; i++) surg_array_free(out[i]);
  surg_session_free(s);
  surg_inputs_free(in);
  how.sizes = &wrong;
  ck_assert_int_eq(surg_inputs_new(all, &how, &in), SURG_EUSAGE);
  ck_assert_ptr_null(in);
  /* A run that is cancelled, and one that is out of its budget. */
  for (int i = 0; i < 2; i++) {
    ck_assert_int_eq(surg_engine_new(ctx, &limits, &e), SURG_OK);
    ck_assert_str_eq(surg_engine_name(e), "builtin");
    ck_assert_int_eq(surg_session_new(e, m, &s), SURG_OK);
    ck_assert_int_eq(surg_session_run(s, NULL, out, 1), i ? SURG_ELIMIT : SURG_ECANCELLED);
    ck_assert_ptr_null(out[0]);
    ck_assert_ptr_nonnull(strstr(surg_session_why(s), i ? "" : "cancelled"));
    ck_assert_uint_gt(strlen(surg_session_why(s)), 0);
    surg_session_free(s);
    surg_engine_free(e);
    limits.cancel = NULL;
    limits.max_bytes = 1;
  }
  limits.runtime = true;
  limits.library = "/no/such/library.so";
  ck_assert_int_eq(surg_engine_new(ctx, &limits, &e), SURG_EUSAGE);
  ck_assert_ptr_null(e);
  surg_model_free(all);
  surg_model_free(m);
}
END_TEST

/* --- comparisons --- */

START_TEST(models_are_compared) {
  static const char other[] = HEAD
      "g (float[N, 2] x, float[2] y) => (float[N, 2] z) {\n"
      "  a = Add (x, y)  b = Mul (a, x)  z = Sub (b, y)\n}\n";
  surg_model *m = load(sums), *same = load(sums), *differs = load(other);
  surg_compare_report *r = NULL;
  surg_compare_summary sum = {.size = sizeof sum};
  surg_compare_result one = {.size = sizeof one};
  surg_compare_layer layer = {.size = sizeof layer};
  surg_compare_options o = {.size = sizeof o, .layers = true};
  ck_assert_int_eq(surg_compare(m, same, NULL, &r), SURG_OK);
  ck_assert_int_eq(surg_compare_get(r, &sum), SURG_OK);
  ck_assert(sum.same && sum.informative && sum.checked > 2 && sum.outputs == 1 && sum.open_dims);
  ck_assert_int_eq(surg_compare_output(r, 0, &one), SURG_OK);
  ck_assert(one.comparable && one.informative && !one.differs && one.worst.same);
  ck_assert_int_eq(surg_compare_output(r, 1, &one), SURG_ENOTFOUND);
  ck_assert_int_eq(surg_compare_first(r, &layer), SURG_ENOTFOUND);
  surg_compare_free(r);
  ck_assert_int_eq(surg_compare(m, differs, &o, &r), SURG_OK);
  ck_assert_int_eq(surg_compare_get(r, &sum), SURG_OK);
  ck_assert(!sum.same && !*sum.failure);
  ck_assert_int_eq(surg_compare_output(r, 0, &one), SURG_OK);
  ck_assert_str_eq(one.name, "z");
  ck_assert(one.differs > 0 && !one.worst.same && *one.worst.why);
  ck_assert_int_eq(surg_compare_first(r, &layer), SURG_OK);
  ck_assert(layer.looked && layer.found);
  ck_assert_str_eq(layer.name, "\"b\"");
  surg_compare_free(r);
  o.log = "/no/such/file";
  ck_assert_int_eq(surg_compare(m, same, &o, &r), SURG_EIO);
  ck_assert_ptr_null(r);
  ck_assert_int_eq(surg_compare(m, NULL, NULL, &r), SURG_EUSAGE);
  surg_model_free(m);
  surg_model_free(same);
  surg_model_free(differs);
}
END_TEST

START_TEST(nothing_comparable_is_not_the_same) {
  static const char unknown[] =
      "<ir_version: 8, opset_import: [\"\" : 17, \"d\" : 1]>\n"
      "g (float[2] x) => (float[2] y) { y = d.Foo (x) }\n";
  surg_model *m = load(unknown);
  surg_compare_report *r = NULL;
  surg_compare_summary sum = {.size = sizeof sum};
  ck_assert_int_eq(surg_compare(m, m, NULL, &r), SURG_OK);
  ck_assert_int_eq(surg_compare_get(r, &sum), SURG_OK);
  ck_assert(!sum.same && sum.checked == 0 && sum.skipped > 0 && *sum.skip_why);
  surg_compare_free(r);
  surg_model_free(m);
}
END_TEST

/* --- isolated nodes --- */

START_TEST(nodes_are_isolated) {
  surg_model *m = load(sums);
  surg_node *n = NULL;
  surg_isolated *x = NULL;
  surg_isolated_summary sum = {.size = sizeof sum};
  surg_array *a = NULL;
  ck_assert_int_eq(surg_node_select(m, "b", &n), SURG_OK);
  ck_assert_str_eq(surg_node_op_type(n), "Mul");
  ck_assert_int_eq(surg_isolate(n, NULL, NULL, 0, &x), SURG_OK);
  ck_assert_int_eq(surg_isolated_get(x, &sum), SURG_OK);
  ck_assert(sum.reached && sum.computed && sum.inputs == 1 && sum.outputs == 1 && !*sum.why);
  ck_assert_uint_eq(surg_graph_node_count(surg_model_graph(surg_isolated_model(x))), 1);
  ck_assert_int_eq(surg_isolated_value(x, true, 0, &a), SURG_OK);
  ck_assert_uint_eq(surg_array_count(a), 4);
  surg_array_free(a);
  ck_assert_int_eq(surg_isolated_value(x, true, 1, &a), SURG_ENOTFOUND);
  surg_isolated_free(x);
  /* The node runs once alone. */
  ck_assert_int_eq(surg_isolate(n, NULL, NULL, 3, &x), SURG_OK);
  ck_assert_int_eq(surg_isolated_get(x, &sum), SURG_OK);
  ck_assert(!sum.reached && !sum.computed && *sum.why);
  ck_assert_int_eq(surg_isolated_value(x, false, 0, &a), SURG_ENOTFOUND);
  surg_isolated_free(x);
  surg_isolated_free(NULL);
  ck_assert_int_eq(surg_node_select(m, "nowhere", &n), SURG_EUSAGE);
  ck_assert_ptr_null(n);
  surg_model_free(m);
}
END_TEST

int main(void) {
  Suite *s = suite_create("evaluate");
  TCase *t = tcase_create("evaluate");
  tcase_add_checked_fixture(t, setup, teardown);
  tcase_add_test(t, arrays_hold_elements);
  tcase_add_test(t, arrays_are_saved_and_compared);
  tcase_add_test(t, models_run_on_given_inputs);
  tcase_add_test(t, values_of_bodies_are_observed);
  tcase_add_test(t, inputs_are_made);
  tcase_add_test(t, models_are_compared);
  tcase_add_test(t, nothing_comparable_is_not_the_same);
  tcase_add_test(t, nodes_are_isolated);
  suite_add_tcase(s, t);
  return unit_run(s);
}
