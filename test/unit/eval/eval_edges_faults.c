/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes of kernel tests where memory runs out. */
#include <check.h>

#include "base/context.h"
#include "base/fault.h"
#include "eval/core/value.h"
#include "kernel_rows.h"

#define MOST_IN 16
#define MOST_OUT 8
#define MOST_STEPS 400

/* One computation of the node; it keeps nothing. */
static surg_status compute(surg_context *ctx, const surg_node *n,
                           const surg__array *in) {
  surg__array made[MOST_OUT] = {{0}};
  surg__arena scratch;
  surg_kctx k = {.arena = &scratch, .max_bytes = 1 << 20, .max_work = 1 << 22, .running = true};
  const uint64_t before = surg_context_memory(ctx, NULL);
  surg__arena_init(&scratch, ctx);
  const surg_status s = surg__node_compute((surg_node *)(uintptr_t)n, &k, in, made);
  for (size_t i = 0; i < MOST_OUT; i++) surg__array_drop(&made[i]);
  surg__arena_free(&scratch);
  ck_assert_uint_eq(surg_context_memory(ctx, NULL), before);
  ctx->alloc_status = SURG_OK;
  return s;
}

/* A computation that lacks memory somewhere; *done: it did not. */
static surg_status starved(surg_context *ctx, const surg_node *n,
                           const surg__array *in, uint64_t step, bool *done) {
#ifdef SURG_FAULT_INJECTION
  surg__fault_plan(SURG__FAULT_ALLOC, step + 1);
  const surg_status s = compute(ctx, n, in);
  *done = surg__fault_calls(SURG__FAULT_ALLOC) <= step;
  surg__fault_plan(SURG__FAULT_ALLOC, 0);
#else
  const uint64_t most = ctx->max_memory;
  ctx->max_memory = surg_context_memory(ctx, NULL) + step * 128;
  const surg_status s = compute(ctx, n, in);
  ctx->max_memory = most;
  *done = s != SURG_ENOMEM && s != SURG_ELIMIT;
#endif
  return s;
}

void kernel_row_starve(surg_context *ctx, const kernel_row *r) {
  surg__array in[MOST_IN] = {{0}};
  surg__arena arena;
  surg_model *m;
  size_t n_out = 1;
  for (const char *p = r->outputs; *p; p++) n_out += *p == '|';
  surg_node *n = kernel_row_build(ctx, r, n_out, &m);
  surg__arena_init(&arena, ctx);
  for (size_t i = 0; i < surg_node_input_count(n); i++) {
    const surg_value *v = surg_node_input(n, i);
    if (v)
      ck_assert_int_eq(surg__array_from_tensor(ctx, &arena, surg_value_constant(v), &in[i]),
                       SURG_OK);
  }
  const surg_status whole = compute(ctx, n, in);
  bool done = false;
  for (uint64_t step = 0; !done && step < MOST_STEPS; step++) {
    const surg_status s = starved(ctx, n, in, step, &done);
    ck_assert_msg(s == SURG_ENOMEM || s == SURG_ELIMIT || s == whole, "%s-%d '%s': %s", r->op,
                  r->opset, r->inputs, surg_status_name(s));
  }
  ck_assert_int_eq(compute(ctx, n, in), whole);
  surg__arena_free(&arena);
  surg_model_free(m);
}
