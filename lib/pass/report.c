/* SPDX-License-Identifier: Apache-2.0 */
/* Collects and prints the report on a run. */
#include "base/json.h"
#include "pass/internal.h"

const char *surg__exactness_name(surg_exactness e) {
  static const char *const names[] = {[SURG_EXACT] = "exact",
                                      [SURG_ULP] = "ulp",
                                      [SURG_ROUNDING] = "rounding",
                                      [SURG_APPROX] = "approx",
                                      [SURG_LOSSY] = "lossy"};
  _Static_assert(SURG_COUNT(names) == SURG_LOSSY + 1, "a name for each class");
  return (unsigned)e < SURG_COUNT(names) ? names[e] : "unknown";
}

bool surg__exactness_from_name(const char *name, surg_exactness *out) {
  for (int e = SURG_EXACT; e <= SURG_LOSSY; e++) {
    if (strcmp(name, surg__exactness_name((surg_exactness)e)) != 0) continue;
    *out = (surg_exactness)e;
    return true;
  }
  return false;
}

bool surg__report_entry(surg__run_report *report, const surg_pass *pass, size_t *index) {
  for (size_t i = 0; i < report->passes.count; i++) {
    if (report->passes.items[i].pass != pass) continue;
    *index = i;
    return true;
  }
  surg__pass_report fresh = {.pass = pass};
  *index = report->passes.count;
  return surg__vec_push(report->ctx, &report->passes, fresh);
}

bool surg__report_count(surg__run_report *report, size_t index, const char *what, uint64_t by) {
  surg__pass_report *r = &report->passes.items[index];
  for (size_t i = 0; i < r->counters.count; i++) {
    if (strcmp(r->counters.items[i].what, what) != 0) continue;
    r->counters.items[i].n += by;
    return true;
  }
  surg__counter c = {surg__strdup(report->ctx, what), by};
  if (c.what && surg__vec_push(report->ctx, &r->counters, c)) return true;
  surg__free(report->ctx, c.what);
  return false;
}

bool surg__report_note(surg__run_report *report, size_t index, const char *line) {
  surg__pass_report *r = &report->passes.items[index];
  if (r->n_notes++ >= SURG__NOTES) return true;
  char *copy = surg__strdup(report->ctx, line);
  if (copy && surg__vec_push(report->ctx, &r->notes, copy)) return true;
  surg__free(report->ctx, copy);
  return false;
}

bool surg__report_undone(surg__run_report *report, const surg__undone *one) {
  for (size_t i = 0; i < report->undone.count; i++) {
    surg__undone *u = &report->undone.items[i];
    if (u->step != one->step || u->node || one->node || strcmp(u->text, one->text) != 0) continue;
    u->found |= one->found;
    return true;
  }
  if (one->node) report->n_undone++;
  if (report->undone.count >= SURG__NOTES) return true;
  surg__undone copy = *one;
  copy.text = surg__strdup(report->ctx, one->text);
  if (copy.text && surg__vec_push(report->ctx, &report->undone, copy)) return true;
  surg__free(report->ctx, copy.text);
  return false;
}

/* Removes entries, in order: with `begun` the nodes of that step, else the names that were
 * found. */
static void filter_undone(surg__run_report *report, const surg__pipeline_step *begun) {
  size_t kept = 0;
  for (size_t i = 0; i < report->undone.count; i++) {
    surg__undone *u = &report->undone.items[i];
    const bool goes = begun ? u->step == begun && u->node : u->found;
    if (goes)
      surg__free(report->ctx, u->text);
    else
      report->undone.items[kept++] = *u;
  }
  report->undone.count = kept;
}

void surg__report_begin(surg__run_report *report, const surg__pipeline_step *step) {
  const size_t before = report->undone.count;
  filter_undone(report, step);
  const size_t gone = before - report->undone.count;
  report->n_undone -= gone < report->n_undone ? gone : report->n_undone;
}

void surg__report_forget(surg__run_report *report, size_t index,
                         const surg__pipeline_step *step) {
  surg__pass_report *r = &report->passes.items[index];
  for (size_t i = 0; i < r->counters.count; i++)
    surg__free(report->ctx, r->counters.items[i].what);
  r->counters.count = 0;
  size_t kept = 0;
  for (size_t i = 0; i < report->undone.count; i++) {
    surg__undone *u = &report->undone.items[i];
    if (u->step == step)
      surg__free(report->ctx, u->text);
    else
      report->undone.items[kept++] = *u;
  }
  report->undone.count = kept;
}

void surg__report_end(surg__run_report *report) {
  filter_undone(report, NULL);
  if (report->n_undone < report->undone.count) report->n_undone = report->undone.count;
  if (!report->limit_reached) return;
  /* Work left because of the rewrite limit is expected, and not reported. */
  for (size_t i = 0; i < report->undone.count; i++)
    surg__free(report->ctx, report->undone.items[i].text);
  report->undone.count = 0;
  report->n_undone = 0;
}

void surg__undone_print(const surg__undone *u, surg__buf *out) {
  surg__buf_printf(out, "pass \"%s\": %s%s", u->pass->name, u->node ? "" : "the model has no ",
                   u->text);
}

void surg__run_report_free(surg__run_report *report) {
  if (!report || !report->ctx) return;
  surg_context *ctx = report->ctx;
  for (size_t i = 0; i < report->passes.count; i++) {
    surg__pass_report *r = &report->passes.items[i];
    for (size_t k = 0; k < r->counters.count; k++) surg__free(ctx, r->counters.items[k].what);
    for (size_t k = 0; k < r->notes.count; k++) surg__free(ctx, r->notes.items[k]);
    surg__vec_free(ctx, &r->counters);
    surg__vec_free(ctx, &r->notes);
    surg__rows_free(ctx, r);
  }
  surg__vec_free(ctx, &report->passes);
  for (size_t i = 0; i < report->undone.count; i++) surg__free(ctx, report->undone.items[i].text);
  surg__vec_free(ctx, &report->undone);
  *report = (surg__run_report){0};
}

static void put_ms(surg__buf *out, uint64_t ns) {
  surg__buf_printf(out, "%llu.%03llu ms", (unsigned long long)(ns / 1000000),
                   (unsigned long long)(ns / 1000 % 1000));
}

static void print_details(const surg__pass_report *r, surg__buf *out) {
  for (size_t i = 0; i < r->counters.count; i++) {
    surg__buf_puts(out, "  ");
    surg__buf_escape(out, r->counters.items[i].what, strlen(r->counters.items[i].what), 0);
    surg__buf_printf(out, ": %llu\n", (unsigned long long)r->counters.items[i].n);
  }
  for (size_t i = 0; i < r->notes.count; i++) surg__buf_printf(out, "  - %s\n", r->notes.items[i]);
  if (r->n_notes > r->notes.count)
    surg__buf_printf(out, "  - and %llu more notes\n",
                     (unsigned long long)(r->n_notes - r->notes.count));
  surg__rows_print(r, out);
}

void surg__run_report_print(const surg__run_report *report, bool stats, bool time, surg__buf *out) {
  for (size_t i = 0; i < report->passes.count; i++) {
    const surg__pass_report *r = &report->passes.items[i];
    surg__buf_printf(out, "%s: %llu run%s", r->pass->name, (unsigned long long)r->runs,
                     r->runs == 1 ? "" : "s");
    if (stats) {
      surg__buf_printf(out, ", %llu rewrite%s, %s", (unsigned long long)r->rewrites,
                       r->rewrites == 1 ? "" : "s", r->changed ? "changed" : "unchanged");
      if (r->used) surg__buf_printf(out, ", %s", surg__exactness_name(r->used));
    }
    if (time) {
      surg__buf_puts(out, ", ");
      put_ms(out, r->ns);
    }
    surg__buf_putc(out, '\n');
    if (stats) print_details(r, out);
  }
  if (time) {
    surg__buf_puts(out, "total: ");
    put_ms(out, report->ns);
    surg__buf_putc(out, '\n');
  }
}

static json_t *json_pass(surg_context *ctx, const surg__pass_report *r) {
  json_t *counters = json_object(), *notes = json_array();
  for (size_t i = 0; i < r->counters.count; i++) {
    json_t *what = surg__json_text(ctx, r->counters.items[i].what); /* keys must be UTF-8, too */
    if (what)
      json_object_set_new(counters, json_string_value(what),
                          json_integer((json_int_t)r->counters.items[i].n));
    json_decref(what);
  }
  for (size_t i = 0; i < r->notes.count; i++)
    json_array_append_new(notes, surg__json_text(ctx, r->notes.items[i]));
  json_t *all = json_pack("{s:s,s:I,s:I,s:I,s:b,s:s,s:o,s:o,s:I}",
                   "name", r->pass->name,
                   "runs", (json_int_t)r->runs,
                   "ns", (json_int_t)r->ns,
                   "rewrites", (json_int_t)r->rewrites,
                   "changed", r->changed,
                   "exactness", surg__exactness_name(r->used),
                   "counters", counters,
                   "notes", notes,
                   "note_count", (json_int_t)r->n_notes);
  if (all && r->n_rows) surg__rows_json(ctx, r, all);
  return all;
}

static json_t *json_undone(surg_context *ctx, const surg__undone *u) {
  surg__buf line;
  surg__buf_init(&line, ctx);
  surg__undone_print(u, &line);
  surg__buf_putc(&line, 0);
  json_t *j = line.failed ? NULL : surg__json_text(ctx, line.p);
  surg__buf_free(&line);
  return j;
}

void surg__run_report_json(const surg__run_report *report, surg__buf *out) {
  surg_context *ctx = report->ctx;
  json_t *passes = json_array(), *undone = json_array();
  for (size_t i = 0; i < report->passes.count; i++)
    json_array_append_new(passes, json_pass(ctx, &report->passes.items[i]));
  for (size_t i = 0; i < report->undone.count; i++)
    json_array_append_new(undone, json_undone(ctx, &report->undone.items[i]));
  json_t *failed = report->failed ? surg__json_text(ctx, report->failed) : json_null();
  surg__json_put(out, json_pack("{s:b,s:s,s:b,s:b,s:I,s:I,s:o,s:o,s:o,s:I}", "changed",
                                report->changed, "exactness", surg__exactness_name(report->worst),
                                "interface", report->interface, "limit_reached",
                                report->limit_reached, "rewrites", (json_int_t)report->rewrites,
                                "ns", (json_int_t)report->ns, "failed", failed, "passes", passes,
                                "undone", undone, "undone_count", (json_int_t)report->n_undone));
}
