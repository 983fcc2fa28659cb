/* SPDX-License-Identifier: Apache-2.0 */
/* `onnxsurg verify A B`: whether two models compute the same. */
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "run/verify.h"

static const char help[] =
    "usage: onnxsurg verify A B [options]\n"
    "Runs both models on equal inputs, random and adversarial ones (NaN, infinities,\n"
    "signed zeros), at two sizes of symbolic dims, and compares their outputs, by\n"
    "name, else by place. Exit code 0 when all agree, 1 when one differs or nothing\n"
    "could be checked.\n"
    "\n"
    "  --runs N            seeds for each kind of input (1)\n"
    "  --seed N            the first of them (1)\n"
    "  --dim NAME=N        how long a symbolic dim is (2, then 3)\n"
    "  --rtol X, --atol X  by how much floats may differ (1e-3, 1e-5)\n";

typedef struct job {
  cli_common common;
  cli_dims dims;
  surg__verify_options o;
} job;

static int show(const job *j, const surg__verify_report *r) {
  for (size_t i = 0; i < r->n_outputs && r->checked > 0; i++) {
    const surg__verify_output *o = &r->outputs[i];
    if (j->common.quiet && !o->differs) continue;
    cli_put(stdout, surg_value_name(o->value));
    if (o->worst.other_shape)
      printf(": differs: another type or shape\n");
    else if (o->differs)
      printf(": differs in %u of %u runs: up to %llu of %llu elements; max abs %.3g, max rel %.3g\n",
             o->differs, r->checked, (unsigned long long)o->worst.differing,
             (unsigned long long)o->worst.elements, o->worst.max_abs, o->worst.max_rel);
    else
      printf(": equal; max abs %.3g, max rel %.3g\n", o->worst.max_abs, o->worst.max_rel);
  }
  if (*r->failure) printf("the second model: %s\n", r->failure);
  if (r->checked == 0)
    printf("not checked: %s\n", r->skip_why);
  else if (!j->common.quiet)
    printf("%u runs checked, %u not (the first model fails on their inputs)\n", r->checked,
           r->skipped);
  return r->same ? EXIT_DONE : EXIT_MODEL;
}

static int verify(const job *j, const char *a, const char *b) {
  surg_context *ctx = cli_context(&j->common);
  surg_model *m[2] = {NULL, NULL};
  surg__verify_report report = {0};
  if (!ctx) return EXIT_LIMIT;
  surg_status s = surg_load(ctx, a, &j->common.load, &m[0]);
  if (s == SURG_OK) s = surg_load(ctx, b, &j->common.load, &m[1]);
  if (s == SURG_OK) s = surg__verify(m[0], m[1], &j->o, &report);
  const int code = s == SURG_OK ? show(j, &report) : cli_exit_code(s);
  surg__verify_free(&report);
  surg_model_free(m[0]);
  surg_model_free(m[1]);
  surg_context_free(ctx);
  return code;
}

enum { OPT_RUNS = OPT_OWN, OPT_SEED, OPT_SIZE, OPT_RTOL, OPT_ATOL };

static int take(job *j, int o, char *arg) {
  uint64_t n;
  switch (o) {
    case OPT_RUNS:
      if (!cli_number(arg, &n) || n < 1 || n > 1000) return cli_usage("--runs takes 1 to 1000");
      j->o.runs = (unsigned)n;
      return EXIT_DONE;
    case OPT_SEED:
      return cli_number(arg, &j->o.seed) ? EXIT_DONE : cli_usage("--seed takes a number");
    case OPT_SIZE: return cli_dims_take(&j->dims, arg) ? EXIT_DONE : cli_usage("--dim NAME=N");
    case OPT_RTOL:
      if (cli_real(arg, &j->o.tolerance.relative)) return EXIT_DONE;
      return cli_usage("--rtol takes a number");
    case OPT_ATOL:
      if (cli_real(arg, &j->o.tolerance.absolute)) return EXIT_DONE;
      return cli_usage("--atol takes a number");
    default: return cli_common_option(&j->common, o, arg);
  }
}

int cmd_verify(int argc, char **argv) {
  static const struct option options[] = {{"runs", required_argument, NULL, OPT_RUNS},
                                          {"seed", required_argument, NULL, OPT_SEED},
                                          {"dim", required_argument, NULL, OPT_SIZE},
                                          {"rtol", required_argument, NULL, OPT_RTOL},
                                          {"atol", required_argument, NULL, OPT_ATOL},
                                          CLI_COMMON_OPTIONS,
                                          {0}};
  job j = {.o = {.runs = 1, .seed = 1, .max_bytes = CLI_RUN_BYTES, .max_work = CLI_RUN_WORK,
                 .tolerance = {1e-3, 1e-5}}};
  cli_common_init(&j.common);
  j.o.dim_of = cli_dim_of;
  j.o.user = &j.dims;
  int code = EXIT_DONE;
  bool helped = false;
  opterr = 0;
  for (int o; code == EXIT_DONE && (o = getopt_long(argc, argv, "", options, NULL)) != -1;) {
    helped = o == OPT_HELP;
    if (helped) fputs(help, stdout);
    if (helped) break;
    code = o == '?' ? cli_bad_option(argv, options) : take(&j, o, optarg);
  }
  if (code == EXIT_DONE && !helped) {
    if (j.common.json)
      code = cli_usage("verify prints text");
    else if (argc - optind != 2)
      code = cli_usage("verify takes two models: `onnxsurg verify A B`");
    else {
      if (!j.common.max_memory) j.common.max_memory = CLI_RUN_MEMORY;
      code = verify(&j, argv[optind], argv[optind + 1]);
    }
  }
  cli_dims_free(&j.dims);
  return cli_flush(code);
}
