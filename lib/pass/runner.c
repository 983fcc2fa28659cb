/* SPDX-License-Identifier: Apache-2.0 */
/* The runner executes pipelines. Passes declare what they need; the runner updates these facts,
 * calls the pass, measures time, checks the result, writes the log, and discards the model if the
 * pass fails.
 *
 * A pass of graph scope is called for every graph that exists when it starts, except graphs erased
 * meanwhile: functions before the main graph, subgraphs before the graphs that contain them. */
#include <stdio.h>

#include "base/calling.h"
#include "base/os/os.h"
#include "io/io.h"
#include "pass/certificate.h"
#include "pass/internal.h"

/* ---- changes a pass must declare
 * --------------------------------------------------------------- */

/* The kind and element type of a declaration, as a number; 0: none. */
static uint64_t type_code(const surg_type *t) {
  uint64_t code = 0;
  for (size_t depth = 0; t && depth < SURG_LIMIT_DEPTH; depth++, t = surg_type_elem(t))
    code = code * 1000 + (uint64_t)surg_type_get_kind(t) * 100 + (uint64_t)surg_type_dtype(t);
  return code;
}

/* A hash of element types of the interface. Shapes are not a part: a pass may refine them. */
static uint64_t types_of(const surg__runner *r) {
  const surg_graph *g = surg_model_graph(r->model);
  uint64_t h = 0;
  for (size_t i = 0; i < surg_graph_input_count(g); i++)
    h = h * 31 + type_code(surg_value_declared_type(surg_graph_input(g, i)));
  for (size_t i = 0; i < surg_graph_output_count(g); i++)
    h = h * 31 + type_code(surg_graph_output_type(g, i));
  return h;
}

/* A hash of the interface: names of outputs, and of inputs without a default. */
static uint64_t interface_of(const surg__runner *r) {
  const surg_graph *g = surg_model_graph(r->model);
  uint64_t h = 0;
  for (size_t i = 0; i < surg_graph_input_count(g); i++) {
    const surg_value *v = surg_graph_input(g, i);
    const char *name = surg_value_name(v);
    if (!surg_value_is_initializer(v)) h = h * 31 + surg__hash(r->ctx, name, strlen(name));
  }
  h = h * 31 + 1;
  for (size_t i = 0; i < surg_graph_output_count(g); i++) {
    const char *name = surg_value_name(surg_graph_output(g, i));
    h = h * 31 + surg__hash(r->ctx, name, strlen(name));
  }
  return h;
}

surg_status surg__misbehaved(surg__runner *r, const surg_pass *pass, const char *what) {
  bool plugin = surg__pass_origin(r->registry, pass) != NULL;
  return surg__error(r->ctx, plugin ? SURG_EPLUGIN : SURG_EINTERNAL, surg_model_path(r->model),
                     "%s %s", surg__pass_title(r, pass), what);
}

/* ---- one pass -------------------------------------------------------------------------------- */

static bool gone(const surg_graph *g) {
  for (; g; g = surg_graph_parent(g))
    if (g->erased || surg_node_erased(surg_graph_parent_node(g))) return true;
  return false;
}

static surg_pass_result call_graphs(surg_pass_ctx *p) {
  surg_context *ctx = p->run->ctx;
  SURG_VEC(surg_graph *) graphs = {0};
  surg_pass_result result = SURG_PASS_UNCHANGED;
  surg_graph *g = NULL;
  while ((g = surg_model_next_graph(p->run->model, g)))
    if (!surg__vec_push(ctx, &graphs, g)) p->no_memory = true;
  for (size_t i = graphs.count; i-- > 0 && result != SURG_PASS_FAILED && !p->no_memory;) {
    if (gone(graphs.items[i]) || surg__run_late(p->run)) continue;
    const surg__mark before = surg__arena_mark(&p->scratch);
    surg_pass_result one = p->pass->run(p, graphs.items[i]);
    surg__arena_reset(&p->scratch, before); /* memory grows with the largest graph, not with all */
    if (one < result) result = one;
    if ((unsigned)one > SURG_PASS_UNCHANGED) result = one; /* invalid; reported by judge */
    if (surg_model_status(p->run->model)) break;
  }
  surg__vec_free(ctx, &graphs);
  return p->no_memory ? SURG_PASS_FAILED : result;
}

/* Whether a pass of a plugin failed by a call with invalid arguments, not by memory or files. */
static bool misused(const surg__runner *r, const surg_pass *pass) {
  const surg_status s = r->ctx->error_status;
  return surg__pass_origin(r->registry, pass) &&
         (s == SURG_EUSAGE || s == SURG_EINVALID || s == SURG_EERASED || s == SURG_EINTERNAL);
}

/* Checks the result of a pass against what it did, and reports faults. */
static surg_status judge(surg_pass_ctx *p, surg_pass_result result, bool changed,
                         uint64_t interface) {
  surg__runner *r = p->run;
  surg_status sticky = surg_model_status(r->model);
  /* A pass that ran out of memory did less than requested, perhaps without noticing: rules or
   * schemas that cannot be read are missing. */
  if (p->no_memory || sticky == SURG_ENOMEM || sticky == SURG_ELIMIT ||
      r->ctx->alloc_status == SURG_ENOMEM) {
    if (surg_context_error(r->ctx)) return r->ctx->error_status;
    return surg__oom(r->ctx, surg_model_path(r->model));
  }
  if (sticky) return surg_context_error(r->ctx) ? sticky : surg__misbehaved(r, p->pass, "failed");
  if (p->undeclared[0]) {
    char what[160];
    snprintf(what, sizeof what, "asked for option %s, which it does not declare",
             surg__q(r->ctx, p->undeclared));
    return surg__misbehaved(r, p->pass, what);
  }
  if (p->failed) return p->failed;
  if (result == SURG_PASS_FAILED) {
    if (surg_context_error(r->ctx) && misused(r, p->pass))
      return surg__misbehaved(r, p->pass, "failed: a call that it made was invalid");
    if (surg_context_error(r->ctx) && r->ctx->error_status) return r->ctx->error_status;
    /* A pass need not report that memory ran out. */
    if (r->ctx->alloc_status) return surg__oom(r->ctx, surg_model_path(r->model));
    return surg__misbehaved(r, p->pass, "failed without a reason");
  }
  if ((unsigned)result > SURG_PASS_UNCHANGED)
    return surg__misbehaved(r, p->pass, "returned no result that there is");
  if (result == SURG_PASS_UNCHANGED && changed)
    return surg__misbehaved(r, p->pass, "reported no change, and changed the model");
  if (changed && !p->pass->changes_interface && interface_of(r) != interface)
    return surg__misbehaved(
        r, p->pass, "changed inputs or outputs of the model and does not declare that it may");
  if (changed && !p->pass->changes_interface && surg__pass_origin(r->registry, p->pass) &&
      types_of(r) != p->types)
    return surg__misbehaved(
        r, p->pass, "changed element types of inputs or outputs and does not declare that it may");
  return SURG_OK;
}

/* Updates the facts that the pass needs. */
static surg_status prepare(surg__runner *r, const surg_pass *pass) {
  surg_status s = SURG_OK;
  if (pass->needs & SURG_FACT_SORTED) s = surg__sort_all(r);
  if (!s && (pass->needs & SURG_FACT_TYPES)) s = surg_model_infer(r->model);
  return s;
}

static bool prints(const surg__runner *r, const surg_pass *pass, bool changed) {
  if (!r->options->print) return false;
  for (size_t i = 0; i < r->options->n_print_after; i++) {
    const char *what = r->options->print_after[i];
    if (surg__pass_find(r->registry, what) == pass) return true;
    if (changed && strcmp(what, "changed") == 0) return true;
  }
  return false;
}

void surg__print_after(surg__runner *r, const surg_pass *pass, bool changed) {
  if (prints(r, pass, changed)) r->options->print(r->options->print_user, pass->name, r->model);
}

/* The class of what the pass did in this call; `needed`: of the part that requires consent. */
static surg_exactness used_now(const surg_pass_ctx *p) {
  return p->told_used ? p->used : (surg_exactness)p->pass->exactness;
}
static surg_exactness needed(const surg_pass_ctx *p) {
  return p->told_used ? p->needs : (surg_exactness)p->pass->exactness;
}

static surg_status without_consent(surg_pass_ctx *p) {
  const char *class = surg__exactness_name(needed(p));
  return surg__error(p->run->ctx, SURG_EINVALID, surg_model_path(p->run->model),
                     "%s: its changes are of class %s; they need --allow %s",
                     surg__pass_title(p->run, p->pass), class, class);
}

/* The run is over time, or the user cancelled it. */
surg_status surg__stopped(surg__runner *r, const surg_pass *pass) {
  if (r->cancelled)
    return surg__error(r->ctx, SURG_ECANCELLED, surg_model_path(r->model),
                       "cancelled in pass \"%s\"", pass->name);
  return surg__error(r->ctx, SURG_ELIMIT, surg_model_path(r->model),
                     "out of time in pass \"%s\" (--timeout)", pass->name);
}

static surg_status finish(surg_pass_ctx *p, surg_pass_result result, bool changed,
                          uint64_t interface) {
  surg__runner *r = p->run;
  const surg_pass *pass = p->pass;
  surg__pass_report *report = &r->report->passes.items[p->report];
  surg_status s = judge(p, result, changed, interface);
  if (s) return s;
  if (changed && !surg_pass_allows(p, needed(p))) return without_consent(p);
  if (changed) {
    if (!(pass->keeps & SURG_FACT_SORTED)) r->sorted = false;
    report->changed = true;
    if (used_now(p) > report->used) report->used = used_now(p);
    if (interface_of(r) != interface) r->report->interface = true;
  }
  if (report->used > r->report->worst) r->report->worst = report->used;
  if (r->options->verify_each || surg__pass_origin(r->registry, pass) || (pass->edits && changed)) {
    s = surg__check_after(r, pass, changed ? p->errors : NULL);
    if (s) return s;
  }
  if (surg__run_late(r)) return surg__stopped(r, pass);
  surg__print_after(r, pass, changed);
  return SURG_OK;
}

surg_status surg__refuse_defects(surg_model *m) {
  surg_context *ctx = surg_model_context(m);
  surg_finding f = {.size = sizeof f};
  if (!surg_model_open_findings(m)) return surg_model_status(m);
  size_t i = 0;
  while (surg_model_finding(m, i, &f) && (f.cured || f.severity != SURG_ERROR)) i++;
  if (i == surg_model_finding_count(m))
    return surg__model_sound(m); /* beyond the findings that are kept */
  const bool hopeless = strcmp(f.code, "E114") == 0 || strcmp(f.code, "E123") == 0; /* cycles */
  const bool mend = !hopeless && surg__pass_find(surg_context_passes(ctx), "mend") != NULL;
  const bool whole = strcmp(f.where, "model") == 0;
  return surg__error(ctx, SURG_EINVALID, surg_model_path(m), "%s%s%s; %s%s", whole ? "" : f.where,
                     whole ? "" : ": ", f.text, f.cure, mend ? " (try onnxsurg mend)" : "");
}

bool surg__runs_apart(const surg__runner *r, const surg_pass *pass) {
  return (r->options->isolate_plugins || r->ctx->isolate_plugins) && !r->apart &&
         surg__pass_origin(r->registry, pass);
}

surg_status surg__run_pass(surg__runner *r, const surg__pipeline_step *step, bool *changed) {
  if (surg__runs_apart(r, step->pass)) return surg__run_apart(r, step, changed);
  surg_pass_ctx p = {.run = r, .pass = step->pass, .step = step};
  if (!surg__report_entry(r->report, step->pass, &p.report)) return surg__oom(r->ctx, NULL);
  if (r->options->progress) r->options->progress(r->options->progress_user, step->pass->name);
  const bool any = step->pass->needs & SURG_TAKES_DEFECTS;
  surg_status s = any ? SURG_OK : surg__refuse_defects(r->model);
  if (!s) s = prepare(r, step->pass);
  if (s) return s;
  surg__report_begin(r->report, step);
  surg_context_clear_error(r->ctx);
  r->ctx->alloc_status = SURG_OK; /* to detect a failure during the pass */
  surg__arena_init(&p.scratch, r->ctx);
  surg__pass_report *report = &r->report->passes.items[p.report];
  surg__errors errors = {0};
  const bool plugin = surg__pass_origin(r->registry, step->pass) != NULL;
  const bool edits = step->pass->edits && !r->options->unchecked_edits;
  if (plugin || edits) { /* neither may make the model invalid */
    s = surg__errors_collect(r->model, &errors);
    if (s) return s;
    p.errors = &errors;
  }
  if (plugin) p.types = types_of(r);
  uint64_t epoch = surg_model_epoch(r->model), interface = interface_of(r);
  uint64_t start = surg__os_now_ns();
  surg__log_pass(r->log, step->pass->name, ++report->runs);
  surg__certificate_pass(r->certificate, step->pass->name);
  const surg__calling outer =
      surg__calling_begin(surg__pass_origin(r->registry, step->pass), "pass", step->pass->name);
  const uint64_t deadline = r->ctx->deadline;
  if (r->deadline) r->ctx->deadline = r->deadline; /* ends kernels, too */
  surg_pass_result result =
      step->pass->scope == SURG_SCOPE_MODEL ? step->pass->run(&p, NULL) : call_graphs(&p);
  r->ctx->deadline = deadline;
  surg__calling_end(outer);
  uint64_t ns = surg__os_now_ns() - start;
  bool did = surg_model_epoch(r->model) != epoch;
  report->ns += ns;
  s = finish(&p, result, did, interface);
  surg__log_pass_end(r->log, s ? "failed" : did ? "changed" : "unchanged", ns);
  surg__arena_free(&p.scratch);
  surg__vec_free(r->ctx, &errors.hashes);
  *changed |= did;
  if (s) r->report->failed = step->pass->name;
  return s;
}

/* ---- trials -------------------------------------------------------------------------------- */

static void errors_alone(void *user, surg_severity severity, const char *line) {
  const surg__mute *m = user;
  if (severity == SURG_ERROR && m->diag) m->diag(m->user, severity, line);
}

void surg__mute_begin(surg_context *ctx, surg__mute *m) {
  *m = (surg__mute){ctx, ctx->config.diag, ctx->config.diag_user};
  ctx->config.diag = errors_alone;
  ctx->config.diag_user = m;
}

void surg__mute_end(const surg__mute *m) {
  m->ctx->config.diag = m->diag;
  m->ctx->config.diag_user = m->user;
}

/* Makes *t a runner as r on a clone of its model, without logs, that reports to `report`. `quiet`
 * holds its options. False: out of memory, nothing to free. */
static bool begin_rehearsal(surg__runner *t, const surg__runner *r, surg__run_options *quiet,
                            surg__run_report *report) {
  *quiet = *r->options;
  *report = (surg__run_report){.ctx = r->ctx, .rewrites = r->report->rewrites};
  *t = *r;
  quiet->print = NULL;
  t->options = quiet;
  t->report = report;
  t->log = NULL;
  t->certificate = NULL;
  t->model = surg_model_clone(r->model);
  return t->model != NULL;
}

/* Runs the pass on a clone and calls the trial; *keep: whether the pass may run on the model.
 * Passes are deterministic, so they have the same effect on the clone and on the model. */
static surg_status try_pass(surg__runner *r, const surg__pipeline_step *step, bool *keep) {
  const surg__run_options *o = r->options;
  surg__run_options quiet;
  surg__run_report report;
  surg__runner t;
  bool changed = false;
  if (!begin_rehearsal(&t, r, &quiet, &report))
    return surg__oom(r->ctx, surg_model_path(r->model));
  surg__mute mute;
  surg__mute_begin(r->ctx, &mute);
  surg_status s = surg__run_pass(&t, step, &changed);
  surg__mute_end(&mute);
  if (s) r->report->failed = step->pass->name;
  if (!s && changed) s = surg__sort_all(&t);
  if (!s && changed) {
    char title[2 * SURG_LIMIT_NAME_PRINT];
    snprintf(title, sizeof title, "%s", surg__pass_title(r, step->pass));
    const surg_exactness used = report.worst, before = r->report->worst;
    const surg__trial trial = {.pass = step->pass,
                               .title = title,
                               .before = r->model,
                               .after = t.model,
                               .used = used,
                               .worst = used > before ? used : before,
                               .interface = report.interface};
    s = surg__sort_all(r);
    if (!s) s = o->trial(o->trial_user, &trial, keep);
  }
  surg__run_report_free(&report);
  surg_model_free(t.model);
  return s;
}

static surg_status admit_pass(surg__runner *r, const surg__pipeline_step *step, bool *changed) {
  const surg__run_options *o = r->options;
  bool keep = true;
  if (o->trial && (o->trial_all || step->pass->changes_interface)) {
    const surg_status s = try_pass(r, step, &keep);
    if (s) return s;
  }
  if (keep) return surg__run_pass(r, step, changed);
  surg__log_pass(r->log, step->pass->name, 0);
  surg__log_pass_end(r->log, "left out", 0);
  return SURG_OK;
}

/* ---- the pipeline ---------------------------------------------------------------------------- */

static bool skipped(const surg__runner *r, const surg_pass *pass) {
  for (size_t i = 0; i < r->options->n_skip; i++)
    if (strcmp(r->options->skip[i], pass->name) == 0) return true;
  return false;
}

static surg_status run_steps(surg__runner *r, const surg__pipeline_step *step, bool *changed);

static surg_status run_repeat(surg__runner *r, const surg__pipeline_step *step, bool *changed) {
  for (int64_t round = 0; round < step->max; round++) {
    bool did = false;
    surg_status s = run_steps(r, step->body, &did);
    if (s || !did) return s;
    *changed = true;
  }
  surg__note(r->ctx, surg_model_path(r->model), "repeat stopped after %lld rounds, still changing",
             (long long)step->max);
  return SURG_OK;
}

uint64_t surg__node_count(const surg_model *m) {
  uint64_t count = 0;
  for (surg_graph *g = surg_model_next_graph(m, NULL); g; g = surg_model_next_graph(m, g))
    for (surg_node *n = surg_graph_first_node(g); n; n = surg_node_next(n))
      count += surg_node_op(n) != SURG_OP_Constant;
  return count;
}

/* Whether the original can be restored: the model is small enough, and no map or log has recorded
 * edits, which are tied to one model. */
static bool can_guard(const surg__runner *r, uint64_t nodes) {
  const bool recorded = r->log || r->certificate;
  return nodes <= SURG_LIMIT_GUARD_NODES && (!recorded || surg_model_epoch(r->model) == r->epoch);
}

static surg_status take_back(surg__runner *r, surg_model *original, const char *what,
                             uint64_t before, uint64_t after) {
  surg__note(r->ctx, surg_model_path(r->model),
             "unchanged: the result would have %llu %s instead of %llu", (unsigned long long)after,
             what, (unsigned long long)before);
  surg__log_pass(r->log, "guard", 0);
  surg__log_pass_end(r->log, "undone", 0);
  if (!surg__log_restart(r->log, original) || !surg__certificate_restart(r->certificate, original))
    return surg__oom(r->ctx, surg_model_path(r->model));
  surg_model_free(r->model);
  r->model = original;
  r->sorted = false;
  return SURG_OK;
}

/* Whether the model has more nodes, or (with `size`) more bytes, than the original: *before <
 * *after, with the unit in *what. */
static surg_status grown(const surg__runner *r, surg_model *original, bool size, const char **what,
                         uint64_t *before, uint64_t *after) {
  surg_status s = SURG_OK;
  *what = "nodes";
  *before = surg__node_count(original);
  *after = surg__node_count(r->model);
  if (*after > *before || !size) return s;
  *what = "bytes";
  s = surg__saved_bytes(original, before);
  return s ? s : surg__saved_bytes(r->model, after);
}

static surg_status run_guard(surg__runner *r, const surg__pipeline_step *step, bool *changed) {
  surg_model *original = NULL;
  bool did = false;
  const char *what = NULL;
  const surg_exactness worst = r->report->worst;
  uint64_t before = 0, after = 0;
  if (can_guard(r, surg__node_count(r->model)) && !(original = surg_model_clone(r->model)))
    return surg__oom(r->ctx, surg_model_path(r->model));
  const bool thrifty = r->thrifty;
  r->thrifty |= step->size;
  surg_status s = run_steps(r, step->body, &did);
  r->thrifty = thrifty;
  if (!s && did && original) s = grown(r, original, step->size, &what, &before, &after);
  if (!s && after > before) {
    s = take_back(r, original, what, before, after);
    r->report->worst = worst;
    if (!s) return s;
  }
  surg_model_free(original);
  *changed |= did;
  return s;
}

/* The steps on a clone, without logs; *kept: whether it has fewer nodes, and a file no larger than
 * that of the model at the start of the run. */
static surg_status rehearse(surg__runner *r, const surg__pipeline_step *step, bool *kept) {
  surg__run_options quiet;
  surg__run_report report;
  surg__runner t;
  uint64_t bytes = 0;
  bool did = false;
  if (!begin_rehearsal(&t, r, &quiet, &report))
    return surg__oom(r->ctx, surg_model_path(r->model));
  quiet.progress = NULL;
  quiet.trial = NULL;
  surg__mute mute;
  surg__mute_begin(r->ctx, &mute);
  surg_status s = run_steps(&t, step->body, &did);
  surg__mute_end(&mute);
  *kept = !s && did && surg__node_count(t.model) < surg__node_count(r->model);
  if (*kept) s = surg__saved_bytes(t.model, &bytes);
  *kept = *kept && !s && bytes <= r->bytes;
  r->timed_out |= t.timed_out;
  r->cancelled |= t.cancelled;
  surg__run_report_free(&report);
  surg_model_free(t.model);
  return s;
}

/* guard{saved}: rehearsed, as what logs and certificates recorded cannot be taken back. */
static surg_status run_saved(surg__runner *r, const surg__pipeline_step *step, bool *changed) {
  bool kept = false;
  if (r->thrifty || !r->bytes || !surg__left_work(r->report) ||
      surg__node_count(r->model) > SURG_LIMIT_GUARD_NODES)
    return SURG_OK;
  const surg_status s = rehearse(r, step, &kept);
  return s || !kept ? s : run_steps(r, step->body, changed);
}

static surg_status run_allow(surg__runner *r, const surg__pipeline_step *step, bool *changed) {
  const bool had = r->has_allow;
  const surg_exactness outer = r->allow;
  r->allow = had && outer < step->allow ? outer : step->allow;
  r->has_allow = true;
  const surg_status s = run_steps(r, step->body, changed);
  r->has_allow = had;
  r->allow = outer;
  return s;
}

/* Runs the steps of a list. Recursion is bounded by the parser's nesting limit. */
static surg_status run_steps(surg__runner *r, const surg__pipeline_step *step, bool *changed) {
  for (; step; step = step->next) {
    surg_status s = SURG_OK;
    if (!step->pass)
      s = step->allows  ? run_allow(r, step, changed)
          : step->max   ? run_repeat(r, step, changed)
          : step->saved ? run_saved(r, step, changed)
                        : run_guard(r, step, changed);
    else if (!skipped(r, step->pass))
      s = admit_pass(r, step, changed);
    if (s) return s;
  }
  return SURG_OK;
}

/* ---- a run ----------------------------------------------------------------------------------- */

static const char *pass_name(const void *list, size_t i) {
  return surg__pass_at(list, i)->name;
}

surg_status surg__check_pass_names(const surg_registry *r, const char *flag,
                                   const char *const *names, size_t n, const char *also) {
  for (size_t i = 0; i < n; i++) {
    if (surg__pass_find(r, names[i]) || (also && strcmp(also, names[i]) == 0)) continue;
    const char *near = surg__nearest(names[i], r, surg__pass_count(r), pass_name);
    if (near)
      return surg__error(r->ctx, SURG_EUSAGE, flag, "unknown pass %s; did you mean \"%s\"?",
                         surg__q(r->ctx, names[i]), near);
    return surg__error(r->ctx, SURG_EUSAGE, flag, "unknown pass %s", surg__q(r->ctx, names[i]));
  }
  return SURG_OK;
}

static surg_status open_run(surg__runner *r) {
  const surg__run_options *o = r->options;
  surg_status s = surg__check_pass_names(r->registry, "--skip-pass", o->skip, o->n_skip, NULL);
  if (!s)
    s = surg__check_pass_names(r->registry, "--print-after", o->print_after, o->n_print_after,
                               "changed");
  if (!s) s = surg__keep_init(&r->keep, r->ctx, o->keep, o->n_keep);
  if (!s) s = surg__keep_mark(&r->keep, r->model);
  if (!s && o->keep_weights) surg__pin_weights(r->model);
  for (size_t i = 0; i < o->n_dims && !s; i++) s = surg_model_assume_dim(r->model, o->dims[i]);
  for (size_t i = 0; i < o->n_ranges && !s; i++)
    s = surg_model_assume_range(r->model, o->ranges[i]);
  if (!s && o->trust_declared) s = surg_model_trust_declared(r->model, true);
  if (!s && o->certificate_path && (o->isolate_plugins || r->ctx->isolate_plugins))
    s = surg__error(r->ctx, SURG_EUSAGE, o->certificate_path,
                    "a certificate needs passes of plugins in this process");
  if (!s) s = surg__log_open(r->model, o->log_path, o->map_path, &r->log);
  if (!s) s = surg__certificate_open(r->model, o->certificate_path, &r->certificate);
  return s;
}

/* Whether a pass that draws on types changed the model, or the number of nodes changed: not after a
 * renaming, for example. */
static bool computes_otherwise(const surg__runner *r, uint64_t nodes) {
  for (size_t i = 0; i < r->report->passes.count; i++) {
    const surg__pass_report *p = &r->report->passes.items[i];
    if (p->changed && (p->pass->needs & SURG_FACT_TYPES)) return true;
  }
  return surg__node_count(r->model) != nodes;
}

static surg_status run_all(surg__runner *r, const surg__pipeline *pipeline) {
  uint64_t start = surg__os_now_ns();
  bool changed = false;
  if (r->options->timeout_ms) {
    uint64_t ns;
    if (surg__mul_u64(r->options->timeout_ms, 1000000, &ns) && surg__add_u64(start, ns, &ns))
      r->deadline = ns;
  }
  r->epoch = surg_model_epoch(r->model);
  surg_status s = open_run(r);
  const uint64_t nodes = s ? 0 : surg__node_count(r->model);
  if (!s && nodes <= SURG_LIMIT_GUARD_NODES && surg__pipeline_spends(pipeline))
    s = surg__saved_bytes(r->model, &r->bytes);
  if (!s) s = run_steps(r, pipeline->first, &changed);
  if (!s && changed && computes_otherwise(r, nodes)) s = surg__declare_bodies(r->model);
  if (!s && changed) s = surg__renew_outer(r->model);
  /* A saved graph is sorted, whatever the last pass promised. */
  if (!s && changed) s = surg__sort_all(r);
  if (!s) s = surg_model_status(r->model);
  r->report->changed = surg_model_epoch(r->model) != r->epoch;
  surg__report_end(r->report);
  surg_status closed = surg__log_close(r->log, !s);
  const surg_status sealed = surg__certificate_close(r->certificate, !s);
  if (!closed) closed = sealed;
  if (r->options->keep_weights) surg__unpin_weights(r->model);
  surg__keep_unmark(r->model);
  surg__keep_free(&r->keep);
  r->report->ns = surg__os_now_ns() - start;
  return s ? s : closed;
}

surg_status surg__run(surg_model **model, const surg__pipeline *pipeline,
                      const surg__run_options *options, surg__run_report *report) {
  static const surg__run_options defaults = {0};
  assert(model && *model && pipeline);
  surg_context *ctx = surg_model_context(*model);
  surg__run_report own;
  if (!report) report = &own;
  *report = (surg__run_report){.ctx = ctx};
  if (!options) options = &defaults;
  surg__runner r = {
      .ctx = ctx, .registry = surg__registry(ctx), .options = options, .report = report};
  if (r.registry && r.registry->running)
    return surg__error(ctx, SURG_EUSAGE, surg_model_path(*model), "a pass cannot run a pipeline");
  surg_context_clear_error(ctx);
  if (r.registry) r.registry->running = true;
  uint64_t max_memory = ctx->max_memory;
  if (options->max_memory) ctx->max_memory = options->max_memory;
  r.model = options->dry_run ? surg_model_clone(*model) : *model;
  surg_status s;
  if (!r.registry || !r.model)
    s = surg__oom(ctx, surg_model_path(*model));
  else
    s = run_all(&r, pipeline);
  if (options->dry_run) {
    surg_model_free(r.model);
  } else if (s) {
    surg_model_free(r.model);
    *model = NULL;
  } else {
    *model = r.model;
  }
  ctx->max_memory = max_memory;
  if (r.registry) r.registry->running = false;
  if (report == &own) surg__run_report_free(&own);
  return s;
}
