/* SPDX-License-Identifier: Apache-2.0 */
/* Findings for programs that embed the library. */
#include <onnxsurg/check.h>
#include <onnxsurg/onnxsurg.h>
#include <string.h>

#include "../unit.h"

static surg_context *ctx;

static void ignore(void *user, surg_severity severity, const char *line) {
  (void)user, (void)severity, (void)line;
}

static void setup(void) {
  const surg_config config = {.size = sizeof config, .diag = ignore};
  ctx = surg_context_new(&config);
  ck_assert_ptr_nonnull(ctx);
}

static void teardown(void) {
  surg_context_free(ctx);
}

typedef struct heard {
  size_t count, full;
  char codes[200];
  bool loaded;
} heard;

static void hear(void *user, const surg_check_finding *f) {
  heard *h = user;
  h->count++;
  h->full += f->text != NULL;
  h->loaded |= f->loaded;
  ck_assert_ptr_nonnull(f->hint);
  strcat(strcat(h->codes, f->code), " ");
}

static surg_model *model_of(const char *text) {
  surg_model *m = NULL;
  ck_assert_int_eq(surg_model_load_text(ctx, text, strlen(text), "m", &m), SURG_OK);
  return m;
}

START_TEST(a_clean_model_has_no_findings) {
  surg_model *m = model_of(
      "<ir_version: 8, opset_import: [\"\" : 17]>\n"
      "g (float[2] x) => (float[2] y) { y = Abs (x) }\n");
  surg_check_counts n = {.size = sizeof n, .errors = 9, .warnings = 9, .notes = 9};
  heard h = {0};
  ck_assert_int_eq(surg_check(m, 0, hear, &h, &n), SURG_OK);
  ck_assert_uint_eq(n.errors + n.warnings, 0);
  ck_assert_uint_eq(h.count, n.notes);
  ck_assert_int_eq(surg_check(m, 0, NULL, NULL, NULL), SURG_OK);
  ck_assert_int_eq(surg_check(NULL, 0, hear, &h, &n), SURG_EUSAGE);
  surg_model_free(m);
}
END_TEST

START_TEST(types_that_contradict_are_found) {
  surg_model *m = model_of(
      "<ir_version: 8, opset_import: [\"\" : 17]>\n"
      "g (float[2, 3] x, float[4, 5] z) => (float[2, 5] y) {\n"
      "  y = MatMul (x, z)  a = Abs (x) }\n");
  surg_check_counts n = {.size = sizeof n};
  heard h = {0};
  ck_assert_int_eq(surg_check(m, 1, hear, &h, &n), SURG_OK);
  ck_assert_uint_ge(n.errors + n.warnings, 1);
  ck_assert_uint_eq(h.count, n.errors + n.warnings + n.notes);
  ck_assert_uint_ge(h.count, 2);
  ck_assert_uint_eq(h.full, 1); /* the other is counted alone */
  ck_assert(!h.loaded);
  surg_model_free(m);
}
END_TEST

/* The model without its IR version, as a lenient load finds it. */
START_TEST(defects_of_the_load_are_among_them) {
  surg_model *m = model_of(
      "<ir_version: 8, opset_import: [\"\" : 17]>\n"
      "g (float[2] x) => (float[2] y) { y = Abs (x) }\n");
  const surg_load_options lenient = {.size = sizeof lenient, .policy = SURG_LOAD_LENIENT};
  surg_model *broken = NULL;
  surg_check_counts n = {.size = sizeof n};
  heard h = {0};
  void *bytes = NULL;
  size_t size = 0;
  ck_assert_int_eq(surg_model_save_memory(m, &bytes, &size), SURG_OK);
  ck_assert_int_eq(
      surg_model_load_memory(ctx, (const uint8_t *)bytes + 2, size - 2, "b", &lenient, &broken),
      SURG_OK);
  ck_assert_int_eq(surg_check(broken, 0, hear, &h, &n), SURG_OK);
  ck_assert(h.loaded);
  ck_assert_uint_ge(n.errors + n.warnings, 1);
  surg_context_free_bytes(ctx, bytes);
  surg_model_free(broken);
  surg_model_free(m);
}
END_TEST

/* A base finds what an edit made, and nothing after the edit that makes up for it. */
START_TEST(a_base_finds_new_errors) {
  surg_model *m = model_of(
      "<ir_version: 8, opset_import: [\"\" : 17]>\n"
      "g (float[2, 3] x) => (float[2, 3] y) <float[3] b = {1, 2, 3}>"
      "{ h = Transpose <perm = [0, 1]> (x) e = Transpose <perm = [7]> (x) y = Add (h, b) }\n");
  surg_check_base *base = NULL, *none = NULL, *not = NULL;
  const char *line = "";
  ck_assert_int_eq(surg_check_base_new(ctx, m, &base), SURG_OK);
  ck_assert_int_eq(surg_check_base_new(ctx, NULL, &none), SURG_OK);
  ck_assert_int_eq(surg_check_base_compare(base, m, &line), SURG_OK);
  ck_assert_ptr_null(line); /* the error of `e` is an old one */
  ck_assert_int_eq(surg_check_base_compare(none, m, &line), SURG_OK);
  ck_assert_ptr_nonnull(strstr(line, "node[1]"));
  surg_node *h = surg_graph_first_node(surg_model_graph(m));
  ck_assert_int_eq(surg_node_set_ints(h, "perm", (const int64_t[]){1, 0}, 2), SURG_OK);
  ck_assert_int_eq(surg_check_base_compare(base, m, &line), SURG_OK);
  ck_assert_ptr_nonnull(line);
  ck_assert_ptr_nonnull(strstr(line, "(Add)"));
  ck_assert_int_eq(surg_node_set_ints(h, "perm", (const int64_t[]){0, 1}, 2), SURG_OK);
  ck_assert_int_eq(surg_check_base_compare(base, m, &line), SURG_OK);
  ck_assert_ptr_null(line);
  ck_assert_int_eq(surg_check_base_new(NULL, m, &not ), SURG_EUSAGE);
  ck_assert_int_eq(surg_check_base_compare(NULL, m, &line), SURG_EUSAGE);
  surg_check_base_free(base);
  surg_check_base_free(none);
  surg_check_base_free(not );
  surg_model_free(m);
}
END_TEST

static Suite *findings_suite(void) {
  Suite *s = suite_create("findings");
  TCase *c = tcase_create("all");
  tcase_add_checked_fixture(c, setup, teardown);
  tcase_add_test(c, a_clean_model_has_no_findings);
  tcase_add_test(c, types_that_contradict_are_found);
  tcase_add_test(c, defects_of_the_load_are_among_them);
  tcase_add_test(c, a_base_finds_new_errors);
  suite_add_tcase(s, c);
  return s;
}

int main(void) {
  return unit_run(findings_suite());
}
