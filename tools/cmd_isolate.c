/* SPDX-License-Identifier: Apache-2.0 */
/* `onnxsurg isolate --node N IN OUT`: writes a node as a model of its own, with test data. */
#include <errno.h>
#include <onnxsurg/names.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/diag.h"
#include "run/isolate.h"
#include "run_cli.h"

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
    CLI_INPUT_HELP
    CLI_FILL_HELP
    CLI_BUDGET_HELP("2^24")
    "  --json              report as JSON\n";

typedef struct job {
  cli_common common;
  cli_run how;
  const char *node, *out;
  uint64_t turn;
  surg_context *ctx;
  surg_model *m;
  cli_values values;
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

static int write_value(const job *j, const char *stem, size_t i, const char *name,
                       const surg__array *a) {
  surg__buf b;
  surg__buf_init(&b, j->ctx);
  const surg_status s = surg__value_message(a, name, &b);
  int code = EXIT_DONE;
  if (s == SURG_OK) {
    code = cli_write_file(file_of(j, stem, i), &b);
  } else if (s == SURG_EUNSUPPORTED) {
    fprintf(stderr, "onnxsurg: error: value ");
    cli_put(stderr, name);
    fprintf(stderr, ": has no form as a message\n");
    code = EXIT_MODEL;
  } else {
    code = cli_no_memory();
  }
  surg__buf_free(&b);
  return code;
}

static int make_folder(job *j) {
  const size_t n = strlen(j->out) + sizeof SET;
  const size_t dir = (size_t)(cli_base_name(j->out) - j->out);
  j->folder = malloc(n);
  j->room = n + 64;
  j->path = malloc(j->room);
  if (!j->folder || !j->path) return cli_no_memory();
  snprintf(j->folder, n, "%.*s" SET, (int)dir, j->out);
  if (mkdir(j->folder, 0777) == 0) return EXIT_DONE;
  const int why = errno;
  cli_put(stderr, j->folder);
  fprintf(stderr, ": error: %s\n",
          why == EEXIST ? "is there already: give OUT a folder of its own" : strerror(why));
  return EXIT_IO;
}

static int write_data(const job *j, const surg__isolated *x) {
  const surg_graph *g = surg_model_graph(x->model);
  int code = EXIT_DONE;
  for (size_t i = 0; i < x->n_in && code == EXIT_DONE; i++)
    code = write_value(j, "input", i, surg_value_name(surg_graph_input(g, i)), &x->in[i]);
  for (size_t i = 0; x->computed && i < x->n_out && code == EXIT_DONE; i++)
    code = write_value(j, "output", i, surg_value_name(surg_graph_output(g, i)), &x->out[i]);
  return code;
}

/* Deletes incomplete test data, and the folder, which would make the next attempt fail. */
static void remove_data(const job *j, const surg__isolated *x) {
  for (size_t i = 0; i < x->n_in; i++) unlink(file_of(j, "input", i));
  for (size_t i = 0; i < x->n_out; i++) unlink(file_of(j, "output", i));
  rmdir(j->folder);
}

/* Writes the model and the test data. On failure all test data is deleted. */
static int write_all(job *j, const surg__isolated *x) {
  int code = x->reached ? make_folder(j) : EXIT_DONE;
  if (code != EXIT_DONE) return code;
  if (x->reached) code = write_data(j, x);
  if (code == EXIT_DONE) {
    /* No fsync: the files can be regenerated. */
    const surg_save_options save = {.size = sizeof save, .no_fsync = true};
    const surg_status s = surg_model_save(x->model, j->out, &save);
    code = s == SURG_OK ? EXIT_DONE : cli_exit_code(s);
  }
  if (code != EXIT_DONE && x->reached) remove_data(j, x);
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

static void tell_json(const job *j, const char *in, const surg_node *n, const surg__isolated *x) {
  const surg_graph *g = surg_model_graph(x->model);
  json_t *o = json_pack("{s:i,s:o,s:o,s:o,s:o,s:o,s:o,s:o}", "schema", 1, "in", cli_text_json(in),
                        "out", cli_text_json(j->out), "node", cli_text_json(surg_node_where(n)),
                        "op", cli_text_json(surg_node_op_type(n)), "inputs",
                        names_json(g, false, x->n_in), "outputs", names_json(g, true, x->n_out),
                        "data", x->reached ? cli_text_json(j->folder) : json_null());
  json_object_set_new(o, "outputs_written", json_boolean(x->computed));
  if (!x->computed) json_object_set_new(o, "why", cli_text_json(x->why));
  cli_print_json(o);
}

static void tell(const job *j, const char *in, const surg_node *n, const surg__isolated *x) {
  if (!x->computed)
    surg__warn(j->ctx, surg_model_path(j->m), "%s: %s: %s", surg_node_where(n),
               x->reached ? "its outputs are not written" : "no data is written", x->why);
  if (j->common.json) {
    tell_json(j, in, n, x);
    return;
  }
  if (j->common.quiet) return;
  printf("%s: %zu input%s, %zu output%s", surg_node_where(n), x->n_in, x->n_in == 1 ? "" : "s",
         x->n_out, x->n_out == 1 ? "" : "s");
  if (x->reached) {
    printf("; data in ");
    cli_put(stdout, j->folder);
  }
  putchar('\n');
}

static int isolate(job *j, const char *in) {
  surg_node *n = NULL;
  surg__engine engine;
  surg__isolated x = {0};
  surg_status s = surg_model_load(j->ctx, in, &j->common.load, &j->m);
  if (s == SURG_OK) s = surg__find_node(j->m, j->node, &n);
  if (s != SURG_OK) return cli_exit_code(s);
  int code = cli_values_load(&j->how, j->m, false, &j->values);
  if (code == EXIT_DONE) code = cli_check_folder(j->out);
  if (code == EXIT_DONE) code = cli_engine_open(&j->how, &j->common, j->ctx, 0, &engine);
  if (code != EXIT_DONE) return code;
  surg__maker maker = cli_maker(&j->how);
  s = surg__isolate(n, &engine, &maker, j->turn, j->values.given, j->values.in, &x);
  code = s == SURG_OK ? EXIT_DONE : cli_exit_code(s);
  if (code == EXIT_DONE) code = write_all(j, &x);
  if (code == EXIT_DONE) tell(j, in, n, &x);
  surg__isolated_free(j->ctx, &x);
  return code;
}

enum { OPT_NODE = OPT_OWN, OPT_TURN };

static int take(void *user, int o, char *arg) {
  job *j = user;
  switch (o) {
    case OPT_NODE: j->node = arg; return EXIT_DONE;
    case OPT_TURN:
      return cli_number(arg, &j->turn) ? EXIT_DONE : cli_usage("--turn expects a number");
    default: return cli_run_option(&j->how, o, arg);
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
    cli_values_free(&j.values);
    surg_model_free(j.m);
    surg_context_free(j.ctx);
  }
  free(j.folder);
  free(j.path);
  cli_run_free(&j.how);
  return cli_flush(code);
}
