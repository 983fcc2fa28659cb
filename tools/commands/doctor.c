/* SPDX-License-Identifier: Apache-2.0 */
/* `onnxsurg doctor [--target T] [--error TEXT|FILE|-] IN`: prints a checklist with one line per
 * topic, the verdict, and the one command that fixes the model. Writes no model. */
#include <onnxsurg/doctor.h>
#include <stdlib.h>
#include <string.h>

#include "check/check_target.h"
#include "explain.h"
#include "findings.h"
#include "outlook.h"
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

typedef struct doctor {
  cli_common common;
  judging how;
  const char *target_name, *error, *messages, *in;
  surg_context *ctx;
  surg_target *t;
  file_bytes bytes;
  surg_diagnosis *d;
  surg_diagnosis_summary sum;
} doctor;

/* --- text --- */

static void put_line(const char *title, const char *text) {
  cli_text b = {0};
  cli_text_printf(&b, "%-18s", title);
  cli_text_wrap(&b, text, 18, 18);
  cli_text_print(&b);
}

static void print_point(const doctor *d, const surg_point *p) {
  static const char *const without[] = {
      [SURG_POINT_OK] = "ok",
      [SURG_POINT_NOTE] = "note:",
      [SURG_POINT_OPEN] = "problem:",
      [SURG_POINT_UNKNOWN] = "not examined: parts of the model are invalid",
      [SURG_POINT_NOT_REACHED] = "not examined: the model does not load"};
  _Static_assert(CLI_COUNT(without) == SURG_POINT_NOT_REACHED + 1, "a text for each state");
  cli_text line = {0}, cure = {0};
  cli_text_puts(&line, without[p->state]);
  if (p->first) cli_text_printf(&line, " %s", p->first);
  if (p->first && p->more) cli_text_printf(&line, " (and %zu more)", p->more);
  put_line(p->title, cli_text_of(&line));
  /* A pass does not run on a model of which parts could not be read. */
  const bool pass = p->pass && !d->sum.partial;
  if (p->open && pass)
    cli_text_printf(&cure, "cure: --pass %s", p->pass);
  else if (p->open && p->cure)
    cli_text_printf(&cure, "cure: %s", p->cure);
  if (cure.n) put_line("", cli_text_of(&cure));
  cli_text_free(&line);
  cli_text_free(&cure);
}

static void print_mend(const doctor *d) {
  cli_text b = {0};
  outlook_put(&b, &d->sum.outlook, d->in);
  if (!b.failed) printf("  %s\n", cli_text_of(&b));
  cli_text_free(&b);
}

static void print_text(const doctor *d, const verdict *known) {
  surg_point p = {.size = sizeof p};
  for (size_t i = 0; surg_diagnosis_point(d->d, i, &p) == SURG_OK; i++)
    if (i || d->error) print_point(d, &p); /* the first point is the message */
  if (d->sum.open)
    printf("%zu problem%s found\n", d->sum.open, d->sum.open == 1 ? "" : "s");
  else
    puts("no problems found");
  if (known) verdict_print(known, d->t, d->target_name, d->in);
  if (d->sum.outlook.mended != SURG_MENDED_NONE) print_mend(d);
  if ((!known || known->kind <= SURG_ASSESS_UNKNOWN) && d->sum.open && *d->sum.pipeline &&
      !d->sum.partial) {
    printf("  onnxsurg ");
    cli_put(stdout, d->in);
    printf(" OUT --pass '%s'\n", d->sum.pipeline);
  }
}

/* --- JSON --- */

static json_t *points_json(const doctor *d) {
  static const char *const states[] = {[SURG_POINT_OK] = "ok",
                                       [SURG_POINT_NOTE] = "note",
                                       [SURG_POINT_OPEN] = "open",
                                       [SURG_POINT_UNKNOWN] = "unknown",
                                       [SURG_POINT_NOT_REACHED] = "unknown"};
  _Static_assert(CLI_COUNT(states) == SURG_POINT_NOT_REACHED + 1, "one word for each state");
  json_t *list = json_array();
  surg_point p = {.size = sizeof p};
  for (size_t i = 0; surg_diagnosis_point(d->d, i, &p) == SURG_OK; i++) {
    if (!i && !d->error) continue;
    json_array_append_new(
        list, json_pack("{s:s,s:s,s:I,s:I,s:o,s:o}", "point", p.title, "state", states[p.state],
                        "open", (json_int_t)p.open, "notes", (json_int_t)p.notes, "first",
                        p.first ? cli_text_json(p.first) : json_null(), "pass",
                        p.pass ? json_string(p.pass) : json_null()));
  }
  return list;
}

static void print_json(const doctor *d, const verdict *known) {
  json_t *j =
      json_pack("{s:i,s:o,s:I,s:o,s:s}", "schema", 1, "file", cli_text_json(d->in), "open",
                (json_int_t)d->sum.open, "points", points_json(d), "passes", d->sum.pipeline);
  if (known) json_object_set_new(j, "target", verdict_json(known, d->t));
  if (d->sum.outlook.mended != SURG_MENDED_NONE)
    json_object_set_new(j, "mend", outlook_json(&d->sum.outlook));
  cli_print_json(j);
}

/* --- the command --- */

static int print_all(doctor *d) {
  verdict v;
  const verdict *known = NULL;
  if (d->sum.judged) {
    verdict_borrow(&v, (surg_assessment)d->sum.assessment, surg_diagnosis_repair(d->d));
    known = &v;
  }
  if (d->common.json)
    print_json(d, known);
  else
    print_text(d, known);
  if (d->sum.open) return EXIT_MODEL;
  return known ? judging_exit(&d->how, verdict_of(known)) : EXIT_DONE;
}

static int diagnose(doctor *d, const char *message, size_t n, const surg_messages *all) {
  const surg_doctor_options o = {.size = sizeof o,
                                 .target = d->t,
                                 .message = message,
                                 .message_length = n,
                                 .messages = all,
                                 .bytes = d->bytes.p,
                                 .n_bytes = d->bytes.n,
                                 .load = &d->common.load};
  d->sum.size = sizeof d->sum;
  const surg_status s = surg_doctor(d->ctx, d->in, &o, &d->d);
  if (s != SURG_OK) return cli_exit_code(s);
  surg_diagnosis_get(d->d, &d->sum);
  /* A file that cannot be read has no diagnosis; the reason is printed. */
  const int loading = cli_exit_code((surg_status)d->sum.status);
  return !d->sum.loaded && loading > EXIT_MODEL ? loading : print_all(d);
}

static int consult(doctor *d) {
  char *text = NULL;
  size_t n = 0;
  surg_messages *all = NULL;
  int code = EXIT_DONE;
  if (d->target_name) d->t = cli_target(d->ctx, d->target_name, &code);
  if (code == EXIT_DONE && judging_apply(&d->how, d->t) != SURG_OK) code = cli_no_memory();
  if (code == EXIT_DONE) code = file_bytes_read(&d->bytes, &d->common, d->in);
  if (code == EXIT_DONE && d->error) code = explain_text(d->error, &text, &n);
  if (code == EXIT_DONE && d->error) code = explain_messages(d->ctx, d->messages, &all);
  if (code == EXIT_DONE) code = diagnose(d, text, n, all);
  surg_diagnosis_free(d->d);
  surg_messages_free(all);
  free(text);
  return code;
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
  free(d.bytes.p);
  surg_target_free(d.t);
  judging_free(&d.how);
  surg_context_free(d.ctx);
  return cli_flush(code);
}
