/* SPDX-License-Identifier: Apache-2.0 */
/* Passes and presets for tests of pipelines and the runner, and what the passes observe. */
#ifndef SURG_TEST_SAMPLE_PASSES_H
#define SURG_TEST_SAMPLE_PASSES_H

#include <onnxsurg/onnxsurg.h>

#include "../unit.h"
#include "pass/pass.h"

extern surg_context *ctx;
extern surg_registry *registry; /* of ctx, with the passes and presets */
extern char lines[16][1024];    /* diagnostics of ctx, n_lines of them */
extern int n_lines;
extern int calls; /* of run functions, since setup */

/* Options that the pass "look" received. */
extern int64_t seen_int;
extern bool seen_bool;
extern char seen_string[64], seen_list[256];

extern const surg_pass *const valid_pass; /* one of the passes */

/* The fixture of all tests. */
void setup(void);
void teardown(void);

/* Parses a valid pipeline; the caller frees it. */
surg__pipeline *parse(const char *text);

/* The tests of the runner (runner.c). */
TCase *runner_tests(void);

#endif
