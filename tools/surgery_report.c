/* SPDX-License-Identifier: Apache-2.0 */
/* What the main form tells of a run: a summary, JSON, what each pass did. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "surgery.h"

#define SHOWN_CHANGES 20u

/* A row `label  before  after  change`. */
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

/* Walks both lists, sorted by operator, side by side; the count of operators that changed. */
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

static void print_proof(FILE *f, const surg__proof *p) {
  if (p->checked)
    fprintf(f, "  checked: %u runs, equal", p->checked);
  else
    fprintf(f, "  not checked");
  if (p->skipped)
    fprintf(f, "; %u more say nothing: they fail, or ONNX leaves them open", p->skipped);
  if (p->left_out) fprintf(f, "; passes left out: %u", p->left_out);
  fputc('\n', f);
}

static json_t *json_proof(const surg__proof *p) {
  json_t *j = json_object();
  json_object_set_new(j, "checked", json_integer(p->checked));
  json_object_set_new(j, "skipped", json_integer(p->skipped));
  json_object_set_new(j, "left_out", json_integer(p->left_out));
  if (p->skipped) json_object_set_new(j, "why", cli_text_json(p->why));
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
  fprintf(f, "  exactness: %s%s\n", surg__exactness_name(o->report.worst),
          o->report.limit_reached ? "; the rewrite limit left work undone" : "");
  if (o->check) print_proof(f, &o->proof);
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

/* What the result may rely on because the user said so. */
static json_t *json_assumed(const surgery *j) {
  json_t *list = json_array();
  for (size_t i = 0; i < j->dims.n; i++)
    json_array_append_new(list, cli_text_json(j->dims.items[i]));
  for (size_t i = 0; i < j->ranges.n; i++)
    json_array_append_new(list, cli_text_json(j->ranges.items[i]));
  return list;
}

static void print_json(const surgery *s, surg_context *ctx, const outcome *o) {
  surg__buf b;
  surg__buf_init(&b, ctx);
  surg__run_report_json(&o->report, &b);
  json_t *j = json_object();
  json_object_set_new(j, "schema", json_integer(1));
  json_object_set_new(j, "in", cli_text_json(o->in));
  if (o->out) json_object_set_new(j, "out", cli_text_json(o->out));
  json_object_set_new(j, "before", json_side(&o->before, o->bytes_before));
  json_object_set_new(j, "after", json_side(&o->after, o->bytes_after));
  json_t *run = b.p && !b.failed ? json_loads(b.p, 0, NULL) : NULL;
  if (run) json_object_set_new(j, "run", run);
  if (s->dims.n + s->ranges.n > 0) json_object_set_new(j, "assumed", json_assumed(s));
  if (o->check) json_object_set_new(j, "check", json_proof(&o->proof));
  json_dumpf(j, stdout, JSON_INDENT(2));
  putchar('\n');
  json_decref(j);
  surg__buf_free(&b);
}

bool surgery_tells(const surgery *j) {
  if (j->common.quiet) return false;
  return j->common.summary || isatty(STDERR_FILENO);
}

void surgery_report(const surgery *j, surg_context *ctx, const outcome *o) {
  if (j->common.json) print_json(j, ctx, o);
  if (surgery_tells(j)) print_summary(o);
  for (size_t i = 0; surgery_tells(j) && i < j->ranges.n; i++) {
    char *text = cli_escaped(j->ranges.items[i], 120);
    fprintf(stderr, "  assumed: %s\n", text ? text : "?");
    free(text);
  }
  if (!j->stats && !j->time) return;
  surg__buf b;
  surg__buf_init(&b, ctx);
  surg__run_report_print(&o->report, j->stats, j->time, &b);
  if (b.p) fputs(b.p, stderr);
  surg__buf_free(&b);
}

