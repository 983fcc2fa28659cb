/* SPDX-License-Identifier: Apache-2.0 */
/* `onnxsurg repair --target T IN OUT`: finds the passes after which an engine takes the model
 * (repair.h), runs them on the model itself, and tells the pipeline, which can be run again with
 * --pass. */
#include <stdlib.h>
#include <string.h>

#include "base/context.h"
#include "check_target.h"
#include "ir/ir.h" /* for surg__locate_node alone */
#include "pass/pass.h"
#include "repair.h"

#define SHOWN 20u /* objections that are told when some remain */

static const char help[] =
    "usage: onnxsurg repair --target T [options] IN OUT\n"
    "Finds the passes after which the engine T takes the model, and runs them. Inputs\n"
    "and outputs keep their names and types. Where something remains that T refuses,\n"
    "it says what and writes nothing. See onnxsurg targets for engines,\n"
    "doc/targets.md for how to add one.\n"
    "  --target T          the engine: a name (onnxsurg targets), or a file T.target\n"
    "  --allow HOW         also rewrites that are approx, or lossy (or only exact ones),\n"
    "                      and interface: inputs and outputs may change; A,B for both\n"
    "  --partial           write what was reached, though the engine still refuses it\n"
    "  --check[=N]         prove by running both that the outputs are equal (N seeds)\n"
    "  --verify-each       check the graph after every pass\n"
    "  --no-fsync          do not wait for the disk\n"
    "  --dry-run           find and tell, write nothing\n"
    "  --quiet, --json     say nothing, or say it for programs\n"
    "exit codes: 0 the engine takes it, 1 it does not, 2 wrong usage, 3 file, 4 limit\n";

enum { OPT_TARGET = OPT_OWN, OPT_ALLOW, OPT_PARTIAL, OPT_CHECK, OPT_DRY_RUN, OPT_VERIFY, OPT_NO_FSYNC };

typedef struct repairing {
  cli_common common;
  const char *target_name, *in, *out;
  repair_consent given; /* --allow */
  bool partial, dry_run, verify_each, no_fsync;
  uint64_t check; /* seeds; 0: no proof */
  surg_context *ctx, *quiet; /* quiet: where cures are tried; their lines are not told */
  surg__target *t;
  repair search;
} repairing;

/* --- telling --- */

static void print_objection(void *user, const surg__objection *o) {
  repair_counts *all = user;
  if (o->verdict != SURG__ILLEGAL) return;
  if (all->all++ >= SHOWN) return;
  fprintf(stderr, "  %s%s%s\n", o->node ? surg__locate_node(o->node) : "model", ": ", o->text);
}

static void tell(const repairing *r, const repair_counts *before, const repair_counts *after) {
  if (r->common.json) {
    cli_print_json(json_pack("{s:i,s:s,s:s,s:I,s:I,s:I}", "schema", 1, "target", r->t->name,
                             "pipeline", r->search.pipeline.n ? r->search.pipeline.p : "", "before",
                             (json_int_t)before->all, "after", (json_int_t)after->all, "unknown",
                             (json_int_t)after->unknown));
    return;
  }
  if (r->common.quiet && !after->all) return;
  cli_put(stderr, r->in);
  if (!before->all)
    fprintf(stderr, ": %s takes it as it is\n", r->t->name);
  else
    fprintf(stderr, ": %s refused it for %zu reason%s; %s\n", r->t->name, before->all,
            before->all == 1 ? "" : "s", after->all ? "some remain" : "now it takes it");
  char with[64];
  repair_spell_consent(with, sizeof with, r->search.used);
  if (r->search.pipeline.n)
    fprintf(stderr, "  did: %s%s--pass '%s'\n", with, with[0] ? " " : "", r->search.pipeline.p);
  if (after->unknown)
    fprintf(stderr, "  not known of %zu node%s: onnxsurg check --target %s tells\n", after->unknown,
            after->unknown == 1 ? "" : "s", r->t->name);
  if (!after->all) return;
  repair_spell_consent(with, sizeof with, r->search.wanted);
  if (r->search.refused.n)
    fprintf(stderr, "  would help, and takes consent (%s): %s\n", with, r->search.refused.p);
  repair_counts shown = {0};
  fprintf(stderr, "  remain:\n");
  surg__target_model(r->t, r->search.m, print_objection, &shown);
  if (shown.all > SHOWN) fprintf(stderr, "  and %zu more\n", shown.all - SHOWN);
}

/* Runs what was found on the model as it was loaded, with the proof if it is wanted, and writes. */
static int apply(repairing *r) {
  surg_model *m = NULL;
  surg__pipeline *p = NULL;
  surg_status s = surg_load(r->ctx, r->in, &r->common.load, &m);
  if (s == SURG_OK) s = surg__pipeline_parse(r->ctx, r->search.pipeline.n ? r->search.pipeline.p : "", "repair", &p);
  const surg__run_options run_options = {
      .verify_each = r->verify_each, .has_allow = true, .allow = r->given.most};
  const surg__proof_options how = {.seeds = (unsigned)r->check,
                                   .rtol = -1,
                                   CLI_PROOF_BUDGET};
  surg__proof proof = {0};
  surg__run_report told = {0};
  if (s == SURG_OK)
    s = r->check ? surg__run_proven(&m, p, &run_options, &how, &told, &proof)
                 : surg__run(&m, p, &run_options, &told);
  surg__run_report_free(&told);
  if (s == SURG_OK && r->check && !r->common.quiet) {
    if (proof.checked)
      fprintf(stderr, "  checked on %u sets of inputs: equal\n", proof.checked);
    else
      fprintf(stderr, "  not checked: %s\n", proof.why);
  }
  surg_save_options save = {.size = sizeof save, .no_fsync = r->no_fsync};
  if (s == SURG_OK && !r->dry_run) s = surg_save(m, r->out, &save);
  surg__pipeline_free(p);
  if (m) surg_model_free(m);
  return s == SURG_OK ? EXIT_DONE : cli_exit_code(s);
}

static int run(repairing *r) {
  repair_counts before, now;
  int code = EXIT_DONE;
  r->t = cli_target(r->ctx, r->target_name, &code);
  if (!r->t) return code;
  /* Loaded twice: once where lines are told, with the pipeline that was found. */
  surg_model *m = NULL;
  surg_status s = surg_load(r->quiet, r->in, &r->common.load, &m);
  if (s != SURG_OK) {
    s = surg_load(r->ctx, r->in, &r->common.load, &m);
    if (m) surg_model_free(m);
    return cli_exit_code(s);
  }
  repair_init(&r->search, r->quiet, r->t, m, r->given);
  r->search.verify_each = r->verify_each;
  s = repair_find(&r->search, &before, &now);
  if (s != SURG_OK) return cli_exit_code(s);
  tell(r, &before, &now);
  if (!now.all || r->partial) code = apply(r);
  return code == EXIT_DONE && now.all ? EXIT_MODEL : code;
}

static void hear_nothing(void *user, surg_severity severity, const char *line) {
  (void)user, (void)severity, (void)line;
}

static int take(void *user, int o, char *arg) {
  repairing *r = user;
  switch (o) {
    case OPT_TARGET: r->target_name = arg; return EXIT_DONE;
    case OPT_PARTIAL: r->partial = true; return EXIT_DONE;
    case OPT_DRY_RUN: r->dry_run = true; return EXIT_DONE;
    case OPT_NO_FSYNC: r->no_fsync = true; return EXIT_DONE;
    case OPT_VERIFY: r->verify_each = true; return EXIT_DONE;
    case OPT_ALLOW:
      return repair_take_consent(arg, &r->given);
    default: /* OPT_CHECK */
      r->check = 1;
      if (arg && (!cli_number(arg, &r->check) || r->check < 1 || r->check > 1000))
        return cli_usage("--check takes a number from 1 to 1000, not \"%s\"", arg);
      return EXIT_DONE;
  }
}

int cmd_repair(int argc, char **argv) {
  static const struct option options[] = {{"target", required_argument, NULL, OPT_TARGET},
                                          {"allow", required_argument, NULL, OPT_ALLOW},
                                          {"partial", no_argument, NULL, OPT_PARTIAL},
                                          {"check", optional_argument, NULL, OPT_CHECK},
                                          {"dry-run", no_argument, NULL, OPT_DRY_RUN},
                                          {"no-fsync", no_argument, NULL, OPT_NO_FSYNC},
                                          {"verify-each", no_argument, NULL, OPT_VERIFY},
                                          CLI_COMMON_OPTIONS,
                                          {0}};
  repairing r = {.given = REPAIR_NO_CONSENT};
  int code;
  const cli_command command = {options, NULL, help, take, &r, &r.common};
  if (!cli_options(argc, argv, &command, &code)) return code;
  if (!r.target_name) return cli_usage("repair needs --target T: for which engine?");
  if (argc - optind != (r.dry_run ? 1 : 2) && argc - optind != 2)
    return cli_usage("repair takes a model and where to write it: `repair --target T IN OUT`");
  r.in = argv[optind];
  r.out = argv[optind + 1];
  if (!r.dry_run && cli_check_folder(r.out) != EXIT_DONE) return EXIT_IO;
  const surg_config config = {.size = sizeof config,
                              .diag = hear_nothing,
                              .max_memory = r.common.max_memory,
                              .max_depth = r.common.max_depth};
  r.ctx = cli_context(&r.common);
  r.quiet = r.ctx ? surg_context_new(&config) : NULL;
  code = EXIT_LIMIT;
  if (r.quiet && surg_context_passes(r.ctx) && surg_context_passes(r.quiet)) {
    code = run(&r);
    repair_free(&r.search);
  }
  surg__target_free(r.t);
  surg_context_free(r.quiet);
  surg_context_free(r.ctx);
  return cli_flush(code);
}
