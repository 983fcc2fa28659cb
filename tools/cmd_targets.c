/* SPDX-License-Identifier: Apache-2.0 */
/* `onnxsurg targets [NAME]`: lists the known engines, or what one of them supports. */
#include <string.h>

#include "base/context.h"
#include "check_target.h"
#include "target/target.h"
#include "wrap_buf.h"

static const char help[] =
    "usage: onnxsurg targets [--json] [NAME|FILE.target [OP...]]\n"
    "Lists the known engines; with a name, prints what that engine supports, with\n"
    "operators, only those. Names may be short: ort, trt8.6.\n"
    "doc/targets.md explains the facts of a target and how to write one.\n"
    "  --json              print JSON\n"
    "next: onnxsurg check --target NAME IN\n";

static void put_span(surg__buf *b, const surg__tspan *s) {
  if (s->low == INT64_MIN && s->high == INT64_MAX)
    surg__buf_puts(b, "not said");
  else if (s->low == INT64_MIN)
    surg__buf_printf(b, "up to %lld", (long long)s->high);
  else if (s->high == INT64_MAX)
    surg__buf_printf(b, "from %lld", (long long)s->low);
  else
    surg__buf_printf(b, "%lld to %lld", (long long)s->low, (long long)s->high);
}

static const surg__tspan *opset_of(const surg__target *t, const char *domain) {
  for (size_t i = 0; i < t->opsets.count; i++)
    if (!strcmp(t->opsets.items[i].name, domain)) return &t->opsets.items[i];
  return NULL;
}

/* --- all targets --- */

static int list(surg_context *ctx, bool json) {
  json_t *all = json ? json_array() : NULL;
  surg__buf b;
  surg__buf_init(&b, ctx);
  if (!json) surg__buf_printf(&b, "%-46s %-10s %-10s %s\n", "target", "opset", "IR", "operators");
  for (size_t i = 0; i < surg__target_count; i++) {
    const surg__target_text *text = &surg__target_texts[i];
    surg__target *t = surg__target_read(ctx, text->text, strlen(text->text), text->name);
    if (!t) {
      surg__buf_free(&b);
      json_decref(all);
      return cli_exit_code(ctx->error_status);
    }
    const surg__tspan *opset = opset_of(t, "");
    if (json) {
      json_array_append_new(all, json_string(t->name));
    } else {
      size_t start = b.n;
      surg__buf_printf(&b, "%-46s ", t->name);
      const size_t column = b.n;
      put_span(&b, opset ? opset : &(surg__tspan){NULL, INT64_MIN, INT64_MAX});
      surg__buf_printf(&b, "%*s", b.n - column < 11 ? (int)(11 - (b.n - column)) : 1, "");
      start = b.n;
      put_span(&b, &t->ir);
      surg__buf_printf(&b, "%*s%5zu\n", b.n - start < 11 ? (int)(11 - (b.n - start)) : 1, "",
                       t->ops.count);
    }
    surg__target_free(t);
  }
  if (json)
    cli_print_json(json_pack("{s:i,s:o}", "schema", 1, "targets", all));
  else
    fwrite(b.p, 1, b.n, stdout);
  surg__buf_free(&b);
  return EXIT_DONE;
}

/* --- one target --- */

static void put_spans(surg__buf *b, const char *what, const surg__tspan *list, size_t n) {
  for (size_t i = 0; i < n; i++) {
    surg__buf_printf(b, "%s %s ", what, list[i].name);
    put_span(b, &list[i]);
    surg__buf_puts(b, "; ");
  }
}

static void put_conditions(surg__buf *b, const surg__tfact *f) {
  put_spans(b, "elements of constant", f->known, f->n_known);
  put_spans(b, "elements of", f->each, f->n_each);
  put_spans(b, "size of axis", f->dims, f->n_dims);
  for (size_t i = 0; i < f->iota.n; i++) surg__buf_printf(b, "%s 0, 1, 2, ...; ", f->iota.items[i]);
  for (size_t i = 0; i < f->halves.n; i++)
    surg__buf_printf(b, "equal halves of %s; ", f->halves.items[i]);
  if (f->folds) surg__buf_puts(b, "what is computed from constants counts as constant; ");
  if (f->plain_equation) surg__buf_puts(b, "no ellipsis, no label twice in one operand; ");
  if (f->branch_ranks) surg__buf_puts(b, "outputs of the branches of one rank; ");
  if (f->branch_spread) surg__buf_puts(b, "outputs of the branches broadcast; ");
  if (f->distinct) surg__buf_puts(b, "outputs of the branches with names of their own; ");
  if (f->still) surg__buf_puts(b, "carried values of one shape, scan outputs of fixed size; ");
}

static void put_fact(surg__buf *b, const surg__tfact *f) {
  const surg__op_facts one = {"", f, 1};
  const size_t start = b->n;
  surg__buf_puts(b, "    ");
  if (f->refused) surg__buf_puts(b, "refused; ");
  if (f->misread) surg__buf_puts(b, "imported, and computed otherwise: ");
  if (f->n_versions) {
    surg__buf_puts(b, "versions ");
    surg__target_put_versions(b, &one, true);
    surg__buf_puts(b, "; ");
  }
  if (f->n_opsets) {
    const surg__tfact opsets = {.versions = f->opsets, .n_versions = f->n_opsets};
    surg__buf_puts(b, "opset ");
    surg__target_put_versions(b, &(surg__op_facts){"", &opsets, 1}, true);
    surg__buf_puts(b, "; ");
  }
  for (size_t i = 0; i < f->n_not_types; i++) {
    surg__buf_printf(b, "%s not ", f->not_types[i].name);
    surg__target_put_types(b, f->not_types[i].mask);
    surg__buf_puts(b, "; ");
  }
  put_conditions(b, f);
  for (size_t i = 0; i < f->n_types; i++) {
    surg__buf_printf(b, "%s ",
                     !strcmp(f->types[i].name, "0")     ? "types"
                     : !strcmp(f->types[i].name, "out") ? "output"
                                                        : f->types[i].name);
    surg__target_put_types(b, f->types[i].mask);
    surg__buf_puts(b, "; ");
  }
  for (size_t i = 0; i < f->constants.n; i++)
    surg__buf_printf(b, "%s constant; ",
                     strcmp(f->constants.items[i], "*") ? f->constants.items[i] : "all inputs");
  for (size_t i = 0; i < f->absent.n; i++) surg__buf_printf(b, "no %s; ", f->absent.items[i]);
  for (size_t i = 0; i < f->no_attrs.n; i++) surg__buf_printf(b, "no %s; ", f->no_attrs.items[i]);
  for (size_t i = 0; i < f->written.n; i++)
    surg__buf_printf(b, "%s written; ", f->written.items[i]);
  for (size_t i = 0; i < f->unwritten.n; i++)
    surg__buf_printf(b, "%s left out; ", f->unwritten.items[i]);
  for (size_t i = 0; i < f->n_attrs; i++) {
    surg__buf_printf(b, "%s ", f->attrs[i].name);
    for (size_t k = 0; k < f->attrs[i].values.n; k++)
      surg__buf_printf(b, "%s%s", k ? ", " : "", f->attrs[i].values.items[k]);
    surg__buf_puts(b, "; ");
  }
  for (size_t i = 0; i < f->n_ranks; i++) {
    surg__buf_printf(b, "rank of %s ",
                     strcmp(f->ranks[i].name, "0") ? f->ranks[i].name : "input 0");
    put_span(b, &f->ranks[i]);
    surg__buf_puts(b, "; ");
  }
  if (f->fed) surg__buf_puts(b, "not of constants alone; ");
  if (f->same) surg__buf_puts(b, "inputs of one shape; ");
  for (size_t i = 0; i < f->shaped.n; i++)
    surg__buf_printf(b, "%s of the shape of the result; ", f->shaped.items[i]);
  for (size_t i = 0; i < f->n_spreads; i++)
    surg__buf_printf(b, "%s %s; ", f->spreads[i].name, surg__target_spread(f->spreads[i].how));
  for (size_t i = 0; i < f->n_sizes; i++) {
    surg__buf_printf(b, "elements of %s ", f->sizes[i].name);
    put_span(b, &f->sizes[i]);
    surg__buf_puts(b, "; ");
  }
  for (size_t i = 0; i < f->n_values; i++) {
    surg__buf_printf(b, "%s ", f->values[i].name);
    put_span(b, &f->values[i]);
    surg__buf_puts(b, "; ");
  }
  if (f->fixed)
    surg__buf_puts(b, f->open_first ? "fixed sizes, but for the batch; " : "fixed sizes; ");
  if (f->batch) surg__buf_printf(b, "batch %lld; ", (long long)f->batch);
  if (f->says) surg__buf_printf(b, "%s; ", f->says);
  if (b->n == start + 4) surg__buf_puts(b, "without a limit; ");
  if (!b->failed) b->p[b->n - 2] = '\n', b->n--;
}

static void put_op(surg__buf *b, const surg__op_facts *op) {
  surg__buf_printf(b, "  %s\n", op->name);
  for (size_t i = 0; i < op->n; i++) put_fact(b, &op->facts[i]);
}

static const char *tri(surg__tri t) {
  return t == SURG__YES ? "taken" : t == SURG__NO ? "not taken" : "not said";
}

static void put_names(surg__buf *b, const surg__target *t, bool refused) {
  surg__buf line;
  surg__buf_init(&line, t->ctx);
  for (size_t i = 0; i < t->ops.count; i++) {
    bool none = true;
    for (size_t k = 0; k < t->ops.items[i].n; k++) none &= t->ops.items[i].facts[k].refused;
    if (none == refused) surg__buf_printf(&line, "%s ", t->ops.items[i].name);
  }
  surg__buf_putc(&line, 0);
  if (!line.failed && line.n > 1) {
    surg__buf_printf(b, "%-12s", refused ? "refused" : "operators");
    cli_put_wrapped(b, line.p, 12, 12);
  }
  surg__buf_free(&line);
}

static void put_target(surg__buf *b, const surg__target *t) {
  static const char *const dynamic[] = {[SURG__D_UNSAID] = "not said",
                                        [SURG__D_NONE] = "none taken",
                                        [SURG__D_BATCH] = "of the batch alone",
                                        [SURG__D_ALL] = "taken"};
  _Static_assert(CLI_COUNT(dynamic) == SURG__D_ALL + 1, "a text for each way");
  surg__buf_printf(b, "%-12s%s\n%-12s", "target", t->name, "engine");
  cli_put_wrapped(b, t->title ? t->title : t->name, 12, 12);
  for (size_t i = 0; i < t->opsets.count; i++) {
    const surg__tspan *s = &t->opsets.items[i];
    surg__buf_printf(b, "%-12s", i ? "" : "opset");
    put_span(b, s);
    surg__buf_printf(b, "%s%s\n", s->name[0] ? " of " : "", s->name);
  }
  surg__buf_printf(b, "%-12s", "IR");
  put_span(b, &t->ir);
  surg__buf_printf(b, "\n%-12s%s\n%-12s%s\n%-12s%s\n", "open sizes", dynamic[t->dynamic],
                   "functions", tri(t->functions), "custom", tri(t->custom));
  put_names(b, t, false);
  put_names(b, t, true);
  surg__buf_printf(b, "%-12sother operators are %s\n", "rest",
                   t->rest_refused ? "refused" : "not known about");
  for (size_t i = 0; i < t->notes.n; i++) {
    surg__buf_printf(b, "%-12s", i ? "" : "notes");
    cli_put_wrapped(b, t->notes.items[i], 12, 12);
  }
  surg__buf_printf(b, "%-12s", "source");
  cli_put_wrapped(b, t->source, 12, 12);
}

static json_t *span_json(const surg__tspan *s) {
  return json_pack("[o,o]", s->low == INT64_MIN ? json_null() : json_integer(s->low),
                   s->high == INT64_MAX ? json_null() : json_integer(s->high));
}

static json_t *target_json(const surg__target *t) {
  json_t *j = json_object(), *opsets = json_object(), *ops = json_array();
  for (size_t i = 0; i < t->opsets.count; i++)
    json_object_set_new(opsets, t->opsets.items[i].name, span_json(&t->opsets.items[i]));
  for (size_t i = 0; i < t->ops.count; i++)
    json_array_append_new(ops, cli_text_json(t->ops.items[i].name));
  json_object_set_new(j, "schema", json_integer(1));
  json_object_set_new(j, "name", cli_text_json(t->name));
  json_object_set_new(j, "title", cli_text_json(t->title ? t->title : t->name));
  json_object_set_new(j, "opset", opsets);
  json_object_set_new(j, "ir", span_json(&t->ir));
  json_object_set_new(j, "ops", ops);
  json_object_set_new(j, "source", cli_text_json(t->source));
  return j;
}

static int put_ops(surg__buf *b, const surg__target *t, char **names, int n) {
  for (int i = 0; i < n; i++) {
    const surg__op_facts *op = surg__target_op(t, "", names[i]);
    if (op)
      put_op(b, op);
    else
      surg__buf_printf(b, "  %s\n    %s\n", surg__q(t->ctx, names[i]),
                       t->rest_refused ? "refused: not listed" : "not known about");
  }
  return EXIT_DONE;
}

static int show(surg_context *ctx, char **args, int n, bool json) {
  if (n == 0) return list(ctx, json);
  int code;
  surg__target *t = cli_target(ctx, args[0], &code);
  if (!t) return code;
  surg__buf b;
  surg__buf_init(&b, ctx);
  if (json)
    cli_print_json(target_json(t));
  else if (n > 1)
    code = put_ops(&b, t, args + 1, n - 1);
  else
    put_target(&b, t);
  if (b.n) fwrite(b.p, 1, b.n, stdout);
  surg__buf_free(&b);
  surg__target_free(t);
  return code;
}

int cmd_targets(int argc, char **argv) {
  static const struct option options[] = {CLI_COMMON_OPTIONS, {0}};
  cli_common common;
  int code;
  const cli_command command = {options, NULL, help, NULL, NULL, &common};
  if (!cli_options(argc, argv, &command, &code)) return code;
  surg_context *ctx = cli_context(&common);
  if (!ctx) return EXIT_LIMIT;
  code = show(ctx, argv + optind, argc - optind, common.json);
  if (cli_out_of_memory(ctx) && code == EXIT_DONE) code = EXIT_LIMIT;
  surg_context_free(ctx);
  return cli_flush(code);
}
