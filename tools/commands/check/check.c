/* SPDX-License-Identifier: Apache-2.0 */
/* `onnxsurg check IN...`: reports every finding about a model. */
#include <stdlib.h>
#include <string.h>

#include "base/os/os.h"
#include "check_target.h"
#include "findings.h"
#include "fleet.h"
#include "outlook.h"

static const char help[] =
    "usage: onnxsurg check [--strict] [--target T] [--json|--sarif] [--jobs N] IN...\n"
    "Lists the findings of models, one per line; prints nothing for a valid model.\n"
    "doc/check.md explains each code.\n"
    "  --strict            warnings count as errors\n"
    "  --target T          also check whether engine T supports the model, and\n"
    "                      suggest cures; `onnxsurg targets` lists engines\n"
    "  --targets all|A,B   table: which engines support the model as it is, and after\n"
    "                      a repair\n"
    "  --no-repair         with --target or --targets: verdicts only, no search for a\n"
    "                      repair (faster)\n" JUDGING_HELP
    "  --quiet             print errors only\n"
    "  --json              print a JSON object; of several models, one per line\n"
    "  --sarif             print SARIF 2.1.0, for code scanning\n" CLI_JOBS_HELP
    "  --opset [DOMAIN=]N  list what prevents conversion to opset N, change nothing\n"
    "                      (--allow CLASS: permit rewrites up to this class)\n"
    "  --max-findings N    findings to print per file (100); the rest is counted\n"
    "exit codes: 0 no error, 1 an error was found, 3 a file cannot be read, 4 limit;\n"
    "with --target: 0 supported, 1 unsupported, 6 support unknown\n";

#define FINDINGS 100u /* listed for each file, if --max-findings is not given */

enum {
  OPT_STRICT = OPT_OWN,
  OPT_SARIF,
  OPT_MAX_FINDINGS,
  OPT_TARGET,
  OPT_OPSET,
  OPT_ALLOW,
  OPT_TARGETS,
  OPT_NO_REPAIR
};

typedef struct checking {
  cli_common common;
  const surg_target *target; /* NULL: check against the ONNX specification only */
  judging how;
  bool strict, no_repair;
  const char *target_name, *targets;
  const char *opset; /* argument of --opset; NULL: not given */
  surg_run_options run;
  output out;
} checking;

typedef struct checked {
  report r;
  const surg_target *target;
  target_tally all;
  bool blocked;     /* --opset: the conversion is not possible */
  const char *code; /* of the last loading error, only with a target; NULL: none */
  char *where, *text;
} checked;

/* Keeps the last error of the loader, which is the reason for the verdict if no model can be
 * built from the file. */
static void keep_last(checked *file, const surg_check_finding *f) {
  if (f->severity != SURG_ERROR || !f->text) return;
  free(file->where);
  free(file->text);
  file->code = f->code;
  file->where = f->where ? strdup(f->where) : NULL;
  file->text = strdup(f->text);
}

static void found(void *user, const surg_check_finding *f) {
  checked *file = user;
  report *r = &file->r;
  if (file->target && !f->line) keep_last(file, f);
  if (!strcmp(f->code, "E135")) file->blocked = true;
  if (file->target && !f->line && !file->blocked)
    check_target_finding(r, file->target, f);
  else if (f->line && !report_lines(r))
    fprintf(stderr, "%s\n", f->line);
  else
    report_show(r, f->code, f->where, f->text, f->pass);
}

/* Reports what prevents the conversion to the opset of --opset (E135). */
static surg_status try_move(checking *c, findings *f) {
  cli_text text = {0};
  surg_status s = cli_moves(f->ctx, &text, &c->opset, 1, NULL) == EXIT_DONE ? SURG_OK : SURG_EUSAGE;
  if (s == SURG_OK && text.failed) s = SURG_ENOMEM;
  if (s == SURG_OK) s = surg_checked_try(f->file, cli_text_of(&text), "--opset", &c->run, NULL);
  cli_text_free(&text);
  return s;
}

/* Reports the findings in the loaded model. */
static surg_status examine(checking *c, findings *f, checked *file) {
  surg_status s = c->target
                      ? check_target(&file->r, c->target, c->no_repair ? NULL : c->target_name,
                                     &c->common, f, file->code, &file->all)
                      : findings_look(f);
  if (c->opset && !f->sum.partial && s == SURG_OK) s = try_move(c, f);
  return s;
}

/* The exit code of a file. With a target the verdict decides, whatever errors the checker
 * reports. */
static int code_of(const checking *c, const checked *file) {
  const report *r = &file->r;
  const bool strict = c->strict && r->counts[SURG_WARNING];
  if (!c->target) return r->counts[SURG_ERROR] || strict ? EXIT_MODEL : EXIT_DONE;
  if (strict || file->blocked) return EXIT_MODEL;
  return judging_exit(&c->how, target_verdict(&file->all));
}

/* Tries `mend`, if there is something to fix, and reports the result after the findings. */
static surg_status look_ahead(const checking *c, findings *f, checked *file) {
  report *r = &file->r;
  surg_outlook o = {.size = sizeof o};
  cli_text b = {0};
  const size_t errors = r->counts[SURG_ERROR];
  const bool wanted = c->target ? f->sum.partial && errors : errors || r->counts[SURG_WARNING];
  if (!wanted || c->out.quiet || c->out.form == FORM_SARIF || c->opset) return SURG_OK;
  surg_status s = surg_checked_outlook(f->file, &o);
  if (s != SURG_OK) return s;
  if (report_lines(r)) {
    r->mend = outlook_json(&o);
    return SURG_OK;
  }
  outlook_put(&b, &o, r->path);
  if (b.n && !b.failed) {
    cli_put(stdout, r->path);
    printf(": %.*s\n", (int)b.n, b.p);
  }
  cli_text_free(&b);
  return SURG_OK;
}

static int check_file(checking *c, const char *path) {
  checked file = {.target = c->target};
  surg_verdict unread = SURG_UNSUPPORTED;
  findings f = {.fn = found, .user = &file, .most = c->out.most};
  report_start(&file.r, &c->out, path);
  int code = findings_open(&f, &c->common, path);
  if (f.m) {
    surg_status s = examine(c, &f, &file);
    if (s == SURG_OK) s = look_ahead(c, &f, &file);
    /* A target gives a verdict even if data files are missing. */
    if (s != SURG_OK || c->target) code = cli_exit_code(s);
  }
  if (!f.m && file.code) {
    report_show(&file.r, file.code, file.where, file.text, NULL);
    unread = check_target_rest(&file.r, c->target, &c->common, &f, file.code);
    file.r.verdict = surg_verdict_name(unread);
  }
  file.r.hidden += f.sum.hidden;
  if (code <= EXIT_MODEL)
    code = f.m || !c->target ? code_of(c, &file) : judging_exit(&c->how, unread);
  report_finish(&file.r, code);
  findings_close(&f);
  free(file.where);
  free(file.text);
  return code;
}

static int take(void *user, int o, char *arg) {
  checking *c = user;
  uint64_t n;
  switch (o) {
    case OPT_STRICT:
      c->strict = true;
      return EXIT_DONE;
    case OPT_TARGET:
      c->target_name = arg;
      return EXIT_DONE;
    case OPT_TARGETS:
      c->targets = arg;
      return EXIT_DONE;
    case OPT_NO_REPAIR:
      c->no_repair = true;
      return EXIT_DONE;
    case OPT_REGISTERED:
    case OPT_ASSUME_UNKNOWN:
      return judging_take(&c->how, o, arg);
    case OPT_SARIF:
      c->out.form = FORM_SARIF;
      return EXIT_DONE;
    case OPT_MAX_FINDINGS:
      if (!cli_number(arg, &n) || n < 1 || n > UINT32_MAX)
        return cli_usage("--max-findings expects a number from 1 on, not \"%s\"", arg);
      c->out.most = (uint32_t)n;
      return EXIT_DONE;
    case OPT_OPSET:
      c->opset = arg;
      return EXIT_DONE;
    default:
      return cli_take_allow(&c->run, arg); /* OPT_ALLOW */
  }
}

static int check_one(checking *c, const char *path) {
  output_start(&c->out);
  const int code = check_file(c, path);
  output_finish(&c->out, code);
  return code;
}

static int work(void *user, const fleet_model *m) {
  return check_one(user, m->in);
}

/* Collects the results of a model for the SARIF of all. */
static void take_sarif(void *user, const fleet_model *m, int code, const char *text, size_t n) {
  checking *c = user;
  json_t *all = json_loadb(text, n, 0, NULL);
  json_t *run = json_array_get(json_object_get(all, "runs"), 0);
  (void)m, (void)code;
  json_array_extend(c->out.list, json_object_get(run, "results"));
  json_decref(all);
}

static int check_files(checking *c, char **files, int n) {
  const bool sarif = c->out.form == FORM_SARIF;
  const fleet f = {.common = &c->common,
                   .good = c->target ? "supported" : "ok",
                   .bad = c->target ? "unsupported" : "invalid",
                   .work = work,
                   .take = sarif ? take_sarif : NULL,
                   .user = c};
  fleet_list list = {0};
  if (!fleet_is_many(&c->common, files, n)) return check_one(c, files[0]);
  int code = fleet_find(files, n, NULL, &list);
  if (code == EXIT_DONE) {
    json_t *results = sarif ? json_array() : NULL;
    c->out.list = results;
    code = fleet_run(&f, &list);
    c->out.list = results;
    if (sarif) output_finish(&c->out, code);
  }
  fleet_free(&list);
  return code;
}

int cmd_check(int argc, char **argv) {
  static const struct option options[] = {
      {"strict", no_argument, NULL, OPT_STRICT},
      {"sarif", no_argument, NULL, OPT_SARIF},
      {"target", required_argument, NULL, OPT_TARGET},
      {"targets", required_argument, NULL, OPT_TARGETS},
      {"no-repair", no_argument, NULL, OPT_NO_REPAIR},
      {"max-findings", required_argument, NULL, OPT_MAX_FINDINGS},
      {"opset", required_argument, NULL, OPT_OPSET},
      {"allow", required_argument, NULL, OPT_ALLOW},
      JUDGING_OPTIONS,
      CLI_JOBS_OPTION,
      CLI_COMMON_OPTIONS,
      {0}};
  checking c = {.run = {.size = sizeof(surg_run_options)}, .out = {.most = FINDINGS}};
  int code;
  const cli_command command = {options, NULL, help, take, &c, &c.common};
  if (!cli_options(argc, argv, &command, &code)) return code;
  if (c.targets && argc == optind && surg__os_exists(c.targets))
    return cli_usage("--targets expects all or names of engines: `check --targets all IN`");
  if (optind == argc) return cli_usage("check expects a model: `onnxsurg check IN`");
  if (c.common.json && c.out.form == FORM_SARIF)
    return cli_usage("--json and --sarif exclude each other");
  if (c.common.json) c.out.form = FORM_JSON;
  c.out.quiet = c.common.quiet;
  const bool many = fleet_is_many(&c.common, argv + optind, argc - optind);
  if (c.targets && (c.target_name || c.out.form == FORM_SARIF || many))
    return cli_usage("--targets expects one model, and neither --target nor --sarif");
  if (c.no_repair && !c.target_name && !c.targets)
    return cli_usage("--no-repair expects --target T or --targets T");
  surg_context *ctx = c.target_name || c.targets ? cli_context(&c.common) : NULL;
  surg_target *t = ctx && c.target_name ? cli_target(ctx, c.target_name, &code) : NULL;
  if ((c.target_name || c.targets) && !ctx) code = EXIT_LIMIT;
  if (judging_apply(&c.how, t) != SURG_OK) code = cli_no_memory();
  c.target = t;
  if (code == EXIT_DONE)
    code = c.targets ? check_matrix(ctx, &c.common, &c.how, c.targets, !c.no_repair, argv[optind])
                     : check_files(&c, argv + optind, argc - optind);
  surg_target_free(t);
  judging_free(&c.how);
  surg_context_free(ctx);
  return cli_flush(code);
}
