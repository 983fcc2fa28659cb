/* SPDX-License-Identifier: Apache-2.0 */
/* The registry and pipeline text. */
#include <stdio.h>
#include <stdlib.h>

#include "base/context.h"
#include "sample_passes.h"

/* ---- pipeline text --------------------------------------------------------------------------- */

static void expect_text(const char *text, const char *canonical) {
  surg__buf out;
  surg__pipeline *p = parse(text);
  surg__buf_init(&out, ctx);
  surg__pipeline_print(p, &out);
  ck_assert(!out.failed);
  ck_assert_str_eq(out.p ? out.p : "", canonical);
  surg__buf_free(&out);
  surg__pipeline_free(p);
}

START_TEST(text_and_back) {
  static const char *const cases[][2] = {
      {"", ""},
      {"  # nothing\n ", ""},
      {"quiet", "quiet"},
      {" quiet , look ", "quiet,look"},
      {"quiet,\n# why\nquiet # behind", "quiet,quiet"},
      {"look{}", "look"},
      {"look{n=12}", "look{n=12}"},
      {"look{ flag , n = 1MiB }", "look{n=1MiB,flag=true}"}, /* in the order of declaration */
      {"look{flag=off}", "look{flag=off}"},
      {"look{text=/model/Conv_0:1}", "look{text=/model/Conv_0:1}"},
      {"look{text='a,b'}", "look{text=\"a,b\"}"},
      {"look{text=\"\"}", "look{text=\"\"}"},
      {"look{text='#'}", "look{text=\"#\"}"},
      {"look{text=a#b}", "look{text=a#b}"},
      {"look{text=\"it's \\\"q\\\" \\\\ \\n\\t\\x01\"}",
       "look{text=\"it's \\\"q\\\" \\\\ \\n\\t\\x01\"}"},
      {"look{list=a+'b c'+\"d+e\"}", "look{list=a+\"b c\"+\"d+e\"}"},
      {"look{list=x}", "look{list=x}"},
      {"repeat(quiet)", "repeat(quiet)"},
      {"repeat{max=8}(quiet,look)", "repeat{max=8}(quiet,look)"},
      {"repeat{max=inf}()", "repeat{max=inf}()"},
      {"guard( quiet,repeat(look))", "guard(quiet,repeat(look))"},
      {"guard(guard())", "guard(guard())"},
      {"guard{size=true}(quiet)", "guard{size}(quiet)"},
      {"guard{size=false}(quiet)", "guard(quiet)"},
      {"repeat{max=1KiB}(repeat(quiet))", "repeat{max=1024}(repeat(quiet))"},
      {"twice", "quiet,look{n=1}"},
      {"nothing", ""},
      {"nothing,quiet,nothing", "quiet"},
      {"nested,quiet", "quiet,look{n=1},repeat(quiet,look{n=1}),quiet"},
      {"\"quiet\"", "quiet"},
      {"pairs{x.2 = a+b, n=3, N=1}", "pairs{n=3,x.2=a+b,N=1}"},
      {"pairs{any=1,'a b'='c+d'}", "pairs{any=1,\"a b\"=\"c+d\"}"},
      {"pairs", "pairs"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    expect_text(cases[i][0], cases[i][1]);
    expect_text(cases[i][1], cases[i][1]);
  }
}
END_TEST

START_TEST(text_errors) {
  static const char *const cases[][2] = {
      {"quite", "--pass: error: column 1: unknown pass \"quite\"; did you mean \"quiet\"?"},
      {"zzzzzz", "--pass: error: column 1: unknown pass \"zzzzzz\"; see `onnxsurg passes`"},
      {"quiet,tvice", "--pass: error: column 7: unknown pass \"tvice\"; did you mean \"twice\"?"},
      {"quiet,", "--pass: error: column 7: unexpected end of text: expected a pass"},
      {",quiet", "--pass: error: column 1: expected a pass, found \",\""},
      {"quiet look", "--pass: error: column 7: expected ',', found \"l\""},
      {"quiet\nlook", "--pass: error: line 2 column 1: expected ',', found \"l\""},
      {"quiet)", "--pass: error: column 6: expected ',', found \")\""},
      {"look{m=1}",
       "--pass: error: column 6: unknown option of look \"m\"; see `onnxsurg passes look`"},
      {"look{flg}",
       "--pass: error: column 6: unknown option of look \"flg\"; did you mean \"flag\"?"},
      {"quiet{n=1}", "--pass: error: column 7: \"quiet\" has no options"},
      {"twice{n=1}", "--pass: error: column 1: twice is a preset and has no options"},
      {"look{n}", "--pass: error: column 6: option n needs a value"},
      {"look{n=}", "--pass: error: column 8: expected a value, found \"}\""},
      {"look{n=1,n=2}", "--pass: error: column 10: option \"n\" is given twice"},
      {"look{n=x}",
       "--pass: error: column 6: option n: \"x\" is not a number: expected "
       "digits, optionally with KiB, MiB or GiB, or inf"},
      {"look{n=1kb}",
       "--pass: error: column 6: option n: \"1kb\" is not a number: expected "
       "digits, optionally with KiB, MiB or GiB, or inf"},
      {"look{n=9223372036854775808}",
       "--pass: error: column 6: option n: \"9223372036854775808\" is too large"},
      {"look{n=9007199254740992KiB}",
       "--pass: error: column 6: option n: \"9007199254740992KiB\" is too large"},
      {"look{n=1+2}",
       "--pass: error: column 6: option n expects one value, not a list; quote a "
       "value that contains '+'"},
      {"look{flag=yes}",
       "--pass: error: column 6: option flag: \"yes\" is not a boolean: expected true, false, "
       "on or off"},
      {"look{n=1", "--pass: error: column 9: '{' is not closed"},
      {"look{n=1;",
       "--pass: error: column 6: option n: \"1;\" is not a number: expected "
       "digits, optionally with KiB, MiB or GiB, or inf"},
      {"look{text='a}", "--pass: error: column 11: the quote is not closed"},
      {"look{text='a\\q'}",
       "--pass: error: column 13: no such escape; there are \\\\ \\\" \\' \\n \\t "
       "and \\xNN"},
      {"look{text='\\x00'}",
       "--pass: error: column 12: no such escape; there are \\\\ \\\" \\' \\n "
       "\\t and \\xNN"},
      {"look{text=a\\b}", "--pass: error: column 12: a backslash must be in quotes"},
      {"pairs{N=1,N=2}", "--pass: error: column 11: option \"N\" is given twice"},
      {"pairs{N}", "--pass: error: column 7: option \"N\" needs a value"},
      {"pairs{n=x}",
       "--pass: error: column 7: option n: \"x\" is not a number: expected "
       "digits, optionally with KiB, MiB or GiB, or inf"},
      {"repeat", "--pass: error: column 7: repeat needs a pipeline in parentheses"},
      {"repeat{max=0}(quiet)", "--pass: error: column 1: repeat needs max=1 or more"},
      {"repeat{most=2}(quiet)",
       "--pass: error: column 8: unknown option of repeat \"most\"; did you mean \"max\"?"},
      {"guard", "--pass: error: column 6: guard needs a pipeline in parentheses"},
      {"guard{max=2}(quiet)",
       "--pass: error: column 7: unknown option of guard \"max\"; did you mean \"size\"?"},
      {"guard(quiet", "--pass: error: column 1: the '(' of guard is not closed"},
      {"repeat(quiet", "--pass: error: column 1: the '(' of repeat is not closed"},
      {"endless",
       "--pass: error: in preset \"endless\": column 7: repeats and presets nest too deep"},
      {"broken", "--pass: error: in preset \"broken\": column 7: expected a pass, found \",\""},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    surg__pipeline *p = (surg__pipeline *)&calls;
    n_lines = 0;
    ck_assert_int_eq(surg__pipeline_parse(ctx, cases[i][0], "--pass", &p), SURG_EUSAGE);
    ck_assert_ptr_null(p);
    ck_assert_int_eq(n_lines, 1);
    ck_assert_str_eq(lines[0], cases[i][1]);
  }
}
END_TEST

START_TEST(deep_nesting_is_refused) {
  char text[400] = "";
  for (int i = 0; i < 17; i++) strcat(text, "repeat(");
  strcat(text, "quiet");
  for (int i = 0; i < 17; i++) strcat(text, ")");
  surg__pipeline *p;
  ck_assert_int_eq(surg__pipeline_parse(ctx, text, "--pass", &p), SURG_EUSAGE);
  char *fewer = text + strlen("repeat(");
  fewer[strlen(fewer) - 1] = 0;
  ck_assert_int_eq(surg__pipeline_parse(ctx, fewer, "--pass", &p), SURG_OK);
  surg__pipeline_free(p);
}
END_TEST

START_TEST(has) {
  surg__pipeline *p = parse("quiet,repeat(repeat(look))");
  ck_assert(surg__pipeline_has(p, "look"));
  ck_assert(surg__pipeline_has(p, "quiet"));
  ck_assert(!surg__pipeline_has(p, "lie"));
  ck_assert(!surg__pipeline_has(p, "repeat"));
  surg__pipeline_free(p);
}
END_TEST

START_TEST(parsing_survives_lack_of_memory) {
  static const char text[] =
      "look{list=a+b+c,text='x y'},pairs{a=1+2,b=3},repeat(nested,look{n=1})";
  surg__pipeline_free(parse(text));
  uint64_t base = surg_context_memory(ctx, NULL), full = ctx->max_memory;
  int refused = 0;
  for (uint64_t room = 0; room < 60000; room += 64) {
    surg__pipeline *p = NULL;
    ctx->max_memory = base + room;
    surg_status s = surg__pipeline_parse(ctx, text, "--pass", &p);
    ck_assert(s == SURG_OK || (s == SURG_ELIMIT && !p));
    refused += s != SURG_OK;
    surg__pipeline_free(p);
  }
  ctx->max_memory = full;
  ck_assert_int_gt(refused, 3);
}
END_TEST

/* ---- registry -------------------------------------------------------------------------------- */

static void refuse(surg_pass pass, const char *why) {
  size_t before = surg__pass_count(registry);
  n_lines = 0;
  ck_assert_int_eq(surg_registry_add_pass(registry, &pass), SURG_EPLUGIN);
  ck_assert_int_eq(n_lines, 1);
  ck_assert_msg(strstr(lines[0], why), "'%s' lacks '%s'", lines[0], why);
  ck_assert_uint_eq(surg__pass_count(registry), before);
}

START_TEST(registration_checks) {
  static const surg_option twice[] = {SURG_OPTION(BOOL, "a", NULL, "h"),
                                      SURG_OPTION(INT, "a", NULL, "h")};
  static const surg_option odd[] = {SURG_OPTION(BOOL, "A b", NULL, "h")};
  static const surg_option fallback[] = {SURG_OPTION(INT, "a", "many", "h")};
  static const surg_option kind[] = {{sizeof(surg_option), 9, "a", NULL, "h"}};
  static const surg_option helpless[] = {SURG_OPTION(BOOL, "a", NULL, NULL)};
  surg_pass good = *valid_pass, p;
  good.name = "fresh";
  p = good, p.name = "quiet", refuse(p, "the name is in use");
  p = good, p.name = "twice", refuse(p, "the name is in use");
  p = good, p.name = "repeat", refuse(p, "the name is in use");
  p = good, p.name = "Fresh", refuse(p, "it has no valid name");
  p = good, p.name = "a b", refuse(p, "it has no valid name");
  p = good, p.name = "", refuse(p, "it has no valid name");
  p = good, p.name = NULL, refuse(p, "it has no valid name");
  p = good, p.help = NULL, refuse(p, "it has no help");
  p = good, p.run = NULL, refuse(p, "it has no run function");
  p = good, p.size = 8, refuse(p, "its struct is too small");
  p = good, p.scope = (surg_pass_scope)5, refuse(p, "its scope is not known");
  p = good, p.exactness = (surg_exactness)(SURG_LOSSY + 1), refuse(p, "its exactness is not known");
  p = good, p.needs = 64, refuse(p, "facts that are not known");
  p = good, p.option_count = 1, refuse(p, "it counts options and lists none");
  p = good, p.options = twice, p.option_count = 2, refuse(p, "two options have the same name");
  p = good, p.options = odd, p.option_count = 1, refuse(p, "an option has no valid name");
  p = good, p.options = fallback, p.option_count = 1, refuse(p, "the default of an option");
  p = good, p.options = kind, p.option_count = 1, refuse(p, "an option is of no known kind");
  p = good, p.options = helpless, p.option_count = 1, refuse(p, "an option has no help");
  static const surg_option two_pairs[] = {SURG_OPTION(PAIRS, "a", NULL, "some"),
                                          SURG_OPTION(PAIRS, "b", NULL, "more")};
  static const surg_option pair_default[] = {SURG_OPTION(PAIRS, "a", "x=1", "some")};
  p = good, p.options = two_pairs, p.option_count = 2,
  refuse(p, "two of its options are of kind pairs");
  p = good, p.options = pair_default, p.option_count = 1, refuse(p, "the default of an option");
  ck_assert_int_eq(surg_registry_add_pass(NULL, valid_pass), SURG_EUSAGE);
  ck_assert_int_eq(surg_registry_add_pass(registry, NULL), SURG_EPLUGIN);
}
END_TEST

START_TEST(every_function_is_in_the_table) {
  const surg_api *api = surg__api();
  ck_assert_uint_eq(api->size, sizeof *api);
  ck_assert_uint_eq(api->abi_major, SURG_ABI_MAJOR);
  ck_assert_uint_eq(api->abi_minor, SURG_ABI_MINOR);
  ck_assert_uint_eq(offsetof(surg_api, slots), 8); /* the head never moves */
#define SURG_FN(slot, ret, name, params, args) \
  ck_assert(api->slots[slot] == (surg_function_ptr)name);
#define SURG_PROC(slot, name, params, args) ck_assert(api->slots[slot] == (surg_function_ptr)name);
#include <onnxsurg/api.def>
#undef SURG_FN
#undef SURG_PROC
}
END_TEST

int main(void) {
  Suite *suite = suite_create("pipeline");
  TCase *text = tcase_create("text");
  tcase_add_checked_fixture(text, setup, teardown);
  tcase_add_test(text, text_and_back);
  tcase_add_test(text, text_errors);
  tcase_add_test(text, deep_nesting_is_refused);
  tcase_add_test(text, has);
  tcase_add_test(text, parsing_survives_lack_of_memory);
  tcase_add_test(text, registration_checks);
  tcase_add_test(text, every_function_is_in_the_table);
  suite_add_tcase(suite, text);
  suite_add_tcase(suite, runner_tests());
  return unit_run(suite);
}
