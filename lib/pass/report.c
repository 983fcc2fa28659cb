/* SPDX-License-Identifier: Apache-2.0 */
/* What a run did, gathered and printed. */
#include "pass/internal.h"

const char *surg__exactness_name(surg_exactness e) {
  static const char *const names[] = {"exact", "ulp", "approx", "lossy"};
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

void surg__run_report_free(surg__run_report *report) {
  if (!report || !report->ctx) return;
  surg_context *ctx = report->ctx;
  for (size_t i = 0; i < report->passes.count; i++) {
    surg__pass_report *r = &report->passes.items[i];
    for (size_t k = 0; k < r->counters.count; k++) surg__free(ctx, r->counters.items[k].what);
    for (size_t k = 0; k < r->notes.count; k++) surg__free(ctx, r->notes.items[k]);
    surg__vec_free(ctx, &r->counters);
    surg__vec_free(ctx, &r->notes);
  }
  surg__vec_free(ctx, &report->passes);
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

static void json_pass(const surg__pass_report *r, surg__buf *out) {
  surg__buf_printf(out, "{\"name\":\"%s\",\"runs\":%llu,\"ns\":%llu,\"rewrites\":%llu,",
                   r->pass->name, (unsigned long long)r->runs, (unsigned long long)r->ns,
                   (unsigned long long)r->rewrites);
  surg__buf_printf(out, "\"changed\":%s,\"exactness\":\"%s\",\"counters\":{",
                   r->changed ? "true" : "false", surg__exactness_name(r->used));
  for (size_t i = 0; i < r->counters.count; i++) {
    if (i) surg__buf_putc(out, ',');
    surg__buf_json(out, r->counters.items[i].what, strlen(r->counters.items[i].what));
    surg__buf_printf(out, ":%llu", (unsigned long long)r->counters.items[i].n);
  }
  surg__buf_puts(out, "},\"notes\":[");
  for (size_t i = 0; i < r->notes.count; i++) {
    if (i) surg__buf_putc(out, ',');
    surg__buf_json(out, r->notes.items[i], strlen(r->notes.items[i]));
  }
  surg__buf_printf(out, "],\"note_count\":%llu}", (unsigned long long)r->n_notes);
}

void surg__run_report_json(const surg__run_report *report, surg__buf *out) {
  surg__buf_printf(out, "{\"changed\":%s,\"exactness\":\"%s\",\"interface\":%s,",
                   report->changed ? "true" : "false", surg__exactness_name(report->worst),
                   report->interface ? "true" : "false");
  surg__buf_printf(out, "\"limit_reached\":%s,\"rewrites\":%llu,\"ns\":%llu,\"failed\":",
                   report->limit_reached ? "true" : "false", (unsigned long long)report->rewrites,
                   (unsigned long long)report->ns);
  if (report->failed)
    surg__buf_json(out, report->failed, strlen(report->failed));
  else
    surg__buf_puts(out, "null");
  surg__buf_puts(out, ",\"passes\":[");
  for (size_t i = 0; i < report->passes.count; i++) {
    if (i) surg__buf_putc(out, ',');
    json_pass(&report->passes.items[i], out);
  }
  surg__buf_puts(out, "]}");
}
