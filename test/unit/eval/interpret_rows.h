/* SPDX-License-Identifier: Apache-2.0 */
/* Models as ONNX text, run by the interpreter: what their outputs are, or why the run stops.
 *
 * Outputs are printed one a line: `float[2]: 1 2`, strings in quotes, a sequence `[a; b]`, an
 * optional `some(a)` or `none`, a map `{keys; values}`. A row whose expected text starts with `!`
 * stops with that status and reason. A graph without a header is of opset 20 and ai.onnx.ml 5. */
#ifndef SURG_INTERPRET_ROWS_H
#define SURG_INTERPRET_ROWS_H

#include "eval/core/interpret.h"

typedef struct interpret_row {
  const char *what, *graph, *expected;
} interpret_row;

surg_context *interpret_context(void);
surg_model *interpret_parse(surg_context *ctx, const char *graph);
void interpret_row_check(const interpret_row *r);
/* Runs the model with little memory, then more, until it is enough. */
void interpret_row_starve(const interpret_row *r);

#define INTERPRET_STARVE(rows) \
  for (size_t i = 0; i < SURG_COUNT(rows); ++i) interpret_row_starve(&rows[i])
#define INTERPRET_CHECK(rows) \
  for (size_t i = 0; i < SURG_COUNT(rows); ++i) interpret_row_check(&rows[i])

#endif
