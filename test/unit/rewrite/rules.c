/* SPDX-License-Identifier: Apache-2.0 */
/* The rules that are built in: what is listed of them without reading holds, and they are read when
 * a model asks them and no sooner. */
#include <stdio.h>
#include <string.h>

#include "../unit.h"
#include "base/context.h"
#include "rewrite/lang/rule.h"

static char said[2000];

static void hear(void *user, surg_severity severity, const char *line) {
  (void)user, (void)severity;
  snprintf(said, sizeof said, "%s", line);
}

static surg_context *context(uint64_t memory) {
  surg_config config = {.size = sizeof config, .diag = hear, .max_memory = memory};
  surg_context *ctx = surg_context_new(&config);
  ck_assert_ptr_nonnull(ctx);
  return ctx;
}

static size_t known(const surg__rules *r) {
  size_t n = 0;
  for (size_t i = 0; i < r->list.count; i++) n += r->list.items[i]->read;
  return n;
}

START_TEST(all_read_as_listed) {
  surg_context *ctx = context(0);
  surg__rules *r = surg__rules_of(ctx);
  ck_assert_ptr_nonnull(r);
  ck_assert_uint_gt(r->list.count, 500);
  ck_assert_uint_eq(known(r), 0);
  for (size_t i = 0; i < r->list.count; i++) {
    const surg_rule *rule = r->list.items[i];
    const surg_str text = surg_rule_text(rule);
    ck_assert_msg(surg__rule_read(rule), "%s: %s", rule->name, said);
    ck_assert_int_eq(strncmp(text.p, "rule ", 5), 0);
    ck_assert_int_eq(text.p[text.n - 1], '}');
    /* The name is that of the text, and of the operator behind it. */
    const size_t n = strlen(rule->name) - (rule->each_op.n ? rule->each_op.n + 1 : 0);
    ck_assert_msg(!strncmp(text.p + 5, rule->name, n) && text.p[5 + n] == ' ', "%s", rule->name);
    ck_assert_str_eq(surg_rule_name(surg_context_rule(ctx, i)), rule->name);
  }
  const surg_rule *a, *b;
  ck_assert_msg(!surg__rules_cyclic(r, 0, &a, &b), "%s and %s undo each other", a->name, b->name);
  surg_context_free(ctx);
}
END_TEST

static const char text[] =
    "<ir_version: 8, opset_import: [\"\" : 17]>\n"
    "g (float[2] x) => (float[2] y) { a = Identity (x)  b = Neg (a)  y = Neg (b) }\n";

START_TEST(read_when_asked) {
  surg_context *ctx = context(0);
  surg_model *m = NULL;
  ck_assert_int_eq(surg_model_load_text(ctx, text, strlen(text), "m", &m), SURG_OK);
  ck_assert_int_eq(surg_model_run(&m, "rewrite{group=simplify}"), SURG_OK);
  const surg__rules *r = surg__rules_of(ctx);
  ck_assert_uint_gt(known(r), 0);
  ck_assert_uint_lt(known(r), r->list.count / 10);
  for (size_t i = 0; i < r->list.count; i++)
    if (r->list.items[i]->read) ck_assert_str_eq(r->list.items[i]->group, "simplify");
  surg_model_free(m);
  surg_context_free(ctx);
}
END_TEST

/* What embed.py might see wrong is told, and the rule does not run. */
START_TEST(listed_otherwise) {
  static const surg__rule_file file = {
      "wrong.rules", "\nrule one ulp(2) { match { y = Abs (x) } emit { y = x } } rule"};
  static const struct {
    surg__rule_entry e;
    const char *said;
  } rows[] = {
      {{"one", "g", "2", "", "Abs", NULL, SURG_ULP, 0, 2, 1, 56}, NULL},
      {{"one", "g", "2", "", "Neg", NULL, SURG_ULP, 0, 2, 1, 56}, "rule one is listed otherwise"},
      {{"one", "g", "2", "a.b", "Abs", NULL, SURG_ULP, 0, 2, 1, 56},
       "rule one is listed otherwise"},
      {{"one", "g", "2", "", "Abs", NULL, SURG_EXACT, 0, 2, 1, 56}, "rule one is listed otherwise"},
      {{"one", "g", "3", "", "Abs", NULL, SURG_ULP, 0, 2, 1, 56}, "rule one is listed otherwise"},
      {{"one", "g", NULL, "", "Abs", NULL, SURG_ULP, 0, 2, 1, 56}, "rule one is listed otherwise"},
      {{"one", "g", "2", "", "Abs", NULL, SURG_ULP, 0, 2, 1, 61}, "rule one is listed otherwise"},
      {{"one", "g", "2", "", "Abs", NULL, SURG_ULP, 0, 2, 1, 40}, "wrong.rules:2:"},
  };
  surg_context *ctx = context(0);
  surg__rules *r = surg__rules_of(ctx);
  for (size_t i = 0; i < SURG_COUNT(rows); i++) {
    *said = 0;
    ck_assert_int_eq(surg__rules_list(r, &file, &rows[i].e, 1), SURG_OK);
    const surg_rule *rule = surg_context_rule(ctx, surg_context_rule_count(ctx) - 1);
    ck_assert_int_eq(surg__rule_read(rule), rows[i].said == NULL);
    if (rows[i].said) ck_assert_msg(strstr(said, rows[i].said) != NULL, "%zu: %s", i, said);
    ck_assert_int_eq(rule->read, rows[i].said == NULL);
    /* Nothing that was read of it remains. */
    ck_assert_int_eq(rule->match.n, rows[i].said == NULL);
    ck_assert_int_eq(surg_rule_makes(rule, "", "Abs"), false);
    ck_assert_int_eq(r->failed, rows[i].said != NULL);
    r->failed = false;
  }
  surg_context_free(ctx);
}
END_TEST

/* Whatever there is too little memory for, the run fails or does all; and a rule that only `makes`
 * could not read makes the next rewrite fail, once. */
START_TEST(short_of_memory) {
  bool done = false;
  for (uint64_t memory = 20000; !done && memory < 20000000; memory += 20000) {
    surg_context *ctx = context(memory);
    surg_model *m = NULL;
    if (surg_model_load_text(ctx, text, strlen(text), "m", &m) == SURG_OK) {
      done = surg_model_run(&m, "rewrite{group=simplify}") == SURG_OK;
      if (done) ck_assert_uint_lt(surg_graph_node_count(surg_model_graph(m)), 3);
      if (!done) ck_assert_ptr_null(m);
    }
    surg_model_free(m);
    surg_context_free(ctx);
  }
  ck_assert(done);
  surg_context *ctx = context(0);
  surg_model *m = NULL;
  surg__rules_of(ctx)->failed = true;
  ck_assert_int_eq(surg_model_load_text(ctx, text, strlen(text), "m", &m), SURG_OK);
  ck_assert_int_ne(surg_model_run(&m, "rewrite{group=simplify}"), SURG_OK);
  ck_assert_int_eq(surg_model_load_text(ctx, text, strlen(text), "m", &m), SURG_OK);
  ck_assert_int_eq(surg_model_run(&m, "rewrite{group=simplify}"), SURG_OK);
  surg_model_free(m);
  surg_context_free(ctx);
}
END_TEST

/* An emission in C that declines, or fails, after it made nodes. */
static surg_status halfway_result;
static surg_status halfway(surg__builder *b) {
  surg__b_unary(b, "Exp", surg__b_unary(b, "Abs", surg_node_input(surg__b_matched(b), 0)));
  ck_assert(!b->status);
  return halfway_result;
}

static const surg_rule *rule_of(surg_context *ctx, const char *name) {
  surg__rules *r = surg__rules_of(ctx);
  for (size_t i = 0; i < r->list.count; i++)
    if (!strcmp(r->list.items[i]->name, name)) return r->list.items[i];
  return NULL;
}

START_TEST(given_up_halfway) {
  static const surg__native native = {.name = "halfway", .make = halfway, .help = "nothing"};
  static const surg_status results[] = {SURG_EUNSUPPORTED, SURG_EINVALID};
  for (size_t k = 0; k < SURG_COUNT(results); k++) {
    surg_context *ctx = context(0);
    surg_model *m = NULL;
    surg__arena arena;
    surg__made made = {0};
    const surg_rule *rule = rule_of(ctx, "neg-to-mul");
    ck_assert(rule && surg__rule_read(rule));
    for (uint16_t i = 0; i < rule->n_emits; i++)
      ((surg__rblock *)(uintptr_t)rule->emits)[i].native = &native;
    ck_assert_int_eq(surg_model_load_text(ctx, text, strlen(text), "m", &m), SURG_OK);
    ck_assert_int_eq(surg_model_infer(m), SURG_OK);
    surg_graph *g = surg_model_graph(m);
    surg_node *n = surg_value_producer(surg_graph_find_value(g, "b"), NULL);
    surg__arena_init(&arena, ctx);
    surg__match *match = surg__arena_zalloc(&arena, sizeof *match);
    match->ctx = ctx;
    match->arena = &arena;
    match->rule = rule;
    ck_assert(surg__match_at(match, n, 17));
    halfway_result = results[k];
    said[0] = 0;
    ck_assert_int_eq(surg__emit_any(match, &made), results[k]);
    if (results[k] == SURG_EUNSUPPORTED) ck_assert_uint_eq(surg_graph_node_count(g), 3);
    ck_assert(!strstr(said, "neg-to-mul") == (results[k] == SURG_EUNSUPPORTED));
    ck_assert_int_eq(surg_model_verify(m), SURG_OK);
    surg__vec_free(ctx, &made);
    surg__arena_free(&arena);
    surg_model_free(m);
    surg_context_free(ctx);
  }
}
END_TEST

int main(void) {
  Suite *s = suite_create("rules");
  TCase *t = tcase_create("rules");
  tcase_set_timeout(t, 60);
  tcase_add_test(t, all_read_as_listed);
  tcase_add_test(t, read_when_asked);
  tcase_add_test(t, listed_otherwise);
  tcase_add_test(t, short_of_memory);
  tcase_add_test(t, given_up_halfway);
  suite_add_tcase(s, t);
  return unit_run(s);
}
