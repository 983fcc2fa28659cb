/* SPDX-License-Identifier: Apache-2.0 */
/* `onnxsurg run MODEL`: runs a model on given or generated inputs. */
#include <stdlib.h>
#include <string.h>

#include "run_job.h"

#define MOST_RUNS 1000000

static const char help[] =
    "usage: onnxsurg run MODEL [options]\n"
    "Runs a model with the built-in evaluator and prints its outputs. MODEL may be a\n"
    "manifest of `split`: its parts run one after another.\n"
    "\n" CLI_INPUT_HELP CLI_FILL_HELP
    "  --expect DIR        compare with output_0.pb ...; exit code 1 if one differs\n"
    "  --rtol X, --atol X  tolerances of floats (1e-3, 1e-7)\n"
    "  --ulp N             tolerance in units in the last place\n"
    "  --all               print every value of the main graph, not only outputs\n"
    "  --out DIR           write outputs as NAME.npy\n"
    "  --format npy|pb     ... or as protobuf messages (TensorProto ...)\n"
    "  --repeat N          run N times and print median and 90th percentile\n"
    "  --warmup N          ... after N uncounted runs (1)\n"
    "  --per-node          ... for each node, too (built-in engine)\n" CLI_ENGINE_HELP
        CLI_BUDGET_HELP("2^24") "  --json              print JSON\n";

/* --- the run --- */

static int compute(run_job *j) {
  surg_status s = surg_session_new(j->engine, j->m, &j->session);
  if (s != SURG_OK) return cli_exit_code(s);
  s = surg_session_run(j->session, j->inputs, j->result, j->n_out);
  if (s == SURG_OK) return EXIT_DONE;
  const bool hint = surg_inputs_made(j->inputs) && s == SURG_EINVALID;
  if (surg_context_error(j->ctx)) return cli_exit_code(s);
  return cli_run_failed(j->m, j->session, s,
                        hint ? "; inputs were generated: see --input and --dim" : NULL);
}

static surg_status load(run_job *j, const char *path) {
  surg_status s = cli_load_parts(j->ctx, &j->common, path, &j->parts, &j->m);
  if (s != SURG_OK) return s;
  if (j->parts && (j->all || j->per_node)) {
    cli_usage("--all and --per-node need one model: `onnxsurg merge MANIFEST -o OUT`");
    return SURG_EUSAGE;
  }
  if (cli_fixed_apply(j->ctx, &j->m, &j->how.fixed) != EXIT_DONE) return SURG_EUSAGE;
  j->own_out = surg_graph_output_count(surg_model_graph(j->m));
  if (j->all) {
    surg_model *all = NULL;
    s = surg_model_all_outputs(j->m, &all);
    surg_model_free(j->m);
    j->m = all;
    if (s != SURG_OK) return s;
  }
  j->g = surg_model_graph(j->m);
  j->n_out = surg_graph_output_count(j->g);
  return SURG_OK;
}

static void finish(run_job *j) {
  surg_session_free(j->session);
  surg_engine_free(j->engine);
  run_free_times(j);
  surg_inputs_free(j->inputs);
  for (size_t i = 0; j->result && i < j->n_out; i++) surg_array_free(j->result[i]);
  free(j->result);
  surg_model_free(j->m);
  surg_manifest_free(j->parts);
}

static int run(run_job *j, const char *path) {
  const surg_status s = load(j, path);
  int code = s == SURG_OK ? EXIT_DONE : cli_exit_code(s);
  /* Check the folder first: the run may be long. */
  if (code == EXIT_DONE && j->out) code = cli_need_folder(j->out, "--out", true);
  if (code == EXIT_DONE && j->out) code = run_check_files(j);
  if (code == EXIT_DONE && j->expect)
    code = cli_exit_code(surg_data_folder(j->m, j->expect, "output", j->own_out));
  if (code == EXIT_DONE) {
    j->result = calloc(j->n_out + 1, sizeof *j->result);
    if (!j->result) code = cli_no_memory();
  }
  if (code == EXIT_DONE) code = cli_inputs_load(&j->how, j->m, false, &j->inputs);
  if (code == EXIT_DONE) code = cli_engine_open(&j->how, &j->common, j->ctx, 0, &j->engine);
  if (code == EXIT_DONE && j->parts)
    code = cli_exit_code(surg_engine_chain(j->engine, j->parts, j->m));
  if (code == EXIT_DONE) code = compute(j);
  if (code == EXIT_DONE && j->common.json)
    j->json = json_pack("{s:i, s:o, s:s}", "schema", 1, "model", cli_text_json(path), "engine",
                        surg_engine_name(j->engine));
  if (code == EXIT_DONE && j->repeat) code = run_time(j);
  if (code == EXIT_DONE && j->out) code = run_write(j);
  if (code == EXIT_DONE && !j->out && !j->expect && (!j->repeat || j->json)) run_print(j);
  if (code == EXIT_DONE && j->expect) code = run_compare(j);
  if (j->total.n && code != EXIT_LIMIT) run_print_times(j);
  if (j->json) cli_print_json(j->json);
  finish(j);
  return code;
}

enum { OPT_EXPECT = OPT_OWN, OPT_OUT, OPT_FORMAT, OPT_ALL, OPT_REPEAT, OPT_WARMUP, OPT_PER_NODE };

static int take_runs(const char *option, const char *arg, uint64_t least, uint64_t *out) {
  if (cli_number(arg, out) && *out >= least && *out <= MOST_RUNS) return EXIT_DONE;
  return cli_usage("--%s expects %llu to %d", option, (unsigned long long)least, MOST_RUNS);
}

static int take(void *user, int o, char *arg) {
  run_job *j = user;
  switch (o) {
    case OPT_EXPECT:
      j->expect = arg;
      return EXIT_DONE;
    case OPT_OUT:
      j->out = arg;
      return EXIT_DONE;
    case OPT_ALL:
      j->all = true;
      return EXIT_DONE;
    case OPT_PER_NODE:
      j->per_node = true;
      return EXIT_DONE;
    case OPT_REPEAT:
      return take_runs("repeat", arg, 1, &j->repeat);
    case OPT_WARMUP:
      j->warmed = true;
      return take_runs("warmup", arg, 0, &j->warmup);
    case OPT_FORMAT:
      j->format = arg;
      if (strcmp(arg, "npy") == 0 || strcmp(arg, "pb") == 0) return EXIT_DONE;
      return cli_usage("--format expects npy or pb");
    default:
      return cli_run_option(&j->how, o, arg);
  }
}

static int check_options(run_job *j, int models) {
  if (models != 1) return cli_usage("run expects one model: `onnxsurg run MODEL`");
  if (j->how.n_engines > 1)
    return cli_usage("run expects one engine; `onnxsurg verify` compares two");
  if (j->per_node && j->how.n_engines && strcmp(j->how.engines[0], "builtin") != 0)
    return cli_usage("--per-node works with the built-in engine only");
  if (j->format && !j->out) return cli_usage("--format is for files: it needs --out DIR");
  if (j->warmed && !j->repeat) return cli_usage("--warmup needs --repeat N");
  if (j->per_node && !j->repeat) j->repeat = 1;
  if (!j->common.max_memory) j->common.max_memory = CLI_RUN_MEMORY;
  return EXIT_DONE;
}

int cmd_run(int argc, char **argv) {
  static const struct option options[] = {{"expect", required_argument, NULL, OPT_EXPECT},
                                          {"out", required_argument, NULL, OPT_OUT},
                                          {"format", required_argument, NULL, OPT_FORMAT},
                                          {"all", no_argument, NULL, OPT_ALL},
                                          {"repeat", required_argument, NULL, OPT_REPEAT},
                                          {"warmup", required_argument, NULL, OPT_WARMUP},
                                          {"per-node", no_argument, NULL, OPT_PER_NODE},
                                          CLI_RUN_OPTIONS,
                                          CLI_COMMON_OPTIONS,
                                          {0}};
  run_job j = {.warmup = 1};
  cli_run_init(&j.how);
  j.how.tolerance.absolute = 1e-7;
  int code;
  const cli_command command = {options, NULL, help, take, &j, &j.common};
  bool go = cli_options(argc, argv, &command, &code);
  if (go) code = check_options(&j, argc - optind);
  if (go && code == EXIT_DONE) {
    j.ctx = cli_context(&j.common);
    code = j.ctx ? run(&j, argv[optind]) : EXIT_LIMIT;
    surg_context_free(j.ctx);
  }
  cli_run_free(&j.how);
  return cli_flush(code);
}
