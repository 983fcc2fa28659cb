/* SPDX-License-Identifier: Apache-2.0 */
/* What the library lists: facts about a model, operators and their versions, facts of targets. */
#include <onnxsurg/info.h>
#include <onnxsurg/names.h>
#include <onnxsurg/onnxsurg.h>
#include <onnxsurg/schema.h>
#include <onnxsurg/target.h>
#include <stdio.h>
#include <string.h>

#include "../unit.h"

static const char text[] =
    "<ir_version: 8, opset_import: [\"\" : 17, \"com.acme\" : 1]>\n"
    "g (float[N, 4] x) => (float[N, 3] y) <float[4, 3] w = {1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3}> "
    "{\n"
    "  a = Relu (x)  b = Relu (a)  c = com.acme.Foo (b)  y = MatMul (b, w)\n}\n";

static surg_context *ctx;
static surg_model *model;

static void setup(void) {
  ctx = surg_context_new(NULL);
  ck_assert_int_eq(surg_model_load_text(ctx, text, strlen(text), "m", &model), SURG_OK);
}

static void teardown(void) {
  surg_model_free(model);
  surg_context_free(ctx);
}

/* --- models --- */

START_TEST(models_are_counted) {
  surg_stats *s = NULL;
  surg_stats_summary sum = {.size = sizeof sum};
  surg_stats_op_count op = {.size = sizeof op};
  ck_assert_int_eq(surg_stats_new(model, &s), SURG_OK);
  surg_model_free(model); /* the counts stay */
  model = NULL;
  ck_assert_int_eq(surg_stats_get(s, &sum), SURG_OK);
  ck_assert(sum.nodes == 4 && sum.initializers == 1 && sum.parameters == 12 && sum.ops == 3);
  ck_assert_uint_eq(sum.weight_bytes, 48);
  ck_assert_int_eq(surg_stats_op(s, 0, &op), SURG_OK);
  ck_assert_str_eq(op.op, "Relu");
  ck_assert(op.count == 2 && op.op_class == SURG_OP_CLASS_BUILTIN && !op.control);
  ck_assert_int_eq(surg_stats_op(s, 1, &op), SURG_OK);
  ck_assert_str_eq(op.domain, "com.acme");
  ck_assert_int_eq(op.op_class, SURG_OP_CLASS_CUSTOM);
  ck_assert_int_eq(surg_stats_op(s, 3, &op), SURG_ENOTFOUND);
  surg_stats_free(s);
  surg_stats_free(NULL);
  ck_assert_int_eq(surg_stats_new(NULL, &s), SURG_EUSAGE);
}
END_TEST

START_TEST(facts_are_gathered) {
  surg_info *f = NULL;
  surg_info_summary sum = {.size = sizeof sum};
  surg_info_weights w = {.size = sizeof w};
  surg_info_node c = {.size = sizeof c};
  surg_info_floor_of floor = {.size = sizeof floor};
  surg_info_data file = {.size = sizeof file};
  surg_dim total;
  int64_t factor;
  const surg_expr *e;
  ck_assert_int_eq(surg_info_new(model, &f), SURG_OK);
  ck_assert_int_eq(surg_info_get(f, &sum), SURG_OK);
  ck_assert(sum.weight_tensors == 1 && sum.operator_unknown == 1 && sum.files == 0);
  ck_assert(sum.ir_floor > 0 && sum.peak_bytes > 0 && sum.peak_node);
  ck_assert_int_eq(surg_info_weights_of(f, SURG_FLOAT, &w), SURG_OK);
  ck_assert(w.tensors == 1 && w.parameters == 12 && w.bytes == 48);
  ck_assert_int_eq(surg_info_weights_of(f, SURG_INT8, &w), SURG_ENOTFOUND);
  /* The multiplication costs most: 12 multiply-accumulates for each of N rows. */
  ck_assert_int_eq(surg_info_cost(f, 0, &c), SURG_OK);
  ck_assert_str_eq(surg_node_op_type(c.node), "MatMul");
  ck_assert(c.macs_at_1 == 12 && c.flops_at_1 == 24 && c.macs.value < 0);
  ck_assert_str_eq(surg_dim_text(model, &c.macs), "12*N");
  ck_assert_int_eq(surg_info_total(f, false, &total), SURG_OK);
  ck_assert_str_eq(surg_dim_text(model, &total), "12*N");
  ck_assert_int_eq(surg_info_term(f, false, 0, &factor, &e), SURG_OK);
  ck_assert(factor == 12 && e);
  ck_assert_int_eq(surg_info_term(f, false, 1, &factor, &e), SURG_ENOTFOUND);
  ck_assert_int_eq(surg_info_floor(f, 0, &floor), SURG_OK);
  ck_assert_str_eq(floor.domain, "");
  ck_assert(floor.opset >= 1 && floor.opset <= 17 && floor.node);
  ck_assert_int_eq(surg_info_floor(f, 1, &floor), SURG_ENOTFOUND);
  ck_assert_int_eq(surg_info_file(f, 0, &file), SURG_ENOTFOUND);
  ck_assert_ptr_nonnull(surg_info_stats(f));
  surg_info_free(f);
  surg_info_free(NULL);
}
END_TEST

START_TEST(nodes_have_an_oldest_version) {
  const surg_schema *s = NULL;
  char *why = NULL;
  surg_node *n = surg_graph_first_node(surg_model_graph(model));
  ck_assert_int_eq(surg_model_infer(model), SURG_OK);
  ck_assert_int_eq(surg_node_oldest(n, &s, &why), SURG_OK);
  ck_assert_str_eq(surg_schema_name(s), "Relu");
  ck_assert(surg_schema_since(s) < 13 && why);
  surg_context_free_bytes(ctx, why);
  n = surg_node_next(surg_node_next(n));
  ck_assert_int_eq(surg_node_oldest(n, &s, &why), SURG_ENOTFOUND);
  ck_assert_ptr_null(why);
}
END_TEST

/* --- operators --- */

START_TEST(operators_have_versions) {
  surg_schema_param p = {.size = sizeof p};
  surg_schema_type t = {.size = sizeof t};
  surg_schema_default d = {.size = sizeof d};
  char *words = NULL;
  bool possible = false;
  uint32_t groups = 0, types = 0;
  const surg_schema *first = surg_schema_version(SURG_OP_Softmax, 0), *s;
  const surg_schema *second = surg_schema_version(SURG_OP_Softmax, 1);
  ck_assert(surg_schema_since(first) == 1 && surg_schema_since(second) == 11);
  ck_assert_ptr_null(surg_schema_version(SURG_OP_Softmax, 9));
  ck_assert_ptr_null(surg_schema_version(-1, 0));
  ck_assert_int_eq(surg_schema_param_at(first, false, 0, &p), SURG_OK);
  ck_assert(p.is_type_param && p.option == SURG_PARAM_SINGLE && !strcmp(p.type, "T"));
  ck_assert_int_eq(surg_schema_param_at(first, false, 1, &p), SURG_ENOTFOUND);
  ck_assert_int_eq(surg_schema_type_at(first, 0, &t), SURG_OK);
  ck_assert_str_eq(t.name, "T");
  ck_assert_int_eq(surg_schema_types_text(ctx, first, "T", &words, &groups), SURG_OK);
  ck_assert_ptr_nonnull(strstr(words, "float"));
  surg_context_free_bytes(ctx, words);
  ck_assert_str_eq(surg_schema_group(0, &types), "floats");
  ck_assert(types >> SURG_FLOAT16 & 1);
  ck_assert_ptr_null(surg_schema_group(31, NULL));
  ck_assert_int_eq(surg_schema_attr_default(first, 0, &d), SURG_OK);
  ck_assert(d.kind == SURG_ATTR_INT && d.i == 1);
  ck_assert_int_eq(surg_schema_attr_default(first, 9, &d), SURG_ENOTFOUND);
  ck_assert_int_eq(surg_schema_default_text(ctx, first, 0, &words), SURG_OK);
  ck_assert_str_eq(words, "1");
  surg_context_free_bytes(ctx, words);
  ck_assert_str_eq(surg_attr_kind_name(SURG_ATTR_INTS), "ints");
  ck_assert_ptr_null(surg_attr_kind_name(99));
  ck_assert_int_eq(surg_schema_changes(ctx, first, &words), SURG_ENOTFOUND);
  ck_assert_int_eq(surg_schema_changes(ctx, second, &words), SURG_OK);
  surg_context_free_bytes(ctx, words);
  ck_assert_int_eq(surg_schema_step(ctx, first, false, &possible, &words), SURG_ENOTFOUND);
  s = surg_schema_version(SURG_OP_Softmax, 2); /* its axis means something else */
  ck_assert_int_eq(surg_schema_step(ctx, s, false, &possible, &words), SURG_OK);
  ck_assert(!possible || *words);
  surg_context_free_bytes(ctx, words);
  s = surg_schema_version(SURG_OP_Relu, 0);
  ck_assert(surg_schema_flags(s) == 0 || !(surg_schema_flags(s) & SURG_SCHEMA_CONTROL_FLOW));
  s = surg_schema_version(SURG_OP_If, 0);
  ck_assert(surg_schema_flags(s) & SURG_SCHEMA_CONTROL_FLOW);
}
END_TEST

START_TEST(operators_have_bodies) {
  size_t bodies = 0;
  for (int op = 1; op < SURG_OP_COUNT; op++)
    for (size_t i = 0; surg_schema_version(op, i); i++) {
      int64_t opset = 0;
      const char *body = surg_schema_body_text(surg_schema_version(op, i), 0, &opset);
      if (!body) continue;
      ck_assert(*body && opset > 0);
      bodies++;
    }
  ck_assert_uint_gt(bodies, 10);
  ck_assert_ptr_null(surg_schema_body_text(NULL, 0, NULL));
}
END_TEST

/* --- targets --- */

START_TEST(targets_state_facts) {
  static const char json[] =
      "{\"name\": \"t\", \"source\": \"made up\", \"opset\": {\"\": [7, 13]}, \"rest\": "
      "\"refused\", \"notes\": [\"one\"], \"ops\": {\"Relu\": {\"versions\": \"6-13\"}, "
      "\"Loop\": {\"refused\": true, \"says\": \"no loops\"}}}";
  surg_target *t = NULL;
  surg_target_summary sum = {.size = sizeof sum};
  surg_target_operator op = {.size = sizeof op};
  int64_t low, high;
  size_t at = 9;
  char *words = NULL, span[32];
  ck_assert_msg(surg_target_parse(ctx, json, strlen(json), "t", &t) == SURG_OK, "%s",
                surg_context_error(ctx));
  ck_assert_int_eq(surg_target_get(t, &sum), SURG_OK);
  ck_assert(sum.operators == 2 && sum.domains == 1 && sum.notes == 1 && sum.rest_unsupported);
  ck_assert_int_eq(sum.functions, SURG_STATED_NOT);
  ck_assert(surg_target_opset(t, "", &low, &high) && low == 7 && high == 13);
  ck_assert(!surg_target_opset(t, "com.acme", &low, &high) && low == INT64_MIN);
  ck_assert(!surg_target_ir(t, &low, &high) && high == INT64_MAX);
  surg_target_span(7, INT64_MAX, span, sizeof span);
  ck_assert_str_eq(span, "from 7");
  surg_target_span(7, 7, span, sizeof span);
  ck_assert_str_eq(span, "7");
  ck_assert_str_eq(surg_target_domain(t, 0), "");
  ck_assert_ptr_null(surg_target_domain(t, 1));
  ck_assert_str_eq(surg_target_note(t, 0), "one");
  ck_assert_ptr_null(surg_target_note(t, 1));
  ck_assert_int_eq(surg_target_operator_at(t, 0, &op), SURG_OK);
  ck_assert(!strcmp(op.name, "Loop") && op.unsupported && op.facts == 1);
  ck_assert_int_eq(surg_target_operator_at(t, 2, &op), SURG_ENOTFOUND);
  ck_assert_int_eq(surg_target_find_operator(t, "Relu", &at), SURG_OK);
  ck_assert_uint_eq(at, 1);
  ck_assert_int_eq(surg_target_find_operator(t, "Abs", &at), SURG_ENOTFOUND);
  ck_assert_int_eq(surg_target_fact(t, 1, 0, &words), SURG_OK);
  ck_assert_ptr_nonnull(strstr(words, "versions 6"));
  surg_context_free_bytes(ctx, words);
  ck_assert_int_eq(surg_target_fact(t, 0, 0, &words), SURG_OK);
  ck_assert_str_eq(words, "unsupported; no loops");
  surg_context_free_bytes(ctx, words);
  ck_assert_int_eq(surg_target_fact(t, 1, 1, &words), SURG_ENOTFOUND);
  ck_assert_ptr_null(surg_target_fact_source(t, 1, 1));
  ck_assert_ptr_eq(surg_target_fact_source(t, 1, 0), surg_target_source(t));
  surg_target_free(t);
}
END_TEST

START_TEST(targets_state_each_key) {
  static const char *const facts[] = {"\"whole\": true",
                                      "\"fed\": [\"*\"]",
                                      "\"fed\": true",
                                      "\"given\": [\"B\"]",
                                      "\"row\": [\"W\"]",
                                      "\"counts\": {\"pads\": [4, 4]}",
                                      "\"known\": {\"W\": [0, 1]}",
                                      "\"values\": {\"W\": [0, 1]}",
                                      "\"const\": [\"W\"]",
                                      "\"not_after\": [\"Relu\"]",
                                      "\"odd\": [\"dilations\"]",
                                      "\"size\": {\"W\": [1, null]}"};
  for (size_t i = 0; i < sizeof facts / sizeof *facts; i++) {
    char json[300], *words = NULL;
    surg_target *t = NULL;
    snprintf(json, sizeof json, "{\"name\": \"t\", \"source\": \"\", \"ops\": {\"Conv\": {%s}}}",
             facts[i]);
    ck_assert_msg(surg_target_parse(ctx, json, strlen(json), "t", &t) == SURG_OK, "%s",
                  surg_context_error(ctx));
    ck_assert_int_eq(surg_target_fact(t, 0, 0, &words), SURG_OK);
    ck_assert_msg(*words && strcmp(words, "without a limit") != 0, "%s", facts[i]);
    surg_context_free_bytes(ctx, words);
    surg_target_free(t);
  }
}
END_TEST

int main(void) {
  Suite *s = suite_create("listing");
  TCase *t = tcase_create("listing");
  tcase_add_checked_fixture(t, setup, teardown);
  tcase_add_test(t, models_are_counted);
  tcase_add_test(t, facts_are_gathered);
  tcase_add_test(t, nodes_have_an_oldest_version);
  tcase_add_test(t, operators_have_versions);
  tcase_add_test(t, operators_have_bodies);
  tcase_add_test(t, targets_state_facts);
  tcase_add_test(t, targets_state_each_key);
  suite_add_tcase(s, t);
  return unit_run(s);
}
