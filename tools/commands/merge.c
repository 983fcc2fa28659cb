/* SPDX-License-Identifier: Apache-2.0 */
/* `onnxsurg merge A B -o OUT`: merges two models into one. */
#include <onnxsurg/info.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

static const char help[] =
    "usage: onnxsurg merge [OPTION]... A B -o OUT\n"
    "Joins two models: outputs of A replace inputs of B. Without --connect, those of\n"
    "the same name are connected.\n"
    "\n"
    "  --connect VALUE:INPUT   a value of A and the input of B it replaces\n"
    "                          (repeatable)\n"
    "  --prefix TEXT           prefix for all names of B\n"
    "  --keep-outputs          connected outputs of A remain outputs\n"
    "  --dim NAME=N            fix a dimension of the inputs of the result; NAME is\n"
    "                          a symbol or input.axis\n"
    "  --input-shape NAME:SIZE,...\n"
    "                          fix the shape of an input of the result; ? leaves a\n"
    "                          dimension as it is\n"
    "  --external-data NAME    write large weights to file NAME in the folder of OUT\n"
    "  -o, --output OUT        the output file\n"
    "  --json                  print connections, inputs and outputs as JSON\n";

enum { OPT_CONNECT = OPT_OWN, OPT_PREFIX, OPT_KEEP_OUTPUTS, OPT_EXTERNAL_DATA };

static const struct option options[] = {
    {"connect", required_argument, NULL, OPT_CONNECT},
    {"prefix", required_argument, NULL, OPT_PREFIX},
    {"keep-outputs", no_argument, NULL, OPT_KEEP_OUTPUTS},
    {"external-data", required_argument, NULL, OPT_EXTERNAL_DATA},
    {"output", required_argument, NULL, 'o'},
    CLI_SIZE_OPTIONS,
    CLI_COMMON_OPTIONS,
    {0}};

typedef struct merging {
  cli_common common;
  surg_save_options save;
  surg_merge_options how;
  const char *out;
  cli_fixed fixed;
  cli_words given;         /* arguments of --connect */
  const char **from, **to; /* output of A, input of B; heap copies */
} merging;

static int take(void *user, int o, char *arg) {
  merging *j = user;
  switch (o) {
    case OPT_CONNECT:
      return cli_words_take(&j->given, arg);
    case OPT_PREFIX:
      j->how.prefix = arg;
      return EXIT_DONE;
    case OPT_KEEP_OUTPUTS:
      j->how.keep_outputs = true;
      return EXIT_DONE;
    case OPT_EXTERNAL_DATA:
      return cli_take_external(&j->save, arg);
    case OPT_FIX_DIM:
    case OPT_FIX_SHAPE:
      return cli_fixed_take(&j->fixed, o, arg);
    default: /* 'o' */
      if (j->out) return cli_usage("more than one output given");
      j->out = arg;
      return EXIT_DONE;
  }
}

static bool push(merging *j, const char *from, size_t n, const char *to) {
  char *a = strndup(from, n), *b = strdup(to);
  if (!a || !b) {
    free(a);
    free(b);
    return false;
  }
  j->from[j->how.n] = a;
  j->to[j->how.n++] = b;
  return true;
}

static bool is_input(const surg_model *b, const char *name) {
  const surg_graph *g = surg_model_graph(b);
  const surg_value *v = surg_graph_find_value(g, name);
  return v && surg_value_is_input(v);
}

/* Splits VALUE:INPUT. Names may contain colons, so it splits at the first colon where A has the
 * value and B the input, else at the last colon. */
static int read_connection(merging *j, const surg_model *a, const surg_model *b, const char *text) {
  const char *at = NULL, *last = strrchr(text, ':');
  for (const char *s = strchr(text, ':'); s && !at; s = strchr(s + 1, ':')) {
    char *name = strndup(text, (size_t)(s - text));
    if (!name) return cli_no_memory();
    if (surg_graph_find_value(surg_model_graph(a), name) && is_input(b, s + 1)) at = s;
    free(name);
  }
  if (!at) at = last;
  if (!at) return cli_usage("--connect expects VALUE:INPUT");
  return push(j, text, (size_t)(at - text), at + 1) ? EXIT_DONE : cli_no_memory();
}

/* Connects the outputs of A to the inputs of B of the same name. */
static int match_names(merging *j, const surg_model *a, const surg_model *b) {
  const surg_graph *g = surg_model_graph(a);
  for (size_t i = 0; i < surg_graph_output_count(g); i++) {
    const char *name = surg_value_name(surg_graph_output(g, i));
    if (is_input(b, name) && !push(j, name, strlen(name), name)) return cli_no_memory();
  }
  return j->how.n ? EXIT_DONE
                  : cli_usage(
                        "no output of the first model has the name of an input of the "
                        "second: use --connect VALUE:INPUT");
}

static int connections(merging *j, const surg_model *a, const surg_model *b) {
  const size_t n = j->given.n + surg_graph_output_count(surg_model_graph(a)) + 1;
  j->from = calloc(n, sizeof *j->from);
  j->to = calloc(n, sizeof *j->to);
  if (!j->from || !j->to) return cli_no_memory();
  j->how.from = j->from;
  j->how.to = j->to;
  if (!j->given.n) return match_names(j, a, b);
  int code = EXIT_DONE;
  for (size_t i = 0; i < j->given.n && code == EXIT_DONE; i++)
    code = read_connection(j, a, b, j->given.items[i]);
  return code;
}

static json_t *interface_json(const surg_graph *g, bool outputs) {
  const size_t n = outputs ? surg_graph_output_count(g) : surg_graph_input_count(g);
  json_t *list = json_array();
  for (size_t i = 0; i < n; i++)
    json_array_append_new(list, cli_text_json(surg_value_name(outputs ? surg_graph_output(g, i)
                                                                      : surg_graph_input(g, i))));
  return list;
}

/* Prints the connections, and the inputs and outputs of the result, as JSON. */
static void report(const merging *j, const surg_model *merged, char **args) {
  const surg_graph *g = surg_model_graph(merged);
  json_t *pairs = json_array();
  for (size_t i = 0; i < j->how.n; i++)
    json_array_append_new(pairs, json_pack("{s:o,s:o}", "value", cli_text_json(j->from[i]), "input",
                                           cli_text_json(j->to[i])));
  cli_print_json(json_pack("{s:i,s:[o,o],s:o,s:o,s:I,s:o,s:o}", "schema", 1, "in",
                           cli_text_json(args[0]), cli_text_json(args[1]), "out",
                           cli_text_json(j->out), "connected", pairs, "nodes",
                           (json_int_t)surg_graph_node_count(g), "inputs", interface_json(g, false),
                           "outputs", interface_json(g, true)));
}

static int run(merging *j, surg_context *ctx, char **args) {
  surg_model *a = NULL, *b = NULL;
  surg_status s = cli_load(ctx, &j->common, args[0], &a);
  if (s == SURG_OK) s = cli_load(ctx, &j->common, args[1], &b);
  if (s == SURG_OK) s = surg_model_require_weights(b, "merge"); /* merge rewrites B */
  if (s == SURG_OK) s = surg_model_infer(a);
  int code = s == SURG_OK ? connections(j, a, b) : cli_exit_code(s);
  if (code == EXIT_DONE) {
    s = surg_model_merge(a, b, &j->how);
    code = s == SURG_OK ? cli_fixed_apply(ctx, &a, &j->fixed) : cli_exit_code(s);
  }
  if (code == EXIT_DONE) {
    s = surg_model_verify(a);
    if (s == SURG_OK) s = surg_model_save(a, j->out, &j->save);
    code = cli_exit_code(s);
  }
  if (s != SURG_OK && !surg_context_error(ctx))
    fprintf(stderr, "onnxsurg: error: %s\n", surg_status_name(s));
  if (code == EXIT_DONE && j->common.json) report(j, a, args);
  surg_model_free(b);
  surg_model_free(a);
  return code;
}

int cmd_merge(int argc, char **argv) {
  merging j = {.save = {.size = sizeof j.save}, .how = {.size = sizeof j.how}};
  int code;
  const cli_command command = {options, "o:", help, take, &j, &j.common};
  if (cli_options(argc, argv, &command, &code)) {
    if (argc - optind != 2)
      code = cli_usage("merge expects two models: `onnxsurg merge A B -o OUT`");
    else if (!j.out || !*j.out)
      code = cli_usage("no output given: `onnxsurg merge A B -o OUT`");
    else if (j.common.json && !strcmp(j.out, "-"))
      code = cli_usage("standard output cannot be both the model and the report of --json");
    else
      code = cli_check_folder(j.out);
    surg_context *ctx = code == EXIT_DONE ? cli_context(&j.common) : NULL;
    if (code == EXIT_DONE) code = ctx ? run(&j, ctx, argv + optind) : EXIT_LIMIT;
    surg_context_free(ctx);
  }
  for (size_t i = 0; i < j.how.n; i++) {
    free((char *)(uintptr_t)j.from[i]);
    free((char *)(uintptr_t)j.to[i]);
  }
  free(j.from);
  free(j.to);
  free(j.given.items);
  cli_fixed_free(&j.fixed);
  return cli_flush(code);
}
