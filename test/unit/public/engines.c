/* SPDX-License-Identifier: Apache-2.0 */
/* What the library says about engines to programs that embed it: targets, verdicts, messages,
 * probes. */
#include <onnxsurg/command.h>
#include <onnxsurg/explain.h>
#include <onnxsurg/names.h>
#include <onnxsurg/onnxsurg.h>
#include <onnxsurg/precision.h>
#include <onnxsurg/probe.h>
#include <onnxsurg/target.h>
#include <stdio.h>
#include <string.h>

#include "../unit.h"

static const char text[] =
    "<ir_version: 8, opset_import: [\"\" : 17, \"com.acme\" : 1]>\n"
    "g (float[2] x) => (float[2] y) { a = com.acme.Foo (x)  y = Relu (a) }\n";

static surg_context *ctx;
static surg_model *model;

static void setup(void) {
  ctx = surg_context_new(NULL);
  ck_assert_ptr_nonnull(ctx);
  ck_assert_int_eq(surg_model_load_text(ctx, text, strlen(text), "m", &model), SURG_OK);
}

static void teardown(void) {
  surg_model_free(model);
  surg_context_free(ctx);
}

/* --- targets --- */

static surg_target *target(const char *json) {
  surg_target *t = NULL;
  ck_assert_msg(surg_target_parse(ctx, json, strlen(json), "t", &t) == SURG_OK, "%s",
                surg_context_error(ctx));
  return t;
}

static const char closed[] =
    "{\"name\": \"t\", \"title\": \"T\", \"source\": \"made up\", \"closed\": true, \"functions\": "
    "true,\n"
    " \"opset\": {\"\": [7, 20]}, \"rest\": \"refused\", \"ops\": {\"Relu\": {}}}";

START_TEST(built_in_targets_open) {
  surg_target *t = NULL;
  ck_assert_uint_gt(surg_target_count(), 100);
  ck_assert_ptr_null(surg_target_name_at(surg_target_count()));
  ck_assert_int_eq(surg_target_open(ctx, surg_target_name_at(0), &t), SURG_OK);
  ck_assert_str_eq(surg_target_name(t), surg_target_name_at(0));
  ck_assert_ptr_nonnull(surg_target_source(t));
  surg_target_free(t);
  ck_assert_int_eq(surg_target_open(ctx, "trt8.6", &t), SURG_OK);
  ck_assert_str_eq(surg_target_name(t), "tensorrt-8.6");
  ck_assert_ptr_null(surg_target_host(t));
  surg_target_free(t);
  ck_assert_int_eq(surg_target_open(ctx, "onnxruntime-cuda-1.20", &t), SURG_OK);
  ck_assert_ptr_nonnull(surg_target_host(t));
  surg_target_free(t);
}
END_TEST

/* Types of a fact by parameter; of the host where the target does not list the operator. */
START_TEST(targets_state_types) {
  static const char source[] =
      "<ir_version: 8, opset_import: [\"\" : 17, \"com.microsoft\" : 1]>\n"
      "g (float[2,2] x, int64[1] i) => (float[2,2] y, float[2,2] z, float[1,2] w) {\n"
      "  y = MatMul (x, x)  z = com.microsoft.Gelu (x)  w = Gather (x, i) }";
  surg_target *t = NULL;
  surg_model *m = NULL;
  ck_assert_int_eq(surg_target_open(ctx, "onnxruntime-1.14", &t), SURG_OK);
  ck_assert_int_eq(surg_model_load_text(ctx, source, sizeof source - 1, "m", &m), SURG_OK);
  const surg_node *n = surg_graph_first_node(surg_model_graph(m));
  const uint64_t floats = UINT64_C(1) << SURG_FLOAT, halves = UINT64_C(1) << SURG_FLOAT16;
  ck_assert(surg_target_types(t, n, false, 1) & floats);
  ck_assert(surg_target_types(t, n, true, 0) & floats);
  ck_assert(!(surg_target_types(t, n, true, 0) & halves));
  ck_assert_uint_eq(surg_target_types(t, n, true, 9), 0);
  ck_assert_uint_eq(surg_target_types(NULL, n, true, 0), 0);
  n = surg_node_next(surg_node_next(n));
  ck_assert(surg_target_types(t, n, false, 0) & halves);
  ck_assert(surg_target_types(t, n, false, 1) & UINT64_C(1) << SURG_INT64);
  surg_model_free(m);
  surg_target_free(t);
}
END_TEST

START_TEST(targets_refuse) {
  surg_target *t = NULL;
  surg_judgement j = {.size = sizeof j};
  ck_assert_int_eq(surg_target_open(ctx, "tensorflow-from-mars", &t), SURG_EUSAGE);
  ck_assert_ptr_null(t);
  ck_assert_ptr_nonnull(surg_context_error(ctx));
  surg_context_clear_error(ctx);
  ck_assert_int_eq(surg_target_open(ctx, "./nothing.target", &t), SURG_EIO);
  ck_assert_int_eq(surg_target_open(NULL, "trt8.6", &t), SURG_EUSAGE);
  ck_assert_int_eq(surg_target_open(ctx, NULL, &t), SURG_EUSAGE);
  ck_assert_int_eq(surg_target_open(ctx, "trt8.6", NULL), SURG_EUSAGE);
  ck_assert_int_eq(surg_target_parse(ctx, "{", 1, "t", &t), SURG_EUSAGE);
  ck_assert_ptr_null(t);
  surg_target_free(NULL);
  ck_assert_ptr_null(surg_target_name(NULL));
  ck_assert_int_eq(surg_target_judge(NULL, model, NULL, NULL, &j), SURG_EUSAGE);
  t = target(closed);
  ck_assert_int_eq(surg_target_judge(t, NULL, NULL, NULL, &j), SURG_EUSAGE);
  ck_assert_int_eq(surg_target_register(t, ""), SURG_EUSAGE);
  ck_assert_int_eq(surg_target_register(t, ":Foo"), SURG_EUSAGE);
  ck_assert_int_eq(surg_target_register(t, "com.acme:"), SURG_EUSAGE);
  ck_assert_int_eq(surg_target_register(NULL, "com.acme"), SURG_EUSAGE);
  ck_assert_int_eq(surg_target_host_nodes(t, model, NULL, NULL, NULL, NULL, NULL),
                   SURG_EUNSUPPORTED);
  surg_target_free(t);
}
END_TEST

typedef struct heard {
  size_t count;
  char code[8], where[200];
  surg_verdict verdict;
  surg_severity severity;
} heard;

static void hear(void *user, const surg_objection *o) {
  heard *h = user;
  h->count++;
  h->verdict = o->verdict;
  h->severity = o->severity;
  snprintf(h->code, sizeof h->code, "%s", o->code);
  snprintf(h->where, sizeof h->where, "%s", o->where);
}

START_TEST(objections_are_heard) {
  surg_target *t = target(closed);
  surg_judgement j = {.size = sizeof j};
  heard h = {0};
  ck_assert_int_eq(surg_target_judge(t, model, hear, &h, &j), SURG_OK);
  ck_assert_int_eq(j.verdict, SURG_UNSUPPORTED);
  ck_assert_uint_eq(j.unsupported, 1);
  ck_assert_uint_eq(h.count, j.unsupported + j.unknown);
  ck_assert_str_eq(h.code, "E412");
  ck_assert_int_eq(h.severity, SURG_ERROR);
  ck_assert_str_eq(h.where, "graph.node[0] (com.acme.Foo)");
  ck_assert_str_eq(surg_verdict_name(j.verdict), "unsupported");
  ck_assert_ptr_null(surg_verdict_name((surg_verdict)7));

  char word[] = "com.acme:Foo"; /* copied: it may go */
  ck_assert_int_eq(surg_target_register(t, "com.other"), SURG_OK);
  ck_assert_int_eq(surg_target_register(t, word), SURG_OK);
  memset(word, 'x', sizeof word - 1);
  ck_assert_int_eq(surg_target_judge(t, model, NULL, NULL, &j), SURG_OK);
  ck_assert_int_eq(j.verdict, SURG_SUPPORTED);
  surg_target_free(t);
}
END_TEST

static const char elsewhere[] =
    "<ir_version: 8, opset_import: [\"\" : 17]>\n"
    "g (float[2] x) => (float[2] y) <float[2] w = [\"location\": \"gone.bin\"]> { y = Add (x, w) "
    "}\n";

static void hear_data(void *user, const surg_objection *o) {
  char *said = user;
  ck_assert(o->data);
  ck_assert_str_eq(o->code, "E416");
  snprintf(said, 200, "%s", o->text);
}

/* The copy of a model keeps what the objections print, after the model is freed. */
START_TEST(copies_know_lost_data) {
  const surg_load_options lenient = {.size = sizeof lenient, .policy = SURG_LOAD_LENIENT};
  surg_model *m = NULL, *other = NULL;
  surg_target *t = NULL;
  surg_judgement j = {.size = sizeof j};
  char said[200] = "";
  ck_assert_int_eq(
      surg_model_load_memory(ctx, elsewhere, strlen(elsewhere), "m.onnxtxt", &lenient, &m),
      SURG_OK);
  surg_model *copy = surg_model_clone(m);
  ck_assert_ptr_nonnull(copy);
  surg_model_free(m);
  ck_assert_int_eq(surg_model_load_text(ctx, text, strlen(text), "n", &other), SURG_OK);
  ck_assert_int_eq(surg_target_open(ctx, "onnxruntime-1.30", &t), SURG_OK);
  ck_assert_int_eq(surg_target_judge(t, copy, hear_data, said, &j), SURG_OK);
  ck_assert_str_eq(said,
                   "data file \"gone.bin\" is missing: the engine cannot read 1 weight, "
                   "the first \"w\"");
  ck_assert_int_eq(j.verdict, SURG_UNSUPPORTED);
  ck_assert_int_eq(j.verdict_with_data, SURG_SUPPORTED);
  ck_assert_uint_eq(j.data, 1);
  surg_target_free(t);
  surg_model_free(copy);
  surg_model_free(other);
}
END_TEST

START_TEST(hosts_run_the_rest) {
  surg_target *t = NULL;
  size_t on_host = 9, unknown = 9, nodes = 0;
  ck_assert_int_eq(surg_target_open(ctx, "onnxruntime-ep-xnnpack-1.15", &t), SURG_OK);
  surg_model_free(model);
  static const char erf[] =
      "<ir_version: 8, opset_import: [\"\" : 17]>\n"
      "g (float[2] x) => (float[2] y) { y = Erf (x) }\n";
  ck_assert_int_eq(surg_model_load_text(ctx, erf, strlen(erf), "m", &model), SURG_OK);
  ck_assert_int_eq(surg_target_host_nodes(t, model, NULL, NULL, &on_host, &unknown, &nodes),
                   SURG_OK);
  ck_assert_uint_eq(nodes, 1);
  ck_assert_uint_eq(on_host + unknown, 1);
  surg_target_free(t);
}
END_TEST

/* --- names --- */

START_TEST(names) {
  surg_exactness e = SURG_EXACT;
  char *word = NULL;
  surg_node *n = surg_graph_first_node(surg_model_graph(model));
  ck_assert_str_eq(surg_node_where(n), "graph.node[0] (com.acme.Foo)");
  ck_assert_ptr_null(surg_node_where(NULL));
  ck_assert_str_eq(surg_exactness_name(SURG_ROUNDING), "rounding");
  ck_assert_ptr_null(surg_exactness_name((surg_exactness)9));
  ck_assert(surg_exactness_from_name("lossy", &e) && e == SURG_LOSSY);
  ck_assert(!surg_exactness_from_name("perfect", &e));
  ck_assert(!surg_exactness_from_name(NULL, &e));
  ck_assert_int_eq(surg_pipeline_word(ctx, "plain", &word), SURG_OK);
  ck_assert_str_eq(word, "plain");
  surg_context_free_bytes(ctx, word);
  ck_assert_int_eq(surg_pipeline_word(ctx, "a,b}", &word), SURG_OK);
  ck_assert_str_ne(word, "a,b}");
  surg_context_free_bytes(ctx, word);
  ck_assert_int_eq(surg_pipeline_word(NULL, "a", &word), SURG_EUSAGE);
}
END_TEST

/* --- messages --- */

typedef struct told {
  size_t count, seen;
  char id[80], op[40];
} told;

static void tell(void *user, const surg_explanation *e) {
  told *t = user;
  t->count++;
  snprintf(t->id, sizeof t->id, "%s", e->id);
  snprintf(t->op, sizeof t->op, "%s", e->op ? e->op : "");
  if (surg_explanation_look(e, model, NULL, NULL, &t->seen) != SURG_OK) t->seen = SIZE_MAX;
}

START_TEST(messages_are_explained) {
  static const char said[] = "Fatal error: com.acme:Foo(-1) is not a registered function/op\n";
  surg_messages *all = NULL;
  told t = {0};
  size_t count = 0;
  ck_assert_int_eq(surg_messages_new(ctx, NULL, &all), SURG_OK);
  ck_assert_int_eq(surg_explain(all, said, strlen(said), NULL, tell, &t, &count), SURG_OK);
  ck_assert_uint_eq(count, 1);
  ck_assert_uint_eq(t.count, 1);
  ck_assert_str_eq(t.op, "com.acme.Foo");
  ck_assert_uint_eq(t.seen, 1);
  ck_assert_int_eq(surg_explain(all, "nothing known", 13, NULL, tell, &t, &count), SURG_OK);
  ck_assert_uint_eq(count, 0);
  ck_assert_int_eq(surg_explain(NULL, "x", 1, NULL, tell, &t, &count), SURG_EUSAGE);
  ck_assert_int_eq(surg_explain(all, NULL, 0, NULL, tell, &t, &count), SURG_EUSAGE);
  ck_assert_int_eq(surg_explanation_look(NULL, model, NULL, NULL, NULL), SURG_EUSAGE);
  surg_messages_free(all);
  surg_messages_free(NULL);
  ck_assert_int_eq(surg_messages_new(NULL, NULL, &all), SURG_EUSAGE);
  ck_assert_int_eq(surg_messages_new(ctx, "/no/such/file", &all), SURG_EIO);
  ck_assert_ptr_null(all);
}
END_TEST

/* --- probes --- */

static void count_answers(void *user, const surg_probe_answer *a) {
  size_t *n = user;
  n[a->accepted]++;
  ck_assert(a->accepted == !a->message);
}

START_TEST(a_probe_learns) {
  /* Accepts models of IR version 8 of which no byte spells Relu. */
  surg_importer *im = NULL;
  size_t answers[2] = {0, 0};
  const surg_probe_options options = {.size = sizeof options,
                                      .ops = "Relu+Abs",
                                      .title = "An engine",
                                      .answer = count_answers,
                                      .user = answers};
  surg_probe_report report = {.size = sizeof report};
  char *json = NULL;
  size_t n = 0;
  static const char judge[] =
      "sh -c 'for f; do if grep -q Abs \"$f\"; then printf \"%s\\tno Abs\\n\" \"$f\"; else printf "
      "\"%s\\tok\\n\" \"$f\"; fi; done' sh {...}";
  ck_assert_int_eq(surg_importer_new(ctx, judge, NULL, &im), SURG_OK);
  ck_assert_msg(surg_probe(im, "mine", &options, &json, &n, &report) == SURG_OK, "%s",
                surg_context_error(ctx));
  ck_assert_uint_eq(strlen(json), n);
  ck_assert_uint_eq(report.asked, answers[0] + answers[1]);
  ck_assert_uint_eq(report.accepted, answers[1]);
  ck_assert_uint_eq(report.left, 0);
  ck_assert_ptr_nonnull(strstr(json, "\"title\": \"An engine\""));
  surg_target *t = NULL;
  ck_assert_int_eq(surg_target_parse(ctx, json, n, "mine", &t), SURG_OK);
  ck_assert_str_eq(surg_target_name(t), "mine");
  static const char abs[] =
      "<ir_version: 8, opset_import: [\"\" : 17]>\n"
      "g (float[2] x) => (float[2] y) { y = Abs (x) }\n";
  surg_model_free(model);
  ck_assert_int_eq(surg_model_load_text(ctx, abs, strlen(abs), "m", &model), SURG_OK);
  surg_judgement j = {.size = sizeof j};
  ck_assert_int_eq(surg_target_judge(t, model, NULL, NULL, &j), SURG_OK);
  ck_assert_int_eq(j.verdict, SURG_UNSUPPORTED);
  surg_target_free(t);
  surg_context_free_bytes(ctx, json);
  surg_importer_free(im);
}
END_TEST

START_TEST(probes_refuse) {
  surg_importer *im = NULL;
  char *json = NULL;
  size_t n = 0;
  ck_assert_int_eq(surg_probe(NULL, "x", NULL, &json, &n, NULL), SURG_EUSAGE);
  ck_assert_int_eq(surg_importer_new(ctx, "/no/such/program", NULL, &im), SURG_OK);
  ck_assert_int_eq(surg_probe(im, NULL, NULL, &json, &n, NULL), SURG_EUSAGE);
  ck_assert_int_eq(surg_probe(im, "x", NULL, &json, &n, NULL), SURG_EUSAGE);
  ck_assert_ptr_null(json);
  surg_importer_free(im);
  static const char never[] =
      "sh -c 'for f; do printf \"%s\\tnot today\\n\" \"$f\"; done' sh {...}";
  surg_context_clear_error(ctx);
  ck_assert_int_eq(surg_importer_new(ctx, never, NULL, &im), SURG_OK);
  ck_assert_int_eq(surg_probe(im, "x", NULL, &json, &n, NULL), SURG_EINVALID);
  ck_assert_str_eq(surg_context_error(ctx),
                   "onnxsurg: error: the importer accepts no model, not "
                   "even of one Relu: not today");
  surg_importer_free(im);
}
END_TEST

static Suite *engines_suite(void) {
  Suite *s = suite_create("engines");
  TCase *c = tcase_create("all");
  tcase_add_checked_fixture(c, setup, teardown);
  tcase_set_timeout(c, 120);
  tcase_add_test(c, built_in_targets_open);
  tcase_add_test(c, targets_state_types);
  tcase_add_test(c, targets_refuse);
  tcase_add_test(c, objections_are_heard);
  tcase_add_test(c, copies_know_lost_data);
  tcase_add_test(c, hosts_run_the_rest);
  tcase_add_test(c, names);
  tcase_add_test(c, messages_are_explained);
  tcase_add_test(c, a_probe_learns);
  tcase_add_test(c, probes_refuse);
  suite_add_tcase(s, c);
  return s;
}

int main(void) {
  return unit_run(engines_suite());
}
