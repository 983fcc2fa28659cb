/* SPDX-License-Identifier: Apache-2.0 */
/* `onnxsurg verify A B`: compares the results of two models, or of two engines on one model. */
#include <stdlib.h>
#include <string.h>

#include "base/os/os.h"
#include "fleet.h"
#include "run/run_cli.h"

#define SEEDS 2

static const char help[] =
    "usage: onnxsurg verify A B [options]\n"
    "       onnxsurg verify --engine builtin --engine ort A [options]\n"
    "       onnxsurg verify FOLDER FOLDER    (models of the same path in both)\n"
    "Runs both models on the same inputs, random and adversarial (NaN, infinities,\n"
    "signed zeros), with symbolic dimensions of 2, of 3 and of mixed sizes, and\n"
    "compares the outputs by name, else by position. With two engines and one model,\n"
    "compares the engines. A or B may be a manifest of `split`: its parts run one\n"
    "after another. Exit code 0: all outputs agree; 1: one differs, or nothing could\n"
    "be compared.\n"
    "\n"
    "  --layers            if outputs differ, find the first value that differs,\n"
    "                      among those with the same name in both models\n"
    "  --log FILE          log that `onnxsurg --log` wrote when it made B from A:\n"
    "                      renamed values are compared, too\n"
    "  --fill WORD         one kind of input instead of both: random, zeros, ones,\n"
    "                      arange, adversarial\n"
    "  --runs N            seeds for each kind of input (2)\n"
    "  --seed N            the first seed (1)\n"
    "  --dim NAME=N        size of a symbolic dimension (2, then 3, then mixed)\n" CLI_SHAPE_HELP
    "  --input NAME=FILE   give an input (see `onnxsurg run --help`)\n"
    "  --inputs DIR        give inputs from a folder or .npz file\n"
    "  --rtol X, --atol X  tolerances of floats (1e-3, 1e-5)\n"
    "  --ulp N             tolerance in units in the last place\n"
    "  --ties              indices of ArgMax, ArgMin and TopK may differ if they\n"
    "                      point at equal elements\n" CLI_ENGINE_HELP CLI_BUDGET_HELP(
        "2^20") "  --json              print JSON; of folders, one line per model\n" CLI_JOBS_HELP;

typedef struct job {
  cli_common common;
  cli_run how;
  surg_compare_options o;
  surg_engine *engines[2]; /* [1] NULL: the same */
  surg_model *m[2];
  surg_manifest *parts[2];
  surg_inputs *inputs;
} job;

/* --- output --- */

static void put_verdict(const surg_compare_summary *r, const surg_compare_result *o) {
  char differs[32] = "-";
  if (o->differs) snprintf(differs, sizeof differs, "%u of %u", o->differs, r->checked);
  if (o->worst.other_shape) /* numbers would be those of no elements */
    printf("%12s %9s %9s %9s %9s  ", differs, "-", "-", "-", "-");
  else
    printf("%12s %9.3g %9.3g %9llu %9.6f  ", differs, o->worst.max_abs, o->worst.max_rel,
           (unsigned long long)o->worst.max_ulp, o->worst.cosine);
  cli_put(stdout, o->name);
  if (!o->comparable) {
    printf(": not comparable: it depends on random numbers that the other model does not draw\n");
    return;
  }
  if (!o->differs && !o->tied && o->compared && !o->informative) {
    if (!o->any)
      printf(": no elements: not compared\n");
    else if (o->number)
      printf(": equal, but every element is %.6g: not informative\n", o->first);
    else
      printf(": every element is NaN: not compared\n");
    return;
  }
  if (!o->differs && !o->tied) {
    printf(": equal\n");
    return;
  }
  printf(": %s", o->worst.why);
  if (o->worst.differing > 1)
    printf(" (and up to %llu of %llu elements)", (unsigned long long)o->worst.differing,
           (unsigned long long)o->worst.elements);
  if (o->tied && o->tied >= o->differs)
    printf("; all of them are indices of equal elements%s", o->differs ? ": see --ties" : "");
  putchar('\n');
}

static void put_layer(const surg_compare_layer *l) {
  if (!l->looked) {
    printf("first difference: not found: a model does not run if all of its values are kept\n");
    return;
  }
  if (!l->found) {
    printf("first difference: none of the %u values with the same name differs if all are kept\n",
           l->matched);
    return;
  }
  printf("first difference: value %s: %s", l->name, l->distance.why);
  printf("; max abs %.3g, max rel %.3g, max ulp %llu\n", l->distance.max_abs, l->distance.max_rel,
         (unsigned long long)l->distance.max_ulp);
  printf("  in the first:  %s\n  in the second: %s\n", l->at[0], l->at[1]);
  printf("  %u values have the same name in both, %u of them agree\n", l->matched, l->equal);
}

static void show_outputs(const job *j, const surg_compare_report *report,
                         const surg_compare_summary *r) {
  surg_compare_result o = {.size = sizeof o};
  bool head = false;
  for (size_t i = 0; surg_compare_output(report, i, &o) == SURG_OK; i++) {
    if (j->common.quiet && !o.differs) continue;
    if (!head)
      printf("%12s %9s %9s %9s %9s  output\n", "differs", "max abs", "max rel", "max ulp",
             "cosine");
    head = true;
    put_verdict(r, &o);
  }
}

static void show_text(const job *j, const surg_compare_report *report,
                      const surg_compare_summary *r) {
  surg_compare_layer layer = {.size = sizeof layer};
  if (r->checked > 0 && !*r->failure) show_outputs(j, report, r);
  /* The library escapes reasons. */
  if (*r->failure) printf("the second model: %s\n", r->failure);
  if (r->computed && (!j->common.quiet || !r->same)) {
    printf("input \"");
    cli_put(stdout, r->computed);
    printf("\" of the second model: given the value that the first computes under that name\n");
  }
  if (surg_compare_first(report, &layer) == SURG_OK) put_layer(&layer);
  if (r->checked == 0)
    printf("not checked: %s%s\n", r->skip_why,
           r->open_dims ? "; sizes of symbolic dimensions were chosen: see --dim" : "");
  else if (!r->informative && !*r->failure)
    printf("not checked: no output that can be compared has two different values%s\n",
           r->redrawn ? ", also for inputs from other ranges" : "");
  else if (!j->common.quiet) {
    printf("%u run%s compared, %u skipped", r->checked, r->checked == 1 ? "" : "s", r->skipped);
    printf("%s%s%s\n", r->skipped ? " (" : "", r->skipped ? r->skip_why : "",
           r->skipped ? ")" : "");
  }
}

static json_t *numbers_json(const surg_distance *d) {
  json_t *o = json_object();
  json_object_set_new(o, "max_abs", json_real(d->max_abs));
  json_object_set_new(o, "max_rel", json_real(d->max_rel));
  json_object_set_new(o, "max_ulp", json_integer((json_int_t)d->max_ulp));
  json_object_set_new(o, "cosine", json_real(d->cosine));
  json_object_set_new(o, "differing", json_integer((json_int_t)d->differing));
  json_object_set_new(o, "elements", json_integer((json_int_t)d->elements));
  if (*d->why) json_object_set_new(o, "first", cli_text_json(d->why));
  return o;
}

static json_t *output_json(const surg_compare_result *r) {
  json_t *j = numbers_json(&r->worst);
  json_object_set_new(j, "name", cli_text_json(r->name));
  json_object_set_new(j, "differs", json_integer(r->differs));
  json_object_set_new(j, "tied", json_integer(r->tied));
  json_object_set_new(j, "comparable", json_boolean(r->comparable));
  json_object_set_new(j, "informative", json_boolean(r->informative));
  return j;
}

static json_t *layer_json(const surg_compare_layer *r) {
  json_t *j = numbers_json(&r->distance);
  json_object_set_new(j, "value", cli_text_json(r->name));
  json_object_set_new(j, "at",
                      json_pack("[o, o]", cli_text_json(r->at[0]), cli_text_json(r->at[1])));
  json_object_set_new(j, "matched", json_integer(r->matched));
  json_object_set_new(j, "equal", json_integer(r->equal));
  return j;
}

static void show_json(const surg_compare_report *report, const surg_compare_summary *r) {
  json_t *o = json_object(), *outputs = json_array();
  surg_compare_result one = {.size = sizeof one};
  surg_compare_layer layer = {.size = sizeof layer};
  json_object_set_new(o, "schema", json_integer(1));
  json_object_set_new(o, "same", json_boolean(r->same));
  json_object_set_new(o, "checked", json_integer(r->checked));
  json_object_set_new(o, "skipped", json_integer(r->skipped));
  if (r->skipped) json_object_set_new(o, "skip_why", cli_text_json(r->skip_why));
  if (*r->failure) json_object_set_new(o, "failure", cli_text_json(r->failure));
  if (r->computed) json_object_set_new(o, "computed_input", cli_text_json(r->computed));
  for (size_t i = 0; surg_compare_output(report, i, &one) == SURG_OK; i++)
    json_array_append_new(outputs, output_json(&one));
  json_object_set_new(o, "outputs", outputs);
  if (surg_compare_first(report, &layer) == SURG_OK && layer.found)
    json_object_set_new(o, "layer", layer_json(&layer));
  cli_print_json(o);
}

/* --- the comparison --- */

static int compare(job *j) {
  surg_compare_report *report = NULL;
  surg_compare_summary sum = {.size = sizeof sum};
  j->o.engines[0] = j->engines[0];
  j->o.engines[1] = j->engines[1] ? j->engines[1] : j->engines[0];
  j->o.given = j->inputs;
  j->o.tolerance = &j->how.tolerance;
  j->o.seed = j->how.seed;
  j->o.fill = j->how.fill;
  j->o.has_fill = j->how.filled;
  j->o.sizes = j->how.dims.items;
  j->o.n_sizes = j->how.dims.n;
  surg_status s = surg_compare(j->m[0], j->m[1], &j->o, &report);
  if (s == SURG_OK) s = surg_compare_get(report, &sum);
  if (s == SURG_OK && j->common.json)
    show_json(report, &sum);
  else if (s == SURG_OK)
    show_text(j, report, &sum);
  surg_compare_free(report);
  return s != SURG_OK ? cli_exit_code(s) : sum.same ? EXIT_DONE : EXIT_MODEL;
}

static surg_status load(job *j, surg_context *ctx, const char *path, size_t i) {
  bool is;
  surg_status s = surg_manifest_detect(ctx, path, &is);
  if (s == SURG_OK && !is) return surg_model_load(ctx, path, &j->common.load, &j->m[i]);
  if (s == SURG_OK) s = surg_manifest_load(ctx, path, &j->common.load, &j->parts[i]);
  return s == SURG_OK ? surg_manifest_merge(j->parts[i], &j->m[i]) : s;
}

static int verify(job *j, const char *a, const char *b) {
  surg_context *ctx = cli_context(&j->common);
  if (!ctx) return EXIT_LIMIT;
  surg_status s = load(j, ctx, a, 0);
  if (s == SURG_OK) s = load(j, ctx, b, 1);
  int code = cli_exit_code(s);
  for (size_t i = 0; i < 2 && code == EXIT_DONE; i++)
    code = cli_fixed_apply(ctx, &j->m[i], &j->how.fixed);
  /* A single --engine applies to both sides. */
  if (code == EXIT_DONE) code = cli_engine_open(&j->how, &j->common, ctx, 0, &j->engines[0]);
  const bool chained = j->parts[0] || j->parts[1];
  if (code == EXIT_DONE && (j->how.n_engines == 2 || chained))
    code = cli_engine_open(&j->how, &j->common, ctx, j->how.n_engines == 2, &j->engines[1]);
  for (size_t i = 0; i < 2 && code == EXIT_DONE; i++)
    if (j->parts[i]) code = cli_exit_code(surg_engine_chain(j->engines[i], j->parts[i], j->m[i]));
  if (code == EXIT_DONE) code = cli_inputs_load(&j->how, j->m[0], true, &j->inputs);
  if (code == EXIT_DONE) code = compare(j);
  surg_inputs_free(j->inputs);
  surg_engine_free(j->engines[0]);
  surg_engine_free(j->engines[1]);
  surg_model_free(j->m[0]);
  surg_model_free(j->m[1]);
  surg_manifest_free(j->parts[0]);
  surg_manifest_free(j->parts[1]);
  surg_context_free(ctx);
  return code;
}

enum { OPT_RUNS = OPT_OWN, OPT_LAYERS, OPT_TIES, OPT_LOG };

static int take(void *user, int o, char *arg) {
  job *j = user;
  uint64_t n;
  switch (o) {
    case OPT_RUNS:
      if (!cli_number(arg, &n) || n < 1 || n > 1000) return cli_usage("--runs expects 1 to 1000");
      j->o.runs = (unsigned)n;
      return EXIT_DONE;
    case OPT_LAYERS:
      j->o.layers = true;
      return EXIT_DONE;
    case OPT_TIES:
      j->o.ties = true;
      return EXIT_DONE;
    case OPT_LOG:
      j->o.log = arg;
      return EXIT_DONE;
    default:
      return cli_run_option(&j->how, o, arg);
  }
}

static int check_options(job *j, int models) {
  const bool one = models == 1 && j->how.n_engines == 2;
  if (models != 2 && !one)
    return cli_usage(
        "verify expects two models, or one model and two engines: `onnxsurg verify A B`");
  if (!j->common.max_memory) j->common.max_memory = CLI_RUN_MEMORY;
  return EXIT_DONE;
}

/* --- folders --- */

/* Whether the file that a model is compared with is there; reports if not. */
static bool has_counterpart(const fleet_model *m) {
  surg__stat st;
  if (surg__os_stat(m->out, &st) == 0) return true;
  cli_text t = {0};
  cli_text_puts(&t, "no counterpart ");
  cli_text_escape(&t, m->out, 0);
  cli_error_text(m->in, &t);
  return false;
}

static int verify_one(void *user, const fleet_model *m) {
  job *j = user;
  if (!has_counterpart(m)) return EXIT_IO;
  if (!j->common.json) {
    cli_put(stdout, m->in);
    fputc('\n', stdout);
  }
  const int code = verify(j, m->in, m->out);
  j->engines[0] = j->engines[1] = NULL;
  j->m[0] = j->m[1] = NULL;
  j->parts[0] = j->parts[1] = NULL;
  j->inputs = NULL;
  return code;
}

/* Compares the models in folder a with those of the same path in folder b. */
static int verify_folders(job *j, char *a, char *b) {
  const fleet f = {.common = &j->common,
                   .good = "equal",
                   .bad = "different or not compared",
                   .work = verify_one,
                   .user = j};
  fleet_list list = {0}, back = {0};
  int code = cli_need_folder(b, NULL, false);
  if (code == EXIT_DONE) code = fleet_find(&a, 1, b, &list);
  if (code == EXIT_DONE && list.n) code = fleet_find(&b, 1, a, &back);
  for (size_t i = 0; code == EXIT_DONE && i < back.n; i++)
    if (!has_counterpart(&back.items[i])) list.code = cli_worse(list.code, EXIT_IO);
  if (code == EXIT_DONE) code = fleet_run(&f, &list);
  fleet_free(&list);
  fleet_free(&back);
  return code;
}

int cmd_verify(int argc, char **argv) {
  static const struct option options[] = {{"runs", required_argument, NULL, OPT_RUNS},
                                          {"layers", no_argument, NULL, OPT_LAYERS},
                                          {"ties", no_argument, NULL, OPT_TIES},
                                          {"log", required_argument, NULL, OPT_LOG},
                                          CLI_RUN_OPTIONS,
                                          CLI_JOBS_OPTION,
                                          CLI_COMMON_OPTIONS,
                                          {0}};
  job j = {.o = {.size = sizeof j.o, .runs = SEEDS}};
  cli_run_init(&j.how);
  j.how.engine.max_turns = CLI_CHECK_TURNS;
  int code;
  const cli_command command = {options, NULL, help, take, &j, &j.common};
  bool go = cli_options(argc, argv, &command, &code);
  if (go) code = check_options(&j, argc - optind);
  if (go && code == EXIT_DONE)
    code = argc - optind == 2 && fleet_is_folder(argv[optind])
               ? verify_folders(&j, argv[optind], argv[optind + 1])
               : verify(&j, argv[optind], argv[argc - 1]);
  cli_run_free(&j.how);
  return cli_flush(code);
}
