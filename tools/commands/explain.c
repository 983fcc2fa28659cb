/* SPDX-License-Identifier: Apache-2.0 */
/* `onnxsurg explain 'TEXT'|FILE|- [IN]`: explains an importer's error message and checks whether
 * its cause is present in the model. Writes nothing. */
#include <onnxsurg/names.h>
#include <stdlib.h>
#include <string.h>

#include "base/os/os.h"
#include "base/os/program.h"

#include "check/check_target.h"
#include "explain.h"
#include "findings.h"

#define MESSAGE_BYTES (4u << 20) /* of a text to explain */
#define SHOWN 10u                /* most locations listed per message */

static const char help[] =
    "usage: onnxsurg explain 'TEXT'|FILE|- [IN]\n"
    "Explains a message of an importer, checker or exporter: operator, node, cause,\n"
    "cure. With a model IN, also whether and where the cause is present.\n"
    "  --target T          engine that printed it; `onnxsurg targets` lists them\n"
    "  --messages FILE     load further messages of importers (doc/messages.md)\n"
    "  --json              print JSON\n"
    "exit codes: 0 explained, not present in IN, 1 unknown message, or present in IN,\n"
    "  2 usage error, 3 file error, 4 limit\n"
    "next: run the command after `cure`, or onnxsurg doctor --error TEXT IN\n";

enum { OPT_TARGET = OPT_OWN, OPT_MESSAGES };

typedef struct explaining {
  cli_common common;
  const char *target, *messages, *in;
  surg_context *ctx;
  findings model; /* the model IN */
  struct {
    char **items;
    size_t n;
  } codes;               /* findings of the loader: "CODE LOCATION: TEXT" */
  json_t *list, *places; /* NULL: print text */
  size_t shown;
  bool open, failed;
  bool unread; /* the facts of a message are no target: nothing could be looked for */
} explaining;

/* --- shared with repair and doctor --- */

int explain_text(const char *argument, char **text, size_t *n) {
  const bool file = !strcmp(argument, "-") || surg__os_exists(argument);
  int code = EXIT_DONE;
  if (file) code = cli_read_text(argument, MESSAGE_BYTES, text, n);
  if (!file && !(*text = strdup(argument))) code = cli_no_memory();
  if (code != EXIT_DONE) return code;
  if (!file) *n = strlen(*text);
  /* An ONNX file starts with a protobuf tag, a byte below '\t' in practice. */
  if (!file || !*n || ((unsigned char)(*text)[0] >= '\t' && !memchr(*text, 0, *n)))
    return EXIT_DONE;
  free(*text);
  *text = NULL;
  return cli_usage("%s is not text: the message is the first argument, the model the second",
                   argument);
}

int explain_messages(surg_context *ctx, const char *file, surg_messages **out) {
  const surg_status s = surg_messages_new(ctx, file, out);
  return s == SURG_EINVALID ? EXIT_USAGE : cli_exit_code(s);
}

void explain_put(cli_text *b, const char *text, const char *in, const char *out,
                 const char *target) {
  const struct {
    const char *name, *is;
  } words[] = {{"$in", in ? in : "IN"},
               {"$out", out ? out : "OUT"},
               {"$target", target ? target : "TARGET"}};
  while (*text) {
    size_t i = 0;
    while (i < CLI_COUNT(words) && strncmp(text, words[i].name, strlen(words[i].name)) != 0) i++;
    if (i < CLI_COUNT(words)) {
      cli_text_puts(b, words[i].is);
      text += strlen(words[i].name);
    } else {
      cli_text_putc(b, *text++);
    }
  }
}

/* --- output --- */

/* Appends n bytes, escaped. */
static void put_escaped(cli_text *to, const char *text, size_t n) {
  char *part = strndup(text, n);
  if (part)
    cli_text_escape(to, part, 0);
  else
    cli_text_fail(to);
  free(part);
}

/* Prints a row. Quotes are kept; other special characters are escaped. */
static void row(const char *title, const char *text) {
  cli_text b = {0}, shown = {0};
  cli_text_printf(&b, "  %-8s", title);
  while (*text) {
    const size_t n = strcspn(text, "\"\\");
    put_escaped(&shown, text, n);
    text += n;
    if (*text) cli_text_putc(&shown, *text++);
  }
  if (!shown.failed) cli_text_wrap(&b, cli_text_of(&shown), 10, 10);
  cli_text_print(&b);
  cli_text_free(&shown);
}

/* The first opset that contains a standard operator; 0: none does. */
static int64_t first_opset(const char *op) {
  const int64_t newest = surg_schema_newest("");
  for (int64_t v = 1; op && v <= newest; v++)
    if (surg_schema_find("", op, v)) return v;
  return 0;
}

static char *cure_of(const explaining *x, const surg_explanation *e) {
  cli_text b = {0};
  const char *target = x->target ? x->target : e->target;
  const int64_t first = x->model.m ? first_opset(e->op) : 0;
  if (first > 0 && first > surg_model_opset(x->model.m, ""))
    cli_text_printf(&b,
                    "onnxsurg --opset %lld %s OUT (%s came with opset %lld; the model imports "
                    "%lld)",
                    (long long)first, x->in, e->op, (long long)first,
                    (long long)surg_model_opset(x->model.m, ""));
  else if (e->cure)
    explain_put(&b, e->cure, x->in, NULL, target);
  else if (e->n_passes)
    cli_text_printf(&b, "onnxsurg %s OUT --pass '%s'", x->in ? x->in : "IN", e->passes[0]);
  else
    cli_text_printf(&b, "onnxsurg doctor %s", x->in ? x->in : "IN");
  return cli_text_give(&b);
}

static void seen_one(void *user, const char *where, const char *text) {
  explaining *x = user;
  if (x->shown++ >= SHOWN) return;
  if (x->places) {
    json_array_append_new(x->places, json_pack("{s:o,s:o}", "where", cli_text_json(where), "text",
                                               cli_text_json(text)));
    return;
  }
  cli_text b = {0};
  cli_text_printf(&b, "%s: %s", where, text);
  if (!b.failed) row("seen", cli_text_of(&b));
  cli_text_free(&b);
}

/* Keeps the findings of the loader: the loaded model does not contain the defects any more. */
static void found(void *user, const surg_check_finding *f) {
  explaining *x = user;
  char *line = NULL;
  if (f->line) fprintf(stderr, "%s\n", f->line);
  if (f->line || !f->text) return;
  if (asprintf(&line, "%s %s: %s", f->code, f->where ? f->where : "model", f->text) < 0) return;
  char **grown = realloc(x->codes.items, (x->codes.n + 1) * sizeof *grown);
  if (!grown) {
    x->failed = true;
    free(line);
    return;
  }
  x->codes.items = grown;
  grown[x->codes.n++] = line;
}

/* Looks for the cause of the message in the model: in the findings of the loader and in the
 * model itself. *seen is the number of matches. */
static surg_status look(explaining *x, const surg_explanation *e, size_t *seen) {
  size_t more = 0;
  *seen = 0;
  for (size_t i = 0; i < x->codes.n; i++)
    for (size_t k = 0; k < e->n_checks; k++) {
      const char *code = e->checks[k];
      if (strncmp(x->codes.items[i], code, strlen(code)) != 0) continue;
      char *text = strstr(x->codes.items[i], ": ");
      *text = 0;
      seen_one(x, x->codes.items[i] + 5, text + 2);
      *text = ':';
      ++*seen;
    }
  const surg_status s =
      x->model.m ? surg_explanation_look(e, x->model.m, seen_one, x, &more) : SURG_OK;
  *seen += more;
  if (s == SURG_EINVALID) x->unread = true;
  return s == SURG_ENOTFOUND && *seen ? SURG_OK : s;
}

/* Prints the node or value of the model that the message names. */
static void place(explaining *x, const surg_explanation *e) {
  const surg_node *n =
      x->model.m && e->node ? surg_model_find_node(x->model.m, e->node, NULL) : NULL;
  if (x->model.m && !n && e->value)
    for (const surg_graph *g = NULL; !n && (g = surg_model_next_graph(x->model.m, g));) {
      const surg_value *v = surg_graph_find_value(g, e->value);
      n = v ? surg_value_producer(v, NULL) : NULL;
    }
  if (!n) return;
  if (x->places)
    json_array_append_new(x->places, json_pack("{s:o,s:s}", "where",
                                               cli_text_json(surg_node_where(n)), "text", "named"));
  else
    row("place", surg_node_where(n));
}

static const char *or_none(const char *s) {
  return s ? s : "";
}

static void show_head(const surg_explanation *e) {
  const char *when = !strcmp(e->when, "run")      ? ", at a run"
                     : !strcmp(e->when, "export") ? ", at export"
                                                  : "";
  printf("line %zu: %s (%s%s%s%s)\n", e->number, e->id, e->engine, e->versions ? " " : "",
         or_none(e->versions), when);
  row("message", e->line);
  if (e->op) row("op", e->op);
  if (e->node) row("node", e->node);
  if (e->value) row("value", e->value);
  row("cause", e->cause);
}

static void show_tail(const surg_explanation *e, const char *cure, bool sought, size_t seen) {
  if (seen > SHOWN) printf("          and %zu more\n", seen - SHOWN);
  if (sought && !seen) row("seen", "no: not present in this model");
  if (!strcmp(e->when, "export"))
    row("note", "printed at export: there is no file to repair yet");
  if (cure) row("cure", cure);
  if (e->allow) row("consent", e->allow);
}

static json_t *json_of(const explaining *x, const surg_explanation *e, const char *cure,
                       bool sought, size_t seen) {
  json_t *passes = json_array();
  for (size_t i = 0; i < e->n_passes; i++)
    json_array_append_new(passes, cli_text_json(e->passes[i]));
  json_t *j = json_pack("{s:s,s:s,s:s,s:s,s:I,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:s,s:O}", "id", e->id,
                        "engine", e->engine, "versions", or_none(e->versions), "when", e->when,
                        "line", (json_int_t)e->number, "said", cli_text_json(e->line), "op",
                        cli_text_json(or_none(e->op)), "node", cli_text_json(or_none(e->node)),
                        "value", cli_text_json(or_none(e->value)), "cause", cli_text_json(e->cause),
                        "cure", cli_text_json(or_none(cure)), "passes", passes, "allow",
                        or_none(e->allow), "places", x->places);
  if (sought) json_object_set_new(j, "seen", json_integer((json_int_t)seen));
  return j;
}

static void show(explaining *x, const surg_explanation *e) {
  char *cure = cure_of(x, e);
  size_t seen = 0;
  x->places = x->list ? json_array() : NULL;
  x->shown = 0;
  if (!x->list) show_head(e);
  if (x->in) place(x, e);
  const bool sought = x->in && look(x, e, &seen) == SURG_OK;
  if (seen) x->open = true;
  if (x->list)
    json_array_append_new(x->list, json_of(x, e, cure, sought, seen));
  else
    show_tail(e, cure, sought, seen);
  json_decref(x->places);
  free(cure);
}

static void show_one(void *user, const surg_explanation *e) {
  show(user, e);
}

static int finish(const explaining *x, size_t count) {
  if (!x->list && !count)
    printf(
        "unknown: the text contains no known message\n"
        "  next    onnxsurg doctor%s%s %s\n"
        "  or      check against the facts of the engine: onnxsurg check --target T %s\n",
        x->target ? " --target " : "", x->target ? x->target : "", x->in ? x->in : "IN",
        x->in ? x->in : "IN");
  if (x->list)
    cli_print_json(
        json_pack("{s:i,s:b,s:o}", "schema", 1, "known", count > 0, "messages", x->list));
  return x->unread ? EXIT_IO : !count || x->open ? EXIT_MODEL : EXIT_DONE;
}

/* --- the command --- */

static int explain(explaining *x, const char *argument) {
  char *text = NULL;
  size_t n = 0;
  surg_messages *all = NULL;
  size_t count = 0;
  int code = explain_text(argument, &text, &n);
  if (code == EXIT_DONE) code = explain_messages(x->ctx, x->messages, &all);
  if (code == EXIT_DONE && x->in) {
    code = findings_open(&x->model, &x->common, x->in);
    if (code == EXIT_MODEL || x->model.m)
      code = EXIT_DONE; /* an invalid model is no error: it may be the cause */
  }
  if (code == EXIT_DONE) {
    if (x->common.json) x->list = json_array();
    const surg_status s = surg_explain(all, text, n, x->target, show_one, x, &count);
    code = s == SURG_OK ? finish(x, count) : cli_exit_code(s);
    if (code <= EXIT_MODEL && x->in && cli_out_of_memory(x->model.ctx)) code = EXIT_LIMIT;
    if (code <= EXIT_MODEL && (x->failed ? cli_no_memory() : cli_out_of_memory(x->ctx)))
      code = EXIT_LIMIT;
  }
  surg_messages_free(all);
  free(text);
  return code;
}

static int take(void *user, int o, char *arg) {
  explaining *x = user;
  if (o == OPT_TARGET) x->target = arg;
  if (o == OPT_MESSAGES) x->messages = arg;
  return EXIT_DONE;
}

int cmd_explain(int argc, char **argv) {
  static const struct option options[] = {{"target", required_argument, NULL, OPT_TARGET},
                                          {"messages", required_argument, NULL, OPT_MESSAGES},
                                          CLI_COMMON_OPTIONS,
                                          {0}};
  explaining x = {.model = {.fn = found}};
  int code;
  const cli_command command = {options, NULL, help, take, &x, &x.common};
  if (!cli_options(argc, argv, &command, &code)) return code;
  if (argc - optind != 1 && argc - optind != 2)
    return cli_usage(
        "explain expects a message, and optionally a model: `onnxsurg explain "
        "'TEXT' IN`");
  x.in = argv[optind + 1];
  x.model.user = &x;
  x.ctx = cli_context(&x.common);
  surg_target *t = x.ctx && x.target ? cli_target(x.ctx, x.target, &code) : NULL;
  if (t) x.target = surg_target_name(t);
  if (!x.ctx) code = EXIT_LIMIT;
  if (code == EXIT_DONE) code = explain(&x, argv[optind]);
  surg_target_free(t);
  findings_close(&x.model);
  for (size_t i = 0; i < x.codes.n; i++) free(x.codes.items[i]);
  free(x.codes.items);
  surg_context_free(x.ctx);
  return cli_flush(code);
}
