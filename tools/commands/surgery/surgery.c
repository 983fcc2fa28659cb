/* SPDX-License-Identifier: Apache-2.0 */
/* The main form of the program: loads models, runs a pipeline, saves the results. */
#include <errno.h>
#include <onnxsurg/check.h>
#include <onnxsurg/info.h>
#include <stdlib.h>
#include <string.h>

#include "base/os/os.h"
#include "fleet.h"
#include "surgery.h"

#define DEFAULT_PIPELINE "simplify"

static uint64_t file_bytes(const char *path) {
  surg__stat st;
  return surg__os_stat(path, &st) == 0 && st.regular ? st.size : 0;
}

static void print_model(void *user, const char *pass, surg_model *m) {
  (void)user;
  cli_progress_clear();
  char *text = NULL;
  size_t n = 0;
  if (surg_model_save_text(m, false, &text, &n) != SURG_OK) return;
  printf("// after %s\n", pass);
  fwrite(text, 1, n, stdout);
  surg_context_free_bytes(surg_model_context(m), text);
}

static surg_status record(surg_model *m, const surg_pipeline *p) {
  char *text = NULL;
  surg_status s = surg_pipeline_text(p, &text);
  if (s == SURG_OK) s = surg_model_set_metadata(m, "onnxsurg.pipeline", text);
  if (s == SURG_OK) s = surg_model_set_metadata(m, "onnxsurg.version", surg_version());
  surg_context_free_bytes(surg_model_context(m), text);
  return s;
}

static void show_pass(void *user, const char *pass) {
  (void)user;
  cli_progress(pass);
}

/* Runs the pipeline. A dry run may modify the model itself, because nothing is written. */
static surg_status run_passes(const surgery *j, surg_model **m, const surg_pipeline *p,
                              outcome *o) {
  surg_run_options run = j->run;
  run.dry_run = false;
  o->original = j->common.json || surgery_tells(j) ? surg_model_clone(*m) : NULL;
  const surg_status s = surg_pipeline_run(p, m, &run, &o->report);
  o->run = (surg_run_summary){.size = sizeof o->run};
  surg_run_get(o->report, &o->run);
  o->growth = (surg_growth){.size = sizeof o->growth};
  if (s == SURG_OK && o->original)
    surg_run_growth(p, o->original, *m, &run, o->report, &o->growth);
  if (s != SURG_OK || !j->check || o->run.checked) return s;
  cli_text why = {0};
  cli_text_printf(&why, "not checked: %s",
                  *o->run.unchecked    ? o->run.unchecked
                  : *o->run.silent_why ? o->run.silent_why
                                       : "the model has nothing to compare");
  /* Not even --quiet makes a requested comparison that was not made look like one that passed. */
  cli_warn(NULL, surg_model_path(*m), cli_text_of(&why));
  cli_text_free(&why);
  return s;
}

static bool read_interface(const surg_model *m, outcome *o, int side) {
  return interface_read(m, false, &o->inputs[side]) && interface_read(m, true, &o->outputs[side]);
}

#define UNDONE_SHOWN 50u

/* Reports requested changes that were not made; true if there are any. */
static bool tell_undone(surg_context *ctx, const outcome *o) {
  const surg_run_summary *r = &o->run;
  for (size_t i = 0; i < r->undone && i < UNDONE_SHOWN; i++) {
    char *text = NULL;
    const surg_status s = surg_run_undone(o->report, i, &text);
    cli_error(o->in, "not done: %s", s == SURG_OK ? text : "?");
    surg_context_free_bytes(ctx, text);
  }
  if (r->all_undone > UNDONE_SHOWN && r->undone > UNDONE_SHOWN) {
    cli_error(o->in, "not done: %llu more (--json lists them)",
              (unsigned long long)(r->all_undone - UNDONE_SHOWN));
  }
  return r->all_undone > 0;
}

/* Says that the result has errors. The model may have had them as warnings: what folding makes
 * constant is checked more closely. */
static void tell_errors(const surgery *j, surg_model *m, const outcome *o) {
  surg_check_counts found = {.size = sizeof found};
  if (j->common.quiet || surg_check(m, 1, NULL, NULL, &found) != SURG_OK || !found.errors) return;
  cli_text text = {0};
  cli_text_printf(&text, "has %zu error%s (onnxsurg check lists %s, onnxsurg mend cures many)",
                  found.errors, found.errors == 1 ? "" : "s", found.errors == 1 ? "it" : "them");
  cli_warn(&j->common, o->out ? o->out : o->in, cli_text_of(&text));
  cli_text_free(&text);
}

/* Processes one model. `out` NULL: write nothing. *undone: a requested change was not made;
 * *changed: another change was. */
static surg_status operate(const surgery *j, surg_context *ctx, const surg_pipeline *p,
                           const char *in, const char *out, bool *undone, bool *changed) {
  const bool summarized = j->common.json || surgery_tells(j);
  outcome o = {.in = in, .out = out, .check = j->check, .bytes_before = file_bytes(in)};
  surg_model *m = NULL;
  if (!j->common.quiet) cli_progress_start("loading");
  surg_status s = cli_load_any(ctx, &j->common, in, &m);
  if (s == SURG_OK && summarized && !cli_stats_of(m, &o.before)) s = SURG_ENOMEM;
  if (s == SURG_OK && j->check) s = surg_model_require_valid(m);
  if (s == SURG_OK && j->check) s = surg_model_require_weights(m, "--check");
  if (s == SURG_OK && !read_interface(m, &o, 0)) s = SURG_ENOMEM;
  if (s == SURG_OK) s = run_passes(j, &m, p, &o);
  if (s == SURG_OK) surg_model_note_weights(m);
  cli_progress("saving");
  if (s == SURG_OK && j->record) s = record(m, p);
  if (s == SURG_OK && summarized && !cli_stats_of(m, &o.after)) s = SURG_ENOMEM;
  if (s == SURG_OK && !read_interface(m, &o, 1)) s = SURG_ENOMEM;
  if (s == SURG_OK && out && !j->run.dry_run) s = surg_model_save(m, out, &j->save);
  if (s == SURG_OK && j->run.certificate_path)
    s = surg_certificate_seal(ctx, j->run.certificate_path, out);
  cli_progress_stop();
  if (s == SURG_OK) {
    if (out && !j->run.dry_run) o.bytes_after = file_bytes(out);
    surgery_report(j, ctx, &o);
    tell_errors(j, m, &o);
    *undone = tell_undone(ctx, &o);
    *changed = o.run.changed;
  }
  if (s != SURG_OK && !surg_context_error(ctx)) {
    cli_error(in, "%s", surg_status_name(s));
  }
  for (int side = 0; side < 2; side++) {
    interface_free(&o.inputs[side]);
    interface_free(&o.outputs[side]);
  }
  cli_stats_free(&o.before);
  cli_stats_free(&o.after);
  surg_run_report_free(o.report);
  surg_model_free(o.original);
  surg_model_free(m);
  return s;
}

/* What all models of a command share. */
typedef struct operation {
  const surgery *j;
  surg_context *ctx;
  const surg_pipeline *p;
} operation;

/* Processes one model. Returns an exit code, or FLEET_UNCHANGED. */
static int operate_one(void *user, const fleet_model *m) {
  const operation *x = user;
  bool undone = false, changed = false;
  surg_context_clear_error(x->ctx);
  const surg_status s = operate(x->j, x->ctx, x->p, m->in, m->out, &undone, &changed);
  if (s != SURG_OK) return cli_exit_code(s);
  return undone ? EXIT_MODEL : changed ? EXIT_DONE : FLEET_UNCHANGED;
}

/* Gives each model its output, unless it has one in --out-dir. */
static int set_outputs(const surgery *j, const char *out, fleet_list *list) {
  for (size_t i = 0; i < list->n && !j->out_dir; i++) {
    const char *to = j->in_place ? list->items[i].in : out;
    if (to && !(list->items[i].out = strdup(to))) return cli_no_memory();
  }
  return fleet_distinct(list);
}

/* Processes the models that the arguments name. `out`: the output of a single one, or NULL. */
static int operate_all(operation *x, char **in, int n, const char *out) {
  const surgery *j = x->j;
  const fleet f = {.common = &j->common,
                   .good = "changed",
                   .bad = "invalid or not done",
                   .writes = j->out_dir && !j->run.dry_run,
                   .work = operate_one,
                   .user = x};
  fleet_list list;
  int code = fleet_find(in, n, j->out_dir, &list);
  if (code == EXIT_DONE) code = set_outputs(j, out, &list);
  if (code == EXIT_DONE && j->out_dir && list.n && !j->run.dry_run)
    code = cli_need_folder(j->out_dir, "--out-dir", true);
  if (code == EXIT_DONE)
    code = fleet_is_many(&j->common, in, n) ? fleet_run(&f, &list) : operate_one(x, &list.items[0]);
  fleet_free(&list);
  return code == FLEET_UNCHANGED ? EXIT_DONE : code;
}

/* Checks the arguments of -i and --out-dir, which write each IN to an OUT of its own. */
static int arrange_many(const surgery *j, char **args, int n) {
  for (int i = 0; i < n; i++) {
    if (strcmp(args[i], "-") != 0) continue;
    return cli_usage(j->in_place ? "standard input cannot be written in place"
                                 : "standard input has no name for --out-dir");
  }
  if ((j->run.log_path || j->run.map_path) && fleet_is_many(&j->common, args, n))
    return cli_usage("--log and --map describe one model: `onnxsurg IN OUT`");
  return EXIT_DONE;
}

/* Reads an output that is a folder as --out-dir: after -o, and the last argument if the model
 * before it is a folder. Returns the number of arguments that are models. */
static int take_folder(surgery *j, char **args, int n) {
  if (j->in_place || j->out_dir) return n;
  if (j->outputs.n == 1 && fleet_is_folder(j->outputs.items[0])) {
    j->out_dir = j->outputs.items[0];
    j->outputs.n = 0;
  } else if (!j->outputs.n && n == 2 && fleet_is_folder(args[0])) {
    j->out_dir = args[--n];
  }
  return n;
}

/* Several inputs for one output: one of them may be an option without its dashes. */
static int too_many(char **args, int n) {
  surg__stat st;
  for (int i = 0; i < n; i++) {
    if (!strchr(args[i], '=') || surg__os_stat(args[i], &st) == 0) continue;
    char *shown = cli_escaped(args[i], CLI_NAME_PRINT);
    const int code =
        shown ? cli_usage("there is no file %s; options start with --", shown) : cli_no_memory();
    free(shown);
    return code;
  }
  return cli_usage("several models need -i or --out-dir");
}

/* Determines the inputs and the output, or reports why the arguments are invalid. */
static int arrange(surgery *j, char **args, int n, int *inputs, const char **out) {
  n = take_folder(j, args, n);
  bool many = j->in_place || j->out_dir;
  *out = j->outputs.n ? j->outputs.items[0] : NULL;
  *inputs = n;
  if (j->in_place && j->out_dir) return cli_usage("-i and --out-dir exclude each other");
  if (j->outputs.n > 1 || (j->outputs.n && many)) return cli_usage("more than one output given");
  if (n == 0) return cli_usage("no model given: `onnxsurg IN OUT`");
  for (int i = 0; i < n; i++)
    if (!*args[i]) return cli_usage("an empty file name");
  if (many) return arrange_many(j, args, n);
  if (!*out && n == 2) {
    *inputs = 1;
    *out = args[1];
  }
  if (j->run.dry_run) return EXIT_DONE;
  if (fleet_is_folder(args[0])) return cli_usage("a folder of models needs -i or --out-dir");
  if (!*out && n == 1) {
    cli_text t = {0};
    cli_text_puts(&t, "no output given: `onnxsurg IN OUT`, or -i to change ");
    cli_text_escape(&t, args[0], 0);
    cli_text_puts(&t, " itself");
    cli_error_text(NULL, &t);
    return EXIT_USAGE;
  }
  if (*inputs > 1) return too_many(args, n);
  if (!**out) return cli_usage("an empty file name");
  if (strcmp(*out, "-") == 0 && (j->common.json || j->print_after.n))
    return cli_stdout_twice(j->common.json ? "--json" : "--print-after");
  return cli_check_folder(*out);
}

static int prepare(surgery *j, surg_context *ctx, surg_pipeline **p) {
  surg_status s = surg_context_passes(ctx) ? SURG_OK : SURG_ENOMEM;
  for (size_t i = 0; s == SURG_OK && i < j->rules.n; i++) {
    const int code = cli_rules_load(ctx, j->rules.items[i]);
    if (code != EXIT_DONE) return code;
  }
  if (s == SURG_OK) s = surg_pipeline_parse(ctx, j->pipeline, j->pipeline_where, p);
  if (s == SURG_OK) s = surg_pipeline_skip(*p, "--skip-pass", j->skip.items, j->skip.n);
  if (s != SURG_OK && !surg_context_error(ctx)) return cli_no_memory();
  return cli_exit_code(s);
}

static int print_pipeline(surg_context *ctx, const surg_pipeline *p) {
  char *text = NULL;
  puts(surg_pipeline_text(p, &text) == SURG_OK ? text : "");
  surg_context_free_bytes(ctx, text);
  return cli_flush(EXIT_DONE);
}

/* Makes the text the pipeline, unless code reports a failure; frees the text. */
static int set_pipeline(surgery *j, cli_text *b, int code) {
  char *text = code == EXIT_DONE ? cli_text_give(b) : NULL;
  if (code == EXIT_DONE && !text) code = cli_no_memory();
  cli_text_free(b);
  if (!text) return code;
  free(j->pipeline_text);
  j->pipeline = j->pipeline_text = text;
  return EXIT_DONE;
}

/* Appends the passes of `--opset` and `--ir` to the pipeline. */
static int add_moves(surgery *j, surg_context *ctx) {
  if (!j->opsets.n && !j->ir) return EXIT_DONE;
  cli_text b = {0};
  cli_text_puts(&b, j->pipeline ? j->pipeline : j->rules.n ? "rewrite" : "");
  int code = cli_moves(ctx, &b, j->opsets.items, j->opsets.n, j->ir);
  code = set_pipeline(j, &b, code);
  if (code == EXIT_DONE && !j->pipeline_where) j->pipeline_where = "--opset";
  return code;
}

/* Prepends the pass that fixes sizes, so that all other passes use the fixed sizes. */
static int add_sizes(surgery *j, surg_context *ctx) {
  cli_text b = {0};
  int code = cli_sizes(ctx, &b, &j->dims, &j->shapes);
  if (code == EXIT_DONE && !b.n && !b.failed) return code;
  if (*j->pipeline) cli_text_printf(&b, ",%s", j->pipeline);
  return set_pipeline(j, &b, code);
}

/* Collects the --dim arguments that do not fix a size; they are assumptions of the run. */
static int take_assumptions(surgery *j) {
  int code = EXIT_DONE;
  for (size_t i = 0; i < j->dims.n && code == EXIT_DONE; i++)
    if (!cli_is_size(j->dims.items[i])) code = cli_words_take(&j->assumed, j->dims.items[i]);
  j->run.dims = j->assumed.items;
  j->run.n_dims = j->assumed.n;
  return code;
}

static int run_job(surgery *j, char **args, int n) {
  int inputs = 0;
  const char *out = NULL;
  int code = j->print_pipeline ? EXIT_DONE : arrange(j, args, n, &inputs, &out);
  if (code != EXIT_DONE) return code;
  j->run.keep = j->keep.items;
  j->run.n_keep = j->keep.n;
  code = take_assumptions(j);
  if (code != EXIT_DONE) return code;
  const bool one = !j->in_place && !j->run.dry_run && !fleet_is_many(&j->common, args, inputs);
  code = cli_check_certificate(j->run.certificate_path, one, n ? args[0] : "", out);
  if (code != EXIT_DONE) return code;
  j->run.ranges = j->ranges.items;
  j->run.n_ranges = j->ranges.n;
  j->run.print_after = j->print_after.items;
  j->run.n_print_after = j->print_after.n;
  j->run.print = print_model;
  j->run.progress = show_pass;
  if (j->check) j->run.check = j->seeds;
  /* Live values count against the memory limit of a run. */
  if (j->check && !j->common.max_memory) j->common.max_memory = CLI_RUN_MEMORY;
  j->run.timeout_ms = j->common.timeout_seconds * 1000;
  j->run.max_memory = j->common.max_memory;
  surg_context *ctx = cli_context(&j->common);
  if (!ctx) return EXIT_LIMIT;
  surg_pipeline *p = NULL;
  code = add_moves(j, ctx);
  if (!j->pipeline) {
    j->pipeline = j->rules.n ? "rewrite" : DEFAULT_PIPELINE;
    j->pipeline_where = "preset";
  }
  if (code == EXIT_DONE) code = add_sizes(j, ctx);
  if (code == EXIT_DONE) code = prepare(j, ctx, &p);
  operation x = {j, ctx, p};
  if (code == EXIT_DONE && j->print_pipeline)
    code = print_pipeline(ctx, p);
  else if (code == EXIT_DONE)
    code = operate_all(&x, args, inputs, out);
  surg_pipeline_free(p);
  surg_context_free(ctx);
  return cli_flush(code);
}

static int run_form(int argc, char **argv, pass_form *form) {
  surgery j = {.form = form,
               .save = {.size = sizeof(surg_save_options)},
               .run = {.size = sizeof(surg_run_options)},
               .seeds = 1};
  int code;
  const bool run = surgery_options(&j, &argc, argv, &code);
  if (form) j.common.pass = form->pass;
  if (run) code = run_job(&j, argv + optind, argc - optind);
  surgery_free(&j);
  return code;
}

int cmd_surgery(int argc, char **argv) {
  return run_form(argc, argv, NULL);
}

int cmd_pass(int argc, char **argv) {
  pass_form form;
  cli_command_named(argv[0]);
  int code = pass_form_open(&form, argc, argv, surgery_table);
  if (code != EXIT_DONE) return code;
  code = run_form(argc, argv, &form);
  pass_form_close(&form);
  return code;
}
