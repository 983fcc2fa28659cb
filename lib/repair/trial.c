/* SPDX-License-Identifier: Apache-2.0 */
/* Trials of a search for a repair: a pipeline runs on a copy of the model, and the objections of
 * the target to the result are counted. A trial that was made before on the same model is not
 * repeated. */
#include <onnxsurg/info.h>
#include <string.h>

#include "base/diag.h"
#include "io/io.h"
#include "pass/pass.h"
#include "repair/repair.h"

#define AHEAD_NODES \
  200000u /* nodes that look-ahead searches may try beyond those the main search tries */

bool surg__repair_covers(surg__consent a, surg__consent b) {
  return a.most >= b.most && (a.interface || !b.interface);
}

static bool leaves_rounding_out(const surg__run_report *report) {
  for (size_t i = 0; i < report->passes.count; i++) {
    const surg__pass_report *p = &report->passes.items[i];
    if (!strcmp(p->pass->name, "unquantize") && p->used >= SURG_APPROX) return true;
  }
  return false;
}

surg_status surg__repair_run(surg_context *ctx, surg_model **m, const char *text,
                             surg__consent given, bool verify_each, surg__consent *needed) {
  surg__pipeline *p = NULL;
  surg__buf before, after;
  const surg__run_options options = {
      .verify_each = verify_each, .has_allow = true, .allow = given.most};
  surg__run_report report = {0};
  surg_context_clear_error(ctx);
  surg__buf_init(&before, ctx);
  surg__buf_init(&after, ctx);
  surg_status s = surg__pipeline_parse(ctx, text, "repair", &p);
  if (s == SURG_OK) s = surg__repair_put_interface(*m, &before);
  if (s == SURG_OK) {
    s = surg__run(m, p, &options, &report);
    if (s == SURG_OK) s = surg__repair_put_interface(*m, &after);
    const bool same = before.n == after.n && (!after.n || !memcmp(before.p, after.p, after.n));
    *needed = (surg__consent){report.worst, report.interface || !same};
    /* A network may depend on the rounding that was left out: to the caller it is another one. */
    if (leaves_rounding_out(&report)) needed->most = SURG_LOSSY;
    surg__run_report_free(&report);
  }
  surg__buf_free(&before);
  surg__buf_free(&after);
  surg__pipeline_free(p);
  if (s == SURG_OK) return s;
  if (*m) surg_model_free(*m);
  *m = NULL;
  surg_context_clear_error(ctx);
  return s;
}

uint64_t surg__repair_trial(surg__repair *r, const char *text, const char *what,
                            surg__consent given) {
  const uint64_t now = surg_model_epoch(r->m) + 1;
  if (r->print_of != now && surg__model_fingerprint(r->m, &r->print) != SURG_OK) {
    surg_context_clear_error(r->ctx);
    r->print = 0;
  }
  r->print_of = now;
  if (!r->print) return 0;
  const uint64_t parts[] = {r->print, surg__hash(r->ctx, text, strlen(text)),
                            surg__hash(r->ctx, what, strlen(what)), (uint64_t)(uintptr_t)r->t,
                            (uint64_t)given.most << 1 | given.interface};
  return surg__hash(r->ctx, parts, sizeof parts);
}

surg__memo *surg__repair_memo(surg__repair *r) {
  return r->memo ? r->memo : &r->tried;
}

bool surg__repair_spent(const surg__repair *r) {
  const uint64_t *work = r->work ? r->work : r->worked;
  return work[1] > work[0] + AHEAD_NODES;
}

/* What a trial leaves if it fails, or if its result does in every run. SIZE_MAX: it changes
 * nothing. */
#define FAILED (SIZE_MAX - 1)

/* Counts the objections to the result of a trial, unless the result is known to have `below` of
 * them or more. False: it is, or the count fails. */
static bool count_result(surg__repair *r, surg_model *copy, size_t below,
                         surg__repair_counts *after, surg_status *s) {
  uint64_t print = 0;
  size_t left;
  if (surg__model_fingerprint(copy, &print) != SURG_OK) {
    surg_context_clear_error(r->ctx);
    print = 0;
  }
  const uint64_t parts[] = {print, (uint64_t)(uintptr_t)r->t};
  const uint64_t key = print ? surg__hash(r->ctx, parts, sizeof parts) : 0;
  if (surg__memo_find(surg__repair_memo(r), key, &left) && left >= below) {
    after->all = left;
    return false;
  }
  *s = surg__repair_count(r->t, copy, after, NULL);
  /* A node that fails in every run is not cured where the engine overlooks that. */
  if (after->failing > r->failing) after->all = FAILED;
  if (*s == SURG_OK) surg__memo_note(r->ctx, surg__repair_memo(r), key, after->all);
  return *s == SURG_OK;
}

bool surg__repair_fires(surg__repair *r, const char *text) {
  const surg__consent most = r->is_plain ? r->given : SURG__ALL_CONSENT;
  const uint64_t trial = surg__repair_trial(r, text, "", most);
  surg__repair_counts after;
  surg__consent needed;
  size_t left;
  if (!trial) return true;
  if (surg__memo_find(surg__repair_memo(r), trial, &left)) return left != SIZE_MAX;
  surg_model *copy = surg__repair_try(r, text, most, SIZE_MAX, &after, &needed);
  if (copy) surg_model_free(copy);
  return !surg__memo_find(surg__repair_memo(r), trial, &left) || left != SIZE_MAX;
}

/* A copy of the model: that of the last trial, if it changed nothing. With what was inferred for
 * it, it costs nothing. NULL: out of memory. */
static surg_model *take_copy(surg__repair *r) {
  surg_model *copy = r->spare;
  r->spare = NULL;
  if (copy && r->spare_of == surg_model_epoch(r->m)) return copy;
  if (copy) surg_model_free(copy);
  return surg_model_clone(r->m);
}

static void keep_copy(surg__repair *r, surg_model *copy) {
  if (r->spare) surg_model_free(r->spare);
  r->spare = copy;
  r->spare_of = surg_model_epoch(r->m);
}

surg_model *surg__repair_try(surg__repair *r, const char *text, surg__consent given, size_t below,
                             surg__repair_counts *after, surg__consent *needed) {
  const uint64_t nodes = surg_graph_node_count(surg_model_graph(r->m)) + 1;
  const uint64_t trial = surg__repair_trial(r, text, "", given);
  size_t left;
  if (r->depth && surg__repair_spent(r)) return NULL;
  if (surg__memo_find(surg__repair_memo(r), trial, &left) && (left >= below || left == FAILED))
    return NULL;
  (r->work ? r->work : r->worked)[r->depth > 0] += nodes;
  surg_model *copy = take_copy(r);
  const uint64_t epoch = copy ? surg_model_epoch(copy) : 0;
  surg_status s =
      copy ? surg__repair_run(r->ctx, &copy, text, given, r->verify_each, needed) : SURG_ENOMEM;
  const bool changed = s == SURG_OK && surg_model_epoch(copy) != epoch;
  if (changed) /* replacements may be much larger than what they replace */
    (r->work ? r->work : r->worked)[r->depth > 0] += surg_graph_node_count(surg_model_graph(copy));
  if (copy && r->lacks) surg_model_learn_weights(r->m, copy);
  const bool done = changed && count_result(r, copy, below, after, &s);
  if (s == SURG_ENOMEM) r->failure = s;
  if (s != SURG_ENOMEM)
    surg__memo_note(r->ctx, surg__repair_memo(r), trial,
                    changed && s == SURG_OK ? after->all
                    : s == SURG_OK          ? SIZE_MAX
                                            : FAILED);
  if (done) return copy;
  if (copy && s == SURG_OK && !changed)
    keep_copy(r, copy);
  else if (copy)
    surg_model_free(copy);
  surg_context_clear_error(r->ctx);
  return NULL;
}

surg__consent surg__repair_both(surg__consent a, surg__consent b) {
  return (surg__consent){a.most > b.most ? a.most : b.most, a.interface || b.interface};
}

/* Whether the pipeline is `mend` and so is the cure: one run with the union of their consents does
 * both. */
static bool is_repeated(const surg__buf *pipeline, const char *text) {
  static const char mend[] = "mend";
  return !strcmp(text, mend) && pipeline->n == sizeof mend - 1 &&
         !memcmp(pipeline->p, mend, pipeline->n);
}

void surg__repair_take(surg__repair *r, surg_model *m, const char *text, surg__consent needed) {
  surg_model_free(r->m);
  surg__repair_put(r, m);
  r->used = surg__repair_both(r->used, needed);
  if (is_repeated(&r->pipeline, text)) return;
  if (r->original && !surg__vec_push(r->ctx, &r->starts, r->pipeline.n + (r->pipeline.n > 0)))
    r->failure = surg__alloc_status(r->ctx);
  surg__buf_printf(&r->pipeline, "%s%s", r->pipeline.n ? "," : "", text);
}
