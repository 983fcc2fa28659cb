/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels over text, regular expressions among them. */
#include <stdlib.h>

#include "base/context.h"
#include "eval/text/regex.h"
#include "eval/text/unicode.h"
#include "interpret_rows.h"
#include "../unit.h"

static const interpret_row rows[] = {
    {"concat broadcasts",
     "g () => (string[N,M] y) {"
     "a = Constant<value=string[2,1] {\"a\", \"\"}>() b = Constant<value_strings=[\"x\", \"\"]>()"
     "y = StringConcat(a, b) }",
     "string[2,2]: \"ax\" \"a\" \"x\" \"\""},
    {"concat: shapes do not fit",
     "g () => (string[N] y) {"
     "a = Constant<value_strings=[\"a\", \"b\", \"c\"]>() b = Constant<value_strings=[\"x\", "
     "\"y\"]>()"
     "y = StringConcat(a, b) }",
     "!invalid model: the shapes do not broadcast"},
    {"split on white space",
     "g () => (string[N,M] y, int64[N] n) {"
     "a = Constant<value_strings=[\" a  b \", \"\", \"c\"]>() y, n = StringSplit(a) }",
     "string[3,2]: \"a\" \"b\" \"\" \"\" \"c\" \"\"\nint64[3]: 2 0 1"},
    {"split on a delimiter",
     "g () => (string[N,M] y, int64[N] n) {"
     "a = Constant<value_strings=[\",a,,\", \"\", \"b\"]>() y, n = StringSplit<delimiter=\",\">(a) "
     "}",
     "string[3,4]: \"\" \"a\" \"\" \"\" \"\" \"\" \"\" \"\" \"b\" \"\" \"\" \"\"\n"
     "int64[3]: 4 1 1"},
    {"split at most once",
     "g () => (string[N,M] y, int64[N] n) {"
     "a = Constant<value_strings=[\"a--b--c\", \"d\"]>()"
     "y, n = StringSplit<delimiter=\"--\", maxsplit=1>(a) }",
     "string[2,2]: \"a\" \"b--c\" \"d\" \"\"\nint64[2]: 2 1"},
    {"split at most once on white space keeps what trails",
     "g () => (string[N,M] y, int64[N] n) {"
     "a = Constant<value_strings=[\" a b  c \"]>() y, n = StringSplit<maxsplit=1>(a) }",
     "string[1,2]: \"a\" \"b  c \"\nint64[1]: 2"},
    {"split nothing",
     "g () => (string[N,M] y, int64[N] n) <string[0] a = {}> {"
     "y, n = StringSplit(a) }",
     "string[0,0]:\nint64[0]:"},
    {"split a scalar",
     "g () => (string[M] y, int64 n) { a = Constant<value_string=\"a b\">()"
     "y, n = StringSplit(a) }",
     "string[2]: \"a\" \"b\"\nint64[]: 2"},
    {"normalize: stop words of any case, capitals",
     "g () => (string[N] y) {"
     "a = Constant<value_strings=[\"Monday\", \"tuesday\", \"\", \"\xc3\xa4h\"]>()"
     "y = StringNormalizer<case_change_action=\"UPPER\", stopwords=[\"monDAY\"]>(a) }",
     "string[3]: \"TUESDAY\" \"\" \"\xc3\x84H\""},
    {"normalize: case counts",
     "g () => (string[N,M] y) {"
     "a = Constant<value=string[1,2] {\"Monday\", \"monday\"}>()"
     "y = StringNormalizer<is_case_sensitive=1, stopwords=[\"monday\"]>(a) }",
     "string[1,1]: \"Monday\""},
    {"normalize: nothing left",
     "g () => (string[N,M] y) {"
     "a = Constant<value=string[1,2] {\"a\", \"a\"}>() y = StringNormalizer<stopwords=[\"A\"]>(a) "
     "}",
     "string[1,1]: \"\""},
    {"normalize: a batch",
     "g () => (string[N,M] y) {"
     "a = Constant<value=string[2,1] {\"a\", \"a\"}>() y = StringNormalizer(a) }",
     "!invalid model: the input is not a list of strings"},
    {"regex",
     "g () => (bool[N] y) { a = Constant<value_strings=[\"ab\", \"abc\", \"\"]>()"
     "y = RegexFullMatch<pattern=\"[a-b]*\">(a) }",
     "bool[3]: 1 0 1"},
    {"regex: none",
     "g () => (bool[N] y) { a = Constant<value_strings=[\"ab\"]>()"
     "y = RegexFullMatch<pattern=\"(\">(a) }",
     "!invalid model: the pattern is not a regular expression"},
    {"strings move",
     "g () => (string[N] x, string[N] y, bool[N] z, string[N] u) {"
     "a = Constant<value_strings=[\"b\", \"\", \"b\"]>() i = Constant<value_ints=[2, 1]>()"
     "x = Gather(a, i) e = Constant<value_strings=[\"b\", \"c\", \"\"]>() z = Equal(a, e)"
     "y = Where(z, a, e) u = Unique(a) }",
     "string[2]: \"b\" \"\"\nstring[3]: \"b\" \"c\" \"\"\nbool[3]: 1 0 0\nstring[2]: \"\" \"b\""},
    {"text and numbers",
     "g () => (string[N] x, float[N] y, string[N] z) {"
     "a = Constant<value_floats=[1.0, 0.1, -2.5]>() x = Cast<to=8>(a) y = Cast<to=1>(x)"
     "i = Constant<value_ints=[-3, 9223372036854775807]>() z = Cast<to=8>(i) }",
     "string[3]: \"1\" \"0.1\" \"-2.5\"\nfloat[3]: 1 0.1 -2.5\n"
     "string[2]: \"-3\" \"9223372036854775807\""},
};

START_TEST(test_rows) {
  INTERPRET_CHECK(rows);
}
END_TEST

/* --- regular expressions --- */

static const struct {
  const char *pattern, *text;
  int expected; /* 1, 0, or -1: no expression, -2: not known here */
} expressions[] = {
    {"", "", 1},
    {"", "a", 0},
    {"a|b|", "", 1},
    {"a|b|", "b", 1},
    {"(a|b)*c", "ababc", 1},
    {"a{2,3}", "a", 0},
    {"a{2,3}", "aaa", 1},
    {"a{2,3}", "aaaa", 0},
    {"a{0}", "", 1},
    {"a{,2}", "a{,2}", 1},
    {"a{2", "a{2", 1},
    {"a{1001}", "a", -1},
    {"a{3,2}", "a", -1},
    {"(a*)*", "aaa", 1},
    {"(a*)+b", "aaab", 1},
    {"a**", "a", -1},
    {"*a", "a", -1},
    {"a+?", "aa", 1},
    {"(?i)straße", "STRAßE", 1},
    {"(?i:A)b", "aB", 0},
    {"(?i)[a-c]+", "AbC", 1},
    {"a(?i)b", "aB", 1},
    {"(?P<x>a)(?<y>b)", "ab", 1},
    {"(?=a)", "a", -1},
    {"\\1", "a", -1},
    {"(a", "a", -1},
    {"a)", "a", -1},
    {".", "\xc3\xa9", 1},
    {"..", "\xc3\xa9", 0},
    {".", "\n", 0},
    {"(?s).", "\n", 1},
    {".", "\xff", 0},
    {"[^a]", "\n", 1},
    {"[^a]", "a", 0},
    {"[]a]+", "]a", 1},
    {"[a-]+", "a-", 1},
    {"[^]a]", "b", 1},
    {"[b-a]", "a", -1},
    {"[[:digit:]x]+", "1x2", 1},
    {"[[:^digit:]]", "1", 0},
    {"[[:nope:]]", "n", -1},
    {"[\\d\\s]+", "1 2", 1},
    {"\\w+\\W", "a_9!", 1},
    {"\\s", "\v", 0},
    {"\\x41\\x{e9}\\101",
     "A\xc3\xa9"
     "A",
     1},
    {"\\Qa.b\\E+", "a.bbb", 1},
    {"\\Q(", "(", 1},
    {"\\.", ".", 1},
    {"\\.", "a", 0},
    {"\\pL", "a", -2},
    {"^a$", "a", 1},
    {"a$b", "ab", 0},
    {"(?m)a$\\n^b", "a\nb", 1},
    {"a$\\n^b", "a\nb", 0},
    {"\\ba\\b.\\B.", "a  ", 1},
    {"a\\bb", "ab", 0},
    {"\\Aa\\z", "a", 1},
    {"\\", "a", -1},
    {"(?:)", "", 1},
    {"(|a)+", "aa", 1},
    {"x{2}{3}", "x", -1},
};

static surg__kstatus match(const char *pattern, const char *text, bool *out, uint64_t *work) {
  surg_context *ctx = interpret_context();
  surg__arena arena;
  surg__regex *re = NULL;
  surg__arena_init(&arena, ctx);
  surg_kctx k = {.ctx = ctx, .arena = &arena, .max_bytes = 1 << 24, .max_work = 1 << 28};
  surg__kstatus s = surg__regex_compile(&k, (surg_str){pattern, strlen(pattern)}, &re);
  k.work = 0;
  if (s == SURG__K_OK) s = surg__regex_full(&k, re, (surg_str){text, strlen(text)}, out);
  *work = k.work;
  surg__arena_free(&arena);
  surg_context_free(ctx);
  return s;
}

START_TEST(test_regex) {
  for (size_t i = 0; i < SURG_COUNT(expressions); ++i) {
    bool yes = false;
    uint64_t work;
    surg__kstatus s = match(expressions[i].pattern, expressions[i].text, &yes, &work);
    int got = s == SURG__K_INVALID ? -1 : s == SURG__K_CANNOT ? -2 : s == SURG__K_OK ? yes : -9;
    ck_assert_msg(got == expressions[i].expected, "'%s' on '%s': %d", expressions[i].pattern,
                  expressions[i].text, got);
  }
}
END_TEST

/* Expressions that take matchers which try one way after the other exponential time, and ones that
 * grow without end. */
START_TEST(test_regex_hostile) {
  static const char *const large[] = {"((a{1000}){1000}){1000}", "((){1000}){1000}{1000}",
                                      "(((){1000}){1000}){1000}"};
  char text[2049], deep[2100];
  bool yes = true;
  uint64_t work;
  memset(text, 'a', sizeof text - 1);
  text[sizeof text - 1] = '\0';
  ck_assert_int_eq(match("(a|a)*(a|aa)*(a*)*b", text, &yes, &work), SURG__K_OK);
  ck_assert(!yes);
  ck_assert_uint_lt(work, 200000);
  for (size_t i = 0; i < SURG_COUNT(large); ++i) {
    surg__kstatus s = match(large[i], "a", &yes, &work);
    ck_assert_msg(s == SURG__K_BUDGET || s == SURG__K_INVALID, "%s: %d", large[i], s);
  }
  memset(deep, '(', sizeof deep - 1);
  deep[sizeof deep - 1] = '\0';
  ck_assert_int_eq(match(deep, "a", &yes, &work), SURG__K_BUDGET);
}
END_TEST

/* --- characters --- */

START_TEST(test_unicode) {
  static const char *const bad[] = {"\x80",
                                    "\xc0\x80",
                                    "\xc3",
                                    "\xe0\x80\x80",
                                    "\xed\xa0\x80",
                                    "\xf4\x90\x80\x80",
                                    "\xf8\x88\x80\x80\x80",
                                    "\xe2\x82"};
  size_t length;
  for (size_t i = 0; i < SURG_COUNT(bad); ++i) {
    ck_assert_uint_eq(surg__utf8_get(bad[i], strlen(bad[i]), &length), SURG__NO_CHAR);
    ck_assert_uint_eq(length, 1);
  }
  unsigned wrong = 0; /* counted, since a million assertions take seconds */
  for (uint32_t c = 0; c < 0x110000; ++c) {
    char text[4];
    if (c >= 0xd800 && c < 0xe000) continue;
    size_t n = surg__utf8_put(text, c);
    uint32_t low = surg__char_lower(c), up = surg__char_upper(c);
    bool one_way = c == 0xb5 || c == 0x131 || c == 0x17f || c == 0x3c2;
    wrong += surg__utf8_get(text, n, &length) != c || length != n;
    wrong += low != c && surg__char_upper(low) != c;
    wrong += up != c && surg__char_lower(up) != c && !one_way;
  }
  ck_assert_uint_eq(wrong, 0);
  ck_assert_uint_eq(surg__char_upper(0x444), 0x424);
  ck_assert_uint_eq(surg__char_lower(0x3a3), 0x3c3);
  ck_assert_uint_eq(surg__char_upper(0xdf), 0xdf);
}
END_TEST

START_TEST(test_starved) {
  INTERPRET_STARVE(rows);
}
END_TEST

int main(void) {
  Suite *s = suite_create("kernels_strings");
  TCase *c = tcase_create("all");
  tcase_add_test(c, test_rows);
  tcase_add_test(c, test_regex);
  tcase_add_test(c, test_regex_hostile);
  tcase_add_test(c, test_unicode);
  tcase_add_test(c, test_starved);
  suite_add_tcase(s, c);
  return unit_run(s);
}
