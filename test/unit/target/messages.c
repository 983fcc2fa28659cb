/* SPDX-License-Identifier: Apache-2.0 */
/* Known messages of importers: every built-in entry explains the messages it was made from, and
 * what it says can be parsed; files of the user; long, odd and broken texts. */
#include <stdio.h>
#include <stdlib.h>

#include "base/context.h"
#include "pass/pass.h"
#include "target/messages.h"
#include "../unit.h"

static surg_context *ctx;
static surg__messages *all;

static void quiet(void *user, surg_severity severity, const char *line) {
  (void)user, (void)severity, (void)line;
}

static void setup(void) {
  const surg_config config = {.size = sizeof config, .diag = quiet};
  ctx = surg_context_new(&config);
  all = surg__messages_new(ctx);
  ck_assert_ptr_nonnull(surg_context_passes(ctx));
}

static void teardown(void) {
  surg__messages_free(all);
  surg_context_free(ctx);
}

static void explain(const char *text, const char *engine, surg__explanations *out) {
  ck_assert_int_eq(surg__messages_explain(all, text, strlen(text), engine, out), SURG_OK);
}

/* What an entry says about one of its messages can be used: no hole is left, pipelines parse,
 * and the target it means can be read. */
static void hold(const surg__explained *e) {
  const char *id = e->message->id;
  ck_assert_msg(!strchr(e->cause, '$'), "%s: %s", id, e->cause);
  for (size_t i = 0; i < e->passes.n; i++) {
    surg__pipeline *p = NULL;
    const surg_status s = surg__pipeline_parse(ctx, e->passes.items[i], "passes", &p);
    ck_assert_msg(s == SURG_OK, "%s: %s: %s", id, e->passes.items[i], surg_context_error(ctx));
    surg__pipeline_free(p);
  }
  surg__target *t = surg__explained_target(ctx, e);
  ck_assert_msg(!e->means || t, "%s: %s: %s", id, e->means, surg_context_error(ctx));
  surg__target_free(t);
  if (!e->message->target) return;
  t = surg__target_find(ctx, e->message->target);
  ck_assert_msg(t && !strcmp(t->name, e->message->target), "%s: %s", id, e->message->target);
  surg__target_free(t);
}

static void read_builtin(void) {
  const surg_status s = surg__messages_read_builtin(all);
  ck_assert_msg(s == SURG_OK, "%s", surg_context_error(ctx));
}

START_TEST(test_builtin) {
  read_builtin();
  ck_assert_uint_gt(all->items.count, 100);
  for (size_t i = 0; i < all->items.count; i++)
    for (size_t k = 0; k < all->items.items[i]->seen.n; k++) {
      const surg__message *m = all->items.items[i];
      surg__explanations e;
      explain(m->seen.items[k], NULL, &e);
      ck_assert_msg(e.items.count == 1, "%s: %zu explanations of %s", m->id, e.items.count,
                    m->seen.items[k]);
      ck_assert_msg(e.items.items[0].message == m, "%s is told as %s: %s", m->id,
                    e.items.items[0].message->id, m->seen.items[k]);
      hold(&e.items.items[0]);
      surg__explanations_free(&e);
    }
}
END_TEST

START_TEST(test_ids) {
  read_builtin();
  for (size_t i = 0; i < all->items.count; i++)
    for (size_t k = 0; k < i; k++)
      ck_assert_str_ne(all->items.items[i]->id, all->items.items[k]->id);
}
END_TEST

static const char own[] =
    "{\"schema\": 1, \"messages\": ["
    "{\"id\": \"at\", \"engine\": \"npu\", \"general\": true, \"pattern\": \"layer ([A-Za-z]+) at "
    "'([^']*)'\", \"op\": \"$1\", \"node\": \"$2\", \"cause\": \"stops at $node\", \"seen\": "
    "[\"layer "
    "Conv at 'c'\"]},"
    "{\"id\": \"rank\", \"engine\": \"npu\", \"pattern\": \"rank ([0-9]+) is above ([0-9]+)\", "
    "\"cause\": \"$op has rank $1\", \"cure\": \"do $node $in\", \"passes\": "
    "[\"remove-node{name=$node}\"], "
    "\"means\": {\"ops\": {\"$op\": {\"rank\": {\"0\": [null, \"#2\"]}}}}, \"seen\": [\"rank 5 is "
    "above "
    "4\"]}]}";

static void read_own(void) {
  ck_assert_int_eq(surg__messages_read(all, own, sizeof own - 1, "own"), SURG_OK);
}

START_TEST(test_lend) {
  surg__explanations e;
  read_own();
  explain("first\nlayer relu at 'a b\"c'\n\x1b[31mrank 5\x1b[0m is above 4\nlayer Conv at 'z'\n",
          NULL, &e);
  ck_assert_uint_eq(e.items.count, 1);
  const surg__explained *x = &e.items.items[0];
  ck_assert_str_eq(x->op, "Relu");
  ck_assert_str_eq(x->node, "a b\"c");
  ck_assert_str_eq(x->cause, "Relu has rank 5");
  ck_assert_str_eq(x->cure, "do 'a b\"c' $in");
  ck_assert_str_eq(x->passes.items[0], "remove-node{name=\"a b\\\"c\"}");
  ck_assert_uint_eq(x->number, 3);
  ck_assert_ptr_nonnull(strstr(x->means, "\"Relu\":{\"rank\":{\"0\":[null,4]}}"));
  surg__explanations_free(&e);
  explain("layer Conv at 'c'", NULL, &e);
  ck_assert_uint_eq(e.items.count, 1);
  ck_assert_str_eq(e.items.items[0].cause, "stops at c");
  surg__explanations_free(&e);
}
END_TEST

START_TEST(test_engine_and_broken_lines) {
  surg__explanations e;
  read_own();
  /* Another engine's message is explained where the one named knows none. */
  explain("rank 5 is above 4", "tensorrt-8.6", &e);
  ck_assert_uint_eq(e.items.count, 1);
  ck_assert_str_eq(e.items.items[0].message->engine, "npu");
  surg__explanations_free(&e);
  explain("rank 5 is\nabove 4", "npu-2", &e);
  ck_assert_uint_eq(e.items.count, 1);
  surg__explanations_free(&e);
  explain("rank 5 is above 4\nrank 5 is above 4\nrank 6 is above 4\n", "npu", &e);
  ck_assert_uint_eq(e.items.count, 2);
  surg__explanations_free(&e);
}
END_TEST

START_TEST(test_odd_texts) {
  surg__explanations e;
  read_builtin();
  explain("", NULL, &e);
  ck_assert_uint_eq(e.items.count, 0);
  surg__explanations_free(&e);
  /* A long line is looked at up to a limit; NUL and control characters are blanks. */
  const size_t n = 3u << 20;
  char *text = malloc(n);
  memset(text, 'x', n);
  memcpy(text + n - 40, "\nUnsupport onnx\0opset 19, need <= 12!\n", 39);
  ck_assert_int_eq(surg__messages_explain(all, text, n, NULL, &e), SURG_OK);
  ck_assert_uint_eq(e.items.count, 1);
  ck_assert_str_eq(e.items.items[0].passes.items[0], "opset{to=12}");
  surg__explanations_free(&e);
  free(text);
}
END_TEST

START_TEST(test_refused_files) {
  static const char *const bad[] = {
      "",
      "[]",
      "{}",
      "{\"schema\": 2, \"messages\": []}",
      "{\"messages\": [1]}",
      "{\"foo\": 1}",
      "{\"messages\": [{\"id\": \"a\"}]}",
      "{\"messages\": [{\"id\": \"a\", \"engine\": \"b\", \"pattern\": \"c\", \"cause\": \"d\"}]}",
      "{\"messages\": [{\"id\": \"a\", \"engine\": \"b\", \"pattern\": \"c\", \"cause\": \"d\", "
      "\"seen\": [\"e\"]}]}",
      "{\"messages\": [{\"id\": \"a\", \"engine\": \"b\", \"pattern\": \"(\", \"cause\": \"d\", "
      "\"seen\": [\"(\"]}]}",
      "{\"messages\": [{\"id\": \"a\", \"engine\": \"b\", \"pattern\": \"(c)\\\\1\", \"cause\": "
      "\"d\", \"seen\": [\"cc\"]}]}",
      "{\"messages\": [{\"id\": \"a\", \"when\": \"now\"}]}",
      "{\"messages\": [{\"id\": \"a\", \"allow\": \"all\"}]}",
      "{\"messages\": [{\"id\": \"a\", \"passes\": \"fold\"}]}",
      "{\"messages\": [{\"id\": \"a\", \"other\": \"fold\"}]}",
      "{\"messages\": [{\"id\": \"a\", \"means\": []}]}"};
  for (size_t i = 0; i < SURG_COUNT(bad); i++) {
    surg_context_clear_error(ctx);
    ck_assert_msg(surg__messages_read(all, bad[i], strlen(bad[i]), "bad") == SURG_EINVALID, "%s",
                  bad[i]);
    ck_assert_ptr_nonnull(surg_context_error(ctx));
    ck_assert_uint_eq(all->items.count, 0);
  }
}
END_TEST

int main(void) {
  Suite *s = suite_create("messages");
  TCase *t = tcase_create("messages");
  tcase_set_timeout(t, 120); /* regcomp is slow on a machine that is busy */
  tcase_add_checked_fixture(t, setup, teardown);
  tcase_add_test(t, test_builtin);
  tcase_add_test(t, test_ids);
  tcase_add_test(t, test_lend);
  tcase_add_test(t, test_engine_and_broken_lines);
  tcase_add_test(t, test_odd_texts);
  tcase_add_test(t, test_refused_files);
  suite_add_tcase(s, t);
  return unit_run(s);
}
