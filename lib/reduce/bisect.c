/* SPDX-License-Identifier: Apache-2.0 */
/* Which rewrite of a run makes a test fail: a binary search over the limit on rewrites. */
#include <onnxsurg/bisect.h>
#include <onnxsurg/onnxsurg.h>
#include <stdio.h>

#include "base/context.h"
#include "base/diag.h"

struct surg_bisection {
  surg_context *ctx;
  surg_model *model[2]; /* before and after */
  surg_bisect_summary sum;
  char pass[128], rule[128];
};

typedef struct search {
  surg_context *ctx;
  const surg_model *start;
  const char *pipeline;
  surg_reduce_test test;
  void *user;
  surg_bisect_options o;
  surg_run_options run;
  uint64_t tests;
} search;

/* One run: its model, the number of its rewrites, and the pass that made the last one. */
typedef struct result {
  surg_model *m;
  uint64_t rewrites;
  char pass[128];
} result;

static void drop(result *r) {
  surg_model_free(r->m);
  r->m = NULL;
}

/* Runs with at most `limit` rewrites; UINT64_MAX: without a limit. */
static surg_status run(search *s, uint64_t limit, result *out) {
  surg_run_report *report = NULL;
  surg_run_summary sum = {.size = sizeof sum};
  *out = (result){.m = surg_model_clone(s->start)};
  if (!out->m) return surg__oom(s->ctx, NULL);
  s->run.has_rewrite_limit = limit != UINT64_MAX;
  s->run.rewrite_limit = limit;
  surg_status status = surg_run(&out->m, s->pipeline, &s->run, &report);
  if (status == SURG_OK) status = surg_run_get(report, &sum);
  out->rewrites = sum.rewrites;
  surg_run_report_free(report);
  if (status != SURG_OK) drop(out);
  return status;
}

/* Whether the test passes the model; *passed. */
static surg_status ask(search *s, const result *r, uint64_t limit, bool *passed) {
  if (s->o.cancel && s->o.cancel(s->o.user)) return SURG_ECANCELLED;
  s->tests++;
  *passed = s->test(s->user, r->m);
  if (s->o.progress) s->o.progress(s->o.user, limit, *passed);
  return SURG_OK;
}

/* The pass whose number of rewrites differs between two runs that differ by one, and the rule. */
static surg_status name_pass(search *s, uint64_t first, surg_bisection *out) {
  surg_run_report *reports[2] = {NULL, NULL};
  surg_status status = SURG_OK;
  for (int k = 0; k < 2 && status == SURG_OK; k++) {
    surg_model *m = surg_model_clone(s->start);
    s->run.has_rewrite_limit = true;
    s->run.rewrite_limit = first - 1 + (uint64_t)k;
    s->ctx->last_rule = NULL;
    status = m ? surg_run(&m, s->pipeline, &s->run, &reports[k]) : surg__oom(s->ctx, NULL);
    surg_model_free(m);
  }
  surg_run_pass_summary a = {.size = sizeof a}, b = {.size = sizeof b};
  for (size_t i = 0; status == SURG_OK && surg_run_pass(reports[1], i, &b) == SURG_OK; i++) {
    const bool known = surg_run_pass(reports[0], i, &a) == SURG_OK;
    if (b.rewrites == (known ? a.rewrites : 0)) continue;
    snprintf(out->pass, sizeof out->pass, "%s", b.name);
    break;
  }
  snprintf(out->rule, sizeof out->rule, "%s", s->ctx->last_rule ? s->ctx->last_rule : "");
  for (int k = 0; k < 2; k++) surg_run_report_free(reports[k]);
  return status;
}

/* Narrows [low, high) until the two differ by one; the test passes r[0] and fails r[1]. */
static surg_status narrow(search *s, result r[2], uint64_t *low, uint64_t *high) {
  surg_status status = SURG_OK;
  while (status == SURG_OK && *high - *low > 1) {
    const uint64_t middle = *low + (*high - *low) / 2;
    result x;
    bool passed = false;
    status = run(s, middle, &x);
    if (status == SURG_OK) status = ask(s, &x, middle, &passed);
    if (status != SURG_OK) {
      drop(&x);
      break;
    }
    drop(&r[!passed]);
    r[!passed] = x;
    *(passed ? low : high) = middle;
  }
  return status;
}

static surg_status find(search *s, result r[2], surg_bisection *out) {
  bool passed = false;
  uint64_t low = 0, high;
  surg_status status = run(s, 0, &r[0]);
  if (status == SURG_OK) status = ask(s, &r[0], 0, &passed);
  if (status == SURG_OK && !passed)
    return surg__error(s->ctx, SURG_EINVALID, surg_model_path(s->start),
                       "the test fails before the first rewrite, too");
  if (status == SURG_OK) status = run(s, UINT64_MAX, &r[1]);
  high = r[1].rewrites;
  out->sum.rewrites = high;
  if (status == SURG_OK) status = ask(s, &r[1], high, &passed);
  if (status == SURG_OK && passed) return SURG_ENOTFOUND;
  if (status == SURG_OK && high) status = narrow(s, r, &low, &high);
  if (status == SURG_OK && high) status = name_pass(s, high, out);
  out->sum.first = high;
  return status;
}

surg_status surg_bisect(const surg_model *model, const char *pipeline, surg_reduce_test test,
                        void *user, const surg_bisect_options *options, surg_bisection **out) {
  if (out) *out = NULL;
  if (!model || !pipeline || !test || !out) return SURG_EUSAGE;
  search s = {.ctx = surg_model_context(model),
              .start = model,
              .pipeline = pipeline,
              .test = test,
              .user = user};
  result r[2] = {{0}, {0}};
  surg__struct_in(&s.o, sizeof s.o, options);
  surg__struct_in(&s.run, sizeof s.run, s.o.run);
  s.run.size = sizeof s.run;
  s.run.dry_run = s.run.check_each = false;
  s.run.check = 0;
  s.run.log_path = s.run.map_path = s.run.certificate_path = NULL;
  surg_bisection *b = surg__calloc(s.ctx, 1, sizeof *b);
  if (!b) return surg__oom(s.ctx, NULL);
  b->ctx = s.ctx;
  surg_status status = find(&s, r, b);
  b->sum.tests = s.tests;
  b->sum.pass = b->pass;
  b->sum.rule = b->rule;
  for (int k = 0; k < 2; k++) b->model[k] = r[k].m;
  if (status == SURG_OK)
    *out = b;
  else
    surg_bisection_free(b);
  if ((status == SURG_ENOMEM || status == SURG_ELIMIT) && !surg_context_error(s.ctx))
    return surg__oom(s.ctx, surg_model_path(model));
  return status;
}

surg_status surg_bisection_get(const surg_bisection *b, surg_bisect_summary *out) {
  if (!b || !out) return SURG_EUSAGE;
  surg__struct_out(out, &b->sum, sizeof *out);
  return SURG_OK;
}

surg_model *surg_bisection_model(const surg_bisection *b, bool after) {
  return b ? b->model[after] : NULL;
}

void surg_bisection_free(surg_bisection *b) {
  if (!b) return;
  for (int k = 0; k < 2; k++) surg_model_free(b->model[k]);
  surg__free(b->ctx, b);
}
