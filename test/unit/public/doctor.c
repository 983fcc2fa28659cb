/* SPDX-License-Identifier: Apache-2.0 */
/* Files that were checked, what `mend` cures, and diagnoses, from a program that links the
 * library. */
#include <onnxsurg/doctor.h>
#include <onnxsurg/onnxsurg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../unit.h"

#define HEAD "<ir_version: 8, opset_import: [\"\" : 17]>\n"

static surg_context *ctx;
static size_t lines; /* diagnostics */

static void hear(void *user, surg_severity severity, const char *line) {
  (void)user, (void)severity, (void)line;
  lines++;
}

static void setup(void) {
  const surg_config config = {.size = sizeof config, .diag = hear};
  ctx = surg_context_new(&config);
  lines = 0;
}

static void teardown(void) {
  surg_context_free(ctx);
}

typedef struct seen {
  size_t n, located;
  char code[16], where[200];
} seen;

static void see(void *user, const surg_check_finding *f) {
  seen *s = user;
  s->n++;
  s->located += f->where != NULL;
  ck_assert_ptr_nonnull(f->hint);
  if (f->severity != SURG_ERROR || *s->code) return;
  snprintf(s->code, sizeof s->code, "%s", f->code);
  snprintf(s->where, sizeof s->where, "%s", f->where ? f->where : "");
}

static surg_checked *check(const char *text, seen *s) {
  const surg_check_options o = {
      .size = sizeof o, .bytes = text, .n_bytes = strlen(text), .fn = see, .user = s};
  surg_checked *c = NULL;
  *s = (seen){0};
  ck_assert_int_eq(surg_check_file(ctx, "m", &o, &c), SURG_OK);
  return c;
}

START_TEST(rules_are_listed) {
  surg_check_rule r = {.size = sizeof r};
  size_t i = 9999;
  ck_assert_int_eq(surg_check_rule_at(0, &r), SURG_OK);
  ck_assert_str_eq(r.code, "E001");
  ck_assert_int_eq(surg_check_rule_at(9999, &r), SURG_ENOTFOUND);
  ck_assert_int_eq(surg_check_find_rule("W206", &i, &r), SURG_OK);
  ck_assert(r.severity == SURG_WARNING && *r.finding && *r.hint);
  ck_assert_int_eq(surg_check_rule_at(i, &r), SURG_OK);
  ck_assert_str_eq(r.code, "W206");
  ck_assert_int_eq(surg_check_find_rule("X1", NULL, &r), SURG_ENOTFOUND);
  ck_assert_int_eq(surg_check_find_rule(NULL, NULL, &r), SURG_EUSAGE);
}
END_TEST

START_TEST(files_are_checked) {
  seen s;
  surg_checked_summary sum = {.size = sizeof sum};
  bool possible = false;
  surg_checked *c = check(HEAD "g (float[2] x) => (float[2] y) { y = Relu (x) }\n", &s);
  ck_assert_int_eq(surg_checked_look(c), SURG_OK);
  ck_assert_int_eq(surg_checked_get(c, &sum), SURG_OK);
  ck_assert(s.n == 0 && sum.errors == 0 && !sum.partial && sum.status == SURG_OK);
  ck_assert_ptr_nonnull(surg_checked_model(c));
  ck_assert_int_eq(surg_checked_try(c, "opset{to=13}", NULL, NULL, &possible), SURG_OK);
  ck_assert(possible);
  ck_assert_int_eq(surg_model_opset(surg_checked_model(c), ""), 17); /* a copy was converted */
  surg_checked_free(c);
  /* An invalid model: findings, and nothing is reported. */
  c = check(HEAD "g (float[2] x) => (float[2] y) { y = Add (x, nowhere) }\n", &s);
  ck_assert_int_eq(surg_checked_look(c), SURG_OK);
  ck_assert_int_eq(surg_checked_get(c, &sum), SURG_OK);
  ck_assert(sum.errors == 1 && sum.partial && sum.status == SURG_EINVALID && s.located == 1);
  ck_assert_ptr_nonnull(strstr(s.where, "nowhere"));
  ck_assert_uint_eq(lines, 0);
  surg_checked_free(c);
  surg_checked_free(NULL);
}
END_TEST

START_TEST(what_prevents_a_conversion_is_a_finding) {
  seen s;
  bool possible = true;
  surg_checked *c = check(HEAD "g (float[2, 3] x) => (float[2, 3] y) { y = HardSwish (x) }\n", &s);
  ck_assert_int_ne(surg_checked_try(c, "opset{to=5}", NULL, NULL, &possible), SURG_OK);
  ck_assert(!possible);
  ck_assert_str_eq(s.code, "E135");
  ck_assert_uint_eq(lines, 0);
  ck_assert_ptr_nonnull(surg_checked_model(c)); /* it stays */
  surg_checked_free(c);
}
END_TEST

START_TEST(a_missing_file_is_a_finding) {
  seen s = {0};
  const surg_check_options o = {.size = sizeof o, .fn = see, .user = &s};
  surg_checked_summary sum = {.size = sizeof sum};
  surg_checked *c = NULL;
  surg_outlook outlook = {.size = sizeof outlook};
  ck_assert_int_eq(surg_check_file(ctx, "/no/such/file.onnx", &o, &c), SURG_OK);
  ck_assert_int_eq(surg_checked_get(c, &sum), SURG_OK);
  ck_assert_int_eq(sum.status, SURG_EIO);
  ck_assert_str_eq(s.code, "E001");
  ck_assert_ptr_null(surg_checked_model(c));
  ck_assert_int_eq(surg_checked_look(c), SURG_OK);
  ck_assert_int_eq(surg_checked_try(c, "prune", NULL, NULL, NULL), SURG_EUSAGE);
  ck_assert_int_eq(surg_checked_outlook(c, &outlook), SURG_OK);
  ck_assert_int_eq(outlook.mended, SURG_MENDED_NONE);
  surg_checked_free(c);
  ck_assert_int_eq(surg_check_file(ctx, NULL, NULL, &c), SURG_EUSAGE);
}
END_TEST

START_TEST(mending_is_foreseen) {
  seen s;
  surg_outlook o = {.size = sizeof o};
  /* An attribute that the operator lacks can be dropped, with consent. */
  surg_checked *c =
      check(HEAD "g (float[2] x) => (float[2] y) { y = Relu <perm = [0]> (x) }\n", &s);
  ck_assert_int_eq(surg_checked_look(c), SURG_OK);
  ck_assert_int_eq(surg_checked_outlook(c, &o), SURG_OK);
  ck_assert_int_eq(o.mended, SURG_MENDED_ALL);
  ck_assert_int_eq(o.allow, SURG_APPROX);
  ck_assert_uint_eq(o.errors, 0);
  ck_assert_uint_eq(lines, 0);
  surg_checked_free(c);
  c = check(HEAD "g (float[2] x) => (float[2] y) { y = Relu (x) }\n", &s);
  ck_assert_int_eq(surg_checked_outlook(c, &o), SURG_OK);
  ck_assert_int_eq(o.mended, SURG_MENDED_NONE);
  surg_checked_free(c);
}
END_TEST

static surg_point point_of(const surg_diagnosis *d, const char *title) {
  surg_point p = {.size = sizeof p};
  for (size_t i = 0; surg_diagnosis_point(d, i, &p) == SURG_OK; i++)
    if (!strcmp(p.title, title)) return p;
  ck_abort_msg("no point %s", title);
  return p;
}

START_TEST(models_are_diagnosed) {
  static const char model[] =
      HEAD "g (float[N] x) => (float[N] y) { a = Relu (x)  y = Gelu (a) }\n";
  static const char said[] = "some message";
  surg_target *t = NULL;
  surg_diagnosis *d = NULL;
  surg_diagnosis_summary sum = {.size = sizeof sum};
  surg_doctor_options o = {.size = sizeof o, .bytes = model, .n_bytes = strlen(model)};
  ck_assert_int_eq(surg_doctor(ctx, "m", &o, &d), SURG_OK);
  ck_assert_int_eq(surg_diagnosis_get(d, &sum), SURG_OK);
  ck_assert(sum.loaded && sum.open == 1 && !sum.judged);
  surg_point p = point_of(d, "opset and IR");
  ck_assert(p.state == SURG_POINT_OPEN && p.open == 1 && p.first);
  ck_assert_str_eq(p.pass, "opset{to=20}");
  ck_assert_str_eq(sum.pipeline, "opset{to=20}");
  p = point_of(d, "message");
  ck_assert_int_eq(p.state, SURG_POINT_NOT_REACHED);
  ck_assert_ptr_null(surg_diagnosis_repair(d));
  surg_diagnosis_free(d);
  /* With a target there is a verdict, with a message that point. */
  static const char valid[] = HEAD "g (float[N] x) => (float[N] y) { a = Relu (x)  y = Neg (a) }\n";
  ck_assert_int_eq(surg_target_open(ctx, "onnxruntime-1.4", &t), SURG_OK);
  o.target = t;
  o.bytes = valid;
  o.n_bytes = strlen(valid);
  o.message = said;
  o.message_length = strlen(said);
  ck_assert_int_eq(surg_doctor(ctx, "m", &o, &d), SURG_OK);
  ck_assert_int_eq(surg_diagnosis_get(d, &sum), SURG_OK);
  ck_assert(sum.judged && sum.assessment == SURG_ASSESS_REPAIR);
  ck_assert_int_eq(point_of(d, "message").state, SURG_POINT_NOTE);
  ck_assert_int_eq(point_of(d, "loads").state, SURG_POINT_OK);
  surg_repair_result r = {.size = sizeof r};
  ck_assert_int_eq(surg_repair_get(surg_diagnosis_repair(d), &r), SURG_OK);
  ck_assert_int_eq(r.verdict, SURG_SUPPORTED);
  ck_assert_uint_eq(lines, 0);
  surg_diagnosis_free(d);
  surg_diagnosis_free(NULL);
  surg_target_free(t);
}
END_TEST

START_TEST(a_missing_file_is_diagnosed) {
  surg_diagnosis *d = NULL;
  surg_diagnosis_summary sum = {.size = sizeof sum};
  ck_assert_int_eq(surg_doctor(ctx, "/no/such/file.onnx", NULL, &d), SURG_OK);
  ck_assert_int_eq(surg_diagnosis_get(d, &sum), SURG_OK);
  ck_assert(!sum.loaded && sum.status == SURG_EIO && sum.open == 1);
  ck_assert_uint_eq(lines, 1);
  ck_assert_int_eq(point_of(d, "loads").state, SURG_POINT_OPEN);
  ck_assert_int_eq(point_of(d, "valid").state, SURG_POINT_NOT_REACHED);
  surg_diagnosis_free(d);
  ck_assert_int_eq(surg_doctor(ctx, NULL, NULL, &d), SURG_EUSAGE);
}
END_TEST

int main(void) {
  Suite *s = suite_create("doctor");
  TCase *t = tcase_create("doctor");
  tcase_add_checked_fixture(t, setup, teardown);
  tcase_set_timeout(t, 60);
  tcase_add_test(t, rules_are_listed);
  tcase_add_test(t, files_are_checked);
  tcase_add_test(t, what_prevents_a_conversion_is_a_finding);
  tcase_add_test(t, a_missing_file_is_a_finding);
  tcase_add_test(t, mending_is_foreseen);
  tcase_add_test(t, models_are_diagnosed);
  tcase_add_test(t, a_missing_file_is_diagnosed);
  suite_add_tcase(s, t);
  return unit_run(s);
}
