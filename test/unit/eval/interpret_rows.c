/* SPDX-License-Identifier: Apache-2.0 */
/* Reads, runs and prints the rows of interpret_rows.h. */
#include "interpret_rows.h"

#include "base/fault.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/context.h"
#include "eval/core/number.h"
#include "io/io.h"

static void print_element(surg__buf *b, const surg__array *a, uint64_t i) {
  if (a->dtype == SURG_STRING) {
    surg_str s = ((const surg_str *)a->data)[i];
    surg__buf_puts(b, " \"");
    surg__buf_put(b, s.p, s.n);
    surg__buf_puts(b, "\"");
  } else if (surg__dtype_is_float(a->dtype)) {
    surg__buf_printf(b, " %.6g", surg__load_f64(a->dtype, a->data, i));
  } else {
    surg__buf_printf(b, " %lld", (long long)surg__load_int(a->dtype, a->data, i));
  }
}

static void print_array(surg__buf *b, const surg__array *a) {
  if (surg__array_is_list(a)) {
    static const char *const open[] = {"[", "some(", "{"}, *const close[] = {"]", ")", "}"};
    int kind = a->dtype - SURG__V_SEQUENCE;
    if (kind == 1 && a->count == 0) {
      surg__buf_puts(b, "none");
      return;
    }
    surg__buf_puts(b, open[kind]);
    for (uint64_t i = 0; i < a->count; ++i) {
      if (i > 0) surg__buf_puts(b, "; ");
      print_array(b, &surg__list_of(a)->items[i]);
    }
    surg__buf_puts(b, close[kind]);
    return;
  }
  surg__buf_printf(b, "%s[", surg_dtype_name(a->dtype));
  for (uint32_t i = 0; i < a->rank; ++i) {
    surg__buf_printf(b, i ? ",%lld" : "%lld", (long long)a->dims[i]);
  }
  surg__buf_puts(b, "]:");
  for (uint64_t i = 0; i < a->count; ++i) print_element(b, a, i);
}

surg_context *interpret_context(void) {
  surg_config config = {.size = sizeof config};
  surg_context *ctx = surg_context_new(&config);
  ck_assert_ptr_nonnull(ctx);
  return ctx;
}

surg_model *interpret_parse(surg_context *ctx, const char *graph) {
  surg__buf text, wire;
  surg_model *m = NULL;
  surg__buf_init(&text, ctx);
  surg__buf_init(&wire, ctx);
  if (*graph != '<') {
    surg__buf_puts(&text, "<ir_version: 8, opset_import: [\"\" : 20, \"ai.onnx.ml\" : 5]>\n");
  }
  surg__buf_puts(&text, graph);
  ck_assert_int_eq(surg__text_parse(ctx, text.p, text.n, "test", &wire), SURG_OK);
  ck_assert_int_eq(surg_model_load_memory(ctx, wire.p, wire.n, "test", NULL, &m), SURG_OK);
  surg__buf_free(&text);
  surg__buf_free(&wire);
  return m;
}

static void print_outputs(surg__buf *b, surg_model *m, surg_status s, const surg__array *out,
                          const surg__session *session) {
  if (s != SURG_OK) {
    surg__buf_printf(b, "!%s: %s", surg_status_name(s), session->why ? session->why : "");
    return;
  }
  for (size_t i = 0; i < surg_graph_output_count(surg_model_graph(m)); ++i) {
    if (i > 0) surg__buf_puts(b, "\n");
    print_array(b, &out[i]);
  }
}

void interpret_row_check(const interpret_row *r) {
  surg_context *ctx = interpret_context();
  surg_model *m = interpret_parse(ctx, r->graph);
  surg__array none = {0}, out[8] = {{0}};
  surg__session session = {.max_bytes = 1 << 20, .max_work = 100000};
  surg_status s = surg__session_run(&session, m, &none, out);
  surg__buf b;
  surg__buf_init(&b, ctx);
  print_outputs(&b, m, s, out, &session);
  surg__buf_putc(&b, 0);
  ck_assert_msg(strcmp(b.p, r->expected) == 0, "%s:\n%s\nnot\n%s", r->what, b.p, r->expected);
  surg__buf_free(&b);
  for (size_t i = 0; i < SURG_COUNT(out); ++i) surg__array_drop(&out[i]);
  surg_model_free(m);
  surg_context_free(ctx);
}

/* What the model makes on demand (text that is decoded, say) stays with it after the first run. */
static void warm_up(surg_model *m) {
  surg__array none = {0}, out[8] = {{0}};
  surg__session session = {.max_bytes = 1 << 20, .max_work = 100000};
  ck_assert_int_eq(surg__session_run(&session, m, &none, out), SURG_OK);
  for (size_t i = 0; i < SURG_COUNT(out); ++i) surg__array_drop(&out[i]);
}

/* One run under a limit of memory: it succeeds, or stops and keeps nothing. */
static bool runs_within(surg_context *ctx, surg_model *m, uint64_t limit) {
  surg__array none = {0}, out[8] = {{0}};
  surg__session session = {.max_bytes = 1 << 20, .max_work = 100000};
  uint64_t before = surg__alloc_bytes(ctx), all = ctx->max_memory;
  ctx->max_memory = before + limit;
  surg_status s = surg__session_run(&session, m, &none, out);
  ctx->max_memory = all;
  for (size_t i = 0; i < SURG_COUNT(out); ++i) surg__array_drop(&out[i]);
  ck_assert_uint_eq(surg__alloc_bytes(ctx), before);
  if (s == SURG_OK) return true;
  ck_assert_msg(s == SURG_ELIMIT || s == SURG_ENOMEM, "%s", surg_status_name(s));
  return false;
}

void interpret_row_starve(const interpret_row *r) {
  if (*r->expected == '!') return;
  surg_context *ctx = interpret_context();
  surg_model *m = interpret_parse(ctx, r->graph);
  ck_assert_int_eq(surg_model_infer(m), SURG_OK);
  warm_up(m);
  ck_assert(runs_within(ctx, m, 1 << 24));
  uint64_t limit = 0;
  while (!runs_within(ctx, m, limit)) limit += 96;
  ck_assert_uint_gt(limit, 0);
#ifdef SURG_FAULT_INJECTION
  bool whole = false;
  for (uint64_t at = 1; !whole; at++) {
    surg__fault_plan(SURG__FAULT_ALLOC, at);
    (void)runs_within(ctx, m, 1 << 24);
    whole = surg__fault_calls(SURG__FAULT_ALLOC) < at;
    surg__fault_plan(SURG__FAULT_ALLOC, 0);
  }
#endif
  surg_model_free(m);
  surg_context_free(ctx);
}
