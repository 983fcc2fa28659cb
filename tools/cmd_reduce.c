/* SPDX-License-Identifier: Apache-2.0 */
/* `onnxsurg reduce --test CMD IN OUT`: the smallest model found on which CMD still succeeds.
 *
 * Works on the nodes of the main graph by delta debugging: a candidate is a clone from which a run
 * of nodes is cut out. What others read from the cut becomes a graph input (of the type that is
 * known for it), what only left the graph there is dropped as an output, and where no output would
 * be left, what the cut read becomes one. A candidate counts when the test says so. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/base.h"
#include "base/os.h"
#include "child.h"
#include "cli.h"
#include "pass/pass.h"

#define TEST_SECONDS 60

static const char help[] =
    "usage: onnxsurg reduce --test CMD [OPTION...] IN OUT\n"
    "Makes IN smaller as long as CMD, run with the candidate's path as last word (or\n"
    "where {} stands), exits with the code it has on IN itself. CMD runs without a\n"
    "shell, its output is not shown.\n"
    "\n"
    "  --code N            the code that counts, instead of the one on IN\n"
    "  --test-timeout S    seconds that CMD may take (60)\n"
    "  --test-memory N     memory that CMD may take\n"
    "  --timeout S         stop after S seconds, as Ctrl-C does at once: OUT is the\n"
    "                      smallest model so far\n"
    "  --json              report as JSON on standard output\n"
    "\n"
    "  onnxsurg reduce --test 'python3 crashes.py' big.onnx small.onnx\n";

typedef struct reduction {
  surg_context *ctx;
  surg_model *best;
  surg__pipeline *prune;
  const char *test; /* as it was given */
  child_command command;
  int code;
  bool has_code; /* --code was given */
  char *candidate; /* path */
  size_t tests;
  uint64_t deadline_ns; /* 0: none */
  bool quiet, stopped;
} reduction;

/* Whether the user's time is up: what is small by then is the result. */
static bool late(reduction *r) {
  if (*r->command.stop || (r->deadline_ns && surg__os_now_ns() > r->deadline_ns)) r->stopped = true;
  return r->stopped;
}

static size_t node_count(const surg_model *m) {
  return surg_graph_node_count(surg_model_graph(m));
}

/* Whether the candidate holds together and the test says what it said; takes the model. */
static bool interesting(reduction *r, surg_model *m) {
  surg__run_options options = {0};
  if (late(r) || surg_model_status(m) != SURG_OK ||
      surg__run(&m, r->prune, &options, NULL) != SURG_OK) {
    surg_model_free(m);
    return false;
  }
  surg_save_options save = {.size = sizeof save, .no_fsync = true};
  bool holds = surg_graph_output_count(surg_model_graph(m)) > 0 &&
               surg_save(m, r->candidate, &save) == SURG_OK;
  if (holds) {
    r->tests++;
    holds = child_run(&r->command, r->candidate) == r->code && !*r->command.stop;
  }
  if (!holds) {
    surg_model_free(m);
    return false;
  }
  surg_model_free(r->best);
  r->best = m;
  return true;
}

static surg_node *node_at(surg_graph *g, size_t index) {
  surg_node *n = surg_graph_first_node(g);
  while (n && index--) n = surg_node_next(n);
  return n;
}

/* Drops output entries of v; false when it had none. */
static void drop_outputs(surg_graph *g, const surg_value *v) {
  for (size_t i = surg_graph_output_count(g); i-- > 0;)
    if (surg_graph_output(g, i) == v) surg_graph_remove_output(g, i);
}

/* Makes the readers of v read a new graph input. */
static bool make_input(surg_graph *g, surg_value *v) {
  const surg_type *type = surg_value_type(v);
  if (!type) type = surg_value_declared_type(v);
  if (!type) return false;
  const char *name = surg_graph_fresh_name(g, surg_value_name(v));
  surg_value *input = name ? surg_graph_add_input(g, name, type) : NULL;
  return input && surg_value_replace(v, input) == SURG_OK;
}

/* Makes outputs of what a node reads: of all that nodes make, or else of the first there is. */
static void offer_inputs(surg_graph *g, const surg_node *n, bool made) {
  for (size_t i = 0; i < surg_node_input_count(n); i++) {
    surg_value *v = surg_node_input(n, i);
    if (!v || surg_value_is_initializer(v) || (surg_value_producer(v, NULL) != NULL) != made)
      continue;
    if (surg_value_graph(v) != g || surg_value_is_output(v)) continue;
    const surg_type *type = surg_value_type(v);
    if (!type) type = surg_value_declared_type(v);
    if (type) surg_graph_add_output(g, v, type);
    if (!made && surg_graph_output_count(g)) return;
  }
}

/* Cuts one node off its readers and erases it. What it read is offered as output if none is left.
 */
static bool cut_node(surg_graph *g, surg_node *n) {
  for (size_t i = 0; i < surg_node_output_count(n); i++) {
    surg_value *v = surg_node_output(n, i);
    if (!v) continue;
    drop_outputs(g, v);
    if (surg_value_use_count(v, 1) && !make_input(g, v)) return false;
  }
  if (!surg_graph_output_count(g)) offer_inputs(g, n, true);
  if (!surg_graph_output_count(g)) offer_inputs(g, n, false);
  return surg_node_erase(n) == SURG_OK;
}

/* Tries without nodes [from, from + count), from the last to the first. */
static bool without_nodes(reduction *r, size_t from, size_t count) {
  surg_model *m = surg_model_clone(r->best);
  if (!m || surg_model_infer(m) != SURG_OK) {
    surg_model_free(m);
    return false;
  }
  surg_graph *g = surg_model_graph(m);
  surg_node *n = node_at(g, from + count - 1);
  while (n && count--) {
    surg_node *prev = surg_node_prev(n);
    if (!cut_node(g, n)) {
      surg_model_free(m);
      return false;
    }
    n = prev;
  }
  return interesting(r, m);
}

static bool without_output(reduction *r, size_t i) {
  surg_model *m = surg_model_clone(r->best);
  if (!m) return false;
  surg_graph_remove_output(surg_model_graph(m), i);
  return interesting(r, m);
}

static void progress(const reduction *r) {
  if (!r->quiet && isatty(STDERR_FILENO))
    fprintf(stderr, "\r%zu nodes, %zu tests  ", node_count(r->best), r->tests);
}

static bool reduce_outputs(reduction *r) {
  bool any = false;
  for (size_t i = surg_graph_output_count(surg_model_graph(r->best)); i-- > 0;) {
    if (late(r) || surg_graph_output_count(surg_model_graph(r->best)) < 2) break;
    if (i < surg_graph_output_count(surg_model_graph(r->best))) any |= without_output(r, i);
    progress(r);
  }
  return any;
}

/* Chunks of halving size, from the end: what stands late goes first. */
static bool reduce_nodes(reduction *r) {
  bool any = false;
  for (size_t chunk = (node_count(r->best) + 1) / 2; chunk > 0 && !late(r); chunk /= 2) {
    for (size_t end = node_count(r->best); end > 0 && !late(r);) {
      size_t from = end > chunk ? end - chunk : 0;
      bool done = without_nodes(r, from, end - from);
      any |= done;
      /* After a success pruning may have taken more; what is before `from` is still to do. */
      end = from < node_count(r->best) ? from : node_count(r->best);
      progress(r);
    }
  }
  return any;
}

static surg_status reduce(reduction *r, const char *in, const cli_common *common) {
  surg_status s = surg_load(r->ctx, in, &common->load, &r->best);
  if (s != SURG_OK) return s;
  surg_save_options save = {.size = sizeof save, .no_fsync = true};
  s = surg_save(r->best, r->candidate, &save);
  if (s != SURG_OK) return s;
  int code = child_run(&r->command, r->candidate);
  if (*r->command.stop) {
    fprintf(stderr, "onnxsurg: error: interrupted in the first test; nothing is written\n");
    return SURG_ELIMIT;
  }
  if (code < 0) {
    fprintf(stderr, "onnxsurg: error: --test: cannot run ");
    cli_put(stderr, r->command.words[0]);
    fprintf(stderr, ": is it there, and executable?\n");
    return SURG_EUSAGE;
  }
  if (code == CHILD_LATE && !r->has_code) {
    fprintf(stderr,
            "onnxsurg: error: --test takes over %llu seconds on the whole model; "
            "give it more with --test-timeout\n",
            (unsigned long long)r->command.seconds);
    return SURG_ELIMIT;
  }
  if (r->has_code && code != r->code) {
    fprintf(stderr, "onnxsurg: error: --test exits with %d on the whole model, not %d (--code)\n",
            code, r->code);
    return SURG_EUSAGE;
  }
  r->code = code;
  size_t before = node_count(r->best);
  uint64_t ns;
  if (common->timeout_seconds && surg__mul_u64(common->timeout_seconds, 1000000000, &ns))
    r->deadline_ns = surg__os_now_ns() + ns;
  for (bool smaller = true; smaller && !late(r);) {
    smaller = reduce_outputs(r);
    if (reduce_nodes(r)) smaller = true;
  }
  if (!r->quiet && isatty(STDERR_FILENO)) fputs("\r\033[K", stderr);
  if (r->stopped && !r->quiet)
    fprintf(stderr, "onnxsurg: note: stopped; OUT is the smallest model so far\n");
  if (common->json)
    printf("{\"schema\": 1, \"before\": %zu, \"after\": %zu, \"tests\": %zu, \"code\": %d}\n",
           before, node_count(r->best), r->tests, r->code);
  if (common->summary || (!r->quiet && isatty(STDERR_FILENO)))
    fprintf(stderr, "%zu nodes -> %zu after %zu tests (exit code %d kept)\n", before,
            node_count(r->best), r->tests, r->code);
  return surg_model_status(r->best);
}

/* Candidates that do not hold are part of the work: their errors are nobody's. */
static void swallow(void *user, surg_severity severity, const char *line) {
  (void)user;
  (void)severity;
  (void)line;
}

static int run(reduction *r, const cli_common *common, char **args) {
  surg_config config = {.size = sizeof config, .diag = swallow, .max_memory = common->max_memory};
  char folder[PATH_MAX - 32], path[PATH_MAX];
  const char *temp = getenv("TMPDIR");
  snprintf(folder, sizeof folder, "%.4000s/onnxsurg-reduce-XXXXXX", temp && *temp ? temp : "/tmp");
  r->ctx = surg_context_new(&config);
  surg_registry *registry = surg_context_passes(r->ctx);
  if (registry && cli_schemas(r->ctx, common) != EXIT_DONE) {
    surg_context_free(r->ctx);
    return EXIT_USAGE;
  }
  if (!registry || !mkdtemp(folder)) {
    int e = errno;
    surg_context_free(r->ctx);
    fprintf(stderr, "onnxsurg: error: no temporary folder in $TMPDIR: %s\n", strerror(e));
    return EXIT_IO;
  }
  snprintf(path, sizeof path, "%s/candidate.onnx", folder);
  r->candidate = path;
  r->command.stop = child_stop_on_signals();
  surg_status s = surg__pipeline_parse(r->ctx, "prune{inputs}", "reduce", &r->prune);
  if (s == SURG_OK) s = reduce(r, args[0], common);
  surg_save_options save = {.size = sizeof save};
  if (s == SURG_OK) s = surg_save(r->best, args[1], &save);
  if (s != SURG_OK && surg_context_error(r->ctx))
    fprintf(stderr, "%s\n", surg_context_error(r->ctx));
  surg_model_free(r->best);
  surg__pipeline_free(r->prune);
  surg_context_free(r->ctx);
  unlink(path);
  rmdir(folder);
  return cli_flush(cli_exit_code(s));
}

enum { OPT_TEST = OPT_OWN, OPT_TEST_TIMEOUT, OPT_TEST_MEMORY, OPT_CODE };

static int take(void *user, int o, char *arg) {
  reduction *r = user;
  uint64_t n;
  switch (o) {
    case OPT_TEST: r->test = arg; return EXIT_DONE;
    case OPT_TEST_TIMEOUT:
      if (cli_number(arg, &r->command.seconds)) return EXIT_DONE;
      return cli_usage("--test-timeout takes seconds");
    case OPT_TEST_MEMORY:
      if (cli_number(arg, &r->command.memory)) return EXIT_DONE;
      return cli_usage("--test-memory takes bytes");
    default: /* OPT_CODE */
      if (!cli_number(arg, &n) || n > 255) return cli_usage("--code takes 0 to 255");
      r->has_code = true;
      r->code = (int)n;
      return EXIT_DONE;
  }
}

int cmd_reduce(int argc, char **argv) {
  static const struct option options[] = {
      {"test", required_argument, NULL, OPT_TEST},
      {"test-timeout", required_argument, NULL, OPT_TEST_TIMEOUT},
      {"test-memory", required_argument, NULL, OPT_TEST_MEMORY},
      {"code", required_argument, NULL, OPT_CODE},
      CLI_COMMON_OPTIONS,
      {0}};
  cli_common common;
  reduction r = {.command = {.seconds = TEST_SECONDS}};
  int code;
  const cli_command command = {options, NULL, help, take, &r, &common};
  if (!cli_options(argc, argv, &command, &code)) return code;
  r.quiet = common.quiet;
  if (!r.test) return cli_usage("reduce needs --test CMD");
  if (argc - optind != 2) return cli_usage("reduce takes IN and OUT");
  if (cli_check_folder(argv[optind + 1]) != EXIT_DONE) return EXIT_IO;
  if (!child_parse(r.test, &r.command))
    return cli_usage("--test: a quote is not closed, or no command");
  code = run(&r, &common, argv + optind);
  child_free(&r.command);
  return code;
}
