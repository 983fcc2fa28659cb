/* SPDX-License-Identifier: Apache-2.0 */
/* `onnxsurg merge A B -o OUT`: merges models, or the parts of a manifest, into one. */
#include <onnxsurg/info.h>
#include <onnxsurg/split.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "joined.h"

static const char help[] =
    "usage: onnxsurg merge [OPTION]... A B... -o OUT\n"
    "       onnxsurg merge [OPTION]... MANIFEST -o OUT\n"
    "Joins models: outputs of A replace inputs of B. Without --connect, those of the\n"
    "same name are connected. A third model is joined with the result, and so on.\n"
    "From a manifest of `split`, makes the model that was split.\n"
    "\n"
    "  --connect VALUE:INPUT   a value of A and the input of B it replaces\n"
    "                          (repeatable)\n"
    "  --side-by-side          connect nothing but what --connect lists; an input or\n"
    "                          output of B whose name is in use gets the name of the\n"
    "                          file of B as a prefix\n"
    "  --prefix TEXT           prefix for all names of B\n"
    "  --keep-outputs          connected outputs of A remain outputs\n"
    "  --dim NAME=N            fix a dimension of the inputs of the result; NAME is\n"
    "                          a symbol or input.axis\n"
    "  --input-shape NAME:SIZE,...\n"
    "                          fix the shape of an input of the result; ? leaves a\n"
    "                          dimension as it is\n"
    "  --external-data NAME    write large weights to file NAME in the folder of OUT\n"
    "  --no-fsync              do not wait until the disk has the data\n"
    "  -o, --output OUT        the output file\n"
    "  --json                  print connections, inputs and outputs as JSON\n";

enum {
  OPT_CONNECT = OPT_OWN,
  OPT_PREFIX,
  OPT_KEEP_OUTPUTS,
  OPT_EXTERNAL_DATA,
  OPT_SIDE,
  OPT_NO_FSYNC
};

static const struct option options[] = {
    {"connect", required_argument, NULL, OPT_CONNECT},
    {"prefix", required_argument, NULL, OPT_PREFIX},
    {"keep-outputs", no_argument, NULL, OPT_KEEP_OUTPUTS},
    {"side-by-side", no_argument, NULL, OPT_SIDE},
    {"external-data", required_argument, NULL, OPT_EXTERNAL_DATA},
    {"no-fsync", no_argument, NULL, OPT_NO_FSYNC},
    {"output", required_argument, NULL, 'o'},
    CLI_SIZE_OPTIONS,
    CLI_COMMON_OPTIONS,
    {0}};

typedef struct merging {
  cli_common common;
  surg_save_options save;
  surg_merge_options how;
  const char *out;
  bool side, several; /* several: more than two models */
  bool *seen;         /* for each of `given`: it is of a pair of models */
  bool valid;         /* the models, before they are joined */
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
    case OPT_SIDE:
      j->side = true;
      return EXIT_DONE;
    case OPT_NO_FSYNC:
      j->save.no_fsync = true;
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

static void drop_connections(merging *j, size_t keep) {
  while (j->how.n > keep) {
    free((char *)(uintptr_t)j->from[--j->how.n]);
    free((char *)(uintptr_t)j->to[j->how.n]);
  }
}

/* Whether a connection of several models is one of this pair: A has the value, B the input. */
static bool is_for(const surg_model *a, const surg_model *b, const char *text) {
  for (const char *s = strchr(text, ':'); s; s = strchr(s + 1, ':')) {
    char *name = strndup(text, (size_t)(s - text));
    const bool found =
        name && surg_graph_find_value(surg_model_graph(a), name) && is_input(b, s + 1);
    free(name);
    if (found) return true;
  }
  return false;
}

/* The connections of a pair of models. */
static int connections(merging *j, const surg_model *a, const surg_model *b) {
  const size_t n = j->given.n + surg_graph_output_count(surg_model_graph(a)) + 1;
  drop_connections(j, 0);
  free(j->from);
  free(j->to);
  j->from = calloc(n, sizeof *j->from);
  j->to = calloc(n, sizeof *j->to);
  if (!j->from || !j->to) return cli_no_memory();
  j->how.from = j->from;
  j->how.to = j->to;
  if (!j->given.n) return j->side ? EXIT_DONE : match_names(j, a, b);
  int code = EXIT_DONE;
  for (size_t i = 0; i < j->given.n && code == EXIT_DONE; i++) {
    if (j->several && !is_for(a, b, j->given.items[i])) continue;
    j->seen[i] = true;
    code = read_connection(j, a, b, j->given.items[i]);
  }
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
static void report(const merging *j, const surg_model *merged, char **args, size_t n) {
  const surg_graph *g = surg_model_graph(merged);
  json_t *pairs = json_array(), *in = json_array();
  for (size_t i = 0; i < n; i++) json_array_append_new(in, cli_text_json(args[i]));
  for (size_t i = 0; i < j->how.n; i++)
    json_array_append_new(pairs, json_pack("{s:o,s:o}", "value", cli_text_json(j->from[i]), "input",
                                           cli_text_json(j->to[i])));
  cli_print_json(json_pack("{s:i,s:o,s:o,s:o,s:I,s:o,s:o}", "schema", 1, "in", in, "out",
                           cli_text_json(j->out), "connected", pairs, "nodes",
                           (json_int_t)surg_graph_node_count(g), "inputs", interface_json(g, false),
                           "outputs", interface_json(g, true)));
}

/* --- side by side --- */

static bool is_connected(const merging *j, const char *input) {
  for (size_t i = 0; i < j->how.n; i++)
    if (strcmp(j->to[i], input) == 0) return true;
  return false;
}

/* Renames an input or output of b to "file/NAME" if a has a value of its name. */
static surg_status set_apart(const merging *j, const surg_model *a, surg_value *v,
                             const char *path) {
  const char *name = surg_value_name(v), *base = cli_base_name(path), *dot = strrchr(base, '.');
  cli_text text = {0};
  if (!surg_graph_find_value(surg_model_graph(a), name)) return SURG_OK;
  if (surg_value_is_input(v) && is_connected(j, name)) return SURG_OK;
  cli_text_put(&text, base, dot && dot != base ? (size_t)(dot - base) : strlen(base));
  cli_text_putc(&text, '/');
  cli_text_puts(&text, name);
  surg_status s = text.failed ? SURG_ENOMEM : SURG_OK;
  surg_graph *g = surg_value_graph(v);
  const char *fresh = cli_text_of(&text);
  if (s == SURG_OK &&
      (surg_graph_find_value(surg_model_graph(a), fresh) || !surg_value_can_rename(v, fresh)))
    fresh = surg_graph_fresh_name(g, fresh); /* two files of one name */
  if (s == SURG_OK) s = fresh ? surg_value_rename(v, fresh) : SURG_ENOMEM;
  cli_text_free(&text);
  return s;
}

static surg_status set_all_apart(const merging *j, const surg_model *a, surg_model *b,
                                 const char *path) {
  surg_graph *g = surg_model_graph(b);
  surg_status s = SURG_OK;
  for (size_t i = 0; s == SURG_OK && i < surg_graph_input_count(g); i++)
    s = set_apart(j, a, surg_graph_input(g, i), path);
  for (size_t i = 0; s == SURG_OK && i < surg_graph_output_count(g); i++)
    s = set_apart(j, a, surg_graph_output(g, i), path);
  return s;
}

/* --- the command --- */

/* Merges the model of a file into a. */
static int merge_next(merging *j, surg_context *ctx, surg_model *a, const char *path,
                      surg_status *status) {
  surg_model *b = NULL;
  surg_status s = cli_load(ctx, &j->common, path, &b);
  if (s == SURG_OK) s = surg_model_require_weights(b, "merge"); /* merge rewrites B */
  if (s == SURG_OK) s = joined_look(b, &j->valid);
  if (s == SURG_OK) s = surg_model_infer(a);
  int code = s == SURG_OK ? connections(j, a, b) : cli_exit_code(s);
  if (code == EXIT_DONE && j->side) {
    s = set_all_apart(j, a, b, path);
    code = cli_exit_code(s);
  }
  if (code == EXIT_DONE) {
    s = surg_model_merge(a, b, &j->how);
    code = cli_exit_code(s);
  }
  surg_model_free(b);
  *status = s;
  return code;
}

static int run(merging *j, surg_context *ctx, char **args, size_t n) {
  surg_model *a = NULL;
  surg_manifest *parts = NULL;
  surg_status s;
  if (n == 1) {
    s = surg_manifest_load(ctx, args[0], &j->common.load, &parts);
    if (s == SURG_OK) s = surg_manifest_merge(parts, &a);
  } else {
    s = cli_load(ctx, &j->common, args[0], &a);
    if (s == SURG_OK) s = joined_look(a, &j->valid);
  }
  int code = cli_exit_code(s);
  j->several = n > 2;
  j->seen = calloc(j->given.n + 1, sizeof *j->seen);
  if (!j->seen) code = cli_no_memory();
  for (size_t i = 1; i < n && code == EXIT_DONE; i++) code = merge_next(j, ctx, a, args[i], &s);
  for (size_t i = 0; i < j->given.n && code == EXIT_DONE; i++)
    if (!j->seen[i])
      code = cli_usage("--connect %s: no two of the models have these", j->given.items[i]);
  if (code == EXIT_DONE) code = cli_fixed_apply(ctx, &a, &j->fixed);
  if (code == EXIT_DONE && n > 1) code = joined_check(a, args[1], j->valid);
  if (code == EXIT_DONE) {
    s = surg_model_verify(a);
    if (s == SURG_OK) s = surg_model_save(a, j->out, &j->save);
    code = cli_exit_code(s);
  }
  if (s != SURG_OK && !surg_context_error(ctx)) cli_error(NULL, "%s", surg_status_name(s));
  if (code == EXIT_DONE && j->common.json) report(j, a, args, n);
  surg_model_free(a);
  surg_manifest_free(parts);
  return code;
}

int cmd_merge(int argc, char **argv) {
  merging j = {.valid = true, .save = {.size = sizeof j.save}, .how = {.size = sizeof j.how}};
  int code;
  const cli_command command = {options, "o:", help, take, &j, &j.common};
  if (cli_options(argc, argv, &command, &code)) {
    const int n = argc - optind;
    if (n == 0)
      code = cli_usage("merge expects two models or a manifest: `onnxsurg merge A B -o OUT`");
    else if (n == 1 && (j.given.n || j.how.prefix || j.how.keep_outputs || j.side))
      code = cli_usage("a manifest states the connections: options of them need models");
    else if (!j.out || !*j.out)
      code = cli_usage("no output given: `onnxsurg merge A B -o OUT`");
    else if (j.common.json && !strcmp(j.out, "-"))
      code = cli_stdout_twice("--json");
    else
      code = cli_check_folder(j.out);
    surg_context *ctx = code == EXIT_DONE ? cli_context(&j.common) : NULL;
    if (code == EXIT_DONE)
      code = ctx ? run(&j, ctx, argv + optind, (size_t)(argc - optind)) : EXIT_LIMIT;
    surg_context_free(ctx);
  }
  drop_connections(&j, 0);
  free(j.from);
  free(j.to);
  free(j.given.items);
  free(j.seen);
  cli_fixed_free(&j.fixed);
  return cli_flush(code);
}
