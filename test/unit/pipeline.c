/* SPDX-License-Identifier: Apache-2.0 */
/* Registry, pipeline text, options and the runner, with passes of this file's own. */
#include <onnxsurg/onnxsurg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/context.h"
#include "pass/pass.h"
#include "unit.h"

static surg_context *ctx;
static surg_registry *registry;
static char lines[16][1024];
static int n_lines;
static int calls; /* of run functions, since setup */

static void remember(void *user, surg_severity severity, const char *line) {
  (void)user;
  (void)severity;
  if (n_lines < 16) snprintf(lines[n_lines++], sizeof lines[0], "%s", line);
}

/* ---- passes ---------------------------------------------------------------------------------- */

static int64_t seen_int;
static bool seen_bool;
static char seen_string[64], seen_list[256];

static surg_pass_result run_quiet(surg_pass_ctx *p, surg_graph *g) {
  (void)p;
  (void)g;
  calls++;
  return SURG_PASS_UNCHANGED;
}

static surg_pass_result run_look(surg_pass_ctx *p, surg_graph *g) {
  (void)g;
  const char *s = surg_pass_string(p, "text");
  calls++;
  seen_int = surg_pass_int(p, "n");
  seen_bool = surg_pass_bool(p, "flag");
  snprintf(seen_string, sizeof seen_string, "%s", s ? s : "(none)");
  seen_list[0] = 0;
  for (size_t i = 0; i < surg_pass_list_count(p, "list"); i++) {
    strncat(seen_list, "|", sizeof seen_list - strlen(seen_list) - 1);
    strncat(seen_list, surg_pass_list_at(p, "list", i), sizeof seen_list - strlen(seen_list) - 1);
  }
  return SURG_PASS_UNCHANGED;
}

/* Renames the first unnamed node: changes once a node. */
static surg_pass_result run_name(surg_pass_ctx *p, surg_graph *g) {
  calls++;
  for (surg_node *n = surg_graph_first_node(g); n; n = surg_node_next(n)) {
    if (*surg_node_name(n) || surg_pass_keeps_node(p, n)) continue;
    if (!surg_pass_allow(p)) return SURG_PASS_UNCHANGED;
    surg_node_set_name(n, surg_graph_fresh_name(g, "node"));
    surg_pass_count(p, "named", 1);
    surg_pass_note(p, n, "has a\nname");
    return SURG_PASS_CHANGED;
  }
  return SURG_PASS_UNCHANGED;
}

static surg_pass_result run_lie(surg_pass_ctx *p, surg_graph *g) {
  (void)p;
  surg_node_set_name(surg_graph_first_node(g), "lie");
  return SURG_PASS_UNCHANGED;
}

static surg_pass_result run_add_output(surg_pass_ctx *p, surg_graph *g) {
  (void)p;
  surg_value *v = surg_node_output(surg_graph_first_node(g), 0);
  surg_graph_add_output(g, v, surg_type_tensor_unranked(surg_graph_model(g), SURG_FLOAT));
  return SURG_PASS_CHANGED;
}

static surg_pass_result run_disorder(surg_pass_ctx *p, surg_graph *g) {
  (void)p;
  surg_node_move(surg_graph_last_node(g), surg_graph_first_node(g));
  return SURG_PASS_CHANGED;
}

static surg_pass_result run_fail(surg_pass_ctx *p, surg_graph *g) {
  return surg_pass_fail(p, surg_graph_first_node(g), "does not like this");
}

static surg_pass_result run_mute(surg_pass_ctx *p, surg_graph *g) {
  (void)p;
  (void)g;
  return SURG_PASS_FAILED;
}

static surg_pass_result run_undeclared(surg_pass_ctx *p, surg_graph *g) {
  (void)g;
  surg_pass_bool(p, "no-such");
  return SURG_PASS_UNCHANGED;
}

static surg_pass_result run_nonsense(surg_pass_ctx *p, surg_graph *g) {
  (void)p;
  (void)g;
  return (surg_pass_result)7;
}

static surg_pass_result run_slow(surg_pass_ctx *p, surg_graph *g) {
  (void)g;
  calls++;
  for (int i = 0; i < 100 && surg_pass_allow(p); i++) usleep(1000);
  return SURG_PASS_UNCHANGED;
}

static surg_pass_result run_greedy(surg_pass_ctx *p, surg_graph *g) {
  (void)g;
  return surg_pass_alloc(p, (size_t)1 << 40) ? SURG_PASS_UNCHANGED : SURG_PASS_CHANGED;
}

static const surg_option look_options[] = {
    SURG_OPTION(INT, "n", "7", "a number"),
    SURG_OPTION(BOOL, "flag", NULL, "a flag"),
    SURG_OPTION(STRING, "text", NULL, "a text"),
    SURG_OPTION(LIST, "list", "a+b", "a list"),
};

static const surg_option pair_options[] = {
    SURG_OPTION(INT, "n", "7", "a number"),
    SURG_OPTION(PAIRS, "any", NULL, "any names"),
};

static surg_pass_result run_pairs(surg_pass_ctx *p, surg_graph *g) {
  static const char *const names[] = {"alpha", "beta"};
  (void)g;
  ck_assert_uint_eq(surg_pass_pair_count(p), 2);
  ck_assert_int_eq(surg_pass_int(p, "n"), 3);
  ck_assert_str_eq(surg_pass_pair_name(p, 0), "N");
  ck_assert_str_eq(surg_pass_pair_value(p, 0, 0), "1");
  ck_assert_ptr_null(surg_pass_pair_value(p, 0, 1));
  ck_assert_str_eq(surg_pass_pair_name(p, 1), "x.2");
  ck_assert_str_eq(surg_pass_pair_value(p, 1, 1), "b");
  ck_assert_ptr_null(surg_pass_pair_name(p, 2));
  ck_assert_ptr_null(surg_pass_pair_value(p, 2, 0));
  ck_assert_str_eq(surg_pass_nearest("betta", names, 2), "beta");
  ck_assert_ptr_null(surg_pass_nearest("betta", names, 0));
  calls++;
  return SURG_PASS_UNCHANGED;
}

#define PASS(id, label, fn, ...)                          \
  static const surg_pass id = {.size = sizeof(surg_pass), \
                               .scope = SURG_SCOPE_GRAPH, \
                               .name = label,             \
                               .help = "test",            \
                               .run = fn,                 \
                               __VA_ARGS__}
PASS(quiet, "quiet", run_quiet, .keeps = 0);
PASS(look, "look", run_look, .options = look_options, .option_count = 4);
PASS(pairs_pass, "pairs", run_pairs, .options = pair_options, .option_count = 2);
PASS(name_pass, "name-one", run_name, .keeps = SURG_FACT_SORTED, .exactness = SURG_ULP);
/* Its option says that it may do anything; so does the pass. */
static const surg_option bold_options[] = {SURG_OPTION(STRING, "allow", "lossy", "consent")};
PASS(bold, "bold", run_name, .exactness = SURG_LOSSY, .options = bold_options, .option_count = 1);
PASS(edit, "edit", run_name, .exactness = SURG_LOSSY, .edits = true);
PASS(lie, "lie", run_lie, .keeps = 0);
PASS(add_output, "add-output", run_add_output, .keeps = 0);
PASS(add_output_said, "add-output-said", run_add_output, .changes_interface = true);
PASS(disorder, "disorder", run_disorder, .keeps = SURG_FACT_SORTED);
PASS(disorder_said, "disorder-said", run_disorder, .keeps = 0);
PASS(fails, "fails", run_fail, .keeps = 0);
PASS(mute, "mute", run_mute, .keeps = 0);
PASS(undeclared, "undeclared", run_undeclared, .keeps = 0);
PASS(nonsense, "nonsense", run_nonsense, .keeps = 0);
PASS(slow, "slow", run_slow, .keeps = 0);
PASS(greedy, "greedy", run_greedy, .keeps = 0);

static const surg_pass *const passes[] = {
    &bold,  &edit,
    &quiet, &look, &name_pass,  &lie,      &add_output, &add_output_said, &disorder, &disorder_said,
    &fails, &mute, &undeclared, &nonsense, &slow,       &greedy,
    &pairs_pass};
static const surg__preset presets[] = {
    {"twice", "quiet,look{n=1}", "two passes"},
    {"nested", "twice,repeat(twice)", "a preset of presets"},
    {"endless", "quiet,endless", "contains itself"},
    {"broken", "quiet,,quiet", "not a pipeline"},
    {"nothing", "", "no pass at all"},
};

static void setup(void) {
  surg_config config = {.size = sizeof config, .diag = remember, .seed = 7};
  n_lines = calls = 0;
  ctx = surg_context_new(&config);
  ck_assert_ptr_nonnull(ctx);
  registry = surg__registry(ctx);
  ck_assert_ptr_nonnull(registry);
  for (size_t i = 0; i < sizeof passes / sizeof *passes; i++)
    ck_assert_int_eq(surg_registry_add_pass(registry, passes[i]), SURG_OK);
  for (size_t i = 0; i < sizeof presets / sizeof *presets; i++)
    ck_assert_int_eq(surg__register_preset(registry, &presets[i]), SURG_OK);
}

static void teardown(void) {
  surg_context_free(ctx);
}

/* ---- pipeline text --------------------------------------------------------------------------- */

static surg__pipeline *parse(const char *text) {
  surg__pipeline *p = NULL;
  surg_status s = surg__pipeline_parse(ctx, text, "--pass", &p);
  ck_assert_msg(s == SURG_OK, "'%s': %s", text, n_lines ? lines[n_lines - 1] : "?");
  return p;
}

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
      {"look{m=1}", "--pass: error: column 6: unknown option of look \"m\"; did you mean \"n\"?"},
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
       "--pass: error: column 6: option flag: \"yes\" is no yes or no: true, false, "
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
  surg_pass good = quiet, p;
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
  ck_assert_int_eq(surg_registry_add_pass(NULL, &quiet), SURG_EUSAGE);
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

/* ---- runner ---------------------------------------------------------------------------------- */

/* x -> Abs -> Neg -> y, nodes without names. */
static surg_model *make(void) {
  surg_model *m = surg_model_new(ctx, 8, 17);
  surg_graph *g = surg_model_graph(m);
  const surg_type *t = surg_type_tensor_unranked(m, SURG_FLOAT);
  surg_value *x = surg_graph_add_input(g, "x", t);
  surg_node *a = surg_graph_add_node(g, NULL, NULL, "Abs", 1);
  surg_node *b = surg_graph_add_node(g, NULL, NULL, "Neg", 1);
  ck_assert_ptr_nonnull(b);
  surg_node_set_name(a, "");
  surg_node_set_name(b, "");
  surg_node_set_input(a, 0, x);
  surg_node_set_input(b, 0, surg_node_output(a, 0));
  surg_value_rename(surg_node_output(b, 0), "y");
  ck_assert_int_eq(surg_graph_add_output(g, surg_node_output(b, 0), t), SURG_OK);
  ck_assert_int_eq(surg_model_verify(m), SURG_OK);
  n_lines = 0;
  return m;
}

static surg_status run(const char *text, const surg__run_options *options, surg__run_report *report,
                       surg_model **kept) {
  surg_model *m = make();
  surg__pipeline *p = parse(text);
  surg_status s = surg__run(&m, p, options, report);
  surg__pipeline_free(p);
  ck_assert((m == NULL) == (s != SURG_OK && !(options && options->dry_run)));
  if (kept)
    *kept = m;
  else
    surg_model_free(m);
  return s;
}

static void expect_failure(const char *text, const surg__run_options *o, surg_status status,
                           const char *line) {
  surg__run_report report;
  n_lines = 0;
  surg_status got = run(text, o, &report, NULL);
  ck_assert_msg(got == status, "'%s': %d: %s", text, got, n_lines ? lines[0] : "no line");
  surg__run_report_free(&report);
  ck_assert_int_eq(n_lines, 1);
  ck_assert_msg(strstr(lines[0], line), "'%s' lacks '%s'", lines[0], line);
}

START_TEST(options_reach_the_pass) {
  ck_assert_int_eq(run("look", NULL, NULL, NULL), SURG_OK);
  ck_assert_int_eq(seen_int, 7);
  ck_assert(!seen_bool);
  ck_assert_str_eq(seen_string, "(none)");
  ck_assert_str_eq(seen_list, "|a|b");
  ck_assert_int_eq(run("look{n=-3KiB,flag,text='a+b',list=x+''+y}", NULL, NULL, NULL), SURG_OK);
  ck_assert_int_eq(seen_int, -3072);
  ck_assert(seen_bool);
  ck_assert_str_eq(seen_string, "a+b");
  ck_assert_str_eq(seen_list, "|x||y");
  ck_assert_int_eq(run("look{n=inf}", NULL, NULL, NULL), SURG_OK);
  ck_assert_int_eq(seen_int, INT64_MAX);
  ck_assert_int_eq(run("look{n=-9223372036854775808}", NULL, NULL, NULL), SURG_OK);
  ck_assert_int_eq(seen_int, INT64_MIN);
  ck_assert_int_eq(run("look{n=2GiB}", NULL, NULL, NULL), SURG_OK);
  ck_assert_int_eq(seen_int, (int64_t)2 << 30);
}
END_TEST

START_TEST(pairs_reach_the_pass) {
  calls = 0;
  ck_assert_int_eq(run("pairs{N=1,n=3,x.2=a+b}", NULL, NULL, NULL), SURG_OK);
  ck_assert_int_eq(calls, 1);
}
END_TEST

START_TEST(pairs_are_bounded) {
  static char text[20000] = "pairs{";
  for (int i = 0; i < 1000; i++) snprintf(text + strlen(text), 20, "%sk%d=1", i ? "," : "", i);
  size_t n = strlen(text);
  strcpy(text + n, "}");
  surg__pipeline_free(parse(text));
  strcpy(text + n, ",one-more=1}");
  surg__pipeline *p;
  ck_assert_int_eq(surg__pipeline_parse(ctx, text, "--pass", &p), SURG_EUSAGE);
  ck_assert_ptr_nonnull(strstr(lines[n_lines - 1], "option \"one-more\" is one too many"));
}
END_TEST

START_TEST(empty_pipeline_changes_nothing) {
  surg__run_report report;
  ck_assert_int_eq(run("", NULL, &report, NULL), SURG_OK);
  ck_assert(!report.changed);
  ck_assert_uint_eq(report.passes.count, 0);
  surg__run_report_free(&report);
}
END_TEST

START_TEST(repeat_runs_to_the_fixpoint) {
  surg__run_report report;
  surg_model *m;
  ck_assert_int_eq(run("repeat(name-one)", NULL, &report, &m), SURG_OK);
  ck_assert_int_eq(calls, 3); /* two changes, one look that finds nothing */
  ck_assert(report.changed);
  ck_assert_uint_eq(report.rewrites, 2);
  ck_assert_uint_eq(report.passes.count, 1);
  ck_assert_uint_eq(report.passes.items[0].runs, 3);
  ck_assert_uint_eq(report.passes.items[0].counters.count, 1);
  ck_assert_uint_eq(report.passes.items[0].counters.items[0].n, 2);
  ck_assert_uint_eq(report.passes.items[0].notes.count, 2);
  ck_assert_ptr_nonnull(strstr(report.passes.items[0].notes.items[0], "has a\\nname"));
  ck_assert_int_eq(report.worst, SURG_ULP);
  ck_assert(!report.interface && !report.limit_reached);
  surg__run_report_free(&report);
  surg_model_free(m);
}
END_TEST

/* No pass exceeds what the user allows, whatever it says of itself. */
START_TEST(consent) {
  static const struct {
    const char *pipeline;
    int allow; /* -1: not given */
    surg_status status;
  } rows[] = {
      {"name-one", -1, SURG_OK},
      {"name-one", SURG_ULP, SURG_OK},
      {"name-one", SURG_EXACT, SURG_EINVALID},
      {"allow{exact}(name-one)", -1, SURG_EINVALID},
      {"allow{lossy}(allow{exact}(name-one))", -1, SURG_EINVALID},
      {"allow{exact}(allow{lossy}(name-one))", -1, SURG_EINVALID},
      {"allow{exact}(quiet),name-one", -1, SURG_OK},
      {"bold", -1, SURG_EINVALID},
      {"bold", SURG_APPROX, SURG_EINVALID},
      {"bold", SURG_LOSSY, SURG_OK},
      {"bold{allow=lossy}", -1, SURG_OK},
      {"bold{allow=lossy}", SURG_APPROX, SURG_EINVALID},
      {"bold{allow=approx}", -1, SURG_EINVALID},
      {"allow{lossy}(bold)", -1, SURG_OK},
      {"allow{lossy}(bold)", SURG_APPROX, SURG_EINVALID},
      {"edit", -1, SURG_OK},
      {"edit", SURG_APPROX, SURG_EINVALID},
      {"allow{approx}(edit)", -1, SURG_EINVALID},
  };
  for (size_t i = 0; i < SURG_COUNT(rows); i++) {
    surg__run_options options = {.has_allow = rows[i].allow >= 0,
                                 .allow = (surg_exactness)(rows[i].allow < 0 ? 0 : rows[i].allow)};
    surg__run_report report;
    surg_model *m = NULL;
    ck_assert_msg(run(rows[i].pipeline, &options, &report, &m) == rows[i].status, "%zu: %s", i,
                  rows[i].pipeline);
    surg__run_report_free(&report);
    surg_model_free(m);
  }
}
END_TEST

START_TEST(repeat_stops_at_max) {
  surg__run_report report;
  ck_assert_int_eq(run("repeat{max=1}(name-one)", NULL, &report, NULL), SURG_OK);
  ck_assert_int_eq(calls, 1);
  ck_assert_int_eq(n_lines, 1);
  ck_assert_ptr_nonnull(strstr(lines[0], "repeat stopped after 1 rounds, still changing"));
  surg__run_report_free(&report);
}
END_TEST

START_TEST(rewrite_limit_leaves_work_undone) {
  surg__run_report report;
  surg__run_options o = {.has_rewrite_limit = true, .rewrite_limit = 1};
  ck_assert_int_eq(run("repeat(name-one)", &o, &report, NULL), SURG_OK);
  ck_assert_uint_eq(report.rewrites, 1);
  ck_assert(report.limit_reached);
  surg__run_report_free(&report);
  o.rewrite_limit = 0;
  ck_assert_int_eq(run("repeat(name-one)", &o, &report, NULL), SURG_OK);
  ck_assert(!report.changed && report.limit_reached);
  surg__run_report_free(&report);
}
END_TEST

START_TEST(skipping) {
  static const char *const skip[] = {"name-one"};
  surg__run_options o = {.skip = skip, .n_skip = 1};
  surg__run_report report;
  ck_assert_int_eq(run("quiet,name-one", &o, &report, NULL), SURG_OK);
  ck_assert(!report.changed);
  ck_assert_uint_eq(report.passes.count, 1);
  surg__run_report_free(&report);
  static const char *const wrong[] = {"name-two"};
  o.skip = wrong;
  expect_failure("quiet", &o, SURG_EUSAGE,
                 "--skip-pass: error: unknown pass \"name-two\"; did you mean \"name-one\"?");
}
END_TEST

START_TEST(keeping) {
  static const char *const by_op[] = {"op=Abs"}, *const by_value[] = {"y"};
  static const char *const by_regex[] = {"/^(y|z)$/"}, *const bad[] = {"/(/"};
  static const char *const all[] = {"op=Abs", "y"}, *const strange[] = {"no_such"};
  surg__run_report report;
  surg__run_options o = {.keep = by_op, .n_keep = 1};
  ck_assert_int_eq(run("repeat(name-one)", &o, &report, NULL), SURG_OK);
  ck_assert_uint_eq(report.rewrites, 1);
  surg__run_report_free(&report);
  o.keep = by_value;
  ck_assert_int_eq(run("repeat(name-one)", &o, &report, NULL), SURG_OK);
  ck_assert_uint_eq(report.rewrites, 1);
  surg__run_report_free(&report);
  o.keep = by_regex;
  ck_assert_int_eq(run("repeat(name-one)", &o, &report, NULL), SURG_OK);
  ck_assert_uint_eq(report.rewrites, 1);
  surg__run_report_free(&report);
  o.keep = all, o.n_keep = 2;
  ck_assert_int_eq(run("repeat(name-one)", &o, &report, NULL), SURG_OK);
  ck_assert_uint_eq(report.rewrites, 0);
  surg__run_report_free(&report);
  o.keep = bad, o.n_keep = 1;
  expect_failure("quiet", &o, SURG_EUSAGE, "--keep: error: \"/(/\": ");
  o.keep = strange;
  ck_assert_int_eq(run("quiet", &o, NULL, NULL), SURG_OK);
  ck_assert_ptr_nonnull(strstr(lines[0], "nothing in the model is called \"no_such\""));
}
END_TEST

START_TEST(misbehaving_passes) {
  expect_failure("lie", NULL, SURG_EINTERNAL,
                 "pass \"lie\" reported no change, and changed the model");
  expect_failure("add-output", NULL, SURG_EINTERNAL, "changed inputs or outputs of the model");
  expect_failure("mute", NULL, SURG_EINTERNAL, "pass \"mute\" failed without a reason");
  expect_failure("nonsense", NULL, SURG_EINTERNAL, "returned no result that there is");
  expect_failure("undeclared", NULL, SURG_EINTERNAL,
                 "asked for option \"no-such\", which it does not declare");
  expect_failure("fails", NULL, SURG_EINVALID, "(Abs): does not like this");
  surg__run_options o = {.verify_each = true};
  expect_failure("disorder", &o, SURG_EINTERNAL, "pass \"disorder\" left the model broken: ");
  expect_failure("greedy", NULL, SURG_ELIMIT, "memory");
}
END_TEST

START_TEST(what_is_said_may_be_done) {
  surg__run_report report;
  surg__run_options o = {.verify_each = true};
  surg_model *m;
  ck_assert_int_eq(run("add-output-said", &o, &report, NULL), SURG_OK);
  ck_assert(report.interface && report.changed);
  surg__run_report_free(&report);
  ck_assert_int_eq(run("disorder-said", &o, &report, &m), SURG_OK);
  surg_node *first = surg_graph_first_node(surg_model_graph(m));
  ck_assert_str_eq(surg_node_op_type(first), "Abs"); /* the runner has put it in order */
  surg__run_report_free(&report);
  surg_model_free(m);
}
END_TEST

START_TEST(the_failing_pass_is_named) {
  surg__run_report report;
  ck_assert_int_eq(run("quiet,fails,quiet", NULL, &report, NULL), SURG_EINVALID);
  ck_assert_str_eq(report.failed, "fails");
  ck_assert_int_eq(calls, 1);
  surg__run_report_free(&report);
}
END_TEST

START_TEST(dry_run_keeps_the_model) {
  surg__run_report report;
  surg__run_options o = {.dry_run = true};
  surg_model *m;
  ck_assert_int_eq(run("repeat(name-one)", &o, &report, &m), SURG_OK);
  ck_assert(report.changed);
  ck_assert_str_eq(surg_node_name(surg_graph_first_node(surg_model_graph(m))), "");
  surg__run_report_free(&report);
  surg_model_free(m);
  ck_assert_int_eq(run("fails", &o, &report, &m), SURG_EINVALID);
  ck_assert_ptr_nonnull(m);
  surg__run_report_free(&report);
  surg_model_free(m);
}
END_TEST

START_TEST(timeouts) {
  surg__run_options o = {.timeout_ms = 5};
  expect_failure("slow,quiet", &o, SURG_ELIMIT, "out of time in pass \"slow\" (--timeout)");
  ck_assert_int_eq(calls, 1);
}
END_TEST

static char printed[256];

static void print(void *user, const char *pass, surg_model *model) {
  (void)user;
  (void)model;
  strncat(printed, pass, sizeof printed - strlen(printed) - 2);
  strcat(printed, ";");
}

START_TEST(printing_after) {
  static const char *const changed[] = {"changed"}, *const quiet_only[] = {"quiet"};
  static const char *const wrong[] = {"quit"};
  surg__run_options o = {.print = print, .print_after = changed, .n_print_after = 1};
  printed[0] = 0;
  ck_assert_int_eq(run("quiet,repeat(name-one)", &o, NULL, NULL), SURG_OK);
  ck_assert_str_eq(printed, "name-one;name-one;");
  printed[0] = 0;
  o.print_after = quiet_only;
  ck_assert_int_eq(run("quiet,repeat(name-one)", &o, NULL, NULL), SURG_OK);
  ck_assert_str_eq(printed, "quiet;");
  o.print_after = wrong;
  expect_failure("quiet", &o, SURG_EUSAGE, "--print-after: error: unknown pass \"quit\"");
}
END_TEST

static char *slurp(const char *path) {
  FILE *f = fopen(path, "r");
  char *text = calloc(1, 65536);
  ck_assert(f && text);
  ck_assert_uint_lt(fread(text, 1, 65535, f), 65535);
  fclose(f);
  return text;
}

START_TEST(log_and_map) {
  char log[] = "/tmp/onnxsurg_log_XXXXXX", map[] = "/tmp/onnxsurg_map_XXXXXX";
  close(mkstemp(log));
  close(mkstemp(map));
  surg__run_options o = {.log_path = log, .map_path = map};
  ck_assert_int_eq(run("quiet,name-one,add-output-said", &o, NULL, NULL), SURG_OK);
  char *text = slurp(log);
  ck_assert_ptr_nonnull(strstr(text, "{\"event\":\"run\",\"schema\":1,"));
  ck_assert_ptr_nonnull(strstr(text, "{\"event\":\"pass-begin\",\"pass\":\"quiet\",\"run\":1}\n"));
  ck_assert_ptr_nonnull(strstr(text,
                               "{\"event\":\"rename-node\",\"pass\":\"name-one\","
                               "\"graph\":\"main\",\"node\":\"node"));
  ck_assert_ptr_nonnull(strstr(text, "\"result\":\"changed\""));
  ck_assert_ptr_nonnull(strstr(text, "{\"event\":\"interface\",\"pass\":\"add-output-said\""));
  free(text);
  text = slurp(map);
  ck_assert_str_eq(text,
                   "{\"schema\":1,\n \"values\":[],\n \"nodes\":[]}\n"); /* "" has no old name */
  free(text);
  unlink(log);
  unlink(map);
  o.map_path = "/nonexistent/map";
  expect_failure("quiet", &o, SURG_EIO, "/nonexistent/map: error: cannot write: ");
  unlink(log);
  o = (surg__run_options){.log_path = "/dev/full"};
  expect_failure("quiet", &o, SURG_EIO, "/dev/full: error: cannot write: ");
}
END_TEST

START_TEST(report_texts) {
  surg__run_report report;
  surg__buf out;
  ck_assert_int_eq(run("repeat(name-one),quiet", NULL, &report, NULL), SURG_OK);
  surg__buf_init(&out, ctx);
  surg__run_report_print(&report, true, false, &out);
  ck_assert_ptr_nonnull(strstr(out.p, "name-one: 3 runs, 2 rewrites, changed, ulp\n  named: 2\n"));
  ck_assert_ptr_nonnull(strstr(out.p, "quiet: 1 run, 0 rewrites, unchanged\n"));
  surg__buf_free(&out);
  surg__run_report_json(&report, &out);
  ck_assert_ptr_nonnull(strstr(out.p, "{\"changed\":true,\"exactness\":\"ulp\""));
  ck_assert_ptr_nonnull(strstr(out.p, "\"counters\":{\"named\":2}"));
  surg__buf_free(&out);
  surg__run_report_free(&report);
}
END_TEST

START_TEST(running_survives_lack_of_memory) {
  surg__pipeline *p = parse("repeat(name-one),look,add-output-said");
  int refused = 0, done = 0;
  for (uint64_t room = 0; room < 40000; room += 256) {
    surg_model *m = make();
    surg__run_report report;
    surg__run_options o = {.verify_each = true,
                           .max_memory = surg_context_memory(ctx, NULL) + room};
    surg_status s = surg__run(&m, p, &o, &report);
    ck_assert_msg(s == SURG_OK || s == SURG_ELIMIT, "%d: %s", s, n_lines ? lines[0] : "");
    ck_assert_int_eq(m == NULL, s != SURG_OK);
    refused += s != SURG_OK;
    done += s == SURG_OK;
    surg__run_report_free(&report);
    surg_model_free(m);
  }
  surg__pipeline_free(p);
  ck_assert_int_gt(refused, 0);
  ck_assert_int_gt(done, 0);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("pipeline");
  TCase *text = tcase_create("text"), *runner = tcase_create("runner");
  tcase_add_checked_fixture(text, setup, teardown);
  tcase_add_checked_fixture(runner, setup, teardown);
  tcase_set_timeout(runner, 60);
  tcase_add_test(text, text_and_back);
  tcase_add_test(text, text_errors);
  tcase_add_test(text, deep_nesting_is_refused);
  tcase_add_test(text, has);
  tcase_add_test(text, parsing_survives_lack_of_memory);
  tcase_add_test(text, registration_checks);
  tcase_add_test(text, every_function_is_in_the_table);
  tcase_add_test(runner, options_reach_the_pass);
  tcase_add_test(runner, pairs_reach_the_pass);
  tcase_add_test(runner, pairs_are_bounded);
  tcase_add_test(runner, empty_pipeline_changes_nothing);
  tcase_add_test(runner, repeat_runs_to_the_fixpoint);
  tcase_add_test(runner, consent);
  tcase_add_test(runner, repeat_stops_at_max);
  tcase_add_test(runner, rewrite_limit_leaves_work_undone);
  tcase_add_test(runner, skipping);
  tcase_add_test(runner, keeping);
  tcase_add_test(runner, misbehaving_passes);
  tcase_add_test(runner, what_is_said_may_be_done);
  tcase_add_test(runner, the_failing_pass_is_named);
  tcase_add_test(runner, dry_run_keeps_the_model);
  tcase_add_test(runner, timeouts);
  tcase_add_test(runner, printing_after);
  tcase_add_test(runner, log_and_map);
  tcase_add_test(runner, report_texts);
  tcase_add_test(runner, running_survives_lack_of_memory);
  suite_add_tcase(suite, text);
  suite_add_tcase(suite, runner);
  return unit_run(suite);
}
