/* SPDX-License-Identifier: Apache-2.0 */
/* What a program gives a context: a heap, a user pointer, a cancel callback. And getters that
 * distinguish unknown from too large. */
#include <check.h>
#include <onnxsurg/onnxsurg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct hooks {
  size_t blocks, made;
  size_t fail_at; /* the number of the allocation that fails; 0: none */
  size_t asked, cancel_at;
  char line[256];
} hooks;

static void *allocate(void *user, void *block, size_t bytes) {
  hooks *h = user;
  if (!bytes) {
    h->blocks -= block != NULL;
    free(block);
    return NULL;
  }
  if (++h->made == h->fail_at) return NULL;
  h->blocks += block == NULL;
  return realloc(block, bytes);
}

static bool cancel(void *user) {
  hooks *h = user;
  return ++h->asked >= h->cancel_at && h->cancel_at;
}

static void keep_line(void *user, surg_severity severity, const char *line) {
  hooks *h = user;
  if (severity == SURG_ERROR) snprintf(h->line, sizeof h->line, "%s", line);
}

static surg_context *context(hooks *h) {
  const surg_config config = {.size = sizeof config,
                              .diag = keep_line,
                              .diag_user = h,
                              .user = h,
                              .allocate = allocate,
                              .cancel = cancel};
  return surg_context_new(&config);
}

static const char text[] =
    "<ir_version: 8, opset_import: [\"\" : 17]>\n"
    "g (float[N, 4] x) => (float[N, 4] y)\n"
    "<int64[3] three = {1, 2, 3}, string[2] words = {\"a\", \"bc\"}, float[1] one = {1}>\n"
    "{ a = Abs (x)  b = Abs (a)  y = Neg (b) }\n";

static surg_model *load(surg_context *ctx) {
  surg_model *m = NULL;
  surg_model_load_text(ctx, text, strlen(text), "m", &m);
  return m;
}

START_TEST(heap) {
  hooks h = {0};
  surg_context *ctx = context(&h);
  ck_assert_ptr_eq(surg_context_user(ctx), &h);
  ck_assert_ptr_null(surg_context_user(NULL));
  surg_model *m = load(ctx);
  ck_assert_ptr_nonnull(m);
  ck_assert_int_eq(surg_model_run(&m, "simplify"), SURG_OK);
  ck_assert_uint_gt(h.made, 10);
  surg_model_free(m);
  surg_context_free(ctx);
  ck_assert_uint_eq(h.blocks, 0);
}
END_TEST

START_TEST(heap_that_fails) {
  hooks h = {.fail_at = 1};
  ck_assert_ptr_null(context(&h));
  size_t good = 0;
  for (size_t at = 2; at < 60; at++) {
    h = (hooks){.fail_at = at};
    surg_context *ctx = context(&h);
    surg_model *m = load(ctx);
    if (m)
      good++;
    else
      ck_assert(strstr(h.line, "out of memory"));
    surg_model_free(m);
    surg_context_free(ctx);
    ck_assert_uint_eq(h.blocks, 0);
  }
  ck_assert_uint_lt(good, 58);
}
END_TEST

START_TEST(cancelled_run) {
  hooks h = {0};
  surg_context *ctx = context(&h);
  surg_model *m = load(ctx);
  h.asked = 0;
  h.cancel_at = 1;
  ck_assert_int_eq(surg_model_run(&m, "prune,identity"), SURG_ECANCELLED);
  ck_assert_ptr_null(m);
  ck_assert_str_eq(h.line, "m: error: cancelled in pass \"prune\"");
  ck_assert_str_eq(surg_status_name(SURG_ECANCELLED), "cancelled");
  surg_context_free(ctx);
}
END_TEST

START_TEST(read_ints) {
  hooks h = {0};
  surg_context *ctx = context(&h);
  surg_model *m = load(ctx);
  const surg_graph *g = surg_model_graph(m);
  const surg_tensor *three = surg_value_constant(surg_graph_find_value(g, "three"));
  const surg_tensor *one = surg_value_constant(surg_graph_find_value(g, "one"));
  int64_t out[3];
  size_t n = 9;
  ck_assert_int_eq(surg_tensor_read_ints(three, out, 3, &n), SURG_OK);
  ck_assert_uint_eq(n, 3);
  ck_assert_int_eq(out[2], 3);
  ck_assert_int_eq(surg_tensor_read_ints(three, out, 2, &n), SURG_ELIMIT);
  ck_assert_uint_eq(n, 3);
  ck_assert_int_eq(surg_tensor_read_ints(one, out, 3, &n), SURG_EUNSUPPORTED);
  ck_assert_uint_eq(n, 0);
  ck_assert_int_eq(surg_tensor_read_ints(NULL, out, 3, NULL), SURG_EUSAGE);
  const surg_str *words = NULL;
  ck_assert_int_eq(
      surg_tensor_strings(surg_value_constant(surg_graph_find_value(g, "words")), &words), SURG_OK);
  ck_assert(words[1].n == 2 && memcmp(words[1].p, "bc", 2) == 0);
  ck_assert_int_eq(surg_tensor_strings(three, &words), SURG_EUNSUPPORTED);
  ck_assert_ptr_null(words);
  surg_model_free(m);
  surg_context_free(ctx);
}
END_TEST

START_TEST(elements_and_ranges) {
  hooks h = {0};
  surg_context *ctx = context(&h);
  surg_model *m = load(ctx);
  const surg_graph *g = surg_model_graph(m);
  surg_elem e[3];
  size_t n;
  surg_range r;
  ck_assert_int_eq(surg_model_infer(m), SURG_OK);
  const surg_value *three = surg_graph_find_value(g, "three"), *y = surg_graph_output(g, 0);
  ck_assert_int_eq(surg_value_elements(three, e, 3, &n), SURG_OK);
  ck_assert(n == 3 && e[1].known && e[1].value == 2);
  ck_assert_int_eq(surg_value_elements(three, e, 2, &n), SURG_ELIMIT);
  ck_assert_uint_eq(n, 3);
  ck_assert_int_eq(surg_value_elements(y, e, 3, &n), SURG_ENOTFOUND);
  ck_assert_int_eq(surg_value_elements(NULL, e, 3, &n), SURG_EUSAGE);
  ck_assert_int_eq(surg_value_range(surg_graph_find_value(g, "b"), &r), SURG_OK);
  ck_assert(r.low == 0);
  ck_assert_int_eq(surg_value_range(surg_graph_find_value(g, "words"), &r), SURG_ENOTFOUND);
  int64_t out;
  const surg_dim *d = surg_type_dim(surg_value_type(y), 1);
  ck_assert_int_eq(surg_dim_eval(d, NULL, NULL, &out), SURG_OK);
  ck_assert_int_eq(out, 4);
  ck_assert_int_eq(surg_dim_eval(surg_type_dim(surg_value_type(y), 0), NULL, NULL, &out),
                   SURG_ENOTFOUND);
  ck_assert_int_eq(surg_dim_eval(surg_type_dim(NULL, 5), NULL, NULL, &out), SURG_ENOTFOUND);
  surg_model_free(m);
  surg_context_free(ctx);
}
END_TEST

int main(void) {
  Suite *s = suite_create("hooks");
  TCase *t = tcase_create("hooks");
  tcase_add_test(t, heap);
  tcase_add_test(t, heap_that_fails);
  tcase_add_test(t, cancelled_run);
  tcase_add_test(t, read_ints);
  tcase_add_test(t, elements_and_ranges);
  suite_add_tcase(s, t);
  SRunner *r = srunner_create(s);
  srunner_run_all(r, CK_NORMAL);
  const int failed = srunner_ntests_failed(r);
  srunner_free(r);
  return failed ? 1 : 0;
}
