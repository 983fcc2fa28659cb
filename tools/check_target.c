/* SPDX-License-Identifier: Apache-2.0 */
/* `check --target`: what an engine does not take, as findings, and the verdict. */
#include "check_target.h"

#include <string.h>

#include "base/context.h"
#include "base/limits.h"
#include "findings.h"
#include "ir/ir.h" /* for surg__locate_node alone */
#include "verdict.h"

surg__target *cli_target(surg_context *ctx, const char *name, int *code) {
  const size_t length = strlen(name);
  const bool file = strchr(name, '/') || (length > 7 && !strcmp(name + length - 7, ".target"));
  char *text = NULL;
  size_t n = 0;
  surg__target *t = NULL;
  *code = EXIT_DONE;
  if (file) *code = cli_read_text(name, SURG_LIMIT_TARGET_BYTES, &text, &n);
  if (*code == EXIT_DONE)
    t = file ? surg__target_read(ctx, text, n, name) : surg__target_find(ctx, name);
  free(text);
  if (*code != EXIT_DONE || t) return t;
  const surg_status s = ctx->alloc_status ? ctx->alloc_status : ctx->error_status;
  *code = s == SURG_EINVALID ? EXIT_USAGE : s ? cli_exit_code(s) : EXIT_LIMIT;
  return NULL;
}

typedef struct telling {
  report *r;
  target_tally *all;
} telling;

static const char *code_of(const surg__objection *o) {
  static const char *const codes[] = {
      [SURG__C_NONE] = "E403",     [SURG__C_IR] = "E401",       [SURG__C_OPSET] = "E402",
      [SURG__C_OP] = "E403",       [SURG__C_VERSION] = "E404",  [SURG__C_TYPE] = "E405",
      [SURG__C_CONSTANT] = "E406", [SURG__C_ATTR] = "E407",     [SURG__C_RANGE] = "E408",
      [SURG__C_PLACE] = "E409",    [SURG__C_DYNAMIC] = "E410",  [SURG__C_FUNCTION] = "E411",
      [SURG__C_CUSTOM] = "E412",   [SURG__C_ORDER] = "E413",    [SURG__C_FED] = "E414",
      [SURG__C_EXTERNAL] = "E415", [SURG__C_INVALID] = "E403",
      [SURG__C_SAYS] = "E403"};
  return o->code ? o->code : o->verdict == SURG__UNKNOWN ? "N401" : codes[o->cause];
}

static void count(target_tally *all, surg__verdict v, bool misread) {
  all->unsupported += v == SURG__ILLEGAL;
  all->unknown += v == SURG__UNKNOWN;
  all->misread += misread;
}

/* Invalid, and accepted by the engine: a warning. Invalid, and nothing is known: a note of that code. */
static surg_severity severity_of(const char *code, surg__verdict v) {
  const surg_severity own = surg__check_severity(code);
  if (v == SURG__ILLEGAL) return SURG_ERROR;
  if (v == SURG__UNKNOWN) return SURG_NOTE;
  return own == SURG_ERROR ? SURG_WARNING : own;
}

static void heard(void *user, const surg__objection *o) {
  telling *t = user;
  const char *code = code_of(o);
  const char *where = o->where ? o->where : o->node ? surg__locate_node(o->node) : "model";
  count(t->all, o->verdict, o->misread);
  report_show_as(t->r, severity_of(code, o->verdict), code, where, o->text,
                 surg__check_rule(code)->pass);
}

/* What loading finds and the verdict does not count: the rest comes again from surg__target_model. */
void check_target_finding(report *r, const surg__target *t, const finding *f) {
  const bool judged = surg__target_judges(f->code); /* node by node; what is accepted is shown here */
  const surg__verdict v = judged ? SURG__LEGAL : surg__target_finding(t, f->code);
  if (!judged && (surg__check_severity(f->code) == SURG_ERROR || v != SURG__LEGAL)) return;
  report_show_as(r, severity_of(f->code, v), f->code, f->where, f->text, f->pass);
}

/* What can be done about it. */
static surg_status find_repair(report *r, const surg__target *t, const char *name, quiet_model *q) {
  verdict v;
  const surg_status s = verdict_find(&v, t, q->m);
  if (s != SURG_OK)
    quiet_tell(q->ctx, s);
  else if (report_lines(r))
    r->target = verdict_json(&v, t);
  else
    verdict_print(&v, t, name, r->path);
  verdict_free(&v);
  return s;
}

#define ELSEWHERE_SHOWN 20u /* nodes on the CPU that are listed; the rest is counted */

typedef struct placing {
  json_t *list; /* or NULL: lines */
  size_t count[SURG__ILLEGAL + 1];
} placing;

static void placed(void *user, const surg__objection *o) {
  placing *p = user;
  const char *where = surg__locate_node(o->node);
  const bool known = o->verdict == SURG__ILLEGAL;
  if (p->list)
    json_array_append_new(p->list, json_pack("{s:o,s:b,s:o}", "where", cli_text_json(where),
                                             "known", known, "text", cli_text_json(o->text)));
  else if (p->count[SURG__ILLEGAL] + p->count[SURG__UNKNOWN] < ELSEWHERE_SHOWN)
    printf("    %s: %s%s\n", where, known ? "" : "unknown: ", o->text);
  p->count[o->verdict]++;
}

static void count_placed(void *user, const surg__objection *o) {
  ((placing *)user)->count[o->verdict]++;
}

/* The nodes of a supported model that the host of the target runs. */
static surg_status elsewhere(report *r, const surg__target *t, surg_model *m) {
  placing p = {0};
  size_t nodes;
  surg_status s = surg__target_elsewhere(t, m, count_placed, &p, &nodes);
  const size_t off = p.count[SURG__ILLEGAL], open = p.count[SURG__UNKNOWN];
  if (s) return s;
  p = (placing){.list = report_lines(r) ? json_array() : NULL};
  if (!p.list)
    printf("  supported by %s: %zu of %zu node%s on the CPU, %zu unknown\n", t->host->name, off,
           nodes, nodes == 1 ? "" : "s", open);
  s = surg__target_elsewhere(t, m, placed, &p, &nodes);
  if (p.list) {
    if (!r->target) r->target = json_object();
    json_object_set_new(r->target, "elsewhere",
                        json_pack("{s:s,s:I,s:I,s:I,s:o}", "host", t->host->name, "nodes",
                                  (json_int_t)nodes, "on_cpu", (json_int_t)off, "unknown",
                                  (json_int_t)open, "list", p.list));
  } else if (off + open > ELSEWHERE_SHOWN) {
    printf("    and %zu more\n", off + open - ELSEWHERE_SHOWN);
  }
  return s;
}

static void put_reasons(size_t n, const char *what) {
  printf(": %zu %s%s", n, what, n == 1 ? "" : "s");
}

static void print_verdict(const report *r, const surg__target *t, surg__verdict v,
                          const target_tally *all) {
  cli_put(stdout, r->path);
  printf(": %s by %s", v == SURG__UNKNOWN ? "support unknown" : r->verdict, t->name);
  if (v == SURG__ILLEGAL) put_reasons(all->unsupported, "reason");
  if (v == SURG__ILLEGAL && all->misread == all->unsupported)
    printf(" (it imports the model and computes something else)");
  if (v == SURG__UNKNOWN) put_reasons(all->unknown, "fact");
  printf("\n  source: %s\n", t->source);
}

/* The model of the verdict is loaded with its defects and with lines that go nowhere: cures that
 * fail have some. */
surg_status check_target(report *r, const surg__target *t, const char *name,
                         const cli_common *common, const findings *f, target_tally *all) {
  telling tell = {.r = r, .all = all};
  quiet_model q;
  surg_status s = quiet_open_any(&q, common, f->bytes ? f->name : r->path, f->bytes, f->n_bytes);
  if (s == SURG_OK)
    s = surg__target_model(t, q.m, heard, &tell);
  else
    all->unsupported++; /* no model can be made of it */
  const surg__verdict v = surg__verdict_of(all->unsupported, all->unknown);
  r->verdict = surg__verdict_word(v);
  if (s == SURG_OK && !r->out->quiet) {
    if (!report_lines(r)) print_verdict(r, t, v, all);
    if (v == SURG__ILLEGAL || report_lines(r)) s = find_repair(r, t, name, &q);
    if (!s && t->host && v != SURG__ILLEGAL) s = elsewhere(r, t, q.m);
  }
  quiet_close(&q);
  return s;
}
