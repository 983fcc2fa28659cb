/* SPDX-License-Identifier: Apache-2.0 */
/* `check --target`: reports what an engine does not support, and the verdict. */
#include "check_target.h"

#include <string.h>

#include "findings.h"
#include "quiet.h"
#include "verdict.h"

surg_target *cli_target(surg_context *ctx, const char *name, int *code) {
  surg_target *t = NULL;
  *code = cli_exit_code(surg_target_open(ctx, name, &t));
  return t;
}

typedef struct telling {
  report *r;
  target_tally *all;
} telling;

static void count(target_tally *all, const surg_objection *o) {
  all->unsupported += o->verdict == SURG_UNSUPPORTED;
  all->unknown += o->verdict == SURG_SUPPORT_UNKNOWN;
  all->misread += o->misread;
  all->fed += o->fed;
  all->data += o->data;
}

static void objected(void *user, const surg_objection *o) {
  telling *t = user;
  count(t->all, o);
  report_show_as(t->r, o->severity, o->code, o->where, o->text, o->pass);
}

/* Reports a loader finding that does not count in the verdict. surg_target_judge reports all
 * other ones again, so they are skipped here. */
void check_target_finding(report *r, const surg_target *t, const surg_check_finding *f) {
  int32_t support, severity;
  /* A code that the target judges node by node is accepted here; its objections follow later. */
  const bool counts = surg_target_finding(t, f->code, &support, &severity) != SURG_ENOTFOUND;
  if (counts && (f->severity == SURG_ERROR || support != SURG_SUPPORTED)) return;
  report_show_as(r, (surg_severity)severity, f->code, f->where, f->text, f->pass);
}

/* Reports the repairs that would make the model supported. */
static surg_status find_repair(report *r, const surg_target *t, const char *name, quiet_model *q) {
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

#define ELSEWHERE_SHOWN 20u /* nodes on the CPU that are listed; the others are counted */

typedef struct placing {
  json_t *list; /* NULL: print text */
  size_t shown;
} placing;

static void placed(void *user, const surg_objection *o) {
  placing *p = user;
  const bool known = o->verdict == SURG_UNSUPPORTED;
  if (p->list)
    json_array_append_new(p->list, json_pack("{s:o,s:b,s:o}", "where", cli_text_json(o->where),
                                             "known", known, "text", cli_text_json(o->text)));
  else if (p->shown++ < ELSEWHERE_SHOWN)
    printf("    %s: %s%s\n", o->where, known ? "" : "unknown: ", o->text);
}

/* Reports the nodes of a supported model that run on the host instead of the target's device. */
static surg_status elsewhere(report *r, const surg_target *t, surg_model *m) {
  placing p = {.list = report_lines(r) ? json_array() : NULL};
  size_t nodes, off, open;
  surg_status s = surg_target_host_nodes(t, m, NULL, NULL, &off, &open, &nodes);
  if (s == SURG_OK && !p.list)
    printf("  supported by %s: %zu of %zu node%s on the CPU, %zu unknown\n", surg_target_host(t),
           off, nodes, nodes == 1 ? "" : "s", open);
  if (s == SURG_OK) s = surg_target_host_nodes(t, m, placed, &p, NULL, NULL, NULL);
  if (p.list) {
    if (!r->target) r->target = json_object();
    json_object_set_new(
        r->target, "elsewhere",
        json_pack("{s:s,s:I,s:I,s:I,s:o}", "host", surg_target_host(t), "nodes", (json_int_t)nodes,
                  "on_cpu", (json_int_t)off, "unknown", (json_int_t)open, "list", p.list));
  } else if (p.shown > ELSEWHERE_SHOWN) {
    printf("    and %zu more\n", p.shown - ELSEWHERE_SHOWN);
  }
  return s;
}

static void put_reasons(size_t n, const char *what) {
  printf(": %zu %s%s", n, what, n == 1 ? "" : "s");
}

surg_verdict target_verdict(const target_tally *all) {
  return all->unsupported ? SURG_UNSUPPORTED : all->unknown ? SURG_SUPPORT_UNKNOWN : SURG_SUPPORTED;
}

static void print_verdict(const report *r, const surg_target *t, surg_verdict v,
                          const target_tally *all) {
  cli_put(stdout, r->path);
  if (v == SURG_SUPPORT_UNKNOWN)
    printf(": support by %s is unknown", surg_target_name(t));
  else
    printf(": %s by %s", r->verdict, surg_target_name(t));
  if (v == SURG_UNSUPPORTED) put_reasons(all->unsupported, "reason");
  if (v == SURG_UNSUPPORTED && all->misread == all->unsupported)
    printf(all->fed || all->unknown ? " (it may import the model, and then computes something else)"
                                    : " (it imports the model and computes something else)");
  if (v == SURG_SUPPORT_UNKNOWN) put_reasons(all->unknown, "fact");
  printf("\n  source: %s\n", surg_target_source(t));
}

surg_verdict check_target_unread(const surg_target *t, const char *code) {
  int32_t support = SURG_UNSUPPORTED, severity;
  const surg_status s = surg_target_finding(t, code, &support, &severity);
  return s == SURG_OK && support != SURG_UNSUPPORTED ? SURG_SUPPORT_UNKNOWN : SURG_UNSUPPORTED;
}

/* Passes on what the target rejects, except data files and their weights. */
static void objected_rest(void *user, const surg_objection *o) {
  const bool file = o->data || (o->code && !strcmp(o->code, "E111"));
  if (o->verdict == SURG_UNSUPPORTED && !file) objected(user, o);
}

surg_verdict check_target_rest(report *r, const surg_target *t, const cli_common *common,
                               const findings *f, const char *code) {
  cli_common inspecting = *common;
  target_tally all = {0};
  telling tell = {.r = r, .all = &all};
  quiet_model q;
  surg_judgement sum = {.size = sizeof sum};
  const surg_verdict v = check_target_unread(t, code);
  inspecting.load.inspect = true;
  if (v != SURG_SUPPORT_UNKNOWN) return v;
  if (quiet_open_any(&q, &inspecting, f->ctx, r->path, f->bytes.p, f->bytes.n) == SURG_OK)
    surg_target_judge(t, q.m, objected_rest, &tell, &sum);
  quiet_close(&q);
  return all.unsupported ? SURG_UNSUPPORTED : v;
}

/* Loads the model again, with its defects, in a context that prints nothing: trying repairs that
 * fail produces diagnostics that the user must not see. */
surg_status check_target(report *r, const surg_target *t, const char *name,
                         const cli_common *common, const findings *f, const char *code,
                         target_tally *all) {
  telling tell = {.r = r, .all = all};
  quiet_model q;
  surg_judgement sum = {.size = sizeof sum};
  surg_status s = quiet_open_any(&q, common, f->ctx, r->path, f->bytes.p, f->bytes.n);
  if (s == SURG_OK) {
    s = surg_target_judge(t, q.m, objected, &tell, &sum);
    if (s != SURG_OK && surg_context_error(q.ctx)) /* q prints nothing */
      fprintf(stderr, "%s\n", surg_context_error(q.ctx));
  } else if (code && check_target_rest(r, t, common, f, code) == SURG_SUPPORT_UNKNOWN)
    all->unknown++; /* the file cannot be loaded as a model */
  else
    all->unsupported++;
  const surg_verdict v = target_verdict(all);
  r->verdict = surg_verdict_name(v);
  if (all->data) r->with_data = surg_verdict_name((surg_verdict)sum.verdict_with_data);
  if (s == SURG_OK && !r->out->quiet) {
    if (!report_lines(r)) print_verdict(r, t, v, all);
    if (name && (v == SURG_UNSUPPORTED || all->data || report_lines(r)))
      s = find_repair(r, t, name, &q);
    if (!s && surg_target_host(t) && v != SURG_UNSUPPORTED) s = elsewhere(r, t, q.m);
  }
  quiet_close(&q);
  return s;
}
