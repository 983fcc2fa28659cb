/* SPDX-License-Identifier: Apache-2.0 */
/* `onnxsurg profile --dim N=1..32@8 IN`: prints the shape profile that TensorRT needs to build
 * an engine: the minimum, optimum and maximum sizes of the inputs. Each of the three is applied
 * to a copy of the model, and type inference must find no contradiction. Writes nothing. */
#include <onnxsurg/check.h>
#include <onnxsurg/names.h>
#include <stdlib.h>
#include <string.h>

#include "quiet.h"

#define DIMS 64u /* most --dim options */

static const char help[] =
    "usage: onnxsurg profile --dim NAME=LOW..HIGH[@BEST]... IN\n"
    "Prints the options --minShapes, --optShapes and --maxShapes of trtexec for a\n"
    "model with symbolic dimensions, after shape inference succeeded with all three.\n"
    "  --dim NAME=8        fix a dimension; NAME=1..32: a range; NAME=1..32@8:\n"
    "                      optimal at 8 (default: the largest). NAME: a symbol or\n"
    "                      input.axis\n"
    "  --json              print JSON\n"
    "exit codes: 0 all three are valid, 1 one is not, 2 usage error, 3 file error,\n"
    "4 limit\n"
    "next: onnxsurg repair --target tensorrt-8.6 IN OUT\n";

enum { OPT_DIM = OPT_OWN };

/* The minimum, optimum and maximum size of a symbolic dimension. */
typedef struct span {
  char *name;
  int64_t size[3];
} span;

typedef struct profile {
  cli_common common;
  span spans[DIMS];
  size_t n;
  quiet_model q;
} profile;

static const char *const titles[] = {"min", "opt", "max"};

/* Parses "N=1..32@8": minimum, maximum, optimum. */
static bool parse(const char *text, span *s) {
  const char *equals = strrchr(text, '=');
  char *end;
  if (!equals || equals == text) return false;
  s->size[0] = s->size[1] = s->size[2] = strtoll(equals + 1, &end, 10);
  if (end == equals + 1) return false;
  if (!strncmp(end, "..", 2)) {
    const char *from = end + 2;
    s->size[1] = s->size[2] = strtoll(from, &end, 10);
    if (end == from) return false;
  }
  if (*end == '@') {
    const char *from = end + 1;
    s->size[1] = strtoll(from, &end, 10);
    if (end == from) return false;
  }
  if (*end || s->size[0] < 1 || s->size[0] > s->size[1] || s->size[1] > s->size[2]) return false;
  s->name = strndup(text, (size_t)(equals - text));
  return true;
}

typedef struct trouble {
  cli_text text;
  bool any;
} trouble;

static void contradiction(void *user, const surg_check_finding *f) {
  trouble *t = user;
  const bool bad = f->severity == SURG_ERROR || !strcmp(f->code, "W206");
  if (!bad || t->any) return;
  t->any = true;
  cli_text_printf(&t->text, "%s%s%s", f->where ? f->where : "", f->where ? ": " : "",
                  f->text ? f->text : "shapes contradict");
}

/* Appends the input shapes as "x:1x3x8x8,y:4". Returns false if an input dimension is not fixed. */
static bool put_shapes(const surg_model *m, cli_text *b, trouble *t) {
  surg_context *ctx = surg_model_context(m);
  const surg_graph *g = surg_model_graph(m);
  for (size_t i = 0; i < surg_graph_input_count(g); i++) {
    const surg_value *v = surg_graph_input(g, i);
    const surg_type *type = surg_value_declared_type(v);
    if (surg_value_is_initializer(v) || !type || surg_type_get_kind(type) != SURG_TYPE_TENSOR)
      continue;
    if (!surg_type_static(type, NULL)) {
      t->any = true;
      cli_text_printf(&t->text, "input \"%s\" still has a dynamic dimension: ", surg_value_name(v));
      char *text = NULL;
      const surg_status s = surg_type_text(ctx, type, &text);
      cli_text_take(&t->text, ctx, s, text);
      return false;
    }
    cli_text_printf(b, "%s%s:", b->n ? "," : "", surg_value_name(v));
    for (size_t k = 0; k < surg_type_rank(type); k++)
      cli_text_printf(b, "%s%lld", k ? "x" : "", (long long)surg_type_dim(type, k)->value);
  }
  return true;
}

/* Applies one of the three sets of sizes to a copy: appends the input shapes to b, errors to t. */
static surg_status try_sizes(profile *x, unsigned which, cli_text *b, trouble *t) {
  cli_text text = {0};
  surg_model *copy = surg_model_clone(x->q.m);
  for (size_t i = 0; i < x->n; i++) {
    char *name = NULL;
    surg_pipeline_word(x->q.ctx, x->spans[i].name, &name);
    cli_text_printf(&text, "%s%s=%lld", i ? "," : "freeze{", name ? name : "",
                    (long long)x->spans[i].size[which]);
    if (!name) cli_text_fail(&text);
    surg_context_free_bytes(x->q.ctx, name);
  }
  cli_text_puts(&text, x->n ? "}" : "");
  surg_status s = copy && !text.failed ? SURG_OK : SURG_ENOMEM;
  surg_context_clear_error(x->q.ctx);
  if (s == SURG_OK) s = surg_model_run(&copy, cli_text_of(&text));
  if (s == SURG_OK) s = surg_check(copy, 0, contradiction, t, NULL);
  if (s == SURG_OK && !t->any) put_shapes(copy, b, t);
  if ((s == SURG_EINVALID || s == SURG_EUSAGE) && surg_context_error(x->q.ctx)) {
    static const char head[] = ": error: "; /* after the name of the file */
    const char *why = surg_context_error(x->q.ctx), *end = strstr(why, head);
    t->any = true; /* the message of `freeze` gives the reason */
    cli_text_puts(&t->text, end ? end + sizeof head - 1 : why);
    s = SURG_OK;
  }
  cli_text_free(&text);
  if (copy) surg_model_free(copy);
  return s;
}

/* Prints each distinct error on one line, with the sets of sizes that cause it. */
static void report_errors(char *const wrong[3]) {
  for (unsigned i = 0; i < 3; i++) {
    bool repeated = false;
    for (unsigned k = 0; k < i && wrong[i]; k++)
      repeated |= wrong[k] && !strcmp(wrong[k], wrong[i]);
    if (!wrong[i] || repeated) continue;
    cli_text t = {0};
    cli_text_printf(&t, "with the %s", titles[i]);
    for (unsigned k = i + 1; k < 3; k++)
      if (wrong[k] && !strcmp(wrong[k], wrong[i])) cli_text_printf(&t, ", %s", titles[k]);
    cli_text_printf(&t, " sizes: %s", wrong[i]);
    cli_error_text(NULL, &t);
  }
}

static int show(profile *x) {
  json_t *all = json_object();
  char *wrong[3] = {NULL}; /* one error per set of sizes; NULL: none */
  int code = EXIT_DONE;
  for (unsigned which = 0; which < 3 && code <= EXIT_MODEL; which++) {
    cli_text b = {0};
    trouble t = {0};
    const surg_status s = try_sizes(x, which, &b, &t);
    if (s != SURG_OK || b.failed || t.text.failed)
      code = cli_exit_code(quiet_tell(x->q.ctx, s != SURG_OK ? s : SURG_ENOMEM));
    if (t.any && code <= EXIT_MODEL) {
      code = EXIT_MODEL;
      wrong[which] = strdup(cli_text_of(&t.text));
      if (!wrong[which]) code = cli_no_memory();
    } else if (code == EXIT_DONE && x->common.json) {
      char key[16];
      snprintf(key, sizeof key, "%sShapes", titles[which]);
      json_object_set_new(all, key, cli_text_json(cli_text_of(&b)));
    } else if (code == EXIT_DONE) {
      printf("--%sShapes=", titles[which]);
      cli_put(stdout, cli_text_of(&b));
      putchar('\n');
    }
    cli_text_free(&b);
    cli_text_free(&t.text);
  }
  if (x->common.json && code == EXIT_DONE)
    cli_print_json(json_pack("{s:i,s:O}", "schema", 1, "profile", all));
  json_decref(all);
  report_errors(wrong);
  for (unsigned which = 0; which < 3; which++) free(wrong[which]);
  return code;
}

static int take(void *user, int o, char *arg) {
  profile *x = user;
  (void)o; /* the only option */
  if (x->n == DIMS) return cli_usage("--dim is given too often");
  if (!parse(arg, &x->spans[x->n]))
    return cli_usage("--dim expects NAME=LOW..HIGH@BEST with 1 <= LOW <= BEST <= HIGH, not \"%s\"",
                     arg);
  x->n++;
  return EXIT_DONE;
}

int cmd_profile(int argc, char **argv) {
  static const struct option options[] = {
      {"dim", required_argument, NULL, OPT_DIM}, CLI_COMMON_OPTIONS, {0}};
  profile x = {0};
  int code;
  const cli_command command = {options, NULL, help, take, &x, &x.common};
  if (!cli_options(argc, argv, &command, &code)) return code;
  if (argc - optind != 1)
    return cli_usage("profile expects one model: `onnxsurg profile --dim N=1..8 IN`");
  code = cli_exit_code(quiet_open(&x.q, &x.common, argv[optind]));
  if (code == EXIT_DONE) code = show(&x);
  quiet_close(&x.q);
  for (size_t i = 0; i < x.n; i++) free(x.spans[i].name);
  return cli_flush(code);
}
