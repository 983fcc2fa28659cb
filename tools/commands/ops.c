/* SPDX-License-Identifier: Apache-2.0 */
/* `onnxsurg ops [NAME[@OPSET]]`: lists operators. `ops --new-since N IN`: lists the nodes of a
 * model that require a newer opset. */
#include <onnxsurg/schema.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "cli.h"
#include "ops.h"

static const char help[] =
    "usage: onnxsurg ops [--json] [NAME[@OPSET]]\n"
    "       onnxsurg ops --new-since OPSET [--json] IN\n"
    "Lists the operators ONNX defines with the opsets that changed them, or explains\n"
    "one: inputs, outputs, types, attributes with defaults, function body, and the\n"
    "changes between versions. Part of a name lists all operators that contain it; a\n"
    "domain may precede it (ai.onnx.ml.Scaler). Without @OPSET: the newest version.\n"
    "  --new-since N  list the nodes of a model, subgraphs and functions included,\n"
    "                 that are not valid in opset N of their domain, and why\n"
    "  --json         print JSON (doc/ops.md)\n";

/* The last version of operator `op`, which may be the one that removes it. */
static const surg_schema *last(int op) {
  size_t n = 0;
  while (surg_schema_version(op, n)) n++;
  return n ? surg_schema_version(op, n - 1) : NULL;
}

/* The newest version of operator `op` that is not deprecated. */
static const surg_schema *newest(int op) {
  const surg_schema *v, *found = surg_schema_version(op, 0);
  for (size_t i = 1; (v = surg_schema_version(op, i)); i++)
    if (!surg_schema_deprecated(v)) found = v;
  return found;
}

static const char *domain_name(const char *domain) {
  return *domain ? domain : "ai.onnx";
}

/* --- lists --- */

static int by_domain_and_name(const void *a, const void *b) {
  const surg_schema *x = *(const surg_schema *const *)a, *y = *(const surg_schema *const *)b;
  const int c = strcmp(surg_schema_domain(x), surg_schema_domain(y));
  return c ? c : strcmp(surg_schema_name(x), surg_schema_name(y));
}

/* Prints `Name  1 7 13 14`. The last version may be the one that removes the operator. */
static void put_row(const surg_schema *s, int width) {
  const surg_schema *v, *end = last(surg_schema_op(s));
  printf("  %-*s ", width, surg_schema_name(s));
  for (size_t i = 0; (v = surg_schema_version(surg_schema_op(s), i)); i++)
    printf(" %s%d", v == end && surg_schema_deprecated(v) ? "until " : "", surg_schema_since(v));
  putchar('\n');
}

static void print_list(const surg_schema **list, size_t n) {
  int width = 0;
  for (size_t i = 0; i < n; i++) {
    const int w = (int)strlen(surg_schema_name(list[i]));
    if (w > width) width = w;
  }
  for (size_t i = 0; i < n; i++) {
    const char *domain = surg_schema_domain(list[i]);
    if (i == 0 || strcmp(domain, surg_schema_domain(list[i - 1])) != 0)
      printf("%s, through opset %lld\n", domain_name(domain),
             (long long)surg_schema_newest(domain));
    put_row(list[i], width);
  }
}

static json_t *row_json(const surg_schema *s) {
  json_t *e = json_object(), *since = json_array();
  const int op = surg_schema_op(s);
  const surg_schema *v;
  for (size_t i = 0; (v = surg_schema_version(op, i)); i++)
    json_array_append_new(since, json_integer(surg_schema_since(v)));
  json_object_set_new(e, "domain", json_string(surg_schema_domain(s)));
  json_object_set_new(e, "name", json_string(surg_schema_name(s)));
  json_object_set_new(e, "since", since);
  json_object_set_new(e, "deprecated", json_boolean(surg_schema_deprecated(last(op))));
  return e;
}

static void print_list_json(const surg_schema **list, size_t n) {
  json_t *j = json_object(), *ops = json_array();
  for (size_t i = 0; i < n; i++) json_array_append_new(ops, row_json(list[i]));
  json_object_set_new(j, "schema", json_integer(1));
  json_object_set_new(j, "ops", ops);
  cli_print_json(j);
}

/* --- search --- */

/* Whether `name` contains `part`, ignoring case. */
static bool holds(const char *name, const char *part) {
  const size_t n = strlen(part);
  for (; strlen(name) >= n; name++)
    if (strncasecmp(name, part, n) == 0) return true;
  return false;
}

/* Length of the domain prefix of an operator name; 0: none. */
static size_t domain_length(const char *name) {
  size_t best = 0;
  for (int op = 1; op < SURG_OP_COUNT; op++) {
    const char *domain = domain_name(surg_schema_domain(newest(op)));
    const size_t n = strlen(domain);
    if (strncmp(name, domain, n) == 0 && name[n] == '.' && n > best) best = n;
  }
  return best;
}

/* Selects the operators that match `name`: by exact name, else ignoring case, else by substring.
 * NULL selects all. */
static size_t select_ops(const char *name, const surg_schema **out, bool *exact) {
  const size_t skip = name ? domain_length(name) : 0;
  const char *word = name ? name + skip + (skip > 0) : NULL;
  for (int way = name ? 0 : 2; way < 3; way++) {
    size_t n = 0;
    for (int op = 1; op < SURG_OP_COUNT; op++) {
      const surg_schema *s = newest(op);
      const char *domain = domain_name(surg_schema_domain(s));
      if (skip && (strlen(domain) != skip || strncmp(domain, name, skip) != 0)) continue;
      if (!word || (way == 0   ? strcmp(surg_schema_name(s), word) == 0
                    : way == 1 ? strcasecmp(surg_schema_name(s), word) == 0
                               : holds(surg_schema_name(s), word)))
        out[n++] = s;
    }
    /* A name without a domain means the ONNX operator: drop the contrib operators, which have
     * higher ids. */
    while (way < 2 && !skip && n > 1 && surg_schema_contrib(out[n - 1])) n--;
    *exact = name && way < 2 && n == 1;
    if (n) return n;
  }
  return 0;
}

static const char *op_at(const void *list, size_t i) {
  (void)list;
  return surg_schema_name(newest((int)i + 1));
}

static int unknown_name(const char *name) {
  const char *near = surg_nearest_name(name, "", SURG_OP_COUNT - 1, op_at);
  return cli_error_unknown("operator", name, near, "ops");
}

static int show_one(surg_context *ctx, const surg_schema *s, const char *opset, bool json) {
  uint64_t n = 0;
  if (opset && !cli_number(opset, &n))
    return cli_usage("an opset is a number: %s@17", surg_schema_name(s));
  if (opset) {
    const surg_schema *then = surg_schema_find(surg_schema_domain(s), surg_schema_name(s),
                                               n > INT32_MAX ? -1 : (int64_t)n);
    if (!then || surg_schema_deprecated(then)) {
      const char *domain = surg_schema_domain(s);
      cli_error(NULL,
                "%s is not an operator of %s opset %llu: it came with %d, the newest opset is %lld",
                surg_schema_name(s), domain_name(domain), (unsigned long long)n,
                surg_schema_since(surg_schema_version(surg_schema_op(s), 0)),
                (long long)surg_schema_newest(domain));
      return EXIT_USAGE;
    }
    s = then;
  }
  return cli_show_op(ctx, s, json);
}

/* `name` is NULL (all operators), one operator (with an optional "@opset"), or part of a name. */
static int show(surg_context *ctx, const char *name, bool json) {
  const surg_schema *list[SURG_OP_COUNT];
  const char *at = name ? strrchr(name, '@') : NULL;
  char *word = name ? strndup(name, at ? (size_t)(at - name) : strlen(name)) : NULL;
  bool exact = false;
  if (name && !word) return EXIT_LIMIT;
  const size_t n = select_ops(word, list, &exact);
  int code = EXIT_DONE;
  if (n == 0 || (at && !exact)) {
    code = unknown_name(word);
  } else if (exact) {
    code = show_one(ctx, list[0], at ? at + 1 : NULL, json);
  } else {
    qsort(list, n, sizeof *list, by_domain_and_name);
    if (json)
      print_list_json(list, n);
    else
      print_list(list, n);
  }
  free(word);
  return code;
}

/* --- nodes that require a newer opset --- */

typedef struct needs {
  surg_context *ctx;
  int64_t opset;
  json_t *nodes; /* NULL: print text */
  size_t found;
  int64_t floor; /* in the default domain */
} needs;

static void put_need(needs *x, const surg_node *n, const surg_schema *s, const char *why) {
  const char *where = surg_node_where(n);
  x->found++;
  if (!x->nodes) {
    printf("%s: needs %s opset %d: %s\n", where, domain_name(surg_schema_domain(s)),
           surg_schema_since(s), why);
    return;
  }
  json_t *e = json_object();
  json_object_set_new(e, "node", cli_text_json(where));
  json_object_set_new(e, "domain", json_string(surg_schema_domain(s)));
  json_object_set_new(e, "op", json_string(surg_schema_name(s)));
  json_object_set_new(e, "opset", json_integer(surg_schema_since(s)));
  json_object_set_new(e, "why", cli_text_json(why));
  json_array_append_new(x->nodes, e);
}

static void look_at(needs *x, const surg_node *n) {
  const surg_schema *s = NULL;
  char *why = NULL;
  surg_node_oldest(n, &s, &why);
  const int since = s ? surg_schema_since(s) : 0;
  if (s && !*surg_schema_domain(s) && since > x->floor) x->floor = since;
  if (s && since > x->opset) put_need(x, n, s, why ? why : "something");
  surg_context_free_bytes(x->ctx, why);
}

static int new_since(surg_context *ctx, const cli_common *common, const char *path, int64_t opset) {
  surg_model *m = NULL;
  surg_status s = cli_load(ctx, common, path, &m);
  if (s == SURG_OK) s = surg_model_infer(m);
  if (s == SURG_OK) {
    needs x = {.ctx = ctx, .opset = opset, .nodes = common->json ? json_array() : NULL};
    for (surg_graph *g = NULL; (g = surg_model_next_graph(m, g));)
      for (surg_node *n = surg_graph_first_node(g); n; n = surg_node_next(n)) look_at(&x, n);
    if (common->json) {
      json_t *j = json_object();
      json_object_set_new(j, "schema", json_integer(1));
      json_object_set_new(j, "file", cli_text_json(path));
      json_object_set_new(j, "opset_floor", json_integer((json_int_t)x.floor));
      json_object_set_new(j, "nodes", x.nodes);
      cli_print_json(j);
    } else if (!x.found) {
      printf("nothing needs more than opset %lld\n", (long long)opset);
    }
  }
  if (s == SURG_OK && cli_out_of_memory(ctx)) s = SURG_ENOMEM;
  surg_model_free(m);
  return cli_exit_code(s);
}

enum { OPT_NEW_SINCE = OPT_OWN };

static int take(void *since, int o, char *arg) {
  uint64_t *n = since;
  (void)o; /* the only option */
  if (cli_number(arg, n) && *n && *n <= INT32_MAX) return EXIT_DONE;
  return cli_usage("--new-since expects an opset, such as 13");
}

int cmd_ops(int argc, char **argv) {
  static const struct option options[] = {
      {"new-since", required_argument, NULL, OPT_NEW_SINCE}, CLI_COMMON_OPTIONS, {0}};
  cli_common common;
  uint64_t since = 0; /* 0: not requested */
  int code;
  const cli_command command = {options, NULL, help, take, &since, &common};
  if (!cli_options(argc, argv, &command, &code)) return code;
  if (since && argc - optind != 1)
    return cli_usage("--new-since expects one model: `onnxsurg ops --new-since 13 IN`");
  if (argc - optind > 1) return cli_usage("ops expects one name at most");
  surg_context *ctx = cli_context(&common);
  if (!ctx) return EXIT_LIMIT;
  code = since ? new_since(ctx, &common, argv[optind], (int64_t)since)
               : show(ctx, argv[optind], common.json);
  surg_context_free(ctx);
  return cli_flush(code);
}
