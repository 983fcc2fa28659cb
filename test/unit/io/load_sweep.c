/* SPDX-License-Identifier: Apache-2.0 */
/* Every prefix and every single changed bit of some small models: each must load, hold together
 * and save to the same bytes, or be refused with a line. ONNXSURG_SWEEP names more, divided by
 * colons: files of up to some kilobytes, since the time grows with the square of their size. */
#include "load_common.h"

/* One model with a bit of everything: branches with captures, a function with an attribute, typed
 * and sparse tensors, annotations, sharding, training, metadata, unknown fields. */
static wire branch(const char *op, const char *in, const char *out) {
  wire g = {0};
  wire_message(&g, 1, mb_node(op, in, out));
  wire_str(&g, 2, "b");
  wire_message(&g, 12, mb_value(out, SURG_FLOAT, 2));
  return g;
}

static wire entry(const char *key, const char *value) {
  wire e = {0};
  wire_str(&e, 1, key);
  wire_str(&e, 2, value);
  return e;
}

static wire graph_with_branches(void) {
  wire g = {0}, n = mb_node("If", "c", "t"), t = mb_tensor("c", SURG_BOOL, NULL, 0);
  mb_attr_graph(&n, "then_branch", branch("Neg", "x", "o"));
  mb_attr_graph(&n, "else_branch", branch("Abs", "w", "p"));
  wire_message(&g, 1, n);
  n = mb_node_in("d", "F", "t", "y");
  mb_attr_int(&n, "k", 3);
  wire_message(&g, 1, n);
  wire_str(&g, 2, "g");
  wire_int(&t, 5, 1);
  wire_message(&g, 5, t);
  wire_message(&g, 5, mb_vector("w", SURG_FLOAT, 2, "\0\0\x80\x3f\0\0\0\x40", 8));
  wire_message(&g, 11, mb_value("x", SURG_FLOAT, 2));
  wire_message(&g, 12, mb_value("y", SURG_FLOAT, 2));
  wire_message(&g, 13, mb_value("t", SURG_FLOAT, 2));
  return g;
}

static wire rich(void) {
  wire g = graph_with_branches(), note = {0}, f = {0}, n, a = {0}, training = {0}, s = {0};
  wire_str(&note, 1, "t");
  wire_message(&note, 2, entry("SCALE_TENSOR", "w"));
  wire_message(&g, 14, note);
  int64_t index = 2, dim = 4;
  wire_message(&s, 1, mb_vector("s", SURG_FLOAT, 1, "1234", 4));
  wire_message(&s, 2, mb_vector("i", SURG_INT64, 1, &index, 8));
  wire_int(&s, 3, (uint64_t)dim);
  wire_message(&g, 15, s);
  wire m = mb_model(g);
  mb_import(&m, 8, "d", 1);
  wire_message(&m, 14, entry("author", "nobody"));
  wire_message(&training, 4, entry("w", "new"));
  wire_message(&m, 20, training);
  wire_str(&f, 1, "F");
  wire_str(&f, 4, "a");
  wire_str(&f, 5, "b");
  wire_str(&f, 6, "k");
  n = mb_node("Flatten", "a", "b");
  wire_str(&a, 1, "axis");
  wire_int(&a, 20, 2);
  wire_str(&a, 21, "k");
  wire_message(&n, 5, a);
  wire_message(&f, 7, n);
  mb_import(&f, 9, "", 17);
  wire_str(&f, 10, "d");
  wire_message(&m, 25, f);
  wire_str(&m, 1000, "kept");
  return m;
}

/* Nodes in no order, lists one by one, strings, a declared sequence. */
static wire plain(void) {
  wire g = {0}, t = mb_tensor("w", SURG_INT64, (int64_t[]){2}, 1), s, a = {0}, n;
  wire_int(&t, 7, 1);
  wire_int(&t, 7, UINT64_MAX);
  wire_message(&g, 1, mb_node("Add", "v w", "y"));
  n = mb_node("Constant", "", "v");
  wire_str(&a, 1, "value_ints");
  wire_int(&a, 8, 5);
  wire_int(&a, 8, 6);
  wire_int(&a, 20, 7);
  wire_message(&n, 5, a);
  wire_message(&g, 1, n);
  wire_message(&g, 5, t);
  s = mb_tensor("names", SURG_STRING, (int64_t[]){2}, 1);
  wire_str(&s, 6, "one");
  wire_str(&s, 6, "");
  wire_message(&g, 5, s);
  wire_message(&g, 12, mb_value("y", SURG_INT64, 2));
  return mb_model(g);
}

static unsigned loaded;

static void attempt(const uint8_t *p, size_t n, surg_load_policy policy) {
  surg_model *m = NULL;
  options.policy = policy;
  options.no_external = true;
  forget();
  surg_status s = surg_model_load_memory(ctx, p, n, "m", &options, &m);
  ck_assert_int_ne(s, SURG_EINTERNAL);
  ck_assert((s == SURG_OK) == (errors == 0));
  ck_assert((s != SURG_OK || policy == SURG_LOAD_CHECK) == (m == NULL));
  if (!m) return;
  loaded++;
  ck_assert_int_eq(surg_model_verify(m), SURG_OK);
  void *bytes;
  size_t size;
  ck_assert_int_eq(surg_model_save_memory(m, &bytes, &size), SURG_OK);
  if (policy == SURG_LOAD_STRICT) {
    ck_assert_uint_eq(size, n);
    ck_assert_mem_eq(bytes, p, n);
  }
  surg_context_free_bytes(ctx, bytes);
  surg_model_free(m);
}

/* Whether the model was read from a plain copy of the file. */
static bool is_plain(surg_model *m) {
  surg_finding f = {.size = sizeof f};
  return surg_model_finding(m, 0, &f) &&
         (!strcmp(f.code, "E147") || !strcmp(f.code, "E148") || !strcmp(f.code, "E149"));
}

/* Whatever is well formed becomes a model that is written as it was read, also from a copy; each
 * finding can be told, and what has a reading can be accepted. */
static void attempt_lenient(const uint8_t *p, size_t n) {
  surg_model *m = NULL, *copy;
  options.policy = SURG_LOAD_LENIENT;
  options.no_external = true;
  forget();
  const surg_status s = surg_model_load_memory(ctx, p, n, "m", &options, &m);
  ck_assert_int_ne(s, SURG_EINTERNAL);
  ck_assert((s == SURG_OK) == (m != NULL) && (s == SURG_OK) == (errors == 0));
  if (!m) return;
  loaded++;
  copy = surg_model_clone(m);
  ck_assert_int_eq(surg_model_verify(m), SURG_OK);
  ck_assert_msg(surg_model_verify(copy) == SURG_OK, "%s", lines);
  ck_assert_int_eq(surg_model_infer(copy), SURG_OK);
  ck_assert_uint_eq(surg_model_finding_count(m), surg_model_finding_count(copy));
  void *bytes;
  size_t size;
  ck_assert_int_eq(surg_model_save_memory(copy, &bytes, &size), SURG_OK);
  if (!is_plain(m)) {
    ck_assert_uint_eq(size, n);
    ck_assert_mem_eq(bytes, p, n);
  }
  surg_context_free_bytes(ctx, bytes);
  surg_model_free(copy);
  for (size_t i = 0; i < surg_model_finding_count(m); i++) {
    surg_finding f = {.size = sizeof f};
    ck_assert(surg_model_finding(m, i, &f) && f.code && f.where && f.text && f.cure);
    /* One that was accepted before may have cured it. */
    const surg_status a = surg_model_accept_finding(m, i);
    ck_assert_int_eq(a, f.reading || f.cured ? SURG_OK : SURG_EUNSUPPORTED);
  }
  ck_assert_int_eq(surg_model_verify(m), SURG_OK);
  if (!surg_model_open_findings(m)) {
    surg_model *again = NULL;
    ck_assert_int_eq(surg_model_save_memory(m, &bytes, &size), SURG_OK);
    options.policy = SURG_LOAD_STRICT;
    forget();
    const surg_status now = surg_model_load_memory(ctx, bytes, size, "again", &options, &again);
    ck_assert_msg(now == SURG_OK, "%s", lines);
    surg_model_free(again);
    surg_context_free_bytes(ctx, bytes);
  }
  surg_model_free(m);
}

static void attempt_all(const uint8_t *p, size_t n) {
  attempt_lenient(p, n);
  attempt(p, n, SURG_LOAD_STRICT);
  attempt(p, n, SURG_LOAD_CHECK);
  attempt(p, n, SURG_LOAD_REPAIR);
}

static void sweep(wire w) {
  loaded = 0;
  attempt(w.p, w.n, SURG_LOAD_STRICT);
  ck_assert_msg(loaded == 1, "%s", lines);
  for (size_t n = 0; n < w.n; n++) {
    uint8_t *part = malloc(n ? n : 1); /* exact, so that reads past the end are seen */
    memcpy(part, w.p, n);
    attempt_all(part, n);
    free(part);
  }
  for (size_t i = 0; i < w.n; i++)
    for (unsigned k = 0; k < 11; k++) {
      uint8_t was = w.p[i];
      w.p[i] = k < 8 ? (uint8_t)(was ^ 1u << k) : k == 8 ? 0 : k == 9 ? 0xff : 0x80;
      attempt_all(w.p, w.n);
      w.p[i] = was;
    }
  free(w.p);
}

START_TEST(sweep_rich) {
  sweep(rich());
  ck_assert_uint_gt(loaded, 100); /* the sweep reached models that load, too */
}
END_TEST

START_TEST(sweep_plain) {
  sweep(plain());
  ck_assert_uint_gt(loaded, 100);
}
END_TEST

static wire file_of(const char *path) {
  wire w = {0};
  uint8_t part[4096];
  FILE *f = fopen(path, "rb");
  ck_assert_msg(f != NULL, "%s", path);
  for (size_t n; (n = fread(part, 1, sizeof part, f)) > 0;) wire_put(&w, part, n);
  fclose(f);
  return w;
}

START_TEST(sweep_files) {
  const char *given = getenv("ONNXSURG_SWEEP");
  char *list = strdup(given ? given : ""), *rest = list;
  for (char *path; (path = strtok_r(rest, ":", &rest));) {
    sweep(file_of(path));
    printf("%s: %u loads accepted\n", path, loaded);
  }
  free(list);
}
END_TEST

int main(void) {
  Suite *s = suite_create("load_sweep");
  TCase *t = tcase_create("sweep");
  tcase_set_timeout(t, 300);
  tcase_add_checked_fixture(t, setup, teardown);
  tcase_add_test(t, sweep_rich);
  tcase_add_test(t, sweep_plain);
  suite_add_tcase(s, t);
  t = tcase_create("files");
  tcase_set_timeout(t, 0);
  tcase_add_checked_fixture(t, setup, teardown);
  tcase_add_test(t, sweep_files);
  suite_add_tcase(s, t);
  return run_tests(s);
}
