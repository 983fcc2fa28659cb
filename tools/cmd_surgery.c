/* SPDX-License-Identifier: Apache-2.0 */
/* The main form: load, run a pipeline, save. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/base.h"
#include "base/diag.h"
#include "cli.h"
#include "pass/pass.h"
#include "pass_form.h"

#define DEFAULT_PIPELINE "simplify"
#define PIPELINE_FILE_MAX (1u << 20)
#define SHOWN_CHANGES 20u

/* A list of borrowed strings that grows with the options. */
typedef struct words {
  const char **items;
  size_t n;
} words;

typedef struct job {
  cli_common common;
  surg_save_options save;
  surg__run_options run;
  words keep, dims, skip, print_after, plugins, rules;
  const char *pipeline, *pipeline_where, *out_dir;
  char *pipeline_text; /* of --pass-file, or made for --opset */
  words opsets;        /* of --opset */
  const char *ir;      /* of --ir */
  bool check;
  surg__proof_options proof;
  bool in_place, print_pipeline, stats, time, record;
} job;

enum {
  OPT_PASS = OPT_OWN,
  OPT_PASS_FILE,
  OPT_PRINT_PIPELINE,
  OPT_OUT_DIR,
  OPT_PLUGIN,
  OPT_RULES,
  OPT_OPSET,
  OPT_IR,
  OPT_ALLOW,
  OPT_EXACT_ONLY,
  OPT_CHECK,
  OPT_CHECK_RTOL,
  OPT_VERIFY_EACH,
  OPT_STATS,
  OPT_TIME,
  OPT_PRINT_AFTER,
  OPT_REWRITE_LIMIT,
  OPT_SKIP,
  OPT_KEEP,
  OPT_DIM,
  OPT_TRUST,
  OPT_LOG,
  OPT_MAP,
  OPT_DRY_RUN,
  OPT_EXTERNAL_DATA,
  OPT_EXTERNAL_THRESHOLD,
  OPT_NO_FSYNC,
  OPT_RECORD,
  OPT_VERSION
};

static const struct option options[] = {
    {"pass", required_argument, NULL, OPT_PASS},
    {"pass-file", required_argument, NULL, OPT_PASS_FILE},
    {"print-pipeline", no_argument, NULL, OPT_PRINT_PIPELINE},
    {"in-place", no_argument, NULL, 'i'},
    {"output", required_argument, NULL, 'o'},
    {"out-dir", required_argument, NULL, OPT_OUT_DIR},
    {"plugin", required_argument, NULL, OPT_PLUGIN},
    {"rules", required_argument, NULL, OPT_RULES},
    {"opset", required_argument, NULL, OPT_OPSET},
    {"ir", required_argument, NULL, OPT_IR},
    {"allow", required_argument, NULL, OPT_ALLOW},
    {"exact-only", no_argument, NULL, OPT_EXACT_ONLY},
    {"check", optional_argument, NULL, OPT_CHECK},
    {"check-rtol", required_argument, NULL, OPT_CHECK_RTOL},
    {"verify-each", no_argument, NULL, OPT_VERIFY_EACH},
    {"stats", no_argument, NULL, OPT_STATS},
    {"time-passes", no_argument, NULL, OPT_TIME},
    {"print-after", optional_argument, NULL, OPT_PRINT_AFTER},
    {"rewrite-limit", required_argument, NULL, OPT_REWRITE_LIMIT},
    {"skip-pass", required_argument, NULL, OPT_SKIP},
    {"keep", required_argument, NULL, OPT_KEEP},
    {"dim", required_argument, NULL, OPT_DIM},
    {"trust", required_argument, NULL, OPT_TRUST},
    {"log", required_argument, NULL, OPT_LOG},
    {"map", required_argument, NULL, OPT_MAP},
    {"dry-run", no_argument, NULL, OPT_DRY_RUN},
    {"external-data", required_argument, NULL, OPT_EXTERNAL_DATA},
    {"external-threshold", required_argument, NULL, OPT_EXTERNAL_THRESHOLD},
    {"no-fsync", no_argument, NULL, OPT_NO_FSYNC},
    {"record", no_argument, NULL, OPT_RECORD},
    {"version", no_argument, NULL, OPT_VERSION},
    CLI_COMMON_OPTIONS,
    {0}};

static const char help[] =
    "usage: onnxsurg [--pass PIPELINE] IN OUT\n"
    "       onnxsurg [--pass PIPELINE] -i IN...\n"
    "       onnxsurg [--pass PIPELINE] --out-dir DIR IN...\n"
    "       onnxsurg check|repair|targets|info|cat|ops|passes|rules|run|verify\n"
    "       onnxsurg isolate|reduce|merge   (each has its own --help)\n"
    "       onnxsurg PASS ... IN OUT  (one pass; `onnxsurg PASS --help`)\n"
    "\n"
    "Changes a model and writes it back. What no pass touches keeps its bytes. `-` is\n"
    "standard input or output; a name that ends in .onnxtxt is ONNX text.\n"
    "\n"
    "  --pass PIPELINE         such as 'fold,prune' or 'fold{max-growth=1MiB},prune';\n"
    "                          without it the preset `simplify`\n"
    "                          (`onnxsurg passes` lists all)\n"
    "  --pass-file FILE        the pipeline from a file; # starts a comment\n"
    "  --print-pipeline        print the pipeline, presets spelled out, and stop\n"
    "  -i, --in-place          each OUT is its IN\n"
    "  -o, --output OUT        OUT as an option\n"
    "  --out-dir DIR           each OUT is DIR/name of IN\n"
    "  --dry-run               do all but write\n"
    "  --plugin FILE           load passes from a shared object\n"
    "  --opset [DOMAIN=]N      move the model to opset N, after --pass if it is given\n"
    "                          (repeatable, one a domain)\n"
    "  --ir N                  set the IR version, behind all passes\n"
    "  --allow CLASS           the worst that rewrites of --opset may be: exact, ulp,\n"
    "                          approx, lossy (ulp)\n"
    "  --exact-only            the same as --allow exact\n"
    "  --rules FILE            rewrite rules as text; without --pass they alone run\n"
    "  --schema FILE           custom operators: signatures, types, shapes\n"
    "  --keep NAME|/REGEX/|op=TYPE\n"
    "                          protect nodes and values from passes (repeatable)\n"
    "  --dim SYMBOL=N|SYMBOL=LOW..HIGH|SYMBOL%N\n"
    "                          what holds of a dimension of the inputs (repeatable)\n"
    "  --trust declared        take the declared types of operators nobody knows\n"
    "                          (--trust inferred: do not)\n"
    "  --skip-pass PASS        leave a pass out of the pipeline\n"
    "  --rewrite-limit N       stop rewriting after N rewrites\n"
    "\n"
    "  --external-data NAME    write large weights to one file of this name beside\n"
    "                          OUT\n"
    "  --external-threshold N  ... those of at least N bytes (1KiB)\n"
    "  --external-root DIR     where external data is looked for (the folder of IN)\n"
    "  --no-external           refuse external data\n"
    "  --strict-external       refuse hard links to it\n"
    "  --freeze-inputs         take inputs that have a default as constants\n"
    "  --no-fsync              do not wait for the disk\n"
    "  --record                note pipeline and version in the model's metadata\n"
    "\n"
    "  --summary, --quiet      always or never say what changed\n"
    "                          (default: on a terminal)\n"
    "  --json                  report as JSON on standard output\n"
    "  --stats, --time-passes  what each pass did, and how long it took\n"
    "  --check[=N]             run model and result on made-up inputs (of N seeds)\n"
    "                          before anything is written; where they differ nothing\n"
    "                          is, and the pass is named\n"
    "  --check=each            the same after every pass; one that changes what is\n"
    "                          computed is left out\n"
    "  --check-rtol X          by how much floats may differ (by what the passes are:\n"
    "                          exact ones keep every bit)\n"
    "  --verify-each           check the graph after every pass\n"
    "  --print-after[=PASS]    print the model as text after PASS, or every change\n"
    "  --log FILE              each rewrite as JSON lines\n"
    "  --map FILE              old to new names as JSON\n"
    "  --max-memory N          such as 512MiB (2GiB)\n"
    "  --max-depth N           nesting of messages (100)\n"
    "  --timeout SECONDS       give up between rewrites\n"
    "  --help, --version\n"
    "\n"
    "exit codes: 0 done, 1 the model does not hold, 2 wrong usage, 3 file or system\n"
    "error, 4 limit or out of memory, 5 internal fault or misbehaving plugin\n";

static bool push(words *w, const char *s) {
  const char **grown = realloc(w->items, (w->n + 1) * sizeof *grown);
  if (!grown) return false;
  w->items = grown;
  w->items[w->n++] = s;
  return true;
}

static int out_of_memory(void) {
  fprintf(stderr, "onnxsurg: error: out of memory\n");
  return EXIT_LIMIT;
}

/* Reads a pipeline file; a newline is white space there and `#` starts a comment. */
static int read_pipeline(job *j, const char *path) {
  FILE *f = fopen(path, "re");
  if (!f) {
    cli_put(stderr, path);
    fprintf(stderr, ": error: cannot open: %s\n", strerror(errno));
    return EXIT_IO;
  }
  j->pipeline_text = malloc(PIPELINE_FILE_MAX + 1);
  size_t n = j->pipeline_text ? fread(j->pipeline_text, 1, PIPELINE_FILE_MAX + 1, f) : 0;
  int bad = ferror(f) ? errno : 0;
  fclose(f);
  if (!j->pipeline_text) return out_of_memory();
  if (bad || n > PIPELINE_FILE_MAX || memchr(j->pipeline_text, 0, n)) {
    cli_put(stderr, path);
    fprintf(stderr, ": error: %s\n", bad ? strerror(bad) : "is no pipeline text");
    return EXIT_IO;
  }
  char *t = j->pipeline_text;
  t[n] = 0;
  for (bool comment = false; *t; t++) {
    comment = *t == '#' || (comment && *t != '\n');
    if (comment || *t == '\n' || *t == '\r') *t = ' ';
  }
  while (n && j->pipeline_text[n - 1] == ' ') j->pipeline_text[--n] = 0;
  j->pipeline = j->pipeline_text + strspn(j->pipeline_text, " ");
  j->pipeline_where = path;
  return EXIT_DONE;
}

static int take_check(job *j, const char *arg) {
  uint64_t n = 1;
  j->check = true;
  if (arg && strcmp(arg, "each") == 0) {
    j->proof.each = true;
    return EXIT_DONE;
  }
  if ((arg && !cli_number(arg, &n)) || n < 1 || n > 1000)
    return cli_usage("--check takes how many seeds, 1 to 1000, or `each`");
  j->proof.seeds = (unsigned)n;
  return EXIT_DONE;
}

static int take_option(job *j, int o, const char *arg, words *outputs) {
  uint64_t n;
  bool ok = true;
  switch (o) {
    case OPT_PASS:
    case OPT_PASS_FILE:
      if (j->pipeline) return cli_usage("one pipeline at a time: join passes with a comma");
      if (o == OPT_PASS_FILE) return read_pipeline(j, arg);
      j->pipeline = arg;
      j->pipeline_where = "--pass";
      break;
    case OPT_PRINT_PIPELINE:
      j->print_pipeline = true;
      break;
    case 'i':
      j->in_place = true;
      break;
    case 'o':
      ok = push(outputs, arg);
      break;
    case OPT_OUT_DIR:
      j->out_dir = arg;
      break;
    case OPT_PLUGIN:
      ok = push(&j->plugins, arg);
      break;
    case OPT_RULES:
      ok = push(&j->rules, arg);
      break;
    case OPT_CHECK:
      return take_check(j, arg);
    case OPT_CHECK_RTOL:
      if (!cli_real(arg, &j->proof.rtol))
        return cli_usage("--check-rtol takes a number, such as 1e-3");
      j->check = true;
      break;
    case OPT_OPSET:
      ok = push(&j->opsets, arg);
      break;
    case OPT_IR:
      j->ir = arg;
      break;
    case OPT_ALLOW:
      return cli_take_allow(&j->run, arg);
    case OPT_EXACT_ONLY:
      return cli_take_allow(&j->run, "exact");
    case OPT_VERIFY_EACH:
      j->run.verify_each = true;
      break;
    case OPT_STATS:
      j->stats = true;
      break;
    case OPT_TIME:
      j->time = true;
      break;
    case OPT_PRINT_AFTER:
      ok = push(&j->print_after, arg ? arg : "changed");
      break;
    case OPT_REWRITE_LIMIT:
      if (!cli_number(arg, &n)) return cli_usage("--rewrite-limit takes a number");
      j->run.has_rewrite_limit = true;
      j->run.rewrite_limit = n;
      break;
    case OPT_SKIP:
      ok = push(&j->skip, arg);
      break;
    case OPT_KEEP:
      ok = push(&j->keep, arg);
      break;
    case OPT_DIM:
      ok = push(&j->dims, arg);
      break;
    case OPT_TRUST:
      if (strcmp(arg, "declared") && strcmp(arg, "inferred"))
        return cli_usage("--trust takes `declared` or `inferred`");
      j->run.trust_declared = !strcmp(arg, "declared");
      break;
    case OPT_LOG:
      j->run.log_path = arg;
      break;
    case OPT_MAP:
      j->run.map_path = arg;
      break;
    case OPT_DRY_RUN:
      j->run.dry_run = true;
      break;
    case OPT_EXTERNAL_DATA:
      if (!*arg || strchr(arg, '/')) return cli_usage("--external-data takes a plain file name");
      j->save.external_data = arg;
      break;
    case OPT_EXTERNAL_THRESHOLD:
      if (!cli_number(arg, &n)) return cli_usage("--external-threshold takes bytes, such as 1KiB");
      j->save.external_threshold = n ? n : 1;
      break;
    case OPT_NO_FSYNC:
      j->save.no_fsync = true;
      break;
    case OPT_RECORD:
      j->record = true;
      break;
    default: {
      int r = cli_common_option(&j->common, o, arg);
      return r < 0 ? EXIT_USAGE : r;
    }
  }
  return ok ? EXIT_DONE : out_of_memory();
}

static void print_model(void *user, const char *pass, surg_model *m) {
  (void)user;
  cli_progress_clear();
  char *text = NULL;
  size_t n = 0;
  if (surg_save_text(m, false, &text, &n) != SURG_OK) return;
  printf("// after %s\n", pass);
  fwrite(text, 1, n, stdout);
  surg_bytes_free(surg_model_context(m), text);
}

/* A row `label  before  after  change`. */
static void row(FILE *f, const char *label, size_t before, size_t after) {
  fprintf(f, "  %-28s %12zu %12zu", label, before, after);
  if (after != before) fprintf(f, "  %+lld", (long long)after - (long long)before);
  fputc('\n', f);
}

typedef struct change {
  const cli_op_count *op;
  size_t before, after;
} change;

static int by_size(const void *a, const void *b) {
  const change *x = a, *y = b;
  size_t nx = x->before > x->after ? x->before : x->after;
  size_t ny = y->before > y->after ? y->before : y->after;
  if (nx != ny) return nx < ny ? 1 : -1;
  return cli_by_operator(x->op, y->op);
}

/* Walks both lists, sorted by operator, side by side; the count of operators that changed. */
static size_t merge_changes(const cli_stats *before, const cli_stats *after, change *out) {
  size_t n = 0;
  for (size_t b = 0, a = 0; b < before->op_count || a < after->op_count;) {
    int order = b == before->op_count  ? 1
                : a == after->op_count ? -1
                                       : cli_by_operator(&before->ops[b], &after->ops[a]);
    change c = {.op = order <= 0 ? &before->ops[b] : &after->ops[a]};
    if (order <= 0) c.before = before->ops[b++].count;
    if (order >= 0) c.after = after->ops[a++].count;
    if (c.before != c.after) out[n++] = c;
  }
  return n;
}

static void changed_ops(FILE *f, const cli_stats *before, const cli_stats *after) {
  qsort(before->ops, before->op_count, sizeof *before->ops, cli_by_operator);
  qsort(after->ops, after->op_count, sizeof *after->ops, cli_by_operator);
  change *changes = calloc(before->op_count + after->op_count + 1, sizeof *changes);
  size_t n = changes ? merge_changes(before, after, changes) : 0;
  if (n) qsort(changes, n, sizeof *changes, by_size);
  for (size_t i = 0; i < n && i < SHOWN_CHANGES; i++) {
    const cli_op_count *op = changes[i].op;
    char name[256], label[64];
    snprintf(name, sizeof name, "%s%s%s", op->domain, op->domain[0] ? "." : "", op->op);
    char *escaped = cli_escaped(name, 20);
    snprintf(label, sizeof label, "  %.26s", escaped ? escaped : "?");
    free(escaped);
    row(f, label, changes[i].before, changes[i].after);
  }
  if (n > SHOWN_CHANGES) fprintf(f, "    and %zu more operators\n", n - SHOWN_CHANGES);
  free(changes);
}

static uint64_t file_bytes(const char *path) {
  struct stat st;
  return stat(path, &st) == 0 && S_ISREG(st.st_mode) ? (uint64_t)st.st_size : 0;
}

typedef struct outcome {
  const char *in, *out;
  cli_stats before, after;
  uint64_t bytes_before, bytes_after;
  surg__run_report report;
  surg__proof proof;
  bool check;
} outcome;

static void print_proof(FILE *f, const surg__proof *p) {
  if (p->checked)
    fprintf(f, "  checked: %u runs, equal", p->checked);
  else
    fprintf(f, "  not checked");
  if (p->skipped) fprintf(f, "; %u more say nothing: the model fails on their inputs", p->skipped);
  if (p->left_out) fprintf(f, "; passes left out: %u", p->left_out);
  fputc('\n', f);
}

static json_t *json_proof(const surg__proof *p) {
  json_t *j = json_object();
  json_object_set_new(j, "checked", json_integer(p->checked));
  json_object_set_new(j, "skipped", json_integer(p->skipped));
  json_object_set_new(j, "left_out", json_integer(p->left_out));
  if (p->skipped) json_object_set_new(j, "why", cli_text_json(p->why));
  return j;
}

static void print_summary(const outcome *o) {
  FILE *f = stderr;
  cli_put(f, o->in);
  if (o->out) {
    fputs(" -> ", f);
    cli_put(f, o->out);
  }
  fprintf(f, "\n  %-28s %12s %12s\n", "", "before", "after");
  row(f, "nodes", o->before.nodes, o->after.nodes);
  changed_ops(f, &o->before, &o->after);
  row(f, "initializers", o->before.initializers, o->after.initializers);
  if (o->bytes_before && o->bytes_after)
    fprintf(f, "  %-28s %12s %12s\n", "file", cli_bytes(o->bytes_before),
            cli_bytes(o->bytes_after));
  fprintf(f, "  exactness: %s%s\n", surg__exactness_name(o->report.worst),
          o->report.limit_reached ? "; the rewrite limit left work undone" : "");
  if (o->check) print_proof(f, &o->proof);
}

static json_t *json_side(const cli_stats *s, uint64_t bytes) {
  json_t *j = json_object();
  json_object_set_new(j, "nodes", json_integer((json_int_t)s->nodes));
  json_object_set_new(j, "initializers", json_integer((json_int_t)s->initializers));
  json_object_set_new(j, "parameters", json_integer((json_int_t)s->parameters));
  json_object_set_new(j, "bytes", json_integer((json_int_t)bytes));
  json_object_set_new(j, "ops", cli_ops_json(s));
  return j;
}

static void print_json(surg_context *ctx, const outcome *o) {
  surg__buf b;
  surg__buf_init(&b, ctx);
  surg__run_report_json(&o->report, &b);
  json_t *j = json_object();
  json_object_set_new(j, "schema", json_integer(1));
  json_object_set_new(j, "in", cli_text_json(o->in));
  if (o->out) json_object_set_new(j, "out", cli_text_json(o->out));
  json_object_set_new(j, "before", json_side(&o->before, o->bytes_before));
  json_object_set_new(j, "after", json_side(&o->after, o->bytes_after));
  json_t *run = b.p && !b.failed ? json_loads(b.p, 0, NULL) : NULL;
  if (run) json_object_set_new(j, "run", run);
  if (o->check) json_object_set_new(j, "check", json_proof(&o->proof));
  json_dumpf(j, stdout, JSON_INDENT(2));
  putchar('\n');
  json_decref(j);
  surg__buf_free(&b);
}

/* Which reports of a run anybody will read; counting operators costs time on large models. */
static bool wants_summary(const job *j) {
  if (j->common.quiet) return false;
  return j->common.summary || isatty(STDERR_FILENO);
}

static void report(const job *j, surg_context *ctx, const outcome *o) {
  if (j->common.json) print_json(ctx, o);
  if (wants_summary(j)) print_summary(o);
  if (!j->stats && !j->time) return;
  surg__buf b;
  surg__buf_init(&b, ctx);
  surg__run_report_print(&o->report, j->stats, j->time, &b);
  if (b.p) fputs(b.p, stderr);
  surg__buf_free(&b);
}

static surg_status record(surg_model *m, const surg__pipeline *p) {
  surg_context *ctx = surg_model_context(m);
  surg__buf b;
  surg__buf_init(&b, ctx);
  surg__pipeline_print(p, &b);
  surg_status s =
      b.failed ? SURG_ENOMEM : surg_model_set_metadata(m, "onnxsurg.pipeline", b.p ? b.p : "");
  if (s == SURG_OK) s = surg_model_set_metadata(m, "onnxsurg.version", surg_version());
  surg__buf_free(&b);
  return s;
}

static void show_pass(void *user, const char *pass) {
  (void)user;
  cli_progress(pass);
}

/* A dry run works on the model itself: nothing is written from it. */
static surg_status run_passes(const job *j, surg_model **m, const surg__pipeline *p, outcome *o) {
  surg__run_options run = j->run;
  run.dry_run = false;
  if (!j->check) return surg__run(m, p, &run, &o->report);
  const surg_status s = surg__run_proven(m, p, &run, &j->proof, &o->report, &o->proof);
  if (s == SURG_OK && o->proof.checked == 0)
    surg__warn(surg_model_context(*m), surg_model_path(*m), "not checked: %s",
               *o->proof.why ? o->proof.why : "no reason");
  return s;
}

/* One model. `out` NULL: nothing is written. */
static surg_status operate(const job *j, surg_context *ctx, const surg__pipeline *p, const char *in,
                           const char *out) {
  bool told = j->common.json || wants_summary(j);
  outcome o = {.in = in, .out = out, .check = j->check, .bytes_before = file_bytes(in), .report = {.ctx = ctx}};
  surg_model *m = NULL;
  if (!j->common.quiet) cli_progress_start("loading");
  surg_status s = surg_load(ctx, in, &j->common.load, &m);
  if (s == SURG_OK && told && !cli_stats_of(m, &o.before)) s = SURG_ENOMEM;
  if (s == SURG_OK) s = run_passes(j, &m, p, &o);
  cli_progress("saving");
  if (s == SURG_OK && j->record) s = record(m, p);
  if (s == SURG_OK && told && !cli_stats_of(m, &o.after)) s = SURG_ENOMEM;
  if (s == SURG_OK && out && !j->run.dry_run) s = surg_save(m, out, &j->save);
  cli_progress_stop();
  if (s == SURG_OK) {
    if (out && !j->run.dry_run) o.bytes_after = file_bytes(out);
    report(j, ctx, &o);
  }
  if (s != SURG_OK && !surg_context_error(ctx)) {
    cli_put(stderr, in);
    fprintf(stderr, ": error: %s\n", surg_status_name(s));
  }
  cli_stats_free(&o.before);
  cli_stats_free(&o.after);
  surg__run_report_free(&o.report);
  surg_model_free(m);
  return s;
}

static char *path_in(const char *dir, const char *in) {
  const char *base = cli_base_name(in);
  size_t n = strlen(dir) + strlen(base) + 2;
  char *path = malloc(n);
  if (path) snprintf(path, n, "%s/%s", dir, base);
  return path;
}

static int operate_all(const job *j, surg_context *ctx, const surg__pipeline *p, char **in, int n,
                       const char *out) {
  int code = EXIT_DONE;
  for (int i = 0; i < n; i++) {
    char *made = j->out_dir ? path_in(j->out_dir, in[i]) : NULL;
    if (j->out_dir && !made) return out_of_memory();
    const char *to = made ? made : j->in_place ? in[i] : out;
    surg_context_clear_error(ctx);
    int c = cli_exit_code(operate(j, ctx, p, in[i], to));
    if (c > code) code = c;
    free(made);
  }
  return code;
}

static int by_base_name(const void *a, const void *b) {
  return strcmp(cli_base_name(*(const char *const *)a), cli_base_name(*(const char *const *)b));
}

/* Two models of one name would overwrite each other in one folder. */
static int check_out_dir(const char *dir, char **args, int n) {
  struct stat st;
  if (stat(dir, &st) != 0 || !S_ISDIR(st.st_mode)) {
    int e = errno;
    bool there = stat(dir, &st) == 0;
    cli_put(stderr, dir);
    fprintf(stderr, ": error: %s", there ? "is no folder (--out-dir)" : strerror(e));
    if (!there && e == ENOENT) {
      fprintf(stderr, " (--out-dir); make it with `mkdir -p ");
      cli_put(stderr, dir);
      fputc('`', stderr);
    }
    fputc('\n', stderr);
    return EXIT_IO;
  }
  const char **sorted = calloc((size_t)n, sizeof *sorted);
  if (!sorted) return out_of_memory();
  memcpy(sorted, args, (size_t)n * sizeof *sorted);
  qsort(sorted, (size_t)n, sizeof *sorted, by_base_name);
  int code = EXIT_DONE;
  for (int i = 1; i < n && code == EXIT_DONE; i++) {
    if (by_base_name(&sorted[i - 1], &sorted[i]) != 0) continue;
    char *name = cli_escaped(cli_base_name(sorted[i]), 120);
    code = cli_usage("two models would be written to one file of --out-dir: %s", name ? name : "");
    free(name);
  }
  free(sorted);
  return code;
}

/* Options that take every IN to an OUT of its own. */
static int arrange_many(const job *j, char **args, int n) {
  for (int i = 0; i < n; i++) {
    if (strcmp(args[i], "-") != 0) continue;
    return cli_usage(j->in_place ? "standard input cannot be written in place"
                                 : "standard input has no name for --out-dir");
  }
  return j->out_dir && !j->run.dry_run ? check_out_dir(j->out_dir, args, n) : EXIT_DONE;
}

/* What IN and OUT are, or why that cannot be. */
static int arrange(const job *j, words *outputs, char **args, int n, int *inputs,
                   const char **out) {
  bool many = j->in_place || j->out_dir;
  *out = outputs->n ? outputs->items[0] : NULL;
  *inputs = n;
  if (j->in_place && j->out_dir) return cli_usage("-i and --out-dir exclude each other");
  if (outputs->n > 1 || (outputs->n && many)) return cli_usage("more than one output given");
  if (n == 0) return cli_usage("no model given: `onnxsurg IN OUT`");
  for (int i = 0; i < n; i++)
    if (!*args[i]) return cli_usage("an empty file name");
  if (many) return arrange_many(j, args, n);
  if (!*out && n == 2) {
    *inputs = 1;
    *out = args[1];
  }
  if (j->run.dry_run) return EXIT_DONE;
  if (!*out && n == 1) {
    fprintf(stderr, "onnxsurg: error: no output given: `onnxsurg IN OUT`, or -i to change ");
    cli_put(stderr, args[0]);
    fprintf(stderr, " itself\n");
    return EXIT_USAGE;
  }
  if (*inputs > 1) return cli_usage("several models need -i or --out-dir");
  if (!**out) return cli_usage("an empty file name");
  if (strcmp(*out, "-") == 0 && (j->common.json || j->print_after.n))
    return cli_usage("standard output cannot take the model and %s",
                     j->common.json ? "--json" : "--print-after");
  return cli_check_folder(*out);
}

static int prepare(job *j, surg_context *ctx, surg__pipeline **p) {
  surg_status s = surg_context_passes(ctx) ? SURG_OK : SURG_ENOMEM;
  for (size_t i = 0; s == SURG_OK && i < j->plugins.n; i++) {
    /* A plugin that never loaded is wrong usage; one that misbehaves later is not. */
    if (surg__plugin_load(ctx, j->plugins.items[i]) != SURG_OK) return EXIT_USAGE;
  }
  for (size_t i = 0; s == SURG_OK && i < j->rules.n; i++) {
    const int code = cli_rules_load(ctx, j->rules.items[i]);
    if (code != EXIT_DONE) return code;
  }
  if (s == SURG_OK) s = surg__pipeline_parse(ctx, j->pipeline, j->pipeline_where, p);
  if (s != SURG_OK && !surg_context_error(ctx)) return out_of_memory();
  return cli_exit_code(s);
}

static int print_pipeline(surg_context *ctx, const surg__pipeline *p) {
  surg__buf b;
  surg__buf_init(&b, ctx);
  surg__pipeline_print(p, &b);
  puts(b.p && !b.failed ? b.p : "");
  surg__buf_free(&b);
  return cli_flush(EXIT_DONE);
}

/* `--opset` and `--ir` are passes behind the others, or alone. */
static int add_moves(job *j, surg_context *ctx) {
  if (!j->opsets.n && !j->ir) return EXIT_DONE;
  surg__buf b;
  surg__buf_init(&b, ctx);
  surg__buf_puts(&b, j->pipeline ? j->pipeline : j->rules.n ? "rewrite" : "");
  int code = cli_moves(&b, j->opsets.items, j->opsets.n, j->ir);
  char *text = code == EXIT_DONE && !b.failed ? strdup(b.p) : NULL;
  if (code == EXIT_DONE && !text) code = out_of_memory();
  surg__buf_free(&b);
  if (!text) return code;
  free(j->pipeline_text);
  j->pipeline = j->pipeline_text = text;
  if (!j->pipeline_where) j->pipeline_where = "--opset";
  return EXIT_DONE;
}

static int run_job(job *j, words *outputs, char **args, int n) {
  int inputs = 0;
  const char *out = NULL;
  int code = j->print_pipeline ? EXIT_DONE : arrange(j, outputs, args, n, &inputs, &out);
  if (code != EXIT_DONE) return code;
  j->run.keep = j->keep.items;
  j->run.n_keep = j->keep.n;
  j->run.dims = j->dims.items;
  j->run.n_dims = j->dims.n;
  j->run.skip = j->skip.items;
  j->run.n_skip = j->skip.n;
  j->run.print_after = j->print_after.items;
  j->run.n_print_after = j->print_after.n;
  j->run.print = print_model;
  j->run.progress = show_pass;
  j->proof.progress = show_pass;
  /* Values in flight count against the memory of a run. */
  if (j->check && !j->common.max_memory) j->common.max_memory = CLI_RUN_MEMORY;
  j->run.timeout_ms = j->common.timeout_seconds * 1000;
  j->run.max_memory = j->common.max_memory;
  surg_context *ctx = cli_context(&j->common);
  if (!ctx) return EXIT_LIMIT;
  surg__pipeline *p = NULL;
  code = add_moves(j, ctx);
  if (!j->pipeline) {
    j->pipeline = j->rules.n ? "rewrite" : DEFAULT_PIPELINE;
    j->pipeline_where = "preset";
  }
  if (code == EXIT_DONE) code = prepare(j, ctx, &p);
  if (code == EXIT_DONE)
    code = j->print_pipeline ? print_pipeline(ctx, p) : operate_all(j, ctx, p, args, inputs, out);
  surg__pipeline_free(p);
  surg_context_free(ctx);
  return cli_flush(code);
}

/* Takes one option of the command line; `form` NULL: of the main form. */
static int take_any(job *j, pass_form *form, int o, char **argv, words *outputs) {
  if (form && o >= OPT_OF_PASS) return pass_form_take(form, o, optarg);
  return o == '?' ? cli_bad_option(argv, form ? form->options : options)
                  : take_option(j, o, optarg, outputs);
}

static int surgery(int argc, char **argv, pass_form *form) {
  job j = {.save = {.size = sizeof(surg_save_options)},
           .proof = {.seeds = 1, .rtol = -1, .max_bytes = CLI_RUN_BYTES, .max_work = CLI_CHECK_WORK}};
  words outputs = {0};
  const struct option *table = form ? form->options : options;
  cli_common_init(&j.common);
  opterr = 0;
  int code = form ? pass_form_pairs(form, &argc, argv) : EXIT_DONE;
  for (int o; code == EXIT_DONE && (o = getopt_long(argc, argv, "io:", table, NULL)) != -1;) {
    if (o == OPT_HELP || o == OPT_VERSION) {
      if (o == OPT_VERSION)
        printf("onnxsurg %s\n", surg_version());
      else if (form)
        pass_form_help(form);
      else
        fputs(help, stdout);
      code = cli_flush(EXIT_DONE);
      goto out;
    }
    code = take_any(&j, form, o, argv, &outputs);
  }
  if (code == EXIT_DONE && form) {
    j.pipeline = j.pipeline_text = pass_form_pipeline(form);
    j.pipeline_where = form->name;
    if (!j.pipeline) code = out_of_memory();
  }
  if (code == EXIT_DONE) code = run_job(&j, &outputs, argv + optind, argc - optind);
out:
  free(j.pipeline_text);
  free(j.opsets.items);
  free(j.keep.items);
  free(j.dims.items);
  free(j.skip.items);
  free(j.print_after.items);
  free(j.plugins.items);
  free(j.rules.items);
  free(outputs.items);
  return code;
}

int cmd_surgery(int argc, char **argv) {
  return surgery(argc, argv, NULL);
}

int cmd_pass(int argc, char **argv) {
  pass_form form;
  int code = pass_form_open(&form, argv[0], options);
  if (code != EXIT_DONE) return code;
  code = surgery(argc, argv, &form);
  pass_form_close(&form);
  return code;
}
