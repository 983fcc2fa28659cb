/* SPDX-License-Identifier: Apache-2.0 */
/* See sample_passes.h. */
#include "sample_passes.h"

#include <stdio.h>
#include <unistd.h>

#include "base/context.h"

surg_context *ctx;
surg_registry *registry;
char lines[16][1024];
int n_lines;
int calls;

static void remember(void *user, surg_severity severity, const char *line) {
  (void)user;
  (void)severity;
  if (n_lines < 16) snprintf(lines[n_lines++], sizeof lines[0], "%s", line);
}

/* ---- passes ---------------------------------------------------------------------------------- */

int64_t seen_int;
bool seen_bool;
char seen_string[64], seen_list[256];

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
    &bold,   &edit,       &quiet,           &look,     &name_pass,
    &lie,    &add_output, &add_output_said, &disorder, &disorder_said,
    &fails,  &mute,       &undeclared,      &nonsense, &slow,
    &greedy, &pairs_pass};
const surg_pass *const valid_pass = &quiet;

static const surg__preset presets[] = {
    {"twice", "quiet,look{n=1}", "two passes"},
    {"nested", "twice,repeat(twice)", "a preset of presets"},
    {"endless", "quiet,endless", "contains itself"},
    {"broken", "quiet,,quiet", "not a pipeline"},
    {"nothing", "", "no pass at all"},
};

void setup(void) {
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

void teardown(void) {
  surg_context_free(ctx);
}

surg__pipeline *parse(const char *text) {
  surg__pipeline *p = NULL;
  surg_status s = surg__pipeline_parse(ctx, text, "--pass", &p);
  ck_assert_msg(s == SURG_OK, "'%s': %s", text, n_lines ? lines[n_lines - 1] : "?");
  return p;
}
