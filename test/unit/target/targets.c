/* SPDX-License-Identifier: Apache-2.0 */
/* Built-in targets: every one can be read, so that every operator, input, output, attribute and
 * type parameter they name exists; and what is common to all of them. */
#include "base/context.h"
#include "pass/pass.h"
#include "target/target.h"
#include "../unit.h"

static surg_context *ctx;

static void quiet(void *user, surg_severity severity, const char *line) {
  (void)user, (void)severity, (void)line;
}

static void setup(void) {
  const surg_config config = {.size = sizeof config, .diag = quiet};
  ctx = surg_context_new(&config);
  ck_assert_ptr_nonnull(surg_context_passes(ctx));
}

static void teardown(void) { surg_context_free(ctx); }

static surg__target *read_builtin(size_t i) {
  const surg__target_text *text = &surg__target_texts[i];
  surg__target *t = surg__target_read(ctx, text->text, strlen(text->text), text->name);
  ck_assert_msg(t, "%s: %s", text->name, surg_context_error(ctx));
  return t;
}

/* Operators without which no list of an engine is whole: a list without them says so. */
static void check_complete(const surg__target *t) {
  static const char *const common[] = {"Add", "Mul", "Conv", "Relu", "MatMul", "Reshape",
                                       "Concat", "Softmax", "MaxPool", "Transpose", "Sigmoid"};
  for (size_t k = 0; t->rest_refused && !t->host && k < SURG_COUNT(common); k++)
    ck_assert_msg(surg__target_op(t, "", common[k]), "%s lacks %s and does not say that its "
                  "list is incomplete", t->name, common[k]);
}

/* A limit in words that is empty would make every node unknown. */
static void check_words(const surg__target *t) {
  for (size_t k = 0; k < t->ops.count; k++)
    for (size_t f = 0; f < t->ops.items[k].n; f++) {
      const char *says = t->ops.items[k].facts[f].says;
      ck_assert_msg(!says || says[0], "%s: %s", t->name, t->ops.items[k].name);
    }
}

/* Each is read once: that takes nearly all of the time. */
START_TEST(test_builtin) {
  for (size_t i = 0; i < surg__target_count; i++) {
    surg__target *t = read_builtin(i);
    ck_assert_str_eq(t->name, surg__target_texts[i].name);
    check_complete(t);
    check_words(t);
    surg__target_free(t);
  }
}
END_TEST

int main(void) {
  Suite *s = suite_create("targets");
  TCase *t = tcase_create("targets");
  tcase_add_checked_fixture(t, setup, teardown);
  tcase_set_timeout(t, 60);
  tcase_add_test(t, test_builtin);
  suite_add_tcase(s, t);
  return unit_run(s);
}
