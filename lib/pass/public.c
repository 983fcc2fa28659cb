/* SPDX-License-Identifier: Apache-2.0 */
/* Runs as public objects (onnxsurg/run.h). */
#include <onnxsurg/check.h>
#include <onnxsurg/run.h>
#include <stdio.h>

#include "base/diag.h"
#include "pass/internal.h"

/* Limits of --check, the same as in the command-line program: bytes, work units, loop
 * iterations. */
#define CHECK_BYTES (UINT64_C(1) << 32)
#define CHECK_WORK (UINT64_C(1) << 36)
#define CHECK_TURNS (UINT64_C(1) << 20)

struct surg_run_report {
  surg_context *ctx;
  surg__run_report run;
  surg__proof proof;
};

const surg__run_report *surg__run_report_of(const surg_run_report *r) {
  return &r->run;
}

surg__run_options surg__run_options_of(const surg_run_options *o) {
  return (surg__run_options){.verify_each = o->verify_each,
                             .dry_run = o->dry_run,
                             .has_rewrite_limit = o->has_rewrite_limit,
                             .rewrite_limit = o->rewrite_limit,
                             .skip = o->skip,
                             .n_skip = o->n_skip,
                             .keep = o->keep,
                             .n_keep = o->n_keep,
                             .keep_weights = o->keep_weights,
                             .unchecked_edits = o->unchecked_edits,
                             .isolate_plugins = o->isolate_plugins,
                             .progress = o->progress,
                             .progress_user = o->user,
                             .cancel = o->cancel,
                             .cancel_user = o->user,
                             .print_after = o->print_after,
                             .n_print_after = o->n_print_after,
                             .print = o->print,
                             .print_user = o->user,
                             .log_path = o->log_path,
                             .map_path = o->map_path,
                             .certificate_path = o->certificate_path,
                             .timeout_ms = o->timeout_ms,
                             .max_memory = o->max_memory,
                             .max_growth = o->max_growth,
                             .dims = o->dims,
                             .n_dims = o->n_dims,
                             .ranges = o->ranges,
                             .n_ranges = o->n_ranges,
                             .trust_declared = o->trust_declared,
                             .has_allow = o->has_allow,
                             .allow = o->allow};
}

static surg_status run(surg_model **model, const surg__pipeline *p, const surg_run_options *o,
                       surg_run_report *r) {
  const surg__run_options options = surg__run_options_of(o);
  const surg__proof_options how = {.seeds = o->check,
                                   .each = o->check_each,
                                   .rtol = o->has_check_rtol ? o->check_rtol : -1,
                                   .max_bytes = CHECK_BYTES,
                                   .max_work = CHECK_WORK,
                                   .max_turns = CHECK_TURNS,
                                   .progress = o->progress,
                                   .progress_user = o->user,
                                   .cancel = o->cancel,
                                   .cancel_user = o->user};
  return o->check ? surg__run_proven(model, p, &options, &how, &r->run, &r->proof)
                  : surg__run(model, p, &options, &r->run);
}

surg_status surg_pipeline_run(const surg_pipeline *p, surg_model **model,
                              const surg_run_options *options, surg_run_report **report) {
  if (report) *report = NULL;
  if (!p || !model || !*model) return SURG_EUSAGE;
  surg_context *ctx = surg_model_context(*model);
  surg_run_options o;
  if (p->ctx != ctx) return SURG_EUSAGE;
  surg__struct_in(&o, sizeof o, options);
  surg_run_report *r = surg__calloc(ctx, 1, sizeof *r);
  if (!r) return surg__oom(ctx, NULL);
  r->ctx = r->run.ctx = ctx;
  const surg_status s = surg__oom_reported(ctx, run(model, p, &o, r), NULL);
  if (report)
    *report = r;
  else
    surg_run_report_free(r);
  return s;
}

surg_status surg_run(surg_model **model, const char *pipeline, const surg_run_options *options,
                     surg_run_report **report) {
  if (report) *report = NULL;
  if (!model || !*model || !pipeline) return SURG_EUSAGE;
  surg_pipeline *p = NULL;
  surg_status s = surg_pipeline_parse(surg_model_context(*model), pipeline, "pipeline", &p);
  if (s == SURG_OK) s = surg_pipeline_run(p, model, options, report);
  surg_pipeline_free(p);
  return s;
}

surg_status surg_run_get(const surg_run_report *r, surg_run_summary *out) {
  if (!r || !out) return SURG_EUSAGE;
  const surg_run_summary all = {.size = sizeof all,
                                .changed = r->run.changed,
                                .interface_changed = r->run.interface,
                                .limit_reached = r->run.limit_reached,
                                .used = r->run.worst,
                                .rewrites = r->run.rewrites,
                                .ns = r->run.ns,
                                .passes = r->run.passes.count,
                                .undone = r->run.undone.count,
                                .failed = r->run.failed,
                                .checked = r->proof.checked,
                                .skipped = r->proof.skipped,
                                .unchecked = r->proof.why,
                                .silent = r->proof.silent,
                                .silent_why = r->proof.silent_why,
                                .left_out = r->proof.left_out,
                                .all_undone = r->run.n_undone};
  surg__struct_out(out, &all, sizeof all);
  return SURG_OK;
}

static const surg__pass_report *pass_at(const surg_run_report *r, size_t i) {
  return r && i < r->run.passes.count ? &r->run.passes.items[i] : NULL;
}

surg_status surg_run_pass(const surg_run_report *r, size_t i, surg_run_pass_summary *out) {
  const surg__pass_report *p = pass_at(r, i);
  if (!r || !out) return SURG_EUSAGE;
  if (!p) return SURG_ENOTFOUND;
  const surg_run_pass_summary all = {.size = sizeof all,
                                     .name = p->pass->name,
                                     .changed = p->changed,
                                     .used = p->used,
                                     .runs = p->runs,
                                     .rewrites = p->rewrites,
                                     .ns = p->ns,
                                     .counters = p->counters.count,
                                     .notes = p->notes.count,
                                     .all_notes = p->n_notes};
  surg__struct_out(out, &all, sizeof all);
  return SURG_OK;
}

const char *surg_run_counter(const surg_run_report *r, size_t i, size_t k, uint64_t *n) {
  const surg__pass_report *p = pass_at(r, i);
  if (!p || k >= p->counters.count) return NULL;
  if (n) *n = p->counters.items[k].n;
  return p->counters.items[k].what;
}

const char *surg_run_note(const surg_run_report *r, size_t i, size_t k) {
  const surg__pass_report *p = pass_at(r, i);
  return p && k < p->notes.count ? p->notes.items[k] : NULL;
}

surg_status surg_run_undone(const surg_run_report *r, size_t i, char **text) {
  if (!r || !text) return SURG_EUSAGE;
  *text = NULL;
  if (i >= r->run.undone.count) return SURG_ENOTFOUND;
  surg__buf b;
  surg__buf_init(&b, r->ctx);
  surg__undone_print(&r->run.undone.items[i], &b);
  return surg__buf_give(&b, text);
}

surg_status surg_run_print(const surg_run_report *r, bool json, char **text) {
  if (!r || !text) return SURG_EUSAGE;
  surg__buf b;
  surg__buf_init(&b, r->ctx);
  if (json)
    surg__run_report_json(&r->run, &b);
  else
    surg__run_report_print(&r->run, true, false, &b);
  return surg__buf_give(&b, text);
}

surg_status surg_run_lines(const surg_run_report *r, bool stats, bool time, char **text) {
  if (!r || !text) return SURG_EUSAGE;
  surg__buf b;
  surg__buf_init(&b, r->ctx);
  surg__run_report_print(&r->run, stats, time, &b);
  return surg__buf_give(&b, text);
}

void surg_run_report_free(surg_run_report *r) {
  if (!r) return;
  surg__run_report_free(&r->run);
  surg__free(r->ctx, r);
}

surg_status surg_model_require_valid(surg_model *model) {
  return model ? surg__refuse_defects(model) : SURG_EUSAGE;
}
