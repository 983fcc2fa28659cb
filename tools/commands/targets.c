/* SPDX-License-Identifier: Apache-2.0 */
/* `onnxsurg targets [NAME]`: lists the known engines, or what one of them supports. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "check/check_target.h"

static const char help[] =
    "usage: onnxsurg targets [--json] [--plugin FILE]\n"
    "       onnxsurg targets [--json] [--why] NAME|FILE.target [OP...]\n"
    "Lists the known engines; with a name, prints what that engine supports, with\n"
    "operators, only those. Names may be short: ort, trt8.6.\n"
    "doc/targets.md explains the facts of a target and how to write one.\n"
    "  --json              print JSON\n"
    "  --why               print the source of each fact of the operators\n"
    "  --plugin FILE       list the targets of a plugin too\n"
    "Facts that are older than six months are marked as old. The day is that of their\n"
    "source, or the day on which the engine was asked.\n"
    "next: onnxsurg check --target NAME IN\n";

/* Appends a range of versions, and blanks up to `columns` (0: none), one at least. */
static void put_span(cli_text *b, int64_t low, int64_t high, int columns) {
  char text[64];
  surg_target_span(low, high, text, sizeof text);
  cli_text_puts(b, text);
  const int n = (int)strlen(text);
  if (columns) cli_text_printf(b, "%*s", n < columns ? columns - n : 1, "");
}

/* --- the age of facts --- */

#define OLD_DAYS 183 /* facts are marked as old after six months */

/* Days from 1970-01-01 to a day of the Gregorian calendar. The year begins in March, so that a leap
 * day is its last. */
static int64_t days_of(int64_t year, int64_t month, int64_t day) {
  const int64_t y = month <= 2 ? year - 1 : year, era = y / 400, in_era = y - era * 400;
  const int64_t in_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
  return era * 146097 + in_era * 365 + in_era / 4 - in_era / 100 + in_year - 719468;
}

/* The present day; SOURCE_DATE_EPOCH replaces the clock, so that output can be repeated. */
static int64_t today(void) {
  const char *fixed = getenv("SOURCE_DATE_EPOCH");
  return (fixed ? (int64_t)strtoll(fixed, NULL, 10) : (int64_t)time(NULL)) / 86400;
}

static bool is_old(const surg_target *t) {
  const char *date = surg_target_date(t);
  if (!date) return false;
  const int64_t day = days_of(strtol(date, NULL, 10), strtol(date + 5, NULL, 10),
                              strtol(date + 8, NULL, 10));
  return today() - day > OLD_DAYS;
}

/* --- all targets --- */

static void put_row(cli_text *b, const surg_target *t) {
  surg_target_summary sum = {.size = sizeof sum};
  int64_t low, high;
  surg_target_get(t, &sum);
  cli_text_printf(b, "%-46s ", surg_target_name(t));
  surg_target_opset(t, "", &low, &high);
  put_span(b, low, high, 11);
  surg_target_ir(t, &low, &high);
  put_span(b, low, high, 11);
  const char *date = surg_target_date(t);
  cli_text_printf(b, "%9zu  %s%s\n", sum.operators, date ? date : "not stated",
                  is_old(t) ? " old" : "");
}

static int list(surg_context *ctx, bool json) {
  json_t *all = json ? json_array() : NULL;
  cli_text b = {0};
  surg_status s = SURG_OK;
  const char *name;
  if (!json)
    cli_text_printf(&b, "%-46s %-10s %-10s %s  %s\n", "target", "opset", "IR", "operators",
                    "facts of");
  for (size_t i = 0; s == SURG_OK && (name = surg_context_target(ctx, i)); i++) {
    surg_target *t = NULL;
    s = surg_target_open(ctx, name, &t);
    if (s == SURG_OK && json)
      json_array_append_new(all, json_string(surg_target_name(t)));
    else if (s == SURG_OK)
      put_row(&b, t);
    surg_target_free(t);
  }
  if (s != SURG_OK)
    json_decref(all);
  else if (json)
    cli_print_json(json_pack("{s:i,s:o}", "schema", 1, "targets", all));
  else
    cli_text_print(&b);
  cli_text_free(&b);
  return cli_exit_code(s);
}

/* --- one target --- */

static const char *stated(int32_t s) {
  return s == SURG_STATED_YES ? "supported" : s == SURG_STATED_NO ? "not supported" : "not stated";
}

static void put_names(cli_text *b, const surg_target *t, bool unsupported) {
  surg_target_operator op = {.size = sizeof op};
  cli_text line = {0};
  for (size_t i = 0; surg_target_operator_at(t, i, &op) == SURG_OK; i++)
    if (op.unsupported == unsupported) cli_text_printf(&line, "%s ", op.name);
  if (!line.failed && line.n) {
    cli_text_printf(b, "%-12s", unsupported ? "unsupported" : "operators");
    cli_text_wrap(b, cli_text_of(&line), 12, 12);
  }
  cli_text_free(&line);
}

static void put_versions(cli_text *b, const surg_target *t) {
  const char *domain;
  int64_t low, high;
  for (size_t i = 0; (domain = surg_target_domain(t, i)); i++) {
    surg_target_opset(t, domain, &low, &high);
    cli_text_printf(b, "%-12s", i ? "" : "opset");
    put_span(b, low, high, 0);
    cli_text_printf(b, "%s%s\n", *domain ? " of " : "", domain);
  }
  surg_target_ir(t, &low, &high);
  cli_text_printf(b, "%-12s", "IR");
  put_span(b, low, high, 0);
  cli_text_putc(b, '\n');
}

static void put_target(cli_text *b, const surg_target *t) {
  static const char *const dynamic[] = {[SURG_OPEN_NOT_STATED] = "not stated",
                                        [SURG_OPEN_NONE] = "not supported",
                                        [SURG_OPEN_BATCH] = "supported for the batch only",
                                        [SURG_OPEN_ALL] = "supported"};
  _Static_assert(CLI_COUNT(dynamic) == SURG_OPEN_ALL + 1, "a text for each way");
  const char *title = surg_target_title(t), *note;
  surg_target_summary sum = {.size = sizeof sum};
  surg_target_get(t, &sum);
  cli_text_printf(b, "%-12s%s\n%-12s", "target", surg_target_name(t), "engine");
  cli_text_wrap(b, title ? title : surg_target_name(t), 12, 12);
  put_versions(b, t);
  cli_text_printf(b, "%-12s%s\n%-12s%s\n%-12s%s\n", "dynamic", dynamic[sum.dynamic], "functions",
                  stated(sum.functions), "custom", stated(sum.custom));
  put_names(b, t, false);
  put_names(b, t, true);
  cli_text_printf(b, "%-12sother operators are %s\n", "rest",
                  sum.rest_unsupported ? "unsupported" : "unknown");
  for (size_t i = 0; (note = surg_target_note(t, i)); i++) {
    cli_text_printf(b, "%-12s", i ? "" : "notes");
    cli_text_wrap(b, note, 12, 12);
  }
  cli_text_printf(b, "%-12s", "source");
  cli_text_wrap(b, surg_target_source(t), 12, 12);
  const char *date = surg_target_date(t);
  cli_text_printf(b, "%-12s%s%s\n", "facts of", date ? date : "not stated",
                  is_old(t) ? " (older than six months)" : "");
}

static json_t *span_json(int64_t low, int64_t high) {
  return json_pack("[o,o]", low == INT64_MIN ? json_null() : json_integer(low),
                   high == INT64_MAX ? json_null() : json_integer(high));
}

static json_t *target_json(const surg_target *t) {
  json_t *j = json_object(), *opsets = json_object(), *ops = json_array();
  const char *domain, *title = surg_target_title(t), *date = surg_target_date(t);
  surg_target_operator op = {.size = sizeof op};
  int64_t low, high;
  for (size_t i = 0; (domain = surg_target_domain(t, i)); i++) {
    surg_target_opset(t, domain, &low, &high);
    json_object_set_new(opsets, domain, span_json(low, high));
  }
  for (size_t i = 0; surg_target_operator_at(t, i, &op) == SURG_OK; i++)
    json_array_append_new(ops, cli_text_json(op.name));
  surg_target_ir(t, &low, &high);
  json_object_set_new(j, "schema", json_integer(1));
  json_object_set_new(j, "name", cli_text_json(surg_target_name(t)));
  json_object_set_new(j, "title", cli_text_json(title ? title : surg_target_name(t)));
  json_object_set_new(j, "opset", opsets);
  json_object_set_new(j, "ir", span_json(low, high));
  json_object_set_new(j, "ops", ops);
  json_object_set_new(j, "source", cli_text_json(surg_target_source(t)));
  json_object_set_new(j, "date", date ? cli_text_json(date) : json_null());
  json_object_set_new(j, "old", json_boolean(is_old(t)));
  return j;
}

static void put_op(cli_text *b, surg_context *ctx, const surg_target *t, size_t i, bool why) {
  surg_target_operator op = {.size = sizeof op};
  surg_target_operator_at(t, i, &op);
  cli_text_printf(b, "  %s\n", op.name);
  for (size_t k = 0; k < op.facts; k++) {
    char *text = NULL;
    const surg_status s = surg_target_fact(t, i, k, &text);
    cli_text_puts(b, "    ");
    cli_text_take(b, ctx, s, text);
    cli_text_putc(b, '\n');
    if (!why) continue;
    const char *source = surg_target_fact_source(t, i, k);
    cli_text_puts(b, "      source: ");
    cli_text_wrap(b, source ? source : "not stated", 14, 14);
  }
}

static void put_ops(cli_text *b, surg_context *ctx, const surg_target *t, char **names, int n,
                    bool why) {
  surg_target_summary sum = {.size = sizeof sum};
  surg_target_get(t, &sum);
  for (int i = 0; i < n; i++) {
    size_t at;
    if (surg_target_find_operator(t, names[i], &at) == SURG_OK) {
      put_op(b, ctx, t, at, why);
      continue;
    }
    cli_text_puts(b, "  \"");
    cli_text_escape(b, names[i], CLI_NAME_PRINT);
    cli_text_printf(b, "\"\n    %s\n",
                    sum.rest_unsupported ? "unsupported: not listed" : "unknown: not listed");
  }
}

static int show(surg_context *ctx, char **args, int n, bool json, bool why) {
  if (n == 0) return list(ctx, json);
  int code;
  surg_target *t = cli_target(ctx, args[0], &code);
  if (!t) return code;
  cli_text b = {0};
  if (json)
    cli_print_json(target_json(t));
  else if (n > 1)
    put_ops(&b, ctx, t, args + 1, n - 1, why);
  else
    put_target(&b, t);
  cli_text_print(&b);
  surg_target_free(t);
  return code;
}

enum { OPT_WHY = OPT_OWN };

static int take(void *why, int o, char *arg) {
  (void)o; /* the only option */
  (void)arg;
  *(bool *)why = true;
  return EXIT_DONE;
}

int cmd_targets(int argc, char **argv) {
  static const struct option options[] = {
      {"why", no_argument, NULL, OPT_WHY}, CLI_COMMON_OPTIONS, {0}};
  bool why = false;
  cli_common common;
  int code;
  const cli_command command = {options, NULL, help, take, &why, &common};
  if (!cli_options(argc, argv, &command, &code)) return code;
  surg_context *ctx = cli_context(&common);
  if (!ctx) return EXIT_LIMIT;
  code = show(ctx, argv + optind, argc - optind, common.json, why);
  if (cli_out_of_memory(ctx) && code == EXIT_DONE) code = EXIT_LIMIT;
  surg_context_free(ctx);
  return cli_flush(code);
}
