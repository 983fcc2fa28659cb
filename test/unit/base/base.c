/* SPDX-License-Identifier: Apache-2.0 */
/* The base layer: memory accounting, arenas, text, checked products, nearest names. */
#include <onnxsurg/onnxsurg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/context.h"
#include "base/ptrs.h"
#include "../unit.h"

static surg_context *ctx;
static char last_line[512];
static int lines;

static void remember(void *user, surg_severity severity, const char *line) {
  (void)user;
  (void)severity;
  snprintf(last_line, sizeof last_line, "%s", line);
  lines++;
}

static void setup(void) {
  surg_config config = {.size = sizeof config, .diag = remember, .max_memory = 1 << 20, .seed = 7};
  lines = 0;
  ctx = surg_context_new(&config);
  ck_assert_ptr_nonnull(ctx);
}

static void teardown(void) {
  ck_assert_uint_eq(surg_context_memory(ctx, NULL) > (64 << 10), 0);
  surg_context_free(ctx);
}

START_TEST(heap_counts_and_limits) {
  void *p = surg__alloc(ctx, 1000);
  ck_assert_ptr_nonnull(p);
  uint64_t peak, now = surg_context_memory(ctx, &peak);
  ck_assert_uint_ge(now, 1000);
  ck_assert_uint_eq(now, peak);
  p = surg__realloc(ctx, p, 10);
  ck_assert_uint_lt(surg_context_memory(ctx, NULL), now);
  ck_assert_ptr_null(surg__alloc(ctx, 2 << 20));
  ck_assert_int_eq(surg__alloc_status(ctx), SURG_ELIMIT);
  ck_assert_ptr_null(surg__calloc(ctx, SIZE_MAX / 2, 3));
  ck_assert_ptr_null(surg__alloc(ctx, SIZE_MAX));
  surg__free(ctx, p);
  ck_assert_uint_eq(surg_context_memory(ctx, NULL), 0);
}
END_TEST

START_TEST(arena_marks) {
  surg__arena a;
  surg__arena_init(&a, ctx);
  char *first = surg__arena_strn(&a, "abc", 3);
  surg__mark m = surg__arena_mark(&a);
  for (int i = 0; i < 1000; i++) {
    uint8_t *p = surg__arena_zalloc(&a, (size_t)i);
    ck_assert_ptr_nonnull(p);
    ck_assert_uint_eq((uintptr_t)p % 16, 0);
    for (int j = 0; j < i; j++) ck_assert_uint_eq(p[j], 0);
    memset(p, 0xee, (size_t)i);
  }
  surg__arena_reset(&a, m);
  ck_assert_str_eq(first, "abc");
  ck_assert_ptr_null(surg__arena_array(&a, SIZE_MAX, 2));
  surg__arena_free(&a);
  ck_assert_uint_eq(surg_context_memory(ctx, NULL), 0);
}
END_TEST

/* Who resets to the same mark time and again does not ask for ever larger chunks. */
#ifndef SURG_FAULT_INJECTION
START_TEST(arena_keeps_one) {
  surg__arena a;
  surg__arena_init(&a, ctx);
  const surg__mark m = surg__arena_mark(&a);
  uint64_t first = 0;
  for (int i = 0; i < 12; i++) {
    ck_assert_ptr_nonnull(surg__arena_alloc(&a, 100));
    if (i == 0) first = surg__alloc_bytes(ctx);
    ck_assert_uint_eq(surg__alloc_bytes(ctx), first);
    surg__arena_reset(&a, m);
    ck_assert_uint_eq(surg__alloc_bytes(ctx), first);
  }
  /* One too small is not used, and gives way to a larger one. */
  ck_assert_ptr_null(surg__arena_alloc(&a, 3u << 20)); /* more than this context gives */
  ck_assert_ptr_nonnull(surg__arena_alloc(&a, 500u << 10));
  surg__arena_reset(&a, m);
  ck_assert_uint_gt(surg__alloc_bytes(ctx), 500u << 10);
  ck_assert_uint_lt(surg__alloc_bytes(ctx), (500u << 10) + first);
  surg__arena_free(&a);
  ck_assert_uint_eq(surg_context_memory(ctx, NULL), 0);
}
END_TEST
#endif

START_TEST(vectors_grow) {
  SURG_VEC(int) v = {0};
  for (int i = 0; i < 5000; i++) ck_assert(surg__vec_push(ctx, &v, i));
  for (int i = 0; i < 5000; i++) ck_assert_int_eq(v.items[i], i);
  while (surg__vec_push(ctx, &v, 1)) {}
  ck_assert_int_eq(v.items[4999], 4999); /* intact after the limit was met */
  surg__vec_free(ctx, &v);
}
END_TEST

START_TEST(sets_of_pointers) {
  enum { COUNT = 1000 };
  static char many[COUNT * 64];
  surg_context *own = surg_context_new(NULL);
  surg__ptrs s = {0};
  bool added;
  ck_assert(!surg__ptrs_has(&s, many));
  for (size_t i = 0; i < COUNT; i += 2) {
    ck_assert(surg__ptrs_add(own, &s, many + 64 * i, &added));
    ck_assert(added);
    ck_assert(surg__ptrs_add(own, &s, many + 64 * i, &added));
    ck_assert(!added);
  }
  ck_assert_uint_eq(s.count, COUNT / 2);
  for (size_t i = 0; i < COUNT; i++) ck_assert(surg__ptrs_has(&s, many + 64 * i) == (i % 2 == 0));
  surg__ptrs_free(own, &s);
  ck_assert(!surg__ptrs_has(&s, many));
  surg_context_free(own);
}
END_TEST

START_TEST(products) {
  uint64_t n;
  ck_assert(surg__dims_product(NULL, 0, &n) && n == 1);
  ck_assert(surg__dims_product((int64_t[]){0, INT64_MAX, INT64_MAX}, 3, &n) && n == 0);
  ck_assert(surg__dims_product((int64_t[]){INT64_MAX}, 1, &n) && n == INT64_MAX);
  ck_assert(!surg__dims_product((int64_t[]){1ll << 32, 1ll << 31}, 2, &n));
  ck_assert(!surg__dims_product((int64_t[]){-1, -2}, 2, &n));
}
END_TEST

START_TEST(escapes) {
  surg__buf b;
  surg__buf_init(&b, ctx);
  surg__buf_escape(&b, "a\n\t\"\\\x1b[31m\x7f\xff", 12, 0);
  ck_assert_str_eq(b.p, "a\\n\\t\\\"\\\\\\x1b[31m\\x7f\\xff");
  b.n = 0;
  surg__buf_escape(&b, "gr\xc3\xbc\xc3\x9f", 6, 0);
  ck_assert_str_eq(b.p, "gr\xc3\xbc\xc3\x9f");
  b.n = 0;
  surg__buf_escape(&b, "\xe2\x80\xae\xc2\x85", 5, 0);
  ck_assert_str_eq(b.p, "\\xe2\\x80\\xae\\xc2\\x85");
  b.n = 0;
  surg__buf_escape(&b, "abcdef", 6, 3);
  ck_assert_str_eq(b.p, "abc...");
  b.n = 0;
  surg__buf_json(&b, "a\"\x01\\", 4);
  ck_assert_str_eq(b.p, "\"a\\\"\\u0001\\\\\"");
  surg__buf_free(&b);
}
END_TEST

START_TEST(utf8) {
  ck_assert(surg__utf8_valid((const uint8_t *)"", 0));
  ck_assert(surg__utf8_valid((const uint8_t *)"\xf4\x8f\xbf\xbf", 4));
  ck_assert(!surg__utf8_valid((const uint8_t *)"\xf4\x90\x80\x80", 4));
  ck_assert(!surg__utf8_valid((const uint8_t *)"\xc0\x80", 2));
  ck_assert(!surg__utf8_valid((const uint8_t *)"\xed\xa0\x80", 3));
  ck_assert(!surg__utf8_valid((const uint8_t *)"\xe0\x9f\xbf", 3));
  ck_assert(!surg__utf8_valid((const uint8_t *)"ab\xc3", 3));
  ck_assert(!surg__utf8_valid((const uint8_t *)"a\0b", 3));
}
END_TEST

START_TEST(diagnostics_are_one_line) {
  ck_assert_int_eq(surg__error(ctx, SURG_EINVALID, "a.onnx", "node %s", surg__q(ctx, "x\ny")),
                   SURG_EINVALID);
  ck_assert_str_eq(last_line, "a.onnx: error: node \"x\\ny\"");
  surg__error(ctx, SURG_EIO, NULL, "second");
  ck_assert_str_eq(surg_context_error(ctx), "a.onnx: error: node \"x\\ny\"");
  surg_context_clear_error(ctx);
  ck_assert_ptr_null(surg_context_error(ctx));
  lines = 0;
  for (int i = 0; i < 100; i++) surg__warn(ctx, "f", "w%d", i);
  ck_assert_int_eq(lines, 21);
  static char big[10000];
  memset(big, 'x', sizeof big - 1);
  surg__error(ctx, SURG_EINVALID, big, "%s", surg__q(ctx, big));
  ck_assert_uint_lt(strlen(last_line), sizeof last_line);
}
END_TEST

static const char *word_at(const void *list, size_t i) {
  return ((const char *const *)list)[i];
}

START_TEST(nearest) {
  const char *words[] = {"fold", "prune", "identity", "toposort"};
  ck_assert_str_eq(surg__nearest("flod", words, 4, word_at), "fold");
  ck_assert_str_eq(surg__nearest("prunes", words, 4, word_at), "prune");
  ck_assert_ptr_null(surg__nearest("simplify", words, 4, word_at));
  ck_assert_ptr_null(surg__nearest("", words, 4, word_at));
}
END_TEST

int main(void) {
  Suite *s = suite_create("base");
  TCase *t = tcase_create("base");
  tcase_add_checked_fixture(t, setup, teardown);
  tcase_add_test(t, heap_counts_and_limits);
  tcase_add_test(t, arena_marks);
#ifndef SURG_FAULT_INJECTION
  tcase_add_test(t, arena_keeps_one);
#endif
  tcase_add_test(t, vectors_grow);
  tcase_add_test(t, sets_of_pointers);
  tcase_add_test(t, products);
  tcase_add_test(t, escapes);
  tcase_add_test(t, utf8);
  tcase_add_test(t, diagnostics_are_one_line);
  tcase_add_test(t, nearest);
  suite_add_tcase(s, t);
  return unit_run(s);
}
