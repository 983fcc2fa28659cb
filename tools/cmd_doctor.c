/* SPDX-License-Identifier: Apache-2.0 */
/* `onnxsurg doctor [--target T] [--error TEXT|FILE|-] IN`: prints a checklist with one line per
 * topic, the verdict, and the one command that fixes the model. All results are from `check`,
 * the target and `explain`; this file only combines them, and writes no model. */
#include <stdlib.h>
#include <string.h>

#include "check_target.h"
#include "explain.h"
#include "findings.h"
#include "outlook.h"
#include "quiet.h"
#include "verdict.h"

static const char help[] =
    "usage: onnxsurg doctor [--target T] [--error TEXT|FILE|-] IN\n"
    "Examines step by step why an engine rejects a model: loading, validity, shapes,\n"
    "opset, operators, types, constants. Prints the verdict and the command that\n"
    "cures the fault. Writes nothing.\n"
    "  --target T          engine; `onnxsurg targets` lists them\n"
    "  --error TEXT        message of the engine: text, a file, or - (standard input)\n"
    "  --messages FILE     load further messages of importers (doc/messages.md)\n" JUDGING_HELP
    "  --json              print JSON\n"
    "exit codes: 0 no problem found, 1 problem found, 2 usage error, 3 file error,\n"
    "4 limit; with --target and no other problem: 1 unsupported, 6 support unknown\n";

enum { OPT_TARGET = OPT_OWN, OPT_ERROR, OPT_MESSAGES };

typedef enum row_id {
  R_MESSAGE,
  R_LOADS,
  R_VALID,
  R_TYPES,
  R_DYNAMIC,
  R_VERSIONS,
  R_CUSTOM,
  R_OPS,
  R_FLOW,
  R_DTYPES,
  R_CONSTANT,
  R_TRAINING,
  R_TIDY,
  ROWS
} row_id;

static const struct row_info {
  const char *title;
  const char *cure; /* used if the finding suggests none */
} infos[ROWS] = {
    [R_MESSAGE] = {"message", NULL},
    [R_LOADS] = {"loads", "fetch or export it again"},
    [R_VALID] = {"valid", "onnxsurg check lists all"},
    [R_TYPES] = {"types and shapes", "onnxsurg check lists what contradicts"},
    [R_DYNAMIC] = {"open sizes", "onnxsurg freeze --symbol NAME=N IN OUT"},
    [R_VERSIONS] = {"opset and IR", "--opset N, --ir N"},
    [R_CUSTOM] = {"custom operators", "--schema FILE, --pass inline, replace or move-domain"},
    [R_OPS] = {"operators", NULL},
    [R_FLOW] = {"control flow", "--pass fold replaces it by the known branch"},
    [R_DTYPES] = {"element types", NULL},
    [R_CONSTANT] = {"constant inputs", "--pass fold; open sizes get numbers first"},
    [R_TRAINING] = {"training mode", "export after model.eval(), or --pass inference"},
    [R_TIDY] = {"tidy", "--pass prune"},
};
_Static_assert(CLI_COUNT(infos) == R_TIDY + 1, "a title for each row");

typedef struct row {
  size_t open, notes;
  char *first; /* text of the first open problem, else of the first note; heap */
  bool first_open;
  const char *pass; /* the pass that fixes `first` */
} row;

typedef struct doctor {
  cli_common common;
  judging how;
  const char *target_name, *error, *messages, *in;
  surg_context *ctx;
  surg_target *t;
  findings model;
  row rows[ROWS];
  row_id now;          /* row for objections of the target built for the current question */
  cli_text passes;     /* passes that fix the open problems, each once */
  int opset;           /* lowest opset with all operators that are too new; 0: none is */
  char opset_pass[32]; /* the pass that converts the model to it */
  outlook mend;        /* result of trying `mend` */
  bool failed;
} doctor;

static void note(doctor *d, row_id id, bool open, const char *where, const char *text,
                 const char *pass) {
  row *r = &d->rows[id];
  ++*(open ? &r->open : &r->notes);
  if (r->first && (r->first_open || !open)) return;
  free(r->first);
  if (asprintf(&r->first, "%s%s%s", where ? where : "", where ? ": " : "", text ? text : "") < 0) {
    r->first = NULL;
    d->failed = true;
  }
  r->first_open = open;
  r->pass = pass;
}

/* --- findings --- */

static row_id row_of_code(const char *code) {
  static const struct {
    const char *codes;
    row_id id;
  } map[] = {{"E001 E100 E111 E119 E120 E137", R_LOADS},
             {"W214 W215 W217 W218 E133", R_VERSIONS},
             {"E103 E104 W220", R_CUSTOM},
             {"E201 E202 E203 E204 E205 E208 E209 W206 W207 W211 W213", R_TYPES},
             {"N307", R_DYNAMIC}};
  for (size_t i = 0; i < CLI_COUNT(map); i++)
    if (strstr(map[i].codes, code)) return map[i].id;
  return code[0] == 'E' ? R_VALID : R_TIDY;
}

/* Adds a pass to the suggested pipeline, once. A pass with a placeholder ("ir{to=N}") is not
 * runnable and is skipped. */
static void take_pass(doctor *d, const char *pass) {
  if (!pass || strstr(pass, "=N") || strstr(pass, "NAME")) return;
  const size_t n = strlen(pass);
  for (size_t i = 0; i + n <= d->passes.n; i++)
    if (!memcmp(d->passes.p + i, pass, n)) return;
  cli_text_printf(&d->passes, "%s%s", d->passes.n ? "," : "", pass);
}

/* For a finding about an operator that is newer than the imported opset: the pass that converts
 * the model to the latest opset such operators need. NULL for any other finding. */
static const char *newer(doctor *d, const finding *f) {
  static const char came[] = "it came with opset ";
  const char *at = f->text && !strcmp(f->code, "E103") ? strstr(f->text, came) : NULL;
  const int opset = at ? atoi(at + sizeof came - 1) : 0;
  if (opset > d->opset) d->opset = opset;
  snprintf(d->opset_pass, sizeof d->opset_pass, "opset{to=%d}", d->opset);
  return at ? d->opset_pass : NULL;
}

static void found(void *user, const finding *f) {
  doctor *d = user;
  const surg_severity s = surg__check_severity(f->code);
  const char *move = newer(d, f);
  if (f->line) fprintf(stderr, "%s\n", f->line);
  note(d, move ? R_VERSIONS : row_of_code(f->code), s == SURG_ERROR, f->where, f->text,
       move ? move : f->pass);
  if (s != SURG_NOTE) take_pass(d, f->pass);
}

/* --- objections of the target --- */

static row_id row_of_fact(const char *code) {
  static const struct {
    const char *code;
    row_id id;
  } map[] = {{"E401", R_VERSIONS}, {"E402", R_VERSIONS}, {"E405", R_DTYPES}, {"E406", R_CONSTANT},
             {"E410", R_DYNAMIC},  {"E411", R_CUSTOM},   {"E412", R_CUSTOM}};
  for (size_t i = 0; i < CLI_COUNT(map); i++)
    if (!strcmp(map[i].code, code)) return map[i].id;
  return R_OPS;
}

static void objected(void *user, const surg_objection *o) {
  doctor *d = user;
  if (!o->fact) return; /* a finding: already counted in its row */
  note(d, row_of_fact(o->fact), o->verdict == SURG_UNSUPPORTED, o->where, o->text, NULL);
}

/* --- topics judged with a small target of their own --- */

static const struct question {
  row_id id;
  bool open;
  const char *target;
} questions[] = {
    {R_TRAINING, true,
     "{\"name\": \"inference\", \"source\": \"\", \"ops\": {"
     "\"BatchNormalization\": [{\"versions\": \"1-6\", \"attrs\": {\"is_test\": [1]}},"
     " {\"versions\": \"7-9\"}, {\"versions\": \"14+\", \"attrs\": {\"training_mode\": [0]}}],"
     "\"Dropout\": [{\"versions\": \"1-6\", \"attrs\": {\"is_test\": [1]}}, {\"versions\": "
     "\"7-10\"},"
     " {\"versions\": \"12+\", \"values\": {\"training_mode\": [0, 0]}}]}}"},
    {R_FLOW, false,
     "{\"name\": \"flow\", \"source\": \"\", \"ops\": {"
     "\"If\": {\"refused\": true, \"says\": \"runs one of two branches\"},"
     "\"Loop\": {\"refused\": true, \"says\": \"runs its body over and over\"},"
     "\"Scan\": {\"refused\": true, \"says\": \"runs its body over and over\"}}}"},
};

static void answered(void *user, const surg_objection *o) {
  doctor *d = user;
  if (o->verdict != SURG_UNSUPPORTED || !o->fact || !o->node) return;
  for (size_t i = 0; i < CLI_COUNT(questions); i++)
    if (questions[i].id == d->now) note(d, d->now, questions[i].open, o->where, o->text, NULL);
}

static surg_status ask(doctor *d, const struct question *q) {
  surg_target *t = NULL;
  d->now = q->id;
  surg_status s = surg_target_parse(d->ctx, q->target, strlen(q->target), "doctor", &t);
  if (s == SURG_OK) s = surg_target_judge(t, d->model.m, answered, d, NULL);
  surg_target_free(t);
  return s;
}

/* Notes inputs with symbolic or unknown dimensions. An objection of the target to them is listed
 * in place of the note. */
static void look_at_inputs(doctor *d) {
  const surg_graph *g = surg_model_graph(d->model.m);
  for (size_t i = 0; i < surg_graph_input_count(g); i++) {
    const surg_value *v = surg_graph_input(g, i);
    const surg_type *t = surg_value_declared_type(v);
    if (surg_value_is_initializer(v) || !t || surg_type_get_kind(t) != SURG_TYPE_TENSOR) continue;
    cli_text b = {0};
    char *type = NULL;
    const surg_status s = surg_type_text(d->ctx, t, &type);
    cli_text_printf(&b, "input \"%s\" is ", surg_value_name(v));
    cli_text_take(&b, d->ctx, s, type);
    if (!surg_type_static(t, NULL) && !b.failed)
      note(d, R_DYNAMIC, false, NULL, cli_text_of(&b), NULL);
    cli_text_free(&b);
  }
}

static surg_status examine(doctor *d) {
  surg_status s = findings_look(&d->model);
  for (size_t i = 0; i < CLI_COUNT(questions) && s == SURG_OK; i++) s = ask(d, &questions[i]);
  if (s == SURG_OK && d->t) s = surg_target_judge(d->t, d->model.m, objected, d, NULL);
  if (s == SURG_OK) look_at_inputs(d);
  return s;
}

/* --- the importer's message (--error) --- */

static void explained(void *user, const surg_explanation *e) {
  doctor *d = user;
  size_t seen = 0;
  const surg_status s =
      d->model.m ? surg_explanation_look(e, d->model.m, NULL, NULL, &seen) : SURG_ENOTFOUND;
  char text[400];
  snprintf(text, sizeof text, "%.300s%s", e->cause,
           s != SURG_OK ? ""
           : seen       ? " (so it is here)"
                        : " (not so here, or not any more)");
  note(d, R_MESSAGE, seen || s != SURG_OK, e->op, text, e->n_passes ? "" : NULL);
  if (seen && e->n_passes) take_pass(d, e->passes[0]);
}

static int hear_error(doctor *d) {
  char *text = NULL;
  size_t n = 0, count = 0;
  surg_messages *all = NULL;
  int code = explain_text(d->error, &text, &n);
  if (code == EXIT_DONE) code = explain_messages(d->ctx, d->messages, &all);
  if (code == EXIT_DONE)
    code = cli_exit_code(
        surg_explain(all, text, n, d->t ? surg_target_name(d->t) : NULL, explained, d, &count));
  if (code == EXIT_DONE && !count)
    note(d, R_MESSAGE, false, NULL, "no message that is known here is in it", NULL);
  surg_messages_free(all);
  free(text);
  return code;
}

/* --- output --- */

static void put_line(const char *title, const char *text) {
  cli_text b = {0};
  cli_text_printf(&b, "%-18s", title);
  cli_text_wrap(&b, text, 18, 18);
  cli_text_print(&b);
}

/* The state of a row without findings. If loading reported errors, the invalid parts were not
 * checked. */
static const char *state_without(const doctor *d, row_id id) {
  if (!d->model.m && id != R_LOADS) return "not reached";
  return d->model.partial && id != R_LOADS ? "not judged: parts of the model are invalid" : "ok";
}

/* Whether `mend` fixes problems of this row. It applies to findings of the checker, not to
 * objections of a target, messages or open input sizes. */
static bool is_mended(const doctor *d, row_id id) {
  static const bool judged[ROWS] = {
      [R_VALID] = true, [R_TYPES] = true, [R_VERSIONS] = true, [R_CUSTOM] = true};
  return d->mend.kind == OUTLOOK_ALL && judged[id];
}

static void print_row(const doctor *d, row_id id) {
  const row *r = &d->rows[id];
  char more[64] = "";
  const size_t n = r->first_open ? r->open : r->notes;
  if (!r->first) {
    if (id != R_MESSAGE) put_line(infos[id].title, state_without(d, id));
    return;
  }
  if (n > 1) snprintf(more, sizeof more, " (and %zu more)", n - 1);
  char *text = NULL;
  if (asprintf(&text, "%s %s%s", r->open ? "open:" : "note:", r->first, more) < 0) return;
  put_line(infos[id].title, text);
  free(text);
  const bool pass = r->pass && r->pass[0] && !d->model.partial;
  const char *cure = pass ? r->pass : is_mended(d, id) ? "onnxsurg mend" : infos[id].cure;
  if (!r->open || !cure) return;
  if (asprintf(&text, "cure: %s%s", pass ? "--pass " : "", cure) < 0) return;
  put_line("", text);
  free(text);
}

static json_t *rows_json(const doctor *d) {
  json_t *list = json_array();
  for (row_id id = R_MESSAGE; id < ROWS; id++) {
    const row *r = &d->rows[id];
    if (id == R_MESSAGE && !d->error) continue;
    json_array_append_new(
        list, json_pack("{s:s,s:s,s:I,s:I,s:o,s:o}", "point", infos[id].title, "state",
                        r->open                             ? "open"
                        : r->notes                          ? "note"
                        : d->model.partial && id != R_LOADS ? "unknown"
                                                            : "ok",
                        "open", (json_int_t)r->open, "notes", (json_int_t)r->notes, "first",
                        r->first ? cli_text_json(r->first) : json_null(), "pass",
                        r->pass && r->pass[0] ? json_string(r->pass) : json_null()));
  }
  return list;
}

static size_t open_points(const doctor *d) {
  size_t n = 0;
  for (row_id id = R_MESSAGE; id < ROWS; id++) n += d->rows[id].open > 0;
  return n;
}

/* Computes the verdict of the target. *known is NULL if no target is given or the model does not
 * load. */
static surg_status judge(doctor *d, quiet_model *q, verdict *v, const verdict **known) {
  if (!d->t || !d->model.m) return SURG_OK;
  surg_status s = quiet_open_any(q, &d->common, d->model.bytes ? d->model.name : d->in,
                                 d->model.bytes, d->model.n_bytes);
  if (s != SURG_OK) return s;
  s = verdict_find(v, d->t, q->m);
  *known = v;
  return s == SURG_OK ? s : quiet_tell(q->ctx, s);
}

static void print_mend(const doctor *d) {
  cli_text b = {0};
  outlook_put(&b, &d->mend, d->in);
  if (!b.failed) printf("  %.*s\n", (int)b.n, b.p);
  cli_text_free(&b);
}

static void print_findings(doctor *d, const verdict *known, size_t open) {
  const bool passes = d->passes.n > 0;
  if (d->common.json) {
    json_t *j =
        json_pack("{s:i,s:o,s:I,s:o,s:s}", "schema", 1, "file", cli_text_json(d->in), "open",
                  (json_int_t)open, "points", rows_json(d), "passes", cli_text_of(&d->passes));
    if (known) json_object_set_new(j, "target", verdict_json(known, d->t));
    if (d->mend.kind != OUTLOOK_NONE) json_object_set_new(j, "mend", outlook_json(&d->mend));
    cli_print_json(j);
    return;
  }
  for (row_id id = R_MESSAGE; id < ROWS; id++) print_row(d, id);
  if (open)
    printf("%zu problem%s found\n", open, open == 1 ? "" : "s");
  else
    puts("no problems found");
  if (known) verdict_print(known, d->t, d->target_name, d->in);
  if (d->mend.kind != OUTLOOK_NONE) print_mend(d);
  if ((!known || known->kind <= SURG_ASSESS_UNKNOWN) && open && passes && !d->model.partial) {
    printf("  onnxsurg ");
    cli_put(stdout, d->in);
    printf(" OUT --pass '%s'\n", d->passes.p);
  }
}

/* Tries `mend` if the checker reported errors, or warnings that it may fix. */
static surg_status look_ahead(doctor *d) {
  const bool valid = !d->model.errors;
  if (!d->model.m || (valid && !d->rows[R_TIDY].notes)) return SURG_OK;
  return outlook_find(&d->mend, &d->common, &d->model, d->in, d->model.errors);
}

static int conclude(doctor *d) {
  quiet_model q = {0};
  verdict v = {0};
  const verdict *known = NULL;
  int code = cli_exit_code(look_ahead(d));
  if (code == EXIT_DONE) code = cli_exit_code(judge(d, &q, &v, &known));
  if (d->opset) take_pass(d, d->opset_pass);
  if (code == EXIT_DONE && d->passes.failed) code = cli_no_memory();
  if (code == EXIT_DONE) {
    const size_t open = open_points(d);
    print_findings(d, known, open);
    code = open ? EXIT_MODEL : known ? judging_exit(&d->how, verdict_of(known)) : EXIT_DONE;
  }
  verdict_free(&v);
  quiet_close(&q);
  return code;
}

static int consult(doctor *d) {
  int code = EXIT_DONE;
  if (d->target_name) d->t = cli_target(d->ctx, d->target_name, &code);
  if (code != EXIT_DONE) return code;
  if (judging_apply(&d->how, d->t) != SURG_OK) return cli_no_memory();
  d->model.fn = found;
  d->model.user = d;
  code = findings_open(&d->model, &d->common, d->in);
  if (code > EXIT_MODEL && !d->model.m) return code;
  surg_status s = d->model.m ? examine(d) : SURG_OK;
  code = s == SURG_OK                                      ? EXIT_DONE
         : s == SURG_ENOMEM && !surg_context_error(d->ctx) ? cli_no_memory()
                                                           : cli_exit_code(s);
  if (code == EXIT_DONE && d->error) code = hear_error(d);
  if (code == EXIT_DONE && d->failed) code = cli_no_memory();
  return code == EXIT_DONE ? conclude(d) : code;
}

static int take(void *user, int o, char *arg) {
  doctor *d = user;
  if (o == OPT_TARGET) d->target_name = arg;
  if (o == OPT_ERROR) d->error = arg;
  if (o == OPT_MESSAGES) d->messages = arg;
  return judging_take(&d->how, o, arg);
}

int cmd_doctor(int argc, char **argv) {
  static const struct option options[] = {{"target", required_argument, NULL, OPT_TARGET},
                                          {"error", required_argument, NULL, OPT_ERROR},
                                          {"messages", required_argument, NULL, OPT_MESSAGES},
                                          JUDGING_OPTIONS,
                                          CLI_COMMON_OPTIONS,
                                          {0}};
  doctor d = {0};
  int code;
  const cli_command command = {options, NULL, help, take, &d, &d.common};
  if (!cli_options(argc, argv, &command, &code)) return code;
  if (argc - optind != 1) return cli_usage("doctor expects one model: `onnxsurg doctor IN`");
  d.in = argv[optind];
  if (d.error && !strcmp(d.error, "-") && !strcmp(d.in, "-"))
    return cli_usage("message and model cannot both be standard input");
  d.ctx = cli_context(&d.common);
  code = d.ctx ? consult(&d) : EXIT_LIMIT;
  findings_close(&d.model);
  for (row_id id = R_MESSAGE; id < ROWS; id++) free(d.rows[id].first);
  cli_text_free(&d.passes);
  surg_target_free(d.t);
  judging_free(&d.how);
  surg_context_free(d.ctx);
  return cli_flush(code);
}
