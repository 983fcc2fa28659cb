/* SPDX-License-Identifier: Apache-2.0 */
/* `onnxsurg find PATTERN IN...`: prints where a pattern or an address occurs. */
#include <onnxsurg/edit.h>
#include <stdlib.h>
#include <string.h>

#include "node_row.h"

static const char help[] =
    "usage: onnxsurg find [--count | --names | --json] PATTERN IN...\n"
    "Prints where a pattern occurs: the match side of a rewrite rule (doc/rules.md),\n"
    "'c = Conv (x, w, ...) y = Relu (c) where rank(x) == 4', with the value of each\n"
    "of its names; or an address of nodes: a name, op=Conv, /regex/. Exit code 1 if\n"
    "nothing is found.\n"
    "\n"
    "  --count   print the number of matches\n"
    "  --names   print the names of the nodes, each once; of nameless ones the place\n"
    "  --json    print a JSON object per model, one per line\n";

enum { OPT_COUNT = OPT_OWN, OPT_NAMES };

typedef struct finding {
  cli_common common;
  bool count, names, title;
  const char *pattern;
  surg_context *ctx;
  surg_model *m;
} finding;

static int take(void *user, int o, char *arg) {
  finding *f = user;
  (void)arg;
  if (o == OPT_COUNT) f->count = true;
  if (o == OPT_NAMES) f->names = true;
  return EXIT_DONE;
}

static int refuse(const finding *f, surg_status s, const char *why) {
  if ((s == SURG_ENOMEM || s == SURG_ELIMIT) && surg_context_memory_status(f->ctx) != SURG_OK)
    return cli_exit_code(surg_context_report_memory(f->ctx, surg_model_path(f->m)));
  if (s == SURG_ENOMEM) return cli_no_memory();
  if (s == SURG_ENOTFOUND && (f->count || f->common.json)) return EXIT_MODEL;
  cli_error(surg_model_path(f->m), "%s", why);
  return s == SURG_ENOTFOUND ? EXIT_MODEL : EXIT_USAGE;
}

/* ---- patterns -------------------------------------------------------------------------------- */

static void print_match(const surg_matches *ms, size_t i) {
  const char *name;
  surg_node *last = NULL;
  for (size_t k = 0; surg_matches_node(ms, i, k); k++) last = surg_matches_node(ms, i, k);
  printf("%s:", surg_node_where(last));
  for (size_t k = 0; (name = surg_matches_name(ms, k)) != NULL; k++) {
    const char *text = surg_matches_text(ms, i, k);
    const surg_value *v = surg_matches_value(ms, i, k);
    printf("%s ", k ? "," : "");
    cli_put(stdout, name);
    fputs(" = ", stdout);
    if (text)
      fputs(text, stdout); /* escaped */
    else
      cli_put(stdout, v ? surg_value_name(v) : "\"\"");
  }
  putchar('\n');
}

static json_t *match_json(surg_context *ctx, const surg_matches *ms, size_t i) {
  json_t *nodes = json_array(), *names = json_object();
  const char *name;
  for (size_t k = 0; surg_matches_node(ms, i, k); k++)
    json_array_append_new(nodes, node_json(ctx, surg_matches_node(ms, i, k)));
  for (size_t k = 0; (name = surg_matches_name(ms, k)) != NULL; k++) {
    const char *text = surg_matches_text(ms, i, k);
    const surg_value *v = surg_matches_value(ms, i, k);
    json_object_set_new(names, name,
                        text ? cli_text_json(text)
                        : v  ? cli_text_json(surg_value_name(v))
                             : json_null());
  }
  return json_pack("{s:o,s:o}", "nodes", nodes, "names", names);
}

static int show_matches(const finding *f) {
  char why[1024];
  surg_matches *ms;
  const surg_status s = surg_find(f->m, f->pattern, &ms, why, sizeof why);
  if (s != SURG_OK) return refuse(f, s, why);
  const size_t n = surg_matches_count(ms);
  if (!n && why[0]) cli_warn(&f->common, surg_model_path(f->m), why);
  json_t *all = f->common.json ? json_array() : NULL;
  for (size_t i = 0; i < n && !f->count; i++) {
    if (all)
      json_array_append_new(all, match_json(f->ctx, ms, i));
    else
      print_match(ms, i);
  }
  if (all)
    cli_print_json(json_pack("{s:i,s:o,s:I,s:o}", "schema", 1, "file",
                             cli_text_json(surg_model_path(f->m)), "count", (json_int_t)n,
                             "matches", all));
  else if (f->count)
    printf("%zu\n", n);
  surg_matches_free(ms);
  return n ? EXIT_DONE : EXIT_MODEL;
}

/* ---- addresses ------------------------------------------------------------------------------- */

static void print_node(const finding *f, const surg_node *n) {
  if (!f->names) {
    puts(surg_node_where(n));
  } else if (*surg_node_name(n)) {
    cli_put(stdout, surg_node_name(n));
    putchar('\n');
  } else {
    puts(surg_node_where(n));
  }
}

static int show_nodes(const finding *f) {
  char why[1024];
  size_t n = 0;
  surg_status s = surg_select_nodes(f->m, f->pattern, NULL, 0, &n, why, sizeof why);
  surg_node **list = calloc(n + 1, sizeof *list);
  if (!list) return cli_no_memory();
  if (s == SURG_OK) s = surg_select_nodes(f->m, f->pattern, list, n, &n, why, sizeof why);
  for (size_t i = 0; s == SURG_OK && i < n && !f->count && !f->common.json; i++)
    print_node(f, list[i]);
  if (f->common.json && (s == SURG_OK || s == SURG_ENOTFOUND))
    cli_print_json(json_pack("{s:i,s:o,s:I,s:o}", "schema", 1, "file",
                             cli_text_json(surg_model_path(f->m)), "count", (json_int_t)n, "nodes",
                             node_table_json(f->ctx, f->m, list, n)));
  else if (f->count && (s == SURG_OK || s == SURG_ENOTFOUND))
    printf("%zu\n", n);
  free(list);
  return s == SURG_OK ? EXIT_DONE : refuse(f, s, why);
}

/* Whether the text is a pattern: it has an operator with inputs, and nothing has it as its name. */
static bool is_pattern(const finding *f) {
  size_t count;
  const size_t n = strlen(f->pattern);
  if (n > 2 && f->pattern[0] == '/' && f->pattern[n - 1] == '/') return false;
  return strchr(f->pattern, '(') && !surg_model_find_node(f->m, f->pattern, &count) &&
         !surg_graph_find_value(surg_model_graph(f->m), f->pattern);
}

static int search(finding *f, const char *path) {
  f->m = NULL;
  surg_context_clear_error(f->ctx);
  int code = cli_exit_code(cli_load_any(f->ctx, &f->common, path, &f->m));
  if (f->m && surg_model_infer(f->m) == SURG_ENOMEM)
    code = surg_context_error(f->ctx) ? EXIT_LIMIT : cli_no_memory();
  if (f->title && code == EXIT_DONE && !f->common.json) {
    cli_put(stdout, path);
    puts(":");
  }
  if (code == EXIT_DONE) code = is_pattern(f) && !f->names ? show_matches(f) : show_nodes(f);
  surg_model_free(f->m);
  return code;
}

int cmd_find(int argc, char **argv) {
  static const struct option options[] = {{"count", no_argument, NULL, OPT_COUNT},
                                          {"names", no_argument, NULL, OPT_NAMES},
                                          CLI_COMMON_OPTIONS,
                                          {0}};
  finding f = {.count = false};
  int code;
  const cli_command command = {options, NULL, help, take, &f, &f.common};
  if (!cli_options(argc, argv, &command, &code)) return code;
  if (argc - optind < 2) return cli_usage("find expects a pattern and a model");
  if (f.count + f.names + f.common.json > 1)
    return cli_usage("--count, --names and --json exclude each other");
  f.pattern = argv[optind++];
  f.title = argc - optind > 1;
  f.ctx = cli_context(&f.common);
  if (!f.ctx) return EXIT_LIMIT;
  code = EXIT_DONE;
  for (int i = optind; i < argc; i++) {
    const int c = search(&f, argv[i]);
    if (c > code) code = c;
  }
  surg_context_free(f.ctx);
  return cli_flush(code);
}
