/* SPDX-License-Identifier: Apache-2.0 */
/* `onnxsurg repair --target T IN OUT`: looks for the passes after which an engine takes the model.
 *
 * A repair is a pipeline. Cures are tried one by one on a copy, in the order of how little they
 * change; one stays if the target objects to less afterwards. What was found is then run on the
 * model itself, and can be run again with --pass. */
#include <stdlib.h>
#include <string.h>

#include "base/context.h"
#include "check_target.h"
#include "ir/ir.h" /* for surg__locate_node alone */
#include "pass/pass.h"

#define ROUNDS 6u   /* over all cures; each must leave fewer objections */
#define SHOWN 20u   /* objections that are told when some remain */
#define OLDEST 7    /* the oldest opset that is tried */

static const char help[] =
    "usage: onnxsurg repair --target T [options] IN OUT\n"
    "Finds the passes after which the engine T takes the model, and runs them. Inputs\n"
    "and outputs keep their names and types. Where something remains that T refuses,\n"
    "it says what and writes nothing. See onnxsurg targets for engines,\n"
    "doc/targets.md for how to add one.\n"
    "  --target T          the engine: a name (onnxsurg targets), or a file T.target\n"
    "  --allow HOW         also rewrites that are approx, or lossy; exact, ulp\n"
    "  --partial           write what was reached, though the engine still refuses it\n"
    "  --check[=N]         prove by running both that the outputs are equal (N seeds)\n"
    "  --verify-each       check the graph after every pass\n"
    "  --no-fsync          do not wait for the disk\n"
    "  --dry-run           find and tell, write nothing\n"
    "  --quiet, --json     say nothing, or say it for programs\n"
    "exit codes: 0 the engine takes it, 1 it does not, 2 wrong usage, 3 file, 4 limit\n";

enum { OPT_TARGET = OPT_OWN, OPT_ALLOW, OPT_PARTIAL, OPT_CHECK, OPT_DRY_RUN, OPT_VERIFY, OPT_NO_FSYNC };

typedef struct repair {
  cli_common common;
  const char *target_name, *in, *out;
  surg__run_options given; /* --allow */
  bool partial, dry_run, verify_each, no_fsync;
  uint64_t check; /* seeds; 0: no proof */
  surg_context *ctx, *quiet; /* quiet: where cures are tried; their lines are not told */
  surg__target *t;
  surg_model *m; /* of `quiet`, as far as it is cured */
  surg__buf pipeline;
  surg__buf refused; /* cures that would help and are not exact */
} repair;

/* --- objections --- */

typedef struct objections {
  size_t count[SURG__C_SAYS + 1]; /* by cause, those that refuse */
  size_t all, unknown;
  surg__buf *ops; /* refused operators, as "A+B"; NULL: not asked for */
} objections;

static bool has_word(const surg__buf *b, const char *word) {
  const size_t n = strlen(word);
  for (size_t i = 0; i + n <= b->n; i++)
    if (!memcmp(b->p + i, word, n) && (i == 0 || b->p[i - 1] == '+') &&
        (i + n == b->n || b->p[i + n] == '+'))
      return true;
  return false;
}

static void add_op(surg__buf *b, const surg_node *n) {
  char name[256];
  const char *domain = surg_node_domain(n);
  snprintf(name, sizeof name, "%s%s%s", domain, domain[0] ? "." : "", surg_node_op_type(n));
  if (has_word(b, name)) return;
  if (b->n) surg__buf_putc(b, '+');
  surg__buf_puts(b, name);
}

static void count_one(void *user, const surg__objection *o) {
  objections *all = user;
  if (o->verdict == SURG__UNKNOWN) {
    all->unknown++;
    return;
  }
  all->count[o->cause]++;
  all->all++;
  if (all->ops && o->node && (o->cause == SURG__C_OP || o->cause == SURG__C_CUSTOM))
    add_op(all->ops, o->node);
}

static surg_status count(const repair *r, surg_model *m, objections *out, surg__buf *ops) {
  *out = (objections){.ops = ops};
  return surg__target_model(r->t, m, count_one, out);
}

/* --- trying a cure --- */

/* What is tried; what goes beyond the user's consent is told of and not done. */
static surg_exactness most(const repair *r) {
  return r->given.has_allow && r->given.allow > SURG_APPROX ? r->given.allow : SURG_APPROX;
}

/* Runs a pipeline on a copy and counts what the target objects to then; *exact: by rewrites that
 * need no consent. NULL: it cannot be run there. */
static surg_model *try_on(repair *r, const char *text, objections *after, bool *exact) {
  surg__pipeline *p = NULL;
  surg_model *copy = surg_model_clone(r->m);
  const surg__run_options options = {
      .verify_each = r->verify_each, .has_allow = true, .allow = most(r)};
  surg__run_report told = {0};
  surg_context_clear_error(r->quiet);
  surg_status s = copy ? surg__pipeline_parse(r->quiet, text, "repair", &p) : SURG_ENOMEM;
  if (s == SURG_OK) {
    s = surg__run(&copy, p, &options, &told);
    *exact = told.worst <= (r->given.has_allow ? r->given.allow : SURG_ULP);
    surg__run_report_free(&told);
  }
  surg__pipeline_free(p);
  if (s == SURG_OK) s = count(r, copy, after, NULL);
  if (s == SURG_OK) return copy;
  if (copy) surg_model_free(copy);
  surg_context_clear_error(r->quiet);
  return NULL;
}

/* Notes a cure that would help, once. */
static void would_help(repair *r, const char *text) {
  const size_t n = strlen(text);
  for (size_t i = 0; i + n <= r->refused.n; i++)
    if (!memcmp(r->refused.p + i, text, n)) return;
  surg__buf_printf(&r->refused, "%s%s", r->refused.n ? ", " : "", text);
}

/* Keeps the cure if the target objects to less; *now is what remains. */
static bool cure(repair *r, const char *text, objections *now) {
  objections after;
  bool exact = true;
  surg_model *copy = try_on(r, text, &after, &exact);
  const bool helps = copy && after.all < now->all;
  if (helps && !exact) would_help(r, text);
  if (!helps || !exact) {
    if (copy) surg_model_free(copy);
    return false;
  }
  surg_model_free(r->m);
  r->m = copy;
  *now = after;
  surg__buf_printf(&r->pipeline, "%s%s", r->pipeline.n ? "," : "", text);
  return true;
}

/* --- the cures --- */

static const surg__tspan *window(const surg__target *t) {
  for (size_t i = 0; i < t->opsets.count; i++)
    if (!t->opsets.items[i].name[0]) return &t->opsets.items[i];
  return NULL;
}

/* The opset with the fewest objections, the nearest one where several have as few; of those that
 * need no consent, and of all. */
static bool cure_opset(repair *r, objections *now) {
  const surg__tspan *w = window(r->t);
  const int64_t have = surg_model_opset(r->m, ""), newest = surg_schema_newest("");
  const int64_t low = w && w->low > OLDEST ? w->low : OLDEST;
  const int64_t high = w && w->high < newest ? w->high : newest;
  char text[64], best[2][64] = {"", ""};
  size_t least[2] = {now->all, now->all};
  for (int64_t step = 1; step <= newest && least[1] > 0; step++)
    for (int side = 0; side < 2; side++) {
      const int64_t to = side ? have + step : have - step;
      if (to < low || to > high) continue;
      snprintf(text, sizeof text, "opset{to=%lld}", (long long)to);
      objections after;
      bool exact = true;
      surg_model *copy = try_on(r, text, &after, &exact);
      for (int kind = 0; copy && kind <= exact; kind++)
        if (after.all < least[kind]) {
          least[kind] = after.all;
          memcpy(best[kind], text, sizeof text);
        }
      if (copy) surg_model_free(copy);
    }
  if (!best[1][0] && best[0][0]) would_help(r, best[0]);
  return best[1][0] && cure(r, best[1], now);
}

/* Other domains: to the nearest end of what is taken. */
static bool cure_domains(repair *r, objections *now) {
  bool any = false;
  for (size_t i = 0; i < r->t->opsets.count; i++) {
    const surg__tspan *w = &r->t->opsets.items[i];
    const int64_t have = w->name[0] ? surg_model_opset(r->m, w->name) : 0;
    char text[200];
    if (have < 1 || (have >= w->low && have <= w->high)) continue;
    snprintf(text, sizeof text, "opset{domain=%.100s,to=%lld}", w->name,
             (long long)(have > w->high ? w->high : w->low));
    any |= cure(r, text, now);
  }
  return any;
}

static bool cure_ir(repair *r, objections *now) {
  char text[64];
  const int64_t have = surg_model_ir_version(r->m), to = have > r->t->ir.high ? r->t->ir.high
                                                                              : r->t->ir.low;
  snprintf(text, sizeof text, "ir{to=%lld}", (long long)to);
  return cure(r, text, now);
}

/* Refused operators, one by one: where one cannot be replaced the others can. */
static bool cure_ops(repair *r, objections *now) {
  surg__buf ops, text;
  objections unused;
  bool any = false;
  surg__buf_init(&ops, r->ctx);
  surg__buf_init(&text, r->ctx);
  if (count(r, r->m, &unused, &ops) == SURG_OK && ops.n) {
    surg__buf_putc(&ops, 0);
    for (char *word = ops.failed ? NULL : ops.p, *end; word && *word; word = end) {
      end = word + strcspn(word, "+");
      const bool more = *end;
      *end = 0;
      text.n = 0;
      surg__buf_puts(&text, "replace{op=");
      surg__pipeline_quote(&text, word);
      surg__buf_puts(&text, "}");
      surg__buf_putc(&text, 0);
      any |= !text.failed && cure(r, text.p, now);
      end += more;
    }
  }
  surg__buf_free(&ops);
  surg__buf_free(&text);
  return any;
}

/* One round, what changes least first. */
static bool round_of(repair *r, objections *now) {
  static const struct simple {
    surg__cause cause;
    const char *pipeline;
  } simple[] = {{SURG__C_OPSET, "prune"},            {SURG__C_VERSION, "prune"},
                {SURG__C_CONSTANT, "fold"},          {SURG__C_PLACE, "prune"},
                {SURG__C_OP, "prune"},               {SURG__C_TYPE, "prune"},
                {SURG__C_OP, "fold,prune"},          {SURG__C_FUNCTION, "inline"},
                {SURG__C_OP, "rewrite{group=simplify},prune"},
                {SURG__C_CONSTANT, "fold{max-growth=inf},prune"}};
  bool any = false;
  if (now->count[SURG__C_IR]) any |= cure_ir(r, now);
  for (size_t i = 0; i < SURG_COUNT(simple) && now->all; i++)
    if (now->count[simple[i].cause]) any |= cure(r, simple[i].pipeline, now);
  if (now->count[SURG__C_OPSET] || now->count[SURG__C_VERSION] || now->count[SURG__C_OP])
    any |= cure_opset(r, now);
  if (now->count[SURG__C_OPSET]) any |= cure_domains(r, now);
  if (now->count[SURG__C_OP] || now->count[SURG__C_CUSTOM]) any |= cure_ops(r, now);
  return any;
}

/* --- telling --- */

static void print_objection(void *user, const surg__objection *o) {
  objections *all = user;
  if (o->verdict != SURG__ILLEGAL) return;
  if (all->all++ >= SHOWN) return;
  fprintf(stderr, "  %s%s%s\n", o->node ? surg__locate_node(o->node) : "model", ": ", o->text);
}

static void tell(const repair *r, const objections *before, const objections *after) {
  if (r->common.json) {
    cli_print_json(json_pack("{s:i,s:s,s:s,s:I,s:I,s:I}", "schema", 1, "target", r->t->name,
                             "pipeline", r->pipeline.n ? r->pipeline.p : "", "before",
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
  if (r->pipeline.n)
    fprintf(stderr, "  did: %s%s%s--pass '%s'\n", r->given.has_allow ? "--allow " : "",
            r->given.has_allow ? surg__exactness_name(r->given.allow) : "",
            r->given.has_allow ? " " : "", r->pipeline.p);
  if (after->unknown)
    fprintf(stderr, "  not known of %zu node%s: onnxsurg check --target %s tells\n", after->unknown,
            after->unknown == 1 ? "" : "s", r->t->name);
  if (!after->all) return;
  if (r->refused.n)
    fprintf(stderr, "  would help, and is not exact (--allow approx): %s\n", r->refused.p);
  objections shown = {0};
  fprintf(stderr, "  remain:\n");
  surg__target_model(r->t, r->m, print_objection, &shown);
  if (shown.all > SHOWN) fprintf(stderr, "  and %zu more\n", shown.all - SHOWN);
}

/* Runs what was found on the model as it was loaded, with the proof if it is wanted, and writes. */
static int apply(repair *r) {
  surg_model *m = NULL;
  surg__pipeline *p = NULL;
  surg_status s = surg_load(r->ctx, r->in, &r->common.load, &m);
  if (s == SURG_OK) s = surg__pipeline_parse(r->ctx, r->pipeline.n ? r->pipeline.p : "", "repair", &p);
  const surg__run_options run_options = {
      .verify_each = r->verify_each, .has_allow = true, .allow = most(r)};
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

static int run(repair *r) {
  objections before, now;
  int code = EXIT_DONE;
  r->t = cli_target(r->ctx, r->target_name, &code);
  if (!r->t) return code;
  /* Loaded twice: once where lines are told, with the pipeline that was found. */
  surg_status s = surg_load(r->quiet, r->in, &r->common.load, &r->m);
  if (s != SURG_OK) {
    surg_model *m = NULL;
    s = surg_load(r->ctx, r->in, &r->common.load, &m);
    if (m) surg_model_free(m);
    return cli_exit_code(s);
  }
  s = count(r, r->m, &before, NULL);
  now = before;
  for (unsigned i = 0; i < ROUNDS && now.all && s == SURG_OK; i++)
    if (!round_of(r, &now)) break;
  if (s != SURG_OK) return cli_exit_code(s);
  surg__buf_putc(&r->pipeline, 0);
  surg__buf_putc(&r->refused, 0);
  if (r->pipeline.failed || r->refused.failed) return EXIT_LIMIT;
  r->pipeline.n--;
  r->refused.n--;
  tell(r, &before, &now);
  if (!now.all || r->partial) code = apply(r);
  return code == EXIT_DONE && now.all ? EXIT_MODEL : code;
}

static void hear_nothing(void *user, surg_severity severity, const char *line) {
  (void)user, (void)severity, (void)line;
}

static int take(void *user, int o, char *arg) {
  repair *r = user;
  switch (o) {
    case OPT_TARGET: r->target_name = arg; return EXIT_DONE;
    case OPT_PARTIAL: r->partial = true; return EXIT_DONE;
    case OPT_DRY_RUN: r->dry_run = true; return EXIT_DONE;
    case OPT_NO_FSYNC: r->no_fsync = true; return EXIT_DONE;
    case OPT_VERIFY: r->verify_each = true; return EXIT_DONE;
    case OPT_ALLOW:
      return cli_take_allow(&r->given, arg);
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
  repair r = {0};
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
    surg__buf_init(&r.pipeline, r.ctx);
    surg__buf_init(&r.refused, r.ctx);
    code = run(&r);
    surg__buf_free(&r.pipeline);
    surg__buf_free(&r.refused);
  }
  if (r.m) surg_model_free(r.m);
  surg__target_free(r.t);
  surg_context_free(r.quiet);
  surg_context_free(r.ctx);
  return cli_flush(code);
}
