/* SPDX-License-Identifier: Apache-2.0 */
/* `onnxsurg probe --import CMD -o T.target`: learns what an engine takes by asking its importer. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/context.h"
#include "base/os.h"
#include "check_target.h"
#include "probe.h"
#include "run_cli.h"
#include "verdict.h"

static const char help[] =
    "usage: onnxsurg probe --import CMD [options] -o NAME.target\n"
    "Learns what an engine takes: gives models of one node each to its importer, for\n"
    "every version, element type and form of every operator, and writes a target of\n"
    "the answers, for check --target and repair --target. CMD runs without a shell.\n"
    "  --import CMD        a command whose exit code 0 means that the model is taken;\n"
    "                      {} stands for the file. With {...} it gets many files at\n"
    "                      once and prints for each a line FILE<TAB>ok or\n"
    "                      FILE<TAB>MESSAGE. Or: ort, opencv (those that python3 has)\n"
    "  -o FILE             where to write the target; the file's name is the target's\n"
    "  --log FILE          every question and its answer, a line each\n"
    "  --inherit T         a built-in target: what it says right is left out\n"
    "  --ops A+B           ask about these operators alone\n"
    "  --title TEXT        what the engine is called\n"
    "  --import-timeout S  seconds for one run of CMD (60); longer is a refusal\n"
    "  --import-memory N   memory of one run of CMD, such as 4GiB\n"
    "  --timeout S         stop asking after that time, and write what was learned\n"
    "  --quiet             no counts at the end\n"
    "exit codes: 0 done, 2 wrong usage, 3 file, 4 limit\n"
    "next: onnxsurg check --target ./NAME.target IN\n";

static bool late(const probe *p) {
  return surg__child_cancelled(&p->im->child) ||
         (p->deadline_ns && surg__os_now_ns() > p->deadline_ns);
}

/* Makes the model of a case where the importer finds it. False: there is no such model. */
static bool place(probe *p, probe_case *c, const char *path) {
  surg_model *m = c->impossible ? NULL : probe_model(p, c);
  const surg_save_options save = {.size = sizeof save, .no_fsync = true};
  p->failure = p->ctx->alloc_status;
  if (!m) return false;
  if (p->inherit && c->schema)
    c->forecast = surg__target_node(p->inherit, probe_node(m), NULL, NULL);
  const surg_status s = surg_save(m, path, &save);
  surg_model_free(m);
  p->models += s == SURG_OK;
  if (s == SURG_EIO || s == SURG_ENOMEM) p->failure = s;
  return s == SURG_OK;
}

/* A line of the log: operator and version, question, answer. */
static void note(const probe *p, const probe_case *c) {
  static const char *const words[] = {
      [PROBE_OPSET] = "opset",     [PROBE_IR] = "IR",          [PROBE_DYNAMIC] = "open sizes",
      [PROBE_FUNCTION] = "function", [PROBE_ORDER] = "order",  [PROBE_BASE] = "form",
      [PROBE_TYPE] = "type",       [PROBE_TYPES] = "types",    [PROBE_INPUT] = "input",
      [PROBE_GIVEN] = "given",     [PROBE_VALUE] = "attribute", [PROBE_SET] = "attribute",
      [PROBE_LEFT] = "left out",   [PROBE_RANK] = "rank",      [PROBE_FED] = "constants alone",
      [PROBE_OPEN] = "open sizes"};
  if (!p->log || !c->asked) return;
  fprintf(p->log, "%s\t%d\t%s\t%s\t", c->schema ? c->schema->name : "-",
          c->schema ? c->schema->since : 0, words[c->what], c->name ? c->name : "");
  if (c->value)
    fprintf(p->log, "%s\t", c->value);
  else
    fprintf(p->log, "%lld\t", (long long)(c->what == PROBE_BASE ? (int64_t)c->form : c->number));
  fprintf(p->log, "%s\t%s\n", c->schema ? surg__probe_models[c->line] : "",
          c->taken ? "ok" : c->why);
}

static bool ask_batch(probe *p, probe_case **batch, surg__importer_case *ask, size_t n) {
  const bool good = surg__importer_ask(p->im, ask, n) == SURG_OK;
  for (size_t i = 0; i < n; i++) {
    batch[i]->asked = ask[i].asked;
    batch[i]->taken = ask[i].taken;
    batch[i]->why = ask[i].why;
    unlink(ask[i].file);
    note(p, batch[i]);
  }
  return good;
}

/* Asks all cases that were added since the last round. */
static bool ask(probe *p) {
  static char doing[40];
  static char paths[SURG__IMPORTER_BATCH][64 + 4096];
  probe_case *batch[SURG__IMPORTER_BATCH];
  surg__importer_case files[SURG__IMPORTER_BATCH] = {{0}};
  size_t n = 0;
  bool good = true;
  for (; p->asked < p->cases.count && good && !late(p); p->asked++) {
    probe_case *c = &p->cases.items[p->asked];
    snprintf(paths[n], sizeof paths[n], "%s/%06zu.onnx", p->im->folder, p->asked);
    if (place(p, c, paths[n])) {
      batch[n] = c;
      files[n] = (surg__importer_case){.file = paths[n]};
      n++;
    }
    if (p->failure) break;
    if (n < SURG__IMPORTER_BATCH) continue;
    good = ask_batch(p, batch, files, n);
    n = 0;
    snprintf(doing, sizeof doing, "asked of %zu of %zu", p->asked, p->cases.count);
    cli_progress(doing);
  }
  if (n) good = good && ask_batch(p, batch, files, n);
  return good && !p->failure;
}

/* The first form of each version that was taken. */
static void choose_bases(probe *p) {
  const surg_schema *last = NULL;
  for (size_t i = 0; i < p->cases.count; i++) {
    probe_case *c = &p->cases.items[i];
    if (c->what != PROBE_BASE || !c->taken || c->schema == last) continue;
    bool first = true;
    for (size_t k = i; k-- && first;)
      first = !(p->cases.items[k].base && p->cases.items[k].schema == c->schema);
    last = c->schema;
    if (!first) continue;
    c->base = true;
  }
}

static bool all_rounds(probe *p) {
  p->ir_low = p->ir_high = 0;
  static const int64_t first_guess[] = {4, 8, 10, 3};
  /* The IR version that the opsets are asked with has to be found by trying. */
  for (size_t i = 0; i < SURG_COUNT(first_guess) && !p->opsets.count; i++) {
    p->ir_low = p->ir_high = first_guess[i];
    if (!probe_add_engine(p) || !ask(p)) return false;
    probe_learn_windows(p);
  }
  p->ir_low = p->ir_high = 0;
  if (!probe_add_ir(p) || !ask(p)) return false;
  probe_learn_windows(p);
  if (!p->opsets.count || !p->ir_high) return true;
  if (!probe_add_rest(p) || !probe_add_bases(p) || !ask(p)) return false;
  choose_bases(p);
  return probe_add_forms(p) && ask(p);
}

static void print_counts(const probe *p) {
  size_t asked = 0, taken = 0, known = 0, right = 0;
  for (size_t i = 0; i < p->cases.count; i++) {
    const probe_case *c = &p->cases.items[i];
    asked += c->asked;
    taken += c->taken;
    if (!c->asked || !c->schema || c->forecast == SURG__UNKNOWN) continue;
    known++;
    right += c->taken == (c->forecast == SURG__LEGAL);
  }
  fprintf(stderr, "%zu models: %zu taken, %zu refused\n", asked, taken, asked - taken);
  if (p->inherit)
    fprintf(stderr, "%s says something of %zu of them, and is right about %zu\n", p->inherit->name,
            known, right);
  if (p->asked < p->cases.count)
    fprintf(stderr, "onnxsurg: note: stopped; %zu more were not asked\n",
            p->cases.count - p->asked);
}

/* The name a target has by its file. */
static void name_of(const char *path, char *out, size_t size) {
  snprintf(out, size, "%s", cli_base_name(path));
  const size_t n = strlen(out);
  if (n > 7 && !strcmp(out + n - 7, ".target")) out[n - 7] = 0;
}

static int write_target(const probe *p, const char *path, const char *title) {
  char name[256];
  name_of(path, name, sizeof name);
  json_t *t = probe_learn(p, name);
  if (title) json_object_set_new(t, "title", json_string(title));
  surg__buf text;
  surg__buf_init(&text, p->ctx);
  probe_put(&text, t);
  json_decref(t);
  const int code = text.failed ? cli_no_memory() : cli_write_file(path, &text);
  surg__buf_free(&text);
  return code;
}

static int run(probe *p, const char *out, const char *title) {
  cli_progress_start("asking");
  const bool good = all_rounds(p);
  cli_progress_stop();
  if (!p->failure) p->failure = p->ctx->alloc_status;
  if (p->failure) return cli_exit_code(quiet_tell(p->ctx, p->failure));
  if (!good) return EXIT_USAGE;
  if (!p->opsets.count) {
    fprintf(stderr, "onnxsurg: error: the importer takes no model, not even of one Relu");
    if (p->cases.count && p->cases.items[0].why) {
      fputs(": ", stderr);
      cli_put(stderr, p->cases.items[0].why);
    }
    fputs("\n", stderr);
    return EXIT_USAGE;
  }
  if (!p->quiet) print_counts(p);
  return write_target(p, out, title);
}

static void free_probe(probe *p) {
  for (size_t i = 0; i < p->cases.count; i++) free(p->cases.items[i].why);
  surg__vec_free(p->ctx, &p->cases);
  surg__vec_free(p->ctx, &p->opsets);
  surg__target_free(p->inherit);
  surg_importer_free(p->im);
  surg_context_free(p->ctx);
}

enum {
  OPT_IMPORT = OPT_OWN,
  OPT_INHERIT,
  OPT_TITLE,
  OPT_LOG,
  OPT_OPS,
  OPT_ASK_TIMEOUT,
  OPT_ASK_MEMORY
};

typedef struct job {
  probe p;
  surg_command_options limits;
  const char *command, *inherit, *out, *title, *log;
} job;

static int take(void *user, int o, char *arg) {
  job *j = user;
  switch (o) {
    case 'o': j->out = arg; return EXIT_DONE;
    case OPT_IMPORT: j->command = arg; return EXIT_DONE;
    case OPT_INHERIT: j->inherit = arg; return EXIT_DONE;
    case OPT_TITLE: j->title = arg; return EXIT_DONE;
    case OPT_LOG: j->log = arg; return EXIT_DONE;
    case OPT_OPS: j->p.only = arg; return EXIT_DONE;
    case OPT_ASK_TIMEOUT:
      if (cli_number(arg, &j->limits.seconds)) return EXIT_DONE;
      return cli_usage("--import-timeout takes seconds");
    default: /* OPT_ASK_MEMORY */
      if (cli_number(arg, &j->limits.memory)) return EXIT_DONE;
      return cli_usage("--import-memory takes bytes");
  }
}

static void arrange(probe *p, const cli_common *common) {
  uint64_t ns;
  cli_stop_on_signals();
  if (common->timeout_seconds && surg__mul_u64(common->timeout_seconds, 1000000000, &ns))
    p->deadline_ns = surg__os_now_ns() + ns;
}

static int open_all(job *j, surg_context *told) {
  int code = EXIT_DONE;
  if (j->inherit) j->p.inherit = cli_target(told, j->inherit, &code);
  if (code == EXIT_DONE && j->log && !(j->p.log = fopen(j->log, "w"))) {
    fprintf(stderr, "onnxsurg: error: --log: %s\n", strerror(errno));
    code = EXIT_IO;
  }
  j->limits.cancel = cli_interrupted;
  if (code != EXIT_DONE) return code;
  return cli_exit_code(surg_importer_new(told, j->command, &j->limits, &j->p.im));
}

int cmd_probe(int argc, char **argv) {
  static const struct option options[] = {
      {"import", required_argument, NULL, OPT_IMPORT},
      {"inherit", required_argument, NULL, OPT_INHERIT},
      {"title", required_argument, NULL, OPT_TITLE},
      {"log", required_argument, NULL, OPT_LOG},
      {"ops", required_argument, NULL, OPT_OPS},
      {"import-timeout", required_argument, NULL, OPT_ASK_TIMEOUT},
      {"import-memory", required_argument, NULL, OPT_ASK_MEMORY},
      CLI_COMMON_OPTIONS,
      {0}};
  cli_common common;
  job j = {.limits.size = sizeof j.limits};
  int code;
  const cli_command command = {options, "o:", help, take, &j, &common};
  if (!cli_options(argc, argv, &command, &code)) return code;
  if (!j.command || !j.out || argc != optind)
    return cli_usage("probe takes --import CMD and -o NAME.target");
  if (cli_check_folder(j.out) != EXIT_DONE) return EXIT_IO;
  surg_context *told = cli_context(&common);
  j.p.ctx = told ? quiet_context(&common) : NULL;
  j.p.quiet = common.quiet;
  arrange(&j.p, &common);
  code = j.p.ctx ? open_all(&j, told) : EXIT_LIMIT;
  if (code == EXIT_DONE) code = run(&j.p, j.out, j.title);
  if (j.p.log && fclose(j.p.log) && code == EXIT_DONE) code = EXIT_IO;
  if (j.p.ctx) free_probe(&j.p);
  surg_context_free(told);
  return cli_flush(code);
}
