/* SPDX-License-Identifier: Apache-2.0 */
/* `onnxsurg rules [NAME]`: lists the rewrite rules, prints one, and explains why it does not
 * match a node. */
#include <onnxsurg/isolate.h>
#include <onnxsurg/names.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

static const char help[] =
    "usage: onnxsurg rules [--rules FILE] [--json] [NAME]\n"
    "       onnxsurg rules NAME --explain NODE IN\n"
    "Checks all rewrite rules (doc/rules.md) and lists them, prints one, or explains\n"
    "why one does not match a node.\n"
    "\n"
    "  --rules FILE    load further rules (repeatable)\n"
    "  --explain NODE  the node, by its name or the name of its first output\n";

static const char *name_at(const void *list, size_t i) {
  return surg_rule_name(surg_context_rule((surg_context *)(uintptr_t)list, i));
}

static void list(surg_context *ctx) {
  const char *group = NULL;
  const size_t n = surg_context_rule_count(ctx);
  for (size_t i = 0; i < n; i++) {
    const surg_rule *r = surg_context_rule(ctx, i);
    if (!group || strcmp(group, surg_rule_group(r)) != 0) {
      group = surg_rule_group(r);
      printf("%s\n", group);
    }
    printf("  %-33s %-7s", surg_rule_name(r), surg_exactness_name(surg_rule_exactness(r)));
    /* Print the domain if the column is wide enough. */
    const char *domain = surg_rule_domain(r), *op = surg_rule_op_type(r);
    if (*domain && strlen(domain) + strlen(op) < 35)
      printf(" %s.%s\n", domain, op);
    else
      printf(" %s\n", op);
  }
}

static void list_json(surg_context *ctx, const surg_rule *one) {
  json_t *j = json_object(), *all = json_array();
  const size_t n = surg_context_rule_count(ctx);
  for (size_t i = 0; i < n; i++) {
    const surg_rule *r = surg_context_rule(ctx, i);
    if (one && r != one) continue;
    const surg_str text = surg_rule_text(r);
    json_t *e = json_object();
    json_object_set_new(e, "name", json_string(surg_rule_name(r)));
    json_object_set_new(e, "group", json_string(surg_rule_group(r)));
    json_object_set_new(e, "exactness", json_string(surg_exactness_name(surg_rule_exactness(r))));
    json_object_set_new(e, "domain", json_string(surg_rule_domain(r)));
    json_object_set_new(e, "op_type", json_string(surg_rule_op_type(r)));
    json_object_set_new(e, "text", json_stringn(text.p, text.n));
    json_array_append_new(all, e);
  }
  json_object_set_new(j, "schema", json_integer(1));
  json_object_set_new(j, "rules", all);
  cli_stdout_used();
  json_dumpf(j, stdout, JSON_INDENT(2));
  putchar('\n');
  json_decref(j);
}

static int explain(surg_context *ctx, const surg_rule *r, const char *name, const char *path,
                   const cli_common *common) {
  surg_model *m = NULL;
  surg_status s = cli_load(ctx, common, path, &m);
  if (s == SURG_OK) s = surg_model_infer(m);
  if (s != SURG_OK) {
    surg_model_free(m);
    return cli_exit_code(s);
  }
  surg_node *n = NULL;
  int code = cli_exit_code(surg_node_select(m, name, &n));
  if (n) {
    const char *why = surg_rule_explain(r, n);
    printf("rule %s at ", surg_rule_name(r));
    cli_put(stdout, name);
    printf(" (");
    cli_put(stdout, surg_node_op_type(n));
    printf("): %s\n", why ? why : "matches");
    code = why ? EXIT_MODEL : EXIT_DONE;
  }
  surg_model_free(m);
  return code;
}

static int find_rule(surg_context *ctx, const char *name, const surg_rule **out) {
  const size_t n = surg_context_rule_count(ctx);
  /* Search from the end: a user's rule overrides the built-in rule of the same name. */
  for (size_t i = n; i-- > 0;) {
    *out = surg_context_rule(ctx, i);
    if (strcmp(surg_rule_name(*out), name) == 0) return EXIT_DONE;
  }
  *out = NULL;
  const char *near = n ? surg_nearest_name(name, ctx, n, name_at) : NULL;
  return cli_error_unknown("rule", name, near, "rules");
}

static int show(surg_context *ctx, char **args, int n, const char *node, const cli_common *common) {
  const surg_rule *r = NULL;
  const surg_status s = surg_context_check_rules(ctx);
  if (s == SURG_ENOMEM && !surg_context_error(ctx)) return cli_no_memory();
  if (s != SURG_OK) return cli_exit_code(s);
  if (!surg_context_rule_count(ctx)) return cli_exit_code(SURG_EINTERNAL);
  if (node && n != 2) return cli_usage("`onnxsurg rules NAME --explain NODE IN`");
  if (!node && n > 1) return cli_usage("rules expects one name at most");
  if (n && find_rule(ctx, args[0], &r) != EXIT_DONE) return EXIT_USAGE;
  if (node) return explain(ctx, r, node, args[1], common);
  if (common->json) {
    list_json(ctx, r);
  } else if (!r) {
    list(ctx);
  } else {
    const surg_str text = surg_rule_text(r);
    fwrite(text.p, 1, text.n, stdout);
    putchar('\n');
  }
  return EXIT_DONE;
}

enum { OPT_EXPLAIN = OPT_OWN, OPT_RULES };

typedef struct asked {
  const char *node; /* argument of --explain; NULL: not given */
  cli_words files;
} asked;

static int take(void *user, int o, char *arg) {
  asked *a = user;
  if (o == OPT_RULES) return cli_words_take(&a->files, arg);
  a->node = arg;
  return EXIT_DONE;
}

static int run(const cli_common *common, const asked *a, char **args, int n) {
  surg_context *ctx = cli_context(common);
  int code = ctx ? EXIT_DONE : EXIT_LIMIT;
  for (size_t i = 0; i < a->files.n && code == EXIT_DONE; i++)
    code = cli_rules_load(ctx, a->files.items[i]);
  if (code == EXIT_DONE) code = show(ctx, args, n, a->node, common);
  surg_context_free(ctx);
  return cli_flush(code);
}

int cmd_rules(int argc, char **argv) {
  static const struct option options[] = {{"explain", required_argument, NULL, OPT_EXPLAIN},
                                          {"rules", required_argument, NULL, OPT_RULES},
                                          CLI_COMMON_OPTIONS,
                                          {0}};
  cli_common common;
  asked a = {0};
  int code;
  const cli_command command = {options, NULL, help, take, &a, &common};
  if (cli_options(argc, argv, &command, &code))
    code = run(&common, &a, argv + optind, argc - optind);
  free(a.files.items);
  return code;
}
