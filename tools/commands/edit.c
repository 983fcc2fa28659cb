/* SPDX-License-Identifier: Apache-2.0 */
/* `onnxsurg edit SCRIPT IN OUT`: runs the steps of a text file, all or none. */
#include <onnxsurg/check.h>
#include <onnxsurg/edit.h>
#include <stdlib.h>
#include <string.h>

#include "line_diff.h"
#include "pass_form.h"

static const char help[] =
    "usage: onnxsurg edit [OPTION]... SCRIPT IN OUT\n"
    "Runs the steps of a text file on a model and writes the result, if all of them\n"
    "succeed. A step is a line: a pass with its options as on the command line\n"
    "(`insert --after x --text 'y = Div (x, 255.0)'`), or a pipeline (`simplify`,\n"
    "`fold,prune`). # starts a comment, a \\ at the end continues the line. Each step\n"
    "sees the result of those before it. Edits that follow each other must leave a\n"
    "valid model together.\n"
    "\n"
    "  --dry-run      write nothing; print what would change, without weights\n"
    "  --allow CLASS  permit rewrites up to this class in all steps (doc/rules.md)\n"
    "  --external-data NAME\n"
    "                 write large weights to file NAME in the folder of OUT\n"
    "  --no-fsync     do not wait until the disk has the data\n"
    "exit codes: 0 done, 1 a step failed, 2 usage error, 3 file error, 4 limit\n";

#define SCRIPT_BYTES (4u << 20) /* largest script */
#define SCRIPT_STEPS 10000u     /* most steps */
#define STEP_WORDS 1000u        /* most words of a step */
#define DIFF_ELEMENTS 8u        /* of a tensor that --dry-run prints */

enum { OPT_DRY_RUN = OPT_OWN, OPT_ALLOW, OPT_EXTERNAL_DATA, OPT_NO_FSYNC };

typedef struct step {
  size_t line;
  char *text; /* as written, for messages */
  surg_pipeline *pipeline;
  const surg_pass *pass; /* of `PASS --option value`; NULL: a pipeline */
} step;

typedef struct editing {
  cli_common common;
  bool dry_run;
  surg_run_options run;
  surg_save_options save;
  const char *script;
  surg_context *ctx;
  step *steps;
  size_t n;
  surg_exactness worst;
  surg_check_base *base; /* the errors of the model before the steps that edit */
  const step *first;     /* after which the model is invalid; NULL: it is valid */
  cli_text invalid;      /* its first error then */
} editing;

static int take(void *user, int o, char *arg) {
  editing *e = user;
  if (o == OPT_DRY_RUN) e->dry_run = true;
  if (o == OPT_NO_FSYNC) e->save.no_fsync = true;
  if (o == OPT_EXTERNAL_DATA) return cli_take_external(&e->save, arg);
  return o == OPT_ALLOW ? cli_take_allow(&e->run, arg) : EXIT_DONE;
}

/* ---- reading --------------------------------------------------------------------------------- */

/* Prints an error about a line of the script and frees it. */
static void tell(const editing *e, size_t line, cli_text *text) {
  cli_text place = {0};
  cli_text_printf(&place, "%s:%zu", e->script, line);
  cli_error_text(cli_text_of(&place), text);
  cli_text_free(&place);
}

static int refuse(const editing *e, size_t line, const char *text) {
  cli_text t = {0};
  cli_text_puts(&t, text);
  tell(e, line, &t);
  return EXIT_USAGE;
}

/* Appends one word of a step, without its quotes, to `out`; returns its end. NULL: a quote is not
 * closed. */
static const char *read_word(const char *s, char **out) {
  char quote = 0;
  for (; *s && (quote || (*s != ' ' && *s != '\t')); s++) {
    if (!quote && (*s == '\'' || *s == '"'))
      quote = *s;
    else if (quote == *s)
      quote = 0;
    else if (*s == '\\' && quote != '\'' && s[1] && (!quote || s[1] == '"' || s[1] == '\\'))
      *(*out)++ = *++s;
    else
      *(*out)++ = *s;
  }
  *(*out)++ = 0;
  return quote ? NULL : s;
}

/* Splits a step into words in `room`, which has twice the bytes of the text. Returns their number,
 * or 0 after an error. */
static int split(const editing *e, const step *s, char *room, char **words) {
  int n = 0;
  const char *p = s->text;
  for (;;) {
    p += strspn(p, " \t");
    if (!*p) return n;
    if (n + 1 == STEP_WORDS) return refuse(e, s->line, "too many words"), 0;
    words[n++] = room;
    p = read_word(p, &room);
    if (!p) return refuse(e, s->line, "a quote is not closed"), 0;
  }
}

static int take_of_pass(void *form, int option, char *arg) {
  if (option < OPT_OF_PASS) return cli_usage("only options of the pass are allowed in a step");
  return pass_form_take(form, option, arg);
}

/* The pipeline of `PASS --option value`; *text NULL: the step is a pipeline itself. */
static int form_text(const editing *e, const step *s, char **words, int n, char **text) {
  static const struct option none[] = {{0}};
  pass_form form;
  cli_common common;
  *text = NULL;
  int code = pass_form_open(&form, n, words, none);
  if (code != EXIT_DONE) return code == -1 ? EXIT_DONE : code;
  cli_command_named(words[0]);
  code = pass_form_pairs(&form, &n, words);
  const cli_command command = {form.options, NULL, NULL, take_of_pass, &form, &common};
  optind = 0; /* a new list of words */
  if (code != EXIT_DONE || !cli_options(n, words, &command, &code)) {
    refuse(e, s->line, "the options of this step are wrong");
  } else if (optind != n) {
    code = refuse(e, s->line, "a step contains a pass and its options, but no files");
  } else if (!(*text = pass_form_pipeline(&form, NULL))) {
    code = cli_no_memory();
  }
  pass_form_close(&form);
  cli_command_named("edit");
  return code;
}

/* Parses a step into its pipeline. */
static int read_step(editing *e, step *s) {
  const size_t bytes = strlen(s->text) + 1;
  char *room = malloc(2 * bytes), *text = NULL, where[400];
  char **words = calloc(STEP_WORDS + 1, sizeof *words);
  int code = room && words ? EXIT_DONE : cli_no_memory();
  const int n = code == EXIT_DONE ? split(e, s, room, words) : 0;
  if (code == EXIT_DONE && n == 0) code = EXIT_USAGE;
  if (code == EXIT_DONE) code = form_text(e, s, words, n, &text);
  if (text) s->pass = surg_registry_find(surg_context_passes(e->ctx), words[0]);
  snprintf(where, sizeof where, "%.300s:%zu", e->script, s->line);
  if (code == EXIT_DONE)
    code = cli_exit_code(surg_pipeline_parse(e->ctx, text ? text : s->text, where, &s->pipeline));
  free(text);
  free(words);
  free(room);
  return code;
}

/* Removes a comment, which starts at a # after a blank, outside of quotes. */
static void drop_comment(char *line) {
  char quote = 0;
  for (char *c = line; *c; c++) {
    if (quote)
      quote = *c == quote ? 0 : quote;
    else if (*c == '\'' || *c == '"')
      quote = *c;
    else if (*c == '#' && (c == line || c[-1] == ' ' || c[-1] == '\t'))
      *c-- = 0;
    if (!c[1]) return;
  }
}

/* Splits the script into steps; joins continued lines. */
static int read_steps(editing *e, char *text) {
  size_t line = 0;
  char *next = text;
  while (next && *next) {
    char *start = next, *end;
    const size_t first = ++line;
    while ((end = strchr(next, '\n')) != NULL && end > start && end[-1] == '\\') {
      end[-1] = end[0] = ' ';
      next = end + 1;
      line++;
    }
    next = end ? end + 1 : NULL;
    if (end) *end = 0;
    const size_t n = strlen(start);
    if (n && start[n - 1] == '\r') start[n - 1] = 0;
    drop_comment(start);
    start += strspn(start, " \t");
    if (!*start) continue;
    if (e->n == SCRIPT_STEPS) return refuse(e, first, "too many steps");
    e->steps[e->n++] = (step){.line = first, .text = start};
    const int code = read_step(e, &e->steps[e->n - 1]);
    if (code != EXIT_DONE) return code;
  }
  if (e->n) return EXIT_DONE;
  return refuse(e, line ? line : 1, "the script has no steps");
}

/* ---- running --------------------------------------------------------------------------------- */

/* Reports the step that failed. */
static int failed(const editing *e, const step *s, int code) {
  cli_text t = {0};
  cli_text_puts(&t, "this step failed, nothing is written: ");
  cli_text_escape(&t, s->text, 0);
  tell(e, s->line, &t);
  return code;
}

/* A request of the step that was not done; prints it. */
static bool undone(const editing *e, const surg_run_report *report, const char *in) {
  char *text = NULL;
  if (surg_run_undone(report, 0, &text) != SURG_OK) return false;
  cli_error(in, "not done: %s", text);
  surg_context_free_bytes(e->ctx, text);
  return true;
}

/* Whether the step is an edit that may leave the model invalid for a moment. */
static bool is_edit(const step *s) {
  return s->pass && s->pass->edits;
}

/* Compares the model after an edit with what it was before the first one of several. */
static int look(editing *e, const step *s, surg_model *m) {
  const char *line = NULL;
  const surg_status status = surg_check_base_compare(e->base, m, &line);
  if (status != SURG_OK) return cli_exit_code(status);
  if (line && !e->first) {
    cli_text_free(&e->invalid);
    cli_text_puts(&e->invalid, line);
  }
  e->first = line ? e->first ? e->first : s : NULL;
  return EXIT_DONE;
}

/* The last of several edits was made: reports the step that left the model invalid. */
static int finish_edits(editing *e, const char *in) {
  surg_check_base_free(e->base);
  e->base = NULL;
  if (!e->first) return EXIT_DONE;
  cli_error(in, "the model would be invalid: %s", cli_text_of(&e->invalid));
  return failed(e, e->first, EXIT_MODEL);
}

static int run_step(editing *e, const step *s, surg_model **m, const char *in) {
  surg_run_report *report = NULL;
  surg_run_summary sum = {.size = sizeof sum};
  surg_context_clear_error(e->ctx);
  e->common.pass = s->pass;
  e->run.unchecked_edits = is_edit(s);
  const surg_status status = surg_pipeline_run(s->pipeline, m, &e->run, &report);
  int code = cli_exit_code(status);
  if (status == SURG_OK && undone(e, report, in)) code = EXIT_MODEL;
  if (status == SURG_OK && surg_run_get(report, &sum) == SURG_OK &&
      (surg_exactness)sum.used > e->worst)
    e->worst = (surg_exactness)sum.used;
  surg_run_report_free(report);
  return code;
}

static int run_steps(editing *e, surg_model **m, const char *in) {
  for (size_t i = 0; i < e->n; i++) {
    const step *s = &e->steps[i];
    int code = is_edit(s) && !e->base ? cli_exit_code(surg_check_base_new(e->ctx, *m, &e->base))
                                      : EXIT_DONE;
    if (code != EXIT_DONE) return code;
    code = run_step(e, s, m, in);
    if (code != EXIT_DONE) return failed(e, s, code);
    if (!is_edit(s)) continue;
    code = look(e, s, *m);
    if (code == EXIT_DONE && (i + 1 == e->n || !is_edit(s + 1))) code = finish_edits(e, in);
    if (code != EXIT_DONE) return code;
  }
  return EXIT_DONE;
}

static surg_status preview(surg_model *m, char **text) {
  char *own = NULL;
  size_t n;
  const surg_status s = surg_model_preview(m, DIFF_ELEMENTS, &own, &n);
  *text = s == SURG_OK ? strndup(own, n) : NULL;
  surg_context_free_bytes(surg_model_context(m), own);
  return s == SURG_OK && !*text ? SURG_ENOMEM : s;
}

static int edit(editing *e, const char *in, const char *out) {
  surg_model *m = NULL;
  char *before = NULL, *after = NULL;
  surg_status s = cli_load(e->ctx, &e->common, in, &m);
  if (s == SURG_OK && e->dry_run) s = preview(m, &before);
  int code = cli_exit_code(s);
  if (code == EXIT_DONE) code = run_steps(e, &m, in);
  if (code == EXIT_DONE && e->dry_run) {
    code = cli_exit_code(preview(m, &after));
    if (code == EXIT_DONE && !line_diff_print(before, after)) code = cli_no_memory();
  } else if (code == EXIT_DONE) {
    code = cli_exit_code(surg_model_save(m, out, &e->save));
  }
  if (code == EXIT_DONE && e->worst > SURG_EXACT && !e->common.quiet) {
    cli_put(stderr, in);
    fprintf(stderr, ": exactness: %s\n", surg_exactness_name(e->worst));
  }
  free(before);
  free(after);
  surg_model_free(m);
  return code;
}

int cmd_edit(int argc, char **argv) {
  static const struct option options[] = {
      {"dry-run", no_argument, NULL, OPT_DRY_RUN},
      {"allow", required_argument, NULL, OPT_ALLOW},
      {"external-data", required_argument, NULL, OPT_EXTERNAL_DATA},
      {"no-fsync", no_argument, NULL, OPT_NO_FSYNC},
      CLI_COMMON_OPTIONS,
      {0}};
  editing e = {.run = {.size = sizeof e.run}, .save = {.size = sizeof e.save}};
  int code;
  const cli_command command = {options, NULL, help, take, &e, &e.common};
  if (!cli_options(argc, argv, &command, &code)) return code;
  if (argc - optind != (e.dry_run ? 2 : 3) && !(e.dry_run && argc - optind == 3))
    return cli_usage("edit expects a script and models: `onnxsurg edit SCRIPT IN OUT`");
  e.script = argv[optind];
  const char *in = argv[optind + 1], *out = e.dry_run ? NULL : argv[optind + 2];
  if (out && (code = cli_check_folder(out)) != EXIT_DONE) return code;
  char *text = NULL;
  size_t n = 0;
  code = cli_read_text(e.script, SCRIPT_BYTES, &text, &n);
  if (code != EXIT_DONE) return code;
  e.run.timeout_ms = cli_milliseconds(e.common.timeout_seconds);
  e.ctx = cli_context(&e.common);
  e.steps = calloc(SCRIPT_STEPS, sizeof *e.steps);
  if (!e.ctx || !e.steps || !surg_context_passes(e.ctx))
    code = EXIT_LIMIT;
  else if (n > SCRIPT_BYTES || memchr(text, 0, n))
    code = refuse(&e, 1, "the script is too long, or no text");
  if (code == EXIT_DONE) {
    text[n] = 0;
    code = read_steps(&e, text);
  }
  if (code == EXIT_DONE) code = edit(&e, in, out);
  for (size_t i = 0; e.steps && i < e.n; i++) surg_pipeline_free(e.steps[i].pipeline);
  surg_check_base_free(e.base);
  cli_text_free(&e.invalid);
  free(e.steps);
  free(text);
  surg_context_free(e.ctx);
  return cli_flush(code);
}
