/* SPDX-License-Identifier: Apache-2.0 */
/* `onnxsurg isolate --node N IN OUT`: writes a node as a model of its own, with test data. */
#include <errno.h>
#include <onnxsurg/isolate.h>
#include <onnxsurg/weights.h>
#include <stdlib.h>
#include <string.h>

#include "base/os/os.h"

#include "run/run_cli.h"

#define SET "test_data_set_0"

static const char help[] =
    "usage: onnxsurg isolate --node N IN OUT [options]\n"
    "Writes one node as a model, with its attributes, subgraphs, constants and called\n"
    "functions, and its input and output values when IN runs, in the folder of OUT as\n"
    "test_data_set_0/input_0.pb ... output_0.pb ...\n"
    "`onnxsurg run --inputs DIR --expect DIR OUT` runs it again.\n"
    "\n"
    "  --node N            name of the node or of one of its outputs, or position:\n"
    "                      5, graph.node[5].then_branch.node[2]\n"
    "  --turn K            the K-th run of a node in a loop or function (from 0)\n"
    "  --strip             replace weights of OUT by digests (`onnxsurg restore`)\n" CLI_INPUT_HELP
        CLI_FILL_HELP CLI_BUDGET_HELP("2^24") "  --json              report as JSON\n";

typedef struct job {
  cli_common common;
  cli_run how;
  const char *node, *out;
  uint64_t turn;
  bool strip;
  surg_context *ctx;
  surg_model *m;
  surg_engine *engine;
  surg_inputs *inputs;
  char *folder; /* folder of the test data */
  char *path;   /* buffer of `room` bytes, enough for any path in the folder */
  size_t room;
} job;

/* --- test data --- */

/* The path of a file of test data. Returns j->path, which the next call overwrites. */
static const char *file_of(const job *j, const char *stem, size_t i) {
  snprintf(j->path, j->room, "%s/%s_%zu.pb", j->folder, stem, i);
  return j->path;
}

/* Writes value i; a value that the node lacks has no file. */
static int write_value(const job *j, const surg_isolated *x, bool output, size_t i) {
  const surg_graph *g = surg_model_graph(surg_isolated_model(x));
  const char *name = surg_value_name(output ? surg_graph_output(g, i) : surg_graph_input(g, i));
  surg_array *a = NULL;
  surg_status s = surg_isolated_value(x, output, i, &a);
  if (s == SURG_OK)
    s = surg_array_save(a, file_of(j, output ? "output" : "input", i), SURG_ARRAY_PB, name);
  surg_array_free(a);
  if (s != SURG_EUNSUPPORTED) return cli_exit_code(s);
  cli_text t = {0};
  cli_text_puts(&t, "value ");
  cli_text_escape(&t, name, 0);
  cli_text_puts(&t, ": has no form as a message");
  cli_error_text(NULL, &t);
  return EXIT_MODEL;
}

static int make_folder(job *j) {
  const size_t n = strlen(j->out) + sizeof SET;
  const size_t dir = (size_t)(cli_base_name(j->out) - j->out);
  j->folder = malloc(n);
  j->room = n + 64;
  j->path = malloc(j->room);
  if (!j->folder || !j->path) return cli_no_memory();
  snprintf(j->folder, n, "%.*s" SET, (int)dir, j->out);
  const int why = surg__os_make_folder(j->folder);
  if (!why) return EXIT_DONE;
  cli_error(j->folder, "%s",
            why == EEXIST ? "is there already: give OUT a folder of its own" : strerror(why));
  return EXIT_IO;
}

static int write_data(const job *j, const surg_isolated *x, const surg_isolated_summary *r) {
  int code = EXIT_DONE;
  for (size_t i = 0; i < r->inputs && code == EXIT_DONE; i++) code = write_value(j, x, false, i);
  for (size_t i = 0; r->computed && i < r->outputs && code == EXIT_DONE; i++)
    code = write_value(j, x, true, i);
  return code;
}

/* Deletes incomplete test data, and the folder, which would make the next attempt fail. */
static void remove_data(const job *j, const surg_isolated_summary *r) {
  for (size_t i = 0; i < r->inputs; i++) surg__os_unlink(file_of(j, "input", i));
  for (size_t i = 0; i < r->outputs; i++) surg__os_unlink(file_of(j, "output", i));
  surg__os_remove_folder(j->folder);
}

/* Writes the model and the test data. On failure all test data is deleted. */
static int write_all(job *j, const surg_isolated *x, const surg_isolated_summary *r) {
  int code = r->reached ? make_folder(j) : EXIT_DONE;
  if (code != EXIT_DONE) return code;
  if (r->reached) code = write_data(j, x, r);
  if (code == EXIT_DONE) {
    /* No fsync: the files can be regenerated. */
    const surg_save_options save = {.size = sizeof save, .no_fsync = true};
    surg_model *m = surg_isolated_model(x);
    surg_status s = j->strip ? surg_weights_strip(m, 0, NULL) : SURG_OK;
    if (s == SURG_OK) s = surg_model_save(m, j->out, &save);
    code = cli_exit_code(s);
  }
  if (code != EXIT_DONE && r->reached) remove_data(j, r);
  return code;
}

/* --- */

static json_t *names_json(const surg_graph *g, bool outputs, size_t n) {
  json_t *list = json_array();
  for (size_t i = 0; i < n; i++)
    json_array_append_new(list, cli_text_json(surg_value_name(outputs ? surg_graph_output(g, i)
                                                                      : surg_graph_input(g, i))));
  return list;
}

static void tell_json(const job *j, const char *in, const surg_node *n, const surg_isolated *x,
                      const surg_isolated_summary *r) {
  const surg_graph *g = surg_model_graph(surg_isolated_model(x));
  json_t *o = json_pack("{s:i,s:o,s:o,s:o,s:o,s:o,s:o,s:o}", "schema", 1, "in", cli_text_json(in),
                        "out", cli_text_json(j->out), "node", cli_text_json(surg_node_where(n)),
                        "op", cli_text_json(surg_node_op_type(n)), "inputs",
                        names_json(g, false, r->inputs), "outputs", names_json(g, true, r->outputs),
                        "data", r->reached ? cli_text_json(j->folder) : json_null());
  json_object_set_new(o, "outputs_written", json_boolean(r->computed));
  if (!r->computed) json_object_set_new(o, "why", cli_text_json(r->why));
  cli_print_json(o);
}

static void warn(const job *j, const surg_node *n, const surg_isolated_summary *r) {
  cli_text text = {0};
  cli_text_printf(&text, "%s: %s: %s", surg_node_where(n),
                  r->reached ? "its outputs are not written" : "no data is written", r->why);
  cli_warn(&j->common, surg_model_path(j->m), cli_text_of(&text));
  cli_text_free(&text);
}

static void tell(const job *j, const char *in, const surg_node *n, const surg_isolated *x,
                 const surg_isolated_summary *r) {
  if (!r->computed) warn(j, n, r);
  if (j->common.json) {
    tell_json(j, in, n, x, r);
    return;
  }
  if (j->common.quiet) return;
  printf("%s: %zu input%s, %zu output%s", surg_node_where(n), r->inputs, r->inputs == 1 ? "" : "s",
         r->outputs, r->outputs == 1 ? "" : "s");
  if (r->reached) {
    printf("; data in ");
    cli_put(stdout, j->folder);
  }
  putchar('\n');
}

static int isolate(job *j, const char *in) {
  surg_node *n = NULL;
  surg_isolated *x = NULL;
  surg_isolated_summary sum = {.size = sizeof sum};
  surg_status s = cli_load_whole(j->ctx, &j->common, in, &j->m);
  int code = s == SURG_OK ? cli_fixed_apply(j->ctx, &j->m, &j->how.fixed) : cli_exit_code(s);
  if (code != EXIT_DONE) return code;
  s = surg_node_select(j->m, j->node, &n);
  if (s != SURG_OK) return cli_exit_code(s);
  code = cli_inputs_load(&j->how, j->m, false, &j->inputs);
  if (code == EXIT_DONE) code = cli_check_folder(j->out);
  if (code == EXIT_DONE) code = cli_engine_open(&j->how, &j->common, j->ctx, 0, &j->engine);
  if (code != EXIT_DONE) return code;
  s = surg_isolate(n, j->engine, j->inputs, j->turn, &x);
  if (s == SURG_OK) s = surg_isolated_get(x, &sum);
  code = cli_exit_code(s);
  if (code == EXIT_DONE) code = write_all(j, x, &sum);
  if (code == EXIT_DONE) tell(j, in, n, x, &sum);
  surg_isolated_free(x);
  return code;
}

enum { OPT_NODE = OPT_OWN, OPT_TURN, OPT_STRIP };

static int take(void *user, int o, char *arg) {
  job *j = user;
  switch (o) {
    case OPT_NODE:
      j->node = arg;
      return EXIT_DONE;
    case OPT_STRIP:
      j->strip = true;
      return EXIT_DONE;
    case OPT_TURN:
      return cli_number(arg, &j->turn) ? EXIT_DONE : cli_usage("--turn expects a number");
    default:
      return cli_run_option(&j->how, o, arg);
  }
}

static int check_options(job *j, int files) {
  if (files != 2 || !j->node)
    return cli_usage("isolate expects a node and two files: `onnxsurg isolate --node N IN OUT`");
  if (j->how.n_engines) return cli_usage("isolate works with the built-in engine only");
  if (strcmp(j->out, "-") == 0)
    return cli_usage("OUT must be a file: test data is written to its folder");
  if (!j->common.max_memory) j->common.max_memory = CLI_RUN_MEMORY;
  return EXIT_DONE;
}

int cmd_isolate(int argc, char **argv) {
  static const struct option options[] = {{"node", required_argument, NULL, OPT_NODE},
                                          {"turn", required_argument, NULL, OPT_TURN},
                                          {"strip", no_argument, NULL, OPT_STRIP},
                                          CLI_RUN_OPTIONS,
                                          CLI_COMMON_OPTIONS,
                                          {0}};
  job j = {0};
  cli_run_init(&j.how);
  int code;
  const cli_command command = {options, NULL, help, take, &j, &j.common};
  bool go = cli_options(argc, argv, &command, &code);
  if (go) j.out = argv[argc - 1];
  if (go) code = check_options(&j, argc - optind);
  if (go && code == EXIT_DONE) {
    j.ctx = cli_context(&j.common);
    code = j.ctx ? isolate(&j, argv[optind]) : EXIT_LIMIT;
    surg_engine_free(j.engine);
    surg_inputs_free(j.inputs);
    surg_model_free(j.m);
    surg_context_free(j.ctx);
  }
  free(j.folder);
  free(j.path);
  cli_run_free(&j.how);
  return cli_flush(code);
}
