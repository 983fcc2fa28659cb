/* SPDX-License-Identifier: Apache-2.0 */
/* Repairs, assessments and cuts for programs that embed the library. */
#include <onnxsurg/onnxsurg.h>
#include <onnxsurg/repair.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../unit.h"

/* Takes opsets 7 to 12, fixed sizes, and few operators. */
static const char engine[] =
    "{\"name\": \"t\", \"source\": \"made up\", \"opset\": {\"\": [7, 12]}, \"ir\": [3, 7],\n"
    " \"dynamic\": false, \"rest\": \"refused\",\n"
    " \"ops\": {\"Relu\": {}, \"Add\": {}, \"Abs\": {}, \"Neg\": {}, \"Identity\": {}}}";

static surg_context *ctx;
static surg_target *target;
static size_t lines;

static void count_lines(void *user, surg_severity severity, const char *line) {
  (void)user, (void)line;
  lines += severity == SURG_ERROR;
}

static void setup(void) {
  const surg_config config = {.size = sizeof config, .diag = count_lines};
  lines = 0;
  ctx = surg_context_new(&config);
  ck_assert_ptr_nonnull(ctx);
  ck_assert_int_eq(surg_target_parse(ctx, engine, strlen(engine), "t", &target), SURG_OK);
}

static void teardown(void) {
  surg_target_free(target);
  surg_context_free(ctx);
}

static surg_model *model_of(const char *inputs, const char *nodes) {
  char text[600];
  surg_model *m = NULL;
  snprintf(text, sizeof text, "<ir_version: 8, opset_import: [\"\" : 17]>\ng (%s) { %s }\n", inputs,
           nodes);
  ck_assert_msg(surg_model_load_text(ctx, text, strlen(text), "m", &m) == SURG_OK, "%s",
                surg_context_error(ctx));
  return m;
}

static surg_repair_result find(surg_model *m, const surg_repair_options *options,
                               surg_repair **found) {
  surg_repair_result r = {.size = sizeof r};
  ck_assert_msg(surg_repair_find(m, target, options, found) == SURG_OK, "%s",
                surg_context_error(ctx));
  ck_assert_int_eq(surg_repair_get(*found, &r), SURG_OK);
  return r;
}

START_TEST(a_repair_is_found) {
  surg_model *m = model_of("float[2] x) => (float[2] y", "y = Relu (x)");
  const uint64_t epoch = surg_model_epoch(m);
  surg_repair *found = NULL;
  const surg_repair_result r = find(m, NULL, &found);
  ck_assert_int_eq(r.verdict, SURG_SUPPORTED);
  ck_assert_uint_eq(r.unsupported_before, 2); /* IR version and opset */
  ck_assert_uint_eq(r.unsupported, 0);
  ck_assert_str_eq(r.pipeline, "opset{to=12}"); /* which lowers the IR version, too */
  ck_assert_int_eq(r.used, SURG_EXACT);
  ck_assert(!r.used_interface && !r.mended);
  ck_assert_uint_eq(surg_model_epoch(m), epoch); /* the model is as it was */
  ck_assert_int_eq(surg_model_ir_version(m), 8);
  /* The pipeline does the same. */
  ck_assert_int_eq(surg_model_run(&m, r.pipeline), SURG_OK);
  ck_assert_int_eq(surg_model_opset(m, ""), surg_model_opset(surg_repair_model(found), ""));
  surg_model *taken = surg_repair_take(found);
  ck_assert_ptr_null(surg_repair_model(found));
  ck_assert_ptr_null(surg_repair_take(found));
  surg_repair_free(found);
  ck_assert_int_eq(surg_model_ir_version(taken), 7);
  ck_assert_uint_eq(lines, 0);
  surg_model_free(taken);
  surg_model_free(m);
}
END_TEST

/* The name of a rule nearly fills the buffer in which the search writes its pipeline. */
START_TEST(rules_have_long_names) {
  enum { LENGTH = 184 };
  char name[LENGTH + 1], text[LENGTH + 200];
  memset(name, 'r', LENGTH);
  name[LENGTH] = 0;
  snprintf(text, sizeof text,
           "group substitute\nrule %s { match { y = Sinh (x) } emit opset 9.. { y = Cosh (x) } }\n",
           name);
  ck_assert_msg(surg_context_load_rules(ctx, text, strlen(text), "long.rules") == SURG_OK, "%s",
                surg_context_error(ctx));
  surg_model *m = model_of("float[2] x) => (float[2] y", "y = Sinh (x)");
  const surg_repair_options options = {.size = sizeof options};
  surg_repair *found = NULL;
  ck_assert_int_ne(find(m, &options, &found).verdict, SURG_SUPPORT_UNKNOWN);
  surg_repair_free(found);
  surg_model_free(m);
}
END_TEST

START_TEST(sizes_are_given) {
  surg_model *m = model_of("float[N] x) => (float[N] y", "y = Relu (x)");
  const surg_size n = {sizeof n, "N", 5}, wrong = {sizeof wrong, "M", 5};
  surg_repair_options options = {.size = sizeof options, .sizes = &n, .n_sizes = 1};
  surg_repair *found = NULL;
  surg_repair_result r = find(m, &options, &found);
  ck_assert_int_eq(r.verdict, SURG_SUPPORTED);
  ck_assert_str_eq(r.pipeline, "freeze{N=5},opset{to=12}");
  surg_repair_free(found);
  /* Without them an open size stays, and what would help is named. */
  r = find(m, NULL, &found);
  ck_assert_int_eq(r.verdict, SURG_UNSUPPORTED);
  ck_assert(r.wanted_interface);
  ck_assert_ptr_nonnull(strstr(r.refused, "freeze{"));
  surg_repair_free(found);
  options.sizes = &wrong;
  ck_assert_int_eq(surg_repair_find(m, target, &options, &found), SURG_EUSAGE);
  ck_assert_ptr_null(found);
  ck_assert_str_eq(surg_context_error(ctx), "m: error: no input has a dynamic dimension \"M\" (--dim)");
  ck_assert_uint_eq(lines, 1);
  surg_model_free(m);
}
END_TEST

START_TEST(defects_are_mended) {
  static const char text[] =
      "<ir_version: 8, opset_import: [\"\" : 17]>\n"
      "g (float[2] x) => (float[2] y) { y = Abs (x) }\n";
  surg_model *m = NULL, *broken = NULL;
  surg_repair *found = NULL;
  surg_repair_result r = {.size = sizeof r};
  /* Without a target a valid model stays as it is. */
  ck_assert_int_eq(surg_model_load_text(ctx, text, strlen(text), "m", &m), SURG_OK);
  ck_assert_int_eq(surg_repair_find(m, NULL, NULL, &found), SURG_OK);
  ck_assert_int_eq(surg_repair_get(found, &r), SURG_OK);
  ck_assert(!r.mended);
  ck_assert_str_eq(r.pipeline, "");
  surg_repair_free(found);
  /* The model without its IR version: field 1 of the file. */
  void *bytes = NULL;
  size_t n = 0;
  const surg_load_options lenient = {.size = sizeof lenient, .policy = SURG_LOAD_LENIENT};
  ck_assert_int_eq(surg_model_save_memory(m, &bytes, &n), SURG_OK);
  ck_assert_int_eq(((const uint8_t *)bytes)[0], 8);
  ck_assert_int_eq(
      surg_model_load_memory(ctx, (const uint8_t *)bytes + 2, n - 2, "b", &lenient, &broken),
      SURG_OK);
  ck_assert_uint_gt(surg_model_finding_count(broken), 0);
  ck_assert_int_eq(surg_repair_find(broken, NULL, NULL, &found), SURG_OK);
  ck_assert_int_eq(surg_repair_get(found, &r), SURG_OK);
  ck_assert(r.mended);
  ck_assert_str_eq(r.pipeline, "mend");
  ck_assert_uint_eq(surg_model_open_findings(surg_repair_model(found)), 0);
  surg_repair_free(found);
  surg_context_free_bytes(ctx, bytes);
  surg_model_free(broken);
  surg_model_free(m);
}
END_TEST

/* A model that cannot be mended: the output has no producer. */
START_TEST(invalid_models_are_refused) {
  static const char text[] =
      "<ir_version: 8, opset_import: [\"\" : 17]>\n"
      "g (float[2] x) => (float[2] y) { y = Abs (x) }\n";
  surg_model *m = NULL, *broken = NULL;
  surg_repair *found = NULL;
  void *bytes = NULL;
  size_t n = 0;
  const surg_load_options lenient = {.size = sizeof lenient, .policy = SURG_LOAD_LENIENT};
  ck_assert_int_eq(surg_model_load_text(ctx, text, strlen(text), "m", &m), SURG_OK);
  ck_assert_int_eq(surg_model_save_memory(m, &bytes, &n), SURG_OK);
  /* The input of Abs is renamed, so that nothing defines it: x is at its first place in the node.
   */
  uint8_t *x = memchr(bytes, 'x', n);
  ck_assert_ptr_nonnull(x);
  *x = 'q';
  ck_assert_int_eq(surg_model_load_memory(ctx, bytes, n, "b", &lenient, &broken), SURG_OK);
  lines = 0;
  surg_context_clear_error(ctx);
  ck_assert_int_eq(surg_repair_find(broken, target, NULL, &found), SURG_EINVALID);
  ck_assert_ptr_null(found);
  ck_assert_uint_gt(lines, 0);
  ck_assert_ptr_nonnull(surg_context_error(ctx));
  surg_context_free_bytes(ctx, bytes);
  surg_model_free(broken);
  surg_model_free(m);
}
END_TEST

START_TEST(assessments) {
  static const struct {
    const char *nodes;
    surg_assessment is;
  } rows[] = {{"y = Relu (x)", SURG_ASSESS_REPAIR}, {"y = Det (x)", SURG_ASSESS_BLOCKED}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    surg_model *m = model_of("float[2] x) => (float[2] y", rows[i].nodes);
    surg_assessment is = SURG_ASSESS_SUPPORTED;
    surg_repair *found = NULL;
    ck_assert_int_eq(surg_repair_assess(m, target, &is, &found), SURG_OK);
    ck_assert_int_eq(is, rows[i].is);
    ck_assert_ptr_nonnull(found);
    if (is == SURG_ASSESS_REPAIR) {
      surg_repair_free(found);
      surg_repair_result r = find(m, NULL, &found);
      surg_model *done = surg_repair_take(found);
      ck_assert_uint_eq(r.unsupported, 0);
      ck_assert_int_eq(surg_repair_assess(done, target, &is, NULL), SURG_OK);
      ck_assert_int_eq(is, SURG_ASSESS_SUPPORTED);
      surg_model_free(done);
    }
    surg_repair_free(found);
    surg_model_free(m);
  }
  ck_assert_uint_eq(lines, 0);
}
END_TEST

START_TEST(cuts) {
  surg_model *m = model_of("float[2, 2] x) => (float[2, 2] y",
                           "a = Relu (x)  b = Exp (a)  c = Abs (b)  d = Neg (c)  y = Add (d, d)");
  surg_cut *cut = NULL;
  char *text = NULL;
  ck_assert_int_eq(surg_model_run(&m, "ir{to=7}"), SURG_OK);
  ck_assert_int_eq(surg_model_set_opset(m, "", 12), SURG_OK);
  ck_assert_int_eq(surg_cut_find(target, m, &cut), SURG_OK);
  ck_assert_uint_eq(surg_cut_nodes(cut, SURG_CUT_BEFORE), 2);
  ck_assert_uint_eq(surg_cut_nodes(cut, SURG_CUT_CORE), 3);
  ck_assert_uint_eq(surg_cut_nodes(cut, SURG_CUT_BEHIND), 0);
  ck_assert_uint_eq(surg_cut_nodes(cut, (surg_cut_part)9), 0);
  ck_assert_str_eq(surg_value_name(surg_cut_value(cut, SURG_CUT_BEFORE, true, 0)), "b");
  ck_assert_str_eq(surg_value_name(surg_cut_value(cut, SURG_CUT_CORE, false, 0)), "b");
  ck_assert_ptr_null(surg_cut_value(cut, SURG_CUT_CORE, false, 1));
  ck_assert_ptr_null(surg_cut_value(cut, SURG_CUT_BEFORE, false, 0));
  ck_assert(!surg_cut_consent(cut, NULL, NULL));
  surg_cut *larger = NULL;
  ck_assert_int_eq(surg_cut_find_repaired(target, m, 3, &larger), SURG_ENOTFOUND);
  ck_assert_ptr_null(larger);
  ck_assert_int_eq(surg_cut_pipeline(cut, SURG_CUT_CORE, &text), SURG_OK);
  ck_assert_str_eq(text, "extract{from=b,to=y}");
  ck_assert_int_eq(surg_cut_pipeline(cut, SURG_CUT_BEHIND, &(char *){NULL}), SURG_ENOTFOUND);
  ck_assert_int_eq(surg_model_run(&m, text), SURG_OK);
  ck_assert_uint_eq(surg_graph_node_count(surg_model_graph(m)), 3);
  surg_context_free_bytes(ctx, text);
  surg_cut_free(cut);
  /* Nothing is unsupported now. */
  ck_assert_int_eq(surg_cut_find(target, m, &cut), SURG_ENOTFOUND);
  ck_assert_ptr_null(cut);
  surg_cut_free(NULL);
  surg_model_free(m);
}
END_TEST

START_TEST(nothing_is_given) {
  surg_model *m = model_of("float[2] x) => (float[2] y", "y = Relu (x)");
  surg_repair *found = NULL;
  surg_cut *cut = NULL;
  surg_assessment is;
  surg_repair_result r = {.size = sizeof r};
  ck_assert_int_eq(surg_repair_find(NULL, target, NULL, &found), SURG_EUSAGE);
  ck_assert_int_eq(surg_repair_find(m, target, NULL, NULL), SURG_EUSAGE);
  ck_assert_int_eq(surg_repair_get(NULL, &r), SURG_EUSAGE);
  ck_assert_ptr_null(surg_repair_model(NULL));
  ck_assert_ptr_null(surg_repair_take(NULL));
  surg_repair_free(NULL);
  ck_assert_int_eq(surg_repair_assess(m, NULL, &is, NULL), SURG_EUSAGE);
  ck_assert_int_eq(surg_repair_assess(NULL, target, &is, NULL), SURG_EUSAGE);
  ck_assert_int_eq(surg_repair_assess(m, target, NULL, NULL), SURG_EUSAGE);
  ck_assert_int_eq(surg_cut_find(NULL, m, &cut), SURG_EUSAGE);
  ck_assert_int_eq(surg_cut_find(target, NULL, &cut), SURG_EUSAGE);
  ck_assert_int_eq(surg_cut_pipeline(NULL, SURG_CUT_CORE, &(char *){NULL}), SURG_EUSAGE);
  surg_model_free(m);
}
END_TEST

/* An importer that accepts IR versions up to 7 alone, and names them. */
static const char old_importer[] =
    "sh -c 'ir=$(od -An -tu1 -j1 -N1 \"$0\" | tr -d \" \"); [ $ir -le 7 ] && exit 0; echo "
    "\"Unsupported "
    "model IR version: $ir, max supported IR version: 7\"; exit 1' {}";

START_TEST(an_importer_is_asked) {
  char path[] = "/tmp/onnxsurg-unit-XXXXXX";
  surg_model *m = model_of("float[2] x) => (float[2] y", "y = Relu (x)");
  surg_importer *im = NULL;
  surg_until *u = NULL;
  surg_until_result r = {.size = sizeof r};
  surg_until_step step = {.size = sizeof step};
  const int fd = mkstemp(path);
  ck_assert_int_ge(fd, 0);
  close(fd);
  ck_assert_int_eq(surg_model_save(m, path, NULL), SURG_OK);
  ck_assert_int_eq(surg_importer_new(ctx, old_importer, NULL, &im), SURG_OK);
  ck_assert_int_eq(surg_until_find(im, path, NULL, &u), SURG_OK);
  ck_assert_int_eq(surg_until_get(u, &r), SURG_OK);
  ck_assert(r.accepted);
  ck_assert_str_eq(r.pipeline, "ir{to=7}");
  ck_assert_uint_eq(r.changes, 1);
  ck_assert_uint_ge(r.asked, 2);
  ck_assert_int_eq(surg_until_change(u, 0, &step), SURG_OK);
  ck_assert_str_eq(step.pipeline, "ir{to=7}");
  ck_assert_ptr_nonnull(strstr(step.message, "max supported IR version: 7"));
  ck_assert_int_eq(surg_until_change(u, 1, &step), SURG_ENOTFOUND);
  ck_assert_int_eq(surg_model_ir_version(surg_until_model(u)), 7);
  surg_until_free(u);
  surg_importer_free(im);
  /* One that is not there. */
  ck_assert_int_eq(surg_importer_new(ctx, "/no/such/program", NULL, &im), SURG_OK);
  ck_assert_int_eq(surg_until_find(im, path, NULL, &u), SURG_EUSAGE);
  ck_assert_ptr_null(u);
  surg_importer_free(im);
  /* A file that is not there, and an importer that never accepts. */
  ck_assert_int_eq(surg_importer_new(ctx, "false", NULL, &im), SURG_OK);
  ck_assert_int_eq(surg_until_find(im, "/no/such/model", NULL, &u), SURG_EIO);
  ck_assert_int_eq(surg_until_find(im, path, NULL, &u), SURG_OK);
  ck_assert_int_eq(surg_until_get(u, &r), SURG_OK);
  ck_assert(!r.accepted);
  ck_assert_ptr_null(surg_until_refused(u, r.refused));
  surg_until_free(u);
  surg_importer_free(im);
  ck_assert_int_eq(surg_until_find(NULL, path, NULL, &u), SURG_EUSAGE);
  ck_assert_int_eq(surg_until_get(NULL, &r), SURG_EUSAGE);
  ck_assert_ptr_null(surg_until_model(NULL));
  surg_until_free(NULL);
  unlink(path);
  surg_model_free(m);
}
END_TEST

static Suite *repairs_suite(void) {
  Suite *s = suite_create("repairs");
  TCase *c = tcase_create("all");
  tcase_add_checked_fixture(c, setup, teardown);
  tcase_set_timeout(c, 60);
  tcase_add_test(c, a_repair_is_found);
  tcase_add_test(c, sizes_are_given);
  tcase_add_test(c, defects_are_mended);
  tcase_add_test(c, invalid_models_are_refused);
  tcase_add_test(c, assessments);
  tcase_add_test(c, cuts);
  tcase_add_test(c, nothing_is_given);
  tcase_add_test(c, rules_have_long_names);
  tcase_add_test(c, an_importer_is_asked);
  suite_add_tcase(s, c);
  return s;
}

int main(void) {
  return unit_run(repairs_suite());
}
