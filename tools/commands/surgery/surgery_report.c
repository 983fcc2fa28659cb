/* SPDX-License-Identifier: Apache-2.0 */
/* Reports a run of the main form: a summary, JSON, statistics per pass. */
#include <stdlib.h>
#include <string.h>

#include "base/os/program.h"

#include "surgery.h"

#define SHOWN_CHANGES 20u

/* Prints a row `label  before  after  change`. */
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

/* Merges two lists sorted by operator. Returns the number of operators whose count changed. */
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

static void print_proof(FILE *f, const surg_run_summary *r) {
  if (r->checked)
    fprintf(f, "  checked: %u run%s, equal", r->checked, r->checked == 1 ? "" : "s");
  else
    fprintf(f, "  not checked");
  if (r->skipped) fprintf(f, "; %u skipped", r->skipped);
  if (r->skipped && *r->unchecked) fprintf(f, " (%s)", r->unchecked);
  if (r->silent) fprintf(f, "; not compared: %s", r->silent_why);
  if (r->silent > 1)
    fprintf(f, " (and %u more output%s)", r->silent - 1, r->silent == 2 ? "" : "s");
  if (r->left_out) fprintf(f, "; passes left out: %u", r->left_out);
  fputc('\n', f);
}

static json_t *json_proof(const surg_run_summary *r) {
  json_t *j = json_object();
  json_object_set_new(j, "checked", json_integer(r->checked));
  json_object_set_new(j, "skipped", json_integer(r->skipped));
  json_object_set_new(j, "left_out", json_integer(r->left_out));
  json_object_set_new(j, "silent", json_integer(r->silent));
  if (r->silent) json_object_set_new(j, "silent_why", cli_text_json(r->silent_why));
  if (r->skipped) json_object_set_new(j, "why", cli_text_json(r->unchecked));
  return j;
}

/* Prints what a budget would win. */
static void print_growth(FILE *f, const surg_growth *g) {
  if (!g->nodes) return;
  fprintf(f, "  %llu node%s fewer with --max-growth ", (unsigned long long)g->nodes,
          g->nodes == 1 ? "" : "s");
  if (g->max_growth == UINT64_MAX)
    fputs("inf", f);
  else
    fprintf(f, "%lluKiB", (unsigned long long)(g->max_growth / 1024));
  if (g->bytes) fprintf(f, " (file: +%s)", cli_bytes(g->bytes));
  fputc('\n', f);
}

static json_t *json_growth(const surg_growth *g) {
  json_t *j = json_object();
  json_object_set_new(j, "nodes", json_integer((json_int_t)g->nodes));
  json_object_set_new(j, "bytes", json_integer((json_int_t)g->bytes));
  if (g->max_growth != UINT64_MAX)
    json_object_set_new(j, "max_growth", json_integer((json_int_t)g->max_growth));
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
  fprintf(f, "  exactness: %s%s\n", surg_exactness_name(o->run.used),
          o->run.limit_reached ? "; the rewrite limit left work undone" : "");
  if (o->check) print_proof(f, &o->run);
  print_growth(f, &o->growth);
}

/* Whether the user's pipeline contains the name as a word; presets are not expanded. */
static bool surgery_names(const surgery *j, const char *pass) {
  static const char word[] = "abcdefghijklmnopqrstuvwxyz0123456789-";
  const size_t n = strlen(pass);
  for (const char *at = j->pipeline; (at = strstr(at, pass)); at++)
    if ((at == j->pipeline || !strchr(word, at[-1])) && (!at[n] || !strchr(word, at[n])))
      return true;
  return false;
}

/* Prints the passes that the user named and that changed nothing, with their first note. */
static void print_idle(FILE *f, const surgery *j, const outcome *o) {
  surg_run_pass_summary p = {.size = sizeof p};
  for (size_t i = 0; surg_run_pass(o->report, i, &p) == SURG_OK; i++) {
    if (p.changed || !surgery_names(j, p.name)) continue;
    fprintf(f, "  %s changed nothing", p.name);
    if (p.notes) fprintf(f, ": %s", surg_run_note(o->report, i, 0));
    if (p.all_notes > 1)
      fprintf(f, " (and %llu more notes: --stats)", (unsigned long long)(p.all_notes - 1));
    fputc('\n', f);
  }
}

/* Prints the passes' counters of renamed values. */
static void print_renames(FILE *f, const outcome *o) {
  uint64_t n;
  const char *what;
  for (size_t i = 0; i < o->run.passes; i++)
    for (size_t k = 0; (what = surg_run_counter(o->report, i, k, &n)); k++)
      if (strstr(what, "renamed")) fprintf(f, "  %s: %llu\n", what, (unsigned long long)n);
}

/* Prints the assumptions: the result may be wrong for inputs that violate them. */
static void print_assumed(FILE *f, const surgery *j) {
  const cli_words *const lists[] = {&j->assumed, &j->ranges};
  for (size_t k = 0; k < CLI_COUNT(lists); k++)
    for (size_t i = 0; i < lists[k]->n; i++) {
      fputs("  assumed: ", f);
      cli_put(f, lists[k]->items[i]);
      fputc('\n', f);
    }
  if (j->run.trust_declared) fputs("  assumed: declared types of unknown operators\n", f);
  if (j->common.load.freeze_inputs) fputs("  assumed: inputs with a default are constants\n", f);
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

/* The assumptions that the user gave, as JSON. */
static json_t *json_assumed(const surgery *j) {
  json_t *list = json_array();
  for (size_t i = 0; i < j->assumed.n; i++)
    json_array_append_new(list, cli_text_json(j->assumed.items[i]));
  for (size_t i = 0; i < j->ranges.n; i++)
    json_array_append_new(list, cli_text_json(j->ranges.items[i]));
  if (j->run.trust_declared)
    json_array_append_new(list, json_string("declared types of unknown operators"));
  if (j->common.load.freeze_inputs)
    json_array_append_new(list, json_string("inputs with a default are constants"));
  return list;
}

static void print_json(const surgery *s, surg_context *ctx, const outcome *o) {
  char *text = NULL;
  json_t *run =
      surg_run_print(o->report, true, &text) == SURG_OK ? json_loads(text, 0, NULL) : NULL;
  surg_context_free_bytes(ctx, text);
  json_t *j = json_object();
  json_object_set_new(j, "schema", json_integer(1));
  json_object_set_new(j, "in", cli_text_json(o->in));
  if (o->out) json_object_set_new(j, "out", cli_text_json(o->out));
  json_object_set_new(j, "before", json_side(&o->before, o->bytes_before));
  json_object_set_new(j, "after", json_side(&o->after, o->bytes_after));
  if (run) json_object_set_new(j, "run", run);
  json_t *assumed = json_assumed(s);
  if (json_array_size(assumed)) json_object_set(j, "assumed", assumed);
  json_decref(assumed);
  json_object_set_new(j, "interface", interface_json(o));
  if (o->growth.nodes) json_object_set_new(j, "growth", json_growth(&o->growth));
  if (o->check) json_object_set_new(j, "check", json_proof(&o->run));
  cli_print_json(j);
}

bool surgery_tells(const surgery *j) {
  if (j->common.quiet) return false;
  return j->common.summary || surg__os_is_terminal(fileno(stderr));
}

void surgery_report(const surgery *j, surg_context *ctx, const outcome *o) {
  if (j->common.json) print_json(j, ctx, o);
  if (surgery_tells(j)) {
    print_summary(o);
    interface_print(stderr, o);
    print_renames(stderr, o);
    print_idle(stderr, j, o);
    print_assumed(stderr, j);
  } else if (o->run.used > SURG_EXACT && !j->common.quiet && !j->common.json) {
    /* Print the exactness class of an inexact result even without a summary. */
    cli_put(stderr, o->in);
    fprintf(stderr, ": exactness: %s\n", surg_exactness_name(o->run.used));
  }
  const surg_pass *pass = j->form ? j->form->pass : NULL;
  /* Always list the changes made to an invalid model. */
  const bool mends =
      pass && (pass->needs & SURG_TAKES_DEFECTS) && !j->common.quiet && !j->common.json;
  if (!j->stats && !j->time && !mends) return;
  char *text = NULL;
  if (surg_run_lines(o->report, j->stats || mends, j->time, &text) == SURG_OK) fputs(text, stderr);
  surg_context_free_bytes(ctx, text);
}
