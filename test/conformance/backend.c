/* SPDX-License-Identifier: Apache-2.0 */
/* Runs models against the expected outputs of ONNX's backend test suite.
 *
 *   backend [--least N] [DIR...]
 *
 * Every folder below the DIRs (else those of ONNXSURG_BACKEND, separated by colons, else where
 * Debian's libonnx-testdata lies) that holds model.onnx and test_data_set_*: the interpreter runs
 * the model on input_k.pb, and its outputs are compared with output_k.pb. Prints counts for each
 * part of the suite, and each case that fails with the reason. Cases whose expected result is
 * random or known to be wrong, and the few that are outside what is computed at all, are counted
 * apart (suite_apart).
 *
 * Exit 1 when a case fails that is not apart, or fewer than N pass; 77 when there is no data. */
#include <stdio.h>
#include <stdlib.h>

#include "base/context.h"
#include "suite.h"

#define PARTS 16

enum { PASS, CLOSE, FAIL, APART, KINDS };

typedef struct part {
  char name[64];
  unsigned n[KINDS];
} part;

typedef struct report {
  surg_context *ctx;
  part parts[PARTS];
  size_t n_parts;
  unsigned cases;
} report;

/* The folder around the folder of the model: node, simple, ... */
static part *part_of(report *r, const char *model) {
  char name[sizeof r->parts[0].name] = "";
  const char *end = strrchr(model, '/'), *start = NULL;
  for (int up = 0; end && up < 2; ++up) {
    const char *p = end;
    while (p > model && p[-1] != '/') --p;
    start = p;
    if (up == 0) end = p > model ? p - 1 : NULL;
  }
  if (start && end) snprintf(name, sizeof name, "%.*s", (int)(end - start), start);
  size_t i = 0;
  while (i < r->n_parts && strcmp(r->parts[i].name, name) != 0) ++i;
  if (i == r->n_parts && r->n_parts + 1 < PARTS) {
    memcpy(r->parts[r->n_parts++].name, name, sizeof name);
  }
  return &r->parts[i];
}

static const int kinds[] = {[SUITE_DIFFERS] = FAIL, [SUITE_CLOSE] = CLOSE, [SUITE_SAME] = PASS};

static void one_case(void *user, const char *model, const char *set) {
  report *r = user;
  surg_model *m = NULL;
  char why[256] = "";
  int kind = FAIL;
  surg_context_clear_error(r->ctx);
  if (surg_model_load(r->ctx, model, NULL, &m) == SURG_OK) {
    kind = kinds[suite_run(r->ctx, m, set, why, sizeof why)];
  } else {
    const char *error = surg_context_error(r->ctx);
    snprintf(why, sizeof why, "not loaded: %s", error ? error : "");
  }
  surg_model_free(m);
  const char *because = suite_apart(set);
  if (kind == FAIL && because) kind = APART;
  ++part_of(r, model)->n[kind];
  ++r->cases;
  if (kind == FAIL) printf("FAIL %s: %s\n", set, why);
  if (kind == APART) printf("apart %s: %s\n", set, because);
  if (kind == CLOSE) printf("close %s: %s\n", set, why);
}

static int print_report(const report *r, unsigned least) {
  unsigned sum[KINDS] = {0};
  printf("%-24s %6s %6s %6s %6s\n", "part", "pass", "close", "fail", "apart");
  for (size_t i = 0; i < r->n_parts; ++i) {
    const part *p = &r->parts[i];
    for (int k = 0; k < KINDS; ++k) sum[k] += p->n[k];
    printf("%-24s %6u %6u %6u %6u\n", p->name, p->n[PASS], p->n[CLOSE], p->n[FAIL], p->n[APART]);
  }
  printf("%u cases: %u pass, %u are close, %u fail, %u apart\n", r->cases, sum[PASS], sum[CLOSE],
         sum[FAIL], sum[APART]);
  return sum[FAIL] > 0 || sum[PASS] + sum[CLOSE] < least ? 1 : 0;
}

static void ignore(void *user, surg_severity severity, const char *line) {
  (void)user, (void)severity, (void)line;
}

int main(int argc, char **argv) {
  static report r;
  surg_config config = {.size = sizeof config, .diag = ignore, .max_memory = 8ull << 30};
  unsigned least = 0;
  bool any = false;
  r.ctx = surg_context_new(&config);
  if (!r.ctx) return 1;
  for (int i = 1; i < argc; ++i) {
    if (strcmp(argv[i], "--least") == 0 && i + 1 < argc) {
      least = (unsigned)strtoul(argv[++i], NULL, 10);
    } else {
      any = true;
      suite_walk(argv[i], one_case, &r);
    }
  }
  const char *dirs = getenv("ONNXSURG_BACKEND");
  if (!any) suite_walk_list(dirs && *dirs ? dirs : SUITE_DEFAULT_DIR, one_case, &r);
  if (r.cases == 0) {
    printf(
        "no test cases found: give a folder, set ONNXSURG_BACKEND, or install"
        " libonnx-testdata\n");
  }
  int result = r.cases == 0 ? 77 : print_report(&r, least);
  surg_context_free(r.ctx);
  return result;
}
